//! Skeletons: orders of the critical instructions alone, and why none is possible.
//!
//! Every order of a region has its critical instructions in some order, its *skeleton*. Just before each of
//! them, and just after it, those before it in the skeleton are done with all their ancestors, and those after
//! it are ahead with all their descendants. A minimum cut finds the least pressure of all downsets that are
//! possible then. If it exceeds a limit, no order with this skeleton is within the limit. So if every skeleton
//! has such a moment, there is no order within the limit at all. (Forced orders of pairs do not see this where
//! an instruction can come before two others, or after them, but not between them.)
//!
//! # The search
//! It decides on pairs of instructions, depth first, as solvers for propositional logic do. A partial order is impossible if a moment is
//! already too high. Mostly, a few instructions before x and a few after it are the reason: they are found by
//! leaving out others, and become a *nogood*, a set of pairs that do not hold together. If all but one of
//! its pairs hold, the last one must not. A conflict is traced back along the reasons of its pairs to the last
//! decision; this gives another nogood, and the search goes back as far as that one allows.
//!
//! For each moment, a downset within the limit is kept as its witness. While it has all that come before and
//! nothing that comes after, no cut is needed. The next decision is about two instructions whose witnesses
//! disagree: each has the other one done, or neither has. The more conflicts they were part of, the better.
//!
//! With all instructions as critical ones, a skeleton is an order within the limits.

use crate::analysis::closure::Closure;
use crate::analysis::flow::{DownsetMin, Minimum, Side};
use crate::analysis::pressure::Tracker;
use crate::bits::{BitSet, Bits};
use crate::budget::Effort;
use crate::index::InstrId;
use crate::region::Region;
use crate::verdict::Verdict;

/// The most witnesses that are kept for a moment, the latest ones.
const MOST_WITNESSES: usize = 24;

/// The least effort that is worth a search, for each critical instruction and each instruction.
const LEAST_STEPS: u64 = 4;

/// Return a skeleton of a number of critical instructions, or of fewer, with all moments within the limits. The answer is no if
/// there is none.
pub(crate) fn skeleton(
    region: &Region,
    closure: &Closure,
    limits: &[Option<u32>],
    count: usize,
    effort: &mut Effort,
) -> Verdict<Vec<InstrId>> {
    let least = LEAST_STEPS * (count.min(region.len()) * region.len()) as u64;
    if effort.steps < least || effort.is_spent() {
        return Verdict::Unknown;
    }
    let instrs = critical(region, limits, count);
    effort.spend((instrs.len() * instrs.len()) as u64 / 16);
    Skeletons::new(region, closure, limits, &instrs).search(effort)
}

/// Return a number of critical instructions, or fewer: those at places where the order of the region exceeds a limit. If
/// there are too few of them, those at the highest places below it, too.
fn critical(region: &Region, limits: &[Option<u32>], count: usize) -> Vec<InstrId> {
    let mut tracker = Tracker::new(region);
    let height = |tracker: &Tracker| {
        let limited = region.class_ids().filter_map(|class| Some((class, limits[class.index()]?)));
        limited.map(|(class, limit)| i64::from(tracker.now(class)) - i64::from(limit)).max().unwrap_or(0)
    };
    let mut before = height(&tracker);
    let heights = region.instrs().map(|instr| {
        tracker.schedule(instr);
        let after = height(&tracker);
        std::mem::replace(&mut before, after).max(after)
    });
    let heights: Vec<i64> = heights.collect();
    let mut sorted = heights.clone();
    sorted.sort_unstable();
    let least = sorted[sorted.len().saturating_sub(count)].min(1);
    let instrs: Vec<InstrId> = region.instrs().filter(|instr| heights[instr.index()] >= least).collect();
    let count = count.min(instrs.len());
    (0..count).map(|number| instrs[number * instrs.len() / count]).collect()
}

/// The first instruction comes before the second one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pair {
    first: u32,
    second: u32,
}

impl Pair {
    fn reversed(self) -> Pair {
        Pair { first: self.second, second: self.first }
    }
}

