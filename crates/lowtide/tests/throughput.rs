//! Throughput and fronts of whole kernels against brute force over all orders and all numbers of waves.

use crate::made::{all_orders, or_in_ci, regions, retimed};
use lowtide::InstrId;
use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::check::{Report, check};
use lowtide::generate::Random;
use lowtide::pipeline::{Options, schedule_kernel};
use lowtide::problem::{Goal, Problem};
use lowtide::region::{DepKind, InstrSpec, Kernel, Region, RegionBuilder};
use lowtide::schedule::Schedule;
use lowtide::session::Session;
use lowtide::target::Target;

/// Files with many steps, two classes that share one, units and prices for spills.
fn targets() -> Vec<Target> {
    let scalar = |max: u32, price: u32| {
        format!(
            "[[file]]\nname = \"scalar\"\nsize = 16\ngranule = 1\nwaves = 8\n\
             classes = [{{ name = \"*\", max = {max}, spill_cycles = {price} }}]\n"
        )
    };
    let vector = |granule: u32, max: u32, price: u32| {
        format!(
            "[[file]]\nname = \"vector\"\nsize = 24\ngranule = {granule}\nwaves = 8\n\
             classes = [{{ name = \"vgpr\", max = {max}, spill_cycles = {price} }}]\n"
        )
    };
    let shared = "[[file]]\nname = \"vector\"\nsize = 24\ngranule = 1\nwaves = 8\n\
                  classes = [{ name = \"vgpr\", max = 12, align = 2 }, { name = \"agpr\", max = 12 }]\n";
    let issue = |width: u32, units: &str| format!("[issue]\nwidth = {width}\n{units}\n");
    let units = "units = [{ name = \"a\" }, { name = \"b\", count = 2 }]";
    let parts = [
        [issue(1, ""), vector(1, 12, 2), scalar(8, 2)],
        [issue(1, units), vector(1, 12, 30), scalar(8, 5)],
        [issue(2, units), shared.to_string(), scalar(8, 0)],
        [issue(1, ""), vector(4, 4, 3), scalar(3, 1)],
    ];
    let lanes = "[[file]]\nname = \"scalar\"\nsize = 16\ngranule = 1\nwaves = 8\nclasses = [{ name = \"sgpr\", max = 1, \
                 spill_cycles = 1, spill = { class = \"vgpr\", lanes = 2 } }]\n\
                 [[file]]\nname = \"other\"\nsize = 16\ngranule = 1\nwaves = 8\nclasses = [{ name = \"*\", max = 8 }]\n";
    let target = |parts: &[String; 3]| {
        let text = format!("name = \"small\"\ndescription = \"for tests\"\n{}", parts.concat());
        Target::parse(&text).expect("a valid target")
    };
    let with_lanes = [issue(1, ""), vector(4, 4, 20), lanes.to_string()];
    parts.iter().chain([&with_lanes]).map(target).collect()
}

/// Kernels of one to three small regions with units, with frequencies or loops.
fn kernels(seeds: std::ops::Range<u64>) -> impl Iterator<Item = Kernel> {
    let mut random = Random::new(7);
    let mut all = regions(seeds, 6);
    std::iter::from_fn(move || {
        let some: Vec<Region> = all.by_ref().take(1 + random.below(3)).collect();
        let has_profile = random.below(2) == 0;
        let retime = |region: &Region| {
            let retimed = retimed(region, &[&[], &[("a", 1)], &[("b", 2)]], &mut random);
            match has_profile {
                true => retimed.with_frequency([0, 1, 3, 100][random.below(4)]),
                false => retimed,
            }
        };
        let regions: Vec<Region> = some.iter().map(retime).collect();
        let max_occupancy = [None, Some(3), Some(1)][random.below(3)];
        (!regions.is_empty()).then(|| Kernel {
            name: "k".to_string(),
            origin: String::new(),
            target: None,
            is_entry: true,
            max_occupancy,
            regions,
        })
    })
}

