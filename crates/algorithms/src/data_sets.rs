//! Kernels against published and independently computed answers on whole data sets.
//!
//! Vertices are numbered by their order, so that the smallest label of a component stays the smallest.
//! Each kernel also runs on lists that come unsorted and in pieces: all of them for Gnutella and the examples; the two
//! largest sets have one form each.

#![allow(clippy::unwrap_used, reason = "a data set that cannot be read fails its test")]

#[path = "../../../tests/src/data_folder.rs"]
mod data_folder;
#[path = "../../../tests/src/skips.rs"]
mod skips;

use crate::any_lists::AnyLists;
use crate::bfs::{BfsParameters, bfs};
use crate::cdlp::{CdlpParameters, cdlp};
use crate::control::Control;
use crate::csr::StaticCsr;
use crate::kcore::kcore;
use crate::lcc::{LccParameters, lcc};
use crate::pagerank::{PageRankParameters, pagerank};
use crate::pieced::Pieced;
use crate::scc::scc;
use crate::sssp::{SsspParameters, sssp};
use crate::triangles::triangles;
use crate::wcc::{WccParameters, wcc};
use data_folder::data_set;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::vertex_set::VertexSet;
use flate2::read::GzDecoder;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::PathBuf;

/// The text of a file, unpacked if its name says so.
fn read(path: PathBuf) -> String {
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        GzDecoder::new(File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
    } else {
        text = fs::read_to_string(&path).unwrap();
    }
    assert!(!text.is_empty(), "{} is empty", path.display());
    text
}

/// A graph whose vertices are numbered by the order of their ids in the files.
struct DataSet {
    ids: BTreeMap<u64, u32>,
    edges: Vec<(u32, u32)>,
    weights: Option<Vec<f64>>,
    /// Along which edges the answers walk.
    direction: Direction,
    /// In which form kernels get the lists.
    forms: Forms,
    /// The lists, once a check needed them.
    topologies: OnceCell<Vec<AnyLists>>,
}

/// Forms of lists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Forms {
    Flat,
    Pieced,
    FlatAndPieced,
}

impl DataSet {
    /// From (source, target, weight) in the files' ids.
    fn new(ids: impl Iterator<Item = u64>, edges: &[(u64, u64, Option<f64>)], direction: Direction) -> Self {
        let mut ids: BTreeMap<u64, u32> = ids.map(|id| (id, 0)).collect();
        ids.values_mut().zip(0..).for_each(|(number, next)| *number = next);
        let pairs = edges.iter().map(|edge| (ids[&edge.0], ids[&edge.1])).collect();
        let weights = edges.iter().map(|edge| edge.2).collect();
        let (forms, topologies) = (Forms::FlatAndPieced, OnceCell::new());
        Self { ids, edges: pairs, weights, direction, forms, topologies }
    }

    /// From a vertex file and an edge file, `source target [weight]` a line.
    fn from_files(vertices: PathBuf, edges: PathBuf, direction: Direction) -> Self {
        let id = |text: &str| text.parse().unwrap();
        let vertices = read(vertices);
        let vertices = vertices.lines().map(|line| id(line.split(' ').next().unwrap()));
        let edges: Vec<_> = read(edges)
            .lines()
            .map(|line| {
                let mut words = line.split(' ');
                let (source, target) = (id(words.next().unwrap()), id(words.next().unwrap()));
                (source, target, words.next().map(|weight| weight.parse().unwrap()))
            })
            .collect();
        Self::new(vertices, &edges, direction)
    }

    /// From lines `vertex neighbour neighbour ...`. An undirected graph has each edge at both ends,
    /// so that walking along out lists alone is the undirected reading.
    fn from_lists(path: PathBuf) -> Self {
        let lists: Vec<Vec<u64>> = read(path)
            .lines()
            .map(|line| line.split_whitespace().map(|id| id.parse().unwrap()).collect())
            .collect();
        let edges: Vec<_> = lists
            .iter()
            .flat_map(|list| list[1..].iter().map(|neighbor| (list[0], *neighbor, None)))
            .collect();
        // A vertex without edges of its own may be without a line too.
        Self::new(lists.iter().flatten().copied(), &edges, Direction::Out)
    }

