use std::borrow::Cow;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::time::Duration;

use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::outcome::{FrontPoint, KernelOutcome};
use lowtide::pipeline::{Filter, Options, ScheduleError, schedule_kernel};
use lowtide::problem::{Goal, Measure};
use lowtide::schedule::Schedule;
use lowtide::session::Session;
use lowtide::target::{Latencies, Target};
use lowtide_io::describe_internal_error;

use super::{
    answer, array, free, give, lowtide_kernel, lowtide_status, lowtide_target, make, optional_text, present,
    report,
};
use crate::failure::Failure;

/// A target with a cache of results: equal dependence graphs are scheduled once. The cache lives until the
/// session is freed. Several threads may use one session at once.
#[derive(Debug)]
pub struct lowtide_session {
    target: Target,
    answers: Session,
}

// Threads share a session.
const _: fn() = || {
    fn is_sync<T: Sync>() {}
    is_sync::<lowtide_session>();
    is_sync::<lowtide_target>();
    is_sync::<lowtide_outcome>();
};

/// The primary objective of a schedule. The other objectives break ties.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum lowtide_goal {
    /// Lowest peak of the target's first class, then of the others, then length.
    LOWTIDE_MIN_REG = 0,
    /// No spills, most waves, then length, then peak.
    LOWTIDE_OCCUPANCY = 1,
    /// Shortest length within the register limits, then lowest peak.
    LOWTIDE_LENGTH = 2,
    /// Fewest estimated cycles of a SIMD for each wave: the sum over all regions of frequency x (issue
    /// cycles + (length - issue cycles) / waves + price of spills). Then length, then lowest peak.
    LOWTIDE_THROUGHPUT = 3,
}

const GOALS: [(lowtide_goal, Goal); 4] = [
    (lowtide_goal::LOWTIDE_MIN_REG, Goal::MinReg),
    (lowtide_goal::LOWTIDE_OCCUPANCY, Goal::Occupancy),
    (lowtide_goal::LOWTIDE_LENGTH, Goal::Length),
    (lowtide_goal::LOWTIDE_THROUGHPUT, Goal::Throughput),
];

/// The latencies to schedule with.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum lowtide_latencies {
    /// Those of the target's table. Instructions without an entry, and targets without a table, have the
    /// latencies of the region.
    LOWTIDE_LATENCIES_TARGET = 0,
    /// Those of the region.
    LOWTIDE_LATENCIES_REGION = 1,
}

const LATENCIES: [(lowtide_latencies, Latencies); 2] = [
    (lowtide_latencies::LOWTIDE_LATENCIES_TARGET, Latencies::TARGET),
    (lowtide_latencies::LOWTIDE_LATENCIES_REGION, Latencies::Recorded),
];

/// The parameters of a call. Initialise them with lowtide_options_default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lowtide_options {
    /// A lowtide_goal.
    pub goal: u32,
    /// The name of an algorithm, as on the command line; NULL for "auto".
    pub algorithm: *const c_char,
    /// Wall time for each instruction of a region and each pass, in nanoseconds; 0 for no limit.
    pub nanoseconds_per_instr: u64,
    /// Steps of each search; 0 for no limit. A step limit gives the same result on every machine, a time
    /// limit does not.
    pub nodes: u64,
    /// Threads for one kernel: they share its regions, and a single region is searched from both ends. 0 and
    /// 1 mean one. The result depends on them only where a time limit ends a search.
    pub threads: u32,
    /// The most registers of the target's first class; 0 for no limit. With LOWTIDE_OCCUPANCY the limit
    /// yields where no known order meets it without losing waves.
    pub registers: u32,
    /// 1 enables the occupancy filter, which rejects a few extra waves that cost many cycles. 0 disables it.
    pub filter: u32,
    /// 1 finds the shortest schedules for every number of waves: see lowtide_outcome_point. It needs the goal
    /// LOWTIDE_OCCUPANCY or LOWTIDE_THROUGHPUT and an algorithm of two passes. 0 does not.
    pub front: u32,
    /// A lowtide_latencies.
    pub latencies: u32,
    /// The most cycles that a schedule may be longer for each pair of instructions that it keeps together:
    /// see LOWTIDE_CLUSTER. Kept pairs never cost waves or spills. 0: pairs do not count.
    pub group_price: u32,
}

