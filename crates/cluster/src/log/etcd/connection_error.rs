//! Error of a connection: whether the request that it broke off can have gone out.

use std::error::Error;
use std::fmt;

/// Why a request has no response.
#[derive(Debug)]
pub(super) enum SendError {
    /// The connection was closed before anything of the request went out.
    NotSent(hyper::Error),
    /// The connection broke, and the request may have arrived.
    Broken(hyper::Error),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSent(_) => "the connection was closed",
            Self::Broken(_) => "the connection broke",
        })
    }
}

impl Error for SendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NotSent(error) | Self::Broken(error) => Some(error),
        }
    }
}
