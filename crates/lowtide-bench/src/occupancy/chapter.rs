//! The chapter on paper 2: Tables 2, 3, 4 and 8.

use lowtide::algorithm::Algorithm;
use lowtide_tool::table::grouped;

use super::counts::{COUNTS, Counts, SIZES};
use super::document::{AtBudget, Better, Document, Each, FILTERED, OTHERS, TWO_PASSES};
use crate::book::papers::shobaki_2020::{self as paper, Limit, TABLE_3, TABLE_4, TABLE_8};
use crate::book::{Chapter, Chart, Table, listed, mean, more, percent, with_share};

/// Return the chapter of the benchmark.
pub(super) fn chapter(document: &Document, command: String) -> Chapter {
    let mut parts = vec![input(document).into(), improvements(document).into(), sums(document).into()];
    parts.extend([passes(document).into(), proven(document).into(), better(document).into()]);
    parts.extend([
        waves(document).into(),
        curves(document).into(),
        gaps(document).into(),
        sizes(document).into(),
    ]);
    // A single budget that the paper does not have adds nothing.
    if document.budgets.len() > 1 || document.budgets.iter().any(|at| in_paper(at).is_some()) {
        parts.push(budgets(document).into());
    }
    let first = document.budgets.first();
    let time = first
        .and_then(|at| at.ms_per_instruction)
        .map(|time| format!("{time} ms for each instruction and pass"));
    let nodes = first
        .and_then(|at| at.nodes)
        .map(|nodes| format!("{} steps for each region and pass", grouped(nodes)));
    let input = format!("{} kernels, {} regions", grouped(document.kernels), grouped(document.regions));
    Chapter {
        id: "occupancy",
        title: "Most waves, then fewest cycles",
        paper: paper::PAPER,
        command,
        facts: vec![
            ("input", input),
            ("targets", listed(&document.targets)),
            ("budget", [time, nodes].into_iter().flatten().collect::<Vec<_>>().join(" and ")),
        ],
        parts,
    }
}

fn input(document: &Document) -> Table {
    let mut table = Table::new("The input (Table 2)").name("").paper("paper").ours("here");
    let mut row = |name, paper, ours| table.side_by_side(name, paper, ours);
    row("kernels", grouped(paper::KERNELS), grouped(document.kernels));
    row("regions", grouped(paper::REGIONS), grouped(document.regions));
    row("instructions", grouped(paper::INSTRUCTIONS), grouped(document.instructions));
    row("mean size of a region", paper::MEAN_SIZE.to_string(), mean(document.instructions, document.regions));
    let largest = document.each.iter().map(|each| each.n as u64).max().unwrap_or(0);
    row("largest region", paper::LARGEST.to_string(), grouped(largest));
    row("distinct graphs", String::new(), grouped(document.distinct.regions));
    table
}

fn improvements(document: &Document) -> Table {
    let mut table = Table::new("Gain of the two passes (Table 4)")
        .name("against")
        .name("in the paper")
        .paper("waves, paper")
        .ours("waves")
        .paper("length, paper")
        .ours("length");
    for line in &TABLE_4 {
        table.row([
            line.ours.to_string(),
            line.theirs.to_string(),
            format!("{:+.2} %", line.waves),
            more(document.occupancy[TWO_PASSES], document.occupancy[line.ours]),
            format!("{:+.2} %", -line.length),
            more(document.length[TWO_PASSES], document.length[line.ours]),
        ]);
    }
    table.note("Sums over all kernels and over all regions. Fewer cycles are better.")
}

fn sums(document: &Document) -> Table {
    let mut table = Table::new("All algorithms")
        .name("algorithm")
        .ours("waves")
        .ours("length")
        .ours("length by loops")
        .machine("seconds");
    for name in OTHERS.map(Algorithm::name).into_iter().chain([TWO_PASSES, FILTERED]) {
        table.row([
            name.to_string(),
            grouped(document.occupancy[name]),
            grouped(document.length[name]),
            grouped(document.weighted_length[name]),
            format!("{:.2}", document.seconds[name]),
        ]);
    }
    table.row([
        "bound".to_string(),
        grouped(document.occupancy_bound),
        grouped(document.length_bound),
        String::new(),
        String::new(),
    ]);
    table.note(
        "Sums over all kernels and over all regions. The length by loops counts a region ten times for each loop around \
         it, as paper 1 weighs cycles. twopass-paper is the search as published, with the same budget; weighted is the \
         paper's previous search, with twice the budget, since it has one pass. The bound on the length is for the waves of twopass. filtered \
         is twopass with the filter: a few extra waves must not cost many cycles. list uses no search, and \
         few-registers minimises registers only. A schedule that gives up waves has more registers and can be shorter than \
         that of twopass, as those of llvm-generic and filtered show.",
    )
}

