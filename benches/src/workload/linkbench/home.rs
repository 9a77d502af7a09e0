//! Home: a social network in one store, and LinkBench's operations on it.
//!
//! Ours keeps nodes as vertices and links as edges with properties. A peer keeps pairs of bytes:
//!
//! ```text
//! n node                 -> time version data
//! l source type target   -> time version data      a list is a prefix; it is sorted by time when it was read
//! ```

use crate::engine::key_value::KeyValue;
use evergraph::generate::random::Random;
use evergraph::{Database, Isolation};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::clients::{self, transact};
use evergraph_measure::social::client::{Client, LIST_MAX, OperationOutcome, seen_of_list};
use evergraph_measure::social::graph::SocialGraph;
use evergraph_measure::social::network::{Network, link_data, node_data};
use evergraph_measure::social::operation::{Link, Mix, Operation, Shares};
use evergraph_measure::social::perform::{perform, read};
use evergraph_measure::social::shape::Degrees;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const PURPOSE: u64 = 403;
/// Times of operations come after those of what was loaded.
const CLOCK: i64 = 1 << 40;
/// Operations that every store does alike before anything is measured.
const CHECKED: u32 = 3000;
/// Pairs that a load puts in one transaction.
const LOAD_BATCH: usize = 10_000;

/// A network in one store.
pub enum Home {
    /// One of our databases.
    Ours {
        /// It.
        database: Database,
        /// Where the network is in it.
        graph: Box<SocialGraph>,
    },
    /// A store of keys and values.
    Peer {
        /// It.
        store: Box<dyn KeyValue>,
        /// Ids are numbers of nodes.
        network: Box<Network>,
        /// The id of the next node that is added.
        next: AtomicU32,
    },
}

impl Home {
    /// Loads the network into an empty database.
    ///
    /// # Errors
    /// What loading meets.
    pub fn ours(database: Database, network: Network) -> Result<Self> {
        let graph = Box::new(SocialGraph::load(&database, network, &Default::default())?);
        Ok(Self::Ours { database, graph })
    }

    /// Loads the network into an empty store, which is opened when its pairs are drawn.
    ///
    /// # Errors
    /// What the store says.
    pub fn peer(
        network: Network,
        seed: u64,
        open: impl FnOnce() -> Result<Box<dyn KeyValue>>,
    ) -> Result<Self> {
        let pairs = pairs_of(&network, seed);
        let store = open()?;
        for pairs in pairs.chunks(LOAD_BATCH) {
            let changes: Vec<_> =
                pairs.iter().map(|(key, value)| (key.as_slice(), Some(value.as_slice()))).collect();
            store.write(&changes)?;
        }
        store.settle()?;
        let next = AtomicU32::new(network.nodes());
        Ok(Self::Peer { store, network: Box::new(network), next })
    }

    /// What is seen by the operations that every home does alike. Nodes stay: their links go along in ours.
    ///
    /// # Errors
    /// What an operation meets.
    pub fn check(&self, mix: &Mix, seed: u64) -> Result<Vec<u64>> {
        let mix = mix.with_shares(Shares::DEFAULT.keeping_nodes());
        let mut client = Client::new(Random::new(seed, PURPOSE, 2), CLOCK);
        (0..CHECKED).map(|_| self.step(&mut client, &mix).map(|performed| performed.seen)).collect()
    }

    /// Lets a client take a step.
    ///
    /// # Errors
    /// What its operation meets.
    pub fn step(&self, client: &mut Client, mix: &Mix) -> Result<OperationOutcome> {
        match self {
            Self::Ours { database, graph } => client.step(&graph.network, mix, |operation, time| {
                // A transaction that only reads ends when what it saw is on disk; a snapshot shows what is there already.
                if operation.is_read() {
                    let seen = read(&database.snapshot(), graph, operation)?;
                    return Ok(OperationOutcome { seen, added: None });
                }
                let done = transact(database, Isolation::Snapshot, |tx| perform(tx, graph, operation, time))?;
                Ok(done.0)
            }),
            Self::Peer { store, network, next } => client.step(network, mix, |operation, time| {
                perform_pairs(&**store, network, next, operation, time)
            }),
        }
    }

