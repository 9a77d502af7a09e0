//! End reason: why the server ends a connection, and how a WebSocket says so.

use axum::extract::ws::{CloseFrame, close_code};

/// Why the server ends a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// Too many log-ins failed.
    LoginFailed,
    /// The user was removed, or has another password.
    LoginEnded,
    /// The client sent nothing for too long.
    Idle,
    /// A message of the client did not end in time.
    EndlessMessage,
}

impl EndReason {
    /// How a WebSocket is closed.
    #[must_use]
    pub fn close_frame(self) -> CloseFrame {
        let (code, text) = match self {
            Self::LoginFailed => (close_code::POLICY, "log-ins failed"),
            Self::LoginEnded => {
                (close_code::POLICY, "the user was removed or has another password: log in again")
            }
            Self::EndlessMessage => (close_code::POLICY, "a message did not end in time"),
            Self::Idle => (close_code::AWAY, "the connection was idle"),
        };
        CloseFrame { code, reason: text.into() }
    }
}
