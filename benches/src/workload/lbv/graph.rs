//! Graph: what the micro-benchmarks run on: the labels and types of LDBC's network, or R-MAT with two labels and four types.
//!
//! ```text
//! vertex   uid  unique, hash index       name   hash index, shared by four
//! edge     since  hash index, shared     mark   nobody's before a run
//! ```

use crate::edges::distinct;
use crate::plan::Plan;
use crate::workload::lbv::query::Population;
use evergraph::generate::random::Random;
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, EdgeId, IndexOptions, ReadByName as _, VertexId};
use evergraph_graph::error::Result;
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::ValueType;
use std::collections::{BTreeMap, BTreeSet, HashMap};

const PURPOSE: u64 = 410;
/// Vertices that share a name.
pub const NAMES: usize = 4;
/// Edges have a `since` below it.
pub const SINCE: i64 = 10_000;
/// So many powers of two smaller than the plan's: a run makes its graph anew.
const SMALLER: u32 = 4;
const DEGREE: u32 = 8;

/// Labels, types, and who is joined; no property yet.
pub struct Shape {
    /// Name and vertices of each label.
    pub labels: Vec<(String, u32)>,
    /// Edges by type and labels of source and target: rows of both.
    pub edges: BTreeMap<(String, usize, usize), Vec<(u32, u32)>>,
    title: String,
}

/// A database of it, and what there is to ask about.
pub struct Made {
    /// The graph.
    pub database: Database,
    /// Its vertices and edges.
    pub population: Population<VertexId, EdgeId>,
}

impl Shape {
    /// That of the plan's network, if there is one.
    ///
    /// # Errors
    /// What importing meets.
    pub fn of(plan: &Plan) -> Result<Self> {
        match &plan.interactive {
            Some(folder) => {
                let database = Database::in_memory()?;
                let files = InputFile::new(folder.join("graph"));
                database.import(&ImportOptions::new([files]), &|_| ())?;
                Self::of_network(&database)
            }
            None => Self::of_rmat(plan),
        }
    }