    /// Operations a second by clients who take steps for `time`.
    ///
    /// # Errors
    /// What an operation meets.
    pub fn rate(&self, clients: &mut [Client], mix: &Mix, time: Duration) -> Result<f64> {
        Ok(clients::run(clients, time, |client| self.step(client, mix).map(|_| 1))?.rate())
    }

    /// Mean, P99 and P999 of an operation, in seconds, by clients who take steps for `time`.
    ///
    /// # Errors
    /// What an operation meets.
    pub fn latencies(&self, clients: &mut [Client], mix: &Mix, time: Duration) -> Result<[f64; 3]> {
        let mut timed: Vec<(&mut Client, Vec<f64>)> =
            clients.iter_mut().map(|client| (client, Vec::new())).collect();
        clients::run(&mut timed, time, |(client, times)| {
            let began = Instant::now();
            self.step(client, mix)?;
            times.push(began.elapsed().as_secs_f64());
            Ok(1)
        })?;
        let mut times: Vec<f64> = timed.into_iter().flat_map(|(_, times)| times).collect();
        Ok(mean_and_tails(&mut times))
    }

    /// Ends the home.
    ///
    /// # Errors
    /// What closing a database meets.
    pub fn close(self) -> Result<()> {
        match self {
            Self::Ours { database, .. } => database.close(),
            Self::Peer { .. } => Ok(()),
        }
    }
}

/// The network that every home has at first.
#[must_use]
pub fn network(degrees: &Degrees, nodes: u32, seed: u64) -> Network {
    Network::new(degrees, nodes, &mut Random::new(seed, PURPOSE, 0))
}

/// LinkBench's own mix on so many nodes.
#[must_use]
pub fn mix(nodes: u32, seed: u64) -> Mix {
    Mix::new(Shares::DEFAULT, nodes, &mut Random::new(seed, PURPOSE, 1))
}

/// So many clients, whose times come after those of earlier `stage`s; the check is stage 0.
#[must_use]
pub fn clients(count: usize, seed: u64, stage: u64) -> Vec<Client> {
    let random = |client: usize| Random::new(seed, PURPOSE + stage, client as u64);
    (0..count).map(|client| Client::new(random(client), (stage as i64 + 1) * CLOCK)).collect()
}

/// The mean, and what 99 and 99.9 % stay below.
#[must_use]
pub fn mean_and_tails(times: &mut [f64]) -> [f64; 3] {
    times.sort_unstable_by(f64::total_cmp);
    let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
    let at = |share: f64| {
        let place = (times.len() as f64 * share).ceil() as usize;
        times.get(place.clamp(1, times.len().max(1)) - 1).copied().unwrap_or(0.0)
    };
    [mean, at(0.99), at(0.999)]
}

fn node_key(node: u32) -> Vec<u8> {
    [b"n".as_slice(), &node.to_be_bytes()].concat()
}

fn list_key(source: u32, link_type: usize) -> Vec<u8> {
    [b"l".as_slice(), &source.to_be_bytes(), &[link_type as u8]].concat()
}

fn link_key(source: u32, link_type: usize, target: u32) -> Vec<u8> {
    [list_key(source, link_type), target.to_be_bytes().to_vec()].concat()
}

/// Time, version and data, as nodes and links have them.
fn record(time: i64, data: &[u8]) -> Vec<u8> {
    [time.to_be_bytes().as_slice(), &1i64.to_be_bytes(), data].concat()
}

fn time_of(record: &[u8]) -> Result<i64> {
    let bytes = record.first_chunk().copied();
    let short = || Error::new(ErrorKind::Corrupt, "a link's record is shorter than its time");
    bytes.map(i64::from_be_bytes).ok_or_else(short)
}

