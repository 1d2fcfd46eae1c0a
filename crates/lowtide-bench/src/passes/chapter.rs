//! The chapter on paper 5: its branching factors and Figures 2 to 4, and costs, for which the paper has no
//! figures.

use std::collections::BTreeMap;

use lowtide_tool::table::grouped;

use super::document::{DPMPP, Document, EXACT, Figure2, MIO, NAMES, Row, STAGES};
use super::growth::crossings;
use crate::book::papers::heirich::{self as paper, BRANCHING, BRANCHING_RANGE, CROSSOVER, FIGURE_2, SHADERS};
use crate::book::{Chapter, Chart, Table};

/// Return the chapter of the benchmark.
pub(super) fn chapter(document: &Document, command: String) -> Chapter {
    let mut parts = vec![branching(document).into(), sums(document).into(), curves(document).into()];
    parts.extend([gaps(document).into(), sizes(document).into()]);
    if let Some(figure) = &document.figure_2 {
        let points = figure.widths.iter().enumerate().map(|(stage, width)| (stage as f64, f64::from(*width)));
        let title = format!("Width of the search of dpmpp: {} (Figure 2)", figure.shader);
        let note = format!(
            "Both axes are linear. Loads of inputs are operations, as in the paper. From the last operation to the first: {} operations, mean branching factor {:.5}. The paper's is a fragment shader of {} \
             operations with a factor of {:.5}, whose search widens near its end.",
            grouped(figure.n as u64),
            figure.branching,
            FIGURE_2.operations,
            FIGURE_2.branching,
        );
        parts.push(Chart::line(&title, ["stage", "states"], "states", points.collect()).note(&note).into());
    }
    if let Some(figure) = &document.figure_2 {
        parts.push(quarters(figure).into());
    }
    parts.extend([figure_3(document).into(), figure_4(document).into(), crossover(document).into()]);
    if !document.generated.is_empty() {
        parts.push(generated(document).into());
    }
    Chapter {
        id: "passes",
        title: "Shaders in several passes",
        paper: paper::PAPER,
        command,
        facts: vec![
            (
                "input",
                format!(
                    "{} distinct blocks, {} operations",
                    grouped(document.shaders),
                    grouped(document.operations)
                ),
            ),
            ("targets", document.target.clone()),
            ("budget of `exact` and `rds`", document.budget.clone()),
        ],
        parts,
    }
}

fn branching(document: &Document) -> Table {
    let mut table = Table::new("Branching factor of dynamic programming (Section 4)")
        .name("shaders")
        .paper("count, paper")
        .paper("operations, paper")
        .paper("branching, paper")
        .ours("count")
        .ours("operations")
        .ours("branching")
        .ours("branching, loads as operations");
    for group in &SHADERS {
        let mut cells = vec![
            group.name.to_string(),
            group.count.to_string(),
            group.operations.to_string(),
            format!("{:.5}", group.branching),
        ];
        cells.resize(8, String::new());
        table.push(cells);
    }
    let mut add = |name: String, counts: &dyn Fn(&Row) -> bool| {
        let own: Vec<&Row> = document.blocks.iter().filter(|row| counts(row)).collect();
        if own.is_empty() {
            return;
        }
        let mean =
            |figure: fn(&Row) -> f64| own.iter().map(|row| figure(row)).sum::<f64>() / own.len() as f64;
        let mut cells = vec![name, String::new(), String::new(), String::new()];
        cells.push(grouped(own.len() as u64));
        cells.push(format!("{:.0}", mean(|row| row.n as f64)));
        cells.push(format!("{:.5}", mean(|row| row.branching)));
        cells.push(format!("{:.5}", mean(|row| row.load_branching)));
        table.push(cells);
    };
    for stage in STAGES {
        add(format!("blocks of {stage} shaders"), &|row| row.stage == stage);
    }
    for (name, least, most) in
        [("fewer than 100", 0, 99), ("100 to 299", 100, 299), ("300 and more", 300, usize::MAX)]
    {
        add(format!("blocks of {name} operations"), &|row| (least..=most).contains(&row.n));
    }
    let count: u64 = SHADERS.iter().map(|group| group.count).sum();
    let [least, most] = BRANCHING_RANGE;
    table.row([
        "all".to_string(),
        count.to_string(),
        String::new(),
        format!("{BRANCHING:.5} ({least} to {most})"),
        grouped(document.shaders),
        format!("{:.0}", document.operations as f64 / document.shaders.max(1) as f64),
        format!("{:.5}", document.branching),
        format!("{:.5}", document.load_branching),
    ]);
    table.note(
        "Operations are means. The paper uses the factor as the exponent of its running time. Its graphs have loads of inputs as \
         operations, which tie with each other. Inputs are operands here by default, so there are fewer ties.",
    )
}

