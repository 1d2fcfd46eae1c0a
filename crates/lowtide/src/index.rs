//! Typed indices, so that an instruction cannot be mistaken for a value, and the flat tables that they
//! address.

macro_rules! index_type {
    ($(#[$meta:meta])* $name:ident($int:ty)) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub $int);

        impl $name {
            /// Return the position in the array that this index belongs to.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Return the index of array position `position`.
            ///
            /// Callers hold positions of arrays whose length the region builder has limited.
            #[inline]
            pub fn at(position: usize) -> Self {
                debug_assert!(position <= <$int>::MAX as usize);
                Self(position as $int)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

index_type!(
    /// An instruction of a region: its position in source order.
    InstrId(u32)
);
index_type!(
    /// A value: one definition (or live-in) of some lanes of a register, with its uses.
    ValueId(u32)
);
index_type!(
    /// A register of a region, before it is taken apart into values.
    RegisterId(u32)
);
index_type!(
    /// A register class of a region, such as `vgpr`.
    ClassId(u8)
);

/// Rows of different lengths in one flat array ("compressed sparse rows").
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rows<T> {
    /// Row `i` is `items[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Rows { starts: vec![0], items: Vec::new() }
    }
}

impl<T: Copy> Rows<T> {
    pub(crate) fn with_capacity(rows: usize, items: usize) -> Self {
        let mut starts = Vec::with_capacity(rows + 1);
        starts.push(0);
        Rows { starts, items: Vec::with_capacity(items) }
    }

    /// Add an item to the row being built.
    pub(crate) fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// End the row being built.
    pub(crate) fn end_row(&mut self) {
        self.starts.push(self.items.len() as u32);
    }

    /// Return the items pushed since the last [`Rows::end_row`].
    pub(crate) fn open_row(&mut self) -> &mut [T] {
        let start = self.starts[self.starts.len() - 1] as usize;
        &mut self.items[start..]
    }

    /// Sort pairs of (row, item) into rows, keeping the order of the items within a row.
    pub(crate) fn group(rows: usize, pairs: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        // Most pairs come by increasing row, and need one pass.
        let mut table = Rows::with_capacity(rows, pairs.size_hint().0);
        for (row, item) in pairs.clone() {
            if row + 1 < table.starts.len() {
                return Rows::group_in_any_order(rows, pairs);
            }
            while table.starts.len() <= row {
                table.end_row();
            }
            table.push(item);
        }
        table.starts.resize(rows + 1, table.items.len() as u32);
        table
    }

    fn group_in_any_order(rows: usize, pairs: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        // `starts` is one row ahead at first: each row's start then moves to its end while it is filled.
        let mut starts = vec![0u32; rows + 2];
        let mut first = None;
        for (row, item) in pairs.clone() {
            starts[row + 2] += 1;
            first = first.or(Some(item));
        }
        add_up(&mut starts);
        let count = starts[rows + 1] as usize;
        let mut items = first.map_or_else(Vec::new, |item| vec![item; count]);
        for (row, item) in pairs {
            let next = &mut starts[row + 1];
            items[*next as usize] = item;
            *next += 1;
        }
        starts.pop();
        Rows { starts, items }
    }

    /// Make a table of parts: the start of each row, and of the end, and the items of all rows.
    pub(crate) fn from_parts(starts: Vec<u32>, items: Vec<T>) -> Self {
        debug_assert_eq!(starts.last().map(|end| *end as usize), Some(items.len()));
        Rows { starts, items }
    }

    /// Transpose the table: for each of `rows` targets, list the rows with an item that leads to it, in their
    /// order. Given the row and the item, `link` returns the target and the entry to store there.
    pub(crate) fn transposed<U: Copy>(&self, rows: usize, link: impl Fn(usize, T) -> (usize, U)) -> Rows<U> {
        let mut starts = vec![0u32; rows + 2];
        for &item in &self.items {
            starts[link(0, item).0 + 2] += 1;
        }
        add_up(&mut starts);
        let mut items = Vec::new();
        if let Some(&item) = self.items.first() {
            items.resize(self.items.len(), link(0, item).1);
        }
        for row in 0..self.starts.len() - 1 {
            for &item in self.row(row) {
                let (target, note) = link(row, item);
                let next = &mut starts[target + 1];
                items[*next as usize] = note;
                *next += 1;
            }
        }
        starts.pop();
        Rows { starts, items }
    }

    /// Sort each row. `absorb` may merge the next item into the last one.
    pub(crate) fn sort_and_merge(&mut self, absorb: impl Fn(&mut T, T) -> bool)
    where
        T: Ord,
    {
        let mut kept = 0;
        let mut start = 0;
        for end in &mut self.starts[1..] {
            let (first, items) = (kept, start..*end as usize);
            start = items.end;
            let row = &mut self.items[items.clone()];
            if !row.is_sorted() {
                row.sort_unstable();
            }
            for position in items {
                let item = self.items[position];
                if kept == first || !absorb(&mut self.items[kept - 1], item) {
                    self.items[kept] = item;
                    kept += 1;
                }
            }
            *end = kept as u32;
        }
        self.items.truncate(kept);
    }

    #[inline]
    pub(crate) fn row(&self, row: usize) -> &[T] {
        &self.items[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    pub(crate) fn starts(&self) -> &[u32] {
        &self.starts
    }

    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }
}

/// Replace each number by the sum of all numbers up to it.
pub(crate) fn add_up(numbers: &mut [u32]) {
    let mut sum = 0;
    for number in numbers {
        sum += *number;
        *number = sum;
    }
}

/// Short texts in one string, each with a number.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Names {
    text: String,
    /// The end of each text.
    ends: Vec<u32>,
}

impl Names {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, number: usize) -> &str {
        let start = if number == 0 { 0 } else { self.ends[number - 1] as usize };
        &self.text[start..self.ends[number] as usize]
    }

    pub(crate) fn push(&mut self, name: &str) -> usize {
        self.text.push_str(name);
        self.ends.push(self.text.len() as u32);
        self.ends.len() - 1
    }

    /// Find the first text of that name. Lengths are compared first, which decides most cases.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let mut start = 0;
        self.ends.iter().position(|&end| {
            let end = end as usize;
            let same = end - start == name.len() && self.text.as_bytes()[start..end] == *name.as_bytes();
            start = end;
            same
        })
    }

    /// Return the first of the longest ones.
    pub(crate) fn longest(&self) -> &str {
        let length = |number: usize| self.ends[number] - if number == 0 { 0 } else { self.ends[number - 1] };
        let longest = (0..self.len()).rev().max_by_key(|&number| length(number));
        longest.map_or("", |number| self.get(number))
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Put several lists one behind the other.
    pub(crate) fn concat<const N: usize>(lists: [&Names; N]) -> Names {
        let mut all = Names {
            text: String::with_capacity(lists.iter().map(|names| names.bytes()).sum()),
            ends: Vec::with_capacity(lists.iter().map(|names| names.len()).sum()),
        };
        for Names { text, ends } in lists {
            let start = all.text.len() as u32;
            all.text.push_str(text);
            all.ends.extend(ends.iter().map(|end| start + end));
        }
        all
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|number| self.get(number))
    }

    /// Return the bytes of all names together.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }
}
