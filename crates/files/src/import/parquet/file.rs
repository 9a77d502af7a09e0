//! File: one opened Parquet file of a plan: the purpose and the type of its columns.
//!
//! A column's name may be a word of a header that names a role: `id:ID(Person)`, `:START_ID(Person)`,
//! `:LABEL`, `:IGNORE`. Every other name is the key of a property as it stands, colons and all. What our
//! exports add, a field's metadata say: texts that are cells of another type, and keys that would look
//! like a role.

use crate::import::bytes::input::Input;
use crate::import::bytes::source::{display_name, open_error};
use crate::import::csv::header::{ColumnRole, Header, parse_type};
use crate::import::csv::records::check_columns;
use crate::import::field::cell::CellType;
use crate::import::file_name::stem;
use crate::import::id_type::IdType;
use crate::import::mapping::rule::FileRule;
use crate::import::mapping::words::{header_words, is_role_word};
use crate::import::parquet::cells::value_at;
use crate::import::parquet::guards::{check_footer, guarded};
use crate::import::parquet::packing::check_packing;
use crate::import::parquet::types::value_type_of;
use crate::import::role::Role;
use arrow_array::RecordBatch;
use arrow_schema::DataType;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::ValueType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::LogicalType;
use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The metadata of a field whose texts are cells: their type, as in a header of CSV.
pub const CELL_METADATA: &str = "evergraph.cell";
/// The metadata of a field whose name isn't the property's key: the key.
pub const KEY_METADATA: &str = "evergraph.key";

/// What stands between elements in texts that are cells.
const ARRAY_DELIMITER: u8 = b';';

/// A Parquet file and how to read it.
#[derive(Debug)]
pub struct ParquetFile {
    /// Where it is.
    pub path: PathBuf,
    /// How it is read.
    pub rule: FileRule,
}

/// A Parquet file whose schema is understood.
pub struct OpenParquet {
    /// What errors call it.
    pub name: String,
    /// Whether it holds [`Role::Nodes`] or [`Role::Relationships`].
    pub role: Role,
    /// The columns that are read, in the file's order.
    pub columns: Vec<ParquetColumn>,
    /// The label or type of rows that name none.
    pub default_name: String,
    /// Whether a pair of vertices has one edge at most.
    pub undirected: bool,
    path: PathBuf,
    metadata: ArrowReaderMetadata,
}

/// A column that is read.
#[derive(Clone, Debug)]
pub struct ParquetColumn {
    /// Its number in the file, counted from 0.
    pub index: usize,
    /// Its name in the file.
    pub text: String,
    /// What it is for.
    pub meaning: ColumnRole,
    /// The type of its values.
    pub value_type: ValueType,
    /// What its texts are, if they are cells of another type.
    pub cells: Option<CellType>,
}

impl ParquetColumn {
    /// The type of ids in it: what its name states, or else that of its values, if they may be ids.
    #[must_use]
    pub fn id_type(&self) -> Option<IdType> {
        let stated = match &self.meaning {
            ColumnRole::Id { id_type, .. } => *id_type,
            ColumnRole::StartId(end) | ColumnRole::EndId(end) => end.id_type,
            _ => None,
        };
        IdType::new(self.value_type).map(|found| stated.unwrap_or(found))
    }
}

