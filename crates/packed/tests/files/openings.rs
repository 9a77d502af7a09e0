//! Openings: after a shutdown, after the end of a program that did not say so, and beside another process.

use crate::adjacency::Adjacency;
use crate::memory;
use evergraph_graph::error::ErrorKind;
use evergraph_packed::ablation::Ablation;
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::file::FileMemory;
use evergraph_packed::memory::region::Domain;
use evergraph_packed::options::Options;
use evergraph_packed::recovery::{Found, Reopening};
use evergraph_storage::io::dax::{DaxDirectory, Emulation};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use std::io::ErrorKind as IoErrorKind;
use std::sync::Arc;

const OPTIONS: Options =
    Options { vertices: 30, edges: 0, log_records: 20, undo_bytes: 256, ablation: Ablation::NONE };

/// An array that grows by doubling, whichever domain it is in, is what plain lists are after every kind of opening.
#[test]
fn a_graph_in_files_grows_and_is_there_however_it_was_left() {
    for domain in [Domain::Adr, Domain::Eadr] {
        let place = tempfile::tempdir().unwrap();
        let open = || PackedGraph::open(memory(place.path(), domain), Reopening::Saved).unwrap();
        let mut graph = PackedGraph::create(memory(place.path(), domain), &OPTIONS).unwrap();
        let mut lists = Adjacency::with_vertices(30);
        for round in 0..4u32 {
            for at in 0..700 {
                let (source, target) = ((at * 7 + at * at) % 29 % (1 + at % 30), at % 30);
                graph.insert_edge(source, target).unwrap();
                lists.insert(source, target);
            }
            assert_eq!(graph.delete_edge(round, 1).unwrap(), lists.delete(round, 1));
            let statistics = graph.statistics();
            assert!(round > 0 || statistics.resizes > 1, "{statistics:?}");
            assert_eq!(statistics.traffic.lines_written_back > 0, domain == Domain::Adr);
            let is_shut_down = round % 2 == 0;
            if is_shut_down {
                graph.shutdown().unwrap();
            } else {
                drop(graph);
            }
            let (opened, found) = open();
            assert_eq!(found, if is_shut_down { Found::ShutDown } else { Found::Scanned });
            assert_eq!(Adjacency::of(&opened), lists, "round {round}");
            graph = opened;
        }
        drop(graph);
        // The root, the array and the lock: what was replaced is gone.
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 3);
    }
}

#[test]
fn a_second_opening_names_the_process_that_has_the_graph() {
    let place = tempfile::tempdir().unwrap();
    let graph = PackedGraph::create(memory(place.path(), Domain::Adr), &OPTIONS).unwrap();
    let refusal = FileMemory::open(place.path(), Emulation::Demanded, Domain::Adr).unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::Busy);
    assert!(refusal.to_string().contains(&format!("process {}", std::process::id())), "{refusal}");
    // A view keeps the memory, and so the lock.
    let view = graph.consistent_view();
    drop(graph);
    FileMemory::open(place.path(), Emulation::Demanded, Domain::Adr).unwrap_err();
    drop(view);
    FileMemory::open(place.path(), Emulation::Demanded, Domain::Adr).unwrap();
}

#[test]
fn persistent_memory_is_demanded_unless_its_emulation_is() {
    let place = tempfile::tempdir().unwrap();
    let is_emulated = DaxDirectory::open(place.path(), Emulation::Demanded).unwrap().is_emulated();
    let opened = FileMemory::open(place.path(), Emulation::Refused, Domain::Adr);
    assert_eq!(opened.is_err(), is_emulated, "as the file system of this machine's temporary files is");
    if let Err(refusal) = opened {
        assert!(refusal.to_string().contains("MAP_SYNC"), "{refusal}");
    }
}

/// The disk has no room for a larger array, or fails at any step of making it: the graph stays as it was, and grows when
/// the disk is well again.
#[test]
fn a_disk_that_is_full_or_broken_refuses_a_larger_array_and_changes_nothing() {
    let faults = [
        (Fault::new(Operation::Allocate, "packed-", IoErrorKind::StorageFull), ErrorKind::Limit),
        (Fault::new(Operation::Create, "packed-", IoErrorKind::Other), ErrorKind::Io),
        (Fault::new(Operation::Map, "packed-", IoErrorKind::OutOfMemory), ErrorKind::Io),
        (Fault::new(Operation::Rename, "packed-", IoErrorKind::Other), ErrorKind::Io),
        (Fault::new(Operation::SyncDirectory, "", IoErrorKind::Other), ErrorKind::Io),
    ];
    for (fault, kind) in faults {
        let place = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Directory> =
            Arc::new(DaxDirectory::open(place.path(), Emulation::Demanded).unwrap());
        let failing = FailingDirectory::new(disk);
        let memory = FileMemory::on(Arc::new(failing.clone()), Domain::Adr).unwrap();
        let graph = PackedGraph::create(memory, &OPTIONS).unwrap();
        let mut lists = Adjacency::with_vertices(30);
        failing.plan(fault.lasting());
        let refusal = loop {
            match graph.insert_edge(3, 4) {
                Ok(()) => lists.insert(3, 4),
                Err(error) => break error,
            }
        };
        assert_eq!(refusal.kind(), kind, "{refusal}");
        let place = place.path().display().to_string();
        assert!(refusal.to_string().contains(&place), "it names the place: {refusal}");
        assert_eq!(graph.insert_edge(3, 4).unwrap_err().kind(), kind, "as long as the fault lasts");
        assert_eq!(Adjacency::of(&graph), lists);
        failing.heal();
        for _ in 0..100 {
            graph.insert_edge(3, 5).unwrap();
            lists.insert(3, 5);
        }
        assert_eq!(Adjacency::of(&graph), lists);
        assert!(graph.statistics().resizes > 0);
    }
}
