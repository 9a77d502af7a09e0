//! Blocks: a bodies' file in which only some blocks verify.
//!
//! A block counts if it has the checksum that the list behind the bodies has for it. That list need not be
//! sound as a whole: a damaged entry costs its block. Header and end serve for one thing, to say that the
//! file is the one that the manifest means: one of the two has to.

use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crc32c::crc32c;

use crate::checkpoint::body_file::{
    BLOCK_BYTES, END_BYTES, FIRST_BODY_OFFSET, file_name, number_in_end, number_in_header,
};
use evergraph_storage::io::directory::{Directory, File, OpenMode};
use evergraph_storage::io::error::IoError;

/// A bodies' file that may be damaged, open to read.
#[derive(Debug)]
pub struct DamagedFile {
    file: Arc<dyn File>,
    bodies_end: u64,
    /// `None` where the entry can't be read.
    checksums: Vec<Option<u32>>,
}

/// Bytes of a bodies' file, and which of them don't verify.
#[derive(Debug)]
pub struct Stretch {
    start: u64,
    bytes: Vec<u8>,
    /// Ascending; offsets in the file.
    bad: Vec<Range<u64>>,
}

impl Stretch {
    /// The bytes of the file in `range`, if all of them verify.
    #[must_use]
    pub fn verified(&self, range: Range<u64>) -> Option<&[u8]> {
        let is_bad = self.bad.iter().any(|bad| bad.start < range.end && range.start < bad.end);
        let (start, end) = (range.start.checked_sub(self.start)?, range.end.checked_sub(self.start)?);
        if is_bad { None } else { self.bytes.get(start as usize..end as usize) }
    }

    /// Whether every byte verifies.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.bad.is_empty()
    }

    /// The first byte that doesn't verify.
    #[must_use]
    pub fn first_bad(&self) -> Option<u64> {
        self.bad.first().map(|bad| bad.start)
    }
}

impl DamagedFile {
    /// Opens the file with this number; why it can't be used, if it can't.
    ///
    /// # Errors
    /// What the system says, but for a file that isn't there and reads that fail.
    pub fn open(directory: &dyn Directory, number: u64) -> Result<Result<Self, String>, IoError> {
        let file = match directory.open(&file_name(number), OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Err("the file is missing".to_owned()));
            }
            Err(error) => return Err(error),
        };
        let length = file.len()?;
        let Some(bodies_end) = bodies_end(length) else {
            return Ok(Err(format!("a header, bodies and an end expected, found {length} bytes")));
        };
        let mut header = vec![0; FIRST_BODY_OFFSET as usize];
        let header = file.read_at(&mut header, 0).ok().and_then(|()| number_in_header(&header));
        let mut end = [0; END_BYTES as usize];
        let end = file.read_at(&mut end, length - END_BYTES).ok().and_then(|()| number_in_end(&end));
        if header != Some(number) && end != Some(number) {
            return Ok(Err(format!(
                "neither the header nor the end says that this is bodies' file {number}"
            )));
        }
        let entry = |block: u64| {
            let mut crc = [0; 4];
            let read = file.read_at(&mut crc, bodies_end + 4 * block);
            read.ok().map(|()| u32::from_le_bytes(crc))
        };
        let checksums = (0..bodies_end.div_ceil(BLOCK_BYTES)).map(entry).collect();
        Ok(Ok(Self { file, bodies_end, checksums }))
    }

    /// Where the file lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Reads the blocks that hold `range`, or as much as there is of it.
    ///
    /// Cost: one read a block, and memory for the range and 128 KiB.
    #[must_use]
    pub fn read(&self, range: Range<u64>) -> Stretch {
        let start = (range.start - range.start % BLOCK_BYTES).min(self.bodies_end);
        let end = range.end.min(self.bodies_end);
        let mut stretch = Stretch { start, bytes: Vec::new(), bad: Vec::new() };
        for block in start / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES).max(start / BLOCK_BYTES) {
            let from = block * BLOCK_BYTES;
            let to = (from + BLOCK_BYTES).min(self.bodies_end);
            let mut bytes = vec![0; (to - from) as usize];
            let is_read = self.file.read_at(&mut bytes, from).is_ok();
            if !is_read || self.checksums[block as usize] != Some(crc32c(&bytes)) {
                stretch.bad.push(from..to);
            }
            stretch.bytes.append(&mut bytes);
        }
        if range.end > self.bodies_end {
            stretch.bad.push(self.bodies_end.max(range.start)..range.end);
        }
        stretch
    }
}

