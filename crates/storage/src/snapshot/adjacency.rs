//! Adjacency of a reader: lists and degrees, from stored edges and own writes, batch by batch.
//!
//! Order of a row's neighbours: out before in, then by type, neighbour, discriminator. A cursor names the
//! edge that it stands at, so that own writes between two batches move nothing: who deletes what it was handed
//! would pass over as many edges if it counted them.

use crate::snapshot::reader::{Reader, appended, fewer_than_deleted, rows_from};
use crate::transaction::writes::EdgeWrite;
use crate::view::{PointReads, View, runs};
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GROUP_SIZE, GroupId, TypeId, VertexId};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::view::{EdgeCursor, NeighborBatch, NeighborCursor};
use std::cmp::Ordering;

/// The edge types to look at, from row to row: rows of one group share them.
struct TypeChoice<'a> {
    wanted: Option<&'a [TypeId]>,
    chosen: Vec<TypeId>,
    /// Whose types `chosen` is, if the next row may use it too.
    of: Option<(GroupId, Direction)>,
}

impl TypeChoice<'_> {
    /// Whether the choice depends on the group of a vertex.
    fn is_by_group(&self) -> bool {
        self.wanted.is_none_or(|wanted| wanted.len() > 1)
    }
}

/// Vertices whose lists an engine may read ahead: few at first, for who asks for a few neighbours of many vertices.
struct Ahead {
    /// The first row that wasn't announced.
    end: usize,
    /// Rows that are announced next; a row by itself is not.
    rows: usize,
    /// Rows that are announced at once, at most.
    rows_max: usize,
    /// The first row whose group wasn't announced.
    types_end: usize,
}

/// Rows that are announced at once, at most: as many as a disk serves side by side, some times over.
const AHEAD_ROWS_MAX: usize = 64;
/// The same of other machines: a message takes as long for many rows as for one. Never more than are wanted of neighbours, or
/// than a disk gets.
const REMOTE_AHEAD_ROWS_MAX: usize = 4096;

impl Ahead {
    /// Nothing was announced of the rows from `row` on, of which `limit` neighbours are wanted.
    fn new<V: View>(view: &V, row: usize, limit: usize) -> Self {
        let (rows, rows_max) = match view.heeds_ahead() {
            true => (AHEAD_ROWS_MAX, limit.clamp(AHEAD_ROWS_MAX, REMOTE_AHEAD_ROWS_MAX)),
            false => (1, AHEAD_ROWS_MAX),
        };
        Self { end: row, rows, rows_max, types_end: row }
    }

    /// Announces the groups of rows from `row` on, whose edge types are asked for.
    fn announce_types<V: View>(
        &mut self,
        reader: &Reader<'_, V>,
        vertices: &[VertexId],
        row: usize,
        direction: Direction,
    ) {
        self.types_end = (row + self.rows_max).min(vertices.len());
        let rows = &vertices[row..self.types_end];
        if rows.len() > 1 {
            reader.view.ahead(NextReads::EdgeTypes(rows, direction));
        }
    }

    /// As `found` neighbours of so many rows are known, `room` more are expected of so many others: these take one message of other
    /// machines, however many they are.
    fn expect(&mut self, (rows, found): (usize, usize), room: usize) {
        if rows > 0 && self.rows_max > AHEAD_ROWS_MAX {
            let expected = room / found.div_ceil(rows).max(1);
            self.rows = self.rows.max(expected.min(self.rows_max));
        }
    }

    /// Announces rows from `row` on, for edges of the types that its group has.
    fn announce<V: View>(
        &mut self,
        reader: &Reader<'_, V>,
        vertices: &[VertexId],
        row: usize,
        (types, direction): (&[TypeId], Direction),
    ) {
        let announced = &vertices[row..(row + self.rows).min(vertices.len())];
        self.end = row + announced.len();
        self.rows = (2 * self.rows).min(self.rows_max);
        if announced.len() < 2 {
            return;
        }
        for edge_type in types {
            for side in direction.sides() {
                reader.view.read_ahead(announced, *edge_type, *side);
            }
        }
    }
}

