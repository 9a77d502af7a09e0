//! Payload: the mutations of a transaction by partition, as the log of a store encodes them.
//!
//! ```text
//! vertex               the partition of its group
//! edge                 the partition of its source, with its properties; that of its target, without them
//! change of catalogue  every node
//! ```
//!
//! Group g belongs to partition g mod P. A store drops the records of groups that are not its own, so that both
//! partitions get the mutation of an edge, and each installs its side.
//!
//! The bytes are those of `transaction/payload.rs` of storage. Of a transaction in parts each part has some of them:
//! a mutation may begin in one part and end in another.

use crate::planted::{Bug, planted};
use evergraph_graph::bytes::{Decoded, Reader, put_bytes};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{EdgeId, GroupId, PartitionId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::{PARTITIONS_MAX, PartitionCount};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::transaction::payload;
use std::collections::BTreeMap;

/// In place of a partition: every node.
const EVERY_NODE: u16 = u16::MAX;

/// Where a payload goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Destination {
    /// One partition, wherever it is kept.
    Partition(PartitionId),
    /// Every node: the catalogue.
    EveryNode,
}

/// Mutations, encoded, or a piece of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Payload {
    /// Where they go.
    pub destination: Destination,
    /// The bytes.
    pub mutations: Vec<u8>,
}

/// The payloads of `mutations`, by ascending destination, for a graph of `partitions`.
///
/// # Errors
/// `invalid` for notes and for entries of index files: a cluster keeps none.
pub fn payloads(mutations: &[Mutation], partitions: PartitionCount) -> Result<Vec<Payload>> {
    let mut bytes: BTreeMap<Destination, Vec<u8>> = BTreeMap::new();
    for mutation in mutations {
        let mut put = |destination: Destination, mutation: &Mutation| {
            mutation.encode(bytes.entry(destination).or_default());
        };
        let of_group = |group: GroupId| Destination::Partition(partitions.of_group(group));
        match mutation {
            Mutation::InsertVertex { vertex, .. }
            | Mutation::DeleteVertex { vertex }
            | Mutation::SetVertexProperties { vertex, .. } => put(of_group(vertex.group()), mutation),
            Mutation::InsertEdge { edge, .. } | Mutation::DeleteEdge { edge } => {
                let (out, into) = sides(edge, partitions);
                put(Destination::Partition(out), mutation);
                if out != into && !planted(Bug::HalfEdge) {
                    put(Destination::Partition(into), &without_properties(mutation));
                }
            }
            // The in side has no properties.
            Mutation::ReplaceEdge { edge, .. } | Mutation::SetEdgeProperties { edge, .. } => {
                put(of_group(edge.source.group()), mutation);
            }
            Mutation::Schema(_) => put(Destination::EveryNode, mutation),
            Mutation::LeaveIndex(_) | Mutation::Note(_) => {
                return Err(Error::invalid("a cluster keeps neither notes nor entries of index files"));
            }
        }
    }
    Ok(bytes.into_iter().map(|(destination, mutations)| Payload { destination, mutations }).collect())
}

/// The partitions of the out side and of the in side of an edge.
fn sides(edge: &EdgeId, partitions: PartitionCount) -> (PartitionId, PartitionId) {
    (partitions.of_group(edge.source.group()), partitions.of_group(edge.target.group()))
}

fn without_properties(mutation: &Mutation) -> Mutation {
    match mutation {
        Mutation::InsertEdge { edge, .. } => {
            Mutation::InsertEdge { edge: *edge, properties: Properties::EMPTY }
        }
        other => other.clone(),
    }
}

impl Payload {
    /// The mutations of a whole payload, which commits at `timestamp`.
    ///
    /// # Errors
    /// `corrupt` if the bytes are no mutations, naming the timestamp and the place in them.
    pub fn decode_mutations(&self, timestamp: Timestamp) -> Result<Vec<Mutation>> {
        payload::decode(timestamp, &self.mutations)
    }

    /// Appends the form in a record.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let number = match self.destination {
            Destination::Partition(partition) => partition.0,
            Destination::EveryNode => EVERY_NODE,
        };
        out.extend_from_slice(&number.to_le_bytes());
        put_bytes(out, &self.mutations);
    }

    /// Reads what [`Payload::encode`] wrote.
    ///
    /// # Errors
    /// If there is something else.
    pub fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let start = reader.clone();
        let destination = match reader.u16()? {
            EVERY_NODE => Destination::EveryNode,
            number if number < PARTITIONS_MAX => Destination::Partition(PartitionId(number)),
            number => {
                return Err(
                    start.error(format!("a partition below {PARTITIONS_MAX} expected, found {number}"))
                );
            }
        };
        Ok(Self { destination, mutations: reader.bytes()?.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::{KeyId, LabelId, TypeId, VertexId};
    use evergraph_graph::schema_change::SchemaChange;
    use evergraph_graph::value::Value;

    fn vertex(group: u32) -> VertexId {
        VertexId::new(GroupId(group), 1)
    }

    fn decoded(payload: &Payload) -> Vec<Mutation> {
        payload.decode_mutations(Timestamp(9)).unwrap()
    }

    #[test]
    fn an_edge_goes_to_both_of_its_partitions_and_its_properties_to_the_first() {
        let partitions = PartitionCount::new(4).unwrap();
        let edge = EdgeId { source: vertex(5), edge_type: TypeId(2), target: vertex(2), discriminator: 0 };
        let properties = Properties::new(vec![(KeyId(1), Some(Value::I64(7)))]);
        let insert = Mutation::InsertEdge { edge, properties: properties.clone() };
        let set = Mutation::SetEdgeProperties { edge, properties };
        let label = Mutation::Schema(SchemaChange::AddLabel { id: LabelId(1), name: "a".into() });
        let payloads = payloads(&[insert.clone(), set.clone(), label.clone()], partitions).unwrap();
        let of = |partition| Destination::Partition(PartitionId(partition));
        let destinations: Vec<_> = payloads.iter().map(|payload| payload.destination).collect();
        assert_eq!(destinations, [of(1), of(2), Destination::EveryNode]);
        assert_eq!(decoded(&payloads[0]), [insert, set]);
        assert_eq!(decoded(&payloads[1]), [Mutation::InsertEdge { edge, properties: Properties::EMPTY }]);
        assert_eq!(decoded(&payloads[2]), [label]);
    }

    #[test]
    fn an_edge_within_a_partition_is_sent_once() {
        let partitions = PartitionCount::new(4).unwrap();
        let edge = EdgeId { source: vertex(5), edge_type: TypeId(2), target: vertex(1), discriminator: 0 };
        let payloads = payloads(&[Mutation::DeleteEdge { edge }], partitions).unwrap();
        assert_eq!(payloads.len(), 1);
        assert_eq!(decoded(&payloads[0]), [Mutation::DeleteEdge { edge }]);
    }
}
