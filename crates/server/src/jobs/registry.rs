//! Registry: the jobs of a server, and who of them has a thread.
//!
//! ```text
//! start ──> queue ──> running: at most so many in all, and in a database; one that changes it
//!             │          └──> ended: kept for an hour, at most so many
//!             └── cancelled before it began
//! ```

use crate::databases::open_database::UsePurpose;
use crate::databases::served_database::ServedDatabase;
use crate::jobs::job::{Job, JobControl, JobState, WorkResult};
use crate::jobs::job_kind::JobKind;
use crate::log::target;
use crate::random_id::RandomId;
use crate::security::access::Access;
use crate::security::audit::{AuditEvent, AuditLog, AuditRecord};
use crate::security::role::Role;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use rustix::process::setpriority_process;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How much nicer the threads of jobs are to others than those of queries.
const NICENESS: i32 = 10;

/// How many jobs there may be.
#[derive(Clone, Copy, Debug)]
pub struct JobLimits {
    /// Jobs that run at once.
    pub running_max: usize,
    /// Jobs that run at once in a database.
    pub database_running_max: usize,
    /// Jobs that wait.
    pub queued_max: usize,
    /// Jobs that wait for one database, so that none keeps those of others out.
    pub database_queued_max: usize,
    /// Jobs that have ended and are kept.
    pub ended_max: usize,
    /// How long they are kept.
    pub keep: Duration,
}

impl Default for JobLimits {
    fn default() -> Self {
        Self {
            running_max: 4,
            database_running_max: 2,
            queued_max: 64,
            database_queued_max: 16,
            ended_max: 1000,
            keep: Duration::from_secs(3600),
        }
    }
}

