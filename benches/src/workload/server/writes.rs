//! Writes: commits of one edge in each mode of durability, and transactions of drivers.

use crate::goals::baseline;
use crate::plan::{Work, expect};
use crate::workload::server::contender::Contender;
use crate::workload::server::exchange::Exchange;
use crate::workload::server::peers::{JANUSGRAPH_SERVER, NEO4J_SERVER, Peers, TINKERGRAPH_SERVER};
use crate::workload::server::question::{Asked, Question};
use crate::workload::server::{Bench, OURS, Races, connections};
use evergraph_graph::error::Result;
use evergraph_graph::value::Value;

/// New edges that are named before: each connection takes those that are its own, and then the first ones again.
const EDGES: usize = 8_000;

/// The modes, as `--durability` calls them, and whose commits are the like: TinkerGraph keeps nothing, and takes no
/// two writers at once.
const MODES: [(&str, &[(&str, usize)]); 3] = [
    ("none", &[(TINKERGRAPH_SERVER, 1)]),
    ("interval", &[]),
    ("sync", &[(JANUSGRAPH_SERVER, 1), (JANUSGRAPH_SERVER, 8), (NEO4J_SERVER, 1), (NEO4J_SERVER, 8)]),
];

/// Measures commits in each mode.
///
/// # Errors
/// `corrupt` if an edge is missing that was acknowledged.
pub fn measure(work: &mut Work<'_>, bench: &Bench<'_>, peers: &Peers) -> Result<()> {
    let plan = bench.plan;
    for (mode, beside) in MODES {
        let server = bench.serve(&format!("writes-{mode}"), &["--durability", mode])?;
        let ours = bench.ours(&server)?;
        let asked = edges(work, bench);
        let units = ours.units(&bench.people, &asked)?;
        ours.compare(&bench.people, &asked)?;
        let mut written = edges_written(&ours)?;
        for count in &plan.connections {
            let one_client = (*count > 1).then_some(baseline::ONE_CLIENT);
            let names: Vec<&'static str> = [OURS].into_iter().chain(one_client).collect();
            let races = Races::run(&names, plan.rounds, |place| {
                let count = if place == 0 { *count } else { 1 };
                ours.load(&units, count, plan.warm_up, plan.run_time)
            })?;
            let least = races.rate.ours().values.iter().sum::<f64>() * plan.run_time.as_secs_f64() * 0.9;
            let now = edges_written(&ours)?;
            expect(
                OURS,
                "whether acknowledged edges are there",
                (now - written) as f64 >= least.floor(),
                true,
            )?;
            written = now;
            let title = format!("one-edge commits, durability {mode}, {}", connections(*count));
            races.add(work, &format!("writes.{mode}.clients_{count}"), &title);
        }
        for (name, count) in beside {
            let Some(peer) = peers.contenders.iter().find(|peer| peer.name == *name) else { continue };
            let theirs = peer.units(&bench.people, &asked)?;
            peer.compare(&bench.people, &asked)?;
            if !plan.first_warm_up.is_zero() {
                peer.load(&theirs, *count, plan.warm_up, plan.first_warm_up)?;
            }
            let races = Races::run(&[OURS, peer.name], plan.rounds, |place| {
                [&ours, peer][place].load([&units, &theirs][place], *count, plan.warm_up, plan.run_time)
            })?;
            let title =
                format!("one-edge commits, durability {mode}, {}, beside others", connections(*count));
            races.add(work, &format!("writes_beside.{mode}.clients_{count}"), &title);
        }
    }
    work.note("a commit: a vertex by its id, a new edge to another one; the answer comes when it is as durable as the mode says");
    Ok(())
}

/// Measures transactions of drivers: a query, the commit, and the end of the session.
///
/// # Errors
/// As [`measure`].
pub fn measure_transactions(work: &mut Work<'_>, bench: &Bench<'_>) -> Result<()> {
    let plan = bench.plan;
    let server = bench.serve("transactions", &[])?;
    let ours = bench.ours(&server)?;
    let asked = edges(work, bench);
    let plain = ours.units(&bench.people, &asked)?;
    // A connection takes every n-th: no two have a session in common.
    let transactions =
        asked.iter().zip(0..).map(|(asked, number)| ours.transaction(&bench.people, asked, number));
    let transactions = transactions.collect::<Result<Vec<_>>>()?;
    for count in plan.connections.iter().filter(|count| EDGES.is_multiple_of(**count)) {
        let races = Races::run(&[OURS, baseline::WITHOUT], plan.rounds, |place| {
            ours.load([&transactions, &plain][place], *count, plan.warm_up, plan.run_time)
        })?;
        let title = format!("g.tx() with one edge, durable, {}", connections(*count));
        races.add(work, &format!("tx.clients_{count}"), &title);
    }
    work.note("g.tx(): a new edge, the commit and the end of the session, three requests on one open connection; without: the same edge as a request alone");
    Ok(())
}

fn edges(work: &Work<'_>, bench: &Bench<'_>) -> Vec<Asked> {
    let pairs = bench.people.pairs(work.plan.seed, EDGES);
    let place = |person: u32| bench.people.asked.iter().position(|asked| *asked == person).unwrap_or(0);
    let asked =
        |(from, to): (u32, u32)| Asked { question: Question::AddEdge, of: place(from), to: place(to) };
    pairs.into_iter().map(asked).collect()
}

/// New edges that the server has.
fn edges_written(server: &Contender) -> Result<i64> {
    let mut exchange = Exchange::connect(server.address, server.carrier())?;
    let request = server.text_request("g.E().hasLabel('PAID').count()", &[])?;
    Ok(server.results(&mut exchange, &request)?.first().and_then(Value::as_i64).unwrap_or(0))
}
