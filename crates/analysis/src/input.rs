//! Input: the graph that an algorithm runs on, and whoever calls it.

use crate::lists::{Lists, PackedView};
use crate::snapshot::Snapshot;
use evergraph_algorithms::control::Control;
use evergraph_algorithms::scope::Scope;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, KeyId, VertexId};
use evergraph_graph::topology::{Topology, Weight};
use evergraph_graph::view::GraphView;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Whoever calls an algorithm: how it names things, and what it wants to be told.
pub trait Caller {
    /// The property called `name`.
    ///
    /// # Errors
    /// `not_found` if there is none, in the caller's words.
    fn key(&self, name: &str) -> Result<KeyId>;

    /// What each of `vertices` is called, for the text of an error.
    ///
    /// # Errors
    /// Errors of reading.
    fn vertex_names(&self, vertices: &[VertexId]) -> Result<Vec<String>> {
        Ok(vertices.iter().map(|vertex| format!("vertex {}", vertex.0)).collect())
    }

    /// The graph is about to be frozen.
    fn freezing(&self) {}
}

/// What was frozen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Frozen {
    /// Vertices in scope.
    pub vertices: u64,
    /// Edges in scope.
    pub edges: u64,
    /// The part of the edges that no merge had taken in yet, 0 to 1.
    pub fresh_share: f64,
}

/// What algorithms read.
enum Graph<'a> {
    /// Its lists are frozen.
    Snapshot(&'a Snapshot),
    /// Its lists are copied.
    View(&'a dyn GraphView),
    /// Its lists are read where they are, and it has nothing else.
    Packed(&'a Arc<PackedView>),
}

/// The graph that an algorithm runs on.
pub struct Input<'a> {
    graph: Graph<'a>,
    scope: &'a Scope,
    caller: &'a dyn Caller,
    frozen: Cell<Option<Frozen>>,
    freezing: Cell<Duration>,
    running: Cell<Duration>,
    /// What the rows of the answer take for each vertex, while they are made.
    row_bytes: Cell<u64>,
    rows: RefCell<Option<Reservation>>,
}

/// What the memory for an answer is called in a budget.
const ROWS_PURPOSE: &str = "rows of the answer";

impl<'a> Input<'a> {
    /// The part of `snapshot` in `scope`. Nothing is frozen yet.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, scope: &'a Scope, caller: &'a dyn Caller) -> Self {
        Self::of(Graph::Snapshot(snapshot), scope, caller)
    }

    /// The part of `view` in `scope`, which is copied where a snapshot would be frozen: for a transaction with its own
    /// writes. It costs a look at every edge in scope, and 48 bytes for each.
    #[must_use]
    pub fn of_view(view: &'a dyn GraphView, scope: &'a Scope, caller: &'a dyn Caller) -> Self {
        Self::of(Graph::View(view), scope, caller)
    }

    /// A view of a packed graph, all of it: its edges have no types and no properties, and neither have its vertices.
    #[must_use]
    pub fn of_packed(view: &'a Arc<PackedView>, everything: &'a Scope, caller: &'a dyn Caller) -> Self {
        Self::of(Graph::Packed(view), everything, caller)
    }

    fn of(graph: Graph<'a>, scope: &'a Scope, caller: &'a dyn Caller) -> Self {
        let (frozen, freezing, running) = Default::default();
        let (row_bytes, rows) = Default::default();
        Self { graph, scope, caller, frozen, freezing, running, row_bytes, rows }
    }

    /// What was frozen, if anything was.
    #[must_use]
    pub fn frozen(&self) -> Option<Frozen> {
        self.frozen.get()
    }

    /// What freezing took.
    #[must_use]
    pub fn freezing_time(&self) -> Duration {
        self.freezing.get()
    }

    /// What kernels took.
    #[must_use]
    pub fn kernel_time(&self) -> Duration {
        self.running.get()
    }

    /// There will be a row for each vertex that is frozen, of `bytes`. They are reserved before a kernel runs: what a cache took
    /// meanwhile would not all go back to the system.
    pub(crate) fn expect_rows(&self, bytes: u64) {
        self.row_bytes.set(bytes);
    }

    /// Freezes the part that is meant, with the sides that `direction` names.
    pub(crate) fn lists(
        &self,
        direction: Direction,
        weight: Option<Weight>,
        control: &Control<'_>,
    ) -> Result<Lists> {
        self.caller.freezing();
        let (lists, fresh_share) = measured(&self.freezing, || match self.graph {
            Graph::Snapshot(snapshot) => {
                let lists = self.scope.freeze(snapshot, direction, weight, control)?;
                let fresh_share = lists.fresh_share();
                Ok((Lists::from(lists), fresh_share))
            }
            Graph::View(view) => {
                let lists = self.scope.copy(view, direction, weight.as_ref(), control)?;
                Ok::<_, Error>((Lists::from(lists), 0.0))
            }
            Graph::Packed(view) => {
                if *self.scope != Scope::default() || weight.is_some() {
                    return Err(Error::invalid(
                        "a packed graph has no labels, types or properties to choose by",
                    ));
                }
                Ok((Lists::from(Arc::clone(view)), 0.0))
            }
        })?;
        let (vertices, edges) = (lists.vertices().len(), lists.edge_count());
        self.frozen.set(Some(Frozen { vertices, edges, fresh_share }));
        self.rows.take();
        let rows = control.reserve_bytes(ROWS_PURPOSE, vertices * self.row_bytes.get())?;
        self.rows.replace(Some(rows));
        Ok(lists)
    }

    /// The graph as it stands, and the part of it that is meant, for a search that freezes nothing.
    ///
    /// # Errors
    /// `invalid` for a packed graph, which has no look-ups.
    pub(crate) fn view(&self) -> Result<(&'a dyn GraphView, &'a Scope)> {
        match self.graph {
            Graph::Snapshot(snapshot) => Ok((snapshot, self.scope)),
            Graph::View(view) => Ok((view, self.scope)),
            Graph::Packed(_) => Err(Error::invalid(
                "this algorithm looks edges up one by one, which a packed graph cannot do: run it on a database",
            )),
        }
    }

    /// Runs a kernel.
    pub(crate) fn timed<T>(&self, kernel: impl FnOnce() -> Result<T>) -> Result<T> {
        measured(&self.running, kernel)
    }

    /// The weight called `name`, which is `missing` where an edge has none.
    pub(crate) fn weight(&self, name: Option<&str>, missing: Option<f64>) -> Result<Option<Weight>> {
        name.map(|name| Ok(Weight { key: self.caller.key(name)?, missing })).transpose()
    }

    pub(crate) fn vertex_names(&self, vertices: &[VertexId]) -> Result<Vec<String>> {
        self.caller.vertex_names(vertices)
    }
}

/// Does `work` and adds what it took to `spent`.
fn measured<T>(spent: &Cell<Duration>, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = work();
    spent.set(spent.get() + began.elapsed());
    done
}
