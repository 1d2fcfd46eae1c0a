//! What the list schedulers promise: legal schedules always, optimal ones on trees, never worse than the
//! source order for `few-registers`.

use crate::made::or_in_ci;
use lowtide::algorithm::Algorithm;
use lowtide::analysis::pressure::{ReverseTracker, Tracker};
use lowtide::analysis::walk::{LiveGraph, PressureFields, Walk};
use lowtide::budget::Budget;
use lowtide::check::check;
use lowtide::generate::{self, Random, Shape};
use lowtide::list::baselines::CriticalPath;
use lowtide::list::engine::{self, Direction, Timing};
use lowtide::list::few_registers::few_registers;
use lowtide::list::latency_hiding::hide_latency;
use lowtide::list::sethi_ullman::{Clusters, Variant, policy, sethi_ullman};
use lowtide::list::tree::tree;
use lowtide::pipeline::run;
use lowtide::problem::{Goal, Problem};
use lowtide::region::{DepKind, InstrSpec, Region, RegionBuilder};
use lowtide::session::Session;
use lowtide::target::Target;
use lowtide::{ClassId, InstrId};

const WIDE: &str = "name='wide'\ndescription=''\n[issue]\nwidth=2\nunits=[{name='alu'},{name='mem',count=2}]\n\
                    [[file]]\nname='f'\nsize=64\ngranule=4\nwaves=8\nclasses=[{name='*',max=64}]\n";

fn vega() -> Target {
    Target::builtin("gfx906").unwrap()
}

fn peak(region: &Region, order: &[InstrId], class: ClassId) -> u32 {
    let mut tracker = Tracker::new(region);
    order.iter().for_each(|instr| tracker.schedule(*instr));
    tracker.peaks()[class.index()].between
}

/// The lowest peak of any order, by trying all downsets; written apart from everything it is used to test.
fn lowest_peak(region: &Region, class: ClassId) -> u32 {
    let count = region.len();
    assert!(count <= 14);
    let pressure = |set: usize| -> u32 {
        let values = region.values().iter().enumerate().filter(|(_, value)| value.class == class);
        let live = values.filter(|(position, value)| {
            let begun = value.def.is_none_or(|def| set >> def.0 & 1 == 1);
            let uses = region.value_uses(lowtide::ValueId::at(*position));
            begun && (value.live_out || uses.iter().any(|user| set >> user.0 & 1 == 0))
        });
        region.through(class) + live.map(|(_, value)| value.weight).sum::<u32>()
    };
    let mut best = vec![u32::MAX; 1 << count];
    best[0] = pressure(0);
    for set in 0..1usize << count {
        if best[set] == u32::MAX {
            continue;
        }
        for instr in region.instrs() {
            let bit = 1 << instr.0;
            let ready = set & bit == 0 && region.preds(instr).iter().all(|edge| set >> edge.instr.0 & 1 == 1);
            if ready {
                let after = best[set].max(pressure(set | bit));
                best[set | bit] = best[set | bit].min(after);
            }
        }
    }
    best[(1 << count) - 1]
}

/// A random forest of operations with results of different sizes, inputs used once, and results that stay.
fn random_forest(count: usize, random: &mut Random) -> Region {
    let mut builder = RegionBuilder::new("forest");
    let class = builder.class("vgpr");
    let mut open = Vec::new();
    for number in 0..count {
        let instr = builder.instr(InstrSpec::new("op", 1));
        let mut operands = random.below(4).min(open.len());
        if number + 1 == count && random.chance(70) {
            operands = open.len();
        }
        for _ in 0..operands {
            let (child, register) = open.swap_remove(random.below(open.len()));
            builder.uses(instr, register, 1);
            builder.depend(child, instr, DepKind::Data, 1);
        }
        if random.chance(30) {
            let input = builder.register(&format!("in{number}"), class, 1, 1 + random.below(6) as u32);
            builder.live_in(input, 1);
            builder.uses(instr, input, 1);
        }
        let result = builder.register(&format!("r{number}"), class, 1, 1 + random.below(6) as u32);
        builder.defs(instr, result, 1);
        if random.chance(15) {
            builder.live_out(result, 1);
        }
        open.push((instr, result));
    }
    builder.build().unwrap()
}

