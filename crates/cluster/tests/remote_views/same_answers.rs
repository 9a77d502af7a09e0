//! Same answers: every method of a remote view beside a view of the whole graph, or beside the graph said naively.

use crate::split_graph::{
    AGE, AGES, HUB, KEYS, KNOWS, LIKES, NAME, NAMES, NUMBERS, NaiveGraph, SINCE, SplitGraph, TIMES,
};
use evergraph_cluster::remote::remote_view::RemoteView;
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_graph::column::Column;
use evergraph_graph::id::{Direction, EdgeId, GroupId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::look_up::{OrderedMatches, ValueRange};
use evergraph_graph::newest::{NewestEdges, Stamped};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::owner::Owner;
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::index::index_item::IndexItem;
use evergraph_storage::view::{IndexAnswer, View};
use std::ops::Bound;

/// Types of edges, one of which no edge has.
const TYPES: [TypeId; 3] = [KNOWS, LIKES, TypeId(7)];
const SIDES: [Direction; 2] = [Direction::Out, Direction::In];

/// What is compared at one moment.
pub struct ViewComparison<'a, W> {
    pub graph: &'a SplitGraph,
    pub model: &'a NaiveGraph,
    pub remote: RemoteView<'a>,
    pub whole: W,
    pub chance: SeededChance,
    /// Whether the readers announce what they read.
    pub announces: bool,
}

