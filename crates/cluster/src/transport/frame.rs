//! Frame: what one node sends another, as bytes of a stream.
//!
//! ```text
//! OFFSET  SIZE  FIELD
//!      0     4  bytes that follow, at most 32 MiB
//!      4     1  version, 1
//!      5     1  kind      content
//!               1         question                                   `remote/question.rs`
//!               2         answer
//!               3         refusal
//!               4         heartbeat   position:u64 digest:16 oldest:u64 needed_from:u64
//!               5         forget      the id of a question
//!            4  crc32c of all before
//! ```
//!
//! Numbers are little-endian. The length is compared with the limit before anything is kept, and memory is taken for bytes
//! that came only. A stream with a frame that cannot be read is closed: nobody knows where the next one begins.

use crate::checksum::{CHECKSUM_BYTES, before_checksum, put_checksum};
use crate::digest::{SeenLog, put_seen, take_seen};
use crate::log_position::LogPosition;
use crate::planted::{Bug, planted};
use crate::remote::question::{
    Answer, CONTENT_BYTES_MAX, Question, QuestionId, QuestionRefusal, put_id, take_id,
};
use evergraph_graph::bytes::{DecodeError, Decoded, Reader};

/// The most bytes that follow the length of a frame.
pub const FRAME_BYTES_MAX: usize = 32 << 20;

const VERSION: u8 = 1;
const LENGTH_BYTES: usize = 4;
/// Version, kind, checksum.
const FRAME_BYTES_MIN: usize = 2 + CHECKSUM_BYTES;
/// The most memory that a [`FrameReader`] keeps between frames, unless more has come.
const KEPT_BYTES_MAX: usize = 256 << 10;

// Whatever is asked or answered has room in a frame, with an id, a snapshot and lengths.
const _: () = assert!(CONTENT_BYTES_MAX + 100 < FRAME_BYTES_MAX);

mod kind {
    pub const QUESTION: u8 = 1;
    pub const ANSWER: u8 = 2;
    pub const REFUSAL: u8 = 3;
    pub const HEARTBEAT: u8 = 4;
    pub const FORGET: u8 = 5;
}

/// What one node sends another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// Asks.
    Question(Question),
    /// Answers.
    Answer(Answer),
    /// Says why there is no answer.
    Refusal(QuestionRefusal),
    /// Says how far the sender is.
    Heartbeat(Heartbeat),
    /// The asker does not wait for an answer any more.
    Forget(QuestionId),
}

/// How far a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heartbeat {
    /// The log that it has applied.
    pub applied: SeenLog,
    /// The oldest message at whose end somebody reads there: merges keep what that sees.
    pub oldest: LogPosition,
    /// The first message of the log that it needs, should it start from its newest checkpoint.
    pub needed_from: LogPosition,
}

impl Frame {
    /// Bytes of what it asks or answers: at most [`CONTENT_BYTES_MAX`] are sent.
    #[must_use]
    pub fn content_bytes(&self) -> usize {
        match self {
            Self::Question(question) => question.asked.len(),
            Self::Answer(answer) => answer.answered.len(),
            Self::Refusal(_) | Self::Heartbeat(_) | Self::Forget(_) => 0,
        }
    }

