//! Message: answers of Gremlin Server's protocol over WebSocket, each with the id of its request.

use crate::answer::format::{AnswerEncoder, AnswerEnd, AnswerFormat, EncoderPurpose, ResultOptions};
use crate::answer::memory::AnswerMemory;
use crate::failure::Failure;
use crate::outbox::{Frame, FrameKind};
use crate::result_chunk::{RESULTS_MAX, RESULTS_MIN, ResultChunk};
use evergraph_protocol::error::EncodeError;
use evergraph_protocol::format::Format;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::frame::{FrameEncoder, FrameLimits, encode_response};
use evergraph_protocol::response::status::Status;
use evergraph_query::value::item::Item;
use std::sync::Arc;
use uuid::Uuid;

/// How answers to a request are sent.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// The request.
    pub id: Uuid,
    /// Its format.
    pub format: Format,
    /// Whether it came as a binary or as a text message.
    pub kind: FrameKind,
}

impl Reply {
    /// An answer without results.
    #[must_use]
    pub fn frame(&self, status: Status, message: Option<&str>, attributes: &Attributes) -> Frame {
        let bytes = encode_response(self.format, Some(self.id), status, message, attributes);
        Frame { bytes, kind: self.kind }
    }

    /// The answer to a request that failed.
    #[must_use]
    pub fn failure(&self, failure: &Failure) -> Frame {
        self.frame(failure.status, Some(&failure.message), &failure.attributes)
    }
}

impl AnswerFormat for Reply {
    fn chunk_results(&self, batch_size: Option<usize>) -> usize {
        batch_size.unwrap_or(FrameLimits::default().results_max).clamp(RESULTS_MIN, RESULTS_MAX)
    }

    fn encoder(
        &self,
        options: ResultOptions,
        _: EncoderPurpose,
        _: &Arc<AnswerMemory>,
    ) -> Box<dyn AnswerEncoder> {
        let limits = FrameLimits::default();
        let limits = FrameLimits { results_max: options.batch_size.unwrap_or(limits.results_max), ..limits };
        let frames = FrameEncoder::new(self.format, self.id, options.form, limits, options.properties);
        Box::new(MessageEncoder { frames, kind: self.kind, has_results: false })
    }

    fn nothing(&self, attributes: &Attributes) -> Frame {
        self.frame(Status::NoContent, None, attributes)
    }

    fn failure(&self, failure: &Failure) -> Frame {
        Self::failure(self, failure)
    }
}

struct MessageEncoder {
    frames: FrameEncoder,
    kind: FrameKind,
    has_results: bool,
}

impl MessageEncoder {
    fn finish(&mut self, status: Status, attributes: &Attributes) -> Frame {
        Frame { bytes: self.frames.finish(status, attributes), kind: self.kind }
    }
}

impl AnswerEncoder for MessageEncoder {
    fn push(&mut self, item: &Item, bulk: u64, elements: &ResultChunk) -> Result<u64, EncodeError> {
        let left = self.frames.push(item, bulk, elements)?;
        self.has_results = true;
        Ok(left)
    }

    fn part_bytes(&self) -> u64 {
        self.frames.size_bytes() as u64
    }

    fn part(&mut self, attributes: &Attributes) -> Result<Frame, EncodeError> {
        Ok(self.finish(Status::PartialContent, attributes))
    }

    fn end(&mut self, attributes: &Attributes) -> Result<AnswerEnd, EncodeError> {
        let status = if self.has_results { Status::Success } else { Status::NoContent };
        Ok(AnswerEnd::Last(self.finish(status, attributes)))
    }
}
