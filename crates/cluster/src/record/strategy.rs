//! Random records for property tests: of every kind, with short lists.

use crate::digest::{LogDigest, SeenLog};
use crate::key_hash::graph_salt::KeyHash;
use crate::key_hash::sort_key::{EnteredKey, RangeCheck, SortKey};
use crate::log_position::LogPosition;
use crate::record::body::{NewName, PlaceChange, PlaceStep, Record, RecordBody, UniqueStep};
use crate::record::payload::{Destination, Payload};
use crate::record::transaction_part::TransactionPart;
use crate::record_id::{Author, NodeId, RecordId};
use evergraph_graph::id::{KeyId, LabelId, PartitionId, TypeId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::owner::Owner;
use evergraph_graph::timestamp::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;

fn any_hashes() -> impl Strategy<Value = Vec<KeyHash>> {
    vec(any::<u64>().prop_map(KeyHash), 0..4)
}

fn any_key() -> impl Strategy<Value = SortKey> {
    any::<[u8; 16]>().prop_map(SortKey)
}

fn any_payloads() -> impl Strategy<Value = Vec<Payload>> {
    let bytes = proptest::collection::btree_map(0..4096_u16, vec(any::<u8>(), 0..9), 0..3);
    (bytes, any::<bool>()).prop_map(|(bytes, everywhere)| {
        let of = |partition| Destination::Partition(PartitionId(partition));
        let each = bytes.into_iter();
        let mut payloads: Vec<_> =
            each.map(|(partition, mutations)| Payload { destination: of(partition), mutations }).collect();
        if everywhere {
            payloads.push(Payload { destination: Destination::EveryNode, mutations: vec![1, 2] });
        }
        payloads
    })
}

fn any_part() -> impl Strategy<Value = TransactionPart> {
    let range = (any::<u64>(), any_key(), any_key());
    let range = range.prop_map(|(index, low, high)| RangeCheck { index: KeyHash(index), low, high });
    let entered = (any::<u64>(), any_key());
    let entered = entered.prop_map(|(index, key)| EnteredKey { index: KeyHash(index), key });
    (any_hashes(), vec(range, 0..3), any_hashes(), vec(entered, 0..3), any_payloads()).prop_map(
        |(checks, ranges, touches, entered, payloads)| TransactionPart {
            checks,
            ranges,
            touches,
            entered,
            payloads,
        },
    )
}

/// Any author.
pub fn any_author() -> impl Strategy<Value = Author> {
    any::<(u16, u32)>().prop_map(|(node, incarnation)| Author { node: NodeId(node), incarnation })
}

fn any_index() -> impl Strategy<Value = IndexDefinition> {
    (any::<(u16, u16)>(), any::<(bool, bool, bool)>()).prop_map(|((id, key), (of_edges, ordered, unique))| {
        let owner = if of_edges { Owner::EdgeType(TypeId(id)) } else { Owner::Label(LabelId(id)) };
        let kind = if ordered { IndexKind::Ordered } else { IndexKind::Hash };
        IndexDefinition { id: IndexId { owner, key: KeyId(key), kind }, unique }
    })
}

fn any_name() -> impl Strategy<Value = NewName> {
    ("[a-zå]{0,9}", 0..5_u8, any::<u16>()).prop_map(|(text, kind, key)| match kind {
        0 => NewName::Label(text.into()),
        1 => NewName::EdgeType(text.into()),
        2 => NewName::SimpleEdgeType(text.into()),
        3 => NewName::Key(text.into()),
        _ => NewName::MetaKey(KeyId(key)),
    })
}

fn any_body() -> impl Strategy<Value = RecordBody> {
    let since = || (0..1_u64 << 62).prop_map(Timestamp);
    prop_oneof![
        (since(), any::<u16>(), any_part()).prop_map(|(since, parts, last)| RecordBody::Transaction {
            since,
            parts,
            last
        }),
        (any::<u64>(), any::<u16>(), any_part()).prop_map(|(of, place, part)| RecordBody::Part {
            of,
            place,
            part
        }),
        (any_author(), any::<u64>(), since()).prop_map(|(author, number, since)| RecordBody::Cancel {
            of: RecordId { author, number },
            since,
        }),
        (any::<u16>(), 0..4096_u16, any_hashes()).prop_map(|(label, partition, touches)| {
            RecordBody::Rows { label: LabelId(label), partition: PartitionId(partition), touches }
        }),
        (any_name(), any_hashes()).prop_map(|(name, touches)| RecordBody::Name { name, touches }),
        (any_index(), any_hashes()).prop_map(|(index, touches)| RecordBody::CreateIndex { index, touches }),
        (any_index(), since(), any_hashes()).prop_map(|(index, created, touches)| RecordBody::IndexReady {
            index,
            created,
            touches
        }),
        (any_index(), since(), any::<bool>(), any_hashes()).prop_map(|(index, created, is_last, touches)| {
            let step = if is_last { UniqueStep::Confirm } else { UniqueStep::Enforce };
            RecordBody::UniqueIndex { index, created, step, touches }
        }),
        Just(RecordBody::Barrier),
        "[a-z0-9.:]{1,20}".prop_map(|address| RecordBody::Join { address: address.into() }),
        any::<u16>().prop_map(|node| RecordBody::Leave { node: NodeId(node) }),
        (since(), 0..4096_u16, any::<u16>(), 0..3_usize).prop_map(|(since, partition, node, step)| {
            let step = [PlaceStep::Copy, PlaceStep::Serve, PlaceStep::Drop][step];
            let (partition, node) = (PartitionId(partition), NodeId(node));
            RecordBody::Place(PlaceChange { since, partition, node, step })
        }),
    ]
}

/// One record or some, of every kind.
pub fn any_records() -> impl Strategy<Value = Vec<Record>> {
    vec((any::<u64>(), any_body()).prop_map(|(number, body)| Record { number, body }), 1..5)
}

/// Any place in any log.
pub fn any_seen() -> impl Strategy<Value = SeenLog> {
    (0..1_u64 << 50, any::<[u8; 16]>())
        .prop_map(|(position, digest)| SeenLog { position: LogPosition(position), digest: LogDigest(digest) })
}
