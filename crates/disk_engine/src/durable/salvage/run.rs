//! Run: reads what verifies, sorts it by item, decides item by item, and writes a new database.

use crate::compact::output::{OutputFiles, OutputForm, OutputLimits};
use crate::durable::salvage::gaps::{Age, Gaps, ages};
use crate::durable::salvage::gather::Gathered;
use crate::durable::salvage::losses::{LossReport, Missing};
use crate::durable::salvage::record::{SavedItem, SavedRecord, edge_keys, vertex_key};
use crate::durable::salvage::verdict::{HidingGaps, Presence, presence_of, properties_of};
use crate::durable::section::FileList;
use crate::engine::DiskEngine;
use crate::format::file_head::BOTTOMMOST_LEVEL;
use crate::format::file_name::FileNumber;
use crate::format::filter::FilterChoice;
use crate::format::lists::record::ListRecord;
use crate::format::operation::RecordOperation;
use crate::format::subject::{EdgeSide, Subject};
use crate::format::vertices::VertexRecord;
use crate::spill::file::SpillDirectory;
use crate::spill::sorter::Sorter;
use crate::stored_file::StoredFile;
use evergraph_graph::bytes::DecodeError;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::checkpoint::manifest::{Manifest, StoredGroup};
use evergraph_storage::checkpoint::report::{CheckProgress, tell};
use evergraph_storage::salvage::known_names::KnownNames;
use evergraph_storage::salvage::loss::{Loss, LossKind};
use evergraph_storage::salvage::new_database::SalvageTarget;
use evergraph_storage::salvage::salvaged::Salvaged;
use evergraph_storage::salvage::source::SalvageSource;
use evergraph_storage::view::GroupBits;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Memory of each sort.
const SORT_BYTES: usize = 64 << 20;
/// Items that are written between two questions whether to go on.
const ITEMS_BETWEEN_QUESTIONS: u64 = 1 << 14;

/// Writes what verifies of `source` to `target`: as `DurableEngine::salvage`.
///
/// Cost: files and log read once, both files of each number beside each other; some 40 bytes a record of a vertex or an
/// edge and side, and its properties, written to a temporary file and read again; memory for two sorts of 64 MiB, a bit
/// a vertex, and the writer's buffers.
///
/// # Errors
/// `corrupt` if nothing can be named; `invalid` for a target that is taken or a newer format; `busy`, `limit`, `io`,
/// `cancelled`. What was written is removed then.
pub fn salvage(
    source: SalvageSource<'_>,
    target: &SalvageTarget<'_>,
    progress: &mut CheckProgress<'_>,
) -> Result<Salvaged> {
    salvage_within(source, target, SORT_BYTES, progress)
}

