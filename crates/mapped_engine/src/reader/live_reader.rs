//! Live reader: which `live` a process reads, from one writer to the next.
//!
//! ```text
//! open     `live` of a process that writes     joined; while that is opening the database, a while is waited
//!          nobody has the database's lock      recovered into memory (recovery.rs)
//! begin    what is read was closed             a newer `live` is looked for, and joined if it can be
//!          another database has its place       refused
//! ```
//!
//! A writer that was killed closes nothing, and needs not: what it left is what the database holds, until the next writer, who closes
//! it first (live_file.rs).

use crate::claimed_slots::ReaderLock;
use crate::durable::opening::CLAIMS;
use crate::live::{Live, WriterPresence};
use crate::live_file::{FILE_NAME, LiveFile, read_head};
use crate::live_head::{LiveHead, SLOTS_PER_PROCESS};
use crate::reader::joined_live::{JoinedLive, PinnedLive};
use crate::reader::recovery::recover;
use crate::words::SharedWords;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::io::directory::{Directory, LockState, OpenMode};
use evergraph_storage::io::error::IoError;
use evergraph_storage::io::process::process_exists;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::{Condvar, Mutex};
use evergraph_storage::timeline::shared_readable::SharedReadable;
use evergraph_storage::unfinished_directory::LOCK_NAME;
use std::sync::Arc;
use std::time::Duration;

/// How often, and how long apart, it is looked whether a process that is opening the database lets others read it.
const LOOKS: u32 = 500;
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The database as a process has it that reads.
///
/// # Concurrency
/// Any thread calls any method. Snapshots begin with the registry of this process' timeline locked; a look for a newer `live` is
/// made there, when the one that is read was closed.
#[derive(Debug)]
pub struct LiveReader {
    directory: Arc<dyn Directory>,
    clock: Arc<dyn Clock>,
    /// This one: not a process that was forked from it.
    process: u32,
    /// None when it is closed.
    joined: Mutex<Option<Arc<JoinedLive>>>,
    /// What [`SharedReadable::register`] began, until the pin of the same snapshot takes it.
    registered: Mutex<Option<Result<PinnedLive>>>,
}

/// What an attempt to open came to.
enum Attempt {
    Done(JoinedLive),
    /// Why not yet.
    Busy(Error),
}

impl LiveReader {
    /// Opens the database of `directory`, whose manifest names the mapped engine.
    ///
    /// Cost: some mappings if a process writes it; else reading what opening it would read. Waits up to five seconds for a
    /// process that is opening it.
    ///
    /// # Errors
    /// `busy` if a process has the database's lock and lets nobody read; `limit` if as many processes read as there can be; `io`,
    /// naming the file, without permission to write `live` or `reader-<n>`; `invalid` for a `live` of another format; `corrupt`.
    pub fn open(directory: Arc<dyn Directory>, clock: Arc<dyn Clock>) -> Result<Self> {
        let (pause, mut looks) = ((Mutex::new(()), Condvar::default()), 0);
        let joined = loop {
            match attempt(&directory, &clock)? {
                Attempt::Done(joined) => break joined,
                Attempt::Busy(error) if looks == LOOKS => return Err(error),
                Attempt::Busy(_) => looks += 1,
            }
            drop(pause.1.wait_timeout(pause.0.lock(), LOOK_AGAIN));
        };
        let (joined, registered) = (Mutex::new(Some(Arc::new(joined))), Mutex::default());
        Ok(Self { directory, clock, process: std::process::id(), joined, registered })
    }

    /// Lets go of what is read, as soon as no snapshot is open.
    pub fn close(&self) {
        let joined = self.joined.lock().take();
        drop(joined);
    }

    /// The process that writes, if one is known to.
    ///
    /// Cost: a look at the database's lock.
    #[must_use]
    pub fn writer(&self) -> Option<u32> {
        let joined = self.joined.lock().clone();
        let live = joined.as_ref().map(|joined| joined.live()).filter(|live| live.is_open())?;
        // One that was killed closes nothing. Who holds the lock by now may write, or have left no id.
        let holder = match presence(&*self.directory) {
            Ok(WriterPresence::Present(holder)) => holder.unwrap_or(live.head().process),
            Ok(WriterPresence::Gone) | Err(_) => return None,
        };
        Some(holder).filter(|holder| process_exists(*holder))
    }

    /// What is read now.
    ///
    /// # Errors
    /// `invalid` if it was closed.
    pub fn joined(&self) -> Result<Arc<JoinedLive>> {
        self.joined.lock().clone().ok_or_else(closed)
    }

    /// Begins a snapshot of the newest commit that this process can see.
    ///
    /// # Errors
    /// `invalid` if it was closed, in a forked process, or if another database is in its place; those of joining another `live`, but for one that isn't ready.
    pub fn begin(&self) -> Result<PinnedLive> {
        self.newest()?.begin()
    }

    /// What the pin of a snapshot takes.
    ///
    /// # Errors
    /// Those of [`LiveReader::begin`].
    ///
    /// # Panics
    /// If it was taken before: a pin follows its registration, under the registry's lock.
    pub fn take_registered(&self) -> Result<PinnedLive> {
        self.registered.lock().take().expect("a snapshot is registered before it is pinned")
    }

