//! `WorkerPool`: threads that do jobs. The taker of outcomes does a job that no worker has begun.
//!
//! # Concurrency
//! One thread submits jobs and takes their outcomes. The lock of the queue and that of a job are never held together, and
//! for moments only. A panic of a job is carried over to whoever takes its outcome.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{Builder, JoinHandle};

use evergraph_graph::error::{Error, ErrorKind};

use crate::source::error::{SourceError, SourceResult};
use crate::stream::job::Job;
use crate::stream::row_translator::RowTranslator;
use crate::stream::translated::{OutcomeOf, Translated};

/// Threads that do jobs. Dropping it ends them; jobs that were begun are done first.
#[derive(Debug)]
pub struct WorkerPool<T: RowTranslator> {
    shared: Arc<Shared<T>>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared<T: RowTranslator> {
    queue: Mutex<Queue<T>>,
    changed: Condvar,
    /// Bytes of messages and of changes in all jobs that were submitted and not taken. Decides nothing but how far
    /// ahead jobs are submitted: Relaxed.
    bytes: AtomicUsize,
}

#[derive(Debug)]
struct Queue<T: RowTranslator> {
    jobs: VecDeque<Arc<SubmittedJob<T>>>,
    is_stopping: bool,
}

/// A job on its way.
#[derive(Debug)]
pub struct SubmittedJob<T: RowTranslator> {
    /// Bytes of its messages.
    bytes: usize,
    state: Mutex<JobState<T>>,
    changed: Condvar,
}

#[derive(Debug)]
enum JobState<T: RowTranslator> {
    Waiting(Job<T>),
    Running,
    Done { outcomes: Vec<OutcomeOf<T>>, bytes: usize },
    Panicked(Box<dyn Any + Send>),
}

impl<T: RowTranslator> WorkerPool<T> {
    /// Starts `count` threads.
    ///
    /// # Errors
    /// If the system refuses one.
    pub fn start(count: usize) -> SourceResult<Self> {
        let queue = Mutex::new(Queue { jobs: VecDeque::new(), is_stopping: false });
        let shared = Arc::new(Shared { queue, changed: Condvar::new(), bytes: AtomicUsize::new(0) });
        let mut pool = Self { shared, threads: Vec::with_capacity(count) };
        for _ in 0..count {
            let shared = Arc::clone(&pool.shared);
            let thread = Builder::new().name("replica-translate".to_owned()).spawn(move || shared.work());
            pool.threads.push(thread.map_err(|error| {
                let text = format!("start a thread that translates rows: {error}");
                SourceError::Local(Error::new(ErrorKind::Io, text).because(error))
            })?);
        }
        Ok(pool)
    }

    /// Whether there is no thread.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// Bytes of messages and of changes in the jobs that were submitted and not taken, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// Queues a job; `bytes` are those of its messages.
    pub fn submit(&self, job: Job<T>, bytes: usize) -> Arc<SubmittedJob<T>> {
        let state = Mutex::new(JobState::Waiting(job));
        let job = Arc::new(SubmittedJob { bytes, state, changed: Condvar::new() });
        self.shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        lock(&self.shared.queue).jobs.push_back(Arc::clone(&job));
        self.shared.changed.notify_one();
        job
    }

    /// Takes the outcomes of a job. Does it now, unless a worker has begun it; then it does others until that one is done, or waits.
    ///
    /// # Panics
    /// If the job did.
    #[must_use]
    pub fn take(&self, job: &SubmittedJob<T>) -> Vec<OutcomeOf<T>> {
        if let Some(mine) = job.begin() {
            self.shared.bytes.fetch_sub(job.bytes, Ordering::Relaxed);
            return mine.run();
        }
        loop {
            let mut state = lock(&job.state);
            match std::mem::replace(&mut *state, JobState::Running) {
                JobState::Done { outcomes, bytes } => {
                    self.shared.bytes.fetch_sub(bytes, Ordering::Relaxed);
                    return outcomes;
                }
                JobState::Panicked(panic) => resume_unwind(panic),
                JobState::Waiting(_) | JobState::Running => {}
            }
            drop(state);
            let other = lock(&self.shared.queue).jobs.pop_front();
            match other {
                Some(other) => self.shared.work_on(&other),
                None => job.wait(),
            }
        }
    }

    /// Takes the jobs out of the queue that no worker has begun.
    pub fn abandon(&self) {
        lock(&self.shared.queue).jobs.clear();
    }
}

impl<T: RowTranslator> Drop for WorkerPool<T> {
    fn drop(&mut self) {
        self.abandon();
        lock(&self.shared.queue).is_stopping = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // Panics of jobs were caught.
            let _ended = thread.join();
        }
    }
}

impl<T: RowTranslator> Shared<T> {
    /// The loop of a thread.
    fn work(&self) {
        while let Some(job) = self.next_job() {
            self.work_on(&job);
        }
    }

    /// Does a job, unless another thread has begun it.
    fn work_on(&self, job: &SubmittedJob<T>) {
        let Some(mine) = job.begin() else { return };
        let state = match catch_unwind(AssertUnwindSafe(|| mine.run())) {
            Ok(outcomes) => {
                let bytes = heap_bytes::<T>(&outcomes);
                self.bytes.fetch_add(bytes, Ordering::Relaxed);
                JobState::Done { outcomes, bytes }
            }
            Err(panic) => JobState::Panicked(panic),
        };
        self.bytes.fetch_sub(job.bytes, Ordering::Relaxed);
        *lock(&job.state) = state;
        job.changed.notify_one();
    }

    fn next_job(&self) -> Option<Arc<SubmittedJob<T>>> {
        let mut queue = lock(&self.queue);
        loop {
            if queue.is_stopping {
                return None;
            }
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            queue = self.changed.wait(queue).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

impl<T: RowTranslator> SubmittedJob<T> {
    /// Takes the job, unless another thread has.
    fn begin(&self) -> Option<Job<T>> {
        let mut state = lock(&self.state);
        match std::mem::replace(&mut *state, JobState::Running) {
            JobState::Waiting(job) => Some(job),
            other => {
                *state = other;
                None
            }
        }
    }

    /// Waits while a worker does the job.
    fn wait(&self) {
        let mut state = lock(&self.state);
        while matches!(*state, JobState::Running) {
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }
}

fn lock<S>(mutex: &Mutex<S>) -> MutexGuard<'_, S> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn heap_bytes<T: RowTranslator>(outcomes: &[OutcomeOf<T>]) -> usize {
    let bytes = |outcome: &OutcomeOf<T>| match outcome {
        Ok(Translated::Changes(changes)) => T::heap_bytes(changes),
        _ => 0,
    };
    outcomes.iter().map(bytes).sum::<usize>() + size_of_val(outcomes)
}
