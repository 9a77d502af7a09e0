//! Weak orders: what an atomic publishes, in every order of memory that the language allows, by loom.
//!
//! Shuttle and the processors at hand show stores in one order to everybody; loom also shows those that
//! only Release and Acquire forbid. The two hand-overs that readers take without a lock are small enough.
//! The writer has the first thread: of a reader that comes first loom would not try the orders in which a
//! load of the writer's stands before its store.
//!
//! Run with `RUSTFLAGS="--cfg loom"`; `make test` does.

#![cfg(loom)]

use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_memory_engine::segment::tail::Tail;
use evergraph_storage::record::{Operation, Record, RecordKey, Stamp};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use std::sync::Arc;

const COMMITS: u64 = 2;

fn record(timestamp: u64) -> Record {
    let stamp = Stamp::new(Timestamp(timestamp), Operation::Insert);
    Record { key: RecordKey::edge(1, timestamp as u32, 0), stamp, payload: Properties::EMPTY }
}

fn empty_tail() -> Arc<Tail> {
    Arc::new(Tail::none().grown(1).expect("the smallest tail grows"))
}

#[test]
fn who_sees_a_tails_length_sees_its_records() {
    loom::model(|| {
        let tail = empty_tail();
        let reader = {
            let tail = Arc::clone(&tail);
            loom::thread::spawn(move || {
                for (found, timestamp) in tail.iter().zip(1..) {
                    let pushed = record(timestamp);
                    assert_eq!((found.key, found.stamp), (pushed.key, pushed.stamp), "half a record is seen");
                }
            })
        };
        (1..=COMMITS).for_each(|timestamp| tail.push(record(timestamp)));
        reader.join().expect("the reader doesn't panic");
    });
}

#[test]
fn who_begins_at_a_commit_sees_its_records() {
    loom::model(|| {
        let tail = empty_tail();
        let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
        let reader = {
            let (tail, timeline) = (Arc::clone(&tail), Arc::clone(&timeline));
            loom::thread::spawn(move || {
                let (since, ()) = timeline.begin(Access::Read, |_| ());
                let seen = tail.iter().filter(|record| record.visible_at(since)).count() as u64;
                assert_eq!(seen, since.0, "a snapshot misses a commit");
            })
        };
        for timestamp in 1..=COMMITS {
            let mut latch = timeline.latch();
            tail.push(record(timestamp));
            timeline.publish(Timestamp(timestamp), &mut latch);
        }
        reader.join().expect("the reader doesn't panic");
    });
}
