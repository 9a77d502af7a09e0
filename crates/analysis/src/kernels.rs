//! Kernels: those that programs call with parameters of their own, compiled here for [`Lists`].
//!
//! A function here is the kernel of its name in `evergraph-algorithms`, with the same answers, costs and errors. It is
//! never inlined: a caller that inlined it would compile the kernel again.

use crate::lists::Lists;
use evergraph_algorithms::betweenness::{self, Betweenness, BetweennessParameters};
use evergraph_algorithms::bfs::{self, Bfs, BfsParameters};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::csr::StaticCsr;
use evergraph_algorithms::flow_rings::{self, FlowRing, FlowRingParameters};
use evergraph_algorithms::kernels::Kernels;
use evergraph_algorithms::pagerank::{self, PageRank, PageRankParameters};
use evergraph_algorithms::peer_pressure::{self, PeerPressure, PeerPressureParameters};
use evergraph_algorithms::sssp::{self, Sssp, SsspParameters};
use evergraph_algorithms::triangles::{self, Triangles};
use evergraph_algorithms::wcc::{self, Wcc, WccParameters};
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use std::sync::Arc;

/// PageRank.
///
/// # Errors
/// Those of [`pagerank::pagerank`].
#[inline(never)]
pub fn pagerank(lists: &Lists, parameters: &PageRankParameters, control: &Control<'_>) -> Result<PageRank> {
    pagerank::pagerank(lists, parameters, control)
}

/// Clusters by vote.
///
/// # Errors
/// Those of [`peer_pressure::peer_pressure`].
#[inline(never)]
pub fn peer_pressure(
    lists: &Lists,
    parameters: &PeerPressureParameters,
    control: &Control<'_>,
) -> Result<PeerPressure> {
    peer_pressure::peer_pressure(lists, parameters, control)
}

/// Weakly connected components.
///
/// # Errors
/// Those of [`wcc::wcc`].
#[inline(never)]
pub fn wcc(lists: &Lists, parameters: &WccParameters, control: &Control<'_>) -> Result<Wcc> {
    wcc::wcc(lists, parameters, control)
}

/// Breadth-first search.
///
/// # Errors
/// Those of [`bfs::bfs`].
#[inline(never)]
pub fn bfs(
    lists: &Lists,
    source: VertexId,
    parameters: &BfsParameters,
    control: &Control<'_>,
) -> Result<Bfs> {
    bfs::bfs(lists, source, parameters, control)
}

/// Shortest paths by weight.
///
/// # Errors
/// Those of [`sssp::sssp`].
#[inline(never)]
pub fn sssp(
    lists: &Lists,
    source: VertexId,
    parameters: &SsspParameters,
    control: &Control<'_>,
) -> Result<Sssp> {
    sssp::sssp(lists, source, parameters, control)
}

/// Betweenness.
///
/// # Errors
/// Those of [`betweenness::betweenness`].
#[inline(never)]
pub fn betweenness(
    lists: &Lists,
    parameters: &BetweennessParameters,
    control: &Control<'_>,
) -> Result<Betweenness> {
    betweenness::betweenness(lists, parameters, control)
}

/// Triangles.
///
/// # Errors
/// Those of [`triangles::triangles`].
#[inline(never)]
pub fn triangles(lists: &Lists, control: &Control<'_>) -> Result<Triangles> {
    triangles::triangles(lists, control)
}

/// Rings along which an amount is passed on: `amounts` and `times` are the same lists with two weights.
///
/// # Errors
/// Those of [`flow_rings::flow_rings`].
#[inline(never)]
pub fn flow_rings(
    amounts: &Lists,
    times: &Lists,
    parameters: &FlowRingParameters,
    control: &Control<'_>,
) -> Result<Vec<FlowRing>> {
    flow_rings::flow_rings(amounts, times, parameters, control)
}

/// The kernels that are compiled here, for a query.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompiledKernels;

impl Kernels for CompiledKernels {
    fn pagerank(
        &self,
        lists: &Arc<StaticCsr>,
        parameters: &PageRankParameters,
        control: &Control<'_>,
    ) -> Result<PageRank> {
        pagerank(&Lists::from(Arc::clone(lists)), parameters, control)
    }

    fn peer_pressure(
        &self,
        lists: &Arc<StaticCsr>,
        parameters: &PeerPressureParameters,
        control: &Control<'_>,
    ) -> Result<PeerPressure> {
        peer_pressure(&Lists::from(Arc::clone(lists)), parameters, control)
    }

    fn wcc(&self, lists: &Arc<StaticCsr>, parameters: &WccParameters, control: &Control<'_>) -> Result<Wcc> {
        wcc(&Lists::from(Arc::clone(lists)), parameters, control)
    }

    fn bfs(
        &self,
        lists: &Arc<StaticCsr>,
        source: VertexId,
        parameters: &BfsParameters,
        control: &Control<'_>,
    ) -> Result<Bfs> {
        bfs(&Lists::from(Arc::clone(lists)), source, parameters, control)
    }

    fn sssp(
        &self,
        lists: &Arc<StaticCsr>,
        source: VertexId,
        parameters: &SsspParameters,
        control: &Control<'_>,
    ) -> Result<Sssp> {
        sssp(&Lists::from(Arc::clone(lists)), source, parameters, control)
    }
}
