//! Freezer: turns segments and the records on top of them into lists for algorithms, group by group, on rayon's current
//! pool.
//!
//! ```text
//! neither weights nor filters    the stored lists as they lie, and fresh lists by keys alone
//! weights                        the same with the column, or numbers converted from it, and fresh weights by properties
//! edges leave the labels         the same on what the stored lists have within these, which is kept for the next time
//! vertices or edges are chosen   a copy of the lists
//! ```

use crate::body::Body as _;
use crate::edge_body::EdgeBody;
use crate::edge_lists::EdgeLists;
use crate::frozen::fresh_lists::FreshLists;
use crate::frozen::frozen_list::{FrozenList, ListWeights};
use crate::frozen::label_lists::{LabelLists, ListChoice, ScopedLists};
use crate::frozen::resolved_list::ResolvedList;
use crate::frozen::stored_lists::{StoredColumn, StoredLists};
use crate::net::{Effect, Net};
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::topology::{Piece, Projection, Visit, Weight};
use evergraph_graph::value::Value;
use evergraph_graph::vertex_set::VertexSet;
use evergraph_storage::engine::FreezeRequest;
use evergraph_storage::record::RecordKey;
use evergraph_storage::sync::Mutex;
use evergraph_storage::view::GroupBits;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// The lists of one side, by group.
pub type FrozenSide<S> = Vec<Box<[FrozenList<S>]>>;

/// What memory for lists with fewer edges than are stored is reserved for.
const LEFT_OUT: &str = "lists without what was left out";

/// What a copy of so many edges with some of their properties takes at most, in bytes: a neighbour and a discriminator, where it
/// lay, and of each property a value before and after.
fn copy_bytes(edges: usize, keys: usize) -> u64 {
    edges as u64 * (12 + 16 * keys as u64)
}

/// Edges whose weights are converted between two looks at the column.
const CONVERTED_AT_ONCE: usize = 1 << 16;

/// Segments as one snapshot sees them.
///
/// # Errors
/// `corrupt` where they lie in files or are shared with other processes.
pub trait FreezeSource: Sync {
    /// Their lists.
    type Lists: StoredLists;

    /// One more than the highest group.
    fn group_count(&self) -> u32;

    /// The label of a group, if it is there.
    fn label(&self, group: GroupId) -> Result<Option<LabelId>>;

    /// The rows of a group that are alive.
    fn live(&self, group: GroupId) -> Result<GroupBits>;

    /// Calls `freeze` with each segment of `group` on `side` whose type is `wanted`, and with its hubs behind it.
    fn for_each_segment(
        &self,
        group: GroupId,
        side: Direction,
        wanted: &dyn Fn(TypeId) -> bool,
        freeze: &mut FreezeVisitor<'_, Self::Lists>,
    ) -> Result<()>;
}

/// What is called with the type of each segment, and with the segment.
pub type FreezeVisitor<'a, L> = dyn FnMut(TypeId, &dyn FreezeSegment<Lists = L>) -> Result<()> + 'a;

/// A segment of edges as one snapshot sees it: lists, and records on top of them.
///
/// # Errors
/// As those of [`FreezeSource`].
pub trait FreezeSegment {
    /// Its lists.
    type Lists: StoredLists;

    /// The lists below the records, whose neighbours all lie in groups.
    fn lists(&self) -> Result<Self::Lists>;

    /// What the records do to the lists, by keys alone.
    fn changes(&self) -> Result<ListChanges>;

    /// The error if the lists cannot have changed so, which says why.
    fn inexact(&self, problem: String) -> Error;

    /// Calls `read` with what the records come to, by key.
    fn with_nets(&self, read: &mut dyn FnMut(&[Net]) -> Result<()>) -> Result<()>;

    /// The lists as a body on the heap, with the properties `keys` at least.
    fn body(&self, keys: &[KeyId]) -> Result<Arc<EdgeBody>>;
}

/// What records do to lists, by keys, which ascend.
#[derive(Debug)]
pub enum ListChanges {
    /// They only add these.
    Inserted(Vec<RecordKey>),
    /// By how many edges each changes them.
    Differences(Vec<(RecordKey, i64)>),
}

/// The chosen labels, where types of edges leave them.
pub(crate) struct LabelScope<'a> {
    choice: ListChoice,
    /// Whether a group has one of the labels.
    groups: Vec<bool>,
    /// What earlier snapshots left.
    kept: Option<&'a LabelLists>,
}

