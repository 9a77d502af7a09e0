//! Segments: raw edges in the mapped engine's segments, without transactions, a log or a thread that merges.
//!
//! ```text
//! insert   a record of each side that is kept, in `live`; a merge as soon as one is due, by the thread that inserts
//! fill     the same, but for edges that would make a merge due
//! ```
//!
//! Segments, merges and files are the engine's. What a database has beside them is left out: checks, the log, which alone makes
//! records durable, and checkpoints.

use crate::engine::store::Edge;
use crate::workload::mapped::dax_directory;
use crate::workload::mapped::store::{RawOptions, Sides};
use evergraph::engines::topology::AnyTopology;
use evergraph::mapped_engine::durable::opening::open_database;
use evergraph::mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph::mapped_engine::engine::options::MappedOptions;
use evergraph::mapped_engine::extents::table::ExtentOptions;
use evergraph::mapped_engine::reserved_records::ReservedRecords;
use evergraph::mapped_engine::segment::LiveSegment;
use evergraph::mapped_engine::segment_state::WaitingRecords;
use evergraph::mapped_engine::shared_record::SharedRecord;
use evergraph::mapped_engine::view::source::edges as edge_subject;
use evergraph_analysis::lists::Lists;
use evergraph_graph::budget::{Budget, Unlimited};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GROUP_SIZE, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::Projection;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine as _;
use evergraph_storage::engine::{Engine as _, FreezeRequest};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::io::dax::{DaxDirectory, WriteBackCounts};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::record::{Operation, RecordKey, Stamp};
use evergraph_storage::sync::atomic::Ordering;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::registry::Access;
use evergraph_storage::transaction::latch::under_latch;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const LABEL: LabelId = LabelId(0);
const TYPE: TypeId = TypeId(0);
/// Merges after which what they replaced is freed, as in the engine.
const MERGES_A_PASS: u64 = 64;
/// No insertion of vertices waits for merges: none is due.
const PATIENCE: Duration = Duration::from_secs(60);

/// A graph whose vertices are all there from the beginning.
pub struct SegmentStore {
    engine: MappedEngine,
    timeline: Arc<Timeline>,
    directory: Arc<DaxDirectory>,
    options: MappedOptions,
    /// By group, of each side that is kept.
    sides: Vec<Vec<Arc<LiveSegment>>>,
}

/// What is in a store, and what it has written back.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SegmentCounts {
    /// Edges of the out side.
    pub edges: u64,
    /// Those of them that are in no body yet.
    pub fresh: u64,
    /// Bytes written back since the store was made.
    pub bytes_written_back: u64,
}

impl SegmentStore {
    /// A graph without edges in an empty folder, whose segments are merged when they have a record for so many items of the body.
    ///
    /// # Errors
    /// `io`, naming `--emulate-dax`, if the folder is not on persistent memory.
    pub fn create(folder: &Path, options: &RawOptions, items_a_record: usize) -> Result<Self> {
        let directory = dax_directory(folder, options.is_emulated)?;
        let shared: Arc<dyn Directory> = Arc::<DaxDirectory>::clone(&directory);
        let manifest = Manifest::empty(MappedEngine::NAME, MappedEngine::empty_section(MappedEngine::NAME));
        let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
        let merges = MappedOptions { items_a_record, ..MappedOptions::default() };
        let budget = Arc::new(MemoryBudget::new(u64::MAX));
        let opened =
            open_database(&shared, &manifest, &timeline, (merges, ExtentOptions::default()), &budget)?;
        let store = Self { engine: opened.engine, timeline, directory, options: merges, sides: Vec::new() };
        for first in (0..options.vertices).step_by(GROUP_SIZE as usize) {
            store.insert_vertices(first, options.vertices.min(first + GROUP_SIZE))?;
        }
        let kept: &[Direction] = match options.sides {
            Sides::Out => &[Direction::Out],
            Sides::Both => &[Direction::Out, Direction::In],
        };
        let graph = store.engine.graph();
        graph.merge_everything()?;
        let segments_of = |side: &Direction| {
            let groups = graph.groups().iter();
            groups.map(|group| graph.segment_or_new(group, edge_subject(TYPE, *side))).collect()
        };
        let sides = kept.iter().map(segments_of).collect::<Result<Vec<Vec<_>>>>()?;
        Ok(Self { sides, ..store })
    }

    /// Inserts vertices of one group.
    fn insert_vertices(&self, first: u32, end: u32) -> Result<()> {
        self.engine.open_group(VertexId(first).group(), LABEL);
        let insert = |vertex| Mutation::InsertVertex {
            vertex: VertexId(vertex),
            label: LABEL,
            properties: Properties::EMPTY,
        };
        let vertices: Vec<Mutation> = (first..end).map(insert).collect();
        let prepared = self.engine.prepare(&vertices, &IndexChanges::NONE, PATIENCE)?;
        let displaced = under_latch(&self.timeline, |latch| {
            let timestamp = self.timeline.published().next();
            let displaced = self.engine.append(timestamp, prepared);
            self.timeline.publish(timestamp, latch);
            displaced
        });
        drop(displaced);
        Ok(())
    }

    /// Inserts edges one by one, each visible when it is in, and merges what becomes due.
    ///
    /// # Errors
    /// `limit` on a full disk or without room in memory.
    pub fn insert(&self, edges: &[Edge]) -> Result<()> {
        edges.iter().try_for_each(|edge| self.insert_one(*edge))
    }

