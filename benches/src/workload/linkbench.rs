//! Linkbench: the social mixes on every engine, with durable commits.
//!
//! ```text
//! DFLT, TAO                 2 clients: mean, P99 and P999 of an operation    24 clients: operations a second
//! 31, 50, 75, 100 % writes                                                   24 clients
//! ```
//!
//! Ours keeps nodes as vertices and links as edges with properties. A peer keeps pairs of bytes:
//!
//! ```text
//! n node                 -> time version data
//! l source type target   -> time version data      a list is a prefix; it is sorted by time when it was read
//! ```
//!
//! A list is asked for with the newest first, and at most [`LIST_MAX`] of it. Ours declares links newest-first. A
//! peer reads the whole list, since its newest links lie anywhere in it, and sorts: lists are short (four links on
//! average), so that this is cheaper for it than a second index by time, which each write would have to keep.

use crate::engine::key_value::KeyValue;
use crate::engine::kind::Kind;
use crate::engine::store::Commit;
use crate::plan::{Work, expect};
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::stores::names;
use evergraph::generate::random::Random;
use evergraph::{Database, Durability, Isolation, Options};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::clients::{self, transact};
use evergraph_measure::figure::Unit;
use evergraph_measure::social::client::{Client, LIST_MAX, OperationOutcome, seen_of_list};
use evergraph_measure::social::graph::SocialGraph;
use evergraph_measure::social::network::{Network, link_data, node_data};
use evergraph_measure::social::operation::{Link, Mix, Operation, Shares};
use evergraph_measure::social::perform::{perform, read};
use evergraph_measure::social::shape::Degrees;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

const PURPOSE: u64 = 403;
const CLIENTS: usize = 24;
const LATENCY_CLIENTS: usize = 2;
/// Times of operations come after those of what was loaded.
const CLOCK: i64 = 1 << 40;
/// Operations that every engine does alike before anything is measured.
const CHECKED: u32 = 3000;
/// Pairs that a load puts in one transaction.
const LOAD_BATCH: usize = 10_000;

/// A network in one engine.
enum Home {
    Ours { database: Database, graph: Box<SocialGraph> },
    Peer { store: Box<dyn KeyValue>, network: Box<Network>, next: AtomicU32 },
}

/// Measures both mixes, then larger shares of writes.
///
/// # Errors
/// `corrupt` if an engine answers otherwise than ours; what engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let degrees = match &work.plan.distributions {
        Some(path) => Degrees::read(path)?,
        None => Degrees::PowerLaw,
    };
    let homes: Vec<Home> =
        Kind::ALL.iter().map(|kind| Home::open(*kind, work, &degrees)).collect::<Result<_>>()?;
    let mut random = Random::new(work.plan.seed, PURPOSE, 1);
    let mix = Mix::new(Shares::DEFAULT, work.plan.nodes, &mut random);
    check(work, &homes, &mix)?;
    for (name, title, shares) in
        [("tao", "TAO, 99.8 % reads", Shares::TAO), ("dflt", "DFLT, 69 % reads", Shares::DEFAULT)]
    {
        let mix = mix.with_shares(shares);
        latencies(work, &homes, &mix, name, title)?;
        throughput(work, &homes, &mix, name, title)?;
    }
    for writes in [31, 50, 75, 100] {
        let mix = mix.with_shares(Shares::DEFAULT.with_writes(f64::from(writes) / 100.0));
        throughput(work, &homes, &mix, &format!("writes_{writes}"), &format!("{writes} % writes"))?;
    }
    let links: usize = Network::new(&degrees, work.plan.nodes, &mut Random::new(work.plan.seed, PURPOSE, 0))
        .links()
        .iter()
        .map(Vec::len)
        .sum();
    work.note(format!("{} nodes, {links} links, {}; in memory", work.plan.nodes, degrees.title()));
    work.note("durable commits in every engine; each operation is a transaction; clients are threads of this process");
    work.note(
        "a node that is deleted takes its links along in ours; in the others they stay, as LinkBench's do",
    );
    homes.into_iter().try_for_each(Home::close)
}

/// The same operations, one after the other, must be answered alike. Nodes stay: their links go along in ours.
fn check(work: &Work<'_>, homes: &[Home], mix: &Mix) -> Result<()> {
    let mix = mix.with_shares(Shares::DEFAULT.keeping_nodes());
    let client = || Client::new(Random::new(work.plan.seed, PURPOSE, 2), CLOCK);
    let mut clients: Vec<Client> = homes.iter().map(|_| client()).collect();
    for number in 0..CHECKED {
        let seen: Vec<u64> = homes
            .iter()
            .zip(&mut clients)
            .map(|(home, client)| home.step(client, &mix).map(|performed| performed.seen))
            .collect::<Result<_>>()?;
        for (kind, theirs) in Kind::ALL.iter().zip(&seen) {
            expect(kind.name(), &format!("operation {number} of LinkBench"), *theirs, seen[0])?;
        }
    }
    Ok(())
}

