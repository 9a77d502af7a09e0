//! Group commit: a committer that needs the disk and finds no leader becomes the leader of one batch.
//!
//! ```text
//!   client A  --append--[write|sync: A      ]--returns
//!   client B  ----------append---waits------[write|sync: B C D]--returns   (B leads)
//!   client C  ------------append--waits-----------------------returns
//! ```
//!
//! # Concurrency
//! Locks, outermost first: `turn`, `buffer`; `allocator`, `buffer`; `files` is a leaf, the end file's is another.
//! Only `allocator` and that one are held across a write or sync, and only who has no space, or makes the end
//! file of an old database, waits for them. `append`
//! takes `buffer` alone, under the caller's latch.
//!
//! One leader: the [`LogWriter`] is taken out of `turn`, and put back when the durable timestamp
//! is stored and the listener has heard of it. Each batch has a number; who waits for the batch in flight is listed with it (numbers
//! alternate), who waits for the next batch with that one. So a leader that ends wakes all who are done,
//! and just one of those who are not, to lead the next batch: that one first, so that the disk works on
//! while the others are woken.
//!
//! Each sleeps by itself and finds out by one load that it is done: with a condition variable all who
//! were woken would queue for `turn` again, to learn the same (three calls of the system a commit
//! instead of two).
//!
//! Two things keep many clients from waiting for the scheduler instead of the disk:
//!
//! - Who waits yields its processor a few times before it sleeps (`YIELDS_MAX`). Where clients outnumber processors, a
//!   sync takes no longer than that, and nobody has to be put to sleep and woken, which costs more than a commit.
//! - A leader with little to write yields once before it takes the batch (`GATHER_BELOW`), if others took part in the
//!   last one: they were woken when it ended, and their next commits share this sync instead of waiting for another.
//!   A client that stays alone does not yield.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::io::directory::{Directory, File};
use crate::io::error::{IoError, Operation};
use crate::io::random::Random;
use crate::log::acknowledger::Acknowledger;
use crate::log::buffer::Buffer;
use crate::log::end_file::EndFile;
use crate::log::error::LogError;
use crate::log::file::{FIRST_BATCH_OFFSET, file_name, prepare};
use crate::log::frame::FRAME_HEADER_BYTES;
use crate::log::frame::payload_crc;
use crate::log::leader::{LogWriter, RetiredFile, WrittenBatch};
use crate::log::options::LogOptions;
use crate::log::recovery::{Recovered, UnfilledFile};
use crate::log::wake_signal::Bell;
use crate::planted::{Bug, planted};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::thread::{self, Thread};
use crate::sync::{Mutex, MutexGuard};

/// The buffer may grow to so many times [`LogOptions::spill_bytes`] while a leader writes.
const BUFFER_SPILLS_MAX: usize = 16;

/// How often a committer yields before it sleeps. Going to sleep and being woken costs about as much.
const YIELDS_MAX: u32 = 10;

/// A leader for whose batch fewer commits wait lets others commit first. With more, the disk works while they do.
const GATHER_BELOW: usize = 8;

/// What the log and its threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) directory: Arc<dyn Directory>,
    pub(crate) options: LogOptions,
    pub(crate) buffer: Mutex<Buffer>,
    /// Bytes in `buffer`. Stored under its lock, read without, to decide about a spill.
    pub(crate) buffered_bytes: AtomicUsize,
    pub(crate) turn: Mutex<Leadership>,
    /// Every frame through this timestamp is on stable storage. Only grows.
    /// Release by the leader before it gives its place back, Acquire by whoever asks.
    durable: AtomicU64,
    /// The same, once the listener has returned: commits up to here are acknowledged. Only grows.
    /// Release by the leader before it gives its place back, Acquire by whoever waits.
    announced: AtomicU64,
    /// Whether `turn.cause` is set. Release with `turn` locked, Acquire by whoever asks.
    pub(crate) poisoned: AtomicBool,
    /// Whether reservations are refused. Release by `Log::close`, Acquire by `Log::reserve`.
    pub(crate) closed: AtomicBool,
    allocator: Mutex<Allocator>,
    pub(crate) end_file: Arc<EndFile>,
    pub(crate) files: Mutex<Files>,
    pub(crate) preparer: Bell,
    pub(crate) timer: Bell,
    pub(crate) acknowledger: Acknowledger,
}

