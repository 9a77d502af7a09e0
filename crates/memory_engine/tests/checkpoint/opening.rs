//! Opening: a database is made, found again after power cuts and loads, and told from what is none.

use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::view::GraphView;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::checkpoint::manifest;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::ops::ControlFlow;
use std::sync::Arc;

fn open(directory: &MemoryDirectory) -> Result<OpenStore<MemoryEngine>> {
    OpenStore::open(Arc::new(directory.clone()), &OpenOptions::default())
}

fn counts(open: &OpenStore<MemoryEngine>) -> (u64, u64) {
    let statistics = open.store().snapshot().statistics().unwrap();
    let sum = |list: &[u64]| list.iter().sum();
    let vertices: Vec<u64> = statistics.vertices.iter().map(|entry| entry.1).collect();
    let edges: Vec<u64> = statistics.edges.iter().map(|entry| entry.1).collect();
    (sum(&vertices), sum(&edges))
}

fn small() -> Load {
    let table = VertexTable::new("V", Vec::new(), vec![VertexBlock::bare(5000)]);
    let ends = EdgeBlock::bare((0..4999).map(|row| (row, row + 1)));
    let edges = EdgeTable::new("E", 0, 0, Vec::new(), vec![ends]);
    Load { vertices: vec![table], edges: vec![edges] }
}

#[test]
fn commits_survive_a_power_cut_with_and_without_a_checkpoint() {
    let directory = MemoryDirectory::new("db");
    let first = open(&directory).unwrap();
    assert!(first.recovery().created);
    let commit = |open: &OpenStore<MemoryEngine>| {
        let added = open.store().transact(|tx| {
            let (label, edge_type) = (tx.label("V")?, tx.edge_type("E")?);
            let (a, b) = (tx.add_vertex(label, &[])?, tx.add_vertex(label, &[])?);
            tx.add_edge(a, edge_type, b, &[])
        });
        added.unwrap();
    };
    commit(&first);
    let cut = open(&directory.power_cut()).unwrap();
    assert_eq!((counts(&cut), cut.recovery().commits), ((2, 1), 1));
    first.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    commit(&first);
    let cut = open(&directory.power_cut()).unwrap();
    assert_eq!((counts(&cut), cut.recovery().commits), ((4, 2), 1));
    commit(&cut);
    assert_eq!(counts(&cut), (6, 3));
}

#[test]
fn a_load_is_there_whole_or_not_at_all() {
    let directory = MemoryDirectory::new("db");
    let first = open(&directory).unwrap();
    let mut before = None;
    let made = first.store().load(&small(), &mut |_| Ok(()), &mut || {
        before = Some(directory.power_cut());
        // The empty frame is durable, the bodies are not.
        first.store().log().wait_durable(first.store().timeline().published().0)?;
        assert_eq!(counts(&first), (0, 0), "not seen before it is durable");
        first.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop)
    });
    assert_eq!(made.unwrap().first_vertices.len(), 1);
    assert_eq!(counts(&first), (5000, 4999));
    assert_eq!(counts(&open(&directory.power_cut()).unwrap()), (5000, 4999));
    assert_eq!(counts(&open(&before.unwrap()).unwrap()), (0, 0));
    let durable = &mut || first.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
    first.store().load(&small(), &mut |_| Ok(()), durable).unwrap();
    assert_eq!(counts(&first), (10_000, 9998), "the label has vertices, and gets more");
}

#[test]
fn a_snapshot_from_before_a_load_doesnt_see_it() {
    let directory = MemoryDirectory::new("db");
    let first = open(&directory).unwrap();
    let old = first.store().snapshot();
    first.store().load(&small(), &mut |_| Ok(()), &mut || Ok(())).unwrap();
    assert_eq!(old.statistics().unwrap().vertices.iter().map(|entry| entry.1).sum::<u64>(), 0);
}

#[test]
fn what_is_no_database_and_what_is_open_already_are_told_apart() {
    let directory = MemoryDirectory::new("db");
    let first = open(&directory).unwrap();
    assert_eq!(open(&directory).err().map(|error| error.kind()), Some(ErrorKind::Busy));
    first.store().transact(|tx| tx.label("V")).unwrap();
    first.close().unwrap();
    assert!(open(&directory).is_ok(), "closing gives the lock back");
    let other = MemoryDirectory::new("photos");
    other.write_all_new("cat.jpg", b"cat").unwrap();
    let error = open(&other).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    directory.remove(manifest::FILE_NAME).unwrap();
    let lost = open(&directory).err().unwrap();
    assert_eq!(lost.kind(), ErrorKind::Corrupt, "{lost}");
    assert!(error.to_string().contains("photos is not an Evergraph database"), "{error}");
    let missing = OpenOptions { create: false, ..OpenOptions::default() };
    let error =
        OpenStore::<MemoryEngine>::open(Arc::new(MemoryDirectory::new("new")), &missing).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
