//! Conflict table: which subjects a mutation touches, and which ones each key of the front checks.
//!
//! ```text
//! MUTATION                       TOUCHES
//! insert, delete vertex          Vertex(v), Members(g)
//! set property                   Property(v, k), Record(v), Group(g)
//! insert, delete edge            Edge, List(s, out), List(t, in), Between(s, t), Adjacency(s), Adjacency(t),
//!                                Side(g(s), out), Side(g(t), in)
//! set property of an edge        EdgeProperty(e, k), ListProperty(s, k), EdgeRecord, Side(g(s), out)
//! replace edge                   EdgeReplaced, ListReplaced(s), EdgeRecord, Side(g(s), out)
//! name                           that name, Names
//! definition, index, order       that of its owner
//!
//! KEY                            CHECKS
//! Vertex                         Vertex
//! VertexProperty                 Property, Vertex
//! VertexRecord                   Record, Vertex
//! Vertices                       Group, Members
//! Edge                           EdgeRecord, Edge
//! EdgeProperty                   EdgeProperty, EdgeReplaced, Edge
//! EdgeMember                     Edge
//! ListProperty                   ListProperty, ListReplaced, List(out)
//! Edges                          Side
//! Adjacency, Members, List, Between    the subject of that name
//! ```
//!
//! Rule: if an engine's `newer` reports that a mutation changed a key, a subject that the key checks is one that the
//! mutation touches. `tests/conflict_table.rs` compares all keys and mutations with the memory engine. The one exception
//! is allowed by [`Key::Adjacency`]: an engine may count properties of those edges, too; who deletes a vertex checks
//! each of its edges beside.
//!
//! What follows from more than a mutation (values that enter an index, the first edge of a type in a group) is in
//! [`crate::key_hash::touches`]; what a mutation checks of the catalogue, which no key stands for, in
//! [`crate::key_hash::checks`].

