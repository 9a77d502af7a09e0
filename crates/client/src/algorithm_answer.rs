//! Algorithm answer: what an algorithm found on a server, as one in this process finds it, with the names of its vertices.
//!
//! ```text
//! AlgorithmTable ──> Answer: vertices, columns, figures, a sentence
//!                └─> a name for each row, the commit and the part of the graph that it is about
//! ```
//!
//! The server may be hostile: a table without what was asked for, or with what no answer has, is an error.

use crate::algorithm::{AlgorithmRequest, AlgorithmTable, NAME_COLUMNS, NameKey};
use crate::client::Client;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array, LargeStringArray, RecordBatch};
use evergraph_analysis::algorithm::Algorithm;
use evergraph_analysis::answer::{Answer, Figure};
use evergraph_analysis::column::{Column, ColumnKind, ColumnValues};
use evergraph_analysis::input::Frozen;
use evergraph_analysis::names::camel_case;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::Duration;

/// Where in the metadata of a table the summary lies.
const SUMMARY: &str = "summary";

/// What an algorithm found on a server.
#[derive(Debug)]
pub struct AlgorithmAnswer {
    /// Its rows and figures.
    pub answer: Answer,
    /// What the vertices of the rows are called.
    pub names: RowNames,
    /// The commit that it is about.
    pub timestamp: u64,
    /// The part of the graph in scope, if it was frozen.
    pub frozen: Option<Frozen>,
    /// How long freezing took there.
    pub freezing_time: Duration,
    /// How long the algorithm took there.
    pub kernel_time: Duration,
}

/// What the vertices of rows are called.
#[derive(Debug)]
pub struct RowNames {
    /// Each with the number of its first row.
    batches: Vec<(usize, NameBatch)>,
}

#[derive(Debug)]
struct NameBatch {
    labels: LargeStringArray,
    keys: LargeStringArray,
    key_numbers: Int64Array,
}

/// What a vertex is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowName<'a> {
    /// Its label.
    pub label: &'a str,
    /// Its key.
    pub key: RowKey<'a>,
}

/// The key of a vertex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowKey<'a> {
    /// A whole number.
    Number(i64),
    /// Anything else, as text.
    Text(&'a str),
    /// The vertex has none.
    Missing,
}

/// The last line of an answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    summary: String,
    timestamp: u64,
    vertices: Option<u64>,
    edges: Option<u64>,
    fresh_share: Option<f64>,
    figures: Map<String, Value>,
}

impl Client {
    /// Runs an algorithm, and waits for its answer with the names of its vertices, by their unique keys or a property.
    ///
    /// # Errors
    /// Those of [`Client::algorithm`]; `io` for an answer without what was asked for.
    pub fn algorithm_answer(&self, request: &AlgorithmRequest, by: NameKey) -> Result<AlgorithmAnswer> {
        let table = self.algorithm(&request.clone().with_names_and_summary(by))?;
        AlgorithmAnswer::of(request.algorithm(), &table)
    }
}

impl AlgorithmAnswer {
    /// The answer of `algorithm` in `table`, whose columns were checked.
    fn of(algorithm: &'static Algorithm, table: &AlgorithmTable) -> Result<Self> {
        let text = table.schema.metadata().get(SUMMARY);
        let text = text.ok_or_else(|| wrong("it has no summary"))?;
        let summary: Summary = serde_json::from_str(text).map_err(|error| wrong(&error.to_string()))?;
        let names = algorithm.figures.iter().map(|name| Ok((*name, figure(&summary.figures, name)?)));
        let figures = names.collect::<Result<Vec<_>>>()?;
        let (mut vertices, mut columns) = (Vec::new(), Vec::new());
        for (at, description) in algorithm.columns.iter().enumerate() {
            match description.kind {
                ColumnKind::Vertex => vertices = vertices_of(&table.batches, at)?,
                kind => columns.push(column(&table.batches, at, kind)),
            }
        }
        let frozen = match (summary.vertices, summary.edges, summary.fresh_share) {
            (Some(vertices), Some(edges), Some(fresh_share)) => Some(Frozen { vertices, edges, fresh_share }),
            _ => None,
        };
        Ok(Self {
            names: RowNames::new(&table.batches, algorithm.columns.len())?,
            answer: Answer { vertices, columns, figures, summary: summary.summary },
            timestamp: summary.timestamp,
            frozen,
            freezing_time: time(&summary.figures, "freeze_seconds")?,
            kernel_time: time(&summary.figures, "kernel_seconds")?,
        })
    }
}

