//! Rows: the answer of an algorithm in parts, as JSON lines or as an Arrow stream.
//!
//! ```text
//! {"vertex":0,"score":0.25}                  a row; null where there is no value
//! {"figures":{"iterations":20, ...}}         the last line: the answer is whole
//! {"error":{...}}                            in its place if it is not
//! ```
//!
//! The same figures are in the metadata of an Arrow stream, under the names that Python has; the last line itself is there too,
//! under `summary`, if a summary was asked for: it has the types of figures, which are texts in metadata.

use crate::algorithm::key_columns::{KeyColumn, line_value};
use crate::algorithm::name_columns::NameColumns;
use crate::failure::Failure;
use crate::http::error::HttpError;
use crate::outbox::{BodyPart, Frame, FrameKind};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Field, Schema};
use evergraph::analysis::algorithm::Algorithm;
use evergraph::analysis::answer::{Answer, Figure};
use evergraph::analysis::column::{Column, ColumnKind, ColumnValues};
use evergraph::analysis::input::Frozen;
use evergraph::analysis::names::camel_case;
use evergraph_arrow::answer_array::{answer_array, value_bytes};
use evergraph_arrow::column_array::to_arrow;
use evergraph_arrow::table_builder::TableBuilder;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::VertexId;
use serde_json::{Map, Value};
use std::io::Write as _;
use std::sync::Arc;

/// Bytes of a part of JSON lines.
const PART_BYTES: usize = 64 << 10;
/// Rows of a batch of an Arrow stream.
const BATCH_ROWS: usize = 16 << 10;

/// In which form rows are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowFormat {
    /// JSON lines.
    Lines,
    /// An Arrow stream.
    Arrow,
}

/// What is told about a whole answer, by the names of the table.
pub type Figures = Vec<(&'static str, Figure)>;

/// What stands beside the rows of an answer, of their vertices.
#[derive(Clone, Debug, Default)]
pub struct VertexColumns {
    /// Properties.
    pub keys: Vec<KeyColumn>,
    /// Names.
    pub names: Option<NameColumns>,
}

/// What is told about a whole answer beside the figures of its algorithm.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AnswerEnd {
    /// More figures.
    pub figures: Figures,
    /// What a report begins with, if it was asked for.
    pub summary: Option<AnswerSummary>,
}

/// What a report begins with.
#[derive(Clone, PartialEq, Debug)]
pub struct AnswerSummary {
    /// The most important of the answer in a sentence.
    pub sentence: String,
    /// The commit that the snapshot shows.
    pub timestamp: u64,
    /// The part of the graph in scope, if it was frozen.
    pub frozen: Option<Frozen>,
}

