//! Body store: bodies and columns in array files: written, found again, read in place, damaged.

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::budget::{Budget, Unlimited};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, GroupId, KeyId, LabelId, TypeId};
use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder};
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{Projection, Topology, Weight};
use evergraph_graph::value::{Value, ValueType};
use evergraph_mapped_engine::body_store::body_table::{BodySource, BodyTable};
use evergraph_mapped_engine::body_store::body_writer::BodyWriter;
use evergraph_mapped_engine::body_store::extent_bytes::ExtentBytes;
use evergraph_mapped_engine::body_store::stored_body::StoredBody;
use evergraph_mapped_engine::body_store::stored_column::StoredColumn;
use evergraph_mapped_engine::extents::header::{ExtentHeader, ExtentPlace};
use evergraph_mapped_engine::extents::stored_extent::StoredExtent;
use evergraph_mapped_engine::extents::table::{ExtentOptions, Extents, Reuse};
use evergraph_mapped_engine::files::segment_id::SegmentId;
use evergraph_mapped_engine::freeze::frozen::FrozenGraph;
use evergraph_mapped_engine::group::SegmentSubject;
use evergraph_mapped_engine::version::BodyPlace;
use evergraph_mapped_engine::view;
use evergraph_mapped_engine::view::layer::Layer;
use evergraph_mapped_engine::view::mapped_view::MappedView;
use evergraph_mapped_engine::view::source::SegmentSource;
use evergraph_storage::engine::FreezeRequest;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::memory::MemoryDirectory;
use proptest::prelude::*;
use std::sync::Arc;

const SMALL: ExtentOptions = ExtentOptions { first_file_bytes: 1 << 18, file_bytes_max: 1 << 20 };
const BASE: Timestamp = Timestamp(7);

fn open(
    directory: &MemoryDirectory,
    named: Vec<(ExtentPlace, ExtentHeader)>,
) -> (Extents, Vec<StoredExtent>) {
    Extents::open(Arc::new(directory.clone()), SMALL, named, Reuse::Allowed).unwrap()
}

fn column(values: &[Option<i64>]) -> Arc<PackedColumn> {
    let mut builder = PackedColumnBuilder::default();
    values.iter().for_each(|value| builder.push(value.map(Value::I64).as_ref()));
    Arc::new(builder.finish().unwrap())
}

fn edges() -> EdgeBody {
    let columns =
        vec![(KeyId(2), column(&[Some(4), None, Some(-9)])), (KeyId(9), column(&[None, None, Some(1)]))];
    EdgeBody::new(&[0, 2, 0, 1], Box::new([5, 5, 8]), Box::new([0, 3, 0]), columns)
}

fn segment() -> SegmentId {
    SegmentId::edges(GroupId(3), TypeId(1), Direction::Out)
}

fn written(extents: &Extents) -> StoredBody {
    let writer = BodyWriter { extents, segment: segment(), base: BASE };
    writer.edges(&edges(), &|_, _| None, Vec::new()).unwrap()
}

/// What a manifest says of a body's extents, and what opening makes of it.
fn reopened(directory: &MemoryDirectory, body: &StoredBody) -> StoredBody {
    let parts: Vec<_> = body.parts().map(|(key, extent)| (key, extent.place(), extent.header())).collect();
    let named = parts.iter().map(|(_, place, header)| (*place, *header)).collect();
    let mut found = open(directory, named).1.into_iter();
    let own = found.next().unwrap();
    let columns = parts[1..].iter().zip(found).map(|((key, _, header), extent)| {
        let column = StoredColumn::new(ExtentBytes::Own(extent), header.base);
        (key.unwrap(), Arc::new(column))
    });
    StoredBody::found(ExtentBytes::Own(own), columns.collect())
}

fn check(body: &StoredBody) {
    let lists = body.edges().unwrap();
    assert_eq!(lists, edges().lists());
    for at in 0..4 {
        let expected: Vec<_> = if at < 3 { edges().properties(at).collect() } else { Vec::new() };
        assert_eq!(body.properties(at).unwrap(), expected);
    }
    assert_eq!(body.value(0, KeyId(2)).unwrap(), Some(Value::I64(4)));
    assert_eq!(body.value(0, KeyId(3)).unwrap(), None);
    assert_eq!(body.to_edge_body(|_| true).unwrap(), edges());
    assert_eq!(body.to_edge_body(|key| key == KeyId(9)).unwrap().columns().len(), 1);
}

#[test]
fn a_body_of_edges_is_read_in_place_by_who_wrote_it_and_after_the_next_opening() {
    let directory = MemoryDirectory::new("db");
    let body = written(&open(&directory, Vec::new()).0);
    check(&body);
    check(&reopened(&directory, &body));
}

