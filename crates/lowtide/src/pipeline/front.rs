//! The trade-off between waves and length: pass 2 for every number of waves.
//!
//! More waves leave fewer registers for each, so schedules get longer. [`FrontSearch`] looks for the shortest
//! schedules for one number of waves after the other. What is known for one number serves the others:
//!
//! - a schedule that allows more waves is a schedule for fewer;
//! - a length that cannot be beaten with fewer waves cannot be beaten with more, since the registers are
//!   fewer.
//!
//! The most waves come first, with the same questions as without a front. Where their schedules meet the
//! bound for unlimited registers, as in most kernels, all other numbers are done. The fewest waves follow,
//! whose bounds hold for all others, and then the numbers between. So a region is searched again only where
//! the limit of registers gets between the best schedule and the bound. The numbers of waves at both ends
//! have the whole budget of a pass, those between share another one.
//!
//! For [`Goal::Throughput`](crate::problem::Goal::Throughput), the best point of the front is the answer,
//! since the least length for `w` waves gives the fewest cycles for each of them. Numbers of waves that
//! cannot win against the known orders are left out: more waves never raise the lower bound on the cycles for
//! each wave, so these are the smallest numbers.

mod spills;

use std::sync::Arc;

use super::PassSettings;
use super::first_pass::{KernelWaves, RegionWaves, waves_of_orders};
use super::second_pass::{Found, RegionPass, kernel_outcome};
use super::verify::{InternalError, verified};
use crate::index::InstrId;
use crate::outcome::{Front, FrontPoint, FrontRegion, KernelOutcome};
use crate::problem::{Measure, Problem};
use crate::schedule::Schedule;
use crate::session::{AntQuestion, SharedProblem};
use crate::target::RegisterFile;
use crate::threads;
use crate::throughput::{CyclesPerWave, RegionCycles};

/// Which point of a front becomes the schedule of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wish {
    /// The one with the most waves.
    MostWaves,
    /// The one with the fewest cycles for each wave. Points that cannot win are left out unless all are asked
    /// for.
    Throughput { all: bool },
}

/// The search for a front.
pub(super) struct FrontSearch<'a> {
    first: KernelWaves,
    regions: Vec<RegionFront>,
    /// The numbers of waves that are looked at, fewest first.
    steps: Vec<u32>,
    /// The steps that are not finished, the present one last.
    open: Vec<usize>,
    /// Searches of the present step, for regions that need one.
    passes: Vec<Option<RegionPass<'a>>>,
    wish: Wish,
    settings: PassSettings,
}

/// What is known of a region.
struct RegionFront {
    frequency: u32,
    issue: u32,
    /// No schedule is shorter, whatever its registers.
    free_bound: u32,
    /// No schedule spills less, in cycles and in registers.
    least_spills: (u32, u32),
    /// For each class, the most registers that need no memory.
    without_spills: Vec<u32>,
    /// For each class of which a schedule can spill more: the price of one register, and the most waves of
    /// such a schedule.
    more_spills: Vec<(u32, u32)>,
    known: Vec<Known>,
    /// For each step, a length that no schedule without avoidable spills is below.
    bounds: Vec<u32>,
}

/// A schedule of a region.
struct Known {
    schedule: Arc<Schedule>,
    measure: Measure,
    /// Registers over the limit of the user.
    over: u32,
    spill_cycles: u32,
}

impl RegionFront {
    fn new(shared: &SharedProblem, first: &RegionWaves, frequency: u32) -> Self {
        let problem = shared.problem();
        let least = first.least_peaks();
        let lanes = problem.registers().lanes_for(&least);
        let mut without_spills = vec![0; least.len()];
        let mut more_spills = Vec::new();
        for (id, class) in problem.registers().files().iter().flat_map(|bound| &bound.classes) {
            let id = id.index();
            without_spills[id] = class.max.saturating_sub(lanes[id]);
            let fewest = without_spills[id].max(least[id]);
            let mut limits = vec![None; least.len()];
            limits[id] = Some(fewest);
            if shared.effective(&limits).is_none_or(|limits| limits[id].is_some()) {
                let mut peaks = least.clone();
                peaks[id] = fewest.saturating_add(1);
                // Registers with lanes can push others into memory. The price of spills does not know of
                // these.
                let price = if lanes[id] > 0 { 0 } else { class.spill_cycles };
                more_spills.push((price, problem.registers().occupancy(&peaks)));
            }
        }
        let mut region = RegionFront {
            frequency,
            issue: problem.issue_cycles(),
            free_bound: shared.length_bound(),
            least_spills: (
                problem.spill_cycles(|class| least[class.index()]),
                problem.registers().spilled(&least),
            ),
            without_spills,
            more_spills,
            known: Vec::new(),
            bounds: Vec::new(),
        };
        region.learn(problem, Schedule::in_order(problem, first.order.clone()));
        region.learn(problem, Schedule::source(problem));
        region.learn(problem, Schedule::production(problem));
        region.learn(problem, Schedule::in_order(problem, shared.few_registers()));
        region
    }

