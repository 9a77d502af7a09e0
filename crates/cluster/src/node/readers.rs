//! Readers: the moments of the log that are in use on a node, and the oldest one that can still be read there.
//!
//! ```text
//!             horizon          said         oldest own reader         applied
//! log ───────────┼───────────────┼──────────────────┼────────────────────┼──
//!                ├─ answers ... ────────────────────────────────────────────>    readers of other nodes
//!                                ├─ own readers ... ────────────────────────>    of transactions and queries that run here
//! ```
//!
//! Two kinds read. *Own readers* are the snapshots of transactions and queries that this node coordinates: they ask other nodes,
//! so the oldest of them is what the node says to others. *Answers* are questions of any node while they are being answered
//! here: they hold what this node merges, and no other node, since whoever asked says so itself.
//!
//! What was said binds: an own reader never begins below it, for other nodes have merged up to there. So what a node says never
//! goes back, and of two heartbeats the one that says more is the later one. That holds across its starts, too: a node that has
//! started opens for own readers once it has applied the record by which it joins. This lies behind everything that it had
//! applied before.
//!
//! The horizon never goes back either, nor beyond a reader or what is applied. It leaves own readers behind only if they are
//! older than any snapshot may be; answers it never does.

use crate::digest::SeenLog;
use crate::log_position::LogPosition;
use crate::planted::{Bug, planted};
use crate::transport::frame::Heartbeat;
use evergraph_storage::sync::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The readers of one node. Clones are the same readers.
///
/// # Concurrency
///
/// Any thread begins and ends readers; the thread of the node does the rest. One lock orders them, inside which nothing else is
/// locked: a reader begins before the horizon rises, or is compared with it as it is then.
#[derive(Clone, Debug)]
pub struct Readers {
    state: Arc<Mutex<ReadersState>>,
}

#[derive(Debug)]
struct ReadersState {
    applied: SeenLog,
    has_joined: bool,
    /// The most that was said to other nodes. Only grows.
    said: LogPosition,
    /// Only grows.
    horizon: LogPosition,
    /// How many own readers there are at the end of each message.
    own: BTreeMap<LogPosition, usize>,
    /// So for answers.
    answers: BTreeMap<LogPosition, usize>,
}

/// Whose snapshot is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReaderKind {
    Own,
    Answer,
}

/// A moment in use, until it is dropped.
#[derive(Debug)]
pub struct OpenReader {
    readers: Readers,
    at: SeenLog,
    kind: ReaderKind,
}

/// Why a reader does not begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReaderRefusal {
    /// The node has started and not applied the record by which it joins: ask again later, or another node.
    NotJoined,
    /// It is too old, here or as other nodes know it: begin a new one.
    TooOld {
        /// The oldest message at whose end a reader may begin.
        oldest: LogPosition,
    },
}

impl Readers {
    /// Without any, on a node that has applied `applied`, whose partitions can be read there and not before.
    #[must_use]
    pub fn new(applied: SeenLog) -> Self {
        let (own, answers) = (BTreeMap::new(), BTreeMap::new());
        let (said, horizon) = (applied.position, applied.position);
        let state = ReadersState { applied, has_joined: false, said, horizon, own, answers };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Begins an own reader of everything that the node has applied.
    ///
    /// # Errors
    /// [`ReaderRefusal::NotJoined`].
    pub fn begin(&self) -> Result<OpenReader, ReaderRefusal> {
        let mut state = self.state.lock();
        let at = state.applied;
        state.begin_own(at.position)?;
        drop(state);
        Ok(OpenReader { readers: self.clone(), at, kind: ReaderKind::Own })
    }

    /// Begins an own reader at the end of a message: what a client has read before, here or on another node. It may lie beyond
    /// what is applied here: questions wait.
    ///
    /// # Errors
    /// [`ReaderRefusal`].
    pub fn begin_at(&self, at: SeenLog) -> Result<OpenReader, ReaderRefusal> {
        self.state.lock().begin_own(at.position)?;
        Ok(OpenReader { readers: self.clone(), at, kind: ReaderKind::Own })
    }

    /// Begins to answer a question at the end of a message. `None` if that is older than the horizon.
    #[must_use]
    pub fn begin_answer(&self, at: SeenLog) -> Option<OpenReader> {
        let mut state = self.state.lock();
        if at.position < state.horizon {
            return None;
        }
        if !planted(Bug::AnswerUnregistered) {
            *state.answers.entry(at.position).or_default() += 1;
        }
        drop(state);
        Some(OpenReader { readers: self.clone(), at, kind: ReaderKind::Answer })
    }

    /// The oldest message at whose end this node can be read.
    #[must_use]
    pub fn horizon(&self) -> LogPosition {
        self.state.lock().horizon
    }

    /// The oldest message at whose end somebody reads here: own readers, then answers.
    #[must_use]
    pub fn oldest(&self) -> (Option<LogPosition>, Option<LogPosition>) {
        let state = self.state.lock();
        (first(&state.own), first(&state.answers))
    }

    /// How many readers there are: own ones, then answers.
    #[must_use]
    pub fn count(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.own.values().sum(), state.answers.values().sum())
    }

