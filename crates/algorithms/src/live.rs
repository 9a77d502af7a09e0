//! Live lists: neighbours read from a view without freezing, for searches too small to freeze for.
//!
//! ```text
//! vertices ──neighbors──> a batch ──edge filters, weights──> who is in scope? ──> hops to the visitor
//!                                                            asked once a vertex
//! ```
//!
//! A path between two vertices touches a few thousand edges; freezing looks at every segment of the
//! graph. So local searches ask the view itself, in batches, and pay for what they visit alone: any
//! number of them can run on a database that is being written to.

use crate::control::Control;
use crate::reached::Reached;
use crate::scope::Scope;
use crate::selection::retain;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, VertexId};
use evergraph_graph::topology::Weight;
use evergraph_graph::value::ValueType;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor};
use std::ops::ControlFlow;

/// Neighbours asked for at once: a search that ends inside a hub has read no more than this in vain.
const BATCH: usize = 1024;

/// One step from a vertex to a neighbour.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Hop {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// The edge, in its own direction.
    pub(crate) edge: EdgeId,
    /// Its weight, not negative; 1 without weights.
    pub(crate) weight: f64,
}

/// A view's lists in a scope.
pub(crate) struct Live<'a, V: ?Sized> {
    view: &'a V,
    scope: &'a Scope,
    weight: Option<&'a Weight>,
    control: &'a Control<'a>,
    /// Whether the vertices met are in scope; not kept where all are.
    met: Reached<'a, bool>,
    batch: NeighborBatch,
    degrees: Vec<u64>,
}

impl<'a, V: GraphView + ?Sized> Live<'a, V> {
    /// The part of `view` in `scope`, with weights if there is a `weight`.
    pub(crate) fn new(
        view: &'a V,
        scope: &'a Scope,
        weight: Option<&'a Weight>,
        control: &'a Control<'a>,
    ) -> Self {
        let met = Reached::new(control, "vertices in or out of scope", 0);
        Self { view, scope, weight, control, met, batch: NeighborBatch::default(), degrees: Vec::new() }
    }

    /// The number of `vertex`, if it is in scope; `role` is what it is to the search.
    ///
    /// # Errors
    /// `not_found` if it isn't; errors of reading.
    pub(crate) fn member(&mut self, vertex: VertexId, role: &str) -> Result<u32> {
        let mut labels = Vec::with_capacity(1);
        self.view.labels(&[vertex], &mut labels)?;
        let why = match labels[0] {
            None => "isn't in the graph",
            Some(_) if !self.all_in_scope(&[vertex])? => "isn't in scope: its label or properties exclude it",
            Some(_) => return Ok(vertex.0),
        };
        Err(Error::new(ErrorKind::NotFound, format!("{role} {vertex} {why}")))
    }

    /// Edges in `direction` of `vertices`, those out of scope included: what visiting them costs.
    ///
    /// # Errors
    /// Errors of reading.
    pub(crate) fn edges_of(&mut self, direction: Direction, vertices: &[u32]) -> Result<u64> {
        let ids: Vec<VertexId> = vertices.iter().copied().map(VertexId).collect();
        self.degrees.clear();
        self.view.degrees(&ids, self.scope.types.as_deref(), direction, &mut self.degrees)?;
        Ok(self.degrees.iter().sum())
    }

    /// Calls `visitor` with every hop from `vertices` within the scope, a vertex after the other in
    /// the view's order, until it breaks.
    ///
    /// # Errors
    /// `invalid` for an edge that was met whose weight is missing, negative or no number; `limit`;
    /// `cancelled`; errors of reading, and those of `visitor`.
    pub(crate) fn hops(
        &mut self,
        direction: Direction,
        vertices: &[u32],
        mut visitor: impl FnMut(&Hop) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let ids: Vec<VertexId> = vertices.iter().copied().map(VertexId).collect();
        let types = self.scope.types.as_deref();
        let mut cursor = NeighborCursor::default();
        while !cursor.done {
            self.control.check()?;
            let mut batch = std::mem::take(&mut self.batch);
            batch.clear();
            self.view.neighbors(&ids, types, direction, &mut cursor, BATCH, &mut batch)?;
            self.leave_out(&mut batch)?;
            let weights = self.weights(&batch)?;
            for (at, row) in batch.rows.iter().enumerate() {
                let weight =
                    weights.as_ref().map_or(Ok(1.0), |weights| self.weight_at(weights, at, &batch))?;
                let (from, to) = (vertices[*row as usize], batch.neighbors[at].0);
                if visitor(&Hop { from, to, edge: batch.edges[at], weight })?.is_break() {
                    cursor.done = true;
                    break;
                }
            }
            self.batch = batch;
        }
        Ok(())
    }

