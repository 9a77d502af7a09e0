//! What a query runs on: a moment, a transaction, or the database, which decides by the query.

use crate::database::Database;
use crate::gremlin::io;
use crate::gremlin::query::Limits;
use crate::gremlin::results::Results;
use evergraph_graph::budget::Budget;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::EdgeId;
use evergraph_graph::transaction::TransactionOptions;
use evergraph_graph::view::{Freeze, GraphView};
use evergraph_query::execute::context::Graph;
use evergraph_query::execute::limits::Charge;
use evergraph_query::explain::Explanation;
use evergraph_query::plan::operator::Plan;
use evergraph_query::service::Services;
use evergraph_query::session;
use evergraph_query::value::item::{Item, Owner, Property};
use evergraph_query::value::path::Path;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// One moment, to be read.
pub struct Reading<'g> {
    view: &'g dyn GraphView,
    budget: &'g dyn Budget,
}

/// A transaction, to be read and written.
pub struct Writing<'g> {
    transaction: &'g mut crate::transaction::TransactionById,
    budget: &'g dyn Budget,
}

/// A database: a snapshot is read, or a transaction of its own written.
pub struct Deciding<'g> {
    database: &'g Database,
    pub(crate) options: TransactionOptions,
}

/// A plan, and how it is to be run.
pub struct Task {
    pub(crate) plan: Plan,
    /// When it was begun to be read.
    pub(crate) started: Instant,
    pub(crate) limits: Limits,
    pub(crate) cancel: CancelFlag,
    pub(crate) services: Services,
    /// Whether it may read and write files.
    pub(crate) files: bool,
}

/// What a query can run on.
pub trait RunsOn: Sized {
    /// The first `most` results of `task`, or more. One that writes, or whose results nobody wants, is run to its end.
    ///
    /// # Errors
    /// What the query meets.
    fn items(self, task: &Task, most: usize) -> Result<Vec<Item>>;

    /// Runs `task` to its end: what each step did.
    ///
    /// # Errors
    /// What the query meets.
    fn profile(self, task: &Task) -> Result<Explanation>;

    /// The names that it would meet, and the indexes.
    fn catalogue(&self) -> Arc<Catalogue>;
}

/// What gives results one by one while the query runs.
pub trait Streams<'g>: RunsOn {
    /// The results of `task`, from now on.
    ///
    /// # Errors
    /// `invalid` for a plan that can't be run here.
    fn results(self, task: &Task) -> Result<Results<'g>>;
}

impl Task {
    /// What asks it to stop: whoever runs it, or the end of its time.
    pub(crate) fn until(&self) -> CancelFlag {
        let deadline = self.started.checked_add(self.limits.timeout);
        deadline.map_or_else(|| self.cancel.clone(), |deadline| self.cancel.until(deadline))
    }

    fn charge<'g>(&self, budget: &'g dyn Budget) -> Charge<'g> {
        Charge::new(self.limits, self.cancel.clone(), budget).since(self.started)
    }

    fn begin<'g>(&self, graph: Graph<'g>, budget: &'g dyn Budget) -> Result<session::Results<'g>> {
        session::run(&self.plan, graph, self.charge(budget), &self.services)
    }

    fn items<'g>(&self, graph: Graph<'g>, budget: &'g dyn Budget, most: usize) -> Result<Vec<Item>> {
        let mut running = self.begin(graph, budget)?;
        if most == 0 {
            while running.next_batch()?.is_some() {}
            return Ok(Vec::new());
        }
        if self.plan.writes || most == usize::MAX {
            return running.collect();
        }
        Results::new(running).take(most).collect()
    }

    fn profile<'g>(&self, graph: Graph<'g>, budget: &'g dyn Budget) -> Result<Explanation> {
        let mut running = session::run_measured(&self.plan, graph, self.charge(budget), &self.services)?;
        while running.next_batch()?.is_some() {}
        Ok(running.profile())
    }
}

