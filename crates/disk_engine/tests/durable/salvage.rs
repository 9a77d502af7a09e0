//! Salvage: of a database with any page damaged, the new one has what was there, and the report says what is missing.

use crate::support::{Database, Graph, Values, dump, files, go_on, open};
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::file::csr_file::CsrFile;
use evergraph_disk_engine::file_set::FileSet;
use evergraph_disk_engine::format::file_name::{CsrFileName, FileContent};
use evergraph_disk_engine::pick::limits::PickLimits;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::log::options::Durability;
use evergraph_storage::salvage::loss::{Loss, LossKind};
use evergraph_storage::salvage::run::salvage;
use evergraph_storage::salvage::salvaged::Salvaged;
use std::ops::ControlFlow;
use std::sync::Arc;

const HEAD_BYTES: u64 = 4096;
const PAGE_BYTES: u64 = 16 << 10;
const LIMITS: PickLimits =
    PickLimits { flushed_runs: 2, flushed_bytes_max: 1 << 30, size_ratio: 2, base_bytes: 1 };

/// A database with files of a level, of L0, and commits in the log.
fn database(directory: &MemoryDirectory, seed: u64) -> Database {
    let mut database = Database::open(Arc::new(directory.clone()), Durability::Sync, seed).unwrap();
    for _ in 0..2 {
        assert!(database.commit_some(40));
        database.checkpoint().unwrap();
    }
    while database.open.store().engine().compact_by(&LIMITS).unwrap() {}
    for _ in 0..2 {
        assert!(database.commit_some(25));
        database.checkpoint().unwrap();
    }
    assert!(database.commit_some(5));
    database
}

/// Salvages `image`, opens what came of it and looks at it.
fn salvaged(image: &MemoryDirectory, at: &str) -> (Salvaged, Graph) {
    let new = MemoryDirectory::new("new");
    let target: Arc<dyn Directory> = Arc::new(new.clone());
    let salvaged = salvage::<DiskEngine>(image, &target, 7, &mut |_, _, _| go_on(()))
        .unwrap_or_else(|error| panic!("{at}: {error}"));
    let again =
        open(Arc::new(new.power_cut()), Durability::Sync).unwrap_or_else(|error| panic!("{at}: {error}"));
    let report = again.check(&mut |_, _, _| go_on(())).unwrap();
    assert!(report.is_healthy(), "{at}: {report:?}");
    let graph = dump(&again.store().snapshot());
    assert_eq!(salvaged.vertices_count, graph.vertices.len() as u64, "{at}");
    assert_eq!(salvaged.edges_count, graph.edges.len() as u64, "{at}");
    (salvaged, graph)
}

/// Whether all of `values` are among those that were known.
fn has(known: &Values, values: &Values) -> bool {
    values.iter().all(|value| known.contains(value))
}

/// Whether everything in `graph` was in the database at some commit that the report allows.
fn was_there(database: &Database, salvaged: &Salvaged, graph: &Graph, at: &str) {
    let newest = database.newest();
    if salvaged.is_complete() {
        assert_eq!(graph, newest, "{at}: {salvaged:?}");
        return;
    }
    // What is stale is as of some commit after the last one that all is known of.
    let allowed = || database.graphs.range(salvaged.through..).map(|(_, graph)| graph).chain([newest]);
    for (vertex, values) in &graph.vertices {
        let mut known = allowed().filter_map(|graph| graph.vertices.get(vertex));
        assert!(known.any(|known| has(known, values)), "{at}: {vertex} never was {values:?}: {salvaged:?}");
    }
    for (edge, values) in &graph.edges {
        let known: Vec<_> = allowed().filter_map(|graph| graph.edges.get(edge)).collect();
        assert!(!known.is_empty(), "{at}: {edge} was not there: {salvaged:?}");
        assert!(
            known.iter().any(|known| has(known, values)),
            "{at}: {edge} never was {values:?}, but {known:?}: {salvaged:?}"
        );
    }
}

fn damage(image: &MemoryDirectory, name: &str, at: u64) {
    let file = image.open(name, OpenMode::ReadWrite).unwrap();
    let mut byte = [0];
    file.read_at(&mut byte, at).unwrap();
    file.write_at(&[byte[0] ^ 0x10], at).unwrap();
}

/// The names of the topology files of each level that has any, from L0 on.
fn files_by_level(set: &FileSet<CsrFile>) -> Vec<Vec<String>> {
    let name =
        |file: &Arc<CsrFile>| CsrFileName::new(file.stored().number, FileContent::Topology).to_string();
    let levels = set.levels().map(|files| files.iter().map(name).collect::<Vec<_>>());
    levels.filter(|files| !files.is_empty()).collect()
}

fn length(directory: &MemoryDirectory, name: &str) -> u64 {
    directory.open(name, OpenMode::Read).unwrap().len().unwrap()
}