    /// The bytes.
    ///
    /// # Panics
    /// If it asks or answers more than [`CONTENT_BYTES_MAX`] bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.content_bytes() <= CONTENT_BYTES_MAX, "what is too large for a frame is not sent");
        let mut out = vec![0; LENGTH_BYTES];
        out.push(VERSION);
        match self {
            Self::Question(question) => {
                out.push(kind::QUESTION);
                question.encode(&mut out);
            }
            Self::Answer(answer) => {
                out.push(kind::ANSWER);
                answer.encode(&mut out);
            }
            Self::Refusal(refusal) => {
                out.push(kind::REFUSAL);
                refusal.encode(&mut out);
            }
            Self::Heartbeat(Heartbeat { applied, oldest, needed_from }) => {
                out.push(kind::HEARTBEAT);
                put_seen(&mut out, applied);
                out.extend_from_slice(&oldest.0.to_le_bytes());
                out.extend_from_slice(&needed_from.0.to_le_bytes());
            }
            Self::Forget(id) => {
                out.push(kind::FORGET);
                put_id(&mut out, *id);
            }
        }
        let follow = (out.len() - LENGTH_BYTES + CHECKSUM_BYTES) as u32;
        out[..LENGTH_BYTES].copy_from_slice(&follow.to_le_bytes());
        put_checksum(&mut out);
        out
    }

    /// Reads the first frame of a stream: how many bytes it takes, and what it is. `None` if it has not come whole.
    ///
    /// # Errors
    /// If there is something else: the byte, and what was expected there.
    pub fn decode(stream: &[u8]) -> Decoded<Option<(usize, Self)>> {
        let Some((length, _)) = stream.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let follow = u32::from_le_bytes(*length) as usize;
        if !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&follow) && !planted(Bug::FrameLengthUnchecked) {
            let expected = format!("{FRAME_BYTES_MIN} to {FRAME_BYTES_MAX} bytes expected, found {follow}");
            return Err(DecodeError { offset: 0, expected });
        }
        let Some(frame) = stream.get(..LENGTH_BYTES + follow) else { return Ok(None) };
        let content = match planted(Bug::FrameUnchecked) {
            true => &frame[..frame.len().saturating_sub(CHECKSUM_BYTES)],
            false => before_checksum(frame)?,
        };
        let mut reader = Reader::new(content);
        reader.take(LENGTH_BYTES)?;
        let read = Self::decode_content(&mut reader)?;
        if !reader.is_empty() {
            return Err(reader.error(format!("the end expected, {} bytes left", reader.remaining())));
        }
        Ok(Some((frame.len(), read)))
    }

    fn decode_content(reader: &mut Reader<'_>) -> Decoded<Self> {
        let start = reader.clone();
        match reader.u8()? {
            VERSION => {}
            found => return Err(start.error(format!("version {VERSION} expected, found {found}"))),
        }
        let start = reader.clone();
        Ok(match reader.u8()? {
            kind::QUESTION => Self::Question(Question::decode(reader)?),
            kind::ANSWER => Self::Answer(Answer::decode(reader)?),
            kind::REFUSAL => Self::Refusal(QuestionRefusal::decode(reader)?),
            kind::HEARTBEAT => Self::Heartbeat(take_heartbeat(reader)?),
            kind::FORGET => Self::Forget(take_id(reader)?),
            found => return Err(start.error(format!("a kind of frame expected, found {found}"))),
        })
    }
}

fn take_heartbeat(reader: &mut Reader<'_>) -> Decoded<Heartbeat> {
    let applied = take_seen(reader)?;
    let start = reader.clone();
    let oldest = LogPosition(reader.u64()?);
    if oldest > applied.position {
        return Err(start.error(format!("a message up to {} expected, found {oldest}", applied.position)));
    }
    let start = reader.clone();
    let needed_from = LogPosition(reader.u64()?);
    if needed_from.0.saturating_sub(1) > applied.position.0 {
        let position = applied.position;
        return Err(
            start.error(format!("at most the message behind {position} expected, found {needed_from}"))
        );
    }
    Ok(Heartbeat { applied, oldest, needed_from })
}

/// Reads frames from a stream that comes in pieces.
///
/// Memory: what came of the frame that is not whole yet, at most doubled, and never more than that frame and a piece. After a
/// large frame it is given back at once: connections stay open for long, and most of them carry one seldom.
#[derive(Debug, Default)]
pub struct FrameReader {
    /// What came and is no whole frame yet; behind `read`.
    bytes: Vec<u8>,
    read: usize,
}