impl<'g> Reading<'g> {
    pub(crate) fn new<V: Freeze>(view: &'g V, budget: &'g dyn Budget) -> Self {
        Self { view, budget }
    }

    fn graph(&self, task: &Task) -> Result<Graph<'g>> {
        if task.plan.writes {
            return Err(Error::invalid(
                "this query writes, and a snapshot can't be written to: run it in a transaction, or on the database",
            ));
        }
        Ok(Graph::Read(self.view))
    }
}

impl RunsOn for Reading<'_> {
    fn items(self, task: &Task, most: usize) -> Result<Vec<Item>> {
        task.items(self.graph(task)?, self.budget, most)
    }

    fn profile(self, task: &Task) -> Result<Explanation> {
        task.profile(self.graph(task)?, self.budget)
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        self.view.catalogue()
    }
}

impl<'g> Streams<'g> for Reading<'g> {
    fn results(self, task: &Task) -> Result<Results<'g>> {
        Ok(Results::new(task.begin(self.graph(task)?, self.budget)?))
    }
}

impl<'g> Writing<'g> {
    pub(crate) fn new(
        transaction: &'g mut crate::transaction::TransactionById,
        budget: &'g dyn Budget,
    ) -> Self {
        Self { transaction, budget }
    }
}

impl RunsOn for Writing<'_> {
    fn items(self, task: &Task, most: usize) -> Result<Vec<Item>> {
        task.items(Graph::Write(self.transaction), self.budget, most)
    }

    fn profile(self, task: &Task) -> Result<Explanation> {
        task.profile(Graph::Write(self.transaction), self.budget)
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        GraphView::catalogue(&*self.transaction)
    }
}

impl<'g> Streams<'g> for Writing<'g> {
    fn results(self, task: &Task) -> Result<Results<'g>> {
        Ok(Results::new(task.begin(Graph::Write(self.transaction), self.budget)?))
    }
}

impl<'g> Deciding<'g> {
    pub(crate) fn new(database: &'g Database) -> Self {
        Self { database, options: TransactionOptions::default() }
    }

    /// What `attempt` gives in a transaction that is committed then, and how edges were renamed by that.
    fn committed<T>(
        &self,
        task: &Task,
        attempt: impl Fn(Writing<'_>) -> Result<T>,
    ) -> Result<(T, Vec<(EdgeId, EdgeId)>)> {
        // All attempts share the time of the query.
        let timeout = self.options.timeout.unwrap_or(task.limits.timeout).min(task.limits.timeout);
        let budget: &dyn Budget = &**self.database.store().budget();
        self.database.retrying(self.options.timeout(timeout), |mut transaction| {
            let given = attempt(Writing::new(transaction.by_id(), budget))?;
            Ok((given, transaction.commit()?.renamed))
        })
    }
}

impl RunsOn for Deciding<'_> {
    fn items(self, task: &Task, most: usize) -> Result<Vec<Item>> {
        if let Some(io) = task.plan.io() {
            return io::run(io, task, self.database).map(|()| Vec::new());
        }
        if !task.plan.writes {
            let snapshot = self.database.snapshot();
            return task.items(Graph::Read(&snapshot), snapshot.budget(), most);
        }
        let (items, renamed) = self.committed(task, |writing| writing.items(task, most))?;
        if renamed.is_empty() {
            return Ok(items);
        }
        let renamed = renamed.into_iter().collect();
        Ok(items.iter().map(|item| after_commit(item, &renamed)).collect())
    }

    fn profile(self, task: &Task) -> Result<Explanation> {
        if !task.plan.writes {
            let snapshot = self.database.snapshot();
            return task.profile(Graph::Read(&snapshot), snapshot.budget());
        }
        Ok(self.committed(task, |writing| writing.profile(task))?.0)
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        self.database.snapshot().catalogue()
    }
}

/// `item` with the edges in it as they are called since the commit.
fn after_commit(item: &Item, renamed: &HashMap<EdgeId, EdgeId>) -> Item {
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
