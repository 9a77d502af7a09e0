//! Log: reserves space, takes frames under the commit latch, and makes them durable together.
//!
//! ```text
//! before the latch   reserve            may wait for a file to be prepared; refuses
//! under the latch    append             memory only, cannot fail
//! after the latch    acknowledge        mode Sync: wait_durable; others: at once
//!
//! group commit: whoever waits and finds no leader becomes it, for one batch
//!   client A  --append--[write|sync: A      ]--returns
//!   client B  ----------append---waits------[write|sync: B C D]--returns   (B leads)
//!   client C  ------------append--waits-----------------------returns
//! ```
//!
//! # Concurrency
//! Locks, outermost first: `turn`, `buffer`; `allocator`, `buffer`; `files` is a leaf. None of
//! the first three is held across a write or sync but `allocator`, which only those wait for who
//! have no space. `append` takes `buffer` alone, under the caller's latch.
//!
//! One leader: the [`LogWriter`] is taken out of `turn`, and put back when the durable timestamp
//! is stored. Each batch has a number; who waits for the batch in flight sleeps on one condition
//! variable (numbers alternate), who waits for the next batch on the other. So a leader that
//! ends wakes all who are done, and just one of those who are not, to lead the next batch.
//! With one variable for all, each batch would wake every client of the next one in vain.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::io::directory::{Directory, OpenMode};
use crate::io::error::{IoError, Operation};
use crate::io::random::Random;
use crate::log::background::{Bell, prepare_ahead, sync_and_seal};
use crate::log::buffer::Buffer;
use crate::log::error::LogError;
use crate::log::file::{FIRST_BATCH_OFFSET, file_name, prepare};
use crate::log::frame::{PAYLOAD_BYTES_MAX, payload_crc};
use crate::log::leader::{LogWriter, RetiredFile, Written};
use crate::log::options::{Durability, LogOptions};
use crate::log::recovery::Recovered;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Condvar, Mutex, MutexGuard};

/// The buffer may grow to so many times [`LogOptions::spill_bytes`] while a leader writes.
const BUFFER_SPILLS_MAX: usize = 16;

/// The write-ahead log of one open database.
///
/// Dropping it closes it and forgets what [`Log::close`] would have said.
#[derive(Debug)]
pub struct Log {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What the log and its threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    directory: Arc<dyn Directory>,
    pub(crate) options: LogOptions,
    buffer: Mutex<Buffer>,
    /// Bytes in `buffer`. Stored under its lock, read without, to decide about a spill.
    buffered_bytes: AtomicUsize,
    turn: Mutex<Turn>,
    /// Who waits for a batch sleeps at its number modulo 2.
    ended: [Condvar; 2],
    /// Every frame through this timestamp is on stable storage. Only grows.
    /// Release by the leader before it gives its place back, Acquire by whoever asks.
    durable: AtomicU64,
    /// Whether `turn.cause` is set. Release with `turn` locked, Acquire by whoever asks.
    poisoned: AtomicBool,
    closed: AtomicBool,
    allocator: Mutex<Allocator>,
    files: Mutex<Files>,
    pub(crate) preparer: Bell,
    pub(crate) timer: Bell,
}

#[derive(Debug)]
struct Turn {
    /// Absent while somebody leads, and for ever once a leader failed.
    writer: Option<LogWriter>,
    /// The number of the newest batch that was taken.
    batch: u64,
    /// The last timestamp of that batch.
    batch_ts: u64,
    /// The failure that poisoned the log.
    cause: Option<Arc<IoError>>,
    position: u64,
    batches_count: u64,
    batch_bytes: u64,
    syncs_count: u64,
}

#[derive(Debug)]
struct Allocator {
    next_number: u64,
    next_file_bytes: u64,
    random: Box<dyn Random>,
}

