//! Typed indices: an instruction cannot be mistaken for a value.

macro_rules! index_type {
    ($(#[$meta:meta])* $name:ident($int:ty)) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub $int);

        impl $name {
            /// The position in the array that this index belongs to.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The index of array position `position`.
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

    /// Adds an item to the row being built.
    pub(crate) fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// Ends the row being built.
    pub(crate) fn end_row(&mut self) {
        self.starts.push(self.items.len() as u32);
    }

    /// The items pushed since the last [`Rows::end_row`].
    pub(crate) fn open_row(&mut self) -> &mut [T] {
        let start = self.starts[self.starts.len() - 1] as usize;
        &mut self.items[start..]
    }

    /// Sorts pairs of (row, item) into rows, keeping the order of the items within a row.
    pub(crate) fn group(rows: usize, pairs: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        let mut starts = vec![0u32; rows + 1];
        let mut filler = None;
        for (row, item) in pairs.clone() {
            starts[row + 1] += 1;
            filler = Some(item);
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut items = match filler {
            Some(item) => vec![item; starts[rows] as usize],
            None => Vec::new(),
        };
        let mut next = starts.clone();
        for (row, item) in pairs {
            items[next[row] as usize] = item;
            next[row] += 1;
        }
        Rows { starts, items }
    }

    #[inline]
    pub(crate) fn row(&self, row: usize) -> &[T] {
        &self.items[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }
}

/// Short texts in one string, each with a number.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Names {
    text: String,
    /// Where each one ends.
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

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|number| self.get(number))
    }

    /// Bytes of all names together.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }
}
