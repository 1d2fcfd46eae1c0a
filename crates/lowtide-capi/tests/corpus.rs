//! Real kernels through the C interface: the same as without it.

// Calls as a C program makes them: every pointer is that of something alive in the test.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

#[allow(dead_code)] // shared with tests that use more of it
mod calls;

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;

use calls::*;
use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::outcome::{FrontPoint, FrontRegion, KernelOutcome, Outcome};
use lowtide::pipeline::{Filter, Options, schedule_kernel};
use lowtide::problem::{Goal, Measure};
use lowtide::region::{HintKind, Kernel};
use lowtide::schedule::Schedule;
use lowtide::session::Session;
use lowtide::target::{Latencies, Target};
use lowtide_capi::*;

const NODES: u64 = 500;

/// All that an outcome tells about a region.
type Told = (Vec<u32>, Vec<u32>, [u32; 11], [Vec<u32>; 3]);

fn slice(first: *const u32, count: usize) -> Vec<u32> {
    unsafe { std::slice::from_raw_parts(first, count) }.to_vec()
}

/// What the C interface tells.
fn told(outcome: &lowtide_outcome) -> ([u32; 3], Vec<Told>) {
    let kernel = ask(|_| false, |out, message| lowtide_outcome_kernel(Some(outcome), out, message)).unwrap();
    let region = |position| {
        let result =
            ask(|_| false, |out, message| lowtide_outcome_region(Some(outcome), position, out, message));
        told_of_region(result.unwrap())
    };
    let figures = [kernel.occupancy, kernel.occupancy_bound, kernel.filtered];
    (figures, (0..kernel.regions).map(region).collect())
}

fn told_of_region(result: lowtide_region_result) -> Told {
    let (count, classes) = (result.count, result.classes);
    let figures = [
        result.length,
        result.length_bound,
        result.occupancy,
        result.spilled,
        result.optimal,
        result.proven_waves,
        result.pairs,
        result.broken_pairs,
        result.frequency,
        result.issue_cycles,
        result.spill_cycles,
    ];
    let peaks = [result.peaks, result.peaks_at, result.peak_bounds].map(|first| slice(first, classes));
    (slice(result.order, count), slice(result.cycles, count), figures, peaks)
}

/// The same of the Rust interface.
fn expected(outcome: &KernelOutcome) -> ([u32; 3], Vec<Told>) {
    let region = |outcome: &Outcome| {
        let Outcome { schedule, measure, bounds, proven_waves, optimal, .. } = outcome;
        let figures = [
            measure.length,
            bounds.length,
            measure.occupancy,
            measure.spilled,
            u32::from(*optimal),
            u32::from(*proven_waves),
            outcome.pairs,
            outcome.broken_pairs,
            outcome.frequency,
            outcome.issue_cycles,
            outcome.spill_cycles,
        ];
        expected_of_region(schedule, measure, figures, &bounds.peaks)
    };
    let figures = [outcome.occupancy, outcome.occupancy_bound, u32::from(outcome.is_filtered)];
    (figures, outcome.regions.iter().map(region).collect())
}

fn expected_of_region(schedule: &Schedule, measure: &Measure, figures: [u32; 11], bounds: &[u32]) -> Told {
    let between = measure.peaks.iter().map(|peak| peak.between).collect();
    let at = measure.peaks.iter().map(|peak| peak.at).collect();
    let order = schedule.order().iter().map(|instr| instr.0).collect();
    (order, schedule.cycles().to_vec(), figures, [between, at, bounds.to_vec()])
}

/// A point of a front: its waves, its cycles with their bound, and its regions.
type ToldPoint = (u32, [f64; 2], Vec<Told>);

