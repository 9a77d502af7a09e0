//! Send: one request, with its log-in, and the head of its answer.

use crate::connection::RequestFailure;
use crate::credentials::Credentials;
use crate::destination::Destination;
use crate::http::response::{HttpResponse, failed};
use crate::http::transport::{Secrecy, StreamConnector, Unresolved};
use crate::query::USER_AGENT;
use crate::wait_limit::WaitLimit;
use evergraph_graph::error::Error;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;
use ureq::config::Config;
use ureq::http::{Method, Request, header};
use ureq::{Agent, SendBody};

/// How long a body is held back until the server says that it wants it: who may not send it is told so before.
const CONSENT_TIME: Duration = Duration::from_secs(30);

/// A request.
pub(crate) struct HttpRequest<'a> {
    pub(crate) method: Method,
    /// Path and parameters, with special characters escaped.
    pub(crate) path: &'a str,
    /// The type of the answer; `None` for any.
    pub(crate) accept: Option<&'static str>,
    pub(crate) body: HttpBody<'a>,
    pub(crate) login: Login,
}

/// The body of a request.
pub(crate) enum HttpBody<'a> {
    Nothing,
    /// A document of JSON.
    Json(&'a [u8]),
    /// Bytes that are read while they are sent, so many of them if that is known.
    Stream(&'a mut dyn Read, Option<u64>),
}

/// Whether a request is that of the URL's user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Login {
    /// It is everybody's.
    Nobody,
    /// It has the user's name and password, if both are known.
    User,
}

/// Sends `request`, and waits for the head of the answer; an answer of any status is no failure. The server may send nothing
/// for `silence_max`.
///
/// # Errors
/// [`RequestFailure::NotSent`]: `io` if there is no server, `invalid` if the password would leave the machine without TLS.
/// [`RequestFailure::Lost`]: `io` if it is none of HTTP, or breaks off; `limit` when the time of `limit` is over, or nothing
/// came for too long; `cancelled`.
pub(crate) fn send(
    destination: &Arc<Destination>,
    request: HttpRequest<'_>,
    limit: &WaitLimit,
    silence_max: Duration,
) -> std::result::Result<HttpResponse, RequestFailure> {
    let url = &destination.url;
    let scheme = if url.has_tls { "https" } else { "http" };
    let mut builder = Request::builder().method(request.method).uri(format!(
        "{scheme}://{}{}",
        url.authority(),
        request.path
    ));
    let credentials = match request.login {
        Login::Nobody => None,
        Login::User => Credentials::of(destination).ok(),
    };
    let secrecy = if credentials.is_some() { Secrecy::Secret } else { Secrecy::Public };
    if let Some(credentials) = credentials {
        let value = credentials.basic().map_err(RequestFailure::NotSent)?;
        builder = builder.header(header::AUTHORIZATION, value);
    }
    if let Some(accept) = request.accept {
        builder = builder.header(header::ACCEPT, accept);
    }
    let wrong = |error| RequestFailure::NotSent(Error::invalid(format!("ask {}: {error}", url.authority())));
    let connector =
        StreamConnector { destination: Arc::clone(destination), limit: limit.clone(), silence_max, secrecy };
    let agent = Agent::with_parts(config(), connector, Unresolved);
    let answered = match request.body {
        HttpBody::Nothing => agent.run(builder.body(()).map_err(wrong)?),
        HttpBody::Json(bytes) => {
            builder = builder.header(header::CONTENT_TYPE, "application/json");
            agent.run(builder.body(bytes).map_err(wrong)?)
        }
        HttpBody::Stream(reader, length) => {
            builder = builder.header(header::CONTENT_TYPE, "application/octet-stream");
            if let Some(length) = length {
                builder = builder.header(header::CONTENT_LENGTH, length);
            }
            builder = builder.header(header::EXPECT, "100-continue");
            agent.run(builder.body(SendBody::from_reader(reader)).map_err(wrong)?)
        }
    };
    match answered {
        Ok(response) => Ok(HttpResponse::new(Arc::clone(destination), response)),
        Err(error) => {
            // Only the connector has errors of ours.
            let is_sent = !matches!(&error, ureq::Error::Other(cause) if cause.is::<Error>());
            let error = failed(destination, error);
            Err(if is_sent { RequestFailure::Lost(error) } else { RequestFailure::NotSent(error) })
        }
    }
}

fn config() -> Config {
    Config::builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .user_agent(USER_AGENT)
        .timeout_await_100(Some(CONSENT_TIME))
        .build()
}
