//! Generation: a memory graph, and the L0 file that it becomes.
//!
//! ```text
//! open ──full──> frozen ──flush──> graph and file ──no writer needs it──> file alone
//! reads          graph             graph                                  file, stamped
//! newer          graph             graph                                  Forgotten below its last timestamp
//! ```
//!
//! - D2: a pin reads a generation from its graph or from its file, whichever is there, and gets the same answers.
//! - D4: the memory of a graph is freed once it has a file and no writer has a snapshot before its last commit. At most
//!   two such graphs are kept; for a snapshot older than a graph that was freed, conflict checks answer that the
//!   records were forgotten.
//!
//! The file is a type parameter: what a generation knows of it is only that it is set once.
//!
//! Source: disk-engine, section 5, rules D2 and D4, and its model; LSMGraph (SIGMOD 2024),
//! section 4.3, versions that name memory graphs and L0 files.

use crate::memory_graph::graph::MemoryGraph;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::{ChangedSince, Key};
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::ArcCell;
use std::sync::{Arc, OnceLock};

/// Graphs with a file that are kept for writers with old snapshots.
const RETAINED_GRAPHS_MAX: usize = 2;

/// Where to read a generation.
#[derive(Clone, Debug)]
pub enum GenerationSource<'a, F> {
    /// In memory. The graph lives as long as it is held here.
    Graph(Arc<MemoryGraph>),
    /// In its file, which has the same records.
    File(&'a Arc<F>),
}

/// A flushed generation.
#[derive(Debug)]
struct Written<F> {
    file: Arc<F>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

/// Consecutive commits, in memory or in a file of type `F`.
///
/// # Concurrency
/// Any thread reads. The flush sets the file, once; whoever frees the graph does so after that, at any time. A reader
/// that found the graph keeps it.
#[derive(Debug)]
pub struct Generation<F> {
    graph: ArcCell<Option<Arc<MemoryGraph>>>,
    written: OnceLock<Written<F>>,
}

impl<F> Generation<F> {
    /// A generation in memory.
    #[must_use]
    pub fn new(graph: Arc<MemoryGraph>) -> Self {
        Self { graph: ArcCell::new(Arc::new(Some(graph))), written: OnceLock::new() }
    }

    /// The graph, if its memory was not freed.
    #[must_use]
    pub fn graph(&self) -> Option<Arc<MemoryGraph>> {
        Option::clone(&self.graph.load())
    }

    /// The file, if the generation was flushed.
    #[must_use]
    pub fn file(&self) -> Option<&Arc<F>> {
        self.written.get().map(|written| &written.file)
    }

    /// Where to read now. Cost: a load and a count.
    ///
    /// # Panics
    /// Never: a graph is freed only if there is a file.
    #[must_use]
    pub fn source(&self) -> GenerationSource<'_, F> {
        match self.graph() {
            Some(graph) => GenerationSource::Graph(graph),
            None => GenerationSource::File(self.file().expect("a graph is freed only if there is a file")),
        }
    }

    /// The first commit, if there is one.
    #[must_use]
    pub fn first(&self) -> Option<Timestamp> {
        // The graph first: where it is gone, what was written is there.
        match self.graph() {
            Some(graph) => graph.first(),
            None => self.written.get().and_then(|written| written.first),
        }
    }

    /// The newest commit, if there is one; of a frozen generation its last.
    #[must_use]
    pub fn last(&self) -> Option<Timestamp> {
        // The graph first: where it is gone, what was written is there.
        match self.graph() {
            Some(graph) => graph.last(),
            None => self.written.get().and_then(|written| written.last),
        }
    }

    /// Notes the file that the flush wrote, which is durable.
    ///
    /// # Panics
    /// If the graph is not frozen, or there is a file: a generation is flushed once.
    pub fn set_file(&self, file: Arc<F>) {
        let graph = self.graph().expect("a graph is freed only if there is a file");
        assert!(graph.is_frozen(), "the flush of a graph begins when nothing is appended any more");
        let written = Written { file, first: graph.first(), last: graph.last() };
        assert!(self.written.set(written).is_ok(), "a generation is flushed once");
    }