    fn learn(&mut self, problem: &Problem, schedule: Schedule) {
        if self.known.iter().any(|known| known.schedule.order() == schedule.order()) {
            return;
        }
        let measure = problem.measure(&schedule);
        self.known.push(Known {
            schedule: Arc::new(schedule),
            over: problem.registers_over_limit(&measure.peaks),
            spill_cycles: problem.spill_cycles(|class| measure.peaks[class.index()].between),
            measure,
        });
    }

    fn cycles(&self, length: u32, spills: u32) -> RegionCycles {
        RegionCycles { frequency: self.frequency, issue: self.issue, length, spills }
    }

    /// The best known schedule that allows so many waves: least over the limit, then fewest cycles, shortest,
    /// first one known. None without any.
    fn best(&self, waves: u32) -> Option<&Known> {
        self.known.iter().filter(|known| known.measure.occupancy >= waves).min_by_key(|known| {
            let length = known.measure.length;
            (known.over, self.cycles(length, known.spill_cycles).of_all(waves), length)
        })
    }

    /// The cycles of the best known schedule.
    fn best_cycles(&self, waves: u32) -> Option<RegionCycles> {
        let best = self.best(waves)?;
        Some(self.cycles(best.measure.length, best.spill_cycles))
    }

    /// A length that no schedule with no more spills than a known one is below. The bound of a step is for
    /// the fewest spills of each class.
    fn length_bound(&self, known: &Known, step: usize) -> u32 {
        let has_fewest = (0..self.without_spills.len()).all(|class| {
            let peak = |known: &Known| known.measure.peaks[class].between;
            let own = peak(known);
            own <= self.without_spills[class] || self.known.iter().all(|other| own <= peak(other))
        });
        if has_fewest { self.bounds[step] } else { self.free_bound }
    }

    /// Cycles that no schedule with so many waves is below, if none without avoidable spills is shorter than
    /// `length`.
    fn least_cycles(&self, length: u32, waves: u32) -> RegionCycles {
        let without = self.cycles(length, self.least_spills.0);
        let able = self.more_spills.iter().filter(|(_, most)| *most >= waves);
        let Some(price) = able.map(|(price, _)| *price).min() else { return without };
        // A schedule with more spills may be shorter, but not shorter than any.
        let with = self.cycles(self.free_bound, self.least_spills.0.saturating_add(price));
        match without.of_all(waves) <= with.of_all(waves) {
            true => without,
            false => with,
        }
    }
}

