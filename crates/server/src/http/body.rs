//! Body: reads the body of a request, within limits of bytes, of time, and of the memory of all bodies.

use crate::http::error::HttpError;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use evergraph_storage::planted::{Bug, planted};
use futures_util::StreamExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that a permit of the room for bodies is for.
pub const BODY_UNIT: usize = 1024;

/// Bytes of all bodies that are in memory at once.
pub const BODIES_BYTES_MAX: usize = 256 << 20;

/// A body, and its place among all bodies.
pub struct RequestBody {
    /// Its bytes.
    pub bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

/// Reads `body`, of at most `bytes_max` bytes, within `time_max`.
///
/// # Errors
/// 413 if it is longer, which is known before anything is read if its length is told; 408 if it comes too slowly; 415 if
/// it is compressed; 503 if all bodies take too much memory; 400 if the client breaks off.
pub async fn read(
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
    time_max: Duration,
    room: &Arc<Semaphore>,
) -> Result<RequestBody, HttpError> {
    let is_plain = |value: &axum::http::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(header::CONTENT_ENCODING).iter().all(is_plain) {
        let text =
            "the body is compressed, and this server reads plain ones: send no header Content-Encoding";
        return Err(HttpError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid", text));
    }
    let told = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if told.is_some_and(|length: u64| length > bytes_max as u64) && !planted(Bug::EndlessBodies) {
        return Err(too_long(bytes_max));
    }
    let reading = read_all(body, bytes_max, room);
    tokio::time::timeout(time_max, reading).await.unwrap_or_else(|_| {
        let text = format!("the body did not come within {} seconds", time_max.as_secs_f64());
        Err(HttpError::new(StatusCode::REQUEST_TIMEOUT, "limit", text))
    })
}

async fn read_all(body: Body, bytes_max: usize, room: &Arc<Semaphore>) -> Result<RequestBody, HttpError> {
    let mut parts = body.into_data_stream();
    let mut read = RequestBody { bytes: Vec::new(), _room: None };
    let mut units = 0;
    while let Some(part) = parts.next().await {
        let part: Bytes = part.map_err(|error| {
            HttpError::invalid(format!("the body of the request could not be read: {error}"))
        })?;
        let length = read.bytes.len() + part.len();
        if length > bytes_max && !planted(Bug::EndlessBodies) {
            return Err(too_long(bytes_max));
        }
        let more = length.div_ceil(BODY_UNIT) - units;
        if more > 0 {
            let busy = "the requests that are being read take too much memory together: try again";
            let more_units = u32::try_from(more).unwrap_or(u32::MAX);
            let permit = Arc::clone(room).try_acquire_many_owned(more_units);
            let permit = permit.map_err(|_| HttpError::busy(busy))?;
            units += more;
            match &mut read._room {
                Some(room) => room.merge(permit),
                none => *none = Some(permit),
            }
        }
        read.bytes.extend_from_slice(&part);
    }
    Ok(read)
}

fn too_long(bytes_max: usize) -> HttpError {
    let text = format!("the body of a request has at most {bytes_max} bytes");
    HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, "limit", text)
}
