//! Naive database: segments are maps from keys to values, with a log, checkpoints and recovery as the engine has them.

use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::{Direction, GroupId, KeyId, LabelId, TypeId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::checkpoint::contract::{
    CheckpointBody, CheckpointSegments, CheckpointVersion, MergeStep,
};
use evergraph_mapped_engine::checkpoint::open::{found_ledger, open_files, sync_names};
use evergraph_mapped_engine::checkpoint::write::Checkpointer;
use evergraph_mapped_engine::extents::header::{ExtentHeader, ExtentKind};
use evergraph_mapped_engine::extents::stored_extent::StoredExtent;
use evergraph_mapped_engine::extents::table::{ExtentOptions, Extents, Reuse};
use evergraph_mapped_engine::files::section::{NamedIndexes, Section};
use evergraph_mapped_engine::files::segment_id::SegmentId;
use evergraph_mapped_engine::shared_record::SharedRecord;
use evergraph_storage::checkpoint::contract::{CheckpointOutcome, CheckpointSources, OnCheckpointProgress};
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::checkpoint::manifest::{Manifest, StoredGroup};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::log::error::LogError;
use evergraph_storage::log::frame::payload_crc;
use evergraph_storage::log::options::{Durability, LogOptions};
use evergraph_storage::log::recovery::recover;
use evergraph_storage::log::writer::Log;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::record::{Operation, RecordKey, Stamp};
use evergraph_storage::sync::Mutex;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

pub const ENGINE: &str = "mapped";
pub const OPTIONS: ExtentOptions = ExtentOptions { first_file_bytes: 32 << 10, file_bytes_max: 64 << 10 };
/// Records from which on a segment is merged.
const MERGE_DUE: usize = 40;

/// Key to value, of each segment that is not empty.
pub type Graph = BTreeMap<SegmentId, BTreeMap<u64, Vec<u8>>>;

/// Vertices, edges with a hub, and edges of the in side, in two groups.
pub fn segment_ids() -> [SegmentId; 5] {
    let edges = SegmentId::edges(GroupId(0), TypeId(7), Direction::Out);
    [
        SegmentId::vertices(GroupId(0)),
        edges,
        edges.hub(3),
        SegmentId::vertices(GroupId(1)),
        SegmentId::edges(GroupId(1), TypeId(7), Direction::In),
    ]
}

/// A key that the segment may have.
pub fn key(id: SegmentId, number: u64) -> u64 {
    let row = id.hub_row().unwrap_or((number % 20) as u16);
    let key = match id.type_and_side() {
        None => RecordKey::vertex(row),
        Some(_) => RecordKey::edge(row, (number % 7) as u32, 0),
    };
    key.0
}

/// A value is set, or removed.
#[derive(Clone, Debug)]
pub struct Change {
    pub id: SegmentId,
    pub key: u64,
    pub value: Option<Vec<u8>>,
}

fn encode(changes: &[Change]) -> Vec<u8> {
    let mut out = Vec::new();
    for change in changes {
        out.extend(change.id.number().to_le_bytes());
        out.extend(change.key.to_le_bytes());
        out.extend(change.value.as_ref().map_or(u32::MAX, |value| value.len() as u32).to_le_bytes());
        out.extend(change.value.iter().flatten());
    }
    out
}

fn decode(mut bytes: &[u8]) -> Vec<Change> {
    let mut changes = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<20>() {
        let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap());
        let length = u32::from_le_bytes(head[16..].try_into().unwrap());
        let (value, rest) = rest.split_at(if length == u32::MAX { 0 } else { length as usize });
        let value = (length != u32::MAX).then(|| value.to_vec());
        changes.push(Change { id: SegmentId::numbered(number(0)).unwrap(), key: number(8), value });
        bytes = rest;
    }
    changes
}

pub fn apply(graph: &mut Graph, changes: &[Change]) {
    for change in changes {
        let segment = graph.entry(change.id).or_default();
        match &change.value {
            Some(value) => segment.insert(change.key, value.clone()),
            None => segment.remove(&change.key),
        };
        if segment.is_empty() {
            graph.remove(&change.id);
        }
    }
}

/// Keys and lengths; the values are a column, unless there are none.
#[derive(Clone)]
pub struct NaiveBody(Vec<(Option<KeyId>, Arc<StoredExtent>)>);

