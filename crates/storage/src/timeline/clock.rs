//! `Timeline`: the commit latch, and the timestamps W (published), D (durable) and R (readable).
//!
//! ```text
//! W  last published commit      grows under the latch
//! D  last durable commit        grows in the log's leader
//! R  newest that snapshots see  D in mode sync, else W; a bulk load holds it back until it is durable
//! H  horizon                    the oldest moment at which a snapshot may still begin, if that is not R
//! ```
//!
//! All of them only grow, and `D <= W`. Writers begin at W, so that they build on commits which are
//! still being synced; read-only snapshots begin at R and never show what a power cut could take.
//!
//! A store that holds a part of a graph is read at the moment at which a transaction elsewhere began: at any one from H
//! through R, commit or not. Merges stay at or below H then, so that every such moment can be read.
//!
//! Source: core-protocol section 1. LiveGraph (VLDB 2020, section 5) keeps a read and a write epoch
//! and a manager thread between them; one latch makes timestamp order, log order and install order
//! the same without either.

use crate::io::clock::{Clock, SystemClock};
use crate::planted::{Bug, planted};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, thread};
use crate::timeline::registry::{Access, Registry};
use crate::timeline::shared_readable::SharedReadable;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Freshness;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Says up to which timestamp commits are durable.
pub type DurableThrough = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What snapshots may see.
#[derive(Clone)]
pub enum Readable {
    /// Every published commit.
    Published,
    /// Only commits that would survive a power cut now.
    Durable(DurableThrough),
    /// What another process says, which writes; this one reads.
    Shared(Arc<dyn SharedReadable>),
}

/// The state that the commit latch guards.
#[derive(Debug, Default)]
pub struct LatchState {
    /// Why commits are refused: a panic under the latch, or a failed log.
    pub poisoned: Option<String>,
    /// Whether a bulk load holds the store: commits are refused as busy meanwhile.
    pub loading: bool,
    /// Indexes that are being built: a bulk load is refused as busy meanwhile.
    pub index_builds: u32,
    /// How many bulk loads were installed: a checkpoint that one of them overtook has parts of it.
    pub loads: u64,
}

/// Time in one store; shared by its front and its engine.
///
/// Concurrency: the latch orders commits and the publication of merged bodies. Lock order: latch,
/// then registry.
pub struct Timeline {
    latch: Mutex<LatchState>,
    registry: Mutex<Registry>,
    /// W. Release under the latch after everything of the commit is installed; Acquire in `begin`. Where another process
    /// writes: the newest R that a snapshot here began at, stored with the registry locked.
    published: AtomicU64,
    readable: Readable,
    /// No snapshot is beyond it: `u64::MAX`, but while a bulk load is made durable. Release and Acquire.
    ceiling: AtomicU64,
    /// H: `u64::MAX` where every snapshot begins at R. Only grows once it is set. Stored (Release) with the registry locked,
    /// loaded (Acquire) under that lock by who begins, and without it by who merges.
    horizon: AtomicU64,
    /// Tells how long something takes; no timestamp comes from it.
    clock: Arc<dyn Clock>,
}

/// Why no snapshot can begin at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutOfReach {
    /// It is newer than R, which is this.
    NotYet(Timestamp),
    /// Merges may have gone beyond it: the oldest moment that can be read is this.
    Gone(Timestamp),
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeline").field("published", &self.published()).finish_non_exhaustive()
    }
}

impl Timeline {
    /// A timeline whose newest published commit is `published`.
    #[must_use]
    pub fn new(published: Timestamp, readable: Readable) -> Self {
        Self {
            latch: Mutex::default(),
            registry: Mutex::default(),
            published: AtomicU64::new(published.0),
            readable,
            ceiling: AtomicU64::new(u64::MAX),
            horizon: AtomicU64::new(u64::MAX),
            clock: Arc::new(SystemClock::new()),
        }
    }

