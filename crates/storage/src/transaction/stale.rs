//! Stale read: a read of a serialisable transaction that would return something else at its commit.

use crate::engine::{Key, Newer};
use evergraph_graph::index::IndexId;

/// A read that would have another answer now.
#[derive(Debug)]
pub enum Stale {
    /// Somebody changed this, or the records that would tell are gone.
    Changed(Key, Newer),
    /// Somebody entered what was looked up, or the changes that would tell are gone.
    Entered(IndexId, Newer),
    /// Names came that the transaction may have asked for in vain.
    NewNames,
    /// The index that answered was dropped: nobody tells it of changes any more.
    Dropped(IndexId),
}
