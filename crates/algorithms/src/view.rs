//! A view for tests that can only be frozen; it remembers which projection was requested.

use crate::csr::StaticCsr;
use crate::graphs::Graph;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::Projection;
use evergraph_graph::value::Value;
use evergraph_graph::view::{Freeze, GraphView, NeighborBatch, NeighborCursor, Statistics, VertexCursor};
use std::sync::{Arc, Mutex};

/// A graph behind the contract of a view.
pub(crate) struct FrozenOnly {
    graph: Graph,
    budget: Limit,
    asked: Mutex<Vec<Projection>>,
}

/// Grants single reservations up to a number of bytes.
pub(crate) struct Limit(pub(crate) u64);

impl Budget for Limit {
    fn reserve(&self, purpose: &str, bytes: u64) -> Result<Reservation> {
        if bytes <= self.0 {
            return Ok(Reservation::new(bytes, |_| ()));
        }
        Err(Error::new(ErrorKind::Limit, format!("{purpose}: {bytes} bytes, but {} are left", self.0)))
    }
}

impl FrozenOnly {
    pub(crate) fn new(graph: Graph, bytes: u64) -> Self {
        Self { graph, budget: Limit(bytes), asked: Mutex::default() }
    }

    /// The only projection that was asked for.
    pub(crate) fn asked(&self) -> Projection {
        let asked = self.asked.lock().unwrap();
        assert_eq!(asked.len(), 1);
        asked[0].clone()
    }
}

impl Freeze for FrozenOnly {
    type Topology = StaticCsr;

    fn freeze_cancellable(&self, projection: &Projection, cancel: &CancelFlag) -> Result<StaticCsr> {
        cancel.check()?;
        self.asked.lock().unwrap().push(projection.clone());
        let weights = projection.weight.is_some().then_some(&self.graph.weights[..]);
        StaticCsr::new(self.graph.vertices.clone(), &self.graph.edges, weights, projection.direction)
    }

    fn budget(&self) -> &dyn Budget {
        &self.budget
    }
}

fn not_asked<A>() -> Result<A> {
    Err(Error::invalid("algorithms read a view only through its topology"))
}

impl GraphView for FrozenOnly {
    fn timestamp(&self) -> Timestamp {
        Timestamp::default()
    }
    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::default()
    }
    fn scan_vertices(
        &self,
        _: Option<&[LabelId]>,
        _: &mut VertexCursor,
        _: usize,
        _: &mut Vec<VertexId>,
    ) -> Result<()> {
        not_asked()
    }
    fn labels(&self, _: &[VertexId], _: &mut Vec<Option<LabelId>>) -> Result<()> {
        not_asked()
    }
    fn neighbors(
        &self,
        _: &[VertexId],
        _: Option<&[TypeId]>,
        _: Direction,
        _: &mut NeighborCursor,
        _: usize,
        _: &mut NeighborBatch,
    ) -> Result<()> {
        not_asked()
    }
    fn degrees(&self, _: &[VertexId], _: Option<&[TypeId]>, _: Direction, _: &mut Vec<u64>) -> Result<()> {
        not_asked()
    }
    fn count_edges_between(&self, _: &[(VertexId, VertexId)], _: TypeId, _: &mut Vec<u32>) -> Result<()> {
        not_asked()
    }
    fn has_edges(&self, _: &[EdgeId], _: &mut Vec<bool>) -> Result<()> {
        not_asked()
    }
    fn vertex_properties(&self, _: &[VertexId], _: KeyId, _: &mut Column) -> Result<()> {
        not_asked()
    }
    fn vertex_property_map(&self, _: VertexId) -> Result<Vec<(KeyId, Value)>> {
        not_asked()
    }
    fn edge_properties(&self, _: &[EdgeId], _: KeyId, _: &mut Column) -> Result<()> {
        not_asked()
    }
    fn edge_property_map(&self, _: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        not_asked()
    }
    fn look_up(&self, _: LabelId, _: KeyId, _: &[Value], _: &mut Vec<Option<VertexId>>) -> Result<()> {
        not_asked()
    }
    fn statistics(&self) -> Result<Statistics> {
        not_asked()
    }
}
