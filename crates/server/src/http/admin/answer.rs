//! Answer: what a request to administer is answered with.

use crate::http::error::HttpError;
use crate::http::held_body::holding;
use crate::security::quota::QuotaGuard;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use evergraph_storage::planted::{Bug, planted};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

/// Characters of a part of a path that are written as they are.
const PATH_PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What becomes of a request, or why it failed.
pub type AdminResult = Result<AdminAnswer, HttpError>;

/// A response, and what the audit log says of the change beside what was asked for.
pub struct AdminAnswer {
    /// What the client reads.
    pub response: Response,
    /// For the audit log.
    pub note: Option<String>,
}

impl AdminAnswer {
    /// 200 with a document.
    #[must_use]
    pub fn json(document: &impl Serialize) -> Self {
        Self::document(StatusCode::OK, document)
    }

    /// 201 with a document, of what is at `location` now.
    #[must_use]
    pub fn created(location: &str, document: &impl Serialize) -> Self {
        Self::document(StatusCode::CREATED, document).at(location)
    }

    /// 202 with a document: work has begun, which `location` tells of.
    #[must_use]
    pub fn accepted(location: &str, document: &impl Serialize) -> Self {
        Self::document(StatusCode::ACCEPTED, document).at(location)
    }

    /// 204: it is done, and there is nothing to say.
    #[must_use]
    pub fn nothing() -> Self {
        StatusCode::NO_CONTENT.into_response().into()
    }

    /// The same with a note for the audit log.
    #[must_use]
    pub fn noted(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    /// The same with `quota` in use until it is sent, or its client is gone.
    #[must_use]
    pub fn holding(self, quota: Option<QuotaGuard>) -> Self {
        if planted(Bug::DownloadsUncounted) {
            return self;
        }
        Self { response: holding(self.response, quota), ..self }
    }

    fn document(status: StatusCode, document: &impl Serialize) -> Self {
        let mut text = serde_json::to_string(document).expect("documents have texts, numbers and lists only");
        text.push('\n');
        (status, [(header::CONTENT_TYPE, "application/json")], text).into_response().into()
    }

    fn at(mut self, location: &str) -> Self {
        if let Ok(location) = HeaderValue::from_str(location) {
            self.response.headers_mut().insert(header::LOCATION, location);
        }
        self
    }
}

impl From<Response> for AdminAnswer {
    fn from(response: Response) -> Self {
        Self { response, note: None }
    }
}

/// A path of these parts, each with its special characters escaped.
#[must_use]
pub fn path_of(parts: &[&str]) -> String {
    parts
        .iter()
        .flat_map(|part| ["/".to_owned(), utf8_percent_encode(part, PATH_PLAIN).to_string()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_in_paths() {
        assert_eq!(path_of(&["databases", "Größe 2/..", "a.b"]), "/databases/Gr%C3%B6%C3%9Fe%202%2F../a.b");
    }
}