#[derive(Debug)]
struct Files {
    /// Oldest first.
    retired: VecDeque<RetiredFile>,
    active_bytes: u64,
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
    /// As [`Log::payload_bytes`].
    pub payload_bytes: u64,
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
    /// Continues the log that was recovered (an empty one in a new database), in a new file as
    /// soon as something is committed: opening writes nothing, so it works on a full disk.
    ///
    /// Syncs the last file, whose end may be in the system's cache only, and removes files that
    /// were prepared and never used. Starts one or two threads.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(
        directory: Arc<dyn Directory>,
        recovered: Recovered,
        options: LogOptions,
        random: Box<dyn Random>,
    ) -> Result<Self, LogError> {
        let options = options.rounded();
        let Recovered { last_ts, payload_bytes, end, position, files, unused, next_number, .. } = recovered;
        if end.number != 0 {
            directory.open(&file_name(end.number), OpenMode::Read)?.sync_data()?;
        }
        for number in unused {
            directory.remove(&file_name(number))?;
        }
        let shared = Arc::new(Shared {
            directory,
            buffer: Mutex::new(Buffer::new(last_ts, payload_bytes)),
            buffered_bytes: AtomicUsize::new(0),
            turn: Mutex::new(Turn {
                writer: Some(LogWriter::new(end, position)),
                batch: 0,
                batch_ts: last_ts,
                cause: None,
                position,
                batches_count: 0,
                batch_bytes: 0,
                syncs_count: 0,
            }),
            ended: [Condvar::new(), Condvar::new()],
            durable: AtomicU64::new(last_ts),
            poisoned: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            allocator: Mutex::new(Allocator {
                next_number,
                next_file_bytes: options.first_file_bytes,
                random,
            }),
            files: Mutex::new(Files { retired: files.into(), active_bytes: 0 }),
            preparer: Bell::new(),
            timer: Bell::new(),
            options,
        });
        let log = Self { shared: shared.clone(), threads: Mutex::new(Vec::new()) };
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
    /// `payload` may be shorter than what was reserved; `crc` is its
    /// [`payload_crc`](crate::log::frame::payload_crc), computed before. Cost: a copy of the
    /// payload under a short lock; no I/O, no allocation. If the log is poisoned the frame goes
    /// nowhere, which waiting for it tells.
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
    pub fn acknowledge(&self, ts: u64) -> Result<(), LogError> {
        if self.shared.options.durability == Durability::Sync {
            return self.shared.wait_durable(ts);
        }
        self.shared.timer.ring();
        self.shared.spill(ts)
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
    pub fn wait_durable(&self, ts: u64) -> Result<(), LogError> {
        self.shared.wait_durable(ts)
    }

    /// Every commit through this timestamp is on stable storage. Only grows.
    ///
    /// It may for a moment exceed what is published: a frame is appended before its commit is
    /// published, under the same latch. Who needs both takes the smaller.
    #[must_use]
    pub fn durable(&self) -> u64 {
        self.shared.durable()
    }

    /// Whether a write or sync failed, so that nothing can be committed any more. Cost: one load.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.shared.poisoned.load(Ordering::Acquire)
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

    /// Bytes of payload ever appended, those that recovery replayed included. Who remembers it at
    /// a checkpoint knows by the difference how much has to be replayed. Only grows.
    #[must_use]
    pub fn payload_bytes(&self) -> u64 {
        self.shared.buffer.lock().payload_bytes()
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
            statistics.payload_bytes = buffer.payload_bytes();
            statistics.files_count = u64::from(buffer.next_file_bytes() > 0);
        }
        let files = self.shared.files.lock();
        statistics.files_count += files.retired.len() as u64 + u64::from(files.active_bytes > 0);
        statistics
    }

    /// Syncs everything in any mode, seals the last batch, ends the threads and removes the
    /// prepared file. Later calls do nothing, and reservations are refused from now on.
    ///
    /// # Errors
    /// [`LogError::OutcomeUnknown`] or [`LogError::Poisoned`] if a write or sync failed, now or
    /// earlier; [`LogError::Full`] if only the seal found no space; and what the system says.
    pub fn close(&self) -> Result<(), LogError> {
        let shared = &self.shared;
        shared.closed.store(true, Ordering::Release);
        let threads = std::mem::take(&mut *self.threads.lock());
        shared.preparer.stop();
        shared.timer.stop();
        for thread in threads {
            // A thread that panicked while it led has poisoned the log, which comes out below.
            let _ = thread.join();
        }
        let sealed = shared.sync_all().and_then(|()| shared.seal());
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

impl Shared {
    pub(crate) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    pub(crate) fn last_ts(&self) -> u64 {
        self.buffer.lock().last_ts()
    }

    /// Takes space for a frame, preparing a file if there is none.
    fn reserve(&self, payload_bytes: usize) -> Result<(), LogError> {
        self.check_poison()?;
        if self.buffer.lock().try_reserve(payload_bytes) {
            return Ok(());
        }
        let mut allocator = self.allocator.lock();
        loop {
            // The one before in the queue may have prepared a file for all, or failed.
            self.check_poison()?;
            let needed = {
                let mut buffer = self.buffer.lock();
                if buffer.try_reserve(payload_bytes) {
                    return Ok(());
                }
                buffer.needed_capacity(payload_bytes)
            };
            self.prepare_next(&mut allocator, needed)?;
        }
    }

    /// Prepares the next file if it is time, before anybody has to wait for it.
    pub(crate) fn prepare_next_if_due(&self) -> Result<(), LogError> {
        let mut allocator = self.allocator.lock();
        if self.buffer.lock().next_is_due() {
            self.prepare_next(&mut allocator, 0)?;
        }
        Ok(())
    }

    fn prepare_next(&self, allocator: &mut Allocator, needed_capacity: u64) -> Result<(), LogError> {
        let file_bytes = allocator.next_file_bytes.max(needed_capacity + FIRST_BATCH_OFFSET);
        let number = allocator.next_number;
        let salt = allocator.random.next_u64();
        allocator.next_number += 1;
        let prepared = prepare(&*self.directory, number, salt, file_bytes)?;
        allocator.next_file_bytes = (allocator.next_file_bytes * 2).min(self.options.log_file_bytes);
        let replaced = self.buffer.lock().install_next(prepared);
        if let Some(smaller) = replaced {
            self.directory.remove(&file_name(smaller.number))?;
        }
        Ok(())
    }

    fn check_poison(&self) -> Result<(), LogError> {
        if !self.poisoned.load(Ordering::Acquire) {
            return Ok(());
        }
        let cause = self.turn.lock().cause.clone().expect("the cause is set before the mark");
        Err(LogError::Poisoned { cause })
    }

    fn wait_durable(&self, ts: u64) -> Result<(), LogError> {
        if self.durable() >= ts {
            return Ok(());
        }
        let last_ts = self.last_ts();
        assert!(ts <= last_ts, "commit {ts} was never appended, the last one is {last_ts}");
        let mut turn = self.turn.lock();
        while self.durable() < ts {
            turn = self.lead_or_wait(turn, ts, true)?;
        }
        Ok(())
    }

    /// Syncs all that was appended before the call.
    pub(crate) fn sync_all(&self) -> Result<(), LogError> {
        self.wait_durable(self.last_ts())
    }

    /// Writes the buffer out, unsynced, if it is large: when nobody leads, or else when it is too
    /// large to go on.
    fn spill(&self, ts: u64) -> Result<(), LogError> {
        let spill_bytes = self.options.spill_bytes;
        let is_above = |limit| self.buffered_bytes.load(Ordering::Acquire) >= limit;
        if !is_above(spill_bytes) {
            return Ok(());
        }
        let mut turn = self.turn.lock();
        while (turn.writer.is_some() && is_above(spill_bytes)) || is_above(spill_bytes * BUFFER_SPILLS_MAX) {
            turn = self.lead_or_wait(turn, ts, false)?;
        }
        Ok(())
    }

    /// Writes an empty, synced batch, if all is synced and the last batch is not such a one. It
    /// proves to recovery that the batch before was synced.
    pub(crate) fn seal(&self) -> Result<(), LogError> {
        if self.buffer.lock().is_sealed() {
            return Ok(());
        }
        self.reserve(0)?;
        {
            let mut buffer = self.buffer.lock();
            let last_ts = buffer.last_ts();
            if buffer.is_sealed() || !buffer.is_empty() || self.durable() != last_ts {
                buffer.release(0);
                return Ok(());
            }
            buffer.append(0, last_ts, &[], payload_crc(&[]));
        }
        let mut turn = self.turn.lock();
        // Some leader takes the seal with its batch; none has to, if a commit came first.
        while !self.buffer.lock().is_empty() {
            let ts = turn.batch_ts;
            turn = self.lead_or_wait(turn, ts, true)?;
        }
        Ok(())
    }

    /// Leads one batch if nobody does; else sleeps until the batch of `ts` has ended, or somebody
    /// is needed to lead it.
    ///
    /// Callers wait for something that only a leader changes, and lead if it is still not so: then
    /// the one whom [`Shared::hand_over`] wakes to lead either does, or another has done so and
    /// wakes the rest.
    fn lead_or_wait<'a>(
        &'a self,
        mut turn: MutexGuard<'a, Turn>,
        ts: u64,
        sync: bool,
    ) -> Result<MutexGuard<'a, Turn>, LogError> {
        if let Some(cause) = &turn.cause {
            return Err(LogError::OutcomeUnknown { ts, cause: cause.clone() });
        }
        let Some(mut writer) = turn.writer.take() else {
            let batch = if ts <= turn.batch_ts { turn.batch } else { turn.batch + 1 };
            return Ok(self.ended[(batch % 2) as usize].wait(turn));
        };
        let batch = {
            let mut buffer = self.buffer.lock();
            self.buffered_bytes.store(0, Ordering::Release);
            buffer.take(writer.take_spare())
        };
        turn.batch += 1;
        turn.batch_ts = batch.last_ts;
        drop(turn);

        if batch.next_is_due {
            self.preparer.ring();
        }
        let unwinding = PoisonOnUnwind { shared: self };
        let written = writer.write(batch, sync);
        std::mem::forget(unwinding);
        match written {
            Ok(written) => Ok(self.hand_over(writer, written)),
            Err(cause) => Err(LogError::OutcomeUnknown { ts, cause: self.poison(cause) }),
        }
    }

    /// Publishes what a leader did, and lets the next one lead.
    fn hand_over(&self, writer: LogWriter, written: Written) -> MutexGuard<'_, Turn> {
        debug_assert!(written.durable_ts >= self.durable(), "the durable timestamp only grows");
        self.durable.store(written.durable_ts, Ordering::Release);
        if written.opened_bytes > 0 {
            let mut files = self.files.lock();
            files.active_bytes = written.opened_bytes;
            files.retired.extend(written.retired);
        }
        // A batch whose last frame is a seal has nothing else in it.
        if !self.buffer.lock().is_sealed() {
            self.timer.ring();
        }
        let mut turn = self.turn.lock();
        turn.position = writer.position();
        turn.writer = Some(writer);
        turn.batches_count += u64::from(written.batch_bytes > 0);
        turn.batch_bytes += written.batch_bytes;
        turn.syncs_count += written.syncs;
        self.ended[(turn.batch % 2) as usize].notify_all();
        self.ended[((turn.batch + 1) % 2) as usize].notify_one();
        turn
    }

    /// Nothing is written any more; everybody who waits learns why.
    fn poison(&self, cause: IoError) -> Arc<IoError> {
        let cause = Arc::new(cause);
        let mut turn = self.turn.lock();
        turn.cause = Some(cause.clone());
        self.poisoned.store(true, Ordering::Release);
        for ended in &self.ended {
            ended.notify_all();
        }
        cause
    }
}

/// Poisons the log if a leader panics, so that nobody waits for it in vain.
struct PoisonOnUnwind<'a> {
    shared: &'a Shared,
}

impl Drop for PoisonOnUnwind<'_> {
    fn drop(&mut self) {
        let cause = std::io::Error::other("the log's leader panicked");
        self.shared.poison(IoError::new(Operation::Write, self.shared.directory.location(), cause));
    }
}