    /// What this is.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    fn of_rmat(plan: &Plan) -> Result<Self> {
        Self::of_rmat_with(plan, plan.scale.saturating_sub(SMALLER))
    }

    /// R-MAT with 2^`scale` vertices, half of each label.
    ///
    /// # Errors
    /// As [`Shape::of`].
    pub fn of_rmat_with(plan: &Plan, scale: u32) -> Result<Self> {
        let plan = Plan { scale, file_graph: None, ..plan.clone() };
        let half = plan.vertices() / 2;
        let mut edges = BTreeMap::<_, Vec<_>>::new();
        for (source, target) in distinct(&plan, DEGREE)? {
            let [from, to] = [source / half, target / half].map(|label| label as usize);
            let edge_type = ["KNOWS", "LIKES", "KNOWN_BY", "LIKE"][2 * from + to];
            edges.entry((edge_type.to_owned(), from, to)).or_default().push((source % half, target % half));
        }
        let labels = vec![("Person".to_owned(), half), ("Item".to_owned(), half)];
        Ok(Self::titled("R-MAT", labels, edges))
    }

    fn of_network(database: &Database) -> Result<Self> {
        let snapshot = database.snapshot();
        let mut labels: Vec<(String, u32)> = Vec::new();
        let mut rows: HashMap<VertexId, (usize, u32)> = HashMap::new();
        for vertex in snapshot.vertices(None)? {
            let label = snapshot.label_of(vertex)?.unwrap_or_default();
            let at = labels.iter().position(|(known, _)| *known == label).unwrap_or_else(|| {
                labels.push((label, 0));
                labels.len() - 1
            });
            rows.insert(vertex, (at, labels[at].1));
            labels[at].1 += 1;
        }
        let mut edges = BTreeMap::<_, Vec<_>>::new();
        for edge in snapshot.gremlin("g.E()").values::<EdgeId>()? {
            let [(from, source), (to, target)] = [rows[&edge.source], rows[&edge.target]];
            edges.entry((snapshot.type_of(edge), from, to)).or_default().push((source, target));
        }
        Ok(Self::titled("LDBC's network", labels, edges))
    }

    /// Labels, types and degrees like those of LDBC's network, drawn: a tenth or so of 2^`scale` vertices are persons, who know each
    /// other as in R-MAT, and most are messages, whose authors and readers are few persons above all.
    ///
    /// # Errors
    /// As [`Shape::of`].
    pub fn of_drawn_network(plan: &Plan, scale: u32) -> Result<Self> {
        const PURPOSE: u64 = 411;
        let knows = Plan { scale: scale.saturating_sub(3).max(1), file_graph: None, ..plan.clone() };
        let persons = knows.vertices();
        let [messages, forums, tags] = [6 * persons, persons / 2, persons / 2];
        let mut random = Random::new(plan.seed, PURPOSE, 0);
        let mut below = |end: u32| random.below(u64::from(end.max(1))) as u32;
        let [person, message, forum, tag] = [0, 1, 2, 3];
        let mut edges = BTreeMap::<_, BTreeSet<(u32, u32)>>::new();
        edges.insert(("KNOWS".to_owned(), person, person), distinct(&knows, DEGREE)?.into_iter().collect());
        let mut draw = |edge_type: &str, from, to, count: u32, ends: &mut dyn FnMut(u32) -> (u32, u32)| {
            edges.insert((edge_type.to_owned(), from, to), (0..count).map(ends).collect());
        };
        // The lower of two draws, and of those the lower again: the first ones have most.
        let mut few = |end: u32| {
            let first = below(end) + 1;
            below(first)
        };
        draw("HAS_CREATOR", message, person, messages, &mut |at| (at, few(persons)));
        draw("REPLY_OF", message, message, messages / 2, &mut |at| {
            (messages / 2 + at, few(messages / 2 + at))
        });
        draw("LIKES", person, message, 2 * messages, &mut |at| (few(persons), at % messages));
        draw("HAS_MEMBER", forum, person, 8 * forums, &mut |at| (at % forums, few(persons)));
        draw("CONTAINER_OF", forum, message, messages / 2, &mut |at| (few(forums), at));
        draw("HAS_TAG", message, tag, messages, &mut |at| (at, few(tags)));
        let labels = [("Person", persons), ("Message", messages), ("Forum", forums), ("Tag", tags)];
        let labels = labels.map(|(label, vertices)| (label.to_owned(), vertices)).to_vec();
        let edges = edges.into_iter().map(|(of, edges)| (of, edges.into_iter().collect())).collect();
        Ok(Self::titled("drawn like LDBC's network", labels, edges))
    }

    fn titled(
        of: &str,
        labels: Vec<(String, u32)>,
        edges: BTreeMap<(String, usize, usize), Vec<(u32, u32)>>,
    ) -> Self {
        let vertices: u32 = labels.iter().map(|(_, vertices)| vertices).sum();
        let count: usize = edges.values().map(Vec::len).sum();
        let types: BTreeSet<&String> = edges.keys().map(|(edge_type, _, _)| edge_type).collect();
        let title = format!(
            "{of}: {vertices} vertices of {} labels, {count} edges of {} types, properties of our own",
            labels.len(),
            types.len()
        );
        Self { labels, edges, title }
    }

    /// Makes a database of it, with its indexes.
    ///
    /// # Errors
    /// What loading meets.
    pub fn make(&self, seed: u64) -> Result<Made> {
        let database = Database::in_memory()?;
        let mut random = Random::new(seed, PURPOSE, 0);
        let mut uid = 0;
        let all: u32 = self.labels.iter().map(|(_, vertices)| vertices).sum();
        let names = u64::from(all) / NAMES as u64;
        let vertices = self.labels.iter().map(|(label, vertices)| {
            let blocks = (0..*vertices).step_by(BLOCK_ROWS).map(|from| {
                let rows = (*vertices - from).min(BLOCK_ROWS as u32);
                let mut columns = [(); 2].map(|()| PackedColumnBuilder::default());
                for _ in 0..rows {
                    columns[0].push_i64(uid);
                    columns[1].push_text(&format!("name {}", random.below(names)));
                    uid += 1;
                }
                VertexBlock {
                    rows: rows as usize,
                    columns: columns.map(PackedColumnBuilder::finish).to_vec(),
                }
            });
            let properties = [("uid", ValueType::I64), ("name", ValueType::String)];
            let properties = properties.map(|(key, value_type)| (key.to_owned(), value_type)).to_vec();
            VertexTable::new(label, properties, blocks.collect())
        });
        let vertices = vertices.collect();
        let edges = self.edges.iter().map(|((edge_type, from, to), edges)| {
            let blocks = edges.chunks(BLOCK_ROWS).map(|edges| {
                let mut since = PackedColumnBuilder::default();
                edges.iter().for_each(|_| since.push_i64(random.below(SINCE as u64) as i64));
                EdgeBlock { columns: vec![since.finish()], ..EdgeBlock::bare(edges.iter().copied()) }
            });
            let properties = vec![("since".to_owned(), ValueType::I64)];
            EdgeTable::new(edge_type, *from, *to, properties, blocks.collect())
        });
        let load = Load { vertices, edges: edges.collect() };
        database.load(&load, &|_| (), &Default::default())?;
        for (label, _) in &self.labels {
            database.create_unique_index(label, "uid")?;
            database.create_index(&IndexOptions::on_label(label, "name"))?;
        }
        let types: BTreeSet<&String> = self.edges.keys().map(|(edge_type, _, _)| edge_type).collect();
        for edge_type in &types {
            database.create_index(&IndexOptions::on_edges(edge_type, "since"))?;
        }
        let snapshot = database.snapshot();
        let vertices = snapshot.vertices(None)?;
        let edges: Vec<EdgeId> = snapshot.gremlin("g.E()").values()?;
        let labels = self.labels.iter().map(|(label, _)| label.clone()).collect();
        let types = types.into_iter().cloned().collect();
        Ok(Made { population: Population::new(labels, types, vertices, edges, &mut random), database })
    }
}
