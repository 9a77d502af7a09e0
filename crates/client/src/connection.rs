//! Connection: requests and their answers over one WebSocket, and the log-in.
//!
//! ```text
//! request ──> 407? ── log-in, with the same id ──> answer
//!        └──────────────────────────────────────> answer: any number of 206, then another status
//! ```
//!
//! One request is awaited at a time. Answers to one that nobody waits for any more are skipped.

use crate::credentials::{Credentials, check_private};
use crate::destination::Destination;
use crate::stream::Stream;
use crate::wait_limit::WaitLimit;
use crate::web_socket::{Lost, WebSocket};
use evergraph_graph::error::{Error, Result};
use evergraph_protocol::request::operation::{Operation, Request};
use evergraph_protocol::response::read::Response;
use evergraph_protocol::response::status::Status;
use evergraph_storage::planted::{Bug, planted};
use std::sync::Arc;
use uuid::Uuid;

/// A connection that requests are sent by.
#[derive(Debug)]
pub(crate) struct Connection {
    destination: Arc<Destination>,
    socket: WebSocket,
    has_sent_login: bool,
    /// The request whose last answer did not come yet.
    awaited: Option<Uuid>,
    /// Requests whose answers nobody wants.
    abandoned: Vec<Uuid>,
    is_lost: bool,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum RequestFailure {
    /// Nothing was carried out.
    NotSent(Error),
    /// Nobody knows what was carried out.
    Lost(Error),
}

impl RequestFailure {
    /// The error of a request that changes nothing, or in a transaction that ends with its connection.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::NotSent(error) | Self::Lost(error) => error,
        }
    }
}

impl Connection {
    /// Connects. The log-in comes with the first request.
    ///
    /// # Errors
    /// `invalid` if the server refuses; `io`, `limit`, `cancelled`.
    pub(crate) fn open(destination: &Arc<Destination>, limit: &WaitLimit) -> Result<Self> {
        let Destination { url, options, tls } = &**destination;
        let limit = limit.clone().within(options.connect_time_max);
        let stream = Stream::connect(url, tls.as_ref(), &limit)?;
        let socket = WebSocket::upgrade(stream, url, options)?;
        Ok(Self {
            destination: Arc::clone(destination),
            socket,
            has_sent_login: false,
            awaited: None,
            abandoned: Vec::new(),
            is_lost: false,
        })
    }

    /// Sends a request, whose answers [`Connection::receive`] waits for.
    ///
    /// # Errors
    /// [`RequestFailure::NotSent`].
    pub(crate) fn send(
        &mut self,
        operation: Operation,
        limit: &WaitLimit,
    ) -> std::result::Result<Uuid, RequestFailure> {
        self.abandoned.extend(self.awaited.take());
        let id = random_id().map_err(RequestFailure::NotSent)?;
        let request = Request { id, operation };
        let message = request.to_message(self.destination.options.format).map_err(|error| {
            RequestFailure::NotSent(Error::new(error.kind(), format!("send a query: {error}")).because(error))
        })?;
        // What was sent in part is no request.
        self.socket.send(message, limit).map_err(|lost| RequestFailure::NotSent(self.end(lost)))?;
        self.awaited = Some(id);
        Ok(id)
    }

    /// The next answer to the request `id`, which logs in if it has to.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn receive(
        &mut self,
        id: Uuid,
        limit: &WaitLimit,
    ) -> std::result::Result<Response, RequestFailure> {
        loop {
            let bytes = self.socket.receive(limit).map_err(|lost| RequestFailure::Lost(self.end(lost)))?;
            let response = Response::read(self.destination.options.format, &bytes)
                .map_err(|error| self.broken(&format!("its answer cannot be read: {error}")))?;
            let is_final = response.status().is_none_or(Status::is_final);
            match response.id {
                Some(found) if found == id && response.status() == Some(Status::Authenticate) => {
                    self.log_in(id, limit)?;
                }
                Some(found) if found == id => {
                    if is_final {
                        self.awaited = None;
                    }
                    return Ok(response);
                }
                Some(found) if self.abandoned.contains(&found) => {
                    if is_final {
                        self.abandoned.retain(|id| *id != found);
                    }
                }
                // It could not read the request: there is one that this can be about.
                None if response.status().is_none_or(|status| !status.is_success()) => {
                    self.awaited = None;
                    return Ok(response);
                }
                _ => return Err(self.broken("it answered what nobody asked")),
            }
        }
    }

    /// The server, and how it is used.
    pub(crate) fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Whether it can take another request, as far as is known without waiting.
    pub(crate) fn is_free(&mut self) -> bool {
        !self.is_lost && self.awaited.is_none() && self.abandoned.is_empty() && self.socket.is_alive()
    }

    /// Ends it: what runs on the server is cancelled, what is open rolled back.
    pub(crate) fn close(&mut self) {
        if !self.is_lost {
            self.is_lost = true;
            self.socket.close();
        }
    }

    fn log_in(&mut self, id: Uuid, limit: &WaitLimit) -> std::result::Result<(), RequestFailure> {
        if std::mem::replace(&mut self.has_sent_login, true) && !planted(Bug::LoginsRepeated) {
            return Err(self.broken("it asks for a second log-in"));
        }
        let sasl = self.credentials().map_err(|error| {
            self.close();
            RequestFailure::NotSent(error)
        })?;
        let operation = Operation::Authentication { sasl, mechanism: Some("PLAIN".into()) };
        let message =
            Request { id, operation }.to_message(self.destination.options.format).map_err(|error| {
                RequestFailure::NotSent(
                    Error::new(error.kind(), format!("send a log-in: {error}")).because(error),
                )
            })?;
        // The request runs once the log-in succeeded: it may have.
        self.socket.send(message, limit).map_err(|lost| RequestFailure::Lost(self.end(lost)))
    }

    fn credentials(&self) -> Result<Vec<u8>> {
        let credentials = Credentials::of(&self.destination)?;
        check_private(&self.destination.url, self.socket.peer())?;
        credentials.sasl()
    }

    fn broken(&mut self, why: &str) -> RequestFailure {
        let lost = self.socket.broken(why);
        self.close();
        RequestFailure::Lost(lost.error)
    }

    fn end(&mut self, lost: Lost) -> Error {
        // Neither a good-bye: a server that sends without end would not read it.
        self.is_lost = true;
        lost.error
    }
}

/// An id that no other request or session has.
///
/// # Errors
/// `io` if the system has no randomness to give.
pub(crate) fn random_id() -> Result<Uuid> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(evergraph_graph::error::ErrorKind::Io, format!("get random bytes of the system: {error}"))
    })?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid())
}