#[test]
fn a_sound_database_is_saved_whole() {
    let directory = MemoryDirectory::new("db");
    let database = database(&directory, 1);
    let (salvaged, graph) = salvaged(&directory.power_cut(), "sound");
    assert!(salvaged.losses.is_empty(), "{:?}", salvaged.losses);
    assert_eq!((&graph, salvaged.through), (database.newest(), database.acknowledged));
    assert_eq!(salvaged.mixed_through, None);
}

#[test]
fn any_damaged_page_costs_what_the_report_names_and_nothing_is_made_up() {
    let (mut complete, mut incomplete) = (0, 0);
    for seed in [1, 2] {
        let directory = MemoryDirectory::new("db");
        let database = database(&directory, seed);
        for name in files(&directory) {
            let bytes = length(&directory, &name);
            let pages = (0..(bytes - HEAD_BYTES) / PAGE_BYTES).map(|page| HEAD_BYTES + page * PAGE_BYTES);
            // A page's content, the head, the end of the file.
            for offset in pages.map(|page| page + 40).chain([9, bytes - 10]) {
                let (image, at) = (directory.power_cut(), format!("seed {seed}: {name} at {offset}"));
                damage(&image, &name, offset);
                let (salvaged, graph) = salvaged(&image, &at);
                let is_named = |loss: &Loss| {
                    let end = |start| start + loss.length.unwrap_or(0);
                    loss.file.as_ref().is_some_and(|file| file.ends_with(&name))
                        && loss.offset.is_some_and(|start| start <= offset && offset < end(start))
                };
                assert!(salvaged.losses.iter().any(is_named), "{at}: {:?}", salvaged.losses);
                was_there(&database, &salvaged, &graph, &at);
                if salvaged.is_complete() { complete += 1 } else { incomplete += 1 }
            }
        }
    }
    assert!(complete > 10 && incomplete > 10, "{complete} complete, {incomplete} not");
}

#[test]
fn one_side_of_the_edges_completes_the_other() {
    let directory = MemoryDirectory::new("db");
    let database = database(&directory, 3);
    let mut seen = 0;
    for name in files(&directory).into_iter().filter(|name| name.starts_with("csr-")) {
        for page in 0..(length(&directory, &name) - HEAD_BYTES) / PAGE_BYTES {
            let (image, at) = (directory.power_cut(), format!("{name}, page {page}"));
            damage(&image, &name, HEAD_BYTES + page * PAGE_BYTES + 40);
            let (salvaged, graph) = salvaged(&image, &at);
            let is_of_edges = |kind| matches!(kind, LossKind::EdgeProperty | LossKind::Nothing);
            if salvaged.losses.iter().all(|loss| is_of_edges(loss.kind)) {
                assert!(graph.edges.keys().eq(database.newest().edges.keys()), "{at}: {salvaged:?}");
                seen += 1;
            }
        }
    }
    assert!(seen > 3, "{seen} pages of lists");
}

/// A file of L0 is lost with both sides of its commits, and a page of the level below with one. The out list came first,
/// whatever it was known through: edges came back that the in list knew as deleted.
#[test]
fn of_two_damaged_sides_the_one_that_is_known_longer_decides() {
    for seed in [1, 2, 3] {
        let directory = MemoryDirectory::new("db");
        let mut database = Database::open(Arc::new(directory.clone()), Durability::Sync, seed).unwrap();
        let flush = |database: &mut Database, commits| {
            assert!(database.commit_some(commits));
            database.checkpoint().unwrap();
        };
        flush(&mut database, 40);
        flush(&mut database, 40);
        while database.open.store().engine().compact_by(&LIMITS).unwrap() {}
        let before = database.newest().clone();
        flush(&mut database, 40);
        flush(&mut database, 40);
        // One compaction: into a level above that of the first files.
        assert!(database.open.store().engine().compact_by(&LIMITS).unwrap());
        let known = database.acknowledged;
        flush(&mut database, 25);
        let set = Arc::clone(&database.open.store().engine().tree().current().set);
        let [flushed, upper, lowest] = files_by_level(&set).try_into().expect("L0 and two levels");
        assert!(flushed.len() == 1 && !lowest.is_empty(), "{flushed:?}, {upper:?}, {lowest:?}");

        // Edges are known through the commit before the file of L0, by one of their sides.
        let after = &database.graphs[&known];
        let was_deleted = |edge: &EdgeId| {
            let has = |end: &VertexId| after.vertices.contains_key(end);
            !after.edges.contains_key(edge) && has(&edge.source) && has(&edge.target)
        };
        assert!(before.edges.keys().any(was_deleted), "seed {seed}: no edge was deleted alone");
        for name in upper {
            for page in 0..(length(&directory, &name) - HEAD_BYTES) / PAGE_BYTES {
                let (image, at) = (directory.power_cut(), format!("seed {seed}: {name}, page {page}"));
                image.remove(&flushed[0]).unwrap();
                damage(&image, &name, HEAD_BYTES + page * PAGE_BYTES + 40);
                let (salvaged, graph) = salvaged(&image, &at);
                for edge in graph.edges.keys() {
                    let mut later = database.graphs.range(known..).map(|(_, graph)| graph);
                    let is_known = later.any(|graph| graph.edges.contains_key(edge));
                    assert!(is_known, "{at}: {edge} was deleted: {salvaged:?}");
                }
                was_there(&database, &salvaged, &graph, &at);
            }
        }
    }
}

