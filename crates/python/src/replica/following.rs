//! Following: a database that follows a PostgreSQL database, for as long as Python holds this.

use crate::database::Database;
use crate::error::{OrRaise, exception};
use crate::handle::{OpenDatabase, ProcessLocal};
use crate::long_call;
use crate::open_settings::OpenSettings;
use crate::replica::mapping::source;
use crate::snapshot::Snapshot;
use evergraph::graph::count::Count;
use evergraph::{Error, ErrorKind, Result};
use evergraph_replica::copy::options::{CopyProgress, CopyStage};
use evergraph_replica::follow::options::{ReplicaMapping, ReplicaOptions};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::resync::recover;
use pyo3::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often who waits for a position looks whether it is stopped.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How a database follows: what is `None` is as it is by default.
#[derive(FromPyObject)]
pub struct FollowingSettings {
    #[pyo3(item)]
    publication: Option<String>,
    #[pyo3(item)]
    slot: Option<String>,
    #[pyo3(item)]
    memory: Option<u64>,
    #[pyo3(item)]
    transaction_memory: Option<u64>,
    #[pyo3(item)]
    memory_limit: Option<u64>,
    #[pyo3(item)]
    slot_alarm: Option<u64>,
    #[pyo3(item)]
    epochs: Option<usize>,
}

/// A database that follows.
///
/// Concurrency: whoever waits has a share of what runs, and gives it back soon after it was asked to stop.
#[pyclass(frozen, module = "evergraph._native")]
pub struct Following {
    running: ProcessLocal<Mutex<Option<Arc<RunningReplica>>>>,
}

struct RunningReplica {
    // First: it is dropped before the database may close.
    replica: Replica,
    open: Arc<OpenDatabase>,
    is_stopping: AtomicBool,
}

/// Makes the database at a path follow the PostgreSQL database at a URL, by a mapping that errors call `name`.
///
/// # Errors
/// Those of opening, of the mapping, of the source, and of the copy; a new database is gone then.
#[pyfunction]
pub fn replica(
    py: Python<'_>,
    path: PathBuf,
    url: &str,
    mapping: (String, String),
    settings: FollowingSettings,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Database, Following)> {
    let opening = OpenSettings::of_replica(settings.memory_limit, settings.transaction_memory);
    let (options, words) = (opening.options(py)?, opening.in_words());
    let (text, name) = mapping;
    let following = following_options(&path, ReplicaMapping { name, text }, &settings);
    let running = long_call::run(py, progress, |watch| {
        let source = source(url, &watch.cancel)?;
        recover(&path)?;
        let is_new = options.would_create(&path);
        let open = OpenDatabase::at(&path, &options, words)?;
        let tell = |progress: &CopyProgress| {
            watch.tell(stage(progress.stage), progress.fraction, || match &progress.wait {
                Some(wait) => wait.to_string(),
                None => format!("{}: {} rows", progress.table, Count(progress.rows)),
            });
        };
        let database = open.database().clone();
        match Replica::start(database, Box::new(source), following, &tell, &watch.cancel) {
            Ok(replica) => {
                Ok(Arc::new(RunningReplica { replica, open, is_stopping: AtomicBool::new(false) }))
            }
            Err(error) => {
                OpenDatabase::let_go(open)?;
                if is_new {
                    forget(&path)?;
                }
                Err(error)
            }
        }
    })?;
    let database = Database::of(Arc::clone(&running.open));
    Ok((database, Following { running: ProcessLocal::new(Mutex::new(Some(running))) }))
}

fn following_options(path: &Path, mapping: ReplicaMapping, settings: &FollowingSettings) -> ReplicaOptions {
    let mut options = ReplicaOptions::new(mapping);
    options.publication.clone_from(&settings.publication);
    options.slot.clone_from(&settings.slot);
    options.memory_bytes = settings.memory.unwrap_or(options.memory_bytes);
    options.transaction_bytes_max = settings.transaction_memory.unwrap_or(options.transaction_bytes_max);
    options.slot_alarm_bytes = settings.slot_alarm.unwrap_or(options.slot_alarm_bytes);
    options.epochs = settings.epochs.unwrap_or(options.epochs);
    // On the disk of the database.
    options.temporary = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    options
}

