//! Message: what nodes send each other about queries whose stages travel.
//!
//! ```text
//! id         node:u16 incarnation:u32 number:varint        of the node that asked
//! 1 begin    id, position:u64 digest:16, patience_ms:u32, memory_bytes:varint, start:u8 (0 everywhere, 1 rows), stages:varint,
//!            places:varint, of each: node:u16 incarnation:u32, partitions:varint, of each: its place:varint,
//!            program: length:varint bytes
//! 2 rows     id, incarnation of the sender:u32, stage:varint, number:varint, is_last:u8, rows:varint,
//!            measures:varint, of each: six varints; length:varint bytes
//! 3 want     id, stage:varint, from number:varint
//! 4 failed   id, incarnation of the sender:u32, kind:u8, length:varint UTF-8
//! 5 end      id
//! 6 more     id, stage:varint, from number:varint
//! ```
//!
//! Another form of any of these is another version of the protocol (`transport/tcp/hello.rs`).

use crate::digest::{SeenLog, put_seen, take_seen};
use crate::record::body::{put_author, take_author};
use crate::record_id::{Author, NodeId};
use crate::remote::question::CONTENT_BYTES_MAX;
use evergraph_graph::bytes::{Decoded, Reader, put_bytes, put_varint};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::partition::{PARTITIONS_MAX, PartitionCount};
use evergraph_graph::travel::{
    MESSAGE_ROWS_MAX, PROGRAM_BYTES_MAX, Routes, STAGES_MAX, StageMeasure, TravelStart,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The most bytes of a reason.
const REASON_BYTES_MAX: usize = 1000;

/// A query, as the node that asked numbers it: never twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TravelId {
    /// Who asked.
    pub asker: Author,
    /// The asker's number for it.
    pub number: u64,
}

/// What one node sends another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TravelMessage {
    /// A query begins.
    Begin(Arc<BeginTravel>),
    /// Rows for a stage, or results. Whoever keeps them to send them again shares them.
    Rows(Arc<TravelRows>),
    /// The receiver of rows misses those from a number on.
    Want {
        /// Of which query.
        id: TravelId,
        /// For which stage; [`ASKED_STAGE`] of whoever has all, and asks whether the query still runs.
        stage: u16,
        /// The first number that has not come.
        from: u32,
    },
    /// What was wanted is more than is sent at once: the sender keeps the rows from a number on, too, until they are wanted.
    More {
        /// Of which query.
        id: TravelId,
        /// For which stage.
        stage: u16,
        /// The first number that was not sent again.
        from: u32,
    },
    /// A node cannot go on with a query.
    Failed {
        /// With which.
        id: TravelId,
        /// Which start of the node says so. If it is later than the start that was chosen, that start has ended.
        incarnation: u32,
        /// Why.
        failure: TravelFailure,
    },
    /// Nobody waits for a query any more.
    End(TravelId),
}

/// A message for a node.
pub type Outgoing = (NodeId, TravelMessage);

/// The stage in a [`TravelMessage::Want`] that asks only whether the query still runs.
pub const ASKED_STAGE: u16 = u16::MAX;

/// A query begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BeginTravel {
    /// Which one.
    pub id: TravelId,
    /// The snapshot that it reads.
    pub at: SeenLog,
    /// How long its asker waits, in whole milliseconds, from when this was sent.
    pub patience: Duration,
    /// Bytes that it may hold at each node.
    pub memory_bytes: u64,
    /// What it begins with.
    pub start: TravelStart,
    /// How many stages it has.
    pub stages: u16,
    /// The nodes that run it, by place.
    pub places: Vec<Author>,
    /// Which place reads a partition.
    pub routes: Arc<Routes>,
    /// The program.
    pub program: Vec<u8>,
}

/// Rows for a stage at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TravelRows {
    /// Of which query.
    pub id: TravelId,
    /// Which start of its node sent them.
    pub incarnation: u32,
    /// The stage that takes them; as many as there are stages for results.
    pub stage: u16,
    /// Their number among those of the sender for this receiver and stage, from 0.
    pub number: u32,
    /// Whether no more follow.
    pub is_last: bool,
    /// How many.
    pub count: u32,
    /// What the sender did, by stage: with the last results.
    pub measures: Vec<StageMeasure>,
    /// The rows.
    pub rows: Vec<u8>,
}

impl TravelRows {
    /// The same message, whose rows nobody wants again.
    #[must_use]
    pub fn without_rows(&self) -> Self {
        let Self { id, incarnation, stage, number, is_last, count, .. } = *self;
        Self { id, incarnation, stage, number, is_last, count, measures: Vec::new(), rows: Vec::new() }
    }
}