impl FrameReader {
    /// The stream goes on with these bytes. Whoever calls [`FrameReader::next_frame`] until it has nothing before the stream goes on
    /// keeps at most one frame and one piece in memory.
    pub fn push(&mut self, piece: &[u8]) {
        self.forget_read();
        self.make_room(piece.len());
        self.bytes.extend_from_slice(piece);
    }

    /// The next frame; `None` if it has not come whole.
    ///
    /// # Errors
    /// As [`Frame::decode`]: the stream cannot be read any further.
    pub fn next_frame(&mut self) -> Decoded<Option<Frame>> {
        let Some((length, frame)) = Frame::decode(&self.bytes[self.read..])? else { return Ok(None) };
        self.read += length;
        let left = self.bytes.len() - self.read;
        let is_large = self.bytes.capacity() > KEPT_BYTES_MAX && left <= KEPT_BYTES_MAX;
        if is_large && !planted(Bug::FrameMemoryKept) {
            self.forget_read();
            self.bytes.shrink_to(KEPT_BYTES_MAX);
        }
        Ok(Some(frame))
    }

    fn forget_read(&mut self) {
        self.bytes.drain(..self.read);
        self.read = 0;
    }

    /// Makes room for `more` bytes behind those that are there, of which none is read: for twice as many as there was room for,
    /// but not for more than the first frame announces.
    fn make_room(&mut self, more: usize) {
        let needed = self.bytes.len() + more;
        if needed <= self.bytes.capacity() {
            return;
        }
        let announced = self.bytes.first_chunk::<LENGTH_BYTES>();
        let announced = announced.map_or(0, |length| u32::from_le_bytes(*length) as usize);
        let announced = LENGTH_BYTES + announced.min(FRAME_BYTES_MAX);
        let room = announced.min(2 * self.bytes.capacity()).max(needed);
        self.bytes.reserve_exact(room - self.bytes.len());
    }

    /// Whether the stream ended between two frames.
    #[must_use]
    pub fn is_between_frames(&self) -> bool {
        self.read == self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::LogDigest;
    use crate::planted::assert_found;
    use crate::record::strategy::{any_author, any_seen};
    use crate::record_id::{Author, NodeId};
    use crate::remote::question::RefusalReason;
    use evergraph_graph::id::PartitionId;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::time::Duration;

    fn any_id() -> impl Strategy<Value = QuestionId> {
        (any_author(), any::<u64>()).prop_map(|(asker, number)| QuestionId { asker, number })
    }

    fn any_reason() -> impl Strategy<Value = RefusalReason> {
        prop_oneof![
            Just(RefusalReason::NotKept),
            Just(RefusalReason::OtherLog),
            Just(RefusalReason::TooOld),
            Just(RefusalReason::Busy),
            Just(RefusalReason::TooLate),
            "[a-zå]{0,9}".prop_map(|reason| RefusalReason::Failed { reason }),
        ]
    }

    fn any_frame() -> impl Strategy<Value = Frame> {
        let content = || vec(any::<u8>(), 0..40);
        let question = (any_id(), 0..4096_u16, any_seen(), any::<u32>(), content());
        let question = question.prop_map(|(id, partition, at, patience, asked)| {
            let patience = Duration::from_millis(u64::from(patience));
            Frame::Question(Question { id, partition: PartitionId(partition), at, patience, asked })
        });
        let heartbeat = (any_seen(), any::<u64>(), any::<u64>()).prop_map(|(applied, oldest, needed)| {
            let oldest = LogPosition(oldest % (applied.position.0 + 1));
            let needed_from = LogPosition(needed % (applied.position.0 + 2));
            Frame::Heartbeat(Heartbeat { applied, oldest, needed_from })
        });
        prop_oneof![
            question,
            (any_id(), content()).prop_map(|(id, answered)| Frame::Answer(Answer { id, answered })),
            (any_id(), any_reason()).prop_map(|(id, reason)| Frame::Refusal(QuestionRefusal { id, reason })),
            heartbeat,
            any_id().prop_map(Frame::Forget),
        ]
    }

    /// The frame with the checksum of its bytes, whatever they are.
    fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.truncate(bytes.len() - CHECKSUM_BYTES);
        put_checksum(&mut bytes);
        bytes
    }

