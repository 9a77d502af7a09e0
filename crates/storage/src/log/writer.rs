//! Log: reserves space, accepts frames under the commit latch, and makes them durable in groups.
//!
//! ```text
//! before the latch   reserve            may wait for a file to be prepared; refuses
//! under the latch    append             memory only, cannot fail
//! after the latch    acknowledge        mode Sync: wait_durable; others: at once
//!                    when_acknowledged  the same by a callback, which holds no thread
//! ```
//!
//! How commits share syncs is in [`group_commit`](crate::log::group_commit).

use std::sync::Arc;

use crate::io::directory::{Directory, OpenMode};
use crate::io::environment::Background;
use crate::io::random::Random;
use crate::log::acknowledger::Acknowledged;
use crate::log::background::{acknowledge_waiting, prepare_ahead, step_timer, sync_and_seal};
use crate::log::end_file::EndFile;
use crate::log::error::LogError;
use crate::log::file::file_name;
use crate::log::frame::{PAYLOAD_BYTES_MAX, payload_crc};
use crate::log::group_commit::Shared;
use crate::log::options::{Durability, LogOptions};
use crate::log::recovery::Recovered;
use crate::planted::{Bug, planted};
use crate::sync::Mutex;
use crate::sync::atomic::Ordering;
use crate::sync::thread::{self, JoinHandle};

/// The write-ahead log of one open database.
///
/// Dropping it closes it and forgets what [`Log::close`] would have said.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Where the timer is, if it is stepped: the newest commit when it was woken.
    woken_at: Mutex<Option<u64>>,
}

/// Space in the log for one frame; given back when dropped unused.
#[derive(Debug)]
#[must_use = "space that is not used is given back"]
pub struct Reservation<'log> {
    log: &'log Log,
    payload_bytes: Option<usize>,
}

/// What the log has done since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogStatistics {
    /// Commits appended.
    pub frames_count: u64,
    /// As [`Log::frame_bytes`].
    pub frame_bytes: u64,
    /// Batches written, seals included.
    pub batches_count: u64,
    /// Bytes of batches written, headers and padding included.
    pub batch_bytes: u64,
    /// Syncs of log files by leaders. Commits that share one: `frames_count / syncs_count`.
    pub syncs_count: u64,
    /// Log files on disk, prepared ones included.
    pub files_count: u64,
    /// Bytes that log files take on disk, prepared ones included.
    pub disk_bytes: u64,
}

