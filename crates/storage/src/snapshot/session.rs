//! Session: a timestamp in use, kept in the registry until the session is dropped.

use crate::engine::Engine;
use crate::index::directory::Indexes;
use crate::index::item::Item;
use crate::index::property_index::{Completion as _, PropertyIndex};
use crate::planted::{Bug, planted};
use crate::timeline::clock::OutOfReach;
use crate::timeline::registry::Access;
use crate::transaction::front::{Front, LogAccess};
use crate::transaction::give_names::GiveNames;
use crate::transaction::graph_log::GraphLog;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Freshness;
use std::sync::Arc;
use std::time::Duration;

/// A registered reader or writer of a store.
///
/// Nothing that its timestamp needs is dropped while it lives, so keep it for as short as possible.
pub struct Session<E: Engine> {
    /// Dropped first, while the engine that it holds files of is there for certain.
    pin: E::Pin,
    front: Arc<Front<E>>,
    timestamp: Timestamp,
    access: Access,
    /// When a reader began. A writer is short, and a look at the clock would be a part of it.
    begun: Option<Duration>,
}

impl<E: Engine> Session<E> {
    /// Begins at the newest commit (to write), or at the newest that snapshots see (to read).
    #[must_use]
    pub fn begin(front: &Arc<Front<E>>, access: Access) -> Self {
        Self::begin_with(front, access, Freshness::Applied)
    }

    /// The same, with at least what `freshness` says.
    #[must_use]
    pub fn begin_with(front: &Arc<Front<E>>, access: Access, freshness: Freshness) -> Self {
        let begun = (access == Access::Read).then(|| front.timeline.clock().now());
        let pin = |timestamp| {
            let pin = front.engine.pin(timestamp);
            // With the registry locked: the newest one stays.
            if let Some(catalogue) = front.shared_catalogue(&pin)
                && !Arc::ptr_eq(&catalogue, &front.catalogue.load())
            {
                if E::KEEPS_INDEXES {
                    drop(front.indexes.change(|all| *all = shared_indexes(&*front.engine, &pin, &catalogue)));
                }
                front.catalogue.swap(catalogue);
            }
            pin
        };
        let (timestamp, pin) = front.timeline.begin_at(access, freshness, begun, pin);
        Self { pin, front: Arc::clone(front), timestamp, access, begun }
    }

    /// Begins at exactly `timestamp`, to read, in a store that writes.
    ///
    /// # Errors
    /// As [`Timeline::begin_exactly`](crate::timeline::clock::Timeline::begin_exactly).
    pub fn begin_exactly(
        front: &Arc<Front<E>>,
        timestamp: Timestamp,
    ) -> std::result::Result<Self, OutOfReach> {
        let begun = front.timeline.clock().now();
        let pin = front.timeline.begin_exactly(timestamp, begun, || front.engine.pin(timestamp))?;
        Ok(Self { pin, front: Arc::clone(front), timestamp, access: Access::Read, begun: Some(begun) })
    }

    /// Whether there is a moment to read: always, but where the graph lies elsewhere. Cost: none for others.
    ///
    /// # Errors
    /// Why the session could not begin, as [`Engine::check_begun`].
    #[inline]
    pub fn check_begun(&self) -> Result<()> {
        match self.front.log_access {
            LogAccess::Writes(_) | LogAccess::Applies(_) => Ok(()),
            LogAccess::Reads(_) | LogAccess::Shared(_) if planted(Bug::RefusedBeginUntold) => Ok(()),
            LogAccess::Reads(_) | LogAccess::Shared(_) => self.front.engine.check_begun(&self.pin),
        }
    }

    /// The moment that is read.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// The store's shared state.
    #[must_use]
    pub fn front(&self) -> &Arc<Front<E>> {
        &self.front
    }

    /// What the engine holds for this session.
    #[must_use]
    pub fn pin(&self) -> &E::Pin {
        &self.pin
    }

    /// Who decides the commits of this session, and gives names and ids, if that is a log that other stores share.
    #[inline]
    pub(crate) fn graph_log(&self) -> Option<&dyn GraphLog> {
        match &self.front.log_access {
            LogAccess::Writes(_) | LogAccess::Applies(_) | LogAccess::Reads(_) => None,
            LogAccess::Shared(log) => Some(log(&self.pin)),
        }
    }

    /// Who gives new names numbers.
    #[inline]
    pub(crate) fn names(&self) -> &dyn GiveNames {
        match self.graph_log() {
            None => &self.front.names,
            Some(log) => log,
        }
    }

    /// Names of at least what this moment shows. Where a shared log decides, of exactly this moment: what a commit rests on. If it
    /// could not begin ([`Session::check_begun`]), those that were known last.
    #[must_use]
    #[inline]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        if let LogAccess::Shared(_) = self.front.log_access
            && let Some(catalogue) = self.front.engine.shared_catalogue(&self.pin)
        {
            return catalogue;
        }
        // After the timestamp was taken.
        self.front.catalogue.load_full()
    }

    /// The engine's view of this moment.
    #[must_use]
    pub fn view(&self) -> E::View<'_> {
        self.front.engine.view(&self.pin, self.timestamp)
    }
}

/// The indexes of `catalogue` whose entries another process keeps.
fn shared_indexes<E: Engine>(engine: &E, pin: &E::Pin, catalogue: &Catalogue) -> Indexes {
    let mut indexes = Indexes::default();
    for definition in catalogue.indexes() {
        let Some(since) = engine.shared_index(pin, definition.id) else { continue };
        match definition.id.owner {
            Owner::Label(_) => indexes.add(shared_index::<VertexId>(definition, since)),
            Owner::EdgeType(_) => indexes.add(shared_index::<EdgeId>(definition, since)),
        }
    }
    indexes
}

/// An index that is ready since a commit. Nobody enters anything here.
fn shared_index<I: Item>(definition: IndexDefinition, since: Timestamp) -> Arc<PropertyIndex<I>> {
    let index = PropertyIndex::kept_by_engine(definition, since, 0);
    index.complete(since);
    index.newcomers().forget();
    Arc::new(index)
}

impl<E: Engine> Drop for Session<E> {
    fn drop(&mut self) {
        if self.front.timeline.end_at(self.timestamp, self.access, self.begun) {
            self.front.engine.snapshot_ended();
        }
    }
}
