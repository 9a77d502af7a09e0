//! Accept: which format the answer to a query has.
//!
//! | Accept | answer |
//! |---|---|
//! | none, `*/*`, `application/*`, `application/json`, `application/vnd.gremlin-v3.0+json` | GraphSON 3, as Gremlin Server answers |
//! | `application/x-ndjson`, `application/jsonl` | JSON lines |
//! | `application/vnd.apache.arrow.stream` | an Arrow stream |
//! | `application/vnd.graphbinary-v1.0` | a message in GraphBinary, as Gremlin Server answers |
//!
//! Of several the one with the greatest `q` counts, and of equals the first.

use axum::http::{HeaderMap, header};
use evergraph_protocol::format::Format;

/// The format of an answer, and the Content-Type that names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerType {
    /// A document in GraphSON 3.
    GraphSon(&'static str),
    /// JSON lines.
    Lines(&'static str),
    /// An Arrow stream.
    Arrow,
    /// A message in GraphBinary.
    GraphBinary,
}

const JSON: &str = "application/json";
const LINES: [&str; 2] = ["application/x-ndjson", "application/jsonl"];
const ARROW: &str = "application/vnd.apache.arrow.stream";

impl Default for AnswerType {
    fn default() -> Self {
        Self::GraphSon(JSON)
    }
}

impl AnswerType {
    /// What the client wants most of what there is.
    ///
    /// # Errors
    /// The formats that there are.
    pub fn of(headers: &HeaderMap) -> Result<Self, String> {
        let mut values = headers.get_all(header::ACCEPT).iter().peekable();
        if values.peek().is_none() {
            return Ok(Self::GraphSon(JSON));
        }
        let mut best: Option<(Self, f32)> = None;
        for range in values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
            let Some((answer, quality)) = Self::of_range(range) else { continue };
            if quality > best.map_or(0.0, |(_, quality)| quality) {
                best = Some((answer, quality));
            }
        }
        best.map(|(answer, _)| answer).ok_or_else(|| {
            let names = Self::NAMES.join(", ");
            format!("the header Accept names no format of answers; there are {names}")
        })
    }

    const NAMES: &[&str] =
        &[JSON, Format::GraphSon.mime_type(), Format::GraphBinary.mime_type(), LINES[0], ARROW];

    fn of_range(range: &str) -> Option<(Self, f32)> {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next()?;
        let mut quality = 1.0;
        for parameter in parts {
            let (name, value) = parameter.split_once('=')?;
            match name.trim().to_ascii_lowercase().as_str() {
                "q" => quality = value.trim().parse().ok().filter(|quality| (0.0..=1.0).contains(quality))?,
                // GraphSON without types has no form for most values.
                "types" if value.trim() != "true" => return None,
                _ => {}
            }
        }
        let answer = match name.to_ascii_lowercase().as_str() {
            "*/*" | "application/*" | JSON => Self::GraphSon(JSON),
            name if name == Format::GraphSon.mime_type() => Self::GraphSon(Format::GraphSon.mime_type()),
            name if name == Format::GraphBinary.mime_type() => Self::GraphBinary,
            ARROW => Self::Arrow,
            name => Self::Lines(LINES.into_iter().find(|known| *known == name)?),
        };
        Some((answer, quality))
    }

    /// The Content-Type of the answer.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::GraphSon(name) | Self::Lines(name) => name,
            Self::Arrow => ARROW,
            Self::GraphBinary => Format::GraphBinary.mime_type(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(accept: &str) -> Option<&'static str> {
        let headers = [(header::ACCEPT, accept.parse().unwrap())].into_iter().collect();
        AnswerType::of(&headers).ok().map(AnswerType::content_type)
    }

    #[test]
    fn the_format_that_is_wanted_most_is_chosen() {
        assert_eq!(AnswerType::of(&HeaderMap::new()).unwrap().content_type(), JSON);
        let typed = Format::GraphSon.mime_type();
        for (accept, expected) in [
            ("*/*", Some(JSON)),
            ("application/json", Some(JSON)),
            ("text/html, application/vnd.gremlin-v3.0+json;q=0.9, */*;q=0.8", Some(typed)),
            ("application/vnd.gremlin-v3.0+json, application/json", Some(typed)),
            ("application/x-ndjson", Some(LINES[0])),
            ("application/vnd.apache.arrow.stream, application/x-ndjson;q=0.5", Some(ARROW)),
            ("Application/JSON; charset=utf-8", Some(JSON)),
            ("application/json;q=0, text/plain", None),
            ("application/vnd.gremlin-v3.0+json;types=false", None),
            ("application/json;q=2", None),
            ("application/vnd.graphbinary-v1.0", Some(Format::GraphBinary.mime_type())),
            ("application/vnd.graphbinary-v2.0", None),
            ("", None),
        ] {
            assert_eq!(of(accept), expected, "{accept}");
        }
    }
}
