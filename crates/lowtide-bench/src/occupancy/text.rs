//! The tables of `lowtide bench occupancy` for the terminal.

use std::collections::BTreeMap;

use lowtide::algorithm::Algorithm;
use lowtide_tool::names::{readable, shortened};
use lowtide_tool::progress;
use lowtide_tool::table::{grouped, table, trimmed};

use super::counts::{COUNTS, Counts, SIZES};
use super::document::{Better, Document, FILTERED, OTHERS, TWO_PASSES};
use crate::book::papers::shobaki_2020::{TABLE_3, TABLE_4, TABLE_8};

/// Return the lines of the summary.
pub(super) fn facts(document: &Document) -> Vec<String> {
    let (waves, length) = (document.occupancy[TWO_PASSES], document.length[TWO_PASSES]);
    vec![
        format!("{} kernels, {} regions", grouped(document.kernels), grouped(document.regions)),
        format!(
            "production -> twopass: waves {} -> {} (at most {}), length {} -> {} (at least {}, gap {})",
            grouped(document.occupancy[Algorithm::PRODUCTION.name()]),
            grouped(waves),
            grouped(document.occupancy_bound),
            grouped(document.length[Algorithm::PRODUCTION.name()]),
            grouped(length),
            grouped(document.length_bound),
            progress::gap(length, document.length_bound)
        ),
        format!(
            "proven of {} distinct graphs: {}",
            grouped(document.distinct.regions),
            proofs_in_words(&document.distinct)
        ),
    ]
}

/// Return tables for the terminal.
pub(super) fn text(document: &Document) -> String {
    let most = document.most.map_or_else(|| "more".to_string(), |size| size.to_string());
    let header = ["", "waves", "twopass %", "length", "twopass %", "by loops", "seconds", "paper 2"];
    let mut rows = table(1, &header);
    let names = OTHERS.map(Algorithm::name).into_iter().chain([TWO_PASSES, FILTERED]);
    for name in names {
        let change = |sums: &BTreeMap<&'static str, u64>| match name {
            TWO_PASSES => String::new(),
            _ => format!("{:+.2}", 100.0 * (sums[TWO_PASSES] as f64 / sums[name].max(1) as f64 - 1.0)),
        };
        let paper = TABLE_4.iter().find(|paper| paper.ours == name);
        let paper = paper.map(|paper| format!("{}: +{:.2}, -{:.2}", paper.theirs, paper.waves, paper.length));
        rows.add_row([
            name.to_string(),
            grouped(document.occupancy[name]),
            change(&document.occupancy),
            grouped(document.length[name]),
            change(&document.length),
            grouped(document.weighted_length[name]),
            format!("{:.2}", document.seconds[name]),
            paper.unwrap_or_default(),
        ]);
    }
    rows.add_row([
        "bound".to_string(),
        grouped(document.occupancy_bound),
        String::new(),
        grouped(document.length_bound),
    ]);
    let [first, second] = document.states_per_second.map(|states| grouped(states.round() as u64));
    let mut text = format!(
        "{} kernels, {} regions ({} without a production order), {} instructions, {} threads\n\n\
         All kernels, and the change from each algorithm to twopass (paper 2, Table 4):\n{}\n\n\
         The bound on the length is for the waves of twopass. filtered is twopass with the filter: a few\n\
         extra waves must not cost many cycles. The filter gives up waves of {} kernels. \"by loops\" counts\n\
         the length of a region ten times for each loop around it.\n\n\
         {} distinct graphs of {} to {most} instructions ({} instructions):\n{}\n\n\
         What the two passes search, and with which result (paper 2, Table 3):\n{}\n\n\
         The same for the search as published, twopass-paper:\n{}\n{}\n\n\
         Pass 1 searches a graph if its known orders have fewer waves than the rest of the kernel allows.\n\
         Pass 2 searches a graph if the order of pass 1 is longer than the bound known beforehand.\n\
         Pass 1 took {:.2} s of all threads, {first} states per second; pass 2 {:.2} s, {second}.\n\
         list takes {:.2} µs per instruction.\n\
         Its schedules have {:.4} times the length of those of twopass.",
        grouped(document.kernels),
        grouped(document.regions),
        grouped(document.not_recorded),
        grouped(document.instructions),
        document.threads,
        trimmed(&rows),
        grouped(document.filtered),
        grouped(document.distinct.regions),
        document.least,
        grouped(document.distinct.instructions),
        proofs_in_words(&document.distinct),
        passes_table(&document.distinct),
        proofs_in_words(&document.paper_distinct),
        passes_table(&document.paper_distinct),
        document.pass_seconds[0],
        document.pass_seconds[1],
        document.list.us_per_instruction,
        document.list.length_ratio,
    );
    text += &format!("\n\n{}", better_in_words(document));
    if document.budgets.len() > 1 {
        text += &format!("\n\nWith other budgets (paper 2, Table 8):\n{}", budgets_table(document));
    }
    text
}

