//! A timing model of one SIMD, which replays schedules with several waves.
//!
//! The length of a schedule knows one wave. This model knows all of them, and what they share:
//!
//! - Time is in clocks, and advances in *rounds* (4 clocks on GCN). In a round, each wave issues at most one
//!   instruction, in order, and each unit takes at most one instruction. The oldest wave comes first: wave 0,
//!   then wave 1, and so on.
//! - An instruction issues when its operands are there. The result of an arithmetic instruction is there
//!   after the latency of the dependence, in rounds. The result of a memory instruction is there after its
//!   latency by the target's table, in rounds, too.
//! - Memory instructions are outstanding until their results return. A use waits as `s_waitcnt` does. Vector
//!   memory and local memory return in order. Scalar loads return in any order, so that a use waits for
//!   everything on their counter.
//! - The SIMD starts one memory instruction of a kind in a number of clocks: the bandwidth.
//!
//! All waves start a region in the same clock. A region ends with its last issue, as the length of a schedule
//! does: results that are outstanding at the end cost nothing. A kernel is the sum of its regions, each times
//! its frequency (10 for each loop around it). Caches, stores that fill queues, barriers between waves, and
//! the fetch of instructions are not part of the model.
//!
//! **Identity.** The clocks of a wave are its instructions times a round, plus its stalls. Tests check this,
//! and hand-computed cases.

mod machine;
mod wave;

pub use machine::{Counter, Machine, MemoryRule};

use crate::check::{Violation, check_order};
use crate::index::InstrId;
use crate::region::{DepKind, Kernel, Pattern, Region};
use crate::target::{Access, Latencies, Target};
use crate::throughput::frequencies;
use wave::{Code, Operation, Ready, Wave};

/// Clocks in which waves wait, by their reason. Sums over all waves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stalls {
    /// For vector memory.
    pub memory: u64,
    /// For local memory.
    pub local: u64,
    /// For scalar loads.
    pub scalar: u64,
    /// For the result of an arithmetic instruction, or for the order of accesses.
    pub dependence: u64,
    /// For a unit that another wave uses, or for bandwidth.
    pub issue: u64,
}

impl Stalls {
    /// Return the sum.
    pub fn total(&self) -> u64 {
        self.memory + self.local + self.scalar + self.dependence + self.issue
    }

    fn add(&mut self, reason: Reason, clocks: u64) {
        match reason {
            Reason::Wait(Counter::Vector) => self.memory += clocks,
            Reason::Wait(Counter::Local) => self.local += clocks,
            Reason::Wait(Counter::Scalar) => self.scalar += clocks,
            Reason::Dependence => self.dependence += clocks,
            Reason::Issue => self.issue += clocks,
        }
    }
}

/// Why a wave waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reason {
    Wait(Counter),
    Dependence,
    Issue,
}

/// The replay of a region by all waves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionTiming {
    /// How often the region runs.
    pub frequency: u64,
    /// Clocks until all waves have passed the region once.
    pub clocks: u64,
    /// Clocks of the rounds in which at least one instruction issues.
    pub busy: u64,
    /// Clocks that the units need at least: those of the busiest one.
    pub floor: u64,
    /// Instructions of all waves.
    pub issued: u64,
    /// Waits of all waves.
    pub stalls: Stalls,
}

/// The replay of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelTiming {
    /// Waves of the SIMD.
    pub waves: u32,
    /// The regions in the order of the kernel.
    pub regions: Vec<RegionTiming>,
}

impl KernelTiming {
    /// Return the clocks in which all waves pass the kernel.
    pub fn clocks(&self) -> u64 {
        self.regions
            .iter()
            .fold(0, |sum, region| sum.saturating_add(region.clocks.saturating_mul(region.frequency)))
    }

    /// Return the clocks of the SIMD for each wave: the reciprocal of its throughput.
    pub fn clocks_per_wave(&self) -> f64 {
        self.clocks() as f64 / f64::from(self.waves)
    }
}

/// Replay one order for each region of a kernel, with `waves` waves. The kernel has its recorded latencies;
/// `latencies` chooses those of the simulation. Return the violations of the first order that is not legal.
pub fn simulate_kernel<'o>(
    kernel: &Kernel,
    target: &Target,
    machine: &Machine,
    latencies: Latencies,
    orders: impl IntoIterator<Item = &'o [InstrId]>,
    waves: u32,
) -> Result<KernelTiming, Vec<Violation>> {
    let regions = kernel.regions.iter().zip(orders).zip(frequencies(kernel));
    let regions = regions.map(|((region, order), frequency)| {
        let once = simulate_region(region, target, machine, latencies, order, waves);
        once.map(|once| RegionTiming { frequency: frequency.into(), ..once })
    });
    Ok(KernelTiming { waves, regions: regions.collect::<Result<_, _>>()? })
}

