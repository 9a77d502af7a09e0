//! Indexing of a graph whose partitions lie elsewhere: all stores that have a part of it build the index, and this one looks for
//! duplicates.
//!
//! ```text
//! names ──> begin ──> wait until all stores have filled it ──> ready
//!                        └── unique: enforce ──> snapshot: a value that is there twice? ── no ──> confirm
//!                                                                └── yes: drop, and say which
//! ```
//!
//! What each step promises to writers is in `transaction/build_indexes.rs`.

use crate::engine::Engine;
use crate::index::property_index::PropertyIndex;
use crate::indexing::{IndexProgress, IndexRequest, differs, refuse_duplicates, unhurried};
use crate::memory_budget::MemoryBudget;
use crate::snapshot::look_up::ReadItem;
use crate::snapshot::session::Session;
use crate::store::Store;
use crate::timeline::registry::Access;
use crate::transaction::build_indexes::{BegunBuild, BuildIndexes, SharedBuild};
use crate::transaction::front::decided_by_shared_log;
use crate::view::View as _;
use evergraph_graph::budget::{Budget as _, Reservation};
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexStatistics};
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::{Freshness, Transaction as _};
use evergraph_graph::view::GraphView as _;

/// What the memory of a search for duplicates is called in a budget.
const DUPLICATES_PURPOSE: &str = "search for duplicates";
/// Hashes that such a search keeps at once, at most and at least: each more than that is another scan.
const HASHES: (usize, usize) = (1 << 23, 1 << 10);

impl<E: Engine> Store<E> {
    /// As [`Store::create_index`], of `definition`, whose names are there, where a log decides that other stores share.
    pub(crate) fn create_shared_index(
        &self,
        request: &IndexRequest<'_>,
        definition: IndexDefinition,
        progress: &mut dyn FnMut(IndexProgress) -> Result<()>,
    ) -> Result<bool> {
        let (build, is_new) = match self.with_builds(|builds| builds.begin(definition))? {
            BegunBuild::Ready(known) if known == definition => return Ok(false),
            BegunBuild::Ready(known) => return Err(differs(&known, request)),
            BegunBuild::New(build) => (build, true),
            BegunBuild::Joined(build) if build.definition == definition => (build, false),
            BegunBuild::Joined(build) => return Err(differs(&build.definition, request)),
        };
        let built = self.build_shared(build, progress);
        if built.is_err() && is_new {
            // Who joined leaves it to those who go on. Why it was not built is what the caller has to know.
            let _ = self.drop_build(build);
        }
        built.map(|()| true)
    }

    fn build_shared(
        &self,
        build: SharedBuild,
        progress: &mut dyn FnMut(IndexProgress) -> Result<()>,
    ) -> Result<()> {
        let done = self.wait_for_stores(build, progress)?;
        if !build.definition.unique {
            return progress(done);
        }
        let Some(enforced) = self.with_builds(|builds| builds.enforce(build))? else { return progress(done) };
        match build.definition.id.owner {
            Owner::Label(_) => self.check_unique::<VertexId>(build, enforced, &mut || progress(done))?,
            Owner::EdgeType(_) => self.check_unique::<EdgeId>(build, enforced, &mut || progress(done))?,
        }
        self.with_builds(|builds| builds.confirm(build))
    }

    /// Waits until all stores have filled the index.
    fn wait_for_stores(
        &self,
        build: SharedBuild,
        progress: &mut dyn FnMut(IndexProgress) -> Result<()>,
    ) -> Result<IndexProgress> {
        loop {
            let waited = self.with_builds(|builds| builds.wait_for(build))?;
            let session = Session::begin(self.front(), Access::Read);
            session.check_begun()?;
            let view = session.view();
            let (groups_count, size) = (view.group_count(), view.index_size(build.definition.id));
            let entries = size.map_or(0, |size| size.entries);
            let Some(nodes) = waited else {
                return Ok(IndexProgress { groups_done: groups_count, groups_count, entries });
            };
            // Nodes have about as many groups each.
            let share = u64::from(nodes.nodes_done) * u64::from(groups_count);
            let groups_done = share / u64::from(nodes.nodes_count.max(1));
            progress(IndexProgress { groups_done: groups_done as u32, groups_count, entries })?;
        }
    }

    /// Refuses values that are there twice at a moment at or behind `enforced`, and drops the index then.
    fn check_unique<I: ReadItem>(
        &self,
        build: SharedBuild,
        enforced: Timestamp,
        check: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let id = build.definition.id;
        let (hashes_max, _room) = room_for_hashes(&self.front().budget, size_of::<(u64, I)>())?;
        let snapshot = self.snapshot_with(Freshness::After(enforced));
        // What is not read has no duplicates.
        snapshot.check_begun()?;
        let property = (id.owner, id.key);
        let found = snapshot.reader().duplicates::<I>(property, (hashes_max, self.random_u64()), check)?;
        let refused = refuse_duplicates(&found, id, &snapshot.catalogue());
        if refused.is_err() {
            // Whoever began it: it never will be unique.
            self.drop_build(build)?;
        }
        refused
    }

    /// Ends a build, unless it has ended.
    fn drop_build(&self, build: SharedBuild) -> Result<()> {
        self.retrying(unhurried(), |mut transaction| {
            let builds = transaction.session().graph_log().and_then(|log| log.index_builds());
            if !builds.is_some_and(|builds| builds.goes_on(build)) {
                return Ok(());
            }
            transaction.is_for_an_index();
            transaction.schema_mut().make(SchemaChange::DropIndex(build.definition.id));
            transaction.commit().map(drop)
        })
    }

    /// Asks the log, as of now.
    fn with_builds<T>(&self, ask: impl FnOnce(&dyn BuildIndexes) -> Result<T>) -> Result<T> {
        let session = Session::begin(self.front(), Access::Read);
        session.check_begun()?;
        match session.graph_log().and_then(|log| log.index_builds()) {
            Some(builds) => ask(builds),
            None => Err(decided_by_shared_log()),
        }
    }

    /// Adds to `statistics` the indexes that other stores build, as `session` knows them.
    pub(crate) fn add_shared_builds(session: &Session<E>, statistics: &mut Vec<IndexStatistics>) {
        let (engine, view) = (&session.front().engine, session.view());
        for definition in engine.shared_builds(session.pin()) {
            // Of vertices or of edges: none of its entries are here.
            let index = PropertyIndex::<VertexId>::kept_by_engine(definition, Timestamp::ZERO, 0);
            let building = index.statistics(view.index_size(definition.id));
            match statistics.iter_mut().find(|known| known.definition.id == definition.id) {
                // It answers already, and is not yet what it becomes.
                Some(known) => *known = building,
                None => statistics.push(building),
            }
        }
        statistics.sort_by_key(|index| index.definition.id);
    }
}

/// Memory for so many hashes of so many bytes each as the budget has, but for the least number.
fn room_for_hashes(budget: &MemoryBudget, bytes: usize) -> Result<(usize, Reservation)> {
    let (mut count, least) = HASHES;
    loop {
        match budget.reserve(DUPLICATES_PURPOSE, (count * bytes) as u64) {
            Ok(room) => return Ok((count, room)),
            Err(error) if count <= least => return Err(error),
            Err(_) => count /= 2,
        }
    }
}
