//! Source objects: drops what a replica made at its source, a slot and perhaps a publication, unless others may need them.

use std::thread;
use std::time::{Duration, Instant};

use crate::source::error::{SourceError, SourceResult};
use crate::source::replica_source::ReplicaSource;

/// How long a slot may be in use by a reader that is gone.
const SLOT_FREE_TIME_MAX: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What became of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SlotOutcome {
    /// It is gone by this.
    Dropped,
    /// There was none.
    NotThere,
}

/// What became of a publication that a replica made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PublicationOutcome {
    /// It is gone.
    Dropped,
    /// It stays: these slots of its database decode changes, and their readers may need it.
    Needed(Vec<String>),
}

/// Drops the slot `name`, if it is there. Waits up to 10 s for a reader that is gone, of which the server has not
/// noticed that.
///
/// # Errors
/// The source's; 55006 if a reader has the slot.
pub fn drop_slot(source: &mut dyn ReplicaSource, name: &str) -> SourceResult<SlotOutcome> {
    let began = Instant::now();
    loop {
        match source.drop_slot(name) {
            Err(error) if error.sqlstate() == Some("55006") && began.elapsed() < SLOT_FREE_TIME_MAX => {
                thread::sleep(POLL_INTERVAL);
            }
            Err(error) if is_not_there(&error) => return Ok(SlotOutcome::NotThere),
            dropped => return dropped.map(|()| SlotOutcome::Dropped),
        }
    }
}

/// Drops the publication `name` that a replica made whose slot is gone already, unless another slot of the database decodes: its
/// reader may follow by the same publication, and could not go on.
///
/// # Errors
/// The source's.
pub fn drop_publication(source: &mut dyn ReplicaSource, name: &str) -> SourceResult<PublicationOutcome> {
    let others = source.slots_of_database()?;
    if !others.is_empty() {
        return Ok(PublicationOutcome::Needed(others));
    }
    match source.drop_publication(name) {
        Err(error) if !is_not_there(&error) => Err(error),
        _ => Ok(PublicationOutcome::Dropped),
    }
}

fn is_not_there(error: &SourceError) -> bool {
    error.sqlstate() == Some("42704")
}
