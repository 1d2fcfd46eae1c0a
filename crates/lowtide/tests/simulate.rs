//! What the timing model promises: hand-computed cases, and bounds that hold for every order.

use lowtide::InstrId;
use lowtide::generate::{Random, random_order};
use lowtide::problem::{Goal, Problem};
use lowtide::region::Kernel;
use lowtide::region::{DepKind, InstrSpec, Region, RegionBuilder};
use lowtide::schedule::Schedule;
use lowtide::simulate::{Machine, RegionTiming, Stalls, simulate_kernel, simulate_region};
use lowtide::target::{Latencies, Target};

/// A machine in the manner of GCN: rounds of 4 clocks, and short latencies of memory, 100, 40 and 60 clocks.
/// A vector memory instruction starts in every 16 clocks.
const GCN: &str = "name='t'\ndescription=''\n[issue]\nwidth=1\nunits=[{name='valu'},{name='salu'},{name='vmem'},{name='lgkm'}]\n\
     [[file]]\nname='f'\nsize=64\ngranule=4\nwaves=8\nclasses=[{name='vgpr',max=64}]\n\
     [[latency]]\nunit='vmem'\naccess='load'\ncycles=25\nsource='x'\n\
     [[latency]]\nunit='lgkm'\nprefix='DS_'\ncycles=10\nsource='x'\n\
     [[latency]]\nunit='lgkm'\ncycles=15\nsource='x'\n\
     [simulate]\nround=4\nsource='x'\n\
     [[simulate.memory]]\ncounter='vector'\nunit='vmem'\nevery=16\nsource='x'\n\
     [[simulate.memory]]\ncounter='local'\nunit='lgkm'\nprefix='DS_'\nevery=8\nsource='x'\n\
     [[simulate.memory]]\ncounter='scalar'\nunit='lgkm'\nevery=4\nsource='x'\n";

/// The same in rounds of one clock, without bandwidth: the issue model of schedules.
fn narrow() -> String {
    let text = GCN.replace("round=4", "round=1");
    ["every=16", "every=8", "every=4"].iter().fold(text, |text, every| text.replace(every, "every=1"))
}

fn spec<'a>(opcode: &'a str) -> InstrSpec<'a> {
    let (units, flags, latency): (&[(&str, u32)], &str, u32) = match opcode {
        "LOAD" => (&[("vmem", 1)], "l", 80),
        "STORE" => (&[("vmem", 1)], "s", 80),
        "DS_READ" | "S_LOAD" => (&[("lgkm", 1)], "l", 5),
        "S_ADD" => (&[("salu", 1)], "", 1),
        _ => (&[("valu", 1)], "", 1),
    };
    InstrSpec { units, flags, ..InstrSpec::new(opcode, latency) }
}

/// A region of these operations; `uses` are pairs of a definition and its use.
fn region(opcodes: &[&str], uses: &[(u32, u32)]) -> Region {
    let mut builder = RegionBuilder::new("r");
    let class = builder.class("vgpr");
    for opcode in opcodes {
        let instr = builder.instr(spec(opcode));
        let register = builder.register("", class, 1, 1);
        builder.defs(instr, register, 1);
        builder.live_out(register, 1);
    }
    for &(from, to) in uses {
        let latency = spec(opcodes[from as usize]).latency;
        builder.depend(InstrId(from), InstrId(to), DepKind::Data, latency);
    }
    builder.build().unwrap()
}

fn replay(region: &Region, text: &str, waves: u32) -> RegionTiming {
    let order: Vec<InstrId> = region.instrs().collect();
    replay_order(region, text, &order, waves)
}

fn replay_order(region: &Region, text: &str, order: &[InstrId], waves: u32) -> RegionTiming {
    let target = Target::parse(text).unwrap();
    let machine = Machine::of(&target).unwrap().unwrap();
    simulate_region(region, &target, &machine, Latencies::TARGET, order, waves).unwrap()
}

