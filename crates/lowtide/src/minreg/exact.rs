//! The fewest registers possible, from both ends of the range.
//!
//! The search starts from a known order, whose peak is to be beaten, and from the bound by cuts. Each step asks whether an order exists with a
//! peak below the best: an order found lowers the peak; if there is none, the best order is optimal. One such answer is enough, since good heuristics
//! find the optimum nearly always. While it stays open, the same question is asked for the bound, too, which then rises.
//!
//! # Parts
//! Let M be a downset with the least pressure of all downsets. If T0, T1, ... is an order within a limit, so is the order that passes through Ti & M first and
//! through Ti | M then: f(Ti & M) <= f(Ti) + f(M) - f(Ti | M) <= f(Ti), and the same for the union. So the region can be split at M, and each
//! part ([`Part`]) be solved alone: the optimum is the highest of theirs. Between M and the ends, the search commits only in one
//! direction of time: towards M. Without the split, whatever direction is chosen is the wrong one for one of the parts.
//!
//! # Asking
//! For each part, dependences that do no harm are added first: by [superiority](super::superiority), and then, for the limit in question, by
//! [forced order](super::forced_order). If a cut shows that the graph has no order within the limit, this is the answer. Else two [searches](super::search), from
//! both ends of time, take turns (or threads) with efforts that double, as real regions are often easy from one end
//! and hard from the other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::Rules;
use super::forced_order::forced_order;
use super::memory::Memory;
use super::part::Part;
use super::search::{Search, Verdict};
use super::superiority::superiority;
use crate::analysis::closure::{Closure, contains};
use crate::analysis::flow::{DownsetMin, Effort, Minimum, Side};
use crate::analysis::pressure::Tracker;
use crate::analysis::pressure_bound::{
    Judgement, PressureBound, Seeker, pressure_at_ends, pressure_bound, sharper_bound,
};
use crate::analysis::walk::{Direction, LiveGraph, Packing};
use crate::index::{ClassId, InstrId};
use crate::region::Region;
use crate::schedule::{Budget, Reason};

/// How to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// How much effort to spend.
    pub budget: Budget,
    /// By which rules.
    pub rules: Rules,
    /// With how many threads: one, or two for the two ends of time. The answer does not depend on it.
    pub threads: usize,
}

impl Options {
    /// All rules, one thread.
    pub fn new(budget: Budget) -> Self {
        Options { budget, rules: Rules::ALL, threads: 1 }
    }
}

/// What is known at the end of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The best order.
    pub order: Vec<InstrId>,
    /// Its peak.
    pub peak: u32,
    /// No order within the limits on the other classes has a lower one.
    pub bound: u32,
    /// Why.
    pub reason: Reason,
    /// States that were expanded.
    pub nodes: u64,
}

/// Whether all classes can stay within limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Yes: by this order.
    Possible(Vec<InstrId>),
    /// No.
    Impossible(Reason),
    /// Not known within the budget.
    Open,
}

/// The first effort of a search from one end, in steps.
const FIRST_EFFORT: u64 = 100_000;

/// Less than this is not worth starting a search.
const LEAST_EFFORT: u64 = 1_000;

/// States that a search remembers at most: 256 MiB each for the searches from both ends.
const MOST_STATES: usize = 1 << 24;

