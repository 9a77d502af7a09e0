//! `RandomId`: a name that nobody guesses, of a job or an upload.

use evergraph_graph::error::{Error, ErrorKind, Result};
use serde::{Serialize, Serializer};
use std::fmt;

/// 128 random bits, written as 32 digits of hexadecimal in small letters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RandomId(u128);

impl RandomId {
    /// Another one.
    ///
    /// # Errors
    /// `io` if the system has no random bytes.
    pub fn new() -> Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| Error::new(ErrorKind::Io, format!("ask for random bytes: {error}")))?;
        Ok(Self(u128::from_le_bytes(bytes)))
    }

    /// The id that `text` is, if it is written as this writes it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |letter: u8| matches!(letter, b'0'..=b'9' | b'a'..=b'f');
        let is_id = text.len() == 32 && text.bytes().all(is_digit);
        is_id.then(|| u128::from_str_radix(text, 16).ok().map(Self)).flatten()
    }
}

impl fmt::Display for RandomId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Serialize for RandomId {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written_and_in_no_other_form() {
        let id = RandomId::new().unwrap();
        assert_eq!(RandomId::parse(&id.to_string()), Some(id));
        assert_ne!(RandomId::new().unwrap(), id);
        for text in [
            "",
            "..",
            "0",
            &"0".repeat(33),
            &"G".repeat(32),
            &"A".repeat(32),
            &format!("+{}", "0".repeat(31)),
        ] {
            assert_eq!(RandomId::parse(text), None, "{text}");
        }
    }
}
