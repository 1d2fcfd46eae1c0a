//! Tables, numbers and names for the terminal.

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

/// One line under the header, and no other lines.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Return an empty table. The first `left` columns are aligned to the left, the others to the right.
pub fn table(left: usize, header: &[&str]) -> Table {
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

/// Return the text of a table without blanks at the ends of lines. Empty cells of the last columns leave such blanks.
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
    fn shells_understand_command_lines() {
        let words = ["bench", "minreg", "a b", "it's", "", "corpus/x.jsonl.gz", "--budget=1ms,5ms"];
        let line = command_line(words.map(str::to_string));
        assert_eq!(line, r"lowtide bench minreg 'a b' 'it'\''s' '' corpus/x.jsonl.gz --budget=1ms,5ms");
    }
}