/// Finds the lowest peak of a class, with limits on others, if there are any. `start` is an order within these limits.
///
/// ```
/// use lowtide::generate::{Shape, region};
/// use lowtide::minreg::exact::{Options, minimise};
/// use lowtide::schedule::Budget;
/// use lowtide::ClassId;
///
/// let region = region(Shape::UnrolledLoop, 80, 3);
/// let source: Vec<_> = region.instrs().collect();
/// let answer = minimise(&region, ClassId(0), &[], &source, Options::new(Budget::default()));
/// assert_eq!(answer.peak, answer.bound, "without a limit on the effort, the optimum is found");
/// ```
pub fn minimise(
    region: &Region,
    class: ClassId,
    others: &[Option<u32>],
    start: &[InstrId],
    options: Options,
) -> Answer {
    let mut effort = options.budget.effort(region);
    let closure = Closure::new(region);
    let mut limits = limits_that_matter(region, others);
    limits[class.index()] = None;
    let cuts = bound_by_cuts(region, class, &closure, start, options.rules, &effort);
    let mut answer = Answer {
        order: start.to_vec(),
        peak: cuts.hint_peak,
        bound: cuts.value,
        reason: Reason::Cut(cuts.witness),
        nodes: 0,
    };
    if cuts.peak < answer.peak && is_within(region, &cuts.order, &limits) {
        (answer.order, answer.peak) = (cuts.order, cuts.peak);
    }
    if answer.peak == answer.bound || effort.is_spent() {
        return answer;
    }
    limits[class.index()] = Some(answer.peak);
    let mut solver = Solver::new(region, &closure, limits, &answer.order, options, &mut effort);
    let by_search = |solver: &Solver| Reason::Search { rules: options.rules, nodes: solver.states };
    if options.rules.cuts && options.rules.superiority && !effort.is_spent() {
        // With the new dependences, cuts say more.
        let bound = solver.bound(class, &effort).min(answer.peak);
        if bound > answer.bound {
            (answer.bound, answer.reason) = (bound, by_search(&solver));
        }
    }
    let mut turn = FIRST_EFFORT;
    while answer.peak > answer.bound && !effort.is_spent() {
        // Any part that cannot do better proves the peak; all that can must do better.
        match solver.ask(class, answer.peak - 1, turn, &mut effort) {
            Verdict::Found(order) => (answer.order, answer.peak) = (order, solver.peak(class)),
            Verdict::Failed => {
                (answer.bound, answer.reason) = (answer.peak, by_search(&solver));
            }
            Verdict::Open => {
                while answer.bound + 1 < answer.peak
                    && !effort.is_spent()
                    && solver.fails(class, answer.bound, turn / 8, &mut effort)
                {
                    (answer.bound, answer.reason) = (answer.bound + 1, by_search(&solver));
                }
                turn *= 4;
            }
        }
    }
    answer.nodes = solver.states;
    answer
}

/// Finds an order that keeps all classes within limits, or proves that there is none. `start` is any order.
pub fn within(region: &Region, limits: &[Option<u32>], start: &[InstrId], options: Options) -> Decision {
    let mut effort = options.budget.effort(region);
    let limits = limits_that_matter(region, limits);
    if is_within(region, start, &limits) {
        return Decision::Possible(start.to_vec());
    }
    let closure = Closure::new(region);
    let mut start = start.to_vec();
    for class in region.class_ids() {
        let Some(limit) = limits[class.index()] else { continue };
        let cuts = bound_by_cuts(region, class, &closure, &start, options.rules, &effort);
        if cuts.value > limit {
            return Decision::Impossible(Reason::Cut(cuts.witness));
        }
        start = cuts.order;
        if is_within(region, &start, &limits) {
            return Decision::Possible(start);
        }
    }
    let Some(first) = region.class_ids().find(|class| limits[class.index()].is_some()) else {
        return Decision::Possible(start);
    };
    let limit = limits[first.index()].unwrap_or(u32::MAX);
    let mut solver = Solver::new(region, &closure, limits, &start, options, &mut effort);
    let mut turn = FIRST_EFFORT;
    while !effort.is_spent() {
        match solver.ask(first, limit, turn, &mut effort) {
            Verdict::Found(order) => return Decision::Possible(order),
            Verdict::Failed => {
                return Decision::Impossible(Reason::Search { rules: options.rules, nodes: solver.states });
            }
            Verdict::Open => turn *= 4,
        }
    }
    Decision::Open
}

/// A limit for each class, or none where no order could exceed it. What is left can be counted with.
fn limits_that_matter(region: &Region, limits: &[Option<u32>]) -> Vec<Option<u32>> {
    let limit_of = |class: ClassId| {
        let values = region.values().iter().filter(|value| value.class == class);
        let most = region.through(class) + values.map(|value| value.weight).sum::<u32>();
        limits.get(class.index()).copied().flatten().filter(|limit| *limit < most)
    };
    region.class_ids().map(limit_of).collect()
}

/// The bound by cuts, for at most half of the effort, and by those that pairs tell, if that is allowed, for a small part of it.
fn bound_by_cuts(
    region: &Region,
    class: ClassId,
    closure: &Closure,
    start: &[InstrId],
    rules: Rules,
    effort: &Effort,
) -> PressureBound {
    let budget = |share: u64| Budget {
        time_per_instr: effort.deadline.map(|deadline| {
            deadline.saturating_duration_since(Instant::now()) / region.len() as u32 / share as u32
        }),
        nodes: (effort.steps != u64::MAX).then_some(effort.steps / share),
    };
    let bound = pressure_bound(region, class, closure, start, budget(2));
    match rules.cuts {
        true => sharper_bound(region, class, closure, bound, budget(8)),
        false => bound,
    }
}

