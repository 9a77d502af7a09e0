//! Placement: which nodes keep each partition, and which of them answer.
//!
//! ```text
//!            place: copy        place: serve          place: drop
//! no copy ────────────> copies ─────────────> serves ────────────> no copy
//!                          └───────────── drop ───────────────────────┘
//! ```
//!
//! A copy is moved in four steps: the new node copies, serves, the old one is dropped. A node says that it serves once
//! it has proved the digest of its copy and a checkpoint of it has the copy, so that whoever drops another one relies on
//! something that a crash does not take away. The last copy that serves is never dropped.
//!
//! A record of a place says at which snapshot its author knew the partition's copies. If they were changed later, the record
//! does nothing: two nodes that replace a lost copy at once do not make two.

use crate::planted::{Bug, planted};
use crate::record::body::{PlaceChange, PlaceStep, take_timestamp};
use crate::record_id::NodeId;
use crate::tables::members::Members;
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeMap;
use std::fmt;

/// Bytes of a copy in a checkpoint.
const COPY_BYTES: usize = 3;

/// What a node does with its copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CopyState {
    /// It makes it, and answers nothing.
    Copies,
    /// It answers.
    Serves,
}

/// Why a placement does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PlaceRefusal {
    /// The graph has fewer partitions.
    UnknownPartition,
    /// It was changed after its author had looked at it.
    Changed {
        /// By the record at this timestamp.
        at: Timestamp,
    },
    /// The node is no member.
    NoMember,
    /// The node keeps the partition.
    Kept,
    /// The node does not keep the partition, or serves it already.
    NotKept,
    /// Another node said that the node serves.
    NotItself,
    /// No other node would serve the partition.
    LastCopy,
}

/// The copies of a partition.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Copies {
    /// The record that changed them last.
    changed: Timestamp,
    nodes: BTreeMap<NodeId, CopyState>,
}

/// Where the partitions of a graph are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// By partition.
    partitions: Vec<Copies>,
}

impl Placement {
    /// As a cluster of `nodes` is created: `copies` of each partition, or as many as there are nodes. Every node keeps about
    /// as many partitions as any other, and shares them with all others alike.
    ///
    /// # Panics
    /// If there are no nodes, no copies, or a node is there twice.
    #[must_use]
    pub fn spread(partitions: PartitionCount, nodes: &[NodeId], copies: usize) -> Self {
        assert!(!nodes.is_empty() && copies > 0, "a partition is kept somewhere");
        let count = nodes.len();
        let copies_of = |partition: usize| {
            // The first copy goes round; the others shift by one more each time round.
            let (first, turn) = (partition % count, partition / count);
            let shift = |copy: usize| if copy == 0 { 0 } else { 1 + (turn + copy - 1) % (count - 1) };
            let kept = (0..copies.min(count)).map(|copy| nodes[(first + shift(copy)) % count]);
            let kept: BTreeMap<_, _> = kept.map(|node| (node, CopyState::Serves)).collect();
            assert_eq!(kept.len(), copies.min(count), "a node is listed twice");
            Copies { changed: Timestamp::ZERO, nodes: kept }
        };
        Self { partitions: (0..usize::from(partitions.get())).map(copies_of).collect() }
    }

    /// The nodes that keep a partition, ascending, and what they do with it; none if there is no such partition.
    pub fn copies(&self, partition: PartitionId) -> impl Iterator<Item = (NodeId, CopyState)> {
        let copies = self.partitions.get(usize::from(partition.0));
        copies.into_iter().flat_map(|copies| copies.nodes.iter().map(|(node, state)| (*node, *state)))
    }

    /// The nodes that answer questions about a partition, ascending.
    pub fn serving(&self, partition: PartitionId) -> impl Iterator<Item = NodeId> {
        self.copies(partition).filter(|(_, state)| *state == CopyState::Serves).map(|(node, _)| node)
    }

    /// The partitions that a node keeps, ascending, and what it does with them.
    pub fn kept_by(&self, node: NodeId) -> impl Iterator<Item = (PartitionId, CopyState)> {
        let numbered = (0..).map(PartitionId).zip(&self.partitions);
        numbered.filter_map(move |(partition, copies)| Some((partition, *copies.nodes.get(&node)?)))
    }

