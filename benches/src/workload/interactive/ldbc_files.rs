//! LDBC's files as a property graph, with dates as the files have them: whole numbers, of milliseconds.
//!
//! Labels and edge types are those that an import gives them.

use crate::workload::interactive::network::Table;
use crate::workload::property_graph::{Column, EdgeRows, IndexedKeys, PropertyGraph, Uniqueness, VertexRows};
use evergraph::Value;
use evergraph::import::recognise::systems::ldbc::{edge_type_of, label_of};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::value::ValueType;
use evergraph_graph::value::collection::List;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Labels whose ids queries begin at.
const INDEXED: [&str; 3] = ["Person", "Post", "Comment"];
/// What both kinds of messages are, where a vertex may have two labels.
const MESSAGE: &str = "Message";

/// Reads the folders `dynamic` and `static` below `folder`.
///
/// # Errors
/// `io` for a file that can't be read; `invalid` for a row that refers to nothing or isn't one.
pub fn read(folder: &Path) -> Result<PropertyGraph> {
    let mut files = Vec::new();
    for part in ["dynamic", "static"] {
        files.extend(files_in(&folder.join(part))?);
    }
    let is_of_edges = |(words, _): &(Vec<String>, PathBuf)| words.len() == 3;
    let (of_edges, of_vertices): (Vec<_>, Vec<_>) = files.into_iter().partition(is_of_edges);
    let mut graph = PropertyGraph::default();
    // Row by id, of each label.
    let mut rows: HashMap<String, HashMap<i64, u32>> = HashMap::new();
    for (words, path) in of_vertices {
        let table = Table::read_file(&path)?;
        let label = label_of(&words[0]);
        let ids = table.rows().map(|row| row.number(0)).collect::<Result<Vec<i64>>>()?;
        rows.insert(label.clone(), ids.iter().copied().zip(0..).collect());
        let also = matches!(&*label, "Post" | "Comment").then_some(MESSAGE);
        let columns = columns(&table, 0, &label)?;
        graph.vertices.push(VertexRows { label, also, rows: ids.len(), columns });
    }
    for (words, path) in of_edges {
        let table = Table::read_file(&path)?;
        let ends = [&words[0], &words[2]].map(|word| label_of(word));
        let place = |label: &String| graph.vertices.iter().position(|table| table.label == *label);
        let (Some(source), Some(target)) = (place(&ends[0]), place(&ends[1])) else {
            let text = format!("{}: vertices of {} or {} are missing", path.display(), ends[0], ends[1]);
            return Err(Error::invalid(text));
        };
        let ends = table.rows().map(|row| {
            let end = |at: usize| {
                let id = row.number(at)?;
                let found = rows[&ends[at]].get(&id).copied();
                found.ok_or_else(|| Error::invalid(format!("{}: no vertex {id}", path.display())))
            };
            Ok((end(0)?, end(1)?))
        });
        let ends = ends.collect::<Result<Vec<_>>>()?;
        let columns = columns(&table, 2, "")?;
        graph.edges.push(EdgeRows { edge_type: edge_type_of(&words[1]), source, target, ends, columns });
    }
    let indexed = INDEXED.map(|label| (label.to_owned(), "id", Uniqueness::Unique));
    graph.indexed = IndexedKeys { vertices: indexed.to_vec(), edges: Vec::new() };
    Ok(graph)
}

/// The files of tables, with the words of their names before `_0_0.csv`, in the order of names.
fn files_in(folder: &Path) -> Result<Vec<(Vec<String>, PathBuf)>> {
    let failed = |error| Error::new(ErrorKind::Io, format!("read {}: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        let plain = name.strip_suffix(".gz").unwrap_or(&name);
        if let Some(stem) = plain.strip_suffix("_0_0.csv") {
            files.push((stem.split('_').map(str::to_owned).collect(), folder.join(plain)));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// The columns of a table from the one at `first` on.
fn columns(table: &Table, first: usize, label: &str) -> Result<Vec<Column>> {
    let column = |(at, key): (usize, &String)| {
        let value_type = match (label, key.as_str()) {
            ("Person", "language" | "email") => ValueType::List,
            (_, "id" | "birthday" | "creationDate" | "joinDate" | "length" | "classYear" | "workFrom") => {
                ValueType::I64
            }
            _ => ValueType::String,
        };
        let values = table.rows().map(|row| match &*row.fields[at] {
            "" => Ok(None),
            text if value_type == ValueType::String => Ok(Some(text.into())),
            text if value_type == ValueType::List => {
                let list = List::new(text.split(';').map(Value::from).collect());
                Ok(Some(list.map_err(|error| Error::invalid(error.to_string()))?.into()))
            }
            _ => Ok(Some(row.number(at)?.into())),
        });
        Ok(Column { key: key.clone(), value_type, values: values.collect::<Result<_>>()? })
    };
    table.columns.iter().enumerate().skip(first).map(column).collect()
}
