//! Answer meter: counts the results and the bytes of one answer, and ends it at the limits of the server.
//!
//! Equal results that are sent once, with a number, count as often as they occur, so that a limit means the same in all
//! formats.

use crate::options::ServerOptions;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::count::counted;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_query::error::StopReason;
use evergraph_storage::planted::{Bug, planted};

/// What an answer has so far, and may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerMeter {
    rows_max: u64,
    bytes_max: u64,
    rows: u64,
    bytes: u64,
}

impl AnswerMeter {
    /// Of an answer that has nothing yet.
    #[must_use]
    pub fn new(options: &ServerOptions) -> Self {
        Self { rows_max: options.result_rows_max, bytes_max: options.result_bytes_max, rows: 0, bytes: 0 }
    }

    /// Counts results.
    ///
    /// # Errors
    /// `limit` if the answer has too many with these.
    pub fn add_rows(&mut self, rows: u64) -> Result<()> {
        self.rows = self.rows.saturating_add(rows);
        if self.rows <= self.rows_max || planted(Bug::ResultsUnlimited) {
            return Ok(());
        }
        let text = format!(
            "the answer has more than {}, the server's limit (--result-rows): ask for fewer, as with limit() or range(); an \
             export job writes a whole database",
            counted(self.rows_max, "result", "results")
        );
        Err(Error::new(ErrorKind::Limit, text).because(StopReason::ResultRows))
    }

    /// Counts a part of `bytes`, which is sent next. Of what is known to come behind it, `following_bytes`, it is found
    /// out now whether there is room.
    ///
    /// # Errors
    /// `limit` if the answer is too long with these.
    pub fn add_bytes(&mut self, bytes: u64, following_bytes: u64) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes.saturating_add(following_bytes) <= self.bytes_max || planted(Bug::ResultsUnlimited) {
            return Ok(());
        }
        let text = format!(
            "the answer is longer than {}, the server's limit (--result-bytes): ask for fewer results, as with limit() or \
             range(), or for fewer of their properties; an export job writes a whole database",
            ByteSize(self.bytes_max)
        );
        Err(Error::new(ErrorKind::Limit, text).because(StopReason::ResultBytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_have_as_many_results_and_bytes_as_the_limits_say() {
        let options =
            ServerOptions { result_rows_max: 3, result_bytes_max: 1 << 10, ..ServerOptions::default() };
        let mut meter = AnswerMeter::new(&options);
        meter.add_rows(2).unwrap();
        meter.add_rows(1).unwrap();
        let error = meter.add_rows(1).unwrap_err();
        assert!(error.kind() == ErrorKind::Limit && error.to_string().contains("3 results"), "{error}");
        assert!(meter.add_rows(u64::MAX).is_err(), "the sum does not wrap around");
        meter.add_bytes(1000, 24).unwrap();
        let error = AnswerMeter { bytes: 1000, ..meter }.add_bytes(1, 24).unwrap_err();
        assert!(error.kind() == ErrorKind::Limit && error.to_string().contains("1.0 KiB"), "{error}");
        meter.add_bytes(24, 0).unwrap();
        assert!(meter.add_bytes(1, 0).is_err() && meter.add_bytes(0, u64::MAX).is_err());
    }
}
