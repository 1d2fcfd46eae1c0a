//! Whatever a caller gets wrong is told, and nothing crashes.

// Calls as a C program makes them: every pointer is NULL or that of something alive in the test.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

#[allow(dead_code)] // shared with tests that use more of it
mod calls;

use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

use calls::*;
use lowtide_capi::lowtide_status::*;
use lowtide_capi::*;

const BAD: &CStr = c"\xff\xfe";

/// What a function says that fails.
fn refusal<T>(result: Result<T, Refusal>) -> Refusal {
    result.map(|_| ()).unwrap_err()
}

/// A function that fails must do with a NULL for its message, too.
fn bad_argument(
    function: impl Fn(Option<&mut std::mem::MaybeUninit<*mut c_char>>) -> lowtide_status,
) -> String {
    assert_eq!(function(None), LOWTIDE_BAD_ARGUMENT);
    let (status, message) = refusal(call(&function));
    assert_eq!(status, LOWTIDE_BAD_ARGUMENT);
    assert!(!message.is_empty());
    message
}

/// A region that is valid: one instruction that reads and one that writes.
fn good_region(name: &str) -> Box<lowtide_region> {
    let mut region = new_region(name);
    let vgpr = unsafe { lowtide_region_class(Some(&mut region), c"vgpr".as_ptr()) };
    let a = unsafe { lowtide_region_register(Some(&mut region), c"a".as_ptr(), vgpr, 2, 1) };
    lowtide_region_live_in(Some(&mut region), a, 1);
    let first = instr(&mut region, "read");
    lowtide_region_use(Some(&mut region), first, a, 1);
    let second = instr(&mut region, "write");
    unsafe { lowtide_region_def(Some(&mut region), second, a, 2, c"du".as_ptr()) };
    region
}

/// What a kernel says about a good region after a change to it.
fn after(change: impl FnOnce(&mut lowtide_region)) -> Result<(), Refusal> {
    let mut region = good_region("r");
    change(&mut region);
    add(&mut new_kernel("k"), region)
}

