//! Reads requests that come by HTTP: the plain JSON of Gremlin Server's endpoint, and the parameters of an URL.
//!
//! ```text
//! {"gremlin": text, "bindings": {name: value}, "language", "aliases": {"g": name}, "requestId", "evaluationTimeout", ...}
//! ?gremlin=text&bindings.name=text&language=...&aliases.g=name&requestId=UUID&evaluationTimeout=500
//! ```
//!
//! The members are arguments of `eval`, which lie beside each other here. Values of bindings are plain JSON or have
//! GraphSON's types; in an URL they are strings.
//!
//! Source: TinkerPop 3.8, `HttpHandlerUtil` of Gremlin Server. Differs: an unknown member is an error, which names it, and
//! values may have types.

use evergraph_formats::json::read::{JsonReader, Kind};
use evergraph_graph::value::Value;
use evergraph_query::error::{Span, quoted};
use evergraph_query::gremlin::bytecode::assembly::scalar;
use evergraph_query::gremlin::bytecode::instruction_position::ReadError;
use evergraph_query::gremlin::call::{Argument, ArgumentKind};
use std::collections::HashSet;
use uuid::Uuid;

use crate::error::MessageError;
use crate::graphson::bytecode_read::{ArgumentReader, ReaderError};
use crate::request::argument_check::{RequestArgument, UncheckedRequest};
use crate::request::error::RequestError;
use crate::request::operation::{Operation, Request};
use crate::request::read::{RequestLimits, read_json_id};

/// Members of the query whose values are numbers.
const NUMBERS: [&str; 3] = ["batchSize", "evaluationTimeout", "scriptEvaluationTimeout"];

impl Request {
    /// Reads the body of a POST in plain JSON; nothing may follow it. `new_id` is its id unless it has one.
    ///
    /// Cost: one pass.
    ///
    /// # Errors
    /// 498 for a body that is no JSON object or passes a limit, 499 for unknown members and wrong values.
    pub fn read_http(body: &[u8], new_id: Uuid, limits: &RequestLimits) -> Result<Self, RequestError> {
        let bytes_max = limits.bytes_max.min(u32::MAX as usize);
        if body.len() > bytes_max {
            let reason = format!("a request of {} bytes is above the limit of {bytes_max}", body.len());
            return Err(RequestError::malformed(None, &MessageError::limit(0, reason)));
        }
        let mut read = PlainRequest::new(new_id);
        let known = read.members(body, limits);
        known.map_err(|error| RequestError { id: Some(read.id), ..error })?;
        read.check()
    }

    /// Reads the parameters of a GET, decoded. Of a name that comes twice the first one counts, as in Gremlin Server.
    ///
    /// # Errors
    /// 499 for unknown parameters and wrong values.
    pub fn from_parameters<'a>(
        parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
        new_id: Uuid,
    ) -> Result<Self, RequestError> {
        let mut read = PlainRequest::new(new_id);
        let (mut bindings, mut aliases) = (Vec::new(), Vec::new());
        let mut names = HashSet::new();
        for (name, value) in parameters {
            if !names.insert(name) {
                continue;
            }
            if let Some(name) = name.strip_prefix("bindings.") {
                bindings.push((name, value));
            } else if let Some(name) = name.strip_prefix("aliases.") {
                aliases.push((name, value));
            } else if name == "requestId" {
                read.id = Uuid::try_parse(value).map_err(|_| {
                    read.wrong(format!("the argument `requestId`: a UUID expected, found {}", quoted(value)))
                })?;
            } else {
                let value = match value.parse::<i64>() {
                    Ok(number) if NUMBERS.contains(&name) => Value::I64(number),
                    _ => Value::from(value),
                };
                read.arguments.push((name.into(), RequestArgument::Argument(scalar(value))));
            }
        }
        for (name, entries) in [("bindings", bindings), ("aliases", aliases)] {
            if !entries.is_empty() {
                let text = |text: &str| Argument { kind: scalar(text), span: Span::default() };
                let map = entries.into_iter().map(|(name, value)| (text(name), text(value))).collect();
                read.arguments.push((name.into(), RequestArgument::Argument(ArgumentKind::Map(map))));
            }
        }
        read.check()
    }

    /// Whether HTTP can carry it out, which has neither sessions nor log-ins of its own.
    ///
    /// # Errors
    /// 499 with what it is.
    pub fn check_http(self) -> Result<Self, RequestError> {
        let what = match &self.operation {
            Operation::Bytecode { options, .. } | Operation::Eval { options, .. }
                if options.session.is_none() =>
            {
                return Ok(self);
            }
            Operation::Authentication { .. } => {
                "a log-in: send user and password in the header Authorization"
            }
            _ => "a session: open a WebSocket, or send one query that does it all",
        };
        Err(RequestError::arguments(self.id, format!("a request by HTTP cannot be {what}")))
    }
}

/// A request of plain members, as far as it was read.
struct PlainRequest {
    id: Uuid,
    arguments: Vec<(Box<str>, RequestArgument)>,
}

impl PlainRequest {
    fn new(id: Uuid) -> Self {
        Self { id, arguments: Vec::new() }
    }

    fn members(&mut self, body: &[u8], limits: &RequestLimits) -> Result<(), RequestError> {
        let mut json = JsonReader::new(body);
        let mut reader = ArgumentReader::new(limits.levels());
        json.begin_object()?;
        while let Some(name) = json.next_key()? {
            match &*name {
                "requestId" if json.peek()? == Kind::Null => json.read_null()?,
                "requestId" => self.id = read_json_id(&mut json)?,
                "op" => {
                    let op = json.read_string()?;
                    if !["", "eval"].contains(&&*op) {
                        return Err(self.wrong(format!(
                            "a plain request by HTTP is a text to run; the operation {} has the Content-Type \
                             application/vnd.gremlin-v3.0+json or application/vnd.graphbinary-v1.0",
                            quoted(&op)
                        )));
                    }
                }
                name => {
                    let value = reader.read_argument(&mut json);
                    let value = value.map_err(|ReaderError(error)| -> RequestError {
                        let error: ReadError = error;
                        RequestError::argument(self.id, name, error)
                    })?;
                    self.arguments.push((name.into(), RequestArgument::Argument(value.kind)));
                }
            }
        }
        json.finish().map_err(RequestError::from)
    }

    fn check(self) -> Result<Request, RequestError> {
        let Self { id, arguments } = self;
        let request = UncheckedRequest { id, op: "eval".into(), processor: Box::default(), arguments };
        Ok(Request { id, operation: request.check()? })
    }

    fn wrong(&self, message: String) -> RequestError {
        RequestError::arguments(self.id, message)
    }
}
