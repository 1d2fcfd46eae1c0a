//! Superiority: of two equivalent pieces of code, one can always go ahead.
//!
//! Unrolled code consists of copies: chains of loads, conversions and products, for example, that feed one
//! sum in a given order. At any progress of the copies, the one that is needed first might as well have made
//! the most of it. This module finds pairs of instructions (a, b) such that "a before b" can be added to the
//! dependences without loss. If there is an order within the limits, there is one that also respects the new
//! dependences.
//!
//! # The exchange
//! Let A and B be disjoint sets of instructions and φ a bijection from A to B. For a downset T, exchange
//! every pair (a, φ(a)) such that T holds only φ(a): the new set T' holds a instead. T' grows with T and is
//! as large as T. So if all T' of an order are downsets, they form an order, and in that order every a comes
//! before φ(a). It respects all limits if no T' has a higher pressure than its T. The following conditions
//! suffice for both. Throughout, b = φ(a); "before" means dependence, direct or not; "outside" means in
//! neither set.
//! 1. An instruction outside that directly depends on b also comes after a.
//! 2. An instruction outside on which a directly depends also comes before b.
//! 3. If a depends directly on p of A, then φ(p) or p comes before b.
//! 4. If b depends directly on φ(p) of B, then p comes before a or b.
//! 5. If a depends directly on φ(p) of B, then p comes before a, and p and φ(p) come before b.
//! 6. The values that a defines and those that b defines can be matched. Matched values y and y' have the
//!    same class and weight. The uses of y in A are the partners of the uses of y' in B. Neither value is
//!    used in the other set. Once all uses of y' outside have been passed, so have those of y. (A live-out
//!    has a use outside that is never passed.)
//! 7. For a value from outside that some b uses, one of two things holds. The partner of each b that uses
//!    it also uses it; or it can be matched as y' with another value y from outside, as in 6.
//!
//! *T' is a downset.* Let x be in T' and p a direct predecessor of x. There are four cases:
//! - x is outside. Then x and p are in T. If p is outside or in A, it stays. If p is in B, its partner
//!   is in T, by 1, so p stays.
//! - x is in A and in T. Then p is in T. If p is outside or in A, it stays. If p is in B, its partner is in
//!   T, by 5, so p stays.
//! - x is in A and not in T. Then the partner of x is in T. If p is outside, p is in T, by 2. If p is in A,
//!   then p or φ(p) is in T, by 3. If p is in B, then p and its partner are in T, by 5. In each case p is in
//!   T'.
//! - x is in B. Then x and its partner are in T, and so is p. If p is outside or in A, it stays. If p is in
//!   B, its partner is in T, by 4, so p stays.
//!
//! *The pressure is no higher.* For matched values y and y' of a and b, there are four cases:
//! - T holds neither a nor b. Then both values are unborn in T and T'.
//! - T holds a only. Then y stays as it is: no use in A is turned around, as b's users are not in T.
//! - T holds b only. Then y' is live in T unless all of its uses are in B and in T (those outside come after
//!   a, by 1). In T', y takes the place of y', with the partners of these uses passed and no use outside,
//!   by 6.
//! - T holds both. Let P say that all uses of y in A are in T, and Q that all uses of y' in B are. Let e and
//!   e' say the same of the uses of y and y' outside; e' implies e. Of the two values, T has freed
//!   [P and e] + [Q and e']. T' has freed at least [P or Q, and e] + [P and Q and e'], which is no less.
//!
//! For values from outside that are matched, the last case applies once T holds some b that uses y': then y
//! is born as well, by 2. Before, no use of y or y' is turned around. Any other value from outside is free in
//! T' if it is free in T. All of its users are then in T. Those in B stay, since their partners use the value
//! too, by 7, and so are in T.
//!
//! # With latencies
//! In terms of time, the exchange lets a issue at the earlier of the two times of a and b, and b at the later
//! one. Where the length counts as well, the new schedule must respect all latencies. It does if "before" in
//! 1 to 5 means: by at least the latency of the dependence in question. (An example: a depends on p of A with
//! a latency of l. Then p issues at the earlier time of its pair, l or more before a's own time, and before
//! that of b, by 3.) The last issue is as late as before. Partners must need the same units.
//!
//! Dependences are added one after the other. Each time the conditions are checked with those added before.