impl<'a> FrontSearch<'a> {
    pub(super) fn new(
        shared: &[SharedProblem<'a>],
        first: KernelWaves,
        most: u32,
        frequencies: &[u32],
        wish: Wish,
        settings: PassSettings,
    ) -> Self {
        let region = |at: usize| RegionFront::new(&shared[at], &first.regions[at], frequencies[at]);
        let regions = threads::map(settings.settings.budget.threads, shared.len(), region);
        // The waves of a step, and the limits of the kernel. All numbers between two of them have the same
        // registers.
        let mut steps: Vec<u32> = match shared.first() {
            None => Vec::new(),
            Some(shared) => {
                let files = shared.problem().target().files().iter();
                files.flat_map(RegisterFile::steps).map(|(_, waves)| waves.min(first.waves)).collect()
            }
        };
        steps.push(first.waves.min(most));
        steps.sort_unstable();
        steps.dedup();
        let open = Vec::new();
        let mut search = FrontSearch { first, regions, steps, open, passes: Vec::new(), wish, settings };
        if wish == (Wish::Throughput { all: false }) {
            search.leave_out_losers(shared);
        }
        let count = search.steps.len();
        // The last one is the next.
        search.open = (0..count.saturating_sub(1)).rev().chain(count.checked_sub(1)).collect();
        search.regions.iter_mut().for_each(|region| region.bounds = vec![region.free_bound; count]);
        search.plan_step(shared);
        search
    }

    /// Leaves out numbers of waves with which no schedules can have fewer cycles than the known ones.
    fn leave_out_losers(&mut self, shared: &[SharedProblem]) {
        let regions = &self.regions;
        let known =
            self.steps.iter().filter_map(|&waves| Some((waves, self.cycles_together(shared, waves)?.0)));
        let Some((waves, best)) = known.min_by_key(|(waves, cycles)| (*cycles, u32::MAX - waves)) else {
            return;
        };
        self.steps.retain(|&step| step == waves || free_cycles(regions, step) <= best);
    }

    /// States the searches of the present step. Steps that need none are finished at once.
    fn plan_step(&mut self, shared: &[SharedProblem<'a>]) {
        while let Some(&step) = self.open.last() {
            let waves = self.steps[step];
            let settings = self.settings_of(step);
            let plan = |at: usize| {
                let region = &self.regions[at];
                self.needs_search(region, step).then(|| {
                    let others: Vec<&[InstrId]> =
                        region.known.iter().map(|known| known.schedule.order()).collect();
                    RegionPass::plan(&shared[at], &self.first.regions[at], waves, settings, &others)
                })
            };
            self.passes = threads::map(settings.settings.budget.threads, shared.len(), plan);
            if self.passes.iter().any(Option::is_some) {
                return;
            }
            self.finish_step(shared);
        }
    }

    /// Whether a search can bring anything for a region at a step.
    fn needs_search(&self, region: &RegionFront, step: usize) -> bool {
        let waves = self.steps[step];
        let Some(best) = region.best(waves) else { return true };
        let is_shortest =
            best.measure.length <= region.bounds[step] && best.measure.spilled <= region.least_spills.1;
        !is_shortest
    }

    fn settings_of(&self, step: usize) -> PassSettings {
        let mut settings = self.settings;
        let between = self.steps.len().saturating_sub(2);
        if step > 0 && step + 1 < self.steps.len() {
            settings.settings.budget = settings.settings.budget.part(between as u32);
        }
        settings
    }

    fn finish_step(&mut self, shared: &[SharedProblem<'a>]) {
        let Some(step) = self.open.pop() else { return };
        let passes = std::mem::take(&mut self.passes);
        for ((region, pass), shared) in self.regions.iter_mut().zip(passes).zip(shared) {
            let Some(pass) = pass else { continue };
            let found = pass.finish(shared);
            region.learn(shared.problem(), found.schedule);
            // More waves leave no more registers.
            for bound in &mut region.bounds[step..] {
                *bound = found.length_bound.max(*bound);
            }
        }
    }

    /// The questions for ants of the present step, with the number of the region.
    pub(super) fn questions(&self) -> impl Iterator<Item = (usize, &AntQuestion)> {
        let all = self.passes.iter().enumerate();
        all.flat_map(|(region, pass)| {
            pass.iter().flat_map(RegionPass::questions).map(move |question| (region, question))
        })
    }

    /// Takes up the answers of the present step and plans the next one.
    pub(super) fn advance(&mut self, shared: &[SharedProblem<'a>]) {
        if !self.is_done() {
            self.finish_step(shared);
            self.plan_step(shared);
        }
        if self.is_done() && self.wish != Wish::MostWaves {
            self.spill_more(shared);
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.open.is_empty()
    }

    /// The best known schedules that allow so many waves together. Where classes share a file, one region may
    /// have used what another one needs; then those of the first pass. None if not all regions allow so many.
    fn best(&self, shared: &[SharedProblem], waves: u32) -> Option<Vec<&Known>> {
        let best: Vec<&Known> =
            self.regions.iter().map(|region| region.best(waves)).collect::<Option<_>>()?;
        let are_shared = shared.first().is_some_and(|shared| shared.problem().target().shares_files());
        let orders = best.iter().map(|known| known.schedule.order());
        if are_shared && waves_of_orders(shared.iter().zip(orders)) < waves {
            return Some(self.regions.iter().map(|region| &region.known[0]).collect());
        }
        Some(best)
    }

    /// The cycles of the best known schedules for so many waves, and their length.
    fn cycles_together(&self, shared: &[SharedProblem], waves: u32) -> Option<(CyclesPerWave, u64)> {
        let best = self.best(shared, waves)?;
        let cycles = self.regions.iter().zip(&best);
        let cycles = cycles.map(|(region, best)| region.cycles(best.measure.length, best.spill_cycles));
        let length = best.iter().map(|best| u64::from(best.measure.length)).sum();
        Some((CyclesPerWave::sum(waves, cycles), length))
    }

    /// The waves of the point that becomes the schedule of the kernel.
    fn chosen(&self, shared: &[SharedProblem<'a>]) -> Option<(usize, u32)> {
        let mut steps = self.steps.iter().copied().enumerate();
        match self.wish {
            Wish::MostWaves => steps.next_back(),
            Wish::Throughput { .. } => steps
                .rev()
                .filter_map(|(step, waves)| Some(((step, waves), self.cycles_together(shared, waves)?)))
                .min_by_key(|(_, cycles_and_length)| *cycles_and_length)
                .map(|(point, _)| point),
        }
    }

    /// The schedules of the kernel.
    pub(super) fn found(&self, shared: &[SharedProblem<'a>]) -> Vec<Found> {
        let (step, waves) = self.chosen(shared).unwrap_or((0, 1));
        let best = self.best(shared, waves);
        let regions = self.regions.iter().zip(shared).zip(&self.first.regions);
        let found = regions.enumerate().map(|(at, ((region, shared), first))| {
            let problem = shared.problem();
            let start = Schedule::in_order(problem, first.order.clone()).length();
            let (schedule, length_bound) = match best.as_ref().map(|best| best[at]) {
                Some(best) => (Schedule::clone(&best.schedule), region.length_bound(best, step)),
                None => (Schedule::source(problem), region.free_bound),
            };
            Found { schedule, length_bound, passes: first.passes(waves, start) }
        });
        found.collect()
    }

    pub(super) fn finish(
        self,
        shared: &[SharedProblem<'a>],
        most: u32,
    ) -> Result<KernelOutcome, InternalError> {
        let front = self.front(shared)?;
        let mut outcome = kernel_outcome(shared, &self.first, most, self.found(shared), self.settings)?;
        outcome.front = Some(front);
        Ok(outcome)
    }

    fn front(&self, shared: &[SharedProblem<'a>]) -> Result<Front, InternalError> {
        let algorithm = self.settings.settings.algorithm;
        for (region, shared) in self.regions.iter().zip(shared) {
            for known in &region.known {
                verified(shared.problem(), algorithm, &known.schedule)?;
            }
        }
        let mut points = Vec::new();
        for (step, &waves) in self.steps.iter().enumerate() {
            let (Some(best), Some((cycles, _))) =
                (self.best(shared, waves), self.cycles_together(shared, waves))
            else {
                continue;
            };
            let regions = self.regions.iter().zip(best).map(|(region, best)| FrontRegion {
                schedule: Arc::clone(&best.schedule),
                measure: best.measure.clone(),
                spill_cycles: best.spill_cycles,
                length_bound: region.length_bound(best, step),
            });
            let least = self.regions.iter().map(|region| region.least_cycles(region.bounds[step], waves));
            let cycles_bound = CyclesPerWave::sum(waves, least);
            points.push(FrontPoint { waves, regions: regions.collect(), cycles, cycles_bound });
        }
        Ok(Front { cycles_bound: self.cycles_bound(&points), points })
    }

    /// Cycles for each wave that no schedules are below.
    fn cycles_bound(&self, points: &[FrontPoint]) -> CyclesPerWave {
        // Waves that pass 1 has not found, but not ruled out: the most of them have the lowest bound.
        let unknown = free_cycles(&self.regions, self.first.bound.max(1));
        let unknown = (self.first.bound > self.first.waves || points.is_empty()).then_some(unknown);
        // A number of waves between two steps has the schedules of the larger step, and more cycles for each
        // wave. A step that was left out has no fewer cycles than a point that was not.
        let known = points.iter().map(|point| point.cycles_bound);
        known.chain(unknown).min().unwrap_or(CyclesPerWave::none(1))
    }
}

/// Cycles that no schedules are below, whatever their registers.
fn free_cycles(regions: &[RegionFront], waves: u32) -> CyclesPerWave {
    CyclesPerWave::sum(
        waves,
        regions.iter().map(|region| region.cycles(region.free_bound, region.least_spills.0)),
    )
}
