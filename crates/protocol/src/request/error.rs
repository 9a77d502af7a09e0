//! `RequestError`: why a request cannot be carried out, and the response that says so.

use std::error::Error as StdError;
use std::fmt;

use evergraph_graph::error::ErrorKind;
use evergraph_query::gremlin::bytecode::instruction_position::ReadError;
use uuid::Uuid;

use crate::error::MessageError;
use crate::response::status::Status;

/// Why a request cannot be carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestError {
    /// The request's id; `None` if the error is before it.
    pub id: Option<Uuid>,
    /// The status of the response: 498 of a malformed request, 499 of unknown operations and wrong arguments, 597 of
    /// bytecode that no query can contain.
    pub status: Status,
    /// What a user can do about it.
    pub kind: ErrorKind,
    /// What is wrong, with its place: a byte of the message's body, an argument or an instruction.
    pub message: String,
}

impl RequestError {
    /// The request has wrong arguments: `message` names the argument, what was expected and what was found.
    #[must_use]
    pub fn arguments(id: Uuid, message: impl Into<String>) -> Self {
        let (status, kind) = (Status::InvalidRequestArguments, ErrorKind::Invalid);
        Self { id: Some(id), status, kind, message: message.into() }
    }

    /// The message is no request. The id is known if the error is behind it.
    #[must_use]
    pub fn malformed(id: Option<Uuid>, error: &MessageError) -> Self {
        Self { id, status: Status::MalformedRequest, kind: error.kind, message: error.to_string() }
    }

    /// The argument `argument` cannot be read.
    pub(crate) fn argument(id: Uuid, argument: &str, error: ReadError) -> Self {
        let status =
            if error.is_malformed() { Status::MalformedRequest } else { Status::ServerErrorEvaluation };
        let error = error.told();
        let message = match argument {
            // The instruction says where it is.
            "gremlin" => error.message,
            name => format!("argument `{name}`: {}", error.message),
        };
        Self { id: Some(id), status, kind: error.kind, message }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for RequestError {}
