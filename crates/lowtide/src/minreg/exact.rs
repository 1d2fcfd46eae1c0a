//! The fewest registers possible.

use std::time::Instant;

use super::Rules;
use super::part::Part;
use super::superiority::superiority;
use super::search::{Search, Verdict};
use crate::analysis::closure::{Closure, contains};
use crate::analysis::flow::{DownsetMin, Effort, Minimum, Side};
use crate::analysis::pressure::Tracker;
use crate::analysis::pressure_bound::pressure_bound;
use crate::analysis::walk::{Direction, LiveGraph, Packing};
use crate::index::{ClassId, InstrId};
use crate::region::Region;
use crate::schedule::{Budget, Reason};

/// What is known at the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The best order.
    pub order: Vec<InstrId>,
    /// Its peak.
    pub peak: u32,
    /// No order has a lower one.
    pub bound: u32,
    /// Why.
    pub reason: Reason,
    /// States that were expanded.
    pub nodes: u64,
}

fn peak_of(region: &Region, class: ClassId, order: &[InstrId]) -> u32 {
    let mut tracker = Tracker::new(region);
    order.iter().for_each(|&instr| tracker.schedule(instr));
    tracker.peaks()[class.index()].between
}

/// Finds the lowest peak of a class.
pub fn minimise(region: &Region, class: ClassId, start: &[InstrId], budget: Budget, rules: Rules) -> Answer {
    let begin = Instant::now();
    let deadline = budget.time_per_instr.map(|time| begin + time * region.len() as u32);
    let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let closure = Closure::new(region);
    let cuts = pressure_bound(region, class, &closure, start, budget);
    let mut answer = Answer { order: cuts.order, peak: cuts.peak, bound: cuts.value, reason: Reason::Cut(cuts.witness), nodes: 0 };
    if answer.peak == answer.bound {
        return answer;
    }
    let parts = match rules.split {
        true => split(region, class, &closure),
        false => vec![vec![0; closure.words()], vec![u64::MAX; closure.words()]],
    };
    let debug = std::env::var("DEBUG").is_ok();
    let mut pieces: Vec<(Part, Vec<InstrId>, u32)> = Vec::new();
    for pair in parts.windows(2) {
        let mut part = Part::between(region, &pair[0], &pair[1], &[]).expect("no cycle");
        if rules.superiority {
            let mut closure = Closure::new(&part.region);
            let t = Instant::now();
            let edges = superiority(&part.region, &mut closure, is_over);
            if debug { eprintln!("{} edges {}", edges.len(), t.elapsed().as_secs_f64()); }
            let all = vec![u64::MAX; closure.words()];
            let inner = Part::between(&part.region, &vec![0; closure.words()], &all, &edges).expect("no cycle");
            part = Part { region: inner.region, instrs: inner.instrs.iter().map(|instr| part.instrs[instr.index()]).collect() };
        }
        let mut number = vec![u32::MAX; region.len()];
        for (position, instr) in part.instrs.iter().enumerate() {
            number[instr.index()] = position as u32;
        }
        let order: Vec<InstrId> = answer.order.iter().map(|instr| InstrId(number[instr.index()])).filter(|instr| instr.0 != u32::MAX).collect();
        let peak = peak_of(&part.region, class, &order);
        if debug { eprintln!("part {} peak {peak}", part.region.len()); }
        assert!(peak <= answer.peak);
        pieces.push((part, order, peak));
    }
    let closures: Vec<Closure> = pieces.iter().map(|(part, _, _)| Closure::new(&part.region)).collect();
    let packing = Packing::one(region, class);
    let directions = [Direction::TopDown, Direction::BottomUp];
    let graphs: Vec<[LiveGraph; 2]> = pieces.iter().map(|(part, _, _)| directions.map(|direction| LiveGraph::new(&part.region, direction, &packing))).collect();
    let mut orders: Vec<Vec<InstrId>> = pieces.iter().map(|(_, order, _)| order.clone()).collect();
    let mut peaks: Vec<u32> = pieces.iter().map(|(_, _, peak)| *peak).collect();
    let mut searches: Vec<Option<[Search; 2]>> = pieces.iter().map(|_| None).collect();
    let mut slice = 200;
    'all: loop {
        answer.peak = peaks.iter().copied().max().unwrap_or(0);
        if answer.peak <= answer.bound || is_over() {
            break;
        }
        for position in 0..pieces.len() {
            if peaks[position] < answer.peak {
                continue;
            }
            let limit = i64::from(answer.peak) - 1;
            if searches[position].is_none() {
                let mut pair = [0, 1].map(|end| Search::new(&pieces[position].0.region, &closures[position], &[class], &graphs[position][end], directions[end], rules, 1 << 23));
                pair.iter_mut().for_each(|search| search.restart(limit, &orders[position]));
                searches[position] = Some(pair);
            }
            for end in 0..2 {
                let search = &mut searches[position].as_mut().unwrap()[end];
                match search.run(slice, is_over) {
                    Verdict::Open => {}
                    Verdict::Failed => {
                        answer.bound = answer.peak;
                        answer.nodes = searches.iter().flatten().flatten().map(|search| search.nodes).sum();
                        answer.reason = Reason::Search { rules, nodes: answer.nodes };
                        break 'all;
                    }
                    Verdict::Found(order) => {
                        let peak = peak_of(&pieces[position].0.region, class, &order);
                        assert!(peak < answer.peak);
                        if debug { eprintln!("part {position} improved to {peak} {}", begin.elapsed().as_secs_f64()); }
                        peaks[position] = peak;
                        orders[position] = order;
                        for search in searches[position].as_mut().unwrap() {
                            search.restart(i64::from(peak) - 1, &orders[position]);
                        }
                        continue 'all;
                    }
                }
            }
        }
        slice *= 2;
    }
    answer.nodes = searches.iter().flatten().flatten().map(|search| search.nodes).sum();
    answer.order = pieces.iter().zip(&orders).flat_map(|((part, _, _), order)| order.iter().map(|instr| part.instrs[instr.index()])).collect();
    answer
}

/// Downsets with the least pressure of all, from the empty set to all instructions.
fn split(region: &Region, class: ClassId, closure: &Closure) -> Vec<Vec<u64>> {
    let words = closure.words();
    let all = {
        let mut all = vec![0u64; words];
        region.instrs().for_each(|instr| all[instr.index() / 64] |= 1 << (instr.index() % 64));
        all
    };
    let mut result = vec![vec![0; words]];
    let mut cut = DownsetMin::new(region, class, closure);
    let mut sides = vec![Side::Free; region.len()];
    if let Minimum::Exact(_) = cut.min(&sides, u32::MAX, &mut Effort::UNBOUNDED.clone()) {
        let (mut lower, mut upper) = (vec![0; words], vec![0; words]);
        cut.smallest(&mut lower);
        cut.largest(&mut upper);
        loop {
            if result.last() != Some(&lower) {
                result.push(lower.clone());
            }
            let Some(next) = region.instrs().find(|&instr| contains(&upper, instr) && !contains(&lower, instr)) else { break };
            for instr in region.instrs() {
                sides[instr.index()] = if contains(&lower, instr) || instr == next {
                    Side::In
                } else if contains(&upper, instr) {
                    Side::Free
                } else {
                    Side::Out
                };
            }
            if !matches!(cut.min(&sides, u32::MAX, &mut Effort::UNBOUNDED.clone()), Minimum::Exact(_)) {
                break;
            }
            cut.smallest(&mut lower);
        }
    }
    if result.last() != Some(&all) {
        result.push(all);
    }
    result
}
