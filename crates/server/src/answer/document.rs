//! Document: the answer of Gremlin Server over HTTP, one document in GraphSON 3 that is sent in parts.
//!
//! ```text
//! fits into a part     its status is that of HTTP as well
//! is longer            HTTP's status 200 is sent with the first part, so an error behind it is in the document alone
//! ```

use crate::answer::format::{AnswerEncoder, AnswerEnd, AnswerFormat, EncoderPurpose, ResultOptions};
use crate::answer::memory::AnswerMemory;
use crate::failure::Failure;
use crate::outbox::{BodyPart, Frame, FrameKind};
use crate::result_chunk::ResultChunk;
use evergraph_protocol::error::EncodeError;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::document::{
    DocumentEncoder, DocumentLayout, document_end, failed_document,
};
use evergraph_protocol::response::frame::FrameLimits;
use evergraph_protocol::response::status::Status;
use evergraph_query::value::item::Item;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use uuid::Uuid;

/// Limits of a part: an error within the first one still has a status of HTTP of its own.
pub(crate) const PART_LIMITS: FrameLimits =
    FrameLimits { results_max: usize::MAX, bytes_max: 64 << 10, result_bytes_max: (10 << 20) - (64 << 10) };

/// How the answer to a request by HTTP is sent.
pub struct Document {
    id: Uuid,
    /// Whether a part was sent. Relaxed: the task of the request, which runs on one thread at a time, sets and reads it.
    is_begun: Arc<AtomicBool>,
}

impl Document {
    /// The answer to the request `id`.
    #[must_use]
    pub fn new(id: Uuid) -> Self {
        Self { id, is_begun: Arc::default() }
    }
}

/// The status of HTTP for a request with this status, as Gremlin Server answers: 500 whenever a query failed. Differs:
/// 403, 409, 503 and 507 say what a client can do about it.
#[must_use]
pub fn http_status(failure: &Failure) -> u16 {
    match failure.status {
        Status::MalformedRequest | Status::InvalidRequestArguments => 400,
        Status::Unauthorized | Status::Authenticate => 401,
        Status::Forbidden => 403,
        Status::ServerErrorTemporary if failure.is_conflict() => 409,
        Status::ServerErrorTemporary => 503,
        _ if failure.is_full_disk() => 507,
        _ => 500,
    }
}

/// A document that says why a request failed before anything of it was sent.
#[must_use]
pub fn failure_document(id: Option<Uuid>, failure: &Failure) -> Vec<u8> {
    failed_document(id, failure.status, &failure.message, &failure.attributes)
}

impl AnswerFormat for Document {
    fn encoder(
        &self,
        options: ResultOptions,
        purpose: EncoderPurpose,
        _: &Arc<AnswerMemory>,
    ) -> Box<dyn AnswerEncoder> {
        let document = DocumentEncoder::new(
            DocumentLayout::Response(self.id),
            options.form,
            PART_LIMITS,
            options.properties,
        );
        let is_begun = match purpose {
            EncoderPurpose::Answer => Arc::clone(&self.is_begun),
            EncoderPurpose::Trial => Arc::default(),
        };
        Box::new(BodyEncoder { document, is_begun, attributes: Attributes::new() })
    }

    fn nothing(&self, attributes: &Attributes) -> Frame {
        let bytes = failed_document(Some(self.id), Status::NoContent, "", attributes);
        Frame { bytes, kind: FrameKind::Body(BodyPart::Whole(200)) }
    }

    fn failure(&self, failure: &Failure) -> Frame {
        if self.is_begun.load(Ordering::Relaxed) {
            let bytes = document_end(failure.status, &failure.message, &failure.attributes);
            return Frame { bytes, kind: FrameKind::Body(BodyPart::Last) };
        }
        let bytes = failure_document(Some(self.id), failure);
        Frame { bytes, kind: FrameKind::Body(BodyPart::Whole(http_status(failure))) }
    }
}

/// Writes a body of JSON.
pub(crate) struct BodyEncoder {
    pub(crate) document: DocumentEncoder,
    /// Whether a part was made.
    pub(crate) is_begun: Arc<AtomicBool>,
    /// What is said at the end: a document has its status there.
    pub(crate) attributes: Attributes,
}

impl BodyEncoder {
    fn keep(&mut self, attributes: &Attributes) {
        let all = std::mem::take(&mut self.attributes);
        self.attributes = attributes.iter().fold(all, |all, (name, value)| all.with(name, value.clone()));
    }
}

impl AnswerEncoder for BodyEncoder {
    fn push(&mut self, item: &Item, bulk: u64, elements: &ResultChunk) -> Result<u64, EncodeError> {
        self.document.push(item, bulk, elements)
    }

    fn part_bytes(&self) -> u64 {
        self.document.size_bytes() as u64
    }

    fn part(&mut self, attributes: &Attributes) -> Result<Frame, EncodeError> {
        self.keep(attributes);
        self.is_begun.store(true, Ordering::Relaxed);
        Ok(Frame { bytes: self.document.take_part(), kind: FrameKind::Body(BodyPart::Middle) })
    }

    fn end(&mut self, attributes: &Attributes) -> Result<AnswerEnd, EncodeError> {
        self.keep(attributes);
        let bytes = self.document.take_end(Status::Success, &self.attributes);
        let is_begun = self.is_begun.load(Ordering::Relaxed);
        let part = if is_begun { BodyPart::Last } else { BodyPart::Whole(200) };
        Ok(AnswerEnd::Last(Frame { bytes, kind: FrameKind::Body(part) }))
    }
}
