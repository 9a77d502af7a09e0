//! Frozen topology: the lists of a snapshot, resolved once for algorithms.
//!
//! ```text
//! FrozenGroup ─ lists ─┬ body      shared with the segment: plain sorted slices
//!   (one a type, and   ├ weights   the column itself, if it is a plain array of f64; else converted
//!    one a hub)        └ fresh     rows with newer edges: a second piece, or, where edges of the
//!                                  body are gone or changed, the whole list merged anew
//! ```
//!
//! A visit costs what a static CSR costs, plus one bit test a row and one more piece for each row
//! with fresh edges. Freezing costs a look at each segment and a sort of the records on top; weights
//! that are not a plain array of f64 cost a pass, and weights on the in side a transposition of the
//! out side (the in side keeps no properties). Edges that leave the projection's labels are left out
//! by copying the lists of the types that can leave them: the catalogue knows which. A choice of
//! vertices or edges within labels and types copies all lists.
//!
//! Source: GART (ATC 2023) 5.1; core-protocol section 1, *kernels*.

use crate::freeze::{Freezer, FrozenSide};
use crate::frozen_list::{FrozenList, visit_pieces};
use crate::group::GroupTable;
use crate::shared_list::SharedList;
use crate::view::MemoryView;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{Piece, PieceBuffer, Projection, Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_storage::sync::Mutex;
use evergraph_storage::view::View;
use std::ops::Range;
use std::sync::Arc;

/// Adjacency lists of one snapshot, for algorithms.
pub struct FrozenTopology {
    bound: u32,
    vertices: VertexSet,
    direction: Direction,
    edge_count: u64,
    out: FrozenSide,
    into: FrozenSide,
    /// What was copied or converted counts against the budget as long as this lives.
    _reservations: Vec<Reservation>,
}

impl FrozenTopology {
    /// Resolves each segment of `projection` once, as of `timestamp`, which the caller registered.
    ///
    /// # Errors
    /// `invalid` if an edge's weight is missing or no number, `limit` if the budget refuses.
    pub fn new(
        table: &GroupTable,
        timestamp: Timestamp,
        catalogue: &Catalogue,
        projection: &Projection,
        budget: &Arc<dyn Budget>,
    ) -> Result<Self> {
        let groups = table.end();
        let bound = groups.saturating_mul(GROUP_SIZE);
        let mut reservations = vec![budget.reserve("the set of vertices", u64::from(bound) / 8)?];
        let view = MemoryView::new(table, timestamp);
        let mut words = Vec::with_capacity(bound.div_ceil(64) as usize);
        for group in (0..groups).map(GroupId) {
            let labels = projection.labels.as_deref();
            let label = view.group_label(group);
            let in_scope = label.is_some_and(|label| labels.is_none_or(|all| all.contains(&label)));
            words.extend_from_slice(&if in_scope { view.live(group)? } else { [0; 64] });
        }
        if let Some(chosen) = &projection.vertices {
            let chosen = chosen.words().iter().copied().chain(std::iter::repeat(0));
            words.iter_mut().zip(chosen).for_each(|(word, chosen)| *word &= chosen);
        }
        if let Some(last) = words.last_mut()
            && bound == u32::MAX
        {
            *last &= u64::MAX >> 1;
        }
        let vertices = VertexSet::from_words(words, bound);
        let freezer = Freezer {
            timestamp,
            catalogue,
            weight: projection.weight.as_ref(),
            labels: projection.labels.as_deref(),
            scope: &vertices,
            some_vertices: projection.vertices.is_some(),
            filters: &projection.edges,
            budget,
            reservations: Mutex::default(),
        };
        // Only the out side has properties.
        let reads_properties = projection.weight.is_some() || !projection.edges.is_empty();
        let needs_out = projection.direction != Direction::In || reads_properties;
        let mut out = Vec::new();
        if needs_out {
            out = freezer.side(table, projection, groups, Direction::Out)?;
        }
        let into = match (projection.direction, reads_properties) {
            (Direction::Out, _) => Vec::new(),
            (_, true) => freezer.transposed(&out, groups)?,
            (_, false) => freezer.side(table, projection, groups, Direction::In)?,
        };
        let counted = if needs_out { &out } else { &into };
        let edge_count = counted.iter().flatten().map(FrozenList::edge_count).sum();
        if projection.direction == Direction::In {
            out = Vec::new();
        }
        reservations.append(&mut freezer.reservations.lock());
        Ok(Self {
            bound,
            vertices,
            direction: projection.direction,
            edge_count,
            out,
            into,
            _reservations: reservations,
        })
    }

    /// The share of edges that lie outside bodies, 0 to 1: what was fresh when this was frozen.
    #[must_use]
    pub fn fresh_share(&self) -> f64 {
        let side = if self.out.is_empty() { &self.into } else { &self.out };
        let lists = || side.iter().flatten();
        let fresh: usize = lists().filter_map(|list| list.fresh.as_ref()).map(|f| f.neighbors.len()).sum();
        let total: u64 = lists().map(FrozenList::edge_count).sum();
        if total == 0 { 0.0 } else { fresh as f64 / total as f64 }
    }

    /// The lists of one side, a segment after the other, without a copy where nothing is fresh. They stay as they are
    /// when this is dropped. A vertex may be in several: one an edge type.
    ///
    /// Cost: a look at each row that has edges.
    ///
    /// # Errors
    /// `invalid` if that side was not frozen, or for both at once.
    pub fn shared_lists(&self, side: Direction) -> Result<Vec<SharedList>> {
        let groups = (0..).map(GroupId).zip(self.side(side)?);
        let lists =
            groups.flat_map(|(group, lists)| lists.iter().map(move |list| SharedList::of(group, list)));
        Ok(lists.filter(|list| !list.vertices().is_empty()).collect())
    }

    fn side(&self, side: Direction) -> Result<&[Box<[FrozenList]>]> {
        let frozen = self.direction == Direction::Both || self.direction == side;
        match side {
            Direction::Out if frozen => Ok(&self.out),
            Direction::In if frozen => Ok(&self.into),
            _ => Err(Error::invalid(format!(
                "the {side:?} side was not frozen: the projection asked for {:?}",
                self.direction
            ))),
        }
    }

    /// Visits the pieces of one vertex in several lists; whether to stop altogether.
    #[inline]
    fn visit_lists<F>(lists: &[FrozenList], vertex: u32, row: u16, visitor: &mut F) -> Visit
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        for list in lists {
            let said = list.visit(row, |piece| visitor(vertex, piece));
            if said != Visit::Continue {
                return said;
            }
        }
        Visit::Continue
    }

    /// Visits rows of a group with one dense list: the loop that algorithms spend their time in.
    #[inline]
    fn visit_dense<F>(list: &FrozenList, ends: &[u32], first: u32, rows: Range<u16>, visitor: &mut F) -> Visit
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let mut from = list.body.edges_before(rows.start);
        let mut row = usize::from(rows.start);
        let mut fresh = list.fresh.as_deref().map(|fresh| (fresh, fresh.lists(rows.clone())));
        loop {
            // A stretch of rows without fresh edges: one test for all of them, and a tight loop.
            let next = fresh.as_mut().and_then(|(fresh, lists)| Some((*fresh, lists.next()?)));
            let stop = next.as_ref().map_or(usize::from(rows.end), |(_, (next, _))| usize::from(*next));
            let plain = row.min(ends.len())..stop.min(ends.len());
            for (vertex, to) in (first + plain.start as u32..).zip(&ends[plain]) {
                let range = from..*to as usize;
                from = range.end;
                if !range.is_empty() && visitor(vertex, list.body_piece(range)) == Visit::Stop {
                    return Visit::Stop;
                }
            }
            let Some((fresh, (next, own))) = next else { return Visit::Continue };
            let vertex = first + u32::from(next);
            row = usize::from(next) + 1;
            // Rows beyond the body's last can have fresh lists.
            let range = from..ends.get(usize::from(next)).map_or(from, |to| *to as usize);
            from = range.end;
            let pieces = fresh.pieces_at(next, own, list.body_piece(range));
            if visit_pieces(pieces, |piece| visitor(vertex, piece)) == Visit::Stop {
                return Visit::Stop;
            }
        }
    }

    /// Visits vertices of a group with one dense list, which begins at vertex `first`.
    #[inline]
    fn visit_chosen<F>(
        list: &FrozenList,
        ends: &[u32],
        first: u32,
        vertices: &[u32],
        visitor: &mut F,
    ) -> Visit
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        for vertex in vertices {
            let row = (vertex - first) as usize;
            let said = if list.fresh.as_ref().is_some_and(|fresh| fresh.touches(row as u16)) {
                list.visit(row as u16, |piece| visitor(*vertex, piece))
            } else if let Some(to) = ends.get(row) {
                let from = row.checked_sub(1).map_or(0, |before| ends[before]);
                visitor(*vertex, list.body_piece(from as usize..*to as usize))
            } else {
                Visit::Continue
            };
            if said == Visit::Stop {
                return Visit::Stop;
            }
        }
        Visit::Continue
    }
}

