//! fjall: a keyspace of edges, both ends in the key, big end first.

use crate::engine::key_value::{Change, KeyValue};
use crate::engine::store::{Commit, Edge, Lists, Reader, Store, edge_key, edge_of, failed};
use evergraph_graph::error::Result;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable, Snapshot};
use std::path::Path;

/// How it is set up.
pub const SETTINGS: &[(&str, &str)] = &[
    ("crate", "fjall 3"),
    ("directions", "out only"),
    ("duplicates", "the last write of a key counts; nothing is read"),
    ("unsynced", "the journal is written to the system, not synced (the default)"),
    ("durable", "PersistMode::SyncData after each batch"),
    ("all else", "the defaults of the crate"),
    (
        "within a limit",
        "a control group of its own bounds process and page cache; a quarter is the cache's, as the crate advises, each table \
         in memory has an eighth",
    ),
];

const NAME: &str = "fjall";
/// Edges that a load puts in one batch.
const LOAD_BATCH: usize = 1 << 16;

/// A database with a keyspace of edges and one of anything.
pub struct FjallStore {
    database: Database,
    edges: Keyspace,
    pairs: Keyspace,
    commit: Commit,
}

impl FjallStore {
    /// Opens the database in `folder`.
    ///
    /// # Errors
    /// What fjall says.
    pub fn open(folder: &Path, commit: Commit) -> Result<Self> {
        Self::open_by(Database::builder(folder.join("fjall")), KeyspaceCreateOptions::default(), commit)
    }

    /// The same with a cache of a quarter of `limit_bytes`, as the crate advises, and tables in memory of an eighth each. It
    /// reads through the system's cache, which whoever opens it has to limit.
    ///
    /// # Errors
    /// What fjall says.
    pub fn open_limited(folder: &Path, limit_bytes: u64, commit: Commit) -> Result<Self> {
        let builder = Database::builder(folder.join("fjall")).cache_size(limit_bytes / 4);
        let options = KeyspaceCreateOptions::default().max_memtable_size(limit_bytes / 8);
        Self::open_by(builder, options, commit)
    }

    fn open_by(
        builder: fjall::DatabaseBuilder<Database>,
        options: KeyspaceCreateOptions,
        commit: Commit,
    ) -> Result<Self> {
        let fail = failed(NAME);
        let database = builder.open().map_err(|error| fail(&error))?;
        let keyspace = |name: &str| database.keyspace(name, || options.clone());
        let (edges, pairs) = (keyspace("edges"), keyspace("pairs"));
        let (edges, pairs) = (edges.map_err(|error| fail(&error))?, pairs.map_err(|error| fail(&error))?);
        Ok(Self { database, edges, pairs, commit })
    }

    fn batch(&self, fill: impl FnOnce(&mut fjall::OwnedWriteBatch)) -> Result<()> {
        let mut batch = self.database.batch();
        if self.commit == Commit::Durable {
            batch = batch.durability(Some(PersistMode::SyncData));
        }
        fill(&mut batch);
        batch.commit().map_err(|error| failed(NAME)(&error))
    }
}

impl Store for FjallStore {
    fn put(&self, edges: &[Edge]) -> Result<()> {
        self.batch(|batch| edges.iter().for_each(|edge| batch.insert(&self.edges, edge_key(*edge), [])))
    }

    fn put_missing(&self, edges: &[Edge]) -> Result<()> {
        let mut missing = Vec::with_capacity(edges.len());
        for edge in edges {
            if !self.edges.contains_key(edge_key(*edge)).map_err(|error| failed(NAME)(&error))? {
                missing.push(*edge);
            }
        }
        self.put(&missing)
    }

    fn delete(&self, edges: &[Edge]) -> Result<()> {
        self.batch(|batch| edges.iter().for_each(|edge| batch.remove(&self.edges, edge_key(*edge))))
    }

    fn load(&self, edges: &[Edge]) -> Result<()> {
        edges.chunks(LOAD_BATCH).try_for_each(|edges| self.put(edges))
    }

    fn read(&self, body: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        body(&mut SnapshotReader { snapshot: self.database.snapshot(), edges: &self.edges })
    }

    fn settle(&self) -> Result<()> {
        let done = self.edges.rotate_memtable_and_wait().and_then(|()| self.edges.major_compact());
        done.map_err(|error| failed(NAME)(&error))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.database.persist(PersistMode::SyncAll).map_err(|error| failed(NAME)(&error))
    }
}

struct SnapshotReader<'a> {
    snapshot: Snapshot,
    edges: &'a Keyspace,
}

impl Reader for SnapshotReader<'_> {
    fn has(&mut self, edge: Edge) -> Result<bool> {
        self.snapshot.contains_key(self.edges, edge_key(edge)).map_err(|error| failed(NAME)(&error))
    }

    fn neighbors(&mut self, vertex: u32, limit: usize, into: &mut Vec<u32>) -> Result<()> {
        for found in self.snapshot.prefix(self.edges, vertex.to_be_bytes()).take(limit) {
            into.push(edge_of(&found.key().map_err(|error| failed(NAME)(&error))?)?.1);
        }
        Ok(())
    }

    fn scan(&mut self, visit: &mut dyn FnMut(u32, &[u32])) -> Result<()> {
        let mut lists = Lists::new(visit);
        for found in self.snapshot.iter(self.edges) {
            lists.push(edge_of(&found.key().map_err(|error| failed(NAME)(&error))?)?);
        }
        lists.finish();
        Ok(())
    }
}

impl KeyValue for FjallStore {
    fn write(&self, changes: &[Change<'_>]) -> Result<()> {
        self.batch(|batch| {
            for (key, value) in changes {
                match value {
                    Some(value) => batch.insert(&self.pairs, *key, *value),
                    None => batch.remove(&self.pairs, *key),
                }
            }
        })
    }

    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let found = self.pairs.get(key).map_err(|error| failed(NAME)(&error))?;
        found.iter().for_each(|value| visit(value));
        Ok(found.is_some())
    }

    fn prefix(&self, prefix: &[u8], visit: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        for found in self.pairs.prefix(prefix) {
            let (key, value) = found.into_inner().map_err(|error| failed(NAME)(&error))?;
            if !visit(&key, &value) {
                break;
            }
        }
        Ok(())
    }
}
