//! `Startup`: what a session begins with, and the settings that it must have.

use std::fmt;

/// Settings of every session, so that texts mean what [`crate::value`] reads: `(name, value)`. They are sent with the first
/// message, and so rank above those of the role, the database and the server.
pub const PINNED: [(&str, &str); 6] = [
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("TimeZone", "UTC"),
    ("IntervalStyle", "iso_8601"),
    ("extra_float_digits", "3"),
    ("bytea_output", "hex"),
];

/// Settings among [`PINNED`] that the server reports after the log-in, so that a pooler that drops them is noticed.
pub const REPORTED: [&str; 4] = ["client_encoding", "DateStyle", "TimeZone", "IntervalStyle"];

/// What a session begins with.
#[derive(Clone, Debug)]
pub struct Startup {
    /// Who logs in.
    pub user: String,
    /// The password, if there is one.
    pub password: Option<Password>,
    /// The database.
    pub database: String,
    /// What the session is called in `pg_stat_activity`.
    pub application_name: String,
    /// Command-line options for the server, such as `-c wal_sender_timeout=90s`.
    pub options: Option<String>,
    /// Whether the session is for queries, or for replication as well.
    pub purpose: Purpose,
    /// Whether the password may be sent as it is.
    pub clear_text: ClearText,
    /// What ties a log-in to the TLS connection, if there is one.
    pub channel_binding: Binding,
}

/// A password, which nothing shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Box<[u8]>);

impl Password {
    /// A password; PostgreSQL does not ask for UTF-8.
    #[must_use]
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Self {
        Self(bytes.into())
    }

    /// The password itself.
    pub(super) fn reveal(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(...)")
    }
}

/// What a session is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Purpose {
    /// Queries and COPY.
    Queries,
    /// Commands of replication as well; needs the role's right REPLICATION.
    Replication,
}

/// Whether a server may have the password as it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClearText {
    /// The connection is encrypted, or does not leave the machine.
    Allowed,
    /// Others may read along.
    Refused,
}

/// What ties a log-in by SCRAM to its TLS connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Binding {
    /// There is no TLS, or the server's certificate has no hash that is known here.
    None,
    /// The hash of the server's certificate (`tls-server-end-point`, RFC 5929).
    ServerEndPoint(Vec<u8>),
}

impl Startup {
    /// Names and values of the first message.
    pub(super) fn parameters(&self) -> Vec<(&str, &str)> {
        let mut parameters = vec![
            ("user", &*self.user),
            ("database", &self.database),
            ("application_name", &self.application_name),
        ];
        parameters.extend(PINNED);
        if let Some(options) = &self.options {
            parameters.push(("options", options));
        }
        if self.purpose == Purpose::Replication {
            parameters.push(("replication", "database"));
        }
        parameters
    }
}
