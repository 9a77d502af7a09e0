//! `Replica`: a handle on the threads that follow a source.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use evergraph::{Database, Snapshot};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::io::random::SplitMix64;

use crate::copy::options::CopyProgress;
use crate::count_note::CountNote;
use crate::epochs::Epoch;
use crate::follow::back_off::BackOff;
use crate::follow::begin::{FoundReplica, NewReplica, difference, find, names, resume};
use crate::follow::connect::{check_system, read_position};
use crate::follow::follower::Follower;
use crate::follow::options::ReplicaOptions;
use crate::follow::pause::Pause;
use crate::follow::progress::{Progress, SourceNames};
use crate::follow::shared::Shared;
use crate::follow::watcher::Watcher;
use crate::lsn::Lsn;
use crate::mapping::plan::Plan;
use crate::metrics::ReplicaMetrics;
use crate::planted::inherited;
use crate::row_note::WAITING_PREFIX;
use crate::source::catalogue::Catalogue;
use crate::source::replica_source::ReplicaSource;
use crate::status::{ReplicaState, ReplicaStatus};
use crate::status_file::StatusFile;

/// How long a stream may take to end before the waits for its source are cut off.
const STOP_TIME_MAX: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A database that follows a source.
///
/// The database is read as any other, and refuses everybody else's writes. It keeps its owner when this is stopped or dropped,
/// and goes on from its note when it is started again.
///
/// Open the database with [`Durability::Interval`](evergraph::Durability): what a power cut takes is sent again, so waiting
/// for each sync buys nothing.
///
/// # Concurrency
/// Any thread calls any method. Two threads follow: one applies changes, one watches; the source has one more for its socket,
/// and the pipeline as many as the options say.
pub struct Replica {
    shared: Arc<Shared>,
    source: Mutex<Box<dyn ReplicaSource>>,
    /// Ends what waits for the source.
    cancel: CancelFlag,
    watcher: Option<JoinHandle<()>>,
}

impl Replica {
    /// Makes `database` follow `source`: one without a graph gets a publication, a slot and the tables first, which `progress`
    /// is told of and `cancel` ends; one that follows already goes on from its notes, whether or not the source answers.
    ///
    /// # Errors
    /// Of a new replica: `invalid` for what [`check`](crate::mapping::check::check) finds, with the SQL that mends it, and for
    /// a database that has a graph; those of the source and of the copy; `cancelled`. Nothing is left then. Of one that goes on:
    /// `invalid` for another mapping. `busy` if another replica has the database. What a source that goes on has against it
    /// is no error: see [`ReplicaStatus::state`].
    pub fn start(
        database: Database,
        mut source: Box<dyn ReplicaSource>,
        options: ReplicaOptions,
        progress: &dyn Fn(&CopyProgress),
        cancel: &CancelFlag,
    ) -> Result<Self> {
        let file = database.path().map(StatusFile::hold).transpose()?;
        let (ownership, followed) = match find(&database)? {
            FoundReplica::Following(origin, note) => resume(&database, origin, *note, &options)?,
            found => {
                // Until the copy is here, others know no more than this.
                if let Some(file) = &file {
                    let source = SourceNames { source: source.place(), ..SourceNames::default() };
                    file.write(&Progress::new(source, options.slot_alarm_bytes).status())?;
                }
                let left = match found {
                    FoundReplica::Begun(note) => Some(*note),
                    _ => None,
                };
                let (database, source) = (&database, &mut *source);
                NewReplica { database, source, options: &options, left, progress, cancel }.begin()?
            }
        };
        let names = names(ownership.source().to_owned(), &followed);
        let told = Progress::new(names, options.slot_alarm_bytes);
        told.set_state(ReplicaState::Reconnecting);
        // A damaged note is told when it is needed.
        if let Ok(position) = read_position(&ownership) {
            told.found_note(position);
        }
        let notes = database.snapshot().notes();
        if let Ok(counts) = CountNote::of(&notes) {
            let rows = notes.iter().filter(|(name, _)| name.starts_with(WAITING_PREFIX)).count();
            told.count(rows as u64 + counts.waiting.values().sum::<u64>(), &counts.losses);
        }
        let shared = Arc::new(Shared::new(database, options, told, followed.clone()));
        let own_cancel = CancelFlag::default();
        let random = SplitMix64::from_system().map_err(|error| failed("find a random number", error))?;
        let follower = Follower {
            shared: Arc::clone(&shared),
            source: source.another(&own_cancel),
            followed,
            ownership,
            back_off: BackOff::new(shared.options.intervals.retry, Box::new(random)),
            timeline: None,
        };
        let watcher = Watcher { shared: Arc::clone(&shared), source: source.another(&own_cancel), file };
        let of_thread = Arc::clone(&shared);
        let follower = Builder::new().name("replica-follow".to_owned()).spawn(inherited(move || {
            if catch_unwind(AssertUnwindSafe(|| follower.run())).is_err() {
                let pause =
                    Pause::new("its thread panicked", "start the replica again, and please report this");
                of_thread.progress.set_state(pause.into());
            }
        }));
        let follower = follower.map_err(|error| failed("start the thread of a replica", error))?;
        let watcher = Builder::new().name("replica-watch".to_owned()).spawn(move || watcher.run(follower));
        let watcher = watcher.map_err(|error| {
            shared.progress.stop();
            failed("start the thread of a replica", error)
        })?;
        let source = Mutex::new(source.another(&own_cancel));
        Ok(Self { shared, source, cancel: own_cancel, watcher: Some(watcher) })
    }