fn peaks(region: &Region, order: &[InstrId]) -> Vec<u32> {
    let mut tracker = Tracker::new(region);
    order.iter().for_each(|&instr| tracker.schedule(instr));
    tracker.peaks().iter().map(|peak| peak.between).collect()
}

fn is_within(region: &Region, order: &[InstrId], limits: &[Option<u32>]) -> bool {
    peaks(region, order).iter().zip(limits).all(|(peak, limit)| limit.is_none_or(|limit| *peak <= limit))
}

/// A part of the region, and what is known about it.
struct Piece {
    /// The part, with dependences that do no harm under any limit below its peak.
    part: Part,
    /// The best order known, by instructions of the whole.
    order: Vec<InstrId>,
    peaks: Vec<u32>,
    /// Failed states of the search from each end.
    memories: [Memory; 2],
    /// The limit for which the part has been tightened.
    tightened_for: Option<u32>,
}

struct Solver {
    options: Options,
    /// The limits on all classes; only that on the class in question changes.
    limits: Vec<Option<u32>>,
    pieces: Vec<Piece>,
    /// States that were expanded.
    states: u64,
}

impl Solver {
    fn new(
        region: &Region,
        closure: &Closure,
        limits: Vec<Option<u32>>,
        start: &[InstrId],
        options: Options,
        effort: &mut Effort,
    ) -> Self {
        let mut limited = region.class_ids().filter(|class| limits[class.index()].is_some());
        let mut borders = match (limited.next(), limited.next()) {
            (Some(class), None) if options.rules.split => least_downsets(region, class, closure, effort),
            _ => vec![vec![0; closure.words()], vec![u64::MAX; closure.words()]],
        };
        if effort.is_spent() {
            // There is no time left to do anything with the parts.
            borders = vec![vec![0; closure.words()], vec![u64::MAX; closure.words()]];
        }
        let pieces = borders.windows(2).filter_map(|pair| {
            let mut part = Part::between(region, &pair[0], &pair[1], start)?;
            let order = part.instrs.clone();
            let peaks = part_peaks(&part, &order);
            if options.rules.superiority && part.region.len() > 1 {
                let source: Vec<InstrId> = part.region.instrs().collect();
                let found = superiority(&part.region, &mut Closure::new(&part.region), effort);
                part = part.with(&found, &source).unwrap_or(part);
            }
            let memories = [(); 2].map(|()| Memory::new(MOST_STATES));
            Some(Piece { part, order, peaks, memories, tightened_for: None })
        });
        let pieces = pieces.collect();
        Solver { options, limits, pieces, states: 0 }
    }

    /// The bound by cuts of the parts with all their dependences.
    fn bound(&self, class: ClassId, effort: &Effort) -> u32 {
        let bound = |piece: &Piece| {
            let region = &piece.part.region;
            let source: Vec<InstrId> = region.instrs().collect();
            bound_by_cuts(region, class, &Closure::new(region), &source, self.options.rules, effort).value
        };
        self.pieces.iter().map(bound).max().unwrap_or(0)
    }

    /// The peak of the best order known.
    fn peak(&self, class: ClassId) -> u32 {
        self.pieces.iter().map(|piece| piece.peaks[class.index()]).max().unwrap_or(0)
    }

    fn order(&self) -> Vec<InstrId> {
        self.pieces.iter().flat_map(|piece| piece.order.iter().copied()).collect()
    }

    /// Whether there is an order with this limit on a class. Each search may take a turn. The limit must not be higher than in the last question.
    fn ask(&mut self, class: ClassId, limit: u32, turn: u64, effort: &mut Effort) -> Verdict {
        self.limits[class.index()] = Some(limit);
        let mut is_open = false;
        for piece in &mut self.pieces {
            if fits(&piece.peaks, &self.limits) {
                continue;
            }
            if effort.is_spent() {
                is_open = true;
                break;
            }
            let states = &mut self.states;
            let mut ask = |piece: &mut Piece, effort: &mut Effort| {
                decide(&piece.part, &self.limits, self.options, &mut piece.memories, turn, effort, states)
            };
            let mut verdict = ask(piece, effort);

            // Easy questions are answered before this pays.
            if verdict == Verdict::Open && piece.tightened_for != Some(limit) && !effort.is_spent() {
                piece.tightened_for = Some(limit);
                verdict = tighten(&mut piece.part, &self.limits, self.options.rules, 2 * turn, effort);
            }
            match verdict {
                Verdict::Found(order) => {
                    piece.order = piece.part.in_whole(&order);
                    piece.peaks = peaks(&piece.part.region, &order);
                    // The new order is the guide from now on.
                    if let Some(part) = piece.part.with(&[], &order) {
                        piece.part = part;
                    }
                }
                Verdict::Failed => return Verdict::Failed,
                Verdict::Open => is_open = true,
            }
        }
        match is_open {
            true => Verdict::Open,
            false => Verdict::Found(self.order()),
        }
    }

