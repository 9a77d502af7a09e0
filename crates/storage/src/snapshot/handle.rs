//! Snapshot: a read-only view of one moment, shared between threads and released when dropped.

use crate::engine::{Engine, FreezeRequest};
use crate::memory_budget::MemoryBudget;
use crate::snapshot::forwarding::view_through_reader;
use crate::snapshot::reader::Reader;
use crate::snapshot::session::Session;
use crate::timeline::registry::Access;
use crate::transaction::front::Front;
use crate::transaction::writes::Writes;
use evergraph_graph::budget::Budget;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::note::Notes;
use evergraph_graph::topology::Projection;
use evergraph_graph::transaction::Freshness;
use evergraph_graph::view::Freeze;
use std::sync::Arc;

static NO_WRITES: Writes = Writes::new();

/// The graph as it was at one moment: in mode `sync` the newest that a power cut would leave.
///
/// Old versions of what others change meanwhile are kept until it is dropped.
pub struct Snapshot<E: Engine> {
    session: Session<E>,
    catalogue: Arc<Catalogue>,
}

impl<E: Engine> Snapshot<E> {
    /// Begins one now, with at least what `freshness` says.
    #[must_use]
    pub fn begin(front: &Arc<Front<E>>, freshness: Freshness) -> Self {
        Self::of(Session::begin_with(front, Access::Read, freshness))
    }

    /// Reads at the moment of `session`.
    #[must_use]
    pub fn of(session: Session<E>) -> Self {
        let catalogue = session.catalogue();
        Self { session, catalogue }
    }

    /// The budget of its store, for those who keep it alive.
    #[must_use]
    pub fn shared_budget(&self) -> Arc<MemoryBudget> {
        Arc::clone(&self.session.front().budget)
    }

    /// What the note `name` says at this moment. Cost: a lock and a few binary searches.
    #[must_use]
    pub fn note(&self, name: &str) -> Option<Arc<[u8]>> {
        self.session.front().notes.get(name, self.session.timestamp())
    }

    /// All notes of this moment. Cost: a lock, and the changes of the newest commits.
    #[must_use]
    pub fn notes(&self) -> Notes {
        self.session.front().notes.at(self.session.timestamp())
    }

    /// A snapshot never expires.
    #[expect(clippy::unused_self, reason = "a transaction looks at its own deadline")]
    fn check_time(&self) -> Result<()> {
        Ok(())
    }

    /// What the engine shows at this moment: for whoever reads below names and indexes, as for another machine. The entries
    /// of the store's own indexes are not in it: see [`Snapshot::items_with_value`].
    #[must_use]
    pub fn view(&self) -> E::View<'_> {
        self.session.view()
    }

    pub(crate) fn reader(&self) -> Reader<'_, E::View<'_>> {
        let front = self.session.front();
        Reader::new(self.session.view(), &NO_WRITES, &self.catalogue, &front.indexes)
    }
}

impl<E: Engine> Freeze for Snapshot<E> {
    type Topology = E::Topology;

    fn freeze_cancellable(&self, projection: &Projection, cancel: &CancelFlag) -> Result<E::Topology> {
        let (session, front) = (&self.session, self.session.front());
        let budget: Arc<dyn Budget> = front.budget.clone();
        let request = FreezeRequest { catalogue: &self.catalogue, projection, budget: &budget, cancel };
        front.engine.freeze(session.pin(), session.timestamp(), &request)
    }

    fn budget(&self) -> &dyn Budget {
        &*self.session.front().budget
    }
}

view_through_reader!(Snapshot);
