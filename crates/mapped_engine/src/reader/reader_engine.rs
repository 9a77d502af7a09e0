//! Reader engine: the mapped engine in a process that does not write.
//!
//! A snapshot that could begin nowhere has the error in its pin, which says it when it is asked and in each read. What only
//! writers ask is refused by the store ahead of this.

use crate::freeze::frozen::FrozenGraph;
use crate::group::{SegmentSubject, SharedGroup};
use crate::index_table::StoredIndexState;
use crate::live_snapshot::LiveSnapshot;
use crate::reader::joined_live::PinnedLive;
use crate::reader::live_reader::LiveReader;
use crate::view::layer::Layer;
use crate::view::mapped_view::MappedView;
use crate::view::source::{SegmentSource, type_and_side};
use evergraph_bodies::frozen::label_lists::LabelLists;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::{ChangedSince, Engine, EngineStatistics, FreezeRequest, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::memory_budget::MemoryBudget;
use std::sync::Arc;
use std::time::Duration;

/// A graph in mapped files, in a process that reads what another one writes, or what nobody does.
#[derive(Debug)]
pub struct MappedReader {
    reader: Arc<LiveReader>,
    /// What snapshots leave for the next ones to freeze.
    label_lists: Arc<LabelLists>,
}

/// What a snapshot holds: its slot, or why it has none.
#[derive(Debug)]
pub struct ReaderPin(std::result::Result<Arc<PinnedLive>, RefusedSource>);

/// A graph that can't be read.
#[derive(Debug)]
struct RefusedSource {
    kind: ErrorKind,
    text: String,
}

impl RefusedSource {
    fn error<T>(&self) -> Result<T> {
        Err(Error::new(self.kind, self.text.clone()))
    }
}

impl SegmentSource for RefusedSource {
    /// One, so that whoever reads all groups is told why there is none.
    fn group_count(&self) -> u32 {
        1
    }

    fn label(&self, _: GroupId) -> Result<Option<LabelId>> {
        self.error()
    }

    fn subjects(&self, _: GroupId) -> Result<Vec<SegmentSubject>> {
        self.error()
    }

    fn layer(&self, _: GroupId, _: SegmentSubject, _: Timestamp) -> Result<Option<Layer<'_>>> {
        self.error()
    }

    fn hub<'a>(&'a self, _: &Layer<'a>, _: u16, _: Timestamp) -> Result<Option<Layer<'a>>> {
        self.error()
    }

    fn hub_rows(&self, _: &Layer<'_>) -> Result<Vec<u16>> {
        self.error()
    }
}

impl ReaderPin {
    fn source(&self) -> &dyn SegmentSource {
        match &self.0 {
            Ok(pinned) => pinned.source(),
            Err(refused) => refused,
        }
    }

    fn view(&self, timestamp: Timestamp) -> MappedView<'_> {
        let view = MappedView::new(self.source(), timestamp);
        match &self.0 {
            Ok(pinned) => view.with_indexes(pinned.indexes()),
            Err(_) => view,
        }
    }
}

/// A commit that a reader prepared: there is none.
#[derive(Debug)]
pub enum NoCommit {}

impl MappedReader {
    /// The engine of what `reader` reads. The store's timeline has the same reader. What snapshots leave for the next takes
    /// what is free of `budget`.
    #[must_use]
    pub fn new(reader: Arc<LiveReader>, budget: &MemoryBudget) -> Self {
        Self { reader, label_lists: LabelLists::new(budget) }
    }

    /// Lets go of what is read, as soon as no snapshot is open. Reads of later snapshots say that it is closed.
    pub fn close(&self) {
        self.reader.close();
    }

    fn refused<T>() -> Result<T> {
        Err(Error::invalid("the database is open to be read here: open it to be written to change it"))
    }

    /// Whether something is in a group of the `live` that is read now.
    fn in_group<T>(&self, group: GroupId, read: impl FnOnce(SharedGroup<'_>) -> T) -> Option<T> {
        let joined = self.reader.joined().ok()?;
        SharedGroup::find(joined.live(), group).ok()?.map(read)
    }
}

impl Engine for MappedReader {
    type Pin = ReaderPin;
    type View<'a> = MappedView<'a>;
    type Topology = FrozenGraph;
    type Prepared = NoCommit;
    type Displaced = ();

    const KEEPS_INDEXES: bool = true;

