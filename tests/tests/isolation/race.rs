//! Race: threads that begin together and each do some rounds.

use evergraph::graph::transaction::Transaction as _;
use evergraph::storage::io::random::{Random, SplitMix64};
use evergraph::{Database, EngineKind, Isolation, Result, Transaction};
use std::sync::Barrier;
use std::thread;

/// Each level on each engine.
pub const CASES: [(EngineKind, Isolation); 6] = [
    (EngineKind::Memory, Isolation::Snapshot),
    (EngineKind::Memory, Isolation::Serializable),
    (EngineKind::Disk, Isolation::Snapshot),
    (EngineKind::Disk, Isolation::Serializable),
    (EngineKind::Mapped, Isolation::Snapshot),
    (EngineKind::Mapped, Isolation::Serializable),
];

/// Random numbers of one thread.
pub struct Dice(SplitMix64);

impl Dice {
    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    /// One of `items`.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Two different ones of `items`.
    pub fn pick_two<T: Copy>(&mut self, items: &[T]) -> [T; 2] {
        let first = self.below(items.len());
        let second = (first + 1 + self.below(items.len() - 1)) % items.len();
        [items[first], items[second]]
    }
}

/// Names edge types ahead: who reads by a name that there isn't is told so.
pub fn name_types(database: &Database, types: &[&str]) {
    let named =
        database.transact(|tx| types.iter().try_for_each(|name| tx.by_id().edge_type(name).map(drop)));
    named.unwrap();
}

/// Runs `threads` threads that begin together; each calls `round` with its number, the round's number and
/// its dice. What the rounds answered, by thread.
pub fn race<T: Send>(
    threads: usize,
    rounds: usize,
    round: impl Fn(usize, usize, &mut Dice) -> T + Sync,
) -> Vec<Vec<T>> {
    let (begin, round) = (Barrier::new(threads), &round);
    let run = |thread: usize| {
        let mut dice = Dice(SplitMix64::new(thread as u64 + 1));
        begin.wait();
        (0..rounds).map(|number| round(thread, number, &mut dice)).collect()
    };
    thread::scope(|scope| {
        let run = &run;
        let handles: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    })
}

/// Runs `body` once in a transaction; whether it committed, or another was first.
pub fn once(
    database: &Database,
    isolation: Isolation,
    body: impl FnOnce(&mut Transaction) -> Result<()>,
) -> bool {
    let mut transaction = database.begin_with(isolation);
    let done = body(&mut transaction).and_then(|()| transaction.commit());
    match done {
        Ok(_) => true,
        Err(error) => {
            assert!(error.is_conflict(), "{error}");
            false
        }
    }
}
