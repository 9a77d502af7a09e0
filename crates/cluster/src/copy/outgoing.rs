//! Outgoing copies: what other nodes copy from this one.
//!
//! ```text
//! begin ──> thread: backup of the store ──pieces, at most 16──> sent as they are asked for ──> forgotten as they have come
//!                      └ waits for room                            └ again, if the network has lost some
//! ```
//!
//! - A backup pins files and log of the store in a moment; all else goes on beside it. What it reads is sent, and never on this node's
//!   disk a second time. Files that the store replaces meanwhile take their space until the copy has ended.
//! - One copy at a time for each node, and [`CopyLimits::copies_max`] in all. Who begins another one ends the one before.
//! - A copy whose asker says nothing for [`CopyLimits::silence_max`] ends.
//! - The thread of the node only looks into a queue: it never waits for a copy.

use crate::copy::message::{
    CopyId, CopyMessage, CopyPiece, CopyRefusal, CopySubject, PIECE_BYTES_MAX, PIECES_AHEAD_MAX,
};
use crate::copy::piece_directory::{PieceDirectory, TakePieces};
use crate::log_position::LogPosition;
use crate::node::checkpoint;
use crate::node::owned_node::AnswerCopies;
use crate::node::store_partition::StorePartition;
use crate::record_id::NodeId;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::open::OpenStore;
use evergraph_storage::sync::thread::{JoinHandle, spawn};
use evergraph_storage::sync::{Condvar, Mutex};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// How often a thread that waits looks whether its asker has fallen silent.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// How much a node copies for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyLimits {
    /// Copies at once, each with a thread and 4 MiB.
    pub copies_max: usize,
    /// How long an asker may say nothing.
    pub silence_max: Duration,
}

impl Default for CopyLimits {
    fn default() -> Self {
        Self { copies_max: 4, silence_max: Duration::from_secs(60) }
    }
}

/// Gives copies. Dropped, it ends them, and waits for their threads.
pub struct OutgoingCopies {
    shared: Arc<Shared>,
    /// Of the node: it has its checkpoints.
    directory: Arc<dyn Directory>,
    name: String,
}

/// # Concurrency
///
/// The lock orders what the thread of the node and those of copies do with pieces. Nothing else is locked inside.
struct Shared {
    limits: CopyLimits,
    clock: Arc<dyn Clock>,
    /// Wakes the thread of the node.
    waker: Waker,
    state: Mutex<CopiesState>,
    /// There is room, or a copy has ended.
    news: Condvar,
}

#[derive(Default)]
struct CopiesState {
    copies: BTreeMap<NodeId, OutgoingCopy>,
    replies: VecDeque<(NodeId, CopyMessage)>,
    threads: Vec<JoinHandle<()>>,
}

/// A copy that somebody gets.
struct OutgoingCopy {
    copy: CopyId,
    needed_from: LogPosition,
    /// What has not come for certain, from `first` on.
    pieces: VecDeque<CopyPiece>,
    first: u64,
    /// The next one to send.
    next: u64,
    /// Behind the last one that was asked for.
    up_to: u64,
    is_complete: bool,
    heard_at: Duration,
    bytes_done: u64,
    bytes_total: u64,
}

/// What a thread reads for a copy.
type Reading =
    Box<dyn FnOnce(&PieceDirectory, &mut dyn FnMut(u64, u64) -> ControlFlow<()>) -> Result<()> + Send>;

