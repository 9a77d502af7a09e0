//! Damage: a flipped byte, a cut or lost file of each kind. Opening either gives everything or an error
//! of kind `corrupt` that names the file, and leaves the directory as it was; the check finds it, too.
//!
//! Of the memory engine, and of the mapped engine while runs hold all that its files do: an opening reads them. Bodies in array
//! files are read when they are asked for, as the disk engine's pages are: such tests are those engines' own
//! (`array_checkpoints::damage`, `durable::flipped_bits`, `files`).

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

/// Engines whose files are read whole when the database is opened.
const ENGINES: [EngineKind; 2] = [EngineKind::Memory, EngineKind::Mapped];

/// What an engine's checkpoints write, beside the manifest.
fn engine_files(engine: EngineKind) -> &'static str {
    if engine == EngineKind::Mapped { "array" } else { "bodies" }
}

/// A closed database with all kinds of files, and what it holds: a manifest, bodies or runs, and a log of
/// commits after them.
fn closed(engine: EngineKind) -> (MemoryDirectory, Contents) {
    let faulty = Faulty::new(engine, 60);
    let made = checkpoint(&faulty.open).unwrap();
    assert_eq!(made.bodies_written == 0, engine == EngineKind::Mapped, "{made:?}");
    (0..40).for_each(|_| faulty.add_person().unwrap());
    let contents = faulty.contents();
    faulty.open.close().unwrap();
    let disk = faulty.disk.clone();
    drop(faulty);
    // Files that processes shared while the database was open do not come back.
    disk.sync_directory().unwrap();
    (disk, contents)
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
fn open_damaged(engine: EngineKind, disk: &MemoryDirectory) -> Result<(u64, Contents), Error> {
    let before = files(disk).unwrap();
    match open_synced(engine, disk) {
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

/// Bytes of which every so many is flipped: of small files and of the beginning of others, whose tail is empty; and of the tail.
struct Sample {
    dense: usize,
    sparse: usize,
}

fn a_flipped_byte_is_an_error_that_names_the_file_or_changes_nothing_on(engine: EngineKind, sample: &Sample) {
    let (disk, expected) = closed(engine);
    let mut reported: BTreeMap<String, usize> = BTreeMap::new();
    for (name, bytes) in files(&disk).unwrap() {
        let dense = bytes.len().min(6000);
        let positions = (0..dense).step_by(sample.dense).chain((dense..bytes.len()).step_by(sample.sparse));
        for at in positions {
            let disk = damaged(&disk, &name, |bytes| bytes[at] ^= 0x40);
            match open_damaged(engine, &disk) {
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
    assert_eq!(kinds, [engine_files(engine), "log", "manifest"], "each kind of file notices: {reported:?}");
}

#[test]
fn a_flipped_byte_is_an_error_that_names_the_file_or_changes_nothing() {
    let sample = Sample { dense: 13, sparse: 1999 };
    a_flipped_byte_is_an_error_that_names_the_file_or_changes_nothing_on(EngineKind::Memory, &sample);
}

/// Its openings take ten times as long, and most of an array file is empty.
#[test]
fn a_flipped_byte_of_the_mapped_engine_is_an_error_that_names_the_file_or_changes_nothing() {
    let sample = Sample { dense: 101, sparse: 99_991 };
    a_flipped_byte_is_an_error_that_names_the_file_or_changes_nothing_on(EngineKind::Mapped, &sample);
}

/// So is the newest log file: `log_end` says how far it went when it was closed.
#[test]
fn a_file_that_was_cut_is_an_error_that_names_it() {
    for engine in ENGINES {
        let (disk, expected) = closed(engine);
        for (name, bytes) in files(&disk).unwrap().into_iter().filter(|(name, _)| name != "lock") {
            for length in [0, 100, 5000, bytes.len() / 2] {
                let disk = damaged(&disk, &name, |bytes| bytes.truncate(length));
                match open_damaged(engine, &disk) {
                    Ok((_, found)) => assert!(
                        length >= bytes.len() || found == expected,
                        "{engine}: {name}, cut to {length} bytes, opens"
                    ),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}, {length} bytes: {error}");
                        assert!(error.to_string().contains(&name), "{name}, {length} bytes: {error}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_file_that_is_lost_is_an_error_that_names_it() {
    for engine in ENGINES {
        let (disk, expected) = closed(engine);
        let mut lost = Vec::new();
        for (name, _) in files(&disk).unwrap() {
            let disk = disk.power_cut();
            disk.remove(&name).unwrap();
            disk.sync_directory().unwrap();
            match open_damaged(engine, &disk) {
                Ok((_, found)) => assert!(found == expected, "{engine}: {name} is lost, and nobody says so"),
                Err(error) => {
                    assert!(error.to_string().contains(&name), "{name}: {error}");
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}: {error}");
                    lost.push(kind(&name).to_owned());
                }
            }
        }
        lost.dedup();
        let kinds = [engine_files(engine), "log", "log_end", "manifest"];
        assert_eq!(lost, kinds, "each kind of file is missed");
    }
}
