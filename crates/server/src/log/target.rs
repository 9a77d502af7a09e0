//! Targets: what events of the log are about, for whoever filters them.

/// Begins all of them: events of other crates are not logged, since they may hold what clients sent.
pub const PREFIX: &str = "evergraph";

/// Start, reload and stop of the server, and its databases.
pub const SERVER: &str = "evergraph::server";
/// Connections that were refused, began or ended.
pub const CONNECTION: &str = "evergraph::connection";
/// Requests that failed because of the server.
pub const REQUEST: &str = "evergraph::request";
/// Panics: defects of the server.
pub const DEFECT: &str = "evergraph::defect";
/// Queries that took longer than the time limit of this log, without their values.
pub const SLOW_QUERY: &str = "evergraph::slow_query";
/// The log itself, and the audit log.
pub const LOG: &str = "evergraph::log";