#[test]
fn a_use_waits_for_its_load() {
    let timing = replay(&region(&["LOAD", "V_ADD"], &[(0, 1)]), GCN, 1);
    // The load issues at 0 and returns at 100, a multiple of a round. The addition takes a round.
    assert_eq!((timing.clocks, timing.busy, timing.issued), (104, 8, 2));
    assert_eq!(timing.stalls, Stalls { memory: 96, ..Stalls::default() });
    assert_eq!((timing.frequency, timing.floor), (1, 8));
}

#[test]
fn two_waves_hide_each_others_latency() {
    let code = region(&["LOAD", "V_ADD"], &[(0, 1)]);
    // The second load starts 16 clocks after the first one, and both waits overlap.
    let two = replay(&code, GCN, 2);
    assert_eq!(two.clocks, 16 + 104);
    assert_eq!(two.stalls, Stalls { memory: 2 * 96, issue: 16, ..Stalls::default() });
    assert!(two.clocks < 2 * replay(&code, GCN, 1).clocks);
}

#[test]
fn arithmetic_of_one_wave_fills_its_rounds_and_that_of_two_shares_the_unit() {
    let chain = region(&["V_A", "V_B", "V_C"], &[(0, 1), (1, 2)]);
    let one = replay(&chain, GCN, 1);
    assert_eq!((one.clocks, one.stalls), (12, Stalls::default()), "a latency of one round is no stall");
    let two = replay(&chain, GCN, 2);
    assert_eq!((two.clocks, two.floor, two.busy), (24, 24, 24), "the unit is always busy");
    // Waves on different units issue in the same round.
    let mixed = region(&["V_A", "S_ADD"], &[]);
    assert_eq!(replay(&mixed, GCN, 2).clocks, 12);
}

#[test]
fn longer_arithmetic_stalls_by_dependence() {
    let mut builder = RegionBuilder::new("r");
    let [a, b] = [4, 1].map(|latency| builder.instr(InstrSpec { latency, ..spec("V_ADD") }));
    builder.depend(a, b, DepKind::Data, 4);
    let timing = replay(&builder.build().unwrap(), GCN, 1);
    assert_eq!((timing.clocks, timing.stalls.dependence), (20, 12), "4 rounds of 4 clocks");
}

#[test]
fn vector_memory_returns_in_order() {
    // Of two loads, the first has a latency of 200: the second returns with it.
    let text = GCN.replace(
        "[[latency]]\nunit='vmem'\naccess='load'\ncycles=25",
        "[[latency]]\nunit='vmem'\nprefix='LOAD_SLOW'\ncycles=50\nsource='x'\n[[latency]]\nunit='vmem'\naccess='load'\ncycles=25",
    );
    let mut builder = RegionBuilder::new("r");
    let slow = builder.instr(InstrSpec { opcode: "LOAD_SLOW", ..spec("LOAD") });
    let fast = builder.instr(spec("LOAD"));
    let add = builder.instr(spec("V_ADD"));
    builder.depend(fast, add, DepKind::Data, 80);
    let code = builder.build().unwrap();
    assert_eq!(
        replay(&code, &text, 1).clocks,
        204,
        "the slow load at 0, the fast one at 16: both are there at 200"
    );
    // The other way around, the use waits only for the fast load.
    let timing = replay_order(&code, &text, &[fast, slow, add], 1);
    assert_eq!(timing.clocks, 104);
}

