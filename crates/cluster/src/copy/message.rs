//! Copy message: what a node that copies and the one that it copies from say to each other.
//!
//! ```text
//! KIND  FROM    MEANING      CONTENT, behind the kind
//!    1  asker   needs log    position:u64                                          to every member, again and again
//!    2  asker   begin        copy:u64, then 0, or 1 partition:u16 at_least:u64
//!    3  asker   more         copy:u64 have:u64 up_to:u64 again:u8
//!    4  asker   end          copy:u64
//!    5  source  begun        copy:u64 needed_from:u64
//!    6  source  piece        copy:u64 number:u64 bytes_done:u64 bytes_total:u64 last:u8 length:varint changes
//!    7  source  refused      copy:u64 reason:u8, and for 6 length:varint text
//! ```
//!
//! Numbers are little-endian. A copy has the number that its asker gave it, who gives none twice.
//!
//! Pieces are numbered from 0. The asker has those before `have` and asks for those before `up_to`: the source sends them as it has
//! them, each once, and again from `have` on if it is asked `again`, since the network may have lost some. It forgets those before
//! `have`. Both sides hold [`PIECES_AHEAD_MAX`] pieces at most.

use crate::log_position::LogPosition;
use evergraph_graph::bytes::{Decoded, Reader, put_bytes};
use evergraph_graph::id::PartitionId;
use std::fmt;
use std::time::Duration;

/// The most bytes of changes in a piece.
pub const PIECE_BYTES_MAX: usize = 256 << 10;

/// The most pieces that are asked for and have not come, and that wait at the source.
pub const PIECES_AHEAD_MAX: u64 = 16;

/// How often a node that has not joined tells members from where on it needs the log.
pub const NEED_INTERVAL: Duration = Duration::from_secs(1);

/// The most bytes of a reason.
pub const REASON_BYTES_MAX: usize = 4096;

/// Which copy of its asker: no other one of any start of that node has the number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CopyId(pub u64);

/// What is copied.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CopySubject {
    /// The newest checkpoint of what follows from the log.
    State,
    /// A partition.
    Partition {
        /// Which one.
        partition: PartitionId,
        /// It has installed this message, and all before it.
        at_least: LogPosition,
    },
}

/// What one node tells the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CopyMessage {
    /// A member that has not joined yet needs the log from here on.
    NeedsLog(LogPosition),
    /// Asks for a copy.
    Begin {
        /// Its number.
        copy: CopyId,
        /// Of what.
        subject: CopySubject,
    },
    /// Asks for pieces.
    More {
        /// Of which copy.
        copy: CopyId,
        /// The first piece that has not come.
        have: u64,
        /// Behind the last piece that may be sent.
        up_to: u64,
        /// Whether pieces from `have` on are sent once more.
        is_again: bool,
    },
    /// Nobody waits for it any more.
    End {
        /// Which copy.
        copy: CopyId,
    },
    /// Pieces follow, as they are asked for.
    Begun {
        /// Which copy.
        copy: CopyId,
        /// Where the log must begin for the newest checkpoint of the source: so for this copy.
        needed_from: LogPosition,
    },
    /// A piece.
    Piece(CopyPiece),
    /// It is not given, or not any further.
    Refused {
        /// Which copy.
        copy: CopyId,
        /// Why.
        reason: CopyRefusal,
    },
}

/// A piece of a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyPiece {
    /// Of which copy.
    pub copy: CopyId,
    /// Which piece.
    pub number: u64,
    /// Bytes of the files that were read for this piece and those before.
    pub bytes_done: u64,
    /// Bytes of the files that there are to read, at most.
    pub bytes_total: u64,
    /// Whether it is the last one.
    pub is_last: bool,
    /// What is to be done ([`crate::copy::file_change`]): at most [`PIECE_BYTES_MAX`] bytes.
    pub changes: Vec<u8>,
}

/// Why a node does not give a copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CopyRefusal {
    /// It does not serve the partition, or cannot use its own copy at present.
    NotServed,
    /// It has not applied as much.
    Behind,
    /// It gives as many copies as it may.
    Busy,
    /// It was told just now how far the node is that asks: another process is that node.
    AskerAlive,
    /// It does not know such a copy: it has started again, or nobody asked for a piece for too long.
    Unknown,
    /// It could not read it.
    Failed {
        /// Why.
        reason: String,
    },
    /// It is starting, and gives it once it has opened its partitions, or has applied as much.
    Starting,
    /// It is starting, and lacks the partition itself.
    Lacking,
}

