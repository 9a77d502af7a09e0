//! Compaction pause: a compaction that cannot read an input is tried again after 10 seconds, then 20, and so on; meanwhile
//! all else goes on until too many runs wait, and whoever is refused learns which file is to blame.
//!
//! The store has its threads, and a clock that stands still until the test moves it on. What the thread that compacts
//! asks the clock and reads from files says whether it waits.

use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::column::Column;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView as _;
use evergraph_storage::io::clock::{Clock, ManualClock, SystemClock};
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::io::ErrorKind as IoKind;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A clock that the test moves on, and that counts what the thread of compactions asks it.
#[derive(Debug)]
struct WatchedClock {
    manual: ManualClock,
    asked: AtomicU64,
}

impl Clock for WatchedClock {
    fn now(&self) -> Duration {
        let now = self.manual.now();
        if std::thread::current().name().is_some_and(|name| name.starts_with("evergraph-compact")) {
            self.asked.fetch_add(1, Ordering::SeqCst);
        }
        now
    }

    fn wall(&self) -> i64 {
        self.manual.wall()
    }
}

/// A store whose level 0 fills with runs of one file each, which all have the same vertex.
struct Fixture {
    memory: MemoryDirectory,
    failing: FailingDirectory,
    clock: Arc<WatchedClock>,
    open: OpenStore<DiskEngine>,
    vertex: VertexId,
}

impl Fixture {
    fn new() -> Self {
        let memory = MemoryDirectory::new("db");
        let failing = FailingDirectory::new(Arc::new(memory.clone()));
        let clock = Arc::new(WatchedClock { manual: ManualClock::new(0), asked: AtomicU64::new(0) });
        let options = OpenOptions {
            durability: Durability::None,
            memory_limit_bytes: 64 << 20,
            environment: Environment::default().with_clock(Arc::<WatchedClock>::clone(&clock)),
            ..OpenOptions::default()
        };
        let directory: Arc<dyn Directory> = Arc::new(failing.clone());
        let open = OpenStore::open(directory, &options).unwrap();
        let vertex = open.store().transact(|tx| {
            let (label, _) = (tx.label("Text")?, tx.key("round")?);
            tx.add_vertex(label, &[])
        });
        Self { memory, failing, clock, vertex: vertex.unwrap(), open }
    }

    fn engine(&self) -> &DiskEngine {
        self.open.store().engine()
    }

    fn set_round(&self, round: i64) -> Result<()> {
        self.open.store().transact(|tx| {
            let key = tx.key("round")?;
            tx.set_vertex_property(self.vertex, key, Some(Value::I64(round)))
        })
    }

    /// Makes `runs` more files of level 0; others may compact them meanwhile.
    fn flush(&self, runs: std::ops::Range<i64>) {
        for round in runs {
            self.set_round(round).unwrap();
            self.engine().flush_all().unwrap();
        }
    }

    fn round(&self) -> Value {
        // The newest run answers: whoever needs the damaged page is refused.
        let (snapshot, mut column) = (self.open.store().snapshot(), Column::new(ValueType::I64));
        let key = snapshot.catalogue().key("round").unwrap();
        snapshot.vertex_properties(&[self.vertex], key, &mut column).unwrap();
        column.get(0).unwrap()
    }

    fn runs(&self) -> usize {
        self.engine().tree().with_current(|current| current.set.flushed_runs())
    }

    fn reads(&self) -> u64 {
        self.failing.count(Operation::Read)
    }

    /// Lets the thread of compactions look three times without reading: it began no compaction at the last look.
    /// How many times something was read until then.
    fn reads_until_paused(&self) -> u64 {
        let (clock, patience) = (SystemClock::new(), Duration::from_secs(60));
        let asked = || self.clock.asked.load(Ordering::SeqCst);
        loop {
            let (looked, reads) = (asked(), self.reads());
            while asked() < looked + 3 {
                assert!(clock.now() < patience, "nobody compacts");
                self.engine().pacing().wake_writers();
                self.engine().pacing().wait_for_progress(Duration::from_millis(1));
            }
            if self.reads() == reads {
                return reads;
            }
        }
    }

    /// Moves the clock on by `pause`: nobody reads before its end, and a compaction is tried at its end.
    fn check_pause(&self, pause: Duration) {
        let before = self.reads_until_paused();
        self.clock.manual.advance(pause - Duration::from_nanos(1));
        assert_eq!(self.reads_until_paused(), before, "tried again before {pause:?} were over");
        self.clock.manual.advance(Duration::from_nanos(1));
        let (clock, patience) = (SystemClock::new(), Duration::from_secs(60));
        while self.reads() == before {
            assert!(clock.now() < patience, "not tried again after {pause:?}");
            self.engine().pacing().wake_writers();
            self.engine().pacing().wait_for_progress(Duration::from_millis(1));
        }
    }

