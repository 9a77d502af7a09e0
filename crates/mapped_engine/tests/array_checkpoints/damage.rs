//! Damage: every flipped byte that matters is named by file and place, by the check and by whoever reads it first.

use crate::crash::changes;
use crate::naive::{NaiveDatabase, key, read_manifest, segment_ids};
use evergraph_mapped_engine::checkpoint::check::check_array_files;
use evergraph_mapped_engine::extents::header::{ExtentKind, ExtentPlace, HEADER_BYTES, extent_bytes};
use evergraph_mapped_engine::files::section::Section;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::checkpoint::report::Report;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::record::Operation;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

fn database() -> MemoryDirectory {
    let memory = MemoryDirectory::new("db");
    let database = NaiveDatabase::open(Arc::new(memory.clone())).unwrap();
    let mut random = SplitMix64::new(11);
    for round in 0..40 {
        database.commit(&changes(&mut random)).unwrap();
        if round == 20 {
            segment_ids().into_iter().for_each(|id| database.merge(id).unwrap());
        }
    }
    database.checkpoint().unwrap();
    memory.power_cut()
}

fn check(directory: &MemoryDirectory) -> Report {
    let mut report = Report::default();
    let manifest = read_manifest(directory).unwrap();
    let go_on = &mut |_: &str, _, _| ControlFlow::Continue(());
    check_array_files(directory, &manifest, |_, _, _| Ok(()), &mut report, go_on).unwrap();
    report
}

/// What opening and reading everything says.
fn read(directory: &MemoryDirectory) -> Result<(), CheckpointError> {
    NaiveDatabase::open(Arc::new(directory.power_cut()))?.graph().map(drop)
}

/// Where the runs in a batch lie in its file.
fn runs_of(section: &Section, batch: ExtentPlace) -> Vec<Range<u64>> {
    let runs = section.segments.iter().flat_map(|segment| &segment.runs);
    let own = runs.filter(|run| section.batches[run.batch].place == batch);
    let payload = batch.offset + HEADER_BYTES as u64;
    own.map(|run| payload + run.range.offset..payload + run.range.end().unwrap()).collect()
}

#[test]
fn every_damaged_byte_of_an_extent_is_found_and_named() {
    let directory = database();
    assert!(check(&directory).is_healthy() && read(&directory).is_ok());
    let section = Section::of(&directory, &read_manifest(&directory).unwrap()).unwrap();
    assert!(section.batches.len() == 1 && section.extents().count() > 7, "{section:?}");
    for (place, header) in section.extents() {
        let name = format!("array-{:016x}", place.file);
        let file = directory.open(&name, OpenMode::ReadWrite).unwrap();
        let end = place.offset + extent_bytes(place.payload_bytes).unwrap();
        // What is compared when it is read: a body or column as a whole, of a batch each run by itself.
        let parts = match header.kind {
            ExtentKind::Batch => runs_of(&section, place),
            _ => std::iter::once(place.offset..end).collect(),
        };
        assert!(parts.len() > 1 || header.kind != ExtentKind::Batch, "{section:?}");
        let of_parts = parts.iter().flat_map(|part| [part.start, part.start + 12, part.end - 1]);
        for at in (place.offset..end).step_by(37).chain(of_parts) {
            let mut byte = [0];
            file.read_at(&mut byte, at).unwrap();
            file.write_at(&[byte[0] ^ 0x40], at).unwrap();
            file.sync_data().unwrap();
            let report = check(&directory);
            assert!(
                !report.is_healthy() && report.findings[0].problem.contains(&name),
                "{header:?} byte {at}: {report:?}"
            );
            match (read(&directory), parts.iter().find(|part| part.contains(&at))) {
                (Err(error), Some(part)) => {
                    let CheckpointError::Corrupt { file, offset, .. } = &error else { panic!("{error}") };
                    assert!(file.ends_with(&name) && part.contains(offset), "byte {at}: {error}");
                }
                // The rest of a batch is read by the check alone.
                (Ok(()), None) => {}
                (found, part) => panic!("{header:?} byte {at} of {part:?} is read as {found:?}"),
            }
            file.write_at(&byte, at).unwrap();
            file.sync_data().unwrap();
        }
    }
    assert!(check(&directory).is_healthy() && read(&directory).is_ok());
}