#[test]
fn many_damaged_pages_and_files_that_are_missing_or_cut_make_nothing_up() {
    let directory = MemoryDirectory::new("db");
    let database = database(&directory, 4);
    let names = files(&directory);
    let mut random = SplitMix64::new(9);
    let mut below = |bound: u64| random.next_u64() % bound;
    for round in 0..40 {
        let (image, at) = (directory.power_cut(), format!("round {round}"));
        for _ in 0..=below(4) {
            let name = &names[below(names.len() as u64) as usize];
            if !image.exists(name).unwrap() {
                continue;
            }
            let bytes = length(&image, name);
            match below(8) {
                0 => image.remove(name).unwrap(),
                1 => image.open(name, OpenMode::ReadWrite).unwrap().set_len(below(bytes)).unwrap(),
                _ if bytes == 0 => {}
                _ => damage(&image, name, below(bytes)),
            }
        }
        let (salvaged, graph) = salvaged(&image, &at);
        was_there(&database, &salvaged, &graph, &at);
    }
}

#[test]
fn a_file_of_another_database_is_not_used() {
    let (directory, stranger) = (MemoryDirectory::new("db"), MemoryDirectory::new("other"));
    let (database, _other) = (database(&directory, 5), self::database(&stranger, 6));
    for name in files(&directory) {
        let Ok(bytes) = stranger.read_all(&name, u64::MAX) else { continue };
        let image = directory.power_cut();
        image.remove(&name).unwrap();
        image.write_all_new(&name, &bytes).unwrap();
        let (salvaged, graph) = salvaged(&image, &name);
        let is_named = salvaged.losses.iter().any(|loss| loss.problem.contains("another file"));
        assert!(is_named, "{name}: {:?}", salvaged.losses);
        was_there(&database, &salvaged, &graph, &name);
    }
}

#[test]
fn without_a_manifest_the_log_has_everything_or_nothing_can_be_named() {
    let directory = MemoryDirectory::new("db");
    let mut database = Database::open(Arc::new(directory.clone()), Durability::Sync, 2).unwrap();
    assert!(database.commit_some(10));
    let image = directory.power_cut();
    image.remove("manifest").unwrap();
    let (saved, graph) = salvaged(&image, "the log alone");
    assert_eq!(&graph, database.newest());
    assert!(saved.losses.iter().all(|loss| loss.kind == LossKind::Nothing), "{:?}", saved.losses);

    // Files that a manifest named say nothing of names.
    for _ in 0..6 {
        assert!(database.commit_some(60));
        database.checkpoint().unwrap();
    }
    let image = directory.power_cut();
    damage(&image, "manifest", 60);
    let before = image.list().unwrap();
    let new = MemoryDirectory::new("new");
    let target: Arc<dyn Directory> = Arc::new(new.clone());
    let error = salvage::<DiskEngine>(&image, &target, 7, &mut |_, _, _| go_on(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("restore the manifest or a backup"), "{error}");
    assert_eq!((image.list().unwrap(), files(&new)), (before, Vec::new()));
}

#[test]
fn a_log_with_a_hole_is_replayed_up_to_it() {
    let directory = MemoryDirectory::new("db");
    let mut database = database(&directory, 7);
    let covered = Timestamp(database.acknowledged.0 - 5);
    assert!(database.commit_some(20));
    let image = directory.power_cut();
    let logs = image.list().unwrap().into_iter().filter(|name| name.starts_with("log-"));
    // Files that wait to be used are full of zeros.
    let last_byte = |name: String| {
        let bytes = image.read_all(&name, u64::MAX).unwrap();
        bytes.iter().rposition(|byte| *byte != 0).filter(|at| *at > 1000).map(|at| (name, at as u64))
    };
    let (name, last) = logs.rev().find_map(last_byte).expect("a log file with commits");
    damage(&image, &name, last - 60);
    let (saved, graph) = salvaged(&image, "a hole");
    assert!(saved.through >= covered && saved.through < database.acknowledged, "{saved:?}");
    assert_eq!(graph, database.graphs[&saved.through]);
}

#[test]
fn a_salvage_that_is_cancelled_leaves_nothing() {
    let directory = MemoryDirectory::new("db");
    let _database = database(&directory, 8);
    for asked in 0.. {
        let new = MemoryDirectory::new("new");
        let target: Arc<dyn Directory> = Arc::new(new.clone());
        let mut left = asked;
        let made = salvage::<DiskEngine>(&directory.power_cut(), &target, 7, &mut |_, _, _| {
            left -= 1;
            if left < 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match made {
            Ok(_) => break,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}"),
        }
        assert_eq!(files(&new), Vec::<String>::new(), "after {asked} questions");
        assert!(!new.exists("manifest").unwrap());
    }
}
