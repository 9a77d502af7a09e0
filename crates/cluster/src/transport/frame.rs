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
//!               6         batch       count:varint, then of each kind and content
//!               7         copy        `copy/message.rs`
//!               8         travel      of a query whose stages travel         `travel/message.rs`
//!              16         question    of a batch, like the question before it    `remote/question.rs`
//!              17         answer      of a batch, like the answer before it
//!            4  crc32c of all before
//! ```
//!
//! Numbers are little-endian. The length is compared with the limit before anything is kept, and memory is taken for bytes
//! that came only. A stream with a frame that cannot be read is closed: nobody knows where the next one begins.
//!
//! A batch is what one node has for another at the same time: the questions of a reader about partitions that one node keeps,
//! or answers. It saves what each frame costs sender, network and receiver. Each of its frames is what it is alone: answered,
//! refused and forgotten by its own id. A value that is looked up is asked of all partitions where it may be: what a question has in
//! common with the one before is left out, and so with answers. A batch has two to 256 frames, with 256 KiB of contents, and neither heartbeats, copies nor batches.

use crate::checksum::{CHECKSUM_BYTES, before_checksum, put_checksum};
use crate::copy::message::CopyMessage;
use crate::digest::{SeenLog, put_seen, take_seen};
use crate::log_position::LogPosition;
use crate::planted::{Bug, planted};
use crate::remote::question::{
    Answer, CONTENT_BYTES_MAX, Question, QuestionId, QuestionRefusal, put_id, take_id,
};
use crate::travel::message::TravelMessage;
use evergraph_graph::bytes::{DecodeError, Decoded, Reader, put_varint};

/// The most bytes that follow the length of a frame.
pub const FRAME_BYTES_MAX: usize = 32 << 20;

const VERSION: u8 = 1;
const LENGTH_BYTES: usize = 4;
/// Version, kind, checksum.
const FRAME_BYTES_MIN: usize = 2 + CHECKSUM_BYTES;
/// The most frames of a batch.
pub const BATCH_FRAMES_MAX: usize = 256;
/// The fewest bytes of a frame in a batch: kind, number, content.
const BATCHED_BYTES_MIN: usize = 3;
/// The most bytes of what the frames of a batch ask or answer. What is larger travels alone: others need not wait for it.
pub const BATCH_BYTES_MAX: usize = 256 << 10;
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
    pub const BATCH: u8 = 6;
    pub const COPY: u8 = 7;
    pub const TRAVEL: u8 = 8;
    pub const QUESTION_LIKE: u8 = 16;
    pub const ANSWER_LIKE: u8 = 17;
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
    /// Of a query whose stages run on several nodes.
    Travel(TravelMessage),
    /// Several of the others, but no heartbeats, in the order in which they were sent. [`Frame::together`] makes it.
    Batch(Vec<Frame>),
    /// Says something about a copy of what the receiver or the sender lacks.
    Copy(CopyMessage),
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
            Self::Travel(message) => message.content_bytes(),
            Self::Batch(frames) => frames.iter().map(Self::content_bytes).sum(),
            Self::Copy(message) => message.content_bytes(),
        }
    }

    /// Whether its sender can run queries: a node that is only starting copies partitions, and says what it needs of the log.
    #[must_use]
    pub fn is_sign_of_life(&self) -> bool {
        match self {
            Self::Copy(_) => planted(Bug::CopyTakenForLife),
            Self::Heartbeat(_) => true,
            _ => !planted(Bug::HeartbeatsAloneHeard),
        }
    }

    /// How many frames it is: one, or those of a batch.
    #[must_use]
    pub fn count(&self) -> usize {
        if let Self::Batch(frames) = self { frames.len() } else { 1 }
    }

    /// One frame that is all of these: the only one, or a batch. `None` of no frames.
    ///
    /// # Panics
    /// If they have no room in a batch ([`BATCH_FRAMES_MAX`], [`BATCH_BYTES_MAX`]), or one of several is a heartbeat, a copy or a batch.
    #[must_use]
    pub fn together(mut frames: Vec<Self>) -> Option<Self> {
        if frames.len() < 2 {
            return frames.pop();
        }
        assert!(frames.len() <= BATCH_FRAMES_MAX, "a batch has {} frames", frames.len());
        assert!(frames.iter().all(Self::is_batchable), "heartbeats, copies and batches travel alone");
        let batch = Self::Batch(frames);
        assert!(batch.content_bytes() <= BATCH_BYTES_MAX, "a batch has {} bytes", batch.content_bytes());
        Some(batch)
    }

    /// The frames of a batch, or the frame alone, in order.
    #[must_use]
    pub fn apart(self) -> Vec<Self> {
        if let Self::Batch(frames) = self { frames } else { vec![self] }
    }

    /// Whether it may be part of a batch.
    #[must_use]
    pub fn is_batchable(&self) -> bool {
        !matches!(self, Self::Heartbeat(_) | Self::Batch(_) | Self::Copy(_))
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
        self.encode_content(&mut out);
        let follow = (out.len() - LENGTH_BYTES + CHECKSUM_BYTES) as u32;
        out[..LENGTH_BYTES].copy_from_slice(&follow.to_le_bytes());
        put_checksum(&mut out);
        out
    }

    /// Appends kind and content.
    fn encode_content(&self, out: &mut Vec<u8>) {
        match self {
            Self::Question(question) => {
                out.push(kind::QUESTION);
                question.encode(out);
            }
            Self::Answer(answer) => {
                out.push(kind::ANSWER);
                answer.encode(out);
            }
            Self::Refusal(refusal) => {
                out.push(kind::REFUSAL);
                refusal.encode(out);
            }
            Self::Heartbeat(Heartbeat { applied, oldest, needed_from }) => {
                out.push(kind::HEARTBEAT);
                put_seen(out, applied);
                out.extend_from_slice(&oldest.0.to_le_bytes());
                out.extend_from_slice(&needed_from.0.to_le_bytes());
            }
            Self::Forget(id) => {
                out.push(kind::FORGET);
                put_id(out, *id);
            }
            Self::Travel(message) => {
                out.push(kind::TRAVEL);
                message.encode(out);
            }
            Self::Batch(frames) => {
                out.push(kind::BATCH);
                encode_batch(frames, out);
            }
            Self::Copy(message) => {
                out.push(kind::COPY);
                message.encode(out);
            }
        }
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
        check_version(&mut reader)?;
        let read = Self::decode_content(&mut reader, |_, reader| decode_batch(reader).map(Self::Batch))?;
        if !reader.is_empty() {
            return Err(reader.error(format!("the end expected, {} bytes left", reader.remaining())));
        }
        Ok(Some((frame.len(), read)))
    }

    /// Reads kind and content, of a batch by `batch`.
    fn decode_content(
        reader: &mut Reader<'_>,
        batch: fn(&Reader<'_>, &mut Reader<'_>) -> Decoded<Self>,
    ) -> Decoded<Self> {
        let start = reader.clone();
        Ok(match reader.u8()? {
            kind::QUESTION => Self::Question(Question::decode(reader)?),
            kind::ANSWER => Self::Answer(Answer::decode(reader)?),
            kind::REFUSAL => Self::Refusal(QuestionRefusal::decode(reader)?),
            kind::HEARTBEAT => Self::Heartbeat(take_heartbeat(reader)?),
            kind::FORGET => Self::Forget(take_id(reader)?),
            kind::TRAVEL => Self::Travel(TravelMessage::decode(reader)?),
            kind::BATCH => batch(&start, reader)?,
            kind::COPY => Self::Copy(CopyMessage::decode(reader)?),
            found => return Err(start.error(format!("a kind of frame expected, found {found}"))),
        })
    }
}

