//! Oracle of indexes, for tests: every question that an index answers, answered by reading everything.
//!
//! It asks the same view, so that it holds for snapshots, transactions with own writes, and while an
//! index is built or gone.

use evergraph_graph::catalogue::Owner;
use evergraph_graph::column::Column;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexKind};
use evergraph_graph::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{EdgeCursor, GraphView, VertexCursor};
use std::fmt::Debug;
use std::ops::Bound;

/// All vertices of a label with their values, sorted by value.
pub fn vertex_values<G: GraphView>(view: &G, label: LabelId, key: KeyId) -> Vec<(Value, VertexId)> {
    let (mut cursor, mut vertices) = (VertexCursor::default(), Vec::new());
    while !cursor.done {
        view.scan_vertices(Some(&[label]), &mut cursor, 50, &mut vertices).unwrap();
    }
    let mut column = Column::new(ValueType::Any);
    view.vertex_properties(&vertices, key, &mut column).unwrap();
    sorted(vertices, &column)
}

/// All edges of a type with their values, sorted by value.
pub fn edge_values<G: GraphView>(view: &G, edge_type: TypeId, key: KeyId) -> Vec<(Value, EdgeId)> {
    let (mut cursor, mut edges) = (EdgeCursor::default(), Vec::new());
    while !cursor.done {
        view.scan_edges(Some(&[edge_type]), &mut cursor, 3, &mut edges).unwrap();
    }
    assert!(edges.is_sorted_by(|a, b| a < b), "an edge scan ascends");
    let mut column = Column::new(ValueType::Any);
    view.edge_properties(&edges, key, &mut column).unwrap();
    sorted(edges, &column)
}

fn sorted<T: Copy + Ord>(items: Vec<T>, column: &Column) -> Vec<(Value, T)> {
    let values = items.into_iter().enumerate();
    let mut values: Vec<_> = values.filter_map(|(row, item)| Some((column.get(row)?, item))).collect();
    values.sort();
    values
}

/// How many items of `index` have a value, and whether a value is there twice.
pub fn contents<G: GraphView>(view: &G, index: &IndexDefinition) -> (usize, bool) {
    fn of<T>(values: &[(Value, T)]) -> (usize, bool) {
        (values.len(), values.windows(2).any(|pair| pair[0].0 == pair[1].0))
    }
    match index.id.owner {
        Owner::Label(label) => of(&vertex_values(view, label, index.id.key)),
        Owner::EdgeType(edge_type) => of(&edge_values(view, edge_type, index.id.key)),
    }
}

/// Holds every answer of every index that `view` names against a scan.
pub fn check_indexes<G: GraphView>(view: &G, values: &[Value], ranges: &[ValueRange], limit: usize) {
    for index in view.catalogue().indexes() {
        let key = index.id.key;
        match index.id.owner {
            Owner::Label(label) => {
                let all = vertex_values(view, label, key);
                check_matches(values, &all, limit, |cursor, matches| {
                    view.look_up_vertices(label, key, values, cursor, limit, matches).unwrap();
                });
                check_ranges(&index, ranges, &all, limit, |range, cursor, ranked| {
                    view.range_vertices(label, key, range, cursor, limit, ranked)
                        .map_err(|error| error.kind())
                });
                if view.catalogue().is_unique(index.id.owner, key) {
                    let mut found = Vec::new();
                    view.look_up(label, key, values, &mut found).unwrap();
                    let wanted = values
                        .iter()
                        .map(|value| all.iter().find(|(found, _)| found == value).map(|(_, vertex)| *vertex));
                    assert!(wanted.eq(found), "the holders in {all:?}");
                }
            }
            Owner::EdgeType(edge_type) => {
                let all = edge_values(view, edge_type, key);
                check_matches(values, &all, limit, |cursor, matches| {
                    view.look_up_edges(edge_type, key, values, cursor, limit, matches).unwrap();
                });
                check_ranges(&index, ranges, &all, limit, |range, cursor, ranked| {
                    view.range_edges(edge_type, key, range, cursor, limit, ranked)
                        .map_err(|error| error.kind())
                });
            }
        }
    }
}

fn check_matches<T: Copy + Ord + Debug>(
    values: &[Value],
    all: &[(Value, T)],
    limit: usize,
    mut ask: impl FnMut(&mut MatchCursor<T>, &mut Matches<T>),
) {
    let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
    while !cursor.done {
        let before = found.items.len();
        ask(&mut cursor, &mut found);
        assert!(found.items.len() - before <= limit && found.rows.len() == found.items.len());
    }
    let wanted: Vec<(u32, T)> = values
        .iter()
        .enumerate()
        .flat_map(|(row, value)| all.iter().filter(move |e| e.0 == *value).map(move |e| (row as u32, e.1)))
        .collect();
    let found: Vec<(u32, T)> = found.rows.into_iter().zip(found.items).collect();
    assert_eq!(found, wanted, "{values:?} in {all:?}");
}

fn check_ranges<T: Copy + Ord + Debug>(
    index: &IndexDefinition,
    ranges: &[ValueRange],
    all: &[(Value, T)],
    limit: usize,
    mut ask: impl FnMut(&ValueRange, &mut RangeCursor<T>, &mut OrderedMatches<T>) -> Result<(), ErrorKind>,
) {
    for range in ranges {
        let (mut cursor, mut found) = (RangeCursor::default(), OrderedMatches::default());
        if let Err(kind) = ask(range, &mut cursor, &mut found) {
            assert_eq!((kind, index.id.kind), (ErrorKind::Invalid, IndexKind::Hash));
            return;
        }
        while !cursor.done {
            ask(range, &mut cursor, &mut found).unwrap();
        }
        let mut wanted: Vec<_> = all.iter().filter(|(value, _)| range.contains(value)).cloned().collect();
        if range.descending {
            wanted.reverse();
        }
        let found: Vec<_> = found.values.into_iter().zip(found.items).collect();
        assert_eq!(found, wanted, "{range:?} at most {limit} at once, in {all:?}");
    }
}

/// Some ranges that small programs' values lie in and around.
pub fn some_ranges() -> Vec<ValueRange> {
    let number = |number: f64| Value::F64(number);
    let mut ranges = vec![
        ValueRange::ALL,
        ValueRange::new(Bound::Included(number(1.0)), Bound::Excluded(number(3.0))),
        ValueRange::new(Bound::Excluded(number(1.0)), Bound::Included(number(3.0))),
        ValueRange::new(Bound::Excluded(number(2.0)), Bound::Excluded(number(2.0))),
        ValueRange::new(Bound::Included(number(4.0)), Bound::Included(number(1.0))),
        ValueRange::new(Bound::Unbounded, Bound::Included(Value::from("b"))),
        ValueRange::prefix("a"),
        ValueRange::prefix(""),
    ];
    ranges.extend(ranges.clone().into_iter().map(ValueRange::descending));
    ranges
}
