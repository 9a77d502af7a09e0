//! Scheduled store: a store whose log lies in memory, for tests of engines that shuttle drives. Each engine's own include it.

use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::Engine;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::log::error::LogError;
use evergraph_storage::log::options::{Durability, LogOptions};
use evergraph_storage::log::recovery::{Replay, recover};
use evergraph_storage::log::writer::Log;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::store::{Parts, Store, StoreOptions};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::transaction::front::LogAccess;
use evergraph_storage::transaction::replay::Replayed;
use std::sync::Arc;

/// A store on the engine that `make` gives for its timeline, and the log, which is to be closed.
pub fn scheduled_store<E: Engine>(
    durability: Durability,
    make: impl FnOnce(&Arc<Timeline>) -> E,
) -> (Store<E>, Arc<Log>) {
    let directory = Arc::new(MemoryDirectory::new("db"));
    let recovered = recover(&*directory, Replay::default(), |_, _| Ok::<_, LogError>(())).unwrap();
    let options = LogOptions { durability, first_file_bytes: 1 << 16, ..LogOptions::default() };
    let log = Arc::new(Log::open(directory, recovered, options, Box::new(SplitMix64::new(1))).unwrap());
    let source = Arc::clone(&log);
    let readable = match durability {
        Durability::Sync => Readable::Durable(Arc::new(move || Timestamp(source.durable()))),
        _ => Readable::Published,
    };
    let timeline = Arc::new(Timeline::new(Timestamp::ZERO, readable));
    let store = Store::assemble(Parts {
        engine: Arc::new(make(&timeline)),
        timeline,
        log: LogAccess::Writes(Arc::clone(&log)),
        replayed: Replayed::default(),
        budget: Arc::new(MemoryBudget::new(u64::MAX)),
        random: Box::new(SplitMix64::new(2)),
        options: StoreOptions::default(),
    });
    (store.unwrap(), log)
}
