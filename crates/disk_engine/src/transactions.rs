//! Transactions: the disk engine as an `Engine`.
//!
//! ```text
//! prepare   records sorted, room promised, time for the flush (commit_room)          no lock of the front
//! newer     retained graphs and recent loads, no I/O                                 latch
//! append    into the open graph; a full one is frozen, the next follows (tree)       latch
//! pin       files and generations of this moment                                     registry
//! view      groups and types in memory; the rest out of the pin's sources            none
//! replay    as append, without a latch; what fills two graphs is flushed             alone
//! ```
//!
//! Source: disk-engine, sections 4 and 5; core-protocol, section 12.

use crate::commit_room::{LargeCommit, PreparedWrite, WriteRoom};
use crate::engine::{DiskEngine, DisplacedState};
use crate::file::csr_file::CsrFile;
use crate::format::subject::EdgeSide;
use crate::format::tree_key::ListId;
use crate::generation::GenerationSource;
use crate::index_fill::{DiskIndexFill, used_up};
use crate::index_records::{records_of_changes, records_of_replayed};
use crate::memory_graph::sorted_commit::SortedCommit;
use crate::source::RecordSource;
use crate::topology::disk_topology::DiskTopology;
use crate::tree::ReplacedState;
use crate::tree_state::Pin;
use crate::view::disk_view::DiskView;
use crate::view::read_source::ReadSource;
use crate::view::view_sources::ViewSources;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::{ChangedSince, Engine, EngineStatistics, FreezeRequest, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::index::fill::IndexFill;
use std::time::Duration;

impl DiskEngine {
    /// Freezes the open graph if it is full and another one was opened; under the latch. Else it grows on: so much was
    /// promised in it. Not beyond the frozen graphs that pacing allows, which writers wait for anyway.
    fn switch_if_full(&self) -> Option<ReplacedState<CsrFile>> {
        let is_due = self.tree().with_current(|current| {
            let open = current.open_graph();
            open.is_full()
                && open.last().is_some()
                && current.frozen().len() < self.limits().frozen_graphs_max
        });
        if !is_due {
            return None;
        }
        let replaced = self.tree().switch(self.supply().take()?);
        self.pacing().wake_background();
        Some(replaced)
    }

    /// Installs one commit of the log.
    fn replay_commit(&self, commit: &[(Timestamp, Mutation)]) -> Result<()> {
        let sorted = SortedCommit::of_each(commit, |(_, mutation)| mutation)?;
        let mutations = commit.iter().map(|(_, mutation)| mutation);
        let index_records = records_of_replayed(self.indexes(), self.groups(), mutations);
        if !sorted.is_empty() || !index_records.is_empty() {
            let prepared = self.prepare_replayed(sorted, index_records)?;
            drop(self.append(commit[0].0, prepared));
        }
        Ok(())
    }

    /// Makes the groups of the vertices that a log inserts; one that exists has their label.
    fn replay_groups(&self, mutations: &[(Timestamp, Mutation)]) -> Result<()> {
        for (_, mutation) in mutations {
            if let Mutation::InsertVertex { vertex, label, .. } = mutation {
                let found = self.groups().open(vertex.group(), *label);
                if found != *label {
                    return Err(Error::new(
                        ErrorKind::Corrupt,
                        format!("vertex {vertex} has label {} in the log, its group {}", label.0, found.0),
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Engine for DiskEngine {
    type Pin = Pin<CsrFile>;
    type View<'a> = DiskView<'a>;
    type Topology = DiskTopology<CsrFile>;
    type Prepared = PreparedWrite;
    type Displaced = DisplacedState;

    const KEEPS_INDEXES: bool = true;

    fn keeps_index(&self, _index: IndexId) -> bool {
        true
    }

    fn begin_index(&self, index: IndexId) {
        self.indexes().begin(index);
    }

    fn fill_index<'a>(&'a self, index: IndexId, at: Timestamp) -> Result<Option<Box<dyn IndexFill + 'a>>> {
        let Some(stored) = self.indexes().load().get(&index).copied() else {
            return Err(used_up());
        };
        let subject = stored.subject;
        let on_filled = Box::new(move |run| self.install_fill(index, subject, run));
        Ok(Some(Box::new(DiskIndexFill::new(self, subject, at, on_filled)?)))
    }

    fn complete_index(&self, index: IndexId, at: Timestamp) {
        self.indexes().complete(index, at);
    }

    fn drop_index(&self, index: IndexId) {
        self.indexes().remove(index);
    }

    fn has_index(&self, index: IndexId) -> bool {
        self.indexes().load().contains_key(&index)
    }

    fn retain_indexes(&self, is_kept: &dyn Fn(IndexId) -> bool) {
        self.indexes().retain(is_kept);
    }

    fn leaving_entries(prepared: &PreparedWrite) -> &[Mutation] {
        prepared.leaving()
    }

    #[inline]
    fn pin(&self, _timestamp: Timestamp) -> Pin<CsrFile> {
        self.tree().pin()
    }

    #[inline]
    fn view<'a>(&'a self, pin: &'a Pin<CsrFile>, timestamp: Timestamp) -> Self::View<'a> {
        DiskView::new(self.groups(), ViewSources::Pin(pin), timestamp).with_indexes(self.indexes().load())
    }

    fn freeze(
        &self,
        pin: &Pin<CsrFile>,
        timestamp: Timestamp,
        request: &FreezeRequest<'_>,
    ) -> Result<DiskTopology<CsrFile>> {
        let sources = Self::sources(pin, timestamp);
        DiskTopology::freeze(sources, timestamp, self.groups(), request, Some(&self.files().spill_folder()))
    }

    fn open_group(&self, group: GroupId, label: LabelId) {
        self.groups().open(group, label);
    }

    fn prepare(
        &self,
        mutations: &[Mutation],
        changes: &IndexChanges,
        patience: Duration,
    ) -> Result<PreparedWrite> {
        let commit = SortedCommit::new(mutations)?;
        if changes.leaving.is_empty() && changes.entering.is_empty() {
            return self.prepare_write(commit, Vec::new(), patience);
        }
        let (records, leaving) = records_of_changes(&self.indexes().load(), changes);
        Ok(self.prepare_write(commit, records, patience)?.with_leaving(leaving))
    }

    #[inline]
    fn group_count(&self) -> u32 {
        self.groups().count()
    }

    #[inline]
    fn has_group(&self, group: GroupId) -> bool {
        self.groups().has(group)
    }

    #[inline]
    fn edge_types(&self, group: GroupId, side: Direction) -> Vec<TypeId> {
        self.groups().edge_types(group, side)
    }

    #[inline]
    fn newer(&self, key: &Key, since: Timestamp) -> ChangedSince {
        match self.tree().newer(key, since) {
            ChangedSince::No => self.loads().newer(key, since),
            answer => answer,
        }
    }

    /// Of the records of retained generations and of all files. An edge that was deleted, and that no source names any
    /// more, is seen at most by a writer so old that its commit is refused: its snapshot is before the floor.
    fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) -> Result<()> {
        if !self.groups().has_edge_type(source.group(), EdgeSide::Out, edge_type) {
            return Ok(());
        }
        let current = self.tree().current();
        let list = ListId::edges(source, edge_type, EdgeSide::Out);
        let mut items = Vec::new();
        for generation in current.retained.as_slice() {
            match generation.source() {
                GenerationSource::Graph(graph) => {
                    graph.taken_discriminators(source, edge_type, target, taken);
                }
                // It was flushed a moment ago, perhaps after the set that is looked at.
                GenerationSource::File(file) => {
                    file.at(Timestamp::MAX).between(list, target, &mut items)?;
                }
            }
        }
        for source in current.set.sources() {
            source.at(Timestamp::MAX).between(list, target, &mut items)?;
        }
        taken.extend(items.iter().map(|listed| listed.item.discriminator()));
        Ok(())
    }

    fn append(&self, timestamp: Timestamp, prepared: PreparedWrite) -> DisplacedState {
        match prepared.room {
            WriteRoom::Small(commit) => {
                let replaced = self.switch_if_full();
                let appended = self.tree().open_graph().append(timestamp, *commit);
                DisplacedState::of_commit(appended, replaced)
            }
            WriteRoom::Large(large) => {
                let LargeCommit { graph, next } = *large;
                let (replaced, unused) = self.tree().attach(timestamp, graph, next);
                self.pacing().wake_background();
                DisplacedState::of_large_commit(replaced, unused)
            }
        }
    }

    /// What fills more graphs than may wait is flushed on the way, from commits that an earlier call installed and that
    /// were published since.
    fn replay(&self, mutations: &[(Timestamp, Mutation)]) -> Result<()> {
        self.replay_groups(mutations)?;
        let covered_through = self.tree().with_current(|current| current.covered_through);
        for commit in mutations.chunk_by(|a, b| a.0 == b.0) {
            if commit[0].0 > covered_through {
                self.replay_commit(commit)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn snapshot_ended(&self) {
        self.free_graphs();
    }

    fn statistics(&self) -> EngineStatistics {
        self.shared_statistics()
    }
}