    /// The record that changed the copies of each partition last.
    pub fn changes(&self) -> impl Iterator<Item = Timestamp> {
        self.partitions.iter().map(|copies| copies.changed)
    }

    /// Changes the copies of a partition by the record of `author` at `at`.
    ///
    /// # Errors
    /// [`PlaceRefusal`]; nothing has changed then.
    pub fn change(
        &mut self,
        change: &PlaceChange,
        author: NodeId,
        members: &Members,
        at: Timestamp,
    ) -> Result<(), PlaceRefusal> {
        let copies = self.partitions.get_mut(usize::from(change.partition.0));
        let copies = copies.ok_or(PlaceRefusal::UnknownPartition)?;
        if !copies.changed.visible_at(change.since) && !planted(Bug::StalePlaceAccepted) {
            return Err(PlaceRefusal::Changed { at: copies.changed });
        }
        let node = change.node;
        let state = copies.nodes.get(&node).copied();
        match (change.step, state) {
            (PlaceStep::Copy, Some(_)) => return Err(PlaceRefusal::Kept),
            (PlaceStep::Copy, None) if !members.has(node) => return Err(PlaceRefusal::NoMember),
            (PlaceStep::Copy, None) => copies.nodes.insert(node, CopyState::Copies),
            (PlaceStep::Serve, Some(CopyState::Copies)) if author != node => {
                return Err(PlaceRefusal::NotItself);
            }
            (PlaceStep::Serve, Some(CopyState::Copies)) => copies.nodes.insert(node, CopyState::Serves),
            (PlaceStep::Serve, None | Some(CopyState::Serves)) | (PlaceStep::Drop, None) => {
                return Err(PlaceRefusal::NotKept);
            }
            (PlaceStep::Drop, Some(_)) => {
                let serves = |(of, state): (&NodeId, &CopyState)| *of != node && *state == CopyState::Serves;
                if !copies.nodes.iter().any(serves) && !planted(Bug::LastCopyDropped) {
                    return Err(PlaceRefusal::LastCopy);
                }
                copies.nodes.remove(&node)
            }
        };
        copies.changed = at;
        Ok(())
    }

    /// Appends the form in a checkpoint.
    ///
    /// ```text
    /// each partition in order: changed:u64 count:varint, then node:u16 state:u8 (0 copies, 1 serves) each, ascending
    /// ```
    pub fn encode(&self, out: &mut Vec<u8>) {
        for Copies { changed, nodes } in &self.partitions {
            out.extend_from_slice(&changed.0.to_le_bytes());
            put_varint(out, nodes.len() as u64);
            for (node, state) in nodes {
                out.extend_from_slice(&node.0.to_le_bytes());
                out.push(match state {
                    CopyState::Copies => 0,
                    CopyState::Serves => 1,
                });
            }
        }
    }

    /// Reads what [`Placement::encode`] wrote, of a graph of `partitions` in a cluster of `members`.
    ///
    /// # Errors
    /// If there is something else, a node that is no member, or a partition that nobody serves.
    pub fn decode(reader: &mut Reader<'_>, partitions: PartitionCount, members: &Members) -> Decoded<Self> {
        let mut placement = Self { partitions: Vec::new() };
        for _ in 0..partitions.get() {
            placement.partitions.push(take_copies(reader, members)?);
        }
        Ok(placement)
    }
}

fn take_copies(reader: &mut Reader<'_>, members: &Members) -> Decoded<Copies> {
    let start = reader.clone();
    let changed = take_timestamp(reader)?;
    let mut nodes = BTreeMap::new();
    for _ in 0..reader.count(COPY_BYTES)? {
        let start = reader.clone();
        let node = NodeId(reader.u16()?);
        if nodes.last_key_value().is_some_and(|(last, _)| *last >= node) {
            return Err(start.error("nodes in ascending order expected"));
        }
        if !members.has(node) {
            return Err(start.error(format!("a member expected, found node {}", node.0)));
        }
        let place = reader.clone();
        let state = match reader.u8()? {
            0 => CopyState::Copies,
            1 => CopyState::Serves,
            found => return Err(place.error(format!("the state of a copy expected, found {found}"))),
        };
        nodes.insert(node, state);
    }
    if !nodes.values().any(|state| *state == CopyState::Serves) {
        return Err(start.error("a node that serves the partition expected"));
    }
    Ok(Copies { changed, nodes })
}

