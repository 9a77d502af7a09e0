//! The graph that SQL says there must be: plain queries with joins, and lines of text; and the same lines of a snapshot.
//!
//! Of the code under test these lines take the plan's names alone. Beside them stands our own comparison.

use crate::server::TestDatabase;
use evergraph::{GraphView as _, Snapshot};
use evergraph_files::import::mapping::table::TableRule;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::view::{EdgeCursor, VertexCursor};
use evergraph_replica::mapping::key::KeyPlan;
use evergraph_replica::mapping::plan::{EdgeIdentity, Plan, PlannedColumn, PropertyPlan, TablePlan};
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::shared_snapshot::SharedSnapshot;
use evergraph_replica::value::column_type::ColumnType;
use evergraph_replica::verify::difference::VerifyReport;
use evergraph_replica::verify::run::{VerifyOptions, verify};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// Lines of vertices and edges, sorted.
pub fn lines_of_sql(database: &TestDatabase, plan: &Plan, rules: &[TableRule]) -> Vec<String> {
    let mut lines = Vec::new();
    for table in &plan.tables {
        let from = format!("\"{}\".\"{}\" t", table.schema, table.name);
        for vertex in &table.vertices {
            let mut fields = key_fields(table, &vertex.key, "t");
            fields.extend(property_fields(table, &vertex.properties, "t"));
            let sql =
                format!("SELECT {} FROM {from}{}", select(&fields), condition(&rules[vertex.rule], "t"));
            lines.extend(rows(database, &sql, &fields, &vertex.label));
            for edge in &vertex.edges {
                let (label, join) = join(plan, table, &edge.end.key, &edge.end.label, "o", rules);
                let (row, other) = (key(table, &vertex.key, "t"), key_of_label(plan, &label, "o"));
                let (start, end) = if edge.reverse { (other, row) } else { (row, other) };
                let mut fields = vec![("start".to_owned(), start), ("end".to_owned(), end)];
                fields.extend(property_fields(table, &edge.properties, "t"));
                let sql = format!(
                    "SELECT {} FROM {from} {join}{}",
                    select(&fields),
                    condition(&rules[vertex.rule], "t")
                );
                let (start, end) =
                    if edge.reverse { (&label, &vertex.label) } else { (&vertex.label, &label) };
                let title = format!("{start} {} {end}", edge.edge_type);
                lines.extend(rows(database, &sql, &fields, &title));
            }
        }
        for edge in &table.edges {
            let (start, join_start) = join(plan, table, &edge.start.key, &edge.start.label, "a", rules);
            let (end, join_end) = join(plan, table, &edge.end.key, &edge.end.label, "b", rules);
            let (one, two) = (key_of_label(plan, &start, "a"), key_of_label(plan, &end, "b"));
            let mut fields = match edge.undirected {
                // Keys of whole numbers, as SNB's.
                true => vec![
                    ("start".to_owned(), format!("least(({one})::bigint, ({two})::bigint)::text")),
                    ("end".to_owned(), format!("greatest(({one})::bigint, ({two})::bigint)::text")),
                ],
                false => vec![("start".to_owned(), one), ("end".to_owned(), two)],
            };
            if let EdgeIdentity::Key(plan) = &edge.identity {
                fields.extend(key_fields(table, plan, "t"));
            }
            fields.extend(property_fields(table, &edge.properties, "t"));
            let sql = format!(
                "SELECT {} FROM {from} {join_start} {join_end}{}",
                select(&fields),
                condition(&rules[edge.rule], "t")
            );
            let title = format!("{start} {} {end}", edge.edge_type);
            lines.extend(rows(database, &sql, &fields, &title));
        }
    }
    lines.sort();
    lines
}

/// The same of what `snapshot` has; what vertices keep of edges that may wait is left out.
pub fn lines_of_graph(snapshot: &Snapshot, plan: &Plan) -> Vec<String> {
    let keys: HashMap<&str, &str> = plan
        .tables
        .iter()
        .flat_map(|table| &table.vertices)
        .map(|vertex| (vertex.label.as_str(), vertex.key.property.as_str()))
        .collect();
    lines_of_snapshot(
        snapshot,
        text,
        |label, values| ((label.to_owned(), values[keys[label]].clone()), format!("{label} {values:?}")),
        |edge_type, [(start, start_key), (end, end_key)], mut values| {
            values.insert("start".to_owned(), start_key.clone());
            values.insert("end".to_owned(), end_key.clone());
            format!("{start} {edge_type} {end} {values:?}")
        },
    )
}

