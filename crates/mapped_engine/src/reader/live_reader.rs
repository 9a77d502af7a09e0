//! Live reader: which `live` a process reads, from one writer to the next.
//!
//! ```text
//! open     `live` of a process that writes     joined; while that is opening the database, a while is waited
//!          nobody has the database's lock      recovered into memory (recovery.rs)
//! begin    what is joined is open              there
//!          else: another directory's place     refused
//!                somebody writes               that one's `live` is joined
//!                nobody does                   the files are compared with those that were read: the same again, or recovered anew
//!                can't be joined yet           there, if that was recovered, is kept by an open snapshot, and the files are still
//!                                              those; else a while is waited: a writer may have come and gone
//! ```
//!
//! A writer that was killed closes nothing, and needs not: what it left is what the database holds, until the next writer, who closes
//! it first (durable/opening.rs).
//!
//! What was recovered is kept by the lock of a reader, while a snapshot of it is open. Without one there is no lock, so that writers
//! keep nothing for whoever only has the database open. The next snapshot takes a lock, then finds that nobody writes, then that the
//! files are still the same. So at the moment at which nobody wrote they were those, and any writer since has found the lock held.
//! Recovery looks at the files before and after, and whether nobody writes in between, for the same reason.

use crate::claimed_slots::ReaderLock;
use crate::durable::opening::CLAIMS;
use crate::live::{Live, WriterPresence};
use crate::live_file::{FILE_NAME, LiveFile, read_head};
use crate::live_head::{LiveHead, SLOTS_PER_PROCESS, made_anew};
use crate::reader::joined_live::{JoinedLive, PinnedLive};
use crate::reader::recovery::recover;
use crate::words::SharedWords;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Freshness;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::io::directory::{Directory, LockState, OpenMode};
use evergraph_storage::io::error::IoError;
use evergraph_storage::io::process::process_exists;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::recovered_graph::RecoveredFiles;
use evergraph_storage::sync::{Condvar, Mutex};
use evergraph_storage::timeline::shared_readable::{Prepared, SharedReadable};
use evergraph_storage::unfinished_directory::LOCK_NAME;
use std::sync::Arc;
use std::time::Duration;

/// How long, how often, and how far apart, it is looked whether a process that is opening the database lets others read it.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOKS: u32 = 500;
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The database as a process has it that reads.
///
/// # Concurrency
/// Any thread calls any method. When what is read was closed, one thread at a time looks at files and locks, and recovers what they
/// come to, without the registry of this process' timeline: snapshots end meanwhile.
#[derive(Debug)]
pub struct LiveReader {
    directory: Arc<dyn Directory>,
    clock: Arc<dyn Clock>,
    /// This one: not a process that was forked from it.
    process: u32,
    /// None when it is closed.
    current: Mutex<Option<Current>>,
    /// Who has it finds what is to be read instead. Taken before `current`.
    finding: Mutex<()>,
    /// What [`SharedReadable::register`] began, until the pin of the same snapshot takes it.
    registered: Mutex<Option<Result<PinnedLive>>>,
    /// What was prepared, when something newer was read by the time of its registration. It goes without the registry.
    outdated: Mutex<Option<PinnedLive>>,
}

/// What is read now.
#[derive(Clone, Debug)]
struct Current {
    joined: Arc<JoinedLive>,
    /// Of what this process recovered by itself: from which files.
    files: Option<Arc<RecoveredFiles>>,
}

impl Current {
    /// Whether the files are those that it was recovered from.
    fn is_of_the_files(&self, directory: &dyn Directory) -> Result<bool> {
        let Some(files) = &self.files else { return Ok(false) };
        Ok(planted(Bug::OwnFilesNotCompared) || files.are_current(directory)?)
    }
}

