//! Copied lists: a part of a view that can't be frozen, as a static array.
//!
//! A transaction sees its own writes, and a query what its strategies leave: neither can be frozen. Kernels read a copy
//! of what such a view answers.
//!
//! Cost: one look at each vertex and edge in scope. Memory: 48 bytes an edge, 80 with weights, and 16 a
//! vertex id, reserved as long as the copy is there.

use crate::control::Control;
use crate::csr::StaticCsr;
use crate::scope::Scope;
use crate::scoped_view::ScopedView;
use crate::selection::select;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Weight;
use evergraph_graph::view::GraphView;
use std::ops::ControlFlow;

/// The lists of a part of a view.
pub struct CopiedLists {
    /// The lists.
    pub lists: StaticCsr,
    /// Their memory.
    pub reserved: Vec<Reservation>,
}

/// What an edge takes while it is gathered and both sides are made of it.
const EDGE_BYTES: usize = 48;

/// The same of an edge with a weight.
const WEIGHTED_EDGE_BYTES: usize = 80;

/// What a vertex id takes: its place in the list of those chosen, and an offset on each side, all while the sides are made.
const VERTEX_BYTES: usize = 16;

/// Edges for which memory is reserved at once.
const EDGES_STEP: usize = 16 * 1024;

/// Vertices whose edges are asked for in one call.
const BATCH: usize = 4096;

impl Scope {
    /// Copies this part of `view` with the sides that `direction` names and, if wanted, weights.
    ///
    /// # Errors
    /// `invalid` for an edge whose weight is missing, negative or no number; `limit` if the budget of `control` refuses;
    /// `cancelled`; what reading may meet.
    pub fn copy<V: GraphView + ?Sized>(
        &self,
        view: &V,
        direction: Direction,
        weight: Option<&Weight>,
        control: &Control<'_>,
    ) -> Result<CopiedLists> {
        let chosen = select(view, self.labels.as_deref(), &self.vertex_filters, control)?;
        let mut live = ScopedView::new(view, self, weight, control);
        let (mut pairs, mut weights, mut reserved) = (Vec::new(), Vec::new(), Vec::new());
        let edge_bytes = if weight.is_some() { WEIGHTED_EDGE_BYTES } else { EDGE_BYTES };
        let vertices_reserved = control.reserve("copied vertices", chosen.vertices.bound(), VERTEX_BYTES)?;
        let ids: Vec<u32> = chosen.vertices.iter().collect();
        for vertices in ids.chunks(BATCH) {
            live.hops(Direction::Out, vertices, |hop| {
                if pairs.len() == reserved.len() * EDGES_STEP {
                    reserved.push(control.reserve("copied edges", EDGES_STEP as u32, edge_bytes)?);
                }
                pairs.push((hop.from, hop.to));
                if weight.is_some() {
                    weights.push(hop.weight);
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        control.check()?;
        let weights = weight.is_some().then_some(weights.as_slice());
        let lists = StaticCsr::new(chosen.vertices, &pairs, weights, direction)?;
        control.check()?;
        reserved.push(vertices_reserved);
        Ok(CopiedLists { lists, reserved })
    }
}