/// The schedules of a kernel. Immutable.
#[derive(Debug)]
pub struct lowtide_outcome {
    kernel: KernelOutcome,
    /// For each region, the arrays that C reads.
    arrays: Vec<Arrays>,
    /// The same for each point of the front.
    points: Vec<Vec<Arrays>>,
}

#[derive(Debug)]
struct Arrays {
    order: Vec<u32>,
    peaks: Vec<u32>,
    peaks_at: Vec<u32>,
}

impl Arrays {
    fn new(schedule: &Schedule, measure: &Measure) -> Self {
        Arrays {
            order: schedule.order().iter().map(|instr| instr.0).collect(),
            peaks: measure.peaks.iter().map(|peak| peak.between).collect(),
            peaks_at: measure.peaks.iter().map(|peak| peak.at).collect(),
        }
    }
}

impl lowtide_outcome {
    fn new(kernel: KernelOutcome) -> Self {
        let arrays =
            kernel.regions.iter().map(|region| Arrays::new(&region.schedule, &region.measure)).collect();
        let of_point = |point: &FrontPoint| {
            point.regions.iter().map(|region| Arrays::new(&region.schedule, &region.measure)).collect()
        };
        let points = kernel.front.iter().flat_map(|front| &front.points).map(of_point).collect();
        lowtide_outcome { kernel, arrays, points }
    }

    fn point(&self, point: usize) -> Result<(&FrontPoint, &[Arrays]), Failure> {
        let front = self.kernel.front.as_ref().and_then(|front| front.points.get(point));
        front.zip(self.points.get(point).map(Vec::as_slice)).ok_or_else(|| {
            let count = self.points.len();
            Failure::argument(format!("there is no point {point}: the front has {count}"))
        })
    }

    fn no_region(&self, position: usize) -> Failure {
        let count = self.kernel.regions.len();
        Failure::argument(format!("there is no region at position {position}: the kernel has {count}"))
    }
}

/// The combined result of all regions for their kernel.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct lowtide_kernel_result {
    /// Waves that all regions allow together, and at most the limit of the kernel.
    pub occupancy: u32,
    /// An upper bound: no schedule has more waves.
    pub occupancy_bound: u32,
    /// The number of regions.
    pub regions: usize,
    /// 1 if the filter traded waves for length, 0 otherwise.
    pub filtered: u32,
    /// The number of points of the front: see lowtide_outcome_point. 0 if none was found.
    pub points: usize,
    /// With points: estimated cycles for each wave that no schedules are below, whatever their waves. Else 0.
    pub cycles_per_wave_bound: f64,
}

/// The schedules of a kernel for a number of waves.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct lowtide_point {
    /// The waves that all schedules allow.
    pub waves: u32,
    /// Estimated cycles of a SIMD for each wave.
    pub cycles_per_wave: f64,
    /// A lower bound on them with so many waves.
    pub cycles_per_wave_bound: f64,
}

/// The schedule of a region, and the bounds proven for all others. The arrays live as long as the outcome.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lowtide_region_result {
    /// The number of instructions.
    pub count: usize,
    /// The ids of the instructions in the order of issue.
    pub order: *const u32,
    /// The cycle in which each instruction issues, by its id: `cycles[id]`.
    pub cycles: *const u32,
    /// The cycle of the last issue, plus one.
    pub length: u32,
    /// A lower bound on the length. LOWTIDE_MIN_REG: of every schedule. LOWTIDE_LENGTH: of every schedule
    /// within the register limits. LOWTIDE_OCCUPANCY, LOWTIDE_THROUGHPUT and points of a front: of those
    /// among them with at least as many waves.
    pub length_bound: u32,
    /// Waves that fit, by the registers of this region alone.
    pub occupancy: u32,
    /// Registers that have to be spilled.
    pub spilled: u32,
    /// The number of register classes.
    pub classes: usize,
    /// The peak pressure of each class over the points between instructions, by the id of the class.
    pub peaks: *const u32,
    /// The peak pressure of each class at instructions, where operands and results count together.
    pub peaks_at: *const u32,
    /// Lower bounds on the peaks between instructions.
    pub peak_bounds: *const u32,
    /// 1 if the schedule is proven optimal for the goal, 0 otherwise.
    pub optimal: u32,
    /// 1 if no schedule spills less and none has more useful waves, by proof. 0 otherwise.
    pub proven_waves: u32,
    /// How often a wave runs the region, relative to the other regions of the kernel.
    pub frequency: u32,
    /// Cycles that each wave keeps the busiest unit, whatever the order.
    pub issue_cycles: u32,
    /// Cycles that the spills cost each wave.
    pub spill_cycles: u32,
    /// Pairs of LOWTIDE_CLUSTER that some order keeps together. 0 for a point of the front.
    pub pairs: u32,
    /// Pairs that this order does not keep together. 0 for a point of the front.
    pub broken_pairs: u32,
}

