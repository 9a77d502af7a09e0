//! Graph file: a graph of files instead of R-MAT, for the parts that only need edges.
//!
//! ```text
//! --graph twitter-ego=twitter.e.gz                  anything that `evergraph import` reads: lists, CSV, Parquet,
//! --graph snb=snb-interactive-mini/graph            packed or not; a folder of LDBC's generator
//! --graph knows=person_0_0.csv,person_knows_person_0_0.csv    several files
//! --graph road=rome99.gr --grow 20                  copies of it side by side, 2^20 vertices
//! ```
//!
//! Our own importer reads them, so that no form is known in two places. What an engine gets is the pairs of
//! vertex numbers, each once and in an order drawn by the plan's seed: edges that are inserted last should not
//! be those of the last vertices.

use crate::engine::store::Edge;
use crate::shuffle::shuffle;
use evergraph::Database;
use evergraph::generate::random::Random;
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::import::policy::{OnDuplicate, OnUnknown};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{PieceBuffer, Projection, Topology, Visit};
use evergraph_graph::view::Freeze;
use std::path::PathBuf;
use std::str::FromStr;

const PURPOSE: u64 = 405;
const GROWTH: u64 = 406;

/// Where a graph is, and what it is called: `NAME=PATH,PATH`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphPath {
    /// Its name in results.
    pub name: String,
    /// Files, or folders of files.
    pub paths: Vec<PathBuf>,
}

impl FromStr for GraphPath {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, paths) = text.split_once('=').ok_or("expected NAME=PATH or NAME=PATH,PATH")?;
        // Names of figures have dots between their parts.
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!("a name has letters, digits, - and _ only, not {name:?}"));
        }
        Ok(Self { name: name.to_owned(), paths: paths.split(',').map(PathBuf::from).collect() })
    }
}

/// A graph of files that is to become larger: `NAME=SCALE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Growth {
    /// The graph's name in results.
    pub name: String,
    /// It gets at least 2^scale vertices.
    pub scale: u32,
}

impl FromStr for Growth {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, scale) = text.split_once('=').ok_or("expected NAME=SCALE, as in road=20")?;
        match scale.parse() {
            Ok(scale @ 1..31) => Ok(Self { name: name.to_owned(), scale }),
            _ => Err(format!("a scale is a whole number from 1 to 30, not {scale:?}")),
        }
    }
}

/// A graph that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileGraph {
    /// Its name in results.
    pub name: String,
    /// Vertices are numbered below this; some may have no edges.
    pub vertices: u32,
    /// Pairs of numbers, each once, in an order drawn by the seed.
    pub edges: Vec<Edge>,
}

impl FileGraph {
    /// Reads the files at `from`. Cost: an import into memory, and 8 bytes an edge.
    ///
    /// # Errors
    /// What importing meets; `invalid` if there is no edge.
    pub fn read(from: &GraphPath, seed: u64) -> Result<Self> {
        let database = Database::in_memory()?;
        let mut options = ImportOptions::new(from.paths.iter().map(InputFile::new));
        options.ids.on_duplicate = OnDuplicate::First;
        // Some folders have the edges of vertices whose own files they leave out.
        options.ids.on_unknown = OnUnknown::Create;
        database.import(&options, &|_| ())?;
        let topology = database.snapshot().freeze(&Projection::all(Direction::Out))?;
        // Vertices of a database are numbered in groups of one label: here without the gaps between.
        let mut numbers = vec![0; topology.bound() as usize];
        for (number, vertex) in (0..).zip(topology.vertices().iter()) {
            numbers[vertex as usize] = number;
        }
        let number = |vertex: u32| numbers[vertex as usize];
        let mut edges = Vec::new();
        topology.visit(
            Direction::Out,
            0..topology.bound(),
            &mut PieceBuffer::default(),
            |source, piece| {
                edges.extend(piece.neighbors.iter().map(|target| (number(source), number(*target))));
                Visit::Continue
            },
        )?;
        edges.sort_unstable();
        edges.dedup();
        if edges.is_empty() {
            return Err(Error::invalid(format!("the graph {} has no edge", from.name)));
        }
        shuffle(&mut edges, &mut Random::new(seed, PURPOSE, 0));
        Ok(Self { name: from.name.clone(), vertices: topology.vertices().len() as u32, edges })
    }

    /// Copies of this graph in a square grid, with at least 2^`scale` vertices together. So many roads as the root of its
    /// vertices, both ways, join a copy to each neighbour, between random vertices: a small road network becomes a large
    /// one, though one that is much less far across than a real one of its size.
    ///
    /// # Errors
    /// `invalid` if there would be 2^31 vertices or more.
    pub fn grown(self, scale: u32, seed: u64) -> Result<Self> {
        let side = (2_f64.powi(scale as i32) / f64::from(self.vertices)).sqrt().ceil().max(1.0) as u64;
        let all = side * side * u64::from(self.vertices);
        if all >= 1 << 31 {
            return Err(Error::invalid(format!("{all} vertices are too many to measure: 2^31 is the end")));
        }
        let mut random = Random::new(seed, GROWTH, 0);
        let first = |column: u64, row: u64| (row * side + column) as u32 * self.vertices;
        let roads = f64::from(self.vertices).sqrt() as usize;
        let mut edges = Vec::with_capacity((side * side) as usize * (self.edges.len() + 4 * roads));
        for (row, column) in (0..side).flat_map(|row| (0..side).map(move |column| (row, column))) {
            let here = first(column, row);
            edges.extend(self.edges.iter().map(|(source, target)| (here + source, here + target)));
            let right = (column + 1 < side).then(|| first(column + 1, row));
            let below = (row + 1 < side).then(|| first(column, row + 1));
            for there in [right, below].into_iter().flatten() {
                for _ in 0..roads {
                    let mut end = || random.below(u64::from(self.vertices)) as u32;
                    let (one, other) = (here + end(), there + end());
                    edges.extend([(one, other), (other, one)]);
                }
            }
        }
        edges.sort_unstable();
        edges.dedup();
        shuffle(&mut edges, &mut Random::new(seed, PURPOSE, 0));
        Ok(Self { name: format!("{}-{scale}", self.name), vertices: all as u32, edges })
    }

