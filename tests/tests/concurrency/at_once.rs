//! At once: threads that repeat their work until a time is up, beside merges and checkpoints.

use evergraph::engines::engine::AnyEngine;
use evergraph::storage::open::OpenStore;
use evergraph_tests::store::checkpoint;
use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// A thread's work: called with the number of the round, again and again.
pub type Work<'a> = Box<dyn FnMut(u64) + Send + 'a>;

/// Repeats each of `works` on a thread of its own for `time`, at least once. If one panics all end, and
/// the panic goes on here.
pub fn repeat(time: Duration, works: Vec<Work<'_>>) {
    let ends = (Mutex::new(false), Condvar::new());
    let until_the_end = |mut work: Work<'_>| {
        let _told = TellsPanic(&ends);
        for round in 0.. {
            work(round);
            if *ends.0.lock().unwrap() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = works.into_iter().map(|work| scope.spawn(|| until_the_end(work))).collect();
        let panicked = ends.0.lock().unwrap();
        let (mut ended, _) = ends.1.wait_timeout_while(panicked, time, |ended| !*ended).unwrap();
        *ended = true;
        drop(ended);
        for thread in threads {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
}

/// Ends all works when the one that has it panics.
struct TellsPanic<'a>(&'a (Mutex<bool>, Condvar));

impl Drop for TellsPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            *self.0.0.lock().unwrap() = true;
            self.0.1.notify_all();
        }
    }
}

/// Merges everything, again and again: far more often than the background thread would.
pub fn merging(open: &OpenStore<AnyEngine>) -> Work<'_> {
    Box::new(|_| {
        open.store().engine().merge_everything();
        open.store().collect_indexes();
        thread::sleep(Duration::from_millis(1));
    })
}

/// Makes a checkpoint, again and again.
pub fn checkpointing(open: &OpenStore<AnyEngine>) -> Work<'_> {
    Box::new(|_| {
        checkpoint(open).unwrap();
        thread::sleep(Duration::from_millis(10));
    })
}
