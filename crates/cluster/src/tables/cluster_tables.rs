//! Cluster tables: the catalogue, groups, builds, members and placement of a graph, and what a record does to them.
//!
//! A pure function of the log: nothing here depends on a clock, on chance, or on the node that applies.

use crate::key_hash::graph_salt::GraphSalt;
use crate::planted::{Bug, planted};
use crate::record::body::{RecordBody, UniqueStep};
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
use evergraph_storage::checkpoint::manifest::StoredGroup;

/// What became of a record that certification accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableAnswer {
    /// Rows that its author was given.
    Rows(Result<RowRange, RowsRefusal>),
    /// The number of its name.
    Name(Result<NameId, NameRefusal>),
    /// Whether its index is being built, its author's stores count as having filled it, or it is unique.
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
    /// What partitions change in their catalogues: as [`ClusterTables::partition_change`] says.
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

    /// Adds a group with rows that were given elsewhere, as of a database that becomes a cluster; whether it was free. Vertices of
    /// its label may be anywhere: no index that comes later places them by a value.
    ///
    /// # Panics
    /// If no graph has such a group, or no group so many rows.
    pub fn adopt(&mut self, group: StoredGroup) -> bool {
        let is_new = self.groups.add(group);
        if is_new && !planted(Bug::AdoptedLabelPlaced) {
            self.placement_keys.scatter(group.label);
        }
        is_new
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
                    change.iter().for_each(|change| self.learn(change));
                    schema = change;
                    number
                }))
            }
            RecordBody::CreateIndex { index, .. } => {
                let begun = self.builds.begin(&self.catalogue, index, at);
                if begun.is_ok() {
                    schema = Some(in_partitions(index));
                    // Vertices that come while it is built are placed already.
                    self.placement_keys.learn_index(index);
                }
                TableAnswer::Index(begun)
            }
            RecordBody::IndexReady { index, created, .. } => {
                let reported = self.builds.report(index, created, id.author.node);
                self.settle_builds();
                TableAnswer::Index(reported)
            }
            RecordBody::UniqueIndex { index, created, step, .. } => TableAnswer::Index(match step {
                UniqueStep::Enforce => self.builds.enforce(index, created),
                UniqueStep::Confirm => {
                    let confirmed = self.builds.confirm(index, created);
                    if confirmed.is_ok() {
                        self.learn(&SchemaChange::AddIndex(index));
                    }
                    confirmed
                }
            }),
            RecordBody::Join { address } => TableAnswer::Member(self.members.join(id.author, address)),
            RecordBody::Leave { node } => {
                let keeps_partitions = self.placement.kept_by(node).next().is_some();
                TableAnswer::Member(self.members.leave(node, keeps_partitions))
            }
            RecordBody::Place(change) => {
                let author = id.author.node;
                let placed = self.placement.change(&change, author, &self.members, at);
                // A node that was waited for may serve nothing any more.
                self.settle_builds();
                TableAnswer::Place(placed)
            }
            RecordBody::Barrier => TableAnswer::Barrier,
            RecordBody::Transaction { .. } | RecordBody::Part { .. } | RecordBody::Cancel { .. } => {
                unreachable!("certification decides {id} alone")
            }
        };
        TableDecision { answer, schema }
    }

    /// What partitions change in their catalogues when the graph's is about to change by `change`; none if they have it already.
    ///
    /// Their indexes are never unique. Only the graph can promise that, since equal values may lie in several partitions. They
    /// have an index from its creation on, and the graph's catalogue when it is filled.
    #[must_use]
    pub fn partition_change(&self, change: &SchemaChange) -> Option<SchemaChange> {
        let SchemaChange::AddIndex(index) = change else { return Some(change.clone()) };
        let is_there = self.catalogue.index(index.id).is_some() || self.builds.get(index.id).is_some();
        (!is_there).then(|| in_partitions(*index))
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

    /// Indexes that all nodes have filled are in the catalogue.
    fn settle_builds(&mut self) {
        for id in self.builds.settle(self.groups.partitions(), &self.placement) {
            self.learn(&SchemaChange::AddIndex(IndexDefinition { id, unique: false }));
        }
    }

    fn give_rows(&mut self, label: LabelId, partition: PartitionId) -> Result<RowRange, RowsRefusal> {
        if !self.catalogue.has_label(label) {
            return Err(RowsRefusal::UnknownLabel);
        }
        self.groups.give(label, partition)
    }
}

