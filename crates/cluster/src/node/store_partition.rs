//! `StorePartition`: a partition in a store, on any engine that takes partitions.
//!
//! ```text
//! commit t of message m   mutations, then the note: m and the digest through m    one commit of the store, at t
//! end of message m        the note alone                                         one commit, at the end of m
//! opening                 through: what the store has published       seen: the note as of that
//! sync                    the store's log is synced
//! ```
//!
//! A commit and its note are one frame of the store's log, so that a power cut leaves both or neither: what is published and
//! the note always name the same message. A new store begins with the note of a log without messages.
//!
//! A checkpoint of the node syncs the store's log, in a thread of its own, and no more: checkpoint and log of the store together hold what is
//! installed. The store makes checkpoints of its own, which write bodies and shorten the log, by its own limits
//! ([`OpenOptions::checkpoint_after_bytes`](evergraph_storage::open::OpenOptions)): they bound how much an opening replays,
//! and nothing depends on when they are made. So a node may make a checkpoint every few seconds. It costs each partition a frame
//! with the note and a sync, also one that none of the commits since the last checkpoint concerned; without new messages it
//! costs nothing.

use crate::digest::{SeenLog, put_seen, take_seen};
use crate::log_position::LogPosition;
use crate::node::partition_store::{Installed, PartitionStore, PartitionSync};
use crate::planted::{Bug, planted};
use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::note::NoteChange;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::open::OpenStore;
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::store::Store;
use std::sync::Arc;

/// The note that says which log is installed: position:u64, digest:16 bytes.
pub const SEEN_NOTE: &str = "cluster.seen";

/// The store of one partition.
///
/// Concurrency: one thread applies; snapshots are taken and read from any.
pub struct StorePartition<E: DurableEngine> {
    open: Arc<OpenStore<E>>,
    own: OwnGroups,
    installed: Installed,
    /// The note's name, shared by all of its versions.
    note: Arc<str>,
}

impl<E: DurableEngine> StorePartition<E> {
    /// The partition in a store that was just opened, with [`OpenOptions::own_groups`]. A new one gets its first note.
    ///
    /// Nothing else may commit or publish in the store from here on.
    ///
    /// [`OpenOptions::own_groups`]: evergraph_storage::open::OpenOptions::own_groups
    ///
    /// # Errors
    /// `invalid` for the store of a whole graph; `corrupt` if the store does not say which log it has installed, or says
    /// another message than that of its newest commit: no node has written it. Of a new one, those of
    /// [`Store::apply`](evergraph_storage::store::Store::apply).
    pub fn new(open: OpenStore<E>) -> Result<Self> {
        let store = open.store();
        let Some(own) = store.own_groups() else {
            return Err(Error::invalid(
                "the store has a whole graph, and a node keeps one partition in each",
            ));
        };
        let through = store.timeline().published();
        let said = store.snapshot_at(through)?.note(SEEN_NOTE);
        let is_new = through == Timestamp::ZERO && said.is_none();
        let installed = match said {
            Some(said) => Installed { through, seen: read_note(own, &said)? },
            None if is_new => Installed::all(&SeenLog::START),
            None => {
                return Err(strange(
                    own,
                    &format!("it has commits through {through} and no note of their log"),
                ));
            }
        };
        let said = installed.position();
        if LogPosition::of(installed.through) != said {
            return Err(strange(own, &format!("it ends at {through}, and its note says message {said}")));
        }
        let mut partition = Self { open: Arc::new(open), own, installed, note: SEEN_NOTE.into() };
        if is_new {
            partition.commit(installed.through, Vec::new(), &SeenLog::START)?;
        }
        Ok(partition)
    }

    /// Which partition it is.
    #[must_use]
    pub fn own_groups(&self) -> OwnGroups {
        self.own
    }

    /// The store, to look at, to check, to step and to close: in any thread.
    #[must_use]
    pub fn opened(&self) -> &Arc<OpenStore<E>> {
        &self.open
    }