/// Lines of vertices and edges, sorted. `vertex` gives a vertex's name and its line, by its label and its properties without what it
/// keeps of edges that may wait; `edge` gives an edge's line, by its type, the names of its ends, and its properties.
pub fn lines_of_snapshot<Name>(
    snapshot: &Snapshot,
    text: impl Fn(&Value) -> String,
    vertex: impl Fn(&str, BTreeMap<String, String>) -> (Name, String),
    edge: impl Fn(&str, [&Name; 2], BTreeMap<String, String>) -> String,
) -> Vec<String> {
    let catalogue = snapshot.catalogue();
    let texts = |(key, value): (KeyId, Value)| (catalogue.key_name(key).to_string(), text(&value));
    let (mut lines, mut names) = (Vec::new(), HashMap::<VertexId, Name>::new());
    let mut cursor = VertexCursor::default();
    while !cursor.done {
        let (mut vertices, mut labels) = (Vec::new(), Vec::new());
        snapshot.scan_vertices(None, &mut cursor, 1000, &mut vertices).unwrap();
        snapshot.labels(&vertices, &mut labels).unwrap();
        for (id, label) in vertices.iter().zip(labels) {
            let values = snapshot.vertex_property_map(*id).unwrap().into_iter().map(texts);
            let values = values.filter(|(name, _)| !name.contains("->") && !name.contains("<-"));
            let (name, line) = vertex(&catalogue.label_name(label.unwrap()), values.collect());
            names.insert(*id, name);
            lines.push(line);
        }
    }
    let mut cursor = EdgeCursor::default();
    while !cursor.done {
        let mut edges = Vec::new();
        snapshot.scan_edges(None, &mut cursor, 1000, &mut edges).unwrap();
        for id in edges {
            let values = snapshot.edge_property_map(id).unwrap().into_iter().map(texts).collect();
            let ends = [&names[&id.source], &names[&id.target]];
            lines.push(edge(&catalogue.edge_type_name(id.edge_type), ends, values));
        }
    }
    lines.sort();
    lines
}

/// What differs between `snapshot` and the rows of `database` now.
pub fn verify_with(
    snapshot: &Snapshot,
    database: &TestDatabase,
    plan: &Plan,
    options: &VerifyOptions,
) -> VerifyReport {
    let at = SharedSnapshot::export(&database.settings(), &CancelFlag::default()).unwrap();
    let mut source = PostgresSource::new(database.settings(), CancelFlag::default());
    verify(snapshot, (&mut source, Some(at.name())), plan, options, &|_| {}, &CancelFlag::default()).unwrap()
}

