//! `FrameEncoder`: results become frames, one after the other, each within limits of count and bytes.
//!
//! ```text
//! GraphBinary   81  00 UUID | 01  code (4)  00 message | 01  attributes  meta  data
//! GraphSON      {"requestId", "result": {"data", "meta"}, "status": {"code", "message", "attributes"}}
//! ```
//!
//! Attributes and meta are maps without type and flag, `data` is a list of results, or null. Whether a frame is the last
//! one is known when it ends, so its code is filled in then; in JSON it comes last.
//!
//! Source: TinkerPop 3.8, "GraphBinary", Request and Response Messages; `ResponseMessageSerializer`.

use evergraph_formats::graphson::value_write::write_value as write_json_value;
use evergraph_formats::json::write::write_string as write_json_string;
use evergraph_graph::value::Value;
use evergraph_query::value::item::Item;
use std::fmt::Write;
use uuid::Uuid;

use crate::error::EncodeError;
use crate::format::Format;
use crate::graph_binary::result_write::{BinaryWriter, patch_count};
use crate::graph_binary::type_code;
use crate::graph_binary::value_write::{write_count, write_header, write_null, write_string, write_value};
use crate::graphson::result_write::JsonWriter;
use crate::request::operation::{MaterializeProperties, Operation};
use crate::request::read::VERSION;
use crate::response::attributes::Attributes;
use crate::response::status::Status;
use crate::result::element_reader::ElementReader;
use crate::result::item_walk::ItemWalk;
use crate::result::result_writer::ResultWriter;

/// How large a frame may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameLimits {
    /// Results in a frame, at least 1: the batch size that a request asks for.
    pub results_max: usize,
    /// Bytes of a frame with more than one result.
    pub bytes_max: usize,
    /// Bytes of one result, which may have a frame for itself. gremlinpython refuses a message of more than 10 MiB.
    pub result_bytes_max: usize,
}

impl Default for FrameLimits {
    fn default() -> Self {
        Self { results_max: 64, bytes_max: 512 << 10, result_bytes_max: (10 << 20) - (64 << 10) }
    }
}

/// How a result that occurs several times is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResultForm {
    /// Once, with a number: what a request to run bytecode expects.
    Traverser,
    /// As often as it occurs: what a request to run a text expects.
    Bare,
}

impl ResultForm {
    /// The form that a client expects that asked for `operation`.
    #[must_use]
    pub const fn of(operation: &Operation) -> Self {
        match operation {
            Operation::Bytecode { .. } => Self::Traverser,
            _ => Self::Bare,
        }
    }
}

/// Encodes the results of one request as frames.
#[derive(Debug)]
pub struct FrameEncoder {
    id: Uuid,
    form: ResultForm,
    limits: FrameLimits,
    properties: MaterializeProperties,
    output: Output,
    /// Results in the frame.
    count: usize,
}

#[derive(Debug)]
enum Output {
    Binary(BinaryWriter),
    Json(JsonWriter),
}

/// Where the code of a response in GraphBinary is: behind version, flag and id.
const CODE_OFFSET: usize = 18;

/// Where its data begins, if it has neither message nor attributes.
const DATA_OFFSET: usize = CODE_OFFSET + 4 + 1 + 4 + 4;

impl FrameEncoder {
    /// An encoder of the results of the request `id`, for its first frame.
    #[must_use]
    pub fn new(
        format: Format,
        id: Uuid,
        form: ResultForm,
        limits: FrameLimits,
        properties: MaterializeProperties,
    ) -> Self {
        let output = match format {
            Format::GraphBinary => Output::Binary(BinaryWriter::default()),
            Format::GraphSon => Output::Json(JsonWriter::default()),
        };
        let mut encoder = Self { id, form, limits, properties, output, count: 0 };
        encoder.begin();
        encoder
    }

