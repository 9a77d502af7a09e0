//! Planted bugs: defects that a test can enable, to show that tests fail.
//!
//! With the feature `planted`, which tests alone turn on, `with` has one bug for as long as its work runs: on its thread, and on the
//! thread of each replica that it starts. Bugs that need a process of their own are in `evergraph_storage::planted`.

/// A defect of translating and applying, and of work ahead of a commit.
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
    /// What was made early of rows stays, though their savepoint is rolled back.
    EarlyRollbackIgnored,
    /// A row that an open transaction deletes stays in the load that has its rows.
    EarlyDeleteIgnored,
    /// A row that a load inserts and changes later is loaded as it was inserted.
    EarlyChangeForgotten,
}

/// Whether this thread has `bug`.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub(crate) const fn planted(_bug: Bug) -> bool {
    false
}

/// `work` for a thread that this one starts, with the same bug.
#[cfg(not(feature = "planted"))]
pub(crate) fn inherited<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    work
}

#[cfg(feature = "planted")]
pub use of_thread::with;
#[cfg(feature = "planted")]
pub(crate) use of_thread::{inherited, planted};

#[cfg(feature = "planted")]
mod of_thread {
    use super::Bug;
    use std::cell::Cell;

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Whether this thread has `bug`.
    pub(crate) fn planted(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }

    /// `work` for a thread that this one starts, with the same bug.
    pub(crate) fn inherited<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
        let planted = PLANTED.get();
        move || {
            PLANTED.set(planted);
            work()
        }
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
