//! Charged answers: what a snapshot keeps of answers, counted in the memory budget as a cache.
//!
//! ```text
//! lock ── changed ──> more than is counted? ── yes ──> grow ── no room ──> everything kept is dropped, and asked for again
//! a reservation elsewhere ──> shrink ───────────────────────────────────> the same
//! ```

use crate::remote::kept_answers::KeptAnswers;
use evergraph_storage::memory_budget::{ElasticReservation, MemoryBudget, Shrink};
use evergraph_storage::sync::{Mutex, MutexGuard};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock, Weak};

/// What kept answers are called in a budget.
pub const KEPT_ANSWERS_PURPOSE: &str = "answers of other nodes";

/// Bytes that are not worth a reservation: most transactions read little.
const UNCOUNTED_BYTES: u64 = 64 << 10;

/// What is taken of the budget at once, if there is room.
const STEP_BYTES: u64 = 1 << 20;

/// Kept answers of one snapshot.
///
/// # Concurrency
/// One lock; the budget is locked inside, a leaf. Whoever shrinks takes nothing from a reader who has the lock.
#[derive(Debug)]
pub struct ChargedAnswers {
    kept: Mutex<KeptAnswers>,
    /// None: nothing is counted.
    budget: Option<MemoryBudget>,
    reservation: OnceLock<ElasticReservation>,
    own: Weak<Self>,
}

/// Kept answers, locked. Dropped, it counts what has changed.
pub struct ChargedGuard<'a> {
    kept: MutexGuard<'a, KeptAnswers>,
    charged: &'a ChargedAnswers,
    has_changed: bool,
}

impl ChargedAnswers {
    /// Nothing yet, and never more than about `bytes_max` bytes, counted in `budget`.
    #[must_use]
    pub fn new(bytes_max: usize, budget: Option<MemoryBudget>) -> Arc<Self> {
        Arc::new_cyclic(|own| {
            let (kept, reservation) = (Mutex::new(KeptAnswers::new(bytes_max)), OnceLock::new());
            Self { kept, budget, reservation, own: own.clone() }
        })
    }

    /// Locks them.
    pub fn lock(&self) -> ChargedGuard<'_> {
        ChargedGuard { kept: self.kept.lock(), charged: self, has_changed: false }
    }

    fn charge(&self, kept: &mut KeptAnswers) {
        let Some(budget) = &self.budget else { return };
        let used = (kept.bytes() as u64).saturating_sub(UNCOUNTED_BYTES);
        if used == 0 {
            return;
        }
        let new = || budget.elastic(KEPT_ANSWERS_PURPOSE, self.own.clone() as Weak<dyn Shrink>);
        let reservation = self.reservation.get_or_init(new);
        let missing = used.saturating_sub(reservation.bytes());
        if missing > 0 && !reservation.grow(missing.max(STEP_BYTES)) && !reservation.grow(missing) {
            self.drop_all(kept);
        }
    }

    fn drop_all(&self, kept: &mut KeptAnswers) {
        kept.clear();
        if let Some(reservation) = self.reservation.get() {
            reservation.release(reservation.bytes());
        }
    }
}

impl Shrink for ChargedAnswers {
    fn shrink(&self, _bytes: u64) {
        // A reader is at them: other caches give way.
        if let Some(mut kept) = self.kept.try_lock() {
            self.drop_all(&mut kept);
        }
    }
}

impl Deref for ChargedGuard<'_> {
    type Target = KeptAnswers;

    fn deref(&self) -> &KeptAnswers {
        &self.kept
    }
}

impl DerefMut for ChargedGuard<'_> {
    fn deref_mut(&mut self) -> &mut KeptAnswers {
        self.has_changed = true;
        &mut self.kept
    }
}

impl Drop for ChargedGuard<'_> {
    fn drop(&mut self) {
        if self.has_changed {
            self.charged.charge(&mut self.kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::budget::Budget as _;
    use evergraph_graph::id::{LabelId, VertexId};

    /// Far more entries than are worth no reservation.
    const ENTRIES: u32 = 20_000;

    fn filled(budget: &MemoryBudget) -> Arc<ChargedAnswers> {
        let answers = ChargedAnswers::new(64 << 20, Some(budget.clone()));
        let mut kept = answers.lock();
        (0..ENTRIES).for_each(|number| kept.labels.put(VertexId(number), Some(LabelId(1)), 0));
        drop(kept);
        answers
    }

    fn has_last(answers: &ChargedAnswers) -> bool {
        answers.lock().labels.has(&VertexId(ENTRIES - 1))
    }

    #[test]
    fn what_is_kept_is_counted_until_the_snapshot_ends() {
        let budget = MemoryBudget::new(u64::MAX);
        let answers = ChargedAnswers::new(64 << 20, Some(budget.clone()));
        answers.lock().labels.put(VertexId(1), Some(LabelId(1)), 0);
        assert_eq!(budget.used_bytes(), 0, "a little is not counted");
        drop(answers);
        let answers = filled(&budget);
        let bytes = answers.lock().bytes() as u64;
        assert!(bytes > 1 << 20 && budget.used_bytes() + UNCOUNTED_BYTES >= bytes, "it is not counted");
        assert!(has_last(&answers));
        drop(answers);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn it_gives_way_to_whoever_reserves_and_keeps_nothing_without_room() {
        let budget = MemoryBudget::new(4 << 20);
        let answers = filled(&budget);
        assert!(has_last(&answers) && budget.used_bytes() > 0);
        let graph = budget.reserve("graph", 4 << 20).expect("answers give way");
        assert!(!has_last(&answers) && answers.lock().bytes() == 0);
        assert!(!has_last(&filled(&budget)), "there is no room");
        drop(graph);
        assert!(has_last(&filled(&budget)));
        let reading = answers.lock();
        assert!(budget.reserve("graph", 4 << 20).is_ok(), "it has nothing to give");
        drop(reading);
    }
}
