//! `KnownMarks`: the marks of the source's catalogue when somebody looked last, and whether the database's note has them.
//!
//! # Concurrency
//! Clones share what they know. A lock guards it; it is held for moments. The follower and the watcher look; the follower alone
//! writes the note.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::source::catalogue_marks::CatalogueMarks;

/// What the last look saw.
#[derive(Clone, Debug, Default)]
pub struct KnownMarks(Arc<Mutex<LastLook>>);

#[derive(Debug, Default)]
struct LastLook {
    /// How many looks have begun.
    begun: u64,
    /// The look that saw the marks.
    look: u64,
    /// `None` if nobody looked yet.
    marks: Option<CatalogueMarks>,
    is_noted: bool,
}

/// A look at a source's catalogue that has begun, by its number.
#[derive(Debug)]
#[must_use]
pub struct Look(u64);

impl KnownMarks {
    /// Those that the note of the database has; `None` if it has none.
    #[must_use]
    pub fn of_note(marks: Option<CatalogueMarks>) -> Self {
        Self(Arc::new(Mutex::new(LastLook { marks, is_noted: true, ..LastLook::default() })))
    }

    /// Those of the last look.
    #[must_use]
    pub fn last(&self) -> Option<CatalogueMarks> {
        self.lock().marks.clone()
    }

    /// Somebody is about to read the catalogue.
    pub fn begin_look(&self) -> Look {
        let mut last = self.lock();
        last.begun += 1;
        Look(last.begun)
    }

    /// `look` saw `marks`, and nothing of them is a reason to pause. One that the other thread has begun later may have seen more.
    pub fn see(&self, look: Look, marks: CatalogueMarks) {
        let mut last = self.lock();
        if last.look < look.0 {
            last.is_noted &= last.marks.as_ref() == Some(&marks);
            (last.look, last.marks) = (look.0, Some(marks));
        }
    }

    /// Those that belong into the note and are not there.
    #[must_use]
    pub fn unnoted(&self) -> Option<CatalogueMarks> {
        let last = self.lock();
        if last.is_noted { None } else { last.marks.clone() }
    }

    /// The note has `marks` now.
    pub fn noted(&self, marks: &CatalogueMarks) {
        let mut last = self.lock();
        last.is_noted = last.marks.as_ref() == Some(marks);
    }

    fn lock(&self) -> MutexGuard<'_, LastLook> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::catalogue_marks::TableMarks;

    #[test]
    fn marks_are_noted_when_they_change_and_an_older_look_does_not_replace_a_newer_one() {
        let marks = |attached_by| CatalogueMarks {
            tables: [(1, TableMarks { attached_by: Some(attached_by), ..TableMarks::default() })].into(),
            ..CatalogueMarks::default()
        };
        let known = KnownMarks::of_note(None);
        assert_eq!((known.last(), known.unnoted()), (None, None));
        known.see(known.begin_look(), marks(1));
        assert_eq!(known.unnoted(), Some(marks(1)));
        known.noted(&marks(1));
        known.clone().see(known.begin_look(), marks(1));
        assert_eq!((known.last(), known.unnoted()), (Some(marks(1)), None));
        let older = known.begin_look();
        known.see(known.begin_look(), marks(2));
        known.noted(&marks(1));
        assert_eq!(known.unnoted(), Some(marks(2)), "the note that was written is an older one");
        known.noted(&marks(2));
        known.see(older, marks(1));
        assert_eq!((known.last(), known.unnoted()), (Some(marks(2)), None));
    }
}
