//! Frozen graph: the lists of a snapshot, resolved once for algorithms.
//!
//! ```text
//! group ─ lists ─┬ store     shared with the segment: plain sorted slices, on the heap or in a mapped file
//!  (one a type,  ├ weights   the column itself, if it is a plain array of f64; one number for all; else converted
//!   and one a    └ fresh     rows with newer edges: a second piece, or, where edges of the
//!   hub)                     store are gone or changed, the whole list merged anew
//! ```
//!
//! A visit costs what a static CSR costs, plus one bit test a row and one more piece for each row
//! with fresh edges. Freezing costs a look at each segment and a sort of the records on top; weights
//! that are not a plain array of f64 cost a pass, and weights on the in side a transposition of the
//! out side (the in side keeps no properties); where no edge has the property, as the catalogue knows, they cost neither.
//! Where types of edges leave the projection's labels, as the catalogue knows, lists without those edges stand for the
//! stored ones. Such lists, and weights that a pass made, are made once for a body, and kept while it is
//! there ([`crate::frozen::label_lists`]). A choice of vertices or edges within labels and types copies all lists.
//!
//! Stored lists stay as long as somebody has them, so that this outlives its snapshot.
//!
//! Source: GART (ATC 2023) 5.1; core-protocol section 1, *kernels*; DGAP (SC 2023) 3.3: analysis in place. Differs from the
//! latter: no degree is compared.

use crate::frozen::dense_list::DenseList;
use crate::frozen::edge_weights::EdgeWeights;
use crate::frozen::freeze_source::FreezeSource;
use crate::frozen::freezer::{Freezer, FrozenSide};
use crate::frozen::frozen_list::FrozenList;
use crate::frozen::label_lists::LabelLists;
use crate::frozen::label_scope::LabelScope;
use crate::frozen::resolved_list::RowCursor;
use crate::frozen::sparse_list::SparseList;
use crate::frozen::stored_lists::StoredLists;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, VertexId};
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Turn, Visit};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_storage::engine::FreezeRequest;
use evergraph_storage::sync::Mutex;
use std::any::Any;
use std::ops::Range;

/// Adjacency lists of one snapshot, for algorithms.
pub struct FrozenGraph<S: StoredLists> {
    bound: u32,
    vertices: VertexSet,
    direction: Direction,
    edge_count: u64,
    /// The lists of the out side, or those of both: see `is_merged`.
    out: FrozenSide<S>,
    into: FrozenSide<S>,
    /// Whether the lists of both sides were coalesced, so that neither has its own.
    is_merged: bool,
    /// What was copied or converted counts against the budget as long as this lives.
    _reservations: Vec<Reservation>,
    /// What keeps the bytes that lists lie in. Dropped last.
    _kept: Option<Box<dyn Any + Send + Sync>>,
}

/// Chosen vertices of a group for which its lists are resolved once for all.
const WORTH_RESOLVING: usize = 4;

/// The lists of one group on the sides of a direction.
pub(crate) type GroupLists<'a, S> = (&'a [FrozenList<S>], &'a [FrozenList<S>]);

impl<S: StoredLists> FrozenGraph<S> {
    /// Resolves each segment of a projection once, as of the moment that `source` shows, which the caller keeps open. What
    /// is made of bodies for labels and weights is kept in `lists`, if there are some.
    ///
    /// # Errors
    /// `invalid` if an edge's weight is missing or no number, `limit` if the budget refuses, `cancelled`, and those of the
    /// source.
    pub fn new(
        source: &impl FreezeSource<Lists = S>,
        lists: Option<&LabelLists>,
        request: &FreezeRequest<'_>,
    ) -> Result<Self> {
        let projection = request.projection;
        let groups = source.group_count();
        let bound = groups.saturating_mul(GROUP_SIZE);
        let mut reservations = vec![request.budget.reserve("the set of vertices", u64::from(bound) / 8)?];
        let vertices = scope(source, request, groups, bound)?;
        let weights = EdgeWeights::of(request);
        let labels = LabelScope::of(source, request, weights.as_ref(), lists)?;
        let freezer = Freezer {
            source,
            request: *request,
            scope: &vertices,
            labels,
            weights,
            reservations: Mutex::default(),
        };
        // Only the out side has properties.
        let reads_properties = freezer.reads_properties();
        let needs_out = projection.direction != Direction::In || reads_properties;
        let needs_in = projection.direction != Direction::Out;
        let side = |wanted, side| if wanted { freezer.side(groups, side) } else { Ok(Vec::new()) };
        let (out, into) = rayon::join(
            || side(needs_out, Direction::Out),
            || side(needs_in && !reads_properties, Direction::In),
        );
        let (mut out, mut into) = (out?, into?);
        let counted = if needs_out { &out } else { &into };
        let edge_count = counted.iter().flatten().map(FrozenList::edges_count).sum();
        if needs_in && reads_properties {
            let of_out = std::mem::take(&mut *freezer.reservations.lock());
            into = freezer.transposed(&out, groups)?;
            if projection.direction == Direction::In {
                // It was for its properties alone.
                out = Vec::new();
            } else {
                reservations.extend(of_out);
            }
        }
        reservations.append(&mut freezer.reservations.lock());
        drop(freezer);
        let direction = projection.direction;
        Ok(Self {
            bound,
            vertices,
            direction,
            edge_count,
            out,
            into,
            is_merged: false,
            _reservations: reservations,
            _kept: None,
        })
    }

