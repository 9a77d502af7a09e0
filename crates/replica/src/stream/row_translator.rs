//! `RowTranslator`: what turns rows into changes of a graph, as the pipeline sees it.

use std::fmt::Debug;

use crate::pgoutput::message::Message;
use crate::pgoutput::relation::Relation;

/// Translates rows by the tables that were described before them. A clone is cheap, and keeps what was described so far.
pub trait RowTranslator: Clone + Debug + Send + Sync + 'static {
    /// Changes of many rows, in order.
    type Changes: Debug + Default + Send + 'static;
    /// Why a description does not allow to go on.
    type Drift: Debug + Send + 'static;
    /// Why a row does not allow to go on.
    type Halt: Debug + Send + 'static;

    /// From here on rows of this table mean what `relation` says. Called in the order of the stream.
    ///
    /// # Errors
    /// The table changed in a way that the rules do not allow.
    fn describe(&mut self, relation: &Relation) -> Result<(), Self::Drift>;

    /// Appends to `out` what an Insert, Update, Delete or Truncate changes.
    ///
    /// # Errors
    /// The rules do not allow the row.
    fn translate(&self, message: &Message<'_>, out: &mut Self::Changes) -> Result<(), Self::Halt>;

    /// No changes, with room for those of so many messages.
    #[must_use]
    fn room(messages: usize) -> Self::Changes;

    /// Bytes of memory that `changes` take.
    fn heap_bytes(changes: &Self::Changes) -> usize;
}
