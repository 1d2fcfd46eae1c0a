//! The tests outside the modules. They are one program, which compiles faster than one for each file and
//! keeps all cores busy.

mod harness;
#[path = "../../../tests/instances.rs"]
mod instance_files;
#[path = "../../lowtide/tests/made/mod.rs"]
mod made;
#[path = "../../lowtide/tests/pack_cases/mod.rs"]
mod pack_cases;
#[path = "../../lowtide/tests/pass_cases/mod.rs"]
mod pass_cases;
#[path = "../../../tests/skip.rs"]
mod skip;

mod bad_input;
mod fuzz_short;
mod groups;
mod instances;
mod kernels;
mod parquet;
mod promises;
mod round_trip;
mod shaders;
