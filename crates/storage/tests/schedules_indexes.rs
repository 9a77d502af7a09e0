//! Schedules: committers, a build, the collector and readers at one index, driven by shuttle.
//!
//! A table of few rows stands for the graph: its history is kept whole, so that any moment can be read.
//! Two committers move values between rows, under the latch, and keep the index up once it is in the
//! directory; one thread builds it as the store does; one collects what is due; one reads. Whoever
//! reads at a moment that the index serves must find each holder of each value.
//!
//! Run with `RUSTFLAGS="--cfg shuttle"`; `make test` does.

#![cfg(shuttle)]

use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::index::property_index::PropertyIndex;
use evergraph_storage::sync::{ArcCell, Mutex, schedules};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use std::sync::Arc;

const RUNS: usize = 3000;
const ROWS: usize = 2;
const VALUES: i64 = 2;

type Row = Option<i64>;

struct World {
    timeline: Timeline,
    /// The rows after each commit.
    history: Mutex<Vec<[Row; ROWS]>>,
    directory: ArcCell<Option<Arc<PropertyIndex<VertexId>>>>,
    kind: IndexKind,
}

impl World {
    fn new(kind: IndexKind) -> Self {
        let timeline = Timeline::new(Timestamp::ZERO, Readable::Published);
        let history = Mutex::new(vec![[Some(0), None]]);
        Self { timeline, history, directory: ArcCell::new(Arc::new(None)), kind }
    }

    fn at(&self, timestamp: Timestamp) -> [Row; ROWS] {
        self.history.lock()[timestamp.0 as usize]
    }

    /// Gives `row` another value, as a commit does.
    fn commit(&self, row: usize, value: Row) {
        let mut latch = self.timeline.latch();
        let (at, mut rows) = (self.timeline.published().next(), self.at(self.timeline.published()));
        let old = std::mem::replace(&mut rows[row], value);
        if let Some(index) = &**self.directory.load()
            && old != value
        {
            let (key, vertex) = (|value| index.key(&Value::I64(value)), VertexId(row as u32));
            old.into_iter().for_each(|old| index.remove_later(at, key(old), vertex));
            value.into_iter().for_each(|value| index.insert(at, key(value), key(value).value, vertex));
        }
        self.history.lock().push(rows);
        self.timeline.publish(at, &mut latch);
    }

    fn build(&self) {
        let owner = Owner::Label(LabelId(0));
        let id = IndexId { owner, key: KeyId(0), kind: self.kind };
        let index = {
            let _latch = self.timeline.latch();
            let definition = IndexDefinition { id, unique: false };
            let index = Arc::new(PropertyIndex::new(definition, self.timeline.published(), 1));
            self.directory.swap(Arc::new(Some(Arc::clone(&index))));
            index
        };
        let (since, ()) = self.timeline.begin(Access::Read, |_| ());
        for row in 0..ROWS {
            // A row at a time, with others in between.
            if let Some(value) = self.at(since)[row] {
                index.fill(index.key(&Value::I64(value)), VertexId(row as u32));
            }
        }
        index.filled(since);
        self.timeline.end(since, Access::Read);
    }

    fn collect(&self) {
        let readable = self.timeline.readable();
        let oldest = self.timeline.registry().oldest();
        if let Some(index) = &**self.directory.load() {
            index.collect(oldest.map_or(readable, |oldest| oldest.min(readable)));
        }
    }

    fn read(&self) {
        let (timestamp, ()) = self.timeline.begin(Access::Read, |_| ());
        for _ in 0..2 {
            self.check(timestamp);
        }
        self.timeline.end(timestamp, Access::Read);
    }

    fn check(&self, timestamp: Timestamp) {
        let directory = self.directory.load_full();
        let Some(index) = directory.as_ref().as_ref().filter(|index| index.serves(timestamp)) else { return };
        for (row, value) in self.at(timestamp).into_iter().enumerate() {
            let Some(value) = value else { continue };
            let mut found = Vec::new();
            index.candidates(&Value::I64(value), None, usize::MAX, &mut found);
            assert!(found.contains(&VertexId(row as u32)), "row {row} has {value} at {timestamp}: {found:?}");
        }
    }
}

fn scenario(kind: IndexKind) {
    let world = Arc::new(World::new(kind));
    let mut threads = Vec::new();
    let mut spawn = |body: Box<dyn FnOnce(&World) + Send>| {
        let world = Arc::clone(&world);
        threads.push(shuttle::thread::spawn(move || body(&world)));
    };
    for row in 0..ROWS {
        spawn(Box::new(move |world| {
            for round in 0..4 {
                let value = (round % 3 < 2).then_some((round + row as i64) % VALUES);
                world.commit(row, value);
            }
        }));
    }
    spawn(Box::new(World::build));
    spawn(Box::new(|world| (0..4).for_each(|_| world.collect())));
    spawn(Box::new(|world| (0..3).for_each(|_| world.read())));
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    world.read();
    world.collect();
    let directory = world.directory.load_full();
    let index = directory.as_ref().as_ref().expect("it was built");
    let live = world.at(world.timeline.published()).iter().flatten().count() as u64;
    assert_eq!(
        (index.statistics(None).entries, index.statistics(None).leaving),
        (live, 0),
        "nothing stale is left"
    );
}

#[test]
fn who_reads_what_an_index_serves_finds_every_holder_in_random_schedules() {
    for kind in IndexKind::BY_VALUE {
        shuttle::check_random(move || scenario(kind), schedules(RUNS));
    }
}

#[test]
fn who_reads_what_an_index_serves_finds_every_holder_in_priority_schedules() {
    for kind in IndexKind::BY_VALUE {
        shuttle::check_pct(move || scenario(kind), schedules(RUNS), 3);
    }
}
