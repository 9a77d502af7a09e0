//! Promises: memory that commits may count on, in whichever graph they reach.
//!
//! ```text
//! prepare   promised += room;  in every open graph: allocated >= used + promised
//! append    used += what it takes, at most the room;  then promised -= room
//! dropped   promised -= room
//! ```
//!
//! A graph may be frozen between a commit's preparation and its latch, and the commit goes into the next graph
//! then. So graphs of one engine share their promises, and each that is open, the next one too, has memory for all of
//! them. A graph that is opened later allocates for what is promised already.
//!
//! Source: disk-engine, section 4 (counted promises, as log space).

use crate::memory_graph::arenas::{Arenas, Room};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// What commits of one engine were promised, and the graphs that have memory for it.
///
/// # Concurrency
/// The lock of `open` is held while promises are made and memory for them is allocated; who gives one back takes no
/// lock. Nobody holds the lock under the commit latch, and nothing else is locked below it.
#[derive(Debug, Default)]
pub struct Promises {
    open: Mutex<Vec<Weak<Arenas>>>,
    /// The sum of what is promised, for each array. Raised under the lock of `open`. Lowered (Release) without it, after
    /// the elements were taken; who raises it (Acquire) therefore sees those as used.
    promised: [AtomicU64; Room::ARRAYS],
    /// Bytes outside of the arrays that promised commits bring: values, and entries of indexes. Relaxed: a size.
    heap_bytes: AtomicU64,
}

impl Promises {
    /// Nothing is promised, and no graph is open.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Adds an open graph, with memory for all that is promised.
    ///
    /// # Errors
    /// `limit` if the graph's arrays cannot hold it.
    pub(super) fn open(&self, arenas: &Arc<Arenas>) -> Result<()> {
        let mut open = self.open.lock();
        let promised = self.promised.each_ref().map(|sum| sum.load(Ordering::Acquire));
        make_ready(arenas, Room::of_counts(promised))?;
        open.push(Arc::downgrade(arenas));
        Ok(())
    }

    /// Promises `room` in every graph that is open, or is opened while the promise lives, to a commit that brings
    /// `heap_bytes` beside it. Cost: a lock and a few
    /// additions; now and then zeroing a chunk.
    ///
    /// # Errors
    /// `limit` if a graph's arrays cannot hold it, beside what others were promised.
    pub(super) fn promise(self: &Arc<Self>, room: Room, heap_bytes: u64) -> Result<Promise> {
        let mut open = self.open.lock();
        let add = |(sum, more): (&AtomicU64, u64)| sum.fetch_add(more, Ordering::AcqRel) + more;
        let counts = self.promised.iter().zip(room.counts()).map(add);
        let mut total = [0; Room::ARRAYS];
        total.iter_mut().zip(counts).for_each(|(total, count)| *total = count);
        // From here on it is given back if anything fails.
        self.heap_bytes.fetch_add(heap_bytes, Ordering::Relaxed);
        let promise = Promise { promises: Arc::clone(self), room, heap_bytes };
        let mut answer = Ok(());
        open.retain(|arenas| match arenas.upgrade().filter(|arenas| !arenas.is_frozen()) {
            Some(arenas) => {
                answer =
                    std::mem::replace(&mut answer, Ok(())).and(make_ready(&arenas, Room::of_counts(total)));
                true
            }
            None => false,
        });
        answer.map(|()| promise)
    }

    /// Bytes that promised commits bring beside their room: nobody has them yet, or they were appended a moment ago.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.heap_bytes.load(Ordering::Relaxed)
    }
}

fn make_ready(arenas: &Arenas, promised: Room) -> Result<()> {
    if arenas.make_ready(promised) {
        return Ok(());
    }
    let text = format!(
        "a memory graph of {} bytes has no room for {} lists and {} records more: fewer or smaller transactions at a time",
        arenas.bytes(),
        promised.entries,
        promised.slots
    );
    Err(Error::new(ErrorKind::Limit, text))
}

/// Room in each open graph, given back when dropped.
#[derive(Debug)]
pub(super) struct Promise {
    promises: Arc<Promises>,
    room: Room,
    heap_bytes: u64,
}

impl Promise {
    /// Whether `promises` made this one.
    pub(super) fn is_of(&self, promises: &Arc<Promises>) -> bool {
        Arc::ptr_eq(&self.promises, promises)
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        for (sum, less) in self.promises.promised.iter().zip(self.room.counts()) {
            sum.fetch_sub(less, Ordering::Release);
        }
        self.promises.heap_bytes.fetch_sub(self.heap_bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(count: u64) -> Room {
        Room { entries: count, slots: count * 9, links: count, segments: count, payloads: count }
    }

    fn promised(promises: &Promises) -> [u64; Room::ARRAYS] {
        promises.promised.each_ref().map(|sum| sum.load(Ordering::Relaxed))
    }

    #[test]
    fn a_dropped_promise_leaves_no_trace_and_a_refused_one_neither() {
        let promises = Promises::new();
        let arenas = Arc::new(Arenas::with_capacity(1 << 16));
        promises.open(&arenas).unwrap();
        let first = promises.promise(room(10), 7).unwrap();
        assert!(first.is_of(&promises) && !first.is_of(&Promises::new()));
        let error = promises.promise(room(1 << 20), 9).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!((promised(&promises), promises.heap_bytes()), (room(10).counts(), 7));
        drop(first);
        assert_eq!((promised(&promises), promises.heap_bytes()), ([0; Room::ARRAYS], 0));
    }

    #[test]
    fn what_was_promised_fits_into_the_graph_that_is_opened_next() {
        let promises = Promises::new();
        let first = Arc::new(Arenas::with_capacity(1 << 20));
        promises.open(&first).unwrap();
        let promise = promises.promise(room(5000), 0).unwrap();
        let next = Arc::new(Arenas::with_capacity(1 << 20));
        promises.open(&next).unwrap();
        first.freeze();
        for _ in 0..5000 {
            next.entries.take(1);
            next.slots.run(next.slots.take(9), 9);
        }
        let bytes = first.bytes();
        drop(promise);
        drop(promises.promise(room(20_000), 0).unwrap());
        assert_eq!(first.bytes(), bytes, "nothing is allocated for a frozen graph");
    }
}
