//! The contract of a source: what the replica asks of the database that it follows.

use std::time::Duration;

use evergraph_graph::cancel::CancelFlag;

use crate::lsn::Lsn;
use crate::source::batch::{ChangeBatch, RowBatch};
use crate::source::catalogue::Catalogue;
use crate::source::error::SourceResult;
use crate::source::table_cuts::{CutRules, PageRange, TableCuts};

/// Who a source is: a position means something together with these alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceIdentity {
    /// The system's identifier, given when its cluster was made.
    pub system: String,
    /// The timeline: a promoted standby begins a new one.
    pub timeline: u32,
    /// The database.
    pub database: String,
    /// The end of the log now.
    pub log_end: Lsn,
    /// The server's version, such as 150018.
    pub server_version: u32,
}

/// What is to be copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyRequest {
    /// The schema of the table.
    pub schema: String,
    /// The table; a partitioned one is copied with its partitions.
    pub table: String,
    /// The columns, in the order in which they are wanted.
    pub columns: Vec<String>,
    /// The snapshot that the rows are read in, as [`CreatedSlot`](crate::source::postgres::slot::CreatedSlot) names it;
    /// `None` for a snapshot of its own.
    pub snapshot: Option<String>,
    /// The pages whose rows are wanted.
    pub pages: PageRange,
}

/// Where a stream begins, and what it holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamRequest {
    /// The slot, which keeps the log.
    pub slot: String,
    /// The publications, which say what is in the stream.
    pub publications: Vec<String>,
    /// The first position that is wanted: transactions that committed before it are not sent. A source goes back to its own
    /// confirmed position at most. It is told that everything before is safe here: that must be so.
    pub start: Lsn,
    /// Whether messages of `pg_logical_emit_message` are wanted.
    pub logical_messages: LogicalMessages,
}

/// Whether messages of `pg_logical_emit_message` are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LogicalMessages {
    /// They are left out.
    #[default]
    Skipped,
    /// They are sent.
    Sent,
}

/// A database that is followed.
pub trait Source: Send {
    /// Who it is. Cost: a round trip.
    ///
    /// # Errors
    /// [`SourceError`](crate::source::error::SourceError), as of all methods.
    fn identity(&mut self) -> SourceResult<SourceIdentity>;

    /// Its tables, keys and types now, all in one snapshot. Cost: some queries of its catalogue.
    ///
    /// # Errors
    /// If it cannot be read.
    fn catalogue(&mut self) -> SourceResult<Catalogue>;

    /// Cuts tables that are copied into ranges of pages. A small one stays whole, and so does one that the source cannot cut.
    ///
    /// # Errors
    /// If a table cannot be read.
    fn cut(&mut self, tables: &[CopyRequest], rules: CutRules) -> SourceResult<TableCuts>;

    /// Begins to copy a table, on a connection of its own.
    ///
    /// # Errors
    /// If the table, a column or the snapshot is not there; a source may say so with the first batch.
    fn copy(&mut self, request: &CopyRequest, cancel: &CancelFlag) -> SourceResult<Box<dyn RowStream>>;

    /// Begins a stream of changes, on a connection of its own.
    ///
    /// # Errors
    /// If the slot or a publication is not there (42704), another reader has the slot (55006), or the slot lost its log (55000).
    fn stream(&mut self, request: &StreamRequest) -> SourceResult<Box<dyn ChangeStream>>;
}

/// Rows of a table as they come.
pub trait RowStream: Send {
    /// Replaces the rows of `batch` by the next ones, about [`BATCH_BYTES`](crate::source::batch::BATCH_BYTES); `false`, and no
    /// rows, at the end. Waits for them.
    ///
    /// # Errors
    /// If the copy broke off; what came is then not the table.
    fn next_batch(&mut self, batch: &mut RowBatch) -> SourceResult<bool>;
}

/// Changes as they come.
///
/// # Concurrency
/// The stream lives on while nobody takes its batches: what it holds is limited, and the source hears of it all the same.
pub trait ChangeStream: Send {
    /// Takes the next batch, waiting `time_max` at most; `None` if nothing came.
    ///
    /// # Errors
    /// Once, after everything that came before; the stream is over then.
    fn next_batch(&mut self, time_max: Duration) -> SourceResult<Option<ChangeBatch>>;

    /// Everything before `position` is safe here: the source may forget it, and does not send it again. It is told within a
    /// second. A position before an earlier one is ignored.
    ///
    /// `position` is the end of a commit, or of a keepalive while no transaction is under way; never inside of one.
    fn confirm(&self, position: Lsn);

    /// Ends the stream: the source is told the confirmed position and gives the slot up. Dropping it does the same.
    ///
    /// # Errors
    /// If the source did not answer; its slot is free when it notices that the connection is gone.
    fn stop(self: Box<Self>) -> SourceResult<()>;
}
