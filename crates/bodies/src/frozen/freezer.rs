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
//! What lists have within the labels, and numbers that were converted, is kept for the next time.

use crate::edge_body::EdgeBody;
use crate::edge_lists::EdgeLists;
use crate::frozen::edge_weights::{EdgeWeights, WeighedSegment, longest_list};
use crate::frozen::freeze_source::{FreezeSegment, FreezeSource, ListChanges};
use crate::frozen::fresh_lists::FreshLists;
use crate::frozen::frozen_list::{FrozenList, ListWeights};
use crate::frozen::label_lists::{BodyIdentity, ScopedBody, ScopedLists};
use crate::frozen::label_scope::LabelScope;
use crate::frozen::stored_lists::{StoredColumn as _, StoredLists};
use crate::net::{Effect, Net};
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::topology::Projection;
use evergraph_graph::vertex_set::VertexSet;
use evergraph_storage::engine::FreezeRequest;
use evergraph_storage::sync::Mutex;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// The lists of one side, by group.
pub type FrozenSide<S> = Vec<Box<[FrozenList<S>]>>;

/// The stored lists of a segment, and their weights.
type WeighedLists<S> = (S, ListWeights<<S as StoredLists>::Column>);

/// What memory for lists with fewer edges than are stored is reserved for.
const LEFT_OUT: &str = "lists without what was left out";

/// What memory for weights that do not lie as they are needed is reserved for.
const WEIGHTS: &str = "edge weights";

/// What a copy of so many edges with some of their properties takes at most, in bytes: a neighbour and a discriminator, where it
/// lay, and of each property a value before and after.
fn copy_bytes(edges: usize, keys: usize) -> u64 {
    edges as u64 * (12 + 16 * keys as u64)
}

