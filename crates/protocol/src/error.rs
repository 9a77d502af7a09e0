//! Errors of the codecs: a message that cannot be read, and a result that cannot be written.

use std::error::Error as StdError;
use std::fmt;

use evergraph_formats::json::read::JsonError;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::value::duration::Duration;

use crate::response::status::Status;

/// Why the bytes of a message cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageError {
    /// `invalid`, or `limit` if the message is too large or too deep.
    pub kind: ErrorKind,
    /// Bytes of the message's body before the error.
    pub offset: usize,
    /// What was expected there and what was found.
    pub reason: String,
}

impl MessageError {
    /// The bytes at `offset` are wrong.
    #[must_use]
    pub fn invalid(offset: usize, reason: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Invalid, offset, reason: reason.into() }
    }

    /// The bytes at `offset` exceed a limit, which `reason` names.
    #[must_use]
    pub fn limit(offset: usize, reason: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Limit, offset, reason: reason.into() }
    }
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.reason)
    }
}

impl StdError for MessageError {}

impl From<JsonError> for MessageError {
    fn from(error: JsonError) -> Self {
        Self::invalid(error.offset, error.reason)
    }
}

/// Why a value cannot be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum EncodeError {
    /// It takes more bytes than are allowed.
    TooLarge {
        /// The number of bytes that is allowed.
        limit: usize,
    },
    /// It is nested deeper than is allowed.
    TooDeep {
        /// The depth that is allowed.
        limit: usize,
    },
    /// The format has no form for it.
    Unsupported {
        /// What it is, and what to do instead.
        reason: String,
    },
    /// Its properties could not be read.
    Read(Error),
}

impl EncodeError {
    pub(crate) fn mixed_duration(duration: Duration) -> Self {
        let reason = format!(
            "the duration {duration} cannot be sent: TinkerPop's durations have either years, months and days or \
             hours, minutes and seconds; send its text, as with asString()"
        );
        Self::Unsupported { reason }
    }

    pub(crate) fn only_in_texts() -> Self {
        let reason = "only a text can express this: a word, a variable, the current time, a new UUID, an option of a \
                      step";
        Self::Unsupported { reason: reason.to_owned() }
    }

    /// The status of the response that reports it.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Read(error) => Status::of(error.kind()),
            Self::TooLarge { .. } | Self::TooDeep { .. } | Self::Unsupported { .. } => {
                Status::ServerErrorSerialization
            }
        }
    }

    /// What a user can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read(error) => error.kind(),
            Self::TooLarge { .. } | Self::TooDeep { .. } => ErrorKind::Limit,
            Self::Unsupported { .. } => ErrorKind::Invalid,
        }
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit } => write!(f, "one result takes more than {limit} bytes"),
            Self::TooDeep { limit } => write!(f, "a result is nested more than {limit} deep"),
            Self::Unsupported { reason } => f.write_str(reason),
            Self::Read(error) => error.fmt(f),
        }
    }
}

impl StdError for EncodeError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Read(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Error> for EncodeError {
    fn from(error: Error) -> Self {
        Self::Read(error)
    }
}
