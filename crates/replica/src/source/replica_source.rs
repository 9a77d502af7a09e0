//! `ReplicaSource`: what following a database needs of it beyond its rows and changes: slots, publications, and what the stream
//! does not say.

use std::any::Any;
use std::fmt;

use evergraph_graph::cancel::CancelFlag;

use crate::lsn::Lsn;
use crate::mapping::server_state::ServerState;
use crate::pgoutput::relation::Oid;
use crate::source::contract::Source;
use crate::source::error::SourceResult;
use crate::source::slot_state::SlotState;
use crate::source::slot_wait::SlotWait;

/// A database whose changes a slot keeps for us.
pub trait ReplicaSource: Source {
    /// Where it is, for people: server, port and database, without a password.
    fn place(&self) -> String;

    /// The same source, with waits of its own, which `cancel` ends.
    fn another(&self, cancel: &CancelFlag) -> Box<dyn ReplicaSource>;

    /// Its settings, and what it allows this role.
    ///
    /// # Errors
    /// [`SourceError`](crate::source::error::SourceError), as of all methods.
    fn server_state(&mut self) -> SourceResult<ServerState>;

    /// What it says of the slot `name`; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be asked.
    fn slot_state(&mut self, name: &str) -> SourceResult<Option<SlotState>>;

    /// Makes the slot `name`, which stays until it is dropped. Waits until all transactions that write now have ended: `waiting`
    /// hears every few seconds which they are, and `cancel` ends the wait.
    ///
    /// # Errors
    /// If there is such a slot (42710), no slot is free (53400), or `wal_level` is not `logical` (55000).
    fn create_slot(
        &mut self,
        name: &str,
        waiting: &dyn Fn(&SlotWait),
        cancel: &CancelFlag,
    ) -> SourceResult<ExportedSlot>;

    /// Drops the slot `name`.
    ///
    /// # Errors
    /// If there is none (42704), or a reader has it (55006).
    fn drop_slot(&mut self, name: &str) -> SourceResult<()>;

    /// Makes a publication of `tables`, given as schema and name, by way of roots of partitions.
    ///
    /// # Errors
    /// If there is one of this name (42710), or the role does not own the tables (42501).
    fn create_publication(&mut self, name: &str, tables: &[(String, String)]) -> SourceResult<()>;

    /// Drops a publication.
    ///
    /// # Errors
    /// If there is none (42704), or it belongs to another role (42501).
    fn drop_publication(&mut self, name: &str) -> SourceResult<()>;

    /// The slots of its database that decode changes, by name: their readers need publications.
    ///
    /// # Errors
    /// If it cannot be asked.
    fn slots_of_database(&mut self) -> SourceResult<Vec<String>>;

    /// Where `timeline` ended, if the source went on from there to the timeline `current`, or to one before it; `None` if
    /// `timeline` is none of its past.
    ///
    /// # Errors
    /// If it cannot be asked.
    fn timeline_end(&mut self, timeline: u32, current: u32) -> SourceResult<Option<Lsn>>;

    /// Those of `columns` of `table` that rows from before the column have a value in, of which the stream said nothing: by a
    /// default, or counted by the server.
    ///
    /// Cost: up to one pass over the table for each that may have got one; if that takes too long, the column counts as one.
    ///
    /// # Errors
    /// If it cannot be asked.
    fn filled_columns(
        &mut self,
        table: Oid,
        columns: &[Box<str>],
        rewrite: TableRewrite,
    ) -> SourceResult<Vec<String>>;

    /// How the partition `partition` came to be one; `None` if it is gone.
    ///
    /// # Errors
    /// If it cannot be asked.
    fn partition_origin(&mut self, partition: Oid) -> SourceResult<Option<PartitionOrigin>>;
}

/// Whether a source may have written the rows of a table anew since somebody looked at its columns, with values in those that are
/// new.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TableRewrite {
    /// It did not: a default that the catalogue keeps may show values in rows from before, and nothing else.
    None,
    /// It may have.
    Possible,
    /// Nobody looked.
    Unknown,
}

/// How a table came to be a partition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PartitionOrigin {
    /// It was made as one, or was empty when its own transaction attached it: all its rows came through the table that it is a
    /// part of.
    Created,
    /// It was attached, with rows of which the stream said nothing.
    Attached,
    /// Nobody can say at present: the table is locked, or its rows may not be read.
    Unknown,
}

/// A slot that was made, and the snapshot of its first position: rows that the stream will not send are in it. The snapshot
/// lives as long as this does.
pub struct ExportedSlot {
    /// Changes that committed after this position are in the stream.
    pub consistent_point: Lsn,
    /// The snapshot's name, for [`CopyRequest`](crate::source::contract::CopyRequest); `None` if any will do.
    pub snapshot: Option<String>,
    /// Keeps the snapshot.
    _keeper: Box<dyn Any + Send>,
}

impl ExportedSlot {
    /// A slot whose snapshot lives as long as `keeper`.
    #[must_use]
    pub fn new(consistent_point: Lsn, snapshot: Option<String>, keeper: impl Any + Send) -> Self {
        Self { consistent_point, snapshot, _keeper: Box::new(keeper) }
    }
}

impl fmt::Debug for ExportedSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExportedSlot")
            .field("consistent_point", &self.consistent_point)
            .finish_non_exhaustive()
    }
}
