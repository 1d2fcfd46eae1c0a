//! The chapter on paper 3: Tables 6 and 7, Figures 1 and 2.

use lowtide_tool::table::grouped;

use super::document::{Document, Row, Totals};
use crate::book::papers::Paper;
use crate::book::papers::fayyazi::{
    self as paper, FIGURE_2, FRAME_RATE, Group, SPLIT_IMPROVED, TABLE_6, TABLE_7_MEANS, TABLE_7_ROWS,
    TABLE_7_SIZES,
};
use crate::book::{Chapter, Chart, Table, listed, percent};

/// Return the chapter of the benchmark.
pub(super) fn chapter(document: &Document, command: String) -> Chapter {
    let made = if document.generated { "generated blocks" } else { "distinct blocks" };
    let mut parts = vec![groups(document).into(), by_size(document).into()];
    if !document.figure_1.is_empty() {
        parts.push(saved(document).into());
    }
    if document.generated {
        parts.push(single_blocks(document).into());
    }
    parts.extend([curves(document).into(), sizes(document).into(), times(document).into()]);
    Chapter {
        id: "pack",
        title: match document.generated {
            true => "Packing: blocks like the paper's",
            false => "Packing: real code",
        },
        paper: match document.generated {
            true => paper::PAPER,
            false => Paper { setting: paper::REAL_CODE, ..paper::PAPER },
        },
        command,
        facts: vec![
            (
                "input",
                format!("{} {made}, {} operations", grouped(document.blocks), grouped(document.operations)),
            ),
            ("targets", listed(&document.targets)),
            ("budget", document.budget.clone()),
            (
                "methods",
                format!("`--algorithm {}`, compared with `--list {}`", document.algorithm, document.list),
            ),
        ],
        parts,
    }
}

