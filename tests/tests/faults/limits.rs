//! Limits of memory of the disk engine: below the least one, lowered between two openings, too small for a kernel.

use evergraph::algorithms::control::Control;
use evergraph::algorithms::pagerank::{self, PageRankParameters};
use evergraph::algorithms::scope::Scope;
use evergraph::engines::engine::AnyEngine;
use evergraph::graph::transaction::Transaction as _;
use evergraph::storage::io::directory::Directory;
use evergraph::storage::io::memory::MemoryDirectory;
use evergraph::storage::open::{OpenOptions, OpenStore};
use evergraph::transaction::TransactionById;
use evergraph::{Durability, EngineKind, ErrorKind, Freeze as _, GraphView, ReadByName, Result, VertexId};
use evergraph_tests::store::{assert_healthy, in_memory, small_files};
use std::sync::Arc;

fn open(directory: &MemoryDirectory, memory_limit_bytes: u64) -> Result<OpenStore<AnyEngine>> {
    let options = OpenOptions {
        log_file_bytes: 1 << 20,
        memory_limit_bytes,
        ..small_files(EngineKind::Disk, Durability::Sync)
    };
    OpenStore::open(Arc::new(directory.clone()), &options)
}

fn text(number: usize) -> String {
    format!("{number:08}").repeat(8 << 10)
}

fn add(open: &OpenStore<AnyEngine>, number: usize) -> Result<VertexId> {
    open.store().transact(|tx| {
        let (label, key) = (tx.label("Text")?, tx.key("text")?);
        tx.add_vertex(label, &[(key, text(number).as_str().into())])
    })
}

#[test]
fn a_limit_below_the_least_one_is_refused_and_makes_nothing() {
    let directory = MemoryDirectory::new("db");
    let error = open(&directory, (64 << 20) - 1).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("64 MiB"), "{error}");
    assert!(directory.list().unwrap().iter().all(|name| name == "lock"), "{:?}", directory.list());
}

/// What lay in a few large memory graphs when the power failed goes into files while the log is read.
#[test]
fn a_limit_that_is_lowered_between_two_openings_opens_the_same_graph() {
    const TEXTS: usize = 1200;
    let directory = MemoryDirectory::new("db");
    let first = open(&directory, 1 << 30).unwrap();
    let added: Vec<_> = (0..TEXTS).map(|number| add(&first, number).unwrap()).collect();
    let image = directory.power_cut();
    drop(first);
    for round in 0..2 {
        let again = open(&image, 64 << 20).unwrap();
        let budget = again.store().budget();
        assert!(budget.used_bytes() <= 64 << 20, "{:?}", budget.reservations());
        let snapshot = again.store().snapshot();
        assert_eq!(snapshot.vertices(None).unwrap().len(), TEXTS + round);
        for (number, vertex) in added.iter().enumerate().step_by(7) {
            let found = snapshot.get(*vertex, "text").unwrap();
            assert_eq!(found, Some(text(number).as_str().into()), "text {number}");
        }
        drop(snapshot);
        add(&again, TEXTS + round).unwrap();
        assert_healthy(&again);
        again.close().unwrap();
    }
}

#[test]
fn a_kernel_beyond_the_limit_is_refused_with_what_it_needs() {
    let db = in_memory(EngineKind::Disk);
    let fill = |tx: &mut TransactionById| {
        let (label, edge_type) = (tx.label("V")?, tx.edge_type("E")?);
        let vertices: Vec<_> = (0..5_000).map(|_| tx.add_vertex(label, &[])).collect::<Result<_>>()?;
        let mut pairs = vertices.windows(2).step_by(100);
        pairs.try_for_each(|pair| tx.add_edge(pair[0], edge_type, pair[1], &[]).map(drop))
    };
    (0..10).for_each(|_| db.store().transact(fill).unwrap());
    let snapshot = db.snapshot();
    let run = || {
        let control = Control::new(snapshot.budget());
        pagerank::run(&snapshot, &Scope::default(), &PageRankParameters::default(), &control)
    };
    let taken: Vec<_> = std::iter::from_fn(|| snapshot.budget().reserve("a test", 256 << 10).ok()).collect();
    assert!(!taken.is_empty());
    let error = run().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("iB for ") && text.contains("budget of 64.0 MiB"),
        "what it needs, and the limit: {text}"
    );
    assert_eq!(snapshot.statistics().unwrap().vertices[0].1, 50_000, "reads go on");
    drop(taken);
    let sum: f64 = run().unwrap().scores.iter().sum();
    assert!((sum - 1.0).abs() < 1e-6, "the scores come to {sum}");
}
