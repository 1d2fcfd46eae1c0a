//! `lowtide compare`.

use crate::common::{array, corpus, number, run};

#[test]
fn auto_never_has_fewer_waves_than_the_source_order() {
    let document = run("compare {} --json", &[&corpus()]).json();
    let algorithms = &document["algorithms"];
    for name in ["auto", "source", "production", "critical-path"] {
        for key in ["occupancy", "length", "peak", "best"] {
            assert!(algorithms[name][key].is_u64(), "{name} {key}: {document}");
        }
    }
    assert!(number(&algorithms["auto"]["occupancy"]) >= number(&algorithms["source"]["occupancy"]));
    let by_kernel = |algorithm: &str| {
        let line = format!("schedule {{}} --json --nodes 10 --algorithm {algorithm}");
        let document = run(&line, &[&corpus()]).json();
        let kernels = array(&document["kernels"]).iter();
        kernels.map(|kernel| number(&kernel["occupancy"])).collect::<Vec<_>>()
    };
    let (auto, source) = (by_kernel("auto"), by_kernel("source"));
    assert!(auto.iter().zip(&source).all(|(auto, source)| auto >= source), "{auto:?} {source:?}");
}

#[test]
fn the_table_has_a_row_for_each_algorithm() {
    let table = run("compare {}", &[&corpus()]).ok();
    for name in ["auto ", "source ", "production ", "critical-path "] {
        assert!(table.lines().any(|line| line.starts_with(name)), "{name}: {table}");
    }
    assert!(table.contains("26 kernels, 284 regions, 9,363 instructions"), "{table}");
}
