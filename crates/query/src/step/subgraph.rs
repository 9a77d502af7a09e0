//! `subgraph('x')`: gathers edges with their ends in a side effect, then lets them go on.

use crate::batch::Batch;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::execute::side_effects::SideEffect;
use crate::execute::waiting::Waiting;
use crate::value::item::Item;
use crate::value::subgraph::Subgraph;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{EdgeId, VertexId};

/// What an edge and its ends take in a graph, at most.
const EDGE_BYTES: usize = size_of::<EdgeId>() + 2 * size_of::<VertexId>();

/// Gathers edges aside.
pub struct SubgraphAside {
    into: usize,
    waiting: Waiting,
}

impl SubgraphAside {
    /// In the side effect `into`.
    #[must_use]
    pub fn new(into: usize) -> Self {
        Self { into, waiting: Waiting::default() }
    }

    /// The graph, which is there even if no edge comes.
    fn graph<'c>(&self, cx: &'c mut Context<'_>) -> Option<&'c mut Subgraph> {
        let effect = cx.side_effects.get_mut(self.into);
        if !matches!(effect, SideEffect::Graph(_)) {
            *effect = SideEffect::Graph(Subgraph::default());
        }
        match effect {
            SideEffect::Graph(graph) => Some(graph),
            _ => None,
        }
    }
}

impl Step for SubgraphAside {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let edges = batch.current.edges().ok_or_else(|| {
            let other = batch.current.items().find(|item| item.as_edge().is_none()).unwrap_or(Item::Null);
            Error::invalid(format!("subgraph() gathers edges, but found {}", other.kind()))
        })?;
        if let Some(graph) = self.graph(cx) {
            let added = edges.into_iter().filter(|edge| graph.add(*edge)).count();
            cx.charge.hold(added * EDGE_BYTES)?;
        }
        self.waiting.push(batch, &mut cx.charge)?;
        Ok(None)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        self.graph(cx);
        Ok(self.waiting.pop())
    }

    fn reset(&mut self, _origins: u32) {
        self.waiting.clear();
    }
}
