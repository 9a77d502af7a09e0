//! Broken input, as the program meets it: exit codes, the report, and little memory for what is large.
//!
//! The library's tests (`broken_input` of the behaviour tests) hold every format to its texts; these run
//! a sample through the whole program, in an address space of 1 GiB where a file tries to fill it.

use crate::support::{Folder, Ran};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Imports `file` with little memory: 1 GiB of addresses in all, 64 MiB for the import.
fn import_in_little_memory(folder: &Folder, file: &str) -> Ran {
    folder.shell(&format!("ulimit -v 1048576; evergraph import a.eg {file} --memory 64M --threads 2"))
}

/// `count` times `bytes`, packed by gzip.
fn packed(bytes: &[u8], count: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    (0..count).for_each(|_| encoder.write_all(bytes).unwrap());
    encoder.finish().unwrap()
}

#[test]
fn the_report_has_file_line_column_name_reason_and_row() {
    let folder = Folder::new();
    folder.write("v.csv", b"id:ID,n:int\n1,5\n2,x\n3,\n1,7\n\xff,8\n4\n");
    folder.write("e.csv", ":START_ID,:END_ID\n1,3\n1,9\n");
    let arguments = ["import", "a.eg", "v.csv", "e.csv", "--report", "bad.csv"];
    folder.run(&arguments).failed(2, &["v.csv:3: column 2 (n:int): \"x\" is not a valid int"]);
    assert!(!folder.path("a.eg").exists());
    assert_eq!(folder.read("bad.csv").lines().count(), 2, "the row that stopped it is in the report");

    let summary = folder.json(&[&arguments[..], &["--on-error", "skip"]].concat());
    assert_eq!((&summary["vertices_count"], &summary["edges_count"]), (&2.into(), &1.into()));
    assert_eq!(summary["bad_rows"]["count"], 5);
    assert_eq!(
        folder.read("bad.csv"),
        "file,line,column,name,reason,row\n\
         v.csv,3,2,n:int,\"\"\"x\"\" is not a valid int: expected digits with an optional sign\",\"2,x\"\n\
         v.csv,5,1,id:ID,\"vertex \"\"1\"\" of the id space without a name is there already, from v.csv:2\",\"1,7\"\n\
         v.csv,6,1,id:ID,\"\"\"\u{fffd}\"\" is not UTF-8; convert the file with iconv\",\"\u{fffd},8\"\n\
         v.csv,7,,,\"2 fields expected, as in the header, 1 found\",4\n\
         e.csv,3,2,:END_ID,\"there is no vertex \"\"9\"\" in the id space without a name\",\"1,9\"\n"
    );
}

#[test]
fn every_kind_of_broken_file_ends_with_its_exit_code_and_no_database() {
    let folder = Folder::new();
    let gzip = packed(b"1 2\n", 10_000);
    for (name, bytes, code, words) in [
        ("a.csv", b"".to_vec(), 2, "a.csv: is empty"),
        ("a.csv", b"id:ID,\"n\n1,a\n".to_vec(), 2, "a.csv:1: a quote that opens"),
        ("g.e", b"1 2\n1 x\n".to_vec(), 2, "g.e:2: column 2 (target)"),
        ("g.e.gz", gzip[..gzip.len() / 2].to_vec(), 2, "g.e.gz: the gzip data ends too early"),
        ("g.gr", b"p sp 4294967295 0\n".to_vec(), 6, "g.gr:1: more than 4,294,967,295 vertices"),
        ("g.mtx", b"%%MatrixMarket matrix array real general\n".to_vec(), 2, "g.mtx:1: expected coordinate"),
        ("g.graphml", b"<graphml><graph><node>".to_vec(), 2, "g.graphml: line 1, column 17"),
        ("g.json", b"{\"id\":1,\"label\":\"P\"\n".to_vec(), 2, "g.json:1: byte 20"),
        ("a.parquet", b"PAR1PAR1".to_vec(), 2, "a.parquet: is not a valid Parquet file"),
    ] {
        folder.write(name, bytes);
        folder.run(&["import", "a.eg", name]).failed(code, &[words]);
        assert!(!folder.path("a.eg").exists(), "{name}");
    }
    folder.write("m.toml", "[[file]]\npath = \"x.csv\"\nformat = \"cvs\"\n");
    folder
        .run(&["import", "a.eg", "--mapping", "m.toml"])
        .failed(2, &["m.toml:3: format: \"cvs\" is unknown"]);
    assert!(!folder.path("a.eg").exists());
}

#[test]
fn files_that_would_fill_the_memory_are_refused_within_a_gibibyte() {
    let folder = Folder::new();
    let columns: String = (0..1_000_000).map(|at| format!(",c{at}")).collect();
    // A file of one MiB that is 300 when it is unpacked, all of it one line, record, text or tag.
    let mebibyte = packed(&[b'x'; 1 << 20], 1);
    let bomb = |start: &[u8]| [packed(start, 1), mebibyte.repeat(300)].concat();
    for (name, bytes, code, words) in [
        ("a.csv", format!("id:ID{columns}\n").into_bytes(), 6, "1000001 columns, 65536 at most"),
        ("b.csv.gz", bomb(b"id:ID,n\n1,"), 2, "b.csv.gz:2: a record of more than 64 MiB"),
        ("g.e.gz", bomb(b"1 2\n"), 2, "g.e.gz: a line of more than 16 MiB"),
        ("g.graphml.gz", bomb(b"<graphml><graph id='"), 6, "g.graphml.gz: line 1, column 10"),
        ("g.graphson.gz", bomb(b"{\"id\":\""), 6, "g.graphson.gz: line 1, column 1"),
        ("g.gr", b"p sp 200000000 0\n".to_vec(), 6, "g.gr:1: 200000000 vertices are announced"),
        (
            "g.mtx",
            b"%%MatrixMarket matrix coordinate pattern general\n200000000 200000000 0\n".to_vec(),
            6,
            "g.mtx:2",
        ),
    ] {
        folder.write(name, bytes);
        import_in_little_memory(&folder, name).failed(code, &[words]);
        assert!(!folder.path("a.eg").exists(), "{name}");
    }
}

#[test]
fn a_field_of_ten_million_characters_is_imported_within_a_gibibyte() {
    let folder = Folder::new();
    folder.write("a.csv", format!("id:ID,t\n1,{}\n2,b\n", "x".repeat(10_000_000)));
    import_in_little_memory(&folder, "a.csv").succeeded();
    assert_eq!(folder.json(&["stats", "a.eg"])["vertices_count"], 2);
}
