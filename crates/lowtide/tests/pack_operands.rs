//! What packing promises about operands: their positions are those of the front end, in any order and with
//! duplicates.
//!
//! The tests keep the operands themselves, as numbers of machine registers of RDNA3. They derive the legal
//! pairs from these numbers, and the shortest length from all sets of issued operations.

use lowtide::budget::Budget;
use lowtide::generate::Random;
use lowtide::pack::check::{PackViolation, check};
use lowtide::pack::{PackProblem, Packing, Placed, Units, pack};
use lowtide::region::{InstrSpec, Region, RegionBuilder};
use lowtide::target::Target;
use lowtide::{InstrId, RegisterId};

/// An operation on vector registers, by number.
#[derive(Clone, Debug)]
struct Raw {
    name: &'static str,
    result: u32,
    sources: Vec<u32>,
}

fn raw(name: &'static str, result: u32, sources: &[u32]) -> Raw {
    Raw { name, result, sources: sources.to_vec() }
}

/// A region with registers that are declared in this order.
fn region(declared: &[u32], operations: &[Raw]) -> Region {
    let mut builder = RegionBuilder::new("raw");
    let class = builder.class("vgpr");
    let registers: Vec<(u32, RegisterId)> = declared
        .iter()
        .map(|number| (*number, builder.register(&format!("v{number}"), class, 1, 1)))
        .collect();
    let id = |number: u32| registers.iter().find(|own| own.0 == number).expect("a declared register").1;
    for number in declared {
        builder.live_in(id(*number), 1);
    }
    for operation in operations {
        let instr = builder.instr(InstrSpec::new(operation.name, 5));
        for source in &operation.sources {
            builder.uses(instr, id(*source), 1);
        }
        builder.defs(instr, id(operation.result), 1);
    }
    builder.depend_on_registers();
    builder.build().expect("a valid region")
}

fn may_be_x(operation: &Raw) -> bool {
    operation.name != "V_AND_B32_e32"
}

/// Whether two operations fit into one VOPD instruction: chapter 7.6 of the ISA guide, on the raw operands.
fn fit(a: &Raw, b: &Raw) -> bool {
    let banks = [4, 4, 2];
    let clash = (0..3).any(|position| match (a.sources.get(position), b.sources.get(position)) {
        (Some(x), Some(y)) => x % banks[position] == y % banks[position],
        _ => false,
    });
    !clash && a.result % 2 != b.result % 2 && (may_be_x(a) || may_be_x(b))
}

/// Whether `later` waits for `earlier`: for a later cycle, for the same one, or not at all.
#[derive(Clone, Copy, PartialEq)]
enum Waits {
    Later,
    Same,
    No,
}

fn waits(earlier: &Raw, later: &Raw) -> Waits {
    if later.sources.contains(&earlier.result) || later.result == earlier.result {
        Waits::Later
    } else if earlier.sources.contains(&later.result) {
        Waits::Same
    } else {
        Waits::No
    }
}

/// The fewest cycles, by going through all sets of issued operations.
fn fewest(operations: &[Raw]) -> u32 {
    let count = operations.len();
    let mut states = vec![0usize];
    for cycle in 0.. {
        if states.contains(&((1 << count) - 1)) {
            return cycle;
        }
        let mut after = Vec::new();
        for &state in &states {
            let open = |i: usize| state >> i & 1 == 0;
            // With `other` in the same cycle.
            let is_ready = |j: usize, other: usize| {
                open(j)
                    && (0..j).filter(|i| open(*i)).all(|i| match waits(&operations[i], &operations[j]) {
                        Waits::Later => false,
                        Waits::Same => i == other,
                        Waits::No => true,
                    })
            };
            for j in 0..count {
                if is_ready(j, j) {
                    after.push(state | 1 << j);
                }
                for i in 0..j {
                    if is_ready(i, j) && is_ready(j, i) && fit(&operations[i], &operations[j]) {
                        after.push(state | 1 << i | 1 << j);
                    }
                }
            }
        }
        after.sort_unstable();
        after.dedup();
        states = after;
    }
    unreachable!("every cycle issues an operation")
}

