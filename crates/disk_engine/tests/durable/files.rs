//! What opening makes of a directory that is not as a manifest says: files that nobody names go, missing and damaged
//! ones are reported by name; numbers are used once.

use crate::support::{Database, files, open};
use evergraph_graph::error::ErrorKind;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use std::sync::Arc;

fn with_files(directory: &MemoryDirectory, checkpoints: usize) -> Database {
    let mut database = Database::open(Arc::new(directory.clone()), Durability::Sync, 9).unwrap();
    for _ in 0..checkpoints {
        assert!(database.commit_some(12));
        database.checkpoint().unwrap();
    }
    database
}

#[test]
fn files_that_no_manifest_names_go_when_a_database_is_opened() {
    let directory = MemoryDirectory::new("db");
    drop(with_files(&directory, 2));
    let named = files(&directory);
    let strangers =
        ["csr-00000000000000ff", "col-00000000000000ff", "col-0000000000000100", "csr-12", "notes"];
    for name in strangers.into_iter().chain(["manifest.new"]) {
        directory.write_all_new(name, b"left").unwrap();
    }
    let mut database = Database::open(Arc::new(directory.clone()), Durability::Sync, 10).unwrap();
    assert_eq!(files(&directory), named);
    assert!(directory.exists("csr-12").unwrap() && directory.exists("notes").unwrap(), "they are not ours");
    assert!(!directory.exists("manifest.new").unwrap());
    assert!(database.commit_some(12));
    database.checkpoint().unwrap();
    let new: Vec<_> = files(&directory).into_iter().filter(|name| !named.contains(name)).collect();
    assert!(new.contains(&"csr-0000000000000101".to_owned()), "no number is used twice: {new:?}");
}

#[test]
fn numbers_of_failed_checkpoints_are_not_used_again() {
    let directory = MemoryDirectory::new("db");
    let mut database = with_files(&directory, 1);
    let first = files(&directory);
    assert!(database.commit_some(12));
    let mut questions = 0;
    let stopped = database.open.checkpoint(&mut |_| {
        questions += 1;
        if questions > 1 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    });
    assert!(stopped.is_err());
    database.checkpoint().unwrap();
    let second = files(&directory);
    assert!(first.contains(&"csr-0000000000000001".to_owned()));
    assert!(second.contains(&"csr-0000000000000003".to_owned()), "{second:?}");
}

#[test]
fn missing_and_damaged_files_are_reported_by_name_and_nothing_is_removed() {
    let directory = MemoryDirectory::new("db");
    let database = with_files(&directory, 2);
    database.open.close().unwrap();
    for name in files(&directory) {
        let refused = |image: MemoryDirectory, what: &str| {
            image.write_all_new("csr-00000000000000ff", b"left").unwrap();
            let before = files(&image);
            let error = open(Arc::new(image.clone()), Durability::Sync).map(drop).unwrap_err();
            assert!(
                error.kind() == ErrorKind::Corrupt && error.to_string().contains(&name),
                "{what}: {error}"
            );
            assert_eq!(files(&image), before, "{what}");
        };
        let image = directory.power_cut();
        image.remove(&name).unwrap();
        refused(image, "missing");
        let image = directory.power_cut();
        let length = image.open(&name, OpenMode::Read).unwrap().len().unwrap();
        image.open(&name, OpenMode::ReadWrite).unwrap().set_len(length - 4096).unwrap();
        refused(image, "cut");
        for at in [9, length - 10] {
            let image = directory.power_cut();
            let mut byte = [0];
            let file = image.open(&name, OpenMode::ReadWrite).unwrap();
            file.read_at(&mut byte, at).unwrap();
            file.write_at(&[byte[0] ^ 1], at).unwrap();
            refused(image, "damaged");
        }
    }
}
