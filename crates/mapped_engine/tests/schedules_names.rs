//! Schedules: names that a writer adds, and snapshots that the timeline of a reading process begins, driven by shuttle.
//!
//! Each commit adds a label. A snapshot must know at least the labels of the commits that it sees, by a block that nobody
//! writes meanwhile, and have the slot that was registered for it. `tests/planted` runs the same with a bug each.
//!
//! Run with `RUSTFLAGS="--cfg shuttle"`; `make test` does.

#![cfg(shuttle)]

use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::LabelId;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Freshness;
use evergraph_mapped_engine::arena::Arena;
use evergraph_mapped_engine::claimed_slots::ReaderLock;
use evergraph_mapped_engine::live::Live;
use evergraph_mapped_engine::live_head::LiveHead;
use evergraph_mapped_engine::reader::joined_live::{JoinedLive, PinnedLive};
use evergraph_mapped_engine::retired::RetiredList;
use evergraph_mapped_engine::shared_catalogue::CatalogueWriter;
use evergraph_mapped_engine::slots::SnapshotNeeds;
use evergraph_mapped_engine::words::{RegionSizes, SharedWords};
use evergraph_storage::io::clock::ManualClock;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::sync::Mutex;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use evergraph_storage::timeline::shared_readable::{Prepared, SharedReadable};
use std::sync::Arc;

const RUNS: usize = 200;
const COMMITS: u64 = 3;

/// Both processes.
struct Shared {
    live: Arc<Live>,
    arena: Arena,
    retired: RetiredList,
    names: CatalogueWriter,
    timeline: Timeline,
    reader: Arc<Reader>,
    reader_timeline: Timeline,
}

/// As a reader that meets no other `live`.
#[derive(Debug)]
struct Reader {
    joined: Arc<JoinedLive>,
    registered: Mutex<Option<PinnedLive>>,
}

impl SharedReadable for Reader {
    fn prepare(&self, _: Freshness) -> Option<Prepared> {
        None
    }

    fn register(&self, _: Option<Prepared>) -> Option<Timestamp> {
        let pinned = self.joined.begin_if_kept().expect("a slot is free").expect("nobody closes it");
        let timestamp = pinned.timestamp();
        *self.registered.lock() = Some(pinned);
        Some(timestamp)
    }

    fn readable(&self) -> Timestamp {
        self.joined.live().readable()
    }
}

impl Shared {
    fn new() -> Self {
        let sizes = RegionSizes::new(11, 11).expect("a size that is possible");
        let head = LiveHead { opening: 7, process: std::process::id(), sizes, slots: 16 };
        let words = Arc::new(SharedWords::on_heap(sizes));
        let live = Live::create(Arc::clone(&words), head, Timestamp::ZERO).expect("the heap has room");
        live.open();
        let live = Arc::new(live);
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
        let lock = ReaderLock::take(&directory, 1).expect("nobody else reads");
        let clock = Arc::new(ManualClock::new(0));
        let joined = JoinedLive::new(Arc::clone(&live), lock, &directory, clock, None);
        let joined = Arc::new(joined.expect("it is the newest"));
        let reader = Arc::new(Reader { joined, registered: Mutex::new(None) });
        let shared: Arc<dyn SharedReadable> = Arc::<Reader>::clone(&reader);
        Self {
            arena: Arena::new(words, head.first_block(), 1 << 20),
            live,
            retired: RetiredList::default(),
            names: CatalogueWriter::default(),
            timeline: Timeline::new(Timestamp::ZERO, Readable::Published),
            reader,
            reader_timeline: Timeline::new(Timestamp::ZERO, Readable::Shared(shared)),
        }
    }

    /// Shows what is readable, as a committer does, and the log's leader.
    fn show(&self) {
        let shown = self.names.show(&self.live, &self.arena, &self.retired, self.timeline.readable());
        shown.expect("there is room");
    }

    fn write(&self) {
        let mut catalogue = Catalogue::default();
        for number in 1..=COMMITS {
            let (id, name) = (LabelId(number as u16), format!("label {number}").into());
            catalogue.apply(&SchemaChange::AddLabel { id, name });
            let mut latch = self.timeline.latch();
            self.names.note(Timestamp(number), &Arc::new(catalogue.clone()), &Arc::default());
            self.live.publish(Timestamp(number));
            self.timeline.publish(Timestamp(number), &mut latch);
            drop(latch);
            self.show();
            let ended = self.live.era();
            let needs = SnapshotNeeds::scan(self.live.slot_words(), &[], self.live.readable());
            self.retired.free(&needs, ended, &self.arena);
        }
    }

    fn read(&self) {
        for _ in 0..2 {
            let (timestamp, pinned) = self.reader_timeline.begin(Access::Read, |timestamp| {
                let pinned = self.reader.registered.lock().take().expect("it was registered");
                assert_eq!(pinned.timestamp(), timestamp, "the slot of another snapshot");
                pinned
            });
            let names = pinned.names();
            let known = names.labels().count() as u64;
            assert!(known >= timestamp.0, "a snapshot lacks names of its commits: {known} at {timestamp}");
            assert!(names.labels().all(|(id, name)| **name == *format!("label {}", id.0)));
            drop(pinned);
            self.reader_timeline.end(timestamp, Access::Read);
        }
    }
}

fn run() {
    let shared = Arc::new(Shared::new());
    let bodies: [fn(&Shared); 4] = [Shared::write, Shared::show, Shared::read, Shared::read];
    let threads: Vec<_> = bodies
        .into_iter()
        .map(|body| {
            let shared = Arc::clone(&shared);
            shuttle::thread::spawn(move || body(&shared))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    assert_eq!(shared.live.readable(), Timestamp(COMMITS));
}

#[test]
fn a_snapshot_knows_the_names_of_its_commits() {
    shuttle::check_pct(run, RUNS, 3);
    shuttle::check_random(run, RUNS);
}
