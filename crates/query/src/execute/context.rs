//! Context: what all steps of a running query share.

use crate::batch::Batch;
use crate::batch::path::{PathArena, PathId};
use crate::execute::computed_properties::ComputedProperties;
use crate::execute::limits::Charge;
use crate::execute::metered_writer::MeteredWriter;
use crate::execute::side_effects::SideEffects;
use crate::execute::step_measures::Measurements;
use crate::plan::operator::{Name, Sack};
use crate::service::Services;
use crate::value::item::Item;
use crate::value::map::ItemMap;
use crate::write::{Writer, WriterLease};
use evergraph_algorithms::kernels::Kernels;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::view::GraphView;
use std::sync::Arc;

/// The graph that a query runs on.
pub enum Graph<'a> {
    /// To be read.
    Read(&'a dyn GraphView),
    /// To be read and written, own writes being seen.
    Write(&'a mut dyn Writer),
    /// To be read, and kept alive by the query.
    Shared(Arc<dyn GraphView>),
    /// To be read and written, and owned by the query while it runs.
    Leased(Box<dyn WriterLease>),
}

impl Graph<'_> {
    /// The graph, for reading.
    #[must_use]
    pub fn view(&self) -> &dyn GraphView {
        match self {
            Self::Read(view) => *view,
            Self::Write(writer) => writer.view(),
            Self::Shared(view) => &**view,
            Self::Leased(lease) => lease.writer().view(),
        }
    }
}

/// Groups of rows that `group('x')` and the like gather, and what becomes of each.
pub trait Grouping: Send {
    /// Adds the rows of `batch`; one that has no key is left out.
    ///
    /// # Errors
    /// Errors of the key's traversal; `limit`.
    fn add(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<()>;

    /// The groups so far as one map, in the order their keys came.
    ///
    /// # Errors
    /// Errors of the traversal of the groups.
    fn map(&mut self, cx: &mut Context<'_>) -> Result<ItemMap>;
}

/// What all steps of a running query share.
pub struct Context<'a> {
    graph: Graph<'a>,
    is_remote: bool,
    heeds_ahead: bool,
    /// What runs algorithms.
    pub kernels: &'a dyn Kernels,
    /// Time, memory, the wish to stop.
    pub charge: Charge<'a>,
    /// Where traversers have been.
    pub paths: PathArena,
    /// What `aggregate('x')` and the like gather, by number of the plan.
    pub side_effects: SideEffects<Box<dyn Grouping>>,
    /// What algorithms computed of vertices, by key.
    pub computed: ComputedProperties,
    /// What `call()` can call.
    pub services: Services,
    /// What each step did, if somebody wants to know.
    pub measurements: Measurements,
    /// What the slots of the frame are called, by number.
    pub slots: Vec<Name>,
    /// What every traverser carries along to begin with.
    pub sack: Option<Sack>,
    /// Whether equal traversers that a `barrier()` makes one still count as several.
    pub bulks: bool,
    /// How often the bodies of the repeats around have run, the innermost last.
    pub loops: Vec<u32>,
}

impl<'a> Context<'a> {
    /// The context of a new query.
    #[must_use]
    pub fn new(graph: Graph<'a>, charge: Charge<'a>, kernels: &'a dyn Kernels) -> Self {
        Self {
            is_remote: graph.view().is_remote(),
            heeds_ahead: graph.view().heeds_ahead(),
            graph,
            kernels,
            charge,
            paths: PathArena::default(),
            side_effects: SideEffects::default(),
            computed: ComputedProperties::default(),
            services: Services::default(),
            measurements: Measurements::default(),
            slots: Vec::new(),
            sack: None,
            bulks: true,
            loops: Vec::new(),
        }
    }

    /// Whether rows that nobody can tell apart may become one that stands for all, unasked: not where a `barrier()` would
    /// make something else of them.
    #[must_use]
    pub fn may_bulk(&self) -> bool {
        self.bulks && self.sack.as_ref().is_none_or(|sack| sack.merge.is_none())
    }

    /// The graph, for reading.
    #[must_use]
    pub fn view(&self) -> &dyn GraphView {
        self.graph.view()
    }

    /// Whether a read may wait, as [`GraphView::is_remote`]: asked once.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.is_remote
    }

    /// Whether the graph gains by what is announced, as [`GraphView::heeds_ahead`]: asked once.
    #[must_use]
    pub fn heeds_ahead(&self) -> bool {
        self.heeds_ahead
    }

    /// Whether the graph may be written to.
    #[must_use]
    pub fn writes(&self) -> bool {
        matches!(self.graph, Graph::Write(_) | Graph::Leased(_))
    }

    /// The path `parent`, followed by `item`: counted to the end of the query, as long as which paths are kept.
    ///
    /// # Errors
    /// `limit` past the query's memory, or as [`PathArena::extend`].
    pub fn extend_path(&mut self, parent: PathId, item: Item) -> Result<PathId> {
        self.charge.hold(PathArena::NODE_BYTES + item.heap_bytes())?;
        self.paths.extend(parent, item)
    }

    /// The same path, of which the last item has `label` too; counted as [`Context::extend_path`] does.
    ///
    /// # Errors
    /// As [`Context::extend_path`].
    pub fn label_path(&mut self, path: PathId, label: &Arc<str>) -> Result<PathId> {
        let item_bytes = self.paths.items_back(path).next().map_or(0, Item::heap_bytes);
        self.charge.hold(PathArena::NODE_BYTES + item_bytes)?;
        self.paths.label(path, label)
    }

    /// The graph, for writing.
    ///
    /// # Errors
    /// `invalid` on a snapshot.
    pub fn writer(&mut self) -> Result<MeteredWriter<'_, 'a>> {
        let writer: &mut dyn Writer = match &mut self.graph {
            Graph::Read(_) | Graph::Shared(_) => {
                return Err(Error::invalid(
                    "this traversal writes, and a snapshot can't be written to: run it in a transaction",
                ));
            }
            Graph::Write(writer) => &mut **writer,
            Graph::Leased(lease) => lease.writer_mut(),
        };
        Ok(MeteredWriter::new(writer, &mut self.charge))
    }

    /// The graph and the limits of a query that has ended.
    #[must_use]
    pub fn into_parts(self) -> (Graph<'a>, Charge<'a>) {
        (self.graph, self.charge)
    }

    /// The present names: a query that writes may add some.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.view().catalogue()
    }
}
