//! Promises besides the optimum: legal results, repeatable ones, limited time and stack, errors for what fits
//! nowhere.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::check::check_passes;
use super::super::dpmpp::Numbering;
use super::super::generate::{Look, shader};
use super::super::loads::{LOAD, with_loads};
use super::super::rds::Variant;
use super::super::{Costs, Limits, Pass, PassError, PassModel, PassProblem, dpmpp, exact, mio, rds};
use super::pass_cases::pass_cost;
use super::{all, checked, model, model_of};
use crate::budget::Budget;
use crate::index::RegisterId;
use crate::random::Random;
use crate::region::{InstrSpec, Operand, Region, RegionBuilder};
use crate::target::Target;

#[test]
fn all_algorithms_are_legal_on_larger_shaders() {
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let look = Look {
            effects: random.pick(&[0, 0, 4]),
            outputs: 1 + random.below(4),
            ..Look::real(10 + random.below(70))
        };
        let region = shader(look, random.bits());
        let targets = ["ps14", "ps20", "one-pass"];
        let target = Target::builtin(random.pick(&targets)).expect("a target");
        let model = &model_of(&target);
        let budget = Budget { nodes: Some(3000), ..Budget::UNLIMITED };
        let Some((costs, proven)) = all(&region, model, budget) else { continue };
        assert!(costs.iter().all(|cost| *cost >= proven.bound), "seed {seed}");
    }
}

/// The published variants are legal, too, and the whole family is never better without its later steps.
#[test]
fn published_variants_are_legal() {
    let mut wider = 0;
    for seed in 0..80 {
        let mut random = Random::new(seed);
        let look = Look { outputs: 1 + random.below(4), ..Look::real(10 + random.below(60)) };
        let inputs_as_operands = shader(look, random.bits());
        let inputs_as_operations = with_loads(&inputs_as_operands, "reg").expect("a valid region");
        let target = Target::builtin(random.pick(&["ps14", "ps20"])).expect("a target");
        let model = model_of(&target);
        let mut widest = Vec::new();
        for region in [&inputs_as_operands, &inputs_as_operations] {
            let problem = PassProblem::with_model(region, &model).expect("a problem");
            let by = |variant| rds::partition_by(&problem, variant, Budget::UNLIMITED).expect("a partition");
            let [rds_h, rds, mrds_h] = [Variant::RdsH, Variant::Rds, Variant::MrdsH].map(by);
            for (name, found) in [("rds-h", &rds_h), ("rds", &rds), ("mrds-h", &mrds_h)] {
                checked(region, &model, name, found);
            }
            assert!(mrds_h.cost <= rds_h.cost, "seed {seed}: merges only save");
            if model.limits.outputs == Some(1) {
                assert_eq!(mrds_h, rds_h, "seed {seed}: nothing to merge");
                assert!(rds.cost <= rds_h.cost, "seed {seed}");
            }
            let by_size = dpmpp::partition(&problem).expect("a partition");
            let by_need = dpmpp::partition_by(&problem, Numbering::SethiUllman).expect("a partition");
            for (name, found) in [("dpmpp", &by_size), ("dpmpp-su", &by_need)] {
                checked(region, &model, name, &found.partition);
            }
            widest.push(by_size.widths.iter().max().copied().unwrap_or(0));
        }
        wider += u32::from(widest[1] > widest[0]);
    }
    assert!(wider > 40, "loads as operations widen the search: {wider} of 80");
}

/// Every input that is read has one load, and all else stays as it is.
#[test]
fn loads_are_operations() {
    let region = shader(Look::real(40), 5);
    let with_loads = with_loads(&region, "reg").expect("a valid region");
    let opcodes = |region: &Region| -> Vec<String> {
        region.instrs().map(|instr| region.opcode(instr).to_string()).collect()
    };
    let is_read = |input: &Operand| {
        region.instrs().any(|instr| region.uses(instr).iter().any(|used| used.register == input.register))
    };
    let read = region.live_in().iter().filter(|input| is_read(input)).count();
    let (loads, others): (Vec<_>, Vec<_>) = opcodes(&with_loads).into_iter().partition(|name| name == LOAD);
    assert!(read > 3 && loads.len() == read);
    assert_eq!(others, opcodes(&region));
    let loaded = |region: &Region, instr| {
        region
            .uses(instr)
            .iter()
            .any(|used| region.live_in().iter().any(|input| input.register == used.register))
    };
    assert!(
        with_loads.instrs().all(|instr| loaded(&with_loads, instr) == (with_loads.opcode(instr) == LOAD))
    );
}

