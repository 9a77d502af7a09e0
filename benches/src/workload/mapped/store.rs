//! Store: what every column of the part `mapped` can do.

use crate::engine::store::Edge;
use crate::plan::Plan;
use crate::workload::mapped::raw_lists::RawLists;
use crate::workload::mapped::{blocked, packed};
use evergraph_graph::error::Result;
use std::path::Path;

/// Which lists a store keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sides {
    /// Those of out-edges.
    Out,
    /// Both.
    Both,
}

/// How a store is made.
#[derive(Clone, Copy, Debug)]
pub struct RawOptions {
    /// Vertices.
    pub vertices: u32,
    /// Edges that will come.
    pub edges: u64,
    /// Lists that are kept.
    pub sides: Sides,
    /// Bytes of a section log; of no meaning to stores without.
    pub log_bytes: u32,
    /// Whether memory that is not persistent will do.
    pub is_emulated: bool,
}

impl RawOptions {
    /// Those for so many edges of the plan's graph, with logs as large as the paper's.
    #[must_use]
    pub fn new(plan: &Plan, edges: usize, sides: Sides) -> Self {
        Self {
            vertices: plan.vertices(),
            edges: edges as u64,
            sides,
            log_bytes: LOG_BYTES,
            is_emulated: plan.mapped.is_emulated,
        }
    }
}

/// Bytes of a log, as in the paper.
const LOG_BYTES: u32 = 2_048;

/// What a store has written back, and what it takes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RawCounts {
    /// Edges, of one side.
    pub edges: u64,
    /// Those of them whose insertion was measured; what was written back and fenced is counted over these.
    pub measured: u64,
    /// Bytes written back since the store was opened.
    pub bytes_written_back: u64,
    /// Fences since then.
    pub fences: u64,
    /// Bytes that it takes now.
    pub bytes: u64,
    /// Records that are in logs now.
    pub logged: u64,
    /// Records that the logs hold.
    pub log_capacity: u64,
    /// Bytes of them.
    pub log_bytes: u64,
}

/// How a store is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It is shut down.
    ShutDown,
    /// It is dropped, as at the end of a process that is killed.
    Dropped,
}

/// A store of raw edges: each is durable when its insertion returns, if the store can be opened again.
pub trait RawStore: Send + Sync {
    /// Inserts edges one by one, in their order.
    ///
    /// # Errors
    /// What the store says.
    fn insert(&self, edges: &[Edge]) -> Result<()>;

    /// Its lists of this moment, which kernels read in place.
    ///
    /// # Errors
    /// `invalid` if it has one side.
    fn lists(&self) -> Result<Box<dyn RawLists>>;

    /// What was written, and what it takes.
    fn counts(&self) -> RawCounts;

    /// Ends it.
    ///
    /// # Errors
    /// What the store says.
    fn end(self: Box<Self>, ending: Ending) -> Result<()>;
}

/// Creates a store in a folder, or opens the one there.
pub type StoreConstructor = fn(&Path, &RawOptions) -> Result<Box<dyn RawStore>>;

/// A column of the tables.
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Makes a store in an empty folder.
    pub create: StoreConstructor,
    /// Opens the store that was left in a folder, so far that its lists can be read; `None` of one that ends with its process.
    pub open: Option<StoreConstructor>,
}

/// All columns, ours that the goals are about first.
pub const COLUMNS: &[Column] = &[packed::COLUMN, blocked::COLUMN];

/// Their names.
pub fn names() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|column| column.name)
}

/// The columns of stores that outlive their process, with what opens them.
pub fn durable() -> impl Iterator<Item = (&'static Column, StoreConstructor)> {
    COLUMNS.iter().filter_map(|column| Some((column, column.open?)))
}
