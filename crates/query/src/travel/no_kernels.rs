//! No kernels: programs that travel compute no algorithms.

use evergraph_algorithms::bfs::{Bfs, BfsParameters};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::csr::StaticCsr;
use evergraph_algorithms::kernels::Kernels;
use evergraph_algorithms::pagerank::{PageRank, PageRankParameters};
use evergraph_algorithms::peer_pressure::{PeerPressure, PeerPressureParameters};
use evergraph_algorithms::sssp::{Sssp, SsspParameters};
use evergraph_algorithms::wcc::{Wcc, WccParameters};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::VertexId;
use std::sync::Arc;

/// Refuses every algorithm.
#[derive(Clone, Copy, Debug)]
pub struct NoKernels;

fn refused<T>() -> Result<T> {
    Err(Error::invalid("a part of a query that runs on another node computes no algorithms"))
}

impl Kernels for NoKernels {
    fn pagerank(&self, _: &Arc<StaticCsr>, _: &PageRankParameters, _: &Control<'_>) -> Result<PageRank> {
        refused()
    }

    fn peer_pressure(
        &self,
        _: &Arc<StaticCsr>,
        _: &PeerPressureParameters,
        _: &Control<'_>,
    ) -> Result<PeerPressure> {
        refused()
    }

    fn wcc(&self, _: &Arc<StaticCsr>, _: &WccParameters, _: &Control<'_>) -> Result<Wcc> {
        refused()
    }

    fn bfs(&self, _: &Arc<StaticCsr>, _: VertexId, _: &BfsParameters, _: &Control<'_>) -> Result<Bfs> {
        refused()
    }

    fn sssp(&self, _: &Arc<StaticCsr>, _: VertexId, _: &SsspParameters, _: &Control<'_>) -> Result<Sssp> {
        refused()
    }
}
