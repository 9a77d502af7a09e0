//! LMDB: a key a vertex, whose targets are sorted duplicates of four bytes; read a page of them at a time.
//!
//! The crate is `lmdb-rkv`, with LMDB's own C code. It has all of a cursor's operations, `MDB_GET_BOTH` and
//! `MDB_NEXT_MULTIPLE` among them, which `heed` leaves out.

use crate::engine::key_value::{Change, KeyValue};
use crate::engine::store::{Access, Commit, Edge, Reader, Store, failed};
use evergraph_graph::error::{Error, ErrorKind, Result};
use lmdb::{
    Cursor, Database, DatabaseFlags, Environment, EnvironmentFlags, RoCursor, Transaction, WriteFlags,
};
use lmdb_sys::{
    MDB_FIRST, MDB_GET_BOTH, MDB_GET_MULTIPLE, MDB_NEXT, MDB_NEXT_MULTIPLE, MDB_NEXT_NODUP, MDB_SET,
    MDB_SET_RANGE,
};
use std::path::Path;

/// How it is set up.
pub const SETTINGS: &[(&str, &str)] = &[
    ("crate", "lmdb-rkv 0.14 with LMDB's C code"),
    ("directions", "out only"),
    ("duplicates", "checked by the tree: MDB_DUPSORT"),
    ("flags of the table", "MDB_DUPSORT, MDB_DUPFIXED, MDB_INTEGERKEY, MDB_INTEGERDUP (lmdb.h)"),
    ("map", "16 GiB"),
    (
        "unsynced",
        "MDB_NOSYNC: whole after a power cut if the file system keeps the order of writes (lmdb.h, mdb_env_open)",
    ),
    (
        "durable",
        "data and meta page synced at each commit; MDB_WRITEMAP: faster for data that fits the memory (lmdb.h)",
    ),
    ("reads", "MDB_GET_MULTIPLE and MDB_NEXT_MULTIPLE: up to a page of targets at once"),
    ("loading", "MDB_APPEND and MDB_APPENDDUP: ascending, no search"),
    (
        "within a limit",
        "a control group of its own bounds process and page cache; MDB_NORDAHEAD but for scans: for random reads of data \
         larger than memory (lmdb.h); durable: without MDB_WRITEMAP, for the same reason",
    ),
];

/// How it is set up where a power failure may ruin all of it.
pub const MAP_SETTINGS: &[(&str, &str)] = &[
    ("as", "lmdb, but for"),
    ("unsynced", "MDB_NOSYNC with MDB_WRITEMAP: a power failure can corrupt the whole database (lmdb.h)"),
];

pub(crate) const NAME: &str = "LMDB";
const MAP_BYTES: usize = 16 << 30;
/// Edges that a load puts in one transaction.
const LOAD_BATCH: usize = 1 << 20;

/// An environment with one table of edges and one of anything.
pub struct LmdbStore {
    environment: Environment,
    edges: Database,
    pairs: Database,
}

impl LmdbStore {
    /// Opens the environment in `folder`.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn open(folder: &Path, commit: Commit) -> Result<Self> {
        Self::open_with(
            folder,
            match commit {
                Commit::Unsynced => EnvironmentFlags::NO_SYNC,
                Commit::Durable => EnvironmentFlags::WRITE_MAP,
            },
        )
    }

    /// Opens the environment in `folder` so that nothing is synced and pages are written where they lie.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn open_map(folder: &Path) -> Result<Self> {
        Self::open_with(folder, EnvironmentFlags::NO_SYNC | EnvironmentFlags::WRITE_MAP)
    }

    /// Opens the environment in `folder` for data that is larger than memory and is read so.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn open_limited(folder: &Path, access: Access, commit: Commit) -> Result<Self> {
        let synced = match commit {
            Commit::Unsynced => EnvironmentFlags::empty(),
            Commit::Durable => EnvironmentFlags::NO_SYNC,
        };
        Self::open_with(folder, limited_flags(access) - synced)
    }

    fn open_with(folder: &Path, flags: EnvironmentFlags) -> Result<Self> {
        let fail = failed(NAME);
        let environment = environment(folder, flags)?;
        let edges = environment.create_db(Some("edges"), number_lists()).map_err(|error| fail(&error))?;
        let pairs = environment.create_db(Some("pairs"), DatabaseFlags::empty());
        Ok(Self { edges, pairs: pairs.map_err(|error| fail(&error))?, environment })
    }

    fn write(&self, body: impl FnOnce(&mut lmdb::RwTransaction<'_>) -> lmdb::Result<()>) -> Result<()> {
        let done = self.environment.begin_rw_txn().and_then(|mut transaction| {
            body(&mut transaction)?;
            transaction.commit()
        });
        done.map_err(|error| failed(NAME)(&error))
    }
}

