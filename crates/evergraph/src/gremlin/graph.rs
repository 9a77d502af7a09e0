//! Targets of a query: a snapshot, a transaction, or the database, which decides by the query.

use crate::gremlin::host::QueryHost;
use crate::gremlin::results::Results;
use crate::gremlin::task::Task;
use crate::snapshot::Snapshot;
use evergraph_graph::budget::Budget;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::EdgeId;
use evergraph_graph::transaction::TransactionOptions;
use evergraph_graph::view::{Freeze, GraphView};
use evergraph_query::execute::context::Graph;
use evergraph_query::execute::limits::QueryBudget;
use evergraph_query::explain::Explanation;
use evergraph_query::value::item::{Item, Owner, Property};
use evergraph_query::value::path::Path;
use evergraph_query::write::{Writer, WriterLease};
use std::collections::HashMap;
use std::sync::Arc;

/// One moment, to be read.
pub struct SnapshotTarget<'g> {
    view: &'g dyn GraphView,
    budget: &'g dyn Budget,
}

/// A transaction, to be read and written.
pub struct TransactionTarget<'g> {
    transaction: &'g mut dyn Writer,
    budget: &'g dyn Budget,
    /// Why a query that writes is refused.
    refusal: Option<Error>,
}

/// One moment, to be read, that the results keep alive: they borrow nothing.
pub struct SharedSnapshotTarget(Arc<Snapshot>);

/// A transaction, to be read and written, that the results own until they are dropped: they borrow nothing.
pub struct LeasedTarget {
    lease: Box<dyn WriterLease>,
    budget: Arc<dyn Budget>,
    /// Why a query that writes is refused.
    refusal: Option<Error>,
}

/// A database: a snapshot is read, or a transaction of its own written.
pub struct DatabaseTarget<'g> {
    database: &'g dyn QueryHost,
    pub(crate) options: TransactionOptions,
}

/// What a query can run on.
pub trait QueryTarget: Sized {
    /// The first `most` results of `task`, or more. One that writes, or whose results nobody wants, is run to its end.
    ///
    /// # Errors
    /// Errors of the query.
    fn items(self, task: &Task, most: usize) -> Result<Vec<Item>>;

    /// Runs `task` to its end: what each step did.
    ///
    /// # Errors
    /// Errors of the query.
    fn profile(self, task: &Task) -> Result<Explanation>;

    /// The names that it would meet, and the indexes.
    ///
    /// # Errors
    /// As [`GraphView::check_begun`].
    fn names(&self) -> Result<Arc<Catalogue>>;
}

/// What gives results one by one while the query runs.
pub trait Streams<'g>: QueryTarget {
    /// The results of `task`, from now on.
    ///
    /// # Errors
    /// `invalid` for a plan that can't be run here.
    fn results(self, task: &Task) -> Result<Results<'g>>;
}

impl<'g> SnapshotTarget<'g> {
    pub(crate) fn new<V: Freeze>(view: &'g V, budget: &'g dyn Budget) -> Self {
        Self { view, budget }
    }

    fn graph(&self, task: &Task) -> Result<Graph<'g>> {
        check_reads(task)?;
        Ok(Graph::Read(self.view))
    }

    fn budget(&self) -> QueryBudget<'g> {
        QueryBudget::Borrowed(self.budget)
    }
}

/// Refuses a query that writes.
fn check_reads(task: &Task) -> Result<()> {
    if !task.plan.writes {
        return Ok(());
    }
    Err(Error::invalid(
        "this query writes, and a snapshot can't be written to: run it in a transaction, or on the database",
    ))
}

impl QueryTarget for SnapshotTarget<'_> {
    fn items(self, task: &Task, most: usize) -> Result<Vec<Item>> {
        task.items(self.graph(task)?, self.budget(), most)
    }

    fn profile(self, task: &Task) -> Result<Explanation> {
        task.profile(self.graph(task)?, self.budget())
    }

    fn names(&self) -> Result<Arc<Catalogue>> {
        self.view.names()
    }
}

impl<'g> Streams<'g> for SnapshotTarget<'g> {
    fn results(self, task: &Task) -> Result<Results<'g>> {
        Ok(Results::new(task.begin(self.graph(task)?, self.budget())?))
    }
}

impl SharedSnapshotTarget {
    /// A query on `snapshot`.
    #[must_use]
    pub fn new(snapshot: Arc<Snapshot>) -> Self {
        Self(snapshot)
    }

