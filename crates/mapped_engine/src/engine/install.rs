//! Installing: bodies that a bulk load wrote take the place of those of their segments, all of them with one timestamp.
//!
//! ```text
//! before   segments of groups that the load makes, which nobody finds yet; blocks for versions and tables of hubs of the others
//! latch    new groups can be found; a version of the load's timestamp for each segment that was there, over the one that older
//!          snapshots go on reading
//! ```
//!
//! A segment that gets a body was settled: it has no records, and nobody commits until the load is installed. A load that isn't
//! installed leaves no group, in `live` or in the heap.

use crate::arena::{ArenaBlock, NewBlocks};
use crate::engine::graph::MappedGraph;
use crate::engine::groups::{Group, SubjectSegment};
use crate::group::{SegmentSubject, group_words};
use crate::hub_table::hub_table_words;
use crate::merge::BuiltBody;
use crate::segment::{HubSegment, LiveSegment, NewerRecords, NextBody};
use crate::view::source::{VERTICES, type_and_side};
use crate::words::LINE_WORDS;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, LabelId};
use evergraph_graph::index::IndexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a body of a load goes.
#[derive(Debug)]
pub enum SegmentHome {
    /// A segment that is there, and has no records.
    Present(Arc<LiveSegment>),
    /// One of a group that the load makes.
    NewGroup(GroupId, SegmentSubject),
}

/// What a load makes of a segment.
#[derive(Debug)]
pub struct LoadedSegment {
    /// The segment.
    pub home: SegmentHome,
    /// Its next body.
    pub body: BuiltBody,
    /// Rows that get segments of their own, ascending, each with its body.
    pub new_hubs: Vec<(u16, BuiltBody)>,
    /// Of a hub: the segment that it was taken out of.
    pub of_group: Option<Arc<LiveSegment>>,
}

/// All that a load makes, with bodies in the table of bodies.
#[derive(Debug)]
pub struct LoadedGraph {
    /// The load's timestamp: bodies are exact at it.
    pub base: Timestamp,
    /// The label of each group that the load makes.
    pub labels: BTreeMap<GroupId, LabelId>,
    /// A segment stands before its hubs.
    pub segments: Vec<LoadedSegment>,
}

impl LoadedGraph {
    /// Takes its bodies back, to which nothing refers.
    fn remove_bodies(&self, graph: &MappedGraph) {
        for loaded in &self.segments {
            let bodies = [loaded.body].into_iter().chain(loaded.new_hubs.iter().map(|hub| hub.1));
            bodies.for_each(|body| graph.bodies().remove(body.place));
        }
    }
}

/// The blocks that replacing the body of a segment takes.
#[derive(Debug)]
struct ReservedBlocks {
    line: ArenaBlock,
    table: Option<ArenaBlock>,
    hub_lines: Vec<ArenaBlock>,
}

/// What installing a load takes.
#[derive(Debug)]
struct ReservedInstall {
    /// Of each segment that is there, in the load's order.
    present: Vec<ReservedBlocks>,
    /// New groups, and the block of each.
    groups: Vec<(Group, ArenaBlock)>,
    /// All blocks.
    blocks: Vec<ArenaBlock>,
}

/// What a load makes of an index.
#[derive(Debug)]
struct LoadedIndex {
    index: IndexId,
    loaded: LoadedSegment,
    line: ArenaBlock,
}

/// A load that can be installed without failing. What isn't installed is free again when this is dropped.
#[derive(Debug)]
pub struct PreparedInstall {
    graph: Arc<MappedGraph>,
    load: LoadedGraph,
    /// Bodies of indexes, each with its index and the line of its version.
    indexes: Mutex<Vec<LoadedIndex>>,
    /// None once it was installed.
    reserved: Mutex<Option<ReservedInstall>>,
}

impl MappedGraph {
    /// Reserves what installing `load` takes.
    ///
    /// # Errors
    /// `limit` if there is no room in `live`. The bodies are free again then.
    pub fn prepare_install(self: &Arc<Self>, load: LoadedGraph) -> Result<PreparedInstall> {
        match self.reserve_install(&load) {
            Ok(reserved) => {
                let (graph, reserved) = (Arc::clone(self), Mutex::new(Some(reserved)));
                Ok(PreparedInstall { graph, load, indexes: Mutex::default(), reserved })
            }
            Err(error) => {
                load.remove_bodies(self);
                Err(self.writer().naming_the_oldest(error))
            }
        }
    }

