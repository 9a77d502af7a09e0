//! Note writes: the notes that a transaction sets and removes, and the limits that hold for all of a database.

use crate::notes::versions::NoteChanges;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::note::{NOTE_BYTES_MAX, NOTE_NAME_BYTES_MAX, NOTES_BYTES_MAX, NOTES_MAX, NoteChange};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The buffered notes of one transaction.
#[derive(Debug, Default)]
pub struct NoteWrites {
    changes: BTreeMap<Arc<str>, Option<Arc<[u8]>>>,
    growth: (isize, isize),
}

impl NoteWrites {
    /// Whether there are none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// By how many notes, and bytes of names and contents, the database grows.
    #[must_use]
    pub fn growth(&self) -> (isize, isize) {
        self.growth
    }

    /// What this transaction says of a note, if it says something: its bytes, or that it goes.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Option<Arc<[u8]>>> {
        self.changes.get(name)
    }

    /// Sets or removes a note, which said `at_s` at S, where the database had `size` notes and bytes.
    ///
    /// # Errors
    /// `invalid` for a name that is empty or too long; `limit` for a note that is too long, and for too many, or too
    /// many bytes, together.
    pub fn set(
        &mut self,
        name: &str,
        bytes: Option<&[u8]>,
        at_s: Option<&[u8]>,
        size: (usize, usize),
    ) -> Result<()> {
        check(name, bytes)?;
        let entry = |bytes: Option<&[u8]>| match bytes {
            Some(bytes) => (1, (name.len() + bytes.len()) as isize),
            None => (0, 0),
        };
        let before = entry(self.changes.get(name).map_or(at_s, |bytes| bytes.as_deref()));
        let after = entry(bytes);
        let growth = (self.growth.0 + after.0 - before.0, self.growth.1 + after.1 - before.1);
        let (count, total) = (size.0.saturating_add_signed(growth.0), size.1.saturating_add_signed(growth.1));
        if bytes.is_some() && count > NOTES_MAX {
            let text = format!("the database would have {count} notes; at most {NOTES_MAX} are kept");
            return Err(Error::new(ErrorKind::Limit, text));
        }
        if bytes.is_some() && total > NOTES_BYTES_MAX {
            let text = format!(
                "the notes of the database would take {}; at most {} are kept",
                ByteSize(total as u64),
                ByteSize(NOTES_BYTES_MAX as u64)
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        self.growth = growth;
        self.changes.insert(name.into(), bytes.map(Into::into));
        Ok(())
    }

    /// The changes, by name.
    #[must_use]
    pub fn changes(&self) -> NoteChanges {
        let change = |(name, bytes): (&Arc<str>, &Option<Arc<[u8]>>)| NoteChange {
            name: Arc::clone(name),
            bytes: bytes.clone(),
        };
        self.changes.iter().map(change).collect()
    }

    /// Appends the changes in the form of the log.
    pub fn encode(&self, payload: &mut Vec<u8>) {
        for (name, bytes) in &self.changes {
            let change = NoteChange { name: Arc::clone(name), bytes: bytes.clone() };
            Mutation::Note(change).encode(payload);
        }
    }
}

fn check(name: &str, bytes: Option<&[u8]>) -> Result<()> {
    if !(1..=NOTE_NAME_BYTES_MAX).contains(&name.len()) {
        return Err(Error::invalid(format!(
            "a note's name has 1 to {NOTE_NAME_BYTES_MAX} bytes, and this one has {}",
            name.len()
        )));
    }
    if let Some(bytes) = bytes.filter(|bytes| bytes.len() > NOTE_BYTES_MAX) {
        let text = format!(
            "note {name} would take {}; a note takes at most {}",
            ByteSize(bytes.len() as u64),
            ByteSize(NOTE_BYTES_MAX as u64)
        );
        return Err(Error::new(ErrorKind::Limit, text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_contents_and_their_number_are_limited() {
        let mut writes = NoteWrites::default();
        for name in ["", &"n".repeat(NOTE_NAME_BYTES_MAX + 1)] {
            let error = writes.set(name, Some(b"x"), None, (0, 0)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        }
        let long = vec![0; NOTE_BYTES_MAX + 1];
        assert_eq!(writes.set("a", Some(&long), None, (0, 0)).unwrap_err().kind(), ErrorKind::Limit);
        writes.set("a", Some(&long[1..]), None, (0, 0)).unwrap();

        let mut writes = NoteWrites::default();
        let full = (NOTES_MAX, NOTES_BYTES_MAX);
        let error = writes.set("a", Some(b"12"), None, full).unwrap_err();
        assert!(error.to_string().contains("at most 1000000 are kept"), "{error}");
        let error = writes.set("a", Some(b"12"), Some(b"1"), full).unwrap_err();
        assert!(error.to_string().contains("at most 256.0 MiB are kept"), "{error}");
        writes.set("a", Some(b"21"), Some(b"12"), full).unwrap();
        writes.set("b", None, Some(b"12"), full).unwrap();
        writes.set("c", Some(b"12"), None, full).unwrap();
        assert_eq!(writes.set("d", Some(b""), None, full).unwrap_err().kind(), ErrorKind::Limit);
        writes.set("d", None, None, full).unwrap();
    }

    #[test]
    fn of_several_changes_of_a_note_the_last_counts_once() {
        let mut writes = NoteWrites::default();
        writes.set("b", Some(b"1"), None, (0, 0)).unwrap();
        writes.set("a", Some(b"2"), None, (0, 0)).unwrap();
        writes.set("b", None, None, (0, 0)).unwrap();
        assert_eq!(writes.growth, (1, 2));
        assert_eq!(writes.get("b"), Some(&None));
        let changes = writes.changes();
        assert_eq!(changes.iter().map(|change| &*change.name).collect::<Vec<_>>(), ["a", "b"]);
        let mut payload = Vec::new();
        writes.encode(&mut payload);
        assert_eq!(payload, [27, 1, b'a', 1, 1, b'2', 27, 1, b'b', 0]);
    }
}