    /// Waits until all that is due was compacted.
    fn wait_for_compactions(&self) {
        let (clock, patience) = (SystemClock::new(), Duration::from_secs(60));
        while self.engine().is_compaction_due() {
            assert!(clock.now() < patience, "{:?}", self.engine().pacing().compaction_failure());
            self.engine().pacing().wait_for_progress(Duration::from_millis(1));
        }
    }

    /// Four runs, of which the first one cannot be read after `break_it`: pauses, reads, a refusal. Then `mend_it`.
    fn fail_and_heal(&self, kind: ErrorKind, break_it: impl FnOnce(&str), mend_it: impl FnOnce(&str)) {
        self.flush(0..3);
        let names = self.memory.list().unwrap();
        let input = names.into_iter().filter(|name| name.starts_with("csr-")).min().unwrap();
        break_it(&input);
        self.flush(3..4);
        for seconds in [10, 20, 40] {
            self.check_pause(Duration::from_secs(seconds));
        }
        self.reads_until_paused();
        let failure = self.engine().pacing().compaction_failure().unwrap();
        assert!(failure.contains(&input), "{failure}");
        assert_eq!((self.runs(), self.round()), (4, Value::I64(3)), "reads go on");
        // Flushes go on, too, and do not end the pause.
        self.flush(4..12);
        assert_eq!((self.runs(), self.round()), (12, Value::I64(11)));
        let refused = std::thread::scope(|scope| {
            let writer = scope.spawn(|| self.set_round(12).unwrap_err());
            while !writer.is_finished() {
                self.clock.manual.advance(Duration::from_secs(1));
                self.engine().pacing().wait_for_progress(Duration::from_millis(1));
            }
            writer.join().unwrap()
        });
        assert_eq!(refused.kind(), ErrorKind::Limit, "{refused}");
        let text = refused.to_string();
        assert!(text.contains("12 sorted runs of level 0 wait for their compaction"), "{text}");
        let cause = if kind == ErrorKind::Corrupt { "is corrupt at byte" } else { "read " };
        assert!(text.contains(&input) && text.contains(cause), "{text}");
        mend_it(&input);
        self.clock.manual.advance(Duration::from_secs(300));
        self.wait_for_compactions();
        assert_eq!(self.engine().pacing().compaction_failure(), None);
        self.set_round(13).unwrap();
        assert_eq!(self.round(), Value::I64(13));
        assert!(self.open.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap().is_healthy());
    }
}

#[test]
fn a_compaction_that_cannot_read_is_tried_again_after_ten_seconds_doubling_and_writers_learn_the_file() {
    let fixture = Fixture::new();
    let break_it = |name: &str| {
        fixture
            .failing
            .plan(Fault::new(Operation::Read, name, IoKind::Other).lasting().on_threads("evergraph-"));
    };
    fixture.fail_and_heal(ErrorKind::Io, break_it, |_| fixture.failing.heal());
    // One that succeeded makes the next pause a short one again.
    fixture
        .failing
        .plan(Fault::new(Operation::Create, "csr-", IoKind::Other).lasting().on_threads("evergraph-compact"));
    fixture.flush(20..24);
    let created = || fixture.failing.count(Operation::Create);
    fixture.reads_until_paused();
    let before = created();
    fixture.clock.manual.advance(Duration::from_secs(10) - Duration::from_nanos(1));
    fixture.reads_until_paused();
    assert_eq!(created(), before, "tried again too early");
    fixture.clock.manual.advance(Duration::from_nanos(1));
    let (clock, patience) = (SystemClock::new(), Duration::from_secs(60));
    while created() == before {
        assert!(clock.now() < patience, "the pause is as long as after many failures");
        fixture.engine().pacing().wake_writers();
        fixture.engine().pacing().wait_for_progress(Duration::from_millis(1));
    }
}

#[test]
fn a_compaction_of_a_damaged_page_is_tried_again_after_ten_seconds_doubling_and_writers_learn_the_file() {
    let fixture = Fixture::new();
    let flip = |name: &str| {
        let file = fixture.memory.open(name, OpenMode::ReadWrite).unwrap();
        let mut byte = [0];
        file.read_at(&mut byte, 4096 + 100).unwrap();
        file.write_at(&[byte[0] ^ 4], 4096 + 100).unwrap();
    };
    fixture.fail_and_heal(ErrorKind::Corrupt, flip, flip);
}
