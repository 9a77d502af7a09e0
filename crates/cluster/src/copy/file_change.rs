//! File change: what is done with a directory, as bytes.
//!
//! ```text
//! KIND  CONTENT, behind the kind
//!    1  name                               a file is made
//!    2  name, offset:u64, bytes            bytes are written
//!    3  name                               a file is synced
//!    4  name, name                         a file gets another name
//!    5  name                               a file is removed
//!    6                                     names are synced
//! ```
//!
//! A name is `length:u8` and so many bytes, `bytes` are `length:varint` and so many. Changes follow each other without anything in
//! between.

use evergraph_graph::bytes::{Decoded, Reader, put_bytes};

/// The most bytes of a name.
const NAME_BYTES_MAX: usize = 255;

/// A change of a directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileChange<'a> {
    /// A file is made.
    Create {
        /// Its name.
        name: &'a str,
    },
    /// Bytes are written into a file that was made before.
    Write {
        /// Its name.
        name: &'a str,
        /// From which byte on.
        offset: u64,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// What was written into a file is made durable.
    Sync {
        /// Its name.
        name: &'a str,
    },
    /// A file gets another name.
    Rename {
        /// The one before.
        from: &'a str,
        /// The new one.
        to: &'a str,
    },
    /// A file is removed.
    Remove {
        /// Its name.
        name: &'a str,
    },
    /// Names are made durable.
    SyncNames,
}

mod kind {
    pub const CREATE: u8 = 1;
    pub const WRITE: u8 = 2;
    pub const SYNC: u8 = 3;
    pub const RENAME: u8 = 4;
    pub const REMOVE: u8 = 5;
    pub const SYNC_NAMES: u8 = 6;
}

/// Bytes of a change that writes, beside those of the name and those that are written, at most.
pub const WRITE_BYTES_BESIDE: usize = 1 + 1 + 8 + 10;

impl<'a> FileChange<'a> {
    /// Appends the bytes.
    ///
    /// # Panics
    /// If a name has more than 255 bytes, which no file system takes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Create { name } => put_named(out, kind::CREATE, name),
            Self::Write { name, offset, bytes } => {
                put_named(out, kind::WRITE, name);
                out.extend_from_slice(&offset.to_le_bytes());
                put_bytes(out, bytes);
            }
            Self::Sync { name } => put_named(out, kind::SYNC, name),
            Self::Rename { from, to } => {
                put_named(out, kind::RENAME, from);
                put_name(out, to);
            }
            Self::Remove { name } => put_named(out, kind::REMOVE, name),
            Self::SyncNames => out.push(kind::SYNC_NAMES),
        }
    }

    /// Reads one change.
    ///
    /// # Errors
    /// If there is something else: the byte, and what was expected there.
    pub fn decode(reader: &mut Reader<'a>) -> Decoded<Self> {
        let start = reader.clone();
        Ok(match reader.u8()? {
            kind::CREATE => Self::Create { name: take_name(reader)? },
            kind::WRITE => {
                let (name, place) = (take_name(reader)?, reader.clone());
                let (offset, bytes) = (reader.u64()?, reader.bytes()?);
                if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > i64::MAX as u64) {
                    return Err(place.error("a place in a file expected"));
                }
                Self::Write { name, offset, bytes }
            }
            kind::SYNC => Self::Sync { name: take_name(reader)? },
            kind::RENAME => Self::Rename { from: take_name(reader)?, to: take_name(reader)? },
            kind::REMOVE => Self::Remove { name: take_name(reader)? },
            kind::SYNC_NAMES => Self::SyncNames,
            found => return Err(start.error(format!("a change of a directory expected, found {found}"))),
        })
    }
}

fn put_named(out: &mut Vec<u8>, kind: u8, name: &str) {
    out.push(kind);
    put_name(out, name);
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    out.push(u8::try_from(name.len()).expect("names of files have at most 255 bytes"));
    out.extend_from_slice(name.as_bytes());
}

fn take_name<'a>(reader: &mut Reader<'a>) -> Decoded<&'a str> {
    let length = usize::from(reader.u8()?);
    let start = reader.clone();
    debug_assert!(length <= NAME_BYTES_MAX);
    std::str::from_utf8(reader.take(length)?).map_err(|_| start.error("a name in UTF-8 expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_read_back_and_no_cut_of_them_does() {
        let long = "n".repeat(NAME_BYTES_MAX);
        let changes = [
            FileChange::Create { name: "a" },
            FileChange::Write { name: &long, offset: 1 << 40, bytes: &[7; 300] },
            FileChange::Sync { name: "a" },
            FileChange::Rename { from: "a", to: "b" },
            FileChange::Remove { name: "b" },
            FileChange::SyncNames,
        ];
        let mut all = Vec::new();
        for change in &changes {
            let mut bytes = Vec::new();
            change.encode(&mut bytes);
            for cut in 0..bytes.len() {
                assert!(FileChange::decode(&mut Reader::new(&bytes[..cut])).is_err(), "{change:?}");
            }
            all.extend(bytes);
        }
        let mut reader = Reader::new(&all);
        for change in changes {
            assert_eq!(FileChange::decode(&mut reader), Ok(change));
        }
        assert!(reader.is_empty());
    }

    #[test]
    fn what_is_no_change_is_an_error_with_its_place() {
        for bytes in [&[0][..], &[7], &[1, 2, 0xff, 0xff]] {
            assert!(FileChange::decode(&mut Reader::new(bytes)).is_err());
        }
        let mut far = Vec::new();
        FileChange::Write { name: "a", offset: u64::MAX, bytes: &[1] }.encode(&mut far);
        assert_eq!(
            FileChange::decode(&mut Reader::new(&far)).unwrap_err().expected,
            "a place in a file expected"
        );
    }
}
