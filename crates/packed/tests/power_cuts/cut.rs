//! Cut: a packed graph beside plain lists, whose power fails wherever it can.

use crate::adjacency::Adjacency;
use evergraph_graph::error::ErrorKind;
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::region::{Domain, Memory as _};
use evergraph_packed::memory::simulated::SimulatedMemory;
use evergraph_packed::options::Options;
use evergraph_packed::recovery::Reopening;
use evergraph_storage::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an image may hold: the lists before the running change, and those after it.
type Allowed = Arc<Mutex<[Adjacency; 2]>>;

#[derive(Clone)]
struct Checker {
    allowed: Allowed,
    images_max: usize,
    /// Images at each fence of a recovery.
    images_of_recovery: usize,
    count: Arc<AtomicU64>,
    count_of_recovery: Arc<AtomicU64>,
}

/// A graph on memory that loses power at every fence, with every image or a part of them.
pub struct PowerCuts {
    memory: SimulatedMemory,
    graph: Option<PackedGraph<SimulatedMemory>>,
    checker: Checker,
    /// Of graphs that were shut down.
    rebalances: u64,
    shifts: u64,
    /// What the graph holds.
    pub lists: Adjacency,
}

impl PowerCuts {
    pub fn new(domain: Domain, options: &Options, images_max: usize) -> Self {
        Self::on(SimulatedMemory::new(domain), options, images_max)
    }

    /// On empty memory.
    pub fn on(memory: SimulatedMemory, options: &Options, images_max: usize) -> Self {
        let graph = PackedGraph::create(memory.clone(), options).unwrap();
        let lists = Adjacency::with_vertices(options.vertices);
        let checker = Checker {
            allowed: Arc::new(Mutex::new([lists.clone(), lists.clone()])),
            images_max,
            images_of_recovery: 0,
            count: Arc::default(),
            count_of_recovery: Arc::default(),
        };
        let cuts = Self { memory, graph: Some(graph), checker, rebalances: 0, shifts: 0, lists };
        cuts.observe();
        cuts
    }

    /// Cuts the power of recoveries, too.
    pub fn with_cuts_during_recovery(mut self, images: usize) -> Self {
        self.cut_recoveries(images);
        self
    }

    /// Cuts the power of recoveries from now on, with so many images at each fence.
    pub fn cut_recoveries(&mut self, images: usize) {
        self.checker.images_of_recovery = images;
        self.observe();
    }

    fn observe(&self) {
        let checker = self.checker.clone();
        self.memory.observe(move |memory| {
            let seed = checker.count.load(Ordering::Relaxed);
            memory.for_each_image(checker.images_max, seed, |image| checker.check(&image, seed));
        });
    }

    pub fn graph(&self) -> &PackedGraph<SimulatedMemory> {
        self.graph.as_ref().unwrap()
    }

    pub fn rebalances(&self) -> u64 {
        self.rebalances + self.graph().statistics().rebalances
    }

    pub fn shifts(&self) -> u64 {
        self.shifts + self.graph().statistics().shifts
    }

    pub fn count(&self) -> u64 {
        self.checker.count.load(Ordering::Relaxed)
    }

    pub fn count_during_recovery(&self) -> u64 {
        self.checker.count_of_recovery.load(Ordering::Relaxed)
    }

    /// Runs `change`, after which the graph is to hold `after`.
    fn run(&mut self, after: Adjacency, change: impl FnOnce(&PackedGraph<SimulatedMemory>)) {
        *self.checker.allowed.lock() = [self.lists.clone(), after.clone()];
        change(self.graph());
        self.lists = after;
        assert_eq!(Adjacency::of(self.graph()), self.lists, "without a power cut");
        *self.checker.allowed.lock() = [self.lists.clone(), self.lists.clone()];
    }

    pub fn insert(&mut self, source: u32, target: u32) {
        let mut after = self.lists.clone();
        after.insert(source, target);
        self.run(after, |graph| graph.insert_edge(source, target).unwrap());
    }

    pub fn delete(&mut self, source: u32, target: u32) {
        let mut after = self.lists.clone();
        let was_there = after.delete(source, target);
        self.run(after, |graph| assert_eq!(graph.delete_edge(source, target).unwrap(), was_there));
    }

    pub fn insert_vertex(&mut self) {
        let mut after = self.lists.clone();
        after.0.push(Vec::new());
        let vertex = self.lists.0.len() as u32;
        self.run(after, |graph| graph.insert_vertex(vertex).unwrap());
    }

    /// Inserts edges of `vertex`, of which none is in a log, until the next one goes there.
    pub fn fill(&mut self, vertex: u32) {
        while self.graph().place_of(vertex).unwrap().gaps > 0 {
            self.insert(vertex, 0);
        }
        assert_eq!(self.graph().place_of(vertex).unwrap().in_log, 0, "what was inserted went into gaps");
    }