    fn parts(self, task: &Task) -> Result<(Graph<'static>, QueryBudget<'static>)> {
        check_reads(task)?;
        let budget = QueryBudget::Shared(self.0.shared_budget());
        Ok((Graph::Shared(self.0), budget))
    }
}

impl QueryTarget for SharedSnapshotTarget {
    fn items(self, task: &Task, most: usize) -> Result<Vec<Item>> {
        let (graph, budget) = self.parts(task)?;
        task.items(graph, budget, most)
    }

    fn profile(self, task: &Task) -> Result<Explanation> {
        let (graph, budget) = self.parts(task)?;
        task.profile(graph, budget)
    }

    fn names(&self) -> Result<Arc<Catalogue>> {
        self.0.names()
    }
}

impl Streams<'static> for SharedSnapshotTarget {
    fn results(self, task: &Task) -> Result<Results<'static>> {
        let (graph, budget) = self.parts(task)?;
        Ok(Results::new(task.begin(graph, budget)?))
    }
}

/// Refuses a query that writes where there is a `refusal`, before it reads anything.
fn check_writes(task: &Task, refusal: Option<Error>) -> Result<()> {
    match refusal {
        Some(refusal) if task.plan.writes => Err(refusal),
        _ => Ok(()),
    }
}

impl LeasedTarget {
    pub(crate) fn new(lease: Box<dyn WriterLease>, budget: Arc<dyn Budget>, refusal: Option<Error>) -> Self {
        Self { lease, budget, refusal }
    }

    fn parts(self, task: &Task) -> Result<(Graph<'static>, QueryBudget<'static>)> {
        check_writes(task, self.refusal)?;
        Ok((Graph::Leased(self.lease), QueryBudget::Shared(self.budget)))
    }
}

impl QueryTarget for LeasedTarget {
    fn items(self, task: &Task, most: usize) -> Result<Vec<Item>> {
        let (graph, budget) = self.parts(task)?;
        task.items(graph, budget, most)
    }

    fn profile(self, task: &Task) -> Result<Explanation> {
        let (graph, budget) = self.parts(task)?;
        task.profile(graph, budget)
    }

    fn names(&self) -> Result<Arc<Catalogue>> {
        self.lease.writer().view().names()
    }
}

impl Streams<'static> for LeasedTarget {
    fn results(self, task: &Task) -> Result<Results<'static>> {
        let (graph, budget) = self.parts(task)?;
        Ok(Results::new(task.begin(graph, budget)?))
    }
}

impl<'g> TransactionTarget<'g> {
    pub(crate) fn new(
        transaction: &'g mut dyn Writer,
        budget: &'g dyn Budget,
        refusal: Option<Error>,
    ) -> Self {
        Self { transaction, budget, refusal }
    }

    fn parts(self, task: &Task) -> Result<(Graph<'g>, QueryBudget<'g>)> {
        check_writes(task, self.refusal)?;
        Ok((Graph::Write(self.transaction), QueryBudget::Borrowed(self.budget)))
    }
}

impl QueryTarget for TransactionTarget<'_> {
    fn items(self, task: &Task, most: usize) -> Result<Vec<Item>> {
        let (graph, budget) = self.parts(task)?;
        task.items(graph, budget, most)
    }

    fn profile(self, task: &Task) -> Result<Explanation> {
        let (graph, budget) = self.parts(task)?;
        task.profile(graph, budget)
    }

    fn names(&self) -> Result<Arc<Catalogue>> {
        self.transaction.view().names()
    }
}

impl<'g> Streams<'g> for TransactionTarget<'g> {
    fn results(self, task: &Task) -> Result<Results<'g>> {
        let (graph, budget) = self.parts(task)?;
        Ok(Results::new(task.begin(graph, budget)?))
    }
}

impl<'g> DatabaseTarget<'g> {
    pub(crate) fn new(database: &'g dyn QueryHost) -> Self {
        Self { database, options: TransactionOptions::default() }
    }