    /// Adds a result that occurs `bulk` times, and returns how many of these are left for the next frame: all of them
    /// if the frame is full. A result that is larger than a frame may be has a frame for itself.
    ///
    /// Cost: linear in the bytes written; of the last result in a frame once more in the next one.
    ///
    /// # Errors
    /// If the result passes a limit or the format has no form for it, and errors of reading elements. The frame is then
    /// as it was before.
    pub fn push<E: ElementReader + ?Sized>(
        &mut self,
        item: &Item,
        bulk: u64,
        elements: &E,
    ) -> Result<u64, EncodeError> {
        if bulk == 0 || self.count >= self.limits.results_max.max(1) {
            return Ok(bulk);
        }
        let (before, form, limits) = (self.size_bytes(), self.form, self.limits);
        let writing = ResultWriting {
            bulk,
            form,
            properties: self.properties,
            size_max: before.saturating_add(limits.result_bytes_max),
            result_bytes_max: limits.result_bytes_max,
        };
        let written = match &mut self.output {
            Output::Binary(writer) => writing.write(writer, item, elements),
            Output::Json(writer) => writing.write(writer, item, elements),
        };
        let is_too_large = self.count > 0 && self.size_bytes() > limits.bytes_max;
        if written.is_err() || is_too_large {
            self.truncate(before);
        }
        written?;
        if is_too_large {
            return Ok(bulk);
        }
        self.count += 1;
        match form {
            ResultForm::Traverser => Ok(bulk - bulk.min(i64::MAX as u64)),
            ResultForm::Bare => Ok(self.repeat(before, bulk - 1)),
        }
    }

    /// Whether [`Self::push`] adds nothing more. It may refuse a large result before.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.count >= self.limits.results_max.max(1)
            || (self.count > 0 && self.size_bytes() >= self.limits.bytes_max)
    }

    /// Results in the frame; a traverser counts once.
    #[must_use]
    pub fn results_count(&self) -> usize {
        self.count
    }

    /// Bytes of the frame so far.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        match &self.output {
            Output::Binary(writer) => writer.size(),
            Output::Json(writer) => writer.size(),
        }
    }

    /// Ends the frame and begins the next one. Of [`Status::NoContent`] results are left out.
    ///
    /// Cost: none that grows with the results, unless there are attributes.
    #[must_use]
    pub fn finish(&mut self, status: Status, attributes: &Attributes) -> Vec<u8> {
        if status == Status::NoContent {
            self.output = match &self.output {
                Output::Binary(_) => Output::Binary(BinaryWriter::default()),
                Output::Json(_) => Output::Json(JsonWriter::default()),
            };
            self.begin();
            let format = self.format();
            return encode_response(format, Some(self.id), status, None, attributes);
        }
        let frame = match &mut self.output {
            Output::Binary(writer) => {
                let mut frame = std::mem::take(&mut writer.out);
                patch_count(&mut frame, DATA_OFFSET + 2, self.count).expect("a frame has few results");
                frame[CODE_OFFSET..CODE_OFFSET + 4].copy_from_slice(&status.code().to_be_bytes());
                if !attributes.is_empty() {
                    let mut head = Vec::new();
                    write_binary_head(&mut head, Some(self.id), status, None, attributes);
                    frame.splice(..DATA_OFFSET, head);
                }
                frame
            }
            Output::Json(writer) => {
                let mut json = std::mem::take(&mut writer.json);
                json.push_str("]}");
                write_json_tail(&mut json, status, None, attributes);
                json.into_bytes()
            }
        };
        self.begin();
        frame
    }

    fn format(&self) -> Format {
        match &self.output {
            Output::Binary(_) => Format::GraphBinary,
            Output::Json(_) => Format::GraphSon,
        }
    }

    /// Writes what is before the results.
    fn begin(&mut self) {
        self.count = 0;
        match &mut self.output {
            Output::Binary(writer) => {
                let none = Attributes::new();
                write_binary_head(&mut writer.out, Some(self.id), Status::Success, None, &none);
                write_header(&mut writer.out, type_code::LIST);
                writer.out.extend([0; 4]);
            }
            Output::Json(writer) => {
                write_json_head(&mut writer.json, Some(self.id));
                writer.json.push_str("{\"@type\":\"g:List\",\"@value\":[");
            }
        }
    }

    fn truncate(&mut self, size: usize) {
        match &mut self.output {
            Output::Binary(writer) => writer.truncate(size),
            Output::Json(writer) => writer.truncate(size),
        }
    }

    /// Writes the last result, which begins at `start`, `more` times more; returns how many of these do not fit.
    fn repeat(&mut self, start: usize, more: u64) -> u64 {
        let result_bytes = self.size_bytes() - start;
        let room = self.limits.bytes_max.saturating_sub(self.size_bytes()) / (result_bytes + 1);
        let fitting = room.min(self.limits.results_max.saturating_sub(self.count)) as u64;
        let copies = fitting.min(more);
        match &mut self.output {
            Output::Binary(writer) => {
                let range = start..writer.out.len();
                (0..copies).for_each(|_| writer.out.extend_from_within(range.clone()));
            }
            Output::Json(writer) => {
                // The first result of a frame has no comma before it.
                let result = writer.json[start..].trim_start_matches(',').to_owned();
                for _ in 0..copies {
                    writer.json.push(',');
                    writer.json.push_str(&result);
                }
            }
        }
        self.count += copies as usize;
        more - copies
    }
}

