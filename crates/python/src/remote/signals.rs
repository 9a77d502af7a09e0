//! Signals: stop a call that waits for a server when a signal's handler raises, as Ctrl-C does.

use crate::error::{exception, raised};
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
            let answer = progress.call1(py, (WAITING, None::<f64>, ""))?;
            match answer.extract::<bool>(py) {
                Ok(false) => {
                    Err(exception(py, "CancelledError", "cancelled: the progress callback returned False"))
                }
                _ => Ok(()),
            }
        })
    }

    /// Stops the call when `ask` raises something.
    fn asking(ask: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync + 'static) -> Self {
        let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
        let found = Arc::clone(&raised);
        let interrupt = Interrupt::asking(move || {
            Python::attach(|py| match ask(py) {
                Ok(()) => false,
                Err(error) => {
                    *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    true
                }
            })
        });
        Self { interrupt, raised }
    }

    /// Does `work`, which waits for a server, without the GIL.
    ///
    /// # Errors
    /// What a signal's handler raised; what `work` says, as an exception. If it may have written nevertheless, an
    /// exception of `work` is an `UnknownOutcomeError`, and one of a handler has a note.
    pub fn run<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
        py.detach(work).map_err(|error| self.exception(py, &error))
    }

    /// `error` as an exception, unless a signal's handler raised one.
    pub fn exception(&self, py: Python<'_>, error: &Error) -> PyErr {
        let is_unknown = UnknownOutcome::is_of(error);
        let found = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        match found {
            Some(found) => {
                if is_unknown && let Ok(true) = found.value(py).hasattr("add_note") {
                    // A note that cannot be added changes nothing of what was raised.
                    let _ = found.value(py).call_method1("add_note", (error.to_string(),));
                }
                found
            }
            None if is_unknown => exception(py, "UnknownOutcomeError", &error.to_string()),
            None => raised(py, error),
        }
    }
}