/// What an attempt to find what is to be read came to.
enum Attempt {
    Done(Current),
    /// What is read now, and still kept.
    Same,
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
        let mut looks = Looks::until_patience_ends(&*clock);
        let current = loop {
            match attempt(&directory, &clock, None)? {
                Attempt::Done(current) => break current,
                Attempt::Busy(error) if !looks.look_again(&*clock) => return Err(error),
                Attempt::Busy(_) | Attempt::Same => wait_a_moment(),
            }
        };
        if current.files.is_some() {
            // Nothing is kept for whoever only has it open.
            drop(current.joined.begin_if_kept()?);
        }
        let (process, current) = (std::process::id(), Mutex::new(Some(current)));
        let (finding, registered, outdated) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Self { directory, clock, process, current, finding, registered, outdated })
    }

    /// Lets go of what is read, as soon as no snapshot is open.
    pub fn close(&self) {
        let current = self.current.lock().take();
        drop(current);
    }

    /// The process that writes, if one is known to.
    ///
    /// Cost: a look at the database's lock.
    #[must_use]
    pub fn writer(&self) -> Option<u32> {
        let joined = self.joined().ok()?;
        let live = Some(joined.live()).filter(|live| live.is_open())?;
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
        self.current.lock().as_ref().map(|current| Arc::clone(&current.joined)).ok_or_else(closed)
    }

    /// Begins a snapshot of the newest commit that this process can see.
    ///
    /// Cost: some atomic stores and loads while a process has the database open to write, or was killed. Else a look at five files, a
    /// file that is made and removed if no other snapshot is open, and what [`recover`] costs if something was committed.
    ///
    /// # Errors
    /// `invalid` if it was closed, in a forked process, or if another database is in its place; `busy` if a process has the
    /// database's lock and lets nobody read within five seconds; those of joining another `live`; those of recovering.
    pub fn begin(&self) -> Result<PinnedLive> {
        self.begin_in_open().transpose().unwrap_or_else(|| self.begin_in_newest())
    }

    /// The same in what is read already; `None` if that was closed.
    fn begin_in_open(&self) -> Result<Option<PinnedLive>> {
        let joined = self.joined()?;
        if self.is_open(&joined) { joined.begin_if_kept() } else { Ok(None) }
    }

    /// Whether a snapshot begins in `joined` without a look at anything else.
    fn is_open(&self, joined: &JoinedLive) -> bool {
        // A forked process is told so.
        joined.live().is_open() || std::process::id() != self.process
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

    /// Begins in what is found now; what was read before was closed.
    #[cold]
    fn begin_in_newest(&self) -> Result<PinnedLive> {
        let mut looks = Looks::until_patience_ends(&*self.clock);
        let _finding = self.finding.lock();
        // Somebody else may have found it.
        if let Some(pinned) = self.begin_in_open()? {
            return Ok(pinned);
        }
        if self.directory.is_replaced()? {
            let path = self.directory.location().display();
            let text = format!(
                "{path} is another database by now: this one was moved or removed, as a resync of a replica does; open it again"
            );
            return Err(Error::invalid(text));
        }
        loop {
            let mut current = self.current.lock().clone().ok_or_else(closed)?;
            if current.files.is_none() {
                // Gives back what no snapshot keeps, before another lock is taken: there are only so many.
                drop(current.joined.begin_if_kept()?);
            }
            let busy = match attempt(&self.directory, &self.clock, Some(&current))? {
                Attempt::Done(next) => {
                    current = next.clone();
                    self.replace(next)?;
                    None
                }
                Attempt::Same => None,
                Attempt::Busy(error) => Some(error),
            };
            // Where the files say so it is the newest, although somebody is opening the database.
            let is_newest = busy.is_none() || current.is_of_the_files(&*self.directory)?;
            if is_newest && let Some(pinned) = current.joined.begin_if_kept()? {
                return Ok(pinned);
            }
            if !looks.look_again(&*self.clock) {
                return Err(busy.unwrap_or_else(|| made_anew(&self.directory.path(FILE_NAME))));
            }
            if busy.is_some() {
                wait_a_moment();
            }
        }
    }

    /// From now on `next` is read, unless it was closed meanwhile.
    fn replace(&self, next: Current) -> Result<()> {
        let old = self.current.lock().as_mut().map(|current| std::mem::replace(current, next));
        // It goes without the lock: files are unmapped, and removed.
        old.map(drop).ok_or_else(closed)
    }

    /// What was prepared, with the names that are the newest by now. `None` if something newer is read by now.
    fn renewed(&self, prepared: Result<PinnedLive>) -> Option<Result<PinnedLive>> {
        let Ok(mut pinned) = prepared else { return Some(prepared) };
        if self.joined().is_ok_and(|joined| !pinned.is_of(&joined)) {
            *self.outdated.lock() = Some(pinned);
            return None;
        }
        Some(pinned.renew_names().map(|()| pinned))
    }
}

impl SharedReadable for LiveReader {
    fn prepare(&self, _: Freshness) -> Option<Prepared> {
        let outdated = self.outdated.lock().take();
        drop(outdated);
        // Who registers finds that it is closed.
        let joined = self.joined().ok()?;
        (!self.is_open(&joined)).then(|| Box::new(self.begin_in_newest()) as Prepared)
    }

    fn register(&self, prepared: Option<Prepared>) -> Option<Timestamp> {
        let begun = match prepared {
            Some(prepared) => self.renewed(*prepared.downcast().expect("what this reader prepared"))?,
            None => self.begin_in_open().transpose()?,
        };
        // Without a slot nothing is read at it: the pin has the error.
        let timestamp = begun.as_ref().map_or_else(|_| self.readable(), PinnedLive::timestamp);
        *self.registered.lock() = Some(begun);
        Some(timestamp)
    }