mod kind {
    pub const NEEDS_LOG: u8 = 1;
    pub const BEGIN: u8 = 2;
    pub const MORE: u8 = 3;
    pub const END: u8 = 4;
    pub const BEGUN: u8 = 5;
    pub const PIECE: u8 = 6;
    pub const REFUSED: u8 = 7;
}

mod subject {
    pub const STATE: u8 = 0;
    pub const PARTITION: u8 = 1;
}

/// The reasons without a text, by their numbers.
static REASONS: [(u8, CopyRefusal); 7] = [
    (1, CopyRefusal::NotServed),
    (2, CopyRefusal::Behind),
    (3, CopyRefusal::Busy),
    (4, CopyRefusal::AskerAlive),
    (5, CopyRefusal::Unknown),
    (7, CopyRefusal::Starting),
    (8, CopyRefusal::Lacking),
];
const REASON_FAILED: u8 = 6;

impl CopyMessage {
    /// Bytes of what it carries.
    #[must_use]
    pub fn content_bytes(&self) -> usize {
        match self {
            Self::Piece(piece) => piece.changes.len(),
            _ => 0,
        }
    }

    /// Appends the bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let put = |out: &mut Vec<u8>, number: u64| out.extend_from_slice(&number.to_le_bytes());
        match self {
            Self::NeedsLog(first) => {
                out.push(kind::NEEDS_LOG);
                put(out, first.0);
            }
            Self::Begin { copy, subject } => {
                out.push(kind::BEGIN);
                put(out, copy.0);
                match subject {
                    CopySubject::State => out.push(subject::STATE),
                    CopySubject::Partition { partition, at_least } => {
                        out.push(subject::PARTITION);
                        out.extend_from_slice(&partition.0.to_le_bytes());
                        put(out, at_least.0);
                    }
                }
            }
            Self::More { copy, have, up_to, is_again } => {
                out.push(kind::MORE);
                [copy.0, *have, *up_to].into_iter().for_each(|number| put(out, number));
                out.push(u8::from(*is_again));
            }
            Self::End { copy } => {
                out.push(kind::END);
                put(out, copy.0);
            }
            Self::Begun { copy, needed_from } => {
                out.push(kind::BEGUN);
                put(out, copy.0);
                put(out, needed_from.0);
            }
            Self::Piece(CopyPiece { copy, number, bytes_done, bytes_total, is_last, changes }) => {
                out.push(kind::PIECE);
                [copy.0, *number, *bytes_done, *bytes_total].into_iter().for_each(|number| put(out, number));
                out.push(u8::from(*is_last));
                put_bytes(out, changes);
            }
            Self::Refused { copy, reason } => {
                out.push(kind::REFUSED);
                put(out, copy.0);
                reason.encode(out);
            }
        }
    }

    /// Reads what [`CopyMessage::encode`] wrote.
    ///
    /// # Errors
    /// If there is something else: the byte, and what was expected there.
    pub fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let start = reader.clone();
        Ok(match reader.u8()? {
            kind::NEEDS_LOG => Self::NeedsLog(LogPosition(reader.u64()?)),
            kind::BEGIN => Self::Begin { copy: CopyId(reader.u64()?), subject: take_subject(reader)? },
            kind::MORE => take_more(reader)?,
            kind::END => Self::End { copy: CopyId(reader.u64()?) },
            kind::BEGUN => {
                Self::Begun { copy: CopyId(reader.u64()?), needed_from: LogPosition(reader.u64()?) }
            }
            kind::PIECE => Self::Piece(CopyPiece::decode(reader)?),
            kind::REFUSED => {
                Self::Refused { copy: CopyId(reader.u64()?), reason: CopyRefusal::decode(reader)? }
            }
            found => return Err(start.error(format!("a message about copies expected, found {found}"))),
        })
    }
}

fn take_subject(reader: &mut Reader<'_>) -> Decoded<CopySubject> {
    let start = reader.clone();
    Ok(match reader.u8()? {
        subject::STATE => CopySubject::State,
        subject::PARTITION => CopySubject::Partition {
            partition: PartitionId(reader.u16()?),
            at_least: LogPosition(reader.u64()?),
        },
        found => return Err(start.error(format!("what is copied expected, found {found}"))),
    })
}

