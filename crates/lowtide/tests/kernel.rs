//! Both passes for whole kernels: bounds against brute force, the filter, and answers that are shared.

mod made;

use lowtide::InstrId;
use lowtide::generate::Random;
use lowtide::pipeline::{Algorithm, Filter, KernelOutcome, Options, schedule_kernel};
use lowtide::problem::{Goal, Problem};
use lowtide::region::{DepKind, InstrSpec, Kernel, Production, Region, RegionBuilder};
use lowtide::schedule::check::check;
use lowtide::schedule::{Budget, Schedule};
use lowtide::solved::Solved;
use lowtide::target::Target;
use made::regions;

const BUDGET: Budget = Budget { nodes: Some(3_000), ..Budget::UNLIMITED };

fn options(algorithm: Algorithm, filter: Option<Filter>) -> Options {
    Options { goal: Goal::Occupancy, algorithm, budget: BUDGET, registers: None, filter }
}

fn kernel(regions: Vec<Region>) -> Kernel {
    Kernel {
        name: "k".to_string(),
        origin: String::new(),
        target: None,
        is_entry: true,
        max_occupancy: None,
        regions,
    }
}

/// Small files with many steps; the first and the third class share one, or each has its own.
fn targets() -> [Target; 2] {
    let text = |files: &str| {
        let text = format!(
            "name = \"small\"\ndescription = \"for tests\"\n[issue]\nwidth = 1\n\
             [[file]]\nname = \"scalar\"\nsize = 16\ngranule = 1\nwaves = 8\nclasses = [{{ name = \"sgpr\", max = 8 }}]\n{files}"
        );
        Target::parse(&text).expect("a valid target")
    };
    [
        text(
            "[[file]]\nname = \"vector\"\nsize = 24\ngranule = 1\nwaves = 8\nclasses = [{ name = \"vgpr\", max = 12 }]\n\
             [[file]]\nname = \"matrix\"\nsize = 24\ngranule = 1\nwaves = 8\nclasses = [{ name = \"agpr\", max = 12 }]\n",
        ),
        text(
            "[[file]]\nname = \"vector\"\nsize = 24\ngranule = 1\nwaves = 8\n\
             classes = [{ name = \"vgpr\", max = 12, align = 2 }, { name = \"agpr\", max = 12 }]\n",
        ),
    ]
}

/// Calls `visit` with every legal order.
fn all_orders(region: &Region, order: &mut Vec<InstrId>, visit: &mut dyn FnMut(&[InstrId])) {
    if order.len() == region.len() {
        return visit(order);
    }
    for instr in region.instrs() {
        let is_ready = region.preds(instr).iter().all(|edge| order.contains(&edge.instr));
        if is_ready && !order.contains(&instr) {
            order.push(instr);
            all_orders(region, order, visit);
            order.pop();
        }
    }
}

#[test]
fn bounds_hold_against_brute_force() {
    let mut random = Random::new(3);
    let mut all: Vec<Region> = regions(0..400, 7).filter(|region| region.len() <= 7).collect();
    let (mut proven, mut shared_proven, mut constrained) = (0, 0, 0);
    while !all.is_empty() {
        let count = (1 + random.below(3)).min(all.len());
        let kernel = kernel(all.split_off(all.len() - count));
        for (number, target) in targets().iter().enumerate() {
            for algorithm in [Algorithm::TwoPass, Algorithm::List] {
                let outcome =
                    schedule_kernel(&kernel, target, options(algorithm, None), &Solved::new()).unwrap();
                for ((region, result), passes) in
                    kernel.regions.iter().zip(&outcome.regions).zip(&outcome.passes)
                {
                    check(region, target, &result.schedule).expect("a legal schedule");
                    let problem = Problem::new(region, target, Goal::Occupancy).unwrap();
                    let spills = |class: usize, peak: u32| peak.saturating_sub(problem.limits()[class]);
                    let (mut shortest, mut free) = (u32::MAX, u32::MAX);
                    all_orders(region, &mut Vec::new(), &mut |order| {
                        let measure = problem.measure(&Schedule::in_order(&problem, order.to_vec()));
                        let ours = result.measure.peaks.iter().map(|peak| peak.between);
                        let peaks = measure.peaks.iter().map(|peak| peak.between);
                        let spills_no_more = (0..)
                            .zip(peaks.zip(ours))
                            .all(|(class, (peak, ours))| spills(class, peak) <= spills(class, ours));
                        free = free.min(measure.length);
                        if measure.occupancy >= passes.waves && spills_no_more {
                            shortest = shortest.min(measure.length);
                        }
                    });
                    assert!(result.bounds.length <= shortest, "{}", region.name());
                    if result.measure.length == result.bounds.length {
                        assert_eq!(result.measure.length, shortest, "{}", region.name());
                        *[&mut proven, &mut shared_proven][number] += 1;
                    }
                    constrained += u32::from(shortest > free);
                }
            }
        }
    }
    println!("{proven} and {shared_proven} lengths proven, {constrained} are longer because of the limits");
    assert!(proven > 500 && shared_proven > 500 && constrained > 20);
}

