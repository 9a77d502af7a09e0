//! Gates: programs that stop at their first rows, or pause, until a test lets them go on.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::stage_programs::{StageContext, StageLimits, StagePrograms, StageProgress, StageRunner};
use evergraph_query::travel::runner::{QueryStages, begin_pausing};
use evergraph_storage::sync::{Condvar, Mutex};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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

    pub fn is_closed(&self) -> bool {
        self.state.lock().is_closed
    }

    /// A program waits that holds no thread.
    fn wait_without_thread(&self) {
        self.state.lock().waiting += 1;
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

/// The gate of a test. It opens when this is dropped: threads of nodes wait behind it.
#[derive(Default)]
pub struct TestGate(pub Arc<Gate>);

impl TestGate {
    /// Opens the gate when a scope of threads panics: the scope waits for its threads before the gate is dropped.
    pub fn open_on_panic(&self) -> OpenOnPanic {
        OpenOnPanic(Arc::clone(&self.0))
    }
}

impl Deref for TestGate {
    type Target = Gate;

    fn deref(&self) -> &Gate {
        &self.0
    }
}

impl Drop for TestGate {
    fn drop(&mut self) {
        self.open();
    }
}

/// Opens a gate if it is dropped by a panic.
pub struct OpenOnPanic(Arc<Gate>);

impl Drop for OpenOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.open();
        }
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

    fn take(&mut self, stage: u16, rows: &[u8], context: &mut StageContext<'_>) -> Result<StageProgress> {
        self.gate.pass();
        self.runner.take(stage, rows, context)
    }

    fn end(&mut self, stage: u16, context: &mut StageContext<'_>) -> Result<StageProgress> {
        self.gate.pass();
        self.runner.end(stage, context)
    }

    fn go_on(&mut self, context: &mut StageContext<'_>) -> Result<StageProgress> {
        self.runner.go_on(context)
    }
}

/// Programs of queries that pause after each call of a step.
#[derive(Default)]
pub struct PausingStages {
    /// How often they did.
    pub pauses: Arc<AtomicUsize>,
}

impl StagePrograms for PausingStages {
    fn begin(&self, program: &[u8], limits: StageLimits) -> Result<Box<dyn StageRunner>> {
        let runner = begin_pausing(program, limits, 1)?;
        Ok(Box::new(CountedRunner { runner, pauses: Arc::clone(&self.pauses) }))
    }
}

struct CountedRunner {
    runner: Box<dyn StageRunner>,
    pauses: Arc<AtomicUsize>,
}

impl CountedRunner {
    fn counted(&self, progress: Result<StageProgress>) -> Result<StageProgress> {
        let has_paused = matches!(progress, Ok(StageProgress::Paused));
        self.pauses.fetch_add(usize::from(has_paused), Ordering::Relaxed);
        progress
    }
}

impl StageRunner for CountedRunner {
    fn stages(&self) -> u16 {
        self.runner.stages()
    }

    fn take(&mut self, stage: u16, rows: &[u8], context: &mut StageContext<'_>) -> Result<StageProgress> {
        let progress = self.runner.take(stage, rows, context);
        self.counted(progress)
    }

    fn end(&mut self, stage: u16, context: &mut StageContext<'_>) -> Result<StageProgress> {
        let progress = self.runner.end(stage, context);
        self.counted(progress)
    }

    fn go_on(&mut self, context: &mut StageContext<'_>) -> Result<StageProgress> {
        let progress = self.runner.go_on(context);
        self.counted(progress)
    }
}

/// Programs that cannot begin, as on a disk that is lost.
#[derive(Default)]
pub struct FailingStages {
    /// How often one was to begin.
    pub begun: AtomicUsize,
}

impl StagePrograms for FailingStages {
    fn begin(&self, _program: &[u8], _limits: StageLimits) -> Result<Box<dyn StageRunner>> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Err(Error::new(ErrorKind::Io, "the disk is lost"))
    }
}

/// Programs of queries, the first `endless` of which scan until the gate opens.
pub struct EndlessStages {
    pub gate: Arc<Gate>,
    pub endless: AtomicUsize,
}

impl StagePrograms for EndlessStages {
    fn begin(&self, program: &[u8], limits: StageLimits) -> Result<Box<dyn StageRunner>> {
        let runner = QueryStages.begin(program, limits)?;
        let less = |left: usize| left.checked_sub(1);
        let is_endless = self.endless.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok();
        let gate = is_endless.then(|| Arc::clone(&self.gate));
        Ok(Box::new(EndlessRunner { runner, gate, ends: None }))
    }
}

struct EndlessRunner {
    runner: Box<dyn StageRunner>,
    gate: Option<Arc<Gate>>,
    /// The stage whose end waits.
    ends: Option<u16>,
}

impl StageRunner for EndlessRunner {
    fn stages(&self) -> u16 {
        self.runner.stages()
    }

    fn take(&mut self, stage: u16, rows: &[u8], context: &mut StageContext<'_>) -> Result<StageProgress> {
        self.runner.take(stage, rows, context)
    }

    fn end(&mut self, stage: u16, context: &mut StageContext<'_>) -> Result<StageProgress> {
        if let Some(gate) = &self.gate
            && gate.is_closed()
        {
            gate.wait_without_thread();
            self.ends = Some(stage);
            return Ok(StageProgress::Paused);
        }
        self.runner.end(stage, context)
    }

    fn go_on(&mut self, context: &mut StageContext<'_>) -> Result<StageProgress> {
        match (self.ends, &self.gate) {
            (Some(_), Some(gate)) if gate.is_closed() => Ok(StageProgress::Paused),
            (Some(stage), _) => {
                self.ends = None;
                self.runner.end(stage, context)
            }
            (None, _) => self.runner.go_on(context),
        }
    }
}