impl<W: View> ViewComparison<'_, W> {
    /// Compares everything.
    pub fn run(&mut self) {
        self.groups();
        let vertices = self.vertices();
        let edges = self.edges();
        for _ in 0..4 {
            let (vertices, edges) = (self.some(&vertices), self.some(&edges));
            self.vertex_slices(&vertices);
            self.edge_slices(&edges);
            self.lists(&vertices);
        }
        self.newest();
        self.look_ups();
    }

    /// Some of `all` in any order, some of them twice.
    fn some<T: Copy>(&mut self, all: &[T]) -> Vec<T> {
        let count = 1 + self.chance.below(all.len() as u64);
        (0..count).map(|_| all[self.chance.below(all.len() as u64) as usize]).collect()
    }

    fn number(&mut self, end: u64) -> usize {
        self.chance.below(end) as usize
    }

    fn ahead(&self, next: NextReads<'_>) {
        if self.announces {
            self.remote.ahead(next);
        }
    }

    /// Vertices that are there, and some that are not.
    fn vertices(&self) -> Vec<VertexId> {
        let strangers = [VertexId::new(GroupId(0), 4000), VertexId::new(GroupId(90), 1), VertexId(u32::MAX)];
        self.model.vertices.keys().copied().chain(strangers).collect()
    }

    /// Edges that are there, and some that are not.
    fn edges(&self) -> Vec<EdgeId> {
        let stranger = EdgeId { source: HUB, edge_type: TypeId(7), target: HUB, discriminator: 9 };
        let turned =
            self.model.edges.keys().map(|edge| EdgeId { source: edge.target, target: edge.source, ..*edge });
        self.model.edges.keys().copied().chain(turned).chain([stranger]).collect()
    }

    fn groups(&mut self) {
        let (remote, whole) = (self.remote, &self.whole);
        assert_eq!(remote.group_count(), whole.group_count());
        assert_eq!(remote.timestamp(), whole.timestamp());
        for group in (0..whole.group_count() + 2).map(GroupId) {
            assert_eq!(remote.group_label(group).unwrap(), whole.group_label(group).unwrap());
            assert_eq!(remote.live(group).unwrap(), whole.live(group).unwrap(), "rows of {group:?}");
            for side in SIDES {
                let types = whole.edge_types(group, side).unwrap();
                assert_eq!(remote.edge_types(group, side).unwrap(), types, "{side:?} types of {group:?}");
            }
            for edge_type in TYPES {
                let count = whole.group_edge_count(group, edge_type).unwrap();
                assert_eq!(remote.group_edge_count(group, edge_type).unwrap(), count);
            }
        }
    }

    fn vertex_slices(&mut self, vertices: &[VertexId]) {
        self.ahead(NextReads::Labels(vertices));
        self.ahead(NextReads::VertexPropertyMaps(&vertices[..vertices.len() / 2]));
        let (mut found, mut wanted) = (vec![None; vertices.len()], vec![None; vertices.len()]);
        self.remote.labels(vertices, &mut found).unwrap();
        self.whole.labels(vertices, &mut wanted).unwrap();
        assert_eq!(found, wanted, "labels");
        for key in KEYS {
            self.ahead(NextReads::VertexProperties(vertices, key));
            let (mut found, mut wanted) = (Vec::new(), Vec::new());
            self.remote.vertex_properties(vertices, key, &mut found).unwrap();
            self.whole.vertex_properties(vertices, key, &mut wanted).unwrap();
            assert_eq!(found, wanted, "values of {key:?}");
            let one = vertices[self.number(vertices.len() as u64)];
            let wanted = self.whole.vertex_property(one, key).unwrap();
            assert_eq!(self.remote.vertex_property(one, key).unwrap(), wanted);
        }
        for vertex in vertices.iter().take(20) {
            let wanted = self.whole.vertex_property_map(*vertex).unwrap();
            assert_eq!(self.remote.vertex_property_map(*vertex).unwrap(), wanted, "all of {vertex}");
        }
        for (edge_type, side) in TYPES.into_iter().flat_map(|edge_type| SIDES.map(|side| (edge_type, side))) {
            let one = self.chance.happens(OneIn(2)).then_some(edge_type);
            self.ahead(NextReads::Degrees(vertices, one, Direction::Both));
            // They are added.
            let (mut found, mut wanted) = (vec![3; vertices.len()], vec![3; vertices.len()]);
            self.remote.degrees(vertices, edge_type, side, &mut found).unwrap();
            self.whole.degrees(vertices, edge_type, side, &mut wanted).unwrap();
            assert_eq!(found, wanted, "{side:?} degrees of {edge_type:?}");
        }
    }

    fn edge_slices(&mut self, edges: &[EdgeId]) {
        self.ahead(NextReads::Edges(edges));
        self.ahead(NextReads::EdgePropertyMaps(&edges[..edges.len() / 2]));
        let (mut found, mut wanted) = (vec![true; edges.len()], vec![true; edges.len()]);
        self.remote.has_edges(edges, &mut found).unwrap();
        self.whole.has_edges(edges, &mut wanted).unwrap();
        assert_eq!(found, wanted, "which edges are there");
        for key in KEYS {
            self.ahead(NextReads::EdgeProperties(edges, key));
            let (mut found, mut wanted) = (Vec::new(), Vec::new());
            self.remote.edge_properties(edges, key, &mut found).unwrap();
            self.whole.edge_properties(edges, key, &mut wanted).unwrap();
            assert_eq!(found, wanted, "values of {key:?} of edges");
        }
        for edge in edges.iter().take(20) {
            let wanted = self.whole.edge_property_map(*edge).unwrap();
            assert_eq!(self.remote.edge_property_map(*edge).unwrap(), wanted, "all of {edge}");
        }
        let pairs: Vec<_> = edges.iter().map(|edge| (edge.source, edge.target)).collect();
        for edge_type in TYPES {
            let (mut found, mut wanted) = (vec![9; pairs.len()], vec![9; pairs.len()]);
            self.remote.count_edges_between(&pairs, edge_type, &mut found).unwrap();
            self.whole.count_edges_between(&pairs, edge_type, &mut wanted).unwrap();
            assert_eq!(found, wanted, "edges between vertices");
        }
    }

    fn lists(&mut self, vertices: &[VertexId]) {
        if self.chance.happens(OneIn(2)) {
            self.ahead(NextReads::EdgesOf(vertices, Direction::Both));
        }
        for (edge_type, side) in TYPES.into_iter().flat_map(|edge_type| SIDES.map(|side| (edge_type, side))) {
            if self.announces {
                self.remote.read_ahead(vertices, edge_type, side);
            }
            for vertex in vertices.iter().copied().take(12).chain([HUB]) {
                let mut all = Vec::new();
                self.whole.neighbors(vertex, edge_type, side, None, usize::MAX, &mut all).unwrap();
                // Behind an entry, behind what is no entry, or from the beginning.
                let after = match self.chance.below(4) {
                    0 if !all.is_empty() => Some(all[self.number(all.len() as u64)]),
                    1 => Some((VertexId(self.chance.below(9000) as u32), 1)),
                    _ => None,
                };
                let limit = [usize::MAX, 0, 1, self.number(50)][self.number(4)];
                let (mut found, mut wanted) = (vec![(HUB, 7)], vec![(HUB, 7)]);
                self.remote.neighbors(vertex, edge_type, side, after, limit, &mut found).unwrap();
                self.whole.neighbors(vertex, edge_type, side, after, limit, &mut wanted).unwrap();
                assert_eq!(found, wanted, "{side:?} list of {vertex} behind {after:?}");
            }
        }
    }

    fn newest(&mut self) {
        let sources: Vec<_> = self.model.vertices.keys().copied().filter(|source| *source != HUB).collect();
        for source in self.some(&sources).into_iter().take(10).chain([HUB]) {
            let mut end = || match self.chance.below(3) {
                0 => Bound::Included(Value::I64(self.chance.below(NUMBERS as u64) as i64)),
                1 => Bound::Excluded(Value::I64(self.chance.below(NUMBERS as u64) as i64)),
                _ => Bound::Unbounded,
            };
            let range = ValueRange { from: end(), to: end(), descending: self.chance.happens(OneIn(2)) };
            let asked = NewestEdges::new(source, LIKES, SINCE).within(range);
            let mut after = None;
            loop {
                let limit = 1 + self.number(60);
                let wanted = newest_of(self.model, &asked, after.as_ref(), limit);
                let mut ranked = OrderedMatches::default();
                let mut columns = [Column::new(ValueType::String), Column::new(ValueType::Any)];
                let keys = [NAME, AGE];
                let is_ordered = match self.chance.happens(OneIn(2)) {
                    true => self.remote.newest(&asked, after.as_ref(), limit, &mut ranked),
                    false => self.remote.newest_with_properties(
                        &asked,
                        after.as_ref(),
                        limit,
                        &mut ranked,
                        &keys,
                        &mut columns,
                    ),
                };
                assert!(is_ordered.unwrap());
                for (key, column) in keys.iter().zip(&columns).filter(|(_, column)| !column.is_empty()) {
                    let values = wanted.iter().map(|(_, edge)| self.model.edges[edge].get(key).cloned());
                    assert!(
                        values.eq((0..column.len()).map(|row| column.get(row))),
                        "values of newest edges"
                    );
                }
                let found: Vec<_> = ranked.values.into_iter().zip(ranked.items).collect();
                assert_eq!(found, wanted, "newest edges of {source}");
                match wanted.last() {
                    Some(last) if wanted.len() == limit => after = Some(last.clone()),
                    _ => break,
                }
            }
        }
    }

    fn look_ups(&mut self) {
        let names = (0..6).map(|number| Value::from(format!("name {number}"))).collect();
        self.look_up::<VertexId>(NAMES, names);
        self.look_up::<VertexId>(AGES, (0..NUMBERS).map(Value::I64).collect());
        self.look_up::<EdgeId>(TIMES, (0..NUMBERS).map(Value::I64).collect());
    }

    /// Look-ups by one index.
    pub fn look_up<I: IndexItem>(&mut self, index: IndexId, values: Vec<Value>) {
        let entries: Vec<(Value, I)> = entries_of(self.graph, self.model, index);
        // Of one that was dropped nobody knows.
        if let Some(size) = self.remote.index_size(index) {
            assert!(size.entries >= entries.len() as u64, "{} entries of {index:?}", size.entries);
        }
        self.ahead(NextReads::ItemsOfValues(index, &values));
        for value in &values {
            let limit = [usize::MAX, 1, 1 + self.number(20)][self.number(3)];
            let mut all: Vec<_> =
                entries.iter().filter(|(of, _)| of == value).map(|(_, item)| *item).collect();
            all.sort();
            let after = all.get(self.number(8)).copied();
            all.retain(|item| after.is_none_or(|after| *item > after));
            all.truncate(limit);
            let mut found = Vec::new();
            let answer = self.remote.candidates(index, value, after, limit, &mut found).unwrap();
            assert_eq!((answer, found), (IndexAnswer::Exact, all), "{value} in {index:?}");
        }
        for _ in 0..8 {
            let (low, high) = (self.place(&entries, &values), self.place(&entries, &values));
            let descending = self.chance.happens(OneIn(2));
            let limit = [usize::MAX, 1, 1 + self.number(40)][self.number(3)];
            let inside = |(value, item): &&(Value, I)| {
                low.cmp_entry(value, *item).is_lt() && high.cmp_entry(value, *item).is_gt()
            };
            let mut wanted: Vec<_> = entries.iter().filter(inside).cloned().collect();
            wanted.sort();
            if descending {
                wanted.reverse();
            }
            wanted.truncate(limit);
            let places = if descending { (&high, &low) } else { (&low, &high) };
            let mut found = Vec::new();
            let answer = self.remote.between(index, places, descending, limit, &mut found).unwrap();
            assert_eq!((answer, found), (IndexAnswer::Exact, wanted), "between {low:?} and {high:?}");
        }
    }

    fn place<I: IndexItem>(&mut self, entries: &[(Value, I)], values: &[Value]) -> EntryBound<I> {
        let value = values[self.number(values.len() as u64)].clone();
        match self.chance.below(6) {
            0 => EntryBound::Start,
            1 => EntryBound::Before(value),
            2 => EntryBound::After(value),
            3 => EntryBound::End,
            4 => EntryBound::At(value, None),
            _ => match entries.get(self.number(entries.len() as u64 + 1)) {
                Some((value, item)) => EntryBound::At(value.clone(), Some(*item)),
                None => EntryBound::End,
            },
        }
    }
}

