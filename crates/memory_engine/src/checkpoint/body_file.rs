//! Bodies' file: the bodies that one checkpoint wrote, with a checksum for every 64 KiB.
//!
//! ```text
//! OFFSET  SIZE   FIELD             (little-endian)
//!      0     8   magic             "EVGRBODY"
//!      8     4   format version    1
//!     12     4   crc               CRC32C of this page with the field itself zero
//!     16     8   number            also in the name: bodies-0000000000000001, in hexadecimal
//!     24         zeros to 4,096
//!  4,096         bodies            in their stable form, each at a multiple of 8, zeros between
//!      E   4 n   checksums         CRC32C of bytes 0..65,536, 65,536..131,072, ... up to E
//!  E+4 n     8   magic             "EVGRBEND"
//!       +8   8   E                 in bytes
//!      +16   8   number
//!      +24   4   crc               of the checksums
//!      +28   4   crc               of the 28 bytes before
//! ```
//!
//! A file is written once, front to back, synced, and never changed; it goes when no body in it is
//! wanted any more. Checksums stand behind the bodies, so that a body is one stretch of bytes.
//! Where a body lies is the manifest's knowledge.

use std::io::ErrorKind;
use std::ops::Range;
use std::sync::Arc;

use crc32c::{crc32c, crc32c_append};

use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::{Directory, File, OpenMode};
use evergraph_storage::io::error::IoError;
use evergraph_storage::planted::{Bug, planted};

/// Bytes that share a checksum.
pub const BLOCK_BYTES: u64 = 64 << 10;
/// Where the first body begins.
pub const FIRST_BODY_OFFSET: u64 = 4096;

const HEADER_MAGIC: [u8; 8] = *b"EVGRBODY";
const END_MAGIC: [u8; 8] = *b"EVGRBEND";
const FORMAT_VERSION: u32 = 1;
/// Bytes behind the list of checksums.
pub const END_BYTES: u64 = 32;
/// Bytes that are gathered before they are written.
const WRITE_BYTES: usize = 1 << 20;
/// Bytes that are copied at once: whole blocks.
const COPY_BYTES: u64 = 128 * BLOCK_BYTES;

/// The name of the bodies' file with this number.
#[must_use]
pub fn file_name(number: u64) -> String {
    format!("bodies-{number:016x}")
}

