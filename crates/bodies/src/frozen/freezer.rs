//! Freezer: turns segments and the records on top of them into lists for algorithms, group by group, on rayon's current
//! pool.
//!
//! ```text
//! neither weights nor filters    the stored lists as they lie, and fresh lists by keys alone
//! weights that no edge has       the same, and one number for all edges
//! weights                        the same with the column, or numbers converted from it, and fresh weights by properties
//! edges leave the labels         the same on what the stored lists have within these
//! vertices or edges are chosen   a copy of the lists
//! ```
//!
//! What lists have within the labels, and numbers that were converted, is kept for the next time. Where a property says what edges
//! weigh, `weighed_lists` makes the lists.

use crate::edge_body::EdgeBody;
use crate::edge_lists::EdgeLists;
use crate::frozen::edge_weights::{EdgeWeights, WeighedSegment};
use crate::frozen::freeze_source::{FreezeSegment, FreezeSource, ListChanges};
use crate::frozen::fresh_lists::FreshLists;
use crate::frozen::frozen_list::{FrozenList, ListWeights};
use crate::frozen::label_lists::{BodyIdentity, ScopedBody, ScopedLists};
use crate::frozen::label_scope::LabelScope;
use crate::frozen::stored_lists::StoredLists;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::topology::Projection;
use evergraph_graph::vertex_set::VertexSet;
use evergraph_storage::engine::FreezeRequest;
use evergraph_storage::sync::Mutex;
use rayon::prelude::*;
use std::sync::Arc;

/// The lists of one side, by group.
pub type FrozenSide<S> = Vec<Box<[FrozenList<S>]>>;

/// What memory for lists with fewer edges than are stored is reserved for.
const LEFT_OUT: &str = "lists without what was left out";

/// What memory for weights that do not lie as they are needed is reserved for.
pub(crate) const WEIGHTS: &str = "edge weights";

/// What a copy of so many edges with some of their properties takes at most, in bytes: a neighbour and a discriminator, where it
/// lay, and of each property a value before and after.
fn copy_bytes(edges: usize, keys: usize) -> u64 {
    edges as u64 * (12 + 16 * keys as u64)
}

/// What is within the labels of a body whose lists are `stored`.
pub(crate) fn lists_within<S: StoredLists>(within: &ScopedLists, stored: &S) -> S {
    match within {
        ScopedLists::Whole => stored.clone(),
        ScopedLists::Part(part) => S::of_copy(Arc::clone(part)),
    }
}

/// How the sides of a projection are frozen.
pub(crate) struct Freezer<'a, S> {
    pub(crate) source: &'a S,
    pub(crate) request: FreezeRequest<'a>,
    /// The vertices in scope.
    pub(crate) scope: &'a VertexSet,
    /// What lists are cut down to and converted for, if they are.
    pub(crate) labels: Option<LabelScope<'a>>,
    /// What edges weigh, if that is asked for.
    pub(crate) weights: Option<EdgeWeights<'a>>,
    pub(crate) reservations: Mutex<Vec<Reservation>>,
}