    /// Takes back the bodies of a load that is given up.
    pub fn give_up_load(&self, load: &LoadedGraph) {
        load.remove_bodies(self);
    }

    fn reserve_install(&self, load: &LoadedGraph) -> Result<ReservedInstall> {
        let mut new = NewBlocks::new(self.arena());
        let mut present = Vec::new();
        let mut made: BTreeMap<GroupId, Vec<SubjectSegment>> =
            load.labels.keys().map(|group| (*group, Vec::new())).collect();
        for loaded in &load.segments {
            let segment = match &loaded.home {
                SegmentHome::Present(segment) => segment,
                SegmentHome::NewGroup(group, subject) => {
                    let segment = self.new_segment((*group, *subject), load.base, loaded, &mut new)?;
                    made.entry(*group).or_default().push((*subject, segment));
                    continue;
                }
            };
            let hubs = segment.hubs().len() + loaded.new_hubs.len();
            let line = new.allocate(LINE_WORDS)?;
            let table = if hubs > 0 { Some(new.allocate(hub_table_words(hubs))?) } else { None };
            let hub_lines =
                loaded.new_hubs.iter().map(|_| new.allocate(LINE_WORDS)).collect::<Result<_>>()?;
            present.push(ReservedBlocks { line, table, hub_lines });
        }
        let mut groups = Vec::with_capacity(made.len());
        for (group, mut segments) in made {
            segments.sort_unstable_by_key(|segment| segment.0);
            self.writer().open_page(group)?;
            let block = new.allocate(group_words(segments.len()))?;
            let made = Group::with_segments(group, load.labels[&group], segments);
            made.set_members_changed(load.base);
            groups.push((made, block));
        }
        Ok(ReservedInstall { present, groups, blocks: new.into_blocks() })
    }

    /// A segment of a group that nobody finds yet, with its hubs.
    fn new_segment(
        &self,
        (group, subject): (GroupId, SegmentSubject),
        base: Timestamp,
        loaded: &LoadedSegment,
        new: &mut NewBlocks<'_>,
    ) -> Result<Arc<LiveSegment>> {
        let memory = self.writer().memory();
        let (line, LoadedSegment { body, new_hubs, .. }) = (new.allocate(LINE_WORDS)?, loaded);
        let segment =
            LiveSegment::with_items(&memory, (group, subject), line, (base, body.place), body.items);
        segment.history().forget_before(base);
        if !new_hubs.is_empty() {
            let table = new.allocate(hub_table_words(new_hubs.len()))?;
            let mut hubs: Vec<HubSegment> = Vec::with_capacity(new_hubs.len());
            for (row, hub) in new_hubs {
                let line = new.allocate(LINE_WORDS)?;
                let body = (base, hub.place, hub.items);
                hubs.push((*row, Arc::new(segment.hub(&memory, *row, line, body, NewerRecords::default()))));
            }
            segment.attach_hubs(&memory, table, hubs);
        }
        Ok(Arc::new(segment))
    }
}

impl PreparedInstall {
    /// Adds the next body of an index, which is going to be ready with the load if it isn't there yet.
    ///
    /// # Errors
    /// `limit` if there is no room in `live`. The body is free again then.
    pub fn add_index(&self, index: IndexId, segment: &Arc<LiveSegment>, body: BuiltBody) -> Result<()> {
        let line = self.graph.arena().allocate(LINE_WORDS).map_err(|error| {
            self.graph.bodies().remove(body.place);
            self.graph.writer().naming_the_oldest(error)
        })?;
        let home = SegmentHome::Present(Arc::clone(segment));
        let loaded = LoadedSegment { home, body, new_hubs: Vec::new(), of_group: None };
        self.indexes.lock().push(LoadedIndex { index, loaded, line });
        Ok(())
    }

