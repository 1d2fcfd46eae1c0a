//! Small random blocks on random machines, and the shortest packing by trying everything.

#![allow(dead_code)] // not every test uses all of it

use std::collections::HashSet;

use lowtide::InstrId;
use lowtide::generate::Random;
use lowtide::pack::check::check;
use lowtide::pack::{PackProblem, Packing, Placed, Units};
use lowtide::region::{InstrSpec, Region, RegionBuilder};
use lowtide::target::Target;

/// A machine with formats of all kinds, conflicts of all kinds, latencies and splits.
pub(crate) fn machine(random: &mut Random) -> Target {
    let mut text = "name = 'made'\ndescription = ''\n[issue]\nwidth = 2\n[[file]]\nname = 'f'\nsize = 64\n\
                    granule = 64\nwaves = 1\nclasses = [{ name = 'r', max = 32 }]\n[pack]\nunits = ['v', 's']\n"
        .to_string();
    if random.chance(40) {
        text += &format!("[[pack.reads]]\nmost = {}\n", 2 + random.below(2));
    }
    if random.chance(30) {
        let class = if random.clone().chance(50) { "'r'" } else { "['q', 'r']" };
        text += &format!("[[pack.reads]]\nclass = {class}\nlanes = [2, 4]\nmost = {}\n", 1 + random.below(2));
    }
    if random.chance(40) {
        let [first, second, results] = [2, 4, 2].map(|most| 1 + random.below(most));
        text += &format!(
            "[[pack.banks]]\nclass = 'r'\nsources = [{first}, {second}]\nresults = {results}\nnumbered = 'v'\n"
        );
    }
    for _ in 0..random.below(3) {
        let name = |random: &mut Random| random.pick(&["a", "b", "c", "d", "e", "x*", "m*"]);
        text += &format!("[[pack.conflict]]\nbetween = ['{}']\nand = ['{}']\n", name(random), name(random));
    }
    // Sometimes an operation takes both units if it has machine registers, or only if it has none.
    let mut other = random.clone();
    if other.chance(30) {
        let (name, allocated) = (other.pick(&["a", "b"]), other.chance(50));
        text += &format!(
            "[[pack.operation]]\nnames = ['{name}']\nallocated = {allocated}\nformats = [['v', 's']]\n"
        );
    }
    for name in ["a", "b", "c", "d", "e"] {
        let format =
            random.pick(&["['v']", "['v']", "['v']", "['v']", "['s']", "['v'], ['s']", "['v', 's']", "[]"]);
        text += &format!("[[pack.operation]]\nnames = ['{name}']\nformats = [{format}]\n");
        if random.chance(50) {
            text += &format!("latency = {}\n", random.below(4));
        }
        if random.chance(30) {
            text += "load = true\n";
        }
        if random.chance(50) {
            let split = random.pick(&[
                "parts = ['m1', 'x1'], units = { s = 2 }",
                "parts = ['m1', 'x1', 'x1'], units = { s = 3 }",
                "parts = ['m2', 'x1'], units = { v = 1, s = 1 }",
                "parts = ['m1', 'x1', 'm1'], units = { v = 1, s = 2 }",
                "parts = ['m1', 'm1'], units = { v = 2 }",
            ]);
            let apart = 1 + random.below(5) / 3;
            // Sometimes a second one, whose parts are further apart than the first one has parts.
            let second = match random.clone().chance(25) {
                true => ", { parts = ['m1', 'x1'], units = { v = 1, s = 1 }, apart = 3 }",
                false => "",
            };
            text += &format!("split = [{{ {split}, apart = {apart} }}{second}]\n");
        }
    }
    Target::parse(&text).expect("made machines are valid")
}

/// A block of such operations, with registers that have numbers or not.
pub(crate) fn block(random: &mut Random, size: usize) -> Region {
    let mut builder = RegionBuilder::new("made");
    let class = builder.class("r");
    let mut values = Vec::new();
    let named = random.chance(50);
    let register = |builder: &mut RegionBuilder, number: usize, random: &mut Random| {
        let name = if named { format!("v{number}") } else { format!("t{number}") };
        let lanes = random.pick(&[1, 1, 1, 2, 3]);
        (builder.register(&name, class, lanes, 1), (1u64 << lanes) - 1)
    };
    for number in 0..1 + random.below(3) {
        let (input, mask) = register(&mut builder, number, random);
        builder.live_in(input, mask);
        values.push((input, mask));
    }
    for number in 0..size {
        let name = random.pick(&["a", "b", "c", "d", "e"]);
        let instr = builder.instr(InstrSpec::new(name, random.pick(&[0, 1, 1, 1, 2, 4])));
        for _ in 0..random.below(3) {
            let (value, mask) = if random.chance(60) {
                values[values.len() - 1 - random.below(values.len().min(3))]
            } else {
                random.pick(&values)
            };
            builder.uses(instr, value, mask);
        }
        let (result, mask) = register(&mut builder, 10 + number, random);
        builder.defs(instr, result, mask);
        values.push((result, mask));
        if random.chance(30) {
            builder.live_out(result, mask);
        }
    }
    builder.depend_on_registers();
    builder.build().expect("made blocks are valid")
}

