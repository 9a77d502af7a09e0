//! Session owners: which connection a session belongs to, and which transactions were rolled back with their connection.
//!
//! Drivers for JavaScript, Java and Go connect again by themselves, and name the same session. What was done in it before
//! is gone, so nothing may go on there as if it were not.

use evergraph_storage::planted::{Bug, planted};
use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Sessions that are remembered as lost, the last ones. Drivers choose random names.
const LOST_MAX: usize = 65_536;

/// The owners of all sessions.
///
/// Concurrency: one lock, held for a moment.
#[derive(Default)]
pub struct SessionOwners(Mutex<State>);

#[derive(Default)]
struct State {
    owners: HashMap<Box<str>, u64>,
    /// Hashes of the names, in the order in which they were lost.
    lost: VecDeque<u64>,
    lost_set: HashSet<u64>,
    hasher: RandomState,
}

/// Whose a session is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ownership {
    /// That of who asked, from now on.
    New,
    /// That of who asked.
    Own,
    /// That of another connection.
    Another,
    /// Nobody's: its transaction was rolled back with its connection.
    Lost,
}

impl SessionOwners {
    /// Gives the session to `connection`, unless it is another one's or lost.
    pub fn own(&self, session: &str, connection: u64) -> Ownership {
        let mut state = self.state();
        match state.owners.get(session) {
            Some(owner) if *owner == connection || planted(Bug::SessionsShared) => Ownership::Own,
            Some(_) => Ownership::Another,
            None if state.lost_set.contains(&state.hasher.hash_one(session)) => Ownership::Lost,
            None => {
                state.owners.insert(session.into(), connection);
                Ownership::New
            }
        }
    }

    /// Sessions that have an owner.
    #[must_use]
    pub fn count(&self) -> usize {
        self.state().owners.len()
    }

    /// Ends a session.
    pub fn end(&self, session: &str) {
        self.state().owners.remove(session);
    }

    /// Ends a session whose transaction was rolled back, and remembers that.
    pub fn lose(&self, session: &str) {
        let mut state = self.state();
        state.owners.remove(session);
        let hash = state.hasher.hash_one(session);
        if planted(Bug::LostSessionsGoOn) || !state.lost_set.insert(hash) {
            return;
        }
        state.lost.push_back(hash);
        if state.lost.len() > LOST_MAX
            && let Some(oldest) = state.lost.pop_front()
        {
            state.lost_set.remove(&oldest);
        }
    }

    /// Notes that the client knows that the session's transaction is rolled back: another one may begin there.
    pub fn forgive(&self, session: &str) {
        let mut state = self.state();
        let hash = state.hasher.hash_one(session);
        if state.lost_set.remove(&hash) {
            state.lost.retain(|lost| *lost != hash);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_one_owner_and_a_lost_one_has_none_until_it_is_rolled_back() {
        let owners = SessionOwners::default();
        assert_eq!(
            [owners.own("a", 1), owners.own("a", 1), owners.own("a", 2)],
            [Ownership::New, Ownership::Own, Ownership::Another]
        );
        owners.end("a");
        assert_eq!(owners.own("a", 2), Ownership::New);
        owners.lose("a");
        owners.lose("a");
        assert_eq!([owners.own("a", 2), owners.own("a", 3)], [Ownership::Lost; 2]);
        owners.forgive("a");
        assert_eq!(owners.own("a", 3), Ownership::New);
    }

    #[test]
    fn the_last_lost_sessions_are_remembered() {
        let owners = SessionOwners::default();
        for session in 0..=LOST_MAX {
            owners.lose(&session.to_string());
        }
        assert_eq!(owners.own("0", 1), Ownership::New);
        assert_eq!(owners.own("1", 1), Ownership::Lost);
        assert_eq!(owners.state().lost.len(), LOST_MAX);
    }
}
