//! Pool: a number of threads for kernels.

use evergraph_graph::error::{Error, ErrorKind, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// A pool of `threads` threads. One that is done with keeps none.
///
/// # Errors
/// `io` if the system has no more threads.
pub fn pool(threads: usize) -> Result<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| {
        Error::new(ErrorKind::Io, format!("start {threads} threads: {error}")).because(error)
    })
}
