//! Contention: transactions that rarely meet commit at the first try, in both levels.

use crate::race::{CASES, name_types, once, race};
use evergraph::{Database, EngineKind, ReadByName, Value, VertexId};
use evergraph_tests::store::in_memory;

const ACCOUNTS: usize = 10_000;
const ROUNDS: usize = 1_000;

fn accounts(engine: EngineKind) -> (Database, Vec<VertexId>) {
    let database = in_memory(engine);
    let accounts = database
        .transact(|tx| (0..ACCOUNTS).map(|_| tx.add_vertex("Account", &[("held", 100_i64.into())])).collect())
        .unwrap();
    (database, accounts)
}

#[test]
fn nine_of_ten_transfers_between_many_accounts_commit_at_once() {
    for (engine, isolation) in CASES {
        let (database, accounts) = accounts(engine);
        let committed = race(4, ROUNDS, |_, _, dice| {
            let [from, to] = dice.pick_two(&accounts);
            once(&database, isolation, |tx| {
                let held = |account| tx.get(account, "held").unwrap().and_then(|held| held.as_i64()).unwrap();
                let (less, more) = (held(from) - 1, held(to) + 1);
                tx.set(from, "held", less)?;
                tx.set(to, "held", more)?;
                tx.add_edge(from, "TRANSFER", to, &[("amount", 1_i64.into())]).map(drop)
            })
        });
        let committed = committed.iter().flatten().filter(|committed| **committed).count();
        assert!(committed * 10 >= 4 * ROUNDS * 9, "{committed} of {} committed, {isolation:?}", 4 * ROUNDS);
        let snapshot = database.snapshot();
        let held =
            |account: &VertexId| snapshot.get(*account, "held").unwrap().and_then(|v: Value| v.as_i64());
        assert_eq!(accounts.iter().map(|account| held(account).unwrap()).sum::<i64>(), ACCOUNTS as i64 * 100);
    }
}

#[test]
fn edges_added_to_one_hub_never_conflict() {
    for (engine, isolation) in CASES {
        let (database, accounts) = accounts(engine);
        // The first use of a name is news to whoever is serialisable and under way.
        name_types(&database, &["TRANSFER"]);
        let hub = accounts[0];
        let committed = race(4, ROUNDS, |_, _, dice| {
            let other = accounts[1 + dice.below(ACCOUNTS - 1)];
            once(&database, isolation, |tx| tx.add_edge(hub, "TRANSFER", other, &[]).map(drop))
        });
        assert!(committed.iter().flatten().all(|committed| *committed), "{isolation:?}");
    }
}