/// What a packing has to keep to.
#[derive(Clone, Copy, Default)]
pub(crate) struct Within {
    pub(crate) registers: Option<u32>,
    pub(crate) levels: Option<u32>,
}

/// The shortest legal packing of at most `longest` cycles, by trying all formats, cycles and units; the
/// checker says which are legal. Only for very small blocks.
pub(crate) fn brute_force(region: &Region, target: &Target, within: Within, longest: u32) -> Option<Packing> {
    let problem = PackProblem::new(region, target).expect("a known machine");
    (0..=longest).find_map(|length| {
        let mut search = Brute { region, target, problem: &problem, within, length, placed: Vec::new() };
        search.place(0)
    })
}

struct Brute<'a> {
    region: &'a Region,
    target: &'a Target,
    problem: &'a PackProblem<'a>,
    within: Within,
    length: u32,
    placed: Vec<Placed>,
}

impl Brute<'_> {
    /// Places operation `at` and all after it, in source order.
    fn place(&mut self, at: usize) -> Option<Packing> {
        if at == self.region.len() {
            let packing = Packing::new(self.placed.clone());
            let report = check(self.region, self.target, &packing).ok()?;
            let fits = self.within.registers.is_none_or(|most| report.peaks[0] <= most)
                && self.within.levels.is_none_or(|most| report.levels <= most);
            return (fits && report.length <= self.length).then_some(packing);
        }
        let instr = InstrId(at as u32);
        let operation = self.problem.operation(instr).clone();
        // What is already known to be too early would only be refused at the end.
        let ready = |from: &lowtide::region::Edge| {
            let last = self.placed.iter().filter(|other| other.instr == from.instr).map(|other| other.cycle);
            last.max().unwrap_or(0) + from.latency
        };
        let first = self.problem.preds(instr).iter().map(ready).max().unwrap_or(0);
        for cycle in first..self.length {
            for &units in operation.kind.places() {
                let whole = Placed { cycle, instr, format: 0, part: 0, units };
                if let Some(found) = self.with(&[whole], at) {
                    return Some(found);
                }
            }
        }
        for (number, split) in operation.splits.iter().enumerate() {
            let parts = split.parts() as usize;
            // All sets of cycles, and all ways to distribute the units over them.
            let mut cycles = vec![0u32; parts];
            if let Some(found) = self.split(at, number + 1, split.counts, split.apart, first, &mut cycles, 0)
            {
                return Some(found);
            }
        }
        None
    }

    #[allow(clippy::too_many_arguments)]
    fn split(
        &mut self,
        at: usize,
        format: usize,
        counts: [u32; 2],
        apart: u32,
        from: u32,
        cycles: &mut Vec<u32>,
        part: usize,
    ) -> Option<Packing> {
        let instr = InstrId(at as u32);
        if part == cycles.len() {
            for choice in 0..1u32 << part {
                if choice.count_ones() == counts[1] {
                    let unit = |part: usize| (choice >> part & 1) as usize;
                    let placed: Vec<Placed> = (0..part)
                        .map(|part| {
                            let units = Units::only(unit(part));
                            Placed { cycle: cycles[part], instr, format, part: part as u32, units }
                        })
                        .collect();
                    if let Some(found) = self.with(&placed, at) {
                        return Some(found);
                    }
                }
            }
            return None;
        }
        for cycle in from..self.length {
            cycles[part] = cycle;
            let found = self.split(at, format, counts, apart, cycle + apart, cycles, part + 1);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn with(&mut self, placed: &[Placed], at: usize) -> Option<Packing> {
        let taken = |new: &Placed| {
            self.placed.iter().any(|old| old.cycle == new.cycle && old.units.0 & new.units.0 != 0)
        };
        if placed.iter().any(taken) {
            return None;
        }
        self.placed.extend(placed);
        let found = self.place(at + 1);
        self.placed.truncate(self.placed.len() - placed.len());
        found
    }
}

/// The shortest length, which is at most `longest`, by going through all states cycle by cycle. It serves
/// blocks that are too large to try all packings of. Unlike the search it goes both ways whenever something
/// could be issued or not, and knows no bound but the longest path. None if there are too many states.
pub(crate) fn by_states(problem: &PackProblem, longest: u32) -> Option<u32> {
    let count = problem.len();
    let mut tails = vec![0; count];
    let mut slowest = vec![0; count];
    for at in (0..count).rev() {
        for edge in problem.succs(InstrId(at as u32)) {
            tails[at] = tails[at].max(tails[edge.instr.index()] + edge.latency);
            slowest[at] = slowest[at].max(edge.latency);
        }
    }
    let mut states = HashSet::from([vec![Issued::default(); count]]);
    for cycle in 0..=longest {
        if states.iter().any(|state| state.iter().all(|issued| issued.is_done)) {
            return Some(cycle);
        }
        let mut after = HashSet::new();
        for state in states {
            let is_late = |at: usize| !state[at].is_done && cycle + tails[at] + 1 > longest;
            if (0..count).any(is_late) {
                continue;
            }
            let mut issued = state;
            for (issued, slowest) in issued.iter_mut().zip(&slowest) {
                issued.pass(*slowest);
            }
            issue_all_ways(problem, 0, [false; 2], &mut Vec::new(), &mut issued, &mut after);
        }
        states = after;
        if states.len() > MOST_STATES {
            return None;
        }
    }
    None
}

const MOST_STATES: usize = 5_000;

/// How far an operation is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Issued {
    is_done: bool,
    format: usize,
    /// Parts that each unit has taken.
    parts: [u32; 2],
    /// Cycles since its last issue.
    ago: u32,
}