/// Rows on their way to a client.
pub struct AnswerRows {
    names: Vec<(&'static str, ColumnKind)>,
    vertices: Vec<VertexId>,
    next_row: usize,
    /// Whether a part was made.
    is_begun: bool,
    form: Form,
}

enum Form {
    Lines { columns: Vec<Column>, beside: VertexColumns, last_line: Value },
    Arrow { arrays: Vec<ArrayRef>, writer: Box<StreamWriter<Vec<u8>>>, schema: Arc<Schema> },
}

/// Bytes of all rows of `answer`.
#[must_use]
pub fn rows_bytes(answer: &Answer) -> u64 {
    let row_bytes = size_of::<VertexId>() + answer.columns.iter().map(value_bytes).sum::<usize>();
    answer.vertices.len() as u64 * row_bytes as u64
}

impl AnswerRows {
    /// The rows of an `answer` of `algorithm`, with what stands `beside` them, and at their `end`.
    ///
    /// # Errors
    /// `invalid` if Arrow does not take its own columns; `limit` for a property that Arrow has no form for.
    pub fn new(
        algorithm: &Algorithm,
        answer: Answer,
        beside: VertexColumns,
        end: AnswerEnd,
        format: RowFormat,
    ) -> Result<Self> {
        let names: Vec<_> = algorithm.columns.iter().map(|column| (column.name, column.kind)).collect();
        let Answer { vertices, columns, figures, .. } = answer;
        let figures: Figures = figures.into_iter().chain(end.figures).collect();
        let last_line = last_line(&figures, end.summary.as_ref());
        let form = match format {
            RowFormat::Lines => Form::Lines { columns, beside, last_line },
            RowFormat::Arrow => {
                let mut arrays: Vec<ArrayRef> = columns.into_iter().map(answer_array).collect();
                let mut fields = Vec::with_capacity(beside.keys.len());
                for KeyColumn { name, column } in beside.keys {
                    let made =
                        to_arrow(&column).map_err(|error| error.context(format!("property {name}")))?;
                    fields.push(made.field(&name));
                    arrays.push(made.array);
                }
                for (field, array) in beside.names.iter().flat_map(NameColumns::arrays) {
                    fields.push(field);
                    arrays.push(array);
                }
                let summary = end.summary.map(|_| last_line);
                let schema = schema(&names, &arrays, fields, &figures, summary.as_ref())?;
                let writer = StreamWriter::try_new(Vec::new(), &schema).map_err(unwritten)?;
                Form::Arrow { arrays, writer: Box::new(writer), schema }
            }
        };
        Ok(Self { names, vertices, next_row: 0, is_begun: false, form })
    }

    /// How many rows were sent.
    #[must_use]
    pub fn sent_count(&self) -> u64 {
        self.next_row as u64
    }

    /// The next part. The one that is last says so.
    ///
    /// # Errors
    /// `invalid` if Arrow does not take its own columns.
    pub fn part(&mut self) -> Result<Frame> {
        let bytes = match &mut self.form {
            Form::Lines { columns, beside, last_line } => {
                let mut text = Vec::with_capacity(PART_BYTES + 256);
                while self.next_row < self.vertices.len() && text.len() < PART_BYTES {
                    write_line(
                        &mut text,
                        &self.names,
                        self.vertices[self.next_row],
                        columns,
                        beside,
                        self.next_row,
                    );
                    self.next_row += 1;
                }
                if self.next_row == self.vertices.len() {
                    writeln!(text, "{last_line}").expect("a vector takes all that is written to it");
                }
                text
            }
            Form::Arrow { arrays, writer, schema } => {
                let rows = BATCH_ROWS.min(self.vertices.len() - self.next_row);
                let batch = batch(&self.names, &self.vertices, arrays, schema, self.next_row, rows)?;
                writer.write(&batch).map_err(unwritten)?;
                self.next_row += rows;
                if self.next_row == self.vertices.len() {
                    writer.finish().map_err(unwritten)?;
                }
                std::mem::take(writer.get_mut())
            }
        };
        let is_last = self.next_row == self.vertices.len();
        let part = match (std::mem::replace(&mut self.is_begun, true), is_last) {
            (false, true) => BodyPart::Whole(200),
            (true, true) => BodyPart::Last,
            (_, false) => BodyPart::Middle,
        };
        Ok(Frame { bytes, kind: FrameKind::Body(part) })
    }

    /// Whether the last part was made.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_begun && self.next_row == self.vertices.len()
    }
}

/// What is sent when there are no more rows, because of `failure`. `is_begun` if some were sent.
#[must_use]
pub fn failure_frame(failure: &Failure, format: RowFormat, is_begun: bool) -> Frame {
    let error = HttpError::from(failure.clone());
    let bytes = format!("{}\n", error.json()).into_bytes();
    let part = match (format, is_begun) {
        (RowFormat::Lines, true) => BodyPart::Last,
        (RowFormat::Lines, false) => BodyPart::Whole(error.status.as_u16()),
        (RowFormat::Arrow, _) => BodyPart::Failed(error.status.as_u16()),
    };
    Frame { bytes, kind: FrameKind::Body(part) }
}