    /// Takes the graph out, for the caller to drop outside of all locks. Readers go to the file from now on.
    ///
    /// # Panics
    /// If there is no file.
    pub fn free_graph(&self) -> Option<Arc<MemoryGraph>> {
        assert!(self.file().is_some(), "a graph is freed only if there is a file");
        Arc::unwrap_or_clone(self.graph.swap(Arc::new(None)))
    }

    /// Whether `key` changed here after `since`.
    fn newer(&self, key: &Key, since: Timestamp) -> ChangedSince {
        // A graph that is freed meanwhile is either found whole, or not at all.
        match self.graph() {
            Some(graph) if graph.newer(key, since) => ChangedSince::Yes,
            Some(_) => ChangedSince::No,
            None if self.last().is_none_or(|last| last.visible_at(since)) => ChangedSince::No,
            None => ChangedSince::Forgotten,
        }
    }
}

/// The generations that conflict checks ask, replaced as a whole together with the file set (rule D3).
#[derive(Debug)]
pub struct RetainedGenerations<F> {
    /// Oldest first.
    generations: Vec<Arc<Generation<F>>>,
    /// Whether something is newer than a timestamp before this one is not known any more.
    floor: Timestamp,
}

impl<F> Clone for RetainedGenerations<F> {
    fn clone(&self) -> Self {
        Self { generations: self.generations.clone(), floor: self.floor }
    }
}

impl<F> RetainedGenerations<F> {
    /// None yet; everything after `floor` will be known.
    #[must_use]
    pub const fn new(floor: Timestamp) -> Self {
        Self { generations: Vec::new(), floor }
    }

    /// The generations, oldest first.
    #[must_use]
    pub fn as_slice(&self) -> &[Arc<Generation<F>>] {
        &self.generations
    }

    /// Whether something is newer than a timestamp before this one is not known any more.
    #[must_use]
    pub const fn floor(&self) -> Timestamp {
        self.floor
    }

    /// Adds the newest generation.
    pub fn push(&mut self, generation: Arc<Generation<F>>) {
        self.generations.push(generation);
    }

    /// Adds a generation that is newer than all but the last one, which has no commit yet.
    ///
    /// # Panics
    /// If there is none.
    pub fn insert_before_last(&mut self, generation: Arc<Generation<F>>) {
        let last = self.generations.len().checked_sub(1).expect("there is an open generation");
        self.generations.insert(last, generation);
    }

    /// Removes a generation in which nothing was changed.
    pub fn remove(&mut self, generation: &Arc<Generation<F>>) {
        self.generations.retain(|retained| !Arc::ptr_eq(retained, generation));
    }

    /// Drops generations without a graph, and raises the floor to the last of them.
    pub fn prune(&mut self) {
        let floor = &mut self.floor;
        self.generations.retain(|generation| {
            let has_graph = generation.graph().is_some();
            if !has_graph && !planted(Bug::FreedWithoutFloor) {
                *floor = (*floor).max(generation.last().unwrap_or(Timestamp::ZERO));
            }
            has_graph
        });
    }

    /// Whether `key` changed after `since`. Under the latch, or ahead of it. Cost: as [`MemoryGraph::newer`], for each
    /// graph that has newer commits.
    #[must_use]
    pub fn newer(&self, key: &Key, since: Timestamp) -> ChangedSince {
        let mut answer = if since < self.floor { ChangedSince::Forgotten } else { ChangedSince::No };
        for generation in self.generations.iter().rev() {
            match generation.newer(key, since) {
                ChangedSince::Yes => return ChangedSince::Yes,
                ChangedSince::Forgotten => answer = ChangedSince::Forgotten,
                ChangedSince::No => {}
            }
        }
        answer
    }

