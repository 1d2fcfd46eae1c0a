//! The independent checker: is a schedule legal, and what are its figures?
//!
//! The checker exists to catch the mistakes of all other code, so it shares nothing with that code. It reads
//! the front end's data (instructions, operands lane by lane, dependences), the numbers of the target, and
//! the schedule. It does not use values, the merged dependence graph, trackers or issue tables.
//!
//! # Legality
//!
//! An *order* is legal if it contains every instruction once and, for every dependence `from -> to`, `from`
//! before `to`. A *schedule* also gives each instruction `i` of a legal order an issue cycle `c(i)`. It is
//! legal on a target if
//!
//! 1. cycles do not decrease along the order;
//! 2. `c(to) >= c(from) + latency` for every dependence. So two dependent instructions share a cycle only
//!    with latency 0 and, by the next rule, only if the target issues more than one at a time;
//! 3. no cycle has more instructions than the issue width;
//! 4. no unit is over-committed. A need for a unit for `b` cycles keeps one of its `k` copies busy in `[c(i),
//!    c(i) + b)`. Needs for unlisted units, or for 0 cycles, limit nothing. Intervals fit on `k` copies
//!    without overlap exactly if no point lies in more than `k` of them. A point that lies in most intervals
//!    can be moved back to the start of one. So the checker examines only the starts, in order of time, with
//!    a heap of the ends of the busy intervals. Its time does not depend on the size of cycle numbers.
//!
//! # Figures
//!
//! Pressure follows from liveness, lane by lane, by one scan from the last instruction of the order to the
//! first. A lane is live at a boundary if some instruction after it reads the lane before any writes it. A
//! live-out lane is also live there if none writes it. With `D` the lanes that `i` writes and `U` those it
//! reads,
//!
//! ```text
//! after(last) = live-out
//! before(i)   = (after(i) - D(i)) | U(i)         after(previous of i) = before(i)
//! at(i)       = after(i) | D(i) | U(i)
//! ```
//!
//! A lane that the same instruction reads and writes counts once in `at`: it is one register. A result that
//! nobody needs is in no boundary, but it needs a place for a moment, so it is in `at`. The pressure of a
//! class is the weight of the live lanes of its registers, plus the weight that only passes through the
//! region. The peak *between* is the maximum over all boundaries, with those before the first and after the
//! last instruction. The peak *at* is the maximum of `at(i)`, which contains both boundaries of `i`.
//!
//! The peaks *between* determine the occupancy. Classes that share a register file lie in it one after the
//! other, in the order of the file. Each takes its peak, but at most the addressable registers. A class after
//! another one that is used starts at a multiple of the other's alignment. A wave gets whole granules, and at
//! least one. Registers beyond the addressable ones are spilled. Where the target spills a class into lanes
//! of another one, each started register of that class with its lanes counts as one more in its peak. Every
//! class that the target does not name has a copy of the file for `*` to itself.
//!
//! The checker takes O(n log n + operands + dependences).

pub mod bound;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::index::InstrId;
use crate::region::{DepKind, Lanes, Operand, Peak, Region};
use crate::schedule::Schedule;
use crate::target::Target;

/// The most violations in a list: more would hide the first ones.
pub const MOST_VIOLATIONS: usize = 20;

/// The class name by which a target matches every class it does not name. Repeated here on purpose: the
/// checker takes no definition from the code it checks.
const EVERY_OTHER_CLASS: &str = "*";

/// The figures of a legal schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Peak pressure of each class of the region.
    pub peaks: Vec<Peak>,
    /// Waves that fit, by registers alone.
    pub occupancy: u32,
    /// Registers beyond the addressable ones, over all classes.
    pub spilled: u32,
    /// Cycle of the last issue, plus one.
    pub length: u32,
}

