//! Handle records: the records of one source, of whichever kind it is, as a reader sees them.
//!
//! ```text
//! SourceHandle ── Generation, Graph(Arc) ──── at(S) ──> VisibleRecords ┐
//!              ├─ File(Arc<CsrFile>) ─────── at(S) ──> FileRecords ───┼──> HandleRecords, a RecordSource
//!              └─ Level(Arc<Level>) ──────── at(S) ──> LevelRecords ──┤
//! Pin ── lends its files and levels, and counts graphs (view_sources) ─┘
//! ```

use crate::format::entries::visible_entry::VisibleEntry;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::generation::GenerationSource;
use crate::memory_graph::graph::MemoryGraph;
use crate::memory_graph::visible::VisibleRecords;
use crate::source::{EntriesSize, ListedItem, PropertyAnswer, PropertyMap, RecordSource};
use crate::tree_state::SourceHandle;
use crate::view::level_records::LevelRecords;
use crate::view::read_source::ReadSource;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::index::entry_range::EntryRange;
use evergraph_storage::view::GroupBits;
use std::sync::Arc;

impl<F: ReadSource> ReadSource for SourceHandle<F> {
    type Records<'l>
        = HandleRecords<'l, F>
    where
        F: 'l;

    #[inline]
    fn at(&self, timestamp: Timestamp) -> Self::Records<'_> {
        match self {
            Self::Graph(graph) => HandleRecords::Graph(MemoryGraph::at(graph, timestamp)),
            Self::Generation(generation) => match generation.source() {
                GenerationSource::Graph(graph) => HandleRecords::HeldGraph(graph, timestamp),
                GenerationSource::File(file) => HandleRecords::File(file.at(timestamp)),
            },
            Self::File(file) => HandleRecords::File(file.at(timestamp)),
            Self::Level(level) => HandleRecords::Level(LevelRecords::new(level, timestamp)),
        }
    }
}

/// The records of a [`SourceHandle`].
pub enum HandleRecords<'l, F: ReadSource + 'l> {
    /// Of a memory graph.
    Graph(VisibleRecords<'l>),
    /// Of a memory graph that is held here, until a timestamp.
    HeldGraph(Arc<MemoryGraph>, Timestamp),
    /// Of a file.
    File(F::Records<'l>),
    /// Of a level below L0.
    Level(LevelRecords<'l, F>),
}

/// One match a call: what comes out of it is a graph's, a file's or a level's own code.
macro_rules! delegate {
    ($records:expr, $method:ident ( $($argument:expr),* )) => {
        match $records {
            HandleRecords::Graph(records) => RecordSource::$method(records, $($argument),*),
            HandleRecords::HeldGraph(graph, until) => RecordSource::$method(&graph.at(*until), $($argument),*),
            HandleRecords::File(records) => RecordSource::$method(records, $($argument),*),
            HandleRecords::Level(records) => RecordSource::$method(records, $($argument),*),
        }
    };
}

impl<F: ReadSource> RecordSource for HandleRecords<'_, F> {
    #[inline]
    fn presence(&self, items: &[(ListId, ItemKey)], found: &mut [Option<bool>]) -> Result<()> {
        delegate!(self, presence(items, found))
    }

    #[inline]
    fn property(
        &self,
        items: &[(ListId, ItemKey)],
        key: KeyId,
        answers: &mut [PropertyAnswer],
    ) -> Result<()> {
        delegate!(self, property(items, key, answers))
    }

    #[inline]
    fn property_map(&self, list: ListId, item: ItemKey, map: &mut PropertyMap) -> Result<()> {
        delegate!(self, property_map(list, item, map))
    }

    #[inline]
    fn list(
        &self,
        list: ListId,
        after: Option<ItemKey>,
        limit: usize,
        items: &mut Vec<ListedItem>,
    ) -> Result<bool> {
        delegate!(self, list(list, after, limit, items))
    }

    #[inline]
    fn between(&self, list: ListId, neighbor: VertexId, items: &mut Vec<ListedItem>) -> Result<()> {
        delegate!(self, between(list, neighbor, items))
    }

    #[inline]
    fn between_each(&self, pairs: &[(ListId, VertexId)], items: &mut Vec<(usize, ListedItem)>) -> Result<()> {
        delegate!(self, between_each(pairs, items))
    }

    #[inline]
    fn read_ahead(&self, lists: &[ListId]) {
        delegate!(self, read_ahead(lists));
    }

    #[inline]
    fn differences(&self, lists: &[ListId], differences: &mut [i64]) -> Result<()> {
        delegate!(self, differences(lists, differences))
    }

    #[inline]
    fn group_difference(&self, subject: Subject, group: GroupId) -> Result<i64> {
        delegate!(self, group_difference(subject, group))
    }

    #[inline]
    fn apply_live(&self, group: GroupId, live: &mut GroupBits) -> Result<()> {
        delegate!(self, apply_live(group, live))
    }

    #[inline]
    fn mark_rows(&self, subject: Subject, group: GroupId, rows: &mut GroupBits) -> Result<()> {
        delegate!(self, mark_rows(subject, group, rows))
    }

    fn index_size(&self, index: Subject) -> EntriesSize {
        delegate!(self, index_size(index))
    }

    #[inline]
    fn index_entries(
        &self,
        index: Subject,
        range: &EntryRange<'_>,
        count_max: usize,
        entries: &mut Vec<VisibleEntry>,
    ) -> Result<()> {
        delegate!(self, index_entries(index, range, count_max, entries))
    }
}
