//! The log is away: every node goes on reading what it has applied, alone and with the others; writes end with an error that says
//! what is known, or wait, and go on when it is back. What was acknowledged is there then, and what was not can be asked.

use crate::cluster::databases::{Databases, travelling};
use crate::cluster::nodes::{ClusterSetup, PATIENCE, pause, waiting};
use crate::paths::TwoNodes;
use crate::{after, fresh};
use evergraph::graph::error::Error;
use evergraph::graph::timestamp::Timestamp;
use evergraph::graph::unknown_commit::UnknownCommit;
use evergraph::{
    Database, Direction, ErrorKind, Freshness, Isolation, ReadByName, Result, Snapshot, TransactionOptions,
    VertexId,
};
use evergraph_cluster::log::memory::LogFaults;
use evergraph_cluster::seeded::OneIn;
use evergraph_cluster::transaction::coordinator::CoordinatorOptions;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long nodes in memory wait for the log. What waits when it comes back has almost all of it left.
const LOG_PATIENCE: Duration = Duration::from_secs(6);
/// Nothing may take as long: it hangs.
const HANGING: Duration = Duration::from_secs(30);
/// How long the log is away at least: for some heartbeats, which come every 250 ms.
const AWAY: Duration = Duration::from_millis(1500);
/// In the ring.
const PEOPLE: i64 = 6;
/// Its stages travel.
const HOPS: &str = "g.V().hasLabel('Person').out('KNOWS').out('KNOWS').count()";
const BORN: &str = "g.V().hasLabel('Person').values('born').sum()";

/// Work in a thread of its own. The test fails without it if it hangs.
struct Background<T> {
    /// With how long it took.
    ended: Receiver<(T, Duration)>,
    result: Option<(T, Duration)>,
}

impl<T: Send + 'static> Background<T> {
    fn begin(work: impl FnOnce() -> T + Send + 'static) -> Self {
        let (ends, ended) = channel();
        thread::spawn(move || {
            let begun = Instant::now();
            let result = work();
            // The test may have failed.
            let _ = ends.send((result, begun.elapsed()));
        });
        Self { ended, result: None }
    }

    fn has_ended(&mut self) -> bool {
        if self.result.is_none() {
            match self.ended.try_recv() {
                Ok(result) => self.result = Some(result),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => panic!("work in the background has panicked"),
            }
        }
        self.result.is_some()
    }

    fn wait(self) -> T {
        self.wait_within(HANGING)
    }

    /// The same; it must have taken less than `time`.
    fn wait_within(mut self, time: Duration) -> T {
        let ended = self.result.take();
        let ended =
            ended.unwrap_or_else(|| self.ended.recv_timeout(HANGING).expect("it ends, and does not panic"));
        let (result, took) = ended;
        assert!(took < time, "it took {took:?}");
        result
    }
}

/// People of whom each knows the next one, and pets of no age.
#[derive(Clone)]
struct Ring {
    people: Vec<VertexId>,
    pets: Vec<VertexId>,
    committed: Timestamp,
}

impl Ring {
    /// Written by `db`.
    fn write(db: &Database) -> Self {
        let written = db.transact_committed(|tx| {
            let add = |born: i64| tx.add_vertex("Person", &[("born", born.into())]);
            let people = (0..PEOPLE).map(add).collect::<Result<Vec<_>>>()?;
            for (at, person) in people.iter().enumerate() {
                tx.add_edge(*person, "KNOWS", people[(at + 1) % people.len()], &[])?;
            }
            // With an age: whoever gives the first of a label conflicts with others who do.
            let pets = (0..3).map(|_| tx.add_vertex("Pet", &[("age", 0.into())]));
            let pets = pets.collect::<Result<Vec<_>>>()?;
            Ok((people, pets))
        });
        let ((people, pets), committed) = written.unwrap();
        Self { people, pets, committed: committed.timestamp }
    }

    /// A snapshot, or a transaction, reads it as it was written.
    fn check(&self, view: &impl ReadByName) {
        for (at, person) in self.people.iter().enumerate() {
            assert_eq!(view.get(*person, "born").unwrap(), Some((at as i64).into()));
            let edges = view.edges(*person, Direction::Out, &["KNOWS"]).unwrap();
            let known: Vec<VertexId> = edges.iter().map(|(_, other)| *other).collect();
            assert_eq!(known, [self.people[(at + 1) % self.people.len()]]);
        }
        assert_eq!(view.vertices(Some("Person")).unwrap().len(), self.people.len());
    }

    /// A node reads it: at a snapshot from `before`, at new ones, in transactions, and by queries that travel.
    fn check_node(&self, db: &Database, before: &Snapshot) {
        self.check(before);
        self.check(&db.snapshot());
        self.check(&db.snapshot_with(Freshness::After(self.committed)));
        let reads = db.begin_with(after(self.committed).isolation(Isolation::Serializable));
        self.check(reads.by_id_ref());
        reads.commit().expect("one that only reads asks no log");
        assert_eq!(db.gremlin(HOPS).one::<i64>().unwrap(), PEOPLE);
        assert_eq!(db.gremlin(HOPS).transaction(after(self.committed)).one::<i64>().unwrap(), PEOPLE);
        assert_eq!(db.gremlin(BORN).one::<i64>().unwrap(), (0..PEOPLE).sum::<i64>());
    }

