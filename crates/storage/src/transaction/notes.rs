//! Notes of a transaction: an owner's changes them, and any reads them.

use crate::engine::Engine;
use crate::notes::owning::Authorship;
use crate::transaction::handle::{ITEM_BYTES, Transaction};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::note::{Notes, OWNER_NOTE};
use std::sync::Arc;

impl<E: Engine> Transaction<E> {
    /// What the note `name` says, own changes included. Cost: as that of a snapshot.
    #[must_use]
    pub fn note(&self, name: &str) -> Option<Arc<[u8]>> {
        match self.authorship.notes.get(name) {
            Some(changed) => changed.clone(),
            None => self.session().front().notes.get(name, self.session().timestamp()),
        }
    }

    /// All notes of its snapshot, without own changes. Cost: as that of a snapshot.
    pub(crate) fn notes_at_s(&self) -> Notes {
        self.session().front().notes.at(self.session().timestamp())
    }

    /// Sets a note, in the commit of this transaction. Its bytes count as writes do.
    ///
    /// # Errors
    /// `invalid` if this is no transaction of an owner, for a name that is empty or longer than 255 bytes, and for the
    /// note `owner`; `limit` for more than 16 MiB, a million notes, or 256 MiB of notes.
    pub fn set_note(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.check_note(name)?;
        self.change_note(name, Some(bytes))
    }

    /// Removes a note, in the commit of this transaction; nothing happens if there is none of that name.
    ///
    /// # Errors
    /// `invalid` as [`Transaction::set_note`].
    pub fn remove_note(&mut self, name: &str) -> Result<()> {
        self.check_note(name)?;
        match self.note(name) {
            Some(_) => self.change_note(name, None),
            None => Ok(()),
        }
    }

    fn check_note(&self, name: &str) -> Result<()> {
        if !self.authorship.author.is_owner() {
            let text = "notes are the owner's of a database: only a transaction that it begins changes them";
            return Err(Error::invalid(text));
        }
        if name == OWNER_NOTE {
            let text =
                format!("the note {OWNER_NOTE} is set by owning a database, and removed by giving it up");
            return Err(Error::invalid(text));
        }
        Ok(())
    }

    /// On whose behalf it writes, and its notes; the rest is dropped.
    pub(crate) fn into_authorship(self) -> Authorship {
        self.authorship
    }

    /// Sets or removes any note, the owner's own included.
    pub(crate) fn change_note(&mut self, name: &str, bytes: Option<&[u8]>) -> Result<()> {
        self.check_time()?;
        let front = Arc::clone(self.session().front());
        // Nobody else changes notes: the newest are those of S.
        let at_s = front.notes.newest(name);
        let counted = self.check_bytes((ITEM_BYTES + name.len() + bytes.map_or(0, <[u8]>::len)) as u64)?;
        self.authorship.notes.set(name, bytes, at_s.as_deref(), front.notes.newest_size())?;
        self.written_bytes += counted;
        Ok(())
    }
}
