//! Errors, in the kinds that users act on.
//!
//! One table for every face: a Rust `match`, a Python exception, an HTTP status and a process exit
//! code all come from [`ErrorKind`].
//!
//! | kind | what to do | exit code |
//! |---|---|---|
//! | `invalid` | mend the request: its text names what is wrong; a query that reached its own `fail()` is one, too | 2 |
//! | `not_found` | the file, database or name isn't there | 3 |
//! | `conflict` | run the transaction again | 4 |
//! | `corrupt` | stored bytes are damaged: `evergraph check`, restore | 5 |
//! | `limit` | a stated limit was reached: wait, or raise it | 6 |
//! | `io` | the operating system refused; after a failed write the outcome may be unknown | 7 |
//! | `busy` | another process or thread holds it | 8 |
//! | `unknown` | nobody knows yet whether a commit has happened: learn that before it is run again | 10 |
//! | `cancelled` | it was asked to stop | 130 |

use crate::byte_size::ByteSize;
use std::error::Error as StdError;
use std::fmt;
use std::io;

/// What a user can do about an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request cannot be carried out as it is.
    Invalid,
    /// What the request names isn't there.
    NotFound,
    /// Another transaction was first. Nothing was changed; running it again is safe.
    Conflict,
    /// Stored bytes are not what was written.
    Corrupt,
    /// A stated limit was reached: memory, log space, counts.
    Limit,
    /// The operating system refused a read or a write.
    Io,
    /// Another process or thread holds what was asked for.
    Busy,
    /// Nobody knows yet whether a commit has happened. Nothing runs it again by itself, since that may do twice what it does. In
    /// a cluster its cause is an [`UnknownCommit`](crate::unknown_commit::UnknownCommit), the name to ask for its outcome by.
    Unknown,
    /// The caller asked to stop.
    Cancelled,
}

impl ErrorKind {
    /// All of them, in the order of the table above.
    pub const ALL: &[Self] = &[
        Self::Invalid,
        Self::NotFound,
        Self::Conflict,
        Self::Corrupt,
        Self::Limit,
        Self::Io,
        Self::Busy,
        Self::Unknown,
        Self::Cancelled,
    ];

    /// The kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The kind's name in JSON, logs and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Corrupt => "corrupt",
            Self::Limit => "limit",
            Self::Io => "io",
            Self::Busy => "busy",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
        }
    }

    /// The exit code of a program that ends with an error of this kind.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Invalid => 2,
            Self::NotFound => 3,
            Self::Conflict => 4,
            Self::Corrupt => 5,
            Self::Limit => 6,
            Self::Io => 7,
            Self::Busy => 8,
            // 9 is what `evergraph salvage` ends with if something is missing.
            Self::Unknown => 10,
            Self::Cancelled => 130,
        }
    }
}

/// What readers, writers and algorithms return when they fail: a kind, a text that names the thing
/// and what to do, and the cause underneath.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    text: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The result of anything that reads or writes a graph.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `kind` that says `text`.
    #[must_use]
    pub fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, text: text.into(), source: None }))
    }

    /// The request is wrong: `text` says how.
    #[must_use]
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, text)
    }

    /// Another transaction was first: `text` names what both wanted.
    #[must_use]
    pub fn conflict(text: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, text)
    }

    /// Names the cause underneath.
    #[must_use]
    pub fn because(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    /// Puts what was being done in front of the text: "open segment 7: ...".
    #[must_use]
    pub fn context(mut self, doing: impl fmt::Display) -> Self {
        self.0.text = format!("{doing}: {}", self.0.text);
        self
    }

    /// What a user can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether running the transaction again is safe and may succeed.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.0.kind == ErrorKind::Conflict
    }

    /// The causes underneath, from the nearest to the first.
    pub fn causes(&self) -> impl Iterator<Item = &(dyn StdError + 'static)> {
        std::iter::successors(self.source(), |cause| (*cause).source())
    }

    /// The nearest cause of type `T`.
    #[must_use]
    pub fn cause<T: StdError + 'static>(&self) -> Option<&T> {
        self.causes().find_map(|cause| cause.downcast_ref())
    }

    /// Whether a disk had no room: the same may succeed once somebody has freed some.
    #[must_use]
    pub fn is_full_disk(&self) -> bool {
        self.causes()
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .any(|system| matches!(system.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }
}

/// One transaction has more writes than it may: the cause of an error of kind `limit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionTooLarge {
    /// The bytes that its writes would count.
    pub bytes: u64,
    /// The bytes that they may count.
    pub bytes_max: u64,
}

impl fmt::Display for TransactionTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, bytes_max) = (ByteSize(self.bytes), ByteSize(self.bytes_max));
        write!(
            f,
            "the transaction would hold {bytes} of writes, and transaction_bytes_max is {bytes_max}: commit in parts, or raise \
             the limit"
        )
    }
}

impl StdError for TransactionTooLarge {}

impl From<TransactionTooLarge> for Error {
    fn from(cause: TransactionTooLarge) -> Self {
        Self::new(ErrorKind::Limit, cause.to_string()).because(cause)
    }
}

/// What processes share while a database is open is damaged, and nothing that is stored: the cause of an error of kind `corrupt`
/// that the next opening repairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DamagedSharedState;

impl fmt::Display for DamagedSharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("close the database everywhere and open it again")
    }
}

impl StdError for DamagedSharedState {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_kind_when_context_is_added() {
        let error = Error::conflict("property `balance` of v7 was changed").context("commit");
        assert!(error.is_conflict());
        assert_eq!(error.to_string(), "commit: property `balance` of v7 was changed");
    }

    #[test]
    fn a_full_disk_is_known_by_its_cause() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        assert!(
            Error::new(ErrorKind::Limit, "append to the log")
                .because(full())
                .context("commit")
                .is_full_disk()
        );
        assert!(
            Error::new(ErrorKind::Limit, "x")
                .because(Error::new(ErrorKind::Io, "y").because(full()))
                .is_full_disk()
        );
        assert!(!Error::new(ErrorKind::Limit, "1 GiB are taken").is_full_disk());
    }

    #[test]
    fn a_cause_is_found_by_its_type_below_others() {
        let cause = TransactionTooLarge { bytes: 3 << 30, bytes_max: 1 << 30 };
        let error = Error::new(ErrorKind::Limit, "V v0 has 9 edges").because(Error::from(cause));
        assert_eq!(error.cause::<TransactionTooLarge>(), Some(&cause));
        assert_eq!(error.causes().count(), 2);
        assert!(error.cause::<io::Error>().is_none());
    }

    #[test]
    fn no_two_kinds_share_an_exit_code() {
        let mut codes: Vec<_> = ErrorKind::ALL.iter().map(|kind| kind.exit_code()).collect();
        assert!(!codes.contains(&0) && !codes.contains(&1) && !codes.contains(&9), "they say something else");
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
        assert!(ErrorKind::ALL.iter().all(|kind| ErrorKind::from_name(kind.name()) == Some(*kind)));
    }
}
