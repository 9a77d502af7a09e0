//! Property graph: tables of vertices and edges that servers and stores of others load, with the keys that each of them indexes.
//!
//! ```text
//! vertices[0]  label Person, besides Message...    edges[0]  type KNOWS   source 0  target 0
//!              columns id, email (a list)                    ends (row, row)   columns creationDate
//!
//! evergraph    a bulk load                          JVMs      vertices.jsonl, edges.jsonl, schema.json
//! neo4j        statements of 10,000 rows
//! ```
//!
//! Whole numbers are longs everywhere, dates are such numbers, and a list stands for several values of one key.

use evergraph::{Database, IndexOptions, Value};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::builder::PackedColumnBuilder;
use evergraph_graph::packed_column::column::PackedColumn;
use evergraph_graph::value::ValueType;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::ops::Range;
use std::path::Path;

/// Rows of a statement of Neo4j's.
const ROWS: usize = 10_000;

/// A property of all rows of a table.
pub struct Column {
    /// Its key.
    pub key: String,
    /// What all values are: a whole number, a text or a list of texts.
    pub value_type: ValueType,
    /// A value a row.
    pub values: Vec<Option<Value>>,
}

/// The vertices of one label.
pub struct VertexRows {
    /// The label.
    pub label: String,
    /// A further label where a vertex may have several.
    pub also: Option<&'static str>,
    /// How many.
    pub rows: usize,
    /// Their properties.
    pub columns: Vec<Column>,
}

/// The edges of one type between two labels.
pub struct EdgeRows {
    /// The type.
    pub edge_type: String,
    /// The place of the label where they begin.
    pub source: usize,
    /// Where they end.
    pub target: usize,
    /// Rows of both ends.
    pub ends: Vec<(u32, u32)>,
    /// Their properties.
    pub columns: Vec<Column>,
}

/// Keys by which queries find something.
#[derive(Default)]
pub struct IndexedKeys {
    /// Label, key, and whether no two vertices of the label share a value.
    pub vertices: Vec<(String, &'static str, Uniqueness)>,
    /// Edge type and key.
    pub edges: Vec<(String, &'static str)>,
}

/// Whether values of a key differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uniqueness {
    /// No two are alike.
    Unique,
    /// Some may be.
    Shared,
}

/// A graph.
#[derive(Default)]
pub struct PropertyGraph {
    /// Tables of vertices, a label each.
    pub vertices: Vec<VertexRows>,
    /// Tables of edges.
    pub edges: Vec<EdgeRows>,
    /// What is indexed.
    pub indexed: IndexedKeys,
}

impl PropertyGraph {
    /// Vertices and edges, counted.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let vertices = self.vertices.iter().map(|table| table.rows).sum();
        (vertices, self.edges.iter().map(|table| table.ends.len()).sum())
    }

    /// Makes a database of ours in `folder`, with its indexes, and closes it.
    ///
    /// # Errors
    /// Those of loading.
    pub fn make_database(&self, folder: &Path) -> Result<()> {
        let vertices = self.vertices.iter().map(|table| {
            let blocks = blocks(table.rows)
                .map(|rows| VertexBlock { rows: rows.len(), columns: packed(&table.columns, rows) });
            VertexTable::new(&*table.label, properties(&table.columns), blocks.collect())
        });
        let edges = self.edges.iter().map(|table| {
            let blocks = blocks(table.ends.len()).map(|rows| EdgeBlock {
                columns: packed(&table.columns, rows.clone()),
                ..EdgeBlock::bare(table.ends[rows].iter().copied())
            });
            let (source, target) = (table.source, table.target);
            EdgeTable::new(&table.edge_type, source, target, properties(&table.columns), blocks.collect())
        });
        let load = Load { vertices: vertices.collect(), edges: edges.collect() };
        let database = Database::open(folder)?;
        database.load(&load, &|_| (), &Default::default())?;
        for (label, key, uniqueness) in &self.indexed.vertices {
            let index = IndexOptions::on_label(label, key);
            let index = if *uniqueness == Uniqueness::Unique { index.unique() } else { index };
            database.create_index(&index)?;
        }
        for (edge_type, key) in &self.indexed.edges {
            database.create_index(&IndexOptions::on_edges(edge_type, key))?;
        }
        database.close()
    }

