//! Golden files: the bytes of a manifest's section and of array files, as format 1 has them, and format 2 of a database with
//! indexes. A difference means that databases of users cannot be read any more.
//!
//! `EVERGRAPH_WRITE_GOLDEN=1 cargo test -p evergraph-mapped-engine --test mapped_database golden` writes them.

use crate::indexes::{AGE, NAME, Opened, WEIGHT, check, checkpoint, create, opened};
use crate::support::{Database, Graph, LABEL};
use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::extents::header::extent_bytes;
use evergraph_mapped_engine::files::section::Section;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::indexing::IndexRequest;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use std::path::PathBuf;
use std::sync::Arc;

const ARRAY: &str = "array-0000000000000001";
type Files = [(&'static str, &'static str); 2];

const FILES: Files = [("manifest", "manifest-mapped-1.golden"), (ARRAY, "array-1.golden")];
const WITH_INDEXES: Files = [("manifest", "manifest-mapped-2.golden"), (ARRAY, "array-2.golden")];

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn properties(list: &[(u16, Value)]) -> Properties {
    list.iter().map(|(key, value)| (KeyId(*key), Some(value.clone()))).collect()
}

/// Bodies with and without columns, parallel edges, and records of each operation beside them.
fn sample(directory: &MemoryDirectory) -> Database {
    let database = Database::open(Arc::new(directory.clone()), Durability::None).unwrap();
    database.name("Person");
    let vertex = |id, list: &[(u16, Value)]| Mutation::InsertVertex {
        vertex: VertexId(id),
        label: LABEL,
        properties: properties(list),
    };
    let edge = |source, target, discriminator| EdgeId {
        source: VertexId(source),
        edge_type: TypeId(1),
        target: VertexId(target),
        discriminator,
    };
    database
        .append(&[
            vertex(0, &[(0, "Ada".into()), (7, 1.75.into())]),
            vertex(1, &[(0, "Bé".into())]),
            vertex(4096, &[(7, 2_i64.into())]),
        ])
        .unwrap();
    let insert = |edge, list: &[(u16, Value)]| Mutation::InsertEdge { edge, properties: properties(list) };
    database
        .append(&[
            insert(edge(0, 1, 0), &[(7, 3_i64.into())]),
            insert(edge(0, 1, 1), &[]),
            insert(edge(1, 4096, 0), &[]),
        ])
        .unwrap();
    database.engine.merge_everything();
    database.checkpoint().unwrap();
    database
        .append(&[
            Mutation::SetVertexProperties {
                vertex: VertexId(1),
                properties: properties(&[(0, "Bea".into())]),
            },
            Mutation::DeleteEdge { edge: edge(0, 1, 1) },
            Mutation::ReplaceEdge { edge: edge(0, 1, 0), properties: properties(&[(9, true.into())]) },
            vertex(2, &[]),
        ])
        .unwrap();
    database.checkpoint().unwrap();
    database
}

/// A file, without the free bytes at its end.
fn bytes_of(directory: &MemoryDirectory, name: &str) -> Vec<u8> {
    let mut bytes = directory.read_all(name, 4 << 20).unwrap();
    if name == ARRAY {
        let manifest = Manifest::read(directory, MappedEngine::opens).unwrap();
        let section = Section::of(directory, &manifest).unwrap();
        let end = |place: evergraph_mapped_engine::extents::header::ExtentPlace| {
            (place.offset + extent_bytes(place.payload_bytes).unwrap()).next_multiple_of(4096)
        };
        bytes.truncate(section.extents().map(|(place, _)| end(place)).max().unwrap() as usize);
    }
    bytes
}

