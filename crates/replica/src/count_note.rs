//! Count note: what a database lacks of its source's rows, by rule, as of its position.
//!
//! ```text
//! note "counts"    version 1  losses: count, then each rule, cause (1), rows  waiting: count, then each rule, foreign keys
//! ```
//!
//! Numbers but the cause are varints; a rule is its place in the mapping. The copy sets the note, and each commit that changes
//! a count does; without the note all counts are zero. Rows of edges that wait are notes of their own, and are not counted here:
//! see [`row_note`](crate::row_note).

use std::collections::BTreeMap;

use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::note::Notes;

use crate::note_format::{VERSION, finished, versioned};
use crate::translate::loss::{LossCause, LossCounts};

/// The note that holds a [`CountNote`].
pub const COUNT_NOTE: &str = "counts";

/// What a database lacks of its source's rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CountNote {
    /// Rows and values that are not in the graph, since the copy.
    pub losses: LossCounts,
    /// Foreign keys whose edges wait for their other end, by the place of the rule in the mapping.
    pub waiting: BTreeMap<usize, u64>,
}

impl CountNote {
    /// The counts that `notes` have; zeros if there are none.
    ///
    /// # Errors
    /// `corrupt` if the note cannot be read.
    pub fn of(notes: &Notes) -> Result<Self> {
        match notes.get(COUNT_NOTE) {
            None => Ok(Self::default()),
            Some(bytes) => Self::decode(bytes).map_err(|error| {
                Error::new(ErrorKind::Corrupt, format!("read the note {COUNT_NOTE:?}: {error}"))
            }),
        }
    }

    /// The content of the note.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        put_varint(&mut bytes, self.losses.iter().count() as u64);
        for (rule, cause, count) in self.losses.iter() {
            put_varint(&mut bytes, rule as u64);
            bytes.push(cause.code());
            put_varint(&mut bytes, count);
        }
        put_varint(&mut bytes, self.waiting.len() as u64);
        for (rule, count) in &self.waiting {
            put_varint(&mut bytes, *rule as u64);
            put_varint(&mut bytes, *count);
        }
        bytes
    }

    /// Reads the content of the note.
    ///
    /// # Errors
    /// If it is none, or a newer version wrote it.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut reader = versioned(bytes)?;
        let mut counts = Self::default();
        for _ in 0..reader.count(3)? {
            let (rule, code) = (rule(&mut reader)?, reader.u8()?);
            let cause = LossCause::from_code(code);
            let cause = cause.ok_or_else(|| reader.error(format!("{code} is no cause of a loss")))?;
            counts.losses.count_many(rule, cause, reader.varint()?);
        }
        for _ in 0..reader.count(2)? {
            let rule = rule(&mut reader)?;
            counts.waiting.insert(rule, reader.varint()?);
        }
        finished(&reader)?;
        Ok(counts)
    }
}

fn rule(reader: &mut Reader<'_>) -> Decoded<usize> {
    let rule = reader.at_most(u64::from(u32::MAX))?;
    Ok(usize::try_from(rule).expect("a usize has 32 bits at least"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_come_back_and_damaged_ones_are_refused() {
        let mut counts = CountNote::default();
        for (place, cause) in LossCause::ALL.into_iter().enumerate() {
            counts.losses.count_many(place, cause, 300 * place as u64 + 1);
        }
        counts.waiting.extend([(0, 1), (70_000, u64::MAX)]);
        let bytes = counts.encode();
        assert_eq!(CountNote::decode(&bytes), Ok(counts));
        assert_eq!(CountNote::decode(&CountNote::default().encode()), Ok(CountNote::default()));
        for length in 0..bytes.len() {
            assert!(CountNote::decode(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(CountNote::decode(&[&bytes[..], &[0]].concat()).is_err());
        assert!(CountNote::decode(&[VERSION, 1, 0, 6, 1, 0]).unwrap_err().to_string().contains("no cause"));
        assert!(CountNote::decode(&[2, 0, 0]).unwrap_err().to_string().contains("version 1"));
    }
}
