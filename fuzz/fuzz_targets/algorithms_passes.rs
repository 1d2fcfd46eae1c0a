#![no_main]

#[path = "../../crates/lowtide/tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = fuzzed::passes(data);
});
