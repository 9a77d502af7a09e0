//! Prepared commit: its records by segment, with all that appending them takes.

use crate::engine::graph::MappedGraph;
use crate::engine::groups::Group;
use crate::engine::index_records::IndexRecords;
use crate::reserved_records::ReservedRecords;
use crate::segment::LiveSegment;
use crate::segment_state::WaitingRecords;
use crate::shared_record::SharedRecord;
use crate::view::source::{VERTICES, edges};
use evergraph_bodies::commit_records::{CommitRecords, CommitTarget, never_opened};
use evergraph_graph::error::Result;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::record::Record;
use evergraph_storage::sync::atomic::Ordering;
use std::sync::Arc;

/// A commit before its latch. Dropped without being appended, it leaves no trace.
#[derive(Debug, Default)]
pub struct PreparedCommit {
    parts: Vec<ReservedRecords>,
    /// Groups that get or lose vertices.
    members: Vec<Arc<Group>>,
    records: usize,
    /// Entries that leave indexes, for the log.
    leaving: Vec<Mutation>,
}

impl PreparedCommit {
    /// Finds or makes the segments of `records`, and does what is overdue of their merges.
    ///
    /// # Errors
    /// `corrupt` if a vertex is in no group; `limit` without room.
    pub fn help(graph: &MappedGraph, records: &CommitRecords) -> Result<()> {
        for (target, records) in records.parts() {
            let (_, segment) = segment_of(graph, target, records)?;
            for_each_row_segment(&segment, records, |segment, _, _| {
                graph.help(segment);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// As [`PreparedCommit::help`], of the segments of indexes.
    ///
    /// # Errors
    /// `limit` without room.
    pub fn help_indexes(graph: &MappedGraph, records: &IndexRecords) -> Result<()> {
        records.keys().try_for_each(|number| graph.index_segment(*number).map(|segment| graph.help(&segment)))
    }

    /// Adds what entering indexes and leaving them takes; `leaving` goes into the log.
    ///
    /// # Errors
    /// As [`PreparedCommit::help`].
    pub fn with_indexes(
        mut self,
        graph: &MappedGraph,
        records: &IndexRecords,
        leaving: &[Mutation],
    ) -> Result<Self> {
        for (number, records) in records {
            let segment = graph.index_segment(*number)?;
            let reserved = ReservedRecords::new(graph.arena(), &segment, records);
            self.parts.push(reserved.map_err(|error| graph.writer().naming_the_oldest(error))?);
            self.records += records.len();
        }
        self.leaving = leaving.to_vec();
        Ok(self)
    }

    /// Entries that leave indexes.
    #[must_use]
    pub fn leaving(&self) -> &[Mutation] {
        &self.leaving
    }

    /// Reserves what appending `records` takes.
    ///
    /// # Errors
    /// As [`PreparedCommit::help`].
    pub fn new(graph: &MappedGraph, records: &CommitRecords) -> Result<Self> {
        let mut prepared = Self::default();
        for (target, records) in records.parts() {
            let (group, segment) = segment_of(graph, target, records)?;
            if target.subject.is_none() && records.iter().any(|record| record.stamp.difference() != 0) {
                prepared.members.push(group);
            }
            for_each_row_segment(&segment, records, |segment, of_group, records| {
                let shared: Vec<SharedRecord> = records.iter().map(SharedRecord::of).collect();
                let reserved = ReservedRecords::new(graph.arena(), segment, &shared);
                let reserved = reserved.map_err(|error| graph.writer().naming_the_oldest(error))?;
                prepared.parts.push(match of_group {
                    Some(of_group) => reserved.of_hub(of_group),
                    None => reserved,
                });
                Ok(())
            })?;
            prepared.records += records.len();
        }
        if graph.arena().is_short() {
            graph.merger().wake();
        }
        Ok(prepared)
    }

    /// Installs the commit. Under the latch; cannot fail.
    pub fn append(&mut self, graph: &MappedGraph, timestamp: Timestamp) {
        self.parts.iter_mut().for_each(|part| part.stamp(timestamp));
        for group in &self.members {
            group.set_members_changed(timestamp);
        }
        graph.counters().records.fetch_add(self.records as u64, Ordering::Relaxed);
        let mut appended =
            |segment: &Arc<LiveSegment>, waiting: WaitingRecords| graph.appended(segment, waiting);
        graph.writer().commit(timestamp, &mut self.parts, &mut appended);
    }
}

/// The segment of some records, and its group.
///
/// # Errors
/// `corrupt` if the group was never opened; `limit` without room.
pub fn segment_of(
    graph: &MappedGraph,
    target: CommitTarget,
    records: &[Record],
) -> Result<(Arc<Group>, Arc<LiveSegment>)> {
    let group = graph.groups().get(target.group).ok_or_else(|| never_opened(target, records))?;
    let subject = target.subject.map_or(VERTICES, |subject| edges(subject.edge_type(), subject.side()));
    Ok((Arc::clone(group), graph.segment_or_new(group, subject)?))
}

/// Calls `visit` with each segment that has rows of `records`, sorted by key: this one, or a hub's, and then this one as well.
///
/// # Errors
/// The first of `visit`.
pub fn for_each_row_segment(
    segment: &Arc<LiveSegment>,
    records: &[Record],
    mut visit: impl FnMut(&Arc<LiveSegment>, Option<&Arc<LiveSegment>>, &[Record]) -> Result<()>,
) -> Result<()> {
    if !segment.has_hubs() {
        return visit(segment, None, records);
    }
    let hubs = segment.hubs();
    let mut plain = Vec::new();
    for of_row in records.chunk_by(|a, b| a.key.row() == b.key.row()) {
        match hubs.binary_search_by_key(&of_row[0].key.row(), |hub| hub.0) {
            Ok(at) => visit(&hubs[at].1, Some(segment), of_row)?,
            Err(_) => plain.extend_from_slice(of_row),
        }
    }
    if plain.is_empty() { Ok(()) } else { visit(segment, None, &plain) }
}
