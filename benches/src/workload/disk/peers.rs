//! Peers: stores of others with a limit of memory.

use crate::disk_plan::DiskStore;
use crate::engine::fjall::FjallStore;
use crate::engine::key_value::KeyValue;
use crate::engine::lmdb::LmdbStore;
#[cfg(feature = "rocksdb")]
use crate::engine::rocksdb::RocksDbStore;
use crate::engine::store::{Access, Commit, Store};
use evergraph_graph::error::Result;
use std::path::Path;

/// Opens a store of others in `folder`, not synced, to be read so; none for ours.
///
/// # Errors
/// What the engine says.
pub fn open_peer(
    store: DiskStore,
    folder: &Path,
    limit_bytes: u64,
    access: Access,
) -> Result<Option<Box<dyn Store>>> {
    Ok(match store {
        DiskStore::DiskEngine | DiskStore::MemoryEngine => None,
        #[cfg(feature = "rocksdb")]
        DiskStore::Rocksdb => {
            Some(Box::new(RocksDbStore::open_limited(folder, limit_bytes, Commit::Unsynced)?))
        }
        DiskStore::Fjall => Some(Box::new(FjallStore::open_limited(folder, limit_bytes, Commit::Unsynced)?)),
        DiskStore::Lmdb => Some(Box::new(LmdbStore::open_limited(folder, access, Commit::Unsynced)?)),
    })
}

/// Opens a store of keys and values in `folder`, with durable commits, to be read here and there; none for ours.
///
/// # Errors
/// What the engine says.
pub fn open_durable_key_value(
    store: DiskStore,
    folder: &Path,
    limit_bytes: u64,
) -> Result<Option<Box<dyn KeyValue>>> {
    let commit = Commit::Durable;
    Ok(match store {
        DiskStore::DiskEngine | DiskStore::MemoryEngine => None,
        #[cfg(feature = "rocksdb")]
        DiskStore::Rocksdb => Some(Box::new(RocksDbStore::open_limited(folder, limit_bytes, commit)?)),
        DiskStore::Fjall => Some(Box::new(FjallStore::open_limited(folder, limit_bytes, commit)?)),
        DiskStore::Lmdb => Some(Box::new(LmdbStore::open_limited(folder, Access::Single, commit)?)),
    })
}
