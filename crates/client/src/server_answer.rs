//! Server answer: what a response that is no success means for the caller.
//!
//! | response | error |
//! |---|---|
//! | attribute `kind` | of that kind |
//! | no such attribute | of the kind that the status stands for |
//! | attributes `line`, `column` | its cause is a [`TextError`] with the place in the text |
//! | attribute `outcome`, and a kind other than `unknown` | its cause is an [`UnknownOutcome`] |

use evergraph_graph::error::{Error, ErrorKind};
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::read::Response;
use evergraph_protocol::response::status::Status;
use evergraph_query::error::{LineColumn, Span, TextError};
use evergraph_storage::planted::{Bug, planted};
use std::error::Error as StdError;
use std::fmt;

/// Nobody knows whether a request, or a commit, was carried out: the connection was lost before its answer came, or the
/// server itself does not know. The cause of an error; running the request again may do it twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownOutcome;

impl UnknownOutcome {
    /// Whether `error` leaves open what was done.
    #[must_use]
    pub fn is_of(error: &Error) -> bool {
        error.kind() == ErrorKind::Unknown || error.cause::<Self>().is_some()
    }

    /// `error`, of a request that may have been carried out. It is no conflict any more: nothing retries it.
    pub(crate) fn of(error: &Error, what: &str) -> Error {
        if planted(Bug::LostCommitsRetried) {
            return Error::conflict(error.to_string());
        }
        let kind = match error.kind() {
            // Its kind and its text say so.
            ErrorKind::Unknown => return Error::new(ErrorKind::Unknown, error.to_string()),
            ErrorKind::Conflict => ErrorKind::Io,
            kind => kind,
        };
        Error::new(kind, format!("{error}; {what}")).because(Self)
    }
}

impl fmt::Display for UnknownOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is not known whether it was written")
    }
}

impl StdError for UnknownOutcome {}

/// The error of a response that is no success; `text` is the query that it answers, if it is one.
pub(crate) fn error_of(response: &Response, text: Option<&str>) -> Error {
    let kind = kind_of(response);
    let message = if response.message.is_empty() {
        format!("the server answered with status {} and said no more", response.code)
    } else {
        response.message.to_string()
    };
    if response.attributes.has_unknown_outcome() {
        return UnknownOutcome::of(&Error::new(kind, message), "it is not known whether it was written");
    }
    match (response.attributes.place(), text) {
        (Some(place), Some(text)) => placed(kind, &message, place, text),
        _ => Error::new(kind, message),
    }
}

/// The error that `message` tells of, at `place` of `text`.
pub(crate) fn placed(kind: ErrorKind, message: &str, place: LineColumn, text: &str) -> Error {
    let wrong = text_error(kind, message, place, text);
    Error::new(kind, wrong.shown_in(text)).because(wrong)
}

fn kind_of(response: &Response) -> ErrorKind {
    let named = response.attributes.get(Attributes::KIND).and_then(|kind| kind.as_str());
    if let Some(kind) = named.and_then(ErrorKind::from_name) {
        return kind;
    }
    match response.status() {
        Some(
            Status::Unauthorized
            | Status::Forbidden
            | Status::MalformedRequest
            | Status::InvalidRequestArguments
            | Status::ServerErrorFailStep
            | Status::ServerErrorEvaluation,
        ) => ErrorKind::Invalid,
        Some(Status::ServerErrorTemporary) => ErrorKind::Busy,
        Some(Status::ServerErrorTimeout | Status::ServerErrorSerialization) => ErrorKind::Limit,
        _ => ErrorKind::Io,
    }
}

/// The error at `place` of `text`, of a message that may show the place itself:
///
/// ```text
/// line 1, column 7: no step is called `otu`
///   g.V().otu()
///         ^^^
/// ```
fn text_error(kind: ErrorKind, message: &str, place: LineColumn, text: &str) -> TextError {
    let LineColumn { line, column } = place;
    let said = message.strip_prefix(&*format!("line {line}, column {column}: ")).unwrap_or(message);
    let lines: Vec<&str> = said.lines().collect();
    let marked = lines.last().map_or(0, |last| last.chars().filter(|char| *char == '^').count());
    let is_shown =
        lines.len() >= 3 && marked > 0 && lines[lines.len() - 1].chars().all(|char| " ^".contains(char));
    let said = if is_shown { lines[..lines.len() - 2].join("\n") } else { said.to_owned() };
    let start = offset_of(text, place);
    let end = match is_shown {
        true => text[start..].char_indices().nth(marked).map_or(text.len(), |(at, _)| start + at),
        false => start,
    };
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    TextError {
        kind,
        message: said,
        span: Span { start: offset(start), end: offset(end) },
        place: Some(place),
    }
}

