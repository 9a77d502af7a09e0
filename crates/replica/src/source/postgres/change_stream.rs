//! `PostgresChanges`: a stream of changes, on a thread that owns its socket.
//!
//! ```text
//! socket ──> session ──> batch ──> queue ──> next_batch          full: nothing is read, so the server waits;
//!   <── status once a second, or when asked <── confirm          the server hears of us all the same
//! ```
//!
//! A server sends every message by itself, so that a small transaction is half a dozen of them, microseconds apart. Waking
//! two threads for each would cost the source more than its transaction. So a batch is handed over when it holds the end of a
//! transaction, when it is large, or when nothing more comes; and once a transaction has begun, its rest is given a moment
//! to arrive.
//!
//! Where more than 1,500 transactions a second come, the socket is left alone for 4 ms behind each batch. Several transactions
//! then share the wake-ups, and the server, whose messages wait in the socket, wakes nobody. They share the processor's caches,
//! too: where it has other work, a transaction alone costs three times as much as one behind another. Behind a backlog nobody
//! rests: what was committed a while ago comes as fast as it is read.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

use evergraph_graph::cancel::CancelFlag;

use crate::lsn::Lsn;
use crate::pgoutput::message::TransactionEdge;
use crate::postgres_time::PostgresTime;
use crate::source::batch::{BATCH_BYTES, ChangeBatch};
use crate::source::contract::{ChangeStream, LogicalMessages, StreamRequest};
use crate::source::error::{SourceError, SourceResult};
use crate::source::postgres::batch_queue::{BatchQueue, Popped};
use crate::source::postgres::connection::{Connection, ended, send, server, wire};
use crate::source::postgres::feedback::Feedback;
use crate::source::postgres::settings::ConnectionSettings;
use crate::wire::replication_frame::ReplicationFrame;
use crate::wire::session::Event;
use crate::wire::startup::Purpose;

/// How long a wait for the server takes before it is looked what else there is to do, and what is kept back is handed over.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// What the rest of a transaction is given to arrive, before each look.
const GATHER_TIME: Duration = Duration::from_micros(30);
/// How long the socket is left alone: what transactions are later by at most.
const REST: Duration = Duration::from_millis(4);
/// Transactions a second from which on it is.
const CLOSE_RATE: u32 = 1_500;
/// How long after its commit a transaction is sent from which on it belongs to a backlog.
const BACKLOG: Duration = Duration::from_millis(100);
/// Bytes of a transaction without its end that are handed over: with them the next thread has something to do.
const PART_BYTES: usize = 32 << 10;
/// How long a server may take to end a stream.
const STOP_TIME_MAX: Duration = Duration::from_secs(5);
const DOING: &str = "follow";

/// Changes of a PostgreSQL server.
#[derive(Debug)]
pub struct PostgresChanges {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<SourceResult<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: BatchQueue,
    /// What is safe here; only grows. The thread that owns the socket reads it for each status: Release and Acquire, so that
    /// whatever made it safe happened before the server hears of it.
    confirmed: AtomicU64,
    /// Set once, by the thread that stops the stream, and polled by the one that owns the socket. Publishes nothing.
    is_stopping: AtomicBool,
}

impl PostgresChanges {
    /// Begins a stream on a connection of its own. Setting `cancel` ends the wait for its beginning alone.
    ///
    /// # Errors
    /// If the slot or a publication is not there (42704), another reader has the slot (55006), or the slot lost its log (55000).
    pub fn begin(
        settings: &ConnectionSettings,
        request: &StreamRequest,
        cancel: &CancelFlag,
    ) -> SourceResult<Self> {
        let mut connection = Connection::open(settings, Purpose::Replication, cancel)?;
        connection.begin_copy(DOING, &command(request)?)?;
        let shared = Arc::new(Shared { confirmed: AtomicU64::new(request.start.get()), ..Shared::default() });
        let of_thread = Arc::clone(&shared);
        let thread = Builder::new().name("replica-source".to_owned()).spawn(move || {
            let result = Follower::new(connection, &of_thread).run();
            match result {
                // Whoever stops it hears how that went; nobody takes batches any more.
                result if of_thread.is_stopping.load(Ordering::Relaxed) => {
                    of_thread.queue.finish(None);
                    result
                }
                Ok(()) => {
                    of_thread.queue.finish(None);
                    Ok(())
                }
                Err(error) => {
                    of_thread.queue.finish(Some(error));
                    Ok(())
                }
            }
        });
        let thread = thread
            .map_err(|error| SourceError::Io { doing: "start the thread of a source".to_owned(), error })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    fn end(&mut self) -> SourceResult<()> {
        self.shared.is_stopping.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(panic)) => resume_unwind(panic),
        }
    }
}