    proptest! {
        #[test]
        fn frames_read_back_however_their_stream_is_cut(
            frames in vec(any_frame(), 1..5), pieces in vec(1..60_usize, 1..9),
        ) {
            let stream: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
            let (mut reader, mut read, mut rest) = (FrameReader::default(), Vec::new(), &stream[..]);
            for length in pieces.iter().cycle() {
                let (piece, after) = rest.split_at((*length).min(rest.len()));
                reader.push(piece);
                while let Some(frame) = reader.next_frame().unwrap() {
                    read.push(frame);
                }
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert!(reader.is_between_frames());
            prop_assert_eq!(read, frames);
        }

        #[test]
        fn a_cut_frame_is_not_whole_and_random_edits_are_another_frame_or_an_error(
            frame in any_frame(), edits in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut bytes = frame.encode();
            for cut in 0..bytes.len() {
                prop_assert_eq!(Frame::decode(&bytes[..cut]), Ok(None));
            }
            for (at, byte) in &edits {
                // Not the length: a frame that announces more has not come whole.
                let at = LENGTH_BYTES + at.index(bytes.len() - LENGTH_BYTES - CHECKSUM_BYTES);
                bytes[at] = *byte;
            }
            let bytes = with_checksum(bytes);
            match Frame::decode(&bytes) {
                Ok(Some((length, frame))) => prop_assert_eq!((length, frame.encode()), (bytes.len(), bytes)),
                Ok(None) => return Err(TestCaseError::fail("it came whole")),
                Err(error) => prop_assert!(error.offset <= bytes.len() && !error.expected.is_empty()),
            }
        }

        #[test]
        fn any_bytes_are_frames_or_an_error(bytes in vec(any::<u8>(), 0..99)) {
            let mut reader = FrameReader::default();
            reader.push(&bytes);
            while let Ok(Some(_)) = reader.next_frame() {}
            let mut announced = (bytes.len() as u32).to_le_bytes().to_vec();
            announced.extend_from_slice(&bytes);
            let _ = Frame::decode(&announced);
        }
    }

    fn sample() -> Frame {
        let id = QuestionId { asker: Author { node: NodeId(3), incarnation: 2 }, number: 300 };
        let at = SeenLog { position: LogPosition(7), digest: LogDigest(std::array::from_fn(|at| at as u8)) };
        let (partition, patience) = (PartitionId(5), Duration::from_millis(1500));
        Frame::Question(Question { id, partition, at, patience, asked: b"ask".to_vec() })
    }

    #[test]
    fn the_bytes_are_those_of_version_1() {
        let Frame::Question(question) = sample() else { panic!("a question") };
        let (id, applied) = (question.id, question.at);
        let failed = RefusalReason::Failed { reason: "disk".to_owned() };
        let frames = [
            sample(),
            Frame::Answer(Answer { id, answered: b"answer".to_vec() }),
            Frame::Refusal(QuestionRefusal { id, reason: RefusalReason::TooOld }),
            Frame::Refusal(QuestionRefusal { id, reason: failed }),
            Frame::Heartbeat(Heartbeat { applied, oldest: LogPosition(6), needed_from: LogPosition(5) }),
            Frame::Forget(id),
        ];
        // Written by an independent program.
        let golden = [
            "300000000101030002000000ac0205000700000000000000000102030405060708090a0b0c0d0e0fdc05\
             00000361736b43936f35",
            "150000000102030002000000ac0206616e7377657293fc3c18",
            "0f0000000103030002000000ac02020a2c555e",
            "140000000103030002000000ac0205046469736bf4127427",
            "2e00000001040700000000000000000102030405060708090a0b0c0d0e0f06000000000000000500000000000000\
             7d1e8dad",
            "0e0000000105030002000000ac025a7af477",
        ];
        for (frame, golden) in frames.iter().zip(golden) {
            let bytes = frame.encode();
            let written: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(written, golden);
            assert_eq!(Frame::decode(&bytes), Ok(Some((bytes.len(), frame.clone()))));
        }
    }

    #[test]
    fn an_error_names_its_place() {
        let bytes = sample().encode();
        let edited = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            let error = Frame::decode(&with_checksum(bytes)).unwrap_err();
            (error.offset, error.expected)
        };
        assert_eq!(edited(4, 2), (4, "version 1 expected, found 2".into()));
        assert_eq!(edited(5, 9), (5, "a kind of frame expected, found 9".into()));
        let mut flipped = bytes.clone();
        flipped[20] ^= 1;
        let found = Frame::decode(&flipped).map_err(|error| error.offset);
        assert_eq!(found, Err(bytes.len() - CHECKSUM_BYTES), "the checksum");
    }

