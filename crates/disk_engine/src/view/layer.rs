//! Layer: something with records that a reader holds, and that becomes a source of them at its timestamp.
//!
//! ```text
//! SourceHandle ── Graph(Arc<MemoryGraph>) ── at(S) ──> VisibleRecords ┐
//!              ├─ File(Arc<CsrFile>) ─────── at(S) ──> FileRecords ───┼──> HandleRecords, a RecordSource
//!              └─ Level(Arc<Level>) ──────── at(S) ──> LevelRecords ──┤
//! Pin ── lends its files and levels, and counts graphs alone ─────────┘
//! ```
//!
//! A view is made for each question, so it allocates nothing and counts no file: it asks its [`Layers`] for their
//! sources, which come out of the pin as they lie there.

use crate::file::csr_file::CsrFile;
use crate::file::file_records::FileRecords;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::generation::GenerationSource;
use crate::memory_graph::graph::MemoryGraph;
use crate::memory_graph::visible::VisibleRecords;
use crate::source::{ListedItem, PropertyAnswer, PropertyMap, RecordSource};
use crate::tree::{Pin, SourceHandle};
use crate::view::level_records::LevelRecords;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::view::GroupBits;
use std::sync::Arc;

/// A memory graph or a file, held for as long as it is read.
pub trait Layer: Send + Sync {
    /// Its records as of one timestamp.
    type Records<'l>: RecordSource
    where
        Self: 'l;

    /// The records until `timestamp`. Cost: a few loads; nothing is read.
    fn at(&self, timestamp: Timestamp) -> Self::Records<'_>;
}

/// All layers that a reader asks.
pub trait Layers: Send + Sync {
    /// The records of one of them, as of one timestamp.
    type Records<'l>: RecordSource
    where
        Self: 'l;

    /// The records until `timestamp` of each layer, newest first. Cost: a few loads a layer; nothing is read.
    fn sources(&self, timestamp: Timestamp) -> impl DoubleEndedIterator<Item = Self::Records<'_>>;
}

impl<L: Layer> Layers for [L] {
    type Records<'l>
        = L::Records<'l>
    where
        L: 'l;

    #[inline]
    fn sources(&self, timestamp: Timestamp) -> impl DoubleEndedIterator<Item = L::Records<'_>> {
        self.iter().map(move |layer| layer.at(timestamp))
    }
}

impl<L: Layer> Layers for Vec<L> {
    type Records<'l>
        = L::Records<'l>
    where
        L: 'l;

    #[inline]
    fn sources(&self, timestamp: Timestamp) -> impl DoubleEndedIterator<Item = L::Records<'_>> {
        self.as_slice().sources(timestamp)
    }
}

/// The layers of a snapshot, or of a load that nobody else reads yet.
#[derive(Debug)]
pub enum ViewLayers<'a, F> {
    /// Those of a pin.
    Pin(&'a Pin<F>),
    /// Others, newest first.
    List(Vec<SourceHandle<F>>),
}

impl<F: Layer> Layers for ViewLayers<'_, F> {
    type Records<'l>
        = HandleRecords<'l, F>
    where
        Self: 'l;

    #[inline]
    fn sources(&self, timestamp: Timestamp) -> impl DoubleEndedIterator<Item = HandleRecords<'_, F>> {
        let (pin, list) = match self {
            Self::Pin(pin) => (Some(pin), &[][..]),
            Self::List(list) => (None, list.as_slice()),
        };
        let pinned = pin.into_iter().flat_map(move |pin| pin.records(timestamp));
        pinned.chain(list.sources(timestamp))
    }
}

impl<F: Layer> Pin<F> {
    /// As [`Pin::sources`], as of that timestamp. Files and levels are lent; a graph is counted, since its memory may go
    /// while the pin stays (rule D2).
    #[inline]
    pub fn records(&self, timestamp: Timestamp) -> impl DoubleEndedIterator<Item = HandleRecords<'_, F>> {
        let generations = self.generations().iter().rev().filter_map(move |generation| {
            let first = match generation.source() {
                GenerationSource::Graph(graph) => {
                    let is_seen = graph.first().is_some_and(|first| first.visible_at(timestamp));
                    return is_seen.then_some(HandleRecords::HeldGraph(graph, timestamp));
                }
                GenerationSource::File(_) => generation.first(),
            };
            let file = generation.file().filter(|_| first.is_some_and(|first| first.visible_at(timestamp)));
            file.map(|file| HandleRecords::File(file.at(timestamp)))
        });
        let flushed = self.set().flushed().iter().map(move |file| HandleRecords::File(file.at(timestamp)));
        let deeper = self.set().deeper().iter().filter(|level| !level.files().is_empty());
        let deeper = deeper.map(move |level| HandleRecords::Level(LevelRecords::new(level, timestamp)));
        generations.chain(flushed).chain(deeper)
    }
}

impl Layer for MemoryGraph {
    type Records<'l> = VisibleRecords<'l>;

    #[inline]
    fn at(&self, timestamp: Timestamp) -> VisibleRecords<'_> {
        Self::at(self, timestamp)
    }
}

impl Layer for CsrFile {
    type Records<'l> = FileRecords<'l>;

    #[inline]
    fn at(&self, timestamp: Timestamp) -> FileRecords<'_> {
        Self::at(self, timestamp)
    }
}

impl<F: Layer> Layer for SourceHandle<F> {
    type Records<'l>
        = HandleRecords<'l, F>
    where
        F: 'l;

    #[inline]
    fn at(&self, timestamp: Timestamp) -> Self::Records<'_> {
        match self {
            Self::Graph(graph) => HandleRecords::Graph(MemoryGraph::at(graph, timestamp)),
            Self::File(file) => HandleRecords::File(file.at(timestamp)),
            Self::Level(level) => HandleRecords::Level(LevelRecords::new(level, timestamp)),
        }
    }
}

/// The records of a [`SourceHandle`].
pub enum HandleRecords<'l, F: Layer + 'l> {
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

impl<F: Layer> RecordSource for HandleRecords<'_, F> {
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
}
