//! `StatusFile`: how a replica tells other processes what it does, in the folder of its database.
//!
//! ```text
//! replica.json    the status, written anew every second, always whole
//! replica.lock    locked by the process that follows, for as long as it does
//! replica.stop    another process asks it to stop
//! ```
//!
//! Nothing of the database depends on these files: a backup leaves them out.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use evergraph_graph::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::status::ReplicaStatus;

const STATUS_NAME: &str = "replica.json";
const NEW_STATUS_NAME: &str = "replica.json.new";
const LOCK_NAME: &str = "replica.lock";
const STOP_NAME: &str = "replica.stop";
/// How long a look at the lock by somebody else may be in the way.
const LOCK_TIME_MAX: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The status file of a replica that runs in this process.
#[derive(Debug)]
pub struct StatusFile {
    folder: PathBuf,
    /// Given back when it closes, however the process ends.
    _lock: File,
}

/// What a file said.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct StatusDocument {
    pid: u32,
    /// Microseconds since 1970.
    written_at: u64,
    #[serde(flatten)]
    status: ReplicaStatus,
}

/// What a status file says of a replica.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundStatus {
    /// What it did when it wrote the file.
    pub status: ReplicaStatus,
    /// Its process, running or not.
    pub pid: u32,
    /// When it wrote the file.
    pub written_at: SystemTime,
    /// Whether it runs now.
    pub life: ReplicaLife,
}

/// Whether a process follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReplicaLife {
    /// A process has the lock.
    Running,
    /// None has: it was stopped, or ended without a word.
    NotRunning,
}

impl StatusFile {
    /// Takes the lock in `folder`, a database's, and forgets requests of before.
    ///
    /// # Errors
    /// `busy` if another replica runs there; `io`.
    pub fn hold(folder: &Path) -> Result<Self> {
        let path = folder.join(LOCK_NAME);
        let failed = |error| failure("open", &path, error);
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        let began = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_TIME_MAX => {
                    std::thread::sleep(POLL_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => {
                    let text = format!("another replica runs in {}", folder.display());
                    return Err(Error::new(ErrorKind::Busy, text));
                }
                Err(TryLockError::Error(error)) => return Err(failure("lock", &path, error)),
            }
        }
        let file = Self { folder: folder.to_owned(), _lock: lock };
        match fs::remove_file(file.folder.join(STOP_NAME)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failure("remove", &file.folder.join(STOP_NAME), error))
            }
            _ => Ok(file),
        }
    }

    /// Writes `status`, in place of the one before.
    ///
    /// # Errors
    /// `io`, and `limit` if the disk is full; the one before stays.
    pub fn write(&self, status: &ReplicaStatus) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let document = StatusDocument {
            pid: std::process::id(),
            written_at: u64::try_from(now.as_micros()).unwrap_or(u64::MAX),
            status: status.clone(),
        };
        let text = serde_json::to_vec_pretty(&document).expect("a status is a document");
        let (new, path) = (self.folder.join(NEW_STATUS_NAME), self.folder.join(STATUS_NAME));
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &path));
        written.map_err(|error| failure("write", &path, error))
    }

    /// Whether another process asked this one to stop.
    #[must_use]
    pub fn is_stop_requested(&self) -> bool {
        self.folder.join(STOP_NAME).exists()
    }
}

/// What the replica of the database in `folder` does, or did last; `None` if there was none.
///
/// # Errors
/// `io`; `corrupt` if the file says no status.
pub fn read(folder: &Path) -> Result<Option<FoundStatus>> {
    let path = folder.join(STATUS_NAME);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failure("read", &path, error)),
    };
    let document: StatusDocument = serde_json::from_slice(&text).map_err(|error| {
        let text =
            format!("{} says no status: {error}; it is written anew when the replica runs", path.display());
        Error::new(ErrorKind::Corrupt, text)
    })?;
    Ok(Some(FoundStatus {
        status: document.status,
        pid: document.pid,
        written_at: UNIX_EPOCH + Duration::from_micros(document.written_at),
        life: life(folder)?,
    }))
}

/// Whether a replica ever ran in `folder`. What is made of one by a backup or a conversion has its notes, and no status.
#[must_use]
pub fn is_there(folder: &Path) -> bool {
    folder.join(STATUS_NAME).exists()
}

