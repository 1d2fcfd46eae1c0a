//! Occupancy against what the stock compiler printed for real kernels.

use crate::skip;
use lowtide::target::Target;

/// `../shared/corpus/kernels.tsv` has the registers and the occupancy of each kernel on gfx906. Occupancy
/// must follow from the registers and from a cap for local memory. The cap is given from outside: as many
/// waves as the work-groups have that fit into 64 KiB.
#[test]
fn occupancy_of_real_kernels_follows_from_their_registers() {
    let Some(corpus) = skip::shared_corpus() else { return };
    let text = std::fs::read_to_string(corpus.join("kernels.tsv")).expect("a readable table");
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let column = |name: &str| header.iter().position(|title| *title == name).unwrap();
    let [vgprs, sgprs, occupancy, lds, group] =
        ["NumVgprs", "NumSgprs", "Occupancy", "LDSByteSize", "max_wg"].map(column);
    let vega = Target::builtin("gfx906").unwrap();
    let registers = vega.registers(&["vgpr".into(), "sgpr".into()]).unwrap();
    let (mut kernels, mut capped) = (0, 0);
    for line in lines.filter(|line| !line[occupancy].is_empty()) {
        let number = |column: usize| line[column].parse::<u32>().unwrap_or(0);
        // The final count has VCC and other reserved registers beyond the 102 of values. Nothing is spilled
        // for them.
        let by_registers = registers.occupancy(&[number(vgprs), number(sgprs).min(102)]);
        let groups = 65_536u32.checked_div(number(lds)).unwrap_or(u32::MAX);
        let cap = groups.saturating_mul(number(group).div_ceil(64));
        assert_eq!(by_registers.min(cap), number(occupancy), "{line:?}");
        kernels += 1;
        capped += u32::from(cap < by_registers);
    }
    assert!(kernels > 900 && capped > 10, "{kernels} kernels, {capped} capped by local memory");
    eprintln!("{kernels} kernels agree, {capped} of them are limited by local memory");
}
