//! What packing promises: legal packings, true bounds, the shortest lengths, few registers where so asked,
//! few groups of loads.

use crate::made::or_in_ci;
use crate::pack_cases::{Within, block, brute_force, by_states, cases, machine};
use lowtide::InstrId;
use lowtide::budget::Budget;
use lowtide::generate::Random;
use lowtide::generate::shaders::{Group, block as shader, suite};
use lowtide::pack::bound::Ranges;
use lowtide::pack::check::{PackViolation, check};
use lowtide::pack::list::{pack_by_list, pack_like_sc};
use lowtide::pack::{Kind, PackError, PackProblem, Packing, Placed, Proof, Units, allocated, measure, pack};
use lowtide::region::{InstrSpec, Region, RegionBuilder};
use lowtide::target::Target;

fn made(seed: u64, most: usize) -> (Target, Region) {
    made_within(seed, 1, most)
}

fn made_within(seed: u64, least: usize, most: usize) -> (Target, Region) {
    let mut random = Random::new(seed);
    let target = machine(&mut random);
    let size = least + random.below(most - least + 1);
    let region = block(&mut random, size);
    (target, region)
}

/// The paper's ranges (equations 10 and 11) hold for the shortest packing and for the list schedules.
#[test]
fn the_papers_ranges_hold() {
    let mut narrow = 0;
    for seed in 0..cases(300) {
        let (target, region) = made(seed, 5);
        let problem = PackProblem::new(&region, &target).unwrap().without_splits();
        let ranges = Ranges::of_paper(&problem);
        let best = pack(&problem, Budget::UNLIMITED).best;
        for packing in [best, pack_by_list(&problem), pack_like_sc(&problem)] {
            check(&region, &target, &packing).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong:?}"));
            for placed in packing.placed() {
                let at = placed.instr.index();
                assert!(ranges.heads[at] <= placed.cycle, "seed {seed}");
                assert!(ranges.tails[at] < packing.length() - placed.cycle, "seed {seed}");
            }
        }
        narrow += ranges.heads.iter().chain(&ranges.tails).filter(|cycles| **cycles > 0).count();
        let ours = Ranges::new(&problem);
        assert!(ours.heads.iter().zip(&ranges.heads).all(|(ours, paper)| ours >= paper), "seed {seed}");
        assert!(ours.tails.iter().zip(&ranges.tails).all(|(ours, paper)| ours >= paper), "seed {seed}");
    }
    assert!(narrow > 300, "{narrow}");
}

/// The baseline of the paper groups loads and saves registers, at nearly the same length.
#[test]
fn the_papers_baseline_groups_loads_and_saves_registers() {
    let target = Target::builtin("vs").unwrap();
    let mut sums = [[0; 4]; 2];
    for (_, region) in &suite(1) {
        let problem = PackProblem::new(region, &target).unwrap();
        let class = problem.primary_class().expect("registers").index();
        for (sums, packing) in sums.iter_mut().zip([pack_by_list(&problem), pack_like_sc(&problem)]) {
            let report = check(region, &target, &packing).expect("a legal packing");
            let own =
                [report.length, report.levels, report.peaks[class], allocated(&problem, &packing)[class]];
            // A register has four lanes.
            assert!(4 * own[3] >= own[2], "registers hold all lanes");
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
    }
    let [path, sc] = sums;
    assert!(sc[1] < path[1] && sc[2] < path[2], "levels and peaks: {path:?} {sc:?}");
    assert!(100 * sc[0] <= 103 * path[0], "length: {path:?} {sc:?}");
}

#[test]
fn lengths_are_those_of_brute_force() {
    let mut split = 0;
    for seed in 0..cases(400) {
        let (target, region) = made(seed, 5);
        let problem = PackProblem::new(&region, &target).unwrap();
        let outcome = pack(&problem, Budget::UNLIMITED);
        assert!(outcome.is_proved(), "seed {seed}");
        let report =
            check(&region, &target, &outcome.best).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong:?}"));
        let own = measure(&problem, &outcome.best);
        assert_eq!(
            (report.length, &report.peaks, report.levels, report.splits),
            (own.length, &own.peaks, own.levels, own.splits),
            "seed {seed}"
        );
        let within = Within::default();
        let best = brute_force(&region, &target, within, outcome.best.length()).expect("as short as ours");
        assert_eq!(best.length(), outcome.best.length(), "seed {seed}");
        check(&region, &target, &outcome.list).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong:?}"));
        let ranges = Ranges::new(&problem);
        assert!(ranges.length <= best.length(), "seed {seed}");
        for placed in best.placed() {
            let at = placed.instr.index();
            assert!(ranges.heads[at] <= placed.cycle, "seed {seed}");
            assert!(ranges.tails[at] < best.length() - placed.cycle || placed.format > 0, "seed {seed}");
        }
        let whole = pack(&problem.without_splits(), Budget::UNLIMITED);
        assert!(outcome.best.splits() == 0 || whole.best.length() > outcome.best.length(), "seed {seed}");
        split += usize::from(outcome.best.splits() > 0);
    }
    assert!(split > 5, "some of them are split: {split}");
}

