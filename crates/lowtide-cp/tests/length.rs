//! The shortest schedule within limits on registers, by two exact methods that have nothing in common: the
//! constraint model and pass 2. Small regions also against brute force. Without the solver these tests are
//! skipped, and say so; where `CI` is set they fail instead.

use std::collections::HashSet;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::made::{Machine, Made, Small, fits, or_in_ci, regions, retimed};
use crate::skip::{Missing, skip};
use crate::watchdog::must_end;
use lowtide::InstrId;
use lowtide::analysis::fingerprint::fingerprint;
use lowtide::budget::Budget;
use lowtide::check::{check, check_order};
use lowtide::generate::{self, Random, Shape, families};
use lowtide::minreg::exact;
use lowtide::problem::{Goal, Problem};
use lowtide::region::{Kernel, Region};
use lowtide::schedule::Schedule;
use lowtide::target::Target;
use lowtide::twopass::length::{Options, shortest};
use lowtide_cp::{LengthAnswer, Limits, Solver, SolverError};
use lowtide_io::KernelReader;

fn solver() -> Option<&'static Solver> {
    static SOLVER: OnceLock<Result<Solver, SolverError>> = OnceLock::new();
    match SOLVER.get_or_init(Solver::find) {
        Ok(solver) => Some(solver),
        Err(error @ SolverError::NotInstalled) => {
            skip(Missing::Installable, error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn target(issue: &str) -> Target {
    let text = format!(
        "name = \"small\"\ndescription = \"for tests\"\n[issue]\n{issue}\n\
         [[file]]\nname = \"any\"\nsize = 1000\ngranule = 1\nwaves = 1\nclasses = [{{ name = \"*\", max = 1000 }}]\n"
    );
    Target::parse(&text).expect("a valid target")
}

/// As long as it takes: a slow machine fails no test.
fn no_limit() -> Limits<'static> {
    Limits { time: Duration::MAX, ..Limits::default() }
}

fn problem<'a>(region: &'a Region, target: &'a Target) -> Problem<'a> {
    Problem::new(region, target, Goal::Occupancy).expect("all classes are known")
}

fn assert_legal(problem: &Problem, limits: &[Option<u32>], answer: &LengthAnswer) {
    let name = problem.region().name();
    let schedule = Schedule::in_order(problem, answer.order.clone());
    let report = check(problem.region(), problem.target(), &schedule).expect("a legal schedule");
    assert_eq!(report.length, answer.length, "{name} {limits:?}");
    let peaks: Vec<u32> = report.peaks.iter().map(|peak| peak.between).collect();
    assert!(fits(&peaks, limits), "{name} {limits:?}: {peaks:?}");
    assert!(answer.bound <= answer.length, "{name} {limits:?}");
    assert_eq!(answer.proved, answer.bound == answer.length, "{name} {limits:?}");
}

#[test]
fn the_model_agrees_with_brute_force() {
    let Some(solver) = solver() else { return };
    let mut random = Random::new(1);
    let targets =
        [target("width = 1"), target("width = 1\nunits = [{ name = \"a\" }, { name = \"b\", count = 2 }]")];
    let units: [&[(&str, u32)]; 4] = [&[], &[("a", 1)], &[("a", 3)], &[("b", 4), ("a", 2)]];
    let (mut asked, mut shorter, mut limited) = (0, 0, 0);
    for (number, region) in regions(0..40, 8).enumerate() {
        let region = retimed(&region, &units, &mut random);
        let target = &targets[number % 2];
        let problem = problem(&region, target);
        let machine = Machine::new(&region, target);
        let small = Small::new(&region, &[]);
        let peaks = random_peaks(&small, &mut random);
        let limits: Vec<Option<u32>> =
            peaks.iter().map(|peak| random.chance(80).then(|| peak + random.below(2) as u32)).collect();
        let optimum = machine.shortest(&small, |pressure| fits(pressure, &limits)).expect("one exists");
        let start = small.order_within(&limits, &mut random).expect("one exists");
        let answer = solver.shortest(&problem, &limits, &start, 0, &no_limit()).expect("an answer");
        assert_legal(&problem, &limits, &answer);
        let found = (answer.length, answer.bound);
        assert_eq!(found, (optimum, optimum), "{} {limits:?}", region.name());
        asked += 1;
        shorter += u32::from(optimum < machine.length_of(&start));
        limited += u32::from(machine.shortest(&small, |_| true) < Some(optimum));
        // The true optimum as the bound: nothing is left to prove.
        let again = solver.shortest(&problem, &limits, &answer.order, optimum, &no_limit());
        assert!(again.expect("an answer").proved);
    }
    println!("{asked} optima, {shorter} shorter than the start, {limited} longer than without limits");
    assert!(asked > 500 && shorter > 150 && limited > 50, "{asked} {shorter} {limited}");
}

fn random_peaks(small: &Small, random: &mut Random) -> Vec<u32> {
    let mut all = small.all_peaks();
    let number = random.below(all.len());
    all.swap_remove(number)
}

#[test]
fn what_the_model_does_not_know_is_refused() {
    let Some(solver) = solver() else { return };
    let region = generate::region(Shape::SharedChains, 10, 1);
    let start: Vec<InstrId> = region.instrs().collect();
    let single = target("width = 1");
    let ask = |target: &Target, limits: &[Option<u32>], start: &[InstrId]| {
        solver.shortest(&problem(&region, target), limits, start, 0, &Limits::default())
    };
    let answer = ask(&target("width = 2"), &[], &start);
    assert!(matches!(answer, Err(SolverError::NotModelled(_))), "{answer:?}");
    let backwards: Vec<InstrId> = region.instrs().rev().collect();
    for (limits, start) in
        [(&[][..], &backwards[..]), (&[], &start[1..]), (&[], &[]), (&[Some(0)], &start[..])]
    {
        let answer = ask(&single, limits, start);
        assert!(matches!(answer, Err(SolverError::BadStart(_))), "{answer:?}");
    }
    let answer = solver.shortest(&problem(&region, &single), &[], &start, 100_000, &Limits::default());
    assert!(matches!(answer, Err(SolverError::Refused(_))), "{answer:?}");
}

const SIZES: std::ops::RangeInclusive<usize> = 15..=40;

/// The regions of the sample corpus, each graph once.
fn real() -> Vec<Region> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut seen = HashSet::new();
    let mut real = Vec::new();
    for name in ["hashcat.jsonl.gz", "rocprim.jsonl.gz"] {
        let kernels = KernelReader::open(&folder.join(name)).expect("a sample of the corpus");
        for kernel in kernels.collect::<Result<Vec<Kernel>, _>>().expect("valid regions") {
            real.extend(
                kernel
                    .regions
                    .into_iter()
                    .filter(|region| SIZES.contains(&region.len()) && seen.insert(fingerprint(region))),
            );
        }
    }
    real
}

fn generated() -> impl Iterator<Item = Region> {
    (0..).flat_map(|seed: u64| {
        let size = 15 + (seed as usize * 7) % 26;
        let shapes = Shape::ALL.map(|shape| generate::region(shape, size, seed));
        let others = [generate::register_program(size, seed), families::layered(size, 6, seed)];
        let made = Made::ALL.map(|made| made.region(size, seed));
        let mut random = Random::new(seed);
        // Latencies of all kinds; but every other shape keeps its own, which leave many cycles free.
        let mut retime = |(number, region): (u64, Region)| match number < 8 && (number + seed) % 2 == 1 {
            true => region,
            false => retimed(&region, &[], &mut random),
        };
        let all: Vec<Region> =
            (0..).zip(shapes.into_iter().chain(others).chain(made)).map(&mut retime).collect();
        all.into_iter().filter(|region| SIZES.contains(&region.len()))
    })
}

/// Regions, each by both methods, and how many of them are proved by pass 2, by the solver and by both. CI
/// limits the time.
fn expected() -> (usize, [u32; 3]) {
    or_in_ci((300, [300, 272, 272]), (200, [200, 183, 183]))
}

/// Steps for pass 2, and work for the solver: most regions need far less. Neither depends on the machine.
const STEPS: u64 = 1_000_000;
const WORK: f64 = 0.3;

/// The solver must solve all regions of at most so many instructions.
const SMALL: usize = 16;

#[test]
fn pass_2_and_the_constraint_model_find_the_same_length() {
    let Some(solver) = solver() else { return };
    let (count, proved) = expected();
    let began = Instant::now();
    let mut random = Random::new(2);
    let real = real();
    let real_ones = real.len();
    let single = target("width = 1");
    let vega = Target::builtin("gfx906").expect("built in");
    let mut solving = 0.0;
    let (mut asked, mut by_both, mut by_search, mut by_solver, mut shorter, mut small) = (0, 0, 0, 0, 0, 0);
    for (number, region) in real.into_iter().chain(generated()).take(count).enumerate() {
        let problem = problem(&region, if number < real_ones { &vega } else { &single });
        let source: Vec<InstrId> = region.instrs().collect();
        let class = problem.primary_class();
        let fewest = exact::minimise(&region, class, &[], &source, exact::Options::new(Budget::default()));
        let peaks = check_order(&region, &fewest.order).expect("a legal order");
        let more = random.pick(&[0, 0, 1, 2, 4]);
        let limits: Vec<Option<u32>> = peaks.iter().map(|peak| Some(peak.between + more)).collect();
        let start = Schedule::in_order(&problem, fewest.order.clone()).length();
        let budget = Budget { nodes: Some(STEPS), ..Budget::default() };
        let options = Options { budget, ..Options::default() };
        let found = shortest(&problem, &limits, &[&fewest.order], options).expect("the start is within");
        let answer = {
            let (region, target) = (region.clone(), problem.target().clone());
            let (limits, start) = (limits.clone(), fewest.order.clone());
            let effort = Limits { work: Some(WORK), ..no_limit() };
            must_end(move || solver.shortest(&self::problem(&region, &target), &limits, &start, 0, &effort))
        };
        let answer = answer.expect("an answer");
        solving += answer.seconds;
        assert_legal(&problem, &limits, &answer);
        let text = format!(
            "{} ({} instructions) within {limits:?}: {}..={} by pass 2, {}..={} by the solver in {:.1} s",
            region.name(),
            region.len(),
            found.bound,
            found.length,
            answer.bound,
            answer.length,
            answer.seconds
        );
        assert!(found.bound <= answer.length && answer.bound <= found.length, "{text}");
        let (is_found, is_answered) = (found.bound == found.length, answer.proved);
        assert!(is_answered || region.len() > SMALL, "{text}");
        small += u32::from(region.len() <= SMALL);
        if is_found && is_answered {
            assert_eq!(found.length, answer.length, "{text}");
            by_both += 1;
        } else {
            println!("{text}");
        }
        by_search += u32::from(is_found);
        by_solver += u32::from(is_answered);
        asked += 1;
        shorter += u32::from(found.length < start);
    }
    println!(
        "{asked} regions ({real_ones} real), {shorter} shorter than the start; proved {by_search} by pass 2, {by_solver} by the solver, \
         {by_both} by both; {:.0} s, {solving:.0} s of that by the solver",
        began.elapsed().as_secs_f64()
    );
    assert!(asked == count && 2 * shorter as usize > count, "{asked} {shorter}");
    // As measured; with limits on steps and on work, the figures are the same on every machine.
    assert_eq!([by_search, by_solver, by_both], proved);
    assert!(small >= 20, "{small} small regions");
}
