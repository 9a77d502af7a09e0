//! Golden files: format version 1, byte for byte. A difference means that databases of users cannot
//! be read any more, or that a new version writes what an old one does not expect.
//!
//! `EVERGRAPH_WRITE_GOLDEN=1 cargo test -p evergraph-storage --test checkpoint golden` writes them.

use std::path::PathBuf;
use std::sync::Arc;

use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::note::{NoteChange, Notes, OWNER_NOTE};
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::{Value, ValueType};
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::{DurableEngine, OpenContext};
use evergraph_storage::engine::Engine;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::end_file;
use evergraph_storage::log::options::Durability;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::timeline::clock::{Readable, Timeline};

use crate::support::{Database, Graph, LABEL};

/// In the database's directory, and in `tests/golden`.
const FILES: [(&str, &str); 3] = [
    ("manifest", "manifest-1-log_end.golden"),
    ("bodies-0000000000000001", "bodies-1.golden"),
    ("log_end", "log_end-1.golden"),
];
/// The manifest from before there was a `log_end`.
const FEATURELESS: &str = "manifest-1.golden";
/// The manifest of a database that has notes.
const WITH_NOTES: &str = "manifest-1-notes.golden";

fn properties(list: &[(u16, Value)]) -> Properties {
    list.iter().map(|(key, value)| (KeyId(*key), Some(value.clone()))).collect()
}

/// Something of everything: dense and sparse bodies, parallel edges, columns of each layout, gaps.
fn sample(directory: &MemoryDirectory) -> Database {
    let database = Database::open(Arc::new(directory.clone()), Durability::None).unwrap();
    let schema = [
        SchemaChange::AddLabel { id: LABEL, name: "Person".into() },
        SchemaChange::AddLabel { id: LabelId(1), name: "Ort".into() },
        SchemaChange::AddEdgeType { id: TypeId(0), name: "KNOWS".into(), simple: false },
        SchemaChange::AddEdgeType { id: TypeId(300), name: "LIVES_IN".into(), simple: true },
        SchemaChange::AddKey { id: KeyId(0), name: "name".into() },
        SchemaChange::AddKey { id: KeyId(7), name: "größe".into() },
        SchemaChange::DefineProperty {
            owner: Owner::Label(LABEL),
            key: KeyId(0),
            value_type: ValueType::String,
        },
        SchemaChange::AddIndex(IndexDefinition {
            id: IndexId { owner: Owner::Label(LABEL), key: KeyId(0), kind: IndexKind::Hash },
            unique: true,
        }),
        SchemaChange::Join { edge_type: TypeId(0), source: LABEL, target: LABEL },
    ];
    database.append(&schema.map(Mutation::Schema)).unwrap();
    let vertex = |id, label, list: &[(u16, Value)]| Mutation::InsertVertex {
        vertex: VertexId(id),
        label,
        properties: properties(list),
    };
    let edge = |source, edge_type, target, discriminator, list: &[(u16, Value)]| Mutation::InsertEdge {
        edge: EdgeId {
            source: VertexId(source),
            edge_type: TypeId(edge_type),
            target: VertexId(target),
            discriminator,
        },
        properties: properties(list),
    };
    database
        .append(&[
            vertex(0, LABEL, &[(0, "Ada".into()), (7, 1.75.into())]),
            vertex(1, LABEL, &[(0, "Bé".into())]),
            vertex(2, LABEL, &[(0, "".into()), (7, (-0.0).into())]),
            vertex(200, LABEL, &[(9, Value::I8(-3))]),
            vertex(4096, LabelId(1), &[(0, 5_i64.into()), (9, true.into())]),
            vertex(4097, LabelId(1), &[(0, "zwei".into())]),
        ])
        .unwrap();
    database
        .append(&[
            edge(0, 0, 1, 0, &[(7, 2_i64.into())]),
            edge(0, 0, 1, 1, &[]),
            edge(0, 0, 2, 0, &[(7, 3_i64.into())]),
            edge(1, 0, 1, 0, &[]),
            edge(200, 300, 4096, 0, &[(0, Value::from(vec![0_u8, 255]))]),
        ])
        .unwrap();
    database.append(&[Mutation::DeleteVertex { vertex: VertexId(4097) }]).unwrap();
    database
}

