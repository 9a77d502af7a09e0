//! `/healthz` and `/readyz`: whether the process answers, and whether it can be sent requests. Neither needs a log-in.

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
    let served = shared.core.databases.all();
    let mut open = served.iter().filter_map(|served| served.begin(CancelFlag::default()).ok());
    if open.any(|open| open.database().store().log().is_poisoned()) {
        let text = "a write to the disk failed: a database takes no more commits until it is opened again";
        return Err(HttpError::busy(text));
    }
    Ok("ready\n")
}
