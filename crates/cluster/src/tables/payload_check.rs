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
use evergraph_graph::id::PartitionId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::schema_change::SchemaChange;

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
            mutations.push(mutation);
        }
        Ok(mutations)
    }

    fn read_schema(&self, bytes: &[u8]) -> Result<Vec<SchemaChange>, PayloadProblem> {
        let (mut reader, mut changes) = (Reader::new(bytes), Vec::new());
        // It shares its tables with ours.
        let mut next = self.catalogue.clone();
        while !reader.is_empty() {
            let Mutation::Schema(change) = take_mutation(&mut reader)? else {
                return Err(PayloadProblem::Misplaced);
            };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
    use crate::record::body::{NewName, RecordBody};
    use crate::record::payload::payloads;
    use crate::record_id::{NodeId, RecordId};
    use crate::tables::members::Members;
    use evergraph_graph::id::{EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
    use evergraph_graph::note::NoteChange;
    use evergraph_graph::partition::PartitionCount;
    use evergraph_graph::properties::Properties;
    use evergraph_graph::timestamp::Timestamp;
    use evergraph_storage::transaction::payload::encode;

    const PARTITIONS: PartitionCount = PartitionCount::new(2).expect("two are possible");

    /// Two partitions; label 0 has rows of group 1, which is in partition 1.
    fn tables() -> ClusterTables {
        let mut tables = ClusterTables::new(PARTITIONS, Members::new([(NodeId(0), "a:1".into())]), 1);
        let author = Author { node: NodeId(0), incarnation: 0 };
        let bodies = [
            RecordBody::Name { name: NewName::Label("Person".into()), touches: Vec::new() },
            RecordBody::Rows { label: LabelId(0), partition: PartitionId(1), touches: Vec::new() },
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
        let edge = EdgeId { source: vertex(1), edge_type: TypeId(0), target: vertex(2), discriminator: 0 };
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
        let mut cut = of(1, &[edge(), edge()]);
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
    }
}