fn better(document: &Document) -> Table {
    let mut table = Table::new("Kernels on which another algorithm is better than twopass")
        .name("kernel")
        .name("algorithm")
        .ours("waves")
        .ours("waves, twopass")
        .ours("length")
        .ours("length, twopass");
    for Better { kernel, algorithm, waves, length } in &document.better {
        table.row([
            kernel.clone(),
            (*algorithm).to_string(),
            waves[0].to_string(),
            waves[1].to_string(),
            grouped(length[0]),
            grouped(length[1]),
        ]);
    }
    table.note(match document.better.is_empty() {
        true => "There are none: twopass has the most waves of all on every kernel, and no longer schedules with them.",
        false => {
            "More waves, or the same waves and fewer cycles, without more spills. The budget of twopass ends before \
             its searches do."
        }
    })
}

fn passes(document: &Document) -> Table {
    let mut table = Table::new("What the two passes search, and with which result (Table 3)")
        .name("")
        .paper("pass 1, paper")
        .ours("pass 1, twopass-paper")
        .ours("pass 1")
        .paper("pass 2, paper")
        .ours("pass 2, twopass-paper")
        .ours("pass 2");
    let measured = [&document.paper_distinct, &document.distinct];
    for (position, (name, ours, theirs)) in COUNTS.into_iter().enumerate() {
        let mut row = vec![name.to_string()];
        for (pass, paper) in TABLE_3.iter().enumerate() {
            let (count, share) = theirs(paper);
            row.push(format!("{} ({share:.1} %)", grouped(count)));
            for counts in measured {
                let all = if position == 0 { counts.regions } else { counts.passes[pass].searched };
                row.push(with_share(ours(&counts.passes[pass]), all));
            }
        }
        table.push(row);
    }
    let mut row = vec!["proven by a bound, without a search".to_string()];
    for pass in &document.distinct.passes {
        row.extend([String::new(), String::new(), with_share(pass.by_bound, pass.searched)]);
    }
    table.push(row);
    for (name, ours, theirs) in SIZES {
        let mut row = vec![name.to_string()];
        for (pass, paper) in TABLE_3.iter().enumerate() {
            row.push(grouped(theirs(paper)));
            row.extend(measured.map(|counts| grouped(ours(&counts.passes[pass]))));
        }
        table.push(row);
    }
    table.note(
        "The first line is a share of all regions (here: of the distinct graphs). The other lines are shares of the \
         searched regions. Pass 1 searches a region if its known orders have fewer waves than the other regions of \
         the kernel allow. Pass 2 searches a region if the order of pass 1 is longer than the bound known \
         beforehand. twopass-paper is the search as published, from one list schedule. twopass starts from several \
         orders, and its bounds settle many regions without any search.",
    )
}

fn proven(document: &Document) -> Table {
    let mut table = Table::new("Proofs")
        .name("")
        .ours("distinct graphs")
        .ours("share")
        .ours("twopass-paper")
        .ours("share, twopass-paper");
    let both = [&document.distinct, &document.paper_distinct];
    for (name, count) in [
        ("waves", (|counts: &Counts| counts.proved_waves) as fn(&Counts) -> u64),
        ("length", |counts| counts.proved_length),
        ("both", |counts| counts.proved),
    ] {
        let cells = both.map(|counts| [grouped(count(counts)), percent(count(counts), counts.regions)]);
        table.push([vec![name.to_string()], cells.concat()].concat());
    }
    table
}

/// Draw the additional waves against production, kernel by kernel.
fn waves(document: &Document) -> Chart {
    let production = Algorithm::PRODUCTION.name();
    let change = |name: &str| {
        let of = |name: &str, at: usize| i64::from(document.each_kernel[at].occupancy[name]);
        (0..document.each_kernel.len()).map(|at| of(name, at) - of(production, at)).collect::<Vec<_>>()
    };
    let names = [Algorithm::LIST.name(), TWO_PASSES, FILTERED];
    let changes = names.map(|name| (name, change(name)));
    let all = || changes.iter().flat_map(|(_, changes)| changes);
    let range = all().min().copied().unwrap_or(0)..=all().max().copied().unwrap_or(0);
    let label = |change: i64| if change == 0 { "same".to_string() } else { format!("{change:+}") };
    let rows = changes.iter().map(|(name, changes)| {
        let count = |change: i64| changes.iter().filter(|other| **other == change).count() as f64;
        (name.to_string(), range.clone().map(|change| Some(count(change))).collect())
    });
    let rows = rows.collect();
    let labels = range.clone().map(label).collect();
    Chart::bars("Waves gained over production, by kernel", ["waves", "kernels"], labels, rows)
}