/// Removes a database that was made for a replica that could not begin.
fn forget(path: &Path) -> Result<()> {
    fs::remove_dir_all(path).map_err(|error| {
        Error::new(ErrorKind::Io, format!("remove {}: {error}", path.display())).because(error)
    })
}

fn stage(stage: CopyStage) -> &'static str {
    match stage {
        CopyStage::Waiting => "wait for the source",
        CopyStage::Vertices => "copy vertices",
        CopyStage::Edges => "copy edges",
        CopyStage::Building => "build",
        CopyStage::Writing => "write",
    }
}

impl Following {
    fn running(&self, py: Python<'_>) -> PyResult<Arc<RunningReplica>> {
        let running = self.running.get(py)?.lock().unwrap_or_else(PoisonError::into_inner);
        running.clone().ok_or_else(|| exception(py, "DatabaseClosed", "this replica was closed"))
    }
}

#[pymethods]
impl Following {
    /// Waits until the graph has what the source has up to a position, or has now; whether it is so in time.
    fn wait(&self, py: Python<'_>, position: Option<&str>, timeout: Option<f64>) -> PyResult<bool> {
        let running = self.running(py)?;
        let time_max = match timeout {
            None => Duration::MAX,
            Some(seconds) => crate::transaction_options::seconds(py, "timeout", seconds)?,
        };
        let position: Option<Lsn> = position.map(parsed).transpose().or_raise(py)?;
        long_call::run(py, None, |watch| {
            let began = Instant::now();
            let position = match position {
                Some(position) => position,
                None => running.replica.source_position()?,
            };
            loop {
                let left = time_max.saturating_sub(began.elapsed());
                if running.replica.wait(position, LOOK_EVERY.min(left))? {
                    return Ok(true);
                }
                watch.cancel.check()?;
                if running.is_stopping.load(Ordering::Relaxed) {
                    return Err(Error::new(ErrorKind::Cancelled, "the replica was closed"));
                }
                if left.is_zero() {
                    return Ok(false);
                }
            }
        })
    }

    /// The end of the source's log now.
    fn source_position(&self, py: Python<'_>) -> PyResult<String> {
        let running = self.running(py)?;
        long_call::run(py, None, |_| Ok(running.replica.source_position()?.to_string()))
    }

    /// How it is, as a JSON document.
    fn status(&self, py: Python<'_>) -> PyResult<String> {
        let running = self.running(py)?;
        let status = py.detach(|| running.replica.status());
        Ok(serde_json::to_string(&status).expect("a status is a document"))
    }

    /// The snapshots that are open: number, position, and age in seconds.
    fn epochs(&self, py: Python<'_>) -> PyResult<Vec<(u64, String, f64)>> {
        let epochs = self.running(py)?.replica.epochs();
        let epoch = |epoch: evergraph_replica::epochs::Epoch| {
            (epoch.number, epoch.position.end.to_string(), epoch.opened.elapsed().as_secs_f64())
        };
        Ok(epochs.into_iter().map(epoch).collect())
    }

    /// The snapshot with this number, if it is still open.
    fn open(&self, py: Python<'_>, number: u64) -> PyResult<Option<Snapshot>> {
        let running = self.running(py)?;
        let snapshot = running.replica.open_epoch(number);
        Ok(snapshot.map(|snapshot| Snapshot::of(Arc::clone(&running.open), snapshot)))
    }

    /// Ends following; nothing if it has ended.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let running = self.running.get(py)?.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut running) = running else { return Ok(()) };
        running.is_stopping.store(true, Ordering::Relaxed);
        py.detach(|| {
            loop {
                match Arc::try_unwrap(running) {
                    Ok(RunningReplica { replica, open, .. }) => {
                        let stopped = replica.stop();
                        return stopped.and(OpenDatabase::let_go(open));
                    }
                    // Others who wait are about to hear of it.
                    Err(shared) => running = shared,
                }
                thread::sleep(LOOK_EVERY);
            }
        })
        .or_raise(py)
    }
}

fn parsed(text: &str) -> Result<Lsn> {
    text.parse().map_err(|error: evergraph_replica::lsn::ParseLsnError| Error::invalid(error.to_string()))
}