/// The groups that have vertices in `range`, ascending, and the rows of each.
#[inline]
fn groups_of(range: Range<u32>) -> impl Iterator<Item = (GroupId, Range<u16>)> {
    let groups = range.start / GROUP_SIZE..range.end.div_ceil(GROUP_SIZE);
    let groups = if range.is_empty() { 0..0 } else { groups };
    groups.map(move |group| {
        let first = group * GROUP_SIZE;
        let start = range.start.saturating_sub(first) as u16;
        (GroupId(group), start..(range.end - first).min(GROUP_SIZE) as u16)
    })
}

impl Topology for FrozenTopology {
    #[inline]
    fn bound(&self) -> u32 {
        self.bound
    }

    #[inline]
    fn vertices(&self) -> &VertexSet {
        &self.vertices
    }

    #[inline]
    fn direction(&self) -> Direction {
        self.direction
    }

    #[inline]
    fn edge_count(&self) -> u64 {
        self.edge_count
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        degrees.fill(0);
        for side in direction.sides() {
            let groups = self.side(*side)?;
            for (group, rows) in groups_of(range.clone()) {
                let start = (VertexId::new(group, rows.start).0 - range.start) as usize;
                let of_group = &mut degrees[start..start + rows.len()];
                for list in &groups[group.0 as usize] {
                    list.add_degrees(rows.clone(), of_group);
                }
            }
        }
        Ok(())
    }