/// As [`salvage`], with `sort_bytes` of memory for each sort.
fn salvage_within(
    mut source: SalvageSource<'_>,
    target: &SalvageTarget<'_>,
    sort_bytes: usize,
    progress: &mut CheckProgress<'_>,
) -> Result<Salvaged> {
    let list = match FileList::of(source.directory, &source.manifest) {
        Ok(list) => list,
        Err(error) => {
            let empty = Manifest::empty(DiskEngine::NAME, FileList::empty_section());
            source.forget_manifest(empty, error)?;
            FileList::default()
        }
    };
    let database = target.begin()?;
    let directory = database.directory();
    let next = Cell::new(1);
    let take_number = || FileNumber(next.replace(next.get() + 1));
    let sorter = || {
        let spill = SpillDirectory { directory, next_number: &take_number };
        Sorter::new(spill, sort_bytes)
    };
    let (records, gaps) = (sorter(), Gaps::default());
    let mut gathered = Gathered { records, gaps, lost_values: Vec::new(), harmless: Vec::new() };
    let mut names = KnownNames::new(&source.manifest);
    let mut failed = Ok(());
    let log = source.read_log(
        &mut |timestamp, payload| {
            let mutations = names.take(timestamp, payload)?;
            if failed.is_ok() {
                failed = gathered.add_commit(timestamp, &mutations);
            }
            Ok(())
        },
        progress,
    )?;
    failed?;
    source.list_unsaved(&names);
    let (ages, first_level) = ages(&list.files);
    for (at, (stored, age)) in list.files.iter().zip(ages).enumerate() {
        let mut go_on = || told(tell(progress, "files", at as u64, list.files.len() as u64));
        gathered.add_file(source.directory, stored, age, &mut go_on)?;
    }
    gathered.gaps.sort();
    let through = Timestamp(log.through_ts);
    let at = through.max(source.manifest.need);

    let Gathered { records, gaps, lost_values, harmless } = gathered;
    let form = OutputForm {
        level: BOTTOMMOST_LEVEL,
        first_ts: at,
        last_ts: at,
        limits: OutputLimits::default(),
        filters: FilterChoice::default(),
    };
    let mut numbers = || take_number();
    let output = OutputFiles::new(directory, form, &mut numbers);
    let rebuild = Rebuild {
        names: &names,
        gaps,
        first_level,
        output,
        alive: BTreeMap::new(),
        missing: Missing::default(),
        uniques: names.catalogue.indexes().filter(|index| index.unique).collect(),
        values: sorter(),
        incoming: sorter(),
        new_sorter: &sorter,
        edge_type: None,
        counts: (0, 0),
        oldest_gap: None,
    };
    let Rebuilt { files, gaps, missing, repeated, counts, oldest_gap } = rebuild.run(records, progress)?;
    tell(progress, "write the manifest", 0, 1)?;
    let mut losses = source.losses;
    losses.extend(LossReport { names: &names, gaps: &gaps, first_level }.losses(
        &lost_values,
        harmless,
        &missing,
    ));
    for index in repeated {
        let property = names.catalogue.property_name(index.id.owner, index.id.key);
        let text = format!("the unique index on {property} was left out: a value occurs twice");
        losses.push(Loss { property: Some(property), ..Loss::new(LossKind::Index, text) });
        names.catalogue.apply(&SchemaChange::DropIndex(index.id));
    }
    let bytes: u64 = files.iter().map(|file| file.bytes()).sum();
    let mut manifest = Manifest {
        covered_through: at,
        need: at,
        next_file: next.get(),
        catalogue: names.catalogue,
        groups: names.groups.values().copied().collect::<Vec<StoredGroup>>(),
        has_end_file: true,
        ..Manifest::empty(DiskEngine::NAME, Vec::new())
    };
    FileList { files, ..FileList::default() }.put_into(&mut manifest)?;
    let log_bytes = database.finish(&manifest)?;
    let as_of = oldest_gap.map_or(at, |first_ts| Timestamp(first_ts.0.saturating_sub(1)).min(at));
    let mut salvaged = Salvaged::new(as_of, losses, log.left);
    salvaged.mixed_through = (as_of < at).then_some(at);
    (salvaged.vertices_count, salvaged.edges_count) = counts;
    salvaged.bytes_written = bytes + log_bytes;
    Ok(salvaged)
}

/// Progress is only ever refused.
fn told(told: Result<()>) -> CheckpointResult<()> {
    told.map_err(|_| CheckpointError::Cancelled)
}

/// The unique indexes that have a value twice.
fn repeated_values(
    values: Sorter<'_>,
    uniques: &[IndexDefinition],
) -> CheckpointResult<Vec<IndexDefinition>> {
    let (mut sorted, mut before, mut repeated) = (values.finish()?, Vec::new(), vec![false; uniques.len()]);
    while let Some(value) = sorted.next()? {
        if before == value {
            let number = usize::from(u16::from_be_bytes([value[0], value[1]]));
            repeated[number] = true;
        }
        before.clear();
        before.extend_from_slice(value);
    }
    Ok(uniques
        .iter()
        .zip(repeated)
        .filter(|(_, is_repeated)| *is_repeated)
        .map(|(index, _)| *index)
        .collect())
}

/// A database that is being put together.
struct Rebuild<'a, 's> {
    names: &'a KnownNames,
    gaps: Gaps,
    first_level: Age,
    output: OutputFiles<'a>,
    /// Who lives.
    alive: BTreeMap<GroupId, Box<GroupBits>>,
    missing: Missing,
    /// Unique indexes, and what stands in them: only looked at if something is damaged.
    uniques: Vec<IndexDefinition>,
    values: Sorter<'s>,
    /// In lists of the type whose out lists are being written.
    incoming: Sorter<'s>,
    new_sorter: &'a dyn Fn() -> Sorter<'s>,
    edge_type: Option<TypeId>,
    /// Vertices and edges that were written.
    counts: (u64, u64),
    /// The oldest commit that may be missing in something that was written.
    oldest_gap: Option<Timestamp>,
}

