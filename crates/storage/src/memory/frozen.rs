//! Frozen topology: what a snapshot's lists are, resolved once for algorithms.
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
//! by copying the lists of the types that can leave them: the catalogue knows which.
//!
//! Source: GART (ATC 2023) 5.1; core-protocol section 1, *kernels*.

use crate::engine::{GroupBits, View};
use crate::memory::engine::MemoryEngine;
use crate::memory::group::{EdgeSubject, Group};
use crate::memory::view::MemoryView;
use crate::segment::body::Body;
use crate::segment::column::StoredColumn;
use crate::segment::edge_body::EdgeBody;
use crate::segment::net::{Effect, Net, nets};
use crate::segment::version::Layer;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{Piece, PieceBuffer, Projection, Topology, Visit, Weight};
use evergraph_graph::vertex_set::VertexSet;
use std::ops::Range;
use std::sync::Arc;

/// Adjacency lists of one snapshot, for algorithms.
pub struct FrozenTopology {
    bound: u32,
    vertices: VertexSet,
    direction: Direction,
    edge_count: u64,
    out: Vec<Box<[FrozenList]>>,
    into: Vec<Box<[FrozenList]>>,
    /// What was copied or converted counts against the budget as long as this lives.
    _reservations: Vec<Reservation>,
}

/// The lists of one segment.
struct FrozenList {
    body: Arc<EdgeBody>,
    weights: Weights,
    fresh: Option<Box<Fresh>>,
}

enum Weights {
    None,
    Column(Arc<StoredColumn>),
    Own(Box<[f64]>),
}

/// Lists on top of a body.
struct Fresh {
    /// Rows with a list here.
    touched: GroupBits,
    /// Rows whose list here stands for the body's too.
    replaced: GroupBits,
    /// The touched rows, ascending, and where the list of each ends.
    rows: Vec<u16>,
    ends: Vec<u32>,
    neighbors: Vec<u32>,
    weights: Vec<f64>,
    sorted: bool,
}

fn has(bits: &GroupBits, row: u16) -> bool {
    bits[usize::from(row) / 64] >> (row % 64) & 1 == 1
}

fn set(bits: &mut GroupBits, row: u16) {
    bits[usize::from(row) / 64] |= 1 << (row % 64);
}

impl Fresh {
    fn new() -> Self {
        Self {
            touched: [0; 64],
            replaced: [0; 64],
            rows: Vec::new(),
            ends: Vec::new(),
            neighbors: Vec::new(),
            weights: Vec::new(),
            sorted: true,
        }
    }

    fn range(&self, row: u16) -> Range<usize> {
        match self.rows.binary_search(&row) {
            Ok(at) => {
                at.checked_sub(1).map_or(0, |before| self.ends[before] as usize)..self.ends[at] as usize
            }
            Err(_) => 0..0,
        }
    }

    fn finish_row(&mut self, row: u16, replaced: bool) {
        set(&mut self.touched, row);
        if replaced {
            set(&mut self.replaced, row);
        }
        self.rows.push(row);
        self.ends.push(self.neighbors.len() as u32);
    }
}

impl FrozenList {
    fn piece<'a>(&'a self, range: Range<usize>) -> Piece<'a> {
        let weights = match &self.weights {
            Weights::None => &[][..],
            Weights::Own(weights) => &weights[range.clone()],
            Weights::Column(column) => &column.floats().expect("chosen because it is plain")[range.clone()],
        };
        Piece { neighbors: &self.body.neighbors()[range], weights, sorted: true }
    }

    /// Calls `visitor` with the pieces of `row`; what it said last.
    #[inline]
    fn visit<F: FnMut(Piece<'_>) -> Visit>(&self, row: u16, mut visitor: F) -> Visit {
        if let Some(fresh) = &self.fresh
            && has(&fresh.touched, row)
        {
            if !has(&fresh.replaced, row) {
                let said = visitor(self.piece(self.body.range(row)));
                if said != Visit::Continue {
                    return said;
                }
            }
            let range = fresh.range(row);
            let weights = if fresh.weights.is_empty() { &[][..] } else { &fresh.weights[range.clone()] };
            return visitor(Piece { neighbors: &fresh.neighbors[range], weights, sorted: fresh.sorted });
        }
        let range = self.body.range(row);
        if range.is_empty() { Visit::Continue } else { visitor(self.piece(range)) }
    }

    fn degree(&self, row: u16) -> u32 {
        let fresh = self.fresh.as_ref().filter(|fresh| has(&fresh.touched, row));
        let body = match fresh {
            Some(fresh) if has(&fresh.replaced, row) => 0,
            _ => self.body.range(row).len(),
        };
        (body + fresh.map_or(0, |fresh| fresh.range(row).len())) as u32
    }

    fn edge_count(&self) -> u64 {
        let Some(fresh) = &self.fresh else { return self.body.neighbors().len() as u64 };
        let gone: usize = fresh
            .rows
            .iter()
            .filter(|row| has(&fresh.replaced, **row))
            .map(|row| self.body.range(*row).len())
            .sum();
        (self.body.neighbors().len() - gone + fresh.neighbors.len()) as u64
    }
}

