//! Reserved: memory that Python holds, counted below the database's memory limit until it is free again.
//!
//! ```text
//! NumPy array          a finalizer of its own ends the reservation; views keep the array alive
//! table of Arrow       its first buffer owns the reservation; pyarrow frees all buffers of a table together
//! what Python makes    `ReservedMemory`, ended by `with`, or with the object that it was reserved for
//! ```

use crate::error::OrRaise;
use crate::handle::ProcessLocal;
use arrow_array::{ArrayRef, make_array};
use arrow_buffer::Buffer;
use bytes::Bytes;
use evergraph::graph::budget::{Budget, Reservation};
use evergraph::{Error, Result};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// What a table takes of a budget: some of it for as long as the table lives, some while it is made.
pub struct TableMemory<'a> {
    budget: &'a dyn Budget,
    purpose: &'static str,
    kept: Vec<Reservation>,
}

impl<'a> TableMemory<'a> {
    /// Nothing yet, of `budget`; a refusal names `purpose`.
    pub fn new(budget: &'a dyn Budget, purpose: &'static str) -> Self {
        Self { budget, purpose, kept: Vec::new() }
    }

    /// Reserves `bytes` for as long as the table lives.
    ///
    /// # Errors
    /// `limit` if they don't fit.
    pub fn keep(&mut self, bytes: u64) -> Result<()> {
        self.kept.push(self.take(bytes)?);
        Ok(())
    }

    /// Reserves `bytes` for a while.
    ///
    /// # Errors
    /// `limit` if they don't fit.
    pub fn take(&self, bytes: u64) -> Result<Reservation> {
        self.budget.reserve(self.purpose, bytes)
    }

    /// What the table keeps.
    #[must_use]
    pub fn into_kept(self) -> Vec<Reservation> {
        self.kept
    }
}

/// A reservation that grows with what it is for.
#[derive(Default)]
pub struct GrowingReservation {
    parts: Vec<Reservation>,
    bytes: u64,
}

impl GrowingReservation {
    /// Has at least `bytes` of `memory`.
    ///
    /// # Errors
    /// `limit` if they don't fit.
    pub fn reach(&mut self, bytes: u64, memory: &TableMemory<'_>) -> Result<()> {
        if bytes > self.bytes {
            self.parts.push(memory.take(bytes - self.bytes)?);
            self.bytes = bytes;
        }
        Ok(())
    }
}

/// A buffer, and what was reserved for it and its neighbours.
struct ReservedBuffer {
    buffer: Buffer,
    _memory: ProcessLocal<Vec<Reservation>>,
}

impl AsRef<[u8]> for ReservedBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

/// `array` without a copy, which keeps `memory` reserved until its first buffer is freed.
///
/// # Errors
/// `invalid` if Arrow doesn't accept its own array.
pub fn with_memory(array: &ArrayRef, memory: Vec<Reservation>) -> Result<ArrayRef> {
    let data = array.to_data();
    let mut buffers = data.buffers().to_vec();
    let Some(first) = buffers.first_mut().filter(|buffer| !buffer.is_empty()) else {
        return Ok(array.clone());
    };
    let owner = ReservedBuffer { buffer: first.clone(), _memory: ProcessLocal::new(memory) };
    *first = Buffer::from(Bytes::from_owner(owner));
    let data = data.into_builder().buffers(buffers).build();
    Ok(make_array(data.map_err(|error| Error::invalid(error.to_string()))?))
}

/// Memory that Python has reserved.
///
/// Concurrency: any thread ends it, and the first one does.
#[pyclass(frozen, module = "evergraph._native")]
pub struct ReservedMemory {
    held: Mutex<Option<ProcessLocal<Reservation>>>,
}

impl ReservedMemory {
    /// Reserves `bytes` of `budget`; a refusal names `purpose`.
    ///
    /// # Errors
    /// `LimitError` if they don't fit.
    pub fn new(py: Python<'_>, budget: &dyn Budget, purpose: &str, bytes: u64) -> PyResult<Self> {
        Ok(budget.reserve(purpose, bytes).or_raise(py)?.into())
    }
}

impl From<Reservation> for ReservedMemory {
    fn from(memory: Reservation) -> Self {
        Self { held: Mutex::new(Some(ProcessLocal::new(memory))) }
    }
}

/// Keeps `memory` reserved until `object` is freed.
///
/// # Errors
/// `TypeError` if nobody can watch `object`.
pub fn keep_with(object: &Bound<'_, PyAny>, memory: Reservation) -> PyResult<()> {
    Bound::new(object.py(), ReservedMemory::from(memory))?.call_method1("keep_with", (object,))?;
    Ok(())
}

#[pymethods]
impl ReservedMemory {
    /// Ends it when `object` is freed.
    fn keep_with(slf: &Bound<'_, Self>, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let finalize = slf.py().import("weakref")?.getattr("finalize")?;
        // At exit all memory is freed anyway.
        finalize.call1((object, slf.getattr("release")?))?.setattr("atexit", false)
    }

    /// Ends it.
    fn release(&self) {
        drop(self.held.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __exit__(&self, _kind: &Bound<'_, PyAny>, _error: &Bound<'_, PyAny>, _traceback: &Bound<'_, PyAny>) {
        self.release();
    }
}
