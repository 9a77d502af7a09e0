//! The table of algorithms: each entry says what its kernel does.

use crate::graph::Graph;
use evergraph_algorithms::range::{RealRange, WholeRange};
use evergraph_algorithms::{
    betweenness::BetweennessParameters, bfs::BfsParameters, cdlp::CdlpParameters,
    closeness::ClosenessParameters, cycles::CyclesParameters, eigenvector::EigenvectorParameters,
    flow_rings::FlowRingParameters, k_hop::KHopParameters, lcc::LccParameters, leiden::LeidenParameters,
    louvain::LouvainParameters, pagerank::PageRankParameters,
    personalized_pagerank::PersonalizedPageRankParameters, sssp::SsspParameters,
    topological_order::TopologicalOrderParameters,
};
use evergraph_analysis::algorithm::Algorithm;
use evergraph_analysis::algorithm::{GraphSize, Group};
use evergraph_analysis::answer::{Answer, Figure};
use evergraph_analysis::arguments::{Argument, Arguments};
use evergraph_analysis::column::{ColumnKind, ColumnValues};
use evergraph_analysis::parameter::{DefaultValue, Kind};
use evergraph_analysis::table::{ALGORITHMS, by_name};
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, VertexId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

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
            assert_eq!(is_vertex, parameter.summary.contains("this vertex"), "{name}: {}", parameter.name);
            assert_eq!(parameter.kind == Kind::Boolean, parameter.flag.is_some(), "{name}");
        }
    }
}

#[test]
fn defaults_are_those_of_the_kernels() {
    use evergraph_analysis::entries::communities::{cdlp, lcc, leiden, louvain};
    use evergraph_analysis::entries::rank::{
        betweenness, closeness, eigenvector, pagerank, personalized_pagerank,
    };
    use evergraph_analysis::entries::structure::{cycles, flow_rings, topological_order};
    use evergraph_analysis::entries::ways::{bfs, k_hop, sssp};
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

/// Counts what is reserved now, and the most at once.
#[derive(Clone, Default)]
struct Counting(Arc<[AtomicU64; 2]>);

impl Budget for Counting {
    fn reserve(&self, _purpose: &str, bytes: u64) -> Result<Reservation> {
        let [now, most] = &*self.0;
        most.fetch_max(now.fetch_add(bytes, Relaxed) + bytes, Relaxed);
        let counts = Arc::clone(&self.0);
        Ok(Reservation::new(bytes, move |bytes| {
            counts[0].fetch_sub(bytes, Relaxed);
        }))
    }
}

/// A graph without cycles, so that every algorithm answers: edges go from low to high.
fn acyclic(vertices: u32, edges: u32) -> Graph {
    let mut state = 7_u32;
    let mut drawn = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(state) * u64::from(below)) >> 32) as u32
    };
    let edge = |_| {
        let source = drawn(vertices - 1);
        (source, source + 1 + drawn((vertices - 1 - source).min(50)))
    };
    Graph::new(vertices, &(0..edges).map(edge).collect::<Vec<_>>())
}

#[test]
fn no_kernel_reserves_more_than_its_entry_says() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let mut wrong = Vec::new();
    for (vertices, edges) in [(300, 900), (20_000, 80_000)] {
        let graph = acyclic(vertices, edges);
        let size = GraphSize { vertices: graph.bound(), edges: u64::from(edges), threads: 3 };
        for algorithm in ALGORITHMS {
            let Some(most) = algorithm.cost.memory_bytes else { continue };
            let few = algorithm.parameters.iter().any(|parameter| parameter.name == "sample");
            let given = required(algorithm).into_iter().chain(few.then_some(("sample", Argument::Whole(64))));
            let arguments = Arguments::new(algorithm.parameters, given).unwrap();
            let counting = Counting::default();
            pool.install(|| graph.run_on(algorithm, &arguments, &counting)).unwrap();
            let rows = algorithm.row_bytes() * size.vertices;
            let ([now, reserved], allowed) = (&*counting.0, most(&size) + rows);
            let reserved = reserved.load(Relaxed);
            if !(1..=allowed).contains(&reserved) {
                wrong.push(format!("{} reserves {reserved}, not {allowed}: {size:?}", algorithm.name));
            }
            assert_eq!(now.load(Relaxed), 0, "{} gives all of it back", algorithm.name);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Values of `kind` just out of its range, if it has one that the kernel can be told of.
fn just_outside(kind: Kind) -> Vec<Argument> {
    let reals = |values: &[f64]| values.iter().copied().map(Argument::Real).collect();
    match kind {
        Kind::Whole(WholeRange { least, most }) => {
            let below = least.checked_sub(1);
            let above = (most < u64::from(u32::MAX)).then(|| most + 1);
            below.into_iter().chain(above).map(Argument::Whole).collect()
        }
        Kind::Real(RealRange::Any) => Vec::new(),
        Kind::Real(RealRange::FromZero) => reals(&[-1e-300, f64::NAN]),
        Kind::Real(RealRange::FiniteFromZero) => reals(&[-1e-300, f64::INFINITY, f64::NAN]),
        Kind::Real(RealRange::FiniteAboveZero) => reals(&[0.0, f64::INFINITY, f64::NAN]),
        Kind::Real(RealRange::UpToOne) => reals(&[-1e-300, 1.0 + f64::EPSILON, f64::NAN]),
        Kind::Real(RealRange::AboveZeroUpToOne) => reals(&[0.0, 1.0 + f64::EPSILON, f64::NAN]),
        Kind::Direction(choices) => {
            let all = [Direction::Out, Direction::In, Direction::Both];
            let missing = all.into_iter().filter(|one| choices.iter().all(|(choice, _)| choice != one));
            missing.map(Argument::Direction).collect()
        }
        Kind::Boolean | Kind::Vertex | Kind::Vertices | Kind::EdgeProperty => Vec::new(),
    }
}

#[test]
fn table_and_kernel_refuse_the_same_values_in_the_same_words() {
    let graph = Graph::new(3, &[(0, 1), (1, 2)]);
    let mut refused = 0;
    for algorithm in ALGORITHMS {
        for parameter in algorithm.parameters {
            for value in just_outside(parameter.kind) {
                let mut given = required(algorithm);
                given.push((parameter.name, value));
                let by_table = Arguments::new(algorithm.parameters, given.clone()).unwrap_err();
                let unchecked = Arguments::unchecked(algorithm.parameters, &given);
                let by_kernel = graph.run(algorithm, &unchecked).unwrap_err();
                assert_eq!(by_kernel.kind(), ErrorKind::Invalid, "{}: {by_kernel}", algorithm.name);
                assert_eq!(by_table.to_string(), by_kernel.to_string(), "{}", algorithm.name);
                refused += 1;
            }
        }
    }
    assert!(refused > 40, "{refused} values");
}

#[test]
fn the_guide_has_a_row_for_each_with_its_cost() {
    let guide = include_str!("../../../docs/guide/algorithms.md");
    for algorithm in ALGORITHMS {
        let row = guide.lines().find(|line| line.starts_with(&format!("| `Snapshot.{}` |", algorithm.name)));
        let row = row.unwrap_or_else(|| panic!("{} has no row", algorithm.name));
        let cost = format!("| {} | {} |", algorithm.cost.time, algorithm.cost.memory);
        assert!(row.ends_with(&cost), "{row}\n{cost}");
    }
}
