//! Damage: whatever page of whatever file of a database is lost, opening says so, or nothing is missing.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use evergraph_graph::error::ErrorKind;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::open::{OpenOptions, OpenStore, check};

use crate::backup::graph;
use crate::support::Graph;

const PAGE: usize = 4096;

fn open(directory: &MemoryDirectory) -> evergraph_graph::error::Result<OpenStore<MemoryEngine>> {
    let options = OpenOptions {
        // Nothing goes on beside the test: what was written is the same each time.
        environment: Environment::simulated(1),
        log_file_bytes: 8 * PAGE as u64,
        ..OpenOptions::default()
    };
    OpenStore::<MemoryEngine>::open(Arc::new(directory.clone()), &options)
}

/// A database with a checkpoint and commits behind it, and its states by commit; closed, or killed.
fn database(is_closed: bool) -> (MemoryDirectory, BTreeMap<u64, Graph>) {
    let directory = MemoryDirectory::new("db");
    let store = open(&directory).unwrap();
    let mut states = BTreeMap::new();
    for number in 0..24 {
        let added = store.store().transact(|tx| {
            let (label, edge_type, key) = (tx.label("V")?, tx.edge_type("E")?, tx.key("n")?);
            let vertex = tx.add_vertex(label, &[(key, Value::I64(number))])?;
            tx.add_edge(vertex, edge_type, vertex, &[])
        });
        added.unwrap();
        states.insert(store.store().timeline().published().0, graph(&store));
        if number == 10 {
            store.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
        }
    }
    if is_closed {
        store.close().unwrap();
    }
    (directory.power_cut(), states)
}

/// Opens an image of which one file was damaged: an error names it, or the newest state is found. In the last
/// batch of a killed database, the one before it may be found.
fn judge(
    image: &MemoryDirectory,
    name: &str,
    what: &str,
    states: &BTreeMap<u64, Graph>,
    may_lack_last: bool,
) {
    let before = image.list().unwrap();
    match open(image) {
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}, {what}: {error}");
            assert!(error.to_string().contains(name), "{name}, {what}: {error}");
            let kept = image.list().unwrap();
            let is_data = |file: &&String| file.starts_with("log-") || file.starts_with("bodies-");
            let lost: Vec<_> = before.iter().filter(is_data).filter(|file| !kept.contains(file)).collect();
            assert!(lost.is_empty(), "{name}, {what}: {lost:?} were removed");
        }
        Ok(store) => {
            let found = store.store().timeline().published().0;
            assert_eq!(Some(&graph(&store)), states.get(&found), "{name}, {what}");
            let lacking = states.range(found + 1..).count();
            assert!(lacking <= usize::from(may_lack_last), "{name}, {what}: {lacking} commits are gone");
        }
    }
}

#[test]
fn every_damaged_page_of_every_file_is_an_error_or_costs_nothing() {
    for is_closed in [true, false] {
        let (directory, states) = database(is_closed);
        let names: Vec<String> =
            directory.list().unwrap().into_iter().filter(|name| name != "lock").collect();
        assert!(names.len() > 4 && names.iter().any(|name| name == "log_end"), "{names:?}");
        let newest = names.iter().rfind(|name| name.starts_with("log-")).unwrap();
        for name in &names {
            let bytes = directory.read_all(name, 1 << 30).unwrap();
            let last = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last / PAGE);
            for page in 0..bytes.len().div_ceil(PAGE) {
                let range = page * PAGE..bytes.len().min((page + 1) * PAGE);
                let is_last_batch = !is_closed && name == newest && page == last;
                let noise = bytes[range.clone()].iter().map(|byte| byte ^ 0x5a).collect();
                for (what, new) in [("zeros", vec![0; range.len()]), ("noise", noise)] {
                    let image = directory.power_cut();
                    image
                        .open(name, OpenMode::ReadWrite)
                        .unwrap()
                        .write_at(&new, range.start as u64)
                        .unwrap();
                    judge(&image, name, &format!("{what} in page {page}"), &states, is_last_batch);
                }
            }
        }
    }
}

#[test]
fn a_file_that_lost_its_head_its_end_or_its_name_is_an_error_or_costs_nothing() {
    for is_closed in [true, false] {
        let (directory, states) = database(is_closed);
        let names: Vec<String> =
            directory.list().unwrap().into_iter().filter(|name| name != "lock").collect();
        let newest = names.iter().rfind(|name| name.starts_with("log-")).unwrap();
        for name in &names {
            let image = directory.power_cut();
            image.remove(name).unwrap();
            if name != "manifest" {
                judge(&image, name, "removed", &states, false);
            }
            let length = directory.read_all(name, 1 << 30).unwrap().len();
            for at in (0..length).step_by(PAGE / 2) {
                let image = directory.power_cut();
                image.open(name, OpenMode::ReadWrite).unwrap().set_len(at as u64).unwrap();
                judge(&image, name, &format!("cut at {at}"), &states, false);
            }
            for at in (0..length).step_by(PAGE) {
                let zeros = |from: usize, to: usize| {
                    let image = directory.power_cut();
                    let file = image.open(name, OpenMode::ReadWrite).unwrap();
                    file.write_at(&vec![0; to - from], from as u64).unwrap();
                    image
                };
                judge(&zeros(0, length.min(at + PAGE)), name, &format!("zeros up to {at}"), &states, false);
                // Of a killed database, what the newest log file held to its very end can't be missed.
                if is_closed || name != newest || at == 0 {
                    judge(&zeros(at, length), name, &format!("zeros from {at}"), &states, false);
                }
            }
        }
    }
}

/// `check` says what opening says, and leaves the files alone.
#[test]
fn a_check_of_a_database_whose_newest_log_file_is_gone_finds_it() {
    let (directory, _) = database(true);
    let names = directory.list().unwrap();
    let newest = names.iter().rfind(|name| name.starts_with("log-")).unwrap();
    directory.remove(newest).unwrap();
    let report =
        check::<MemoryEngine>(Arc::new(directory.clone()), &mut |_, _, _| ControlFlow::Continue(())).unwrap();
    assert!(report.findings.iter().any(|finding| finding.problem.contains(newest)), "{report:?}");
}