use rustc_hash::FxHashMap;

use crate::analysis::closure::Closure;
use crate::analysis::distance::Distances;
use crate::analysis::times::separation;
use crate::budget::Effort;
use crate::index::{ClassId, InstrId, ValueId};
use crate::problem::Problem;
use crate::region::{Edge, Region};

const NONE: u32 = u32::MAX;

/// The largest sets A and B.
const LARGEST: usize = 256;

/// Each instruction is compared with the following ones of its kind, until so many in a row are no partners.
/// Those of its shape and the others count apart, so that a long chain of copies is found whole.
const MOST_FAILURES: usize = 4;

/// Find dependences that cost no registers. They are also added to `closure`.
pub(crate) fn superiority(
    region: &Region,
    closure: &mut Closure,
    effort: &mut Effort,
) -> Vec<(InstrId, InstrId)> {
    let mut found = find(Finder::new(region, closure, None), effort);
    closure.reduce(&mut found);
    found
}

/// Find dependences that cost neither registers nor cycles.
pub(crate) fn timed_superiority(
    problem: &Problem,
    closure: &mut Closure,
    effort: &mut Effort,
) -> Vec<(InstrId, InstrId)> {
    let timing = Timing { problem, distances: Distances::new(problem) };
    let mut found = find(Finder::new(problem.region(), closure, Some(timing)), effort);
    closure.reduce(&mut found);
    found
}

fn find(mut finder: Finder, effort: &mut Effort) -> Vec<(InstrId, InstrId)> {
    let region = finder.region;
    let mut found = Vec::new();
    // Instructions that could be partners, in source order.
    let mut kinds: Vec<(u32, u32)> =
        region.instrs().map(|instr| (finder.kinds[instr.index()], instr.0)).collect();
    kinds.sort_unstable();
    let shapes = finder.shapes();
    // How many dependences there were after the last comparison of each.
    let mut compared = vec![usize::MAX; kinds.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for position in 0..kinds.len() {
            if effort.is_spent() {
                return found;
            }
            if compared[position] == found.len() {
                continue; // nothing is new
            }
            let (kind, one) = kinds[position];
            let mut failures = [0; 2];
            for &(_, other) in kinds[position + 1..].iter().take_while(|(other, _)| *other == kind) {
                let of_shape = &mut failures[usize::from(shapes[one as usize] == shapes[other as usize])];
                let (one, other) = (InstrId(one), InstrId(other));
                if *of_shape == MOST_FAILURES || !finder.closure.independent(one, other) {
                    continue;
                }
                *of_shape += 1;
                for (a, b) in [(one, other), (other, one)] {
                    let fits = finder.grow(a, b);
                    effort.spend(16 * finder.pairs.len() as u64);
                    if fits {
                        finder.accept(&mut found);
                        changed = true;
                        *of_shape = 0;
                        break;
                    }
                }
            }
            compared[position] = found.len();
        }
    }
    found
}

/// Return a number for each instruction. It is the same for those with values of the same classes and
/// weights. Where time counts, the units are also the same.
fn kinds(region: &Region, problem: Option<&Problem>) -> Vec<u32> {
    let mut numbers = FxHashMap::default();
    let kind = |instr: InstrId| {
        let live = region.defined_values(instr).iter().filter(|&&value| !region.is_dead(value));
        let values = live
            .map(|value| (value, false))
            .chain(region.used_values(instr).iter().map(|value| (value, true)));
        let mut kind: Vec<(ClassId, u32, bool)> = values
            .map(|(value, is_used)| {
                let value = &region.values()[value.index()];
                (value.class, value.weight, is_used)
            })
            .collect();
        kind.sort_unstable();
        (kind, problem.map(|problem| problem.unit_needs(instr)))
    };
    let mut number = |instr| {
        let next = numbers.len() as u32;
        *numbers.entry(kind(instr)).or_insert(next)
    };
    region.instrs().map(&mut number).collect()
}

