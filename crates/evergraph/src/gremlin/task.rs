//! Task: a query that was read and planned, with its limits, to be run once or several times.
//!
//! ```
//! use evergraph::Database;
//! use evergraph::gremlin::graph::{SharedSnapshotTarget, Streams as _};
//! use std::sync::Arc;
//!
//! let db = Database::in_memory()?;
//! db.gremlin("g.inject(1, 2, 3).addV('Point')").run()?;
//! let task = db.gremlin("g.V().count()").task()?;
//! assert!(!task.writes());
//! let mut results = SharedSnapshotTarget::new(Arc::new(db.snapshot())).results(&task)?;
//! // The results own the snapshot: they may go to another thread, and stay for as long as it takes.
//! let counted = std::thread::spawn(move || results.next().transpose()).join().expect("it does not panic")?;
//! assert_eq!(counted, Some(3_i64.into()));
//! # Ok::<(), evergraph::Error>(())
//! ```

use crate::gremlin::results::Results;
use evergraph_analysis::kernels::CompiledKernels;
use evergraph_graph::budget::Unlimited;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::wait_limit::WaitLimit;
use evergraph_query::execute::context::Graph;
use evergraph_query::execute::limits::{Charge, QueryBudget, QueryLimits};
use evergraph_query::explain::Explanation;
use evergraph_query::plan::operator::Plan;
use evergraph_query::service::Services;
use evergraph_query::session;
use evergraph_query::value::item::Item;
use std::time::Instant;

/// A plan, and how it is to be run. Its time began when the query was read.
pub struct Task {
    pub(crate) plan: Plan,
    /// When it was begun to be read.
    pub(crate) started: Instant,
    pub(crate) limits: QueryLimits,
    pub(crate) cancel: CancelFlag,
    pub(crate) services: Services,
    /// Whether it may read and write files.
    #[cfg_attr(
        not(feature = "files"),
        allow(dead_code, reason = "it can't without the feature, whether it may or not")
    )]
    pub(crate) files: bool,
}

impl Task {
    /// What asks it to stop: whoever runs it, or the end of its time.
    pub(crate) fn until(&self) -> CancelFlag {
        let deadline = self.started.checked_add(self.limits.timeout);
        deadline.map_or_else(|| self.cancel.clone(), |deadline| self.cancel.until(deadline))
    }

    /// What `work` does for it: waits for other machines end with the query.
    pub(crate) fn limiting_waits<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _waits = WaitLimit::of_thread().and(self.until()).enter();
        match work() {
            Err(error) if error.kind() == ErrorKind::Cancelled => {
                self.charge(QueryBudget::Borrowed(&Unlimited)).explained(Err(error))
            }
            done => done,
        }
    }

    /// Whether it writes to the graph.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.plan.writes
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    fn charge<'g>(&self, budget: QueryBudget<'g>) -> Charge<'g> {
        Charge::with_budget(self.limits, self.cancel.clone(), budget).since(self.started)
    }

    pub(crate) fn begin<'g>(
        &self,
        graph: Graph<'g>,
        budget: QueryBudget<'g>,
    ) -> Result<session::Results<'g>> {
        session::run(&self.plan, graph, self.charge(budget), &self.services, &CompiledKernels)
    }

    /// The first `most` results on `graph`, or more.
    pub(crate) fn items<'g>(
        &self,
        graph: Graph<'g>,
        budget: QueryBudget<'g>,
        most: usize,
    ) -> Result<Vec<Item>> {
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

    /// Runs it on `graph` to its end: what each step did.
    pub(crate) fn profile<'g>(&self, graph: Graph<'g>, budget: QueryBudget<'g>) -> Result<Explanation> {
        let mut running =
            session::run_measured(&self.plan, graph, self.charge(budget), &self.services, &CompiledKernels)?;
        while running.next_batch()?.is_some() {}
        Ok(running.profile().clone())
    }
}