    /// All nodes read it, again and again, at last when the log was away for long enough, `is_over`, and the queries of each
    /// travelled to all.
    fn check_until(&self, nodes: &[(&Database, Snapshot)], mut is_over: impl FnMut() -> bool) {
        let begun = Instant::now();
        loop {
            let travel = || nodes.iter().all(|(db, _)| travels(db, nodes.len()));
            let is_last = begun.elapsed() >= AWAY && is_over() && travel();
            nodes.iter().for_each(|(db, before)| self.check_node(db, before));
            if is_last {
                return;
            }
            assert!(
                begun.elapsed() < HANGING,
                "a write does not end, or a query does not travel: {}",
                notes(nodes[0].0)
            );
            pause(Duration::from_millis(10));
        }
    }

    /// Begins to write the age of a pet.
    fn begin_to_write_age(
        &self,
        db: &Database,
        pet: usize,
        options: TransactionOptions,
    ) -> Background<Result<()>> {
        let (ring, db) = (self.clone(), db.clone());
        Background::begin(move || ring.write_age(&db, pet, options))
    }

    /// Writes the age of a pet.
    fn write_age(&self, db: &Database, pet: usize, options: TransactionOptions) -> Result<()> {
        let mut writes = db.begin_with(options);
        writes.set(self.pets[pet], "age", 1)?;
        writes.commit().map(drop)
    }

    /// The ages of pets.
    fn ages(&self, view: &impl ReadByName) -> Vec<i64> {
        let age = |pet: &VertexId| view.get(*pet, "age").unwrap().and_then(|age| age.as_i64()).unwrap();
        self.pets.iter().map(age).collect()
    }

    /// A node that has everything reads the ring as it was written, and pets of these ages.
    fn check_fresh(&self, db: &Database, ages: [i64; 3]) {
        let snapshot = db.snapshot_with(Freshness::Fresh);
        self.check(&snapshot);
        assert_eq!(self.ages(&snapshot), ages);
        assert_eq!(db.gremlin("g.V().count()").transaction(fresh()).one::<i64>().unwrap(), PEOPLE + 3);
    }
}

/// What nodes did for a query whose stages travel.
fn notes(db: &Database) -> String {
    db.gremlin(HOPS).profile().unwrap().notes.join("; ")
}

/// Whether so many nodes run the stages of a query.
fn travels(db: &Database, nodes: usize) -> bool {
    let notes = db.gremlin(HOPS).profile().unwrap().notes;
    notes.len() == nodes && notes.iter().all(|note| note.starts_with("node "))
}

/// Asks for everything that was acknowledged.
fn begin_fresh(db: &Database) -> Background<Error> {
    let db = db.clone();
    Background::begin(move || db.snapshot_with(Freshness::Fresh).vertices(None).unwrap_err())
}

/// Nothing came of a request to the log, and it may be asked again.
fn check_busy(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("the log"), "{error}");
}

/// How a log in memory is away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Away {
    /// It has no leader: requests are refused, and streams break off.
    Refusing,
    /// It tells where it ends; what it takes is lost, and it shows nothing.
    Silent,
}

impl Away {
    fn faults(self) -> LogFaults {
        let always = OneIn(1);
        match self {
            Self::Refusing => LogFaults { refused: always, cut: always, ..LogFaults::default() },
            Self::Silent => LogFaults { lost: always, lag: always, ..LogFaults::default() },
        }
    }
}

fn of_unknown_outcome(error: &Error) -> UnknownCommit {
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error}");
    *error.cause::<UnknownCommit>().expect("it is named")
}

