//! Graph file: a graph of files instead of R-MAT, for the parts that only need edges.
//!
//! ```text
//! --graph twitter-ego=twitter.e.gz                  anything that `evergraph import` reads: lists, CSV, Parquet,
//! --graph snb=snb-interactive-mini/graph            packed or not; a folder of LDBC's generator
//! ```
//!
//! Our own importer reads them, so that no form is known in two places. What an engine gets is the pairs of
//! vertex numbers, each once and in an order drawn by the plan's seed: edges that are inserted last should not
//! be those of the last vertices.

use crate::engine::store::Edge;
use evergraph::Database;
use evergraph::generate::random::Random;
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::import::policy::OnDuplicate;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{PieceBuffer, Projection, Topology, Visit};
use evergraph_graph::view::Freeze;
use std::path::PathBuf;
use std::str::FromStr;

const PURPOSE: u64 = 405;

/// Where a graph is, and what it is called: `NAME=PATH`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphPath {
    /// Its name in results.
    pub name: String,
    /// A file, or a folder of files.
    pub path: PathBuf,
}

impl FromStr for GraphPath {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, path) = text.split_once('=').ok_or("expected NAME=PATH")?;
        // Names of figures have dots between their parts.
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!("a name has letters, digits, - and _ only, not {name:?}"));
        }
        Ok(Self { name: name.to_owned(), path: path.into() })
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
        let mut options = ImportOptions::new([InputFile::new(&from.path)]);
        options.on_duplicate = OnDuplicate::First;
        database.import(&options, &|_| ())?;
        let topology = database.snapshot().freeze(&Projection::all(Direction::Out))?;
        let mut edges = Vec::new();
        topology.visit(
            Direction::Out,
            0..topology.bound(),
            &mut PieceBuffer::default(),
            |source, piece| {
                edges.extend(piece.neighbors.iter().map(|target| (source, *target)));
                Visit::Continue
            },
        )?;
        edges.sort_unstable();
        edges.dedup();
        if edges.is_empty() {
            return Err(Error::invalid(format!("{} has no edge", from.path.display())));
        }
        // Fisher and Yates' shuffle.
        let mut random = Random::new(seed, PURPOSE, 0);
        for last in (1..edges.len()).rev() {
            edges.swap(last, random.below(last as u64 + 1) as usize);
        }
        Ok(Self { name: from.name.clone(), vertices: topology.vertices().len() as u32, edges })
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
        let from = GraphPath { name: "tiny".to_owned(), path: path.clone() };
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

    #[test]
    fn a_graph_is_named_where_it_is_asked_for() {
        let snb: GraphPath = "snb=a/b=c".parse().unwrap();
        assert_eq!((snb.name.as_str(), snb.path), ("snb", PathBuf::from("a/b=c")));
        assert!("a/b".parse::<GraphPath>().is_err() && "a.b=c".parse::<GraphPath>().is_err());
        assert!("=c".parse::<GraphPath>().is_err());
    }
}
