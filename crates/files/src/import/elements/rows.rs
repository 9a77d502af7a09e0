//! Rows: turns elements into batches: names, ids, and a column for each key of each name.

use crate::import::assembly::batch::{Batch, Columns, Ends, Names};
use crate::import::assembly::id_column::IdColumn;
use crate::import::bad_row::Fault;
use crate::import::faults::{FaultRules, Faults};
use crate::import::field::cell::CellColumn;
use crate::import::id_type::IdKind;
use evergraph_formats::element::{Edge, Element, Vertex, VertexProperty};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::collection::List;
use evergraph_graph::value::{Value, ValueType};
use std::collections::HashMap;
use std::sync::Arc;

/// What is wrong with an element that has a key of no letters.
const NAMELESS: &str = "a property has an empty name";

/// What becomes of the elements of one file.
#[derive(Clone, Debug)]
pub struct ElementRules {
    /// The label of vertices that have none.
    pub vertex_label: String,
    /// The property that keeps the ids of vertices; `None` if one is chosen that they don't have themselves.
    pub vertex_id_key: Option<String>,
    /// The labels of the database whose vertices are known by a key, and that key, which keeps the ids of new
    /// ones if no other is named.
    pub known_id_keys: Arc<HashMap<String, String>>,
    /// The property that keeps the ids of edges; `None` if they are not kept.
    pub edge_id_key: Option<String>,
}

impl ElementRules {
    /// The property that is to keep the ids of vertices of `label`, if it is known already.
    #[must_use]
    pub fn id_key(&self, label: &str) -> Option<&str> {
        self.vertex_id_key.as_deref().or_else(|| self.known_id_keys.get(label).map(String::as_str))
    }
}

/// The elements of one block of a file.
pub struct ElementBlock {
    /// The vertices.
    pub vertices: Batch<IdColumn>,
    /// The edges.
    pub edges: Batch<Ends>,
    /// What can't be loaded.
    pub faults: Faults,
    /// Properties of properties that were left out.
    pub meta_properties: u64,
}

/// Gathers the elements of one block.
pub struct ElementRows<'a> {
    rules: &'a ElementRules,
    vertices: NamedRows,
    ids: IdColumn,
    edges: NamedRows,
    ends: Ends,
    faults: Faults,
    meta_properties: u64,
}

/// Rows of several names and their columns.
#[derive(Default)]
struct NamedRows {
    lines: Vec<u64>,
    names: Names,
    codes: HashMap<String, u32>,
    /// The columns of each name.
    columns: Vec<SparseColumns>,
}

/// Columns that come with the first row that has a value.
#[derive(Default)]
struct SparseColumns {
    rows: usize,
    columns: Vec<(String, PackedColumnBuilder)>,
    places: HashMap<String, usize>,
}

impl<'a> ElementRows<'a> {
    /// No elements yet.
    #[must_use]
    pub fn new(rules: &'a ElementRules, fault_rules: FaultRules) -> Self {
        let ids = || IdColumn::new(IdKind::Values);
        Self {
            rules,
            vertices: NamedRows::default(),
            ids: ids(),
            edges: NamedRows::default(),
            ends: Ends { sources: ids(), targets: ids() },
            faults: Faults::new(fault_rules),
            meta_properties: 0,
        }
    }

    /// Adds the element that begins in `line`. Lines ascend.
    pub fn push(&mut self, line: u64, element: Element) {
        match element {
            Element::Vertex(vertex) => self.push_vertex(line, vertex),
            Element::Edge(edge) => self.push_edge(line, edge),
        }
    }

    /// Adds a vertex. One that can't be loaded is a fault.
    pub fn push_vertex(&mut self, line: u64, vertex: Vertex) {
        let Vertex { id, labels, properties } = vertex;
        let text = || vertex_text(&id.to_string());
        if labels.len() > 1 {
            let why = format!("{} are several labels; a vertex has one", labels.join(", "));
            return self.push_fault(line, Fault::of_row(why, text().as_bytes()));
        }
        let label = labels.into_iter().next();
        let key = self.rules.id_key(label.as_deref().unwrap_or(&self.rules.vertex_label));
        if let Some(key) = key
            && properties.iter().any(|(name, _)| name == key)
        {
            let why = format!(
                "the vertex has a property {key} of its own, but its id is kept under that name: choose \
                 another name for ids (--vertex-id)"
            );
            return self.push_fault(line, Fault::of_row(why, text().as_bytes()));
        }
        if properties.iter().any(|(name, _)| name.is_empty()) {
            return self.push_fault(line, Fault::of_row(NAMELESS.to_owned(), text().as_bytes()));
        }
        let mut values = Vec::with_capacity(properties.len());
        let mut metas = 0;
        for (name, of_key) in properties {
            metas += of_key.iter().map(|property| property.properties.len() as u64).sum::<u64>();
            match one_value(of_key) {
                Ok(value) => values.push((name, value)),
                Err(why) => {
                    let why = format!("property {name}: {why}");
                    return self.push_fault(line, Fault::of_row(why, text().as_bytes()));
                }
            }
        }
        self.meta_properties += metas;
        let label = label.as_deref().unwrap_or(&self.rules.vertex_label);
        self.ids.push_value(&id);
        self.vertices.push(line, label, values);
    }

