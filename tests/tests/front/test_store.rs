//! Stores for tests: any engine over files in memory, opened again from their log.

use crate::keeps::Keeps;
use crate::naive_engine::NaiveEngine;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::pick::limits::PickLimits;
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::engine::options::MappedOptions;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::clock::{Clock, SystemClock};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::log::options::{Durability, LogOptions};
use evergraph_storage::log::recovery::{self, Recovered};
use evergraph_storage::log::writer::Log;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::open::OpenOptions;
use evergraph_storage::store::{Parts, Store, StoreOptions};
use evergraph_storage::sync::{Mutex, RwLock};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::transaction::front::LogAccess;
use evergraph_storage::transaction::replay::{Replay, Replayed};
use evergraph_storage::vertex_ids::VertexIds;
use std::sync::Arc;
use std::time::Duration;

/// Makes tests of functions that are generic over an engine: each runs on every engine; those `with kept indexes` on a naive
/// one that keeps indexes, too, which reads everything for each look-up.
macro_rules! on_every_engine {
    (with kept indexes; $($tests:tt)*) => {
        crate::test_store::on_every_engine! {
            on [crate::keeps::Keeps::NoIndexes, crate::keeps::Keeps::Indexes] $($tests)*
        }
    };
    (on $naive:tt $($(#[$attribute:meta])* fn $name:ident<$engine:ident: TestEngine>($kind:ident: E::Kind) $body:block)*) => {$(
        $(#[$attribute])*
        #[test]
        fn $name() {
            fn body<$engine: TestEngine>($kind: $engine::Kind) $body
            for keeps in $naive {
                body::<crate::naive_engine::NaiveEngine>(keeps);
            }
            for engine in evergraph_engines::kind::EngineKind::ALL {
                body::<evergraph_engines::engine::AnyEngine>(engine);
            }
        }
    )*};
    ($($tests:tt)*) => {
        crate::test_store::on_every_engine! { on [crate::keeps::Keeps::NoIndexes] $($tests)* }
    };
}
pub(crate) use on_every_engine;

/// Engines that tests run on, in one type: what is above them is compiled once.
pub trait TestEngine: DurableEngine {
    /// Which of them.
    type Kind: Copy;

    /// Vertices of a load that is to have many: more than a group's, or fewer, if every question is answered by looking at
    /// everything.
    const MANY: u32;

    /// Its name in manifests.
    fn name(kind: Self::Kind) -> &'static str;

    /// An empty one.
    fn empty(kind: Self::Kind, timeline: &Arc<Timeline>) -> Self;

    /// Whether it may refuse a commit because it forgot what changed since the transaction began.
    fn forgets(&self) -> bool;

    /// Does what would be done in the background.
    fn maintain(&self);
}

impl TestEngine for NaiveEngine {
    type Kind = Keeps;

    const MANY: u32 = 500;

    fn name(keeps: Keeps) -> &'static str {
        keeps.name()
    }

    fn empty(keeps: Keeps, _: &Arc<Timeline>) -> Self {
        let mut engine = Self::default();
        engine.keeps = keeps;
        engine
    }

    fn forgets(&self) -> bool {
        false
    }

    fn maintain(&self) {}
}

impl TestEngine for AnyEngine {
    type Kind = EngineKind;

    const MANY: u32 = 5000;

    fn name(kind: EngineKind) -> &'static str {
        kind.name()
    }

    fn empty(kind: EngineKind, timeline: &Arc<Timeline>) -> Self {
        let timeline = Arc::clone(timeline);
        match kind {
            EngineKind::Memory => Self::Memory(MemoryEngine::new(timeline)),
            // With memory graphs so small that commits of a test fill several.
            EngineKind::Disk => Self::Disk(Box::new(DiskEngine::with_graph_bytes(timeline, 1 << 14))),
            // With few records worth a merge, so that commits of a test are merged.
            EngineKind::Mapped => {
                let options = MappedOptions { records_worth_a_merge: 32, ..MappedOptions::default() };
                let engine = MappedEngine::in_memory(timeline, options).expect("these options are possible");
                Self::Mapped(Box::new(engine))
            }
            other => panic!("no test knows how to make the engine `{other}`"),
        }
    }

    /// Memory graphs of the disk engine are flushed so often here, and two of them are kept for conflict checks.
    fn forgets(&self) -> bool {
        matches!(self, Self::Disk(_))
    }

    fn maintain(&self) {
        match self {
            Self::Memory(engine) => engine.merge_everything(),
            Self::Disk(engine) => {
                engine.freeze_open().expect("a budget for two small graphs");
                while engine.flush_oldest().expect("a directory in memory takes every file") {}
                let limits = PickLimits { flushed_runs: 2, ..PickLimits::default() };
                while engine.compact_by(&limits).expect("files are sound, and take little memory") {}
            }
            Self::Mapped(engine) => {
                engine.graph().merge_everything().expect("a directory in memory takes every file");
            }
            Self::Reader(_) | Self::Cluster(_) => unreachable!("no test makes one"),
        }
    }
}

/// What opens a database of this engine, or makes it.
pub fn options<E: TestEngine>(kind: E::Kind) -> OpenOptions {
    OpenOptions { engine: Some(E::name(kind)), ..OpenOptions::default() }
}

/// An empty store that syncs nothing.
pub fn empty<E: TestEngine>(kind: E::Kind) -> Store<E> {
    open(kind, &MemoryDirectory::new("db"), Durability::None).expect("an empty directory opens")
}

/// What a commit runs once, when its writes are resolved and it has not taken the latch.
pub type LateHook = Box<dyn FnOnce() + Send>;

