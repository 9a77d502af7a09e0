//! Position: up to where a database has what its source has, as a note in the commit that brought it there.
//!
//! ```text
//! note "origin"     version 1  system  database  slot  publication  mapping (32)       set once, by the copy
//! note "position"   version 1  timeline (4)  end (8)  xid (4)  committed at (8)        set by every commit
//! ```
//!
//! Numbers are little-endian, texts have a varint of their length in front. A restart goes on from `end`, which the source
//! may be told once the commit is durable.

use evergraph_graph::bytes::{Decoded, put_bytes};

use crate::lsn::Lsn;
use crate::note_format::{VERSION, finished, versioned};
use crate::pgoutput::message::Xid;
use crate::postgres_time::PostgresTime;

/// The note that holds an [`Origin`].
pub const ORIGIN_NOTE: &str = "origin";
/// The note that holds a [`Position`].
pub const POSITION_NOTE: &str = "position";

/// Bytes of a position's note.
const POSITION_BYTES: usize = 25;

/// What a database follows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The system's identifier.
    pub system: String,
    /// The database at the source.
    pub database: String,
    /// The slot that keeps the log for us.
    pub slot: String,
    /// The publication that says what is in the stream.
    pub publication: String,
    /// The SHA-256 of the mapping's text: another mapping is another graph.
    pub mapping: [u8; 32],
}

/// Up to where the database has what its source has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The source's timeline at that time.
    pub timeline: u32,
    /// The end of the newest transaction that is here, or of the snapshot that was copied.
    pub end: Lsn,
    /// That transaction; zero for a copy.
    pub xid: Xid,
    /// When it committed, by the source's clock.
    pub committed_at: PostgresTime,
}

impl Origin {
    /// The content of its note.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        for text in [&self.system, &self.database, &self.slot, &self.publication] {
            put_bytes(&mut bytes, text.as_bytes());
        }
        bytes.extend_from_slice(&self.mapping);
        bytes
    }

    /// Reads the content of its note.
    ///
    /// # Errors
    /// If it is none, or a newer version wrote it.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut reader = versioned(bytes)?;
        let mut text = || reader.text().map(str::to_owned);
        let (system, database, slot, publication) = (text()?, text()?, text()?, text()?);
        let mapping = reader.array()?;
        finished(&reader)?;
        Ok(Self { system, database, slot, publication, mapping })
    }
}

impl Position {
    /// The content of its note: 25 bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(POSITION_BYTES);
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.timeline.to_le_bytes());
        bytes.extend_from_slice(&self.end.get().to_le_bytes());
        bytes.extend_from_slice(&self.xid.to_le_bytes());
        bytes.extend_from_slice(&self.committed_at.microseconds().to_le_bytes());
        bytes
    }

    /// Reads the content of its note.
    ///
    /// # Errors
    /// If it is none, or a newer version wrote it.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut reader = versioned(bytes)?;
        let (timeline, end, xid) = (reader.u32()?, Lsn::new(reader.u64()?), reader.u32()?);
        let committed_at = PostgresTime::new(i64::from_le_bytes(reader.array()?));
        finished(&reader)?;
        Ok(Self { timeline, end, xid, committed_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_and_damaged_ones_are_refused() {
        let position = Position {
            timeline: 2,
            end: Lsn::new(0x1_0000_0028),
            xid: 731,
            committed_at: PostgresTime::new(-5),
        };
        let origin = Origin {
            system: "7".into(),
            database: "shop".into(),
            slot: "evergraph_shop".into(),
            publication: String::new(),
            mapping: [9; 32],
        };
        assert_eq!(Position::decode(&position.encode()), Ok(position));
        assert_eq!(Origin::decode(&origin.encode()), Ok(origin.clone()));
        for length in 0..origin.encode().len() {
            assert!(Origin::decode(&origin.encode()[..length]).is_err());
        }
        let (mut newer, mut longer) = (position.encode(), position.encode());
        newer[0] = 2;
        longer.push(0);
        assert!(Position::decode(&newer).unwrap_err().to_string().contains("version 1"));
        assert!(Position::decode(&longer).is_err());
    }
}
