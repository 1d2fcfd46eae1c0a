//! The definition of an ant in the plainest code, for tests. The order is its only state; everything else is
//! computed again at each step.

use std::collections::BTreeMap;

use super::terrain::Terrain;
use super::{Guide, ONE, Rules, STALL_SCALE};
use crate::analysis::pressure::Tracker;
use crate::analysis::times::separation;
use crate::index::{ClassId, InstrId};
use crate::problem::Problem;
use crate::region::{Edge, Region};

/// The input of the plain ant, besides the rules.
pub(super) struct Plain<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) terrain: &'a Terrain,
    /// The limit of each class. `None` for a class that does not count.
    pub(super) limits: &'a [Option<u32>],
    /// The order of the guard.
    pub(super) guard: Option<Vec<InstrId>>,
    pub(super) pheromones: &'a [u16],
}

/// Return the pressure of each class that counts, after an order.
fn pressures(region: &Region, limits: &[Option<u32>], order: &[InstrId]) -> BTreeMap<ClassId, u32> {
    let mut tracker = Tracker::new(region);
    order.iter().for_each(|&instr| tracker.schedule(instr));
    let counted = region.class_ids().filter(|class| limits[class.index()].is_some());
    counted.map(|class| (class, tracker.now(class))).collect()
}

fn with(order: &[InstrId], instr: InstrId) -> Vec<InstrId> {
    order.iter().copied().chain([instr]).collect()
}

