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
const READY_ON_FULL_DISK: &str =
    "ready\ndegraded: a disk is full: commits that need room are refused until there is some\n";

/// The process answers.
pub async fn alive() -> &'static str {
    "ok\n"
}

/// Requests are answered. A second line says what is degraded meanwhile, without names: commits that a full disk refuses.
///
/// # Errors
/// 503 with the reason, without names: the server stops, or a database writes nothing more.
pub async fn ready(State(shared): State<Arc<Shared>>) -> Result<&'static str, HttpError> {
    if *shared.phase.borrow() != ServerPhase::Serving {
        return Err(HttpError::busy("the server stops"));
    }
    if shared.core.databases.has_failures() {
        return Err(HttpError::busy("a database could not be opened or closed"));
    }
    // A commit may be installed meanwhile, which no network thread waits for.
    let asking = tokio::task::spawn_blocking(move || {
        let mut is_disk_full = false;
        for served in shared.core.databases.all() {
            let Ok(open) = served.begin(CancelFlag::default()) else { continue };
            if let Some(reason) = WriteHealth::of(open.database()).reason() {
                return Err(reason);
            }
            is_disk_full |= open.is_disk_full();
        }
        Ok(is_disk_full)
    });
    match asking.await {
        Ok(Ok(false)) => Ok(READY),
        Ok(Ok(true)) => Ok(READY_ON_FULL_DISK),
        Ok(Err(reason)) => Err(HttpError::busy(reason)),
        Err(_) => Err(Failure::internal().into()),
    }
}
