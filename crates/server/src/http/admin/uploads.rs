//! Uploads: files of clients, written to the disk as they come.
//!
//! ```text
//! body ──> parts of 256 KiB ──> a thread that may wait for the disk ──> SPOOL/uploads/ID/FILENAME
//!   ^                                   │
//!   └──── the next part is read when this one is written
//! ```

use crate::http::admin::answer::{AdminAnswer, AdminResult, path_of};
use crate::http::admin::call::AdminCall;
use crate::http::admin::jobs::{failed, may_administer};
use crate::http::elsewhere::Elsewhere;
use crate::http::error::HttpError;
use crate::random_id::RandomId;
use crate::spool::upload::{Upload, UploadFile};
use axum::http::{HeaderMap, StatusCode, header};
use evergraph_graph::error::Result as GraphResult;
use futures_util::StreamExt as _;
use serde::Serialize;
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Bytes that are written at once.
const PART_BYTES: usize = 256 << 10;

#[derive(Serialize)]
struct NewUpload {
    id: RandomId,
    database: String,
}

#[derive(Serialize)]
struct UploadedFile {
    name: String,
    bytes: u64,
}

/// `POST /databases/NAME/uploads`: makes an upload, to which files are sent.
///
/// # Errors
/// 400 if the server has no place for it; 503 if there are too many; 507 on a full disk.
pub async fn create(call: AdminCall) -> AdminResult {
    let served = call.served()?;
    let resources = Arc::clone(&call.shared.core.job_resources);
    let name = Arc::clone(served.name());
    let made = spawn_blocking(move || resources.spool()?.create_upload(&name)).await.map_err(failed)?;
    let upload = made.map_err(|error| HttpError::from(&error))?;
    let id = upload.id();
    let location = path_of(&["uploads", &id.to_string()]);
    let document = NewUpload { id, database: upload.database().to_owned() };
    drop(Elsewhere::new(upload));
    Ok(AdminAnswer::created(&location, &document).noted(id.to_string()))
}

/// `PUT /uploads/ID/FILENAME`: the body is the file.
///
/// # Errors
/// 404 for an upload that there isn't; 400 for what cannot be the name of a file, and for one that is taken; 408 if nothing
/// comes for long; 413 if all uploads take too much; 415 if the body is compressed; 503 if too many files come at once; 507
/// on a full disk. Nothing is left of the file then.
pub async fn put_file(call: AdminCall) -> AdminResult {
    let upload = Elsewhere::new(find(&call)?);
    refuse_packed(&call.headers)?;
    let space =
        Arc::clone(call.shared.core.job_resources.spool().map_err(|error| HttpError::from(&error))?.space());
    if let Some(told) = content_length(&call.headers) {
        space.check(told).map_err(|error| HttpError::from(&error))?;
    }
    let _place = call.shared.upload_room.clone().try_acquire_owned().map_err(|_| {
        HttpError::busy("too many files are being uploaded: send this one again when others are done")
    })?;
    let name = call.parameter("file").to_owned();
    let begin = {
        let (upload, name) = (upload.get().cloned(), name.clone());
        move || upload.map(|upload| upload.begin_file(&name)).transpose()
    };
    let Some(mut file) = blocking(begin).await? else { return Err(unknown(&call)) };
    let time_max = call.shared.core.options.body_time_max;
    let mut body = call.take_stream().into_data_stream();
    let mut part = Vec::new();
    loop {
        // Whoever is gone, or sends nothing, leaves nothing.
        let guard = Elsewhere::new(file);
        let next = tokio::time::timeout(time_max, body.next()).await.map_err(|_| {
            let text = format!("nothing of the file came for {} seconds", time_max.as_secs_f64());
            HttpError::new(StatusCode::REQUEST_TIMEOUT, "limit", text)
        })?;
        let more = next.transpose().map_err(|error| {
            HttpError::invalid(format!("the file could not be read from the connection: {error}"))
        })?;
        let Some(taken) = guard.take() else { return Err(unknown(&call)) };
        file = taken;
        let is_last = more.is_none();
        part.extend_from_slice(more.as_deref().unwrap_or_default());
        if part.len() >= PART_BYTES || is_last {
            let written = std::mem::take(&mut part);
            file = blocking(move || write(file, &written)).await?;
        }
        if is_last {
            break;
        }
    }
    let bytes = blocking(move || file.finish()).await?;
    let id = call.parameter("upload");
    let location = path_of(&["uploads", id, &name]);
    Ok(AdminAnswer::created(&location, &UploadedFile { name, bytes }).noted(format!("{bytes} bytes")))
}

/// `DELETE /uploads/ID`: removes it with its files, once no job reads them any more.
///
/// # Errors
/// 404 for one that there isn't.
pub async fn delete(call: AdminCall) -> AdminResult {
    let upload = find(&call)?;
    let resources = &call.shared.core.job_resources;
    let taken = resources.spool().ok().and_then(|spool| spool.take_upload(upload.id()));
    drop(Elsewhere::new((upload, taken)));
    Ok(AdminAnswer::nothing())
}

fn write(mut file: UploadFile, bytes: &[u8]) -> GraphResult<UploadFile> {
    file.write(bytes)?;
    Ok(file)
}

/// Does what may wait for the disk on another thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> GraphResult<T> + Send + 'static,
) -> Result<T, HttpError> {
    spawn_blocking(work).await.map_err(failed)?.map_err(|error| HttpError::from(&error))
}

/// The upload that the path names, if the user administers its database.
fn find(call: &AdminCall) -> Result<Arc<Upload>, HttpError> {
    let spool = call.shared.core.job_resources.spool().ok();
    let upload = RandomId::parse(call.parameter("upload")).and_then(|id| spool?.upload(id));
    match upload {
        Some(upload) if may_administer(&call.principal, upload.database())? => Ok(upload),
        _ => Err(unknown(call)),
    }
}

fn unknown(call: &AdminCall) -> HttpError {
    let id = call.parameter("upload");
    let text = format!("there is no upload {id:?}: those that nobody uses are removed after an hour");
    HttpError::new(StatusCode::NOT_FOUND, "not_found", text)
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn refuse_packed(headers: &HeaderMap) -> Result<(), HttpError> {
    let is_plain = |value: &axum::http::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get_all(header::CONTENT_ENCODING).iter().all(is_plain) {
        return Ok(());
    }
    let text = "the file is stored as it comes, and its name says how it is packed: send people.csv.gz without the header \
                Content-Encoding";
    Err(HttpError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid", text))
}
