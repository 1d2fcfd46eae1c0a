//! The chapter on paper 4: Tables 1, 2 and 5; on a GPU also Tables 3.a and 3.b, Figures 2 and 3.

use lowtide::algorithm::Algorithm;
use lowtide_tool::table::grouped;

use super::document::{CUDA, Document, ONE_THREAD, RANGES, THREADS};
use crate::book::papers::shobaki_2024::{self as paper, SpeedUp, TABLE_3, TABLE_5};
use crate::book::{Chapter, Chart, Table, listed, more};

/// The last speed-up of each range of the histogram.
const SPEED_UPS: [f64; 11] = [0.5, 1.0, 1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// Return the chapter of the benchmark.
pub(super) fn chapter(document: &Document, command: String) -> Chapter {
    let mut parts = vec![input(document).into(), effect(document).into(), work(document).into()];
    for (device, name) in devices(document) {
        parts.push(speed_ups(document, device, &name).into());
        for pass in [1, 2] {
            if document.each.iter().any(|each| each.pass == pass) {
                parts.push(distribution(document, device, &name, pass).into());
            }
        }
    }
    parts.push(times(document).into());
    let budget = document.nodes.map_or_else(
        || "no limit".to_string(),
        |nodes| format!("{} choices for each region and pass", grouped(nodes)),
    );
    Chapter {
        id: "colony",
        title: "Ant colonies",
        paper: paper::PAPER,
        command,
        facts: vec![
            (
                "input",
                format!("{} kernels, {} regions", grouped(document.kernels), grouped(document.regions)),
            ),
            ("targets", listed(&document.targets)),
            ("budget", budget),
        ],
        parts,
    }
}

/// Return the devices with their names for readers.
fn devices(document: &Document) -> Vec<(&'static str, String)> {
    let mut devices = vec![(THREADS, format!("{} threads", document.threads))];
    if let Some(gpu) = &document.gpu {
        devices.push((CUDA, gpu.clone()));
    }
    devices
}

fn input(document: &Document) -> Table {
    let mut table =
        Table::new("The input, and the regions left to ants (Table 1)").name("").paper("paper").ours("here");
    let mut row = |name: &str, paper, ours| table.side_by_side(name, paper, ours);
    row("kernels", grouped(paper::KERNELS), grouped(document.kernels));
    row("regions", grouped(paper::REGIONS), grouped(document.regions));
    for pass in [1, 2] {
        let sizes: Vec<u64> =
            document.each.iter().filter(|each| each.pass == pass).map(|each| each.n as u64).collect();
        let count = sizes.len() as u64;
        let average = match count {
            0 => String::new(),
            _ => format!("{:.1}", sizes.iter().sum::<u64>() as f64 / count as f64),
        };
        let largest = sizes.iter().max().map_or_else(String::new, |size| grouped(*size));
        row(&format!("pass {pass}: regions"), grouped(paper::ASKED[pass - 1]), grouped(count));
        row(&format!("pass {pass}: mean size"), paper::MEAN_SIZE[pass - 1].to_string(), average);
        row(&format!("pass {pass}: largest"), grouped(paper::LARGEST[pass - 1]), largest);
    }
    table.note(
        "Ants run where a heuristic does not meet the lower bound. The bounds here are better than the paper's, and \
         equal graphs are solved once. So fewer regions are left to ants.",
    )
}

fn effect(document: &Document) -> Table {
    let mut table = Table::new("Gain of ants over the production scheduler (Table 2)")
        .name("")
        .paper("paper")
        .ours("here");
    let effect = &document.effect;
    let (before, after) = (Algorithm::PRODUCTION.name(), Algorithm::COLONY.name());
    let percent = |value: f64| format!("{value:+.2} %");
    let mut row = |name, paper, ours| table.side_by_side(name, paper, ours);
    row(
        "waves of all kernels",
        percent(paper::WAVES_GAINED[0]),
        more(effect.occupancy[after], effect.occupancy[before]),
    );
    row(
        "waves of one kernel, at most",
        percent(paper::WAVES_GAINED[1]),
        percent(effect.most_occupancy_gained),
    );
    row(
        "length of all regions",
        percent(-paper::LENGTH_SAVED[0]),
        more(effect.length[after], effect.length[before]),
    );
    row(
        "length of one region, at best",
        percent(-paper::LENGTH_SAVED[1]),
        percent(-effect.most_length_saved),
    );
    table
}

/// Return the work of the ants, which is the same on every machine.
fn work(document: &Document) -> Table {
    let mut table = Table::new("Work of the ants")
        .name("pass")
        .name("instructions")
        .ours("regions")
        .ours("iterations")
        .ours("choices")
        .machine("seconds of one thread");
    for (pass, ranges) in document.passes.iter().enumerate() {
        for (name, _) in RANGES {
            let Some(range) = ranges.get(name) else { continue };
            table.row([
                (pass + 1).to_string(),
                name.to_string(),
                grouped(range.regions),
                grouped(range.iterations),
                grouped(range.choices),
                format!("{:.3}", range.seconds),
            ]);
        }
    }
    table.note("Threads and GPUs make the same schedules as one thread. The benchmark checked this for every region.")
}

/// Return the time of all schedules, by heuristic alone and with ants.
fn times(document: &Document) -> Table {
    let heuristic = document.heuristic_seconds;
    let mut table = Table::new("Time of all schedules (Table 5)")
        .name("")
        .paper("compilation, paper: s")
        .paper("more, paper")
        .machine("scheduling: s")
        .machine("factor");
    let mut row = |name: &str, paper: Option<u64>, seconds: f64| {
        let theirs = paper.map_or_else(String::new, grouped);
        let gain = paper.filter(|paper| *paper != TABLE_5[0]).map(|paper| more(paper, TABLE_5[0]));
        let factor = format!("{:.2}", seconds / heuristic.max(1e-9));
        table.row([name.to_string(), theirs, gain.unwrap_or_default(), format!("{seconds:.3}"), factor]);
    };
    row("gcn-max-occupancy (paper: the AMD scheduler)", Some(TABLE_5[0]), heuristic);
    for (device, name, paper) in [
        (ONE_THREAD, "with ants on one thread".to_string(), Some(TABLE_5[1])),
        (THREADS, format!("with ants on {} threads", document.threads), None),
        (CUDA, "with ants on the GPU".to_string(), Some(TABLE_5[2])),
    ] {
        if let Some(seconds) = document.whole.seconds.get(device) {
            row(&name, paper, heuristic + seconds);
        }
    }
    table.note("The paper has the time of the whole compiler. Here schedulers alone are timed, and equal graphs are solved once.")
}

fn speed_ups(document: &Document, device: &str, name: &str) -> Table {
    // The paper's speed-ups are those of a GPU.
    let beside_paper = device == CUDA;
    let of_paper = if beside_paper { " (Tables 3.a and 3.b)" } else { "" };
    let mut table =
        Table::new(&format!("Speed-up over one thread: {name}{of_paper}")).name("pass").name("instructions");
    for title in ["regions", "mean", "most", "least"] {
        if beside_paper {
            table = table.paper(&format!("{title}, paper"));
        }
        table = table.machine(title);
    }
    for (pass, ranges) in document.passes.iter().enumerate() {
        for (position, (range, _)) in RANGES.into_iter().enumerate() {
            let Some((own, speed_up)) =
                ranges.get(range).and_then(|own| Some((own, own.devices.get(device)?)))
            else {
                continue;
            };
            let SpeedUp { asked, comparable, geomean, max, min } = TABLE_3[pass][position];
            let theirs = format!("{}, {} of them comparable", grouped(asked), grouped(comparable));
            let figures = [
                (theirs, grouped(own.regions)),
                (format!("{geomean:.2}"), format!("{:.2}", speed_up.geomean_speedup)),
                (format!("{max:.2}"), format!("{:.2}", speed_up.max_speedup)),
                (format!("{min:.2}"), format!("{:.2}", speed_up.min_speedup)),
            ];
            let mut row = vec![(pass + 1).to_string(), range.to_string()];
            for (paper, ours) in figures {
                row.extend(beside_paper.then_some(paper));
                row.push(ours);
            }
            table.push(row);
        }
    }
    table.note(match beside_paper {
        true => "Means are geometric. All regions of a size range are one batch, and each counts with an equal share of its time.",
        false => "Means are geometric. The paper has no figures for several threads; those of its GPU stand beside a GPU's (`--device cuda`).",
    })
}

fn distribution(document: &Document, device: &'static str, name: &str, pass: usize) -> Chart {
    let mut labels = vec![format!("up to {}", SPEED_UPS[0])];
    labels.extend(SPEED_UPS.windows(2).map(|ends| format!("{} to {}", ends[0], ends[1])));
    labels.push(format!("over {}", SPEED_UPS[SPEED_UPS.len() - 1]));
    let rows = RANGES.iter().enumerate().map(|(position, (range, least))| {
        let next = RANGES.get(position + 1).map_or(usize::MAX, |(_, next)| *next);
        let own = document.each.iter().filter(|each| each.pass == pass && (*least..next).contains(&each.n));
        let ratios: Vec<f64> = own.filter_map(|each| each.speedup.get(device).copied()).collect();
        let place = |ratio: f64| SPEED_UPS.partition_point(|most| *most < ratio);
        let count = |wanted: usize| ratios.iter().filter(|ratio| place(**ratio) == wanted).count() as f64;
        (format!("{range} instructions"), (0..labels.len()).map(|place| Some(count(place))).collect())
    });
    let rows = rows.collect();
    let of_paper = if device == CUDA { format!(" (Figure {})", pass + 1) } else { String::new() };
    let title = format!("Speed-ups in pass {pass}: {name}{of_paper}");
    Chart::bars(&title, ["speed-up", "regions"], labels, rows).of_machine()
}
