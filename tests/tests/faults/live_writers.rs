//! A disk that fills up below the disk engine while threads write and read: in a flush, in a compaction, and in a manifest.
//! Writers stop with the file that had no room, reads go on, and with room again everything goes on.
//!
//! What a checkpoint, a compaction and a bulk load meet at each of their operations: `crates/disk_engine/tests`.

use evergraph::engines::engine::AnyEngine;
use evergraph::graph::transaction::Transaction as _;
use evergraph::storage::io::clock::{Clock, SystemClock};
use evergraph::storage::io::environment::Environment;
use evergraph::storage::io::error::Operation;
use evergraph::storage::io::failing::{FailingDirectory, Fault};
use evergraph::storage::io::memory::MemoryDirectory;
use evergraph::storage::open::{OpenOptions, OpenStore};
use evergraph::{Durability, EngineKind, Error, ErrorKind, ReadByName, VertexId};
use evergraph_tests::store::{assert_healthy, small_files};
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// Bytes of a vertex' property: 400 of them fill the memory graphs.
const VALUE_BYTES: usize = 128 << 10;
const WRITERS: usize = 2;
/// What no writer reaches before it is refused.
const COMMITS_MAX: usize = 2000;

/// Commits of a writer between two checkpoints that it makes, each of which is a file of level 0.
const COMMITS_OF_FILE: usize = 2;

/// The system's clock, which a test moves on.
#[derive(Debug)]
struct SkippingClock {
    system: SystemClock,
    skipped: Mutex<Duration>,
}

impl SkippingClock {
    fn new() -> Self {
        Self { system: SystemClock::new(), skipped: Mutex::default() }
    }

    fn skip(&self, time: Duration) {
        *self.skipped.lock().unwrap() += time;
    }
}

impl Clock for SkippingClock {
    fn now(&self) -> Duration {
        self.system.now() + *self.skipped.lock().unwrap()
    }

    fn wall(&self) -> i64 {
        self.system.wall()
    }
}

struct Live {
    clock: Arc<SkippingClock>,
    /// Commits of a writer between two checkpoints that it makes itself; none if it is 0.
    commits_of_file: usize,
    faults: FailingDirectory,
    disk: MemoryDirectory,
    open: OpenStore<AnyEngine>,
    acknowledged: BTreeSet<VertexId>,
}

fn options() -> OpenOptions {
    OpenOptions {
        log_file_bytes: 1 << 20,
        checkpoint_after_bytes: 8 << 20,
        stall_max: Duration::from_millis(200),
        ..small_files(EngineKind::Disk, Durability::None)
    }
}

impl Live {
    fn new() -> Self {
        Self::with_stall(options().stall_max)
    }

    /// Whose writers wait for a flush for so long at most.
    fn with_stall(stall_max: Duration) -> Self {
        let disk = MemoryDirectory::new("db");
        let faults = FailingDirectory::new(Arc::new(disk.clone()));
        let clock = Arc::new(SkippingClock::new());
        let environment = Environment::default().with_clock(Arc::clone(&clock) as Arc<dyn Clock>);
        let options = OpenOptions { environment, stall_max, ..options() };
        let open = OpenStore::open(Arc::new(faults.clone()), &options).unwrap();
        let live = Self { clock, commits_of_file: 0, faults, disk, open, acknowledged: BTreeSet::new() };
        live.open.store().transact(|tx| tx.key("text").and(tx.label("Text"))).unwrap();
        live
    }

    fn fill(&self, operation: Operation, prefix: &str) {
        self.faults.plan(Fault::new(operation, prefix, io::ErrorKind::StorageFull).lasting());
    }

    fn commit(&self) -> Result<VertexId, Error> {
        let text = "x".repeat(VALUE_BYTES);
        self.open.store().transact(|tx| {
            let (label, key) = (tx.label("Text")?, tx.key("text")?);
            tx.add_vertex(label, &[(key, text.as_str().into())])
        })
    }

