//! Mapped manifest: a manifest with the section of the mapped engine, its extents, runs and indexes. A section that is read is
//! the same when it is written again, and names no byte of an array file twice.
//!
//! Input: a byte that says what the rest is. An even one: a manifest and a byte that chooses whether its checksums are
//! mended. An odd one: a section alone, in a manifest that it may fit.

use crate::golden_arrays::GoldenDatabase;
use crate::target::{Memory, Target};
use crate::targets::manifest::{HEADER_BYTES, assert_told, mend};
use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{Direction, GroupId, KeyId, LabelId, TypeId};
use evergraph_graph::index::{IndexId, IndexKind};
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::extents::header::{ExtentPlace, extent_bytes};
use evergraph_mapped_engine::files::batch::ItemRange;
use evergraph_mapped_engine::files::section::{
    NamedBatch, NamedColumn, NamedIndexes, NamedRun, NamedSegment, Section,
};
use evergraph_mapped_engine::files::segment_id::SegmentId;
use evergraph_storage::checkpoint::manifest::{FILE_NAME, Manifest, StoredGroup};
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::write_unit::WriteUnit;

// A catalogue's tables reach to the greatest id: 65,536 labels, types and keys at most.
/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 16 << 20, per_byte: 512 } };

/// A manifest without segments, which has two groups.
fn host() -> Manifest {
    let mut manifest = Manifest::empty(MappedEngine::NAME, MappedEngine::empty_section(MappedEngine::NAME));
    (manifest.covered_through, manifest.need, manifest.next_file) = (Timestamp(900), Timestamp(905), 5);
    for change in [
        SchemaChange::AddLabel { id: LabelId(3), name: "Person".into() },
        SchemaChange::AddEdgeType { id: TypeId(1), name: "KNOWS".into(), simple: false },
        SchemaChange::AddKey { id: KeyId(0), name: "name".into() },
        SchemaChange::AddKey { id: KeyId(1), name: "since".into() },
    ] {
        manifest.catalogue.apply(&change);
    }
    let group = |id| StoredGroup { id: GroupId(id), label: LabelId(3), rows: 4096 };
    manifest.groups = vec![group(0), group(GroupId::END - 1)];
    manifest
}

/// Two batches; vertices with columns, edges of both sides, one with runs alone, a hub, two indexes.
fn section() -> Section {
    let place = |file, page: u64, payload_bytes| ExtentPlace { file, offset: page * 4096, payload_bytes };
    let edges = |side| SegmentId::edges(GroupId(0), TypeId(1), side);
    let run = |batch, offset, bytes| NamedRun { batch, range: ItemRange { offset, bytes } };
    let segment = |id, base, body: Option<ExtentPlace>, runs| {
        let items = if body.is_some() { 300 } else { 0 };
        NamedSegment { id, base: Timestamp(base), items, body, columns: Vec::new(), runs }
    };
    let column = |key, base, place| NamedColumn { key: KeyId(key), base: Timestamp(base), place };
    let index = |number| SegmentId::index(number).expect("an index may have the number");
    let index_id = |owner, key, kind| IndexId { owner, key: KeyId(key), kind };
    Section {
        unit: WriteUnit::PAGE,
        batches: vec![
            NamedBatch { place: place(1, 0, 300), base: Timestamp(850) },
            NamedBatch { place: place(2, 4, 4096), base: Timestamp(900) },
        ],
        segments: vec![
            NamedSegment {
                columns: vec![column(0, 3, place(1, 2, 40)), column(1, 901, place(2, 0, 9))],
                ..segment(SegmentId::vertices(GroupId(0)), 901, Some(place(1, 1, 4032)), Vec::new())
            },
            segment(edges(Direction::Out), 0, None, vec![run(0, 0, 48), run(1, 64, 16)]),
            segment(edges(Direction::In), 700, Some(place(2, 1, 5000)), vec![run(1, 96, 4000 - 16)]),
            segment(edges(Direction::In).hub(4095), 902, Some(place(3, 7, 1 << 20)), Vec::new()),
            segment(SegmentId::vertices(GroupId(GroupId::END - 1)), 9, None, Vec::new()),
            segment(index(3), 700, Some(place(2, 9, 700)), Vec::new()),
            segment(index(4), 0, None, Vec::new()),
        ],
        indexes: NamedIndexes {
            indexes: vec![
                (index_id(Owner::Label(LabelId(3)), 0, IndexKind::Hash), 4),
                (index_id(Owner::EdgeType(TypeId(1)), 1, IndexKind::Ordered), 3),
            ],
            next: 7,
        },
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let put = |section: &Section| {
        let mut manifest = host();
        section.put_into(&mut manifest).expect("its parts fit together");
        manifest
    };
    let manifests =
        [host(), put(&section())].map(|manifest| manifest.encode().expect("its parts fit together"));
    let golden = GoldenDatabase::all().into_iter().map(|database| database.manifest.to_vec());
    let manifests = manifests.into_iter().chain(golden).map(|file| [&[0], &file[..], &[1]].concat());
    let empty = MappedEngine::empty_section(MappedEngine::NAME);
    let of_lines = Section { unit: WriteUnit::LINE, ..section() };
    let alone = [empty, section().encode(), of_lines.encode()];
    manifests.chain(alone.map(|section| [&[1], &section[..]].concat())).collect()
}

fn promise(input: &[u8]) {
    // Where extents may lie at multiples of any unit.
    let directory = MemoryDirectory::new("db").with_unit(WriteUnit::LINE);
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
        match Manifest::read(&directory, MappedEngine::opens) {
            Ok(manifest) => (manifest, file.len()),
            Err(error) => return assert_told(&error, file.len()),
        }
    };
    match Section::of(&directory, &manifest) {
        Ok(section) => comes_back(&directory, &manifest, &section),
        Err(error) => assert_told(&error, length),
    }
}

/// A section that fits its manifest is written as it was read, and its extents lie beside each other.
fn comes_back(directory: &MemoryDirectory, manifest: &Manifest, section: &Section) {
    assert_eq!(Section::unit_of(manifest), Some(section.unit));
    let end =
        |place: ExtentPlace| place.offset + extent_bytes(place.payload_bytes).expect("it fits into a file");
    let mut places: Vec<ExtentPlace> = section.extents().map(|(place, _)| place).collect();
    places.sort_unstable_by_key(|place| (place.file, place.offset));
    let is_apart = |two: &[ExtentPlace]| two[0].file != two[1].file || end(two[0]) <= two[1].offset;
    assert!(places.windows(2).all(is_apart), "{places:?}");
    for segment in &section.segments {
        let named = usize::from(segment.body.is_some()) + segment.columns.len();
        assert_eq!(segment.extents().count(), named);
        assert_eq!(SegmentId::numbered(segment.id.number()), Some(segment.id));
        if let Some(number) = segment.id.index_number() {
            assert!(section.indexes.entry_form(number).is_some(), "{number} is no index's");
        }
    }
    let mut again = manifest.clone();
    section.put_into(&mut again).expect("a section that is read fits its manifest");
    assert_eq!(Section::of(directory, &again).as_ref().ok(), Some(section));
    // One of format 2 that tells of no index is written in format 1.
    if section.indexes != NamedIndexes::default() || manifest.engine_section.bytes[0] == 1 {
        assert_eq!(again.engine_section.bytes, manifest.engine_section.bytes);
    }
}