/// Whose turn it is to lead, and what the leaders have done.
#[derive(Debug)]
pub(crate) struct Leadership {
    /// Absent while a thread leads, and for ever after a leader failed.
    writer: Option<LogWriter>,
    /// The number of the newest batch that has a leader.
    batch: u64,
    /// The last timestamp of that batch; `u64::MAX` until its leader takes it.
    batch_ts: u64,
    /// Who waits for a batch, at its number modulo 2.
    waiting: [Vec<Arc<Waiter>>; 2],
    /// Whether the newest batch ended while somebody but its leader waited for it, or for the next.
    is_shared: bool,
    /// The failure that poisoned the log.
    cause: Option<Arc<IoError>>,
    /// Log position behind the last batch, in bytes.
    pub(crate) position: u64,
    pub(crate) batches_count: u64,
    pub(crate) batch_bytes: u64,
    pub(crate) syncs_count: u64,
}

/// Who sleeps until a batch ends, or until it shall lead one.
///
/// Concurrency: listed with `turn` locked, by the thread that then sleeps; whoever takes it off the list, with
/// `turn` locked, wakes it. Release by the one, Acquire by the other: what was stored before is seen.
#[derive(Debug)]
struct Waiter {
    thread: Thread,
    /// Whether it waits for a sync: then it leads if it is woken before its batch has ended.
    sync: bool,
    woken: AtomicBool,
}

impl Waiter {
    fn new(sync: bool) -> Arc<Self> {
        Arc::new(Self { thread: thread::current(), sync, woken: AtomicBool::new(false) })
    }

    fn sleep(&self) {
        for _ in 0..YIELDS_MAX {
            if self.woken.load(Ordering::Acquire) {
                return;
            }
            thread::yield_now();
        }
        while !self.woken.load(Ordering::Acquire) {
            thread::park();
        }
    }

    fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Makes the next file.
#[derive(Debug)]
struct Allocator {
    next_number: u64,
    next_file_bytes: u64,
    random: Box<dyn Random>,
}

/// The log files that hold frames.
#[derive(Debug)]
pub(crate) struct Files {
    /// Oldest first.
    pub(crate) retired: VecDeque<RetiredFile>,
    /// Size of the file that batches go to; 0 until there is one.
    pub(crate) active_bytes: u64,
}

impl Shared {
    pub(crate) fn new(
        directory: Arc<dyn Directory>,
        recovered: Recovered,
        unfilled: Option<(Arc<dyn File>, UnfilledFile)>,
        end_file: EndFile,
        options: LogOptions,
        random: Box<dyn Random>,
    ) -> Self {
        let frame_bytes = recovered.payload_bytes + recovered.frames_count * FRAME_HEADER_BYTES as u64;
        let Recovered { last_ts, end, position, mut files, next_number, .. } = recovered;
        let end_file = Arc::new(end_file);
        let unit = directory.write_unit();
        let mut writer = LogWriter::new(end, position, Arc::clone(&end_file), unit);
        let position = writer.position();
        let mut buffer = Buffer::new(last_ts, frame_bytes, unit);
        let mut active_bytes = 0;
        if let Some((file, UnfilledFile { salt, file_bytes, offset })) = unfilled {
            writer = writer.going_on_in(file, salt, file_bytes, offset);
            buffer = buffer.going_on(file_bytes - offset, file_bytes - FIRST_BATCH_OFFSET);
            files.pop();
            active_bytes = file_bytes;
        }
        let turn = Leadership {
            writer: Some(writer),
            batch: 0,
            batch_ts: last_ts,
            waiting: [const { Vec::new() }; 2],
            is_shared: false,
            cause: None,
            position,
            batches_count: 0,
            batch_bytes: 0,
            syncs_count: 0,
        };
        Self {
            directory,
            buffer: Mutex::new(buffer),
            buffered_bytes: AtomicUsize::new(0),
            turn: Mutex::new(turn),
            durable: AtomicU64::new(last_ts),
            announced: AtomicU64::new(last_ts),
            poisoned: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            allocator: Mutex::new(Allocator {
                next_number,
                next_file_bytes: options.first_file_bytes,
                random,
            }),
            end_file,
            files: Mutex::new(Files { retired: files.into(), active_bytes }),
            preparer: Bell::new(),
            timer: Bell::new(),
            acknowledger: Acknowledger::new(),
            options,
        }
    }

    pub(crate) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Commits through this timestamp may be acknowledged in mode sync.
    pub(crate) fn announced(&self) -> u64 {
        self.announced.load(Ordering::Acquire)
    }