/// Why a node cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TravelFailure {
    /// Its kind.
    pub kind: ErrorKind,
    /// Its text.
    pub text: String,
}

impl TravelFailure {
    /// A node does not go on, so that whoever asked reads in another way.
    #[must_use]
    pub fn busy(text: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Busy, text: text.into() }
    }

    /// A query has taken all of its time: whoever asked knows its timeout.
    #[must_use]
    pub fn time_over(time: Duration) -> Self {
        let text = format!(
            "the query has taken the {time:.1?} that it had on several nodes: narrow it, raise its timeout, or run it on one by \
             with('travel', false)"
        );
        Self::busy(text)
    }
}

impl From<Error> for TravelFailure {
    fn from(error: Error) -> Self {
        Self { kind: error.kind(), text: error.to_string() }
    }
}

impl From<&TravelFailure> for Error {
    fn from(failure: &TravelFailure) -> Self {
        Self::new(failure.kind, failure.text.clone())
    }
}

/// Kinds of failures by their number. Others are sent as `io`.
const FAILURE_KINDS: [ErrorKind; 8] = [
    ErrorKind::Io,
    ErrorKind::Invalid,
    ErrorKind::NotFound,
    ErrorKind::Conflict,
    ErrorKind::Corrupt,
    ErrorKind::Limit,
    ErrorKind::Busy,
    ErrorKind::Cancelled,
];

mod kind {
    pub const BEGIN: u8 = 1;
    pub const ROWS: u8 = 2;
    pub const WANT: u8 = 3;
    pub const FAILED: u8 = 4;
    pub const END: u8 = 5;
    pub const MORE: u8 = 6;
}

impl TravelMessage {
    /// About which query it is.
    #[must_use]
    pub fn id(&self) -> TravelId {
        match self {
            Self::Begin(begin) => begin.id,
            Self::Rows(rows) => rows.id,
            Self::Want { id, .. } | Self::More { id, .. } | Self::Failed { id, .. } | Self::End(id) => *id,
        }
    }

    /// Bytes of what it carries.
    #[must_use]
    pub fn content_bytes(&self) -> usize {
        match self {
            Self::Begin(begin) => begin.program.len() + 2 * begin.routes.of_partitions().len(),
            Self::Rows(rows) => rows.rows.len(),
            Self::Want { .. } | Self::More { .. } | Self::Failed { .. } | Self::End(_) => 0,
        }
    }

    /// Appends the form in a frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Begin(begin) => {
                out.push(kind::BEGIN);
                put_begin(out, begin);
            }
            Self::Rows(rows) => {
                out.push(kind::ROWS);
                put_rows(out, rows);
            }
            Self::Want { id, stage, from } => put_from(out, kind::WANT, (*id, *stage, *from)),
            Self::More { id, stage, from } => put_from(out, kind::MORE, (*id, *stage, *from)),
            Self::Failed { id, incarnation, failure } => {
                out.push(kind::FAILED);
                put_id(out, *id);
                out.extend_from_slice(&incarnation.to_le_bytes());
                let number = FAILURE_KINDS.iter().position(|kind| *kind == failure.kind).unwrap_or(0);
                out.push(number as u8);
                put_bytes(out, beginning(&failure.text).as_bytes());
            }
            Self::End(id) => {
                out.push(kind::END);
                put_id(out, *id);
            }
        }
    }

    /// Reads what [`TravelMessage::encode`] wrote.
    ///
    /// # Errors
    /// If there is something else, or more than may be.
    pub fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let start = reader.clone();
        Ok(match reader.u8()? {
            kind::BEGIN => Self::Begin(Arc::new(take_begin(reader)?)),
            kind::ROWS => Self::Rows(Arc::new(take_rows(reader)?)),
            kind::WANT => {
                let (id, stage, from) = take_from(reader)?;
                Self::Want { id, stage, from }
            }
            kind::MORE => {
                let (id, stage, from) = take_from(reader)?;
                Self::More { id, stage, from }
            }
            kind::FAILED => {
                let (id, incarnation) = (take_id(reader)?, reader.u32()?);
                let start = reader.clone();
                let kind = FAILURE_KINDS.get(usize::from(reader.u8()?)).copied();
                let kind = kind.ok_or_else(|| start.error("a kind of failure expected"))?;
                let start = reader.clone();
                let text = reader.text()?;
                if text.len() > REASON_BYTES_MAX {
                    return Err(start.error(format!("a reason of at most {REASON_BYTES_MAX} bytes expected")));
                }
                Self::Failed { id, incarnation, failure: TravelFailure { kind, text: text.to_owned() } }
            }
            kind::END => Self::End(take_id(reader)?),
            found => return Err(start.error(format!("a message of a query expected, found {found}"))),
        })
    }
}

