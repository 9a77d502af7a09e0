//! Gremlin on a small graph, each traversal with its answer, whatever the size of batches; in one process, and on a cluster.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod algorithms;
mod bounded;
mod branches;
mod by_value;
mod carried;
mod drops;
mod edge_ids;
mod face;
mod hostile;
mod indexed_types;
mod merge;
mod meta_properties;
mod modern;
mod number_widths;
mod on_cluster;
mod patterns;
mod predicates;
mod row_order;
mod rules;
mod scalar;
mod services;
mod several;
mod source;
mod spelled;
mod strategies;
mod threads;
mod told;
mod unknown_names;

use evergraph::graph::transaction::Transaction as _;
use evergraph::graph::value::ValueType;
use evergraph::gremlin::query::Limits;
use evergraph::{Database, Item, Result, Transaction};
use evergraph_tests::cluster::databases::{of_whole_cluster, travelling};
use evergraph_tests::cluster::nodes::ClusterSetup;

/// A process of these tests has it whose graphs are on clusters: see [`on_cluster`].
const ON_CLUSTER: &str = "EVERGRAPH_TRAVERSALS_ON_CLUSTER";

/// A database without anything: in this process, or on three nodes, of whose partitions that of the database has a third.
fn database() -> Database {
    match std::env::var_os(ON_CLUSTER) {
        Some(_) => {
            of_whole_cluster(&ClusterSetup { copies: 1, stages: travelling(), ..ClusterSetup::default() })
        }
        None => Database::in_memory().unwrap(),
    }
}

/// What `text` gives on `db`, in a transaction if it writes.
fn gremlin(db: &Database, text: &str, batch_rows: usize) -> Result<Vec<Item>> {
    db.gremlin(text).limits(Limits { batch_rows, ..Limits::default() }).items()
}

/// Declares the type of a property of vertices.
fn declare(transaction: &mut Transaction, label: &str, key: &str, value_type: ValueType) -> Result<()> {
    let writer = transaction.by_id();
    let (label, key) = (writer.label(label)?, writer.key(key)?);
    writer.declare_vertex_property(label, key, value_type)
}

/// What `text` gives within a transaction, which sees it and may write.
fn run_in(transaction: &mut Transaction, text: &str) -> Result<Vec<Item>> {
    transaction.gremlin(text).items()
}

/// What is said to who asks `text` of `db`.
fn refused(db: &Database, text: &str) -> String {
    match gremlin(db, text, 1024) {
        Ok(items) => panic!("{text} gives {} results", items.len()),
        Err(error) => error.to_string(),
    }
}

/// The answers of `text` on `db`, as text: the same with batches of 1, 3 and 1,024 rows.
fn answers(db: &Database, text: &str) -> Vec<String> {
    let mut found = [1, 3, 1024].map(|batch_rows| {
        let items = gremlin(db, text, batch_rows).unwrap_or_else(|error| panic!("{text}: {error}"));
        items.iter().map(shown).collect::<Vec<_>>()
    });
    if !text.contains("order()") {
        found.iter_mut().for_each(|answers| answers.sort());
    }
    assert_eq!(found[0], found[2], "{text}: batches of 1");
    assert_eq!(found[1], found[2], "{text}: batches of 3");
    let [_, _, last] = found;
    last
}

fn shown(item: &Item) -> String {
    let all = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join(", ");
    match item {
        Item::Null => "null".to_owned(),
        Item::Value(value) => value.to_string(),
        Item::Vertex(vertex) => format!("v[{}]", vertex.0),
        Item::Edge(edge) => format!("e[{}->{}]", edge.source.0, edge.target.0),
        Item::List(items) => format!("[{}]", all(&mut items.iter().map(shown))),
        Item::Set(items) => format!("{{{}}}", all(&mut items.iter().map(shown))),
        Item::Path(path) => format!("path[{}]", all(&mut path.items().map(shown))),
        Item::Map(map) => {
            let mut entries: Vec<String> = map
                .entries()
                .iter()
                .map(|(key, value)| format!("{}: {}", shown(key), shown(value)))
                .collect();
            entries.sort();
            format!("{{{}}}", entries.join(", "))
        }
        Item::Entry(entry) => format!("{}={}", shown(&entry.0), shown(&entry.1)),
        Item::Property(property) => format!("p[{}]", property.value),
        other => format!("{other:?}"),
    }
}
