//! Copied lists: a part of a view that can't be frozen, as a static array.
//!
//! A transaction sees its own writes, and a query what its strategies leave: neither can be frozen. Kernels read a copy
//! of what such a view answers.
//!
//! Cost: one look at each vertex and edge in scope. Memory: 48 bytes an edge, reserved as long as the copy is there.

use crate::control::Control;
use crate::csr::StaticCsr;
use crate::live::Live;
use crate::scope::Scope;
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
        let mut live = Live::new(view, self, weight, control);
        let (mut pairs, mut weights, mut reserved) = (Vec::new(), Vec::new(), Vec::new());
        let ids: Vec<u32> = chosen.vertices.iter().collect();
        for vertices in ids.chunks(BATCH) {
            live.hops(Direction::Out, vertices, |hop| {
                if pairs.len() == reserved.len() * EDGES_STEP {
                    reserved.push(control.reserve("copied edges", EDGES_STEP as u32, EDGE_BYTES)?);
                }
                pairs.push((hop.from, hop.to));
                if weight.is_some() {
                    weights.push(hop.weight);
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        let weights = weight.is_some().then_some(weights.as_slice());
        let lists = StaticCsr::new(chosen.vertices, &pairs, weights, direction)?;
        Ok(CopiedLists { lists, reserved })
    }
}