    /// Adds an edge. One that can't be loaded is a fault.
    pub fn push_edge(&mut self, line: u64, edge: Edge) {
        let Edge { id, edge_type, source, target, mut properties } = edge;
        if properties.iter().any(|(name, _)| name.is_empty()) {
            let text = edge_text(&source.to_string(), &edge_type, &target.to_string());
            return self.push_fault(line, Fault::of_row(NAMELESS.to_owned(), text.as_bytes()));
        }
        if let Some(key) = &self.rules.edge_id_key
            && let Some(id) = id
        {
            if properties.iter().any(|(name, _)| name == key) {
                let text = edge_text(&source.to_string(), &edge_type, &target.to_string());
                let why = format!(
                    "the edge has a property {key} of its own, but its id is kept under that name: choose \
                     another name for ids (--edge-id)"
                );
                return self.push_fault(line, Fault::of_row(why, text.as_bytes()));
            }
            properties.insert(0, (key.clone(), id));
        }
        self.ends.sources.push_value(&source);
        self.ends.targets.push_value(&target);
        self.edges.push(line, &edge_type, properties);
    }

    /// Notes that what begins in `line` can't be loaded. Lines ascend.
    pub fn push_fault(&mut self, line: u64, fault: Fault) {
        self.faults.push(line, || fault);
    }

    /// The elements of the block.
    #[must_use]
    pub fn finish(self) -> ElementBlock {
        ElementBlock {
            vertices: self.vertices.finish(self.ids),
            edges: self.edges.finish(self.ends),
            faults: self.faults,
            meta_properties: self.meta_properties,
        }
    }
}

impl NamedRows {
    fn push(&mut self, line: u64, name: &str, properties: Vec<(String, Value)>) {
        let code = match self.codes.get(name) {
            Some(code) => *code,
            None => {
                let code = self.names.names.len() as u32;
                self.codes.insert(name.to_owned(), code);
                self.names.names.push(name.to_owned());
                self.columns.push(SparseColumns::default());
                code
            }
        };
        self.lines.push(line);
        self.names.codes.push(code);
        self.columns[code as usize].push(properties);
    }

    fn finish<Ids>(self, ids: Ids) -> Batch<Ids> {
        let columns = self.columns.into_iter().map(SparseColumns::finish).collect();
        Batch { lines: self.lines, ids, names: self.names, columns: Columns::ByName(columns) }
    }
}

impl SparseColumns {
    /// Adds a row. No key stands twice among its properties.
    fn push(&mut self, properties: Vec<(String, Value)>) {
        for (at, (key, value)) in properties.into_iter().enumerate() {
            // Most rows have the keys of the one before, in its order.
            let place = match self.columns.get(at) {
                Some((known, _)) if *known == key => at,
                _ => match self.places.get(&key) {
                    Some(place) => *place,
                    None => {
                        self.places.insert(key.clone(), self.columns.len());
                        self.columns.push((key, PackedColumnBuilder::default()));
                        self.columns.len() - 1
                    }
                },
            };
            let column = &mut self.columns[place].1;
            fill(column, self.rows);
            column.push(Some(&value));
        }
        self.rows += 1;
    }

    fn finish(self) -> Vec<(String, CellColumn)> {
        let rows = self.rows;
        let finished = self.columns.into_iter().map(|(key, mut column)| {
            fill(&mut column, rows);
            let column = column.finish();
            let value_type = column.as_ref().map_or(ValueType::Any, |column| column.value_type());
            (key, CellColumn { value_type, column })
        });
        finished.collect()
    }
}

/// Gives `column` entries without values up to `rows`.
fn fill(column: &mut PackedColumnBuilder, rows: usize) {
    while column.len() < rows {
        column.push_nothing();
    }
}