/// Start a session. The target is copied.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_session_new(
    target: Option<&lowtide_target>,
    out: Option<&mut MaybeUninit<*mut lowtide_session>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    make(out, message, || {
        let lowtide_target(target) = present(target, "target")?;
        Ok(lowtide_session { target: target.clone(), answers: Session::new() })
    })
}

/// Start a session that keeps its answers in a store: a folder, redis://HOST:PORT/DB,
/// http://HOST:PORT/PREFIX, or a folder and an address with a comma between them. NULL and an empty place
/// are no store. A store never makes a schedule fail. The target is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_session_open(
    target: Option<&lowtide_target>,
    store: *const c_char,
    out: Option<&mut MaybeUninit<*mut lowtide_session>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    make(out, message, || {
        let lowtide_target(target) = present(target, "target")?;
        // SAFETY: the caller promises a valid C string.
        let place = unsafe { optional_text(store, "the place of a store") }?;
        let store = place.filter(|place| !place.is_empty()).map(lowtide_store::open).transpose();
        let store = store.map_err(|error| Failure::argument(error.to_string()))?;
        let answers = store.map_or_else(Session::new, Session::with_store);
        Ok(lowtide_session { target: target.clone(), answers })
    })
}

/// Read the note that a compiler has kept in the store of a session: text that means nothing to this library.
/// The text is NULL if there is none, or if it was not written by a program with the secret of the store.
/// Free it with lowtide_string_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_session_note(
    session: Option<&lowtide_session>,
    key: *const u8,
    key_bytes: usize,
    text: Option<&mut MaybeUninit<*mut c_char>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    answer(text, null_mut(), message, || {
        // SAFETY: the caller promises so many bytes.
        let key = unsafe { array(key, key_bytes, "the key of a note") }?;
        let note = present(session, "session")?.answers.note(key);
        Ok(note.and_then(|note| String::from_utf8(note).ok()).map_or(null_mut(), give))
    })
}

/// Keep a note in the store of a session, instead of an earlier note for the key. Without a store, nothing
/// happens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_session_keep_note(
    session: Option<&lowtide_session>,
    key: *const u8,
    key_bytes: usize,
    text: *const c_char,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    report(message, || {
        // SAFETY: the caller promises so many bytes.
        let key = unsafe { array(key, key_bytes, "the key of a note") }?;
        // SAFETY: the caller promises a valid C string.
        let note = unsafe { optional_text(text, "a note") }?.unwrap_or("");
        present(session, "session")?.answers.keep_note(key, note.as_bytes());
        Ok(())
    })
}

/// Free a session. Its outcomes stay valid. NULL is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_session_free(session: Option<Box<lowtide_session>>) {
    free(|| drop(session));
}

/// Write the defaults: most waves, then length; 1 ms for each instruction and pass; one thread, no limits, no
/// filter, latencies of the target. NULL is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_options_default(options: Option<&mut MaybeUninit<lowtide_options>>) {
    let Some(options) = options else { return };
    options.write(lowtide_options {
        goal: lowtide_goal::LOWTIDE_OCCUPANCY as u32,
        algorithm: null(),
        nanoseconds_per_instr: 1_000_000,
        nodes: 0,
        threads: 1,
        registers: 0,
        filter: 0,
        front: 0,
        latencies: lowtide_latencies::LOWTIDE_LATENCIES_TARGET as u32,
        group_price: 0,
    });
}

/// Check options before there is a kernel to schedule. A compiler can refuse its command line early.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_options_check(
    options: Option<&lowtide_options>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    // SAFETY: the caller promises a valid C string.
    report(message, || unsafe { checked(present(options, "options")?) }.map(|_| ()))
}

