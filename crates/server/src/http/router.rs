//! Router: which path is answered by what, and which requests are refused before.
//!
//! | path | methods |
//! |---|---|
//! | `/gremlin` | GET with `Upgrade: websocket`, POST, GET |
//! | `/healthz`, `/readyz`, `/metrics` | GET |
//! | those of administration | [`ROUTES`] |

use crate::client::Client;
use crate::client_socket::DepartureWatch;
use crate::connection::Connection;
use crate::http::admin::dispatch;
use crate::http::admin::route::AdminRoute;
use crate::http::admin::routes::ROUTES;
use crate::http::error::HttpError;
use crate::http::{gremlin, health, metrics};
use crate::security::audit::{AuditEvent, AuditRecord};
use crate::server_phase::ServerPhase;
use crate::shared::Shared;
use crate::websocket;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any, get, on};
use axum::{Extension, Router};
use std::sync::Arc;

/// Bytes of a message: a request is limited to 10 MiB, and its head comes on top.
const MESSAGE_BYTES_MAX: usize = (10 << 20) + 1024;
/// Buffers of a connection, which most connections leave empty.
const READ_BUFFER_BYTES: usize = 8 << 10;
const WRITE_BUFFER_BYTES: usize = 16 << 10;

/// What answers the requests of a server.
pub fn router(shared: &Arc<Shared>) -> Router {
    let router = Router::new()
        .route("/gremlin", any(answer_gremlin))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::answer));
    let router = ROUTES.iter().fold(router, |router, route| router.route(route.path, administration(route)));
    router
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .layer(from_fn_with_state(Arc::clone(shared), check_headers))
        .with_state(Arc::clone(shared))
}

/// Answers requests for one route of administration.
fn administration(route: &'static AdminRoute) -> MethodRouter<Arc<Shared>> {
    let answer =
        move |State(shared), Extension(client), request| dispatch::answer(route, shared, client, request);
    on(route.method.filter(), answer)
}

/// Refuses pages of other sites, whatever they ask for.
async fn check_headers(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let host = only_text(request.headers(), &header::HOST);
    let origin = only_text(request.headers(), &header::ORIGIN);
    match shared.hosts.refusal(host.as_deref(), origin.as_deref()) {
        Some(why) => {
            let record = AuditRecord::new(AuditEvent::Connection, "refused").detail(&why);
            let client = request.extensions().get::<Arc<Client>>();
            shared.core.audit.write(&client.map_or(record, |client| record.address(client.address())));
            HttpError::new(StatusCode::FORBIDDEN, "forbidden", why).into_response()
        }
        None => next.run(request).await,
    }
}

/// The text of a header that a request has once. Bytes that are no text, and several headers, name nobody.
fn only_text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    let text = value.to_str().ok().filter(|_| values.next().is_none());
    Some(text.unwrap_or("?").to_owned())
}

async fn answer_gremlin(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    Extension(departure): Extension<DepartureWatch>,
    request: Request,
) -> Response {
    if request.method() != Method::GET || !request.headers().contains_key(header::UPGRADE) {
        return gremlin::answer(shared, client, request).await;
    }
    let (mut head, _) = request.into_parts();
    match WebSocketUpgrade::from_request_parts(&mut head, &()).await {
        Ok(upgrade) => become_websocket(shared, client, departure, upgrade),
        Err(refusal) => refusal.into_response(),
    }
}

fn become_websocket(
    shared: Arc<Shared>,
    client: Arc<Client>,
    departure: DepartureWatch,
    upgrade: WebSocketUpgrade,
) -> Response {
    if *shared.phase.borrow() != ServerPhase::Serving {
        return HttpError::busy("the server stops").into_response();
    }
    let options = shared.core.options;
    upgrade
        .max_message_size(MESSAGE_BYTES_MAX)
        .max_frame_size(MESSAGE_BYTES_MAX)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .on_upgrade(move |socket| async move {
            let connection = Connection::new(&shared.core, client);
            let key = Arc::as_ptr(&connection) as usize;
            shared.connections().insert(key, Arc::clone(&connection));
            let phase = shared.phase.clone();
            websocket::serve(socket, connection, departure, options.requests_max, phase).await;
            shared.connections().remove(&key);
        })
}

async fn unknown_path(request: Request) -> HttpError {
    let text = format!("there is no path {:?}", request.uri().path());
    HttpError::new(StatusCode::NOT_FOUND, "not_found", text)
}

async fn unknown_method(request: Request) -> HttpError {
    let text = format!("the path {:?} has no method {}", request.uri().path(), request.method());
    HttpError::new(StatusCode::METHOD_NOT_ALLOWED, "invalid", text)
}
