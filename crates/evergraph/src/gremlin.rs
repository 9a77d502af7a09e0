//! Gremlin: traversals as text, on a snapshot or in a transaction.

use crate::database::{Database, Snapshot};
use crate::transaction::Transaction;
use evergraph_graph::budget::Unlimited;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::view::Freeze as _;
use evergraph_graph::error::{Error, Result};
use evergraph_query::execute::context::Graph;
use evergraph_query::execute::limits::{Charge, QueryLimits};
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::compile::compile;
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::read::read;
use evergraph_query::plan::operator::Plan;
use evergraph_query::session::{Results, run};
use evergraph_query::value::item::Item;

/// A traversal that was read and planned, to be run as often as wanted.
///
/// ```
/// use evergraph::Database;
/// use evergraph::gremlin::Traversal;
///
/// let db = Database::in_memory()?;
/// db.gremlin("g.addV('Person').property('name', 'Ada').as('a').addV('Person').property('name', 'Charles').addE('KNOWS').from('a')")?;
/// let names = Traversal::parse("g.V().has('Person', 'name', 'Ada').out('KNOWS').values('name')")?;
/// let found = names.on(&db.snapshot())?.collect()?;
/// assert_eq!(found[0].as_str(), Some("Charles"));
/// # Ok::<(), evergraph::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Traversal {
    plan: Plan,
    limits: QueryLimits,
    cancel: CancelFlag,
}

impl Traversal {
    /// Reads `text`, and plans it.
    ///
    /// # Errors
    /// `invalid`, with line and column, if it isn't Gremlin or asks for what there isn't; `limit` if it is too long or
    /// nested too deep.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_with(text, &Bindings::new())
    }

    /// As [`Traversal::parse`], where names may stand for values.
    ///
    /// # Errors
    /// As [`Traversal::parse`], and for a name that has no value.
    pub fn parse_with(text: &str, bindings: &Bindings) -> Result<Self> {
        let query = read(text, &ParseLimits::default(), bindings)?;
        let plan = compile(&query).map_err(|error| error.within(text))?;
        Ok(Self { plan, limits: QueryLimits::default(), cancel: CancelFlag::default() })
    }

    /// The same, within these limits.
    #[must_use]
    pub fn limits(self, limits: QueryLimits) -> Self {
        Self { limits, ..self }
    }

    /// The same, which stops when `cancel` says so.
    #[must_use]
    pub fn cancel(self, cancel: CancelFlag) -> Self {
        Self { cancel, ..self }
    }

    /// What it does.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Begins to run it on a snapshot.
    ///
    /// # Errors
    /// `invalid` if it writes.
    pub fn on<'a>(&self, snapshot: &'a Snapshot) -> Result<Results<'a>> {
        if self.plan.writes {
            let text = "this traversal writes, and a snapshot can't be written to: run it on the database, or in a transaction";
            return Err(Error::invalid(text));
        }
        let charge = Charge::new(self.limits, self.cancel.clone(), snapshot.budget());
        run(&self.plan, Graph::Read(snapshot), charge)
    }

    /// Begins to run it in a transaction, which sees what it writes.
    ///
    /// # Errors
    /// `invalid` for a plan that can't be run.
    pub fn within<'a>(&self, transaction: &'a mut Transaction) -> Result<Results<'a>> {
        let charge = Charge::new(self.limits, self.cancel.clone(), &Unlimited);
        run(&self.plan, Graph::Write(transaction.by_id()), charge)
    }
}

impl Database {
    /// Runs a traversal and gives all its results: on a snapshot if it only reads, else in a transaction that is
    /// committed, and run again where another one was first.
    ///
    /// # Errors
    /// As [`Traversal::parse`]; what running it, or the commit, meets.
    pub fn gremlin(&self, text: &str) -> Result<Vec<Item>> {
        self.run(&Traversal::parse(text)?)
    }

    /// As [`Database::gremlin`], for a traversal that was read already.
    ///
    /// # Errors
    /// What running it, or the commit, meets.
    pub fn run(&self, traversal: &Traversal) -> Result<Vec<Item>> {
        if traversal.plan.writes {
            return self.transact(|transaction| traversal.within(transaction)?.collect());
        }
        traversal.on(&self.snapshot())?.collect()
    }
}
