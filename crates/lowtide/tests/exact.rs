//! The exact search against brute force, against itself with rules switched off, and against its promises on
//! effort.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::made::{Code, Made, Small, fits, regions};
use lowtide::budget::Budget;
use lowtide::check::bound::check_cut;
use lowtide::check::check_order;
use lowtide::generate::{self, Random, Shape, families};
use lowtide::list::few_registers::few_registers;
use lowtide::list::tree::tree;
use lowtide::minreg::Rules;
use lowtide::minreg::exact::{Answer, Decision, Options, minimise, within};
use lowtide::problem::{Goal, Problem};
use lowtide::proof::Reason;
use lowtide::region::Region;
use lowtide::target::Target;
use lowtide::{ClassId, InstrId, RegisterId, ValueId};

const UNBOUNDED: Budget = Budget::UNLIMITED;

fn options(rules: Rules, nodes: Option<u64>, threads: usize) -> Options<'static> {
    Options { rules, ..Options::new(Budget { nodes, threads, ..UNBOUNDED }) }
}

/// The rules whose bits are set.
fn rules(bits: u32) -> Rules {
    let is_on = |position: u32| bits >> position & 1 == 1;
    Rules {
        free_moves: is_on(0),
        commit: is_on(1),
        split: is_on(2),
        memory: is_on(3),
        cuts: is_on(4),
        forced_order: is_on(5),
        superiority: is_on(6),
        skeletons: is_on(7),
    }
}

const ALL_RULES: u32 = 0xff;
const MEMORY: u32 = 1 << 3;
const FORCED_ORDER: usize = 5;
const SKELETONS: usize = 7;
const RULE_NAMES: [&str; 8] =
    ["free moves", "commit", "split", "memory", "cuts", "forced order", "superiority", "skeletons"];

fn source(region: &Region) -> Vec<InstrId> {
    region.instrs().collect()
}

/// The peaks of an order, by the checker, which also finds it legal.
fn peaks(region: &Region, order: &[InstrId]) -> Vec<u32> {
    let peaks = check_order(region, order).unwrap_or_else(|faults| panic!("{}: {faults:?}", region.name()));
    peaks.iter().map(|peak| peak.between).collect()
}

/// Some classes get a limit, at or around what a random order needs.
fn random_limits(region: &Region, start: &[u32], random: &mut Random) -> Vec<Option<u32>> {
    region
        .class_ids()
        .map(|class| {
            let most = start[class.index()] + u32::from(random.chance(30));
            random.chance(60).then(|| most.saturating_sub(random.below(4) as u32))
        })
        .collect()
}

fn assert_optimal(region: &Region, class: ClassId, limits: &[Option<u32>], answer: &Answer, optimum: u32) {
    let name = region.name();
    assert_eq!((answer.peak, answer.bound), (optimum, optimum), "{name} {class} {limits:?}");
    let peaks = peaks(region, &answer.order);
    assert_eq!(peaks[class.index()], optimum, "{name} {class} {limits:?}");
    let others = limits.iter().enumerate().map(|(other, limit)| limit.filter(|_| other != class.index()));
    assert!(fits(&peaks, &others.collect::<Vec<_>>()), "{name} {class} {limits:?}: {peaks:?}");
    if let Reason::Cut(moment) = answer.reason {
        assert_eq!(check_cut(region, class, moment, answer.bound), Ok(()), "{name} {class}");
    }
}