/// What brute force knows of an order: the figures of the checker and the cycles for its spills.
struct Candidate {
    report: Report,
    spills: u64,
}

/// The price of spills, from the text of the target's classes and the checker's peaks.
fn spills(region: &Region, target: &Target, report: &Report) -> u64 {
    let price = |(class, peak): (&str, u32)| {
        let classes = || target.files().iter().flat_map(|file| &file.classes);
        let own = classes().find(|own| own.name == class).or_else(|| classes().find(|own| own.name == "*"));
        own.map_or(0, |own| u64::from(peak.saturating_sub(own.max)) * u64::from(own.spill_cycles))
    };
    let peaks = report.peaks.iter().map(|peak| peak.between);
    region.classes().iter().map(|class| &**class).zip(peaks).map(price).sum()
}

/// The cycles of the busiest unit.
fn issue(region: &Region, target: &Target) -> u64 {
    let mut most = 0;
    let mut without = region.len() as u64;
    let known = |instr: InstrId| {
        region
            .units(instr)
            .iter()
            .filter(|need| need.cycles > 0 && target.issue().units.iter().any(|unit| unit.name == *need.unit))
    };
    for unit in &target.issue().units {
        let needs = region.instrs().flat_map(known).filter(|need| *need.unit == *unit.name);
        let busy: u64 = needs.map(|need| u64::from(need.cycles)).sum();
        most = most.max(busy.div_ceil(u64::from(unit.count)));
    }
    for instr in region.instrs() {
        without -= u64::from(known(instr).count() > 0);
    }
    most.max(without.div_ceil(u64::from(target.issue().width)))
}

/// For each number of waves, the fewest cycles of all waves, as brute force finds them. None where a region
/// does not allow them.
fn fewest_cycles(kernel: &Kernel, target: &Target, most: u32) -> Vec<Option<(u64, Vec<u32>)>> {
    let all: Vec<Vec<Candidate>> = kernel
        .regions
        .iter()
        .map(|region| {
            let problem = Problem::new(region, target, Goal::Throughput).expect("known classes");
            let mut all = Vec::new();
            all_orders(region, &mut Vec::new(), &mut |order| {
                let schedule = Schedule::in_order(&problem, order.to_vec());
                let report = check(region, target, &schedule).expect("legal");
                all.push(Candidate { spills: spills(region, target, &report), report });
            });
            all
        })
        .collect();
    let has_profile = kernel.regions.iter().all(|region| region.frequency().is_some());
    let of = |waves: u32| {
        let mut sum = 0;
        let mut lengths = Vec::new();
        for (region, all) in kernel.regions.iter().zip(&all) {
            let frequency = match region.frequency() {
                Some(frequency) if has_profile => u64::from(frequency),
                _ => 10u64.pow(region.loop_depth()),
            };
            let able = || all.iter().filter(|candidate| candidate.report.occupancy >= waves);
            let cycles = able().map(|candidate| {
                let issue = issue(region, target);
                let waits = u64::from(candidate.report.length).saturating_sub(issue);
                (issue + candidate.spills) * u64::from(waves) + waits
            });
            sum += frequency * cycles.min()?;
            let without_spills = able().filter(|candidate| candidate.report.spilled == 0);
            lengths.push(without_spills.map(|candidate| candidate.report.length).min().unwrap_or(u32::MAX));
        }
        Some((sum, lengths))
    };
    (1..=most).map(of).collect()
}

fn cycles_of(best: &(u64, Vec<u32>), waves: usize) -> f64 {
    best.0 as f64 / waves as f64
}