/// What a job does, on a thread of its own.
pub type Work = Box<dyn FnOnce(&JobControl<'_>) -> Result<WorkResult> + Send>;

/// How many jobs ended, by kind and state.
pub type JobsEnded = Family<[(&'static str, &'static str); 2], Counter>;

/// The jobs of a server.
///
/// ```text
/// let job = jobs.start(access, served, JobKind::CreateIndex, work)?;      // returns at once
/// job.info().state                                                         // "queued", "running", ...
/// ```
///
/// Concurrency: one lock, held to move a job; no work is done within it.
pub struct Jobs {
    limits: JobLimits,
    audit: Arc<AuditLog>,
    ended: JobsEnded,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// All that are known, the oldest first.
    known: VecDeque<Arc<Job>>,
    queue: VecDeque<QueuedJob>,
    running: Vec<Arc<Job>>,
    is_stopping: bool,
}

struct QueuedJob {
    job: Arc<Job>,
    served: Arc<ServedDatabase>,
    work: Work,
}

impl Jobs {
    /// No jobs yet.
    #[must_use]
    pub fn new(limits: JobLimits, audit: Arc<AuditLog>) -> Arc<Self> {
        let (ended, state, changed) = (JobsEnded::default(), Mutex::default(), Condvar::new());
        // Those that are zero are shown as well.
        for kind in JobKind::ALL {
            for outcome in JobState::ALL.into_iter().filter(|state| state.has_ended()) {
                let _zero = ended.get_or_create(&[("kind", kind.name()), ("state", outcome.name())]);
            }
        }
        Arc::new(Self { limits, audit, ended, state, changed })
    }

    /// Does `work` on the database `served` when its turn comes. `access` is who asked for it, as an administrator: a
    /// job ends when that is over.
    ///
    /// # Errors
    /// `busy` if too many wait, or if the server stops; `io` if the system has no random bytes.
    pub fn start(
        self: &Arc<Self>,
        access: Access,
        served: Arc<ServedDatabase>,
        kind: JobKind,
        work: Work,
    ) -> Result<Arc<Job>> {
        let job = Arc::new(Job::new(access, kind)?);
        let mut state = self.state();
        if state.is_stopping {
            return Err(Error::new(ErrorKind::Busy, "the server stops"));
        }
        if state.queue.len() >= self.limits.queued_max {
            let text = format!("{} jobs wait already: try again when some have ended", state.queue.len());
            return Err(Error::new(ErrorKind::Busy, text));
        }
        let name = job.access().database();
        let of_database = state.queue.iter().filter(|queued| queued.job.access().database() == name).count();
        if of_database >= self.limits.database_queued_max && !planted(Bug::JobQueueUnshared) {
            let text = format!(
                "{of_database} jobs of the database {name:?} wait already: try again when some have ended, or cancel some"
            );
            return Err(Error::new(ErrorKind::Busy, text));
        }
        self.log(&job, "started");
        state.known.push_back(Arc::clone(&job));
        state.queue.push_back(QueuedJob { job: Arc::clone(&job), served, work });
        self.start_ready(&mut state);
        Ok(job)
    }

    /// The job with this id.
    #[must_use]
    pub fn get(&self, id: RandomId) -> Option<Arc<Job>> {
        self.state().known.iter().find(|job| job.id() == id).cloned()
    }

    /// All that are known, the newest first.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<Job>> {
        self.state().known.iter().rev().cloned().collect()
    }

    /// How many wait, and how many run.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let state = self.state();
        (state.queue.len(), state.running.len())
    }

    /// How many ended since the start.
    #[must_use]
    pub fn ended(&self) -> &JobsEnded {
        &self.ended
    }

    /// Asks `job` to stop; one that waits does at once. One that has ended is forgotten, with its files. What is returned
    /// may take time to drop.
    pub fn cancel(&self, job: &Arc<Job>) -> Cancelled {
        let mut state = self.state();
        if job.state().has_ended() {
            state.known.retain(|known| !Arc::ptr_eq(known, job));
            return Cancelled::Forgotten;
        }
        if !planted(Bug::JobsOutliveCancel) {
            job.cancel_flag().cancel();
        }
        let is_same = |queued: &QueuedJob| Arc::ptr_eq(&queued.job, job);
        let Some(at) = state.queue.iter().position(is_same) else { return Cancelled::Asked };
        let queued = state.queue.remove(at);
        drop(state);
        self.end(job, Err(Error::new(ErrorKind::Cancelled, "cancelled before it began; nothing was done")));
        drop(queued);
        Cancelled::Ended
    }

    /// Stops jobs whose users may not administer their databases any more, and forgets those that ended long ago: they are
    /// returned, since it may take time to drop them.
    #[must_use]
    pub fn sweep(&self) -> Vec<Arc<Job>> {
        let mut forgotten = Vec::new();
        let mut unfinished = Vec::new();
        {
            let mut state = self.state();
            let ended = state.known.iter().filter(|job| job.state().has_ended()).count();
            let mut surplus = ended.saturating_sub(self.limits.ended_max);
            state.known.retain(|job| {
                if !job.state().has_ended() {
                    unfinished.push(Arc::clone(job));
                    return true;
                }
                let is_forgotten = surplus > 0 || job.ended_before(self.limits.keep);
                if is_forgotten {
                    surplus = surplus.saturating_sub(1);
                    forgotten.push(Arc::clone(job));
                }
                !is_forgotten
            });
        }
        for job in unfinished {
            let access = job.access();
            let role = access.principal().role_on(access.database());
            let is_admin = matches!(role, Ok(Some(Role::Admin))) || planted(Bug::JobsOutliveRoles);
            if !is_admin && !job.cancel_flag().is_cancelled() {
                self.cancel(&job);
            }
        }
        forgotten
    }

    /// Takes no more jobs, and asks those that there are to stop.
    pub fn begin_stop(&self) {
        let all = {
            let mut state = self.state();
            state.is_stopping = true;
            state.known.iter().filter(|job| !job.state().has_ended()).cloned().collect::<Vec<_>>()
        };
        for job in &all {
            self.cancel(job);
        }
    }

    /// Waits until none runs, and forgets all of them. Some run to their end although they were asked to stop: an import
    /// that is being made durable.
    pub fn wait(&self) {
        let mut state = self.state();
        while !state.running.is_empty() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let known = std::mem::take(&mut state.known);
        drop(state);
        drop(known);
    }

    /// Starts those whose turn it is.
    fn start_ready(self: &Arc<Self>, state: &mut State) {
        let mut at = 0;
        while at < state.queue.len() && state.running.len() < self.limits.running_max {
            if !self.is_ready(state, &state.queue[at].job) {
                at += 1;
                continue;
            }
            let Some(QueuedJob { job, served, work }) = state.queue.remove(at) else { break };
            job.start();
            state.running.push(Arc::clone(&job));
            let under_way = RunningJob { jobs: Arc::clone(self), job: Arc::clone(&job) };
            let thread = thread::Builder::new().name(format!("server-job-{}", job.kind().name()));
            let spawned = thread.spawn(move || under_way.run(&served, work));
            if let Err(error) = spawned {
                self.end(
                    &job,
                    Err(Error::new(ErrorKind::Io, format!("start a thread: {error}")).because(error)),
                );
                state.running.retain(|running| !Arc::ptr_eq(running, &job));
            }
        }
    }

    /// Whether there is room for `job` beside those that run.
    fn is_ready(&self, state: &State, job: &Job) -> bool {
        let name = job.access().database();
        let beside = state.running.iter().filter(|running| running.access().database() == name);
        let (mut count, mut changes) = (0, false);
        for running in beside {
            count += 1;
            changes |= running.kind().is_exclusive();
        }
        count < self.limits.database_running_max && !(changes && job.kind().is_exclusive())
    }

    fn end(&self, job: &Job, outcome: Result<WorkResult>) {
        if let Err(error) = &outcome
            && matches!(error.kind(), ErrorKind::Io | ErrorKind::Corrupt | ErrorKind::Unknown)
        {
            let (kind, database) = (job.kind().name(), job.access().database());
            tracing::error!(target: target::REQUEST, database, job = %job.id(), "a {kind} failed: {error}");
        }
        let state = job.end(outcome);
        self.ended.get_or_create(&[("kind", job.kind().name()), ("state", state.name())]).inc();
        self.log(job, state.name());
    }

    fn log(&self, job: &Job, outcome: &str) {
        let access = job.access();
        let detail = format!("{} {}", job.kind().name(), job.id());
        let record = AuditRecord::new(AuditEvent::Job, outcome).user(access.user()).address(access.address());
        self.audit.write(&record.database(access.database()).detail(&detail));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What became of a job that was to be cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancelled {
    /// It will stop.
    Asked,
    /// It waited, and never runs.
    Ended,
    /// It had ended, and is not known any more.
    Forgotten,
}

/// A job that has a thread.
struct RunningJob {
    jobs: Arc<Jobs>,
    job: Arc<Job>,
}

impl RunningJob {
    fn run(self, served: &ServedDatabase, work: Work) {
        // It may be as nice as that already, which is not refused; a system that refuses runs it all the same.
        let _ = setpriority_process(None, NICENESS);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.work(served, work))).unwrap_or_else(|_| {
            let text = "the job failed because of a defect, which the log of the server describes";
            Err(Error::new(ErrorKind::Io, text))
        });
        self.jobs.end(&self.job, outcome);
        let mut state = self.jobs.state();
        state.running.retain(|running| !Arc::ptr_eq(running, &self.job));
        self.jobs.start_ready(&mut state);
        drop(state);
        self.jobs.changed.notify_all();
    }

    fn work(&self, served: &ServedDatabase, work: Work) -> Result<WorkResult> {
        let cancel = self.job.cancel_flag();
        // A database that closes ends its jobs, those that have not begun to use it as well.
        let database = served.begin(cancel.clone()).inspect_err(|_| cancel.cancel())?;
        database.note_purpose(UsePurpose::Job(format!("{} {}", self.job.kind().name(), self.job.id())));
        cancel.check()?;
        let control = JobControl::new(&self.job, &database);
        work(&control).map_err(|error| control.why_stopped(error))
    }
}

#[cfg(test)]
mod tests;
