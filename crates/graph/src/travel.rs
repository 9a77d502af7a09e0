//! Travel: a query runs in stages where the vertices lie, and its rows go from node to node.
//!
//! ```text
//! query ── program, first rows ──> Travels ──> node   StagePrograms ── begin ──> StageRunner
//!                                               │          rows of stage 0 ──> take, end ──> rows of stage 1, by place
//!                                               └── rows ──> other nodes ──> take, end ──> ...
//! query <── results of the last stage ── TravelRun
//! ```
//!
//! Whoever keeps a graph on several nodes moves bytes and knows nothing of queries; whoever makes programs knows nothing of
//! nodes. Both know this file, and [`stage_programs`](crate::stage_programs). A *place* is the number of a node in one query: each partition is read at one place from the
//! beginning to the end, so that all agree where a row goes.

use crate::error::{ErrorKind, Result};
use crate::id::{PartitionId, VertexId};
use crate::partition::PartitionCount;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Rows of a message, at most.
pub const MESSAGE_ROWS_MAX: usize = 1 << 16;
/// Bytes of rows from which on a message takes no more.
pub const MESSAGE_BYTES: usize = 1 << 20;
/// Stages of a program, at most.
pub const STAGES_MAX: u16 = 64;
/// Bytes of a program, at most.
pub const PROGRAM_BYTES_MAX: usize = 1 << 20;

/// Which place reads a partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routes {
    /// How many places there are.
    places: u16,
    /// The place of each partition.
    of_partition: Vec<u16>,
    partitions: PartitionCount,
}

impl Routes {
    /// Of each partition in order; `None` if there are not as many as the graph has, or a place is none of `places`.
    #[must_use]
    pub fn new(partitions: PartitionCount, places: u16, of_partition: Vec<u16>) -> Option<Self> {
        let fits = of_partition.len() == usize::from(partitions.get())
            && of_partition.iter().all(|place| *place < places);
        fits.then_some(Self { places, of_partition, partitions })
    }

    /// How many places there are.
    #[must_use]
    pub fn places(&self) -> u16 {
        self.places
    }

    /// How many partitions the graph has.
    #[must_use]
    pub fn partitions(&self) -> PartitionCount {
        self.partitions
    }

    /// Where a vertex is read, whether it exists or not.
    #[must_use]
    #[inline]
    pub fn place_of(&self, vertex: VertexId) -> u16 {
        self.of_partition[usize::from(self.partitions.of_group(vertex.group()).0)]
    }

    /// The place of each partition, in order.
    #[must_use]
    pub fn of_partitions(&self) -> &[u16] {
        &self.of_partition
    }

    /// The partitions that a place reads.
    pub fn partitions_of(&self, place: u16) -> impl Iterator<Item = PartitionId> {
        let of = self.of_partition.iter().zip(0..).filter(move |(at, _)| **at == place);
        of.map(|(_, partition)| PartitionId(partition))
    }
}

/// Where rows go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowsTarget {
    /// To a place, for the next stage.
    Place(u16),
    /// To whoever asked, as results.
    Asker,
}

/// Rows in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EncodedRows {
    /// How many: at most [`MESSAGE_ROWS_MAX`].
    pub count: u32,
    /// Their form is that of the program.
    pub bytes: Vec<u8>,
}

/// Takes what a stage makes.
pub trait RowsOutput {
    /// Some rows go on. Does not wait.
    ///
    /// # Errors
    /// `limit` if more would be kept than the query may have; `cancelled` if it has ended.
    fn put(&mut self, to: RowsTarget, rows: EncodedRows) -> Result<()>;
}

/// What a program begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TravelStart {
    /// The first stage begins everywhere, without rows.
    Everywhere,
    /// With rows that the asker sends.
    Rows,
}

/// A program to be run.
#[derive(Clone, Debug)]
pub struct TravelProgram {
    /// As [`StagePrograms::begin`](crate::stage_programs::StagePrograms::begin) takes it.
    pub bytes: Vec<u8>,
    /// How many stages it has: 1 to [`STAGES_MAX`].
    pub stages: u16,
    /// What it begins with.
    pub start: TravelStart,
    /// Bytes that it may hold at each place.
    pub memory_bytes: u64,
    /// How long it may take.
    pub time: Duration,
}

/// What one stage did at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StageMeasure {
    /// Rows that it took.
    pub rows: u64,
    /// Edges of adjacency lists that it read there. Degrees and properties read none.
    pub edges: u64,
    /// Rows that went on from it to other nodes.
    pub sent_rows: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Messages with them.
    pub sent_messages: u64,
    /// How long it ran.
    pub time: Duration,
}

/// What a place did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlaceMeasures {
    /// The node, as people know it.
    pub node: u16,
    /// By stage.
    pub stages: Vec<StageMeasure>,
}

/// A node that ran a part of a program says nothing any more, or has started again: the cause of an error of a [`TravelRun`] that a second
/// run may not meet, since other nodes are chosen for what this one read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostNode {
    /// The node, as people know it.
    pub node: u16,
}

impl fmt::Display for LostNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} is lost", self.node)
    }
}

impl StdError for LostNode {}

/// Whether a run that fails by an error of this kind fails by a node that cannot go on, so that another way of reading may succeed. Any
/// other error is that of the program.
#[must_use]
pub fn is_of_node(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Busy | ErrorKind::Conflict | ErrorKind::Io | ErrorKind::Corrupt)
}

/// A program that runs. Dropped, it ends everywhere.
///
/// Its methods wait no longer than the limit of the thread lasts ([`crate::wait_limit`]).
pub trait TravelRun: Send {
    /// Where rows are read.
    fn routes(&self) -> Arc<Routes>;

    /// Sends rows to the first stage at a place.
    ///
    /// # Errors
    /// What the run has failed by.
    fn send(&mut self, place: u16, rows: EncodedRows) -> Result<()>;

    /// No more rows follow.
    ///
    /// # Errors
    /// What the run has failed by.
    fn end_rows(&mut self) -> Result<()>;

    /// The next results; `None` if all have come.
    ///
    /// # Errors
    /// What the run has failed by, anywhere: an error of a node ([`is_of_node`]), whose cause is a [`LostNode`] if a second run may
    /// succeed; any other error is that of the program. `cancelled` if the limit of the thread has ended.
    fn next(&mut self) -> Result<Option<Vec<u8>>>;

    /// What each place did, once all results have come.
    fn measures(&mut self) -> Vec<PlaceMeasures>;
}

/// A graph on several nodes, at one moment, which runs programs where its vertices lie.
pub trait Travels: Send + Sync {
    /// Begins to run a program.
    ///
    /// # Errors
    /// `busy` if too many run, or a partition is read nowhere; `invalid` for a program past the limits; `cancelled`.
    fn begin(&self, program: TravelProgram) -> Result<Box<dyn TravelRun>>;
}
