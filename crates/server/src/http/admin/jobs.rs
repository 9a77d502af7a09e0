//! Jobs: starts, lists, shows and cancels them, and hands out the files that they made.
//!
//! Who is no administrator of a job's database is answered as if there were no such job.

use crate::http::admin::answer::{AdminAnswer, AdminResult, path_of};
use crate::http::admin::call::AdminCall;
use crate::http::elsewhere::Elsewhere;
use crate::http::error::HttpError;
use crate::jobs::job::{Job, JobInfo, JobState};
use crate::jobs::job_kind::JobKind;
use crate::jobs::registry::{Cancelled, Work};
use crate::jobs::request;
use crate::security::access::Principal;
use crate::security::role::Role;
use crate::spool::job_folder::{JobFile, JobFolder};
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Error;
use evergraph_storage::planted::{Bug, planted};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, Read as _};
use std::sync::Arc;
use tokio::task::spawn_blocking;

use crate::random_id::RandomId;

/// Bytes of a file that are read at once.
const PART_BYTES: usize = 256 << 10;

#[derive(Serialize)]
struct JobList {
    jobs: Vec<JobInfo>,
}

#[derive(Serialize)]
struct FileList {
    files: Vec<FileEntry>,
}

#[derive(Serialize)]
struct FileEntry {
    path: String,
    bytes: u64,
}

/// `POST /databases/NAME/jobs`: starts a job, which the answer does not wait for.
///
/// # Errors
/// 400 for a kind or an option that there isn't, and for paths that leave their folder; 404 for an upload or files that
/// are not there; 503 if the database is not open, or too many jobs wait.
pub async fn start(call: AdminCall) -> AdminResult {
    let members: Map<String, Value> = call.document().await?;
    let served = call.served()?;
    let resources = Arc::clone(&call.shared.core.job_resources);
    let name = Arc::clone(served.name());
    let reading = call.shared.blocking.run(move |_| request::read(members, &name, &resources));
    let (kind, work) = reading.await?.map_err(of_names)?;
    start_work(&call, kind, work)
}

/// Starts a job that does `work` in the database of the path.
///
/// # Errors
/// 404 for an unknown database; 503 if it is not open, or too many jobs wait.
pub fn start_work(call: &AdminCall, kind: JobKind, work: Work) -> AdminResult {
    let served = call.served()?;
    // It would fail at once.
    drop(call.open_database(CancelFlag::default())?);
    let access = call.principal.on(served.name());
    let job = call.shared.core.jobs.start(access, served, kind, work);
    let job = job.map_err(|error| HttpError::from(&error))?;
    let id = job.id().to_string();
    let answer = AdminAnswer::accepted(&path_of(&["jobs", &id]), &job.info());
    Ok(answer.noted(format!("{} {id}", kind.name())))
}

/// `GET /jobs`: those of databases that the user administers, the newest first.
///
/// # Errors
/// 401 if the log-in holds no longer.
pub async fn list(call: AdminCall) -> AdminResult {
    let mut jobs = Vec::new();
    for job in call.shared.core.jobs.list() {
        if may_administer(&call.principal, job.access().database())? {
            jobs.push(job.info());
        }
    }
    Ok(AdminAnswer::json(&JobList { jobs }))
}

/// `GET /jobs/ID`.
///
/// # Errors
/// 404 for one that is not known, or not any more.
pub async fn describe(call: AdminCall) -> AdminResult {
    Ok(AdminAnswer::json(&find(&call)?.info()))
}

/// `DELETE /jobs/ID`: 202 if it runs and will stop, 204 if it had not begun. One that has ended is forgotten, with its
/// files.
///
/// # Errors
/// 404 for one that is not known, or not any more.
pub async fn cancel(call: AdminCall) -> AdminResult {
    let job = find(&call)?;
    let cancelled = call.shared.core.jobs.cancel(&job);
    let job = Elsewhere::new(job);
    Ok(match (cancelled, job.get()) {
        (Cancelled::Asked, Some(job)) => {
            AdminAnswer::accepted(&path_of(&["jobs", &job.id().to_string()]), &job.info())
        }
        _ => AdminAnswer::nothing(),
    })
}

/// `GET /jobs/ID/files`: what it made to be fetched.
///
/// # Errors
/// 404 as [`describe`]; 503 while it has not ended.
pub async fn list_files(call: AdminCall) -> AdminResult {
    let Some(folder) = folder(&call)? else { return Ok(AdminAnswer::json(&FileList { files: Vec::new() })) };
    let listed = call.shared.blocking.run(move |_| folder.files()).await?;
    let files = listed.map_err(|error| HttpError::from(&error))?;
    let files = files.into_iter().map(|JobFile { path, bytes }| FileEntry { path, bytes }).collect();
    Ok(AdminAnswer::json(&FileList { files }))
}

