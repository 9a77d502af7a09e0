//! `WireError`: why a conversation with a server cannot go on.

use evergraph_graph::bytes::DecodeError;
use thiserror::Error;

/// Why a conversation with a server cannot go on. The server's own errors are events.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum WireError {
    /// Bytes that are no message of the protocol.
    #[error("the server sent a message `{letter}` that cannot be read: {error}")]
    Malformed {
        /// The message's letter.
        letter: char,
        /// Where in the message, and what was expected.
        error: DecodeError,
    },
    /// A message longer than any that is expected.
    #[error("the server announced a message `{letter}` of {length} bytes; at most {length_max} are accepted")]
    TooLong {
        /// The message's letter.
        letter: char,
        /// Its length.
        length: u64,
        /// The limit.
        length_max: usize,
    },
    /// A message that cannot come now: the other end is no PostgreSQL server.
    #[error("the server sent a message `{letter}` {when}: it may be no PostgreSQL server")]
    Unexpected {
        /// The message's letter.
        letter: char,
        /// What was going on.
        when: &'static str,
    },
    /// The log-in cannot be done.
    #[error("log in: {0}")]
    Login(String),
    /// The caller asked for something that cannot be done now.
    #[error("{asked} is not possible {when}")]
    Misused {
        /// What was asked for.
        asked: &'static str,
        /// What was going on.
        when: &'static str,
    },
    /// A text that the caller gave has a zero byte, which ends texts in the protocol.
    #[error("{0} has a zero byte, which the protocol cannot send")]
    ZeroByte(&'static str),
}
