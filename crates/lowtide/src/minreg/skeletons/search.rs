//! The search for a skeleton of given critical instructions.
//!
//! It decides on pairs of instructions, depth first, as solvers for propositional logic do. A partial order
//! is impossible if a moment is already too high. Mostly, a few instructions before x and a few after it are
//! the reason: those with which the flow of the cut starts and ends, less others that can be left out. They
//! become a *nogood*, a set of pairs that do not hold together. If all but one of its pairs hold, the last
//! one must not. A conflict is traced back along the reasons of its pairs to the last decision; this gives
//! another nogood, and the search goes back as far as that one allows.
//!
//! For each moment, a downset within the limit is kept as its witness. While it has all that come before and
//! nothing that comes after, no cut is needed. The next decision is about two instructions whose witnesses
//! disagree: each has the other one done, or neither has. The more conflicts they were part of, the better.
//! When the witnesses of all moments agree with one order, it is a skeleton.

use super::choice::{Choice, Spent, Undecided};
use super::cuts::{Answer, Cuts, Question};
use super::{Downset, Learned, MOST_DOWNSETS, Nogood};
use crate::analysis::closure::Closure;
use crate::analysis::flow::Minimum;
use crate::analysis::pressure::Live;
use crate::bits::{BitSet, Bits};
use crate::budget::Effort;
use crate::index::{ClassId, InstrId};
use crate::region::Region;
use crate::verdict::Verdict;

/// The most witnesses of a moment, the latest ones.
const MOST_WITNESSES: usize = 24;

/// After so many conflicts, the decisions are made anew, by what the conflicts have shown.
const CONFLICTS_PER_START: u64 = 32;

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
    /// Its first instruction is that of another pair or comes before it, and its second one is that of the
    /// other pair or comes after it.
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

/// Downsets within the limit at a moment, by their numbers.
#[derive(Clone, Default)]
struct Witnesses {
    sets: Vec<u32>,
    /// The one that fits the partial order.
    current: usize,
    /// The next one to be replaced.
    oldest: usize,
}

/// Why a partial order is not continued.
enum End {
    /// A nogood that it is against.
    Impossible(u32),
    Spent,
}

/// The critical instructions have numbers here.
pub(super) struct Skeletons<'a, 'c> {
    region: &'a Region,
    closure: &'a Closure,
    instrs: &'a [InstrId],
    cuts: Cuts<'a, 'c>,
    /// The answers to questions at other moments, with their places.
    foreseen: Vec<(usize, Answer)>,
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
    /// For each first instruction of a pair: the second one, and a nogood that waits for the pair. Each
    /// nogood waits for two of its pairs, its first ones.
    waiting: Vec<Vec<(u32, u32)>>,
    /// How much an instruction has had to do with conflicts, and how much the next conflict counts.
    activity: Vec<u64>,
    weight: u64,
    downsets: Vec<Downset>,
    /// The witnesses of each moment.
    witnesses: Vec<Witnesses>,
    /// The instructions whose moments need another look.
    changed: BitSet,
    /// Buffers for new pairs.
    earlier: BitSet,
    later: BitSet,
    new: BitSet,
    choice: Choice,
    conflicts: u64,
    /// The number of nogoods that earlier searches have learned.
    recalled: usize,
}

