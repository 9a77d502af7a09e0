//! Walk: the lists of a range of vertices in the order of vertices, merged from all sources.
//!
//! ```text
//! merges     out, type 0   v3 [4 9]        v7 [1]       one merge a subject
//!            out, type 4   v3 [5]                v8 [2]
//!            in,  type 0         v5 [3]
//! order      v3 [4 9]  v3 [5]  v5 [3]  v7 [1]  v8 [2]
//! ```
//!
//! Files are ordered by subject first, and a visitor wants all lists of a vertex together, out before in.

use crate::merge::delete_rule::{Below, DeleteRule};
use crate::merge::list_merge::ListMerge;
use crate::merge::merged_run::MergedRun;
use crate::topology::edge_source::{EdgeScan, ScannedFile};
use crate::topology::frozen_graph::{FrozenGraph, FrozenSubject, PageReads};
use evergraph_graph::error::Result;
use evergraph_graph::id::GROUP_SIZE;
use std::ops::Range;

/// One subject's lists.
struct SubjectMerge<'t, F: ScannedFile> {
    /// Its place among the subjects of the topology.
    subject: usize,
    merge: ListMerge<EdgeScan<'t, F>>,
    /// The vertex of the run in front.
    vertex: Option<u32>,
}

/// Records of one list.
pub(super) struct WalkedRun<'w, F> {
    /// The vertex that has the list.
    pub vertex: u32,
    /// The place of its subject among those of the topology.
    pub subject: usize,
    /// Records; their sources are the sources.
    pub run: MergedRun<'w>,
    /// The file whose records they are, one after the other by rank, if no other source has the list.
    pub file: Option<&'w F>,
}

/// A walk through lists.
pub(super) struct Walk<'t, F: ScannedFile> {
    subject_merges: Vec<SubjectMerge<'t, F>>,
    /// The merge whose run was handed out last.
    current: Option<usize>,
}

impl<'t, F: ScannedFile> Walk<'t, F> {
    /// A walk through the lists that vertices of `range` have in `subjects`, places among those of the topology.
    /// Where several have lists of one vertex, they come in this order.
    ///
    /// Cost: for each subject that a group of the range has, a scan of each source.
    pub(super) fn new(
        topology: &'t FrozenGraph<F>,
        subjects: impl Iterator<Item = usize>,
        range: Range<u32>,
        reads: PageReads,
    ) -> Result<Self> {
        let mut subject_merges = Vec::new();
        for subject in subjects {
            let frozen = &topology.subjects[subject];
            let Some(vertices) = vertices_with_lists(frozen, range.clone()) else { continue };
            let mut scans = Vec::with_capacity(topology.edge_sources.len());
            for edge_source in &topology.edge_sources {
                scans.push(edge_source.scan(
                    frozen.subject,
                    vertices.clone(),
                    topology.timestamp,
                    topology.window(reads),
                )?);
            }
            let deletes = DeleteRule::new(Below::Nothing, []);
            let mut subject_merge = SubjectMerge {
                subject,
                merge: ListMerge::new(scans, topology.timestamp, deletes),
                vertex: None,
            };
            subject_merge.advance()?;
            if subject_merge.vertex.is_some() {
                subject_merges.push(subject_merge);
            }
        }
        Ok(Self { subject_merges, current: None })
    }

    /// The next run, ascending by vertex; a list may come in several.
    pub(super) fn next(&mut self) -> Result<Option<WalkedRun<'_, F>>> {
        if let Some(current) = self.current.take() {
            self.subject_merges[current].advance()?;
        }
        let fronts = self
            .subject_merges
            .iter()
            .enumerate()
            .filter_map(|(at, subject_merge)| Some((subject_merge.vertex?, at)));
        let Some((vertex, at)) = fronts.min() else { return Ok(None) };
        self.current = Some(at);
        let subject_merge = &self.subject_merges[at];
        let file = subject_merge.merge.passed().and_then(EdgeScan::file).map(|file| &**file);
        let run = subject_merge.merge.run().map(|run| WalkedRun {
            vertex,
            subject: subject_merge.subject,
            run,
            file,
        });
        Ok(run)
    }
}

impl<F: ScannedFile> SubjectMerge<'_, F> {
    fn advance(&mut self) -> Result<()> {
        self.vertex = self.merge.advance()?.map(|list| list.vertex.0);
        Ok(())
    }
}

/// The part of `range` in groups that have lists of the subject.
fn vertices_with_lists(subject: &FrozenSubject, range: Range<u32>) -> Option<Range<u32>> {
    if range.is_empty() {
        return None;
    }
    let of_range = range.start / GROUP_SIZE..range.end.div_ceil(GROUP_SIZE);
    let mut groups = subject.groups.range(of_range);
    let first = groups.next()?;
    let last = groups.last().unwrap_or(first);
    let end = u64::from(last + 1) * u64::from(GROUP_SIZE);
    let end = u32::try_from(end).map_or(range.end, |end| end.min(range.end));
    Some(range.start.max(first * GROUP_SIZE)..end)
}
