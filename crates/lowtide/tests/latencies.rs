//! What the latencies of a target promise: only data dependences of matched instructions change.

use lowtide::InstrId;
use lowtide::region::{DepKind, HintKind, InstrSpec, Kernel, Region, RegionBuilder, RegionError, limits};
use lowtide::target::{Latencies, Target};

/// A vector load, a read of local memory, a permutation, a scalar load and an addition, each used by a store.
const SPECS: [InstrSpec; 6] = [
    InstrSpec {
        opcode: "GLOBAL_LOAD_DWORD",
        latency: 80,
        units: &[("HWVMEM", 1)],
        flags: "l",
        micro_ops: 1,
        address_space: 1,
    },
    InstrSpec {
        opcode: "DS_READ_B32",
        latency: 5,
        units: &[("HWLGKM", 1)],
        flags: "l",
        micro_ops: 1,
        address_space: 3,
    },
    InstrSpec {
        opcode: "DS_BPERMUTE_B32",
        latency: 5,
        units: &[("HWLGKM", 1)],
        flags: "v",
        micro_ops: 1,
        address_space: -1,
    },
    InstrSpec {
        opcode: "S_LOAD_DWORD",
        latency: 5,
        units: &[("HWLGKM", 1)],
        flags: "l",
        micro_ops: 1,
        address_space: 4,
    },
    InstrSpec {
        opcode: "V_ADD_U32_e32",
        latency: 1,
        units: &[("HWVALU", 1)],
        flags: "",
        micro_ops: 1,
        address_space: -1,
    },
    InstrSpec {
        opcode: "GLOBAL_STORE_DWORD",
        latency: 80,
        units: &[("HWVMEM", 1)],
        flags: "s",
        micro_ops: 1,
        address_space: 1,
    },
];

const STORE: InstrId = InstrId(5);

fn region() -> Region {
    let mut builder = RegionBuilder::new("all");
    let class = builder.class("vgpr");
    for spec in SPECS {
        let instr = builder.instr(spec);
        if instr == STORE {
            continue;
        }
        let register = builder.register("", class, 1, 1);
        builder.defs(instr, register, 1);
        builder.uses(STORE, register, 1);
        builder.depend(instr, STORE, DepKind::Data, spec.latency);
        builder.hint(instr, None, HintKind::Exit, spec.latency);
        builder.hint(instr, Some(STORE), HintKind::Weak, 3);
    }
    for kind in [DepKind::Memory, DepKind::Barrier, DepKind::Anti, DepKind::Output] {
        builder.depend(InstrId(0), STORE, kind, 7);
    }
    builder.build().unwrap()
}

fn target() -> Target {
    Target::parse(
        "name='t'\ndescription=''\n[issue]\nwidth=1\nunits=[{name='HWVMEM'},{name='HWLGKM'},{name='HWVALU'}]\n\
         [[file]]\nname='f'\nsize=16\ngranule=4\nwaves=2\nclasses=[{name='vgpr',max=16}]\n\
         [[latency]]\nunit='HWVMEM'\naccess='load'\ncycles=500\nsource='x'\n\
         [[latency]]\nunit='HWLGKM'\naddress_space=3\ncycles=64\nsource='x'\n\
         [[latency]]\nunit='HWLGKM'\nprefix='DS_'\ncycles=100\nsource='x'\n\
         [[latency]]\nunit='HWLGKM'\ncycles=120\nsource='x'\n",
    )
    .unwrap()
}

fn data(region: &Region) -> Vec<u32> {
    let deps = region.deps().iter().filter(|dep| dep.kind == DepKind::Data);
    deps.map(|dep| dep.latency).collect()
}

#[test]
fn the_first_entry_that_matches_counts() {
    let changed = region().with_latencies(Latencies::TARGET, &target()).unwrap();
    assert_eq!(data(&changed), [500, 64, 100, 120, 1]);
    let own: Vec<u32> = changed.instrs().map(|instr| changed.latency(instr)).collect();
    assert_eq!(own, [500, 64, 100, 120, 1, 80], "a store matches no entry for loads");
    let exits = changed.hints().iter().filter(|hint| hint.kind == HintKind::Exit);
    assert_eq!(exits.map(|hint| hint.latency).collect::<Vec<_>>(), [500, 64, 100, 120, 1]);
}

