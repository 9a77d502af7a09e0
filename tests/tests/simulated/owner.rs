//! Owner: a store of a simulation that follows a source, whose commits each have a note that says which they are.
//!
//! ```text
//! Own       the note `owner`; from here on slot 0 is the owner's, and other slots are refused
//!           again: somebody else's write is refused, with the source in the text
//! Release   no owner and no notes: all slots are anybody's again
//! ```
//!
//! A model of the notes lies beside that of the graph: a state has both, and a power cut finds both of one commit.

use crate::front::model::ModelTransaction;
use crate::simulated::client::Open;
use crate::simulated::run::{Outcome, Run};
use evergraph_engines::engine::AnyEngine;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::note::{NoteChange, Notes, OWNER_NOTE};
use evergraph_graph::transaction::{Isolation, Transaction as _};
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine as _;
use evergraph_storage::log::options::Durability;
use evergraph_storage::transaction::handle::Transaction;
use std::sync::Arc;

/// What an owned store follows.
const SOURCE: &str = "a simulated source";
/// The note that every commit of the owner has.
const POSITION: &str = "position";
/// Notes that come and go beside it; one is longer than a page of the log.
const OTHERS: u64 = 5;

/// The notes that the owner's next commit changes: which one it is by count, and another.
fn changes(commits: u64) -> Vec<NoteChange> {
    let position = NoteChange { name: POSITION.into(), bytes: Some(commits.to_le_bytes()[..].into()) };
    let number = commits.wrapping_mul(7) % OTHERS;
    let bytes =
        (!commits.is_multiple_of(3)).then(|| vec![commits as u8; if number == 0 { 5000 } else { 20 }]);
    let other = NoteChange { name: format!("row {number}").into(), bytes: bytes.map(Into::into) };
    vec![position, other]
}

impl Run {
    /// Whether the store follows a source.
    pub fn is_owned(&self) -> bool {
        self.store().source().is_some()
    }

    /// The slot that a step means: the owner has one.
    pub fn slot_of(&self, slot: usize) -> usize {
        let is_owners = self.ownership.is_some() && self.slots[slot].is_none();
        if is_owners { 0 } else { slot }
    }

    /// Holds a store that was opened and follows a source, and looks at its manifest: a version that knows no notes
    /// must refuse it, unless a disk that broke its promises lost that manifest.
    pub fn hold(&mut self, may_lack_notes: bool) -> Outcome {
        if !self.is_owned() {
            return Ok(());
        }
        let store = Arc::clone(self.store.as_ref().expect("open"));
        let held = store.own(SOURCE).map_err(|error| format!("hold an owned store: {error}"))?;
        self.ownership = Some(held);
        if self.settings.fault.is_none() && !may_lack_notes {
            let manifest =
                Manifest::read(&self.directory, AnyEngine::opens).map_err(|error| error.to_string())?;
            if manifest.notes.is_none() {
                return Err("a store has an owner, and its manifest does not name notes".to_owned());
            }
        }
        Ok(())
    }

    /// The owner's transaction.
    pub fn begin_owned(&mut self) -> Result<Open, String> {
        let ownership = self.ownership.as_mut().expect("an owned store is held");
        let transaction = ownership.begin().map_err(|error| format!("begin: {error}"))?;
        let model = ModelTransaction::begin(&self.head.graph);
        Ok(Open { transaction, model, deadline: None, is_owners: true })
    }

    /// Sets the notes of the owner's next commit; all notes after it.
    pub fn set_notes(&self, transaction: &mut Transaction<AnyEngine>) -> Result<Notes, String> {
        let mut notes = self.head.notes.clone();
        for change in changes(self.history.commits) {
            let set = match &change.bytes {
                Some(bytes) => transaction.set_note(&change.name, bytes),
                None => transaction.remove_note(&change.name),
            };
            set.map_err(|error| format!("note {}: {error}", change.name))?;
            if transaction.note(&change.name) != change.bytes {
                return Err(format!("a transaction does not see its note {}", change.name));
            }
            notes.apply(&change);
        }
        Ok(notes)
    }

    /// Those of a load: only what is set.
    pub fn notes_of_load(&self) -> (Vec<NoteChange>, Notes) {
        let mut notes = self.head.notes.clone();
        let set: Vec<_> =
            changes(self.history.commits).into_iter().filter(|change| change.bytes.is_some()).collect();
        set.iter().for_each(|change| drop(notes.apply(change)));
        (set, notes)
    }

    /// Rolls the owner's transaction back, if one is open.
    pub fn end_owned(&mut self) {
        for slot in &mut self.slots {
            slot.take_if(|open| open.is_owners);
        }
    }

    pub fn own(&mut self) -> Outcome {
        if self.ownership.is_some() {
            return self.write_of_nobody();
        }
        let (before, healthy) = (self.published(), self.is_healthy());
        let store = Arc::clone(self.store.as_ref().expect("open"));
        let done = store.own(SOURCE);
        let newest = self.published();
        if newest > before {
            let mut notes = self.head.notes.clone();
            notes.apply(&NoteChange { name: OWNER_NOTE.into(), bytes: Some(SOURCE.as_bytes().into()) });
            self.note(self.head.graph.clone(), notes, newest);
        }
        match done {
            Ok(ownership) => {
                self.ownership = Some(ownership);
                // One whose log failed holds what it may not have on disk.
                if healthy { self.acknowledged(newest) } else { Ok(()) }
            }
            Err(error) if healthy => self.check_clear(&error),
            Err(_) => Ok(()),
        }
    }

    pub fn release(&mut self) -> Outcome {
        self.end_owned();
        let Some(ownership) = self.ownership.take() else { return Ok(()) };
        let (before, healthy) = (self.published(), self.is_healthy());
        let done = ownership.release();
        let newest = self.published();
        if newest > before {
            self.note(self.head.graph.clone(), Notes::default(), newest);
        }
        match done {
            Ok(_) => self.acknowledged(newest),
            Err(error) => {
                self.hold(true)?;
                if healthy { self.check_clear(&error) } else { Ok(()) }
            }
        }
    }

    fn acknowledged(&mut self, newest: u64) -> Outcome {
        if self.settings.durability == Durability::Sync {
            self.require(newest);
        }
        self.history.commits += 1;
        Ok(())
    }

    /// Somebody else's first write is refused.
    fn write_of_nobody(&mut self) -> Outcome {
        let mut transaction = self.store().begin_with(Isolation::Snapshot);
        let written = transaction.label("of nobody").map(drop);
        match written.or_else(|_| transaction.declare_simple_type("of nobody").map(drop)) {
            Err(error) => self.check_not_owner(&error),
            Ok(()) => Err("a store that follows a source takes another one's write".to_owned()),
        }
    }

    /// An error that tells who may write.
    pub fn check_not_owner(&self, error: &Error) -> Outcome {
        match error.kind() {
            ErrorKind::Invalid if error.to_string().contains(SOURCE) => Ok(()),
            kind => Err(format!("somebody who is not the owner is refused as {kind:?}: {error}")),
        }
    }
}
