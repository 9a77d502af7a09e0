//! Graphs of Parquet files: columns of every type, ends of edges, and what is refused.

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
    DurationMillisecondArray, Float32Array, Float64Array, Int32Array, Int64Array, StringArray, StructArray,
    Time32SecondArray, TimestampMicrosecondArray, TimestampSecondArray, UInt8Array, UInt64Array,
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
    let dictionary: DictionaryArray<Int32Type> = vec![Some("red"), None, Some("red")].into_iter().collect();
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
        assert_eq!((table.label.as_str(), table.rows, table.unique_key.as_deref()), ("All", 3, Some("id")));
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
            let shown: Vec<String> =
                values(table, key).into_iter().map(|value| value.unwrap_or_else(|| "-".to_owned())).collect();
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
        write_packed(&path, vec![("id:ID", array(Int64Array::from(vec![1, 2, 3]))), ("name", names)], packer);
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

    let inputs =
        vec![persons(folder.path()).role(Role::Nodes).label("P"), InputFile::new(&path).role(Role::Edges)];
    let skip = |options: &mut ImportOptions| options.bad_rows.on_bad_row = OnBadRow::Skip { at_most: None };
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
    assert_eq!(error(vec![("x:ID", ids()), ("x", ids())]), "V.parquet: column 2: there are two columns x");
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
