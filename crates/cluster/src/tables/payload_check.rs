//! Payload check: what a transaction commits, read once on every node, or what is wrong with it.
//!
//! ```text
//! payload of the catalogue  ──> changes, each allowed by the catalogue after those before it
//! payload of a partition    ──> mutations of which this partition installs something
//! ```
//!
//! What passes is given to stores as it is; they refuse what does not fit them, and all copies of a partition refuse the same.
//! Such a commit would take a partition from everybody, at each start again. So whatever follows from the log alone is checked
//! here, on every node, before the commit is remembered.
//!
//! So a transaction is about vertices only whose rows somebody was given, and changes each vertex and edge once.
//!
//! What only the partition itself knows is left to the checks of the transaction: that nothing is where something is inserted,
//! and that what is changed or deleted is there.
//!
//! Cost: about a fifth of a microsecond a mutation, on every node, whichever partitions it keeps; partitions do not read the
//! bytes again. Memory: 40 bytes a mutation and its properties, until the message is installed.

use crate::certification::graph_rules::GraphRules;
use crate::certification::outcome::{Malformation, PayloadProblem};
use crate::planted::{Bug, planted};
use crate::record::payload::{Destination, Payload};
use crate::record_id::Author;
use crate::tables::cluster_tables::ClusterTables;
use evergraph_graph::bytes::Reader;
use evergraph_graph::id::{PartitionId, VertexId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_storage::transaction::names::NAMES_MAX;

/// What a transaction commits, once it was read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckedCommit {
    /// Its changes of the catalogue, in their order.
    pub schema: Vec<SchemaChange>,
    /// The mutations of each partition, ascending, each partition once.
    pub partitions: Vec<(PartitionId, Vec<Mutation>)>,
}

impl GraphRules for ClusterTables {
    type Commit = CheckedCommit;

    fn is_member(&self, author: Author) -> bool {
        self.members.is_current(author) || planted(Bug::ZombieAccepted)
    }

    fn read_payloads(&self, payloads: Vec<Payload>) -> Result<CheckedCommit, Malformation> {
        let mut commit = CheckedCommit::default();
        for Payload { destination, mutations } in payloads {
            let of_payload = |problem| Malformation { destination, problem };
            match destination {
                Destination::Partition(partition) => {
                    let read = self.read_mutations(partition, &mutations).map_err(of_payload)?;
                    commit.partitions.push((partition, read));
                }
                Destination::EveryNode => {
                    commit.schema = self.read_schema(&mutations).map_err(of_payload)?;
                }
            }
        }
        Ok(commit)
    }
}

impl ClusterTables {
    fn read_mutations(&self, partition: PartitionId, bytes: &[u8]) -> Result<Vec<Mutation>, PayloadProblem> {
        let own = OwnGroups::new(partition, self.groups.partitions());
        let own = own.ok_or(PayloadProblem::UnknownPartition)?;
        let (mut reader, mut mutations) = (Reader::new(bytes), Vec::new());
        while !reader.is_empty() {
            let mutation = take_mutation(&mut reader)?;
            if !is_of(own, &mutation) && !planted(Bug::MisplacedAccepted) {
                return Err(PayloadProblem::Misplaced);
            }
            if let Mutation::InsertVertex { vertex, label, .. } = &mutation
                && self.groups.label(vertex.group()) != Some(*label)
            {
                return Err(PayloadProblem::OtherLabel { vertex: *vertex });
            }
            if let Some(vertex) = self.never_given(&mutation) {
                return Err(PayloadProblem::NeverGiven { vertex });
            }
            mutations.push(mutation);
        }
        if changes_twice(&mutations) {
            return Err(PayloadProblem::ChangedTwice);
        }
        Ok(mutations)
    }

    /// A vertex that the mutation is about, whose row nobody was given.
    fn never_given(&self, mutation: &Mutation) -> Option<VertexId> {
        if planted(Bug::NeverGivenAccepted) {
            return None;
        }
        let is_unknown = |vertex: &VertexId| !self.groups.was_given(*vertex);
        match item_of(mutation)? {
            ItemId::Vertex(vertex) => Some(vertex).filter(is_unknown),
            ItemId::Edge(edge) => [edge.source, edge.target].into_iter().find(is_unknown),
        }
    }

