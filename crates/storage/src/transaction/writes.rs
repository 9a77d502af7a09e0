//! Writes: the buffered writes of a transaction, at most one coalesced write an item.
//!
//! ```text
//! FIRST      THEN add   put       set      delete
//! (nothing)  Add        Replace*  Set      Delete      * Insert if the edge isn't there at S
//! Add        -          Insert    Add      (nothing)
//! Insert     -          Insert    Insert   (nothing)
//! Replace    -          Replace   Replace  Delete
//! Set        -          Replace   Set      Delete
//! Delete     Replace+   Replace   -        -           + a simple type: only discriminator zero
//! ```
//!
//! Vertices know Insert, Set and Delete. Deleting a vertex deletes its edges at S, one write each,
//! and takes back those that this transaction added.
//!
//! This file knows nothing of what is stored: callers say what was there at S.

use crate::index::entry_bound::EntryBound;
use crate::transaction::sorted_map::SortedMap;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GROUP_SIZE, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_graph::value::Value;
use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Included};
use std::sync::OnceLock;

/// The most writes of one transaction: their keys are checked under the latch.
pub const WRITES_MAX: usize = 1_000_000;

/// What happens to a vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VertexWrite {
    /// It is new.
    Insert {
        /// The label of its group.
        label: LabelId,
        /// Its properties, without removals.
        properties: Properties,
    },
    /// It was there at S; some properties change.
    Set(Properties),
    /// It was there at S and goes.
    Delete,
}

/// What happens to an edge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EdgeWrite {
    /// It is new; its discriminator may change at commit. Without removals.
    Add(Properties),
    /// It is new, and its discriminator is part of what was asked for. Without removals.
    Insert(Properties),
    /// It was there at S and has exactly these properties now. Without removals.
    Replace(Properties),
    /// It was there at S; some properties change.
    Set(Properties),
    /// It was there at S and goes.
    Delete,
}

impl EdgeWrite {
    /// Of an edge that shall be there with exactly these properties. `at_s`: whether it was there at S.
    fn put(properties: &Properties, at_s: bool) -> Self {
        let properties = properties.without_removals();
        if at_s { Self::Replace(properties) } else { Self::Insert(properties) }
    }

    /// Whether the edge was there at S.
    #[must_use]
    #[inline]
    pub fn was_there(&self) -> bool {
        matches!(self, Self::Replace(_) | Self::Set(_) | Self::Delete)
    }

    /// By how many the edges between its ends change: 1, 0 or -1.
    #[must_use]
    #[inline]
    pub fn balance(&self) -> i64 {
        match self {
            Self::Add(_) | Self::Insert(_) => 1,
            Self::Replace(_) | Self::Set(_) => 0,
            Self::Delete => -1,
        }
    }
}

/// An edge in the order of the in lists: target, type, source, discriminator.
type InOrder = (VertexId, TypeId, VertexId, u16);

/// Values of indexed properties in order, with the items that got them.
pub type ValueOrder<I> = SortedMap<(Owner, KeyId, EntryBound<I>), ()>;

/// The buffered writes of one transaction.
///
/// Cost: a look-up is a binary search; a buffer of one item owns no memory.
#[derive(Clone, Default, Debug)]
pub struct Writes {
    vertices: SortedMap<VertexId, VertexWrite>,
    edges: SortedMap<EdgeId, EdgeWrite>,
    /// The written edges in the order of the in lists; built on first use.
    in_order: OnceLock<BTreeSet<InOrder>>,
    /// Which vertices and edges got which values of indexed properties; a superset, to be re-read.
    vertex_values: ValueOrder<VertexId>,
    edge_values: ValueOrder<EdgeId>,
}