/// Return the width of the search of Figure 2 in four parts of equal length.
fn quarters(figure: &Figure2) -> Table {
    let mut table = Table::new("Quarters of the search of dpmpp (Figure 2)")
        .name("stages")
        .ours("mean width")
        .ours("widest")
        .ours("branching factor");
    let count = figure.widths.len();
    for quarter in 0..4 {
        let (first, last) = (quarter * count / 4, (quarter + 1) * count / 4);
        let own = &figure.widths[first..last];
        let Some(widest) = own.iter().max() else { continue };
        let with_next = &figure.widths[first..count.min(last + 1)];
        let factors = with_next.windows(2).map(|pair| f64::from(pair[1]) / f64::from(pair[0]));
        table.row([
            format!("{} to {}", grouped(first as u64 + 1), grouped(last as u64)),
            format!("{:.1}", own.iter().map(|width| f64::from(*width)).sum::<f64>() / own.len() as f64),
            grouped(u64::from(*widest)),
            format!("{:.4}", factors.sum::<f64>() / (with_next.len() - 1).max(1) as f64),
        ]);
    }
    table.note("In the paper, the factor is mostly 1 in the first three quarters, and the search widens in the last one.")
}

fn figure_3(document: &Document) -> Table {
    let mut table = Table::new("Cost of compilation against quality (Figure 3)")
        .name("algorithm")
        .paper("cost, paper")
        .paper("quality, paper")
        .ours("optimum found, where proven")
        .ours("cost / optimum, where proven")
        .machine("time grows with");
    let theirs = |name: &str| match name {
        "mio" => ("scalable", "locally optimal"),
        "rds" | "rds-h" | "mrds-h" => ("not scalable", "locally optimal"),
        "dpmpp" => ("not scalable", "globally optimal"),
        _ => ("", ""),
    };
    for name in NAMES {
        let (cost, quality) = theirs(name);
        let of = |sums: &BTreeMap<&'static str, u64>, name: &str| sums.get(name).copied().unwrap_or(0);
        let ratio = of(&document.proved_cost, name) as f64 / of(&document.proved_cost, "exact").max(1) as f64;
        table.row([
            name.to_string(),
            cost.to_string(),
            quality.to_string(),
            format!("{} of {}", grouped(of(&document.optimal, name)), grouped(document.proved)),
            format!("{ratio:.4}"),
            document.growth_of.get(name).map_or_else(String::new, |growth| format!("n^{growth:.2}")),
        ]);
    }
    table.note("The paper leaves one place empty: an algorithm that is scalable and globally optimal.")
}

fn figure_4(document: &Document) -> Table {
    let mut table = Table::new("List scheduling and dynamic programming (Figure 4)")
        .name("")
        .paper("list scheduling, paper")
        .paper("DP, paper")
        .ours("mio")
        .ours("dpmpp");
    let found = |place: usize| {
        format!(
            "optimal on {} of {} blocks",
            document.optimal.get(NAMES[place]).copied().unwrap_or(0),
            document.proved
        )
    };
    let numbering = ["Sethi-Ullman", "subtree size"];
    let mut row = |name: &str, paper: [&str; 2], ours: [String; 2]| {
        let [mio, dpmpp] = ours;
        table.row([name.to_string(), paper[0].to_string(), paper[1].to_string(), mio, dpmpp]);
    };
    let same = |texts: [&str; 2]| texts.map(str::to_string);
    row("direction", ["forward", "reverse"], same(["forward", "reverse"]));
    row("paradigm", ["greedy", "optimization"], same(["greedy", "optimization"]));
    row("optimality", ["local", "global"], [found(MIO), found(DPMPP)]);
    let widths = format!("branching {:.5}, with loads {:.5}", document.branching, document.load_branching);
    row("complexity", ["O(n log n)", "O(n^1.14966)"], [String::new(), widths]);
    row(
        "numbering",
        numbering,
        [numbering[0].to_string(), format!("{}; {} as `dpmpp-su`", numbering[1], numbering[0])],
    );
    row(
        "critical",
        ["scheduling priority", "search pruning"],
        same(["scheduling priority", "search pruning"]),
    );
    row(
        "policy",
        ["largest trees first", "smallest trees last"],
        same(["largest trees first", "smallest trees last"]),
    );
    row("affects", ["run time", "compile and run time"], same(["run time", "compile and run time"]));
    table
}

