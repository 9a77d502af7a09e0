//! Algorithms within a query: `pageRank()`, `peerPressure()`, `connectedComponent()`, `shortestPath()`.

use crate::plan::operator::{By, Name, Operator, Traversal};

/// The key by which later steps ask for what `pageRank()` computed, unless the query says another.
pub const PAGE_RANK_PROPERTY: &str = "gremlin.pageRankVertexProgram.pageRank";
/// The same of `peerPressure()`.
pub const PEER_PRESSURE_PROPERTY: &str = "gremlin.peerPressureVertexProgram.cluster";
/// The same of `connectedComponent()`.
pub const COMPONENT_PROPERTY: &str = "gremlin.connectedComponentVertexProgram.component";

/// The part of the graph that an algorithm sees.
#[derive(Clone, PartialEq, Debug)]
pub struct Selection {
    /// Gives the vertices, from nothing.
    pub vertices: Traversal,
    /// Gives the edges to go over, from each of them.
    pub edges: Traversal,
}

/// Computes something of every vertex, once all traversers are there; they go on as they came.
#[derive(Clone, PartialEq, Debug)]
pub struct Analysis {
    /// What is computed.
    pub program: Program,
    /// Of which part of the graph.
    pub selection: Selection,
    /// The key by which later steps ask for it.
    pub property: Name,
    /// Whether each vertex begins with as much as there are traversers at it; all begin alike if not.
    pub from_traversers: bool,
}

/// What is computed of every vertex.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Program {
    /// How much of a random walk's time it gets.
    PageRank {
        /// The probability of following an edge rather than jumping anywhere.
        damping: f64,
        /// Rounds, at most.
        times: u32,
    },
    /// The cluster that it is voted into.
    PeerPressure {
        /// Rounds, at most.
        times: u32,
    },
    /// The component that it is in.
    ConnectedComponent,
}

impl Program {
    /// The step that asks for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PageRank { .. } => "pageRank",
            Self::PeerPressure { .. } => "peerPressure",
            Self::ConnectedComponent => "connectedComponent",
        }
    }
}

impl Traversal {
    /// The keys of what algorithms compute in it. They stand in no traversal within another.
    #[must_use]
    pub fn computed(&self) -> Vec<Name> {
        let property = |operator: &Operator| match operator {
            Operator::Analysis(analysis) => Some(Name::clone(&analysis.property)),
            _ => None,
        };
        self.operators.iter().filter_map(property).collect()
    }
}

/// All shortest paths from each traverser's vertex.
#[derive(Clone, PartialEq, Debug)]
pub struct ShortestPaths {
    /// Through which part of the graph.
    pub selection: Selection,
    /// Paths end at the vertices of which this gives something; at any if it has no operator.
    pub target: Traversal,
    /// How long an edge is; 1 if nothing is said.
    pub distance: Option<By>,
    /// Longer paths are left out.
    pub distance_max: Option<f64>,
    /// Whether edges are in the paths too.
    pub includes_edges: bool,
}