impl<'a> LabelScope<'a> {
    /// The scope of a projection that chooses labels. Cost: a look at each group.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn of(
        source: &impl FreezeSource,
        projection: &Projection,
        kept: Option<&'a LabelLists>,
    ) -> Result<Option<Self>> {
        let Some(labels) = &projection.labels else { return Ok(None) };
        let has = |group| Ok(source.label(group)?.is_some_and(|label| labels.contains(&label)));
        let groups = (0..source.group_count()).map(|group| has(GroupId(group))).collect::<Result<_>>()?;
        let keys = projection.weight.iter().map(|weight| weight.key).collect();
        let mut labels = labels.clone();
        labels.sort_unstable();
        labels.dedup();
        let choice = ListChoice { labels, keys };
        if let Some(kept) = kept {
            kept.begin(&choice);
        }
        Ok(Some(Self { choice, groups, kept }))
    }

    #[inline]
    fn contains(&self, vertex: u32) -> bool {
        self.groups.get(VertexId(vertex).group().0 as usize).is_some_and(|has_label| *has_label)
    }
}

/// How the sides of a projection are frozen.
pub(crate) struct Freezer<'a, S> {
    pub(crate) source: &'a S,
    pub(crate) request: FreezeRequest<'a>,
    /// The vertices in scope.
    pub(crate) scope: &'a VertexSet,
    /// What the lists of types that leave the chosen labels are cut down to.
    pub(crate) labels: Option<LabelScope<'a>>,
    pub(crate) reservations: Mutex<Vec<Reservation>>,
}

/// Neighbours and weights of one group's lists, one behind the other.
type Side = (Vec<u32>, Vec<f64>);

/// The segment whose lists are frozen.
#[derive(Clone, Copy)]
struct Frozen {
    group: GroupId,
    edge_type: TypeId,
}

