//! Answer: what the answer to a request of administration means: a document, or an error of the server.
//!
//! | answer | error |
//! |---|---|
//! | `{"error": {"kind", "message"}}` | of that kind |
//! | the same with `line` and `column` | its cause is a [`TextError`](evergraph_query::error::TextError) with the place in the query |
//! | the same with `outcome`, and a kind other than `unknown` | its cause is an [`UnknownOutcome`] |
//! | no such path or method | the server is of an older version |
//! | anything else | of the kind that the status stands for, with the beginning of what it says |

use crate::credentials::Credentials;
use crate::destination::Destination;
use crate::server_answer::{UnknownOutcome, placed};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_query::error::LineColumn;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Characters of an answer that is no document of the server.
const SHOWN_MAX: usize = 200;

/// An answer that was read to its end.
pub(crate) struct Answer<'a> {
    pub(crate) destination: &'a Destination,
    /// What was asked for, such as `GET /databases`.
    pub(crate) asked: &'a str,
    /// The query that it is about.
    pub(crate) query: Option<&'a str>,
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

#[derive(Deserialize)]
struct ErrorDocument {
    error: ErrorMembers,
}

#[derive(Deserialize)]
struct ErrorMembers {
    kind: String,
    message: String,
    line: Option<u32>,
    column: Option<u32>,
    outcome: Option<String>,
}

impl Answer<'_> {
    /// The document in it.
    ///
    /// # Errors
    /// The server's; `io` for a document of another form.
    pub(crate) fn document<T: DeserializeOwned>(self) -> Result<T> {
        self.check()?;
        serde_json::from_slice(&self.body).map_err(|error| {
            let place = self.destination.url.authority();
            let text = format!(
                "the answer of {place} to {} cannot be read ({error}): its version of Evergraph may be another one",
                self.asked
            );
            Error::new(ErrorKind::Io, text)
        })
    }

    /// # Errors
    /// The server's, if it is one.
    pub(crate) fn check(&self) -> Result<()> {
        match self.status {
            200..=299 => Ok(()),
            _ => Err(self.error()),
        }
    }

    fn error(&self) -> Error {
        let place = self.destination.url.authority();
        let said = serde_json::from_slice::<ErrorDocument>(&self.body).ok().map(|document| document.error);
        let is_old = match (self.status, &said) {
            (404, Some(said)) => said.message.starts_with("there is no path "),
            (404 | 405, _) => true,
            _ => false,
        };
        if is_old {
            let text = format!(
                "the server at {place} does not know {}: its version of Evergraph is older than this one, or it is no Evergraph \
                 server",
                self.asked
            );
            return Error::invalid(text);
        }
        // It asks for a log-in, and there was none: what is missing says more.
        if self.status == 401
            && let Err(missing) = Credentials::of(self.destination)
        {
            return missing;
        }
        let Some(said) = said else {
            let body = String::from_utf8_lossy(&self.body);
            let shown = body.lines().next().unwrap_or_default().chars().filter(|char| !char.is_control());
            let shown: String = shown.take(SHOWN_MAX).collect();
            let colon = if shown.is_empty() { "" } else { ": " };
            let text = format!("{place} answered {} with status {}{colon}{shown}", self.asked, self.status);
            return Error::new(kind_of_status(self.status), text);
        };
        let kind = kind_of_name(&said.kind).unwrap_or_else(|| kind_of_status(self.status));
        if said.outcome.as_deref() == Some("unknown") {
            let error = Error::new(kind, said.message);
            return UnknownOutcome::of(&error, "it is not known whether it was written");
        }
        match (said.line, said.column, self.query) {
            (Some(line), Some(column), Some(text)) => {
                placed(kind, &said.message, LineColumn { line, column }, text)
            }
            _ => Error::new(kind, said.message),
        }
    }
}

