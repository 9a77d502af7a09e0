//! Graph: a network in one of our databases: a vertex is a node, an edge is a link.

use crate::social::network::{LINK_TYPES, Network, link_data, node_data};
use evergraph::generate::random::Random;
use evergraph::{Database, IndexOptions};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::{Value, ValueType};

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

/// A network in a database.
#[derive(Debug)]
pub struct SocialGraph {
    /// The label of nodes.
    pub label: LabelId,
    /// The types of links.
    pub types: [TypeId; LINK_TYPES],
    /// What nodes and links have.
    pub keys: Keys,
    /// Its nodes; an id is that of a vertex.
    pub network: Network,
}

impl SocialGraph {
    /// Loads `network` into an empty database. Links are newest-first by their time.
    ///
    /// # Errors
    /// What loading meets.
    pub fn load(database: &Database, network: Network, cancel: &CancelFlag) -> Result<Self> {
        let links = network.links();
        let tables = LINKS.iter().zip(&links).map(|(name, links)| link_table(name, links));
        let load = Load { vertices: vec![node_table(network.nodes())], edges: tables.collect() };
        let loaded = database.load(&load, &|_| (), cancel)?;
        let first = loaded.first_vertices.first().map_or(0, |vertex| vertex.0);
        (0..network.nodes()).for_each(|node| network.replace(node, first + node));
        let catalogue = database.store().catalogue();
        let missing = || Error::new(ErrorKind::Corrupt, "a name of the social graph was not loaded");
        let [time, version, data] = KEYS.map(|key| catalogue.key(key).ok_or_else(missing));
        let [one, other] = LINKS.map(|name| catalogue.edge_type(name).ok_or_else(missing));
        let label = catalogue.label(NODE).ok_or_else(missing)?;
        let keys = Keys { time: time?, version: version?, data: data? };
        let types = [one?, other?];
        for name in LINKS {
            database.create_index(&IndexOptions::newest(name, KEYS[0]))?;
        }
        Ok(Self { label, types, keys, network })
    }

    /// The vertex that is node `node` now.
    #[must_use]
    pub fn vertex(&self, node: u32) -> VertexId {
        VertexId(self.network.id(node))
    }
}

fn columns(random: &mut Random, rows: usize, data: fn(&mut Random) -> Vec<u8>) -> [PackedColumnBuilder; 3] {
    let mut columns = <[PackedColumnBuilder; 3]>::default();
    for row in 0..rows {
        columns[0].push_i64(row as i64);
        columns[1].push_i64(0);
        columns[2].push(Some(&Value::Bytes(data(random).into())));
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
    use crate::social::shape::Degrees;
    use evergraph_graph::id::Direction;
    use evergraph_graph::view::GraphView;

    #[test]
    fn nodes_have_their_links() {
        let database = Database::in_memory().unwrap();
        let network = Network::new(&Degrees::PowerLaw, 500, &mut Random::new(1, 0, 0));
        let graph = SocialGraph::load(&database, network, &CancelFlag::default()).unwrap();
        let snapshot = database.snapshot();
        for rank in [0, 7, 200, 499] {
            let node = graph.network.by_links(rank);
            let mut counts = Vec::new();
            snapshot.degrees(&[graph.vertex(node)], None, Direction::Out, &mut counts).unwrap();
            assert_eq!(counts, [u64::from(Degrees::PowerLaw.links(rank, 500))]);
        }
    }
}
