//! Pending fills: indexes that a commit created in a store of a partition, and that lack what was there before.
//!
//! ```text
//! commit at T   the index is in the catalogue, empty: each commit from T on keeps it up, look-ups read everything
//! fill          a snapshot at T stays open; what it shows goes in, a group at a time, while commits go on
//! filled        the index serves snapshots at T and behind
//! ```
//!
//! As an index that is built beside writers (`indexing.rs`), but the commit comes first: whoever decided it has asked all
//! partitions before, and none may refuse it. A value that is there twice in a unique index is damage then.
//!
//! Nothing of it is on disk: an opening builds every index of the catalogue.

use crate::engine::Engine;
use crate::index::build::{Duplicates, fill_group};
use crate::index::directory::{IndexDirectory, Indexed, Indexes};
use crate::index::property_index::{Completion, PropertyIndex};
use crate::index::rebuild::refuse_stored_twice;
use crate::sync::Mutex;
use crate::timeline::clock::Timeline;
use crate::timeline::registry::Access;
use crate::view::View;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, GroupId, VertexId};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::timestamp::Timestamp;
use std::collections::VecDeque;
use std::sync::Arc;

/// An index, on vertices or on edges.
#[derive(Clone, Debug)]
pub enum CreatedIndex {
    /// On the vertices of a label.
    Vertices(Arc<PropertyIndex<VertexId>>),
    /// On the edges of a type.
    Edges(Arc<PropertyIndex<EdgeId>>),
}

/// The indexes that are to be filled, oldest first.
///
/// Concurrency: one thread fills, any begins. The lock is held for a look at the list.
pub struct PendingFills<E: Engine>(Mutex<VecDeque<PendingFill<E>>>);

struct PendingFill<E: Engine> {
    pin: E::Pin,
    /// T, which is registered.
    at: Timestamp,
    index: CreatedIndex,
    /// The first group that is not in it.
    next: u32,
}

impl<E: Engine> Default for PendingFills<E> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl CreatedIndex {
    /// An empty one, which every commit after `known_from` keeps up. Nobody looks at who enters: that was done where commits
    /// are decided.
    #[must_use]
    pub fn new(definition: IndexDefinition, known_from: Timestamp, seed: u64) -> Self {
        match definition.id.owner {
            Owner::Label(_) => Self::Vertices(empty(definition, known_from, seed)),
            Owner::EdgeType(_) => Self::Edges(empty(definition, known_from, seed)),
        }
    }

    /// Adds it to a list of indexes.
    pub fn add_to(&self, indexes: &mut Indexes) {
        match self {
            Self::Vertices(index) => indexes.add(Arc::clone(index)),
            Self::Edges(index) => indexes.add(Arc::clone(index)),
        }
    }

    /// Whether it is in use: it may be dropped, or dropped and created anew.
    fn is_in(&self, directory: &IndexDirectory) -> bool {
        match self {
            Self::Vertices(index) => is_known(index, directory),
            Self::Edges(index) => is_known(index, directory),
        }
    }

    fn fill<V: View>(&self, view: &V, group: GroupId, catalogue: &Catalogue) -> Result<()> {
        match self {
            Self::Vertices(index) => fill(index, view, group, catalogue),
            Self::Edges(index) => fill(index, view, group, catalogue),
        }
    }

    /// It has all that a snapshot at `at` shows. Under the latch.
    fn complete(&self, at: Timestamp) {
        match self {
            Self::Vertices(index) => complete(index, at),
            Self::Edges(index) => complete(index, at),
        }
    }
}

impl<E: Engine> PendingFills<E> {
    /// Has `index` filled with what there is now. The commit that created it is published, and none behind it.
    pub fn begin(&self, engine: &E, timeline: &Timeline, index: CreatedIndex) {
        let (at, pin) = timeline.begin(Access::Read, |at| engine.pin(at));
        self.0.lock().push_back(PendingFill { pin, at, index, next: 0 });
    }

    /// Fills the oldest one, group by group, while `goes_on` says so; the next call takes up where this one ended. Whether one is
    /// left then, or another one.
    ///
    /// Cost: a scan of the label or type.
    ///
    /// # Errors
    /// `corrupt` if a value of a unique index is there twice; errors of reading, after which the next call tries again.
    pub fn fill(
        &self,
        engine: &E,
        timeline: &Timeline,
        directory: &IndexDirectory,
        catalogue: &Catalogue,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let Some(mut fill) = self.0.lock().pop_front() else { return Ok(false) };
        let ended = fill.go_on(engine, directory, catalogue, goes_on);
        if !matches!(ended, Ok(true)) {
            self.0.lock().push_front(fill);
            return ended.map(|_| true);
        }
        let latch = timeline.latch();
        // One that was dropped meanwhile lacks something, and whoever found it before may still ask whether it serves.
        if fill.index.is_in(directory) {
            fill.index.complete(fill.at);
        }
        drop(latch);
        if timeline.end(fill.at, Access::Read) {
            engine.snapshot_ended();
        }
        drop(fill);
        Ok(!self.0.lock().is_empty())
    }
}

impl<E: Engine> PendingFill<E> {
    /// Whether everything is in it, or nobody needs it any more.
    fn go_on(
        &mut self,
        engine: &E,
        directory: &IndexDirectory,
        catalogue: &Catalogue,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let view = engine.view(&self.pin, self.at);
        // Groups that came later show nothing at T.
        let end = view.group_count();
        while self.next < end && self.index.is_in(directory) {
            if !goes_on() {
                return Ok(false);
            }
            self.index.fill(&view, GroupId(self.next), catalogue)?;
            self.next += 1;
        }
        Ok(true)
    }
}

fn empty<I: Indexed>(definition: IndexDefinition, known_from: Timestamp, seed: u64) -> Arc<PropertyIndex<I>> {
    let index = PropertyIndex::new(definition, known_from, seed);
    index.newcomers().forget();
    Arc::new(index)
}

fn is_known<I: Indexed>(index: &Arc<PropertyIndex<I>>, directory: &IndexDirectory) -> bool {
    directory.get::<I>(index.definition().id).is_some_and(|known| Arc::ptr_eq(&known, index))
}

fn fill<I: Indexed, V: View>(
    index: &PropertyIndex<I>,
    view: &V,
    group: GroupId,
    catalogue: &Catalogue,
) -> Result<()> {
    let mut duplicates = Duplicates::default();
    fill_group(view, index, group, &mut duplicates)?;
    refuse_stored_twice(&duplicates, index.definition(), catalogue)
}

fn complete<I: Indexed>(index: &PropertyIndex<I>, at: Timestamp) {
    index.filled(at);
    index.complete(at);
}
