//! `SourceError`: why a source cannot do what it was asked for.

use std::io;
use std::time::Duration;

use evergraph_graph::bytes::DecodeError;
use evergraph_graph::error::{Error, ErrorKind};
use thiserror::Error;

use crate::wire::error::WireError;
use crate::wire::server_error::ServerError;

/// What sources return.
pub type SourceResult<T> = std::result::Result<T, SourceError>;

/// Why a source cannot do what it was asked for. `doing` is a verb in the present, and names the server.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The server refused; its SQLSTATE tells the callers what to do.
    #[error("{doing}: {error}")]
    Server {
        /// What was being done.
        doing: String,
        /// The server's error.
        error: Box<ServerError>,
    },
    /// The conversation cannot go on.
    #[error("{doing}: {error}")]
    Wire {
        /// What was being done.
        doing: String,
        /// Why.
        error: WireError,
    },
    /// A message of logical decoding or a row cannot be read.
    #[error("{doing}: {error}")]
    Damaged {
        /// What was being done.
        doing: String,
        /// Where, and what was expected.
        error: DecodeError,
    },
    /// The connection broke, or could not be made.
    #[error("{doing}: {error}")]
    Io {
        /// What was being done.
        doing: String,
        /// The system's error.
        error: io::Error,
    },
    /// The server was silent for too long.
    #[error("{doing}: no answer within {} s", .limit.as_secs_f64())]
    Late {
        /// What was being done.
        doing: String,
        /// The limit.
        limit: Duration,
    },
    /// The caller asked to stop.
    #[error("{doing}: cancelled on request")]
    Cancelled {
        /// What was being done.
        doing: String,
    },
    /// The request, or the source's configuration, must be mended first: the text says how.
    #[error("{0}")]
    Invalid(String),
    /// A certificate is not accepted: the server's here, or ours there.
    #[error("{0}")]
    Untrusted(String),
    /// This machine refused, not the source: its disk is full, or a temporary file cannot be written or read.
    #[error("{0}")]
    Local(Error),
}

impl SourceError {
    /// The SQLSTATE of the server's error, if it is one.
    #[must_use]
    pub fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Server { error, .. } => Some(&error.sqlstate),
            _ => None,
        }
    }

    /// Whether the same may succeed after a while on a new connection: the network, a restart, too many connections, a slot
    /// that its last reader has not given up yet.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Io { error, .. } => !matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
            ),
            Self::Late { .. } => true,
            // 08: connection; 53: resources; 57P: shutdown, crash, starting up; 55006: the slot is active; 40: serialization.
            Self::Server { error, .. } => {
                ["08", "53", "57P01", "57P02", "57P03", "55006", "40"].iter().any(|state| error.is(state))
            }
            _ => false,
        }
    }

    /// Whether the server refuses the log-in, or one of the two the other's certificate. Where the same was accepted before, somebody
    /// may be changing a password or a certificate, or keeps everybody out for a while.
    #[must_use]
    pub fn is_refused_log_in(&self) -> bool {
        match self {
            Self::Server { error, .. } => error.is("28"),
            Self::Untrusted(_) => true,
            // By TLS 1.3 a client hears only afterwards that its certificate is not accepted.
            Self::Io { error, .. } => error.get_ref().is_some_and(|cause| cause.is::<rustls::Error>()),
            _ => false,
        }
    }

    /// What a user can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Server { error, .. } if error.is("55006") => ErrorKind::Busy,
            Self::Server { error, .. } if error.is("53") => ErrorKind::Limit,
            Self::Server { error, .. } if error.is("3D000") || error.is("42704") || error.is("42P01") => {
                ErrorKind::NotFound
            }
            Self::Server { error, .. } if error.is("08") || error.is("57") => ErrorKind::Io,
            Self::Server { .. } | Self::Invalid(_) | Self::Untrusted(_) | Self::Wire { .. } => {
                ErrorKind::Invalid
            }
            Self::Damaged { .. } => ErrorKind::Corrupt,
            Self::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => ErrorKind::NotFound,
            Self::Io { .. } => ErrorKind::Io,
            Self::Late { .. } => ErrorKind::Limit,
            Self::Cancelled { .. } => ErrorKind::Cancelled,
            Self::Local(error) => error.kind(),
        }
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Local(error) => error,
            other => Error::new(other.kind(), other.to_string()).because(other),
        }
    }
}