/// Schedule all regions of a kernel. The independent checker accepts every schedule before it is returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_schedule(
    session: Option<&lowtide_session>,
    kernel: Option<&lowtide_kernel>,
    options: Option<&lowtide_options>,
    out: Option<&mut MaybeUninit<*mut lowtide_outcome>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    make(out, message, || {
        let session = present(session, "session")?;
        let kernel = present(kernel, "kernel")?.0.get()?;
        // SAFETY: the caller promises a valid C string.
        let options = unsafe { checked(present(options, "options")?) }?;
        let Checked { options, latencies } = options;
        let own = match session.target.resolve(latencies) {
            Latencies::Recorded => Cow::Borrowed(kernel),
            latencies => {
                let own = kernel.clone().with_latencies(latencies, &session.target);
                Cow::Owned(own.map_err(|error| Failure::region(error.to_string()))?)
            }
        };
        let kernel = &*own;
        let outcome = schedule_kernel(kernel, &session.target, &options, &session.answers);
        outcome.map(lowtide_outcome::new).map_err(|error| match error {
            ScheduleError::Internal(error) => Failure::internal(describe_internal_error(kernel, &error)),
            ScheduleError::Target(error) => error.into(),
            other => Failure::internal(other.to_string()),
        })
    })
}

/// Valid options, as the library takes them.
struct Checked {
    options: Options,
    latencies: Latencies,
}

/// # Safety
/// The algorithm is NULL or a string.
unsafe fn checked(options: &lowtide_options) -> Result<Checked, Failure> {
    // SAFETY: as above.
    let algorithm = unsafe { optional_text(options.algorithm, "the name of an algorithm") }?;
    let goal = GOALS.iter().find(|(number, _)| *number as u32 == options.goal);
    let (_, goal) = *goal.ok_or_else(|| Failure::argument(format!("{} is not a goal", options.goal)))?;
    let algorithm = algorithm.map_or(Ok(Algorithm::AUTO), |name| {
        Algorithm::named(name).ok_or_else(|| {
            let known: Vec<&str> = Algorithm::ALL.iter().map(|algorithm| algorithm.name()).collect();
            Failure::argument(format!("unknown algorithm {name:?} (known: {})", known.join(", ")))
        })
    })?;
    let filter = match options.filter {
        0 => None,
        1 => Some(Filter::default()),
        other => return Err(Failure::argument(format!("filter is {other}: it can be 0 or 1"))),
    };
    let front = match options.front {
        0 | 1 => options.front == 1,
        other => return Err(Failure::argument(format!("front is {other}: it can be 0 or 1"))),
    };
    let latencies = LATENCIES.iter().find(|(number, _)| *number as u32 == options.latencies);
    let (_, latencies) = *latencies
        .ok_or_else(|| Failure::argument(format!("{} is not a choice of latencies", options.latencies)))?;
    let time = Some(options.nanoseconds_per_instr).filter(|time| *time > 0);
    let budget = Budget {
        time_per_instr: time.map(Duration::from_nanos),
        nodes: Some(options.nodes).filter(|nodes| *nodes > 0),
        threads: options.threads.max(1) as usize,
    };
    let registers = Some(options.registers).filter(|registers| *registers > 0);
    let options = Options::default()
        .with_goal(goal)
        .with_algorithm(algorithm)
        .with_budget(budget)
        .with_registers(registers)
        .with_filter(filter)
        .with_front(front)
        .with_group_price(options.group_price);
    Ok(Checked { options, latencies })
}

/// Free an outcome, with the arrays of its results. NULL is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_outcome_free(outcome: Option<Box<lowtide_outcome>>) {
    free(|| drop(outcome));
}

/// Return the result of the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_outcome_kernel(
    outcome: Option<&lowtide_outcome>,
    out: Option<&mut MaybeUninit<lowtide_kernel_result>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    let nothing = lowtide_kernel_result {
        occupancy: 0,
        occupancy_bound: 0,
        regions: 0,
        filtered: 0,
        points: 0,
        cycles_per_wave_bound: 0.0,
    };
    answer(out, nothing, message, || {
        let kernel = &present(outcome, "outcome")?.kernel;
        Ok(lowtide_kernel_result {
            occupancy: kernel.occupancy,
            occupancy_bound: kernel.occupancy_bound,
            regions: kernel.regions.len(),
            filtered: u32::from(kernel.is_filtered),
            points: kernel.front.as_ref().map_or(0, |front| front.points.len()),
            cycles_per_wave_bound: kernel.front.as_ref().map_or(0.0, |front| front.cycles_bound.value()),
        })
    })
}

