//! Questions: about one item and about batches, asked of a snapshot of either engine, and what they cost.

use crate::disk_plan::DiskPlan;
use crate::engine::limited::{LimitedStore, MeasuredEngine};
use crate::engine::store::Edge;
use crate::workload::disk::graph::{DiskGraph, ID, LABEL};
use evergraph::generate::random::Random;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::value::ValueType;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor, VertexCursor};
use evergraph_storage::open::OpenStore;
use evergraph_storage::snapshot::handle::Snapshot;
use std::time::Instant;

/// Vertices of a batch.
const BATCH_VERTICES: usize = 1000;
/// Batches.
const BATCHES: usize = 10;
/// Items of a warm question: few enough that their pages stay. How often they are asked.
const WARM_ITEMS: usize = 200;
const WARM_ROUNDS: usize = 20;
const PURPOSE: u64 = 411;

/// What is asked, and about what.
pub struct Questions {
    label: LabelId,
    edge_type: TypeId,
    key: KeyId,
    /// Vertices with edges.
    sources: Vec<VertexId>,
    /// Vertices without.
    lonely: Vec<VertexId>,
    /// Edges that are there.
    present: Vec<EdgeId>,
    /// Edges that are not, from vertices that have others.
    absent: Vec<EdgeId>,
    /// Batches of vertices, ascending in each.
    batches: Vec<Vec<VertexId>>,
}

/// Time and page reads of one kind of question.
#[derive(Clone, PartialEq, Debug)]
pub struct Cost {
    /// For programs.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// Seconds of a question.
    pub seconds: f64,
    /// Pages that a question read.
    pub page_reads: f64,
}

impl Questions {
    /// Draws them for the graph of a store.
    ///
    /// # Errors
    /// `invalid` if the store has another graph, or if every vertex has edges.
    pub fn draw<E: MeasuredEngine>(
        store: &LimitedStore<E>,
        graph: &DiskGraph,
        plan: &DiskPlan,
        seed: u64,
    ) -> Result<Self> {
        let snapshot: Snapshot<E> = store.open_store().store().snapshot();
        let catalogue = snapshot.catalogue();
        let unnamed = || Error::new(ErrorKind::Invalid, "the graph was not loaded");
        let mut random = Random::new(seed, PURPOSE, 0);
        let mut below = |bound: u64| random.below(bound) as u32;
        let vertices = u64::from(graph.vertices);
        let (degrees, mut in_degrees) = (graph.degrees(), vec![0_u32; graph.vertices as usize]);
        graph.loaded.iter().chain(&graph.later).for_each(|(_, target)| in_degrees[*target as usize] += 1);
        let with = |has_edges: bool| -> Vec<u32> {
            let is_wanted = |vertex: &u32| (degrees[*vertex as usize] > 0) == has_edges;
            (0..graph.vertices).filter(is_wanted).collect()
        };
        let (with_edges, without) = (with(true), with(false));
        if with_edges.is_empty() || without.is_empty() {
            return Err(Error::new(
                ErrorKind::Invalid,
                "a graph for questions has vertices with edges and without",
            ));
        }
        let mut drawn = |vertices: &[u32]| -> Vec<VertexId> {
            (0..plan.questions).map(|_| VertexId(vertices[below(vertices.len() as u64) as usize])).collect()
        };
        let (sources, lonely) = (drawn(&with_edges), drawn(&without));
        let edge_type = store.edge_type();
        let edge = |(source, target): Edge| EdgeId {
            source: VertexId(source),
            edge_type,
            target: VertexId(target),
            discriminator: 0,
        };
        let loaded = graph.loaded.len() as u64;
        let present = (0..plan.questions).map(|_| edge(graph.loaded[below(loaded) as usize])).collect();
        // A vertex without edges to it is the end of none.
        let no_targets: Vec<u32> =
            (0..graph.vertices).filter(|vertex| in_degrees[*vertex as usize] == 0).collect();
        let absent = sources.iter().map(|source| {
            let target = no_targets.get(below(no_targets.len().max(1) as u64) as usize);
            edge((source.0, target.copied().unwrap_or(source.0)))
        });
        let absent = absent.collect();
        let batches = (0..BATCHES).map(|_| {
            let mut batch: Vec<_> = (0..BATCH_VERTICES).map(|_| VertexId(below(vertices))).collect();
            batch.sort_unstable();
            batch
        });
        let batches = batches.collect();
        let label = catalogue.label(LABEL).ok_or_else(unnamed)?;
        let key = catalogue.key(ID).ok_or_else(unnamed)?;
        Ok(Self { label, edge_type, key, sources, lonely, present, absent, batches })
    }

