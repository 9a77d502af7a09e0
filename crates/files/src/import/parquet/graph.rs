//! Graph: reads Parquet files of vertices and of edges into an assembly, a row group at a time.
//!
//! Faults name rows where those of texts name lines: `knows.parquet:17` is the 17th row.

use crate::import::assembly::batch::{Batch, Columns, Ends, IdPart, Names, RejectedRow};
use crate::import::assembly::edges::EdgeRule;
use crate::import::assembly::graph::Assembly;
use crate::import::assembly::id_column::IdColumn;
use crate::import::assembly::waiting_edges::WaitingEdges;
use crate::import::bad_row::Fault;
use crate::import::bytes::source::BytesRead;
use crate::import::context::Context;
use crate::import::csv::header::{ColumnRole, EndSpace};
use crate::import::faults::{FaultCollector, FaultRules, Faults};
use crate::import::field::cell::{CellColumn, CellType};
use crate::import::id_type::IdType;
use crate::import::parquet::cells::{ids, property, texts, value_at};
use crate::import::parquet::file::{OpenParquet, ParquetColumn};
use crate::import::pipeline;
use arrow_array::RecordBatch;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::shortened::Shortened;
use evergraph_graph::value::{Value, ValueType};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// Rows of a batch, at most.
const BATCH_ROWS: usize = 1 << 15;

/// Bytes of a row, about: tests ask for small blocks.
const ROW_BYTES: usize = 32;

/// Units of a thread that are in memory at once: the pipeline's three rounds of two.
const UNITS_OF_THREAD: u64 = 6;

/// What is parsed at once.
enum Unit {
    /// A row group, which whoever parses it reads.
    Group(usize),
    /// Rows, and how many come before them.
    Batch(RecordBatch, u64),
}

/// Reads row groups that are too large for memory one after the other, batch by batch.
struct Batches<'a> {
    file: &'a OpenParquet,
    /// Rows before each group.
    rows_before: &'a [u64],
    bytes: &'a BytesRead,
    /// Rows of a batch.
    rows: usize,
    groups: Range<usize>,
    /// The group that is read, and the rows before the next batch.
    open: Option<(usize, ParquetRecordBatchReader, u64)>,
}

impl Batches<'_> {
    fn next(&mut self) -> Result<Option<Unit>> {
        loop {
            if let Some((group, reader, first)) = &mut self.open {
                if let Some(batch) = self.file.next_batch(reader)? {
                    let before = *first;
                    *first += batch.num_rows() as u64;
                    return Ok(Some(Unit::Batch(batch, before)));
                }
                self.bytes.add(self.file.group_bytes(*group));
                self.open = None;
            }
            let Some(group) = self.groups.next() else { return Ok(None) };
            self.open = Some((group, self.file.read_group(group, self.rows)?, self.rows_before[group]));
        }
    }
}

/// Some rows of a file.
struct Rows {
    lines: Vec<u64>,
    /// The columns of ids, in the file's order.
    ids: Vec<IdColumn>,
    names: Names,
    columns: Vec<(String, CellColumn)>,
    faults: Faults,
}

/// Adds the vertices of `file` to `assembly`.
///
/// # Errors
/// As reading; `invalid` if the schema disagrees with what another file says; a bad row, if it stops
/// the import.
pub fn read_nodes(assembly: &mut Assembly, file: &OpenParquet, context: &mut Context<'_>) -> Result<()> {
    let id = file.columns.iter().find_map(|column| match &column.meaning {
        ColumnRole::Id { key, space, .. } => Some((column, key.clone(), space)),
        _ => None,
    });
    let Some((id_column, key, space)) = id else {
        return Err(Error::invalid(format!("{}: there is no :ID", file.name)));
    };
    let id_type = id_type(id_column);
    let space = assembly.enter_space(space, Some(id_type), &file.name)?;
    if !file.columns.iter().any(|column| column.meaning == ColumnRole::Label) {
        // The label is there even if the file has no rows.
        let table =
            assembly.vertex_table(&file.default_name, key.as_deref(), Some(id_type), space, &file.name)?;
        assembly.declare_vertices(table, id_type, properties(file), &file.name)?;
    }
    let mut declared = HashSet::new();
    read_groups(file, &[id_type], context, |rows, collector| {
        let Some(rows) = rows else { return Ok(0) };
        let Rows { lines, mut ids, names, columns, mut faults } = rows;
        let mut tables = Vec::with_capacity(names.names.len());
        for label in &names.names {
            let table = assembly.vertex_table(label, key.as_deref(), Some(id_type), space, &file.name)?;
            if declared.insert(table) {
                assembly.declare_vertices(table, id_type, properties(file), &file.name)?;
            }
            tables.push(table);
        }
        let ids = ids.pop().expect("a file of vertices has a column of ids");
        let batch = Batch { lines, ids, names, columns: Columns::Shared(columns) };
        let (placed, rejected) =
            assembly.place_vertices(&file.name, (space, tables), &batch, collector.rules())?;
        faults.join(rejected.map(|RejectedRow { row, part, why }| {
            let text = batch.ids.show(row);
            match part {
                IdPart::Row => Fault::of_row(why, text.as_bytes()),
                _ => Fault::of_column(id_column.index, &id_column.text, why, text.as_bytes()),
            }
        }));
        collector.add(&file.name, 0, faults)?;
        assembly.store_vertices(&file.name, &placed, batch)
    })
}