/// Some mistakes need six operations and more.
#[test]
fn lengths_of_larger_blocks_are_those_of_all_states() {
    let (mut split, mut compared) = (0, 0);
    for seed in 0..cases(400) {
        let (target, region) = made_within(seed ^ 0x57a7e, 6, 9);
        let problem = PackProblem::new(&region, &target).unwrap();
        let outcome = pack(&problem, Budget::UNLIMITED);
        check(&region, &target, &outcome.best).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong:?}"));
        assert!(outcome.is_proved(), "seed {seed}");
        if let Some(shortest) = by_states(&problem, outcome.best.length()) {
            assert_eq!(outcome.best.length(), shortest, "seed {seed}");
            compared += 1;
        }
        assert!(Ranges::new(&problem).length <= outcome.best.length(), "seed {seed}");
        split += usize::from(outcome.best.splits() > 0);
    }
    assert!(split > 10 && compared > 200, "{split} are split, {compared} are compared");
}

#[test]
fn limits_on_registers_are_kept_as_by_brute_force() {
    let (mut longer, mut impossible) = (0, 0);
    for seed in 0..cases(80) {
        let (target, region) = made(seed ^ 0x7e6, 4);
        let problem = PackProblem::new(&region, &target).unwrap();
        let free = pack(&problem, Budget::UNLIMITED);
        let most = measure(&problem, &free.best).peaks[0].saturating_sub(1);
        let limited = problem.clone().with_register_limit(most);
        let outcome = pack(&limited, Budget::UNLIMITED);
        let within = Within { registers: Some(most), levels: None };
        // What is impossible takes brute force the longest.
        let longest = free.best.length() + or_in_ci(4, 2);
        match brute_force(&region, &target, within, longest) {
            Some(best) => {
                assert!(outcome.fits && outcome.is_proved(), "seed {seed}");
                assert_eq!(outcome.best.length(), best.length(), "seed {seed}");
                let report = check(&region, &target, &outcome.best).unwrap();
                assert!(report.peaks[0] <= most, "seed {seed}");
                longer += usize::from(best.length() > free.best.length());
            }
            None => {
                assert!(!outcome.fits || outcome.best.length() > longest, "seed {seed}");
                assert!(outcome.is_proved(), "seed {seed}");
                impossible += 1;
            }
        }
    }
    assert!(longer > 2 && impossible > 2, "{longer} are longer, {impossible} impossible");
}

#[test]
fn no_packing_of_the_same_length_has_fewer_groups_of_loads() {
    let mut several = 0;
    for seed in 0..cases(300) {
        let (target, region) = made(seed ^ 0x10ad, 5);
        let problem = PackProblem::new(&region, &target).unwrap().without_splits();
        let outcome = pack(&problem, Budget::UNLIMITED);
        assert!(outcome.levels_proved, "seed {seed}");
        let report = check(&region, &target, &outcome.best).unwrap();
        if report.levels > 1 {
            several += 1;
            let within = Within { levels: Some(report.levels - 1), registers: None };
            let fewer = brute_force(&region, &target, within, report.length);
            // Splits may help, which ours were told to do without.
            assert!(fewer.is_none_or(|fewer| fewer.splits() > 0), "seed {seed}");
        }
    }
    assert!(several > 5, "{several}");
}