/// Whoever merged such records into one effect panicked.
#[test]
fn records_that_do_not_follow_from_each_other_are_named_by_file_and_place() {
    for runs in [1, 2] {
        let memory = MemoryDirectory::new("db");
        let database = NaiveDatabase::open(Arc::new(memory.clone())).unwrap();
        let id = segment_ids()[0];
        database.commit_record(id, key(id, 3), Operation::Delete).unwrap();
        if runs == 2 {
            database.checkpoint().unwrap();
        }
        database.commit_record(id, key(id, 3), Operation::Set).unwrap();
        database.checkpoint().unwrap();
        let directory = memory.power_cut();
        let section = Section::of(&directory, &read_manifest(&directory).unwrap()).unwrap();
        let named = &section.segments[0].runs;
        assert_eq!(named.len(), runs, "{section:?}");
        let place = section.batches[named[runs - 1].batch].place;
        let end = place.offset + extent_bytes(place.payload_bytes).unwrap();
        let text = "the vertices of group 0: Set follows Delete in the records of one key";

        let error = read(&directory).unwrap_err();
        let CheckpointError::Corrupt { file, offset, problem } = &error else { panic!("{error}") };
        let name = format!("array-{:016x}", place.file);
        assert!(file.ends_with(&name) && (place.offset..end).contains(offset), "{error}");
        assert!(problem.contains(text), "{error}");
        let report = check(&directory);
        assert!(report.findings.iter().any(|finding| finding.problem.contains(text)), "{report:?}");
    }
}

/// Each later run of the segment repeated the finding, at its own place.
#[test]
fn a_run_behind_one_that_does_not_follow_is_not_blamed_for_it() {
    let memory = MemoryDirectory::new("db");
    let database = NaiveDatabase::open(Arc::new(memory.clone())).unwrap();
    let id = segment_ids()[0];
    for (number, operation) in [(3, Operation::Delete), (3, Operation::Set), (4, Operation::Delete)] {
        database.commit_record(id, key(id, number), operation).unwrap();
        database.checkpoint().unwrap();
    }
    let report = check(&memory.power_cut());
    let found = report.findings.iter().filter(|finding| finding.problem.contains("Set follows Delete"));
    assert_eq!(found.count(), 1, "{report:?}");
}

#[test]
fn a_missing_a_short_and_an_empty_file_are_named() {
    let whole = database();
    let name = "array-0000000000000001";
    for length in [None, Some(0), Some(4096)] {
        let directory = whole.power_cut();
        match length {
            None => directory.remove(name).unwrap(),
            Some(length) => directory.open(name, OpenMode::ReadWrite).unwrap().set_len(length).unwrap(),
        }
        directory.sync_directory().unwrap();
        let report = check(&directory);
        assert!(
            report.findings.iter().any(|finding| finding.problem.contains(name)),
            "{length:?}: {report:?}"
        );
        let error = NaiveDatabase::open(Arc::new(directory)).err().unwrap();
        assert!(matches!(error, CheckpointError::Corrupt { .. }), "{length:?}: {error}");
        assert!(error.to_string().contains(name), "{length:?}: {error}");
    }
}

#[test]
fn what_nothing_names_is_removed_at_opening() {
    let directory = database();
    for name in ["array-00000000000000aa", "manifest.new"] {
        directory.write_all_new(name, &[7; 4096]).unwrap();
    }
    let database = NaiveDatabase::open(Arc::new(directory.clone())).unwrap();
    let names = directory.list().unwrap();
    assert!(!names.iter().any(|name| name.ends_with("aa") || name.ends_with(".new")), "{names:?}");
    database.checkpoint().unwrap();
    assert!(directory.exists("array-0000000000000001").unwrap());
}
