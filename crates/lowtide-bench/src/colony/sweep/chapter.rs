//! The chapter on the parameters of the colony: Tables 6 and 7 and Figure 4 of paper 4.

use lowtide_tool::table::grouped;

use super::{CHANGES, FilterRow, Sweep};
use crate::book::papers::shobaki_2024::{self as paper, FIGURE_4, TABLE_6, TABLE_7};
use crate::book::{Chapter, Chart, Table, listed, more};

/// Return the chapter of the experiment.
pub(super) fn chapter(sweep: &Sweep, command: String) -> Chapter {
    let mut parts: Vec<_> = tables(sweep).into_iter().map(Into::into).collect();
    parts.push(figure_4(sweep).into());
    let budget = match sweep.nodes {
        Some(nodes) => format!("{} choices for each region and pass", grouped(nodes)),
        None => "no limit".to_string(),
    };
    Chapter {
        id: "colony_sweep",
        title: "Ant colonies: parameters",
        paper: paper::PAPER,
        command,
        facts: vec![
            ("input", format!("{} kernels, {} regions", grouped(sweep.kernels), grouped(sweep.regions))),
            ("targets", listed(&sweep.targets)),
            ("budget", budget),
            (
                "base",
                format!(
                    "{}, {} ants in each iteration (the paper has 11,520)",
                    if sweep.published { "the published configuration" } else { "the default parameters" },
                    grouped(sweep.ants.into())
                ),
            ),
        ],
        parts,
    }
}

/// Return the tables of the experiment.
pub(super) fn tables(sweep: &Sweep) -> [Table; 3] {
    [parameters(sweep), stalls(sweep), filters(sweep)]
}

fn percent(value: f64) -> String {
    format!("{value:.2} %")
}

fn parameters(sweep: &Sweep) -> Table {
    let mut table = Table::new("Effect of each parameter (Sections IV-A, V-B and VI-A)")
        .name("")
        .ours("waves")
        .ours("length")
        .ours("change")
        .ours("shorter")
        .ours("longer")
        .ours("best")
        .ours("worst")
        .ours("choices")
        .machine("s");
    let base = sweep.rows.first().map_or(0, |row| row.length);
    let [waves, length] = sweep.production;
    let mut cells = vec!["production".to_string(), grouped(waves), grouped(length), more(length, base)];
    cells.resize(10, String::new());
    table.push(cells);
    for row in &sweep.rows {
        table.push(vec![
            row.parameter.clone(),
            grouped(row.occupancy),
            grouped(row.length),
            more(row.length, base),
            grouped(row.shorter),
            grouped(row.longer),
            format!("-{:.1} %", row.most_saved),
            format!("+{:.1} %", row.most_lost),
            grouped(row.choices),
            format!("{:.2}", row.seconds),
        ]);
    }
    table.note(
        "Each row changes one parameter of the base. The rows of seeds show the effect of chance. Lengths are sums over \
         all regions, in cycles. One wave less of one kernel can save more cycles than a parameter. So shorter and longer \
         regions are counted in kernels with the waves of the base. There, best and worst are the most cycles that a region saves \
         and loses. The paper found no gain from limited ready lists, and prints no figures for them.",
    )
}

fn stalls(sweep: &Sweep) -> Table {
    let title = format!(
        "Groups that may stall without need: {} regions of 100 instructions and more (Table 6)",
        grouped(sweep.stall_regions)
    );
    let mut table = Table::new(&title)
        .name("groups")
        .paper("additional time, paper")
        .machine("additional time")
        .ours("additional choices")
        .paper("length saved, paper")
        .ours("length saved")
        .paper("most saved in a region, paper")
        .ours("most saved in a region");
    let (choices, seconds) = sweep.stalls.first().map_or((0, 0.0), |row| (row.choices, row.seconds));
    for row in &sweep.stalls {
        let paper = TABLE_6.iter().find(|column| column.share == row.share);
        let theirs = |figure: Option<f64>| figure.map_or_else(String::new, percent);
        table.row([
            format!("{} %", row.share),
            theirs(paper.map(|column| column.more_time)),
            percent(100.0 * (row.seconds / seconds - 1.0)),
            more(row.choices, choices),
            theirs(paper.map(|column| column.saved)),
            percent(row.saved),
            theirs(paper.map(|column| column.most_saved)),
            percent(row.most_saved),
        ]);
    }
    table.note(
        "Figures compare with no stalls (0 %). Choices are those of both passes. The paper's time is that of its GPU. In the paper, an ant without optional stalls \
         exceeds the limit on registers and dies. Here it waits if nothing fits, so optional stalls gain less.",
    )
}

fn filters(sweep: &Sweep) -> Table {
    let mut table = Table::new("Threshold of cycles below which ants are not sent (Table 7)").name("cycles");
    for row in &sweep.filters {
        if TABLE_7.iter().any(|column| column.threshold == row.threshold) {
            table = table.paper(&format!("{}, paper", row.threshold));
        }
        table = table.ours(&row.threshold.to_string());
    }
    let mut line =
        |name: String, ours: &dyn Fn(&FilterRow) -> String, theirs: &dyn Fn(&paper::Filtered) -> String| {
            let mut cells = vec![name];
            for row in &sweep.filters {
                cells.extend(TABLE_7.iter().find(|column| column.threshold == row.threshold).map(theirs));
                cells.push(ours(row));
            }
            table.push(cells);
        };
    for (place, least) in CHANGES.iter().enumerate() {
        line(format!("faster by {least} % and more"), &|row| grouped(row.improved[place]), &|column| {
            grouped(column.improved[place])
        });
    }
    for (place, least) in CHANGES.iter().enumerate() {
        line(format!("slower by {least} % and more"), &|row| grouped(row.regressed[place]), &|column| {
            grouped(column.regressed[place])
        });
    }
    line("largest loss".to_string(), &|row| format!("{:.1} %", row.most_regressed), &|column| {
        format!("{} %", column.most_regressed)
    });
    line("choices of ants".to_string(), &|row| grouped(row.choices), &|_| String::new());
    table.note(&format!(
        "The paper counts benchmarks by measured run time. Here the {} kernels of targets with a timing model count, by the \
         clocks of that model, against the production order.",
        grouped(sweep.timed)
    ))
}

fn figure_4(sweep: &Sweep) -> Chart {
    let [count, mean, most] = FIGURE_4;
    let all = sweep.saved.iter().map(|saved| (1.0 + saved / 100.0).ln()).sum::<f64>();
    let own = 100.0 * ((all / sweep.saved.len().max(1) as f64).exp() - 1.0);
    let note = format!(
        "The paper has bars for the benchmarks whose run time changes by at least 1 %: {count} improve by 5 % and more, the best \
         by {most} %, with a geometric mean of {mean} %. Here the curve has all {} kernels whose run time changes in the timing \
         model, with a geometric mean of {own:.2} %. The threshold is that of the paper, 21 cycles.",
        sweep.saved.len(),
    );
    Chart::sorted(
        "Speed-up over the production order in the timing model, kernel by kernel (Figure 4)",
        ["share of the kernels, %", "speed-up, %"],
        vec![("colony".to_string(), sweep.saved.clone())],
    )
    .note(&note)
}
