//! Transaction options: isolation, timeouts and freshness of transactions, as Python has them.

use crate::error::invalid;
use evergraph::graph::timestamp::Timestamp;
use evergraph::{Freshness, Isolation, TransactionOptions};
use pyo3::prelude::*;
use std::time::Duration;

/// `seconds` as a duration.
///
/// # Errors
/// `InvalidError` below zero and beyond what there is, naming it.
pub fn seconds(py: Python<'_>, name: &str, seconds: f64) -> PyResult<Duration> {
    let duration = Duration::try_from_secs_f64(seconds);
    duration.map_err(|error| invalid(py, format!("{name}: {seconds} seconds: {error}")))
}

/// The level called `name`.
///
/// # Errors
/// `InvalidError` for one that there isn't.
pub fn isolation(py: Python<'_>, name: &str) -> PyResult<Isolation> {
    match name {
        "snapshot" => Ok(Isolation::Snapshot),
        "serializable" => Ok(Isolation::Serializable),
        _ => Err(invalid(py, format!("isolation {name:?}: expected \"snapshot\" or \"serializable\""))),
    }
}

/// What a snapshot shows at least: all that was acknowledged, or all up to a commit.
///
/// # Errors
/// `InvalidError` for both.
pub fn freshness(py: Python<'_>, fresh: bool, after: Option<u64>) -> PyResult<Freshness> {
    match (fresh, after) {
        (false, None) => Ok(Freshness::Applied),
        (false, Some(after)) => Ok(Freshness::After(Timestamp(after))),
        (true, None) => Ok(Freshness::Fresh),
        (true, Some(_)) => Err(invalid(py, "fresh=True covers every commit: leave `after` out")),
    }
}

/// The options of a transaction, by the names that Python has.
///
/// # Errors
/// `InvalidError` for a level that there isn't, and as [`seconds`].
pub fn transaction_options(
    py: Python<'_>,
    level: Option<&str>,
    timeout: Option<f64>,
) -> PyResult<TransactionOptions> {
    let mut options = TransactionOptions::default();
    options.isolation = level.map(|name| isolation(py, name)).transpose()?;
    options.timeout = timeout.map(|timeout| seconds(py, "timeout", timeout)).transpose()?;
    Ok(options)
}
