//! Log tail: a reader of a cluster's log beside its nodes: where the log ends, and how large its transactions are.
//!
//! ```text
//! etcd ──> nodes                                 what each has applied
//!     └──> tail, a thread of the harness         everything that the log has, as soon as it is there
//! ```

use crate::workload::cluster::log_writer::read_message;
use crate::workload::cluster::running::log_servers::LogServers;
use evergraph_cluster::log::shared_log::LogError;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::body::RecordBody;
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::running::log_access::AnyLog;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use std::collections::HashMap;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

/// The longest sleep without news.
const NAP: Duration = Duration::from_millis(5);
/// How long a message may take from a node that has applied it until it is here.
const PATIENCE: Duration = Duration::from_secs(30);

/// How large a transaction is in the log.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TransactionSize {
    /// What must not have changed since it began: hashes of subjects, and ranges of ordered indexes.
    pub checks: usize,
    /// What counts as changed by it: hashes of subjects, and values that entered ordered indexes.
    pub touches: usize,
    /// Bytes of both, and of what it installs.
    pub bytes: usize,
}

/// Reads a log until it is dropped.
pub struct LogTail {
    shared: Arc<Shared>,
    reading: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// The newest message that was read. Relaxed: it publishes nothing but itself.
    end: AtomicU64,
    /// Whether nobody needs the tail any more.
    is_over: AtomicBool,
    /// Of transactions, by their timestamps, whether they committed or not.
    sizes: Mutex<HashMap<Timestamp, TransactionSize>>,
    /// Why reading ended.
    failure: Mutex<Option<Error>>,
}

struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl LogTail {
    /// Begins to read the log under `key`, from its beginning, or as far back as it goes.
    ///
    /// # Errors
    /// None now: what the log says comes with [`LogTail::wait_for`].
    pub fn start(servers: &LogServers, key: &str) -> Result<Self> {
        let (access, key, shared) = (servers.access(0, None)?, key.to_owned(), Arc::new(Shared::default()));
        let of_thread = Arc::clone(&shared);
        let reading = thread::spawn(move || {
            let waker: Waker = Arc::new(Sleeper(thread::current())).into();
            let read = access.open(key, waker).and_then(|mut log| of_thread.read(&mut *log));
            if let Err(error) = read {
                *of_thread.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        });
        Ok(Self { shared, reading: Some(reading) })
    }

    /// The newest message that was read.
    #[must_use]
    pub fn end(&self) -> LogPosition {
        LogPosition(self.shared.end.load(Ordering::Relaxed))
    }

    /// Waits until the message at `position` was read.
    ///
    /// # Errors
    /// What ended reading; `io` if it does not come in time.
    pub fn wait_for(&self, position: LogPosition) -> Result<()> {
        let began = Instant::now();
        while self.end() < position {
            if let Some(error) = self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Err(error);
            }
            if began.elapsed() > PATIENCE {
                let text =
                    format!("message {position} of the log did not come, the last one was {}", self.end());
                return Err(Error::new(ErrorKind::Io, text));
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// How large the transaction with this timestamp is; `None` if the log has none there, such as of one that wrote nothing.
    #[must_use]
    pub fn size(&self, timestamp: Timestamp) -> Option<TransactionSize> {
        self.shared.sizes.lock().unwrap_or_else(PoisonError::into_inner).get(&timestamp).copied()
    }
}

impl Drop for LogTail {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(reading) = self.reading.take() {
            reading.thread().unpark();
            // A panic was printed by its thread.
            let _ = reading.join();
        }
    }
}

impl Shared {
    fn read(&self, log: &mut dyn AnyLog) -> Result<()> {
        let mut seen = LogPosition::START;
        // Parts that were sent ahead, by author and number of their transactions.
        let mut ahead: HashMap<_, TransactionSize> = HashMap::new();
        log.read_from(seen.next(), seen);
        while !self.is_over.load(Ordering::Relaxed) {
            let message = match log.next_message() {
                Ok(Some(message)) => message,
                Ok(None) => {
                    thread::park_timeout(NAP);
                    continue;
                }
                Err(LogError::Trimmed { first }) => {
                    log.read_from(first, seen);
                    continue;
                }
                // The server was silent, or has ended: the next one goes on.
                Err(LogError::Unavailable { .. }) => {
                    thread::sleep(NAP);
                    log.read_from(seen.next(), seen);
                    continue;
                }
                Err(error) => return Err(Error::new(ErrorKind::Io, format!("read the log: {error}"))),
            };
            seen = message.position;
            let message = read_message(seen, &message.bytes)?.message;
            let author = message.author;
            let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
            for (place, record) in message.records.into_iter().enumerate() {
                match record.body {
                    RecordBody::Transaction { last, .. } => {
                        let mut size = ahead.remove(&(author, record.number)).unwrap_or_default();
                        size += TransactionSize::of(&last);
                        sizes.insert(seen.timestamp(place), size);
                    }
                    RecordBody::Part { of, part, .. } => {
                        *ahead.entry((author, of)).or_default() += TransactionSize::of(&part);
                    }
                    _ => {}
                }
            }
            drop(sizes);
            self.end.store(seen.0, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl TransactionSize {
    fn of(part: &TransactionPart) -> Self {
        let mut encoded = Vec::new();
        part.encode(&mut encoded);
        Self {
            checks: part.checks.len() + part.ranges.len(),
            touches: part.touches.len() + part.entered.len(),
            bytes: encoded.len(),
        }
    }
}

impl AddAssign for TransactionSize {
    fn add_assign(&mut self, other: Self) {
        self.checks += other.checks;
        self.touches += other.touches;
        self.bytes += other.bytes;
    }
}
