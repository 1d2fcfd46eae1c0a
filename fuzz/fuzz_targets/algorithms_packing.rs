#![no_main]

#[path = "../../crates/lowtide/tests/fuzzed/mod.rs"]
mod fuzzed;
#[path = "../../crates/lowtide/tests/pack_cases/mod.rs"]
mod pack_cases;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = fuzzed::packing(data, pack_cases::machine, pack_cases::block);
});