/// Why a pair holds.
#[derive(Clone, Copy)]
enum Reason {
    Decision,
    /// It is the opposite of a pair of this nogood, and all others hold.
    Nogood(u32),
    /// Its first instruction is that of another pair or comes before it, and its second one is that of the other pair or
    /// comes after it.
    Around(Pair),
}

/// A pair that holds but does not follow from the region.
#[derive(Clone, Copy)]
struct Step {
    pair: Pair,
    reason: Reason,
    /// The number of decisions up to it.
    level: u32,
}

const NO_STEP: u32 = u32::MAX;

/// The moment just before or just after an instruction, for a class with a limit.
#[derive(Clone, Copy)]
struct Moment {
    class: usize,
    x: usize,
    is_after: bool,
}

/// Sets of critical instructions that are done at a moment, in downsets within the limit.
#[derive(Clone, Default)]
struct Witnesses {
    sets: Vec<BitSet>,
    /// The one that fits the partial order.
    current: usize,
    /// The next one to be replaced.
    oldest: usize,
}

/// A class with a limit: its cuts, and the least pressure above the limit.
struct Limited<'a> {
    cut: DownsetMin<'a>,
    excess: u32,
}

/// Why a partial order is not continued.
enum End {
    /// A nogood that it is against.
    Impossible(u32),
    Spent,
}

/// The critical instructions have numbers here, by their order in the region.
struct Skeletons<'a> {
    region: &'a Region,
    closure: &'a Closure,
    instrs: &'a [InstrId],
    limited: Vec<Limited<'a>>,
    /// The partial order: for each instruction, those before it and those after it.
    before: Vec<BitSet>,
    after: Vec<BitSet>,
    trail: Vec<Step>,
    /// For each pair, its place in the trail, or [`NO_STEP`].
    places: Vec<u32>,
    /// The length of the trail before each decision.
    levels: Vec<u32>,
    /// The pairs of the trail before this place have been compared with the nogoods.
    compared: usize,
    nogoods: Vec<Vec<Pair>>,
    /// For each first instruction of a pair: the second one, and a nogood that waits for the pair. Each nogood
    /// waits for two of its pairs, its first ones.
    waiting: Vec<Vec<(u32, u32)>>,
    /// How much an instruction has had to do with conflicts, and how much the next conflict counts.
    activity: Vec<u64>,
    weight: u64,
    /// The witnesses of each moment.
    witnesses: Vec<Witnesses>,
    /// The instructions whose moments need another look.
    changed: BitSet,
    /// A complete order, while all witnesses agree with it.
    agreed: Vec<u32>,
    sides: Vec<Side>,
    done: BitSet,
    ahead: BitSet,
}

impl<'a> Skeletons<'a> {
    fn new(region: &'a Region, closure: &'a Closure, limits: &[Option<u32>], instrs: &'a [InstrId]) -> Self {
        let limited = region.class_ids().filter_map(|class| {
            let limit = limits[class.index()]?;
            Some(Limited { cut: DownsetMin::new(region, class, closure), excess: limit + 1 })
        });
        let limited: Vec<Limited> = limited.collect();
        let count = instrs.len();
        let is_critical = BitSet::of(region.len(), instrs.iter().copied());
        let mut numbers = vec![0; region.len()];
        (0..).zip(instrs).for_each(|(number, instr)| numbers[instr.index()] = number);
        let mut related = BitSet::new(region.len());
        let mut numbered = |all: Bits| {
            related.copy_common(all, &is_critical);
            BitSet::of(count, related.iter().map(|instr| -> u32 { numbers[instr] }))
        };
        Skeletons {
            region,
            closure,
            instrs,
            before: instrs.iter().map(|&x| numbered(closure.ancestors(x))).collect(),
            after: instrs.iter().map(|&x| numbered(closure.descendants(x))).collect(),
            trail: Vec::new(),
            places: vec![NO_STEP; count * count],
            levels: Vec::new(),
            compared: 0,
            nogoods: Vec::new(),
            waiting: vec![Vec::new(); count],
            activity: vec![0; count],
            weight: 1 << 8,
            witnesses: vec![Witnesses::default(); 2 * count * limited.len()],
            limited,
            changed: BitSet::full(count),
            agreed: Vec::new(),
            sides: vec![Side::Free; region.len()],
            done: BitSet::new(region.len()),
            ahead: BitSet::new(region.len()),
        }
    }

