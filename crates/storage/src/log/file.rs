//! Log file: a preallocated file of zeros with a header page, then batches.
//!
//! ```text
//! OFFSET  SIZE   FIELD             (little-endian)
//!      0     8   magic             "EVGRLOG\n"
//!      8     4   format version    1; 2 if it has a unit
//!     12     4   crc               CRC32C of this page with the field itself zero
//!     16     8   number            also in the name: log-0000000000000001, in hexadecimal
//!     24     8   salt              random; seeds the crcs of the frames
//!     32     8   file size in bytes
//!     40     8   first position    log position of the first batch, in bytes
//!     48     8   predecessor       its number, 0 for none
//!     56     8   cut               end of the predecessor's last frame, a byte offset in it
//!     64     8   last_ts           timestamp of the predecessor's last frame
//!     72     4   last_crc          header crc of the predecessor's last frame
//!     76     4   unit              of batches in bytes, in version 2: a power of two from 64 on; 4,096 in version 1
//!     80         zeros to 4,096; then batches
//! ```
//!
//! The order of writes is what recovery builds on:
//! 1. *Prepared*: zeros over the whole file, file and directory synced. A full disk shows here,
//!    and later syncs have no metadata to write (copy-on-write file systems keep neither promise).
//! 2. *Linked*: the predecessor is synced, then the header written and synced. So a header says
//!    that its predecessor is whole up to the cut: anything bad before it is corruption.
//! 3. *Named*: `log_end` says that the file is in use (see [`end_file`](crate::log::end_file)). So a bad header
//!    in a file that is named there is corruption, whatever else is in it.
//! 4. *Used*: batches. So a bad header has lost nothing if nothing but zeros follows it to the end of the file,
//!    and is corruption otherwise.
//!
//! Numbers are never given twice, and may have holes. The unit is that of the directory in which the file was made, and
//! stays with the file wherever it is copied.

use std::io::ErrorKind;
use std::sync::Arc;

use crc32c::{crc32c, crc32c_append};

use crate::io::directory::{Directory, File, OpenMode};
use crate::io::write_unit::WriteUnit;
use crate::log::error::LogError;
use crate::log::frame::{PAGE_BYTES, u32_at, u64_at};
use crate::planted::{Bug, planted};

/// Where the first batch of a file begins, in bytes.
pub const FIRST_BATCH_OFFSET: u64 = PAGE_BYTES as u64;

const MAGIC: [u8; 8] = *b"EVGRLOG\n";
/// Of a file with units of 4,096 bytes, which every version reads, and of any other.
const FORMAT_VERSIONS: [u32; 2] = [1, 2];
static ZEROS: [u8; 256 << 10] = [0; 256 << 10];

/// What a log file says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHeader {
    /// The file's number, from 1.
    pub number: u64,
    /// Seeds the crcs of the file's frames.
    pub salt: u64,
    /// The file's size in bytes.
    pub file_bytes: u64,
    /// Log position of the first batch: bytes of batches before it since the log began.
    pub first_position: u64,
    /// What batches begin and end at a multiple of.
    pub unit: WriteUnit,
    /// Where the log continues from.
    pub predecessor: LogEnd,
}

/// An end of the log, from which the next file continues. The default is the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogEnd {
    /// The file with the last frame; 0 if there is none.
    pub number: u64,
    /// The byte offset in that file where its last frame ends.
    pub cut: u64,
    /// The timestamp of the last frame.
    pub last_ts: u64,
    /// The header crc of the last frame.
    pub last_crc: u32,
}

/// A log file with content, open to read.
#[derive(Debug)]
pub struct UsedFile {
    /// The open file.
    pub file: Arc<dyn File>,
    /// What it says of itself.
    pub header: FileHeader,
}

/// An unused log file of zeros, durable on disk.
#[derive(Debug)]
pub struct PreparedFile {
    /// The open file.
    pub file: Arc<dyn File>,
    /// Its number.
    pub number: u64,
    /// The salt that it will have.
    pub salt: u64,
    /// Its size in bytes.
    pub file_bytes: u64,
}

