//! Plan text: the steps of a query as a table for people.

use evergraph_query::explain::Explanation;
use evergraph_report::plan::PlanReport;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;

/// A plan that is shown.
#[derive(Serialize)]
#[serde(transparent)]
pub struct PlanText(PlanReport);

impl PlanText {
    /// That of `explanation`.
    #[must_use]
    pub fn new(explanation: Explanation) -> Self {
        Self(PlanReport(explanation))
    }
}

impl fmt::Display for PlanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.to_string().lines().try_for_each(|line| writeln!(f, "{}", visible(line)))
    }
}