#[test]
fn a_wait_for_a_scalar_load_waits_for_all() {
    // A scalar load (60), and a read of local memory (40) after it: 4 + 40 = 44, but the counter covers the
    // scalar load, too.
    let timing = replay(&region(&["S_LOAD", "DS_READ", "V_ADD"], &[(1, 2)]), GCN, 1);
    assert_eq!((timing.clocks, timing.stalls.scalar, timing.stalls.local), (64, 52, 0));
    // Without the scalar load, the read alone counts.
    let timing = replay(&region(&["S_ADD", "DS_READ", "V_ADD"], &[(1, 2)]), GCN, 1);
    assert_eq!((timing.clocks, timing.stalls.local), (48, 36));
    // Two scalar loads: a use of the first waits for the second.
    let timing = replay(&region(&["S_LOAD", "S_LOAD", "V_ADD"], &[(0, 2)]), GCN, 1);
    assert_eq!(timing.clocks, 4 + 60 + 4);
    // Local memory returns in order: a use of the first read does not wait for the second.
    let timing = replay(&region(&["DS_READ", "DS_READ", "V_ADD"], &[(0, 2)]), GCN, 1);
    assert_eq!(timing.clocks, 44);
    // A wait covers what was outstanding: the second use finds its result there.
    let code = region(&["S_LOAD", "DS_READ", "V_A", "S_LOAD", "V_B"], &[(0, 2), (1, 4)]);
    assert_eq!(replay(&code, GCN, 1).clocks, 60 + 4 + 4 + 4);
}

#[test]
fn vector_memory_is_bound_by_bandwidth() {
    let loads = region(&["LOAD"; 6], &[]);
    for waves in 1..=4u32 {
        let timing = replay(&loads, GCN, waves);
        assert_eq!(timing.clocks, 16 * (6 * u64::from(waves) - 1) + 4);
        assert_eq!(timing.clocks, timing.floor);
    }
    // A store does not hold back the load after it: 16 clocks for its bandwidth, 100 for the load.
    assert_eq!(replay(&region(&["STORE", "LOAD", "V_A"], &[(1, 2)]), GCN, 1).clocks, 16 + 104);
    // Stores take bandwidth, and nobody waits for them.
    assert_eq!(replay(&region(&["STORE", "STORE", "V_A"], &[]), GCN, 1).clocks, 24);
}

#[test]
fn recorded_latencies_are_rounds() {
    let target = Target::parse(GCN).unwrap();
    let machine = Machine::of(&target).unwrap().unwrap();
    let code = region(&["LOAD", "V_ADD"], &[(0, 1)]);
    let order: Vec<InstrId> = code.instrs().collect();
    let timing = |latencies| simulate_region(&code, &target, &machine, latencies, &order, 1).unwrap().clocks;
    assert_eq!(timing(Latencies::Recorded), 80 * 4 + 4);
    assert_eq!(timing(Latencies::Target { percent: 200 }), 204);
}

#[test]
fn regions_count_by_their_frequency() {
    let mut builder = RegionBuilder::new("loop");
    builder.loop_depth(2);
    builder.instr(spec("V_ADD"));
    let inner = builder.build().unwrap();
    let outer = region(&["V_ADD"], &[]);
    let kernel = Kernel::new("k", vec![outer.clone(), inner.clone()]);
    let target = Target::parse(GCN).unwrap();
    let machine = Machine::of(&target).unwrap().unwrap();
    let order = [InstrId(0)];
    let timing = |kernel: &Kernel| {
        simulate_kernel(kernel, &target, &machine, Latencies::TARGET, [&order[..], &order], 2).unwrap()
    };
    let profiled = Kernel::new("k", vec![outer.with_frequency(2), inner.with_frequency(3)]);
    assert_eq!(timing(&profiled).clocks(), 2 * 8 + 3 * 8, "a profile counts instead of loops");
    let timing = timing(&kernel);
    assert_eq!(timing.clocks(), 8 + 100 * 8);
    assert_eq!(timing.clocks_per_wave(), 404.0);
}

#[test]
fn illegal_orders_are_refused() {
    let target = Target::parse(GCN).unwrap();
    let machine = Machine::of(&target).unwrap().unwrap();
    let code = region(&["LOAD", "V_ADD"], &[(0, 1)]);
    let swapped = [InstrId(1), InstrId(0)];
    assert!(simulate_region(&code, &target, &machine, Latencies::TARGET, &swapped, 1).is_err());
}

