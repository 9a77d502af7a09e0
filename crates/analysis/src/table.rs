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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::Group;
    use crate::answer::{Answer, Figure};
    use crate::arguments::{Argument, Arguments};
    use crate::column::{ColumnKind, ColumnValues};
    use crate::graph::Graph;
    use crate::parameter::{DefaultValue, Kind};
    use evergraph_algorithms::{
        betweenness::BetweennessParameters, bfs::BfsParameters, cdlp::CdlpParameters,
        closeness::ClosenessParameters, cycles::CyclesParameters, eigenvector::EigenvectorParameters,
        flow_rings::FlowRingParameters, k_hop::KHopParameters, lcc::LccParameters, leiden::LeidenParameters,
        louvain::LouvainParameters, pagerank::PageRankParameters,
        personalized_pagerank::PersonalizedPageRankParameters, sssp::SsspParameters,
        topological_order::TopologicalOrderParameters,
    };
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::VertexId;
    use std::collections::BTreeSet;

    /// What can't be left out.
    fn required(algorithm: &Algorithm) -> Vec<(&'static str, Argument)> {
        let needed = algorithm.parameters.iter().filter(|one| one.default == DefaultValue::Required);
        let value = |kind| match kind {
            Kind::Vertex | Kind::Vertices => Argument::Vertex(VertexId(0)),
            Kind::EdgeProperty => Argument::Property("weight".to_owned()),
            Kind::Real(_) => Argument::Real(FlowRingParameters::default().pause_max),
            other => unreachable!("{other:?}"),
        };
        needed.map(|one| (one.name, value(one.kind))).collect()
    }

    fn defaults(algorithm: &'static Algorithm) -> Arguments {
        Arguments::new(algorithm.parameters, required(algorithm)).unwrap()
    }

    #[test]
    fn names_are_unique_and_groups_in_order() {
        let names: BTreeSet<&str> = ALGORITHMS.iter().map(|algorithm| algorithm.name).collect();
        assert_eq!(names.len(), ALGORITHMS.len());
        assert!(ALGORITHMS.iter().map(|algorithm| algorithm.group).is_sorted());
        let groups: BTreeSet<Group> = ALGORITHMS.iter().map(|algorithm| algorithm.group).collect();
        assert!(groups.into_iter().eq(Group::ALL));
        assert_eq!(by_name("k-hop").map(|algorithm| algorithm.name), Some("k_hop"));
        assert!(by_name("khop").is_none());
    }

    #[test]
    fn an_entry_says_everything_in_sentences() {
        for algorithm in ALGORITHMS {
            let name = algorithm.name;
            assert!(algorithm.summary.ends_with('.'), "{name}");
            assert!(algorithm.details.lines().all(|line| line.len() <= 100), "{name}");
            assert!(algorithm.example.contains(&format!(".eg {}", algorithm.command())), "{name}");
            let vertices = algorithm.columns.iter().filter(|column| column.kind == ColumnKind::Vertex);
            assert_eq!(vertices.count(), 1, "{name}");
            let directed = algorithm.parameters.iter().any(|parameter| parameter.name == "direction");
            assert_eq!(directed, algorithm.reads.without_direction().is_none(), "{name}");
            for parameter in algorithm.parameters {
                assert!(parameter.summary.ends_with('.'), "{name}: {}", parameter.name);
                let needed = |other| algorithm.parameters.iter().any(|one| one.name == other);
                assert!(parameter.needs.is_none_or(needed), "{name}: {}", parameter.name);
                let is_vertex = matches!(parameter.kind, Kind::Vertex);
                assert_eq!(
                    is_vertex,
                    parameter.summary.contains("this vertex"),
                    "{name}: {}",
                    parameter.name
                );
                assert_eq!(parameter.kind == Kind::Boolean, parameter.flag.is_some(), "{name}");
            }
        }
    }

    #[test]
    fn defaults_are_those_of_the_kernels() {
        use crate::entries::communities::{cdlp, lcc, leiden, louvain};
        use crate::entries::rank::{betweenness, closeness, eigenvector, pagerank, personalized_pagerank};
        use crate::entries::structure::{cycles, flow_rings, topological_order};
        use crate::entries::ways::{bfs, k_hop, sssp};
        assert_eq!(pagerank::parameters(&defaults(&pagerank::PAGERANK)), PageRankParameters::default());
        assert_eq!(
            personalized_pagerank::parameters(&defaults(&personalized_pagerank::PERSONALIZED_PAGERANK)),
            PersonalizedPageRankParameters::default()
        );
        assert_eq!(
            betweenness::parameters(&defaults(&betweenness::BETWEENNESS)),
            BetweennessParameters::default()
        );
        assert_eq!(closeness::parameters(&defaults(&closeness::CLOSENESS)), ClosenessParameters::default());
        assert_eq!(
            eigenvector::parameters(&defaults(&eigenvector::EIGENVECTOR)),
            EigenvectorParameters::default()
        );
        assert_eq!(bfs::parameters(&defaults(&bfs::BFS)), BfsParameters::default());
        assert_eq!(sssp::parameters(&defaults(&sssp::SSSP)), SsspParameters::default());
        assert_eq!(k_hop::parameters(&defaults(&k_hop::K_HOP)), KHopParameters::default());
        assert_eq!(cycles::parameters(&defaults(&cycles::CYCLES)), CyclesParameters::default());
        assert_eq!(flow_rings::parameters(&defaults(&flow_rings::FLOW_RINGS)), FlowRingParameters::default());
        assert_eq!(
            topological_order::parameters(&defaults(&topological_order::TOPOLOGICAL_ORDER)),
            TopologicalOrderParameters::default()
        );
        assert_eq!(cdlp::parameters(&defaults(&cdlp::CDLP)), CdlpParameters::default());
        assert_eq!(louvain::parameters(&defaults(&louvain::LOUVAIN)), LouvainParameters::default());
        assert_eq!(leiden::parameters(&defaults(&leiden::LEIDEN)), LeidenParameters::default());
        assert_eq!(lcc::parameters(&defaults(&lcc::LCC)), LccParameters::default());
    }

    /// A path has one target, which the table can't say.
    fn answer(graph: &Graph, algorithm: &'static Algorithm, given: &[(&'static str, Argument)]) -> Answer {
        let given = required(algorithm).into_iter().chain(given.iter().cloned());
        graph.run(algorithm, &Arguments::new(algorithm.parameters, given).unwrap()).unwrap()
    }

    #[test]
    fn every_algorithm_answers_as_its_entry_says() {
        // Two triangles with a bridge, all edges from low to high.
        let graph = Graph::new(7, &[(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)]);
        for algorithm in ALGORITHMS {
            let Answer { vertices, columns, figures, summary } = answer(&graph, algorithm, &[]);
            let kinds = algorithm.columns.iter().map(|column| column.kind);
            let kinds = kinds.filter(|kind| *kind != ColumnKind::Vertex);
            assert!(columns.iter().map(|column| column.kind()).eq(kinds), "{}", algorithm.name);
            assert!(columns.iter().all(|column| column.len() == vertices.len()), "{}", algorithm.name);
            assert!(figures.iter().map(|(name, _)| name).eq(algorithm.figures), "{}", algorithm.name);
            assert!(!summary.is_empty(), "{}", algorithm.name);
        }
    }

    #[test]
    fn answers_are_those_of_the_kernels_in_columns() {
        let graph = Graph::new(7, &[(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)]);
        let of = |name, given: &[(&'static str, Argument)]| answer(&graph, by_name(name).unwrap(), given);
        let values = |answer: &Answer| answer.columns[0].values.clone();
        for name in ["louvain", "leiden"] {
            let communities = of(name, &[]);
            assert_eq!(values(&communities), ColumnValues::U64(vec![0, 0, 0, 1, 1, 1, 2]), "{name}");
            assert_eq!(communities.figures[0], ("communities", Figure::Whole(3)));
        }
        assert_eq!(values(&of("wcc", &[])), ColumnValues::U64(vec![0, 0, 0, 0, 0, 0, 1]));
        let levels = of("bfs", &[]);
        assert_eq!(values(&levels), ColumnValues::U32(vec![0, 1, 1, 2, 3, 3, 0]));
        assert!(levels.columns[0].is_known(5) && !levels.columns[0].is_known(6));
        let path = of("shortest_path", &[("target", Argument::Vertex(VertexId(5)))]);
        assert_eq!(path.vertices, [0, 2, 3, 5].map(VertexId));
        assert_eq!(path.summary, "a path over 3 edges");
        let none = of("shortest_path", &[("target", Argument::Vertex(VertexId(6)))]);
        assert_eq!((none.vertices.len(), none.figures[1].1), (0, Figure::Nothing));
        let near = of("k_hop", &[("depth", Argument::Whole(1))]);
        assert_eq!(near.vertices, [0, 1, 2].map(VertexId));
        let ColumnValues::F64(scores) = values(&of("personalized_pagerank", &[])) else { panic!("scores") };
        assert!((scores.iter().sum::<f64>() - 1.0).abs() < 1e-9 && scores[6] == 0.0);
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let graph = Graph::new(3, &[(0, 1), (1, 2), (2, 0)]);
        let error = |name: &str, given: Vec<(&'static str, Argument)>| {
            let algorithm = by_name(name).unwrap();
            graph.run(algorithm, &Arguments::new(algorithm.parameters, given).unwrap()).unwrap_err()
        };
        let circle = error("topological_order", vec![]);
        let cycle = "a cycle, vertex 0 -> vertex 1 -> vertex 2 -> vertex 0";
        assert!(circle.kind() == ErrorKind::Invalid && circle.to_string().contains(cycle), "{circle}");
        let unknown = error("bfs", vec![("source", Argument::Vertex(VertexId(9)))]);
        assert_eq!(unknown.kind(), ErrorKind::NotFound);
        let unknown = error("louvain", vec![("weight", Argument::Property("hours".to_owned()))]);
        assert_eq!(unknown.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn the_guide_has_a_row_for_each_with_its_cost() {
        let guide = include_str!("../../../docs/guide/algorithms.md");
        for algorithm in ALGORITHMS {
            let row =
                guide.lines().find(|line| line.starts_with(&format!("| `Snapshot.{}` |", algorithm.name)));
            let row = row.unwrap_or_else(|| panic!("{} has no row", algorithm.name));
            let cost = format!("| {} | {} |", algorithm.cost.time, algorithm.cost.memory);
            assert!(row.ends_with(&cost), "{row}\n{cost}");
        }
    }
}