/// An environment of up to two tables in `folder`.
pub(crate) fn environment(folder: &Path, flags: EnvironmentFlags) -> Result<Environment> {
    let mut builder = Environment::new();
    builder.set_flags(flags).set_max_dbs(2).set_max_readers(256).set_map_size(MAP_BYTES);
    builder.open(folder).map_err(|error| failed(NAME)(&error))
}

/// How data larger than memory is opened.
pub(crate) fn limited_flags(access: Access) -> EnvironmentFlags {
    match access {
        Access::Scan => EnvironmentFlags::NO_SYNC,
        Access::Single => EnvironmentFlags::NO_SYNC | EnvironmentFlags::NO_READAHEAD,
    }
}

/// How a table is made whose keys are vertices and whose data are vertices.
pub(crate) fn number_lists() -> DatabaseFlags {
    byte_lists() | DatabaseFlags::INTEGER_DUP
}

/// How a table is made whose keys are vertices and whose data have one length.
pub(crate) fn byte_lists() -> DatabaseFlags {
    DatabaseFlags::DUP_SORT | DatabaseFlags::DUP_FIXED | DatabaseFlags::INTEGER_KEY
}

/// Appends keys and data, both ascending, to an empty table.
pub(crate) fn append<D: AsRef<[u8]>>(
    environment: &Environment,
    table: Database,
    mut pairs: impl Iterator<Item = (u32, D)>,
) -> Result<()> {
    let mut last = None;
    let mut batch = || -> lmdb::Result<bool> {
        let mut transaction = environment.begin_rw_txn()?;
        let mut is_empty = true;
        for (key, data) in pairs.by_ref().take(LOAD_BATCH) {
            let flag = if last == Some(key) { WriteFlags::APPEND_DUP } else { WriteFlags::APPEND };
            (last, is_empty) = (Some(key), false);
            transaction.put(table, &key.to_ne_bytes(), &data, flag)?;
        }
        transaction.commit()?;
        Ok(!is_empty)
    };
    while batch().map_err(|error| failed(NAME)(&error))? {}
    Ok(())
}

impl Store for LmdbStore {
    fn put(&self, edges: &[Edge]) -> Result<()> {
        self.write(|transaction| {
            edges.iter().try_for_each(|(source, target)| {
                let [source, target] = [source, target].map(|end| end.to_ne_bytes());
                transaction.put(self.edges, &source, &target, WriteFlags::empty())
            })
        })
    }

    fn delete(&self, edges: &[Edge]) -> Result<()> {
        self.write(|transaction| {
            edges.iter().try_for_each(|(source, target)| {
                let [source, target] = [source, target].map(|end| end.to_ne_bytes());
                found(transaction.del(self.edges, &source, Some(&target)))
            })
        })
    }

    fn load(&self, edges: &[Edge]) -> Result<()> {
        let pairs = edges.iter().map(|(source, target)| (*source, target.to_ne_bytes()));
        append(&self.environment, self.edges, pairs)
    }

    fn read(&self, body: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        let fail = failed(NAME);
        let transaction = self.environment.begin_ro_txn().map_err(|error| fail(&error))?;
        let cursor = transaction.open_ro_cursor(self.edges).map_err(|error| fail(&error))?;
        body(&mut CursorReader(cursor))
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.environment.sync(true).map_err(|error| failed(NAME)(&error))
    }
}

/// What a cursor finds: a key, unless it is the one that was asked for, and data.
pub(crate) type Found<'a> = (Option<&'a [u8]>, &'a [u8]);

pub(crate) struct CursorReader<'a>(pub(crate) RoCursor<'a>);