impl Issued {
    /// One cycle passes. What makes no difference any more is forgotten.
    fn pass(&mut self, slowest: u32) {
        if self.is_done {
            *self = Issued { is_done: true, ago: (self.ago + 1).min(slowest), ..Issued::default() };
        } else if self.parts != [0, 0] {
            self.ago = (self.ago + 1).min(MOST_APART);
        }
    }
}

/// The most cycles between two parts on made machines.
const MOST_APART: u32 = 2;

/// Adds all states that issuing some of the operations from `at` on leads to.
fn issue_all_ways(
    problem: &PackProblem,
    at: usize,
    taken: [bool; 2],
    now: &mut Vec<usize>,
    state: &mut Vec<Issued>,
    after: &mut HashSet<Vec<Issued>>,
) {
    if at == state.len() {
        after.insert(state.clone());
        return;
    }
    issue_all_ways(problem, at + 1, taken, now, state, after);
    let before = state[at];
    let instr = InstrId(at as u32);
    let operation = problem.operation(instr);
    let may_follow = |edge: &lowtide::region::Edge| {
        let pred = state[edge.instr.index()];
        pred.is_done && pred.ago >= edge.latency
    };
    if before.is_done || !problem.preds(instr).iter().all(may_follow) {
        return;
    }
    let mut ways: Vec<([bool; 2], Issued)> = Vec::new();
    if before.parts == [0, 0] {
        let done = Issued { is_done: true, format: 0, parts: [0, 0], ago: 0 };
        ways.extend(operation.kind.places().iter().map(|units| ([units.0 & 1 > 0, units.0 & 2 > 0], done)));
    }
    for (split, format) in operation.splits.iter().zip(1..) {
        let is_begun = before.parts != [0, 0];
        if is_begun && (before.format != format || before.ago < split.apart) {
            continue;
        }
        for unit in (0..2).filter(|unit| before.parts[*unit] < split.counts[*unit]) {
            let mut parts = before.parts;
            parts[unit] += 1;
            let is_done = parts == split.counts;
            ways.push(([unit == 0, unit == 1], Issued { is_done, format, parts, ago: 0 }));
        }
    }
    for (units, issued) in ways {
        let overlaps = (0..2).any(|unit| taken[unit] && units[unit]);
        let clashes = |other: &usize| {
            problem.conflict(instr, issued.format, InstrId(*other as u32), state[*other].format)
        };
        if overlaps || now.iter().any(clashes) {
            continue;
        }
        state[at] = issued;
        now.push(at);
        let taken = [taken[0] || units[0], taken[1] || units[1]];
        issue_all_ways(problem, at + 1, taken, now, state, after);
        now.pop();
        state[at] = before;
    }
}

/// How many small random blocks to try; the environment can ask for more.
pub(crate) fn cases(default: u64) -> u64 {
    std::env::var("LOWTIDE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
