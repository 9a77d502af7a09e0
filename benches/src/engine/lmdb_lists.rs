//! LMDB's lists: kernels read a database of edges through its cursors, a page of a list at a time.
//!
//! ```text
//! out   key: source   data: target, big end first, then weight: 12 bytes, sorted
//! in    key: target   data: source, 4 bytes, sorted
//! ```
//!
//! Scans and look-ups want other settings of the environment ([`Access`]), so each opens its own; nobody writes meanwhile,
//! so that all transactions see one moment.

use crate::engine::key_lists::{KeyLists, KeySides, Keys, Seek};
use crate::engine::lmdb::{
    CursorReader, NAME, append, byte_lists, environment, limited_flags, number, number_lists, numbers,
};
use crate::engine::store::{Access, Edge, failed};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{PieceBuffer, Projection};
use lmdb::{Database, Environment, EnvironmentFlags, Transaction, WriteFlags};
use lmdb_sys::{MDB_NEXT_NODUP, MDB_SET, MDB_SET_RANGE};
use std::path::{Path, PathBuf};

const OUT: &str = "out";
const IN: &str = "in";
/// Bytes of a target with its weight.
const TARGET_BYTES: usize = 12;

/// A database of weighted edges, both sides.
pub struct LmdbGraph {
    folder: PathBuf,
    vertices: u32,
    edges: u64,
}

/// The edges of a graph, for both sides.
#[derive(Clone, Copy)]
pub struct BothSides<'a> {
    /// Vertices are 0 up to this.
    pub vertices: u32,
    /// From source to target, ascending.
    pub loaded: &'a [Edge],
    /// The same from target to source, ascending.
    pub turned: &'a [Edge],
    /// What comes later, from source to target.
    pub later: &'a [Edge],
}

impl LmdbGraph {
    /// A new database in `folder`; what comes later is put in batches of 1,000.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn filled(folder: &Path, graph: BothSides<'_>, weight: impl Fn(Edge) -> f64) -> Result<Self> {
        let fail = failed(NAME);
        let environment = environment(folder, limited_flags(Access::Single))?;
        let make = |name, flags| environment.create_db(Some(name), flags).map_err(|error| fail(&error));
        let (out, into) = (make(OUT, byte_lists())?, make(IN, number_lists())?);
        let target = |edge: &Edge| (edge.0, target_bytes(edge.1, weight(*edge)));
        append(&environment, out, graph.loaded.iter().map(target))?;
        append(&environment, into, graph.turned.iter().map(|(to, from)| (*to, from.to_ne_bytes())))?;
        for edges in graph.later.chunks(1000) {
            let done = environment.begin_rw_txn().and_then(|mut transaction| {
                for edge in edges {
                    let (key, data) = (edge.0.to_ne_bytes(), target_bytes(edge.1, weight(*edge)));
                    transaction.put(out, &key, &data, WriteFlags::empty())?;
                    let (key, data) = (edge.1.to_ne_bytes(), edge.0.to_ne_bytes());
                    transaction.put(into, &key, &data, WriteFlags::empty())?;
                }
                transaction.commit()
            });
            done.map_err(|error| fail(&error))?;
        }
        let edges = (graph.loaded.len() + graph.later.len()) as u64;
        Ok(Self { folder: folder.to_owned(), vertices: graph.vertices, edges })
    }

    /// Lists for one who reads so. Those before must be dropped: a process opens an environment once.
    ///
    /// # Errors
    /// What LMDB says.
    pub fn lists(&self, projection: &Projection, access: Access) -> Result<KeyLists<LmdbSides>> {
        // A transaction belongs to itself, not to its thread.
        let environment = environment(&self.folder, limited_flags(access) | EnvironmentFlags::NO_TLS)?;
        let table = |name| environment.open_db(Some(name)).map_err(|error| failed(NAME)(&error));
        let (out, into) = (table(OUT)?, table(IN)?);
        let sides = LmdbSides { environment, out, into };
        Ok(KeyLists::new(sides, (self.vertices, self.edges), projection))
    }
}

fn target_bytes(target: u32, weight: f64) -> [u8; TARGET_BYTES] {
    let mut bytes = [0; TARGET_BYTES];
    bytes[..4].copy_from_slice(&target.to_be_bytes());
    bytes[4..].copy_from_slice(&weight.to_le_bytes());
    bytes
}

/// The keys of both sides.
pub struct LmdbSides {
    environment: Environment,
    out: Database,
    into: Database,
}

/// A place in the keys of one side.
pub struct LmdbKeys<'a> {
    cursor: CursorReader<'a>,
    side: Direction,
    /// How a vertex is looked for.
    operation: u32,
    /// The vertex that the cursor is at, and the first data of its list.
    next: Option<(u32, &'a [u8])>,
}

impl KeySides for LmdbSides {
    type Keys<'a> = LmdbKeys<'a>;

