//! Scan: the frames of one log file, in order, through a window of bounded size.
//!
//! ```text
//! header | frame frame last | 0 0 | frame last | 0 0 0 | frame ~~~~ ...  later batch
//!          Frame Frame Frame        Frame                Bad at here     proof, if it says
//!                                                                        "synced beyond here"
//! ```
//!
//! A scan stops at the first byte that is not as it should be, and can then look for proof that
//! this byte was once synced: a later batch begins at a unit, is valid for this file, and names
//! how far everything was synced when it was written.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use crate::io::directory::File;
use crate::log::error::LogError;
use crate::log::file::{FIRST_BATCH_OFFSET, FileHeader, LogEnd, UsedFile};
use crate::log::frame::{FRAME_HEADER_BYTES, FrameFault, FrameHeader, FrameSeed, parse_header};
use crate::planted::{Bug, planted};

/// Bytes that are read at once; a longer frame is read whole.
const WINDOW_BYTES: u64 = 1 << 20;

/// Reads one log file's frames.
#[derive(Debug)]
pub struct Scan {
    file: Arc<dyn File>,
    header: FileHeader,
    /// Where the log left this file, if another one follows.
    cut: Option<LogEnd>,
    seed: FrameSeed,
    /// The end of the last good frame.
    end: LogEnd,
    /// Whether that frame was the last of its batch, so that padding follows.
    after_batch: bool,
    window: Vec<u8>,
    window_offset: u64,
}

/// What comes next in a log file.
#[derive(Debug)]
pub enum Step<'a> {
    /// A good frame that follows the one before.
    Frame(FrameHeader, &'a [u8]),
    /// The file is full, or the log left it here.
    End,
    /// Something else, from this byte on.
    Bad(u64, FrameFault),
}

/// Scans of consecutive files, oldest first, each up to the cut that the next one's header names.
pub fn scan_chain(files: Vec<UsedFile>) -> impl Iterator<Item = Scan> {
    let mut cuts: VecDeque<LogEnd> = files.iter().skip(1).map(|next| next.header.predecessor).collect();
    files.into_iter().map(move |used| Scan::new(used, cuts.pop_front()))
}

impl Scan {
    /// Begins at the first batch of a file, and ends at `cut` if the log left it there: a recovery may have
    /// dropped what lies behind, and given its timestamps to other commits.
    #[must_use]
    pub fn new(UsedFile { file, header }: UsedFile, cut: Option<LogEnd>) -> Self {
        let LogEnd { last_ts, last_crc, .. } = header.predecessor;
        Self {
            file,
            header,
            cut,
            seed: FrameSeed::new(header.salt),
            end: LogEnd { number: header.number, cut: FIRST_BATCH_OFFSET, last_ts, last_crc },
            after_batch: false,
            window: Vec::new(),
            window_offset: 0,
        }
    }

    /// What the file says of itself.
    #[must_use]
    pub fn header(&self) -> FileHeader {
        self.header
    }

    /// Whether the log left this file for another one.
    #[must_use]
    pub fn has_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// The end of the last good frame.
    #[must_use]
    pub fn end(&self) -> LogEnd {
        self.end
    }

    /// Where the file lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// That what was read ends as the next file says.
    ///
    /// # Errors
    /// [`LogError::Corrupt`].
    pub fn check_cut(&self) -> Result<(), LogError> {
        let describe = |end: LogEnd| {
            format!("commit {} with crc {:#010x} ending at byte {}", end.last_ts, end.last_crc, end.cut)
        };
        match self.cut {
            Some(cut) if cut != self.end && !planted(Bug::AnyPredecessor) => {
                Err(self.corrupt(self.end.cut, FrameFault::new(describe(cut), describe(self.end))))
            }
            _ => Ok(()),
        }
    }

    /// The error of a place in this file that isn't what was written.
    #[must_use]
    pub fn corrupt(&self, offset: u64, FrameFault { expected, found }: FrameFault) -> LogError {
        LogError::Corrupt { file: self.path().to_owned(), offset, expected, found }
    }