/// The length, which must be proven, of a packing that the checker accepts.
fn packed(region: &Region) -> u32 {
    let target = Target::builtin("gfx1100").unwrap();
    let problem = PackProblem::new(region, &target).unwrap();
    let outcome = pack(&problem, Budget::UNLIMITED);
    assert!(outcome.is_proved());
    check(region, &target, &outcome.best).expect("a legal packing").length
}

/// Whether the checker accepts both in cycle 0, the first one on unit X.
fn accepts(region: &Region, x: u32, y: u32) -> Result<(), Vec<PackViolation>> {
    let whole = |instr, units| Placed { cycle: 0, instr: InstrId(instr), format: 0, part: 0, units };
    let packing = Packing::new(vec![whole(x, Units::FIRST), whole(y, Units::SECOND)]);
    check(region, &Target::builtin("gfx1100").unwrap(), &packing).map(|_| ())
}

#[test]
fn operands_in_opposite_orders_share_a_cycle() {
    let region = region(&[0, 1, 2, 3], &[raw("V_ADD_F32_e32", 2, &[0, 1]), raw("V_ADD_F32_e32", 3, &[1, 0])]);
    assert_eq!(accepts(&region, 0, 1), Ok(()));
    assert_eq!(packed(&region), 1);
}

#[test]
fn positions_do_not_follow_the_order_of_declaration() {
    let operations = [raw("V_ADD_F32_e32", 2, &[9, 4]), raw("V_ADD_F32_e32", 3, &[1, 8])];
    let region = region(&[9, 8, 4, 1, 2, 3], &operations);
    let wrong = accepts(&region, 0, 1).expect_err("v9 and v1 are in bank 1, v4 and v8 in bank 0");
    assert!(matches!(wrong[0], PackViolation::Conflict { .. }), "{wrong:?}");
    assert_eq!(packed(&region), 2);
}

#[test]
fn a_register_that_is_read_twice_takes_two_positions() {
    let square = raw("V_MUL_F32_e32", 2, &[0, 0]);
    let second =
        |sources: &[u32]| region(&[0, 1, 4, 2, 3], &[square.clone(), raw("V_ADD_F32_e32", 3, sources)]);
    assert_eq!(packed(&second(&[1, 4])), 2, "v0 and v4 are both read second, from bank 0");
    assert_eq!(packed(&second(&[4, 1])), 2, "v0 and v4 are both read first");
    assert_eq!(packed(&second(&[1, 1])), 1);
}

/// Two operations on constants or scalar registers, in this order, and a vector register. `vectors` has the
/// two sources and the two results.
fn with_scalars(operations: [(&str, &[(&str, &str)]); 2], vectors: [&str; 4]) -> Region {
    let mut builder = RegionBuilder::new("scalars");
    let vgpr = builder.class("vgpr");
    let [sources, results] = [[vectors[0], vectors[1]], [vectors[2], vectors[3]]]
        .map(|names| names.map(|name| builder.register(name, vgpr, 1, 1)));
    let mut known: Vec<(&str, RegisterId)> = Vec::new();
    for ((opcode, scalars), (source, result)) in operations.into_iter().zip(sources.into_iter().zip(results))
    {
        let instr = builder.instr(InstrSpec::new(opcode, 5));
        for &(class, name) in scalars {
            let class = builder.class(class);
            let scalar = known.iter().find(|own| own.0 == name).map(|own| own.1).unwrap_or_else(|| {
                known.push((name, builder.register(name, class, 1, 1)));
                builder.live_in(known[known.len() - 1].1, 1);
                known[known.len() - 1].1
            });
            builder.uses(instr, scalar, 1);
        }
        builder.live_in(source, 1);
        builder.uses(instr, source, 1);
        builder.defs(instr, result, 1);
    }
    builder.depend_on_registers();
    builder.build().expect("a valid region")
}

