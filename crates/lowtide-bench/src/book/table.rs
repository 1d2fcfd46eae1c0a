//! Tables of a chapter. Each column knows its origin: the paper, the measurement, or the machine.

use lowtide_tool::table::{table, trimmed};
use serde::Serialize;

/// A table of a chapter. Cells are ready to be shown.
#[derive(Serialize)]
pub(crate) struct Table {
    pub(super) title: String,
    columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
    pub(super) note: String,
}

/// The title and the origin of a column.
#[derive(Serialize)]
pub(super) struct Column {
    pub(super) title: String,
    pub(super) origin: Origin,
}

/// The origin of the cells of a column.
#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Origin {
    /// The subject of a row.
    Name,
    /// A figure of the paper.
    Paper,
    /// A measured figure that is the same on every machine.
    Ours,
    /// A measured figure that depends on the machine.
    Machine,
}

impl Table {
    /// Return a table without columns.
    pub(crate) fn new(title: &str) -> Self {
        Table { title: title.to_string(), columns: Vec::new(), rows: Vec::new(), note: String::new() }
    }

    fn column(mut self, title: &str, origin: Origin) -> Self {
        self.columns.push(Column { title: title.to_string(), origin });
        self
    }

    /// Add a column of the subjects of rows.
    pub(crate) fn name(self, title: &str) -> Self {
        self.column(title, Origin::Name)
    }

    /// Add a column of the paper's figures.
    pub(crate) fn paper(self, title: &str) -> Self {
        self.column(title, Origin::Paper)
    }

    /// Add a column of measured figures.
    pub(crate) fn ours(self, title: &str) -> Self {
        self.column(title, Origin::Ours)
    }

    /// Add a column of measured figures that depend on the machine.
    pub(crate) fn machine(self, title: &str) -> Self {
        self.column(title, Origin::Machine)
    }

    /// Set the note below the table.
    pub(crate) fn note(mut self, note: &str) -> Self {
        self.note = note.to_string();
        self
    }

    /// Add a row. A cell without a figure is empty.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.push(cells.into());
    }

    /// Add a row of a subject, the paper's figure and the measured one.
    pub(crate) fn side_by_side(&mut self, name: &str, paper: String, ours: String) {
        self.row([name.to_string(), paper, ours]);
    }

    /// Add a row with one cell for each column.
    pub(crate) fn push(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "{}", self.title);
        self.rows.push(cells);
    }

    /// Return the table for a terminal. Figures of the paper are left out if there is no room for them.
    pub(crate) fn as_text(&self) -> String {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let ours = |position: &usize| self.columns[*position].origin != Origin::Paper;
        let mut rows = self.columns_as_text(&all);
        if rows.lines().any(|line| line.chars().count() > TERMINAL) {
            rows = self.columns_as_text(&all.into_iter().filter(ours).collect::<Vec<_>>());
        }
        let lines = [self.title.clone(), rows, wrapped(&self.note)];
        lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn columns_as_text(&self, shown: &[usize]) -> String {
        let titles: Vec<&str> = shown.iter().map(|&at| self.columns[at].title.as_str()).collect();
        let names = self.columns.iter().take_while(|column| column.origin == Origin::Name).count();
        let mut rows = table(names, &titles);
        for row in &self.rows {
            rows.add_row(shown.iter().map(|&at| row[at].as_str()));
        }
        trimmed(&rows)
    }

    /// Return the table without the figures that depend on the machine, or none if no measured figure is
    /// left.
    pub(super) fn without_machine(&self) -> Option<(Vec<&Column>, Vec<Vec<&str>>)> {
        let keep = |position: &usize| self.columns[*position].origin != Origin::Machine;
        let kept: Vec<usize> = (0..self.columns.len()).filter(keep).collect();
        let columns: Vec<&Column> = kept.iter().map(|&position| &self.columns[position]).collect();
        let rows = self.rows.iter().map(|row| kept.iter().map(|&position| row[position].as_str()).collect());
        columns.iter().any(|column| column.origin == Origin::Ours).then(|| (columns, rows.collect()))
    }
}

/// The columns of a terminal.
const TERMINAL: usize = 100;

/// Return a text in lines that fit a terminal.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= TERMINAL => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_tables_leave_out_the_paper() {
        let mut table =
            Table::new("title").name("n").paper(&"p".repeat(95)).ours("ours").note(&"word ".repeat(40));
        table.row(["a", "1", "2"].map(str::to_string));
        let text = table.as_text();
        assert!(text.starts_with("title\n") && text.contains("ours") && !text.contains("pp"), "{text}");
        assert!(
            text.lines().count() == 6 && text.lines().all(|line| line.chars().count() <= TERMINAL),
            "{text}"
        );
    }

    #[test]
    fn figures_of_a_machine_can_be_left_out() {
        let mut table = Table::new("t").name("n").paper("p").machine("m").ours("o");
        table.row(["a", "1", "2", "3"].map(str::to_string));
        let (columns, rows) = table.without_machine().unwrap();
        assert_eq!((columns.len(), rows), (3, vec![vec!["a", "1", "3"]]));
        assert!(Table::new("t").name("n").paper("p").machine("m").without_machine().is_none());
    }
}
