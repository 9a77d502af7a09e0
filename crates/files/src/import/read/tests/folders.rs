//! Whole folders, and files that are named twice.

use crate::import::mapping::document::Mapping;
use crate::import::mapping::rule::FileFormat;
use crate::import::options::InputFile;
use crate::import::read::tests::files::*;
use crate::import::read::*;
use std::fs;

#[test]
fn a_file_that_is_named_twice_and_a_folder_without_any_are_refused() {
    let mut files = Files::new(&[("people.csv", "id,name\n1,Ada\n"), ("notes.md", "x")]);
    files.inputs.pop();
    files.inputs.push(InputFile::new(files.folder.path().join(".").join("people.csv")));
    assert_eq!(files.error(&files.options()).1.replace("./", ""), "people.csv: is named twice");
    files.inputs[1] = InputFile::new(files.folder.path());
    let both = files.error(&files.options()).1;
    assert!(both.starts_with("people.csv: is in ") && both.ends_with(", which is named as well"), "{both}");
    files.inputs.remove(0);
    fs::remove_file(files.path("people.csv")).unwrap();
    assert!(
        files.error(&files.options()).1.contains(": no file in it has a name that tells what it holds: ")
    );
    fs::remove_file(files.path("notes.md")).unwrap();
    assert!(files.error(&files.options()).1.contains(": there is no file in it: known are .csv"));
}

#[test]
fn a_folder_has_no_mappings_among_its_files() {
    let files = Files::new(&[("people.csv", "id,name\n1,Ada\n"), ("notes.md", "x")]);
    let mapping = files.path("mapping.toml");
    fs::write(&mapping, "[[file]]\npath = 'people.csv'\nlabel = 'Person'\nid = 'id'\n").unwrap();
    fs::write(files.path("import.toml"), "[[file]]\npath = '*.csv'\n").unwrap();
    let folder = [InputFile::new(files.folder.path())];
    let options = ImportOptions::new(folder.clone());
    let options = ImportOptions { mapping: Some(Mapping::read(&mapping).unwrap()), ..options };
    assert_eq!(files.read(&options).unwrap().ignored_files, [files.path("notes.md")]);
}

#[test]
fn a_folder_is_imported_whole_and_strangers_in_it_are_reported() {
    let files = Files::new(&[("Person.csv", PERSONS), ("notes.md", "hello"), (".hidden.csv", "x")]);
    fs::create_dir(files.path("edges")).unwrap();
    fs::write(files.path("edges/KNOWS.csv.gz"), gzip(KNOWS)).unwrap();
    let imported = files.read(&ImportOptions::new([InputFile::new(files.folder.path())])).unwrap();
    assert_eq!((imported.load.vertices_count(), imported.load.edges_count()), (2, 1));
    assert_eq!(imported.load.edges[0].edge_type, "KNOWS");
    assert_eq!(imported.ignored_files, [files.path("notes.md")]);
}

#[test]
fn formats_that_are_not_asked_for_are_left_out_in_folders_and_refused_by_name() {
    let files = Files::new(&[("Person.csv", PERSONS), ("links.txt", "1 2\n")]);
    let of = |formats: &[FileFormat], input: &str| ImportOptions {
        formats: formats.to_vec(),
        ..ImportOptions::new([InputFile::new(files.path(input))])
    };
    let imported = files.read(&of(&[FileFormat::Csv], "")).unwrap();
    assert_eq!((imported.load.vertices_count(), imported.load.edges_count()), (2, 0));
    assert_eq!(imported.ignored_files, [files.path("links.txt")]);
    let error = files.error(&of(&[FileFormat::Csv, FileFormat::Parquet], "links.txt")).1;
    assert_eq!(
        error,
        "links.txt: its format is edge-list, and what is read here is csv, parquet: import it by what reads that, or \
         all formats"
    );
    let error = files.error(&of(&[FileFormat::GraphMl], "")).1;
    assert!(error.contains("no file in it is of a format that is read here"), "{error}");
}