/// How one side is frozen.
struct Freezer<'a> {
    timestamp: Timestamp,
    catalogue: &'a Catalogue,
    weight: Option<&'a Weight>,
    labels: Option<&'a [LabelId]>,
    /// The vertices of `labels`.
    scope: &'a VertexSet,
    budget: &'a Arc<dyn Budget>,
    reservations: Vec<Reservation>,
}

impl Freezer<'_> {
    fn weight_error(&self, edge_type: TypeId, source: VertexId, target: u32, why: &str) -> Error {
        let key = self.weight.map_or_else(|| "".into(), |weight| self.catalogue.key_name(weight.key));
        Error::invalid(format!(
            "the edge {} from {source} to v{target} {why} as its weight `{key}`",
            self.catalogue.edge_type_name(edge_type)
        ))
    }

    /// A weight from what a property holds.
    fn weight_of(
        &self,
        number: Option<f64>,
        present: bool,
        edge_type: TypeId,
        source: VertexId,
        target: u32,
    ) -> Result<f64> {
        let missing = self.weight.and_then(|weight| weight.missing);
        match (number, present) {
            (Some(number), _) => Ok(number),
            (None, true) => Err(self.weight_error(edge_type, source, target, "has no number")),
            (None, false) => {
                missing.ok_or_else(|| self.weight_error(edge_type, source, target, "has no value"))
            }
        }
    }

    fn list(&mut self, layer: &Layer<EdgeBody>, group: &Group, subject: EdgeSubject) -> Result<FrozenList> {
        let records = layer.all_records(self.timestamp);
        let nets: Vec<Net> = nets(records.into_iter()).collect();
        if self.leaves_scope(subject) {
            // Rare: a type joins vertices outside the projection's labels. Its lists are copied.
            let bytes = (layer.body.neighbors().len() + nets.len()) * 12;
            self.reservations.push(self.budget.reserve("lists within the chosen labels", bytes as u64)?);
            let merged = layer.body.merged(&nets);
            let body = Arc::new(merged.filtered(|neighbor| self.scope.contains(neighbor)));
            let weights = self.weights(&body, group, subject)?;
            return Ok(FrozenList { body, weights, fresh: None });
        }
        let weights = self.weights(&layer.body, group, subject)?;
        let fresh = self.fresh(layer, &nets, group, subject, &weights)?;
        Ok(FrozenList { body: Arc::clone(&layer.body), weights, fresh })
    }

    /// Whether edges of this type may name vertices of other labels than the chosen.
    fn leaves_scope(&self, subject: EdgeSubject) -> bool {
        self.labels.is_some_and(|labels| {
            let mut joins = self.catalogue.joins(subject.edge_type());
            joins.any(|(source, target)| !labels.contains(&source) || !labels.contains(&target))
        })
    }

    fn weights(&mut self, body: &Arc<EdgeBody>, group: &Group, subject: EdgeSubject) -> Result<Weights> {
        let Some(weight) = self.weight else { return Ok(Weights::None) };
        let column = body.column(weight.key);
        if let Some(column) = column
            && column.floats().is_some()
        {
            return Ok(Weights::Column(Arc::clone(column)));
        }
        let count = body.neighbors().len();
        self.reservations.push(self.budget.reserve("edge weights", count as u64 * 8)?);
        let mut own = Vec::with_capacity(count);
        let mut failure = None;
        body.for_each_row(|row, range| {
            for at in range {
                let present = column.is_some_and(|column| column.has(at));
                let number = column.and_then(|column| column.number(at));
                let source = VertexId::new(group.id, row);
                match self.weight_of(number, present, subject.edge_type(), source, body.neighbors()[at]) {
                    Ok(number) => own.push(number),
                    Err(error) => failure = Some(error),
                }
            }
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(Weights::Own(own.into())),
        }
    }

    fn fresh(
        &self,
        layer: &Layer<EdgeBody>,
        nets: &[Net],
        group: &Group,
        subject: EdgeSubject,
        weights: &Weights,
    ) -> Result<Option<Box<Fresh>>> {
        let matters = |net: &&Net| net.difference != 0 || self.weight.is_some();
        if !nets.iter().any(|net| matters(&net)) {
            return Ok(None);
        }
        let mut fresh = Fresh::new();
        for of_row in nets.chunk_by(|a, b| a.key.row() == b.key.row()) {
            let row = of_row[0].key.row();
            // With nothing but additions the body's list stands, and a second piece follows it.
            let replaced = of_row.iter().any(|net| matters(&net) && net.difference != 1);
            if !replaced && !of_row.iter().any(|net| matters(&net)) {
                continue;
            }
            let range = layer.body.range(row);
            let mut at = range.start;
            let body_key = |at: usize| (layer.body.neighbors()[at], layer.body.discriminator(at));
            let copy = |fresh: &mut Fresh, at: usize| {
                fresh.neighbors.push(layer.body.neighbors()[at]);
                match weights {
                    Weights::None => {}
                    Weights::Own(own) => fresh.weights.push(own[at]),
                    Weights::Column(column) => {
                        fresh.weights.push(column.number(at).expect("chosen because every edge has one"));
                    }
                }
            };
            for net in of_row {
                let key = (net.key.neighbor(), net.key.discriminator());
                let mut in_body = None;
                if replaced {
                    while at < range.end && body_key(at) < key {
                        copy(&mut fresh, at);
                        at += 1;
                    }
                    if at < range.end && body_key(at) == key {
                        in_body = Some(at);
                        at += 1;
                    }
                } else if net.difference != 1 {
                    continue;
                }
                if net.effect == Effect::Absent {
                    continue;
                }
                fresh.neighbors.push(key.0);
                if let Some(weight) = self.weight {
                    let source = VertexId::new(group.id, row);
                    let own = match &net.effect {
                        Effect::Present(all) => Some(all.get(weight.key).flatten()),
                        Effect::Changed(changes) => changes.get(weight.key),
                        Effect::Absent => unreachable!("left out above"),
                    };
                    let column = layer.body.column(weight.key);
                    let (number, present) = match (own, in_body) {
                        (Some(value), _) => (value.and_then(|value| value.as_f64()), value.is_some()),
                        (None, Some(at)) => (
                            column.and_then(|column| column.number(at)),
                            column.is_some_and(|column| column.has(at)),
                        ),
                        (None, None) => (None, false),
                    };
                    fresh.weights.push(self.weight_of(
                        number,
                        present,
                        subject.edge_type(),
                        source,
                        key.0,
                    )?);
                }
            }
            if replaced {
                (at..range.end).for_each(|at| copy(&mut fresh, at));
            }
            fresh.finish_row(row, replaced);
        }
        Ok((!fresh.rows.is_empty()).then(|| Box::new(fresh)))
    }

    /// One side of every group, in groups' order.
    fn side(
        &mut self,
        engine: &MemoryEngine,
        projection: &Projection,
        groups: u32,
        side: Direction,
    ) -> Result<Vec<Box<[FrozenList]>>> {
        let mut all = Vec::with_capacity(groups as usize);
        for group in (0..groups).map(GroupId) {
            let mut lists = Vec::new();
            let labels = projection.labels.as_deref();
            let group = engine.groups().get(group);
            if let Some(group) = group.filter(|group| labels.is_none_or(|all| all.contains(&group.label))) {
                let edges = Arc::clone(&group.edges());
                for edge in edges.iter().filter(|edge| edge.subject.side() == side) {
                    let wanted = projection.types.as_deref();
                    if wanted.is_some_and(|types| !types.contains(&edge.subject.edge_type())) {
                        continue;
                    }
                    let version = edge.segment.load_full();
                    let layer = version.layer_at(self.timestamp);
                    let list = self.list(layer, group, edge.subject)?;
                    if list.edge_count() > 0 {
                        lists.push(list);
                    }
                    for hub in layer.hubs.iter() {
                        let version = hub.segment.load_full();
                        lists.push(self.list(version.layer_at(self.timestamp), group, edge.subject)?);
                    }
                }
            }
            all.push(lists.into());
        }
        Ok(all)
    }

    /// The in side of `out`, with the weights of the out side.
    fn transposed(&mut self, out: &[Box<[FrozenList]>], groups: u32) -> Result<Vec<Box<[FrozenList]>>> {
        let total: u64 = out.iter().flatten().map(FrozenList::edge_count).sum();
        let bytes = total * 12 + u64::from(groups) * u64::from(GROUP_SIZE) * 4;
        self.reservations.push(self.budget.reserve("weights of the in side", bytes)?);
        let mut degrees = vec![0u32; groups as usize * GROUP_SIZE as usize];
        let each_piece = |visit: &mut dyn FnMut(u32, Piece<'_>)| {
            for (group, lists) in out.iter().enumerate() {
                for row in 0..GROUP_SIZE as u16 {
                    let vertex = VertexId::new(GroupId(group as u32), row).0;
                    for list in lists {
                        list.visit(row, |piece| {
                            visit(vertex, piece);
                            Visit::Continue
                        });
                    }
                }
            }
        };
        each_piece(&mut |_, piece| piece.neighbors.iter().for_each(|to| degrees[*to as usize] += 1));
        let mut sides: Vec<(Vec<u32>, Vec<f64>)> = Vec::with_capacity(groups as usize);
        let mut next = vec![0u32; degrees.len()];
        for (group, own) in degrees.chunks(GROUP_SIZE as usize).enumerate() {
            let mut start = 0;
            for (row, degree) in own.iter().enumerate() {
                next[group * GROUP_SIZE as usize + row] = start;
                start += degree;
            }
            sides.push((vec![0; start as usize], vec![0.0; start as usize]));
        }
        each_piece(&mut |vertex, piece| {
            for (to, weight) in piece.neighbors.iter().zip(piece.weights) {
                let place = &mut next[*to as usize];
                let (neighbors, weights) = &mut sides[VertexId(*to).group().0 as usize];
                neighbors[*place as usize] = vertex;
                weights[*place as usize] = *weight;
                *place += 1;
            }
        });
        let lists = sides.into_iter().zip(degrees.chunks(GROUP_SIZE as usize));
        let list = |((neighbors, weights), degrees): ((Vec<u32>, Vec<f64>), &[u32])| {
            let body = EdgeBody::new(degrees, neighbors.into(), Box::default(), Vec::new());
            let list =
                FrozenList { body: Arc::new(body), weights: Weights::Own(weights.into()), fresh: None };
            Box::from([list])
        };
        Ok(lists.map(list).collect())
    }
}

