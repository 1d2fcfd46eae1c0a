//! A Parquet file that is written row group by row group.

use std::fs::File;
use std::io::Error;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rustc_hash::FxHashMap;

use crate::output::AtomicFile;

/// The size of a row group, in the unit of [`Table::end_row`].
const ROW_GROUP: usize = 50_000;

/// The level of zstd's compression.
const LEVEL: i32 = 6;

/// The values of a column for the next row group, with their levels.
struct Buffer {
    values: Values,
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

enum Values {
    Booleans(Vec<bool>),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Doubles(Vec<f64>),
    Texts(Vec<ByteArray>),
}

/// A value of any column.
#[derive(Clone, Copy)]
pub(super) enum Cell<'a> {
    Null,
    Boolean(bool),
    Int(u32),
    Signed(i32),
    Long(u64),
    Double(f64),
    Text(&'a str),
}

/// A table on its way into a file.
pub(super) struct Table {
    place: AtomicFile,
    writer: SerializedFileWriter<File>,
    buffers: Vec<Buffer>,
    /// Names repeat often.
    texts: FxHashMap<Box<str>, ByteArray>,
    size: usize,
}

impl Table {
    /// Start a file. `version` is that of the schema.
    pub(super) fn create(path: &Path, schema: &str, version: &str) -> Result<Table, Error> {
        let place = AtomicFile::create(path)?;
        let schema = parse_message_type(schema).map_err(other)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL).map_err(other)?))
            .set_created_by(format!("lowtide {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(vec![KeyValue::new("lowtide".to_string(), version.to_string())]))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .build();
        let file = place.file().try_clone()?;
        let writer =
            SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(other)?;
        let columns = writer.schema_descr().columns().iter();
        let buffers = columns.map(|column| Buffer {
            values: match column.physical_type() {
                Physical::BOOLEAN => Values::Booleans(Vec::new()),
                Physical::INT32 => Values::Ints(Vec::new()),
                Physical::INT64 => Values::Longs(Vec::new()),
                Physical::DOUBLE => Values::Doubles(Vec::new()),
                _ => Values::Texts(Vec::new()),
            },
            definition: Vec::new(),
            repetition: Vec::new(),
        });
        let buffers = buffers.collect();
        Ok(Table { place, writer, buffers, texts: FxHashMap::default(), size: 0 })
    }

    /// Return the number of columns.
    pub(super) fn columns(&self) -> usize {
        self.buffers.len()
    }

    /// Add a value to a column, with its repetition and definition level. [`Cell::Null`] adds levels only.
    pub(super) fn push(&mut self, column: usize, [repetition, definition]: [i16; 2], cell: Cell) {
        let buffer = &mut self.buffers[column];
        buffer.repetition.push(repetition);
        buffer.definition.push(definition);
        match (&mut buffer.values, cell) {
            (_, Cell::Null) => {}
            (Values::Booleans(values), Cell::Boolean(value)) => values.push(value),
            (Values::Ints(values), Cell::Int(value)) => values.push(value as i32),
            (Values::Ints(values), Cell::Signed(value)) => values.push(value),
            (Values::Longs(values), Cell::Long(value)) => values.push(value as i64),
            (Values::Doubles(values), Cell::Double(value)) => values.push(value),
            (Values::Texts(values), Cell::Text(text)) => {
                if !self.texts.contains_key(text) {
                    self.texts.insert(text.into(), ByteArray::from(text.as_bytes().to_vec()));
                }
                values.push(self.texts[text].clone());
            }
            _ => unreachable!("a value of column {column} has another type than the column"),
        }
    }

    /// End a row of this size. Large rows make the row group complete.
    pub(super) fn end_row(&mut self, size: usize) -> Result<(), Error> {
        self.size += size.max(1);
        if self.size >= ROW_GROUP {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.size == 0 {
            return Ok(());
        }
        let values: usize = self.buffers.iter().map(|buffer| buffer.definition.len()).sum();
        if values as u64 > super::limits::VALUES {
            return Err(Error::other("a kernel is too large for a Parquet file"));
        }
        let mut row_group = self.writer.next_row_group().map_err(other)?;
        for buffer in &mut self.buffers {
            let mut column = row_group.next_column().map_err(other)?.expect("each column has a buffer");
            let levels = (Some(buffer.definition.as_slice()), Some(buffer.repetition.as_slice()));
            let (definition, repetition) = levels;
            match (column.untyped(), &buffer.values) {
                (ColumnWriter::BoolColumnWriter(column), Values::Booleans(values)) => {
                    column.write_batch(values, definition, repetition)
                }
                (ColumnWriter::Int32ColumnWriter(column), Values::Ints(values)) => {
                    column.write_batch(values, definition, repetition)
                }
                (ColumnWriter::Int64ColumnWriter(column), Values::Longs(values)) => {
                    column.write_batch(values, definition, repetition)
                }
                (ColumnWriter::DoubleColumnWriter(column), Values::Doubles(values)) => {
                    column.write_batch(values, definition, repetition)
                }
                (ColumnWriter::ByteArrayColumnWriter(column), Values::Texts(values)) => {
                    column.write_batch(values, definition, repetition)
                }
                _ => unreachable!("buffers have the types of their columns"),
            }
            .map_err(other)?;
            column.close().map_err(other)?;
            buffer.clear();
        }
        row_group.close().map_err(other)?;
        self.texts.clear();
        self.size = 0;
        Ok(())
    }

    /// Complete the file and move it into place.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.flush()?;
        self.writer.close().map_err(other)?;
        self.place.finish()
    }
}

impl Buffer {
    fn clear(&mut self) {
        self.definition.clear();
        self.repetition.clear();
        match &mut self.values {
            Values::Booleans(values) => values.clear(),
            Values::Ints(values) => values.clear(),
            Values::Longs(values) => values.clear(),
            Values::Doubles(values) => values.clear(),
            Values::Texts(values) => values.clear(),
        }
    }
}

fn other(error: ParquetError) -> Error {
    match error {
        ParquetError::External(error) => match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(error) => Error::other(error),
        },
        error => Error::other(error),
    }
}