    /// An answer file's value of each vertex, in the order of the numbers.
    fn answers<A>(&self, path: PathBuf, parse: impl Fn(&str) -> A) -> Vec<A> {
        let text = read(path);
        let mut answers: BTreeMap<u32, A> = BTreeMap::new();
        for line in text.lines() {
            let (id, value) = line.split_once(' ').unwrap();
            answers.insert(self.ids[&id.parse().unwrap()], parse(value));
        }
        assert_eq!(answers.len(), self.ids.len(), "one answer a vertex");
        answers.into_values().collect()
    }

    /// Runs `check` on a graph of each form.
    fn on_topologies(&self, check: &impl Check) {
        self.topologies.get_or_init(|| self.lists()).iter().for_each(|topology| check.on(topology));
    }

    /// The graph in each form.
    fn lists(&self) -> Vec<AnyLists> {
        let vertices = VertexSet::full(self.ids.len() as u32);
        let weights = self.weights.as_deref();
        let mut lists = Vec::new();
        if self.forms != Forms::Pieced {
            let flat = StaticCsr::new(vertices.clone(), &self.edges, weights, Direction::Both).unwrap();
            lists.push(AnyLists::Flat(flat));
        }
        if self.forms != Forms::Flat {
            let pieced = Pieced::new(vertices, &self.edges, weights, Direction::Both);
            lists.push(AnyLists::Pieced(pieced));
        }
        lists
    }

    fn check_bfs(&self, source: u64, path: PathBuf) {
        let unreached = 9_223_372_036_854_775_807;
        let want = self.answers(path, |level| level.parse::<u64>().unwrap());
        let want = want.into_iter().map(|level| (level != unreached).then_some(level as u32)).collect();
        self.on_topologies(&Levels { source: VertexId(self.ids[&source]), direction: self.direction, want });
    }

    fn check_sssp(&self, source: u64, path: PathBuf) {
        let want = self.answers(path, |distance| match distance {
            "infinity" | "Infinity" => f64::INFINITY,
            number => number.parse().unwrap(),
        });
        self.on_topologies(&Distances {
            source: VertexId(self.ids[&source]),
            direction: self.direction,
            want,
        });
    }

    /// Components compared as a partition: by the smallest vertex that has the same answer.
    fn check_wcc(&self, path: PathBuf) {
        let mut smallest = BTreeMap::new();
        let labels = self.answers(path, |label| label.parse::<u64>().unwrap());
        let want =
            (0..).zip(labels).map(|(vertex, label)| *smallest.entry(label).or_insert(vertex)).collect();
        self.on_topologies(&Labels { want });
    }

    fn check_pagerank(&self, iterations: u32, tolerance: f64, path: PathBuf) {
        let want = self.answers(path, |score| score.parse().unwrap());
        self.on_topologies(&Scores { iterations, direction: self.direction, tolerance, want });
    }

    /// Labels are the files' ids, which decide ties.
    fn check_cdlp(&self, iterations: u32, path: PathBuf) {
        let want = self.answers(path, |label| label.parse().unwrap());
        let labels = Some(self.ids.keys().copied().collect());
        self.on_topologies(&Communities { parameters: CdlpParameters { iterations, labels }, want });
    }

    fn check_lcc(&self, tolerance: f64, path: PathBuf) {
        let want = self.answers(path, |coefficient| coefficient.parse().unwrap());
        self.on_topologies(&Coefficients { directed: self.direction != Direction::Both, tolerance, want });
    }
}

/// Runs a kernel on such lists and compares what it gives.
trait Check {
    fn on(&self, topology: &AnyLists);
}

struct Levels {
    source: VertexId,
    direction: Direction,
    want: Vec<Option<u32>>,
}

impl Check for Levels {
    fn on(&self, topology: &AnyLists) {
        let parameters = BfsParameters { direction: self.direction, ..Default::default() };
        let found = bfs(topology, self.source, &parameters, &Control::default()).unwrap();
        for (vertex, want) in (0..).zip(&self.want) {
            assert_eq!(found.level(VertexId(vertex)), *want, "vertex {vertex}");
        }
    }
}

struct Distances {
    source: VertexId,
    direction: Direction,
    want: Vec<f64>,
}

impl Check for Distances {
    fn on(&self, topology: &AnyLists) {
        let parameters = SsspParameters { direction: self.direction, delta: None };
        let found = sssp(topology, self.source, &parameters, &Control::default()).unwrap();
        for (vertex, (found, want)) in found.distances.iter().zip(&self.want).enumerate() {
            let close = found == want || (found - want).abs() <= 1e-9 * want;
            assert!(close, "vertex {vertex}: {found}, not {want}");
        }
    }
}

