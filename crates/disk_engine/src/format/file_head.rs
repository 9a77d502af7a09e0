//! File head: the first 4 KiB of a CSR file.
//!
//! ```text
//! OFFSET  SIZE   FIELD            (little-endian)
//!      0     8   magic            "EVGRCSR\n" topology, "EVGRCOL\n" columns
//!      8     4   format           1
//!     12     4   crc              CRC32C of the head with the field itself zero
//!     16     8   number           also in the name
//!     24     1   level            that the file was written for; the manifest knows where it is
//!     25     1   flags            1: values have stamps
//!     26     6   zero
//!     32     8   first timestamp  of the commits in the file
//!     40     8   last timestamp
//!     48         zeros to 4,096
//! ```

use crate::format::file_name::{CsrFileName, FILE_HEAD_BYTES, FileContent, FileNumber};
use crc32c::{crc32c, crc32c_append};
use evergraph_graph::bytes::{DecodeError, Decoded, Reader};
use evergraph_graph::timestamp::Timestamp;
use std::fmt;

/// The newest format that this version reads, and the one that it writes.
pub const FORMAT_VERSION: u32 = 1;

/// The bottommost level: there is none below it.
pub const BOTTOMMOST_LEVEL: u8 = 5;

const TOPOLOGY_MAGIC: [u8; 8] = *b"EVGRCSR\n";
const COLUMNS_MAGIC: [u8; 8] = *b"EVGRCOL\n";
const STAMPED: u8 = 1;

/// Whether values of a file have stamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileStamps {
    /// Each has the timestamp of its commit: level 0.
    Stamped,
    /// None has: every reader of the file sees all of it.
    Unstamped,
}

/// The head of a CSR file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileHead {
    /// The file.
    pub name: CsrFileName,
    /// The level that it was written for.
    pub level: u8,
    /// Whether its values have stamps.
    pub stamps: FileStamps,
    /// The oldest commit in the file, and what stamps count from.
    pub first_ts: Timestamp,
    /// The newest commit in the file.
    pub last_ts: Timestamp,
}

/// Why bytes are no head that this version reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileHeadError {
    /// The file was written by a newer version.
    NewerFormat {
        /// Its format.
        found: u32,
        /// The newest format that this version reads.
        supported: u32,
    },
    /// The bytes are not as they were written, or those of another file.
    Corrupt(DecodeError),
}

