//! Network: the nodes and links of a social graph, whoever keeps them, and which id each node has now.
//!
//! Node n has links to nodes n, n + 1, n + 2 and so on, as in LinkBench, shared out to two types. An id
//! that is deleted is gone for good, so nodes are places in a table: whoever deletes a node puts one there
//! that was added before.

use crate::social::shape::{Degrees, Shuffle};
use evergraph::generate::random::Random;
use std::sync::atomic::{AtomicU32, Ordering};

/// Types of links.
pub const LINK_TYPES: usize = 2;
/// Bytes of a node's data: LinkBench's median.
const NODE_DATA_BYTES: usize = 128;
/// Bytes of a link's data: LinkBench's median.
const LINK_DATA_BYTES: usize = 8;

/// Nodes, how many links they begin with, and their ids.
#[derive(Debug)]
pub struct Network {
    /// The id of each node. Relaxed: whoever finds one that is gone has nothing to read or write.
    places: Vec<AtomicU32>,
    degrees: Degrees,
    by_links: Shuffle,
}

impl Network {
    /// `nodes` nodes, whose ids are their numbers.
    #[must_use]
    pub fn new(degrees: &Degrees, nodes: u32, random: &mut Random) -> Self {
        let by_links = Shuffle::new(nodes, random);
        Self { places: (0..nodes).map(AtomicU32::new).collect(), degrees: degrees.clone(), by_links }
    }

    /// The links that there are at first, by type: (source, target), as numbers of nodes.
    #[must_use]
    pub fn links(&self) -> [Vec<(u32, u32)>; LINK_TYPES] {
        let nodes = self.nodes();
        let mut links = [const { Vec::new() }; LINK_TYPES];
        for rank in 0..nodes {
            let source = self.by_links.at(rank);
            for link in 0..self.degrees.links(rank, nodes) {
                let target = (source + link / LINK_TYPES as u32) % nodes;
                links[link as usize % LINK_TYPES].push((source, target));
            }
        }
        links
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

    /// Links of one type that the node at `rank` begins with.
    #[must_use]
    pub fn first_links(&self, rank: u32) -> u32 {
        self.degrees.links(rank, self.nodes()).div_ceil(LINK_TYPES as u32)
    }

    /// The rank by links of a node.
    #[must_use]
    pub fn rank_of(&self, node: u32) -> u32 {
        self.by_links.rank_of(node)
    }

    /// The id that is node `node` now, counted round the table.
    #[must_use]
    pub fn id(&self, node: u32) -> u32 {
        self.places[node as usize % self.places.len()].load(Ordering::Relaxed)
    }

    /// From now on `id` is the node.
    pub fn replace(&self, node: u32, id: u32) {
        self.places[node as usize % self.places.len()].store(id, Ordering::Relaxed);
    }
}

/// Data of a node that is new or changed.
#[must_use]
pub fn node_data(random: &mut Random) -> Vec<u8> {
    data(random, NODE_DATA_BYTES)
}

/// Data of a link that is new or changed.
#[must_use]
pub fn link_data(random: &mut Random) -> Vec<u8> {
    data(random, LINK_DATA_BYTES)
}

fn data(random: &mut Random, bytes: usize) -> Vec<u8> {
    let words = (0..bytes.div_ceil(8)).flat_map(|_| random.bits().to_le_bytes());
    words.take(bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_follow_from_degrees_and_a_place_may_be_taken_by_another() {
        let network = Network::new(&Degrees::PowerLaw, 500, &mut Random::new(1, 0, 0));
        let links = network.links();
        for rank in [0, 7, 200, 499] {
            let node = network.by_links(rank);
            assert_eq!(network.rank_of(node), rank);
            let of_node = |links: &Vec<(u32, u32)>| links.iter().filter(|link| link.0 == node).count() as u32;
            assert_eq!(links.iter().map(of_node).sum::<u32>(), Degrees::PowerLaw.links(rank, 500));
            assert_eq!(of_node(&links[0]), network.first_links(rank));
        }
        network.replace(3, 77);
        assert_eq!((network.id(3), network.id(503), network.id(4)), (77, 77, 4));
    }
}