    /// The same, which tells durations by `clock` instead of the system's.
    #[must_use]
    #[inline]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// What tells how long something takes.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// W: the newest published commit.
    #[must_use]
    #[inline]
    pub fn published(&self) -> Timestamp {
        Timestamp(self.published.load(Ordering::Acquire))
    }

    /// R: the newest commit that read-only snapshots see.
    #[must_use]
    #[inline]
    pub fn readable(&self) -> Timestamp {
        let newest = match &self.readable {
            Readable::Published => self.published(),
            Readable::Durable(through) if planted(Bug::FrameBeforeInstall) => through(),
            Readable::Durable(through) => through().min(self.published()),
            Readable::Shared(shared) => shared.readable(),
        };
        newest.min(self.ceiling())
    }

    #[inline]
    fn ceiling(&self) -> Timestamp {
        Timestamp(self.ceiling.load(Ordering::Acquire))
    }

    /// Keeps R at or below `ceiling` from here on; it must not be below the present R, which only grows.
    /// [`Timestamp::MAX`] lets it go.
    pub fn hold_readable(&self, ceiling: Timestamp) {
        debug_assert!(ceiling >= self.readable(), "R only grows");
        self.ceiling.store(ceiling.0, Ordering::Release);
    }

    /// H: the oldest moment at which a snapshot may begin. [`Timestamp::MAX`] where all begin at R.
    #[must_use]
    pub fn horizon(&self) -> Timestamp {
        Timestamp(self.horizon.load(Ordering::Acquire))
    }

    /// What merges never go beyond: R, or H if that is older. Whoever reads it before the registry is locked knows that a
    /// snapshot which registers later is not older.
    #[must_use]
    #[inline]
    pub fn merge_limit(&self) -> Timestamp {
        let horizon = if planted(Bug::MergeBeyondHorizon) { Timestamp::MAX } else { self.horizon() };
        self.readable().min(horizon)
    }

    /// Sets H for the first time, to W: from here on a snapshot may begin at any moment that is not older. Before anybody
    /// begins or merges.
    pub fn keep_from_now(&self) {
        let _registry = self.registry.lock();
        self.horizon.store(self.published().0, Ordering::Release);
    }

    /// Moves H to `horizon`, unless that is older. It may be newer than R. Nothing happens where H is not set.
    pub fn raise_horizon(&self, horizon: Timestamp) {
        let _registry = self.registry.lock();
        self.horizon.fetch_max(horizon.0, Ordering::AcqRel);
    }

