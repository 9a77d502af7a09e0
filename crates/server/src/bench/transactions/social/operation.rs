//! Operation: one of LinkBench's ten, drawn from its default mix with all that it needs.
//!
//! ```text
//! reads  69 %   get_link_list 50.7  get_node 12.9  count_links 4.9  multiget_link 0.5
//! writes 31 %   add_link 9.0  update_link 8.0  update_node 7.4  delete_link 3.0  add_node 2.6  delete_node 1.0
//! ```
//!
//! What is drawn is drawn before the transaction, so that another attempt does the same again.
//!
//! Source: `config/FBWorkload.properties` of LinkBench, and in its request generator the chances that a
//! link which is asked for is among those that were loaded.

use crate::bench::transactions::social::graph::{LINK_TYPES, SocialGraph, link_data, node_data};
use crate::bench::transactions::social::shape::{Shuffle, Zipf};
use evergraph::generate::random::Random;
use evergraph_graph::value::Value;

/// Links that one operation asks for at most.
const MULTIGET_MAX: usize = 128;
/// The chance that an operation asks for no further link: a mean of 2.6.
const MULTIGET_END: f64 = 0.382;

/// An operation; nodes are places in the graph's table.
#[derive(Clone, PartialEq, Debug)]
pub enum Operation {
    /// Makes a link be there with this data, whether it was or not: adding and updating are the same.
    PutLink(Link, Value),
    /// Deletes a link, if it is there.
    DeleteLink(Link),
    /// Counts the links of a node.
    CountLinks(u32, usize),
    /// Reads some links of a node.
    GetLinks(Vec<Link>),
    /// Reads the links of a node, the newest first.
    GetLinkList(u32, usize),
    /// Adds a node.
    AddNode(Value),
    /// Changes a node's data.
    UpdateNode(u32, Value),
    /// Deletes a node and its links.
    DeleteNode(u32),
    /// Reads a node.
    GetNode(u32),
}

/// A link that may be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The node it begins at.
    pub source: u32,
    /// Which type.
    pub link_type: usize,
    /// The node it ends at.
    pub target: u32,
}

/// Draws operations on a graph of so many nodes.
#[derive(Clone, Debug)]
pub struct Mix {
    link_reads: Zipf,
    link_writes: Zipf,
    node_reads: Zipf,
    node_updates: Zipf,
    read_shuffle: Shuffle,
    write_shuffle: Shuffle,
    node_read_shuffle: Shuffle,
    node_update_shuffle: Shuffle,
}

impl Mix {
    /// LinkBench's default mix on `nodes` nodes.
    #[must_use]
    pub fn new(nodes: u32, random: &mut Random) -> Self {
        let [link_reads, link_writes, node_reads, node_updates] =
            [0.8, 0.741, 0.625, 0.606].map(|exponent| Zipf::new(nodes, exponent));
        let [read_shuffle, write_shuffle, node_read_shuffle, node_update_shuffle] =
            [(); 4].map(|()| Shuffle::new(nodes, random));
        Self {
            link_reads,
            link_writes,
            node_reads,
            node_updates,
            read_shuffle,
            write_shuffle,
            node_read_shuffle,
            node_update_shuffle,
        }
    }

