//! RocksDB's lists: kernels read a snapshot of a database of edges through its iterators.
//!
//! ```text
//! out   key: source, target, big end first   value: weight, 8 bytes
//! in    key: target, source                  no value
//! ```
//!
//! As the wiki advises: scans read 1 MiB ahead past the system's cache; lists of single vertices are sought with the
//! filter of prefixes.

use crate::engine::key_lists::{KeyLists, KeySides, Keys, Seek};
use crate::engine::rocksdb::{moved, options, write_files};
use crate::engine::store::{Edge, edge_key, edge_of, failed};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{PieceBuffer, Projection};
use rocksdb::{
    ColumnFamily, DB, DBRawIteratorWithThreadMode, Options, ReadOptions, SnapshotWithThreadMode, WriteBatch,
};
use std::path::Path;

const NAME: &str = "RocksDB";
/// The edges of the other side; those from source to target are in the default family.
const IN_EDGES: &str = "in";
/// A scan reads so far ahead.
const AHEAD_BYTES: usize = 1 << 20;

/// A database of weighted edges, both sides.
pub struct RocksDbGraph {
    database: DB,
    vertices: u32,
    edges: u64,
}

impl RocksDbGraph {
    /// A new database in `folder` within `limit_bytes` with `loaded`, ascending; `later` is put in batches of 1,000.
    ///
    /// # Errors
    /// What RocksDB says.
    pub fn filled(
        folder: &Path,
        limit_bytes: u64,
        vertices: u32,
        (loaded, later): (&[Edge], &[Edge]),
        weight: impl Fn(Edge) -> f64,
    ) -> Result<Self> {
        let fail = failed(NAME);
        let mut options: Options = options(Some(limit_bytes as usize));
        options.create_missing_column_families(true);
        let names = [rocksdb::DEFAULT_COLUMN_FAMILY_NAME, IN_EDGES];
        let families = names.map(|name| (name, options.clone()));
        let database = DB::open_cf_with_opts(&options, folder.join("rocksdb"), families);
        let database = database.map_err(|error| fail(&error))?;
        let graph = Self { database, vertices, edges: (loaded.len() + later.len()) as u64 };
        let out = loaded.iter().map(|edge| (edge_key(*edge), weight(*edge).to_le_bytes()));
        graph.ingest(graph.family(Direction::Out)?, write_files(&options, folder, "out", out)?)?;
        let mut turned: Vec<Edge> = loaded.iter().map(|(source, target)| (*target, *source)).collect();
        turned.sort_unstable();
        let turned = turned.iter().map(|edge| (edge_key(*edge), [0; 0]));
        graph.ingest(graph.family(Direction::In)?, write_files(&options, folder, "in", turned)?)?;
        for edges in later.chunks(1000) {
            let mut batch = WriteBatch::default();
            for edge in edges {
                batch.put(edge_key(*edge), weight(*edge).to_le_bytes());
                batch.put_cf(graph.family(Direction::In)?, edge_key((edge.1, edge.0)), b"");
            }
            graph.database.write(batch).map_err(|error| fail(&error))?;
        }
        Ok(graph)
    }

    fn ingest(&self, family: &ColumnFamily, files: Vec<std::path::PathBuf>) -> Result<()> {
        let done = self.database.ingest_external_file_cf_opts(family, &moved(), files);
        done.map_err(|error| failed(NAME)(&error))
    }

    fn family(&self, side: Direction) -> Result<&ColumnFamily> {
        let name = if side == Direction::In { IN_EDGES } else { rocksdb::DEFAULT_COLUMN_FAMILY_NAME };
        self.database.cf_handle(name).ok_or_else(|| Error::invalid(format!("RocksDB has no family {name}")))
    }

    /// Lists of this moment.
    #[must_use]
    pub fn lists(&self, projection: &Projection) -> KeyLists<RocksDbSides<'_>> {
        let sides = RocksDbSides { graph: self, snapshot: self.database.snapshot() };
        KeyLists::new(sides, (self.vertices, self.edges), projection)
    }
}

/// The keys of one moment.
pub struct RocksDbSides<'a> {
    graph: &'a RocksDbGraph,
    snapshot: SnapshotWithThreadMode<'a, DB>,
}

/// A place in the keys of one side.
pub struct RocksDbKeys<'a>(DBRawIteratorWithThreadMode<'a, DB>);

impl KeySides for RocksDbSides<'_> {
    type Keys<'a> = RocksDbKeys<'a>;

    fn read(
        &self,
        sides: &[Direction],
        seek: Seek,
        body: impl FnOnce(&mut [RocksDbKeys<'_>]) -> Result<()>,
    ) -> Result<()> {
        let open = |side: &Direction| {
            let mut options = ReadOptions::default();
            options.set_snapshot(&self.snapshot);
            match seek {
                Seek::ScanTo(end) => {
                    options.set_total_order_seek(true);
                    options.set_readahead_size(AHEAD_BYTES);
                    options.set_iterate_upper_bound(end.to_be_bytes().to_vec());
                }
                Seek::Lists => options.set_prefix_same_as_start(true),
            }
            let family = self.graph.family(*side)?;
            Ok(RocksDbKeys(self.graph.database.raw_iterator_cf_opt(family, options)))
        };
        let mut keys: Vec<RocksDbKeys<'_>> = sides.iter().map(open).collect::<Result<_>>()?;
        body(&mut keys)
    }
}

impl Keys for RocksDbKeys<'_> {
    fn seek(&mut self, vertex: u32) -> Result<()> {
        self.0.seek(vertex.to_be_bytes());
        self.0.status().map_err(|error| failed(NAME)(&error))
    }

    fn vertex(&self) -> Result<Option<u32>> {
        Ok(self.0.key().map(edge_of).transpose()?.map(|(source, _)| source))
    }

    fn list(&mut self, vertex: u32, has_weights: bool, buffer: &mut PieceBuffer) -> Result<()> {
        while let Some(key) = self.0.key() {
            let (source, target) = edge_of(key)?;
            if source != vertex {
                break;
            }
            buffer.neighbors.push(target);
            if has_weights {
                let value = self.0.value().and_then(|value| value.try_into().ok());
                let missing = || Error::invalid("an edge of RocksDB has no weight");
                buffer.weights.push(f64::from_le_bytes(value.ok_or_else(missing)?));
            }
            self.0.next();
        }
        self.0.status().map_err(|error| failed(NAME)(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::key_lists::tests::{LATER, LOADED, check, weight};
    use evergraph_graph::id::KeyId;
    use evergraph_graph::topology::Weight;

    #[test]
    fn lists_of_both_sides_come_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let graph = RocksDbGraph::filled(folder.path(), 64 << 20, 5, (&LOADED, &LATER), weight).unwrap();
        let weighted = Some(Weight { key: KeyId(0), missing: None });
        check(|direction| {
            graph.lists(&Projection { weight: weighted.clone(), ..Projection::all(direction) })
        });
    }
}
