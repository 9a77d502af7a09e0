//! Planted bugs: defects that a test can enable, to show that tests fail.
//!
//! With the feature `planted`, which tests alone turn on, `with` has one bug for as long as its work runs, on its thread.

/// A defect of translating and applying.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// What a row had is read under the key that it gets, as if keys were written in the order of the stream.
    KeysInStreamOrder,
    /// A value that an update left alone, and that PostgreSQL did not send, is taken for none.
    UnchangedAsAbsent,
    /// The position follows the rows in a commit of its own.
    NoteApart,
    /// A vertex that is deleted takes the rows of its edges along.
    OrphansForgotten,
}

/// Whether this thread has `bug`.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub(super) const fn planted(_bug: Bug) -> bool {
    false
}

#[cfg(feature = "planted")]
pub(super) use of_thread::planted;
#[cfg(feature = "planted")]
pub use of_thread::with;

#[cfg(feature = "planted")]
mod of_thread {
    use super::Bug;
    use std::cell::Cell;

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Whether this thread has `bug`.
    pub(in crate::apply) fn planted(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }

    /// Does `work` with `bug`.
    pub fn with<T>(bug: Bug, work: impl FnOnce() -> T) -> T {
        struct Removed;
        impl Drop for Removed {
            fn drop(&mut self) {
                PLANTED.set(None);
            }
        }
        PLANTED.set(Some(bug));
        let _removed = Removed;
        work()
    }
}