    fn search(&mut self, effort: &mut Effort) -> Verdict<Vec<InstrId>> {
        loop {
            if effort.is_spent() {
                return Verdict::Unknown;
            }
            let is_possible = self.apply_nogoods(effort).and_then(|()| self.find_witnesses(effort));
            match is_possible {
                Ok(()) => {
                    let Some(pair) = self.choose(effort) else { return Verdict::Yes(self.in_order()) };
                    self.levels.push(self.trail.len() as u32);
                    self.add(pair, Reason::Decision);
                }
                Err(End::Spent) => return Verdict::Unknown,
                Err(End::Impossible(nogood)) => {
                    if !self.resolve(nogood, effort) {
                        return Verdict::No(());
                    }
                }
            }
        }
    }

    fn holds(&self, pair: Pair) -> bool {
        self.after[pair.first as usize].contains(pair.second)
    }

    /// Return the place of a pair in tables of all pairs.
    fn number(&self, pair: Pair) -> usize {
        pair.first as usize * self.instrs.len() + pair.second as usize
    }

    /// Return the step that made a pair hold. `None` if it follows from the region.
    fn step(&self, pair: Pair) -> Option<&Step> {
        self.trail.get(self.places[self.number(pair)] as usize)
    }

    /// Add a pair that is undecided, with all pairs that follow from it.
    fn add(&mut self, pair: Pair, reason: Reason) {
        let (first, second) = (pair.first as usize, pair.second as usize);
        // The pair itself comes first: it is the reason for the others.
        let earlier: Vec<usize> = [first].into_iter().chain(self.before[first].iter()).collect();
        let later: Vec<usize> = [second].into_iter().chain(self.after[second].iter()).collect();
        let level = self.levels.len() as u32;
        for &one in &earlier {
            for &other in &later {
                if !self.after[one].insert_new(other) {
                    continue;
                }
                self.before[other].insert(one);
                let new = Pair { first: one as u32, second: other as u32 };
                let reason = if new == pair { reason } else { Reason::Around(pair) };
                let number = self.number(new);
                self.places[number] = self.trail.len() as u32;
                self.trail.push(Step { pair: new, reason, level });
                self.changed.insert(one);
                self.changed.insert(other);
            }
        }
    }

    /// Go back to a number of decisions. Before each of them, all moments had witnesses.
    fn go_back(&mut self, level: usize) {
        let length = self.levels[level] as usize;
        self.levels.truncate(level);
        for at in length..self.trail.len() {
            let pair = self.trail[at].pair;
            self.after[pair.first as usize].remove(pair.second);
            self.before[pair.second as usize].remove(pair.first);
            let number = self.number(pair);
            self.places[number] = NO_STEP;
        }
        self.trail.truncate(length);
        self.compared = self.compared.min(length);
        self.changed.clear();
    }

    /// Add all pairs that follow from nogoods.
    fn apply_nogoods(&mut self, effort: &mut Effort) -> Result<(), End> {
        while let Some(&Step { pair, .. }) = self.trail.get(self.compared) {
            self.compared += 1;
            let mut waiting = std::mem::take(&mut self.waiting[pair.first as usize]);
            effort.spend(1 + waiting.len() as u64 / 8);
            let mut result = Ok(());
            let mut kept = 0;
            for at in 0..waiting.len() {
                let (second, nogood) = waiting[at];
                let stays = second != pair.second || result.is_err() || {
                    effort.spend(1);
                    self.apply(nogood, pair, &mut result)
                };
                if stays {
                    waiting[kept] = waiting[at];
                    kept += 1;
                }
            }
            waiting.truncate(kept);
            // No nogood has come to wait for the same pair: that one holds.
            let others = std::mem::replace(&mut self.waiting[pair.first as usize], waiting);
            self.waiting[pair.first as usize].extend(others);
            result?;
        }
        Ok(())
    }

