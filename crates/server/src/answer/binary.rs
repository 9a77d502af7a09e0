//! Binary: one message in GraphBinary, as Gremlin Server answers over HTTP whoever accepts that.
//!
//! Its head says how many results there are, so they are kept until the last one is known: an error always has a status of
//! its own. What is sent then are parts of one message.

use crate::answer::format::{
    AnswerEncoder, AnswerEnd, AnswerFormat, EncoderPurpose, ResultOptions, broken_off,
};
use crate::answer::memory::{AnswerMemory, KeptBytes, KeptPurpose};
use crate::failure::Failure;
use crate::outbox::{BodyPart, Frame, FrameKind};
use crate::result_chunk::ResultChunk;
use evergraph_protocol::error::EncodeError;
use evergraph_protocol::format::Format;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::frame::{FrameEncoder, FrameLimits, ResultForm, encode_response};
use evergraph_protocol::response::status::Status;
use evergraph_query::value::item::Item;
use std::sync::Arc;
use uuid::Uuid;

/// Bytes of a part.
const PART_BYTES: usize = 64 << 10;
/// What a message is kept for.
const MESSAGE: KeptPurpose = KeptPurpose {
    name: "an answer in GraphBinary",
    results: "the results of a query in GraphBinary are one message, and kept until the last one is known",
    advice: "ask for fewer, or for JSON lines, which are sent as they are found",
};

/// An answer in GraphBinary.
pub struct Binary {
    id: Uuid,
}

impl Binary {
    /// The answer to the request `id`.
    #[must_use]
    pub fn new(id: Uuid) -> Self {
        Self { id }
    }
}

impl AnswerFormat for Binary {
    fn encoder(
        &self,
        options: ResultOptions,
        _: EncoderPurpose,
        memory: &Arc<AnswerMemory>,
    ) -> Box<dyn AnswerEncoder> {
        let limits = FrameLimits {
            // Of which the message tells the number.
            results_max: i32::MAX as usize,
            bytes_max: usize::try_from(memory.limit_bytes()).unwrap_or(usize::MAX),
            ..FrameLimits::default()
        };
        let message =
            FrameEncoder::new(Format::GraphBinary, self.id, options.form, limits, options.properties);
        Box::new(BinaryEncoder { message, form: options.form, kept: memory.keep(MESSAGE), sending: None })
    }

    fn nothing(&self, attributes: &Attributes) -> Frame {
        let bytes = encode_response(Format::GraphBinary, Some(self.id), Status::NoContent, None, attributes);
        Frame { bytes, kind: FrameKind::Body(BodyPart::Whole(200)) }
    }

    fn failure(&self, failure: &Failure) -> Frame {
        broken_off(failure)
    }
}

struct BinaryEncoder {
    message: FrameEncoder,
    form: ResultForm,
    /// Of the message; in a trial of all parts of it.
    kept: KeptBytes,
    /// The message, once it is whole, and how much of it was sent.
    sending: Option<(Vec<u8>, usize)>,
}

impl BinaryEncoder {
    /// Writes a result, and returns the bytes that it takes.
    fn write(&mut self, item: &Item, bulk: u64, elements: &ResultChunk) -> Result<u64, EncodeError> {
        let before = self.message.size_bytes();
        match self.message.push(item, bulk, elements)? {
            0 => Ok((self.message.size_bytes() - before) as u64),
            _ => Err(self.kept.too_much().into()),
        }
    }
}

impl AnswerEncoder for BinaryEncoder {
    fn push(&mut self, item: &Item, bulk: u64, elements: &ResultChunk) -> Result<u64, EncodeError> {
        let first = match self.form {
            ResultForm::Traverser => bulk,
            ResultForm::Bare => bulk.min(1),
        };
        let bytes = self.write(item, first, elements)?;
        self.kept.add(bytes)?;
        let more = bulk - first;
        if more > 0 {
            // Counted before they are written.
            self.kept.add(bytes.saturating_mul(more))?;
            self.write(item, more, elements)?;
        }
        Ok(0)
    }

    fn part(&mut self, attributes: &Attributes) -> Result<Frame, EncodeError> {
        // Of a trial, which sends nothing.
        let bytes = self.message.finish(Status::PartialContent, attributes);
        Ok(Frame { bytes, kind: FrameKind::Body(BodyPart::Middle) })
    }

    fn end(&mut self, attributes: &Attributes) -> Result<AnswerEnd, EncodeError> {
        let is_first = self.sending.is_none();
        let message = &mut self.message;
        let (message, sent) =
            self.sending.get_or_insert_with(|| (message.finish(Status::Success, attributes), 0));
        let end = message.len().min(*sent + PART_BYTES);
        let bytes = message[*sent..end].to_vec();
        *sent = end;
        let part = match (end == message.len(), is_first) {
            (true, true) => BodyPart::Whole(200),
            (true, false) => BodyPart::Last,
            (false, _) => BodyPart::Middle,
        };
        let frame = Frame { bytes, kind: FrameKind::Body(part) };
        Ok(if part == BodyPart::Middle { AnswerEnd::More(frame) } else { AnswerEnd::Last(frame) })
    }

    fn following_bytes(&self) -> u64 {
        self.sending.as_ref().map_or(0, |(message, sent)| (message.len() - sent) as u64)
    }
}
