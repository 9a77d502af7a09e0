//! Owning: whether a database has an owner, who holds it, and who may write.
//!
//! ```text
//! author      not owned        owned
//! user        everything       nothing          `invalid`, at the first write
//! index       indexes          indexes
//! owner       to become one    everything       checks no keys: nobody else writes
//! ```
//!
//! The owner is a note, so a database keeps it when nobody holds it. At most one holder, and one transaction of his, is
//! there at a time: a handle counts on it that its snapshot is the newest graph.

use crate::notes::writes::NoteWrites;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::note::OWNER_NOTE;
use std::sync::{Arc, Weak};

/// Shows that its holder, or a transaction of his, is there. Clones share it.
#[derive(Clone, Debug)]
pub struct Hold(Arc<()>);

impl Hold {
    /// Whether no transaction has a clone of it.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

/// On whose behalf a transaction writes.
#[derive(Debug)]
pub enum Author {
    /// Anybody.
    User,
    /// Somebody who creates or drops an index, and writes nothing else.
    Index,
    /// The owner, or who is about to become it.
    Owner(Hold),
}

impl Author {
    /// Whether nobody writes beside it.
    #[must_use]
    #[inline]
    pub fn is_owner(&self) -> bool {
        matches!(self, Self::Owner(_))
    }
}

/// Who makes a commit, and what it says beside the graph.
#[derive(Debug)]
pub struct Authorship {
    /// On whose behalf.
    pub author: Author,
    /// The notes that change with it.
    pub notes: NoteWrites,
}

impl Authorship {
    /// Of `author`, without notes.
    #[must_use]
    #[inline]
    pub fn new(author: Author) -> Self {
        Self { author, notes: NoteWrites::default() }
    }
}

/// Whether a store is owned, and held.
#[derive(Debug, Default)]
pub struct Owning {
    /// Whether there is a note `owner`. Release under the latch, with the commit that sets or removes it; Acquire by
    /// whoever writes: under the latch the answer is final, ahead of it a commit may still be refused.
    is_owned: AtomicBool,
    holder: Mutex<Weak<()>>,
}

impl Owning {
    /// Of a store that was recovered.
    #[must_use]
    pub fn new(is_owned: bool) -> Self {
        Self { is_owned: AtomicBool::new(is_owned), holder: Mutex::default() }
    }

    /// Whether there is an owner.
    #[must_use]
    #[inline]
    pub fn is_owned(&self) -> bool {
        self.is_owned.load(Ordering::Acquire)
    }

    /// A commit that sets or removes the note `owner`, if it is among `notes`. Under the latch.
    pub fn install(&self, notes: &NoteWrites) {
        if let Some(source) = notes.get(OWNER_NOTE) {
            self.is_owned.store(source.is_some(), Ordering::Release);
        }
    }

    /// Whether a commit may be made as far as the owner is concerned. Under the latch.
    #[must_use]
    #[inline]
    pub fn admits(&self, authorship: &Authorship) -> bool {
        match (&authorship.author, self.is_owned()) {
            (Author::User, is_owned) => !is_owned,
            (Author::Index, _) | (Author::Owner(_), true) => true,
            (Author::Owner(_), false) => matches!(authorship.notes.get(OWNER_NOTE), Some(Some(_))),
        }
    }

    /// Takes hold of the store, owned or not.
    ///
    /// # Errors
    /// `busy` if somebody has it, or a transaction of his is open.
    pub fn hold(&self) -> Result<Hold> {
        let mut holder = self.holder.lock();
        if holder.strong_count() > 0 {
            let text = "the database is held by its owner in this process already: end that first";
            return Err(Error::new(ErrorKind::Busy, text));
        }
        let hold = Arc::new(());
        *holder = Arc::downgrade(&hold);
        Ok(Hold(hold))
    }
}

/// The error of a commit that [`Owning::admits`] refuses, in a store that follows `source`, if it follows one.
#[must_use]
pub fn refusal(source: Option<&[u8]>) -> Error {
    match source {
        Some(source) => Error::invalid(format!(
            "the database follows {}, and only what follows it may change the graph: change it there, or end that for good \
             by `evergraph replica detach`; reading, and creating and dropping indexes, go on",
            String::from_utf8_lossy(source)
        )),
        None => Error::invalid("the database is no longer owned: its owner gave it up meanwhile"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_his_transactions_count() {
        let owning = Owning::default();
        let hold = owning.hold().unwrap();
        assert!(hold.is_alone());
        let transaction = hold.clone();
        assert!(!hold.is_alone());
        drop(hold);
        assert_eq!(owning.hold().unwrap_err().kind(), ErrorKind::Busy);
        drop(transaction);
        assert!(owning.hold().is_ok());
    }

    #[test]
    fn an_owned_store_admits_its_owner_and_indexes_and_any_other_users() {
        let owning = Owning::default();
        let of = |author| Authorship::new(author);
        let owner = || Author::Owner(Hold(Arc::new(())));
        let admitted =
            |owning: &Owning| [Author::User, Author::Index, owner()].map(|author| owning.admits(&of(author)));
        assert_eq!(admitted(&owning), [true, true, false]);
        let mut becoming = of(owner());
        becoming.notes.set(OWNER_NOTE, Some(b"a source"), None, (0, 0)).unwrap();
        assert!(owning.admits(&becoming));
        owning.install(&becoming.notes);
        assert_eq!(admitted(&owning), [false, true, true]);
        becoming.notes.set(OWNER_NOTE, None, Some(b"a source"), (0, 0)).unwrap();
        owning.install(&becoming.notes);
        assert_eq!(admitted(&owning), [true, true, false]);
    }
}
