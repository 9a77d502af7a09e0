//! Contention: transactions that rarely meet commit at the first try, in both levels.

use crate::deployment::{DeployedGraph, Deployment};
use crate::race::{once, race};
use evergraph::{ReadByName, Value, VertexId};

const ACCOUNTS: usize = 10_000;
const THREADS: usize = 4;
const ROUNDS: usize = 1_000;
/// On a cluster, whose log takes its time.
const CLUSTER_ROUNDS: usize = 200;

fn rounds(deployment: Deployment) -> usize {
    if deployment.is_cluster() { CLUSTER_ROUNDS } else { ROUNDS }
}

fn accounts(deployment: Deployment) -> (DeployedGraph, Vec<VertexId>) {
    let graph = deployment.start();
    let accounts = graph
        .of(0)
        .transact(|tx| (0..ACCOUNTS).map(|_| tx.add_vertex("Account", &[("held", 100_i64.into())])).collect())
        .unwrap();
    graph.wait();
    (graph, accounts)
}

#[test]
fn nine_of_ten_transfers_between_many_accounts_commit_at_once() {
    for (deployment, isolation) in Deployment::cases() {
        let (graph, accounts) = accounts(deployment);
        let committed = race(THREADS, rounds(deployment), |thread, _, dice| {
            let [from, to] = dice.pick_two(&accounts);
            once(graph.of(thread), isolation, |tx| {
                let held = |account| tx.get(account, "held").unwrap().and_then(|held| held.as_i64()).unwrap();
                let (less, more) = (held(from) - 1, held(to) + 1);
                tx.set(from, "held", less)?;
                tx.set(to, "held", more)?;
                tx.add_edge(from, "TRANSFER", to, &[("amount", 1_i64.into())]).map(drop)
            })
        });
        let committed = committed.iter().flatten().filter(|committed| **committed).count();
        let all = THREADS * rounds(deployment);
        assert!(committed * 10 >= all * 9, "{committed} of {all} committed, {deployment:?}, {isolation:?}");
        let snapshot = graph.snapshot();
        let held =
            |account: &VertexId| snapshot.get(*account, "held").unwrap().and_then(|v: Value| v.as_i64());
        assert_eq!(accounts.iter().map(|account| held(account).unwrap()).sum::<i64>(), ACCOUNTS as i64 * 100);
    }
}

#[test]
fn edges_added_to_one_hub_never_conflict() {
    for (deployment, isolation) in Deployment::cases() {
        let (graph, accounts) = accounts(deployment);
        // The first use of a name is news to whoever is serialisable and under way.
        graph.name_types(&["TRANSFER"]);
        let hub = accounts[0];
        let committed = race(THREADS, rounds(deployment), |thread, _, dice| {
            let other = match deployment.is_cluster() {
                false => 1 + dice.below(ACCOUNTS - 1),
                // Parallel edges conflict there, so not to those of another thread.
                true => THREADS + THREADS * dice.below(ACCOUNTS / THREADS - 1) + thread,
            };
            let other = accounts[other];
            once(graph.of(thread), isolation, |tx| tx.add_edge(hub, "TRANSFER", other, &[]).map(drop))
        });
        assert!(committed.iter().flatten().all(|committed| *committed), "{isolation:?}");
    }
}