struct Labels {
    want: Vec<u32>,
}

impl Check for Labels {
    fn on(&self, topology: &AnyLists) {
        let found = wcc(topology, &WccParameters::default(), &Control::default()).unwrap();
        assert!(found.labels.as_slice() == self.want);
        let mut want = self.want.clone();
        want.sort_unstable();
        want.dedup();
        assert_eq!(found.components, want.len() as u64);
    }
}

struct Scores {
    iterations: u32,
    direction: Direction,
    tolerance: f64,
    want: Vec<f64>,
}

impl Check for Scores {
    fn on(&self, topology: &AnyLists) {
        let (iterations, direction) = (self.iterations, self.direction);
        let parameters = PageRankParameters { iterations, direction, ..Default::default() };
        let found = pagerank(topology, &parameters, &Control::default()).unwrap();
        for (vertex, (found, want)) in found.scores.iter().zip(&self.want).enumerate() {
            let close = (found - want).abs() <= self.tolerance * want;
            assert!(close, "vertex {vertex}: {found}, not {want}");
        }
    }
}

struct Communities {
    parameters: CdlpParameters,
    want: Vec<u64>,
}

impl Check for Communities {
    fn on(&self, topology: &AnyLists) {
        let found = cdlp(topology, &self.parameters, &Control::default()).unwrap();
        assert!(found.labels() == self.want);
    }
}

struct Coefficients {
    directed: bool,
    tolerance: f64,
    want: Vec<f64>,
}

impl Check for Coefficients {
    fn on(&self, topology: &AnyLists) {
        let parameters = LccParameters { directed: self.directed };
        let found = lcc(topology, &parameters, &Control::default()).unwrap();
        for (vertex, (found, want)) in found.coefficients.iter().zip(&self.want).enumerate() {
            let close = (found - want).abs() <= self.tolerance * want;
            assert!(close, "vertex {vertex}: {found}, not {want}");
        }
    }
}

/// What a summary file tells of a whole graph.
struct Summary {
    triangles: u64,
    strong_components: u64,
    largest_strong_component: u64,
    degeneracy: u32,
}

impl Check for Summary {
    fn on(&self, topology: &AnyLists) {
        let control = Control::default();
        assert_eq!(triangles(topology, &control).unwrap().total(), self.triangles);
        let components = scc(topology, &control).unwrap();
        assert_eq!(components.components, self.strong_components);
        assert_eq!(components.largest, self.largest_strong_component);
        assert_eq!(kcore(topology, &control).unwrap().degeneracy(), self.degeneracy);
    }
}

/// Relative tolerance for answers that LDBC published.
const PUBLISHED: f64 = 1e-4;
/// And for those that were computed in full precision.
const COMPUTED: f64 = 1e-9;

#[test]
fn the_validation_graphs_of_graphalytics_have_the_published_answers() {
    let Some(folder) = data_set("graphalytics-validation") else { return };
    for (kind, direction, iterations) in [("dir", Direction::Out, 20), ("undir", Direction::Both, 30)] {
        let file = |folder_name: &str, ending: &str| folder.join(format!("{folder_name}/{kind}-{ending}"));
        DataSet::from_lists(file("cdlp", "input")).check_cdlp(5, file("cdlp", "output"));
        DataSet::from_lists(file("lcc", "input")).check_lcc(PUBLISHED, file("lcc", "output"));
        DataSet::from_lists(file("bfs", "input")).check_bfs(1, file("bfs", "output"));
        DataSet::from_lists(file("wcc", "input")).check_wcc(file("wcc", "output"));
        DataSet::from_lists(file("pr", "input")).check_pagerank(iterations, PUBLISHED, file("pr", "output"));
        DataSet::from_files(file("sssp", "input.v"), file("sssp", "input.e"), direction)
            .check_sssp(1, file("sssp", "output"));
    }
}