    pub(crate) fn last_ts(&self) -> u64 {
        self.buffer.lock().last_ts()
    }

    /// Takes space for a frame, preparing a file if there is none.
    pub(crate) fn reserve(&self, payload_bytes: usize) -> Result<(), LogError> {
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
        // Here, where a full disk refuses a commit before it begins.
        self.end_file.make()?;
        let prepared = prepare(&*self.directory, number, salt, file_bytes)?;
        allocator.next_file_bytes = (allocator.next_file_bytes * 2).min(self.options.log_file_bytes);
        let replaced = self.buffer.lock().install_next(prepared);
        if let Some(smaller) = replaced {
            self.directory.remove(&file_name(smaller.number))?;
        }
        Ok(())
    }

    pub(crate) fn check_poison(&self) -> Result<(), LogError> {
        if !self.poisoned.load(Ordering::Acquire) {
            return Ok(());
        }
        let cause = self.turn.lock().cause.clone().expect("the cause is set before the mark");
        Err(LogError::Poisoned { cause })
    }

    pub(crate) fn wait_durable(&self, ts: u64) -> Result<(), LogError> {
        if self.announced() >= ts {
            return Ok(());
        }
        let last_ts = self.last_ts();
        assert!(ts <= last_ts, "commit {ts} was never appended, the last one is {last_ts}");
        while self.announced() < ts {
            let turn = self.turn.lock();
            if self.announced() < ts {
                self.lead_or_wait(turn, ts, true)?;
            }
        }
        Ok(())
    }

    /// Syncs all that was appended before the call.
    pub(crate) fn sync_all(&self) -> Result<(), LogError> {
        self.wait_durable(self.last_ts())
    }

    /// Writes the buffer out, unsynced, if it is large: when nobody leads, or else when it is too
    /// large to go on.
    pub(crate) fn spill(&self, ts: u64) -> Result<(), LogError> {
        let spill_bytes = self.options.spill_bytes;
        let is_above = |limit| self.buffered_bytes.load(Ordering::Acquire) >= limit;
        if !is_above(spill_bytes) {
            return Ok(());
        }
        loop {
            let turn = self.turn.lock();
            let may_lead = turn.writer.is_some() && is_above(spill_bytes);
            if !may_lead && !is_above(spill_bytes * BUFFER_SPILLS_MAX) {
                return Ok(());
            }
            self.lead_or_wait(turn, ts, false)?;
        }
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
        loop {
            let turn = self.turn.lock();
            // Some leader takes the seal with its batch; none has to, if a commit came first.
            if self.buffer.lock().is_empty() {
                return Ok(());
            }
            let ts = turn.batch_ts;
            self.lead_or_wait(turn, ts, true)?;
        }
    }

    /// Records the end of the log in `log_end`, if all of it is synced. For closing, after the last append.
    pub(crate) fn store_end(&self) -> Result<(), LogError> {
        self.check_poison()?;
        loop {
            let mut turn = self.turn.lock();
            if let Some(writer) = turn.writer.take() {
                drop(turn);
                let unwinding = PoisonOnUnwind { shared: self };
                let stored = writer.store_end();
                std::mem::forget(unwinding);
                let mut turn = self.turn.lock();
                turn.writer = Some(writer);
                // Who meant to lead meanwhile looks again.
                let waiting = std::mem::take(&mut turn.waiting);
                drop(turn);
                waiting.iter().flatten().for_each(|waiter| waiter.wake());
                return stored;
            }
            let ts = turn.batch_ts;
            self.lead_or_wait(turn, ts, true)?;
        }
    }