#[test]
fn a_body_of_vertices_shares_the_columns_that_did_not_change() {
    let directory = MemoryDirectory::new("db");
    let extents = open(&directory, Vec::new()).0;
    let mut live = Box::new([0; 64]);
    live[0] = 0b101;
    let columns = vec![(KeyId(1), column(&[Some(1), None, Some(3)])), (KeyId(4), column(&[Some(8)]))];
    let body = VertexBody::new(live, columns);
    let writer = BodyWriter { extents: &extents, segment: SegmentId::vertices(GroupId(1)), base: BASE };
    let first = writer.vertices(&body, &|_, _| None).unwrap();
    assert_eq!(first.to_vertex_body().unwrap(), body);
    assert!(first.vertices().unwrap().is_alive(2) && !first.vertices().unwrap().is_alive(1));
    // Beyond the end of a column there is no value.
    assert_eq!(first.properties(2).unwrap(), [(KeyId(1), Value::I64(3))]);
    let writer = BodyWriter { base: Timestamp(8), ..writer };
    let kept = first.column(KeyId(1)).cloned();
    let second = writer.vertices(&body, &|key, _| kept.clone().filter(|_| key == KeyId(1))).unwrap();
    let places = |body: &StoredBody| body.parts().map(|(_, extent)| extent.place()).collect::<Vec<_>>();
    let (one, other) = (places(&first), places(&second));
    assert!(one[0] != other[0] && one[1] == other[1] && one[2] != other[2]);
    drop(first);
    assert_eq!(second.to_vertex_body().unwrap(), body, "what it shares stays");
    assert_eq!(second.column(KeyId(1)).unwrap().base(), BASE);
}

proptest! {
    #[test]
    fn any_stretch_of_a_column_is_what_its_items_are(
        values in proptest::collection::vec((any::<bool>(), 0u8..3, any::<u8>()), 1..5000),
        of_one in any::<bool>(),
        ends in (any::<proptest::sample::Index>(), any::<proptest::sample::Index>()),
    ) {
        let directory = MemoryDirectory::new("db");
        let extents = open(&directory, Vec::new()).0;
        let value = |(is_there, kind, number): &(bool, u8, u8)| {
            is_there.then(|| match if of_one { 1 } else { *kind } {
                0 => Value::I32(i32::from(*number)),
                1 => Value::F64(f64::from(*number)),
                _ => Value::String("x".repeat(usize::from(*number) % 7).into()),
            })
        };
        let values: Vec<Option<Value>> = values.iter().map(value).chain([Some(Value::F64(0.5))]).collect();
        let mut builder = PackedColumnBuilder::default();
        values.iter().for_each(|value| builder.push(value.as_ref()));
        let column = Arc::new(builder.finish().unwrap());
        let neighbors = (0..values.len() as u32).collect();
        let columns = vec![(KeyId(1), Arc::clone(&column))];
        let body = EdgeBody::new(&[values.len() as u32], neighbors, Box::default(), columns);
        let writer = BodyWriter { extents: &extents, segment: segment(), base: BASE };
        let stored = writer.edges(&body, &|_, _| None, Vec::new()).unwrap();
        let stored = stored.column(KeyId(1)).unwrap();
        let (one, other) = (ends.0.index(values.len() + 9), ends.1.index(values.len() + 9));
        let range = one.min(other)..one.max(other);
        let mut found: Vec<Option<Value>> = Vec::new();
        stored.put(range.clone(), &mut found).unwrap();
        let expected: Vec<_> = range.map(|at| values.get(at).cloned().flatten()).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(stored.floats().unwrap(), column.floats());
        prop_assert_eq!(stored.decode().unwrap(), column);
    }
}

/// A graph of one segment, whose groups are one fewer than an edge needs.
#[derive(Debug)]
struct OneSegment(Arc<StoredBody>);

impl SegmentSource for OneSegment {
    fn group_count(&self) -> u32 {
        4
    }

    fn label(&self, _group: GroupId) -> Result<Option<LabelId>> {
        Ok(Some(LabelId(0)))
    }

    fn subjects(&self, group: GroupId) -> Result<Vec<SegmentSubject>> {
        let own = view::source::edges(TypeId(1), Direction::Out);
        Ok(if group == GroupId(3) { vec![own] } else { Vec::new() })
    }

    fn layer(&self, group: GroupId, subject: SegmentSubject, _: Timestamp) -> Result<Option<Layer<'_>>> {
        let is_it = self.subjects(group)?.contains(&subject);
        Ok(is_it.then(|| Layer::of_body(segment(), Arc::clone(&self.0), BASE)))
    }

    fn hub<'a>(&'a self, _: &Layer<'a>, _row: u16, _: Timestamp) -> Result<Option<Layer<'a>>> {
        Ok(None)
    }

    fn hub_rows(&self, _: &Layer<'_>) -> Result<Vec<u16>> {
        Ok(Vec::new())
    }
}

