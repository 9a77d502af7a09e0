//! Merge turn: what a merge of a segment does while another one of the same segment is under way.

use evergraph_storage::sync::{Mutex, MutexGuard};

/// What a merge does while another one of its segment is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeTurn {
    /// Nothing.
    OnlyIfFree,
    /// It waits: what became readable since the other one began is merged, too.
    Awaited,
}

impl MergeTurn {
    /// The lock of the one merge of a segment at a time; `None` if another one has it and this one does not wait.
    pub fn take(self, merging: &Mutex<()>) -> Option<MutexGuard<'_, ()>> {
        match self {
            Self::OnlyIfFree => merging.try_lock(),
            Self::Awaited => Some(merging.lock()),
        }
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;

    #[test]
    fn a_merge_that_does_not_wait_gets_no_turn_beside_another_one() {
        let merging = Mutex::new(());
        let first = MergeTurn::Awaited.take(&merging);
        assert!(first.is_some() && MergeTurn::OnlyIfFree.take(&merging).is_none());
        drop(first);
        assert!(MergeTurn::OnlyIfFree.take(&merging).is_some());
        assert!(MergeTurn::Awaited.take(&merging).is_some());
    }
}
