//! Graphs: what rows come to, said as simply as can be, and what a database has.

use crate::source::Source;
use crate::world::World;
use evergraph::Database;
use evergraph_files::import::mapping::table::MissingEnd;
use evergraph_graph::id::VertexId;
use evergraph_graph::value::Value;
use evergraph_graph::view::{EdgeCursor, GraphView, VertexCursor};
use evergraph_replica::mapping::plan::{EdgeIdentity, PropertyPlan, TablePlan};
use evergraph_replica::pgoutput::tuple::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// Properties by name.
type Properties = BTreeMap<String, String>;
/// A vertex: its label and key.
type VertexKey = (String, Value);

/// A graph as lines: a vertex or an edge each, with all properties.
pub type Lines = Vec<String>;

struct EdgeRow {
    /// The place of its rule in the mapping.
    rule: usize,
    edge_type: String,
    start: VertexKey,
    end: VertexKey,
    properties: Properties,
    creates: [bool; 2],
}

/// What the rows of `source` come to, and how many of their edges wait for an end, by the place of the rule in the mapping.
pub fn of_rows(world: &World, source: &Source) -> (Lines, BTreeMap<usize, u64>) {
    let mut vertices: BTreeMap<VertexKey, Properties> = BTreeMap::new();
    let mut edges = Vec::new();
    for plan in &world.plan.tables {
        let table = world.table(&plan.name);
        let spec = &world.tables[table];
        for row in &source.rows[table] {
            let cell = |name: &str| {
                row[spec.column(name)].as_ref().map_or(Cell::Null, |text| Cell::Text(text.as_bytes()))
            };
            let cells: Vec<Cell<'_>> = plan.columns.iter().map(|column| cell(&column.name)).collect();
            for vertex in &plan.vertices {
                if vertex.condition.as_ref().is_some_and(|condition| !condition.selects(&cells).unwrap()) {
                    continue;
                }
                let key = vertex.key.read(&cells).unwrap().unwrap();
                let me = (vertex.label.clone(), key.clone());
                let mut own = properties(plan, &vertex.properties, &cells);
                own.insert(vertex.key.property.clone(), shown(&key));
                for edge in &vertex.edges {
                    let Some(end) = edge.end.key.read(&cells).unwrap() else { continue };
                    let of_edge = properties(plan, &edge.properties, &cells);
                    if let Some(waiting) = &edge.waiting {
                        own.insert(waiting.key.clone(), shown(&end));
                        for (name, property) in waiting.properties.iter().zip(&edge.properties) {
                            own.extend(
                                of_edge.get(&property.name).map(|value| (name.clone(), value.clone())),
                            );
                        }
                    }
                    let other = (edge.end.label.clone(), end);
                    let creates = edge.missing == MissingEnd::Create && !edge.end.is_promised;
                    let (start, end, creates) = match edge.reverse {
                        false => (me.clone(), other, [false, creates]),
                        true => (other, me.clone(), [creates, false]),
                    };
                    let edge_type = edge.edge_type.clone();
                    edges.push(EdgeRow {
                        rule: vertex.rule,
                        edge_type,
                        start,
                        end,
                        properties: of_edge,
                        creates,
                    });
                }
                assert!(vertices.insert(me, own).is_none(), "keys are unique");
            }
            for edge in &plan.edges {
                if edge.condition.as_ref().is_some_and(|condition| !condition.selects(&cells).unwrap()) {
                    continue;
                }
                let (start, end) = (edge.start.key.read(&cells).unwrap(), edge.end.key.read(&cells).unwrap());
                let (Some(mut start), Some(mut end)) = (start, end) else { continue };
                if edge.undirected && end < start {
                    std::mem::swap(&mut start, &mut end);
                }
                let mut own = properties(plan, &edge.properties, &cells);
                if let EdgeIdentity::Key(key) = &edge.identity {
                    own.insert(key.property.clone(), shown(&key.read(&cells).unwrap().unwrap()));
                }
                let creates = edge.missing == MissingEnd::Create;
                edges.push(EdgeRow {
                    rule: edge.rule,
                    edge_type: edge.edge_type.clone(),
                    start: (edge.start.label.clone(), start),
                    end: (edge.end.label.clone(), end),
                    properties: own,
                    creates: [creates && !edge.start.is_promised, creates && !edge.end.is_promised],
                });
            }
        }
    }
    for edge in &edges {
        for (end, creates) in [&edge.start, &edge.end].into_iter().zip(edge.creates) {
            if creates && !vertices.contains_key(end) {
                let key = &world.plan.label(&end.0).unwrap().1.key.property;
                vertices.insert(end.clone(), BTreeMap::from([(key.clone(), shown(&end.1))]));
            }
        }
    }
    let is_there = |edge: &&EdgeRow| vertices.contains_key(&edge.start) && vertices.contains_key(&edge.end);
    let mut waiting = BTreeMap::new();
    edges.iter().filter(|edge| !is_there(edge)).for_each(|edge| *waiting.entry(edge.rule).or_default() += 1);
    let of_edges = edges
        .iter()
        .filter(is_there)
        .map(|edge| edge_line(&edge.edge_type, &edge.start, &edge.end, &edge.properties));
    let of_vertices = vertices.iter().map(|(vertex, properties)| vertex_line(vertex, properties));
    (sorted(of_edges.chain(of_vertices)), waiting)
}

