//! Touches: all that a transaction changes, as hashes: what its record says to those who come after it.
//!
//! They follow from its mutations and from what the graph had at its snapshot: the label of a vertex' group, the
//! indexes of its owner, the edge types of a group.

use crate::key_hash::conflict_table::touched;
use crate::key_hash::graph_salt::{GraphSalt, KeyHash};
use crate::key_hash::sort_key::{EnteredKey, SortKey};
use crate::key_hash::subject::{Subject, ValueHash};
use crate::planted::{Bug, planted};
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId};
use evergraph_graph::index::{IndexId, IndexKind};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::owner::Owner;
use evergraph_graph::properties::Properties;
use std::borrow::Cow;

/// What a graph had at a snapshot.
pub trait SnapshotFacts {
    /// The label of a group that is there, or that the transaction inserts into.
    ///
    /// # Errors
    /// If it can't be read, or there is no such group.
    fn label(&self, group: GroupId) -> Result<LabelId>;

    /// Calls `visit` with every index on a property, those that are being built included.
    fn indexes(&self, owner: Owner, key: KeyId, visit: &mut dyn FnMut(IndexId));

    /// Whether vertices of the group had edges of the type on a plain side, ever.
    ///
    /// # Errors
    /// If it can't be read.
    fn has_edge_type(&self, group: GroupId, edge_type: TypeId, side: Direction) -> Result<bool>;
}

/// The properties that a mutation writes, with their item and the owner of its indexes; `None` if it writes none.
///
/// # Errors
/// Those of `facts`.
pub fn written_properties<'a>(
    mutation: &'a Mutation,
    facts: &impl SnapshotFacts,
) -> Result<Option<(ItemId, Owner, &'a Properties)>> {
    Ok(match mutation {
        Mutation::InsertVertex { vertex, label, properties } => {
            Some((ItemId::Vertex(*vertex), Owner::Label(*label), properties))
        }
        Mutation::SetVertexProperties { vertex, properties } => {
            Some((ItemId::Vertex(*vertex), Owner::Label(facts.label(vertex.group())?), properties))
        }
        Mutation::InsertEdge { edge, properties }
        | Mutation::ReplaceEdge { edge, properties }
        | Mutation::SetEdgeProperties { edge, properties } => {
            Some((ItemId::Edge(*edge), Owner::EdgeType(edge.edge_type), properties))
        }
        _ => None,
    })
}

/// What a transaction touches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Touches {
    /// Hashes of subjects, ascending, each once.
    pub hashes: Vec<KeyHash>,
    /// Values that enter ordered indexes, ascending, each once.
    pub entered: Vec<EnteredKey>,
}

impl Touches {
    /// Of `mutations`, with what the graph had at their snapshot.
    ///
    /// Cost: linear, but for a sort; hashes each value that enters an index.
    ///
    /// # Errors
    /// Those of `facts`.
    pub fn of(mutations: &[Mutation], facts: &impl SnapshotFacts, salt: GraphSalt) -> Result<Self> {
        let mut touches = Self::default();
        for mutation in mutations {
            touched(mutation, salt, |subject| touches.hashes.push(subject.hash(salt)));
            touches.entries(mutation, facts, salt)?;
            if let Mutation::InsertEdge { edge, .. } = mutation {
                touches.edge_types(edge, facts, salt)?;
            }
        }
        touches.hashes.sort_unstable();
        touches.hashes.dedup();
        touches.entered.sort_unstable();
        touches.entered.dedup();
        Ok(touches)
    }

    /// The values that enter indexes by `mutation`. What leaves one shows in the property of who had it.
    fn entries(&mut self, mutation: &Mutation, facts: &impl SnapshotFacts, salt: GraphSalt) -> Result<()> {
        let Some((item, owner, properties)) = written_properties(mutation, facts)? else { return Ok(()) };
        if !planted(Bug::EntriesUntouched) {
            self.entered(item, owner, properties, facts, salt);
        }
        Ok(())
    }

