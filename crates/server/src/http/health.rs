//! `/healthz` and `/readyz`: whether the process answers, and whether it can be sent requests. Neither needs a log-in.

use crate::databases::write_health::WriteHealth;
use crate::failure::Failure;
use crate::http::error::HttpError;
use crate::server_phase::ServerPhase;
use crate::shared::Shared;
use axum::extract::State;
use evergraph_graph::cancel::CancelFlag;
use std::sync::Arc;

/// The process answers.
pub async fn alive() -> &'static str {
    "ok\n"
}

/// Requests are answered.
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
        let served = shared.core.databases.all();
        let mut open = served.iter().filter_map(|served| served.begin(CancelFlag::default()).ok());
        open.find_map(|open| WriteHealth::of(open.database()).reason())
    });
    match asking.await {
        Ok(None) => Ok("ready\n"),
        Ok(Some(reason)) => Err(HttpError::busy(reason)),
        Err(_) => Err(Failure::internal().into()),
    }
}
