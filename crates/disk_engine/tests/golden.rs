//! Golden files: format version 1 of CSR files and of the manifest's section, byte for byte. A difference means that
//! databases of users cannot be read any more, or that a new version writes what an old one does not expect.
//!
//! The files in `tests/golden` are packed: most of a small page is zeros.
//! `EVERGRAPH_WRITE_GOLDEN=1 cargo test -p evergraph-disk-engine --test golden` writes them.
#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

use evergraph_disk_engine::durable::section::FileList;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::file::csr_file::CsrFile;
use evergraph_disk_engine::file::page_reader::PageReader;
use evergraph_disk_engine::format::entries::entry::EntryRecord;
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::file_name::{CsrFileName, FileContent, FileNumber};
use evergraph_disk_engine::format::lists::record::ListRecord;
use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::format::vertices::VertexRecord;
use evergraph_disk_engine::source::{PropertyAnswer, PropertyMap, RecordSource};
use evergraph_disk_engine::stored_file::StoredFile;
use evergraph_disk_engine::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::note::{NoteChange, Notes, OWNER_NOTE};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

const KNOWS: TypeId = TypeId(0);
const LIVES_IN: TypeId = TypeId(300);
const STAMPED: FileNumber = FileNumber(2);
const SORTED: FileNumber = FileNumber(1);

fn properties(list: &[(u16, Option<Value>)]) -> Properties {
    list.iter().map(|(key, value)| (KeyId(*key), value.clone())).collect()
}

fn long_text() -> Value {
    Value::from("ein langer Text ".repeat(1200).as_str())
}

fn vertex(vertex: u32, operation: RecordOperation, stamp: u64) -> VertexRecord {
    VertexRecord { vertex: VertexId(vertex), operation, stamp: Timestamp(stamp) }
}

fn edge(ends: (u32, u32, u16), operation: RecordOperation, stamp: u64) -> ListRecord {
    let (vertex, neighbor, discriminator) = ends;
    let (vertex, neighbor, stamp) = (VertexId(vertex), VertexId(neighbor), Timestamp(stamp));
    ListRecord { vertex, neighbor, discriminator, operation, stamp }
}

/// A file of level 0: several versions, every operation, parallel edges, properties of several types, entries of two
/// indexes.
fn stamped(directory: &Arc<dyn Directory>) -> StoredFile {
    use RecordOperation::{Delete, Insert, Replace, Set};
    let (first_ts, last_ts) = (Timestamp(10), Timestamp(400));
    let new = NewFile { number: STAMPED, level: 0, stamps: FileStamps::Stamped, first_ts, last_ts };
    let mut file = FileWriter::create(directory, &new).unwrap();
    let name = |text: &str| (0, Some(Value::from(text)));
    let none = Properties::EMPTY;
    file.push_vertex(&vertex(0, Set, 390), &properties(&[name("Ada"), (7, None)])).unwrap();
    file.push_vertex(&vertex(0, Insert, 10), &properties(&[name("ada"), (7, Some(1.75.into()))])).unwrap();
    file.push_vertex(&vertex(1, Delete, 400), &none).unwrap();
    file.push_vertex(&vertex(9000, Replace, 11), &properties(&[(9, Some(long_text()))])).unwrap();
    let (out, into) = (Subject::edges(KNOWS, EdgeSide::Out), Subject::edges(KNOWS, EdgeSide::In));
    let since = |year: i64| properties(&[(3, Some(year.into()))]);
    file.push_edge(out, &edge((0, 1, 0), Delete, 200), &none).unwrap();
    file.push_edge(out, &edge((0, 1, 0), Insert, 10), &since(1843)).unwrap();
    file.push_edge(out, &edge((0, 1, 1), Insert, 12), &none).unwrap();
    file.push_edge(out, &edge((9000, 0, 0), Replace, 300), &properties(&[(5, Some(true.into()))])).unwrap();
    file.push_edge(into, &edge((0, 9000, 0), Replace, 300), &none).unwrap();
    file.push_edge(into, &edge((1, 0, 0), Delete, 200), &none).unwrap();
    file.push_edge(into, &edge((1, 0, 0), Insert, 10), &none).unwrap();
    file.push_edge(into, &edge((1, 0, 1), Insert, 12), &none).unwrap();
    for number in [0, 1] {
        for (value, at) in [("Ada", 10), ("Bé", 11)] {
            let id = EdgeId {
                source: VertexId(0),
                edge_type: KNOWS,
                target: VertexId(1),
                discriminator: at as u16 - 10,
            };
            let item = if number == 0 { ItemId::Vertex(VertexId(0)) } else { ItemId::Edge(id) };
            let record =
                EntryRecord { value: value.as_bytes(), item, operation: Insert, stamp: Timestamp(at) };
            file.push_entry(Subject::index(number).unwrap(), &record).unwrap();
        }
    }
    file.finish().unwrap()
}