    /// Whether `database` follows a source already: its tables were copied.
    ///
    /// # Errors
    /// `corrupt` if a note cannot be read; `invalid` if another program follows something with the database.
    pub fn follows(database: &Database) -> Result<bool> {
        Ok(matches!(find(database)?, FoundReplica::Following(..)))
    }

    /// Whether a copy into `database` ended early, and what it made at the source could not be dropped: the notes of the database
    /// say what that is, and the next start, or [`abandon`](crate::follow::detach::abandon), drops it.
    ///
    /// # Errors
    /// As [`Replica::follows`].
    pub fn has_left_something(database: &Database) -> Result<bool> {
        Ok(matches!(find(database)?, FoundReplica::Begun(_)))
    }

    /// Why `database`, if it follows already, does not go on with `source` as `options` say: it follows by another mapping, slot
    /// or publication, or another source. `None` if it does, or follows nothing.
    ///
    /// # Errors
    /// `corrupt` if a note cannot be read; `invalid` if another program follows something with the database; the source's.
    pub fn difference(
        database: &Database,
        source: &mut dyn ReplicaSource,
        options: &ReplicaOptions,
    ) -> Result<Option<String>> {
        difference(database, source, options)
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.shared.database
    }

    /// What it does at this moment. Stopped, if another process asked for that: drop this then.
    #[must_use]
    pub fn status(&self) -> ReplicaStatus {
        self.shared.progress.status()
    }

    /// Waits until everything of the source up to `position` is here, for `time_max` at most; whether it is. Waits on while the
    /// source does not answer, and until this has compared the source with what the database says: another system, or one
    /// whose slot is gone, has nothing to wait for.
    ///
    /// # Errors
    /// `invalid`, with cause and remedy, if it is paused before that; `cancelled` if it is stopped.
    pub fn wait(&self, position: Lsn, time_max: Duration) -> Result<bool> {
        self.shared.progress.wait(position, time_max).map_err(|state| match state.pause() {
            Some(pause) => Error::invalid(format!("the replica is paused before {position}: {pause}")),
            None => Error::new(ErrorKind::Cancelled, format!("the replica was stopped before {position}")),
        })
    }

    /// The end of the source's log now. Cost: a connection.
    ///
    /// # Errors
    /// Those of the source. Once the source was compared: `invalid` if what answers now is another one, `busy` if its log ends
    /// before what is here.
    pub fn source_position(&self) -> Result<Lsn> {
        // Before the source is asked, whose log grows meanwhile.
        let compared_end = self.shared.progress.compared_end();
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let identity = source.identity()?;
        if let Some(here) = compared_end {
            let followed = self.shared.followed();
            check_system(&followed.origin, &identity).map_err(|pause| Error::invalid(pause.to_string()))?;
            if identity.log_end < here {
                let place = source.place();
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!(
                        "the log of {place} ends at {}, before {here}, which is here: it is in recovery, or was restored to an \
                         older state, as the replica finds out when it connects again",
                        identity.log_end
                    ),
                ));
            }
        }
        Ok(identity.log_end)
    }

    /// What rows of `live`, the source's catalogue now, become by the mapping. Columns that rules number are those of the copy.
    ///
    /// # Errors
    /// `invalid` if the mapping does not fit the source any more.
    pub fn plan(&self, live: &Catalogue) -> Result<Plan> {
        self.shared.followed().plan_of_all(live).map_err(|pause| Error::invalid(pause.to_string()))
    }

    /// The snapshots that stay open, oldest first.
    #[must_use]
    pub fn epochs(&self) -> Vec<Epoch> {
        self.shared.epochs().list()
    }

    /// The snapshot of the epoch `number`, if it is open; it stays open for as long as somebody has it.
    #[must_use]
    pub fn open_epoch(&self, number: u64) -> Option<Arc<Snapshot>> {
        self.shared.epochs().open(number)
    }

    /// What is measured beside the status, for monitoring.
    #[must_use]
    pub fn metrics(&self) -> &ReplicaMetrics {
        &self.shared.progress.metrics
    }

    /// Stops: the transaction that is being applied ends, what is here is made durable and confirmed, and the source's slot is
    /// free. The database keeps its owner.
    ///
    /// # Errors
    /// `io` if the database cannot be made durable: what is confirmed is durable all the same.
    pub fn stop(mut self) -> Result<()> {
        self.end();
        self.shared.database.sync()?;
        Ok(())
    }

    fn end(&mut self) {
        self.shared.progress.stop();
        let Some(watcher) = self.watcher.take() else { return };
        let began = Instant::now();
        while !watcher.is_finished() {
            // A stream ends by itself; what waits for a source that does not answer has to be told.
            if self.shared.progress.state() != ReplicaState::Following || began.elapsed() > STOP_TIME_MAX {
                self.cancel.cancel();
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        // Its panic is one of ours, and the threads are gone in either case.
        let _ended = watcher.join();
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.end();
    }
}

fn failed(doing: &str, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{doing}: {error}")).because(error)
}