impl ParquetFile {
    /// Opens the file and understands its schema.
    ///
    /// # Errors
    /// `not_found` or `io`; `invalid` if it is no Parquet file, a column is of a type that we don't
    /// have, or its names or the mapping don't say what it holds.
    pub fn open(&self) -> Result<OpenParquet> {
        let (rule, name) = (&self.rule, display_name(&self.path));
        let metadata = read_metadata(&self.path)?;
        let blame = |why: String| Error::invalid(rule.blame(format!("{name}: {why}")));
        let names: Vec<String> =
            metadata.schema().fields().iter().map(|field| field.name().clone()).collect();
        let words = header_words(&names, rule).map_err(&blame)?;
        let roles: Vec<String> = words
            .iter()
            .map(|word| if is_role(word) { word.clone() } else { ":IGNORE".to_owned() })
            .collect();
        let header = Header::parse(&name, &roles, b';').map_err(|error| match &rule.origin {
            Some(origin) => error.context(origin),
            None => error,
        })?;
        let mut columns: Vec<ParquetColumn> = Vec::new();
        let mut keys = HashSet::new();
        for (index, (word, field)) in words.iter().zip(header.fields).enumerate() {
            let data_type = metadata.schema().field(index).data_type();
            let value_type = value_type_of(data_type, is_uuid(&metadata, index));
            let refuse = |what: &str| {
                let (column, name) = (index + 1, &names[index]);
                blame(format!("column {column} ({name}): is of type {data_type}, {what}"))
            };
            let stated = metadata.schema().field(index).metadata().get(CELL_METADATA);
            let stated = stated.filter(|_| *data_type == DataType::Utf8);
            let cells = stated.map(|word| parse_type(word, ARRAY_DELIMITER)).transpose();
            let cells = cells.map_err(|why| {
                blame(format!("column {} ({}): {CELL_METADATA}: {why}", index + 1, names[index]))
            })?;
            let meaning = match field.meaning {
                ColumnRole::Ignore if !is_ignored(word) => {
                    // Nothing to be kept, and no type to keep it by.
                    if *data_type == DataType::Null {
                        continue;
                    }
                    let value_type = value_type.ok_or_else(|| {
                        refuse("which Evergraph does not have: leave it out by `ignore` in a mapping, or convert it")
                    })?;
                    let key = metadata.schema().field(index).metadata().get(KEY_METADATA).unwrap_or(word);
                    let cell_type = cells.unwrap_or(CellType::Scalar(value_type));
                    ColumnRole::Property { key: key.clone(), cell_type }
                }
                ColumnRole::Ignore => continue,
                meaning => meaning,
            };
            let value_type = value_type.unwrap_or(ValueType::Any);
            let column = ParquetColumn { index, text: names[index].clone(), meaning, value_type, cells };
            let is_id = matches!(
                column.meaning,
                ColumnRole::Id { .. } | ColumnRole::StartId(_) | ColumnRole::EndId(_)
            );
            if is_id && column.id_type().is_none() {
                return Err(refuse("which ids can't be"));
            }
            if matches!(column.meaning, ColumnRole::Label | ColumnRole::Type)
                && value_type != ValueType::String
            {
                return Err(refuse("names are strings"));
            }
            if let Some(key) = column.meaning.key()
                && !keys.insert(key.to_owned())
            {
                return Err(blame(format!("column {}: there are two columns {key}", index + 1)));
            }
            columns.push(column);
        }
        let stated = if header.role == Role::Nodes { &rule.label } else { &rule.edge_type };
        Ok(OpenParquet {
            name,
            role: header.role,
            columns,
            default_name: stated.clone().unwrap_or_else(|| stem(&self.path)),
            undirected: rule.undirected,
            path: self.path.clone(),
            metadata,
        })
    }
}

impl OpenParquet {
    /// Rows before each row group, and in all.
    #[must_use]
    pub fn group_rows(&self) -> Vec<u64> {
        let groups = self.metadata.metadata().row_groups();
        let mut rows = vec![0];
        for group in groups {
            rows.push(rows.last().copied().unwrap_or(0) + u64::try_from(group.num_rows()).unwrap_or(0));
        }
        rows
    }

    /// Bytes of the largest row group when it is unpacked, and of one of its rows.
    #[must_use]
    pub fn group_and_row_bytes(&self) -> (u64, u64) {
        let groups = self.metadata.metadata().row_groups();
        let sizes = groups.iter().map(|group| {
            let [bytes, rows] = [group.total_byte_size(), group.num_rows()].map(|size| size.max(0) as u64);
            (bytes, bytes.div_ceil(rows.max(1)))
        });
        sizes.max().unwrap_or((0, 0))
    }

    /// Packed bytes of row group `group`.
    #[must_use]
    pub fn group_bytes(&self, group: usize) -> u64 {
        u64::try_from(self.metadata.metadata().row_group(group).compressed_size()).unwrap_or(0)
    }