    /// Writes it for JVMs into `folder`: a line of JSON each, and what a schema needs.
    ///
    /// # Errors
    /// `io`.
    pub fn write_lines(&self, folder: &Path) -> Result<()> {
        let failed = |error| {
            Error::new(ErrorKind::Io, format!("write lines of JSON to {}: {error}", folder.display()))
        };
        let write = |name: &str, lines: &mut dyn Iterator<Item = serde_json::Value>| {
            let mut file = BufWriter::new(File::create(folder.join(name))?);
            for line in lines {
                writeln!(file, "{line}")?;
            }
            file.flush()
        };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let mut vertices = self.vertices.iter().flat_map(|table| {
            (0..table.rows).map(|row| json!({ "label": table.label, "values": values(&table.columns, row) }))
        });
        write("vertices.jsonl", &mut vertices).map_err(failed)?;
        let firsts: Vec<usize> = self
            .vertices
            .iter()
            .scan(0, |next, table| Some(std::mem::replace(next, *next + table.rows)))
            .collect();
        let mut edges = self.edges.iter().flat_map(|table| {
            let (source, target) = (firsts[table.source], firsts[table.target]);
            table.ends.iter().enumerate().map(move |(row, (from, to))| {
                json!({
                    "label": table.edge_type,
                    "from": source + *from as usize,
                    "to": target + *to as usize,
                    "values": values(&table.columns, row),
                })
            })
        });
        write("edges.jsonl", &mut edges).map_err(failed)?;
        write("schema.json", &mut [self.schema()].into_iter()).map_err(failed)
    }

    /// Labels, types, keys with their types, and keys of indexes.
    fn schema(&self) -> serde_json::Value {
        let columns = self.vertices.iter().flat_map(|table| &table.columns);
        let columns = columns.chain(self.edges.iter().flat_map(|table| &table.columns));
        // A key that has a list somewhere takes several values everywhere.
        let mut keys = BTreeMap::new();
        for column in columns {
            let known = keys.entry(&*column.key).or_insert("");
            *known = match column.value_type {
                ValueType::I64 => "number",
                ValueType::List => "texts",
                _ if *known == "texts" => "texts",
                _ => "text",
            };
        }
        let distinct = |of: &mut dyn Iterator<Item = &str>| {
            of.map(str::to_owned).collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>()
        };
        json!({
            "labels": distinct(&mut self.vertices.iter().map(|table| &*table.label)),
            "types": distinct(&mut self.edges.iter().map(|table| &*table.edge_type)),
            "keys": keys,
            "indexedOfVertices": distinct(&mut self.indexed.vertices.iter().map(|(_, key, _)| *key)),
            "indexedOfEdges": distinct(&mut self.indexed.edges.iter().map(|(_, key)| *key)),
        })
    }