/// One reason why a schedule is not legal. Instructions are named as [`Region::describe`] does.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Violation {
    /// The order contains a number that is not an instruction of the region.
    #[error("the order names instruction #{instr} at position {position}, but the region has only {count}")]
    UnknownInstr {
        /// The position in the order.
        position: usize,
        /// The number found there.
        instr: u32,
        /// How many instructions the region has.
        count: usize,
    },
    /// The order holds an instruction more than once.
    #[error("{instr} is in the order twice, at positions {first} and {second}")]
    Repeated {
        /// The instruction.
        instr: String,
        /// Its first position.
        first: usize,
        /// A later position.
        second: usize,
    },
    /// The order lacks an instruction.
    #[error("{instr} is not in the order")]
    Missing {
        /// The instruction.
        instr: String,
    },
    /// The order puts an instruction before one that it depends on.
    #[error("{to} comes before {from} in the order, but depends on it ({})", kind.name())]
    OutOfOrder {
        /// The instruction that must come first.
        from: String,
        /// The one that must follow.
        to: String,
        /// Why.
        kind: DepKind,
    },
    /// More or fewer cycles than instructions.
    #[error("the schedule has cycles for {given} instructions, but the region has {count}")]
    CycleCount {
        /// How many cycles are given.
        given: usize,
        /// How many instructions the region has.
        count: usize,
    },
    /// The cycles decrease along the order.
    #[error(
        "{later} issues in cycle {later_cycle}, although it comes right after {earlier} in the order, which \
         issues in cycle {earlier_cycle}"
    )]
    CyclesDecrease {
        /// The instruction that comes first in the order.
        earlier: String,
        /// Its cycle.
        earlier_cycle: u32,
        /// The next one.
        later: String,
        /// Its cycle.
        later_cycle: u32,
    },
    /// An instruction issues before the latency of a dependence has passed.
    #[error(
        "{to} issues in cycle {to_cycle}, but depends on {from} in cycle {from_cycle} with latency {latency} \
         ({})", kind.name()
    )]
    TooEarly {
        /// The instruction that is depended on.
        from: String,
        /// Its cycle.
        from_cycle: u32,
        /// The instruction that depends on it.
        to: String,
        /// Its cycle.
        to_cycle: u32,
        /// Why it depends on it.
        kind: DepKind,
        /// The cycles that must lie between them.
        latency: u32,
    },
    /// More instructions in one cycle than can be issued.
    #[error(
        "{issued} instructions from {first} to {last} issue in cycle {cycle}, but the target issues at most \
         {width}"
    )]
    CycleOverfull {
        /// The cycle.
        cycle: u32,
        /// How many issue in it.
        issued: usize,
        /// The first of them.
        first: String,
        /// The last of them.
        last: String,
        /// The issue width.
        width: u32,
    },
    /// No copy of a unit is free.
    #[error(
        "{instr} needs unit {unit} for {busy} cycles from cycle {cycle} on, but none of {count} is free before \
         cycle {free}"
    )]
    UnitBusy {
        /// The instruction.
        instr: String,
        /// The unit's name.
        unit: String,
        /// The cycle in which the instruction issues.
        cycle: u32,
        /// For how long it needs the unit.
        busy: u32,
        /// How many copies of the unit there are.
        count: u32,
        /// When the next one is free.
        free: u64,
    },
    /// The length of the schedule does not fit in 32 bits.
    #[error("{instr} issues in cycle {cycle}: the length of the schedule does not fit in 32 bits")]
    TooLong {
        /// The last instruction.
        instr: String,
        /// Its cycle.
        cycle: u32,
    },
    /// The region has a register class that the target lacks.
    #[error("register class {class:?} is in no register file of target {target}")]
    UnknownClass {
        /// The class.
        class: String,
        /// The target's name.
        target: String,
    },
}

impl Schedule {
    /// Make a schedule from its parts (see [`Schedule::from_parts`]) if it is legal for the region on the
    /// target.
    pub fn new(
        region: &Region,
        target: &Target,
        order: Vec<InstrId>,
        cycles: Vec<u32>,
    ) -> Result<Self, Vec<Violation>> {
        let schedule = Schedule::from_parts(order, cycles);
        check(region, target, &schedule).map(|_| schedule)
    }
}

/// Check that a schedule is legal on a target, and return its figures. For an illegal one, return the first
/// violations, at most [`MOST_VIOLATIONS`]. The schedule may be arbitrarily wrong.
pub fn check(region: &Region, target: &Target, schedule: &Schedule) -> Result<Report, Vec<Violation>> {
    let mut found = Findings::default();
    for class in classes_without_file(region, target) {
        found.add(|| Violation::UnknownClass { class: class.to_string(), target: target.name().to_string() });
    }
    let order = schedule.order();
    let positions = check_positions(region, order, &mut found);
    let cycles = schedule.cycles();
    if cycles.len() != region.len() {
        found.add(|| Violation::CycleCount { given: cycles.len(), count: region.len() });
    } else if let Some(positions) = positions {
        check_cycles(region, target, order, cycles, &positions, &mut found);
    }
    found.none()?;

    let peaks = peaks(region, order);
    let occupancy = waves(target, &registers(region, target, &peaks));
    let spilled = spilled(region, target, &peaks);
    let last = cycles.iter().copied().max();
    // `check_cycles` has rejected the one cycle without a successor.
    let length = last.map_or(0, |last| last.saturating_add(1));
    Ok(Report { peaks, occupancy, spilled, length })
}

/// Check that an order is legal, and return its peak pressure for each class. For an illegal one, return the
/// first violations, at most [`MOST_VIOLATIONS`].
pub fn check_order(region: &Region, order: &[InstrId]) -> Result<Vec<Peak>, Vec<Violation>> {
    let mut found = Findings::default();
    check_positions(region, order, &mut found);
    found.none()?;
    Ok(peaks(region, order))
}

/// The violations found so far.
#[derive(Default)]
struct Findings(Vec<Violation>);

impl Findings {
    /// Add a violation. Its text is made only if there is room for it.
    fn add(&mut self, violation: impl FnOnce() -> Violation) {
        if self.0.len() < MOST_VIOLATIONS {
            self.0.push(violation());
        }
    }

    fn none(self) -> Result<(), Vec<Violation>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}

