//! Setting: what every algorithm of `evergraph run` is given, and what each has to offer.

use crate::command::run::answer::Answer;
use crate::command::run::choices::{CommonArguments, SourceArguments, WeightArguments};
use crate::command::run::keys::Keys;
use crate::command::run::names::key;
use crate::terminal::meter::Meter;
use evergraph::Snapshot;
use evergraph_algorithms::control::Control;
use evergraph_algorithms::scope::Scope;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{Topology, Weight};
use evergraph_graph::view::{Freeze, GraphView};
use std::cell::Cell;
use std::time::Instant;

/// An algorithm with its arguments.
pub trait Run {
    /// What all algorithms are told.
    fn common(&self) -> &CommonArguments;

    /// Runs it.
    ///
    /// # Errors
    /// `not_found` for an unknown name or vertex; those of freezing and of the kernel.
    fn run(&self, setting: &Setting<'_>) -> Result<Answer>;
}

/// The lists that algorithms read.
pub type FrozenLists = <Snapshot as Freeze>::Topology;

/// What every algorithm is given.
pub struct Setting<'a> {
    /// The graph.
    pub snapshot: &'a Snapshot,
    /// The part of it that is meant.
    pub scope: Scope,
    /// How vertices are called.
    pub keys: &'a Keys,
    /// Whom to ask for memory, whom to tell, when to stop.
    pub control: Control<'a>,
    /// Rows to print.
    pub top: usize,
    meter: &'a Meter,
    frozen: Cell<Option<Frozen>>,
}

/// What was frozen.
#[derive(Clone, Copy, Debug)]
pub struct Frozen {
    /// Vertices in scope.
    pub vertices: u64,
    /// Edges in scope.
    pub edges: u64,
    /// The part of the edges that no merge had taken in yet, 0 to 1.
    pub fresh_share: f64,
    /// Seconds that it took.
    pub seconds: f64,
}

impl<'a> Setting<'a> {
    /// Nothing is frozen yet.
    #[must_use]
    pub fn new(
        snapshot: &'a Snapshot,
        scope: Scope,
        keys: &'a Keys,
        control: Control<'a>,
        top: usize,
        meter: &'a Meter,
    ) -> Self {
        Self { snapshot, scope, keys, control, top, meter, frozen: Cell::new(None) }
    }

    /// Freezes the part that is meant, with the sides that `direction` names.
    ///
    /// # Errors
    /// Those of [`Scope::freeze`].
    pub fn freeze(&self, direction: Direction, weight: Option<Weight>) -> Result<FrozenLists> {
        self.meter.tell("freeze", None, String::new);
        let began = Instant::now();
        let topology = self.scope.freeze(self.snapshot, direction, weight, &self.control)?;
        self.frozen.set(Some(Frozen {
            vertices: topology.vertices().len(),
            edges: topology.edge_count(),
            fresh_share: topology.fresh_share(),
            seconds: began.elapsed().as_secs_f64(),
        }));
        Ok(topology)
    }

    /// What was frozen, if anything was.
    #[must_use]
    pub fn frozen(&self) -> Option<Frozen> {
        self.frozen.get()
    }

    /// The vertex that `--OPTION KEY` or `--OPTION-vertex N` names.
    ///
    /// # Errors
    /// Those of [`Keys::find`]; `invalid` if neither is given.
    pub fn vertex(&self, option: &str, key: Option<&str>, number: Option<u32>) -> Result<VertexId> {
        match (key, number) {
            (Some(key), _) => self.keys.find(self.snapshot, option, key),
            (None, Some(number)) => Ok(VertexId(number)),
            (None, None) => Err(Error::invalid(format!("--{option} or --{option}-vertex is wanted"))),
        }
    }

    /// Where a search begins.
    ///
    /// # Errors
    /// As [`Setting::vertex`].
    pub fn source(&self, source: &SourceArguments) -> Result<VertexId> {
        self.vertex("source", source.source.as_deref(), source.source_vertex)
    }

    /// The weight that is wanted, if one is.
    ///
    /// # Errors
    /// `not_found` for an unknown property.
    pub fn weight(&self, weight: &WeightArguments) -> Result<Option<Weight>> {
        let named = weight.weight.as_deref();
        named.map(|name| self.weight_named(name, weight.missing_weight)).transpose()
    }

    /// The weight called `name`, which is `missing` where an edge has none.
    ///
    /// # Errors
    /// `not_found` for an unknown property.
    pub fn weight_named(&self, name: &str, missing: Option<f64>) -> Result<Weight> {
        Ok(Weight { key: key(&self.snapshot.catalogue(), name)?, missing })
    }
}
