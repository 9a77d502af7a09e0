//! Schedules: readers, threads that read for them and somebody who closes the pool, driven by shuttle.
//!
//! Each reader begins a read ahead, gives one up, and reads more pages at once than the queue holds. Whenever the
//! pool is closed, each gets just its pages, and every thread ends.
//!
//! Run with `RUSTFLAGS="--cfg shuttle"`; `make test` does.

#![cfg(shuttle)]

use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::page::{ALIGNMENT_BYTES, AlignedBuffer};
use evergraph_storage::io::pool::{PageRead, ReadOutcome, ReadPool};
use std::sync::Arc;

const RUNS: usize = 2000;
const PAGES: u8 = 6;

fn scenario() {
    let directory = MemoryDirectory::new("db");
    let bytes: Vec<u8> = (0..PAGES).flat_map(|page| [page; ALIGNMENT_BYTES]).collect();
    directory.write_all_new("csr-1", &bytes).expect("memory takes it");
    let file = directory.open("csr-1", OpenMode::ReadDirect).expect("it is there");
    let page = move |number: u8| PageRead {
        file: Arc::clone(&file),
        offset: u64::from(number) * ALIGNMENT_BYTES as u64,
        buffer: AlignedBuffer::zeroed(ALIGNMENT_BYTES),
    };
    let holds = |outcome: ReadOutcome, number: u8| {
        assert!(outcome.expect("no read fails").iter().all(|byte| *byte == number));
    };
    let pool = Arc::new(ReadPool::start(2, Background::Threads).expect("shuttle has threads"));
    let mut threads = Vec::new();
    for reader in 0..2 {
        let (pool, page) = (Arc::clone(&pool), page.clone());
        threads.push(shuttle::thread::spawn(move || {
            let ahead = pool.begin(page(reader));
            drop(pool.begin(page(PAGES - 1)));
            let numbers = [reader, 2, 3, 4];
            let found = pool.read_all(numbers.iter().map(|number| page(*number)).collect());
            found.into_iter().zip(numbers).for_each(|(outcome, number)| holds(outcome, number));
            holds(ahead.wait(), reader);
        }));
    }
    let closing = Arc::clone(&pool);
    threads.push(shuttle::thread::spawn(move || closing.close()));
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    holds(pool.begin(page(1)).wait(), 1);
}

#[test]
fn everybody_gets_their_pages_whenever_the_pool_is_closed_in_random_schedules() {
    shuttle::check_random(scenario, RUNS);
}

#[test]
fn everybody_gets_their_pages_whenever_the_pool_is_closed_in_priority_schedules() {
    shuttle::check_pct(scenario, RUNS, 3);
}
