//! Basic log-in: user and password in the header Authorization of each request.
//!
//! ```text
//! Authorization: Basic base64(user:password)
//! ```
//!
//! Source: RFC 7617.

use crate::client::Client;
use crate::http::error::HttpError;
use crate::security::audit::{AuditEvent, AuditRecord};
use crate::security::authenticator::{Login, LoginAttempt, LoginRefusal};
use crate::security::sasl::Credentials;
use crate::server_core::ServerCore;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::sync::Arc;
use tokio::sync::oneshot;

/// How clients log in.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Basic realm=\"evergraph\", charset=\"UTF-8\"");
/// When another log-in of an address may be tried, in seconds.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("6");

/// Who sends a request with these headers; `None` if there are no users.
///
/// # Errors
/// 401 without a log-in, and for one that is refused; 429 if too many were; 503 if too many wait.
pub async fn log_in(
    core: &ServerCore,
    client: &Client,
    headers: &HeaderMap,
) -> Result<Option<Arc<Login>>, HttpError> {
    let Some(authenticator) = &core.authenticator else { return Ok(None) };
    let credentials = credentials(headers).map_err(|why| {
        if headers.contains_key(header::AUTHORIZATION) {
            let record = AuditRecord::new(AuditEvent::Login, "refused").address(client.address());
            core.audit.write(&record.detail(why));
        }
        unauthorized(why)
    })?;
    let (answer, outcome) = oneshot::channel();
    authenticator.log_in(LoginAttempt {
        is_known: client.is_user(&credentials.user),
        user: credentials.user,
        password: credentials.password,
        address: client.address(),
        // Nobody waits for it if the client is gone.
        answer: Box::new(move |outcome| drop(answer.send(outcome))),
    });
    // At the end of the server nobody answers.
    match outcome.await.unwrap_or(Err(LoginRefusal::Busy)) {
        Ok(login) => {
            client.admit(&login.user, &core.quotas).map_err(HttpError::busy)?;
            Ok(Some(Arc::new(login)))
        }
        Err(refusal @ LoginRefusal::WrongCredentials) => Err(unauthorized(refusal.message())),
        Err(refusal @ LoginRefusal::Busy) => Err(HttpError::busy(refusal.message())),
        Err(refusal @ LoginRefusal::TooManyFailures) => {
            let error = HttpError::new(StatusCode::TOO_MANY_REQUESTS, "busy", refusal.message());
            Err(error.with_header(header::RETRY_AFTER, RETRY_AFTER))
        }
    }
}

/// The answer to whoever has not logged in.
#[must_use]
pub fn unauthorized(message: &str) -> HttpError {
    let error = HttpError::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
    error.with_header(header::WWW_AUTHENTICATE, CHALLENGE)
}

/// User and password; what is wrong, without any part of them.
fn credentials(headers: &HeaderMap) -> Result<Credentials, &'static str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err("log in with user and password in the header Authorization, by the method Basic");
    };
    if values.next().is_some() {
        return Err("there are several headers Authorization");
    }
    read_basic(value.as_bytes())
}

/// User and password in the value of a header Authorization.
///
/// # Errors
/// What is wrong, without any part of them.
pub fn read_basic(value: &[u8]) -> Result<Credentials, &'static str> {
    let (method, rest) = value.split_at_checked(6).unwrap_or_default();
    if !method.eq_ignore_ascii_case(b"Basic ") {
        return Err("the method of the header Authorization is not Basic, the only one here");
    }
    let decoded = STANDARD.decode(rest.trim_ascii());
    let decoded = decoded.map_err(|_| "the header Authorization does not hold base64")?;
    let colon = decoded.iter().position(|byte| *byte == b':');
    let colon = colon.ok_or("the log-in is not of the form user:password")?;
    Credentials::new(&decoded[..colon], &decoded[colon + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_are_read_and_everything_else_is_refused() {
        let read = |values: &[&[u8]]| {
            let value = |value: &&[u8]| (header::AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
            credentials(&values.iter().map(value).collect())
        };
        for good in ["Basic YW5uOmE6Yg==", "basic  YW5uOmE6Yg== "] {
            let credentials = read(&[good.as_bytes()]).unwrap();
            assert_eq!((&*credentials.user, &*credentials.password), ("ann", &b"a:b"[..]), "{good}");
        }
        for bad in ["", "Basic", "Basic ", "Bearer YW5uOmE6Yg==", "Basic YW5u", "Basic *", "Basic /zph"] {
            assert!(read(&[bad.as_bytes()]).is_err(), "{bad}");
        }
        assert!(read(&[]).is_err() && read(&[b"Basic YTpi", b"Basic YTpi"]).is_err());
        assert!(read(&[b"Basic \xff"]).is_err());
    }
}