#[test]
fn trees_are_scheduled_optimally() {
    let target = vega();
    let mut random = Random::new(11);
    let mut plain_is_worse = 0;
    for _ in 0..4000 {
        let region = random_forest(1 + random.below(11), &mut random);
        let problem = Problem::new(&region, &target, Goal::MinReg).unwrap();
        let schedule = tree(&problem).expect("a forest");
        check(&region, &target, &schedule).unwrap();
        let optimum = lowest_peak(&region, ClassId(0));
        assert_eq!(peak(&region, schedule.order(), ClassId(0)), optimum);
        let plain = sethi_ullman(&problem, Variant::default());
        plain_is_worse += u32::from(peak(&region, plain.order(), ClassId(0)) > optimum);
    }
    assert!(
        plain_is_worse > 100,
        "different sizes and inputs make keeping subtrees together worse: {plain_is_worse}"
    );
}

#[test]
fn what_is_not_a_tree_is_not_taken_for_one() {
    let target = vega();
    let region = generate::region(Shape::SharedChains, 40, 1);
    assert!(tree(&Problem::new(&region, &target, Goal::MinReg).unwrap()).is_none());
}

/// On a tree of equal sizes without inputs, Algorithm 1 is Sethi and Ullman's algorithm and optimal.
#[test]
fn algorithm_1_is_optimal_on_plain_trees() {
    let target = vega();
    let mut random = Random::new(3);
    for _ in 0..2000 {
        let count = 1 + random.below(12);
        let mut builder = RegionBuilder::new("tree");
        let class = builder.class("vgpr");
        let mut open: Vec<(InstrId, lowtide::RegisterId)> = Vec::new();
        for number in 0..count {
            let instr = builder.instr(InstrSpec::new("op", 1));
            let left = count - number - 1;
            let most = if open.len() > left { open.len() } else { 3.min(open.len()) };
            let fewest = if open.len() > left { (open.len() - left).min(open.len()) } else { 0 };
            let operands = if left == 0 { open.len() } else { fewest.max(random.below(most + 1)) };
            for _ in 0..operands {
                let (child, register) = open.swap_remove(random.below(open.len()));
                builder.uses(instr, register, 1);
                builder.depend(child, instr, DepKind::Data, 1);
            }
            let result = builder.register(&format!("r{number}"), class, 1, 1);
            builder.defs(instr, result, 1);
            open.push((instr, result));
        }
        builder.live_out(open[0].1, 1);
        let region = builder.build().unwrap();
        let problem = Problem::new(&region, &target, Goal::MinReg).unwrap();
        let optimum = lowest_peak(&region, ClassId(0));
        for variant in [Variant::default(), Variant { rp_reduction: true, ..Variant::default() }] {
            let schedule = sethi_ullman(&problem, variant);
            assert_eq!(peak(&region, schedule.order(), ClassId(0)), optimum, "{variant:?}");
        }
    }
}

/// Paper 1, Figure 3: four chains tied together by values that each level shares. Chain by chain keeps all
/// shared values alive; level by level five registers do.
#[test]
fn clusters_untie_the_chains_of_figure_3() {
    let target = vega();
    let mut builder = RegionBuilder::new("figure 3");
    let class = builder.class("vgpr");
    let levels = 6;
    let shared: Vec<lowtide::RegisterId> = (0..levels)
        .map(|level| {
            let register = builder.register(&format!("s{level}"), class, 1, 1);
            let load = builder.instr(InstrSpec::new("shared", 1));
            builder.defs(load, register, 1);
            register
        })
        .collect();
    for number in 0..4 {
        let mut before = None;
        for (level, shared) in shared.iter().enumerate() {
            let instr = builder.instr(InstrSpec::new("link", 1));
            builder.uses(instr, *shared, 1);
            if let Some(before) = before {
                builder.uses(instr, before, 1);
            }
            let result = builder.register(&format!("c{number}.{level}"), class, 1, 1);
            builder.defs(instr, result, 1);
            before = Some(result);
        }
        before.into_iter().for_each(|result| builder.live_out(result, 1));
    }
    builder.depend_on_registers();
    let region = builder.build().unwrap();
    let problem = Problem::new(&region, &target, Goal::MinReg).unwrap();
    let peak_of = |variant| peak(&region, sethi_ullman(&problem, variant).order(), class);
    assert_eq!(peak_of(Variant { rp_reduction: true, clusters: Clusters::OfBest, adjust: false }), 5);
    assert_eq!(peak_of(Variant::default()), 9, "chain by chain");
    assert_eq!(peak(&region, &few_registers(&problem), class), 5);
}