    /// Apply a nogood that has waited for a pair, which holds now. Return whether it goes on waiting for it.
    fn apply(&mut self, number: u32, pair: Pair, result: &mut Result<(), End>) -> bool {
        let mut nogood = std::mem::take(&mut self.nogoods[number as usize]);
        if nogood[0] == pair {
            nogood.swap(0, 1);
        }
        let mut stays = true;
        let other = nogood[0];
        if !self.holds(other.reversed()) {
            match (2..nogood.len()).find(|&at| !self.holds(nogood[at])) {
                Some(at) => {
                    nogood.swap(1, at);
                    let Pair { first, second } = nogood[1];
                    self.waiting[first as usize].push((second, number));
                    stays = false;
                }
                None if self.holds(other) => *result = Err(End::Impossible(number)),
                None => self.add(other.reversed(), Reason::Nogood(number)),
            }
        }
        self.nogoods[number as usize] = nogood;
        stays
    }

    /// Remember a nogood. Its first two pairs must be the last ones to hold.
    fn remember(&mut self, nogood: Vec<Pair>) -> u32 {
        let number = self.nogoods.len() as u32;
        if nogood.len() > 1 {
            for Pair { first, second } in &nogood[..2] {
                self.waiting[*first as usize].push((*second, number));
            }
        }
        self.nogoods.push(nogood);
        number
    }

    /// Trace a conflict back to the last decision on which it depends, and go back. Return false if it depends on no decision.
    fn resolve(&mut self, nogood: u32, effort: &mut Effort) -> bool {
        let place = |search: &Self, pair: Pair| search.places[search.number(pair)];
        let highest = |search: &Self, pairs: &[Pair]| {
            pairs.iter().filter_map(|&pair| search.step(pair)).map(|step| step.level).max().unwrap_or(0)
        };
        // The reason of a cut may lie before the last decisions.
        let level = highest(self, &self.nogoods[nogood as usize]);
        if level == 0 {
            return false;
        }
        if (level as usize) < self.levels.len() {
            self.go_back(level as usize);
        }
        let mut is_seen = BitSet::new(self.trail.len());
        let (mut learned, mut open) = (Vec::new(), 0);
        let mut sources = self.nogoods[nogood as usize].clone();
        let mut at = self.trail.len();
        loop {
            effort.spend(sources.len() as u64);
            for &source in &sources {
                let Some(&step) = self.step(source) else { continue };
                if step.level == 0 || !is_seen.insert_new(place(self, source)) {
                    continue;
                }
                for x in [source.first, source.second] {
                    self.activity[x as usize] += self.weight;
                }
                match step.level == level {
                    true => open += 1,
                    false => learned.push(source),
                }
            }
            while at > 0 && !is_seen.contains(at - 1) {
                at -= 1;
            }
            at -= 1;
            let Step { pair, reason, .. } = self.trail[at];
            open -= 1;
            if open == 0 {
                // All later pairs of the conflict depend on this one.
                learned.insert(0, pair);
                break;
            }
            sources.clear();
            match reason {
                Reason::Decision => {}
                Reason::Nogood(number) => {
                    let others = self.nogoods[number as usize].iter();
                    sources.extend(others.filter(|&&other| other != pair.reversed()));
                }
                Reason::Around(middle) => {
                    sources.push(middle);
                    if pair.first != middle.first {
                        sources.push(Pair { first: pair.first, second: middle.first });
                    }
                    if pair.second != middle.second {
                        sources.push(Pair { first: middle.second, second: pair.second });
                    }
                }
            }
        }
        self.weight += self.weight >> 5;
        if self.weight > 1 << 40 {
            self.weight >>= 24;
            self.activity.iter_mut().for_each(|activity| *activity >>= 24);
        }
        learned[1..].sort_unstable_by_key(|&pair| std::cmp::Reverse(place(self, pair)));
        let back_to = highest(self, &learned[1..]);
        self.go_back(back_to as usize);
        let wrong = learned[0];
        let number = self.remember(learned);
        self.add(wrong.reversed(), Reason::Nogood(number));
        true
    }

    fn place_of(&self, moment: Moment) -> usize {
        2 * (moment.class * self.instrs.len() + moment.x) + usize::from(moment.is_after)
    }