impl NaiveBody {
    fn write(
        extents: &Extents,
        id: SegmentId,
        base: Timestamp,
        map: &BTreeMap<u64, Vec<u8>>,
    ) -> CheckpointResult<Self> {
        let header = |kind| ExtentHeader { kind, segment: id.number(), base };
        let mut own = Vec::new();
        for (key, value) in map {
            own.extend(key.to_le_bytes());
            own.extend((value.len() as u64).to_le_bytes());
        }
        let values: Vec<u8> = map.values().flatten().copied().collect();
        let mut parts = vec![(None, Arc::new(extents.write(header(ExtentKind::Body), &own)?))];
        if !values.is_empty() {
            parts.push((Some(KeyId(1)), Arc::new(extents.write(header(ExtentKind::Column), &values)?)));
        }
        Ok(Self(parts))
    }

    fn map(&self) -> CheckpointResult<BTreeMap<u64, Vec<u8>>> {
        let own = self.0[0].1.payload()?;
        let mut values = match self.0.get(1) {
            Some((_, column)) => column.payload()?,
            None => &[],
        };
        let mut map = BTreeMap::new();
        for pair in own.as_chunks::<16>().0 {
            let [key, length] = [0, 8].map(|at| u64::from_le_bytes(pair[at..at + 8].try_into().unwrap()));
            let (value, rest) = values.split_at(length as usize);
            map.insert(key, value.to_vec());
            values = rest;
        }
        Ok(map)
    }
}

impl CheckpointBody for NaiveBody {
    fn parts(&self) -> impl Iterator<Item = (Option<KeyId>, &StoredExtent)> {
        self.0.iter().map(|(key, extent)| (*key, &**extent))
    }

    fn rewritten(&self, extents: &Extents) -> CheckpointResult<Self> {
        let rewrite = |(key, extent): &(Option<KeyId>, Arc<StoredExtent>)| {
            if !extent.is_lost() {
                return Ok((*key, Arc::clone(extent)));
            }
            Ok((*key, Arc::new(extents.write(extent.header(), &extent.copy_verified()?)?)))
        };
        Ok(Self(self.0.iter().map(rewrite).collect::<CheckpointResult<_>>()?))
    }
}

#[derive(Clone)]
struct NaiveSegment {
    base: Timestamp,
    body: Option<NaiveBody>,
    /// In commit order.
    records: Vec<SharedRecord>,
    /// The keys that have a value now: a record is of what is there, or of what is not.
    keys: BTreeSet<u64>,
}

impl NaiveSegment {
    /// Adds the record of a change, if it changes anything.
    fn push(&mut self, timestamp: Timestamp, change: &Change) {
        let operation = match change.value {
            Some(_) if self.keys.insert(change.key) => Operation::Insert,
            Some(_) => Operation::Replace,
            None if self.keys.remove(&change.key) => Operation::Delete,
            None => return,
        };
        let properties = change.value.clone().unwrap_or_default();
        self.push_record(timestamp, RecordKey(change.key), operation, properties);
    }

    fn push_record(
        &mut self,
        timestamp: Timestamp,
        key: RecordKey,
        operation: Operation,
        properties: Vec<u8>,
    ) {
        self.records.push(SharedRecord { key, stamp: Stamp::new(timestamp, operation), properties });
    }

    fn map_at(&self, timestamp: Timestamp) -> CheckpointResult<BTreeMap<u64, Vec<u8>>> {
        let mut map = self.body.as_ref().map_or_else(|| Ok(BTreeMap::new()), NaiveBody::map)?;
        for record in self.records.iter().filter(|record| record.visible_at(timestamp)) {
            match record.stamp.operation() {
                Operation::Delete => map.remove(&record.key.0),
                _ => map.insert(record.key.0, record.properties.clone()),
            };
        }
        Ok(map)
    }
}

pub struct NaiveVersion {
    id: SegmentId,
    segment: NaiveSegment,
}

impl CheckpointVersion for NaiveVersion {
    type Segment = SegmentId;
    type Body = NaiveBody;

    fn id(&self) -> SegmentId {
        self.id
    }

    fn base(&self) -> Timestamp {
        self.segment.base
    }

    fn items(&self) -> u64 {
        self.body().map_or(0, |body| body.0[0].1.place().payload_bytes / 16)
    }

    fn body(&self) -> Option<&NaiveBody> {
        self.segment.body.as_ref()
    }

    fn newest(&self) -> Timestamp {
        self.segment.records.last().map_or(self.segment.base, |record| record.stamp.timestamp())
    }

    fn is_merge_due(&self) -> bool {
        self.segment.records.len() > MERGE_DUE
    }