#[test]
fn the_optimum_is_that_of_brute_force() {
    let mut random = Random::new(1);
    let (mut graphs, mut asked, mut by_search, mut with_limits) = (0, 0, 0, 0);
    let (mut possible, mut impossible) = (0, 0);
    for region in regions(0..1300, 12) {
        graphs += 1;
        let small = Small::new(&region, &[]);
        let start = generate::random_order(&region, &mut random);
        let start_peaks = peaks(&region, &start);
        for class in region.class_ids() {
            let no_limits = vec![None; start_peaks.len()];
            let mut other_limits = random_limits(&region, &start_peaks, &mut random);
            other_limits[class.index()] = None;
            // A start within the limits is needed; here the order itself says what they are, at least.
            for (limit, peak) in other_limits.iter_mut().zip(&start_peaks) {
                *limit = limit.map(|limit| limit.max(*peak));
            }
            let is_limited = other_limits.iter().any(Option::is_some);
            for limits in [no_limits, other_limits].into_iter().take(1 + usize::from(is_limited)) {
                let optimum = small.lowest(class.index(), &limits).expect("the start is one");
                let answer = minimise(&region, class, &limits, &start, options(Rules::ALL, None, 1));
                assert_optimal(&region, class, &limits, &answer, optimum);
                asked += 1;
                by_search += u32::from(answer.nodes > 0);
                with_limits += u32::from(limits.iter().any(Option::is_some));
            }
        }
        let limits = random_limits(&region, &start_peaks, &mut random);
        let exists = small.lowest(0, &limits).is_some();
        assert_decided(&region, &limits, &start, Rules::ALL, exists);
        *if exists { &mut possible } else { &mut impossible } += 1;
    }
    println!("{graphs} graphs, {asked} optima: {by_search} by search, {with_limits} with limits");
    println!("{possible} vectors of limits are possible, {impossible} are not");
    assert!(
        graphs >= 20_000 && by_search > 1_000 && with_limits > 5_000,
        "{graphs} {by_search} {with_limits}"
    );
    assert!(possible > 3_000 && impossible > 3_000, "{possible} {impossible}");
}

fn assert_decided(region: &Region, limits: &[Option<u32>], start: &[InstrId], rules: Rules, exists: bool) {
    match within(region, limits, start, options(rules, None, 1)) {
        Decision::Yes(order) => {
            assert!(exists, "{} {limits:?}", region.name());
            assert!(fits(&peaks(region, &order), limits), "{} {limits:?}", region.name());
        }
        Decision::No(reason) => {
            assert!(!exists, "{} {limits:?}", region.name());
            if let Reason::Cut(moment) = reason {
                let proves = |class: ClassId| {
                    limits[class.index()]
                        .is_some_and(|limit| check_cut(region, class, moment, limit + 1).is_ok())
                };
                assert!(region.class_ids().any(proves), "{} {limits:?} {moment:?}", region.name());
            }
        }
        Decision::Unknown => panic!("{} {limits:?}: open without a limit on the effort", region.name()),
    }
}

/// Every set of rules, and random ones on more graphs: the optimum is the same.
#[test]
fn rules_do_not_change_the_optimum() {
    let mut random = Random::new(2);
    let mut asked = 0;
    let every = regions(0..30, 8).map(|region| (region, (0..=ALL_RULES).collect::<Vec<u32>>()));
    let picked: Vec<u32> = (0..8000).map(|_| random.bits() as u32 & ALL_RULES).collect();
    let mut picked = picked.into_iter();
    let few = regions(10_000..10_200, 12).map(|region| {
        // Without memory, all orders are tried.
        let memory = if region.len() > 9 { MEMORY } else { 0 };
        (region, picked.by_ref().take(2).map(|rules| rules | memory).collect())
    });
    let mut random = Random::new(3);
    for (region, sets) in every.chain(few) {
        let small = Small::new(&region, &[]);
        let start = generate::random_order(&region, &mut random);
        let start_peaks = peaks(&region, &start);
        let class = ClassId::at(random.below(start_peaks.len()));
        let limits = random_limits(&region, &start_peaks, &mut random);
        let exists = small.lowest(0, &limits).is_some();
        let mut other_limits = vec![None; start_peaks.len()];
        if random.chance(40) {
            other_limits = start_peaks.iter().map(|&peak| random.chance(70).then_some(peak)).collect();
            other_limits[class.index()] = None;
        }
        let optimum = small.lowest(class.index(), &other_limits).expect("the start is one");
        for bits in sets {
            let rules = rules(bits);
            let answer = minimise(&region, class, &other_limits, &start, options(rules, None, 1));
            assert_optimal(&region, class, &other_limits, &answer, optimum);
            assert_decided(&region, &limits, &start, rules, exists);
            asked += 1;
        }
    }
    println!("{asked} optima");
    assert!(asked > 30_000, "{asked}");
}

