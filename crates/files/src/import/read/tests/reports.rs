//! Bad rows that are left out, and who is told how far an import is.

use crate::import::faults::OnBadRow;
use crate::import::options::InputFile;
use crate::import::read::tests::files::*;
use crate::import::read::*;
use evergraph_graph::value::Value;
use std::fs;

#[test]
fn skipped_rows_are_counted_and_the_first_ones_reported() {
    let files = Files::new(&[
        ("Person.csv", "id:ID,born:int\n1,x\n2,5\n2,6\n3,7,8\n4,9\n"),
        ("KNOWS.csv", ":START_ID,:END_ID\n2,4\n1,2\n4,2\n"),
        ("g.e", "1 2 0.5\nx 2 1\n3 1 2\n"),
    ]);
    let options =
        files.options().with(|options| options.bad_rows.on_bad_row = OnBadRow::Skip { at_most: None });
    let imported = files.read(&options).unwrap();
    assert_eq!(imported.bad_rows.count, 5);
    let folder = format!("{}/", files.folder.path().display());
    let first: Vec<String> =
        imported.bad_rows.first.iter().map(|row| row.to_string().replace(&folder, "")).collect();
    assert_eq!(
        first,
        [
            "Person.csv:2: column 2 (born:int): \"x\" is not a valid int: expected digits with an optional sign",
            "Person.csv:4: column 1 (id:ID): vertex \"2\" of the id space without a name is there already, from Person.csv:3",
            "Person.csv:5: 2 fields expected, as in the header, 3 found",
            "KNOWS.csv:3: column 1 (:START_ID): there is no vertex \"1\" in the id space without a name",
            "g.e:2: column 1 (source): \"x\" is not a whole number",
        ]
    );
    let load = imported.load;
    assert_eq!(load.vertices[0].values("born"), [Some(Value::I32(5)), Some(Value::I32(9))]);
    assert_eq!(edges(&load.edges[0]), [(0, 1), (1, 0)]);
    assert_eq!(load.edges[1].values("weight"), [Some(Value::F64(0.5)), Some(Value::F64(2.0))]);
}

#[test]
fn the_report_is_the_same_with_any_number_of_threads_and_size_of_blocks() {
    let numbers = |bad: i64| {
        let row = |number: i64| {
            if number % bad == 0 { format!("{number},x\n") } else { format!("{number},1\n") }
        };
        (1..200).map(row).collect::<String>()
    };
    let knows: String = (1..200).map(|number| format!("{},{}\n", number, number * 3)).collect();
    let files = Files::new(&[
        ("Person.csv", &format!("id:ID,born:int\n{}7,1\n", numbers(9))),
        ("KNOWS.csv", &format!(":START_ID,:END_ID\n{knows}1\n")),
    ]);
    let report = files.path("report");
    let read = |threads, block_bytes, at_most| {
        let options = files.options().with(|options| {
            options.threads = threads;
            options.bad_rows.on_bad_row = OnBadRow::Skip { at_most };
            options.bad_rows.report = Some(report.clone());
        });
        let result = read_in_blocks(&options, Known::default(), &|_| (), block_bytes)
            .map(|imported| imported.bad_rows);
        (result.map_err(|error| error.to_string()), fs::read_to_string(&report).unwrap())
    };
    let (bad_rows, whole) = read(1, 1 << 20, None);
    let count = bad_rows.as_ref().unwrap().count;
    assert_eq!(whole.lines().count() as u64, count + 1, "a line each, and the header");
    let lines: Vec<&str> = whole.lines().collect();
    assert!(
        lines[1].ends_with(
            "Person.csv,10,2,born:int,\"\"\"x\"\" is not a valid int: expected digits with an optional sign\",\"9,x\""
        ),
        "{}",
        lines[1]
    );
    assert!(
        lines[23].ends_with(
            "is there already, from {}/Person.csv:8\",\"7,1\""
                .replace("{}", &files.folder.path().display().to_string())
                .as_str()
        ),
        "{}",
        lines[23]
    );
    assert!(
        lines.last().unwrap().ends_with("KNOWS.csv,201,,,\"2 fields expected, as in the header, 1 found\",1")
    );
    let (stopped, cut_off) = read(1, 1 << 20, Some(30));
    assert_eq!(cut_off.lines().count(), 32, "the one too many is told as well");
    assert!(stopped.as_ref().unwrap_err().contains("(bad row 31; at most 30 bad rows may be left out)"));
    for (threads, block_bytes) in [(1, 7), (2, 100), (4, 33), (3, 1)] {
        assert_eq!(read(threads, block_bytes, None), (bad_rows.clone(), whole.clone()));
        assert_eq!(read(threads, block_bytes, Some(30)), (stopped.clone(), cut_off.clone()));
    }
}

#[test]
fn the_report_of_an_import_that_stops_has_the_row_and_is_no_input_of_the_next_one() {
    let files = Files::new(&[("Person.csv", "id:ID,born:int\n1,x\n2,y\n")]);
    let report = files.path("bad.csv");
    let folder = InputFile::new(files.folder.path());
    let options = ImportOptions::new([folder]).with(|options| options.bad_rows.report = Some(report.clone()));
    for _ in 0..2 {
        assert!(
            files
                .error(&options)
                .1
                .starts_with("Person.csv:2: column 2 (born:int): \"x\" is not a valid int")
        );
        assert_eq!(fs::read_to_string(&report).unwrap().lines().count(), 2);
    }
    let options = files.options().with(|options| options.bad_rows.report = Some(files.path("Person.csv")));
    assert_eq!(
        files.error(&options).1,
        "Person.csv: is to be read, and overwritten by the report of bad rows: name another report"
    );
    assert_eq!(fs::read_to_string(files.path("Person.csv")).unwrap().lines().count(), 3);
}

#[test]
fn progress_is_told_and_a_set_flag_stops() {
    let text = "1 2\n".repeat(1000);
    let files = Files::new(&[("a.e", &text), ("b.e", &text)]);
    let seen = std::cell::RefCell::new(Vec::new());
    read_in_blocks(
        &files.options(),
        Known::default(),
        &|progress| seen.borrow_mut().push((progress.bytes_read, progress.bytes_total, progress.rows)),
        1000,
    )
    .unwrap();
    let seen = seen.into_inner();
    assert!(seen.is_sorted(), "nothing goes back");
    assert_eq!(seen.last(), Some(&(8000, Some(8000), 2000)));

    let cancel = evergraph_graph::cancel::CancelFlag::default();
    let options = ImportOptions { cancel: cancel.clone(), ..files.options() };
    let error = read_in_blocks(&options, Known::default(), &|_| cancel.cancel(), 1000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}
