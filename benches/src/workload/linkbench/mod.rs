//! Linkbench: the social mixes on every engine, with durable commits.
//!
//! ```text
//! DFLT, TAO                 2 clients: mean, P99 and P999 of an operation    24 clients: operations a second
//! 31, 50, 75, 100 % writes                                                   24 clients
//! ```
//!
//! A list is asked for with the newest first, and at most [`LIST_MAX`](evergraph_measure::social::client::LIST_MAX) of it.
//! Ours declares links newest-first. A peer reads the whole list, since its newest links lie anywhere in it, and sorts: lists
//! are short (four links on average), so that this is cheaper for it than a second index by time, which each write would have
//! to keep. What each store has is in [`home`].

pub mod home;

use crate::engine::kind::Kind;
use crate::engine::store::Commit;
use crate::plan::{Work, expect};
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::linkbench::home::{Home, clients, mix, network};
use crate::workload::stores::names;
use evergraph::{Database, Durability, Options};
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit;
use evergraph_measure::social::client::Client;
use evergraph_measure::social::operation::{Mix, Shares};
use evergraph_measure::social::shape::Degrees;

/// Clients whose operations are counted.
pub const CLIENTS: usize = 24;
/// Clients whose operations are timed.
pub const LATENCY_CLIENTS: usize = 2;
/// LinkBench's own mixes: name, title and shares.
pub const MIXES: [(&str, &str, Shares); 2] =
    [("tao", "TAO, 99.8 % reads", Shares::TAO), ("dflt", "DFLT, 69 % reads", Shares::DEFAULT)];

/// Measures both mixes, then larger shares of writes.
///
/// # Errors
/// `corrupt` if an engine answers otherwise than ours; what engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let degrees = match &work.plan.distributions {
        Some(path) => Degrees::read(path)?,
        None => Degrees::PowerLaw,
    };
    let (nodes, seed) = (work.plan.nodes, work.plan.seed);
    let homes: Vec<Home> = Kind::ALL.iter().map(|kind| open(*kind, work, &degrees)).collect::<Result<_>>()?;
    let mix = mix(nodes, seed);
    let mut expected: Option<Vec<u64>> = None;
    for (kind, home) in Kind::ALL.iter().zip(&homes) {
        let seen = home.check(&mix, seed)?;
        expect_alike(kind.name(), &seen, expected.get_or_insert_with(|| seen.clone()))?;
    }
    for (name, title, shares) in MIXES {
        let mix = mix.with_shares(shares);
        latencies(work, &homes, &mix, name, title)?;
        throughput(work, &homes, &mix, name, title)?;
    }
    for writes in [31, 50, 75, 100] {
        let mix = mix.with_shares(Shares::DEFAULT.with_writes(f64::from(writes) / 100.0));
        throughput(work, &homes, &mix, &format!("writes_{writes}"), &format!("{writes} % writes"))?;
    }
    note_network(work, &degrees, nodes, "in memory");
    homes.into_iter().try_for_each(Home::close)
}

/// Fails unless `name` saw in every operation what the first one saw.
///
/// # Errors
/// `corrupt`.
pub fn expect_alike(name: &str, seen: &[u64], expected: &[u64]) -> Result<()> {
    let mut pairs = seen.iter().zip(expected).enumerate();
    pairs.try_for_each(|(number, (seen, expected))| {
        expect(name, &format!("operation {number} of LinkBench"), seen, expected)
    })
}

/// Says what the network is, and where it lies.
pub fn note_network(work: &mut Work<'_>, degrees: &Degrees, nodes: u32, place: &str) {
    let links: usize = network(degrees, nodes, work.plan.seed).links().iter().map(Vec::len).sum();
    work.note(format!("{nodes} nodes, {links} links, {}; {place}", degrees.title()));
    work.note(
        "durable commits in every engine; each operation is a transaction; clients are threads of one process",
    );
    work.note(
        "a node that is deleted takes its links along in ours; in the others they stay, as LinkBench's do",
    );
}

fn open(kind: Kind, work: &Work<'_>, degrees: &Degrees) -> Result<Home> {
    let folder = work.place("linkbench").join(kind.name());
    let network = network(degrees, work.plan.nodes, work.plan.seed);
    match kind.open_key_value(&folder, Commit::Durable)? {
        None => {
            let options = Options { durability: Durability::Sync, ..Options::default() };
            Home::ours(Database::open_with(folder.join("evergraph"), &options)?, network)
        }
        Some(store) => Home::peer(network, work.plan.seed, || Ok(store)),
    }
}

fn throughput(work: &mut Work<'_>, homes: &[Home], mix: &Mix, name: &str, title: &str) -> Result<()> {
    let mut all = clients_of(work, homes, CLIENTS, 1);
    let mut race = Race::new(names());
    for round in 0..work.plan.rounds {
        race.round(round, |place| homes[place].rate(&mut all[place], mix, work.plan.run_time))?;
    }
    work.add_race(&rate_heading("linkbench", name, title), &race);
    Ok(())
}

fn latencies(work: &mut Work<'_>, homes: &[Home], mix: &Mix, name: &str, title: &str) -> Result<()> {
    let mut all = clients_of(work, homes, LATENCY_CLIENTS, 2);
    let mut rounds: Vec<Vec<[f64; 3]>> = Vec::new();
    for round in 0..work.plan.rounds {
        let mut measured = vec![[0.0; 3]; homes.len()];
        for place in order(round, homes.len()) {
            measured[place] = homes[place].latencies(&mut all[place], mix, work.plan.run_time)?;
        }
        rounds.push(measured);
    }
    add_latencies(work, ("linkbench", name, title), &names().collect::<Vec<_>>(), &rounds);
    Ok(())
}

fn clients_of(work: &Work<'_>, homes: &[Home], count: usize, stage: u64) -> Vec<Vec<Client>> {
    homes.iter().map(|_| clients(count, work.plan.seed, stage)).collect()
}

/// The heading of operations a second.
#[must_use]
pub fn rate_heading(part: &str, name: &str, title: &str) -> Heading {
    let heading = Heading::new(
        format!("{part}.{name}.clients_24"),
        format!("{title}: operations, 24 clients"),
        Unit::PerSecond,
    );
    heading.of_commits(Commit::Durable)
}

/// Keeps mean, P99 and P999 of each of `names` in each round.
pub fn add_latencies(
    work: &mut Work<'_>,
    (part, name, title): (&str, &str, &str),
    names: &[&'static str],
    rounds: &[Vec<[f64; 3]>],
) {
    for (at, what) in ["mean", "P99", "P999"].into_iter().enumerate() {
        let mut race = Race::new(names.iter().copied());
        for measured in rounds {
            race.note(&measured.iter().map(|figures| figures[at]).collect::<Vec<_>>());
        }
        let heading = Heading::new(
            format!("{part}.{name}.clients_2.{}", what.to_lowercase()),
            format!("{title}: {what} of an operation, 2 clients"),
            Unit::Seconds,
        );
        work.add_race(&heading.of_commits(Commit::Durable), &race);
    }
}
