#![no_main]

#[path = "../../crates/lowtide-io/tests/harness/mod.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    harness::region_file(data);
});