/// Panics with the first lines that only one side has. Both are sorted.
pub fn assert_equal_lines(graph: &[String], sql: &[String]) {
    if graph == sql {
        return;
    }
    let only = |one: &[String], other: &[String]| -> Vec<String> {
        let mut counts: HashMap<&str, i64> = HashMap::new();
        other.iter().for_each(|line| *counts.entry(line).or_default() += 1);
        let is_other = |line: &&String| match counts.get_mut(line.as_str()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
        one.iter().filter(is_other).take(5).cloned().collect()
    };
    let (extra, missing) = (only(graph, sql), only(sql, graph));
    assert!(
        extra.is_empty() && missing.is_empty(),
        "{} lines of the graph, {} of SQL; only the graph has {extra:#?}; only SQL has {missing:#?}",
        graph.len(),
        sql.len()
    );
}

type Field = (String, String);

/// A field's SQL.
fn value(column: &PlannedColumn, of: &str) -> String {
    let name = format!("{of}.\"{}\"", column.name);
    match column.column_type {
        ColumnType::Timestamp | ColumnType::TimestampTz => {
            format!("CASE WHEN isfinite({name}) THEN extract(epoch FROM {name})::numeric(20, 6)::text END")
        }
        ColumnType::Array { .. } => format!("array_to_string({name}, '~')"),
        ColumnType::Bytes => format!("encode({name}, 'hex')"),
        _ if column.is_padded => format!("rtrim({name}::text)"),
        _ => format!("{name}::text"),
    }
}

fn key(table: &TablePlan, key: &KeyPlan, of: &str) -> String {
    match &key.columns[..] {
        [one] => value(&table.columns[one.column], of),
        several => {
            let escaped = several.iter().map(|part| {
                let column = &table.columns[part.column];
                let blanks = if column.is_padded { "rtrim" } else { "" };
                let name = format!("{of}.{:?}", column.name);
                let name = if column.column_type == ColumnType::Numeric {
                    format!("trim_scale({name})")
                } else {
                    name
                };
                format!(r"replace(replace({blanks}({name}::text), '\', '\\'), '|', '\|')")
            });
            escaped.collect::<Vec<_>>().join(" || '|' || ")
        }
    }
}

fn key_of_label(plan: &Plan, label: &str, of: &str) -> String {
    let (table, vertex) = plan.label(label).unwrap();
    key(table, &vertex.key, of)
}

fn key_fields(table: &TablePlan, plan: &KeyPlan, of: &str) -> Vec<Field> {
    vec![(plan.property.clone(), key(table, plan, of))]
}

fn property_fields(table: &TablePlan, properties: &[PropertyPlan], of: &str) -> Vec<Field> {
    properties
        .iter()
        .map(|property| (property.name.clone(), value(&table.columns[property.column], of)))
        .collect()
}

/// The label that an end refers to, and the join with its rows.
fn join(
    plan: &Plan,
    table: &TablePlan,
    end: &KeyPlan,
    label: &str,
    of: &str,
    rules: &[TableRule],
) -> (String, String) {
    let (target, vertex) = plan.label(label).unwrap();
    let equal = end.columns.iter().zip(&vertex.key.columns).map(|(own, other)| {
        format!("t.{:?} = {of}.{:?}", table.columns[own.column].name, target.columns[other.column].name)
    });
    let mut equal: Vec<String> = equal.collect();
    if let Some(condition) = &rules[vertex.rule].condition {
        // Its names are those of its own table.
        equal.push(format!("EXISTS (SELECT FROM (SELECT {of}.*) c WHERE {condition})"));
    }
    let join = format!("JOIN \"{}\".\"{}\" {of} ON {}", target.schema, target.name, equal.join(" AND "));
    (label.to_owned(), join)
}

fn condition(rule: &TableRule, of: &str) -> String {
    match &rule.condition {
        Some(condition) => format!(" WHERE EXISTS (SELECT FROM (SELECT {of}.*) c WHERE {condition})"),
        None => String::new(),
    }
}

fn select(fields: &[Field]) -> String {
    fields.iter().map(|(_, sql)| sql.clone()).collect::<Vec<_>>().join(", ")
}

/// A line of each row: `title`, and the fields that are not null as `Debug` of a map has them. A map of each row takes longer than
/// all the rest.
fn rows(database: &TestDatabase, sql: &str, fields: &[Field], title: &str) -> Vec<String> {
    let by_name = fields.iter().enumerate().map(|(place, (name, _))| (name.as_str(), place));
    let places: Vec<(&str, usize)> = by_name.collect::<BTreeMap<_, _>>().into_iter().collect();
    let line = |row: Vec<Option<String>>| {
        let (mut line, mut separator) = (format!("{title} {{"), "");
        for (name, place) in &places {
            if let Some(value) = &row[*place] {
                write!(line, "{separator}{name:?}: {value:?}").unwrap();
                separator = ", ";
            }
        }
        line.push('}');
        line
    };
    database.run(sql).into_iter().map(line).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::F32(number) => number.to_string(),
        Value::F64(number) => number.to_string(),
        Value::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        Value::DateTime(moment) => {
            let microseconds = moment.seconds() * 1_000_000 + i64::from(moment.nanoseconds() / 1000);
            format!("{}.{:06}", microseconds / 1_000_000, (microseconds % 1_000_000).abs())
        }
        Value::List(list) => list.as_slice().iter().map(text).collect::<Vec<_>>().join("~"),
        other => other.to_string(),
    }
}