/// Adds the edges of `file` to `assembly`, which has the vertices.
///
/// # Errors
/// As reading; `invalid` if the schema names an id space without vertices or disagrees with what another
/// file says; a bad row, if it stops the import.
pub fn read_relationships(
    assembly: &mut Assembly,
    file: &OpenParquet,
    context: &mut Context<'_>,
) -> Result<()> {
    let mut end = |column: &ParquetColumn, end: &EndSpace| -> Result<(usize, IdType)> {
        let id_type = id_type(column);
        let end = EndSpace { id_type: Some(id_type), ..end.clone() };
        let text = format!("column {} ({})", column.index + 1, Shortened::new(&column.text));
        Ok((assembly.end_space(&end, id_type, &file.name, &text)?, id_type))
    };
    let (mut source, mut target, mut id_types) = (None, None, Vec::new());
    for column in &file.columns {
        let (place, space) = match &column.meaning {
            ColumnRole::StartId(space) => (&mut source, space),
            ColumnRole::EndId(space) => (&mut target, space),
            _ => continue,
        };
        let creates = space.creates;
        let (space, id_type) = end(column, space)?;
        *place = Some((id_types.len(), column, space, creates));
        id_types.push(id_type);
    }
    let (Some(source), Some(target)) = (source, target) else {
        return Err(Error::invalid(format!("{}: :START_ID and :END_ID are missing", file.name)));
    };
    let rule = EdgeRule {
        source_space: source.2,
        target_space: target.2,
        creates_sources: source.3,
        creates_targets: target.3,
        undirected: file.undirected,
    };
    let mut declared = HashSet::new();
    let mut waiting = WaitingEdges::new(rule, context.options.memory_shares().edges_bytes());
    read_groups(file, &id_types, context, |rows, collector| {
        let is_due = match rows {
            None => true,
            Some(Rows { lines, ids, names, columns, faults }) => {
                for edge_type in &names.names {
                    if declared.insert(edge_type.clone()) {
                        assembly.declare_edges(edge_type, properties(file), &file.name)?;
                    }
                }
                let [left, right]: [_; 2] = ids.try_into().expect("a file of edges has two columns of ids");
                let (sources, targets) = if source.0 == 0 { (left, right) } else { (right, left) };
                let ids = Ends { sources, targets };
                let batch = Batch { lines, ids, names, columns: Columns::Shared(columns) };
                waiting.push(assembly, batch, (faults, 0))
            }
        };
        if !is_due {
            return Ok(0);
        }
        waiting.place(assembly, |assembly, batch, entries, mut faults| {
            let (placed, rejected) =
                assembly.place_edges(&file.name, rule, (&batch, entries), collector.rules())?;
            faults.join(rejected.map(|RejectedRow { row, part, why }| {
                let (_, column, ..) = if part == IdPart::Source { source } else { target };
                let text = format!("{},{}", batch.ids.sources.show(row), batch.ids.targets.show(row));
                Fault::of_column(column.index, &column.text, why, text.as_bytes())
            }));
            collector.add(&file.name, 0, faults)?;
            assembly.store_edges(&file.name, placed, batch)
        })
    })
}