#[test]
fn null_handles_are_told() {
    let target = target("gfx906");
    let session = session("gfx906");
    let kernel = new_kernel("k");
    let options = default_options();
    let none = null::<c_char>();
    bad_argument(|message| handle_status(|out| unsafe { lowtide_target_builtin(none, out, message) }));
    bad_argument(|message| handle_status(|out| unsafe { lowtide_target_parse(none, out, message) }));
    bad_argument(|message| unsafe { lowtide_target_builtin(c"gfx906".as_ptr(), None, message) });
    bad_argument(|message| handle_status(|out| lowtide_session_new(None, out, message)));
    bad_argument(|message| lowtide_session_new(Some(&target), None, message));
    bad_argument(|message| lowtide_kernel_add_region(None, Some(good_region("r")), message));
    bad_argument(|message| lowtide_kernel_add_region(Some(&mut new_kernel("k")), None, message));
    bad_argument(|message| handle_status(|out| lowtide_kernel_format(None, out, message)));
    bad_argument(|message| lowtide_kernel_format(Some(&kernel), None, message));
    let (session, kernel, options) = (Some(&*session), Some(&*kernel), Some(&options));
    bad_argument(|message| {
        handle_status(|out| unsafe { lowtide_schedule(None, kernel, options, out, message) })
    });
    bad_argument(|message| {
        handle_status(|out| unsafe { lowtide_schedule(session, None, options, out, message) })
    });
    bad_argument(|message| {
        handle_status(|out| unsafe { lowtide_schedule(session, kernel, None, out, message) })
    });
    bad_argument(|message| unsafe { lowtide_schedule(session, kernel, options, None, message) });
    let outcome = handle(|out, message| unsafe { lowtide_schedule(session, kernel, options, out, message) });
    let outcome = outcome.unwrap();
    bad_argument(|message| lowtide_outcome_kernel(None, Some(&mut std::mem::MaybeUninit::uninit()), message));
    bad_argument(|message| lowtide_outcome_kernel(Some(&outcome), None, message));
    bad_argument(|message| {
        lowtide_outcome_region(None, 0, Some(&mut std::mem::MaybeUninit::uninit()), message)
    });
    bad_argument(|message| lowtide_outcome_region(Some(&outcome), 0, None, message));
    let message = bad_argument(|message| {
        lowtide_outcome_region(Some(&outcome), 0, Some(&mut std::mem::MaybeUninit::uninit()), message)
    });
    assert!(message.contains("the kernel has 0"), "{message}");
    bad_argument(|message| {
        lowtide_outcome_point(None, 0, Some(&mut std::mem::MaybeUninit::uninit()), message)
    });
    bad_argument(|message| lowtide_outcome_point(Some(&outcome), 0, None, message));
    bad_argument(|message| {
        lowtide_outcome_point_region(None, 0, 0, Some(&mut std::mem::MaybeUninit::uninit()), message)
    });
    bad_argument(|message| lowtide_outcome_point_region(Some(&outcome), 0, 0, None, message));

    unsafe { lowtide_string_free(null_mut()) };
    lowtide_target_free(None);
    lowtide_session_free(None);
    lowtide_region_free(None);
    lowtide_kernel_free(None);
    lowtide_outcome_free(None);
    lowtide_options_default(None);
    assert_eq!(lowtide_target_max_waves(None), 0);
    assert_eq!(lowtide_target_max_waves(Some(&target)), 10);
    assert_eq!(unsafe { CStr::from_ptr(lowtide_version()) }.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}

/// Calls something that makes a handle (or a text), which must stay NULL.
fn handle_status<T>(
    function: impl FnOnce(Option<&mut std::mem::MaybeUninit<*mut T>>) -> lowtide_status,
) -> lowtide_status {
    let mut out = std::mem::MaybeUninit::new(std::ptr::dangling_mut());
    let status = function(Some(&mut out));
    assert!(unsafe { out.assume_init() }.is_null());
    status
}

#[test]
fn points_and_regions_that_are_not_there_are_told() {
    let session = session("gfx906");
    let mut kernel = new_kernel("k");
    add(&mut kernel, good_region("r")).unwrap();
    let point = |outcome: &lowtide_outcome, number| {
        let nothing = lowtide_point { waves: 0, cycles_per_wave: 0.0, cycles_per_wave_bound: 0.0 };
        ask(
            |point| point == nothing,
            |out, message| lowtide_outcome_point(Some(outcome), number, out, message),
        )
    };
    let region = |outcome: &lowtide_outcome, number, position| {
        ask(
            |region: lowtide_region_result| region.count == 0 && region.order.is_null(),
            |out, message| lowtide_outcome_point_region(Some(outcome), number, position, out, message),
        )
    };
    let count = |outcome: &lowtide_outcome| {
        ask(|_| false, |out, message| lowtide_outcome_kernel(Some(outcome), out, message)).unwrap().points
    };
    let usual = default_options();
    let without = schedule(&session, &kernel, &usual).unwrap();
    assert_eq!(count(&without), 0);
    let (status, message) = refusal(point(&without, 0));
    assert_eq!((status, &*message), (LOWTIDE_BAD_ARGUMENT, "there is no point 0: the front has 0"));
    assert_eq!(refusal(region(&without, 0, 0)).0, LOWTIDE_BAD_ARGUMENT);

    let front = schedule(&session, &kernel, &lowtide_options { front: 1, ..usual }).unwrap();
    let points = count(&front);
    assert!(points > 0);
    for number in 0..points {
        point(&front, number).unwrap();
        region(&front, number, 0).unwrap();
        for position in [1, usize::MAX] {
            let (status, message) = refusal(region(&front, number, position));
            assert_eq!(status, LOWTIDE_BAD_ARGUMENT);
            assert!(message.contains("the kernel has 1"), "{message}");
        }
    }
    for number in [points, usize::MAX] {
        let (status, message) = refusal(point(&front, number));
        assert_eq!(status, LOWTIDE_BAD_ARGUMENT);
        assert!(message.contains(&format!("the front has {points}")), "{message}");
        assert_eq!(refusal(region(&front, number, 0)).0, LOWTIDE_BAD_ARGUMENT);
    }
}

#[test]
fn fronts_are_only_for_waves() {
    let session = session("gfx906");
    let mut kernel = new_kernel("k");
    add(&mut kernel, good_region("r")).unwrap();
    let one_pass = c("latency-hiding");
    let usual = default_options();
    for options in [
        lowtide_options { goal: lowtide_goal::LOWTIDE_MIN_REG as u32, ..usual },
        lowtide_options { goal: lowtide_goal::LOWTIDE_LENGTH as u32, ..usual },
        lowtide_options { algorithm: one_pass.as_ptr(), ..usual },
    ] {
        let outcome = schedule(&session, &kernel, &lowtide_options { front: 1, ..options }).unwrap();
        let result = ask(|_| false, |out, message| lowtide_outcome_kernel(Some(&outcome), out, message));
        assert_eq!(result.unwrap().points, 0);
    }
}

#[test]
fn null_regions_and_kernels_do_nothing() {
    assert!(unsafe { lowtide_region_new(null()) }.is_null());
    assert!(unsafe { lowtide_region_new(BAD.as_ptr()) }.is_null());
    assert!(unsafe { lowtide_kernel_new(null()) }.is_null());
    assert!(unsafe { lowtide_kernel_new(BAD.as_ptr()) }.is_null());
    let name = c"x".as_ptr();
    lowtide_region_set_loop_depth(None, 1);
    lowtide_region_set_frequency(None, 1);
    assert_eq!(unsafe { lowtide_region_class(None, name) }, u32::MAX);
    assert_eq!(unsafe { lowtide_region_register(None, name, 0, 1, 1) }, u32::MAX);
    assert_eq!(unsafe { lowtide_region_instr(None, Some(&no_instr())) }, u32::MAX);
    unsafe { lowtide_region_set_boundary(None, name) };
    unsafe { lowtide_region_def(None, 0, 0, 1, name) };
    unsafe { lowtide_region_production(None, name, null(), 0) };
    lowtide_region_use(None, 0, 0, 1);
    lowtide_region_live_in(None, 0, 1);
    lowtide_region_live_out(None, 0, 1);
    lowtide_region_through(None, 0, 1);
    lowtide_region_depend(None, 0, 1, 0, 0);
    lowtide_region_hint(None, 0, 1, 0, 0);
    unsafe { lowtide_kernel_set_origin(None, name) };
    unsafe { lowtide_kernel_set_target(None, name) };
    lowtide_kernel_set_entry(None, true);
    lowtide_kernel_set_max_occupancy(None, 1);
}

#[test]
fn bad_strings_and_arrays_of_a_region_are_kept_until_it_is_added() {
    assert_eq!(after(|_| ()), Ok(()));
    type Change = fn(&mut lowtide_region, *const c_char);
    let changes: [Change; 8] = [
        |region, text| unsafe { lowtide_region_set_boundary(Some(region), text) },
        |region, text| assert_eq!(unsafe { lowtide_region_class(Some(region), text) }, u32::MAX),
        |region, text| {
            assert_eq!(unsafe { lowtide_region_register(Some(region), text, 0, 1, 1) }, u32::MAX);
        },
        |region, text| {
            let spec = lowtide_instr { opcode: text, ..no_instr() };
            assert_eq!(unsafe { lowtide_region_instr(Some(region), Some(&spec)) }, u32::MAX);
        },
        |region, text| {
            let opcode = c"op".as_ptr();
            let (units, cycles) = ([c"valu".as_ptr(), text], [1, 1]);
            let (units, unit_cycles) = (units.as_ptr(), cycles.as_ptr());
            let spec = lowtide_instr { opcode, units, unit_cycles, unit_count: 2, ..no_instr() };
            assert_eq!(unsafe { lowtide_region_instr(Some(region), Some(&spec)) }, u32::MAX);
        },
        |region, text| unsafe { lowtide_region_production(Some(region), text, [0, 1].as_ptr(), 2) },
        // Flags may be NULL, but not something else.
        |region, text| unsafe {
            let flags = if text.is_null() { c"x".as_ptr() } else { text };
            lowtide_region_def(Some(region), 1, 0, 2, flags);
        },
        |region, text| {
            let flags = if text.is_null() { BAD.as_ptr() } else { text };
            let spec = lowtide_instr { opcode: c"op".as_ptr(), flags, ..no_instr() };
            assert_eq!(unsafe { lowtide_region_instr(Some(region), Some(&spec)) }, u32::MAX);
        },
    ];
    for (number, change) in changes.iter().enumerate() {
        for text in [null(), BAD.as_ptr()] {
            let (status, message) = refusal(after(|region| change(region, text)));
            assert_eq!(status, LOWTIDE_BAD_ARGUMENT, "change {number}: {message}");
        }
    }
    let arrays: [fn(&mut lowtide_region); 5] = [
        |region| unsafe {
            lowtide_region_instr(Some(region), None);
        },
        |region| unsafe {
            let spec = lowtide_instr { opcode: c"op".as_ptr(), unit_count: 1, ..no_instr() };
            lowtide_region_instr(Some(region), Some(&spec));
        },
        |region| unsafe {
            let units = [c"valu".as_ptr()];
            let spec =
                lowtide_instr { opcode: c"op".as_ptr(), units: units.as_ptr(), unit_count: 1, ..no_instr() };
            lowtide_region_instr(Some(region), Some(&spec));
        },
        |region| unsafe { lowtide_region_production(Some(region), c"by".as_ptr(), null(), 2) },
        |region| unsafe { lowtide_region_production(Some(region), c"by".as_ptr(), [0].as_ptr(), usize::MAX) },
    ];
    for (number, change) in arrays.into_iter().enumerate() {
        let (status, message) = refusal(after(change));
        assert_eq!(status, LOWTIDE_BAD_ARGUMENT, "array {number}: {message}");
    }
}

#[test]
fn unknown_numbers_are_told() {
    for kind in [5, u32::MAX] {
        let (status, message) = refusal(after(|region| lowtide_region_depend(Some(region), 0, 1, kind, 0)));
        assert_eq!(status, LOWTIDE_BAD_ARGUMENT);
        assert!(message.contains("dependence"), "{message}");
        let (status, message) = refusal(after(|region| lowtide_region_hint(Some(region), 0, 1, kind, 0)));
        assert_eq!(status, LOWTIDE_BAD_ARGUMENT);
        assert!(message.contains("hint"), "{message}");
    }
    type Change = fn(&mut lowtide_region, u32);
    let changes: [Change; 10] = [
        |region, id| lowtide_region_through(Some(region), id, 1),
        |region, id| unsafe {
            assert_eq!(lowtide_region_register(Some(region), c"b".as_ptr(), id, 1, 1), u32::MAX);
        },
        |region, id| lowtide_region_use(Some(region), id, 0, 1),
        |region, id| lowtide_region_use(Some(region), 0, id, 1),
        |region, id| unsafe { lowtide_region_def(Some(region), id, 0, 1, null()) },
        |region, id| unsafe { lowtide_region_def(Some(region), 0, id, 1, null()) },
        |region, id| lowtide_region_live_in(Some(region), id, 1),
        |region, id| lowtide_region_live_out(Some(region), id, 1),
        |region, id| lowtide_region_depend(Some(region), 0, id, 0, 1),
        |region, id| unsafe { lowtide_region_production(Some(region), c"by".as_ptr(), [0, id].as_ptr(), 2) },
    ];
    for (number, change) in changes.iter().enumerate() {
        for id in [2, 255, 256, u32::MAX - 1, u32::MAX] {
            let (status, message) = refusal(after(|region| change(region, id)));
            assert_eq!(status, LOWTIDE_BAD_REGION, "change {number}, id {id}: {message}");
            assert!(message.starts_with("region \"r\": "), "{message}");
        }
    }
    // The end of the region is the one number that is no instruction.
    assert_eq!(after(|region| lowtide_region_hint(Some(region), 0, u32::MAX, 3, 1)), Ok(()));
    assert_eq!(refusal(after(|region| lowtide_region_hint(Some(region), 0, 2, 3, 1))).0, LOWTIDE_BAD_REGION);
}

#[test]
fn more_classes_than_numbers_for_them_are_refused() {
    let (status, message) = refusal(after(|region| {
        for number in 0..400 {
            let class = unsafe { lowtide_region_class(Some(region), c(&format!("class{number}")).as_ptr()) };
            lowtide_region_through(Some(region), class, 1);
            unsafe { lowtide_region_register(Some(region), c"x".as_ptr(), class, 1, 1) };
        }
    }));
    assert_eq!(status, LOWTIDE_BAD_REGION);
    assert!(message.contains("too many classes"), "{message}");
}

#[test]
fn the_first_mistake_is_told() {
    let (status, message) = refusal(after(|region| {
        lowtide_region_through(Some(region), 7, 1);
        lowtide_region_depend(Some(region), 0, 1, 99, 0);
    }));
    assert_eq!(status, LOWTIDE_BAD_REGION);
    assert!(message.contains("class number 7"), "{message}");
}

#[test]
fn a_kernel_keeps_its_mistakes_and_its_good_regions() {
    let mut kernel = new_kernel("k");
    add(&mut kernel, good_region("a")).unwrap();
    assert_eq!(refusal(add(&mut kernel, new_region("empty"))).0, LOWTIDE_BAD_REGION);
    add(&mut kernel, good_region("b")).unwrap();
    assert_eq!(read(&format(&kernel).unwrap()).regions.len(), 2);

    unsafe { lowtide_kernel_set_origin(Some(&mut kernel), BAD.as_ptr()) };
    let session = session("gfx906");
    assert_eq!(refusal(add(&mut kernel, good_region("c"))).0, LOWTIDE_BAD_ARGUMENT);
    assert_eq!(refusal(format(&kernel)).0, LOWTIDE_BAD_ARGUMENT);
    let (status, message) = refusal(schedule(&session, &kernel, &default_options()));
    assert_eq!(status, LOWTIDE_BAD_ARGUMENT);
    assert!(message.starts_with("origin"), "{message}");

    let mut kernel = new_kernel("k");
    unsafe { lowtide_kernel_set_target(Some(&mut kernel), null()) };
    assert_eq!(refusal(format(&kernel)).0, LOWTIDE_BAD_ARGUMENT);
}

#[test]
fn names_that_stand_for_two_things_have_no_file() {
    let mut kernel = new_kernel("k");
    add(&mut kernel, good_region("a")).unwrap();
    add(&mut kernel, good_region("a")).unwrap();
    let (status, message) = refusal(format(&kernel));
    assert_eq!((status, &*message), (LOWTIDE_BAD_REGION, "region \"a\" of kernel \"k\" appears twice"));

    let mut kernel = new_kernel("k");
    let mut region = good_region("r");
    unsafe { lowtide_region_register(Some(&mut region), c"a".as_ptr(), 0, 1, 1) };
    add(&mut kernel, region).unwrap();
    let (status, message) = refusal(format(&kernel));
    assert_eq!((status, &*message), (LOWTIDE_BAD_REGION, "register \"a\" of region \"r\" appears twice"));
    assert_eq!(format(&new_kernel("empty")).unwrap(), "");
}

#[test]
fn bad_options_are_told() {
    let session = session("gfx906");
    let mut kernel = new_kernel("k");
    add(&mut kernel, good_region("r")).unwrap();
    let usual = default_options();
    let unknown = c("best");
    let bad = [
        lowtide_options { goal: 4, ..usual },
        lowtide_options { filter: 2, ..usual },
        lowtide_options { front: 2, ..usual },
        lowtide_options { front: u32::MAX, ..usual },
        lowtide_options { latencies: 2, ..usual },
        lowtide_options { algorithm: unknown.as_ptr(), ..usual },
        lowtide_options { algorithm: BAD.as_ptr(), ..usual },
    ];
    let messages = bad.map(|options| {
        let (status, message) = refusal(schedule(&session, &kernel, &options));
        assert_eq!(status, LOWTIDE_BAD_ARGUMENT, "{message}");
        let early = bad_argument(|message| unsafe { lowtide_options_check(Some(&options), message) });
        assert_eq!(early, message);
        message
    });
    bad_argument(|message| unsafe { lowtide_options_check(None, message) });
    assert!(messages[2].contains("front"), "{}", messages[2]);
    assert!(messages[5].contains("twopass"), "{}", messages[5]);
    let most = lowtide_options {
        nanoseconds_per_instr: u64::MAX,
        nodes: u64::MAX,
        threads: u32::MAX,
        registers: u32::MAX,
        ..usual
    };
    call(|message| unsafe { lowtide_options_check(Some(&most), message) }).unwrap();
    schedule(&session, &kernel, &most).unwrap();
}

#[test]
fn classes_that_a_target_lacks_are_told() {
    let session = session("sm_90");
    let mut kernel = new_kernel("k");
    add(&mut kernel, good_region("r")).unwrap();
    let (status, message) = refusal(schedule(&session, &kernel, &default_options()));
    assert_eq!(status, LOWTIDE_BAD_TARGET);
    assert!(message.contains("vgpr"), "{message}");
}

#[test]
fn targets_answer_and_refuse() {
    let (status, message) =
        refusal(handle(|out, message| unsafe { lowtide_target_builtin(c"gfx000".as_ptr(), out, message) }));
    assert_eq!(status, LOWTIDE_BAD_ARGUMENT);
    assert!(message.contains("gfx000") && message.contains("gfx906, gfx90a"), "{message}");
    let parse =
        |toml: &CStr| handle(|out, message| unsafe { lowtide_target_parse(toml.as_ptr(), out, message) });
    assert_eq!(refusal(parse(c"name =")).0, LOWTIDE_BAD_TARGET);
    assert_eq!(refusal(parse(c"")).0, LOWTIDE_BAD_TARGET);
    assert_eq!(refusal(parse(BAD)).0, LOWTIDE_BAD_ARGUMENT);
    let own = c(include_str!("../../lowtide/targets/gfx906.toml"));
    assert_eq!(lowtide_target_max_waves(Some(&parse(&own).unwrap())), 10);

    let target = target("gfx906");
    let waves = |classes: &[&CStr], registers: &[u32]| {
        let classes: Vec<*const c_char> = classes.iter().map(|class| class.as_ptr()).collect();
        let (first, registers) = (classes.as_ptr(), registers.as_ptr());
        ask(
            |waves| waves == 0,
            |out, message| unsafe {
                lowtide_target_waves(Some(&target), first, registers, classes.len(), out, message)
            },
        )
    };
    assert_eq!(waves(&[c"vgpr"], &[24]), Ok(10));
    assert_eq!(waves(&[c"sgpr", c"vgpr"], &[10, 25]), Ok(9));
    assert_eq!(waves(&[c"vgpr"], &[u32::MAX]), Ok(1));
    assert_eq!(waves(&[], &[]), Ok(10));
    assert_eq!(refusal(waves(&[c"other"], &[1])).0, LOWTIDE_BAD_TARGET);
    assert_eq!(refusal(waves(&[c"vgpr", c"vgpr"], &[1, 1])).0, LOWTIDE_BAD_ARGUMENT);
    assert_eq!(refusal(waves(&[BAD], &[1])).0, LOWTIDE_BAD_ARGUMENT);
    let none = null::<*const c_char>();
    let target_ref = Some(&*target);
    for count in [1, 17, usize::MAX] {
        bad_argument(|message| unsafe {
            let mut out = std::mem::MaybeUninit::uninit();
            lowtide_target_waves(target_ref, none, null(), count, Some(&mut out), message)
        });
    }
    bad_argument(|message| unsafe { lowtide_target_waves(target_ref, none, null(), 0, None, message) });
    bad_argument(|message| unsafe {
        lowtide_target_waves(None, none, null(), 0, Some(&mut std::mem::MaybeUninit::uninit()), message)
    });

    let limit = |class: *const c_char, waves: u32| {
        ask(
            |registers| registers == 0,
            |out, message| unsafe { lowtide_target_limit(target_ref, class, waves, out, message) },
        )
    };
    for count in 1..=10 {
        let most = limit(c"vgpr".as_ptr(), count).unwrap();
        assert!(waves(&[c"vgpr"], &[most]).unwrap() >= count);
        assert!(count == 1 || waves(&[c"vgpr"], &[most + 1]).unwrap() < count);
    }
    assert_eq!(limit(c"vgpr".as_ptr(), 1), Ok(256));
    assert_eq!(refusal(limit(c"other".as_ptr(), 1)).0, LOWTIDE_BAD_TARGET);
    for (class, waves) in [(c"vgpr".as_ptr(), 0), (c"vgpr".as_ptr(), 11), (null(), 1), (BAD.as_ptr(), 1)] {
        assert_eq!(refusal(limit(class, waves)).0, LOWTIDE_BAD_ARGUMENT);
    }
    bad_argument(|message| unsafe { lowtide_target_limit(target_ref, c"vgpr".as_ptr(), 1, None, message) });
}