impl<S: FreezeSource> Freezer<'_, S> {
    fn projection(&self) -> &Projection {
        self.request.projection
    }

    /// Whether properties of edges are looked at, which the out side alone has.
    pub(crate) fn reads_properties(&self) -> bool {
        !self.projection().edges.is_empty()
            || self.weights.as_ref().is_some_and(EdgeWeights::reads_properties)
    }

    pub(crate) fn reserve(&self, purpose: &'static str, bytes: usize) -> Result<()> {
        let reservation = self.request.budget.reserve(purpose, bytes as u64)?;
        self.reservations.lock().push(reservation);
        Ok(())
    }

    fn list(
        &self,
        segment: &dyn FreezeSegment<Lists = S::Lists>,
        of: WeighedSegment,
    ) -> Result<FrozenList<S::Lists>> {
        if self.projection().is_filtered() {
            return self.filtered(segment, of);
        }
        let labels = self.labels.as_ref().filter(|labels| labels.may_be_left_by(of.edge_type));
        let Some(weights) = &self.weights else { return self.by_keys(segment, of, labels, None) };
        match weights.of_all(of.edge_type) {
            Some(number) => self.by_keys(segment, of, labels, Some((weights, number))),
            None => self.by_properties(segment, of, labels, weights),
        }
    }

    /// The lists of a segment whose edges weigh the same, or nothing: no property is looked at.
    fn by_keys(
        &self,
        segment: &dyn FreezeSegment<Lists = S::Lists>,
        of: WeighedSegment,
        labels: Option<&LabelScope<'_>>,
        number: Option<(&EdgeWeights<'_>, f64)>,
    ) -> Result<FrozenList<S::Lists>> {
        let stored = segment.lists()?;
        let has_column = match number {
            Some((weights, _)) => stored.column(weights.key())?.is_some(),
            None => false,
        };
        let store = match labels {
            Some(labels) => {
                let cut = self.kept_or_made(labels, &stored.identity(), || {
                    Ok(self.cut_to_labels(segment, stored.lists()?, labels)?.into())
                })?;
                lists_within(&cut.lists, &stored)
            }
            None => stored,
        };
        let mut fresh = Self::fresh(segment, &store, labels)?;
        let Some((weights, number)) = number else { return FrozenList::new(store, ListWeights::None, fresh) };
        if let Some(fresh) = &mut fresh {
            fresh.weigh_all(number);
        }
        let lists = store.lists()?;
        if has_column && lists.edges_count() > 0 {
            return Err(weights.undefined(of));
        }
        let weights = self.repeated(weights, number, lists)?;
        FrozenList::new(store, weights, fresh)
    }

    /// What is kept of a body for `scope`, or else what `make` makes of it, which is kept then.
    ///
    /// # Errors
    /// Those of `make`; `limit` if nobody keeps it and the budget refuses.
    pub(crate) fn kept_or_made(
        &self,
        scope: &LabelScope<'_>,
        body: &BodyIdentity,
        make: impl FnOnce() -> Result<ScopedBody>,
    ) -> Result<ScopedBody> {
        if let Some(found) = scope.kept.and_then(|kept| kept.get(&scope.choice, body)) {
            return Ok(found);
        }
        let made = make()?;
        let is_kept = scope.kept.is_some_and(|kept| kept.keep(&scope.choice, body, &made));
        let bytes = made.heap_bytes();
        if !is_kept && bytes > 0 {
            let purpose = if matches!(made.lists, ScopedLists::Whole) { WEIGHTS } else { LEFT_OUT };
            self.reserve(purpose, bytes)?;
        }
        Ok(made)
    }

    pub(crate) fn cut_to_labels(
        &self,
        segment: &dyn FreezeSegment<Lists = S::Lists>,
        lists: EdgeLists<'_>,
        labels: &LabelScope<'_>,
    ) -> Result<ScopedLists> {
        if lists.neighbors().iter().all(|neighbor| labels.contains(*neighbor)) {
            return Ok(ScopedLists::Whole);
        }
        let keys: Vec<KeyId> = labels.choice.weight.iter().map(|weight| weight.key).collect();
        // What the lists become is counted where they are kept.
        let _meanwhile =
            self.request.budget.reserve(LEFT_OUT, copy_bytes(lists.edges_count(), keys.len()))?;
        let body = segment.body(&keys)?;
        let part = body.filtered(&keys, |_, at| labels.contains(body.neighbors()[at]));
        Ok(ScopedLists::Part(Arc::new(part)))
    }

    /// The lists of `store` that records change, of edges within the labels, without weights.
    fn fresh(
        segment: &dyn FreezeSegment<Lists = S::Lists>,
        store: &S::Lists,
        labels: Option<&LabelScope<'_>>,
    ) -> Result<Option<Box<FreshLists>>> {
        match segment.changes()? {
            ListChanges::Inserted(mut keys) => {
                if let Some(labels) = labels {
                    keys.retain(|key| labels.contains(key.neighbor()));
                }
                Ok(FreshLists::of_inserted(&keys))
            }
            ListChanges::Differences(mut differences) => {
                if let Some(labels) = labels {
                    differences.retain(|(key, _)| labels.contains(key.neighbor()));
                }
                let fresh = FreshLists::of_differences(store.lists()?, &differences);
                fresh.map_err(|problem| segment.inexact(problem))
            }
        }
    }

    /// A copy of the edges that have both ends in scope and satisfy the filters.
    pub(crate) fn filtered(
        &self,
        segment: &dyn FreezeSegment<Lists = S::Lists>,
        of: WeighedSegment,
    ) -> Result<FrozenList<S::Lists>> {
        let filters = &self.projection().edges;
        let weight: Vec<KeyId> = self.weights.iter().map(EdgeWeights::key).collect();
        let keys: Vec<KeyId> = filters.iter().map(|filter| filter.key).chain(weight.clone()).collect();
        let stored = segment.lists()?.lists()?.edges_count();
        let mut body = None;
        segment.with_nets(&mut |nets| {
            self.reserve(LEFT_OUT, copy_bytes(stored + nets.len(), keys.len()) as usize)?;
            let before = segment.body(&keys)?;
            body = Some(match nets {
                [] => before,
                _ => Arc::new(before.copied(nets).map_err(|problem| segment.inexact(problem))?),
            });
            Ok(())
        })?;
        let body = body.expect("`with_nets` calls back or fails");
        let columns: Vec<_> =
            filters.iter().map(|filter| (filter, EdgeBody::column(&body, filter.key))).collect();
        let kept = body.filtered(&weight, |row, at| {
            self.scope.contains(VertexId::new(of.group, row).0)
                && self.scope.contains(body.neighbors()[at])
                && columns
                    .iter()
                    .all(|(filter, column)| filter.holds(column.and_then(|column| column.get(at)).as_ref()))
        });
        let store = S::Lists::of_copy(Arc::new(kept));
        let weights = match &self.weights {
            Some(weights) => {
                let is_same_for_all = weights.of_all(of.edge_type).is_some();
                if is_same_for_all && store.column(weights.key())?.is_some() {
                    return Err(weights.undefined(of));
                }
                self.stored_weights(&store, of, weights)?
            }
            None => ListWeights::None,
        };
        FrozenList::new(store, weights, None)
    }

    /// One side of every group, in groups' order.
    ///
    /// # Errors
    /// `invalid` for a weight that isn't a number, `limit` if the budget refuses, `cancelled`, and those of the source.
    pub(crate) fn side(&self, groups: u32, side: Direction) -> Result<FrozenSide<S::Lists>> {
        let lists = (0..groups).into_par_iter().map(|group| self.group(GroupId(group), side));
        let lists: FrozenSide<S::Lists> = lists.collect::<Result<_>>()?;
        let fresh: usize = lists.iter().flatten().map(FrozenList::fresh_bytes).sum();
        if fresh > 0 {
            self.reserve("lists of fresh edges", fresh)?;
        }
        Ok(lists)
    }

    fn group(&self, group: GroupId, side: Direction) -> Result<Box<[FrozenList<S::Lists>]>> {
        self.request.cancel.check()?;
        let label = self.source.label(group)?;
        let labels = self.projection().labels.as_ref();
        if label.is_none_or(|label| labels.is_some_and(|labels| !labels.contains(&label))) {
            return Ok(Box::default());
        }
        let wanted = |edge_type: TypeId| self.projection().has_type(edge_type);
        let mut lists = Vec::with_capacity(1);
        self.source.for_each_segment(group, side, &wanted, &mut |edge_type, segment| {
            let list = self.list(segment, WeighedSegment { group, edge_type })?;
            if list.edges_count() > 0 {
                lists.push(list);
            }
            Ok(())
        })?;
        Ok(lists.into())
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::frozen::label_lists::LabelLists;
    use crate::frozen::test_source::{
        LABELS, ReadWatch, TestEdge, TestSource, WEIGHT, catalogue, expected, frozen, frozen_as,
        reserved_bytes, visited, weighted,
    };
    use evergraph_graph::budget::Unlimited;
    use evergraph_graph::cancel::CancelFlag;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::filter::{Condition, Filter};
    use evergraph_graph::id::LabelId;
    use evergraph_graph::topology::{Piece, PieceBuffer, Topology as _, Visit, Weight};
    use evergraph_graph::value::{Value, ValueType};
    use evergraph_storage::memory_budget::MemoryBudget;
    use proptest::prelude::*;

    fn any_vertex() -> impl Strategy<Value = u32> {
        prop_oneof![0u32..5, 4094u32..4099]
    }

    /// An edge, which may have a number if it is of type 1.
    fn any_edge() -> impl Strategy<Value = TestEdge> {
        let value = proptest::option::weighted(0.8, 0i64..9);
        (any_vertex(), 0u16..2, any_vertex(), value, any::<bool>()).prop_map(
            |(source, edge_type, target, value, is_fresh)| {
                let value = value.filter(|_| edge_type == 1).map(Value::I64);
                TestEdge { source, edge_type, target, value, is_fresh }
            },
        )
    }

    fn any_projection() -> impl Strategy<Value = Projection> {
        let labels = proptest::option::of(prop_oneof![
            Just(vec![LabelId(0)]),
            Just(vec![LabelId(1)]),
            Just(vec![LabelId(1), LabelId(0)])
        ]);
        let types = proptest::option::of((0u16..2).prop_map(|edge_type| vec![TypeId(edge_type)]));
        let direction = prop_oneof![Just(Direction::Out), Just(Direction::In), Just(Direction::Both)];
        let missing = proptest::option::of(prop_oneof![Just(0.5), Just(0.25)]);
        (labels, types, direction, missing).prop_map(|(labels, types, direction, missing)| {
            let weight = missing.map(|missing| Weight { key: WEIGHT, missing: Some(missing) });
            Projection { labels, types, weight, ..Projection::all(direction) }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn lists_and_weights_are_those_of_the_edges_however_they_are_kept_and_coalesced(
            edges in proptest::collection::vec(any_edge(), 0..60), is_float: bool,
            projections in proptest::collection::vec(any_projection(), 1..4),
        ) {
            let (mut edges, mut value_type) = (edges, ValueType::I64);
            if is_float {
                // All of them: the column may lie as it is needed.
                value_type = ValueType::F64;
                for edge in edges.iter_mut().filter(|edge| edge.edge_type == 1) {
                    let number = edge.value.as_ref().and_then(Value::as_f64);
                    edge.value = Some(Value::F64(number.unwrap_or(7.0)));
                }
            }
            let (budget, cancel) = (MemoryBudget::new(u64::MAX), CancelFlag::default());
            let kept = LabelLists::new(&budget);
            let source = TestSource::new(&LABELS, &edges, None);
            // Twice, so that what the first one left is there.
            for projection in projections.iter().chain(&projections) {
                let graph = frozen(&source, Some(&kept), projection, value_type, &budget).unwrap();
                for direction in [Direction::Out, Direction::In, Direction::Both] {
                    if projection.direction != Direction::Both && projection.direction != direction {
                        continue;
                    }
                    let want = expected(&edges, projection, direction);
                    prop_assert_eq!(&visited(&graph, direction), &want, "{:?} of {:?}", direction, projection);
                    let coalesced = graph.coalesced(direction, &Unlimited, &cancel).unwrap();
                    if let Some(coalesced) = coalesced {
                        prop_assert_eq!(&visited(&coalesced, direction), &want, "coalesced, {:?}", projection);
                        prop_assert_eq!(coalesced.edge_count(), graph.edge_count());
                    }
                }
            }
        }

        #[test]
        fn chosen_vertices_are_visited_in_the_order_in_which_they_are_given(
            edges in proptest::collection::vec(any_edge(), 0..60), projection in any_projection(),
            vertices in proptest::collection::vec(any_vertex(), 0..30),
        ) {
            let (source, direction) = (TestSource::new(&LABELS, &edges, None), projection.direction);
            let budget = MemoryBudget::new(u64::MAX);
            let graph = frozen(&source, None, &projection, ValueType::I64, &budget).unwrap();
            let mut found = Vec::new();
            let note = |vertex: u32, piece: Piece<'_>| {
                let weights = piece.weights.iter().map(|weight| Some(weight.to_bits()));
                let pairs = piece.neighbors.iter().copied().zip(weights.chain(std::iter::repeat(None)));
                found.extend(pairs.map(|(neighbor, weight)| (vertex, neighbor, weight)));
                Visit::Continue
            };
            graph.visit_each(direction, &vertices, &mut PieceBuffer::default(), note).unwrap();
            let (lists, mut found) = (expected(&edges, &projection, direction), &found[..]);
            for vertex in vertices {
                let list = lists.get(&vertex).map_or(&[][..], |list| &list[..]);
                let want: Vec<_> = list.iter().map(|(neighbor, weight)| (vertex, *neighbor, *weight)).collect();
                let (own, others) = found.split_at(want.len().min(found.len()));
                let mut own = own.to_vec();
                own.sort_unstable();
                prop_assert_eq!(own, want);
                found = others;
            }
            prop_assert!(found.is_empty(), "{found:?} of vertices that were not asked for");
        }
    }

    #[test]
    fn where_no_edge_has_the_property_no_property_is_looked_at() {
        let mut edges = [(0, 0, 1), (0, 0, 4096), (4097, 0, 1), (0, 1, 2), (0, 0, 3)]
            .map(|(source, edge_type, target)| TestEdge::stored(source, edge_type, target));
        edges[3].value = Some(Value::I64(8));
        edges[4].is_fresh = true;
        let (watch, budget) = (Arc::new(ReadWatch::default()), MemoryBudget::new(u64::MAX));
        let source = TestSource::new(&LABELS, &edges, Some(&watch));
        let transposes = || reserved_bytes(&budget, "the in side, turned from the out side") > 0;
        let one_type = weighted(Some(2.5), Some(vec![TypeId(0)]), Direction::Both);
        let graph = frozen(&source, None, &one_type, ValueType::I64, &budget).unwrap();
        assert_eq!(visited(&graph, Direction::Both), expected(&edges, &one_type, Direction::Both));
        assert!(watch.property_reads() == 0 && !transposes());
        drop(graph);
        // Of two types the lists of one have to be read for their weights.
        let both_types = weighted(Some(2.5), None, Direction::Both);
        let graph = frozen(&source, None, &both_types, ValueType::I64, &budget).unwrap();
        assert_eq!(visited(&graph, Direction::Both), expected(&edges, &both_types, Direction::Both));
        assert!(watch.property_reads() == 1 && transposes());
        let none = weighted(None, Some(vec![TypeId(0)]), Direction::Out);
        let error = frozen(&source, None, &none, ValueType::I64, &budget).err().unwrap();
        assert!(error.to_string().ends_with("has no value as its weight `weight`"), "{error}");
        drop(graph);
        assert_eq!(budget.reservations(), []);
    }

    /// Edges without the property, of both types, within label 0 and from it to label 1.
    fn plain_edges() -> Vec<TestEdge> {
        let ends = [(0, 0, 1), (0, 0, 4096), (2, 1, 3), (2, 1, 4097)];
        ends.map(|(source, edge_type, target)| TestEdge::stored(source, edge_type, target)).to_vec()
    }

    /// Chosen, as if some weren't.
    fn all_vertices() -> Arc<VertexSet> {
        Arc::new(VertexSet::from_words(vec![u64::MAX; 2 * 64], 2 * 4096))
    }

    #[test]
    fn a_property_that_a_type_gets_between_two_snapshots_is_read_by_the_later_one() {
        for with_property in [&[0_u16][..], &[1, 0][..]] {
            for labels in [None, Some(vec![LabelId(0)])] {
                let (budget, mut edges) = (MemoryBudget::new(u64::MAX), plain_edges());
                let kept = LabelLists::new(&budget);
                let mut source = TestSource::new(&LABELS, &edges, None);
                let projection = Projection { labels, ..weighted(Some(0.5), None, Direction::Both) };
                // Type 0 is the last that gets it.
                let before = catalogue(&with_property[..with_property.len() - 1], ValueType::I64);
                let first = frozen_as(&source, Some(&kept), &projection, &before, &budget).unwrap();
                let of_first = expected(&edges, &projection, Direction::Both);
                assert_eq!(visited(&first, Direction::Both), of_first);
                let value = Some(Value::I64(7));
                let newer = TestEdge { value, is_fresh: true, ..TestEdge::stored(1, 0, 2) };
                source.insert(&newer);
                edges.push(newer);
                let after = catalogue(with_property, ValueType::I64);
                let second = frozen_as(&source, Some(&kept), &projection, &after, &budget).unwrap();
                let want = expected(&edges, &projection, Direction::Both);
                assert!(want[&1].contains(&(2, Some(7.0_f64.to_bits()))));
                assert_eq!(visited(&second, Direction::Both), want);
                assert_eq!(visited(&first, Direction::Both), of_first);
            }
        }
    }

    /// Its in side, which has no properties, would weigh something else.
    #[test]
    fn edges_with_a_property_that_the_catalogue_does_not_define_for_them_are_an_error() {
        let mut edges = plain_edges();
        // To label 1.
        edges[1].value = Some(Value::I64(8));
        let (source, budget) = (TestSource::new(&LABELS, &edges, None), MemoryBudget::new(u64::MAX));
        let all = Some(all_vertices());
        for direction in [Direction::Out, Direction::Both] {
            let whole = weighted(Some(0.5), None, direction);
            let chosen = Projection { vertices: all.clone(), ..whole.clone() };
            for projection in [&whole, &chosen] {
                let error = frozen(&source, None, projection, ValueType::I64, &budget).err().unwrap();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                let says =
                    "edges T0 of group 0 have the property `weight`, which the catalogue does not define";
                assert!(error.to_string().contains(says), "{error}");
            }
            // Of edges that are left out nobody asks what they weigh.
            let typed = weighted(Some(0.5), Some(vec![TypeId(1)]), direction);
            assert!(frozen(&source, None, &typed, ValueType::I64, &budget).is_ok());
        }
        let source = TestSource::new(&LABELS, &edges[1..], None);
        let within =
            Projection { labels: Some(vec![LabelId(0)]), ..weighted(Some(0.5), None, Direction::Both) };
        let graph = frozen(&source, None, &within, ValueType::I64, &budget).unwrap();
        assert_eq!(visited(&graph, Direction::Both), expected(&edges[1..], &within, Direction::Both));
    }

    #[test]
    fn projections_of_which_nothing_is_kept_leave_what_others_keep() {
        let mut edges = plain_edges();
        edges[2].value = Some(Value::I64(4));
        let source = TestSource::new(&LABELS, &edges, None);
        let budget = MemoryBudget::new(u64::MAX);
        let kept = LabelLists::new(&budget);
        let freeze = |projection: &Projection| {
            let graph = frozen(&source, Some(&kept), projection, ValueType::I64, &budget).unwrap();
            graph.edge_count()
        };
        let within = Projection { labels: Some(vec![LabelId(0)]), ..Projection::all(Direction::Out) };
        assert_eq!(freeze(&within), 2);
        let kept_bytes = || reserved_bytes(&budget, "lists within labels");
        let before = kept_bytes();
        assert!(before > 0);
        let all = all_vertices();
        for labels in
            [None, Some(vec![LabelId(0)]), Some(vec![LabelId(1)]), Some(vec![LabelId(0), LabelId(1)])]
        {
            for missing in [None, Some(0.5), Some(0.25)] {
                let weight = missing.map(|missing| Weight { key: WEIGHT, missing: Some(missing) });
                let whole = Projection { labels: labels.clone(), weight, ..Projection::all(Direction::Out) };
                freeze(&Projection { vertices: Some(Arc::clone(&all)), ..whole.clone() });
                let exists = Filter { key: WEIGHT, condition: Condition::Exists };
                freeze(&Projection { edges: vec![exists], ..whole });
            }
        }
        // No edge leaves both.
        let both = Some(vec![LabelId(1), LabelId(0)]);
        assert_eq!(freeze(&Projection { labels: both, ..Projection::all(Direction::Out) }), 4);
        assert_eq!(kept_bytes(), before);
        assert_eq!((freeze(&within), kept_bytes()), (2, before));
    }
}
