//! `Lsn`: a position in PostgreSQL's write-ahead log, a count of bytes.
//!
//! ```text
//! 16/B374D848    the upper and the lower 32 bits, in hexadecimal
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

/// A position in the write-ahead log. Positions grow; [`Lsn::ZERO`] is no position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lsn(u64);

impl Lsn {
    /// Before every position. As the start of a stream it means: from the slot's confirmed position.
    pub const ZERO: Self = Self(0);

    /// The position `bytes` behind the beginning of the log.
    #[must_use]
    #[inline]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Bytes from the beginning of the log.
    #[must_use]
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Bytes of log from `earlier` to here; zero if `earlier` is later.
    #[must_use]
    pub const fn bytes_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xffff_ffff)
    }
}

/// In documents a position is the text that PostgreSQL shows.
impl Serialize for Lsn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Lsn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// A text is no position.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{text:?} is no position in PostgreSQL's log, such as 16/B374D848")]
pub struct ParseLsnError {
    text: String,
}

impl FromStr for Lsn {
    type Err = ParseLsnError;

    fn from_str(text: &str) -> Result<Self, ParseLsnError> {
        let half = |part: &str| {
            let is_hexadecimal =
                (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hexadecimal.then(|| u64::from_str_radix(part, 16).ok()).flatten()
        };
        let halves = text.split_once('/').and_then(|(upper, lower)| Some((half(upper)?, half(lower)?)));
        match halves {
            Some((upper, lower)) => Ok(Self(upper << 32 | lower)),
            None => Err(ParseLsnError { text: text.chars().take(40).collect() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_shown_as_postgresql_shows_it() {
        for text in ["0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF", "0/1"] {
            assert_eq!(text.parse::<Lsn>().unwrap().to_string(), text);
        }
        assert_eq!("16/b374d848".parse(), Ok(Lsn::new(0x16_b374_d848)));
        for text in ["", "/", "1", "1/", "+1/2", "1/2/3", "1/123456789", "x/1"] {
            assert!(text.parse::<Lsn>().is_err(), "{text}");
        }
    }
}