/// The number of the bodies' file with this name, if it is the name of one.
#[must_use]
pub fn file_number(name: &str) -> Option<u64> {
    let number = u64::from_str_radix(name.strip_prefix("bodies-")?, 16).ok()?;
    (file_name(number) == name).then_some(number)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

fn header_crc(page: &[u8]) -> u32 {
    crc32c_append(crc32c_append(crc32c(&page[..12]), &[0; 4]), &page[16..])
}

/// The number that a header says, if it is one.
#[must_use]
pub fn number_in_header(page: &[u8]) -> Option<u64> {
    let is_sound = page.len() == FIRST_BODY_OFFSET as usize
        && page[..8] == HEADER_MAGIC
        && u32_at(page, 8) == FORMAT_VERSION
        && u32_at(page, 12) == header_crc(page);
    is_sound.then(|| u64_at(page, 16))
}

/// The number that the end of a file says, if it is one.
#[must_use]
pub fn number_in_end(end: &[u8; END_BYTES as usize]) -> Option<u64> {
    (end[..8] == END_MAGIC && crc32c(&end[..28]) == u32_at(end, 28)).then(|| u64_at(end, 16))
}

/// What stands behind the bodies: their checksums, and the end.
fn encode_end(checksums: &[u32], bodies_end: u64, number: u64) -> Vec<u8> {
    let mut end: Vec<u8> = checksums.iter().flat_map(|crc| crc.to_le_bytes()).collect();
    let list_crc = crc32c(&end);
    let fixed = end.len();
    end.extend_from_slice(&END_MAGIC);
    end.extend_from_slice(&bodies_end.to_le_bytes());
    end.extend_from_slice(&number.to_le_bytes());
    end.extend_from_slice(&list_crc.to_le_bytes());
    let crc = crc32c(&end[fixed..]);
    end.extend_from_slice(&crc.to_le_bytes());
    end
}

/// A bodies' file that is being written.
#[derive(Debug)]
pub struct BodyFileWriter {
    directory: Arc<dyn Directory>,
    file: Arc<dyn File>,
    number: u64,
    /// Bytes in the file: whole blocks.
    written: u64,
    /// What follows them.
    pending: Vec<u8>,
    checksums: Vec<u32>,
}

impl BodyFileWriter {
    /// Creates an empty file.
    ///
    /// # Errors
    /// `AlreadyExists` if the number was used, and what the system says.
    pub fn create(directory: Arc<dyn Directory>, number: u64) -> Result<Self, IoError> {
        let file = directory.create(&file_name(number))?;
        let mut page = vec![0; FIRST_BODY_OFFSET as usize];
        page[..8].copy_from_slice(&HEADER_MAGIC);
        page[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        page[16..24].copy_from_slice(&number.to_le_bytes());
        let crc = header_crc(&page);
        page[12..16].copy_from_slice(&crc.to_le_bytes());
        Ok(Self { directory, file, number, written: 0, pending: page, checksums: Vec::new() })
    }

    /// The file's number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Appends what `put` appends to its vector; says where it lies in the file: offset and length.
    ///
    /// Cost: the body's bytes in memory, and a large write now and then.
    ///
    /// # Errors
    /// What the system says; the file is of no use then.
    pub fn append(&mut self, put: impl FnOnce(&mut Vec<u8>)) -> Result<(u64, u64), IoError> {
        self.pending.resize(self.pending.len().next_multiple_of(8), 0);
        let start = self.pending.len();
        put(&mut self.pending);
        let place = (self.written + start as u64, (self.pending.len() - start) as u64);
        if self.pending.len() >= WRITE_BYTES {
            let whole = self.pending.len() - self.pending.len() % BLOCK_BYTES as usize;
            self.write_blocks(whole)?;
        }
        Ok(place)
    }

    /// Writes the checksums, syncs the file and its name. The file's length in bytes.
    ///
    /// # Errors
    /// What the system says; the file is of no use then.
    pub fn finish(mut self) -> Result<u64, IoError> {
        self.write_blocks(self.pending.len())?;
        let bodies_end = self.written;
        let end = encode_end(&self.checksums, bodies_end, self.number);
        self.file.write_at(&end, bodies_end)?;
        if !planted(Bug::BodiesNotSynced) {
            self.file.sync_data()?;
            self.directory.sync_directory()?;
        }
        Ok(bodies_end + end.len() as u64)
    }

    fn write_blocks(&mut self, bytes: usize) -> Result<(), IoError> {
        let blocks = self.pending[..bytes].chunks(BLOCK_BYTES as usize);
        self.checksums.extend(blocks.map(crc32c));
        self.file.write_at(&self.pending[..bytes], self.written)?;
        self.written += bytes as u64;
        self.pending.drain(..bytes);
        Ok(())
    }
}

/// A bodies' file, open to read.
///
/// Concurrency: any thread reads; nothing changes.
#[derive(Debug)]
pub struct BodyFile {
    file: Arc<dyn File>,
    checksums: Box<[u32]>,
    bodies_end: u64,
}

/// Verified bytes of a bodies' file.
#[derive(Debug)]
pub struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// The bytes of the file in `range`, which lies in the range that was read.
    ///
    /// # Panics
    /// If it doesn't: an error of ours.
    #[must_use]
    pub fn bytes(&self, range: Range<u64>) -> &[u8] {
        &self.bytes[(range.start - self.start) as usize..(range.end - self.start) as usize]
    }
}

impl BodyFile {
    /// Opens the file with this number and checks its header, its end and its list of checksums.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`], also if the file is missing, [`CheckpointError::NewerFormat`], and
    /// what the system says.
    pub fn open(directory: &dyn Directory, number: u64) -> Result<Self, CheckpointError> {
        let file = match directory.open(&file_name(number), OpenMode::Read) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let (file, problem) = (directory.path(&file_name(number)), "the file is missing".to_owned());
                return Err(CheckpointError::Corrupt { file, offset: 0, problem });
            }
            file => file?,
        };
        let corrupt = |offset, problem: String| CheckpointError::Corrupt {
            file: file.path().to_owned(),
            offset,
            problem,
        };
        let length = file.len()?;
        if length < FIRST_BODY_OFFSET + END_BYTES + 4 {
            return Err(corrupt(0, format!("a header and an end expected, found a file of {length} bytes")));
        }
        let mut page = vec![0; FIRST_BODY_OFFSET as usize];
        file.read_at(&mut page, 0)?;
        if page[..8] != HEADER_MAGIC {
            return Err(corrupt(0, "the header of a bodies' file expected".to_owned()));
        }
        let (expected, found) = (u32_at(&page, 12), header_crc(&page));
        if expected != found {
            return Err(corrupt(
                12,
                format!("a header with crc {expected:#010x} expected, found {found:#010x}"),
            ));
        }
        let (format, named) = (u32_at(&page, 8), u64_at(&page, 16));
        if format > FORMAT_VERSION {
            let (file, supported) = (file.path().to_owned(), FORMAT_VERSION);
            return Err(CheckpointError::NewerFormat { file, found: format, supported });
        }
        if format != FORMAT_VERSION || named != number {
            return Err(corrupt(8, format!("file {number} of format 1 expected, found {named} of {format}")));
        }
        let end_at = length - END_BYTES;
        let mut end = [0; END_BYTES as usize];
        file.read_at(&mut end, end_at)?;
        let bodies_end = u64_at(&end, 8);
        let list_bytes = bodies_end.div_ceil(BLOCK_BYTES).saturating_mul(4);
        let sound = end[..8] == END_MAGIC
            && crc32c(&end[..28]) == u32_at(&end, 28)
            && u64_at(&end, 16) == number
            && bodies_end >= FIRST_BODY_OFFSET
            && bodies_end.checked_add(list_bytes) == Some(end_at);
        if !sound {
            return Err(corrupt(end_at, format!("the end of bodies' file {number} expected")));
        }
        let mut list = vec![0; list_bytes as usize];
        file.read_at(&mut list, bodies_end)?;
        let (expected, found) = (u32_at(&end, 24), crc32c(&list));
        if expected != found {
            let problem = format!("checksums with crc {expected:#010x} expected, found {found:#010x}");
            return Err(corrupt(bodies_end, problem));
        }
        let checksums = list.chunks_exact(4).map(|crc| u32_at(crc, 0)).collect();
        Ok(Self { file, checksums, bodies_end })
    }

    /// Where the bodies end, in bytes.
    #[must_use]
    pub fn bodies_end(&self) -> u64 {
        self.bodies_end
    }

    /// The error of a body that isn't sound at byte `offset` of the file.
    #[must_use]
    pub fn corrupt(&self, offset: u64, problem: String) -> CheckpointError {
        CheckpointError::Corrupt { file: self.file.path().to_owned(), offset, problem }
    }

    /// Reads the blocks that hold `range` and compares their checksums.
    ///
    /// Cost: one read of at most 128 KiB more than the range, and as much memory.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`] if the range doesn't lie among the bodies or a block is not what
    /// was written, and what the system says.
    pub fn read(&self, range: Range<u64>) -> Result<Window, CheckpointError> {
        if range.start > range.end || range.end > self.bodies_end {
            let problem =
                format!("bodies end at byte {}; the manifest names one up to {}", self.bodies_end, range.end);
            return Err(self.corrupt(range.start, problem));
        }
        let start = range.start - range.start % BLOCK_BYTES;
        let end = range.end.next_multiple_of(BLOCK_BYTES).min(self.bodies_end);
        let mut bytes = vec![0; (end - start) as usize];
        self.file.read_at(&mut bytes, start)?;
        let first = (start / BLOCK_BYTES) as usize;
        for (at, block) in bytes.chunks(BLOCK_BYTES as usize).enumerate() {
            let (expected, found) = (self.checksums[first + at], crc32c(block));
            if expected != found {
                let problem = format!("a block with crc {expected:#010x} expected, found {found:#010x}");
                return Err(self.corrupt(start + at as u64 * BLOCK_BYTES, problem));
            }
        }
        Ok(Window { start, bytes })
    }

    /// Writes the same file, number `number`, into another directory and syncs it, not its name; every
    /// block is verified on its way. `progress` is told how many bytes each write has, and may fail. The
    /// length in bytes.
    ///
    /// Cost: one pass; memory for 8 MiB.
    ///
    /// # Errors
    /// As [`BodyFile::read`]; what the other directory and `progress` say.
    pub fn copy_to(
        &self,
        target: &dyn Directory,
        number: u64,
        progress: &mut dyn FnMut(u64) -> Result<(), CheckpointError>,
    ) -> Result<u64, CheckpointError> {
        let file = target.create(&file_name(number))?;
        for start in (0..self.bodies_end).step_by(COPY_BYTES as usize) {
            let stretch = start..self.bodies_end.min(start + COPY_BYTES);
            file.write_at(self.read(stretch.clone())?.bytes(stretch.clone()), start)?;
            progress(stretch.end - start)?;
        }
        // From what was verified, not from what a second read finds.
        let end = encode_end(&self.checksums, self.bodies_end, number);
        file.write_at(&end, self.bodies_end)?;
        file.sync_data()?;
        Ok(self.bodies_end + end.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_storage::io::memory::MemoryDirectory;

    fn body(at: usize) -> Vec<u8> {
        (0..at * 7919 % 100_000).map(|byte| (byte * at) as u8).collect()
    }

    /// A file of `count` bodies and where each lies.
    fn written(directory: &MemoryDirectory, count: usize) -> Vec<(u64, u64)> {
        let mut writer = BodyFileWriter::create(Arc::new(directory.clone()), 7).unwrap();
        let places = (0..count).map(|at| writer.append(|out| out.extend(body(at))).unwrap()).collect();
        let length = writer.finish().unwrap();
        assert_eq!(directory.open(&file_name(7), OpenMode::Read).unwrap().len().unwrap(), length);
        places
    }

    #[test]
    fn bodies_of_all_lengths_read_back_after_a_power_cut() {
        let directory = MemoryDirectory::new("db");
        let places = written(&directory, 60);
        let directory = directory.power_cut();
        let file = BodyFile::open(&directory, 7).unwrap();
        for (at, (offset, length)) in places.iter().enumerate() {
            let range = *offset..offset + length;
            assert_eq!(file.read(range.clone()).unwrap().bytes(range), body(at), "body {at}");
            assert!(offset % 8 == 0);
        }
        let (first, last) = (places[0].0, file.bodies_end());
        let all = file.read(first..last).unwrap();
        assert_eq!(all.bytes(places[9].0..places[9].0 + places[9].1), body(9));
        assert!(file.read(first..last + 1).unwrap_err().to_string().contains("is corrupt at byte 4096"));
    }

    #[test]
    fn every_flipped_byte_is_found() {
        let directory = MemoryDirectory::new("db");
        let places = written(&directory, 3);
        let whole = directory.read_all(&file_name(7), 1 << 20).unwrap();
        let read = |bytes: &[u8]| -> Result<(), CheckpointError> {
            let directory = MemoryDirectory::new("db");
            directory.write_all_new(&file_name(7), bytes).unwrap();
            let file = BodyFile::open(&directory, 7)?;
            file.read(0..file.bodies_end()).map(drop)
        };
        assert!(read(&whole).is_ok());
        let end = (places[2].0 + places[2].1) as usize;
        // Every byte outside the bodies' content, and a sample of that.
        let mut flips: Vec<usize> = (0..4096).chain(end..whole.len()).collect();
        flips.extend((4096..end).step_by(97));
        for at in flips {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            let error = read(&bytes).expect_err("a flip");
            assert!(matches!(error, CheckpointError::Corrupt { .. }), "byte {at}: {error}");
        }
        for cut in [0, 1, 4095, 4096, 5000, whole.len() - 1] {
            assert!(matches!(read(&whole[..cut]), Err(CheckpointError::Corrupt { .. })), "cut at {cut}");
        }
    }

    #[test]
    fn a_file_of_another_number_or_a_newer_format_is_refused_and_a_missing_one_named() {
        let directory = MemoryDirectory::new("db");
        written(&directory, 1);
        let mut bytes = directory.read_all(&file_name(7), 1 << 20).unwrap();
        directory.write_all_new(&file_name(8), &bytes).unwrap();
        assert!(matches!(BodyFile::open(&directory, 8), Err(CheckpointError::Corrupt { .. })));
        bytes[8] = 2;
        let crc = header_crc(&bytes[..4096]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        directory.write_all_new(&file_name(9), &bytes).unwrap();
        assert!(matches!(BodyFile::open(&directory, 9), Err(CheckpointError::NewerFormat { found: 2, .. })));
        assert!(BodyFile::open(&directory, 1).unwrap_err().to_string().contains("missing"));
        assert_eq!(file_number(&file_name(0xab)), Some(0xab));
        assert_eq!(file_number("bodies-AB"), None);
    }
}