    /// The node has applied more.
    pub fn applied(&self, applied: SeenLog) {
        let mut state = self.state.lock();
        if applied.position > state.applied.position {
            state.applied = applied;
        }
    }

    /// The node has applied the record by which it joins.
    pub fn joined(&self) {
        self.state.lock().has_joined = true;
    }

    /// What the node says to others now, which needs the log from `needed_from` on: it binds own readers that begin later. `None` if
    /// it has not joined.
    #[must_use]
    pub fn heartbeat(&self, needed_from: LogPosition) -> Option<Heartbeat> {
        let mut state = self.state.lock();
        if !state.has_joined {
            return None;
        }
        let applied = state.applied;
        let oldest = first(&state.own).map_or(applied.position, |own| own.min(applied.position));
        // Own readers below the horizon are older than any may be.
        state.said = state.said.max(oldest).max(state.horizon);
        Some(Heartbeat { applied, oldest: state.said, needed_from })
    }

    /// Raises the horizon to `limit`, or as far as readers and what is applied allow; and to `age_limit` if only own readers
    /// do not allow that. It never goes back. Returns where it is.
    pub(super) fn raise(&self, limit: LogPosition, age_limit: LogPosition) -> LogPosition {
        let mut state = self.state.lock();
        let own = first(&state.own).filter(|_| !planted(Bug::ReadersPassed));
        let limit = limit.min(own.unwrap_or(LogPosition::MAX)).max(age_limit);
        let limit = limit.min(first(&state.answers).unwrap_or(LogPosition::MAX));
        let limit = if planted(Bug::HorizonUnapplied) { limit } else { limit.min(state.applied.position) };
        state.horizon = if planted(Bug::HorizonGoesBack) { limit } else { state.horizon.max(limit) };
        state.horizon
    }
}

impl ReadersState {
    fn begin_own(&mut self, at: LogPosition) -> Result<(), ReaderRefusal> {
        if !self.has_joined {
            return Err(ReaderRefusal::NotJoined);
        }
        let oldest = self.said.max(self.horizon);
        if at < oldest && !planted(Bug::BegunBelowSaid) {
            return Err(ReaderRefusal::TooOld { oldest });
        }
        *self.own.entry(at).or_default() += 1;
        Ok(())
    }

    fn end(&mut self, at: LogPosition, kind: ReaderKind) {
        let counts = match kind {
            ReaderKind::Own => &mut self.own,
            ReaderKind::Answer => &mut self.answers,
        };
        if let Some(count) = counts.get_mut(&at) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&at);
            }
        }
    }
}

impl OpenReader {
    /// The message at whose end it reads, and the log up to it: what its questions say.
    #[must_use]
    pub fn at(&self) -> SeenLog {
        self.at
    }
}

impl Drop for OpenReader {
    fn drop(&mut self) {
        self.readers.state.lock().end(self.at.position, self.kind);
    }
}

fn first(counts: &BTreeMap<LogPosition, usize>) -> Option<LogPosition> {
    counts.first_key_value().map(|(at, _)| *at)
}

impl fmt::Display for ReaderRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJoined => f.write_str("the node has not joined the cluster yet"),
            Self::TooOld { oldest } => {
                write!(
                    f,
                    "the snapshot is older than message {oldest}, the oldest that is kept: begin a new one"
                )
            }
        }
    }
}

impl std::error::Error for ReaderRefusal {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::LogDigest;
    use crate::planted::assert_found;

    fn at(position: u64) -> SeenLog {
        SeenLog { position: LogPosition(position), digest: LogDigest([7; 16]) }
    }

    fn joined(applied: u64) -> Readers {
        let readers = Readers::new(at(applied));
        readers.joined();
        readers
    }

    fn said(readers: &Readers) -> u64 {
        readers.heartbeat(LogPosition::START).unwrap().oldest.0
    }

    fn raised(readers: &Readers, limit: u64) -> u64 {
        readers.raise(LogPosition(limit), LogPosition::START).0
    }