/// The change by which partitions get an index.
fn in_partitions(index: IndexDefinition) -> SchemaChange {
    SchemaChange::AddIndex(IndexDefinition { unique: false, ..index })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
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

    /// Tables with a label and a key, and an index on them, of either promise.
    fn with_property(unique: bool) -> (ClusterTables, IndexDefinition) {
        let mut tables = tables();
        apply(&mut tables, 1, name(NewName::Label("Person".into())));
        apply(&mut tables, 2, name(NewName::Key("name".into())));
        let id = IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(0), kind: IndexKind::Ordered };
        (tables, IndexDefinition { id, unique })
    }

    fn create(index: IndexDefinition) -> RecordBody {
        RecordBody::CreateIndex { index, touches: Vec::new() }
    }

    /// The stores of `node` have filled the index of the record at `created`.
    fn ready(
        tables: &mut ClusterTables,
        node: u16,
        at: u64,
        (index, created): (IndexDefinition, u64),
    ) -> TableDecision {
        let author = Author { node: NodeId(node), incarnation: 0 };
        let body = RecordBody::IndexReady { index, created: Timestamp(created), touches: Vec::new() };
        tables.apply(RecordId { author, number: at }, Timestamp(at), body)
    }

    fn answered(answer: Result<(), IndexRefusal>) -> TableDecision {
        TableDecision { answer: TableAnswer::Index(answer), schema: None }
    }

    #[test]
    fn partitions_have_an_index_at_once_and_the_catalogue_when_all_nodes_have_filled_it() {
        let (mut tables, index) = with_property(false);
        let created = apply(&mut tables, 3, create(index));
        assert_eq!(created.schema, Some(SchemaChange::AddIndex(index)));
        assert_eq!(tables.partition_change(&SchemaChange::AddIndex(index)), None, "they have it");
        assert_eq!(tables.catalogue().index(index.id), None);
        assert_eq!(ready(&mut tables, 0, 4, (index, 3)), answered(Ok(())));
        tables.commit(&SchemaChange::DropIndex(index.id)).unwrap();
        assert_eq!(ready(&mut tables, 1, 5, (index, 3)), answered(Err(IndexRefusal::NotBuilt)));
        assert_eq!(tables.catalogue().index(index.id), None, "dropped");
        apply(&mut tables, 6, create(index));
        assert_eq!(ready(&mut tables, 0, 7, (index, 6)), answered(Ok(())));
        assert_eq!(tables.catalogue().index(index.id), None, "half of the partitions");
        assert_eq!(ready(&mut tables, 1, 8, (index, 6)), answered(Ok(())));
        assert_eq!(tables.catalogue().index(index.id), Some(index));
        let again = apply(&mut tables, 9, create(index));
        assert_eq!(again.answer, TableAnswer::Index(Err(IndexRefusal::Exists)));
        assert_eq!(again.schema, None);
    }

    #[test]
    fn a_unique_index_answers_before_it_is_unique_and_partitions_never_have_one() {
        let (mut tables, index) = with_property(true);
        let plain = IndexDefinition { unique: false, ..index };
        assert_eq!(
            tables.partition_change(&SchemaChange::AddIndex(index)),
            Some(SchemaChange::AddIndex(plain))
        );
        assert_eq!(apply(&mut tables, 3, create(index)).schema, Some(SchemaChange::AddIndex(plain)));
        let unique = |step| {
            let (created, touches) = (Timestamp(3), Vec::new());
            RecordBody::UniqueIndex { index, created, step, touches }
        };
        assert_eq!(apply(&mut tables, 4, unique(UniqueStep::Enforce)), answered(Err(IndexRefusal::TooSoon)));
        [0, 1].into_iter().for_each(|node| drop(ready(&mut tables, node, 5, (index, 3))));
        assert_eq!(tables.catalogue().index(index.id), Some(plain));
        for (step, known) in [(UniqueStep::Enforce, plain), (UniqueStep::Confirm, index)] {
            assert_eq!(apply(&mut tables, 6, unique(step)), answered(Ok(())));
            assert_eq!(tables.catalogue().index(index.id), Some(known));
        }
        assert_eq!(tables.builds().all().len(), 0);
    }

    #[test]
    fn an_index_does_not_wait_for_a_node_whose_partitions_are_elsewhere() {
        let (mut tables, index) = with_property(false);
        apply(&mut tables, 3, create(index));
        ready(&mut tables, 0, 4, (index, 3));
        for (at, node, step) in [(5, 0, PlaceStep::Copy), (6, 0, PlaceStep::Serve), (7, 1, PlaceStep::Drop)] {
            assert_eq!(tables.catalogue().index(index.id), None);
            let (since, partition, node) = (Timestamp(at - 1), PartitionId(1), NodeId(node));
            let place = RecordBody::Place(PlaceChange { since, partition, node, step });
            assert_eq!(apply(&mut tables, at, place).answer, TableAnswer::Place(Ok(())), "{step:?}");
        }
        assert_eq!(tables.catalogue().index(index.id), Some(index));
    }

    #[test]
    fn vertices_of_an_adopted_group_are_placed_by_no_value() {
        let (mut tables, index) = with_property(true);
        apply(&mut tables, 3, name(NewName::Label("Post".into())));
        let group = StoredGroup { id: GroupId(3), label: LabelId(0), rows: 7 };
        assert!(tables.adopt(group));
        assert!(!tables.adopt(StoredGroup { label: LabelId(1), ..group }), "it has a label");
        let of_post = IndexId { owner: Owner::Label(LabelId(1)), ..index.id };
        for id in [index.id, of_post] {
            apply(&mut tables, 4, create(IndexDefinition { id, ..index }));
        }
        let keys = [0, 1].map(|label| tables.placement_keys().key(LabelId(label)));
        assert_eq!(keys, [None, Some(KeyId(0))], "values say nothing of vertices that were there before");
    }

    #[test]
    fn planted_bugs_are_found() {
        let adopted = vertices_of_an_adopted_group_are_placed_by_no_value;
        assert_found(Bug::AdoptedLabelPlaced, adopted, "vertices that were there before");
        let filled = partitions_have_an_index_at_once_and_the_catalogue_when_all_nodes_have_filled_it;
        assert_found(Bug::IndexReadyOfOne, filled, "half of the partitions");
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