/// The data for keeping latencies.
struct Timing<'a> {
    problem: &'a Problem<'a>,
    distances: Distances,
}

struct Finder<'a> {
    region: &'a Region,
    closure: &'a mut Closure,
    timing: Option<Timing<'a>>,
    /// The other end of each dependence, and its latency. Without [`Timing`] the latency is 0.
    preds: Vec<Vec<(u32, u32)>>,
    succs: Vec<Vec<(u32, u32)>>,
    /// Partners have the same kind.
    kinds: Vec<u32>,
    /// The partner in B of an instruction of A, and the other way round.
    partner_in_b: Vec<u32>,
    partner_in_a: Vec<u32>,
    pairs: Vec<(u32, u32)>,
}

impl<'a> Finder<'a> {
    fn new(region: &'a Region, closure: &'a mut Closure, timing: Option<Timing<'a>>) -> Self {
        let mut preds = vec![Vec::new(); region.len()];
        let mut succs = vec![Vec::new(); region.len()];
        for from in region.instrs() {
            for edge in region.succs(from) {
                let cycles = timing.as_ref().map_or(0, |timing| separation(timing.problem, from, edge));
                succs[from.index()].push((edge.instr.0, cycles));
                preds[edge.instr.index()].push((from.0, cycles));
            }
        }
        Finder {
            region,
            kinds: kinds(region, timing.as_ref().map(|timing| timing.problem)),
            timing,
            preds,
            succs,
            partner_in_b: vec![NONE; region.len()],
            partner_in_a: vec![NONE; region.len()],
            closure,
            pairs: Vec::new(),
        }
    }

    /// Return a number for each instruction. It is the same for those of a kind that have neighbours of the
    /// same kinds. Copies differ in shape only where they begin or end.
    fn shapes(&self) -> Vec<u32> {
        let around = |links: &[(u32, u32)]| {
            let kind = |&(other, cycles): &(u32, u32)| (self.kinds[other as usize], cycles);
            let mut kinds: Vec<(u32, u32)> = links.iter().map(kind).collect();
            kinds.sort_unstable();
            kinds
        };
        let mut numbers = FxHashMap::default();
        let mut number = |instr: usize| {
            let shape = (self.kinds[instr], around(&self.preds[instr]), around(&self.succs[instr]));
            let next = numbers.len() as u32;
            *numbers.entry(shape).or_insert(next)
        };
        (0..self.kinds.len()).map(&mut number).collect()
    }

    fn before(&self, first: u32, second: u32) -> bool {
        self.closure.reaches(InstrId(first), InstrId(second))
    }

    /// Return whether dependences alone put `second` at least `cycles` cycles after `first`.
    fn apart(&self, first: u32, second: u32, cycles: u32) -> bool {
        match &self.timing {
            None => self.before(first, second),
            Some(timing) => {
                let distance = timing.distances.between(InstrId(first), InstrId(second));
                first != second && distance.is_some_and(|distance| distance >= cycles)
            }
        }
    }

    fn is_outside(&self, instr: u32) -> bool {
        self.partner_in_a[instr as usize] == NONE && self.partner_in_b[instr as usize] == NONE
    }

    fn clear(&mut self) {
        for &(a, b) in &self.pairs {
            self.partner_in_b[a as usize] = NONE;
            self.partner_in_a[b as usize] = NONE;
        }
        self.pairs.clear();
    }

    /// Make (a, b) a pair, if possible so far.
    fn pair(&mut self, a: u32, b: u32) -> bool {
        if self.partner_in_b[a as usize] == b {
            return true;
        }
        let is_possible = self.pairs.len() < LARGEST
            && self.is_outside(a)
            && self.is_outside(b)
            && self.closure.independent(InstrId(a), InstrId(b))
            && self.kinds[a as usize] == self.kinds[b as usize];
        if is_possible {
            self.partner_in_b[a as usize] = b;
            self.partner_in_a[b as usize] = a;
            self.pairs.push((a, b));
        }
        is_possible
    }

