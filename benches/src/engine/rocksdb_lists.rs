//! RocksDB's lists: kernels read a snapshot of a database of edges through its iterators.
//!
//! ```text
//! out   key: source, target, big end first   value: weight, 8 bytes
//! in    key: target, source                  no value
//! ```
//!
//! As the wiki advises: scans read 1 MiB ahead past the system's cache; lists of single vertices are sought with the
//! filter of prefixes.

use crate::engine::rocksdb::{moved, options, write_files};
use crate::engine::store::{Edge, edge_key, edge_of, failed};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use rocksdb::{
    ColumnFamily, DB, DBRawIteratorWithThreadMode, Options, ReadOptions, SnapshotWithThreadMode, WriteBatch,
};
use std::ops::Range;
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

    /// Lists of this moment, with weights or without.
    #[must_use]
    pub fn lists(&self, direction: Direction, is_weighted: bool) -> RocksDbLists<'_> {
        RocksDbLists {
            graph: self,
            snapshot: self.database.snapshot(),
            vertices: VertexSet::full(self.vertices),
            direction,
            is_weighted,
        }
    }
}

/// Lists of one moment.
pub struct RocksDbLists<'a> {
    graph: &'a RocksDbGraph,
    snapshot: SnapshotWithThreadMode<'a, DB>,
    vertices: VertexSet,
    direction: Direction,
    is_weighted: bool,
}

/// How keys are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seek {
    /// One after the other.
    Scan,
    /// By prefixes.
    Lists,
}

/// A place in the keys of one side.
struct Keys<'a> {
    iterator: DBRawIteratorWithThreadMode<'a, DB>,
    side: Direction,
}

impl RocksDbLists<'_> {
    fn keys(&self, direction: Direction, seek: Seek, end: u32) -> Result<Vec<Keys<'_>>> {
        let sides: &[Direction] = match direction {
            Direction::Both => &[Direction::Out, Direction::In],
            Direction::Out => &[Direction::Out],
            Direction::In => &[Direction::In],
        };
        let is_frozen = |side: &Direction| self.direction == Direction::Both || self.direction == *side;
        if !sides.iter().all(is_frozen) {
            return Err(Error::invalid(format!("{direction:?} was not frozen: {:?}", self.direction)));
        }
        let open = |side: &Direction| {
            let mut options = ReadOptions::default();
            options.set_snapshot(&self.snapshot);
            match seek {
                Seek::Scan => {
                    options.set_total_order_seek(true);
                    options.set_readahead_size(AHEAD_BYTES);
                    options.set_iterate_upper_bound(end.to_be_bytes().to_vec());
                }
                Seek::Lists => options.set_prefix_same_as_start(true),
            }
            let family = self.graph.family(*side)?;
            Ok(Keys { iterator: self.graph.database.raw_iterator_cf_opt(family, options), side: *side })
        };
        sides.iter().map(open).collect()
    }
}

impl Keys<'_> {
    fn seek(&mut self, vertex: u32) -> Result<()> {
        self.iterator.seek(vertex.to_be_bytes());
        self.iterator.status().map_err(|error| failed(NAME)(&error))
    }

    fn vertex(&self) -> Result<Option<u32>> {
        Ok(self.iterator.key().map(edge_of).transpose()?.map(|(source, _)| source))
    }

    /// The list of `vertex`, if it comes next.
    fn list(&mut self, vertex: u32, is_weighted: bool, buffer: &mut PieceBuffer) -> Result<()> {
        buffer.neighbors.clear();
        buffer.weights.clear();
        while let Some(key) = self.iterator.key() {
            let (source, target) = edge_of(key)?;
            if source != vertex {
                break;
            }
            buffer.neighbors.push(target);
            if is_weighted {
                let value = self.iterator.value().and_then(|value| value.try_into().ok());
                let missing = || Error::invalid("an edge of RocksDB has no weight");
                buffer.weights.push(f64::from_le_bytes(value.ok_or_else(missing)?));
            }
            self.iterator.next();
        }
        self.iterator.status().map_err(|error| failed(NAME)(&error))
    }
}

