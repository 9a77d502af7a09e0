//! Parquet: files that are none, whose footer lies, or whose columns can't be a graph.

use crate::case::{Case, run};
use crate::samples::gzip;
use arrow_array::{
    ArrayRef, BinaryArray, Float64Array, Int64Array, RecordBatch, StringArray, Time64MicrosecondArray,
    UInt64Array,
};
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

fn file(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    );
    let batch = batch.unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn longs<const N: usize>(values: [Option<i64>; N]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn texts<const N: usize>(values: [&str; N]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn parquet(name: &str, bytes: impl Into<Vec<u8>>) -> Case {
    Case::new(name).file("a.parquet", bytes)
}

fn sound() -> Vec<u8> {
    file(vec![("id:ID", longs([Some(1), Some(2)])), ("n", longs([Some(5), None]))])
}

/// A sound file with `footer` for the last eight bytes.
fn with_end(footer: &[u8]) -> Vec<u8> {
    let mut bytes = sound();
    bytes.truncate(bytes.len() - 8);
    [bytes, footer.to_vec()].concat()
}

#[test]
fn odd_files_that_are_sound_load_whole() {
    run(vec![
        parquet("two rows", sound()).loads(2, 0),
        parquet(
            "a label with a semicolon",
            file(vec![("id:ID", longs([Some(1), Some(2)])), (":LABEL", texts(["A;B", "A"]))]),
        )
        .loads(2, 0),
        parquet("no rows", file(vec![("id:ID", longs([]))])).loads(0, 0),
        parquet(
            "numbers without sign",
            file(vec![("id:ID", longs([Some(1)])), ("n", Arc::new(UInt64Array::from(vec![u64::MAX])))]),
        )
        .loads(1, 0),
        parquet(
            "no number",
            file(vec![("id:ID", longs([Some(1)])), ("n", Arc::new(Float64Array::from(vec![f64::NAN])))]),
        )
        .loads(1, 0),
        parquet(
            "bytes that are no text",
            file(vec![
                ("id:ID", longs([Some(1)])),
                ("n", Arc::new(BinaryArray::from(vec![b"\xff".as_slice()]))),
            ]),
        )
        .loads(1, 0),
    ]);
}

#[test]
fn what_is_no_parquet_is_refused_by_the_file() {
    run(vec![
        parquet("nothing", "")
            .refused("a.parquet: is not a valid Parquet file: EOF: Parquet file too small. Size is 0 but need 8"),
        parquet("text", "id,name\n1,Ada\n")
            .refused("a.parquet: is not a valid Parquet file: Parquet error: Invalid Parquet file. Corrupt footer"),
        parquet("the mark alone", "PAR1")
            .refused("a.parquet: is not a valid Parquet file: EOF: Parquet file too small. Size is 4 but need 8"),
        parquet("two marks", "PAR1PAR1")
            .refused("a.parquet: is not a valid Parquet file: EOF: Parquet file too small. Size is 8 but need 827474264"),
        parquet("a footer longer than the file", with_end(b"\xff\xff\xff\x7fPAR1"))
            .refused("a.parquet: is not a valid Parquet file: EOF: Parquet file too small. Size is 779 but need 2147483655"),
        parquet("a footer of no bytes", with_end(b"\0\0\0\0PAR1"))
            .refused("a.parquet: is not a valid Parquet file: EOF: Unexpected EOF"),
        parquet("another mark at the end", with_end(b"\x10\0\0\0PAR2"))
            .refused("a.parquet: is not a valid Parquet file: Parquet error: Invalid Parquet file. Corrupt footer"),
        parquet("an encrypted footer", with_end(b"\x10\0\0\0PARE"))
            .refused("a.parquet: is not a valid Parquet file: Parquet error: Parquet file has an encrypted footer but the encryption feature is disabled"),
        parquet("packed once more", gzip(&sound()))
            .refused("a.parquet: is not a valid Parquet file: Parquet error: Invalid Parquet file. Corrupt footer"),
        Case::new("Parquet called CSV")
            .file("a.csv", sound())
            .refused("a.csv: header column 1: is not UTF-8; convert the file with iconv"),
    ]);
}

#[test]
fn columns_that_cannot_be_a_graph_are_refused_by_name() {
    let ids = || longs([Some(1), Some(2)]);
    run(vec![
        parquet("no ids and no ends", file(vec![("town", texts(["a", "a"]))]))
            .refused("a.parquet: no column tells the ids of vertices (:ID, id, or a first one without repetitions), nor are there :START_ID and :END_ID of edges: the first line is \"town\"; if its rows are edges between the first two columns, say --edges TYPE=FILE; a mapping file can say how it is read, `evergraph import --propose` writes one to begin with"),
        parquet(
            "ids that are fractions",
            file(vec![("id:ID", Arc::new(Float64Array::from(vec![1.0, 2.0])))]),
        )
        .refused("a.parquet: column 1 (id:ID): is of type Float64, which ids can't be"),
        parquet("labels that are numbers", file(vec![("id:ID", ids()), (":LABEL", ids())]))
            .refused("a.parquet: column 2 (:LABEL): is of type Int64, names are strings"),
        parquet("two ids", file(vec![("id:ID", ids()), ("other:ID", ids())]))
            .refused("a.parquet: header column 2 (\"other:ID\"): column 1 (\"id:ID\") says the same"),
        parquet("a key twice", file(vec![("id:ID", ids()), ("n", ids()), ("n", ids())]))
            .refused("a.parquet: column 3: there are two columns n"),
        parquet(
            "times of day",
            file(vec![("id:ID", ids()), ("at", Arc::new(Time64MicrosecondArray::from(vec![0, 1])))]),
        )
        .refused("a.parquet: column 2 (at): is of type Time64(µs), which Evergraph does not have: leave it out by `ignore` in a mapping, or convert it"),
        parquet("a start without an end", file(vec![(":START_ID", ids())]))
            .refused("a.parquet: header: there is :START_ID and no :END_ID"),
        parquet("a space that no file has", file(vec![(":START_ID(X)", ids()), (":END_ID(X)", ids())])).loads(2, 2),
    ]);
}

#[test]
fn rows_that_do_not_fit_are_named_by_number() {
    let numbers = [Some(1), None, Some(1), Some(2)];
    let people = || file(vec![("id:ID", longs([Some(1), Some(2)]))]);
    run(vec![
        parquet("ids missing and twice", file(vec![("id:ID", longs(numbers)), ("n", longs([Some(7); 4]))]))
            .loads(2, 0).bad_row("a.parquet:2: column 1 (id:ID): the id is missing", "0").bad_row("a.parquet:3: column 1 (id:ID): vertex 1 of the id space without a name is there already, from a.parquet:1", "1"),
        parquet("ends missing and unknown", people())
            .file(
                "e.parquet",
                file(vec![
                    (":START_ID", longs([Some(1), None, Some(1)])),
                    (":END_ID", longs([Some(2), Some(1), Some(9)])),
                ]),
            )
            .loads(2, 1).bad_row("e.parquet:2: column 1 (:START_ID): the id is missing", "0,1").bad_row("e.parquet:3: column 2 (:END_ID): there is no vertex 9 in the id space without a name", "1,9"),
    ]);
}
