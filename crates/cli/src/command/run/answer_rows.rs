//! Answer rows: what a file of an answer has in its rows, and what a format must do to write them.

use crate::command::run::answer::{Amount, Kind};
use crate::command::run::keys::KeyKind;
use evergraph_graph::id::VertexId;
use evergraph_report::vertex_names::VertexName;
use evergraph_terminal::failure::Failure;

/// Which columns a file has, in this order.
#[derive(Clone, Debug)]
pub struct Columns {
    /// `path` and `position`, both from where they begin: 1 and 0.
    pub place: bool,
    /// `label`
    pub label: bool,
    /// `key`
    pub key: KeyKind,
    /// `value`, or what paths have.
    pub values: Vec<(&'static str, Kind)>,
}

impl Columns {
    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        let place = self.place.then_some(["path", "position"]).into_iter().flatten();
        let label = self.label.then_some("label");
        place.chain(label).chain(["key"]).chain(self.values.iter().map(|(name, _)| *name))
    }
}

/// A row, but for what its vertex is called.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The number of its path, and its place there.
    pub place: Option<(u64, u64)>,
    /// Whose row it is.
    pub vertex: VertexId,
    /// What was found: one for each of the last columns, then nothing.
    pub values: [Option<Amount>; 2],
}

/// A file of one format.
pub trait AnswerWriter {
    /// Adds rows and what their vertices are called.
    ///
    /// # Errors
    /// If the file can't be written.
    fn write(&mut self, rows: &[Row], names: &[VertexName]) -> Result<(), Failure>;

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// If the file can't be written.
    fn finish(self) -> Result<(), Failure>;
}