    /// Edges a vertex, rounded.
    #[must_use]
    pub fn degree(&self) -> u32 {
        (self.edges.len() as f64 / f64::from(self.vertices.max(1))).round() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_list_of_edges_becomes_pairs_of_small_numbers_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.e");
        fs::write(&path, "10 700\n700 10\n10 700\n5000000000 10\n").unwrap();
        let from = GraphPath { name: "tiny".to_owned(), paths: vec![path.clone()] };
        let graph = FileGraph::read(&from, 1).unwrap();
        assert_eq!((graph.vertices, graph.edges.len(), graph.degree()), (3, 3, 1));
        let ends = |edge: &Edge| [edge.0, edge.1];
        let mut degrees = [0; 3];
        graph.edges.iter().flat_map(ends).for_each(|end| degrees[end as usize] += 1);
        degrees.sort_unstable();
        assert_eq!(degrees, [1, 2, 3], "10 is in three edges, 700 in two, 5000000000 in one");
        assert_eq!(FileGraph::read(&from, 1).unwrap(), graph, "the seed says in which order");
        fs::write(&path, "").unwrap();
        assert!(FileGraph::read(&from, 1).is_err());
    }

    /// SNB's topology of scale 0.1 has edges of comments, and no file of comments.
    #[test]
    fn vertices_that_only_edges_mention_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        file("person_0_0.csv", "id|name\n1|ann\n");
        file("comment_hasCreator_person_0_0.csv", "Comment.id|Person.id\n7|1\n8|1\n");
        let from = GraphPath { name: "comments".to_owned(), paths: vec![folder.path().to_owned()] };
        let graph = FileGraph::read(&from, 1).unwrap();
        assert_eq!((graph.vertices, graph.edges.len()), (3, 2));
    }

    /// SNB's vertices of a second label began at 4,096 times its group, behind the last number.
    #[test]
    fn vertices_of_several_labels_are_numbered_without_gaps() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        file("Person.csv", "id:ID(Person)\n1\n2\n");
        file("Post.csv", "id:ID(Post)\n1\n");
        file("likes.csv", ":START_ID(Person),:END_ID(Post),:TYPE\n1,1,LIKES\n2,1,LIKES\n");
        let from = GraphPath { name: "likes".to_owned(), paths: vec![folder.path().to_owned()] };
        let mut graph = FileGraph::read(&from, 1).unwrap();
        graph.edges.sort_unstable();
        assert_eq!(graph.vertices, 3);
        let [(one, post), (other, same)] = graph.edges[..] else { panic!("two edges: {graph:?}") };
        let mut ends = [one, other, post];
        ends.sort_unstable();
        assert_eq!((ends, post), ([0, 1, 2], same));
    }

    #[test]
    fn growth_names_a_graph_and_a_scale() {
        assert_eq!("road=20".parse(), Ok(Growth { name: "road".to_owned(), scale: 20 }));
        for wrong in ["20", "road", "road=", "road=0", "road=31", "road=x"] {
            assert!(wrong.parse::<Growth>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_grown_graph_is_copies_with_roads_between_neighbours() {
        let ring: Vec<Edge> = (0..100).map(|vertex| (vertex, (vertex + 1) % 100)).collect();
        let graph = FileGraph { name: "ring".to_owned(), vertices: 100, edges: ring.clone() };
        let grown = graph.clone().grown(10, 1).unwrap();
        // 16 copies have 2^10 vertices; ten roads, both ways, cross each of the 24 borders.
        assert_eq!(grown.vertices, 1600);
        let (within, between): (Vec<Edge>, Vec<Edge>) =
            grown.edges.iter().partition(|(source, target)| source / 100 == target / 100);
        assert_eq!(within.len(), 16 * ring.len());
        assert!(between.len() > 24 * 2 * 9 && between.len() <= 24 * 2 * 10, "{}", between.len());
        for (source, target) in &between {
            assert!(between.contains(&(*target, *source)), "a road leads both ways");
            let [(column, row), (there, below)] =
                [source, target].map(|vertex| (vertex / 100 % 4, vertex / 400));
            assert_eq!(column.abs_diff(there) + row.abs_diff(below), 1, "from {source} to {target}");
        }
        assert_eq!(graph.clone().grown(10, 1).unwrap(), grown, "the seed says which");
        assert!(graph.grown(31, 1).is_err());
    }

    #[test]
    fn a_graph_is_named_where_it_is_asked_for() {
        let snb: GraphPath = "snb=a/b=c,d".parse().unwrap();
        assert_eq!((snb.name.as_str(), snb.paths), ("snb", vec![PathBuf::from("a/b=c"), PathBuf::from("d")]));
        assert!("a/b".parse::<GraphPath>().is_err() && "a.b=c".parse::<GraphPath>().is_err());
        assert!("=c".parse::<GraphPath>().is_err());
    }
}