/// What a database follows, how far, and an empty note.
fn notes() -> Notes {
    let mut notes = Notes::default();
    for (name, bytes) in
        [(OWNER_NOTE, "postgres://example/größe".as_bytes()), ("position", &[0, 255, 7]), ("row", &[])]
    {
        notes.apply(&NoteChange { name: name.into(), bytes: Some(bytes.into()) });
    }
    notes
}

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

#[test]
fn format_version_1_is_written_as_it_was_and_read() {
    let directory = MemoryDirectory::new("db");
    let database = sample(&directory);
    database.checkpoint().unwrap();
    for (name, stored) in FILES {
        let bytes = directory.read_all(name, 1 << 20).unwrap();
        if std::env::var_os("EVERGRAPH_WRITE_GOLDEN").is_some() {
            std::fs::write(golden(stored), &bytes).unwrap();
        }
        let expected = std::fs::read(golden(stored)).unwrap();
        let first = bytes.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert!(bytes == expected, "{stored} differs from byte {first:?} on");
    }

    let manifest = Manifest::read(&directory, MemoryEngine::opens).unwrap();
    let featureless = Manifest { has_end_file: false, ..manifest.clone() }.encode().unwrap();
    assert!(featureless == std::fs::read(golden(FEATURELESS)).unwrap(), "{FEATURELESS} differs");
    let with_notes = Manifest { notes: Some(notes()), ..manifest }.encode().unwrap();
    if std::env::var_os("EVERGRAPH_WRITE_GOLDEN").is_some() {
        std::fs::write(golden(WITH_NOTES), &with_notes).unwrap();
    }
    assert!(with_notes == std::fs::read(golden(WITH_NOTES)).unwrap(), "{WITH_NOTES} differs");

    let [(_, with_feature), bodies, end_file] = FILES;
    let with_end = &[bodies, end_file][..];
    for (manifest, others) in [(with_feature, with_end), (WITH_NOTES, with_end), (FEATURELESS, &[bodies])] {
        let directory = MemoryDirectory::new("golden");
        for (name, stored) in [("manifest", manifest)].iter().chain(others) {
            directory.write_all_new(name, &std::fs::read(golden(stored)).unwrap()).unwrap();
        }
        reads_back(&directory, &database);
        let read = Manifest::read(&directory, MemoryEngine::opens).unwrap().notes;
        assert_eq!(read, (manifest == WITH_NOTES).then(notes));
    }
}

fn reads_back(directory: &MemoryDirectory, database: &Database) {
    let manifest = Manifest::read(directory, MemoryEngine::opens).unwrap();
    let known = end_file::read(directory, manifest.has_end_file).unwrap();
    assert_eq!(known.newest > 0, manifest.has_end_file);
    assert_eq!((manifest.covered_through, manifest.need), (Timestamp(4), Timestamp(4)));
    assert_eq!(manifest.catalogue, *database.catalogue());
    let opening = OpenContext {
        directory: &(Arc::new(directory.clone()) as Arc<dyn Directory>),
        manifest: &manifest,
        timeline: &Arc::new(Timeline::new(manifest.need, Readable::Published)),
        background: Background::Threads,
        io_threads: 1,
        compaction_threads: 1,
        budget: &Arc::new(MemoryBudget::new(u64::MAX)),
        live_bytes_max: u64::MAX,
    };
    let engine = MemoryEngine::open(&opening).unwrap().engine;
    assert_eq!(Graph::of(&engine.view(&(), manifest.need)), database.model());
}