/// Check the order alone. Return the position of each instruction if each has exactly one.
fn check_positions(region: &Region, order: &[InstrId], found: &mut Findings) -> Option<Vec<usize>> {
    const NOWHERE: usize = usize::MAX;
    let count = region.len();
    let mut positions = vec![NOWHERE; count];
    let mut permutation = true;
    for (position, &instr) in order.iter().enumerate() {
        match positions.get_mut(instr.index()) {
            None => {
                permutation = false;
                found.add(|| Violation::UnknownInstr { position, instr: instr.0, count });
            }
            Some(own) if *own == NOWHERE => *own = position,
            Some(&mut first) => {
                permutation = false;
                found.add(|| Violation::Repeated { instr: region.describe(instr), first, second: position });
            }
        }
    }
    for instr in region.instrs() {
        if positions[instr.index()] == NOWHERE {
            permutation = false;
            found.add(|| Violation::Missing { instr: region.describe(instr) });
        }
    }
    if !permutation {
        return None;
    }
    for dep in region.deps() {
        if positions[dep.from.index()] >= positions[dep.to.index()] {
            found.add(|| Violation::OutOfOrder {
                from: region.describe(dep.from),
                to: region.describe(dep.to),
                kind: dep.kind,
            });
        }
    }
    Some(positions)
}

/// Check the cycles of a permutation, one for each instruction.
fn check_cycles(
    region: &Region,
    target: &Target,
    order: &[InstrId],
    cycles: &[u32],
    positions: &[usize],
    found: &mut Findings,
) {
    for pair in order.windows(2) {
        let (earlier_cycle, later_cycle) = (cycles[pair[0].index()], cycles[pair[1].index()]);
        if later_cycle < earlier_cycle {
            found.add(|| Violation::CyclesDecrease {
                earlier: region.describe(pair[0]),
                earlier_cycle,
                later: region.describe(pair[1]),
                later_cycle,
            });
        }
    }
    for dep in region.deps() {
        let (from_cycle, to_cycle) = (cycles[dep.from.index()], cycles[dep.to.index()]);
        let in_order = positions[dep.from.index()] < positions[dep.to.index()]; // reported already if not
        if in_order && u64::from(to_cycle) < u64::from(from_cycle) + u64::from(dep.latency) {
            found.add(|| Violation::TooEarly {
                from: region.describe(dep.from),
                from_cycle,
                to: region.describe(dep.to),
                to_cycle,
                kind: dep.kind,
                latency: dep.latency,
            });
        }
    }
    // Sort by time rather than by the order: slots and units are then checked even where the two disagree.
    let mut by_time = order.to_vec();
    by_time.sort_by_key(|instr| cycles[instr.index()]);
    check_slots(region, target, &by_time, cycles, found);
    check_units(region, target, &by_time, cycles, found);
    if let Some(&last) = by_time.last().filter(|last| cycles[last.index()] == u32::MAX) {
        found.add(|| Violation::TooLong { instr: region.describe(last), cycle: u32::MAX });
    }
}

fn check_slots(region: &Region, target: &Target, by_time: &[InstrId], cycles: &[u32], found: &mut Findings) {
    let width = target.issue().width;
    for together in by_time.chunk_by(|a, b| cycles[a.index()] == cycles[b.index()]) {
        if together.len() as u64 > u64::from(width)
            && let [first, .., last] | [first @ last] = together
        {
            found.add(|| Violation::CycleOverfull {
                cycle: cycles[first.index()],
                issued: together.len(),
                first: region.describe(*first),
                last: region.describe(*last),
                width,
            });
        }
    }
}

fn check_units(region: &Region, target: &Target, by_time: &[InstrId], cycles: &[u32], found: &mut Findings) {
    let units = &target.issue().units;
    let by_name: FxHashMap<&str, usize> =
        units.iter().enumerate().map(|(unit, listed)| (listed.name.as_str(), unit)).collect();
    // For each unit, the ends of the intervals that are still open, earliest on top.
    let mut busy_until: Vec<BinaryHeap<Reverse<u64>>> = units.iter().map(|_| BinaryHeap::new()).collect();
    for &instr in by_time {
        let cycle = cycles[instr.index()];
        for need in region.units(instr).iter().filter(|need| need.cycles > 0) {
            let Some(&unit) = by_name.get(&*need.unit) else {
                continue;
            };
            let busy = &mut busy_until[unit];
            while busy.peek().is_some_and(|Reverse(end)| *end <= u64::from(cycle)) {
                busy.pop();
            }
            let count = units[unit].count;
            match busy.peek() {
                // A need without a copy takes none, so `free` stays correct for the next one.
                Some(&Reverse(free)) if busy.len() as u64 >= u64::from(count) => {
                    found.add(|| Violation::UnitBusy {
                        instr: region.describe(instr),
                        unit: need.unit.to_string(),
                        cycle,
                        busy: need.cycles,
                        count,
                        free,
                    });
                }
                _ => busy.push(Reverse(u64::from(cycle) + u64::from(need.cycles))),
            }
        }
    }
}

/// The live lanes during the backward scan, and their weight.
struct Liveness<'a> {
    region: &'a Region,
    /// By register.
    live: Vec<Lanes>,
    /// By class, with what passes through.
    pressure: Vec<u64>,
}

