//! The columns of a row group, as plain arrays, and the lists around them, as ranges of these arrays.
//!
//! Parquet stores two small numbers with each value: the innermost list that continues (repetition level),
//! and how much of the path to the value is not null (definition level). [`Lists`] makes lengths of lists
//! from these levels. Columns of the same list must have the same levels, so that values at the same position
//! belong together.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use parquet::basic::Type as Physical;
use parquet::column::page::PageReader;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use rustc_hash::FxHashMap;

use super::limits::Taken;
use super::pages::{Window, split_dictionary};
use super::schema::{Leaf, List};

/// Reads the columns of one row group.
pub(super) struct Columns<'a> {
    pub(super) file: &'a Mutex<File>,
    pub(super) length: u64,
    pub(super) leaves: &'a FxHashMap<String, Leaf>,
    pub(super) row_group: &'a RowGroupMetaData,
    pub(super) rows: usize,
    pub(super) taken: Taken,
    /// The memory of levels that are no longer needed.
    pub(super) spare: Levels,
}

/// A column of texts: each distinct text once, and its number for each position.
pub(super) struct Texts {
    names: Vec<Box<str>>,
    numbers: Vec<u32>,
}

impl Texts {
    /// Give equal texts the same number.
    fn new(path: &str, values: &[ByteArray]) -> Result<Texts, String> {
        let mut by_text: FxHashMap<&[u8], u32> = FxHashMap::default();
        let mut texts = Texts { names: Vec::new(), numbers: Vec::with_capacity(values.len()) };
        for value in values {
            let bytes = value.data();
            let next = texts.names.len() as u32;
            let number = *by_text.entry(bytes).or_insert(next);
            if number == next {
                let text = std::str::from_utf8(bytes);
                let text = text.map_err(|_| format!("column {path:?} has a text that is not UTF-8"))?;
                texts.names.push(text.into());
            }
            texts.numbers.push(number);
        }
        Ok(texts)
    }

    /// Make texts from a dictionary and places in it.
    fn of_dictionary(path: &str, dictionary: &[ByteArray], places: Vec<i32>) -> Result<Texts, String> {
        let Texts { names, numbers: by_place } = Texts::new(path, dictionary)?;
        let mut numbers: Vec<u32> = places.into_iter().map(|place| place as u32).collect();
        // Most programs write each text once.
        if names.len() < by_place.len() {
            numbers.iter_mut().for_each(|number| *number = by_place[*number as usize]);
        }
        Ok(Texts { names, numbers })
    }

    /// Return the text at a position.
    pub(super) fn get(&self, position: usize) -> &str {
        &self.names[self.number(position)]
    }

    /// Return the number of the text at a position. Equal texts have the same number.
    pub(super) fn number(&self, position: usize) -> usize {
        self.numbers[position] as usize
    }

    /// Return all distinct texts, by their numbers.
    pub(super) fn names(&self) -> &[Box<str>] {
        &self.names
    }
}

/// The levels of a column. A column without lists has no repetition levels; one that is never null has no
/// definition levels.
#[derive(Default)]
pub(super) struct Levels {
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

/// Lists of the same depth: one for each element of the lists around them.
pub(super) struct Lists {
    lengths: Vec<u32>,
    /// Whether each list is null. Empty if none is.
    nulls: Vec<bool>,
    /// The lists around these, and the levels: columns of the same lists must agree.
    around: Vec<Vec<u32>>,
    kinds: Vec<List>,
    levels: Levels,
    elements: usize,
    next: usize,
    start: usize,
}

impl Lists {
    fn new(leaf: &Leaf, levels: Levels) -> Lists {
        let (lengths, around) = lengths(leaf, &levels);
        let depth = leaf.lists.len() as i16;
        let kind = leaf.lists[leaf.lists.len() - 1];
        let parent = leaf.lists.len().checked_sub(2).map_or(0, |outer| leaf.lists[outer].element);
        let mut nulls = Vec::new();
        if kind.present > parent {
            let starts = levels.repetition.iter().zip(&levels.definition);
            let starts =
                starts.filter(|(repetition, definition)| **repetition < depth && **definition >= parent);
            nulls = starts.map(|(_, definition)| *definition < kind.present).collect();
        }
        let elements = lengths.iter().map(|length| *length as usize).sum();
        Lists { lengths, nulls, around, kinds: leaf.lists.clone(), levels, elements, next: 0, start: 0 }
    }

    /// Return whether the lists stand in these lists, one for each element.
    pub(super) fn is_in(&self, outer: &Lists) -> bool {
        let has_its_shape = match self.around.split_last() {
            Some((last, others)) => *last == outer.lengths && *others == outer.around,
            None => false,
        };
        has_its_shape && self.lengths.len() == outer.elements
    }

