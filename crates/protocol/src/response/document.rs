//! `DocumentEncoder`: the response of a request by HTTP, one JSON document or a line a result, written in parts.
//!
//! ```text
//! {"requestId", "result": {"data": {"@type": "g:List", "@value": [      first part
//! result, result, ...                                                   any part
//! ]}, "meta"}, "status": {"code", "message", "attributes"}}             last part
//! ```
//!
//! An error behind a first part, which was sent with status 200 of HTTP, is in the document's own status. An error
//! before that is a document of its own, which has the member `message` of Gremlin Server's errors as well.
//!
//! Source: TinkerPop 3.8, `HttpGremlinEndpointHandler` and `HttpHandlerUtil` of Gremlin Server. Differs: results are
//! streamed, no stack traces.

use evergraph_formats::json::write::write_string as write_json_string;
use evergraph_query::value::item::Item;
use uuid::Uuid;

use crate::error::EncodeError;
use crate::graphson::result_write::JsonWriter;
use crate::request::operation::MaterializeProperties;
use crate::response::attributes::Attributes;
use crate::response::frame::{FrameLimits, ResultForm, ResultWriting, write_json_head, write_json_tail};
use crate::response::status::Status;
use crate::result::element_reader::ElementReader;

/// What stands around results in GraphSON 3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DocumentLayout {
    /// The response to this request.
    Response(Uuid),
    /// Nothing but a line feed behind each: JSON lines. An object has the member `@type`, so that a line with another
    /// object is none of them.
    Lines,
}

/// Encodes the results of one request in GraphSON 3, in parts.
#[derive(Debug)]
pub struct DocumentEncoder {
    layout: DocumentLayout,
    form: ResultForm,
    limits: FrameLimits,
    properties: MaterializeProperties,
    /// The part that is being written.
    part: String,
    /// Results in that part.
    part_count: usize,
    has_results: bool,
    /// The result that is being written.
    result: JsonWriter,
}

impl DocumentEncoder {
    /// An encoder of results. `limits` are those of a part.
    #[must_use]
    pub fn new(
        layout: DocumentLayout,
        form: ResultForm,
        limits: FrameLimits,
        properties: MaterializeProperties,
    ) -> Self {
        let mut part = String::new();
        if let DocumentLayout::Response(id) = layout {
            write_json_head(&mut part, Some(id));
            part.push_str("{\"@type\":\"g:List\",\"@value\":[");
        }
        let (result, has_results) = (JsonWriter::default(), false);
        Self { layout, form, limits, properties, part, part_count: 0, has_results, result }
    }

    /// Adds a result that occurs `bulk` times, and returns how many of these are left for the next part: all of them if
    /// the part is full.
    ///
    /// # Errors
    /// As [`FrameEncoder::push`](crate::response::frame::FrameEncoder::push).
    pub fn push<E: ElementReader + ?Sized>(
        &mut self,
        item: &Item,
        bulk: u64,
        elements: &E,
    ) -> Result<u64, EncodeError> {
        if bulk == 0 || self.is_full() {
            return Ok(bulk);
        }
        self.result.json.clear();
        let result_bytes_max = self.limits.result_bytes_max;
        let (form, properties) = (self.form, self.properties);
        let writing = ResultWriting { bulk, form, properties, size_max: result_bytes_max, result_bytes_max };
        writing.write(&mut self.result, item, elements)?;
        let mut left = match self.form {
            ResultForm::Traverser => 1,
            ResultForm::Bare => bulk,
        };
        while left > 0 && !self.is_full() {
            match self.layout {
                DocumentLayout::Response(_) => {
                    if std::mem::replace(&mut self.has_results, true) {
                        self.part.push(',');
                    }
                    self.part.push_str(&self.result.json);
                }
                DocumentLayout::Lines => {
                    self.part.push_str(&self.result.json);
                    self.part.push('\n');
                }
            }
            self.part_count += 1;
            left -= 1;
        }
        Ok(left)
    }

    fn is_full(&self) -> bool {
        self.part_count > 0
            && (self.part_count >= self.limits.results_max || self.part.len() >= self.limits.bytes_max)
    }

    /// Bytes of the part so far.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.part.len()
    }

    /// What was written since the last part.
    #[must_use]
    pub fn take_part(&mut self) -> Vec<u8> {
        self.part_count = 0;
        std::mem::take(&mut self.part).into_bytes()
    }

    /// The last part: what was written, and the end of the document.
    #[must_use]
    pub fn take_end(&mut self, status: Status, attributes: &Attributes) -> Vec<u8> {
        if let DocumentLayout::Response(_) = self.layout {
            write_document_end(&mut self.part, status, None, attributes);
        }
        self.take_part()
    }
}

/// The end of a document of which parts were sent, for an error behind them.
#[must_use]
pub fn document_end(status: Status, message: &str, attributes: &Attributes) -> Vec<u8> {
    let mut end = String::new();
    write_document_end(&mut end, status, Some(message), attributes);
    end.into_bytes()
}

/// A document without results, for an error of which nothing was sent before.
#[must_use]
pub fn failed_document(id: Option<Uuid>, status: Status, message: &str, attributes: &Attributes) -> Vec<u8> {
    let mut json = "{\"message\":".to_owned();
    write_json_string(&mut json, message);
    json.push(',');
    let mut rest = String::new();
    write_json_head(&mut rest, id);
    json.push_str(&rest[1..]);
    json.push_str("null");
    write_json_tail(&mut json, status, Some(message), attributes);
    json.into_bytes()
}

fn write_document_end(json: &mut String, status: Status, message: Option<&str>, attributes: &Attributes) {
    json.push_str("]}");
    write_json_tail(json, status, message, attributes);
}
