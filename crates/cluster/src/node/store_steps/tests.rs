//! Store steps, on stores that tell what is done with them.

use super::*;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

const LONG: Duration = Duration::from_secs(60);

/// Tells of each step, and holds up checkpoints until it is told to go on.
struct ToldStore {
    published: AtomicU64,
    steps: Mutex<Sender<BackgroundStep>>,
    goes_on: Option<Mutex<Receiver<()>>>,
    panics_at: Option<BackgroundStep>,
    refused: Mutex<Option<String>>,
}

impl ToldStore {
    fn new(
        goes_on: Option<Receiver<()>>,
        panics_at: Option<BackgroundStep>,
    ) -> (Arc<Self>, Receiver<BackgroundStep>) {
        let (steps, told) = channel();
        let (published, steps) = (AtomicU64::new(0), Mutex::new(steps));
        let (goes_on, refused) = (goes_on.map(Mutex::new), Mutex::default());
        (Arc::new(Self { published, steps, goes_on, panics_at, refused }), told)
    }
}

impl SteppedStore for ToldStore {
    fn step(&self, step: BackgroundStep) {
        // Whoever listened may have gone.
        let _ = self.steps.lock().send(step);
        assert!(self.panics_at != Some(step), "on purpose");
        if let Some(goes_on) = self.goes_on.as_ref().filter(|_| step == BackgroundStep::LookAfter) {
            goes_on.lock().recv_timeout(LONG).unwrap();
        }
    }

    fn published(&self) -> Timestamp {
        Timestamp(self.published.load(Ordering::Relaxed))
    }

    fn refuse_commits(&self, cause: String) {
        *self.refused.lock() = Some(cause);
    }
}

/// Waits for this step.
fn wait_for(steps: &Receiver<BackgroundStep>, step: BackgroundStep) {
    while steps.recv_timeout(LONG).unwrap() != step {}
}

#[test]
fn a_store_is_merged_and_its_log_prepared_while_its_checkpoint_runs() {
    let steps = StoreSteps::start("test").unwrap();
    let (go_on, goes_on) = channel();
    let (store, told) = ToldStore::new(Some(goes_on), None);
    steps.add(PartitionId(0), store);
    wait_for(&told, BackgroundStep::LookAfter);
    for _ in 0..3 {
        wait_for(&told, BackgroundStep::Merge);
        wait_for(&told, BackgroundStep::PrepareLog);
    }
    // Whoever removes it waits for the checkpoint.
    let (removed, is_removed) = channel();
    let steps = Arc::new(steps);
    let of_thread = Arc::clone(&steps);
    let remover = spawn("remover", move || {
        of_thread.remove(PartitionId(0));
        removed.send(()).unwrap();
    });
    assert!(is_removed.recv_timeout(Duration::from_millis(30)).is_err(), "its checkpoint runs");
    go_on.send(()).unwrap();
    is_removed.recv_timeout(LONG).unwrap();
    remover.unwrap().join().unwrap();
    // The store is dropped with its last step.
    while told.recv_timeout(LONG).is_ok() {}
}

#[test]
fn idle_segments_are_merged_after_a_while_without_commits() {
    let steps = StoreSteps::start("test").unwrap();
    let (store, told) = ToldStore::new(None, None);
    steps.add(PartitionId(7), store.clone());
    wait_for(&told, BackgroundStep::MergeIdle);
    store.published.store(9, Ordering::Relaxed);
    wait_for(&told, BackgroundStep::Merge);
}

#[test]
fn a_step_that_panics_ends_the_commits_of_its_store_alone() {
    let steps = StoreSteps::start("test").unwrap();
    let (broken, told) = ToldStore::new(None, Some(BackgroundStep::LookAfter));
    let (sound, told_by_sound) = ToldStore::new(None, None);
    steps.add(PartitionId(0), broken.clone());
    steps.add(PartitionId(1), sound.clone());
    wait_for(&told, BackgroundStep::LookAfter);
    for _ in 0..2 {
        wait_for(&told_by_sound, BackgroundStep::LookAfter);
    }
    drop(steps);
    let refused = broken.refused.lock().take().unwrap();
    assert!(refused.contains("LookAfter"), "{refused}");
    assert!(sound.refused.lock().is_none());
    let looks = told.try_iter().filter(|step| *step == BackgroundStep::LookAfter).count();
    assert_eq!(looks, 0, "it is not stepped any more");
}
