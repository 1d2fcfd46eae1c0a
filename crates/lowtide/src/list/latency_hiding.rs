//! Register-limited latency hiding: the second phase of paper 1's two-phase scheduler.
//!
//! The first phase has found an order with few registers. This phase divides it into sub-blocks and schedules
//! each for latency, greedily and without regard to registers. That is safe: a sub-block ends where its worst
//! case could exceed the limit. The worst case is the pressure at its start, plus all results of the
//! sub-block, with no operand freed. A better first order has lower pressure at the boundaries, so its
//! sub-blocks are larger and hide more.
//!
//! If the first order itself is over the limit, more parallelism would only add spills, and it is returned
//! unchanged.

use super::baselines;
use super::engine::{Direction, Key, Policy, State, Timing, run};
use crate::analysis::pressure::Tracker;
use crate::analysis::times::Times;
use crate::index::{ClassId, InstrId};
use crate::problem::{Goal, Problem};
use crate::schedule::Schedule;

/// Hide latencies within the sub-blocks of `order`. `limits` has the most registers of each class.
pub fn hide_latency(problem: &Problem, order: &[InstrId], limits: &[u32]) -> Schedule {
    let region = problem.region();
    let mut tracker = Tracker::new(region);
    for &instr in order {
        tracker.schedule(instr);
    }
    if tracker.peaks().iter().zip(limits).any(|(peak, limit)| peak.between > *limit) {
        return Schedule::in_order(problem, order.to_vec());
    }
    let ends = sub_block_ends(problem, order, limits);
    let mut last = vec![0; region.len()];
    let mut block = 0;
    for (position, instr) in order.iter().enumerate() {
        block += usize::from(position == ends[block]);
        last[instr.index()] = ends[block];
    }
    let mut policy = SubBlocks { times: Times::on(problem), last, ends };
    run(problem, Direction::TopDown, Timing::Cycles, &mut policy, None)
}

/// Hide latencies within the registers of the problem. For [`Goal::Occupancy`], use the registers that leave
/// as many waves as the schedule `few` has.
pub(crate) fn within_registers(problem: &Problem, few: &Schedule) -> Schedule {
    let for_waves;
    let limits = match problem.goal() {
        Goal::Occupancy | Goal::Throughput => {
            for_waves = baselines::limits(problem, problem.measure(few).occupancy.min(problem.most_waves()));
            &for_waves
        }
        Goal::MinReg | Goal::Length => problem.limits(),
    };
    hide_latency(problem, few.order(), limits)
}

/// The policy: longest path to the end first, one sub-block after the other.
struct SubBlocks {
    times: Times,
    /// For each instruction, the end of its sub-block.
    last: Vec<usize>,
    ends: Vec<usize>,
}

impl Policy for SubBlocks {
    fn criteria(&self) -> &'static [&'static str] {
        &["first sub-block (negated end)", "longest path to the end"]
    }

    fn key(&mut self, _state: &State, instr: InstrId) -> Key {
        [-(self.last[instr.index()] as i64), i64::from(self.times.tail[instr.index()]), 0, 0, 0]
    }

    fn is_static(&self) -> bool {
        true
    }

    fn allows(&mut self, state: &State, instr: InstrId) -> bool {
        // Sub-blocks are filled one after the other, so the count determines the open one.
        let open = self.ends[self.ends.partition_point(|end| *end <= state.scheduled())];
        self.last[instr.index()] == open
    }
}

/// Divide an order where the worst case would exceed the limits. Return the end of each sub-block.
fn sub_block_ends(problem: &Problem, order: &[InstrId], limits: &[u32]) -> Vec<usize> {
    let region = problem.region();
    let mut tracker = Tracker::new(region);
    let classes = limits.len();
    let at_boundary = |tracker: &Tracker| -> Vec<u64> {
        (0..classes).map(|class| u64::from(tracker.now(ClassId::at(class)))).collect()
    };
    let mut worst = at_boundary(&tracker);
    let mut ends = Vec::new();
    let mut start = 0;
    for (position, &instr) in order.iter().enumerate() {
        let mut grown = worst.clone();
        add_results(problem, instr, &mut grown);
        let over = grown.iter().zip(limits).any(|(worst, limit)| *worst > u64::from(*limit));
        if over && position > start {
            ends.push(position);
            start = position;
            grown = at_boundary(&tracker);
            add_results(problem, instr, &mut grown);
        }
        worst = grown;
        tracker.schedule(instr);
    }
    ends.push(order.len());
    ends
}

fn add_results(problem: &Problem, instr: InstrId, pressure: &mut [u64]) {
    let region = problem.region();
    for value in region.defined_values(instr).iter().filter(|value| !region.is_dead(**value)) {
        let value = &region.values()[value.index()];
        pressure[value.class.index()] += u64::from(value.weight);
    }
}
