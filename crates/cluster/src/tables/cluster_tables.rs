//! Cluster tables: the catalogue, groups, builds, members and placement of a graph, and what a record does to them.
//!
//! A pure function of the log: nothing here depends on a clock, on chance, or on the node that applies.

use crate::key_hash::graph_salt::GraphSalt;
use crate::planted::{Bug, planted};
use crate::record::body::RecordBody;
use crate::record_id::{NodeId, RecordId};
use crate::tables::groups::{Groups, RowRange, RowsRefusal};
use crate::tables::index_builds::{IndexBuilds, IndexRefusal};
use crate::tables::members::{MemberRefusal, Members};
use crate::tables::names::{NameId, NameNumbers, NameRefusal};
use crate::tables::placement::{PlaceRefusal, Placement};
use crate::tables::placement_keys::{PlacementKeys, ValuePartitions};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result as GraphResult;
use evergraph_graph::id::{LabelId, PartitionId};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;

/// What became of a record that certification accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableAnswer {
    /// Rows that its author was given.
    Rows(Result<RowRange, RowsRefusal>),
    /// The number of its name.
    Name(Result<NameId, NameRefusal>),
    /// Whether its index is being built, or ready.
    Index(Result<(), IndexRefusal>),
    /// Whether its node joined, or left.
    Member(Result<(), MemberRefusal>),
    /// Whether its partition's copies were changed.
    Place(Result<(), PlaceRefusal>),
    /// It was a barrier.
    Barrier,
}

/// What a record did to the tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableDecision {
    /// What its author learns.
    pub answer: TableAnswer,
    /// What it changed in the catalogue: partitions change theirs.
    pub schema: Option<SchemaChange>,
}

/// What follows from the log beside the graph itself.
#[derive(Clone, PartialEq, Debug)]
pub struct ClusterTables {
    pub(super) catalogue: Catalogue,
    /// Follows from the catalogue.
    pub(super) numbers: NameNumbers,
    pub(super) builds: IndexBuilds,
    pub(super) groups: Groups,
    pub(super) members: Members,
    pub(super) placement: Placement,
    pub(super) placement_keys: PlacementKeys,
}

impl ClusterTables {
    /// Of a graph without names and vertices, as a cluster of `members` is created: `copies` of each of its partitions, or as
    /// many as there are members.
    ///
    /// # Panics
    /// Without members or copies.
    #[must_use]
    pub fn new(partitions: PartitionCount, members: Members, copies: usize) -> Self {
        let nodes: Vec<NodeId> = members.all().collect();
        Self {
            catalogue: Catalogue::default(),
            numbers: NameNumbers::default(),
            builds: IndexBuilds::default(),
            groups: Groups::new(partitions),
            placement: Placement::spread(partitions, &nodes, copies),
            placement_keys: PlacementKeys::default(),
            members,
        }
    }

    /// Names, types of properties, indexes that are ready.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Indexes that are being built.
    #[must_use]
    pub fn builds(&self) -> &IndexBuilds {
        &self.builds
    }

    /// Vertex groups.
    #[must_use]
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Nodes.
    #[must_use]
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// Copies of partitions.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// By which property the vertices of a label are divided.
    #[must_use]
    pub fn placement_keys(&self) -> &PlacementKeys {
        &self.placement_keys
    }

    /// Does what the record `id` at `at` asks for, which certification accepted.
    ///
    /// # Panics
    /// If it is a transaction, a part or a cancel: certification decides those alone.
    pub fn apply(&mut self, id: RecordId, at: Timestamp, body: RecordBody) -> TableDecision {
        let mut schema = None;
        let answer = match body {
            RecordBody::Rows { label, partition, .. } => TableAnswer::Rows(self.give_rows(label, partition)),
            RecordBody::Name { name, .. } => {
                let number = self.numbers.number(&self.catalogue, &name);
                TableAnswer::Name(number.map(|(number, change)| {
                    schema = change;
                    number
                }))
            }
            RecordBody::CreateIndex { index, .. } => {
                let begun = self.builds.begin(&self.catalogue, index, at);
                if begun.is_ok() {
                    // Vertices that come while it is built are placed already.
                    self.placement_keys.learn_index(index);
                }
                TableAnswer::Index(begun)
            }
            RecordBody::IndexReady { index, created, .. } => {
                let ready = self.builds.end(index, created);
                schema = ready.is_ok().then_some(SchemaChange::AddIndex(index));
                TableAnswer::Index(ready)
            }
            RecordBody::Join { address } => TableAnswer::Member(self.members.join(id.author, address)),
            RecordBody::Leave { node } => {
                let keeps_partitions = self.placement.kept_by(node).next().is_some();
                TableAnswer::Member(self.members.leave(node, keeps_partitions))
            }
            RecordBody::Place(change) => {
                let author = id.author.node;
                TableAnswer::Place(self.placement.change(&change, author, &self.members, at))
            }
            RecordBody::Barrier => TableAnswer::Barrier,
            RecordBody::Transaction { .. } | RecordBody::Part { .. } | RecordBody::Cancel { .. } => {
                unreachable!("certification decides {id} alone")
            }
        };
        if let Some(change) = &schema {
            self.learn(change);
        }
        TableDecision { answer, schema }
    }

