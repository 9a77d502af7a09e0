//! Long calls: run without the GIL, report progress, and stop at Ctrl-C.
//!
//! ```text
//! Python's thread   releases the GIL, waits; every 50 ms takes it: signals? progress to tell?
//! pool of threads   one does the work, the others help; none needs the GIL
//! ```
//!
//! What only waits for other machines has a thread of its own, and leaves the pool to work. A step that is short in a graph at hand
//! stays on Python's thread, and releases the GIL only if it may wait for other machines.
//!
//! The pool belongs to a process: after a fork its threads are gone, so the child gets one of its own.

use crate::error::{OrRaise, exception};
use evergraph::graph::cancel::CancelFlag;
use evergraph::graph::wait_limit::WaitLimit;
use evergraph::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often signals are looked for and progress is told.
const TICK: Duration = Duration::from_millis(50);

/// How far some work is.
#[derive(Clone, Debug)]
struct LatestProgress {
    phase: String,
    fraction: Option<f64>,
    text: String,
}

/// What work is given: whom to tell, when to stop.
#[derive(Debug, Default)]
pub struct ProgressWatch {
    /// Set when the work shall stop.
    pub cancel: CancelFlag,
    latest: Mutex<Option<LatestProgress>>,
}

impl ProgressWatch {
    /// Tells how far `phase` is, from 0 to 1 where that is known. Cheap enough for every step of a kernel.
    pub fn tell(&self, phase: &str, fraction: Option<f64>, text: impl FnOnce() -> String) {
        let told = LatestProgress { phase: phase.to_owned(), fraction, text: text() };
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
    }

    fn take(&self) -> Option<LatestProgress> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// `done` of `total` as a fraction, if there is a total.
pub fn fraction(done: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| done as f64 / total as f64)
}

/// Does `work`, without the GIL if it may wait for others: if the graph `is_remote`. Otherwise it costs nothing more: the
/// work is over sooner than the GIL would be there again.
pub fn beside_python<T: Send>(py: Python<'_>, is_remote: bool, work: impl FnOnce() -> T + Send) -> T {
    if is_remote { py.detach(work) } else { work() }
}

/// Does `work`, which waits for other machines, without the GIL, on a thread of its own. Ctrl-C ends its waits.
///
/// # Errors
/// What `work` says, Ctrl-C (`KeyboardInterrupt`), `IoError` if the system refuses a thread.
pub fn wait<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    let watch = ProgressWatch::default();
    let (done, stopped) = py.detach(|| {
        let (finished, waiting) = channel();
        let cancel = watch.cancel.clone();
        let waits = move || {
            let _limit = WaitLimit::default().and(cancel).enter();
            drop(finished.send(work()));
        };
        // The scope raises a panic of the work again.
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("evergraph-wait".to_owned());
            match thread.spawn_scoped(scope, waits) {
                Ok(_) => look_after(&waiting, &watch, None),
                Err(error) => (Some(Err(Error::new(ErrorKind::Io, "start a thread").because(error))), None),
            }
        })
    });
    conclude(py, None, &watch, done, stopped)
}

/// Does `work` without the GIL. `progress(phase, fraction, text)` is called now and then, and stops it by
/// answering `False` or by raising.
///
/// Work that was past stopping ends as if nobody had asked, unless that was by an exception, which must not be
/// lost: it is raised with a note that the work was done.
///
/// # Errors
/// What `work` says, Ctrl-C (`KeyboardInterrupt`), what `progress` raises.
pub fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&ProgressWatch) -> Result<T> + Send,
) -> PyResult<T> {
    run_until(py, progress, CancelFlag::default(), work)
}

/// The same with a flag of the caller's, for work that is done in several calls.
///
/// # Errors
/// As [`run`].
pub fn run_until<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    cancel: CancelFlag,
    work: impl FnOnce(&ProgressWatch) -> Result<T> + Send,
) -> PyResult<T> {
    let progress = progress.map(|callable| callable.clone().unbind());
    let pool = pool(py)?;
    let watch = ProgressWatch { cancel, ..ProgressWatch::default() };
    let (done, stopped) = py.detach(|| {
        let (finished, waiting) = channel();
        let watch = &watch;
        // Into the pool at once: a thread made for each call costs more than many a call.
        pool.in_place_scope(|scope| {
            // Dropped when the work ends, by a panic too, which the scope raises again.
            scope.spawn(move |_| drop(finished.send(work(watch))));
            look_after(&waiting, watch, progress.as_ref())
        })
    });
    conclude(py, progress.as_ref(), &watch, done, stopped)
}

