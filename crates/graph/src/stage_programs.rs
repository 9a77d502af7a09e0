//! Stage programs: what runs the stages of a query at one place, for whoever keeps the graph there and knows nothing of queries.
//!
//! Which rows come, and where they go: see [`travel`](crate::travel).

use crate::budget::Budget;
use crate::cancel::CancelFlag;
use crate::error::Result;
use crate::travel::{Routes, RowsOutput};
use crate::view::GraphView;
use std::sync::Arc;
use std::time::Duration;

/// What a stage runs with.
pub struct StageContext<'a> {
    /// The graph: the partitions of this place, and no others.
    pub view: &'a dyn GraphView,
    /// The number of this place.
    pub place: u16,
    /// How many groups of vertices the graph has, at all places: no row is at a vertex of another one.
    pub groups: u32,
    /// Where rows go next.
    pub routes: &'a Routes,
    /// What takes them.
    pub out: &'a mut dyn RowsOutput,
}

/// Limits of a program at one place.
#[derive(Clone)]
pub struct StageLimits {
    /// Bytes that it may hold at once.
    pub memory_bytes: u64,
    /// From now on.
    pub time: Duration,
    /// Set when it has ended.
    pub cancel: CancelFlag,
    /// What its memory comes from.
    pub budget: Arc<dyn Budget>,
}

/// Makes runners of programs. Any thread calls it.
pub trait StagePrograms: Send + Sync {
    /// A runner of `program`.
    ///
    /// # Errors
    /// `busy` if that is none, or of another version: whoever asked reads in another way.
    fn begin(&self, program: &[u8], limits: StageLimits) -> Result<Box<dyn StageRunner>>;
}

/// How far a runner has come with what it was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StageProgress {
    /// It is through.
    Done,
    /// It has done a part, so that its thread may serve other queries: [`StageRunner::go_on`] does the next one.
    Paused,
}

/// A program at one place.
///
/// Rows of a stage come in any order, also before a stage before it has ended. Each stage ends once, after the one before it and
/// after its last rows. A runner that has paused goes on before it is given anything else.
pub trait StageRunner: Send {
    /// How many stages the program has.
    fn stages(&self) -> u16;

    /// Takes rows of a stage.
    ///
    /// # Errors
    /// `invalid` if they are none; errors of the stage; `limit`, `cancelled`.
    fn take(&mut self, stage: u16, rows: &[u8], context: &mut StageContext<'_>) -> Result<StageProgress>;

    /// All rows of a stage have come.
    ///
    /// # Errors
    /// As [`StageRunner::take`].
    fn end(&mut self, stage: u16, context: &mut StageContext<'_>) -> Result<StageProgress>;

    /// Goes on where it has paused.
    ///
    /// # Errors
    /// As [`StageRunner::take`]; `invalid` if it has not paused.
    fn go_on(&mut self, context: &mut StageContext<'_>) -> Result<StageProgress>;
}