/// The values of one key as one: a list, if there are several.
fn one_value(mut values: Vec<VertexProperty>) -> Result<Value, String> {
    if values.len() == 1
        && let Some(only) = values.pop()
    {
        return Ok(only.value);
    }
    let list = List::new(values.into_iter().map(|property| property.value).collect());
    list.map(Value::List).map_err(|error| error.to_string())
}

/// A vertex as reports of bad rows show it.
#[must_use]
pub fn vertex_text(id: &str) -> String {
    format!("vertex {id}")
}

/// An edge as reports of bad rows show it.
#[must_use]
pub fn edge_text(source: &str, edge_type: &str, target: &str) -> String {
    format!("edge {source} -[{edge_type}]-> {target}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::faults::{FaultCollector, OnBadRow};

    fn rules() -> ElementRules {
        ElementRules {
            vertex_label: "Vertex".to_owned(),
            vertex_id_key: Some("id".to_owned()),
            known_id_keys: Arc::default(),
            edge_id_key: Some("edge_id".to_owned()),
        }
    }

    fn vertex(id: i32, labels: &[&str], properties: &[(&str, &[i64])]) -> Vertex {
        let property = |number: &i64| VertexProperty {
            properties: vec![("since".to_owned(), Value::I64(*number))],
            ..Value::I64(*number).into()
        };
        Vertex {
            id: Value::I32(id),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            properties: properties
                .iter()
                .map(|(key, numbers)| ((*key).to_owned(), numbers.iter().map(property).collect()))
                .collect(),
        }
    }

    #[test]
    fn keys_get_columns_of_their_label_with_gaps_and_several_values_are_a_list() {
        let (rules, faults) = (rules(), FaultCollector::new(OnBadRow::Skip { at_most: None }, None));
        let mut rows = ElementRows::new(&rules, faults.rules());
        rows.push_vertex(1, vertex(1, &["A"], &[("x", &[1])]));
        rows.push_vertex(2, vertex(2, &[], &[]));
        rows.push_vertex(3, vertex(3, &["A"], &[("y", &[5]), ("x", &[2, 3])]));
        rows.push_vertex(4, vertex(4, &["A", "B"], &[]));
        rows.push_vertex(5, vertex(5, &["A"], &[("id", &[7])]));
        let block = rows.finish();
        assert_eq!((block.faults.count(), block.meta_properties), (2, 4));
        assert_eq!(block.vertices.names.names, ["A", "Vertex"]);
        assert_eq!((block.vertices.names.codes, block.vertices.lines), (vec![0, 1, 0], vec![1, 2, 3]));
        let Columns::ByName(columns) = block.vertices.columns else { unreachable!() };
        let [(x, x_cells), (y, y_cells)] = &columns[0][..] else { panic!("two keys") };
        assert_eq!((x.as_str(), y.as_str(), columns[1].len()), ("x", "y", 0));
        let get = |cells: &CellColumn, row| cells.column.as_ref().unwrap().get(row);
        assert_eq!(
            (get(x_cells, 0), get(x_cells, 1).unwrap().to_string()),
            (Some(Value::I64(1)), "[2, 3]".into())
        );
        assert_eq!((x_cells.value_type, y_cells.value_type), (ValueType::Any, ValueType::I64));
        assert_eq!((get(y_cells, 0), get(y_cells, 1)), (None, Some(Value::I64(5))));
    }

    #[test]
    fn an_edge_keeps_its_id_under_the_key_that_is_told() {
        let (rules, faults) = (rules(), FaultCollector::new(OnBadRow::Stop, None));
        let mut rows = ElementRows::new(&rules, faults.rules());
        let edge = |properties| Edge {
            id: Some(Value::I64(9)),
            edge_type: "knows".to_owned(),
            source: Value::I32(1),
            target: Value::I32(2),
            properties,
        };
        rows.push_edge(1, edge(Vec::new()));
        rows.push_edge(2, edge(vec![("edge_id".to_owned(), Value::I64(1))]));
        let block = rows.finish();
        assert_eq!((block.edges.lines.len(), block.faults.count()), (1, 1));
        let Columns::ByName(columns) = block.edges.columns else { unreachable!() };
        assert_eq!(columns[0][0].0, "edge_id");
        assert_eq!(
            (block.edges.ids.sources.show(0), block.edges.ids.targets.show(0)),
            ("1".into(), "2".into())
        );
    }
}
