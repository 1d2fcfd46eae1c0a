use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr::null;
use std::time::Duration;

use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::outcome::{KernelOutcome, Outcome};
use lowtide::pipeline::{Filter, Options, ScheduleError, schedule_kernel};
use lowtide::problem::Goal;
use lowtide::session::Session;
use lowtide::target::Target;
use lowtide_io::describe_internal_error;

use super::{
    answer, free, lowtide_kernel, lowtide_status, lowtide_target, make, optional_text, present, report,
};
use crate::failure::Failure;

/// A target, and the answers for the graphs that were scheduled for it: code repeats itself, and nothing is
/// sought twice. The answers are kept until the session is freed. Threads can use one session at once.
#[derive(Debug)]
pub struct lowtide_session {
    target: Target,
    answers: Session,
}

// Threads share it.
const _: fn() = || {
    fn is_sync<T: Sync>() {}
    is_sync::<lowtide_session>();
    is_sync::<lowtide_target>();
    is_sync::<lowtide_outcome>();
};

/// What a schedule should be best at. The rest breaks ties.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum lowtide_goal {
    /// Lowest peak of the target's first class, then of the others, then length.
    LOWTIDE_MIN_REG = 0,
    /// No spills, most waves, then length, then peak.
    LOWTIDE_OCCUPANCY = 1,
    /// Shortest length within the limits on registers, then lowest peak.
    LOWTIDE_LENGTH = 2,
}

const GOALS: [(lowtide_goal, Goal); 3] = [
    (lowtide_goal::LOWTIDE_MIN_REG, Goal::MinReg),
    (lowtide_goal::LOWTIDE_OCCUPANCY, Goal::Occupancy),
    (lowtide_goal::LOWTIDE_LENGTH, Goal::Length),
];

/// What is asked for. Start with lowtide_options_default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lowtide_options {
    /// A lowtide_goal.
    pub goal: u32,
    /// The name of an algorithm as for the program; NULL for "auto".
    pub algorithm: *const c_char,
    /// Wall time for each instruction of a region and each pass, in nanoseconds; 0 for no limit.
    pub nanoseconds_per_instr: u64,
    /// Steps of each search; 0 for no limit. Unlike time, they give the same result on every machine.
    pub nodes: u64,
    /// Threads for the search of one region; 0 and 1 are one. The result does not depend on it, except for
    /// what the clock cuts off.
    pub threads: u32,
    /// The most registers of the target's first class to use; 0 for no limit. With LOWTIDE_OCCUPANCY it is kept
    /// where a known order does so without losing waves.
    pub registers: u32,
    /// 1 to give up a few waves that cost many cycles, else 0.
    pub filter: u32,
}

/// The schedules of a kernel. It never changes.
#[derive(Debug)]
pub struct lowtide_outcome {
    kernel: KernelOutcome,
    /// For each region, what C reads as arrays of numbers.
    arrays: Vec<Arrays>,
}

#[derive(Debug)]
struct Arrays {
    order: Vec<u32>,
    peaks: Vec<u32>,
    peaks_at: Vec<u32>,
}

impl lowtide_outcome {
    fn new(kernel: KernelOutcome) -> Self {
        let arrays = |region: &Outcome| Arrays {
            order: region.schedule.order().iter().map(|instr| instr.0).collect(),
            peaks: region.measure.peaks.iter().map(|peak| peak.between).collect(),
            peaks_at: region.measure.peaks.iter().map(|peak| peak.at).collect(),
        };
        lowtide_outcome { arrays: kernel.regions.iter().map(arrays).collect(), kernel }
    }
}

/// What the schedules of all regions mean for their kernel.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct lowtide_kernel_result {
    /// Waves: the fewest of any region, and not more than the kernel allows.
    pub occupancy: u32,
    /// No schedule has more waves.
    pub occupancy_bound: u32,
    /// How many regions there are.
    pub regions: usize,
    /// 1 if the filter gave up waves for length, else 0.
    pub filtered: u32,
}

/// The schedule of a region, and what is proven about all others. The arrays live as long as the outcome.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lowtide_region_result {
    /// How many instructions there are.
    pub count: usize,
    /// The ids of the instructions in the order of issue.
    pub order: *const u32,
    /// The cycle in which each instruction issues: `cycles[id]`, not by its place in the order.
    pub cycles: *const u32,
    /// Cycle of the last issue, plus one.
    pub length: u32,
    /// No schedule that counts is shorter: none within the limits on registers, with LOWTIDE_OCCUPANCY none of
    /// these with at least as many waves; none at all with LOWTIDE_MIN_REG.
    pub length_bound: u32,
    /// Waves that fit, as far as the registers of this region limit them.
    pub occupancy: u32,
    /// Registers that have to be spilled.
    pub spilled: u32,
    /// How many register classes there are.
    pub classes: usize,
    /// The peak pressure of each class over the points between instructions, by the id of the class.
    pub peaks: *const u32,
    /// The peak pressure of each class at instructions, where operands and results count together.
    pub peaks_at: *const u32,
    /// No schedule has a lower peak between instructions.
    pub peak_bounds: *const u32,
    /// 1 if the schedule is proven to be as good as it can be for the goal, else 0.
    pub optimal: u32,
    /// 1 if it is proven that no schedule spills less and none has more waves that are of use, else 0.
    pub proven_waves: u32,
}