#[test]
fn the_same_budget_gives_the_same_result() {
    let region = shader(Look::real(60), 3);
    let target = Target::builtin("ps14").expect("a target");
    let problem = PassProblem::new(&region, &target).expect("a problem");
    let start = mio::partition(&problem).expect("a partition");
    let budget = Budget { nodes: Some(20_000), ..Budget::UNLIMITED };
    let [first, second] = [0, 1].map(|_| exact::partition(&problem, &start, budget));
    assert_eq!(first, second);
    assert!(first.partition.cost <= start.cost);
}

/// The search goes as deep as the shader is long.
#[test]
fn the_longest_shaders_do_not_end_the_stack() {
    let region = shader(Look::real(exact::MOST_OPERATIONS), 2);
    for name in ["one-pass", "ps14"] {
        let target = Target::builtin(name).expect("a target");
        let problem = PassProblem::new(&region, &target).expect("a problem");
        let budget = Budget { nodes: Some(6000), ..Budget::UNLIMITED };
        let proven =
            exact::partition(&problem, &dpmpp::partition(&problem).expect("a partition").partition, budget);
        checked(&region, &model_of(&target), name, &proven.partition);
    }
}

/// Whatever is first: both operands are read again, and the result is, which takes three registers if it is
/// not alone in its pass.
#[test]
fn an_operation_alone_in_its_pass_needs_no_room_for_later_ones() {
    let mut builder = RegionBuilder::new("again");
    let reg = builder.class("reg");
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| builder.register(name, reg, 1, 1));
    [a, b].iter().for_each(|input| builder.live_in(*input, 1));
    for (x, y, result) in [(a, b, c), (a, b, d)] {
        let add = builder.instr(InstrSpec::new("add", 4));
        [x, y].iter().for_each(|operand| builder.uses(add, *operand, 1));
        builder.defs(add, result, 1);
        builder.live_out(result, 1);
    }
    for result in [c, d] {
        let last = builder.instr(InstrSpec { flags: "s", ..InstrSpec::new("st", 4) });
        builder.uses(last, result, 1);
    }
    builder.depend_on_registers();
    let region = builder.build().expect("a region");
    let limits = Limits { registers: Some(2), ..Limits::default() };
    let model = PassModel { limits, ..model(&mut Random::new(1)) };
    let problem = PassProblem::with_model(&region, &model).expect("a problem");
    checked(&region, &model, "mio", &mio::partition(&problem).expect("a partition"));
}

/// Registers may have more lanes than anything writes: 64 lanes of the largest weight are more than 32 bits.
#[test]
fn registers_of_any_width_are_no_panic() {
    for (weights, is_possible) in
        [([1 << 29, 1 << 20], true), ([(1 << 31) - 3, 1], false), ([1 << 29, 1 << 29], false)]
    {
        let mut builder = RegionBuilder::new("wide");
        let reg = builder.class("reg");
        let registers =
            weights.map(|weight| builder.register("wide", reg, if is_possible { 2 } else { 64 }, weight));
        let wide = builder.instr(InstrSpec::new("wide", 4));
        registers.iter().for_each(|register| builder.defs(wide, *register, 1));
        for _ in 0..2 {
            let user = builder.instr(InstrSpec::new("use", 4));
            registers.iter().for_each(|register| builder.uses(user, *register, 1));
        }
        builder.depend_on_registers();
        let region = builder.build().expect("a region");
        for limits in [Limits::default(), Limits { instructions: Some(u32::MAX), ..Limits::default() }] {
            let most = 1 << 20;
            let cost = Costs { pass: most, load: most, store: most, ..model(&mut Random::new(1)).cost };
            let model = PassModel { limits, width: 1, cost, ..model(&mut Random::new(1)) };
            match PassProblem::with_model(&region, &model) {
                Ok(_) => assert!(is_possible && all(&region, &model, Budget::UNLIMITED).is_some()),
                Err(error) => assert!(!is_possible, "{error}"),
            }
            // The checker does not depend on what the problem accepts.
            let ops = region.instrs().collect();
            let whole = Pass { ops, loads: Vec::new(), stores: Vec::new() };
            assert!(check_passes(&region, &model, &[whole]).is_ok());
        }
    }
}