    fn readable(&self) -> Timestamp {
        self.joined().map_or(Timestamp::ZERO, |joined| joined.live().readable())
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

/// How long it is looked again.
struct Looks {
    left: u32,
    until: Duration,
}

impl Looks {
    fn until_patience_ends(clock: &dyn Clock) -> Self {
        Self { left: LOOKS, until: clock.now().saturating_add(PATIENCE) }
    }

    /// Whether there is time for one more.
    fn look_again(&mut self, clock: &dyn Clock) -> bool {
        let is_left = self.left > 0 && clock.now() < self.until;
        self.left = self.left.saturating_sub(1);
        is_left
    }
}

fn wait_a_moment() {
    let (lock, waited) = (Mutex::new(()), Condvar::default());
    drop(waited.wait_timeout(lock.lock(), LOOK_AGAIN));
}

fn is_locked(directory: &Arc<dyn Directory>, holder: Option<u32>) -> Attempt {
    Attempt::Busy(IoError::Locked { directory: directory.location().to_owned(), holder }.into())
}

/// Finds what is to be read, where `now` is read, which was closed.
fn attempt(directory: &Arc<dyn Directory>, clock: &Arc<dyn Clock>, now: Option<&Current>) -> Result<Attempt> {
    let WriterPresence::Present(process) = presence(&**directory)? else {
        // Whatever `live` is there is nobody's.
        return recovered(directory, clock, now);
    };
    if now.is_some() && planted(Bug::NewWriterOverlooked) {
        return Ok(is_locked(directory, process));
    }
    let opening = now.and_then(|now| now.joined.opening());
    match join(directory, clock, WriterPresence::Present(process), opening) {
        Ok(joined) => Ok(Attempt::Done(Current { joined: Arc::new(joined), files: None })),
        Err(error) => match error.kind() {
            ErrorKind::Busy => Ok(Attempt::Busy(error)),
            ErrorKind::NotFound => Ok(is_locked(directory, process)),
            _ => Err(error),
        },
    }
}

/// Joins the newest `live`, unless it is of `opening`, which is not worth it any more.
fn join(
    directory: &Arc<dyn Directory>,
    clock: &Arc<dyn Clock>,
    writer: WriterPresence,
    opening: Option<u128>,
) -> Result<JoinedLive> {
    let (file, head) = LiveFile::open(Arc::clone(directory))?;
    if opening == Some(head.opening) {
        let (path, process) = (directory.path(FILE_NAME), head.process);
        let text =
            format!("{}: what process {process} left is about to be replaced; try again", path.display());
        return Err(Error::new(ErrorKind::Busy, text));
    }
    let words = Arc::new(SharedWords::new(Arc::new(file), head.sizes));
    let live = Arc::new(Live::join(words, head.opening, writer)?);
    let lock = ReaderLock::take(directory, head.slots / SLOTS_PER_PROCESS)?;
    JoinedLive::new(live, lock, directory, Arc::clone(clock), Some(head.opening))
}

/// What nobody writes: that of `now` if the files are still those.
fn recovered(
    directory: &Arc<dyn Directory>,
    clock: &Arc<dyn Clock>,
    now: Option<&Current>,
) -> Result<Attempt> {
    // Its lock has been held since before it was seen that nobody writes, if it still is when the snapshot begins.
    if let Some(now) = now
        && now.joined.is_kept()
        && now.is_of_the_files(&**directory)?
    {
        return Ok(Attempt::Same);
    }
    // In this order: who opens the database from here on finds the lock held, and whatever `live` was there before isn't joined.
    let lock = ReaderLock::take(directory, CLAIMS)?;
    let left = found_head(&**directory).ok().map(|head| head.opening);
    if let WriterPresence::Present(process) = presence(&**directory)? {
        return Ok(is_locked(directory, process));
    }
    if let Some(now) = now
        && now.is_of_the_files(&**directory)?
    {
        let (joined, files) = (now.joined.again(lock, Arc::clone(clock))?, now.files.clone());
        return Ok(Attempt::Done(Current { joined: Arc::new(joined), files }));
    }
    let mut has_failed = false;
    loop {
        let mut files = RecoveredFiles::look(&**directory)?;
        let recovered = recover(directory, Arc::clone(clock), &mut files);
        // Of what somebody wrote meanwhile anything may have been read, and nothing of it is kept.
        if let WriterPresence::Present(process) = presence(&**directory)? {
            return Ok(is_locked(directory, process));
        }
        if !files.are_current(&**directory)? {
            return Ok(is_locked(directory, None));
        }
        match recovered {
            Ok(live) => {
                let joined = JoinedLive::alone(live, lock, directory, Arc::clone(clock), left)?;
                return Ok(Attempt::Done(Current { joined: Arc::new(joined), files: Some(Arc::new(files)) }));
            }
            Err(error) if has_failed => return Err(error),
            // The end of a log may have been read while it changed, by a writer that was killed: it is at rest by now.
            Err(_) => has_failed = true,
        }
    }
}