/// A file of a level below: lists of several pages, all inserts, sparse and dense columns.
fn sorted(directory: &Arc<dyn Directory>) -> StoredFile {
    let (first_ts, last_ts) = (Timestamp(1), Timestamp(9));
    let new = NewFile { number: SORTED, level: 2, stamps: FileStamps::Unstamped, first_ts, last_ts };
    let mut file = FileWriter::create(directory, &new).unwrap();
    for number in (0..300).chain([9000, 70_000]) {
        let values =
            [(1, Some(i64::from(number * 7).into())), (2, (number % 50 == 0).then(|| "fünfzig".into()))];
        let values: Vec<_> = values.into_iter().filter(|(_, value)| value.is_some()).collect();
        file.push_vertex(&vertex(number, RecordOperation::Insert, 0), &properties(&values)).unwrap();
    }
    let out = Subject::edges(LIVES_IN, EdgeSide::Out);
    for source in 0..40 {
        for target in (0..300).step_by(1 + source as usize % 5) {
            let weight = properties(&[(4, Some((f64::from(source) / 4.0).into()))]);
            let weight = if target % 3 == 0 { weight } else { Properties::EMPTY };
            let record = edge((source, target, 0), RecordOperation::Insert, 0);
            file.push_edge(out, &record, &weight).unwrap();
        }
    }
    file.finish().unwrap()
}

/// The bytes that stand in `tests/golden` under this name.
fn golden(name: &str, written: &[u8]) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("EVERGRAPH_WRITE_GOLDEN").is_some() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(written).unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, packed.finish().unwrap()).unwrap();
    }
    let (packed, mut bytes) = (fs::read(&path).unwrap(), Vec::new());
    GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    bytes
}

fn manifest(files: Vec<StoredFile>) -> Manifest {
    let mut manifest = Manifest::empty(DiskEngine::NAME, DiskEngine::empty_section(DiskEngine::NAME));
    (manifest.covered_through, manifest.need, manifest.next_file) = (Timestamp(400), Timestamp(400), 3);
    FileList { files, ..FileList::default() }.put_into(&mut manifest).unwrap();
    manifest
}

#[test]
fn format_version_1_is_written_as_it_was_and_read() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let files = vec![stamped(&directory), sorted(&directory)];
    let kept: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("golden"));
    for file in &files {
        for (content, prefix) in [(FileContent::Topology, "csr"), (FileContent::Columns, "col")] {
            let name = CsrFileName::new(file.number, content).to_string();
            let bytes = directory.read_all(&name, 1 << 24).unwrap();
            let stored = golden(&format!("{prefix}-{}-level_{}.golden.gz", 1, file.level), &bytes);
            let first = bytes.iter().zip(&stored).position(|(found, expected)| found != expected);
            assert!(bytes == stored, "{name} differs from byte {first:?} on");
            kept.write_all_new(&name, &stored).unwrap();
        }
    }
    let bytes = manifest(files.clone()).encode().unwrap();
    let stored = golden("manifest-1.golden.gz", &bytes);
    assert!(bytes == stored, "the manifest differs");
    with_notes(&files);
    kept.write_all_new("manifest", &stored).unwrap();

    let read = Manifest::read(&*kept, DiskEngine::opens).unwrap();
    assert_eq!(FileList::of(&*kept, &read).unwrap().files, files);
    let reader = PageReader::start(&MemoryBudget::new(u64::MAX), Background::Stepped).unwrap();
    let open = |file: &StoredFile| CsrFile::open(&kept, file, &reader).unwrap();
    newest_answers(&open(&files[0]));
    sorted_answers(&open(&files[1]));
}

