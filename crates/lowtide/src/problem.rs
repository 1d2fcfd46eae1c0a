//! A [`Problem`]: a region on a target with a goal, and the cost of a schedule for it.

use std::sync::Arc;

use crate::check::Report;
use crate::index::{ClassId, InstrId, Rows};
use crate::region::{Peak, Region};
use crate::target::{ANY_CLASS, Issue, KernelRegisters, Registers, Target, TargetError};

/// The primary objective of a schedule. The other objectives break ties.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Goal {
    /// Lowest peak pressure of the target's first class, then of the others, then length.
    MinReg,
    /// Fewest spills into memory, most waves, fewest registers above the limits, then length, then peak
    /// pressure. Registers that are spilled into lanes are above the limits and need registers of the other
    /// class, which count for the waves. A limit on registers never costs waves. It serves a later stage,
    /// such as an allocator that needs more registers than are live.
    Occupancy,
    /// Shortest length within the limits on registers; then as for [`Goal::MinReg`].
    Length,
    /// Fewest estimated cycles that a SIMD spends on each wave ([`CyclesPerWave`]), then length, then peak
    /// pressure.
    ///
    /// [`CyclesPerWave`]: crate::throughput::CyclesPerWave
    Throughput,
}

impl Goal {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Goal::MinReg => "minreg",
            Goal::Occupancy => "occupancy",
            Goal::Length => "length",
            Goal::Throughput => "throughput",
        }
    }
}

/// The figures of a schedule on a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measure {
    /// Peak pressure of each class of the region.
    pub peaks: Vec<Peak>,
    /// Waves that fit, by registers alone.
    pub occupancy: u32,
    /// Registers that have to be spilled, into memory or into lanes.
    pub spilled: u32,
    /// Cycle of the last issue, plus one.
    pub length: u32,
}

impl Measure {
    /// Return the peak of each class between instructions: what counts for waves and spills.
    pub fn between(&self) -> Vec<u32> {
        self.peaks.iter().map(|peak| peak.between).collect()
    }
}

/// The cost of a schedule for a goal. Costs are compared in lexicographic order; the smaller one is better.
pub type Cost = [u64; 6];

/// A region on a target with a goal.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    region: &'a Region,
    target: &'a Target,
    goal: Goal,
    registers: Arc<Registers>,
    /// For each instruction, pairs of target unit and busy cycles.
    unit_needs: Arc<Rows<(u32, u32)>>,
    primary: ClassId,
    /// For each class, the most registers to use.
    limits: Vec<u32>,
    /// The most waves that the kernel can use.
    most_waves: u32,
}

impl<'a> Problem<'a> {
    /// Resolve the classes and units of a region on a target.
    pub fn new(region: &'a Region, target: &'a Target, goal: Goal) -> Result<Self, TargetError> {
        let registers = target.registers(region.classes())?;
        let mut unit_needs = Rows::with_capacity(region.len(), region.len());
        for instr in region.instrs() {
            for need in region.units(instr) {
                let unit = target.issue().units.iter().position(|unit| unit.name == *need.unit);
                if let Some(unit) = unit.filter(|_| need.cycles > 0) {
                    unit_needs.push((unit as u32, need.cycles));
                }
            }
            unit_needs.end_row();
        }
        let primary = registers.files().first().map_or(ClassId(0), |bound| bound.classes[0].0);
        let mut limits = vec![u32::MAX; region.classes().len()];
        for (id, class) in registers.files().iter().flat_map(|bound| &bound.classes) {
            limits[id.index()] = class.max;
        }
        let most_waves = target.max_waves();
        let (registers, unit_needs) = (Arc::new(registers), Arc::new(unit_needs));
        Ok(Problem { region, target, goal, registers, unit_needs, primary, limits, most_waves })
    }

    /// Limit the registers of the target's first class. A schedule over the limit is worse than one of any
    /// length within it. If the target names no class, the limit applies to the region's first class. A
    /// region without the target's first class has no limit.
    pub fn with_register_limit(mut self, limit: u32) -> Self {
        let first = self.target.files().first().map(|file| file.classes[0].name.as_str());
        let primary = self.region.classes().get(self.primary.index());
        if let (Some(first), Some(primary)) = (first, primary)
            && (first == ANY_CLASS || *first == **primary)
        {
            let own = &mut self.limits[self.primary.index()];
            *own = limit.min(*own);
        }
        self
    }

    /// Limit the useful waves to what the kernel can have. More waves do not lower the cost.
    pub fn with_most_waves(mut self, waves: u32) -> Self {
        self.most_waves = waves.min(self.most_waves);
        self
    }

    /// Count at least the registers of a kernel, where classes share a file: see [`KernelRegisters`].
    pub(crate) fn beside(mut self, kernel: &KernelRegisters) -> Self {
        Arc::make_mut(&mut self.registers).beside(kernel);
        self
    }

