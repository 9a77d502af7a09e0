//! Kernels: algorithms on a static array, called without being compiled by the caller.
//!
//! ```text
//! a query ── gathers ──> StaticCsr ──┐
//!     └──────── &dyn Kernels ────────┴──> answer        compiled once, in the crate that implements this
//! ```
//!
//! Kernels are generic over the lists that they read. A crate that called them by itself would compile a copy of each.

use crate::bfs::{Bfs, BfsParameters};
use crate::control::Control;
use crate::csr::StaticCsr;
use crate::pagerank::{PageRank, PageRankParameters};
use crate::peer_pressure::{PeerPressure, PeerPressureParameters};
use crate::sssp::{Sssp, SsspParameters};
use crate::wcc::{Wcc, WccParameters};
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use std::sync::Arc;

/// Algorithms on a static array.
///
/// # Errors
/// All methods: `invalid` for a parameter out of range or a side that the array lacks; `limit` if the state doesn't
/// fit into the budget of `control`; `cancelled`.
pub trait Kernels: Send + Sync {
    /// [`pagerank`](crate::pagerank::pagerank): needs both sides.
    fn pagerank(
        &self,
        lists: &Arc<StaticCsr>,
        parameters: &PageRankParameters,
        control: &Control<'_>,
    ) -> Result<PageRank>;

    /// [`peer_pressure`](crate::peer_pressure::peer_pressure): needs the lists against the direction.
    fn peer_pressure(
        &self,
        lists: &Arc<StaticCsr>,
        parameters: &PeerPressureParameters,
        control: &Control<'_>,
    ) -> Result<PeerPressure>;

    /// [`wcc`](crate::wcc::wcc): either side will do.
    fn wcc(&self, lists: &Arc<StaticCsr>, parameters: &WccParameters, control: &Control<'_>) -> Result<Wcc>;

    /// [`bfs`](crate::bfs::bfs): needs the lists along the direction, and is faster with both sides.
    ///
    /// # Errors
    /// `not_found` if there is no vertex `source`.
    fn bfs(
        &self,
        lists: &Arc<StaticCsr>,
        source: VertexId,
        parameters: &BfsParameters,
        control: &Control<'_>,
    ) -> Result<Bfs>;

    /// [`sssp`](crate::sssp::sssp): needs the lists along the direction; every edge counts 1 without weights.
    ///
    /// # Errors
    /// `not_found` if there is no vertex `source`.
    fn sssp(
        &self,
        lists: &Arc<StaticCsr>,
        source: VertexId,
        parameters: &SsspParameters,
        control: &Control<'_>,
    ) -> Result<Sssp>;
}