    fn entered(
        &mut self,
        item: ItemId,
        owner: Owner,
        properties: &Properties,
        facts: &impl SnapshotFacts,
        salt: GraphSalt,
    ) {
        for (key, value) in properties.as_slice() {
            let Some(value) = value else { continue };
            facts.indexes(owner, *key, &mut |index| {
                let filed = index.entry_value(item, Cow::Borrowed(value));
                let entries = Subject::Entries(index).hash(salt);
                let value = ValueHash::of_value(salt, &filed);
                self.hashes.extend([entries, Subject::Entered(index, value).hash(salt)]);
                if index.kind != IndexKind::Hash {
                    self.entered.push(EnteredKey { index: entries, key: SortKey::of(&filed) });
                }
            });
        }
    }

    fn edge_types(&mut self, edge: &EdgeId, facts: &impl SnapshotFacts, salt: GraphSalt) -> Result<()> {
        for (end, side) in [(edge.source, Direction::Out), (edge.target, Direction::In)] {
            if !facts.has_edge_type(end.group(), edge.edge_type, side)? {
                self.hashes.push(Subject::Types(end.group(), side).hash(salt));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::VertexId;
    use evergraph_graph::value::Value;

    const SALT: GraphSalt = GraphSalt([7; 16]);
    const KEY: KeyId = KeyId(3);

    fn index(kind: IndexKind) -> IndexId {
        IndexId { owner: Owner::Label(LabelId(1)), key: KEY, kind }
    }

    struct Facts;

    impl SnapshotFacts for Facts {
        fn label(&self, _: GroupId) -> Result<LabelId> {
            Ok(LabelId(1))
        }

        fn indexes(&self, owner: Owner, key: KeyId, visit: &mut dyn FnMut(IndexId)) {
            if (owner, key) == (Owner::Label(LabelId(1)), KEY) {
                IndexKind::BY_VALUE.into_iter().for_each(|kind| visit(index(kind)));
            }
        }

        fn has_edge_type(&self, _: GroupId, edge_type: TypeId, _: Direction) -> Result<bool> {
            Ok(edge_type == TypeId(0))
        }
    }

    #[test]
    fn a_value_touches_its_entry_in_each_index_and_a_removed_one_touches_none() {
        let set = |value: Option<Value>| {
            let properties = Properties::new(vec![(KEY, value), (KeyId(9), Some(Value::I64(1)))]);
            let set = Mutation::SetVertexProperties { vertex: VertexId(5), properties };
            Touches::of(&[set], &Facts, SALT).unwrap()
        };
        let value = Value::I64(7);
        let (with, without) = (set(Some(value.clone())), set(None));
        assert_eq!((without.hashes.len(), without.entered.len()), (4, 0), "two properties, record, group");
        assert_eq!(with.hashes.len(), 8);
        for kind in IndexKind::BY_VALUE {
            let subject = Subject::Entered(index(kind), ValueHash::of_value(SALT, &value));
            assert!(with.hashes.contains(&subject.hash(SALT)));
        }
        let entries = Subject::Entries(index(IndexKind::Ordered)).hash(SALT);
        assert_eq!(with.entered, [EnteredKey { index: entries, key: SortKey::of(&value) }]);
    }

    #[test]
    fn the_first_edge_of_a_type_in_a_group_touches_the_types_of_both_groups() {
        let insert = |edge_type| {
            let edge = EdgeId { source: VertexId(1), edge_type, target: VertexId(5000), discriminator: 0 };
            let insert = Mutation::InsertEdge { edge, properties: Properties::EMPTY };
            Touches::of(&[insert], &Facts, SALT).unwrap().hashes
        };
        assert_eq!((insert(TypeId(0)).len(), insert(TypeId(1)).len()), (8, 10));
        for (group, side) in [(GroupId(0), Direction::Out), (GroupId(1), Direction::In)] {
            assert!(insert(TypeId(1)).contains(&Subject::Types(group, side).hash(SALT)));
        }
    }
}
