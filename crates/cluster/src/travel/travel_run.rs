//! Travel run: a query that waits for what its stages find.

use crate::digest::SeenLog;
use crate::travel::message::TravelId;
use crate::travel::open_queries::Arrived;
use crate::travel::travelling_queries::TravellingQueries;
use evergraph_graph::error::Result;
use evergraph_graph::travel::{EncodedRows, PlaceMeasures, Routes, TravelProgram, TravelRun, Travels};
use evergraph_graph::wait_limit::WaitLimit;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long one sleep lasts at most: the thread of the node wakes whoever waits.
const SLEEP: Duration = Duration::from_millis(100);

/// A snapshot of a graph whose nodes run programs. `held` keeps the snapshot in use.
pub struct SnapshotTravels<H> {
    queries: TravellingQueries,
    at: SeenLog,
    held: Arc<H>,
}

impl<H> SnapshotTravels<H> {
    /// Runs programs at `at`.
    #[must_use]
    pub fn new(queries: TravellingQueries, at: SeenLog, held: Arc<H>) -> Self {
        Self { queries, at, held }
    }
}

impl<H: Send + Sync + 'static> Travels for SnapshotTravels<H> {
    fn begin(&self, program: TravelProgram) -> Result<Box<dyn TravelRun>> {
        let (queries, held) = (self.queries.clone(), Arc::clone(&self.held));
        let id = queries.ask(self.at, program)?;
        // Dropped at an error, it ends.
        let mut run = QueryRun { queries, id, routes: None, _held: held };
        let limit = WaitLimit::of_thread();
        let routes = loop {
            limit.check()?;
            let sleep = limit.until_next_look(SLEEP);
            if let Some(routes) = run.queries.wait(sleep, |_, look| look.routes(id)) {
                break routes?;
            }
        };
        run.routes = Some(routes);
        Ok(Box::new(run))
    }
}

struct QueryRun<H> {
    queries: TravellingQueries,
    id: TravelId,
    routes: Option<Arc<Routes>>,
    _held: Arc<H>,
}

impl<H: Send + Sync> TravelRun for QueryRun<H> {
    fn routes(&self) -> Arc<Routes> {
        Arc::clone(self.routes.as_ref().expect("it has begun"))
    }

    fn send(&mut self, place: u16, rows: EncodedRows) -> Result<()> {
        self.queries.send_first(self.id, Some((place, rows)))
    }

    fn end_rows(&mut self) -> Result<()> {
        self.queries.send_first(self.id, None)
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let (limit, id) = (WaitLimit::of_thread(), self.id);
        loop {
            limit.check()?;
            let sleep = limit.until_next_look(SLEEP);
            let arrived = self.queries.wait(sleep, |_, look| match look.arrived(id) {
                Ok(Arrived::Nothing) => None,
                other => Some(other),
            });
            match arrived.transpose()? {
                Some(Arrived::Results(results)) => return Ok(Some(results)),
                Some(Arrived::All) => return Ok(None),
                Some(Arrived::Nothing) | None => {}
            }
        }
    }

    fn measures(&mut self) -> Vec<PlaceMeasures> {
        let id = self.id;
        self.queries.wait(Duration::ZERO, |_, look| Some(look.measures(id))).unwrap_or_default()
    }
}

impl<H> Drop for QueryRun<H> {
    fn drop(&mut self) {
        self.queries.end(self.id);
    }
}

impl<H> fmt::Debug for SnapshotTravels<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotTravels").field("at", &self.at).finish_non_exhaustive()
    }
}
