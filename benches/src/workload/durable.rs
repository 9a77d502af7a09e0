//! Durable commits: 1 and 64 clients, 1 and 1,000 edges, beside what the bare disk can do.

use crate::edges::Contents;
use crate::engine::kind::Kind;
use crate::engine::store::{Commit, Edge, Store};
use crate::goals::baseline;
use crate::plan::Work;
use crate::race::Race;
use crate::results::Heading;
use crate::workload::stores::{names, open_all};
use evergraph::generate::random::Random;
use evergraph_graph::error::Result;
use evergraph_measure::clients;
use evergraph_measure::disk_sync::DiskSync;
use evergraph_measure::figure::Unit;
use std::collections::HashSet;

const PURPOSE: u64 = 401;

/// One who commits, and what it has committed so far.
struct Client {
    random: Random,
    put: Vec<Edge>,
}

/// Measures each number of clients and edges.
///
/// # Errors
/// `corrupt` if a store lacks an edge that it acknowledged; what engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let mut disk = DiskSync::prepare(work.folder)?;
    for count in [1, 64] {
        for edges in [1, 1000] {
            commits(work, &mut disk, count, edges)?;
        }
    }
    work.note(
        "clients are threads of this process; a transaction is acknowledged when it is on stable storage",
    );
    work.note("the disk: one thread writes a page of a preallocated file over, 4 KiB, and calls fdatasync");
    work.note("lies if the folder is in memory or the disk doesn't keep its word: then syncs cost nothing");
    Ok(())
}

fn commits(work: &mut Work<'_>, disk: &mut DiskSync, count: u64, edges: usize) -> Result<()> {
    let name = format!("durable.clients_{count}.edges_{edges}");
    let stores = open_all(work, &name, Commit::Durable)?;
    let vertices = u64::from(work.plan.vertices());
    let client = |client| Client { random: Random::new(work.plan.seed, PURPOSE, client), put: Vec::new() };
    let mut all: Vec<Vec<Client>> = stores.iter().map(|_| (0..count).map(client).collect()).collect();
    let one_client = (count > 1).then_some(baseline::ONE_CLIENT);
    let mut race = Race::new(names().chain([baseline::DISK]).chain(one_client));
    for round in 0..work.plan.rounds {
        race.round(round, |place| {
            if place == stores.len() {
                return Ok(disk.run(work.plan.run_time)?.rate());
            }
            // Behind the disk: ours again, with one of the clients.
            let (place, running) = if place < stores.len() { (place, count as usize) } else { (0, 1) };
            let (store, clients) = (&stores[place], &mut all[place][..running]);
            let step = |client: &mut Client| client.commit(&**store, edges, vertices).map(|()| 1);
            Ok(clients::run(clients, work.plan.run_time, step)?.rate())
        })?;
    }
    for ((kind, store), clients) in Kind::ALL.iter().zip(stores).zip(&all) {
        let put: HashSet<Edge> = clients.iter().flat_map(|client| &client.put).copied().collect();
        Contents::of(&put).check(kind.name(), &*store)?;
        store.close()?;
    }
    let plural = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let title = format!("commits, {}, {}", plural(count, "client"), plural(edges as u64, "edge"));
    let heading = Heading::new(name, title, Unit::PerSecond).of_commits(Commit::Durable);
    work.add_race(&heading, &race);
    Ok(())
}

impl Client {
    fn commit(&mut self, store: &dyn Store, edges: usize, vertices: u64) -> Result<()> {
        let mut end = || self.random.below(vertices) as u32;
        let edges: Vec<Edge> = (0..edges).map(|_| (end(), end())).collect();
        store.put(&edges)?;
        self.put.extend(edges);
        Ok(())
    }
}
