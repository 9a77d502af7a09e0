//! Reads requests, from either format.
//!
//! ```text
//! GraphBinary   81  UUID (16)  op  processor  count (4)  { name  value }
//! GraphSON      {"requestId": UUID, "op": op, "processor": processor, "args": {name: value, ...}}
//! ```
//!
//! `op` and `processor` are strings; names and values of GraphBinary's arguments have type and flag. In JSON the UUID
//! may have its type, and the arguments may be of the type `g:Map`.
//!
//! Source: TinkerPop 3.8, "GraphBinary", Request and Response Messages; `RequestMessageSerializer`.

use evergraph_formats::graphson::typed::read_typed;
use evergraph_formats::json::read::{JsonError, JsonReader, Kind};
use evergraph_query::error::quoted;
use evergraph_query::gremlin::bytecode::assembly::Levels;
use evergraph_query::gremlin::bytecode::instruction_position::ReadError;
use uuid::Uuid;

use crate::error::MessageError;
use crate::format::Format;
use crate::graph_binary::binary_reader::{BinaryError, BinaryReader};
use crate::graph_binary::bytecode_read;
use crate::graph_binary::type_code;
use crate::graphson::bytecode_read as json_bytecode_read;
use crate::request::argument_check::{RequestArgument, UncheckedRequest, takes_bytecode};
use crate::request::error::RequestError;
use crate::request::operation::Request;

/// The first byte of a message in GraphBinary.
pub(crate) const VERSION: u8 = 0x81;

/// How large a request may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestLimits {
    /// Bytes of its body; below 2^32 in any case.
    pub bytes_max: usize,
    /// Instructions and collections around any argument. JSON has a limit of its own: 300 arrays and objects.
    pub depth_max: usize,
    /// Values inside of all arguments together; each takes some 50 bytes of memory.
    pub values_max: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { bytes_max: 10 << 20, depth_max: 256, values_max: 1 << 20 }
    }
}

impl RequestLimits {
    pub(crate) fn levels(&self) -> Levels {
        Levels::new(self.depth_max).with_arguments_max(self.values_max)
    }
}

impl Request {
    /// Reads a binary message: a MIME type and a request in that format. Returns the format as well, in which the
    /// client expects the responses.
    ///
    /// # Errors
    /// As [`Request::read`].
    pub fn read_message(message: &[u8], limits: &RequestLimits) -> Result<(Format, Self), RequestError> {
        let (format, body) = Format::split(message).map_err(|error| RequestError::malformed(None, &error))?;
        Ok((format, Self::read(format, body, limits)?))
    }

    /// Reads a request; nothing may follow it. A text message is one in GraphSON.
    ///
    /// Cost: one pass; in JSON one more over arguments that precede their operation.
    ///
    /// # Errors
    /// With the status to answer: see [`RequestError`]. The calls of bytecode are not checked.
    pub fn read(format: Format, body: &[u8], limits: &RequestLimits) -> Result<Self, RequestError> {
        let bytes_max = limits.bytes_max.min(u32::MAX as usize);
        if body.len() > bytes_max {
            let reason = format!("a request of {} bytes is above the limit of {bytes_max}", body.len());
            return Err(RequestError::malformed(None, &MessageError::limit(0, reason)));
        }
        let request = match format {
            Format::GraphBinary => read_binary(body, limits)?,
            Format::GraphSon => read_json(body, limits)?,
        };
        Ok(Self { id: request.id, operation: request.check()? })
    }
}

fn read_binary(body: &[u8], limits: &RequestLimits) -> Result<UncheckedRequest, RequestError> {
    let mut bytes = BinaryReader::new(body);
    let id = read_id(&mut bytes).map_err(|error| RequestError::malformed(None, &error.into()))?;
    let malformed = |error: BinaryError| RequestError::malformed(Some(id), &error.into());
    let op: Box<str> = bytes.read_string().map_err(malformed)?.into();
    let processor = bytes.read_string().map_err(malformed)?.into();
    let count = bytes.read_count(4).map_err(malformed)?;
    let mut reader = bytecode_read::ArgumentReader::new(bytes, limits.levels());
    let mut arguments: Vec<(Box<str>, RequestArgument)> = Vec::new();
    for _ in 0..count {
        let bytes = reader.position();
        bytes.require_header(type_code::STRING, "the name of an argument, a string,").map_err(malformed)?;
        let name: Box<str> = bytes.read_string().map_err(malformed)?.into();
        let value = if takes_bytecode(&op) && &*name == "gremlin" {
            reader.read_bytecode().map(RequestArgument::Bytecode)
        } else {
            reader.read_argument().map(|argument| RequestArgument::Argument(argument.kind))
        };
        let value = value.map_err(|error| RequestError::argument(id, &name, error))?;
        arguments.push((name, value));
    }
    reader.position().finish().map_err(malformed)?;
    Ok(UncheckedRequest { id, op, processor, arguments })
}

fn read_id(bytes: &mut BinaryReader<'_>) -> Result<Uuid, BinaryError> {
    let start = bytes.clone();
    match bytes.read_u8()? {
        VERSION => Ok(Uuid::from_bytes(bytes.read_array()?)),
        version => Err(start.malformed(format!("version {VERSION:#04x} expected, found {version:#04x}"))),
    }
}

