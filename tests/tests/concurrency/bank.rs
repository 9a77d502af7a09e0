//! Bank: transfers between accounts, each a transaction that sets two balances and adds an edge. In
//! every snapshot the sum of balances is what it was at first, and each balance is that of its edges.

use crate::at_once::{Work, checkpointing, merging, repeat};
use evergraph::engines::engine::AnyEngine;
use evergraph::graph::id::{KeyId, TypeId};
use evergraph::graph::transaction::Transaction as _;
use evergraph::storage::io::memory::MemoryDirectory;
use evergraph::storage::io::random::{Random, SplitMix64};
use evergraph::storage::open::OpenStore;
use evergraph::{Direction, EngineKind, ReadByName, Result, Snapshot, Value, VertexId};
use evergraph_tests::store::{assert_healthy, open_synced};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const ACCOUNTS: u64 = 24;
const OPENING_BALANCE: i64 = 100;

struct Bank {
    open: OpenStore<AnyEngine>,
    accounts: Vec<VertexId>,
    transfer: TypeId,
    balance: KeyId,
    amount: KeyId,
}

impl Bank {
    fn new(engine: EngineKind, directory: &MemoryDirectory) -> Self {
        let open = open_synced(engine, directory).unwrap();
        let mut setup = open.store().begin();
        let label = setup.label("Account").unwrap();
        let (transfer, balance) = (setup.edge_type("TRANSFER").unwrap(), setup.key("balance").unwrap());
        let amount = setup.key("amount").unwrap();
        let opening = [(balance, Value::I64(OPENING_BALANCE))];
        let accounts = (0..ACCOUNTS).map(|_| setup.add_vertex(label, &opening).unwrap()).collect();
        setup.commit().unwrap();
        Self { open, accounts, transfer, balance, amount }
    }

    /// Sends an amount between two accounts; again if another transfer of one of them was first.
    fn transfer(&self, random: &mut SplitMix64) {
        let mut any = || self.accounts[(random.next_u64() % ACCOUNTS) as usize];
        let (from, to) = (any(), any());
        let amount = (random.next_u64() % 10) as i64;
        let moved: Result<()> = self.open.store().transact(|tx| {
            let balance = |tx: &_, account| number(ReadByName::get(tx, account, "balance"));
            let left = balance(tx, from) - amount;
            tx.set_vertex_property(from, self.balance, Some(Value::I64(left)))?;
            let more = balance(tx, to) + amount;
            tx.set_vertex_property(to, self.balance, Some(Value::I64(more)))?;
            tx.add_edge(from, self.transfer, to, &[(self.amount, Value::I64(amount))])?;
            Ok(())
        });
        moved.unwrap();
    }

    /// Holds the rule of this bank against a snapshot; how many transfers it shows.
    fn check(&self, snapshot: &Snapshot) -> u64 {
        let (mut sum, mut transfers) = (0, 0);
        for account in &self.accounts {
            let moved = |direction| {
                let edges = snapshot.edges(*account, direction, &["TRANSFER"]).unwrap();
                let amounts = edges.iter().map(|(edge, _)| number(snapshot.get_edge(*edge, "amount")));
                (edges.len() as u64, amounts.sum::<i64>())
            };
            let ((sent, out), (_, received)) = (moved(Direction::Out), moved(Direction::In));
            let balance = number(snapshot.get(*account, "balance"));
            assert_eq!(balance, OPENING_BALANCE - out + received, "the balance of {account}");
            (sum, transfers) = (sum + balance, transfers + sent);
        }
        assert_eq!(sum, OPENING_BALANCE * ACCOUNTS as i64, "no money is made or lost");
        transfers
    }
}

fn number(value: Result<Option<Value>>) -> i64 {
    value.unwrap().unwrap().as_i64().unwrap()
}

#[test]
fn every_snapshot_of_a_bank_shows_whole_transfers_only() {
    EngineKind::ALL.into_iter().for_each(book);
}

fn book(engine: EngineKind) {
    let directory = MemoryDirectory::new("db");
    let bank = Bank::new(engine, &directory);
    let transfers = AtomicU64::new(0);
    let writer = |seed| -> Work<'_> {
        let (bank, transfers, mut random) = (&bank, &transfers, SplitMix64::new(seed));
        Box::new(move |_| {
            bank.transfer(&mut random);
            transfers.fetch_add(1, Ordering::Relaxed);
        })
    };
    let reader = || -> Work<'_> {
        let mut newest = 0;
        let bank = &bank;
        Box::new(move |_| {
            let shown = bank.check(&bank.open.store().snapshot());
            assert!(shown >= newest, "a later snapshot shows no fewer transfers");
            newest = shown;
        })
    };
    let works = vec![
        writer(1),
        writer(2),
        writer(3),
        reader(),
        reader(),
        merging(&bank.open),
        checkpointing(&bank.open),
    ];
    repeat(Duration::from_secs(1), works);

    let made = transfers.load(Ordering::Relaxed);
    assert_eq!(bank.check(&bank.open.store().snapshot()), made);
    assert_healthy(&bank.open);
    let Bank { accounts, transfer, balance, amount, open } = bank;
    let found = Bank {
        open: open_synced(engine, &directory.power_cut()).unwrap(),
        accounts,
        transfer,
        balance,
        amount,
    };
    assert_eq!(found.check(&found.open.store().snapshot()), made, "every acknowledged transfer");
    assert_healthy(&found.open);
    drop(open);
}
