//! `HttpError`: why a request by HTTP failed, as status, headers and JSON.
//!
//! ```text
//! {"error": {"kind": "not_found", "message": "there is no path /gremlins"}}
//! ```

use crate::databases::name::NameIsTaken;
use crate::failure::Failure;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::status::Status;
use serde_json::json;
use std::error::Error as _;

/// When a client that met a busy server may try again, in seconds.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// Why a request failed.
#[derive(Clone, PartialEq, Debug)]
pub struct HttpError {
    /// The status of the response.
    pub status: StatusCode,
    /// The kind of the error, for programs.
    pub kind: String,
    /// For people.
    pub message: String,
    /// More for programs: the place of an error in a query, whether a commit's outcome is unknown.
    pub attributes: Attributes,
    /// A header that belongs to the status.
    pub header: Option<Box<(HeaderName, HeaderValue)>>,
}

impl HttpError {
    /// An error of this status and kind.
    #[must_use]
    pub fn new(status: StatusCode, kind: &str, message: impl Into<String>) -> Self {
        let (kind, message) = (kind.to_owned(), message.into());
        let is_busy = status == StatusCode::SERVICE_UNAVAILABLE;
        let busy = is_busy.then(|| Box::new((header::RETRY_AFTER, RETRY_AFTER)));
        Self { status, kind, message, attributes: Attributes::new(), header: busy }
    }

    /// The request is wrong.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorKind::Invalid.name(), message)
    }

    /// The server has too much to do.
    #[must_use]
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, ErrorKind::Busy.name(), message)
    }

    /// The same with a header.
    #[must_use]
    pub fn with_header(self, name: HeaderName, value: HeaderValue) -> Self {
        Self { header: Some(Box::new((name, value))), ..self }
    }

    /// The error as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let mut error = json!({"kind": self.kind, "message": self.message});
        for (name, value) in self.attributes.iter().filter(|(name, _)| *name != Attributes::KIND) {
            error[name] = match value.as_i64() {
                Some(number) => number.into(),
                None => value.as_str().map_or_else(|| value.to_string(), str::to_owned).into(),
            };
        }
        json!({"error": error})
    }

    /// The response with this body.
    #[must_use]
    pub fn response(&self, content_type: &'static str, body: impl Into<Body>) -> Response {
        let mut response = (self.status, [(header::CONTENT_TYPE, content_type)], body.into()).into_response();
        if let Some(header) = &self.header {
            response.headers_mut().insert(&header.0, header.1.clone());
        }
        response
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        self.response("application/json", format!("{}\n", self.json()))
    }
}

impl From<Failure> for HttpError {
    fn from(failure: Failure) -> Self {
        let kind = failure.attributes.get(Attributes::KIND).and_then(|kind| kind.as_str());
        let status = match failure.status {
            Status::Unauthorized | Status::Authenticate => StatusCode::UNAUTHORIZED,
            Status::Forbidden => StatusCode::FORBIDDEN,
            Status::ServerErrorTimeout => StatusCode::GATEWAY_TIMEOUT,
            Status::ServerErrorTemporary if failure.is_conflict() => StatusCode::CONFLICT,
            Status::ServerErrorTemporary => StatusCode::SERVICE_UNAVAILABLE,
            _ if failure.is_full_disk() => StatusCode::INSUFFICIENT_STORAGE,
            _ if kind == Some(ErrorKind::Limit.name()) => StatusCode::PAYLOAD_TOO_LARGE,
            // A part of a query that there isn't is no page that there isn't.
            _ if kind == Some(ErrorKind::NotFound.name()) => StatusCode::BAD_REQUEST,
            _ if kind == Some(ErrorKind::Invalid.name()) => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let kind = match failure.status {
            Status::Unauthorized | Status::Authenticate => "unauthorized",
            Status::Forbidden => "forbidden",
            Status::ServerErrorTimeout => "timeout",
            _ => kind.unwrap_or("internal"),
        };
        Self { attributes: failure.attributes.clone(), ..Self::new(status, kind, &*failure.message) }
    }
}

impl From<&Error> for HttpError {
    fn from(error: &Error) -> Self {
        let is_taken = error.source().is_some_and(|cause| cause.is::<NameIsTaken>());
        let status = match error.kind() {
            ErrorKind::Invalid if is_taken => StatusCode::CONFLICT,
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Limit if error.is_full_disk() => StatusCode::INSUFFICIENT_STORAGE,
            ErrorKind::Limit => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::Cancelled => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let attributes = match error.kind() {
            ErrorKind::Unknown => Attributes::new().with_unknown_outcome(),
            _ => Attributes::new(),
        };
        Self { attributes, ..Self::new(status, error.kind().name(), error.to_string()) }
    }
}
