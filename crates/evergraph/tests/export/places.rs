//! Places: files appear in whole or not at all, and nothing is replaced by mistake.

use evergraph::export::options::{ExportFormat, ExportOptions, ExportPhase, ExportProgress};
use evergraph::{Database, Error, ErrorKind};
use std::cell::RefCell;
use std::fs;
use std::path::Path;

fn small() -> Database {
    let db = Database::in_memory().unwrap();
    db.transact(|tx| tx.add_vertex("Person", &[("name", "Ada\u{1}".into())])).unwrap();
    db
}

fn export(format: ExportFormat, output: &Path, overwrite: bool) -> Result<(), Error> {
    let options = ExportOptions { overwrite, ..ExportOptions::new(format, output) };
    small().export(&options, &|_| ()).map(drop)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_folder_with_content_is_replaced_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    export(ExportFormat::Csv, &out, false).unwrap(); // an empty one is as good as none
    fs::write(out.join("Old.csv"), "a:ID").unwrap();
    let error = export(ExportFormat::Csv, &out, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("a folder with content"), "{error}");
    assert_eq!(names(&out), ["Old.csv", "Person.csv"]);
    export(ExportFormat::Csv, &out, true).unwrap();
    assert_eq!((names(&out), names(folder.path())), (vec!["Person.csv".to_owned()], vec!["out".to_owned()]));
}

#[test]
fn a_folder_that_holds_anything_else_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["thesis.tex", "letters"] {
        let out = folder.path().join(format!("with-{name}"));
        fs::create_dir(&out).unwrap();
        match name {
            "letters" => fs::create_dir(out.join(name)).unwrap(),
            _ => fs::write(out.join(name), "").unwrap(),
        }
        let error = export(ExportFormat::Csv, &out, true).unwrap_err();
        assert!(error.to_string().contains(&format!("holds {name:?}, which no export wrote")), "{error}");
        assert_eq!(names(&out), [name]);
    }
}

#[test]
fn a_file_is_replaced_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.json");
    fs::write(&out, "old").unwrap();
    let error = export(ExportFormat::GraphSon, &out, false).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("already exists, a file: name another place, or overwrite it (--overwrite)")
    );
    assert_eq!(fs::read_to_string(&out).unwrap(), "old");
    export(ExportFormat::GraphSon, &out, true).unwrap();
    assert!(fs::read_to_string(&out).unwrap().contains("Ada"));
    assert_eq!(names(folder.path()), ["a.json"]);
}

#[test]
fn an_export_that_fails_or_is_stopped_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.graphml");
    let db = Database::in_memory().unwrap();
    db.create_unique_index("Person", "id").unwrap();
    db.transact(|tx| tx.add_vertex("Person", &[("id", "Ada\u{1}".into())])).unwrap();
    let error = db.export(&ExportOptions::new(ExportFormat::GraphMl, &out), &|_| ()).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("its id: U+0001"), "{error}");
    assert_eq!(names(folder.path()), Vec::<String>::new());

    let options = ExportOptions::new(ExportFormat::Csv, folder.path().join("out"));
    let cancel = options.cancel.clone();
    let stop = |now: &ExportProgress<'_>| {
        if now.phase == ExportPhase::Write {
            cancel.cancel();
        }
    };
    assert_eq!(small().export(&options, &stop).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn progress_counts_each_row_once_while_it_looks_and_once_while_it_writes() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::in_memory().unwrap();
    db.transact(|tx| {
        let ada = tx.add_vertex("Person", &[("name", "Ada".into())])?;
        let bob = tx.add_vertex("Person", &[("name", "Bob".into())])?;
        tx.add_edge(ada, "knows", bob, &[])
    })
    .unwrap();
    let written = [
        (ExportFormat::Csv, "csv"),
        (ExportFormat::GraphSon, "a.json"),
        (ExportFormat::GraphMl, "a.graphml"),
    ];
    for (format, name) in written {
        let told = RefCell::new(Vec::new());
        let tell = |now: &ExportProgress<'_>| {
            told.borrow_mut().push((now.phase, now.rows, now.rows_total, now.fraction()));
        };
        db.export(&ExportOptions::new(format, folder.path().join(name)), &tell).unwrap();
        let told = told.into_inner();
        let last_of = |phase| *told.iter().rfind(|now| now.0 == phase).unwrap();
        assert_eq!(last_of(ExportPhase::Look), (ExportPhase::Look, 3, 3, 0.5), "{name}");
        assert_eq!(last_of(ExportPhase::Write), (ExportPhase::Write, 3, 3, 1.0), "{name}");
        assert!(told.is_sorted_by(|left, right| left.3 <= right.3), "{name}: {told:?}");
    }
}

#[test]
fn a_missing_folder_and_a_place_of_another_kind_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = export(ExportFormat::Csv, &folder.path().join("no/out"), false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("no/out: there is no folder "), "{error}");
    let error = export(ExportFormat::GraphSon, &folder.path().join("no/a.json"), false).unwrap_err();
    assert!(error.to_string().contains("no/a.json: there is no folder "), "{error}");
    for (format, name) in [(ExportFormat::EdgeList, "x.json"), (ExportFormat::Csv, "x.graphml.gz")] {
        let error = export(format, &folder.path().join(name), false).unwrap_err();
        assert!(error.to_string().contains("names a file of graph"), "{error}");
    }
    assert_eq!(names(folder.path()), Vec::<String>::new());
    fs::write(folder.path().join("file"), "").unwrap();
    let error = export(ExportFormat::Csv, &folder.path().join("file"), true).unwrap_err();
    assert!(error.to_string().contains("is a file: name a folder for csv"), "{error}");
    let error = export(ExportFormat::GraphSon, folder.path(), true).unwrap_err();
    assert!(error.to_string().contains("is a folder: name a file in it"), "{error}");
    let error = export(ExportFormat::Csv, Path::new("-"), false).unwrap_err();
    assert!(error.to_string().contains("standard output can't take"), "{error}");
}
