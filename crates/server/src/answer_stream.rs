//! Answer stream: results of a query on their way into the parts of its answer.
//!
//! ```text
//! room? ──> results ──> chunk ──> encoder ──> part ──> room? ...
//!   └── no: the task waits
//! ```
//!
//! Room for a part is asked for before anything of it is encoded: thousands of clients that do not read hold no parts that
//! nobody takes. What such a stream holds is one chunk, since only the next result tells that a part is not the last one.

use crate::answer::format::{AnswerEncoder, AnswerEnd};
use crate::answer::memory::KeptBytes;
use crate::answer::meter::AnswerMeter;
use crate::failure::Failure;
use crate::outbox::{Frame, Outbox};
use crate::result_chunk::{ChunkDetail, ChunkState, ResultChunk};
use crate::scheduler::TaskHandle;
use evergraph::gremlin::results::Results;
use evergraph_graph::id::EdgeId;
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::{List, Map};
use evergraph_protocol::error::EncodeError;
use evergraph_protocol::response::attributes::Attributes;
use std::collections::VecDeque;

/// Results on their way into the answer.
pub(crate) struct AnswerStream {
    /// `None` for results that were collected.
    results: Option<Results<'static>>,
    /// Those of a write come with the memory that they take until they are written.
    chunks: VecDeque<(ResultChunk, Option<KeptBytes>)>,
    detail: ChunkDetail,
    /// Results of a chunk.
    chunk_results: usize,
    encoder: Box<dyn AnswerEncoder>,
    meter: AnswerMeter,
    /// What the next part says beside its results.
    warnings: Vec<Value>,
    vertex_keys: Vec<(Value, Value)>,
    room: Room,
    /// Whether the part can take no more.
    is_full: bool,
    /// Whether all results were written, and more than a part of them may be left to send.
    is_ending: bool,
}

/// Whether the part that comes next has room among those that wait for the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    /// No part was sent, and nobody has asked.
    First,
    /// A part was sent, and nobody has asked for the next one.
    Next,
    /// The stream waits for it.
    None,
    Found,
}

/// What a step of a stream led to.
pub(crate) enum StreamStep {
    /// There is more to do.
    Continue,
    /// A part is to be sent, and others follow.
    Part(Frame),
    /// The last part is to be sent.
    Last(Frame),
}

impl AnswerStream {
    /// Of `results`, which `encoder` writes within the limits of `meter`, `chunk_results` at a time, with `warnings` beside the
    /// first part; those of a write come later.
    pub(crate) fn new(
        results: Option<Results<'static>>,
        detail: ChunkDetail,
        chunk_results: usize,
        encoder: Box<dyn AnswerEncoder>,
        meter: AnswerMeter,
        warnings: Vec<Value>,
    ) -> Self {
        Self {
            results,
            chunks: VecDeque::new(),
            detail,
            chunk_results,
            encoder,
            meter,
            warnings,
            vertex_keys: Vec::new(),
            room: Room::First,
            is_full: false,
            is_ending: false,
        }
    }

    /// What its results come with.
    pub(crate) fn detail(&self) -> ChunkDetail {
        self.detail
    }

    /// The same with results that were collected. Their edges have the names that a commit gave them.
    pub(crate) fn with_chunks(
        self,
        chunks: VecDeque<(ResultChunk, KeptBytes)>,
        renamed: &[(EdgeId, EdgeId)],
    ) -> Self {
        let chunks = chunks.into_iter().map(|(chunk, kept)| (chunk.renamed(renamed), Some(kept))).collect();
        Self { chunks, ..self }
    }

    /// Whether there is room for its next part in `outbox`; if not, `task` is woken when there is.
    pub(crate) fn has_room(&mut self, outbox: &Outbox, task: &TaskHandle) -> bool {
        if self.room != Room::Found {
            self.room = if outbox.has_room(task) { Room::Found } else { Room::None };
        }
        self.room == Room::Found
    }

    /// Whether nothing of the next part was written, and it may have to wait until its client reads.
    pub(crate) fn is_between_parts(&self) -> bool {
        matches!(self.room, Room::Next | Room::None)
    }