fn offset_of(text: &str, place: LineColumn) -> usize {
    let line_start = match place.line {
        0 | 1 => 0,
        line => text.match_indices('\n').nth(line as usize - 2).map_or(text.len(), |(at, _)| at + 1),
    };
    let before = place.column.saturating_sub(1) as usize;
    text[line_start..].char_indices().nth(before).map_or(text.len(), |(at, _)| line_start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(code: i32, message: &str, attributes: Attributes) -> Response {
        Response { id: None, code, message: message.into(), attributes, results: Vec::new() }
    }

    #[test]
    fn an_error_has_the_kind_that_the_server_says_or_that_its_status_stands_for() {
        let kind = |code, attributes| error_of(&response(code, "no", attributes), None).kind();
        assert_eq!(kind(596, Attributes::new().with_kind(ErrorKind::Conflict)), ErrorKind::Conflict);
        assert_eq!(kind(596, Attributes::new()), ErrorKind::Busy, "nobody said that it may be run again");
        assert_eq!(kind(403, Attributes::new()), ErrorKind::Invalid);
        assert_eq!(kind(598, Attributes::new().with("kind", "strange")), ErrorKind::Limit);
        assert_eq!(kind(700, Attributes::new()), ErrorKind::Io);
        let silent = error_of(&response(500, "", Attributes::new()), None).to_string();
        assert!(silent.contains("500"), "{silent}");
    }

    #[test]
    fn the_place_of_an_error_is_that_in_the_text() {
        let text = "g.V('é')\n  .otu()";
        let wrong = TextError::invalid(Span { start: 13, end: 16 }, "no step is called `otu`").within(text);
        let place = wrong.place.unwrap();
        let attributes = Attributes::new().with_kind(ErrorKind::Invalid).with_place(place);
        for message in [wrong.shown_in(text), wrong.to_string()] {
            let error = error_of(&response(597, &message, attributes.clone()), Some(text));
            let found: &TextError = error.source().unwrap().downcast_ref().unwrap();
            assert_eq!((found.message.as_str(), found.span.start), ("no step is called `otu`", 13));
            assert!(error.to_string().starts_with("line 2, column 4: no step"), "{error}");
        }
        let error = error_of(&response(597, &wrong.shown_in(text), attributes), Some(text));
        assert_eq!(error.to_string(), wrong.shown_in(text));
    }

    #[test]
    fn a_place_outside_of_the_text_is_its_end() {
        for (line, column) in [(0, 0), (9, 1), (1, 99), (u32::MAX, u32::MAX)] {
            let attributes = Attributes::new().with_place(LineColumn { line, column });
            let error = error_of(&response(597, "a\n  b\n  ^^^^^^^^^^^^^^^^", attributes), Some("g.V(é)"));
            assert!(error.to_string().contains('a'));
        }
    }

    #[test]
    fn an_unknown_outcome_is_no_conflict() {
        let attributes = Attributes::new().with_kind(ErrorKind::Conflict).with_unknown_outcome();
        let error = error_of(&response(500, "conflict: lost", attributes), None);
        assert!(UnknownOutcome::is_of(&error) && !error.is_conflict());
        for attributes in [Attributes::new(), Attributes::new().with_unknown_outcome()] {
            let error =
                error_of(&response(500, "who knows?", attributes.with_kind(ErrorKind::Unknown)), None);
            assert!(UnknownOutcome::is_of(&error) && error.source().is_none(), "it is said once: {error}");
            assert_eq!((error.kind(), error.to_string()), (ErrorKind::Unknown, "who knows?".to_owned()));
        }
    }
}