    /// Takes the commit latch. Under it: memory only, no waiting, no freeing.
    #[inline]
    pub fn latch(&self) -> MutexGuard<'_, LatchState> {
        self.latch.lock()
    }

    /// Takes the registry's lock; after the latch, if both are needed.
    #[inline]
    pub fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock()
    }

    /// Makes commit `timestamp` visible. `_latch` shows that the caller holds the latch and has
    /// installed everything of the commit.
    #[inline]
    pub fn publish(&self, timestamp: Timestamp, _latch: &mut MutexGuard<'_, LatchState>) {
        debug_assert!(timestamp > self.published(), "timestamps grow");
        let order = if planted(Bug::PublishRelaxed) { Ordering::Relaxed } else { Ordering::Release };
        self.published.store(timestamp.0, order);
    }

    /// Registers a snapshot and calls `pin` with its timestamp while the registry is locked.
    pub fn begin<P>(&self, access: Access, pin: impl FnOnce(Timestamp) -> P) -> (Timestamp, P) {
        self.begin_at(access, Freshness::Applied, None, pin)
    }

    /// The same of a snapshot that sees at least what `freshness` says, and begins at the time `begun`, on the clock, which
    /// statistics tell.
    pub fn begin_at<P>(
        &self,
        access: Access,
        freshness: Freshness,
        begun: Option<Duration>,
        pin: impl FnOnce(Timestamp) -> P,
    ) -> (Timestamp, P) {
        let newest = || match access {
            Access::Read => self.readable(),
            // Not beyond the ceiling: what a bulk load could not make durable is nobody's to build on.
            Access::Write => self.published().min(self.ceiling()),
        };
        let early = planted(Bug::BeginOutsideRegistry).then(|| {
            let early = newest();
            // So that schedules meet what may happen in between.
            thread::yield_now();
            early
        });
        let (mut registry, timestamp) = match &self.readable {
            // Nobody can build on a commit here.
            Readable::Shared(shared) => self.register(&**shared, freshness),
            Readable::Published | Readable::Durable(_) => {
                let registry = self.registry.lock();
                // Loaded inside the lock: see the registry's proof.
                (registry, early.unwrap_or_else(newest))
            }
        };
        registry.enter(timestamp, access);
        if let Some(begun) = begun {
            registry.note_begun(timestamp, begun);
        }
        if planted(Bug::PinOutsideRegistry) {
            drop(registry);
        }
        (timestamp, pin(timestamp))
    }

    /// Registers a reader's snapshot at exactly `timestamp`, which began at the time `begun`, and calls `pin` while the
    /// registry is locked. Not in a process that reads what another one writes.
    ///
    /// # Errors
    /// If it is newer than R, or older than both R and H.
    pub fn begin_exactly<P>(
        &self,
        timestamp: Timestamp,
        begun: Duration,
        pin: impl FnOnce() -> P,
    ) -> Result<P, OutOfReach> {
        let reach = || {
            let newest = self.readable();
            (newest.min(self.horizon()), newest)
        };
        let early = planted(Bug::ExactlyOutsideRegistry).then(|| {
            let early = reach();
            // So that schedules meet what may happen in between.
            thread::yield_now();
            early
        });
        let mut registry = self.registry.lock();
        // Inside the lock, as in `begin_at`: a merge whose limit is newer than this horizon looks at the registry later, and
        // finds this snapshot there.
        let (oldest, newest) = early.unwrap_or_else(reach);
        if timestamp > newest {
            return Err(OutOfReach::NotYet(newest));
        }
        if timestamp < oldest && !planted(Bug::BeginBelowHorizon) {
            return Err(OutOfReach::Gone(oldest));
        }
        registry.enter(timestamp, Access::Read);
        registry.note_begun(timestamp, begun);
        Ok(pin())
    }

    /// Announces a snapshot to the process that writes, with the registry locked, after what had to be waited for.
    #[cold]
    fn register(
        &self,
        shared: &dyn SharedReadable,
        freshness: Freshness,
    ) -> (MutexGuard<'_, Registry>, Timestamp) {
        loop {
            let prepared = shared.prepare(freshness);
            let registry = self.registry.lock();
            if let Some(timestamp) = shared.register(prepared) {
                self.published.fetch_max(timestamp.0, Ordering::AcqRel);
                return (registry, timestamp);
            }
        }
    }

    /// Ends a snapshot; whether the oldest open one moved.
    pub fn end(&self, timestamp: Timestamp, access: Access) -> bool {
        self.end_at(timestamp, access, None)
    }

    /// The same of one that began with [`Timeline::begin_at`].
    pub fn end_at(&self, timestamp: Timestamp, access: Access, begun: Option<Duration>) -> bool {
        let mut registry = self.registry.lock();
        if let Some(begun) = begun {
            registry.forget_begun(timestamp, begun);
        }
        registry.leave(timestamp, access)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::shared_readable::Prepared;
    use evergraph_graph::timestamp::Timestamp as T;

    #[test]
    fn readers_see_what_is_durable_and_writers_what_is_published() {
        let durable = Arc::new(AtomicU64::new(3));
        let source = Arc::clone(&durable);
        let through: DurableThrough = Arc::new(move || T(source.load(Ordering::Acquire)));
        let timeline = Timeline::new(T(5), Readable::Durable(through));
        assert_eq!(timeline.begin(Access::Read, |ts| ts).0, T(3));
        assert_eq!(timeline.begin(Access::Write, |ts| ts).0, T(5));
        timeline.publish(T(6), &mut timeline.latch());
        durable.store(6, Ordering::Release);
        assert_eq!(timeline.begin(Access::Read, |ts| ts).0, T(6));
        assert_eq!(timeline.registry().oldest(), Some(T(3)));
        assert!(timeline.end(T(3), Access::Read));
    }

    #[test]
    fn without_a_horizon_a_snapshot_begins_at_r_alone() {
        let timeline = Timeline::new(T(5), Readable::Published);
        timeline.raise_horizon(T(4));
        assert_eq!((timeline.horizon(), timeline.merge_limit()), (T::MAX, T(5)));
        let begin = |timestamp| timeline.begin_exactly(timestamp, Duration::ZERO, || "pinned");
        assert_eq!(begin(T(4)), Err(OutOfReach::Gone(T(5))));
        assert_eq!(begin(T(5)), Ok("pinned"));
        assert_eq!(begin(T(6)), Err(OutOfReach::NotYet(T(5))));
        assert_eq!(timeline.registry().oldest(), Some(T(5)), "who was refused is not registered");
    }

    #[test]
    fn a_snapshot_begins_at_any_moment_from_the_horizon_through_r_and_merges_stay_below() {
        let timeline = Timeline::new(T(5), Readable::Published);
        timeline.keep_from_now();
        timeline.publish(T(90), &mut timeline.latch());
        assert_eq!((timeline.horizon(), timeline.merge_limit()), (T(5), T(5)));
        let begin = |timestamp| timeline.begin_exactly(timestamp, Duration::ZERO, || ());
        assert_eq!([T(5), T(47), T(90)].map(begin), [Ok(()); 3], "no commit need be there");
        timeline.raise_horizon(T(47));
        timeline.raise_horizon(T(20));
        assert_eq!((begin(T(46)), begin(T(47))), (Err(OutOfReach::Gone(T(47))), Ok(())));
        assert_eq!(timeline.merge_limit(), T(47));
        timeline.raise_horizon(T(200));
        assert_eq!((timeline.horizon(), timeline.merge_limit()), (T(200), T(90)), "merges stay at R then");
        assert_eq!((begin(T(89)), begin(T(90))), (Err(OutOfReach::Gone(T(90))), Ok(())));
        assert!(!timeline.end_at(T(90), Access::Read, Some(Duration::ZERO)), "another one is older");
        assert_eq!(timeline.registry().oldest_reader(), Some((T(5), Duration::ZERO)));
        assert_eq!(timeline.registry().len(), (4, 0));
    }

    /// What another process says: closed when the first snapshot has prepared itself.
    #[derive(Debug, Default)]
    struct ClosedOnce {
        timeline: std::sync::OnceLock<std::sync::Weak<Timeline>>,
        prepared: AtomicU64,
    }

    impl SharedReadable for ClosedOnce {
        fn prepare(&self, _: Freshness) -> Option<Prepared> {
            let timeline = self.timeline.get().and_then(std::sync::Weak::upgrade).expect("it is open");
            // Of another thread, as a snapshot that ends.
            let ends = thread::spawn("ends", move || assert_eq!(timeline.registry().len(), (0, 0)));
            ends.expect("the system has a thread").join().expect("the registry is free");
            let times = self.prepared.fetch_add(1, Ordering::SeqCst) + 1;
            Some(Box::new(T(times)))
        }

        fn register(&self, prepared: Option<Prepared>) -> Option<T> {
            let prepared = prepared.and_then(|prepared| prepared.downcast::<T>().ok());
            prepared.map(|prepared| *prepared).filter(|prepared| *prepared > T(1))
        }

        fn readable(&self) -> T {
            T::ZERO
        }
    }

    #[test]
    fn what_another_process_says_is_waited_for_without_the_registry_and_until_it_holds() {
        let shared = Arc::new(ClosedOnce::default());
        let timeline = Arc::new(Timeline::new(T::ZERO, Readable::Shared(shared.clone())));
        shared.timeline.set(Arc::downgrade(&timeline)).expect("it is set once");
        assert_eq!(timeline.begin(Access::Read, |timestamp| timestamp), (T(2), T(2)));
        assert_eq!(timeline.registry().len(), (1, 0));
    }
}
