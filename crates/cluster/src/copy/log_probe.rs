//! Log probe: whether the log still has what a node needs, before the node is built.

use crate::copy::fetch::WakeSignal;
use crate::digest::DigestWindow;
use crate::log::reader::LogReader;
use crate::log::shared_log::{EndId, LogAnswer, LogError, SharedLog};
use crate::log_position::LogPosition;
use evergraph_storage::io::clock::Clock;
use std::time::Duration;

/// How long a log is waited for that has no end to tell, as NATS.
const QUIET_PATIENCE: Duration = Duration::from_secs(1);

/// What the log has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogReach {
    /// Everything that the node needs, as far as anybody can say now.
    Enough,
    /// It begins behind the message that the node would apply next.
    Behind {
        /// The next message.
        next: LogPosition,
        /// Where the log begins.
        first: LogPosition,
    },
    /// It does not answer: the node finds out when it reads.
    Unknown,
}

/// What a log says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogProbe {
    /// What it has.
    pub reach: LogReach,
    /// Where it ended, or later: at or behind everything that was acknowledged before it was asked. `None` if it did not say.
    pub end: Option<LogPosition>,
}

/// Asks `log`, which wakes `signal`, whether it has what comes after `applied`, and where it ends; waits until it answers, at most for
/// `patience`. What it has been asked for is void: whoever reads begins anew.
pub fn probe_log<L: SharedLog>(
    log: &mut L,
    applied: &DigestWindow,
    signal: &WakeSignal,
    clock: &dyn Clock,
    patience: Duration,
) -> LogProbe {
    let last = applied.last().position;
    let mut until = clock.now().saturating_add(patience);
    log.read_from(LogReader::needed_from(applied), last);
    log.end(EndId(0));
    let (mut reach, mut end, mut has_answered) = (None, None, false);
    loop {
        if reach.is_none() {
            reach = match log.next_message() {
                Ok(Some(_)) => Some(LogReach::Enough),
                Ok(None) => None,
                Err(LogError::Trimmed { first }) if first > last.next() => {
                    Some(LogReach::Behind { next: last.next(), first })
                }
                // It begins where less can be read again.
                Err(LogError::Trimmed { .. }) => Some(LogReach::Enough),
                Err(_) => return LogProbe { reach: LogReach::Unknown, end },
            };
            if reach.is_some() {
                until = until.min(clock.now().saturating_add(QUIET_PATIENCE));
            }
        }
        while let Some(answer) = log.next_answer() {
            let LogAnswer::End { result, .. } = answer else { continue };
            (end, has_answered) = (result.ok(), true);
            if end.is_some_and(|end| end < last.next()) {
                // There is nothing to read, and nothing to be trimmed.
                reach = reach.or(Some(LogReach::Enough));
            } else if end.is_none() {
                // It says so to nobody: what it has comes at once, if there is anything.
                until = until.min(clock.now().saturating_add(QUIET_PATIENCE));
            }
        }
        match reach {
            Some(reach) if has_answered || clock.now() >= until => return LogProbe { reach, end },
            None if clock.now() >= until => return LogProbe { reach: LogReach::Unknown, end },
            _ => signal.wait(until, clock),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::SeenLog;
    use crate::key_hash::graph_salt::GraphSalt;
    use crate::log::memory::{LogFaults, MemoryLog};
    use crate::log::shared_log::AppendId;
    use evergraph_storage::io::clock::SystemClock;
    use std::sync::Arc;

    const SALT: GraphSalt = GraphSalt([3; 16]);

    fn ask(log: &MemoryLog, applied: &DigestWindow) -> LogProbe {
        let signal = Arc::new(WakeSignal::default());
        let mut client = log.connect_waking(signal.waker());
        probe_log(&mut client, applied, &signal, &SystemClock::new(), Duration::from_secs(20))
    }

    fn probe(log: &MemoryLog, applied: &DigestWindow) -> LogReach {
        ask(log, applied).reach
    }

    #[test]
    fn a_log_that_begins_behind_the_next_message_is_told_from_one_that_has_it() {
        let log = MemoryLog::new(1, LogFaults::default());
        let mut applied = DigestWindow::new(SeenLog::START);
        assert_eq!(probe(&log, &applied), LogReach::Enough, "an empty one");
        let mut client = log.connect();
        for number in 1..=9 {
            client.append(AppendId(number), vec![number as u8; 20].into());
        }
        let whole = LogProbe { reach: LogReach::Enough, end: Some(LogPosition(9)) };
        assert_eq!(ask(&log, &applied), whole);
        client.trim(LogPosition(5));
        let behind = LogReach::Behind { next: LogPosition(1), first: LogPosition(5) };
        assert_eq!(ask(&log, &applied), LogProbe { reach: behind, ..whole });
        for position in 1..=4 {
            applied.push(SALT, LogPosition(position), &[1]);
        }
        assert_eq!(probe(&log, &applied), LogReach::Enough, "less can be read again");
        for position in 5..=9 {
            applied.push(SALT, LogPosition(position), &[1]);
        }
        assert_eq!(probe(&log, &applied), LogReach::Enough, "everything was applied");
    }
}
