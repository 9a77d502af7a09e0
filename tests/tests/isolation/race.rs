//! Race: threads that begin together and each do some rounds.

use evergraph::storage::io::random::{Random, SplitMix64};
use evergraph::{Database, Isolation, Result, Transaction};
use std::sync::Barrier;
use std::thread;

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
