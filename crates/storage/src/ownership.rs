//! Ownership: the right to write to a store that follows a source, and to keep notes in it.
//!
//! ```text
//! own ──> checkpoint: the manifest names `notes` ──> commit: the note `owner`     again: neither, only held
//! begin, load          the graph and its notes, each time in one commit
//! release ──> commit: all notes go                                      anybody writes again
//! dropped              the store keeps its owner, and nobody writes
//! ```
//!
//! The manifest comes first, so that a version that doesn't know notes refuses the database by name, whatever part of the
//! log survives a power cut.

use crate::bulk::load::{LoadProgress, LoadSummary};
use crate::durable_engine::DurableEngine;
use crate::engine::Engine;
use crate::notes::owning::Hold;
use crate::store::Store;
use crate::transaction::handle::Transaction;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::load::{Load, VertexChange};
use evergraph_graph::note::OWNER_NOTE;
use evergraph_graph::transaction::{Committed, Transaction as _};
use std::sync::Arc;

/// The right of one holder to write to a store. Dropping it lets somebody else hold it, not write.
///
/// Its commits check no keys and have no limit of a million writes, since nobody else writes to the graph; others may
/// create and drop indexes.
pub struct Ownership<E: Engine> {
    store: Store<E>,
    source: Arc<str>,
    hold: Hold,
}

/// What an owner changes with a bulk load, beside what that adds.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnerChanges<'a> {
    /// Notes that are set, by name.
    pub notes: &'a [(&'a str, &'a [u8])],
    /// Properties of vertices that are there, where no index has them.
    pub vertices: &'a [VertexChange],
}

impl<E: Engine> Store<E> {
    /// What the store follows: what its owner called the source. `None` if it has no owner.
    #[must_use]
    pub fn source(&self) -> Option<String> {
        let source = self.front().notes.newest(OWNER_NOTE)?;
        Some(String::from_utf8_lossy(&source).into_owned())
    }

    /// Refuses whoever is not the owner, before work that would be refused at its end.
    ///
    /// # Errors
    /// `invalid` if the store has an owner.
    pub fn check_unowned(&self) -> Result<()> {
        if self.front().owning.is_owned() { Err(self.front().not_owner()) } else { Ok(()) }
    }

    /// Makes the store follow `source`, which refusals name, or holds a store that does already. From here on it
    /// refuses every other write. `make_durable` makes a checkpoint.
    ///
    /// Transactions of others that are open are refused when they commit.
    ///
    /// # Errors
    /// `busy` if it is held already, or a load runs; `invalid` if it follows another source, or for a source that is empty
    /// or longer than 16 MiB, or if commits are not decided here; what `make_durable` says, and a commit.
    pub fn own(&self, source: &str, make_durable: &mut dyn FnMut() -> Result<()>) -> Result<Ownership<E>> {
        if source.is_empty() {
            return Err(Error::invalid(
                "the source that a database follows has a name, and this one is empty",
            ));
        }
        self.front().check_ownable()?;
        let hold = self.front().owning.hold()?;
        let mut ownership = Ownership { store: self.clone(), source: source.into(), hold };
        match self.source() {
            Some(known) if known == source => return Ok(ownership),
            Some(known) => {
                return Err(Error::invalid(format!(
                    "the database follows {known} and cannot follow {source} as well: end the first by \
                     `evergraph replica detach`"
                )));
            }
            None => {}
        }
        self.front().notes.announce(true);
        let owned = make_durable().and_then(|()| {
            let mut transaction = ownership.begin()?;
            transaction.change_note(OWNER_NOTE, Some(source.as_bytes()))?;
            transaction.commit()
        });
        if let Err(error) = owned {
            self.front().notes.announce(false);
            return Err(error.context("make the database follow its source"));
        }
        Ok(ownership)
    }
}

impl<E: Engine> Ownership<E> {
    /// What the store follows.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Begins a transaction at the newest commit, of snapshot isolation and without a timeout. One is open at a time.
    ///
    /// Its commit can be a `conflict` only by a unique index that becomes ready after its begin: it has not looked
    /// whether that index has its values. Run it again then.
    ///
    /// # Errors
    /// `busy` if another one is open.
    pub fn begin(&mut self) -> Result<Transaction<E>> {
        self.check_alone()?;
        Ok(self.store.begin_owned(self.hold.clone()))
    }

    /// Ends it: the store has no owner and no notes any more, and anybody writes again.
    ///
    /// # Errors
    /// `busy` if a transaction of this is open; as a commit: the store keeps its owner then.
    pub fn release(mut self) -> Result<Committed> {
        let mut transaction = self.begin()?;
        let notes = transaction.notes_at_s();
        for (name, _) in notes.iter() {
            transaction.change_note(name, None)?;
        }
        drop(notes);
        let committed = transaction.commit()?;
        // Still held: nobody announces others meanwhile.
        self.store.front().notes.announce(false);
        Ok(committed)
    }

    fn check_alone(&self) -> Result<()> {
        match self.hold.is_alone() {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Busy, "a transaction of the owner is open: end it first")),
        }
    }
}

impl<E: DurableEngine> Ownership<E> {
    /// As [`Store::load_within`], with what else changes with it: all of it is there, or nothing.
    ///
    /// # Errors
    /// As [`Store::load_within`]; `busy` if a transaction of this is open; as [`Transaction::set_note`] for the notes;
    /// `invalid` for a vertex that isn't there or comes twice, a property that has an index or another type, and for any
    /// vertex where the engine takes no changes with a load.
    pub fn load_within(
        &mut self,
        memory_bytes: u64,
        load: &Load,
        changes: OwnerChanges<'_>,
        progress: &mut dyn FnMut(LoadProgress) -> Result<()>,
        make_durable: &mut dyn FnMut() -> Result<()>,
    ) -> Result<LoadSummary> {
        let mut transaction = self.begin()?;
        for (name, bytes) in changes.notes {
            transaction.set_note(name, bytes)?;
        }
        let authorship = transaction.into_authorship();
        self.store.load_as(&authorship, changes.vertices, memory_bytes, load, progress, make_durable)
    }
}