impl<V: View> Reader<'_, V> {
    /// As [`evergraph_graph::view::GraphView::neighbors`].
    pub(crate) fn expand(
        &self,
        vertices: &[VertexId],
        types: Option<&[TypeId]>,
        direction: Direction,
        cursor: &mut NeighborCursor,
        limit: usize,
        batch: &mut NeighborBatch,
    ) -> Result<()> {
        let mut choice = TypeChoice { wanted: types, chosen: Vec::new(), of: None };
        let mut list = Vec::new();
        let mut room = limit;
        let first_row = cursor.row;
        let mut ahead = Ahead::new(&self.view, first_row, limit);
        while !cursor.done && room > 0 {
            let Some(vertex) = vertices.get(cursor.row) else {
                cursor.done = true;
                break;
            };
            let resumed = cursor.after;
            if cursor.row >= ahead.types_end && choice.is_by_group() {
                ahead.announce_types(self, vertices, cursor.row, direction);
            }
            for side in direction.sides() {
                if resumed.is_some_and(|(of, _)| of == Direction::In && *side == Direction::Out) {
                    continue;
                }
                self.choose_types(&mut choice, *vertex, *side)?;
                if cursor.row >= ahead.end && Some(side) == direction.sides().first() {
                    ahead.expect((cursor.row - first_row, limit - room), room);
                    ahead.announce(self, vertices, cursor.row, (&choice.chosen, direction));
                }
                for edge_type in &choice.chosen {
                    let after = match resumed.filter(|(of, _)| of == side) {
                        Some((_, edge)) if edge.edge_type > *edge_type => continue,
                        Some((_, edge)) if edge.edge_type == *edge_type => Some(entry_of(edge, *side)),
                        _ => None,
                    };
                    list.clear();
                    self.list(*vertex, *edge_type, *side, after, room, &mut list)?;
                    batch.rows.resize(batch.rows.len() + list.len(), cursor.row as u32);
                    batch.neighbors.extend(list.iter().map(|entry| entry.0));
                    batch.edges.extend(list.iter().map(|entry| edge_of(*vertex, *edge_type, *side, *entry)));
                    if let Some(last) = batch.edges.last().filter(|_| !list.is_empty()) {
                        cursor.after = Some((*side, *last));
                    }
                    room -= list.len();
                    if room == 0 {
                        return Ok(());
                    }
                }
            }
            cursor.row += 1;
            cursor.after = None;
        }
        Ok(())
    }

    /// As [`evergraph_graph::view::GraphView::scan_edges`].
    pub(crate) fn edges_from(
        &self,
        types: Option<&[TypeId]>,
        cursor: &mut EdgeCursor,
        limit: usize,
        edges: &mut Vec<EdgeId>,
    ) -> Result<()> {
        let end = edges.len().saturating_add(limit);
        let (mut rows, mut batch) = (Vec::new(), NeighborBatch::default());
        while !cursor.done && edges.len() < end {
            let from = VertexId(cursor.source);
            let group = from.group();
            if group.0 >= self.view.group_count() {
                cursor.done = true;
                break;
            }
            let after = cursor.after.map(|edge| (Direction::Out, edge));
            let mut within = NeighborCursor { row: 0, after, done: false };
            rows.clear();
            if self.has_sources(group, types)? {
                rows.extend(rows_from(&self.live(group)?, from.row()).map(|row| VertexId::new(group, row)));
                // The vertex that the cursor stopped in may be gone by an own write.
                if rows.first() != Some(&from) {
                    within.after = None;
                }
                batch.clear();
                self.expand(&rows, types, Direction::Out, &mut within, end - edges.len(), &mut batch)?;
                edges.append(&mut batch.edges);
            }
            match rows.get(within.row) {
                Some(source) => {
                    (cursor.source, cursor.after) = (source.0, within.after.map(|(_, edge)| edge));
                }
                None => {
                    let last = group.first().0 + (GROUP_SIZE - 1);
                    cursor.after = None;
                    match last.checked_add(1) {
                        Some(next) => cursor.source = next,
                        None => cursor.done = true,
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether vertices of `group` may be sources of edges of `types`.
    fn has_sources(&self, group: GroupId, types: Option<&[TypeId]>) -> Result<bool> {
        let wanted = |edge_type| types.is_none_or(|types| types.contains(&edge_type));
        let stored = self.view.edge_types(group, Direction::Out)?.into_iter().any(wanted);
        Ok(stored || self.writes.edges_from_group(group).any(|edge| wanted(edge.edge_type)))
    }

    /// As [`evergraph_graph::view::GraphView::degrees`].
    pub(crate) fn count(
        &self,
        vertices: &[VertexId],
        types: Option<&[TypeId]>,
        direction: Direction,
        degrees: &mut Vec<u64>,
    ) -> Result<()> {
        let mut choice = TypeChoice { wanted: types, chosen: Vec::new(), of: None };
        let degrees = appended(degrees, vertices.len());
        if vertices.len() > 1 {
            let one = types.filter(|types| types.len() == 1).map(|types| types[0]);
            if one.is_none() {
                self.view.ahead(NextReads::EdgeTypes(vertices, direction));
            }
            self.view.ahead(NextReads::Degrees(vertices, one, direction));
        }
        // Own writes give each vertex types of its own.
        let together = |a: &VertexId, b: &VertexId| self.writes.is_empty() && a.group() == b.group();
        for (vertices, degrees) in runs(vertices, degrees, together) {
            for side in direction.sides() {
                self.choose_types(&mut choice, vertices[0], *side)?;
                for edge_type in &choice.chosen {
                    self.view.degrees(vertices, *edge_type, *side, degrees)?;
                    if !self.writes.has_edges() {
                        continue;
                    }
                    for (vertex, degree) in vertices.iter().zip(&mut *degrees) {
                        let own = self.writes.edges_of(*vertex, *edge_type, *side);
                        let balance = own.map(|(_, write)| write.balance()).sum();
                        let sum = degree.checked_add_signed(balance);
                        *degree = sum.ok_or_else(|| fewer_than_deleted(*vertex))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Appends the stored edges of a vertex, without own writes: a self loop once.
    pub(crate) fn stored_edges(&self, vertex: VertexId, edges: &mut Vec<EdgeId>) -> Result<()> {
        let mut list = Vec::new();
        if self.view.heeds_ahead() {
            for side in Direction::Both.sides() {
                for edge_type in self.view.edge_types(vertex.group(), *side)? {
                    self.view.read_ahead(&[vertex], edge_type, *side);
                }
            }
        }
        for side in Direction::Both.sides() {
            for edge_type in self.view.edge_types(vertex.group(), *side)? {
                list.clear();
                self.view.all_neighbors(vertex, edge_type, *side, &mut list)?;
                if *side == Direction::In {
                    list.retain(|entry| entry.0 != vertex);
                }
                edges.extend(list.iter().map(|entry| edge_of(vertex, edge_type, *side, *entry)));
            }
        }
        Ok(())
    }

    fn choose_types(&self, choice: &mut TypeChoice<'_>, vertex: VertexId, side: Direction) -> Result<()> {
        let of = (vertex.group(), side);
        if choice.of == Some(of) {
            return Ok(());
        }
        choice.chosen.clear();
        match choice.wanted {
            Some(wanted) if wanted.len() <= 1 => choice.chosen.extend(wanted),
            wanted => {
                choice.chosen.extend(self.view.edge_types(vertex.group(), side)?);
                self.writes.edge_types_of(vertex, side, &mut choice.chosen);
                choice.chosen.retain(|found| wanted.is_none_or(|wanted| wanted.contains(found)));
                choice.chosen.sort_unstable();
                choice.chosen.dedup();
            }
        }
        choice.of = self.writes.is_empty().then_some(of);
        Ok(())
    }

    fn list(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        after: Option<(VertexId, u16)>,
        limit: usize,
        list: &mut Vec<(VertexId, u16)>,
    ) -> Result<()> {
        let own = self.writes.edges_after(vertex, edge_type, side, after);
        let own: Vec<_> = own.map(|(edge, write)| (entry_of(edge, side), write)).collect();
        if own.is_empty() {
            return self.view.neighbors(vertex, edge_type, side, after, limit, list);
        }
        // Own deletes hide as many stored edges, at most.
        let hidden = own.iter().filter(|(_, write)| **write == EdgeWrite::Delete).count();
        let mut stored = Vec::new();
        let enough = limit.saturating_add(hidden);
        self.view.neighbors(vertex, edge_type, side, after, enough, &mut stored)?;
        list.extend(merged(stored, own.into_iter()).take(limit));
        Ok(())
    }
}

/// The other end and the discriminator of an edge in the list of a vertex on a plain side.
#[inline]
fn entry_of(edge: EdgeId, side: Direction) -> (VertexId, u16) {
    (if side == Direction::Out { edge.target } else { edge.source }, edge.discriminator)
}

#[inline]
fn edge_of(vertex: VertexId, edge_type: TypeId, side: Direction, entry: (VertexId, u16)) -> EdgeId {
    let (neighbor, discriminator) = entry;
    let (source, target) = if side == Direction::Out { (vertex, neighbor) } else { (neighbor, vertex) };
    EdgeId { source, edge_type, target, discriminator }
}

/// Stored entries without those deleted, and those added; both sorted.
fn merged<'a>(
    stored: Vec<(VertexId, u16)>,
    own: impl Iterator<Item = ((VertexId, u16), &'a EdgeWrite)>,
) -> impl Iterator<Item = (VertexId, u16)> {
    let (mut stored, mut own) = (stored.into_iter().peekable(), own.peekable());
    std::iter::from_fn(move || {
        loop {
            let order = match (stored.peek(), own.peek()) {
                (Some(entry), Some((written, _))) => entry.cmp(written),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return None,
            };
            if order == Ordering::Less {
                return stored.next();
            }
            if order == Ordering::Equal {
                stored.next();
            }
            if let Some((entry, write)) = own.next()
                && *write != EdgeWrite::Delete
            {
                return Some(entry);
            }
        }
    })
}
