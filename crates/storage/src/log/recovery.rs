//! Recovery: reads the log, and tells a torn end from corruption. Overwrites nothing.
//!
//! ```text
//! newest used file --predecessor--> file --predecessor--> ... until after_ts is reached
//! then forwards: every file but the newest is whole up to the cut that its successor names;
//! in the newest, a bad frame at x is
//!     corruption   if a later batch of this file or `log_end` says that x was synced,
//!                  or a commit through need_ts was not read yet
//!     a torn end   otherwise: nothing from x on was ever acknowledged
//! ```
//!
//! The newest file may not be older than the one that `log_end` names. A file without a header is unused
//! if all of it says so and `log_end` doesn't name it.
//!
//! Whoever continues the log goes on in the newest file if nothing but zeros lies behind its last
//! batch: they were durable before the file was taken into use, so what is overwritten never held
//! anything. Otherwise it starts a new file that names the cut; what lies behind the cut in the
//! old file is never read again. So recovering twice gives the same, and a crash in between
//! changes nothing.
//!
//! Tried with torn sectors of 512 bytes: see `tests/log`.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

use crate::io::directory::Directory;
use crate::log::end_file::{self, RecordedEnd};
use crate::log::error::LogError;
use crate::log::file::{LogEnd, UsedFile, file_name, file_number, open_used};
use crate::log::frame::{FrameFault, FrameHeader};
use crate::log::leader::RetiredFile;
use crate::log::scan::{Scan, Step, scan_chain};
use crate::planted::{Bug, planted};

/// Which part of the log is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Replay {
    /// Frames through this timestamp are known from elsewhere (the checkpoint) and not visited.
    pub after_ts: u64,
    /// A commit that was synced for certain: a log that ends before it is corrupt.
    pub need_ts: u64,
    /// Whether the manifest says that there is a `log_end`: it is missed then.
    pub has_end_file: bool,
}

/// What the log held, and where it continues.
#[derive(Debug)]
pub struct Recovered {
    /// The timestamp of the last frame, visited or not; 0 for a log without any.
    pub last_ts: u64,
    /// How many frames were visited.
    pub frames_count: u64,
    /// Bytes of payload visited.
    pub payload_bytes: u64,
    /// The end that a crash tore off, if something of it is left where the log ends.
    pub torn: Option<TornEnd>,
    pub(crate) end: LogEnd,
    pub(crate) position: u64,
    /// The newest file, if the log may go on in it.
    pub(crate) unfilled: Option<UnfilledFile>,
    /// Files with content, oldest first; the last is the one that `end` lies in.
    pub(crate) files: Vec<RetiredFile>,
    /// Files that were prepared and never used.
    pub(crate) unused: Vec<u64>,
    /// Greater than any number in use.
    pub(crate) next_number: u64,
}

/// A log file with room behind its last batch, in which nothing was ever written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnfilledFile {
    /// Seeds the crcs of its frames.
    pub(crate) salt: u64,
    /// Its size in bytes.
    pub(crate) file_bytes: u64,
    /// Where the next batch goes, in bytes.
    pub(crate) offset: u64,
}

/// Bytes at the end of the log that a crash left unfinished. None of them was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornEnd {
    /// The log file.
    pub file: PathBuf,
    /// Where the unfinished part begins, in bytes.
    pub offset: u64,
}

