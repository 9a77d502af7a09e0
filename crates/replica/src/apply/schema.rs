//! Schema: the numbers by which the graph knows what the rules name, and which rule an edge comes from.

use crate::apply::error::ApplyResult;
use crate::mapping::plan::{EdgeIdentity, EndPlan, PropertyPlan, TablePlan};
use crate::translate::rules::{RuleNumber, RulePlan, Rules};
use evergraph::index::IndexOptions;
use evergraph::ownership::Ownership;
use evergraph::transaction::TransactionById;
use evergraph_files::import::mapping::table::MissingEnd;
use evergraph_graph::id::{Direction, KeyId, LabelId, TypeId};
use evergraph_graph::transaction::Transaction as _;
use std::collections::HashMap;
use std::sync::Arc;

/// The names of a plan in one graph.
#[derive(Debug)]
pub(super) struct GraphSchema {
    pub(super) rules: Arc<Rules>,
    pub(super) vertices: Vec<Option<VertexSchema>>,
    pub(super) edges: Vec<Option<EdgeSchema>>,
    sources: HashMap<(TypeId, LabelId, LabelId), EdgeSource>,
    /// For each rule of vertices, the foreign keys that wait for them: rule and number of the link.
    pub(super) waiting_links: Vec<Vec<(RuleNumber, usize)>>,
    /// For each rule of vertices, whether edges create them.
    pub(super) is_created: Vec<bool>,
}

/// A rule of vertices.
#[derive(Debug)]
pub(super) struct VertexSchema {
    pub(super) label: LabelId,
    pub(super) key: KeyId,
    pub(super) properties: Vec<KeyId>,
    pub(super) links: Vec<LinkSchema>,
}

/// A foreign key of a vertex.
#[derive(Debug)]
pub(super) struct LinkSchema {
    /// The rule of its row.
    pub(super) rule: RuleNumber,
    pub(super) edge_type: TypeId,
    /// On which side of the row's vertex the edge is.
    pub(super) side: Direction,
    pub(super) end: EndSchema,
    pub(super) properties: Vec<KeyId>,
    pub(super) waiting: Option<(KeyId, Vec<KeyId>)>,
}

/// A rule of edges.
#[derive(Debug)]
pub(super) struct EdgeSchema {
    pub(super) edge_type: TypeId,
    pub(super) start: EndSchema,
    pub(super) end: EndSchema,
    /// The property that identifies an edge, if its ends don't.
    pub(super) key: Option<KeyId>,
    pub(super) properties: Vec<KeyId>,
}

/// An end of an edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndSchema {
    /// The rule of its label.
    pub(super) rule: RuleNumber,
    pub(super) if_missing: IfMissing,
}

/// What happens if the end of an edge is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IfMissing {
    /// The source promised it: something is wrong.
    BrokenPromise,
    /// The edge waits for it.
    Wait,
    /// A vertex stands in for it.
    Create,
    /// A person is to look at it.
    Stop,
}

/// Where edges of a type between two labels come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EdgeSource {
    /// The foreign key `link` of a rule of vertices.
    Link { rule: RuleNumber, link: usize },
    /// A rule of edges.
    Rule(RuleNumber),
}

impl LinkSchema {
    /// Whether the row's vertex keeps the key of its other end in the property `key`.
    pub(super) fn keeps_end_in(&self, key: KeyId) -> bool {
        self.waiting.as_ref().is_some_and(|(kept, _)| *kept == key)
    }
}

impl GraphSchema {
    /// Declares in the database what the rules name, with the indexes that they need, so far as it is not there.
    pub(super) fn declare(ownership: &mut Ownership, rules: &Arc<Rules>) -> ApplyResult<Self> {
        let mut transaction = ownership.begin()?;
        let schema = Self::bind(transaction.by_id(), rules)?;
        transaction.commit()?;
        schema.create_indexes(ownership)?;
        Ok(schema)
    }

    fn bind(graph: &mut TransactionById, rules: &Arc<Rules>) -> ApplyResult<Self> {
        let mut schema = Self {
            rules: Arc::clone(rules),
            vertices: Vec::new(),
            edges: Vec::new(),
            sources: HashMap::new(),
            waiting_links: vec![Vec::new(); rules.len()],
            is_created: vec![false; rules.len()],
        };
        for rule in 0..rules.len() {
            let table = rules.table(rule);
            let (mut vertices, mut edges) = (None, None);
            match rules.rule(rule) {
                RulePlan::Vertex(plan) => {
                    let label = graph.label(&plan.label)?;
                    let key = graph.key(&plan.key.property)?;
                    graph.declare_vertex_property(label, key, plan.key.value_type())?;
                    let mut properties = Vec::with_capacity(plan.properties.len());
                    for property in &plan.properties {
                        let key = graph.key(&property.name)?;
                        graph.declare_vertex_property(label, key, property.value_type(&table.columns))?;
                        properties.push(key);
                    }
                    let mut links = Vec::with_capacity(plan.edges.len());
                    for (number, edge) in plan.edges.iter().enumerate() {
                        let edge_type = graph.edge_type(&edge.edge_type)?;
                        let mut waiting = None;
                        if let Some(kept) = &edge.waiting {
                            let key = graph.key(&kept.key)?;
                            graph.declare_vertex_property(label, key, edge.end.key.value_type())?;
                            let mut keys = Vec::with_capacity(kept.properties.len());
                            for (name, property) in kept.properties.iter().zip(&edge.properties) {
                                let key = graph.key(name)?;
                                let value_type = property.value_type(&table.columns);
                                graph.declare_vertex_property(label, key, value_type)?;
                                keys.push(key);
                            }
                            waiting = Some((key, keys));
                        }
                        let end = schema.end(&edge.end, edge.missing);
                        if waiting.is_some() {
                            schema.waiting_links[end.rule].push((rule, number));
                        }
                        links.push(LinkSchema {
                            rule,
                            edge_type,
                            side: if edge.reverse { Direction::In } else { Direction::Out },
                            end,
                            properties: edge_keys(graph, edge_type, &edge.properties, table)?,
                            waiting,
                        });
                    }
                    vertices = Some(VertexSchema { label, key, properties, links });
                }
                RulePlan::Edge(plan) => {
                    let edge_type = graph.edge_type(&plan.edge_type)?;
                    let mut key = None;
                    if let EdgeIdentity::Key(plan) = &plan.identity {
                        let id = graph.key(&plan.property)?;
                        graph.declare_edge_property(edge_type, id, plan.value_type())?;
                        key = Some(id);
                    }
                    edges = Some(EdgeSchema {
                        edge_type,
                        start: schema.end(&plan.start, plan.missing),
                        end: schema.end(&plan.end, plan.missing),
                        key,
                        properties: edge_keys(graph, edge_type, &plan.properties, table)?,
                    });
                }
            }
            schema.vertices.push(vertices);
            schema.edges.push(edges);
        }
        schema.find_sources();
        Ok(schema)
    }

