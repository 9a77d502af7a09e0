//! Test log: a log of whichever engine, whose answers and messages a test waits for.

use evergraph_cluster::log::shared_log::{AppendId, EndId, LogAnswer, LogError, LogMessage, SharedLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// How long anything may take on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(90);

/// How often is looked for what nobody wakes the test for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The thread that waits for news.
struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Wakes this thread.
pub fn waker() -> Waker {
    Arc::new(Sleeper(thread::current())).into()
}

/// Waits until something is so, looking again when this thread is woken, and else a few times.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let clock = SystemClock::new();
    while !is_so() {
        assert!(clock.now() < TIME_MAX, "{what}: not within {TIME_MAX:?}");
        thread::park_timeout(LOOK_EVERY);
    }
}

/// Lets time pass.
pub fn pass(time: Duration) {
    let clock = SystemClock::new();
    while let Some(rest) = time.checked_sub(clock.now()).filter(|rest| !rest.is_zero()) {
        thread::park_timeout(rest);
    }
}

/// A log, as a test uses it.
pub struct TestLog<L> {
    pub log: L,
    appends: u64,
    ends: u64,
}

impl<L: SharedLog> TestLog<L> {
    /// A log that wakes this thread.
    pub fn of(log: L) -> Self {
        Self { log, appends: 0, ends: 0 }
    }

    /// Begins to append, without waiting.
    pub fn begin_append(&mut self, text: &str) -> AppendId {
        self.appends += 1;
        self.log.append(AppendId(self.appends), text.as_bytes().into());
        AppendId(self.appends)
    }

    /// The next answer.
    pub fn answer(&mut self) -> LogAnswer {
        let mut answer = None;
        wait_until("an answer", || {
            answer = self.log.next_answer();
            answer.is_some()
        });
        answer.unwrap()
    }

    /// Appends once.
    pub fn append(&mut self, text: &str) -> Result<LogPosition, LogError> {
        let expected = self.begin_append(text);
        match self.answer() {
            LogAnswer::Append { id, result } if id == expected => result,
            other => panic!("{other:?}"),
        }
    }

    /// Appends once; again only if it was refused, as by servers that begin, and don't all know yet who leads.
    pub fn append_once_led(&mut self, text: &str) -> LogPosition {
        let mut position = None;
        wait_until("somebody who takes an append", || match self.append(text) {
            Ok(appended) => {
                position = Some(appended);
                true
            }
            Err(LogError::Unavailable { .. }) => false,
            Err(error) => panic!("{error}"),
        });
        position.unwrap()
    }

    /// Appends again and again until the log has it.
    pub fn append_surely(&mut self, text: &str) -> LogPosition {
        let mut position = None;
        wait_until("an append", || {
            position = self.append(text).ok();
            position.is_some()
        });
        position.unwrap()
    }

    /// Asks for the end.
    pub fn end(&mut self) -> Result<LogPosition, LogError> {
        self.ends += 1;
        self.log.end(EndId(self.ends));
        match self.answer() {
            LogAnswer::End { id, result } if id == EndId(self.ends) => result,
            other => panic!("{other:?}"),
        }
    }

    /// Trims.
    pub fn trim(&mut self, first: LogPosition) -> Result<(), LogError> {
        self.log.trim(first);
        match self.answer() {
            LogAnswer::Trim { first: trimmed, result } if trimmed == first => result,
            other => panic!("{other:?}"),
        }
    }

    /// Begins to read, with nothing read before.
    pub fn read_from(&mut self, first: LogPosition) {
        self.log.read_from(first, LogPosition::START);
    }

    /// The next message, or the error that ends the stream.
    pub fn message(&mut self) -> Result<LogMessage, LogError> {
        let mut next = None;
        wait_until("a message, or the end of the stream", || {
            next = self.log.next_message().transpose();
            next.is_some()
        });
        next.unwrap()
    }

    /// Reads everything up to `last`, beginning a stream again where the one before ended, behind `read`.
    pub fn read_on(&mut self, read: &mut Vec<(LogPosition, String)>, last: LogPosition) {
        wait_until("everything is read", || {
            let seen = read.last().map_or(LogPosition::START, |message| message.0);
            if seen >= last {
                return true;
            }
            self.log.read_from(seen.next(), seen);
            while let Ok(message) = self.message() {
                read.push(shown(&message));
                if message.position >= last {
                    break;
                }
            }
            false
        });
    }

    /// The next messages: position and text.
    pub fn messages(&mut self, count: usize) -> Vec<(LogPosition, String)> {
        (0..count).map(|_| shown(&self.message().unwrap())).collect()
    }
}

/// Position and text of a message.
pub fn shown(message: &LogMessage) -> (LogPosition, String) {
    (message.position, String::from_utf8_lossy(&message.bytes).into_owned())
}

/// Whether an error says `what`, and that the log is unavailable.
#[track_caller]
pub fn assert_unavailable<T: std::fmt::Debug>(result: Result<T, LogError>, what: &str) {
    match result {
        Err(LogError::Unavailable { reason }) if reason.contains(what) => {}
        other => panic!("`{what}` is not said by {other:?}"),
    }
}
