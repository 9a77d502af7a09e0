//! Parquet: the files of a CSV export with typed columns, for analysis tools.
//!
//! ```text
//! Person.parquet           id:ID(Person)   int64      name  utf8       born  date32
//!                          at              utf8, {"evergraph.cell": "map{form:graphson}"}
//! Person-KNOWS-Person...   :START_ID(Person)   :TYPE   :END_ID(Person)   since  date32
//! ```
//!
//! Roles stand in names of columns as in a header of CSV; a property's column has the property's name.
//! What Arrow has no type for is text, as a cell of CSV would hold it, and the field's metadata say of
//! which type it is: `evergraph.cell` holds the word of a header. A property whose name would be taken
//! for a role stands under another one, and under its own in `evergraph.key`.

use crate::export::cell_form::CellForm;
use crate::export::csv::{Space, edge_file_name, id_word, space_of, spaces};
use crate::export::facts::{Facts, utc_nanoseconds};
use crate::export::file_names::FileNames;
use crate::export::meter::Meter;
use crate::export::options::{ExportOptions, ExportedFile, Packing};
use crate::export::packed_file::PackedFile;
use crate::export::pages;
use crate::export::survey::{JoinSurvey, LabelSurvey, Survey};
use crate::export::target::FolderTarget;
use crate::import::csv::quoted_name;
use crate::import::parquet::file::{CELL_METADATA, KEY_METADATA, is_role};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, ListArray, RecordBatch, StringArray, TimestampNanosecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::KeyId;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Rows of a row group: enough to pack well, few enough to read many at once.
const GROUP_ROWS: usize = 1 << 16;
/// Bytes of a row group in memory before it is written, whatever its rows.
const GROUP_BYTES: usize = 64 << 20;

/// How the values of one property stand in a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnForm {
    /// As Arrow's type of these values.
    Typed(ValueType),
    /// As lists of Arrow's type of these values.
    List(ValueType),
    /// As the text of a cell.
    Text(CellForm),
}

/// A column of a file.
struct FileColumn {
    key: KeyId,
    form: ColumnForm,
}

/// A file that gets rows, and how many it has got.
struct ParquetFile {
    name: String,
    writer: ArrowWriter<PackedFile<File>>,
    schema: Arc<Schema>,
    rows: u64,
}

impl ColumnForm {
    /// The form in which all values come back, as near to Arrow's types as it can be.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        let is_typed = |value_type| match value_type {
            ValueType::DateTime => facts.moments_are_utc,
            other => arrow_type(other).is_some(),
        };
        match (facts.value_type(), facts.elements.only()) {
            (ValueType::List, Some(element)) if is_typed(element) => Self::List(element),
            (other, _) if is_typed(other) => Self::Typed(other),
            _ => Self::Text(CellForm::of(facts)),
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Typed(value_type) => arrow_type(value_type).unwrap_or(DataType::Utf8),
            Self::List(element) => {
                let element = arrow_type(element).unwrap_or(DataType::Utf8);
                DataType::List(Arc::new(Field::new_list_field(element, true)))
            }
            Self::Text(_) => DataType::Utf8,
        }
    }

    /// The values of `column` as an array.
    fn array(self, column: &Column) -> ArrayRef {
        let values: Vec<Option<Value>> = (0..column.len()).map(|row| column.get(row)).collect();
        match self {
            Self::Typed(value_type) => typed(value_type, &values),
            Self::List(element) => lists(element, &values),
            Self::Text(form) => {
                let cell = |value: &Value| {
                    let mut text = String::new();
                    form.write(&mut text, value);
                    text
                };
                let cells = values.iter().map(|value| value.as_ref().map(cell));
                Arc::new(cells.collect::<StringArray>())
            }
        }
    }
}

/// Writes everything that `survey` found in `view`.
///
/// # Errors
/// Errors of reading; `invalid`, `io` or `limit` from the target; `cancelled`.
pub fn write(
    view: &dyn GraphView,
    survey: &Survey,
    options: &ExportOptions,
    meter: &Meter<'_>,
) -> Result<Vec<ExportedFile>> {
    let mut target = FolderTarget::create(options)?;
    let mut names = FileNames::default();
    let spaces = spaces(survey, &mut names);
    for (space, label) in spaces.iter().zip(&survey.labels) {
        write_vertices(view, survey, (space, label), meter, &mut target)?;
    }
    for joins in survey.joins_by_source() {
        write_edges(view, survey, &spaces, joins, &mut names, (meter, &mut target))?;
    }
    target.finish()
}