    /// Goes on: computes results at most once. `count` is told of results that were written.
    ///
    /// # Errors
    /// Errors of the query, and of results that cannot be sent; `limit` if there are too many.
    pub(crate) fn step(&mut self, mut count: impl FnMut(u64)) -> Result<StreamStep, Failure> {
        if self.is_ending {
            return self.end();
        }
        if std::mem::take(&mut self.is_full) {
            let attributes = self.take_attributes();
            // A part that was made counts as sent.
            self.meter.add_bytes(self.encoder.part_bytes(), 0)?;
            let part = self.encoder.part(&attributes)?;
            self.room = Room::Next;
            return Ok(StreamStep::Part(part));
        }
        if self.chunks.is_empty()
            && let Some(results) = &mut self.results
            && let Some(chunk) = ResultChunk::next(results, self.detail, self.chunk_results)?
        {
            self.chunks.push_back((chunk, None));
        }
        let Some((chunk, kept)) = self.chunks.front_mut() else {
            // The transaction of a session is given back before the client asks for more.
            self.results = None;
            return self.end();
        };
        self.vertex_keys.append(&mut chunk.take_vertex_keys());
        // What is made of it takes its place.
        drop(kept.take());
        let (encoder, meter) = (&mut self.encoder, &mut self.meter);
        let written = chunk.write(|item, bulk, elements| {
            let left = encoder.push(item, bulk, elements)?;
            meter.add_rows(bulk - left)?;
            count(bulk - left);
            Ok::<u64, EncodeError>(left)
        })?;
        match written {
            ChunkState::Empty => drop(self.chunks.pop_front()),
            ChunkState::PartIsFull => self.is_full = true,
        }
        Ok(StreamStep::Continue)
    }

    /// What comes behind the last result.
    fn end(&mut self) -> Result<StreamStep, Failure> {
        let attributes = self.take_attributes();
        self.room = Room::Next;
        let end = self.encoder.end(&attributes)?;
        let (AnswerEnd::Last(frame) | AnswerEnd::More(frame)) = &end;
        // An answer that was made as a whole is refused as a whole, before any of it is sent.
        let following_bytes = if self.is_ending { 0 } else { self.encoder.following_bytes() };
        self.meter.add_bytes(frame.bytes.len() as u64, following_bytes)?;
        Ok(match end {
            AnswerEnd::Last(frame) => StreamStep::Last(frame),
            AnswerEnd::More(frame) => {
                self.is_ending = true;
                StreamStep::Part(frame)
            }
        })
    }

    /// What the next part says beside its results.
    fn take_attributes(&mut self) -> Attributes {
        let mut attributes = Attributes::new();
        // Texts, and keys that are no collections: neither is too deep.
        if !self.warnings.is_empty()
            && let Ok(warnings) = List::new(std::mem::take(&mut self.warnings))
        {
            attributes = attributes.with(Attributes::WARNINGS, warnings);
        }
        if !self.vertex_keys.is_empty()
            && let Ok(keys) = Map::new(std::mem::take(&mut self.vertex_keys))
        {
            attributes = attributes.with(Attributes::VERTEX_KEYS, keys);
        }
        attributes
    }
}

/// Whether all results of `chunk` can be sent, with `trial`, which sends nothing, and within the limits of `meter`. Of equal
/// ones no more than two parts are made: the others are like the second one.
///
/// # Errors
/// Those of results that cannot be sent; `limit` if there are too many.
pub(crate) fn try_out(
    chunk: &ResultChunk,
    trial: &mut dyn AnswerEncoder,
    meter: &mut AnswerMeter,
) -> Result<(), EncodeError> {
    chunk.try_each(|item, bulk, elements| {
        meter.add_rows(bulk)?;
        let left = trial.push(item, bulk, elements)?;
        if left > 0 {
            end_trial_part(trial, meter)?;
            let more = trial.push(item, left, elements)?;
            if more > 0 {
                let part_bytes = end_trial_part(trial, meter)?;
                let parts = more.div_ceil((left - more).max(1));
                meter.add_bytes(part_bytes.saturating_mul(parts), 0)?;
            }
        }
        Ok::<(), EncodeError>(())
    })?;
    end_trial_part(trial, meter).map(drop)
}

/// Ends the part of a trial, and returns its bytes.
fn end_trial_part(trial: &mut dyn AnswerEncoder, meter: &mut AnswerMeter) -> Result<u64, EncodeError> {
    let part = trial.part(&Attributes::new())?;
    let bytes = part.bytes.len() as u64 + trial.following_bytes();
    meter.add_bytes(bytes, 0)?;
    Ok(bytes)
}