fn take_more(reader: &mut Reader<'_>) -> Decoded<CopyMessage> {
    let (copy, have) = (CopyId(reader.u64()?), reader.u64()?);
    let start = reader.clone();
    let up_to = reader.u64()?;
    if up_to.checked_sub(have).is_none_or(|ahead| ahead > PIECES_AHEAD_MAX) {
        return Err(start.error(format!("at most {PIECES_AHEAD_MAX} pieces behind {have} expected")));
    }
    Ok(CopyMessage::More { copy, have, up_to, is_again: take_flag(reader)? })
}

fn take_flag(reader: &mut Reader<'_>) -> Decoded<bool> {
    let start = reader.clone();
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        found => Err(start.error(format!("0 or 1 expected, found {found}"))),
    }
}

impl CopyPiece {
    fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let (copy, number) = (CopyId(reader.u64()?), reader.u64()?);
        let (bytes_done, bytes_total) = (reader.u64()?, reader.u64()?);
        let is_last = take_flag(reader)?;
        let start = reader.clone();
        let changes = reader.bytes()?;
        if changes.len() > PIECE_BYTES_MAX {
            return Err(start.error(format!("a piece of at most {PIECE_BYTES_MAX} bytes expected")));
        }
        Ok(Self { copy, number, bytes_done, bytes_total, is_last, changes: changes.to_vec() })
    }
}

impl CopyRefusal {
    /// A node could not read what it gives.
    #[must_use]
    pub fn failed(reason: impl fmt::Display) -> Self {
        let mut reason = reason.to_string();
        let end = (0..=REASON_BYTES_MAX.min(reason.len())).rev().find(|end| reason.is_char_boundary(*end));
        reason.truncate(end.unwrap_or(0));
        Self::Failed { reason }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Failed { reason } => {
                out.push(REASON_FAILED);
                put_bytes(out, reason.as_bytes());
            }
            other => {
                out.extend(REASONS.iter().find(|(_, reason)| reason == other).map(|(number, _)| *number))
            }
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let start = reader.clone();
        let number = reader.u8()?;
        if number == REASON_FAILED {
            let place = reader.clone();
            let reason = reader.text()?;
            if reason.len() > REASON_BYTES_MAX {
                return Err(place.error(format!("a reason of at most {REASON_BYTES_MAX} bytes expected")));
            }
            return Ok(Self::Failed { reason: reason.to_owned() });
        }
        let known = REASONS.iter().find(|(known, _)| *known == number).map(|(_, reason)| reason.clone());
        known.ok_or_else(|| start.error(format!("why a copy is refused expected, found {number}")))
    }
}