impl PreparedFile {
    /// The bytes that batches can take.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.file_bytes - FIRST_BATCH_OFFSET
    }
}

/// The name of the log file with this number.
#[must_use]
pub fn file_name(number: u64) -> String {
    format!("log-{number:016x}")
}

/// The number of the log file with this name, if it is the name of one.
#[must_use]
pub fn file_number(name: &str) -> Option<u64> {
    let number = u64::from_str_radix(name.strip_prefix("log-")?, 16).ok()?;
    (file_name(number) == name).then_some(number)
}

/// Writes a log file of zeros and makes it durable. `file_bytes` is a multiple of the page.
///
/// Cost: the file's size written and synced, and a sync of the directory.
///
/// # Errors
/// [`LogError::Full`] if there is no space, and what the system says; no file is left then, as
/// far as the system lets it be removed.
pub fn prepare(
    directory: &dyn Directory,
    number: u64,
    salt: u64,
    file_bytes: u64,
) -> Result<PreparedFile, LogError> {
    let name = file_name(number);
    let written = directory.create(&name).and_then(|file| {
        let mut offset = 0;
        while offset < file_bytes {
            let length = (file_bytes - offset).min(ZEROS.len() as u64);
            file.write_at(&ZEROS[..length as usize], offset)?;
            offset += length;
        }
        file.sync_data()?;
        if !planted(Bug::FileNameNotSynced) {
            directory.sync_directory()?;
        }
        Ok(file)
    });
    match written {
        Ok(file) => Ok(PreparedFile { file, number, salt, file_bytes }),
        Err(cause) => {
            // The first error tells more than a second one. A file that stays is one of zeros,
            // which recovery passes over and the next opening removes.
            let _ = directory.remove(&name);
            match cause.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Err(LogError::Full {
                    directory: directory.location().to_owned(),
                    needed_bytes: file_bytes,
                    cause,
                }),
                _ => Err(cause.into()),
            }
        }
    }
}

impl FileHeader {
    /// The header's page.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES];
        page[0..8].copy_from_slice(&MAGIC);
        let (version, unit) = match self.unit {
            WriteUnit::PAGE => (FORMAT_VERSIONS[0], 0),
            unit => (FORMAT_VERSIONS[1], unit.bytes() as u32),
        };
        page[8..12].copy_from_slice(&version.to_le_bytes());
        page[76..80].copy_from_slice(&unit.to_le_bytes());
        page[16..24].copy_from_slice(&self.number.to_le_bytes());
        page[24..32].copy_from_slice(&self.salt.to_le_bytes());
        page[32..40].copy_from_slice(&self.file_bytes.to_le_bytes());
        page[40..48].copy_from_slice(&self.first_position.to_le_bytes());
        page[48..56].copy_from_slice(&self.predecessor.number.to_le_bytes());
        page[56..64].copy_from_slice(&self.predecessor.cut.to_le_bytes());
        page[64..72].copy_from_slice(&self.predecessor.last_ts.to_le_bytes());
        page[72..76].copy_from_slice(&self.predecessor.last_crc.to_le_bytes());
        let crc = page_crc(&page);
        page[12..16].copy_from_slice(&crc.to_le_bytes());
        page
    }

    /// A field that no writer of ours gives: where, what it should be, what it is. Guards the
    /// reader's arithmetic against a header that was made up.
    fn contradiction(&self) -> Option<(u64, &'static str, u64)> {
        let unit = self.unit.bytes();
        if !self.file_bytes.is_multiple_of(unit) || self.file_bytes < self.least_bytes() {
            return Some((32, "a file of whole units, a header and a batch at least", self.file_bytes));
        }
        let is_padded = self.first_position.is_multiple_of(unit) || planted(Bug::UnpaddedBatch);
        if !is_padded || self.first_position > 1 << 62 {
            return Some((40, "a log position of whole units", self.first_position));
        }
        if self.predecessor.number >= self.number {
            return Some((48, "a predecessor with a smaller number", self.predecessor.number));
        }
        None
    }

    /// A header and a batch.
    fn least_bytes(&self) -> u64 {
        FIRST_BATCH_OFFSET + self.unit.bytes()
    }

    /// The log position of byte `offset` of the file.
    #[must_use]
    #[inline]
    pub fn position(&self, offset: u64) -> u64 {
        self.first_position + (offset - FIRST_BATCH_OFFSET)
    }
}