fn put_id(out: &mut Vec<u8>, id: TravelId) {
    put_author(out, id.asker);
    put_varint(out, id.number);
}

fn take_id(reader: &mut Reader<'_>) -> Decoded<TravelId> {
    Ok(TravelId { asker: take_author(reader)?, number: reader.varint()? })
}

/// Appends which rows of a query, from a number on.
fn put_from(out: &mut Vec<u8>, kind: u8, (id, stage, from): (TravelId, u16, u32)) {
    out.push(kind);
    put_id(out, id);
    put_varint(out, u64::from(stage));
    put_varint(out, u64::from(from));
}

fn take_from(reader: &mut Reader<'_>) -> Decoded<(TravelId, u16, u32)> {
    Ok((take_id(reader)?, take_u16(reader)?, take_u32(reader)?))
}

fn take_u16(reader: &mut Reader<'_>) -> Decoded<u16> {
    Ok(reader.at_most(u64::from(u16::MAX))? as u16)
}

fn take_u32(reader: &mut Reader<'_>) -> Decoded<u32> {
    Ok(reader.at_most(u64::from(u32::MAX))? as u32)
}

fn take_flag(reader: &mut Reader<'_>) -> Decoded<bool> {
    let start = reader.clone();
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        found => Err(start.error(format!("0 or 1 expected, found {found}"))),
    }
}

fn put_begin(out: &mut Vec<u8>, begin: &BeginTravel) {
    put_id(out, begin.id);
    put_seen(out, &begin.at);
    // Rounded up: no node gives up before its asker.
    let patience = u32::try_from(begin.patience.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX);
    out.extend_from_slice(&patience.to_le_bytes());
    put_varint(out, begin.memory_bytes);
    out.push(u8::from(begin.start == TravelStart::Rows));
    put_varint(out, u64::from(begin.stages));
    put_varint(out, begin.places.len() as u64);
    begin.places.iter().for_each(|place| put_author(out, *place));
    let of_partitions = begin.routes.of_partitions();
    put_varint(out, of_partitions.len() as u64);
    of_partitions.iter().for_each(|place| put_varint(out, u64::from(*place)));
    put_bytes(out, &begin.program);
}

fn take_begin(reader: &mut Reader<'_>) -> Decoded<BeginTravel> {
    let (id, at) = (take_id(reader)?, take_seen(reader)?);
    let patience = Duration::from_millis(u64::from(reader.u32()?));
    let memory_bytes = reader.varint()?;
    let start = if take_flag(reader)? { TravelStart::Rows } else { TravelStart::Everywhere };
    let stages = reader.at_most(u64::from(STAGES_MAX))? as u16;
    let at_places = reader.clone();
    let count = reader.count(6)?;
    if stages == 0 || !(1..=usize::from(PARTITIONS_MAX)).contains(&count) {
        return Err(at_places.error("a stage and a place at least expected"));
    }
    let places: Vec<Author> = (0..count).map(|_| take_author(reader)).collect::<Decoded<_>>()?;
    if places.iter().map(|place| place.node).collect::<BTreeSet<_>>().len() < places.len() {
        return Err(at_places.error("each place on a node of its own expected"));
    }
    let at_routes = reader.clone();
    let partitions = reader.count(1)?;
    let partitions = u16::try_from(partitions).ok().and_then(PartitionCount::new);
    let partitions = partitions.ok_or_else(|| at_routes.error("partitions of a graph expected"))?;
    let of_partition = (0..partitions.get()).map(|_| take_u16(reader)).collect::<Decoded<Vec<_>>>()?;
    let routes = Routes::new(partitions, count as u16, of_partition);
    let routes = Arc::new(routes.ok_or_else(|| at_routes.error("a place for each partition expected"))?);
    let start_of_program = reader.clone();
    let program = reader.bytes()?;
    if program.len() > PROGRAM_BYTES_MAX {
        let text = format!("a program of at most {PROGRAM_BYTES_MAX} bytes expected");
        return Err(start_of_program.error(text));
    }
    let program = program.to_vec();
    Ok(BeginTravel { id, at, patience, memory_bytes, start, stages, places, routes, program })
}

fn put_rows(out: &mut Vec<u8>, rows: &TravelRows) {
    put_id(out, rows.id);
    out.extend_from_slice(&rows.incarnation.to_le_bytes());
    put_varint(out, u64::from(rows.stage));
    put_varint(out, u64::from(rows.number));
    out.push(u8::from(rows.is_last));
    put_varint(out, u64::from(rows.count));
    put_varint(out, rows.measures.len() as u64);
    for measure in &rows.measures {
        let StageMeasure { rows, edges, sent_rows, sent_bytes, sent_messages, time } = *measure;
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let numbers = [rows, edges, sent_rows, sent_bytes, sent_messages, time];
        numbers.iter().for_each(|number| put_varint(out, *number));
    }
    put_bytes(out, &rows.rows);
}

