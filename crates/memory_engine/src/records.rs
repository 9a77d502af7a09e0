//! Records of a commit: one part for each segment that it changes.
//!
//! Everything here happens before the latch: segments are found or made, records sorted by segment and key.

use crate::group::{Group, GroupTable};
use crate::segment::version::Segment;
use evergraph_bodies::commit_records::{CommitRecords, CommitTarget, never_opened};
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_graph::error::Result;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::record::Record;
use std::sync::Arc;

/// Where a part of a commit goes.
#[derive(Debug)]
pub enum Target {
    /// To the vertices of a group; whether one is inserted or deleted.
    Vertices(Arc<Group>, bool),
    /// To a segment of edges.
    Edges(Arc<Segment<EdgeBody>>),
}

impl Target {
    /// Finds or makes the segment of some records.
    fn of(groups: &GroupTable, target: CommitTarget, records: &[Record]) -> Result<Self> {
        let group = groups.get(target.group).ok_or_else(|| never_opened(target, records))?;
        Ok(match target.subject {
            None => {
                let members = records.iter().any(|record| record.stamp.difference() != 0);
                Self::Vertices(Arc::clone(group), members)
            }
            Some(subject) => Self::Edges(group.edge_segment_or_new(subject)),
        })
    }
}

/// A commit, or many from the log, sorted by segment.
#[derive(Debug)]
pub struct Prepared {
    records: CommitRecords,
    /// One for each part.
    targets: Vec<Target>,
}

impl Prepared {
    /// Finds or makes the segments of `mutations` and sorts their records; with `own`, only those of these groups.
    ///
    /// # Errors
    /// `corrupt` if a vertex is in no group: the front opens groups before it uses them, so only a
    /// damaged log can ask for this.
    pub fn new(groups: &GroupTable, mutations: &[Mutation], own: Option<OwnGroups>) -> Result<Self> {
        Self::of(groups, CommitRecords::new(mutations, own)?)
    }

    /// As [`Prepared::new`], of commits that have their timestamps: a part's records are sorted by key,
    /// then time.
    ///
    /// # Errors
    /// As [`Prepared::new`].
    pub fn replayed(
        groups: &GroupTable,
        mutations: &[(Timestamp, Mutation)],
        own: Option<OwnGroups>,
    ) -> Result<Self> {
        Self::of(groups, CommitRecords::replayed(mutations, own)?)
    }

    fn of(groups: &GroupTable, records: CommitRecords) -> Result<Self> {
        let targets = records.parts().map(|(target, records)| Target::of(groups, target, records));
        let targets = targets.collect::<Result<Vec<_>>>()?;
        Ok(Self { records, targets })
    }

    /// Gives every record the commit's timestamp.
    pub fn stamp(&mut self, timestamp: Timestamp) {
        self.records.stamp(timestamp);
    }

    /// Each segment with its records, sorted by key.
    pub fn parts(&self) -> impl Iterator<Item = (&Target, &[Record])> {
        self.targets.iter().zip(self.records.parts()).map(|(target, (_, records))| (target, records))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::{EdgeId, TypeId, VertexId};
    use evergraph_graph::properties::Properties;

    #[test]
    fn a_commit_to_a_group_that_was_never_opened_is_refused() {
        let (source, target) = (VertexId(1), VertexId(9000));
        let edge = EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 };
        let commit = [Mutation::InsertEdge { edge, properties: Properties::EMPTY }];
        let error = Prepared::new(&GroupTable::default(), &commit, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
}