fn page_crc(page: &[u8]) -> u32 {
    crc32c_append(crc32c_append(crc32c(&page[..12]), &[0; 4]), &page[16..])
}

/// Opens log file `number` to read; `None` if nothing in it says that it was ever taken into use.
///
/// # Errors
/// [`LogError::Corrupt`] if the header is bad although something follows, or contradicts the file's
/// name or length; [`LogError::UnsupportedVersion`]; and what the system says.
pub fn open_used(directory: &dyn Directory, number: u64) -> Result<Option<UsedFile>, LogError> {
    let Some(used) = open_header(directory, number)? else { return Ok(None) };
    let (length, file_bytes) = (used.file.len()?, used.header.file_bytes);
    if length < file_bytes {
        let (expected, found) = (format!("{file_bytes} bytes"), "the end of the file".to_owned());
        let file = used.file.path().to_owned();
        return Err(LogError::Corrupt { file, offset: length, expected, found });
    }
    Ok(Some(used))
}

/// As [`open_used`], but a file that was cut short is opened as far as it goes, in whole units; and whether
/// it was.
///
/// # Errors
/// As [`open_used`], and if less than a header and a batch are left.
pub fn open_damaged(directory: &dyn Directory, number: u64) -> Result<Option<(UsedFile, bool)>, LogError> {
    let Some(mut used) = open_header(directory, number)? else { return Ok(None) };
    let length = used.file.len()?;
    let is_cut = length < used.header.file_bytes;
    used.header.file_bytes = used.header.file_bytes.min(length - length % used.header.unit.bytes());
    if used.header.file_bytes < used.header.least_bytes() {
        let (expected, found) = ("a header and a batch".to_owned(), format!("{length} bytes"));
        let file = used.file.path().to_owned();
        return Err(LogError::Corrupt { file, offset: length, expected, found });
    }
    Ok(Some((used, is_cut)))
}

/// Opens a log file and reads its header; its length isn't compared. `None` if it has no header and nothing but
/// zeros behind the page of one.
fn open_header(directory: &dyn Directory, number: u64) -> Result<Option<UsedFile>, LogError> {
    let file = directory.open(&file_name(number), OpenMode::Read)?;
    let corrupt = |offset, expected: String, found: String| LogError::Corrupt {
        file: file.path().to_owned(),
        offset,
        expected,
        found,
    };
    let mut page = read_header_page(&*file)?;
    if let Some(fault) = header_fault(&page) {
        let Some(offset) = first_written(&*file)? else { return Ok(None) };
        // Once more: if the log is open, the file may have been taken into use since.
        page = read_header_page(&*file)?;
        if header_fault(&page).is_some() {
            let found = format!("{fault}, and something that was written at byte {offset}");
            return Err(corrupt(0, "the header of a log file".to_owned(), found));
        }
    }
    let page = &page[..];
    let version = u32_at(page, 8);
    let unit = match FORMAT_VERSIONS.iter().position(|known| *known == version) {
        Some(0) => WriteUnit::PAGE,
        Some(_) => WriteUnit::of_bytes(u32_at(page, 76)).ok_or_else(|| {
            let expected = "a unit that is a power of two from 64 to 4,096 bytes".to_owned();
            corrupt(76, expected, u32_at(page, 76).to_string())
        })?,
        None => {
            let (file, supported) = (file.path().to_owned(), FORMAT_VERSIONS[1]);
            return Err(LogError::UnsupportedVersion { file, found: version, supported });
        }
    };
    let header = FileHeader {
        number: u64_at(page, 16),
        salt: u64_at(page, 24),
        file_bytes: u64_at(page, 32),
        first_position: u64_at(page, 40),
        unit,
        predecessor: LogEnd {
            number: u64_at(page, 48),
            cut: u64_at(page, 56),
            last_ts: u64_at(page, 64),
            last_crc: u32_at(page, 72),
        },
    };
    if let Some((offset, expected, found)) = header.contradiction() {
        return Err(corrupt(offset, expected.to_owned(), found.to_string()));
    }
    if header.number != number {
        return Err(corrupt(16, format!("log file {number}"), format!("log file {}", header.number)));
    }
    Ok(Some(UsedFile { file, header }))
}

