//! Incarnation: how often a node started before, in a file of its directory; and what tells one start from every other.
//!
//! ```text
//! OFFSET  SIZE  FIELD
//!      0     4  magic "EGNI"
//!      4     2  version, 1
//!      6     4  starts
//!     10     4  crc32c of all before
//!
//! numbers of records   1, 2, 3, ...           of a member
//!                      2^63 + nonce, ...      of a start that has not joined
//! ```
//!
//! The count is on disk before the node writes its first record, so that no two starts from one directory have the same
//! incarnation. A directory that was restored from a copy gives one again, and so do two processes with a copy each. The log
//! lets one of them join ([`crate::tables::members`]), and only who has joined writes more than the record that asks for it. So
//! ids of members are given once, if those of that record are, whoever writes it: its number comes from a nonce, drawn once a
//! start. Were it 1, the second process would take the first one's for its own.

use crate::node::checked_file::{CheckedFile, HEAD_BYTES};
use crate::planted::{Bug, planted};
use crate::record_id::{Author, NodeId, RecordId};
use evergraph_graph::bytes::Decoded;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::random::Random;

const FILE: CheckedFile = CheckedFile {
    name: "node_starts",
    new_name: "node_starts.new",
    magic: "EGNI",
    version: 1,
    // The count, and the checksum.
    bytes_max: HEAD_BYTES as u64 + 8,
};

/// The first number of a record that a start may give before it has joined.
const JOINING_NUMBERS: u64 = 1 << 63;

/// More records than a start writes before it has joined: one a second, or fewer.
const JOINING_RECORDS_MAX: u64 = 1 << 24;

/// One start of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeStart {
    /// Whose start, and how often the node started before. Another process may say the same of itself.
    pub author: Author,
    /// A random number: no other process has it.
    pub nonce: u64,
}

impl NodeStart {
    /// The number of the first record that asks to join.
    #[must_use]
    pub fn first_number(self) -> u64 {
        JOINING_NUMBERS | self.nonce
    }

    /// Whether this start may have given the number to a record that asks to join.
    #[must_use]
    pub fn is_joining_number(self, number: u64) -> bool {
        let behind = number.wrapping_sub(self.first_number()) & (JOINING_NUMBERS - 1);
        number >= JOINING_NUMBERS && behind < JOINING_RECORDS_MAX
    }

    /// Whether this start may have asked to join by `record`.
    #[must_use]
    pub fn asks_by(self, record: RecordId) -> bool {
        record.author == self.author && self.is_joining_number(record.number)
    }

    /// The number of the record that follows `number`, as long as the start has not joined.
    #[must_use]
    pub fn number_after(number: u64) -> u64 {
        JOINING_NUMBERS | number.wrapping_add(1)
    }
}

/// Counts a start of `node`, whose directory this is, and draws its nonce.
///
/// # Errors
/// [`CheckpointError::Corrupt`], and what the system says. The node must not write anything then.
pub fn count_start(
    directory: &dyn Directory,
    node: NodeId,
    random: &mut dyn Random,
) -> Result<NodeStart, CheckpointError> {
    let incarnation = starts(directory)?;
    if !planted(Bug::IncarnationUnsynced) {
        FILE.replace(directory, &encode(incarnation + 1))?;
    }
    Ok(NodeStart { author: Author { node, incarnation }, nonce: random.next_u64() })
}

/// After a start was refused because `known` has joined: the next start from this directory comes after it. Without this, the
/// node of an old copy would have to start as often again as it had started since the copy was made.
///
/// # Errors
/// As [`count_start`].
pub fn skip_to(directory: &dyn Directory, known: u32) -> Result<(), CheckpointError> {
    let next = known.saturating_add(1);
    if starts(directory)? < next {
        FILE.replace(directory, &encode(next))?;
    }
    Ok(())
}

/// How often the node started before: never, if nothing is there.
fn starts(directory: &dyn Directory) -> Result<u32, CheckpointError> {
    Ok(FILE.read(directory, decode)?.unwrap_or(0))
}