#[test]
fn throughput_is_the_best_of_all_orders_and_waves() {
    let options = Options::default().with_goal(Goal::Throughput).with_budget(Budget::UNLIMITED);
    let (mut least_found, mut gained) = (0, 0);
    // Kernels, and those that are proven: without lanes, and with them. The price of spills does not know of
    // registers that lanes push into memory.
    let mut counts = [[0; 2]; 2];
    let scale: u64 = std::env::var("LOWTIDE_SCALE").map_or(1, |scale| scale.parse().expect("a number"));
    let scale = scale * or_in_ci(100, 40);
    let seeds = [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000].map(|from| from..from + 350 * scale / 100);
    for (target, seeds) in targets().iter().zip(seeds) {
        let has_lanes =
            target.files().iter().flat_map(|file| &file.classes).any(|class| class.spill.is_some());
        let [count, proven] = &mut counts[usize::from(has_lanes)];
        for mut kernel in kernels(seeds) {
            if target.shares_files() {
                kernel.regions.truncate(1); // tests/kernel.rs has several regions
            }
            let most = kernel.max_occupancy.unwrap_or(8).min(8);
            let all = fewest_cycles(&kernel, target, most);
            let session = Session::new();
            for front in [false, true] {
                let outcome = schedule_kernel(&kernel, target, &options.with_front(front), &session).unwrap();
                let found = outcome.front.as_ref().expect("a front");
                let best = found.best().expect("a point");
                let known =
                    all.iter().zip(1..).filter_map(|(best, waves)| Some(cycles_of(best.as_ref()?, waves)));
                let least = known.fold(f64::INFINITY, f64::min);
                let close = |one: f64, other: f64| (one - other).abs() <= 1e-9 * other.abs().max(1.0);
                let place = format!("{kernel:?}");
                assert!(found.cycles_bound.value() <= least * (1.0 + 1e-12), "bound too high: {place}");
                assert!(best.cycles.value() >= least * (1.0 - 1e-12), "better than possible: {place}");
                if found.is_proven() {
                    assert!(
                        close(best.cycles.value(), least),
                        "{} instead of {least}: {place}",
                        best.cycles.value()
                    );
                }
                *count += 1;
                *proven += usize::from(found.is_proven());
                least_found += usize::from(close(best.cycles.value(), least));
                // The schedules of the outcome are those of the best point.
                let of_outcome: Vec<u32> =
                    outcome.regions.iter().map(|region| region.measure.length).collect();
                let of_best: Vec<u32> = best.regions.iter().map(|region| region.measure.length).collect();
                assert_eq!(of_outcome, of_best);
                assert!(outcome.occupancy >= best.waves);
                gained += usize::from(best.waves < found.points.last().expect("a point").waves);
                for point in &found.points {
                    let Some((_, lengths)) = &all[point.waves as usize - 1] else {
                        panic!("{} waves do not fit: {place}", point.waves);
                    };
                    for (region, least) in point.regions.iter().zip(lengths) {
                        assert!(region.length_bound <= *least, "{} waves: {place}", point.waves);
                        assert!(region.measure.spilled > 0 || region.measure.length >= *least);
                        assert!(region.measure.length >= region.length_bound, "bound too high: {place}");
                    }
                }
            }
        }
    }
    let [[count, proven], [count_with_lanes, proven_with_lanes]] = counts;
    println!("{proven} of {count} proven, and {proven_with_lanes} of {count_with_lanes} with lanes");
    println!("{least_found} with the fewest cycles, {gained} with fewer waves than possible");
    assert!(count >= 200 * scale as usize && count_with_lanes >= 50 * scale as usize, "{counts:?} kernels");
    assert!(proven * 100 >= count * 95, "{proven} of {count} proven");
    assert!(
        proven_with_lanes * 100 >= count_with_lanes * 75,
        "{proven_with_lanes} of {count_with_lanes} proven"
    );
    let count = count + count_with_lanes;
    assert!(least_found * 100 >= count * 99, "{least_found} of {count} with the fewest cycles");
    assert!(gained * 1000 >= count * 3, "{gained} of {count} give up waves");
}

