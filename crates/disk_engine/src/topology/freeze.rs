//! Freezing: the vertices in scope, the subjects to read, and how many edges there are.

use crate::file::shared_window::SharedWindow;
use crate::format::subject::{EdgeSide, Subject};
use crate::groups::GroupTable;
use crate::spill::scratch::SpillFolder;
use crate::topology::edge_batch::EdgeFields;
use crate::topology::edge_source::{EdgeSource, ScannedFile, edge_sources};
use crate::topology::frozen_graph::{FrozenGraph, FrozenSubject, FrozenWeight};
use crate::topology::incoming::IncomingLists;
use crate::topology::out_lists::{OutLists, OutPass};
use crate::tree_state::SourceHandle;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, TypeId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{Piece, PieceBuffer, Projection, Visit};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_storage::engine::FreezeRequest;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Edges of out lists that are read between two questions whether to go on.
const EDGES_BETWEEN_CHECKS: usize = 1 << 15;

/// What a projection is frozen from, besides sources.
pub(super) struct Freezer<'a> {
    pub timestamp: Timestamp,
    pub groups: &'a GroupTable,
    pub request: FreezeRequest<'a>,
    /// Where temporary files are made.
    pub spill: Option<&'a SpillFolder>,
}

impl Freezer<'_> {
    /// See [`DiskTopology::freeze`](crate::topology::disk_topology::DiskTopology::freeze).
    pub(super) fn freeze<F: ScannedFile>(&self, sources: Vec<SourceHandle<F>>) -> Result<FrozenGraph<F>> {
        let wanted = self.request.projection;
        let reads_properties = wanted.weight.is_some() || !wanted.edges.is_empty();
        if wanted.direction == Direction::Out || !reads_properties {
            return self.freeze_with(sources, None);
        }
        let projection = Projection { direction: Direction::Out, ..wanted.clone() };
        let other_side =
            Freezer { request: FreezeRequest { projection: &projection, ..self.request }, ..*self };
        let incoming = match other_side.freeze_with(sources.clone(), None) {
            Ok(out) => self.incoming(&out)?,
            Err(error) if error.kind() == ErrorKind::Limit => None,
            Err(error) => return Err(error),
        };
        self.freeze_with(sources, incoming)
    }

    /// The in lists that the out lists of `out` come to.
    fn incoming<F: ScannedFile>(&self, out: &FrozenGraph<F>) -> Result<Option<IncomingLists>> {
        let FreezeRequest { budget, cancel, .. } = self.request;
        let (mut buffer, mut unchecked) = (PieceBuffer::default(), 0);
        let visit = |pass, visitor: &mut dyn FnMut(u32, Piece<'_>) -> Result<()>| {
            let wanted = if pass == OutPass::Ends { EdgeFields::Ends } else { EdgeFields::Weights };
            let mut outcome = Ok(());
            out.visit_side(Direction::Out, 0..out.bound, wanted, &mut buffer, |vertex, piece| {
                unchecked += piece.neighbors.len() + 1;
                if unchecked >= EDGES_BETWEEN_CHECKS {
                    unchecked = 0;
                    outcome = cancel.check();
                }
                if outcome.is_ok() {
                    outcome = visitor(vertex, piece);
                }
                if outcome.is_ok() { Visit::Continue } else { Visit::Stop }
            })?;
            outcome
        };
        let (bound, edge_count, are_weighted) = (out.bound, out.edge_count, out.weight.is_some());
        IncomingLists::new(OutLists { bound, edge_count, are_weighted, visit }, &**budget, self.spill, cancel)
    }

    fn freeze_with<F: ScannedFile>(
        &self,
        sources: Vec<SourceHandle<F>>,
        incoming: Option<IncomingLists>,
    ) -> Result<FrozenGraph<F>> {
        let count = self.groups.count();
        let (bound, direction) = (count.saturating_mul(GROUP_SIZE), self.request.projection.direction);
        let subjects = self.subjects(count);
        let wanted = |subject: Subject| subjects.iter().any(|frozen| frozen.subject == subject);
        let of_groups = u64::from(count) / 8 * subjects.len() as u64 + (u64::from(count) + 1) * 8;
        let mut reservations = vec![self.request.budget.reserve("edges of vertex groups", of_groups)?];
        let edge_sources = edge_sources(sources, self.timestamp, wanted, self.request.budget)?;
        let vertices = self.scope(&edge_sources, count, &mut reservations)?;
        // Weights are read beside the lists, and are longer.
        let columns = u64::from(self.request.projection.weight.is_some());
        let pages: u64 = edge_sources.iter().map(EdgeSource::pages_count).sum();
        let streams = edge_sources.len() as u64 * subjects.len() as u64;
        let window =
            SharedWindow::new(&**self.request.budget, streams * (1 + columns), pages * (1 + 4 * columns))?;
        let windows = [Arc::new(window), Arc::new(SharedWindow::of_single_pages())];
        let weight = self.request.projection.weight.as_ref().map(|weight| FrozenWeight {
            key: weight.key,
            name: self.request.catalogue.key_name(weight.key),
            missing: weight.missing,
        });
        let mut topology = FrozenGraph {
            bound,
            timestamp: self.timestamp,
            vertices,
            direction,
            edge_count: 0,
            edge_sources,
            windows,
            incoming,
            spill: self.spill.cloned(),
            subjects,
            filters: self.request.projection.edges.clone(),
            weight,
            work_before: Vec::with_capacity(count as usize + 1),
            _reservations: reservations,
        };
        self.count(&mut topology, count)?;
        Ok(topology)
    }

    fn is_in_labels(&self, group: GroupId) -> bool {
        let labels = self.request.projection.labels.as_deref();
        self.groups.label(group).is_some_and(|label| labels.is_none_or(|all| all.contains(&label)))
    }

    /// The types and sides that groups of the chosen labels have, out before in.
    fn subjects(&self, count: u32) -> Vec<FrozenSubject> {
        let types = self.request.projection.types.as_deref();
        let mut subjects = Vec::new();
        for (direction, side) in [(Direction::Out, EdgeSide::Out), (Direction::In, EdgeSide::In)] {
            if !self.request.projection.direction.sides().contains(&direction) {
                continue;
            }
            let mut groups = BTreeMap::<TypeId, VertexSet>::new();
            for group in (0..count).map(GroupId).filter(|group| self.is_in_labels(*group)) {
                for edge_type in self.groups.edge_types(group, direction) {
                    if types.is_none_or(|types| types.contains(&edge_type)) {
                        let of_type = groups.entry(edge_type).or_insert_with(|| VertexSet::empty(count));
                        of_type.insert(group.0);
                    }
                }
            }
            subjects.extend(groups.into_iter().map(|(edge_type, groups)| FrozenSubject {
                subject: Subject::edges(edge_type, side),
                edge_type,
                side,
                type_name: self.request.catalogue.edge_type_name(edge_type),
                groups,
                leaves_scope: self.leaves_scope(edge_type),
            }));
        }
        subjects
    }

    /// Whether edges of this type may name vertices that are not in scope.
    fn leaves_scope(&self, edge_type: TypeId) -> bool {
        let leaves_labels = |labels: &Vec<_>| {
            let mut joins = self.request.catalogue.joins(edge_type);
            joins.any(|(source, target)| !labels.contains(&source) || !labels.contains(&target))
        };
        self.request.projection.vertices.is_some()
            || self.request.projection.labels.as_ref().is_some_and(leaves_labels)
    }

    /// The vertices that are alive, of the chosen labels and among the chosen ones.
    fn scope<F: ScannedFile>(
        &self,
        edge_sources: &[EdgeSource<F>],
        count: u32,
        reservations: &mut Vec<Reservation>,
    ) -> Result<VertexSet> {
        let bound = count.saturating_mul(GROUP_SIZE);
        reservations.push(self.request.budget.reserve("the set of vertices", u64::from(bound).div_ceil(8))?);
        let mut words = Vec::with_capacity(bound.div_ceil(64) as usize);
        for group in (0..count).map(GroupId) {
            let mut live = [0; 64];
            if self.is_in_labels(group) {
                let mut oldest_first = edge_sources.iter().rev();
                oldest_first
                    .try_for_each(|edge_source| edge_source.apply_live(self.timestamp, group, &mut live))?;
            }
            words.extend_from_slice(&live);
        }
        if let Some(chosen) = &self.request.projection.vertices {
            let chosen = chosen.words().iter().copied().chain(std::iter::repeat(0));
            words.iter_mut().zip(chosen).for_each(|(word, chosen)| *word &= chosen);
        }
        if let Some(last) = words.last_mut()
            && bound == u32::MAX
        {
            // The highest number is no vertex below any bound.
            *last &= u64::MAX >> 1;
        }
        Ok(VertexSet::from_words(words, bound))
    }

    /// Counts edges: by groups for the cuts, and all of the projection on one side.
    fn count<F: ScannedFile>(&self, topology: &mut FrozenGraph<F>, count: u32) -> Result<()> {
        let counted = self.request.projection.direction.sides()[0];
        let leaves_out =
            !topology.filters.is_empty() || topology.subjects.iter().any(|subject| subject.leaves_scope);
        let (mut work, mut edges) = (0, 0);
        topology.work_before.push(0);
        for group in 0..count {
            work += u64::from(GROUP_SIZE);
            for subject in topology.subjects.iter().filter(|subject| subject.groups.contains(group)) {
                let of_group = self.edges_of_group(topology, subject.subject, GroupId(group))?;
                work += of_group;
                edges += if EdgeSide::of(counted).contains(&subject.side) { of_group } else { 0 };
            }
            topology.work_before.push(work);
        }
        let incoming = topology.incoming.as_ref().map(IncomingLists::edge_count);
        if let Some(count) = incoming {
            edges = count;
        } else if leaves_out {
            edges = 0;
            topology.count_edges(counted, 0..topology.bound, |_, count| edges += count as u64)?;
        }
        topology.edge_count = edges;
        Ok(())
    }

    /// Edges of a group in one subject, whether or not in scope.
    fn edges_of_group<F: ScannedFile>(
        &self,
        topology: &FrozenGraph<F>,
        subject: Subject,
        group: GroupId,
    ) -> Result<u64> {
        let mut difference = 0;
        for edge_source in &topology.edge_sources {
            difference += edge_source.group_difference(self.timestamp, subject, group)?;
        }
        u64::try_from(difference).map_err(|_| {
            let text = format!("{subject} of group {}: {difference} edges; a file is missing", group.0);
            Error::new(ErrorKind::Corrupt, text)
        })
    }
}