    fn end(&mut self, end: &EndPlan, missing: MissingEnd) -> EndSchema {
        let rule = self.rules.of_label(&end.label).expect("a plan has a rule for the label of each end");
        let if_missing = match missing {
            _ if end.is_promised => IfMissing::BrokenPromise,
            MissingEnd::Wait => IfMissing::Wait,
            MissingEnd::Create => IfMissing::Create,
            MissingEnd::Stop => IfMissing::Stop,
        };
        self.is_created[rule] |= if_missing == IfMissing::Create;
        EndSchema { rule, if_missing }
    }

    fn find_sources(&mut self) {
        for (rule, vertex) in self.vertices.iter().enumerate() {
            let Some(vertex) = vertex else { continue };
            for (link, edge) in vertex.links.iter().enumerate() {
                let other = self.vertex(edge.end.rule).label;
                let (start, end) = match edge.side {
                    Direction::In => (other, vertex.label),
                    _ => (vertex.label, other),
                };
                self.sources.insert((edge.edge_type, start, end), EdgeSource::Link { rule, link });
            }
        }
        for (rule, edge) in self.edges.iter().enumerate() {
            let Some(edge) = edge else { continue };
            let (start, end) = (self.vertex(edge.start.rule).label, self.vertex(edge.end.rule).label);
            self.sources.insert((edge.edge_type, start, end), EdgeSource::Rule(rule));
        }
    }

    fn create_indexes(&self, ownership: &Ownership) -> ApplyResult<()> {
        let database = ownership.database();
        for rule in 0..self.rules.len() {
            match self.rules.rule(rule) {
                RulePlan::Vertex(plan) => {
                    database
                        .create_index(&IndexOptions::on_label(&plan.label, &plan.key.property).unique())?;
                    for waiting in plan.edges.iter().filter_map(|edge| edge.waiting.as_ref()) {
                        database.create_index(&IndexOptions::on_label(&plan.label, &waiting.key))?;
                    }
                }
                RulePlan::Edge(plan) => {
                    if let EdgeIdentity::Key(key) = &plan.identity {
                        let index = IndexOptions::on_edges(&plan.edge_type, &key.property).unique();
                        database.create_index(&index)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The names of a rule of vertices.
    #[inline]
    pub(super) fn vertex(&self, rule: RuleNumber) -> &VertexSchema {
        self.vertices[rule].as_ref().expect("the rule makes vertices")
    }

    /// The names of a rule of edges.
    #[inline]
    pub(super) fn edge(&self, rule: RuleNumber) -> &EdgeSchema {
        self.edges[rule].as_ref().expect("the rule makes edges")
    }

    /// Where an edge comes from; `None` of one that no rule makes.
    pub(super) fn source(&self, edge_type: TypeId, start: LabelId, end: LabelId) -> Option<EdgeSource> {
        self.sources.get(&(edge_type, start, end)).copied()
    }

    /// The types of the edges at vertices of `label`, those of several labels more than once.
    pub(super) fn types_of(&self, label: LabelId) -> impl Iterator<Item = TypeId> {
        let is_of = move |(_, start, end): &&(TypeId, LabelId, LabelId)| *start == label || *end == label;
        self.sources.keys().filter(is_of).map(|(edge_type, ..)| *edge_type)
    }

    /// The rule's name for people: its label or type.
    pub(super) fn name(&self, rule: RuleNumber) -> &str {
        match self.rules.rule(rule) {
            RulePlan::Vertex(plan) => &plan.label,
            RulePlan::Edge(plan) => &plan.edge_type,
        }
    }
}

fn edge_keys(
    graph: &mut TransactionById,
    edge_type: TypeId,
    properties: &[PropertyPlan],
    table: &TablePlan,
) -> ApplyResult<Vec<KeyId>> {
    let mut keys = Vec::with_capacity(properties.len());
    for property in properties {
        let key = graph.key(&property.name)?;
        graph.declare_edge_property(edge_type, key, property.value_type(&table.columns))?;
        keys.push(key);
    }
    Ok(keys)
}