/// The properties that the schema declares.
fn properties(file: &OpenParquet) -> impl Iterator<Item = (&str, CellType)> {
    file.columns.iter().filter_map(|column| match &column.meaning {
        ColumnRole::Property { key, cell_type } => Some((key.as_str(), *cell_type)),
        _ => None,
    })
}

fn id_type(column: &ParquetColumn) -> IdType {
    column.id_type().expect("`open` refuses other columns of ids")
}

/// Hands all rows to `place`, batch by batch, and then nothing, once. It returns how many it took.
///
/// Threads read a row group each. Where as many as are in hand would not fit into the memory for rows, one thread reads
/// them, a batch at a time.
fn read_groups(
    file: &OpenParquet,
    id_types: &[IdType],
    context: &mut Context<'_>,
    mut place: impl FnMut(Option<Rows>, &mut FaultCollector) -> Result<u64> + Send,
) -> Result<()> {
    let rows_before = file.group_rows();
    let bytes = BytesRead::default();
    let batch_rows = (context.block_bytes / ROW_BYTES).clamp(1, BATCH_ROWS);
    let rules = context.faults.rules();
    let (meter, collector, cancel) = (&context.meter, &mut context.faults, &context.options.cancel);
    let mut groups = 0..rows_before.len() - 1;
    let mut rows_read = 0;
    let (group_bytes, row_bytes) = file.group_and_row_bytes();
    let unit_bytes =
        context.options.memory_shares().rows / (UNITS_OF_THREAD * context.pool.current_num_threads() as u64);
    let mut batches = (group_bytes > unit_bytes).then(|| {
        let rows = (unit_bytes / row_bytes.max(1)).clamp(1, batch_rows as u64) as usize;
        let (groups, rows_before) = (groups.clone(), &rows_before[..]);
        Batches { file, rows_before, bytes: &bytes, rows, groups, open: None }
    });
    let parse = |unit: Unit| -> Result<Vec<Rows>> {
        let group = match unit {
            Unit::Group(group) => group,
            Unit::Batch(batch, first) => {
                cancel.check()?;
                return Ok(vec![parse_rows(file, id_types, &batch, first, rules)?]);
            }
        };
        let mut first = rows_before[group];
        let mut all = Vec::new();
        let mut reader = file.read_group(group, batch_rows)?;
        while let Some(batch) = file.next_batch(&mut reader)? {
            cancel.check()?;
            all.push(parse_rows(file, id_types, &batch, first, rules)?);
            first += batch.num_rows() as u64;
        }
        bytes.add(file.group_bytes(group));
        Ok(all)
    };
    pipeline::run(
        context.pool,
        || match &mut batches {
            Some(batches) => batches.next(),
            None => Ok(groups.next().map(Unit::Group)),
        },
        parse,
        |all| all?.into_iter().map(|rows| place(Some(rows), collector)).sum(),
        |rows| {
            rows_read = rows;
            meter.tick(&file.name, &bytes, rows)
        },
    )?;
    rows_read += context.pool.install(|| place(None, collector))?;
    context.meter.finish_file(&bytes, rows_read);
    Ok(())
}

