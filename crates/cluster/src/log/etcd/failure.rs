//! Failure: what became of a request that etcd did not carry out, by what etcd or the connection says.
//!
//! ```text
//! not taken         it never went out, or the log-in had run out      another connection may carry it
//! refused           etcd refused it before it did anything            every member would
//! no room           etcd is full; a put that took the last room is    every member would
//!                   carried out, and answered with the same text
//! member unfit      the same, for the member has no leader            another member may take it
//! compacted, future the revision is gone, or not there yet
//! unknown           everything else: it may have happened             another member from now on
//! ```
//!
//! An append that is answered with `Unavailable` must never happen, so only what is certain is in the upper rows: a
//! request that the connection gave back, and the texts that etcd answers with before it proposes a change to the
//! cluster, or when the cluster has agreed on it and every member drops it alike. Codes of gRPC do not decide, because
//! proxies and libraries use the same ones.

use crate::log::etcd::connection_error::SendError;
use crate::log::etcd::wire::StatusResponse;
use crate::log::shared_log::LogError;
use crate::planted::{Bug, planted};
use std::error::Error;
use tonic::{Code, Status};

const AUTH_NOT_ENABLED: &str = "etcdserver: authentication is not enabled";
const COMPACTED: &str = "etcdserver: mvcc: required revision has been compacted";
const FUTURE_REVISION: &str = "etcdserver: mvcc: required revision is a future revision";
const NO_SPACE: &str = "etcdserver: mvcc: database space exceeded";

/// What a member's status names while etcd takes no put.
const NO_SPACE_ALARM: &str = "NOSPACE";

/// The log-in ran out, or users were changed since.
const LOGIN_EXPIRED: [&str; 2] =
    ["etcdserver: invalid auth token", "etcdserver: revision of auth store is old"];

const REFUSALS: [&str; 6] = [
    "etcdserver: request is too large",
    "etcdserver: too many requests",
    "etcdserver: user name is empty",
    "etcdserver: permission denied",
    "etcdserver: key is not provided",
    // By an alarm that every member raises at the same place of the log.
    "etcdserver: corrupt cluster",
];

const UNFIT_MEMBERS: [&str; 3] =
    ["etcdserver: no leader", "etcdserver: not capable", "etcdserver: rpc not supported for learner"];

/// What a member says of a request larger than `--max-request-bytes`, before etcd sees it.
const TOO_LARGE_FOR_GRPC: &str = "grpc: received message larger than max";

/// A request without the answer that it should have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CallFailure {
    pub(super) kind: FailureKind,
    /// What etcd or the network says, and what to do, if that is known.
    pub(super) reason: String,
}

/// What became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FailureKind {
    /// Nothing: it did not go out, or its log-in had run out. Another connection may carry it.
    NotTaken,
    /// Nothing, and another member would refuse it as well.
    Refused,
    /// Nobody can say: etcd is full. It says so of puts that it refuses, and of one that it carries out beside others
    /// which took the last room meanwhile (`quotaApplierV3`, from 3.4 to 3.7).
    NoRoom,
    /// Nothing: the member has no leader, or does not serve clients.
    MemberUnfit,
    /// Nothing: it names a revision that was forgotten.
    Compacted,
    /// Nothing: it names a revision that is not there yet.
    FutureRevision,
    /// Nobody can say. The member or the way to it has failed.
    Unknown,
}

impl CallFailure {
    /// By the status that came in place of an answer.
    pub(super) fn of(status: &Status) -> Self {
        Self { kind: kind_of(status), reason: reason_of(status) }
    }

    /// Nobody could be reached, for `reason`.
    pub(super) fn not_sent(reason: String) -> Self {
        Self { kind: FailureKind::NotTaken, reason }
    }

    /// Whatever came of it, nobody knows, for `reason`.
    pub(super) fn unknown(reason: impl Into<String>) -> Self {
        Self { kind: FailureKind::Unknown, reason: reason.into() }
    }