/// A rule that never applies would pass every test: each one has to change the way of the search often
/// enough. All rules against all but one, and this one alone against none.
#[test]
fn every_rule_applies() {
    let mut random = Random::new(4);
    let mut fired = [[0u32; 2]; 8];
    let mut graphs = 0;
    let smaller = regions(100..140, 10).filter(|region| region.len() >= 8).map(|region| (region, 0));
    let larger = regions(0..40, 14).filter(|region| region.len() >= 12).chain(middle_sized(24));
    for (region, base) in smaller.chain(larger.map(|region| (region, ALL_RULES))) {
        graphs += 1;
        let start = generate::random_order(&region, &mut random);
        let nodes = |bits: u32| {
            let answer = minimise(&region, ClassId(0), &[], &start, options(rules(bits), Some(4_000_000), 1));
            assert!(answer.bound <= answer.peak && (bits & MEMORY == 0 || answer.bound == answer.peak));
            (answer.bound, answer.peak, answer.nodes)
        };
        let (_, optimum, plain) = nodes(base);
        for (rule, fired) in fired.iter_mut().enumerate() {
            let (bound, peak, other) = nodes(base ^ 1 << rule);
            let name = RULE_NAMES[rule];
            assert!(bound <= optimum && optimum <= peak, "{} with another {name}", region.name());
            fired[usize::from(base == 0)] += u32::from(other != plain);
        }
    }
    // Forced orders and skeletons are looked for where the first turn was not enough.
    for region in families::hard() {
        graphs += 1;
        let nodes = |bits| {
            let options = options(rules(bits), Some(1_000_000), 1);
            minimise(&region, ClassId(0), &[], &source(&region), options).nodes
        };
        for rule in [FORCED_ORDER, SKELETONS] {
            fired[rule][0] += u32::from(nodes(ALL_RULES) != nodes(ALL_RULES ^ 1 << rule));
        }
    }
    for (name, [without, alone]) in RULE_NAMES.iter().zip(fired) {
        println!("{name}: its absence changes {without}, it alone changes {alone} of {graphs} searches");
        assert!(without >= 5, "{name}: {without}");
    }
}

/// Regions of 18 to 64 instructions that take a real search.
fn middle_sized(seeds: u64) -> impl Iterator<Item = Region> {
    (0..seeds).flat_map(|seed| {
        let size = 18 + seed as usize % 24;
        let shapes = Shape::ALL.map(|shape| generate::region(shape, size, seed));
        let made = Made::ALL.map(|made| made.region(size, seed));
        let layers = [(size, 6), (size + 10, 7), (size + 20, 9)];
        let layers = layers.map(|(nodes, width)| families::layered(nodes, width, seed));
        shapes.into_iter().chain(made).chain(layers).filter(|region| region.len() <= 64)
    })
}

/// The lowest peak of a class, level by level over all downsets; none if there are too many of them.
fn lowest_by_levels(region: &Region, class: ClassId, most: usize) -> Option<u32> {
    let bit = |instr: InstrId| 1u64 << instr.0;
    let mut waits_for = vec![0u64; region.len()];
    region.deps().iter().for_each(|dep| waits_for[dep.to.index()] |= bit(dep.from));
    let values: Vec<(u64, u64, u32)> = (0..)
        .zip(region.values())
        .filter(|(_, value)| value.class == class)
        .map(|(position, value)| {
            let users = region.value_uses(ValueId::at(position)).iter().fold(0, |set, &user| set | bit(user));
            // What stays is needed by more than there are instructions.
            let def = value.def.map_or(0, bit);
            (def, if value.live_out { u64::MAX } else { users }, value.weight)
        })
        .collect();
    let all = u64::MAX >> (64 - region.len());
    let pressure = |set: u64| -> u32 {
        let is_live = |&&(def, users, _): &&(u64, u64, u32)| {
            def & !set == 0 && (users == u64::MAX || users & !set != 0)
        };
        region.through(class) + values.iter().filter(is_live).map(|(_, _, weight)| weight).sum::<u32>()
    };
    let mut level = BTreeMap::from([(0u64, pressure(0))]);
    let mut total = 0;
    for _ in region.instrs() {
        let mut next: BTreeMap<u64, u32> = BTreeMap::new();
        for (&set, &so_far) in &level {
            for instr in region.instrs().filter(|&i| set & bit(i) == 0 && waits_for[i.index()] & !set == 0) {
                let peak = next.entry(set | bit(instr)).or_insert(u32::MAX);
                *peak = (*peak).min(so_far);
            }
        }
        total += next.len();
        if total > most {
            return None;
        }
        next.iter_mut().for_each(|(&set, peak)| *peak = (*peak).max(pressure(set)));
        level = next;
    }
    level.get(&all).copied()
}

