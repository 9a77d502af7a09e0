//! Without files: a program that is built without the feature `files` keeps and queries graphs all the same.
//!
//! In a build of the whole workspace others ask for the feature, and nothing is here; `make test` builds it by itself.

#![cfg(not(feature = "files"))]
#![allow(clippy::unwrap_used, reason = "a test ends where something is missing")]

use evergraph::{Database, ErrorKind};

#[test]
fn a_program_without_files_answers_queries() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path().join("a.eg")).unwrap();
    db.gremlin("g.addV('person').property('name', 'ann').as('a').addV('person').addE('knows').from('a')")
        .run()
        .unwrap();
    drop(db);
    let db = Database::open(folder.path().join("a.eg")).unwrap();
    let known: i64 = db.gremlin("g.V().has('name', 'ann').out('knows').count()").one().unwrap();
    assert_eq!(known, 1);
}

#[test]
fn io_says_how_it_could_be_built_to_read_and_write_files() {
    let db = Database::in_memory().unwrap();
    for (query, verb) in [("g.io('a.json').read()", "reads"), ("g.io('a.json').write()", "writes")] {
        let error = db.gremlin(query).files(true).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let said = format!(
            "this query {verb} the file a.json, and this program was built without the feature `files` of the crate \
             evergraph: it needs default features, or `features = [\"files\"]`, at evergraph in Cargo.toml"
        );
        assert_eq!(error.to_string(), said);
    }
}
