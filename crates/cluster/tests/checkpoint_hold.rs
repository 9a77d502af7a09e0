//! Checkpoint hold: how long a checkpoint holds the thread of a node whose certifier is full, in one go and in steps.
//!
//! A measurement, not a test: it prints what it found. See `docs/benchmarks/cluster.md`.
//!
//! ```text
//! cargo test --release -p evergraph-cluster --test checkpoint_hold -- --ignored --nocapture
//! ```
//!
//! Of stores none is here: their logs are synced beside the thread of the node, too. The folder for temporary files should lie on a
//! disk.
#![allow(clippy::unwrap_used, reason = "a measurement says what went wrong by where it panics")]

use evergraph_cluster::certification::certifier::CertifierLimits;
use evergraph_cluster::key_hash::graph_salt::{GraphSalt, KeyHash};
use evergraph_cluster::log::reader::ReadMessage;
use evergraph_cluster::node::apply::Applier;
use evergraph_cluster::node::checkpoint;
use evergraph_cluster::node::replicated_state::ReplicatedState;
use evergraph_cluster::node::store_partition::StorePartition;
use evergraph_cluster::record::body::{Record, RecordBody};
use evergraph_cluster::record::message::{Message, MessageBuilder};
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::tables::cluster_tables::ClusterTables;
use evergraph_cluster::tables::members::Members;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::split_mix::mix;
use evergraph_graph::timestamp::Timestamp;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::sync::thread::spawn;
use std::sync::Arc;
use std::sync::mpsc::{TryRecvError, channel};
use std::time::Duration;

const SALT: GraphSalt = GraphSalt(*b"salt of a graph.");
const AUTHOR: Author = Author { node: NodeId(0), incarnation: 0 };
/// Of a transaction of one edge.
const TOUCHES: u64 = 8;
/// How often each is measured.
const ROUNDS: usize = 5;

type Node = Applier<StorePartition<MemoryEngine>>;

/// Messages of as many transactions as have room, each of which touches what none before has.
struct Writer {
    records: u64,
    touched: u64,
}

impl Writer {
    fn message(&mut self, state: &ReplicatedState, first: Option<RecordBody>) -> ReadMessage {
        let (mut builder, since) = (MessageBuilder::new(AUTHOR), state.seen().position.end());
        let mut next = first.unwrap_or_else(|| self.transaction(since));
        while builder.push(&Record { number: self.records + 1, body: next }) {
            self.records += 1;
            next = self.transaction(since);
        }
        let bytes: Arc<[u8]> = builder.finish(&state.seen()).into();
        let (position, message) = (state.seen().position.next(), Message::decode(&bytes).unwrap());
        ReadMessage { position, message, bytes }
    }

    fn transaction(&mut self, since: Timestamp) -> RecordBody {
        let touches = (self.touched..self.touched + TOUCHES).map(|number| KeyHash(mix(number))).collect();
        self.touched += TOUCHES;
        let last = TransactionPart { touches, ..TransactionPart::default() };
        RecordBody::Transaction { since, parts: 0, last }
    }
}

fn first_state() -> ReplicatedState {
    let members = Members::new([(AUTHOR.node, "node-0:1".into())]);
    let tables = ClusterTables::new(PartitionCount::new(64).unwrap(), members, 1);
    ReplicatedState::new(SALT, CertifierLimits::default(), tables)
}

/// What it takes to do something.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let clock = SystemClock::new();
    let begins_at = clock.now();
    let done = work();
    (done, clock.now() - begins_at)
}

#[test]
#[ignore = "a measurement"]
fn how_long_a_checkpoint_holds_the_thread_of_a_node() {
    let folder = tempfile::tempdir().unwrap();
    let directory = Arc::new(DiskDirectory::open_or_create(folder.path()).unwrap());
    let (mut node, mut writer) = (Node::new(first_state()), Writer { records: 0, touched: 0 });
    let join = RecordBody::Join { address: "node-0:1".into() };
    node.apply(writer.message(node.state(), Some(join)));
    let slots = CertifierLimits::default().generation_slots;
    // Two generations, and the third almost full.
    while writer.records * (TOUCHES + 2) < 2 * slots + slots / 10 * 9 {
        node.apply(writer.message(node.state(), None));
    }
    let bytes = checkpoint::encode(node.state()).len();
    println!("the state takes {} MB", bytes / 1_000_000);
    for round in 0..ROUNDS {
        let ((), whole) = timed(|| node.checkpoint(&*directory).unwrap());
        let usual = slowest(&mut node, &mut writer, 20);
        let (begun, begin) = timed(|| node.begin_checkpoint().unwrap());
        let (told, written) = channel();
        let beside = Arc::clone(&directory);
        let thread = spawn("writes", move || {
            let written = timed(|| begun.write(&*beside).unwrap());
            told.send(written).unwrap();
        });
        let (mut most, mut messages) = (Duration::ZERO, 0);
        let (written, beside) = loop {
            match written.try_recv() {
                Ok(written) => break written,
                Err(TryRecvError::Empty) => {
                    most = most.max(slowest(&mut node, &mut writer, 1));
                    messages += 1;
                }
                Err(TryRecvError::Disconnected) => panic!("it has failed"),
            }
        };
        let ((), end) = timed(|| node.end_checkpoint(written));
        thread.unwrap().join().unwrap();
        println!(
            "round {round}: in one go {whole:?}; in steps: begin {begin:?}, slowest of {messages} messages beside it {most:?} \
             (of 20 others {usual:?}), end {end:?}, written in {beside:?}"
        );
    }
}

/// Applies so many messages; what the slowest took.
fn slowest(node: &mut Node, writer: &mut Writer, messages: usize) -> Duration {
    let message = |writer: &mut Writer, node: &mut Node| {
        let message = writer.message(node.state(), None);
        timed(|| node.apply(message)).1
    };
    (0..messages).map(|_| message(writer, node)).max().unwrap()
}
