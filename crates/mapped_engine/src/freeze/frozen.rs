//! Freezing: segments in `live` and in mapped files as lists for algorithms.
//!
//! Lists are bodies in their files, so that nothing is copied but what is fresh, and what a projection leaves edges out of.
//!
//! Rows and neighbours that were read from `live` or a file are checked here, before a kernel indexes its arrays by them.

use crate::freeze::mapped_lists::MappedLists;
use crate::version::ALL_KEYS;
use crate::view::layer::{Layer, record_ref};
use crate::view::mapped_view::MappedView;
use crate::view::source::type_and_side;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::frozen::freeze_source::{FreezeSegment, FreezeSource, FreezeVisitor, ListChanges};
use evergraph_bodies::frozen::frozen_graph;
use evergraph_bodies::net::{Net, nets};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, KeyId, LabelId, TypeId};
use evergraph_storage::record::{Operation, RecordKey};
use evergraph_storage::view::{GroupBits, View};
use std::sync::Arc;

/// Adjacency lists of one snapshot, for algorithms.
pub type FrozenGraph = frozen_graph::FrozenGraph<MappedLists>;

impl FreezeSource for MappedView<'_> {
    type Lists = MappedLists;

    fn group_count(&self) -> u32 {
        self.source().group_count()
    }

    fn label(&self, group: GroupId) -> Result<Option<LabelId>> {
        self.source().label(group)
    }

    fn live(&self, group: GroupId) -> Result<GroupBits> {
        View::live(self, group)
    }

    fn for_each_segment(
        &self,
        group: GroupId,
        side: Direction,
        wanted: &dyn Fn(TypeId) -> bool,
        freeze: &mut FreezeVisitor<'_, MappedLists>,
    ) -> Result<()> {
        let (source, timestamp) = (self.source(), self.timestamp());
        let bound = source.group_count().saturating_mul(GROUP_SIZE);
        for subject in source.subjects(group)? {
            let Some((edge_type, own_side)) = type_and_side(subject) else { continue };
            if own_side != side || !wanted(edge_type) {
                continue;
            }
            let Some(layer) = source.layer(group, subject, timestamp)? else { continue };
            freeze(edge_type, &BoundedLayer { layer: &layer, bound })?;
            for row in source.hub_rows(&layer)? {
                if let Some(hub) = source.hub(&layer, row, timestamp)? {
                    freeze(edge_type, &BoundedLayer { layer: &hub, bound })?;
                }
            }
        }
        Ok(())
    }
}

/// What a snapshot sees of a segment, of a graph whose vertex ids lie below a bound.
struct BoundedLayer<'a> {
    layer: &'a Layer<'a>,
    bound: u32,
}

impl BoundedLayer<'_> {
    /// That the edges of these keys, which ascend, are possible.
    fn check(&self, keys: impl DoubleEndedIterator<Item = RecordKey> + Clone) -> Result<()> {
        let Some(last) = keys.clone().next_back() else { return Ok(()) };
        let (row, highest) = (last.row(), keys.map(RecordKey::neighbor).max().unwrap_or(0));
        if u32::from(row) < GROUP_SIZE && highest < self.bound {
            return Ok(());
        }
        let bound = self.bound;
        Err(self.layer.damaged(format_args!(
            "rows below {GROUP_SIZE} and neighbours below v{bound} expected, found row {row} and v{highest}"
        )))
    }
}

impl FreezeSegment for BoundedLayer<'_> {
    type Lists = MappedLists;

    fn lists(&self) -> Result<MappedLists> {
        let body = self.layer.body();
        if let (Some(highest), Some(extent)) = (body.highest_neighbor()?, body.extent())
            && highest >= self.bound
        {
            let bound = self.bound;
            return Err(extent
                .corrupt(format!("neighbours below v{bound} expected, found v{highest}"))
                .into());
        }
        Ok(MappedLists::Place(Arc::clone(body)))
    }

    fn changes(&self) -> Result<ListChanges> {
        let stamps = self.layer.stamps(&ALL_KEYS)?;
        self.check(stamps.iter().map(|(key, _)| *key))?;
        let only_inserts = stamps.iter().all(|(_, stamp)| stamp.operation() == Operation::Insert);
        if only_inserts && stamps.is_sorted_by(|a, b| a.0 < b.0) {
            return Ok(ListChanges::Inserted(stamps.into_iter().map(|(key, _)| key).collect()));
        }
        Ok(ListChanges::Differences(Layer::differences(&stamps)))
    }

    fn inexact(&self, problem: String) -> Error {
        self.layer.damaged(problem)
    }

    fn with_nets(&self, read: &mut dyn FnMut(&[Net]) -> Result<()>) -> Result<()> {
        let records = self.layer.all_records()?;
        self.check(records.iter().map(|record| record.key))?;
        let nets: Vec<Net> = nets(records.iter().map(record_ref)).collect();
        read(&nets)
    }

    fn body(&self, keys: &[KeyId]) -> Result<Arc<EdgeBody>> {
        Ok(Arc::new(self.layer.body().to_edge_body(|key| keys.contains(&key))?))
    }
}
