//! Newcomers: who entered a unique index while it is built, for the build to look at.
//!
//! Nobody checks what these commits enter. The build takes them out, with a snapshot that shows their commits, and looks for
//! others with the same values. Those of the last moment it looks at under the commit latch, by their entries alone.

use crate::index::removals::EntryKey;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Condvar, Mutex};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::timestamp::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// Newcomers that a build may have to look at: some 200 MiB of them. More are forgotten, and it fails.
const LISTED_MAX: usize = 4 << 20;
/// Newcomers that a build looks at under the latch.
const LATE_MAX: usize = 256;

/// Newcomers that a build has taken out.
pub type NewcomerList<I> = Vec<(EntryKey, I)>;

/// The newcomers of one index.
///
/// Concurrency: any thread calls anything.
#[derive(Debug)]
pub struct Newcomers<I> {
    /// If the index is unique and not ready.
    listed: Mutex<Option<Listed<I>>>,
    /// Whether commits that enter something wait a little, so that the build can end. Changes with the list locked;
    /// relaxed, since a commit that misses it is one more newcomer.
    is_held: AtomicBool,
    released: Condvar,
}

/// Who entered which value since the build began, oldest first.
#[derive(Debug)]
struct Listed<I> {
    list: VecDeque<(Timestamp, EntryKey, I)>,
    forgotten: bool,
}

impl<I> Newcomers<I> {
    /// None so far. Only a unique index lists them.
    #[must_use]
    pub fn of(definition: IndexDefinition) -> Self {
        let listed = definition.unique.then(|| Listed { list: VecDeque::new(), forgotten: false });
        Self { listed: Mutex::new(listed), is_held: AtomicBool::new(false), released: Condvar::new() }
    }

    /// `item` entered by commit `at`. Under the latch, in the order of commits.
    pub fn push(&self, at: Timestamp, key: &EntryKey, item: I) {
        let mut listed = self.listed.lock();
        let Some(listed) = listed.as_mut() else { return };
        if listed.list.len() < LISTED_MAX {
            listed.list.push_back((at, key.clone(), item));
        } else {
            listed.forgotten = true;
        }
    }

    /// Takes out who entered by commits through `through`.
    ///
    /// `None` if there were so many that some were forgotten.
    #[must_use]
    pub fn through(&self, through: Timestamp) -> Option<NewcomerList<I>> {
        let mut listed = self.listed.lock();
        let Some(listed) = listed.as_mut() else { return Some(Vec::new()) };
        if listed.forgotten {
            return None;
        }
        let count = listed.list.partition_point(|(at, ..)| at.visible_at(through));
        Some(listed.list.drain(..count).map(|(_, key, item)| (key, item)).collect())
    }

    /// Whether those who were not taken out are few enough to look at under the latch, none was forgotten, and
    /// `is_sound` says yes to each.
    #[must_use]
    pub fn are_few_and_all(&self, mut is_sound: impl FnMut(&EntryKey, I) -> bool) -> bool
    where
        I: Copy,
    {
        let listed = self.listed.lock();
        let Some(listed) = listed.as_ref() else { return true };
        !listed.forgotten
            && listed.list.len() <= LATE_MAX
            && listed.list.iter().all(|(_, key, item)| is_sound(key, *item))
    }

    /// Holds commits that enter something back, as long as the answer lives: so that a build beside many writers, which must
    /// find a moment without newcomers, finds one.
    pub fn hold(&self) -> HeldNewcomers<'_, I> {
        let _listed = self.listed.lock();
        self.is_held.store(true, Ordering::Relaxed);
        HeldNewcomers(self)
    }

    /// Waits while newcomers are held back, for at most `patience`. Before the latch, by a commit that enters something.
    #[inline]
    pub fn wait_while_held(&self, patience: Duration) {
        if self.is_held.load(Ordering::Relaxed) {
            let listed = self.listed.lock();
            if self.is_held.load(Ordering::Relaxed) {
                // Once: who was woken for nothing is one more newcomer.
                drop(self.released.wait_timeout(listed, patience));
            }
        }
    }

    /// Frees what is left of the list, and lists nobody any more. After the index was made ready, and after the latch.
    pub fn forget(&self) {
        let listed = self.listed.lock().take();
        drop(listed);
    }
}

/// Commits that enter something into an index wait until this is dropped.
#[derive(Debug)]
pub struct HeldNewcomers<'a, I>(&'a Newcomers<I>);

impl<I> Drop for HeldNewcomers<'_, I> {
    fn drop(&mut self) {
        let _listed = self.0.listed.lock();
        self.0.is_held.store(false, Ordering::Relaxed);
        self.0.released.notify_all();
    }
}