#[test]
fn everything_but_data_stays() {
    let changed = region().with_latencies(Latencies::TARGET, &target()).unwrap();
    let others = |region: &Region| -> Vec<_> {
        region.deps().iter().filter(|dep| dep.kind != DepKind::Data).copied().collect()
    };
    assert_eq!(others(&changed), others(&region()));
    let weak = changed.hints().iter().filter(|hint| hint.kind == HintKind::Weak);
    assert!(weak.clone().count() == 5 && weak.clone().all(|hint| hint.latency == 3));
    assert_eq!(changed.values(), region().values());
}

/// A region that was built with the new latencies is the same region: edges and all.
#[test]
fn the_result_is_the_region_that_the_builder_would_make() {
    let changed = region().with_latencies(Latencies::TARGET, &target()).unwrap();
    let mut builder = RegionBuilder::new("all");
    let class = builder.class("vgpr");
    for (position, spec) in SPECS.into_iter().enumerate() {
        let latency = [500, 64, 100, 120, 1, 80][position];
        let instr = builder.instr(InstrSpec { latency, ..spec });
        if instr == STORE {
            continue;
        }
        let register = builder.register("", class, 1, 1);
        builder.defs(instr, register, 1);
        builder.uses(STORE, register, 1);
        builder.depend(instr, STORE, DepKind::Data, latency);
        builder.hint(instr, None, HintKind::Exit, latency);
        builder.hint(instr, Some(STORE), HintKind::Weak, 3);
    }
    for kind in [DepKind::Memory, DepKind::Barrier, DepKind::Anti, DepKind::Output] {
        builder.depend(InstrId(0), STORE, kind, 7);
    }
    assert_eq!(changed, builder.build().unwrap());
    assert_eq!(changed.preds(STORE)[0].latency, 500);
}

#[test]
fn nothing_changes_without_a_table_or_with_recorded_latencies() {
    let kernel = Kernel::new("k", vec![region()]);
    let generic = Target::builtin("generic").unwrap();
    assert_eq!(kernel.clone().with_latencies(Latencies::TARGET, &generic), Ok(kernel.clone()));
    assert_eq!(kernel.clone().with_latencies(Latencies::Recorded, &target()), Ok(kernel.clone()));
    assert_eq!(generic.resolve(Latencies::TARGET), Latencies::Recorded);
    assert_eq!(target().resolve(Latencies::TARGET), Latencies::TARGET);
}

#[test]
fn factors_multiply_the_table_and_nothing_else() {
    let half = region().with_latencies(Latencies::Target { percent: 50 }, &target()).unwrap();
    assert_eq!(data(&half), [250, 32, 50, 60, 1]);
    let double = region().with_latencies(Latencies::Target { percent: 200 }, &target()).unwrap();
    assert_eq!(data(&double), [1000, 128, 200, 240, 1]);
    // The table replaces latencies: applying another one does not depend on the first.
    assert_eq!(half.with_latencies(Latencies::Target { percent: 200 }, &target()), Ok(double));
}

#[test]
fn sums_beyond_32_bits_are_refused() {
    let mut builder = RegionBuilder::new("many");
    for _ in 0..300 {
        builder.instr(SPECS[0]);
    }
    let region = builder.build().unwrap();
    let table = "cycles=500";
    let text = "name='t'\ndescription=''\n[issue]\nwidth=1\nunits=[{name='HWVMEM'}]\n[[file]]\nname='f'\nsize=16\ngranule=4\n\
                waves=2\nclasses=[{name='vgpr',max=16}]\n[[latency]]\nunit='HWVMEM'\ncycles=500\nsource='x'\n";
    let slow = Target::parse(&text.replace(table, "cycles=100000")).unwrap();
    let most = Latencies::Target { percent: Latencies::MOST_PERCENT };
    let error = region.clone().with_latencies(most, &slow).unwrap_err();
    assert_eq!(error, RegionError::Overflow { what: "latencies", sum: 300 * 10_000_000 });
    const { assert!(300 * 10_000_000 > limits::TOTAL) };
    assert!(region.with_latencies(most, &Target::parse(text).unwrap()).is_ok());
}
