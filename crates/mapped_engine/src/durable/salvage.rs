//! Salvage: what of array files verifies, block by block, for a new database.
//!
//! ```text
//! body     its arrays are there if all blocks that they lie in are; the manifest has what its table says
//! column   whole or nothing: this property of the segment, named
//! runs     one by one; before the first that doesn't verify they become part of the body, and behind the last such they count
//!          as the log does; beside a body that doesn't verify all of them do, if all verify. One whose records don't follow
//!          from those before it doesn't verify
//! ```
//!
//! Files are read, not mapped: a disk that fails to read costs the block, not the process.

use crate::body_store::column_table::take_table;
use crate::durable::new_files::NewFiles;
use crate::engine::mapped_engine::MappedEngine;
use crate::extents::array_file::file_name;
use crate::extents::header::{ExtentHeader, ExtentKind, ExtentPlace, extent_bytes};
use crate::files::batch::item_bytes;
use crate::files::run_form::{check_records, decode_run};
use crate::files::section::{NamedRun, NamedSegment, Section};
use crate::files::segment_id::SegmentId;
use crate::shared_record::{SharedRecord, first_inexact};
use crate::view::layer::record_ref;
use evergraph_bodies::body::Body;
use evergraph_bodies::body_form::StableForm;
use evergraph_bodies::body_ref::vertices::VertexBodyRef;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_lists::EdgeLists;
use evergraph_bodies::edge_subject::EdgeSubject;
use evergraph_bodies::net::{Effect, Net, nets};
use evergraph_bodies::salvage::finding::{
    BodyFinding, FoundBodies, FoundBody, FoundRuns, LostColumn, LostRuns, Partial,
};
use evergraph_bodies::salvage::run::SalvageFiles;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::bytes::Reader;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, KeyId};
use evergraph_graph::packed_column::column::PackedColumn;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::column_form::take_column;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::checkpoint::report::CheckProgress;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::record::{Record, RecordKey, Stamp};
use evergraph_storage::salvage::loss::Damage;
use evergraph_storage::salvage::new_database::SalvageTarget;
use evergraph_storage::salvage::salvaged::Salvaged;
use evergraph_storage::salvage::source::SalvageSource;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::Arc;
use zerocopy::IntoBytes;

/// Writes what verifies of `source` to `target`. `progress` may ask to stop.
///
/// Cost: as [`evergraph_bodies::salvage::run::salvage`]; each extent is read once for each time that its segment is asked for.
///
/// # Errors
/// As [`evergraph_bodies::salvage::run::salvage`]; `io`, naming the file, without permission to read one.
pub fn salvage(
    mut source: SalvageSource<'_>,
    target: &SalvageTarget<'_>,
    progress: &mut CheckProgress<'_>,
) -> Result<Salvaged> {
    let section = match Section::of(source.directory, &source.manifest) {
        Ok(section) => section,
        Err(error) => {
            let section = Section::empty(WriteUnit::PAGE);
            let empty = Manifest::empty(MappedEngine::NAME, section.encode());
            source.forget_manifest(empty, error)?;
            section
        }
    };
    check_permission(source.directory, &section)?;
    // Nothing is saved of indexes: they are built anew.
    let bodies = DamagedSegments::new(source.directory, section, source.manifest.covered_through);
    let saved = || bodies.section.segments.iter().filter(|segment| segment.id.index_number().is_none());
    let newest_base = saved().map(|segment| segment.base).max().unwrap_or(Timestamp::ZERO);
    let files = SalvageFiles {
        bodies: &bodies,
        newest_base: newest_base.max(source.manifest.covered_through),
        has_lost_runs: saved().any(|segment| bodies.records(segment).damage.is_some()),
        sink: &mut |directory, at| NewFiles::new(directory, at),
        finish: &mut NewFiles::finish,
    };
    evergraph_bodies::salvage::run::salvage(source, target, files, progress)
}

/// Refuses if an array file that is there can't be opened for what isn't damage, since what would be missing is there.
fn check_permission(directory: &dyn Directory, section: &Section) -> Result<()> {
    let files: BTreeSet<u64> = section.extents().map(|(place, _)| place.file).collect();
    for file in files {
        match directory.open(&file_name(file), OpenMode::Read) {
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::OutOfMemory) => {
                return Err(error.into());
            }
            _ => {}
        }
    }
    Ok(())
}