    fn read(
        &self,
        sides: &[Direction],
        seek: Seek,
        body: impl FnOnce(&mut [LmdbKeys<'_>]) -> Result<()>,
    ) -> Result<()> {
        let transaction = self.environment.begin_ro_txn().map_err(|error| failed(NAME)(&error))?;
        let open = |side: &Direction| {
            let table = if *side == Direction::In { self.into } else { self.out };
            let cursor = transaction.open_ro_cursor(table).map_err(|error| failed(NAME)(&error))?;
            let operation = if seek == Seek::Lists { MDB_SET } else { MDB_SET_RANGE };
            Ok(LmdbKeys { cursor: CursorReader(cursor), side: *side, operation, next: None })
        };
        let mut keys: Vec<LmdbKeys<'_>> = sides.iter().map(open).collect::<Result<_>>()?;
        body(&mut keys)
    }
}

impl Keys for LmdbKeys<'_> {
    fn seek(&mut self, vertex: u32) -> Result<()> {
        self.next = match self.cursor.get(Some(&vertex.to_ne_bytes()), None, self.operation)? {
            // It tells no key: it is the one that was asked for.
            Some((_, first)) if self.operation == MDB_SET => Some((vertex, first)),
            Some((key, first)) => Some((number(key)?, first)),
            None => None,
        };
        Ok(())
    }

    fn vertex(&self) -> Result<Option<u32>> {
        Ok(self.next.map(|(vertex, _)| vertex))
    }

    fn list(&mut self, vertex: u32, has_weights: bool, buffer: &mut PieceBuffer) -> Result<()> {
        let Some((_, first)) = self.next.filter(|(next, _)| *next == vertex) else { return Ok(()) };
        let mut is_whole = true;
        self.cursor.targets(first, &mut |page| {
            if self.side == Direction::In {
                buffer.neighbors.extend(numbers(page));
                return true;
            }
            let (items, rest) = page.as_chunks::<TARGET_BYTES>();
            is_whole &= rest.is_empty();
            let target = |item: &[u8; TARGET_BYTES]| u32::from_be_bytes([item[0], item[1], item[2], item[3]]);
            buffer.neighbors.extend(items.iter().map(target));
            if has_weights {
                let weight =
                    |item: &[u8; TARGET_BYTES]| f64::from_le_bytes(*item.last_chunk().expect("8 of 12"));
                buffer.weights.extend(items.iter().map(weight));
            }
            true
        })?;
        if !is_whole {
            return Err(Error::invalid(format!(
                "a list of LMDB has data of other than {TARGET_BYTES} bytes"
            )));
        }
        self.next = None;
        if self.operation != MDB_SET
            && let Some((key, first)) = self.cursor.get(None, None, MDB_NEXT_NODUP)?
        {
            self.next = Some((number(key)?, first));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::key_lists::tests::{LATER, LOADED, check, weight};
    use evergraph_graph::id::KeyId;
    use evergraph_graph::topology::{Topology as _, Visit, Weight};

    #[test]
    fn lists_of_both_sides_come_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let mut turned = LOADED.map(|(source, target)| (target, source));
        turned.sort_unstable();
        let sides = BothSides { vertices: 5, loaded: &LOADED, turned: &turned, later: &LATER };
        let graph = LmdbGraph::filled(folder.path(), sides, weight).unwrap();
        let weighted = Some(Weight { key: KeyId(0), missing: None });
        check(|direction| {
            let projection = Projection { weight: weighted.clone(), ..Projection::all(direction) };
            graph.lists(&projection, Access::Scan).unwrap()
        });
    }

    #[test]
    fn a_list_of_many_pages_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let loaded: Vec<Edge> = (0..5000).map(|target| (1, target)).chain([(3, 1)]).collect();
        let mut turned: Vec<Edge> = loaded.iter().map(|(source, target)| (*target, *source)).collect();
        turned.sort_unstable();
        let sides = BothSides { vertices: 5000, loaded: &loaded, turned: &turned, later: &[] };
        let graph = LmdbGraph::filled(folder.path(), sides, |(_, target)| f64::from(target)).unwrap();
        let projection = Projection {
            weight: Some(Weight { key: KeyId(0), missing: None }),
            ..Projection::all(Direction::Out)
        };
        let lists = graph.lists(&projection, Access::Single).unwrap();
        let mut seen: Vec<(Edge, f64)> = Vec::new();
        let mut note = |source: u32, piece: evergraph_graph::topology::Piece<'_>| {
            let targets = piece.neighbors.iter().zip(piece.weights);
            seen.extend(targets.map(|(target, weight)| ((source, *target), *weight)));
            Visit::Continue
        };
        lists.visit_each(Direction::Out, &[0, 1, 2, 3], &mut PieceBuffer::default(), &mut note).unwrap();
        let expected: Vec<(Edge, f64)> = loaded.iter().map(|edge| (*edge, f64::from(edge.1))).collect();
        assert!(seen == expected, "{} of {}", seen.len(), expected.len());
    }
}
