//! The pages of a column: where they lie, and texts whose values are places in a dictionary.
//!
//! A column of texts mostly has a *dictionary page* with each text once, and *data pages* with places in it.
//! The Parquet library makes a counted reference to the text of each value. [`split_dictionary`] takes the
//! texts out, and puts the numbers 0, 1, 2... in their place: the library then decodes the places themselves,
//! as numbers.

use std::collections::VecDeque;

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

type Result<T> = std::result::Result<T, ParquetError>;

/// Unpacked pages. Their sizes have been checked.
pub(super) struct Pages(VecDeque<Page>);

/// Unpack all pages of a column of texts. If all its values are places in a dictionary, return its texts, and
/// pages of numbers. Otherwise return the pages as they are.
pub(super) fn split_dictionary(pages: impl PageReader) -> Result<(Option<Vec<ByteArray>>, Pages)> {
    let mut pages: VecDeque<Page> = pages.collect::<Result<_>>()?;
    let is_place =
        |page: &Page| matches!(page.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
    if !pages.iter().filter(|page| page.is_data_page()).all(is_place) {
        return Ok((None, Pages(pages)));
    }
    let Some(Page::DictionaryPage { buf, num_values, encoding, .. }) = pages.front_mut() else {
        return Ok((None, Pages(pages)));
    };
    let texts = plain_texts(buf, *num_values)?;
    *encoding = Encoding::PLAIN;
    *buf = (0..*num_values).flat_map(u32::to_le_bytes).collect();
    Ok((Some(texts), Pages(pages)))
}

/// Return the texts of a dictionary page: each has its length before it.
fn plain_texts(buffer: &Bytes, count: u32) -> Result<Vec<ByteArray>> {
    let short = || ParquetError::EOF("a dictionary ends within a text".to_string());
    let mut texts = Vec::new();
    let mut at = 0;
    for _ in 0..count {
        let (length, _) = buffer.get(at..).and_then(<[u8]>::split_first_chunk).ok_or_else(short)?;
        let start = at + length.len();
        let end = start.checked_add(u32::from_le_bytes(*length) as usize).filter(|end| *end <= buffer.len());
        at = end.ok_or_else(short)?;
        texts.push(ByteArray::from(buffer.slice(start..at)));
    }
    Ok(texts)
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.pop_front().map(Ok)
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        Ok(self.0.pop_front())
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let metadata = |page: &Page| match page {
            Page::DataPage { num_values, .. } => {
                PageMetadata { num_rows: None, num_levels: Some(*num_values as usize), is_dict: false }
            }
            Page::DataPageV2 { num_values, num_rows, .. } => PageMetadata {
                num_rows: Some(*num_rows as usize),
                num_levels: Some(*num_values as usize),
                is_dict: false,
            },
            Page::DictionaryPage { .. } => PageMetadata { num_rows: None, num_levels: None, is_dict: true },
        };
        Ok(self.0.front().map(metadata))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.pop_front();
        Ok(())
    }
}

/// The bytes of one column chunk, at their place in the file.
pub(super) struct Window {
    pub(super) start: u64,
    pub(super) bytes: Bytes,
    /// The length of the file.
    pub(super) length: u64,
}

impl Window {
    fn part(&self, start: u64, length: Option<usize>) -> Result<Bytes> {
        let outside = || ParquetError::EOF("a page lies outside of its column".to_string());
        let from =
            start.checked_sub(self.start).and_then(|from| usize::try_from(from).ok()).ok_or_else(outside)?;
        let end =
            length.map_or(Some(self.bytes.len()), |length| from.checked_add(length)).ok_or_else(outside)?;
        match from <= end && end <= self.bytes.len() {
            true => Ok(self.bytes.slice(from..end)),
            false => Err(outside()),
        }
    }
}

impl Length for Window {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Window {
    type T = std::io::Cursor<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(std::io::Cursor::new(self.part(start, None)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.part(start, Some(length))
    }
}
