//! Operation: one of LinkBench's ten, drawn from a mix with all that it needs.
//!
//! ```text
//!             reads    get_link_list  get_node  count_links  multiget_link
//! DFLT         69.1 %           50.7      12.9          4.9            0.5
//! TAO          99.8 %           43.7      28.9         11.7           15.7
//!
//!             writes   add_link  update_link  update_node  delete_link  add_node  delete_node
//! DFLT         30.9 %       9.0          8.0          7.4          3.0       2.6          1.0
//! TAO           0.2 %      52.5            -         20.7          8.3      16.5          2.0   (of writes)
//! ```
//!
//! Reads and writes are drawn first, so that a mix can have any share of writes. What is drawn is drawn
//! before the transaction, so that another attempt does the same again.
//!
//! Source: `config/FBWorkload.properties` of LinkBench, and in its request generator the chances that a
//! link which is asked for is among those that were loaded; TAO: Bronson et al., "TAO" (USENIX ATC 2013),
//! figure 3, its two kinds of ranges as one.

use crate::social::network::{LINK_TYPES, Network, link_data, node_data};
use crate::social::shape::{Shuffle, Zipf};
use evergraph::generate::random::Random;

/// Links that one operation asks for at most.
const MULTIGET_MAX: usize = 128;
/// The chance that an operation asks for no further link: a mean of 2.6.
const MULTIGET_END: f64 = 0.382;

/// An operation; nodes are places in the graph's table.
#[derive(Clone, PartialEq, Debug)]
pub enum Operation {
    /// Makes a link be there with this data, whether it was or not: adding and updating are the same.
    PutLink(Link, Vec<u8>),
    /// Deletes a link, if it is there.
    DeleteLink(Link),
    /// Counts the links of a node.
    CountLinks(u32, usize),
    /// Reads some links of a node.
    GetLinks(Vec<Link>),
    /// Reads the links of a node, the newest first.
    GetLinkList(u32, usize),
    /// Adds a node.
    AddNode(Vec<u8>),
    /// Changes a node's data.
    UpdateNode(u32, Vec<u8>),
    /// Deletes a node and its links.
    DeleteNode(u32),
    /// Reads a node.
    GetNode(u32),
}

impl Operation {
    /// Whether it only reads.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(self, Self::CountLinks(..) | Self::GetLinks(_) | Self::GetLinkList(..) | Self::GetNode(_))
    }
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

/// How often which operation comes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shares {
    /// The part of all operations that write, 0 to 1.
    pub writes: f64,
    /// Weights of reads: link lists, nodes, counts, several links.
    reads: [f64; 4],
    /// Weights of writes: add link, update link, update node, delete link, add node, delete node.
    changes: [f64; 6],
}

impl Shares {
    /// LinkBench's default.
    pub const DEFAULT: Self = Self {
        writes: 0.309_431_281_4,
        reads: [50.711_914_5, 12.932_668_3, 4.886_356_7, 0.526_114_2],
        changes: [8.988_660_1, 8.012_212_5, 7.366_437, 2.990_766_4, 2.573_278_9, 1.011_591_4],
    };
    /// What Facebook's cache of the graph is asked.
    pub const TAO: Self =
        Self { writes: 0.002, reads: [43.7, 28.9, 11.7, 15.7], changes: [52.5, 0.0, 20.7, 8.3, 16.5, 2.0] };

    /// The same with another part of writes.
    #[must_use]
    pub fn with_writes(self, writes: f64) -> Self {
        Self { writes, ..self }
    }

    /// The same without deleting nodes, which leaves other links behind here than elsewhere.
    #[must_use]
    pub fn keeping_nodes(mut self) -> Self {
        self.changes[5] = 0.0;
        self
    }
}

/// Which of `weights` comes up.
fn choose(weights: &[f64], random: &mut Random) -> usize {
    let mut left = random.unit() * weights.iter().sum::<f64>();
    let past = |weight: &f64| {
        left -= weight;
        left < 0.0
    };
    // Rounding may leave a hair at the end: the last that can come up, then.
    let last = weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
    weights.iter().position(past).unwrap_or(last)
}