    /// Whether some part proves that there is no order with this limit, a lower one than that of [`Solver::ask`].
    fn fails(&mut self, class: ClassId, limit: u32, turn: u64, effort: &mut Effort) -> bool {
        let mut limits = self.limits.clone();
        limits[class.index()] = Some(limit);
        self.pieces.iter().filter(|piece| !fits(&piece.peaks, &limits)).any(|piece| {
            let mut part = piece.part.clone();
            let mut verdict = tighten(&mut part, &limits, self.options.rules, turn, effort);
            if verdict == Verdict::Open {
                // What fails now may not fail within a higher limit.
                let mut memories = [(); 2].map(|()| Memory::new(MOST_STATES));
                verdict = decide(&part, &limits, self.options, &mut memories, turn, effort, &mut self.states);
            }
            verdict == Verdict::Failed
        })
    }
}

fn part_peaks(part: &Part, order: &[InstrId]) -> Vec<u32> {
    peaks(&part.region, &part.in_part(order))
}

fn fits(peaks: &[u32], limits: &[Option<u32>]) -> bool {
    peaks.iter().zip(limits).all(|(peak, limit)| limit.is_none_or(|limit| *peak <= limit))
}

/// Adds forced orders to a part, for a turn, and looks for cuts then. What that says about orders within the limits.
fn tighten(part: &mut Part, limits: &[Option<u32>], rules: Rules, turn: u64, effort: &mut Effort) -> Verdict {
    let granted = turn.min(effort.steps);
    let mut share = Effort { steps: granted, deadline: effort.deadline };
    let verdict = tighten_within(part, limits, rules, &mut share);
    effort.steps -= granted - share.steps;
    verdict
}

fn tighten_within(part: &mut Part, limits: &[Option<u32>], rules: Rules, effort: &mut Effort) -> Verdict {
    if rules.forced_order {
        let found = forced_order(&part.region, &mut Closure::new(&part.region), limits, effort);
        let source: Vec<InstrId> = part.region.instrs().collect();
        match part.with(&found, &source) {
            Some(tighter) => *part = tighter,
            None => return Verdict::Failed,
        }
    }
    if rules.cuts && !effort.is_spent() {
        let region = &part.region;
        let closure = Closure::new(region);
        let source: Vec<InstrId> = region.instrs().collect();
        for class in region.class_ids() {
            let Some(limit) = limits[class.index()] else { continue };
            match Seeker::new(region, class, &closure).judge(&source, 0, region.len(), limit, effort) {
                Judgement::Exceeds => return Verdict::Failed,
                Judgement::Fits(order) if is_within(region, &order, limits) => return Verdict::Found(order),
                _ => {}
            }
        }
    }
    Verdict::Open
}