    /// Spreads the section of `vertex` anew.
    pub fn rebalance(&mut self, vertex: u32) {
        let lists = self.lists.clone();
        self.run(lists, |graph| graph.rebalance_section_of(vertex).unwrap());
    }

    /// Gives all logs, which are empty, this generation, and opens the graph again.
    pub fn set_generations(&mut self, generation: u64) {
        let statistics = self.graph().statistics();
        assert_eq!(statistics.logged, 0, "logs are empty");
        self.rebalances += statistics.rebalances;
        self.graph = None;
        // Logs are of equal lengths, and the edge array follows them to the end of its region.
        let region = *self.memory.numbers().unwrap().last().unwrap();
        let first_log = (statistics.bytes - 4 * statistics.slots - statistics.log_bytes) / 8;
        let log_words = statistics.log_bytes / 8 / u64::from(statistics.sections);
        for section in 0..u64::from(statistics.sections) {
            self.memory.damage(region, (first_log + section * log_words) as usize, generation);
        }
        let (graph, _) = PackedGraph::open(self.memory.clone(), Reopening::Saved).unwrap();
        assert_eq!(Adjacency::of(&graph), self.lists, "with logs of another generation");
        self.graph = Some(graph);
    }

    /// Shuts down and opens again; the power may fail meanwhile.
    pub fn reopen(&mut self) {
        let graph = self.graph.take().unwrap();
        self.rebalances += graph.statistics().rebalances;
        self.shifts += graph.statistics().shifts;
        graph.shutdown().unwrap();
        let (graph, _) = PackedGraph::open(self.memory.clone(), Reopening::Saved).unwrap();
        assert_eq!(Adjacency::of(&graph), self.lists, "after a shutdown");
        self.graph = Some(graph);
    }
}

impl Checker {
    fn check(&self, image: &SimulatedMemory, seed: u64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        if self.images_of_recovery > 0 {
            let within =
                Self { images_of_recovery: 0, count: Arc::clone(&self.count_of_recovery), ..self.clone() };
            let images = self.images_of_recovery;
            image.observe(move |memory| {
                memory.for_each_image(images, seed, |image| within.check(&image, seed));
            });
        }
        let opened = PackedGraph::open(image.clone(), Reopening::Saved);
        image.ignore();
        let (graph, _) = opened.unwrap_or_else(|error| panic!("after a power cut it does not open: {error}"));
        let regions = image.numbers().expect("after a power cut regions are listed").len();
        assert_eq!(regions, 2, "after a power cut regions that nothing names are freed");
        let found = Adjacency::of(&graph);
        let allowed = self.allowed.lock();
        assert!(
            allowed.contains(&found),
            "after a power cut the graph is neither as before nor as after:\n{found:?}\n{:?}\n{:?}",
            allowed[0],
            allowed[1]
        );
        drop(allowed);
        if seed.is_multiple_of(4) {
            go_on(image, graph, found, seed);
        }
    }
}

/// Cuts the power of a creation on empty memory; how many images had no graph, and how many had it.
pub fn cut_creation(memory: &SimulatedMemory, options: &Options, images_max: usize) -> [u64; 2] {
    let options = *options;
    let counts = Arc::new(Mutex::new([0; 2]));
    let seen = Arc::clone(&counts);
    memory.observe(move |memory| {
        memory.for_each_image(images_max, 5, |image| {
            let opened = PackedGraph::open(image.clone(), Reopening::Saved);
            let is_there = match &opened {
                Ok((graph, _)) => Adjacency::of(graph) == Adjacency::with_vertices(options.vertices),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NotFound, "after a power cut: {error}");
                    let graph = PackedGraph::create(image, &options);
                    let graph = graph.expect("after a power cut a graph can be created");
                    graph.insert_edge(3, 4).expect("after a power cut the created graph takes edges");
                    false
                }
            };
            assert_eq!(is_there, opened.is_ok(), "after a power cut half a graph is there");
            seen.lock()[usize::from(is_there)] += 1;
        });
    });
    PackedGraph::create(memory.clone(), &options).unwrap();
    memory.ignore();
    let counts = counts.lock();
    *counts
}

/// Inserts into a graph that was recovered, some of it into logs, and recovers it once more.
fn go_on(memory: &SimulatedMemory, graph: PackedGraph<SimulatedMemory>, mut lists: Adjacency, seed: u64) {
    let count = lists.0.len() as u32;
    for at in 0..8 {
        let (source, target) = ((seed as u32 + at / 4) % count, at % count);
        graph.insert_edge(source, target).expect("after a power cut what was recovered takes edges");
        lists.insert(source, target);
    }
    assert_eq!(Adjacency::of(&graph), lists, "what was recovered goes on");
    drop(graph);
    let opened = PackedGraph::open(memory.clone(), Reopening::Saved);
    let (graph, _) = opened.unwrap_or_else(|error| panic!("what was recovered does not open again: {error}"));
    assert_eq!(
        Adjacency::of(&graph),
        lists,
        "what was recovered and went on is there after a second power cut"
    );
}