    #[test]
    fn a_heartbeat_needs_no_more_of_the_log_than_what_comes_next() {
        let applied = SeenLog { position: LogPosition(7), ..SeenLog::START };
        let frame = |needed_from| {
            let (oldest, needed_from) = (LogPosition(7), LogPosition(needed_from));
            Frame::Heartbeat(Heartbeat { applied, oldest, needed_from })
        };
        assert!(matches!(Frame::decode(&frame(8).encode()), Ok(Some(_))));
        let error = Frame::decode(&frame(9).encode()).unwrap_err();
        assert_eq!((error.offset, &*error.expected), (38, "at most the message behind 7 expected, found 9"));
    }

    #[test]
    fn a_length_beyond_the_limit_is_an_error_before_its_bytes_come() {
        for length in [0, FRAME_BYTES_MIN - 1, FRAME_BYTES_MAX + 1, u32::MAX as usize] {
            let stream = (length as u32).to_le_bytes();
            let found = Frame::decode(&stream).map_err(|error| error.offset);
            assert_eq!(found, Err(0), "{length} bytes are announced");
        }
        assert_eq!(Frame::decode(&(FRAME_BYTES_MAX as u32).to_le_bytes()), Ok(None));
    }

    #[test]
    fn a_reader_takes_memory_for_what_came_and_gives_that_of_a_large_frame_back() {
        let Frame::Question(question) = sample() else { panic!("a question") };
        let large = Frame::Answer(Answer { id: question.id, answered: vec![7; 3 << 20] });
        let stream = [large.encode(), sample().encode()].concat();
        let (most, mut reader) = (large.encode().len() + (16 << 10), FrameReader::default());
        // The beginning of one that never comes.
        reader.push(&stream[..9]);
        assert!(reader.bytes.capacity() <= KEPT_BYTES_MAX, "the announced length takes memory");
        let mut read = Vec::new();
        for piece in stream[9..].chunks(16 << 10) {
            reader.push(piece);
            assert!(reader.bytes.capacity() <= most, "more than the frame and a piece");
            while let Some(frame) = reader.next_frame().unwrap() {
                assert!(reader.bytes.capacity() <= KEPT_BYTES_MAX, "the memory is kept");
                read.push(frame);
            }
        }
        assert!(reader.is_between_frames());
        assert!(read == [large, sample()], "both frames");
    }

    #[test]
    fn planted_bugs_are_found() {
        let memory = a_reader_takes_memory_for_what_came_and_gives_that_of_a_large_frame_back;
        assert_found(Bug::FrameMemoryKept, memory, "the memory is kept");
        assert_found(Bug::FrameUnchecked, an_error_names_its_place, "the checksum");
        let length = a_length_beyond_the_limit_is_an_error_before_its_bytes_come;
        assert_found(Bug::FrameLengthUnchecked, length, "bytes are announced");
    }
}