/// Where the bodies end in a file of `length` bytes: the list has four bytes for each block of them.
fn bodies_end(length: u64) -> Option<u64> {
    let rest = length.checked_sub(END_BYTES)?;
    let blocks = rest.div_ceil(BLOCK_BYTES + 4);
    let end = rest.checked_sub(4 * blocks)?;
    (end >= FIRST_BODY_OFFSET && end.div_ceil(BLOCK_BYTES) == blocks).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::body_file::{BodyFile, BodyFileWriter};
    use evergraph_storage::io::memory::MemoryDirectory;

    fn written(bytes: usize) -> (MemoryDirectory, Vec<u8>) {
        let directory = MemoryDirectory::new("db");
        let mut writer = BodyFileWriter::create(Arc::new(directory.clone()), 3).unwrap();
        writer.append(|out| out.extend((0..bytes).map(|at| (at * 7) as u8))).unwrap();
        writer.finish().unwrap();
        let all = directory.read_all(&file_name(3), 1 << 30).unwrap();
        (directory, all)
    }

    #[test]
    fn the_end_of_the_bodies_follows_from_the_length() {
        let block = BLOCK_BYTES as usize;
        for bytes in [1, 100, block - 4097, block - 4096, block - 4095, 3 * block, 5 * block + 9] {
            let (directory, all) = written(bytes);
            let sound = BodyFile::open(&directory, 3).unwrap();
            assert_eq!(bodies_end(all.len() as u64), Some(sound.bodies_end()), "{bytes}");
        }
        assert_eq!([0, 31, 4000].map(bodies_end), [None; 3]);
    }

    #[test]
    fn a_flip_costs_its_block_and_no_other() {
        let (_, all) = written(300_000);
        for at in [0, 10, 5000, 70_000, 140_000, 300_000, all.len() - 40, all.len() - 33, all.len() - 5] {
            let mut bytes = all.clone();
            bytes[at] ^= 1;
            let directory = MemoryDirectory::new("db");
            directory.write_all_new(&file_name(3), &bytes).unwrap();
            let file = DamagedFile::open(&directory, 3).unwrap().unwrap();
            let stretch = file.read(0..file.bodies_end);
            assert!(stretch.bad.len() <= 1, "byte {at}");
            let is_bad = |offset: usize| stretch.verified(offset as u64..offset as u64 + 1).is_none();
            if at < 304_000 {
                assert!(is_bad(at), "byte {at}");
            }
            assert_eq!(is_bad(at + BLOCK_BYTES as usize), at as u64 + BLOCK_BYTES >= file.bodies_end);
        }
    }

    #[test]
    fn a_file_that_nothing_says_the_number_of_isnt_used() {
        let (_, mut all) = written(100);
        let directory = MemoryDirectory::new("db");
        directory.write_all_new(&file_name(4), &all).unwrap();
        assert!(DamagedFile::open(&directory, 4).unwrap().unwrap_err().contains("bodies' file 4"));
        assert_eq!(DamagedFile::open(&directory, 5).unwrap().unwrap_err(), "the file is missing");
        let last = all.len() - 1;
        (all[3], all[last]) = (0, 0);
        directory.write_all_new(&file_name(3), &all).unwrap();
        assert!(DamagedFile::open(&directory, 3).unwrap().is_err());
    }
}