/// Asks the replica of the database in `folder` to stop, and waits for that.
///
/// # Errors
/// `not_found` if none runs; `limit` if it runs on after `time_max`: it stops when it has done what it is doing; `io`.
pub fn stop(folder: &Path, time_max: Duration) -> Result<()> {
    if life(folder)? == ReplicaLife::NotRunning {
        let text = format!("no replica runs in {}", folder.display());
        return Err(Error::new(ErrorKind::NotFound, text));
    }
    let path = folder.join(STOP_NAME);
    fs::write(&path, []).map_err(|error| failure("write", &path, error))?;
    let began = Instant::now();
    while life(folder)? == ReplicaLife::Running {
        if began.elapsed() > time_max {
            let text = format!(
                "the replica in {} has not stopped within {} s: it will when it has done what it is doing",
                folder.display(),
                time_max.as_secs_f64()
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Removes what a replica of before left in `folder`: the database follows nothing any more.
///
/// # Errors
/// `io`.
pub fn remove(folder: &Path) -> Result<()> {
    for name in [STATUS_NAME, NEW_STATUS_NAME, LOCK_NAME, STOP_NAME] {
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failure("remove", &path, error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn life(folder: &Path) -> Result<ReplicaLife> {
    let path = folder.join(LOCK_NAME);
    let lock = match File::open(&path) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ReplicaLife::NotRunning),
        Err(error) => return Err(failure("open", &path, error)),
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(ReplicaLife::NotRunning),
        Err(TryLockError::WouldBlock) => Ok(ReplicaLife::Running),
        Err(TryLockError::Error(error)) => Err(failure("look at the lock", &path, error)),
    }
}

fn failure(doing: &str, path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull => ErrorKind::Limit,
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("{doing} {}: {error}", path.display())).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsn::Lsn;
    use crate::status::ReplicaState;

    fn status(state: ReplicaState) -> ReplicaStatus {
        ReplicaStatus {
            state,
            source: "s".into(),
            slot: "slot".into(),
            publication: "p".into(),
            position: Lsn::new(5),
            committed_at: None,
            source_position: Lsn::ZERO,
            confirmed: Lsn::ZERO,
            lag_bytes: 0,
            lag_ms: 0,
            rows_per_second: 0.0,
            rows: 0,
            transactions: 0,
            waiting_rows: 0,
            losses: Vec::new(),
            restarts: 0,
            retained_bytes: None,
            is_retained_alarm: false,
            last_error: None,
        }
    }

    #[test]
    fn another_process_reads_what_a_replica_does_and_whether_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert_eq!(read(folder).unwrap(), None);
        assert!(!is_there(folder));
        assert_eq!(stop(folder, Duration::ZERO).unwrap_err().kind(), ErrorKind::NotFound);
        let file = StatusFile::hold(folder).unwrap();
        file.write(&status(ReplicaState::Following)).unwrap();
        let found = read(folder).unwrap().unwrap();
        assert_eq!((found.life, found.pid), (ReplicaLife::Running, std::process::id()));
        assert!(is_there(folder));
        assert_eq!(found.status, status(ReplicaState::Following));
        assert_eq!(StatusFile::hold(folder).unwrap_err().kind(), ErrorKind::Busy);
        drop(file);
        assert_eq!(read(folder).unwrap().unwrap().life, ReplicaLife::NotRunning);
        fs::write(folder.join(STATUS_NAME), "{\"state\":").unwrap();
        assert_eq!(read(folder).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn a_request_to_stop_is_seen_and_forgotten_by_the_next_replica() {
        let folder = tempfile::tempdir().unwrap();
        let file = StatusFile::hold(folder.path()).unwrap();
        assert!(!file.is_stop_requested());
        let late = stop(folder.path(), Duration::from_millis(60)).unwrap_err();
        assert!(late.kind() == ErrorKind::Limit && file.is_stop_requested(), "{late}");
        let asked = folder.path().to_owned();
        fs::remove_file(folder.path().join(STOP_NAME)).unwrap();
        let other = std::thread::spawn(move || stop(&asked, Duration::from_secs(20)));
        while !file.is_stop_requested() {
            std::thread::yield_now();
        }
        drop(file);
        other.join().unwrap().unwrap();
        assert!(!StatusFile::hold(folder.path()).unwrap().is_stop_requested());
        remove(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
