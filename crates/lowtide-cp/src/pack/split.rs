//! The integer program of section 2.2, equations 12 to 23. x(i,c,r) is 1 if operation i, or a part of it,
//! issues in cycle c on r: one of the units, both or none. y(i,f) is 1 if operation i has format f of the
//! table Γ.
//!
//! The paper leaves out two constraints here, which this program has. One is for conflicts (as in equation 9,
//! by format). The other is for parts that must be more than a cycle apart.

use lowtide::InstrId;
use lowtide::pack::bound::Ranges;
use lowtide::pack::{Kind, Operation, PackProblem, Packing, Placed, Units};

use super::Form;
use super::program::{Column, Program};

/// The places of equation 13: first unit (V), second unit (S), both (B), none (N).
const PLACES: usize = 4;
const BOTH: usize = 2;
const NONE: usize = 3;

/// A row of Γ.
struct Format {
    /// The number of the format in the problem.
    number: usize,
    /// How often the format takes each place. A need for both units also counts for each of them.
    needs: [u32; PLACES],
    apart: u32,
    chosen: Column,
}

struct Own {
    first: u32,
    /// For each cycle from the first on, the bits of the places that some format takes.
    bits: Vec<[Option<Column>; PLACES]>,
    formats: Vec<Format>,
    /// Only for operations with splits, in [`Form::Decision`]: whether all of the operation has issued after
    /// each cycle.
    done: Vec<Column>,
}

impl Own {
    fn cycles(&self) -> impl Iterator<Item = (u32, &[Option<Column>; PLACES])> {
        (self.first..).zip(&self.bits)
    }

    fn at(&self, cycle: u32) -> Option<&[Option<Column>; PLACES]> {
        self.bits.get(cycle.checked_sub(self.first)? as usize)
    }
}

pub(super) struct SplitProgram {
    pub(super) program: Program,
    own: Vec<Own>,
}

fn rows_of(operation: &Operation, program: &mut Program) -> Vec<Format> {
    let whole: &[[u32; PLACES]] = match operation.kind {
        Kind::None => &[[0, 0, 0, 1]],
        Kind::First => &[[1, 0, 0, 0]],
        Kind::Second => &[[0, 1, 0, 0]],
        Kind::Either => &[[1, 0, 0, 0], [0, 1, 0, 0]],
        Kind::Both => &[[1, 1, 1, 0]],
    };
    let whole = whole.iter().map(|needs| (0, *needs, 1));
    let splits = operation.splits.iter().zip(1..);
    let splits =
        splits.map(|(split, number)| (number, [split.counts[0], split.counts[1], 0, 0], split.apart));
    // (14)
    whole
        .chain(splits)
        .map(|(number, needs, apart)| Format { number, needs, apart, chosen: program.bit() })
        .collect()
}

impl SplitProgram {
    /// Build the program for packings of at most `length` cycles. Return `None` if an operation has no cycle
    /// left.
    pub(super) fn new(problem: &PackProblem, ranges: &Ranges, length: u32, form: Form) -> Option<Self> {
        let mut program = Program::default();
        let mut own = Vec::with_capacity(problem.len());
        for (operation, (first, last)) in problem.operations().iter().zip(ranges.cycles(length)) {
            let last = last.filter(|last| *last >= first)?;
            let formats = rows_of(operation, &mut program);
            // (13), for the cycles of (10) and (11)
            let taken: [bool; PLACES] =
                std::array::from_fn(|place| formats.iter().any(|format| format.needs[place] > 0));
            let bits = (first..=last).map(|_| taken.map(|taken| taken.then(|| program.bit()))).collect();
            own.push(Own { first, bits, formats, done: Vec::new() });
        }
        let mut split = SplitProgram { program, own };
        for at in 0..problem.len() {
            split.add_formats(at);
        }
        match form {
            Form::Decision => split.add_times(problem),
            Form::Paper | Form::Minimising => split.add_paper_times(problem, ranges, length),
        }
        for cycle in 0..length {
            // (23)
            for unit in 0..2 {
                let bits = split.own.iter().filter_map(|own| own.at(cycle)?[unit]);
                let sum: Vec<(f64, Column)> = bits.map(|bit| (1.0, bit)).collect();
                if sum.len() > 1 {
                    split.program.at_most(&sum, 1.0);
                }
            }
        }
        split.add_conflicts(problem);
        Some(split)
    }

