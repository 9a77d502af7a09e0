//! Slot note: how far the source's slot was, by which a source is found out that was restored to an older state.
//!
//! ```text
//! note "slot"   version 1   timeline (4)   restart (8)
//! ```
//!
//! A server whose files are put back has the same identity and the same timeline as before, and its log may have grown beyond
//! our position before anybody connects. Its slot tells: PostgreSQL saves a slot at once when it moves the position from which the
//! slot needs the log (`restart_lsn`), and the slot was confirmed up to beyond that position then. So neither a crash nor anything
//! else takes the confirmation back to before it: a slot of the same timeline that is confirmed up to less is that of an older
//! state. A promoted standby, whose slot may lie anywhere, has another timeline.
//!
//! Since a reader may see the new position a moment before it is saved, a position counts once it was seen twice. `restart_lsn`
//! itself proves nothing: servers before 14.15, 15.10, 16.6 and 17.2 may take it back when a reader connects again.
//!
//! Source: `LogicalConfirmReceivedLocation` of PostgreSQL.

use evergraph::Snapshot;
use evergraph_graph::bytes::Decoded;
use evergraph_graph::error::{Error, ErrorKind, Result};

use crate::lsn::Lsn;
use crate::note_format::{VERSION, finished, versioned};

/// The note that holds a [`SlotNote`].
pub const SLOT_NOTE: &str = "slot";

/// How far the source's slot was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotNote {
    /// The source's timeline then.
    pub timeline: u32,
    /// From here on the slot needed the log.
    pub restart: Lsn,
}

impl SlotNote {
    /// What the database says; `None` if it never saw the slot twice.
    ///
    /// # Errors
    /// `corrupt` if the note cannot be read.
    pub fn of(snapshot: &Snapshot) -> Result<Option<Self>> {
        let Some(bytes) = snapshot.note(SLOT_NOTE) else { return Ok(None) };
        Self::decode(&bytes)
            .map(Some)
            .map_err(|error| Error::new(ErrorKind::Corrupt, format!("read the note {SLOT_NOTE:?}: {error}")))
    }

    /// Whether a slot that is confirmed up to `confirmed`, on `timeline`, is older than what was seen.
    #[must_use]
    pub fn is_ahead_of(&self, timeline: u32, confirmed: Lsn) -> bool {
        self.timeline == timeline && confirmed < self.restart
    }

    /// The content of the note: 13 bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.timeline.to_le_bytes());
        bytes.extend_from_slice(&self.restart.get().to_le_bytes());
        bytes
    }

    /// Reads the content of the note.
    ///
    /// # Errors
    /// If it is none, or a newer version wrote it.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut reader = versioned(bytes)?;
        let note = Self { timeline: reader.u32()?, restart: Lsn::new(reader.u64()?) };
        finished(&reader)?;
        Ok(note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_comes_back_and_only_a_slot_of_the_same_timeline_is_older() {
        let note = SlotNote { timeline: 2, restart: Lsn::new(0x1_0000_0028) };
        let bytes = note.encode();
        assert_eq!(SlotNote::decode(&bytes), Ok(note));
        assert!((0..bytes.len()).all(|length| SlotNote::decode(&bytes[..length]).is_err()));
        assert!(SlotNote::decode(&[&bytes[..], &[0]].concat()).is_err());
        assert!(note.is_ahead_of(2, Lsn::new(0x1_0000_0027)));
        assert!(!note.is_ahead_of(2, note.restart) && !note.is_ahead_of(3, Lsn::ZERO));
    }
}