/// An engine under which a commit can be stopped when its writes are resolved and it has not taken the latch.
pub trait HookedEngine: TestEngine {
    /// An empty store that syncs nothing, and what gives the next commit its hook.
    fn hooked(kind: Self::Kind) -> (Store<Self>, Box<dyn Fn(LateHook)>);
}

impl HookedEngine for NaiveEngine {
    fn hooked(keeps: Keeps) -> (Store<Self>, Box<dyn Fn(LateHook)>) {
        let store = empty::<Self>(keeps);
        let hooked = store.clone();
        (store, Box::new(move |hook| hooked.engine().before_the_next_latch(hook)))
    }
}

impl HookedEngine for AnyEngine {
    /// The disk engine: its `prepare` asks the clock how long it may wait; nothing before it does, in a transaction without a
    /// timeout.
    fn hooked(kind: EngineKind) -> (Store<Self>, Box<dyn Fn(LateHook)>) {
        let clock = Arc::new(HookedClock { time: SystemClock::new(), hook: Mutex::new(None) });
        let store = empty_with::<Self>(kind, StoreOptions::default(), Arc::<HookedClock>::clone(&clock));
        (store, Box::new(move |hook| *clock.hook.lock() = Some(hook)))
    }
}

/// The machine's clock, which runs a hook when it is asked next.
struct HookedClock {
    time: SystemClock,
    hook: Mutex<Option<LateHook>>,
}

impl std::fmt::Debug for HookedClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.time.fmt(f)
    }
}

impl Clock for HookedClock {
    fn now(&self) -> Duration {
        let hook = self.hook.lock().take();
        if let Some(hook) = hook {
            hook();
        }
        self.time.now()
    }

    fn wall(&self) -> i64 {
        self.time.wall()
    }
}

/// The store whose log lies in `directory`.
pub fn open<E: TestEngine>(
    kind: E::Kind,
    directory: &MemoryDirectory,
    durability: Durability,
) -> Result<Store<E>> {
    let (directory, clock) = (Arc::new(directory.clone()), Arc::new(SystemClock::new()));
    open_with(kind, directory, durability, StoreOptions::default(), clock, Background::Threads)
}

/// An empty store that syncs nothing, with these options and a clock.
pub fn empty_with<E: TestEngine>(kind: E::Kind, options: StoreOptions, clock: Arc<dyn Clock>) -> Store<E> {
    let directory = Arc::new(MemoryDirectory::new("db"));
    open_with(kind, directory, Durability::None, options, clock, Background::Threads)
        .expect("an empty directory opens")
}

/// As [`open`], on any directory. Its log does nothing beside the caller: a planned failure meets what the
/// test does next.
pub fn open_on<E: TestEngine>(
    kind: E::Kind,
    directory: Arc<dyn Directory>,
    durability: Durability,
) -> Result<Store<E>> {
    let clock = Arc::new(SystemClock::new());
    open_with(kind, directory, durability, StoreOptions::default(), clock, Background::Stepped)
}

fn open_with<E: TestEngine>(
    kind: E::Kind,
    directory: Arc<dyn Directory>,
    durability: Durability,
    store_options: StoreOptions,
    clock: Arc<dyn Clock>,
    background: Background,
) -> Result<Store<E>> {
    // The engine wants the timeline, the timeline the log, the log what was recovered into the engine.
    let log: Arc<RwLock<Option<Arc<Log>>>> = Arc::default();
    let readable = match durability {
        Durability::Sync => {
            let log = Arc::clone(&log);
            let durable = move || log.read().as_ref().map_or(Timestamp::ZERO, |log| Timestamp(log.durable()));
            Readable::Durable(Arc::new(durable))
        }
        _ => Readable::Published,
    };
    let timeline = Arc::new(Timeline::new(Timestamp::ZERO, readable).with_clock(clock));
    let engine = Arc::new(E::empty(kind, &timeline));
    let (recovered, replayed) = recover(&*directory, &*engine, &timeline)?;
    let options = LogOptions { durability, background, ..LogOptions::default() };
    let opened = Log::open(directory, recovered, options, Box::new(SplitMix64::new(1)))?;
    let opened = Arc::new(opened);
    *log.write() = Some(Arc::clone(&opened));
    let (random, options) = (Box::new(SplitMix64::new(2)), store_options);
    let budget = Arc::new(MemoryBudget::new(u64::MAX));
    let log = LogAccess::Writes(opened);
    Store::assemble(Parts { engine, timeline, log, replayed, budget, random, options })
}

/// What the log of `directory` holds, in an empty engine.
fn recover<E: TestEngine>(
    directory: &dyn Directory,
    engine: &E,
    timeline: &Timeline,
) -> Result<(Recovered, Replayed)> {
    let mut replay =
        Replay::new(engine, timeline, Catalogue::default(), VertexIds::default()).in_batches_of(3);
    let recovered = recovery::recover(directory, recovery::Replay::default(), |timestamp, payload| {
        replay.payload(Timestamp(timestamp), payload)
    })?;
    Ok((recovered, replay.finish()?))
}

/// The store whose log lies in `directory`, as a process has it that reads what `writer` writes.
pub fn read_only<E: TestEngine>(
    kind: E::Kind,
    directory: &dyn Directory,
    writer: Option<u32>,
) -> Result<Store<E>> {
    let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
    let engine = Arc::new(E::empty(kind, &timeline));
    let (_, replayed) = recover(directory, &*engine, &timeline)?;
    let (random, options) = (Box::new(SplitMix64::new(2)), StoreOptions::default());
    let (log, budget) = (LogAccess::Reads(Arc::new(move || writer)), Arc::new(MemoryBudget::new(u64::MAX)));
    Store::assemble(Parts { engine, timeline, log, replayed, budget, random, options })
}
