//! The promises of the program, tested on the program itself.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../../tests/skip.rs"]
mod skip;

mod algorithms;
mod bad_input;
mod bench;
mod book;
mod certificates;
mod check;
mod compare;
mod constraints;
mod convert;
mod diff;
mod explain;
mod front;
mod golden;
mod help;
mod latencies;
mod names;
mod output;
mod pack;
mod passes;
mod published;
mod registers;
mod schedule;
mod shared_corpus;
mod simulate;
mod store;
mod tables;
mod targets;
mod terminal;
mod view;
mod why;

use common::{corpus, run};
use serde_json::json;

#[test]
fn info_counts_what_is_there() {
    let document = run("info {} --json", &[&corpus()]).json();
    for (key, count) in [("kernels", 26), ("regions", 284), ("instructions", 9363), ("largest", 1144)] {
        assert_eq!(document[key], count, "{key}");
    }
    assert_eq!(document["targets"], json!({"gfx906": 26}));
    let table = run("info {}", &[&corpus()]).ok();
    assert!(table.starts_with("26 kernels (26 entries), 284 regions, 9,363 instructions"), "{table}");
}
