//! Checkpoint: what follows from the log, in a file of a node's directory.
//!
//! ```text
//! OFFSET  SIZE  FIELD
//!      0     4  magic "EGNC"
//!      4     2  version, 1
//!      6    16  salt of the graph
//!     22        certifier   length:varint, then its state (`certification/saved_form.rs`)
//!               tables      length:varint, then their state (`tables/saved_form.rs`)
//!            4  crc32c of all before
//! ```
//!
//! There is always a whole one ([`crate::node::checked_file`]). Partitions lie in directories of their own, and have what the
//! file says, or more.

use crate::certification::certifier::Certifier;
use crate::key_hash::graph_salt::GraphSalt;
use crate::node::checked_file::CheckedFile;
use crate::node::replicated_state::ReplicatedState;
use crate::tables::cluster_tables::ClusterTables;
use evergraph_graph::bytes::{DecodeError, Decoded, Reader, put_bytes};
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::Directory;

/// The name of the file.
pub const FILE_NAME: &str = "node_state";

const FILE: CheckedFile = CheckedFile {
    name: FILE_NAME,
    new_name: "node_state.new",
    magic: "EGNC",
    version: 1,
    // Two generations take some hundred mebibytes, with the touches of the largest transactions and all parts that may wait.
    bytes_max: 4 << 30,
};

const SALT_BYTES: usize = 16;

/// The bytes of the file.
#[must_use]
pub fn encode(state: &ReplicatedState) -> Vec<u8> {
    let (certifier, tables) = (state.certifier().encode(), state.tables().encode());
    // With the lengths of both.
    let bytes = SALT_BYTES + certifier.len() + tables.len() + 20;
    FILE.encode(bytes, |out| {
        out.extend_from_slice(&state.salt().0);
        put_bytes(out, &certifier);
        put_bytes(out, &tables);
    })
}

/// Reads what [`encode`] wrote, of the graph with `salt`.
///
/// # Errors
/// If there is something else: the byte, and what was expected there.
pub fn decode(salt: GraphSalt, bytes: &[u8]) -> Decoded<ReplicatedState> {
    FILE.decode(bytes, |reader| {
        let place = reader.clone();
        if GraphSalt(reader.array::<SALT_BYTES>()?) != salt {
            return Err(place.error("the checkpoint of this graph expected, found that of another one"));
        }
        let certifier = take_section(reader, |bytes| Certifier::decode(salt, bytes))?;
        let place = reader.clone();
        let tables = take_section(reader, ClusterTables::decode)?;
        if tables.newest() > certifier.seen().position.end() {
            return Err(place.error("tables of what was applied expected, found a later record"));
        }
        Ok(ReplicatedState::of(salt, certifier, tables))
    })
}

/// Reads a length, and `decode`s as many bytes; an error names its place in the file.
fn take_section<T>(reader: &mut Reader<'_>, decode: impl Fn(&[u8]) -> Decoded<T>) -> Decoded<T> {
    let section = reader.bytes()?;
    let begins = reader.offset() - section.len();
    decode(section).map_err(|error| DecodeError { offset: begins + error.offset, ..error })
}

/// Makes `state` the checkpoint of `directory`.
///
/// # Errors
/// What the system says. A start finds this checkpoint or the one before.
pub fn write(directory: &dyn Directory, state: &ReplicatedState) -> Result<(), CheckpointError> {
    FILE.replace(directory, &encode(state))?;
    Ok(())
}

