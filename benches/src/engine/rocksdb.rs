//! RocksDB: both ends in the key, big end first; no value.

use crate::engine::key_value::{Change, KeyValue};
use crate::engine::store::{Commit, Edge, Lists, Reader, Store, edge_key, edge_of, failed};
use evergraph_graph::error::Result;
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, DB, DBRawIteratorWithThreadMode,
    IngestExternalFileOptions, Options, ReadOptions, SliceTransform, SstFileWriter, WaitForCompactOptions,
    WriteBatch, WriteOptions,
};
use std::path::{Path, PathBuf};

/// How it is set up: what RocksDB's wiki advises, "Setup Options and Basic Tuning".
pub const SETTINGS: &[(&str, &str)] = &[
    ("crate", "rocksdb 0.25"),
    ("directions", "out only"),
    ("duplicates", "the last write of a key counts; nothing is read"),
    ("advice", "RocksDB's wiki, Setup Options and Basic Tuning, and Prefix Seek"),
    ("level_compaction_dynamic_level_bytes", "true"),
    ("max_background_jobs", "6"),
    ("bytes_per_sync", "1 MiB"),
    ("block", "16 KiB, cache 1 GiB, index and filter blocks in it and pinned for level 0"),
    ("bloom filter", "10 bits a key; prefixes of 4 bytes, the source"),
    ("compression", "none: LiveGraph's paper compares so, and nothing is unpacked on a read"),
    ("write buffer", "64 MiB (the default)"),
    ("unsynced", "the write-ahead log is written to the system, not synced (the default)"),
    ("durable", "WriteOptions::sync"),
    ("loads", "files of sorted keys, taken over: what the wiki advises, Creating and Ingesting SST files"),
    (
        "within a limit",
        "three quarters are the cache's, a quarter is two write buffers'; direct I/O; partitioned indexes and filters",
    ),
];

const NAME: &str = "RocksDB";
/// Edges of a file that a load makes: some 64 MiB.
const FILE_EDGES: usize = 1 << 22;

/// A database.
pub struct RocksDbStore {
    database: DB,
    write: WriteOptions,
    options: Options,
    folder: PathBuf,
}

impl RocksDbStore {
    /// Opens the database in `folder`.
    ///
    /// # Errors
    /// What RocksDB says.
    pub fn open(folder: &Path, commit: Commit) -> Result<Self> {
        Self::open_with(folder, commit, None)
    }

    /// The same within `limit_bytes`: three quarters of them are the cache's, a quarter is that of two write buffers; files
    /// are read and written past the system's cache, as ours are.
    ///
    /// # Errors
    /// What RocksDB says.
    pub fn open_limited(folder: &Path, limit_bytes: u64, commit: Commit) -> Result<Self> {
        Self::open_with(folder, commit, Some(limit_bytes as usize))
    }

    fn open_with(folder: &Path, commit: Commit, limit_bytes: Option<usize>) -> Result<Self> {
        let options = options(limit_bytes);
        let mut write = WriteOptions::default();
        write.set_sync(commit == Commit::Durable);
        let database = DB::open(&options, folder.join("rocksdb")).map_err(|error| failed(NAME)(&error))?;
        Ok(Self { database, write, options, folder: folder.to_owned() })
    }

    /// The same without the write-ahead log: what was not flushed is lost when the process ends.
    #[must_use]
    pub fn without_log(mut self) -> Self {
        self.write.disable_wal(true);
        self
    }

    fn batch(&self, fill: impl FnOnce(&mut WriteBatch)) -> Result<()> {
        let mut batch = WriteBatch::default();
        fill(&mut batch);
        self.database.write_opt(batch, &self.write).map_err(|error| failed(NAME)(&error))
    }
}

/// The settings of a database, or of one within a limit: see [`RocksDbStore::open_limited`].
pub(crate) fn options(limit_bytes: Option<usize>) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_size(16 << 10);
    let cache_bytes = limit_bytes.map_or(1 << 30, |limit| limit / 4 * 3);
    table.set_block_cache(&Cache::new_lru_cache(cache_bytes));
    table.set_cache_index_and_filter_blocks(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    table.set_bloom_filter(10.0, false);
    let mut options = Options::default();
    options.create_if_missing(true);
    if let Some(limit) = limit_bytes {
        // Filters are as large as the memory: the wiki's Partitioned Index Filters.
        table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        table.set_partition_filters(true);
        table.set_metadata_block_size(4096);
        table.set_pin_top_level_index_and_filter(true);
        options.set_write_buffer_size(limit / 8);
        options.set_max_write_buffer_number(2);
        options.set_use_direct_reads(true);
        options.set_use_direct_io_for_flush_and_compaction(true);
    }
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_max_background_jobs(6);
    options.set_bytes_per_sync(1 << 20);
    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(4));
    options.set_compression_type(rocksdb::DBCompressionType::None);
    options.set_block_based_table_factory(&table);
    options
}

/// Writes pairs, whose keys ascend, into files that a database can take over: what RocksDB's wiki advises for loads,
/// "Creating and Ingesting SST files".
pub(crate) fn write_files<V: AsRef<[u8]>>(
    options: &Options,
    folder: &Path,
    name: &str,
    pairs: impl Iterator<Item = ([u8; 8], V)>,
) -> Result<Vec<PathBuf>> {
    let mut pairs = pairs.peekable();
    let mut files = Vec::new();
    while pairs.peek().is_some() {
        let path = folder.join(format!("{name}-{}.sst", files.len()));
        let mut writer = SstFileWriter::create(options);
        writer.open(&path).map_err(|error| failed(NAME)(&error))?;
        for (key, value) in pairs.by_ref().take(FILE_EDGES) {
            writer.put(key, value).map_err(|error| failed(NAME)(&error))?;
        }
        writer.finish().map_err(|error| failed(NAME)(&error))?;
        files.push(path);
    }
    Ok(files)
}

