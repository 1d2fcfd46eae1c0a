//! The model of Chen's paper, Section III, as it stands there: three matrices of bits and the peak `Z`.
//!
//! | here | paper | meaning |
//! |---|---|---|
//! | `at[i][k]` | `x_ik` | instruction `i` is at step `k` |
//! | `open[i][k]` | `ox_ik` | `i` is at step `k` or later: a suffix-or of its row |
//! | `live[v][k]` | `l_ik` | the value is live when step `k` begins |
//!
//! Each row and column of `at` has one bit. For every dependence there is a difference of dot products with
//! the steps. `live` is the or, over the uses `j`, of `open[j][k] - open[i][k]`. `Z` is at least the weight
//! of the live values of every step, and is made as small as possible.
//!
//! The paper has one result for each node, no live-ins and no live-outs. This model extends it:
//! - An instruction can have several results: `live` has a row for each value.
//! - A live-in was executed before the first step: its `open` is 0 everywhere.
//! - A live-out has a use that is never executed: its `open` is 1 everywhere.
//! - Steps are the boundaries *before* instructions. The boundary after the last instruction is the same for
//!   all orders and limits `Z` as a constant.
//! - Weight that passes through the region is added to every step.
//!
//! The model is a baseline: it has no hint, no bound and no window.

use lowtide::analysis::pressure_bound::pressure_at_ends;
use lowtide::region::Region;
use lowtide::{ClassId, InstrId};

use crate::SolverError;
use crate::builder::{Bit, Builder, Literal, Sum, value_of};
use crate::values::needed_values;

/// The model refuses more instructions: with a thousand, the solver takes 4 GB and ten seconds before it
/// begins.
const MOST_INSTRUCTIONS: usize = 1000;

/// A matrix of bits, one row for each instruction.
type Matrix = Vec<Vec<Literal>>;

pub(crate) struct PaperModel {
    pub(crate) bytes: Vec<u8>,
    at: Matrix,
}

impl PaperModel {
    pub(crate) fn new(region: &Region, class: ClassId) -> Result<PaperModel, SolverError> {
        let count = region.len();
        if count > MOST_INSTRUCTIONS {
            return Err(SolverError::TooLarge {
                limit: "1000 instructions, because its size grows with their square",
            });
        }
        let mut model = Builder::default();
        let at = schedule_matrix(&mut model, count);
        for to in region.instrs() {
            for from in region.preds(to) {
                let mut difference = Sum::default();
                for (step, (from, to)) in at[from.instr.index()].iter().zip(&at[to.index()]).enumerate() {
                    let weight = step as i64 + 1;
                    difference.add(weight, Bit::Open(*from));
                    difference.add(-weight, Bit::Open(*to));
                }
                model.between(i64::MIN, difference, -1);
            }
            model.check_size()?;
        }
        let open = suffix_or(&mut model, &at);
        add_pressure(&mut model, region, class, &open)?;
        Ok(PaperModel { bytes: model.finish()?, at })
    }

    /// Return the order in a solution, if it is one.
    pub(crate) fn order(&self, solution: &[i64]) -> Option<Vec<InstrId>> {
        let mut order = vec![None; self.at.len()];
        for (instr, row) in self.at.iter().enumerate() {
            let step = row.iter().position(|bit| value_of(Bit::Open(*bit), solution) == Some(true))?;
            order[step] = Some(InstrId::at(instr));
        }
        order.into_iter().collect()
    }
}

fn schedule_matrix(model: &mut Builder, count: usize) -> Matrix {
    let at: Matrix = (0..count).map(|_| (0..count).map(|_| model.literal()).collect()).collect();
    for line in 0..count {
        model.exactly_one(at[line].iter().copied());
        model.exactly_one(at.iter().map(|row| row[line]));
    }
    at
}

fn suffix_or(model: &mut Builder, at: &Matrix) -> Matrix {
    let count = at.len();
    let mut open = Matrix::with_capacity(count);
    for row in at {
        let row: Vec<Bit> = row.iter().copied().map(Bit::Open).collect();
        let own: Vec<Literal> = (0..count).map(|_| model.literal()).collect();
        for step in 0..count {
            let bit = Bit::Open(own[step]);
            let later = own.get(step + 1).copied().map_or(Bit::Known(false), Bit::Open);
            model.any(&[!bit, row[step], later]);
            model.implies(row[step], bit);
            model.implies(later, bit);
        }
        open.push(own);
    }
    open
}

fn add_pressure(
    model: &mut Builder,
    region: &Region,
    class: ClassId,
    open: &Matrix,
) -> Result<(), SolverError> {
    let values = needed_values(region, class);
    let through = i64::from(region.through(class));
    let most = through + values.iter().map(|value| value.weight).sum::<i64>();
    let at_ends = i64::from(pressure_at_ends(region)[class.index()].0);
    let peak = model.number(at_ends, most);
    let mut pressure: Vec<Sum> = (0..region.len()).map(|_| Sum::default()).collect();
    for value in &values {
        for (step, pressure) in pressure.iter_mut().enumerate() {
            let open_at = |instr: InstrId| Bit::Open(open[instr.index()][step]);
            let def = value.def.map_or(Bit::Known(false), open_at);
            let after_all = value.live_out.then_some(Bit::Known(true));
            let uses: Vec<Bit> = value.uses.iter().copied().map(open_at).chain(after_all).collect();
            let live = Bit::Open(model.literal());
            for &user in &uses {
                model.any(&[live, !user, def]);
            }
            model.implies(live, !def);
            model.any(&[&[!live], &uses[..]].concat());
            pressure.add(value.weight, live);
        }
        model.check_size()?;
    }
    for mut sum in pressure {
        sum.add_known(through);
        sum.add_number(-1, peak);
        model.between(i64::MIN, sum, 0);
    }
    model.minimise(peak);
    Ok(())
}
