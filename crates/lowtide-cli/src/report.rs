//! What the commands' tables share.

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

/// One line under the header, and nothing else that is not data.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A plain table; columns after the first `left` are numbers and stand to the right.
pub(crate) fn table(left: usize, header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
    let last = header.len() - 1;
    for (position, column) in table.column_iter_mut().enumerate() {
        // No blanks at the ends of lines.
        column.set_padding((0, if position == last { 0 } else { 2 }));
        if position >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A table without blanks at the ends of lines, which empty cells of the last columns leave.
pub(crate) fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

/// A name cut in the middle, where long ones say least.
pub(crate) fn shorten(name: &str, most: usize) -> String {
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

/// `7` or `7 -> 9`.
pub(crate) fn change(before: u64, after: u64) -> String {
    match before == after {
        true => after.to_string(),
        false => format!("{before} -> {after}"),
    }
}

/// A number with groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
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

/// `1 kernel`, `2 kernels`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A command line of this program that a shell understands.
pub(crate) fn command_line(words: impl IntoIterator<Item = String>) -> String {
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
    fn shells_understand_command_lines() {
        let words = ["bench", "minreg", "a b", "it's", "", "corpus/x.jsonl.gz", "--budget=1ms,5ms"];
        let line = command_line(words.map(str::to_string));
        assert_eq!(line, r"lowtide bench minreg 'a b' 'it'\''s' '' corpus/x.jsonl.gz --budget=1ms,5ms");
    }
}
