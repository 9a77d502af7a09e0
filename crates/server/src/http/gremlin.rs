//! `/gremlin` by HTTP: queries, as Gremlin Server answers them.
//!
//! | request | meaning |
//! |---|---|
//! | POST with plain JSON | `gremlin` with `bindings`, `language`, `aliases`, `requestId`, options of the query |
//! | POST with a driver's message | Content-Type `application/vnd.gremlin-v3.0+json` or `application/vnd.graphbinary-v1.0` |
//! | GET with parameters | the same as plain JSON, for queries that only read |
//!
//! Source: TinkerPop 3.8, `HttpGremlinEndpointHandler` of Gremlin Server.

use crate::answer::binary::Binary;
use crate::answer::document::{Document, failure_document, http_status};
use crate::answer::format::AnswerFormat;
use crate::answer::lines::Lines;
use crate::answer::table::Table;
use crate::client::Client;
use crate::databases::name::DEFAULT_ALIAS;
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::http::accept::AnswerType;
use crate::http::basic_login::{log_in, unauthorized};
use crate::http::body::{self, RequestBody};
use crate::http::error::HttpError;
use crate::http::response::respond;
use crate::message_meter::Sender;
use crate::request_context::WriteRule;
use crate::security::access::Principal;
use crate::server_phase::ServerPhase;
use crate::shared::Shared;
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use evergraph_protocol::format::Format;
use evergraph_protocol::request::error::RequestError;
use evergraph_protocol::request::operation::Request as GremlinRequest;
use evergraph_protocol::request::read::RequestLimits;
use evergraph_protocol::response::status::Status;
use evergraph_storage::planted::{Bug, planted};
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::sync::Arc;
use uuid::{Builder, Uuid};

/// A body that is longer is read on a thread of its own, so that it delays no other connection.
const SHORT_BODY_BYTES: usize = 64 << 10;

/// Content types of plain JSON: what curl says, and what says nothing, is JSON as well.
const PLAIN_TYPES: [&str; 4] =
    ["application/json", "application/x-www-form-urlencoded", "text/json", "text/plain"];

/// Why a query has no answer of its own.
enum Refusal {
    /// It may not be known what it asks for.
    Http(HttpError),
    /// It could not be read.
    Unreadable(RequestError),
    /// It was read, or its client may not ask for anything.
    Query(Option<Uuid>, Failure),
}

impl From<RequestError> for Refusal {
    fn from(error: RequestError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<HttpError> for Refusal {
    fn from(error: HttpError) -> Self {
        Self::Http(error)
    }
}

/// Answers a query.
pub async fn answer(shared: Arc<Shared>, client: Arc<Client>, request: Request) -> Response {
    let (head, mut body) = request.into_parts();
    let answer_type = AnswerType::of(&head.headers);
    // An error is told in this format if the request does not say which one it wants.
    let told_type = answer_type.clone().unwrap_or_default();
    let answered = async {
        check_method(&head)?;
        if planted(Bug::BodiesBeforeLogin) {
            read_body(&shared, &head.headers, std::mem::take(&mut body)).await?;
        }
        let login = log_in(&shared.core, &client, &head.headers).await?;
        let principal = shared.core.principal(client.address(), login);
        check_roles(&shared, &principal)?;
        answer_type.map_err(|why| Refusal::Query(None, Failure::arguments(why)))?;
        let (request, write_rule) = match head.method {
            Method::POST => (read_post(&shared, &head.headers, body).await?, WriteRule::ByRole),
            _ => (read_get(head.uri.query().unwrap_or_default())?, WriteRule::Never),
        };
        run(&shared, principal, request, told_type, write_rule).await
    };
    let mut response = answered.await.unwrap_or_else(|refusal| refuse(refusal, told_type));
    // A page that may connect reads what it is answered, as with Gremlin Server.
    if let Some(origin) = head.headers.get(header::ORIGIN) {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

/// Refuses methods that are none of a query, and pages of other sites, which need no script to make a browser send a GET.
fn check_method(head: &Parts) -> Result<(), Refusal> {
    if head.method != Method::GET && head.method != Method::POST {
        let text = "a query is sent by POST, or by GET if it only reads";
        let error = HttpError::new(StatusCode::METHOD_NOT_ALLOWED, "invalid", text);
        return Err(error.with_header(header::ALLOW, HeaderValue::from_static("GET, POST")).into());
    }
    let site = head.headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if head.method == Method::GET && site.is_some_and(|site| site != b"same-origin" && site != b"none") {
        let text = "a page of another site may not send queries by GET";
        return Err(HttpError::new(StatusCode::FORBIDDEN, "forbidden", text).into());
    }
    Ok(())
}

/// Refuses whoever has no role on any database, before anything of the body is read.
fn check_roles(shared: &Shared, principal: &Principal) -> Result<(), Refusal> {
    for served in shared.core.databases.all() {
        match principal.role_on(served.name()) {
            Ok(Some(_)) => return Ok(()),
            Ok(None) => {}
            Err(failure) => return Err(Refusal::Query(None, failure)),
        }
    }
    // 403, and 499 for an administrator of all databases if there is none.
    principal.on(DEFAULT_ALIAS).role().map(drop).map_err(|failure| Refusal::Query(None, failure))
}

async fn read_body(shared: &Shared, headers: &HeaderMap, body: Body) -> Result<RequestBody, HttpError> {
    let options = &shared.core.options;
    let bytes_max = RequestLimits::default().bytes_max;
    body::read(headers, body, bytes_max, options.body_time_max, &shared.body_room).await
}

async fn read_post(shared: &Shared, headers: &HeaderMap, body: Body) -> Result<GremlinRequest, Refusal> {
    let content = BodyType::of(headers)?;
    let body = read_body(shared, headers, body).await?;
    let new_id = new_id()?;
    let read = move || content.read(&body.bytes, new_id);
    let read = match body_length(headers) {
        Some(length) if length <= SHORT_BODY_BYTES => read(),
        _ => {
            let _decoder = shared.core.messages.decoder(Sender::Known).await;
            let reading = tokio::task::spawn_blocking(read).await;
            reading.map_err(|_| HttpError::from(Failure::internal()))?
        }
    };
    Ok(read?)
}

fn body_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn read_get(query: &str) -> Result<GremlinRequest, Refusal> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let pairs = pairs.map(|(name, value)| Ok((decoded(name)?, decoded(value)?)));
    let pairs = pairs.collect::<Result<Vec<_>, HttpError>>()?;
    let borrowed = pairs.iter().map(|(name, value)| (&**name, &**value));
    Ok(GremlinRequest::from_parameters(borrowed, new_id()?)?)
}

/// A part of an URL without its escapes.
fn decoded(part: &str) -> Result<String, HttpError> {
    let spaced = part.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().map(Cow::into_owned);
    decoded.map_err(|_| HttpError::invalid("the parameters of the URL are not UTF-8"))
}

fn new_id() -> Result<Uuid, HttpError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| HttpError::from(Failure::internal()))?;
    Ok(Builder::from_random_bytes(bytes).into_uuid())
}

/// What the body of a POST is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BodyType {
    Plain,
    /// A message as over WebSocket, with or without its MIME type in front.
    Message(Format),
}

