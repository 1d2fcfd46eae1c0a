//! Limits of the memory that reading a Parquet file takes, whatever the file claims.
//!
//! A reader holds the footer and one row group at a time. All sizes are compared with these limits before
//! memory is reserved.

use parquet::file::metadata::ColumnChunkMetaData;

use super::thrift::walk;

/// Most bytes of the footer, which describes all row groups: enough for 10,000 of them.
pub(super) const FOOTER: u64 = 64 << 20;
/// Most nodes of a schema.
const SCHEMA: i64 = 4096;
/// Most groups of a schema, which limits its nesting.
const GROUPS: i64 = 256;
/// Most bytes of a row group, all columns together, compressed or not.
pub(super) const ROW_GROUP: u64 = 512 << 20;
/// Most values of a row group, all columns together.
pub(super) const VALUES: u64 = 1 << 26;

/// Check the counts of a footer before the Parquet library reads it.
pub(super) fn check_footer(footer: &[u8]) -> Result<(), String> {
    let mut groups = 0;
    let mut chunks = 0;
    let walked = walk(footer, |path, value| {
        let is_fine = match path {
            // The schema is a list of nodes, each with the number of its children.
            [2] => value <= SCHEMA,
            [2, 5] => {
                groups += i64::from(value > 0);
                (0..=SCHEMA).contains(&value) && groups <= GROUPS
            }
            // Row groups and the columns in them, which take some 60 bytes each.
            [4] => value as u64 <= footer.len() as u64 / 16,
            [4, 1] => {
                chunks += value as u64;
                chunks <= footer.len() as u64 / 16
            }
            _ => true,
        };
        is_fine.then_some(())
    });
    walked.map(|_| ()).ok_or_else(|| "is damaged: the footer has no valid content".to_string())
}

/// What the columns of one row group take so far.
#[derive(Default)]
pub(super) struct Taken {
    bytes: u64,
    values: u64,
}

impl Taken {
    /// Return the place of a column chunk in a file of `length` bytes.
    pub(super) fn range(&mut self, chunk: &ColumnChunkMetaData, length: u64) -> Result<(u64, usize), String> {
        let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
        let (Ok(start), Ok(size)) = (u64::try_from(start), u64::try_from(chunk.compressed_size())) else {
            return Err("is damaged: a column has a negative size".to_string());
        };
        if start.checked_add(size).is_none_or(|end| end > length) {
            return Err("is truncated or damaged: a column lies behind its end".to_string());
        }
        self.bytes += size;
        self.check()?;
        Ok((start, size as usize))
    }

    /// Check the headers of all pages of a column chunk.
    pub(super) fn check_pages(&mut self, mut chunk: &[u8], values: i64) -> Result<(), String> {
        let damaged = || "is damaged: a page has no valid header".to_string();
        let mut left = u64::try_from(values).map_err(|_| damaged())?;
        while left > 0 {
            let (mut unpacked, mut packed) = (None, None);
            let (mut count, mut is_data) = (0, false);
            let header = walk(chunk, |path, value| {
                match path {
                    [2] => unpacked = u32::try_from(value).ok(),
                    [3] => packed = u32::try_from(value).ok(),
                    [5 | 8, 1] => (count, is_data) = (u32::try_from(value).ok()?, true),
                    [7, 1] => count = u32::try_from(value).ok()?,
                    // Rows and bytes of levels.
                    [8, 2 | 3 | 5 | 6] => u32::try_from(value).map(|_| ()).ok()?,
                    _ => {}
                }
                Some(())
            });
            let (Some(header), Some(unpacked), Some(packed)) = (header, unpacked, packed) else {
                return Err(damaged());
            };
            self.bytes += u64::from(unpacked);
            self.values += u64::from(count);
            self.check()?;
            let end = header.checked_add(packed as usize).ok_or_else(damaged)?;
            chunk = chunk.get(end..).ok_or_else(damaged)?;
            if is_data {
                // The library would read past the last page.
                left = left.checked_sub(u64::from(count)).ok_or_else(damaged)?;
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        if self.bytes > ROW_GROUP || self.values > VALUES {
            return Err(format!(
                "has a row group that is too large and was not read: at most {} MiB and {} million values are allowed",
                ROW_GROUP >> 20,
                VALUES >> 20
            ));
        }
        Ok(())
    }
}
