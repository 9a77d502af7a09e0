//! Reached: the state of the vertices that a local search has visited, in memory proportional to them.
//!
//! A search for one path in a large graph must not take an array of all vertices for it. The memory
//! of the map is reserved before it grows, in steps that double.

use crate::control::Control;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::Result;
use hashbrown::HashMap;

/// A value for each vertex that was met.
pub(crate) struct Reached<'a, S> {
    control: &'a Control<'a>,
    purpose: &'static str,
    /// Bytes that the search keeps elsewhere for each vertex met.
    more_bytes: usize,
    states: HashMap<u32, S>,
    reserved: Vec<Reservation>,
    room: usize,
}

/// Vertices for which memory is reserved at first.
const ROOM_FIRST: usize = 1024;

/// Entries that a hash table has for each that is used, at worst, with a byte of its own each.
const SPARSENESS: usize = 2;

impl<'a, S> Reached<'a, S> {
    /// No vertex yet. Reserves `more_bytes` for each vertex in addition, for queues and the like.
    pub(crate) fn new(control: &'a Control<'a>, purpose: &'static str, more_bytes: usize) -> Self {
        Self { control, purpose, more_bytes, states: HashMap::new(), reserved: Vec::new(), room: 0 }
    }

    /// What is known of `vertex`.
    #[inline]
    pub(crate) fn get(&self, vertex: u32) -> Option<&S> {
        self.states.get(&vertex)
    }

    /// What is known of `vertex`, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, vertex: u32) -> Option<&mut S> {
        self.states.get_mut(&vertex)
    }

    /// Notes what is known of `vertex`.
    ///
    /// # Errors
    /// `limit` if the budget refuses; `cancelled`, looked at whenever memory grows.
    #[inline]
    pub(crate) fn insert(&mut self, vertex: u32, state: S) -> Result<()> {
        if self.states.len() == self.room {
            self.grow()?;
        }
        self.states.insert(vertex, state);
        Ok(())
    }

    /// Forgets everybody, keeps the memory unless there was much of it.
    pub(crate) fn clear(&mut self) {
        if self.room > ROOM_FIRST * 64 {
            // Clearing costs what the table can hold, and the next search may be small.
            (self.states, self.reserved, self.room) = (HashMap::new(), Vec::new(), 0);
        }
        self.states.clear();
    }

    #[cold]
    fn grow(&mut self) -> Result<()> {
        self.control.check()?;
        let more = self.room.max(ROOM_FIRST);
        let each = SPARSENESS * (size_of::<(u32, S)>() + 1) + self.more_bytes;
        self.reserved.push(self.control.reserve(
            self.purpose,
            u32::try_from(more).unwrap_or(u32::MAX),
            each,
        )?);
        self.room += more;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Limit;
    use evergraph_graph::error::ErrorKind;

    #[test]
    fn memory_is_reserved_before_it_is_used_and_what_was_met_stays_known() {
        let budget = Limit(2 * 1024 * 18);
        let control = Control::new(&budget);
        let mut reached = Reached::new(&control, "test", 0);
        // The budget grants each reservation by itself: 1,024, 1,024, 2,048 entries; then 4,096 are too many.
        let refused =
            (0..10_000).find_map(|vertex| Some((vertex, reached.insert(vertex, vertex * 2).err()?)));
        let (vertex, error) = refused.unwrap();
        assert_eq!((vertex, error.kind()), (4096, ErrorKind::Limit));
        assert_eq!((reached.get(77), reached.get(4095), reached.get(4096)), (Some(&154), Some(&8190), None));
        reached.clear();
        assert_eq!(reached.get(77), None);
    }
}