fn write_vertices(
    view: &dyn GraphView,
    survey: &Survey,
    (space, label): (&Space, &LabelSurvey),
    meter: &Meter<'_>,
    target: &mut FolderTarget,
) -> Result<()> {
    let label_name = survey.catalogue.label_name(label.label);
    let is_stated = *label_name != *space.name;
    let columns: Vec<FileColumn> = label
        .facts
        .iter()
        .filter(|(key, _)| space.identity.key() != Some(**key))
        .map(|(key, facts)| FileColumn { key: *key, form: ColumnForm::of(facts) })
        .collect();
    let mut fields = vec![id_field(survey, space, "ID")];
    if is_stated {
        fields.push(Field::new(":LABEL", DataType::Utf8, false));
    }
    fields.extend(columns.iter().map(|column| property_field(survey, column)));
    let mut file = ParquetFile::create(&space.name, fields, target)?;
    pages::vertices(view, label.label, |page| {
        let ids = space.identity.column(view, Some(label.label), page)?;
        let mut arrays = vec![id_form(survey, space).array(&ids)];
        if is_stated {
            arrays.push(repeated(&label_name, page.len()));
        }
        for column in &columns {
            arrays.push(column.form.array(&pages::vertex_column(view, label.label, page, column.key)?));
        }
        file.write(target, arrays, page.len())?;
        meter.tick(&file.name, page.len())
    })?;
    file.finish(target)
}

fn write_edges(
    view: &dyn GraphView,
    survey: &Survey,
    spaces: &[Space],
    joins: &[JoinSurvey],
    names: &mut FileNames,
    (meter, target): (&Meter<'_>, &mut FolderTarget),
) -> Result<()> {
    let (edge_type, source) = (joins[0].edge_type, joins[0].source);
    let type_name = survey.catalogue.edge_type_name(edge_type);
    let source_space = space_of(spaces, source);
    let mut files = Vec::with_capacity(joins.len());
    for join in joins {
        let target_space = space_of(spaces, join.target);
        let facts = join.keys.iter().filter_map(|key| Some((*key, survey.edge_facts(edge_type, *key)?)));
        let columns: Vec<FileColumn> =
            facts.map(|(key, facts)| FileColumn { key, form: ColumnForm::of(facts) }).collect();
        let mut fields = vec![
            id_field(survey, source_space, "START_ID"),
            Field::new(":TYPE", DataType::Utf8, false),
            id_field(survey, target_space, "END_ID"),
        ];
        fields.extend(columns.iter().map(|column| property_field(survey, column)));
        let file = ParquetFile::create(&edge_file_name(survey, spaces, join, names), fields, target)?;
        files.push((join.target, target_space, columns, file));
    }
    pages::edges(view, source, edge_type, |label, page| {
        let Some((_, target_space, columns, file)) = files.iter_mut().find(|(known, ..)| *known == label)
        else {
            return Ok(()); // its end is outside the scope
        };
        let sources = source_space.identity.column(view, Some(source), &page.sources())?;
        let targets = target_space.identity.column(view, Some(label), &page.targets())?;
        let mut arrays = vec![
            id_form(survey, source_space).array(&sources),
            repeated(&type_name, page.edges.len()),
            id_form(survey, target_space).array(&targets),
        ];
        for column in columns {
            arrays.push(column.form.array(&pages::edge_column(view, edge_type, &page.edges, column.key)?));
        }
        file.write(target, arrays, page.edges.len())?;
        meter.tick(&file.name, page.edges.len())
    })?;
    files.into_iter().try_for_each(|(.., file)| file.finish(target))
}

/// How the ids of `space` stand wherever they do. Where that is text, the name of the column says of which
/// type.
fn id_form(survey: &Survey, space: &Space) -> ColumnForm {
    let facts = space.identity.key().and_then(|key| survey.label(space.label)?.facts.get(&key));
    facts.map_or(ColumnForm::Typed(ValueType::I64), ColumnForm::of)
}

/// The field of the ids of `space`, where they stand as `role`.
fn id_field(survey: &Survey, space: &Space, role: &str) -> Field {
    Field::new(id_word(survey, space, role), id_form(survey, space).data_type(), false)
}

fn property_field(survey: &Survey, column: &FileColumn) -> Field {
    let key = survey.catalogue.key_name(column.key);
    let mut metadata = HashMap::new();
    // Quoted, no name looks like a role: it has no colon.
    let name = if is_role(&key) {
        metadata.insert(KEY_METADATA.to_owned(), key.to_string());
        quoted_name::write(&key).into_owned()
    } else {
        key.to_string()
    };
    if let ColumnForm::Text(form) = column.form {
        metadata.insert(CELL_METADATA.to_owned(), form.type_word());
    }
    Field::new(name, column.form.data_type(), true).with_metadata(metadata)
}

fn repeated(text: &str, rows: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(std::iter::repeat_n(text, rows)))
}

