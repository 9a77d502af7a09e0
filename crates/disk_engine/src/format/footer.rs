//! Footer: the last 64 bytes of a CSR file, and all that stands behind its pages.
//!
//! ```text
//! pages | index | directory | zeros | footer     the end is at a multiple of 4,096
//!
//! OFFSET  SIZE   FIELD            (little-endian)
//!      0    20   index            offset in the file 8, length 8, crc 4
//!     20    20   directory        the same
//!     40     4   pages
//!     44     8   zero
//!     52     4   crc              of the 52 bytes before
//!     56     8   magic            "EVGREND\n"
//! ```
//!
//! Differs from the design: the zeros, so that the whole file can be written by direct I/O.
//!
//! All three checksums are seeded with the file's name. The manifest has the footer's, which thus stands
//! for the content of the file but for its pages, and those have their own.

use crate::format::file_name::{CsrFileName, PageNumber};
use evergraph_graph::bytes::{DecodeError, Decoded, Reader};

/// Bytes of a footer.
pub const FOOTER_BYTES: usize = 64;

const MAGIC: [u8; 8] = *b"EVGREND\n";
/// The file's length is a multiple of this.
const ALIGNMENT: u64 = 4096;

/// Bytes behind the pages of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileSection {
    /// Where they begin in the file.
    pub offset: u64,
    /// How many there are.
    pub length: u64,
    /// Their checksum.
    crc: u32,
}

/// The footer of a CSR file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Footer {
    /// The index of pages.
    pub index: FileSection,
    /// The directory.
    pub directory: FileSection,
    /// Number of pages.
    pub pages: u32,
    /// The footer's own checksum, which the manifest repeats.
    pub crc: u32,
}

impl Footer {
    /// The bytes behind the pages of file `name`: index, directory, zeros, footer. With the footer, whose
    /// checksum belongs into the manifest.
    ///
    /// Cost: a copy and a checksum.
    #[must_use]
    pub fn encode(name: CsrFileName, pages: u32, index: &[u8], directory: &[u8]) -> (Self, Vec<u8>) {
        let seed = name.seed();
        let start = PageNumber(pages).offset();
        let section = |offset, bytes: &[u8]| FileSection {
            offset,
            length: bytes.len() as u64,
            crc: seed.checksum(bytes),
        };
        let index_section = section(start, index);
        let directory_section = section(start + index_section.length, directory);
        let mut out = [index, directory].concat();
        let end = (start + out.len() as u64 + FOOTER_BYTES as u64).next_multiple_of(ALIGNMENT);
        out.resize((end - start) as usize - FOOTER_BYTES, 0);
        let fields = out.len();
        for FileSection { offset, length, crc } in [index_section, directory_section] {
            out.extend_from_slice(&offset.to_le_bytes());
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(&crc.to_le_bytes());
        }
        out.extend_from_slice(&pages.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        let crc = seed.checksum(&out[fields..]);
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&MAGIC);
        (Self { index: index_section, directory: directory_section, pages, crc }, out)
    }

    /// Reads the footer of file `name`, which has `file_bytes` bytes.
    ///
    /// # Errors
    /// If the bytes are not this file's footer, or sections don't lie between the pages and it. Offsets
    /// count from the beginning of the footer.
    pub fn decode(bytes: &[u8; FOOTER_BYTES], name: CsrFileName, file_bytes: u64) -> Decoded<Self> {
        let mut reader = Reader::new(bytes);
        let (index, directory) = (take_section(&mut reader)?, take_section(&mut reader)?);
        let pages = reader.u32()?;
        let zero_at = reader.clone();
        let zero = reader.u64()?;
        let crc_at = reader.clone();
        let (crc, found) = (reader.u32()?, name.seed().checksum(&bytes[..52]));
        let magic_at = reader.clone();
        if reader.array::<8>()? != MAGIC {
            return Err(magic_at.error(format!("the end of {name} expected")));
        }
        if crc != found {
            return Err(crc_at.error(format!("a footer with crc {crc:#010x} expected, found {found:#010x}")));
        }
        if zero != 0 {
            return Err(zero_at.error("eight zero bytes expected"));
        }
        let start = PageNumber(pages).offset();
        let index_end = index.offset.checked_add(index.length);
        let end = directory
            .offset
            .checked_add(directory.length)
            .and_then(|end| end.checked_add(FOOTER_BYTES as u64));
        let is_sound = index.offset == start
            && index_end == Some(directory.offset)
            && end.and_then(|end| end.checked_next_multiple_of(ALIGNMENT)) == Some(file_bytes);
        if !is_sound {
            let expected = format!("{pages} pages, an index and a directory in {file_bytes} bytes expected");
            return Err(DecodeError { offset: 0, expected });
        }
        Ok(Self { index, directory, pages, crc })
    }
}

