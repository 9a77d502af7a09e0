//! Reads responses, from either format.

use evergraph_formats::json::read::{JsonError, JsonReader, Kind};
use evergraph_graph::value::Value;
use evergraph_query::error::quoted;
use uuid::Uuid;

use crate::error::MessageError;
use crate::format::Format;
use crate::graph_binary::result_read::ResultReader;
use crate::graphson::result_read;
use crate::request::read::{VERSION, read_json_id};
use crate::response::attributes::Attributes;
use crate::response::status::Status;
use crate::result::result_value::{BulkResult, ResultValue};

/// A response that a client received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// The id of the request; `None` if the server could not read it.
    pub id: Option<Uuid>,
    /// The code: that of a [`Status`], or one that other servers have.
    pub code: i32,
    /// What a person should know, often empty.
    pub message: Box<str>,
    /// What a program should know. Those that are no values of properties are left out.
    pub attributes: Attributes,
    /// The results of this frame.
    pub results: Vec<BulkResult>,
}

impl Response {
    /// The status; `None` of a code that TinkerPop does not have.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        Status::from_code(self.code)
    }

    /// Reads a response; nothing may follow it.
    ///
    /// Cost: one pass; in JSON two over each result. Memory: at most some 50 times the bytes.
    ///
    /// # Errors
    /// If it is no response, or is nested too deeply; with the byte.
    pub fn read(format: Format, body: &[u8]) -> Result<Self, MessageError> {
        if body.len() > u32::MAX as usize {
            return Err(MessageError::limit(0, "a response of 4 GiB or more"));
        }
        match format {
            Format::GraphBinary => read_binary(body),
            Format::GraphSon => read_json(body),
        }
    }
}

fn read_binary(body: &[u8]) -> Result<Response, MessageError> {
    let mut reader = ResultReader::new(body);
    let bytes = &mut reader.bytes;
    let start = bytes.clone();
    match bytes.read_u8()? {
        VERSION => {}
        version => {
            return Err(start
                .malformed(format!("version {VERSION:#04x} expected, found {version:#04x}"))
                .into());
        }
    }
    let id = bytes.read_nullable()?.then(|| bytes.read_array().map(Uuid::from_bytes)).transpose()?;
    let code = i32::from_be_bytes(bytes.read_array()?);
    let message = bytes.read_nullable()?.then(|| bytes.read_string().map(Box::from)).transpose()?;
    let attributes = attributes(reader.read_members()?);
    reader.read_members()?;
    let results = reader.read_data()?;
    reader.bytes.finish()?;
    Ok(Response { id, code, message: message.unwrap_or_default(), attributes, results })
}

fn attributes(members: Vec<(Box<str>, ResultValue)>) -> Attributes {
    let known = members.into_iter().filter_map(|(name, value)| Some((name, value.into_value()?)));
    known.fold(Attributes::new(), |all, (name, value): (_, Value)| all.with(name, value))
}

fn read_json(body: &[u8]) -> Result<Response, MessageError> {
    let mut json = JsonReader::new(body);
    let mut response = Response {
        id: None,
        code: 0,
        message: Box::default(),
        attributes: Attributes::new(),
        results: Vec::new(),
    };
    let mut has_status = false;
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "requestId" if json.peek()? == Kind::Null => json.read_null()?,
            "requestId" => response.id = Some(read_json_id(&mut json)?),
            "status" => {
                read_json_status(&mut json, &mut response)?;
                has_status = true;
            }
            "result" => {
                json.begin_object()?;
                while let Some(key) = json.next_key()? {
                    match &*key {
                        "data" => response.results = result_read::read_data(&mut json)?,
                        _ => json.skip_value()?,
                    }
                }
            }
            _ => return Err(json.error(format!("{} is not part of a response", quoted(&key))).into()),
        }
    }
    json.finish()?;
    if !has_status {
        return Err(MessageError::invalid(0, "the response has no `status`"));
    }
    Ok(response)
}

fn read_json_status(json: &mut JsonReader<'_>, response: &mut Response) -> Result<(), JsonError> {
    let mut has_code = false;
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "code" => {
                let offset = json.offset();
                let code = result_read::read(json)?.into_value().and_then(|value| value.as_i64());
                let code = code.and_then(|code| i32::try_from(code).ok());
                let reason = || "an integer of 32 bits expected".to_owned();
                response.code = code.ok_or_else(|| JsonError { offset, reason: reason() })?;
                has_code = true;
            }
            "message" if json.peek()? == Kind::Null => json.read_null()?,
            "message" => response.message = json.read_string()?.into(),
            "attributes" if json.peek()? == Kind::Null => json.read_null()?,
            "attributes" => response.attributes = attributes(result_read::read_members(json)?),
            _ => json.skip_value()?,
        }
    }
    if has_code { Ok(()) } else { Err(json.error("the status before this place has no `code`")) }
}