    /// Return the number of lists.
    pub(super) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Return the positions of the elements of the next list. `None` for a list that is null.
    pub(super) fn next(&mut self) -> Option<Range<usize>> {
        let length = self.lengths[self.next] as usize;
        let is_null = self.nulls.get(self.next).is_some_and(|null| *null);
        self.next += 1;
        self.start += length;
        (!is_null).then_some(self.start - length..self.start)
    }

    /// Return the positions of the elements of the next list, none if the list is null.
    pub(super) fn range(&mut self) -> Range<usize> {
        self.next().unwrap_or(0..0)
    }
}

/// Return the lengths of the innermost lists, and those of the lists around them, the outermost first.
fn lengths(leaf: &Leaf, levels: &Levels) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut innermost: Vec<u32> = Vec::new();
    let Some((kind, outer)) = leaf.lists.split_last() else { return (innermost, Vec::new()) };
    let depth = outer.len();
    let parent = outer.last().map_or(0, |list| list.element);
    let mut around: Vec<Vec<u32>> = vec![Vec::new(); depth];
    let lengthen = |lengths: Option<&mut Vec<u32>>| {
        if let Some(last) = lengths.and_then(|lengths| lengths.last_mut()) {
            *last += 1;
        }
    };
    for (&repetition, &definition) in levels.repetition.iter().zip(&levels.definition) {
        let continued = repetition as usize;
        // Most elements continue the innermost list. A damaged file can have levels beyond it.
        if continued > depth {
            if continued == depth + 1 {
                lengthen(Some(&mut innermost));
            }
            continue;
        }
        if continued > 0 {
            lengthen(around.get_mut(continued - 1));
        }
        // The element starts a list at each depth inside of it, up to the first that is empty or null.
        if continued < depth {
            let present = continued.checked_sub(1).map_or(0, |place| outer[place].element);
            let mut has_element = definition >= present;
            for (list, lengths) in outer.iter().zip(&mut around).skip(continued) {
                if has_element {
                    has_element = definition >= list.element;
                    lengths.push(u32::from(has_element));
                }
            }
        }
        if definition >= parent {
            innermost.push(u32::from(definition >= kind.element));
        }
    }
    (innermost, around)
}

/// A column whose values can be null: for each position, the place of its value.
pub(super) struct Nullable<T> {
    values: Vec<T>,
    places: Vec<u32>,
}

impl<T> Nullable<T> {
    const NULL: u32 = u32::MAX;

    pub(super) fn get(&self, position: usize) -> Option<&T> {
        match self.places[position] {
            Self::NULL => None,
            place => Some(&self.values[place as usize]),
        }
    }
}

