//! Table: all algorithms, by group and in the order of help and guide.

use crate::algorithm::Algorithm;
use crate::entries::communities::{cdlp, kcore, lcc, leiden, louvain, triangles};
use crate::entries::rank::{betweenness, closeness, eigenvector, pagerank, personalized_pagerank};
use crate::entries::structure::{cycles, flow_rings, scc, topological_order, wcc};
use crate::entries::ways::{bfs, k_hop, shortest_path, sssp};

/// All algorithms.
pub static ALGORITHMS: [&Algorithm; 20] = [
    &pagerank::PAGERANK,
    &personalized_pagerank::PERSONALIZED_PAGERANK,
    &betweenness::BETWEENNESS,
    &closeness::CLOSENESS,
    &eigenvector::EIGENVECTOR,
    &bfs::BFS,
    &sssp::SSSP,
    &shortest_path::SHORTEST_PATH,
    &k_hop::K_HOP,
    &wcc::WCC,
    &scc::SCC,
    &cycles::CYCLES,
    &flow_rings::FLOW_RINGS,
    &topological_order::TOPOLOGICAL_ORDER,
    &cdlp::CDLP,
    &louvain::LOUVAIN,
    &leiden::LEIDEN,
    &kcore::KCORE,
    &triangles::TRIANGLES,
    &lcc::LCC,
];

/// The algorithm called `name`, with underscores or hyphens.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Algorithm> {
    let name = name.replace('-', "_");
    ALGORITHMS.into_iter().find(|algorithm| algorithm.name == name)
}
