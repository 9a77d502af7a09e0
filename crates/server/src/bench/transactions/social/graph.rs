//! Graph: nodes and links as they are loaded, and which vertex is which node now.
//!
//! Node n has links to nodes n, n + 1, n + 2 and so on, as in LinkBench, shared out to two types. A vertex
//! that is deleted keeps its number for good, so nodes are places in a table: whoever deletes a node puts
//! one there that was added before.

use crate::bench::transactions::social::shape::{Degrees, Shuffle};
use evergraph::Database;
use evergraph::generate::random::Random;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::{Value, ValueType};
use std::sync::atomic::{AtomicU32, Ordering};

/// Types of links.
pub const LINK_TYPES: usize = 2;
/// Bytes of a node's data: LinkBench's median.
const NODE_DATA_BYTES: usize = 128;
/// Bytes of a link's data: LinkBench's median.
const LINK_DATA_BYTES: usize = 8;
const NODE: &str = "Node";
const LINKS: [&str; LINK_TYPES] = ["LINK_0", "LINK_1"];
const KEYS: [&str; 3] = ["time", "version", "data"];

/// Properties of nodes and links alike.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// When it was written.
    pub time: KeyId,
    /// How often.
    pub version: KeyId,
    /// Bytes.
    pub data: KeyId,
}

/// A graph of nodes and links in a database.
#[derive(Debug)]
pub struct SocialGraph {
    /// The label of nodes.
    pub label: LabelId,
    /// The types of links.
    pub types: [TypeId; LINK_TYPES],
    /// What nodes and links have.
    pub keys: Keys,
    /// The vertex of each node. Relaxed: whoever finds one that is gone has nothing to read or write.
    places: Vec<AtomicU32>,
    degrees: Degrees,
    by_links: Shuffle,
}

impl SocialGraph {
    /// Loads `nodes` nodes with their links into an empty database.
    ///
    /// # Errors
    /// What loading meets.
    pub fn load(
        database: &Database,
        degrees: &Degrees,
        nodes: u32,
        random: &mut Random,
        cancel: &CancelFlag,
    ) -> Result<Self> {
        let by_links = Shuffle::new(nodes, random);
        let mut links = [const { Vec::new() }; LINK_TYPES];
        for rank in 0..nodes {
            let source = by_links.at(rank);
            for link in 0..degrees.links(rank, nodes) {
                let target = (source + link / LINK_TYPES as u32) % nodes;
                links[link as usize % LINK_TYPES].push((source, target));
            }
        }
        let tables = LINKS.iter().zip(&links).map(|(name, links)| link_table(name, links));
        let load = Load { vertices: vec![node_table(nodes)], edges: tables.collect() };
        let loaded = database.load(&load, &|_| (), cancel)?;
        let first = loaded.first_vertices.first().map_or(0, |vertex| vertex.0);
        let catalogue = database.store().catalogue();
        let missing = || Error::new(ErrorKind::Corrupt, "a name of the social graph was not loaded");
        let [time, version, data] = KEYS.map(|key| catalogue.key(key).ok_or_else(missing));
        let [one, other] = LINKS.map(|name| catalogue.edge_type(name).ok_or_else(missing));
        Ok(Self {
            label: catalogue.label(NODE).ok_or_else(missing)?,
            types: [one?, other?],
            keys: Keys { time: time?, version: version?, data: data? },
            places: (first..first + nodes).map(AtomicU32::new).collect(),
            degrees: degrees.clone(),
            by_links,
        })
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.places.len() as u32
    }

    /// The node with the `rank`-most links.
    #[must_use]
    pub fn by_links(&self, rank: u32) -> u32 {
        self.by_links.at(rank)
    }

    /// Links of one type that the node at `rank` was loaded with.
    #[must_use]
    pub fn loaded_links(&self, rank: u32) -> u32 {
        self.degrees.links(rank, self.nodes()).div_ceil(LINK_TYPES as u32)
    }

    /// The rank by links of a node.
    #[must_use]
    pub fn rank_of(&self, node: u32) -> u32 {
        self.by_links.rank_of(node)
    }

    /// The vertex that is node `node` now, counted round the table.
    #[must_use]
    pub fn vertex(&self, node: u32) -> VertexId {
        let place = &self.places[node as usize % self.places.len()];
        VertexId(place.load(Ordering::Relaxed))
    }

    /// From now on `vertex` is the node.
    pub fn replace(&self, node: u32, vertex: VertexId) {
        self.places[node as usize % self.places.len()].store(vertex.0, Ordering::Relaxed);
    }
}

/// Data of a node that is new or changed.
#[must_use]
pub fn node_data(random: &mut Random) -> Value {
    data(random, NODE_DATA_BYTES)
}

/// Data of a link that is new or changed.
#[must_use]
pub fn link_data(random: &mut Random) -> Value {
    data(random, LINK_DATA_BYTES)
}

fn data(random: &mut Random, bytes: usize) -> Value {
    let words = (0..bytes.div_ceil(8)).flat_map(|_| random.bits().to_le_bytes());
    Value::Bytes(words.take(bytes).collect())
}

fn columns(random: &mut Random, rows: usize, data: fn(&mut Random) -> Value) -> [PackedColumnBuilder; 3] {
    let mut columns = <[PackedColumnBuilder; 3]>::default();
    for row in 0..rows {
        columns[0].push_i64(row as i64);
        columns[1].push_i64(0);
        columns[2].push(Some(&data(random)));
    }
    columns
}

fn properties() -> Vec<(String, ValueType)> {
    let types = [ValueType::I64, ValueType::I64, ValueType::Bytes];
    KEYS.iter().zip(types).map(|(key, value_type)| ((*key).to_owned(), value_type)).collect()
}

fn node_table(nodes: u32) -> VertexTable {
    let mut random = Random::new(0, 0, 0);
    let rows = (0..nodes as usize).step_by(BLOCK_ROWS).map(|first| BLOCK_ROWS.min(nodes as usize - first));
    let blocks = rows.map(|rows| {
        let columns = columns(&mut random, rows, node_data).map(PackedColumnBuilder::finish);
        VertexBlock { rows, columns: columns.to_vec() }
    });
    VertexTable::new(NODE, properties(), blocks.collect())
}

fn link_table(name: &str, links: &[(u32, u32)]) -> EdgeTable {
    let mut random = Random::new(0, 0, 1);
    let blocks = links.chunks(BLOCK_ROWS).map(|links| EdgeBlock {
        columns: columns(&mut random, links.len(), link_data).map(PackedColumnBuilder::finish).to_vec(),
        ..EdgeBlock::bare(links.iter().copied())
    });
    EdgeTable::new(name, 0, 0, properties(), blocks.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::Direction;
    use evergraph_graph::view::GraphView;

    #[test]
    fn nodes_have_their_links_and_a_place_that_another_may_take() {
        let database = Database::in_memory().unwrap();
        let (degrees, mut random) = (Degrees::PowerLaw, Random::new(1, 0, 0));
        let graph = SocialGraph::load(&database, &degrees, 500, &mut random, &CancelFlag::default()).unwrap();
        let snapshot = database.snapshot();
        for rank in [0, 7, 200, 499] {
            let node = graph.by_links(rank);
            assert_eq!(graph.rank_of(node), rank);
            let mut counts = Vec::new();
            snapshot.degrees(&[graph.vertex(node)], None, Direction::Out, &mut counts).unwrap();
            assert_eq!(counts, [u64::from(degrees.links(rank, 500))]);
        }
        graph.replace(3, VertexId(77));
        assert_eq!((graph.vertex(3), graph.vertex(503)), (VertexId(77), VertexId(77)));
    }
}