/// Starts a session. The target is copied.
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

/// Frees a session. Outcomes are not part of it and live on. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_session_free(session: Option<Box<lowtide_session>>) {
    free(|| drop(session));
}

/// The usual options: most waves, then length; 1 ms for each instruction and pass; one thread, no limits and
/// no filter. Does nothing for NULL.
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
    });
}

/// Tells whether options make sense, before there is anything to schedule: a compiler can refuse its command line.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lowtide_options_check(
    options: Option<&lowtide_options>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    // SAFETY: the caller promises that strings are strings.
    report(message, || unsafe { checked(present(options, "options")?) }.map(|_| ()))
}

/// Schedules all regions of a kernel. Every schedule has passed the independent checker.
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
        // SAFETY: the caller promises that strings are strings.
        let options = unsafe { checked(present(options, "options")?) }?;
        let outcome = schedule_kernel(kernel, &session.target, &options, &session.answers);
        outcome.map(lowtide_outcome::new).map_err(|error| match error {
            ScheduleError::Internal(error) => Failure::internal(describe_internal_error(kernel, &error)),
            ScheduleError::Target(error) => error.into(),
            other => Failure::internal(other.to_string()),
        })
    })
}

/// # Safety
/// The algorithm is NULL or a string.
unsafe fn checked(options: &lowtide_options) -> Result<Options, Failure> {
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
    let time = Some(options.nanoseconds_per_instr).filter(|time| *time > 0);
    let budget = Budget {
        time_per_instr: time.map(Duration::from_nanos),
        nodes: Some(options.nodes).filter(|nodes| *nodes > 0),
        threads: options.threads.max(1) as usize,
    };
    let registers = Some(options.registers).filter(|registers| *registers > 0);
    Ok(Options::default()
        .with_goal(goal)
        .with_algorithm(algorithm)
        .with_budget(budget)
        .with_registers(registers)
        .with_filter(filter))
}

/// Frees an outcome, with the arrays of its results. NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_outcome_free(outcome: Option<Box<lowtide_outcome>>) {
    free(|| drop(outcome));
}

/// The result for the kernel.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_outcome_kernel(
    outcome: Option<&lowtide_outcome>,
    out: Option<&mut MaybeUninit<lowtide_kernel_result>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    let nothing = lowtide_kernel_result { occupancy: 0, occupancy_bound: 0, regions: 0, filtered: 0 };
    answer(out, nothing, message, || {
        let kernel = &present(outcome, "outcome")?.kernel;
        Ok(lowtide_kernel_result {
            occupancy: kernel.occupancy,
            occupancy_bound: kernel.occupancy_bound,
            regions: kernel.regions.len(),
            filtered: u32::from(kernel.is_filtered),
        })
    })
}

/// The result for a region, by its position: the order in which regions were added, from 0.
#[unsafe(no_mangle)]
pub extern "C" fn lowtide_outcome_region(
    outcome: Option<&lowtide_outcome>,
    position: usize,
    out: Option<&mut MaybeUninit<lowtide_region_result>>,
    message: Option<&mut MaybeUninit<*mut c_char>>,
) -> lowtide_status {
    answer(out, lowtide_region_result::NOTHING, message, || {
        let lowtide_outcome { kernel, arrays } = present(outcome, "outcome")?;
        let (region, arrays) = kernel.regions.get(position).zip(arrays.get(position)).ok_or_else(|| {
            let count = kernel.regions.len();
            Failure::argument(format!("there is no region at position {position}: the kernel has {count}"))
        })?;
        Ok(lowtide_region_result {
            count: arrays.order.len(),
            order: arrays.order.as_ptr(),
            cycles: region.schedule.cycles().as_ptr(),
            length: region.measure.length,
            length_bound: region.bounds.length,
            occupancy: region.measure.occupancy,
            spilled: region.measure.spilled,
            classes: arrays.peaks.len(),
            peaks: arrays.peaks.as_ptr(),
            peaks_at: arrays.peaks_at.as_ptr(),
            peak_bounds: region.bounds.peaks.as_ptr(),
            optimal: u32::from(region.optimal),
            proven_waves: u32::from(region.proven_waves),
        })
    })
}

impl lowtide_region_result {
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
    };
}
