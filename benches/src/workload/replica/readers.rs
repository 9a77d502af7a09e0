//! Readers: the replica, whoever watches its snapshots, and the plain reader, which only decodes.
//!
//! ```text
//! replica        source ──slot──> Replica ──commits──> database <──snapshots── Observer ──> marks
//! plain reader   source ──slot──> socket, decoder ──────────────────────────────────────> marks
//! ```

use crate::workload::replica::PATIENCE;
use crate::workload::replica::marks::Marks;
use crate::workload::replica::plain_reader::PlainReader;
use crate::workload::replica::source_server::{SourceServer, mapping};
use evergraph::{Database, ReadByName as _, Value};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_replica::follow::options::{ReplicaMapping, ReplicaOptions};
use evergraph_replica::follow::replica::Replica;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often a snapshot is looked at: what freshness is coarser by, at our cost.
const LOOK_EVERY: Duration = Duration::from_micros(50);

/// How a replica of the server's tables follows, by the slot and the publication of these names.
#[must_use]
pub fn options(slot: &str, publication: &str, folder: &Path, epochs: usize) -> ReplicaOptions {
    let mapping = ReplicaMapping { name: "shop.toml".to_owned(), text: mapping(|_| true) };
    ReplicaOptions {
        slot: Some(slot.to_owned()),
        publication: Some(publication.to_owned()),
        epochs,
        temporary: folder.to_owned(),
        // A backlog keeps more log than that.
        slot_alarm_bytes: u64::MAX,
        ..ReplicaOptions::new(mapping)
    }
}

/// Starts a replica of the server's tables.
///
/// # Errors
/// Those of [`Replica::start`].
pub fn follow(server: &SourceServer, database: &Database, options: ReplicaOptions) -> Result<Replica> {
    let source = Box::new(server.source());
    Replica::start(database.clone(), source, options, &|_| (), &CancelFlag::default())
}

/// Waits until the replica is where its source is.
///
/// # Errors
/// `limit` if it takes too long.
pub fn catch_up(replica: &Replica) -> Result<()> {
    let end = replica.source_position()?;
    match replica.wait(end, PATIENCE)? {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Limit, format!("the replica is not at {end} after {PATIENCE:?}"))),
    }
}

/// A thread that notes what it sees, until this is dropped.
pub struct Reader {
    /// What it saw.
    pub marks: Arc<Marks>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    fn start(work: impl FnOnce(&Marks, &AtomicBool) -> Result<()> + Send + 'static) -> Result<Self> {
        let (marks, is_over) = (Arc::new(Marks::default()), Arc::new(AtomicBool::new(false)));
        let of_thread = (Arc::clone(&marks), Arc::clone(&is_over));
        let thread = thread::Builder::new().name("bench-reader".to_owned()).spawn(move || {
            let (marks, is_over) = of_thread;
            if let Err(error) = work(&marks, &is_over) {
                marks.fail(error);
            }
        });
        let thread = thread
            .map_err(|error| Error::new(ErrorKind::Io, format!("start the thread of a reader: {error}")))?;
        Ok(Self { marks, is_over, thread: Some(thread) })
    }

    /// Looks at snapshots of `database`, again and again.
    ///
    /// # Errors
    /// `io` if the system refuses a thread.
    pub fn observe(database: &Database) -> Result<Self> {
        let database = database.clone();
        Self::start(move |marks, is_over| {
            let clocks = database.snapshot().vertices(Some("Clock"))?;
            let Some(clock) = clocks.first().copied() else {
                return Err(Error::new(ErrorKind::Corrupt, "the copy has no vertex of the clock"));
            };
            while !is_over.load(Ordering::Relaxed) {
                let value = database.snapshot().get(clock, "number")?;
                let now = Instant::now();
                let number = match value {
                    Some(Value::I64(number)) => u64::try_from(number).unwrap_or(0),
                    other => {
                        let text = format!("the clock's number is {other:?}");
                        return Err(Error::new(ErrorKind::Corrupt, text));
                    }
                };
                marks.note(number, now);
                thread::sleep(LOOK_EVERY);
            }
            Ok(())
        })
    }

    /// Reads and decodes the stream of the plain reader's slot, from where the last one ended.
    ///
    /// # Errors
    /// Those of the source.
    pub fn plain(server: &SourceServer) -> Result<Self> {
        let reader = PlainReader::begin(server)?;
        Self::start(move |marks, is_over| reader.read_until(is_over, marks))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its panic was printed.
            drop(thread.join());
        }
    }
}
