//! Mapped body: a body of version 2 with its table of columns, read in place as the process that writes and one that reads do. Any
//! bytes are refused or read without a panic, and by both alike; a body that is read can be read through, and written it reads back.
//!
//! Input: a byte of flags, which say what the body is of, then its payload. Or a byte that says so, too, the length of a column, 2
//! bytes, the column, and the body's arrays: then the table is made, and names the column unless that has no bytes.

use crate::golden_arrays::GoldenDatabase;
use crate::samples;
use crate::target::{Memory, Target};
use crate::targets::body::written;
use crate::targets::manifest::assert_told;
use evergraph_bodies::body_form::StableForm;
use evergraph_bodies::body_ref::vertices::VertexBodyRef;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_lists::EdgeLists;
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, KeyId, TypeId};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::body_store::body_table::BodySource;
use evergraph_mapped_engine::body_store::body_writer::BodyWriter;
use evergraph_mapped_engine::body_store::column_table::{ColumnEntry, put_table, take_table};
use evergraph_mapped_engine::body_store::extent_bytes::ExtentBytes;
use evergraph_mapped_engine::body_store::stored_body::{StoredBody, StoredColumns};
use evergraph_mapped_engine::body_store::stored_column::StoredColumn;
use evergraph_mapped_engine::extents::header::{ExtentHeader, ExtentKind};
use evergraph_mapped_engine::extents::table::{ExtentOptions, Extents, Reuse};
use evergraph_mapped_engine::files::segment_id::SegmentId;
use evergraph_mapped_engine::reader::known_bodies::{KnownBodies, PinnedBodies};
use evergraph_storage::checkpoint::column_form::put_column;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::write_unit::WriteUnit;
use std::sync::Arc;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 512 } };

/// What a body is of.
const EDGES: u8 = 0;
const VERTICES: u8 = 1;
const ENTRIES: u8 = 2;
/// The table of columns behind the arrays is made.
const TABLE_IS_MADE: u8 = 4;

const SIZES: ExtentOptions = ExtentOptions { first_file_bytes: 1 << 12, file_bytes_max: 1 << 20 };
const BASE: Timestamp = Timestamp(7);
const KEY: KeyId = KeyId(2);

