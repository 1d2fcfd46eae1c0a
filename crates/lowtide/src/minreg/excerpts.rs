//! Excerpts: bounds from some of the instructions alone.
//!
//! Let W be any set of instructions of a region. Its *excerpt* has only the instructions of W, with all
//! dependences between them, also those through other instructions. It has only values that are live-in or
//! defined in W. A use in W is a use of the excerpt. For another use, all of its ancestors in W are uses of the
//! excerpt, since none of them comes after it.
//!
//! The excerpt needs no more registers than the region. *Proof.* Take an order of the region. Its instructions of W
//! are an order of the excerpt. Let T be a downset of the order, and v a value that is live in the excerpt after
//! T & W. Then v is live after T: it is live-in or defined in T, and it is live-out, or a use of the excerpt is
//! not in T. That use is a use of the region, or it comes before one, which is then not in T either. ∎ So
//! if the excerpt has no order within a limit, the region has none.
//!
//! An excerpt of a few hundred instructions around a peak often needs as many registers as the region. A search
//! of the region tries all combinations of their orders with those of everything else; a search of the
//! excerpt does not. W is a window of the best order, with the instructions that define its operands.

use super::decide::decide_within;
use super::options::Options;
use super::windows::{choose, highest, pressure_along};
use crate::analysis::closure::Closure;
use crate::analysis::flow::nearest_ancestors;
use crate::bits::BitSet;
use crate::budget::Effort;
use crate::index::{ClassId, InstrId, ValueId};
use crate::random::Random;
use crate::region::{DepKind, InstrSpec, Region, RegionBuilder};
use crate::threads;

/// Excerpts that are chosen at the same time, and searched on all threads.
const BATCH: usize = 8;

/// The most excerpts for one limit.
const MOST_EXCERPTS: usize = 64;

/// The smallest excerpt that is worth a search: the search of the region settles smaller ones.
const FEWEST_INSTRS: usize = if cfg!(test) { 3 } else { 24 };

/// The steps for an excerpt: one of so many parts of the effort that is left, and at most so many.
const PARTS_PER_EXCERPT: u64 = 12;
const MOST_STEPS: u64 = 3_000_000;

/// Return whether some excerpt of the region has no order within the limit on a class. The windows are those of the
/// order of the region. `states` is raised by the number of expanded states.
pub(super) fn refute(
    region: &Region,
    class: ClassId,
    limit: u32,
    options: Options,
    effort: &mut Effort,
    states: &mut u64,
) -> bool {
    let closure = &Closure::new(region);
    let order: Vec<InstrId> = region.instrs().collect();
    let pressure = pressure_along(region, class, &order);
    let peak = highest(&pressure);
    let mut random = Random::new(region.len() as u64);
    let threads = options.budget.threads;
    let together = if threads > 1 { BATCH } else { 1 };
    let mut tried = 0;
    while tried < MOST_EXCERPTS && !effort.is_spent() {
        let batch: Vec<Option<BitSet>> = (0..BATCH)
            .map(|number| {
                let (from, to) = choose(&mut random, &pressure, peak, tried + number)?;
                let layers = random.below(3);
                let set = with_definitions(region, class, &order[from..to], layers);
                (set.count() as usize >= FEWEST_INSTRS).then_some(set)
            })
            .collect();
        tried += BATCH;
        let share = effort.up_to((effort.steps / PARTS_PER_EXCERPT).min(MOST_STEPS));
        for some in batch.chunks(together) {
            let searched = threads::map(threads, some.len(), |number| {
                let set = some[number].as_ref()?;
                let mut left = share;
                let excerpt = excerpt(region, closure, class, set);
                let mut limits = vec![None; region.classes().len()];
                limits[class.index()] = Some(limit);
                let mut options = options;
                options.budget.threads = 1;
                let source: Vec<InstrId> = excerpt.instrs().collect();
                let of_excerpt = Closure::new(&excerpt);
                let (decision, expanded) =
                    decide_within(&excerpt, || &of_excerpt, &limits, &source, options, &mut left);
                Some((decision.is_no(), share.steps - left.steps, expanded))
            });
            for (is_refuted, steps, expanded) in searched.into_iter().flatten() {
                // To make the excerpt, all instructions are visited.
                effort.spend(steps + region.len() as u64);
                *states += expanded;
                if is_refuted {
                    return true;
                }
            }
            if effort.is_spent() {
                return false;
            }
        }
    }
    false
}

/// Return a window with the instructions that define its operands, and so on for some layers.
fn with_definitions(region: &Region, class: ClassId, window: &[InstrId], layers: usize) -> BitSet {
    let mut set = BitSet::of(region.len(), window.iter().copied());
    let mut last = window.to_vec();
    for _ in 0..layers {
        let operands = last.iter().flat_map(|&instr| region.used_values(instr));
        let operands =
            operands.map(|value| &region.values()[value.index()]).filter(|value| value.class == class);
        last = operands.filter_map(|value| value.def.filter(|&def| set.insert_new(def))).collect();
    }
    set
}

