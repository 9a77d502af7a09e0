//! Task: a plan that is about to run, with its limits.

use crate::gremlin::results::Results;
use evergraph_analysis::kernels::CompiledKernels;
use evergraph_graph::budget::Budget;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_query::execute::context::Graph;
use evergraph_query::execute::limits::{Charge, QueryLimits};
use evergraph_query::explain::Explanation;
use evergraph_query::plan::operator::Plan;
use evergraph_query::service::Services;
use evergraph_query::session;
use evergraph_query::value::item::Item;
use std::time::Instant;

/// A plan, and how it is to be run.
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
    #[cfg(feature = "files")]
    pub(crate) fn until(&self) -> CancelFlag {
        let deadline = self.started.checked_add(self.limits.timeout);
        deadline.map_or_else(|| self.cancel.clone(), |deadline| self.cancel.until(deadline))
    }

    fn charge<'g>(&self, budget: &'g dyn Budget) -> Charge<'g> {
        Charge::new(self.limits, self.cancel.clone(), budget).since(self.started)
    }

    pub(crate) fn begin<'g>(&self, graph: Graph<'g>, budget: &'g dyn Budget) -> Result<session::Results<'g>> {
        session::run(&self.plan, graph, self.charge(budget), &self.services, &CompiledKernels)
    }

    /// The first `most` results on `graph`, or more.
    pub(crate) fn items<'g>(
        &self,
        graph: Graph<'g>,
        budget: &'g dyn Budget,
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
    pub(crate) fn profile<'g>(&self, graph: Graph<'g>, budget: &'g dyn Budget) -> Result<Explanation> {
        let mut running =
            session::run_measured(&self.plan, graph, self.charge(budget), &self.services, &CompiledKernels)?;
        while running.next_batch()?.is_some() {}
        Ok(running.profile().clone())
    }
}
