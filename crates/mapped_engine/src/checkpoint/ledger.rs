//! Ledger: what a manifest names, held so that nobody writes there.
//!
//! An extent is free when nobody holds it. The ledger of the manifest that is durable holds all that it names; so does that of
//! one whose renaming failed, since a power cut may leave either.

use crate::checkpoint::contract::CheckpointBody;
use crate::extents::header::ExtentPlace;
use crate::extents::stored_extent::StoredExtent;
use crate::files::batch::StoredRun;
use crate::files::section::{NamedBatch, NamedColumn, NamedIndexes, NamedRun, NamedSegment, Section};
use crate::files::segment_id::{INDEXES, SegmentId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::planted::{Bug, planted};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A run that is named.
#[derive(Clone, Debug)]
pub struct LedgerRun {
    /// Where it lies.
    pub run: StoredRun,
    /// Its records are newer than this; those of the run before are not.
    pub after: Timestamp,
}

/// What is named of a segment.
#[derive(Clone, Debug)]
pub struct LedgerEntry<B> {
    /// The commit at which the body is exact.
    pub base: Timestamp,
    /// Edges in the body, or vertices.
    pub items: u64,
    /// Where the body and its columns lie.
    pub place: Option<(ExtentPlace, Vec<NamedColumn>)>,
    /// The same, held.
    pub body: Option<B>,
    /// Oldest first.
    pub runs: Vec<LedgerRun>,
}

impl<B: CheckpointBody> LedgerEntry<B> {
    /// Of a body and the runs beside it.
    #[must_use]
    pub fn new((base, items): (Timestamp, u64), body: Option<B>, runs: Vec<LedgerRun>) -> Self {
        let place = body.as_ref().map(|body| {
            let mut parts = body.parts();
            let (_, own) = parts.next().expect("a body that is not empty has an extent");
            let column = |(key, extent): (Option<_>, &StoredExtent)| NamedColumn {
                key: key.expect("what follows a body's extent are columns"),
                base: extent.header().base,
                place: extent.place(),
            };
            (own.place(), parts.map(column).collect())
        });
        // The bug: the live version alone holds it.
        let body = body.filter(|_| !planted(Bug::NamedExtentsNotHeld));
        Self { base, items, place, body, runs }
    }
}

/// What one manifest names.
#[derive(Clone, Debug)]
pub struct Ledger<B> {
    /// C.
    pub covered_through: Timestamp,
    /// By id.
    pub segments: BTreeMap<SegmentId, LedgerEntry<B>>,
    /// The indexes that segments belong to.
    pub indexes: NamedIndexes,
}

impl<B> Ledger<B> {
    /// Of a database without segments.
    #[must_use]
    pub fn empty() -> Self {
        Self { covered_through: Timestamp::ZERO, segments: BTreeMap::new(), indexes: NamedIndexes::default() }
    }

    /// Names these of the `ready` indexes that it has segments of, and no other index's segment.
    ///
    /// Cost: looks at the segments of indexes alone, which are the last ones: it is called under the latch.
    pub fn name_indexes(&mut self, ready: NamedIndexes) {
        let NamedIndexes { mut indexes, next } = ready;
        let has = |number| SegmentId::index(number).is_some_and(|id| self.segments.contains_key(&id));
        indexes.retain(|(_, number)| has(*number));
        let named: BTreeSet<u32> = indexes.iter().map(|index| index.1).collect();
        let of_indexes = self.segments.range(SegmentId::vertices(INDEXES)..).map(|(id, _)| *id);
        let is_named = |id: &SegmentId| id.index_number().is_some_and(|number| named.contains(&number));
        let others: Vec<SegmentId> = of_indexes.filter(|id| !is_named(id)).collect();
        for id in others {
            self.segments.remove(&id);
        }
        self.indexes = NamedIndexes { indexes, next };
    }

    /// The section of its manifest. Cost: a look at each segment.
    #[must_use]
    pub fn section(&self, unit: WriteUnit) -> Section {
        let key = |batch: &StoredExtent| (batch.place().file, batch.place().offset);
        let runs = || self.segments.values().flat_map(|entry| &entry.runs);
        let batches: BTreeMap<(u64, u64), &Arc<StoredExtent>> =
            runs().map(|run| (key(run.run.batch()), run.run.batch())).collect();
        let numbers: BTreeMap<(u64, u64), usize> = batches.keys().copied().zip(0..).collect();
        let segment = |(id, entry): (&SegmentId, &LedgerEntry<B>)| {
            let named =
                |run: &LedgerRun| NamedRun { batch: numbers[&key(run.run.batch())], range: run.run.range() };
            NamedSegment {
                id: *id,
                base: entry.base,
                items: entry.items,
                body: entry.place.as_ref().map(|(place, _)| *place),
                columns: entry.place.iter().flat_map(|(_, columns)| columns).copied().collect(),
                runs: entry.runs.iter().map(named).collect(),
            }
        };
        Section {
            unit,
            batches: batches
                .values()
                .map(|batch| NamedBatch { place: batch.place(), base: batch.header().base })
                .collect(),
            segments: self.segments.iter().map(segment).collect(),
            indexes: self.indexes.clone(),
        }
    }
}