impl OutgoingCopies {
    /// Of the node `name`, whose directory is `directory`. `clock` is that of its thread, which `waker` wakes when there is something
    /// to send.
    #[must_use]
    pub fn new(
        name: &str,
        limits: CopyLimits,
        directory: Arc<dyn Directory>,
        clock: Arc<dyn Clock>,
        waker: Waker,
    ) -> Self {
        let (state, news) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { limits, clock, waker, state, news });
        Self { shared, directory, name: name.to_owned() }
    }

    fn begin(
        &self,
        now: Duration,
        (to, copy): (NodeId, CopyId),
        needed_from: LogPosition,
        unit: WriteUnit,
        reading: Reading,
    ) -> std::result::Result<(), CopyRefusal> {
        let mut state = self.shared.state.lock();
        if state.copies.get(&to).is_some_and(|known| known.copy == copy) {
            // It was asked twice, since the answer is late or was lost.
            state.replies.push_back((to, CopyMessage::Begun { copy, needed_from }));
            return Ok(());
        }
        let (mut ended, going): (Vec<_>, Vec<_>) =
            std::mem::take(&mut state.threads).into_iter().partition(JoinHandle::is_finished);
        state.threads = going;
        let others = state.copies.keys().filter(|asker| **asker != to).count();
        // A thread whose copy was ended may still read its last stretch.
        if others >= self.shared.limits.copies_max || state.threads.len() > 2 * self.shared.limits.copies_max
        {
            return Err(CopyRefusal::Busy);
        }
        let begun = OutgoingCopy {
            copy,
            needed_from,
            pieces: VecDeque::new(),
            first: 0,
            next: 0,
            up_to: 0,
            is_complete: false,
            heard_at: now,
            bytes_done: 0,
            bytes_total: 0,
        };
        state.copies.insert(to, begun);
        self.shared.news.notify_all();
        let (shared, location) = (Arc::clone(&self.shared), format!("the copy for node {}", to.0));
        let thread = spawn(&format!("{}-copy-{}", self.name, to.0), move || {
            CopyThread { shared, to, copy }.run(location.into(), unit, reading);
        });
        match thread {
            Ok(thread) => state.threads.push(thread),
            Err(error) => {
                state.copies.remove(&to);
                return Err(CopyRefusal::failed(format!("start a thread: {error}")));
            }
        }
        state.replies.push_back((to, CopyMessage::Begun { copy, needed_from }));
        drop(state);
        ended.drain(..).for_each(|thread| drop(thread.join()));
        Ok(())
    }

    fn more(&self, now: Duration, to: NodeId, copy: CopyId, (have, up_to): (u64, u64), is_again: bool) {
        let mut state = self.shared.state.lock();
        let state = &mut *state;
        let Some(known) = state.copies.get_mut(&to).filter(|known| known.copy == copy) else {
            let reason = CopyRefusal::Unknown;
            return state.replies.push_back((to, CopyMessage::Refused { copy, reason }));
        };
        known.heard_at = now;
        while known.first < have && known.pieces.pop_front().is_some() {
            known.first += 1;
        }
        known.next = if is_again { known.first } else { known.next.max(known.first) };
        known.up_to = known.up_to.max(up_to);
        self.shared.news.notify_all();
        let waiting = state.replies.len();
        known.send(to, &mut state.replies);
        if is_again && state.replies.len() == waiting {
            // There is none yet: a disk may take long, and the asker shall not go elsewhere for that.
            state.replies.push_back((to, CopyMessage::Begun { copy, needed_from: known.needed_from }));
        }
    }

    fn end(&self, to: NodeId, copy: CopyId) {
        let mut state = self.shared.state.lock();
        if state.copies.get(&to).is_some_and(|known| known.copy == copy) {
            state.copies.remove(&to);
            self.shared.news.notify_all();
        }
    }

    /// Copies that were begun and have not ended.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shared.state.lock().copies.len()
    }
}

impl OutgoingCopy {
    /// Puts pieces that are asked for among what is to be sent.
    fn send(&mut self, to: NodeId, replies: &mut VecDeque<(NodeId, CopyMessage)>) {
        let behind = self.first + self.pieces.len() as u64;
        while self.next < self.up_to.min(behind) {
            let piece = self.pieces[(self.next - self.first) as usize].clone();
            replies.push_back((to, CopyMessage::Piece(piece)));
            self.next += 1;
        }
    }
}

/// What a thread knows of its copy.
#[derive(Clone)]
struct CopyThread {
    shared: Arc<Shared>,
    to: NodeId,
    copy: CopyId,
}

impl CopyThread {
    fn run(&self, location: std::path::PathBuf, unit: WriteUnit, reading: Reading) {
        let target = PieceDirectory::new(location, unit, Box::new(self.clone()));
        let mut progress = |done: u64, total: u64| self.progress(done, total);
        // What unwinds was this copy's alone: it only reads.
        let read = catch_unwind(AssertUnwindSafe(|| {
            reading(&target, &mut progress)?;
            Ok::<_, Error>(target.finish()?)
        }));
        let failure = match read {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the work on the copy panicked".to_owned(),
        };
        let mut state = self.shared.state.lock();
        // Ended by its asker, nobody hears of it.
        if state.copies.get(&self.to).is_some_and(|known| known.copy == self.copy) {
            state.copies.remove(&self.to);
            let refused = CopyMessage::Refused { copy: self.copy, reason: CopyRefusal::failed(failure) };
            state.replies.push_back((self.to, refused));
            drop(state);
            self.shared.waker.wake_by_ref();
        }
    }

    fn progress(&self, done: u64, total: u64) -> ControlFlow<()> {
        let mut state = self.shared.state.lock();
        match state.copies.get_mut(&self.to).filter(|known| known.copy == self.copy) {
            Some(known) => {
                (known.bytes_done, known.bytes_total) = (done, total);
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        }
    }
}

impl TakePieces for CopyThread {
    fn take(&self, changes: Vec<u8>, is_last: bool) -> io::Result<()> {
        let mut guard = self.shared.state.lock();
        loop {
            let state = &mut *guard;
            let Some(known) = state.copies.get_mut(&self.to).filter(|known| known.copy == self.copy) else {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "nobody waits for the copy any more"));
            };
            if (known.pieces.len() as u64) < PIECES_AHEAD_MAX {
                let (bytes_done, bytes_total) = (known.bytes_done, known.bytes_total);
                let number = known.first + known.pieces.len() as u64;
                let copy = self.copy;
                known.pieces.push_back(CopyPiece { copy, number, bytes_done, bytes_total, is_last, changes });
                known.is_complete |= is_last;
                known.send(self.to, &mut state.replies);
                drop(guard);
                self.shared.waker.wake_by_ref();
                return Ok(());
            }
            if self.shared.clock.now() >= known.heard_at.saturating_add(self.shared.limits.silence_max) {
                state.copies.remove(&self.to);
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "nobody has asked for more for too long",
                ));
            }
            (guard, _) = self.shared.news.wait_timeout(guard, LOOK_INTERVAL);
        }
    }
}