impl Writes {
    /// No writes.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self {
            vertices: SortedMap::new(),
            edges: SortedMap::new(),
            in_order: OnceLock::new(),
            vertex_values: SortedMap::new(),
            edge_values: SortedMap::new(),
        }
    }

    /// Whether there are none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty() && self.edges.is_empty()
    }

    /// Whether a vertex is written.
    #[must_use]
    #[inline]
    pub fn has_vertices(&self) -> bool {
        !self.vertices.is_empty()
    }

    /// Whether an edge is written.
    #[must_use]
    #[inline]
    pub fn has_edges(&self) -> bool {
        !self.edges.is_empty()
    }

    /// How many items are written.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.vertices.len() + self.edges.len()
    }

    /// Refuses `more` items if they would be too many.
    ///
    /// # Errors
    /// `limit` beyond [`WRITES_MAX`].
    pub fn check_room(&self, more: usize) -> Result<()> {
        if self.len() + more <= WRITES_MAX {
            return Ok(());
        }
        let text = format!(
            "the transaction would change {} vertices and edges; at most {WRITES_MAX} fit in one: commit in parts",
            self.len() + more
        );
        Err(Error::new(ErrorKind::Limit, text))
    }

    /// What happens to `vertex`, if anything.
    #[must_use]
    pub fn vertex(&self, vertex: VertexId) -> Option<&VertexWrite> {
        self.vertices.get(&vertex)
    }

    /// What happens to `edge`, if anything.
    #[must_use]
    pub fn edge(&self, edge: EdgeId) -> Option<&EdgeWrite> {
        self.edges.get(&edge)
    }

    /// All vertex writes, by id.
    #[inline]
    pub fn vertices(&self) -> impl Iterator<Item = (VertexId, &VertexWrite)> {
        self.vertices.iter().map(|(vertex, write)| (*vertex, write))
    }

    /// The writes to vertices from `first` through `last`, by id.
    #[inline]
    pub fn vertices_between(
        &self,
        first: VertexId,
        last: VertexId,
    ) -> impl Iterator<Item = (VertexId, &VertexWrite)> {
        self.vertices.range(first..=last).map(|(vertex, write)| (*vertex, write))
    }

    /// All edge writes, by id.
    #[inline]
    pub fn edges(&self) -> impl Iterator<Item = (EdgeId, &EdgeWrite)> {
        self.edges.iter().map(|(edge, write)| (*edge, write))
    }

    /// The edges written that start in `group`, by id.
    pub fn edges_from_group(&self, group: GroupId) -> impl Iterator<Item = EdgeId> {
        let edge = |source, edge_type, target, discriminator| EdgeId {
            source,
            edge_type: TypeId(edge_type),
            target: VertexId(target),
            discriminator,
        };
        let last = VertexId(group.first().0 + (GROUP_SIZE - 1));
        let range = edge(group.first(), 0, 0, 0)..=edge(last, u16::MAX, u32::MAX, u16::MAX);
        self.edges.range(range).map(|(edge, _)| *edge)
    }

    /// The writes to edges of a type on a plain side of `vertex`, by neighbour, then discriminator.
    #[inline]
    pub fn edges_of(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
    ) -> impl Iterator<Item = (EdgeId, &EdgeWrite)> {
        self.edges_after(vertex, edge_type, side, None)
    }

    /// As [`Writes::edges_of`], of those behind a neighbour and discriminator.
    pub fn edges_after(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        after: Option<(VertexId, u16)>,
    ) -> impl Iterator<Item = (EdgeId, &EdgeWrite)> {
        let out = (side == Direction::Out).then(|| {
            let edge = |(target, discriminator)| EdgeId { source: vertex, edge_type, target, discriminator };
            let from = after.map_or(Included(edge((VertexId(0), 0))), |after| Excluded(edge(after)));
            self.edges.range((from, Included(edge((VertexId(u32::MAX), u16::MAX)))))
        });
        let into = (side != Direction::Out).then(|| {
            let edge = |(source, discriminator)| (vertex, edge_type, source, discriminator);
            let from = after.map_or(Included(edge((VertexId(0), 0))), |after| Excluded(edge(after)));
            self.in_order().range((from, Included(edge((VertexId(u32::MAX), u16::MAX)))))
        });
        let out = out.into_iter().flatten().map(|(edge, write)| (*edge, write));
        out.chain(into.into_iter().flatten().map(|entry| self.written(entry)))
    }

    /// The writes to edges of a type from `source` to `target`, by discriminator.
    pub fn edges_between(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
    ) -> impl Iterator<Item = (u16, &EdgeWrite)> {
        let edge = |discriminator| EdgeId { source, edge_type, target, discriminator };
        self.edges.range(edge(0)..=edge(u16::MAX)).map(|(edge, write)| (edge.discriminator, write))
    }

    /// Appends the types of the edges written on a plain side of `vertex`, ascending.
    pub fn edge_types_of(&self, vertex: VertexId, side: Direction, types: &mut Vec<TypeId>) {
        let mut from = Some(TypeId(0));
        while let Some(least) = from {
            let found = match side {
                Direction::Out => {
                    let edge = |edge_type, end| EdgeId {
                        source: vertex,
                        edge_type,
                        target: VertexId(end),
                        discriminator: end as u16,
                    };
                    let range = edge(least, 0)..=edge(TypeId(u16::MAX), u32::MAX);
                    self.edges.range(range).next().map(|(edge, _)| edge.edge_type)
                }
                Direction::In | Direction::Both => {
                    let last = (vertex, TypeId(u16::MAX), VertexId(u32::MAX), u16::MAX);
                    self.in_order().range((vertex, least, VertexId(0), 0)..=last).next().map(|entry| entry.1)
                }
            };
            types.extend(found);
            from = found.and_then(|found| found.0.checked_add(1)).map(TypeId);
        }
    }

    /// Adds a vertex with a new id.
    pub fn insert_vertex(&mut self, vertex: VertexId, label: LabelId, properties: &Properties) {
        let properties = properties.without_removals();
        let before = self.vertices.insert(vertex, VertexWrite::Insert { label, properties });
        debug_assert!(before.is_none(), "the id of {vertex} is new");
    }

    /// Changes properties of a vertex that is there, at S or by this transaction.
    pub fn set_vertex(&mut self, vertex: VertexId, changes: &Properties) {
        match self.vertices.get_mut(&vertex) {
            None => drop(self.vertices.insert(vertex, VertexWrite::Set(changes.clone()))),
            Some(VertexWrite::Insert { properties, .. }) => {
                *properties = properties.followed_by(changes).without_removals();
            }
            Some(VertexWrite::Set(properties)) => *properties = properties.followed_by(changes),
            Some(VertexWrite::Delete) => unreachable!("nobody sets a property of {vertex} after deleting it"),
        }
    }

    /// Deletes a vertex that is there, with `edges_at_s`, its edges at S.
    pub fn delete_vertex(&mut self, vertex: VertexId, edges_at_s: &[EdgeId]) {
        let mut own = Vec::new();
        for side in [Direction::Out, Direction::In] {
            let mut types = Vec::new();
            self.edge_types_of(vertex, side, &mut types);
            for edge_type in types {
                own.extend(self.edges_of(vertex, edge_type, side).map(|(edge, _)| edge));
            }
        }
        for edge in own {
            if self.edges.get(&edge).is_some_and(|write| write.balance() > 0) {
                self.forget_edge(edge);
            }
        }
        for edge in edges_at_s {
            self.write_edge(*edge, EdgeWrite::Delete);
        }
        if let Some(VertexWrite::Insert { .. }) = self.vertices.get(&vertex) {
            self.vertices.remove(&vertex);
        } else {
            self.vertices.insert(vertex, VertexWrite::Delete);
        }
    }

    /// Adds an edge with a discriminator that is free, or taken only by an edge that this transaction deleted.
    pub fn add_edge(&mut self, edge: EdgeId, properties: &Properties, renamable: bool) {
        let properties = properties.without_removals();
        let write = match self.edges.get(&edge) {
            None if renamable => EdgeWrite::Add(properties),
            None => EdgeWrite::Insert(properties),
            Some(EdgeWrite::Delete) => EdgeWrite::Replace(properties),
            Some(_) => unreachable!("{edge} is added once"),
        };
        self.write_edge(edge, write);
    }

    /// Makes an edge be there with exactly these properties. `at_s`: whether it was there at S.
    pub fn put_edge(&mut self, edge: EdgeId, properties: &Properties, at_s: bool) {
        self.write_edge(edge, EdgeWrite::put(properties, at_s));
    }

    /// As [`Writes::put_edge`] of each of many: (edge, properties, whether it was there at S). They ascend by id.
    /// Cost: linear if they are the first edges written.
    pub fn put_edges(&mut self, edges: impl Iterator<Item = (EdgeId, Properties, bool)>) {
        if self.has_edges() {
            return edges.for_each(|(edge, properties, at_s)| self.put_edge(edge, &properties, at_s));
        }
        self.in_order = OnceLock::new();
        let put = |(edge, properties, at_s)| (edge, EdgeWrite::put(&properties, at_s));
        self.edges = SortedMap::from_ascending(edges.map(put));
    }

    /// Changes properties of an edge that is there, at S or by this transaction.
    pub fn set_edge(&mut self, edge: EdgeId, changes: &Properties) {
        use EdgeWrite::{Add, Insert, Replace, Set};
        match self.edges.get_mut(&edge) {
            None => self.write_edge(edge, Set(changes.clone())),
            Some(Add(properties) | Insert(properties) | Replace(properties)) => {
                *properties = properties.followed_by(changes).without_removals();
            }
            Some(Set(properties)) => *properties = properties.followed_by(changes),
            Some(EdgeWrite::Delete) => unreachable!("nobody sets a property of {edge} after deleting it"),
        }
    }

    /// Deletes an edge that is there, at S or by this transaction.
    pub fn delete_edge(&mut self, edge: EdgeId) {
        if self.edges.get(&edge).is_some_and(|write| write.balance() > 0) {
            self.forget_edge(edge);
        } else {
            self.write_edge(edge, EdgeWrite::Delete);
        }
    }

    /// Gives an added edge another discriminator.
    pub fn rename_edge(&mut self, edge: EdgeId, discriminator: u16) {
        let write = self.edges.get(&edge).cloned().expect("an edge that is renamed was added");
        self.forget_edge(edge);
        self.write_edge(EdgeId { discriminator, ..edge }, write);
    }

    /// Notes that `vertex` got a value of an indexed property.
    #[inline]
    pub fn note_vertex(&mut self, label: LabelId, key: KeyId, value: Value, vertex: VertexId) {
        self.vertex_values.insert((Owner::Label(label), key, EntryBound::At(value, Some(vertex))), ());
    }

    /// Notes that `edge` got a value of an indexed property.
    #[inline]
    pub fn note_edge(&mut self, key: KeyId, value: Value, edge: EdgeId) {
        self.edge_values
            .insert((Owner::EdgeType(edge.edge_type), key, EntryBound::At(value, Some(edge))), ());
    }

    /// What was noted of vertices.
    #[must_use]
    pub fn vertex_values(&self) -> &ValueOrder<VertexId> {
        &self.vertex_values
    }

    /// What was noted of edges.
    #[must_use]
    pub fn edge_values(&self) -> &ValueOrder<EdgeId> {
        &self.edge_values
    }

    fn write_edge(&mut self, edge: EdgeId, write: EdgeWrite) {
        if self.edges.insert(edge, write).is_none()
            && let Some(in_order) = self.in_order.get_mut()
        {
            in_order.insert(by_target(edge));
        }
    }

    fn forget_edge(&mut self, edge: EdgeId) {
        self.edges.remove(&edge);
        if let Some(in_order) = self.in_order.get_mut() {
            in_order.remove(&by_target(edge));
        }
    }

    fn in_order(&self) -> &BTreeSet<InOrder> {
        self.in_order.get_or_init(|| self.edges.iter().map(|(edge, _)| by_target(*edge)).collect())
    }

    fn written(&self, entry: &InOrder) -> (EdgeId, &EdgeWrite) {
        let (target, edge_type, source, discriminator) = *entry;
        let edge = EdgeId { source, edge_type, target, discriminator };
        (edge, self.edges.get(&edge).expect("both orders hold the same edges"))
    }
}

