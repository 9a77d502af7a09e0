//! Plan report: the steps of a query, with indexes, and with what each did if it ran.

use evergraph_query::explain::{Explanation, Line};
use serde::{Serialize, Serializer};

/// A plan that is shown.
pub struct PlanReport(pub Explanation);

#[derive(Serialize)]
struct Document<'a> {
    steps: Vec<Step<'a>>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Step<'a> {
    depth: usize,
    step: &'a str,
    index: Option<&'a str>,
    batches: Option<u64>,
    rows: Option<u64>,
    traversers: Option<u64>,
    seconds: Option<f64>,
}

impl<'a> Step<'a> {
    fn new(line: &'a Line) -> Self {
        let measured = line.measured.as_ref();
        Self {
            depth: line.depth,
            step: &line.text,
            index: line.index.as_deref(),
            batches: measured.map(|measured| measured.batches),
            rows: measured.map(|measured| measured.rows),
            traversers: measured.map(|measured| measured.traversers),
            seconds: measured.map(|measured| measured.time.as_secs_f64()),
        }
    }
}

impl Serialize for PlanReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Document { steps: self.0.lines.iter().map(Step::new).collect(), notes: &self.0.notes }
            .serialize(serializer)
    }
}