/// What the C interface tells about the front, and the bound on the cycles of all schedules.
fn told_front(outcome: &lowtide_outcome) -> (f64, Vec<ToldPoint>) {
    let kernel = ask(|_| false, |out, message| lowtide_outcome_kernel(Some(outcome), out, message)).unwrap();
    let point = |number| {
        let point = ask(|_| false, |out, message| lowtide_outcome_point(Some(outcome), number, out, message));
        let lowtide_point { waves, cycles_per_wave, cycles_per_wave_bound } = point.unwrap();
        let region = |position| {
            let result = ask(
                |_| false,
                |out, message| lowtide_outcome_point_region(Some(outcome), number, position, out, message),
            );
            told_of_region(result.unwrap())
        };
        (waves, [cycles_per_wave, cycles_per_wave_bound], (0..kernel.regions).map(region).collect())
    };
    (kernel.cycles_per_wave_bound, (0..kernel.points).map(point).collect())
}

/// The same of the Rust interface.
fn expected_front(outcome: &KernelOutcome) -> (f64, Vec<ToldPoint>) {
    let Some(front) = &outcome.front else { return (0.0, Vec::new()) };
    let point = |point: &FrontPoint| {
        let region = |(found, of_kernel): (&FrontRegion, &Outcome)| {
            let FrontRegion { schedule, measure, spill_cycles, length_bound, .. } = found;
            let figures = [
                measure.length,
                *length_bound,
                measure.occupancy,
                measure.spilled,
                u32::from(measure.length == *length_bound),
                u32::from(point.waves >= outcome.occupancy_bound),
                0,
                0,
                of_kernel.frequency,
                of_kernel.issue_cycles,
                *spill_cycles,
            ];
            expected_of_region(schedule, measure, figures, &of_kernel.bounds.peaks)
        };
        let regions = point.regions.iter().zip(&outcome.regions).map(region).collect();
        (point.waves, [point.cycles.value(), point.cycles_bound.value()], regions)
    };
    (front.cycles_bound.value(), front.points.iter().map(point).collect())
}

fn options(goal: lowtide_goal) -> lowtide_options {
    lowtide_options { goal: goal as u32, nanoseconds_per_instr: 0, nodes: NODES, ..default_options() }
}

#[test]
fn results_are_those_of_the_rust_interface() {
    let target = Target::builtin("gfx906").unwrap();
    let list = CString::new("list").unwrap();
    let budget = Budget { nodes: Some(NODES), ..Budget::UNLIMITED };
    let auto = Options::default().with_budget(budget);
    let cases = [
        (options(lowtide_goal::LOWTIDE_OCCUPANCY), auto),
        (
            lowtide_options {
                filter: 1,
                algorithm: list.as_ptr(),
                ..options(lowtide_goal::LOWTIDE_OCCUPANCY)
            },
            auto.with_algorithm(Algorithm::LIST).with_filter(Some(Filter::default())),
        ),
        (
            lowtide_options {
                registers: 32,
                algorithm: list.as_ptr(),
                ..options(lowtide_goal::LOWTIDE_LENGTH)
            },
            auto.with_goal(Goal::Length).with_algorithm(Algorithm::LIST).with_registers(Some(32)),
        ),
        (
            lowtide_options { threads: 0, ..options(lowtide_goal::LOWTIDE_MIN_REG) },
            auto.with_goal(Goal::MinReg),
        ),
        (
            lowtide_options {
                latencies: lowtide_latencies::LOWTIDE_LATENCIES_REGION as u32,
                ..options(lowtide_goal::LOWTIDE_OCCUPANCY)
            },
            auto,
        ),
        (
            lowtide_options { group_price: 4, ..options(lowtide_goal::LOWTIDE_OCCUPANCY) },
            auto.with_group_price(4),
        ),
        (options(lowtide_goal::LOWTIDE_THROUGHPUT), auto.with_goal(Goal::Throughput)),
        (
            lowtide_options { front: 1, ..options(lowtide_goal::LOWTIDE_THROUGHPUT) },
            auto.with_goal(Goal::Throughput).with_front(true),
        ),
        (lowtide_options { front: 1, ..options(lowtide_goal::LOWTIDE_OCCUPANCY) }, auto.with_front(true)),
    ];
    let kernels: Vec<(Kernel, Box<lowtide_kernel>)> = corpus()
        .into_iter()
        .enumerate()
        .map(|(number, kernel)| {
            // Half of the kernels have a profile.
            let kernel = if number % 2 == 0 { kernel } else { with_frequencies(kernel) };
            let built = rebuild(&kernel);
            (kernel, built)
        })
        .collect();
    assert_eq!(kernels.len(), 26);
    for (number, (options, theirs)) in cases.into_iter().enumerate() {
        let session = session("gfx906");
        let own = Session::new();
        let mut points = Vec::new();
        for (kernel, built) in &kernels {
            let outcome = schedule(&session, built, &options).unwrap();
            let recorded = options.latencies == lowtide_latencies::LOWTIDE_LATENCIES_REGION as u32;
            let latencies = if recorded { Latencies::Recorded } else { Latencies::TARGET };
            let kernel = kernel.clone().with_latencies(latencies, &target).unwrap();
            let theirs = schedule_kernel(&kernel, &target, &theirs, &own).unwrap();
            assert!(told(&outcome) == expected(&theirs), "case {number}, kernel {}", kernel.name);
            let front = told_front(&outcome);
            assert!(front == expected_front(&theirs), "front of case {number}, kernel {}", kernel.name);
            points.push(front.1.len());
            lowtide_outcome_free(Some(outcome));
        }
        let is_front = options.front == 1 || options.goal == lowtide_goal::LOWTIDE_THROUGHPUT as u32;
        assert!(points.iter().all(|points| (*points > 0) == is_front), "case {number}: {points:?}");
        assert_eq!(points.iter().any(|points| *points > 2), is_front, "case {number}: {points:?}");
        // Without the option, only numbers of waves that can win are looked at. Most kernels have one.
        let alone = points.iter().filter(|points| **points == 1).count();
        let is_reduced = is_front && options.front == 0;
        assert_eq!(2 * alone > points.len(), is_reduced, "case {number}: {points:?}");
        lowtide_session_free(Some(session));
    }
}