/// The newest edges that are asked for.
fn newest_of(model: &NaiveGraph, asked: &NewestEdges, after: Option<&Stamped>, limit: usize) -> Vec<Stamped> {
    let of_list = model
        .edges
        .iter()
        .filter(|(edge, _)| edge.source == asked.source && edge.edge_type == asked.edge_type);
    let stamped = of_list.filter_map(|(edge, values)| Some((values.get(&asked.key)?.clone(), *edge)));
    let mut found: Vec<Stamped> = stamped
        .filter(|entry| asked.range.contains(&entry.0) && after.is_none_or(|after| entry < after))
        .collect();
    found.sort_by(|one, other| other.cmp(one));
    found.truncate(limit);
    found
}

/// Everything that has a value of an index.
fn entries_of<I: IndexItem>(graph: &SplitGraph, model: &NaiveGraph, index: IndexId) -> Vec<(Value, I)> {
    let label = |vertex: &VertexId| graph.labels.get(&vertex.group()).copied().map(Owner::Label);
    let vertices = model.vertices.iter().filter(|(vertex, _)| label(vertex) == Some(index.owner));
    let vertices = vertices.map(|(vertex, values)| (vertex.item_id(), values));
    let edges = model.edges.iter().filter(|(edge, _)| Owner::EdgeType(edge.edge_type) == index.owner);
    let edges = edges.map(|(edge, values)| (edge.item_id(), values));
    let all = vertices.chain(edges);
    all.filter_map(|(item, values)| Some((values.get(&index.key)?.clone(), I::from_item_id(item)?))).collect()
}