/// Outputs that have nothing to do with each other. List scheduling waits twice for the first one, so that
/// there is something to find.
fn many_outputs(count: usize) -> Region {
    let mut builder = RegionBuilder::new("outputs");
    let [reg, interpolant, uniform] = ["reg", "interpolant", "uniform"].map(|name| builder.class(name));
    let uv = builder.register("uv", interpolant, 4, 1);
    let color = builder.register("color", uniform, 4, 1);
    [uv, color].iter().for_each(|input| builder.live_in(*input, 15));
    let mut add = |opcode: &str, operands: &[RegisterId], is_output: bool| {
        let result = builder.register(opcode, reg, 4, 1);
        let instr = builder.instr(InstrSpec::new(opcode, 4));
        operands.iter().for_each(|operand| builder.uses(instr, *operand, 15));
        builder.defs(instr, result, 15);
        if is_output {
            builder.live_out(result, 15);
        }
        result
    };
    let [first, second] = [0, 1].map(|_| {
        let texel = add("tex", &[uv], false);
        add("mul", &[texel], false)
    });
    add("add", &[first, second], true);
    for _ in 1..count {
        add("mov", &[color], true);
    }
    builder.depend_on_registers();
    builder.build().expect("a region")
}

/// All outputs but one are equal: every order of them is a way of its own.
#[test]
fn many_equal_outputs_do_not_take_for_ever() {
    let region = many_outputs(1000);
    for name in ["one-pass", "ps14"] {
        let target = Target::builtin(name).expect("a target");
        let problem = PassProblem::new(&region, &target).expect("a problem");
        let found = dpmpp::partition(&problem).expect("a partition");
        checked(&region, &model_of(&target), name, &found.partition);
        assert!(found.is_cut && found.widths.contains(&1));
    }
}

/// Cuts look at every subtree: those of a long shader without limits are large.
#[test]
fn cuts_keep_their_time_on_long_shaders() {
    let region = shader(Look::real(12_000), 1);
    let target = Target::builtin("one-pass").expect("a target");
    let problem = PassProblem::new(&region, &target).expect("a problem");
    let no_time = Budget { time_per_instr: Some(Duration::ZERO), ..Budget::UNLIMITED };
    let no_steps = Budget { nodes: Some(0), ..Budget::UNLIMITED };
    let found = rds::partition(&problem, no_time);
    checked(&region, &model_of(&target), "rds", found.as_ref().expect("a partition"));
    assert_eq!(found, rds::partition(&problem, no_steps));
}

/// The search goes as deep as the shader is long, for every pass: what is left to earlier passes is decided
/// again in each.
#[test]
fn many_passes_of_many_outputs_do_not_end_the_stack() {
    let region = many_outputs(200);
    let target = Target::builtin("ps14").expect("a target");
    let problem = PassProblem::new(&region, &target).expect("a problem");
    let start = mio::partition(&problem).expect("a partition");
    let budget = Budget { nodes: Some(200_000), ..Budget::UNLIMITED };
    let proven = exact::partition(&problem, &start, budget);
    checked(&region, &model_of(&target), "exact", &proven.partition);
    assert!(proven.partition.cost < start.cost);
}

