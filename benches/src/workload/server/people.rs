//! People: the graph of the part `server`, and what every question about it should find.
//!
//! ```text
//! Person   number (0, 1, 2, ...), name ("person 0", ...)        KNOWS   R-MAT, four edges a person, each once
//! ```

use crate::edges::distinct;
use crate::engine::store::Edge;
use crate::plan::Plan;
use evergraph::generate::random::Random;
use evergraph::{Database, IndexOptions};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::ValueType;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The label.
pub const LABEL: &str = "Person";
/// The type of edges.
pub const KNOWS: &str = "KNOWS";
/// The key that is indexed.
pub const NUMBER: &str = "number";

const PURPOSE: u64 = 430;
const DEGREE: u32 = 4;
/// People whom questions begin at: enough that no answer is in a cache of one.
const ASKED: usize = 1024;

/// The graph.
pub struct People {
    /// How many.
    pub count: u32,
    edges: Vec<Edge>,
    /// Places of the edges of each, in `edges`; one more at the end.
    offsets: Vec<usize>,
    /// Those whom questions begin at.
    pub asked: Vec<u32>,
}

impl People {
    /// The graph of 2^`scale` people.
    ///
    /// # Errors
    /// `invalid` for a scale out of range.
    pub fn new(plan: &Plan, scale: u32) -> Result<Self> {
        let mut edges = distinct(&Plan { scale, file_graph: None, ..plan.clone() }, DEGREE)?;
        edges.sort_unstable();
        let count = 1_u32 << scale;
        let offsets = (0..=count).map(|source| edges.partition_point(|edge| edge.0 < source)).collect();
        let mut people = Self { count, edges, offsets, asked: Vec::new() };
        let mut random = Random::new(plan.seed, PURPOSE, 0);
        while people.asked.len() < ASKED.min(count as usize / 4) {
            let person = random.below(u64::from(count)) as u32;
            if !people.known(person).is_empty() {
                people.asked.push(person);
            }
        }
        Ok(people)
    }

    /// Its edges, ascending.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    fn known(&self, person: u32) -> &[Edge] {
        &self.edges[self.offsets[person as usize]..self.offsets[person as usize + 1]]
    }

    /// The name of a person.
    #[must_use]
    pub fn name(person: u32) -> String {
        format!("person {person}")
    }

    /// Walks of two steps from `person`.
    #[must_use]
    pub fn two_hops(&self, person: u32) -> u64 {
        self.known(person).iter().map(|(_, known)| self.known(*known).len() as u64).sum()
    }

    /// Makes a database of it in `folder`, with its index, and closes it.
    ///
    /// # Errors
    /// Those of loading.
    pub fn make_database(&self, folder: &Path) -> Result<()> {
        let numbers: Vec<u32> = (0..self.count).collect();
        let block = |numbers: &[u32]| {
            let mut columns = [(); 2].map(|()| PackedColumnBuilder::default());
            for number in numbers {
                columns[0].push_i64(i64::from(*number));
                columns[1].push_text(&Self::name(*number));
            }
            VertexBlock { rows: numbers.len(), columns: columns.map(PackedColumnBuilder::finish).to_vec() }
        };
        let properties =
            [(NUMBER, ValueType::I64), ("name", ValueType::String)].map(|(key, kind)| (key.to_owned(), kind));
        let blocks = self.edges.chunks(BLOCK_ROWS).map(|edges| EdgeBlock::bare(edges.iter().copied()));
        let load = Load {
            vertices: vec![VertexTable::new(
                LABEL,
                properties.to_vec(),
                numbers.chunks(BLOCK_ROWS).map(block).collect(),
            )],
            edges: vec![EdgeTable::new(KNOWS, 0, 0, Vec::new(), blocks.collect())],
        };
        let database = Database::open(folder)?;
        database.load(&load, &|_| (), &Default::default())?;
        database.create_index(&IndexOptions::on_label(LABEL, NUMBER).unique())?;
        database.close()
    }

    /// Writes it for others: a file of numbers and one of pairs, with commas, without heads.
    ///
    /// # Errors
    /// `io`.
    pub fn write_lists(&self, folder: &Path) -> Result<()> {
        let (mut people, mut edges) = (String::new(), String::new());
        for person in 0..self.count {
            writeln!(people, "{person},{}", Self::name(person)).expect("a text takes every line");
        }
        for (source, target) in &self.edges {
            writeln!(edges, "{source},{target}").expect("a text takes every line");
        }
        let paths = ["people.csv", "knows.csv"].map(|name| folder.join(name));
        for (path, text) in paths.iter().zip([people, edges]) {
            fs::write(path, text)
                .map_err(|error| Error::new(ErrorKind::Io, format!("write {}: {error}", path.display())))?;
        }
        Ok(())
    }

    /// Pairs of people for new edges, drawn evenly.
    #[must_use]
    pub fn pairs(&self, seed: u64, count: usize) -> Vec<Edge> {
        let mut random = Random::new(seed, PURPOSE, 1);
        let mut one = || self.asked[random.below(self.asked.len() as u64) as usize];
        (0..count).map(|_| (one(), one())).collect()
    }
}
