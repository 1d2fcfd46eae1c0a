//! Random regions, kernels, packings and passes against brute force, for some seconds or for hours:
//!
//! ```text
//! LOWTIDE_SECONDS=3600 LOWTIDE_SEED=1 cargo test --release -p lowtide --test all long_runs:: -- --nocapture
//! ```
//!
//! The cases have what other tests leave out, all together: operands in any order and more than once, partial
//! writes, wide values, several ways to split an operation, register files for two classes, limits on
//! registers and waves, and the filter.

use std::time::{Duration, Instant};

use crate::fuzzed::{self, Choices};
use crate::made::all_orders;
use crate::pack_cases::{self, Within};
use crate::pass_cases;
use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::check::check;
use lowtide::multipass::{PassProblem, exact, mio};
use lowtide::pack::{PackProblem, pack};
use lowtide::pipeline::{Filter, Options, schedule_kernel, schedule_region};
use lowtide::problem::{Goal, Measure, Problem};
use lowtide::random::Random;
use lowtide::region::{Kernel, Region};
use lowtide::schedule::Schedule;
use lowtide::session::Session;
use lowtide::target::Target;
use lowtide::verdict::Verdict;

/// Files so small that the order decides on waves, spills and lanes for spills.
fn target(choices: &mut Choices) -> Target {
    let scalar = match choices.below(4) {
        0 => return fuzzed::target(choices),
        1 => "{ name = 'sgpr', max = 3, spill = { class = 'vgpr', lanes = 2 } }",
        _ => "{ name = 'sgpr', max = 6 }",
    };
    let granule = choices.pick(&[1, 2]);
    let width = choices.pick(&[1, 2]);
    let text = format!(
        "name = 'tight'\ndescription = 'few registers'\n[issue]\nwidth = {width}\nunits = [{{ name = 'mem' }}]\n\
         [[file]]\nname = 'vector'\nsize = 24\ngranule = {granule}\nwaves = 8\nclasses = [{{ name = 'vgpr', max = 8 }}]\n\
         [[file]]\nname = 'scalar'\nsize = 16\ngranule = 1\nwaves = 8\nclasses = [{scalar}]\n"
    );
    Target::parse(&text).expect("a valid target")
}

/// More orders than this are not tried.
const MOST_ORDERS: usize = 6_000;

/// Run cases until the time is over, or so many where no time is set. Print what the cases were like: each
/// returns a list of counts.
fn run<const N: usize>(rounds: u64, names: [&str; N], case: impl Fn(&[u8]) -> [u64; N]) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("LOWTIDE_SECONDS").map(Duration::from_secs);
    let first = number("LOWTIDE_SEED").unwrap_or(0) << 32;
    let start = Instant::now();
    let mut counts = [0; N];
    let mut done = 0;
    while seconds.map_or(done < rounds, |seconds| start.elapsed() < seconds) {
        let mut random = Random::new(first + done);
        let data: Vec<u8> = (0..300).map(|_| random.bits() as u8).collect();
        // The output of a failed test says which case it was.
        println!("case {}", first + done);
        let found = case(&data);
        counts.iter_mut().zip(found).for_each(|(count, found)| *count += found);
        done += 1;
    }
    let text: Vec<String> = names.iter().zip(counts).map(|(name, count)| format!("{count} {name}")).collect();
    eprintln!("{done} cases: {}", text.join(", "));
    assert!(counts.iter().all(|count| *count > 0), "{text:?}");
}

/// The figures of all orders, each as early as possible; nothing where there are too many orders. The checker
/// has the same figures.
fn all_measures(problem: &Problem) -> Option<Vec<Measure>> {
    let mut all = Vec::new();
    let mut count = 0;
    all_orders(problem.region(), &mut Vec::new(), &mut |order| {
        count += 1;
        if count > MOST_ORDERS {
            return;
        }
        let schedule = Schedule::in_order(problem, order.to_vec());
        let measure = problem.measure(&schedule);
        let report = check(problem.region(), problem.target(), &schedule).expect("legal in every order");
        assert_eq!(report.peaks, measure.peaks);
        assert_eq!(
            (report.occupancy, report.spilled, report.length),
            (measure.occupancy, measure.spilled, measure.length)
        );
        all.push(measure);
    });
    (count <= MOST_ORDERS).then_some(all)
}

