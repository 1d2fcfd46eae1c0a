//! Small regions within limits, and all of their schedules, for the tests of this module.

use super::timed::Timed;
use crate::analysis::length_bound::lower_bound;
use crate::analysis::walk::{Direction, PressureFields};
use crate::check::check;
use crate::index::InstrId;
use crate::minreg::made::{Machine, Small, State, fits, regions, retimed, targets};
use crate::problem::{Goal, Problem};
use crate::random::Random;
use crate::region::Region;
use crate::schedule::Schedule;
use crate::target::Target;

const UNITS: [&[(&str, u32)]; 6] =
    [&[], &[("a", 1)], &[("a", 3)], &[("b", 2)], &[("b", 5)], &[("a", 2), ("b", 4)]];

/// A region on a target, limits that some order keeps, and the shortest length within them.
pub(crate) struct Case {
    pub(crate) region: Region,
    pub(crate) target: Target,
    pub(crate) limits: Vec<Option<u32>>,
    pub(crate) machine: Machine,
    pub(crate) small: Small,
    pub(crate) optimum: u32,
    /// Whether it would be shorter without limits.
    pub(crate) is_limited: bool,
}

impl Case {
    /// Limits are the peaks of some order, or a little more.
    fn new(region: &Region, target: &Target, random: &mut Random) -> Self {
        let region = retimed(region, &UNITS, random);
        let machine = Machine::new(&region, target);
        let small = Small::new(&region, &[]);
        let all = small.all_peaks();
        let (more, with_limit) = (random.pick(&[1, 1, 2, 3]), random.pick(&[70, 100, 100]));
        let peaks = &all[random.below(all.len())];
        let limit = |peak: &u32| random.chance(with_limit).then(|| peak + random.below(more) as u32);
        let limits: Vec<Option<u32>> = peaks.iter().map(limit).collect();
        let optimum = machine.shortest(&small, |pressure| fits(pressure, &limits)).expect("one exists");
        let is_limited = machine.shortest(&small, |_| true) < Some(optimum);
        Case { region, target: target.clone(), limits, machine, small, optimum, is_limited }
    }

    /// Return cases of at most `most` instructions. Cases whose limits cost nothing are kept with a given
    /// percentage.
    pub(crate) fn all(
        seeds: std::ops::Range<u64>,
        most: usize,
        easy: usize,
        random: &mut Random,
    ) -> impl Iterator<Item = Case> {
        let targets = targets();
        let cases = regions(seeds, most).filter(|region| region.len() > 1).enumerate();
        cases
            .map(move |(number, region)| Case::new(&region, &targets[number % targets.len()], random))
            .filter(move |case| {
                case.is_limited || (case.optimum as usize * 37 + case.region.len()) % 100 < easy
            })
    }

    pub(crate) fn problem(&self) -> Problem<'_> {
        Problem::new(&self.region, &self.target, Goal::Occupancy).expect("all classes are known")
    }

    /// Return the region from both ends of time.
    pub(crate) fn graphs(&self) -> [Timed; 2] {
        let problem = self.problem();
        let packing = PressureFields::within(&self.region, &self.limits).expect("small limits");
        [Direction::TopDown, Direction::BottomUp]
            .map(|end| Timed::new(&problem, end, &packing, &self.limits, &lower_bound(&problem)))
    }

    /// Return the least target that latencies and issue slots allow.
    pub(crate) fn lowest_target(&self) -> u32 {
        lower_bound(&self.problem()).best()
    }

    /// Return the length of an order, which must be legal and within the limits.
    pub(crate) fn checked_length(&self, order: &[InstrId]) -> u32 {
        let schedule = Schedule::in_order(&self.problem(), order.to_vec());
        let report = check(&self.region, &self.target, &schedule).expect("a legal schedule");
        let peaks: Vec<u32> = report.peaks.iter().map(|peak| peak.between).collect();
        assert!(fits(&peaks, &self.limits), "{}: {peaks:?}", self.text());
        report.length
    }

    /// Return all orders within the limits of at most `target` cycles, each with the earliest cycles of its
    /// instructions.
    pub(crate) fn schedules(&self, target: u32) -> Vec<(Vec<InstrId>, Vec<u32>)> {
        let mut all = Vec::new();
        let mut order = Vec::new();
        let mut cycles = vec![0; self.region.len()];
        self.add_schedules(target, 0, &State::START, (&mut order, &mut cycles), &mut all);
        all
    }

    fn add_schedules(
        &self,
        target: u32,
        set: usize,
        state: &State,
        (order, cycles): (&mut Vec<InstrId>, &mut Vec<u32>),
        all: &mut Vec<(Vec<InstrId>, Vec<u32>)>,
    ) {
        if order.len() == self.region.len() {
            all.push((order.clone(), cycles.clone()));
            return;
        }
        for instr in (0..self.region.len()).filter(|instr| set >> instr & 1 == 0) {
            let after = set | 1 << instr;
            let pressure = self.small.pressures[after].as_ref();
            if !pressure.is_some_and(|pressure| fits(pressure, &self.limits)) {
                continue;
            }
            let mut state = *state;
            cycles[instr] = self.machine.issue(&mut state, instr);
            if self.machine.length(&state) <= target {
                order.push(InstrId::at(instr));
                self.add_schedules(target, after, &state, (order, cycles), all);
                order.pop();
            }
        }
    }

    /// Return a text for messages.
    pub(crate) fn text(&self) -> String {
        let deps = self.region.deps().iter().map(|dep| (dep.from.0, dep.to.0, dep.latency));
        let deps: Vec<_> = deps.collect();
        let issue = self.target.issue();
        format!("{} within {:?} on {issue:?}: deps {deps:?}", self.region.name(), self.limits)
    }
}
