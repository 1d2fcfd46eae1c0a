//! `lowtide schedule --registers`.

use crate::common::{array, corpus, number, run};

/// A kernel whose critical-path schedule needs more registers than its shortest one within a limit.
#[test]
fn a_limit_is_kept_where_it_can_be() {
    let peaks = |line: &str| {
        let document = run(line, &[&corpus()]).json();
        let kernels = array(&document["kernels"]).clone();
        let regions = kernels.into_iter().flat_map(|kernel| array(&kernel["regions"]).clone());
        regions.map(|region| (number(&region["peak"]["vgpr"]), number(&region["length"]))).collect::<Vec<_>>()
    };
    let free = peaks("schedule {} --json --goal length --nodes 20000 --latencies recorded");
    let limited = peaks("schedule {} --json --goal length --nodes 20000 --registers 24 --latencies recorded");
    let lowest = peaks("schedule {} --json --goal minreg --nodes 1");
    let mut changed = 0;
    for ((free, limited), lowest) in free.into_iter().zip(limited).zip(lowest) {
        assert!(limited.0 <= 24 || lowest.0 > 24, "{limited:?} though {lowest:?} is possible");
        assert!(limited.1 >= free.1, "a limit makes nothing shorter");
        changed += usize::from(limited != free);
    }
    assert!(changed > 0, "the limit changes something");
}
