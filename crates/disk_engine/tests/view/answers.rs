//! Answers: every method of a view beside plain maps.

use crate::history::{GROUPS, KEYS, State, TYPES, VERTICES, label_of};
use evergraph_graph::column::Column;
use evergraph_graph::id::{Direction, EdgeId, GROUP_SIZE, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::view::View;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const SIDES: [Direction; 2] = [Direction::Out, Direction::In];

type Lists = BTreeMap<(VertexId, TypeId, Direction), BTreeSet<(VertexId, u16)>>;

/// Both sides' lists of a graph.
fn lists_of(state: &State) -> Lists {
    let mut lists = Lists::new();
    for edge in state.edges.keys() {
        let ends = [(edge.source, Direction::Out, edge.target), (edge.target, Direction::In, edge.source)];
        for (vertex, side, neighbor) in ends {
            lists.entry((vertex, edge.edge_type, side)).or_default().insert((neighbor, edge.discriminator));
        }
    }
    lists
}

/// In an order that has nothing to do with that of the items, some of them twice.
fn shuffled<T: Clone>(items: &[T], seed: u32) -> Vec<T> {
    let mut items: Vec<_> = items.iter().chain(&items[..items.len() / 3]).cloned().enumerate().collect();
    items.sort_by_key(|(at, _)| (*at as u32 ^ seed).wrapping_mul(0x9e37_79b1).rotate_left(seed % 32));
    items.into_iter().map(|(_, item)| item).collect()
}

/// Holds all that a view says against `state`.
pub fn compare(view: &impl View, state: &State, seed: u32) -> Result<(), TestCaseError> {
    let lists = lists_of(state);
    groups(view, state, &lists)?;
    vertices(view, state, seed)?;
    neighbors(view, &lists, seed)?;
    degrees(view, &lists, seed)?;
    edges(view, state, seed)?;
    between(view, state, seed)
}

fn rows_of(bits: &[u64; 64]) -> BTreeSet<u32> {
    (0..GROUP_SIZE).filter(|row| bits[*row as usize / 64] & 1 << (row % 64) != 0).collect()
}

fn groups(view: &impl View, state: &State, lists: &Lists) -> Result<(), TestCaseError> {
    prop_assert_eq!(view.group_count(), GROUPS[3] + 1);
    for group in (0..6).map(GroupId) {
        let exists = GROUPS.contains(&group.0);
        prop_assert_eq!(view.group_label(group).unwrap(), exists.then(|| label_of(group.0)));
        let alive = state.vertices.keys().filter(|vertex| vertex.group() == group);
        let alive: BTreeSet<_> = alive.map(|vertex| u32::from(vertex.row())).collect();
        prop_assert_eq!(rows_of(&view.live(group).unwrap()), alive);
        for edge_type in TYPES {
            let of_group = state.edges.keys().filter(|edge| edge.source.group() == group);
            let count = of_group.filter(|edge| edge.edge_type == edge_type).count() as u64;
            prop_assert_eq!(view.group_edge_count(group, edge_type).unwrap(), count);
            for side in SIDES {
                let with_edges = lists.keys().filter(|key| (key.1, key.2) == (edge_type, side));
                let with_edges = with_edges.filter(|key| key.0.group() == group);
                let rows: BTreeSet<_> = with_edges.map(|key| u32::from(key.0.row())).collect();
                let found = rows_of(&view.rows_with_edges(group, edge_type, side).unwrap());
                prop_assert!(found.is_superset(&rows), "{:?} of {:?}", found, rows);
                prop_assert!(
                    found.is_empty() || edge_type != TYPES[2],
                    "nobody has an edge of the last type"
                );
                prop_assert!(
                    !exists || rows.is_empty() || view.edge_types(group, side).unwrap().contains(&edge_type)
                );
            }
        }
    }
    Ok(())
}

fn vertices(view: &impl View, state: &State, seed: u32) -> Result<(), TestCaseError> {
    let mut all: Vec<_> = VERTICES.iter().flat_map(|vertex| [*vertex, vertex + 3]).collect();
    all.extend([GROUPS[3] * GROUP_SIZE, 100_000, u32::MAX]);
    let asked = shuffled(&all, seed).into_iter().map(VertexId).collect::<Vec<_>>();
    let whole_groups: Vec<_> = (4000..2 * GROUP_SIZE + 4).chain(4000..4200).map(VertexId).collect();
    let label = |vertex: &VertexId| state.vertices.contains_key(vertex).then(|| label_of(vertex.group().0));
    let many: Vec<_> = asked.iter().cycle().take(4200).copied().collect();
    for asked in [&asked[..], &whole_groups, &many, &asked[..1], &[]] {
        // Every answer overwrites what stood there.
        let mut labels = vec![Some(label_of(1)); asked.len()];
        view.labels(asked, &mut labels).unwrap();
        prop_assert_eq!(labels, asked.iter().map(label).collect::<Vec<_>>());
    }
    for key in KEYS {
        let value = |vertex: &VertexId| state.vertices.get(vertex)?.get(&key).cloned();
        let expected: Vec<_> = asked.iter().map(value).collect();
        let mut found = Vec::new();
        view.vertex_properties(&asked, key, &mut found).unwrap();
        prop_assert_eq!(&found, &expected);
        let mut column = Column::new(ValueType::I64);
        view.vertex_properties(&asked[..4], key, &mut column).unwrap();
        prop_assert!((0..4).all(|row| column.get(row) == expected[row]) && column.len() == 4);
        for (vertex, expected) in asked.iter().zip(&expected) {
            prop_assert_eq!(&view.vertex_property(*vertex, key).unwrap(), expected);
        }
    }
    for vertex in &asked {
        let all = state.vertices.get(vertex).cloned().unwrap_or_default();
        prop_assert_eq!(view.vertex_property_map(*vertex).unwrap(), pairs(&all));
    }
    Ok(())
}

fn pairs(values: &BTreeMap<KeyId, Value>) -> Vec<(KeyId, Value)> {
    values.iter().map(|(key, value)| (*key, value.clone())).collect()
}

fn neighbors(view: &impl View, lists: &Lists, seed: u32) -> Result<(), TestCaseError> {
    let none = BTreeSet::new();
    let also = VERTICES.iter().flat_map(|vertex| TYPES.map(|edge_type| (VertexId(*vertex), edge_type)));
    let also = also.flat_map(|(vertex, edge_type)| SIDES.map(|side| (vertex, edge_type, side)));
    let keys: BTreeSet<_> = also.chain(lists.keys().take(60).copied()).collect();
    let before = (VertexId(7), 7);
    for key in keys {
        let (vertex, edge_type, side) = key;
        let list: Vec<_> = lists.get(&key).unwrap_or(&none).iter().copied().collect();
        let ask = |after, limit| {
            let mut found = vec![before];
            view.neighbors(vertex, edge_type, side, after, limit, &mut found).unwrap();
            assert_eq!(found.remove(0), before, "it is appended to");
            found
        };
        prop_assert_eq!(&ask(None, usize::MAX), &list);
        prop_assert_eq!(ask(None, 0), []);
        for limit in [1, 3, 1 + seed as usize % 200] {
            let (mut after, mut pieces) = (None, Vec::new());
            loop {
                let piece = ask(after, limit);
                let expected = (list.len() - pieces.len()).min(limit);
                prop_assert_eq!(piece.len(), expected, "{:?} after {:?}", key, after);
                let Some(last) = piece.last() else { break };
                after = Some(*last);
                pieces.extend(piece);
                if limit < 3 && pieces.len() > 20 {
                    prop_assert!(list.starts_with(&pieces));
                    break;
                }
            }
            prop_assert!(list.starts_with(&pieces) && (limit < 3 || pieces.len() == list.len()));
        }
        for place in [(VertexId(0), 0), (VertexId(seed % 600), 1), (VertexId(u32::MAX), u16::MAX)] {
            let behind: Vec<_> = list.iter().filter(|entry| **entry > place).copied().collect();
            prop_assert_eq!(&ask(Some(place), 5)[..], &behind[..behind.len().min(5)]);
            prop_assert_eq!(ask(Some(place), usize::MAX), behind);
        }
    }
    Ok(())
}

fn degrees(view: &impl View, lists: &Lists, seed: u32) -> Result<(), TestCaseError> {
    let all: Vec<_> = VERTICES.into_iter().chain(0..50).chain([77_777]).map(VertexId).collect();
    let asked = shuffled(&all, seed);
    // More than a batch, and not a multiple of what stands in it.
    let many: Vec<_> = asked.iter().cycle().take(4200).copied().collect();
    for edge_type in TYPES {
        for side in SIDES {
            let degree = |vertex: &VertexId| {
                lists.get(&(*vertex, edge_type, side)).map_or(0, |list| list.len() as u64)
            };
            for asked in [&asked[..], &all, &many, &asked[..1], &[]] {
                let mut degrees = vec![1000; asked.len()];
                view.degrees(asked, edge_type, side, &mut degrees).unwrap();
                let expected: Vec<_> = asked.iter().map(|vertex| 1000 + degree(vertex)).collect();
                prop_assert_eq!(degrees, expected);
            }
        }
    }
    Ok(())
}

/// Edges that are there, that were, and that never are.
fn asked_edges(state: &State, seed: u32) -> Vec<EdgeId> {
    let mut edges: BTreeSet<_> = state.edges.keys().copied().collect();
    for source in VERTICES.map(VertexId) {
        for target in VERTICES.into_iter().chain(0..12).map(VertexId) {
            for discriminator in [0, 2, u16::MAX] {
                let edge_type = TYPES[(target.0 % 3) as usize];
                edges.insert(EdgeId { source, edge_type, target, discriminator });
                edges.insert(EdgeId { source, edge_type: TYPES[0], target, discriminator });
            }
        }
    }
    let in_order: Vec<_> = edges.into_iter().collect();
    if seed.is_multiple_of(2) { in_order } else { shuffled(&in_order, seed) }
}

fn edges(view: &impl View, state: &State, seed: u32) -> Result<(), TestCaseError> {
    let asked = asked_edges(state, seed);
    for asked in [&asked[..], &asked[asked.len() - 1..], &[]] {
        let mut found = vec![seed.is_multiple_of(3); asked.len()];
        view.has_edges(asked, &mut found).unwrap();
        let expected: Vec<_> = asked.iter().map(|edge| state.edges.contains_key(edge)).collect();
        prop_assert_eq!(found, expected);
        for key in KEYS {
            let mut found = vec![None];
            view.edge_properties(asked, key, &mut found).unwrap();
            let value = |edge: &EdgeId| state.edges.get(edge)?.get(&key).cloned();
            let expected: Vec<_> = std::iter::once(None).chain(asked.iter().map(value)).collect();
            prop_assert_eq!(found, expected);
        }
    }
    for edge in asked.iter().step_by(5) {
        let all = state.edges.get(edge).cloned().unwrap_or_default();
        prop_assert_eq!(view.edge_property_map(*edge).unwrap(), pairs(&all));
        for key in KEYS {
            prop_assert_eq!(view.edge_property(*edge, key).unwrap(), all.get(&key).cloned());
        }
    }
    Ok(())
}

fn between(view: &impl View, state: &State, seed: u32) -> Result<(), TestCaseError> {
    let targets: Vec<_> = VERTICES.into_iter().chain(0..20).chain([60_000]).collect();
    let pairs = VERTICES.iter().flat_map(|source| targets.iter().map(move |target| (*source, *target)));
    let pairs: Vec<_> = pairs.map(|(source, target)| (VertexId(source), VertexId(target))).collect();
    let pairs = shuffled(&pairs, seed);
    for edge_type in TYPES {
        let mut counts = vec![9; pairs.len()];
        view.count_edges_between(&pairs, edge_type, &mut counts).unwrap();
        let of_pair = |(source, target): &(VertexId, VertexId)| {
            let edge = |discriminator| EdgeId { source: *source, edge_type, target: *target, discriminator };
            state.edges.range(edge(0)..=edge(u16::MAX)).count() as u32
        };
        prop_assert_eq!(counts, pairs.iter().map(of_pair).collect::<Vec<_>>());
    }
    Ok(())
}
