//! Health: whether a server answers, and whether it serves.
//!
//! ```text
//! GET /healthz    200: the process answers
//! GET /readyz     200: it serves; a second line `degraded: ...` says what it can't do meanwhile
//!                 503: it does not serve, and says why    404: a server that has no such page
//! ```
//!
//! Neither needs a log-in, and neither tells names of databases.

use crate::client::Client;
use crate::connection::RequestFailure;
use crate::http::send::{HttpBody, HttpRequest, Login, send};
use crate::interrupt::Interrupt;
use crate::wait_limit::WaitLimit;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::time::Duration;
use ureq::http::Method;

/// Bytes of an answer.
const BODY_BYTES_MAX: u64 = 16 << 10;
/// Characters of a reason.
const REASON_MAX: usize = 200;

/// How a server is.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Health {
    /// It serves.
    Ready,
    /// It serves, but for this: a disk is full, say, and commits that need room are refused.
    Degraded(String),
    /// It answers, and does not serve, for this reason.
    NotReady(String),
    /// It answers. It has no page that says whether it serves.
    Alive,
}

impl Client {
    /// Asks how the server is, within `timeout`.
    ///
    /// # Errors
    /// `io` if nobody answers, or something else than an Evergraph server; `limit` after `timeout`; `cancelled`.
    pub fn health(&self, timeout: Duration, interrupt: impl Into<Interrupt>) -> Result<Health> {
        let limit = WaitLimit::new(&interrupt.into()).within(timeout);
        let alive = self.page("/healthz", &limit)?;
        if alive.status != 200 {
            let place = self.url().authority();
            let text = format!(
                "{place} is no Evergraph server: /healthz has status {}{}",
                alive.status,
                said(&alive)
            );
            return Err(Error::new(ErrorKind::Io, text));
        }
        let ready = self.page("/readyz", &limit)?;
        Ok(match ready.status {
            200 => degraded(&ready).map_or(Health::Ready, Health::Degraded),
            404 => Health::Alive,
            503 => Health::NotReady(line(&ready, 0)),
            status => Health::NotReady(format!("/readyz has status {status}{}", said(&ready))),
        })
    }

    fn page(&self, path: &str, limit: &WaitLimit) -> Result<Page> {
        let (accept, body, login) = (None, HttpBody::Nothing, Login::Nobody);
        let request = HttpRequest { method: Method::GET, path, accept, body, login };
        let response =
            send(self.destination(), request, limit, Duration::MAX).map_err(RequestFailure::into_error)?;
        let status = response.status;
        Ok(Page { status, body: response.bytes(BODY_BYTES_MAX)? })
    }
}

/// A page that everybody may read.
struct Page {
    status: u16,
    body: Vec<u8>,
}

fn said(answer: &Page) -> String {
    let reason = line(answer, 0);
    if reason.is_empty() { reason } else { format!(": {reason}") }
}

/// What a server that is ready cannot do meanwhile, if it says so.
fn degraded(answer: &Page) -> Option<String> {
    line(answer, 1).strip_prefix("degraded:").map(|reason| reason.trim_start().to_owned())
}

/// A line of a body, without control characters; empty where there is none.
fn line(answer: &Page, index: usize) -> String {
    let text = String::from_utf8_lossy(&answer.body);
    let line = text.lines().nth(index).unwrap_or_default().trim();
    line.chars().map(|char| if char.is_control() { ' ' } else { char }).take(REASON_MAX).collect()
}