#[test]
fn blocks_like_the_papers_are_proven() {
    let target = Target::builtin("vs").unwrap();
    let mut sizes = [0; 2];
    for (number, (group, region)) in suite(1).into_iter().enumerate() {
        if number % 6 != 0 {
            continue;
        }
        let problem = PackProblem::new(&region, &target).unwrap();
        let outcome = pack(&problem, Budget { nodes: Some(300_000), ..Budget::UNLIMITED });
        assert!(outcome.is_proved(), "{} ({})", region.name(), group.name());
        assert!(outcome.bound == outcome.best.length() && outcome.best.length() <= outcome.list.length());
        check(&region, &target, &outcome.best).unwrap();
        sizes[0] += outcome.list.length();
        sizes[1] += outcome.best.length();
    }
    assert!(sizes[1] < sizes[0]);
}

#[test]
fn any_budget_gives_a_legal_packing_and_the_same_one_again() {
    let target = Target::builtin("vs").unwrap();
    for nodes in [0, 1, 30, 1000, 20_000] {
        let region = shader(Group::Ide, 66, 196_694);
        let problem = PackProblem::new(&region, &target).unwrap();
        let budget = Budget { nodes: Some(nodes), ..Budget::UNLIMITED };
        let outcome = pack(&problem, budget);
        check(&region, &target, &outcome.best).unwrap();
        assert!(outcome.bound <= outcome.best.length() && outcome.best.length() <= outcome.list.length());
        assert_eq!(outcome, pack(&problem, budget));
    }
}

/// Two dot products and an addition that does not depend on them.
fn small() -> Region {
    let mut builder = RegionBuilder::new("small");
    let class = builder.class("r");
    let [a, b] = ["a", "b"].map(|name| builder.register(name, class, 3, 1));
    let results = ["c", "d", "e"].map(|name| builder.register(name, class, 1, 1));
    builder.live_in(a, 7);
    builder.live_in(b, 7);
    for (name, result) in ["dp3", "dp3", "rsq"].into_iter().zip(results) {
        let instr = builder.instr(InstrSpec::new(name, 1));
        let operand = if name == "rsq" { results[0] } else { a };
        let lanes = if name == "rsq" { 1 } else { 7 };
        builder.uses(instr, operand, lanes);
        if name == "dp3" {
            builder.uses(instr, b, 7);
        }
        builder.defs(instr, result, 1);
        builder.live_out(result, 1);
    }
    builder.depend_on_registers();
    builder.build().unwrap()
}

fn whole(cycle: u32, instr: u32, units: Units) -> Placed {
    Placed { cycle, instr: InstrId(instr), format: 0, part: 0, units }
}

fn part(cycle: u32, instr: u32, part: u32) -> Placed {
    Placed { cycle, instr: InstrId(instr), format: 1, part, units: Units::SECOND }
}

