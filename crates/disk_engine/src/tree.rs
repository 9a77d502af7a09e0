//! Tree: the present files and memory graphs, replaced as a whole.
//!
//! ```text
//! current = ( set, generations not yet in it, generations that conflict checks ask )      `tree_state.rs`
//!
//! switch    the open graph is full: frozen, and the next one follows it     under the latch
//! attach    a large commit brings its own graph                             under the latch
//! install   the oldest generation is a file of the set now                  under latch and registry
//! replace   a compaction or a load made another set                         under latch and registry
//! pin       what a snapshot at S reads                                      with the registry locked
//! ```
//!
//! - D1: a set holds nothing newer than any S that pins it. `install` asks for F <= R, where F is the last commit of the
//!   generation; a snapshot takes its S and its pin with the registry locked, so whoever pins the new set has
//!   S >= R >= F.
//! - D2: a pin reads a generation from its graph or from its file, whichever is there (`tree_state.rs`).
//! - D3: set and generations change in one swap.
//!
//! A switch needs no registry: the graph that it adds has no commit yet, and who sees a commit of it (W, Acquire)
//! sees the swap before it.
//!
//! Lock order: the flush lock, latch, registry. No I/O under latch or registry, and nothing large is freed
//! there: what a swap replaced is returned, to be dropped outside.
//!
//! Source: disk-engine, section 5, and its model.

use crate::file_set::FileSet;
use crate::generation::{Generation, RetainedGenerations};
use crate::memory_graph::graph::MemoryGraph;
use crate::stored_file::KeyedFile;
use crate::tree_state::{Pin, TreeState};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::{ChangedSince, Key};
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::ArcCell;
use evergraph_storage::timeline::clock::Timeline;
use std::sync::Arc;

