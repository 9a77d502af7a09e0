//! Engines: what every store that is measured can do with edges, and how it was set up.
//!
//! ```text
//! evergraph   both directions of every edge, validated transactions, a log
//! lmdb        B+ tree, pages copied on write; a key a vertex, its targets as sorted duplicates of 4 bytes
//! redb        B+ tree, pages copied on write, in Rust; a key an edge
//! fjall       log-structured merge tree, in Rust; a key an edge
//! rocksdb     log-structured merge tree; a key an edge
//! ```
//!
//! The others keep one direction, which is in their favour: half of what is written, half of the memory.
//! Putting is an upsert everywhere: an edge that is there stays there once.

pub mod evergraph;
pub mod fjall;
pub mod key_value;
pub mod lmdb;
pub mod redb;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;

use crate::engine::evergraph::EvergraphStore;
use crate::engine::fjall::FjallStore;
use crate::engine::key_value::KeyValue;
use crate::engine::lmdb::LmdbStore;
use crate::engine::redb::RedbStore;
#[cfg(feature = "rocksdb")]
use crate::engine::rocksdb::RocksDbStore;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fmt;
use std::path::Path;

/// A directed edge, by the numbers of its ends.
pub type Edge = (u32, u32);

/// When a commit may be acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Commit {
    /// At once: the system writes when it likes.
    Unsynced,
    /// When it is on stable storage.
    Durable,
}

/// Which engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Ours.
    Evergraph,
    /// LMDB.
    Lmdb,
    /// redb.
    Redb,
    /// fjall.
    Fjall,
    /// RocksDB.
    #[cfg(feature = "rocksdb")]
    RocksDb,
}

impl Kind {
    /// Every engine that this was built with, ours first.
    pub const ALL: &[Self] = &[
        Self::Evergraph,
        Self::Lmdb,
        Self::Redb,
        Self::Fjall,
        #[cfg(feature = "rocksdb")]
        Self::RocksDb,
    ];

    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evergraph => "evergraph",
            Self::Lmdb => "lmdb",
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
        make(folder)?;
        Ok(match self {
            Self::Evergraph => Box::new(EvergraphStore::open(folder, vertices, commit)?),
            Self::Lmdb => Box::new(LmdbStore::open(folder, commit)?),
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
        make(folder)?;
        Ok(match self {
            Self::Evergraph => None,
            Self::Lmdb => Some(Box::new(LmdbStore::open(folder, commit)?)),
            Self::Redb => Some(Box::new(RedbStore::open(folder, commit)?)),
            Self::Fjall => Some(Box::new(FjallStore::open(folder, commit)?)),
            #[cfg(feature = "rocksdb")]
            Self::RocksDb => Some(Box::new(RocksDbStore::open(folder, commit)?)),
        })
    }
}

fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Error::new(ErrorKind::Io, format!("make the folder {}: {error}", folder.display())).because(error)
    })
}

/// A store of edges. Any thread may use it.
pub trait Store: Send + Sync {
    /// Makes all `edges` be there, in one transaction.
    ///
    /// # Errors
    /// What the engine says.
    fn put(&self, edges: &[Edge]) -> Result<()>;

    /// Makes none of `edges` be there, in one transaction.
    ///
    /// # Errors
    /// What the engine says.
    fn delete(&self, edges: &[Edge]) -> Result<()>;

    /// Fills an empty store with `edges`, ascending and each once, as fast as the engine can.
    ///
    /// # Errors
    /// What the engine says.
    fn load(&self, edges: &[Edge]) -> Result<()>;

    /// Calls `body` with a reader of one moment.
    ///
    /// # Errors
    /// What the engine or `body` says.
    fn read(&self, body: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()>;

    /// Waits until background work that would make reads slow is done.
    ///
    /// # Errors
    /// What the engine says.
    fn settle(&self) -> Result<()>;

    /// Leaves everything on disk as a clean end does.
    ///
    /// # Errors
    /// What the engine says.
    fn close(self: Box<Self>) -> Result<()>;
}

/// Reads one moment of a store.
pub trait Reader {
    /// Whether there is an edge.
    ///
    /// # Errors
    /// What the engine says.
    fn has(&mut self, edge: Edge) -> Result<bool>;

    /// Appends up to `limit` out-neighbours of `vertex`, ascending.
    ///
    /// # Errors
    /// What the engine says.
    fn neighbors(&mut self, vertex: u32, limit: usize, into: &mut Vec<u32>) -> Result<()>;

    /// Calls `visit` with every vertex that has out-neighbours and with them, ascending, as fast as the
    /// engine can; a list may come in several pieces.
    ///
    /// # Errors
    /// What the engine says.
    fn scan(&mut self, visit: &mut dyn FnMut(u32, &[u32])) -> Result<()>;
}

/// What a store's engine said, as an error of ours.
pub fn failed(engine: &'static str) -> impl Fn(&dyn fmt::Display) -> Error {
    move |error| Error::new(ErrorKind::Io, format!("{engine} said: {error}"))
}

/// What a key that must be 8 bytes is.
pub(crate) fn edge_key(edge: Edge) -> [u8; 8] {
    ((u64::from(edge.0) << 32) | u64::from(edge.1)).to_be_bytes()
}

/// The edge of a key; an error for anything but 8 bytes.
pub(crate) fn edge_of(key: &[u8]) -> Result<Edge> {
    let bytes: [u8; 8] = key.try_into().map_err(|_| {
        Error::new(ErrorKind::Corrupt, format!("an edge's key has {} bytes instead of 8", key.len()))
    })?;
    let number = u64::from_be_bytes(bytes);
    Ok(((number >> 32) as u32, number as u32))
}

/// Hands out edges that come one by one as lists.
pub(crate) struct Lists<'a> {
    visit: &'a mut dyn FnMut(u32, &[u32]),
    source: u32,
    targets: Vec<u32>,
}

impl<'a> Lists<'a> {
    pub(crate) fn new(visit: &'a mut dyn FnMut(u32, &[u32])) -> Self {
        Self { visit, source: 0, targets: Vec::new() }
    }

    pub(crate) fn push(&mut self, (source, target): Edge) {
        if source != self.source {
            self.flush();
            self.source = source;
        }
        self.targets.push(target);
    }

    pub(crate) fn finish(mut self) {
        self.flush();
    }

    fn flush(&mut self) {
        if !self.targets.is_empty() {
            (self.visit)(self.source, &self.targets);
            self.targets.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_edges() {
        let edges = [(0, 1), (0, 255), (0, 256), (1, 0), (256, 2), (u32::MAX, 0)];
        assert!(edges.map(edge_key).is_sorted());
        assert!(edges.iter().all(|edge| edge_of(&edge_key(*edge)).unwrap() == *edge));
        assert!(edge_of(&[1]).is_err());
    }

    #[test]
    fn edges_become_lists() {
        let mut seen = Vec::new();
        let mut visit = |source: u32, targets: &[u32]| seen.push((source, targets.to_vec()));
        let mut lists = Lists::new(&mut visit);
        [(0, 3), (0, 4), (7, 1)].into_iter().for_each(|edge| lists.push(edge));
        lists.finish();
        assert_eq!(seen, [(0, vec![3, 4]), (7, vec![1])]);
    }

    /// The smallest story that every engine must tell alike.
    #[test]
    fn every_engine_keeps_the_same_edges() {
        for kind in Kind::ALL {
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