/// The same as for small regions, where searches are long enough for turns, forced orders and cuts on the
/// way.
#[test]
fn the_optimum_of_middle_sized_regions_is_that_of_all_downsets() {
    let mut random = Random::new(5);
    let (mut solved, mut searched, mut unfinished) = (0, 0, 0);
    for region in middle_sized(40) {
        for class in region.class_ids() {
            let Some(optimum) = lowest_by_levels(&region, class, 20_000) else { continue };
            let start = generate::random_order(&region, &mut random);
            let answer = minimise(&region, class, &[], &start, options(Rules::ALL, None, 1));
            let no_limits = vec![None; region.classes().len()];
            assert_optimal(&region, class, &no_limits, &answer, optimum);
            solved += 1;
            searched += u32::from(answer.nodes > 100);
            for _ in 0..3 {
                let bits = random.bits() as u32 & ALL_RULES;
                let answer = minimise(&region, class, &[], &start, options(rules(bits), Some(1_000_000), 1));
                let text = format!("{} {class} {bits:x}: {}..{}", region.name(), answer.bound, answer.peak);
                assert!(answer.bound <= optimum && optimum <= answer.peak, "{text}, not {optimum}");
                unfinished += u32::from(answer.bound < answer.peak);
            }
        }
    }
    println!("{solved} optima, {searched} by more than 100 states; {unfinished} unfinished with fewer rules");
    assert!(solved > 400 && searched > 40, "{solved} {searched}");
}

/// What holds for every answer, whatever the effort was.
fn assert_true(region: &Region, class: ClassId, start: u32, answer: &Answer) {
    let peaks = peaks(region, &answer.order);
    assert_eq!(peaks[class.index()], answer.peak, "{}", region.name());
    assert!(answer.bound <= answer.peak && answer.peak <= start, "{}", region.name());
    if let Reason::Cut(moment) = answer.reason {
        assert_eq!(check_cut(region, class, moment, answer.bound), Ok(()), "{}", region.name());
    }
}

/// The same budget gives the same answer, with one thread or two, again and again; and what different budgets
/// say never contradicts.
#[test]
fn answers_follow_from_the_budget_alone() {
    let (mut unfinished, mut searched, mut falling, mut rising) = (0, 0, 0, 0);
    let shapes = Shape::ALL
        .into_iter()
        .flat_map(|shape| (0..3).map(move |seed| generate::region(shape, 60 + 70 * seed as usize, seed)));
    let made = (0..12).flat_map(|seed| Made::ALL.map(|made| made.region(20 + 4 * seed as usize, seed)));
    for region in families::hard().into_iter().chain(shapes).chain(made) {
        let class = ClassId(0);
        let start = source(&region);
        let start_peak = peaks(&region, &start)[class.index()];
        let mut last: Option<Answer> = None;
        let (mut lowest, mut highest) = (u32::MAX, 0);
        for nodes in [0, 1, 1_000, 30_000, 300_000, 2_000_000] {
            let answer = minimise(&region, class, &[], &start, options(Rules::ALL, Some(nodes), 1));
            assert_true(&region, class, start_peak, &answer);
            for threads in [2, 1, 2] {
                let again = minimise(&region, class, &[], &start, options(Rules::ALL, Some(nodes), threads));
                assert_eq!(again, answer, "{} with {nodes} steps and {threads} threads", region.name());
            }
            unfinished += u32::from(answer.bound < answer.peak);
            searched += u32::from(answer.nodes > 0);
            if let Some(last) = last {
                falling += u32::from(answer.bound < last.bound);
                rising += u32::from(answer.peak > last.peak);
                if answer.bound < last.bound || answer.peak > last.peak {
                    println!(
                        "{} {nodes}: {}..{} after {}..{}",
                        region.name(),
                        answer.bound,
                        answer.peak,
                        last.bound,
                        last.peak
                    );
                }
            }
            (lowest, highest) = (lowest.min(answer.peak), highest.max(answer.bound));
            last = Some(answer);
        }
        assert!(highest <= lowest, "{}: a bound of {highest}, a peak of {lowest}", region.name());
    }
    println!(
        "{searched} searches; {unfinished} unfinished; with more effort, {falling} bounds fall and {rising} peaks rise"
    );
    assert!(searched > 100 && unfinished > 100, "{searched} {unfinished}");
}

