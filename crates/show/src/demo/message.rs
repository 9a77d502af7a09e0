//! Message: what the process that writes and analyses tells the one that started it.
//!
//! One line each on its standard output, in one write that a pipe takes whole or not at all:
//!
//! ```text
//! ready
//! booked 1099511627781 812          reference, microseconds from begin to acknowledgement
//! ring 1743466000000 10000017 ...   time of its first transfer, ids of its accounts
//! ranked {"frozen_us": ...}         figures of one analysis, as JSON
//! ```
//!
//! A line is written after the commit was acknowledged, never before. What a reader has of a line
//! without an end was not said.

use crate::demo::analysis::Ranked;
use crate::demo::reference::Reference;
use crate::demo::rings::RingKey;
use evergraph_graph::error::{Error, ErrorKind, Result};

/// What a pipe takes in one piece on every Unix (`_POSIX_PIPE_BUF`).
const LINE_BYTES_MAX: usize = 512;

/// One thing that is told.
#[derive(Clone, PartialEq, Debug)]
pub enum Message {
    /// The database is open and writers begin.
    Ready,
    /// A commit was acknowledged.
    Booked {
        /// Which transfer.
        reference: Reference,
        /// From the beginning of the transaction to its acknowledgement, retries included.
        latency_us: u64,
    },
    /// A ring was found that had not been found before.
    Ring(RingKey),
    /// An analysis is done.
    Ranked(Ranked),
}

impl Message {
    /// As a line with its end.
    #[must_use]
    pub fn to_line(&self) -> String {
        let line = match self {
            Self::Ready => "ready\n".to_owned(),
            Self::Booked { reference, latency_us } => format!("booked {} {latency_us}\n", reference.to_i64()),
            Self::Ring(ring) => {
                let accounts: Vec<String> = ring.accounts.iter().map(ToString::to_string).collect();
                format!("ring {} {}\n", ring.time_ms, accounts.join(" "))
            }
            Self::Ranked(ranked) => {
                let json = serde_json::to_string(ranked).expect("numbers always have a JSON form");
                format!("ranked {json}\n")
            }
        };
        debug_assert!(line.len() <= LINE_BYTES_MAX, "{line}");
        line
    }

    /// Reads a line without its end.
    ///
    /// # Errors
    /// `corrupt` for what is no message, with the line.
    pub fn parse(line: &str) -> Result<Self> {
        let wrong =
            || Error::new(ErrorKind::Corrupt, format!("the writing process said {line:?}: not a message"));
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut numbers = rest.split(' ').map(str::parse::<i64>);
        let mut number = || numbers.next().and_then(std::result::Result::ok).ok_or_else(wrong);
        match word {
            "ready" if rest.is_empty() => Ok(Self::Ready),
            "booked" => {
                let reference = Reference::from_i64(number()?).ok_or_else(wrong)?;
                let latency_us = u64::try_from(number()?).map_err(|_| wrong())?;
                Ok(Self::Booked { reference, latency_us })
            }
            "ring" => {
                let time_ms = number()?;
                let accounts = numbers.collect::<std::result::Result<_, _>>().map_err(|_| wrong())?;
                Ok(Self::Ring(RingKey { time_ms, accounts }))
            }
            "ranked" => serde_json::from_str(rest).map(Self::Ranked).map_err(|error| wrong().because(error)),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_message_reads_back_from_one_short_line() {
        let ranked = Ranked {
            transfers: u64::MAX,
            freeze: Duration::from_secs(100),
            kernel: Duration::from_micros(1),
            static_kernel: Some(Duration::from_millis(30)),
            lacks_at_first: u64::MAX,
            lacks_at_last: u64::MAX,
            rings: Duration::from_secs(100),
            commits: u64::MAX,
            syncs: u64::MAX,
        };
        let ring = RingKey { time_ms: 1_743_466_000_000, accounts: vec![10_000_000; 6] };
        let reference = Reference { lane: 63, sequence: 1 << 39 };
        for message in [
            Message::Ready,
            Message::Booked { reference, latency_us: u64::MAX >> 1 },
            Message::Ring(ring),
            Message::Ranked(ranked),
        ] {
            let line = message.to_line();
            assert!(line.len() <= LINE_BYTES_MAX, "{} bytes", line.len());
            assert_eq!(Message::parse(line.strip_suffix('\n').unwrap()).unwrap(), message);
        }
    }

    #[test]
    fn a_line_that_is_no_message_is_quoted() {
        for line in ["", "booked", "booked -1 5", "booked 1", "ring x", "ready 1", "ranked {}"] {
            let error = Message::parse(line).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.to_string().contains(&format!("{line:?}")), "{error}");
        }
    }
}
