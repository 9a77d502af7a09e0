//! Load: the bodies of a bulk load, written as extents, read by index checks, then installed.
//!
//! ```text
//! sort      blocks become bodies of groups (evergraph_bodies::load)
//! extend    edges at vertices that are there: the body of their segment and the new edges in one
//! change    properties of vertices that are there
//! write     each body as soon as it is built; nothing refers to it yet
//! ```
//!
//! A body that is going to be replaced was settled: it is all that there is of its segment.
//!
//! A load that isn't installed, because it was cancelled or failed, takes the array files that it made with it, but for those that
//! somebody else wrote into meanwhile, or that could not be written.

use crate::body_store::body_writer::BodyWriter;
use crate::body_store::stored_body::{StoredBody, StoredColumns};
use crate::engine::graph::MappedGraph;
use crate::engine::groups::id_of;
use crate::engine::index_fill::{FilledEntries, MappedIndexFill, used_up};
use crate::engine::install::{LoadedGraph, LoadedSegment, PreparedInstall, SegmentHome};
use crate::entries::entry::EntryForm;
use crate::extents::table::Extents;
use crate::files::segment_id::SegmentId;
use crate::group::SegmentSubject;
use crate::merge::BuiltBody;
use crate::segment::LiveSegment;
use crate::view::layer::Layer;
use crate::view::mapped_view::MappedView;
use crate::view::source::{SegmentSource, VERTICES, edges, segment_id};
use evergraph_bodies::body::Body;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_lists::EdgeLists;
use evergraph_bodies::edge_subject::EdgeSubject;
use evergraph_bodies::load::sort::PresentLists;
use evergraph_bodies::load::sorter::{LoadSorter, LoadTarget};
use evergraph_bodies::net::{Effect, Net};
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, LabelId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::load::VertexChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::durable_engine::{LoadPlan, OnLoadProgress};
use evergraph_storage::record::RecordKey;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A body that is there before a load.
#[derive(Debug)]
pub struct PresentBody(Arc<StoredBody>);

impl PresentLists for PresentBody {
    fn lists(&self) -> Result<EdgeLists<'_>> {
        Ok(self.0.edges()?)
    }
}

impl LoadTarget for MappedGraph {
    type Present = PresentBody;

    fn has_group(&self, group: GroupId) -> bool {
        self.groups().get(group).is_some()
    }

    fn settle(&self, group: GroupId, subject: EdgeSubject) -> Result<()> {
        let subject = edges(subject.edge_type(), subject.side());
        let segment = self.groups().get(group).and_then(|group| group.segment(subject));
        let Some(segment) = segment else { return Ok(()) };
        self.settle_segment(&segment)?;
        segment.hubs().iter().try_for_each(|(_, hub)| self.settle_segment(hub))
    }

    fn present(&self, subject: EdgeSubject, vertex: VertexId) -> Result<Option<PresentBody>> {
        let subject = edges(subject.edge_type(), subject.side());
        let segment = self.groups().get(vertex.group()).and_then(|group| group.segment(subject));
        let Some(segment) = segment else { return Ok(None) };
        let segment = segment.hub_of(vertex.row()).unwrap_or(segment);
        Ok(Some(PresentBody(self.body_of(&segment)?)))
    }
}

/// Array files that were made since a load began: those without extents are removed when this is dropped, after all that may
/// hold one of the load's.
#[derive(Debug)]
struct NewArrayFiles {
    extents: Arc<Extents>,
    first: u64,
}

impl NewArrayFiles {
    fn new(extents: &Arc<Extents>) -> Self {
        Self { extents: Arc::clone(extents), first: extents.next_number() }
    }
}

impl Drop for NewArrayFiles {
    fn drop(&mut self) {
        // What ended the load says more than a file that stays until the next checkpoint.
        let _ = self.extents.remove_empty_files_from(self.first);
    }
}

/// A load that is built, and not installed yet.
#[derive(Debug)]
pub struct BuiltLoad {
    // In this order: bodies go before the files that they lie in.
    install: PreparedInstall,
    staged: StagedSource,
    _files: NewArrayFiles,
    graph: Arc<MappedGraph>,
}

