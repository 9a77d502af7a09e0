//! Jobs: long work of a server, which is started, followed to its end, and cancelled.
//!
//! ```text
//! start_job ──> follow_job ──> done: its result     failed: its error
//!                   └── cancelled by the caller: the job is cancelled, and its end awaited
//! ```

use crate::admin::call::{Admin, path_of};
use crate::wait_limit::WaitLimit;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::thread;
use std::time::{Duration, Instant};
use ureq::http::Method;

/// How soon a job is asked for again, first and at most: short ones are done soon.
const ASK_AFTER: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// How often a wait looks at what may end it.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a job that was cancelled may take to end.
const CANCEL_TIME: Duration = Duration::from_secs(60);
/// How long starting a job may take, which is not cancelled.
const START_TIME: Duration = Duration::from_secs(60);
/// How long forgetting a job may take.
const FORGET_TIME: Duration = Duration::from_secs(10);
/// How long a server that does not answer is asked again for a job that it has.
const RECONNECT_TIME: Duration = Duration::from_secs(10);

/// What a server knows of a job.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RemoteJob {
    /// Its name.
    pub id: String,
    /// What it does, such as `export`.
    pub kind: String,
    /// The database.
    pub database: String,
    /// Who started it; `None` if the server has no users.
    pub user: Option<String>,
    /// `queued`, `running`, `done`, `failed` or `cancelled`.
    pub state: String,
    /// How far the work is; `None` before it begins.
    pub progress: Option<RemoteProgress>,
    /// When somebody asked for it.
    pub created_at: String,
    /// When it began.
    pub started_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// What it did, if it is done.
    pub result: Option<Value>,
    /// Why it did not, if it failed or was cancelled.
    pub error: Option<RemoteFailure>,
}

/// How far a job is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RemoteProgress {
    /// What is being done.
    pub phase: String,
    /// How much of it is done.
    pub done: u64,
    /// How much there is to do; `None` if nobody knows.
    pub total: Option<u64>,
    /// What is counted.
    pub unit: String,
}

/// Why a job did not do what it was asked to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RemoteFailure {
    /// The kind of the error.
    pub kind: String,
    /// For people.
    pub message: String,
}

impl RemoteJob {
    /// Whether it never changes any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(&*self.state, "done" | "failed" | "cancelled")
    }

    /// The job, if it is done.
    ///
    /// # Errors
    /// Its own, if it failed or was cancelled.
    pub fn into_done(self) -> Result<Self> {
        if self.state == "done" {
            return Ok(self);
        }
        let kind = if self.state == "cancelled" { ErrorKind::Cancelled } else { ErrorKind::Io };
        let Some(RemoteFailure { kind: name, message }) = self.error else {
            return Err(Error::new(kind, format!("the server's job {} is {}", self.id, self.state)));
        };
        let kind = if self.state == "cancelled" { kind } else { ErrorKind::from_name(&name).unwrap_or(kind) };
        Err(Error::new(kind, message))
    }
}

/// What a job is asked to do: its kind, and the members that the server's guide lists for it.
///
/// ```
/// use evergraph_client::admin::jobs::JobRequest;
///
/// let request = JobRequest::new("export").with("format", "csv").with("labels", vec!["Person"]);
/// ```
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(transparent)]
pub struct JobRequest(Map<String, Value>);

impl JobRequest {
    /// A job of this kind.
    #[must_use]
    pub fn new(kind: &str) -> Self {
        Self(Map::new()).with("kind", kind)
    }

    /// The same with a member.
    #[must_use]
    pub fn with(mut self, member: &str, value: impl Into<Value>) -> Self {
        self.0.insert(member.to_owned(), value.into());
        self
    }

    /// The same with a member, if there is a value.
    #[must_use]
    pub fn with_some(self, member: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(member, value),
            None => self,
        }
    }
}

#[derive(Deserialize)]
struct JobList {
    jobs: Vec<RemoteJob>,
}

impl Admin {
    /// Starts a job in the database. Needs the role admin.
    ///
    /// # Errors
    /// `invalid` for a kind or an option that the server does not have; `not_found` for files that are not there; `busy` if the
    /// database is not open, or too many jobs wait.
    pub fn start_job(&self, request: &JobRequest) -> Result<RemoteJob> {
        let path = self.database_path(&["jobs"])?;
        let waiting = WaitLimit::new(self.interrupt());
        waiting.check().map_err(|end| Error::new(ErrorKind::Cancelled, end.to_string()))?;
        // Whoever was cancelled before the answer would not know which job to cancel.
        self.in_the_end(START_TIME).change(Method::POST, &path, request)
    }

