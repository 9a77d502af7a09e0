//! Failure: an error as status, message and attributes of a response.

use evergraph_graph::error::{Error, ErrorKind};
use evergraph_protocol::error::EncodeError;
use evergraph_protocol::request::error::RequestError;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::status::Status;
use evergraph_query::error::{StopReason, TextError};
use evergraph_storage::planted::{Bug, planted};

/// Bytes of a message. A client can have its own text in one, and errors are sent whether it reads them or not.
const MESSAGE_BYTES_MAX: usize = 8 << 10;

/// Why a request failed, as its client reads it. There is never a stack trace.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// The status of the response.
    pub status: Status,
    /// For people.
    pub message: String,
    /// For programs.
    pub attributes: Attributes,
    is_of_server: bool,
    is_full_disk: bool,
}

impl Failure {
    fn new(status: Status, kind: ErrorKind, message: String) -> Self {
        let message = cut(message);
        // A driver that drops attributes, or half of the code, still has the word.
        let message = match kind {
            ErrorKind::Conflict if !message.contains("conflict") => format!("conflict: {message}"),
            _ => message,
        };
        let is_of_server = matches!(kind, ErrorKind::Io | ErrorKind::Corrupt | ErrorKind::Unknown);
        let attributes = Attributes::new().with_kind(kind);
        Self { status, message, attributes, is_of_server, is_full_disk: false }
    }

    /// The arguments of a request are wrong.
    #[must_use]
    pub fn arguments(message: impl Into<String>) -> Self {
        Self::new(Status::InvalidRequestArguments, ErrorKind::Invalid, message.into())
    }

    /// A request names a database that is not there.
    #[must_use]
    pub fn unknown_database(message: impl Into<String>) -> Self {
        Self::new(Status::InvalidRequestArguments, ErrorKind::NotFound, message.into())
    }

    /// The time of a request is over.
    #[must_use]
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(Status::ServerErrorTimeout, ErrorKind::Limit, message.into())
    }

    /// Nobody has logged in, or the log-in holds no longer.
    #[must_use]
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(Status::Unauthorized, ErrorKind::Invalid, message.into())
    }

    /// The user may not do this.
    #[must_use]
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(Status::Forbidden, ErrorKind::Invalid, message.into())
    }

    /// Nothing was done, because too much else is going on.
    #[must_use]
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(Status::ServerErrorTemporary, ErrorKind::Busy, message.into())
    }

    /// The query `id` was cancelled by its number.
    #[must_use]
    pub fn cancelled(id: u64) -> Self {
        let message =
            format!("the query was cancelled, by its user or an administrator, as query {id} of the server");
        Self::new(Status::ServerErrorTimeout, ErrorKind::Cancelled, message)
    }

    /// The server has a defect, which its log describes.
    #[must_use]
    pub fn internal() -> Self {
        let message =
            "the server failed at this request because of a defect, which its log describes".to_owned();
        let attributes = Attributes::new().with_unknown_outcome();
        // The panic has a record of its own.
        Self { status: Status::ServerError, message, attributes, is_of_server: false, is_full_disk: false }
    }

    /// Whether the server, its disk or its files are the cause, and not the request: whoever runs it should know. The
    /// message then names files, and nothing of the query.
    #[must_use]
    pub fn is_of_server(&self) -> bool {
        self.is_of_server
    }

    /// Whether the disk had no room: a limit to whoever writes, and not that of a query.
    #[must_use]
    pub fn is_full_disk(&self) -> bool {
        self.is_full_disk
    }

    /// Whether a conflict is the reason: nothing was written.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        let kind = self.attributes.get(Attributes::KIND).and_then(|kind| kind.as_str());
        kind == Some(ErrorKind::Conflict.name())
    }

    /// A commit of which nobody knows whether it was written.
    #[must_use]
    pub fn of_unknown_outcome(error: &Error) -> Self {
        let failure = Self::from(error);
        Self { attributes: failure.attributes.with_unknown_outcome(), ..failure }
    }
}