#[test]
fn the_policies_leave_alone_what_cannot_be_improved() {
    let target = vega();
    let mut random = Random::new(17);
    let (mut changed, mut left) = (0, 0);
    for seed in 0..300 {
        let region = generate::region(random.pick(&Shape::ALL), 10 + random.below(100), seed);
        let problem = Problem::new(&region, &target, Goal::MinReg).unwrap();
        let source: Vec<InstrId> = region.instrs().collect();
        for clusters in [false, true] {
            let schedule = policy(&problem, clusters, 6);
            let (before, after) =
                (peak(&region, &source, ClassId(0)), peak(&region, schedule.order(), ClassId(0)));
            if schedule.order() == source {
                left += 1;
            } else {
                changed += 1;
                assert!(before > 6 && after < before);
            }
            assert_eq!(policy(&problem, clusters, 1000).order(), source, "the peak is below the threshold");
        }
    }
    assert!(changed > 50 && left > 50, "{changed} changed, {left} left");
}

/// The independent checker accepts every algorithm on 100 thousand random graphs, 15 thousand where CI limits
/// the time (searches on a fifth of them). `few-registers` is never worse than its input, and `auto` is never
/// worse than the source order for its goal.
#[test]
fn every_schedule_of_every_algorithm_is_legal() {
    let graphs = or_in_ci(100_000, 15_000);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let targets = [vega(), Target::parse(WIDE).unwrap()];
                for seed in (thread..graphs).step_by(threads) {
                    let mut random = Random::new(seed as u64);
                    let most = if random.chance(5) { 60 } else { 18 };
                    let size = 1 + random.below(most);
                    let region = match random.below(7) {
                        6 => generate::register_program(size, random.bits()),
                        shape => generate::region(Shape::ALL[shape], size, random.bits()),
                    };
                    let goal = random.pick(&[Goal::MinReg, Goal::Occupancy, Goal::Length]);
                    let target = &targets[usize::from(random.chance(20))];
                    let problem = Problem::new(&region, target, goal).unwrap();
                    let problem = if random.chance(20) { problem.with_register_limit(6) } else { problem };
                    every_algorithm(&problem, seed % 5 == 0);
                }
            });
        }
    });
}

fn every_algorithm(problem: &Problem, with_searches: bool) {
    let few = Budget { nodes: Some(300), ..Budget::UNLIMITED };
    // A group of ants makes a choice for every instruction of every schedule.
    let for_ants = Budget { nodes: Some(3_000), ..Budget::UNLIMITED };
    let source = run(problem, Algorithm::SOURCE, few, &Session::new()).unwrap();
    let before = problem.measure(&source);
    for &algorithm in Algorithm::ALL {
        let searches = [
            Algorithm::TWO_PASS,
            Algorithm::TWO_PASS_PAPER,
            Algorithm::WEIGHTED,
            Algorithm::EXACT,
            Algorithm::COLONY,
        ];
        if searches.contains(&algorithm) && !with_searches {
            continue; // these take most of the time
        }
        let budget = if algorithm == Algorithm::COLONY { for_ants } else { few };
        let schedule = run(problem, algorithm, budget, &Session::new()).unwrap();
        let report = check(problem.region(), problem.target(), &schedule).unwrap_or_else(|violations| {
            panic!("{} on {}: {violations:?}", algorithm.name(), problem.region().name())
        });
        let measure = problem.measure(&schedule);
        assert_eq!((report.peaks, report.length), (measure.peaks.clone(), measure.length));
        let class = problem.primary_class().index();
        if algorithm == Algorithm::FEW_REGISTERS {
            assert!(measure.peaks[class].between <= before.peaks[class].between);
        }
        if algorithm == Algorithm::AUTO {
            assert!(problem.cost(&measure) <= problem.cost(&before));
        }
    }
}

/// `few-registers` against the optimum on small graphs: what it misses, it must say so by other means; here
/// the share is kept in check.
#[test]
fn default_is_nearly_always_optimal_on_small_graphs() {
    let target = vega();
    let mut random = Random::new(23);
    let (mut optimal, mut all) = (0, 0);
    for seed in 0..3000 {
        let region = generate::region(random.pick(&Shape::ALL), 1 + random.below(12), seed);
        if region.len() > 14 {
            continue;
        }
        let problem = Problem::new(&region, &target, Goal::MinReg).unwrap();
        let found = peak(&region, &few_registers(&problem), ClassId(0));
        let optimum = lowest_peak(&region, ClassId(0));
        assert!(found >= optimum);
        all += 1;
        optimal += u32::from(found == optimum);
    }
    assert!(f64::from(optimal) >= 0.995 * f64::from(all), "{optimal} of {all}");
}

