//! Lines: JSON lines, a result in GraphSON 3 a line, as they come.
//!
//! ```text
//! {"@type":"g:Int64","@value":7}
//! "a text"
//! {"warnings":["the graph has no label Preson"]}    the last line, if the query names what the graph does not have
//! {"error":{"kind":"timeout","message":"..."}}      the last line, if the query failed behind others
//! ```
//!
//! A result that is an object has the member `@type`, so that no result can be taken for one of these.

use crate::answer::document::{BodyEncoder, PART_LIMITS};
use crate::answer::format::{AnswerEncoder, AnswerEnd, AnswerFormat, EncoderPurpose, ResultOptions};
use crate::answer::memory::AnswerMemory;
use crate::answer::warnings::warnings;
use crate::failure::Failure;
use crate::http::error::HttpError;
use crate::outbox::{BodyPart, Frame, FrameKind};
use crate::result_chunk::ResultChunk;
use evergraph_protocol::error::EncodeError;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::document::{DocumentEncoder, DocumentLayout};
use evergraph_protocol::response::frame::{FrameLimits, ResultForm};
use evergraph_query::value::item::Item;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a part: what there is, is sent soon.
const PART_BYTES: usize = 16 << 10;

/// An answer of JSON lines.
#[derive(Default)]
pub struct Lines {
    /// Whether a part was sent. Relaxed: as in [`Document`](crate::answer::document::Document).
    is_begun: Arc<AtomicBool>,
}

impl AnswerFormat for Lines {
    fn encoder(
        &self,
        options: ResultOptions,
        purpose: EncoderPurpose,
        _: &Arc<AnswerMemory>,
    ) -> Box<dyn AnswerEncoder> {
        let limits = FrameLimits { bytes_max: PART_BYTES, ..PART_LIMITS };
        let document =
            DocumentEncoder::new(DocumentLayout::Lines, ResultForm::Bare, limits, options.properties);
        let is_begun = match purpose {
            EncoderPurpose::Answer => Arc::clone(&self.is_begun),
            EncoderPurpose::Trial => Arc::default(),
        };
        Box::new(LinesEncoder(BodyEncoder { document, is_begun, attributes: Attributes::new() }))
    }

    fn nothing(&self, _: &Attributes) -> Frame {
        Frame { bytes: Vec::new(), kind: FrameKind::Body(BodyPart::Whole(200)) }
    }

    fn failure(&self, failure: &Failure) -> Frame {
        let error = HttpError::from(failure.clone());
        let bytes = format!("{}\n", error.json()).into_bytes();
        let is_begun = self.is_begun.load(Ordering::Relaxed);
        let part = if is_begun { BodyPart::Last } else { BodyPart::Whole(error.status.as_u16()) };
        Frame { bytes, kind: FrameKind::Body(part) }
    }
}

/// Writes a body of lines.
struct LinesEncoder(BodyEncoder);

impl AnswerEncoder for LinesEncoder {
    fn push(&mut self, item: &Item, bulk: u64, elements: &ResultChunk) -> Result<u64, EncodeError> {
        self.0.push(item, bulk, elements)
    }

    fn part_bytes(&self) -> u64 {
        self.0.part_bytes()
    }

    fn part(&mut self, attributes: &Attributes) -> Result<Frame, EncodeError> {
        self.0.part(attributes)
    }

    fn end(&mut self, attributes: &Attributes) -> Result<AnswerEnd, EncodeError> {
        let mut end = self.0.end(attributes)?;
        if let (AnswerEnd::Last(frame), Some(warnings)) = (&mut end, warnings(&self.0.attributes)) {
            let line = json!({"warnings": warnings});
            frame.bytes.extend(format!("{line}\n").into_bytes());
        }
        Ok(end)
    }
}
