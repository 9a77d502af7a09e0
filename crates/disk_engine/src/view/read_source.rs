//! Read source: something with records that a reader holds, and that becomes a source of them at its timestamp.

use crate::file::csr_file::CsrFile;
use crate::file::file_records::FileRecords;
use crate::file::item_pages;
use crate::format::tree_key::{ItemKey, ListId};
use crate::memory_graph::graph::MemoryGraph;
use crate::memory_graph::visible::VisibleRecords;
use crate::source::RecordSource;
use evergraph_graph::timestamp::Timestamp;
use std::ops::Range;

/// A memory graph or a file, held for as long as it is read.
pub trait ReadSource: Send + Sync {
    /// Its records as of one timestamp.
    type Records<'l>: RecordSource
    where
        Self: 'l;

    /// The records until `timestamp`. Cost: a few loads; nothing is read.
    fn at(&self, timestamp: Timestamp) -> Self::Records<'_>;

    /// Notes for statistics that so many lists were asked for. A source in memory counts nothing.
    fn note_lists(&self, lists: usize) {
        let _ = lists;
    }

    /// Reads side by side what questions about `items` need from several sources, each of which is asked about a range of
    /// them next. A source in memory does nothing. What fails is told to whoever asks.
    fn read_ahead(sources: &[(Self::Records<'_>, Range<usize>)], items: &[(ListId, ItemKey)]) {
        let _ = (sources, items);
    }
}

/// All sources that a reader asks.
pub trait ReadSources: Send + Sync {
    /// The records of one of them, as of one timestamp.
    type Records<'l>: RecordSource
    where
        Self: 'l;

    /// The records until `timestamp` of each source, newest first. Cost: a few loads a source; nothing is read.
    fn sources(&self, timestamp: Timestamp) -> impl DoubleEndedIterator<Item = Self::Records<'_>>;

    /// Notes for statistics that so many lists were asked for, where there are files.
    fn note_lists(&self, lists: usize) {
        let _ = lists;
    }
}

impl<L: ReadSource> ReadSources for [L] {
    type Records<'l>
        = L::Records<'l>
    where
        L: 'l;

    #[inline]
    fn sources(&self, timestamp: Timestamp) -> impl DoubleEndedIterator<Item = L::Records<'_>> {
        self.iter().map(move |source| source.at(timestamp))
    }
}

impl<L: ReadSource> ReadSources for Vec<L> {
    type Records<'l>
        = L::Records<'l>
    where
        L: 'l;

    #[inline]
    fn sources(&self, timestamp: Timestamp) -> impl DoubleEndedIterator<Item = L::Records<'_>> {
        self.as_slice().sources(timestamp)
    }
}

impl ReadSource for MemoryGraph {
    type Records<'l> = VisibleRecords<'l>;

    #[inline]
    fn at(&self, timestamp: Timestamp) -> VisibleRecords<'_> {
        Self::at(self, timestamp)
    }
}

impl ReadSource for CsrFile {
    type Records<'l> = FileRecords<'l>;

    #[inline]
    fn at(&self, timestamp: Timestamp) -> FileRecords<'_> {
        Self::at(self, timestamp)
    }

    fn note_lists(&self, lists: usize) {
        Self::note_lists(self, lists);
    }

    fn read_ahead(files: &[(FileRecords<'_>, Range<usize>)], items: &[(ListId, ItemKey)]) {
        item_pages::read_ahead(files, items);
    }
}