    /// The jobs of databases that the user administers, the newest first.
    ///
    /// # Errors
    /// As [`Admin`].
    pub fn jobs(&self) -> Result<Vec<RemoteJob>> {
        self.get::<JobList>("/jobs").map(|list| list.jobs)
    }

    /// A job.
    ///
    /// # Errors
    /// `not_found` if there is none, or none any more.
    pub fn job(&self, id: &str) -> Result<RemoteJob> {
        self.get(&path_of(&["jobs", id]))
    }

    /// Asks a job to stop. One that has ended is forgotten, with its files.
    ///
    /// # Errors
    /// `not_found` if there is none, or none any more.
    pub fn cancel_job(&self, id: &str) -> Result<()> {
        self.delete(&path_of(&["jobs", id])).map(drop)
    }

    /// Has the server forget a job that has ended, with its files, whatever stopped the caller. If that fails, the server
    /// forgets it itself after an hour.
    pub fn forget_job(&self, id: &str) {
        let _ = self.in_the_end(FORGET_TIME).cancel_job(id);
    }

    /// Waits for the end of a job; `tell` is told how far it is. If this is cancelled, the job is cancelled on the server, and
    /// its end awaited: it may be done nevertheless, which is no error then. [`Admin::timeout`] limits each request, not the job.
    ///
    /// # Errors
    /// The job's own. `io` if the server does not answer for 10 seconds: the job goes on.
    pub fn follow_job(&self, id: &str, tell: &mut dyn FnMut(&RemoteProgress)) -> Result<RemoteJob> {
        let waiting = WaitLimit::new(self.interrupt());
        let (mut pause, longest) = ASK_AFTER;
        loop {
            match self.job_if_reached(id, &waiting) {
                Ok(job) if job.has_ended() => return job.into_done(),
                Ok(job) => {
                    if let Some(progress) = &job.progress {
                        tell(progress);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Cancelled => return self.stop_job(id),
                Err(error) => return Err(error),
            }
            if rest(pause, &waiting).is_err() {
                return self.stop_job(id);
            }
            pause = (pause * 3 / 2).min(longest);
        }
    }

    /// The job, of a server that may not answer for some time.
    fn job_if_reached(&self, id: &str, waiting: &WaitLimit) -> Result<RemoteJob> {
        let began = Instant::now();
        loop {
            match self.job(id) {
                Err(error) if error.kind() == ErrorKind::Io && began.elapsed() < RECONNECT_TIME => {
                    if rest(ASK_AFTER.1, waiting).is_err() {
                        return Err(Error::new(ErrorKind::Cancelled, "cancelled on request"));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Io => {
                    let text = format!("{error}; the job {id} was started, and may go on");
                    return Err(Error::new(ErrorKind::Io, text).because(error));
                }
                answered => return answered,
            }
        }
    }

    /// Cancels a job, and waits for its end, whatever has cancelled this.
    fn stop_job(&self, id: &str) -> Result<RemoteJob> {
        let admin = self.in_the_end(CANCEL_TIME);
        let limit = WaitLimit::default().within(CANCEL_TIME);
        let cancelled = |why: &dyn std::fmt::Display| {
            let text = format!("cancelled on request; the job {id} may go on on the server: {why}");
            Error::new(ErrorKind::Cancelled, text)
        };
        if planted(Bug::InterruptedJobsGoOn) {
            return Err(cancelled(&"nobody asked it to stop"));
        }
        let job = admin.job(id).map_err(|error| cancelled(&error))?;
        // One that has ended would be forgotten.
        if job.has_ended() {
            return job.into_done();
        }
        admin.cancel_job(id).map_err(|error| cancelled(&error))?;
        loop {
            match admin.job(id) {
                Ok(job) if job.has_ended() => return job.into_done(),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(Error::new(ErrorKind::Cancelled, "cancelled on request"));
                }
                Err(error) => return Err(cancelled(&error)),
            }
            rest(ASK_AFTER.1 / 5, &limit)
                .map_err(|_| cancelled(&"it was asked to stop, and has not ended yet"))?;
        }
    }
}

/// Waits for `pause`.
///
/// # Errors
/// If `waiting` ends before.
fn rest(pause: Duration, waiting: &WaitLimit) -> std::io::Result<()> {
    let until = Instant::now() + pause;
    loop {
        waiting.check()?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(LOOK_EVERY));
    }
}
