//! Gates: programs that stop at their first rows until a test lets them go on.

use evergraph_graph::error::Result;
use evergraph_graph::stage_programs::{StageContext, StageLimits, StagePrograms, StageRunner};
use evergraph_query::travel::runner::QueryStages;
use evergraph_storage::sync::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// Stops programs as long as it is closed.
#[derive(Default)]
pub struct Gate {
    state: Mutex<GateState>,
    news: Condvar,
}

#[derive(Default)]
struct GateState {
    is_closed: bool,
    waiting: usize,
}

impl Gate {
    pub fn close(&self) {
        self.state.lock().is_closed = true;
    }

    pub fn open(&self) {
        self.state.lock().is_closed = false;
        self.news.notify_all();
    }

    /// Programs that wait.
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting
    }

    fn pass(&self) {
        let mut state = self.state.lock();
        state.waiting += 1;
        while state.is_closed {
            (state, _) = self.news.wait_timeout(state, Duration::from_millis(10));
        }
        state.waiting -= 1;
    }
}

/// Programs of queries behind a gate.
pub struct GatedStages(pub Arc<Gate>);

impl StagePrograms for GatedStages {
    fn begin(&self, program: &[u8], limits: StageLimits) -> Result<Box<dyn StageRunner>> {
        let (runner, gate) = (QueryStages.begin(program, limits)?, Arc::clone(&self.0));
        Ok(Box::new(GatedRunner { runner, gate }))
    }
}

struct GatedRunner {
    runner: Box<dyn StageRunner>,
    gate: Arc<Gate>,
}

impl StageRunner for GatedRunner {
    fn stages(&self) -> u16 {
        self.runner.stages()
    }

    fn take(&mut self, stage: u16, rows: &[u8], context: &mut StageContext<'_>) -> Result<()> {
        self.gate.pass();
        self.runner.take(stage, rows, context)
    }

    fn end(&mut self, stage: u16, context: &mut StageContext<'_>) -> Result<()> {
        self.gate.pass();
        self.runner.end(stage, context)
    }
}