    /// The next operation.
    pub fn draw(&self, graph: &SocialGraph, random: &mut Random) -> Operation {
        let percent = random.unit() * 100.0;
        let link_type = random.below(LINK_TYPES as u64) as usize;
        // Bounds are sums of the shares above, in the order of the configuration.
        match percent {
            ..8.988_660_1 => {
                let link = self.written(graph, random, link_type, 0.05);
                Operation::PutLink(link, link_data(random))
            }
            ..11.979_426_5 => Operation::DeleteLink(self.written(graph, random, link_type, 0.9)),
            ..19.991_639_0 => {
                let link = self.written(graph, random, link_type, 0.9);
                Operation::PutLink(link, link_data(random))
            }
            ..24.877_995_7 => Operation::CountLinks(self.read(graph, random), link_type),
            ..25.404_109_9 => {
                let source = self.read(graph, random);
                let mut links = vec![link(graph, random, source, link_type, 0.5)];
                while links.len() < MULTIGET_MAX && random.unit() >= MULTIGET_END {
                    links.push(link(graph, random, source, link_type, 0.5));
                }
                Operation::GetLinks(links)
            }
            ..76.116_024_4 => Operation::GetLinkList(self.read(graph, random), link_type),
            ..89.048_692_7 => Operation::GetNode(self.node_read_shuffle.at(self.node_reads.draw(random))),
            ..91.621_971_6 => Operation::AddNode(node_data(random)),
            ..98.988_408_6 => {
                let node = self.node_update_shuffle.at(self.node_updates.draw(random));
                Operation::UpdateNode(node, node_data(random))
            }
            _ => Operation::DeleteNode(random.below(graph.nodes().into()) as u32),
        }
    }

    /// A node whose links are read: one in 200 by how many links nodes have.
    fn read(&self, graph: &SocialGraph, random: &mut Random) -> u32 {
        let rank = self.link_reads.draw(random);
        if random.unit() < 0.005 { graph.by_links(rank) } else { self.read_shuffle.at(rank) }
    }

    /// A link that is written: one in 20 by how many links nodes have.
    fn written(&self, graph: &SocialGraph, random: &mut Random, link_type: usize, loaded: f64) -> Link {
        let rank = self.link_writes.draw(random);
        let correlated = random.unit() < 0.05;
        let source = if correlated { graph.by_links(rank) } else { self.write_shuffle.at(rank) };
        link(graph, random, source, link_type, loaded)
    }
}

/// A link of `source` that was loaded with the chance `loaded`, or thereabouts.
fn link(graph: &SocialGraph, random: &mut Random, source: u32, link_type: usize, loaded: f64) -> Link {
    let links = f64::from(graph.loaded_links(graph.rank_of(source)));
    let range = (links / loaded).ceil().max(1.0) as u64;
    // Rounds the table where a node has nearly as many links as there are nodes.
    let target = (u64::from(source) + random.below(range)) % u64::from(graph.nodes());
    Link { source, link_type, target: target as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::transactions::social::shape::Degrees;
    use evergraph::Database;
    use evergraph_graph::cancel::CancelFlag;

    #[test]
    fn operations_come_in_the_shares_of_the_mix() {
        let database = Database::in_memory().unwrap();
        let mut random = Random::new(1, 0, 0);
        let graph =
            SocialGraph::load(&database, &Degrees::PowerLaw, 300, &mut random, &CancelFlag::default());
        let graph = graph.unwrap();
        let mix = Mix::new(300, &mut random);
        let mut seen = [0u32; 9];
        for _ in 0..100_000 {
            let at = match mix.draw(&graph, &mut random) {
                Operation::PutLink(link, _) | Operation::DeleteLink(link) if link.source >= 300 => {
                    panic!("no such node: {link:?}")
                }
                Operation::PutLink(..) => 0,
                Operation::DeleteLink(_) => 1,
                Operation::CountLinks(..) => 2,
                Operation::GetLinks(links) => {
                    assert!(links.iter().all(|link| link.source == links[0].source));
                    3
                }
                Operation::GetLinkList(..) => 4,
                Operation::AddNode(_) => 5,
                Operation::UpdateNode(..) => 6,
                Operation::DeleteNode(_) => 7,
                Operation::GetNode(_) => 8,
            };
            seen[at] += 1;
        }
        let wanted = [17.0, 2.99, 4.89, 0.526, 50.7, 2.57, 7.37, 1.01, 12.9];
        for (seen, wanted) in seen.iter().zip(wanted) {
            assert!((f64::from(*seen) / 1000.0 - wanted).abs() < 0.5, "{seen} for {wanted} %");
        }
    }
}
