//! What the region builder promises: values that hold in every legal order, and errors that say what is
//! wrong.

use lowtide::analysis::closure::Closure;
use lowtide::generate::{self, Random, Shape};
use lowtide::region::{DefFlags, DepKind, InstrSpec, Production, Region, RegionBuilder, RegionError, limits};
use lowtide::{ClassId, InstrId, RegisterId, ValueId};

fn builder() -> (RegionBuilder, ClassId) {
    let mut builder = RegionBuilder::new("test");
    let class = builder.class("vgpr");
    (builder, class)
}

/// Two instructions on one register of four lanes: `op` defines, `op` uses.
fn two() -> (RegionBuilder, [InstrId; 2], RegisterId) {
    let (mut builder, class) = builder();
    let register = builder.register("r", class, 4, 1);
    let first = builder.instr(InstrSpec::new("def", 3));
    let second = builder.instr(InstrSpec::new("use", 1));
    (builder, [first, second], register)
}

fn error(builder: RegionBuilder) -> String {
    builder.build().expect_err("the region is wrong").to_string()
}

/// (definition, uses, lanes, live-out) of each value, sorted.
fn values(region: &Region) -> Vec<(Option<u32>, Vec<u32>, u64, bool)> {
    let mut all: Vec<_> = (region.values().iter().enumerate())
        .map(|(position, value)| {
            let uses = region.value_uses(ValueId::at(position)).iter().map(|instr| instr.0).collect();
            (value.def.map(|def| def.0), uses, value.lanes, value.live_out)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn lanes_that_are_read_apart_are_values_apart() {
    let (mut builder, [a, b], r) = two();
    builder.defs(a, r, 0b1111);
    builder.uses(b, r, 0b0110);
    builder.live_out(r, 0b0100);
    builder.depend_on_registers();
    let region = builder.build().unwrap();
    // Lanes 0 and 3 are dead, 1 is read, 2 is read and live-out.
    assert_eq!(
        values(&region),
        [
            (Some(0), vec![], 0b1001, false),
            (Some(0), vec![1], 0b0010, false),
            (Some(0), vec![1], 0b0100, true)
        ]
    );
    assert!((0..3).any(|value| region.is_dead(ValueId::at(value))));
}

#[test]
fn a_wide_register_written_piecewise_is_a_value_for_each_piece() {
    let (mut builder, class) = builder();
    let r = builder.register("r", class, 4, 1);
    let parts: Vec<InstrId> = (0..4).map(|_| builder.instr(InstrSpec::new("mov", 1))).collect();
    let store = builder.instr(InstrSpec::new("store", 1));
    for (lane, part) in parts.iter().enumerate() {
        builder.defs(*part, r, 1 << lane);
    }
    builder.uses(store, r, 0b1111);
    builder.depend_on_registers();
    let region = builder.build().unwrap();
    let expected: Vec<_> = (0..4).map(|i| (Some(i), vec![4], 1 << i, false)).collect();
    assert_eq!(values(&region), expected);
}

#[test]
fn a_redefinition_is_a_new_value_and_ends_the_old_one() {
    let (mut builder, [a, b], r) = two();
    builder.live_in(r, 0b0011);
    builder.uses(a, r, 0b0001);
    builder.defs_with(a, r, 0b0001, DefFlags { tied: true, ..DefFlags::default() });
    builder.uses(b, r, 0b0011);
    builder.depend_on_registers();
    let region = builder.build().unwrap();
    assert_eq!(
        values(&region),
        [(None, vec![0], 0b0001, false), (None, vec![1], 0b0010, false), (Some(0), vec![1], 0b0001, false)]
    );
    // Old and new value share one lane while the instruction executes.
    assert_eq!(region.overwritten(a), [(ClassId(0), 1)]);
    assert_eq!(region.overwritten(b), []);
}

#[test]
fn parallel_dependences_are_one_edge_with_the_largest_latency() {
    let (mut builder, [a, b], _) = two();
    builder.depend(a, b, DepKind::Memory, 2);
    builder.depend(a, b, DepKind::Barrier, 7);
    builder.depend(a, b, DepKind::Anti, 0);
    let region = builder.build().unwrap();
    assert_eq!(region.deps().len(), 3);
    assert_eq!([region.succs(a)[0].latency, region.preds(b)[0].latency], [7, 7]);
    assert_eq!(region.edge_count(), 1);
}

#[test]
fn a_cycle_is_refused_and_printed() {
    let (mut builder, _) = builder();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| builder.instr(InstrSpec::new(name, 1)));
    for (from, to) in [(a, b), (b, c), (c, d), (d, b)] {
        builder.depend(from, to, DepKind::Data, 1);
    }
    let message = error(builder);
    let cycles = [
        ["#1 b", "#2 c", "#3 d", "#1 b"],
        ["#2 c", "#3 d", "#1 b", "#2 c"],
        ["#3 d", "#1 b", "#2 c", "#3 d"],
    ];
    let expected = cycles.map(|cycle| {
        format!(
            "the dependences form a cycle: {}",
            cycle.map(|name| format!("instruction {name}")).join(" -> ")
        )
    });
    assert!(expected.contains(&message), "{message}");
}

#[test]
fn a_dependence_on_itself_is_a_cycle() {
    let (mut builder, [a, _], _) = two();
    builder.depend(a, a, DepKind::Data, 1);
    assert_eq!(error(builder), "the dependences form a cycle: instruction #0 def -> instruction #0 def");
}

#[test]
fn source_order_must_be_legal() {
    let (mut builder, [a, b], _) = two();
    builder.depend(b, a, DepKind::Memory, 1);
    assert_eq!(
        error(builder),
        "dependence instruction #1 use -> instruction #0 def goes backwards: instructions must be listed in a \
         legal order"
    );
}

#[test]
fn what_does_not_exist_cannot_be_named() {
    let (mut builder, [a, _], _) = two();
    builder.depend(a, InstrId(7), DepKind::Data, 1);
    assert_eq!(error(builder), "dependence #0 -> #7 names instruction #7, but there are only 2 (#0 to #1)");

    let (mut builder, [a, _], _) = two();
    builder.uses(a, RegisterId(3), 1);
    assert_eq!(error(builder), "instruction #0 def names register number 3, but there are only 1");

    let (mut builder, [a, _], r) = two();
    builder.defs(a, r, 0b10000);
    assert_eq!(error(builder), "instruction #0 def names lanes 0x10 of register r, which has 4 lanes");

    let (mut builder, _, r) = two();
    builder.live_in(r, 0);
    assert_eq!(error(builder), "the live-in list names lanes 0x0 of register r, which has 4 lanes");
}

#[test]
fn uses_need_a_definition_before_them() {
    let (mut builder, [a, b], r) = two();
    builder.uses(a, r, 0b0011);
    builder.defs(b, r, 0b0011);
    builder.live_in(r, 0b0001);
    builder.depend_on_registers();
    assert_eq!(
        error(builder),
        "instruction #0 def uses lanes 0x2 of register r, which no earlier instruction defines and which are \
         not live-in"
    );

    let (mut builder, _, r) = two();
    builder.live_out(r, 0b1000);
    assert_eq!(
        error(builder),
        "lanes 0x8 of register r are live-out, but no instruction defines them and they are not live-in"
    );
}

#[test]
fn one_instruction_defines_a_lane_once() {
    let (mut builder, [a, _], r) = two();
    builder.defs(a, r, 0b0011);
    builder.defs(a, r, 0b0110);
    assert_eq!(
        error(builder),
        "duplicate definition: instruction #0 def defines lanes 0x2 of register r twice"
    );

    let (mut builder, _, r) = two();
    builder.live_in(r, 0b0011);
    builder.live_in(r, 0b0001);
    assert_eq!(
        error(builder),
        "duplicate definition: the live-in list defines lanes 0x1 of register r twice"
    );
}

#[test]
fn hazards_need_a_dependence() {
    let flow = |kind: Option<DepKind>| {
        let (mut builder, [a, b], r) = two();
        builder.defs(a, r, 1);
        builder.uses(b, r, 1);
        if let Some(kind) = kind {
            builder.depend(a, b, kind, 1);
        }
        builder.build().map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(flow(Some(DepKind::Data)), Ok(()));
    assert_eq!(
        flow(None).unwrap_err(),
        "instruction #1 use reads register r after instruction #0 def writes it, but no dependence keeps them in order"
    );

    let (mut builder, [a, b], r) = two();
    builder.live_in(r, 1);
    builder.uses(a, r, 1);
    builder.defs(b, r, 1);
    assert!(error(builder).contains("overwrites register r after instruction #0 def reads it"));

    let (mut builder, [a, b], r) = two();
    builder.defs(a, r, 1);
    builder.defs(b, r, 1);
    assert!(error(builder).contains("overwrites register r after instruction #0 def writes it"));
}

#[test]
fn a_chain_of_dependences_covers_a_hazard() {
    let (mut builder, [a, b], r) = two();
    let c = builder.instr(InstrSpec::new("late", 1));
    builder.defs(a, r, 1);
    builder.uses(c, r, 1);
    builder.depend(a, b, DepKind::Memory, 1);
    builder.depend(b, c, DepKind::Memory, 1);
    assert!(builder.build().is_ok());
}

#[test]
fn sums_stay_within_32_bits() {
    let (mut builder, class) = builder();
    let r = builder.register("r", class, 2, u32::MAX);
    let a = builder.instr(InstrSpec::new("def", 1));
    builder.defs(a, r, 3);
    assert!(matches!(builder.build(), Err(RegionError::Overflow { what: "weights", .. })));

    let (mut builder, [a, b], _) = two();
    builder.depend(a, b, DepKind::Data, u32::MAX);
    assert!(matches!(builder.build(), Err(RegionError::Overflow { what: "latencies", .. })));

    let (mut builder, class) = builder_with_one();
    builder.through(class, u32::MAX);
    assert!(matches!(builder.build(), Err(RegionError::Overflow { what: "weights", .. })));
}

fn builder_with_one() -> (RegionBuilder, ClassId) {
    let (mut builder, class) = builder();
    builder.instr(InstrSpec::new("op", 1));
    (builder, class)
}

#[test]
fn registers_units_and_names_have_limits() {
    assert_eq!(error(builder().0), "the region has no instructions");
    for (lanes, weight) in [(0, 1), (limits::LANES + 1, 1), (1, 0)] {
        let (mut builder, class) = builder_with_one();
        builder.register("r", class, lanes, weight);
        assert!(error(builder).contains(&format!("register r has {lanes} lanes of weight {weight}")));
    }
    let (mut builder, _) = builder_with_one();
    builder.instr(InstrSpec { units: &[("alu", 1), ("alu", 2)], ..InstrSpec::new("op", 1) });
    assert_eq!(error(builder), "instruction #1 op names unit \"alu\" twice");

    let (mut builder, _) = builder_with_one();
    builder.boundary(&"x".repeat(limits::NAME + 1));
    assert!(error(builder).contains("is too long"));

    let (mut builder, _) = builder_with_one();
    for number in 0..=limits::CLASSES {
        builder.class(&number.to_string());
    }
    assert!(error(builder).contains("too many classes"));
}

#[test]
fn recorded_orders_are_permutations() {
    for (order, problem) in
        [(vec![0], "it lists 1"), (vec![0, 0], "it lists #0 twice"), (vec![0, 2], "it lists #2")]
    {
        let (mut builder, _, _) = two();
        let order = order.into_iter().map(InstrId).collect();
        builder.production(Production { by: "stock".into(), order, peaks: None });
        assert_eq!(
            error(builder),
            format!("the recorded order of stock is not a permutation of the 2 instructions: {problem}")
        );
    }
}

#[test]
fn recorded_orders_are_legal() {
    let (mut builder, [a, b], _) = two();
    builder.depend(a, b, DepKind::Memory, 1);
    builder.production(Production { by: "stock".into(), order: vec![b, a], peaks: None });
    assert_eq!(
        error(builder),
        "the recorded order of stock is illegal: it puts instruction #1 use before instruction #0 def, on which \
         it depends"
    );
}

#[test]
fn closure_agrees_with_walking_the_graph() {
    let mut random = Random::new(5);
    for seed in 0..300 {
        let region = match seed % 2 {
            0 => generate::region(random.pick(&Shape::ALL), 1 + random.below(150), seed),
            _ => generate::register_program(1 + random.below(100), seed),
        };
        let closure = Closure::new(&region);
        for instr in region.instrs() {
            let mut reached = vec![false; region.len()];
            let mut stack = vec![instr];
            while let Some(at) = stack.pop() {
                for edge in region.succs(at) {
                    if !std::mem::replace(&mut reached[edge.instr.index()], true) {
                        stack.push(edge.instr);
                    }
                }
            }
            let expected: Vec<InstrId> = region.instrs().filter(|other| reached[other.index()]).collect();
            assert_eq!(closure.descendants(instr).instrs().collect::<Vec<_>>(), expected);
            for other in region.instrs() {
                assert_eq!(closure.reaches(instr, other), reached[other.index()]);
                assert_eq!(closure.ancestors(other).contains(instr), reached[other.index()]);
                let independent =
                    instr != other && !closure.reaches(instr, other) && !closure.reaches(other, instr);
                assert_eq!(closure.independent(instr, other), independent);
            }
        }
    }
}

#[test]
fn generators_make_what_they_say() {
    for shape in Shape::ALL {
        for size in [1, 2, 10, 500] {
            let region = generate::region(shape, size, 3);
            assert!(
                region.len() >= size && region.len() <= size + 20,
                "{shape:?} {size} -> {}",
                region.len()
            );
            assert_eq!(region, generate::region(shape, size, 3), "the same seed gives the same region");
        }
    }
    let trees = (0..50).map(|seed| generate::region(Shape::Tree, 40, seed));
    for tree in trees {
        assert!(
            tree.instrs().all(|instr| tree.succs(instr).len() <= 1),
            "a tree has one use for each result"
        );
    }
}