/// List the kernels on which another algorithm is better than the two passes.
fn better_in_words(document: &Document) -> String {
    if document.better.is_empty() {
        return "No other algorithm is better than twopass on any kernel.".to_string();
    }
    let mut rows = table(2, &["kernel", "algorithm", "waves", "twopass", "length", "twopass"]);
    for Better { kernel, algorithm, waves, length } in &document.better {
        rows.add_row([
            shortened(&readable(kernel), 50),
            (*algorithm).to_string(),
            waves[0].to_string(),
            waves[1].to_string(),
            grouped(length[0]),
            grouped(length[1]),
        ]);
    }
    format!("Kernels on which another algorithm is better than twopass:\n{}", trimmed(&rows))
}

fn budgets_table(document: &Document) -> String {
    let header = ["ms/instr.", "seconds", "waves", "length", "pass 1 timeouts", "pass 2 timeouts", "paper 2"];
    let mut rows = table(0, &header);
    for at in &document.budgets {
        let time = at.ms_per_instruction;
        let paper = TABLE_8.iter().find(|paper| Some(paper.ms_per_instruction) == time);
        let paper = paper.map(|paper| {
            let [first, second] = paper.timeouts.map(grouped);
            format!("{} s, {first} and {second} timeouts", grouped(paper.seconds))
        });
        rows.add_row([
            time.map_or_else(String::new, |time| time.to_string()),
            format!("{:.2}", at.seconds),
            grouped(at.occupancy),
            grouped(at.length),
            grouped(at.pass1.timeouts()),
            grouped(at.pass2.timeouts()),
            paper.unwrap_or_default(),
        ]);
    }
    trimmed(&rows)
}

/// Describe the proofs, and the gap of the length.
fn proofs_in_words(counts: &Counts) -> String {
    let share = |count: u64| format!("{:.2} %", 100.0 * count as f64 / counts.regions.max(1) as f64);
    format!(
        "proven: waves of {} ({}), length of {} ({}), both of {} ({})\n\
         length: {} cycles in all; lower bound: {} cycles; ratio: {:.4}",
        grouped(counts.proved_waves),
        share(counts.proved_waves),
        grouped(counts.proved_length),
        share(counts.proved_length),
        grouped(counts.proved),
        share(counts.proved),
        grouped(counts.length),
        grouped(counts.length_bound),
        counts.length as f64 / counts.length_bound.max(1) as f64,
    )
}

/// Return paper 2, Table 3: measured figures beside the paper's, for each pass.
fn passes_table(counts: &Counts) -> String {
    let mut rows = table(1, &["", "pass 1", "%", "paper 2", "pass 2", "%", "paper 2"]);
    for (position, (name, figure, theirs)) in COUNTS.into_iter().enumerate() {
        let mut row = vec![name.to_string()];
        for (pass, paper) in counts.passes.iter().zip(&TABLE_3) {
            let all = if position == 0 { counts.regions } else { pass.searched };
            let share = format!("{:.1}", 100.0 * figure(pass) as f64 / all.max(1) as f64);
            row.extend([grouped(figure(pass)), share, format!("{:.1} %", theirs(paper).1)]);
        }
        rows.add_row(row);
    }
    let mut row = vec!["proven by a bound alone".to_string()];
    for pass in &counts.passes {
        let share = format!("{:.1}", 100.0 * pass.by_bound as f64 / pass.searched.max(1) as f64);
        row.extend([grouped(pass.by_bound), share, "-".to_string()]);
    }
    rows.add_row(row);
    for (name, figure, theirs) in SIZES {
        let mut row = vec![name.to_string()];
        for (pass, paper) in counts.passes.iter().zip(&TABLE_3) {
            row.extend([grouped(figure(pass)), String::new(), theirs(paper).to_string()]);
        }
        rows.add_row(row);
    }
    rows.to_string()
}