/// Reads the log in `directory` and visits every commit after `replay.after_ts`, in order, with
/// its timestamp and payload.
///
/// Cost: one pass over the log files that hold such commits; memory for 1 MiB and the longest
/// frame. The directory is not changed.
///
/// # Errors
/// Those of `visit`, unchanged; [`LogError::Corrupt`], [`LogError::Missing`], [`LogError::Lost`],
/// [`LogError::EndsBefore`], [`LogError::UnsupportedVersion`]; and what the system says.
pub fn recover<E: From<LogError>>(
    directory: &dyn Directory,
    replay: Replay,
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<Recovered, E> {
    let mut known = end_file::read(directory, replay.has_end_file)?;
    if planted(Bug::EndFileIgnored) {
        known = RecordedEnd::default();
    }
    let replay = Replay { need_ts: replay.need_ts.max(known.end.last_ts), ..replay };
    let Chain { older, wanted, unused, next_number } = find_chain(directory, replay, known)?;
    let mut recovered = Recovered {
        last_ts: 0,
        frames_count: 0,
        payload_bytes: 0,
        torn: None,
        end: LogEnd::default(),
        position: 0,
        unfilled: None,
        files: older,
        unused,
        next_number,
    };
    let mut stop = format!("no log file is in {}", directory.location().display());
    for mut scan in scan_chain(wanted) {
        stop = recovered.read(&mut scan, replay, known, &mut visit)?;
        let (header, end) = (scan.header(), scan.end());
        let (number, file_bytes) = (header.number, header.file_bytes);
        recovered.files.push(RetiredFile { number, last_ts: end.last_ts, file_bytes });
        recovered.last_ts = end.last_ts;
        recovered.position = header.position(header.unit.round_up(end.cut));
        recovered.end = end;
        // One with another unit, from another kind of directory, is not continued.
        let unfilled = scan.untouched_from()?.filter(|_| header.unit == directory.write_unit());
        recovered.unfilled = unfilled.map(|offset| UnfilledFile { salt: header.salt, file_bytes, offset });
    }
    if recovered.last_ts < replay.need_ts {
        let directory = directory.location().to_owned();
        let (last_ts, need_ts) = (recovered.last_ts, replay.need_ts);
        return Err(LogError::EndsBefore { directory, end: stop, last_ts, need_ts }.into());
    }
    Ok(recovered)
}

impl Recovered {
    /// Reads a file up to the cut that its successor names; anything else before it is corruption. The
    /// newest file is read as far as it goes, and its end may be torn. Says how it ended.
    fn read<E: From<LogError>>(
        &mut self,
        scan: &mut Scan,
        replay: Replay,
        known: RecordedEnd,
        visit: &mut impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<String, E> {
        let (offset, fault) = loop {
            match scan.step()? {
                Step::Frame(frame, payload) => self.visit(frame, payload, replay, visit)?,
                Step::End => {
                    scan.check_cut()?;
                    return Ok(format!("{} is full", scan.path().display()));
                }
                Step::Bad(offset, fault) => break (offset, fault),
            }
        };
        if scan.has_cut() || known.is_beyond(scan.end()) || scan.was_synced(offset)? {
            return Err(scan.corrupt(offset, fault).into());
        }
        if scan.is_written(offset)? {
            self.torn = Some(TornEnd { file: scan.path().to_owned(), offset });
        }
        let FrameFault { expected, found } = fault;
        Ok(format!("{} at byte {offset}: expected {expected}, found {found}", scan.path().display()))
    }

    fn visit<E>(
        &mut self,
        frame: FrameHeader,
        payload: &[u8],
        replay: Replay,
        visit: &mut impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if frame.ts > replay.after_ts && !frame.is_seal() {
            visit(frame.ts, payload)?;
            self.frames_count += 1;
            self.payload_bytes += payload.len() as u64;
        }
        Ok(())
    }
}

/// The files of a log, as their headers name each other.
pub(crate) struct Chain {
    /// Files before those wanted, oldest first.
    older: Vec<RetiredFile>,
    /// Files to read, oldest first.
    pub(crate) wanted: Vec<UsedFile>,
    unused: Vec<u64>,
    next_number: u64,
}

/// Follows the predecessors from the newest file back to where nothing older is wanted. The newest is not older
/// than the one that is `known` to be in use.
pub(crate) fn find_chain(
    directory: &dyn Directory,
    replay: Replay,
    known: RecordedEnd,
) -> Result<Chain, LogError> {
    let mut used = BTreeMap::new();
    let mut chain = Chain { older: Vec::new(), wanted: Vec::new(), unused: Vec::new(), next_number: 1 };
    for number in directory.list()?.iter().filter_map(|name| file_number(name)) {
        chain.next_number = chain.next_number.max(number.saturating_add(1));
        match open_used(directory, number) {
            Ok(Some(found)) => {
                used.insert(number, found);
            }
            Ok(None) => chain.unused.push(number),
            // A prepared file that gave way to a larger one since the list was made (`copy`). One that is
            // needed is missed below.
            Err(LogError::Io(error)) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    if used.last_key_value().map_or(0, |(newest, _)| *newest) < known.newest {
        return Err(lost_newest(directory, known.newest, chain.unused.contains(&known.newest)));
    }
    let mut next = used.pop_last().map(|(_, newest)| newest);
    while let Some(found) = next.take() {
        let before = found.header.predecessor;
        if before.number != 0 && before.last_ts > replay.after_ts {
            next = used.remove(&before.number);
            if next.is_none() {
                return Err(LogError::Missing {
                    missing: directory.path(&file_name(before.number)),
                    successor: found.file.path().to_owned(),
                    after_ts: replay.after_ts,
                    through_ts: before.last_ts,
                });
            }
        }
        chain.wanted.push(found);
    }
    chain.wanted.reverse();
    // What is left over precedes the wanted files: nothing in it is newer than what comes before
    // the first of those.
    let last_ts = chain.wanted.first().map_or(0, |used| used.header.predecessor.last_ts);
    chain.older = used
        .into_iter()
        .map(|(number, old)| RetiredFile { number, last_ts, file_bytes: old.header.file_bytes })
        .collect();
    Ok(chain)
}

/// The error of the newest log file in use, which is gone, or looks as if it had never been used.
fn lost_newest(directory: &dyn Directory, number: u64, is_there: bool) -> LogError {
    let file = directory.path(&file_name(number));
    let witness = format!("{} says that it was taken into use", end_file::FILE_NAME);
    if is_there {
        let found = format!("none, and nothing but zeros behind it, while {witness}");
        return LogError::Corrupt { file, offset: 0, expected: "the header of a log file".to_owned(), found };
    }
    LogError::Lost { missing: file, witness }
}
