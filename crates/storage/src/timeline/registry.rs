//! The registry: the open snapshots, so that nothing they can see is dropped.
//!
//! A reader loads its timestamp *while it holds the registry's lock*. A merge reads the newest
//! readable timestamp B before it takes the lock: whoever registers later gets S >= B and needs
//! nothing older; whoever registered before is seen. That is the whole proof.
//!
//! Readers and writers are kept apart: records stay findable only for writers, which must detect
//! conflicts; a long reader costs at most an extra body in each changed segment.
//!
//! Source: core-protocol section 1; pruning by intervals as in Steam (Böttcher et al., VLDB 2019).

use evergraph_graph::timestamp::Timestamp;
use std::time::Duration;

/// Whether a registered transaction may write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads a snapshot.
    Read,
    /// Reads a snapshot and may commit writes, for which conflicts must be found.
    Write,
}

/// The open snapshots, ascending by timestamp. Few: a linear scan is the fastest look.
#[derive(Debug, Default)]
pub struct Registry {
    open: Vec<OpenSnapshots>,
    /// When readers began, on the timeline's clock, for statistics; those that were entered with a time. In no order.
    begun: Vec<(Timestamp, Duration)>,
}

#[derive(Debug)]
struct OpenSnapshots {
    timestamp: Timestamp,
    readers: u32,
    writers: u32,
}

impl Registry {
    /// Counts a snapshot at `timestamp`.
    pub fn enter(&mut self, timestamp: Timestamp, access: Access) {
        let at = self.open.partition_point(|open| open.timestamp < timestamp);
        if self.open.get(at).is_none_or(|open| open.timestamp != timestamp) {
            self.open.insert(at, OpenSnapshots { timestamp, readers: 0, writers: 0 });
        }
        *self.open[at].count(access) += 1;
    }

    /// Ends a snapshot that was counted with [`Registry::enter`]; whether the oldest timestamp in
    /// the registry moved (then retained versions may go).
    ///
    /// # Panics
    /// If it wasn't counted: an error of ours.
    pub fn leave(&mut self, timestamp: Timestamp, access: Access) -> bool {
        let at = self.open.partition_point(|open| open.timestamp < timestamp);
        let open = self.open.get_mut(at).filter(|open| open.timestamp == timestamp);
        let open = open.expect("a snapshot that ends was entered");
        let count = open.count(access);
        *count = count.checked_sub(1).expect("a snapshot ends once");
        if open.readers == 0 && open.writers == 0 {
            self.open.remove(at);
            return at == 0;
        }
        false
    }

    /// Notes when a snapshot that was entered began.
    pub fn note_begun(&mut self, timestamp: Timestamp, begun: Duration) {
        self.begun.push((timestamp, begun));
    }

    /// Forgets what was noted of a snapshot that ends. Cost: a look at the readers that began after it, and mostly at no
    /// other.
    pub fn forget_begun(&mut self, timestamp: Timestamp, begun: Duration) {
        if let Some(at) = self.begun.iter().rposition(|noted| *noted == (timestamp, begun)) {
            self.begun.swap_remove(at);
        }
    }

    /// The snapshot of the oldest reader, and when it began: of several at one commit, the first. Cost: a look at each.
    #[must_use]
    pub fn oldest_reader(&self) -> Option<(Timestamp, Duration)> {
        self.begun.iter().copied().min()
    }

    /// Whether a snapshot with `from <= timestamp < to` is open: whether a version that is exact
    /// from `from` until `to` is still needed.
    #[must_use]
    #[inline]
    pub fn needs(&self, from: Timestamp, to: Timestamp) -> bool {
        let at = self.open.partition_point(|open| open.timestamp < from);
        self.open.get(at).is_some_and(|open| open.timestamp < to)
    }

    /// The oldest open snapshot.
    #[must_use]
    #[inline]
    pub fn oldest(&self) -> Option<Timestamp> {
        self.open.first().map(|open| open.timestamp)
    }

    /// The oldest open snapshot that may write.
    #[must_use]
    #[inline]
    pub fn oldest_writer(&self) -> Option<Timestamp> {
        self.open.iter().find(|open| open.writers > 0).map(|open| open.timestamp)
    }

    /// How many snapshots are open: readers and writers.
    #[must_use]
    pub fn len(&self) -> (u32, u32) {
        self.open.iter().fold((0, 0), |sum, open| (sum.0 + open.readers, sum.1 + open.writers))
    }
}

impl OpenSnapshots {
    fn count(&mut self, access: Access) -> &mut u32 {
        match access {
            Access::Read => &mut self.readers,
            Access::Write => &mut self.writers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::timestamp::Timestamp as T;

    #[test]
    fn a_version_is_needed_while_a_snapshot_lies_in_its_interval() {
        let mut registry = Registry::default();
        registry.enter(T(5), Access::Read);
        registry.enter(T(5), Access::Write);
        registry.enter(T(9), Access::Read);
        assert!(registry.needs(T(5), T(6)) && registry.needs(T(0), T(6)) && registry.needs(T(6), T(10)));
        assert!(!registry.needs(T(6), T(9)) && !registry.needs(T(0), T(5)) && !registry.needs(T(10), T(99)));
        assert_eq!((registry.oldest(), registry.oldest_writer()), (Some(T(5)), Some(T(5))));
        assert!(!registry.leave(T(5), Access::Write));
        assert_eq!(registry.oldest_writer(), None);
        assert!(registry.leave(T(5), Access::Read), "the oldest moved");
        assert_eq!(registry.oldest(), Some(T(9)));
        assert_eq!(registry.len(), (1, 0));
    }

    #[test]
    fn the_oldest_reader_is_the_first_at_its_commit_that_is_still_open() {
        let mut registry = Registry::default();
        let seconds = Duration::from_secs;
        for (timestamp, begun) in [(5, 1), (5, 2), (9, 3), (5, 4)] {
            registry.enter(T(timestamp), Access::Read);
            registry.note_begun(T(timestamp), seconds(begun));
        }
        registry.enter(T(3), Access::Write);
        assert_eq!(registry.oldest_reader(), Some((T(5), seconds(1))));
        registry.forget_begun(T(5), seconds(1));
        assert_eq!(registry.oldest_reader(), Some((T(5), seconds(2))));
        registry.forget_begun(T(5), seconds(4));
        registry.forget_begun(T(5), seconds(2));
        assert_eq!(registry.oldest_reader(), Some((T(9), seconds(3))));
        registry.forget_begun(T(9), seconds(3));
        assert_eq!(registry.oldest_reader(), None);
    }

    #[test]
    #[should_panic(expected = "ends was entered")]
    fn ending_a_snapshot_that_was_never_entered_is_caught() {
        Registry::default().leave(T(1), Access::Read);
    }
}
