//! End file: the least position at which the log ends, stored outside of the log files.
//!
//! ```text
//! OFFSET  SIZE   FIELD             (little-endian; two such pages, at 0 and at 4,096)
//!      0     8   magic             "EVGRLEND"
//!      8     4   format version    1
//!     12     4   crc               CRC32C of this page with the field itself zero
//!     16     8   sequence          place in the order of writes; even in the first page, odd in the second
//!     24     8   newest            number of the newest log file that was taken into use, 0 for none
//!     32     8   number            of the log file in which the log ended, 0 for none
//!     40     8   cut               end of its last frame, a byte offset in it
//!     48     8   last_ts           timestamp of that frame
//!     56     4   last_crc          its header crc
//!     60         zeros to 4,096
//! ```
//!
//! A log file that lost its head, its end or its name can look as if it had never been used, or as if a crash
//! had torn it. This file tells the difference. It is written
//! - when a log file is taken into use: after its header was synced and before its first batch, so that a file
//!   with batches is always named here;
//! - at closing: after everything was synced, so that the log reaches the end named here.
//!
//! Both are lower bounds. A crash between the log's write and this one leaves an older bound, which is as true;
//! so no power cut makes a false alarm. No commit waits for it but the first one in a log file.
//!
//! The pages are written in turn, in place and synced: a torn write reaches the older one only, and a full disk
//! has room for it. The one with the higher sequence counts. Made aside and renamed, the file is always whole.

use std::io::ErrorKind;
use std::sync::Arc;

use crc32c::{crc32c, crc32c_append};

use crate::io::directory::{Directory, File, OpenMode};
use crate::io::error::IoError;
use crate::log::error::LogError;
use crate::log::file::LogEnd;
use crate::log::frame::{PAGE_BYTES, u32_at, u64_at};
use crate::sync::Mutex;

/// The end file's name in the database's directory.
pub const FILE_NAME: &str = "log_end";
/// The name under which it is made.
pub const NEW_FILE_NAME: &str = "log_end.new";

const MAGIC: [u8; 8] = *b"EVGRLEND";
const FORMAT_VERSION: u32 = 1;

/// What is known of the log outside of its files; the default is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KnownEnd {
    /// The number of the newest log file that was taken into use: it has a header. 0 for none.
    pub newest: u64,
    /// The log reaches this end.
    pub end: LogEnd,
}

impl KnownEnd {
    /// Whether the log is known to go on behind `found`, where reading it stopped.
    #[must_use]
    pub fn is_beyond(&self, found: LogEnd) -> bool {
        self.end.number == found.number && self.end.cut > found.cut
    }
}

/// The end file of an open log, made when it is first needed.
///
/// Concurrency: written by whoever leads the log, or closes it. Its lock is held across a write and a sync; only
/// a thread that makes the file, because it isn't there yet, waits for it.
#[derive(Debug)]
pub struct EndFile {
    directory: Arc<dyn Directory>,
    pages: Mutex<Option<Pages>>,
}

/// The pages of an end file.
#[derive(Debug)]
struct Pages {
    file: Arc<dyn File>,
    sequence: u64,
    known: KnownEnd,
}

impl EndFile {
    /// Opens the end file in `directory`, if there is one.
    ///
    /// # Errors
    /// As [`read`].
    pub fn open(directory: Arc<dyn Directory>) -> Result<Self, LogError> {
        let pages = Mutex::new(Pages::open(&*directory, OpenMode::ReadWrite)?);
        Ok(Self { directory, pages })
    }

    /// Makes the file if it isn't there.
    ///
    /// Cost: a lock; once in the life of a database two syncs of files and one of the directory.
    ///
    /// # Errors
    /// [`LogError::Full`], and what the system says; no file is left then.
    pub fn make(&self) -> Result<(), LogError> {
        let mut pages = self.pages.lock();
        if pages.is_none() {
            create(&*self.directory, KnownEnd::default())?;
            *pages = Pages::open(&*self.directory, OpenMode::ReadWrite)?;
        }
        Ok(())
    }

    /// Stores what is known, durably; nothing if there is no file yet, or it says so already.
    ///
    /// # Errors
    /// What the system says. Either the old or the new is found then.
    pub fn store(&self, known: KnownEnd) -> Result<(), IoError> {
        match &mut *self.pages.lock() {
            Some(pages) if pages.known != known => pages.store(known),
            _ => Ok(()),
        }
    }

