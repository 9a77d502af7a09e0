//! Refusals: what a database on a cluster does not do, in words that say what to do instead.

use crate::cluster::nodes::PATIENCE;
use crate::three_nodes;
use evergraph::algorithms::control::Control;
use evergraph::algorithms::{pagerank, scope::Scope};
use evergraph::graph::cancel::CancelFlag;
use evergraph::graph::load::Load;
use evergraph::{Database, EngineKind, ErrorKind, Options, OwnerName};
use std::ops::ControlFlow;
use std::path::Path;

#[test]
fn what_needs_the_files_of_one_database_is_refused_with_what_to_do() {
    let databases = three_nodes(41, PATIENCE);
    let [db, _, _] = databases.all();
    crate::people(db);
    let folder = tempfile::tempdir().unwrap();
    let (copy, cancel) = (folder.path().join("copy.eg"), CancelFlag::default());
    let control = Control::new(db.store().budget().as_ref());
    let refusals = [
        (db.load(&Load::default(), &|_| {}, &cancel).map(drop), "transactions"),
        (db.own("a source").map(drop), "follow"),
        (db.open_store().map(drop), "nodes"),
        (db.checkpoint().map(drop), "by itself"),
        (db.backup(&copy, &mut |_| ControlFlow::Continue(())).map(drop), "export"),
        (db.check(&mut |_, _, _| ControlFlow::Continue(())).map(drop), "export"),
        (db.convert(&copy, EngineKind::Disk, &mut |_, _, _| ControlFlow::Continue(())).map(drop), "export"),
        (
            pagerank::run(&db.snapshot(), &Scope::default(), &Default::default(), &control).map(drop),
            "algorithms",
        ),
    ];
    for (number, (refused, part)) in refusals.into_iter().enumerate() {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{number}: {error}");
        assert!(error.to_string().contains(part), "{number}: {error}");
    }
    assert!(!copy.exists());
    let dropped = db.drop_index(OwnerName::Label("Person"), "name", None).unwrap_err();
    assert_eq!(dropped.kind(), ErrorKind::NotFound, "{dropped}");
}

#[test]
fn files_are_not_imported_into_a_cluster_and_refused_before_they_are_read() {
    let databases = three_nodes(42, PATIENCE);
    let [db, _, _] = databases.all();
    let missing = db.gremlin("g.io('/nowhere/graph.json').read()").files(true).run().unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Invalid, "{missing}");
    assert!(missing.to_string().contains("in transactions"), "{missing}");
}

#[test]
fn the_path_of_a_node_is_no_directory_of_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("cluster:{}", folder.path().join("node-0").display());
    let db = Database::in_memory().unwrap();
    let refusals = [
        Database::open_reader(&path).map(drop),
        Database::engine_at(&path).map(drop),
        Database::processes(&path).map(drop),
        Database::may_have_notes_at(&path).map(drop),
        Database::check_files(&path, &mut |_, _, _| ControlFlow::Continue(())).map(drop),
        Database::salvage(&path, folder.path(), &mut |_, _, _| ControlFlow::Continue(())).map(drop),
        Database::salvage(folder.path(), &path, &mut |_, _, _| ControlFlow::Continue(())).map(drop),
        db.backup(&path, &mut |_| ControlFlow::Continue(())).map(drop),
        db.convert(&path, EngineKind::Disk, &mut |_, _, _| ControlFlow::Continue(())).map(drop),
        Database::open("cluster://host:7400/social").map(drop),
    ];
    for (number, refused) in refusals.into_iter().enumerate() {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{number}: {error}");
        assert!(error.to_string().starts_with("cluster:"), "{number}: {error}");
    }
    let missing = Database::open(&path).map(drop).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    let disk = Options { engine: Some(EngineKind::Disk), ..Options::default() };
    assert_eq!(Database::open_with(&path, &disk).map(drop).unwrap_err().kind(), ErrorKind::Invalid);
    assert!(!Path::new("cluster:").exists() && !folder.path().join("node-0").exists());
}
