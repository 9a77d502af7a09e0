//! Queries: lists requests that run, and cancels them: one's own, and those of databases that one administers.

use crate::http::admin::answer::{AdminAnswer, AdminResult};
use crate::http::admin::call::AdminCall;
use crate::http::error::HttpError;
use crate::query_registry::QueryEntry;
use axum::http::StatusCode;
use serde::Serialize;

#[derive(Serialize)]
struct QueryList {
    queries: Vec<QueryEntry>,
}

/// `GET /queries`, from the oldest.
///
/// # Errors
/// None.
pub async fn list(call: AdminCall) -> AdminResult {
    let queries = call.shared.core.queries.list(&call.principal);
    Ok(AdminAnswer::json(&QueryList { queries }))
}

/// `DELETE /queries/ID`: the query ends soon, but one whose commit waits for the disk.
///
/// # Errors
/// 404 if there is none of this number, or if the user may not know of it.
pub async fn cancel(call: AdminCall) -> AdminResult {
    let id = call.parameter("query");
    let cancelled = id.parse().ok().and_then(|id| call.shared.core.queries.cancel(id, &call.principal));
    let cancelled = cancelled.ok_or_else(|| {
        let text = format!("no query {id:?} runs, or it is one of others: GET /queries lists those that run");
        HttpError::new(StatusCode::NOT_FOUND, "not_found", text)
    })?;
    let user = cancelled.user.map_or_else(String::new, |user| format!(" of the user {user:?}"));
    Ok(AdminAnswer::nothing().noted(format!("one{user} in the database {:?}", cancelled.database)))
}