/// Kernels keep an array entry for each vertex and index it by neighbours: such an edge made them panic.
#[test]
fn freezing_a_body_that_names_a_vertex_of_no_group_is_an_error() {
    let directory = MemoryDirectory::new("db");
    let extents = open(&directory, Vec::new()).0;
    for (neighbor, is_sound) in [(4 * 4096 - 1, true), (4 * 4096, false), (u32::MAX, false)] {
        let body = EdgeBody::new(&[0, 1, 1], Box::new([5, neighbor]), Box::default(), Vec::new());
        let writer = BodyWriter { extents: &extents, segment: segment(), base: BASE };
        let written = writer.edges(&body, &|_, _| None, Vec::new()).unwrap();
        extents.sync().unwrap();
        let found = reopened(&directory, &written);
        for body in [written, found] {
            let source = OneSegment(Arc::new(body));
            let (mut catalogue, cancel) = (Catalogue::default(), CancelFlag::default());
            let (edge_type, value_type) = (TypeId(1), ValueType::F64);
            catalogue.apply(&SchemaChange::AddEdgeType { id: edge_type, name: "T".into(), simple: false });
            let owner = Owner::EdgeType(edge_type);
            catalogue.apply(&SchemaChange::DefineProperty { owner, key: KeyId(1), value_type });
            let budget: Arc<dyn Budget> = Arc::new(Unlimited);
            let weight = Some(Weight { key: KeyId(1), missing: Some(1.0) });
            for projection in
                [Projection::all(Direction::Out), Projection { weight, ..Projection::all(Direction::Both) }]
            {
                let (projection, budget) = (&projection, &budget);
                let request = FreezeRequest { catalogue: &catalogue, projection, budget, cancel: &cancel };
                match FrozenGraph::new(&MappedView::new(&source, BASE), None, &request) {
                    Ok(frozen) => assert!(is_sound && frozen.edge_count() == 2),
                    Err(error) => {
                        assert!(!is_sound && error.kind() == ErrorKind::Corrupt);
                        let says = format!("neighbours below v16384 expected, found v{neighbor}");
                        assert!(error.to_string().contains(&says), "{error}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_has_no_items_lies_nowhere() {
    let directory = MemoryDirectory::new("db");
    let extents = open(&directory, Vec::new()).0;
    let writer = BodyWriter { extents: &extents, segment: segment(), base: BASE };
    let empty = EdgeBody::new(&[], Box::default(), Box::default(), Vec::new());
    let stored = writer.edges(&empty, &|_, _| None, Vec::new()).unwrap();
    assert_eq!(stored.place().unwrap(), BodyPlace::default());
    assert_eq!(stored.edges().unwrap().edges_count(), 0);
    assert_eq!(stored.vertices().unwrap().live(), [0; 64]);
    assert_eq!(extents.statistics().files_count, 0);
}

#[test]
fn a_body_leaves_its_bytes_when_nobody_has_it() {
    let directory = MemoryDirectory::new("db");
    let extents = open(&directory, Vec::new()).0;
    let table = BodyTable::default();
    let place = table.insert(Arc::new(written(&extents))).unwrap();
    let free = extents.statistics().free_bytes;
    let held = table.body(segment(), BASE, place).unwrap();
    table.remove(place);
    let error = table.body(segment(), BASE, place).unwrap_err();
    assert!(error.to_string().contains("the out edges of type 1 of group 3 has no body"), "{error}");
    check(&held);
    assert_eq!(extents.statistics().free_bytes, free);
    drop(held);
    assert!(extents.statistics().free_bytes >= free + 3 * 4096);
    assert_eq!(table.count(), 0);
}

#[test]
fn damage_of_a_body_or_a_column_is_an_error_that_names_file_and_byte() {
    let directory = MemoryDirectory::new("db");
    let extents = open(&directory, Vec::new()).0;
    let body = written(&extents);
    extents.sync().unwrap();
    let places: Vec<ExtentPlace> = body.parts().map(|(_, extent)| extent.place()).collect();
    let flip = |directory: &MemoryDirectory, place: &ExtentPlace| {
        let name = format!("array-{:016x}", place.file);
        let file = directory.open(&name, OpenMode::ReadWrite).unwrap();
        let mut byte = [0];
        file.read_at(&mut byte, place.offset + 64 + 17).unwrap();
        file.write_at(&[byte[0] ^ 1], place.offset + 64 + 17).unwrap();
    };
    for (at, place) in places.iter().enumerate() {
        // A copy, which nobody maps.
        let damaged = directory.power_cut();
        flip(&damaged, place);
        let found = reopened(&damaged, &body);
        let error = match at {
            0 => evergraph_graph::error::Error::from(found.edges().unwrap_err()),
            1 => found.value(0, KeyId(2)).unwrap_err(),
            _ => evergraph_graph::error::Error::from(found.column(KeyId(9)).unwrap().decode().unwrap_err()),
        };
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("array-"), "{error}");
    }
    // Columns that are not those of its table.
    let parts: Vec<_> = body.parts().map(|(_, extent)| (extent.place(), extent.header())).collect();
    let own = open(&directory, vec![parts[0]]).1.remove(0);
    let bare = StoredBody::found(ExtentBytes::Own(own), Vec::new());
    let error = bare.edges().unwrap_err();
    assert!(error.to_string().contains("the columns that are known expected"), "{error}");
}
