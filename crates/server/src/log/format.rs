//! Format: an event of the log as a line of text or JSON.
//!
//! ```text
//! 2026-11-24T12:00:00.123Z  INFO evergraph::server: listening address=127.0.0.1:8182 users=true
//! {"time":"2026-11-24T12:00:00.123Z","level":"INFO","target":"evergraph::server","message":"listening", ...}
//! ```
//!
//! Control characters, and those that change the direction of a text, are escaped. Long texts are cut off.

use crate::log::line::{cut, escaped, timestamp};
use crate::log::target;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use std::fmt::{self, Write as _};
use std::time::SystemTime;
use tracing::field::{Field, Visit};
use tracing::{Event, Level};

/// Characters of a text in a line.
const TEXT_LENGTH_MAX: usize = 8192;

/// In which form lines are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: a JSON object a line.
    Json,
}

/// What an event says.
#[derive(Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, Value)>,
}

impl Fields {
    fn add(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            ("message", value) => self.message = value.to_string(),
            (name, value) => self.others.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, cut(value, TEXT_LENGTH_MAX).into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// The line of `event`, with its line feed.
#[must_use]
pub fn event_line(format: LogFormat, event: &Event<'_>, now: SystemTime) -> String {
    let mut fields = Fields::default();
    event.record(&mut fields);
    let metadata = event.metadata();
    line(format, now, *metadata.level(), metadata.target(), &fields)
}

/// A line of the log about itself: `message`, and a figure with its name.
#[must_use]
pub fn note_line(format: LogFormat, message: &str, figure: (&'static str, u64), now: SystemTime) -> String {
    let fields = Fields { message: message.to_owned(), others: vec![(figure.0, figure.1.into())] };
    line(format, now, Level::WARN, target::LOG, &fields)
}

fn line(format: LogFormat, now: SystemTime, level: Level, target: &str, fields: &Fields) -> String {
    let time = timestamp(now);
    let line = match format {
        LogFormat::Json => serde_json::to_string(&JsonLine { time: &time, level, target, fields })
            .expect("texts and finite numbers can be written as JSON"),
        LogFormat::Text => text_line(&time, level, target, fields),
    };
    format!("{}\n", escaped(&line))
}

struct JsonLine<'a> {
    time: &'a str,
    level: Level,
    target: &'a str,
    fields: &'a Fields,
}

impl Serialize for JsonLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("time", self.time)?;
        map.serialize_entry("level", self.level.as_str())?;
        map.serialize_entry("target", self.target)?;
        map.serialize_entry("message", &self.fields.message)?;
        for (name, value) in &self.fields.others {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

fn text_line(time: &str, level: Level, target: &str, fields: &Fields) -> String {
    let mut line = format!("{time} {level:>5} {target}: {}", fields.message);
    for (name, value) in &fields.others {
        let written = match value {
            Value::String(text) if is_plain(text) => write!(line, " {name}={text}"),
            value => write!(line, " {name}={value}"),
        };
        written.expect("a string takes all that is written to it");
    }
    line
}

/// Whether a text needs no quotes to be told from what is around it.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && !text.contains(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '=' | '\\'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    const HOSTILE: &str = "ann\n{\"level\":\"ERROR\"}\r\u{1b}[2J\u{9b}2J\u{202e}\u{2028}";

    fn fields() -> Fields {
        let others = vec![
            ("address", "10.0.0.7:1".into()),
            ("user", HOSTILE.into()),
            ("rows", 7.into()),
            ("empty", "".into()),
        ];
        Fields { message: "it came".to_owned(), others }
    }

    fn of(format: LogFormat) -> String {
        line(format, UNIX_EPOCH, Level::INFO, "evergraph::server", &fields())
    }

    #[test]
    fn nothing_from_outside_begins_a_line_or_hides_one() {
        for format in [LogFormat::Text, LogFormat::Json] {
            let line = of(format);
            let shown = line.strip_suffix('\n').unwrap();
            let is_dangerous =
                |letter: char| letter.is_control() || matches!(letter, '\u{202e}' | '\u{2028}');
            assert!(!shown.contains(is_dangerous), "{line}");
        }
    }

    #[test]
    fn a_line_of_json_is_an_object_with_everything() {
        let line: Value = serde_json::from_str(&of(LogFormat::Json)).unwrap();
        assert_eq!(line["time"], "1970-01-01T00:00:00Z");
        assert_eq!((&line["level"], &line["target"]), (&"INFO".into(), &"evergraph::server".into()));
        assert_eq!((&line["message"], &line["user"]), (&"it came".into(), &HOSTILE.into()));
        assert_eq!(line["rows"], 7);
    }

    #[test]
    fn a_line_of_text_quotes_what_is_no_word() {
        let line = of(LogFormat::Text);
        let start = "1970-01-01T00:00:00Z  INFO evergraph::server: it came address=10.0.0.7:1 user=\"ann\\n";
        assert!(line.starts_with(start), "{line}");
        assert!(line.ends_with(" rows=7 empty=\"\"\n"), "{line}");
    }
}
