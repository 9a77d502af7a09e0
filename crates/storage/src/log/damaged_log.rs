//! Damaged log: reads a log that cannot be recovered up to its first gap, and lists what is missing.
//!
//! ```text
//! commits   5 6 7 x 9 10        x  bytes that aren't what was written
//! taken     5 6 7               in order, as long as none is missing
//! left            9 10          they verify, but may build on what is lost: counted, not taken
//! ```
//!
//! The rule: a commit is taken if it verifies and follows the last one that was taken. So a damaged seal,
//! padding, or header of a file that holds nothing newer costs nothing, and a damaged commit costs itself
//! and all later ones. A file is read up to the cut that the next one's header names: what lies behind it was
//! dropped by a recovery, and is neither taken nor missed. Bytes behind the last commit count as damaged only where a later batch says that
//! they were synced, or the caller knows that commits are missing: else they are a torn end, as in
//! [recovery](crate::log::recovery).

use std::io::ErrorKind;
use std::path::PathBuf;

use crate::io::directory::Directory;
use crate::log::end_file::{self, RecordedEnd};
use crate::log::error::LogError;
use crate::log::file::{UsedFile, file_name, file_number, open_damaged};
use crate::log::frame::FrameFault;
use crate::log::recovery::Replay;
use crate::log::scan::{Scan, Step};

/// What was read of a damaged log.
#[derive(Debug, Default)]
pub struct DamagedLog {
    /// Every commit through this one is known: from before, or because it was taken.
    pub through_ts: u64,
    /// Commits that were taken.
    pub commits_count: u64,
    /// Whether the log goes back to where it was asked for; if not, nothing was taken.
    pub reaches_back: bool,
    /// What isn't as it was written, in the order of the log.
    pub faults: Vec<LogFault>,
    /// Commits that verify behind the first one that is missing.
    pub left: UnusedCommits,
}

/// A place in a log that isn't what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFault {
    /// The file.
    pub file: PathBuf,
    /// Where the damage begins, in bytes.
    pub offset: u64,
    /// Bytes up to what can be read again; `None` if that is nowhere in the file.
    pub length: Option<u64>,
    /// What was expected there, and what was found.
    pub problem: String,
    /// The first and the last commit that are missing for it; the last may be known from elsewhere only.
    /// `None` if there was none.
    pub missing: Option<(u64, Option<u64>)>,
}

/// Commits that verify and weren't taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnusedCommits {
    /// How many were found.
    pub count: u64,
    /// The first of them.
    pub first_ts: u64,
    /// The last of them.
    pub last_ts: u64,
}

/// What is done with a commit's timestamp and payload; why it can't be, if it can't.
pub type Visit<'a> = dyn FnMut(u64, &[u8]) -> Result<(), String> + 'a;

/// One log file, as far as it can be opened.
enum DamagedLogFile {
    /// And whether it was cut short.
    Used(UsedFile, bool),
    /// Its number, and why.
    Unreadable(u64, String),
}