impl BuiltLoad {
    /// Builds a load into `graph`.
    ///
    /// # Errors
    /// As [`LoadSorter::edges`]; `limit` on a full disk; what the system says.
    pub fn new(
        graph: &Arc<MappedGraph>,
        plan: &LoadPlan<'_>,
        progress: &mut OnLoadProgress<'_>,
    ) -> Result<Self> {
        // Dropped after `build`, whatever the error.
        let files = NewArrayFiles::new(graph.extents());
        let loaded = LoadedGraph { base: plan.numbers.base, labels: BTreeMap::new(), segments: Vec::new() };
        let mut build = LoadBuild { graph, plan, loaded, staged: StagedSource::default() };
        match build.run(progress) {
            Ok(()) => {
                let install = graph.prepare_install(build.loaded)?;
                Ok(Self { install, staged: build.staged, _files: files, graph: Arc::clone(graph) })
            }
            Err(error) => {
                graph.give_up_load(&build.loaded);
                Err(error)
            }
        }
    }

    /// What index checks read.
    #[must_use]
    pub fn view(&self, timestamp: Timestamp) -> MappedView<'_> {
        MappedView::new(&self.staged, timestamp)
    }

    /// Takes what the load's rows come to in an index, and all that there is of a new one.
    ///
    /// # Errors
    /// `limit` without room in `live`, or without a number for a new index.
    pub fn fill(&self, index: IndexId, at: Timestamp) -> Result<MappedIndexFill<'_>> {
        let known = self.graph.indexes().load().get(&index).map(|index| index.number);
        let number = known.or_else(|| self.graph.indexes().take_number()).ok_or_else(used_up)?;
        let segment = self.graph.index_segment(number)?;
        let on_filled = Box::new(move |entries: FilledEntries| {
            let body = self.graph.united_index(&segment, at, &entries)?;
            self.install.add_index(index, &segment, body)
        });
        Ok(MappedIndexFill::new(EntryForm::of(index), self.graph.fill_budget(), on_filled))
    }

    /// Makes it real. Under the latch, before its timestamp is published; cannot fail.
    pub fn install(&self, timestamp: Timestamp) {
        self.install.install(timestamp);
    }
}

struct LoadBuild<'a> {
    graph: &'a Arc<MappedGraph>,
    plan: &'a LoadPlan<'a>,
    loaded: LoadedGraph,
    staged: StagedSource,
}

