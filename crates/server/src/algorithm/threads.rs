//! Threads of algorithms: as many as cores, with a lower claim than those of queries.

use evergraph_graph::error::{Error, ErrorKind, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};
use rustix::process::setpriority_process;
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

/// How much nicer the threads of algorithms are to others than those of queries.
const NICENESS: i32 = 5;

/// The threads that all algorithms share, once there was one.
#[derive(Default)]
pub struct AlgorithmThreads {
    pool: Mutex<Option<Arc<ThreadPool>>>,
}

impl AlgorithmThreads {
    /// The threads, which are started the first time.
    ///
    /// # Errors
    /// `io` if the system refuses them.
    pub fn get(&self) -> Result<Arc<ThreadPool>> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = &*pool {
            return Ok(Arc::clone(pool));
        }
        // A system that refuses runs them all the same.
        let begin = |_| {
            let _ = setpriority_process(None, NICENESS);
        };
        let made = ThreadPoolBuilder::new()
            .thread_name(|number| format!("server-algorithm-{number}"))
            .start_handler(begin)
            .build();
        let made = made.map_err(|error| {
            Error::new(ErrorKind::Io, format!("start threads for algorithms: {error}")).because(error)
        })?;
        Ok(Arc::clone(pool.insert(Arc::new(made))))
    }
}