/// What a swap replaced: perhaps the last to hold files and graphs, so it is dropped outside of all locks.
#[must_use = "dropped outside of latch and registry"]
#[derive(Debug)]
pub struct ReplacedState<F>(#[expect(dead_code, reason = "held until it may be dropped")] Arc<TreeState<F>>);

/// The present files and memory graphs of one engine.
///
/// # Concurrency
/// Any thread pins, asks and reads at any time. All swaps happen under the commit latch, one at a time; methods that
/// are called under it say so, the others take it themselves.
#[derive(Debug)]
pub struct Tree<F> {
    timeline: Arc<Timeline>,
    /// A swap releases what it publishes; a load acquires it.
    current: ArcCell<TreeState<F>>,
}

impl<F> Tree<F> {
    /// The tree of `set`, which has every commit through `covered_through`, and of `open`, which has none yet.
    #[must_use]
    pub fn new(
        timeline: Arc<Timeline>,
        set: FileSet<F>,
        covered_through: Timestamp,
        open: MemoryGraph,
    ) -> Self {
        let open = Arc::new(Generation::new(Arc::new(open)));
        let mut retained = RetainedGenerations::new(covered_through);
        retained.push(Arc::clone(&open));
        let current = TreeState { set: Arc::new(set), generations: vec![open], retained, covered_through };
        Self { timeline, current: ArcCell::new(Arc::new(current)) }
    }

    /// Time, whose latch and registry order the swaps.
    #[must_use]
    pub fn timeline(&self) -> &Arc<Timeline> {
        &self.timeline
    }

    /// The present state, to keep.
    #[must_use]
    pub fn current(&self) -> Arc<TreeState<F>> {
        self.current.load_full()
    }

    /// Calls `read` with the present state. Cost: no reference count, so `read` is short.
    #[inline]
    pub fn with_current<T>(&self, read: impl FnOnce(&TreeState<F>) -> T) -> T {
        read(&self.current.load())
    }

    /// What a snapshot holds. With the registry locked, or where nothing is flushed meanwhile.
    #[must_use]
    #[inline]
    pub fn pin(&self) -> Pin<F> {
        Pin::new(self.current.load_full())
    }

    /// The graph that commits go to. Under the latch it stays that; ahead of it, it may be frozen at any time.
    #[must_use]
    #[inline]
    pub fn open_graph(&self) -> Arc<MemoryGraph> {
        loop {
            // Between a look at the state and one at its graph the graph may be frozen, flushed and freed: there is a newer
            // state then.
            if let Some(graph) = self.with_current(TreeState::last_graph) {
                return graph;
            }
        }
    }

    /// Whether `key` changed after `since`: as [`RetainedGenerations::newer`].
    #[must_use]
    #[inline]
    pub fn newer(&self, key: &Key, since: Timestamp) -> ChangedSince {
        self.with_current(|current| current.retained.newer(key, since))
    }

    fn swap(&self, current: TreeState<F>) -> ReplacedState<F> {
        ReplacedState(self.current.swap(Arc::new(current)))
    }

    /// Freezes the open graph and goes on with `next`. Under the latch. Cost: O(1) in the graph.
    ///
    /// # Panics
    /// If the open graph has no commit: it need not be frozen, and generations are ordered by their commits.
    pub fn switch(&self, next: MemoryGraph) -> ReplacedState<F> {
        let mut current = TreeState::clone(&self.current.load());
        let open = current.open_graph();
        assert!(open.last().is_some(), "an empty graph stays open");
        open.freeze();
        current.push(next);
        self.swap(current)
    }

    /// Takes in `large`, the graph of one commit, which becomes the newest. Under the latch, before the commit is
    /// published. `next` is opened behind it, or returned if the open graph is empty and stays so.
    pub fn attach(
        &self,
        timestamp: Timestamp,
        large: Arc<MemoryGraph>,
        next: MemoryGraph,
    ) -> (ReplacedState<F>, Option<MemoryGraph>) {
        large.set_timestamp(timestamp);
        let large = Arc::new(Generation::new(large));
        let mut current = TreeState::clone(&self.current.load());
        let open = current.open_graph();
        if open.last().is_some() {
            open.freeze();
            current.generations.push(Arc::clone(&large));
            current.retained.push(large);
            current.push(next);
            return (self.swap(current), None);
        }
        let before_open = current.generations.len() - 1;
        current.generations.insert(before_open, Arc::clone(&large));
        current.retained.insert_before_last(large);
        (self.swap(current), Some(next))
    }

    /// Whether the last commit of `generation` is readable, so that it may be installed (rule D1).
    #[must_use]
    pub fn is_readable(&self, generation: &Generation<F>) -> bool {
        let is_readable = |last| last <= self.timeline.readable() || planted(Bug::FlushBeforeSync);
        generation.last().is_none_or(is_readable)
    }

    /// Puts the file of the oldest frozen generation into the set, in place of the generation; `None` if there was
    /// nothing to write. It stands behind the files that `is_newer` names, those of a bulk load that is newer than the
    /// generation: nobody can read the load yet. Takes latch and registry.
    ///
    /// # Panics
    /// If it isn't the oldest one, is open, or has a commit that is not readable yet (rule D1): the log is synced
    /// through it before.
    pub fn install(
        &self,
        generation: &Arc<Generation<F>>,
        file: Option<Arc<F>>,
        is_newer: impl Fn(&F) -> bool,
    ) -> ReplacedState<F> {
        // R only grows, so what is readable now is readable under the locks.
        assert!(self.is_readable(generation), "a generation is installed when all of it is readable");
        let _latch = self.timeline.latch();
        let mut current = TreeState::clone(&self.current.load());
        let oldest = current.frozen().first().expect("a generation is installed once, and never an open one");
        assert!(Arc::ptr_eq(oldest, generation), "generations are installed in the order of their commits");
        current.generations.remove(0);
        if planted(Bug::SwappedApart) {
            drop(self.current.swap(Arc::new(current.clone())));
        }
        current.covered_through = current.covered_through.max(generation.last().unwrap_or(Timestamp::ZERO));
        match &file {
            Some(file) => current.set = Arc::new(current.set.with_flushed(Arc::clone(file), is_newer)),
            None => current.retained.remove(generation),
        }
        current.retained.prune();
        let current = Arc::new(current);
        let _registry = self.timeline.registry();
        if let Some(file) = file {
            generation.set_file(file);
        }
        ReplacedState(self.current.swap(current))
    }

    /// Puts what `change` makes of the present set in its place: after a compaction, or for a load. Under the latch;
    /// takes the registry, and calls `change` with it locked.
    ///
    /// The new set has, for every S that may still pin it, what the old one has (rule D1): `change` lets go of a held
    /// R, if it must.
    pub fn replace_set(&self, change: impl FnOnce(&FileSet<F>) -> FileSet<F>) -> ReplacedState<F> {
        let _registry = self.timeline.registry();
        let mut current = TreeState::clone(&self.current.load());
        current.set = Arc::new(change(&current.set));
        current.retained.prune();
        self.swap(current)
    }

    /// Puts `outputs` in the place of `inputs`, which a compaction read: see [`FileSet::with_compacted`]. `None` if the set
    /// has changed too much since; the outputs are of no use then. Under the latch; takes the registry.
    ///
    /// Rule D1: every commit of the inputs was readable when they were picked, so whoever pins the new set sees all of it.
    #[must_use]
    pub fn replace_compacted(
        &self,
        inputs: &[Arc<F>],
        output_level: u8,
        outputs: &[Arc<F>],
    ) -> Option<ReplacedState<F>>
    where
        F: KeyedFile,
    {
        // Sets change under the latch alone, so this one stays until it is replaced.
        let set = self.current.load().set.with_compacted(inputs, output_level, outputs)?;
        Some(self.replace_set(|_| set))
    }

    /// Takes the graphs out that rule D4 keeps no longer, to be dropped by the caller, outside of all locks. Cost: a
    /// look at each retained generation, and the registry's lock if one of them could go.
    #[must_use]
    pub fn free_graphs(&self) -> Vec<Arc<MemoryGraph>> {
        let current = self.current();
        let is_flushed = |generation: &Arc<Generation<F>>| generation.file().is_some();
        if !current.retained.as_slice().iter().any(is_flushed) {
            return Vec::new();
        }
        // Who begins to write after this look has S >= W, and nothing flushed is newer.
        let oldest_writer = self.timeline.registry().oldest_writer();
        current.retained.free_graphs(oldest_writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::file_head::FileStamps;
    use crate::format::file_name::FileNumber;
    use crate::memory_graph::promises::Promises;
    use crate::memory_graph::sorted_commit::SortedCommit;
    use crate::stored_file::{StoredFile, StoredPart};
    use crate::tree_state::SourceHandle;
    use evergraph_graph::id::{LabelId, VertexId};
    use evergraph_graph::mutation::Mutation;
    use evergraph_graph::properties::Properties;
    use evergraph_graph::timestamp::Timestamp as T;
    use evergraph_storage::timeline::clock::Readable;
    use evergraph_storage::timeline::registry::Access;

    /// A tree whose commit t inserts vertex t, and whose files are called by their last commit.
    struct Fixture {
        timeline: Arc<Timeline>,
        promises: Arc<Promises>,
        tree: Tree<u64>,
    }

    fn insert(timestamp: u64) -> SortedCommit {
        let vertex = VertexId(timestamp as u32);
        let insert = Mutation::InsertVertex { vertex, label: LabelId(0), properties: Properties::EMPTY };
        SortedCommit::new(&[insert]).unwrap()
    }

    impl Fixture {
        fn new() -> Self {
            let timeline = Arc::new(Timeline::new(T(0), Readable::Published));
            let promises = Promises::new();
            let open = MemoryGraph::open(1 << 16, &promises).unwrap();
            let tree = Tree::new(Arc::clone(&timeline), FileSet::new(), T(0), open);
            Self { timeline, promises, tree }
        }

        fn graph(&self) -> MemoryGraph {
            MemoryGraph::open(1 << 16, &self.promises).unwrap()
        }

        fn commit(&self, count: u64) {
            for _ in 0..count {
                let mut latch = self.timeline.latch();
                let timestamp = self.timeline.published().next();
                let graph = self.tree.open_graph();
                let prepared = graph.prepare(insert(timestamp.0), Vec::new()).unwrap();
                drop(graph.append(timestamp, prepared));
                self.timeline.publish(timestamp, &mut latch);
            }
        }

        fn switch(&self) {
            let _latch = self.timeline.latch();
            drop(self.tree.switch(self.graph()));
        }

        fn install(&self) {
            let oldest = Arc::clone(&self.tree.current().frozen()[0]);
            let file = oldest.last().map(|last| Arc::new(last.0));
            drop(self.tree.install(&oldest, file, |_| false));
        }

        /// The sources of a pin at `timestamp`: the last commit of each, negative for that of a file.
        fn sources(pin: &Pin<u64>, timestamp: u64) -> Vec<i64> {
            let name = |source| match source {
                SourceHandle::Graph(graph) => graph.last().unwrap().0 as i64,
                SourceHandle::File(file) => -(*file as i64),
                SourceHandle::Generation(_) | SourceHandle::Level(_) => unreachable!("nothing was compacted"),
            };
            pin.sources(T(timestamp)).map(name).collect()
        }

        fn newer(&self, vertex: u32, since: u64) -> ChangedSince {
            self.tree.newer(&Key::Vertex(VertexId(vertex)), T(since))
        }
    }

    #[test]
    fn a_pin_of_before_an_install_reads_the_graph_and_one_of_after_it_the_file() {
        let fixture = Fixture::new();
        fixture.commit(3);
        fixture.switch();
        fixture.commit(2);
        let (_, before) = fixture.timeline.begin(Access::Read, |_| fixture.tree.pin());
        fixture.install();
        let after = fixture.tree.pin();
        assert_eq!(Fixture::sources(&before, 5), [5, 3]);
        assert_eq!(Fixture::sources(&before, 3), [3], "the open graph is newer");
        assert_eq!(Fixture::sources(&after, 5), [5, -3]);
        assert_eq!((before.set().len(), after.set().len()), (0, 1));
        assert_eq!(fixture.tree.current().covered_through, T(3));
        // Nobody writes: the graph goes, and the old pin reads the file in its place.
        assert_eq!(fixture.tree.free_graphs().len(), 1);
        assert_eq!(Fixture::sources(&before, 5), [5, -3]);
        assert_eq!(Fixture::sources(&after, 5), [5, -3]);
    }

    #[test]
    fn a_change_is_found_in_frozen_and_flushed_graphs_and_forgotten_when_they_are_freed() {
        let fixture = Fixture::new();
        fixture.commit(2);
        let (since, ()) = fixture.timeline.begin(Access::Write, |_| ());
        fixture.commit(2);
        for _ in 0..2 {
            fixture.switch();
            fixture.commit(2);
        }
        let check = || {
            assert_eq!(fixture.newer(3, 2), ChangedSince::Yes);
            assert_eq!(fixture.newer(8, 2), ChangedSince::Yes);
            assert_eq!(fixture.newer(8, 8), ChangedSince::No);
        };
        check();
        assert_eq!(fixture.newer(1, 2), ChangedSince::No);
        fixture.install();
        fixture.install();
        assert!(fixture.tree.free_graphs().is_empty(), "a writer needs them");
        check();
        fixture.timeline.end(since, Access::Write);
        assert_eq!(fixture.tree.free_graphs().len(), 2);
        for floor in [0, 6] {
            assert_eq!(fixture.tree.current().retained.floor(), T(floor));
            assert_eq!(fixture.newer(3, 2), ChangedSince::Forgotten);
            assert_eq!(fixture.newer(8, 2), ChangedSince::Yes, "what is known is said");
            assert_eq!(fixture.newer(3, 6), ChangedSince::No);
            // The next swap raises the floor.
            fixture.switch();
            fixture.commit(1);
        }
    }

    #[test]
    fn a_large_commit_comes_before_an_empty_open_graph_and_behind_one_with_commits() {
        let fixture = Fixture::new();
        let attach = || {
            let large = Arc::new(MemoryGraph::of_commit(insert(99), Vec::new()).unwrap());
            let next = fixture.graph();
            let mut latch = fixture.timeline.latch();
            let timestamp = fixture.timeline.published().next();
            let (replaced, unused) = fixture.tree.attach(timestamp, large, next);
            fixture.timeline.publish(timestamp, &mut latch);
            drop(latch);
            drop(replaced);
            unused.is_some()
        };
        assert!(attach(), "the open graph has no commit and stays open");
        assert_eq!(fixture.tree.current().frozen().len(), 1);
        fixture.commit(1);
        assert!(!attach());
        fixture.commit(1);
        let pin = fixture.tree.pin();
        assert_eq!(Fixture::sources(&pin, 4), [4, 3, 2, 1]);
        assert_eq!(fixture.newer(99, 0), ChangedSince::Yes);
        (0..3).for_each(|_| fixture.install());
        assert_eq!(Fixture::sources(&fixture.tree.pin(), 4), [4, -3, -2, -1]);
        assert!(fixture.tree.current().frozen().is_empty());
    }

    #[test]
    fn a_compaction_takes_the_place_of_its_inputs_and_is_refused_when_they_are_gone() {
        let timeline = Arc::new(Timeline::new(T(9), Readable::Published));
        let file = |number: u64, level: u8, (first, last): (u8, u8)| {
            let part = StoredPart { bytes: 1, footer_crc: 0 };
            Arc::new(StoredFile {
                number: FileNumber(number),
                level,
                stamps: FileStamps::Unstamped,
                first_ts: T(number),
                last_ts: T(number),
                first_key: vec![first],
                last_key: vec![last],
                topology: part,
                columns: None,
            })
        };
        let numbers = |current: &TreeState<StoredFile>| -> Vec<u64> {
            current.set.iter().map(|file| file.number.0).collect()
        };
        let (newer, older, below) = (file(3, 0, (0, 9)), file(2, 0, (5, 20)), file(1, 5, (0, 30)));
        let deeper = [vec![], vec![], vec![], vec![], vec![Arc::clone(&below)]];
        let set = FileSet::of(vec![newer, Arc::clone(&older)], deeper).unwrap();
        let open = MemoryGraph::open(1 << 16, &Promises::new()).unwrap();
        let tree = Tree::new(Arc::clone(&timeline), set, T(9), open);
        let before = tree.pin();
        let replace = |inputs: &[Arc<StoredFile>], outputs: &[Arc<StoredFile>]| {
            let _latch = timeline.latch();
            tree.replace_compacted(inputs, 5, outputs)
        };
        let inputs = [older, below];
        // A flush came since the compaction was picked.
        drop(tree.replace_set(|set| set.with_flushed(file(4, 0, (0, 99)), |_| false)));
        let outputs = [file(5, 5, (0, 12)), file(6, 5, (13, 30))];
        assert!(replace(&inputs, &[file(7, 5, (0, 12)), file(8, 5, (12, 30))]).is_none(), "outputs overlap");
        assert_eq!(numbers(&tree.current()), [4, 3, 2, 1], "a refusal changes nothing");
        let replaced = replace(&inputs, &outputs).expect("the inputs are there");
        let after = tree.current();
        assert_eq!(numbers(&after), [4, 3, 5, 6]);
        assert_eq!((after.covered_through, after.generations.len(), after.retained.floor()), (T(9), 1, T(9)));
        assert!(replace(&inputs, &outputs).is_none(), "the inputs are gone");
        drop(replaced);
        let pinned: Vec<_> = before.set().iter().map(|file| file.number.0).collect();
        assert_eq!(pinned, [3, 2, 1], "who pinned the set before keeps it");
        drop(replace(&outputs, &[]).expect("a compaction may leave nothing"));
        assert_eq!(numbers(&tree.current()), [4, 3]);
    }

    #[test]
    fn a_state_that_was_replaced_has_no_graph_once_its_last_was_freed_and_the_tree_has_the_newer_one() {
        let fixture = Fixture::new();
        fixture.commit(1);
        let before = fixture.tree.current();
        assert!(before.last_graph().is_some());
        fixture.switch();
        fixture.install();
        assert_eq!(fixture.tree.free_graphs().len(), 1);
        assert!(before.last_graph().is_none(), "it lies in a file");
        assert!(Arc::ptr_eq(&fixture.tree.open_graph(), &fixture.tree.current().open_graph()));
    }

    #[test]
    fn a_generation_without_changes_leaves_no_file() {
        let fixture = Fixture::new();
        let graph = fixture.tree.open_graph();
        let mut latch = fixture.timeline.latch();
        let prepared = graph.prepare(SortedCommit::default(), Vec::new()).unwrap();
        drop(graph.append(T(1), prepared));
        fixture.timeline.publish(T(1), &mut latch);
        drop(latch);
        fixture.switch();
        let oldest = Arc::clone(&fixture.tree.current().frozen()[0]);
        drop(fixture.tree.install(&oldest, None, |_| false));
        let current = fixture.tree.current();
        assert!(current.set.is_empty() && current.frozen().is_empty());
        assert_eq!((current.covered_through, current.retained.as_slice().len()), (T(1), 1));
        assert_eq!(fixture.newer(1, 0), ChangedSince::No);
    }

    #[test]
    #[should_panic(expected = "all of it is readable")]
    fn what_is_not_readable_is_not_installed() {
        let fixture = Fixture::new();
        fixture.timeline.hold_readable(T(1));
        fixture.commit(2);
        fixture.switch();
        assert!(!fixture.tree.is_readable(&fixture.tree.current().frozen()[0]));
        fixture.install();
    }

    #[test]
    #[should_panic(expected = "an empty graph stays open")]
    fn an_empty_graph_is_not_frozen() {
        Fixture::new().switch();
    }
}