    /// Leaves out what isn't in scope.
    fn leave_out(&mut self, batch: &mut NeighborBatch) -> Result<()> {
        for filter in &self.scope.edge_filters {
            let mut column = Column::new(ValueType::Any);
            self.view.edge_properties(&batch.edges, filter.key, &mut column)?;
            keep(batch, |at| filter.holds(column.get(at).as_ref()));
        }
        if !self.all_in_scope(&batch.neighbors)? {
            let of = |vertex: VertexId| self.met.get(vertex.0) == Some(&true);
            let keeps: Vec<bool> = batch.neighbors.iter().map(|vertex| of(*vertex)).collect();
            keep(batch, |at| keeps[at]);
        }
        Ok(())
    }

    /// Whether all of `vertices` are in scope; if not, `met` knows of each.
    fn all_in_scope(&mut self, vertices: &[VertexId]) -> Result<bool> {
        let Scope { labels, vertex_filters, .. } = self.scope;
        if labels.is_none() && vertex_filters.is_empty() {
            return Ok(true);
        }
        let mut news: Vec<VertexId> =
            vertices.iter().copied().filter(|vertex| self.met.get(vertex.0).is_none()).collect();
        news.sort_unstable();
        news.dedup();
        news.iter().try_for_each(|vertex| self.met.insert(vertex.0, false))?;
        if let Some(wanted) = labels {
            let mut found = Vec::with_capacity(news.len());
            self.view.labels(&news, &mut found)?;
            let mut found = found.into_iter();
            news.retain(|_| found.next().flatten().is_some_and(|label| wanted.contains(&label)));
        }
        retain(self.view, vertex_filters, &mut news)?;
        news.iter().try_for_each(|vertex| self.met.insert(vertex.0, true))?;
        Ok(vertices.iter().all(|vertex| self.met.get(vertex.0) == Some(&true)))
    }

    fn weights(&self, batch: &NeighborBatch) -> Result<Option<Column>> {
        let Some(weight) = self.weight else { return Ok(None) };
        let mut column = Column::new(ValueType::F64);
        self.view.edge_properties(&batch.edges, weight.key, &mut column)?;
        Ok(Some(column))
    }

    fn weight_at(&self, weights: &Column, at: usize, batch: &NeighborBatch) -> Result<f64> {
        let weight = self.weight.expect("weights were read because one is named");
        let number = match weights.get(at) {
            None => weight.missing.ok_or("has no value"),
            Some(value) => value.as_f64().ok_or("has no number"),
        };
        let number = number.and_then(|number| match number {
            number if number.is_nan() => Err("has NaN"),
            number if number < 0.0 => Err("has a negative number"),
            number => Ok(number),
        });
        number.map_err(|why| {
            let (edge, catalogue) = (batch.edges[at], self.view.catalogue());
            Error::invalid(format!(
                "the edge {} from {} to {} {why} as its weight `{}`",
                catalogue.edge_type_name(edge.edge_type),
                edge.source,
                edge.target,
                catalogue.key_name(weight.key)
            ))
        })
    }
}

