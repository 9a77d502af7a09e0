//! Damage: a flipped byte, a cut or lost file of each kind. Opening either gives everything or an error
//! of kind `corrupt` that names the file, and leaves the directory as it was; the check finds it, too. Of the memory engine:
//! the disk engine reads pages when they are asked for, and has such tests of its own (`durable::flipped_bits`, `files`).

use crate::database::{Faulty, contents, persons};
use evergraph::engines::engine::AnyEngine;
use evergraph::storage::checkpoint::check::check_files;
use evergraph::storage::io::directory::{Directory, OpenMode};
use evergraph::storage::io::memory::MemoryDirectory;
use evergraph::{EngineKind, Error, ErrorKind};
use evergraph_tests::contents::Contents;
use evergraph_tests::store::{checkpoint, files, open_synced};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// A closed database with all kinds of files, and what it holds: a manifest, bodies, and a log of
/// commits after them.
fn closed() -> (MemoryDirectory, Contents) {
    let faulty = Faulty::new(EngineKind::Memory, 60);
    checkpoint(&faulty.open).unwrap();
    (0..40).for_each(|_| faulty.add_person().unwrap());
    let contents = faulty.contents();
    faulty.open.close().unwrap();
    (faulty.disk.clone(), contents)
}

/// Kinds of files, by the part of the name before the number.
fn kind(name: &str) -> &str {
    name.split('-').next().unwrap()
}

/// A copy of `disk` in which `change` was done to the file `name`.
fn damaged(disk: &MemoryDirectory, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> MemoryDirectory {
    let copy = disk.power_cut();
    let mut bytes = copy.read_all(name, u64::MAX).unwrap();
    change(&mut bytes);
    let file = copy.open(name, OpenMode::ReadWrite).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    file.write_at(&bytes, 0).unwrap();
    file.sync_data().unwrap();
    copy
}

/// Opens a damaged database: how many persons it shows, or the error, which has left everything as it
/// was.
fn open_damaged(disk: &MemoryDirectory) -> Result<(u64, Contents), Error> {
    let before = files(disk).unwrap();
    match open_synced(EngineKind::Memory, disk) {
        Ok(found) => Ok((persons(&found), contents(&found))),
        Err(error) => {
            assert!(files(disk).unwrap() == before, "a failed opening changes nothing: {error}");
            Err(error)
        }
    }
}

/// Whether the check of the files finds something that is wrong with the file `name`.
fn check_finds(disk: &MemoryDirectory, name: &str) -> bool {
    let report = check_files::<AnyEngine>(disk, &mut |_, _, _| ControlFlow::Continue(())).unwrap();
    report.findings.iter().any(|finding| finding.place.contains(name) || finding.problem.contains(name))
}

#[test]
fn a_flipped_byte_is_an_error_that_names_the_file_or_changes_nothing() {
    let (disk, expected) = closed();
    let mut reported: BTreeMap<String, usize> = BTreeMap::new();
    for (name, bytes) in files(&disk).unwrap() {
        // Of small files many bytes; of log files, whose tail is empty, as many of the beginning and a sample.
        let dense = bytes.len().min(6000);
        let positions = (0..dense).step_by(13).chain((dense..bytes.len()).step_by(1999));
        for at in positions {
            let disk = damaged(&disk, &name, |bytes| bytes[at] ^= 0x40);
            match open_damaged(&disk) {
                Ok((_, found)) => assert!(found == expected, "{name}, byte {at}: what opens is whole"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}, byte {at}: {error}");
                    assert!(error.to_string().contains(&name), "{name}, byte {at}: {error}");
                    assert!(check_finds(&disk, &name), "{name}, byte {at}: the check is silent");
                    *reported.entry(kind(&name).to_owned()).or_default() += 1;
                }
            }
        }
    }
    let kinds: Vec<&str> = reported.keys().map(String::as_str).collect();
    assert_eq!(kinds, ["bodies", "log", "manifest"], "each kind of file notices: {reported:?}");
}

/// So is the newest log file: `log_end` says how far it went when it was closed.
#[test]
fn a_file_that_was_cut_is_an_error_that_names_it() {
    let (disk, expected) = closed();
    for (name, bytes) in files(&disk).unwrap().into_iter().filter(|(name, _)| name != "lock") {
        for length in [0, 100, 5000, bytes.len() / 2] {
            let disk = damaged(&disk, &name, |bytes| bytes.truncate(length));
            match open_damaged(&disk) {
                Ok((_, found)) => assert!(
                    length >= bytes.len() || found == expected,
                    "{name}, cut to {length} bytes, opens"
                ),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}, {length} bytes: {error}");
                    assert!(error.to_string().contains(&name), "{name}, {length} bytes: {error}");
                }
            }
        }
    }
}

#[test]
fn a_file_that_is_lost_is_an_error_that_names_it() {
    let (disk, expected) = closed();
    let mut lost = Vec::new();
    for (name, _) in files(&disk).unwrap() {
        let disk = disk.power_cut();
        disk.remove(&name).unwrap();
        disk.sync_directory().unwrap();
        match open_damaged(&disk) {
            Ok((_, found)) => assert!(found == expected, "{name} is lost, and nobody says so"),
            Err(error) => {
                assert!(error.to_string().contains(&name), "{name}: {error}");
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}: {error}");
                lost.push(kind(&name).to_owned());
            }
        }
    }
    lost.dedup();
    assert_eq!(lost, ["bodies", "log", "log_end", "manifest"], "each kind of file is missed");
}