/// The kernel with a frequency for each region.
fn with_frequencies(mut kernel: Kernel) -> Kernel {
    let regions = kernel.regions.into_iter().enumerate();
    kernel.regions = regions.map(|(number, region)| region.with_frequency(7 * number as u32 % 20)).collect();
    kernel
}

#[test]
fn formatted_kernels_can_be_read_again() {
    for mut kernel in corpus() {
        // Every part of the interface once, also those that the corpus lacks.
        kernel.is_entry = kernel.max_occupancy.is_some();
        kernel = with_frequencies(kernel);
        let built = rebuild(&kernel);
        let text = format(&built).unwrap();
        assert_eq!(text.lines().count(), kernel.regions.len());
        assert!(text.ends_with('\n'));

        // Peaks that others recorded have no place in the interface; all else is there.
        for (line, region) in text.lines().zip(&kernel.regions) {
            let mut original: serde_json::Value =
                serde_json::from_str(&lowtide_io::format_line(&kernel, region)).unwrap();
            original.as_object_mut().unwrap().remove("source_peaks");
            if let Some(production) = original.get_mut("production") {
                production.as_object_mut().unwrap().remove("peaks");
            }
            assert_eq!(serde_json::from_str::<serde_json::Value>(line).unwrap(), original);
        }
        let again = read(&text);
        assert_eq!(format(&rebuild(&again)).unwrap(), text);
        assert_eq!(read(&format(&rebuild(&again)).unwrap()), again);
    }
}

#[test]
fn the_corpus_has_what_the_interface_can_say() {
    let kernels = corpus();
    let regions: Vec<_> = kernels.iter().flat_map(|kernel| &kernel.regions).collect();
    let any_lanes = regions.iter().any(|region| region.registers().iter().any(|register| register.lanes > 1));
    let any_exit = regions
        .iter()
        .any(|region| region.hints().iter().any(|hint| hint.to.is_none() || hint.kind == HintKind::Exit));
    let any_units = regions.iter().any(|region| region.instrs().any(|instr| !region.units(instr).is_empty()));
    assert!(any_lanes && any_exit && any_units && regions.iter().any(|region| region.production().is_some()));
}

