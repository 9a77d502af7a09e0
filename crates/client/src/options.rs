//! Options: how a client connects.

use crate::interrupt::Interrupt;
use crate::password::Password;
use evergraph_protocol::format::Format;
use std::path::PathBuf;
use std::time::Duration;

/// How a client connects, and how much it lets a server send.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The password of the user that the URL names.
    pub password: Option<Password>,
    /// Whom to trust, and what to show, where the URL asks for TLS.
    pub tls: TlsOptions,
    /// How long connecting may take: the name's look-up, TCP, TLS, the upgrade to WebSocket, and the log-in.
    pub connect_time_max: Duration,
    /// How long a server may send nothing while an answer is awaited. It is asked for a sign of life after half of it.
    pub silence_max: Duration,
    /// Bytes of a message of the server; reading one takes up to 50 times as much memory.
    pub message_bytes_max: usize,
    /// Bytes of a table, such as the rows of an algorithm.
    pub table_bytes_max: u64,
    /// Bytes of results that are gathered before they are given out, by `Results::collect` and `Results::next_values`. Those that
    /// are read one by one have no limit.
    pub results_bytes_max: u64,
    /// Format of messages, both ways. GraphBinary, the default, is smaller and faster; GraphSON can be read by people.
    pub format: Format,
    /// Connections that are kept for further requests while nobody uses them.
    pub idle_connections_max: usize,
    /// Stops connecting; each query has a flag of its own.
    pub interrupt: Interrupt,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            password: None,
            tls: TlsOptions::default(),
            connect_time_max: Duration::from_secs(30),
            silence_max: Duration::from_secs(60),
            message_bytes_max: 16 << 20,
            table_bytes_max: 4 << 30,
            results_bytes_max: 4 << 30,
            format: Format::GraphBinary,
            idle_connections_max: 8,
            interrupt: Interrupt::default(),
        }
    }
}

/// Certificates of a client, all in PEM.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct TlsOptions {
    /// Roots that sign servers' certificates, in place of the system's.
    pub root: Option<PathBuf>,
    /// The client's own certificate, for servers that demand one, and those between it and its root.
    pub certificate: Option<PathBuf>,
    /// The key of the client's certificate.
    pub key: Option<PathBuf>,
}

impl TlsOptions {
    /// Whether nothing is chosen.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
