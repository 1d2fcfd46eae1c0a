//! A [`Problem`]: a region on a target with a goal, and what a schedule is worth for it.

use crate::index::{ClassId, InstrId, Rows};
use crate::region::{Peak, Region};
use crate::target::{ANY_CLASS, Registers, Target, TargetError};

/// What a schedule should be best at. The rest breaks ties.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Goal {
    /// Lowest peak pressure of the target's first class, then of the others, then length.
    MinReg,
    /// No spills, most waves, then within the limits on registers, if there are any, then length, then peak pressure. A limit never costs waves: it is there for what comes after
    /// the schedule, such as an allocator that needs more registers than are live.
    Occupancy,
    /// Shortest length within the limits on registers, if there are any; then as for [`Goal::MinReg`].
    Length,
}

impl Goal {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Goal::MinReg => "minreg",
            Goal::Occupancy => "occupancy",
            Goal::Length => "length",
        }
    }
}

/// What a schedule amounts to on a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Measure {
    /// Peak pressure of each class of the region.
    pub peaks: Vec<Peak>,
    /// Waves that fit, as far as registers limit them.
    pub occupancy: u32,
    /// Registers that have to be spilled.
    pub spilled: u32,
    /// Cycle of the last issue, plus one.
    pub length: u32,
}

/// How good a schedule is for a goal: the smaller, the better.
pub type Cost = [u32; 6];

/// A region on a target with a goal.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    region: &'a Region,
    target: &'a Target,
    goal: Goal,
    registers: Registers,
    /// For each instruction: unit of the target, and for how many cycles.
    unit_needs: Rows<(u32, u32)>,
    primary: ClassId,
    /// For each class, the most registers to use.
    limits: Vec<u32>,
    /// More waves are of no use.
    most_waves: u32,
}

impl<'a> Problem<'a> {
    /// Binds the classes and units that a region names to those of a target.
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
        Ok(Problem { region, target, goal, registers, unit_needs, primary, limits, most_waves })
    }

    /// Limits the registers of the target's first class; what is over the limit is worse than any length. A region without that class has
    /// no limit: those of another one are not what it is about. Where the target names no class, it is the region's first one.
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

    /// More waves than these are of no use: the kernel does not have them, whatever becomes of this region.
    pub fn with_most_waves(mut self, waves: u32) -> Self {
        self.most_waves = waves.min(self.most_waves);
        self
    }

    /// The same problem for a region with the same graph.
    pub(crate) fn of<'b>(&self, region: &'b Region) -> Problem<'b>
    where
        'a: 'b,
    {
        Problem { region, ..self.clone() }
    }

    /// The same problem with another goal.
    pub(crate) fn with_goal(mut self, goal: Goal) -> Self {
        self.goal = goal;
        self
    }

    /// The most waves that are of use.
    pub fn most_waves(&self) -> u32 {
        self.most_waves
    }

    /// For each class, the most registers to use: what a wave can address, or fewer if so limited.
    pub fn limits(&self) -> &[u32] {
        &self.limits
    }

    /// The region.
    pub fn region(&self) -> &'a Region {
        self.region
    }

    /// The target.
    pub fn target(&self) -> &'a Target {
        self.target
    }

    /// The goal.
    pub fn goal(&self) -> Goal {
        self.goal
    }

    /// The target's register files, seen from the region's classes.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    /// The class that matters most: the target's first one that the region has.
    pub fn primary_class(&self) -> ClassId {
        self.primary
    }

    /// The units of the target that an instruction keeps busy: (position in the target, cycles).
    pub fn unit_needs(&self, instr: InstrId) -> &[(u32, u32)] {
        self.unit_needs.row(instr.index())
    }

    /// The worth of a schedule for this problem's goal.
    pub fn cost(&self, measure: &Measure) -> Cost {
        let peak = measure.peaks.get(self.primary.index()).map_or(0, |peak| peak.between);
        let others = measure.peaks.iter().map(|peak| peak.between).sum::<u32>() - peak;
        let lost = self.most_waves.saturating_sub(measure.occupancy);
        let Measure { spilled, length, .. } = *measure;
        let over =
            measure.peaks.iter().zip(&self.limits).map(|(peak, limit)| peak.between.saturating_sub(*limit));
        match self.goal {
            Goal::MinReg => [peak, others, length, 0, 0, 0],
            Goal::Occupancy => [spilled, lost, over.sum(), length, peak, others],
            Goal::Length => [over.sum(), length, peak, others, 0, 0],
        }
    }
}