impl Liveness<'_> {
    /// Add the lanes that are not live yet.
    fn add(&mut self, operand: Operand) {
        let register = &self.region.registers()[operand.register.index()];
        let live = &mut self.live[operand.register.index()];
        let lanes = u64::from((operand.lanes & !*live).count_ones());
        *live |= operand.lanes;
        self.pressure[register.class.index()] += lanes * u64::from(register.lane_weight);
    }

    /// Remove the lanes that are live.
    fn remove(&mut self, operand: Operand) {
        let register = &self.region.registers()[operand.register.index()];
        let live = &mut self.live[operand.register.index()];
        let lanes = u64::from((operand.lanes & *live).count_ones());
        *live &= !operand.lanes;
        self.pressure[register.class.index()] -= lanes * u64::from(register.lane_weight);
    }

    fn raise(&self, peaks: &mut [u64]) {
        for (peak, &pressure) in peaks.iter_mut().zip(&self.pressure) {
            *peak = pressure.max(*peak);
        }
    }
}

/// Return the peak pressure of each class in an order of all instructions: the scan of the module comment.
fn peaks(region: &Region, order: &[InstrId]) -> Vec<Peak> {
    let through: Vec<u64> = region.class_ids().map(|class| u64::from(region.through(class))).collect();
    let mut now = Liveness { region, live: vec![0; region.registers().len()], pressure: through };
    let mut between = vec![0; region.classes().len()];
    let mut at = between.clone();
    for &operand in region.live_out() {
        now.add(operand);
    }
    now.raise(&mut between);
    for &instr in order.iter().rev() {
        let (defs, uses) = (region.defs(instr), region.uses(instr));
        for def in defs {
            now.add(def.operand);
        }
        for &operand in uses {
            now.add(operand);
        }
        now.raise(&mut at);
        for def in defs {
            now.remove(def.operand);
        }
        // Lanes that the instruction both reads and overwrites were removed with its results.
        for &operand in uses {
            now.add(operand);
        }
        now.raise(&mut between);
    }
    // The limits of a region keep all pressures within 32 bits.
    let fit = |pressure: u64| u32::try_from(pressure).unwrap_or(u32::MAX);
    let both = between.into_iter().zip(at);
    both.map(|(between, at)| Peak { between: fit(between), at: fit(at.max(between)) }).collect()
}

/// Return the region's classes that are in no file of the target, neither by name nor by `*`.
fn classes_without_file<'a>(region: &'a Region, target: &'a Target) -> impl Iterator<Item = &'a str> {
    let named =
        |class: &str| target.files().iter().flat_map(|file| &file.classes).any(|own| own.name == class);
    let any = named(EVERY_OTHER_CLASS);
    region.classes().iter().map(|class| &**class).filter(move |class| !any && !named(class))
}

/// Return the waves of a kernel whose regions have these peaks, by registers alone. A wave gets registers
/// once for the whole kernel: of each class, the most that a region needs. All classes have a file.
pub fn waves_of_kernel<'r, 'p>(
    target: &Target,
    regions: impl IntoIterator<Item = (&'r Region, &'p [Peak])>,
) -> u32 {
    let mut most: Vec<(&str, u64)> = Vec::new();
    for (region, peaks) in regions {
        for (class, own) in registers(region, target, peaks) {
            match most.iter_mut().find(|(known, _)| *known == class) {
                Some((_, most)) => *most = own.max(*most),
                None => most.push((class, own)),
            }
        }
    }
    waves(target, &most)
}

/// Return the peak of each class of a region, with the registers whose lanes hold spilled ones of others.
fn registers<'a>(region: &'a Region, target: &Target, peaks: &[Peak]) -> Vec<(&'a str, u64)> {
    let pressures: Vec<(&str, u64)> = (region.classes().iter())
        .zip(peaks)
        .map(|(class, peak)| (&**class, u64::from(peak.between)))
        .collect();
    let lanes_in = |name: &str| -> u64 {
        let all = target.files().iter().flat_map(|file| &file.classes);
        let needed = all.filter_map(|class| {
            let spill = class.spill.as_ref().filter(|spill| spill.class == name)?;
            let (_, pressure) = pressures.iter().find(|(own, _)| *own == class.name)?;
            Some(pressure.saturating_sub(u64::from(class.max)).div_ceil(u64::from(spill.lanes)))
        });
        needed.sum()
    };
    pressures.iter().map(|(class, pressure)| (*class, pressure + lanes_in(class))).collect()
}

/// Return the waves that fit with so many registers of each class. All classes have a file.
fn waves(target: &Target, registers: &[(&str, u64)]) -> u32 {
    // The validation of targets excludes 0 for all of its numbers.
    let mut waves = u64::from(u32::MAX);
    for file in target.files() {
        waves = waves.min(u64::from(file.waves));
        // (registers, max, align) of the classes that share a file. One list is for the classes that the file
        // names. Each class that the file holds as `*` has a list of its own.
        let mut contents: Vec<Vec<(u64, u64, u64)>> = Vec::new();
        let mut named = Vec::new();
        for class in &file.classes {
            let (max, align) = (u64::from(class.max), u64::from(class.align));
            if let Some((_, own)) = registers.iter().find(|(name, _)| *name == class.name) {
                named.push((*own, max, align));
            }
            if class.name == EVERY_OTHER_CLASS {
                let all_named = || target.files().iter().flat_map(|file| &file.classes);
                let others = registers.iter().filter(|(name, _)| !all_named().any(|own| own.name == *name));
                contents.extend(others.map(|(_, own)| vec![(*own, max, align)]));
            }
        }
        if !named.is_empty() {
            contents.push(named);
        }
        for classes in contents {
            let (mut end, mut align_next) = (0u64, 1);
            for (own, max, align) in classes {
                if own > 0 {
                    end = end.div_ceil(align_next) * align_next + own.min(max);
                    align_next = align;
                }
            }
            let granule = u64::from(file.granule);
            let given = end.max(1).div_ceil(granule) * granule;
            waves = waves.min((u64::from(file.size) / given).max(1));
        }
    }
    waves as u32
}

