//! Disk manifest: a manifest with the section of the disk engine, its files and indexes. A list that is read comes back
//! from its own bytes, and opens nothing that it doesn't name.
//!
//! Input: a byte that says what the rest is. An even one: a manifest and a byte that chooses whether its checksums are
//! mended. An odd one: a section alone, in a manifest that it may fit.

use crate::target::{Memory, Target};
use crate::targets::manifest::{HEADER_BYTES, assert_told, mend};
use evergraph_disk_engine::durable::section::FileList;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::file_name::FileNumber;
use evergraph_disk_engine::format::subject::Subject;
use evergraph_disk_engine::stored_file::{StoredFile, StoredPart};
use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{GroupId, KeyId, LabelId, TypeId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::manifest::{FILE_NAME, Manifest, StoredGroup};
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;

// A catalogue's tables reach to the greatest id: 65,536 labels, types and keys at most.
/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 16 << 20, per_byte: 512 } };

/// A manifest without files, whose catalogue has two indexes.
fn host() -> Manifest {
    let mut manifest = Manifest::empty(DiskEngine::NAME, FileList::empty_section());
    let covered = Timestamp(900);
    (manifest.covered_through, manifest.need, manifest.next_file) = (covered, covered, 100);
    let [of_label, of_type] = indexes().map(|(id, _)| id);
    for change in [
        SchemaChange::AddLabel { id: LabelId(3), name: "Person".into() },
        SchemaChange::AddEdgeType { id: TypeId(1), name: "KNOWS".into(), simple: false },
        SchemaChange::AddKey { id: KeyId(0), name: "name".into() },
        SchemaChange::AddKey { id: KeyId(1), name: "since".into() },
        SchemaChange::AddIndex(IndexDefinition { id: of_label, unique: true }),
        SchemaChange::AddIndex(IndexDefinition { id: of_type, unique: false }),
    ] {
        manifest.catalogue.apply(&change);
    }
    manifest.groups = vec![StoredGroup { id: GroupId(0), label: LabelId(3), rows: 4096 }];
    manifest
}

fn indexes() -> [(IndexId, Subject); 2] {
    let id = |owner, key, kind| IndexId { owner, key: KeyId(key), kind };
    let subject = |number| Subject::index(number).expect("the number is small");
    [
        (id(Owner::Label(LabelId(3)), 0, IndexKind::Hash), subject(0)),
        (id(Owner::EdgeType(TypeId(1)), 1, IndexKind::Ordered), subject(7)),
    ]
}

/// Two files of level 0, of which one has columns, and two of a level below.
fn list() -> FileList {
    let file = |number, level, stamp, keys: [&[u8]; 2], columns| StoredFile {
        number: FileNumber(number),
        level,
        stamps: if level == 0 { FileStamps::Stamped } else { FileStamps::Unstamped },
        first_ts: Timestamp(stamp),
        last_ts: Timestamp(stamp + 9),
        first_key: keys[0].to_vec(),
        last_key: keys[1].to_vec(),
        topology: StoredPart { bytes: 4096 + (16 << 10), footer_crc: 0x1234_5678 },
        columns,
    };
    let columns = Some(StoredPart { bytes: 8192, footer_crc: 7 });
    let files = vec![
        file(99, 0, 800, [b"\0\0\0\0\0\0\0\x07", b"\x01\0\0\x07name"], columns),
        file(98, 0, 700, [b"\0\0\0\0\0\0\0\x01", b"\0\0\0\x04"], None),
        file(9, 5, 20, [b"\0\0\0\0", b"\0\0\0\x05\xff"], columns),
        file(8, 5, 10, [b"\x01\0\0\0", b"\x01\0\0\x07\xff"], None),
    ];
    let next_subject = indexes()[1].1.number() + 1;
    FileList { files, indexes: indexes().to_vec(), next_subject }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut whole = host();
    list().put_into(&mut whole).expect("its parts fit together");
    let section = whole.engine_section.bytes.clone();
    let encode = |manifest: Manifest| manifest.encode().expect("its parts fit together");
    let (empty, whole) = (encode(host()), encode(whole));
    vec![
        [&[0], &empty[..], &[0]].concat(),
        [&[0], &whole[..], &[1]].concat(),
        [&[1], &FileList::empty_section()[..]].concat(),
        [&[1], &section[..]].concat(),
    ]
}

fn promise(input: &[u8]) {
    let directory = MemoryDirectory::new("db");
    let Some((form, rest)) = input.split_first() else { return };
    let (manifest, length) = if form & 1 == 1 {
        (Manifest { engine_section: rest.to_vec().into(), ..host() }, rest.len())
    } else {
        let Some((choice, file)) = rest.split_last() else { return };
        let mut file = file.to_vec();
        if choice & 1 == 1 && file.len() >= HEADER_BYTES {
            mend(&mut file);
        }
        directory.write_all_new(FILE_NAME, &file).expect("a new name");
        match Manifest::read(&directory, DiskEngine::opens) {
            Ok(manifest) => (manifest, file.len()),
            Err(error) => return assert_told(&error, file.len()),
        }
    };
    match FileList::of(&directory, &manifest) {
        Ok(list) => comes_back(&directory, manifest, &list),
        Err(error) => assert_told(&error, length),
    }
}

/// A list that fits its manifest is written as it was read, and says once what it names.
fn comes_back(directory: &MemoryDirectory, manifest: Manifest, list: &FileList) {
    let mut names: Vec<String> = list.names().map(|name| name.to_string()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "no two files have one name");
    assert!(names.iter().all(|name| DiskEngine::is_file(name)), "{names:?}");
    let mut again = manifest.clone();
    list.put_into(&mut again).expect("a list that is read fits its manifest");
    assert_eq!(again.engine_section.bytes, manifest.engine_section.bytes);
    assert_eq!(FileList::of(directory, &again).as_ref().ok(), Some(list));
}
