//! What opening makes of a directory that is not as a manifest says: files that nobody names go, missing and damaged
//! ones are reported by name; numbers are used once.

use crate::support::{Database, files, go_on, open, options};
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::{OwnGroups, PartitionCount};
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine as _;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
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
fn a_manifest_that_names_a_partition_is_refused_by_name_since_this_engine_takes_whole_graphs() {
    let directory = MemoryDirectory::new("db");
    drop(with_files(&directory, 1));
    let manifest = Manifest::read(&directory, DiskEngine::opens).unwrap();
    let own = OwnGroups::new(PartitionId(0), PartitionCount::new(1).unwrap()).unwrap();
    Manifest { partition: Some(own), ..manifest }.write(&directory, || Ok(())).unwrap();
    for own_groups in [None, Some(own)] {
        let options = OpenOptions { own_groups, ..options(Durability::None) };
        let opened = OpenStore::<DiskEngine>::open(Arc::new(directory.clone()), &options);
        let error = opened.map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("takes whole graphs only"), "{error}");
    }
}

#[test]
fn a_number_of_a_flush_that_failed_is_not_used_again() {
    let directory = MemoryDirectory::new("db");
    let failing = FailingDirectory::new(Arc::new(directory.clone()));
    let mut database = Database::open(Arc::new(failing.clone()), Durability::Sync, 9).unwrap();
    assert!(database.commit_some(12));
    failing.plan(Fault::new(Operation::Sync, "csr-", std::io::ErrorKind::StorageFull));
    assert_eq!(database.checkpoint().unwrap_err().kind(), ErrorKind::Limit);
    assert!(files(&directory).is_empty());
    database.checkpoint().unwrap();
    assert!(files(&directory).contains(&"csr-0000000000000002".to_owned()), "{:?}", files(&directory));
}

#[test]
fn a_backup_of_damaged_files_fails_and_leaves_nothing() {
    let directory = MemoryDirectory::new("db");
    let database = with_files(&directory, 1);
    for name in files(&directory) {
        let length = directory.open(&name, OpenMode::Read).unwrap().len().unwrap();
        // Of head, pages, index, directory and footer; zeros before the footer are all that is not checked.
        for at in (0..length).step_by(509).chain([length - 70, length - 1]) {
            let file = directory.open(&name, OpenMode::ReadWrite).unwrap();
            let mut byte = [0];
            file.read_at(&mut byte, at).unwrap();
            file.write_at(&[byte[0] ^ 0x10], at).unwrap();
            let target = MemoryDirectory::new("copy");
            let made = database.open.backup(&target, &mut |progress| go_on(progress));
            file.write_at(&byte, at).unwrap();
            match made {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{name} at {at}: {error}");
                    assert!(error.to_string().contains(&name), "{error}");
                    assert!(target.list().unwrap().is_empty());
                }
                Ok(_) => assert_eq!(byte, [0], "{name}: byte {at} counts"),
            }
        }
    }
    let target = MemoryDirectory::new("copy");
    let made = database.open.backup(&target, &mut |progress| go_on(progress)).unwrap();
    let copy: Arc<dyn Directory> = Arc::new(target.power_cut());
    database.check_image(&copy, Durability::Sync, made.through, "the backup");
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
        let image = directory.power_cut();
        let others = files(&image).into_iter().filter(|other| other[..4] == name[..4] && *other != name);
        for other in others.collect::<Vec<_>>() {
            let bytes = image.read_all(&other, u64::MAX).unwrap();
            image.remove(&name).unwrap();
            image.write_all_new(&name, &bytes).unwrap();
            refused(image.clone(), "the bytes of another file");
            image.remove("csr-00000000000000ff").unwrap();
        }
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

/// The file of this name, as a later version writes it.
fn with_newer_format(image: &MemoryDirectory, name: &str) {
    let file = image.open(name, OpenMode::ReadWrite).unwrap();
    let mut head = vec![0; 4096];
    file.read_at(&mut head, 0).unwrap();
    head[8..12].copy_from_slice(&2_u32.to_le_bytes());
    head[12..16].fill(0);
    let crc = crc32c::crc32c(&head);
    head[12..16].copy_from_slice(&crc.to_le_bytes());
    file.write_at(&head, 0).unwrap();
}

#[test]
fn a_file_of_a_newer_format_is_named_and_nothing_is_removed() {
    let directory = MemoryDirectory::new("db");
    with_files(&directory, 2).open.close().unwrap();
    for name in files(&directory) {
        let image = directory.power_cut();
        with_newer_format(&image, &name);
        let before = files(&image);
        let error = open(Arc::new(image.clone()), Durability::Sync).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        let text = error.to_string();
        assert!(text.contains(&name) && text.contains("format 2"), "{text}");
        assert_eq!(files(&image), before);
    }
}