    /// The same, but for edges that would make a merge due; the edges that were inserted.
    ///
    /// # Errors
    /// As [`SegmentStore::insert`].
    pub fn fill(&self, edges: &[Edge]) -> Result<Vec<Edge>> {
        let mut inserted = Vec::new();
        for edge in edges {
            if self.has_room(*edge) {
                self.insert_one(*edge)?;
                inserted.push(*edge);
            }
        }
        Ok(inserted)
    }

    /// Merges everything.
    ///
    /// # Errors
    /// As [`SegmentStore::insert`].
    pub fn merge_everything(&self) -> Result<()> {
        self.engine.graph().merge_everything()
    }

    /// Its lists of this moment, which kernels read in place.
    ///
    /// # Errors
    /// Those of reading.
    pub fn lists(&self) -> Result<Lists> {
        let (catalogue, projection) = (Catalogue::default(), Projection::all(Direction::Both));
        let (budget, cancel): (Arc<dyn Budget>, _) = (Arc::new(Unlimited), CancelFlag::default());
        let request = FreezeRequest {
            catalogue: &catalogue,
            projection: &projection,
            budget: &budget,
            cancel: &cancel,
        };
        let (timestamp, pin) = self.timeline.begin(Access::Read, |timestamp| self.engine.pin(timestamp));
        let frozen = self.engine.freeze(&pin, timestamp, &request);
        drop(pin);
        self.timeline.end(timestamp, Access::Read);
        Ok(Lists::from(AnyTopology::Mapped(frozen?)))
    }

    /// What is in it, and what it has written back. Cost: a look at each segment.
    pub fn counts(&self) -> SegmentCounts {
        let statistics = self.engine.graph().statistics();
        let written_back = self.directory.write_backs();
        SegmentCounts {
            edges: statistics.body_edges + statistics.fresh_edge_records,
            fresh: statistics.fresh_edge_records,
            bytes_written_back: written_back.values().copied().map(WriteBackCounts::bytes).sum(),
        }
    }

    fn insert_one(&self, (source, target): Edge) -> Result<()> {
        let out = self.reserve(0, source, target)?;
        if self.sides.len() == 1 {
            return self.append(&mut [out]);
        }
        let other = self.reserve(1, target, source)?;
        self.append(&mut [out, other])
    }

    /// The segment of a vertex' list on a side, and that of the list alone, if it is so long.
    fn segments(&self, side: usize, vertex: VertexId) -> (&Arc<LiveSegment>, Option<Arc<LiveSegment>>) {
        let segment = &self.sides[side][vertex.group().0 as usize];
        (segment, segment.hub_of(vertex.row()))
    }

    fn reserve(&self, side: usize, vertex: u32, neighbor: u32) -> Result<ReservedRecords> {
        let vertex = VertexId(vertex);
        let key = RecordKey::edge(vertex.row(), neighbor, 0);
        // It gets its time under the latch.
        let stamp = Stamp::new(Timestamp::ZERO, Operation::Insert);
        let record = [SharedRecord { key, stamp, properties: Vec::new() }];
        let arena = self.engine.graph().arena();
        match self.segments(side, vertex) {
            (of_group, Some(hub)) => Ok(ReservedRecords::new(arena, &hub, &record)?.of_hub(of_group)),
            (segment, None) => ReservedRecords::new(arena, segment, &record),
        }
    }

    fn append(&self, reserved: &mut [ReservedRecords]) -> Result<()> {
        let graph = self.engine.graph();
        graph.counters().records.fetch_add(reserved.len() as u64, Ordering::Relaxed);
        let mut due = Vec::new();
        under_latch(&self.timeline, |latch| {
            let timestamp = self.timeline.published().next();
            reserved.iter_mut().for_each(|records| records.stamp(timestamp));
            graph.writer().commit(timestamp, reserved, &mut |segment, waiting| {
                if waiting.due_runs > 0 || self.is_due(waiting.records, waiting.items) {
                    due.push((Arc::clone(segment), waiting));
                }
            });
            self.timeline.publish(timestamp, latch);
        });
        due.into_iter().try_for_each(|(segment, waiting)| self.merge(&segment, waiting))
    }

    fn merge(&self, segment: &Arc<LiveSegment>, waiting: WaitingRecords) -> Result<()> {
        let graph = self.engine.graph();
        if !self.is_due(waiting.records, waiting.items) {
            graph.writer().merge_runs(segment, &self.timeline)?;
            return Ok(());
        }
        graph.merge(segment)?;
        if graph.counters().merges().is_multiple_of(MERGES_A_PASS) {
            graph.reclaim();
        }
        Ok(())
    }

    /// Whether so many records are due to be merged into a body of so many items: the engine's rule while memory is not short.
    fn is_due(&self, records: usize, items: usize) -> bool {
        records > self.options.records_worth_a_merge.max(items / self.options.items_a_record)
    }

    fn has_room(&self, (source, target): Edge) -> bool {
        let ends = [source, target];
        (0..self.sides.len()).zip(ends).all(|(side, end)| {
            let (segment, hub) = self.segments(side, VertexId(end));
            let waiting = hub.as_ref().unwrap_or(segment).waiting();
            !self.is_due(waiting.records + 1, waiting.items)
        })
    }
}
