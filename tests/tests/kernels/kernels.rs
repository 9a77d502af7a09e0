//! Every kernel on a topology, and its answer as text, with all digits.

use evergraph_algorithms::betweenness::{BetweennessParameters, betweenness};
use evergraph_algorithms::bfs::{BfsParameters, bfs};
use evergraph_algorithms::cdlp::{CdlpParameters, cdlp};
use evergraph_algorithms::closeness::{ClosenessParameters, closeness};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::cycles::{CyclesParameters, cycles};
use evergraph_algorithms::eigenvector::{EigenvectorParameters, eigenvector};
use evergraph_algorithms::kcore::kcore;
use evergraph_algorithms::lcc::{LccParameters, lcc};
use evergraph_algorithms::leiden::{LeidenParameters, leiden};
use evergraph_algorithms::louvain::{LouvainParameters, louvain};
use evergraph_algorithms::pagerank::{PageRankParameters, pagerank};
use evergraph_algorithms::peer_pressure::{PeerPressureParameters, peer_pressure};
use evergraph_algorithms::personalized_pagerank::{PersonalizedPageRankParameters, personalized_pagerank};
use evergraph_algorithms::scc::scc;
use evergraph_algorithms::sssp::{SsspParameters, sssp};
use evergraph_algorithms::topological_order::{TopologicalOrderParameters, topological_order};
use evergraph_algorithms::triangles::triangles;
use evergraph_algorithms::wcc::{WccParameters, wcc};
use evergraph_analysis::lists::Lists;
use evergraph_graph::budget::Budget;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::Topology as _;
use std::fmt::Debug;

/// What each kernel says, errors included, that can run on the sides that were frozen. Searches begin at the first vertex
/// in scope.
pub fn answers(lists: &Lists, budget: &dyn Budget) -> Vec<(&'static str, String)> {
    let control = Control::new(budget);
    let source = VertexId(lists.vertices().iter().next().unwrap_or(0));
    let direction = lists.direction();
    let mut found = Vec::new();
    let mut tell = |name, answer: Result<String>| {
        found.push((name, answer.unwrap_or_else(|error| format!("{:?}: {error}", error.kind()))));
    };
    fn text(answer: impl Debug) -> String {
        format!("{answer:?}")
    }
    let edges = lists.edge_count();
    tell("edges", Ok(text(edges)));
    let mut degrees = vec![0; lists.bound() as usize];
    tell("degrees", lists.degrees(direction, 0..lists.bound(), &mut degrees).map(|()| text(&degrees)));
    let one_way = if direction == Direction::Both { Direction::Out } else { direction };
    tell(
        "bfs",
        bfs(lists, source, &BfsParameters { direction: one_way, ..Default::default() }, &control)
            .map(|a| text(a.levels())),
    );
    tell(
        "sssp",
        sssp(lists, source, &SsspParameters { direction: one_way, ..Default::default() }, &control)
            .map(|a| text(a.distances)),
    );
    let parameters = PageRankParameters { direction: one_way, ..Default::default() };
    tell("pagerank", pagerank(lists, &parameters, &control).map(|a| text(a.scores)));
    tell("wcc", wcc(lists, &WccParameters::default(), &control).map(|a| text(a.labels.as_slice())));
    let parameters = EigenvectorParameters { direction: one_way, iterations: 5, ..Default::default() };
    tell("eigenvector", eigenvector(lists, &parameters, &control).map(|a| text(a.scores)));
    let parameters = PeerPressureParameters { direction: one_way, ..Default::default() };
    tell("peer_pressure", peer_pressure(lists, &parameters, &control).map(text));
    let parameters = PersonalizedPageRankParameters { direction: one_way, ..Default::default() };
    tell(
        "personalized_pagerank",
        personalized_pagerank(lists, &[source], &parameters, &control).map(|a| text(a.scores)),
    );
    let parameters = TopologicalOrderParameters { direction: one_way };
    tell("topological_order", topological_order(lists, &parameters, &control).map(text));
    let parameters = ClosenessParameters { direction: one_way, ..Default::default() };
    tell("closeness", closeness(lists, &parameters, &control).map(|a| text(a.scores)));
    if direction != Direction::Both {
        return found;
    }
    tell(
        "betweenness",
        betweenness(lists, &BetweennessParameters::default(), &control).map(|a| text(a.scores)),
    );
    tell("cdlp", cdlp(lists, &CdlpParameters::default(), &control).map(|a| text(a.labels())));
    tell("scc", scc(lists, &control).map(|a| text(a.labels.as_slice())));
    tell("kcore", kcore(lists, &control).map(|a| text(a.cores())));
    tell("triangles", triangles(lists, &control).map(|a| text(a.counts())));
    tell("lcc", lcc(lists, &LccParameters { directed: true }, &control).map(|a| text(a.coefficients)));
    let parameters = CyclesParameters { length_max: 4, limit: 100, ..Default::default() };
    tell("cycles", cycles(lists, &parameters, &control).map(text));
    tell(
        "louvain",
        louvain(lists, &LouvainParameters::default(), &control).map(|a| text(a.labels.as_slice())),
    );
    tell("leiden", leiden(lists, &LeidenParameters::default(), &control).map(|a| text(a.labels.as_slice())));
    found
}
