//! Seen file: up to where a node has applied the log, in a file of its directory that is written far more often than a checkpoint.
//!
//! ```text
//! OFFSET  SIZE  FIELD
//!      0     4  magic "EGNS"
//!      4     2  version, 1
//!      6    16  salt of the graph
//!     22     8  position
//!     30    16  digest of the log through it
//!     46     4  crc32c of all before
//! ```
//!
//! A start goes on from a checkpoint, and would take a log for its own that has lost what was applied behind that: what was restored
//! from an older copy, and what others appended to it since. So a start expects the log to have what this file says, as it expects what
//! its partitions hold ([`crate::node::apply`]); a log that does not is another one, and the node stops.
//!
//! The file is replaced as a whole, and says less than was applied, or as much: never more. It is written twice a second while
//! something is applied (`running::seen_writer`). What was applied since may be forgotten by a crash.

use crate::digest::{SeenLog, put_seen, take_seen};
use crate::key_hash::graph_salt::GraphSalt;
use crate::node::checked_file::{CheckedFile, HEAD_BYTES};
use evergraph_graph::bytes::Decoded;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::Directory;

/// The name of the file.
pub const FILE_NAME: &str = "node_seen";

const SALT_BYTES: usize = 16;
const SEEN_BYTES: usize = 24;

const FILE: CheckedFile = CheckedFile {
    name: FILE_NAME,
    new_name: "node_seen.new",
    magic: "EGNS",
    version: 1,
    // With the checksum.
    bytes_max: (HEAD_BYTES + SALT_BYTES + SEEN_BYTES + 4) as u64,
};

/// Says in `directory` that the node has applied the log of the graph with `salt` through `seen`.
///
/// Cost: a file of 50 bytes, two syncs.
///
/// # Errors
/// What the system says. A start finds what was there before, or this.
pub fn write(directory: &dyn Directory, salt: GraphSalt, seen: &SeenLog) -> Result<(), CheckpointError> {
    FILE.replace(directory, &encode(salt, seen))?;
    Ok(())
}

/// What [`write()`] said last in `directory`; `None` if it never did.
///
/// # Errors
/// [`CheckpointError::Corrupt`], also if it is of another graph; and what the system says.
pub fn read(directory: &dyn Directory, salt: GraphSalt) -> Result<Option<SeenLog>, CheckpointError> {
    FILE.read(directory, |bytes| decode(salt, bytes))
}

fn encode(salt: GraphSalt, seen: &SeenLog) -> Vec<u8> {
    FILE.encode(SALT_BYTES + SEEN_BYTES, |out| {
        out.extend_from_slice(&salt.0);
        put_seen(out, seen);
    })
}

fn decode(salt: GraphSalt, bytes: &[u8]) -> Decoded<SeenLog> {
    FILE.decode(bytes, |reader| {
        let place = reader.clone();
        if GraphSalt(reader.array::<SALT_BYTES>()?) != salt {
            return Err(place.error("the log of this graph expected, found that of another one"));
        }
        take_seen(reader)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::LogDigest;
    use crate::log_position::LogPosition;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
    use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
    use std::io::ErrorKind;
    use std::sync::Arc;

    const SALT: GraphSalt = GraphSalt([7; 16]);

    fn seen(position: u64) -> SeenLog {
        SeenLog { position: LogPosition(position), digest: LogDigest([position as u8; 16]) }
    }

    #[test]
    fn what_was_applied_is_known_after_a_power_cut_at_any_step() {
        assert!(read(&MemoryDirectory::new("node"), SALT).unwrap().is_none(), "a new one");
        for nth in 1..20 {
            let memory = MemoryDirectory::new("node");
            write(&memory, SALT, &seen(3)).unwrap();
            let failing = FailingDirectory::new(Arc::new(memory.clone()));
            failing.plan(Fault::any_change(ErrorKind::StorageFull).nth(nth).lasting());
            let written = write(&failing, SALT, &seen(9));
            for kept in [CrashOutcome::Lost, CrashOutcome::Kept] {
                let found = read(&memory.crash(|_| kept), SALT).unwrap().unwrap();
                assert!(
                    found == seen(9) || (found == seen(3) && written.is_err()),
                    "change {nth}: {found:?}"
                );
            }
            if written.is_ok() {
                return;
            }
        }
        panic!("it takes fewer changes");
    }

    #[test]
    fn the_bytes_are_those_of_version_1_and_any_edit_is_an_error() {
        let bytes = encode(SALT, &seen(3));
        assert_eq!(bytes.len() as u64, FILE.bytes_max);
        let head = [&b"EGNS\x01\x00"[..], &[7; 16], &[3, 0, 0, 0, 0, 0, 0, 0], &[3; 16]].concat();
        assert_eq!(bytes[..46], head);
        assert_eq!(decode(SALT, &bytes), Ok(seen(3)));
        for at in 0..bytes.len() {
            let mut edited = bytes.clone();
            edited[at] ^= 1;
            assert!(decode(SALT, &edited).is_err(), "byte {at}");
            assert!(decode(SALT, &bytes[..at]).is_err());
        }
        let other = decode(GraphSalt([8; 16]), &bytes).unwrap_err();
        assert!(other.expected.contains("another one"), "{other}");
    }
}
