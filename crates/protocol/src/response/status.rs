//! Status: the code of a response, as TinkerPop numbers them.
//!
//! | code | status | sent for |
//! |---|---|---|
//! | 200, 206 | success, partial content | the last frame of results, and every frame before it |
//! | 204 | no content | a query without results, commit, rollback, close |
//! | 401, 407 | unauthorized, authenticate | a failed log-in; the first request before one |
//! | 403 | forbidden | what the user's role does not allow |
//! | 498 | malformed request | bytes that are no request |
//! | 499 | invalid request arguments | an unknown operation or argument, or one of a wrong type |
//! | 500 | server error | everything else: damage, refusals of the operating system, a commit of unknown outcome |
//! | 595 | fail step | `fail()` |
//! | 596 | temporary | a conflict, or a busy database: nothing was written, run it again |
//! | 597 | evaluation | a wrong query; its attributes have line and column |
//! | 598 | timeout | a query that reached its time limit, or was cancelled |
//! | 599 | serialization | a result that cannot be sent |

use evergraph_graph::error::ErrorKind;

macro_rules! statuses {
    ($($(#[$about:meta])* $name:ident = $code:literal),+ $(,)?) => {
        /// The status of a response.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Status {
            $($(#[$about])* $name = $code,)+
        }

        impl Status {
            /// All of them, by ascending code.
            pub const ALL: &[Status] = &[$(Status::$name,)+];

            /// The status with this code; `None` if TinkerPop has no such code.
            #[must_use]
            pub const fn from_code(code: i32) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)+
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    /// The last frame of results.
    Success = 200,
    /// There are no results.
    NoContent = 204,
    /// A frame of results that others follow.
    PartialContent = 206,
    /// The log-in failed.
    Unauthorized = 401,
    /// The user may not do this.
    Forbidden = 403,
    /// The client must log in first; its request is answered afterwards.
    Authenticate = 407,
    /// The bytes are no request.
    MalformedRequest = 498,
    /// An operation or an argument is unknown or has a wrong type.
    InvalidRequestArguments = 499,
    /// The server failed.
    ServerError = 500,
    /// The query ran into `fail()`.
    ServerErrorFailStep = 595,
    /// Nothing was written; running the transaction again is safe and may succeed.
    ServerErrorTemporary = 596,
    /// The query is wrong.
    ServerErrorEvaluation = 597,
    /// The query reached its time limit or was cancelled.
    ServerErrorTimeout = 598,
    /// A result cannot be sent.
    ServerErrorSerialization = 599,
}

impl Status {
    /// Its code.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// Whether the request succeeded, so far.
    #[must_use]
    pub const fn is_success(self) -> bool {
        self.code() < 300
    }

    /// Whether no other response follows to the same request.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::PartialContent | Self::Authenticate)
    }

    /// The status of a query that failed with an error of this kind.
    ///
    /// A query that reached its time limit has the kind `limit` as well; whoever knows the reason answers
    /// [`Status::ServerErrorTimeout`].
    #[must_use]
    pub const fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Invalid | ErrorKind::NotFound => Self::ServerErrorEvaluation,
            ErrorKind::Conflict | ErrorKind::Busy => Self::ServerErrorTemporary,
            ErrorKind::Cancelled => Self::ServerErrorTimeout,
            // One of unknown outcome is not temporary, whose requests drivers send again.
            _ => Self::ServerError,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_read_back_as_its_status() {
        assert!(Status::ALL.is_sorted());
        for status in Status::ALL {
            assert_eq!(Status::from_code(status.code()), Some(*status));
        }
        assert_eq!(Status::from_code(404), None);
        assert_eq!(Status::of(ErrorKind::Conflict).code(), 596);
        assert_eq!(Status::of(ErrorKind::Unknown).code(), 500, "whatever is temporary may be run again");
    }
}