/// What came of it.
struct Rebuilt {
    files: Vec<StoredFile>,
    gaps: Gaps,
    missing: Missing,
    /// Unique indexes with a value that occurs twice.
    repeated: Vec<IndexDefinition>,
    counts: (u64, u64),
    oldest_gap: Option<Timestamp>,
}

impl Rebuild<'_, '_> {
    fn run(mut self, records: Sorter<'_>, progress: &mut CheckProgress<'_>) -> Result<Rebuilt> {
        self.write(records, progress)?;
        let Self { output, gaps, missing, uniques, values, counts, oldest_gap, .. } = self;
        let files = output.keep()?;
        let repeated = repeated_values(values, &uniques)?;
        Ok(Rebuilt { files, gaps, missing, repeated, counts, oldest_gap })
    }

    fn write(&mut self, records: Sorter<'_>, progress: &mut CheckProgress<'_>) -> Result<()> {
        let mut sorted = records.finish()?;
        let (mut key, mut of_item) = (Vec::new(), Vec::new());
        let mut items = 0;
        while let Some(bytes) = sorted.next()? {
            let (next, record) = SavedRecord::take(bytes).map_err(unsound)?;
            if key != next {
                self.item(&key, std::mem::take(&mut of_item))?;
                items += 1;
                if items % ITEMS_BETWEEN_QUESTIONS == 0 {
                    tell(progress, "vertices and edges", items, items)?;
                }
                key.clear();
                key.extend_from_slice(next);
            }
            of_item.push(record);
        }
        self.item(&key, of_item)?;
        self.write_incoming()?;
        Ok(())
    }

    fn item(&mut self, key: &[u8], records: Vec<SavedRecord>) -> CheckpointResult<()> {
        if records.is_empty() {
            return Ok(());
        }
        match SavedItem::of(key).map_err(unsound)? {
            SavedItem::Vertex(vertex) => self.vertex(vertex, records),
            SavedItem::Edge(edge) => self.edge(edge, records),
        }
    }

    fn vertex(&mut self, vertex: VertexId, records: Vec<SavedRecord>) -> CheckpointResult<()> {
        let key = vertex_key(vertex);
        let gaps: Vec<_> = self.gaps.covering(&key).collect();
        let hidden = HidingGaps { own: &gaps, in_list: &gaps, first_level: self.first_level };
        let presence = presence_of(&records, &hidden, false);
        if !matches!(presence, Presence::There | Presence::Stale(_)) {
            return Ok(());
        }
        let properties = properties_of(records, &hidden);
        let is_known = self.names.groups.get(&vertex.group()).is_some_and(|group| vertex.row() < group.rows);
        if !properties.is_whole || !is_known {
            // Half of one isn't brought back.
            match properties.gap {
                Some(gap) => self.gaps.get_mut(gap).missing += 1,
                None => self.missing.vertices += 1,
            }
            return Ok(());
        }
        if let Some(gap) = properties.gap {
            self.note_stale(gap);
        }
        let row = usize::from(vertex.row());
        self.alive.entry(vertex.group()).or_insert_with(|| Box::new([0; 64]))[row / 64] |= 1 << (row % 64);
        self.counts.0 += 1;
        if let Some(group) = self.names.groups.get(&vertex.group()) {
            self.note_values(Owner::Label(group.label), &properties.values)?;
        }
        self.cut_if_full()?;
        let record = VertexRecord { vertex, operation: RecordOperation::Insert, stamp: Timestamp::ZERO };
        self.output.writer()?.push_vertex(&record, &with_values(properties.values))
    }

