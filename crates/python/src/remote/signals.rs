//! Signals: stop a call that waits for a server when a signal's handler raises, as Ctrl-C does.

use crate::error::{exception, raised};
use evergraph::graph::cancel::CancelFlag;
use evergraph::{Error, Result};
use evergraph_client::interrupt::Interrupt;
use evergraph_client::server_answer::UnknownOutcome;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// What a progress callback is told: a server does not say how far it is.
const WAITING: &str = "server";

/// What looks for signals while a call waits, and keeps what their handlers raise.
#[derive(Clone)]
pub struct Signals {
    /// Stops the call.
    pub interrupt: Interrupt,
    raised: Arc<Mutex<Option<PyErr>>>,
    stop: CancelFlag,
}

impl Signals {
    /// Nothing was raised yet.
    #[must_use]
    pub fn new() -> Self {
        Self::asking(|py| py.check_signals())
    }

    /// The same for a call that tells `progress` that it waits, and is stopped by it as well.
    #[must_use]
    pub fn telling(progress: Option<&Bound<'_, PyAny>>) -> Self {
        let Some(progress) = progress.map(|callable| callable.clone().unbind()) else { return Self::new() };
        Self::asking(move |py| {
            py.check_signals()?;
            check_answer(py, &progress.call1(py, (WAITING, None::<f64>, ""))?)
        })
    }

    /// Stops the call when `ask` raises something.
    fn asking(ask: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync + 'static) -> Self {
        let (raised, stop): (Arc<Mutex<Option<PyErr>>>, _) = (Arc::default(), CancelFlag::default());
        let (found, stopped) = (Arc::clone(&raised), stop.clone());
        let interrupt = Interrupt::asking(move || {
            stopped.is_cancelled()
                || Python::attach(|py| match ask(py) {
                    Ok(()) => false,
                    Err(error) => {
                        *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        true
                    }
                })
        });
        Self { interrupt, raised, stop }
    }

    /// Calls a progress callback. What it raises, and if it answers `False`, stops what runs.
    pub fn call(&self, progress: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>) {
        let called = Python::attach(|py| progress(py).and_then(|answer| check_answer(py, &answer)));
        if let Err(error) = called {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            self.stop.cancel();
        }
    }

    /// Does `work`, which waits for a server, without the GIL.
    ///
    /// # Errors
    /// What a signal's handler raised; what `work` says, as an exception. If it may have written nevertheless, an
    /// exception of `work` is an `UnknownOutcomeError`, and one of a handler has a note.
    pub fn run<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
        let outcome = py.detach(work);
        self.ended(py, outcome)
    }

    /// The outcome of such work. If it was done before what a handler raised could stop it, that is raised with a note; a
    /// progress callback that answered `False` came too late then.
    ///
    /// # Errors
    /// As [`Signals::run`].
    pub fn ended<T>(&self, py: Python<'_>, outcome: Result<T>) -> PyResult<T> {
        let value = outcome.map_err(|error| self.exception(py, &error))?;
        let late = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        let cancelled = || py.import("evergraph.errors")?.getattr("CancelledError");
        match late {
            Some(late) if !late.is_instance(py, &cancelled()?) => {
                add_note(py, &late, "the work was done before it could be stopped: what it wrote is there");
                Err(late)
            }
            _ => Ok(value),
        }
    }

    /// `error` as an exception, unless a signal's handler raised one.
    pub fn exception(&self, py: Python<'_>, error: &Error) -> PyErr {
        let is_unknown = UnknownOutcome::is_of(error);
        let found = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        match found {
            Some(found) => {
                if is_unknown {
                    add_note(py, &found, &error.to_string());
                }
                found
            }
            None if is_unknown => exception(py, "UnknownOutcomeError", &error.to_string()),
            None => raised(py, error),
        }
    }
}

/// Whether a progress callback wants to go on.
///
/// # Errors
/// `CancelledError` if it does not.
fn check_answer(py: Python<'_>, answer: &Py<PyAny>) -> PyResult<()> {
    match answer.extract::<bool>(py) {
        Ok(false) => Err(exception(py, "CancelledError", "cancelled: the progress callback returned False")),
        _ => Ok(()),
    }
}

/// Adds a note, where this version of Python has them.
fn add_note(py: Python<'_>, error: &PyErr, note: &str) {
    if let Ok(true) = error.value(py).hasattr("add_note") {
        // A note that cannot be added changes nothing of what was raised.
        let _ = error.value(py).call_method1("add_note", (note,));
    }
}