fn curves(document: &Document) -> Chart {
    let names = OTHERS.map(Algorithm::name).into_iter().chain([TWO_PASSES]);
    let series = names.map(|name| {
        let fair = document.each.iter().filter(|each| each.occupancy[name] >= each.waves);
        let ratio = fair.map(|each| f64::from(each.length[name]) / f64::from(each.length_bound.max(1)));
        (name.to_string(), ratio.collect())
    });
    Chart::sorted(
        "Length against its bound, each algorithm sorted",
        ["share of the graphs, %", "length / bound"],
        series.collect(),
    )
    .note(
        "Each algorithm counts on the distinct graphs where it keeps the waves of twopass, since fewer waves allow \
         shorter schedules.",
    )
}

fn gaps(document: &Document) -> Chart {
    let series = [Algorithm::PRODUCTION.name(), Algorithm::LIST.name(), Algorithm::COLONY.name(), TWO_PASSES]
        .map(|name| {
            let fair = document.each.iter().filter(|each| each.occupancy[name] >= each.waves);
            (
                name.to_string(),
                fair.map(|each| (each.length[name].into(), each.length_bound.into())).collect(),
            )
        });
    Chart::gaps("How far lengths are above their bound", &series)
        .note("Each algorithm counts on the distinct graphs where it keeps the waves of twopass.")
}

fn sizes(document: &Document) -> Chart {
    let (proven, open): (Vec<_>, Vec<_>) =
        document.each.iter().partition(|each| each.length[TWO_PASSES] == each.length_bound);
    let of = |each: Vec<&Each>| each.iter().map(|each| each.n).collect();
    let series = [("length proven".to_string(), of(proven)), ("open".to_string(), of(open))];
    Chart::sizes("Sizes of the distinct graphs", "instructions", &series)
}

/// Return the same limit in the paper.
fn in_paper(at: &AtBudget) -> Option<&'static Limit> {
    TABLE_8.iter().find(|paper| Some(paper.ms_per_instruction) == at.ms_per_instruction)
}

fn budgets(document: &Document) -> Table {
    // With budgets of steps alone, only the times depend on the machine.
    let is_fixed = document.budgets.iter().all(|at| at.ms_per_instruction.is_none());
    let ours = |table: Table, title: &str| if is_fixed { table.ours(title) } else { table.machine(title) };
    let mut table = Table::new("Budgets (Table 8)").name("budget").paper("timeouts of pass 1, 2, paper");
    table = ours(table, "timeouts of pass 1, 2").paper("s, paper").machine("seconds");
    table = ours(ours(table, "waves"), "length");
    let first = document.budgets.first().and_then(|at| at.nodes);
    for at in &document.budgets {
        // Of several budgets of steps, the first is compared with the paper's limit of 1 ms.
        let factor = at.nodes.zip(first).map(|(nodes, first)| nodes as f64 / first.max(1) as f64);
        let by_steps =
            factor.and_then(|factor| TABLE_8.iter().find(|limit| limit.ms_per_instruction == factor));
        let theirs = if is_fixed { by_steps } else { in_paper(at) };
        let budget = match (at.ms_per_instruction, at.nodes) {
            (Some(time), _) => format!("{time} ms for each instruction and pass"),
            (None, Some(nodes)) => format!("{} steps", grouped(nodes)),
            (None, None) => "none".to_string(),
        };
        let pair = |[first, second]: [u64; 2]| format!("{}, {}", grouped(first), grouped(second));
        table.row([
            budget,
            theirs.map_or_else(String::new, |paper| pair(paper.timeouts)),
            pair([at.pass1.timeouts(), at.pass2.timeouts()]),
            theirs.map_or_else(String::new, |paper| grouped(paper.seconds)),
            format!("{:.2}", at.seconds),
            grouped(at.occupancy),
            grouped(at.length),
        ]);
    }
    table.note("The times of the paper are those of the whole compilation, in s. Its limits are 1ms, 0.25ms and 5ms for each instruction and pass.")
}