    /// Writes on several threads until each is refused because of `file`, beside one that reads; what they are told.
    fn write_until_refused(&mut self, file: &str) -> Vec<Error> {
        let ended = AtomicBool::new(false);
        let written: Vec<_> = scope(|scope| {
            let reader = scope.spawn(|| {
                let mut reads = 0;
                while !ended.load(Ordering::Relaxed) {
                    let snapshot = self.open.store().snapshot();
                    let vertices = snapshot.vertices(None).unwrap();
                    assert!(self.acknowledged.iter().all(|vertex| vertices.binary_search(vertex).is_ok()));
                    if let Some(vertex) = vertices.first() {
                        let text = snapshot.get(*vertex, "text").unwrap().unwrap();
                        assert_eq!(text.as_str().map(str::len), Some(VALUE_BYTES));
                    }
                    reads += 1;
                }
                reads
            });
            let write = || {
                let mut written = Vec::new();
                for count in 1..=COMMITS_MAX {
                    match self.commit() {
                        Ok(vertex) => written.push(vertex),
                        Err(error) if error.to_string().contains(file) => return (written, error),
                        Err(error) => {
                            // On a busy machine nobody may have met the full disk yet.
                            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
                            continue;
                        }
                    }
                    if count.checked_rem(self.commits_of_file) == Some(0) {
                        evergraph_tests::store::checkpoint(&self.open).unwrap();
                    }
                }
                panic!("a full disk takes {COMMITS_MAX} commits of {VALUE_BYTES} bytes");
            };
            let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(write)).collect();
            let written = writers.into_iter().map(|writer| writer.join());
            let written: Vec<_> = written.collect();
            ended.store(true, Ordering::Relaxed);
            assert!(reader.join().unwrap() > 0, "somebody read meanwhile");
            written.into_iter().map(|written| written.unwrap()).collect()
        });
        let (written, errors): (Vec<_>, Vec<_>) = written.into_iter().unzip();
        self.acknowledged.extend(written.into_iter().flatten());
        errors
    }

    /// Commits as soon as it may be done.
    fn go_on(&mut self) {
        let until = Instant::now() + Duration::from_secs(60);
        let vertex = loop {
            match self.commit() {
                Ok(vertex) => break vertex,
                Err(error) => assert!(Instant::now() < until, "there is room again: {error}"),
            }
            sleep(Duration::from_millis(20));
        };
        self.acknowledged.insert(vertex);
    }

    fn check(&self, open: &OpenStore<AnyEngine>) {
        let found = open.store().snapshot().vertices(None).unwrap();
        assert!(self.acknowledged.iter().copied().eq(found), "exactly what was acknowledged is there");
        assert_healthy(open);
    }
}

#[test]
fn writers_stop_when_a_flush_has_no_room_and_go_on_when_it_has() {
    let mut live = Live::new();
    for (operation, prefix) in [(Operation::Create, "csr-"), (Operation::Write, "col-")] {
        live.fill(operation, prefix);
        for error in live.write_until_refused(&format!("db/{prefix}")) {
            let text = error.to_string();
            assert_eq!(error.kind(), ErrorKind::Limit, "{text}");
            // Writers at once may freeze one more each before they meet the full disk.
            assert!(text.contains("memory graphs wait to be written"), "{text}");
        }
        live.faults.heal();
        live.go_on();
        live.check(&live.open);
    }
    live.open.close().unwrap();
    let again = OpenStore::open(Arc::new(live.disk.clone()), &options()).unwrap();
    live.check(&again);
}

/// The log, flushes and manifests have room, and the outputs of a compaction, which are longer, don't.
#[test]
fn writers_stop_when_a_compaction_has_no_room_and_go_on_when_it_has() {
    let mut live = Live::new();
    live.commits_of_file = COMMITS_OF_FILE;
    for (operation, prefix) in [(Operation::Create, "csr-"), (Operation::Write, "col-")] {
        let fault = Fault::new(operation, prefix, io::ErrorKind::StorageFull);
        live.faults.plan(fault.lasting().on_threads("evergraph-compact"));
        for error in live.write_until_refused(&format!("db/{prefix}")) {
            let text = error.to_string();
            assert_eq!(error.kind(), ErrorKind::Limit, "{text}");
            assert!(text.contains("sorted runs of level 0 wait for their compaction"), "{text}");
        }
        live.check(&live.open);
        let image = OpenStore::open(Arc::new(live.disk.power_cut()), &options()).unwrap();
        assert_healthy(&image);
        live.faults.heal();
        // It waits for 10 seconds after its first failure, and longer after others.
        live.clock.skip(Duration::from_secs(600));
        live.go_on();
        live.check(&live.open);
    }
    live.open.close().unwrap();
    let again = OpenStore::open(Arc::new(live.disk.clone()), &options()).unwrap();
    live.check(&again);
}

/// The log has everything as long as no manifest covers it: nobody has to wait.
#[test]
fn writers_go_on_while_no_manifest_has_room_and_it_is_told() {
    // Flushes may take their time on a busy machine.
    let mut live = Live::with_stall(Duration::from_secs(60));
    live.fill(Operation::Create, "manifest");
    // More than the memory graphs hold: files are flushed, and none is in a manifest.
    for _ in 0..500 {
        let vertex = live.commit().unwrap();
        live.acknowledged.insert(vertex);
    }
    let until = Instant::now() + Duration::from_secs(60);
    let failure = loop {
        if let Some(failure) = live.open.checkpoint_state().failure {
            break failure;
        }
        assert!(Instant::now() < until, "a checkpoint was due, and none failed");
        sleep(Duration::from_millis(10));
    };
    assert!(failure.contains("db/manifest"), "{failure}");
    let error = evergraph_tests::store::checkpoint(&live.open).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    live.check(&live.open);
    let image = OpenStore::open(Arc::new(live.disk.power_cut()), &options()).unwrap();
    assert_healthy(&image);
    live.faults.heal();
    evergraph_tests::store::checkpoint(&live.open).unwrap();
    live.go_on();
    live.open.close().unwrap();
    let again = OpenStore::open(Arc::new(live.disk.clone()), &options()).unwrap();
    live.check(&again);
}