/// The segments of a database that may be damaged.
struct DamagedSegments<'a> {
    directory: &'a dyn Directory,
    section: Section,
    /// C.
    through: Timestamp,
}

/// An extent as it is read.
struct DamagedExtent {
    /// Whole words, so that arrays in it are aligned.
    words: Vec<u64>,
    length: usize,
}

impl DamagedExtent {
    fn bytes(&self) -> &[u8] {
        &self.words.as_bytes()[..self.length]
    }

    fn payload(&self, place: ExtentPlace) -> &[u8] {
        place.payload_of(self.bytes())
    }
}

/// The records of a segment's runs.
struct FoundRecords {
    /// Those before the first run that doesn't verify.
    known: Vec<Record>,
    /// They are all that there are up to here.
    through: Timestamp,
    /// What is wrong with that run.
    damage: Option<Damage>,
    /// The records behind the last one that doesn't verify.
    newer: Vec<Record>,
}

impl<'a> DamagedSegments<'a> {
    fn new(directory: &'a dyn Directory, section: Section, through: Timestamp) -> Self {
        Self { directory, section, through }
    }

    fn segment(&self, id: SegmentId) -> Option<&NamedSegment> {
        let at = self.section.segments.binary_search_by_key(&id, |segment| segment.id).ok()?;
        Some(&self.section.segments[at])
    }

    fn damage(&self, place: ExtentPlace, problem: &str) -> Damage {
        let file = self.directory.path(&file_name(place.file));
        let length = extent_bytes(place.payload_bytes).unwrap_or(u64::MAX);
        Damage { file, offset: place.offset, length, problem: problem.to_owned() }
    }

    /// Reads an extent, as much as there is of it; what can't be read is zero, and does not verify.
    fn read(&self, place: ExtentPlace) -> std::result::Result<DamagedExtent, String> {
        let name = file_name(place.file);
        let file = self.directory.open(&name, OpenMode::Read).map_err(|error| error.to_string())?;
        let there = file.len().map_err(|error| error.to_string())?.saturating_sub(place.offset);
        let length = extent_bytes(place.payload_bytes).filter(|bytes| *bytes <= there);
        let length = length.ok_or_else(|| "the file ends before".to_owned())? as usize;
        let mut words = vec![0; length.div_ceil(8)];
        let bytes = &mut words.as_mut_bytes()[..length];
        if file.read_at(bytes, place.offset).is_err() {
            for (at, piece) in bytes.chunks_mut(4096).enumerate() {
                if file.read_at(piece, place.offset + (at * 4096) as u64).is_err() {
                    piece.fill(0);
                }
            }
        }
        Ok(DamagedExtent { words, length })
    }

    /// What verifies of a segment, whose body has this form.
    fn find<B>(&self, id: SegmentId, form: &BodyForm<B>) -> BodyFinding<B> {
        let Some(segment) = self.segment(id) else { return BodyFinding::Nothing };
        let FoundRecords { known, through, damage, newer } = self.records(segment);
        let lost = damage.map(|damage| {
            let last = newer.iter().map(|record| record.stamp.timestamp().0 - 1).min();
            let (first, last) = (through.next(), last.map_or(self.through, Timestamp));
            let what = format!("records of {id} from commit {first} to {last} can't be read");
            let problem = format!("{}: {what}", damage.problem);
            LostRuns { commits: (first, last), damage: Damage { problem, ..damage } }
        });
        let (found, damage) = match segment.body {
            Some(place) => (self.body(segment, place, form), self.damage(place, "")),
            None => {
                let manifest = || Damage {
                    file: self.directory.path(evergraph_storage::checkpoint::manifest::FILE_NAME),
                    offset: 0,
                    length: 0,
                    problem: String::new(),
                };
                let damage = lost.as_ref().map_or_else(manifest, |runs| runs.damage.clone());
                (Ok(Partial { body: (form.empty)(), lost: Vec::new() }), damage)
            }
        };
        match found {
            Ok(Partial { body, lost: columns }) => {
                // A change of what the body lacks counts as one in the log does, unless runs behind it are lost.
                let is_possible =
                    |net: &Net| !matches!(net.effect, Effect::Changed(_)) || (form.has)(&body, net.key);
                let (nets, others): (Vec<Net>, Vec<Net>) = nets_of(known).into_iter().partition(is_possible);
                let body = if nets.is_empty() { body } else { (form.merged)(&body, &nets) };
                let partial = Partial { body, lost: columns };
                let newer = if lost.is_none() { others } else { nets_of(newer) };
                let runs = FoundRuns { lost, newer };
                BodyFinding::Some(FoundBody { partial, base: through, damage, runs })
            }
            Err(problem) => {
                let newer = nets_of(if lost.is_none() { known } else { newer });
                BodyFinding::Lost(Damage { problem, ..damage }, FoundRuns { lost, newer })
            }
        }
    }