impl RowNames {
    fn new(batches: &[RecordBatch], first_column: usize) -> Result<Self> {
        let (mut begun, mut found) = (0, Vec::with_capacity(batches.len()));
        for batch in batches {
            let column = |at: usize| batch.column(first_column + at);
            debug_assert_eq!(batch.num_columns(), first_column + NAME_COLUMNS.len());
            let names = NameBatch {
                labels: column(0).as_string::<i64>().clone(),
                keys: column(1).as_string::<i64>().clone(),
                key_numbers: column(2).as_primitive::<Int64Type>().clone(),
            };
            if names.labels.null_count() > 0 {
                return Err(wrong("a vertex has no label"));
            }
            found.push((begun, names));
            begun += batch.num_rows();
        }
        Ok(Self { batches: found })
    }

    /// What the vertex of `row` is called.
    ///
    /// # Panics
    /// If there are fewer rows.
    #[must_use]
    pub fn name(&self, row: usize) -> RowName<'_> {
        let at = self.batches.partition_point(|(begun, _)| *begun <= row);
        let (begun, NameBatch { labels, keys, key_numbers }) = &self.batches[at - 1];
        let row = row - begun;
        let key = match (key_numbers.is_valid(row), keys.is_valid(row)) {
            (true, _) => RowKey::Number(key_numbers.value(row)),
            (false, true) => RowKey::Text(keys.value(row)),
            (false, false) => RowKey::Missing,
        };
        RowName { label: labels.value(row), key }
    }
}

/// The figure called `name` in the table of algorithms.
fn figure(figures: &Map<String, Value>, name: &str) -> Result<Figure> {
    let figure =
        figures.get(&camel_case(name)).ok_or_else(|| wrong(&format!("its figure {name} is missing")))?;
    Ok(match figure {
        Value::Null => Figure::Nothing,
        Value::Bool(figure) => Figure::Boolean(*figure),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(number), _) => Figure::Whole(number),
            (None, Some(number)) => Figure::Real(number),
            (None, None) => return Err(wrong(&format!("its figure {name} is no number"))),
        },
        _ => return Err(wrong(&format!("its figure {name} is no number"))),
    })
}

fn time(figures: &Map<String, Value>, name: &str) -> Result<Duration> {
    let seconds = match figure(figures, name)? {
        Figure::Real(seconds) => seconds,
        Figure::Whole(seconds) => seconds as f64,
        _ => return Err(wrong(&format!("its figure {name} is no time"))),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong(&format!("its figure {name} is no time")))
}

fn vertices_of(batches: &[RecordBatch], at: usize) -> Result<Vec<VertexId>> {
    let mut vertices = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
    for batch in batches {
        let numbers = batch.column(at).as_primitive::<UInt64Type>();
        for number in numbers {
            let number = number.and_then(|number| u32::try_from(number).ok());
            vertices.push(VertexId(number.ok_or_else(|| wrong("a row has no vertex"))?));
        }
    }
    Ok(vertices)
}

fn column(batches: &[RecordBatch], at: usize, kind: ColumnKind) -> Column {
    let arrays = || batches.iter().map(|batch| batch.column(at));
    let values = match kind {
        ColumnKind::U32 => ColumnValues::U32(
            arrays().flat_map(|array| array.as_primitive::<UInt32Type>().values().to_vec()).collect(),
        ),
        ColumnKind::U64 | ColumnKind::Vertex => ColumnValues::U64(
            arrays().flat_map(|array| array.as_primitive::<UInt64Type>().values().to_vec()).collect(),
        ),
        ColumnKind::F64 => ColumnValues::F64(
            arrays().flat_map(|array| array.as_primitive::<Float64Type>().values().to_vec()).collect(),
        ),
    };
    let has_nulls = arrays().any(|array| array.null_count() > 0);
    Column { values, known: has_nulls.then(|| known(arrays())) }
}

/// A bit for each row: whether it has a value.
fn known<'a>(arrays: impl Iterator<Item = &'a ArrayRef>) -> Vec<u64> {
    let mut words = Vec::new();
    let rows = arrays.flat_map(|array| (0..array.len()).map(|row| array.is_valid(row)));
    for (row, is_known) in rows.enumerate() {
        if row % 64 == 0 {
            words.push(0);
        }
        words[row / 64] |= u64::from(is_known) << (row % 64);
    }
    words
}