/// A line of Table 6: its name, the measured figure, and the paper's.
type Line = (&'static str, fn(&Totals) -> String, fn(&Group) -> String);

const LINES: [Line; 14] = [
    ("blocks", |ours| grouped(ours.blocks), |paper| grouped(paper.shaders)),
    ("optimum found", |ours| grouped(ours.proved), |paper| grouped(paper.proved)),
    (
        "list proven by a bound (in the paper: the linear program)",
        |ours| percent(ours.by_bound, ours.blocks),
        |paper| format!("{} %", paper.by_bound),
    ),
    ("registers, list", |ours| grouped(ours.list_allocated), |paper| grouped(paper.list_registers)),
    ("registers, best", |ours| grouped(ours.best_allocated), |paper| grouped(paper.best_registers)),
    ("peak pressure, list", |ours| grouped(ours.list_registers), |_| String::new()),
    ("peak pressure, best", |ours| grouped(ours.best_registers), |_| String::new()),
    ("cycles, list", |ours| grouped(ours.list_cycles), |paper| grouped(paper.list_cycles)),
    ("cycles, best", |ours| grouped(ours.best_cycles), |paper| grouped(paper.best_cycles)),
    (
        "cycles saved",
        |ours| percent(ours.list_cycles - ours.best_cycles, ours.list_cycles),
        |paper| format!("{} %", paper.cycles_improved),
    ),
    (
        "blocks improved",
        |ours| percent(ours.improved, ours.blocks),
        |paper| format!("{} %", paper.shaders_improved),
    ),
    ("with splits: optimum found", |ours| grouped(ours.split_proved), |_| String::new()),
    ("with splits: cycles", |ours| grouped(ours.split_cycles), |_| String::new()),
    (
        "with splits: further improved",
        |ours| percent(ours.split_improved, ours.blocks),
        |paper| if paper.name == "hand" { format!("{SPLIT_IMPROVED} %") } else { String::new() },
    ),
];

fn groups(document: &Document) -> Table {
    let mut table = Table::new("List schedule against the best packing (Table 6)").name("");
    // Only generated groups stand beside those of the paper.
    let theirs = |name: &str| TABLE_6.iter().find(|group| document.generated && group.name == name);
    for group in &document.groups {
        if theirs(&group.name).is_some() {
            table = table.paper(&format!("{}, paper", group.name));
        }
        table = table.ours(&group.name);
    }
    for (name, ours, paper) in LINES {
        let mut row = vec![name.to_string()];
        for group in &document.groups {
            row.extend(theirs(&group.name).map(paper));
            row.push(ours(group));
        }
        table.push(row);
    }
    match document.generated {
        true => table.note(
            "Registers are those that linear scan takes, of four lanes each. Peak pressure is in lanes. The paper split only 240 of \
             the hand-written shaders. Its last figure is a share of these 240. `bench pack --generated --linear` counts the \
             proofs of the linear program, which needs a solver.",
        ),
        false => table.note("Registers are those that linear scan takes."),
    }
}

/// Return the blocks that become shorter, one by one, as many as the paper has.
fn single_blocks(document: &Document) -> Table {
    let mut table = Table::new("Blocks that become shorter (Table 7)").name("block");
    for title in ["operations", "registers, list", "cycles, list", "registers, best", "cycles, best"] {
        table = table.ours(title);
    }
    let [least, most] = TABLE_7_SIZES;
    let is_like_theirs = |row: &&Row| row.best < row.list && (least..=most).contains(&row.size);
    let mut rows: Vec<&Row> = document.each.iter().filter(is_like_theirs).take(TABLE_7_ROWS).collect();
    rows.sort_by_key(|row| row.size);
    let figures = |row: &Row| {
        [row.size as u32, row.list_allocated, row.list, row.best_allocated, row.best].map(f64::from)
    };
    let mut means = [0.0; 5];
    for row in &rows {
        let figures = figures(row);
        means.iter_mut().zip(figures).for_each(|(mean, figure)| *mean += figure / rows.len() as f64);
        let mut cells = vec![row.name.clone()];
        cells.extend(figures.map(|figure| figure.to_string()));
        table.push(cells);
    }
    for (name, means) in [("mean", means), ("mean in the paper", TABLE_7_MEANS)] {
        let mut cells = vec![name.to_string()];
        cells.extend(means.map(|mean| format!("{mean:.1}")));
        table.push(cells);
    }
    table.note(&format!(
        "The first {TABLE_7_ROWS} such blocks of {least} to {most} operations, the paper's range, by size. The paper also measures frame \
         rates: up to {} % more, {} % on average. They need its GPU.",
        FRAME_RATE[0], FRAME_RATE[1]
    ))
}

fn by_size(document: &Document) -> Chart {
    let labels = document.figure_2.iter().map(|group| format!("{}-{}", group.from, group.to)).collect();
    let share = |count: u64, of: u64| Some((1000.0 * count as f64 / of.max(1) as f64).round() / 10.0);
    let mut rows = Vec::new();
    if document.generated {
        let theirs = document
            .figure_2
            .iter()
            .map(|group| FIGURE_2.iter().find(|(least, _)| *least == group.least).map(|(_, share)| *share));
        rows.push(("the paper, from its text".to_string(), theirs.collect()));
    }
    rows.push((
        "without splits".to_string(),
        document.figure_2.iter().map(|group| share(group.improved, group.blocks)).collect(),
    ));
    rows.push((
        "further by splits".to_string(),
        document.figure_2.iter().map(|group| share(group.split_improved, group.blocks)).collect(),
    ));
    Chart::bars("Blocks that become shorter, by size (Figure 2)", ["operations", "blocks, %"], labels, rows)
}

fn saved(document: &Document) -> Chart {
    let points = document.figure_1.iter().map(|(size, saved)| (*size as f64, f64::from(*saved)));
    let series = vec![("a block that saves cycles".to_string(), points.collect())];
    let note = format!("Without splits. In the paper a shader saves up to {} cycles.", paper::MOST_SAVED);
    Chart::points("Cycles saved (Figure 1)", ["operations", "cycles saved"], series).note(&note)
}

fn curves(document: &Document) -> Chart {
    let of = |length: fn(&Row) -> u32| {
        document.each.iter().map(|row| f64::from(length(row)) / f64::from(row.split.max(1))).collect()
    };
    let series = vec![
        ("list".to_string(), of(|row| row.list)),
        ("best without splits".to_string(), of(|row| row.best)),
    ];
    Chart::sorted(
        "Length against the best with splits, each sorted",
        ["share of the blocks, %", "length / best"],
        series,
    )
}

fn sizes(document: &Document) -> Chart {
    let (proven, open): (Vec<_>, Vec<_>) = document.each.iter().partition(|row| row.is_proved());
    let of = |rows: Vec<&Row>| rows.iter().map(|row| row.size).collect();
    let series = [("both optima proven".to_string(), of(proven)), ("open".to_string(), of(open))];
    Chart::sizes("Sizes of the blocks", "operations", &series)
}

fn times(document: &Document) -> Table {
    let mut table =
        Table::new("Blocks with both proofs, by time").name("within").machine("blocks").machine("share");
    for (time, count) in &document.within {
        table.row([format!("{time} s"), grouped(*count), percent(*count, document.blocks)]);
    }
    table
}
