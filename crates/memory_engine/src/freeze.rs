//! Freezing: turns segments and the records on top of them into lists for algorithms, group by
//! group, on rayon's current pool.

use crate::fresh::FreshLists;
use crate::frozen_list::{FrozenList, Weights};
use crate::group::{EdgeSubject, Group, GroupTable};
use crate::segment::edge_body::EdgeBody;
use crate::segment::net::{Effect, Net, nets};
use crate::segment::version::Layer;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::filter::Filter;
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{Piece, Projection, Visit, Weight};
use evergraph_graph::value::Value;
use evergraph_graph::vertex_set::VertexSet;
use evergraph_storage::sync::Mutex;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// The lists of one side, by group.
pub(super) type FrozenSide = Vec<Box<[FrozenList]>>;

/// How the sides of a projection are frozen.
pub(super) struct Freezer<'a> {
    pub(super) timestamp: Timestamp,
    pub(super) catalogue: &'a Catalogue,
    pub(super) weight: Option<&'a Weight>,
    pub(super) labels: Option<&'a [LabelId]>,
    /// The vertices in scope.
    pub(super) scope: &'a VertexSet,
    /// Whether `scope` leaves out vertices of `labels`.
    pub(super) some_vertices: bool,
    /// What edges must satisfy.
    pub(super) filters: &'a [Filter],
    pub(super) budget: &'a Arc<dyn Budget>,
    pub(super) reservations: Mutex<Vec<Reservation>>,
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

    fn list(&self, layer: &Layer<EdgeBody>, group: &Group, subject: EdgeSubject) -> Result<FrozenList> {
        let leaves_out = self.some_vertices || !self.filters.is_empty() || self.leaves_scope(subject);
        if self.weight.is_none() && !leaves_out {
            let fresh = match layer.inserted(self.timestamp) {
                Some(keys) => FreshLists::of_inserted(&keys),
                None => FreshLists::of_differences(&layer.body, &layer.differences(self.timestamp)),
            };
            return Ok(FrozenList { body: Arc::clone(&layer.body), weights: Weights::None, fresh });
        }
        let nets: Vec<Net> = nets(layer.all_records(self.timestamp).into_iter()).collect();
        if leaves_out {
            // Rare: edges are left out. Lists are copied.
            let bytes = (layer.body.neighbors().len() + nets.len()) * 12;
            self.reservations
                .lock()
                .push(self.budget.reserve("lists without what was left out", bytes as u64)?);
            let body = Arc::new(self.filtered(&layer.body.copied(&nets), group));
            let weights = self.weights(&body, group, subject)?;
            return Ok(FrozenList { body, weights, fresh: None });
        }
        let weights = self.weights(&layer.body, group, subject)?;
        let fresh = self.weighted(&layer.body, &nets, group, subject, &weights)?;
        Ok(FrozenList { body: Arc::clone(&layer.body), weights, fresh })
    }

    /// The edges of `body` that have both ends in scope and satisfy the filters.
    fn filtered(&self, body: &EdgeBody, group: &Group) -> EdgeBody {
        let columns: Vec<_> = self.filters.iter().map(|filter| (filter, body.column(filter.key))).collect();
        body.filtered(|row, at| {
            self.scope.contains(VertexId::new(group.id, row).0)
                && self.scope.contains(body.neighbors()[at])
                && columns
                    .iter()
                    .all(|(filter, column)| filter.holds(column.and_then(|column| column.get(at)).as_ref()))
        })
    }

    /// Whether edges of this type may name vertices of other labels than the chosen.
    fn leaves_scope(&self, subject: EdgeSubject) -> bool {
        self.labels.is_some_and(|labels| {
            let mut joins = self.catalogue.joins(subject.edge_type());
            joins.any(|(source, target)| !labels.contains(&source) || !labels.contains(&target))
        })
    }

    fn weights(&self, body: &Arc<EdgeBody>, group: &Group, subject: EdgeSubject) -> Result<Weights> {
        let Some(weight) = self.weight else { return Ok(Weights::None) };
        let column = body.column(weight.key);
        if let Some(column) = column
            && column.floats().is_some()
        {
            return Ok(Weights::Column(Arc::clone(column)));
        }
        let count = body.neighbors().len();
        self.reservations.lock().push(self.budget.reserve("edge weights", count as u64 * 8)?);
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

    /// As [`FreshLists::of_differences`], with weights: a row whose weights change is merged anew too.
    fn weighted(
        &self,
        body: &EdgeBody,
        nets: &[Net],
        group: &Group,
        subject: EdgeSubject,
        weights: &Weights,
    ) -> Result<Option<Box<FreshLists>>> {
        let mut fresh = FreshLists::new();
        for of_row in nets.chunk_by(|a, b| a.key.row() == b.key.row()) {
            let row = of_row[0].key.row();
            let replaced = of_row.iter().any(|net| net.difference != 1);
            let range = body.range(row);
            let copy = |fresh: &mut FreshLists, range: Range<usize>| {
                fresh.neighbors.extend_from_slice(&body.neighbors()[range.clone()]);
                fresh.weights.extend(range.filter_map(|at| weights.at(at)));
            };
            let mut from = range.start;
            for net in of_row {
                let mut in_body = None;
                if replaced {
                    let to = body.lower_bound(net.key, &range, from);
                    copy(&mut fresh, from..to);
                    in_body = (to < range.end && body.is_at(net.key, to)).then_some(to);
                    from = to + usize::from(in_body.is_some());
                }
                if net.effect != Effect::Absent {
                    fresh.neighbors.push(net.key.neighbor());
                    let source = VertexId::new(group.id, row);
                    fresh.weights.push(self.weight_after(net, body, in_body, source, subject.edge_type())?);
                }
            }
            if replaced {
                copy(&mut fresh, from..range.end);
                fresh.replace_row(row, range.len());
            } else {
                fresh.finish_row(row);
            }
        }
        Ok(fresh.finish())
    }

    /// The weight of an edge that is there after `net`; `in_body` is where it lay before.
    fn weight_after(
        &self,
        net: &Net,
        body: &EdgeBody,
        in_body: Option<usize>,
        source: VertexId,
        edge_type: TypeId,
    ) -> Result<f64> {
        let key = self.weight.expect("only lists with weights are asked for theirs").key;
        let own = match &net.effect {
            Effect::Present(all) => Some(all.get(key).flatten()),
            Effect::Changed(changes) => changes.get(key),
            Effect::Absent => None,
        };
        let column = body.column(key);
        let (number, present) = match (own, in_body) {
            (Some(value), _) => (value.and_then(Value::as_f64), value.is_some()),
            (None, Some(at)) => {
                (column.and_then(|column| column.number(at)), column.is_some_and(|column| column.has(at)))
            }
            (None, None) => (None, false),
        };
        self.weight_of(number, present, edge_type, source, net.key.neighbor())
    }

    /// One side of every group, in groups' order.
    pub(super) fn side(
        &self,
        table: &GroupTable,
        projection: &Projection,
        groups: u32,
        side: Direction,
    ) -> Result<FrozenSide> {
        let lists = |group: u32| self.group(table, projection, GroupId(group), side);
        (0..groups).into_par_iter().map(lists).collect()
    }

    fn group(
        &self,
        table: &GroupTable,
        projection: &Projection,
        group: GroupId,
        side: Direction,
    ) -> Result<Box<[FrozenList]>> {
        let labels = projection.labels.as_deref();
        let group = table.get(group);
        let Some(group) = group.filter(|group| labels.is_none_or(|all| all.contains(&group.label))) else {
            return Ok(Box::default());
        };
        let edges = group.edges();
        let mut lists = Vec::with_capacity(1);
        for edge in edges.iter().filter(|edge| edge.subject.side() == side) {
            let wanted = projection.types.as_deref();
            if wanted.is_some_and(|types| !types.contains(&edge.subject.edge_type())) {
                continue;
            }
            let version = edge.segment.load();
            let layer = version.layer_at(self.timestamp);
            let list = self.list(layer, group, edge.subject)?;
            if list.edge_count() > 0 {
                lists.push(list);
            }
            for hub in layer.hubs.iter() {
                let version = hub.segment.load();
                lists.push(self.list(version.layer_at(self.timestamp), group, edge.subject)?);
            }
        }
        Ok(lists.into())
    }

    /// The in side of `out`, with the weights of the out side, which alone knows properties.
    pub(super) fn transposed(&self, out: &[Box<[FrozenList]>], groups: u32) -> Result<FrozenSide> {
        let total: u64 = out.iter().flatten().map(FrozenList::edge_count).sum();
        let bytes = total * 12 + u64::from(groups) * u64::from(GROUP_SIZE) * 4;
        self.reservations.lock().push(self.budget.reserve("the in side, turned from the out side", bytes)?);
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
        let weighted = self.weight.is_some();
        let mut sides: Vec<(Vec<u32>, Vec<f64>)> = Vec::with_capacity(groups as usize);
        let mut next = vec![0u32; degrees.len()];
        for (group, own) in degrees.chunks(GROUP_SIZE as usize).enumerate() {
            let mut start = 0;
            for (row, degree) in own.iter().enumerate() {
                next[group * GROUP_SIZE as usize + row] = start;
                start += degree;
            }
            sides.push((vec![0; start as usize], vec![0.0; if weighted { start as usize } else { 0 }]));
        }
        each_piece(&mut |vertex, piece| {
            for (at, to) in piece.neighbors.iter().enumerate() {
                let place = &mut next[*to as usize];
                let (neighbors, weights) = &mut sides[VertexId(*to).group().0 as usize];
                neighbors[*place as usize] = vertex;
                if weighted {
                    weights[*place as usize] = piece.weights[at];
                }
                *place += 1;
            }
        });
        let lists = sides.into_iter().zip(degrees.chunks(GROUP_SIZE as usize));
        let list = |((neighbors, weights), degrees): ((Vec<u32>, Vec<f64>), &[u32])| {
            let body = EdgeBody::new(degrees, neighbors.into(), Box::default(), Vec::new());
            let weights = if weighted { Weights::Own(weights.into()) } else { Weights::None };
            Box::from([FrozenList { body: Arc::new(body), weights, fresh: None }])
        };
        Ok(lists.map(list).collect())
    }
}
