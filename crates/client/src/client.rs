//! `Client`: queries and transactions on a server, from any thread.

use crate::destination::Destination;
use crate::interrupt::Interrupt;
use crate::options::ClientOptions;
use crate::pool::Pool;
use crate::query::Query;
use crate::results::Results;
use crate::tls;
use crate::transaction::Transaction;
use crate::url::ServerUrl;
use crate::wait_limit::WaitLimit;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::transaction::TransactionOptions;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::transaction::retry::{ATTEMPTS_MAX, Retry};
use std::sync::Arc;
use std::time::Instant;

/// A client of one server. Copies share its connections.
///
/// Concurrency: any thread. Every result that is being read and every transaction has a connection of its own.
#[derive(Clone, Debug)]
pub struct Client {
    pool: Arc<Pool>,
    /// When what conflicted runs again: as in an embedded database.
    retry: Arc<Retry>,
}

impl Client {
    /// Connects, logs in if the URL names a user, and asks whether the database is there.
    ///
    /// # Errors
    /// `invalid` for a wrong password, a database that the user may not read, certificates that cannot be used, and a server
    /// that is none of Gremlin; `io` if there is none; `limit` after [`ClientOptions::connect_time_max`]; `cancelled`.
    pub fn connect(url: &ServerUrl, options: ClientOptions) -> Result<Self> {
        let limit = WaitLimit::new(&options.interrupt).within(options.connect_time_max);
        let client = Self::new(url, options)?;
        let lease = client.pool.take(&limit)?;
        let query = Query::text("g.inject()").cancel(&client.options().interrupt);
        let query = match limit.time_left() {
            Some(left) => query.timeout(left),
            None => query,
        };
        let mut answer = Results::of_lease(lease, &query, url.database.as_deref())?;
        while answer.next_frame()?.is_some() {}
        drop(answer);
        Ok(client)
    }

    /// A client that connects with its first request.
    ///
    /// # Errors
    /// Those of reading certificates.
    pub fn new(url: &ServerUrl, options: ClientOptions) -> Result<Self> {
        if !url.has_tls && !options.tls.is_default() {
            return Err(Error::invalid(format!(
                "certificates are of no use without TLS: connect by wss://, not {url}"
            )));
        }
        let tls = url.has_tls.then(|| tls::config(&options.tls)).transpose()?.map(Arc::new);
        let random = SplitMix64::from_system()
            .map_err(|error| Error::new(ErrorKind::Io, format!("get random bytes of the system: {error}")))?;
        let pool = Pool::new(Destination { url: url.clone(), options, tls });
        Ok(Self { pool: Arc::new(pool), retry: Arc::new(Retry::new(Box::new(random))) })
    }

    /// The server.
    #[must_use]
    pub fn url(&self) -> &ServerUrl {
        &self.pool.destination.url
    }

    /// How it connects.
    #[must_use]
    pub fn options(&self) -> &ClientOptions {
        &self.pool.destination.options
    }

    /// Runs a query, in a transaction of its own. One that writes is committed before its first result comes, and run again
    /// after a conflict, of which nothing was written.
    ///
    /// # Errors
    /// As [`Results::next_frame`]; `conflict` after the last attempt.
    pub fn query(&self, query: &Query) -> Result<Results<'static>> {
        let limit = query.limit();
        self.retry.retrying(
            ATTEMPTS_MAX,
            || limit.is_late(),
            || {
                let lease = self.pool.take(&limit)?;
                Results::of_lease(lease, query, self.url().database.as_deref())
            },
        )
    }

    /// Begins a transaction; `interrupt` stops its begin and its commit. A query in it has one of its own.
    ///
    /// # Errors
    /// As [`Results::next_frame`].
    pub fn begin(
        &self,
        options: impl Into<TransactionOptions>,
        interrupt: impl Into<Interrupt>,
    ) -> Result<Transaction> {
        let options = options.into();
        Transaction::new(&self.pool, options, deadline(options), interrupt.into())?.begin()
    }

    /// Calls `body` with a transaction, and commits it. After a conflict, of which nothing was written, `body` is called again
    /// with another one, as by an embedded database: up to 100 times, after random waits of up to 10 ms.
    ///
    /// # Errors
    /// Errors of `body`, after a rollback; those of [`Transaction::commit`]. A commit of unknown outcome is not tried again.
    pub fn transact<T>(
        &self,
        options: impl Into<TransactionOptions>,
        interrupt: impl Into<Interrupt>,
        mut body: impl FnMut(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        self.retrying(options, interrupt, |mut transaction| match body(&mut transaction) {
            Ok(value) => transaction.commit().map(|_| value),
            Err(error) => {
                transaction.roll_back();
                Err(error)
            }
        })
    }

    /// Calls `attempt` with a transaction, which it commits or rolls back, and again after a conflict, as
    /// [`Client::transact`] does.
    ///
    /// # Errors
    /// Errors of `attempt`.
    pub fn retrying<T>(
        &self,
        options: impl Into<TransactionOptions>,
        interrupt: impl Into<Interrupt>,
        mut attempt: impl FnMut(Transaction) -> Result<T>,
    ) -> Result<T> {
        let options = options.into();
        let (deadline, interrupt) = (deadline(options), interrupt.into());
        self.retry.retrying(
            ATTEMPTS_MAX,
            || deadline.is_some_and(|deadline| Instant::now() >= deadline),
            || attempt(Transaction::new(&self.pool, options, deadline, interrupt.clone())?),
        )
    }

    /// Closes the connections that nobody uses. Those in use are closed when they are done.
    pub fn close(&self) {
        self.pool.clear();
    }

    pub(crate) fn destination(&self) -> &Arc<Destination> {
        &self.pool.destination
    }
}

fn deadline(options: TransactionOptions) -> Option<Instant> {
    options.timeout.and_then(|timeout| Instant::now().checked_add(timeout))
}