/// Hands out the lists of `vertex`; what the visitor wants next.
fn visit_vertex(
    keys: &mut [Keys<'_>],
    vertex: u32,
    is_weighted: bool,
    buffer: &mut PieceBuffer,
    visitor: &mut impl FnMut(u32, Piece<'_>) -> Visit,
) -> Result<Visit> {
    let mut next = Visit::Continue;
    for keys in keys {
        keys.list(vertex, is_weighted && keys.side == Direction::Out, buffer)?;
        if next == Visit::Continue && !buffer.neighbors.is_empty() {
            let piece = Piece { neighbors: &buffer.neighbors, weights: &buffer.weights, sorted: true };
            next = visitor(vertex, piece);
        }
    }
    Ok(next)
}

impl Topology for RocksDbLists<'_> {
    fn bound(&self) -> u32 {
        self.vertices.bound()
    }

    fn vertices(&self) -> &VertexSet {
        &self.vertices
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    fn edge_count(&self) -> u64 {
        self.graph.edges
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        degrees.fill(0);
        let first = range.start;
        self.visit(direction, range, &mut PieceBuffer::default(), |vertex, piece| {
            degrees[(vertex - first) as usize] += piece.neighbors.len() as u32;
            Visit::Continue
        })
    }

    fn visit<F>(
        &self,
        direction: Direction,
        range: Range<u32>,
        buffer: &mut PieceBuffer,
        mut visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let mut keys = self.keys(direction, Seek::Scan, range.end)?;
        keys.iter_mut().try_for_each(|keys| keys.seek(range.start))?;
        loop {
            let mut next = None;
            for keys in &keys {
                next = [next, keys.vertex()?].into_iter().flatten().min();
            }
            let Some(vertex) = next.filter(|vertex| *vertex < range.end) else { return Ok(()) };
            if visit_vertex(&mut keys, vertex, self.is_weighted, buffer, &mut visitor)? == Visit::Stop {
                return Ok(());
            }
        }
    }

    fn visit_each<F>(
        &self,
        direction: Direction,
        vertices: &[u32],
        buffer: &mut PieceBuffer,
        mut visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let mut keys = self.keys(direction, Seek::Lists, u32::MAX)?;
        for vertex in vertices {
            keys.iter_mut().try_for_each(|keys| keys.seek(*vertex))?;
            if visit_vertex(&mut keys, *vertex, self.is_weighted, buffer, &mut visitor)? == Visit::Stop {
                return Ok(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_both_sides_come_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let (loaded, later) = (vec![(0, 1), (0, 3), (2, 0)], vec![(2, 3)]);
        let weight = |(source, target): Edge| f64::from(source * 10 + target);
        let graph = RocksDbGraph::filled(folder.path(), 64 << 20, 5, (&loaded, &later), weight).unwrap();
        let lists = graph.lists(Direction::Both, true);
        let mut seen = Vec::new();
        let mut buffer = PieceBuffer::default();
        let mut note = |vertex, piece: Piece<'_>| {
            seen.push((vertex, piece.neighbors.to_vec(), piece.weights.to_vec()));
            Visit::Continue
        };
        lists.visit(Direction::Both, 0..5, &mut buffer, &mut note).unwrap();
        lists.visit_each(Direction::Out, &[1, 2], &mut buffer, &mut note).unwrap();
        let expected = [
            (0, vec![1, 3], vec![1.0, 3.0]),
            (0, vec![2], vec![]),
            (1, vec![0], vec![]),
            (2, vec![0, 3], vec![20.0, 23.0]),
            (3, vec![0, 2], vec![]),
            (2, vec![0, 3], vec![20.0, 23.0]),
        ];
        assert_eq!(seen, expected);
        let mut degrees = [9; 3];
        lists.degrees(Direction::Both, 1..4, &mut degrees).unwrap();
        assert_eq!((degrees, lists.edge_count()), ([1, 2, 2], 4));
        let refused =
            graph.lists(Direction::Out, false).visit(Direction::In, 0..5, &mut buffer, |_, _| Visit::Stop);
        assert!(refused.is_err());
    }
}
