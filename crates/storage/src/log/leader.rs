//! Leader: writes one batch, and continues in the next file when the batch says so.
//!
//! ```text
//! finish headers (salt, synced_through) -> one write -> one sync -> the new durable timestamp
//! going over:  sync the old file -> header of the new one -> sync it -> name it in log_end -> the batch
//! ```
//!
//! The old file is synced before the new one's header names it, in every mode: a power cut then
//! loses an end of the log and nothing in its middle.
//!
//! Concurrency: there is one [`LogWriter`], and who has it leads. It is out of its place while
//! somebody writes, and comes back only when the durable timestamp is stored.

use std::sync::Arc;

use crate::io::directory::File;
use crate::io::error::IoError;
use crate::io::write_unit::WriteUnit;
use crate::log::buffer::Batch;
use crate::log::end_file::{EndFile, RecordedEnd};
use crate::log::error::LogError;
use crate::log::file::{FIRST_BATCH_OFFSET, FileHeader, LogEnd, PreparedFile};
use crate::log::frame::{FrameSeed, finish_batch};
use crate::planted::{Bug, planted};

/// The end of the log on disk, and the right to extend it.
#[derive(Debug)]
pub struct LogWriter {
    unit: WriteUnit,
    active: Option<ActiveFile>,
    end: LogEnd,
    /// Log position behind everything written, in bytes; a multiple of the unit.
    position: u64,
    synced_position: u64,
    synced_ts: u64,
    /// The buffer of the batch before, to be filled again.
    spare: Vec<u8>,
    end_file: Arc<EndFile>,
}

#[derive(Debug)]
struct ActiveFile {
    file: Arc<dyn File>,
    number: u64,
    file_bytes: u64,
    seed: FrameSeed,
    /// Where the next batch goes, in bytes.
    offset: u64,
}

/// A log file that is not written any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetiredFile {
    /// The file's number.
    pub number: u64,
    /// No frame in it is newer.
    pub last_ts: u64,
    /// Its size in bytes.
    pub file_bytes: u64,
}

/// What one leader did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WrittenBatch {
    /// Every frame through this timestamp is on stable storage.
    pub durable_ts: u64,
    /// The file that was left for the next one.
    pub retired: Option<RetiredFile>,
    /// The size of the file that was taken into use, in bytes; 0 if none was.
    pub opened_bytes: u64,
    /// Bytes of the batch, with padding; 0 if there was nothing to write.
    pub batch_bytes: u64,
    /// Syncs of files.
    pub syncs: u64,
}

impl LogWriter {
    /// Continues behind a log that ends at `end`, log position `position`, all of it synced. Its next files have this unit.
    #[must_use]
    pub fn new(end: LogEnd, position: u64, end_file: Arc<EndFile>, unit: WriteUnit) -> Self {
        // A smaller unit may have ended elsewhere: positions grow, and may have holes.
        let position = unit.round_up(position);
        Self {
            unit,
            active: None,
            end,
            position,
            synced_position: position,
            synced_ts: end.last_ts,
            spare: Vec::new(),
            end_file,
        }
    }

    /// Goes on in the file in which the log ends, which has the same unit, from byte `offset` on, behind which nothing was written.
    #[must_use]
    pub fn going_on_in(self, file: Arc<dyn File>, salt: u64, file_bytes: u64, offset: u64) -> Self {
        let (number, seed) = (self.end.number, FrameSeed::new(salt));
        Self { active: Some(ActiveFile { file, number, file_bytes, seed, offset }), ..self }
    }