impl FrozenTopology {
    /// Resolves each segment of `projection` once, as of `timestamp`, which the caller registered.
    ///
    /// # Errors
    /// `invalid` if an edge's weight is missing or no number, `limit` if the budget refuses.
    pub fn new(
        engine: &MemoryEngine,
        timestamp: Timestamp,
        catalogue: &Catalogue,
        projection: &Projection,
        budget: &Arc<dyn Budget>,
    ) -> Result<Self> {
        let groups = engine.groups().end();
        let bound = groups.checked_mul(GROUP_SIZE).unwrap_or(u32::MAX);
        let mut reservations = vec![budget.reserve("the set of vertices", u64::from(bound) / 8)?];
        let view = MemoryView::new(engine, timestamp);
        let mut words = Vec::with_capacity(bound.div_ceil(64) as usize);
        for group in (0..groups).map(GroupId) {
            let labels = projection.labels.as_deref();
            let label = view.group_label(group);
            let in_scope = label.is_some_and(|label| labels.is_none_or(|all| all.contains(&label)));
            words.extend_from_slice(&if in_scope { view.live(group)? } else { [0; 64] });
        }
        if let Some(last) = words.last_mut()
            && bound == u32::MAX
        {
            *last &= u64::MAX >> 1;
        }
        let vertices = VertexSet::from_words(words, bound);
        let mut freezer = Freezer {
            timestamp,
            catalogue,
            weight: projection.weight.as_ref(),
            labels: projection.labels.as_deref(),
            scope: &vertices,
            budget,
            reservations: Vec::new(),
        };
        let weighted = projection.weight.is_some();
        let needs_out = projection.direction != Direction::In || weighted;
        let mut out = Vec::new();
        if needs_out {
            out = freezer.side(engine, projection, groups, Direction::Out)?;
        }
        let into = match (projection.direction, weighted) {
            (Direction::Out, _) => Vec::new(),
            (_, true) => freezer.transposed(&out, groups)?,
            (_, false) => freezer.side(engine, projection, groups, Direction::In)?,
        };
        let counted = if needs_out { &out } else { &into };
        let edge_count = counted.iter().flatten().map(FrozenList::edge_count).sum();
        if projection.direction == Direction::In {
            out = Vec::new();
        }
        reservations.append(&mut freezer.reservations);
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
        let neighbors = list.body.neighbors();
        let end = usize::from(rows.end).min(ends.len());
        let start = usize::from(rows.start).min(end);
        let mut from = if start == 0 { 0 } else { ends[start - 1] as usize };
        let mut vertex = first + start as u32;
        let touched = list.fresh.as_ref().map(|fresh| &fresh.touched);
        if touched.is_none() && matches!(list.weights, Weights::None) {
            for to in &ends[start..end] {
                let piece = &neighbors[from..*to as usize];
                from = *to as usize;
                if !piece.is_empty()
                    && visitor(vertex, Piece { neighbors: piece, weights: &[], sorted: true }) == Visit::Stop
                {
                    return Visit::Stop;
                }
                vertex += 1;
            }
            return Visit::Continue;
        }
        for (row, to) in (start..end).zip(&ends[start..end]) {
            let range = from..*to as usize;
            from = range.end;
            let said = if touched.is_some_and(|touched| has(touched, row as u16)) {
                list.visit(row as u16, |piece| visitor(vertex, piece))
            } else if range.is_empty() {
                Visit::Continue
            } else {
                visitor(vertex, list.piece(range))
            };
            if said == Visit::Stop {
                return Visit::Stop;
            }
            vertex += 1;
        }
        // Rows beyond the body's last can have fresh lists.
        if let Some(fresh) = &list.fresh {
            let beyond = ends.len().max(usize::from(rows.start))..usize::from(rows.end);
            let after = |row: &u16| beyond.contains(&usize::from(*row));
            for row in fresh.rows.iter().copied().filter(after) {
                if list.visit(row, |piece| visitor(first + u32::from(row), piece)) == Visit::Stop {
                    return Visit::Stop;
                }
            }
        }
        Visit::Continue
    }
}