    /// What `attempt` gives in a transaction that is committed then, and how edges were renamed by that.
    fn committed<T>(
        &self,
        task: &Task,
        attempt: impl Fn(TransactionTarget<'_>) -> Result<T>,
    ) -> Result<(T, Vec<(EdgeId, EdgeId)>)> {
        // Before it reads what it would write about.
        self.database.check_writable()?;
        // All attempts share the time of the query.
        let timeout = self.options.timeout.unwrap_or(task.limits.timeout).min(task.limits.timeout);
        let budget = self.database.budget();
        let mut given = None;
        let committed = self.database.transact(self.options.timeout(timeout), &mut |transaction| {
            given = Some(attempt(TransactionTarget::new(transaction, budget, None))?);
            Ok(())
        })?;
        Ok((given.expect("what was committed was attempted"), committed.renamed))
    }
}

impl DatabaseTarget<'_> {
    fn begin_items(self, task: &Task, most: usize) -> Result<Vec<Item>> {
        if let Some(io) = task.plan.io() {
            return self.database.transfer(io, task).map(|()| Vec::new());
        }
        if !task.plan.writes {
            let snapshot = self.database.snapshot_with(self.options.freshness);
            return task.items(Graph::Read(&snapshot), QueryBudget::Borrowed(snapshot.budget()), most);
        }
        let (items, renamed) = self.committed(task, |writing| writing.items(task, most))?;
        if renamed.is_empty() {
            return Ok(items);
        }
        let renamed = renamed.into_iter().collect();
        Ok(items.iter().map(|item| after_commit(item, &renamed)).collect())
    }

    fn begin_profile(self, task: &Task) -> Result<Explanation> {
        if !task.plan.writes {
            let snapshot = self.database.snapshot_with(self.options.freshness);
            return task.profile(Graph::Read(&snapshot), QueryBudget::Borrowed(snapshot.budget()));
        }
        Ok(self.committed(task, |writing| writing.profile(task))?.0)
    }
}

impl QueryTarget for DatabaseTarget<'_> {
    // Beginning and committing may wait, too.
    fn items(self, task: &Task, most: usize) -> Result<Vec<Item>> {
        task.limiting_waits(|| self.begin_items(task, most))
    }

    fn profile(self, task: &Task) -> Result<Explanation> {
        task.limiting_waits(|| self.begin_profile(task))
    }

    fn names(&self) -> Result<Arc<Catalogue>> {
        self.database.snapshot_with(self.options.freshness).names()
    }
}

/// `item` with the edges in it as they are called since the commit.
#[must_use]
pub fn after_commit(item: &Item, renamed: &HashMap<EdgeId, EdgeId>) -> Item {
    let name = |edge: &EdgeId| *renamed.get(edge).unwrap_or(edge);
    let all = |items: &[Item]| items.iter().map(|item| after_commit(item, renamed)).collect::<Vec<_>>();
    let pair = |(key, value): &(Item, Item)| (after_commit(key, renamed), after_commit(value, renamed));
    match item {
        Item::Edge(edge) => Item::Edge(name(edge)),
        Item::Property(property) => match &property.owner {
            Owner::Edge(edge) => {
                Item::Property(Arc::new(Property { owner: Owner::Edge(name(edge)), ..(**property).clone() }))
            }
            Owner::Vertex(_) | Owner::Property(_) => item.clone(),
        },
        Item::List(items) => Item::List(all(items).into()),
        Item::Set(items) => Item::Set(all(items).into()),
        Item::Map(map) => Item::Map(Arc::new(map.entries().iter().map(pair).collect())),
        Item::Entry(entry) => Item::Entry(Arc::new(pair(entry))),
        Item::Path(path) => {
            let steps = path.steps().iter();
            let steps = steps.map(|(item, labels)| (after_commit(item, renamed), labels.clone()));
            Item::Path(Arc::new(Path::new(steps.collect())))
        }
        _ => item.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Database;
    use crate::read::ReadByName;

    #[test]
    fn an_edge_that_the_commit_renamed_is_given_by_its_new_name_wherever_it_is() {
        let db = Database::in_memory().unwrap();
        let edge = db
            .transact(|tx| {
                let [from, to] = [tx.add_vertex("A", &[])?, tx.add_vertex("A", &[])?];
                tx.add_edge(from, "E", to, &[])
            })
            .unwrap();
        let other = EdgeId { discriminator: 7, ..edge };
        let renamed = HashMap::from([(edge, other)]);
        let found = db.snapshot().gremlin("g.E().as('e').inV().path().fold()").items().unwrap();
        let text = |item: &Item| format!("{item:?}");
        assert!(text(&found[0]).contains("discriminator: 0"), "{found:?}");
        let after = after_commit(&found[0], &renamed);
        assert!(!text(&after).contains("discriminator: 0"), "{after:?}");
        let map = db.snapshot().gremlin("g.E().project('a').by(identity())").items().unwrap();
        assert_eq!(
            text(&after_commit(&map[0], &renamed)),
            text(&map[0]).replace("discriminator: 0", "discriminator: 7")
        );
        assert_eq!(after_commit(&found[0], &HashMap::new()), found[0]);
    }
}