/// The same manifest of a database that has notes: one that follows a source.
fn with_notes(files: &[StoredFile]) {
    let mut notes = Notes::default();
    for (name, bytes) in [(OWNER_NOTE, "postgres://example/größe".as_bytes()), ("position", &[0, 255, 7])] {
        notes.apply(&NoteChange { name: name.into(), bytes: Some(bytes.into()) });
    }
    let manifest = Manifest { notes: Some(notes), ..manifest(files.to_vec()) };
    let stored = golden("manifest-1-notes.golden.gz", &manifest.encode().unwrap());
    assert!(manifest.encode().unwrap() == stored, "the manifest with notes differs");
    let kept = MemoryDirectory::new("golden");
    kept.write_all_new("manifest", &stored).unwrap();
    let read = Manifest::read(&kept, DiskEngine::opens).unwrap();
    assert_eq!(read, manifest);
    assert_eq!(FileList::of(&kept, &read).unwrap().files, files);
}

fn newest_answers(file: &CsrFile) {
    let (now, then) = (file.at(Timestamp(400)), file.at(Timestamp(199)));
    let ada = (ListId::vertex(VertexId(0)), ItemKey::VERTEX);
    let bob = (ListId::vertex(VertexId(1)), ItemKey::VERTEX);
    let out = ListId::edges(VertexId(0), KNOWS, EdgeSide::Out);
    let first = (out, ItemKey::edge(VertexId(1), 0));
    let items = [ada, bob, first];
    let presence = |records: &dyn Fn(&mut [Option<bool>])| {
        let mut found = [None; 3];
        records(&mut found);
        found
    };
    let found = presence(&|found| now.presence(&items, found).unwrap());
    assert_eq!(found, [Some(true), Some(false), Some(false)]);
    let found = presence(&|found| then.presence(&items, found).unwrap());
    assert_eq!(found, [Some(true), None, Some(true)]);
    let mut name = [PropertyAnswer::Undecided];
    now.property(&[ada], KeyId(0), &mut name).unwrap();
    assert_eq!(name, [PropertyAnswer::Value("Ada".into())]);
    let mut since = [PropertyAnswer::Undecided];
    then.property(&[first], KeyId(3), &mut since).unwrap();
    assert_eq!(since, [PropertyAnswer::Value(1843_i64.into())]);
    let mut map = PropertyMap::default();
    now.property_map(ListId::vertex(VertexId(9000)), ItemKey::VERTEX, &mut map).unwrap();
    assert_eq!(map.into_present(), [(KeyId(9), long_text())]);
}

fn sorted_answers(file: &CsrFile) {
    let records = file.at(Timestamp(400));
    let list = |vertex| ListId::edges(VertexId(vertex), LIVES_IN, EdgeSide::Out);
    let mut differences = [0; 2];
    records.differences(&[list(0), list(39)], &mut differences).unwrap();
    assert_eq!(differences, [300, 60]);
    let mut values = [PropertyAnswer::Undecided, PropertyAnswer::Undecided];
    let at = |target| (list(38), ItemKey::edge(VertexId(target), 0));
    records.property(&[at(12), at(4)], KeyId(4), &mut values).unwrap();
    assert_eq!(values, [PropertyAnswer::Value(9.5.into()), PropertyAnswer::Absent]);
    let mut map = PropertyMap::default();
    records.property_map(ListId::vertex(VertexId(250)), ItemKey::VERTEX, &mut map).unwrap();
    assert_eq!(map.into_present(), [(KeyId(1), Value::I64(1750)), (KeyId(2), "fünfzig".into())]);
}