    /// (19) to (21), and parts that are apart.
    fn add_formats(&mut self, at: usize) {
        let own = &self.own[at];
        for place in 0..PLACES {
            let bits = own.bits.iter().filter_map(|bits| bits[place]);
            let mut sum: Vec<(f64, Column)> = bits.map(|bit| (1.0, bit)).collect();
            let needs = own.formats.iter().map(|format| (-f64::from(format.needs[place]), format.chosen));
            sum.extend(needs.filter(|(factor, _)| *factor != 0.0));
            if !sum.is_empty() {
                self.program.equal(&sum, 0.0);
            }
        }
        let formats: Vec<(f64, Column)> = own.formats.iter().map(|format| (1.0, format.chosen)).collect();
        self.program.equal(&formats, 1.0);
        for bits in &own.bits {
            if let [first, second, Some(both), _] = *bits {
                for unit in [first, second].into_iter().flatten() {
                    self.program.at_most(&[(1.0, both), (-1.0, unit)], 0.0);
                }
            }
        }
        // The most issues of any format.
        let most = own.formats.iter().map(|format| format.needs[0] + format.needs[1]).max().unwrap_or(0);
        let slack = f64::from(most.max(2) - 1);
        for format in own.formats.iter().filter(|format| format.number > 0) {
            for start in 0..own.bits.len() {
                let window = own.bits.iter().skip(start).take(format.apart as usize);
                let bits = window.flat_map(|bits| bits[..2].iter().flatten());
                let mut sum: Vec<(f64, Column)> = bits.map(|bit| (1.0, *bit)).collect();
                // No more than one, if it is this format.
                sum.push((slack, format.chosen));
                self.program.at_most(&sum, 1.0 + slack);
            }
        }
    }

    /// (12), (15) to (18) and (22)
    fn add_paper_times(&mut self, problem: &PackProblem, ranges: &Ranges, length: u32) {
        let most = f64::from(length);
        let least = f64::from(ranges.length.min(length));
        let end = self.program.column(least, most, 1.0, true);
        let mut times = Vec::with_capacity(self.own.len());
        for own in &self.own {
            let [begin, last] = [(); 2].map(|()| self.program.column(0.0, most, 0.0, true));
            self.program.at_most(&[(1.0, last), (-1.0, end)], -1.0);
            for (cycle, bits) in (own.first..).zip(&own.bits) {
                let cycle = f64::from(cycle);
                for &bit in bits.iter().flatten() {
                    self.program.at_most(&[(cycle, bit), (-1.0, last)], 0.0);
                    self.program.at_most(&[(1.0, begin), (most - cycle, bit)], most);
                }
            }
            times.push((begin, last));
        }
        for (at, &(_, last)) in times.iter().enumerate() {
            for edge in problem.succs(InstrId::at(at)) {
                let (begin, _) = times[edge.instr.index()];
                self.program.at_most(&[(1.0, last), (-1.0, begin)], -f64::from(edge.latency));
            }
        }
    }