/// Appends the frames of a batch.
fn encode_batch(frames: &[Frame], out: &mut Vec<u8>) {
    put_varint(out, frames.len() as u64);
    let mut before: Option<&Frame> = None;
    for frame in frames {
        match (before, frame) {
            (Some(Frame::Question(before)), Frame::Question(question)) if question.is_like(before) => {
                out.push(kind::QUESTION_LIKE);
                question.encode_like(before, out);
            }
            (Some(Frame::Answer(before)), Frame::Answer(answer)) if answer.is_like(before) => {
                out.push(kind::ANSWER_LIKE);
                answer.encode_like(before, out);
            }
            _ => frame.encode_content(out),
        }
        before = Some(frame);
    }
}

/// Reads the frames of a batch.
fn decode_batch(reader: &mut Reader<'_>) -> Decoded<Vec<Frame>> {
    let start = reader.clone();
    let count = reader.varint()?;
    let possible = (reader.remaining() / BATCHED_BYTES_MIN).min(BATCH_FRAMES_MAX) as u64;
    if (count < 2 || count > possible) && !planted(Bug::BatchCountUnchecked) {
        return Err(start.error(format!("2 to {possible} frames expected, found {count}")));
    }
    let (mut frames, mut bytes) = (Vec::with_capacity(count as usize), 0);
    for _ in 0..count {
        let start = reader.clone();
        let frame = decode_batched(frames.last(), reader)?;
        bytes += frame.content_bytes();
        if !frame.is_batchable() || bytes > BATCH_BYTES_MAX {
            let expected = format!("a frame of a batch of at most {BATCH_BYTES_MAX} bytes expected");
            return Err(start.error(expected));
        }
        frames.push(frame);
    }
    Ok(frames)
}

/// Reads one frame of a batch, behind the one `before`.
fn decode_batched(before: Option<&Frame>, reader: &mut Reader<'_>) -> Decoded<Frame> {
    let start = reader.clone();
    let mut content = start.clone();
    let frame = match (content.u8()?, before) {
        (kind::QUESTION_LIKE, Some(Frame::Question(before))) => {
            Frame::Question(Question::decode_like(before, &mut content)?)
        }
        (kind::ANSWER_LIKE, Some(Frame::Answer(before))) => {
            Frame::Answer(Answer::decode_like(before, &mut content)?)
        }
        (kind::QUESTION_LIKE | kind::ANSWER_LIKE, _) => {
            return Err(start.error("a question or an answer of the same kind expected before this frame"));
        }
        _ => {
            content = start.clone();
            let frame =
                Frame::decode_content(
                    &mut content,
                    |kind, _| Err(kind.error("a frame of a batch expected")),
                )?;
            let is_like = match (before, &frame) {
                (Some(Frame::Question(before)), Frame::Question(question)) => question.is_like(before),
                (Some(Frame::Answer(before)), Frame::Answer(answer)) => answer.is_like(before),
                _ => false,
            };
            // What is said in two ways is not compared by its bytes.
            if is_like {
                return Err(start.error("the short form expected: the frame is like the one before"));
            }
            frame
        }
    };
    *reader = content;
    Ok(frame)
}

fn check_version(reader: &mut Reader<'_>) -> Decoded<()> {
    let start = reader.clone();
    match reader.u8()? {
        VERSION => Ok(()),
        found => Err(start.error(format!("version {VERSION} expected, found {found}"))),
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
mod tests;