#[test]
fn the_examples_of_graphalytics_have_the_published_answers() {
    let Some(folder) = data_set("graphalytics-validation") else { return };
    for (name, direction, source) in [("directed", Direction::Out, 1), ("undirected", Direction::Both, 2)] {
        let file = |ending: &str| folder.join(format!("example/example-{name}{ending}"));
        let graph = DataSet::from_files(file(".v"), file(".e"), direction);
        graph.check_bfs(source, file("-BFS"));
        graph.check_sssp(source, file("-SSSP"));
        graph.check_wcc(file("-WCC"));
        graph.check_pagerank(2, PUBLISHED, file("-PR"));
        graph.check_cdlp(2, file("-CDLP"));
        graph.check_lcc(PUBLISHED, file("-LCC"));
        DataSet::from_lists(file("-input")).check_bfs(source, file("-BFS"));
    }
}

#[test]
fn p2p_31_has_the_computed_answers_read_as_directed_and_as_undirected() {
    let Some(folder) = data_set("p2p-31") else { return };
    let file = |name: &str| folder.join(format!("p2p-31{name}.gz"));
    let mut graph = DataSet::from_files(file(".v"), file(".e"), Direction::Both);
    graph.check_bfs(6, file("-BFS"));
    graph.check_sssp(6, file("-SSSP"));
    graph.check_wcc(file("-WCC"));
    graph.check_pagerank(10, COMPUTED, file("-PR"));
    graph.check_cdlp(10, file("-CDLP"));
    graph.check_lcc(PUBLISHED, file("-LCC"));

    graph.direction = Direction::Out;
    graph.check_bfs(6, file("-BFS-directed"));
    graph.check_sssp(6, file("-SSSP-directed"));
    let computed = |name: &str| folder.join(format!("computed-here-directed/p2p-31-directed-{name}.gz"));
    graph.check_bfs(6, computed("BFS"));
    graph.check_sssp(6, computed("SSSP"));
    graph.check_wcc(computed("WCC"));
    graph.check_pagerank(10, COMPUTED, computed("PR"));
    graph.check_cdlp(10, computed("CDLP"));
    graph.check_lcc(COMPUTED, computed("LCC"));
    graph.on_topologies(&Summary {
        triangles: 2_024,
        strong_components: 48_438,
        largest_strong_component: 14_149,
        degeneracy: 6,
    });
}

#[test]
fn twitter_has_the_computed_answers() {
    let Some(folder) = data_set("twitter-ego") else { return };
    let file = |name: &str| folder.join(format!("twitter{name}.gz"));
    let mut graph = DataSet::from_files(file(".v"), file(".e"), Direction::Out);
    graph.forms = Forms::Pieced;
    assert_eq!((graph.ids.len(), graph.edges.len()), (81_307, 1_768_135));
    graph.check_bfs(4, file("-BFS"));
    graph.check_sssp(4, file("-SSSP"));
    graph.check_wcc(file("-WCC"));
    graph.check_pagerank(10, COMPUTED, file("-PR"));
    graph.check_cdlp(10, file("-CDLP"));
    graph.check_lcc(COMPUTED, file("-LCC"));
    graph.on_topologies(&Summary {
        triangles: 13_082_506,
        strong_components: 12_249,
        largest_strong_component: 68_413,
        degeneracy: 96,
    });
}

#[test]
fn rmat17_has_the_computed_answers() {
    let Some(folder) = data_set("rmat17") else { return };
    let file = |name: &str| folder.join(format!("rmat17{name}.gz"));
    let text = read(file(".e"));
    let edges: Vec<_> = text
        .lines()
        .map(|line| {
            let (source, target) = line.split_once(' ').unwrap();
            let (source, target): (u64, u64) = (source.parse().unwrap(), target.parse().unwrap());
            (source, target, Some(((7919 * source + 104_729 * target) % 100 + 1) as f64))
        })
        .collect();
    // The ids in the edges are fewer than there are vertices.
    let mut graph = DataSet::new(0..131_072, &edges, Direction::Out);
    graph.forms = Forms::Flat;
    assert_eq!(graph.edges.len(), 2_097_152);
    graph.check_bfs(72_080, file("-BFS"));
    graph.check_sssp(72_080, file("-SSSP"));
    graph.check_wcc(file("-WCC"));
    graph.check_pagerank(10, COMPUTED, file("-PR"));
    graph.check_cdlp(10, file("-CDLP"));
    graph.on_topologies(&Summary {
        triangles: 46_480_138,
        strong_components: 63_847,
        largest_strong_component: 67_226,
        degeneracy: 314,
    });
}
