//! Checks: all that must not have changed since a transaction's snapshot, as hashes.
//!
//! At both levels of isolation these are the keys of what it writes, as the front lists them
//! (`transaction/write_checks.rs` of storage), and the values that it enters into unique indexes. A serialisable
//! transaction adds the keys of what it read.
//!
//! No key of the front stands for the catalogue. A coordinator adds what its mutations rest on there
//! ([`Checks::add_mutations`]), at both levels, whatever else it lists:
//!
//! ```text
//! MUTATION                                   CHECKS
//! a value that is set, of an owner's key     Indexes(owner), Definition(owner, key)
//! label, edge type, key, meta key            Names: the number that it gives was free at S
//! definition                                 Definition(owner, key)
//! index, made or dropped                     Indexes(owner)
//! order of a type                            Order(type)
//! ```
//!
//! Groups and Types are not among them. Labels gain groups and groups gain types, and neither is taken back, so what a
//! mutation rests on stays true: a group's label, and that a group has a type already. They are checked by those who
//! read them: scans of a label, and traversals along all types.

use crate::key_hash::conflict_table::checked;
use crate::key_hash::graph_salt::{GraphSalt, KeyHash};
use crate::key_hash::sort_key::RangeCheck;
use crate::key_hash::subject::{Subject, ValueHash};
use crate::key_hash::touches::SnapshotFacts;
use evergraph_graph::error::Result;
use evergraph_graph::index::IndexId;
use evergraph_graph::look_up::ValueRange;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::owner::Owner;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::value::Value;
use evergraph_storage::engine::Key;

/// What a transaction checks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checks {
    salt: GraphSalt,
    hashes: Vec<KeyHash>,
    ranges: Vec<RangeCheck>,
}

impl Checks {
    /// None yet, of a transaction on the graph of `salt`.
    #[must_use]
    pub fn new(salt: GraphSalt) -> Self {
        Self { salt, hashes: Vec::new(), ranges: Vec::new() }
    }

    /// Adds a key of the front: one that is written, or one that was read.
    pub fn add_key(&mut self, key: &Key) {
        let salt = self.salt;
        checked(key, |subject| self.hashes.push(subject.hash(salt)));
    }

    /// Adds a subject that no key of the front stands for: names, groups, types, indexes.
    pub fn add_subject(&mut self, subject: Subject) {
        self.hashes.push(subject.hash(self.salt));
    }

    /// Adds a value of an index: looked up, or entered where it must be unique. It is filed as the index files it.
    pub fn add_value(&mut self, index: IndexId, value: &Value) {
        self.add_subject(Subject::Entered(index, ValueHash::of_value(self.salt, value)));
    }

    /// Adds what `mutations` rest on in the catalogue, with what the graph had at their snapshot. Every transaction that
    /// writes needs it: an index that was created after the snapshot misses the values that the record enters, and a
    /// definition may forbid them.
    ///
    /// # Errors
    /// Those of `facts`.
    pub fn add_mutations(&mut self, mutations: &[Mutation], facts: &impl SnapshotFacts) -> Result<()> {
        for mutation in mutations {
            match mutation {
                Mutation::InsertVertex { label, properties, .. } => {
                    self.add_values_of(Owner::Label(*label), properties);
                }
                Mutation::SetVertexProperties { vertex, properties } => {
                    self.add_values_of(Owner::Label(facts.label(vertex.group())?), properties);
                }
                Mutation::InsertEdge { edge, properties }
                | Mutation::ReplaceEdge { edge, properties }
                | Mutation::SetEdgeProperties { edge, properties } => {
                    self.add_values_of(Owner::EdgeType(edge.edge_type), properties);
                }
                Mutation::Schema(change) => self.add_schema(change),
                // What leaves an index enters none, and needs no definition.
                Mutation::DeleteVertex { .. }
                | Mutation::DeleteEdge { .. }
                | Mutation::LeaveIndex(_)
                | Mutation::Note(_) => {}
            }
        }
        Ok(())
    }