    /// The next frame. Called again after [`Step::Bad`], it finds the same.
    ///
    /// # Errors
    /// What the system says when it cannot read.
    pub fn step(&mut self) -> Result<Step<'_>, LogError> {
        let mut start = self.end.cut;
        if self.cut.is_some_and(|cut| start >= cut.cut) {
            return Ok(Step::End);
        }
        if self.after_batch && !planted(Bug::UnpaddedBatch) {
            let padding_end = self.header.unit.round_up(start);
            let padding = self.bytes(start, (padding_end - start) as usize)?;
            if let Some(index) = padding.iter().position(|&byte| byte != 0) {
                let fault = FrameFault::new("padding of zeros", format!("{:#04x}", padding[index]));
                return Ok(Step::Bad(start + index as u64, fault));
            }
            start = padding_end;
        }
        let room = self.header.file_bytes - start;
        if room == 0 {
            return Ok(Step::End);
        }
        if room < FRAME_HEADER_BYTES as u64 {
            let fault = FrameFault::new("a frame", format!("{room} bytes before the end of the file"));
            return Ok(Step::Bad(start, fault));
        }
        let seed = self.seed;
        let bytes = self.bytes(start, FRAME_HEADER_BYTES)?;
        let frame = match parse_header(bytes.try_into().expect("a header's bytes were asked for"), seed) {
            Ok(frame) => frame,
            Err(fault) => return Ok(Step::Bad(start, fault)),
        };
        if let Err(fault) = frame.check_follows(self.end.last_ts) {
            return Ok(Step::Bad(start, fault));
        }
        // Checked against the file before anything is allocated for it.
        let length = FRAME_HEADER_BYTES as u64 + u64::from(frame.payload_bytes);
        if length > room {
            let fault = FrameFault::new(format!("a frame of at most {room} bytes"), length.to_string());
            return Ok(Step::Bad(start, fault));
        }
        let checked = frame.check_payload(&self.bytes(start, length as usize)?[FRAME_HEADER_BYTES..]);
        let is_half = checked.is_err() && planted(Bug::HalfFrame);
        if let Err(fault) = checked
            && !is_half
        {
            return Ok(Step::Bad(start, fault));
        }
        self.end = LogEnd {
            number: self.header.number,
            cut: start + length,
            last_ts: frame.ts,
            last_crc: frame.crc,
        };
        self.after_batch = frame.last_of_batch;
        let payload = &self.bytes(start, length as usize)?[FRAME_HEADER_BYTES..];
        Ok(Step::Frame(frame, if is_half { &payload[..payload.len() / 2] } else { payload }))
    }

    /// Whether a batch after byte `bad` says that everything through this byte was synced.
    ///
    /// Cost: reads the rest of the file.
    ///
    /// # Errors
    /// What the system says when it cannot read.
    pub fn was_synced(&mut self, bad: u64) -> Result<bool, LogError> {
        let unit = self.header.unit;
        let (seed, position) = (self.seed, self.header.position(bad));
        let mut start = unit.round_up(bad + 1);
        while start + unit.bytes() <= self.header.file_bytes {
            let bytes = self.bytes(start, FRAME_HEADER_BYTES)?;
            let frame = parse_header(bytes.try_into().expect("a header's bytes were asked for"), seed);
            if frame.is_ok_and(|frame| frame.synced_through > position) && !planted(Bug::SyncedThroughIgnored)
            {
                return Ok(true);
            }
            start += unit.bytes();
        }
        Ok(false)
    }

    /// Goes on behind byte `bad`, which the last step found: behind the frame there if its header can be
    /// read, else at the next batch of this file, neither of them beyond the cut. Where that is, and the commit that it follows; `None` if there is no such place.
    ///
    /// Cost: reads up to that place.
    ///
    /// # Errors
    /// What the system says when it cannot read.
    pub fn resume(&mut self, bad: u64) -> Result<Option<(u64, u64)>, LogError> {
        let cut = self.cut.map_or(u64::MAX, |cut| cut.cut).min(self.header.file_bytes);
        let header_at = |scan: &mut Self, at: u64| -> Result<Option<FrameHeader>, LogError> {
            if at + FRAME_HEADER_BYTES as u64 > scan.header.file_bytes {
                return Ok(None);
            }
            let seed = scan.seed;
            let bytes = scan.bytes(at, FRAME_HEADER_BYTES)?;
            Ok(parse_header(bytes.try_into().expect("a header's bytes were asked for"), seed).ok())
        };
        let number = self.header.number;
        let at = |cut, last_ts| LogEnd { number, cut, last_ts, last_crc: 0 };
        let own = header_at(self, bad)?.filter(|frame| frame.check_follows(self.end.last_ts).is_ok());
        if let Some(frame) = own {
            let behind = bad + FRAME_HEADER_BYTES as u64 + u64::from(frame.payload_bytes);
            if behind <= cut {
                self.end = at(behind, frame.ts);
                self.after_batch = frame.last_of_batch;
                return Ok(Some((behind, frame.ts)));
            }
        }
        let unit = self.header.unit;
        let mut start = unit.round_up(bad + 1);
        while start < cut {
            if let Some(frame) = header_at(self, start)? {
                self.end = at(start, frame.prev_ts);
                self.after_batch = false;
                return Ok(Some((start, frame.prev_ts)));
            }
            start += unit.bytes();
        }
        Ok(None)
    }

    /// Where the next batch goes, in bytes, if the log may go on in this file: the last frame that was read ends
    /// its batch, and nothing was ever written behind it.
    ///
    /// Cost: reads the rest of the file.
    ///
    /// # Errors
    /// What the system says when it cannot read.
    pub fn untouched_from(&mut self) -> Result<Option<u64>, LogError> {
        let is_whole = self.after_batch || self.end.cut == FIRST_BATCH_OFFSET;
        let next = self.header.unit.round_up(self.end.cut);
        let is_last = self.cut.is_none();
        let is_untouched =
            is_whole && is_last && (planted(Bug::TornEndOverwritten) || self.are_zeros(self.end.cut)?);
        Ok(Some(next).filter(|next| is_untouched && *next < self.header.file_bytes))
    }

    /// Whether nothing but zeros lies from byte `from` to the end of the file.
    fn are_zeros(&mut self, from: u64) -> Result<bool, LogError> {
        let mut offset = from;
        while offset < self.header.file_bytes {
            let length = WINDOW_BYTES.min(self.header.file_bytes - offset);
            if self.bytes(offset, length as usize)?.iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
            offset += length;
        }
        Ok(true)
    }

    /// Whether anything but zeros lies from byte `from` to the end of its unit.
    ///
    /// # Errors
    /// What the system says when it cannot read.
    pub fn is_written(&mut self, from: u64) -> Result<bool, LogError> {
        let end = self.header.unit.round_up(from + 1).min(self.header.file_bytes);
        Ok(self.bytes(from, (end - from) as usize)?.iter().any(|&byte| byte != 0))
    }

    /// Bytes of the file; the range lies in it.
    fn bytes(&mut self, offset: u64, length: usize) -> Result<&[u8], LogError> {
        let inside = offset
            .checked_sub(self.window_offset)
            .is_some_and(|start| start + length as u64 <= self.window.len() as u64);
        if !inside {
            let wanted = WINDOW_BYTES.max(length as u64).min(self.header.file_bytes - offset);
            // A window that one long frame blew up is not kept.
            if self.window.capacity() as u64 > 2 * WINDOW_BYTES.max(wanted) {
                self.window = Vec::new();
            }
            self.window.resize(wanted as usize, 0);
            self.file.read_at(&mut self.window, offset)?;
            self.window_offset = offset;
        }
        let start = (offset - self.window_offset) as usize;
        Ok(&self.window[start..start + length])
    }
}