    fn read_schema(&self, bytes: &[u8]) -> Result<Vec<SchemaChange>, PayloadProblem> {
        let (mut reader, mut changes) = (Reader::new(bytes), Vec::new());
        // It shares its tables with ours.
        let mut next = self.catalogue.clone();
        while !reader.is_empty() {
            let Mutation::Schema(change) = take_mutation(&mut reader)? else {
                return Err(PayloadProblem::Misplaced);
            };
            if is_impossible_name(&change) {
                return Err(PayloadProblem::ImpossibleName);
            }
            match next.would_change(&change) {
                Ok(true) => next.apply(&change),
                Ok(false) => {}
                Err(_) => return Err(PayloadProblem::OtherCatalogue),
            }
            changes.push(change);
        }
        Ok(changes)
    }
}

fn take_mutation(reader: &mut Reader<'_>) -> Result<Mutation, PayloadProblem> {
    Mutation::decode(reader).map_err(|error| PayloadProblem::Unreadable { offset: error.offset })
}

/// Whether a store of these groups installs something of `mutation`. Changes of the catalogue go to every node, and a cluster
/// keeps neither notes nor entries of index files.
fn is_of(own: OwnGroups, mutation: &Mutation) -> bool {
    match mutation {
        Mutation::Schema(_) | Mutation::LeaveIndex(_) | Mutation::Note(_) => false,
        of_graph => own.concerns(of_graph),
    }
}

/// The vertex or edge that a mutation changes.
fn item_of(mutation: &Mutation) -> Option<ItemId> {
    match mutation {
        Mutation::InsertVertex { vertex, .. }
        | Mutation::DeleteVertex { vertex }
        | Mutation::SetVertexProperties { vertex, .. } => Some(ItemId::Vertex(*vertex)),
        Mutation::InsertEdge { edge, .. }
        | Mutation::ReplaceEdge { edge, .. }
        | Mutation::DeleteEdge { edge }
        | Mutation::SetEdgeProperties { edge, .. } => Some(ItemId::Edge(*edge)),
        Mutation::Schema(_) | Mutation::LeaveIndex(_) | Mutation::Note(_) => None,
    }
}

/// Whether two of the mutations are of one vertex or edge. Coordinators send them sorted but for a few, so that sorting is
/// nearly linear.
fn changes_twice(mutations: &[Mutation]) -> bool {
    if planted(Bug::ChangedTwiceAccepted) {
        return false;
    }
    let (mut vertices, mut edges) = (Vec::new(), Vec::new());
    for item in mutations.iter().filter_map(item_of) {
        match item {
            ItemId::Vertex(vertex) => vertices.push(vertex),
            ItemId::Edge(edge) => edges.push(edge),
        }
    }
    vertices.sort_unstable();
    edges.sort_unstable();
    vertices.windows(2).any(|pair| pair[0] == pair[1]) || edges.windows(2).any(|pair| pair[0] == pair[1])
}

