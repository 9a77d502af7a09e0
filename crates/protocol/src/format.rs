//! Formats: the two forms of a message's body, and the MIME types that name them.
//!
//! ```text
//! binary message   length (1)  MIME type  body       requests
//! binary message   body                              responses, in the format of the request
//! text message     body                              GraphSON, both ways
//! ```
//!
//! Source: TinkerPop 3.8, "Provider Documentation", Graph Driver Provider Requirements.

use evergraph_query::error::quoted;

use crate::error::MessageError;

/// The form of a message's body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// GraphBinary 1.0.
    GraphBinary,
    /// GraphSON 3, with types.
    GraphSon,
}

impl Format {
    /// Both.
    pub const ALL: &[Format] = &[Format::GraphBinary, Format::GraphSon];

    /// The MIME type that requests are sent with.
    #[must_use]
    pub const fn mime_type(self) -> &'static str {
        match self {
            Self::GraphBinary => "application/vnd.graphbinary-v1.0",
            Self::GraphSon => "application/vnd.gremlin-v3.0+json",
        }
    }

    /// The format that a MIME type names.
    #[must_use]
    pub fn from_mime_type(name: &str) -> Option<Self> {
        match name {
            "application/json" => Some(Self::GraphSon),
            name => Self::ALL.iter().copied().find(|format| format.mime_type() == name),
        }
    }

    /// Splits a binary message of a client into format and body.
    ///
    /// # Errors
    /// If it does not begin with the length and the name of a known MIME type.
    pub fn split(message: &[u8]) -> Result<(Self, &[u8]), MessageError> {
        let [length, rest @ ..] = message else {
            return Err(MessageError::invalid(0, "the length of a MIME type expected, found the end"));
        };
        let Some((name, body)) = rest.split_at_checked(usize::from(*length)) else {
            let reason = format!("a MIME type of {length} bytes expected, {} left", rest.len());
            return Err(MessageError::invalid(1, reason));
        };
        let name = String::from_utf8_lossy(name);
        let format = Self::from_mime_type(&name).ok_or_else(|| {
            let [binary, json] = [Self::GraphBinary, Self::GraphSon].map(Self::mime_type);
            let found = quoted(&name);
            MessageError::invalid(1, format!("the MIME type {binary} or {json} expected, found {found}"))
        })?;
        Ok((format, body))
    }

    /// The beginning of a binary message of a client: length and name of the MIME type.
    #[must_use]
    pub fn message_head(self) -> Vec<u8> {
        let name = self.mime_type();
        let length = u8::try_from(name.len()).expect("the names have 32 and 33 bytes");
        [&[length], name.as_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_split_into_format_and_body() {
        for format in Format::ALL {
            let message = [&*format.message_head(), b"body"].concat();
            assert_eq!(Format::split(&message), Ok((*format, &b"body"[..])));
        }
        let plain = [&b"\x10application/json"[..], b"{}"].concat();
        assert_eq!(Format::split(&plain), Ok((Format::GraphSon, &b"{}"[..])));
    }

    #[test]
    fn an_unknown_format_is_named() {
        let refused = |message: &[u8]| Format::split(message).unwrap_err().to_string();
        assert_eq!(refused(b""), "byte 0: the length of a MIME type expected, found the end");
        assert_eq!(refused(b"\x05abc"), "byte 1: a MIME type of 5 bytes expected, 3 left");
        assert_eq!(
            refused(b"\x21application/vnd.gremlin-v2.0+json{}"),
            "byte 1: the MIME type application/vnd.graphbinary-v1.0 or application/vnd.gremlin-v3.0+json expected, \
             found `application/vnd.gremlin-v2.0+json`"
        );
        assert!(refused(&[2, 0xff, 0xfe]).contains("expected, found"));
    }
}