/// Draws operations on a network of so many nodes.
#[derive(Clone, Debug)]
pub struct Mix {
    shares: Shares,
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
    /// Operations on `nodes` nodes, accesses skewed as LinkBench's are.
    #[must_use]
    pub fn new(shares: Shares, nodes: u32, random: &mut Random) -> Self {
        let [link_reads, link_writes, node_reads, node_updates] =
            [0.8, 0.741, 0.625, 0.606].map(|exponent| Zipf::new(nodes, exponent));
        let [read_shuffle, write_shuffle, node_read_shuffle, node_update_shuffle] =
            [(); 4].map(|()| Shuffle::new(nodes, random));
        Self {
            shares,
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

    /// The same accesses in other shares.
    #[must_use]
    pub fn with_shares(&self, shares: Shares) -> Self {
        Self { shares, ..self.clone() }
    }

    /// The next operation.
    pub fn draw(&self, network: &Network, random: &mut Random) -> Operation {
        let write = random.unit() < self.shares.writes;
        let link_type = random.below(LINK_TYPES as u64) as usize;
        if write {
            self.draw_write(network, link_type, random)
        } else {
            self.draw_read(network, link_type, random)
        }
    }

    fn draw_read(&self, network: &Network, link_type: usize, random: &mut Random) -> Operation {
        match choose(&self.shares.reads, random) {
            0 => Operation::GetLinkList(self.read(network, random), link_type),
            1 => Operation::GetNode(self.node_read_shuffle.at(self.node_reads.draw(random))),
            2 => Operation::CountLinks(self.read(network, random), link_type),
            _ => {
                let source = self.read(network, random);
                let mut links = vec![link(network, random, source, link_type, 0.5)];
                while links.len() < MULTIGET_MAX && random.unit() >= MULTIGET_END {
                    links.push(link(network, random, source, link_type, 0.5));
                }
                Operation::GetLinks(links)
            }
        }
    }

    fn draw_write(&self, network: &Network, link_type: usize, random: &mut Random) -> Operation {
        match choose(&self.shares.changes, random) {
            0 => {
                let link = self.written(network, random, link_type, 0.05);
                Operation::PutLink(link, link_data(random))
            }
            1 => {
                let link = self.written(network, random, link_type, 0.9);
                Operation::PutLink(link, link_data(random))
            }
            2 => {
                let node = self.node_update_shuffle.at(self.node_updates.draw(random));
                Operation::UpdateNode(node, node_data(random))
            }
            3 => Operation::DeleteLink(self.written(network, random, link_type, 0.9)),
            4 => Operation::AddNode(node_data(random)),
            _ => Operation::DeleteNode(random.below(network.nodes().into()) as u32),
        }
    }

    /// A node whose links are read: one in 200 by how many links nodes have.
    fn read(&self, network: &Network, random: &mut Random) -> u32 {
        let rank = self.link_reads.draw(random);
        if random.unit() < 0.005 { network.by_links(rank) } else { self.read_shuffle.at(rank) }
    }

    /// A link that is written: one in 20 by how many links nodes have.
    fn written(&self, network: &Network, random: &mut Random, link_type: usize, loaded: f64) -> Link {
        let rank = self.link_writes.draw(random);
        let correlated = random.unit() < 0.05;
        let source = if correlated { network.by_links(rank) } else { self.write_shuffle.at(rank) };
        link(network, random, source, link_type, loaded)
    }
}

/// A link of `source` that was loaded with the chance `loaded`, or thereabouts.
fn link(network: &Network, random: &mut Random, source: u32, link_type: usize, loaded: f64) -> Link {
    let links = f64::from(network.first_links(network.rank_of(source)));
    let range = (links / loaded).ceil().max(1.0) as u64;
    // Rounds the table where a node has nearly as many links as there are nodes.
    let target = (u64::from(source) + random.below(range)) % u64::from(network.nodes());
    Link { source, link_type, target: target as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::social::shape::Degrees;

    /// Operations of 100,000, by kind.
    fn drawn(shares: Shares) -> [f64; 9] {
        let mut random = Random::new(1, 0, 0);
        let network = Network::new(&Degrees::PowerLaw, 300, &mut random);
        let mix = Mix::new(shares, 300, &mut random);
        let mut seen = [0.0; 9];
        for _ in 0..100_000 {
            let at = match mix.draw(&network, &mut random) {
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
            seen[at] += 0.001;
        }
        seen
    }

    fn assert_near(seen: [f64; 9], wanted: [f64; 9]) {
        for (seen, wanted) in seen.iter().zip(wanted) {
            assert!((seen - wanted).abs() < 0.5, "{seen} for {wanted} %");
        }
    }

    #[test]
    fn operations_come_in_the_shares_of_the_mix() {
        assert_near(drawn(Shares::DEFAULT), [17.0, 2.99, 4.89, 0.526, 50.7, 2.57, 7.37, 1.01, 12.9]);
        assert_near(drawn(Shares::TAO), [0.1, 0.02, 11.7, 15.7, 43.6, 0.03, 0.04, 0.0, 28.8]);
    }

    #[test]
    fn writes_keep_their_shares_among_themselves_and_nodes_may_be_kept() {
        let writes = drawn(Shares::DEFAULT.with_writes(1.0));
        assert_near(writes, [54.9, 9.67, 0.0, 0.0, 0.0, 8.32, 23.8, 3.27, 0.0]);
        let kept = drawn(Shares::DEFAULT.with_writes(1.0).keeping_nodes());
        assert_eq!(kept[7], 0.0);
    }
}