fn encode(starts: u32) -> Vec<u8> {
    FILE.encode(4, |out| out.extend_from_slice(&starts.to_le_bytes()))
}

fn decode(bytes: &[u8]) -> Decoded<u32> {
    FILE.decode(bytes, |reader| {
        let place = reader.clone();
        match reader.u32()? {
            // The next start would have no number.
            u32::MAX => Err(place.error("fewer starts expected")),
            starts => Ok(starts),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
    use evergraph_storage::io::memory::MemoryDirectory;
    use evergraph_storage::io::random::SplitMix64;
    use std::io::ErrorKind;
    use std::sync::Arc;

    const NODE: NodeId = NodeId(3);

    fn count(directory: &dyn Directory) -> Result<u32, CheckpointError> {
        let start = count_start(directory, NODE, &mut SplitMix64::new(1))?;
        assert_eq!(start.author.node, NODE);
        Ok(start.author.incarnation)
    }

    #[test]
    fn no_start_has_the_number_of_another_one_whatever_a_power_cut_takes() {
        let mut directory = MemoryDirectory::new("node");
        for start in 0..5 {
            assert_eq!(count(&directory).unwrap(), start, "the number of an earlier start");
            directory = directory.power_cut();
        }
    }

    #[test]
    fn planted_bugs_are_found() {
        let test = no_start_has_the_number_of_another_one_whatever_a_power_cut_takes;
        assert_found(Bug::IncarnationUnsynced, test, "the number of an earlier start");
    }

    #[test]
    fn starts_from_copies_of_a_directory_differ_by_their_numbers_alone() {
        let (directory, mut random) = (MemoryDirectory::new("node"), SplitMix64::new(7));
        count_start(&directory, NODE, &mut random).unwrap();
        let copy = directory.power_cut();
        let one = count_start(&directory, NODE, &mut random).unwrap();
        let other = count_start(&copy, NODE, &mut random).unwrap();
        assert_eq!((one.author, one.author.incarnation), (other.author, 1));
        let numbers = [one, other].map(NodeStart::first_number);
        assert_ne!(numbers[0], numbers[1]);
        assert!(numbers.iter().all(|number| *number >= JOINING_NUMBERS), "a member's are below");
        assert_eq!(NodeStart::number_after(u64::MAX), JOINING_NUMBERS);
        assert_eq!(NodeStart::number_after(JOINING_NUMBERS | 4), JOINING_NUMBERS | 5);
        let last = NodeStart { nonce: u64::MAX, ..one };
        for start in [one, other, last] {
            let second = NodeStart::number_after(start.first_number());
            assert!(start.is_joining_number(start.first_number()) && start.is_joining_number(second));
            assert!(!start.is_joining_number(1) && !start.is_joining_number(start.first_number() - 1));
        }
        assert!(!one.is_joining_number(other.first_number()));
    }

    #[test]
    fn a_start_that_was_refused_is_followed_by_one_behind_those_that_joined() {
        let directory = MemoryDirectory::new("node");
        assert_eq!(count(&directory).unwrap(), 0);
        skip_to(&directory, 40).unwrap();
        skip_to(&directory, 7).unwrap();
        let directory = directory.power_cut();
        assert_eq!(count(&directory).unwrap(), 41);
        skip_to(&directory, u32::MAX).unwrap();
        assert!(count(&directory).unwrap_err().to_string().contains("fewer starts expected"));
    }

    #[test]
    fn a_start_that_cannot_be_written_fails_and_the_file_is_whole() {
        let mut memory = MemoryDirectory::new("node");
        assert_eq!(count(&memory).unwrap(), 0);
        for nth in 1..20 {
            let failing = FailingDirectory::new(Arc::new(memory.clone()));
            failing.plan(Fault::any_change(ErrorKind::StorageFull).nth(nth));
            let counted = count(&failing);
            memory = memory.power_cut();
            let found = starts(&memory).unwrap();
            if let Ok(before) = counted {
                assert_eq!((before, found), (1, 2), "what was given is on disk");
                return;
            }
            assert_eq!(found, 1, "change {nth} failed");
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