    /// Equation (22) cycle by cycle: no part of an operation issues before all its predecessors are done for
    /// their latency.
    fn add_times(&mut self, problem: &PackProblem) {
        for (at, operation) in problem.operations().iter().enumerate() {
            if operation.splits.is_empty() {
                continue;
            }
            let own = &mut self.own[at];
            own.done = own.bits.iter().map(|_| self.program.column(0.0, 1.0, 0.0, false)).collect();
            for (position, &done) in own.done.iter().enumerate() {
                // The next cycle is enough: a done operation stays done.
                for &bit in own.bits.get(position + 1).into_iter().flatten().flatten() {
                    self.program.at_most(&[(1.0, done), (1.0, bit)], 1.0);
                }
                if position > 0 {
                    self.program.at_most(&[(1.0, own.done[position - 1]), (-1.0, done)], 0.0);
                }
            }
        }
        for at in 0..problem.len() {
            for edge in problem.succs(InstrId::at(at)) {
                let (from, to) = (&self.own[at], &self.own[edge.instr.index()]);
                for (cycle, bits) in to.cycles() {
                    // An issue in this cycle needs `from` to be done in cycle `until`.
                    let until = i64::from(cycle) - i64::from(edge.latency);
                    let last = i64::from(from.first) + from.bits.len() as i64 - 1;
                    if until >= last {
                        continue;
                    }
                    let is_done: Vec<(f64, Column)> = match from.done.is_empty() {
                        false => {
                            let position = until - i64::from(from.first);
                            let done = usize::try_from(position).ok().map(|position| from.done[position]);
                            done.into_iter().map(|done| (-1.0, done)).collect()
                        }
                        true => {
                            let early = from.cycles().filter(|(cycle, _)| i64::from(*cycle) <= until);
                            early.flat_map(|(_, bits)| single(bits)).map(|bit| (-1.0, bit)).collect()
                        }
                    };
                    for &bit in bits.iter().flatten() {
                        let mut sum = vec![(1.0, bit)];
                        sum.extend(&is_done);
                        self.program.at_most(&sum, 0.0);
                    }
                }
            }
        }
    }

    /// (9), for each pair of formats.
    fn add_conflicts(&mut self, problem: &PackProblem) {
        for a in 0..self.own.len() {
            for b in 0..a {
                let (x, y) = (&self.own[a], &self.own[b]);
                let conflict = |f: &Format, g: &Format| {
                    problem.conflict(InstrId::at(a), f.number, InstrId::at(b), g.number)
                };
                let pairs: Vec<(&Format, &Format)> = (x.formats.iter())
                    .flat_map(|f| y.formats.iter().map(move |g| (f, g)))
                    .filter(|(f, g)| conflict(f, g))
                    .collect();
                if pairs.is_empty() {
                    continue;
                }
                let always = pairs.len() == x.formats.len() * y.formats.len();
                for (cycle, x_bits) in (x.first..).zip(&x.bits) {
                    let Some(y_bits) = y.at(cycle) else { continue };
                    for &p in x_bits.iter().flatten() {
                        for &q in y_bits.iter().flatten() {
                            if always {
                                self.program.at_most(&[(1.0, p), (1.0, q)], 1.0);
                                continue;
                            }
                            for (f, g) in &pairs {
                                let sum = [(1.0, p), (1.0, q), (1.0, f.chosen), (1.0, g.chosen)];
                                self.program.at_most(&sum, 3.0);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Return the packing in a solution.
    pub(super) fn packing(&self, solution: &[f64]) -> Packing {
        let mut placed = Vec::new();
        for (at, own) in self.own.iter().enumerate() {
            let format = own.formats.iter().find(|format| format.chosen.is_set(solution));
            let number = format.map_or(0, |format| format.number);
            let mut part = 0;
            for (cycle, bits) in own.cycles() {
                let is_set = |place: usize| bits[place].is_some_and(|bit| bit.is_set(solution));
                let units: &[Units] = match [is_set(0), is_set(1)] {
                    _ if is_set(BOTH) => &[Units::BOTH],
                    _ if is_set(NONE) => &[Units::NONE],
                    [true, true] => &[Units::FIRST, Units::SECOND],
                    [true, false] => &[Units::FIRST],
                    [false, true] => &[Units::SECOND],
                    [false, false] => &[],
                };
                for &units in units {
                    placed.push(Placed { cycle, instr: InstrId::at(at), format: number, part, units });
                    part += 1;
                }
            }
        }
        Packing::new(placed)
    }
}

/// Return the bits of one cycle for an operation without splits.
fn single(bits: &[Option<Column>; PLACES]) -> impl Iterator<Item = Column> {
    let chosen = match bits {
        [_, _, Some(both), _] => [Some(*both), None, None],
        [first, second, None, none] => [*first, *second, *none],
    };
    chosen.into_iter().flatten()
}