impl LoadBuild<'_> {
    fn run(&mut self, progress: &mut OnLoadProgress<'_>) -> Result<()> {
        let (graph, plan) = (self.graph, self.plan);
        let sorter = LoadSorter { plan, target: &**graph };
        for (table, (label, first)) in plan.load.vertices.iter().zip(&plan.numbers.tables) {
            let groups = table.rows.div_ceil(GROUP_SIZE.into()) as u32;
            for group in (first.0..first.0 + groups).map(GroupId) {
                self.loaded.labels.insert(group, *label);
                self.staged.labels.insert(group, *label);
            }
        }
        for edge_type in sorter.types() {
            for (side, bodies) in sorter.edges(edge_type, progress)? {
                let subject = EdgeSubject::new(edge_type, side);
                for (group, body) in bodies {
                    if self.loaded.labels.contains_key(&group) {
                        self.add_edges(group, subject, body)?;
                        continue;
                    }
                    if side == Direction::Out && plan.indexed.contains(&edge_type) {
                        self.stage_added(group, subject, &body)?;
                    }
                    self.extend(group, subject, body)?;
                }
            }
        }
        for changes in plan.changes.chunk_by(|one, other| one.vertex.group() == other.vertex.group()) {
            progress(0)?;
            self.change(changes)?;
        }
        for table in 0..plan.load.vertices.len() {
            let (_, first) = plan.numbers.tables[table];
            for (group, body) in (first.0..).map(GroupId).zip(sorter.vertices(table)?) {
                self.add_vertices(group, &body)?;
            }
            progress(0)?;
        }
        Ok(())
    }

    fn writer(&self, segment: SegmentId) -> BodyWriter<'_> {
        BodyWriter { extents: self.graph.extents(), segment, base: self.plan.numbers.base }
    }

    /// A body that is going to be a segment's.
    fn insert(&self, body: &Arc<StoredBody>, items: usize) -> Result<BuiltBody> {
        Ok(BuiltBody { place: self.graph.bodies().insert(Arc::clone(body))?, items })
    }

    fn segment(&self, group: GroupId, subject: SegmentSubject) -> Result<Arc<LiveSegment>> {
        let group = self.graph.groups().get(group).expect("it was there before the load");
        self.graph.segment_or_new(group, subject)
    }

    fn add_vertices(&mut self, group: GroupId, body: &VertexBody) -> Result<()> {
        let id = SegmentId::vertices(group);
        let stored = Arc::new(self.writer(id).vertices(body, &|_, _| None)?);
        let body = self.insert(&stored, body.items())?;
        let home = SegmentHome::NewGroup(group, VERTICES);
        self.loaded.segments.push(LoadedSegment { home, body, new_hubs: Vec::new(), of_group: None });
        self.staged.stage(id, stored);
        Ok(())
    }

    fn add_edges(&mut self, group: GroupId, subject: EdgeSubject, body: EdgeBody) -> Result<()> {
        let subject = edges(subject.edge_type(), subject.side());
        let home = SegmentHome::NewGroup(group, subject);
        for (id, stored) in self.put(segment_id(group, subject), home, body)? {
            self.staged.stage(id, stored);
        }
        Ok(())
    }

    /// Writes the next body of a group's segment, its new hubs apart. What was written.
    fn put(
        &mut self,
        id: SegmentId,
        home: SegmentHome,
        body: EdgeBody,
    ) -> Result<Vec<(SegmentId, Arc<StoredBody>)>> {
        let (own, hubs) = body.split_hubs();
        let stored = Arc::new(self.writer(id).edges(&own, &|_, _| None, StoredColumns::new())?);
        let body = self.insert(&stored, own.items())?;
        let mut loaded = LoadedSegment { home, body, new_hubs: Vec::new(), of_group: None };
        let mut written = vec![(id, stored)];
        let mut failed = Ok(());
        for (row, hub) in hubs {
            let put = || {
                let stored =
                    Arc::new(self.writer(id.hub(row)).edges(&hub, &|_, _| None, StoredColumns::new())?);
                Ok::<_, Error>((self.insert(&stored, hub.items())?, stored))
            };
            match put() {
                Ok((body, stored)) => {
                    loaded.new_hubs.push((row, body));
                    written.push((id.hub(row), stored));
                }
                Err(error) => {
                    failed = Err(error);
                    break;
                }
            }
        }
        // Also what an error leaves unfinished: it is taken back together with the rest.
        self.loaded.segments.push(loaded);
        failed.map(|()| written)
    }

    /// What `added`, which is not empty, makes of a settled segment.
    fn extend(&mut self, group: GroupId, subject: EdgeSubject, added: EdgeBody) -> Result<()> {
        let segment = self.segment(group, edges(subject.edge_type(), subject.side()))?;
        let mut of_hubs = Vec::new();
        if segment.has_hubs() {
            added.for_each_row(|row, range| {
                if segment.hub_of(row).is_some() {
                    of_hubs.push((row, range));
                }
            });
        }
        let (own, of_hubs) = if of_hubs.is_empty() { (added, Vec::new()) } else { added.split(of_hubs) };
        if own.items() > 0 {
            let united = self.united(&segment, &own)?;
            self.put(id_of(&segment), SegmentHome::Present(Arc::clone(&segment)), united)?;
        }
        for (row, added) in of_hubs {
            let hub = segment.hub_of(row).expect("looked up above");
            let united = self.united(&hub, &added)?;
            let stored =
                Arc::new(self.writer(id_of(&hub)).edges(&united, &|_, _| None, StoredColumns::new())?);
            let (body, of_group) = (self.insert(&stored, united.items())?, Some(Arc::clone(&segment)));
            let home = SegmentHome::Present(hub);
            self.loaded.segments.push(LoadedSegment { home, body, new_hubs: Vec::new(), of_group });
        }
        Ok(())
    }

    /// The body of a settled segment and `added` in one; bodies count their edges in 32 bits.
    fn united(&self, segment: &LiveSegment, added: &EdgeBody) -> Result<EdgeBody> {
        let before = self.graph.body_of(segment)?.to_edge_body(|_| true)?;
        let edges = before.items() as u64 + added.items() as u64;
        if u32::try_from(edges).is_err() {
            let text = format!(
                "{edges} edges of one type at one group of 4,096 vertices or one hub; at most 2^32 - 1 fit"
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        Ok(before.united(added))
    }

    /// The new edges of a group that is there, alone: for index checks.
    fn stage_added(&mut self, group: GroupId, subject: EdgeSubject, added: &EdgeBody) -> Result<()> {
        let id = segment_id(group, edges(subject.edge_type(), subject.side()));
        let stored = self.writer(id).edges(added, &|_, _| None, StoredColumns::new())?;
        let label = self.graph.groups().get(group).expect("it was there").label;
        self.staged.labels.insert(group, label);
        self.staged.stage(id, Arc::new(stored));
        Ok(())
    }

    /// What `changes`, of vertices of one group that are there, make of its segment; at least one, ascending by vertex, one
    /// entry each.
    fn change(&mut self, changes: &[VertexChange]) -> Result<()> {
        let segment = self.segment(changes[0].vertex.group(), VERTICES)?;
        self.graph.settle_segment(&segment)?;
        let net = |change: &VertexChange| Net {
            key: RecordKey::vertex(change.vertex.row()),
            effect: Effect::Changed(change.properties.clone()),
            difference: 0,
        };
        let nets: Vec<Net> = changes.iter().map(net).collect();
        let merged = self.graph.body_of(&segment)?.to_vertex_body()?.merged(&nets);
        let stored = Arc::new(self.writer(id_of(&segment)).vertices(&merged, &|_, _| None)?);
        let body = self.insert(&stored, merged.items())?;
        let home = SegmentHome::Present(segment);
        self.loaded.segments.push(LoadedSegment { home, body, new_hubs: Vec::new(), of_group: None });
        Ok(())
    }
}

/// What a load adds, alone.
#[derive(Debug, Default)]
struct StagedSource {
    labels: BTreeMap<GroupId, LabelId>,
    bodies: BTreeMap<SegmentId, Arc<StoredBody>>,
}

impl StagedSource {
    fn stage(&mut self, id: SegmentId, body: Arc<StoredBody>) {
        self.bodies.insert(id, body);
    }

    fn hubs_of(&self, id: SegmentId) -> impl Iterator<Item = (&SegmentId, &Arc<StoredBody>)> {
        self.bodies.range(id..).skip(1).take_while(move |(other, _)| other.of_group() == id)
    }

    fn of(&self, id: SegmentId, timestamp: Timestamp) -> Option<Layer<'_>> {
        let body = self.bodies.get(&id)?;
        let layer = Layer::of_body(id, Arc::clone(body), timestamp);
        Some(if self.hubs_of(id).next().is_some() { layer.with_hubs() } else { layer })
    }
}