/// The page in which a header lies. A file that is shorter was not even prepared (a crash came first), or was
/// cut later: zeros stand for what is missing.
fn read_header_page(file: &dyn File) -> Result<Vec<u8>, LogError> {
    let mut page = vec![0; PAGE_BYTES];
    let readable = file.len()?.min(PAGE_BYTES as u64) as usize;
    file.read_at(&mut page[..readable], 0)?;
    Ok(page)
}

/// What was found in place of a header.
fn header_fault(page: &[u8]) -> Option<String> {
    let (found, crc) = (u32_at(page, 12), page_crc(page));
    if page[0..8] != MAGIC {
        return Some(format!("{:02x?}", &page[0..8]));
    }
    (found != crc).then(|| format!("crc {found:#010x} instead of {crc:#010x}"))
}

/// The first byte behind the header's page that isn't zero. Cost: reads the file up to there.
fn first_written(file: &dyn File) -> Result<Option<u64>, LogError> {
    let (length, mut offset) = (file.len()?, FIRST_BATCH_OFFSET);
    let mut window = vec![0; ZEROS.len()];
    while offset < length {
        let part = (length - offset).min(window.len() as u64) as usize;
        file.read_at(&mut window[..part], offset)?;
        if let Some(at) = window[..part].iter().position(|&byte| byte != 0) {
            return Ok(Some(offset + at as u64));
        }
        offset += part as u64;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::error::Operation;
    use crate::io::failing::{FailingDirectory, Fault};
    use crate::io::memory::MemoryDirectory;

    fn header(number: u64) -> FileHeader {
        let predecessor = LogEnd { number: 6, cut: 5000, last_ts: 40, last_crc: 0xdead_beef };
        let unit = WriteUnit::PAGE;
        FileHeader { number, salt: 99, file_bytes: 16384, first_position: 4096, unit, predecessor }
    }

    fn written(header: &FileHeader, first_batch: &[u8]) -> MemoryDirectory {
        let directory = MemoryDirectory::new("db");
        let prepared = prepare(&directory, 7, header.salt, 16384).unwrap();
        prepared.file.write_at(&header.encode(), 0).unwrap();
        prepared.file.write_at(first_batch, FIRST_BATCH_OFFSET).unwrap();
        directory
    }

    fn rewrite(directory: &MemoryDirectory, offset: u64, bytes: &[u8]) {
        directory.open(&file_name(7), OpenMode::ReadWrite).unwrap().write_at(bytes, offset).unwrap();
    }

    #[test]
    fn a_name_tells_the_number_and_nothing_else_does() {
        assert_eq!(file_name(255), "log-00000000000000ff");
        assert_eq!(file_number("log-00000000000000ff"), Some(255));
        for other in ["log-ff", "log-00000000000000FF", "log-+0000000000000ff", "log-00000000000000ff.new"] {
            assert_eq!(file_number(other), None, "{other}");
        }
    }

    #[test]
    fn a_header_is_read_back_as_it_was_written() {
        for unit in [WriteUnit::PAGE, WriteUnit::LINE] {
            let header = FileHeader { unit, ..header(7) };
            let directory = written(&header, b"");
            assert_eq!(open_used(&directory, 7).unwrap().unwrap().header, header);
        }
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_corruption_once_batches_follow() {
        let page = header(7).encode();
        let (used, unused) = (written(&header(7), b"batch"), written(&header(7), b""));
        for bit in 0..PAGE_BYTES * 8 {
            let flipped = page[bit / 8] ^ (1 << (bit % 8));
            rewrite(&used, bit as u64 / 8, &[flipped]);
            assert!(matches!(open_used(&used, 7), Err(LogError::Corrupt { offset: 0, .. })), "bit {bit}");
            rewrite(&used, bit as u64 / 8, &[page[bit / 8]]);
        }
        rewrite(&unused, 30, &[!page[30]]);
        assert!(open_used(&unused, 7).unwrap().is_none(), "a torn header of a file without batches");
    }

    #[test]
    fn another_version_a_false_name_and_a_shortened_file_are_told() {
        let directory = written(&header(8), b"");
        assert!(matches!(open_used(&directory, 7), Err(LogError::Corrupt { offset: 16, .. })));

        let directory = written(&header(7), b"batch");
        for length in [12288, 4096] {
            directory.open(&file_name(7), OpenMode::ReadWrite).unwrap().set_len(length).unwrap();
            let cut = open_used(&directory, 7);
            assert!(matches!(cut, Err(LogError::Corrupt { offset, .. }) if offset == length));
        }

        let mut page = header(7).encode();
        for version in [2, 3] {
            page[8] = version;
            let crc = page_crc(&page);
            page[12..16].copy_from_slice(&crc.to_le_bytes());
            rewrite(&directory, 0, &page);
            let error = open_used(&directory, 7).unwrap_err();
            let is_named = match version {
                2 => matches!(error, LogError::Corrupt { offset: 76, .. }),
                _ => matches!(error, LogError::UnsupportedVersion { found: 3, supported: 2, .. }),
            };
            assert!(is_named, "{error}");
        }
    }

    #[test]
    fn a_header_that_was_made_up_is_refused() {
        let made_up = [
            (32, FileHeader { file_bytes: 5000, ..header(7) }),
            (32, FileHeader { file_bytes: 4096, ..header(7) }),
            (40, FileHeader { first_position: 1 << 63, ..header(7) }),
            (48, FileHeader { predecessor: LogEnd { number: 7, ..LogEnd::default() }, ..header(7) }),
        ];
        for (expected, header) in made_up {
            let found = open_used(&written(&header, b"batch"), 7);
            assert!(
                matches!(found, Err(LogError::Corrupt { offset, .. }) if offset == expected),
                "{header:?}"
            );
        }
    }

    #[test]
    fn a_prepared_file_is_durable_zeros() {
        let directory = MemoryDirectory::new("db");
        prepare(&directory, 7, 1, 1 << 20).unwrap();
        let found = directory.power_cut().read_all(&file_name(7), 1 << 20).unwrap();
        assert!(found.len() == 1 << 20 && found.iter().all(|&byte| byte == 0));
        assert!(open_used(&directory, 7).unwrap().is_none());
    }

    #[test]
    fn a_full_disk_leaves_no_file_behind_and_says_how_much_is_needed() {
        let directory = FailingDirectory::new(Arc::new(MemoryDirectory::new("db")));
        directory.plan(Fault::new(Operation::Write, "log-", ErrorKind::StorageFull).nth(2));
        let error = prepare(&directory, 7, 1, 1 << 20).unwrap_err();
        assert!(matches!(&error, LogError::Full { needed_bytes: 1_048_576, .. }), "{error}");
        assert!(error.to_string().contains("in db"), "{error}");
        assert_eq!(directory.list().unwrap(), [""; 0]);
        prepare(&directory, 7, 1, 1 << 20).unwrap();
    }
}