    /// Does what a transaction changes in the catalogue.
    ///
    /// # Errors
    /// `conflict` if the catalogue has it otherwise, and nothing has changed then: the transaction did not check what it
    /// rests on.
    pub fn commit(&mut self, change: &SchemaChange) -> GraphResult<()> {
        if self.catalogue.would_change(change)? {
            self.learn(change);
        }
        // One that is being built is not in the catalogue.
        if let SchemaChange::AddIndex(IndexDefinition { id, .. }) | SchemaChange::DropIndex(id) = change {
            self.builds.forget(*id);
        }
        Ok(())
    }

    /// Learns which values a transaction puts into `partition` of the graph with `salt`, after what it changes in the catalogue:
    /// it may be the one that adds the index.
    ///
    /// Cost: a search a vertex, a hash for each that gets a value of its placement key.
    pub fn learn_vertices(&mut self, salt: GraphSalt, partition: PartitionId, mutations: &[Mutation]) {
        let values = ValuePartitions { salt, count: self.groups.partitions() };
        for mutation in mutations {
            let (vertex, properties) = match mutation {
                Mutation::InsertVertex { vertex, properties, .. } => (vertex, properties),
                Mutation::SetVertexProperties { vertex, properties }
                    if !planted(Bug::ChangedValueUnlearned) =>
                {
                    (vertex, properties)
                }
                _ => continue,
            };
            // What somebody was given has a label.
            if let Some(label) = self.groups.label(vertex.group()) {
                self.placement_keys.learn_vertex(label, partition, properties, values);
            }
        }
    }

    fn learn(&mut self, change: &SchemaChange) {
        self.catalogue.apply(change);
        self.numbers.learn(change);
        // A transaction may add an index of what nobody named: a checkpoint has no place for that.
        if let SchemaChange::AddIndex(index) = change
            && let Owner::Label(label) = index.id.owner
            && self.catalogue.has_label(label)
            && self.catalogue.has_key(index.id.key)
        {
            self.placement_keys.learn_index(*index);
        }
    }