    /// Reads the columns of row group `group`, in batches of `rows_max` rows. Many threads may read at
    /// the same time: each opens the file for itself.
    ///
    /// # Errors
    /// As opening.
    pub fn read_group(&self, group: usize, rows_max: usize) -> Result<ParquetRecordBatchReader> {
        let file = File::open(&self.path).map_err(|error| open_error(&self.path, error))?;
        let columns = self.columns.iter().map(|column| column.index);
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), columns);
        guarded(&self.name, || {
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                .with_projection(mask)
                .with_row_groups(vec![group])
                .with_batch_size(rows_max)
                .build()
        })
    }

    /// The next rows of `reader`; `None` at the end of its row group.
    ///
    /// # Errors
    /// `invalid` if the file is damaged there.
    pub fn next_batch(&self, reader: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>> {
        guarded(&self.name, || reader.next().transpose())
    }
}

/// Name, type and some values of the first rows of each column.
pub struct ParquetStart {
    /// The names of the columns.
    pub names: Vec<String>,
    /// The types of their values, as far as we have them.
    pub types: Vec<Option<ValueType>>,
    /// The first rows.
    pub rows: Option<RecordBatch>,
}

impl ParquetStart {
    /// The values of `column` in the first rows as texts, each empty where there is no value.
    #[must_use]
    pub fn texts(&self, column: usize) -> Vec<String> {
        let Some(rows) = &self.rows else { return Vec::new() };
        let value = |row| value_at(rows.column(column), row, false).ok().flatten();
        (0..rows.num_rows())
            .map(|row| value(row).map_or_else(String::new, |value| value.to_string()))
            .collect()
    }
}

/// Looks at the beginning of the file at `path`.
///
/// # Errors
/// As opening.
pub fn look_at_start(path: &Path, rows_max: usize) -> Result<ParquetStart> {
    let (name, metadata) = (display_name(path), read_metadata(path)?);
    let file = File::open(path).map_err(|error| open_error(path, error))?;
    let fields = metadata.schema().fields().clone();
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
    let mut reader = guarded(&name, || builder.with_batch_size(rows_max).build())?;
    let rows = guarded(&name, || reader.next().transpose())?;
    let type_of = |index: usize| value_type_of(fields[index].data_type(), is_uuid(&metadata, index));
    Ok(ParquetStart {
        names: fields.iter().map(|field| field.name().clone()).collect(),
        types: (0..fields.len()).map(type_of).collect(),
        rows,
    })
}

/// Refuses an input that can be read once only.
///
/// # Errors
/// `invalid`.
pub fn refuse_stream(input: &Input) -> Result<()> {
    if input.is_stream() {
        let name = input.name();
        return Err(Error::invalid(format!("{name}: a Parquet file is read at several places: name a file")));
    }
    Ok(())
}

fn read_metadata(path: &Path) -> Result<ArrowReaderMetadata> {
    let name = display_name(path);
    let file = File::open(path).map_err(|error| open_error(path, error))?;
    let file_bytes = file.metadata().map_err(|error| open_error(path, error))?.len();
    let metadata = guarded(&name, || ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()))?;
    check_footer(&name, metadata.metadata(), file_bytes)?;
    check_columns(metadata.schema().fields().len()).map_err(|error| error.context(&name))?;
    check_packing(&name, metadata.metadata())?;
    Ok(metadata)
}

/// Whether a column of this name isn't a property.
#[must_use]
pub fn is_role(word: &str) -> bool {
    is_role_word(word) || is_ignored(word)
}

fn is_ignored(word: &str) -> bool {
    word.rsplit_once(':').is_some_and(|(_, kind)| kind.trim().eq_ignore_ascii_case("IGNORE"))
}

/// Whether the file says that the bytes in column `index` are UUIDs.
fn is_uuid(metadata: &ArrowReaderMetadata, index: usize) -> bool {
    let root = metadata.parquet_schema().root_schema();
    root.get_fields()
        .get(index)
        .is_some_and(|field| field.get_basic_info().logical_type_ref() == Some(&LogicalType::Uuid))
}