/// Random code of all kinds.
fn random_code(random: &mut Random) -> Region {
    let kinds = ["LOAD", "DS_READ", "S_LOAD", "S_ADD", "V_ADD", "V_MUL", "STORE"];
    let count = 1 + random.below(30);
    let opcodes: Vec<&str> = (0..count).map(|_| kinds[random.below(kinds.len())]).collect();
    let mut uses = Vec::new();
    for to in 1..count {
        for _ in 0..random.below(3) {
            let from = random.below(to);
            if opcodes[from] != "STORE" {
                uses.push((from as u32, to as u32));
            }
        }
    }
    region(&opcodes, &uses)
}

#[test]
fn random_code_keeps_the_bounds() {
    let mut random = Random::new(1);
    let narrow = narrow();
    let narrow_target = Target::parse(&narrow).unwrap();
    for case in 0..2000 {
        let code = random_code(&mut random);
        let order = random_order(&code, &mut random);
        // The same issue model and latencies: one wave needs at least the length of the schedule.
        let own = code.clone().with_latencies(Latencies::TARGET, &narrow_target).unwrap();
        let problem = Problem::new(&own, &narrow_target, Goal::Length).unwrap();
        let length = u64::from(Schedule::in_order(&problem, order.clone()).length());
        let clocks = replay_order(&code, &narrow, &order, 1).clocks;
        assert!(clocks >= length, "case {case}: {clocks} < {length}");
        let has_counters_only = clocks == length;
        let scalar = code.instrs().any(|instr| code.opcode(instr) == "S_LOAD");
        assert!(
            has_counters_only || scalar,
            "case {case}: without scalar loads, equal latencies return in order"
        );

        // Each instruction of another wave delays a wave by at most the time that it keeps its unit.
        let busy = |opcode: &str| match opcode {
            "LOAD" | "STORE" => 16,
            "DS_READ" => 8,
            _ => 4,
        };
        let of_one: u64 = code.instrs().map(|instr| busy(code.opcode(instr))).sum();
        let alone = replay_order(&code, GCN, &order, 1).clocks;
        for waves in 1..=6u32 {
            let timing = replay_order(&code, GCN, &order, waves);
            assert!(timing.clocks >= timing.floor, "case {case}, {waves} waves");
            assert!(timing.busy <= timing.clocks);
            // The identity, summed over waves: no wave ends after the last one.
            let spent = 4 * timing.issued + timing.stalls.total();
            assert!(spent <= timing.clocks * u64::from(waves) && spent >= timing.clocks, "case {case}");
            let most = alone + u64::from(waves - 1) * of_one;
            assert!((alone..=most).contains(&timing.clocks), "case {case}, {waves} waves: {}", timing.clocks);
            if waves == 1 {
                assert_eq!(spent, timing.clocks, "case {case}");
            }
        }
        assert_eq!(replay_order(&code, GCN, &order, 5), replay_order(&code, GCN, &order, 5));
    }
}

#[test]
fn bad_machines_are_refused_with_a_reason() {
    for (from, to, message) in [
        ("round=4", "round=0", "simulate: round is 0, but must be 1 to 10000"),
        ("every=16", "every=20000", "simulate: every is 20000"),
        ("every=16", "each=16", "unknown field `each`"),
        ("counter='vector'\nunit='vmem'", "counter='vector'\nunit='mem'", "simulate: unknown unit \"mem\""),
        ("counter='local'", "counter='lds'", "unknown variant `lds`"),
        ("round=4\nsource='x'", "round=4\nsource=''", "simulate: source must name where a figure comes from"),
    ] {
        let target = Target::parse(&GCN.replace(from, to)).unwrap();
        let error = Machine::of(&target).unwrap_err().to_string();
        assert!(error.contains(message), "{to}: {error}");
    }
    for name in ["gfx906", "gfx90a", "gfx1030", "gfx1100"] {
        assert!(Machine::of(&Target::builtin(name).unwrap()).unwrap().is_some(), "{name}");
    }
    assert_eq!(Machine::of(&Target::builtin("sm_90").unwrap()), Ok(None));
}