impl Topology for FrozenTopology {
    fn bound(&self) -> u32 {
        self.bound
    }

    fn vertices(&self) -> &VertexSet {
        &self.vertices
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    fn edge_count(&self) -> u64 {
        self.edge_count
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        degrees.fill(0);
        for side in direction.sides() {
            let groups = self.side(*side)?;
            for (vertex, degree) in range.clone().zip(degrees.iter_mut()) {
                let vertex = VertexId(vertex);
                let lists = &groups[vertex.group().0 as usize];
                *degree += lists.iter().map(|list| list.degree(vertex.row())).sum::<u32>();
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
        if range.is_empty() {
            return Ok(());
        }
        let sides = direction.sides();
        let first = self.side(sides[0])?;
        let second = sides.get(1).map(|side| self.side(*side)).transpose()?;
        let (from, last) = (VertexId(range.start), VertexId(range.end - 1));
        for group in from.group().0..=last.group().0 {
            let group = GroupId(group);
            let row_start = if group == from.group() { from.row() } else { 0 };
            let row_end = if group == last.group() { last.row() + 1 } else { GROUP_SIZE as u16 };
            let lists = &first[group.0 as usize];
            if second.is_none()
                && let [list] = &**lists
                && let Some(ends) = list.body.dense_ends()
            {
                let rows = row_start..row_end;
                if Self::visit_dense(list, ends, group.first().0, rows, &mut visitor) == Visit::Stop {
                    return Ok(());
                }
                continue;
            }
            if lists.is_empty() && second.is_none_or(|second| second[group.0 as usize].is_empty()) {
                continue;
            }
            for row in row_start..row_end {
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
        for vertex in vertices {
            let id = VertexId(*vertex);
            let mut said = Self::visit_lists(&first[id.group().0 as usize], *vertex, id.row(), &mut visitor);
            if let Some(second) = second.filter(|_| said == Visit::Continue) {
                said = Self::visit_lists(&second[id.group().0 as usize], *vertex, id.row(), &mut visitor);
            }
            if said == Visit::Stop {
                return Ok(());
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
            let rows = vertex.row()..vertex.row() + BLOCK as u16;
            let edges: u64 =
                lists.map(|list| rows.clone().map(|row| u64::from(list.degree(row))).sum::<u64>()).sum();
            edges + BLOCK as u64
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
