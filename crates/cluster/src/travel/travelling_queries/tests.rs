//! Queries of three nodes in one thread, over messages that are lost, doubled and turned round from a seed.

use super::*;
use crate::digest::DigestWindow;
use crate::node::readers::Readers;
use crate::record::body::RecordBody;
use crate::record_id::{Author, RecordId};
use crate::remote::refused_snapshot::refused_snapshot;
use crate::remote::remote_snapshot::RemoteSnapshot;
use crate::remote::remote_view::RemoteView;
use crate::seeded::{OneIn, SeededChance};
use crate::tables::members::Members;
use crate::travel::open_queries::{Arrived, ChosenPlaces};
use crate::travel::stage_view::{OpenStageViews, StageView};
use crate::travel::stage_workers::do_work;
use crate::travel::travel_options::TravelOptions;
use evergraph_graph::budget::{Budget, Unlimited};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::stage_programs::{StageContext, StageLimits, StagePrograms, StageProgress, StageRunner};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::travel::{Routes, TravelStart};
use evergraph_graph::view::GraphView;
use evergraph_storage::index::directory::{IndexDirectory, Indexes};
use evergraph_storage::io::clock::{Clock as _, ManualClock};
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::snapshot::reader::Reader;
use evergraph_storage::transaction::writes::Writes;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};

mod choices;
mod ends;
mod small_rows;

static NO_WRITES: Writes = Writes::new();

const NODES: u16 = 3;
/// Rows are numbers below this.
const ROWS: u32 = 97;
/// Rows of a message of the toy.
const PER_MESSAGE: usize = 3;

/// A graph that nobody reads.
struct NoView(RemoteSnapshot, Arc<Catalogue>, IndexDirectory);

impl StageView for NoView {
    fn with(&self, read: &mut dyn FnMut(&dyn GraphView)) {
        read(&Reader::new(RemoteView::new(&self.0), &NO_WRITES, &self.1, &self.2));
    }

    fn group_count(&self) -> u32 {
        0
    }

    fn edges_read(&self) -> u64 {
        0
    }
}

struct NoViews;

impl OpenStageViews for NoViews {
    fn open(&self, _: SeenLog, _: &[PartitionId]) -> Result<Box<dyn StageView>> {
        let nothing = refused_snapshot(&Error::invalid("nobody reads"));
        Ok(Box::new(NoView(nothing, Arc::default(), IndexDirectory::new(Indexes::default()))))
    }
}

/// A program whose byte is the number of its stages: each row becomes two at other places, and the last stage sums what came. It
/// pauses twice whatever it does.
struct ToyPrograms;

struct ToyRunner {
    stages: u16,
    sum: u32,
    paused: Option<PausedToy>,
}

struct PausedToy {
    stage: u16,
    rows: Option<Vec<u32>>,
    pauses: usize,
}

impl StagePrograms for ToyPrograms {
    fn begin(&self, program: &[u8], _: StageLimits) -> Result<Box<dyn StageRunner>> {
        Ok(Box::new(ToyRunner { stages: u16::from(program[0]), sum: 0, paused: None }))
    }
}

fn next(row: u32) -> [u32; 2] {
    [(row * 2 + 1) % ROWS, (row * 5 + 3) % ROWS]
}

fn encoded(rows: &[u32]) -> EncodedRows {
    let bytes = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
    EncodedRows { count: rows.len() as u32, bytes }
}

fn decoded(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|row| u32::from_le_bytes(row.try_into().unwrap())).collect()
}

impl ToyRunner {
    fn begin(&mut self, work: PausedToy, context: &mut StageContext<'_>) -> Result<StageProgress> {
        assert!(self.paused.replace(work).is_none(), "it has paused");
        self.go_on(context)
    }

    fn send(&self, rows: &[u32], context: &mut StageContext<'_>) -> Result<()> {
        let places = u32::from(context.routes.places());
        for place in 0..places {
            let of: Vec<u32> = rows.iter().copied().filter(|row| row % places == place).collect();
            for rows in of.chunks(PER_MESSAGE) {
                context.out.put(RowsTarget::Place(place as u16), encoded(rows))?;
            }
        }
        Ok(())
    }
}

impl StageRunner for ToyRunner {
    fn stages(&self) -> u16 {
        self.stages
    }