    /// Look for sets A and B, with a in A and b in B, that meet the conditions.
    fn grow(&mut self, a: InstrId, b: InstrId) -> bool {
        self.clear();
        if !self.pair(a.0, b.0) {
            return false;
        }
        let mut done = 0;
        while done < self.pairs.len() {
            let (a, b) = self.pairs[done];
            done += 1;
            if !self.pair_preds(a, b) || !self.pair_succs(a, b) {
                return false;
            }
        }
        self.pairs.iter().all(|&(a, b)| self.edges_fit(a, b)) && self.values_fit()
    }

    /// Require that each predecessor of a comes before b, or has a partner on which b depends.
    fn pair_preds(&mut self, a: u32, b: u32) -> bool {
        for position in 0..self.preds[a as usize].len() {
            let (pred, cycles) = self.preds[a as usize][position];
            if self.apart(pred, b, cycles) || self.partner_in_b[pred as usize] != NONE {
                continue;
            }
            let candidates = self.preds[b as usize].clone();
            let mut fitting = candidates.into_iter().map(|(other, _)| other).filter(|&other| {
                self.is_outside(other)
                    && !self.before(other, a)
                    && self.closure.independent(InstrId(pred), InstrId(other))
                    && self.kinds[pred as usize] == self.kinds[other as usize]
            });
            let Some(other) = fitting.next() else { return false };
            drop(fitting);
            if !self.pair(pred, other) {
                return false;
            }
        }
        true
    }

    /// Require that each successor of b comes after a, or has a partner that depends on a.
    fn pair_succs(&mut self, a: u32, b: u32) -> bool {
        for position in 0..self.succs[b as usize].len() {
            let (succ, cycles) = self.succs[b as usize][position];
            if self.apart(a, succ, cycles) || self.partner_in_a[succ as usize] != NONE {
                continue;
            }
            let candidates = self.succs[a as usize].clone();
            let mut fitting = candidates.into_iter().map(|(other, _)| other).filter(|&other| {
                self.is_outside(other)
                    && !self.before(b, other)
                    && self.closure.independent(InstrId(succ), InstrId(other))
                    && self.kinds[succ as usize] == self.kinds[other as usize]
            });
            let Some(other) = fitting.next() else { return false };
            drop(fitting);
            if !self.pair(other, succ) {
                return false;
            }
        }
        true
    }

    /// Check conditions 1 to 5.
    fn edges_fit(&self, a: u32, b: u32) -> bool {
        let preds_of_a = self.preds[a as usize].iter().all(|&(pred, cycles)| {
            let (in_a, in_b) = (self.partner_in_a[pred as usize], self.partner_in_b[pred as usize]);
            match in_a {
                NONE => self.apart(pred, b, cycles) || in_b != NONE && self.apart(in_b, b, cycles),
                partner => {
                    let one = self.apart(partner, a, cycles);
                    one && self.apart(partner, b, cycles) && self.apart(pred, b, cycles)
                }
            }
        });
        let preds_of_b = self.preds[b as usize].iter().all(|&(pred, cycles)| {
            let partner = self.partner_in_a[pred as usize];
            partner == NONE || self.apart(partner, a, cycles) || self.apart(partner, b, cycles)
        });
        let succs_of_b = self.succs[b as usize].iter().all(|&(succ, cycles)| {
            // (Within A and B: seen as a predecessor.)
            !self.is_outside(succ) || self.apart(a, succ, cycles)
        });
        preds_of_a && preds_of_b && succs_of_b
    }