    /// As the answer to an append: `Unavailable` only if it will never happen.
    pub(super) fn of_append(self) -> LogError {
        match self.kind {
            FailureKind::NotTaken | FailureKind::Refused | FailureKind::MemberUnfit => {
                LogError::Unavailable { reason: self.reason }
            }
            FailureKind::NoRoom
            | FailureKind::Compacted
            | FailureKind::FutureRevision
            | FailureKind::Unknown => LogError::UnknownOutcome,
        }
    }

    /// Whether the connection is used no more.
    pub(super) fn is_of_connection(&self) -> bool {
        match self.kind {
            FailureKind::NotTaken | FailureKind::MemberUnfit | FailureKind::Unknown => true,
            FailureKind::Refused
            | FailureKind::NoRoom
            | FailureKind::Compacted
            | FailureKind::FutureRevision => false,
        }
    }
}

/// Whether a log-in was refused because this etcd has no users.
pub(super) fn has_no_users(status: &Status) -> bool {
    status.message() == AUTH_NOT_ENABLED
}

/// What a status says, for people.
pub(super) fn reason_of(status: &Status) -> String {
    match status.source() {
        Some(source) => with_causes(source),
        None if status.message().is_empty() => status.code().to_string(),
        None if status.message() == NO_SPACE => no_room(),
        None => status.message().to_owned(),
    }
}

/// That etcd is full, and what to do.
pub(super) fn no_room() -> String {
    format!(
        "{NO_SPACE}: when nodes have trimmed the log, run `etcdctl defrag` for each member, then `etcdctl alarm \
         disarm`; or raise --quota-backend-bytes first"
    )
}

/// Whether a member's status says that etcd takes no put until somebody makes room.
pub(super) fn has_no_room(status: &StatusResponse) -> bool {
    status.errors.iter().any(|error| error.contains(NO_SPACE_ALARM))
}

/// An error and what caused it, without what the cause only repeats.
pub(super) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

