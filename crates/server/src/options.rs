//! Options: limits of a server, and their defaults.

use std::time::Duration;

/// How a server works.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Threads that run queries; 0 for one a core.
    pub workers: usize,
    /// How long a query runs before others have their turn.
    pub slice: Duration,
    /// How long a query may take, until its client has read its last result. A request may ask for less.
    pub query_timeout: Duration,
    /// Bytes that a query may hold beside the graph.
    pub query_memory_bytes: u64,
    /// Results of an answer, equal ones counted each; an answer with more ends with an error.
    pub result_rows_max: u64,
    /// Bytes of an answer, as they are sent; a longer one ends with an error.
    pub result_bytes_max: u64,
    /// Bytes of results that wait for the client, a connection.
    pub outbox_bytes_max: usize,
    /// Requests of a connection that are not answered yet; further ones are read when one is.
    pub requests_max: usize,
    /// Connections, those included that have not sent a request yet; further ones are refused.
    pub connections_max: usize,
    /// Connections of a user; a further log-in is refused.
    pub user_connections_max: usize,
    /// Requests of a user that are not answered yet; further ones are refused.
    pub user_requests_max: usize,
    /// How long a client may take to send the head of a request, TLS included for its first one.
    pub handshake_time_max: Duration,
    /// How long a client may take to send the body of a request by HTTP.
    pub body_time_max: Duration,
    /// How long a connection by HTTP may be without a request.
    pub http_idle_max: Duration,
    /// How long a client may send nothing before it has logged in.
    pub login_idle_max: Duration,
    /// How long a client may send nothing while no request of it runs.
    pub idle_max: Duration,
    /// How long a transaction may stay open without a request.
    pub transaction_idle_max: Duration,
    /// How long a transaction may stay open.
    pub transaction_time_max: Duration,
    /// How long requests may go on when the server stops.
    pub stop_grace: Duration,
    /// Requests that take this long have a record in the log, without their values; `None` for no such records.
    pub slow_query_time: Option<Duration>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            workers: 0,
            slice: Duration::from_millis(5),
            query_timeout: Duration::from_secs(60),
            query_memory_bytes: 1 << 30,
            // More than a client reads within the time of a query, by a network of 10 Gbit/s: they end what runs away where
            // that time was raised, and no export.
            result_rows_max: 100_000_000,
            result_bytes_max: 64 << 30,
            outbox_bytes_max: 64 << 10,
            requests_max: 256,
            connections_max: 4096,
            user_connections_max: 1024,
            user_requests_max: 1024,
            handshake_time_max: Duration::from_secs(10),
            body_time_max: Duration::from_secs(60),
            http_idle_max: Duration::from_secs(120),
            login_idle_max: Duration::from_secs(300),
            idle_max: Duration::from_secs(3600),
            transaction_idle_max: Duration::from_secs(60),
            transaction_time_max: Duration::from_secs(600),
            stop_grace: Duration::from_secs(5),
            slow_query_time: Some(Duration::from_secs(1)),
        }
    }
}
