//! Index directory: the indexes of a store, including those that are being built.

use crate::index::item::Item;
use crate::index::property_index::PropertyIndex;
use crate::sync::ArcCell;
use crate::view::View;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::index::{IndexId, IndexStatistics};
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Indexes by identity.
pub type ById<I> = BTreeMap<IndexId, Arc<PropertyIndex<I>>>;

/// The indexes at one moment.
#[derive(Clone, Default, Debug)]
pub struct Indexes {
    vertices: ById<VertexId>,
    edges: ById<EdgeId>,
}

/// An item that has indexes of its own.
pub trait Indexed: Item {
    /// The indexes that find such items.
    fn indexes(all: &Indexes) -> &ById<Self>;

    /// As [`Indexed::indexes`], to change them.
    fn indexes_mut(all: &mut Indexes) -> &mut ById<Self>;
}

impl Indexed for VertexId {
    fn indexes(all: &Indexes) -> &ById<Self> {
        &all.vertices
    }

    fn indexes_mut(all: &mut Indexes) -> &mut ById<Self> {
        &mut all.vertices
    }
}

impl Indexed for EdgeId {
    fn indexes(all: &Indexes) -> &ById<Self> {
        &all.edges
    }

    fn indexes_mut(all: &mut Indexes) -> &mut ById<Self> {
        &mut all.edges
    }
}

impl Indexes {
    /// Whether there are none, so that a commit has nothing to keep up.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty() && self.edges.is_empty()
    }

    /// The index of this identity.
    #[must_use]
    pub fn get<I: Indexed>(&self, id: IndexId) -> Option<&Arc<PropertyIndex<I>>> {
        I::indexes(self).get(&id)
    }

    /// Whether an index of this identity is here.
    #[must_use]
    pub fn contains(&self, id: IndexId) -> bool {
        self.vertices.contains_key(&id) || self.edges.contains_key(&id)
    }

    /// Adds an index, in place of one of the same identity.
    pub fn add<I: Indexed>(&mut self, index: Arc<PropertyIndex<I>>) {
        I::indexes_mut(self).insert(index.definition().id, index);
    }

    /// Removes the index of this identity, if it is here.
    pub fn remove(&mut self, id: IndexId) {
        self.vertices.remove(&id);
        self.edges.remove(&id);
    }

    /// Adds all of `others`.
    pub fn extend(&mut self, others: Self) {
        self.vertices.extend(others.vertices);
        self.edges.extend(others.edges);
    }

    /// The indexes on any property of `owner`.
    pub fn of_owner<I: Indexed>(&self, owner: Owner) -> impl Iterator<Item = &Arc<PropertyIndex<I>>> {
        I::indexes(self).range(IndexId::all_of(owner)).map(|(_, index)| index)
    }

    /// The sizes of all as `view` shows them, by identity.
    #[must_use]
    pub fn statistics(&self, view: &impl View) -> Vec<IndexStatistics> {
        let vertices = self.vertices.iter().map(|(id, index)| index.statistics(view.index_size(*id)));
        let edges = self.edges.iter().map(|(id, index)| index.statistics(view.index_size(*id)));
        vertices.chain(edges).collect()
    }
}

/// The indexes of a store.
///
/// Concurrency: any thread looks; they change under the commit latch only, before a commit that changes
/// the catalogue accordingly is published. So a catalogue that somebody loads after taking a timestamp
/// names an index that is here, unless it is dropped since; and a commit whose indexes are still these
/// under the latch keeps all of them up. In a store that reads what another process writes there are no
/// commits: a snapshot that begins brings the indexes of its names, with the registry locked.
#[derive(Debug)]
pub struct IndexDirectory(ArcCell<Indexes>);

impl IndexDirectory {
    /// The given indexes.
    #[must_use]
    pub fn new(indexes: Indexes) -> Self {
        Self(ArcCell::new(Arc::new(indexes)))
    }

    /// The indexes as they are now.
    #[must_use]
    pub fn load(&self) -> Arc<Indexes> {
        self.0.load_full()
    }

    /// The index of this identity.
    #[must_use]
    pub fn get<I: Indexed>(&self, id: IndexId) -> Option<Arc<PropertyIndex<I>>> {
        self.0.load().get(id).cloned()
    }

    /// Whether the indexes are still those of `seen`.
    #[must_use]
    pub fn is(&self, seen: &Arc<Indexes>) -> bool {
        Arc::ptr_eq(&self.0.load(), seen)
    }

    /// Changes the list. Under the latch, or the registry's lock in a store that reads. Returns the old one, to be freed after it.
    #[must_use = "what is displaced is freed after the latch"]
    pub fn change(&self, change: impl FnOnce(&mut Indexes)) -> Arc<Indexes> {
        let mut all = Indexes::clone(&self.0.load());
        change(&mut all);
        self.0.swap(Arc::new(all))
    }

    /// Removes an index. Under the latch. As [`IndexDirectory::change`].
    #[must_use = "what is displaced is freed after the latch"]
    pub fn remove(&self, id: IndexId) -> Arc<Indexes> {
        self.change(|all| all.remove(id))
    }

    /// Puts `indexes` in place of the list. Under the latch. As [`IndexDirectory::change`].
    #[must_use = "what is displaced is freed after the latch"]
    pub fn replace(&self, indexes: Arc<Indexes>) -> Arc<Indexes> {
        self.0.swap(indexes)
    }

    /// Does the removals that are due in every index: see [`PropertyIndex::collect`].
    pub fn collect(&self, oldest: Timestamp) {
        let all = self.load();
        all.vertices.values().for_each(|index| index.collect(oldest));
        all.edges.values().for_each(|index| index.collect(oldest));
    }
}