/// Turns a record batch, which begins behind `first` rows, into rows of ours.
fn parse_rows(
    file: &OpenParquet,
    id_types: &[IdType],
    batch: &RecordBatch,
    first: u64,
    rules: FaultRules,
) -> Result<Rows> {
    if batch.num_columns() != file.columns.len() {
        return Err(Error::invalid(format!("{}: was written anew meanwhile", file.name)));
    }
    let mut bad: BTreeMap<usize, (usize, String)> = BTreeMap::new();
    let mut id_columns = Vec::new();
    let mut names = None;
    let mut columns = Vec::new();
    for (at, column) in file.columns.iter().enumerate() {
        let array = batch.column(at).as_ref();
        let mut note = |row: usize, why: String| {
            bad.entry(row).or_insert((at, why));
        };
        match &column.meaning {
            ColumnRole::Id { .. } | ColumnRole::StartId(_) | ColumnRole::EndId(_) => {
                let is_uuid = column.value_type == ValueType::Uuid;
                id_columns.push(ids(array, is_uuid, id_types[id_columns.len()], &mut note));
            }
            ColumnRole::Label | ColumnRole::Type => {
                let mut codes: HashMap<String, u32> = HashMap::new();
                let mut found = Names::default();
                for row in 0..array.len() {
                    let value = value_at(array, row, false).unwrap_or_else(|why| {
                        note(row, why);
                        None
                    });
                    let name = value.as_ref().and_then(Value::as_str).filter(|name| !name.is_empty());
                    let name = name.unwrap_or(&file.default_name);
                    let code = codes.get(name).copied().unwrap_or_else(|| {
                        let code = found.names.len() as u32;
                        codes.insert(name.to_owned(), code);
                        found.names.push(name.to_owned());
                        code
                    });
                    found.codes.push(code);
                }
                names = Some(found);
            }
            ColumnRole::Property { key, .. } => {
                let values = match column.cells {
                    Some(cell_type) => texts(array, cell_type, &mut note),
                    None => property(array, column.value_type, &mut note),
                };
                columns.push((key.clone(), values));
            }
            // Names of columns say no such thing: their maps stay maps.
            ColumnRole::Ignore | ColumnRole::Attributes(_) => {}
        }
    }
    let mut rows = Rows {
        lines: (0..batch.num_rows() as u64).map(|row| first + row + 1).collect(),
        ids: id_columns,
        names: names.unwrap_or_else(|| Names::one(&file.default_name)),
        columns,
        faults: Faults::new(rules),
    };
    for (row, (at, why)) in &bad {
        let column = &file.columns[*at];
        let text = rows.ids.iter().map(|ids| ids.show(*row)).collect::<Vec<_>>().join(",");
        let describe = || Fault::of_column(column.index, &column.text, why.clone(), text.as_bytes());
        rows.faults.push(rows.lines[*row], describe);
    }
    if !bad.is_empty() {
        rows.drop_rows(&bad);
    }
    Ok(rows)
}