    /// A snapshot that sees the message at `position` and all before it.
    ///
    /// # Errors
    /// `busy` if that is not published here yet; `conflict` if it is older than the horizon: the transaction that reads began
    /// too long ago.
    pub fn snapshot_at(&self, position: LogPosition) -> Result<Snapshot<E>> {
        self.open.store().snapshot_at(position.end())
    }

    /// No snapshot before the end of the message at `oldest` begins any more: what only those could read goes. An older horizon
    /// than the present one changes nothing.
    pub fn set_horizon(&self, oldest: LogPosition) {
        let set = self.open.store().set_horizon(oldest.end());
        set.expect("the store is that of a partition");
    }

    fn commit(&mut self, timestamp: Timestamp, mut mutations: Vec<Mutation>, seen: &SeenLog) -> Result<()> {
        let known = &self.installed.seen;
        if known.position == seen.position && known != seen {
            let (own, position) = (self.own, seen.position);
            return Err(Error::invalid(format!(
                "{own} has installed another log through message {position}"
            )));
        }
        let noted = if planted(Bug::NoteOfMessageBefore) { known } else { seen };
        mutations.push(self.note_of(noted));
        let applied = self.open.store().apply(timestamp, &mutations);
        // If the log could not be written the commit is published all the same, and its note with it.
        if self.open.store().timeline().published() == timestamp {
            self.installed = Installed { through: timestamp, seen: *seen };
        }
        applied
    }

    fn note_of(&self, seen: &SeenLog) -> Mutation {
        let mut bytes = Vec::new();
        put_seen(&mut bytes, seen);
        Mutation::Note(NoteChange { name: Arc::clone(&self.note), bytes: Some(bytes.into()) })
    }
}

impl<E: DurableEngine> PartitionStore for StorePartition<E> {
    type PendingSync = StoreSync<E>;

    fn installed(&self) -> Installed {
        self.installed
    }

    fn has_filled(&self, index: IndexId) -> bool {
        self.open.store().has_filled(index)
    }

    /// After `io` the commit may be installed or not, and nothing follows it: the store is opened again. The others install
    /// nothing.
    fn apply(&mut self, timestamp: Timestamp, mutations: Vec<Mutation>, seen: &SeenLog) -> Result<()> {
        let message = LogPosition::of(timestamp);
        if message != seen.position {
            let said = seen.position;
            return Err(Error::invalid(format!("commit {timestamp} is of message {message}, not of {said}")));
        }
        self.commit(timestamp, mutations, seen)
    }

    fn publish_through(&mut self, seen: &SeenLog) -> Result<()> {
        let all = Installed::all(seen);
        if self.installed == all {
            return Ok(());
        }
        self.commit(all.through, Vec::new(), seen)
    }

    fn begin_sync(&self) -> StoreSync<E> {
        StoreSync { store: self.open.store().clone(), through: self.installed.through }
    }
}

/// Syncs the log of a store.
pub struct StoreSync<E: DurableEngine> {
    store: Store<E>,
    /// As far as this.
    through: Timestamp,
}

impl<E: DurableEngine> PartitionSync for StoreSync<E> {
    fn sync(self) -> Result<()> {
        if planted(Bug::PartitionNotSynced) {
            return Ok(());
        }
        Ok(self.store.log().wait_durable(self.through.0)?)
    }
}

fn read_note(own: OwnGroups, bytes: &[u8]) -> Result<SeenLog> {
    let decode = || -> Decoded<SeenLog> {
        let mut reader = Reader::new(bytes);
        let seen = take_seen(&mut reader)?;
        if !reader.is_empty() {
            return Err(reader.error(format!("the end expected, {} bytes left", reader.remaining())));
        }
        Ok(seen)
    };
    decode().map_err(|error| {
        let (offset, problem) = (error.offset, &error.expected);
        strange(own, &format!("its note {SEEN_NOTE} is wrong at byte {offset}: {problem}"))
    })
}

/// The error of a store whose contents no node has written.
#[cold]
fn strange(own: OwnGroups, problem: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the store of {own} cannot be used: {problem}"))
}
