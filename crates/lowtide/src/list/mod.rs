//! List scheduling: take the best of the ready instructions, again and again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::analysis::times::Times;
use crate::index::InstrId;
use crate::problem::Problem;
use crate::schedule::{IssueTable, Schedule};

/// Schedules cycle by cycle, longest latency path to the end first, source order on ties. Registers are
/// ignored. O(e + n log n).
pub fn critical_path(problem: &Problem) -> Schedule {
    let region = problem.region();
    let times = Times::new(region);
    let mut table = IssueTable::new(problem);
    let mut waiting: Vec<usize> = region.instrs().map(|instr| region.preds(instr).len()).collect();
    let mut available = vec![0u32; region.len()];
    let priority = |instr: InstrId| (times.tail[instr.index()], Reverse(instr));

    // Instructions whose predecessors have issued: `ready` in this cycle, or `pending` until a later one.
    let mut ready = BinaryHeap::new();
    let mut pending = BinaryHeap::new();
    for instr in region.instrs().filter(|instr| waiting[instr.index()] == 0) {
        ready.push(priority(instr));
    }
    let mut unfit = Vec::new();
    let mut order = Vec::with_capacity(region.len());
    let mut cycles = vec![0; region.len()];
    let mut now = 0;
    while order.len() < region.len() {
        while let Some(&(Reverse(cycle), instr)) = pending.peek()
            && cycle <= now
        {
            pending.pop();
            ready.push(priority(instr));
        }
        let Some((_, Reverse(instr))) = ready.pop() else {
            // Nothing more fits into this cycle: go on to the next one in which something can change.
            let next = match (unfit.is_empty(), pending.peek()) {
                (true, Some(&(Reverse(cycle), _))) => cycle,
                _ => now + 1,
            };
            now = next.max(now + 1);
            ready.extend(unfit.drain(..).map(priority));
            continue;
        };
        if table.earliest(instr, now) > now {
            unfit.push(instr);
            continue;
        }
        table.reserve(instr, now);
        cycles[instr.index()] = now;
        order.push(instr);
        for edge in region.succs(instr) {
            let to = edge.instr.index();
            available[to] = available[to].max(now + edge.latency);
            waiting[to] -= 1;
            if waiting[to] == 0 {
                pending.push((Reverse(available[to]), edge.instr));
            }
        }
    }
    Schedule::new(order, cycles)
}