/// Replay an order of a region once, with `waves` waves, at least 1; see [`simulate_kernel`].
pub fn simulate_region(
    region: &Region,
    target: &Target,
    machine: &Machine,
    latencies: Latencies,
    order: &[InstrId],
    waves: u32,
) -> Result<RegionTiming, Vec<Violation>> {
    check_order(region, order)?;
    let code = code(region, target, machine, latencies);
    let round = u64::from(machine.round);
    let mut units = Units { free: vec![0; target.issue().units.len() + machine.memory.len()] };
    let mut all: Vec<Wave> = (0..waves.max(1)).map(|_| Wave::new(&code, order, round)).collect();
    let mut timing = RegionTiming {
        frequency: 1,
        clocks: 0,
        busy: 0,
        floor: code.floor(order, u64::from(waves.max(1))),
        issued: order.len() as u64 * all.len() as u64,
        stalls: Stalls::default(),
    };
    let mut now = 0u64;
    loop {
        let mut has_issued = false;
        for wave in &mut all {
            let Some(Ready { instr, clock }) = wave.ready() else { continue };
            let operation = &code.operations[instr.index()];
            if clock <= now && units.take(operation, now) {
                wave.issue(&code, order, now, &mut timing.stalls);
                has_issued = true;
            }
        }
        if has_issued {
            timing.busy += round;
            timing.clocks = now + round;
        }
        let waiting = all.iter().filter_map(Wave::ready);
        let next = waiting.map(|ready| ready.clock.max(units.free_at(&code.operations[ready.instr.index()])));
        let Some(next) = next.min() else { return Ok(timing) };
        now = (now + round).max(next.next_multiple_of(round));
    }
}

/// The first clock in which each unit is free.
struct Units {
    free: Vec<u64>,
}

impl Units {
    fn free_at(&self, operation: &Operation) -> u64 {
        operation.unit.map_or(0, |unit| self.free[unit])
    }

    /// Take the unit of an operation, if it is free.
    fn take(&mut self, operation: &Operation, now: u64) -> bool {
        let Some(unit) = operation.unit else { return true };
        if self.free[unit] > now {
            return false;
        }
        self.free[unit] = now + operation.busy;
        true
    }
}

/// Translate a region: units, latencies in clocks, and counters.
fn code(region: &Region, target: &Target, machine: &Machine, latencies: Latencies) -> Code {
    let round = u64::from(machine.round);
    let patterns: Vec<Pattern> = (machine.memory.iter())
        .map(|rule| Pattern {
            unit: &rule.unit,
            access: rule.access,
            address_space: rule.address_space,
            prefix: rule.prefix.as_deref(),
        })
        .collect();
    let kinds = region.matching(&patterns);
    let by_table = region.latencies_by(target, latencies);
    let listed = &target.issue().units;
    let operations: Vec<Operation> = (region.instrs())
        .map(|instr| {
            let needs = region.units(instr);
            let need = listed.iter().enumerate().find_map(|(place, unit)| {
                needs.iter().find(|need| *need.unit == *unit.name).map(|need| (place, need.cycles))
            });
            let flags = region.flags(instr);
            // Nobody waits for a store, and it does not hold back the loads after it.
            let only_stores = flags.contains(Access::Store.flag()) && !flags.contains(Access::Load.flag());
            let rule = kinds[instr.index()].map(|kind| (kind, &machine.memory[kind]));
            Operation {
                // Local memory and scalar loads share a unit of the target, but not of the machine.
                unit: match rule {
                    Some((kind, _)) => Some(listed.len() + kind),
                    None => need.map(|(place, _)| place),
                },
                busy: match rule {
                    Some((_, rule)) => u64::from(rule.every).max(round),
                    None => need.map_or(round, |(_, cycles)| u64::from(cycles.max(1)) * round),
                },
                counter: rule.map(|(_, rule)| rule.counter),
                latency: match only_stores {
                    true => 0,
                    false => u64::from(by_table[instr.index()].unwrap_or(region.latency(instr))) * round,
                },
            }
        })
        .collect();
    let mut code = Code::new(operations, round);
    for dep in region.deps() {
        let is_waited_for = dep.kind == DepKind::Data && code.operations[dep.from.index()].counter.is_some();
        match is_waited_for {
            true => code.add_result(dep.from, dep.to),
            false => code.add_delay(dep.from, dep.to, u64::from(dep.latency) * round),
        }
    }
    code
}
