//! Targets of a query: a snapshot, a transaction, or the database, which decides by the query.

use crate::gremlin::host::QueryHost;
use crate::gremlin::results::Results;
use crate::gremlin::task::Task;
use evergraph_graph::budget::Budget;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::EdgeId;
use evergraph_graph::transaction::TransactionOptions;
use evergraph_graph::view::{Freeze, GraphView};
use evergraph_query::execute::context::Graph;
use evergraph_query::explain::Explanation;
use evergraph_query::value::item::{Item, Owner, Property};
use evergraph_query::value::path::Path;
use evergraph_query::write::Writer;
use std::collections::HashMap;
use std::sync::Arc;

/// One moment, to be read.
pub struct Reading<'g> {
    view: &'g dyn GraphView,
    budget: &'g dyn Budget,
}

/// A transaction, to be read and written.
pub struct Writing<'g> {
    transaction: &'g mut dyn Writer,
    budget: &'g dyn Budget,
}

/// A database: a snapshot is read, or a transaction of its own written.
pub struct Deciding<'g> {
    database: &'g dyn QueryHost,
    pub(crate) options: TransactionOptions,
}

/// What a query can run on.
pub trait RunsOn: Sized {
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
    pub(crate) fn new(transaction: &'g mut dyn Writer, budget: &'g dyn Budget) -> Self {
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
        self.transaction.view().catalogue()
    }
}

impl<'g> Streams<'g> for Writing<'g> {
    fn results(self, task: &Task) -> Result<Results<'g>> {
        Ok(Results::new(task.begin(Graph::Write(self.transaction), self.budget)?))
    }
}

impl<'g> Deciding<'g> {
    pub(crate) fn new(database: &'g dyn QueryHost) -> Self {
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
        let budget = self.database.budget();
        let mut given = None;
        let committed = self.database.transact(self.options.timeout(timeout), &mut |transaction| {
            given = Some(attempt(Writing::new(transaction, budget))?);
            Ok(())
        })?;
        Ok((given.expect("what was committed was attempted"), committed.renamed))
    }
}

impl RunsOn for Deciding<'_> {
    fn items(self, task: &Task, most: usize) -> Result<Vec<Item>> {
        if let Some(io) = task.plan.io() {
            return self.database.transfer(io, task).map(|()| Vec::new());
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