impl BodyType {
    fn of(headers: &HeaderMap) -> Result<Self, HttpError> {
        let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(Self::Plain) };
        let name = value.to_str().unwrap_or("?").split(';').next().unwrap_or_default();
        let name = name.trim().to_ascii_lowercase();
        if PLAIN_TYPES.contains(&&*name) {
            return Ok(Self::Plain);
        }
        Format::from_mime_type(&name).map(Self::Message).ok_or_else(|| {
            let [json, binary] = [Format::GraphSon, Format::GraphBinary].map(Format::mime_type);
            let text =
                format!("the Content-Type of a query is application/json, {json} or {binary}, not {name:?}");
            HttpError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid", text)
        })
    }

    fn read(self, body: &[u8], new_id: Uuid) -> Result<GremlinRequest, RequestError> {
        let limits = RequestLimits::default();
        match self {
            Self::Plain => GremlinRequest::read_http(body, new_id, &limits),
            Self::Message(Format::GraphSon) if body.first() == Some(&b'{') => {
                GremlinRequest::read(Format::GraphSon, body, &limits)?.check_http()
            }
            Self::Message(format) => match GremlinRequest::read_message(body, &limits)? {
                (found, request) if found == format => request.check_http(),
                (found, request) => {
                    let (found, told) = (found.mime_type(), format.mime_type());
                    let text = format!("the body is {found}, and the header Content-Type says {told}");
                    Err(RequestError::arguments(request.id, text))
                }
            },
        }
    }
}

async fn run(
    shared: &Shared,
    principal: Principal,
    request: GremlinRequest,
    answer_type: AnswerType,
    write_rule: WriteRule,
) -> Result<Response, Refusal> {
    let id = request.id;
    let refused = |failure| Refusal::Query(Some(id), failure);
    if *shared.phase.borrow() != ServerPhase::Serving {
        return Err(refused(Failure::busy("the server stops")));
    }
    let answer: Box<dyn AnswerFormat> = match answer_type {
        AnswerType::GraphSon(_) => Box::new(Document::new(id)),
        AnswerType::Lines(_) => Box::new(Lines::default()),
        AnswerType::Arrow => Box::new(Table),
        AnswerType::GraphBinary => Box::new(Binary::new(id)),
    };
    let exchange = Exchange::start(&shared.core, principal, request, answer, write_rule).map_err(refused)?;
    Ok(respond(shared.exchanges.enter(exchange), answer_type.content_type()).await?)
}

/// The response to a request that was refused.
fn refuse(refusal: Refusal, answer_type: AnswerType) -> Response {
    let (id, failure, status) = match refusal {
        Refusal::Http(error) => return error.into_response(),
        Refusal::Unreadable(error) => (error.id, Failure::from(error), 400),
        Refusal::Query(id, failure) => {
            let status = http_status(&failure);
            (id, failure, status)
        }
    };
    if failure.status == Status::Unauthorized {
        return unauthorized(&failure.message).into_response();
    }
    let AnswerType::GraphSon(content_type) = answer_type else {
        return HttpError::from(failure).into_response();
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // For its headers.
    let error = HttpError { status, ..HttpError::from(failure.clone()) };
    error.response(content_type, failure_document(id, &failure))
}