    fn give_rows(&mut self, label: LabelId, partition: PartitionId) -> Result<RowRange, RowsRefusal> {
        if !self.catalogue.has_label(label) {
            return Err(RowsRefusal::UnknownLabel);
        }
        self.groups.give(label, partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::body::{NewName, PlaceChange, PlaceStep};
    use crate::record_id::Author;
    use evergraph_graph::id::{GroupId, KeyId};
    use evergraph_graph::index::{IndexId, IndexKind};

    fn tables() -> ClusterTables {
        let members = Members::new([(NodeId(0), "a:1".into()), (NodeId(1), "b:2".into())]);
        ClusterTables::new(PartitionCount::new(2).unwrap(), members, 1)
    }

    /// Applies a record of node 0.
    fn apply(tables: &mut ClusterTables, at: u64, body: RecordBody) -> TableDecision {
        let author = Author { node: NodeId(0), incarnation: 0 };
        tables.apply(RecordId { author, number: at }, Timestamp(at), body)
    }

    fn name(name: NewName) -> RecordBody {
        RecordBody::Name { name, touches: Vec::new() }
    }

    fn rows(label: u16, partition: u16) -> RecordBody {
        RecordBody::Rows { label: LabelId(label), partition: PartitionId(partition), touches: Vec::new() }
    }

    #[test]
    fn a_name_goes_to_the_partitions_once_and_rows_need_its_label() {
        let mut tables = tables();
        let refused = apply(&mut tables, 1, rows(0, 1));
        assert_eq!(refused.answer, TableAnswer::Rows(Err(RowsRefusal::UnknownLabel)));
        let first = apply(&mut tables, 2, name(NewName::Label("Person".into())));
        let (id, named) = (LabelId(0), TableAnswer::Name(Ok(NameId::Label(LabelId(0)))));
        assert_eq!(first.answer, named);
        assert_eq!(first.schema, Some(SchemaChange::AddLabel { id, name: "Person".into() }));
        let second = apply(&mut tables, 3, name(NewName::Label("Person".into())));
        assert_eq!(second, TableDecision { answer: named, schema: None });
        let given = RowRange { group: GroupId(1), first: 0, count: 256 };
        let answered = TableDecision { answer: TableAnswer::Rows(Ok(given)), schema: None };
        assert_eq!(apply(&mut tables, 4, rows(0, 1)), answered);
        assert_eq!(tables.catalogue().label("Person"), Some(id));
    }

    #[test]
    fn an_index_is_in_the_catalogue_when_it_is_ready_and_not_if_it_was_dropped_before() {
        let mut tables = tables();
        apply(&mut tables, 1, name(NewName::Label("Person".into())));
        apply(&mut tables, 2, name(NewName::Key("name".into())));
        let id = IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(0), kind: IndexKind::Ordered };
        let index = IndexDefinition { id, unique: false };
        let create = || RecordBody::CreateIndex { index, touches: Vec::new() };
        let ready =
            |created| RecordBody::IndexReady { index, created: Timestamp(created), touches: Vec::new() };
        assert_eq!(apply(&mut tables, 3, create()).answer, TableAnswer::Index(Ok(())));
        assert_eq!(tables.catalogue().index(id), None);
        tables.commit(&SchemaChange::DropIndex(id)).unwrap();
        let dropped = apply(&mut tables, 4, ready(3));
        assert_eq!(dropped.answer, TableAnswer::Index(Err(IndexRefusal::NotBuilt)));
        assert_eq!((dropped.schema, tables.catalogue().index(id)), (None, None));
        apply(&mut tables, 5, create());
        let done = apply(&mut tables, 6, ready(5));
        assert_eq!(done.schema, Some(SchemaChange::AddIndex(index)));
        assert_eq!(tables.catalogue().index(id), Some(index));
        let again = apply(&mut tables, 7, create());
        assert_eq!(again.answer, TableAnswer::Index(Err(IndexRefusal::Exists)));
    }

    #[test]
    fn numbers_of_names_go_on_behind_those_that_transactions_gave() {
        let mut tables = tables();
        let of_transaction = SchemaChange::AddLabel { id: LabelId(7), name: "Post".into() };
        tables.commit(&of_transaction).unwrap();
        tables.commit(&of_transaction).unwrap();
        let other = SchemaChange::AddLabel { id: LabelId(7), name: "City".into() };
        assert!(tables.commit(&other).unwrap_err().is_conflict());
        let named = apply(&mut tables, 1, name(NewName::Label("City".into())));
        assert_eq!(named.answer, TableAnswer::Name(Ok(NameId::Label(LabelId(8)))));
    }

    #[test]
    fn a_node_leaves_when_its_partitions_are_elsewhere() {
        let mut tables = tables();
        let place = |since, node, step| {
            let (since, partition, node) = (Timestamp(since), PartitionId(1), NodeId(node));
            RecordBody::Place(PlaceChange { since, partition, node, step })
        };
        let leave = || RecordBody::Leave { node: NodeId(1) };
        let refused = TableAnswer::Member(Err(MemberRefusal::KeepsPartitions));
        assert_eq!(apply(&mut tables, 1, leave()).answer, refused);
        for (at, node, step) in [(2, 0, PlaceStep::Copy), (3, 0, PlaceStep::Serve), (4, 1, PlaceStep::Drop)] {
            let placed = apply(&mut tables, at, place(at - 1, node, step));
            assert_eq!(placed.answer, TableAnswer::Place(Ok(())), "{step:?}");
        }
        assert_eq!(apply(&mut tables, 5, leave()).answer, TableAnswer::Member(Ok(())));
        let unknown = apply(&mut tables, 6, place(5, 1, PlaceStep::Copy));
        assert_eq!(unknown.answer, TableAnswer::Place(Err(PlaceRefusal::NoMember)));
        let joins = RecordBody::Join { address: "a:9".into() };
        assert_eq!(apply(&mut tables, 7, joins).answer, TableAnswer::Member(Ok(())));
        assert_eq!(tables.members().address(NodeId(0)), Some("a:9"));
    }
}