/// How one result is written.
pub(crate) struct ResultWriting {
    pub(crate) bulk: u64,
    pub(crate) form: ResultForm,
    pub(crate) properties: MaterializeProperties,
    /// Bytes that the writer may have in all.
    pub(crate) size_max: usize,
    /// Bytes that the result may have, for the error.
    pub(crate) result_bytes_max: usize,
}

impl ResultWriting {
    pub(crate) fn write<W: ResultWriter, E: ElementReader + ?Sized>(
        &self,
        writer: &mut W,
        item: &Item,
        elements: &E,
    ) -> Result<(), EncodeError> {
        let Self { form, properties, size_max, result_bytes_max, .. } = *self;
        if form == ResultForm::Traverser {
            writer.begin_traverser(i64::try_from(self.bulk).unwrap_or(i64::MAX));
        }
        ItemWalk { writer, elements, properties, size_max, result_bytes_max }.item(item, 0)?;
        if form == ResultForm::Traverser {
            writer.end_traverser();
        }
        Ok(())
    }
}

/// A response without results: an error, or an answer that has none. The id is `None` if the request had no readable one.
#[must_use]
pub fn encode_response(
    format: Format,
    id: Option<Uuid>,
    status: Status,
    message: Option<&str>,
    attributes: &Attributes,
) -> Vec<u8> {
    match format {
        Format::GraphBinary => {
            let mut out = Vec::new();
            write_binary_head(&mut out, id, status, message, attributes);
            write_null(&mut out);
            out
        }
        Format::GraphSon => {
            let mut json = String::new();
            write_json_head(&mut json, id);
            json.push_str("null");
            write_json_tail(&mut json, status, message, attributes);
            json.into_bytes()
        }
    }
}

/// Everything up to the data.
fn write_binary_head(
    out: &mut Vec<u8>,
    id: Option<Uuid>,
    status: Status,
    message: Option<&str>,
    attributes: &Attributes,
) {
    const SHORT: &str = "names and messages are below 2 GiB";
    out.push(VERSION);
    match id {
        Some(id) => {
            out.push(0);
            out.extend(id.as_bytes());
        }
        None => out.push(1),
    }
    out.extend(status.code().to_be_bytes());
    match message {
        Some(message) => {
            out.push(0);
            write_string(out, message).expect(SHORT);
        }
        None => out.push(1),
    }
    write_count(out, attributes.iter().len()).expect(SHORT);
    for (name, value) in attributes.iter() {
        write_value(out, &Value::from(name)).expect(SHORT);
        let before = out.len();
        if write_value(out, value).is_err() {
            out.truncate(before);
            write_value(out, &Value::from(value.to_string())).expect(SHORT);
        }
    }
    // No meta.
    out.extend([0; 4]);
}

pub(crate) fn write_json_head(json: &mut String, id: Option<Uuid>) {
    match id {
        Some(id) => {
            write!(json, "{{\"requestId\":\"{id}\",").expect("a string takes all that is written to it")
        }
        None => json.push_str("{\"requestId\":null,"),
    }
    json.push_str("\"result\":{\"data\":");
}

/// Everything behind the data.
pub(crate) fn write_json_tail(
    json: &mut String,
    status: Status,
    message: Option<&str>,
    attributes: &Attributes,
) {
    json.push_str(",\"meta\":{\"@type\":\"g:Map\",\"@value\":[]}},\"status\":{\"code\":");
    write!(json, "{}", status.code()).expect("a string takes all that is written to it");
    json.push_str(",\"message\":");
    write_json_string(json, message.unwrap_or_default());
    json.push_str(",\"attributes\":{\"@type\":\"g:Map\",\"@value\":[");
    for (at, (name, value)) in attributes.iter().enumerate() {
        if at > 0 {
            json.push(',');
        }
        write_json_string(json, name);
        json.push(',');
        write_json_value(json, value);
    }
    json.push_str("]}}}");
}
