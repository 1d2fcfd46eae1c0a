//! The tables of `lowtide bench colony` for the terminal.

use std::collections::BTreeMap;

use lowtide_tool::table::{grouped, table, trimmed};

use super::document::{CUDA, Document, ONE_THREAD, RANGES, THREADS};
use crate::book::papers::shobaki_2024::TABLE_3;

/// Return the lines of the summary.
pub(super) fn facts(document: &Document) -> Vec<String> {
    let regions: u64 = document.passes.iter().flat_map(BTreeMap::values).map(|range| range.regions).sum();
    vec![format!("{} kernels, {} searches by ants", grouped(document.kernels), grouped(regions))]
}

/// Return tables for the terminal.
pub(super) fn text(document: &Document) -> String {
    let header =
        ["device", "pass", "size", "regions", "choices/s", "geomean", "max", "min", "batch", "paper 4"];
    let mut rows = table(3, &header);
    for device in [THREADS, CUDA] {
        for (pass, ranges) in document.passes.iter().enumerate() {
            for (position, (name, _)) in RANGES.iter().enumerate() {
                let Some(range) = ranges.get(name) else { continue };
                let Some(speed_ups) = range.devices.get(device) else { continue };
                let ratio = |ratio: f64| format!("{ratio:.2}");
                rows.add_row([
                    device.to_string(),
                    (pass + 1).to_string(),
                    (*name).to_string(),
                    grouped(range.regions),
                    grouped(range.choices_per_second.round() as u64),
                    ratio(speed_ups.geomean_speedup),
                    ratio(speed_ups.max_speedup),
                    ratio(speed_ups.min_speedup),
                    speed_ups.batch_speedup.map_or_else(String::new, ratio),
                    if device == CUDA { ratio(TABLE_3[pass][position].geomean) } else { String::new() },
                ]);
            }
        }
    }
    let budget = match document.nodes {
        Some(nodes) => format!("at most {} choices per region and pass", grouped(nodes)),
        None => "no limit on choices".to_string(),
    };
    let mut text = format!(
        "{} kernels; {budget}; choices/s: on one thread\n\n\
         Speed-up over one thread, region by region (a GPU: paper 4, Tables 3.a and 3.b)\n{}\n\n\
         All regions at once: one thread {:.2} s, {} threads {:.2} s (speed-up {:.2})",
        grouped(document.kernels),
        trimmed(&rows),
        document.whole.seconds[ONE_THREAD],
        document.threads,
        document.whole.seconds[THREADS],
        document.whole.speedup[THREADS],
    );
    if let (Some(gpu), Some(start)) = (&document.gpu, document.gpu_start_seconds) {
        let [host, transfer, run] = document.whole.gpu_parts;
        text += &format!(
            ",\n{gpu} {:.3} s (speed-up {:.1}; host {host:.3} s, transfers {transfer:.3} s, device {run:.3} s).\n\
             Opening the GPU and compiling its code took {start:.2} s",
            document.whole.seconds[CUDA], document.whole.speedup[CUDA],
        );
    }
    text + ".\nAll schedules are the same."
}
