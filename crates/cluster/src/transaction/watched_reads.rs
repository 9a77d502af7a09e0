//! Watched reads: what a serialisable transaction reads of a view, look-ups included, which a view is asked for by a reader that
//! notes none.

use crate::key_hash::graph_salt::GraphSalt;
use crate::transaction::look_up_hashes::LookUpHashes;
use evergraph_graph::id::{Direction, GroupId, TypeId};
use evergraph_graph::index::IndexId;
use evergraph_graph::value::Value;
use evergraph_storage::engine::Key;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::index::index_item::IndexItem;
use evergraph_storage::transaction::look_ups::NoteLookUps as _;
use evergraph_storage::transaction::reads::{NoteReads, Reads};

/// What one transaction has read.
///
/// # Concurrency
///
/// Any thread notes; each part has a lock of its own, inside which nothing else is locked.
#[derive(Debug)]
pub struct WatchedReads {
    reads: Reads,
    look_ups: LookUpHashes,
}

impl WatchedReads {
    /// Nothing yet, of the graph of `salt`.
    #[must_use]
    pub fn new(salt: GraphSalt) -> Self {
        Self { reads: Reads::default(), look_ups: LookUpHashes::new(salt) }
    }

    /// A name was looked for that nothing has.
    pub fn note_names(&self) {
        self.reads.note_names();
    }

    /// What its record checks.
    pub(super) fn parts(&self) -> (&Reads, &LookUpHashes) {
        (&self.reads, &self.look_ups)
    }
}

impl NoteReads for WatchedReads {
    fn note(&self, key: Key) {
        self.reads.note(key);
    }

    fn note_edge_types(&self, group: GroupId, side: Direction, types: &[TypeId]) {
        self.reads.note_edge_types(group, side, types);
    }

    fn note_groups(&self, count: u32) {
        self.reads.note_groups(count);
    }

    fn note_value(&self, index: IndexId, value: &Value) {
        self.look_ups.note_value(index, value);
    }

    /// A scan asks page by page, each from the last entry of the page before to the same end: together they are one range.
    fn note_between<I: IndexItem>(
        &self,
        index: IndexId,
        (after, until): (&EntryBound<I>, &EntryBound<I>),
        descending: bool,
    ) {
        let (low, high) = if descending { (until, after) } else { (after, until) };
        self.look_ups.note_range(index, low.as_lower(), high.as_upper());
    }
}
