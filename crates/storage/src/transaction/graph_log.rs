//! Graph log: who decides commits, and gives names and vertex ids, of a graph whose partitions lie elsewhere.
//!
//! ```text
//! begin    pin ── GraphLog                  the pin of the snapshot: all that is decided rests on its moment, S
//! write    give ─> names      take_id ─> vertex ids      taken_discriminators ─> names of parallel edges
//! commit   writes, schema, reads ──> commit ─> timestamp     nobody knows ─> settle ─> timestamp, or never
//! ```
//!
//! A store with such a log has no latch of its own to take: it validates nothing, and installs nothing. Everything ahead of
//! that is as in a store of a whole graph: own writes, types of properties, unique values at S, and notes of what is read.
//!
//! Source: G-Tran (VLDB 2022), whose coordinators read and buffer as here. Differs: a shared log decides, and gives names and ids
//! ahead of the commit that uses them.

use crate::transaction::build_indexes::BuildIndexes;
use crate::transaction::deadline::Deadline;
use crate::transaction::give_names::GiveNames;
use crate::transaction::look_ups::NoteLookUps;
use crate::transaction::reads::Reads;
use crate::transaction::schema_writes::SchemaWrites;
use crate::transaction::writes::Writes;
use evergraph_graph::error::Result;
use evergraph_graph::id::{KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::owner::Owner;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Committed;
use evergraph_graph::unknown_commit::UnknownCommit;
use std::sync::Arc;

/// The log of one transaction or snapshot, at its moment S. What the engine pins implements it: see
/// [`LogAccess::Shared`](crate::transaction::front::LogAccess::Shared).
///
/// # Concurrency
/// Any thread, without a lock of the front; any method may wait.
pub trait GraphLog: GiveNames + Send + Sync {
    /// Ends all waits for the transaction that this is for, those of its reads included, at its deadline. Called once, first. By
    /// default they end by themselves.
    fn end_with(&self, deadline: &Deadline) {
        let _ = deadline;
    }

    /// An id that no vertex has or ever had, for one of `label` with `properties`. It is given to others when the pin is dropped,
    /// unless a commit used it or may have.
    ///
    /// # Errors
    /// `limit` if there are none left; those of asking the log.
    fn take_id(&self, label: LabelId, properties: &Properties) -> Result<VertexId>;

    /// As [`Engine::taken_discriminators`](crate::engine::Engine::taken_discriminators), as of S: that nobody adds an edge of the
    /// same name meanwhile is checked by the commit, which conflicts then.
    ///
    /// # Errors
    /// As a [`View`](crate::view::View).
    fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) -> Result<()>;

    /// Where a serialisable transaction notes its look-ups, which the commit gets back in its reads. Called once, before it reads.
    fn look_ups(&self) -> Arc<dyn NoteLookUps>;

    /// Whether items of `owner` must not share a value of `key`, though no index of the catalogue is unique: at S one is being made
    /// so ([`BuildIndexes::enforce`]).
    fn is_made_unique(&self, owner: Owner, key: KeyId) -> bool {
        let _ = (owner, key);
        false
    }

    /// Builds indexes, if this log can.
    fn index_builds(&self) -> Option<&dyn BuildIndexes> {
        None
    }

    /// Commits, once. When it returns, whoever begins here afterwards sees the commit.
    ///
    /// # Errors
    /// `conflict`: nothing was written, and the transaction may be run again. `unknown`: nobody knows yet. Others, of reading and
    /// of asking the log: nothing was written.
    fn commit(&self, commit: SharedCommit<'_>) -> Result<Committed>;

    /// Sees to it that a transaction of any store has committed or never will: its timestamp if it has. It rests on no moment.
    ///
    /// # Errors
    /// `conflict` if it did not commit, and never will; `unknown` if that is still not known; `invalid` if it names none.
    fn settle(&self, unknown: UnknownCommit) -> Result<Timestamp>;
}

/// What a transaction commits. It has written something.
#[derive(Debug)]
pub struct SharedCommit<'a> {
    /// What it wrote to vertices and edges.
    pub writes: &'a Writes,
    /// Types of properties, indexes, and the catalogue with them. Names are the log's already.
    pub schema: &'a mut SchemaWrites,
    /// What it read, if it is serialisable.
    pub reads: Option<&'a Reads>,
}