#[test]
fn the_checker_tells_what_is_wrong() {
    let (region, target) = (small(), Target::builtin("vs").unwrap());
    let refused = |placed: &[Placed]| {
        let wrong = check(&region, &target, &Packing::new(placed.to_vec())).expect_err("illegal");
        wrong.into_iter().next().unwrap()
    };
    let (v, s) = (Units::FIRST, Units::SECOND);
    let good = [whole(0, 0, v), whole(1, 1, v), whole(1, 2, s)];
    let report = check(&region, &target, &Packing::new(good.to_vec())).unwrap();
    assert_eq!((report.length, report.splits), (2, 0));
    let split = [whole(0, 0, v), part(0, 1, 0), part(1, 1, 1), part(3, 1, 2), whole(2, 2, s)];
    let report = check(&region, &target, &Packing::new(split.to_vec())).unwrap();
    assert_eq!((report.length, report.splits), (4, 1));

    use PackViolation::{NotOnce, PartsTooClose, TooEarly, UnitTwice, UnknownInstr, WrongUnits};
    assert!(matches!(refused(&good[..2]), NotOnce { .. }));
    assert!(matches!(refused(&[good[0], good[0], good[1], good[2]]), NotOnce { .. }));
    assert!(matches!(refused(&split[..3]), NotOnce { .. }));
    let same = [whole(0, 0, v), part(0, 1, 0), part(0, 1, 1), part(1, 1, 2), whole(2, 2, s)];
    assert!(matches!(refused(&same), PartsTooClose { .. }));
    assert!(matches!(refused(&[good[0], good[1], whole(1, 2, v)]), WrongUnits { .. }));
    assert!(matches!(refused(&[whole(0, 0, v), whole(0, 1, v), good[2]]), UnitTwice { .. }));
    assert!(matches!(refused(&[good[0], good[1], whole(0, 2, s)]), TooEarly { .. }));
    assert!(matches!(refused(&[good[0], good[1], good[2], whole(0, 9, v)]), UnknownInstr { .. }));
}

/// Whatever is moved, dropped or changed in a packing: the checker accepts what brute force could have made,
/// and nothing else.
#[test]
fn changed_packings_are_refused_or_legal() {
    let (mut refused, mut legal) = (0, 0);
    for seed in 0..cases(400) {
        let (target, region) = made(seed ^ 0xc4a, 5);
        let problem = PackProblem::new(&region, &target).unwrap();
        let best = pack(&problem, Budget { nodes: Some(2000), ..Budget::UNLIMITED }).best;
        let mut random = Random::new(seed);
        let mut placed = best.placed().to_vec();
        let at = random.below(placed.len());
        placed[at].cycle = random.below(best.length() as usize + 2) as u32;
        let moved = placed[at];
        let accepted = check(&region, &target, &Packing::new(placed.clone())).is_ok();
        // The same by what the problem says.
        let cycles = |instr: InstrId| {
            let own = placed.iter().filter(|other| other.instr == instr).map(|other| other.cycle);
            (own.clone().min().unwrap_or(0), own.max().unwrap_or(0))
        };
        let (first, last) = cycles(moved.instr);
        let on_time =
            problem.preds(moved.instr).iter().all(|edge| cycles(edge.instr).1 + edge.latency <= first)
                && problem.succs(moved.instr).iter().all(|edge| last + edge.latency <= cycles(edge.instr).0);
        let parts = placed.iter().filter(|other| other.instr == moved.instr);
        let mut parts: Vec<(u32, u32)> = parts.map(|other| (other.part, other.cycle)).collect();
        parts.sort_unstable();
        let apart =
            moved.format.checked_sub(1).map_or(0, |split| problem.operation(moved.instr).splits[split].apart);
        let in_order = parts.windows(2).all(|pair| pair[0].1 + apart <= pair[1].1);
        let joins = |other: &&Placed| other.cycle == moved.cycle && other.instr != moved.instr;
        let shares = placed.iter().filter(joins).all(|other| {
            other.units.0 & moved.units.0 == 0
                && !problem.conflict(moved.instr, moved.format, other.instr, other.format)
        });
        assert_eq!(accepted, on_time && in_order && shares, "seed {seed}");
        refused += usize::from(!accepted);
        legal += usize::from(accepted);
    }
    assert!(refused > 50 && legal > 20, "{refused} refused, {legal} legal");
}

/// Two additions on machine registers of RDNA3.
fn additions(registers: [[&str; 3]; 2]) -> Region {
    let mut builder = RegionBuilder::new("additions");
    let class = builder.class("vgpr");
    let mut known: Vec<(&str, lowtide::RegisterId)> = Vec::new();
    let mut register =
        |builder: &mut RegionBuilder, name: &'static str| match known.iter().find(|own| own.0 == name) {
            Some(own) => (own.1, false),
            None => {
                known.push((name, builder.register(name, class, 1, 1)));
                (known[known.len() - 1].1, true)
            }
        };
    for [result, first, second] in registers {
        let names = [result, first, second]
            .map(|name| -> &'static str { Box::leak(name.to_string().into_boxed_str()) });
        let operands = [names[1], names[2]].map(|name| register(&mut builder, name));
        let (result, _) = register(&mut builder, names[0]);
        let instr = builder.instr(InstrSpec::new("V_ADD_F32_e32", 5));
        for (operand, is_new) in operands {
            if is_new {
                builder.live_in(operand, 1);
            }
            builder.uses(instr, operand, 1);
        }
        builder.defs(instr, result, 1);
        builder.live_out(result, 1);
    }
    builder.depend_on_registers();
    builder.build().unwrap()
}