impl FileSection {
    /// Compares the checksum of the section's bytes, which were read from file `name`.
    ///
    /// # Errors
    /// If they are not as long as the section, or both checksums if they differ. Offsets count from the
    /// section's beginning.
    pub fn verify(&self, bytes: &[u8], name: CsrFileName) -> Decoded<()> {
        let found = name.seed().checksum(bytes);
        if bytes.len() as u64 == self.length && found == self.crc {
            return Ok(());
        }
        let expected = format!("{} bytes with crc {:#010x} expected", self.length, self.crc);
        Err(DecodeError {
            offset: 0,
            expected: format!("{expected}, found {} with {found:#010x}", bytes.len()),
        })
    }
}

fn take_section(reader: &mut Reader<'_>) -> Decoded<FileSection> {
    Ok(FileSection { offset: reader.u64()?, length: reader.u64()?, crc: reader.u32()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::file_name::{FileContent, FileNumber};
    use proptest::prelude::*;

    const NAME: CsrFileName = CsrFileName::new(FileNumber(5), FileContent::Topology);

    proptest! {
        #[test]
        fn a_footer_reads_back_and_no_damage_passes(
            pages in any::<u32>(), index in proptest::collection::vec(any::<u8>(), 0..9000),
            directory in proptest::collection::vec(any::<u8>(), 0..9000), at in 0..FOOTER_BYTES, to in any::<u8>(),
        ) {
            let (footer, bytes) = Footer::encode(NAME, pages, &index, &directory);
            let start = PageNumber(pages).offset();
            let length = start + bytes.len() as u64;
            prop_assert_eq!(length % ALIGNMENT, 0);
            prop_assert!(bytes.len() < index.len() + directory.len() + FOOTER_BYTES + ALIGNMENT as usize);
            let last: &[u8; FOOTER_BYTES] = bytes.last_chunk().unwrap();
            prop_assert_eq!(Footer::decode(last, NAME, length), Ok(footer));
            for (section, content) in [(footer.index, &index), (footer.directory, &directory)] {
                let found = &bytes[(section.offset - start) as usize..][..section.length as usize];
                prop_assert_eq!(found, &content[..]);
                prop_assert!(section.verify(found, NAME).is_ok());
                let columns = CsrFileName::new(FileNumber(5), FileContent::Columns);
                prop_assert!(section.verify(found, columns).is_err());
                prop_assert!(section.verify(&[found, &[0]].concat(), NAME).is_err());
            }
            prop_assert!(Footer::decode(last, NAME, length + ALIGNMENT).is_err());
            prop_assert!(Footer::decode(last, CsrFileName::new(FileNumber(6), FileContent::Topology), length).is_err());
            let mut damaged = *last;
            damaged[at] ^= to | 1;
            prop_assert!(Footer::decode(&damaged, NAME, length).is_err());
            // With a right checksum: refused, or a footer.
            let crc = NAME.seed().checksum(&damaged[..52]);
            damaged[52..56].copy_from_slice(&crc.to_le_bytes());
            drop(Footer::decode(&damaged, NAME, length));
        }
    }
}