/// Indexes of vertices and edges, hashed and ordered, one of them the second of its number, with values that are stored whole and
/// not, and entries that came and left beside their bodies.
fn sample_with_indexes(directory: &MemoryDirectory) -> Opened {
    let store = opened(directory);
    create(&store, &AGE);
    create(&store, &IndexRequest { unique: true, ..NAME });
    create(&store, &WEIGHT);
    store.store().drop_index(AGE.owner, AGE.key, None).unwrap();
    create(&store, &AGE);
    let people = store.store().transact(|tx| {
        let (label, edge_type) = (tx.label("Person")?, tx.edge_type("KNOWS")?);
        let (age, name, weight) = (tx.key("age")?, tx.key("name")?, tx.key("weight")?);
        let mut people = Vec::new();
        for (number, named) in ["Ada", "Bé", "Cy", &"x".repeat(70), ""].into_iter().enumerate() {
            let aged = (age, Value::I64(36 + number as i64 / 2));
            people.push(tx.add_vertex(label, &[aged, (name, Value::from(named))])?);
        }
        for (number, pair) in people.windows(2).enumerate() {
            tx.add_edge(pair[0], edge_type, pair[1], &[(weight, Value::F64(number as f64 / 4.0))])?;
        }
        Ok(people)
    });
    let people = people.unwrap();
    store.store().engine().merge_everything();
    checkpoint(&store);
    let changed = store.store().transact(|tx| {
        let (label, edge_type) = (tx.label("Person")?, tx.edge_type("KNOWS")?);
        let (age, name, weight) = (tx.key("age")?, tx.key("name")?, tx.key("weight")?);
        tx.set_vertex_property(people[0], age, Some(Value::I64(-1)))?;
        tx.set_vertex_property(people[1], name, None)?;
        tx.delete_vertex(people[4])?;
        let dan = tx.add_vertex(label, &[(name, Value::from("Dan")), (age, Value::I64(50))])?;
        tx.add_edge(dan, edge_type, people[0], &[(weight, Value::I64(7))]).map(drop)
    });
    changed.unwrap();
    checkpoint(&store);
    store
}

/// Compares the bytes of `files`, or writes them.
fn compare(directory: &MemoryDirectory, files: &Files) {
    for (name, stored) in files {
        let bytes = bytes_of(directory, name);
        if std::env::var_os("EVERGRAPH_WRITE_GOLDEN").is_some() {
            std::fs::write(golden(stored), &bytes).unwrap();
        }
        let expected = std::fs::read(golden(stored)).unwrap();
        let first = bytes.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert!(bytes == expected, "{stored} differs from byte {first:?} on");
    }
}

/// A directory with golden files and the log of `directory`.
fn stored(directory: &MemoryDirectory, files: &Files) -> MemoryDirectory {
    let stored = MemoryDirectory::new("golden");
    for (name, from) in files {
        stored.write_all_new(name, &std::fs::read(golden(from)).unwrap()).unwrap();
    }
    for name in directory.list().unwrap().iter().filter(|name| name.starts_with("log")) {
        stored.write_all_new(name, &directory.read_all(name, 1 << 20).unwrap()).unwrap();
    }
    stored
}

#[test]
fn format_1_is_written_as_it_was_and_read() {
    let directory = MemoryDirectory::new("db");
    let database = sample(&directory);
    compare(&directory, &FILES);
    let found = Database::open(Arc::new(stored(&directory, &FILES)), Durability::None).unwrap();
    let (found, expected): (Graph, Graph) = (found.graph(), database.graph());
    assert_eq!(found, expected);
}

#[test]
fn format_2_of_a_database_with_indexes_is_written_as_it_was_and_read() {
    let directory = MemoryDirectory::new("db");
    let store = sample_with_indexes(&directory);
    compare(&directory, &WITH_INDEXES);
    let expected = store.store().indexes();
    let found = opened(&stored(&directory, &WITH_INDEXES));
    check(&found.store().snapshot());
    assert!(found.check(&mut |_, _, _| std::ops::ControlFlow::Continue(())).unwrap().is_healthy());
    let indexes = found.store().indexes();
    assert_eq!(indexes.len(), 3);
    for (found, expected) in indexes.iter().zip(&expected) {
        assert_eq!((found.definition, found.entries), (expected.definition, expected.entries));
    }
}