    fn take(&mut self, stage: u16, rows: &[u8], context: &mut StageContext<'_>) -> Result<StageProgress> {
        self.begin(PausedToy { stage, rows: Some(decoded(rows)), pauses: 2 }, context)
    }

    fn end(&mut self, stage: u16, context: &mut StageContext<'_>) -> Result<StageProgress> {
        self.begin(PausedToy { stage, rows: None, pauses: 2 }, context)
    }

    fn go_on(&mut self, context: &mut StageContext<'_>) -> Result<StageProgress> {
        let mut paused = self.paused.take().expect("nothing else comes between");
        if paused.pauses > 0 {
            paused.pauses -= 1;
            self.paused = Some(paused);
            return Ok(StageProgress::Paused);
        }
        let PausedToy { stage, rows, .. } = paused;
        let is_last = stage + 1 == self.stages;
        match rows {
            Some(rows) if is_last => self.sum += rows.iter().sum::<u32>(),
            Some(rows) => self.send(&rows.into_iter().flat_map(next).collect::<Vec<_>>(), context)?,
            None if is_last => context.out.put(RowsTarget::Asker, encoded(&[self.sum]))?,
            None => {}
        }
        Ok(StageProgress::Done)
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Default)]
struct Faults {
    lost: OneIn,
    doubled: OneIn,
    /// Whether messages overtake each other.
    turned: bool,
}

/// How often threads of nodes were woken.
#[derive(Default)]
struct Wakes(AtomicU64);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct World {
    chance: SeededChance,
    faults: Faults,
    clock: Arc<ManualClock>,
    nodes: Vec<TravellingQueries>,
    under_way: Vec<(NodeId, NodeId, TravelMessage)>,
    /// Nothing comes from or to these.
    silent: Vec<u16>,
    /// Nothing goes from the first to the second.
    cut: Option<(u16, u16)>,
    log: DigestWindow,
    tables: ClusterTables,
    wakes: Arc<Wakes>,
}

fn author(node: u16) -> Author {
    Author { node: NodeId(node), incarnation: 1 }
}

/// A partition for each node, kept by so many.
fn tables(copies: usize) -> ClusterTables {
    let members = Members::new((0..NODES).map(|node| (NodeId(node), format!("{node}:0").into())));
    ClusterTables::new(PartitionCount::new(NODES).unwrap(), members, copies)
}

/// The same, where all nodes have joined.
fn joined(copies: usize) -> ClusterTables {
    let mut tables = tables(copies);
    for node in 0..NODES {
        let id = RecordId { author: author(node), number: 1 };
        let joins = RecordBody::Join { address: format!("{node}:0").into() };
        tables.apply(id, Timestamp(u64::from(node) + 1), joins);
    }
    tables
}

impl World {
    fn new(seed: u64, faults: Faults, options: TravelOptions) -> Self {
        Self::with_budget(seed, faults, options, &(Arc::new(Unlimited) as Arc<dyn Budget>))
    }

    fn with_budget(seed: u64, faults: Faults, options: TravelOptions, budget: &Arc<dyn Budget>) -> Self {
        let (clock, wakes) = (Arc::new(ManualClock::new(0)), Arc::<Wakes>::default());
        let node = |node| {
            TravellingQueries::new(TravelParts {
                author: author(node),
                views: Arc::new(NoViews),
                readers: Readers::new(SeenLog::START),
                programs: Arc::new(ToyPrograms),
                budget: Arc::clone(budget),
                clock: Arc::<ManualClock>::clone(&clock),
                waker: Waker::from(Arc::clone(&wakes)),
                options,
            })
        };
        Self {
            chance: SeededChance::new(seed),
            faults,
            nodes: (0..NODES).map(node).collect(),
            clock,
            under_way: Vec::new(),
            silent: Vec::new(),
            cut: None,
            log: DigestWindow::new(SeenLog::START),
            tables: tables(2),
            wakes,
        }
    }

    /// Begins a query of so many stages on node 0, with `rows` of its own or everywhere.
    fn begin(&mut self, stages: u16, rows: &[u32], memory_bytes: u64, time: Duration) -> TravelId {
        let program =
            TravelProgram { bytes: vec![stages as u8], stages, start: TravelStart::Rows, memory_bytes, time };
        let (queries, id) = (self.nodes[0].clone(), self.open(program));
        for row in rows {
            queries.send_first(id, Some(((row % u32::from(NODES)) as u16, encoded(&[*row])))).unwrap();
        }
        queries.send_first(id, None).unwrap();
        id
    }