fn by_target(edge: EdgeId) -> InOrder {
    (edge.target, edge.edge_type, edge.source, edge.discriminator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Stored = BTreeMap<KeyId, Value>;
    type Graph = (BTreeSet<VertexId>, BTreeMap<EdgeId, Stored>);

    const KEY: KeyId = KeyId(0);

    fn edge(source: u32, target: u32, discriminator: u16) -> EdgeId {
        let edge_type = TypeId((source + target) as u16 % 2);
        EdgeId { source: VertexId(source), edge_type, target: VertexId(target), discriminator }
    }

    fn properties(value: Option<i64>) -> Properties {
        Properties::new(vec![(KEY, value.map(Value::I64)), (KeyId(1), Some(Value::I64(7)))])
    }

    fn stored(properties: &Properties) -> Stored {
        properties.as_slice().iter().filter_map(|(key, value)| Some((*key, value.clone()?))).collect()
    }

    fn change(stored: &mut Stored, changes: &Properties) {
        for (key, value) in changes.as_slice() {
            match value {
                Some(value) => stored.insert(*key, value.clone()),
                None => stored.remove(key),
            };
        }
    }

    /// What the buffered writes make of `base`, checking that each fits what is there.
    fn applied((mut vertices, mut edges): Graph, writes: &Writes) -> Graph {
        for (id, write) in writes.edges() {
            match write {
                EdgeWrite::Add(all) | EdgeWrite::Insert(all) => {
                    assert!(edges.insert(id, stored(all)).is_none())
                }
                EdgeWrite::Replace(all) => assert!(edges.insert(id, stored(all)).is_some()),
                EdgeWrite::Set(changes) => change(edges.get_mut(&id).unwrap(), changes),
                EdgeWrite::Delete => assert!(edges.remove(&id).is_some()),
            }
        }
        for (vertex, write) in writes.vertices() {
            assert!(match write {
                VertexWrite::Insert { .. } => vertices.insert(vertex),
                VertexWrite::Set(_) => vertices.contains(&vertex),
                VertexWrite::Delete => vertices.remove(&vertex),
            });
        }
        (vertices, edges)
    }

    proptest! {
        /// Writes to few items on top of some that are there at S: the buffer has the same effect as
        /// the writes one by one, and both orders of its edges agree.
        #[test]
        fn coalesced_writes_have_the_effect_of_the_writes_one_by_one(
            at_s in proptest::collection::btree_set((0u32..3, 0u32..3), 0..6),
            steps in proptest::collection::vec((0u8..6, 0u32..5, 0u32..5, proptest::option::of(0i64..3)), 0..40),
        ) {
            let vertices = (0..3).map(VertexId).collect();
            let edges = at_s.iter().map(|(s, t)| (edge(*s, *t, 0), stored(&properties(Some(9))))).collect();
            let base: Graph = (vertices, edges);
            let (mut now, mut writes) = (base.clone(), Writes::new());
            for (action, source, target, value) in steps {
                let (id, values) = (edge(source, target, 0), properties(value));
                let vertex = VertexId(source);
                let ends = now.0.contains(&id.source) && now.0.contains(&id.target);
                match action {
                    0 if ends && !now.1.contains_key(&id) => {
                        writes.add_edge(id, &values, !base.1.contains_key(&id));
                        now.1.insert(id, stored(&values));
                    }
                    1 if ends => {
                        writes.put_edge(id, &values, base.1.contains_key(&id));
                        now.1.insert(id, stored(&values));
                    }
                    2 if now.1.contains_key(&id) => {
                        writes.set_edge(id, &values);
                        change(now.1.get_mut(&id).unwrap(), &values);
                    }
                    3 if now.1.remove(&id).is_some() => writes.delete_edge(id),
                    4 if source >= 3 && !base.0.contains(&vertex) && now.0.insert(vertex) => {
                        writes.insert_vertex(vertex, LabelId(0), &values);
                    }
                    5 if now.0.remove(&vertex) => {
                        let touches = |id: &EdgeId| id.source == vertex || id.target == vertex;
                        let at_s: Vec<EdgeId> = base.1.keys().filter(|id| touches(id)).copied().collect();
                        writes.delete_vertex(vertex, &at_s);
                        now.1.retain(|id, _| !touches(id));
                    }
                    _ => {}
                }
                prop_assert_eq!(applied(base.clone(), &writes), now.clone());
                // The order by target that is kept from the first step on, and one that is made now.
                for writes in [&writes, &Writes { in_order: OnceLock::new(), ..writes.clone() }] {
                    let mut into = BTreeSet::new();
                    for vertex in (0..5).map(VertexId) {
                        let mut types = Vec::new();
                        writes.edge_types_of(vertex, Direction::In, &mut types);
                        for edge_type in types {
                            into.extend(writes.edges_of(vertex, edge_type, Direction::In).map(|(id, _)| id));
                        }
                    }
                    prop_assert!(into.iter().copied().eq(writes.edges().map(|(id, _)| id)));
                }
            }
        }
    }

    #[test]
    fn an_item_that_came_and_went_leaves_nothing() {
        let mut writes = Writes::new();
        writes.insert_vertex(VertexId(7), LabelId(0), &Properties::EMPTY);
        writes.add_edge(edge(7, 0, 3), &Properties::EMPTY, true);
        writes.delete_vertex(VertexId(7), &[]);
        assert!(writes.is_empty());
    }

    #[test]
    fn one_write_too_many_is_a_limit_that_names_it() {
        let mut writes = Writes::new();
        (0..WRITES_MAX as u32)
            .for_each(|id| writes.insert_vertex(VertexId(id), LabelId(0), &Properties::EMPTY));
        assert!(writes.check_room(0).is_ok());
        let error = writes.check_room(1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("1000000"), "{error}");
    }
}
