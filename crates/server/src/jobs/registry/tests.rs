//! Jobs without a network: their turns, their ends, and what stops them.

use super::*;
use crate::databases::catalogue::DatabaseCatalogue;
use crate::databases::change::DatabaseChange;
use crate::databases::options::{CatalogueOptions, CreateOptions};
use crate::jobs::operations::upkeep::{check, checkpoint, create_index};
use crate::security::access::{Principal, Rights};
use evergraph::{Database, IndexOptions};
use serde_json::json;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::time::Instant;

struct Server {
    databases: Arc<DatabaseCatalogue>,
    jobs: Arc<Jobs>,
}

impl Server {
    fn new(limits: JobLimits) -> Self {
        let database = Arc::new(Database::in_memory().unwrap());
        let databases = DatabaseCatalogue::of("social", database).unwrap();
        Self { databases, jobs: Jobs::new(limits, Arc::default()) }
    }

    fn try_start(&self, name: &str, kind: JobKind, work: Work) -> Result<Arc<Job>> {
        let principal = Principal::new([127, 0, 0, 1].into(), Arc::default(), Rights::Everybody);
        self.jobs.start(principal.on(name), self.databases.get(name).unwrap(), kind, work)
    }

    fn start(&self, kind: JobKind, work: Work) -> Arc<Job> {
        self.try_start("social", kind, work).unwrap()
    }
}

/// Work that ends when it is told to, or cancelled.
fn until_told() -> (Work, Sender<()>) {
    let (told, told_by) = mpsc::channel();
    let work: Work = Box::new(move |control| {
        loop {
            control.cancel().check()?;
            if told_by.recv_timeout(Duration::from_millis(5)).is_ok() {
                return Ok(json!({"told": true}).into());
            }
        }
    });
    (work, told)
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}

fn wait_for_state(job: &Job, state: JobState) {
    wait_for(state.name(), || job.state() == state);
}

#[test]
fn each_kind_of_upkeep_ends_with_a_report() {
    let server = Server::new(JobLimits::default());
    let index = create_index(IndexOptions::on_label("Person", "name").unique());
    for (kind, work, member) in [
        (JobKind::CreateIndex, index, "created"),
        (JobKind::Check, check(), "healthy"),
        (JobKind::Checkpoint, checkpoint(), "bytesWritten"),
    ] {
        let job = server.start(kind, work);
        wait_for("the end", || job.state().has_ended());
        let info = job.info();
        assert_eq!((info.state, info.kind, info.error), ("done", kind.name(), None));
        assert!(info.result.as_ref().is_some_and(|result| result.get(member).is_some()), "{:?}", info.result);
        assert!(info.started_at.is_some() && info.ended_at.is_some());
    }
    let ended = server.jobs.ended().get_or_create(&[("kind", "check"), ("state", "done")]).get();
    assert_eq!((server.jobs.list().len(), ended), (3, 1));
}

#[test]
fn jobs_take_turns_and_one_that_changes_a_database_waits_for_another() {
    let limits = JobLimits { running_max: 2, queued_max: 2, ..JobLimits::default() };
    let server = Server::new(limits);
    let (first, end_first) = until_told();
    let first = server.start(JobKind::Import, first);
    wait_for_state(&first, JobState::Running);
    let index = server.start(JobKind::CreateIndex, create_index(IndexOptions::on_label("Person", "name")));
    let (second, end_second) = until_told();
    let second = server.start(JobKind::Backup, second);
    wait_for_state(&second, JobState::Running);
    assert_eq!((index.state(), server.jobs.counts()), (JobState::Queued, (1, 2)));
    let third = server.start(JobKind::Check, check());
    assert_eq!(third.info().started_at, None);
    let refused = server.try_start("social", JobKind::Check, check()).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Busy);
    // One that waits is cancelled at once, and never begins.
    assert_eq!(server.jobs.cancel(&index), Cancelled::Ended);
    assert_eq!((index.state(), index.info().started_at), (JobState::Cancelled, None));
    end_second.send(()).unwrap();
    wait_for_state(&third, JobState::Done);
    assert_eq!(first.state(), JobState::Running);
    end_first.send(()).unwrap();
    wait_for_state(&first, JobState::Done);
    assert_eq!(first.info().result, Some(json!({"told": true})));
}

#[test]
fn the_jobs_that_wait_for_a_database_have_a_limit_of_their_own() {
    let server = Server::new(JobLimits { running_max: 1, database_queued_max: 2, ..JobLimits::default() });
    let (work, end) = until_told();
    let running = server.start(JobKind::Backup, work);
    let waiting = [(); 2].map(|()| server.start(JobKind::Check, check()));
    let refused = server.try_start("social", JobKind::Check, check()).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Busy);
    assert!(refused.to_string().contains("\"social\""), "{refused}");
    // Those of another database have places still.
    let principal = Principal::new([127, 0, 0, 1].into(), Arc::default(), Rights::Everybody);
    let served = server.databases.get("social").unwrap();
    let other = server.jobs.start(principal.on("bank"), served, JobKind::Check, check()).unwrap();
    assert_eq!(server.jobs.cancel(&waiting[0]), Cancelled::Ended);
    assert!(server.try_start("social", JobKind::Check, check()).is_ok(), "a place is free again");
    end.send(()).unwrap();
    wait_for_state(&running, JobState::Done);
    wait_for_state(&other, JobState::Done);
}