impl ChangeStream for PostgresChanges {
    fn next_batch(&mut self, time_max: Duration) -> SourceResult<Option<ChangeBatch>> {
        match self.shared.queue.pop(time_max) {
            Popped::Batch(batch) => Ok(Some(batch)),
            Popped::Nothing => Ok(None),
            Popped::End(Some(error)) => Err(error),
            Popped::End(None) => {
                Err(SourceError::Invalid("the stream of changes is over: begin another one".to_owned()))
            }
        }
    }

    fn confirm(&self, position: Lsn) {
        self.shared.confirmed.fetch_max(position.get(), Ordering::Release);
    }

    fn stop(mut self: Box<Self>) -> SourceResult<()> {
        self.end()
    }
}

impl Drop for PostgresChanges {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.is_stopping.store(true, Ordering::Relaxed);
        } else {
            // The server notices the end of the connection, too.
            let _late = self.end();
        }
    }
}

/// The loop of the thread that owns the socket.
struct Follower<'a> {
    connection: Connection,
    place: String,
    shared: &'a Shared,
    feedback: Feedback,
    batch: ChangeBatch,
    /// Ends of transactions in the batch.
    ends: u32,
    /// How long after its commit the last of them was sent, both by the server's clock.
    delay: Duration,
    /// Whether a transaction has begun whose rest follows at once.
    is_within: bool,
    /// Whether the last wait for the server was in vain.
    is_quiet: bool,
    /// When a batch was handed over last.
    handed_at: Option<Instant>,
    /// When the first bytes came after the last batch was handed over.
    filled_at: Option<Instant>,
    /// Whether the last wait brought all that there was.
    is_emptied: bool,
}

/// What the server sent last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Event,
    /// Nothing more is here.
    Waiting,
    /// No more changes come: this end asked for that, or the server is shut down.
    End,
    /// The session waits for a query.
    Over,
}

impl<'a> Follower<'a> {
    fn new(connection: Connection, shared: &'a Shared) -> Self {
        let place = connection.place().to_owned();
        Self {
            connection,
            place,
            shared,
            feedback: Feedback::default(),
            batch: ChangeBatch::default(),
            ends: 0,
            delay: Duration::ZERO,
            is_within: false,
            is_quiet: false,
            handed_at: None,
            filled_at: None,
            is_emptied: false,
        }
    }

    fn run(mut self) -> SourceResult<()> {
        loop {
            let now = Instant::now();
            if let Some(update) = self.feedback.take(now, self.confirmed(), PostgresTime::now()) {
                self.send_frame(&update.to_bytes())?;
            }
            if self.shared.is_stopping.load(Ordering::Relaxed) {
                return self.stop();
            }
            match self.read()? {
                // The batch is full.
                Step::Event => self.hand_over(),
                Step::End | Step::Over => {
                    let doing = format!("{DOING} {}", self.place);
                    return Err(ended(doing));
                }
                Step::Waiting if self.is_due() => {
                    let ends = self.ends;
                    self.hand_over();
                    self.rest(ends);
                }
                Step::Waiting => {
                    if self.is_within && self.is_emptied {
                        thread::sleep(GATHER_TIME);
                    }
                    self.receive()?;
                }
            }
        }
    }

