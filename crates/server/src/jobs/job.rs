//! Job: what is known of one piece of long work, while it waits, runs, and for some time after.

use crate::databases::open_database::DatabaseUse;
use crate::jobs::job_kind::JobKind;
use crate::log::line::timestamp;
use crate::random_id::RandomId;
use crate::security::access::Access;
use crate::spool::job_folder::JobFolder;
use evergraph::Database;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use serde::Serialize;
use serde_json::Value;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// One piece of work.
///
/// Concurrency: one lock around what changes, held for a moment.
pub struct Job {
    id: RandomId,
    kind: JobKind,
    access: Access,
    cancel: CancelFlag,
    status: Mutex<Status>,
}

struct Status {
    state: JobState,
    progress: Option<JobProgress>,
    created_at: SystemTime,
    started_at: Option<SystemTime>,
    ended_at: Option<(SystemTime, Instant)>,
    result: Option<Value>,
    error: Option<JobError>,
    folder: Option<Arc<JobFolder>>,
}

/// How far a job has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobState {
    /// It waits for others.
    Queued,
    /// It has a thread.
    Running,
    /// It has done what it was asked to.
    Done,
    /// It did nothing, because of an error.
    Failed,
    /// It did nothing, because somebody asked it to stop.
    Cancelled,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Running, Self::Done, Self::Failed, Self::Cancelled];

    /// Its name in answers, metrics and the audit log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether it never changes any more.
    #[must_use]
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

/// How far the work is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobProgress {
    /// What is being done.
    pub phase: String,
    /// How much of the phase is done.
    pub done: u64,
    /// How much there is to do; `None` if nobody knows.
    pub total: Option<u64>,
    /// What is counted.
    pub unit: &'static str,
}

/// Why a job did not do what it was asked to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct JobError {
    /// The kind of the error, for programs.
    pub kind: &'static str,
    /// For people.
    pub message: String,
}

/// A job as answers show it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobInfo {
    /// Its name.
    pub id: RandomId,
    /// What it does.
    pub kind: &'static str,
    /// The database.
    pub database: String,
    /// Who started it; `null` if the server has no users.
    pub user: Option<String>,
    /// How far it has come.
    pub state: &'static str,
    /// How far the work is; `null` before it begins.
    pub progress: Option<JobProgress>,
    /// When somebody asked for it.
    pub created_at: String,
    /// When it began; `null` while it is queued.
    pub started_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// What it did, if it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it did not, if it has failed or was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<JobError>,
}

impl Job {
    /// One that waits.
    ///
    /// # Errors
    /// `io` if the system has no random bytes.
    pub(crate) fn new(access: Access, kind: JobKind) -> Result<Self> {
        let status = Status {
            state: JobState::Queued,
            progress: None,
            created_at: SystemTime::now(),
            started_at: None,
            ended_at: None,
            result: None,
            error: None,
            folder: None,
        };
        let (id, cancel) = (RandomId::new()?, CancelFlag::default());
        Ok(Self { id, kind, access, cancel, status: Mutex::new(status) })
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> RandomId {
        self.id
    }

    /// What it does.
    #[must_use]
    pub fn kind(&self) -> JobKind {
        self.kind
    }

    /// The database, and who started it.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// How far it has come.
    #[must_use]
    pub fn state(&self) -> JobState {
        self.status().state
    }

    /// How it is shown.
    #[must_use]
    pub fn info(&self) -> JobInfo {
        let status = self.status();
        JobInfo {
            id: self.id,
            kind: self.kind.name(),
            database: self.access.database().to_owned(),
            user: self.access.user().map(str::to_owned),
            state: status.state.name(),
            progress: status.progress.clone(),
            created_at: timestamp(status.created_at),
            started_at: status.started_at.map(timestamp),
            ended_at: status.ended_at.map(|(at, _)| timestamp(at)),
            result: status.result.clone(),
            error: status.error.clone(),
        }
    }

    /// The files that it made to be fetched, if there are any.
    #[must_use]
    pub fn folder(&self) -> Option<Arc<JobFolder>> {
        self.status().folder.clone()
    }

    /// Gives up the files that it made, once nobody reads them any more. Dropping what this returns may take time.
    #[must_use]
    pub fn take_folder(&self) -> Option<Arc<JobFolder>> {
        self.status().folder.take()
    }

    pub(crate) fn cancel_flag(&self) -> &CancelFlag {
        &self.cancel
    }

    /// Whether it ended so long ago.
    pub(crate) fn ended_before(&self, time: Duration) -> bool {
        self.status().ended_at.is_some_and(|(_, at)| at.elapsed() >= time)
    }

    pub(crate) fn start(&self) {
        let mut status = self.status();
        status.state = JobState::Running;
        status.started_at = Some(SystemTime::now());
    }

    /// Enters what came of it; returns the state that it is in now.
    pub(crate) fn end(&self, outcome: Result<WorkResult>) -> JobState {
        let mut status = self.status();
        match outcome {
            Ok(WorkResult { report, folder }) => {
                status.state = JobState::Done;
                status.result = Some(report);
                status.folder = folder;
            }
            Err(error) => {
                let is_cancelled = self.cancel.is_cancelled()
                    && matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Busy);
                status.state = if is_cancelled { JobState::Cancelled } else { JobState::Failed };
                status.error = Some(JobError { kind: error.kind().name(), message: error.to_string() });
            }
        }
        status.ended_at = Some((SystemTime::now(), Instant::now()));
        status.state
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What work came to.
pub struct WorkResult {
    /// For whoever asks what was done: an object.
    pub report: Value,
    /// Files to be fetched.
    pub folder: Option<Arc<JobFolder>>,
}

impl From<Value> for WorkResult {
    fn from(report: Value) -> Self {
        Self { report, folder: None }
    }
}

/// What work is done with: a database, a flag that stops it, and a place to say how far it is.
pub struct JobControl<'a> {
    job: &'a Job,
    database: &'a DatabaseUse,
}

impl<'a> JobControl<'a> {
    pub(crate) fn new(job: &'a Job, database: &'a DatabaseUse) -> Self {
        Self { job, database }
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Database {
        self.database.database()
    }

    /// The job.
    #[must_use]
    pub fn id(&self) -> RandomId {
        self.job.id
    }

    /// Stops the work.
    #[must_use]
    pub fn cancel(&self) -> &CancelFlag {
        &self.job.cancel
    }

    /// Says how far the work is.
    pub fn tell(&self, phase: &str, done: u64, total: Option<u64>, unit: &'static str) {
        let mut status = self.job.status();
        match &mut status.progress {
            // Most calls are about the phase before.
            Some(progress) if progress.phase == phase => {
                (progress.done, progress.total, progress.unit) = (done, total, unit);
            }
            progress => *progress = Some(JobProgress { phase: phase.to_owned(), done, total, unit }),
        }
    }

    /// The same, and whether the work should go on.
    pub fn tell_on(&self, phase: &str, done: u64, total: Option<u64>, unit: &'static str) -> ControlFlow<()> {
        self.tell(phase, done, total, unit);
        if self.job.cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Why the work was stopped, if its database is being closed.
    pub(crate) fn why_stopped(&self, error: Error) -> Error {
        match self.database.check() {
            Err(closing) if error.kind() == ErrorKind::Cancelled => closing,
            _ => error,
        }
    }
}