    /// Check conditions 6 and 7.
    fn values_fit(&self) -> bool {
        let region = self.region;
        let mut taken = Vec::new();
        for &(a, b) in &self.pairs {
            let live = |instr: u32| {
                let values = region.defined_values(InstrId(instr)).iter();
                let mut values: Vec<ValueId> =
                    values.copied().filter(|&value| !region.is_dead(value)).collect();
                values.sort_by_key(|value| {
                    let value = &region.values()[value.index()];
                    (value.class, value.weight)
                });
                values
            };
            let (of_a, of_b) = (live(a), live(b));
            if of_a.len() != of_b.len() || !of_a.iter().zip(&of_b).all(|(&y, &z)| self.is_match(y, z)) {
                return false;
            }
            // Values from outside.
            for &value in region.used_values(InstrId(b)) {
                let is_inside = region.values()[value.index()].def.is_some_and(|def| !self.is_outside(def.0));
                if is_inside || self.is_shared(value) {
                    continue;
                }
                let matching = region.used_values(InstrId(a)).iter().copied().find(|&other| {
                    let def = region.values()[other.index()].def;
                    def.is_none_or(|def| self.is_outside(def.0))
                        && taken.iter().all(|&(one, two)| (one == other) == (two == value))
                        && self.is_match(other, value)
                });
                let Some(other) = matching else { return false };
                taken.push((other, value));
            }
        }
        true
    }

    /// Return whether every user in B has a partner that also uses the value.
    fn is_shared(&self, value: ValueId) -> bool {
        let uses = self.region.value_uses(value);
        uses.iter().all(|instr| {
            let partner = self.partner_in_a[instr.index()];
            partner == NONE || uses.contains(&InstrId(partner))
        })
    }

    /// Check condition 6 for y of A and y' of B.
    fn is_match(&self, of_a: ValueId, of_b: ValueId) -> bool {
        let region = self.region;
        let (y, z) = (&region.values()[of_a.index()], &region.values()[of_b.index()]);
        let (uses_y, uses_z) = (region.value_uses(of_a), region.value_uses(of_b));
        let in_a = |instr: &InstrId| self.partner_in_b[instr.index()] != NONE;
        let in_b = |instr: &InstrId| self.partner_in_a[instr.index()] != NONE;
        let outside = |instr: &&InstrId| !in_a(instr) && !in_b(instr);
        if (y.class, y.weight) != (z.class, z.weight) || uses_y.iter().any(in_b) || uses_z.iter().any(in_a) {
            return false;
        }
        let partners_use = uses_y.iter().all(|instr| {
            let partner = self.partner_in_b[instr.index()];
            partner == NONE || uses_z.contains(&InstrId(partner))
        });
        let inside = (
            uses_y.iter().filter(|instr| in_a(instr)).count(),
            uses_z.iter().filter(|instr| in_b(instr)).count(),
        );
        if !partners_use || inside.0 != inside.1 {
            return false;
        }
        let is_passed = |instr: &InstrId| {
            let mut others = uses_z.iter().filter(outside);
            others.any(|other| other == instr || self.before(instr.0, other.0))
        };
        z.live_out || !y.live_out && uses_y.iter().filter(outside).all(is_passed)
    }