    /// Begins a program on node 0, which has sent no rows yet.
    fn open(&mut self, program: TravelProgram) -> TravelId {
        let queries = self.nodes[0].clone();
        let id = queries.ask(SeenLog::START, program.clone()).unwrap();
        let routes = Routes::new(PartitionCount::new(NODES).unwrap(), NODES, vec![0, 1, 2]).unwrap();
        let log = ReadableLog { applied: &self.log, horizon: crate::log_position::LogPosition::START };
        let mut state = queries.shared.state.lock();
        state.requests.clear();
        let places = (0..NODES).map(author).collect();
        let places = ChosenPlaces { places, routes, last_resorts: BTreeSet::new() };
        state.start(self.clock.now(), (id, SeenLog::START, program), places, &log);
        drop(state);
        id
    }

    /// Another process is the node from here on.
    fn start_again(&mut self, node: u16) -> Author {
        let parts = self.nodes[usize::from(node)].parts().clone();
        let author = Author { incarnation: parts.author.incarnation + 1, ..parts.author };
        self.nodes[usize::from(node)] = TravellingQueries::new(TravelParts { author, ..parts });
        author
    }

    /// One thing happens: a message comes, or a worker works, or time passes.
    fn happen(&mut self) {
        let log = ReadableLog { applied: &self.log, horizon: crate::log_position::LogPosition::START };
        let now = self.clock.now();
        match self.chance.below(4) {
            0 if !self.under_way.is_empty() => {
                let last = self.under_way.len() as u64;
                let at = if self.faults.turned { self.chance.below(last) as usize } else { 0 };
                let (from, to, message) = self.under_way.remove(at);
                if self.chance.happens(self.faults.doubled) {
                    self.under_way.push((from, to, message.clone()));
                }
                let is_silent = self.silent.contains(&from.0)
                    || self.silent.contains(&to.0)
                    || self.cut == Some((from.0, to.0));
                if !self.chance.happens(self.faults.lost) && !is_silent {
                    let to = &self.nodes[usize::from(to.0)];
                    to.heard(now, from);
                    to.take(now, from, message, &log);
                }
            }
            1 => {
                self.clock.advance(Duration::from_millis(self.chance.below(20)));
                // Heartbeats.
                let heard: Vec<u16> = (0..NODES).filter(|node| !self.silent.contains(node)).collect();
                for other in &heard {
                    for node in heard.iter().filter(|node| self.cut != Some((**node, *other))) {
                        self.nodes[usize::from(*other)].heard(self.clock.now(), NodeId(*node));
                    }
                }
            }
            _ => {
                let node = self.chance.below(u64::from(NODES)) as usize;
                let queries = self.nodes[node].clone();
                if let Some((id, begin, work)) = queries.next_work() {
                    do_work(&queries, id, &begin, work);
                }
            }
        }
        for node in 0..NODES {
            let queries = &self.nodes[usize::from(node)];
            queries.step(self.clock.now(), TakenFrames::All, &log, &self.tables);
            while let Some((to, message, _)) = queries.next_message() {
                self.under_way.push((NodeId(node), to, message));
            }
        }
    }

    /// Runs until all results have come.
    fn run(&mut self, id: TravelId) -> Result<u32> {
        let mut sum = 0;
        for _ in 0..200_000 {
            self.happen();
            let queries = self.nodes[0].clone();
            loop {
                let arrived = queries.wait(Duration::ZERO, |_, look| Some(look.arrived(id)));
                match arrived.unwrap()? {
                    Arrived::Results(rows) => sum += decoded(&rows).iter().sum::<u32>(),
                    Arrived::All => return Ok(sum),
                    Arrived::Nothing => break,
                }
            }
        }
        let journeys: Vec<String> =
            self.nodes.iter().map(|node| format!("{:?}", node.shared.state.lock().journeys)).collect();
        panic!("{id:?} does not end: {journeys:#?}, {:?}", self.under_way);
    }

    /// Runs until nothing is open.
    fn settle(&mut self) {
        for _ in 0..200_000 {
            if self.nodes.iter().all(|node| node.open() == OpenTravels::default()) {
                return;
            }
            self.happen();
        }
        panic!("something stays open: {:?}", self.nodes);
    }
}

fn expected(stages: u16, rows: &[u32]) -> u32 {
    let mut rows = rows.to_vec();
    for _ in 1..stages {
        rows = rows.into_iter().flat_map(next).collect();
    }
    rows.iter().sum()
}