fn read_json(body: &[u8], limits: &RequestLimits) -> Result<UncheckedRequest, RequestError> {
    let mut json = JsonReader::new(body);
    let members = JsonMembers::read(&mut json);
    let id = members.id;
    let malformed = |error: JsonError| RequestError::malformed(id, &error.into());
    if let Some(error) = members.error {
        return Err(malformed(error));
    }
    let missing = |name: &str| {
        RequestError::malformed(id, &MessageError::invalid(0, format!("the request has no `{name}`")))
    };
    let id = id.ok_or_else(|| missing("requestId"))?;
    let op = members.op.ok_or_else(|| missing("op"))?;
    let mut arguments = Vec::new();
    if let Some(mut json) = members.arguments {
        let mut reader = json_bytecode_read::ArgumentReader::new(limits.levels());
        let typed = read_typed(&mut json, |name, json| match name {
            "g:Map" => read_json_arguments(json, Shape::Entries, &op, id, &mut reader, &mut arguments),
            _ => Err(malformed(json.error(format!("a map expected, found the type {}", quoted(name))))),
        });
        let typed = typed.map_err(|error| RequestError { id: Some(id), ..error })?;
        if typed.is_none() {
            read_json_arguments(&mut json, Shape::Members, &op, id, &mut reader, &mut arguments)?;
        }
    }
    Ok(UncheckedRequest { id, op, processor: members.processor, arguments })
}

impl From<JsonError> for RequestError {
    fn from(error: JsonError) -> Self {
        Self::malformed(None, &error.into())
    }
}

/// How arguments by name are written in JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// `{name: value, ...}`.
    Members,
    /// `[name, value, ...]`.
    Entries,
}

fn read_json_arguments(
    json: &mut JsonReader<'_>,
    shape: Shape,
    op: &str,
    id: Uuid,
    reader: &mut json_bytecode_read::ArgumentReader,
    arguments: &mut Vec<(Box<str>, RequestArgument)>,
) -> Result<(), RequestError> {
    let malformed = |error: JsonError| RequestError::malformed(Some(id), &error.into());
    match shape {
        Shape::Members => json.begin_object(),
        Shape::Entries => json.begin_array(),
    }
    .map_err(malformed)?;
    loop {
        let name: Box<str> = match shape {
            Shape::Members => match json.next_key().map_err(malformed)? {
                Some(name) => name.into(),
                None => return Ok(()),
            },
            Shape::Entries => {
                if !json.next_element().map_err(malformed)? {
                    return Ok(());
                }
                let name: Box<str> = json.read_string().map_err(malformed)?.into();
                if !json.next_element().map_err(malformed)? {
                    return Err(malformed(
                        json.error(format!("the argument {} has no value", quoted(&name))),
                    ));
                }
                name
            }
        };
        let value = if takes_bytecode(op) && &*name == "gremlin" {
            reader.read_typed_bytecode(json).map(RequestArgument::Bytecode)
        } else {
            reader.read_argument(json).map(|argument| RequestArgument::Argument(argument.kind))
        };
        let value = value.map_err(|json_bytecode_read::ReaderError(error): _| -> RequestError {
            let error: ReadError = error;
            RequestError::argument(id, &name, error)
        })?;
        arguments.push((name, value));
    }
}

/// The members of a request in JSON; its arguments are not read yet, since they may precede the operation.
struct JsonMembers<'a> {
    id: Option<Uuid>,
    op: Option<Box<str>>,
    processor: Box<str>,
    arguments: Option<JsonReader<'a>>,
    /// Where reading stopped, beside the members that are known nevertheless: the response repeats the id.
    error: Option<JsonError>,
}

impl<'a> JsonMembers<'a> {
    fn read(json: &mut JsonReader<'a>) -> Self {
        let mut members =
            Self { id: None, op: None, processor: Box::default(), arguments: None, error: None };
        members.error = members.read_all(json).err();
        members
    }

    fn read_all(&mut self, json: &mut JsonReader<'a>) -> Result<(), JsonError> {
        json.begin_object()?;
        while let Some(key) = json.next_key()? {
            match &*key {
                "requestId" => self.id = Some(read_json_id(json)?),
                "op" => self.op = Some(json.read_string()?.into()),
                "processor" if json.peek()? == Kind::Null => json.read_null()?,
                "processor" => self.processor = json.read_string()?.into(),
                "args" => {
                    self.arguments = (json.peek()? != Kind::Null).then(|| json.clone());
                    json.skip_value()?;
                }
                _ => return Err(json.error(format!("{} is not part of a request", quoted(&key)))),
            }
        }
        json.finish()
    }
}

/// Reads a UUID, with its type or as a string.
pub(crate) fn read_json_id(json: &mut JsonReader<'_>) -> Result<Uuid, JsonError> {
    let typed = read_typed(json, |name, json| match name {
        "g:UUID" => read_uuid(json),
        _ => Err(json.error(format!("a UUID expected, found the type {}", quoted(name)))),
    })?;
    typed.map_or_else(|| read_uuid(json), Ok)
}

fn read_uuid(json: &mut JsonReader<'_>) -> Result<Uuid, JsonError> {
    let offset = json.offset();
    let text = json.read_string()?;
    let reason = || format!("a UUID expected, found {}", quoted(&text));
    Uuid::try_parse(&text).map_err(|_| JsonError { offset, reason: reason() })
}
