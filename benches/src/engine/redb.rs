//! redb: a table of edges, the pair of ends as the key.

use crate::engine::key_value::{Change, KeyValue};
use crate::engine::store::{Commit, Edge, Lists, Reader, Store, failed};
use evergraph_graph::error::Result;
use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition};
use std::path::Path;

/// How it is set up.
pub const SETTINGS: &[(&str, &str)] = &[
    ("crate", "redb 4"),
    ("directions", "out only"),
    ("duplicates", "checked by the tree: the pair of ends is the key"),
    ("cache", "1 GiB (the default)"),
    ("unsynced", "Durability::None: nothing is handed to the system before the next durable commit"),
    ("durable", "Durability::Immediate (the default)"),
];

const NAME: &str = "redb";
const EDGES: TableDefinition<'static, (u32, u32), ()> = TableDefinition::new("edges");
const PAIRS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("pairs");
/// Edges that a load puts in one transaction.
const LOAD_BATCH: usize = 1 << 20;

/// A database file.
pub struct RedbStore {
    database: Database,
    durability: Durability,
}

impl RedbStore {
    /// Opens the file in `folder`.
    ///
    /// # Errors
    /// What redb says.
    pub fn open(folder: &Path, commit: Commit) -> Result<Self> {
        let durability = match commit {
            Commit::Unsynced => Durability::None,
            Commit::Durable => Durability::Immediate,
        };
        let database = Database::create(folder.join("redb"));
        let store = Self { database: database.map_err(|error| failed(NAME)(&error))?, durability };
        // So that readers find the tables.
        store.write(|transaction| {
            transaction.open_table(EDGES)?;
            transaction.open_table(PAIRS)?;
            Ok(())
        })?;
        Ok(store)
    }

    fn write(
        &self,
        body: impl FnOnce(&redb::WriteTransaction) -> std::result::Result<(), redb::Error>,
    ) -> Result<()> {
        let done = || {
            let mut transaction = self.database.begin_write()?;
            transaction.set_durability(self.durability)?;
            body(&transaction)?;
            transaction.commit()?;
            Ok(())
        };
        done().map_err(|error: redb::Error| failed(NAME)(&error))
    }

    fn read_table<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        table: TableDefinition<'static, K, V>,
    ) -> Result<ReadOnlyTable<K, V>> {
        let transaction = self.database.begin_read().map_err(|error| failed(NAME)(&error))?;
        transaction.open_table(table).map_err(|error| failed(NAME)(&error))
    }
}

impl Store for RedbStore {
    fn put(&self, edges: &[Edge]) -> Result<()> {
        self.write(|transaction| {
            let mut table = transaction.open_table(EDGES)?;
            edges.iter().try_for_each(|edge| Ok(table.insert(*edge, ()).map(drop)?))
        })
    }

    fn delete(&self, edges: &[Edge]) -> Result<()> {
        self.write(|transaction| {
            let mut table = transaction.open_table(EDGES)?;
            edges.iter().try_for_each(|edge| Ok(table.remove(*edge).map(drop)?))
        })
    }

    fn load(&self, edges: &[Edge]) -> Result<()> {
        edges.chunks(LOAD_BATCH).try_for_each(|edges| self.put(edges))
    }

    fn read(&self, body: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        body(&mut TableReader(self.read_table(EDGES)?))
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct TableReader(ReadOnlyTable<(u32, u32), ()>);

impl Reader for TableReader {
    fn has(&mut self, edge: Edge) -> Result<bool> {
        Ok(self.0.get(edge).map_err(|error| failed(NAME)(&error))?.is_some())
    }

    fn neighbors(&mut self, vertex: u32, limit: usize, into: &mut Vec<u32>) -> Result<()> {
        let range = self.0.range((vertex, 0)..=(vertex, u32::MAX)).map_err(|error| failed(NAME)(&error))?;
        for found in range.take(limit) {
            into.push(found.map_err(|error| failed(NAME)(&error))?.0.value().1);
        }
        Ok(())
    }

    fn scan(&mut self, visit: &mut dyn FnMut(u32, &[u32])) -> Result<()> {
        let mut lists = Lists::new(visit);
        for found in self.0.iter().map_err(|error| failed(NAME)(&error))? {
            lists.push(found.map_err(|error| failed(NAME)(&error))?.0.value());
        }
        lists.finish();
        Ok(())
    }
}

impl KeyValue for RedbStore {
    fn write(&self, changes: &[Change<'_>]) -> Result<()> {
        self.write(|transaction| {
            let mut table = transaction.open_table(PAIRS)?;
            changes.iter().try_for_each(|(key, value)| {
                match value {
                    Some(value) => drop(table.insert(*key, *value)?),
                    None => drop(table.remove(*key)?),
                }
                Ok(())
            })
        })
    }

    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let table = self.read_table(PAIRS)?;
        let found = table.get(key).map_err(|error| failed(NAME)(&error))?;
        found.iter().for_each(|value| visit(value.value()));
        Ok(found.is_some())
    }

    fn prefix(&self, prefix: &[u8], visit: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        let table = self.read_table(PAIRS)?;
        for found in table.range(prefix..).map_err(|error| failed(NAME)(&error))? {
            let (key, value) = found.map_err(|error| failed(NAME)(&error))?;
            if !key.value().starts_with(prefix) || !visit(key.value(), value.value()) {
                break;
            }
        }
        Ok(())
    }
}
