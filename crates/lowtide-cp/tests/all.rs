//! The tests outside the modules. They are one program, which compiles faster than one for each file and
//! keeps all cores busy.

#[path = "../../../tests/instances.rs"]
mod instance_files;
#[path = "../../lowtide/tests/made/mod.rs"]
mod made;
#[path = "../../lowtide/tests/pack_cases/mod.rs"]
mod pack_cases;
#[path = "../../../tests/skip.rs"]
mod skip;
mod watchdog;

mod exact_search;
mod instances;
mod length;
mod models;
mod pack;
