//! Manifest: what a database consists of, with the section of the memory engine. One that is read comes back
//! from its own bytes. The checksums
//! that the fuzzer breaks are mended, or nothing behind them would be reached.
//!
//! Input: the file; a byte behind it that chooses whether it is mended.

use crate::target::{Memory, Target};
use crc32c::{crc32c, crc32c_append};
use evergraph_bodies::edge_subject::EdgeSubject;
use evergraph_bodies::segment_id::SegmentId;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{Direction, GroupId, KeyId, LabelId, TypeId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::note::{NoteChange, Notes};
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::ValueType;
use evergraph_memory_engine::checkpoint::segment_list::SegmentList;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_memory_engine::segment::version::Stored;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::checkpoint::manifest::{FILE_NAME, Manifest, StoredGroup};
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;

// A catalogue's tables reach to the greatest id: 65,536 labels, types and keys at most.
/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 16 << 20, per_byte: 512 } };

pub(super) const HEADER_BYTES: usize = 64;

fn seeds() -> Vec<Vec<u8>> {
    let empty = || Manifest::empty(MemoryEngine::NAME, SegmentList::empty_section());
    let mut whole = Manifest { next_file: 5, need: Timestamp(72), ..empty() };
    let index = IndexId { owner: Owner::Label(LabelId(3)), key: KeyId(0), kind: IndexKind::Hash };
    for change in [
        SchemaChange::AddLabel { id: LabelId(3), name: "Person".into() },
        SchemaChange::AddEdgeType { id: TypeId(1), name: "KNOWS".into(), simple: true },
        SchemaChange::AddKey { id: KeyId(0), name: "name".into() },
        SchemaChange::AddMetaKey { id: KeyId(1), of: KeyId(0) },
        SchemaChange::DefineProperty { owner: index.owner, key: KeyId(0), value_type: ValueType::String },
        SchemaChange::AddIndex(IndexDefinition { id: index, unique: true }),
        SchemaChange::OrderNewestFirst { edge_type: TypeId(1), key: KeyId(0) },
        SchemaChange::Join { edge_type: TypeId(1), source: LabelId(3), target: LabelId(3) },
    ] {
        whole.catalogue.apply(&change);
    }
    whole.groups = vec![StoredGroup { id: GroupId(0), label: LabelId(3), rows: 4096 }];
    let subject = Some(EdgeSubject::new(TypeId(1), Direction::In));
    let id = |subject, hub| SegmentId { group: GroupId(0), subject, hub };
    let stored = |offset| Stored { file: 4, offset, length: 300, base: Timestamp(70) };
    let segments = vec![
        (id(None, None), stored(4096)),
        (id(subject, None), stored(5000)),
        (id(subject, Some(4095)), stored(u64::MAX - 300)),
    ];
    let mut notes = Notes::default();
    for (name, bytes) in [("owner", &b"postgres://example"[..]), ("position", &[1, 2, 3])] {
        notes.apply(&NoteChange { name: name.into(), bytes: Some(bytes.into()) });
    }
    whole.notes = Some(notes);
    SegmentList { segments }.put_into(&mut whole).expect("its parts fit together");
    let encode = |manifest: Manifest| manifest.encode().expect("its parts fit together");
    let (empty, whole) = (encode(empty()), encode(whole));
    vec![[empty.clone(), vec![0]].concat(), [empty, vec![1]].concat(), [whole, vec![1]].concat()]
}

fn promise(input: &[u8]) {
    let Some((choice, file)) = input.split_last() else { return };
    let mut file = file.to_vec();
    if choice & 1 == 1 && file.len() >= HEADER_BYTES {
        mend(&mut file);
    }
    let (manifest, list) = match read(&file) {
        Ok(read) => read,
        Err(error) => return assert_told(&error, file.len()),
    };
    let mut again = manifest.clone();
    list.put_into(&mut again).expect("a list that is read fits its manifest");
    assert_eq!(again, manifest);
    let written = manifest.encode().expect("a manifest that is read is sound");
    assert_eq!(read(&written).expect("a manifest that is written can be read"), (manifest, list));
}

fn read(file: &[u8]) -> Result<(Manifest, SegmentList), CheckpointError> {
    let directory = MemoryDirectory::new("db");
    directory.write_all_new(FILE_NAME, file).expect("a new name");
    let manifest = Manifest::read(&directory, MemoryEngine::opens)?;
    let list = SegmentList::of(&directory, &manifest)?;
    Ok((manifest, list))
}

/// Panics unless `error` has a text, and names a byte of the `length` that there are, or the one behind them, if it names one.
pub(super) fn assert_told(error: &CheckpointError, length: usize) {
    match error {
        CheckpointError::Corrupt { offset, problem, .. } => {
            assert!(*offset <= length as u64 && !problem.is_empty(), "byte {offset}: {problem}");
        }
        error => assert!(!error.to_string().is_empty()),
    }
}

/// Makes lengths and checksums those of what is there.
pub(super) fn mend(file: &mut [u8]) {
    let (header, rest) = file.split_at_mut(HEADER_BYTES);
    let stated = u32::from_le_bytes(header[44..48].try_into().expect("the range has four bytes"));
    let (features, body) = rest.split_at(rest.len().min(stated as usize));
    header[32..40].copy_from_slice(&(body.len() as u64).to_le_bytes());
    header[40..44].copy_from_slice(&crc32c(body).to_le_bytes());
    header[44..48].copy_from_slice(&(features.len() as u32).to_le_bytes());
    header[48..52].copy_from_slice(&crc32c(features).to_le_bytes());
    let crc = crc32c_append(crc32c_append(crc32c(&header[..12]), &[0; 4]), &header[16..]);
    header[12..16].copy_from_slice(&crc.to_le_bytes());
}
