//! The branch and bound of paper 2 as published, against brute force; and the paper's example.

use crate::made::{Machine, Small, all_orders, or_in_ci, regions, retimed, seven};
use lowtide::InstrId;
use lowtide::algorithm::{Algorithm, Tuning};
use lowtide::budget::Budget;
use lowtide::check::{check, check_order};
use lowtide::generate::Random;
use lowtide::pipeline::{Options, schedule_kernel};
use lowtide::problem::{Goal, Problem};
use lowtide::region::{Kernel, Region};
use lowtide::schedule::Schedule;
use lowtide::session::Session;
use lowtide::target::Target;
use lowtide::twopass::published::{Found, Pruning, schedule};

/// What instructions need; the target may or may not have the units.
const UNITS: [&[(&str, u32)]; 4] = [&[], &[("a", 1)], &[("a", 3)], &[("b", 2)]];

const UNITS_OF_TARGET: &str = "units = [{ name = \"a\" }, { name = \"b\", count = 2 }]";

/// Small files with many steps, so that small regions differ.
fn target(issue: &str, files: &str) -> Target {
    let text = format!("name = \"small\"\ndescription = \"for tests\"\n[issue]\n{issue}\n{files}");
    Target::parse(&text).expect("a valid target")
}

const SEPARATE: &str = "\
    [[file]]\nname = \"vector\"\nsize = 48\ngranule = 2\nwaves = 8\nclasses = [{ name = \"vgpr\", max = 24 }]\n\
    [[file]]\nname = \"scalar\"\nsize = 60\ngranule = 4\nwaves = 8\nclasses = [{ name = \"sgpr\", max = 20 }]\n\
    [[file]]\nname = \"matrix\"\nsize = 40\ngranule = 1\nwaves = 8\nclasses = [{ name = \"agpr\", max = 16 }]\n";

/// Three classes in one file, and one that is spilled into lanes of another.
const COUPLED: &str = "\
    [[file]]\nname = \"vector\"\nsize = 40\ngranule = 1\nwaves = 20\n\
    classes = [{ name = \"vgpr\", max = 24, align = 2 }, { name = \"agpr\", max = 16 }]\n\
    [[file]]\nname = \"scalar\"\nsize = 60\ngranule = 1\nwaves = 20\n\
    classes = [{ name = \"sgpr\", max = 3, spill = { class = \"vgpr\", lanes = 2 } }]\n";

fn problem<'a>(region: &'a Region, target: &'a Target) -> Problem<'a> {
    Problem::new(region, target, Goal::Occupancy).expect("the target has all classes")
}

fn peaks(region: &Region, order: &[InstrId]) -> Vec<u32> {
    let peaks = check_order(region, order).expect("a legal order");
    peaks.iter().map(|peak| peak.between).collect()
}

/// Registers spilled into memory, and waves below the most.
fn cost(problem: &Problem, peaks: &[u32], most: u32) -> (u32, u32) {
    let registers = problem.registers();
    (registers.spilled_to_memory(peaks), most.saturating_sub(registers.occupancy(peaks)))
}

/// All techniques, and another choice. Larger regions end soon only if at most one technique is missing.
fn every_pruning(region: &Region, random: &mut Random) -> [Pruning; 2] {
    let mut is_on = [true; 4];
    match region.len() <= 4 {
        true => is_on.iter_mut().for_each(|is_on| *is_on = random.chance(50)),
        false => is_on[random.below(4)] = false,
    }
    let [ranges, bound, pressure, history] = is_on;
    [Pruning::ALL, Pruning { ranges, bound, pressure, history }]
}

/// The length of a result, which the checker confirms.
fn length(problem: &Problem, found: &Found) -> u32 {
    let made = Schedule::in_order(problem, found.order.clone());
    check(problem.region(), problem.target(), &made).expect("a legal schedule").length
}