    /// Makes it real. Under the latch, before its timestamp is published; cannot fail.
    ///
    /// # Panics
    /// If it was installed before, or its bodies are of another timestamp.
    pub fn install(&self, timestamp: Timestamp) {
        let (graph, memory) = (&self.graph, self.graph.writer().memory());
        assert_eq!(timestamp, self.load.base, "bodies are exact at the load's timestamp");
        let reserved = self.reserved.lock().take().expect("a load is installed once");
        for (group, block) in reserved.groups {
            let segments = group.segments();
            let references = segments.iter().map(|(at, segment)| (*at, Arc::clone(segment.reference())));
            graph.writer().add_group(group.id, group.label, block, references.collect());
            drop(segments);
            graph.groups().open_with(group.id, || group);
        }
        let mut growth = 0;
        {
            let _registry = graph.timeline().registry();
            let mut blocks = reserved.present.into_iter();
            for loaded in &self.load.segments {
                let LoadedSegment { home, body, new_hubs, .. } = loaded;
                let items = body.items + new_hubs.iter().map(|(_, hub)| hub.items).sum::<usize>();
                let (subject, before) = match home {
                    SegmentHome::NewGroup(_, subject) => (*subject, 0),
                    SegmentHome::Present(segment) => {
                        let blocks = blocks.next().expect("blocks were reserved for each");
                        let before = segment.items();
                        graph.replace_loaded(segment, loaded, timestamp, blocks);
                        (segment.subject(), before)
                    }
                };
                if subject != VERTICES {
                    growth += items as i64 - before as i64;
                }
            }
        }
        graph.count_body_edges(growth);
        self.install_indexes(timestamp);
        for LoadedSegment { home, of_group, .. } in &self.load.segments {
            let SegmentHome::Present(segment) = home else { continue };
            segment.history().forget_before(timestamp);
            // Conflict checks look there first.
            of_group.iter().for_each(|of_group| of_group.history().changed_at(timestamp));
            graph.writer().keep_past(segment);
            if type_and_side(segment.subject()).is_none() {
                let group = graph.groups().get(segment.group());
                group.into_iter().for_each(|group| group.set_members_changed(timestamp));
            }
        }
        graph.writer().note_load();
        memory.live.publish(timestamp);
    }
}

impl PreparedInstall {
    fn install_indexes(&self, timestamp: Timestamp) {
        let graph = &self.graph;
        for LoadedIndex { index, loaded, line } in std::mem::take(&mut *self.indexes.lock()) {
            let SegmentHome::Present(segment) = &loaded.home else { continue };
            let blocks = ReservedBlocks { line, table: None, hub_lines: Vec::new() };
            {
                let _registry = graph.timeline().registry();
                graph.replace_loaded(segment, &loaded, timestamp, blocks);
            }
            graph.writer().keep_past(segment);
            if graph.is_dropped(segment) {
                graph.indexes().add_ready(index, segment.subject().0, timestamp);
            }
        }
    }
}

impl MappedGraph {
    /// Puts a loaded body in the place of a segment's. Under latch and registry.
    fn replace_loaded(
        &self,
        segment: &LiveSegment,
        loaded: &LoadedSegment,
        base: Timestamp,
        blocks: ReservedBlocks,
    ) {
        let memory = self.writer().memory();
        let mut hubs: Vec<HubSegment> = segment.hubs().to_vec();
        for ((row, hub), line) in loaded.new_hubs.iter().zip(blocks.hub_lines) {
            let body = (base, hub.place, hub.items);
            let made = Arc::new(segment.hub(&memory, *row, line, body, NewerRecords::default()));
            // What it has of its segment's past ends before the load.
            made.history().forget_before(base);
            hubs.push((*row, made));
        }
        hubs.sort_unstable_by_key(|hub| hub.0);
        debug_assert!(segment.records() == 0, "it was settled, and nobody committed since");
        let next = NextBody {
            base,
            body: loaded.body.place,
            items: loaded.body.items,
            rest: NewerRecords::default(),
            line: blocks.line,
            hubs: blocks.table.map(|table| (table, hubs)),
            displaced: segment.state().content(),
        };
        drop(segment.replace_body(&memory, next));
    }
}

impl Drop for PreparedInstall {
    fn drop(&mut self) {
        for LoadedIndex { loaded, line, .. } in std::mem::take(&mut *self.indexes.lock()) {
            self.graph.bodies().remove(loaded.body.place);
            self.graph.arena().free(line);
        }
        let Some(reserved) = self.reserved.lock().take() else { return };
        self.graph.arena().free_all(reserved.blocks);
        self.load.remove_bodies(&self.graph);
    }
}
