//! Notes: named bytes that whoever owns a database keeps in it, beside the graph.
//!
//! ```text
//! "owner"       postgres://example/shop, slot evergraph      who alone may write: `OWNER_NOTE`
//! "position"    system, timeline, end_lsn ...                what its owner wants to find again
//! ```
//!
//! A note changes in the commit that it belongs to, or in one without anything else. It is no part of the graph: no
//! query finds it, nothing is counted. What its bytes mean is the owner's affair.

use crate::shared_map::SharedMap;
use std::sync::Arc;

/// The note that says who owns a database: text that names the source which it follows.
pub const OWNER_NOTE: &str = "owner";
/// Bytes of a note's name, at most.
pub const NOTE_NAME_BYTES_MAX: usize = 255;
/// Bytes of a note, at most.
pub const NOTE_BYTES_MAX: usize = 16 << 20;
/// Notes of a database, at most.
pub const NOTES_MAX: usize = 1_000_000;
/// Bytes of the names and contents of all notes of a database, at most: a manifest is written whole.
pub const NOTES_BYTES_MAX: usize = 256 << 20;

/// One note that is set or removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoteChange {
    /// Its name: 1 to [`NOTE_NAME_BYTES_MAX`] bytes.
    pub name: Arc<str>,
    /// What it says from now on, at most [`NOTE_BYTES_MAX`]; `None` if it goes.
    pub bytes: Option<Arc<[u8]>>,
}

/// All notes of one moment.
///
/// Clones share what they have in common. Memory: about 100 bytes a note beside its name and content. A change costs a
/// binary search; one of a clone costs about the square root of the number of notes, see [`SharedMap`].
#[derive(Clone, Default, Debug)]
pub struct Notes {
    notes: SharedMap<Arc<str>, Arc<[u8]>>,
    bytes: usize,
}

impl PartialEq for Notes {
    fn eq(&self, other: &Self) -> bool {
        self.notes == other.notes
    }
}

impl Notes {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.notes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    /// Bytes of all names and contents.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the note called `name` says, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<[u8]>> {
        self.notes.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<[u8]>)> {
        self.notes.iter()
    }

    /// Makes a change; what the note said before.
    pub fn apply(&mut self, change: &NoteChange) -> Option<Arc<[u8]>> {
        let NoteChange { name, bytes } = change;
        let before = match bytes {
            Some(bytes) => self.notes.insert(Arc::clone(name), Arc::clone(bytes)),
            None => self.notes.remove::<str>(name),
        };
        let size = |bytes: &Option<Arc<[u8]>>| bytes.as_ref().map_or(0, |bytes| name.len() + bytes.len());
        self.bytes = self.bytes + size(bytes) - size(&before);
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_set_replaced_and_removed_and_its_bytes_are_counted() {
        let mut notes = Notes::default();
        let change =
            |name: &str, bytes: Option<&[u8]>| NoteChange { name: name.into(), bytes: bytes.map(Into::into) };
        assert_eq!(notes.apply(&change("position", Some(b"12"))), None);
        assert_eq!(notes.apply(&change("a", Some(b""))), None);
        assert_eq!((notes.len(), notes.bytes()), (2, 8 + 2 + 1));
        let before = notes.clone();
        assert_eq!(notes.apply(&change("position", Some(b"345"))).as_deref(), Some(&b"12"[..]));
        assert_eq!(notes.apply(&change("a", None)).as_deref(), Some(&b""[..]));
        assert_eq!(notes.apply(&change("b", None)), None);
        assert_eq!((notes.len(), notes.bytes()), (1, 8 + 3));
        assert_eq!(notes.get("position").map(|bytes| &**bytes), Some(&b"345"[..]));
        assert_eq!(before.get("position").map(|bytes| &**bytes), Some(&b"12"[..]), "a clone stays as it was");
        assert_ne!(before, notes);
        assert_eq!(before.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["a", "position"]);
    }
}