    /// What verifies of a segment's body, or why it can't be read.
    fn body<B>(
        &self,
        segment: &NamedSegment,
        place: ExtentPlace,
        form: &BodyForm<B>,
    ) -> std::result::Result<Partial<B>, String> {
        let id = segment.id;
        let extent = self.read(place)?;
        let header = ExtentHeader { kind: ExtentKind::Body, segment: id.number(), base: segment.base };
        let sound = header.sound_blocks(place, extent.bytes());
        let payload = extent.payload(place);
        let length = (form.arrays_bytes)(payload)?;
        if !sound.iter().any(|range| range.start == 0 && range.end >= length) {
            return Err("the blocks of its arrays don't have their checksums".to_owned());
        }
        let (mut columns, mut lost) = (Vec::new(), Vec::new());
        for named in &segment.columns {
            match self.column(id, named.base, named.place) {
                Some(column) => columns.push((named.key, Arc::new(column))),
                None => lost.push(LostColumn {
                    key: Some(named.key),
                    range: named.place.offset..named.place.offset + named.place.payload_bytes,
                }),
            }
        }
        // Its table repeats what the manifest says; where it verifies it has to.
        if sound.iter().any(|range| range.end as u64 == place.payload_bytes && range.start <= length) {
            take_table(payload)?;
        }
        let body = (form.body)(&payload[..length], columns)?;
        Ok(Partial { body, lost })
    }

    fn column(&self, id: SegmentId, base: Timestamp, place: ExtentPlace) -> Option<PackedColumn> {
        let extent = self.read(place).ok()?;
        let header = ExtentHeader { kind: ExtentKind::Column, segment: id.number(), base };
        let sound = header.sound_blocks(place, extent.bytes());
        if !sound.iter().any(|range| range.len() as u64 == place.payload_bytes) {
            return None;
        }
        let mut reader = Reader::new(extent.payload(place));
        let column = take_column(&mut reader, |_| true).ok()?;
        reader.is_empty().then_some(column)
    }

    /// Reads the runs of a segment.
    fn records(&self, segment: &NamedSegment) -> FoundRecords {
        let (mut known, mut newer, mut damage) = (Vec::new(), Vec::new(), None);
        let (mut through, mut newest) = (segment.base, segment.base);
        for run in &segment.runs {
            let before = if damage.is_none() { &known } else { &newer };
            match self.run(segment.id, run, newest).and_then(|records| following(before, records)) {
                Ok(records) => {
                    let stamps = records.iter().map(|record| record.stamp.timestamp());
                    newest = stamps.max().unwrap_or(newest);
                    if damage.is_none() {
                        through = newest;
                        known.extend(records);
                    } else {
                        newer.extend(records);
                    }
                }
                Err(problem) => {
                    newer.clear();
                    let place = self.section.batches[run.batch].place;
                    damage.get_or_insert_with(|| self.damage(place, &problem));
                }
            }
        }
        if damage.is_none() {
            through = through.max(self.through);
        }
        FoundRecords { known, through, damage, newer }
    }

    /// The records of a run, all of them newer than `after`.
    fn run(
        &self,
        id: SegmentId,
        run: &NamedRun,
        after: Timestamp,
    ) -> std::result::Result<Vec<Record>, String> {
        let batch = self.section.batches[run.batch];
        let extent = self.read(batch.place)?;
        let bytes = item_bytes(extent.bytes(), batch.base, id, run.range).map_err(|(_, problem)| problem)?;
        let shared = decode_run(bytes).map_err(|error| error.to_string())?;
        check_records(id, (after, self.through), &shared)?;
        shared.iter().map(SharedRecord::decoded).collect()
    }
}