#[test]
fn never_more_cycles_than_the_source_order() {
    let target = &targets()[0];
    let budget = Budget { nodes: Some(50), ..Budget::UNLIMITED };
    for kernel in kernels(80_000..81_000) {
        let session = Session::new();
        let cycles = |algorithm: Algorithm| {
            let options =
                Options::default().with_goal(Goal::Throughput).with_algorithm(algorithm).with_budget(budget);
            let outcome = schedule_kernel(&kernel, target, &options, &session).unwrap();
            let most = kernel.max_occupancy.unwrap_or(8);
            let measures: Vec<_> = outcome.regions.into_iter().map(|region| region.measure).collect();
            lowtide::throughput::cycles_per_wave(&kernel, target, most, &measures).unwrap()
        };
        let source = cycles(Algorithm::SOURCE);
        for algorithm in
            [Algorithm::AUTO, Algorithm::LIST, Algorithm::WAVES, Algorithm::TWO_PASS, Algorithm::COLONY]
        {
            assert!(cycles(algorithm) <= source, "{algorithm:?}: {kernel:?}");
        }
    }
}

/// Loads of long latency, each with one use, beside registers that stay live. A wave can address 8 registers
/// of the class.
fn loads(loads: usize, through: u32, price: u32) -> (Kernel, Target) {
    let mut builder = RegionBuilder::new("loads");
    let class = builder.class("vgpr");
    builder.through(class, through);
    for number in 0..loads {
        let load = builder.instr(InstrSpec::new(&format!("load {number}"), 1));
        let value = builder.register("value", class, 1, 1);
        builder.defs(load, value, 1);
        let store = builder.instr(InstrSpec::new(&format!("store {number}"), 1));
        builder.uses(store, value, 1);
        builder.depend(load, store, DepKind::Data, 20);
    }
    let text = format!(
        "name = \"eight\"\ndescription = \"for tests\"\n[issue]\nwidth = 1\n[[file]]\nname = \"vector\"\nsize = 8\ngranule = 1\nwaves = 1\n\
         classes = [{{ name = \"vgpr\", max = 8, spill_cycles = {price} }}]\n"
    );
    let kernel = Kernel::new("loads", vec![builder.build().expect("a valid region")]);
    (kernel, Target::parse(&text).expect("a valid target"))
}

/// The spilled registers and the length for a goal.
fn spilled_and_length((kernel, target): &(Kernel, Target), goal: Goal, algorithm: Algorithm) -> (u32, u32) {
    let budget = Budget { nodes: Some(20_000), ..Budget::UNLIMITED };
    let options = Options::default().with_goal(goal).with_algorithm(algorithm).with_budget(budget);
    let outcome = schedule_kernel(kernel, target, &options, &Session::new()).expect("a legal schedule");
    let region = &outcome.regions[0];
    assert!(region.bounds.length <= region.measure.length, "{goal:?} {algorithm}");
    (region.measure.spilled, region.measure.length)
}

#[test]
fn regions_that_spill_anyway_spill_more_where_it_pays() {
    let all = [Algorithm::AUTO, Algorithm::LIST, Algorithm::TWO_PASS, Algorithm::COLONY];
    for algorithm in all {
        // One load at a time, or all of them first.
        let many = loads(16, 8, 2);
        assert_eq!(spilled_and_length(&many, Goal::Occupancy, algorithm), (1, 16 * 21), "{algorithm}");
        let (spilled, length) = spilled_and_length(&many, Goal::Throughput, algorithm);
        assert!(2 * spilled + length <= 2 * 16 + 36, "{algorithm}: {spilled} spills, {length} cycles");
        // A high price, and a region that fits.
        assert_eq!(spilled_and_length(&loads(16, 8, 1000), Goal::Throughput, algorithm), (1, 16 * 21));
        assert_eq!(spilled_and_length(&loads(16, 7, 2), Goal::Throughput, algorithm), (0, 16 * 21));
    }
}

#[test]
fn more_spills_give_the_fewest_cycles() {
    for price in [0, 1, 3, 5, 8, 13, 30] {
        let (kernel, target) = loads(4, 9, price);
        let [Some((least, _))] = fewest_cycles(&kernel, &target, 1)[..] else { panic!("one wave fits") };
        let (spilled, length) = spilled_and_length(&(kernel, target), Goal::Throughput, Algorithm::TWO_PASS);
        assert_eq!(u64::from(price * spilled + length), least, "price {price}");
    }
}