    /// Find a witness for each moment that has none any more.
    fn find_witnesses(&mut self, effort: &mut Effort) -> Result<(), End> {
        while let Some(x) = self.changed.bits().next_from(0usize) {
            for class in 0..self.limited.len() {
                for is_after in [false, true] {
                    self.find_witness(Moment { class, x, is_after }, effort)?;
                }
            }
            self.changed.remove(x);
        }
        Ok(())
    }

    fn find_witness(&mut self, moment: Moment, effort: &mut Effort) -> Result<(), End> {
        let Moment { class, x, .. } = moment;
        let place = self.place_of(moment);
        let (before, after) = (&self.before[x], &self.after[x]);
        let fits = |set: &BitSet| before.bits().is_subset(set) && after.bits().is_disjoint(set);
        let Witnesses { sets, current, .. } = &mut self.witnesses[place];
        if sets.get(*current).is_some_and(fits) {
            return Ok(());
        }
        effort.spend(1 + sets.len() as u64 / 2);
        if let Some(other) = sets.iter().position(fits) {
            *current = other;
            return Ok(());
        }
        if effort.is_spent() {
            return Err(End::Spent);
        }
        let number = |other: usize| other as u32;
        let others = before.iter().map(|other| Pair { first: number(other), second: number(x) });
        let others = others.chain(after.iter().map(|other| Pair { first: number(x), second: number(other) }));
        let others: Vec<Pair> = others.collect();
        match self.least(moment, &others, effort) {
            Minimum::Exact(pressure) => {
                // Until there are conflicts, the highest moments count.
                self.activity[x] = self.activity[x].max(pressure.into());
                for is_largest in [true, false] {
                    let cut = &mut self.limited[class].cut;
                    match is_largest {
                        true => cut.largest(&mut self.done),
                        false => cut.smallest(&mut self.done),
                    }
                    self.note(class, effort);
                }
                Ok(())
            }
            Minimum::AtLeast(pressure) if pressure < self.limited[class].excess => Err(End::Spent),
            Minimum::AtLeast(_) => Err(End::Impossible(self.learn(moment, effort))),
        }
    }

    /// Find the least pressure at a moment. Only some pairs with its instruction count.
    fn least(&mut self, moment: Moment, pairs: &[Pair], effort: &mut Effort) -> Minimum {
        effort.spend(self.region.len() as u64);
        self.agreed.clear();
        let x = self.instrs[moment.x];
        self.done.copy_from(self.closure.ancestors(x));
        self.ahead.copy_from(self.closure.descendants(x));
        for pair in pairs {
            let [first, second] = [pair.first, pair.second].map(|number| self.instrs[number as usize]);
            if second == x {
                self.done.unite(self.closure.ancestors(first));
                self.done.insert(first);
            } else {
                self.ahead.unite(self.closure.descendants(second));
                self.ahead.insert(second);
            }
        }
        self.sides.fill(Side::Free);
        self.done.instrs().for_each(|instr| self.sides[instr.index()] = Side::In);
        self.ahead.instrs().for_each(|instr| self.sides[instr.index()] = Side::Out);
        self.sides[x.index()] = if moment.is_after { Side::In } else { Side::Out };
        let Limited { cut, excess } = &mut self.limited[moment.class];
        cut.min(&self.sides, *excess, effort)
    }

    /// Take note of a downset within the limit on a class, for all moments that it passes.
    fn note(&mut self, class: usize, effort: &mut Effort) {
        let count = self.instrs.len();
        effort.spend(self.region.len() as u64 / 2 + (count * self.done.words()) as u64 / 16);
        let done = BitSet::of(count, (0..count).filter(|&other| self.done.contains(self.instrs[other])));
        for (x, &instr) in self.instrs.iter().enumerate() {
            let is_after = done.contains(x);
            let passes = match is_after {
                true => self.closure.descendants(instr).is_disjoint(&self.done),
                false => self.closure.ancestors(instr).is_subset(&self.done),
            };
            if !passes {
                continue;
            }
            let fits = self.before[x].bits().is_subset(&done) && self.after[x].bits().is_disjoint(&done);
            let place = self.place_of(Moment { class, x, is_after });
            let Witnesses { sets, current, oldest } = &mut self.witnesses[place];
            let mut place = sets.len();
            if place < MOST_WITNESSES {
                sets.push(done.clone());
            } else {
                place = *oldest;
                *oldest = (place + 1) % MOST_WITNESSES;
                if place == *current && !fits {
                    continue;
                }
                sets[place].copy_from(&done);
            }
            if fits {
                *current = place;
            }
        }
    }

