//! Partition: a store of some groups of a graph, which applies commits that were decided for the whole graph.
//!
//! ```text
//! whoever decides   commit 7, commit 9 ── apply ──────────> W = 9      in order, one at a time
//!                   nothing until 12   ── publish_through ─> W = 12     read at any moment up to here
//!                   oldest S in use    ── set_horizon ─────> merges stay at or below it
//! readers           S                  ── snapshot_at ─────> exactly S
//! ```
//!
//! Vertex ids, timestamps and names are those of the whole graph; timestamps have gaps. Such a store is opened with
//! [`OpenOptions::own_groups`](crate::open::OpenOptions::own_groups): a new database gets them, and its manifest names them;
//! one that is there must have the same. It has the vertices of its groups, the out side of edges that start there, with
//! their properties, and the in side of edges that end there: of an edge between two stores each has a half. Its indexes
//! have what it has.
//!
//! It decides nothing: transactions, loads and requests for indexes are refused. Its log makes it open again near where it was;
//! what a crash takes of the log's end is applied again, by whoever has all commits. So no commit waits for a sync, and
//! durability `Sync` is refused.
//!
//! Source: G-Tran (VLDB 2022) divides a graph so, and commits at each server what several decided. Differs: a shared log
//! decides, and every copy of a partition installs the same.

use crate::engine::Engine;
use crate::snapshot::handle::Snapshot;
use crate::snapshot::session::Session;
use crate::store::Store;
use crate::timeline::clock::OutOfReach;
use crate::transaction::apply::{apply, publish_through};
use crate::transaction::front::LogAccess;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::timestamp::Timestamp;
use std::time::Duration;

impl<E: Engine> Store<E> {
    /// The groups that are here, of a store that has one partition of a graph.
    #[must_use]
    pub fn own_groups(&self) -> Option<OwnGroups> {
        match &self.front().log_access {
            LogAccess::Applies(partition) => Some(partition.own),
            LogAccess::Writes(_) | LogAccess::Reads(_) | LogAccess::Shared(_) => None,
        }
    }

    /// Installs the commit `timestamp`, which was decided elsewhere, and publishes it. Of `mutations` it takes what concerns
    /// its groups; none may do so.
    ///
    /// Nothing is validated, and there is nothing to conflict with. The caller sees to it that
    /// - every commit that concerns these groups is applied, in the order of timestamps, each newer than all that was
    ///   published here; who opens a store goes on behind [`Timeline::published`](crate::timeline::clock::Timeline::published);
    /// - mutations are resolved as those of a log: exact on the state before the commit, and at most one for each vertex and
    ///   edge. An edge's mutation goes to the stores of both ends; to that of the target its properties are nothing;
    /// - notes, if there are some, stand behind them. The store keeps them as of each moment, for
    ///   [`Snapshot::note`]: a commit and what its caller has to remember of it are there together, or neither is.
    ///
    /// An index that the commit makes ready is filled afterwards, in the background, while others are applied: until then
    /// look-ups read all of its label or type, and it counts as one that is being built
    /// ([`IndexState::Building`](evergraph_graph::index::IndexState)). A value that turns out to be there twice in a unique
    /// one makes the store refuse commits, since it is not what was decided.
    ///
    /// Any thread may call it; calls wait for each other. It does overdue merges in the commit's own segments, but waits for no
    /// others, whatever [`OpenOptions::stall_max`](crate::open::OpenOptions::stall_max) says: the thread that applies is mostly
    /// the one that raises the horizon, and merges may be waiting for that. When it returns the commit can be read, and it is in the log's
    /// buffer, perhaps not on disk.
    ///
    /// # Errors
    /// Nothing was installed and the same call may be tried again: `limit` if the log's disk is full, if records outgrew
    /// their budget and merges could not catch up, or if versions of notes did, for both of which the horizon may be too old;
    /// errors of reading.
    ///
    /// Nothing was installed, and trying again does not help: `invalid` for a timestamp that is not newer than what is
    /// published, for the note `owner` and entries of index files, and in a store of a whole graph; `corrupt` if the commit
    /// does not fit what is here, which is then not what was decided before it; `io` if the store failed earlier or is
    /// closed.
    ///
    /// `io` if the log could not be written: the commit is published, nothing follows it, and the store must be opened again,
    /// with or without it.
    pub fn apply(&self, timestamp: Timestamp, mutations: &[Mutation]) -> Result<()> {
        apply(self.front(), timestamp, mutations, Duration::ZERO, || self.random_u64())
    }

