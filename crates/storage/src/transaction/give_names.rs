//! Give names: who numbers new labels, edge types and keys: the store's own names, or a log that several stores share.
//!
//! ```text
//! own names    a number; the name is added with the transaction that asked
//! shared log   a number, and the name with it: others know it, whatever becomes of the transaction that asked
//! ```

use evergraph_graph::error::Result;
use evergraph_graph::id::KeyId;
use evergraph_graph::schema_change::SchemaChange;
use std::sync::Arc;

/// A name that a transaction's catalogue doesn't have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameRequest<'a> {
    /// Of a label.
    Label(&'a Arc<str>),
    /// Of an edge type. One that others named since in the other kind keeps its own.
    EdgeType {
        /// The name.
        name: &'a Arc<str>,
        /// Whether at most one edge of the type goes from a vertex to another.
        simple: bool,
    },
    /// Of a property key.
    Key(&'a Arc<str>),
    /// Of the key that holds the meta-properties of `of`.
    MetaKey {
        /// The key that has them.
        of: KeyId,
        /// Its name, for errors.
        name: &'a str,
    },
}

/// A name with its number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GivenName {
    /// Is added by this change, when the transaction commits.
    New(SchemaChange),
    /// Was added by this change already, and stays if the transaction is rolled back.
    Committed(SchemaChange),
}

/// Who gives names numbers.
///
/// # Concurrency
/// Any thread asks at any time, without a lock of the front: it may wait.
pub trait GiveNames {
    /// The number of a name, the same to all who ask.
    ///
    /// # Errors
    /// `invalid` for an empty name, `limit` beyond [`NAMES_MAX`](crate::transaction::names::NAMES_MAX); where a log decides,
    /// those of asking it.
    fn give(&self, name: NameRequest<'_>) -> Result<GivenName>;
}