    fn edge(&mut self, edge: EdgeId, records: Vec<SavedRecord>) -> CheckpointResult<()> {
        if self.edge_type != Some(edge.edge_type) {
            self.write_incoming()?;
            self.edge_type = Some(edge.edge_type);
        }
        let [own_key, in_key] = edge_keys(&edge);
        let own: Vec<_> = self.gaps.covering(&own_key).collect();
        let in_list: Vec<_> = self.gaps.covering(&in_key).collect();
        let hidden = HidingGaps { own: &own, in_list: &in_list, first_level: self.first_level };
        match presence_of(&records, &hidden, true) {
            Presence::There => {}
            Presence::Stale(gap) => self.note_stale(gap),
            Presence::Absent | Presence::Unknown => return Ok(()),
            Presence::Contradicted => {
                *self.missing.contradicted.entry(edge.edge_type).or_default() += 1;
                return Ok(());
            }
        }
        if !self.is_alive(edge.source) || !self.is_alive(edge.target) {
            *self.missing.loose.entry(edge.edge_type).or_default() += 1;
            return Ok(());
        }
        let properties = properties_of(records, &hidden);
        match properties.gap {
            Some(gap) if properties.is_stale => self.note_stale(gap),
            Some(gap) if properties.is_bare || !properties.is_whole => self.gaps.get_mut(gap).missing += 1,
            None if !properties.is_whole => *self.missing.half.entry(edge.edge_type).or_default() += 1,
            _ => {}
        }
        self.counts.1 += 1;
        self.note_values(Owner::EdgeType(edge.edge_type), &properties.values)?;
        self.incoming.push(|out| out.extend_from_slice(&in_key))?;
        self.cut_if_full()?;
        let EdgeId { source, edge_type, target, discriminator } = edge;
        let record = inserted(source, target, discriminator);
        let subject = Subject::edges(edge_type, EdgeSide::Out);
        self.output.writer()?.push_edge(subject, &record, &with_values(properties.values))
    }

    /// Writes the in lists of the type whose out lists are written.
    fn write_incoming(&mut self) -> CheckpointResult<()> {
        let Some(edge_type) = self.edge_type.take() else { return Ok(()) };
        let mut sorted = std::mem::replace(&mut self.incoming, (self.new_sorter)()).finish()?;
        let subject = Subject::edges(edge_type, EdgeSide::In);
        while let Some(key) = sorted.next()? {
            let number = |at: usize, count: usize| {
                key[at..at + count].iter().fold(0, |number: u32, byte| number << 8 | u32::from(*byte))
            };
            let record = inserted(VertexId(number(4, 4)), VertexId(number(8, 4)), number(12, 2) as u16);
            if self.output.is_full() {
                self.output.cut()?;
            }
            self.output.writer()?.push_edge(subject, &record, &Properties::EMPTY)?;
        }
        Ok(())
    }

    fn cut_if_full(&mut self) -> CheckpointResult<()> {
        if self.output.is_full() { self.output.cut() } else { Ok(()) }
    }

    fn is_alive(&self, vertex: VertexId) -> bool {
        let row = usize::from(vertex.row());
        self.alive.get(&vertex.group()).is_some_and(|live| live[row / 64] >> (row % 64) & 1 == 1)
    }

    fn note_stale(&mut self, number: usize) {
        let gap = self.gaps.get_mut(number);
        gap.stale += 1;
        let first_ts = gap.first_ts;
        self.oldest_gap = Some(self.oldest_gap.map_or(first_ts, |oldest| oldest.min(first_ts)));
    }

    /// Of one moment, no value of a unique index is there twice: then none is looked at.
    fn note_values(&mut self, owner: Owner, values: &[(KeyId, Value)]) -> CheckpointResult<()> {
        if self.gaps.is_empty() {
            return Ok(());
        }
        for (number, index) in (0_u16..).zip(&self.uniques) {
            let of_index = values.iter().find(|(key, _)| index.id.owner == owner && *key == index.id.key);
            if let Some((_, value)) = of_index {
                self.values.push(|out| {
                    out.extend_from_slice(&number.to_be_bytes());
                    out.extend_from_slice(ValueBytes::of(value).as_slice());
                })?;
            }
        }
        Ok(())
    }
}

fn inserted(vertex: VertexId, neighbor: VertexId, discriminator: u16) -> ListRecord {
    let (operation, stamp) = (RecordOperation::Insert, Timestamp::ZERO);
    ListRecord { vertex, neighbor, discriminator, operation, stamp }
}

fn with_values(values: Vec<(KeyId, Value)>) -> Properties {
    Properties::new(values.into_iter().map(|(key, value)| (key, Some(value))).collect())
}

/// Spilled bytes have no checksums: this process wrote them, and reads something else.
fn unsound(error: DecodeError) -> CheckpointError {
    let what = "a temporary file of the salvage".to_owned();
    CheckpointError::Unsound { what, problem: error.expected }
}