    /// Find a few pairs that are the reason why a moment is too high, and remember them.
    fn learn(&mut self, moment: Moment, effort: &mut Effort) -> u32 {
        // The latest pairs are left out first, so that the reason lies in early decisions.
        let x = moment.x as u32;
        let steps = self.trail.iter().rev().map(|step| step.pair);
        let all: Vec<Pair> = steps.filter(|pair| pair.first == x || pair.second == x).collect();
        let follows = |pair: &Pair, other: &Pair| {
            let reaches = |one: u32, other: u32| {
                self.closure.reaches(self.instrs[one as usize], self.instrs[other as usize])
            };
            pair.second == x && other.second == x && reaches(pair.first, other.first)
                || pair.first == x && other.first == x && reaches(other.second, pair.second)
        };
        let is_needed = |pair: &Pair| !all.iter().any(|other| follows(pair, other));
        effort.spend((all.len() * all.len()) as u64 / 4);
        let mut reason: Vec<Pair> = all.iter().copied().filter(is_needed).collect();
        let excess = self.limited[moment.class].excess;
        let mut rest = Vec::with_capacity(reason.len());
        let mut size = reason.len() / 2;
        while size > 0 {
            let mut start = 0;
            while start < reason.len() {
                let end = (start + size).min(reason.len());
                rest.clear();
                rest.extend(reason[..start].iter().chain(&reason[end..]));
                match self.least(moment, &rest, effort) {
                    Minimum::AtLeast(least) if least == excess => std::mem::swap(&mut reason, &mut rest),
                    _ => start = end,
                }
            }
            size /= 2;
        }
        self.remember(reason)
    }

    /// Choose a pair that is undecided, if there is one. The witnesses of the two disagree, if possible.
    fn choose(&mut self, effort: &mut Effort) -> Option<Pair> {
        let count = self.instrs.len();
        effort.spend(count as u64);
        if self.agreed.is_empty() {
            let disagree = self.choose_by_witnesses(effort);
            if disagree.is_some() {
                return disagree;
            }
            self.agreed = (0..count as u32).collect();
            let done_before = |&x: &u32| {
                let Witnesses { sets, current, .. } = &self.witnesses[2 * x as usize];
                sets.get(*current).map_or(0, BitSet::count)
            };
            self.agreed.sort_by_cached_key(done_before);
        }
        let is_undecided = |pair: &Pair| !self.holds(*pair) && !self.holds(pair.reversed());
        let neighbours = self.agreed.windows(2).map(|pair| Pair { first: pair[0], second: pair[1] });
        neighbours.clone().find(is_undecided).or_else(|| {
            // Where the partial order is against it, others than neighbours are left.
            let pairs = (0..count).flat_map(|x| (x + 1..count).map(move |y| (x as u32, y as u32)));
            pairs.map(|(first, second)| Pair { first, second }).find(is_undecided)
        })
    }

    /// Choose an undecided pair whose witnesses disagree.
    fn choose_by_witnesses(&self, effort: &mut Effort) -> Option<Pair> {
        let count = self.instrs.len();
        let mut most_active: Vec<usize> = (0..count).collect();
        most_active.sort_by_key(|&x| std::cmp::Reverse(self.activity[x]));
        let has = |class: usize, is_after: bool, x: usize, y: usize| {
            let Witnesses { sets, current, .. } =
                &self.witnesses[self.place_of(Moment { class, x, is_after })];
            sets[*current].contains(y)
        };
        let disagree = |x: usize, y: usize| {
            let mut moments = (0..self.limited.len()).flat_map(|class| [(class, false), (class, true)]);
            moments.any(|(class, is_after)| has(class, is_after, x, y) == has(class, is_after, y, x))
        };
        for (number, &x) in most_active.iter().enumerate() {
            effort.spend(count as u64 / 8);
            let (before, after) = (&self.before[x], &self.after[x]);
            let undecided =
                most_active[number + 1..].iter().filter(|&&y| !before.contains(y) && !after.contains(y));
            if let Some(&y) = undecided.into_iter().find(|&&y| disagree(x, y)) {
                return Some(Pair { first: x.min(y) as u32, second: x.max(y) as u32 });
            }
        }
        None
    }

