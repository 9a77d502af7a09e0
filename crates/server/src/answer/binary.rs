//! Binary: one message in GraphBinary, as Gremlin Server answers over HTTP whoever accepts that.
//!
//! Its head says how many results there are, so they are kept until the last one is known: an error always has a status of
//! its own. What is sent then are parts of one message.

use crate::answer::format::{
    AnswerEncoder, AnswerEnd, AnswerFormat, EncoderPurpose, ResultOptions, broken_off,
};
use crate::failure::Failure;
use crate::outbox::{BodyPart, Frame, FrameKind};
use crate::result_chunk::ResultChunk;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_protocol::error::EncodeError;
use evergraph_protocol::format::Format;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::frame::{FrameEncoder, FrameLimits, encode_response};
use evergraph_protocol::response::status::Status;
use evergraph_query::value::item::Item;
use uuid::Uuid;

/// Bytes of a part.
const PART_BYTES: usize = 64 << 10;

/// An answer in GraphBinary.
pub struct Binary {
    id: Uuid,
    /// Bytes that it may have.
    bytes_max: u64,
}

impl Binary {
    /// The answer to the request `id`, of at most `bytes_max`.
    #[must_use]
    pub fn new(id: Uuid, bytes_max: u64) -> Self {
        Self { id, bytes_max }
    }
}

impl AnswerFormat for Binary {
    fn encoder(&self, options: ResultOptions, _: EncoderPurpose) -> Box<dyn AnswerEncoder> {
        let limits = FrameLimits {
            // Of which the message tells the number.
            results_max: i32::MAX as usize,
            bytes_max: usize::try_from(self.bytes_max).unwrap_or(usize::MAX),
            ..FrameLimits::default()
        };
        let message =
            FrameEncoder::new(Format::GraphBinary, self.id, options.form, limits, options.properties);
        Box::new(BinaryEncoder { message, bytes_max: self.bytes_max, sending: None })
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
    bytes_max: u64,
    /// The message, once it is whole, and how much of it was sent.
    sending: Option<(Vec<u8>, usize)>,
}

impl BinaryEncoder {
    fn too_long(&self) -> EncodeError {
        let text = format!(
            "an answer in GraphBinary is one message, and has at most {} bytes: ask for fewer results, or for JSON lines, which \
             are sent as they are found",
            self.bytes_max
        );
        Error::new(ErrorKind::Limit, text).into()
    }
}

impl AnswerEncoder for BinaryEncoder {
    fn push(&mut self, item: &Item, bulk: u64, elements: &ResultChunk) -> Result<u64, EncodeError> {
        match self.message.push(item, bulk, elements)? {
            0 => Ok(0),
            _ => Err(self.too_long()),
        }
    }

    fn part(&mut self, attributes: &Attributes) -> Result<Frame, EncodeError> {
        // Of a trial, which sends nothing.
        drop(self.message.finish(Status::PartialContent, attributes));
        Ok(Frame { bytes: Vec::new(), kind: FrameKind::Body(BodyPart::Middle) })
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
}