    fn add_values_of(&mut self, owner: Owner, properties: &Properties) {
        let mut has_value = false;
        for (key, value) in properties.as_slice() {
            if value.is_some() {
                self.add_subject(Subject::Definition(owner, *key));
                has_value = true;
            }
        }
        if has_value {
            self.add_subject(Subject::Indexes(owner));
        }
    }

    fn add_schema(&mut self, change: &SchemaChange) {
        match change {
            SchemaChange::AddLabel { .. }
            | SchemaChange::AddEdgeType { .. }
            | SchemaChange::AddKey { .. }
            | SchemaChange::AddMetaKey { .. } => self.add_subject(Subject::Names),
            SchemaChange::DefineProperty { owner, key, .. } => {
                self.add_subject(Subject::Definition(*owner, *key));
            }
            SchemaChange::AddIndex(definition) => self.add_subject(Subject::Indexes(definition.id.owner)),
            SchemaChange::DropIndex(index) => self.add_subject(Subject::Indexes(index.owner)),
            SchemaChange::OrderNewestFirst { edge_type, .. } => self.add_subject(Subject::Order(*edge_type)),
            // Learned and never taken back.
            SchemaChange::Join { .. } => {}
        }
    }

    /// Adds a range of an ordered index.
    pub fn add_range(&mut self, index: IndexId, range: &ValueRange) {
        let index = Subject::Entries(index).hash(self.salt);
        self.ranges.push(RangeCheck::around(index, range));
    }

    /// Adds the hash of a subject.
    pub fn add_hash(&mut self, hash: KeyHash) {
        self.hashes.push(hash);
    }

    /// Adds a range of an ordered index, as a record has it.
    pub fn add_range_check(&mut self, range: RangeCheck) {
        self.ranges.push(range);
    }

    /// The hashes and the ranges, ascending, each once.
    #[must_use]
    pub fn finish(mut self) -> (Vec<KeyHash>, Vec<RangeCheck>) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.ranges.sort_unstable();
        self.ranges.dedup();
        (self.hashes, self.ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_hash::conflict_table::touched;
    use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
    use evergraph_graph::index::{IndexDefinition, IndexKind};
    use evergraph_graph::value::ValueType;

    /// Every vertex has label 1.
    struct Facts;

    impl SnapshotFacts for Facts {
        fn label(&self, _: GroupId) -> Result<LabelId> {
            Ok(LabelId(1))
        }

        fn indexes(&self, _: Owner, _: KeyId, _: &mut dyn FnMut(IndexId)) {}

        fn has_edge_type(&self, _: GroupId, _: TypeId, _: Direction) -> Result<bool> {
            Ok(true)
        }
    }

    /// Changes of the catalogue, each of them with a name.
    fn changes() -> Vec<(&'static str, SchemaChange)> {
        let label = Owner::Label(LabelId(1));
        let edge_type = Owner::EdgeType(TypeId(2));
        let index = |owner| IndexId { owner, key: KeyId(3), kind: IndexKind::Ordered };
        let added = |owner| SchemaChange::AddIndex(IndexDefinition { id: index(owner), unique: false });
        let defined =
            |owner| SchemaChange::DefineProperty { owner, key: KeyId(3), value_type: ValueType::Bool };
        vec![
            ("label", SchemaChange::AddLabel { id: LabelId(9), name: "a".into() }),
            ("type", SchemaChange::AddEdgeType { id: TypeId(9), name: "a".into(), simple: false }),
            ("key", SchemaChange::AddKey { id: KeyId(9), name: "a".into() }),
            ("meta key", SchemaChange::AddMetaKey { id: KeyId(9), of: KeyId(3) }),
            ("definition of the label", defined(label)),
            ("definition of the type", defined(edge_type)),
            ("index of the label", added(label)),
            ("index of the type", added(edge_type)),
            ("index dropped", SchemaChange::DropIndex(index(label))),
            ("order", SchemaChange::OrderNewestFirst { edge_type: TypeId(2), key: KeyId(3) }),
            ("join", SchemaChange::Join { edge_type: TypeId(2), source: LabelId(1), target: LabelId(1) }),
        ]
    }

    /// The changes that `mutation` does not commit after, if they come between its snapshot and itself.
    fn conflicts(mutation: Mutation) -> Vec<&'static str> {
        let salt = GraphSalt([7; 16]);
        let mut checks = Checks::new(salt);
        checks.add_mutations(&[mutation], &Facts).unwrap();
        let (checked, _) = checks.finish();
        let is_conflict = |change: SchemaChange| {
            let mut found = false;
            let mut note = |subject: Subject| found |= checked.contains(&subject.hash(salt));
            touched(&Mutation::Schema(change), salt, &mut note);
            found
        };
        changes()
            .into_iter()
            .filter(|(_, change)| is_conflict(change.clone()))
            .map(|(name, _)| name)
            .collect()
    }

