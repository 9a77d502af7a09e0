//! File name: which file, which page of it, and the seed that ties checksums to both.
//!
//! ```text
//! csr-0000000000000001    topology of file 1: pages of lists, vertices, entries and filters
//! col-0000000000000001    columns of file 1: pages of columns and long values
//! page n                  at byte 4,096 + n x 16,384
//! seed of a file          CRC32C of its name; of a page: continued over n, 4 bytes, little-endian
//! ```
//!
//! With the seed, a page that was written for another place fails its checksum: any two pages of a file have
//! different seeds, and two pages of different files almost always.

use crc32c::{crc32c, crc32c_append};
use evergraph_storage::planted::{Bug, planted};
use std::fmt;

/// Bytes of a page.
pub const PAGE_BYTES: usize = 16 << 10;
/// Bytes before the first page.
pub const FILE_HEAD_BYTES: usize = 4096;

/// The number of a CSR file, shared by its topology and its columns. Never given to another file that a manifest
/// names: one whose flush a crash ended may be given again, after what it left was removed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileNumber(pub u64);

/// The place of a page in its file: 0 for the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageNumber(pub u32);

impl PageNumber {
    /// The byte of the file at which the page begins.
    #[must_use]
    #[inline]
    pub const fn offset(self) -> u64 {
        FILE_HEAD_BYTES as u64 + self.0 as u64 * PAGE_BYTES as u64
    }
}

/// Which of the two files of a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FileContent {
    /// Lists, vertices, entries and filters.
    Topology,
    /// Columns and long values.
    Columns,
}

/// A file in the database's directory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CsrFileName {
    /// Its number.
    pub number: FileNumber,
    /// Which of the two files with this number.
    pub content: FileContent,
}

impl CsrFileName {
    /// The file with this number and content.
    #[must_use]
    pub const fn new(number: FileNumber, content: FileContent) -> Self {
        Self { number, content }
    }

    /// The file with this name; `None` if no CSR file is called so.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let (prefix, number) = name.split_once('-')?;
        let content = match prefix {
            "csr" => FileContent::Topology,
            "col" => FileContent::Columns,
            _ => return None,
        };
        let parsed = Self::new(FileNumber(u64::from_str_radix(number, 16).ok()?), content);
        (parsed.to_string() == name).then_some(parsed)
    }

    /// The seed of the file's checksums. Cost: formats the name; keep the result while the file is open.
    #[must_use]
    pub fn seed(self) -> FileSeed {
        FileSeed(crc32c(self.to_string().as_bytes()))
    }
}

impl fmt::Display for CsrFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.content {
            FileContent::Topology => "csr",
            FileContent::Columns => "col",
        };
        write!(f, "{prefix}-{:016x}", self.number.0)
    }
}

/// What the checksums of one file start from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileSeed(u32);

impl FileSeed {
    /// What the checksum of `page` starts from.
    #[must_use]
    #[inline]
    pub fn page(self, page: PageNumber) -> PageSeed {
        if planted(Bug::PageWithoutSeed) {
            return PageSeed(0);
        }
        PageSeed(crc32c_append(self.0, &page.0.to_le_bytes()))
    }

    /// The checksum of other bytes of the file.
    #[must_use]
    pub fn checksum(self, bytes: &[u8]) -> u32 {
        crc32c_append(self.0, bytes)
    }
}

/// What the checksum of one page starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageSeed(u32);

impl PageSeed {
    /// The checksum of the page's bytes. Cost: about 0.1 ns a byte.
    #[must_use]
    #[inline]
    pub fn checksum(self, bytes: &[u8]) -> u32 {
        crc32c_append(self.0, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_and_no_other_spelling_of_it_does() {
        for content in [FileContent::Topology, FileContent::Columns] {
            let name = CsrFileName::new(FileNumber(0xabc), content);
            assert_eq!(CsrFileName::parse(&name.to_string()), Some(name));
        }
        assert_eq!(
            CsrFileName::new(FileNumber(0xabc), FileContent::Topology).to_string(),
            "csr-0000000000000abc"
        );
        for name in
            ["csr-abc", "csr-0000000000000ABC", "bodies-0000000000000abc", "csr", "col-+000000000000abc"]
        {
            assert_eq!(CsrFileName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn every_place_has_a_seed_of_its_own() {
        let seed = |number, content| CsrFileName::new(FileNumber(number), content).seed();
        let files =
            [seed(1, FileContent::Topology), seed(1, FileContent::Columns), seed(2, FileContent::Topology)];
        let mut seeds: Vec<_> =
            files.iter().flat_map(|file| (0..3).map(|page| file.page(PageNumber(page)).0)).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 9);
    }

    #[test]
    fn pages_lie_one_behind_the_other_after_the_head() {
        assert_eq!(PageNumber(0).offset(), 4096);
        assert_eq!(PageNumber(u32::MAX).offset(), 4096 + u64::from(u32::MAX) * 16384);
    }
}