/// Kinds of errors, and what only HTTP calls by other names.
fn kind_of_name(name: &str) -> Option<ErrorKind> {
    match name {
        "unauthorized" | "forbidden" => Some(ErrorKind::Invalid),
        "timeout" => Some(ErrorKind::Limit),
        "internal" => Some(ErrorKind::Io),
        name => ErrorKind::from_name(name),
    }
}

fn kind_of_status(status: u16) -> ErrorKind {
    match status {
        404 => ErrorKind::NotFound,
        409 => ErrorKind::Conflict,
        408 | 413 | 504 | 507 => ErrorKind::Limit,
        429 | 503 => ErrorKind::Busy,
        400..=499 => ErrorKind::Invalid,
        _ => ErrorKind::Io,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ClientOptions;
    use evergraph_query::error::TextError;
    use std::error::Error as _;

    fn error(status: u16, body: &str) -> Error {
        let url = "ws://localhost".parse().unwrap();
        let destination = Destination { url, options: ClientOptions::default(), tls: None };
        let query = Some("g.V()\n.otu()");
        let body = body.as_bytes().to_vec();
        Answer { destination: &destination, asked: "GET /jobs", query, status, body }.error()
    }

    #[test]
    fn an_error_has_the_kind_and_the_words_of_the_server() {
        let said = |kind: &str| format!(r#"{{"error": {{"kind": "{kind}", "message": "it is so"}}}}"#);
        for (status, kind, expected) in [
            (400, "invalid", ErrorKind::Invalid),
            (403, "forbidden", ErrorKind::Invalid),
            (404, "not_found", ErrorKind::NotFound),
            (409, "conflict", ErrorKind::Conflict),
            (504, "timeout", ErrorKind::Limit),
            (500, "internal", ErrorKind::Io),
            (503, "of another version", ErrorKind::Busy),
        ] {
            let error = error(status, &said(kind));
            assert_eq!((error.kind(), error.to_string()), (expected, "it is so".to_owned()), "{kind}");
        }
    }

    #[test]
    fn a_server_that_lacks_a_request_is_called_older() {
        let unknown = r#"{"error": {"kind": "not_found", "message": "there is no path \"/jobs\""}}"#;
        for (status, body) in [(404, unknown), (405, "{}"), (404, "<html>")] {
            let told = error(status, body).to_string();
            assert!(told.contains("GET /jobs") && told.contains("older"), "{told}");
        }
        let unnamed = r#"{"error": {"kind": "not_found", "message": "there is no job \"7\""}}"#;
        assert_eq!(error(404, unnamed).to_string(), "there is no job \"7\"");
    }

    #[test]
    fn a_place_in_a_query_is_shown_and_an_unknown_outcome_is_no_conflict() {
        let wrong =
            r#"{"error": {"kind": "invalid", "message": "no step is called `otu`", "line": 2, "column": 2}}"#;
        let wrong = error(400, wrong);
        let found: &TextError = wrong.source().unwrap().downcast_ref().unwrap();
        assert_eq!((&*found.message, found.span.start), ("no step is called `otu`", 7));
        let lost = r#"{"error": {"kind": "conflict", "message": "lost", "outcome": "unknown"}}"#;
        let lost = error(500, lost);
        assert!(UnknownOutcome::is_of(&lost) && !lost.is_conflict());
        let unknown = error(500, r#"{"error": {"kind": "unknown", "message": "who knows?"}}"#);
        assert!(UnknownOutcome::is_of(&unknown) && unknown.kind() == ErrorKind::Unknown, "{unknown}");
        assert_eq!(unknown.to_string(), "who knows?");
    }

    #[test]
    fn what_is_no_document_is_shown_without_control_characters() {
        let told = error(502, "bad\u{1b} gateway\nmore").to_string();
        assert_eq!(told, "localhost:8182 answered GET /jobs with status 502: bad gateway");
        assert_eq!(error(500, "").kind(), ErrorKind::Io);
    }
}