/// Whether a change gives a name without letters, or a number that no name has: the next ones would go on behind it.
fn is_impossible_name(change: &SchemaChange) -> bool {
    let (number, name) = match change {
        SchemaChange::AddLabel { id, name } => (id.0, Some(name)),
        SchemaChange::AddEdgeType { id, name, .. } => (id.0, Some(name)),
        SchemaChange::AddKey { id, name } => (id.0, Some(name)),
        SchemaChange::AddMetaKey { id, .. } => (id.0, None),
        _ => return false,
    };
    usize::from(number) >= NAMES_MAX || name.is_some_and(|name| name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
    use crate::record::body::{NewName, RecordBody};
    use crate::record::payload::payloads;
    use crate::record_id::{NodeId, RecordId};
    use crate::tables::groups::RANGE_ROWS;
    use crate::tables::members::Members;
    use evergraph_graph::id::{EdgeId, GroupId, KeyId, LabelId, TypeId};
    use evergraph_graph::note::NoteChange;
    use evergraph_graph::partition::PartitionCount;
    use evergraph_graph::properties::Properties;
    use evergraph_graph::timestamp::Timestamp;
    use evergraph_storage::transaction::payload::encode;

    const PARTITIONS: PartitionCount = PartitionCount::new(2).expect("two are possible");

    /// Two partitions; label 0 has rows of groups 0 and 1, each in the partition of its number.
    fn tables() -> ClusterTables {
        let mut tables = ClusterTables::new(PARTITIONS, Members::new([(NodeId(0), "a:1".into())]), 1);
        let author = Author { node: NodeId(0), incarnation: 0 };
        let bodies = [
            RecordBody::Name { name: NewName::Label("Person".into()), touches: Vec::new() },
            RecordBody::Rows { label: LabelId(0), partition: PartitionId(1), touches: Vec::new() },
            RecordBody::Rows { label: LabelId(0), partition: PartitionId(0), touches: Vec::new() },
        ];
        for (number, body) in (1..).zip(bodies) {
            tables.apply(RecordId { author, number }, Timestamp(number), body);
        }
        tables
    }

    fn vertex(group: u32) -> VertexId {
        VertexId::new(GroupId(group), 1)
    }

    fn insert(group: u32, label: u16) -> Mutation {
        Mutation::InsertVertex { vertex: vertex(group), label: LabelId(label), properties: Properties::EMPTY }
    }

    fn edge() -> Mutation {
        let edge = EdgeId { source: vertex(1), edge_type: TypeId(0), target: vertex(0), discriminator: 0 };
        Mutation::InsertEdge { edge, properties: Properties::EMPTY }
    }

    fn of(partition: u16, mutations: &[Mutation]) -> Payload {
        let destination = Destination::Partition(PartitionId(partition));
        Payload { destination, mutations: encode(mutations) }
    }

    fn everywhere(mutations: &[Mutation]) -> Payload {
        Payload { destination: Destination::EveryNode, mutations: encode(mutations) }
    }

    fn problem(payload: Payload) -> Option<PayloadProblem> {
        tables().read_payloads(vec![payload]).err().map(|malformation| malformation.problem)
    }

    #[test]
    fn what_a_coordinator_sends_is_read_whole() {
        let label = SchemaChange::AddLabel { id: LabelId(1), name: "Post".into() };
        let mutations = [insert(1, 0), edge(), Mutation::Schema(label.clone())];
        let commit = tables().read_payloads(payloads(&mutations, PARTITIONS).unwrap()).unwrap();
        let [insert, edge, _] = mutations;
        let partitions = vec![(PartitionId(0), vec![edge.clone()]), (PartitionId(1), vec![insert, edge])];
        assert_eq!(commit, CheckedCommit { schema: vec![label], partitions });
        assert_eq!(tables().read_payloads(Vec::new()), Ok(CheckedCommit::default()));
    }

    #[test]
    fn what_is_no_mutation_or_goes_to_no_partition_is_refused_with_its_place() {
        let mut cut = of(1, &[insert(1, 0), edge()]);
        let whole = cut.mutations.len();
        cut.mutations.pop();
        assert!(
            matches!(problem(cut.clone()), Some(PayloadProblem::Unreadable { offset }) if offset < whole)
        );
        cut.mutations = vec![99];
        assert_eq!(problem(cut), Some(PayloadProblem::Unreadable { offset: 0 }));
        assert_eq!(problem(of(2, &[edge()])), Some(PayloadProblem::UnknownPartition));
        let refused = tables().read_payloads(vec![of(2, &[edge()])]).unwrap_err();
        assert_eq!(refused.to_string(), "its payload of partition 2 goes to none of the graph's partitions");
    }

    #[test]
    fn what_belongs_elsewhere_is_refused() {
        let misplaced = Some(PayloadProblem::Misplaced);
        assert_eq!(problem(of(0, &[insert(1, 0)])), misplaced, "of another partition");
        let label = Mutation::Schema(SchemaChange::AddLabel { id: LabelId(1), name: "Post".into() });
        let note = Mutation::Note(NoteChange { name: "cluster.seen".into(), bytes: None });
        for of_no_partition in [label, note.clone()] {
            assert_eq!(problem(of(1, &[of_no_partition])), misplaced);
        }
        for of_no_catalogue in [note, edge()] {
            assert_eq!(problem(everywhere(&[of_no_catalogue])), misplaced);
        }
    }

    #[test]
    fn a_vertex_is_inserted_into_a_group_of_its_label() {
        assert_eq!(problem(of(1, &[insert(1, 0)])), None);
        assert_eq!(problem(of(1, &[insert(1, 1)])), Some(PayloadProblem::OtherLabel { vertex: vertex(1) }));
        assert_eq!(problem(of(1, &[insert(3, 0)])), Some(PayloadProblem::OtherLabel { vertex: vertex(3) }));
    }

    #[test]
    fn what_is_about_a_vertex_that_nobody_was_given_is_refused() {
        let beyond = VertexId::new(GroupId(1), RANGE_ROWS);
        let between = |source, target| EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 };
        let (label, properties, origin) = (LabelId(0), Properties::EMPTY, vertex(0));
        let about = |vertex| {
            let (out, into) = (between(vertex, origin), between(origin, vertex));
            [
                Mutation::SetVertexProperties { vertex, properties: properties.clone() },
                Mutation::DeleteVertex { vertex },
                Mutation::InsertEdge { edge: out, properties: properties.clone() },
                Mutation::InsertEdge { edge: into, properties: properties.clone() },
                Mutation::ReplaceEdge { edge: out, properties: properties.clone() },
                Mutation::SetEdgeProperties { edge: out, properties: properties.clone() },
                Mutation::DeleteEdge { edge: into },
            ]
        };
        let given = VertexId::new(GroupId(1), RANGE_ROWS - 1);
        for mutation in about(given) {
            assert_eq!(problem(of(1, &[mutation])), None);
        }
        for vertex in [beyond, vertex(3)] {
            for mutation in about(vertex) {
                let found = problem(of(1, &[mutation]));
                assert_eq!(found, Some(PayloadProblem::NeverGiven { vertex }), "nobody was given it");
            }
        }
        let inserted = Mutation::InsertVertex { vertex: beyond, label, properties };
        assert_eq!(problem(of(1, &[inserted])), Some(PayloadProblem::NeverGiven { vertex: beyond }));
    }

    #[test]
    fn a_vertex_or_an_edge_is_changed_once() {
        let twice = Some(PayloadProblem::ChangedTwice);
        let set = Mutation::SetVertexProperties { vertex: vertex(1), properties: Properties::EMPTY };
        let Mutation::InsertEdge { edge: inserted, .. } = edge() else { panic!("an edge") };
        let parallel = EdgeId { discriminator: 1, ..inserted };
        let deleted = Mutation::DeleteEdge { edge: parallel };
        assert_eq!(problem(of(1, &[edge(), insert(1, 0), deleted])), None);
        assert_eq!(problem(of(1, &[insert(1, 0), edge(), set])), twice, "a vertex");
        let deleted = Mutation::DeleteEdge { edge: inserted };
        assert_eq!(problem(of(1, &[edge(), insert(1, 0), deleted])), twice, "an edge");
    }

    #[test]
    fn a_name_has_letters_and_a_number_below_the_limit() {
        let last = NAMES_MAX as u16 - 1;
        let impossible = Some(PayloadProblem::ImpossibleName);
        let changes = |number: u16, name: &str| {
            [
                SchemaChange::AddLabel { id: LabelId(number), name: name.into() },
                SchemaChange::AddEdgeType { id: TypeId(number), name: name.into(), simple: false },
                SchemaChange::AddKey { id: KeyId(number), name: name.into() },
            ]
        };
        let problem_of = |change| problem(everywhere(&[Mutation::Schema(change)]));
        for change in changes(last, "last") {
            assert_eq!(problem_of(change), None);
        }
        for change in changes(last, "").into_iter().chain(changes(last + 1, "beyond")) {
            assert_eq!(problem_of(change), impossible);
        }
        let meta = SchemaChange::AddMetaKey { id: KeyId(last + 1), of: KeyId(0) };
        assert_eq!(problem_of(meta), impossible);
    }

    #[test]
    fn a_change_of_the_catalogue_is_judged_after_those_before_it() {
        let key =
            |id, name: &str| Mutation::Schema(SchemaChange::AddKey { id: KeyId(id), name: name.into() });
        assert_eq!(problem(everywhere(&[key(3, "name"), key(3, "name"), key(4, "age")])), None);
        let other = Some(PayloadProblem::OtherCatalogue);
        assert_eq!(problem(everywhere(&[key(3, "name"), key(3, "age")])), other);
        let label = Mutation::Schema(SchemaChange::AddLabel { id: LabelId(0), name: "Post".into() });
        assert_eq!(problem(everywhere(&[label])), other, "the number has a name");
    }

    #[test]
    fn planted_bugs_are_found() {
        assert_found(Bug::MisplacedAccepted, what_belongs_elsewhere_is_refused, "of another partition");
        let given = what_is_about_a_vertex_that_nobody_was_given_is_refused;
        assert_found(Bug::NeverGivenAccepted, given, "nobody was given it");
        assert_found(Bug::ChangedTwiceAccepted, a_vertex_or_an_edge_is_changed_once, "a vertex");
    }
}