    /// Frees the graphs that rule D4 does not keep, where `oldest_writer` is the oldest snapshot of a writer that is
    /// open; returns them, to be dropped outside of all locks. Not under the latch; [`RetainedGenerations::prune`]
    /// follows in the next swap.
    #[must_use]
    pub fn free_graphs(&self, oldest_writer: Option<Timestamp>) -> Vec<Arc<MemoryGraph>> {
        let has_both =
            |generation: &&Arc<Generation<F>>| generation.file().is_some() && generation.graph().is_some();
        let flushed: Vec<_> = self.generations.iter().filter(has_both).collect();
        let excess = flushed.len().saturating_sub(RETAINED_GRAPHS_MAX);
        let is_needed = |generation: &Generation<F>| match (oldest_writer, generation.last()) {
            (Some(oldest), Some(last)) => !last.visible_at(oldest),
            _ => false,
        };
        let freed =
            flushed.iter().enumerate().filter(|(at, generation)| *at < excess || !is_needed(generation));
        freed.filter_map(|(_, generation)| generation.free_graph()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_graph::promises::Promises;
    use crate::memory_graph::sorted_commit::SortedCommit;
    use evergraph_graph::id::{LabelId, VertexId};
    use evergraph_graph::mutation::Mutation;
    use evergraph_graph::properties::Properties;
    use evergraph_graph::timestamp::Timestamp as T;

    type Files = RetainedGenerations<&'static str>;

    /// A frozen generation whose commits, from `first` on, insert one vertex each.
    fn generation(first: u64, vertices: std::ops::Range<u32>) -> Arc<Generation<&'static str>> {
        let graph = MemoryGraph::open(1 << 16, &Promises::new()).unwrap();
        for (timestamp, vertex) in (first..).zip(vertices) {
            let vertex = VertexId(vertex);
            let insert = Mutation::InsertVertex { vertex, label: LabelId(0), properties: Properties::EMPTY };
            let prepared = graph.prepare(SortedCommit::new(&[insert]).unwrap(), Vec::new()).unwrap();
            drop(graph.append(T(timestamp), prepared));
        }
        graph.freeze();
        Arc::new(Generation::new(Arc::new(graph)))
    }

    #[test]
    fn a_graph_is_kept_for_writers_and_forgotten_beyond_two() {
        let mut retained = Files::new(T(0));
        for at in 0..4 {
            retained.push(generation(u64::from(at) * 10 + 1, at * 10..at * 10 + 10));
        }
        let newer =
            |retained: &Files, vertex, since| retained.newer(&Key::Vertex(VertexId(vertex)), T(since));
        assert_eq!(newer(&retained, 5, 5), ChangedSince::Yes);
        assert_eq!(newer(&retained, 5, 6), ChangedSince::No);
        assert!(retained.free_graphs(None).is_empty(), "nothing is freed without a file");
        for generation in &retained.as_slice()[..3] {
            generation.set_file(Arc::new("file"));
            assert!(matches!(generation.source(), GenerationSource::Graph(_)));
        }
        // A writer at 5 needs all; the oldest is the third too many.
        assert_eq!(retained.free_graphs(Some(T(5))).len(), 1);
        let oldest = &retained.as_slice()[0];
        assert!(matches!(oldest.source(), GenerationSource::File(_)));
        assert_eq!((oldest.first(), oldest.last()), (Some(T(1)), Some(T(10))));
        for _ in 0..2 {
            assert_eq!(newer(&retained, 5, 5), ChangedSince::Forgotten);
            assert_eq!(newer(&retained, 15, 5), ChangedSince::Yes, "what is known is said");
            assert_eq!(newer(&retained, 5, 10), ChangedSince::No);
            retained.prune();
        }
        assert_eq!((retained.as_slice().len(), retained.floor()), (3, T(10)));
        assert_eq!(retained.free_graphs(Some(T(20))).len(), 1, "nobody is before its last commit");
        assert_eq!(retained.free_graphs(None).len(), 1);
        retained.prune();
        assert_eq!((retained.as_slice().len(), retained.floor()), (1, T(30)));
        assert_eq!(newer(&retained, 35, 30), ChangedSince::Yes);
    }
}
