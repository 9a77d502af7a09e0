//! Store steps: the threads that do the background work of all stores of a node.
//!
//! ```text
//! merges        each store in turn: what is due, at once while commits come, else after 10 ms; idle segments every two seconds
//! checkpoints   each store in turn, every 200 ms: its own checkpoint if one is due, indexes that are to be filled
//! log files     each store in turn, every 5 ms: its log's next file
//! ```
//!
//! Stores of a node are opened without threads ([`Background::Stepped`](evergraph_storage::io::environment::Background)): four of
//! them for each of some hundred partitions would be too many, and as many checkpoints at once more than a disk serves. Here one
//! store makes its checkpoint at a time, beside the thread of the node and beside merges.
//!
//! These checkpoints write bodies and shorten the store's log, and follow the store's own rules. Nothing of a node depends on when
//! they are made: checkpoint and log of a store together hold what is installed, before and after
//! ([`crate::node::store_partition`]). That is durable once the store's log is, which the node's checkpoints see to. So
//! these stores have no timer of a log.
//!
//! A step that panics ends the commits of its store, which fails as a partition, and no thread.

use evergraph_graph::id::PartitionId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::open::{BackgroundStep, OpenStore};
use evergraph_storage::sync::thread::{JoinHandle, spawn};
use evergraph_storage::sync::{Condvar, Mutex, RwLock};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// Between two rounds of merges while no commits come.
const MERGE_PAUSE: Duration = Duration::from_millis(10);

/// So many rounds without commits, and idle segments are merged: two seconds.
const IDLE_ROUNDS: u32 = 200;

/// Between two looks for checkpoints that are due.
const CHECKPOINT_PAUSE: Duration = Duration::from_millis(200);

/// Between two looks for log files that are to be prepared.
const LOG_PAUSE: Duration = Duration::from_millis(5);

/// A store whose background work somebody else does.
pub trait SteppedStore: Send + Sync {
    /// Does a piece of it.
    fn step(&self, step: BackgroundStep);

    /// The newest commit: whether others came since.
    fn published(&self) -> Timestamp;

    /// A step has panicked, which is a defect: whatever is committed from here on fails, and says `cause`.
    fn refuse_commits(&self, cause: String);
}

impl<E: DurableEngine> SteppedStore for OpenStore<E> {
    fn step(&self, step: BackgroundStep) {
        Self::step(self, step);
    }

    fn published(&self) -> Timestamp {
        self.store().timeline().published()
    }

    fn refuse_commits(&self, cause: String) {
        self.store().timeline().latch().poisoned.get_or_insert(cause);
    }
}

/// Threads that step stores. Dropped, it ends them, and waits for the steps that run: for a store's checkpoint, perhaps.
pub struct StoreSteps {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// # Concurrency
///
/// The lock orders what is stepped, and the end, with the sleep of the threads. Steps run outside of it, inside of the lock of their
/// store, which whoever removes the store waits for.
struct Shared {
    state: Mutex<StepsState>,
    news: Condvar,
}

#[derive(Default)]
struct StepsState {
    stores: BTreeMap<PartitionId, Arc<StepsOfStore>>,
    has_ended: bool,
}

struct StepsOfStore {
    /// `None` once it was removed, or a step has panicked.
    store: RwLock<Option<Arc<dyn SteppedStore>>>,
}

/// What one of the threads does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepsKind {
    Merges,
    Checkpoints,
    LogFiles,
}

impl StoreSteps {
    /// Starts the threads `name`-merge, `name`-checkpoint and `name`-log, without stores.
    ///
    /// # Errors
    /// What the system says if it has no thread to give.
    pub fn start(name: &str) -> io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::default(), news: Condvar::new() });
        let mut steps = Self { shared, threads: Vec::new() };
        for (kind, what) in [
            (StepsKind::Merges, "merge"),
            (StepsKind::Checkpoints, "checkpoint"),
            (StepsKind::LogFiles, "log"),
        ] {
            let shared = Arc::clone(&steps.shared);
            steps.threads.push(spawn(&format!("{name}-{what}"), move || shared.run(kind))?);
        }
        Ok(steps)
    }

    /// Steps the store of a partition from here on: from before anything is committed there. One of the same partition that was
    /// added before is removed.
    ///
    /// # Panics
    /// In a thread, if the store has threads of its own.
    pub fn add(&self, partition: PartitionId, store: Arc<dyn SteppedStore>) {
        self.remove(partition);
        let steps = Arc::new(StepsOfStore { store: RwLock::new(Some(store)) });
        self.shared.state.lock().stores.insert(partition, steps);
    }

    /// Steps the store of a partition no longer, and waits for steps of it that run: for its checkpoint, perhaps. So the thread of
    /// the node does not call this. The store may be closed after it.
    pub fn remove(&self, partition: PartitionId) {
        let removed = self.shared.state.lock().stores.remove(&partition);
        if let Some(steps) = removed {
            let store = steps.store.write().take();
            drop(store);
        }
    }
}

impl Drop for StoreSteps {
    fn drop(&mut self) {
        self.shared.state.lock().has_ended = true;
        self.shared.news.notify_all();
        for thread in self.threads.drain(..) {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self, kind: StepsKind) {
        let mut idle_rounds = 0;
        let mut newest = BTreeMap::new();
        while let Some(stores) = self.stores() {
            let (step, mut pause) = match kind {
                StepsKind::Merges if idle_rounds == IDLE_ROUNDS => (BackgroundStep::MergeIdle, MERGE_PAUSE),
                StepsKind::Merges => (BackgroundStep::Merge, MERGE_PAUSE),
                StepsKind::Checkpoints => (BackgroundStep::LookAfter, CHECKPOINT_PAUSE),
                StepsKind::LogFiles => (BackgroundStep::PrepareLog, LOG_PAUSE),
            };
            let mut published = BTreeMap::new();
            for (partition, steps) in stores {
                published.extend(steps.step(step).map(|newest| (partition, newest)));
            }
            if kind == StepsKind::Merges {
                let has_commits = published != newest;
                idle_rounds = if has_commits || idle_rounds == IDLE_ROUNDS { 0 } else { idle_rounds + 1 };
                if has_commits {
                    pause = Duration::ZERO;
                }
                newest = published;
            }
            self.pause(pause);
        }
    }

    /// What is stepped; `None` at the end.
    fn stores(&self) -> Option<Vec<(PartitionId, Arc<StepsOfStore>)>> {
        let state = self.state.lock();
        let stores =
            || state.stores.iter().map(|(partition, steps)| (*partition, Arc::clone(steps))).collect();
        (!state.has_ended).then(stores)
    }

    fn pause(&self, pause: Duration) {
        let state = self.state.lock();
        if !state.has_ended && !pause.is_zero() {
            drop(self.news.wait_timeout(state, pause));
        }
    }
}

impl StepsOfStore {
    /// Does a step. Returns the newest commit before it; `None` if the store is not stepped any more.
    fn step(&self, step: BackgroundStep) -> Option<Timestamp> {
        let guard = self.store.read();
        let store = guard.as_ref()?;
        let published = store.published();
        if catch_unwind(AssertUnwindSafe(|| store.step(step))).is_ok() {
            return Some(published);
        }
        store.refuse_commits(format!(
            "its step {step:?} panicked: start the node again, and please report this"
        ));
        drop(guard);
        let store = self.store.write().take();
        drop(store);
        None
    }
}

impl fmt::Debug for StoreSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.state.lock();
        let partitions: Vec<_> = state.stores.keys().collect();
        f.debug_struct("StoreSteps").field("partitions", &partitions).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