/// Return the sizes between which n^b is less than n log n, for the paper's branching factor and the measured
/// ones.
fn crossover(document: &Document) -> Table {
    let mut table = Table::new("Sizes for which n^b is less than n log n (Section 4)").name("b");
    for base in ["10", "e", "2"] {
        table = table.ours(&format!("base {base}: from")).ours(&format!("base {base}: to"));
    }
    let size = |logarithm: f64| match logarithm < 20.0 {
        true => grouped(logarithm.exp().round() as u64),
        false => format!("10^{:.1}", logarithm / std::f64::consts::LN_10),
    };
    let rows = [
        ("the paper's", BRANCHING),
        ("measured", document.branching),
        ("measured, loads as operations", document.load_branching),
    ];
    for (name, b) in rows {
        let mut cells = vec![format!("{name}: {b:.5}")];
        for base in [10.0, std::f64::consts::E, 2.0] {
            let found = crossings(b, base);
            cells.extend(found.map_or_else(|| ["never".to_string(), String::new()], |ends| ends.map(size)));
        }
        table.push(cells);
    }
    table.note(&format!(
        "n^b is less than n log n where n^(b-1) is less than log n. Columns have the base of the logarithm. The paper's limit of n = {} is that of the decimal logarithm. \
         Constant factors are left out, as in the paper, so neither limit says which program is faster.",
        grouped(CROSSOVER)
    ))
}

fn sums(document: &Document) -> Table {
    let mut table = Table::new("Cost and passes, summed over all blocks")
        .name("algorithm")
        .ours("cost")
        .ours("passes")
        .ours("cost where the optimum is proven")
        .ours("ratio to it")
        .ours("optimal")
        .machine("seconds");
    let of = |sums: &BTreeMap<&'static str, u64>, name: &str| sums.get(name).copied().unwrap_or(0);
    for name in NAMES {
        let proved = of(&document.proved_cost, name);
        table.row([
            name.to_string(),
            grouped(of(&document.cost, name)),
            grouped(of(&document.passes, name)),
            grouped(proved),
            format!("{:.4}", proved as f64 / of(&document.proved_cost, "exact").max(1) as f64),
            grouped(of(&document.optimal, name)),
            format!("{:.3}", document.seconds_of.get(name).copied().unwrap_or(0.0)),
        ]);
    }
    let note = format!(
        "The optimum is proven for {} of {} blocks. The paper reports no costs. It calls its algorithm, dpmpp, \
         globally optimal. But dpmpp tries only some of the orders; the last column counts how often it finds the \
         proven optimum here. mio and the rds family are the paper's baselines. rds is MRDS where a pass has several outputs. \
         dpmpp-su has Sethi-Ullman numbers instead of the size of the subtree, as Section 5 suggests.",
        grouped(document.proved),
        grouped(document.shaders)
    );
    table.note(&note)
}

fn curves(document: &Document) -> Chart {
    let proved = || document.blocks.iter().filter(|row| row.proved);
    let series = NAMES.iter().enumerate().map(|(position, name)| {
        let ratio = proved().map(|row| row.cost[position] as f64 / row.cost[EXACT].max(1) as f64);
        ((*name).to_string(), ratio.collect())
    });
    Chart::sorted(
        "Cost against the optimum, each algorithm sorted",
        ["share of the blocks, %", "cost / optimum"],
        series.collect(),
    )
}

fn gaps(document: &Document) -> Chart {
    let series = NAMES.iter().enumerate().map(|(position, name)| {
        ((*name).to_string(), document.blocks.iter().map(|row| (row.cost[position], row.bound)).collect())
    });
    Chart::gaps("How far costs are above the lower bound, on all blocks", &series.collect::<Vec<_>>())
}

fn sizes(document: &Document) -> Chart {
    let (proven, open): (Vec<_>, Vec<_>) = document.blocks.iter().partition(|row| row.proved);
    let of = |rows: Vec<&Row>| rows.iter().map(|row| row.n).collect();
    let series = [("proven".to_string(), of(proven)), ("open".to_string(), of(open))];
    Chart::sizes("Sizes of the blocks", "operations", &series)
}

fn generated(document: &Document) -> Table {
    let mut table = Table::new("Growth on generated shaders")
        .name("operations")
        .ours("cost")
        .ours("passes")
        .ours("branching")
        .machine("seconds");
    for row in &document.generated {
        table.row([
            grouped(row.n as u64),
            grouped(row.cost),
            grouped(row.passes as u64),
            format!("{:.4}", row.branching),
            format!("{:.4}", row.seconds),
        ]);
    }
    table
}
