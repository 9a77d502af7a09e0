//! `ServerError`: an error or a notice of the server, with all of its fields.

use std::fmt;

use evergraph_graph::bytes::Decoded;

use crate::network_reader::NetworkReader;

/// Fields that PostgreSQL has; a message with many more is cut.
const OTHER_FIELDS_MAX: usize = 32;

/// An error or a notice of the server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ServerError {
    /// `ERROR`, `FATAL`, `PANIC`, `WARNING`, `NOTICE` ..., not translated.
    pub severity: Box<str>,
    /// Five characters that name the kind of error, such as 42704.
    pub sqlstate: Box<str>,
    /// What happened.
    pub message: Box<str>,
    /// More about it.
    pub detail: Option<Box<str>>,
    /// What may help.
    pub hint: Option<Box<str>>,
    /// Where the server was when it happened.
    pub context: Option<Box<str>>,
    /// The character of the query at which it happened, from 1.
    pub position: Option<Box<str>>,
    /// The schema of what it is about.
    pub schema: Option<Box<str>>,
    /// The table that it is about.
    pub table: Option<Box<str>>,
    /// The column that it is about.
    pub column: Option<Box<str>>,
    /// The constraint that it is about.
    pub constraint: Option<Box<str>>,
    /// All other fields, by their letter.
    pub others: Vec<(u8, Box<str>)>,
}

impl ServerError {
    /// Whether the connection ends with it.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        matches!(&*self.severity, "FATAL" | "PANIC")
    }

    /// Whether its SQLSTATE is `state`, or of the class `state` if that has two characters.
    #[must_use]
    pub fn is(&self, state: &str) -> bool {
        match state.len() {
            2 => self.sqlstate.starts_with(state),
            _ => &*self.sqlstate == state,
        }
    }

    /// Reads the body of a message `E` or `N`. Text that is no UTF-8 (a server may send its own encoding before the session
    /// has one) is read as far as it goes.
    pub(super) fn read(body: &[u8]) -> Decoded<Self> {
        let mut reader = NetworkReader::new(body);
        let mut error = Self::default();
        let mut localized_severity = None;
        loop {
            let field = reader.u8()?;
            if field == 0 {
                break;
            }
            let text: Box<str> = String::from_utf8_lossy(reader.terminated()?).into();
            match field {
                b'V' => error.severity = text,
                b'S' => localized_severity = Some(text),
                b'C' => error.sqlstate = text,
                b'M' => error.message = text,
                b'D' => error.detail = Some(text),
                b'H' => error.hint = Some(text),
                b'W' => error.context = Some(text),
                b'P' => error.position = Some(text),
                b's' => error.schema = Some(text),
                b't' => error.table = Some(text),
                b'c' => error.column = Some(text),
                b'n' => error.constraint = Some(text),
                _ if error.others.len() < OTHER_FIELDS_MAX => error.others.push((field, text)),
                _ => {}
            }
        }
        reader.finish()?;
        // Servers before 9.6, and poolers, send the translated one alone.
        if let Some(severity) = localized_severity
            && error.severity.is_empty()
        {
            error.severity = severity;
        }
        Ok(error)
    }
}

impl fmt::Display for ServerError {
    /// `ERROR 42704: replication slot "a" does not exist (DETAIL; hint: HINT)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.severity, self.sqlstate, self.message)?;
        match (&self.detail, &self.hint) {
            (None, None) => Ok(()),
            (Some(detail), None) => write!(f, " ({detail})"),
            (None, Some(hint)) => write!(f, " (hint: {hint})"),
            (Some(detail), Some(hint)) => write!(f, " ({detail}; hint: {hint})"),
        }
    }
}

impl std::error::Error for ServerError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fields_are_kept() {
        let body = b"SFEHLER\0VERROR\0C42704\0Mno slot\0Dgone\0Hmake one\0Wwhere\0P3\0spublic\0tt\0cid\0npk\0Fslot.c\0L1\0\0";
        let error = ServerError::read(body).unwrap();
        assert_eq!(error.to_string(), "ERROR 42704: no slot (gone; hint: make one)");
        assert!(error.is("42704") && error.is("42") && !error.is("55000") && !error.is_fatal());
        assert_eq!(error.table.as_deref(), Some("t"));
        assert_eq!(error.others, [(b'F', "slot.c".into()), (b'L', "1".into())]);
        let old = ServerError::read(b"SFATAL\0C28P01\0M\xff\0\0").unwrap();
        assert!(old.is_fatal());
        assert_eq!(old.to_string(), "FATAL 28P01: \u{fffd}");
    }

    #[test]
    fn a_message_that_is_cut_is_an_error() {
        let body = b"VERROR\0C42704\0M\0\0";
        for end in 0..body.len() {
            assert!(ServerError::read(&body[..end]).is_err());
        }
        assert!(ServerError::read(b"VERROR\0\0more").is_err());
    }
}
