//! Faults: an error at any call, damaged inputs, and a stop leave no output, and inputs that can be read.

use crate::history::History;
use crate::tree::{Tree, check};
use evergraph_disk_engine::compact::job::CompactionJob;
use evergraph_disk_engine::compact::output::OutputLimits;
use evergraph_disk_engine::format::file_name::{CsrFileName, FileContent, FileNumber, PAGE_BYTES};
use evergraph_disk_engine::merge::delete_rule::{Below, DeleteRule};
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use std::cell::Cell;
use std::io::ErrorKind;
use std::sync::Arc;

fn flushed() -> (History, Tree, MemoryDirectory, FailingDirectory) {
    let memory = MemoryDirectory::new("db");
    let failing = FailingDirectory::new(Arc::new(memory.clone()));
    let limits = OutputLimits { file_bytes: 60_000, waiting_bytes: 32 << 20 };
    let mut tree = Tree::new(Arc::new(failing.clone()), limits);
    let history = History::random(&mut SplitMix64::new(11), 500);
    for part in [0..250, 250..500] {
        let number = tree.take_number();
        let stored = history.write(part, &tree.directory, number);
        let file = tree.open(&stored);
        tree.levels[0].insert(0, file);
    }
    (history, tree, memory, failing)
}

#[test]
fn an_error_at_any_call_leaves_no_output() {
    let (history, mut tree, memory, failing) = flushed();
    let (inputs, names) = (tree.files(), memory.list().unwrap());
    let (changes, reads) = (failing.changes_count(), failing.count(Operation::Read));
    let outputs = tree.run(&inputs, 1, Below::Nothing).unwrap();
    assert!(outputs.len() > 1);
    let (changes, reads) = (failing.changes_count() - changes, failing.count(Operation::Read) - reads);
    assert!(changes > 10 && reads > 4, "{changes} changes, {reads} reads");
    for name in memory.list().unwrap() {
        if !names.contains(&name) {
            memory.remove(&name).unwrap();
        }
    }
    for nth in 1..=changes {
        let kind = if nth % 2 == 0 { ErrorKind::StorageFull } else { ErrorKind::Other };
        failing.plan(Fault::any_change(kind).nth(nth));
        let failed = tree.run(&inputs, 1, Below::Nothing);
        failing.heal();
        assert!(failed.is_err(), "change {nth}");
        assert_eq!(memory.list().unwrap(), names, "change {nth}");
    }
    for nth in 1..=reads {
        failing.plan(Fault::new(Operation::Read, "", ErrorKind::Other).nth(nth));
        let failed = tree.run(&inputs, 1, Below::Nothing);
        failing.heal();
        assert!(matches!(failed, Err(CheckpointError::Io(_))), "read {nth}");
        assert_eq!(memory.list().unwrap(), names, "read {nth}");
    }
    tree.compact(0, &inputs);
    check(&tree.files(), &history.keys(), &history.state);
}

#[test]
fn a_compaction_that_is_stopped_leaves_no_output() {
    let (_, tree, memory, _) = flushed();
    let names = memory.list().unwrap();
    let mut job = CompactionJob::new(tree.files(), 1, DeleteRule::new(Below::Nothing, []));
    job.limits = tree.limits;
    let mut number = 100;
    for allowed in 0.. {
        let asked = Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) >= allowed;
        let mut numbers = || {
            number += 1;
            FileNumber(number)
        };
        match job.run(&tree.directory, &mut numbers, &stop) {
            Err(CheckpointError::Cancelled) => assert_eq!(memory.list().unwrap(), names),
            finished => {
                assert!(allowed > 4 && finished.unwrap().len() > 1);
                return;
            }
        }
    }
}

#[test]
fn a_damaged_page_is_named_unless_nothing_of_it_is_left() {
    let (history, mut tree, memory, _) = flushed();
    let (names, inputs, mut refused) = (memory.list().unwrap(), tree.files(), 0);
    for name in &names {
        let bytes = memory.read_all(name, 1 << 30).unwrap();
        let file = memory.open(name, OpenMode::ReadWrite).unwrap();
        for at in (4096 + 500..bytes.len()).step_by(PAGE_BYTES) {
            file.write_at(&[bytes[at] ^ 1], at as u64).unwrap();
            match tree.run(&inputs, 1, Below::Nothing) {
                Err(CheckpointError::Corrupt { file, offset, .. }) => {
                    assert!(file.ends_with(name), "{file:?}, not {name}");
                    assert!(offset.abs_diff(at as u64) < PAGE_BYTES as u64, "{offset}, not {at}");
                    refused += 1;
                }
                // Filters are not read, nor long values that were replaced since.
                Ok(outputs) => {
                    let outputs: Vec<_> = outputs.iter().map(|output| tree.open(output)).collect();
                    check(&outputs, &history.keys(), &history.state);
                    outputs.iter().for_each(|output| remove(&memory, output.number()));
                }
                other => panic!("{other:?}"),
            }
            file.write_at(&[bytes[at]], at as u64).unwrap();
            assert_eq!(memory.list().unwrap(), names);
        }
    }
    assert!(refused > 2 * names.len(), "{refused} pages");
}

fn remove(memory: &MemoryDirectory, number: FileNumber) {
    let both = [FileContent::Topology, FileContent::Columns];
    for name in both.map(|content| CsrFileName::new(number, content).to_string()) {
        if memory.list().unwrap().contains(&name) {
            memory.remove(&name).unwrap();
        }
    }
}

#[test]
fn records_that_contradict_each_other_are_refused() {
    let (_, mut tree, memory, _) = flushed();
    let names = memory.list().unwrap();
    let newest = Arc::clone(&tree.levels[0][0]);
    let twice = [Arc::clone(&newest), newest];
    assert!(matches!(tree.run(&twice, 1, Below::Nothing), Err(CheckpointError::Corrupt { .. })));
    assert_eq!(memory.list().unwrap(), names);
}
