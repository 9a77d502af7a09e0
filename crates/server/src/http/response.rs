//! Response: the answer to a query as a body, which is streamed if it comes in parts.

use crate::exchange::ExchangeGuard;
use crate::http::error::HttpError;
use crate::outbox::{BodyPart, Frame, FrameKind};
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::io;

/// The Content-Type of an error.
const JSON: &str = "application/json";

/// The response to `exchange`, once the first part of its answer is there. Dropping it, or its body, cancels the query.
///
/// # Errors
/// 503 if the query was broken off before: the server stops, or its user is gone.
pub async fn respond(guard: ExchangeGuard, content_type: &'static str) -> Result<Response, HttpError> {
    let Some(first) = guard.exchange().outbox().next().await else {
        let text = "the query was broken off: the server stops, or its user was removed";
        return Err(HttpError::busy(text));
    };
    let is_failure = matches!(first.kind, FrameKind::Body(BodyPart::Whole(400..) | BodyPart::Failed(_)));
    // Only GraphSON tells errors as it tells results.
    let content_type = if is_failure && !content_type.contains("json") { JSON } else { content_type };
    let content_type = [(header::CONTENT_TYPE, HeaderValue::from_static(content_type))];
    if let FrameKind::Body(BodyPart::Whole(status) | BodyPart::Failed(status)) = first.kind {
        guard.exchange().outbox().sent(first.bytes.len());
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, content_type, Body::from(first.bytes)).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        return Ok(response);
    }
    let parts = Parts { guard, next: Some(first), sending: None, is_last: false };
    let body = Body::from_stream(futures_util::stream::unfold(parts, Parts::advance));
    Ok((content_type, body).into_response())
}

/// Parts of an answer that were not taken yet.
struct Parts {
    guard: ExchangeGuard,
    next: Option<Frame>,
    /// Bytes of the part that was taken last, until it was sent.
    sending: Option<usize>,
    is_last: bool,
}

impl Parts {
    async fn advance(mut self) -> Option<(io::Result<Bytes>, Self)> {
        let outbox = self.guard.exchange().outbox();
        // Whoever asks for another part has sent the one before, or has a place for it.
        if let Some(bytes) = self.sending.take() {
            outbox.sent(bytes);
        }
        if self.is_last {
            return None;
        }
        let frame = match self.next.take() {
            Some(frame) => Some(frame),
            None => outbox.next().await,
        };
        let (bytes, kind) = match frame {
            Some(Frame { bytes, kind }) => {
                self.sending = Some(bytes.len());
                (bytes, kind)
            }
            None => (Vec::new(), FrameKind::Body(BodyPart::Failed(503))),
        };
        self.is_last = kind != FrameKind::Body(BodyPart::Middle);
        let part = match kind {
            FrameKind::Body(BodyPart::Failed(_)) => Err(io::Error::other("the answer was broken off")),
            _ => Ok(Bytes::from(bytes)),
        };
        Some((part, self))
    }
}
