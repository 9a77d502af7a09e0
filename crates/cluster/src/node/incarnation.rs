//! Incarnation: how often a node started before, in a file of its directory.
//!
//! ```text
//! OFFSET  SIZE  FIELD
//!      0     4  magic "EGNI"
//!      4     2  version, 1
//!      6     4  starts
//!     10     4  crc32c of all before
//! ```
//!
//! It is on disk before the node writes its first record, so that no two starts give a record the same id. A directory that
//! was restored from a copy would give one again: the log refuses to let it join ([`crate::tables::members`]).

use crate::checksum::{before_checksum, put_checksum};
use crate::node::checkpoint::replace;
use crate::planted::{Bug, planted};
use evergraph_graph::bytes::{DecodeError, Decoded, Reader};
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::Directory;
use std::io::ErrorKind;

const FILE_NAME: &str = "node_starts";
const NEW_FILE_NAME: &str = "node_starts.new";
const MAGIC: &[u8; 4] = b"EGNI";
const VERSION: u16 = 1;
const STARTS_OFFSET: usize = 6;
const FILE_BYTES: u64 = 14;

/// Counts a start of the node whose directory this is. Returns how often it started before.
///
/// # Errors
/// [`CheckpointError::Corrupt`], and what the system says. The node must not write anything then.
pub fn count_start(directory: &dyn Directory) -> Result<u32, CheckpointError> {
    let starts = match directory.read_all(FILE_NAME, FILE_BYTES) {
        Ok(bytes) => decode(&bytes).map_err(|error| CheckpointError::Corrupt {
            file: directory.path(FILE_NAME),
            offset: error.offset as u64,
            problem: error.expected,
        })?,
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        Err(error) => return Err(error.into()),
    };
    if !planted(Bug::IncarnationUnsynced) {
        replace(directory, NEW_FILE_NAME, FILE_NAME, &encode(starts + 1))?;
    }
    Ok(starts)
}

fn encode(starts: u32) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&starts.to_le_bytes());
    put_checksum(&mut out);
    out
}

fn decode(bytes: &[u8]) -> Decoded<u32> {
    let content = before_checksum(bytes)?;
    let mut reader = Reader::new(content);
    let start = reader.clone();
    if reader.take(MAGIC.len())? != MAGIC {
        return Err(start.error("the magic EGNI expected"));
    }
    let place = reader.clone();
    match reader.u16()? {
        VERSION => {}
        found => return Err(place.error(format!("version {VERSION} expected, found {found}"))),
    }
    let starts = reader.u32()?;
    if !reader.is_empty() {
        return Err(reader.error(format!("the end expected, {} bytes left", reader.remaining())));
    }
    if starts == u32::MAX {
        return Err(DecodeError { offset: STARTS_OFFSET, expected: "fewer starts expected".to_owned() });
    }
    Ok(starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
    use evergraph_storage::io::memory::MemoryDirectory;
    use std::sync::Arc;

    #[test]
    fn no_start_has_the_number_of_another_one_whatever_a_power_cut_takes() {
        let mut directory = MemoryDirectory::new("node");
        for start in 0..5 {
            assert_eq!(count_start(&directory).unwrap(), start, "the number of an earlier start");
            directory = directory.power_cut();
        }
    }

    #[test]
    fn planted_bugs_are_found() {
        let test = no_start_has_the_number_of_another_one_whatever_a_power_cut_takes;
        assert_found(Bug::IncarnationUnsynced, test, "the number of an earlier start");
    }

    #[test]
    fn a_start_that_cannot_be_written_fails_and_the_file_is_whole() {
        let mut memory = MemoryDirectory::new("node");
        assert_eq!(count_start(&memory).unwrap(), 0);
        for nth in 1..20 {
            let failing = FailingDirectory::new(Arc::new(memory.clone()));
            failing.plan(Fault::any_change(ErrorKind::StorageFull).nth(nth));
            let counted = count_start(&failing);
            memory = memory.power_cut();
            let starts = decode(&memory.read_all(FILE_NAME, FILE_BYTES).unwrap()).unwrap();
            if let Ok(before) = counted {
                assert_eq!((before, starts), (1, 2), "what was given is on disk");
                return;
            }
            assert_eq!(starts, 1, "change {nth} failed");
        }
        panic!("a start takes fewer changes");
    }

    #[test]
    fn the_bytes_are_those_of_version_1_and_any_edit_is_an_error() {
        // Written by an independent program.
        let golden = *b"EGNI\x01\x00\x03\x00\x00\x00F?\x9e\x1a";
        assert_eq!(encode(3), golden);
        assert_eq!(decode(&golden), Ok(3));
        for at in 0..golden.len() {
            let mut edited = golden;
            edited[at] ^= 1;
            assert!(decode(&edited).is_err());
            assert!(decode(&golden[..at]).is_err());
        }
        assert!(decode(&encode(u32::MAX)).is_err(), "the next start would have no number");
    }
}