#[test]
fn a_job_is_cancelled_and_one_that_fails_says_why() {
    let server = Server::new(JobLimits::default());
    let (work, _told) = until_told();
    let job = server.start(JobKind::Export, work);
    wait_for_state(&job, JobState::Running);
    assert_eq!(server.jobs.cancel(&job), Cancelled::Asked);
    wait_for_state(&job, JobState::Cancelled);
    assert_eq!(job.info().error.unwrap().kind, "cancelled");
    let failing: Work = Box::new(|control| {
        control.tell("look", 1, Some(2), "rows");
        Err(Error::invalid("there is nothing to see"))
    });
    let job = server.start(JobKind::Check, failing);
    wait_for_state(&job, JobState::Failed);
    let info = job.info();
    assert_eq!(info.error.unwrap().message, "there is nothing to see");
    assert_eq!(info.progress.map(|progress| (progress.done, progress.total)), Some((1, Some(2))));
    let job = server.start(JobKind::Check, Box::new(|_| panic!("a broken promise")));
    wait_for_state(&job, JobState::Failed);
    let message = job.info().error.unwrap().message;
    assert!(message.contains("defect") && !message.contains("promise"), "{message}");
    assert!(server.start(JobKind::Check, check()).info().error.is_none(), "others go on");
}

#[test]
fn jobs_that_ended_are_forgotten_in_time_and_above_a_number() {
    let server = Server::new(JobLimits { ended_max: 2, ..JobLimits::default() });
    for _ in 0..4 {
        let job = server.start(JobKind::Check, check());
        wait_for_state(&job, JobState::Done);
    }
    let (work, _told) = until_told();
    let running = server.start(JobKind::Check, work);
    assert_eq!((server.jobs.sweep().len(), server.jobs.list().len()), (2, 3));
    let last = server.jobs.list().into_iter().find(|job| job.state() == JobState::Done).unwrap();
    assert_eq!(server.jobs.cancel(&last), Cancelled::Forgotten);
    assert!(server.jobs.get(last.id()).is_none() && server.jobs.get(running.id()).is_some());
    let server = Server::new(JobLimits { keep: Duration::ZERO, ..JobLimits::default() });
    let job = server.start(JobKind::Check, check());
    wait_for_state(&job, JobState::Done);
    assert_eq!((server.jobs.sweep().len(), server.jobs.list().len()), (1, 0));
}

#[test]
fn the_end_of_the_server_ends_jobs() {
    let server = Server::new(JobLimits { running_max: 1, ..JobLimits::default() });
    let (work, _told) = until_told();
    let running = server.start(JobKind::Backup, work);
    let waiting = server.start(JobKind::Check, check());
    server.jobs.begin_stop();
    server.jobs.wait();
    assert_eq!((running.state(), waiting.state()), (JobState::Cancelled, JobState::Cancelled));
    assert_eq!(server.try_start("social", JobKind::Check, check()).err().unwrap().kind(), ErrorKind::Busy);
}

/// A server with a database that lives below a folder, so that it can be dropped.
fn server_with_bank(folder: &Path) -> Server {
    let options = CatalogueOptions { close_grace: Duration::from_millis(10), ..CatalogueOptions::default() };
    let databases = DatabaseCatalogue::open(&[], Some(folder), options).unwrap();
    databases.create_database("bank", CreateOptions::default()).unwrap();
    Server { databases, jobs: Jobs::new(JobLimits::default(), Arc::default()) }
}

impl Server {
    fn drop_bank(&self) -> mpsc::Receiver<bool> {
        let (done, is_done) = mpsc::channel();
        self.databases
            .start("bank", DatabaseChange::Drop, move |outcome| done.send(outcome.is_ok()).unwrap())
            .unwrap();
        is_done
    }
}

#[test]
fn the_end_of_a_database_ends_its_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let server = server_with_bank(folder.path());
    let (work, _told) = until_told();
    let (begun, has_begun) = mpsc::channel();
    let work: Work = Box::new(move |control| {
        begun.send(()).unwrap();
        work(control)
    });
    let job = server.try_start("bank", JobKind::Backup, work).unwrap();
    has_begun.recv_timeout(Duration::from_secs(30)).unwrap();
    let is_done = server.drop_bank();
    wait_for_state(&job, JobState::Cancelled);
    let error = job.info().error.unwrap();
    assert!(error.message.contains("being dropped"), "{}", error.message);
    assert!(is_done.recv_timeout(Duration::from_secs(30)).unwrap());
}

/// Between the start of a job's thread and its use of the database, the database may go.
#[test]
fn a_job_whose_database_is_dropped_before_it_begins_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let server = server_with_bank(folder.path());
    let served = server.databases.get("bank").unwrap();
    assert!(server.drop_bank().recv_timeout(Duration::from_secs(30)).unwrap());
    let principal = Principal::new([127, 0, 0, 1].into(), Arc::default(), Rights::Everybody);
    let job = server.jobs.start(principal.on("bank"), served, JobKind::Check, check()).unwrap();
    wait_for("the end of the job", || job.state().has_ended());
    assert_eq!(job.state(), JobState::Cancelled, "{:?}", job.info().error);
}
