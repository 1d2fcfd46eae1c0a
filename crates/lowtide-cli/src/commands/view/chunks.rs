//! The details of all regions in chunks: parts of the page with several regions each.
//!
//! A part for each region would be slow to open and large: thousands of elements, and each compressed alone.
//! One part for all regions would have to be decompressed for the first of them. A chunk is between the two.
//! Regions with the same details share them.

use std::collections::HashMap;

use lowtide_tool::Failure;
use lowtide_tool::page::Part;
use serde::Serialize;

/// The JSON of a chunk in bytes, before compression. A browser decompresses and reads it in about 10 ms.
const CHUNK: usize = 1 << 19;

/// The place of a region's details: the part of the page, and the position in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Place {
    part: usize,
    entry: usize,
}

/// Chunks under construction. They are full in the order of their parts.
pub(super) struct Chunks {
    /// The number of the first part.
    first: usize,
    full: Vec<Part>,
    /// The open chunk, without the bracket at its end, and its entries.
    open: String,
    entries: usize,
    /// The places of all details so far.
    places: HashMap<String, Place>,
}

impl Chunks {
    /// Start without chunks. `first` is the number of the part that the first chunk becomes.
    pub(super) fn from(first: usize) -> Self {
        Chunks { first, full: Vec::new(), open: String::new(), entries: 0, places: HashMap::new() }
    }

    /// Add the details of a region, as JSON, and return their place.
    pub(super) fn add(&mut self, detail: String) -> Result<Place, Failure> {
        if let Some(place) = self.places.get(&detail) {
            return Ok(*place);
        }
        if !self.open.is_empty() && self.open.len() + detail.len() > CHUNK {
            self.close()?;
        }
        let place = Place { part: self.first + self.full.len(), entry: self.entries };
        self.open.push(if self.entries == 0 { '[' } else { ',' });
        self.open += &detail;
        self.entries += 1;
        self.places.insert(detail, place);
        Ok(place)
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.open.push(']');
        self.full.push(Part::of_json(&self.open)?);
        self.open.clear();
        self.entries = 0;
        Ok(())
    }

    /// Return the parts.
    pub(super) fn finish(mut self) -> Result<Vec<Part>, Failure> {
        if !self.open.is_empty() {
            self.close()?;
        }
        Ok(self.full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_region_has_a_place_and_equal_details_share_one() {
        let detail = |number: usize| format!("\"{number} {}\"", "x".repeat(CHUNK / 3));
        let mut chunks = Chunks::from(1);
        let places: Vec<_> =
            [0, 1, 0, 2, 3, 1].map(|number| chunks.add(detail(number)).unwrap()).into_iter().collect();
        let expected = [(1, 0), (1, 1), (1, 0), (2, 0), (2, 1), (1, 1)];
        assert_eq!(places, expected.map(|(part, entry)| Place { part, entry }));
        assert_eq!(chunks.finish().unwrap().len(), 2);
    }

    #[test]
    fn details_that_are_larger_than_a_chunk_have_one_for_themselves() {
        let mut chunks = Chunks::from(1);
        for (number, part) in [(0, 1), (1, 2), (2, 3)] {
            let large = format!("\"{number} {}\"", "x".repeat(2 * CHUNK));
            assert_eq!(chunks.add(large).unwrap(), Place { part, entry: 0 });
        }
        assert_eq!(chunks.finish().unwrap().len(), 3);
        assert!(Chunks::from(1).finish().unwrap().is_empty());
    }
}