    /// Reads what is here, until the batch is full.
    fn read(&mut self) -> SourceResult<Step> {
        while self.batch.size_bytes() < BATCH_BYTES {
            let step = self.step()?;
            if step != Step::Event {
                return Ok(step);
            }
        }
        Ok(Step::Event)
    }

    /// Whether somebody could do something with the batch.
    fn is_due(&self) -> bool {
        // Of a neighbour that writes all the time, keepalives alone come all the time.
        let is_old = || self.filled_at.is_some_and(|filled| filled.elapsed() >= POLL_INTERVAL);
        let is_large = self.batch.size_bytes() >= PART_BYTES;
        !self.batch.is_empty() && (self.ends > 0 || self.is_quiet || is_large || is_old())
    }

    /// Gives the batch away, or keeps it if the queue stays full until there is something else to do.
    fn hand_over(&mut self) {
        let now = Instant::now();
        let deadline = self.feedback.due_at(now).min(now + POLL_INTERVAL);
        match self.shared.queue.push(std::mem::take(&mut self.batch), deadline) {
            Ok(()) => (self.ends, self.is_quiet, self.filled_at) = (0, false, None),
            Err(batch) => self.batch = batch,
        }
    }

    /// Leaves the socket alone for a while behind a batch with `ends` of transactions that was handed over, if they follow
    /// each other closely.
    fn rest(&mut self, ends: u32) {
        let now = Instant::now();
        let before = self.handed_at.replace(now);
        if self.is_emptied
            && self.delay < BACKLOG
            && before.is_some_and(|before| are_close(ends, now.saturating_duration_since(before)))
        {
            thread::sleep(REST);
        }
    }

    fn receive(&mut self) -> SourceResult<()> {
        let (session, socket) = self.connection.parts();
        let space = session.space();
        let space_bytes = space.len();
        let received = socket.receive_within(space, POLL_INTERVAL);
        self.is_quiet = matches!(received, Ok(None));
        match received {
            Ok(None) => Ok(()),
            Ok(Some(0)) => Err(ended(format!("{DOING} {}", self.place))),
            Ok(Some(count)) => {
                session.filled(count);
                self.is_emptied = socket.is_emptied_by(count, space_bytes);
                self.filled_at.get_or_insert_with(Instant::now);
                Ok(())
            }
            Err(error) => Err(SourceError::Io { doing: format!("{DOING} {}", self.place), error }),
        }
    }

    /// Reads what the server sent next into the batch.
    fn step(&mut self) -> SourceResult<Step> {
        let (session, _) = self.connection.parts();
        match session.next_event().map_err(|error| wire(DOING, &self.place, error))? {
            None => Ok(Step::Waiting),
            Some(Event::CopyData(bytes)) => {
                let frame = ReplicationFrame::read(bytes).map_err(|error| SourceError::Damaged {
                    doing: format!("{DOING} {}", self.place),
                    error,
                })?;
                match frame {
                    ReplicationFrame::Data(data) => {
                        self.feedback.received(data.start);
                        match TransactionEdge::of(data.message) {
                            Some(TransactionEdge::Beginning) => self.is_within = true,
                            Some(TransactionEdge::Pause) => self.is_within = false,
                            Some(TransactionEdge::End(committed_at)) => {
                                self.ends += 1;
                                self.delay = data.sent_at.saturating_since(committed_at);
                                self.is_within = false;
                            }
                            None => {}
                        }
                        self.batch.push_message(data.start, data.log_end, data.sent_at, data.message);
                    }
                    ReplicationFrame::Keepalive(keepalive) => {
                        self.feedback.received(keepalive.log_end);
                        if keepalive.wants_answer {
                            self.feedback.asked();
                        }
                        self.batch.push_keepalive(keepalive.log_end, keepalive.sent_at);
                    }
                }
                Ok(Step::Event)
            }
            Some(Event::Failed(error)) => Err(server(DOING, &self.place, error)),
            Some(Event::CopyEnd) => Ok(Step::End),
            Some(Event::Ready(_)) => Ok(Step::Over),
            Some(_) => Ok(Step::Event),
        }
    }