    /// A graph of other lists of the same vertices and edges, for visits of `direction` alone, which `reservation` is for. It
    /// doesn't keep what this one keeps.
    pub(crate) fn with_lists(
        &self,
        direction: Direction,
        lists: FrozenSide<S>,
        reservation: Reservation,
    ) -> Self {
        let (out, into) = if direction == Direction::In { (Vec::new(), lists) } else { (lists, Vec::new()) };
        Self {
            bound: self.bound,
            vertices: self.vertices.clone(),
            direction,
            edge_count: self.edge_count,
            out,
            into,
            is_merged: direction == Direction::Both,
            _reservations: vec![reservation],
            _kept: None,
        }
    }

    /// The same, which holds on to `kept` for as long as anybody reads its lists.
    #[must_use]
    pub fn keeping(self, kept: impl Any + Send + Sync) -> Self {
        Self { _kept: Some(Box::new(kept)), ..self }
    }

    /// The share of edges that lie outside stored lists, 0 to 1: what was fresh when this was frozen.
    #[must_use]
    pub fn fresh_share(&self) -> f64 {
        let side = if self.out.is_empty() { &self.into } else { &self.out };
        let lists = || side.iter().flatten();
        let fresh: u64 = lists().map(FrozenList::fresh_count).sum();
        let total: u64 = lists().map(FrozenList::edges_count).sum();
        if total == 0 { 0.0 } else { fresh as f64 / total as f64 }
    }

    /// The lists of one side, group by group.
    ///
    /// # Errors
    /// `invalid` if that side was not frozen, or both were coalesced, or for both at once.
    pub fn side(&self, side: Direction) -> Result<&[Box<[FrozenList<S>]>]> {
        let frozen = self.direction == Direction::Both || self.direction == side;
        match side {
            _ if self.is_merged => Err(Error::invalid(format!(
                "the {side:?} side has no lists of its own: those of both were coalesced"
            ))),
            Direction::Out if frozen => Ok(&self.out),
            Direction::In if frozen => Ok(&self.into),
            _ => Err(Error::invalid(format!(
                "the {side:?} side was not frozen: the projection asked for {:?}",
                self.direction
            ))),
        }
    }

    /// Finds the lists of each group on the sides of a direction.
    pub(crate) fn of_direction<'a>(
        &'a self,
        direction: Direction,
    ) -> Result<impl Fn(GroupId) -> GroupLists<'a, S> + use<'a, S>> {
        let (first, second) = match direction {
            Direction::Both if self.is_merged => (&self.out[..], None),
            Direction::Both => (self.side(Direction::Out)?, Some(self.side(Direction::In)?)),
            side => (self.side(side)?, None),
        };
        Ok(move |group: GroupId| {
            let at = group.0 as usize;
            (&*first[at], second.map_or(&[][..], |second| &*second[at]))
        })
    }
}

/// The only list of a group: nearly all groups of a graph of one edge type have no other.
enum OnlyList<'a> {
    Dense(DenseList<'a>),
    Sparse(SparseList<'a>),
}

/// The list of a group that has no other.
#[inline]
fn only_list<S: StoredLists>(
    (lists, others): GroupLists<'_, S>,
    group: GroupId,
) -> Result<Option<OnlyList<'_>>> {
    let ([list], []) = (lists, others) else { return Ok(None) };
    let list = list.resolved()?;
    let dense = DenseList::of(list, group).map(OnlyList::Dense);
    Ok(dense.or_else(|| SparseList::of(list, group).map(OnlyList::Sparse)))
}

/// Resolves the lists of a group from `row` on, in the place of those of the group before.
#[inline]
fn resolve<'a, S: StoredLists>(
    (lists, others): GroupLists<'a, S>,
    row: u16,
    resolved: &mut Vec<RowCursor<'a>>,
) -> Result<()> {
    resolved.clear();
    for list in lists.iter().chain(others) {
        resolved.push(list.cursor(row)?);
    }
    Ok(())
}