    /// The buffer of the batch before, for its capacity.
    pub fn take_spare(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.spare)
    }

    /// Log position behind everything written, in bytes.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Writes a batch, and syncs it (and all before it) if `sync`.
    ///
    /// Cost: one write and at most one sync; three syncs and two pages more when going over.
    ///
    /// # Errors
    /// The system's error. The end of the log is unknown then, and nothing more may be written.
    pub fn write(&mut self, batch: Batch, sync: bool) -> Result<WrittenBatch, IoError> {
        let mut written = WrittenBatch::default();
        let Batch { mut bytes, last_ts, roll_to, .. } = batch;
        if let Some(next) = roll_to {
            self.go_over_to(next, &mut written)?;
        }
        if !bytes.is_empty() {
            self.name_active()?;
            let active = self.active.as_mut().expect("a first batch brings its file");
            let (end, last_crc) = finish_batch(&mut bytes, active.seed, self.synced_position, self.unit);
            let after = active.offset + bytes.len() as u64;
            assert!(after <= active.file_bytes, "the buffer chose a file with room for the batch");
            active.file.write_at(&bytes, active.offset)?;
            self.end = LogEnd { number: active.number, cut: active.offset + end as u64, last_ts, last_crc };
            active.offset = after;
            if planted(Bug::EndBeforeSync) {
                self.end_file.store(RecordedEnd { newest: active.number, end: self.end })?;
            }
            self.position += bytes.len() as u64;
            written.batch_bytes = bytes.len() as u64;
        }
        if sync {
            self.sync(&mut written)?;
        }
        written.durable_ts = self.synced_ts;
        self.spare = bytes;
        Ok(written)
    }

    /// Records the active file in `log_end`, before the file holds a batch.
    fn name_active(&self) -> Result<(), IoError> {
        let number = self.active.as_ref().map_or(0, |active| active.number);
        match self.end_file.known().newest < number {
            true => self.end_file.store(RecordedEnd { newest: number, ..self.end_file.known() }),
            false => Ok(()),
        }
    }

    /// Records the end of the log in `log_end`; all of it is synced.
    ///
    /// # Errors
    /// What the system says. The log itself is as before.
    pub fn store_end(&self) -> Result<(), LogError> {
        debug_assert_eq!(self.synced_position, self.position, "an end that was synced");
        let newest = self.active.as_ref().map_or(self.end.number, |active| active.number);
        let known = RecordedEnd { newest: newest.max(self.end_file.known().newest), end: self.end };
        if known != self.end_file.known() {
            self.end_file.make()?;
            self.end_file.store(known)?;
        }
        Ok(())
    }

    fn sync(&mut self, written: &mut WrittenBatch) -> Result<(), IoError> {
        if self.synced_position < self.position {
            let active = self.active.as_ref().expect("what is not synced was written to the active file");
            let synced = if planted(Bug::SkipSync) { Ok(()) } else { active.file.sync_data() };
            if synced.is_err() && planted(Bug::SyncTriedAgain) {
                active.file.sync_data()?;
            } else {
                synced?;
            }
            written.syncs += 1;
            self.synced_position = self.position;
            self.synced_ts = self.end.last_ts;
        }
        Ok(())
    }

    fn go_over_to(&mut self, next: PreparedFile, written: &mut WrittenBatch) -> Result<(), IoError> {
        if !planted(Bug::LinkBeforeSync) {
            self.sync(written)?;
        }
        let header = FileHeader {
            number: next.number,
            salt: next.salt,
            file_bytes: next.file_bytes,
            first_position: self.position,
            unit: self.unit,
            predecessor: if planted(Bug::UnchainedFile) { LogEnd::default() } else { self.end },
        };
        next.file.write_at(&header.encode(), 0)?;
        next.file.sync_data()?;
        written.syncs += 1;
        self.end_file.store(RecordedEnd { newest: next.number, end: self.end })?;
        written.opened_bytes = next.file_bytes;
        let opened = ActiveFile {
            file: next.file,
            number: next.number,
            file_bytes: next.file_bytes,
            seed: FrameSeed::new(next.salt),
            offset: FIRST_BATCH_OFFSET,
        };
        written.retired = self.active.replace(opened).map(|old| RetiredFile {
            number: old.number,
            last_ts: self.end.last_ts,
            file_bytes: old.file_bytes,
        });
        Ok(())
    }
}
