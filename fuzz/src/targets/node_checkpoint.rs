//! Node checkpoint: what follows from the log, as a node of a cluster reads it when it starts. What is read is written in the
//! same bytes; an error names its place.

use crate::target::{Memory, Target};
use crate::targets::log_message::{samples, written};
use evergraph_cluster::certification::certifier::CertifierLimits;
use evergraph_cluster::key_hash::graph_salt::GraphSalt;
use evergraph_cluster::log::reader::ReadMessage;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::checkpoint::{decode, encode};
use evergraph_cluster::node::replicated_state::ReplicatedState;
use evergraph_cluster::record::body::{NewName, Record, RecordBody};
use evergraph_cluster::record::message::Message;
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::tables::cluster_tables::ClusterTables;
use evergraph_cluster::tables::members::Members;
use evergraph_graph::id::{KeyId, LabelId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::PartitionCount;

// A catalogue's tables reach to the greatest id: 65,536 labels, types and keys at most.
/// The target. The checksum is corrected first: no fuzzer guesses it.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 16 << 20, per_byte: 512 } };

const SALT: GraphSalt = GraphSalt([7; 16]);
const AUTHOR: Author = Author { node: NodeId(1), incarnation: 1 };

fn first() -> ReplicatedState {
    let partitions = PartitionCount::new(2).expect("two are possible");
    let mut members = Members::new([(NodeId(1), "node-1:7".into()), (NodeId(3), "node-3:7".into())]);
    members.join(AUTHOR, "node-1:7".into()).expect("nobody has joined");
    let limits = CertifierLimits { generation_slots: 200, parts_bytes: 4000 };
    ReplicatedState::new(SALT, limits, ClusterTables::new(partitions, members, 1))
}

fn seeds() -> Vec<Vec<u8>> {
    let names = [
        NewName::Label("Person".into()),
        NewName::Label("Post".into()),
        NewName::EdgeType("KNOWS".into()),
        NewName::Key("name".into()),
        NewName::Key("since".into()),
    ];
    let names = names.into_iter().zip(100..);
    let names: Vec<_> = names
        .map(|(name, number)| Record { number, body: RecordBody::Name { name, touches: Vec::new() } })
        .collect();
    let mut state = first();
    let mut seeds = vec![encode(&state)];
    let id = IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(0), kind: IndexKind::Hash };
    let unique = RecordBody::CreateIndex { index: IndexDefinition { id, unique: true }, touches: Vec::new() };
    let unique = vec![Record { number: 110, body: unique }];
    // What may be asked of the tables is asked when there are names.
    for records in [names, unique, samples()] {
        let seen = state.seen();
        let bytes = written(AUTHOR, &seen, &records);
        let message = Message::decode(&bytes).expect("what was written reads back");
        let position = LogPosition(seen.position.0 + 1);
        state.apply(ReadMessage { position, message, bytes: bytes.into() });
        seeds.push(encode(&state));
    }
    seeds
}

fn promise(input: &[u8]) {
    let mut bytes = input.to_vec();
    if let Some((content, checksum)) = bytes.split_last_chunk_mut::<4>() {
        *checksum = crc32c::crc32c(content).to_le_bytes();
    }
    match decode(SALT, &bytes) {
        Ok(state) => assert_eq!(encode(&state), bytes),
        Err(error) => assert!(error.offset <= bytes.len() && !error.expected.is_empty(), "{error}"),
    }
}