/// The checkpoint of `directory`, of the graph with `salt`; `None` if the node never made one.
///
/// # Errors
/// [`CheckpointError::Corrupt`], and what the system says.
pub fn read(directory: &dyn Directory, salt: GraphSalt) -> Result<Option<ReplicatedState>, CheckpointError> {
    FILE.read(directory, |bytes| decode(salt, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certification::certifier::CertifierLimits;
    use crate::checksum::put_checksum;
    use crate::key_hash::graph_salt::KeyHash;
    use crate::log::reader::ReadMessage;
    use crate::log_position::LogPosition;
    use crate::record::body::{NewName, PlaceChange, PlaceStep, Record, RecordBody};
    use crate::record::message::{Message, MessageBuilder};
    use crate::record_id::{Author, NodeId, RecordId};
    use crate::tables::members::Members;
    use evergraph_graph::id::PartitionId;
    use evergraph_graph::partition::PartitionCount;
    use evergraph_graph::timestamp::Timestamp;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
    use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::io::ErrorKind;
    use std::sync::Arc;

    const SALT: GraphSalt = GraphSalt([7; 16]);
    const AUTHOR: Author = Author { node: NodeId(0), incarnation: 0 };

    /// After so many messages, each of which gives a name a number; before the first one the author joined.
    fn state(messages: u64) -> ReplicatedState {
        let mut members = Members::new([(NodeId(0), "a:1".into()), (NodeId(1), "b:2".into())]);
        if messages > 0 {
            members.join(AUTHOR, "a:1".into()).unwrap();
        }
        let tables = ClusterTables::new(PartitionCount::new(1).unwrap(), members, 1);
        let limits = CertifierLimits { generation_slots: 32, parts_bytes: 1000 };
        let mut state = ReplicatedState::new(SALT, limits, tables);
        for number in 1..=messages {
            let mut builder = MessageBuilder::new(AUTHOR);
            let name = NewName::Label(format!("label {number}").into());
            let body = RecordBody::Name { name, touches: vec![KeyHash(number)] };
            assert!(builder.push(&Record { number, body }));
            let bytes: Arc<[u8]> = builder.finish(&state.seen()).into();
            let message = Message::decode(&bytes).unwrap();
            state.apply(ReadMessage { position: LogPosition(number), message, bytes });
        }
        state
    }

    /// The bytes with their checksum, whatever they are.
    fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.truncate(bytes.len() - 4);
        put_checksum(&mut bytes);
        bytes
    }

    /// Written by an independent program.
    const GOLDEN: &str = "\
        45474e43010007070707070707070707070707070707350120e8070010000000000000001000000000000000\
        0000000000000001000000000000000000000000000000000000000000000000220301000000000200000203\
        613a3101000203623a320000000000000000010000010011ff07ec";

    #[test]
    fn the_bytes_are_those_of_version_1() {
        let bytes = encode(&state(0));
        let written: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written, GOLDEN);
    }

    #[test]
    fn a_checkpoint_reads_back_and_no_cut_of_it_does() {
        for messages in [0, 1, 20] {
            let bytes = encode(&state(messages));
            let read = decode(SALT, &bytes).unwrap();
            assert_eq!((encode(&read), read.seen()), (bytes.clone(), state(messages).seen()));
            for cut in 0..bytes.len() {
                assert!(decode(SALT, &bytes[..cut]).is_err());
                if cut >= 4 {
                    assert!(decode(SALT, &with_checksum(bytes[..cut].to_vec())).is_err());
                }
            }
        }
    }

    proptest! {
        #[test]
        fn random_edits_are_another_state_or_an_error_with_its_place(
            edits in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut bytes = encode(&state(9));
            for (at, byte) in &edits {
                let at = at.index(bytes.len() - 4);
                bytes[at] = *byte;
            }
            let bytes = with_checksum(bytes);
            match decode(SALT, &bytes) {
                Ok(state) => prop_assert_eq!(encode(&state), bytes),
                Err(error) => prop_assert!(error.offset <= bytes.len() && !error.expected.is_empty()),
            }
        }
    }

    #[test]
    fn an_error_names_its_place_in_the_file() {
        let bytes = encode(&state(0));
        let edited = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            let error = decode(SALT, &with_checksum(bytes)).unwrap_err();
            (error.offset, error.expected)
        };
        assert_eq!(edited(0, b'X'), (0, "the magic EGNC expected".into()));
        assert_eq!(edited(4, 2), (4, "version 1 expected, found 2".into()));
        assert_eq!(edited(6, 8).0, 6, "the salt");
        // The certifier's length at 22, its version behind it.
        assert_eq!(edited(23, 9), (23, "version 1 expected, found 9".into()));
        let mut flipped = bytes.clone();
        flipped[30] ^= 1;
        assert_eq!(decode(SALT, &flipped).unwrap_err().offset, bytes.len() - 4, "the checksum");
        let other = decode(GraphSalt([8; 16]), &bytes).unwrap_err();
        assert!(other.expected.contains("another one"), "{other}");
    }

    #[test]
    fn tables_of_later_records_than_those_that_were_decided_are_refused() {
        let state = state(0);
        let mut tables = state.tables().clone();
        let change = PlaceChange {
            since: Timestamp::ZERO,
            partition: PartitionId(0),
            node: NodeId(1),
            step: PlaceStep::Copy,
        };
        let id = RecordId { author: AUTHOR, number: 1 };
        tables.apply(id, LogPosition(1).timestamp(0), RecordBody::Place(change));
        let later = ReplicatedState::of(SALT, state.certifier().clone(), tables);
        let error = decode(SALT, &encode(&later)).unwrap_err();
        assert!(error.expected.contains("found a later record"), "{error}");
    }

    #[test]
    fn a_checkpoint_that_fails_anywhere_leaves_the_one_before_or_itself() {
        let (before, after) = (state(1), state(2));
        let mut outcomes = [0; 2];
        for nth in 1..20 {
            let memory = MemoryDirectory::new("node");
            write(&memory, &before).unwrap();
            let failing = FailingDirectory::new(Arc::new(memory.clone()));
            failing.plan(Fault::any_change(ErrorKind::StorageFull).nth(nth).lasting());
            let written = write(&failing, &after);
            for kept in [CrashOutcome::Lost, CrashOutcome::Kept] {
                let found = read(&memory.crash(|_| kept), SALT).unwrap().unwrap().seen();
                assert!(found == after.seen() || (found == before.seen() && written.is_err()));
                outcomes[usize::from(found == after.seen())] += 1;
            }
            if written.is_ok() {
                assert!(outcomes.iter().all(|count| *count > 0), "{outcomes:?}");
                return;
            }
        }
        panic!("a checkpoint takes fewer changes");
    }

    #[test]
    fn a_node_without_a_checkpoint_is_new_and_a_damaged_one_is_named() {
        let memory = MemoryDirectory::new("node");
        assert!(read(&memory, SALT).unwrap().is_none());
        memory.write_all_new(FILE.name, b"something else").unwrap();
        let error = read(&memory, SALT).unwrap_err();
        assert_eq!(error.to_string(), "node/node_state is corrupt at byte 0: the magic EGNC expected");
    }
}