    /// Asks for out lists, and for edges that are not there, cold: as [`Questions::ask`].
    ///
    /// # Errors
    /// What the engine says.
    pub fn ask_cold<E: MeasuredEngine>(
        &self,
        open: &OpenStore<E>,
        pages: &dyn Fn() -> u64,
        cool: &dyn Fn() -> Result<()>,
    ) -> Result<[Cost; 2]>
    where
        Snapshot<E>: GraphView,
    {
        let (snapshot, mut batch) = (open.store().snapshot(), NeighborBatch::default());
        let mut list = |vertex: &VertexId| {
            self.edges_of(&snapshot, std::slice::from_ref(vertex), Direction::Out, &mut batch)
        };
        let ask = Asking { pages, cool };
        Ok([
            ask.cold(OUT_LIST_COLD, &self.sources, &mut list)?,
            ask.cold(NO_EDGE_COLD, &self.absent, |edge| is_there(&snapshot, edge))?,
        ])
    }

    /// How many edges `vertices` have on a side.
    fn edges_of(
        &self,
        view: &impl GraphView,
        vertices: &[VertexId],
        side: Direction,
        batch: &mut NeighborBatch,
    ) -> Result<usize> {
        batch.clear();
        let types = Some(std::slice::from_ref(&self.edge_type));
        view.neighbors(vertices, types, side, &mut NeighborCursor::default(), usize::MAX, batch)?;
        Ok(batch.edges.len())
    }

    /// Asks everything. `pages` says how many were read so far; `cool` empties the cache.
    ///
    /// # Errors
    /// What the engine says.
    pub fn ask<E: MeasuredEngine>(
        &self,
        open: &OpenStore<E>,
        pages: &dyn Fn() -> u64,
        cool: &dyn Fn() -> Result<()>,
    ) -> Result<Vec<Cost>>
    where
        Snapshot<E>: GraphView,
    {
        let snapshot = open.store().snapshot();
        let types = Some(std::slice::from_ref(&self.edge_type));
        let mut batch = NeighborBatch::default();
        let mut list = |vertices: &[VertexId], side| self.edges_of(&snapshot, vertices, side, &mut batch);
        let mut has = |edge: &EdgeId| is_there(&snapshot, edge);
        let property = |vertices: &[VertexId]| {
            let mut column = Column::new(ValueType::I64);
            snapshot.vertex_properties(vertices, self.key, &mut column)?;
            Ok(column.len())
        };
        let ask = Asking { pages, cool };
        let one = |vertex: &VertexId| [*vertex];
        let mut costs = vec![
            ask.cold(OUT_LIST_COLD, &self.sources, |v| list(&one(v), Direction::Out))?,
            ask.warm(("out_list.warm", "out list, warm"), &self.sources, |v| list(&one(v), Direction::Out))?,
            ask.cold(("in_list.cold", "in list, cold"), &self.sources, |v| list(&one(v), Direction::In))?,
            ask.cold(("no_list.cold", "list that doesn't exist, cold"), &self.lonely, |v| {
                list(&one(v), Direction::Out)
            })?,
            ask.warm(("no_list.warm", "list that doesn't exist, warm"), &self.lonely, |v| {
                list(&one(v), Direction::Out)
            })?,
            ask.cold(("edge.cold", "edge that exists, cold"), &self.present, &mut has)?,
            ask.warm(("edge.warm", "edge that exists, warm"), &self.present, &mut has)?,
            ask.cold(NO_EDGE_COLD, &self.absent, &mut has)?,
            ask.warm(("no_edge.warm", "edge that doesn't exist, warm"), &self.absent, &mut has)?,
            ask.cold(("property.cold", "vertex property, cold"), &self.sources, |v| property(&one(v)))?,
            ask.warm(("property.warm", "vertex property, warm"), &self.sources, |v| property(&one(v)))?,
            ask.cold(("out_lists_1000.cold", "1,000 out lists, cold"), &self.batches, |batch| {
                list(batch, Direction::Out)
            })?,
            ask.cold(("properties_1000.cold", "1,000 vertex properties, cold"), &self.batches, |batch| {
                property(batch)
            })?,
            ask.cold(("degrees_1000.cold", "1,000 degrees, cold"), &self.batches, |batch| {
                let mut degrees = Vec::new();
                snapshot.degrees(batch, types, Direction::Out, &mut degrees)?;
                Ok(degrees.len())
            })?,
            ask.cold(("pairs_1000.cold", "1,000 pairs counted, cold"), &self.batches, |batch| {
                let pairs: Vec<_> = batch.iter().zip(batch.iter().rev()).map(|(a, b)| (*a, *b)).collect();
                let mut counts = Vec::new();
                snapshot.count_edges_between(&pairs, self.edge_type, &mut counts)?;
                Ok(counts.len())
            })?,
            ask.cold(("labels_1000.cold", "labels of 1,000, cold"), &self.batches, |batch| {
                let mut labels = Vec::new();
                snapshot.labels(batch, &mut labels)?;
                Ok(labels.len())
            })?,
        ];
        costs.push(ask.cold(("label_scan.cold", "scan of a label, cold"), &[(), ()], |()| {
            let (mut vertices, mut cursor, mut count) = (Vec::new(), VertexCursor::default(), 0);
            while !cursor.done {
                vertices.clear();
                snapshot.scan_vertices(Some(&[self.label]), &mut cursor, 4096, &mut vertices)?;
                count += vertices.len();
            }
            Ok(count)
        })?);
        Ok(costs)
    }
}