#[test]
fn threads_can_share_a_session() {
    let options = options(lowtide_goal::LOWTIDE_OCCUPANCY);
    let kernels: Vec<Kernel> = corpus().into_iter().filter(|kernel| kernel.instr_count() < 400).collect();
    assert!(kernels.len() > 8);
    let alone = session("gfx906");
    let expected: Vec<_> =
        kernels.iter().map(|kernel| told(&schedule(&alone, &rebuild(kernel), &options).unwrap())).collect();
    let shared = session("gfx906");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (shared, kernels, expected) = (&shared, &kernels, &expected);
            scope.spawn(move || {
                let options = self::options(lowtide_goal::LOWTIDE_OCCUPANCY);
                for step in 0..kernels.len() {
                    // Two threads ask for the same at the same time, the others for something else.
                    let number = (step + thread / 2 * 5) % kernels.len();
                    let outcome = schedule(shared, &rebuild(&kernels[number]), &options).unwrap();
                    assert!(told(&outcome) == expected[number], "kernel {}", kernels[number].name);
                }
            });
        }
    });
}

/// A second session takes its answers from the store of the first one, and a bad place is refused.
#[test]
fn a_store_has_the_answers_of_an_earlier_session() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = c(folder.path().join("store").to_str().expect("UTF-8"));
    let target = target("gfx906");
    let open = |place: *const std::ffi::c_char| {
        handle(|out, message| unsafe { lowtide_session_open(Some(&target), place, out, message) })
    };
    let mut kernel = new_kernel("k");
    let mut region = new_region("r");
    let vgpr = unsafe { lowtide_region_class(Some(&mut region), c"vgpr".as_ptr()) };
    for name in [c"a", c"b"] {
        let register = unsafe { lowtide_region_register(Some(&mut region), name.as_ptr(), vgpr, 1, 1) };
        let load = instr(&mut region, "load");
        unsafe { lowtide_region_def(Some(&mut region), load, register, 1, c"".as_ptr()) };
        let store = instr(&mut region, "store");
        lowtide_region_use(Some(&mut region), store, register, 1);
        lowtide_region_depend(Some(&mut region), load, store, lowtide_dependence::LOWTIDE_DATA as u32, 80);
    }
    add(&mut kernel, region).unwrap();
    let options = lowtide_options { nodes: NODES, nanoseconds_per_instr: 0, ..default_options() };
    let expected = told(&schedule(&session("gfx906"), &kernel, &options).unwrap());
    for _ in 0..2 {
        let session = open(place.as_ptr()).unwrap();
        assert_eq!(told(&schedule(&session, &kernel, &options).unwrap()), expected);
    }
    let store = lowtide_store::Folder::open(&folder.path().join("store")).expect("a store");
    let counts = store.lifetime();
    assert!(counts.hits > 0 && counts.hits == counts.misses, "{counts:?}");
    assert!(open(std::ptr::null()).is_ok() && open(c"".as_ptr()).is_ok());
    let key = b"a function\0";
    let note = |session: &lowtide_session| {
        let mut text = MaybeUninit::uninit();
        let status =
            unsafe { lowtide_session_note(Some(session), key.as_ptr(), key.len(), Some(&mut text), None) };
        assert_eq!(status, lowtide_status::LOWTIDE_OK);
        // SAFETY: the call has succeeded.
        let text = unsafe { text.assume_init() };
        let kept = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_string());
        unsafe { lowtide_string_free(text) };
        kept
    };
    let keep = |session: &lowtide_session, text: &CStr| unsafe {
        lowtide_session_keep_note(Some(session), key.as_ptr(), key.len(), text.as_ptr(), None)
    };
    let (first, without) = (open(place.as_ptr()).unwrap(), session("gfx906"));
    assert_eq!((note(&first), note(&without)), (None, None));
    assert_eq!(keep(&first, c"decided"), lowtide_status::LOWTIDE_OK);
    assert_eq!(keep(&without, c"lost"), lowtide_status::LOWTIDE_OK);
    assert_eq!((note(&open(place.as_ptr()).unwrap()).as_deref(), note(&without)), (Some("decided"), None));
    let (status, message) = open(c"ftp://x".as_ptr()).map(|_| ()).unwrap_err();
    assert_eq!(status, lowtide_status::LOWTIDE_BAD_ARGUMENT);
    assert!(message.contains("is no address of a store"), "{message}");
}
