//! Pool: connections that nobody uses at the moment, for the next request.
//!
//! Each result that is being read and each transaction has a connection of its own, so that none waits for another.

use crate::connection::Connection;
use crate::destination::Destination;
use crate::wait_limit::WaitLimit;
use evergraph_graph::error::Result;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Connections to one server.
///
/// Concurrency: any thread; the lock is held to take one or put one back, never while one is used.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) destination: Arc<Destination>,
    idle: Mutex<Vec<Connection>>,
}

/// A connection in use, which goes back when this is dropped, unless it cannot be used any more.
#[derive(Debug)]
pub(crate) struct Lease {
    connection: Option<Connection>,
    pool: Arc<Pool>,
}

impl Pool {
    /// No connection yet.
    pub(crate) fn new(destination: Destination) -> Self {
        Self { destination: Arc::new(destination), idle: Mutex::default() }
    }

    /// A connection that is free, or a new one.
    ///
    /// # Errors
    /// Those of connecting.
    pub(crate) fn take(self: &Arc<Self>, limit: &WaitLimit) -> Result<Lease> {
        loop {
            let Some(mut idle) = self.idle().pop() else { break };
            // The server may have ended it meanwhile.
            if idle.is_free() {
                return Ok(Lease { connection: Some(idle), pool: Arc::clone(self) });
            }
        }
        let connection = Connection::open(&self.destination, limit)?;
        Ok(Lease { connection: Some(connection), pool: Arc::clone(self) })
    }

    /// Closes what nobody uses.
    pub(crate) fn clear(&self) {
        let idle = std::mem::take(&mut *self.idle());
        idle.into_iter().for_each(|mut connection| connection.close());
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// The connection.
    pub(crate) fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("it is taken out when this is dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if connection.is_free() {
            let mut idle = self.pool.idle();
            if idle.len() < self.pool.destination.options.idle_connections_max {
                idle.push(connection);
                return;
            }
        }
        connection.close();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.clear();
    }
}