impl Failure {
    /// Whether the request ended because somebody asked it to.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let kind = self.attributes.get("kind").and_then(|kind| kind.as_str());
        kind == Some(ErrorKind::Cancelled.name())
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let status = match StopReason::of(error) {
            Some(StopReason::Fail(_)) => Status::ServerErrorFailStep,
            Some(StopReason::Timeout) => Status::ServerErrorTimeout,
            _ => Status::of(error.kind()),
        };
        let mut failure = Self::new(status, error.kind(), error.to_string());
        failure.is_full_disk = error.is_full_disk();
        failure.is_of_server |= failure.is_full_disk;
        if error.kind() == ErrorKind::Unknown {
            failure.attributes = failure.attributes.with_unknown_outcome();
        }
        if let Some(place) = error.cause::<TextError>().and_then(|error| error.place) {
            failure.attributes = failure.attributes.with_place(place);
        }
        failure
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        Self::new(error.status, error.kind, error.message)
    }
}

impl From<EncodeError> for Failure {
    fn from(error: EncodeError) -> Self {
        match &error {
            EncodeError::Read(read) => Self::from(read),
            _ => Self::new(error.status(), error.kind(), error.to_string()),
        }
    }
}

/// A message as far as it is sent.
fn cut(mut message: String) -> String {
    if message.len() > MESSAGE_BYTES_MAX && !planted(Bug::EndlessErrors) {
        let mut end = MESSAGE_BYTES_MAX;
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph::Database;
    use evergraph_graph::timestamp::Timestamp;
    use evergraph_graph::unknown_commit::UnknownCommit;
    use evergraph_query::error::LineColumn;
    use std::io;

    #[test]
    fn errors_have_the_status_the_kind_and_the_place_that_drivers_expect() {
        let db = Database::in_memory().unwrap();
        let of = |text: &str| Failure::from(db.gremlin(text).run().unwrap_err());
        let wrong = of("g.V().otu()");
        assert_eq!(wrong.status, Status::ServerErrorEvaluation);
        assert_eq!(wrong.attributes.place(), Some(LineColumn { line: 1, column: 7 }));
        assert_eq!(of("g.inject(1).fail('no')").status, Status::ServerErrorFailStep);
        let long = Failure::from(Error::invalid("ä".repeat(1 << 20))).message;
        assert!(long.len() < 9 << 10 && long.ends_with("ä…"), "{}", long.len());
        let conflict = Failure::from(Error::conflict("vertex 7 was changed"));
        assert_eq!(conflict.status, Status::ServerErrorTemporary);
        assert!(conflict.message.contains("conflict"));
        assert_eq!(conflict.attributes.get("kind").and_then(|kind| kind.as_str()), Some("conflict"));
        assert!(Failure::from(Error::new(ErrorKind::Io, "sync the log")).is_of_server());
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let full = Failure::from(Error::new(ErrorKind::Limit, "append to the log").because(full));
        assert!(full.is_of_server() && full.is_full_disk());
        assert!(!Failure::from(Error::new(ErrorKind::Limit, "1 GiB are taken")).is_of_server());
        assert!(!conflict.is_of_server() && !wrong.is_of_server());
        let lost = Failure::of_unknown_outcome(&Error::new(ErrorKind::Io, "sync the log"));
        assert!(lost.attributes.has_unknown_outcome());
        let commit = UnknownCommit { node: 2, incarnation: 0, number: 9, since: Timestamp(4), proof: 7 };
        let unknown = Failure::from(Error::from(commit));
        assert_eq!(unknown.status, Status::ServerError, "a driver must not send it again");
        assert!(unknown.attributes.has_unknown_outcome() && !unknown.is_conflict() && unknown.is_of_server());
        assert_eq!(unknown.attributes.get("kind").and_then(|kind| kind.as_str()), Some("unknown"));
        assert!(unknown.message.contains("2.0.9@4"), "{}", unknown.message);
    }
}