/// `GET /jobs/ID/files/PATH`: one of them, as it is.
///
/// # Errors
/// 404 for a file or job that there isn't; 400 for a path that leaves the folder.
pub async fn get_file(call: AdminCall) -> AdminResult {
    let path = call.parameter("file").to_owned();
    let Some(folder) = folder(&call)? else {
        let text = "this job has made no files to be fetched, or they were removed";
        return Err(HttpError::new(StatusCode::NOT_FOUND, "not_found", text));
    };
    let database = find(&call)?.access().database().to_owned();
    let opening = spawn_blocking(move || folder.open(&path).map(|opened| (folder, opened)));
    let (folder, (file, bytes)) = opening.await.map_err(failed)?.map_err(of_names)?;
    let reader = FileReader { principal: call.principal, database, _folder: Elsewhere::new(folder) };
    Ok(stream(reader, file, bytes).into())
}

/// `DELETE /jobs/ID/files`: removes all of them.
///
/// # Errors
/// 404 as [`describe`].
pub async fn delete_files(call: AdminCall) -> AdminResult {
    drop(find(&call)?.take_folder().map(Elsewhere::new));
    Ok(AdminAnswer::nothing())
}

/// The job that the path names, if the user administers its database.
fn find(call: &AdminCall) -> Result<Arc<Job>, HttpError> {
    let id = call.parameter("job");
    let found = RandomId::parse(id).and_then(|id| call.shared.core.jobs.get(id));
    match found {
        Some(job) if may_administer(&call.principal, job.access().database())? => Ok(job),
        _ => {
            let text = format!("there is no job {id:?}: jobs are forgotten an hour after their end");
            Err(HttpError::new(StatusCode::NOT_FOUND, "not_found", text))
        }
    }
}

fn folder(call: &AdminCall) -> Result<Option<Arc<JobFolder>>, HttpError> {
    let job = find(call)?;
    match job.state() {
        JobState::Queued | JobState::Running => {
            Err(HttpError::busy("the job has not ended: its files are there when it is done"))
        }
        _ => Ok(job.folder()),
    }
}

/// Whether `principal` is an administrator of `database`. Nothing is written into the audit log.
///
/// # Errors
/// 401 if the log-in holds no longer.
pub fn may_administer(principal: &Principal, database: &str) -> Result<bool, HttpError> {
    Ok(principal.role_on(database)? == Some(Role::Admin) || planted(Bug::JobsOfOthersTold))
}

/// Who reads a file of a job.
struct FileReader {
    principal: Principal,
    database: String,
    /// Files stay until they are read.
    _folder: Elsewhere<Arc<JobFolder>>,
}

impl FileReader {
    /// Whether it may still read: a file is sent for long, and roles and users change meanwhile.
    fn check(&self) -> io::Result<()> {
        let may = may_administer(&self.principal, &self.database).unwrap_or(false);
        if may || planted(Bug::DownloadsOutliveRoles) {
            return Ok(());
        }
        Err(io::Error::other("its reader is no administrator of the database any more"))
    }
}

/// The response that is a file of so many bytes, of which a part is in memory at a time. It is broken off once `reader` may not
/// read it any more.
fn stream(reader: FileReader, file: File, bytes: u64) -> Response {
    let parts = futures_util::stream::unfold(Some((reader, file, bytes)), |state| async move {
        let (reader, mut file, left) = state.filter(|(_, _, left)| *left > 0)?;
        if let Err(error) = reader.check() {
            return Some((Err(error), None));
        }
        let reading = spawn_blocking(move || {
            let mut part = vec![0; PART_BYTES.min(usize::try_from(left).unwrap_or(PART_BYTES))];
            let count = file.read(&mut part)?;
            part.truncate(count);
            Ok::<_, io::Error>((file, part))
        });
        match reading.await.map_err(io::Error::other).and_then(|read| read) {
            Ok((file, part)) if !part.is_empty() => {
                let left = left - part.len() as u64;
                Some((Ok(Bytes::from(part)), Some((reader, file, left))))
            }
            Ok(_) => Some((Err(io::Error::other("the file is shorter than it was")), None)),
            Err(error) => Some((Err(error), None)),
        }
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_LENGTH, HeaderValue::from(bytes)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, Body::from_stream(parts)).into_response()
}

/// An error about what a request names.
pub(crate) fn of_names(error: Error) -> HttpError {
    HttpError::from(&error)
}

/// An error of a thread that met a defect.
pub(crate) fn failed(_: tokio::task::JoinError) -> HttpError {
    HttpError::from(crate::failure::Failure::internal())
}
