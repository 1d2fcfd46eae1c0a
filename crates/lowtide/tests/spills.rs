//! Spills into lanes: scalar registers beyond the limit cost a fraction of a vector register, and no waves of
//! their own.

use lowtide::algorithm::Algorithm;
use lowtide::budget::Budget;
use lowtide::check::check;
use lowtide::outcome::KernelOutcome;
use lowtide::pipeline::{Options, schedule_kernel};
use lowtide::region::{DepKind, InstrSpec, Kernel, Region, RegionBuilder};
use lowtide::session::Session;
use lowtide::target::Target;

/// Like two salted hash functions in one kernel: 130 scalar registers are live in every order, which are 28
/// more than a wave can address. Each of 80 vector words is folded into a scalar word, which stays until a
/// large result is there. Before this result, a folded word saves a vector register and costs a scalar one.
fn hash() -> Region {
    let mut builder = RegionBuilder::new("hash");
    let [vector, scalar] = [builder.class("vgpr"), builder.class("sgpr")];
    builder.through(scalar, 130);
    let large = builder.instr(InstrSpec::new("large", 1));
    let result = builder.register("result", vector, 1, 10);
    builder.defs(large, result, 1);
    for _ in 0..80 {
        let [load, fold, mix] = ["load", "fold", "mix"].map(|name| builder.instr(InstrSpec::new(name, 1)));
        let word = builder.register("word", vector, 1, 1);
        builder.live_in(word, 1);
        let folded = builder.register("folded", scalar, 1, 1);
        builder.defs(load, folded, 1);
        for (user, register, from) in [
            (fold, folded, Some(load)),
            (fold, word, None),
            (mix, folded, Some(load)),
            (mix, result, Some(large)),
        ] {
            builder.uses(user, register, 1);
            if let Some(from) = from {
                builder.depend(from, user, DepKind::Data, 1);
            }
        }
    }
    builder.build().expect("a valid region")
}

fn run(target: &Target, algorithm: Algorithm, nodes: u64) -> KernelOutcome {
    let kernel = Kernel::new("hash", vec![hash()]);
    let budget = Budget { nodes: Some(nodes), ..Budget::UNLIMITED };
    let options = Options::default().with_algorithm(algorithm).with_budget(budget);
    schedule_kernel(&kernel, target, &options, &Session::new()).expect("a legal schedule")
}

#[test]
fn scalar_registers_that_no_order_keeps_do_not_cost_a_wave() {
    let vega = Target::builtin("gfx906").expect("built in");
    // 84 vector registers leave three waves, and one of them has the lanes.
    for algorithm in
        [Algorithm::AUTO, Algorithm::TWO_PASS, Algorithm::LIST, Algorithm::WAVES, Algorithm::COLONY]
    {
        let outcome = run(&vega, algorithm, 20_000);
        let region = &outcome.regions[0];
        let [vector, scalar] = [region.measure.peaks[0].between, region.measure.peaks[1].between];
        assert_eq!(outcome.occupancy, 3, "{algorithm}: {vector} and {scalar} registers");
        assert_eq!(outcome.occupancy_bound, 3, "{algorithm}");
        assert!(region.proven_waves, "{algorithm}");
        assert!(vector + (scalar - 102).div_ceil(64) <= 84, "{algorithm}: {vector} and {scalar} registers");
        assert_eq!(region.measure.spilled, scalar - 102, "{algorithm}");
        let report = check(&hash(), &vega, &region.schedule).expect("a legal schedule");
        assert_eq!((report.occupancy, report.spilled), (3, scalar - 102), "{algorithm}");
    }
}

/// At the same waves, fewer spills are better.
#[test]
fn the_search_spills_no_more_than_the_waves_need() {
    let vega = Target::builtin("gfx906").expect("built in");
    let region = &run(&vega, Algorithm::TWO_PASS, 20_000_000).regions[0];
    let peaks: Vec<u32> = region.measure.peaks.iter().map(|peak| peak.between).collect();
    assert_eq!(peaks, [83, 137], "seven words are folded before the large result");
}

/// Where scalar registers go to memory, spills are worse than the loss of a wave.
#[test]
fn spills_into_memory_come_before_waves() {
    let text = include_str!("../targets/gfx906.toml");
    let memory = text.replace(", spill = { class = \"vgpr\", lanes = 64 }", "");
    assert_ne!(memory, text);
    let memory = Target::parse(&memory).expect("a valid target");
    let outcome = run(&memory, Algorithm::TWO_PASS, 20_000);
    let region = &outcome.regions[0];
    assert_eq!((outcome.occupancy, region.measure.spilled), (2, 29), "{:?}", region.measure);
}