fn kind_of(status: &Status) -> FailureKind {
    let error = status.source().and_then(|source| source.downcast_ref::<SendError>());
    if let Some(SendError::NotSent(_)) = error {
        return FailureKind::NotTaken;
    }
    match status.message() {
        COMPACTED => FailureKind::Compacted,
        FUTURE_REVISION => FailureKind::FutureRevision,
        NO_SPACE => FailureKind::NoRoom,
        message if LOGIN_EXPIRED.contains(&message) => FailureKind::NotTaken,
        message if REFUSALS.contains(&message) => FailureKind::Refused,
        message if UNFIT_MEMBERS.contains(&message) => FailureKind::MemberUnfit,
        message if message.starts_with(TOO_LARGE_FOR_GRPC) => FailureKind::Refused,
        // Whatever listens there has no such method.
        _ if status.code() == Code::Unimplemented => FailureKind::Refused,
        _ if status.code() == Code::Unavailable && planted(Bug::TimeoutRefused) => FailureKind::Refused,
        _ => FailureKind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
    use std::fmt;

    #[derive(Debug)]
    struct Broken(Option<Box<Self>>, &'static str);

    impl fmt::Display for Broken {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.1)
        }
    }

    impl Error for Broken {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.0.as_deref().map(|cause| cause as &(dyn Error + 'static))
        }
    }

    fn kind(code: Code, message: &str) -> FailureKind {
        CallFailure::of(&Status::new(code, message)).kind
    }

    #[test]
    fn only_what_is_certain_is_refused() {
        use FailureKind::{Compacted, FutureRevision, MemberUnfit, NoRoom, NotTaken, Refused, Unknown};
        for (code, message, expected) in [
            (Code::ResourceExhausted, NO_SPACE, NoRoom),
            (Code::InvalidArgument, "etcdserver: request is too large", Refused),
            (Code::ResourceExhausted, "grpc: received message larger than max (3 vs. 2)", Refused),
            // etcd 3.4 forgets this one's code.
            (Code::Unknown, "etcdserver: too many requests", Refused),
            (Code::PermissionDenied, "etcdserver: permission denied", Refused),
            (Code::Unimplemented, "unknown service etcdserverpb.KV", Refused),
            (Code::Unauthenticated, "etcdserver: invalid auth token", NotTaken),
            (Code::Unavailable, "etcdserver: no leader", MemberUnfit),
            (Code::OutOfRange, COMPACTED, Compacted),
            (Code::OutOfRange, FUTURE_REVISION, FutureRevision),
            (Code::Unavailable, "etcdserver: request timed out", Unknown),
            (
                Code::Unavailable,
                "etcdserver: request timed out, possibly due to previous leader failure",
                Unknown,
            ),
            (Code::Unavailable, "etcdserver: leader changed", Unknown),
            (Code::Unavailable, "etcdserver: server stopped", Unknown),
            (Code::Unavailable, "", Unknown),
            (Code::DeadlineExceeded, "context deadline exceeded", Unknown),
            (Code::Cancelled, "", Unknown),
            // Of a proxy, which may have sent it on.
            (Code::PermissionDenied, "", Unknown),
            (Code::ResourceExhausted, "grpc: trying to send message larger than max", Unknown),
            (Code::Internal, "Missing response message.", Unknown),
        ] {
            assert_eq!(kind(code, message), expected, "{code}: {message}");
        }
        assert!(has_no_users(&Status::new(Code::FailedPrecondition, AUTH_NOT_ENABLED)));
    }

    #[test]
    fn an_append_is_unavailable_only_if_it_never_happens() {
        let answer = |code, message| CallFailure::of(&Status::new(code, message)).of_append();
        let too_large = answer(Code::InvalidArgument, "etcdserver: request is too large");
        assert!(matches!(too_large, LogError::Unavailable { .. }));
        assert_eq!(
            answer(Code::ResourceExhausted, NO_SPACE),
            LogError::UnknownOutcome,
            "it may have had room"
        );
        assert!(matches!(answer(Code::Unavailable, UNFIT_MEMBERS[0]), LogError::Unavailable { .. }));
        assert_eq!(answer(Code::Unavailable, "etcdserver: request timed out"), LogError::UnknownOutcome);
        assert_eq!(CallFailure::unknown("no answer").of_append(), LogError::UnknownOutcome);
        let unsent = CallFailure::not_sent("refused".to_owned()).of_append();
        assert_eq!(unsent, LogError::Unavailable { reason: "refused".to_owned() });
    }

    #[test]
    fn a_connection_that_failed_is_left_and_one_that_refused_is_not() {
        let is_left = |code, message| CallFailure::of(&Status::new(code, message)).is_of_connection();
        assert!(!is_left(Code::ResourceExhausted, NO_SPACE));
        assert!(!is_left(Code::OutOfRange, COMPACTED));
        assert!(is_left(Code::Unavailable, "etcdserver: no leader"));
        assert!(is_left(Code::Unauthenticated, "etcdserver: invalid auth token"));
        assert!(is_left(Code::Unknown, "anything"));
        assert!(CallFailure::unknown("no answer").is_of_connection());
    }

    #[test]
    fn a_reason_says_what_to_do_or_what_happened() {
        let full = reason_of(&Status::new(Code::ResourceExhausted, NO_SPACE));
        assert!(full.contains("etcdctl alarm disarm") && full.contains("trimmed"), "{full}");
        let errors = vec!["memberID:7 alarm:NOSPACE ".to_owned()];
        assert!(has_no_room(&StatusResponse { errors, ..StatusResponse::default() }));
        assert!(!has_no_room(&StatusResponse::default()));
        assert_eq!(
            reason_of(&Status::new(Code::Unavailable, "etcdserver: no leader")),
            "etcdserver: no leader"
        );
        assert!(!reason_of(&Status::new(Code::Unavailable, "")).is_empty());
        let inner = Broken(None, "connection reset by peer");
        let outer = Broken(Some(Box::new(inner)), "http2 error");
        let broken = Status::from_error(Box::new(outer));
        assert_eq!(reason_of(&broken), "http2 error: connection reset by peer");
        assert_eq!(CallFailure::of(&broken).kind, FailureKind::Unknown);
    }

    #[test]
    fn planted_bugs_are_found() {
        let certain = only_what_is_certain_is_refused;
        assert_found(Bug::TimeoutRefused, certain, "etcdserver: request timed out");
    }
}