impl Columns<'_> {
    fn leaf(&self, path: &str) -> Result<&Leaf, String> {
        self.leaves.get(path).ok_or_else(|| format!("column {path:?} is missing"))
    }

    /// Read texts that are the first column of lists.
    pub(super) fn texts_and_lists(&mut self, path: &str) -> Result<(Texts, Lists), String> {
        let (leaf, levels, texts) = self.raw_texts(path)?;
        let lists = Lists::new(&leaf, levels);
        self.check_count(path, texts.numbers.len(), lists.elements)?;
        Ok((texts, lists))
    }

    /// Read numbers that are the first column of lists.
    pub(super) fn numbers_and_lists(&mut self, path: &str) -> Result<(Vec<u32>, Lists), String> {
        let (leaf, levels, values) = self.raw_numbers(path)?;
        let lists = Lists::new(&leaf, levels);
        self.check_count(path, values.len(), lists.elements)?;
        Ok((values, lists))
    }

    /// Read texts of these lists, or of the rows.
    pub(super) fn texts(&mut self, path: &str, lists: Option<&Lists>) -> Result<Texts, String> {
        let (leaf, levels, texts) = self.raw_texts(path)?;
        let count = self.check_lists(path, &leaf, levels, lists)?;
        self.check_count(path, texts.numbers.len(), count)?;
        Ok(texts)
    }

    /// Read numbers of these lists.
    pub(super) fn numbers(&mut self, path: &str, lists: &Lists) -> Result<Vec<u32>, String> {
        let (leaf, levels, values) = self.raw_numbers(path)?;
        let count = self.check_lists(path, &leaf, levels, Some(lists))?;
        self.check_count(path, values.len(), count)?;
        Ok(values)
    }

    /// Read masks of lanes of these lists.
    pub(super) fn lanes(&mut self, path: &str, lists: &Lists) -> Result<Vec<u64>, String> {
        let negative = |_| format!("column {path:?} has a negative number");
        let (leaf, levels, values) = if self.leaf(path)?.physical == Physical::INT32 {
            let (leaf, levels, values) = self.raw_numbers(path)?;
            (leaf, levels, values.into_iter().map(u64::from).collect::<Vec<_>>())
        } else {
            let (leaf, levels, values) = self.raw::<Int64Type>(path)?;
            let values = match leaf.is_unsigned {
                true => values.into_iter().map(|value| value as u64).collect(),
                false => values.into_iter().map(u64::try_from).collect::<Result<_, _>>().map_err(negative)?,
            };
            (leaf, levels, values)
        };
        let count = self.check_lists(path, &leaf, levels, Some(lists))?;
        self.check_count(path, values.len(), count)?;
        Ok(values)
    }

    /// Read Booleans of the rows.
    pub(super) fn booleans(&mut self, path: &str) -> Result<Vec<bool>, String> {
        let (leaf, levels, values) = self.raw::<BoolType>(path)?;
        let count = self.check_lists(path, &leaf, levels, None)?;
        self.check_count(path, values.len(), count)?;
        Ok(values)
    }

    /// Read texts that can be null.
    pub(super) fn nullable_texts(
        &mut self,
        path: &str,
        lists: Option<&Lists>,
    ) -> Result<Nullable<ByteArray>, String> {
        let (leaf, levels, values) = self.raw::<ByteArrayType>(path)?;
        self.nullable(path, &leaf, levels, values, lists)
    }

    /// Read numbers that can be null.
    pub(super) fn nullable_numbers(
        &mut self,
        path: &str,
        lists: Option<&Lists>,
    ) -> Result<Nullable<u32>, String> {
        let (leaf, levels, values) = self.raw_numbers(path)?;
        self.nullable(path, &leaf, levels, values, lists)
    }

    /// Read numbers with a sign that can be null.
    pub(super) fn nullable_signed(&mut self, path: &str, lists: &Lists) -> Result<Nullable<i32>, String> {
        let (leaf, levels, values) = self.raw::<Int32Type>(path)?;
        self.nullable(path, &leaf, levels, values, Some(lists))
    }

    fn nullable<T>(
        &mut self,
        path: &str,
        leaf: &Leaf,
        levels: Levels,
        values: Vec<T>,
        lists: Option<&Lists>,
    ) -> Result<Nullable<T>, String> {
        let count = self.compare_lists(path, leaf, &levels, lists)?;
        let values = nullable(path, leaf, &levels, values, count);
        self.spare = levels;
        values
    }

    /// Check that a column has the levels of its lists, and keep the memory of the levels for the next
    /// column. Return the number of its values, nulls included.
    fn check_lists(
        &mut self,
        path: &str,
        leaf: &Leaf,
        levels: Levels,
        lists: Option<&Lists>,
    ) -> Result<usize, String> {
        let count = self.compare_lists(path, leaf, &levels, lists);
        self.spare = levels;
        count
    }

    /// Check that a column has the levels of its lists. Return the number of its values, nulls included.
    fn compare_lists(
        &self,
        path: &str,
        leaf: &Leaf,
        levels: &Levels,
        lists: Option<&Lists>,
    ) -> Result<usize, String> {
        let Some(lists) = lists else {
            return match leaf.lists.is_empty() {
                true => Ok(self.rows),
                false => Err(format!("column {path:?} is a list")),
            };
        };
        let element = lists.kinds[lists.kinds.len() - 1].element;
        let same = |(own, other): (&i16, &i16)| own.min(&element) == other.min(&element);
        let (own, other) = (&levels.definition, &lists.levels.definition);
        let is_same = leaf.lists == lists.kinds
            && levels.repetition == lists.levels.repetition
            && (own == other || own.len() == other.len() && own.iter().zip(other).all(same));
        is_same
            .then_some(lists.elements)
            .ok_or_else(|| format!("column {path:?} has other lists than its neighbours"))
    }

    fn check_count(&self, path: &str, values: usize, expected: usize) -> Result<(), String> {
        match values == expected {
            true => Ok(()),
            false => Err(format!("column {path:?} has nulls where a value is needed")),
        }
    }

    fn raw_numbers(&mut self, path: &str) -> Result<(Leaf, Levels, Vec<u32>), String> {
        let range = |_| format!("column {path:?} has a number out of range");
        if self.leaf(path)?.physical == Physical::INT64 {
            let (leaf, levels, values) = self.raw::<Int64Type>(path)?;
            let values = values.into_iter().map(u32::try_from).collect::<Result<_, _>>().map_err(range)?;
            return Ok((leaf, levels, values));
        }
        let (leaf, levels, values) = self.raw::<Int32Type>(path)?;
        let values = match leaf.is_unsigned {
            true => values.into_iter().map(|value| value as u32).collect(),
            false => values.into_iter().map(u32::try_from).collect::<Result<_, _>>().map_err(range)?,
        };
        Ok((leaf, levels, values))
    }

    fn raw_texts(&mut self, path: &str) -> Result<(Leaf, Levels, Texts), String> {
        let (leaf, pages) = self.pages::<ByteArrayType>(path)?;
        match split_dictionary(pages).map_err(|error| damaged(path, &error))? {
            (Some(dictionary), pages) => {
                let (levels, places) = self.values::<Int32Type>(path, &leaf, Box::new(pages))?;
                Ok((leaf, levels, Texts::of_dictionary(path, &dictionary, places)?))
            }
            (None, pages) => {
                let (levels, values) = self.values::<ByteArrayType>(path, &leaf, Box::new(pages))?;
                Ok((leaf, levels, Texts::new(path, &values)?))
            }
        }
    }

    /// Read the values of a column that are not null, and the levels of all.
    fn raw<T: DataType>(&mut self, path: &str) -> Result<(Leaf, Levels, Vec<T::T>), String> {
        let (leaf, pages) = self.pages::<T>(path)?;
        let (levels, values) = self.values::<T>(path, &leaf, Box::new(pages))?;
        Ok((leaf, levels, values))
    }

    /// Read the bytes of a column, and check the headers of its pages.
    fn pages<T: DataType>(&mut self, path: &str) -> Result<(Leaf, SerializedPageReader<Window>), String> {
        let leaf = self.leaf(path)?.clone();
        let chunk = self.row_group.column(leaf.index);
        let physical = T::get_physical_type();
        if leaf.physical != physical || chunk.column_type() != physical {
            return Err(format!("column {path:?} has the type {}: {physical} is needed", leaf.physical));
        }
        let (start, size) = self.taken.range(chunk, self.length)?;
        let mut bytes = vec![0; size];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let read = file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(&mut bytes));
        drop(file);
        read.map_err(|error| format!("cannot be read: {error}"))?;
        self.taken.check_pages(&bytes, chunk.num_values())?;
        let window = Arc::new(Window { start, bytes: bytes.into(), length: self.length });
        let pages = SerializedPageReader::new(window, chunk, self.rows, None);
        Ok((leaf, pages.map_err(|error| damaged(path, &error))?))
    }

    /// Decode the pages of a column.
    fn values<T: DataType>(
        &mut self,
        path: &str,
        leaf: &Leaf,
        pages: Box<dyn PageReader>,
    ) -> Result<(Levels, Vec<T::T>), String> {
        let chunk = self.row_group.column(leaf.index);
        let mut reader = ColumnReaderImpl::<T>::new(chunk.column_descr_ptr(), pages);
        // The pages have so many values: `Taken` has checked it.
        let most = usize::try_from(chunk.num_values()).unwrap_or(0);
        let mut values = Vec::with_capacity(most);
        let mut levels = std::mem::take(&mut self.spare);
        let (definition, repetition) = (&mut levels.definition, &mut levels.repetition);
        for kind in [&mut *definition, &mut *repetition] {
            kind.clear();
            kind.reserve(most);
        }
        let (records, _, count) = reader
            .read_records(self.rows, Some(definition), Some(repetition), &mut values)
            .map_err(|error| damaged(path, &error))?;
        if records != self.rows || count as u64 != chunk.num_values() as u64 {
            return Err(format!("column {path:?} has another number of rows than the file"));
        }
        if leaf.defined == 0 {
            levels.definition.clear();
        }
        // The first list of all starts at the first level.
        if !leaf.lists.is_empty() && levels.repetition.first().is_some_and(|first| *first != 0) {
            return Err(format!("column {path:?} starts within a list"));
        }
        Ok((levels, values))
    }
}

fn damaged(path: &str, error: &ParquetError) -> String {
    format!("column {path:?} cannot be read: {error}")
}

fn nullable<T>(
    path: &str,
    leaf: &Leaf,
    levels: &Levels,
    values: Vec<T>,
    count: usize,
) -> Result<Nullable<T>, String> {
    let element = leaf.lists.last().map_or(0, |list| list.element);
    let mut next = 0;
    let mut place = |is_null: bool| {
        next += u32::from(!is_null);
        if is_null { Nullable::<T>::NULL } else { next - 1 }
    };
    let places: Vec<u32> = match leaf.defined {
        0 => (0..count).map(|_| place(false)).collect(),
        defined => {
            let elements = levels.definition.iter().filter(|level| **level >= element);
            elements.map(|level| place(*level < defined)).collect()
        }
    };
    match places.len() == count && next as usize == values.len() {
        true => Ok(Nullable { values, places }),
        false => Err(format!("column {path:?} has another number of values than its neighbours")),
    }
}