    /// Publishes `timestamp` without a commit: every commit up to there that concerns this store has been applied, so that
    /// a snapshot may begin at it. Nothing happens if that is published already.
    ///
    /// Cost: a frame of the log without content. Worth it when somebody reads there, not for each message of a shared log.
    /// With a note it is a commit of nothing else: [`Store::apply`].
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn publish_through(&self, timestamp: Timestamp) -> Result<()> {
        publish_through(self.front(), timestamp)
    }

    /// Lets go of what only snapshots older than `horizon` could read: none begins there any more. Those that are open stay
    /// as they are. An older horizon than the present one changes nothing; one that is not published yet counts as R until
    /// it is.
    ///
    /// After opening the horizon is what is published then. Merges and checkpoints go up to the horizon: whoever never
    /// raises it has all later changes in memory, and in the log. So it is with notes: about 200 bytes for each commit that
    /// changes a short one, up to 256 MiB.
    ///
    /// Cost: a lock, and a change of a map for each version of a note that goes.
    ///
    /// # Errors
    /// `invalid` in a store of a whole graph: its snapshots begin at R.
    pub fn set_horizon(&self, horizon: Timestamp) -> Result<()> {
        self.front().partition()?;
        self.timeline().raise_horizon(horizon);
        drop(self.front().notes.fold(self.timeline()));
        self.engine().snapshot_ended();
        Ok(())
    }

    /// Goes on filling the indexes that commits have created, as long as `goes_on` says so, which is asked before each vertex
    /// group. Whether some are left.
    ///
    /// # Errors
    /// `corrupt` if a value of a unique index is there twice; errors of reading.
    pub(crate) fn fill_indexes(&self, goes_on: &mut dyn FnMut() -> bool) -> Result<bool> {
        let front = self.front();
        let catalogue = front.catalogue.load_full();
        front.fills.fill(&front.engine, &front.timeline, &front.indexes, &catalogue, goes_on)
    }

    /// Whether a commit has created the index, and it is filled with what was there before. Cost: a look at it.
    #[must_use]
    pub fn has_filled(&self, index: IndexId) -> bool {
        let indexes = self.front().indexes.load();
        indexes.get::<VertexId>(index).is_some_and(|index| index.is_ready())
            || indexes.get::<EdgeId>(index).is_some_and(|index| index.is_ready())
    }

    /// A snapshot at exactly `timestamp`, which need not be that of a commit.
    ///
    /// # Errors
    /// `busy` if it is not published here yet: ask again once it is. `conflict` if it is older than the horizon: the
    /// transaction that reads began too long ago. `invalid` in a store of a whole graph.
    pub fn snapshot_at(&self, timestamp: Timestamp) -> Result<Snapshot<E>> {
        self.front().partition()?;
        let session = Session::begin_exactly(self.front(), timestamp);
        session.map(Snapshot::of).map_err(|out| out_of_reach(timestamp, out))
    }
}

#[cold]
fn out_of_reach(timestamp: Timestamp, out: OutOfReach) -> Error {
    match out {
        OutOfReach::NotYet(newest) => Error::new(
            ErrorKind::Busy,
            format!("{timestamp} is not published here yet, only {newest}: read again in a moment"),
        ),
        OutOfReach::Gone(oldest) => Error::conflict(format!(
            "the transaction began too long ago: it reads at {timestamp}, and the oldest state that is kept here is that \
             of {oldest}; run it again"
        )),
    }
}
