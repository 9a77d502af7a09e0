//! Answers: the four algorithms on a live snapshot against answer files, `vertex value` a line.
//!
//! Source: LDBC Graphalytics' definitions, as the README of the data sets restates them.

use evergraph::algorithms::bfs::{self, BfsParameters};
use evergraph::algorithms::control::Control;
use evergraph::algorithms::pagerank::{self, PageRankParameters};
use evergraph::algorithms::scope::Scope;
use evergraph::algorithms::sssp::{self, SsspParameters};
use evergraph::algorithms::wcc::{self, WccParameters};
use evergraph::graph::topology::Weight;
use evergraph::{Direction, Freeze, GraphView, Snapshot, VertexId};
use evergraph_tests::data::read_text;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Relative tolerance for answers computed in full precision.
pub const COMPUTED: f64 = 1e-9;
/// And for those that LDBC published.
pub const PUBLISHED: f64 = 1e-4;

/// A snapshot whose graph has published answers.
pub struct Answered<'a> {
    pub snapshot: &'a Snapshot,
    /// The vertices by their ids in the answers.
    pub ids: &'a BTreeMap<i64, VertexId>,
    /// Where searches start.
    pub source: i64,
    /// Along which edges the answers go: `Both` for the undirected reading.
    pub direction: Direction,
}

impl Answered<'_> {
    fn control(&self) -> Control<'_> {
        Control::new(self.snapshot.budget())
    }

    /// An answer file's values, each with its vertex.
    fn read<'t>(&self, text: &'t str) -> Vec<(VertexId, &'t str)> {
        let entry = |line: &'t str| {
            let (id, value) = line.trim_end().split_once(' ').unwrap();
            (self.ids[&id.parse().unwrap()], value)
        };
        let answers: Vec<_> = text.lines().map(entry).collect();
        assert_eq!(answers.len(), self.ids.len(), "one answer a vertex");
        answers
    }

    pub fn check_bfs(&self, file: &Path) {
        let parameters = BfsParameters { direction: self.direction, ..Default::default() };
        let source = self.ids[&self.source];
        let found = bfs::run(self.snapshot, &Scope::default(), source, &parameters, &self.control()).unwrap();
        for (vertex, level) in self.read(&read_text(file)) {
            let wanted = Some(level.parse::<u64>().unwrap()).filter(|level| *level != i64::MAX as u64);
            assert_eq!(found.level(vertex).map(u64::from), wanted, "level of {vertex}");
        }
    }

    /// The weights are the property `weight`.
    pub fn check_sssp(&self, file: &Path) {
        let parameters = SsspParameters { direction: self.direction, delta: None };
        let weight = Weight { key: self.snapshot.catalogue().key("weight").unwrap(), missing: None };
        let (scope, source) = (Scope::default(), self.ids[&self.source]);
        let found = sssp::run(self.snapshot, &scope, &weight, source, &parameters, &self.control()).unwrap();
        for (vertex, distance) in self.read(&read_text(file)) {
            let wanted = match distance {
                "infinity" | "Infinity" => None,
                number => Some(number.parse::<f64>().unwrap()),
            };
            let found = found.distance(vertex);
            let close = match (found, wanted) {
                (Some(found), Some(wanted)) => (found - wanted).abs() <= COMPUTED * wanted,
                (found, wanted) => found == wanted,
            };
            assert!(close, "distance of {vertex}: {found:?}, not {wanted:?}");
        }
    }

    /// Compared as a partition: two vertices have one label in the answer where they have one here.
    pub fn check_wcc(&self, file: &Path) {
        let parameters = WccParameters::default();
        let found = wcc::run(self.snapshot, &Scope::default(), &parameters, &self.control()).unwrap();
        let (mut ours, mut theirs) = (HashMap::new(), HashMap::new());
        let text = read_text(file);
        for (vertex, label) in self.read(&text) {
            let own = found.labels.of(vertex).unwrap();
            assert_eq!(*ours.entry(label).or_insert(own), own, "component of {vertex}");
            assert_eq!(*theirs.entry(own).or_insert(label), label, "component of {vertex}");
        }
        assert_eq!(found.components, ours.len() as u64);
    }

    pub fn check_pagerank(&self, iterations: u32, tolerance: f64, file: &Path) {
        let parameters = PageRankParameters { iterations, direction: self.direction, ..Default::default() };
        let found = pagerank::run(self.snapshot, &Scope::default(), &parameters, &self.control()).unwrap();
        for (vertex, score) in self.read(&read_text(file)) {
            let (found, wanted) = (found.scores[vertex.0 as usize], score.parse::<f64>().unwrap());
            assert!((found - wanted).abs() <= tolerance * wanted, "score of {vertex}: {found}, not {wanted}");
        }
    }

    /// All four, with ten iterations of PageRank; `file` gives the answer file of `BFS`, `SSSP`, `WCC`
    /// and `PR`.
    pub fn check_all(&self, file: impl Fn(&str) -> PathBuf) {
        self.check_bfs(&file("BFS"));
        self.check_sssp(&file("SSSP"));
        self.check_wcc(&file("WCC"));
        self.check_pagerank(10, COMPUTED, &file("PR"));
    }
}