/// Make the excerpt of a set of instructions, with the values of one class.
fn excerpt(whole: &Region, closure: &Closure, class: ClassId, inside: &BitSet) -> Region {
    let mut builder = RegionBuilder::new(whole.name());
    for name in whole.classes() {
        builder.class(name);
    }
    let mut number = vec![InstrId(u32::MAX); whole.len()];
    for instr in inside.instrs() {
        number[instr.index()] = builder.instr(InstrSpec::new("", 0));
    }
    let number = |instr: InstrId| number[instr.index()];
    let mut through = whole.through(class);
    let (mut uses, mut rest) = (BitSet::new(whole.len()), BitSet::new(whole.len()));
    for (position, value) in whole.values().iter().enumerate() {
        let id = ValueId::at(position);
        if value.class != class || whole.is_dead(id) || value.def.is_some_and(|def| !inside.contains(def)) {
            continue;
        }
        uses.clear();
        for &instr in whole.value_uses(id) {
            match inside.contains(instr) {
                true => uses.insert(instr),
                false => {
                    rest.copy_common(closure.ancestors(instr), inside);
                    uses.unite(&rest);
                }
            }
        }
        // Uses before the definition, which an ancestor of a use can be, do not count.
        if let Some(def) = value.def {
            uses.intersect(closure.descendants(def));
        }
        if uses.is_empty() && (value.def.is_none() || !value.live_out) {
            through += if value.live_out { value.weight } else { 0 };
            continue;
        }
        let register = builder.register("", class, 1, value.weight);
        match value.def {
            Some(def) => builder.defs(number(def), register, 1),
            None => builder.live_in(register, 1),
        }
        uses.instrs().for_each(|instr| builder.uses(number(instr), register, 1));
        if value.live_out {
            builder.live_out(register, 1);
        }
    }
    builder.through(class, through);
    for instr in inside.instrs() {
        nearest_ancestors(closure, inside, instr, &mut rest, |ancestor| {
            builder.depend(number(ancestor), number(instr), DepKind::Barrier, 0);
        });
    }
    builder.build().expect("an excerpt of a valid region is valid")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::minreg::made::{Small, regions};

    const CLASS: ClassId = ClassId(0);

    /// The pressure of an excerpt after any set of its instructions is at most that of the region after any downset
    /// with these instructions.
    #[test]
    fn excerpts_have_no_more_pressure() {
        let mut random = Random::new(1);
        let (mut sets, mut equal) = (0, 0);
        for region in regions(0..150, 10) {
            let whole = Small::new(&region, &[]);
            let closure = Closure::new(&region);
            let inside = BitSet::of(region.len(), region.instrs().filter(|_| random.chance(60)));
            if inside.is_empty() {
                continue;
            }
            let small = excerpt(&region, &closure, CLASS, &inside);
            let part = Small::new(&small, &[]);
            let lowest = |small: &Small| small.lowest(0, &[]).expect("an order");
            assert!(lowest(&part) <= lowest(&whole), "{}", region.name());
            equal += usize::from(lowest(&part) == lowest(&whole));
            for set in whole.on_the_way(&[]) {
                let in_excerpt = (0..)
                    .zip(inside.instrs())
                    .filter(|(_, instr)| set >> instr.0 & 1 == 1)
                    .fold(0, |all: usize, (number, _): (u32, _)| all | 1 << number);
                sets += 1;
                let pressure =
                    |small: &Small, set: usize| small.pressures[set].as_ref().expect("a downset")[0];
                assert!(pressure(&part, in_excerpt) <= pressure(&whole, set), "{}", region.name());
            }
        }
        println!("{sets} sets, {equal} excerpts need as many registers");
        assert!(sets > 10_000 && equal > 50, "{sets} {equal}");
    }

    #[test]
    fn only_limits_below_the_optimum_are_refuted() {
        let mut refuted = 0;
        for region in regions(0..150, 12) {
            let optimum = Small::new(&region, &[]).lowest(0, &[]).expect("an order");
            let options = Options::new(Budget::default());
            for limit in optimum.saturating_sub(2)..optimum + 2 {
                let effort = &mut Effort { steps: 100_000, deadline: None };
                let is_refuted = refute(&region, CLASS, limit, options, effort, &mut 0);
                assert!(!is_refuted || limit < optimum, "{} {limit}", region.name());
                refuted += usize::from(is_refuted);
            }
        }
        println!("{refuted} limits refuted");
        assert!(refuted > 100, "{refuted}");
    }
}
