//! How a replica is, for people: in a line, or as a list.

use evergraph_replica::lsn::Lsn;
use evergraph_replica::status::{ReplicaState, ReplicaStatus};
use evergraph_terminal::number::{count, counted, size, time};
use evergraph_terminal::table::visible;
use std::fmt;
use std::time::Duration;

/// A status in a line: `following at 0/16B3748: 12 rows/s, 3 ms behind`.
#[must_use]
pub fn line(status: &ReplicaStatus) -> String {
    let mut line = status.state.name().to_owned();
    if status.position != Lsn::ZERO {
        line += &format!(" at {}", status.position);
    }
    line += &format!(": {} rows/s", count(status.rows_per_second.round() as u64));
    if status.lag_ms > 0 {
        line += &format!(", {} behind", time(Duration::from_millis(status.lag_ms)));
    }
    if status.lag_bytes > 0 {
        line += &format!(", {} of log to come", size(status.lag_bytes));
    }
    if status.waiting_rows > 0 {
        line += &format!(", {} waiting for an end", counted(status.waiting_rows, "row", "rows"));
    }
    if let (true, Some(bytes)) = (status.is_retained_alarm, status.retained_bytes) {
        line += &format!(", THE SOURCE KEEPS {} OF LOG", size(bytes));
    }
    if let (ReplicaState::Reconnecting, Some(error)) = (&status.state, &status.last_error) {
        line += &format!(" ({})", visible(error));
    }
    line
}

/// A status as a list of what is known.
#[derive(Debug)]
pub struct StatusText<'s>(pub &'s ReplicaStatus);

impl fmt::Display for StatusText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.0;
        let mut row = |name: &str, text: &str| writeln!(f, "{name:<13} {}", visible(text));
        row("state", status.state.name())?;
        if let Some(pause) = status.state.pause() {
            row("cause", &pause.cause)?;
            row("remedy", &pause.remedy)?;
        }
        row("source", &status.source)?;
        row("slot", &status.slot)?;
        row("publication", &status.publication)?;
        let committed = status.committed_at.as_ref();
        let committed = committed.map_or_else(String::new, |at| format!(", of a commit at {at}"));
        row("position", &format!("{}{committed}", status.position))?;
        let behind = match (status.lag_bytes, status.lag_ms) {
            (0, 0) => "nothing".to_owned(),
            (bytes, lag) => format!("{} of log, for {}", size(bytes), time(Duration::from_millis(lag))),
        };
        row("behind", &behind)?;
        let (rows, transactions) = (
            counted(status.rows, "row", "rows"),
            counted(status.transactions, "transaction", "transactions"),
        );
        let rate = count(status.rows_per_second.round() as u64);
        row("applied", &format!("{rows} in {transactions} since the start, {rate} rows/s now"))?;
        row(
            "waiting",
            &format!("{} for an end of their edges", counted(status.waiting_rows, "row", "rows")),
        )?;
        let kept = status
            .retained_bytes
            .map_or_else(|| "unknown yet".to_owned(), |bytes| format!("{} of log", size(bytes)));
        let alarm = if status.is_retained_alarm { ", more than the alarm allows" } else { "" };
        row("source keeps", &format!("{kept}{alarm}"))?;
        row("reconnected", &counted(status.restarts, "time", "times"))?;
        for loss in &status.losses {
            row("left out", &format!("{} of {}: {}", count(loss.count), loss.rule, loss.cause))?;
        }
        match &status.last_error {
            Some(error) => row("last error", error),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_replica::follow::pause::Pause;
    use evergraph_replica::status::StatusLoss;

    fn status(state: ReplicaState) -> ReplicaStatus {
        ReplicaStatus {
            state,
            source: "localhost:5432/shop".into(),
            slot: "evergraph_shop".into(),
            publication: "evergraph".into(),
            position: Lsn::new(0x16_b3748),
            committed_at: Some("2026-01-02T03:04:05Z".into()),
            source_position: Lsn::ZERO,
            confirmed: Lsn::ZERO,
            lag_bytes: 2048,
            lag_ms: 3,
            rows_per_second: 1234.4,
            rows: 7,
            transactions: 2,
            waiting_rows: 1,
            losses: vec![StatusLoss { rule: "Film".into(), cause: "condition".into(), count: 9 }],
            restarts: 0,
            retained_bytes: Some(2 << 30),
            is_retained_alarm: true,
            last_error: Some("it\nbroke".into()),
        }
    }

    #[test]
    fn a_status_is_told_in_a_line() {
        assert_eq!(
            line(&status(ReplicaState::Following)),
            "following at 0/16B3748: 1,234 rows/s, 3 ms behind, 2.0 KiB of log to come, 1 row waiting for an end, \
             THE SOURCE KEEPS 2.0 GiB OF LOG"
        );
        assert!(line(&status(ReplicaState::Reconnecting)).ends_with(" (it\\nbroke)"));
    }

    #[test]
    fn a_pause_is_listed_with_cause_and_remedy() {
        let status = status(Pause::new("the slot is gone", "resync").into());
        let text = StatusText(&status).to_string();
        for line in [
            "state         paused\n",
            "cause         the slot is gone\n",
            "remedy        resync\n",
            "left out      9 of Film: condition\n",
            "last error    it\\nbroke\n",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
