//! Kind: which engines there are, how each is opened, and what it says of its settings.

use crate::engine::evergraph::EvergraphStore;
use crate::engine::fjall::FjallStore;
use crate::engine::key_value::KeyValue;
use crate::engine::lmdb::LmdbStore;
use crate::engine::redb::RedbStore;
#[cfg(feature = "rocksdb")]
use crate::engine::rocksdb;
#[cfg(feature = "rocksdb")]
use crate::engine::rocksdb::RocksDbStore;
use crate::engine::store::{Commit, Store};
use crate::engine::{evergraph, fjall, lmdb, redb};
use crate::folder::make_folder;
use evergraph_graph::error::Result;
use std::path::Path;

/// Which engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Ours.
    Evergraph,
    /// LMDB.
    Lmdb,
    /// LMDB that may lose everything: in writes that are not synced alone.
    LmdbMap,
    /// redb.
    Redb,
    /// fjall.
    Fjall,
    /// RocksDB.
    #[cfg(feature = "rocksdb")]
    RocksDb,
}

impl Kind {
    /// Those whose writes are measured when nothing is synced: all, and one that gives up a promise for speed.
    pub const UNSYNCED: &[Self] = &[
        Self::Evergraph,
        Self::Lmdb,
        Self::LmdbMap,
        Self::Redb,
        Self::Fjall,
        #[cfg(feature = "rocksdb")]
        Self::RocksDb,
    ];

    /// Every engine that this was built with, ours first, as it keeps its promises.
    pub const ALL: &[Self] = &[
        Self::Evergraph,
        Self::Lmdb,
        Self::Redb,
        Self::Fjall,
        #[cfg(feature = "rocksdb")]
        Self::RocksDb,
    ];

    /// The engine of this name in results.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::UNSYNCED.iter().copied().find(|kind| kind.name() == name)
    }

    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evergraph => "evergraph",
            Self::Lmdb => "lmdb",
            Self::LmdbMap => "lmdb_writemap",
            Self::Redb => "redb",
            Self::Fjall => "fjall",
            #[cfg(feature = "rocksdb")]
            Self::RocksDb => "rocksdb",
        }
    }

    /// How it is set up for edges, and where its makers advise that.
    #[must_use]
    pub fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Evergraph => evergraph::SETTINGS,
            Self::Lmdb => lmdb::SETTINGS,
            Self::LmdbMap => lmdb::MAP_SETTINGS,
            Self::Redb => redb::SETTINGS,
            Self::Fjall => fjall::SETTINGS,
            #[cfg(feature = "rocksdb")]
            Self::RocksDb => rocksdb::SETTINGS,
        }
    }

    /// Opens a store for edges between `vertices` vertices in `folder`, which is made if it isn't there.
    ///
    /// # Errors
    /// What the engine says.
    pub fn open(self, folder: &Path, vertices: u32, commit: Commit) -> Result<Box<dyn Store>> {
        make_folder(folder)?;
        Ok(match self {
            Self::Evergraph => Box::new(EvergraphStore::open(folder, vertices, commit)?),
            Self::Lmdb => Box::new(LmdbStore::open(folder, commit)?),
            Self::LmdbMap => Box::new(LmdbStore::open_map(folder)?),
            Self::Redb => Box::new(RedbStore::open(folder, commit)?),
            Self::Fjall => Box::new(FjallStore::open(folder, commit)?),
            #[cfg(feature = "rocksdb")]
            Self::RocksDb => Box::new(RocksDbStore::open(folder, commit)?),
        })
    }

    /// Opens a store of keys and values; `None` for ours, which keeps graphs.
    ///
    /// # Errors
    /// What the engine says.
    pub fn open_key_value(self, folder: &Path, commit: Commit) -> Result<Option<Box<dyn KeyValue>>> {
        make_folder(folder)?;
        Ok(match self {
            Self::Evergraph => None,
            Self::Lmdb => Some(Box::new(LmdbStore::open(folder, commit)?)),
            Self::LmdbMap => Some(Box::new(LmdbStore::open_map(folder)?)),
            Self::Redb => Some(Box::new(RedbStore::open(folder, commit)?)),
            Self::Fjall => Some(Box::new(FjallStore::open(folder, commit)?)),
            #[cfg(feature = "rocksdb")]
            Self::RocksDb => Some(Box::new(RocksDbStore::open(folder, commit)?)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest story that every engine must tell alike.
    #[test]
    fn every_engine_keeps_the_same_edges() {
        for kind in Kind::UNSYNCED {
            let folder = tempfile::tempdir().unwrap();
            let store = kind.open(&folder.path().join("store"), 100, Commit::Durable).unwrap();
            store.load(&[(1, 2), (1, 9), (4, 0)]).unwrap();
            store.put(&[(1, 5)]).unwrap();
            store.put(&[(1, 5), (99, 98)]).unwrap();
            store.delete(&[(1, 9)]).unwrap();
            store.settle().unwrap();
            let mut told = Vec::new();
            store
                .read(&mut |reader| {
                    assert!(reader.has((1, 5))? && reader.has((99, 98))?, "{}", kind.name());
                    assert!(!reader.has((1, 9))? && !reader.has((2, 1))?, "{}", kind.name());
                    let mut neighbors = Vec::new();
                    reader.neighbors(1, 10, &mut neighbors)?;
                    reader.neighbors(1, 1, &mut neighbors)?;
                    reader.neighbors(50, 10, &mut neighbors)?;
                    assert_eq!(neighbors, [2, 5, 2], "{}", kind.name());
                    reader.scan(&mut |source, targets| {
                        told.extend(targets.iter().map(|target| (source, *target)))
                    })
                })
                .unwrap();
            assert_eq!(told, [(1, 2), (1, 5), (4, 0), (99, 98)], "{}", kind.name());
            store.close().unwrap();
        }
    }
}
