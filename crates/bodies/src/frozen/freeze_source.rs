//! Freeze source: segments and the records on top of them, as freezing reads them of any engine.

use crate::edge_body::EdgeBody;
use crate::frozen::stored_lists::StoredLists;
use crate::net::Net;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, GroupId, KeyId, LabelId, TypeId};
use evergraph_storage::record::RecordKey;
use evergraph_storage::view::GroupBits;
use std::sync::Arc;

/// Segments as one snapshot sees them.
///
/// # Errors
/// `corrupt` where they lie in files or are shared with other processes.
pub trait FreezeSource: Sync {
    /// Their lists.
    type Lists: StoredLists;

    /// One more than the highest group.
    fn group_count(&self) -> u32;

    /// The label of a group, if it is there.
    fn label(&self, group: GroupId) -> Result<Option<LabelId>>;

    /// The rows of a group that are alive.
    fn live(&self, group: GroupId) -> Result<GroupBits>;

    /// Calls `freeze` with each segment of `group` on `side` whose type is `wanted`, and with its hubs behind it.
    fn for_each_segment(
        &self,
        group: GroupId,
        side: Direction,
        wanted: &dyn Fn(TypeId) -> bool,
        freeze: &mut FreezeVisitor<'_, Self::Lists>,
    ) -> Result<()>;
}

/// What is called with the type of each segment, and with the segment.
pub type FreezeVisitor<'a, L> = dyn FnMut(TypeId, &dyn FreezeSegment<Lists = L>) -> Result<()> + 'a;

/// A segment of edges as one snapshot sees it: lists, and records on top of them.
///
/// # Errors
/// As those of [`FreezeSource`].
pub trait FreezeSegment {
    /// Its lists.
    type Lists: StoredLists;

    /// The lists below the records, whose neighbours all lie in groups.
    fn lists(&self) -> Result<Self::Lists>;

    /// What the records do to the lists, by keys alone.
    fn changes(&self) -> Result<ListChanges>;

    /// The error if the lists cannot have changed so, which says why.
    fn inexact(&self, problem: String) -> Error;

    /// Calls `read` with what the records come to, by key.
    fn with_nets(&self, read: &mut dyn FnMut(&[Net]) -> Result<()>) -> Result<()>;

    /// The lists as a body on the heap, with the properties `keys` at least.
    fn body(&self, keys: &[KeyId]) -> Result<Arc<EdgeBody>>;
}

/// What records do to lists, by keys, which ascend.
#[derive(Debug)]
pub enum ListChanges {
    /// They only add these.
    Inserted(Vec<RecordKey>),
    /// By how many edges each changes them.
    Differences(Vec<(RecordKey, i64)>),
}
