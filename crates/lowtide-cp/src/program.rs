//! The model of Chen's paper as an integer program. Section III of the paper compares CP-SAT with the
//! integer-programming solver of OR-Tools on the same matrices; HiGHS is the one here.
//!
//! The names are those of `paper.rs`. Only `at` needs whole numbers: `open` is the sum of `at` from a step
//! on, and `live` is at least `open[j][k] - open[i][k]` for each use `j`. The peak presses `live` down to
//! these differences, which are 0 or 1 where `at` is whole.

use lowtide::analysis::pressure_bound::pressure_at_ends;
use lowtide::region::Region;
use lowtide::{ClassId, InstrId};

use crate::SolverError;
use crate::pack::program::{Column, Program};
use crate::values::needed_values;

/// The program refuses more instructions. With as many, it has about 200,000 columns.
const MOST_INSTRUCTIONS: usize = 250;

/// A matrix of columns, one row for each instruction.
type Matrix = Vec<Vec<Column>>;

pub(crate) struct MinregProgram {
    pub(crate) program: Program,
    at: Matrix,
}

impl MinregProgram {
    pub(crate) fn new(region: &Region, class: ClassId) -> Result<MinregProgram, SolverError> {
        let count = region.len();
        if count > MOST_INSTRUCTIONS {
            return Err(SolverError::TooLarge {
                limit: "250 instructions, because its size grows with their square",
            });
        }
        let mut program = Program::default();
        let at: Matrix = (0..count).map(|_| (0..count).map(|_| program.bit()).collect()).collect();
        for line in 0..count {
            let row: Vec<(f64, Column)> = at[line].iter().map(|bit| (1.0, *bit)).collect();
            let column: Vec<(f64, Column)> = at.iter().map(|row| (1.0, row[line])).collect();
            program.equal(&row, 1.0);
            program.equal(&column, 1.0);
        }
        for to in region.instrs() {
            for from in region.preds(to) {
                let steps = at[from.instr.index()].iter().zip(&at[to.index()]).enumerate();
                let terms = steps.flat_map(|(step, (from, to))| {
                    let weight = step as f64 + 1.0;
                    [(weight, *from), (-weight, *to)]
                });
                program.at_most(&terms.collect::<Vec<_>>(), -1.0);
            }
        }
        let open = suffix_sums(&mut program, &at);
        add_pressure(&mut program, region, class, &open);
        Ok(MinregProgram { program, at })
    }

    /// Return the order in a solution, if it is one.
    pub(crate) fn order(&self, solution: &[f64]) -> Option<Vec<InstrId>> {
        let mut order = vec![None; self.at.len()];
        for (instr, row) in self.at.iter().enumerate() {
            let step = row.iter().position(|bit| bit.is_set(solution))?;
            order[step] = Some(InstrId::at(instr));
        }
        order.into_iter().collect()
    }
}

fn suffix_sums(program: &mut Program, at: &Matrix) -> Matrix {
    let mut open = Matrix::with_capacity(at.len());
    for row in at {
        let own: Vec<Column> = row.iter().map(|_| program.column(0.0, 1.0, 0.0, false)).collect();
        for step in 0..row.len() {
            let mut terms = vec![(1.0, own[step]), (-1.0, row[step])];
            terms.extend(own.get(step + 1).map(|later| (-1.0, *later)));
            program.equal(&terms, 0.0);
        }
        open.push(own);
    }
    open
}

fn add_pressure(program: &mut Program, region: &Region, class: ClassId, open: &Matrix) {
    let values = needed_values(region, class);
    let through = f64::from(region.through(class));
    let most = through + values.iter().map(|value| value.weight as f64).sum::<f64>();
    let at_ends = f64::from(pressure_at_ends(region)[class.index()].0);
    let peak = program.column(at_ends, most.max(at_ends), 1.0, true);
    let mut pressure: Vec<Vec<(f64, Column)>> = vec![vec![(-1.0, peak)]; region.len()];
    for value in &values {
        for (step, pressure) in pressure.iter_mut().enumerate() {
            let live = program.column(0.0, 1.0, 0.0, false);
            let def = value.def.map(|def| (-1.0, open[def.index()][step]));
            for user in value.uses {
                let mut terms = vec![(1.0, open[user.index()][step]), (-1.0, live)];
                terms.extend(def);
                program.at_most(&terms, 0.0);
            }
            if value.live_out {
                let mut terms = vec![(-1.0, live)];
                terms.extend(def);
                program.at_most(&terms, -1.0);
            }
            pressure.push((value.weight as f64, live));
        }
    }
    for terms in pressure {
        program.at_most(&terms, -through);
    }
}
