//! The tests outside the modules. They are one program, which compiles faster than one for each file and
//! keeps all cores busy.

mod fuzzed;
mod made;
mod pack_cases;
mod pass_cases;
#[path = "../../../tests/skip.rs"]
mod skip;

mod check_bound;
mod checker;
mod colony;
mod exact;
mod fuzz_algorithms;
mod groups;
mod kernel;
mod latencies;
mod list;
mod long_runs;
mod model;
mod occupancy;
mod pack;
mod pack_operands;
mod pass1;
mod pass2;
mod published;
mod simulate;
mod spills;
mod store;
mod structure;
mod throughput;
mod weighted;