const LONG: Duration = Duration::from_secs(3000);
const MUCH: u64 = 1 << 30;

#[test]
fn the_thread_of_a_node_is_woken_only_for_what_goes_out() {
    let rows: Vec<u32> = (0..20).collect();
    let mut world = World::new(1, Faults::default(), TravelOptions::default());
    let id = world.begin(4, &rows, MUCH, LONG);
    assert_eq!(world.run(id).unwrap(), expected(4, &rows));
    let sent: u64 = world.nodes.iter().map(|node| node.counts()).map(|of| of.rows_messages + of.others).sum();
    let wakes = world.wakes.0.load(Ordering::Relaxed);
    // A query wakes it when it asks, for each of its first rows, and behind them.
    let asked = rows.len() as u64 + 2;
    assert!((1..=sent + asked).contains(&wakes), "{wakes} for {sent} messages");
}

#[test]
fn all_rows_of_all_stages_are_taken_once_whatever_the_network_does() {
    let rows: Vec<u32> = (0..7).collect();
    let (mut again, mut begun) = (0, 0);
    for seed in 0..150 {
        let turned = seed % 3 > 0;
        let faults = match seed % 2 {
            0 => Faults { turned, ..Faults::default() },
            _ => Faults { lost: OneIn(6), doubled: OneIn(5), turned },
        };
        let options = match seed % 5 {
            // One message at a time has room, and none before its query.
            0 => TravelOptions { inbound_bytes_max: 1, early_bytes_max: 0, ..TravelOptions::default() },
            _ => TravelOptions::default(),
        };
        let mut world = World::new(seed, faults, options);
        let stages = 1 + (seed % 4) as u16;
        let ids: Vec<_> = (0..1 + seed % 2).map(|_| world.begin(stages, &rows, MUCH, LONG)).collect();
        for id in ids {
            assert_eq!(world.run(id).unwrap(), expected(stages, &rows), "seed {seed}");
            world.nodes[0].end(id);
            begun += 1;
        }
        world.settle();
        again += world.nodes.iter().map(|node| node.counts().again).sum::<u64>();
        let reading: usize = world.nodes.iter().map(|node| node.parts().readers.count().1).sum();
        assert_eq!(reading, 0, "seed {seed}: a snapshot stays in use");
    }
    assert!(again > 500 && begun > 200, "{again} {begun}");
}

#[test]
fn a_silent_node_fails_the_query_and_a_silent_asker_ends_it() {
    for silent in [1, 0] {
        let mut world = World::new(7, Faults::default(), TravelOptions::default());
        let id = world.begin(3, &[1, 2, 3, 4], MUCH, LONG);
        while world.nodes[1].open().running == 0 {
            world.happen();
        }
        world.silent = vec![silent];
        let error = world.run(id).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        assert!(error.to_string().contains("has said nothing for 400ms"), "{error}");
        // The end does not come to who is not heard.
        world.nodes[0].end(id);
        world.settle();
    }
}

#[test]
fn an_asker_that_is_not_heard_but_hears_learns_that_its_query_has_ended() {
    // Also if that is lost at first.
    for lost in [OneIn(0), OneIn(1)] {
        let mut world = World::new(8, Faults::default(), TravelOptions::default());
        let id = world.begin(3, &[1, 2, 3, 4], MUCH, LONG);
        while world.nodes[1].open().running == 0 {
            world.happen();
        }
        world.cut = Some((0, 1));
        world.faults.lost = lost;
        while world.nodes[1].open().running > 0 {
            world.happen();
        }
        world.faults.lost = OneIn(0);
        world.cut = None;
        let error = world.run(id).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        assert!(error.to_string().contains("has not heard of the one that asked"), "{error}");
        world.nodes[0].end(id);
        world.settle();
    }
}

#[test]
fn a_query_ends_everywhere_with_its_time_and_with_its_memory() {
    let mut world = World::new(9, Faults { lost: OneIn(3), ..Faults::default() }, TravelOptions::default());
    let id = world.begin(4, &[1, 2, 3, 4], MUCH, Duration::from_millis(1));
    for _ in 0..1000 {
        world.happen();
    }
    assert!(world.nodes.iter().all(|node| node.open().running == 0), "{:?}", world.nodes);
    let error = world.run(id).unwrap_err();
    let text = error.to_string();
    assert!(error.kind() == ErrorKind::Busy && text.contains("the 1.0ms that it had"), "{text}");
    assert!(text.contains("raise its timeout") && text.contains("with('travel', false)"), "{text}");
    world.nodes[0].end(id);
    world.settle();
    let mut world = World::new(10, Faults::default(), TravelOptions::default());
    let id = world.begin(4, &[1], 10, LONG);
    let error = world.run(id).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    world.nodes[0].end(id);
    world.settle();
}

