//! Tree state: the files and the memory graphs of one moment, and what a snapshot that pins them reads.
//!
//! ```text
//! generations not yet in the set     oldest .. [ frozen ] [ frozen ] [ open ]      each its graph, or its file (rule D2)
//! set                                L0, newest first, then L1 .. L5
//! sources of a reader at S           generations with a commit that S sees, newest first, then those of the set
//! ```
//!
//! A state is replaced as a whole (`tree.rs`); whoever pinned it keeps it. Rule D2: a pin reads a generation from its graph
//! or from its file, whichever is there, so an old pin does not hold the memory of a generation that was flushed since.
//!
//! Source: disk-engine, section 5, and its model.

use crate::file_set::FileSet;
use crate::generation::{Generation, GenerationSource, RetainedGenerations};
use crate::level::Level;
use crate::memory_graph::graph::MemoryGraph;
use evergraph_graph::timestamp::Timestamp;
use std::fmt;
use std::sync::Arc;

/// Files and memory graphs of one moment.
#[derive(Debug)]
pub struct TreeState<F> {
    /// The files.
    pub set: Arc<FileSet<F>>,
    /// The generations that are not yet in the set, newest last. The last one is open, the others are frozen.
    pub generations: Vec<Arc<Generation<F>>>,
    /// The generations that conflict checks ask: those above and some that are in the set.
    pub retained: RetainedGenerations<F>,
    /// F: every commit through it is in the set, and no later one.
    pub covered_through: Timestamp,
}

impl<F> Clone for TreeState<F> {
    fn clone(&self) -> Self {
        Self {
            set: Arc::clone(&self.set),
            generations: self.generations.clone(),
            retained: self.retained.clone(),
            covered_through: self.covered_through,
        }
    }
}

impl<F> TreeState<F> {
    /// The graph that commits go to; `None` if another state replaced this one and that graph was flushed and freed since.
    #[must_use]
    pub fn last_graph(&self) -> Option<Arc<MemoryGraph>> {
        self.generations.last().and_then(|generation| generation.graph())
    }

    /// The graph that commits go to. Of the current state, under the latch.
    ///
    /// # Panics
    /// If the state was replaced and the graph was flushed and freed.
    #[must_use]
    pub fn open_graph(&self) -> Arc<MemoryGraph> {
        self.last_graph().expect("the last generation of the current state is open, and in memory")
    }

    /// The generations that wait for their flush, oldest first.
    #[must_use]
    pub fn frozen(&self) -> &[Arc<Generation<F>>] {
        self.generations.split_last().map_or(&[], |(_, frozen)| frozen)
    }

    /// Adds an empty graph, open.
    pub(crate) fn push(&mut self, next: MemoryGraph) {
        let next = Arc::new(Generation::new(Arc::new(next)));
        self.generations.push(Arc::clone(&next));
        self.retained.push(next);
        self.retained.prune();
    }
}

/// One source of records, held while it is read.
#[derive(Debug)]
pub enum SourceHandle<F> {
    /// A memory graph.
    Graph(Arc<MemoryGraph>),
    /// A generation: its memory graph, or, when that was freed, its file. Who holds it long holds no memory (rule D2).
    Generation(Arc<Generation<F>>),
    /// A file: of L0, or what became of a generation.
    File(Arc<F>),
    /// The files of a level below L0.
    Level(Arc<Level<F>>),
}

impl<F> Clone for SourceHandle<F> {
    fn clone(&self) -> Self {
        match self {
            Self::Graph(graph) => Self::Graph(Arc::clone(graph)),
            Self::Generation(generation) => Self::Generation(Arc::clone(generation)),
            Self::File(file) => Self::File(Arc::clone(file)),
            Self::Level(level) => Self::Level(Arc::clone(level)),
        }
    }
}

impl<F> FileSet<F> {
    /// Its sources, newest first: the files of L0, then each level below it that has files. Cost: a count a source.
    pub fn sources(&self) -> impl Iterator<Item = SourceHandle<F>> + '_ {
        let flushed = self.flushed().iter().map(|file| SourceHandle::File(Arc::clone(file)));
        let deeper = self.deeper().iter().filter(|level| !level.files().is_empty());
        flushed.chain(deeper.map(|level| SourceHandle::Level(Arc::clone(level))))
    }
}

/// What a snapshot holds: the files and generations of the moment when it began. Not the memory of a generation that
/// was flushed since (rule D2).
pub struct Pin<F>(Arc<TreeState<F>>);

impl<F> Clone for Pin<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F> fmt::Debug for Pin<F> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Pin({} files, {} generations)", self.0.set.len(), self.0.generations.len())
    }
}

impl<F> Pin<F> {
    /// Holds `state`.
    #[inline]
    pub(crate) fn new(state: Arc<TreeState<F>>) -> Self {
        Self(state)
    }

    /// The files.
    #[must_use]
    pub fn set(&self) -> &Arc<FileSet<F>> {
        &self.0.set
    }

    /// The generations that were not in the files, newest last.
    pub(crate) fn generations(&self) -> &[Arc<Generation<F>>] {
        &self.0.generations
    }

    /// The sources that a reader at `timestamp` asks, newest first: generations that have a commit it sees, from
    /// their graph or file, then the files of L0, then each level below it that has files. Cost: a few loads a generation,
    /// and a count a source.
    pub fn sources(&self, timestamp: Timestamp) -> impl Iterator<Item = SourceHandle<F>> + '_ {
        let is_visible =
            move |first: Option<Timestamp>| first.is_some_and(|first| first.visible_at(timestamp));
        let generations =
            self.0.generations.iter().rev().filter_map(move |generation| match generation.source() {
                GenerationSource::Graph(graph) => {
                    is_visible(graph.first()).then_some(SourceHandle::Graph(graph))
                }
                GenerationSource::File(file) => {
                    is_visible(generation.first()).then(|| SourceHandle::File(Arc::clone(file)))
                }
            });
        generations.chain(self.0.set.sources())
    }

    /// The same sources for who holds them long: generations in place of their graphs. Cost: as [`Pin::sources`].
    pub fn held_sources(&self, timestamp: Timestamp) -> impl Iterator<Item = SourceHandle<F>> + '_ {
        let is_visible = move |generation: &&Arc<Generation<F>>| {
            generation.first().is_some_and(|first| first.visible_at(timestamp))
        };
        let generations = self.0.generations.iter().rev().filter(is_visible);
        let handles = generations.map(|generation| SourceHandle::Generation(Arc::clone(generation)));
        handles.chain(self.0.set.sources())
    }
}