/// (A + B) * (C + D) of the paper, with a texture for each of A to D: four requests, one wait, three
/// operations.
#[test]
fn an_example_by_hand() {
    let mut builder = RegionBuilder::new("paper");
    let [reg, interpolant] = ["reg", "interpolant"].map(|name| builder.class(name));
    let uv = builder.register("uv", interpolant, 2, 1);
    builder.live_in(uv, 3);
    let registers = ["a", "b", "c", "d", "ab", "cd", "abcd"].map(|name| builder.register(name, reg, 4, 1));
    for register in &registers[..4] {
        let tex = builder.instr(InstrSpec::new("tex", 40));
        builder.uses(tex, uv, 3);
        builder.defs(tex, *register, 15);
    }
    for (opcode, [x, y, z]) in [("add", [0, 1, 4]), ("add", [2, 3, 5]), ("mul", [4, 5, 6])] {
        let instr = builder.instr(InstrSpec::new(opcode, 4));
        [x, y].iter().for_each(|operand| builder.uses(instr, registers[*operand], 15));
        builder.defs(instr, registers[z], 15);
    }
    builder.live_out(registers[6], 15);
    builder.depend_on_registers();
    let region = builder.build().expect("a region");
    let costs = |registers, instructions| {
        let limits =
            Limits { registers: Some(registers), instructions: Some(instructions), ..Limits::default() };
        let cost = Costs {
            pass: 100,
            load: 10,
            store: 10,
            interpolant: 1,
            wait: 20,
            operation: 1,
            operations: BTreeMap::new(),
        };
        let model = PassModel {
            class: "reg".to_string(),
            interpolants: vec!["interpolant".to_string()],
            textures: vec!["tex".to_string()],
            width: 4,
            limits,
            cost,
        };
        all(&region, &model, Budget::UNLIMITED).expect("a solution").0[3]
    };
    // A pass, a store, an interpolant, seven operations; and one wait with four registers, or two with three.
    assert_eq!(costs(4, 7), 100 + 10 + 1 + 7 + 20);
    assert_eq!(costs(3, 7), 100 + 10 + 1 + 7 + 40);
    // With six instructions, both sums are handed on to a pass that multiplies. Two stores and two loads are
    // cheaper than another wait with an interpolant.
    assert_eq!(costs(4, 6), 100 + 10 + 1 + 7 + 20 + (100 + 20 + 20));
}

/// With more results of one operation than can be tried in every way, nothing is said to be proven by a
/// search.
#[test]
fn operations_with_many_results_are_not_searched() {
    for (results, is_searched) in [(8, true), (16, true), (17, false), (20, false)] {
        let mut builder = RegionBuilder::new("wide");
        let reg = builder.class("reg");
        let input = builder.register("input", reg, 1, 1);
        let wide = builder.instr(InstrSpec::new("wide", 4));
        builder.live_in(input, 1);
        builder.uses(wide, input, 1);
        let parts: Vec<_> =
            (0..results).map(|number| builder.register(&format!("part{number}"), reg, 1, 1)).collect();
        parts.iter().for_each(|&part| builder.defs(wide, part, 1));
        for pair in parts.windows(2) {
            let sum = builder.register("sum", reg, 1, 1);
            let add = builder.instr(InstrSpec::new("add", 4));
            pair.iter().for_each(|&part| builder.uses(add, part, 1));
            builder.defs(add, sum, 1);
            builder.live_out(sum, 1);
        }
        builder.depend_on_registers();
        let region = builder.build().expect("a region");
        let limits = Limits { instructions: Some(4), ..Limits::default() };
        let model = PassModel { limits, ..model(&mut Random::new(1)) };
        let budget = Budget { nodes: Some(20_000), ..Budget::UNLIMITED };
        let (_, proven) = all(&region, &model, budget).expect("a solution");
        assert_eq!(proven.nodes > 0, is_searched, "{results} results");
    }
}

#[test]
fn the_checker_refuses_what_is_wrong() {
    let region = shader(Look::real(60), 5);
    let mut model = model_of(&Target::builtin("ps14").expect("a built-in target"));
    // Short enough for all sets of waits.
    model.limits.instructions = Some(8);
    let problem = PassProblem::with_model(&region, &model).expect("a problem");
    let good = rds::partition(&problem, Budget::UNLIMITED).expect("a partition").passes;
    assert!(good.len() > 2);
    let mut random = Random::new(1);
    let mut refused = 0;
    for _ in 0..400 {
        let mut bad = good.clone();
        let place = random.below(bad.len());
        let pass = &mut bad[place];
        match random.below(8) {
            0 => drop(bad.remove(place)),
            1 => drop(pass.ops.remove(random.below(pass.ops.len()))),
            2 => pass.stores.clear(),
            3 if !pass.loads.is_empty() => drop(pass.loads.remove(0)),
            4 if pass.ops.len() > 1 => pass.ops.reverse(),
            5 => pass.ops.push(pass.ops[0]),
            6 if place > 0 => bad.swap(0, place),
            _ => pass.stores.push(RegisterId(random.below(region.registers().len() + 2) as u32)),
        }
        if bad == good {
            continue;
        }
        // What the checker lets pass must be legal by the other rules of this file, pass for pass.
        match check_passes(&region, &model, &bad) {
            Err(_) => refused += 1,
            Ok(report) => {
                let costs: Option<Vec<u64>> =
                    bad.iter().map(|pass| pass_cost(&region, &model, pass)).collect();
                assert_eq!(costs.map(|costs| costs.iter().sum::<u64>()), Some(report.cost));
            }
        }
    }
    assert!(refused > 300, "{refused}");
}

