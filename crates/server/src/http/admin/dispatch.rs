//! Dispatch: what every request to administer goes through before and behind its handler.
//!
//! ```text
//! log-in ──> role ──> quota ──> body ──> handler ──> audit record ──> answer
//! ```
//!
//! A change goes on when its client leaves, since half of one is none, and has its record in any case.

use crate::client::Client;
use crate::databases::name::check_database_name;
use crate::failure::Failure;
use crate::http::admin::answer::AdminResult;
use crate::http::admin::call::{AdminCall, CallContent, DATABASE};
use crate::http::admin::document::check_content_type;
use crate::http::admin::route::{AdminRoute, Input, Need};
use crate::http::basic_login::log_in;
use crate::http::body;
use crate::http::error::HttpError;
use crate::security::access::Principal;
use crate::security::quota::Quota;
use crate::server_phase::ServerPhase;
use crate::shared::Shared;
use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use evergraph_protocol::request::read::RequestLimits;
use evergraph_storage::planted::{Bug, planted};
use std::sync::Arc;

/// Parts of a path, by the names that the route gives them.
type Parameters = Vec<(Box<str>, Box<str>)>;

/// Answers a request for `route`.
pub async fn answer(
    route: &'static AdminRoute,
    shared: Arc<Shared>,
    client: Arc<Client>,
    request: Request,
) -> Response {
    let answered = handle(route, shared, client, request).await;
    answered.map_or_else(|error| error.into_response(), |answer| answer.response)
}

async fn handle(
    route: &'static AdminRoute,
    shared: Arc<Shared>,
    client: Arc<Client>,
    request: Request,
) -> AdminResult {
    let (mut head, body) = request.into_parts();
    let core = &shared.core;
    let login = log_in(core, &client, &head.headers).await?;
    let principal = core.principal(client.address(), login);
    let parameters = RawPathParams::from_request_parts(&mut head, &())
        .await
        .map_err(|_| HttpError::new(StatusCode::BAD_REQUEST, "invalid", "a part of the path is not UTF-8"))?;
    let parameters: Parameters = parameters.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let database = parameters.iter().find(|(name, _)| **name == *DATABASE).map(|(_, value)| value.clone());
    check_need(route.need, &principal, database.as_deref())?;
    if *shared.phase.borrow() != ServerPhase::Serving {
        return Err(HttpError::busy("the server stops"));
    }
    let quota = principal.user().map(|user| core.quotas.take(user, Quota::Requests)).transpose();
    let quota = quota.map_err(HttpError::busy)?;
    let content = read_content(route.input, &shared, &head.headers, body).await?;
    let change = route.change.map(|what| {
        let others = parameters.iter().filter(|(name, _)| **name != *DATABASE);
        let others: Vec<String> = others.map(|(_, value)| format!("{value:?}")).collect();
        let what = if others.is_empty() { what.to_owned() } else { format!("{what}: {}", others.join(", ")) };
        ChangeRecord { principal: principal.clone(), database, what: Some(what) }
    });
    let call = AdminCall::new(Arc::clone(&shared), principal, head.headers, parameters, content);
    let handling = (route.handler)(call);
    let Some(change) = change else {
        // What is sent for long, a file or the rows of an algorithm, is a request until it is sent.
        let answered = handling.await;
        return answered.map(|answer| answer.holding(quota));
    };
    let changing = tokio::spawn(async move {
        let answered = handling.await;
        change.write(&answered);
        drop(quota);
        answered
    });
    changing.await.map_err(|_| HttpError::from(Failure::internal()))?
}

/// Refuses whoever may not send this. What the path names need not exist: nobody learns that without a role on it.
fn check_need(need: Need, principal: &Principal, database: Option<&str>) -> Result<(), HttpError> {
    if planted(Bug::AdminRolesUnchecked) {
        return Ok(());
    }
    match (need, database) {
        (Need::OnDatabase(least), Some(name)) => {
            check_database_name(name).map_err(|error| HttpError::from(&error))?;
            principal.on(name).role_of_at_least(least)?;
        }
        (Need::OnEveryDatabase, _) => principal.check_administrator_of_all()?,
        (Need::LogIn, _) => {}
        // A route without the name that its need is about.
        (Need::OnDatabase(_), None) => return Err(Failure::internal().into()),
    }
    Ok(())
}

async fn read_content(
    input: Input,
    shared: &Shared,
    headers: &HeaderMap,
    body: Body,
) -> Result<CallContent, HttpError> {
    match input {
        Input::Nothing => Ok(CallContent::None),
        Input::Stream => Ok(CallContent::Stream(body)),
        Input::Document if body.is_end_stream() => Ok(CallContent::None),
        Input::Document => {
            check_content_type(headers)?;
            let bytes_max = RequestLimits::default().bytes_max;
            let time_max = shared.core.options.body_time_max;
            let body = body::read(headers, body, bytes_max, time_max, &shared.body_room).await?;
            Ok(CallContent::Document(body))
        }
    }
}

/// The record of a change, which is written once, whatever becomes of it.
struct ChangeRecord {
    principal: Principal,
    database: Option<Box<str>>,
    /// What is changed; `None` once it is written.
    what: Option<String>,
}

impl ChangeRecord {
    fn write(mut self, answered: &AdminResult) {
        let Some(what) = self.what.take() else { return };
        let (outcome, more) = match answered {
            Ok(answer) => ("done", answer.note.as_deref()),
            Err(error) => ("failed", Some(&*error.message)),
        };
        self.write_as(outcome, &more.map_or_else(|| what.clone(), |more| format!("{what}: {more}")));
    }

    fn write_as(&self, outcome: &str, detail: &str) {
        if !planted(Bug::ChangesUnrecorded) {
            self.principal.log_change(outcome, self.database.as_deref(), detail);
        }
    }
}

impl Drop for ChangeRecord {
    fn drop(&mut self) {
        if let Some(what) = self.what.take() {
            self.write_as(
                "unknown",
                &format!("{what}: the server stopped, or failed at it because of a defect"),
            );
        }
    }
}