    fn visit<F>(
        &self,
        direction: Direction,
        range: Range<u32>,
        _buffer: &mut PieceBuffer,
        mut visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let sides = direction.sides();
        let first = self.side(sides[0])?;
        let second = sides.get(1).map(|side| self.side(*side)).transpose()?;
        for (group, rows) in groups_of(range) {
            let lists = &first[group.0 as usize];
            if second.is_none()
                && let [list] = &**lists
                && let Some(ends) = list.body.dense_ends()
            {
                if Self::visit_dense(list, ends, group.first().0, rows, &mut visitor) == Visit::Stop {
                    return Ok(());
                }
                continue;
            }
            if lists.is_empty() && second.is_none_or(|second| second[group.0 as usize].is_empty()) {
                continue;
            }
            for row in rows {
                let vertex = VertexId::new(group, row).0;
                let mut said = Self::visit_lists(lists, vertex, row, &mut visitor);
                if let Some(second) = second.filter(|_| said == Visit::Continue) {
                    said = Self::visit_lists(&second[group.0 as usize], vertex, row, &mut visitor);
                }
                if said == Visit::Stop {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn visit_each<F>(
        &self,
        direction: Direction,
        vertices: &[u32],
        _buffer: &mut PieceBuffer,
        mut visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let sides = direction.sides();
        let first = self.side(sides[0])?;
        let second = sides.get(1).map(|side| self.side(*side)).transpose()?;
        for of_group in vertices.chunk_by(|a, b| VertexId(*a).group() == VertexId(*b).group()) {
            let group = VertexId(of_group[0]).group();
            let lists = &first[group.0 as usize];
            if second.is_none()
                && let [list] = &**lists
                && let Some(ends) = list.body.dense_ends()
            {
                if Self::visit_chosen(list, ends, group.first().0, of_group, &mut visitor) == Visit::Stop {
                    return Ok(());
                }
                continue;
            }
            for vertex in of_group {
                let row = VertexId(*vertex).row();
                let mut said = Self::visit_lists(lists, *vertex, row, &mut visitor);
                if let Some(second) = second.filter(|_| said == Visit::Continue) {
                    said = Self::visit_lists(&second[group.0 as usize], *vertex, row, &mut visitor);
                }
                if said == Visit::Stop {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn cuts(&self, parts: usize) -> Vec<u32> {
        const BLOCK: usize = 64;
        let sides = [&self.out, &self.into];
        let blocks = (self.bound as usize).div_ceil(BLOCK);
        let cost = |block: usize| -> u64 {
            let vertex = VertexId((block * BLOCK) as u32);
            let lists = sides.iter().filter_map(|side| side.get(vertex.group().0 as usize)).flatten();
            let (from, to) = (vertex.row(), vertex.row() + BLOCK as u16);
            let edges: usize = lists.map(|list| list.edges_before(to) - list.edges_before(from)).sum();
            (edges + BLOCK) as u64
        };
        let costs: Vec<u64> = (0..blocks).map(cost).collect();
        let total: u64 = costs.iter().sum();
        let parts = parts.max(1) as u64;
        let mut cuts = vec![0];
        let mut sum = 0;
        for (block, cost) in costs.iter().enumerate() {
            if sum >= total * cuts.len() as u64 / parts && block > 0 {
                cuts.push((block * BLOCK) as u32);
            }
            sum += cost;
        }
        if *cuts.last().expect("begins with zero") < self.bound || cuts.len() == 1 {
            cuts.push(self.bound);
        }
        cuts
    }
}