    fn pin(&self, _: Timestamp) -> ReaderPin {
        let refused = |error: Error| RefusedSource { kind: error.kind(), text: error.to_string() };
        ReaderPin(self.reader.take_registered().map(Arc::new).map_err(refused))
    }

    #[inline]
    fn view<'a>(&'a self, pin: &'a ReaderPin, timestamp: Timestamp) -> MappedView<'a> {
        pin.view(timestamp)
    }

    fn freeze(
        &self,
        pin: &ReaderPin,
        timestamp: Timestamp,
        request: &FreezeRequest<'_>,
    ) -> Result<FrozenGraph> {
        let view = MappedView::new(pin.source(), timestamp);
        let frozen = FrozenGraph::new(&view, Some(&self.label_lists), request)?;
        Ok(match &pin.0 {
            // Its lists lie in bodies that the slot keeps.
            Ok(pinned) => frozen.keeping(Arc::clone(pinned)),
            Err(_) => frozen,
        })
    }

    fn open_group(&self, _: GroupId, _: LabelId) {}

    fn prepare(&self, _: &[Mutation], _: &IndexChanges, _: Duration) -> Result<NoCommit> {
        Self::refused()
    }

    fn group_count(&self) -> u32 {
        self.reader.joined().map_or(0, |joined| joined.live().group_end())
    }

    fn has_group(&self, group: GroupId) -> bool {
        self.in_group(group, |_| ()).is_some()
    }

    fn edge_types(&self, group: GroupId, side: Direction) -> Vec<TypeId> {
        let of_side = |group: SharedGroup<'_>| {
            let subjects = group.subjects().filter_map(type_and_side);
            subjects.filter(|subject| subject.1 == side).map(|subject| subject.0).collect()
        };
        self.in_group(group, of_side).unwrap_or_default()
    }

    /// No commit here could conflict.
    fn newer(&self, _: &Key, _: Timestamp) -> ChangedSince {
        ChangedSince::No
    }

    fn taken_discriminators(&self, _: VertexId, _: TypeId, _: VertexId, _: &mut Vec<u16>) -> Result<()> {
        Self::refused()
    }

    fn append(&self, _: Timestamp, prepared: NoCommit) {
        match prepared {}
    }

    fn replay(&self, _: &[(Timestamp, Mutation)]) -> Result<()> {
        Self::refused()
    }

    fn shared_catalogue(&self, pin: &ReaderPin) -> Option<Arc<Catalogue>> {
        pin.0.as_ref().ok().map(|pinned| Arc::clone(pinned.names()))
    }

    fn check_begun(&self, pin: &ReaderPin) -> Result<()> {
        pin.0.as_ref().map_or_else(RefusedSource::error, |_| Ok(()))
    }

    fn shared_index(&self, pin: &ReaderPin, index: IndexId) -> Option<Timestamp> {
        match pin.0.as_ref().ok()?.indexes().get(&index)?.state {
            StoredIndexState::Ready(since) => Some(since),
            StoredIndexState::Building | StoredIndexState::Filled => None,
        }
    }

    fn snapshot_ended(&self) {}

    /// Groups, segments, hubs and bytes of bodies, as `live` says; no body is touched. Where it can't be read, less.
    fn statistics(&self) -> EngineStatistics {
        let mut sum = EngineStatistics::default();
        // A slot of its own, which no snapshot of the store has.
        let Ok(pinned) = self.reader.begin() else { return sum };
        let (source, live) = (pinned.source(), pinned.live());
        let snapshot = LiveSnapshot::new(live, pinned.timestamp());
        for group in (0..source.group_count()).map(GroupId) {
            // What is damaged is told to who reads it.
            let Ok(subjects) = source.subjects(group) else { continue };
            sum.groups += u64::from(matches!(source.label(group), Ok(Some(_))));
            for subject in subjects {
                let Ok(Some(version)) = snapshot.version(group, subject) else { continue };
                sum.segments += 1;
                sum.topology_bytes += version.body.bytes;
                if version.hubs.is_none() {
                    continue;
                }
                for row in snapshot.hub_rows(&version).unwrap_or_default() {
                    let Ok(Some(hub)) = snapshot.hub(&version, row) else { continue };
                    sum.segments += 1;
                    sum.hubs += 1;
                    sum.topology_bytes += hub.body.bytes;
                }
            }
        }
        sum
    }
}
