//! Tables, numbers and names for the terminal. Tables are as wide as the terminal, or [`WIDTH`] without one.

use std::io::IsTerminal;

use crate::names::shortened;
use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};

/// One line under the header, and no other lines.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The width of results and progress if they do not go to a terminal.
pub const WIDTH: usize = 80;

/// Blanks between two columns.
const GAP: usize = 2;

/// Names in the first column of a [`Sheet`] keep at least this many columns, unless the sheet says more.
const SHORTEST_NAME: usize = 24;

/// Return the columns for results on the standard output.
pub fn width() -> usize {
    let stdout = std::io::stdout();
    let size = stdout.is_terminal().then(|| terminal_size::terminal_size_of(stdout)).flatten();
    size.map_or(WIDTH, |(columns, _)| columns.0.into())
}

/// A table whose first column has names. Where the terminal is narrow, names are shortened, and columns left
/// out.
#[derive(Debug)]
pub struct Sheet {
    title: &'static str,
    names: Vec<String>,
    /// Names keep at least this many columns.
    shortest: usize,
    columns: Vec<Column>,
}

#[derive(Debug)]
struct Column {
    title: &'static str,
    cells: Vec<String>,
    rank: u8,
    is_left: bool,
}

impl Sheet {
    /// Return a table with one column, of names.
    pub fn new(title: &'static str, names: Vec<String>) -> Self {
        Sheet { title, names, shortest: SHORTEST_NAME, columns: Vec::new() }
    }

    /// Never shorten names: readers copy them into commands.
    pub fn with_whole_names(mut self) -> Self {
        self.shortest = usize::MAX;
        self
    }

    /// Add a column of figures. The columns of the highest rank are left out first, and those of rank 0
    /// never.
    pub fn column(&mut self, rank: u8, title: &'static str, cells: Vec<String>) {
        self.columns.push(Column { title, cells, rank, is_left: false });
    }

    /// Add a column of words, which are aligned to the left.
    pub fn words(&mut self, rank: u8, title: &'static str, cells: Vec<String>) {
        self.columns.push(Column { title, cells, rank, is_left: true });
    }

    /// Return the text of the table, and the titles of the columns that have no place in `width` columns.
    pub fn fit(&self, width: usize) -> (String, Vec<&'static str>) {
        let longest =
            |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
        let taken = |column: &&Column| {
            GAP + longest(&mut column.cells.iter().map(String::as_str).chain([column.title]))
        };
        let name = longest(&mut self.names.iter().map(String::as_str).chain([self.title]));
        let mut shown: Vec<&Column> = self.columns.iter().collect();
        let shortest = name.min(self.shortest);
        while shortest + shown.iter().map(taken).sum::<usize>() > width {
            // Of equal ranks, the last column.
            let highest = (0..shown.len()).max_by_key(|&place| (shown[place].rank, place));
            let Some(place) = highest.filter(|&place| shown[place].rank > 0) else { break };
            shown.remove(place);
        }
        let is_shown = |column: &&Column| shown.iter().any(|one| std::ptr::eq(*one, *column));
        let left_out = self.columns.iter().filter(|column| !is_shown(column)).map(|column| column.title);
        let rest = width.saturating_sub(shown.iter().map(taken).sum());
        let name_width = rest.max(shortest);
        let titles: Vec<&str> = [self.title].into_iter().chain(shown.iter().map(|one| one.title)).collect();
        let left = 1 + shown.iter().take_while(|column| column.is_left).count();
        let mut rows = table(left, &titles);
        for (number, name) in self.names.iter().enumerate() {
            let figures = shown.iter().map(|column| column.cells[number].clone());
            rows.add_row([shortened(name, name_width)].into_iter().chain(figures));
        }
        (trimmed(&rows), left_out.collect())
    }

    /// Return the text of the table on the standard output. A last line names the columns that are left out.
    pub fn text(&self) -> String {
        let (text, left_out) = self.fit(width());
        match left_out.is_empty() {
            true => text,
            false => format!("{text}\n(no room for: {})", left_out.join(", ")),
        }
    }
}

/// Break lines that are longer than `width` between words. A line such as `waves: 7` continues behind its
/// label, a line with two columns in the second one, and any other line at its own indentation.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let rest = line.trim_start();
        let start = line.len() - rest.len();
        let label = rest.find("  ").or_else(|| rest.find(' ').filter(|end| rest[..*end].ends_with(':')));
        let after = label.map_or(rest, |end| rest[end..].trim_start());
        let indent = line.chars().count() - after.chars().count();
        let indent = if indent * 2 > width { start } else { indent };
        let mut now = String::new();
        let mut has_word = false;
        let mut words = line.split_inclusive(' ').peekable();
        while let Some(word) = words.next() {
            // A percent sign stays with its number.
            let word = match words.next_if(|next| next.starts_with('%')) {
                Some(sign) => format!("{word}{sign}"),
                None => word.to_string(),
            };
            if has_word && now.chars().count() + word.trim_end().chars().count() > width {
                lines.push(now.trim_end().to_string());
                now = " ".repeat(indent);
            }
            now += &word;
            has_word |= !word.trim_end().is_empty();
        }
        lines.push(now.trim_end().to_string());
    }
    lines.join("\n")
}