impl<S: FreezeSource> Freezer<'_, S> {
    fn projection(&self) -> &Projection {
        self.request.projection
    }

    fn weight(&self) -> Option<&Weight> {
        self.projection().weight.as_ref()
    }

    fn reserve(&self, purpose: &'static str, bytes: usize) -> Result<()> {
        let reservation = self.request.budget.reserve(purpose, bytes as u64)?;
        self.reservations.lock().push(reservation);
        Ok(())
    }

    fn weight_error(&self, of: Frozen, row: u16, target: u32, why: &str) -> Error {
        let catalogue = self.request.catalogue;
        let key = self.weight().map_or_else(|| "".into(), |weight| catalogue.key_name(weight.key));
        let (edge_type, source) = (catalogue.edge_type_name(of.edge_type), VertexId::new(of.group, row));
        Error::invalid(format!("the edge {edge_type} from {source} to v{target} {why} as its weight `{key}`"))
    }

    /// A weight from what a property holds.
    fn weight_of(
        &self,
        (number, is_present): (Option<f64>, bool),
        of: Frozen,
        row: impl FnOnce() -> u16,
        target: u32,
    ) -> Result<f64> {
        let missing = self.weight().and_then(|weight| weight.missing);
        match number.or(missing.filter(|_| !is_present)) {
            Some(number) => Ok(number),
            None => {
                let why = if is_present { "has no number" } else { "has no value" };
                Err(self.weight_error(of, row(), target, why))
            }
        }
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
        of: Frozen,
    ) -> Result<FrozenList<S::Lists>> {
        let projection = self.projection();
        if projection.vertices.is_some() || !projection.edges.is_empty() {
            return self.filtered(segment, of);
        }
        let labels = self.labels.as_ref().filter(|_| self.leaves_scope(of.edge_type));
        let store = match labels {
            Some(labels) => self.within(segment, labels)?,
            None => segment.lists()?,
        };
        if self.weight().is_none() {
            let fresh = Self::fresh(segment, &store, labels)?;
            return FrozenList::new(store, ListWeights::None, fresh);
        }
        let weights = match self.weights(&store, of) {
            Ok(weights) => weights,
            // Of a stored edge, which records may have taken away, or given a weight.
            Err(error) if error.kind() == ErrorKind::Invalid => return self.filtered(segment, of),
            Err(error) => return Err(error),
        };
        let mut fresh = None;
        segment.with_nets(&mut |nets| {
            fresh = self.weighted(&store, nets, of, &weights, labels)?;
            Ok(())
        })?;
        FrozenList::new(store, weights, fresh)
    }

    /// The lists of a segment without the edges that leave the labels.
    fn within(
        &self,
        segment: &dyn FreezeSegment<Lists = S::Lists>,
        labels: &LabelScope<'_>,
    ) -> Result<S::Lists> {
        let stored = segment.lists()?;
        let body = stored.identity();
        let within = match labels.kept.and_then(|kept| kept.get(&labels.choice, &body)) {
            Some(within) => within,
            None => {
                let within = self.cut_to_labels(segment, stored.lists()?, labels)?;
                let is_kept = labels.kept.is_some_and(|kept| kept.keep(&labels.choice, &body, &within));
                if let ScopedLists::Part(part) = &within
                    && !is_kept
                {
                    self.reserve(LEFT_OUT, part.bytes().total())?;
                }
                within
            }
        };
        Ok(match within {
            ScopedLists::Whole => stored,
            ScopedLists::Part(part) => S::Lists::of_copy(part),
        })
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
        let keys = &labels.choice.keys;
        // What the lists become is counted where they are kept.
        let _meanwhile =
            self.request.budget.reserve(LEFT_OUT, copy_bytes(lists.edges_count(), keys.len()))?;
        let body = segment.body(keys)?;
        let part = body.filtered(keys, |_, at| labels.contains(body.neighbors()[at]));
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
        of: Frozen,
    ) -> Result<FrozenList<S::Lists>> {
        let filters = &self.projection().edges;
        let weight: Vec<KeyId> = self.weight().iter().map(|weight| weight.key).collect();
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
        let weights = self.weights(&store, of)?;
        FrozenList::new(store, weights, None)
    }

    /// The weights of all stored edges.
    fn weights(
        &self,
        store: &S::Lists,
        of: Frozen,
    ) -> Result<ListWeights<<S::Lists as StoredLists>::Column>> {
        let Some(weight) = self.weight() else { return Ok(ListWeights::None) };
        let column = store.column(weight.key)?;
        let is_plain = match &column {
            Some(column) => column.floats()?.is_some(),
            None => false,
        };
        match column {
            Some(column) if is_plain => Ok(ListWeights::Column(column)),
            column => Ok(ListWeights::Own(self.converted(store.lists()?, column.as_ref(), of)?)),
        }
    }

    /// Numbers of a column's values, for each edge.
    fn converted<C: StoredColumn>(
        &self,
        lists: EdgeLists<'_>,
        column: Option<&C>,
        of: Frozen,
    ) -> Result<Arc<[f64]>> {
        let count = lists.edges_count();
        self.reserve("edge weights", count * 8)?;
        let mut own = Vec::with_capacity(count);
        while own.len() < count {
            let places = own.len()..count.min(own.len() + CONVERTED_AT_ONCE);
            let part = column.map(|column| column.part(places.clone())).transpose()?;
            for at in places {
                let value = part.as_ref().map_or((None, false), |part| part.number(at));
                let row = || lists.row_at(at).expect("the place is one of an edge");
                own.push(self.weight_of(value, of, row, lists.neighbors()[at])?);
            }
        }
        Ok(own.into())
    }

    /// As [`FreshLists::of_differences`], of edges within the labels, with weights: a row whose weights change is merged anew
    /// too.
    fn weighted(
        &self,
        store: &S::Lists,
        nets: &[Net],
        of: Frozen,
        weights: &ListWeights<<S::Lists as StoredLists>::Column>,
        labels: Option<&LabelScope<'_>>,
    ) -> Result<Option<Box<FreshLists>>> {
        let (lists, weights) = (store.lists()?, weights.floats()?);
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
                fresh.weights.extend_from_slice(&weights[range]);
            };
            let mut from = range.start;
            for net in of_row {
                let mut stored = None;
                if is_replaced {
                    let to = lists.lower_bound(net.key, &range, from);
                    copy(&mut fresh, from..to);
                    let is_there = to < range.end && lists.is_at(net.key, to);
                    stored = is_there.then(|| weights[to]);
                    from = to + usize::from(is_there);
                }
                if net.effect != Effect::Absent {
                    fresh.neighbors.push(net.key.neighbor());
                    fresh.weights.push(self.weight_after(net, stored, of)?);
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

    /// The weight of an edge that is there after `net`, which had the weight `stored` before, if it was there.
    fn weight_after(&self, net: &Net, stored: Option<f64>, of: Frozen) -> Result<f64> {
        let key = self.weight().expect("only lists with weights are asked for theirs").key;
        let own = match &net.effect {
            Effect::Present(all) => Some(all.get(key).flatten()),
            Effect::Changed(changes) => changes.get(key),
            Effect::Absent => None,
        };
        let value = match (own, stored) {
            (Some(value), _) => (value.and_then(Value::as_f64), value.is_some()),
            (None, Some(stored)) => return Ok(stored),
            (None, None) => (None, false),
        };
        self.weight_of(value, of, || net.key.row(), net.key.neighbor())
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
            let list = self.list(segment, Frozen { group, edge_type })?;
            if list.edges_count() > 0 {
                lists.push(list);
            }
            Ok(())
        })?;
        Ok(lists.into())
    }

    /// The in side of `out`, with the weights of the out side, which alone knows properties.
    ///
    /// # Errors
    /// `limit` if the budget refuses, `corrupt` if a list names a vertex of no group, and those of the lists.
    pub(crate) fn transposed(
        &self,
        out: &[Box<[FrozenList<S::Lists>]>],
        groups: u32,
    ) -> Result<FrozenSide<S::Lists>> {
        let total: u64 = out.iter().flatten().map(FrozenList::edges_count).sum();
        let bytes = total as usize * 12 + groups as usize * GROUP_SIZE as usize * 4;
        self.reserve("the in side, turned from the out side", bytes)?;
        let mut degrees = vec![0u32; groups as usize * GROUP_SIZE as usize];
        let each_piece = |visit: &mut dyn FnMut(u32, Piece<'_>)| -> Result<()> {
            for (group, lists) in out.iter().enumerate() {
                let lists =
                    lists.iter().map(FrozenList::resolved).collect::<Result<Vec<ResolvedList<'_>>>>()?;
                for row in 0..GROUP_SIZE as u16 {
                    let vertex = VertexId::new(GroupId(group as u32), row).0;
                    for list in &lists {
                        list.visit(row, |piece| {
                            visit(vertex, piece);
                            Visit::Continue
                        });
                    }
                }
            }
            Ok(())
        };
        let mut outside = None;
        each_piece(&mut |vertex, piece| {
            for to in piece.neighbors {
                match degrees.get_mut(*to as usize) {
                    Some(degree) => *degree += 1,
                    None => outside = Some((vertex, *to)),
                }
            }
        })?;
        if let Some((from, to)) = outside {
            let text = format!("an edge leads from v{from} to v{to}, which is in no group");
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        let is_weighted = self.weight().is_some();
        let mut sides: Vec<Side> = Vec::with_capacity(groups as usize);
        let mut next = vec![0u32; degrees.len()];
        for (group, own) in degrees.chunks(GROUP_SIZE as usize).enumerate() {
            let mut start = 0;
            for (row, degree) in own.iter().enumerate() {
                next[group * GROUP_SIZE as usize + row] = start;
                start += degree;
            }
            let weights = if is_weighted { start as usize } else { 0 };
            sides.push((vec![0; start as usize], vec![0.0; weights]));
        }
        // By vertex, so that each list of the other side ascends.
        each_piece(&mut |vertex, piece| {
            for (at, to) in piece.neighbors.iter().enumerate() {
                let place = &mut next[*to as usize];
                let (neighbors, weights) = &mut sides[VertexId(*to).group().0 as usize];
                neighbors[*place as usize] = vertex;
                if is_weighted {
                    weights[*place as usize] = piece.weights[at];
                }
                *place += 1;
            }
        })?;
        let lists = sides.into_iter().zip(degrees.chunks(GROUP_SIZE as usize));
        let list = |((neighbors, weights), degrees): (Side, &[u32])| -> Result<Box<[FrozenList<S::Lists>]>> {
            let body = EdgeBody::new(degrees, neighbors.into(), Box::default(), Vec::new());
            let weights = if is_weighted { ListWeights::Own(weights.into()) } else { ListWeights::None };
            Ok(Box::from([FrozenList::new(S::Lists::of_copy(Arc::new(body)), weights, None)?]))
        };
        lists.map(list).collect()
    }
}