impl fmt::Display for PlaceRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPartition => f.write_str("the graph has fewer partitions"),
            Self::Changed { at } => write!(f, "the partition's copies were changed at {at}: look again"),
            Self::NoMember => f.write_str("the node is no member of the cluster"),
            Self::Kept => f.write_str("the node keeps the partition already"),
            Self::NotKept => f.write_str("the node has no such copy"),
            Self::NotItself => f.write_str("only the node itself knows that its copy is proved"),
            Self::LastCopy => f.write_str("no other node serves the partition"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const PARTITION: PartitionId = PartitionId(0);

    fn nodes(numbers: std::ops::Range<u16>) -> Vec<NodeId> {
        numbers.map(NodeId).collect()
    }

    fn members(numbers: std::ops::Range<u16>) -> Members {
        Members::new(numbers.map(|node| (NodeId(node), format!("node-{node}:1").into())))
    }

    /// One partition, kept by nodes 0 and 1 of 0 to 3.
    struct Sample {
        placement: Placement,
        members: Members,
    }

    impl Sample {
        fn new() -> Self {
            let placement = Placement::spread(PartitionCount::new(1).unwrap(), &nodes(0..4), 2);
            Self { placement, members: members(0..4) }
        }

        /// By an author who knew the copies at the first of two timestamps, in a record at the second one.
        fn change(
            &mut self,
            step: PlaceStep,
            node: u16,
            author: u16,
            (since, at): (u64, u64),
        ) -> Result<(), PlaceRefusal> {
            let (since, at) = (Timestamp(since), Timestamp(at));
            let change = PlaceChange { since, partition: PARTITION, node: NodeId(node), step };
            self.placement.change(&change, NodeId(author), &self.members, at)
        }

        fn serving(&self) -> Vec<u16> {
            self.placement.serving(PARTITION).map(|node| node.0).collect()
        }
    }

    #[test]
    fn a_copy_moves_in_steps_and_the_last_one_that_serves_stays() {
        let mut sample = Sample::new();
        assert_eq!(sample.serving(), [0, 1]);
        assert_eq!(sample.change(PlaceStep::Copy, 2, 0, (0, 10)), Ok(()));
        assert_eq!(sample.serving(), [0, 1], "it is not proved yet");
        assert_eq!(sample.change(PlaceStep::Drop, 0, 3, (10, 11)), Ok(()));
        let last = Err(PlaceRefusal::LastCopy);
        assert_eq!(sample.change(PlaceStep::Drop, 1, 3, (11, 12)), last, "2 only copies");
        assert_eq!(sample.change(PlaceStep::Serve, 2, 3, (11, 12)), Err(PlaceRefusal::NotItself));
        assert_eq!(sample.change(PlaceStep::Serve, 2, 2, (11, 12)), Ok(()));
        assert_eq!(sample.change(PlaceStep::Drop, 1, 3, (12, 13)), Ok(()));
        assert_eq!(sample.serving(), [2]);
        let kept: Vec<_> = sample.placement.kept_by(NodeId(2)).collect();
        assert_eq!(kept, [(PARTITION, CopyState::Serves)]);
        assert_eq!(sample.placement.kept_by(NodeId(0)).count(), 0);
    }

    #[test]
    fn two_who_replace_a_copy_at_once_do_not_make_two() {
        let mut sample = Sample::new();
        assert_eq!(sample.change(PlaceStep::Copy, 2, 0, (0, 10)), Ok(()));
        let changed = Err(PlaceRefusal::Changed { at: Timestamp(10) });
        assert_eq!(sample.change(PlaceStep::Copy, 3, 1, (9, 11)), changed, "it was changed meanwhile");
        assert_eq!(sample.change(PlaceStep::Copy, 3, 1, (10, 12)), Ok(()), "it has looked again");
    }

    #[test]
    fn planted_bugs_are_found() {
        let last = a_copy_moves_in_steps_and_the_last_one_that_serves_stays;
        let stale = two_who_replace_a_copy_at_once_do_not_make_two;
        assert_found(Bug::LastCopyDropped, last, "2 only copies");
        assert_found(Bug::StalePlaceAccepted, stale, "it was changed meanwhile");
    }

    #[test]
    fn a_change_that_fits_nothing_is_refused() {
        let mut sample = Sample::new();
        for (step, node, expected) in [
            (PlaceStep::Copy, 0, PlaceRefusal::Kept),
            (PlaceStep::Copy, 9, PlaceRefusal::NoMember),
            (PlaceStep::Serve, 0, PlaceRefusal::NotKept),
            (PlaceStep::Serve, 2, PlaceRefusal::NotKept),
            (PlaceStep::Drop, 2, PlaceRefusal::NotKept),
        ] {
            assert_eq!(sample.change(step, node, node, (0, 10)), Err(expected), "{step:?} of {node}");
        }
        let unknown = PlaceChange {
            since: Timestamp::ZERO,
            partition: PartitionId(1),
            node: NodeId(2),
            step: PlaceStep::Copy,
        };
        let refused = sample.placement.change(&unknown, NodeId(2), &sample.members, Timestamp(9));
        assert_eq!(refused, Err(PlaceRefusal::UnknownPartition));
        assert_eq!(sample.placement, Sample::new().placement);
    }

    #[test]
    fn partitions_are_spread_evenly_and_a_lost_node_s_load_goes_to_all_others() {
        for (partitions, count, copies) in [(64, 4, 2), (64, 5, 3), (7, 3, 2), (3, 1, 2), (4096, 7, 3)] {
            let of_graph = PartitionCount::new(partitions).unwrap();
            let placement = Placement::spread(of_graph, &nodes(0..count), copies);
            let kept_by = |node| placement.kept_by(NodeId(node)).count();
            let kept: Vec<usize> = (0..count).map(kept_by).collect();
            let all = usize::from(partitions) * copies.min(usize::from(count));
            assert_eq!(kept.iter().sum::<usize>(), all);
            let even = all / usize::from(count);
            assert!(kept.iter().all(|kept| kept.abs_diff(even) <= copies), "{kept:?}");
        }
        let placement = Placement::spread(PartitionCount::new(64).unwrap(), &nodes(0..5), 2);
        for lost in 0..5 {
            let kept = placement.kept_by(NodeId(lost)).map(|(partition, _)| partition);
            let others: BTreeSet<_> = kept.flat_map(|partition| placement.serving(partition)).collect();
            assert_eq!(others.len(), 5, "node {lost} shares its partitions with all others");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_asked_somebody_serves_and_a_placement_reads_back(
            asked in proptest::collection::vec((0..3_u16, 0..5_u16, 0..3_usize, any::<bool>()), 0..60),
        ) {
            let (count, members) = (PartitionCount::new(3).unwrap(), members(0..4));
            let mut placement = Placement::spread(count, &nodes(0..4), 2);
            for (at, (partition, node, step, is_new)) in (1..).zip(asked) {
                let step = [PlaceStep::Copy, PlaceStep::Serve, PlaceStep::Drop][step];
                let since = Timestamp(if is_new { at - 1 } else { at / 2 });
                let (partition, node) = (PartitionId(partition), NodeId(node));
                let change = PlaceChange { since, partition, node, step };
                let _ = placement.change(&change, node, &members, Timestamp(at));
                for partition in (0..3).map(PartitionId) {
                    prop_assert!(placement.serving(partition).next().is_some());
                }
            }
            let mut bytes = Vec::new();
            placement.encode(&mut bytes);
            let again = Placement::decode(&mut Reader::new(&bytes), count, &members);
            prop_assert_eq!(again, Ok(placement));
            for cut in 0..bytes.len() {
                prop_assert!(Placement::decode(&mut Reader::new(&bytes[..cut]), count, &members).is_err());
            }
        }
    }
}
