//! Golden files: the bytes of a manifest's section and of array files, as format 1 has them. A difference means that databases of
//! users cannot be read any more.
//!
//! `EVERGRAPH_WRITE_GOLDEN=1 cargo test -p evergraph-mapped-engine --test mapped_database golden` writes them.

use crate::support::{Database, Graph, LABEL};
use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::value::Value;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::extents::header::extent_bytes;
use evergraph_mapped_engine::files::section::Section;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use std::path::PathBuf;
use std::sync::Arc;

const ARRAY: &str = "array-0000000000000001";
const FILES: [(&str, &str); 2] = [("manifest", "manifest-mapped-1.golden"), (ARRAY, "array-1.golden")];

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

#[test]
fn format_1_is_written_as_it_was_and_read() {
    let directory = MemoryDirectory::new("db");
    let database = sample(&directory);
    for (name, stored) in FILES {
        let bytes = bytes_of(&directory, name);
        if std::env::var_os("EVERGRAPH_WRITE_GOLDEN").is_some() {
            std::fs::write(golden(stored), &bytes).unwrap();
        }
        let expected = std::fs::read(golden(stored)).unwrap();
        let first = bytes.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert!(bytes == expected, "{stored} differs from byte {first:?} on");
    }
    let stored = MemoryDirectory::new("golden");
    for (name, from) in FILES {
        stored.write_all_new(name, &std::fs::read(golden(from)).unwrap()).unwrap();
    }
    for name in directory.list().unwrap().iter().filter(|name| name.starts_with("log")) {
        stored.write_all_new(name, &directory.read_all(name, 1 << 20).unwrap()).unwrap();
    }
    let found = Database::open(Arc::new(stored), Durability::None).unwrap();
    let (found, expected): (Graph, Graph) = (found.graph(), database.graph());
    assert_eq!(found, expected);
}