    /// Loads it into Neo4j by `ask`, which runs a statement with its parameters and gives the rows of the result.
    ///
    /// # Errors
    /// Those of `ask`; `io` if vertices are missing.
    pub fn load_into_neo4j(
        &self,
        mut ask: impl FnMut(&str, serde_json::Value) -> Result<Vec<serde_json::Value>>,
    ) -> Result<()> {
        // Each vertex' own id, which the answer to its creation has, in the order of rows.
        let mut ids: Vec<Vec<i64>> = Vec::new();
        for table in &self.vertices {
            let text = format!(
                "UNWIND $rows AS row CREATE (v{}) SET v = row RETURN id(v)",
                labels_in_cypher(&table.label, table.also)
            );
            let mut of_table = Vec::with_capacity(table.rows);
            let rows: Vec<_> = (0..table.rows).map(|row| values(&table.columns, row)).collect();
            for rows in rows.chunks(ROWS) {
                let made = ask(&text, json!({ "rows": rows }))?;
                of_table.extend(made.iter().filter_map(|row| row[0].as_i64()));
            }
            if of_table.len() != table.rows {
                let text = format!("neo4j made {} of {} {}", of_table.len(), table.rows, table.label);
                return Err(Error::new(ErrorKind::Io, text));
            }
            ids.push(of_table);
        }
        for table in &self.edges {
            let text = format!(
                "UNWIND $rows AS row MATCH (a) WHERE id(a) = row[0] MATCH (b) WHERE id(b) = row[1] \
                 CREATE (a)-[e:{}]->(b) SET e = row[2]",
                table.edge_type
            );
            let (sources, targets) = (&ids[table.source], &ids[table.target]);
            let rows: Vec<_> = table
                .ends
                .iter()
                .enumerate()
                .map(|(row, (from, to))| {
                    json!([sources[*from as usize], targets[*to as usize], values(&table.columns, row)])
                })
                .collect();
            for rows in rows.chunks(ROWS) {
                ask(&text, json!({ "rows": rows }))?;
            }
        }
        self.neo4j_indexes().iter().try_for_each(|text| ask(text, json!({})).map(drop))
    }

    /// Statements that make indexes and wait for them: of the further label where there is one, one look-up in place of one
    /// a label.
    fn neo4j_indexes(&self) -> Vec<String> {
        let mut statements = BTreeSet::new();
        for (label, key, uniqueness) in &self.indexed.vertices {
            let table = self.vertices.iter().find(|table| table.label == *label);
            let label = table.and_then(|table| table.also).unwrap_or(label);
            statements.insert(match uniqueness {
                Uniqueness::Unique => format!("CREATE CONSTRAINT FOR (v:{label}) REQUIRE v.{key} IS UNIQUE"),
                Uniqueness::Shared => format!("CREATE INDEX FOR (v:{label}) ON (v.{key})"),
            });
        }
        for (edge_type, key) in &self.indexed.edges {
            statements.insert(format!("CREATE INDEX FOR ()-[e:{edge_type}]-() ON (e.{key})"));
        }
        let wait = "CALL db.awaitIndexes(300)".to_owned();
        statements.into_iter().chain([wait]).collect()
    }
}

/// A label and a further one, as Cypher writes them.
#[must_use]
pub fn labels_in_cypher(label: &str, also: Option<&str>) -> String {
    also.map_or_else(|| format!(":{label}"), |also| format!(":{also}:{label}"))
}

fn blocks(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(BLOCK_ROWS).map(move |from| from..rows.min(from + BLOCK_ROWS))
}

fn properties(columns: &[Column]) -> Vec<(String, ValueType)> {
    columns.iter().map(|column| (column.key.clone(), column.value_type)).collect()
}

fn packed(columns: &[Column], rows: Range<usize>) -> Vec<Option<PackedColumn>> {
    let pack = |column: &Column| {
        let mut builder = PackedColumnBuilder::default();
        column.values[rows.clone()].iter().for_each(|value| builder.push(value.as_ref()));
        builder.finish()
    };
    columns.iter().map(pack).collect()
}

/// What a row has, as JSON.
fn values(columns: &[Column], row: usize) -> serde_json::Value {
    let value = |column: &Column| Some((column.key.clone(), json_of(column.values[row].as_ref()?)));
    serde_json::Value::Object(columns.iter().filter_map(value).collect())
}

/// A whole number, a text or a list of them as JSON.
fn json_of(value: &Value) -> serde_json::Value {
    match value {
        Value::List(items) => items.as_slice().iter().map(json_of).collect(),
        _ => value.as_i64().map_or_else(|| json!(value.as_str()), |number| json!(number)),
    }
}
