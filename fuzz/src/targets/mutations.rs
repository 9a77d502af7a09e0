//! Mutations: the payload of a log frame. What is read is written in the same bytes.

use crate::samples;
use crate::target::{Memory, Target};
use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::index_entry::{ItemId, LeavingEntry};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::note::NoteChange;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::transaction::payload::{decode, encode};

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 256 } };

fn seeds() -> Vec<Vec<u8>> {
    let edge = EdgeId { source: VertexId(1), edge_type: TypeId(2), target: VertexId(3), discriminator: 300 };
    let values = samples::values().into_iter().zip(0..).map(|(value, key)| (KeyId(key), Some(value)));
    let properties = Properties::new(values.chain([(KeyId(99), None)]).collect());
    let index = IndexId { owner: Owner::EdgeType(TypeId(1)), key: KeyId(0), kind: IndexKind::Ordered };
    let mutations = [
        Mutation::InsertVertex {
            vertex: VertexId(7),
            label: LabelId(1),
            properties: properties.without_removals(),
        },
        Mutation::SetVertexProperties { vertex: VertexId(7), properties: properties.clone() },
        Mutation::DeleteVertex { vertex: VertexId(u32::MAX) },
        Mutation::InsertEdge { edge, properties: Properties::EMPTY },
        Mutation::ReplaceEdge { edge, properties: properties.without_removals() },
        Mutation::SetEdgeProperties { edge, properties },
        Mutation::DeleteEdge { edge },
        Mutation::Schema(SchemaChange::AddLabel { id: LabelId(1), name: "Person".into() }),
        Mutation::Schema(SchemaChange::AddEdgeType { id: TypeId(2), name: "KNOWS".into(), simple: true }),
        Mutation::Schema(SchemaChange::AddKey { id: KeyId(0), name: "name".into() }),
        Mutation::Schema(SchemaChange::AddMetaKey { id: KeyId(1), of: KeyId(0) }),
        Mutation::Schema(SchemaChange::DefineProperty {
            owner: Owner::Label(LabelId(1)),
            key: KeyId(0),
            value_type: ValueType::Any,
        }),
        Mutation::Schema(SchemaChange::AddIndex(IndexDefinition { id: index, unique: false })),
        Mutation::Schema(SchemaChange::DropIndex(index)),
        Mutation::Schema(SchemaChange::OrderNewestFirst { edge_type: TypeId(2), key: KeyId(0) }),
        Mutation::Schema(SchemaChange::Join { edge_type: TypeId(2), source: LabelId(1), target: LabelId(1) }),
        leaving(Value::from(7_i64), ItemId::Vertex(VertexId(7))),
        leaving(Value::from("long ".repeat(20)), ItemId::Edge(edge)),
        Mutation::Note(NoteChange { name: "position".into(), bytes: Some([1, 2, 3][..].into()) }),
        Mutation::Note(NoteChange { name: "owner".into(), bytes: None }),
    ];
    mutations.chunks(1).chain([&mutations[..]]).map(encode).collect()
}

fn leaving(value: Value, item: ItemId) -> Mutation {
    Mutation::LeaveIndex(Box::new(LeavingEntry { subject: 1 << 24, value: ValueBytes::of(&value), item }))
}

fn promise(input: &[u8]) {
    match decode(Timestamp(7), input) {
        Ok(mutations) => assert_eq!(encode(&mutations), input, "{mutations:?}"),
        Err(error) => assert!(error.to_string().starts_with("commit 7 in the log"), "{error}"),
    }
}