    /// Add the dependences between the pairs.
    fn accept(&mut self, found: &mut Vec<(InstrId, InstrId)>) {
        for position in 0..self.pairs.len() {
            let (a, b) = self.pairs[position];
            if self.before(a, b) {
                continue;
            }
            self.closure.add(InstrId(a), InstrId(b));
            let mut cycles = 0;
            if let Some(timing) = &mut self.timing {
                cycles = separation(timing.problem, InstrId(a), &Edge { instr: InstrId(b), latency: 0 });
                timing.distances.add(self.closure, InstrId(a), InstrId(b), cycles);
            }
            self.succs[a as usize].push((b, cycles));
            self.preds[b as usize].push((a, cycles));
            found.push((InstrId(a), InstrId(b)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::minreg::made::{MOST, Machine, Made, Small, fits, regions, retimed, targets};
    use crate::problem::Goal;
    use crate::random::Random;

    /// Return some minimal combinations of peaks: of each class alone, and then of another one.
    fn optima(small: &Small, classes: usize) -> Vec<Option<u32>> {
        let mut optima = Vec::new();
        for class in 0..classes {
            let alone = small.lowest(class, &[]);
            optima.push(alone);
            for (other, more) in (0..classes).flat_map(|other| [(other, 0), (other, 1)]) {
                let mut limits = vec![None; classes];
                limits[class] = alone.map(|peak| peak + more);
                optima.push(small.lowest(other, &limits));
            }
        }
        optima
    }

    #[test]
    fn the_optimum_stays() {
        let unrolled = (0..1500u64).flat_map(|seed| {
            let kinds = [Made::Unrolled, Made::NearlyUnrolled, Made::Crossed, Made::Chains];
            kinds.map(|made| made.region(10, seed | 1 << 40))
        });
        let (mut with_some, mut edges, mut larger) = (0, 0, 0);
        for region in unrolled.chain(regions(0..120, 10)) {
            let mut closure = Closure::new(&region);
            let found = superiority(&region, &mut closure, &mut { Effort::UNBOUNDED });
            if found.is_empty() {
                continue;
            }
            with_some += 1;
            edges += found.len();
            larger += usize::from(found.len() > 3);
            // The closure contains all of them, and there is no cycle.
            assert!(found.iter().all(|&(a, b)| closure.reaches(a, b) && !closure.reaches(b, a)));
            let classes = region.classes().len();
            let [before, after] = [&[][..], &found].map(|more| optima(&Small::new(&region, more), classes));
            assert_eq!(before, after, "{} {found:?}", region.name());
        }
        println!("{edges} dependences in {with_some} regions, more than three in {larger} of them");
        assert!(with_some > 2_000 && larger > 1_000, "{with_some} {larger}");
    }

    /// With latencies, the shortest length within limits has to stay as well.
    #[test]
    fn the_length_stays() {
        let mut random = Random::new(1);
        let targets = targets();
        let units: [&[(&str, u32)]; 3] = [&[], &[("a", 2)], &[("b", 3)]];
        let unrolled = (0..1000u64).flat_map(|seed| {
            let kinds = [Made::Unrolled, Made::NearlyUnrolled, Made::Crossed, Made::Chains];
            kinds.map(|made| made.region(MOST - 1, seed | 1 << 41))
        });
        let (mut with_some, mut edges, mut asked, mut limited) = (0, 0, 0, 0);
        let unrolled = unrolled.filter(|region| region.len() <= MOST);
        for (number, region) in unrolled.chain(regions(0..120, MOST - 1)).enumerate() {
            let target = &targets[number % targets.len()];
            // Units of all kinds would leave no two instructions alike.
            let region = retimed(&region, &units[..random.pick(&[0, 1, 2, 3])], &mut random);
            let problem = Problem::new(&region, target, Goal::Occupancy).expect("all classes are known");
            let mut closure = Closure::new(&region);
            let found = timed_superiority(&problem, &mut closure, &mut { Effort::UNBOUNDED });
            if found.is_empty() {
                continue;
            }
            with_some += 1;
            edges += found.len();
            let machine = Machine::new(&region, target);
            let [before, after] = [&[][..], &found].map(|more| Small::new(&region, more));
            let unlimited = machine.shortest(&before, |_| true);
            let all = before.all_peaks();
            for more in [0, 0, 1, 2] {
                let peaks = &all[random.below(all.len())];
                let limits: Vec<Option<u32>> = peaks
                    .iter()
                    .map(|peak| random.chance(80).then(|| peak + random.below(more + 1) as u32))
                    .collect();
                let [before, after] = [&before, &after]
                    .map(|small| machine.shortest(small, |pressure| fits(pressure, &limits)));
                assert_eq!(before, after, "{} {found:?} {limits:?} on {:?}", region.name(), target.issue());
                asked += 1;
                limited += u32::from(before > unlimited);
            }
        }
        println!("{edges} dependences in {with_some} regions; {asked} optima, {limited} of them limited");
        assert!(with_some > 1_500 && limited > 1_000, "{with_some} {limited}");
    }

    #[test]
    fn without_effort_nothing_is_found() {
        let region = Made::Chains.region(10, 1);
        let mut closure = Closure::new(&region);
        let found = superiority(&region, &mut closure, &mut Effort { steps: 0, deadline: None });
        assert!(found.is_empty() && closure == Closure::new(&region));
    }
}