/// Files that are taken over, not copied.
pub(crate) fn moved() -> IngestExternalFileOptions {
    let mut options = IngestExternalFileOptions::default();
    options.set_move_files(true);
    options
}

impl Store for RocksDbStore {
    fn put(&self, edges: &[Edge]) -> Result<()> {
        self.batch(|batch| edges.iter().for_each(|edge| batch.put(edge_key(*edge), b"")))
    }

    fn put_missing(&self, edges: &[Edge]) -> Result<()> {
        let found: Vec<bool> = match edges {
            [edge] => {
                let found = self.database.get_pinned(edge_key(*edge));
                vec![found.map_err(|error| failed(NAME)(&error))?.is_some()]
            }
            _ => {
                let found = self.database.multi_get(edges.iter().map(|edge| edge_key(*edge)));
                let found = found.into_iter().map(|found| found.map(|value| value.is_some()));
                found.collect::<std::result::Result<_, _>>().map_err(|error| failed(NAME)(&error))?
            }
        };
        let missing = edges.iter().zip(found).filter(|(_, is_there)| !is_there).map(|(edge, _)| *edge);
        self.put(&missing.collect::<Vec<_>>())
    }

    fn delete(&self, edges: &[Edge]) -> Result<()> {
        self.batch(|batch| edges.iter().for_each(|edge| batch.delete(edge_key(*edge))))
    }

    fn load(&self, edges: &[Edge]) -> Result<()> {
        let pairs = edges.iter().map(|edge| (edge_key(*edge), [0; 0]));
        let files = write_files(&self.options, &self.folder, "edges", pairs)?;
        self.database.ingest_external_file_opts(&moved(), files).map_err(|error| failed(NAME)(&error))
    }

    fn read(&self, body: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        let snapshot = self.database.snapshot();
        let options = || {
            let mut options = ReadOptions::default();
            options.set_snapshot(&snapshot);
            options
        };
        let mut lists = options();
        lists.set_prefix_same_as_start(true);
        let lists = self.database.raw_iterator_opt(lists);
        let mut all = options();
        all.set_total_order_seek(true);
        let all = self.database.raw_iterator_opt(all);
        body(&mut IteratorReader { database: &self.database, point: options(), lists, all })
    }

    fn settle(&self) -> Result<()> {
        self.database.compact_range(None::<&[u8]>, None::<&[u8]>);
        let done = self.database.wait_for_compact(&WaitForCompactOptions::default());
        done.map_err(|error| failed(NAME)(&error))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.database.flush().map_err(|error| failed(NAME)(&error))
    }
}

struct IteratorReader<'a> {
    database: &'a DB,
    point: ReadOptions,
    lists: DBRawIteratorWithThreadMode<'a, DB>,
    all: DBRawIteratorWithThreadMode<'a, DB>,
}

impl Reader for IteratorReader<'_> {
    fn has(&mut self, edge: Edge) -> Result<bool> {
        let found = self.database.get_pinned_opt(edge_key(edge), &self.point);
        Ok(found.map_err(|error| failed(NAME)(&error))?.is_some())
    }

    fn neighbors(&mut self, vertex: u32, limit: usize, into: &mut Vec<u32>) -> Result<()> {
        let end = into.len().saturating_add(limit);
        self.lists.seek(vertex.to_be_bytes());
        while into.len() < end
            && let Some(key) = self.lists.key()
        {
            let (source, target) = edge_of(key)?;
            if source != vertex {
                break;
            }
            into.push(target);
            self.lists.next();
        }
        self.lists.status().map_err(|error| failed(NAME)(&error))
    }

    fn scan(&mut self, visit: &mut dyn FnMut(u32, &[u32])) -> Result<()> {
        let mut lists = Lists::new(visit);
        self.all.seek_to_first();
        while let Some(key) = self.all.key() {
            lists.push(edge_of(key)?);
            self.all.next();
        }
        lists.finish();
        self.all.status().map_err(|error| failed(NAME)(&error))
    }
}

impl KeyValue for RocksDbStore {
    fn write(&self, changes: &[Change<'_>]) -> Result<()> {
        self.batch(|batch| {
            for (key, value) in changes {
                match value {
                    Some(value) => batch.put(key, value),
                    None => batch.delete(key),
                }
            }
        })
    }

    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let found = self.database.get_pinned(key).map_err(|error| failed(NAME)(&error))?;
        found.iter().for_each(|value| visit(value));
        Ok(found.is_some())
    }

    fn prefix(&self, prefix: &[u8], visit: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        // Prefixes here are longer or shorter than the four bytes that filters know.
        let mut options = ReadOptions::default();
        options.set_total_order_seek(true);
        let mut found = self.database.raw_iterator_opt(options);
        found.seek(prefix);
        while let Some((key, value)) = found.item() {
            if !key.starts_with(prefix) || !visit(key, value) {
                break;
            }
            found.next();
        }
        found.status().map_err(|error| failed(NAME)(&error))
    }
}
