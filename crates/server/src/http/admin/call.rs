//! Call: a request to administer, of a user who may send it, and what its handler needs of the server.

use crate::databases::change::DatabaseChange;
use crate::databases::open_database::DatabaseUse;
use crate::databases::served_database::{DatabaseInfo, ServedDatabase};
use crate::databases::target::ResolvedDatabase;
use crate::failure::Failure;
use crate::http::admin::document;
use crate::http::body::RequestBody;
use crate::http::error::HttpError;
use crate::security::access::Principal;
use crate::shared::Shared;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{ErrorKind, Result as GraphResult};
use serde::de::DeserializeOwned;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// The part of a path that is the name of a database, in every route.
pub const DATABASE: &str = "database";

/// A body that is longer is read on a thread of its own, so that it delays no other connection.
const SHORT_BODY_BYTES: usize = 64 << 10;

/// A request to administer.
pub struct AdminCall {
    /// The server.
    pub shared: Arc<Shared>,
    /// Who sent it.
    pub principal: Principal,
    /// Its headers.
    pub headers: HeaderMap,
    parameters: Vec<(Box<str>, Box<str>)>,
    content: Mutex<CallContent>,
}

/// The body of a request.
pub enum CallContent {
    /// It has none, or none that means anything.
    None,
    /// It is one JSON object, which was read.
    Document(RequestBody),
    /// It was not read.
    Stream(Body),
}

impl AdminCall {
    /// A request of `principal` with the parts of its path, by the names that the route gives them.
    #[must_use]
    pub fn new(
        shared: Arc<Shared>,
        principal: Principal,
        headers: HeaderMap,
        parameters: Vec<(Box<str>, Box<str>)>,
        content: CallContent,
    ) -> Self {
        Self { shared, principal, headers, parameters, content: Mutex::new(content) }
    }

    /// The part of the path that the route calls `name`; empty if it has none.
    #[must_use]
    pub fn parameter(&self, name: &str) -> &str {
        let found = self.parameters.iter().find(|(known, _)| **known == *name);
        found.map_or("", |(_, value)| value)
    }

    /// The name of the database in the path.
    #[must_use]
    pub fn database(&self) -> &str {
        self.parameter(DATABASE)
    }

    /// The body of a route with a document, for a handler that reads it itself; `None` if it has none.
    #[must_use]
    pub fn take_document(&self) -> Option<RequestBody> {
        match self.take_content() {
            CallContent::Document(body) => Some(body),
            CallContent::None | CallContent::Stream(_) => None,
        }
    }

    /// Reads the document in the body; one without members if there is no body. See [`document::read`].
    ///
    /// # Errors
    /// 400 with the member that is wrong.
    pub async fn document<T: DeserializeOwned + Send + 'static>(&self) -> Result<T, HttpError> {
        match self.take_document() {
            Some(body) if body.bytes.len() > SHORT_BODY_BYTES => {
                self.shared.blocking.run(move |_| document::read(&body.bytes)).await?
            }
            body => document::read(body.as_ref().map_or(&[], |body| &body.bytes)),
        }
    }

    /// The body of a route that reads it itself, once.
    pub fn take_stream(&self) -> Body {
        match self.take_content() {
            CallContent::Stream(body) => body,
            CallContent::None | CallContent::Document(_) => Body::empty(),
        }
    }

    fn take_content(&self) -> CallContent {
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *content, CallContent::None)
    }

    /// The database in the path, open or not.
    ///
    /// # Errors
    /// 404 for an unknown one, 403 without a role on it.
    pub fn served(&self) -> Result<Arc<ServedDatabase>, HttpError> {
        let resolved = ResolvedDatabase::of(&self.shared.core.databases, &self.principal, self.database());
        Ok(resolved.map_err(of_path)?.served)
    }

    /// Uses the database in the path until what this returns is dropped. A database that is being closed cancels `cancel`.
    ///
    /// # Errors
    /// As [`AdminCall::served`]; 503 if the database is not open.
    pub fn open_database(&self, cancel: CancelFlag) -> Result<DatabaseUse, HttpError> {
        self.served()?.begin(cancel).map_err(|error| HttpError::from(&error))
    }

    /// Does `work` with the database in the path, on a thread of its own. Its flag is cancelled when the client leaves, and
    /// when the database is being closed.
    ///
    /// # Errors
    /// As [`AdminCall::open_database`]; those of `work`; 503 if all threads are taken.
    pub async fn with_database<T: Send + 'static>(
        &self,
        work: impl FnOnce(&DatabaseUse, &CancelFlag) -> Result<T, HttpError> + Send + 'static,
    ) -> Result<T, HttpError> {
        let served = self.served()?;
        let working = self.shared.blocking.run(move |cancel| {
            let using = served.begin(cancel.clone()).map_err(|error| HttpError::from(&error))?;
            work(&using, cancel).map_err(|error| {
                let was_cancelled = error.kind == ErrorKind::Cancelled.name();
                // By whom? The database may be closed.
                let closed = using.check().err().filter(|_| was_cancelled);
                closed.map_or(error, |closed| HttpError::from(&closed))
            })
        });
        working.await?
    }

    /// Changes the database in the path, and waits until that is done.
    ///
    /// # Errors
    /// Those of the change.
    pub async fn change_database(&self, change: DatabaseChange) -> Result<Option<DatabaseInfo>, HttpError> {
        let (answer, outcome) = oneshot::channel();
        let done = move |outcome: GraphResult<Option<DatabaseInfo>>| drop(answer.send(outcome));
        let started = self.shared.core.databases.start(self.database(), change, done);
        started.map_err(|error| HttpError::from(&error))?;
        let outcome = outcome.await.map_err(|_| HttpError::from(Failure::internal()))?;
        outcome.map_err(|error| HttpError::from(&error))
    }
}

/// An error about what a path names.
fn of_path(failure: Failure) -> HttpError {
    let error = HttpError::from(failure);
    match error.kind == ErrorKind::NotFound.name() {
        true => HttpError { status: StatusCode::NOT_FOUND, ..error },
        false => error,
    }
}
