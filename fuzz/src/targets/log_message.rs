//! Log message: what a node reads from the cluster's shared log. A message that is read is written in the same bytes, and
//! is decided without a panic, whatever its records say; an error names its place.

use crate::target::{Memory, Target};
use evergraph_cluster::certification::certifier::{Certifier, CertifierLimits};
use evergraph_cluster::digest::{LogDigest, SeenLog};
use evergraph_cluster::key_hash::graph_salt::{GraphSalt, KeyHash};
use evergraph_cluster::key_hash::sort_key::{EnteredKey, RangeCheck, SortKey};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::body::{NewName, PlaceChange, PlaceStep, Record, RecordBody, UniqueStep};
use evergraph_cluster::record::message::{Message, MessageBuilder};
use evergraph_cluster::record::payload::{Payload, payloads};
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::record_id::{Author, NodeId, RecordId};
use evergraph_graph::id::{EdgeId, GroupId, KeyId, LabelId, PartitionId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::transaction::payload::encode;

/// The target. The checksum is corrected first: no fuzzer guesses it.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 256 } };

const SALT: GraphSalt = GraphSalt([7; 16]);
const AUTHOR: Author = Author { node: NodeId(3), incarnation: 2 };

/// A message of `records` as a node sends it.
pub fn written(author: Author, seen: &SeenLog, records: &[Record]) -> Vec<u8> {
    let mut builder = MessageBuilder::new(author);
    records.iter().for_each(|record| assert!(builder.push(record), "what was read has room"));
    builder.finish(seen)
}

/// Records of every kind.
pub fn samples() -> Vec<Record> {
    let edge = EdgeId {
        source: VertexId::new(GroupId(1), 2),
        edge_type: TypeId(2),
        target: VertexId::new(GroupId(2), 3),
        discriminator: 1,
    };
    let properties =
        Properties::new(vec![(KeyId(1), Some(Value::I64(7))), (KeyId(2), Some(Value::from("Ada")))]);
    let mutations = [
        Mutation::InsertVertex { vertex: edge.source, label: LabelId(1), properties: properties.clone() },
        Mutation::InsertEdge { edge, properties },
    ];
    let partitions = PartitionCount::new(4).expect("four are possible");
    let part = TransactionPart {
        checks: vec![KeyHash(1), KeyHash(2)],
        ranges: vec![RangeCheck { index: KeyHash(3), low: SortKey([1; 16]), high: SortKey::HIGHEST }],
        touches: vec![KeyHash(4), KeyHash(5)],
        entered: vec![EnteredKey { index: KeyHash(3), key: SortKey([2; 16]) }],
        payloads: payloads(&mutations, partitions).expect("they are in partitions"),
    };
    let since = LogPosition::START.end();
    let index = IndexId { owner: Owner::Label(LabelId(1)), key: KeyId(1), kind: IndexKind::Ordered };
    let index = IndexDefinition { id: index, unique: false };
    let touches = || vec![KeyHash(6)];
    let bodies = [
        RecordBody::Transaction { since, parts: 0, last: part.clone() },
        RecordBody::Part { of: 9, place: 0, part: part.clone() },
        RecordBody::Transaction { since, parts: 1, last: part },
        RecordBody::Cancel { of: RecordId { author: AUTHOR, number: 20 }, since },
        RecordBody::Rows { label: LabelId(1), partition: PartitionId(3), touches: touches() },
        RecordBody::Name { name: NewName::SimpleEdgeType("KNOWS".into()), touches: touches() },
        RecordBody::Name { name: NewName::MetaKey(KeyId(1)), touches: touches() },
        RecordBody::CreateIndex { index, touches: touches() },
        RecordBody::IndexReady { index, created: since, touches: touches() },
        RecordBody::UniqueIndex { index, created: since, step: UniqueStep::Enforce, touches: touches() },
        RecordBody::Barrier,
        RecordBody::Join { address: "node-3:7".into() },
        RecordBody::Leave { node: NodeId(4) },
        RecordBody::Place(PlaceChange {
            since,
            partition: PartitionId(3),
            node: NodeId(3),
            step: PlaceStep::Copy,
        }),
    ];
    bodies.into_iter().zip(7..).map(|(body, number)| Record { number, body }).collect()
}

fn seeds() -> Vec<Vec<u8>> {
    let other = SeenLog { position: LogPosition(9), digest: LogDigest([5; 16]) };
    let all = samples();
    let alone = all.chunks(1).map(|record| written(AUTHOR, &SeenLog::START, record));
    alone.chain([written(AUTHOR, &SeenLog::START, &all), written(AUTHOR, &other, &all)]).collect()
}

fn promise(input: &[u8]) {
    let mut bytes = input.to_vec();
    if let Some((content, checksum)) = bytes.split_last_chunk_mut::<4>() {
        *checksum = crc32c::crc32c(content).to_le_bytes();
    }
    let message = match Message::decode(&bytes) {
        Ok(message) => message,
        Err(error) => {
            assert!(error.offset <= bytes.len() && !error.expected.is_empty(), "{error}");
            return;
        }
    };
    assert_eq!(written(message.author, &message.seen, &message.records), bytes);
    for record in &message.records {
        if let RecordBody::Transaction { last: part, .. } | RecordBody::Part { part, .. } = &record.body {
            part.payloads.iter().for_each(check_payload);
        }
    }
    let mut certifier = Certifier::new(SALT, CertifierLimits::default(), SeenLog::START);
    certifier.apply(LogPosition(1), message, &bytes);
    let saved = certifier.encode();
    let restored = Certifier::decode(SALT, &saved).expect("a saved state reads back");
    assert_eq!(restored.encode(), saved);
}

fn check_payload(payload: &Payload) {
    match payload.decode_mutations(Timestamp(7)) {
        Ok(mutations) => assert_eq!(encode(&mutations), payload.mutations),
        Err(error) => assert!(error.to_string().starts_with("commit 7 in the log"), "{error}"),
    }
}