/// Where files are separate, a schedule keeps its waves if every moment does.
#[test]
fn both_passes_find_the_optimum() {
    let mut random = Random::new(7);
    let issues = ["width = 1".to_string(), "width = 2".to_string(), format!("width = 1\n{UNITS_OF_TARGET}")];
    let targets = issues.map(|issue| target(&issue, SEPARATE));
    let (mut runs, mut improved, mut shorter, mut limited) = (0, 0, 0, 0);
    let (count, least) = or_in_ci((90, [2_000, 50, 500, 300]), (60, [1_400, 40, 350, 200]));
    for region in regions(0..count, 6) {
        let region = retimed(&region, &UNITS, &mut random);
        let small = Small::new(&region, &[]);
        let target = &targets[random.below(targets.len())];
        let problem = problem(&region, target);
        let machine = Machine::new(&region, target);
        let most = 1 + random.below(8) as u32;
        let best = small.all_peaks().iter().map(|peaks| cost(&problem, peaks, most)).min().expect("an order");
        let is_fine = |pressure: &[u32]| cost(&problem, pressure, most - best.1).1 == 0;
        let shortest = machine.shortest(&small, |pressure| {
            is_fine(pressure) && problem.registers().spilled_to_memory(pressure) == 0
        });
        for pruning in every_pruning(&region, &mut random) {
            let source: Vec<InstrId> = region.instrs().collect();
            let first = cost(&problem, &peaks(&region, &source), most);
            let (waves, found) =
                schedule(std::slice::from_ref(&problem), vec![source], most, pruning, Budget::UNLIMITED);
            let found = &found[0];
            let after = cost(&problem, &peaks(&region, &found.order), most);
            let text = || format!("{} with {pruning:?}", region.name());
            assert_eq!(found.is_improved, best < first, "{}", text());
            assert!(found.waves_bound.is_none_or(|bound| bound >= most - best.1), "{}", text());
            if best.0 == 0 {
                assert_eq!((after, waves), (best, most - best.1), "{}", text());
                assert_eq!(Some(length(&problem, found)), shortest, "{}", text());
                assert_eq!(Some(found.length_bound.max(length(&problem, found))), shortest, "{}", text());
            }
            runs += 1;
            improved += u32::from(found.is_improved);
            shorter += u32::from(length(&problem, found) < found.start_length);
            limited += u32::from(best.1 > 0);
        }
    }
    println!("{runs} runs, {improved} improved, {shorter} shorter, {limited} limited by registers");
    let found = [runs, improved, shorter, limited];
    assert!(found.iter().zip(&least).all(|(found, least)| found > least), "{found:?}");
}

/// Where classes share a file, or are spilled into lanes, only whole orders tell.
#[test]
fn both_passes_find_the_optimum_where_classes_depend_on_each_other() {
    let mut random = Random::new(8);
    let targets = [target("width = 1", COUPLED), target("width = 2", COUPLED)];
    let (mut runs, mut in_lanes) = (0, 0);
    for region in regions(0..120, 5) {
        let region = retimed(&region, &UNITS, &mut random);
        let target = &targets[random.below(targets.len())];
        let problem = problem(&region, target);
        let most = 1 + random.below(20) as u32;
        let mut all = Vec::new();
        all_orders(&region, &mut Vec::new(), &mut |order| {
            let length = Schedule::in_order(&problem, order.to_vec()).length();
            all.push((cost(&problem, &peaks(&region, order), most), length));
        });
        let (best, _) = *all.iter().min().expect("an order");
        for pruning in every_pruning(&region, &mut random) {
            let source: Vec<InstrId> = region.instrs().collect();
            let (waves, found) =
                schedule(std::slice::from_ref(&problem), vec![source], most, pruning, Budget::UNLIMITED);
            let found = &found[0];
            let text = || format!("{} with {pruning:?}", region.name());
            let measure = problem.measure(&Schedule::in_order(&problem, found.order.clone()));
            assert_eq!(waves, most - best.1, "{}", text());
            assert_eq!(cost(&problem, &peaks(&region, &found.order), most), best, "{}", text());
            let as_good = all.iter().filter(|(cost, _)| cost.0 <= best.0 && cost.1 <= best.1);
            let shortest = as_good.map(|(_, length)| *length).min();
            assert_eq!(Some(length(&problem, found)), shortest, "{}", text());
            runs += 1;
            in_lanes += u32::from(measure.spilled > 0 && best.0 == 0);
        }
    }
    println!("{runs} runs, {in_lanes} with registers in lanes");
    assert!(runs > 2_000 && in_lanes > 100);
}

