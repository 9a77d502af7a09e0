//! Reads: what a node reads of all partitions at S is the graph at S, while commits and merges go on.

use crate::cluster::{Cluster, ClusterSetup, Partition};
use crate::judge::Judge;
use crate::shown::Shown;
use crate::writer::{CONTENDED, Writer};
use evergraph_cluster::digest::{LogDigest, SeenLog};
use evergraph_cluster::log::memory::LogFaults;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::answer_workers::{AnswerWorkers, AnswerWorkersOptions};
use evergraph_cluster::node::answering::{AnswerQuestions, AskedQuestion};
use evergraph_cluster::node::partition_store::PartitionStore as _;
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::remote::partition_view::PartitionView;
use evergraph_cluster::remote::question::{QuestionId, RefusalReason};
use evergraph_cluster::remote::remote_snapshot::RemoteLimits;
use evergraph_cluster::remote::remote_view::RemoteView;
use evergraph_cluster::remote::view_answer::ViewAnswer;
use evergraph_cluster::remote::view_asking::{OwnWork, PartitionAsker, ask_all};
use evergraph_cluster::remote::view_question::{ViewQuestion, ViewQuestions};
use evergraph_cluster::seeded::OneIn;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, PartitionId};
use evergraph_graph::travel::Travels;
use evergraph_storage::index::directory::{IndexDirectory, Indexes};
use evergraph_storage::io::clock::SystemClock;
use evergraph_storage::snapshot::reader::Reader;
use evergraph_storage::sync::Mutex;
use evergraph_storage::transaction::writes::Writes;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::task::Waker;
use std::time::Duration;

static NO_WRITES: Writes = Writes::new();

/// Few items a message, and many.
const LIMITS: [RemoteLimits; 2] = [
    RemoteLimits { answer_bytes_max: 300, kept_bytes_max: 0 },
    RemoteLimits { answer_bytes_max: 4 << 20, kept_bytes_max: 64 << 20 },
];

/// How often the graph is read while somebody writes.
const READS: usize = 40;
/// Transactions that are written meanwhile, each time.
const WRITES_PER_READ: usize = 3;

/// Reads the whole graph on a node, and compares it with what the log says.
pub fn read(cluster: &Cluster, judge: &mut Judge, round: usize) {
    let (moment, snapshot) = cluster.nodes[round % 3].snapshot(LIMITS[round % 2]);
    let indexes = IndexDirectory::new(Indexes::default());
    let reader = Reader::new(RemoteView::new(&snapshot), &NO_WRITES, moment.catalogue(), &indexes);
    let shown = Shown::of(&reader);
    judge.read(&cluster.log);
    let at = moment.seen().position;
    assert_eq!(shown, *judge.graph_at(at.end()), "node {} at message {at}", round % 3);
}

#[test]
fn every_node_reads_the_graph_as_of_any_moment_while_commits_go_on() {
    let faults = LogFaults {
        delay_max: Duration::from_millis(3),
        doubled: OneIn(20),
        lag: OneIn(5),
        cut: OneIn(80),
        ..LogFaults::default()
    };
    let cluster = Cluster::start(1, faults);
    let (mut judge, mut writer) = (Judge::new(), Writer::new(&cluster, 2));
    let (reads, begun) = sync_channel(1);
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || {
            begun.iter().for_each(|()| (0..WRITES_PER_READ).for_each(|_| writer.write()));
        });
        for round in 0..READS {
            reads.send(()).expect("somebody writes");
            read(&cluster, &mut judge, round);
            cluster.nodes[round % 3].merge();
        }
        drop(reads);
        writing.join().expect("somebody writes");
    });
    judge.read(&cluster.log);
    assert_eq!(judge.commits.len(), READS * WRITES_PER_READ);
    assert_eq!(judge.refused, judge.commits.len() / CONTENDED);
    nodes_come_to_rest(&cluster, judge.state.seen().position);
    (0..3).for_each(|round| read(&cluster, &mut judge, round));
}

/// Nobody writes or reads any more: all nodes come to the end of the log, and keep nothing before it.
fn nodes_come_to_rest(cluster: &Cluster, end: LogPosition) {
    cluster.wait_until("a node does not come to the end of the log", || {
        cluster.nodes.iter().all(|node| node.applied() >= end)
    });
    cluster.wait_until("a node keeps what nobody reads", || {
        cluster.nodes.iter().all(|node| node.readers.horizon() >= end)
    });
}

/// Asks one partition through its workers.
struct WorkersAsker {
    workers: Mutex<AnswerWorkers>,
    store: Mutex<Partition>,
}

fn workers() -> AnswerWorkers {
    let clock = Arc::new(SystemClock::new());
    AnswerWorkers::start("node", AnswerWorkersOptions::default(), clock, Waker::noop().clone()).unwrap()
}

fn seen(position: u64) -> SeenLog {
    SeenLog { position: LogPosition(position), digest: LogDigest([position as u8; 16]) }
}

impl WorkersAsker {
    fn answer(&self, position: u64, asked: Vec<u8>) -> std::result::Result<Vec<u8>, RefusalReason> {
        let id = QuestionId { asker: Author { node: NodeId(1), incarnation: 0 }, number: 1 };
        let (partition, at, ends_at) = (PartitionId(0), seen(position), Duration::MAX);
        let mut workers = self.workers.lock();
        let store = self.store.lock();
        workers.begin(&*store, AskedQuestion { id, partition, at, ends_at, asked });
        loop {
            let next = AnswerQuestions::<Partition>::next_answer(&mut *workers);
            if let Some((_, answered)) = next {
                return answered;
            }
            std::thread::yield_now();
        }
    }
}

impl PartitionAsker for WorkersAsker {
    fn ask_beside(
        &self,
        messages: Vec<(PartitionId, Vec<u8>)>,
        own_work: OwnWork<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        own_work(&|| Ok(()))?;
        Ok(messages.into_iter().map(|(_, asked)| self.answer(5, asked).unwrap()).collect())
    }

    fn travels(&self) -> Option<Arc<dyn Travels>> {
        None
    }

    fn own_view(&self, _: PartitionId) -> Option<Arc<dyn PartitionView>> {
        None
    }

    fn keeps_all(&self) -> bool {
        false
    }
}

#[test]
fn workers_answer_from_a_store_and_refuse_what_is_merged_away_or_belongs_elsewhere() {
    let mut store = ClusterSetup::default().open(PartitionId(0));
    store.publish_through(&seen(5)).unwrap();
    store.set_horizon(LogPosition(4));
    let asker = WorkersAsker { workers: Mutex::new(workers()), store: Mutex::new(store) };
    let live = |group| ViewQuestion::Live { groups: vec![GroupId(group)] };
    let answered = ask_all(&asker, 1000, vec![(PartitionId(0), live(6))]).unwrap();
    assert_eq!(answered[0].1, ViewAnswer::Live(vec![[0; 64]]));
    let message = |question: &ViewQuestion| {
        let mut message = ViewQuestions::head(1000, 1);
        question.encode(&mut message);
        message
    };
    assert_eq!(asker.answer(3, message(&live(6))), Err(RefusalReason::TooOld));
    let elsewhere = asker.answer(5, message(&live(1)));
    assert!(matches!(elsewhere, Err(RefusalReason::Failed { .. })), "{elsewhere:?}");
}