/// Visits the pieces of one vertex, which is not before the last one, in several lists; what was said last.
#[inline]
fn visit_lists<F>(lists: &mut [RowCursor<'_>], vertex: u32, visitor: &mut F) -> Visit
where
    F: FnMut(u32, Piece<'_>) -> Visit,
{
    let row = VertexId(vertex).row();
    for list in lists {
        let said = list.visit(row, |piece| visitor(vertex, piece));
        if said != Visit::Continue {
            return said;
        }
    }
    Visit::Continue
}

/// The vertices in scope.
fn scope(
    source: &impl FreezeSource,
    request: &FreezeRequest<'_>,
    groups: u32,
    bound: u32,
) -> Result<VertexSet> {
    let projection = request.projection;
    let mut words = Vec::with_capacity(bound.div_ceil(64) as usize);
    for group in (0..groups).map(GroupId) {
        let labels = projection.labels.as_deref();
        let label = source.label(group)?;
        let in_scope = label.is_some_and(|label| labels.is_none_or(|all| all.contains(&label)));
        words.extend_from_slice(&if in_scope { source.live(group)? } else { [0; 64] });
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
    Ok(VertexSet::from_words(words, bound))
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

impl<S: StoredLists> Topology for FrozenGraph<S> {
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
        let lists_of = self.of_direction(direction)?;
        for (group, rows) in groups_of(range.clone()) {
            let start = (VertexId::new(group, rows.start).0 - range.start) as usize;
            let of_group = &mut degrees[start..start + rows.len()];
            let (lists, others) = lists_of(group);
            for list in lists.iter().chain(others) {
                list.resolved()?.add_degrees(rows.clone(), of_group);
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
        let lists_of = self.of_direction(direction)?;
        let mut resolved = Vec::new();
        for (group, rows) in groups_of(range) {
            let lists = lists_of(group);
            if let Some(list) = only_list(lists, group)? {
                let said = match list {
                    OnlyList::Dense(list) => list.visit(rows, &mut visitor),
                    OnlyList::Sparse(list) => list.visit(rows, &mut visitor),
                };
                if said == Visit::Stop {
                    return Ok(());
                }
                continue;
            }
            resolve(lists, rows.start, &mut resolved)?;
            if resolved.is_empty() {
                continue;
            }
            for row in rows {
                if visit_lists(&mut resolved, VertexId::new(group, row).0, &mut visitor) == Visit::Stop {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn visit_pieces<F>(
        &self,
        direction: Direction,
        range: Range<u32>,
        _buffer: &mut PieceBuffer,
        mut visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>, Turn),
    {
        let lists_of = self.of_direction(direction)?;
        let mut resolved = Vec::new();
        for (group, rows) in groups_of(range) {
            resolve(lists_of(group), rows.start, &mut resolved)?;
            if resolved.is_empty() {
                continue;
            }
            for cursor in &resolved {
                let added = |vertex, piece: Piece<'_>| visitor(vertex, piece, Turn::Apart);
                cursor.list.visit_additions(group, rows.clone(), added);
            }
            let mut in_order = |vertex, piece: Piece<'_>| visitor(vertex, piece, Turn::InOrder);
            if let [RowCursor { list, .. }] = resolved[..] {
                if let Some(list) = DenseList::of(list, group) {
                    list.visit_without_additions(rows, &mut in_order);
                    continue;
                }
                if let Some(list) = SparseList::of(list, group) {
                    list.visit_without_additions(rows, &mut in_order);
                    continue;
                }
            }
            for row in rows {
                let vertex = VertexId::new(group, row).0;
                for cursor in &mut resolved {
                    let piece = cursor.without_additions(row);
                    if !piece.neighbors.is_empty() {
                        in_order(vertex, piece);
                    }
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
        let lists_of = self.of_direction(direction)?;
        let mut resolved = Vec::new();
        // Runs that ascend within a group. A frontier ascends, and has one a group; any other order has more, which are as right.
        let is_run = |a: &u32, b: &u32| a <= b && VertexId(*a).group() == VertexId(*b).group();
        for of_group in vertices.chunk_by(is_run) {
            let group = VertexId(of_group[0]).group();
            let lists = lists_of(group);
            if let Some(OnlyList::Dense(list)) = only_list(lists, group)? {
                if list.visit_each(of_group, &mut visitor) == Visit::Stop {
                    return Ok(());
                }
                continue;
            }
            if of_group.len() >= WORTH_RESOLVING {
                resolve(lists, VertexId(of_group[0]).row(), &mut resolved)?;
                for vertex in of_group {
                    if visit_lists(&mut resolved, *vertex, &mut visitor) == Visit::Stop {
                        return Ok(());
                    }
                }
                continue;
            }
            for vertex in of_group {
                let mut said = Visit::Continue;
                for list in lists.0.iter().chain(lists.1) {
                    said = list.resolved()?.visit(VertexId(*vertex).row(), |piece| visitor(*vertex, piece));
                    if said != Visit::Continue {
                        break;
                    }
                }
                if said == Visit::Stop {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn coalesced(
        &self,
        direction: Direction,
        budget: &dyn Budget,
        cancel: &CancelFlag,
    ) -> Result<Option<Self>> {
        self.coalesce(direction, budget, cancel)
    }

    fn cuts(&self, parts: usize) -> Vec<u32> {
        const BLOCK: usize = 64;
        let sides = [&self.out, &self.into];
        let blocks = (self.bound as usize).div_ceil(BLOCK);
        let group_blocks = GROUP_SIZE as usize / BLOCK;
        // Work below each group, and below a block: edges, and a vertex as much as an edge.
        let mut below = 0;
        let groups = 0..self.bound.div_ceil(GROUP_SIZE) as usize;
        let lists = |group: usize| sides.into_iter().filter_map(move |side| side.get(group)).flatten();
        // A list that cannot be read counts as empty: its visit returns the error.
        let before = |list: &FrozenList<S>, row| list.edges_before(row).unwrap_or(0);
        let edges_before =
            |group: usize, row: u16| -> usize { lists(group).map(|list| before(list, row)).sum() };
        let groups_below: Vec<usize> = groups
            .map(|group| {
                let work = below;
                below += edges_before(group, GROUP_SIZE as u16) + GROUP_SIZE as usize;
                work
            })
            .collect();
        let work_below = |block: usize| -> u64 {
            let Some(before) = groups_below.get(block / group_blocks) else { return below as u64 };
            let row = block % group_blocks * BLOCK;
            (before + edges_before(block / group_blocks, row as u16) + row) as u64
        };
        let inner = cut_blocks(blocks, parts, &groups_below, group_blocks, work_below);
        let mut cuts: Vec<u32> =
            std::iter::once(0).chain(inner.map(|block| (block * BLOCK) as u32)).collect();
        if *cuts.last().expect("begins with zero") < self.bound || cuts.len() == 1 {
            cuts.push(self.bound);
        }
        cuts
    }
}

/// The blocks from 1 up to before the last at which parts of about even work begin. `groups_below` is the work below every
/// `group_blocks`-th block, `work_below` that below any, up to the one behind the last.
fn cut_blocks(
    blocks: usize,
    parts: usize,
    groups_below: &[usize],
    group_blocks: usize,
    work_below: impl Fn(usize) -> u64,
) -> impl Iterator<Item = usize> {
    let (total, parts) = (work_below(blocks), parts.max(1) as u64);
    let mut block = 1;
    (1..).map_while(move |part| {
        let wanted = total * part / parts;
        // One short array tells in which group it is; lists are looked at for its blocks alone.
        let end = groups_below.partition_point(|below| (*below as u64) < wanted) * group_blocks;
        let of_group = block.max(end.saturating_sub(group_blocks))..block.max(end.min(blocks));
        let found = first_at(of_group, |block| work_below(block) >= wanted);
        block = found + 1;
        (found < blocks).then_some(found)
    })
}

/// The first number of `range` for which `holds` is true, as it is for all behind it; the end if there is none.
fn first_at(range: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let Range { start: mut low, end: mut high } = range;
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_begin_at_the_first_block_with_enough_work_below(
            work in proptest::collection::vec(prop_oneof![Just(0_u64), 1_u64..9, Just(200)], 0..40),
            parts in 0_usize..50, group_blocks in 1_usize..9,
        ) {
            let below = |block: usize| work[..block].iter().sum::<u64>();
            let starts = (0..work.len()).step_by(group_blocks);
            let groups_below: Vec<usize> = starts.map(|block| below(block) as usize).collect();
            let mut want = Vec::new();
            for block in 1..work.len() {
                let wanted = below(work.len()) * (want.len() as u64 + 1) / parts.max(1) as u64;
                if below(block) >= wanted {
                    want.push(block);
                }
            }
            let found = cut_blocks(work.len(), parts, &groups_below, group_blocks, below);
            prop_assert_eq!(found.collect::<Vec<_>>(), want);
        }
    }
}
