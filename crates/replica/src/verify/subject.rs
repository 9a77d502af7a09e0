//! Subject: what is compared apart: the vertices of one rule, or the edges of one rule or of one foreign key.

use crate::copy::passes::{CopyPass, EdgeRule, EdgeSource, kept_cells};
use crate::mapping::plan::{EdgeIdentity, Plan, TablePlan, VertexPlan};
use evergraph_files::import::mapping::table::MissingEnd;
use std::collections::BTreeSet;

/// The vertices of one rule.
#[derive(Debug)]
pub struct VertexSubject<'p> {
    /// The table.
    pub table: &'p TablePlan,
    /// The rule.
    pub vertex: &'p VertexPlan,
    /// The names of properties and their cells, by name.
    pub properties: Vec<(&'p str, usize)>,
    /// Whether vertices without a row stand in for ends of edges (`missing = "create"`).
    pub may_be_created: bool,
}

/// The edges of one source.
#[derive(Debug)]
pub struct EdgeSubject<'p> {
    /// What says that they exist.
    pub source: EdgeSource<'p>,
    /// The names of properties, by name, and their places among those of the source.
    pub properties: Vec<(&'p str, usize)>,
}

/// The subjects of a pass for vertices, read by read.
#[must_use]
pub fn vertex_subjects<'p>(pass: &'p CopyPass, plan: &Plan) -> Vec<Vec<VertexSubject<'p>>> {
    let created = created_labels(plan);
    let of_table = |read| {
        let table = pass.table(read);
        let subject = |vertex: &'p VertexPlan| {
            let own = vertex.properties.iter().enumerate().map(|(at, property)| (&*property.name, at));
            let mut properties: Vec<(&str, usize)> =
                own.chain(kept_cells(table, vertex).map(|(name, _, at)| (name, at))).collect();
            properties.sort_unstable();
            VertexSubject { table, vertex, properties, may_be_created: created.contains(&vertex.label) }
        };
        table.vertices.iter().map(subject).collect()
    };
    (0..pass.reads.len()).map(of_table).collect()
}

/// The subjects of a pass for edges, read by read.
#[must_use]
pub fn edge_subjects(pass: &CopyPass) -> Vec<Vec<EdgeSubject<'_>>> {
    let of_table = |read| pass.edge_sources(read).into_iter().map(EdgeSubject::new).collect();
    (0..pass.reads.len()).map(of_table).collect()
}

/// Both passes over the source that a comparison makes: those of a copy for a database that follows.
#[must_use]
pub fn passes(plan: &Plan) -> [CopyPass; 2] {
    [CopyPass::of_vertices(plan), CopyPass::of_edges(plan)]
}

/// The labels of vertices that may stand in for ends of edges.
fn created_labels(plan: &Plan) -> BTreeSet<String> {
    let sources = plan.tables.iter().flat_map(EdgeSource::of_table);
    let created = sources.filter(|source| source.missing() == MissingEnd::Create);
    created.flat_map(|source| [source.start, source.end]).map(|end| end.label.to_owned()).collect()
}

impl VertexSubject<'_> {
    /// What people call it.
    #[must_use]
    pub fn title(&self) -> String {
        format!("vertices {}", self.vertex.label)
    }
}

impl<'p> EdgeSubject<'p> {
    fn new(source: EdgeSource<'p>) -> Self {
        let mut properties: Vec<(&str, usize)> =
            source.properties().enumerate().map(|(at, (name, _))| (name, at)).collect();
        properties.sort_unstable();
        Self { source, properties }
    }

    /// What people call it.
    #[must_use]
    pub fn title(&self) -> String {
        let EdgeSource { start, end, .. } = &self.source;
        format!("edges {} from {} to {}", self.source.edge_type(), start.label, end.label)
    }

    /// Which of start and end, and of the key, say which edge it is.
    #[must_use]
    pub fn identity(&self) -> EdgeIdentityParts {
        match self.source.rule {
            EdgeRule::ForeignKey(..) if self.source.start.is_row => EdgeIdentityParts::Start,
            EdgeRule::ForeignKey(..) => EdgeIdentityParts::End,
            EdgeRule::Row(edge) => match edge.identity {
                EdgeIdentity::Ends => EdgeIdentityParts::Both,
                EdgeIdentity::Key(_) => EdgeIdentityParts::Key,
            },
        }
    }
}

/// What says which edge it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EdgeIdentityParts {
    /// The vertex where it begins, which its row is.
    Start,
    /// The vertex where it ends, which its row is.
    End,
    /// Both ends.
    Both,
    /// Its key, the first of its properties.
    Key,
}