    #[test]
    fn the_oldest_own_reader_is_said_and_holds_the_horizon_until_it_ends() {
        let readers = joined(10);
        let first = readers.begin().unwrap();
        readers.applied(at(20));
        let second = readers.begin().unwrap();
        let again = readers.begin_at(at(10)).unwrap();
        assert_eq!((first.at(), second.at()), (at(10), at(20)));
        assert_eq!((said(&readers), raised(&readers, 15)), (10, 10), "a reader is passed");
        drop(first);
        assert_eq!(raised(&readers, 15), 10, "two read there");
        drop(again);
        assert_eq!((said(&readers), raised(&readers, 15), raised(&readers, 30)), (20, 15, 20));
        assert_eq!((readers.oldest(), readers.count()), ((Some(LogPosition(20)), None), (1, 0)));
    }

    #[test]
    fn no_own_reader_begins_below_what_was_said_or_is_merged() {
        let readers = joined(10);
        readers.applied(at(20));
        let early = readers.begin_at(at(12)).unwrap();
        assert_eq!(said(&readers), 12);
        drop(early);
        assert_eq!(said(&readers), 20);
        let too_old = Some(ReaderRefusal::TooOld { oldest: LogPosition(20) });
        assert_eq!(readers.begin_at(at(12)).err(), too_old, "it was said");
        readers.applied(at(40));
        assert_eq!(raised(&readers, 30), 30);
        let too_old = Some(ReaderRefusal::TooOld { oldest: LogPosition(30) });
        assert_eq!(readers.begin_at(at(25)).err(), too_old);
        let ahead = readers.begin_at(at(90)).unwrap();
        assert_eq!((said(&readers), ahead.at()), (40, at(90)), "no more than what is applied is said");
    }

    #[test]
    fn an_answer_holds_the_horizon_of_its_node_and_says_nothing() {
        let readers = joined(10);
        readers.applied(at(20));
        let answer = readers.begin_answer(at(12)).unwrap();
        assert_eq!((said(&readers), raised(&readers, 20)), (20, 12), "it reads there");
        assert_eq!(readers.raise(LogPosition(20), LogPosition(20)).0, 12, "however old it is");
        assert!(readers.begin_answer(at(11)).is_none(), "it is merged away");
        drop(answer);
        assert_eq!((raised(&readers, 20), readers.count()), (20, (0, 0)));
    }

    #[test]
    fn the_horizon_never_goes_back_nor_beyond_what_is_applied() {
        let readers = joined(10);
        assert_eq!(raised(&readers, 5), 10, "it goes back");
        assert_eq!(raised(&readers, 30), 10, "it is not applied");
        readers.applied(at(20));
        readers.applied(at(15));
        assert_eq!(raised(&readers, 30), 20);
    }

    #[test]
    fn own_readers_that_are_too_old_are_left_behind_and_said_no_more() {
        let readers = joined(10);
        let old = readers.begin().unwrap();
        readers.applied(at(20));
        assert_eq!(readers.raise(LogPosition(10), LogPosition(15)), LogPosition(15));
        assert_eq!((said(&readers), old.at()), (15, at(10)));
    }

    #[test]
    fn nobody_begins_before_the_node_has_joined() {
        let readers = Readers::new(at(10));
        assert_eq!(readers.heartbeat(LogPosition(9)), None);
        assert_eq!(readers.begin().err(), Some(ReaderRefusal::NotJoined));
        assert!(readers.begin_answer(at(10)).is_some(), "questions of others are answered");
        readers.applied(at(20));
        readers.joined();
        let (oldest, needed_from) = (LogPosition(20), LogPosition(9));
        let heartbeat = Heartbeat { applied: at(20), oldest, needed_from };
        assert_eq!(readers.heartbeat(needed_from), Some(heartbeat));
        assert_eq!(readers.begin().unwrap().at(), at(20));
    }

    #[test]
    fn planted_bugs_are_found() {
        let own = the_oldest_own_reader_is_said_and_holds_the_horizon_until_it_ends;
        let below = no_own_reader_begins_below_what_was_said_or_is_merged;
        let answer = an_answer_holds_the_horizon_of_its_node_and_says_nothing;
        let back = the_horizon_never_goes_back_nor_beyond_what_is_applied;
        assert_found(Bug::ReadersPassed, own, "a reader is passed");
        assert_found(Bug::BegunBelowSaid, below, "it was said");
        assert_found(Bug::AnswerUnregistered, answer, "it reads there");
        assert_found(Bug::HorizonGoesBack, back, "it goes back");
        assert_found(Bug::HorizonUnapplied, back, "it is not applied");
    }
}