/// The same with fewer rules and with limits on several classes.
#[test]
fn two_threads_find_what_one_finds() {
    let mut random = Random::new(9);
    let (mut searched, mut decided) = (0, 0);
    for region in middle_sized(30).chain(regions(0..30, 12)) {
        let start = generate::random_order(&region, &mut random);
        let start_peaks = peaks(&region, &start);
        let rules = rules(random.bits() as u32 & ALL_RULES);
        let nodes = Some(random.pick(&[3_000, 30_000, 150_000, 600_000]));
        let other_limits: Vec<_> =
            start_peaks.iter().map(|&peak| random.chance(30).then_some(peak)).collect();
        let limits = random_limits(&region, &start_peaks, &mut random);
        let [one, two] = [1, 2].map(|threads| options(rules, nodes, threads));
        let answer = minimise(&region, ClassId(0), &other_limits, &start, one);
        let decision = within(&region, &limits, &start, one);
        for _ in 0..2 {
            let again = minimise(&region, ClassId(0), &other_limits, &start, two);
            assert_eq!(again, answer, "{} {rules:?} {nodes:?}", region.name());
            assert_eq!(within(&region, &limits, &start, two), decision, "{} {rules:?}", region.name());
        }
        searched += u32::from(answer.nodes > 0);
        decided += u32::from(!decision.is_unknown());
    }
    println!("{searched} searches, {decided} decisions");
    assert!(searched > 150 && decided > 300, "{searched} {decided}");
}

/// Regions from 200 to 3000 instructions, among them families that are hard to prove.
fn large() -> impl Iterator<Item = Region> {
    [200, 500, 1000, 2000, 3000].into_iter().flat_map(|size| {
        let shapes = Shape::ALL.map(|shape| generate::region(shape, size, size as u64));
        let made = [Made::Random, Made::Unrolled, Made::Chains].map(|made| made.region(size, 1));
        let families = [
            families::layered(size, 20, 1),
            families::stencil(size / 12, 12),
            families::matmul(6, 6, size / 60),
        ];
        shapes.into_iter().chain(made).chain(families)
    })
}

/// Without time or steps, no state is expanded. The best order is the start, or one that a cut found on the
/// way. The bound is true. (`cargo bench -p lowtide --bench exact` prints by how much searches exceed a time
/// that is not zero.)
#[test]
fn no_effort_at_all_expands_no_state() {
    let no_time = Budget { time_per_instr: Some(Duration::ZERO), ..Budget::UNLIMITED };
    let no_steps = Budget { nodes: Some(0), ..Budget::UNLIMITED };
    let budgets = [no_time, no_steps, Budget { threads: 2, ..no_time }, Budget { threads: 2, ..no_steps }];
    for region in regions(0..20, 14).chain(middle_sized(3)).chain(large()) {
        let start = source(&region);
        let start_peaks = peaks(&region, &start);
        let limits: Vec<_> = start_peaks.iter().map(|peak| Some(peak.saturating_sub(2))).collect();
        for budget in budgets {
            let answer = minimise(&region, ClassId(0), &[], &start, Options::new(budget));
            assert_true(&region, ClassId(0), start_peaks[0], &answer);
            assert_eq!(answer.nodes, 0, "{} {budget:?}", region.name());
            // What is decided without a search is decided by a cut.
            match within(&region, &limits, &start, Options::new(budget)) {
                Decision::Yes(order) => assert!(fits(&peaks(&region, &order), &limits)),
                Decision::No(reason) => {
                    assert!(matches!(reason, Reason::Cut(_)), "{} {reason:?}", region.name());
                }
                Decision::Unknown => {}
            }
        }
    }
}