impl fmt::Display for CopyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotServed => f.write_str("it cannot use its own copy at present"),
            Self::Behind => f.write_str("it has not applied as much of the log yet"),
            Self::Busy => f.write_str("it gives other copies at present"),
            Self::AskerAlive => f.write_str(
                "it still hears of this node from another process: a node runs once, end that one",
            ),
            Self::Unknown => f.write_str("it does not know this copy any more"),
            Self::Failed { reason } => write!(f, "it could not read it: {reason}"),
            Self::Starting => f.write_str("it is starting, and does not give it yet"),
            Self::Lacking => f.write_str("it lacks it as well"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    pub(crate) fn messages() -> impl Strategy<Value = CopyMessage> {
        let copy = any::<u64>().prop_map(CopyId);
        let position = any::<u64>().prop_map(LogPosition);
        let partition = (any::<u16>(), position.clone()).prop_map(|(partition, at_least)| {
            CopySubject::Partition { partition: PartitionId(partition), at_least }
        });
        let subject = prop_oneof![Just(CopySubject::State), partition];
        let failed = ".{0,40}".prop_map(|reason| CopyRefusal::Failed { reason });
        let reason = prop_oneof![(0..REASONS.len()).prop_map(|at| REASONS[at].1.clone()), failed];
        let piece = (copy.clone(), any::<[u64; 3]>(), any::<bool>(), vec(any::<u8>(), 0..60)).prop_map(
            |(copy, [number, bytes_done, bytes_total], is_last, changes)| {
                CopyMessage::Piece(CopyPiece { copy, number, bytes_done, bytes_total, is_last, changes })
            },
        );
        prop_oneof![
            position.clone().prop_map(CopyMessage::NeedsLog),
            (copy.clone(), subject).prop_map(|(copy, subject)| CopyMessage::Begin { copy, subject }),
            (copy.clone(), 0..1_u64 << 60, 0..=PIECES_AHEAD_MAX, any::<bool>()).prop_map(
                |(copy, have, ahead, is_again)| CopyMessage::More {
                    copy,
                    have,
                    up_to: have + ahead,
                    is_again
                }
            ),
            copy.clone().prop_map(|copy| CopyMessage::End { copy }),
            (copy.clone(), position).prop_map(|(copy, needed_from)| CopyMessage::Begun { copy, needed_from }),
            piece,
            (copy, reason).prop_map(|(copy, reason)| CopyMessage::Refused { copy, reason }),
        ]
    }

    fn encoded(message: &CopyMessage) -> Vec<u8> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        bytes
    }

    proptest! {
        #[test]
        fn a_message_reads_back_and_no_cut_of_it_does(message in messages()) {
            let bytes = encoded(&message);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(CopyMessage::decode(&mut reader), Ok(message));
            prop_assert!(reader.is_empty());
            for cut in 0..bytes.len() {
                prop_assert!(CopyMessage::decode(&mut Reader::new(&bytes[..cut])).is_err());
            }
        }

        #[test]
        fn random_bytes_are_an_error_or_those_of_a_message(bytes in vec(any::<u8>(), 0..80)) {
            let mut reader = Reader::new(&bytes);
            if let Ok(message) = CopyMessage::decode(&mut reader) {
                // A length may be written in more bytes than it takes; nothing else is read in two ways.
                prop_assert_eq!(CopyMessage::decode(&mut Reader::new(&encoded(&message))), Ok(message));
            }
        }
    }

    #[test]
    fn limits_are_checked_before_anything_is_kept() {
        let copy = CopyId(1);
        let more = |have, up_to| encoded(&CopyMessage::More { copy, have, up_to, is_again: false });
        let decode = |bytes: &[u8]| CopyMessage::decode(&mut Reader::new(bytes));
        assert!(decode(&more(7, 7 + PIECES_AHEAD_MAX)).is_ok());
        for bad in [more(7, 8 + PIECES_AHEAD_MAX), more(7, 6), more(0, u64::MAX)] {
            assert!(decode(&bad).unwrap_err().expected.contains("pieces behind"));
        }
        let piece = |bytes| {
            let changes = vec![1; bytes];
            let (number, bytes_done, bytes_total, is_last) = (0, 1, 2, false);
            encoded(&CopyMessage::Piece(CopyPiece {
                copy,
                number,
                bytes_done,
                bytes_total,
                is_last,
                changes,
            }))
        };
        assert!(decode(&piece(PIECE_BYTES_MAX)).is_ok());
        assert!(decode(&piece(PIECE_BYTES_MAX + 1)).unwrap_err().expected.contains("a piece of at most"));
        let long = CopyRefusal::Failed { reason: "x".repeat(REASON_BYTES_MAX + 1) };
        let long = encoded(&CopyMessage::Refused { copy, reason: long });
        assert!(decode(&long).unwrap_err().expected.contains("a reason of at most"));
        let shortened = CopyRefusal::failed("ü".repeat(REASON_BYTES_MAX));
        assert!(decode(&encoded(&CopyMessage::Refused { copy, reason: shortened })).is_ok());
    }

    #[test]
    fn the_bytes_are_those_of_version_1() {
        let copy = CopyId(0x0102);
        let subject = CopySubject::Partition { partition: PartitionId(3), at_least: LogPosition(4) };
        assert_eq!(
            encoded(&CopyMessage::Begin { copy, subject }),
            [2, 2, 1, 0, 0, 0, 0, 0, 0, 1, 3, 0, 4, 0, 0, 0, 0, 0, 0, 0]
        );
        let refused = CopyMessage::Refused { copy, reason: CopyRefusal::failed("x") };
        assert_eq!(encoded(&refused), [7, 2, 1, 0, 0, 0, 0, 0, 0, 6, 1, b'x']);
        let refused = CopyMessage::Refused { copy, reason: CopyRefusal::Unknown };
        assert_eq!(encoded(&refused), [7, 2, 1, 0, 0, 0, 0, 0, 0, 5]);
        let refused = CopyMessage::Refused { copy, reason: CopyRefusal::Lacking };
        assert_eq!(encoded(&refused), [7, 2, 1, 0, 0, 0, 0, 0, 0, 8]);
    }
}
