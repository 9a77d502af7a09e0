//! Stores on directories in memory: opened, checkpointed, and cut from power at any moment.

use evergraph::engines::engine::AnyEngine;
use evergraph::storage::checkpoint::contract::CheckpointOutcome;
use evergraph::storage::io::directory::Directory;
use evergraph::storage::io::memory::{CrashOutcome, MemoryDirectory, SECTOR_BYTES};
use evergraph::storage::io::random::{Random, SplitMix64};
use evergraph::storage::open::{OpenOptions, OpenStore};
use evergraph::{Database, Durability, EngineKind, Error, Options, Result};
use std::ops::ControlFlow;
use std::sync::Arc;

/// An empty database in memory with this engine, and the least memory that the disk engine has.
///
/// # Panics
/// If it cannot be opened.
#[must_use]
pub fn in_memory(engine: EngineKind) -> Database {
    let options = Options { engine: Some(engine), memory_limit_bytes: 64 << 20, ..Options::default() };
    Database::in_memory_with(&options).unwrap()
}

/// Options with log files so small that tests fill many of them, and with the least memory that the disk engine has.
#[must_use]
pub fn small_files(engine: EngineKind, durability: Durability) -> OpenOptions {
    OpenOptions {
        engine: Some(engine.name()),
        durability,
        log_file_bytes: 64 << 10,
        memory_limit_bytes: 64 << 20,
        ..OpenOptions::default()
    }
}

/// Opens the database in `directory`, or makes it with `engine`, acknowledging commits after their sync.
///
/// # Errors
/// As [`OpenStore::open`].
pub fn open_synced(engine: EngineKind, directory: &MemoryDirectory) -> Result<OpenStore<AnyEngine>> {
    OpenStore::<AnyEngine>::open(Arc::new(directory.clone()), &small_files(engine, Durability::Sync))
}

/// Makes a checkpoint.
///
/// # Errors
/// As [`OpenStore::checkpoint`].
pub fn checkpoint(open: &OpenStore<AnyEngine>) -> Result<CheckpointOutcome> {
    open.checkpoint(&mut |_| ControlFlow::Continue(()))
}

/// Checks the graph of an open store: lists, sides, ends, unique indexes.
///
/// # Panics
/// If something is wrong.
pub fn assert_healthy(open: &OpenStore<AnyEngine>) {
    let report = open.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap();
    assert!(report.is_healthy(), "{:?}", report.findings);
}

/// What a machine finds whose power fails now: each unsynced sector or line and each name is kept, lost or torn, as
/// `seed` decides.
#[must_use]
pub fn crash(directory: &MemoryDirectory, seed: u64) -> MemoryDirectory {
    let piece_bytes = directory.write_unit().bytes().min(SECTOR_BYTES as u64);
    let mut random = SplitMix64::new(seed);
    directory.crash(|_| match random.next_u64() % 4 {
        0 => CrashOutcome::Torn((random.next_u64() % piece_bytes) as usize),
        1 => CrashOutcome::Lost,
        _ => CrashOutcome::Kept,
    })
}

/// The names and bytes of all files of `directory`.
///
/// # Errors
/// What reading them may meet.
pub fn files(directory: &dyn Directory) -> Result<Vec<(String, Vec<u8>)>> {
    let names = directory.list()?.into_iter();
    let read = |name: String| {
        let bytes = directory.read_all(&name, u64::MAX)?;
        Ok::<_, Error>((name, bytes))
    };
    names.map(read).collect()
}