/// Keeps the entries of `batch` at which `keeps` says so.
fn keep(batch: &mut NeighborBatch, keeps: impl Fn(usize) -> bool) {
    fn filter<T>(entries: &mut Vec<T>, keeps: &impl Fn(usize) -> bool) {
        let mut at = 0;
        entries.retain(|_| {
            at += 1;
            keeps(at - 1)
        });
    }
    filter(&mut batch.rows, &keeps);
    filter(&mut batch.neighbors, &keeps);
    filter(&mut batch.edges, &keeps);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::Graph;
    use crate::walkable::{AGE, LABELS, WEIGHT, Walkable};
    use evergraph_graph::filter::{Comparison, Condition, Filter};
    use evergraph_graph::id::TypeId;

    fn hops(view: &Walkable, scope: &Scope, direction: Direction, vertices: &[u32]) -> Vec<(u32, u32)> {
        let control = Control::default();
        let mut found = Vec::new();
        let mut live = Live::new(view, scope, None, &control);
        live.hops(direction, vertices, |hop| {
            found.push((hop.from, hop.to));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        found
    }

    fn square() -> Walkable {
        Walkable::new(Graph::new(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)]))
    }

    #[test]
    fn hops_come_a_vertex_after_the_other_and_both_ways_if_asked() {
        let all = Scope::default();
        assert_eq!(hops(&square(), &all, Direction::Out, &[0, 1]), [(0, 1), (0, 2), (1, 3)]);
        assert_eq!(hops(&square(), &all, Direction::In, &[3]), [(3, 1), (3, 2)]);
        assert_eq!(hops(&square(), &all, Direction::Both, &[0]), [(0, 1), (0, 2), (0, 3)]);
        let (control, view) = (Control::default(), square());
        let mut live = Live::new(&view, &all, None, &control);
        assert_eq!(live.edges_of(Direction::Both, &[0, 1]).unwrap(), 5);
        let mut count = 0;
        live.hops(Direction::Out, &[0, 1], |_| {
            count += 1;
            Ok(ControlFlow::Break(()))
        })
        .unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn what_labels_types_and_properties_leave_out_is_not_visited() {
        // Walkable: label by number modulo 2, age ten times the number, all edges of type 0.
        let odd = Scope { labels: Some(vec![LABELS[1]]), ..Scope::default() };
        assert_eq!(hops(&square(), &odd, Direction::Out, &[1, 3]), [(1, 3)]);
        let none = Scope { types: Some(vec![TypeId(7)]), ..Scope::default() };
        assert_eq!(hops(&square(), &none, Direction::Out, &[0]), []);
        let condition = Condition::Compare(Comparison::GreaterOrEqual, 20_i64.into());
        let old = Scope { vertex_filters: vec![Filter { key: AGE, condition }], ..Scope::default() };
        assert_eq!(hops(&square(), &old, Direction::Out, &[0, 2]), [(0, 2), (2, 3)]);
        let mut heavy = square();
        heavy.graph.weights = vec![1.0, 5.0, 1.0, 5.0, 1.0];
        let condition = Condition::Compare(Comparison::Greater, 2_i64.into());
        let heavy_scope = Scope { edge_filters: vec![Filter { key: WEIGHT, condition }], ..Scope::default() };
        assert_eq!(hops(&heavy, &heavy_scope, Direction::Both, &[0, 3]), [(0, 2), (3, 2)]);
    }

    #[test]
    fn a_vertex_out_of_scope_says_why() {
        let (view, control) = (square(), Control::default());
        let odd = Scope { labels: Some(vec![LABELS[1]]), ..Scope::default() };
        let mut live = Live::new(&view, &odd, None, &control);
        assert_eq!(live.member(VertexId(3), "source").unwrap(), 3);
        let text = |vertex, live: &mut Live<'_, _>| live.member(vertex, "source").unwrap_err().to_string();
        assert!(text(VertexId(2), &mut live).starts_with("source v2 isn't in scope"));
        assert!(text(VertexId(9), &mut live).starts_with("source v9 isn't in the graph"));
    }

    #[test]
    fn a_bad_weight_names_its_edge() {
        let control = Control::default();
        let (all, weight) = (Scope::default(), Weight { key: WEIGHT, missing: None });
        for (bad, why) in [(-1.0, "a negative number"), (f64::NAN, "NaN")] {
            let mut view = square();
            view.graph.weights[4] = bad;
            let mut live = Live::new(&view, &all, Some(&weight), &control);
            let error = live.hops(Direction::In, &[0], |_| Ok(ControlFlow::Continue(()))).unwrap_err();
            let want = format!("the edge LINK from v3 to v0 has {why} as its weight `weight`");
            assert_eq!(error.to_string(), want);
        }
    }
}