/// Reads the log in `directory` as far as it can be read and visits every commit that is `wanted` and taken, in
/// order. A commit that `visit` refuses, with a reason, is missing. The directory is not changed.
///
/// Cost: one pass over the log files; memory for 1 MiB and the longest frame.
///
/// # Errors
/// What the system says, but for reads that fail, which are damage; [`LogError::UnsupportedVersion`].
pub fn read_damaged(
    directory: &dyn Directory,
    wanted: Replay,
    visit: &mut Visit<'_>,
) -> Result<DamagedLog, LogError> {
    let mut faults = Vec::new();
    let known = read_known_end(directory, wanted.has_end_file, &mut faults)?;
    let (after_ts, need_ts) = (wanted.after_ts, wanted.need_ts.max(known.end.last_ts));
    let (mut files, mut newest) = (Vec::new(), 0);
    for number in directory.list()?.iter().filter_map(|name| file_number(name)) {
        match open_damaged(directory, number) {
            Ok(Some((used, is_cut))) => {
                newest = number;
                files.push(DamagedLogFile::Used(used, is_cut));
            }
            // What `log_end` names was in use, and held what nobody knows.
            Ok(None) if number == known.newest => {
                files.push(DamagedLogFile::Unreadable(
                    number,
                    "there is no header, and nothing behind it".to_owned(),
                ));
                newest = number;
            }
            Ok(None) => {}
            Err(LogError::Corrupt { offset, expected, found, .. }) => {
                files.push(DamagedLogFile::Unreadable(
                    number,
                    format!("{expected} expected at byte {offset}, found {found}"),
                ));
            }
            Err(LogError::Io(error)) if is_damage(&error) => {
                files.push(DamagedLogFile::Unreadable(number, error.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    if newest < known.newest {
        files.push(DamagedLogFile::Unreadable(known.newest, "the file is missing".to_owned()));
    }
    // Everything newer than what is known lies in the newest file that goes back to it, and behind.
    let begin = files.iter().rposition(
        |found| matches!(found, DamagedLogFile::Used(used, _) if used.header.predecessor.last_ts <= after_ts),
    );
    let mut walk = Walk {
        log: DamagedLog {
            through_ts: after_ts,
            reaches_back: begin.is_some(),
            faults,
            ..DamagedLog::default()
        },
        after_ts,
        hole: false,
        visit,
    };
    let is_missing = files.is_empty();
    let mut files = files.into_iter().skip(begin.unwrap_or(0)).peekable();
    while let Some(found) = files.next() {
        let is_newest = files.peek().is_none();
        match found {
            DamagedLogFile::Unreadable(number, problem) => {
                // What follows says whether commits were in it; if nothing does, some were.
                let missing = is_newest.then(|| walk.missing(None));
                let file = directory.path(&file_name(number));
                walk.log.faults.push(LogFault { file, offset: 0, length: None, problem, missing });
                walk.hole |= is_newest;
            }
            DamagedLogFile::Used(used, is_cut) => {
                // Not `scan_chain`: the next file may be missing, or have a header that nobody can read.
                let cut = match files.peek() {
                    Some(DamagedLogFile::Used(next, _))
                        if next.header.predecessor.number == used.header.number =>
                    {
                        Some(next.header.predecessor)
                    }
                    _ => None,
                };
                walk.go_on_in(&used);
                walk.read(Scan::new(used, cut), FilePosition { is_newest, is_cut_short: is_cut }, need_ts)?;
            }
        }
    }
    if is_missing && need_ts > 0 {
        let missing = Some(walk.missing(None));
        let (file, problem) = (directory.location().to_owned(), "there is no log file".to_owned());
        walk.log.faults.push(LogFault { file, offset: 0, length: None, problem, missing });
    } else if walk.log.through_ts < need_ts && !walk.hole {
        let problem = format!("the log ends with commit {}, but {need_ts} was synced", walk.log.through_ts);
        let missing = Some(walk.missing(Some(need_ts)));
        let file = directory.location().to_owned();
        walk.log.faults.push(LogFault { file, offset: 0, length: None, problem, missing });
    }
    Ok(walk.log)
}

/// What `log_end` says; if it can't be read, or is missing, that is a fault by which no commit is lost.
fn read_known_end(
    directory: &dyn Directory,
    is_promised: bool,
    faults: &mut Vec<LogFault>,
) -> Result<RecordedEnd, LogError> {
    let problem = match end_file::read(directory, is_promised) {
        Err(error @ (LogError::Corrupt { .. } | LogError::Lost { .. })) => error.to_string(),
        Err(LogError::Io(error)) if is_damage(&error) => error.to_string(),
        known => return known,
    };
    let file = directory.path(end_file::FILE_NAME);
    faults.push(LogFault { file, offset: 0, length: None, problem, missing: None });
    Ok(RecordedEnd::default())
}

/// Whether a failed operation tells of damage rather than of rights or limits.
fn is_damage(error: &crate::io::error::IoError) -> bool {
    !matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::OutOfMemory)
}

/// Where a file stands in the log.
struct FilePosition {
    is_newest: bool,
    is_cut_short: bool,
}

/// A log that is being read.
struct Walk<'a, 'v> {
    log: DamagedLog,
    after_ts: u64,
    /// Whether a commit is missing before the present place.
    hole: bool,
    visit: &'a mut Visit<'v>,
}

impl Walk<'_, '_> {
    /// The commits after what is known, up to `last`.
    fn missing(&self, last: Option<u64>) -> (u64, Option<u64>) {
        (self.log.through_ts + 1, last)
    }

    /// Whether commits are missing between what was taken and what follows commit `before_ts`.
    fn lacks(&self, before_ts: u64) -> bool {
        !self.hole && before_ts > self.log.through_ts
    }

    /// The next file: what its header says that it follows was taken, or is missing.
    fn go_on_in(&mut self, used: &UsedFile) {
        let before_ts = used.header.predecessor.last_ts;
        if !self.lacks(before_ts) {
            return;
        }
        self.hole = true;
        let missing = Some(self.missing(Some(before_ts)));
        // If something unreadable lies before, that is why; else a file is not there.
        let is_open =
            |fault: &&mut LogFault| fault.missing.is_none() && !fault.file.ends_with(end_file::FILE_NAME);
        if let Some(fault) = self.log.faults.last_mut().filter(is_open) {
            fault.missing = missing;
            return;
        }
        let file = used.file.path().to_owned();
        let problem = format!(
            "it follows commit {before_ts}, and what is there before it ends with commit {}",
            self.log.through_ts
        );
        self.log.faults.push(LogFault { file, offset: 48, length: Some(24), problem, missing });
    }

    /// Reads one file.
    fn read(&mut self, mut scan: Scan, place: FilePosition, need_ts: u64) -> Result<(), LogError> {
        let FilePosition { is_newest, is_cut_short } = place;
        loop {
            let (offset, fault) = match scan.step() {
                Ok(Step::Frame(frame, payload)) => {
                    if !frame.is_seal() && frame.ts > self.after_ts {
                        self.commit(frame.ts, payload)
                            .unwrap_or_else(|problem| self.refuse(&scan, frame.ts, problem));
                    }
                    continue;
                }
                Ok(Step::End) => {
                    let offset = scan.end().cut;
                    if is_newest && is_cut_short && !self.hole {
                        self.cut_short(&scan, offset);
                    }
                    return Ok(());
                }
                Ok(Step::Bad(offset, fault)) => (offset, fault),
                Err(LogError::Io(error)) if is_damage(&error) => {
                    let (file, offset) = (scan.path().to_owned(), scan.end().cut);
                    let missing = is_newest.then(|| self.missing(None)).filter(|_| !self.hole);
                    self.hole |= is_newest;
                    let problem = error.to_string();
                    self.log.faults.push(LogFault { file, offset, length: None, problem, missing });
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            let was_synced = !is_newest || scan.was_synced(offset)?;
            let is_damage = was_synced || (is_cut_short && scan.is_written(offset)?);
            if !is_damage && self.log.through_ts >= need_ts {
                return Ok(());
            }
            let FrameFault { expected, found } = fault;
            let mut fault = LogFault {
                file: scan.path().to_owned(),
                offset,
                length: None,
                problem: format!("{expected} expected, found {found}"),
                missing: None,
            };
            match scan.resume(offset)? {
                Some((from, before_ts)) => {
                    fault.length = Some(from - offset);
                    if self.lacks(before_ts) {
                        fault.missing = Some(self.missing(Some(before_ts)));
                        self.hole = true;
                    }
                    self.log.faults.push(fault);
                }
                None => {
                    // Of an older file the next one says what it ended with.
                    if is_newest && !self.hole {
                        let last = (need_ts > self.log.through_ts).then_some(need_ts);
                        fault.missing = Some(self.missing(last));
                        self.hole = true;
                    }
                    self.log.faults.push(fault);
                    return Ok(());
                }
            }
        }
    }

    /// Takes a commit that verifies, or counts it.
    fn commit(&mut self, ts: u64, payload: &[u8]) -> Result<(), String> {
        if self.hole {
            let left = &mut self.log.left;
            left.first_ts = if left.count == 0 { ts } else { left.first_ts };
            left.last_ts = ts;
            left.count += 1;
            return Ok(());
        }
        (self.visit)(ts, payload)?;
        self.log.through_ts = ts;
        self.log.commits_count += 1;
        Ok(())
    }

    /// The newest file ends in the middle of its frames: it is unknown how many followed.
    fn cut_short(&mut self, scan: &Scan, offset: u64) {
        self.hole = true;
        let (file, missing) = (scan.path().to_owned(), Some(self.missing(None)));
        let problem = "the file was cut short".to_owned();
        self.log.faults.push(LogFault { file, offset, length: None, problem, missing });
    }

    fn refuse(&mut self, scan: &Scan, ts: u64, problem: String) {
        self.hole = true;
        let (file, offset) = (scan.path().to_owned(), scan.end().cut);
        self.log.faults.push(LogFault { file, offset, length: None, problem, missing: Some((ts, Some(ts))) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::directory::OpenMode;
    use crate::io::memory::MemoryDirectory;
    use crate::io::write_unit::WriteUnit;
    use crate::log::file::{FIRST_BATCH_OFFSET, FileHeader, LogEnd, prepare};
    use crate::log::frame::{FrameSeed, PAGE_BYTES, finish_batch, payload_crc, push_frame};
    use crate::log::recovery::{Replay, recover};

    const PAGE: u64 = PAGE_BYTES as u64;
    const BYTES: u64 = 16 * PAGE;

    /// Writes a log file with a batch of its own for each frame: (timestamp, the one before); a frame that
    /// names itself as the one before is a seal.
    fn write(directory: &MemoryDirectory, number: u64, predecessor: LogEnd, frames: &[(u64, u64)]) {
        let file = prepare(directory, number, number, BYTES).unwrap().file;
        let header = FileHeader {
            number,
            salt: number,
            file_bytes: BYTES,
            first_position: number * BYTES,
            unit: WriteUnit::PAGE,
            predecessor,
        };
        file.write_at(&header.encode(), 0).unwrap();
        for (at, (ts, before)) in (0..).zip(frames) {
            let payload: &[u8] = if ts == before { b"" } else { b"what it did" };
            let mut batch = Vec::new();
            push_frame(&mut batch, *ts, *before, payload, payload_crc(payload));
            finish_batch(&mut batch, FrameSeed::new(number), 0, WriteUnit::PAGE);
            file.write_at(&batch, FIRST_BATCH_OFFSET + at * PAGE).unwrap();
        }
    }

    fn zero(directory: &MemoryDirectory, number: u64, page: u64) {
        let file = directory.open(&file_name(number), OpenMode::ReadWrite).unwrap();
        file.write_at(&[0; PAGE_BYTES], FIRST_BATCH_OFFSET + page * PAGE).unwrap();
    }

    fn read(directory: &MemoryDirectory) -> (DamagedLog, Vec<u64>) {
        let mut taken = Vec::new();
        let mut visit = |ts, _: &[u8]| {
            taken.push(ts);
            Ok(())
        };
        let log = read_damaged(directory, Replay::default(), &mut visit).unwrap();
        (log, taken)
    }

    /// Commits 1 to 3 and a seal; 4 to 6 in batches that nothing synced, of which a crash left the last two;
    /// then the log went on, with a commit 4 of its own.
    fn cut_by_a_crash() -> MemoryDirectory {
        let directory = MemoryDirectory::new("db");
        let frames = [(1, 0), (2, 1), (3, 2), (3, 3), (4, 3), (5, 4), (6, 5)];
        write(&directory, 1, LogEnd::default(), &frames);
        zero(&directory, 1, 4);
        let recovered = recover::<LogError>(&directory, Replay::default(), |_, _| Ok(())).unwrap();
        assert_eq!(recovered.last_ts, 3);
        write(&directory, 2, recovered.end, &[(4, 3), (5, 4), (5, 5)]);
        directory
    }

    #[test]
    fn commits_that_recovery_dropped_are_neither_taken_nor_missed() {
        let directory = cut_by_a_crash();
        let (log, taken) = read(&directory);
        assert_eq!((taken, log.faults), (vec![1, 2, 3, 4, 5], Vec::new()));
        // The seal behind commit 3, which held nothing.
        zero(&directory, 1, 3);
        let (log, taken) = read(&directory);
        assert_eq!(taken, [1, 2, 3, 4, 5]);
        assert_eq!(log.left, UnusedCommits::default());
        assert_eq!(log.faults.len(), 1, "{:?}", log.faults);
        assert_eq!(log.faults[0].missing, None);
    }

    #[test]
    fn a_damaged_commit_before_the_cut_is_missing_and_those_behind_the_cut_are_not_counted() {
        let directory = cut_by_a_crash();
        zero(&directory, 1, 2);
        zero(&directory, 1, 3);
        let (log, taken) = read(&directory);
        assert_eq!(taken, [1, 2]);
        assert_eq!(log.faults[0].missing, Some((3, Some(3))));
        assert_eq!(log.left, UnusedCommits { count: 2, first_ts: 4, last_ts: 5 });
    }
}
