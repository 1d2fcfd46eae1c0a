//! A book as Markdown, without dates, times and speed-ups: the same text on every machine.

use super::table::{Column, Origin, Table};
use super::{Book, Chapter, Part};

/// Return the text of a book.
pub(super) fn text(book: &Book) -> String {
    let mut lines = vec![
        format!("# {}", book.title),
        String::new(),
        "This page has Lowtide's results on the code in this repository, beside the papers' figures. The following \
         command, with `--markdown FILE`, writes it:"
            .to_string(),
        "```sh".to_string(),
        book.command.clone(),
        "```".to_string(),
        "Budgets are search steps, and figures that depend on the machine (times, speed-ups) are left out. So every \
         figure is the same on every machine. With `--html FILE`, the same command writes a page with these figures \
         and charts. [experiments.md](experiments.md) explains how to read both."
            .to_string(),
    ];
    for chapter in &book.chapters {
        add_chapter(&mut lines, chapter);
    }
    lines.join("\n")
}

fn add_chapter(lines: &mut Vec<String>, chapter: &Chapter) {
    lines.extend([String::new(), format!("## {}", chapter.title), String::new()]);
    lines.extend(["```sh".to_string(), chapter.command.clone(), "```".to_string()]);
    for (name, value) in &chapter.facts {
        lines.push(format!("- {name}: {value}"));
    }
    let paper = &chapter.paper;
    lines.extend([
        String::new(),
        format!("Paper {}: {}, \"{}\". {}", paper.number, paper.authors, paper.title, paper.setting),
    ]);
    for part in &chapter.parts {
        match part {
            Part::Table(table) => add_table(lines, &table.title, table, &table.note),
            Part::Chart(chart) if chart.of_machine => {}
            Part::Chart(chart) => {
                if let Some(numbers) = &chart.numbers {
                    let notes = [chart.note.as_str(), numbers.note.as_str()];
                    let notes: Vec<&str> = notes.into_iter().filter(|note| !note.is_empty()).collect();
                    add_table(lines, &chart.title, numbers, &notes.join(" "));
                }
            }
        }
    }
}

fn add_table(lines: &mut Vec<String>, title: &str, table: &Table, note: &str) {
    let Some((columns, rows)) = table.without_machine() else { return };
    lines.extend([String::new(), format!("### {title}"), String::new()]);
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let escaped = |text: &str| text.replace('|', "\\|");
    lines.push(line(columns.iter().map(|column| escaped(&column.title)).collect()));
    let align = |column: &&Column| match column.origin {
        Origin::Name => "---".to_string(),
        _ => "---:".to_string(),
    };
    lines.push(line(columns.iter().map(align).collect()));
    lines.extend(rows.into_iter().map(|row| line(row.into_iter().map(escaped).collect())));
    if !note.is_empty() {
        lines.extend([String::new(), note.to_string()]);
    }
}