/// The records of a run, if they follow from those `before` it.
fn following(before: &[Record], records: Vec<Record>) -> std::result::Result<Vec<Record>, String> {
    let all = before.iter().chain(&records).map(|record| (record.key, record.stamp));
    let mut all: Vec<(RecordKey, Stamp)> = all.collect();
    all.sort_unstable();
    match first_inexact(all) {
        Some((_, problem)) => Err(problem),
        None => Ok(records),
    }
}

/// What records come to, ascending.
fn nets_of(mut records: Vec<Record>) -> Vec<Net> {
    records.sort_by_key(|record| (record.key, record.stamp));
    nets(records.iter().map(record_ref)).collect()
}

type Columns = Vec<(KeyId, Arc<PackedColumn>)>;

/// How a body is made of what verifies.
struct BodyForm<B> {
    /// How many bytes of a payload are arrays.
    arrays_bytes: fn(&[u8]) -> std::result::Result<usize, String>,
    body: fn(&[u8], Columns) -> std::result::Result<B, String>,
    empty: fn() -> B,
    has: fn(&B, RecordKey) -> bool,
    /// Whose changes are of what the body has.
    merged: fn(&B, &[Net]) -> B,
}

const VERTICES: BodyForm<VertexBody> = BodyForm {
    arrays_bytes: |payload| {
        let bytes = 8 + GROUP_SIZE as usize / 8;
        if payload.len() < bytes { Err("a body of vertices expected".to_owned()) } else { Ok(bytes) }
    },
    body: |arrays, columns| {
        let mut live = Box::new([0; GROUP_SIZE as usize / 64]);
        live.copy_from_slice(VertexBodyRef::parse(arrays)?.live());
        let body = VertexBody::new(live, columns);
        body.check().map(|()| body)
    },
    empty: VertexBody::empty,
    has: |body, key| body.is_alive(key.row()),
    merged: |body, nets| body.merged(nets),
};

const EDGES: BodyForm<EdgeBody> = BodyForm {
    arrays_bytes: EdgeLists::payload_bytes,
    body: |arrays, columns| {
        let lists = EdgeLists::parse(arrays)?;
        lists.check()?;
        let body = EdgeBody::of_lists(lists, columns);
        body.check().map(|()| body)
    },
    empty: EdgeBody::empty,
    has: |body, key| body.find(key).is_some(),
    merged: |body, nets| body.merged(nets),
};

fn edges_id(group: GroupId, subject: EdgeSubject) -> SegmentId {
    SegmentId::edges(group, subject.edge_type(), subject.side())
}

impl FoundBodies for DamagedSegments<'_> {
    fn vertices(&self, group: GroupId) -> BodyFinding<VertexBody> {
        self.find(SegmentId::vertices(group), &VERTICES)
    }

    fn edges(&self, group: GroupId, subject: EdgeSubject, hub: Option<u16>) -> BodyFinding<EdgeBody> {
        let id = edges_id(group, subject);
        let mut found = self.find(hub.map_or(id, |row| id.hub(row)), &EDGES);
        if let BodyFinding::Some(body) = &mut found
            && subject.side() == Direction::In
        {
            body.partial.lost.clear();
        }
        found
    }

    fn groups(&self, subject: EdgeSubject) -> BTreeSet<GroupId> {
        let wanted = Some((subject.edge_type(), subject.side()));
        let of_subject = self.section.segments.iter().filter(|segment| segment.id.type_and_side() == wanted);
        of_subject.map(|segment| segment.id.group()).collect()
    }

    fn hubs(&self, group: GroupId, subject: EdgeSubject) -> Vec<u16> {
        let id = edges_id(group, subject);
        let from = self.section.segments.partition_point(|segment| segment.id <= id);
        let own = self.section.segments[from..].iter().take_while(|segment| segment.id.of_group() == id);
        own.filter_map(|segment| segment.id.hub_row()).collect()
    }
}