/// Searches a part from both ends, for a turn each.
fn decide(
    part: &Part,
    limits: &[Option<u32>],
    options: Options,
    memories: &mut [Memory; 2],
    turn: u64,
    effort: &mut Effort,
    states: &mut u64,
) -> Verdict {
    let region = &part.region;
    let ends: Vec<u32> = pressure_at_ends(region).iter().map(|(pressure, _)| *pressure).collect();
    if !fits(&ends, limits) {
        return Verdict::Failed;
    }
    let closure = Closure::new(region);
    let Some(packing) = Packing::within(region, limits) else {
        // Too many classes with too high limits.
        effort.steps = 0;
        return Verdict::Open;
    };
    // Each of the two can have a full turn then.
    let turn = turn.min(effort.steps / 2);
    if turn < LEAST_EFFORT {
        effort.steps = 0;
        return Verdict::Open;
    }
    let directions = [Direction::TopDown, Direction::BottomUp];
    let graphs = directions.map(|direction| LiveGraph::new(region, direction, &packing));
    // Both searches go in the same strides. The one that decides in the earlier stride wins, at equal ones that from the start, so that
    // it does not matter whether they take turns or run at the same time.
    let strides = strides(turn);
    let decided = [AtomicUsize::new(usize::MAX), AtomicUsize::new(usize::MAX)];
    let deadline = effort.deadline;
    let run = |end: usize, search: &mut Search, stride: usize| {
        let is_late = || decided[1 - end].load(Ordering::Relaxed).saturating_add(1 - end) <= stride;
        let mut effort = Effort { steps: strides[stride], deadline };
        let states = search.states;
        let verdict = if is_late() { Verdict::Open } else { search.run(&mut effort, is_late) };
        if verdict != Verdict::Open {
            decided[end].store(stride, Ordering::Relaxed);
        }
        (verdict, Spent { steps: strides[stride] - effort.steps, states: search.states - states })
    };
    let [forwards, backwards] = &mut *memories;
    let search = |end: usize, memory| {
        Search::new(part, &closure, &graphs[end], directions[end], limits, options.rules, memory)
    };
    let (mut first, mut second) = (search(0, forwards), search(1, backwards));
    let mut verdicts = [Verdict::Open, Verdict::Open];
    let mut spent = [(); 2].map(|()| vec![Spent::default(); strides.len()]);
    if options.threads > 1 {
        let all = |end: usize, search: &mut Search, spent: &mut [Spent]| {
            for (stride, spent) in spent.iter_mut().enumerate() {
                let verdict;
                (verdict, *spent) = run(end, search, stride);
                if verdict != Verdict::Open || is_over(deadline) {
                    return verdict;
                }
            }
            Verdict::Open
        };
        let [spent_first, spent_second] = &mut spent;
        std::thread::scope(|scope| {
            let other = scope.spawn(|| all(1, &mut second, spent_second));
            verdicts[0] = all(0, &mut first, spent_first);
            verdicts[1] = other.join().unwrap_or(Verdict::Open);
        });
    } else {
        'strides: for (stride, _) in strides.iter().enumerate() {
            for (end, search) in [&mut first, &mut second].into_iter().enumerate() {
                (verdicts[end], spent[end][stride]) = run(end, search, stride);
                if verdicts[end] != Verdict::Open || is_over(deadline) {
                    break 'strides;
                }
            }
        }
    }
    let [first, second] = decided.map(AtomicUsize::into_inner);
    let winner = usize::from(second < first);
    // What the other one did after the decision does not count, and must not be remembered.
    let counted = [first.min(second).saturating_add(1), first.min(second.saturating_add(1))];
    for (spent, counted) in spent.iter().zip(counted) {
        for stride in spent.iter().take(counted) {
            effort.steps = effort.steps.saturating_sub(stride.steps);
            *states += stride.states;
        }
    }
    if first.min(second) != usize::MAX {
        memories[1 - winner].clear();
    }
    std::mem::replace(&mut verdicts[winner], Verdict::Open)
}

/// What a search has taken in one stride.
#[derive(Clone, Copy, Default)]
struct Spent {
    steps: u64,
    states: u64,
}

/// Strides that double and make up a turn.
fn strides(turn: u64) -> Vec<u64> {
    let mut strides = Vec::new();
    let (mut next, mut left) = (FIRST_EFFORT, turn);
    while left > 0 {
        strides.push(next.min(left));
        left -= next.min(left);
        next *= 2;
    }
    strides
}

fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// Downsets with the least pressure of all, one after the other, from the empty set to all instructions.
fn least_downsets(region: &Region, class: ClassId, closure: &Closure, effort: &mut Effort) -> Vec<Vec<u64>> {
    let words = closure.words();
    let mut result = vec![vec![0; words]];
    let mut cut = DownsetMin::new(region, class, closure);
    let mut sides = vec![Side::Free; region.len()];
    if let Minimum::Exact(_) = cut.min(&sides, u32::MAX, effort) {
        let (mut lower, mut upper) = (vec![0; words], vec![0; words]);
        cut.smallest(&mut lower);
        cut.largest(&mut upper);
        loop {
            if result.last() != Some(&lower) {
                result.push(lower.clone());
            }
            // The smallest one that also holds the next instruction, and so on, up to the largest.
            let is_between = |instr: &InstrId| contains(&upper, *instr) && !contains(&lower, *instr);
            let Some(next) = region.instrs().find(is_between) else { break };
            for instr in region.instrs() {
                sides[instr.index()] = match () {
                    () if instr == next || contains(&lower, instr) => Side::In,
                    () if contains(&upper, instr) => Side::Free,
                    () => Side::Out,
                };
            }
            let Minimum::Exact(_) = cut.min(&sides, u32::MAX, effort) else { break };
            cut.smallest(&mut lower);
        }
    }
    let mut all = vec![0; words];
    region.instrs().for_each(|instr| all[instr.index() / 64] |= 1 << (instr.index() % 64));
    if result.last() != Some(&all) {
        result.push(all);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Random, random_order};
    use crate::minreg::made::{Small, regions};

    /// Small regions are solved in the first turn. Here turns are short, so that all that happens between turns does happen.
    #[test]
    fn short_turns_give_the_same_optimum() {
        let mut random = Random::new(1);
        let (mut asked, mut found, mut failed, mut open) = (0, 0, 0, 0);
        for region in regions(0..400, 12) {
            let class = ClassId(0);
            let closure = Closure::new(&region);
            let start = random_order(&region, &mut random);
            let start_peaks = peaks(&region, &start);
            let mut limits: Vec<Option<u32>> =
                start_peaks.iter().map(|&peak| random.chance(30).then_some(peak)).collect();
            limits[class.index()] = None;
            let optimum = Small::new(&region, &[]).lowest(0, &limits).unwrap();
            let (mut peak, mut bound) = (start_peaks[0], pressure_at_ends(&region)[0].0);
            limits[class.index()] = Some(peak);
            let is_on = [(); 6].map(|()| random.chance(50));
            let [free_moves, commit, split, cuts, forced_order, superiority] = is_on;
            let memory = region.len() > 8 || random.chance(50);
            let rules = Rules { free_moves, commit, split, memory, cuts, forced_order, superiority };
            let options = Options { rules, ..Options::new(Budget::default()) };
            let mut effort = Effort::UNBOUNDED;
            let mut solver = Solver::new(&region, &closure, limits, &start, options, &mut effort);
            let mut turn = LEAST_EFFORT;
            while peak > bound {
                asked += 1;
                match solver.ask(class, peak - 1, turn, &mut effort) {
                    Verdict::Found(order) => {
                        found += 1;
                        peak = solver.peak(class);
                        assert_eq!(peaks(&region, &order)[0], peak);
                        assert!(is_within(&region, &order, &solver.limits));
                    }
                    Verdict::Failed => {
                        failed += 1;
                        bound = peak;
                    }
                    Verdict::Open => {
                        open += 1;
                        while bound + 1 < peak && solver.fails(class, bound, turn, &mut effort) {
                            bound += 1;
                        }
                        turn += LEAST_EFFORT;
                    }
                }
                assert!(bound <= optimum && optimum <= peak, "{} {rules:?}", region.name());
            }
            assert_eq!(peak, optimum, "{} {rules:?}", region.name());
        }
        println!("{asked} questions: {found} orders found, {failed} refuted, {open} left open at first");
        assert!(found > 1_000 && failed > 500 && open > 500, "{found} {failed} {open}");
    }

    /// After tightening, what the limits allow is still possible.
    #[test]
    fn tightening_loses_nothing() {
        let mut random = Random::new(2);
        let (mut found, mut failed, mut open) = (0, 0, 0);
        for region in regions(500..700, 11) {
            let whole = Small::new(&region, &[]);
            let start = random_order(&region, &mut random);
            let limits: Vec<Option<u32>> = peaks(&region, &start)
                .iter()
                .map(|peak| random.chance(80).then(|| peak.saturating_sub(random.below(4) as u32)))
                .collect();
            let exists = whole.lowest(0, &limits).is_some();
            let mut part = Part::between(&region, &[0], &[u64::MAX], &start).unwrap();
            let mut effort = Effort { steps: random.pick(&[300, 3_000, u64::MAX]), deadline: None };
            let rules = Rules { forced_order: random.chance(80), cuts: random.chance(50), ..Rules::ALL };
            match tighten_within(&mut part, &limits, rules, &mut effort) {
                Verdict::Found(order) => {
                    found += 1;
                    assert!(
                        exists && is_within(&region, &part.in_whole(&order), &limits),
                        "{}",
                        region.name()
                    );
                }
                Verdict::Failed => {
                    failed += 1;
                    assert!(!exists, "{} {limits:?}", region.name());
                }
                Verdict::Open => {
                    open += 1;
                    let tighter = Small::new(&part.region, &[]).lowest(0, &limits).is_some();
                    assert_eq!(tighter, exists, "{} {limits:?}", region.name());
                }
            }
        }
        println!("{found} orders found, {failed} refuted, {open} left open");
        assert!(found > 100 && failed > 500 && open > 500, "{found} {failed} {open}");
    }
}