impl<'a> CursorReader<'a> {
    /// What the cursor finds; `None` at the end, or if there is no such key.
    pub(crate) fn get(
        &self,
        key: Option<&[u8]>,
        data: Option<&[u8]>,
        operation: u32,
    ) -> Result<Option<Found<'a>>> {
        match self.0.get(key, data, operation) {
            Ok(found) => Ok(Some(found)),
            Err(lmdb::Error::NotFound) => Ok(None),
            Err(error) => Err(failed(NAME)(&error)),
        }
    }

    /// Calls `visit` with every target of the key that the cursor is at, as long as it says true.
    pub(crate) fn targets(&self, first: &[u8], visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
        // A key with one target has no page of duplicates: the operation then leaves what it was given.
        let Some((_, mut page)) = self.get(None, Some(&[]), MDB_GET_MULTIPLE)? else { return Ok(()) };
        if page.is_empty() {
            page = first;
        }
        while visit(page) {
            let Some((_, next)) = self.get(None, None, MDB_NEXT_MULTIPLE)? else { break };
            page = next;
        }
        Ok(())
    }
}

/// The vertices of a page of data.
pub(crate) fn numbers(page: &[u8]) -> impl Iterator<Item = u32> + '_ {
    page.as_chunks::<4>().0.iter().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// The vertex of a key.
pub(crate) fn number(key: Option<&[u8]>) -> Result<u32> {
    let bytes = key.and_then(|key| key.try_into().ok());
    let wrong = || Error::new(ErrorKind::Corrupt, "LMDB gave a vertex that isn't 4 bytes");
    bytes.map(u32::from_ne_bytes).ok_or_else(wrong)
}

impl Reader for CursorReader<'_> {
    fn has(&mut self, (source, target): Edge) -> Result<bool> {
        let [source, target] = [source, target].map(u32::to_ne_bytes);
        Ok(self.get(Some(&source), Some(&target), MDB_GET_BOTH)?.is_some())
    }

    fn neighbors(&mut self, vertex: u32, limit: usize, into: &mut Vec<u32>) -> Result<()> {
        let Some((_, first)) = self.get(Some(&vertex.to_ne_bytes()), None, MDB_SET)? else { return Ok(()) };
        let end = into.len().saturating_add(limit);
        self.targets(first, &mut |page| {
            into.extend(numbers(page).take(end - into.len()));
            into.len() < end
        })
    }

    fn scan(&mut self, visit: &mut dyn FnMut(u32, &[u32])) -> Result<()> {
        let mut list = Vec::new();
        let mut found = self.get(None, None, MDB_FIRST)?;
        while let Some((key, first)) = found {
            let source = number(key)?;
            self.targets(first, &mut |page| {
                list.clear();
                list.extend(numbers(page));
                visit(source, &list);
                true
            })?;
            found = self.get(None, None, MDB_NEXT_NODUP)?;
        }
        Ok(())
    }
}

/// Nothing there to delete is no failure.
fn found(deleted: lmdb::Result<()>) -> lmdb::Result<()> {
    if deleted == Err(lmdb::Error::NotFound) { Ok(()) } else { deleted }
}

impl KeyValue for LmdbStore {
    fn write(&self, changes: &[Change<'_>]) -> Result<()> {
        self.write(|transaction| {
            changes.iter().try_for_each(|(key, value)| match value {
                Some(value) => transaction.put(self.pairs, key, value, WriteFlags::empty()),
                None => found(transaction.del(self.pairs, key, None)),
            })
        })
    }

    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let transaction = self.environment.begin_ro_txn().map_err(|error| failed(NAME)(&error))?;
        match transaction.get(self.pairs, &key) {
            Ok(value) => visit(value),
            Err(lmdb::Error::NotFound) => return Ok(false),
            Err(error) => return Err(failed(NAME)(&error)),
        }
        Ok(true)
    }

    fn prefix(&self, prefix: &[u8], visit: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        let fail = failed(NAME);
        let transaction = self.environment.begin_ro_txn().map_err(|error| fail(&error))?;
        let cursor = CursorReader(transaction.open_ro_cursor(self.pairs).map_err(|error| fail(&error))?);
        let mut found = cursor.get(Some(prefix), None, MDB_SET_RANGE)?;
        while let Some((Some(key), value)) = found {
            if !key.starts_with(prefix) || !visit(key, value) {
                break;
            }
            found = cursor.get(None, None, MDB_NEXT)?;
        }
        Ok(())
    }
}
