//! Index reads: the entries of an index that lies in files, as storage's reads of order bytes ask for them.
//!
//! Source: disk-engine, section 7.

use crate::format::subject::Subject;
use crate::source::RecordSource;
use crate::view::disk_view::DiskView;
use crate::view::entry_walk::EntryWalk as SourceWalk;
use crate::view::read_source::ReadSources;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::KeyId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::value::Value;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::index::entry_range::{EntryOrder, EntryRange};
use evergraph_storage::index::entry_reads::{EntryWalk, IndexEntries, items_of_value, pairs_between};
use evergraph_storage::index::index_item::IndexItem;
use evergraph_storage::view::{IndexAnswer, View};
use std::fmt::Display;
use std::sync::Arc;

/// The entries of one index.
struct DiskEntries<'v, 'a, L: ReadSources> {
    view: &'v DiskView<'a, L>,
    /// The key that the entries are stored under.
    index: Subject,
    /// The indexed property.
    key: KeyId,
}

impl<L: ReadSources> DiskView<'_, L> {
    /// As [`View::candidates`], of the index of a property whose entries are stored under a subject.
    pub(super) fn items_of_value<I: IndexItem>(
        &self,
        (index, key): (Subject, KeyId),
        value: &Value,
        after: Option<I>,
        limit: usize,
        items: &mut Vec<I>,
    ) -> Result<IndexAnswer> {
        items_of_value(&DiskEntries { view: self, index, key }, value, after, limit, items)
    }

    /// As [`View::between`], of the index of a property whose entries are stored under a subject.
    pub(super) fn pairs_between<I: IndexItem>(
        &self,
        (index, key): (Subject, KeyId),
        places: (&EntryBound<I>, &EntryBound<I>),
        order: EntryOrder,
        limit: usize,
        pairs: &mut Vec<(Value, I)>,
    ) -> Result<IndexAnswer> {
        pairs_between(&DiskEntries { view: self, index, key }, places, order, limit, pairs)
    }
}

impl<R: RecordSource> EntryWalk for SourceWalk<'_, R> {
    fn next_pair(&mut self) -> Result<Option<(Arc<[u8]>, ItemId)>> {
        SourceWalk::next_pair(self)
    }
}

impl<L: ReadSources> IndexEntries for DiskEntries<'_, '_, L> {
    fn walk<'s>(&'s self, range: EntryRange<'s>, count: usize) -> Result<Box<dyn EntryWalk + 's>> {
        Ok(Box::new(self.view.records().walk_entries(self.index, range, count)?))
    }

    fn property(&self, item: ItemId) -> Result<Option<Value>> {
        match item {
            ItemId::Vertex(vertex) => self.view.vertex_property(vertex, self.key),
            ItemId::Edge(edge) => self.view.edge_property(edge, self.key),
        }
    }

    fn damaged(&self, problem: &dyn Display) -> Error {
        Error::new(ErrorKind::Corrupt, format!("{} has {problem}", self.index))
    }
}