    /// What was stored last.
    #[must_use]
    pub fn known(&self) -> KnownEnd {
        self.pages.lock().as_ref().map_or_else(KnownEnd::default, |pages| pages.known)
    }
}

/// Makes the end file of `directory`, in place of one that is there: durable, with its name.
///
/// # Errors
/// [`LogError::Full`], and what the system says; none is left under the new name then.
pub fn create(directory: &dyn Directory, known: KnownEnd) -> Result<(), LogError> {
    let bytes = [encode(0, known), encode(1, known)].concat();
    remove_if_there(directory, NEW_FILE_NAME)?;
    let made = directory.write_all_new(NEW_FILE_NAME, &bytes);
    let made = made.and_then(|()| directory.rename(NEW_FILE_NAME, FILE_NAME));
    let Err(cause) = made.and_then(|()| directory.sync_directory()) else { return Ok(()) };
    // The first error tells more than a second one; what stays is removed before the next attempt.
    let _ = remove_if_there(directory, NEW_FILE_NAME);
    match cause.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Err(LogError::Full {
            directory: directory.location().to_owned(),
            needed_bytes: bytes.len() as u64,
            cause,
        }),
        _ => Err(cause.into()),
    }
}

/// What the end file of `directory` says; nothing is known if there is none, unless it was promised.
///
/// # Errors
/// [`LogError::Lost`] if it is promised and missing, [`LogError::Corrupt`] if no page of it verifies,
/// [`LogError::UnsupportedVersion`], and what the system says.
pub fn read(directory: &dyn Directory, is_promised: bool) -> Result<KnownEnd, LogError> {
    match Pages::open(directory, OpenMode::Read)? {
        Some(pages) => Ok(pages.known),
        None if is_promised => {
            let witness = "the manifest says that there is one".to_owned();
            Err(LogError::Lost { missing: directory.path(FILE_NAME), witness })
        }
        None => Ok(KnownEnd::default()),
    }
}

impl Pages {
    fn open(directory: &dyn Directory, mode: OpenMode) -> Result<Option<Self>, LogError> {
        let file = match directory.open(FILE_NAME, mode) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut bytes = vec![0; 2 * PAGE_BYTES];
        let length = file.len()?.min(bytes.len() as u64) as usize;
        file.read_at(&mut bytes[..length], 0)?;
        let pages = bytes.chunks(PAGE_BYTES).enumerate().filter_map(|(at, page)| decode(at as u64, page));
        let Some((version, sequence, known)) = pages.max_by_key(|page| page.1) else {
            return Err(LogError::Corrupt {
                file: file.path().to_owned(),
                offset: 0,
                expected: "a page that says where the log ends".to_owned(),
                found: format!("none that verifies in {length} bytes"),
            });
        };
        if version != FORMAT_VERSION {
            let (file, found) = (file.path().to_owned(), version);
            return Err(LogError::UnsupportedVersion { file, found, supported: FORMAT_VERSION });
        }
        Ok(Some(Self { file, sequence, known }))
    }

    fn store(&mut self, known: KnownEnd) -> Result<(), IoError> {
        let sequence = self.sequence + 1;
        self.file.write_at(&encode(sequence, known), sequence % 2 * PAGE_BYTES as u64)?;
        self.file.sync_data()?;
        (self.sequence, self.known) = (sequence, known);
        Ok(())
    }
}