#[test]
fn regions() {
    let names = ["regions with brute force", "proven", "better than the source order", "with a limit"];
    run(300, names, |data| {
        let mut choices = Choices { data };
        let target = target(&mut choices);
        let registers = choices.chance(60).then(|| 1 + choices.below(12) as u32);
        let waves = choices.chance(60).then(|| 1 + choices.below(10) as u32);
        let region = fuzzed::region(&mut choices, "long", 8);
        let mut counts = [0; 4];
        for goal in [Goal::MinReg, Goal::Occupancy, Goal::Length] {
            let mut problem = Problem::new(&region, &target, goal).expect("the target has all classes");
            if let Some(registers) = registers {
                problem = problem.with_register_limit(registers);
            }
            if let Some(waves) = waves {
                problem = problem.with_most_waves(waves);
            }
            let Some(all) = all_measures(&problem) else { return counts };
            // What the goal puts first.
            let first = |measure: &Measure| {
                let most = match goal {
                    Goal::MinReg => 1,
                    Goal::Occupancy => 4,
                    _ => 2,
                };
                problem.cost(measure)[..most].to_vec()
            };
            let best = all.iter().map(first).min().expect("an order");
            let source = first(&problem.measure(&Schedule::source(&problem)));
            for &algorithm in [Algorithm::AUTO, Algorithm::EXACT, Algorithm::TWO_PASS].iter() {
                let outcome = schedule_region(&problem, algorithm, Budget::UNLIMITED, &Session::new())
                    .expect("a legal schedule");
                let ours = first(&outcome.measure);
                assert!(ours >= best, "{}, {goal:?}: brute force has missed {ours:?}", algorithm.name());
                assert!(
                    !outcome.optimal || ours == best,
                    "{}, {goal:?}: {ours:?}, {best:?}",
                    algorithm.name()
                );
                for class in region.class_ids() {
                    let least = all.iter().map(|measure| measure.peaks[class.index()].between).min();
                    assert!(outcome.bounds.peaks[class.index()] <= least.expect("an order"));
                }
                counts[1] += u64::from(outcome.optimal);
            }
            counts[0] += 1;
            counts[2] += u64::from(best < source);
            counts[3] += u64::from(registers.is_some() || waves.is_some());
        }
        counts
    });
}

/// The waves and lengths of a kernel with at most so many waves, by brute force: the fewest spills of each
/// region into memory, then the most waves of all, then the least length of each region with these waves.
fn best_of_kernel(problems: &[Problem], all: &[Vec<Measure>], most: u32) -> (u32, Vec<u32>) {
    let cost = |number: usize, waves, measure: &Measure| {
        problems[number].clone().with_most_waves(waves).cost(measure)
    };
    let most_waves = |number: usize| {
        let best = all[number].iter().map(|measure| cost(number, most, measure)).min().expect("an order");
        most - best[1] as u32
    };
    let waves = (0..all.len()).map(most_waves).min().unwrap_or(most);
    let lengths = (0..all.len()).map(|number| {
        let best = all[number].iter().map(|measure| cost(number, waves, measure)).min().expect("an order");
        best[3] as u32
    });
    (waves, lengths.collect())
}

#[test]
fn kernels() {
    let names = ["kernels with brute force", "with shared files", "proven", "with more waves", "filtered"];
    // Few kernels have waves that the filter rejects.
    run(6_000, names, |data| {
        let mut choices = Choices { data };
        let target = target(&mut choices);
        let max_occupancy = choices.chance(60).then(|| 1 + choices.below(10) as u32);
        let few_cycles = choices.pick(&[0, 2, 63]);
        let filter = Filter { few_cycles, ..Filter::default() };
        let is_filtered = choices.chance(160);
        let count = 1 + choices.below(3);
        let mut regions: Vec<Region> =
            (0..count).map(|number| fuzzed::region(&mut choices, &format!("long.{number}"), 6)).collect();
        if target.shares_files() {
            regions.truncate(1); // tests/kernel.rs has several regions
        }
        let kernel = Kernel {
            name: "long".to_string(),
            origin: String::new(),
            target: None,
            is_entry: true,
            max_occupancy,
            regions,
        };
        kernel_case(&kernel, &target, is_filtered.then_some(filter))
    });
}