#[test]
fn what_fits_nowhere_is_an_error() {
    let region = shader(Look::real(30), 1);
    let mut model = model_of(&Target::builtin("ps14").expect("a built-in target"));
    model.limits.registers = Some(1);
    let error = PassProblem::with_model(&region, &model).expect_err("too few registers");
    assert!(matches!(&error, PassError::TooLarge(shortage) if shortage.what == "registers"), "{error}");
    let target = Target::builtin("gfx906").expect("a target");
    assert!(PassProblem::new(&region, &target).is_err());
}

/// An operation with two results, and sums of both. With one output per pass, the results are never stored
/// together.
fn two_results(is_handed_on: bool) -> Region {
    let mut builder = RegionBuilder::new("two");
    let reg = builder.class("reg");
    let [a, b, c, sum] = ["a", "b", "c", "sum"].map(|name| builder.register(name, reg, 4, 1));
    builder.live_in(a, 15);
    let both = builder.instr(InstrSpec::new("both", 4));
    builder.uses(both, a, 15);
    [b, c].iter().for_each(|result| builder.defs(both, *result, 15));
    if is_handed_on {
        [b, c].iter().for_each(|result| builder.live_out(*result, 15));
    } else {
        let add = builder.instr(InstrSpec::new("add", 4));
        [b, c].iter().for_each(|operand| builder.uses(add, *operand, 15));
        builder.defs(add, sum, 15);
        builder.live_out(sum, 15);
    }
    builder.depend_on_registers();
    builder.build().expect("a region")
}

/// Results that are read in their own pass are not stored, and two passes can store one result each.
#[test]
fn results_need_no_output_each_in_the_same_pass() {
    let limits = Limits { outputs: Some(1), ..Limits::default() };
    let model = PassModel { limits, ..model(&mut Random::new(1)) };
    for (is_handed_on, passes) in [(false, 1), (true, 2)] {
        let region = two_results(is_handed_on);
        let problem = PassProblem::with_model(&region, &model).expect("a problem");
        let shortage = problem.shortage().expect("two outputs are too many");
        assert_eq!((shortage.what, shortage.need, shortage.limit), ("outputs", 2, 1));
        let (_, proven) = all(&region, &model, Budget::UNLIMITED).expect("a partition");
        assert_eq!((proven.partition.passes.len(), proven.is_optimal()), (passes, true));
    }
}

/// With two instructions per pass, the two results cannot be stored one by one and loaded together.
#[test]
fn what_no_partition_can_hold_is_proven() {
    let limits = Limits { instructions: Some(2), outputs: Some(1), ..Limits::default() };
    let model = PassModel { limits, ..model(&mut Random::new(1)) };
    let region = two_results(false);
    let problem = PassProblem::with_model(&region, &model).expect("a problem");
    assert!(exact::find(&problem, Budget::UNLIMITED).is_no());
    assert!(dpmpp::partition(&problem).is_none() && mio::partition(&problem).is_none());
    assert!(rds::partition(&problem, Budget::UNLIMITED).is_none());
    // Without any steps, nothing is claimed.
    assert!(exact::find(&problem, Budget { nodes: Some(0), ..Budget::UNLIMITED }).is_unknown());
}

#[test]
fn a_bad_number_of_a_pass_model_is_named_with_its_range() {
    let file = include_str!("../../../targets/ps14.toml");
    for (from, to, message) in [
        ("registers = 6", "registers = 0", "passes.limits.registers must not be 0"),
        ("width = 4", "width = 0", "passes.width must be at least 1"),
        (
            "wait = 8",
            "wait = 1048577",
            "passes.cost: 1048577 is too much; give at most 1048576 for each cost",
        ),
        ("sin = 4", "sin = 1048578", "passes.cost: 1048578 is too much; give at most 1048576 for each cost"),
    ] {
        let target = Target::parse(&file.replacen(from, to, 1)).expect("the rest of the file is valid");
        let error = PassModel::of(&target).expect_err("a number out of range").to_string();
        assert!(error.contains(message), "{error}");
    }
}
