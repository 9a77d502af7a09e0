//! Folders: a database in a folder is none of its files.

use evergraph::Database;
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::import::read::read;
use std::fs;

#[test]
fn a_folder_has_no_databases_among_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let people = folder.path().join("people.csv");
    fs::write(&people, "id,name\n1,Ada\n").unwrap();
    let database = folder.path().join("old.eg");
    Database::open(&database).unwrap().close().unwrap();
    let read = |path| read(&ImportOptions::new([InputFile::new(path)]), &|_| ());
    let imported = read(folder.path()).unwrap();
    assert_eq!((imported.load.vertices_count(), imported.ignored_files.len()), (1, 0));
    let error = read(&database).unwrap_err().to_string();
    assert!(
        error
            .ends_with("old.eg: is a database, and no folder of files: `evergraph export` makes files of it"),
        "{error}"
    );
}