/// What a database has, by its newest commit.
pub fn of_database(world: &World, database: &Database) -> Lines {
    let snapshot = database.snapshot();
    let catalogue = snapshot.catalogue();
    let (mut vertices, mut edges) = (Vec::new(), Vec::new());
    snapshot.scan_vertices(None, &mut VertexCursor::default(), usize::MAX, &mut vertices).unwrap();
    snapshot.scan_edges(None, &mut EdgeCursor::default(), usize::MAX, &mut edges).unwrap();
    let mut labels = Vec::new();
    snapshot.labels(&vertices, &mut labels).unwrap();
    let mut keys: BTreeMap<VertexId, VertexKey> = BTreeMap::new();
    let mut lines = Vec::new();
    for (vertex, label) in vertices.iter().zip(labels) {
        let label = catalogue.label_name(label.unwrap()).to_string();
        let map = snapshot.vertex_property_map(*vertex).unwrap();
        let property = &world.plan.label(&label).unwrap().1.key.property;
        let key = map.iter().find(|(key, _)| *catalogue.key_name(*key) == **property).unwrap().1.clone();
        let named =
            map.iter().map(|(key, value)| (catalogue.key_name(*key).to_string(), shown(value))).collect();
        lines.push(vertex_line(&(label.clone(), key.clone()), &named));
        keys.insert(*vertex, (label, key));
    }
    for edge in edges {
        let map = snapshot.edge_property_map(edge).unwrap();
        let named =
            map.iter().map(|(key, value)| (catalogue.key_name(*key).to_string(), shown(value))).collect();
        let edge_type = catalogue.edge_type_name(edge.edge_type);
        lines.push(edge_line(&edge_type, &keys[&edge.source], &keys[&edge.target], &named));
    }
    sorted(lines.into_iter())
}

/// What only one of both has.
pub fn differences(expected: &Lines, found: &Lines) -> Option<String> {
    if expected == found {
        return None;
    }
    let sets: [BTreeSet<&String>; 2] = [expected.iter().collect(), found.iter().collect()];
    let missing: Vec<_> = sets[0].difference(&sets[1]).collect();
    let extra: Vec<_> = sets[1].difference(&sets[0]).collect();
    Some(format!(
        "missing: {missing:#?}\nextra: {extra:#?}\n{} lines expected, {} found",
        expected.len(),
        found.len()
    ))
}

fn sorted(lines: impl Iterator<Item = String>) -> Lines {
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines
}

fn properties(table: &TablePlan, plans: &[PropertyPlan], cells: &[Cell<'_>]) -> Properties {
    let read = |plan: &PropertyPlan| {
        let Cell::Text(text) = cells[plan.column] else { return None };
        let value = plan.form.read(&table.columns[plan.column].column_type, text).ok()?;
        Some((plan.name.clone(), shown(&value)))
    };
    plans.iter().filter_map(read).collect()
}

/// A value with its type.
fn shown(value: &Value) -> String {
    format!("{value:?}")
}

fn vertex_line(vertex: &VertexKey, properties: &Properties) -> String {
    format!("({} {}) {properties:?}", vertex.0, vertex.1)
}

fn edge_line(edge_type: &str, start: &VertexKey, end: &VertexKey, properties: &Properties) -> String {
    format!("({} {})-[{edge_type}]->({} {}) {properties:?}", start.0, start.1, end.0, end.1)
}