    #[test]
    fn a_mutation_of_any_kind_conflicts_with_each_change_of_the_catalogue_that_it_rests_on() {
        const NONE: [&str; 0] = [];
        let vertex = VertexId(5);
        let edge = EdgeId { source: vertex, edge_type: TypeId(2), target: VertexId(6), discriminator: 0 };
        let set = || Properties::new(vec![(KeyId(3), Some(Value::Bool(true)))]);
        let removed = || Properties::new(vec![(KeyId(3), None)]);
        let of_label = ["definition of the label", "index of the label", "index dropped"];
        let of_type = ["definition of the type", "index of the type"];
        let insert = |properties| Mutation::InsertVertex { vertex, label: LabelId(1), properties };
        assert_eq!(conflicts(insert(set())), of_label);
        assert_eq!(conflicts(insert(Properties::EMPTY)), NONE);
        assert_eq!(conflicts(Mutation::SetVertexProperties { vertex, properties: set() }), of_label);
        assert_eq!(conflicts(Mutation::SetVertexProperties { vertex, properties: removed() }), NONE);
        assert_eq!(conflicts(Mutation::DeleteVertex { vertex }), NONE);
        assert_eq!(conflicts(Mutation::InsertEdge { edge, properties: set() }), of_type);
        assert_eq!(conflicts(Mutation::InsertEdge { edge, properties: Properties::EMPTY }), NONE);
        assert_eq!(conflicts(Mutation::ReplaceEdge { edge, properties: set() }), of_type);
        assert_eq!(conflicts(Mutation::SetEdgeProperties { edge, properties: set() }), of_type);
        assert_eq!(conflicts(Mutation::SetEdgeProperties { edge, properties: removed() }), NONE);
        assert_eq!(conflicts(Mutation::DeleteEdge { edge }), NONE);
        // Two changes of the same thing conflict, and so do any two that give numbers.
        for (name, change) in changes() {
            let expected = match name {
                "label" | "type" | "key" | "meta key" => vec!["label", "type", "key", "meta key"],
                "index of the label" | "index dropped" => vec!["index of the label", "index dropped"],
                "join" => vec![],
                same => vec![same],
            };
            assert_eq!(conflicts(Mutation::Schema(change)), expected);
        }
    }

    #[test]
    fn what_is_checked_twice_is_listed_once() {
        let salt = GraphSalt([7; 16]);
        let index = IndexId { owner: Owner::Label(LabelId(1)), key: KeyId(2), kind: IndexKind::Ordered };
        let mut checks = Checks::new(salt);
        for _ in 0..2 {
            checks.add_key(&Key::VertexProperty(VertexId(5), KeyId(2)));
            checks.add_key(&Key::Vertex(VertexId(5)));
            checks.add_value(index, &Value::I64(1));
            checks.add_range(index, &ValueRange::ALL);
            checks.add_subject(Subject::Names);
        }
        let (hashes, ranges) = checks.finish();
        assert_eq!((hashes.len(), ranges.len()), (4, 1));
        assert!(hashes.is_sorted());
    }
}