impl OutgoingCopies {
    /// Takes what the node `from` says about a copy. If it begins one of a partition, `store` is that, or says why there is none;
    /// `needed_from` is what this node needs of the log.
    pub fn take_message<E: DurableEngine>(
        &self,
        now: Duration,
        from: NodeId,
        message: CopyMessage,
        store: std::result::Result<Option<&Arc<OpenStore<E>>>, CopyRefusal>,
        needed_from: LogPosition,
    ) {
        let (copy, begun) = match message {
            CopyMessage::Begin { copy, subject: CopySubject::State } => {
                let begun = store.and_then(|_| {
                    let (reading, unit) =
                        (read_state(Arc::clone(&self.directory)), self.directory.write_unit());
                    self.begin(now, (from, copy), needed_from, unit, reading)
                });
                (copy, begun)
            }
            CopyMessage::Begin { copy, subject: CopySubject::Partition { .. } } => {
                let begun = store.and_then(|store| {
                    let opened = Arc::clone(store.ok_or(CopyRefusal::NotServed)?);
                    let unit = opened.directory().write_unit();
                    let reading: Reading = Box::new(move |target, progress| {
                        let mut progress = |now: evergraph_storage::backup::BackupProgress| {
                            progress(now.bytes_done, now.bytes_total)
                        };
                        opened.backup(target, &mut progress).map(drop)
                    });
                    self.begin(now, (from, copy), needed_from, unit, reading)
                });
                (copy, begun)
            }
            CopyMessage::More { copy, have, up_to, is_again } => {
                return self.more(now, from, copy, (have, up_to), is_again);
            }
            CopyMessage::End { copy } => return self.end(from, copy),
            // Whoever gives copies gets nothing of these, or late.
            CopyMessage::NeedsLog(_)
            | CopyMessage::Begun { .. }
            | CopyMessage::Piece(_)
            | CopyMessage::Refused { .. } => return,
        };
        if let Err(reason) = begun {
            self.shared.state.lock().replies.push_back((from, CopyMessage::Refused { copy, reason }));
        }
    }

    /// What is to be sent next.
    #[must_use]
    pub fn take_reply(&self, now: Duration) -> Option<(NodeId, CopyMessage)> {
        let mut state = self.shared.state.lock();
        let silence_max = self.shared.limits.silence_max;
        // Those whose threads have read everything, and do not wait for room.
        state.copies.retain(|_, copy| !copy.is_complete || now < copy.heard_at.saturating_add(silence_max));
        state.replies.pop_front()
    }
}

impl<E: DurableEngine> AnswerCopies<StorePartition<E>> for OutgoingCopies {
    fn take(
        &mut self,
        now: Duration,
        from: NodeId,
        message: CopyMessage,
        store: std::result::Result<Option<&StorePartition<E>>, CopyRefusal>,
        needed_from: LogPosition,
    ) {
        let store = store.map(|store| store.map(StorePartition::opened));
        self.take_message(now, from, message, store, needed_from);
    }

    fn next_reply(&mut self, now: Duration) -> Option<(NodeId, CopyMessage)> {
        self.take_reply(now)
    }
}

/// Reads the newest checkpoint of what follows from the log. It may be replaced meanwhile: the file that was opened stays.
fn read_state(directory: Arc<dyn Directory>) -> Reading {
    Box::new(move |target, progress| {
        let name = checkpoint::FILE_NAME;
        let file = directory.open(name, OpenMode::Read).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, "it has made no checkpoint yet"),
            _ => error.into(),
        })?;
        let (length, copied) = (file.len()?, target.create(name)?);
        let mut bytes = vec![0; PIECE_BYTES_MAX / 2];
        for offset in (0..length).step_by(bytes.len()) {
            let now = &mut bytes[..(length - offset).min(PIECE_BYTES_MAX as u64 / 2) as usize];
            if progress(offset, length).is_break() {
                return Err(Error::new(ErrorKind::Cancelled, "nobody waits for the copy any more"));
            }
            file.read_at(now, offset)?;
            copied.write_at(now, offset)?;
        }
        let _ = progress(length, length);
        copied.sync_data()?;
        Ok(target.sync_directory()?)
    })
}

impl Drop for OutgoingCopies {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.copies.clear();
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        self.shared.news.notify_all();
        for thread in threads {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for OutgoingCopies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingCopies").field("copies", &self.count()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