/// Return the result of a region by its position. Positions count from 0 in the order of
/// lowtide_kernel_add_region.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_outcome_region(
    outcome: Option<&lowtide_outcome>,
    position: usize,
    out: Option<&mut MaybeUninit<lowtide_region_result>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    answer(out, lowtide_region_result::NOTHING, message, || {
        let outcome = present(outcome, "outcome")?;
        let region = outcome.kernel.regions.get(position).zip(outcome.arrays.get(position));
        let (region, arrays) = region.ok_or_else(|| outcome.no_region(position))?;
        Ok(lowtide_region_result {
            length_bound: region.bounds.length,
            peak_bounds: region.bounds.peaks.as_ptr(),
            optimal: u32::from(region.optimal),
            proven_waves: u32::from(region.proven_waves),
            frequency: region.frequency,
            issue_cycles: region.issue_cycles,
            spill_cycles: region.spill_cycles,
            pairs: region.pairs,
            broken_pairs: region.broken_pairs,
            ..lowtide_region_result::of_schedule(&region.schedule, &region.measure, arrays)
        })
    })
}

/// Return a point of the front: the schedules for a number of waves. Points count from 0, fewest waves first.
/// The goal LOWTIDE_THROUGHPUT finds those that can be the best, the option `front` all.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_outcome_point(
    outcome: Option<&lowtide_outcome>,
    point: usize,
    out: Option<&mut MaybeUninit<lowtide_point>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    let nothing = lowtide_point { waves: 0, cycles_per_wave: 0.0, cycles_per_wave_bound: 0.0 };
    answer(out, nothing, message, || {
        let (point, _) = present(outcome, "outcome")?.point(point)?;
        Ok(lowtide_point {
            waves: point.waves,
            cycles_per_wave: point.cycles.value(),
            cycles_per_wave_bound: point.cycles_bound.value(),
        })
    })
}

/// Return the schedule of a region at a point of the front. The bounds on peaks are those of all schedules.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_outcome_point_region(
    outcome: Option<&lowtide_outcome>,
    point: usize,
    position: usize,
    out: Option<&mut MaybeUninit<lowtide_region_result>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    answer(out, lowtide_region_result::NOTHING, message, || {
        let outcome = present(outcome, "outcome")?;
        let (point, arrays) = outcome.point(point)?;
        let of_kernel = outcome.kernel.regions.get(position);
        let (region, arrays, of_kernel) = match (point.regions.get(position), arrays.get(position), of_kernel)
        {
            (Some(region), Some(arrays), Some(of_kernel)) => (region, arrays, of_kernel),
            _ => return Err(outcome.no_region(position)),
        };
        Ok(lowtide_region_result {
            length_bound: region.length_bound,
            peak_bounds: of_kernel.bounds.peaks.as_ptr(),
            optimal: u32::from(region.measure.length == region.length_bound),
            proven_waves: u32::from(point.waves >= outcome.kernel.occupancy_bound),
            frequency: of_kernel.frequency,
            issue_cycles: of_kernel.issue_cycles,
            spill_cycles: region.spill_cycles,
            ..lowtide_region_result::of_schedule(&region.schedule, &region.measure, arrays)
        })
    })
}

impl lowtide_region_result {
    /// The figures that a schedule has by itself. The others are 0.
    fn of_schedule(schedule: &Schedule, measure: &Measure, arrays: &Arrays) -> Self {
        lowtide_region_result {
            count: arrays.order.len(),
            order: arrays.order.as_ptr(),
            cycles: schedule.cycles().as_ptr(),
            length: measure.length,
            occupancy: measure.occupancy,
            spilled: measure.spilled,
            classes: arrays.peaks.len(),
            peaks: arrays.peaks.as_ptr(),
            peaks_at: arrays.peaks_at.as_ptr(),
            ..Self::NOTHING
        }
    }

    const NOTHING: Self = lowtide_region_result {
        count: 0,
        order: null(),
        cycles: null(),
        length: 0,
        length_bound: 0,
        occupancy: 0,
        spilled: 0,
        classes: 0,
        peaks: null(),
        peaks_at: null(),
        peak_bounds: null(),
        optimal: 0,
        proven_waves: 0,
        frequency: 0,
        issue_cycles: 0,
        spill_cycles: 0,
        pairs: 0,
        broken_pairs: 0,
    };
}