/// What is within the labels of a body whose lists are `stored`.
fn lists_within<S: StoredLists>(within: &ScopedLists, stored: &S) -> S {
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

    /// Whether edges of this type may name vertices of other labels than the chosen.
    fn leaves_scope(&self, edge_type: TypeId) -> bool {
        self.projection().labels.as_ref().is_some_and(|labels| {
            let mut joins = self.request.catalogue.joins(edge_type);
            joins.any(|(source, target)| !labels.contains(&source) || !labels.contains(&target))
        })
    }

    fn list(
        &self,
        segment: &dyn FreezeSegment<Lists = S::Lists>,
        of: WeighedSegment,
    ) -> Result<FrozenList<S::Lists>> {
        let projection = self.projection();
        if projection.vertices.is_some() || !projection.edges.is_empty() {
            return self.filtered(segment, of);
        }
        let labels = self.labels.as_ref().filter(|_| self.leaves_scope(of.edge_type));
        let Some(weights) = &self.weights else { return self.by_keys(segment, labels, None) };
        match weights.of_all(of.edge_type) {
            Some(number) => self.by_keys(segment, labels, Some((weights, number))),
            None => self.by_properties(segment, of, labels, weights),
        }
    }

    /// The lists of a segment whose edges weigh the same, or nothing: no property is looked at.
    fn by_keys(
        &self,
        segment: &dyn FreezeSegment<Lists = S::Lists>,
        labels: Option<&LabelScope<'_>>,
        number: Option<(&EdgeWeights<'_>, f64)>,
    ) -> Result<FrozenList<S::Lists>> {
        let stored = segment.lists()?;
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
        let weights = self.repeated(weights, number, store.lists()?)?;
        FrozenList::new(store, weights, fresh)
    }

    /// The lists of a segment with weights that a property says.
    fn by_properties(
        &self,
        segment: &dyn FreezeSegment<Lists = S::Lists>,
        of: WeighedSegment,
        labels: Option<&LabelScope<'_>>,
        weights: &EdgeWeights<'_>,
    ) -> Result<FrozenList<S::Lists>> {
        let weighed = match self.weighed(segment, of, labels, weights) {
            Ok(weighed) => weighed,
            // Of a stored edge, which records may have taken away, or given a weight.
            Err(error) if error.kind() == ErrorKind::Invalid => return self.filtered(segment, of),
            Err(error) => return Err(error),
        };
        let mut fresh = None;
        segment.with_nets(&mut |nets| {
            fresh = Self::weighted(&weighed, nets, of, weights, labels)?;
            Ok(())
        })?;
        let (store, weights) = weighed;
        FrozenList::new(store, weights, fresh)
    }

    /// The stored lists of a segment, without the edges that leave the labels, and their weights.
    fn weighed(
        &self,
        segment: &dyn FreezeSegment<Lists = S::Lists>,
        of: WeighedSegment,
        labels: Option<&LabelScope<'_>>,
        weights: &EdgeWeights<'_>,
    ) -> Result<WeighedLists<S::Lists>> {
        let stored = segment.lists()?;
        let is_made = labels.is_some() || Self::needs_conversion(&stored, weights)?;
        let Some(scope) = self.labels.as_ref().filter(|_| is_made) else {
            let own = self.stored_weights(&stored, of, weights)?;
            return Ok((stored, own));
        };
        let made = self.kept_or_made(scope, &stored.identity(), || {
            let lists = match labels {
                Some(labels) => self.cut_to_labels(segment, stored.lists()?, labels)?,
                None => ScopedLists::Whole,
            };
            let store = lists_within(&lists, &stored);
            if !Self::needs_conversion(&store, weights)? {
                return Ok(lists.into());
            }
            // What they become is counted where they are kept.
            let _meanwhile = self.request.budget.reserve(WEIGHTS, weight_bytes(store.lists()?) as u64)?;
            let own = weights.converted(store.lists()?, store.column(weights.key())?.as_ref(), of)?;
            Ok(ScopedBody { lists, weights: Some(own) })
        })?;
        let store = lists_within(&made.lists, &stored);
        let own = match made.weights {
            Some(own) => ListWeights::Own(own),
            None => self.stored_weights(&store, of, weights)?,
        };
        Ok((store, own))
    }

    /// What is kept of a body for `scope`, or else what `make` makes of it, which is kept then.
    ///
    /// # Errors
    /// Those of `make`; `limit` if nobody keeps it and the budget refuses.
    fn kept_or_made(
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

    fn cut_to_labels(
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
    fn filtered(
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
            body = Some(if nets.is_empty() { before } else { Arc::new(before.copied(nets)) });
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
            Some(weights) => self.stored_weights(&store, of, weights)?,
            None => ListWeights::None,
        };
        FrozenList::new(store, weights, None)
    }

    /// Whether there has to be a number for each edge of `store` that is not there yet.
    fn needs_conversion(store: &S::Lists, weights: &EdgeWeights<'_>) -> Result<bool> {
        Ok(match store.column(weights.key())? {
            Some(column) => column.floats()?.is_none(),
            None => weights.weight().missing.is_none(),
        })
    }

    /// The weights of all stored edges.
    fn stored_weights(
        &self,
        store: &S::Lists,
        of: WeighedSegment,
        weights: &EdgeWeights<'_>,
    ) -> Result<ListWeights<<S::Lists as StoredLists>::Column>> {
        let lists = store.lists()?;
        let is_converted = Self::needs_conversion(store, weights)?;
        match (store.column(weights.key())?, weights.weight().missing) {
            (Some(column), _) if !is_converted => Ok(ListWeights::Column(column)),
            (None, Some(number)) => self.repeated(weights, number, lists),
            (column, _) => {
                self.reserve(WEIGHTS, weight_bytes(lists))?;
                Ok(ListWeights::Own(weights.converted(lists, column.as_ref(), of)?))
            }
        }
    }

    /// `number`, the weight of edges without the property, for all edges of `lists`.
    fn repeated<C>(
        &self,
        weights: &EdgeWeights<'_>,
        number: f64,
        lists: EdgeLists<'_>,
    ) -> Result<ListWeights<C>> {
        let repeated = weights.repeated(number, longest_list(lists), |bytes| self.reserve(WEIGHTS, bytes));
        Ok(ListWeights::Same(repeated?))
    }

    /// As [`FreshLists::of_differences`], of edges within the labels, with weights: a row whose weights change is merged anew
    /// too.
    fn weighted(
        (store, stored_weights): &WeighedLists<S::Lists>,
        nets: &[Net],
        of: WeighedSegment,
        weights: &EdgeWeights<'_>,
        labels: Option<&LabelScope<'_>>,
    ) -> Result<Option<Box<FreshLists>>> {
        let (lists, stored_weights) = (store.lists()?, stored_weights.resolved()?);
        if let Some(net) = nets.last()
            && u32::from(net.key.row()) >= GROUP_SIZE
        {
            let text = format!("a record of group {} is of row {}", of.group.0, net.key.row());
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        let is_in = |net: &&Net| labels.is_none_or(|labels| labels.contains(net.key.neighbor()));
        let nets: Vec<&Net> = nets.iter().filter(is_in).collect();
        let mut fresh = FreshLists::new();
        for of_row in nets.chunk_by(|a, b| a.key.row() == b.key.row()) {
            let row = of_row[0].key.row();
            let is_replaced = of_row.iter().any(|net| net.difference != 1);
            let range = lists.range(row);
            let copy = |fresh: &mut FreshLists, range: Range<usize>| {
                fresh.neighbors.extend_from_slice(&lists.neighbors()[range.clone()]);
                fresh.weights.extend_from_slice(stored_weights.of(range));
            };
            let mut from = range.start;
            for net in of_row {
                let mut stored = None;
                if is_replaced {
                    let to = lists.lower_bound(net.key, &range, from);
                    copy(&mut fresh, from..to);
                    let is_there = to < range.end && lists.is_at(net.key, to);
                    stored = is_there.then(|| stored_weights.of(to..to + 1)[0]);
                    from = to + usize::from(is_there);
                }
                if net.effect != Effect::Absent {
                    fresh.neighbors.push(net.key.neighbor());
                    fresh.weights.push(weights.after(net, stored, of)?);
                }
            }
            if is_replaced {
                copy(&mut fresh, from..range.end);
                fresh.replace_row(row, range.len());
            } else {
                fresh.finish_row(row);
            }
        }
        Ok(fresh.finish())
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
        let types = self.projection().types.as_ref();
        let wanted = |edge_type: TypeId| types.is_none_or(|types| types.contains(&edge_type));
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

/// What a number for each edge takes.
fn weight_bytes(lists: EdgeLists<'_>) -> usize {
    lists.edges_count() * size_of::<f64>()
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::frozen::frozen_graph::FrozenGraph;
    use crate::frozen::label_lists::LabelLists;
    use crate::frozen::test_source::{
        Neighbors, ReadWatch, TestEdge, TestSource, WEIGHT, WatchedLists, frozen, visited,
    };
    use evergraph_graph::budget::Unlimited;
    use evergraph_graph::cancel::CancelFlag;
    use evergraph_graph::id::LabelId;
    use evergraph_graph::topology::{Piece, PieceBuffer, Topology as _, Visit, Weight};
    use evergraph_graph::value::{Value, ValueType};
    use evergraph_storage::memory_budget::MemoryBudget;
    use proptest::prelude::*;

    /// Of each group.
    const LABELS: [u16; 2] = [0, 1];

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

    /// What a visit of `direction` should find.
    fn expected(edges: &[TestEdge], projection: &Projection, direction: Direction) -> Neighbors {
        let has_label = |vertex: u32| {
            let label = LabelId(LABELS[VertexId(vertex).group().0 as usize]);
            projection.labels.as_ref().is_none_or(|labels| labels.contains(&label))
        };
        let mut lists = Neighbors::new();
        for edge in edges {
            let types = projection.types.as_ref();
            if !has_label(edge.source)
                || !has_label(edge.target)
                || types.is_some_and(|types| !types.contains(&TypeId(edge.edge_type)))
            {
                continue;
            }
            let number =
                |weight: &Weight| edge.value.as_ref().map_or(weight.missing, Value::as_f64).map(f64::to_bits);
            let weight = projection.weight.as_ref().and_then(number);
            if direction != Direction::In {
                lists.entry(edge.source).or_default().push((edge.target, weight));
            }
            if direction != Direction::Out {
                lists.entry(edge.target).or_default().push((edge.source, weight));
            }
        }
        lists.values_mut().for_each(|list| list.sort_unstable());
        lists
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
    }

    fn weighted(missing: Option<f64>, types: Option<Vec<TypeId>>, direction: Direction) -> Projection {
        let weight = Some(Weight { key: WEIGHT, missing });
        Projection { types, weight, ..Projection::all(direction) }
    }

    #[test]
    fn where_no_edge_has_the_property_no_property_is_looked_at() {
        let mut edges = [(0, 0, 1), (0, 0, 4096), (4097, 0, 1), (0, 1, 2), (0, 0, 3)]
            .map(|(source, edge_type, target)| TestEdge::stored(source, edge_type, target));
        edges[3].value = Some(Value::I64(8));
        edges[4].is_fresh = true;
        let (watch, budget) = (Arc::new(ReadWatch::default()), MemoryBudget::new(u64::MAX));
        let source = TestSource::new(&LABELS, &edges, Some(&watch));
        let transposes = || {
            let reservations = budget.reservations();
            reservations.iter().any(|(purpose, _)| &**purpose == "the in side, turned from the out side")
        };
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

    /// Where the weights of the out side's first edge lie.
    fn weights_place(graph: &FrozenGraph<WatchedLists>) -> usize {
        let mut place = 0;
        let visit = |_: u32, piece: Piece<'_>| {
            place = piece.weights.as_ptr().addr();
            Visit::Stop
        };
        graph
            .visit(Direction::Out, 0..graph.bound(), &mut PieceBuffer::default(), visit)
            .expect("its weights are there");
        place
    }

    #[test]
    fn converted_weights_serve_the_next_snapshot_that_asks_for_the_same() {
        let edges: Vec<TestEdge> = (1..100)
            .map(|target| {
                let value = (target % 3 > 0).then_some(Value::I64(i64::from(target)));
                TestEdge { value, ..TestEdge::stored(0, 1, target) }
            })
            .collect();
        let source = TestSource::new(&LABELS, &edges, None);
        // Labels that no edge leaves, and that some may leave.
        for labels in [None, Some(vec![LabelId(0)])] {
            let budget = MemoryBudget::new(u64::MAX);
            let kept = LabelLists::new(&budget);
            let freeze = |kept: Option<&LabelLists>, missing| {
                let labels = labels.clone();
                let projection = Projection { labels, ..weighted(Some(missing), None, Direction::Out) };
                let graph = frozen(&source, kept, &projection, ValueType::I64, &budget).unwrap();
                assert_eq!(
                    visited(&graph, Direction::Out),
                    expected(&edges, &projection, Direction::Out),
                    "{projection:?}"
                );
                graph
            };
            let kept_bytes = || {
                let reservations = budget.reservations();
                let of_kept = reservations.iter().find(|(purpose, _)| &**purpose == "lists within labels");
                of_kept.map_or(0, |(_, bytes)| *bytes)
            };
            let first = freeze(Some(&kept), 0.5);
            let bytes = kept_bytes();
            assert!(bytes >= 99 * 8, "{bytes} bytes");
            let second = freeze(Some(&kept), 0.5);
            assert_eq!((weights_place(&second), kept_bytes()), (weights_place(&first), bytes));
            let other = freeze(Some(&kept), 0.25);
            assert_ne!(weights_place(&other), weights_place(&first));
            assert!(kept_bytes() > bytes);
            // Nobody keeps these, so that the topology has to.
            let own = freeze(None, 0.5);
            assert_ne!(weights_place(&own), weights_place(&first));
            let used = budget.used_bytes();
            drop(own);
            assert!(budget.used_bytes() + 99 * 8 <= used);
            drop((first, second, other));
            let used = budget.used_bytes();
            assert_eq!(kept_bytes(), used, "the rest went with the topologies");
            drop(kept);
            assert_eq!(budget.used_bytes(), 0);
        }
    }

    #[test]
    fn weights_that_the_budget_refuses_are_an_error() {
        let edges: Vec<TestEdge> = (1..1000)
            .map(|target| TestEdge { value: Some(Value::I64(1)), ..TestEdge::stored(0, 1, target) })
            .collect();
        let source = TestSource::new(&LABELS, &edges, None);
        let projection = weighted(Some(1.0), None, Direction::Out);
        for (limit, is_enough) in [(8192 / 8 + 999 * 8 - 1, false), (8192 / 8 + 999 * 8, true)] {
            let graph = frozen(&source, None, &projection, ValueType::I64, &MemoryBudget::new(limit));
            match graph {
                Ok(graph) => assert!(is_enough && graph.edge_count() == 999),
                Err(error) => assert!(!is_enough && error.kind() == ErrorKind::Limit, "{error}"),
            }
        }
    }
}
