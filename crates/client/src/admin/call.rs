//! Call: requests of administration, and `Admin`, which sends them.

use crate::admin::answer::Answer;
use crate::client::Client;
use crate::connection::RequestFailure;
use crate::http::response::HttpResponse;
use crate::http::send::{HttpBody, HttpRequest, Login, send};
use crate::interrupt::Interrupt;
use crate::server_answer::UnknownOutcome;
use crate::wait_limit::WaitLimit;
use evergraph_graph::error::{Error, ErrorKind, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Read;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use ureq::http::Method;

/// Bytes of a document of the server.
const DOCUMENT_BYTES_MAX: u64 = 64 << 20;
/// How long the server may take for a document by default.
const TIME_MAX: Duration = Duration::from_secs(600);
/// Characters that a part of a path may not have as they are.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Administration of a server: requests by HTTP, as the user of the client's URL.
///
/// ```no_run
/// use evergraph_client::client::Client;
/// use evergraph_client::options::ClientOptions;
///
/// let client = Client::new(&"ws://localhost/social".parse()?, ClientOptions::default())?;
/// let admin = client.admin();
/// for database in admin.databases()? {
///     println!("{}: {}", database.name, database.state);
/// }
/// let statistics: serde_json::Value = admin.statistics()?;
/// println!("{} vertices", statistics["vertices_count"]);
/// # Ok::<(), evergraph_graph::error::Error>(())
/// ```
///
/// Errors of all requests: those of the server, with their kinds; `invalid` for a log-in that is refused, a role that is missing,
/// and a server that does not know the request; `io` if there is no server or the connection breaks off; `limit` after the time
/// of [`Admin::timeout`]; `cancelled`. If a change was sent and its answer is lost, [`UnknownOutcome::is_of`] the error.
///
/// Concurrency: any thread. Every request has a connection of its own.
#[derive(Clone, Debug)]
pub struct Admin {
    client: Client,
    interrupt: Interrupt,
    timeout: Duration,
    /// The database of the URL, once it is known.
    database: Arc<OnceLock<Box<str>>>,
}

impl Client {
    /// Administration of the server. Nothing is sent yet.
    #[must_use]
    pub fn admin(&self) -> Admin {
        let (client, interrupt) = (self.clone(), self.options().interrupt.clone());
        Admin { client, interrupt, timeout: TIME_MAX, database: Arc::default() }
    }
}

impl Admin {
    /// What stops requests, in place of the client's [`interrupt`](crate::options::ClientOptions::interrupt).
    #[must_use]
    pub fn cancel(self, interrupt: impl Into<Interrupt>) -> Self {
        Self { interrupt: interrupt.into(), ..self }
    }

    /// How long a request may take, connecting included: 10 minutes by default.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The client.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// The same for what is done after this was cancelled, within `time`.
    pub(crate) fn in_the_end(&self, time: Duration) -> Self {
        self.clone().cancel(Interrupt::default()).timeout(time)
    }

    /// The answer to a question for a file, of any status.
    pub(crate) fn fetch(&self, path: &str) -> Result<HttpResponse> {
        let (accept, body) = (None, HttpBody::Nothing);
        let request = HttpRequest { method: Method::GET, path, accept, body, login: Login::User };
        let limit = WaitLimit::new(&self.interrupt);
        send(self.client.destination(), request, &limit, self.timeout).map_err(RequestFailure::into_error)
    }

    /// Sends a file. There is no limit of time, but the server may not stop reading for that of [`Admin::timeout`].
    pub(crate) fn send_file(&self, path: &str, bytes: &mut dyn Read, length: Option<u64>) -> Result<()> {
        let (accept, body) = (Some("application/json"), HttpBody::Stream(bytes, length));
        let request = HttpRequest { method: Method::PUT, path, accept, body, login: Login::User };
        let destination = self.client.destination();
        let sent = send(destination, request, &WaitLimit::new(&self.interrupt), self.timeout);
        let response = sent.map_err(RequestFailure::into_error)?;
        let (asked, status) = (format!("PUT {path}"), response.status);
        let body = response.bytes(DOCUMENT_BYTES_MAX)?;
        Answer { destination, asked: &asked, query: None, status, body }.check()
    }

    /// The name of the URL's database. If the URL has none, the server is asked which one its `g` is, once.
    ///
    /// # Errors
    /// `invalid` if `g` stands for none: the URL has to name one.
    pub fn database_name(&self) -> Result<&str> {
        if let Some(name) = self.database.get() {
            return Ok(name);
        }
        let named = self.client.url().database.as_deref().filter(|name| *name != "g");
        let name = match named {
            Some(name) => name.strip_prefix("g_").unwrap_or(name).into(),
            None => self.default_database()?,
        };
        Ok(self.database.get_or_init(|| name))
    }

    fn default_database(&self) -> Result<Box<str>> {
        let databases = self.databases()?;
        if let Some(default) = databases.iter().find(|database| database.is_default) {
            return Ok(default.name.as_str().into());
        }
        let names: Vec<&str> = databases.iter().map(|database| &*database.name).collect();
        let place = self.client.url().authority();
        Err(Error::invalid(match names.is_empty() {
            true => format!("the server at {place} has no database that may be used"),
            false => format!(
                "the server at {place} has several databases: name one in the URL, as in ws://{place}/{}; there are {}",
                names[0],
                names.join(", ")
            ),
        }))
    }

    /// The path of something of the URL's database.
    pub(crate) fn database_path(&self, parts: &[&str]) -> Result<String> {
        Ok(path_of(&[&["databases", self.database_name()?], parts].concat()))
    }

    /// The document at `path`.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.answer(Request {
            method: Method::GET,
            path,
            document: None,
            query: None,
            changes: Changes::Nothing,
        })
    }

    /// Changes something, and reads the document of the answer.
    pub(crate) fn change<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        document: &impl Serialize,
    ) -> Result<T> {
        let document = Some(written(document)?);
        self.answer(Request { method, path, document, query: None, changes: Changes::Something })
    }

    /// Changes something; returns the status of the answer.
    pub(crate) fn put(&self, path: &str, document: &impl Serialize) -> Result<u16> {
        let document = Some(written(document)?);
        let changes = Changes::Something;
        self.status(Request { method: Method::PUT, path, document, query: None, changes })
    }

    /// Removes what is at `path`; returns the status of the answer.
    pub(crate) fn delete(&self, path: &str) -> Result<u16> {
        let changes = Changes::Something;
        self.status(Request { method: Method::DELETE, path, document: None, query: None, changes })
    }

    pub(crate) fn answer<T: DeserializeOwned>(&self, request: Request<'_>) -> Result<T> {
        let (asked, query) = (format!("{} {}", request.method, request.path), request.query);
        let (status, body) = self.exchange(request)?;
        let destination = self.client.destination();
        Answer { destination, asked: &asked, query, status, body }.document()
    }

    fn status(&self, request: Request<'_>) -> Result<u16> {
        let (asked, query) = (format!("{} {}", request.method, request.path), request.query);
        let (status, body) = self.exchange(request)?;
        let destination = self.client.destination();
        Answer { destination, asked: &asked, query, status, body }.check()?;
        Ok(status)
    }

    fn exchange(&self, request: Request<'_>) -> Result<(u16, Vec<u8>)> {
        let body = request.document.as_deref().map_or(HttpBody::Nothing, HttpBody::Json);
        let sent = HttpRequest {
            method: request.method,
            path: request.path,
            accept: Some("application/json"),
            body,
            login: Login::User,
        };
        let lost = |error: Error| match request.changes {
            Changes::Nothing => error,
            Changes::Something => UnknownOutcome::of(&error, "it is not known whether it was done"),
        };
        let limit = WaitLimit::new(&self.interrupt).within(self.timeout);
        let response = send(self.client.destination(), sent, &limit, Duration::MAX);
        let response = response.map_err(|failure| match failure {
            RequestFailure::NotSent(error) => error,
            RequestFailure::Lost(error) => lost(error),
        })?;
        let status = response.status;
        Ok((status, response.bytes(DOCUMENT_BYTES_MAX).map_err(lost)?))
    }
}

/// A request with a document, or none.
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) document: Option<Vec<u8>>,
    /// The query that it is about, whose places errors name.
    pub(crate) query: Option<&'a str>,
    pub(crate) changes: Changes,
}

/// Whether a request may change something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Changes {
    /// Sending it again is safe.
    Nothing,
    /// If its answer is lost, nobody knows what was done.
    Something,
}

/// A path of these parts, each with its special characters escaped.
pub(crate) fn path_of(parts: &[&str]) -> String {
    parts.iter().flat_map(|part| ["/".to_owned(), utf8_percent_encode(part, ENCODED).to_string()]).collect()
}

fn written(document: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(document)
        .map_err(|error| Error::new(ErrorKind::Invalid, format!("write a request as JSON: {error}")))
}