fn segment(flags: u8) -> SegmentId {
    match flags & 3 {
        VERTICES => SegmentId::vertices(GroupId(1)),
        ENTRIES => SegmentId::index(1).expect("an index may have the number"),
        _ => SegmentId::edges(GroupId(1), TypeId(3), Direction::Out),
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for database in GoldenDatabase::all() {
        for segment in &database.section.segments {
            let Some(place) = segment.body else { continue };
            let payload = place.payload_of(database.extent(place));
            let arrays = take_table(payload).expect("a golden body is sound").0;
            let column: &[u8] = match segment.columns.first() {
                Some(column) => column.place.payload_of(database.extent(column.place)),
                None => &[],
            };
            let of = match (segment.id.type_and_side(), segment.id.index_number()) {
                (Some(_), _) => EDGES,
                (None, None) => VERTICES,
                (None, Some(_)) => ENTRIES,
            };
            seeds.extend([[&[of], payload].concat(), with_column(of, column, arrays)]);
        }
    }
    for value in samples::values() {
        let column = PackedColumn::from_values([Some(&value), None, Some(&value)]);
        let mut bytes = Vec::new();
        put_column(&mut bytes, &column.expect("there are values"));
        let mut sparse = vec![0; GROUP_SIZE as usize];
        [0, 9, 4095].iter().for_each(|row: &usize| sparse[*row] = 1);
        for (degrees, discriminators) in [(&[2, 0, 1][..], [0, 5, 0]), (&sparse[..], [0; 3])] {
            let body = EdgeBody::new(
                degrees,
                Box::new([7, 7 + u32::from(discriminators[1] == 0), 8]),
                Box::new(discriminators),
                Vec::new(),
            );
            let mut arrays = Vec::new();
            body.lists().put(&mut arrays);
            seeds.push(with_column(EDGES, &bytes, &arrays));
        }
        let mut arrays = Vec::new();
        VertexBodyRef::new(&[5; 64]).put(&mut arrays);
        seeds.push(with_column(VERTICES, &bytes, &arrays));
    }
    seeds
}

fn with_column(of: u8, column: &[u8], arrays: &[u8]) -> Vec<u8> {
    let length = u16::try_from(column.len()).expect("columns of seeds are short").to_le_bytes();
    [&[of | TABLE_IS_MADE], &length[..], column, arrays].concat()
}

fn promise(input: &[u8]) {
    let Some((flags, rest)) = input.split_first() else { return };
    let segment = segment(*flags);
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db").with_unit(WriteUnit::LINE));
    let opened = Extents::open(Arc::clone(&directory), SIZES, [], Reuse::Allowed);
    let extents = opened.expect("an empty folder opens").0;
    let write = |kind, payload: &[u8]| {
        let header = ExtentHeader { kind, segment: segment.number(), base: BASE };
        ExtentBytes::Own(extents.write(header, payload).expect("memory has room"))
    };
    let (mut payload, mut columns, mut table) = (rest.to_vec(), StoredColumns::new(), Vec::new());
    if flags & TABLE_IS_MADE != 0 {
        let Some((length, rest)) = rest.split_first_chunk::<2>() else { return };
        let (column, arrays) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
        if !column.is_empty() {
            let extent = write(ExtentKind::Column, column);
            table.push(ColumnEntry { key: KEY, base: BASE, place: extent.place() });
            columns.push((KEY, Arc::new(StoredColumn::new(extent, BASE))));
        }
        payload = arrays.to_vec();
        put_table(&mut payload, &table).expect("array files have low numbers");
    }
    // A version says by no bytes that a body is empty.
    if payload.is_empty() {
        return;
    }
    let own = StoredBody::found(write(segment.body_kind(), &payload), columns);
    let length = extents.statistics().file_bytes as usize;
    let is_sound = told(touched(segment, &own), length).is_some();
    let is_known = found_table(&own).is_some_and(|found| found == table);
    assert!(is_known || !is_sound, "columns that the table does not name are refused");

    // The same in a process that reads, which has the columns from the table.
    let bodies = PinnedBodies::new(Arc::new(KnownBodies::new(Arc::clone(&directory))));
    let place = own.place().expect("array files have low numbers");
    match bodies.body(segment, BASE, place) {
        Ok(found) if is_known => {
            assert!(is_sound);
            assert_eq!(found.edges().ok(), own.edges().ok());
            assert_eq!(found.vertices().ok(), own.vertices().ok());
            assert_eq!(
                found.entries().ok().map(|body| body.count()),
                own.entries().ok().map(|body| body.count())
            );
        }
        Ok(found) => found.columns().iter().for_each(|(_, column)| drop(told(column.decode(), length))),
        Err(error) => {
            assert!(!(is_known && is_sound), "{error}");
            assert!(!error.to_string().is_empty());
        }
    }
    if !is_sound {
        return;
    }
    let writer = BodyWriter { extents: &extents, segment, base: BASE };
    match flags & 3 {
        VERTICES => vertices_come_back(&own, writer, length),
        ENTRIES => assert_eq!(own.entries().ok().map(|body| body.count()), Some(own.stated_entries())),
        _ => edges_come_back(&own, writer, length),
    }
}

/// What was read, if it was; an error must name a place in the files, which have `length` bytes at most, and say what is wrong there.
fn told<T>(read: CheckpointResult<T>, length: usize) -> Option<T> {
    read.map_err(|error: CheckpointError| assert_told(&error, length)).ok()
}

/// What the first touch of a body says.
fn touched(segment: SegmentId, body: &StoredBody) -> CheckpointResult<()> {
    match (segment.type_and_side(), segment.index_number()) {
        (Some(_), _) => body.edges().map(drop),
        (None, None) => body.vertices().map(drop),
        (None, Some(_)) => body.entries().map(drop),
    }
}

/// The payload of a body, in place.
fn payload_of(body: &StoredBody) -> &[u8] {
    body.extent().expect("it has one").unverified_payload()
}

/// The columns that the table of a body names, if there is one; it has one form.
fn found_table(body: &StoredBody) -> Option<Vec<ColumnEntry>> {
    let payload = payload_of(body);
    let (arrays, columns) = take_table(payload).map_err(|problem| assert!(!problem.is_empty())).ok()?;
    let mut again = arrays.to_vec();
    put_table(&mut again, &columns).expect("places that were read can be written");
    assert!(again == payload, "a table has one form: {columns:?}");
    Some(columns)
}

/// Some of so many items.
fn some(items: usize) -> impl Iterator<Item = usize> {
    (0..items).step_by(1 + items / 40)
}

fn edges_come_back(own: &StoredBody, writer: BodyWriter<'_>, length: usize) {
    let lists = own.edges().expect("it was read");
    assert_eq!(lists.check(), Ok(()));
    let arrays = take_table(payload_of(own)).expect("it was read").0;
    assert_eq!(EdgeLists::payload_bytes(arrays), Ok(arrays.len()));
    assert_eq!(own.highest_neighbor().ok(), Some(lists.neighbors().iter().max().copied()));
    let mut seen = 0;
    lists.for_each_row(|row, range| {
        assert_eq!(lists.range(row), range);
        seen += range.len();
        for at in range {
            assert!(lists.parallel(row, lists.neighbors()[at]).contains(&at));
            assert_eq!(lists.row_at(at), Some(row));
        }
    });
    assert_eq!(seen, lists.edges_count());
    let Some(body) = told(own.to_edge_body(|_| true), length) else {
        return some(seen).for_each(|at| drop(own.properties(at)));
    };
    assert_eq!(body.check(), Ok(()));
    for at in some(seen) {
        let expected: Vec<_> = body.properties(at).collect();
        assert_eq!(own.properties(at).ok(), Some(expected));
    }
    // One without edges is written as none.
    if seen > 0 {
        let again = writer.edges(&body, &|_, _| None, StoredColumns::new()).expect("a sound body is written");
        assert_eq!(written(&again.to_edge_body(|_| true).expect("it was written")), written(&body));
    }
}

fn vertices_come_back(own: &StoredBody, writer: BodyWriter<'_>, length: usize) {
    let Some(body) = told(own.to_vertex_body(), length) else {
        return some(GROUP_SIZE as usize).for_each(|row| drop(own.properties(row)));
    };
    for row in some(GROUP_SIZE as usize) {
        assert_eq!(own.properties(row).ok(), Some(body.property_map(row as u16)));
    }
    let again = writer.vertices(&body, &|_, _| None);
    // Whether a column is longer than the group is looked at before it is written.
    assert_eq!(again.is_ok(), body.check().is_ok());
    if let Ok(again) = again {
        assert_eq!(written(&again.to_vertex_body().expect("it was written")), written(&body));
    }
}