    /// What is read from here on.
    fn newest(&self) -> Result<Arc<JoinedLive>> {
        let mut joined = self.joined.lock();
        let now = joined.clone().ok_or_else(closed)?;
        if now.live().is_open() || std::process::id() != self.process {
            return Ok(now);
        }
        if self.directory.is_replaced()? {
            let path = self.directory.location().display();
            let text = format!(
                "{path} is another database by now: this one was moved or removed, as a resync of a replica does; open it again"
            );
            return Err(Error::invalid(text));
        }
        match self.newer(now.opening())? {
            Some(newer) => {
                let newer = Arc::new(newer);
                *joined = Some(Arc::clone(&newer));
                Ok(newer)
            }
            None => Ok(now),
        }
    }

    /// The `live` of an opening after `opening`, if there is one that can be joined.
    fn newer(&self, opening: Option<u128>) -> Result<Option<JoinedLive>> {
        if planted(Bug::NewWriterOverlooked) {
            return Ok(None);
        }
        let isnt_there = |error: &Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Busy);
        // Mostly nothing changed, and only a look is needed.
        match found_head(&*self.directory) {
            Ok(head) if Some(head.opening) == opening => return Ok(None),
            Ok(_) => {}
            Err(error) if isnt_there(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
        match join(&self.directory, &self.clock, WriterPresence::Present(None)) {
            Ok(joined) => Ok(Some(joined)),
            Err(error) if isnt_there(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl SharedReadable for LiveReader {
    fn register(&self) -> Timestamp {
        let begun = self.begin();
        // Without a slot nothing is read at it: the pin has the error.
        let timestamp = begun.as_ref().map_or_else(|_| self.readable(), PinnedLive::timestamp);
        *self.registered.lock() = Some(begun);
        timestamp
    }

    fn readable(&self) -> Timestamp {
        let joined = self.joined.lock();
        joined.as_ref().map_or(Timestamp::ZERO, |joined| joined.live().readable())
    }
}

#[cold]
fn closed() -> Error {
    Error::invalid("the database is closed")
}

/// What the first line of `live` says.
///
/// # Errors
/// `not_found` if there is none; `busy` if it isn't written yet; those of [`LiveHead::decode`].
pub(crate) fn found_head(directory: &dyn Directory) -> Result<LiveHead> {
    read_head(&*directory.open(FILE_NAME, OpenMode::Read)?)
}

/// Whether somebody has the database's lock.
///
/// # Errors
/// What the system says.
pub(crate) fn presence(directory: &dyn Directory) -> Result<WriterPresence> {
    Ok(match directory.lock_state(LOCK_NAME)? {
        LockState::Free => WriterPresence::Gone,
        LockState::Held(process) => WriterPresence::Present(process),
    })
}

fn attempt(directory: &Arc<dyn Directory>, clock: &Arc<dyn Clock>) -> Result<Attempt> {
    let WriterPresence::Present(process) = presence(&**directory)? else {
        return recovered(directory, clock);
    };
    match join(directory, clock, WriterPresence::Present(process)) {
        Ok(joined) => Ok(Attempt::Done(joined)),
        Err(error) => match error.kind() {
            ErrorKind::Busy => Ok(Attempt::Busy(error)),
            ErrorKind::NotFound => {
                let location = directory.location().to_owned();
                Ok(Attempt::Busy(IoError::Locked { directory: location, holder: process }.into()))
            }
            _ => Err(error),
        },
    }
}

/// Joins the newest `live`.
fn join(
    directory: &Arc<dyn Directory>,
    clock: &Arc<dyn Clock>,
    writer: WriterPresence,
) -> Result<JoinedLive> {
    let (file, head) = LiveFile::open(Arc::clone(directory))?;
    let words = Arc::new(SharedWords::new(Arc::new(file), head.sizes));
    let live = Arc::new(Live::join(words, head.opening, writer)?);
    let lock = ReaderLock::take(directory, head.slots / SLOTS_PER_PROCESS)?;
    JoinedLive::new(live, lock, directory, Arc::clone(clock), Some(head.opening))
}

/// What nobody writes.
fn recovered(directory: &Arc<dyn Directory>, clock: &Arc<dyn Clock>) -> Result<Attempt> {
    // In this order: who opens the database from here on finds the lock held, and whatever `live` was there before isn't joined.
    let lock = ReaderLock::take(directory, CLAIMS)?;
    let left = found_head(&**directory).ok().map(|head| head.opening);
    let busy = |process| {
        let location = directory.location().to_owned();
        Attempt::Busy(IoError::Locked { directory: location, holder: process }.into())
    };
    if let WriterPresence::Present(process) = presence(&**directory)? {
        return Ok(busy(process));
    }
    let mut recovered = recover(directory, Arc::clone(clock));
    if recovered.is_err() && presence(&**directory)? == WriterPresence::Gone {
        // Of a log that somebody wrote meanwhile the end was read while it changed: it is at rest by now.
        recovered = recover(directory, Arc::clone(clock));
    }
    match recovered {
        Ok(live) => JoinedLive::new(live, lock, directory, Arc::clone(clock), left).map(Attempt::Done),
        Err(error) => match presence(&**directory)? {
            WriterPresence::Present(process) => Ok(busy(process)),
            WriterPresence::Gone => Err(error),
        },
    }
}