/// Arrow's type of values of `value_type`; `None` if it has none that holds them all.
fn arrow_type(value_type: ValueType) -> Option<DataType> {
    Some(match value_type {
        ValueType::Bool => DataType::Boolean,
        ValueType::I8 => DataType::Int8,
        ValueType::I16 => DataType::Int16,
        ValueType::I32 => DataType::Int32,
        ValueType::I64 => DataType::Int64,
        ValueType::F32 => DataType::Float32,
        ValueType::F64 => DataType::Float64,
        ValueType::String => DataType::Utf8,
        ValueType::Bytes => DataType::Binary,
        ValueType::Date => DataType::Date32,
        ValueType::DateTime => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        _ => return None,
    })
}

/// `values`, which are all of `value_type`, as an array.
fn typed(value_type: ValueType, values: &[Option<Value>]) -> ArrayRef {
    macro_rules! array {
        ($array:ty, $value:ident => $part:expr) => {
            Arc::new(values.iter().map(|value| value.as_ref().and_then(|$value| $part)).collect::<$array>())
        };
        ($array:ty, $variant:ident) => {
            array!($array, value => if let Value::$variant(part) = value { Some(*part) } else { None })
        };
    }
    match value_type {
        ValueType::Bool => array!(BooleanArray, Bool),
        ValueType::I8 => array!(Int8Array, I8),
        ValueType::I16 => array!(Int16Array, I16),
        ValueType::I32 => array!(Int32Array, I32),
        ValueType::I64 => array!(Int64Array, I64),
        ValueType::F32 => array!(Float32Array, F32),
        ValueType::F64 => array!(Float64Array, F64),
        ValueType::Bytes => {
            array!(BinaryArray, value => if let Value::Bytes(bytes) = value { Some(bytes.as_ref()) } else { None })
        }
        ValueType::Date => {
            array!(Date32Array, value => if let Value::Date(date) = value { Some(date.days()) } else { None })
        }
        ValueType::DateTime => {
            let moments = values.iter().map(|value| match value {
                Some(Value::DateTime(moment)) => utc_nanoseconds(*moment),
                _ => None,
            });
            Arc::new(moments.collect::<TimestampNanosecondArray>().with_timezone("UTC"))
        }
        _ => array!(StringArray, value => value.as_str()),
    }
}

/// `values`, which are lists of values of `element`, as an array of lists.
fn lists(element: ValueType, values: &[Option<Value>]) -> ArrayRef {
    let elements = |value: &Option<Value>| match value {
        Some(Value::List(list)) => list.as_slice().to_vec(),
        _ => Vec::new(),
    };
    let lists: Vec<Vec<Value>> = values.iter().map(elements).collect();
    let offsets = OffsetBuffer::from_lengths(lists.iter().map(Vec::len));
    let present = NullBuffer::from_iter(values.iter().map(Option::is_some));
    let all: Vec<Option<Value>> = lists.into_iter().flatten().map(Some).collect();
    let array = typed(element, &all);
    let field = Arc::new(Field::new_list_field(array.data_type().clone(), true));
    Arc::new(ListArray::new(field, offsets, array, Some(present)))
}

impl ParquetFile {
    fn create(stem: &str, fields: Vec<Field>, target: &FolderTarget) -> Result<Self> {
        let (name, packed) = target.file(&format!("{stem}.parquet"), Packing::None)?;
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_max_row_group_bytes(Some(GROUP_BYTES))
            .build();
        let writer = ArrowWriter::try_new(packed, schema.clone(), Some(properties))
            .map_err(|error| failed(target, &name, error))?;
        Ok(Self { name, writer, schema, rows: 0 })
    }

    fn write(&mut self, target: &FolderTarget, arrays: Vec<ArrayRef>, rows: usize) -> Result<()> {
        let batch = RecordBatch::try_new(self.schema.clone(), arrays)
            .map_err(|error| failed(target, &self.name, error.into()))?;
        self.writer.write(&batch).map_err(|error| failed(target, &self.name, error))?;
        self.rows += rows as u64;
        Ok(())
    }

    fn finish(self, target: &mut FolderTarget) -> Result<()> {
        let packed = self.writer.into_inner().map_err(|error| failed(target, &self.name, error))?;
        target.finish_file(self.name, packed, self.rows)
    }
}

fn failed(target: &FolderTarget, name: &str, error: ParquetError) -> Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => target.failed(name, *error),
            Err(error) => Error::invalid(format!("{name}: can't be written as Parquet: {error}")),
        },
        error => Error::invalid(format!("{name}: can't be written as Parquet: {error}")),
    }
}