/// Waits for what comes of work on another thread, and stops it if it shall: what was done, unless it has panicked, and why it was
/// to stop. Without the GIL, which it takes for each look.
fn look_after<T>(
    waiting: &Receiver<Result<T>>,
    watch: &ProgressWatch,
    progress: Option<&Py<PyAny>>,
) -> (Option<Result<T>>, Option<Stop>) {
    let mut stopped = None;
    loop {
        match waiting.recv_timeout(TICK) {
            Ok(done) => return (Some(done), stopped),
            Err(RecvTimeoutError::Disconnected) => return (None, stopped),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if stopped.is_none() {
            stopped = Python::attach(|py| look_up(py, watch, progress));
            if stopped.is_some() {
                watch.cancel.cancel();
            }
        }
    }
}

/// What is raised or returned in the end.
fn conclude<T>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    watch: &ProgressWatch,
    done: Option<Result<T>>,
    stopped: Option<Stop>,
) -> PyResult<T> {
    let done = done.expect("a panic of the work was raised by its scope");
    let last = || match (progress, watch.take()) {
        (Some(progress), Some(told)) => tell(py, progress, told).map(drop),
        _ => Ok(()),
    };
    let raised = match stopped {
        Some(Stop::Raised(error)) => Some(error),
        Some(Stop::Asked) => {
            if matches!(&done, Err(error) if error.kind() == ErrorKind::Cancelled) {
                return Err(exception(
                    py,
                    "CancelledError",
                    "cancelled: the progress callback returned False",
                ));
            }
            None
        }
        None => last().err(),
    };
    match raised {
        Some(error) => {
            if done.is_ok() {
                note(py, &error, "the work was done before it could be stopped: what it wrote is there")?;
            }
            Err(error)
        }
        None => done.or_raise(py),
    }
}

/// Why work shall stop.
enum Stop {
    /// The progress callback answered `False`.
    Asked,
    /// A signal's handler or the callback raised this.
    Raised(PyErr),
}

/// Looks for signals, and tells what there is to tell.
fn look_up(py: Python<'_>, watch: &ProgressWatch, progress: Option<&Py<PyAny>>) -> Option<Stop> {
    if let Err(error) = py.check_signals() {
        return Some(Stop::Raised(error));
    }
    let told = watch.take()?;
    match tell(py, progress?, told) {
        Ok(answer) => matches!(answer.extract::<bool>(py), Ok(false)).then_some(Stop::Asked),
        Err(error) => Some(Stop::Raised(error)),
    }
}

fn tell(py: Python<'_>, progress: &Py<PyAny>, told: LatestProgress) -> PyResult<Py<PyAny>> {
    progress.call1(py, (told.phase, told.fraction, told.text))
}

/// Adds a note to an exception, which Python shows below its text. Python 3.10 keeps it, but doesn't show it.
fn note(py: Python<'_>, error: &PyErr, text: &str) -> PyResult<()> {
    let value = error.value(py);
    if value.hasattr("add_note")? {
        value.call_method1("add_note", (text,))?;
    } else {
        value.setattr("__notes__", [text])?;
    }
    Ok(())
}

/// The threads of one process.
struct Pool {
    process: u32,
    threads: Arc<ThreadPool>,
}

static POOL: Mutex<Option<Pool>> = Mutex::new(None);

/// The threads of this process.
fn pool(py: Python<'_>) -> PyResult<Arc<ThreadPool>> {
    let process = std::process::id();
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match &*pool {
        Some(known) if known.process == process => return Ok(Arc::clone(&known.threads)),
        // A parent's: dropping it would wait for threads that aren't there.
        Some(_) => std::mem::forget(pool.take()),
        None => {}
    }
    let threads = ThreadPoolBuilder::new().thread_name(|at| format!("evergraph-{at}")).build();
    let threads = threads.map_err(|error| exception(py, "IoError", &format!("start threads: {error}")))?;
    let threads = Arc::new(threads);
    *pool = Some(Pool { process, threads: Arc::clone(&threads) });
    Ok(threads)
}