    /// Tells the server what is safe, and waits until it gives the slot up.
    fn stop(&mut self) -> SourceResult<()> {
        let update = self.feedback.update(Instant::now(), self.confirmed(), PostgresTime::now());
        self.send_frame(&update.to_bytes())?;
        let (session, _) = self.connection.parts();
        session.end_frames().map_err(|error| wire(DOING, &self.place, error))?;
        self.flush()?;
        let began = Instant::now();
        let mut has_ended = false;
        loop {
            // Within a large transaction the server goes on sending; nobody wants it.
            self.batch = ChangeBatch::default();
            match self.step()? {
                Step::Event => {}
                Step::End => has_ended = true,
                Step::Over => return Ok(()),
                Step::Waiting if began.elapsed() > STOP_TIME_MAX => break,
                Step::Waiting => match self.receive() {
                    // A server that is shut down hangs up at once.
                    Err(_) if has_ended => return Ok(()),
                    received => received?,
                },
            }
            if began.elapsed() > STOP_TIME_MAX {
                break;
            }
        }
        Err(SourceError::Late { doing: format!("end the stream of {}", self.place), limit: STOP_TIME_MAX })
    }

    fn send_frame(&mut self, frame: &[u8]) -> SourceResult<()> {
        let (session, _) = self.connection.parts();
        session.send_frame(frame).map_err(|error| wire(DOING, &self.place, error))?;
        self.flush()
    }

    fn flush(&mut self) -> SourceResult<()> {
        let (session, socket) = self.connection.parts();
        send(session, socket)
            .map_err(|error| SourceError::Io { doing: format!("{DOING} {}", self.place), error })
    }

    fn confirmed(&self) -> Lsn {
        Lsn::new(self.shared.confirmed.load(Ordering::Acquire))
    }
}

/// Whether transactions follow each other closely, if `ends` of them came within `time`.
fn are_close(ends: u32, time: Duration) -> bool {
    f64::from(ends) > f64::from(CLOSE_RATE) * time.as_secs_f64()
}

/// The command that begins a stream. Its grammar is not that of SQL: it knows no `E'...'`.
fn command(request: &StreamRequest) -> SourceResult<String> {
    if request.publications.is_empty() {
        return Err(SourceError::Invalid("a stream needs a publication: name one".to_owned()));
    }
    let names: Vec<String> = request.publications.iter().map(|name| quoted(name, '"')).collect();
    let messages = match request.logical_messages {
        LogicalMessages::Skipped => "",
        LogicalMessages::Sent => ", messages 'true'",
    };
    Ok(format!(
        "START_REPLICATION SLOT {} LOGICAL {} (proto_version '2', streaming 'on', publication_names {}{messages})",
        quoted(&request.slot, '"'),
        request.start,
        quoted(&names.join(","), '\'')
    ))
}

/// `text` between `quote`s; those within it are doubled.
pub(super) fn quoted(text: &str, quote: char) -> String {
    let doubled = text.replace(quote, &format!("{quote}{quote}"));
    format!("{quote}{doubled}{quote}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_close_from_a_rate_on() {
        let are_close = |ends, milliseconds| are_close(ends, Duration::from_millis(milliseconds));
        assert!(!are_close(0, 10), "keepalives alone");
        assert!(!are_close(1, 1) && !are_close(15, 10) && !are_close(1_000, 1_000));
        assert!(are_close(1, 0) && are_close(2, 1) && are_close(16, 10) && are_close(8, 4));
    }

    #[test]
    fn the_command_quotes_every_name() {
        let mut request = StreamRequest {
            slot: "a\"b".into(),
            publications: vec!["p".into(), "it's \"q\"".into()],
            start: Lsn::new(0x1_0000_0010),
            logical_messages: LogicalMessages::Sent,
        };
        assert_eq!(
            command(&request).unwrap(),
            "START_REPLICATION SLOT \"a\"\"b\" LOGICAL 1/10 (proto_version '2', streaming 'on', publication_names \
             '\"p\",\"it''s \"\"q\"\"\"', messages 'true')"
        );
        request.publications.clear();
        assert!(command(&request).is_err());
    }
}