impl SegmentSource for StagedSource {
    fn group_count(&self) -> u32 {
        self.labels.last_key_value().map_or(0, |(group, _)| group.0 + 1)
    }

    fn label(&self, group: GroupId) -> Result<Option<LabelId>> {
        Ok(self.labels.get(&group).copied())
    }

    fn subjects(&self, group: GroupId) -> Result<Vec<SegmentSubject>> {
        let from = SegmentId::vertices(group);
        let own = self.bodies.range(from..).map(|(id, _)| *id).take_while(|id| id.group() == group);
        Ok(own
            .filter(|id| id.hub_row().is_none())
            .map(|id| id.type_and_side().map_or(VERTICES, |(edge_type, side)| edges(edge_type, side)))
            .collect())
    }

    fn layer(
        &self,
        group: GroupId,
        subject: SegmentSubject,
        timestamp: Timestamp,
    ) -> Result<Option<Layer<'_>>> {
        Ok(self.of(segment_id(group, subject), timestamp))
    }

    fn hub<'a>(&'a self, layer: &Layer<'a>, row: u16, timestamp: Timestamp) -> Result<Option<Layer<'a>>> {
        let id = layer.segment();
        if id.type_and_side().is_none() || id.hub_row().is_some() {
            return Ok(None);
        }
        Ok(self.of(id.hub(row), timestamp))
    }

    fn hub_rows(&self, layer: &Layer<'_>) -> Result<Vec<u16>> {
        Ok(self.hubs_of(layer.segment()).filter_map(|(id, _)| id.hub_row()).collect())
    }
}