/// Return the registers of a region beyond the addressable ones.
fn spilled(region: &Region, target: &Target, peaks: &[Peak]) -> u32 {
    let classes = || target.files().iter().flat_map(|file| &file.classes);
    let max_of = |name: &str| {
        let own = classes().find(|class| class.name == name);
        own.or_else(|| classes().find(|class| class.name == EVERY_OTHER_CLASS)).map(|class| class.max)
    };
    let over = region
        .classes()
        .iter()
        .zip(peaks)
        .map(|(class, peak)| max_of(class).map_or(0, |max| u64::from(peak.between.saturating_sub(max))));
    u32::try_from(over.sum::<u64>()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::RegisterId;
    use crate::region::{DefFlags, InstrSpec, RegionBuilder};

    /// A region of one class, written as `(uses, defs)` of each instruction with the dependences that the
    /// registers imply; registers are `(lanes, weight)`.
    struct Code {
        builder: RegionBuilder,
        registers: Vec<RegisterId>,
    }

    type Part = (usize, Lanes);

    impl Code {
        fn new(registers: &[(u32, u32)]) -> Self {
            let mut builder = RegionBuilder::new("code");
            let class = builder.class("vgpr");
            let name = |i| format!("r{i}");
            let registers = registers.iter().enumerate();
            let registers =
                registers.map(|(i, &(lanes, weight))| builder.register(&name(i), class, lanes, weight));
            let registers = registers.collect();
            Code { builder, registers }
        }

        fn live_in(mut self, parts: &[Part]) -> Self {
            parts.iter().for_each(|&(register, lanes)| self.builder.live_in(self.registers[register], lanes));
            self
        }

        fn live_out(mut self, parts: &[Part]) -> Self {
            parts
                .iter()
                .for_each(|&(register, lanes)| self.builder.live_out(self.registers[register], lanes));
            self
        }

        fn through(mut self, weight: u32) -> Self {
            let class = self.builder.class("vgpr");
            self.builder.through(class, weight);
            self
        }

        fn op(self, uses: &[Part], defs: &[Part]) -> Self {
            self.op_with(uses, defs, DefFlags::default())
        }

        fn op_with(mut self, uses: &[Part], defs: &[Part], flags: DefFlags) -> Self {
            let instr = self.builder.instr(InstrSpec::new("op", 2));
            for &(register, lanes) in uses {
                self.builder.uses(instr, self.registers[register], lanes);
            }
            for &(register, lanes) in defs {
                self.builder.defs_with(instr, self.registers[register], lanes, flags);
            }
            self
        }

        fn region(mut self) -> Region {
            self.builder.depend_on_registers();
            self.builder.build().unwrap()
        }

        /// (between, at) of the source order.
        fn peak(self) -> (u32, u32) {
            let region = self.region();
            let order: Vec<InstrId> = region.instrs().collect();
            let peaks = check_order(&region, &order).unwrap();
            (peaks[0].between, peaks[0].at)
        }
    }

    fn ids(order: &[u32]) -> Vec<InstrId> {
        order.iter().map(|&instr| InstrId(instr)).collect()
    }

    fn messages<T: std::fmt::Debug>(result: Result<T, Vec<Violation>>) -> Vec<String> {
        result.unwrap_err().iter().map(Violation::to_string).collect()
    }

    /// Two slots, two `alu`, one `mem`; eight registers in a file of 16.
    fn dual() -> Target {
        Target::parse(
            "name='dual'\ndescription=''\n[issue]\nwidth=2\nunits=[{name='alu',count=2},{name='mem'}]\n\
             [[file]]\nname='f'\nsize=16\ngranule=2\nwaves=4\nclasses=[{name='vgpr',max=8}]\n",
        )
        .unwrap()
    }

    /// `load; load; add` with units; both loads feed the addition.
    fn loads() -> Region {
        let mut builder = RegionBuilder::new("loads");
        let class = builder.class("vgpr");
        let load = InstrSpec { units: &[("mem", 2), ("bus", 9), ("alu", 0)], ..InstrSpec::new("load", 4) };
        let add = InstrSpec { units: &[("alu", 1)], ..InstrSpec::new("add", 1) };
        let instrs = [load, load, add].map(|spec| builder.instr(spec));
        let registers = ["a", "b", "c"].map(|name| builder.register(name, class, 1, 1));
        for (instr, register) in instrs.into_iter().zip(registers) {
            builder.defs(instr, register, 1);
        }
        builder.uses(instrs[2], registers[0], 1);
        builder.uses(instrs[2], registers[1], 1);
        builder.live_out(registers[2], 1);
        builder.depend_on_registers();
        builder.build().unwrap()
    }

    fn check_on(target: &Target, order: &[u32], cycles: &[u32]) -> Result<Report, Vec<Violation>> {
        check(&loads(), target, &Schedule::from_parts(ids(order), cycles.to_vec()))
    }

    #[test]
    fn a_legal_schedule_is_reported() {
        let report = check_on(&dual(), &[1, 0, 2], &[2, 0, 6]).unwrap();
        assert_eq!(
            report,
            Report { peaks: vec![Peak { between: 2, at: 3 }], occupancy: 4, spilled: 0, length: 7 }
        );
    }

    #[test]
    fn an_order_holds_every_instruction_once() {
        let region = loads();
        assert_eq!(
            messages(check_order(&region, &ids(&[0, 0, 7]))),
            [
                "#0 load is in the order twice, at positions 0 and 1",
                "the order names instruction #7 at position 2, but the region has only 3",
                "#1 load is not in the order",
                "#2 add is not in the order",
            ]
        );
        assert_eq!(messages(check_order(&region, &ids(&[0, 2]))), ["#1 load is not in the order"]);
        assert_eq!(messages(check_order(&region, &[])).len(), 3);
        assert!(check_order(&region, &ids(&[0, 1, 2, 2])).is_err());
    }

    #[test]
    fn an_order_respects_the_dependences() {
        assert_eq!(
            messages(check_order(&loads(), &ids(&[0, 2, 1]))),
            ["#2 add comes before #1 load in the order, but depends on it (data)"]
        );
    }

    #[test]
    fn cycles_are_one_for_each_instruction() {
        for cycles in [&[][..], &[0, 2], &[0, 2, 6, 7]] {
            let expected =
                format!("the schedule has cycles for {} instructions, but the region has 3", cycles.len());
            assert_eq!(messages(check_on(&dual(), &[0, 1, 2], cycles)), [expected]);
        }
    }

    #[test]
    fn cycles_do_not_decrease_along_the_order() {
        assert_eq!(
            messages(check_on(&dual(), &[0, 1, 2], &[2, 0, 6])),
            [
                "#1 load issues in cycle 0, although it comes right after #0 load in the order, which issues in \
                 cycle 2"
            ]
        );
    }

    #[test]
    fn latencies_are_kept() {
        assert_eq!(
            messages(check_on(&dual(), &[0, 1, 2], &[0, 2, 5])),
            ["#2 add issues in cycle 5, but depends on #1 load in cycle 2 with latency 4 (data)"]
        );
        // The sum of cycle and latency does not fit in 32 bits.
        let far = u32::MAX - 3;
        assert!(check_on(&dual(), &[0, 1, 2], &[0, far, u32::MAX - 1]).is_err());
        assert!(check_on(&dual(), &[0, 1, 2], &[0, far - 2, u32::MAX - 1]).is_ok());
    }

    #[test]
    fn dependent_instructions_share_a_cycle_only_without_latency_and_with_width() {
        let mut builder = RegionBuilder::new("pair");
        builder.class("vgpr");
        let [a, b, c] = [(); 3].map(|()| builder.instr(InstrSpec::new("op", 1)));
        builder.depend(a, b, DepKind::Anti, 0);
        builder.depend(b, c, DepKind::Barrier, 1);
        let region = builder.build().unwrap();
        let schedule = |cycles: [u32; 3]| Schedule::from_parts(vec![a, b, c], cycles.to_vec());
        let narrow = Target::builtin("gfx906").unwrap();
        assert!(check(&region, &dual(), &schedule([0, 0, 1])).is_ok());
        assert!(check(&region, &dual(), &schedule([0, 1, 1])).is_err());
        assert!(check(&region, &narrow, &schedule([0, 1, 2])).is_ok());
        assert_eq!(
            messages(check(&region, &narrow, &schedule([0, 0, 1]))),
            ["2 instructions from #0 op to #1 op issue in cycle 0, but the target issues at most 1"]
        );
    }

    #[test]
    fn no_cycle_is_overfull() {
        let mut builder = RegionBuilder::new("free");
        for _ in 0..5 {
            builder.instr(InstrSpec::new("op", 1));
        }
        let region = builder.build().unwrap();
        let schedule = |cycles: [u32; 5]| Schedule::from_parts(region.instrs().collect(), cycles.to_vec());
        assert_eq!(check(&region, &dual(), &schedule([0, 0, 1, 1, 9])).unwrap().length, 10);
        assert_eq!(
            messages(check(&region, &dual(), &schedule([0, 0, 1, 1, 1]))),
            ["3 instructions from #2 op to #4 op issue in cycle 1, but the target issues at most 2"]
        );
    }

    #[test]
    fn no_unit_is_overcommitted() {
        assert_eq!(
            messages(check_on(&dual(), &[0, 1, 2], &[5, 6, 10])),
            ["#1 load needs unit mem for 2 cycles from cycle 6 on, but none of 1 is free before cycle 7"]
        );
        // A need for an unlisted unit has no effect.
        assert!(check_on(&Target::builtin("gfx906").unwrap(), &[0, 1, 2], &[5, 6, 10]).is_ok());

        // Long and short needs on two copies: a copy that is free again is taken again.
        let mut builder = RegionBuilder::new("two copies");
        for busy in [9, 1, 1, 3, 1] {
            builder.instr(InstrSpec { units: &[("alu", busy)], ..InstrSpec::new("op", 1) });
        }
        let region = builder.build().unwrap();
        let schedule = |cycles: [u32; 5]| Schedule::from_parts(region.instrs().collect(), cycles.to_vec());
        assert!(check(&region, &dual(), &schedule([0, 0, 1, 2, 5])).is_ok());
        assert_eq!(
            messages(check(&region, &dual(), &schedule([0, 0, 1, 2, 4]))),
            ["#4 op needs unit alu for 1 cycles from cycle 4 on, but none of 2 is free before cycle 5"]
        );
        // Large cycle numbers cost nothing.
        let far = u32::MAX - 9;
        assert!(check(&region, &dual(), &schedule([0, 9, far, far, far + 3])).is_ok());
    }

    #[test]
    fn a_length_beyond_32_bits_is_refused() {
        assert_eq!(
            messages(check_on(&dual(), &[0, 1, 2], &[0, 2, u32::MAX])),
            ["#2 add issues in cycle 4294967295: the length of the schedule does not fit in 32 bits"]
        );
        assert_eq!(check_on(&dual(), &[0, 1, 2], &[0, 2, u32::MAX - 1]).unwrap().length, u32::MAX);
    }

    #[test]
    fn a_class_without_a_file_is_refused() {
        assert_eq!(
            messages(check_on(&Target::builtin("sm_90").unwrap(), &[0, 1, 2], &[0, 2, 6])),
            ["register class \"vgpr\" is in no register file of target sm_90"]
        );
    }

    #[test]
    fn the_list_of_violations_ends() {
        let mut builder = RegionBuilder::new("many");
        for _ in 0..100 {
            builder.instr(InstrSpec::new("op", 1));
        }
        let region = builder.build().unwrap();
        assert_eq!(check_order(&region, &[]).unwrap_err().len(), MOST_VIOLATIONS);
    }

    #[test]
    fn boundaries_hold_live_ins_live_outs_and_what_passes_through() {
        // Nothing is needed of r1; r0 passes by the instruction; r2 is read.
        let code =
            || Code::new(&[(1, 3), (1, 1), (1, 1)]).live_in(&[(0, 1), (1, 1), (2, 1)]).live_out(&[(0, 1)]);
        assert_eq!(code().op(&[(2, 1)], &[]).peak(), (4, 4));
        assert_eq!(code().op(&[(2, 1)], &[]).through(10).peak(), (14, 14));
        assert_eq!(Code::new(&[(1, 1)]).op(&[], &[]).through(7).peak(), (7, 7));
        assert_eq!(Code::new(&[(2, 3)]).op(&[], &[(0, 3)]).live_out(&[(0, 3), (0, 1)]).peak(), (6, 6));
    }

    #[test]
    fn at_counts_operands_and_results_together() {
        // r2 = op r0, r1
        let code = || Code::new(&[(1, 1), (1, 1), (1, 1)]).live_in(&[(0, 1), (1, 1)]);
        assert_eq!(code().live_out(&[(2, 1)]).op(&[(0, 1), (1, 1)], &[(2, 1)]).peak(), (2, 3));
        // A dead result counts only at its instruction.
        assert_eq!(code().op(&[(0, 1)], &[]).op(&[(1, 1)], &[(2, 1)]).peak(), (2, 2));
        let dead = DefFlags { dead: true, ..DefFlags::default() };
        assert_eq!(code().live_out(&[(0, 1), (1, 1)]).op_with(&[], &[(2, 1)], dead).peak(), (2, 3));
    }

    #[test]
    fn tied_results_share_lanes_and_early_clobber_ones_do_not() {
        let tied = DefFlags { tied: true, ..DefFlags::default() };
        let early = DefFlags { early_clobber: true, ..DefFlags::default() };
        let tied_pair =
            Code::new(&[(2, 1)]).live_in(&[(0, 3)]).live_out(&[(0, 3)]).op_with(&[(0, 3)], &[(0, 3)], tied);
        assert_eq!(tied_pair.peak(), (2, 2));
        let clobbered = Code::new(&[(2, 1), (2, 1)]).live_in(&[(0, 3)]).live_out(&[(1, 3)]).op_with(
            &[(0, 3)],
            &[(1, 3)],
            early,
        );
        assert_eq!(clobbered.peak(), (2, 4));
    }

    #[test]
    fn lanes_live_and_die_one_by_one() {
        // Two lanes written separately, read together: 1, then 2.
        let parts = Code::new(&[(2, 1)]).op(&[], &[(0, 1)]).op(&[], &[(0, 2)]).op(&[(0, 3)], &[]);
        assert_eq!(parts.peak(), (2, 2));
        // Four lanes written together, one never read: it shows only where it is written.
        let wide = Code::new(&[(4, 2)]).op(&[], &[(0, 15)]).op(&[(0, 6)], &[]).op(&[(0, 8)], &[]);
        assert_eq!(wide.peak(), (6, 8));
        // A partial write keeps the other lane alive; the overwritten one is dead before it.
        let partial = Code::new(&[(2, 1), (1, 5)])
            .live_in(&[(0, 3), (1, 1)])
            .live_out(&[(0, 3)])
            .op(&[(1, 1)], &[])
            .op(&[], &[(0, 2)]);
        assert_eq!(partial.peak(), (6, 6));
    }

    #[test]
    fn a_redefinition_frees_the_register_in_between() {
        // r0 = ..; use r0; r1 = ..; use r1; r0 = ..; use r0: never two at once.
        let code = Code::new(&[(1, 1), (1, 1)])
            .op(&[], &[(0, 1)])
            .op(&[(0, 1)], &[])
            .op(&[], &[(1, 1)])
            .op(&[(1, 1)], &[])
            .op(&[], &[(0, 1)])
            .op(&[(0, 1)], &[]);
        assert_eq!(code.peak(), (1, 1));
    }

    #[test]
    fn another_order_has_another_peak() {
        let region = Code::new(&[(1, 1), (1, 1)])
            .op(&[], &[(0, 1)])
            .op(&[(0, 1)], &[])
            .op(&[], &[(1, 1)])
            .op(&[(1, 1)], &[])
            .region();
        assert_eq!(check_order(&region, &ids(&[0, 1, 2, 3])).unwrap(), [Peak { between: 1, at: 1 }]);
        assert_eq!(check_order(&region, &ids(&[0, 2, 1, 3])).unwrap(), [Peak { between: 2, at: 2 }]);
    }

    /// Occupancy and spilled registers of a region whose only pressure passes through.
    fn waves(target: &Target, pressure: &[(&str, u32)]) -> (u32, u32) {
        let mut builder = RegionBuilder::new("pressure");
        for &(class, weight) in pressure {
            let class = builder.class(class);
            builder.through(class, weight);
        }
        let instr = builder.instr(InstrSpec::new("op", 1));
        let region = builder.build().unwrap();
        let report = check(&region, target, &Schedule::from_parts(vec![instr], vec![0])).unwrap();
        (report.occupancy, report.spilled)
    }

    #[test]
    fn occupancy_of_vega() {
        let vega = Target::builtin("gfx906").unwrap();
        // Paper 2, Table 1, and the documented steps of the scalar file.
        let table =
            [(24, 10), (28, 9), (32, 8), (36, 7), (40, 6), (48, 5), (64, 4), (84, 3), (128, 2), (256, 1)];
        let mut used = 0;
        for (last, expected) in table {
            while used <= last {
                assert_eq!(waves(&vega, &[("vgpr", used)]), (expected, 0), "{used} registers");
                used += 1;
            }
        }
        assert_eq!(waves(&vega, &[("vgpr", 300)]), (1, 44));
        for (used, expected) in [(0, 10), (80, 10), (81, 9), (88, 9), (89, 8), (100, 8), (101, 7), (102, 7)] {
            assert_eq!(waves(&vega, &[("sgpr", used), ("vgpr", 24)]), (expected, 0), "{used} registers");
        }
        assert_eq!(waves(&vega, &[("sgpr", 110), ("vgpr", 260)]), (1, 12));
        // Spilled scalar registers take lanes: 64 of them in one vector register.
        for (sgpr, vgpr, expected) in
            [(103, 83, (3, 1)), (103, 84, (2, 1)), (166, 83, (3, 64)), (167, 83, (2, 65))]
        {
            assert_eq!(waves(&vega, &[("sgpr", sgpr), ("vgpr", vgpr)]), expected, "{sgpr} and {vgpr}");
        }
    }

    #[test]
    fn occupancy_of_a_shared_file() {
        let cdna2 = Target::builtin("gfx90a").unwrap();
        for (vgpr, agpr, expected) in [
            (64, 0, (8, 0)),
            (64, 64, (4, 0)),
            (61, 64, (4, 0)), // accumulation registers start at 64
            (61, 65, (3, 0)), // ... so that there are 129, given out as 136
            (0, 65, (7, 0)),  // and at 0 if there are no others
            (256, 256, (1, 0)),
            (300, 8, (1, 44)), // 256 + 8 registers
            (300, 260, (1, 48)),
        ] {
            // The file decides about the order of the classes, not the region.
            assert_eq!(waves(&cdna2, &[("vgpr", vgpr), ("agpr", agpr)]), expected, "{vgpr} + {agpr}");
            assert_eq!(waves(&cdna2, &[("agpr", agpr), ("vgpr", vgpr)]), expected, "{vgpr} + {agpr}");
        }
    }

    #[test]
    fn every_other_class_has_a_file_of_its_own() {
        let target = Target::parse(
            "name='t'\ndescription=''\n[issue]\nwidth=1\n\
             [[file]]\nname='any'\nsize=64\ngranule=4\nwaves=8\nclasses=[{name='*',max=32}]\n\
             [[file]]\nname='own'\nsize=30\ngranule=3\nwaves=6\nclasses=[{name='p',max=9}]\n",
        )
        .unwrap();
        assert_eq!(waves(&target, &[("p", 0)]), (6, 0), "no file serves more than six waves");
        assert_eq!(waves(&target, &[("p", 6)]), (5, 0));
        assert_eq!(waves(&target, &[("p", 12)]), (3, 3));
        assert_eq!(waves(&target, &[("x", 16), ("y", 16), ("p", 3)]), (4, 0), "x and y do not share");
        assert_eq!(waves(&target, &[("x", 17), ("y", 40)]), (2, 8));
    }
}