impl<'a, 'c> Skeletons<'a, 'c> {
    pub(super) fn new(
        region: &'a Region,
        closure: &'a Closure,
        cuts: Cuts<'a, 'c>,
        instrs: &'a [InstrId],
    ) -> Self {
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
            witnesses: vec![Witnesses::default(); 2 * count * cuts.limited.len()],
            cuts,
            foreseen: Vec::new(),
            changed: BitSet::full(count),
            earlier: BitSet::new(count),
            later: BitSet::new(count),
            new: BitSet::new(count),
            recalled: 0,
            downsets: Vec::new(),
            choice: Choice::default(),
            conflicts: 0,
        }
    }

    /// Recall what earlier searches have learned. Return false if there is no skeleton.
    pub(super) fn recall(&mut self, learned: &mut Learned, limit: u32, effort: &mut Effort) -> bool {
        let mut numbers = vec![u32::MAX; self.region.len()];
        (0..).zip(self.instrs).for_each(|(number, instr)| numbers[instr.index()] = number);
        let mut alone = Vec::new();
        let mut is_possible = true;
        for nogood in learned.nogoods.iter().filter(|nogood| nogood.limit >= limit) {
            let pairs = nogood.pairs.iter();
            let pairs = pairs.map(|(first, second)| Pair {
                first: numbers[first.index()],
                second: numbers[second.index()],
            });
            let mut pairs: Vec<Pair> = pairs.collect();
            if pairs
                .iter()
                .any(|pair| pair.first == u32::MAX || pair.second == u32::MAX || self.holds(pair.reversed()))
            {
                continue;
            }
            pairs.retain(|&pair| !self.holds(pair));
            is_possible &= !pairs.is_empty();
            let Some(&first) = pairs.first() else { continue };
            let is_alone = pairs.len() == 1;
            let number = self.remember(pairs);
            if is_alone {
                alone.push((first, number));
            }
        }
        self.recalled = self.nogoods.len();
        for (pair, number) in alone {
            is_possible &= !self.holds(pair);
            if is_possible && !self.holds(pair.reversed()) {
                self.add(pair.reversed(), Reason::Nogood(number));
            }
        }
        self.downsets = std::mem::take(&mut learned.downsets);
        for number in 0..self.downsets.len() {
            effort.spend(1 + self.instrs.len() as u64 / 8);
            let downset = &mut self.downsets[number];
            downset.number(self.instrs);
            if downset.pressure < self.cuts.limited[downset.class].excess {
                self.note(number);
            }
            if effort.is_spent() {
                break;
            }
        }
        is_possible
    }

    /// Keep what has been learned.
    pub(super) fn keep(self, learned: &mut Learned, limit: u32) {
        learned.downsets = self.downsets;
        for nogood in self.nogoods.iter().skip(self.recalled) {
            let name = |number: u32| self.instrs[number as usize];
            let pairs = nogood.iter().map(|pair| (name(pair.first), name(pair.second))).collect();
            learned.nogoods.push(Nogood { limit, pairs });
        }
    }

    pub(super) fn search(&mut self, effort: &mut Effort) -> Verdict<Vec<u32>> {
        loop {
            if effort.is_spent() {
                return Verdict::Unknown;
            }
            let is_possible = self.apply_nogoods(effort).and_then(|()| self.find_witnesses(effort));
            match is_possible {
                Ok(()) => match self.choose(effort) {
                    Verdict::Yes(skeleton) => return Verdict::Yes(skeleton),
                    Verdict::No(pair) => {
                        self.levels.push(self.trail.len() as u32);
                        self.add(pair, Reason::Decision);
                    }
                    Verdict::Unknown => return Verdict::Unknown,
                },
                Err(End::Spent) => return Verdict::Unknown,
                Err(End::Impossible(nogood)) => {
                    if !self.resolve(nogood, effort) {
                        return Verdict::No(());
                    }
                    if self.conflicts.is_multiple_of(CONFLICTS_PER_START) && !self.levels.is_empty() {
                        self.go_back(0);
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
        // What comes before the second one already comes before all that follow it.
        let mut earlier = std::mem::take(&mut self.earlier);
        earlier.copy_from(&self.before[first]);
        earlier.subtract(&self.before[second]);
        let mut later = std::mem::take(&mut self.later);
        later.copy_from(&self.after[second]);
        later.insert(second);
        // The pair itself comes first: it is the reason for the others.
        self.hold(pair, reason);
        let mut new = std::mem::take(&mut self.new);
        for one in [first].into_iter().chain(earlier.iter()) {
            new.copy_from(&later);
            new.subtract(&self.after[one]);
            for other in new.iter() {
                self.hold(Pair { first: one as u32, second: other as u32 }, Reason::Around(pair));
            }
        }
        (self.earlier, self.later, self.new) = (earlier, later, new);
    }

    /// Let a pair hold, and nothing else.
    fn hold(&mut self, pair: Pair, reason: Reason) {
        let (first, second) = (pair.first as usize, pair.second as usize);
        self.after[first].insert(second);
        self.before[second].insert(first);
        let number = self.number(pair);
        self.places[number] = self.trail.len() as u32;
        self.trail.push(Step { pair, reason, level: self.levels.len() as u32 });
        self.changed.insert(first);
        self.changed.insert(second);
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

    /// Trace a conflict back to the last decision on which it depends, and go back. Return false if it
    /// depends on no decision.
    fn resolve(&mut self, nogood: u32, effort: &mut Effort) -> bool {
        let place = |search: &Self, pair: Pair| search.places[search.number(pair)];
        let highest = |search: &Self, pairs: &[Pair]| {
            pairs.iter().filter_map(|&pair| search.step(pair)).map(|step| step.level).max().unwrap_or(0)
        };
        // The reason of a cut may lie before the last decisions.
        self.conflicts += 1;
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
            self.sources(pair, reason, &mut sources);
        }
        // A pair that follows from others is not needed.
        let mut at = 1;
        while at < learned.len() {
            let pair = learned[at];
            let reason = self.step(pair).map_or(Reason::Decision, |step| step.reason);
            self.sources(pair, reason, &mut sources);
            effort.spend(1 + sources.len() as u64 / 4);
            let is_implied = |source: &Pair| {
                self.step(*source)
                    .is_none_or(|step| step.level == 0 || is_seen.contains(place(self, *source)))
            };
            if !matches!(reason, Reason::Decision) && sources.iter().all(is_implied) {
                learned.swap_remove(at);
            } else {
                at += 1;
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

    /// Find the pairs from which a pair follows.
    fn sources(&self, pair: Pair, reason: Reason, sources: &mut Vec<Pair>) {
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

    fn place_of(&self, moment: Moment) -> usize {
        2 * (moment.class * self.instrs.len() + moment.x) + usize::from(moment.is_after)
    }

    fn witness(&self, moment: Moment) -> &Downset {
        let Witnesses { sets, current, .. } = &self.witnesses[self.place_of(moment)];
        &self.downsets[sets[*current] as usize]
    }

    /// Find a witness for each moment that has none any more.
    fn find_witnesses(&mut self, effort: &mut Effort) -> Result<(), End> {
        self.foreseen.clear();
        while let Some(x) = self.changed.bits().next_from(0usize) {
            for moment in self.moments_of(x) {
                self.find_witness(moment, effort)?;
            }
            self.changed.remove(x);
        }
        Ok(())
    }

    fn moments_of(&self, x: usize) -> impl Iterator<Item = Moment> + use<> {
        let classes = 0..self.cuts.limited.len();
        classes.flat_map(move |class| [false, true].map(|is_after| Moment { class, x, is_after }))
    }

    /// Return whether a downset fits the partial order at the moments of an instruction.
    fn is_witness(&self, x: usize, number: u32) -> bool {
        let set = &self.downsets[number as usize].critical;
        self.before[x].bits().is_subset(set) && self.after[x].bits().is_disjoint(set)
    }

    fn find_witness(&mut self, moment: Moment, effort: &mut Effort) -> Result<(), End> {
        let Moment { class, x, .. } = moment;
        let place = self.place_of(moment);
        let Witnesses { sets, current, .. } = &self.witnesses[place];
        if sets.get(*current).is_some_and(|&number| self.is_witness(x, number)) {
            return Ok(());
        }
        effort.spend(1 + sets.len() as u64 / 2);
        if let Some(other) = sets.iter().position(|&number| self.is_witness(x, number)) {
            self.witnesses[place].current = other;
            return Ok(());
        }
        if effort.is_spent() {
            return Err(End::Spent);
        }
        let answer = self.look_at(moment, *effort);
        effort.spend(answer.steps);
        match answer.least {
            _ if effort.is_spent() => Err(End::Spent),
            Minimum::Exact(pressure) => {
                // Until there are conflicts, the highest moments count.
                self.activity[x] = self.activity[x].max(pressure.into());
                effort.spend((self.region.len() + self.instrs.len()) as u64 / 2);
                let mut downset = Downset::new(class, pressure, answer.done);
                downset.number(self.instrs);
                self.downsets.push(downset);
                self.note(self.downsets.len() - 1);
                self.forget();
                Ok(())
            }
            Minimum::AtLeast(_) => Err(End::Impossible(self.learn(moment, answer, effort))),
        }
    }

    /// Find the least pressure at a moment without a witness. If there are threads for it, look at the next
    /// such moments, too.
    fn look_at(&mut self, moment: Moment, effort: Effort) -> Answer {
        let place = self.place_of(moment);
        if let Some(at) = self.foreseen.iter().position(|(foreseen, _)| *foreseen == place) {
            return self.foreseen.swap_remove(at).1;
        }
        let mut moments = vec![moment];
        let others = self.changed.iter().flat_map(|x| self.moments_of(x));
        let is_next = |other: &Moment| {
            let other_place = self.place_of(*other);
            let sets = &self.witnesses[other_place].sets;
            (other.x, other_place) > (moment.x, place)
                && !sets.iter().any(|&number| self.is_witness(other.x, number))
        };
        moments.extend(others.filter(is_next).take(self.cuts.at_once() - 1));
        let questions = moments.iter().map(|&moment| {
            let names = |numbers: &BitSet| numbers.iter().map(|number| self.instrs[number]).collect();
            self.question(moment, names(&self.before[moment.x]), names(&self.after[moment.x]))
        });
        let mut answers = self.cuts.answer(questions, effort);
        let places = moments.iter().skip(1).map(|&other| self.place_of(other));
        let foreseen: Vec<(usize, Answer)> = places.zip(answers.drain(1..)).collect();
        self.foreseen.extend(foreseen);
        answers.remove(0)
    }

    fn question(&self, moment: Moment, before: Vec<InstrId>, after: Vec<InstrId>) -> Question {
        let Moment { class, x, is_after } = moment;
        Question { class, x: self.instrs[x], is_after, before, after, is_beyond: false }
    }

    /// Return the question at a moment if some pairs with its instruction hold.
    fn question_with(&self, moment: Moment, pairs: impl Iterator<Item = Pair>) -> Question {
        let mut question = self.question(moment, Vec::new(), Vec::new());
        for Pair { first, second } in pairs {
            match second as usize == moment.x {
                true => question.before.push(self.instrs[first as usize]),
                false => question.after.push(self.instrs[second as usize]),
            }
        }
        question
    }

    /// Drop pairs that the flow of a cut does not need: all its sources and sinks come from others.
    fn drop_idle(&self, moment: Moment, answer: Answer, pairs: &mut Vec<Pair>) {
        let x = self.instrs[moment.x];
        let Answer { mut done, mut ahead, .. } = answer;
        done.subtract(self.closure.ancestors(x));
        done.remove(x);
        ahead.subtract(self.closure.descendants(x));
        ahead.remove(x);
        let mut kept = Vec::new();
        for &pair in pairs.iter().rev() {
            let [first, second] = [pair.first, pair.second].map(|number| self.instrs[number as usize]);
            let (end, related, left) = match second == x {
                true => (first, self.closure.ancestors(first), &mut done),
                false => (second, self.closure.descendants(second), &mut ahead),
            };
            if left.contains(end) || !related.is_disjoint(&*left) {
                kept.push(pair);
            }
            left.subtract(related);
            left.remove(end);
        }
        kept.reverse();
        *pairs = kept;
    }

    /// Return whether a moment has a witness if all of some pairs hold but one.
    fn has_witness_without(&self, moment: Moment, pairs: &[Pair], left_out: usize) -> bool {
        let fits = |set: &BitSet| {
            pairs.iter().enumerate().all(|(place, pair)| match pair.second as usize == moment.x {
                _ if place == left_out => true,
                true => set.contains(pair.first),
                false => !set.contains(pair.second),
            })
        };
        let sets = self.witnesses[self.place_of(moment)].sets.iter();
        sets.map(|&number| &self.downsets[number as usize].critical).any(fits)
    }

    /// Take note of a downset within the limit on its class, for all moments that it passes.
    fn note(&mut self, number: usize) {
        let Downset { class, done, critical, .. } = &self.downsets[number];
        for (x, &instr) in self.instrs.iter().enumerate() {
            let is_after = critical.contains(x);
            let passes = match is_after {
                true => self.region.succs(instr).iter().all(|edge| !done.contains(edge.instr)),
                false => self.region.preds(instr).iter().all(|edge| done.contains(edge.instr)),
            };
            if !passes {
                continue;
            }
            let fits =
                self.before[x].bits().is_subset(critical) && self.after[x].bits().is_disjoint(critical);
            let place = self.place_of(Moment { class: *class, x, is_after });
            let Witnesses { sets, current, oldest } = &mut self.witnesses[place];
            let mut place = sets.len();
            if place < MOST_WITNESSES {
                sets.push(number as u32);
            } else {
                place = *oldest;
                *oldest = (place + 1) % MOST_WITNESSES;
                if place == *current && !fits {
                    continue;
                }
                sets[place] = number as u32;
            }
            if fits {
                *current = place;
            }
        }
    }

    /// Forget old downsets if there are many: those that are no witness now.
    fn forget(&mut self) {
        if self.downsets.len() < 4 * MOST_DOWNSETS {
            return;
        }
        let oldest = self.downsets.len() - MOST_DOWNSETS;
        let mut is_kept = BitSet::of(self.downsets.len(), oldest..self.downsets.len());
        for Witnesses { sets, current, .. } in &self.witnesses {
            sets.get(*current).into_iter().for_each(|&number| is_kept.insert(number));
        }
        let mut numbers = vec![None; self.downsets.len()];
        (0..).zip(is_kept.iter()).for_each(|(new, old): (u32, usize)| numbers[old] = Some(new));
        for Witnesses { sets, current, oldest } in &mut self.witnesses {
            let now = sets.get(*current).copied();
            sets.retain(|&number| numbers[number as usize].is_some());
            *current = sets.iter().position(|&number| Some(number) == now).unwrap_or(0);
            *oldest = 0;
            sets.iter_mut().for_each(|number| *number = numbers[*number as usize].unwrap_or(0));
        }
        let mut number = 0;
        self.downsets.retain(|_| {
            number += 1;
            is_kept.contains(number - 1usize)
        });
    }

    /// Find a few pairs that are the reason why a moment is too high, and remember them. `answer` is the cut
    /// that shows it.
    fn learn(&mut self, moment: Moment, answer: Answer, effort: &mut Effort) -> u32 {
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
        self.drop_idle(moment, answer, &mut reason);
        let excess = self.cuts.limited[moment.class].excess;
        let is_too_high = |answer: &Answer| answer.least == Minimum::AtLeast(excess);
        let without_pairs = self.cuts.answer([self.question_with(moment, [].into_iter())], *effort);
        effort.spend(without_pairs[0].steps);
        if is_too_high(&without_pairs[0]) && !effort.is_spent() {
            return self.remember(Vec::new());
        }
        self.cuts.keep();
        // About half of the pairs can be left out, so there is no gain in trying several of them together.
        // Where a witness shows that a pair is needed, no cut is. Where there are threads for it, the next
        // pairs are tried at the same time, as if those before them were needed.
        effort.spend(reason.len() as u64);
        let mut at = 0;
        while !effort.is_spent() {
            let untried =
                (at..reason.len()).filter(|&place| !self.has_witness_without(moment, &reason, place));
            let trials: Vec<usize> = untried.take(self.cuts.at_once()).collect();
            if trials.is_empty() {
                break;
            }
            let questions = trials.iter().map(|&left_out| {
                let rest = (0..reason.len()).filter(|&other| other != left_out).map(|other| reason[other]);
                Question { is_beyond: true, ..self.question_with(moment, rest) }
            });
            for (answer, &left_out) in self.cuts.answer(questions, *effort).into_iter().zip(&trials) {
                effort.spend(answer.steps);
                if effort.is_spent() {
                    break;
                }
                at = left_out + 1;
                if is_too_high(&answer) {
                    reason.remove(left_out);
                    // (Pairs before this place may be gone, too.)
                    self.drop_idle(moment, answer, &mut reason);
                    at = left_out;
                    break;
                }
            }
        }
        self.remember(reason)
    }

    /// Return the critical instructions in an order with which all witnesses agree, or else an undecided
    /// pair. The witnesses of its two instructions disagree, if possible.
    fn choose(&mut self, effort: &mut Effort) -> Verdict<Vec<u32>, Pair> {
        let count = self.instrs.len();
        effort.spend(count as u64 * (1 + self.changed.words() as u64 / 8));
        let mut choice = std::mem::take(&mut self.choice);
        choice.look_at(count, |x, visit| {
            self.moments_of(x).for_each(|moment| visit(&self.witness(moment).critical));
        });
        choice.rank(&self.activity);
        let decided = |x: usize| (&self.before[x], &self.after[x]);
        let pair = match choice.first_pair(decided, effort) {
            Ok(pair) => pair,
            Err(Spent) => return Verdict::Unknown,
        };
        let order = pair.is_none_or(|pair| pair.agrees).then(|| choice.order()).flatten();
        self.choice = choice;
        match (order, pair) {
            (Some(order), _) => Verdict::Yes(order),
            (None, Some(Undecided { x, y, .. })) => {
                let (first, second) = if self.instrs[x] < self.instrs[y] { (x, y) } else { (y, x) };
                Verdict::No(Pair { first: first as u32, second: second as u32 })
            }
            (None, None) => Verdict::Yes(self.in_order()),
        }
    }

    /// Return the critical instructions in their order, if it is complete.
    fn in_order(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..self.instrs.len() as u32).collect();
        numbers.sort_unstable_by_key(|&x| self.before[x as usize].count());
        numbers
    }

    /// Make an order of the region with a skeleton, from witness to witness of a class.
    pub(super) fn order_along(&self, skeleton: &[u32], id: ClassId, effort: &mut Effort) -> Vec<InstrId> {
        let class = self.cuts.limited.iter().position(|limited| limited.class == id).unwrap_or(0);
        let limit = self.cuts.limited[class].excess - 1;
        let mut live = Live::new(self.region);
        let mut reached = BitSet::new(self.region.len());
        let mut order = Vec::with_capacity(self.region.len());
        let mut next = BitSet::new(self.region.len());
        for (place, &x) in skeleton.iter().enumerate() {
            for is_after in [false, true] {
                let moment = Moment { class, x: x as usize, is_after };
                next.copy_from(&self.witness(moment).done);
                next.subtract(&reached);
                next.instrs().for_each(|instr| live.schedule(instr, &mut []));
                if live.now(id) > limit && !effort.is_spent() {
                    let back: Vec<InstrId> = next.instrs().collect();
                    back.iter().rev().for_each(|&instr| live.take_back(instr));
                    let names = |numbers: &[u32]| {
                        numbers.iter().map(|&number| self.instrs[number as usize]).collect()
                    };
                    let question =
                        self.question(moment, names(&skeleton[..place]), names(&skeleton[place + 1..]));
                    if let Some(smallest) = self.cuts.smallest(question, &reached, effort) {
                        next = smallest;
                        next.subtract(&reached);
                    }
                    next.instrs().for_each(|instr| live.schedule(instr, &mut []));
                }
                order.extend(next.instrs());
                reached.unite(&next);
            }
        }
        order.extend(self.region.instrs().filter(|&instr| !reached.contains(instr)));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::limits::is_within;
    use crate::check::check_order;
    use crate::generate::{Random, random_order};
    use crate::minreg::made::{Small, regions};
    use crate::minreg::skeletons::cuts::with_cuts;

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
                let mut instrs: Vec<InstrId> = instrs.collect();
                // They may have any order.
                (1..instrs.len()).for_each(|at| instrs.swap(at, random.below(at + 1)));
                let steps = if random.chance(20) { random.below(3_000) as u64 } else { u64::MAX };
                let search = |threads: usize| {
                    let mut effort = Effort { steps, deadline: None };
                    let verdict = with_cuts(
                        &region,
                        &closure,
                        &limits,
                        &instrs,
                        threads,
                        &mut effort,
                        |cuts, effort| Skeletons::new(&region, &closure, cuts, &instrs).search(effort),
                    );
                    let name = |skeleton: Vec<u32>| skeleton.iter().map(|&x| instrs[x as usize]).collect();
                    (verdict.map_yes(name), effort.steps)
                };
                let (verdict, left): (Verdict<Vec<InstrId>>, u64) = search(1);
                assert_eq!(search(1 + random.below(4)), (verdict.clone(), left), "{}", region.name());
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
}