fn nodes_read_on_and_writes_end_or_wait(seed: u64, away: Away) {
    let coordinator = CoordinatorOptions { patience: LOG_PATIENCE, ..waiting(PATIENCE) };
    let setup = ClusterSetup { seed, coordinator, stages: travelling(), ..ClusterSetup::default() };
    let databases = Databases::start(&setup);
    let [first, second, third] = databases.all();
    let ring = Ring::write(first);
    databases.wait();
    assert!(travels(second, 3), "{}", notes(second));
    let nodes = [first, second, third].map(|db| (db, db.snapshot()));
    // One that has begun reads its own writes, and commits when the log is back.
    let mut open = second.begin();
    open.set(ring.pets[2], "age", 1).unwrap();

    databases.log().set_faults(away.faults());
    // What was under way has come then.
    pause(Duration::from_millis(50));
    let messages = databases.log().messages().len();
    // A commit says within its time that it is not known, and a name that is new that it was not given.
    let in_time = TransactionOptions::default().timeout(Duration::from_secs(1));
    let mut unknown = ring.begin_to_write_age(first, 0, in_time);
    let of_third = third.clone();
    let mut unnamed = Background::begin(move || of_third.begin().add_vertex("Ghost", &[]).unwrap_err());
    // A silent log tells its end.
    let mut not_fresh = (away == Away::Refusing).then(|| begin_fresh(first));
    ring.check_until(&nodes, || {
        let is_refused = not_fresh.as_mut().is_none_or(Background::has_ended);
        unknown.has_ended() && unnamed.has_ended() && is_refused
    });
    // The time of the transaction and a moment more; what nodes wait for the log; not even that.
    let unknown = of_unknown_outcome(&unknown.wait_within(LOG_PATIENCE).unwrap_err());
    check_busy(&unnamed.wait_within(2 * LOG_PATIENCE));
    not_fresh.into_iter().for_each(|refused| check_busy(&refused.wait_within(LOG_PATIENCE)));
    ring.check(open.by_id_ref());
    assert_eq!(databases.log().messages().len(), messages, "it takes nothing");

    // One that has patience commits once the log is back.
    let mut waiting = ring.begin_to_write_age(third, 1, TransactionOptions::default());
    pause(Duration::from_millis(300));
    assert!(!waiting.has_ended(), "it does not wait");
    databases.log().set_faults(LogFaults::default());
    waiting.wait().unwrap();
    open.commit().unwrap();
    let age_of_unknown = i64::from(third.settle(unknown).unwrap().is_some());
    for db in [first, second, third] {
        ring.check_fresh(db, [age_of_unknown, 1, 1]);
    }
    // What was read before is as it was.
    nodes.iter().for_each(|(_, before)| {
        ring.check(before);
        assert_eq!(ring.ages(before), [0, 0, 0]);
    });
    databases.check();
}

#[test]
fn nodes_read_on_while_the_log_refuses_and_writes_end_or_wait_for_it() {
    nodes_read_on_and_writes_end_or_wait(50, Away::Refusing);
}

#[test]
fn nodes_read_on_while_the_log_is_silent_and_writes_end_or_wait_for_it() {
    nodes_read_on_and_writes_end_or_wait(51, Away::Silent);
}

/// A log tells that it ends behind what a node has read of it.
#[test]
fn a_fresh_snapshot_waits_for_what_the_log_has_and_ends_if_it_does_not_come() {
    let coordinator = CoordinatorOptions { patience: Duration::from_secs(2), ..waiting(PATIENCE) };
    let databases = Databases::start(&ClusterSetup { seed: 52, coordinator, ..ClusterSetup::default() });
    let [first, second, third] = databases.all();
    let ring = Ring::write(first);
    databases.wait();
    let messages = databases.log().messages().len();
    databases.log().set_faults(LogFaults { lag: OneIn(1), ..LogFaults::default() });
    // It takes the commit and the cancel, and shows neither.
    let written = ring.begin_to_write_age(second, 0, TransactionOptions::default());
    let unknown = of_unknown_outcome(&written.wait_within(4 * LOG_PATIENCE).unwrap_err());
    assert!(databases.log().messages().len() > messages, "it takes nothing");
    let not_fresh = begin_fresh(first).wait_within(2 * LOG_PATIENCE);
    assert_eq!(not_fresh.kind(), ErrorKind::Busy, "{not_fresh}");
    ring.check(&first.snapshot());
    databases.log().set_faults(LogFaults::default());
    let age = i64::from(third.settle(unknown).unwrap().is_some());
    [first, second, third].iter().for_each(|db| ring.check_fresh(db, [age, 0, 0]));
    databases.check();
}

#[test]
fn nodes_read_on_while_etcd_stands_still_and_a_commit_waits_for_it() {
    let Some(cluster) = TwoNodes::create() else { return };
    let [first, second] = cluster.open();
    let ring = Ring::write(&first);
    drop(second.snapshot_with(Freshness::Fresh));
    let nodes = [(&first, first.snapshot()), (&second, second.snapshot())];
    cluster.stop_etcd();
    let mut not_fresh = begin_fresh(&first);
    ring.check_until(&nodes, || not_fresh.has_ended());
    check_busy(&not_fresh.wait());
    // It begins only now: it waits for 10 s.
    let mut waiting = ring.begin_to_write_age(&second, 0, TransactionOptions::default());
    pause(Duration::from_millis(300));
    nodes.iter().for_each(|(db, before)| ring.check_node(db, before));
    assert!(!waiting.has_ended(), "it does not wait");
    cluster.continue_etcd();
    waiting.wait().unwrap();
    [&first, &second].iter().for_each(|db| ring.check_fresh(db, [1, 0, 0]));
    ring.write_age(&first, 1, fresh()).unwrap();
    [&first, &second].iter().for_each(|db| ring.check_fresh(db, [1, 1, 0]));
    nodes.iter().for_each(|(_, before)| ring.check(before));
    drop(nodes);
    [first, second].iter().for_each(|db| db.close().unwrap());
}
