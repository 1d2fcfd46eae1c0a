//! Lines and columns of the source, for offsets in the text that the parser sees.

use super::preprocess::Expanded;

/// The places of a text.
pub(super) struct Places<'a> {
    source: &'a str,
    /// The text without macros, if it differs from the source.
    expanded: Option<Expanded>,
    /// The start of each line of the source.
    lines: Vec<usize>,
}

impl<'a> Places<'a> {
    /// Make the places of a source. Without a text, there are no places.
    pub(super) fn new(source: &'a str, expanded: Option<Expanded>) -> Self {
        let lines = match source.is_empty() {
            true => Vec::new(),
            false => std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect(),
        };
        Places { source, expanded, lines }
    }

    /// Return the text for the parser.
    pub(super) fn text(&self) -> &str {
        self.expanded.as_ref().map_or(self.source, |expanded| &expanded.text)
    }

    /// Return line and column of an offset in the text, counted from 1.
    pub(super) fn of_text(&self, offset: usize) -> Option<(u32, u32)> {
        self.of_source(self.expanded.as_ref().map_or(offset, |expanded| expanded.offset(offset)))
    }

    /// Return line and column of an offset in the source, counted from 1.
    pub(super) fn of_source(&self, offset: usize) -> Option<(u32, u32)> {
        if offset > self.source.len() {
            return None;
        }
        let line = self.lines.partition_point(|line| *line <= offset);
        let first = *self.lines.get(line.checked_sub(1)?)?;
        Some((line as u32, (offset - first) as u32 + 1))
    }
}
