//! Copy: writes a range of commits, from a log in use, to one file of a new log.
//!
//! ```text
//! log-7 [..|a|b|c]  log-8 [d|e|f|g..      pinned: whatever is removed from here on stays readable
//!             \________/
//! log-1 [b c d e | seal]                  after a, through e; the header says that it follows a
//! ```
//!
//! The copy is no prefix of bytes: frames are checked, written anew with a salt of their own, and sealed.
//! So whatever is damaged in it later is told from a torn end, it holds nothing behind its last commit,
//! and it takes no more space than it needs.
//!
//! Concurrency: what is copied was synced before, so nobody writes it any more. What lies behind it is
//! not looked at.

use std::path::PathBuf;
use std::sync::Arc;

use crate::io::directory::{Directory, File};
use crate::io::write_unit::WriteUnit;
use crate::log::end_file::{self, RecordedEnd};
use crate::log::error::LogError;
use crate::log::file::{FIRST_BATCH_OFFSET, FileHeader, LogEnd, UsedFile, file_name};
use crate::log::frame::{FrameSeed, finish_batch, payload_crc, push_frame};
use crate::log::recovery::{Replay, find_chain};
use crate::log::scan::{Step, scan_chain};

/// Bytes of frames that are gathered before they are written.
const WRITE_BYTES: usize = 1 << 20;
/// The number of a new log's only file.
const NUMBER: u64 = 1;

/// The files of a log that hold the commits after some timestamp, kept open.
#[derive(Debug)]
pub struct PinnedLog {
    directory: PathBuf,
    files: Vec<UsedFile>,
    after_ts: u64,
}

impl PinnedLog {
    /// Opens the files that hold commits after `after_ts`. Others may append meanwhile; nobody may
    /// prune.
    ///
    /// # Errors
    /// As [`recover`](crate::log::recovery::recover).
    pub fn open(directory: &dyn Directory, after_ts: u64) -> Result<Self, LogError> {
        // What `log_end` says may be newer than the list of files, since the log is open.
        let replay = Replay { after_ts, ..Replay::default() };
        let files = find_chain(directory, replay, RecordedEnd::default())?.wanted;
        Ok(Self { directory: directory.location().to_owned(), files, after_ts })
    }

    /// Bytes of the files: the most that there can be to copy.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|used| used.header.file_bytes).sum()
    }

    /// Copies every commit through `through_ts`, which was synced, into a new log in `target`, and seals
    /// it. `progress` is told how many bytes were written and may fail.
    ///
    /// Cost: one pass; memory for 1 MiB and the longest frame, twice.
    ///
    /// # Errors
    /// [`LogError::Corrupt`] if something before `through_ts` isn't what was written,
    /// [`LogError::EndsBefore`], what the system says, and what `progress` says.
    pub fn copy<E: From<LogError>>(
        self,
        through_ts: u64,
        target: &dyn Directory,
        salt: u64,
        progress: &mut dyn FnMut(u64) -> Result<(), E>,
    ) -> Result<CopiedLog, E> {
        let mut new = NewLog::create(target, salt)?;
        let mut last_ts = self.files.first().map_or(self.after_ts, |used| used.header.predecessor.last_ts);
        for mut scan in scan_chain(self.files) {
            while last_ts < through_ts {
                match scan.step()? {
                    Step::Frame(frame, payload) => {
                        last_ts = frame.ts;
                        if frame.ts > self.after_ts && !frame.is_seal() {
                            new.push(frame.ts, frame.prev_ts, payload)?;
                            progress(new.offset)?;
                        }
                    }
                    Step::End => {
                        scan.check_cut()?;
                        break;
                    }
                    Step::Bad(offset, fault) => return Err(scan.corrupt(offset, fault).into()),
                }
            }
        }
        if last_ts < through_ts {
            let end = "where its newest file ends".to_owned();
            return Err(LogError::EndsBefore {
                directory: self.directory,
                end,
                last_ts,
                need_ts: through_ts,
            }
            .into());
        }
        Ok(new.seal(through_ts)?)
    }
}

/// What a copy of a log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopiedLog {
    /// Commits.
    pub commits_count: u64,
    /// The file's length in bytes.
    pub bytes: u64,
}

/// A log in one file that appears at once: batches first, then the header.
///
/// Nobody reads it before a manifest is beside it, which is written after everything was synced; so the
/// order of writes that a living log keeps doesn't matter.
pub struct NewLog<'a> {
    directory: &'a dyn Directory,
    file: Arc<dyn File>,
    salt: u64,
    unit: WriteUnit,
    /// Frames that wait to be written.
    batch: Vec<u8>,
    /// Where they go, in bytes.
    offset: u64,
    /// The commit that the first one follows.
    predecessor_ts: Option<u64>,
    commits_count: u64,
    end: LogEnd,
}

impl<'a> NewLog<'a> {
    /// Begins a log in a directory without one.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(directory: &'a dyn Directory, salt: u64) -> Result<Self, LogError> {
        let file = directory.create(&file_name(NUMBER))?;
        let (batch, offset) = (Vec::new(), FIRST_BATCH_OFFSET);
        let (unit, end) = (directory.write_unit(), LogEnd::default());
        Ok(Self { directory, file, salt, unit, batch, offset, predecessor_ts: None, commits_count: 0, end })
    }

    fn push(&mut self, ts: u64, prev_ts: u64, payload: &[u8]) -> Result<(), LogError> {
        self.predecessor_ts.get_or_insert(prev_ts);
        push_frame(&mut self.batch, ts, prev_ts, payload, payload_crc(payload));
        self.commits_count += 1;
        if self.batch.len() >= WRITE_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), LogError> {
        if !self.batch.is_empty() {
            let seed = FrameSeed::new(self.salt);
            let (end, last_crc) =
                finish_batch(&mut self.batch, seed, self.offset - FIRST_BATCH_OFFSET, self.unit);
            self.end = LogEnd { number: NUMBER, cut: self.offset + end as u64, last_crc, ..self.end };
            self.file.write_at(&self.batch, self.offset)?;
            self.offset += self.batch.len() as u64;
            self.batch.clear();
        }
        Ok(())
    }

    /// Ends the log with commit `through_ts`, its last one, or that it goes on from, and makes the file that
    /// says so; syncs the files.
    ///
    /// # Errors
    /// What the system says.
    pub fn seal(mut self, through_ts: u64) -> Result<CopiedLog, LogError> {
        self.write()?;
        push_frame(&mut self.batch, through_ts, through_ts, &[], payload_crc(&[]));
        self.write()?;
        let last_ts = self.predecessor_ts.unwrap_or(through_ts);
        let header = FileHeader {
            number: NUMBER,
            salt: self.salt,
            file_bytes: self.offset,
            first_position: 0,
            unit: self.unit,
            predecessor: LogEnd { last_ts, ..LogEnd::default() },
        };
        self.file.write_at(&header.encode(), 0)?;
        self.file.sync_data()?;
        let end = LogEnd { last_ts: through_ts, ..self.end };
        end_file::create(self.directory, RecordedEnd { newest: NUMBER, end })?;
        Ok(CopiedLog { commits_count: self.commits_count, bytes: self.offset })
    }
}