fn take_rows(reader: &mut Reader<'_>) -> Decoded<TravelRows> {
    let (id, incarnation) = (take_id(reader)?, reader.u32()?);
    let stage = reader.at_most(u64::from(STAGES_MAX))? as u16;
    let (number, is_last) = (take_u32(reader)?, take_flag(reader)?);
    let count = reader.at_most(MESSAGE_ROWS_MAX as u64)? as u32;
    let start = reader.clone();
    let measured = reader.count(6)?;
    if measured > usize::from(STAGES_MAX) {
        return Err(start.error(format!("measures of at most {STAGES_MAX} stages expected")));
    }
    let measure = |reader: &mut Reader<'_>| {
        Ok(StageMeasure {
            rows: reader.varint()?,
            edges: reader.varint()?,
            sent_rows: reader.varint()?,
            sent_bytes: reader.varint()?,
            sent_messages: reader.varint()?,
            time: Duration::from_nanos(reader.varint()?),
        })
    };
    let measures = (0..measured).map(|_| measure(reader)).collect::<Decoded<_>>()?;
    let start = reader.clone();
    let rows = reader.bytes()?;
    if rows.len() > CONTENT_BYTES_MAX {
        return Err(start.error(format!("at most {CONTENT_BYTES_MAX} bytes expected")));
    }
    let rows = rows.to_vec();
    Ok(TravelRows { id, incarnation, stage, number, is_last, count, measures, rows })
}

/// As much of a reason as is sent: whole letters.
fn beginning(reason: &str) -> &str {
    let end = (0..=REASON_BYTES_MAX.min(reason.len())).rev().find(|end| reason.is_char_boundary(*end));
    &reason[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn author(node: u16) -> Author {
        Author { node: NodeId(node), incarnation: 7 }
    }

    #[test]
    fn messages_read_back_and_what_is_cut_off_is_refused() {
        let id = TravelId { asker: author(2), number: 900 };
        let partitions = PartitionCount::new(3).unwrap();
        let begin = BeginTravel {
            id,
            at: SeenLog::START,
            patience: Duration::from_millis(1500),
            memory_bytes: 1 << 30,
            start: TravelStart::Rows,
            stages: 3,
            places: vec![author(1), author(2)],
            routes: Arc::new(Routes::new(partitions, 2, vec![0, 1, 0]).unwrap()),
            program: vec![1, 2, 3],
        };
        let twice = BeginTravel { places: vec![author(1); 2], ..begin.clone() };
        let mut bytes = Vec::new();
        TravelMessage::Begin(Arc::new(twice)).encode(&mut bytes);
        let error = TravelMessage::decode(&mut Reader::new(&bytes)).unwrap_err().to_string();
        assert!(error.contains("a node of its own"), "{error}");
        let measure = StageMeasure {
            rows: 5,
            edges: 60,
            sent_rows: 4,
            sent_bytes: 300,
            sent_messages: 2,
            time: Duration::from_nanos(77),
        };
        let rows = TravelRows {
            id,
            incarnation: 7,
            stage: 2,
            number: 3,
            is_last: true,
            count: 9,
            measures: vec![measure; 2],
            rows: vec![4; 20],
        };
        let failure = TravelFailure { kind: ErrorKind::Limit, text: "å".repeat(700) };
        let messages = [
            TravelMessage::Begin(Arc::new(begin)),
            TravelMessage::Rows(Arc::new(rows)),
            TravelMessage::Want { id, stage: ASKED_STAGE, from: 4 },
            TravelMessage::More { id, stage: 2, from: 5 },
            TravelMessage::Failed {
                id,
                incarnation: 9,
                failure: TravelFailure { text: "disk".to_owned(), ..failure.clone() },
            },
            TravelMessage::End(id),
        ];
        for message in messages {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            let mut reader = Reader::new(&bytes);
            assert_eq!(TravelMessage::decode(&mut reader).unwrap(), message);
            assert!(reader.is_empty() && message.id() == id);
            for end in 0..bytes.len() {
                assert!(
                    TravelMessage::decode(&mut Reader::new(&bytes[..end])).is_err(),
                    "{message:?}: {end}"
                );
            }
        }
        let mut bytes = Vec::new();
        TravelMessage::Failed { id, incarnation: 9, failure }.encode(&mut bytes);
        let TravelMessage::Failed { failure, .. } = TravelMessage::decode(&mut Reader::new(&bytes)).unwrap()
        else {
            panic!("another message")
        };
        assert_eq!(failure.text.len(), 1000);
    }
}