impl Log {
    /// Continues the log that was recovered (an empty one in a new database): in its newest file if that was
    /// left with room in which nothing was written, else in a new one as soon as something is committed.
    /// Opening writes nothing, so it works on a full disk.
    ///
    /// Syncs the last file, whose end may be in the system's cache only, and removes files that
    /// were prepared and never used. Starts one or two threads, unless it is stepped.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(
        directory: Arc<dyn Directory>,
        recovered: Recovered,
        options: LogOptions,
        random: Box<dyn Random>,
    ) -> Result<Self, LogError> {
        let mut unfilled = None;
        if recovered.end.number != 0 {
            let mode = if recovered.unfilled.is_some() { OpenMode::ReadWrite } else { OpenMode::Read };
            let newest = directory.open(&file_name(recovered.end.number), mode)?;
            if !planted(Bug::RecoveredNotSynced) {
                newest.sync_data()?;
            }
            unfilled = recovered.unfilled.map(|room| (newest, room));
        }
        let end_file = EndFile::open(Arc::clone(&directory))?;
        for number in &recovered.unused {
            directory.remove(&file_name(*number))?;
        }
        let shared =
            Arc::new(Shared::new(directory, recovered, unfilled, end_file, options.rounded(), random));
        let log = Self { shared: shared.clone(), threads: Mutex::default(), woken_at: Mutex::default() };
        if shared.options.background == Background::Stepped {
            return Ok(log);
        }
        log.start("log-prepare", prepare_ahead)?;
        if shared.options.durability != Durability::None {
            log.start("log-timer", sync_and_seal)?;
        }
        Ok(log)
    }

    fn start(&self, name: &str, life: fn(&Shared)) -> Result<(), LogError> {
        let shared = self.shared.clone();
        let thread =
            thread::spawn(name, move || life(&shared)).map_err(|source| LogError::Thread { source })?;
        self.threads.lock().push(thread);
        Ok(())
    }

    /// Makes sure that a frame with up to `payload_bytes` of payload can be appended. Call it
    /// before the latch.
    ///
    /// Cost: a lock; waits for a file to be prepared when the log grows faster than that.
    ///
    /// # Errors
    /// [`LogError::Full`] (heals when there is space again), [`LogError::TooLarge`],
    /// [`LogError::Poisoned`], [`LogError::Closed`], and what the system says. Nothing was
    /// committed in any of these cases.
    pub fn reserve(&self, payload_bytes: usize) -> Result<Reservation<'_>, LogError> {
        if payload_bytes > PAYLOAD_BYTES_MAX {
            let (payload_bytes, limit) = (payload_bytes as u64, PAYLOAD_BYTES_MAX as u64);
            return Err(LogError::TooLarge { payload_bytes, limit });
        }
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(LogError::Closed);
        }
        self.shared.reserve(payload_bytes)?;
        Ok(Reservation { log: self, payload_bytes: Some(payload_bytes) })
    }

    /// Appends a commit; call it under the commit latch, in the order of timestamps.
    ///
    /// `payload` may be shorter than what was reserved; `crc` is its [`payload_crc`], computed
    /// before. Cost: a copy of the payload under a short lock; no I/O, no allocation. If the log
    /// is poisoned the frame goes nowhere, which waiting for it tells.
    ///
    /// # Panics
    /// If `ts` is not above the last one, or the payload exceeds the reservation.
    pub fn append(&self, mut space: Reservation<'_>, ts: u64, payload: &[u8], crc: u32) {
        debug_assert!(std::ptr::eq(space.log, self), "space was reserved in another log");
        debug_assert_eq!(crc, payload_crc(payload), "the crc of another payload");
        let reserved = space.payload_bytes.take().expect("a reservation is used once");
        assert!(payload.len() <= reserved, "{} bytes in space for {reserved}", payload.len());
        let mut buffer = self.shared.buffer.lock();
        assert!(ts > buffer.last_ts(), "commit {ts} after commit {}", buffer.last_ts());
        buffer.append(reserved, ts, payload, crc);
        self.shared.buffered_bytes.store(buffer.len(), Ordering::Release);
    }

    /// Returns when the commit `ts` may be acknowledged in the log's mode; call it after the latch.
    ///
    /// Mode `Sync`: as [`Log::wait_durable`]. Others: at once, but for the committer that finds
    /// the buffer full, who writes it out.
    ///
    /// # Errors
    /// [`LogError::OutcomeUnknown`] if the write or sync failed.
    #[inline]
    pub fn acknowledge(&self, ts: u64) -> Result<(), LogError> {
        if self.shared.options.durability == Durability::Sync && !planted(Bug::AcknowledgeBeforeSync) {
            return self.shared.wait_durable(ts);
        }
        self.shared.timer.ring();
        self.shared.spill(ts)
    }

    /// Calls `done` when the commit `ts` may be acknowledged, with what [`Log::acknowledge`] would return. Call it
    /// after the latch.
    ///
    /// Mode `Sync`: at once if it is durable, else on a thread that waits for all such commits; when the log is
    /// closed or stepped, the caller waits. Others: at once. A callback that panics is as one that returned.
    pub fn when_acknowledged(&self, ts: u64, done: Acknowledged) {
        let waits = self.shared.options.durability == Durability::Sync && self.shared.announced() < ts;
        if !waits || self.shared.options.background == Background::Stepped {
            return done(self.acknowledge(ts));
        }
        let start = || self.start("log-acknowledge", acknowledge_waiting);
        if let Err(done) = self.shared.acknowledger.enter(ts, done, start) {
            done(self.acknowledge(ts));
        }
    }

    /// Has what was appended synced soon, though nobody waits for it: in the modes with a timer.
    pub fn sync_later(&self) {
        self.shared.timer.ring();
    }

    /// Returns when every commit through `ts` is on stable storage, in any mode. A checkpoint and
    /// a commit that asks for more than its database's mode call this.
    ///
    /// Cost: nothing if it is durable; else at most two syncs, shared with all who wait.
    ///
    /// # Errors
    /// [`LogError::OutcomeUnknown`] if a write or sync failed; it is never tried again.
    ///
    /// # Panics
    /// If `ts` was never appended.
    #[inline]
    pub fn wait_durable(&self, ts: u64) -> Result<(), LogError> {
        self.shared.wait_durable(ts)
    }

    /// Every commit through this timestamp is on stable storage. Only grows. It may be ahead of what is acknowledged, as long as
    /// the [`DurableListener`](crate::log::options::DurableListener) is called.
    ///
    /// It may for a moment exceed what is published: a frame is appended before its commit is
    /// published, under the same latch. Who needs both takes the smaller.
    #[must_use]
    #[inline]
    pub fn durable(&self) -> u64 {
        self.shared.durable()
    }

    /// Whether a write or sync failed, so that nothing can be committed any more. Cost: one load.
    #[must_use]
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.shared.poisoned.load(Ordering::Acquire)
    }

    /// Cost: one load.
    ///
    /// # Errors
    /// [`LogError::Poisoned`], with the failure, if nothing can be committed any more.
    #[inline]
    pub fn check_poison(&self) -> Result<(), LogError> {
        self.shared.check_poison()
    }

    /// Prepares the next file if it is time, as the thread does that is not there when the log is stepped.
    pub fn step_preparer(&self) {
        // A full disk is told to the commit that needs the file.
        let _ = self.shared.prepare_next_if_due();
    }

    /// Does what the timer does next, for a log that is stepped: every other step is one period later, when
    /// it syncs or seals.
    pub fn step_timer(&self) {
        step_timer(&self.shared, &mut self.woken_at.lock());
    }

    /// Makes the file that says where the log ends, if it isn't there. A manifest that promises it is written
    /// afterwards.
    ///
    /// # Errors
    /// [`LogError::Full`], and what the system says.
    #[inline]
    pub fn make_end_file(&self) -> Result<(), LogError> {
        self.shared.end_file.make()
    }

    /// Removes log files without frames newer than `through_ts`, never the newest. Returns
    /// the bytes that became free.
    ///
    /// A checkpoint calls this once its manifest is durable: recovery will not ask for those
    /// frames again. If a removal is lost in a power cut, the file is removed next time.
    ///
    /// # Errors
    /// What the system says; the files that are left are tried again next time.
    pub fn prune(&self, through_ts: u64) -> Result<u64, LogError> {
        let mut freed = 0;
        loop {
            let oldest = {
                let mut files = self.shared.files.lock();
                // Until a first commit opens a file, the last retired one holds the log's end.
                let holds_end = files.active_bytes == 0 && files.retired.len() == 1;
                match files.retired.front() {
                    Some(oldest) if oldest.last_ts <= through_ts && !holds_end => files.retired.pop_front(),
                    _ => None,
                }
            };
            let Some(oldest) = oldest else { return Ok(freed) };
            if let Err(error) = self.shared.directory.remove(&file_name(oldest.number)) {
                self.shared.files.lock().retired.push_front(oldest);
                return Err(error.into());
            }
            freed += oldest.file_bytes;
        }
    }

    /// Bytes of log files that [`Log::prune`] would remove now.
    #[must_use]
    pub fn prunable_bytes(&self, through_ts: u64) -> u64 {
        let files = self.shared.files.lock();
        let holding_end = usize::from(files.active_bytes == 0);
        let others = files.retired.iter().take(files.retired.len().saturating_sub(holding_end));
        others.take_while(|file| file.last_ts <= through_ts).map(|file| file.file_bytes).sum()
    }

    /// Bytes of frames ever appended, headers and those that recovery replayed included. Who remembers it at
    /// a checkpoint knows by the difference how much has to be replayed. Only grows.
    #[must_use]
    pub fn frame_bytes(&self) -> u64 {
        self.shared.buffer.lock().frame_bytes()
    }

    /// Bytes that log files take on disk, prepared ones included.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        let next = self.shared.buffer.lock().next_file_bytes();
        let files = self.shared.files.lock();
        files.retired.iter().map(|file| file.file_bytes).sum::<u64>() + files.active_bytes + next
    }

    /// Log position behind the last batch written: bytes of batches since the log began.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.shared.turn.lock().position
    }

    /// What the log has done since it was opened.
    #[must_use]
    pub fn statistics(&self) -> LogStatistics {
        let mut statistics = LogStatistics { disk_bytes: self.disk_bytes(), ..LogStatistics::default() };
        {
            let turn = self.shared.turn.lock();
            statistics.batches_count = turn.batches_count;
            statistics.batch_bytes = turn.batch_bytes;
            statistics.syncs_count = turn.syncs_count;
        }
        {
            let buffer = self.shared.buffer.lock();
            statistics.frames_count = buffer.frames_count();
            statistics.frame_bytes = buffer.frame_bytes();
            statistics.files_count = u64::from(buffer.next_file_bytes() > 0);
        }
        let files = self.shared.files.lock();
        statistics.files_count += files.retired.len() as u64 + u64::from(files.active_bytes > 0);
        statistics
    }

    /// Syncs everything in any mode, seals the last batch, has `log_end` say where the log ends, ends the threads
    /// and removes the prepared file. Later calls do nothing, and reservations are refused from now on.
    ///
    /// # Errors
    /// [`LogError::OutcomeUnknown`] or [`LogError::Poisoned`] if a write or sync failed, now or
    /// earlier; [`LogError::Full`] if only the seal found no space; and what the system says.
    pub fn close(&self) -> Result<(), LogError> {
        let shared = &self.shared;
        shared.closed.store(true, Ordering::Release);
        shared.acknowledger.close();
        let threads = std::mem::take(&mut *self.threads.lock());
        shared.preparer.stop();
        shared.timer.stop();
        let this_thread = thread::current().id();
        // A callback of the acknowledger may close the database: its thread ends by itself.
        for thread in threads.into_iter().filter(|thread| thread.thread().id() != this_thread) {
            // A thread that panicked while it led has poisoned the log, which comes out below.
            let _ = thread.join();
        }
        let sealed = shared.sync_all().and_then(|()| {
            let sealed = shared.seal();
            // Without room for the seal as well: it needs none.
            let stored = shared.store_end();
            sealed.and(stored)
        });
        let prepared = shared.buffer.lock().remove_next_if_free();
        if let Some(prepared) = prepared {
            shared.directory.remove(&file_name(prepared.number))?;
        }
        sealed
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // Who wants to know calls `close` before; there is nobody to tell here.
        let _ = self.close();
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if let Some(payload_bytes) = self.payload_bytes.take() {
            self.log.shared.buffer.lock().release(payload_bytes);
        }
    }
}
