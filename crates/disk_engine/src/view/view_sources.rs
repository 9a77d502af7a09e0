//! View sources: what a view asks: the sources of a pin, or of a load that nobody else reads yet.
//!
//! A view is made for each question, so it allocates nothing and counts no file: the pin lends its files and levels as
//! they lie there. Memory graphs alone are counted, since the memory of one may go while the pin stays (rule D2).

use crate::generation::GenerationSource;
use crate::tree_state::{Pin, SourceHandle};
use crate::view::handle_records::HandleRecords;
use crate::view::level_records::LevelRecords;
use crate::view::read_source::{ReadSource, ReadSources};
use evergraph_graph::timestamp::Timestamp;

/// The sources of a snapshot, or of a load that nobody else reads yet.
#[derive(Debug)]
pub enum ViewSources<'a, F> {
    /// Those of a pin.
    Pin(&'a Pin<F>),
    /// Others, newest first.
    List(Vec<SourceHandle<F>>),
}

impl<F: ReadSource> ReadSources for ViewSources<'_, F> {
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

    #[inline]
    fn note_lists(&self, lists: usize) {
        if let Self::Pin(pin) = self
            && let Some(file) = pin.set().iter().next()
        {
            file.note_lists(lists);
        }
    }
}

impl<F: ReadSource> Pin<F> {
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