    /// Return the same problem for a region with the same graph.
    pub(crate) fn of<'b>(&self, region: &'b Region) -> Problem<'b>
    where
        'a: 'b,
    {
        Problem { region, ..self.clone() }
    }

    /// Return the same problem with another goal.
    pub(crate) fn with_goal(mut self, goal: Goal) -> Self {
        self.goal = goal;
        self
    }

    /// Return the most waves that the kernel can use.
    pub fn most_waves(&self) -> u32 {
        self.most_waves
    }

    /// Return the most registers of each class: the addressable registers, or the limit that was set.
    pub fn limits(&self) -> &[u32] {
        &self.limits
    }

    /// Return the region.
    pub fn region(&self) -> &'a Region {
        self.region
    }

    /// Return the target.
    pub fn target(&self) -> &'a Target {
        self.target
    }

    /// Return the goal.
    pub fn goal(&self) -> Goal {
        self.goal
    }

    /// Return the target's register files, seen from the region's classes.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Return the target's first class that the region has: the class that matters most.
    pub fn primary_class(&self) -> ClassId {
        self.primary
    }

    /// Return the units that an instruction occupies: (position in the target, cycles).
    pub fn unit_needs(&self, instr: InstrId) -> &[(u32, u32)] {
        self.unit_needs.row(instr.index())
    }

    /// Return the cycles that a wave keeps the busiest unit of its SIMD, whatever its order. Other waves can
    /// use all other units meanwhile.
    pub fn issue_cycles(&self) -> u32 {
        let Issue { width, units } = self.target.issue();
        let mut busy = vec![0u64; units.len()];
        let mut without_unit = 0u64;
        for instr in self.region.instrs() {
            let needs = self.unit_needs(instr);
            without_unit += u64::from(needs.is_empty());
            needs.iter().for_each(|(unit, cycles)| busy[*unit as usize] += u64::from(*cycles));
        }
        let by_unit = busy.iter().zip(units).map(|(busy, unit)| busy.div_ceil(unit.count.into()));
        let most = by_unit.chain([without_unit.div_ceil((*width).into())]).max().unwrap_or(0);
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// Return the cycles that spilled registers cost each wave, by the prices of the target.
    pub fn spill_cycles(&self, peaks: impl Fn(ClassId) -> u32) -> u32 {
        let classes = self.registers.files().iter().flat_map(|bound| &bound.classes);
        let cycles = classes.map(|(id, class)| {
            u64::from(peaks(*id).saturating_sub(class.max)) * u64::from(class.spill_cycles)
        });
        u32::try_from(cycles.sum::<u64>()).unwrap_or(u32::MAX)
    }

    /// Return the registers that a schedule has to spill into memory.
    pub(crate) fn spilled_to_memory(&self, measure: &Measure) -> u32 {
        if measure.spilled == 0 {
            return 0;
        }
        self.registers.spilled_to_memory(&measure.between())
    }

    /// Return the registers over the limits of the user. Spills are not among them: they have a price.
    pub(crate) fn registers_over_limit(&self, peaks: &[Peak]) -> u32 {
        let classes = self.registers.files().iter().flat_map(|bound| &bound.classes);
        let over = classes.map(|(id, class)| {
            peaks[id.index()].between.min(class.max).saturating_sub(self.limits[id.index()])
        });
        over.sum()
    }

    /// Return whether the checker has found the same figures. It looks at the region alone: where classes
    /// share a file, other regions of the kernel may leave fewer waves.
    pub fn agrees(&self, measure: &Measure, report: &Report) -> bool {
        let waves = self.registers.occupancy(&measure.between());
        let are_waves =
            waves == report.occupancy || self.registers.is_beside_others() && waves < report.occupancy;
        are_waves
            && measure.peaks == report.peaks
            && (measure.occupancy, measure.spilled, measure.length) == (waves, report.spilled, report.length)
    }

    /// Return the cost of a schedule for this problem's goal.
    pub fn cost(&self, measure: &Measure) -> Cost {
        let peak = measure.peaks.get(self.primary.index()).map_or(0, |peak| peak.between);
        let others = measure.peaks.iter().map(|peak| peak.between).sum::<u32>() - peak;
        let lost = self.most_waves.saturating_sub(measure.occupancy);
        let length = measure.length;
        let over =
            measure.peaks.iter().zip(&self.limits).map(|(peak, limit)| peak.between.saturating_sub(*limit));
        match self.goal {
            Goal::MinReg => [peak, others, length, 0, 0, 0].map(u64::from),
            Goal::Occupancy => {
                let in_memory = self.spilled_to_memory(measure);
                [in_memory, lost, over.sum(), length, peak, others].map(u64::from)
            }
            Goal::Length => [over.sum(), length, peak, others, 0, 0].map(u64::from),
            Goal::Throughput => {
                let waves = u64::from(measure.occupancy.min(self.most_waves).max(1));
                let spills = self.spill_cycles(|class| measure.peaks[class.index()].between);
                let issue = self.issue_cycles();
                // Fractions of a cycle, fine enough to tell schedules apart.
                let waits = (u64::from(length.saturating_sub(issue)) << 20).div_ceil(waves);
                let for_each = waits.saturating_add((u64::from(issue) + u64::from(spills)) << 20);
                let over = self.registers_over_limit(&measure.peaks);
                [over.into(), for_each, length.into(), peak.into(), others.into(), 0]
            }
        }
    }
}

/// Return the waves that schedules allow together, at most `most`. There is a problem for each region of the
/// kernel, and the figures of a schedule.
pub fn waves_together<'p, 'a: 'p, 'm>(
    problems: impl IntoIterator<Item = &'p Problem<'a>>,
    measures: impl IntoIterator<Item = &'m Measure>,
    most: u32,
) -> u32 {
    let measures = measures.into_iter().map(Measure::between);
    waves_with(problems.into_iter().zip(measures)).min(most)
}

/// Return the waves that fit with these peaks of the regions of a kernel.
pub(crate) fn waves_with<'p, 'a: 'p>(regions: impl IntoIterator<Item = (&'p Problem<'a>, Vec<u32>)>) -> u32 {
    let mut all: Option<KernelRegisters> = None;
    for (problem, peaks) in regions {
        let all = all.get_or_insert_with(|| KernelRegisters::new(problem.target()));
        all.add(problem.registers(), &peaks);
    }
    all.map_or(u32::MAX, |all| all.waves())
}
