//! `pageRank()`, `peerPressure()`, `connectedComponent()`: kernels within a query, which are compiled elsewhere.
//!
//! ```text
//! traversers wait ──┐
//! V() ── edges ─────┴─> CSR ── kernel ──> values by vertex, by key   (execute::computed)
//!                                         the traversers go on
//! ```
//!
//! The part of the graph is read as the query sees it, own writes and strategies included, into a CSR. Source:
//! TinkerPop's `VertexProgram`s of these names. Differs: they need no graph computer, and a component goes over edges
//! whichever way they point.

mod selection;
pub mod shortest_path;

pub use selection::Selection;

use crate::batch::Batch;
use crate::execute::computed::Values;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::execute::waiting::Waiting;
use crate::plan::algorithm::Program;
use crate::plan::operator::Name;
use crate::step::algorithm::selection::Selected;
use crate::value::item::Item;
use evergraph_algorithms::control::Control;
use evergraph_algorithms::csr::StaticCsr;
use evergraph_algorithms::kernels::Kernels;
use evergraph_algorithms::pagerank::PageRankParameters;
use evergraph_algorithms::peer_pressure::PeerPressureParameters;
use evergraph_algorithms::wcc::WccParameters;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use std::sync::Arc;

/// Scores of PageRank that change by less than this in all end its rounds, as in TinkerPop.
const CHANGE_MIN: f64 = 1e-5;

/// Computes a property of every vertex, after all rows have come.
pub struct Analysis {
    program: Program,
    selection: Selection,
    property: Name,
    /// Whether vertices begin with as much as there are traversers at them.
    from_traversers: bool,
    waiting: Waiting,
    done: bool,
}

impl Analysis {
    /// Runs `program` on `selection`; later steps read its results as `property`.
    #[must_use]
    pub fn new(program: Program, selection: Selection, property: Name, from_traversers: bool) -> Self {
        Self { program, selection, property, from_traversers, waiting: Waiting::default(), done: false }
    }

    /// How many traversers are at each vertex below `bound`.
    fn traversers(&self, bound: u32) -> Result<Vec<f64>> {
        let mut counts = vec![0.0; bound as usize];
        for batch in self.waiting.iter() {
            for (row, item) in batch.current.items().enumerate() {
                let vertex = item.as_vertex().ok_or_else(|| not_a_vertex(self.program.name(), &item))?;
                if let Some(count) = counts.get_mut(vertex.0 as usize) {
                    *count += batch.bulk(row) as f64;
                }
            }
        }
        Ok(counts)
    }

    fn run(&mut self, cx: &mut Context<'_>) -> Result<()> {
        let selected = self.selection.read(self.program.name(), false, cx)?;
        let bound = selected.vertices.bound();
        let first = if self.from_traversers { Some(self.traversers(bound)?) } else { None };
        let program = self.program;
        let values = within(cx, |kernels, control| compute(program, &selected, first, kernels, control))?;
        selected.free(cx);
        // Kept to the end of the query.
        cx.charge.hold(bound as usize * size_of::<f64>())?;
        cx.computed.set(self.property.clone(), values);
        Ok(())
    }
}

fn compute(
    program: Program,
    selected: &Selected,
    first: Option<Vec<f64>>,
    kernels: &dyn Kernels,
    control: &Control<'_>,
) -> Result<Values> {
    let vertices = &selected.vertices;
    let csr = |direction| StaticCsr::new(vertices.clone(), &selected.pairs, None, direction).map(Arc::new);
    Ok(match program {
        Program::PageRank { damping, times } => {
            let tolerance = Some(CHANGE_MIN / vertices.len().max(1) as f64);
            let direction = Direction::Out;
            let parameters =
                PageRankParameters { damping, iterations: times, tolerance, direction, start: first };
            let ranks = kernels.pagerank(&csr(Direction::Both)?, &parameters, control)?;
            Values::Scores(vertices.clone(), ranks.scores)
        }
        Program::PeerPressure { times } => {
            let direction = Direction::Out;
            let parameters = PeerPressureParameters { iterations: times, direction, strengths: first };
            Values::Clusters(kernels.peer_pressure(&csr(Direction::In)?, &parameters, control)?)
        }
        Program::ConnectedComponent => {
            let found = kernels.wcc(&csr(Direction::Out)?, &WccParameters::default(), control)?;
            Values::Components(found.labels)
        }
    })
}

impl Step for Analysis {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if let Some(batch) = input.take() {
            self.waiting.push(batch, &mut cx.charge)?;
        }
        Ok(None)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if !std::mem::replace(&mut self.done, true) && !self.waiting.is_empty() {
            self.run(cx)?;
        }
        Ok(self.waiting.pop())
    }

    fn reset(&mut self, _origins: u32) {
        self.waiting.clear();
        self.done = false;
    }
}

/// What `run` computes within the limits of the query: memory, time, the wish to stop.
fn within<A>(cx: &Context<'_>, run: impl FnOnce(&dyn Kernels, &Control<'_>) -> Result<A>) -> Result<A> {
    let control = Control::new(&cx.charge).with_cancel(&cx.charge.cancel());
    let computed = run(cx.kernels, &control);
    // If its time is over, the query says so in its own words.
    cx.charge.check()?;
    computed
}

fn not_a_vertex(step: &str, item: &Item) -> Error {
    Error::invalid(format!("{step}() starts from vertices, but found {}", item.kind()))
}