#[test]
fn limits_at_the_edges() {
    let mut random = Random::new(6);
    for region in regions(0..60, 11) {
        let small = Small::new(&region, &[]);
        let start = generate::random_order(&region, &mut random);
        let start_peaks = peaks(&region, &start);
        let options = options(Rules::ALL, None, 1);
        // No limits at all, whether they are left out or not, or what the start needs: the start will do.
        let as_is = Decision::Yes(start.clone());
        let met: Vec<Option<u32>> = start_peaks.iter().copied().map(Some).collect();
        for limits in [vec![], vec![None; start_peaks.len()], met] {
            assert_eq!(within(&region, &limits, &start, options), as_is);
        }
        for (class, (end, _)) in
            lowtide::analysis::pressure_bound::pressure_at_ends(&region).iter().enumerate()
        {
            // The largest limits there are do not limit anything.
            let mut limits = vec![Some(u32::MAX); start_peaks.len()];
            limits[class] = Some(small.lowest(class, &[]).expect("an order"));
            let Decision::Yes(order) = within(&region, &limits, &start, options) else {
                panic!("{} {limits:?}", region.name());
            };
            assert!(fits(&peaks(&region, &order), &limits));
            let answer = minimise(&region, ClassId::at(class), &limits, &start, options);
            assert_eq!((Some(answer.peak), answer.peak), (limits[class], answer.bound));
            // What is live at an end cannot be avoided.
            if let Some(less) = end.checked_sub(1) {
                limits.fill(None);
                limits[class] = Some(less);
                let Decision::No(_) = within(&region, &limits, &start, options) else {
                    panic!("{} {limits:?}", region.name());
                };
            }
        }
    }
}

/// Where other methods are exact, they agree; where they are not, they are no better.
#[test]
fn other_methods_are_never_better() {
    let target = Target::builtin("gfx906").expect("a known target");
    let mut random = Random::new(7);
    for round in 0..400 {
        let region = random_forest(10 + round % 60, &mut random);
        let problem = Problem::new(&region, &target, Goal::MinReg).expect("a problem");
        let optimal = tree(&problem).expect("a forest");
        let optimum = peaks(&region, optimal.order())[0];
        let start = generate::random_order(&region, &mut random);
        let answer = minimise(&region, ClassId(0), &[], &start, options(Rules::ALL, None, 1));
        assert_eq!((answer.peak, answer.bound), (optimum, optimum), "forest {round}");
    }
    let mut better = 0;
    for seed in 0..8 {
        for region in Shape::ALL.map(|shape| generate::region(shape, 60 + 30 * seed as usize, seed)) {
            let problem = Problem::new(&region, &target, Goal::MinReg).expect("a problem");
            let class = problem.primary_class();
            let few = few_registers(&problem);
            let heuristic = peaks(&region, &few)[class.index()];
            for start in [few, source(&region)] {
                let answer = minimise(&region, class, &[], &start, options(Rules::ALL, Some(3_000_000), 1));
                assert!(answer.bound <= heuristic, "{}", region.name());
                // From a bad start, only the end of the search is certain to be better.
                assert!(answer.peak <= heuristic || answer.bound < answer.peak, "{}", region.name());
                better += u32::from(answer.peak < heuristic);
            }
        }
    }
    println!("{better} better than the heuristic");
}

/// A random forest of operations with results of different sizes, inputs used once, and results that stay.
fn random_forest(count: usize, random: &mut Random) -> Region {
    let mut code = Code::new("forest", 1);
    let mut open = Vec::new();
    for number in 0..count {
        let is_last = number + 1 == count && random.chance(70);
        let operands = if is_last { open.len() } else { random.below(4).min(open.len()) };
        let mut reads: Vec<RegisterId> =
            (0..operands).map(|_| open.swap_remove(random.below(open.len()))).collect();
        if random.chance(30) {
            reads.push(code.input((0, 1 + random.below(6) as u32)));
        }
        let (_, written) = code.instr(&reads, &[(0, 1 + random.below(6) as u32)]);
        if random.chance(15) {
            code.live_out(written[0]);
        }
        open.extend(written);
    }
    code.finish(random)
}
