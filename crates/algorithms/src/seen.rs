//! Seen: the vertices that a local search has visited, one bit each, in memory that follows their positions.
//!
//! ```text
//! pages   [ . | page | . | . | page | ... ]      a page: 4,096 vertices, 512 bytes, made when the first is met
//! ```
//!
//! A hash table of the same costs a cache miss for nearly every edge of a search that reaches much of a graph. Here a
//! search that reaches a thousand vertices takes half a megabyte at worst, and one that reaches all a bit each.

use crate::control::Control;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::Result;

/// Words of 64 vertices in a page.
const WORDS: usize = 64;
const PAGE_VERTICES: usize = WORDS * 64;

/// Vertices that were met.
pub(crate) struct Seen<'a> {
    control: &'a Control<'a>,
    purpose: &'static str,
    pages: Vec<Option<Box<[u64; WORDS]>>>,
    /// Vertices that there are, and those for which memory is reserved with `each` bytes kept elsewhere.
    count: usize,
    room: usize,
    each: usize,
    reserved: Vec<Reservation>,
}

/// Vertices for which memory is reserved at first.
const ROOM_FIRST: usize = 1024;

impl<'a> Seen<'a> {
    /// No vertex yet. Reserves `each` bytes for each vertex in addition, for queues and the like.
    pub(crate) fn new(control: &'a Control<'a>, purpose: &'static str, each: usize) -> Self {
        Self { control, purpose, pages: Vec::new(), count: 0, room: 0, each, reserved: Vec::new() }
    }

    /// Whether `vertex` was met.
    #[inline]
    pub(crate) fn has(&self, vertex: u32) -> bool {
        let (page, word, bit) = place(vertex);
        matches!(self.pages.get(page), Some(Some(words)) if words[word] & bit != 0)
    }

    /// Notes that `vertex` was met; true if it is new.
    ///
    /// # Errors
    /// `limit` if the budget refuses; `cancelled`, looked at whenever memory grows.
    #[inline]
    pub(crate) fn insert(&mut self, vertex: u32) -> Result<bool> {
        let (page, word, bit) = place(vertex);
        let words = match self.pages.get_mut(page) {
            Some(Some(words)) => words,
            _ => self.make(page)?,
        };
        if words[word] & bit != 0 {
            return Ok(false);
        }
        words[word] |= bit;
        if self.count == self.room {
            self.grow()?;
        }
        self.count += 1;
        Ok(true)
    }

    #[cold]
    fn make(&mut self, page: usize) -> Result<&mut [u64; WORDS]> {
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        self.reserved.push(self.control.reserve(self.purpose, 1, size_of::<[u64; WORDS]>())?);
        Ok(self.pages[page].insert(Box::new([0; WORDS])))
    }

    #[cold]
    fn grow(&mut self) -> Result<()> {
        self.control.check()?;
        let more = self.room.max(ROOM_FIRST);
        let vertices = u32::try_from(more).unwrap_or(u32::MAX);
        self.reserved.push(self.control.reserve(self.purpose, vertices, self.each)?);
        self.room += more;
        Ok(())
    }
}

fn place(vertex: u32) -> (usize, usize, u64) {
    let vertex = vertex as usize;
    (vertex / PAGE_VERTICES, vertex / 64 % WORDS, 1 << (vertex % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Limit;
    use evergraph_graph::error::ErrorKind;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn each_is_new_once(vertices in prop::collection::vec(prop_oneof![0..300_u32, 4000..4200_u32, any::<u32>().prop_map(|id| id >> 8)], 0..200)) {
            let control = Control::default();
            let (mut seen, mut model) = (Seen::new(&control, "test", 4), HashSet::new());
            for vertex in vertices {
                prop_assert_eq!(seen.has(vertex), model.contains(&vertex));
                prop_assert_eq!(seen.insert(vertex).unwrap(), model.insert(vertex));
                prop_assert!(seen.has(vertex));
            }
        }
    }

    #[test]
    fn memory_is_reserved_before_it_is_used() {
        let budget = Limit(1024 * 8);
        let control = Control::new(&budget);
        let mut seen = Seen::new(&control, "test", 8);
        // The budget grants each reservation by itself: 1,024, 1,024 vertices; then 2,048 are too many.
        let refused = (0..10_000).find_map(|vertex| Some((vertex, seen.insert(vertex).err()?)));
        let (vertex, error) = refused.unwrap();
        assert_eq!((vertex, error.kind()), (2048, ErrorKind::Limit));
        let pages = Limit(500);
        let control = Control::new(&pages);
        assert_eq!(Seen::new(&control, "test", 0).insert(7).unwrap_err().kind(), ErrorKind::Limit);
    }
}
