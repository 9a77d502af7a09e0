//! Rules: the rules of a plan as one numbered list, and what the cells of a change of each mean.
//!
//! ```text
//! vertex   property ... | end of the first foreign key, properties of its edge ... | end of the second ...
//! edge     start, end   | property ...
//! ```

use crate::mapping::plan::{EdgePlan, Plan, TablePlan, VertexPlan};
use crate::pgoutput::relation::Oid;
use hashbrown::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A rule by its place in [`Rules`], which is not its place in the mapping.
pub type RuleNumber = usize;

/// Cells in front of an edge's properties: its start and its end.
pub const EDGE_END_CELLS: usize = 2;

/// All rules of a plan: those of a table beside each other, its vertices before its edges.
#[derive(Clone, Debug)]
pub struct Rules {
    plan: Arc<Plan>,
    entries: Vec<RuleEntry>,
    tables: HashMap<Oid, (usize, Range<RuleNumber>)>,
}

#[derive(Clone, Copy, Debug)]
struct RuleEntry {
    table: usize,
    /// Its place among the table's vertices or edges.
    place: usize,
    of_edges: bool,
    width: usize,
    /// Of a rule of edges, the rules of the labels at their ends.
    ends: Option<(RuleNumber, RuleNumber)>,
}

/// What a rule makes of a row.
#[derive(Clone, Copy, Debug)]
pub enum RulePlan<'a> {
    /// A vertex.
    Vertex(&'a VertexPlan),
    /// An edge.
    Edge(&'a EdgePlan),
}

impl Rules {
    /// The rules of `plan`.
    #[must_use]
    pub fn new(plan: Arc<Plan>) -> Self {
        let (mut entries, mut tables) = (Vec::new(), HashMap::new());
        for (number, table) in plan.tables.iter().enumerate() {
            let first = entries.len();
            for (place, vertex) in table.vertices.iter().enumerate() {
                let width = link_cells(vertex, vertex.edges.len()).start;
                entries.push(RuleEntry { table: number, place, of_edges: false, width, ends: None });
            }
            for (place, edge) in table.edges.iter().enumerate() {
                let width = EDGE_END_CELLS + edge.properties.len();
                entries.push(RuleEntry { table: number, place, of_edges: true, width, ends: None });
            }
            tables.insert(table.table, (number, first..entries.len()));
        }
        let mut rules = Self { plan, entries, tables };
        for rule in 0..rules.len() {
            let RulePlan::Edge(edge) = rules.rule(rule) else { continue };
            let ends = (rules.of_label(&edge.start.label), rules.of_label(&edge.end.label));
            rules.entries[rule].ends = ends.0.zip(ends.1);
        }
        rules
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What the rule makes of a row.
    #[must_use]
    #[inline]
    pub fn rule(&self, rule: RuleNumber) -> RulePlan<'_> {
        let entry = self.entries[rule];
        let table = &self.plan.tables[entry.table];
        match entry.of_edges {
            false => RulePlan::Vertex(&table.vertices[entry.place]),
            true => RulePlan::Edge(&table.edges[entry.place]),
        }
    }

    /// The table whose rows the rule is for.
    #[must_use]
    pub fn table(&self, rule: RuleNumber) -> &TablePlan {
        &self.plan.tables[self.entries[rule].table]
    }

    /// The plan of a table, and its rules.
    #[must_use]
    #[inline]
    pub fn of_table(&self, table: Oid) -> Option<(&TablePlan, Range<RuleNumber>)> {
        let (number, rules) = self.tables.get(&table)?;
        Some((&self.plan.tables[*number], rules.clone()))
    }

    /// How many cells a change of the rule has.
    #[must_use]
    #[inline]
    pub fn width(&self, rule: RuleNumber) -> usize {
        self.entries[rule].width
    }

    /// The plan of a rule of edges.
    #[must_use]
    pub fn edge_plan(&self, rule: RuleNumber) -> Option<&EdgePlan> {
        match self.rule(rule) {
            RulePlan::Edge(edge) => Some(edge),
            RulePlan::Vertex(_) => None,
        }
    }

    /// The rules of the labels at the start and at the end of a rule's edges.
    ///
    /// # Panics
    /// If the rule makes no edges.
    #[must_use]
    pub fn end_rules(&self, rule: RuleNumber) -> (RuleNumber, RuleNumber) {
        self.entries[rule].ends.expect("the rule makes edges")
    }

    /// The rule that makes the vertices of `label`.
    #[must_use]
    pub fn of_label(&self, label: &str) -> Option<RuleNumber> {
        (0..self.len()).find(|rule| match self.rule(*rule) {
            RulePlan::Vertex(vertex) => vertex.label == label,
            RulePlan::Edge(_) => false,
        })
    }
}

impl RulePlan<'_> {
    /// Its place in the mapping.
    #[must_use]
    pub fn place(&self) -> usize {
        match self {
            Self::Vertex(vertex) => vertex.rule,
            Self::Edge(edge) => edge.rule,
        }
    }
}

/// The cells of a vertex's foreign key number `link`: the other end, then the edge's properties. Behind the last one: where
/// the next would begin.
#[must_use]
pub fn link_cells(vertex: &VertexPlan, link: usize) -> Range<usize> {
    let before: usize = vertex.edges[..link].iter().map(|edge| 1 + edge.properties.len()).sum();
    let start = vertex.properties.len() + before;
    start..start + vertex.edges.get(link).map_or(0, |edge| 1 + edge.properties.len())
}