impl fmt::Display for FileHeadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewerFormat { found, supported } => {
                write!(f, "format {found} of a newer version; this one reads up to {supported}")
            }
            Self::Corrupt(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FileHeadError {}

impl From<DecodeError> for FileHeadError {
    fn from(error: DecodeError) -> Self {
        Self::Corrupt(error)
    }
}

impl FileHead {
    /// What stamps of the file count from; `None` if it has none. As builders of pages take it.
    #[must_use]
    pub fn stamp_base(&self) -> Option<Timestamp> {
        (self.stamps == FileStamps::Stamped).then_some(self.first_ts)
    }

    /// The head's bytes.
    #[must_use]
    pub fn encode(&self) -> Box<[u8; FILE_HEAD_BYTES]> {
        let mut bytes = Box::new([0; FILE_HEAD_BYTES]);
        bytes[..8].copy_from_slice(&magic(self.name.content));
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.name.number.0.to_le_bytes());
        bytes[24] = self.level;
        bytes[25] = if self.stamps == FileStamps::Stamped { STAMPED } else { 0 };
        bytes[32..40].copy_from_slice(&self.first_ts.0.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.last_ts.0.to_le_bytes());
        let crc = checksum(&bytes);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads the head of the file `name`.
    ///
    /// # Errors
    /// [`FileHeadError::NewerFormat`]; [`FileHeadError::Corrupt`] if the bytes are not the head of this
    /// file.
    pub fn decode(bytes: &[u8; FILE_HEAD_BYTES], name: CsrFileName) -> Result<Self, FileHeadError> {
        let mut reader = Reader::new(bytes);
        let start = reader.clone();
        if reader.array::<8>()? != magic(name.content) {
            return Err(start.error(format!("the head of {name} expected")).into());
        }
        let (format, expected, found) = (reader.u32()?, reader.u32()?, checksum(bytes));
        if expected != found {
            return Err(start
                .error(format!("a head with crc {expected:#010x} expected, found {found:#010x}"))
                .into());
        }
        if format > FORMAT_VERSION {
            return Err(FileHeadError::NewerFormat { found: format, supported: FORMAT_VERSION });
        }
        let number = FileNumber(reader.u64()?);
        if format != FORMAT_VERSION || number != name.number {
            let expected = format!("{name} of format {FORMAT_VERSION} expected");
            return Err(start
                .error(format!("{expected}, found number {} of format {format}", number.0))
                .into());
        }
        Self::decode_fields(&mut reader, name).map_err(Into::into)
    }

    fn decode_fields(reader: &mut Reader<'_>, name: CsrFileName) -> Decoded<Self> {
        let start = reader.clone();
        let (level, flags, zero) = (reader.u8()?, reader.u8()?, reader.array::<6>()?);
        let (first_ts, last_ts) = (Timestamp(reader.u64()?), Timestamp(reader.u64()?));
        if flags & !STAMPED != 0 || zero != [0; 6] {
            return Err(start.error(format!("known flags of a file expected, found {flags:#04x}")));
        }
        if first_ts > last_ts {
            return Err(
                start.error(format!("timestamps that ascend expected, found {first_ts} to {last_ts}"))
            );
        }
        let stamps = if flags & STAMPED == 0 { FileStamps::Unstamped } else { FileStamps::Stamped };
        Ok(Self { name, level, stamps, first_ts, last_ts })
    }
}

fn magic(content: FileContent) -> [u8; 8] {
    match content {
        FileContent::Topology => TOPOLOGY_MAGIC,
        FileContent::Columns => COLUMNS_MAGIC,
    }
}

fn checksum(bytes: &[u8; FILE_HEAD_BYTES]) -> u32 {
    crc32c_append(crc32c_append(crc32c(&bytes[..12]), &[0; 4]), &bytes[16..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(content: FileContent) -> CsrFileName {
        CsrFileName::new(FileNumber(0xabc), content)
    }

    fn any_file_head() -> impl Strategy<Value = FileHead> {
        (any::<bool>(), any::<u8>(), any::<bool>(), any::<u64>(), any::<u64>()).prop_map(
            |(topology, level, stamped, a, b)| FileHead {
                name: name(if topology { FileContent::Topology } else { FileContent::Columns }),
                level,
                stamps: if stamped { FileStamps::Stamped } else { FileStamps::Unstamped },
                first_ts: Timestamp(a.min(b)),
                last_ts: Timestamp(a.max(b)),
            },
        )
    }

    fn with_right_checksum(mut bytes: Box<[u8; FILE_HEAD_BYTES]>) -> Box<[u8; FILE_HEAD_BYTES]> {
        let crc = checksum(&bytes);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    proptest! {
        #[test]
        fn a_head_reads_back_and_no_damage_passes(
            head in any_file_head(), at in 0..FILE_HEAD_BYTES, near in 0usize..48, bit in 0u8..8,
        ) {
            let bytes = head.encode();
            prop_assert_eq!(FileHead::decode(&bytes, head.name), Ok(head));
            for at in [at, near] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                prop_assert!(FileHead::decode(&damaged, head.name).is_err(), "byte {}", at);
                // With a right checksum: refused, or a head.
                drop(FileHead::decode(&with_right_checksum(damaged), head.name));
            }
        }
    }

    #[test]
    fn a_head_of_another_file_or_a_newer_format_is_refused() {
        let head = FileHead {
            name: name(FileContent::Topology),
            level: 0,
            stamps: FileStamps::Stamped,
            first_ts: Timestamp(3),
            last_ts: Timestamp(9),
        };
        assert_eq!(head.stamp_base(), Some(Timestamp(3)));
        let bytes = head.encode();
        assert!(FileHead::decode(&bytes, name(FileContent::Columns)).is_err());
        let other = CsrFileName::new(FileNumber(1), FileContent::Topology);
        assert!(FileHead::decode(&bytes, other).unwrap_err().to_string().contains("csr-0000000000000001"));
        let mut newer = bytes.clone();
        newer[8] = 2;
        let error = FileHead::decode(&with_right_checksum(newer), head.name).unwrap_err();
        assert_eq!(error, FileHeadError::NewerFormat { found: 2, supported: 1 });
        let mut flags = bytes;
        flags[25] = 3;
        assert!(FileHead::decode(&with_right_checksum(flags), head.name).is_err());
    }
}