#[test]
fn latency_hiding_keeps_its_limits_and_hides() {
    let target = vega();
    let mut random = Random::new(29);
    let (mut before, mut after, mut skipped) = (0, 0, 0);
    for seed in 0..400 {
        let region = generate::region(random.pick(&Shape::ALL), 10 + random.below(150), seed);
        let problem = Problem::new(&region, &target, Goal::Length).unwrap();
        let order = few_registers(&problem);
        let lowest = lowtide::schedule::Schedule::in_order(&problem, order.clone());
        let peaks = problem.measure(&lowest).peaks;
        let spare = random.below(12) as u32;
        let limits: Vec<u32> = peaks.iter().map(|peak| peak.between + spare).collect();
        let schedule = hide_latency(&problem, &order, &limits);
        let report = check(&region, &target, &schedule).unwrap();
        for (peak, limit) in report.peaks.iter().zip(&limits) {
            assert!(peak.between <= *limit, "{} over {limit}", peak.between);
        }
        before += lowest.length();
        after += report.length;
        // A limit below the first order's peak cannot be kept: the order stays as it is.
        if peaks[0].between > 1 {
            let impossible = vec![peaks[0].between - 1; peaks.len()];
            skipped += 1;
            assert_eq!(hide_latency(&problem, &order, &impossible).order(), order);
        }
    }
    assert!(f64::from(after) < 0.8 * f64::from(before), "{before} -> {after} cycles");
    assert!(skipped > 300);
}

#[test]
fn each_choice_is_explained() {
    let target = vega();
    let region = generate::region(Shape::Layered, 30, 2);
    let problem = Problem::new(&region, &target, Goal::Length).unwrap();
    let mut decisions = Vec::new();
    let mut policy = CriticalPath::new(&problem);
    let schedule =
        engine::run(&problem, Direction::TopDown, Timing::Cycles, &mut policy, Some(&mut decisions));
    let explained: Vec<InstrId> = decisions.iter().map(|decision| decision.instr).collect();
    assert_eq!(explained, schedule.order());
    assert!(decisions.iter().any(|decision| decision.reason.starts_with("longest path to the end: ")));
    assert!(decisions.iter().any(|decision| decision.reason == "the only candidate"));
    let again =
        engine::run(&problem, Direction::TopDown, Timing::Cycles, &mut CriticalPath::new(&problem), None);
    assert_eq!(again, schedule, "explaining changes nothing");
}

/// Both trackers, and walks in both directions, see the same pressure at every boundary of an order.
#[test]
fn pressure_is_the_same_from_both_ends() {
    let mut random = Random::new(31);
    for seed in 0..600 {
        let region = match seed % 2 {
            0 => generate::region(random.pick(&Shape::ALL), 1 + random.below(60), seed),
            _ => generate::register_program(1 + random.below(40), seed),
        };
        let order = generate::random_order(&region, &mut random);
        let class = ClassId(random.below(2) as u8);
        let mut forward = Tracker::new(&region);
        let mut boundaries = vec![forward.now(class)];
        for &instr in &order {
            forward.schedule(instr);
            boundaries.push(forward.now(class));
        }
        let mut backward = ReverseTracker::new(&region);
        for (position, &instr) in order.iter().enumerate().rev() {
            assert_eq!(backward.now(class), boundaries[position + 1]);
            let mut change = [0; 2];
            backward.delta(instr, &mut change);
            backward.schedule(instr);
            assert_eq!(backward.now(class), boundaries[position]);
            let expected = i64::from(boundaries[position]) - i64::from(boundaries[position + 1]);
            assert_eq!(i64::from(change[class.index()]), expected);
        }
        for direction in [Direction::TopDown, Direction::BottomUp] {
            let graph = LiveGraph::new(&region, direction, &PressureFields::one(&region, class));
            let mut walk = Walk::new(&graph);
            let count = order.len();
            let at = |step: usize| match direction {
                Direction::TopDown => i64::from(boundaries[step]),
                Direction::BottomUp => i64::from(boundaries[count - step]),
            };
            let instr = |step: usize| match direction {
                Direction::TopDown => order[step].0,
                Direction::BottomUp => order[count - step - 1].0,
            };
            // Back and forth, so that taking back is tested as much as adding.
            let mut step = 0;
            while step < count {
                assert_eq!(walk.live(), at(step));
                if step > 0 && random.chance(30) {
                    let back = 1 + random.below(step.min(5));
                    walk.undo_to(step - back);
                    step -= back;
                    assert_eq!(walk.live(), at(step));
                }
                assert!(walk.ready().contains(&instr(step)));
                assert_eq!(walk.delta(instr(step)), at(step + 1) - at(step));
                walk.push(instr(step));
                step += 1;
            }
            assert!(walk.is_complete());
            walk.restart();
            walk.take_free_moves();
            assert!(walk.ready().iter().all(|&instr| walk.delta(instr) > 0), "no free move is left");
        }
    }
}