/// A budget that ends the search leaves legal schedules that are no worse than the start, and true bounds.
#[test]
fn a_small_budget_keeps_the_start() {
    let mut random = Random::new(9);
    let target = target("width = 1", SEPARATE);
    for region in regions(0..40, 8) {
        let region = retimed(&region, &UNITS, &mut random);
        let problem = problem(&region, &target);
        let source: Vec<InstrId> = region.instrs().collect();
        let budget = Budget { nodes: Some(random.below(30) as u64), ..Budget::UNLIMITED };
        let start = cost(&problem, &peaks(&region, &source), 8);
        let start_length = Schedule::in_order(&problem, source.clone()).length();
        let (_, found) = schedule(std::slice::from_ref(&problem), vec![source], 8, Pruning::ALL, budget);
        let (_, proven) = schedule(
            std::slice::from_ref(&problem),
            vec![found[0].order.clone()],
            8,
            Pruning::ALL,
            Budget::UNLIMITED,
        );
        let after = cost(&problem, &peaks(&region, &found[0].order), 8);
        assert!(after <= start, "{}", region.name());
        if !found[0].is_improved {
            assert!(length(&problem, &found[0]) <= start_length, "{}", region.name());
        }
        if after == cost(&problem, &peaks(&region, &proven[0].order), 8) {
            assert!(found[0].length_bound <= length(&problem, &proven[0]), "{}", region.name());
        }
    }
}

/// Figure 1: the first pass finds a peak of 3, whose order needs 13 cycles with stalls; the second pass finds
/// the 10 cycles that are the fewest with a peak of 3. The bound on the length is 8.
#[test]
fn the_example_of_the_paper() {
    let region = seven();
    // Every peak has its own number of waves.
    let file = "[[file]]\nname = \"f\"\nsize = 60\ngranule = 1\nwaves = 60\nclasses = [{ name = \"r\", max = 60 }]\n";
    let target = target("width = 1", file);
    let problem = problem(&region, &target);
    let order = |names: &str| -> Vec<InstrId> {
        names.bytes().map(|name| InstrId::at(usize::from(name - b'A'))).collect()
    };
    let run = |start: &str| {
        let (waves, found) =
            schedule(std::slice::from_ref(&problem), vec![order(start)], 60, Pruning::ALL, Budget::UNLIMITED);
        (waves, found.into_iter().next().expect("one region"))
    };
    // The order of Figure 1.b, left: 8 cycles with a peak of 4.
    assert_eq!(Schedule::in_order(&problem, order("ABCDEFG")).length(), 8);
    let (waves, found) = run("ABCDEFG");
    assert_eq!((waves, found.is_improved, found.waves_bound), (20, true, Some(20)));
    assert_eq!(peaks(&region, &found.order), [3]);
    assert_eq!((length(&problem, &found), found.length_bound), (10, 10));
    // The order of Figure 1.c, left, with its stalls: 13 cycles.
    let (_, found) = run("CDFABEG");
    assert_eq!((found.start_length, found.is_improved), (13, false));
    assert_eq!((length(&problem, &found), found.length_bound), (10, 10));
    // Without a bound on the pressure, the length of 9 alone takes the search longer.
    let unpruned = schedule(
        std::slice::from_ref(&problem),
        vec![order("CDFABEG")],
        60,
        Pruning::NONE,
        Budget::UNLIMITED,
    );
    assert!(unpruned.1[0].nodes[1] > 2 * found.nodes[1]);
}

/// The target of a kernel falls to the waves of its worst region, and the second pass uses that.
#[test]
fn regions_of_a_kernel_share_the_waves() {
    let mut random = Random::new(10);
    let target = target("width = 1", SEPARATE);
    let session = Session::new();
    let all: Vec<Region> = regions(0..30, 7).map(|region| retimed(&region, &UNITS, &mut random)).collect();
    for pair in all.chunks(2) {
        let kernel = Kernel::new("pair", pair.to_vec());
        let options = Options::default().with_algorithm(Algorithm::TWO_PASS_PAPER);
        let ours = options.with_algorithm(Algorithm::TWO_PASS);
        let [paper, ours] = [options, ours]
            .map(|options| schedule_kernel(&kernel, &target, &options, &session).expect("a legal schedule"));
        let lengths = |outcome: &lowtide::outcome::KernelOutcome| -> Vec<u32> {
            outcome.regions.iter().map(|region| region.measure.length).collect()
        };
        let spills = |outcome: &lowtide::outcome::KernelOutcome| {
            outcome.regions.iter().any(|region| region.measure.spilled > 0)
        };
        if !spills(&paper) && !spills(&ours) {
            assert_eq!(paper.occupancy, ours.occupancy);
            assert_eq!(lengths(&paper), lengths(&ours));
        }
        let capped = options.with_waves(Some(2)).with_tuning(Tuning::default());
        let capped = schedule_kernel(&kernel, &target, &capped, &session).expect("a legal schedule");
        assert!(capped.occupancy <= 2 && capped.occupancy_bound <= 2);
        let total = |outcome| lengths(outcome).iter().sum::<u32>();
        assert!(spills(&paper) || total(&capped) <= total(&paper), "fewer waves are no limit on the length");
    }
}