    /// Leads one batch if nobody does; else sleeps until the batch of `ts` has ended, or somebody
    /// is needed to lead it.
    ///
    /// Callers wait for something that only a leader changes, and look again with `turn` locked: it must
    /// not be so yet when they call this. Who waits for a sync and is woken to lead does, or another has done
    /// so before, takes it along and wakes it.
    fn lead_or_wait<'a>(
        &'a self,
        mut turn: MutexGuard<'a, Leadership>,
        ts: u64,
        sync: bool,
    ) -> Result<(), LogError> {
        if let Some(cause) = &turn.cause {
            return Err(LogError::OutcomeUnknown { ts, cause: cause.clone() });
        }
        let Some(mut writer) = turn.writer.take() else {
            let batch = if ts <= turn.batch_ts { turn.batch } else { turn.batch + 1 };
            let waiter = Waiter::new(sync);
            turn.waiting[(batch % 2) as usize].push(Arc::clone(&waiter));
            drop(turn);
            waiter.sleep();
            return Ok(());
        };
        turn.batch += 1;
        let waiting = turn.waiting[(turn.batch % 2) as usize].len();
        if sync && turn.is_shared && waiting < GATHER_BELOW {
            // Whatever is appended until the batch is taken belongs to it, and who waits is listed with it.
            turn.batch_ts = u64::MAX;
            drop(turn);
            thread::yield_now();
            turn = self.turn.lock();
        }
        let batch = {
            let mut buffer = self.buffer.lock();
            self.buffered_bytes.store(0, Ordering::Release);
            buffer.take(writer.take_spare())
        };
        turn.batch_ts = batch.last_ts;
        drop(turn);

        if batch.next_is_due {
            self.preparer.ring();
        }
        if planted(Bug::DurableBeforeWrite) && sync {
            self.durable.store(batch.last_ts, Ordering::Release);
            self.announced.store(batch.last_ts, Ordering::Release);
        }
        let unwinding = PoisonOnUnwind { shared: self };
        let begin = writer.position();
        let written = writer.write(batch, sync);
        if let Ok(written) = &written
            && !planted(Bug::TwoLeaders)
        {
            debug_assert!(written.durable_ts >= self.durable(), "the durable timestamp only grows");
            self.announce(written.durable_ts);
        }
        std::mem::forget(unwinding);
        match written {
            Ok(written) => {
                self.hand_over(writer, written);
                Ok(())
            }
            Err(cause) if planted(Bug::FailedSyncForgotten) && writer.position() > begin => {
                let durable_ts = self.durable();
                self.hand_over(writer, WrittenBatch { durable_ts, ..WrittenBatch::default() });
                Err(LogError::OutcomeUnknown { ts, cause: Arc::new(cause) })
            }
            Err(cause) => Err(LogError::OutcomeUnknown { ts, cause: self.poison(cause) }),
        }
    }

    /// Publishes what is durable, to the listener before anybody is told that a commit is. By the leader, in whose place nobody
    /// is if this panics.
    fn announce(&self, durable_ts: u64) {
        self.durable.store(durable_ts, Ordering::Release);
        if let Some(listener) = &self.options.durable_listener
            && durable_ts > self.announced()
        {
            listener.durable_grew();
        }
        self.announced.store(durable_ts, Ordering::Release);
    }

    /// Lets the next one lead, and wakes those who waited for this batch.
    fn hand_over(&self, writer: LogWriter, written: WrittenBatch) {
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
        let batch = (turn.batch % 2) as usize;
        let done = std::mem::take(&mut turn.waiting[batch]);
        turn.is_shared = !done.is_empty() || !turn.waiting[1 - batch].is_empty();
        let following = &mut turn.waiting[1 - batch];
        // Who waits for no sync may find that it need not lead: without one who does, all of them look.
        let leaders = match following.iter().position(|waiter| waiter.sync) {
            Some(at) => vec![following.swap_remove(at)],
            None => std::mem::take(following),
        };
        drop(turn);
        if planted(Bug::TwoLeaders) {
            self.announce(written.durable_ts);
        }
        if !planted(Bug::NobodyWoken) {
            leaders.iter().for_each(|waiter| waiter.wake());
        }
        done.iter().for_each(|waiter| waiter.wake());
    }

    /// Nothing is written any more; everybody who waits learns why.
    fn poison(&self, cause: IoError) -> Arc<IoError> {
        let cause = Arc::new(cause);
        let mut turn = self.turn.lock();
        turn.cause = Some(cause.clone());
        if !planted(Bug::NotPoisoned) {
            self.poisoned.store(true, Ordering::Release);
        }
        let waiting = std::mem::take(&mut turn.waiting);
        drop(turn);
        waiting.iter().flatten().for_each(|waiter| waiter.wake());
        cause
    }
}

/// Poisons the log if a leader panics, so that no committer waits for it in vain.
struct PoisonOnUnwind<'a> {
    shared: &'a Shared,
}

impl Drop for PoisonOnUnwind<'_> {
    fn drop(&mut self) {
        let cause = std::io::Error::other("the log's leader panicked");
        self.shared.poison(IoError::new(Operation::Write, self.shared.directory.location(), cause));
    }
}
