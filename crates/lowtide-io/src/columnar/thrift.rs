//! A walk over data in Thrift's compact protocol, the notation of the headers of a Parquet file.
//!
//! The Parquet library reserves memory for the counts that a header claims. The walk proves before that every
//! claimed element is in the file. It reports integers with their path of field numbers, so that callers can
//! limit them.

/// Deeper nesting than that of any header.
const DEPTH: usize = 12;

/// Bytes of a header, and the position of the walk.
pub(super) struct Walk<'a> {
    bytes: &'a [u8],
    position: usize,
    path: Vec<i16>,
}

/// The numbers of Thrift's types.
mod kind {
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const STRUCT: u8 = 12;
}

/// Walk over one struct at the start of the bytes. Call `integer` with the path and the value of every
/// integer. A list is reported as its length, before its elements. Return the length of the struct, or none
/// if it is damaged.
pub(super) fn walk(bytes: &[u8], mut integer: impl FnMut(&[i16], i64) -> Option<()>) -> Option<usize> {
    let mut walk = Walk { bytes, position: 0, path: Vec::new() };
    walk.fields(&mut integer)?;
    Some(walk.position)
}

type Visitor<'a> = dyn FnMut(&[i16], i64) -> Option<()> + 'a;

impl Walk<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.position)?;
        self.position += 1;
        Some(*byte)
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        let left = (self.bytes.len() - self.position) as u64;
        self.position += usize::try_from(count).ok().filter(|_| count <= left)?;
        Some(())
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn fields(&mut self, integer: &mut Visitor) -> Option<()> {
        if self.path.len() >= DEPTH {
            return None;
        }
        let mut field = 0i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            field = match head >> 4 {
                0 => i16::try_from(self.signed()?).ok()?,
                step => field.checked_add(i16::from(step))?,
            };
            self.path.push(field);
            match head & 0xf {
                // The value of a Boolean field is its type.
                kind::TRUE | kind::FALSE => {}
                other => self.value(other, integer)?,
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8, integer: &mut Visitor) -> Option<()> {
        match kind {
            kind::TRUE | kind::FALSE | kind::BYTE => self.skip(1),
            kind::I16 | kind::I32 | kind::I64 => {
                let value = self.signed()?;
                integer(&self.path, value)
            }
            kind::DOUBLE => self.skip(8),
            kind::BINARY => {
                let length = self.unsigned()?;
                self.skip(length)
            }
            kind::LIST | kind::SET => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.unsigned()?,
                    count => u64::from(count),
                };
                // Every element has at least one byte.
                if count > (self.bytes.len() - self.position) as u64 {
                    return None;
                }
                integer(&self.path, count as i64)?;
                (0..count).try_for_each(|_| self.value(head & 0xf, integer))
            }
            kind::STRUCT => self.fields(integer),
            // Headers of Parquet files have no maps.
            _ => None,
        }
    }
}