fn kernel_case(kernel: &Kernel, target: &Target, filter: Option<Filter>) -> [u64; 5] {
    let most = kernel.max_occupancy.unwrap_or(u32::MAX).min(target.max_waves());
    let problems: Vec<Problem> = (kernel.regions.iter())
        .map(|region| Problem::new(region, target, Goal::Occupancy).expect("all classes"))
        .collect();
    let Some(all) = problems.iter().map(all_measures).collect::<Option<Vec<_>>>() else { return [0; 5] };
    let options = Options::default()
        .with_algorithm(Algorithm::TWO_PASS)
        .with_budget(Budget::UNLIMITED)
        .with_filter(filter);
    let outcome = schedule_kernel(kernel, target, &options, &Session::new()).expect("a schedule");
    let source: Vec<Measure> =
        problems.iter().map(|problem| problem.measure(&Schedule::source(problem))).collect();
    let waves_before = source.iter().map(|measure| measure.occupancy).min().unwrap_or(most).min(most);
    let sum = |lengths: &[u32]| lengths.iter().map(|length| u64::from(*length)).sum::<u64>();
    let length_before = sum(&source.iter().map(|measure| measure.length).collect::<Vec<_>>());
    let spilled = |measures: &[Measure]| measures.iter().map(|measure| measure.spilled).sum::<u32>();

    let (mut waves, lengths) = best_of_kernel(&problems, &all, most);
    let is_shared = target.files().iter().any(|file| file.classes.len() > 1);
    let has_lanes = target.files().iter().flat_map(|file| &file.classes).any(|class| class.spill.is_some());
    let ours: Vec<Measure> = outcome.regions.iter().map(|region| region.measure.clone()).collect();
    assert!(outcome.occupancy_bound >= waves, "{} is below {waves}", outcome.occupancy_bound);
    // The rule of docs/two-pass.md: 1 to 3 waves more that cost too many cycles, and spill no less, are
    // rejected.
    let gain = waves.saturating_sub(waves_before);
    let is_rejected = filter.is_some_and(|filter| {
        gain > 0
            && gain <= filter.few_waves
            && sum(&lengths) > length_before + filter.few_cycles
            && spilled(&source) <= spilled(&ours)
    });
    // (Where classes share a file, lengths are not always the least ones, so that the filter has other
    // figures.)
    if !is_shared && is_rejected {
        waves = best_of_kernel(&problems, &all, waves_before).0;
        assert_eq!(waves, waves_before);
    }
    for ((region, problem), all) in outcome.regions.iter().zip(&problems).zip(&all) {
        let problem = problem.clone().with_most_waves(waves.min(outcome.occupancy));
        let best = all.iter().map(|measure| problem.cost(measure)).min().expect("an order");
        let ours = problem.cost(&region.measure);
        assert!(ours[..4] >= best[..4] && (!region.optimal || ours[..4] == best[..4]), "{ours:?} {best:?}");
        // Nothing is left open where files are not shared and nothing is spilled or could be, into lanes.
        if !is_shared && !has_lanes && best[0] == 0 && best[2] == 0 {
            assert_eq!(ours[..4], best[..4]);
            assert_eq!(u64::from(region.bounds.length), best[3]);
        }
    }
    // (Where two classes spill in some order, pass 1 does not try all ways to divide the spills between
    // them.)
    let spills_two = |(problem, all): (&Problem, &Vec<Measure>)| {
        let can_spill = |(class, most): (usize, &u32)| {
            all.iter().any(|measure: &Measure| measure.peaks[class].between > *most)
        };
        problem.limits().iter().enumerate().filter(|class| can_spill(*class)).count() > 1
    };
    if !is_shared && !has_lanes && !problems.iter().zip(&all).any(spills_two) {
        assert!(outcome.occupancy >= waves, "{} instead of {waves} waves", outcome.occupancy);
    }
    let is_proven = outcome.regions.iter().all(|region| region.optimal);
    [1, is_shared.into(), is_proven.into(), (outcome.occupancy > waves_before).into(), is_rejected.into()]
}

#[test]
fn packings() {
    let names =
        ["blocks with brute force", "larger blocks with all states", "split", "shorter than by the list"];
    run(150, names, |data| {
        let mut choices = Choices { data };
        let mut random = Random::new(u64::from_le_bytes([(); 8].map(|()| choices.byte())));
        let target = pack_cases::machine(&mut random);
        let is_large = choices.chance(128);
        let size = if is_large { 6 + choices.below(4) } else { 1 + choices.below(5) };
        let region = pack_cases::block(&mut random, size);
        let problem = PackProblem::new(&region, &target).expect("a known machine");
        let outcome = pack(&problem, Budget::UNLIMITED);
        lowtide::pack::check::check(&region, &target, &outcome.best).expect("a legal packing");
        assert!(outcome.is_proved());
        let length = outcome.best.length();
        let mut is_compared = true;
        if is_large {
            let shortest = pack_cases::by_states(&problem, length);
            is_compared = shortest.is_some();
            assert!(shortest.is_none_or(|shortest| shortest == length), "{length}, not {shortest:?}");
        } else {
            let best = pack_cases::brute_force(&region, &target, Within::default(), length);
            assert_eq!(best.expect("as short as ours").length(), length);
        }
        [
            (!is_large).into(),
            (is_large && is_compared).into(),
            (outcome.best.splits() > 0).into(),
            (length < outcome.list.length()).into(),
        ]
    });
}

#[test]
fn passes() {
    let names = ["shaders with brute force", "refused", "of several passes", "cheaper than by the list"];
    run(300, names, |data| {
        let mut choices = Choices { data };
        let model = fuzzed::pass_model(&mut choices);
        let region = fuzzed::shader(&mut choices, 5);
        let least = pass_cases::brute_force(&region, &model);
        let Ok(problem) = PassProblem::with_model(&region, &model) else {
            assert_eq!(least, None, "a shader with passes is refused");
            return [1, 1, 0, 0];
        };
        let first = match mio::partition(&problem) {
            Some(first) => first,
            None => match exact::find(&problem, Budget::UNLIMITED) {
                Verdict::Yes(any) => any,
                _ => {
                    assert_eq!(least, None, "a shader with passes is refused");
                    return [1, 1, 0, 0];
                }
            },
        };
        let proven = exact::partition(&problem, &first, Budget::UNLIMITED);
        assert_eq!((Some(proven.partition.cost), proven.is_optimal()), (least, true));
        let is_several = proven.partition.passes.len() > 1;
        [1, 0, is_several.into(), (proven.partition.cost < first.cost).into()]
    });
}