/// What [`SocialGraph::load`] loads, ascending: a link's time is its place in the list of its type.
fn pairs_of(network: &Network, seed: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut random = Random::new(seed, PURPOSE, 3);
    let nodes =
        (0..network.nodes()).map(|node| (node_key(node), record(i64::from(node), &node_data(&mut random))));
    let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = nodes.collect();
    for (link_type, links) in network.links().iter().enumerate() {
        for (place, (source, target)) in links.iter().enumerate() {
            let key = link_key(*source, link_type, *target);
            // Blocks of a load number their rows anew.
            let time = place % evergraph_graph::load::BLOCK_ROWS;
            pairs.push((key, record(time as i64, &link_data(&mut random))));
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Does `operation` on pairs, as one transaction of writes or one of reads.
fn perform_pairs(
    store: &dyn KeyValue,
    network: &Network,
    next: &AtomicU32,
    operation: &Operation,
    time: i64,
) -> Result<OperationOutcome> {
    let link_of = |link: &Link| link_key(network.id(link.source), link.link_type, network.id(link.target));
    let mut seen = 0;
    match operation {
        Operation::PutLink(link, data) => store.write(&[(&link_of(link), Some(&record(time, data)))])?,
        Operation::DeleteLink(link) => store.write(&[(&link_of(link), None)])?,
        Operation::CountLinks(node, link_type) => {
            store.prefix(&list_key(network.id(*node), *link_type), &mut |_, _| {
                seen += 1;
                true
            })?
        }
        Operation::GetLinks(links) => {
            for link in links {
                seen += u64::from(store.get(&link_of(link), &mut |_| ())?);
            }
        }
        Operation::GetLinkList(node, link_type) => {
            let mut links: Vec<(Result<i64>, Vec<u8>, Vec<u8>)> = Vec::new();
            store.prefix(&list_key(network.id(*node), *link_type), &mut |key, value| {
                links.push((time_of(value), key.to_vec(), value.to_vec()));
                true
            })?;
            let times = links.into_iter().map(|(time, key, value)| time.map(|time| (time, key, value)));
            let mut links: Vec<(i64, Vec<u8>, Vec<u8>)> = times.collect::<Result<_>>()?;
            links.sort_unstable_by_key(|link| Reverse(link.0));
            links.truncate(LIST_MAX);
            seen = seen_of_list(links.iter().map(|link| link.0));
        }
        Operation::AddNode(data) => {
            // Relaxed: it only keeps ids apart.
            let id = next.fetch_add(1, Ordering::Relaxed);
            store.write(&[(&node_key(id), Some(&record(time, data)))])?;
            return Ok(OperationOutcome { seen: 0, added: Some(id) });
        }
        Operation::UpdateNode(node, data) => {
            let key = node_key(network.id(*node));
            if store.get(&key, &mut |_| ())? {
                store.write(&[(&key, Some(&record(time, data)))])?;
            }
        }
        Operation::DeleteNode(node) => store.write(&[(&node_key(network.id(*node)), None)])?,
        Operation::GetNode(node) => seen = u64::from(store.get(&node_key(network.id(*node)), &mut |_| ())?),
    }
    Ok(OperationOutcome { seen, added: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_what_so_many_stay_below() {
        let mut times: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
        assert_eq!(mean_and_tails(&mut times), [500.5, 990.0, 999.0]);
        assert_eq!(mean_and_tails(&mut [7.0]), [7.0; 3]);
    }

    #[test]
    fn links_of_a_list_lie_together() {
        assert!(link_key(1, 0, 9).starts_with(&list_key(1, 0)));
        assert!(link_key(1, 0, u32::MAX) < link_key(1, 1, 0) && link_key(1, 1, 5) < link_key(2, 0, 0));
        assert_eq!(time_of(&record(-5, b"x")).unwrap(), -5);
        assert!(time_of(b"short").is_err());
    }
}
