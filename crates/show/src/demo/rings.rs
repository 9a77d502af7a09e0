//! Rings: which rings of fraud there are to find, and which were found.
//!
//! A ring is closed when its last transfer is booked; only then can anybody find it. Its name is the
//! time of its first transfer with the ids of its accounts in the order of the flow: what was planted
//! and what was found are the same ring if they have the same name.

use evergraph::generate::payments::account_id;
use evergraph::generate::ring::Ring;
use evergraph_algorithms::flow_rings::FlowRing;
use serde::Serialize;
use std::collections::HashSet;

/// What tells one ring from another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RingKey {
    /// When its first transfer was, in milliseconds since 1970.
    pub time_ms: i64,
    /// The ids of its accounts, from the source of that transfer on.
    pub accounts: Vec<i64>,
}

impl RingKey {
    /// That of a planted ring.
    #[must_use]
    pub fn of_planted(ring: &Ring) -> Self {
        Self { time_ms: ring.transfers[0].time_ms, accounts: ring.accounts.clone() }
    }

    /// That of a ring found in a database; `row_of` gives the row of a vertex' account.
    #[must_use]
    pub fn of_found(ring: &FlowRing, row_of: impl Fn(u32) -> u32) -> Self {
        let accounts = ring.vertices.iter().map(|vertex| account_id(row_of(*vertex))).collect();
        // Times are whole milliseconds far below 2^53: exact in a float.
        Self { time_ms: ring.times[0] as i64, accounts }
    }
}

/// How well rings were found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct RingScore {
    /// Planted and closed.
    pub closed: u64,
    /// Of those, found.
    pub found: u64,
    /// Found, but not planted.
    pub not_planted: u64,
}

impl RingScore {
    /// Judges what was `found` by what had been planted and `closed`.
    #[must_use]
    pub fn of(closed: &HashSet<RingKey>, found: &HashSet<RingKey>) -> Self {
        let both = found.intersection(closed).count() as u64;
        Self { closed: closed.len() as u64, found: both, not_planted: found.len() as u64 - both }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_missed_and_false_rings_are_told_apart() {
        let key = |time_ms| RingKey { time_ms, accounts: vec![1, 2, 3] };
        let score = RingScore::of(&HashSet::from([1, 2, 3].map(key)), &HashSet::from([2, 3, 9].map(key)));
        assert_eq!(score, RingScore { closed: 3, found: 2, not_planted: 1 });
    }
}