impl Rows {
    fn drop_rows(&mut self, bad: &BTreeMap<usize, (usize, String)>) {
        let keep: Vec<bool> = (0..self.lines.len()).map(|row| !bad.contains_key(&row)).collect();
        let kept = || keep.iter().enumerate().filter(|(_, keep)| **keep).map(|(row, _)| row);
        self.lines = kept().map(|row| self.lines[row]).collect();
        self.ids.iter_mut().for_each(|ids| ids.retain(&keep));
        if !self.names.codes.is_empty() {
            self.names.codes = kept().map(|row| self.names.codes[row]).collect();
        }
        for (_, cells) in &mut self.columns {
            cells.column = cells.column.as_ref().and_then(|column| column.select(kept()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::existing_graph::ExistingGraph;
    use crate::import::faults::OnBadRow;
    use crate::import::options::{ImportOptions, Imported, InputFile};
    use crate::import::read::read_in_blocks;
    use crate::import::role::Role;
    use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
    use arrow_array::types::Int32Type;
    use arrow_array::{
        ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
        DurationMillisecondArray, Float32Array, Float64Array, Int32Array, Int64Array, StringArray,
        StructArray, Time32SecondArray, TimestampMicrosecondArray, TimestampSecondArray, UInt8Array,
        UInt64Array,
    };
    use evergraph_graph::load::{Load, VertexTable};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression, GzipLevel, ZstdLevel};
    use parquet::file::properties::WriterProperties;
    use proptest::prelude::*;
    use std::fs::{self, File};
    use std::path::Path;
    use std::sync::Arc;

    fn array(array: impl arrow_array::Array + 'static) -> ArrayRef {
        Arc::new(array)
    }

    /// Writes `columns` in groups of two rows.
    fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) {
        write_packed(path, columns, Compression::UNCOMPRESSED);
    }

    fn write_packed(path: &Path, columns: Vec<(&str, ArrayRef)>, packer: Compression) {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        );
        let batch = batch.unwrap();
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(2));
        let properties = properties.set_compression(packer).build();
        let mut writer =
            ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    fn read(
        folder: &Path,
        inputs: Vec<InputFile>,
        change: impl Fn(&mut ImportOptions),
        threads: usize,
    ) -> std::result::Result<Imported, String> {
        let mut options = ImportOptions { threads, ..ImportOptions::new(inputs) };
        change(&mut options);
        let prefix = format!("{}/", folder.display());
        read_in_blocks(&options, ExistingGraph::default(), &|_| (), 32)
            .map_err(|error| error.to_string().replace(&prefix, ""))
    }

    fn values(table: &VertexTable, key: &str) -> Vec<Option<String>> {
        let column = table.column(key).unwrap();
        (0..table.rows as usize).map(|row| Some(column.as_ref()?.get(row)?.to_string())).collect()
    }

    fn property_type(load: &Load, key: &str) -> ValueType {
        let (_, value_type) = load.vertices[0].properties.iter().find(|(name, _)| name == key).unwrap();
        *value_type
    }

    #[test]
    fn every_type_keeps_its_values_over_all_row_groups_with_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let mut lists = ListBuilder::new(Int32Builder::new());
        lists.append_value([Some(1), Some(2)]);
        lists.append_null();
        lists.append_value([]);
        let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        maps.keys().append_value("k");
        maps.values().append_value(7);
        maps.append(true).unwrap();
        maps.append(false).unwrap();
        maps.append(true).unwrap();
        let structs = StructArray::try_from(vec![
            ("a", array(Int32Array::from(vec![Some(1), None, Some(3)]))),
            ("b", array(StringArray::from(vec!["x", "y", "z"]))),
        ]);
        let dictionary: DictionaryArray<Int32Type> =
            vec![Some("red"), None, Some("red")].into_iter().collect();
        let moments = TimestampMicrosecondArray::from(vec![Some(-1), None, Some(1_709_208_000_000_000)]);
        let decimals = Decimal128Array::from(vec![Some(-150), None, Some(1)]).with_precision_and_scale(10, 2);
        let path = folder.path().join("All.parquet");
        write(
            &path,
            vec![
                ("id:ID(All)", array(Int32Array::from(vec![17, 4, 9]))),
                ("flag", array(BooleanArray::from(vec![Some(true), None, Some(false)]))),
                ("tiny", array(UInt8Array::from(vec![255, 0, 1]))),
                ("huge", array(UInt64Array::from(vec![u64::MAX, 0, 1]))),
                ("long:number", array(Int64Array::from(vec![Some(i64::MIN), None, Some(1)]))),
                ("float", array(Float32Array::from(vec![0.5, 1.5, 2.5]))),
                ("double", array(Float64Array::from(vec![Some(0.1), None, Some(2.0)]))),
                ("money", array(decimals.unwrap())),
                ("born", array(Date32Array::from(vec![Some(0), Some(-1), None]))),
                ("seen", array(moments.with_timezone("+01:00"))),
                ("local", array(TimestampSecondArray::from(vec![0, 1, 2]))),
                ("took", array(DurationMillisecondArray::from(vec![-500, 0, 1]))),
                ("name", array(StringArray::from(vec![Some("Ada"), None, Some("")]))),
                ("bytes", array(BinaryArray::from(vec![b"ab".as_slice(), b"", b"c"]))),
                ("colour", array(dictionary)),
                ("list", array(lists.finish())),
                ("map", array(maps.finish())),
                ("struct", array(structs.unwrap())),
            ],
        );
        for threads in [1, 3] {
            let imported = read(folder.path(), vec![InputFile::new(&path)], |_| (), threads).unwrap();
            let table = &imported.load.vertices[0];
            assert_eq!(
                (table.label.as_str(), table.rows, table.unique_key.as_deref()),
                ("All", 3, Some("id"))
            );
            for (key, value_type, expected) in [
                ("id", ValueType::I32, ["17", "4", "9"]),
                ("flag", ValueType::Bool, ["true", "-", "false"]),
                ("tiny", ValueType::I16, ["255", "0", "1"]),
                ("huge", ValueType::BigInteger, ["18446744073709551615", "0", "1"]),
                ("long:number", ValueType::I64, ["-9223372036854775808", "-", "1"]),
                ("float", ValueType::F32, ["0.5", "1.5", "2.5"]),
                ("double", ValueType::F64, ["0.1", "-", "2.0"]),
                ("money", ValueType::Decimal, ["-1.50", "-", "0.01"]),
                ("born", ValueType::Date, ["1970-01-01", "1969-12-31", "-"]),
                (
                    "seen",
                    ValueType::DateTime,
                    ["1970-01-01T00:59:59.999999+01:00", "-", "2024-02-29T13:00:00+01:00"],
                ),
                (
                    "local",
                    ValueType::DateTime,
                    ["1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z"],
                ),
                ("took", ValueType::Duration, ["PT-0.5S", "PT0S", "PT0.001S"]),
                ("name", ValueType::String, ["Ada", "-", ""]),
                ("colour", ValueType::String, ["red", "-", "red"]),
                ("list", ValueType::List, ["[1, 2]", "-", "[]"]),
                ("map", ValueType::Map, ["{\"k\": 7}", "-", "{:}"]),
                (
                    "struct",
                    ValueType::Map,
                    ["{\"a\": 1, \"b\": \"x\"}", "{\"b\": \"y\"}", "{\"a\": 3, \"b\": \"z\"}"],
                ),
            ] {
                let shown: Vec<String> = values(table, key)
                    .into_iter()
                    .map(|value| value.unwrap_or_else(|| "-".to_owned()))
                    .collect();
                assert_eq!(
                    (shown, property_type(&imported.load, key)),
                    (expected.map(String::from).to_vec(), value_type),
                    "{key}"
                );
            }
            let bytes = table.column("bytes").unwrap().unwrap().get(0).unwrap();
            assert_eq!(bytes, evergraph_graph::value::Value::Bytes(b"ab".as_slice().into()));
        }
    }

