//! Stale read: a read of a serialisable transaction that would return something else at its commit.

use crate::engine::{ChangedSince, Key};
use evergraph_graph::index::IndexId;

/// A read that would have another answer now.
#[derive(Debug)]
pub enum StaleRead {
    /// This was changed, or the records that would show it were dropped.
    Changed(Key, ChangedSince),
    /// A value that was looked up was entered, or the changes that would show it were dropped.
    Entered(IndexId, ChangedSince),
    /// Names came that the transaction may have asked for in vain.
    NewNames,
    /// The index that answered was dropped, so that changes are not known any more.
    Dropped(IndexId),
}
