//! Stored file: what a manifest says of a CSR file.

use crate::format::file_head::FileStamps;
use crate::format::file_name::FileNumber;
use evergraph_graph::timestamp::Timestamp;

/// One of the two files of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredPart {
    /// Its length.
    pub bytes: u64,
    /// The checksum of its footer.
    pub footer_crc: u32,
}

/// A CSR file as a manifest names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredFile {
    /// Its number.
    pub number: FileNumber,
    /// The level that it is in.
    pub level: u8,
    /// Whether its values have stamps.
    pub stamps: FileStamps,
    /// The oldest commit in it.
    pub first_ts: Timestamp,
    /// The newest commit in it.
    pub last_ts: Timestamp,
    /// The first key, in order bytes.
    pub first_key: Vec<u8>,
    /// The last key, in order bytes.
    pub last_key: Vec<u8>,
    /// Lists, vertices, entries and filters.
    pub topology: StoredPart,
    /// Columns and long values, if there are any.
    pub columns: Option<StoredPart>,
}