/// Return an empty table. The first `left` columns are aligned to the left, the others to the right.
pub fn table(left: usize, header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
    let last = header.len() - 1;
    for (position, column) in table.column_iter_mut().enumerate() {
        // No blanks at the ends of lines.
        column.set_padding((0, if position == last { 0 } else { GAP as u16 - 1 }));
        if position >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Return an empty table of words that break in cells where the terminal is narrow. The first `narrow`
/// columns never break.
pub fn words(narrow: usize, header: &[&str]) -> Table {
    let mut table = table(header.len(), header);
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width().try_into().unwrap_or(u16::MAX));
    for column in table.column_iter_mut().take(narrow) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    table
}

/// Return the text of a table without blanks at the ends of lines. Empty cells of the last columns leave such
/// blanks.
pub fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

/// Shorten a name to at most `most` characters, by leaving out its middle.
pub fn shorten(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_string();
    }
    let head = (most - 1) * 2 / 3;
    let tail = most - 1 - head;
    let start: String = name.chars().take(head).collect();
    let end: String = name.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

/// Return `7` for equal figures, and `7 -> 9` for different ones.
pub fn change(before: u64, after: u64) -> String {
    match before == after {
        true => after.to_string(),
        false => format!("{before} -> {after}"),
    }
}

/// Return a number with groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Return a count with its noun: `1 kernel`, `2 kernels`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Return a command line of this program, with words quoted for a shell where necessary.
pub fn command_line(words: impl IntoIterator<Item = String>) -> String {
    let mut line = "lowtide".to_string();
    for word in words {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
        line.push(' ');
        match !word.is_empty() && word.chars().all(is_plain) {
            true => line += &word,
            false => line += &format!("'{}'", word.replace('\'', r"'\''")),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_changes_read_well() {
        assert_eq!(shorten("short", 10), "short");
        assert_eq!(shorten("abcdefghijklmnop", 10), "abcdef…nop");
        assert_eq!(
            [grouped(0), grouped(999), grouped(1000), grouped(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!([change(3, 3), change(7, 9)], ["3", "7 -> 9"]);
    }

    #[test]
    fn a_sheet_fits_into_its_width() {
        let names = ["a_name_that_is_longer_than_the_others", "short"].map(str::to_string).to_vec();
        let mut sheet = Sheet::new("name", names);
        for (rank, title) in [(2, "size"), (0, "waves"), (1, "length"), (2, "ms")] {
            sheet.column(rank, title, vec!["12345 -> 1234".to_string(), "7".to_string()]);
        }
        let widest = |width: usize| {
            let (text, left_out) = sheet.fit(width);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{width}: {text}");
            assert_eq!(text.lines().count(), 4);
            (text, left_out)
        };
        let (text, left_out) = widest(120);
        assert!(left_out.is_empty() && text.contains("longer_than_the_others"), "{text}");
        let (text, left_out) = widest(84);
        assert!(left_out.is_empty() && text.contains("a_name_that_is_…e_others"), "{text}");
        assert_eq!(widest(83).1, ["ms"]);
        assert_eq!(widest(60).1, ["size", "ms"]);
        assert_eq!(widest(40).1, ["size", "length", "ms"]);
        // Nothing is left that could be left out.
        assert_eq!(sheet.fit(10).1, ["size", "length", "ms"]);
        let (text, left_out) = sheet.with_whole_names().fit(80);
        assert!(text.contains("a_name_that_is_longer_than_the_others"), "{text}");
        assert_eq!(left_out, ["size", "ms"]);
    }

    #[test]
    fn long_lines_continue_behind_their_label() {
        assert_eq!(
            wrapped("waves:  7 are more than enough\nshort", 19),
            "waves:  7 are more\n        than enough\nshort"
        );
        assert_eq!(wrapped("name  two words", 12), "name  two\n      words");
        assert_eq!(wrapped("  some words that go on", 14), "  some words\n  that go on");
        assert_eq!(wrapped("averyveryverylongword and", 10), "averyveryverylongword\nand");
        assert_eq!(wrapped("more than 17.5 % of all", 15), "more than\n17.5 % of all");
        assert_eq!(wrapped("", 10), "");
    }

    #[test]
    fn shells_understand_command_lines() {
        let words = ["bench", "minreg", "a b", "it's", "", "corpus/x.jsonl.gz", "--budget=1ms,5ms"];
        let line = command_line(words.map(str::to_string));
        assert_eq!(line, r"lowtide bench minreg 'a b' 'it'\''s' '' corpus/x.jsonl.gz --budget=1ms,5ms");
    }
}