/// Why an answer is none.
fn wrong(why: &str) -> Error {
    let text = format!(
        "the server's answer to an algorithm cannot be read: {why}; is the server of another version?"
    );
    Error::new(ErrorKind::Io, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{UInt32Array, UInt64Array};
    use arrow_schema::{DataType, Field, Schema};
    use evergraph_analysis::table::by_name;
    use std::collections::HashMap;
    use std::sync::Arc;

    const END: &str = r#"{"figures": {"reached": 2, "depth": 1, "freezeSeconds": 0.5, "kernelSeconds": 0.25},
        "summary": "reached 2", "timestamp": 7, "vertices": 3, "edges": 2, "freshShare": 0.0}"#;

    /// Rows of a breadth-first search, each with a vertex, a level, a text and a number as its key.
    type Row = (Option<u64>, Option<u32>, Option<&'static str>, Option<&'static str>, Option<i64>);

    fn table(batches: &[&[Row]], end: &str) -> AlgorithmTable {
        let fields = [("vertex", DataType::UInt64), ("level", DataType::UInt32)];
        let fields = fields.map(|(name, data_type)| Field::new(name, data_type, true));
        let names = NAME_COLUMNS.map(|(name, data_type)| Field::new(name, data_type, true));
        let metadata = HashMap::from([(SUMMARY.to_owned(), end.to_owned())]);
        let fields: Vec<Field> = fields.into_iter().chain(names).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let batch = |rows: &&[Row]| {
            let columns: Vec<ArrayRef> = vec![
                Arc::new(rows.iter().map(|row| row.0).collect::<UInt64Array>()),
                Arc::new(rows.iter().map(|row| row.1).collect::<UInt32Array>()),
                Arc::new(rows.iter().map(|row| row.2).collect::<LargeStringArray>()),
                Arc::new(rows.iter().map(|row| row.3).collect::<LargeStringArray>()),
                Arc::new(rows.iter().map(|row| row.4).collect::<Int64Array>()),
            ];
            RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
        };
        AlgorithmTable { batches: batches.iter().map(batch).collect(), schema }
    }

    fn answer(batches: &[&[Row]], end: &str) -> Result<AlgorithmAnswer> {
        AlgorithmAnswer::of(by_name("bfs").unwrap(), &table(batches, end))
    }

    #[test]
    fn rows_figures_and_names_come_out_as_they_went_in() {
        let first: &[Row] = &[
            (Some(4), Some(0), Some("Person"), Some("Ada"), None),
            (Some(7), None, Some("City"), None, Some(-3)),
        ];
        let second: &[Row] = &[(Some(9), Some(1), Some("Person"), None, None)];
        let found = answer(&[first, &[], second], END).unwrap();
        assert_eq!(found.answer.vertices, [4, 7, 9].map(VertexId));
        let [level] = &found.answer.columns[..] else { panic!("one column") };
        assert_eq!((level.is_known(0), level.is_known(1), level.is_known(2)), (true, false, true));
        assert_eq!(level.values, ColumnValues::U32(vec![0, 0, 1]));
        assert_eq!(found.answer.figures, [("reached", Figure::Whole(2)), ("depth", Figure::Whole(1))]);
        assert_eq!((&*found.answer.summary, found.timestamp), ("reached 2", 7));
        assert_eq!(found.frozen, Some(Frozen { vertices: 3, edges: 2, fresh_share: 0.0 }));
        assert_eq!(found.kernel_time, Duration::from_millis(250));
        let names = [0, 1, 2].map(|row| found.names.name(row));
        let name = |label, key| RowName { label, key };
        let expected = [
            name("Person", RowKey::Text("Ada")),
            name("City", RowKey::Number(-3)),
            name("Person", RowKey::Missing),
        ];
        assert_eq!(names, expected);
        assert_eq!(answer(&[], END).unwrap().answer.vertices, []);
    }

    #[test]
    fn what_no_answer_has_is_an_error() {
        let row: Row = (Some(4), Some(0), Some("Person"), Some("Ada"), None);
        assert!(answer(&[&[row]], END).is_ok());
        for row in [
            (None, row.1, row.2, row.3, row.4),
            (Some(1 << 32), row.1, row.2, row.3, row.4),
            (row.0, row.1, None, row.3, row.4),
        ] {
            assert_eq!(answer(&[&[row]], END).unwrap_err().kind(), ErrorKind::Io, "{row:?}");
        }
        for end in [
            "",
            "{}",
            "[]",
            &END.replace("\"reached\"", "\"raeched\""),
            &END.replace("0.25", "-1"),
            &END.replace("0.25", "1e300"),
            &END.replace("0.25", "null"),
            &END.replace("\"depth\": 1", "\"depth\": \"deep\""),
            &END.replace("\"timestamp\": 7", "\"timestamp\": -7"),
        ] {
            let error = answer(&[&[row]], end).unwrap_err();
            assert!(
                error.kind() == ErrorKind::Io && error.to_string().contains("another version"),
                "{error}"
            );
        }
    }
}