use crate::key_hash::graph_salt::GraphSalt;
use crate::key_hash::subject::{NameKind, Subject, ValueHash};
use crate::planted::{Bug, planted};
use evergraph_graph::id::{Direction, EdgeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_storage::engine::Key;

/// Calls `note` with each subject that `mutation` touches, whatever else the graph has. Entries of index files and
/// notes are no part of a cluster's records, and touch nothing.
pub fn touched(mutation: &Mutation, salt: GraphSalt, mut note: impl FnMut(Subject)) {
    match mutation {
        Mutation::InsertVertex { vertex, .. } | Mutation::DeleteVertex { vertex } => {
            touched_member(*vertex, &mut note);
        }
        Mutation::SetVertexProperties { vertex, properties } => {
            for (key, _) in properties.as_slice() {
                if !planted(Bug::PropertyUntouched) {
                    note(Subject::Property(*vertex, *key));
                }
            }
            note(Subject::Record(*vertex));
            note(Subject::Group(vertex.group()));
        }
        Mutation::InsertEdge { edge, .. } | Mutation::DeleteEdge { edge } => {
            touched_edge(edge, &mut note);
        }
        Mutation::SetEdgeProperties { edge, properties } => {
            for (key, _) in properties.as_slice() {
                note(Subject::EdgeProperty(*edge, *key));
                note(Subject::ListProperty(edge.source, edge.edge_type, *key));
            }
            note(Subject::EdgeRecord(*edge));
            note(Subject::Side(edge.source.group(), edge.edge_type, Direction::Out));
        }
        Mutation::ReplaceEdge { edge, .. } => {
            note(Subject::EdgeReplaced(*edge));
            note(Subject::ListReplaced(edge.source, edge.edge_type));
            note(Subject::EdgeRecord(*edge));
            note(Subject::Side(edge.source.group(), edge.edge_type, Direction::Out));
        }
        Mutation::Schema(change) => touched_schema(change, salt, note),
        Mutation::LeaveIndex(_) | Mutation::Note(_) => {}
    }
}

fn touched_member(vertex: VertexId, note: &mut impl FnMut(Subject)) {
    if !planted(Bug::VertexUntouched) {
        note(Subject::Vertex(vertex));
    }
    if !planted(Bug::MembersUntouched) {
        note(Subject::Members(vertex.group()));
    }
}

fn touched_edge(edge: &EdgeId, note: &mut impl FnMut(Subject)) {
    let EdgeId { source, edge_type, target, .. } = *edge;
    note(Subject::Edge(*edge));
    if !planted(Bug::ListsUntouched) {
        note(Subject::List(source, edge_type, Direction::Out));
        note(Subject::List(target, edge_type, Direction::In));
    }
    note(Subject::Between(source, edge_type, target));
    if !planted(Bug::AdjacencyUntouched) {
        note(Subject::Adjacency(source));
        note(Subject::Adjacency(target));
    }
    note(Subject::Side(source.group(), edge_type, Direction::Out));
    note(Subject::Side(target.group(), edge_type, Direction::In));
}

/// Calls `note` with each subject that a change of the catalogue touches. What it checks is in
/// [`crate::key_hash::checks`].
pub fn touched_schema(change: &SchemaChange, salt: GraphSalt, mut note: impl FnMut(Subject)) {
    let mut name = |kind: NameKind, name: &str| {
        note(Subject::Name(ValueHash::of_name(salt, kind, name)));
        note(Subject::Names);
    };
    match change {
        SchemaChange::AddLabel { name: text, .. } => name(NameKind::Label, text),
        SchemaChange::AddEdgeType { name: text, .. } => name(NameKind::EdgeType, text),
        SchemaChange::AddKey { name: text, .. } => name(NameKind::Key, text),
        SchemaChange::AddMetaKey { of, .. } => {
            note(Subject::MetaKey(*of));
            note(Subject::Names);
        }
        SchemaChange::DefineProperty { owner, key, .. } => note(Subject::Definition(*owner, *key)),
        SchemaChange::AddIndex(definition) => note(Subject::Indexes(definition.id.owner)),
        SchemaChange::DropIndex(index) => note(Subject::Indexes(index.owner)),
        SchemaChange::OrderNewestFirst { edge_type, .. } => note(Subject::Order(*edge_type)),
        // Learned from edges and never taken back: two that learn the same agree.
        SchemaChange::Join { .. } => {}
    }
}

/// Calls `note` with each subject that must not have been touched for `key` to be unchanged.
pub fn checked(key: &Key, mut note: impl FnMut(Subject)) {
    match *key {
        Key::Vertex(vertex) => note(Subject::Vertex(vertex)),
        Key::VertexProperty(vertex, key) => {
            note(Subject::Property(vertex, key));
            note(Subject::Vertex(vertex));
        }
        Key::VertexRecord(vertex) => {
            note(Subject::Record(vertex));
            note(Subject::Vertex(vertex));
        }
        Key::Adjacency(vertex) => note(Subject::Adjacency(vertex)),
        Key::Edge(edge) => {
            note(Subject::EdgeRecord(edge));
            note(Subject::Edge(edge));
        }
        Key::EdgeProperty(edge, key) => {
            note(Subject::EdgeProperty(edge, key));
            note(Subject::EdgeReplaced(edge));
            note(Subject::Edge(edge));
        }
        Key::EdgeMember(edge) => note(Subject::Edge(edge)),
        Key::Members(group) => note(Subject::Members(group)),
        Key::Vertices(group) => {
            note(Subject::Group(group));
            note(Subject::Members(group));
        }
        Key::List(vertex, edge_type, side) => {
            side.sides().iter().for_each(|side| note(Subject::List(vertex, edge_type, *side)));
        }
        Key::ListProperty(vertex, edge_type, key) => {
            note(Subject::ListProperty(vertex, edge_type, key));
            note(Subject::ListReplaced(vertex, edge_type));
            note(Subject::List(vertex, edge_type, Direction::Out));
        }
        Key::Between(source, edge_type, target) => note(Subject::Between(source, edge_type, target)),
        Key::Edges(group, edge_type, side) => {
            side.sides().iter().for_each(|side| note(Subject::Side(group, edge_type, *side)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::{KeyId, LabelId, TypeId};
    use evergraph_graph::properties::Properties;

    #[test]
    fn a_new_edge_touches_eight_subjects_and_two_at_one_hub_check_none_of_them_in_common() {
        let salt = GraphSalt([7; 16]);
        let edge = |target| EdgeId {
            source: VertexId(1),
            edge_type: TypeId(2),
            target: VertexId(target),
            discriminator: 0,
        };
        let mut touches = Vec::new();
        let insert = Mutation::InsertEdge { edge: edge(5), properties: Properties::EMPTY };
        touched(&insert, salt, |subject| touches.push(subject));
        assert_eq!(touches.len(), 8);
        let mut checks = Vec::new();
        for key in [Key::Vertex(VertexId(1)), Key::Vertex(VertexId(6)), Key::Edge(edge(6))] {
            checked(&key, |subject| checks.push(subject));
        }
        assert!(!checks.iter().any(|check| touches.contains(check)));
    }

    #[test]
    fn two_names_are_kept_apart_by_what_they_name() {
        let salt = GraphSalt([7; 16]);
        let of = |change: SchemaChange| {
            let mut touches = Vec::new();
            touched_schema(&change, salt, |subject| touches.push(subject));
            touches
        };
        let label = of(SchemaChange::AddLabel { id: LabelId(1), name: "a".into() });
        let key = of(SchemaChange::AddKey { id: KeyId(1), name: "a".into() });
        assert_eq!((label.len(), key.len()), (2, 2));
        assert_ne!(label[0], key[0]);
        assert_eq!(label[1], key[1], "who looked for a name in vain checks all names");
    }
}