fn clients_of(work: &Work<'_>, homes: &[Home], count: usize, purpose: u64) -> Vec<Vec<Client>> {
    let stream = |client: usize| Random::new(work.plan.seed, PURPOSE + purpose, client as u64);
    homes.iter().map(|_| (0..count).map(|client| Client::new(stream(client), 2 * CLOCK)).collect()).collect()
}

fn throughput(work: &mut Work<'_>, homes: &[Home], mix: &Mix, name: &str, title: &str) -> Result<()> {
    let mut all = clients_of(work, homes, CLIENTS, 1);
    let mut race = Race::new(names());
    for round in 0..work.plan.rounds {
        race.round(round, |place| {
            let step = |client: &mut Client| homes[place].step(client, mix).map(|_| 1);
            Ok(clients::run(&mut all[place], work.plan.run_time, step)?.rate())
        })?;
    }
    let heading = Heading::new(
        format!("linkbench.{name}.clients_24"),
        format!("{title}: operations, 24 clients"),
        Unit::PerSecond,
    )
    .of_commits(Commit::Durable);
    work.add_race(&heading, &race);
    Ok(())
}

fn latencies(work: &mut Work<'_>, homes: &[Home], mix: &Mix, name: &str, title: &str) -> Result<()> {
    let all = clients_of(work, homes, LATENCY_CLIENTS, 2);
    let mut all: Vec<Vec<(Client, Vec<f64>)>> = all
        .into_iter()
        .map(|clients| clients.into_iter().map(|client| (client, Vec::new())).collect())
        .collect();
    let mut races = [(); 3].map(|()| Race::new(names()));
    for round in 0..work.plan.rounds {
        let mut measured = vec![[0.0; 3]; homes.len()];
        for place in order(round, homes.len()) {
            let step = |(client, times): &mut (Client, Vec<f64>)| {
                let began = Instant::now();
                homes[place].step(client, mix)?;
                times.push(began.elapsed().as_secs_f64());
                Ok(1)
            };
            clients::run(&mut all[place], work.plan.run_time, step)?;
            let mut times: Vec<f64> = all[place].iter_mut().flat_map(|(_, times)| times.drain(..)).collect();
            measured[place] = mean_and_tails(&mut times);
        }
        for (at, race) in races.iter_mut().enumerate() {
            race.note(&measured.iter().map(|figures| figures[at]).collect::<Vec<_>>());
        }
    }
    for (race, what) in races.iter().zip(["mean", "P99", "P999"]) {
        let heading = Heading::new(
            format!("linkbench.{name}.clients_2.{}", what.to_lowercase()),
            format!("{title}: {what} of an operation, 2 clients"),
            Unit::Seconds,
        )
        .of_commits(Commit::Durable);
        work.add_race(&heading, race);
    }
    Ok(())
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

impl Home {
    fn open(kind: Kind, work: &Work<'_>, degrees: &Degrees) -> Result<Self> {
        let folder = work.place("linkbench").join(kind.name());
        let network = Network::new(degrees, work.plan.nodes, &mut Random::new(work.plan.seed, PURPOSE, 0));
        match kind.open_key_value(&folder, Commit::Durable)? {
            None => {
                let options = Options { durability: Durability::Sync, ..Options::default() };
                let database = Database::open_with(folder.join("evergraph"), &options)?;
                let graph = Box::new(SocialGraph::load(&database, network, &Default::default())?);
                Ok(Self::Ours { database, graph })
            }
            Some(store) => {
                load(&*store, &network, work.plan.seed)?;
                let next = AtomicU32::new(network.nodes());
                Ok(Self::Peer { store, network: Box::new(network), next })
            }
        }
    }

    fn step(&self, client: &mut Client, mix: &Mix) -> Result<OperationOutcome> {
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

    fn close(self) -> Result<()> {
        match self {
            Self::Ours { database, .. } => database.close(),
            Self::Peer { .. } => Ok(()),
        }
    }
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

/// Loads what [`SocialGraph::load`] loads: a link's time is its place in the list of its type.
fn load(store: &dyn KeyValue, network: &Network, seed: u64) -> Result<()> {
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
    pairs.chunks(LOAD_BATCH).try_for_each(|pairs| {
        let changes: Vec<_> =
            pairs.iter().map(|(key, value)| (key.as_slice(), Some(value.as_slice()))).collect();
        store.write(&changes)
    })
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
