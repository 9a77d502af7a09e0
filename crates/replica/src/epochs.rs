//! Epochs: the newest snapshots, which stay open by number, so that several readers see the same moment.
//!
//! ```text
//! commit   41   42   43 ...... 57        at most every 2 ms, 16 of them
//! epoch    41        43 ...... 57        number = timestamp of the commit, position = what its note says
//! ```
//!
//! Cost: 0.25 us to open one; versions that it needs are kept until it goes.
//!
//! Source: GART (USENIX ATC 2023), sections 2 (epochs of a replayed log) and 5.2. Differs: every commit is visible at once, by a snapshot; an epoch is one
//! that stays open, not the moment at which changes become visible.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evergraph::{Database, GraphView as _, Snapshot};

use crate::position::{POSITION_NOTE, Position};

/// A snapshot that is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Epoch {
    /// Its number: the timestamp of the commit that it shows.
    pub number: u64,
    /// The source's position that it shows.
    pub position: Position,
    /// When it was opened.
    pub opened: Instant,
}

/// The newest snapshots, oldest first.
#[derive(Default)]
pub struct Epochs {
    open: VecDeque<(Epoch, Arc<Snapshot>)>,
}

/// How many snapshots stay open, and how far they are apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EpochLimits {
    /// How many stay open.
    pub count: usize,
    /// Time between two, at least.
    pub interval: Duration,
}

impl Epochs {
    /// Opens a snapshot of `database` if there is something new and the newest is old enough; lets the oldest go.
    pub fn advance(&mut self, database: &Database, limits: EpochLimits, now: Instant) {
        let newest = self.open.back().map(|(epoch, _)| epoch);
        let is_due =
            newest.is_none_or(|newest| now.saturating_duration_since(newest.opened) >= limits.interval);
        if limits.count == 0 || !is_due {
            return;
        }
        let snapshot = database.snapshot();
        let number = snapshot.timestamp().0;
        if newest.is_some_and(|newest| newest.number >= number) {
            return;
        }
        // The note is this commit's or an older one's: the snapshot shows it in either case.
        let Some(position) = snapshot.note(POSITION_NOTE).and_then(|note| Position::decode(&note).ok())
        else {
            return;
        };
        while self.open.len() >= limits.count {
            self.open.pop_front();
        }
        self.open.push_back((Epoch { number, position, opened: now }, Arc::new(snapshot)));
    }

    /// Those that are open, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Epoch> {
        self.open.iter().map(|(epoch, _)| *epoch).collect()
    }

    /// The snapshot of the epoch `number`, if it is open; it stays open for as long as somebody has it.
    #[must_use]
    pub fn open(&self, number: u64) -> Option<Arc<Snapshot>> {
        let found = self.open.iter().find(|(epoch, _)| epoch.number == number);
        found.map(|(_, snapshot)| Arc::clone(snapshot))
    }

    /// Lets all go.
    pub fn clear(&mut self) {
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsn::Lsn;
    use crate::postgres_time::PostgresTime;
    use evergraph::ReadByName as _;

    #[test]
    fn the_newest_snapshots_stay_open_and_each_shows_its_own_commit() {
        let database = Database::in_memory().unwrap();
        let mut ownership = database.own("a test").unwrap();
        let mut epochs = Epochs::default();
        let limits = EpochLimits { count: 3, interval: Duration::from_millis(2) };
        let begin = Instant::now();
        let mut numbers = Vec::new();
        for number in 1..=10u64 {
            let mut transaction = ownership.begin().unwrap();
            transaction.add_vertex("Row", &[("number", (number as i64).into())]).unwrap();
            let end = Lsn::new(number * 100);
            let position =
                Position { timeline: 1, end, xid: number as u32, committed_at: PostgresTime::new(0) };
            transaction.set_note(POSITION_NOTE, &position.encode()).unwrap();
            numbers.push(transaction.commit().unwrap().timestamp.0);
            // Every second commit comes too soon after the one before.
            epochs.advance(&database, limits, begin + Duration::from_millis(number));
        }
        epochs.advance(&database, limits, begin + Duration::from_secs(1));
        epochs.advance(&database, limits, begin + Duration::from_secs(2));
        let listed = epochs.list();
        let expected = [numbers[6], numbers[8], numbers[9]];
        assert_eq!(listed.iter().map(|epoch| epoch.number).collect::<Vec<_>>(), expected);
        for (epoch, rows) in listed.iter().zip([7, 9, 10]) {
            assert_eq!(epoch.position.end, Lsn::new(rows * 100));
            let snapshot = epochs.open(epoch.number).unwrap();
            assert_eq!(snapshot.vertices(Some("Row")).unwrap().len() as u64, rows);
        }
        assert!(epochs.open(numbers[0]).is_none());
        let none = EpochLimits { count: 0, ..limits };
        let mut closed = Epochs::default();
        closed.advance(&database, none, begin);
        assert!(closed.list().is_empty());
    }
}