/// How often an edge is there, which is once or never.
fn is_there(view: &impl GraphView, edge: &EdgeId) -> Result<usize> {
    let mut found = Vec::with_capacity(1);
    view.has_edges(std::slice::from_ref(edge), &mut found)?;
    Ok(usize::from(found[0]))
}

/// Name and title of a kind of question.
type Kind = (&'static str, &'static str);

const OUT_LIST_COLD: Kind = ("out_list.cold", "out list, cold");
const NO_EDGE_COLD: Kind = ("no_edge.cold", "edge that doesn't exist, cold");

/// How questions are asked.
struct Asking<'a> {
    pages: &'a dyn Fn() -> u64,
    cool: &'a dyn Fn() -> Result<()>,
}

impl Asking<'_> {
    fn cold<T>(&self, kind: Kind, items: &[T], mut ask: impl FnMut(&T) -> Result<usize>) -> Result<Cost> {
        let (first, rest) = items.split_first().expect("questions were drawn");
        ask(first)?;
        (self.cool)()?;
        let (before, began) = ((self.pages)(), Instant::now());
        for item in rest {
            std::hint::black_box(ask(item)?);
        }
        Ok(self.cost(kind, rest.len(), began, before))
    }

    fn warm<T>(&self, kind: Kind, items: &[T], mut ask: impl FnMut(&T) -> Result<usize>) -> Result<Cost> {
        let items = &items[..items.len().min(WARM_ITEMS)];
        for item in items {
            ask(item)?;
        }
        let (before, began) = ((self.pages)(), Instant::now());
        for item in (0..WARM_ROUNDS).flat_map(|_| items) {
            std::hint::black_box(ask(item)?);
        }
        Ok(self.cost(kind, WARM_ROUNDS * items.len(), began, before))
    }

    fn cost(&self, kind: Kind, count: usize, began: Instant, pages_before: u64) -> Cost {
        let seconds = began.elapsed().as_secs_f64() / count as f64;
        let page_reads = ((self.pages)() - pages_before) as f64 / count as f64;
        Cost { name: kind.0, title: kind.1, seconds, page_reads }
    }
}