    #[test]
    fn files_are_read_whichever_of_the_usual_packers_wrote_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("V.parquet");
        for packer in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::LZ4,
            Compression::LZ4_RAW,
            Compression::ZSTD(ZstdLevel::default()),
        ] {
            // Alike and long, so that they are worth packing.
            let names = array(StringArray::from(vec!["Ada".repeat(100); 3]));
            write_packed(
                &path,
                vec![("id:ID", array(Int64Array::from(vec![1, 2, 3]))), ("name", names)],
                packer,
            );
            let load = read(folder.path(), vec![InputFile::new(&path)], |_| (), 1).unwrap().load;
            assert_eq!(values(&load.vertices[0], "name"), vec![Some("Ada".repeat(100)); 3], "{packer}");
        }
    }

    fn persons(folder: &Path) -> InputFile {
        let path = folder.join("people.parquet");
        let ids = StringArray::from(vec![Some("a"), Some("b"), None, Some("d")]);
        write(&path, vec![("pid", array(ids)), ("n", array(Int64Array::from(vec![1, 2, 3, 4])))]);
        InputFile::new(path)
    }

    #[test]
    fn plain_names_are_recognised_and_bad_rows_are_named_by_their_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("KNOWS.parquet");
        let ends = |ids: [&str; 3]| array(StringArray::from(ids.to_vec()));
        write(&path, vec![("to", ends(["b", "x", "a"])), ("from", ends(["a", "a", "d"]))]);
        fs::write(folder.path().join("m.toml"), "").unwrap();
        let id = "path = \"people.parquet\"\nlabel = \"Person\"\nformat = \"parquet\"\nid = \"pid\"\n";
        let mapping = format!(
            "[[file]]\n{id}[[file]]\npath = \"KNOWS.parquet\"\nformat = \"parquet\"\ntype = \"KNOWS\"\n\
             start = {{ column = \"from\", space = \"Person\" }}\nend = {{ column = \"to\", space = \"Person\" }}\n"
        );
        let mapping =
            crate::import::mapping::document::Mapping::parse("m.toml", &mapping, folder.path()).unwrap();
        let inputs = || vec![InputFile::new(&path), persons(folder.path())];
        let imported = read(
            folder.path(),
            inputs(),
            |options| {
                options.mapping = Some(mapping.clone());
                options.bad_rows.on_bad_row = OnBadRow::Skip { at_most: None };
            },
            2,
        )
        .unwrap();
        let prefix = format!("{}/", folder.path().display());
        let bad: Vec<String> =
            imported.bad_rows.first.iter().map(|row| row.to_string().replace(&prefix, "")).collect();
        assert_eq!(
            bad,
            [
                "people.parquet:3: column 1 (pid): the id is missing",
                "KNOWS.parquet:2: column 1 (to): there is no vertex \"x\" in id space Person"
            ]
        );
        let load = &imported.load;
        assert_eq!(values(&load.vertices[0], "pid"), ["a", "b", "d"].map(|id| Some(id.to_owned())));
        assert_eq!(values(&load.vertices[0], "n"), ["1", "2", "4"].map(|id| Some(id.to_owned())));
        assert_eq!(load.edges[0].ends().unwrap(), [(0, 1), (2, 0)]);

        let inputs = vec![
            persons(folder.path()).role(Role::Nodes).label("P"),
            InputFile::new(&path).role(Role::Edges),
        ];
        let skip =
            |options: &mut ImportOptions| options.bad_rows.on_bad_row = OnBadRow::Skip { at_most: None };
        let guessed = read(folder.path(), inputs, skip, 2);
        assert_eq!(
            guessed.unwrap_err(),
            "people.parquet: no column tells the ids of vertices (:ID, id, or a first one without repetitions), nor are there :START_ID and :END_ID of edges: the first line is \"pid n\"; if its rows are edges between the first two columns, say \
             --edges TYPE=FILE; a mapping file can say how it is read, `evergraph import --propose` writes one to begin with"
        );
    }

    #[test]
    fn edges_join_vertices_of_csv_files_too_if_their_ids_are_alike() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("E.parquet");
        let ends = |ids: [i64; 2]| array(Int64Array::from(ids.to_vec()));
        let kinds = array(StringArray::from(vec![Some("likes"), None]));
        write(&path, vec![(":START_ID(V)", ends([1, 2])), (":TYPE", kinds), (":END_ID(V)", ends([2, 1]))]);
        let csv = folder.path().join("V.csv");
        let inputs = || vec![InputFile::new(&path), InputFile::new(&csv)];
        fs::write(&csv, "id:ID(V){id-type:long}\n1\n2\n").unwrap();
        let load = read(folder.path(), inputs(), |_| (), 2).unwrap().load;
        let edges: Vec<_> =
            load.edges.iter().map(|table| (table.edge_type.as_str(), table.ends().unwrap())).collect();
        assert_eq!(edges, [("likes", vec![(0, 1)]), ("E", vec![(1, 0)])]);
        fs::write(&csv, "id:ID(V)\n1\n2\n").unwrap();
        assert_eq!(
            read(folder.path(), inputs(), |_| (), 2).unwrap_err(),
            "E.parquet: ids of id space V are whole numbers here and strings in V.csv; give both headers one id-type"
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_column_or_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("V.parquet");
        let error = |columns: Vec<(&str, ArrayRef)>| {
            write(&path, columns);
            read(folder.path(), vec![InputFile::new(&path)], |_| (), 1).unwrap_err()
        };
        let ids = || array(Int64Array::from(vec![1]));
        let time = array(Time32SecondArray::from(vec![1]));
        assert!(
            error(vec![("id:ID", ids()), ("at", time)])
                .starts_with("V.parquet: column 2 (at): is of type Time32(s), which Evergraph does not have"),
        );
        let half = array(Float64Array::from(vec![0.5]));
        assert!(error(vec![("id:ID", half)]).ends_with("is of type Float64, which ids can't be"));
        assert_eq!(
            error(vec![("x:ID", ids()), ("x", ids())]),
            "V.parquet: column 2: there are two columns x"
        );
        write(&path, vec![("id:ID", ids())]);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 10]).unwrap();
        let cut_off = read(folder.path(), vec![InputFile::new(&path)], |_| (), 1).unwrap_err();
        assert!(cut_off.starts_with("V.parquet: is not a valid Parquet file: "), "{cut_off}");
        fs::write(&path, "id,name\n").unwrap();
        let text = read(folder.path(), vec![InputFile::new(&path)], |_| (), 1).unwrap_err();
        assert!(text.starts_with("V.parquet: is not a valid Parquet file: "), "{text}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn a_file_with_a_flipped_bit_is_read_or_refused(at in any::<prop::sample::Index>(), bit in 0..8u8) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("V.parquet");
            let colours: DictionaryArray<Int32Type> = vec![Some("red"), None, Some("blue")].into_iter().collect();
            write(
                &path,
                vec![
                    ("id:ID", array(Int64Array::from(vec![1, 2, 3]))),
                    ("name", array(StringArray::from(vec![Some("Ada"), None, Some("Eve")]))),
                    ("colour", array(colours)),
                    ("flag", array(BooleanArray::from(vec![true, false, true]))),
                ],
            );
            let mut bytes = fs::read(&path).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            fs::write(&path, bytes).unwrap();
            match read(folder.path(), vec![InputFile::new(&path)], |_| (), 1) {
                Ok(imported) => prop_assert!(imported.load.vertices_count() <= 3),
                Err(why) => prop_assert!(why.starts_with("V.parquet"), "{why}"),
            }
        }
    }
}