/// So many loads and stores, each pair on its own. The production order loads everything first.
fn loads_and_stores(count: u32) -> Region {
    let mut builder = RegionBuilder::new("r");
    let class = builder.class("vgpr");
    let mut order = Vec::new();
    for number in 0..count {
        let register = builder.register(&format!("r{number}"), class, 1, 1);
        let load = builder.instr(InstrSpec::new("load", 100));
        builder.defs(load, register, 1);
        let store = builder.instr(InstrSpec::new("store", 1));
        builder.uses(store, register, 1);
        builder.depend(load, store, DepKind::Data, 100);
        order.push((load, store));
    }
    let loads = order.iter().map(|(load, _)| *load);
    let order = loads.chain(order.iter().map(|(_, store)| *store)).collect();
    builder.production(Production { by: "test".into(), order, peaks: None });
    builder.build().expect("a valid region")
}

/// 30 registers leave 8 waves. For 10 waves there are 24, so that six loads have to wait for others to come back.
#[test]
fn few_waves_more_must_not_cost_many_cycles() {
    let vega = Target::builtin("gfx906").unwrap();
    let kernel = kernel(vec![loads_and_stores(30)]);
    let with =
        |filter| schedule_kernel(&kernel, &vega, options(Algorithm::Auto, filter), &Solved::new()).unwrap();
    let length = |outcome: &KernelOutcome| outcome.regions[0].measure.length;
    let without = with(None);
    assert_eq!((without.occupancy, without.is_filtered), (10, false));
    assert!(length(&without) > 130 + 63, "{}", length(&without));
    let filtered = with(Some(Filter::default()));
    assert_eq!((filtered.occupancy, filtered.occupancy_bound, filtered.is_filtered), (8, 10, true));
    assert_eq!(length(&filtered), 130, "as short as the production order");
    assert!(!filtered.regions[0].proven_waves && !filtered.regions[0].optimal);
    for filter in
        [Filter { few_waves: 1, ..Filter::default() }, Filter { few_cycles: 1_000, ..Filter::default() }]
    {
        let kept = with(Some(filter));
        assert_eq!((kept.occupancy, kept.is_filtered), (10, false), "{filter:?}");
        assert_eq!(kept.regions, without.regions);
    }
}

/// The same graph with other names, registers in another order, and something that passes through.
#[test]
fn answers_do_not_depend_on_who_asks_first() {
    let region = |reversed: bool, through: u32| {
        let mut builder = RegionBuilder::new("r");
        let class = builder.class("vgpr");
        builder.through(class, through);
        let mut registers: Vec<_> =
            (0..24).map(|number| builder.register(&format!("r{number}"), class, 1, 1)).collect();
        if reversed {
            registers.reverse();
        }
        for (number, &register) in registers.iter().enumerate().filter(|(number, _)| number % 3 == 0) {
            builder.live_in(register, 1);
            let [first, second] = [registers[number + 1], registers[number + 2]];
            let load = builder.instr(InstrSpec::new("load", 20 + number as u32));
            builder.uses(load, register, 1);
            builder.defs(load, first, 1);
            let add = builder.instr(InstrSpec::new("add", 4));
            builder.uses(add, first, 1);
            builder.defs(add, second, 1);
            builder.live_out(second, 1);
        }
        builder.depend_on_registers();
        builder.build().expect("a valid region")
    };
    let vega = Target::builtin("gfx906").unwrap();
    let kernels = [(false, 0), (true, 0), (false, 7), (true, 7)]
        .map(|(reversed, through)| kernel(vec![region(reversed, through)]));
    let options = options(Algorithm::Auto, None);
    let solved = Solved::new();
    let orders = kernels.each_ref().map(|kernel| {
        let alone = schedule_kernel(kernel, &vega, options, &Solved::new()).unwrap();
        let shared = schedule_kernel(kernel, &vega, options, &solved).unwrap();
        assert_eq!(alone.regions, shared.regions);
        shared.regions[0].schedule.order().to_vec()
    });
    assert_eq!(solved.repeated(), 3);
    assert_eq!([&orders[0], &orders[2]], [&orders[1], &orders[3]]);
}