    fn hubs(&self) -> Vec<SegmentId> {
        segment_ids().into_iter().filter(|id| *id != self.id && id.of_group() == self.id).collect()
    }

    fn records(&self, after: Timestamp, through: Timestamp) -> CheckpointResult<Vec<SharedRecord>> {
        let mut records = self.segment.records.clone();
        records.retain(|record| {
            let at = record.stamp.timestamp();
            at > after && at > self.segment.base && at <= through
        });
        records.sort_unstable();
        Ok(records)
    }
}

pub struct NaiveSegments {
    pub timeline: Timeline,
    pub extents: Arc<Extents>,
    segments: Mutex<BTreeMap<SegmentId, NaiveSegment>>,
}

impl CheckpointSegments for NaiveSegments {
    type Segment = SegmentId;
    type Version<'a> = NaiveVersion;

    fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    fn groups(&self) -> Vec<GroupId> {
        vec![GroupId(0), GroupId(1)]
    }

    fn segments(&self, group: GroupId) -> Vec<SegmentId> {
        segment_ids().into_iter().filter(|id| id.group() == group && id.hub_row().is_none()).collect()
    }

    fn version(&self, id: &SegmentId) -> CheckpointResult<NaiveVersion> {
        Ok(NaiveVersion { id: *id, segment: self.segments.lock()[id].clone() })
    }

    fn move_body(&self, id: &SegmentId, _from: &NaiveBody, to: &NaiveBody) -> CheckpointResult<()> {
        self.segments.lock().get_mut(id).unwrap().body = Some(to.clone());
        Ok(())
    }

    fn merge(&self, id: &SegmentId) -> CheckpointResult<MergeStep> {
        let base = self.timeline.readable();
        let segment = self.segments.lock()[id].clone();
        if base <= segment.base || segment.records.is_empty() {
            return Ok(MergeStep::Done);
        }
        let map = segment.map_at(base)?;
        let body =
            if map.is_empty() { None } else { Some(NaiveBody::write(&self.extents, *id, base, &map)?) };
        let mut segments = self.segments.lock();
        let segment = segments.get_mut(id).unwrap();
        segment.records.retain(|record| !record.visible_at(base));
        (segment.base, segment.body) = (base, body);
        Ok(MergeStep::Done)
    }
}

pub struct NaiveDatabase {
    pub segments: NaiveSegments,
    pub log: Arc<Log>,
    pub checkpointer: Checkpointer<NaiveBody>,
}

fn stored_groups() -> Vec<StoredGroup> {
    [0, 1].map(|id| StoredGroup { id: GroupId(id), label: LabelId(0), rows: 4096 }).to_vec()
}

pub fn read_manifest(directory: &dyn Directory) -> CheckpointResult<Manifest> {
    Manifest::read(directory, |engine| engine == ENGINE)
}

impl NaiveDatabase {
    pub fn open(directory: Arc<dyn Directory>) -> CheckpointResult<Self> {
        let manifest = match read_manifest(&*directory) {
            Err(CheckpointError::NotADatabase { .. }) => {
                let manifest = Manifest::empty(ENGINE, Section::empty(directory.write_unit()).encode());
                manifest.write(&*directory, || Ok(()))?;
                manifest
            }
            manifest => manifest?,
        };
        sync_names(&*directory)?;
        let found = open_files(&directory, &manifest, OPTIONS, Reuse::Allowed)?;
        let empty =
            NaiveSegment { base: Timestamp::ZERO, body: None, records: Vec::new(), keys: BTreeSet::new() };
        let mut segments: BTreeMap<_, _> = segment_ids().into_iter().map(|id| (id, empty.clone())).collect();
        let mut entries = Vec::new();
        for mut found in found.segments {
            let own = found.body.take().into_iter().map(|extent| (None, Arc::new(extent)));
            let columns = found.columns.drain(..).map(|(key, extent)| (Some(key), Arc::new(extent)));
            let parts: Vec<_> = own.chain(columns).collect();
            let body = (!parts.is_empty()).then_some(NaiveBody(parts));
            let mut records = std::mem::take(&mut found.records);
            records.sort_by_key(|record| record.stamp.timestamp());
            let keys = BTreeSet::new();
            let mut segment = NaiveSegment { base: found.base, body: body.clone(), records, keys };
            segment.keys = segment.map_at(Timestamp::MAX)?.into_keys().collect();
            segments.insert(found.id, segment);
            entries.push(found.into_entry(body));
        }
        let ledger = found_ledger(&manifest, NamedIndexes::default(), entries);
        let recovered = recover(&*directory, manifest.wanted_log(), |ts, payload| {
            for change in decode(payload) {
                let segment = segments.get_mut(&change.id).unwrap();
                if Timestamp(ts) > segment.base || planted(Bug::NoFilter) {
                    segment.push(Timestamp(ts), &change);
                }
            }
            Ok::<_, LogError>(())
        })?;
        let published = Timestamp(recovered.last_ts.max(manifest.covered_through.0));
        let options = LogOptions {
            durability: Durability::Sync,
            first_file_bytes: 8 << 10,
            log_file_bytes: 16 << 10,
            background: Background::Stepped,
            ..LogOptions::default()
        };
        let log =
            Arc::new(Log::open(Arc::clone(&directory), recovered, options, Box::new(SplitMix64::new(9)))?);
        let open_log: Arc<OnceLock<Arc<Log>>> = Arc::default();
        open_log.set(Arc::clone(&log)).unwrap();
        let through = move || open_log.get().map_or(Timestamp::MAX, |log| Timestamp(log.durable()));
        let timeline = Timeline::new(published, Readable::Durable(Arc::new(through)));
        let extents = Arc::new(found.extents);
        let checkpointer = Checkpointer::new(directory, Arc::clone(&extents), ledger);
        let segments = NaiveSegments { timeline, extents, segments: Mutex::new(segments) };
        Ok(Self { segments, log, checkpointer })
    }

