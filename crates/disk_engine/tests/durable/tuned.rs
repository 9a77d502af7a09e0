//! Tuning: files without filters, and files of other choices beside each other, answer as all others do.

use crate::support::{Database, dump, go_on, open, options};
use evergraph_disk_engine::durable::open::open_tuned;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::format::filter::FilterChoice;
use evergraph_disk_engine::pick::limits::PickLimits;
use evergraph_disk_engine::tuning::Tuning;
use evergraph_graph::id::EdgeId;
use evergraph_graph::index::IndexKind;
use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::view::GraphView;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::OpenStore;
use std::sync::Arc;

const LIMITS: PickLimits =
    PickLimits { flushed_runs: 1, flushed_bytes_max: 1 << 30, size_ratio: 2, base_bytes: 1 };
const NAMES: IndexRequest<'static> =
    IndexRequest { owner: OwnerName::Label("Person"), key: "name", kind: IndexKind::Hash, unique: false };

/// Ten rounds of commits, each flushed; then as many compactions as are due.
fn work(database: &mut Database) {
    for _ in 0..10 {
        assert!(database.commit_some(20));
        database.open.store().engine().flush_all().unwrap();
    }
    check(database);
    while database.open.store().engine().compact_by(&LIMITS).unwrap() {}
    check(database);
}

/// All that the database shows, its edges one by one too, and as many that are not there.
fn check(database: &Database) {
    let (store, wanted) = (database.open.store(), database.newest());
    let snapshot = store.snapshot();
    assert_eq!(&dump(&snapshot), wanted);
    let (present, mut found) = (wanted.edges.keys().copied(), Vec::new());
    let absent = present.clone().map(|edge| EdgeId { discriminator: u16::MAX, ..edge });
    let asked: Vec<EdgeId> = present.chain(absent).collect();
    snapshot.has_edges(&asked, &mut found).unwrap();
    let (there, not_there) = found.split_at(wanted.edges.len());
    assert!(there.iter().all(|found| *found) && !not_there.iter().any(|found| *found));
    for (edge, is_there) in asked.iter().zip(&found) {
        let mut found = Vec::new();
        snapshot.has_edges(std::slice::from_ref(edge), &mut found).unwrap();
        assert_eq!(found, [*is_there], "{edge:?} alone");
    }
    let report = database.open.check(&mut |_, _, _| go_on(())).unwrap();
    assert!(report.is_healthy(), "{report:?}");
}

/// How many files there are, and how many of them have filters.
fn files(database: &Database) -> (usize, usize) {
    let current = database.open.store().engine().tree().current();
    let filtered = current.set.iter().filter(|file| !file.topology_index().filters().is_empty());
    (current.set.len(), filtered.count())
}

#[test]
fn without_filters_every_question_has_the_same_answer_and_later_files_may_have_them() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let tuning = Tuning { size_ratio: 4, flushed_runs: 2, filters: FilterChoice::Omitted };
    let opened: OpenStore<DiskEngine> =
        OpenStore::open_by(Arc::clone(&directory), &options(Durability::Sync), |opening| {
            open_tuned(opening, tuning)
        })
        .unwrap();
    let edges = EdgeTable::new("KNOWS", 0, 0, Vec::new(), vec![EdgeBlock::bare((1..40).map(|at| (0, at)))]);
    let people = VertexTable::new("Person", Vec::new(), vec![VertexBlock::bare(40)]);
    let load = Load { vertices: vec![people], edges: vec![edges] };
    opened.load_within(1 << 20, &load, &mut |_| Ok(()), &mut go_on).unwrap();
    opened.store().transact(|tx| tx.key("name").map(drop)).unwrap();
    opened.store().create_index(&NAMES, &mut |_| Ok(())).unwrap();
    let mut database = Database::of(opened, 1);
    work(&mut database);
    let (files_count, filtered) = files(&database);
    assert!(files_count > 0 && filtered == 0, "{filtered} of {files_count} files have filters");
    let graph = database.newest().clone();
    database.open.checkpoint(&mut go_on).unwrap();
    database.open.close().unwrap();

    let mut database = Database::of(open(directory, Durability::Sync).unwrap(), 2);
    assert_eq!(database.newest(), &graph);
    assert!(database.commit_some(20));
    database.open.store().engine().flush_all().unwrap();
    let (files_count, filtered) = files(&database);
    assert!(0 < filtered && filtered < files_count, "{filtered} of {files_count} files have filters");
    check(&database);
    work(&mut database);
    assert!(files(&database).1 > 0);
}