    /// Return the instructions in their order, if it is complete.
    fn in_order(&self) -> Vec<InstrId> {
        let mut numbers: Vec<usize> = (0..self.instrs.len()).collect();
        numbers.sort_unstable_by_key(|&x| self.before[x].count());
        numbers.into_iter().map(|x| self.instrs[x]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::limits::is_within;
    use crate::check::check_order;
    use crate::generate::{Random, random_order};
    use crate::minreg::made::{Small, regions};

    /// All orders within the limits are tried here.
    #[test]
    fn there_is_no_skeleton_only_if_there_is_no_order() {
        let mut random = Random::new(1);
        let (mut refuted, mut orders, mut partial, mut spent) = (0, 0, 0, 0);
        for region in regions(0..400, 10) {
            let small = Small::new(&region, &[]);
            let closure = Closure::new(&region);
            let peaks = check_order(&region, &random_order(&region, &mut random)).expect("a legal order");
            for less in 0..4 {
                // The minimum of one class, or a little less or more; or a number near the need of an order.
                let limits: Vec<Option<u32>> = if random.chance(60) {
                    let only = random.below(peaks.len());
                    let least = small.lowest(only, &[]).map(|least| (least + 1).saturating_sub(less));
                    (0..peaks.len()).map(|class| least.filter(|_| class == only)).collect()
                } else {
                    peaks.iter().map(|peak| Some(peak.between.saturating_sub(less))).collect()
                };
                let is_all = random.chance(50);
                let instrs = region.instrs().filter(|_| is_all || random.chance(70));
                let instrs: Vec<InstrId> = instrs.collect();
                let steps = if random.chance(20) { random.below(3_000) as u64 } else { u64::MAX };
                let search = || {
                    let mut effort = Effort { steps, deadline: None };
                    let verdict = Skeletons::new(&region, &closure, &limits, &instrs).search(&mut effort);
                    (verdict, effort.steps)
                };
                let (verdict, left) = search();
                assert_eq!(search(), (verdict.clone(), left), "{}", region.name());
                let exists = !small.on_the_way(&limits).is_empty();
                match verdict {
                    Verdict::No(()) => {
                        assert!(!exists, "{} {limits:?} {instrs:?}", region.name());
                        refuted += 1;
                    }
                    Verdict::Yes(order) if is_all => {
                        assert!(is_within(&region, &order, &limits), "{} {limits:?}", region.name());
                        check_order(&region, &order).expect("a legal order");
                        orders += 1;
                    }
                    Verdict::Yes(order) => {
                        let pairs = order.iter().zip(order.iter().skip(1));
                        assert!(pairs.into_iter().all(|(one, other)| !closure.reaches(*other, *one)));
                        partial += 1;
                    }
                    Verdict::Unknown => {
                        assert!(steps < u64::MAX, "{}", region.name());
                        spent += 1;
                    }
                }
            }
        }
        println!(
            "{refuted} refuted, {orders} orders, {partial} skeletons of a part, {spent} without an answer"
        );
        assert!(
            refuted > 1_000 && orders > 500 && partial > 500 && spent > 100,
            "{refuted} {orders} {partial} {spent}"
        );
    }

    /// With fewer critical instructions than exceed the limit, or with more.
    #[test]
    fn critical_instructions_are_at_the_highest_places() {
        for region in regions(0..100, 12) {
            let order: Vec<InstrId> = region.instrs().collect();
            let peaks = check_order(&region, &order).expect("a legal order");
            let limits: Vec<Option<u32>> =
                peaks.iter().map(|peak| Some(peak.between.saturating_sub(1))).collect();
            for count in 1..=region.len() + 2 {
                let instrs = critical(&region, &limits, count);
                assert!(instrs.len() <= count && instrs.is_sorted_by(|one, other| one < other));
                assert_eq!(instrs.len(), count.min(region.len()), "{}", region.name());
            }
        }
    }
}