fn encode(sequence: u64, KnownEnd { newest, end }: KnownEnd) -> Vec<u8> {
    let mut page = vec![0; PAGE_BYTES];
    page[..8].copy_from_slice(&MAGIC);
    page[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
    for (at, number) in [sequence, newest, end.number, end.cut, end.last_ts].into_iter().enumerate() {
        page[16 + 8 * at..24 + 8 * at].copy_from_slice(&number.to_le_bytes());
    }
    page[56..60].copy_from_slice(&end.last_crc.to_le_bytes());
    let crc = page_crc(&page);
    page[12..16].copy_from_slice(&crc.to_le_bytes());
    page
}

/// Format version, sequence and content of the page with this number, if it verifies.
fn decode(at: u64, page: &[u8]) -> Option<(u32, u64, KnownEnd)> {
    let sequence = u64_at(page, 16);
    let is_sound = page[..8] == MAGIC && u32_at(page, 12) == page_crc(page) && sequence % 2 == at;
    let end = LogEnd {
        number: u64_at(page, 32),
        cut: u64_at(page, 40),
        last_ts: u64_at(page, 48),
        last_crc: u32_at(page, 56),
    };
    is_sound.then_some((u32_at(page, 8), sequence, KnownEnd { newest: u64_at(page, 24), end }))
}

fn page_crc(page: &[u8]) -> u32 {
    crc32c_append(crc32c_append(crc32c(&page[..12]), &[0; 4]), &page[16..])
}

fn remove_if_there(directory: &dyn Directory, name: &str) -> Result<(), IoError> {
    match directory.remove(name) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::memory::{Fate, MemoryDirectory};

    fn known(newest: u64) -> KnownEnd {
        let end = LogEnd { number: newest, cut: 4136, last_ts: 100 + newest, last_crc: 0xdead_beef };
        KnownEnd { newest, end }
    }

    #[test]
    fn what_was_stored_last_is_read_back_and_survives_a_power_cut() {
        let directory = MemoryDirectory::new("db");
        let file = EndFile::open(Arc::new(directory.clone())).unwrap();
        file.store(known(9)).unwrap();
        assert_eq!(read(&directory, false).unwrap(), KnownEnd::default(), "nothing before it is made");
        file.make().unwrap();
        for newest in 1..6 {
            file.store(known(newest)).unwrap();
            assert_eq!(read(&directory.power_cut(), true).unwrap(), known(newest));
            let reopened = EndFile::open(Arc::new(directory.power_cut())).unwrap();
            reopened.make().unwrap();
            assert_eq!(reopened.known(), known(newest));
        }
    }

    #[test]
    fn a_torn_write_leaves_what_was_stored_before() {
        let directory = MemoryDirectory::new("db");
        let file = EndFile::open(Arc::new(directory.clone())).unwrap();
        file.make().unwrap();
        for newest in 1..5 {
            file.store(known(newest)).unwrap();
            let pages = file.pages.lock();
            let page = encode(pages.as_ref().unwrap().sequence + 1, known(newest + 1));
            let next = (pages.as_ref().unwrap().sequence + 1) % 2 * PAGE_BYTES as u64;
            let torn = directory.power_cut();
            torn.open(FILE_NAME, OpenMode::ReadWrite).unwrap().write_at(&page, next).unwrap();
            for kept in 0..60 {
                // Behind the last byte that differs from the page before, the write has arrived whole.
                let found = read(&torn.crash(|_| Fate::Torn(kept)), true).unwrap();
                assert!(found == known(newest) || (kept > 48 && found == known(newest + 1)), "{kept} bytes");
            }
            assert_eq!(read(&torn, true).unwrap(), known(newest + 1));
        }
    }

    #[test]
    fn a_missing_file_that_was_promised_and_two_damaged_pages_are_told() {
        let directory = MemoryDirectory::new("db");
        let error = read(&directory, true).unwrap_err();
        assert!(matches!(error, LogError::Lost { .. }), "{error}");
        create(&directory, known(3)).unwrap();
        let file = directory.open(FILE_NAME, OpenMode::ReadWrite).unwrap();
        for (offset, is_left) in [(20, true), (4096 + 20, false)] {
            file.write_at(&[0xff], offset).unwrap();
            assert_eq!(read(&directory, true).is_ok(), is_left);
        }
        assert!(matches!(read(&directory, false), Err(LogError::Corrupt { offset: 0, .. })));
        file.set_len(0).unwrap();
        assert!(matches!(read(&directory, false), Err(LogError::Corrupt { offset: 0, .. })));
    }

    #[test]
    fn a_newer_version_is_refused_by_name() {
        let directory = MemoryDirectory::new("db");
        let mut page = encode(0, known(1));
        page[8] = 2;
        let crc = page_crc(&page);
        page[12..16].copy_from_slice(&crc.to_le_bytes());
        directory.write_all_new(FILE_NAME, &page).unwrap();
        assert!(matches!(read(&directory, true), Err(LogError::UnsupportedVersion { found: 2, .. })));
    }
}