/// Its asker may have gone before the thread of the node has seen it: nobody would end it afterwards.
#[test]
fn a_query_that_has_ended_before_it_begins_never_does() {
    let mut world = World::new(10, Faults::default(), TravelOptions::default());
    world.tables = joined(2);
    let (bytes, memory_bytes, time) = (vec![1], 1 << 20, Duration::from_secs(60));
    let program = TravelProgram { bytes, stages: 1, start: TravelStart::Everywhere, memory_bytes, time };
    let queries = world.nodes[0].clone();
    let id = queries.ask(SeenLog::START, program).unwrap();
    queries.end(id);
    world.happen();
    assert!(world.nodes.iter().all(|node| node.open() == OpenTravels::default()), "it is open for good");
    assert!(world.under_way.is_empty(), "others begin");
}

#[test]
fn without_losses_nothing_is_sent_but_rows() {
    // Nobody asks for what is on its way.
    let options = TravelOptions { want_after: LONG, ..TravelOptions::default() };
    let mut world = World::new(12, Faults::default(), options);
    let id = world.begin(3, &[], MUCH, LONG);
    assert_eq!(world.run(id).unwrap(), 0);
    let count = |of: fn(TravelCounts) -> u64| world.nodes.iter().map(|node| of(node.counts())).sum::<u64>();
    // First rows and results of two others, and six ways twice between.
    assert_eq!((count(|of| of.rows_messages), count(|of| of.again)), (2 + 2 * 6 + 2, 0));
    assert_eq!(count(|of| of.others), 2, "it begins at two others");
}

/// A runner of a node knows how much of the time was left when it began, and says so as its timeout.
#[test]
fn an_error_of_a_stage_whose_time_is_over_is_not_the_querys() {
    let mut world = World::new(13, Faults::default(), TravelOptions::default());
    let id = world.begin(3, &[1, 2, 3, 4], MUCH, Duration::from_millis(900));
    while world.nodes[1].open().running == 0 {
        world.happen();
    }
    world.clock.advance(Duration::from_secs(1));
    let late = Error::new(ErrorKind::Limit, "the query took longer than its timeout of 0.8 s");
    world.nodes[1].worked(id, Duration::ZERO, WorkDone::Failed(late));
    let error = world.run(id).unwrap_err();
    assert!(error.kind() == ErrorKind::Busy && error.to_string().contains("the 900.0ms"), "{error}");
    world.nodes[0].end(id);
    world.settle();
}

#[test]
fn rows_and_results_are_kept_in_memory_of_the_node_and_given_back() {
    let memory = MemoryBudget::new(u64::MAX);
    let budget: Arc<dyn Budget> = Arc::new(memory.clone());
    let mut world = World::with_budget(14, Faults::default(), TravelOptions::default(), &budget);
    let id = world.begin(3, &[1, 2, 3, 4], MUCH, LONG);
    assert!(memory.used_bytes() > 0, "first rows are kept");
    assert_eq!(world.run(id).unwrap(), expected(3, &[1, 2, 3, 4]));
    world.nodes[0].end(id);
    world.settle();
    assert_eq!(memory.used_bytes(), 0);
    let budget: Arc<dyn Budget> = Arc::new(MemoryBudget::new(100));
    let mut world = World::with_budget(15, Faults::default(), TravelOptions::default(), &budget);
    let queries = world.nodes[0].clone();
    let program =
        TravelProgram { bytes: vec![2], stages: 2, start: TravelStart::Rows, memory_bytes: MUCH, time: LONG };
    let id = world.open(program);
    let over = queries.send_first(id, Some((0, encoded(&[1])))).unwrap_err();
    assert_eq!(over.kind(), ErrorKind::Limit);
    let text = over.to_string();
    assert!(
        text.contains("for rows of queries that travel exceeds the memory budget of 100 bytes"),
        "{text}"
    );
    queries.end(id);
    world.settle();
}