    /// Appends a commit without waiting for the disk.
    pub fn append(&self, changes: &[Change]) -> Result<Timestamp, LogError> {
        self.append_with(encode(changes), |segments, timestamp| {
            for change in changes {
                segments.get_mut(&change.id).unwrap().push(timestamp, change);
            }
        })
    }

    /// Commits a record as it is, which may not follow from those before it. The log says something else.
    pub fn commit_record(
        &self,
        id: SegmentId,
        key: u64,
        operation: Operation,
    ) -> Result<Timestamp, LogError> {
        let payload = encode(&[Change { id, key, value: None }]);
        let timestamp = self.append_with(payload, |segments, timestamp| {
            let segment = segments.get_mut(&id).unwrap();
            segment.push_record(timestamp, RecordKey(key), operation, Vec::new());
        })?;
        self.log.acknowledge(timestamp.0)?;
        Ok(timestamp)
    }

    fn append_with(
        &self,
        payload: Vec<u8>,
        push: impl FnOnce(&mut BTreeMap<SegmentId, NaiveSegment>, Timestamp),
    ) -> Result<Timestamp, LogError> {
        self.log.step_preparer();
        let space = self.log.reserve(payload.len())?;
        let timeline = &self.segments.timeline;
        let mut latch = timeline.latch();
        let timestamp = timeline.published().next();
        let mut segments = self.segments.segments.lock();
        push(&mut segments, timestamp);
        self.log.append(space, timestamp.0, &payload, payload_crc(&payload));
        timeline.publish(timestamp, &mut latch);
        Ok(timestamp)
    }

    pub fn commit(&self, changes: &[Change]) -> Result<Timestamp, LogError> {
        let timestamp = self.append(changes)?;
        self.log.acknowledge(timestamp.0)?;
        Ok(timestamp)
    }

    pub fn merge(&self, id: SegmentId) -> CheckpointResult<()> {
        self.segments.merge(&id).map(drop)
    }

    pub fn checkpoint(&self) -> CheckpointResult<CheckpointOutcome> {
        self.checkpoint_with(&mut |_| ControlFlow::Continue(()))
    }

    pub fn checkpoint_with(
        &self,
        progress: &mut OnCheckpointProgress<'_>,
    ) -> CheckpointResult<CheckpointOutcome> {
        let sources = CheckpointSources {
            log: &self.log,
            catalogue: &|| Arc::new(Catalogue::default()),
            notes: &|_| None,
            groups: &stored_groups,
        };
        self.checkpointer.checkpoint(ENGINE, &self.segments, &sources, progress)
    }

    pub fn graph(&self) -> CheckpointResult<Graph> {
        let mut graph = Graph::new();
        for (id, segment) in &*self.segments.segments.lock() {
            let map = segment.map_at(Timestamp::MAX)?;
            if !map.is_empty() {
                graph.insert(*id, map);
            }
        }
        Ok(graph)
    }

    pub fn published(&self) -> Timestamp {
        self.segments.timeline.published()
    }
}
