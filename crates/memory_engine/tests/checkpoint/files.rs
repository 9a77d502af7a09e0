//! The files of a database: which appear, which go, and that no damage passes for data.

use std::sync::Arc;

use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::value::Value;
use evergraph_memory_engine::checkpoint::body_file::file_number;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::log::options::Durability;

use crate::hubs::{edge, reopen, with_a_hub};
use crate::support::{Database, LABEL};

fn open(directory: &MemoryDirectory) -> Result<Database, CheckpointError> {
    Database::open(Arc::new(directory.clone()), Durability::None)
}

fn bodies_files(directory: &MemoryDirectory) -> Vec<u64> {
    directory.list().unwrap().iter().filter_map(|name| file_number(name)).collect()
}

fn random_graph(directory: &MemoryDirectory, commits: u64) -> Database {
    let database = open(directory).unwrap();
    let mut random = SplitMix64::new(commits);
    for _ in 0..commits {
        database.append(&database.model().random_commit(&mut random)).unwrap();
    }
    database
}

/// Inserts vertices, all of one group, each with a property.
fn people(group: u32, text: &str) -> Vec<Mutation> {
    let insert = |row| Mutation::InsertVertex {
        vertex: VertexId(group * 4096 + row),
        label: LABEL,
        properties: Properties::new(vec![(KeyId(0), Some(Value::from(format!("{text} {row}"))))]),
    };
    (0..200).map(insert).collect()
}

fn rename(vertex: u32, text: &str) -> Mutation {
    let properties = Properties::new(vec![(KeyId(0), Some(Value::from(text)))]);
    Mutation::SetVertexProperties { vertex: VertexId(vertex), properties }
}

#[test]
fn a_checkpoint_without_changes_writes_no_body() {
    let directory = MemoryDirectory::new("db");
    let database = random_graph(&directory, 20);
    let first = database.checkpoint().unwrap();
    assert!(first.bodies_written > 0 && first.bytes_written > 0);
    let second = database.checkpoint().unwrap();
    assert_eq!((second.bodies_written, second.bytes_written), (0, 0));
    assert_eq!(second.segments_count, first.segments_count);
    drop(database);
    let reopened = open(&directory).unwrap();
    assert_eq!(reopened.checkpoint().unwrap().bodies_written, 0, "places are remembered");
    assert_eq!(bodies_files(&directory), [1]);
}

#[test]
fn a_file_under_half_alive_is_rewritten_and_a_file_without_life_removed() {
    let directory = MemoryDirectory::new("db");
    let database = open(&directory).unwrap();
    for group in 0..4 {
        database.append(&people(group, "first")).unwrap();
    }
    database.checkpoint().unwrap();
    database.append(&[rename(0, "new")]).unwrap();
    assert_eq!(database.checkpoint().unwrap().bodies_written, 1, "three quarters are alive");
    assert_eq!(bodies_files(&directory), [1, 2]);
    database.append(&[rename(4096, "new"), rename(8192, "new")]).unwrap();
    assert_eq!(database.checkpoint().unwrap().bodies_written, 2);
    assert_eq!(bodies_files(&directory), [1, 2, 3]);
    assert_eq!(database.checkpoint().unwrap().bodies_written, 1, "the last quarter moves");
    assert_eq!(bodies_files(&directory), [2, 3, 4]);
    assert_eq!(open(&directory.power_cut()).unwrap().model(), database.model());
}

#[test]
fn many_small_files_become_one() {
    let directory = MemoryDirectory::new("db");
    let database = open(&directory).unwrap();
    for group in 0..20 {
        database.append(&people(group, "name")).unwrap();
        database.checkpoint().unwrap();
    }
    assert!(bodies_files(&directory).len() <= 17, "{:?}", bodies_files(&directory));
    assert_eq!(open(&directory.power_cut()).unwrap().model(), database.model());
}

#[test]
fn what_an_interrupted_checkpoint_left_is_removed_and_its_number_not_used_again() {
    let directory = MemoryDirectory::new("db");
    let database = random_graph(&directory, 10);
    database.checkpoint().unwrap();
    drop(database);
    directory.write_all_new("bodies-0000000000000030", b"half").unwrap();
    directory.write_all_new("manifest.new", b"half").unwrap();
    let reopened = open(&directory).unwrap();
    assert_eq!(bodies_files(&directory), [1]);
    reopened.append(&people(9, "x")).unwrap();
    reopened.checkpoint().unwrap();
    assert_eq!(bodies_files(&directory), [1, 0x31]);
}

/// Of the `length` bytes of the file `name`, those that are flipped: its ends, what `log_end` says in each of its two pages, and
/// every fifth, or every 61st of its zeros. Unit tests flip more: all bytes of a manifest, of the head and the end
/// of a file of bodies.
fn flipped(name: &str, length: usize) -> impl Iterator<Item = usize> {
    let (page, step) = if name == "log_end" { (4096, 61) } else { (length, 5) };
    (0..length).filter(move |at| at % step == 0 || at % page < 64 || at + 64 > length)
}

#[test]
fn a_flipped_byte_of_a_database_is_reported_or_harmless() {
    let directory = MemoryDirectory::new("db");
    let database = random_graph(&directory, 30);
    database.checkpoint().unwrap();
    let model = database.model();
    drop(database);
    let names = directory.list().unwrap();
    let mut reported = 0;
    for name in names.iter().filter(|name| !name.starts_with("log-")) {
        let length = directory.read_all(name, 1 << 24).unwrap().len();
        for at in flipped(name, length) {
            let damaged = directory.power_cut();
            let file = damaged.open(name, OpenMode::ReadWrite).unwrap();
            let mut byte = [0];
            file.read_at(&mut byte, at as u64).unwrap();
            file.write_at(&[byte[0] ^ 0x20], at as u64).unwrap();
            match open(&damaged) {
                Ok(opened) => assert_eq!(opened.model(), model, "{name}, byte {at}"),
                Err(CheckpointError::Corrupt { file, .. }) => {
                    assert!(file.ends_with(name), "{name}, byte {at}");
                    reported += 1;
                }
                Err(error) => panic!("{name}, byte {at}: {error}"),
            }
        }
        // A page of `log_end` has a twin, which a torn write may need as well: one is enough.
        let expected = if name == "log_end" { 0 } else { flipped(name, length).count() };
        assert_eq!(reported, expected, "{name}: each is covered by a checksum");
        reported = 0;
    }
}

#[test]
fn a_missing_file_is_named() {
    let directory = MemoryDirectory::new("db");
    random_graph(&directory, 10).checkpoint().unwrap();
    directory.remove("bodies-0000000000000001").unwrap();
    let Err(error) = open(&directory) else { panic!("opened") };
    assert!(error.to_string().contains("bodies-0000000000000001"), "{error}");
    directory.remove("manifest").unwrap();
    directory.write_all_new("manifest", b"").unwrap();
    let Err(error) = open(&directory) else { panic!("opened") };
    assert!(matches!(error, CheckpointError::Corrupt { .. }), "{error}");
}

#[test]
fn an_edge_of_a_hub_alone_does_not_rewrite_its_group() {
    let directory = MemoryDirectory::new("db");
    let database = with_a_hub(&directory);
    let first = database.checkpoint().unwrap();
    database.append(&[Mutation::DeleteEdge { edge: edge(7, 9) }]).unwrap();
    let second = database.checkpoint().unwrap();
    assert_eq!(second.segments_count, first.segments_count);
    assert_eq!(second.bodies_written, 2, "the hub's out side and the in side of v9's group");
    assert_eq!(reopen(&directory).model(), database.model());
}
