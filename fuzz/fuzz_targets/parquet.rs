#![no_main]

#[path = "../../crates/lowtide-io/tests/harness/mod.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(
    // The reader turns panics of the Parquet library into errors. Panics that leave the reader still end the
    // run.
    init: std::panic::set_hook(Box::new(|_| {})),
    |data: &[u8]| {
        harness::parquet(data);
    }
);