impl Plain<'_> {
    fn fits(&self, order: &[InstrId]) -> bool {
        let now = pressures(self.problem.region(), self.limits, order);
        now.iter().all(|(class, pressure)| limit_of(self.limits, *class) >= *pressure)
    }

    fn is_free(&self, order: &[InstrId], instr: InstrId) -> bool {
        let region = self.problem.region();
        let before = pressures(region, self.limits, order);
        let after = pressures(region, self.limits, &with(order, instr));
        after.iter().all(|(class, pressure)| before[class] >= *pressure)
    }

    /// Return the weight of a class that an instruction opens.
    fn opens(&self, instr: InstrId, class: ClassId) -> u32 {
        let region = self.problem.region();
        let values = region.defined_values(instr).iter().filter(|value| !region.is_dead(**value));
        let own = values.map(|value| &region.values()[value.index()]).filter(|value| value.class == class);
        own.map(|value| value.weight).sum()
    }

    /// Return whether the guard leaves room for an instruction that is not free and not the next one.
    fn may_be_early(&self, guard: &[InstrId], order: &[InstrId], early: &[InstrId], instr: InstrId) -> bool {
        let region = self.problem.region();
        let rank = |instr: InstrId| guard.iter().position(|&other| other == instr).expect("in the guard");
        let first = guard.iter().position(|instr| !order.contains(instr)).expect("something is left");
        let all: Vec<InstrId> =
            early.iter().copied().filter(|&instr| rank(instr) > first).chain([instr]).collect();
        let end = all.iter().map(|&instr| rank(instr)).max().expect("at least one");
        (first..end).all(|position| {
            let along = pressures(region, self.limits, &guard[..=position]);
            along.iter().all(|(class, pressure)| {
                let more: u32 = all.iter().map(|&instr| self.opens(instr, *class)).sum();
                pressure + more <= limit_of(self.limits, *class)
            })
        })
    }

    /// Return the attraction of an instruction: that of the terrain at the start, plus the increments since.
    fn attraction(&self, guide: Guide, order: &[InstrId], instr: InstrId) -> u32 {
        let region = self.problem.region();
        let (for_path, for_relief) = guide.shares();
        let size =
            |weight: &dyn Fn(&crate::region::Value) -> bool, values: &[crate::index::ValueId]| -> u64 {
                let values = values.iter().filter(|value| !region.is_dead(**value));
                let values = values.map(|value| &region.values()[value.index()]);
                let counted = values.filter(|value| self.limits[value.class.index()].is_some());
                counted.filter(|value| weight(value)).map(|value| u64::from(value.weight)).sum()
            };
        let opened = |instr| size(&|_| true, region.defined_values(instr));
        let used = |instr| size(&|_| true, region.used_values(instr));
        let most_opened = region.instrs().map(opened).max().unwrap_or(0);
        let range = (most_opened + region.instrs().map(used).max().unwrap_or(0)).max(1);
        let longest = u64::from(self.terrain.tail.iter().max().copied().unwrap_or(0)).max(1);
        let path = u64::from(self.terrain.tail[instr.index()]) * for_path / longest;
        let closed = region.used_values(instr).iter().filter(|value| {
            let own = &region.values()[value.index()];
            let others = region.value_uses(**value).iter().filter(|other| **other != instr);
            !own.live_out
                && self.limits[own.class.index()].is_some()
                && others.into_iter().all(|other| order.contains(other))
        });
        let closes: u64 =
            closed.map(|value| u64::from(region.values()[value.index()].weight) * for_relief / range).sum();
        (u64::from(ONE) + path + (most_opened - opened(instr)) * for_relief / range + closes) as u32
    }

    /// Return the order of an ant, and its slots. `None` if it dies. `reach` has the number of instructions
    /// to look at in each step; `lengths` takes the length of the list in each step.
    pub(super) fn walk(
        &self,
        rules: &Rules,
        lane: u32,
        reach: &dyn Fn(usize) -> usize,
        lengths: &mut Vec<usize>,
    ) -> Option<(Vec<InstrId>, u32)> {
        let region = self.problem.region();
        let width = self.problem.target().issue().width;
        let mut order: Vec<InstrId> = Vec::new();
        let mut cycles = vec![0; region.len()];
        let mut early = Vec::new();
        let mut list: Vec<InstrId> =
            region.instrs().filter(|&instr| region.preds(instr).is_empty()).collect();
        let (mut now, mut waited) = (0, 0);
        for step in 0..region.len() {
            let available = |instr: InstrId, cycles: &[u32]| {
                let ready = region.preds(instr).iter().map(|edge| {
                    let forward = Edge { instr, latency: edge.latency };
                    cycles[edge.instr.index()] + separation(self.problem, edge.instr, &forward)
                });
                if rules.is_timed { ready.max().unwrap_or(0) * width } else { 0 }
            };
            lengths.push(list.len());
            let mut looked: Vec<InstrId> = list.iter().copied().take(reach(step)).collect();
            let scores = loop {
                let may_look_further = looked.len() < list.len();
                let late =
                    |&instr: &InstrId| available(instr, &cycles).max(now) > rules.deadlines[instr.index()];
                if rules.is_timed && looked.iter().any(late) {
                    if may_look_further {
                        looked = list.clone();
                        continue;
                    }
                    return None;
                }
                let score = |instr: InstrId| {
                    let row = order.last().map_or(region.len(), |last| last.index());
                    let pheromone = self.pheromones[row * region.len() + instr.index()];
                    u32::from(pheromone) * self.attraction(rules.guide, &order, instr)
                };
                let is_open = |instr: InstrId| {
                    let protected = self.guard.as_ref().is_none_or(|guard| {
                        let next = guard.iter().find(|instr| !order.contains(instr));
                        next == Some(&instr)
                            || self.is_free(&order, instr)
                            || self.may_be_early(guard, &order, &early, instr)
                    });
                    available(instr, &cycles) <= now && self.fits(&with(&order, instr)) && protected
                };
                let mut scores: Vec<u32> =
                    looked.iter().map(|&instr| if is_open(instr) { score(instr) } else { 0 }).collect();
                let is_any_free = looked.iter().any(|&instr| is_open(instr) && self.is_free(&order, instr));
                if rules.stalls && !is_any_free {
                    for (score_of, &instr) in scores.iter_mut().zip(&looked) {
                        let slot = available(instr, &cycles);
                        if slot > now && self.is_free(&order, instr) && self.fits(&with(&order, instr)) {
                            let wait = (slot - now) / width + waited;
                            *score_of = (score(instr) * STALL_SCALE / (STALL_SCALE + wait)).max(1);
                        }
                    }
                }
                if scores.iter().any(|&score| score > 0) {
                    break scores;
                }
                let later = looked.iter().map(|&instr| available(instr, &cycles)).filter(|&slot| slot > now);
                match later.min() {
                    Some(slot) => now = slot,
                    None if may_look_further => looked = list.clone(),
                    None => return None,
                }
            };
            let place = if rules.explores(step) {
                let total: u64 = scores.iter().map(|&score| u64::from(score)).sum();
                let number = rules.number(rules.key_of(lane), step);
                let mut rest = ((u128::from(number) * u128::from(total)) >> 64) as u64;
                scores.iter().position(|&score| {
                    let is_it = rest < u64::from(score);
                    rest = rest.wrapping_sub(u64::from(score));
                    is_it
                })?
            } else {
                let most = scores.iter().max()?;
                scores.iter().position(|score| score == most)?
            };
            let instr = list.swap_remove(place);
            let slot = available(instr, &cycles);
            if slot > now {
                waited += (slot - now) / width;
                now = slot;
            }
            if let Some(guard) = &self.guard {
                let next = guard.iter().find(|instr| !order.contains(instr));
                if next != Some(&instr) && !self.is_free(&order, instr) {
                    early.push(instr);
                }
            }
            order.push(instr);
            cycles[instr.index()] = now / width;
            if rules.is_timed {
                now += 1;
            }
            for edge in region.succs(instr) {
                let is_ready = region.preds(edge.instr).iter().all(|pred| order.contains(&pred.instr));
                if is_ready && !list.contains(&edge.instr) {
                    list.push(edge.instr);
                }
            }
        }
        Some((order, now))
    }
}

fn limit_of(limits: &[Option<u32>], class: ClassId) -> u32 {
    limits[class.index()].unwrap_or(u32::MAX)
}
