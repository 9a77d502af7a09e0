//! `/healthz` and `/readyz`: whether the process answers, and whether it can be sent requests. Neither needs a log-in.

use crate::databases::write_health::WriteHealth;
use crate::failure::Failure;
use crate::http::error::HttpError;
use crate::server_phase::ServerPhase;
use crate::shared::Shared;
use axum::extract::State;
use evergraph_graph::cancel::CancelFlag;
use std::sync::Arc;

/// What a server says that is ready.
const READY: &str = "ready\n";
const FULL_DISK: &str = "a disk is full: commits that need room are refused until there is some";

/// The process answers.
pub async fn alive() -> &'static str {
    "ok\n"
}

/// Requests are answered. A second line says what is degraded meanwhile, without names: commits that a full disk refuses, a
/// replica that does not follow its source, a node of a cluster that does not reach the log, does not answer or lacks partitions.
///
/// # Errors
/// 503 with the reason, without names: the server stops, a database writes nothing more, or a node of a cluster has stopped.
pub async fn ready(State(shared): State<Arc<Shared>>) -> Result<String, HttpError> {
    if *shared.phase.borrow() != ServerPhase::Serving {
        return Err(HttpError::busy("the server stops"));
    }
    if shared.core.databases.has_failures() {
        return Err(HttpError::busy("a database could not be opened or closed"));
    }
    // A commit may be installed meanwhile, which no network thread waits for.
    let asking = tokio::task::spawn_blocking(move || {
        let mut degraded: Vec<String> = Vec::new();
        for served in shared.core.databases.all() {
            // One that an administrator has closed follows nothing, as nobody reads it.
            let Ok(open) = served.begin(CancelFlag::default()) else { continue };
            degraded.extend(served.follower().and_then(|follower| follower.problem()));
            degraded.extend(served.member().and_then(|member| member.problem()).map(str::to_owned));
            if let Some(reason) = WriteHealth::of(open.database()).reason() {
                return Err(reason);
            }
            degraded.extend(open.is_disk_full().then(|| FULL_DISK.to_owned()));
        }
        degraded.sort_unstable();
        degraded.dedup();
        Ok(degraded)
    });
    match asking.await {
        Ok(Ok(degraded)) if degraded.is_empty() => Ok(READY.to_owned()),
        Ok(Ok(degraded)) => Ok(format!("{READY}degraded: {}\n", degraded.join("; "))),
        Ok(Err(reason)) => Err(HttpError::busy(reason)),
        Err(_) => Err(Failure::internal().into()),
    }
}