#[test]
fn operands_from_the_same_bank_cannot_share_a_cycle() {
    let target = Target::builtin("gfx1100").unwrap();
    let cycles = |registers: [[&str; 3]; 2]| {
        let region = additions(registers);
        let problem = PackProblem::new(&region, &target).unwrap();
        pack(&problem, Budget::UNLIMITED).best.length()
    };
    assert_eq!(cycles([["v10", "v0", "v1"], ["v11", "v2", "v3"]]), 1);
    assert_eq!(cycles([["v10", "v0", "v1"], ["v11", "v4", "v3"]]), 2, "v0 and v4 are both in bank 0");
    assert_eq!(cycles([["v10", "v0", "v1"], ["v11", "v2", "v5"]]), 2, "v1 and v5 are both in bank 1");
    assert_eq!(cycles([["v10", "v0", "v1"], ["v12", "v2", "v3"]]), 2, "two even results");
    assert_eq!(cycles([["10", "0", "1"], ["12", "2", "3"]]), 1, "not given out yet");
    assert_eq!(
        cycles([["10", "0", "1"], ["12", "0", "3"]]),
        2,
        "the same register is in the same bank as itself"
    );
}

#[test]
fn kinds_and_errors_are_told() {
    let region = small();
    let target = Target::builtin("vs").unwrap();
    let problem = PackProblem::new(&region, &target).unwrap();
    assert_eq!(problem.operation(InstrId(0)).kind, Kind::First);
    assert_eq!(problem.operation(InstrId(2)).kind, Kind::Second);
    assert_eq!(problem.operation(InstrId(0)).splits[0].counts, [0, 3]);
    assert_eq!(pack(&problem, Budget::UNLIMITED).proof, Proof::Bound);
    let other = Target::builtin("gfx906").unwrap();
    assert!(matches!(PackProblem::new(&region, &other), Err(PackError::NoModel(_))));

    let file = include_str!("../targets/vs.toml");
    for (from, to, message) in [
        (
            "units = [\"v\", \"s\"]\nlanes",
            "units = [\"v\", \"v\"]\nlanes",
            "pack.units: \"v\" is listed twice",
        ),
        ("formats = [[]]", "formats = []", "formats is empty; list at least one"),
        ("formats = [[]]", "formats = [[\"v\", \"v\"]]", "format [\"v\", \"v\"] names a unit twice"),
        ("latency = 4", "latency = 65537", "latency 65537 is too long; give at most 65536 cycles"),
        ("formats = [[]]", "formats = [[\"w\"]]", "not one of"),
        ("units = { s = 2 }", "units = { s = 3 }", "a split has 2 parts, but its units issue 3"),
        ("units = { s = 2 }", "units = { w = 2 }", "not one of"),
        ("units = { s = 2 }", "units = { s = 2 }, apart = 0", "0 cycles apart; give 1 to 4096"),
        ("most = 3", "moost = 3", "unknown field"),
    ] {
        let target = Target::parse(&file.replacen(from, to, 1)).expect("the rest of the file is valid");
        let error = PackProblem::new(&region, &target).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let strict = file.replace("names = [\"*\"]", "names = [\"something else\"]");
    let target = Target::parse(&strict.replace("\"rsq\", ", "")).unwrap();
    let error = PackProblem::new(&region, &target).unwrap_err().to_string();
    assert_eq!(error, "operation #2 rsq with 1 lanes of results meets no [[pack.operation]] of target vs");
}

/// An operation of which a unit has issued its part takes nothing of that unit any more.
#[test]
fn parts_on_both_units_are_counted_one_by_one() {
    let operation = |name: &str, formats: &str, latency: u32, more: &str| {
        format!("[[pack.operation]]\nnames = ['{name}']\nformats = [{formats}]\nlatency = {latency}\n{more}")
    };
    let text = "name = 'made'\ndescription = ''\n[issue]\nwidth = 2\n[[file]]\nname = 'f'\nsize = 64\n\
                granule = 64\nwaves = 1\nclasses = [{ name = 'r', max = 32 }]\n[pack]\nunits = ['v', 's']\n"
        .to_string()
        + &operation("free", "[]", 1, "")
        + &operation("slow", "['s']", 2, "")
        + &operation("wide", "['v', 's']", 1, "split = [{ parts = ['m', 'm'], units = { v = 1, s = 1 } }]\n")
        + &operation("v", "['v']", 1, "")
        + &operation("s", "['s']", 1, "");
    let target = Target::parse(&text).expect("a valid machine");
    let mut builder = RegionBuilder::new("r");
    let class = builder.class("r");
    // Each with the numbers of those whose results it reads.
    let code: [(&str, &[usize]); 6] =
        [("free", &[]), ("slow", &[]), ("wide", &[]), ("v", &[0]), ("v", &[2, 3]), ("s", &[1])];
    let results: Vec<_> =
        (0..code.len()).map(|number| builder.register(&format!("t{number}"), class, 1, 1)).collect();
    for (number, (name, reads)) in code.into_iter().enumerate() {
        let instr = builder.instr(InstrSpec::new(name, 1));
        reads.iter().for_each(|&read| builder.uses(instr, results[read], 1));
        builder.defs(instr, results[number], 1);
    }
    builder.depend_on_registers();
    let region = builder.build().expect("a valid region");
    let problem = PackProblem::new(&region, &target).unwrap();
    // slow + the first part of wide; v + the second one; v + s.
    let outcome = pack(&problem, Budget::UNLIMITED);
    assert_eq!((outcome.best.length(), outcome.bound, outcome.best.splits()), (3, 3, 1));
    assert_eq!(pack(&problem.without_splits(), Budget::UNLIMITED).best.length(), 4);
    let best = brute_force(&region, &target, Within::default(), 4).expect("as short as ours");
    assert_eq!(best.length(), 3);
}

/// The longest latencies, and parts as far apart as they can be.
#[test]
fn large_numbers_do_not_overflow() {
    let parts = ["'m'"; 16].join(", ");
    let text = format!(
        "name = 'made'\ndescription = ''\n[issue]\nwidth = 2\n[[file]]\nname = 'f'\nsize = 64\ngranule = 64\n\
         waves = 1\nclasses = [{{ name = 'r', max = 32 }}]\n[pack]\nunits = ['v', 's']\n[[pack.operation]]\n\
         names = ['a']\nformats = [['v']]\nsplit = [{{ parts = [{parts}], units = {{ s = 16 }}, apart = 4096 }}]\n"
    );
    let target = Target::parse(&text).expect("a valid machine");
    for size in [50, 400] {
        let mut builder = RegionBuilder::new("r");
        let class = builder.class("r");
        let registers: Vec<_> =
            (0..size).map(|number| builder.register(&format!("t{number}"), class, 1, 1)).collect();
        for number in 0..size {
            let instr = builder.instr(InstrSpec::new("a", (i32::MAX as u32) / size as u32));
            // Three chains that take all of the time there can be.
            if number >= 3 {
                builder.uses(instr, registers[number - 3], 1);
            }
            builder.defs(instr, registers[number], 1);
        }
        builder.depend_on_registers();
        let region = builder.build().expect("a valid region");
        let problem = PackProblem::new(&region, &target).unwrap();
        for problem in [problem.clone(), problem.with_register_limit(2)] {
            let outcome = pack(&problem, Budget { nodes: Some(3000), ..Budget::UNLIMITED });
            check(&region, &target, &outcome.best).unwrap();
            assert!(outcome.bound <= outcome.best.length());
        }
    }
}