fn write_line(
    text: &mut Vec<u8>,
    names: &[(&'static str, ColumnKind)],
    vertex: VertexId,
    columns: &[Column],
    beside: &VertexColumns,
    row: usize,
) {
    let mut others = columns.iter();
    for (at, (name, kind)) in names.iter().enumerate() {
        text.extend_from_slice(if at == 0 { b"{\"" } else { b",\"" });
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(b"\":");
        let written = match kind {
            ColumnKind::Vertex => write!(text, "{}", vertex.0),
            _ => match others.next().filter(|column| column.is_known(row)).map(|column| &column.values) {
                Some(ColumnValues::U32(values)) => write!(text, "{}", values[row]),
                Some(ColumnValues::U64(values)) => write!(text, "{}", values[row]),
                Some(ColumnValues::F64(values)) => write!(text, "{}", Value::from(values[row])),
                None => write!(text, "null"),
            },
        };
        written.expect("a vector takes all that is written to it");
    }
    let keys = beside.keys.iter();
    let keys = keys.map(|KeyColumn { name, column }| (&**name, line_value(column.get(row).as_ref())));
    let names = beside.names.iter().flat_map(|names| names.row(row));
    for (name, value) in keys.chain(names) {
        write!(text, ",{}:{value}", Value::from(name)).expect("a vector takes all that is written to it");
    }
    text.extend_from_slice(b"}\n");
}

fn last_line(figures: &Figures, summary: Option<&AnswerSummary>) -> Value {
    let figure = |figure: &Figure| match figure {
        Figure::Nothing => Value::Null,
        Figure::Boolean(figure) => (*figure).into(),
        Figure::Whole(figure) => (*figure).into(),
        Figure::Real(real) => (*real).into(),
    };
    let members: Map<String, Value> =
        figures.iter().map(|(name, value)| (camel_case(name), figure(value))).collect();
    let mut line = serde_json::json!({"figures": members});
    if let Some(AnswerSummary { sentence, timestamp, frozen }) = summary {
        line["summary"] = sentence.as_str().into();
        line["timestamp"] = (*timestamp).into();
        line["vertices"] = frozen.map(|frozen| frozen.vertices).into();
        line["edges"] = frozen.map(|frozen| frozen.edges).into();
        line["freshShare"] = frozen.map(|frozen| frozen.fresh_share).into();
    }
    line
}

fn schema(
    names: &[(&'static str, ColumnKind)],
    arrays: &[ArrayRef],
    more_fields: Vec<Field>,
    figures: &Figures,
    summary: Option<&Value>,
) -> Result<Arc<Schema>> {
    // All of it without rows: whether there are nulls counts for all batches.
    let mut table = TableBuilder::default();
    let mut others = arrays.iter();
    for (name, kind) in names {
        match kind {
            ColumnKind::Vertex => table.push(name, UInt64Array::from(Vec::<u64>::new())),
            _ => table.push(name, others.next().ok_or_else(missing_column)?.slice(0, 0)),
        }
    }
    for (name, figure) in figures.iter().filter(|(_, figure)| *figure != Figure::Nothing) {
        table.note(name, figure);
    }
    if let Some(summary) = summary {
        table.note("summary", summary);
    }
    let schema = table.finish()?.schema();
    let mut others = arrays.iter();
    let fields = schema.fields().iter().zip(names).map(|(field, (_, kind))| {
        let is_nullable = match kind {
            ColumnKind::Vertex => false,
            _ => others.next().is_some_and(|array| array.null_count() > 0),
        };
        field.as_ref().clone().with_nullable(is_nullable)
    });
    let fields: Vec<_> = fields.chain(more_fields).collect();
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

fn batch(
    names: &[(&'static str, ColumnKind)],
    vertices: &[VertexId],
    arrays: &[ArrayRef],
    schema: &Arc<Schema>,
    from: usize,
    rows: usize,
) -> Result<RecordBatch> {
    let mut others = arrays.iter();
    let columns = names.iter().map(|(_, kind)| match kind {
        ColumnKind::Vertex => {
            let numbers = vertices[from..from + rows].iter().map(|vertex| u64::from(vertex.0));
            Ok(Arc::new(UInt64Array::from_iter_values(numbers)) as ArrayRef)
        }
        _ => Ok(others.next().ok_or_else(missing_column)?.slice(from, rows)),
    });
    let mut columns = columns.collect::<Result<Vec<_>>>()?;
    columns.extend(others.map(|array| array.slice(from, rows)));
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(unwritten)
}

fn missing_column() -> Error {
    Error::invalid("the answer has fewer columns than the table of algorithms says")
}

fn unwritten(error: ArrowError) -> Error {
    Error::invalid(format!("the answer cannot be an Arrow stream: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_ipc::reader::StreamReader;
    use evergraph::analysis::table::by_name;
    use evergraph_graph::value::{Value, ValueType};

    fn answer(rows: u32) -> Answer {
        let scores = (0..rows).map(|row| f64::from(row) / 2.0).collect();
        Answer {
            vertices: (0..rows).map(VertexId).collect(),
            columns: vec![Column::new(ColumnValues::F64(scores))],
            figures: vec![("iterations", Figure::Whole(3)), ("length", Figure::Nothing)],
            summary: String::new(),
        }
    }

    fn all(rows: u32, format: RowFormat) -> (Vec<u8>, Vec<BodyPart>) {
        let algorithm = by_name("pagerank").unwrap();
        let end = AnswerEnd { figures: vec![("kernel_seconds", Figure::Real(0.5))], summary: None };
        let mut rows =
            AnswerRows::new(algorithm, answer(rows), VertexColumns::default(), end, format).unwrap();
        let (mut bytes, mut parts) = (Vec::new(), Vec::new());
        while !rows.is_done() {
            let Frame { bytes: more, kind: FrameKind::Body(part) } = rows.part().unwrap() else {
                unreachable!()
            };
            bytes.extend(more);
            parts.push(part);
        }
        (bytes, parts)
    }

    #[test]
    fn lines_end_with_figures() {
        let (bytes, parts) = all(2, RowFormat::Lines);
        let expected = "{\"vertex\":0,\"score\":0.0}\n{\"vertex\":1,\"score\":0.5}\n\
                        {\"figures\":{\"iterations\":3,\"kernelSeconds\":0.5,\"length\":null}}\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        assert_eq!(parts, [BodyPart::Whole(200)]);
        assert_eq!(all(0, RowFormat::Lines).1, [BodyPart::Whole(200)]);
        let (bytes, parts) = all(20_000, RowFormat::Lines);
        assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 20_001);
        assert!(parts.len() > 2 && parts.last() == Some(&BodyPart::Last));
    }

    #[test]
    fn an_arrow_stream_has_all_rows_and_figures_as_metadata() {
        for rows in [0, 3, 40_000] {
            let (bytes, parts) = all(rows, RowFormat::Arrow);
            let reader = StreamReader::try_new(&*bytes, None).unwrap();
            let schema = reader.schema();
            let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            assert_eq!(names, ["vertex", "score"]);
            assert_eq!(schema.metadata()["iterations"], "3");
            assert!(!schema.metadata().contains_key("length"));
            let count: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
            assert_eq!((count, parts.len()), (rows as usize, 1.max((rows as usize).div_ceil(BATCH_ROWS))));
        }
    }

    #[test]
    fn a_summary_is_the_last_line_and_in_the_metadata_of_an_arrow_stream() {
        let frozen = Frozen { vertices: 2, edges: 7, fresh_share: 0.0 };
        let rows = |frozen, format| {
            let summary = AnswerSummary { sentence: "converged".to_owned(), timestamp: 9, frozen };
            let end = AnswerEnd { figures: Vec::new(), summary: Some(summary) };
            let algorithm = by_name("pagerank").unwrap();
            let mut rows =
                AnswerRows::new(algorithm, answer(2), VertexColumns::default(), end, format).unwrap();
            rows.part().unwrap().bytes
        };
        let text = String::from_utf8(rows(Some(frozen), RowFormat::Lines)).unwrap();
        let line = "{\"edges\":7,\"figures\":{\"iterations\":3,\"length\":null},\"freshShare\":0.0,\"summary\":\"converged\",\
                    \"timestamp\":9,\"vertices\":2}";
        assert_eq!(text.lines().last(), Some(line));
        let metadata =
            |bytes: Vec<u8>| StreamReader::try_new(&*bytes, None).unwrap().schema().metadata.clone();
        assert_eq!(metadata(rows(Some(frozen), RowFormat::Arrow))["summary"], line);
        assert!(metadata(rows(None, RowFormat::Arrow))["summary"].contains("\"vertices\":null"));
        assert!(!metadata(all(2, RowFormat::Arrow).0).contains_key("summary"));
    }

    #[test]
    fn properties_of_the_vertices_stand_beside_their_rows() {
        let mut column = evergraph_graph::column::Column::new(ValueType::Any);
        let date = Value::parse("1815-12-10", ValueType::Date).unwrap();
        for value in [Some("Ada\n".into()), None, Some(Value::I32(7)), Some(date), Some(Value::F64(0.1))] {
            column.push(value);
        }
        let keys = vec![KeyColumn { name: "ke\"y".to_owned(), column }];
        let rows = |format| {
            let algorithm = by_name("pagerank").unwrap();
            let beside = VertexColumns { keys: keys.clone(), names: None };
            let mut rows =
                AnswerRows::new(algorithm, answer(5), beside, AnswerEnd::default(), format).unwrap();
            rows.part().unwrap().bytes
        };
        let text = String::from_utf8(rows(RowFormat::Lines)).unwrap();
        let found: Vec<serde_json::Value> =
            text.lines().take(5).map(|line| serde_json::from_str(line).unwrap()).collect();
        let found: Vec<_> = found.iter().map(|line| line["ke\"y"].to_string()).collect();
        let date = r#"{"@type":"gx:LocalDate","@value":"1815-12-10"}"#;
        assert_eq!(found, ["\"Ada\\n\"", "null", "7", date, "0.1"]);
        let bytes = rows(RowFormat::Arrow);
        let batch = StreamReader::try_new(&*bytes, None).unwrap().next().unwrap().unwrap();
        assert_eq!((batch.num_columns(), batch.column(2).null_count()), (3, 1));
        assert_eq!(batch.schema().field(2).name(), "ke\"y");
    }

    #[test]
    fn unknown_values_are_null() {
        let algorithm = by_name("bfs").unwrap();
        let column = Column { values: ColumnValues::U32(vec![7, 8]), known: Some(vec![0b10]) };
        let answer = Answer {
            vertices: vec![VertexId(3), VertexId(4)],
            columns: vec![column],
            figures: Vec::new(),
            summary: String::new(),
        };
        let made = |format| {
            let (beside, end) = (VertexColumns::default(), AnswerEnd::default());
            AnswerRows::new(algorithm, answer.clone(), beside, end, format).unwrap()
        };
        let mut rows = made(RowFormat::Lines);
        let text = String::from_utf8(rows.part().unwrap().bytes).unwrap();
        assert!(text.contains("{\"vertex\":3,") && text.contains(":null}") && text.contains(":8}"), "{text}");
        let mut rows = made(RowFormat::Arrow);
        let bytes = rows.part().unwrap().bytes;
        let batch = StreamReader::try_new(&*bytes, None).unwrap().next().unwrap().unwrap();
        assert_eq!(batch.column(1).null_count(), 1);
    }
}