#[test]
fn literals_are_read_like_scalar_registers_and_at_most_one_fits() {
    let cycles = |operations: [(&str, &[(&str, &str)]); 2]| {
        let region = with_scalars(operations, ["v0", "v1", "v2", "v3"]);
        let length = packed(&region);
        assert_eq!(accepts(&region, 0, 1).is_ok(), length == 1, "{operations:?}");
        length
    };
    let (add, multiply_add) = ("V_ADD_F32_e32", "V_FMAMK_F32");
    let (one, two) = (("literal", "0x1234"), ("literal", "0x5678"));
    let [s0, s1] = [("sgpr", "s0"), ("sgpr", "s1")];
    assert_eq!(cycles([(add, &[one]), (add, &[one])]), 1, "the same literal");
    assert_eq!(cycles([(add, &[one]), (add, &[two])]), 2, "two literals");
    assert_eq!(cycles([(add, &[one]), (add, &[("inline", "1.0")])]), 1);
    assert_eq!(cycles([(add, &[s0]), (add, &[s1])]), 1);
    assert_eq!(cycles([(multiply_add, &[s0, one]), (add, &[s0])]), 1);
    assert_eq!(cycles([(multiply_add, &[s0, one]), (add, &[s1])]), 2, "two scalar registers and a literal");
}

#[test]
fn long_encodings_are_paired_only_before_register_allocation() {
    let cycles = |opcode: &str, vectors: [&str; 4]| {
        let region = with_scalars([("V_ADD_F32_e32", &[]), (opcode, &[])], vectors);
        let length = packed(&region);
        assert_eq!(accepts(&region, 0, 1).is_ok(), length == 1, "{opcode} {vectors:?}");
        length
    };
    assert_eq!(cycles("V_MUL_F32_e32", ["v0", "v1", "v2", "v3"]), 1);
    assert_eq!(cycles("V_MUL_F32_e64", ["v0", "v1", "v2", "v3"]), 2);
    assert_eq!(cycles("V_MUL_F32_e64", ["10", "11", "12", "13"]), 1);
}

/// Constants have classes that no register file has.
#[test]
fn registers_can_be_limited_beside_constants() {
    let region = with_scalars(
        [("V_ADD_F32_e32", &[("inline", "1.0")]), ("V_ADD_F32_e32", &[("literal", "0x1234")])],
        ["v0", "v1", "v2", "v3"],
    );
    let target = Target::builtin("gfx1100").unwrap();
    let problem = PackProblem::new(&region, &target).unwrap();
    assert_eq!(problem.primary_class().map(|class| &*region.classes()[class.index()]), Some("vgpr"));
    assert!(!pack(&problem.clone().with_register_limit(1), Budget::UNLIMITED).fits);
    assert!(pack(&problem.with_register_limit(2), Budget::UNLIMITED).fits);
}

#[test]
fn lengths_are_those_of_the_raw_operands() {
    let cases = std::env::var("LOWTIDE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(2000);
    let (mut paired, mut refused, mut accepted) = (0, 0, 0);
    for seed in 0..cases {
        let mut random = Random::new(seed);
        let mut declared: Vec<u32> = (0..12).collect();
        for last in (1..declared.len()).rev() {
            declared.swap(last, random.below(last + 1));
        }
        let operations: Vec<Raw> = (0..2 + random.below(5))
            .map(|_| {
                let (name, count) = random.pick(&[
                    ("V_ADD_F32_e32", 2),
                    ("V_MUL_F32_e32", 2),
                    ("V_AND_B32_e32", 2),
                    ("V_MOV_B32_e32", 1),
                    ("V_FMAC_F32_e32", 2),
                ]);
                let result = random.below(12) as u32;
                let mut sources: Vec<u32> = (0..count).map(|_| random.below(12) as u32).collect();
                if name == "V_FMAC_F32_e32" {
                    sources.push(result);
                }
                Raw { name, result, sources }
            })
            .collect();
        let region = region(&declared, &operations);
        let fewest = fewest(&operations);
        assert_eq!(packed(&region), fewest, "seed {seed}: {operations:?}");
        paired += usize::from((fewest as usize) < operations.len());

        // The checker alone, on the first two.
        let region = self::region(&declared, &operations[..2]);
        let (first, second) = (&operations[0], &operations[1]);
        let legal = may_be_x(first) && fit(first, second) && waits(first, second) != Waits::Later;
        assert_eq!(accepts(&region, 0, 1).is_ok(), legal, "seed {seed}: {operations:?}");
        if legal {
            accepted += 1;
        } else {
            refused += 1;
        }
    }
    let all = cases as usize;
    assert!(paired > all / 4 && refused > all / 4 && accepted > all / 10, "{paired} {refused} {accepted}");
}
