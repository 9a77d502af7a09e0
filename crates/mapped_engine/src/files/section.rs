//! Section: the mapped engine's part of a manifest, with the extents of each segment's body and the runs beside it.
//!
//! ```text
//! format, unit                  2, or 1 without indexes; what extents lie at multiples of, in bytes
//! batches    count, then        file, offset / unit, payload bytes, base             ascending by file and offset
//! segments   count, then        group, subject, hub, base, items                     ascending
//!            extents, then      of the body: file, offset / unit, payload bytes      none: the body is empty
//!                               of each column: key, base, file, offset / unit, payload bytes; keys ascend
//!            runs, then         batch, offset / 8, bytes / 8                         oldest first
//! indexes    count, then        IndexId as in the log, number                        ascending; format 2 alone
//!            next number
//! ```
//!
//! All are varints. Subject and hub are those of [`SegmentId`]; a batch is its place in the list. The base of a segment is that
//! of its body; a column has an older one if merges since did not touch it. Runs hold every record that is newer than the base
//! and no newer than the manifest's C. The segment of an index has group 2^20 and its number as subject. A segment that was never merged and has no records has no entry.
//!
//! What is free follows from this: every byte of the array files that no extent here has.

use crate::entries::entry::EntryForm;
use crate::extents::header::{ExtentHeader, ExtentKind, ExtentPlace};
use crate::files::batch::{ITEM_UNIT_BYTES, ItemRange};
use crate::files::segment_id::{INDEXES, SegmentId};
use evergraph_graph::bytes::{DecodeError, Decoded, Reader, put_varint};
use evergraph_graph::error::Error;
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, KeyId, TypeId};
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::{put_index_id, take_index_id};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::write_unit::WriteUnit;

const FORMAT: u64 = 2;
/// The format of a database that never had an index.
const WITHOUT_INDEXES: u64 = 1;
/// One more than the highest number of an index.
const INDEX_NUMBERS: u64 = 1 << 24;
/// The number of the first index.
pub const FIRST_INDEX: u32 = 1;
/// Runs of a segment at most: a checkpoint that would add another makes one of the newest.
pub const STORED_RUNS_MAX: usize = 6;

/// A batch that is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedBatch {
    /// Where it lies.
    pub place: ExtentPlace,
    /// C of the checkpoint that wrote it.
    pub base: Timestamp,
}

/// A column that is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedColumn {
    /// Of which property.
    pub key: KeyId,
    /// The base of the body that it was written with.
    pub base: Timestamp,
    /// Where it lies.
    pub place: ExtentPlace,
}

/// A run that is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedRun {
    /// Place of its batch in the list.
    pub batch: usize,
    /// Where in the batch.
    pub range: ItemRange,
}

/// What belongs to a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedSegment {
    /// Which one.
    pub id: SegmentId,
    /// The commit at which its body is exact.
    pub base: Timestamp,
    /// Edges in its body, or vertices: known without reading it.
    pub items: u64,
    /// Where the body lies; `None` if it is empty.
    pub body: Option<ExtentPlace>,
    /// Its columns, ascending by key.
    pub columns: Vec<NamedColumn>,
    /// The records since, oldest first.
    pub runs: Vec<NamedRun>,
}

impl NamedSegment {
    /// Its extents, with the headers that they have: the body, then the columns.
    pub fn extents(&self) -> impl Iterator<Item = (ExtentPlace, ExtentHeader)> {
        let segment = self.id.number();
        let header = move |kind, base| ExtentHeader { kind, segment, base };
        let body = self.body.map(|place| (place, header(self.id.body_kind(), self.base)));
        let column = move |column: &NamedColumn| (column.place, header(ExtentKind::Column, column.base));
        body.into_iter().chain(self.columns.iter().map(column))
    }
}

/// The extents and runs of a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// What extents lie at multiples of.
    pub unit: WriteUnit,
    /// Ascending by place.
    pub batches: Vec<NamedBatch>,
    /// Ascending.
    pub segments: Vec<NamedSegment>,
    /// Which indexes these have.
    pub indexes: NamedIndexes,
}

/// The indexes of a database, whose entries are segments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedIndexes {
    /// Ascending, each with the number of its segment.
    pub indexes: Vec<(IndexId, u32)>,
    /// The number that the next one gets.
    pub next: u32,
}

impl NamedIndexes {
    /// How the entries of the index with this number are written.
    #[must_use]
    pub fn entry_form(&self, number: u32) -> Option<EntryForm> {
        self.indexes.iter().find(|(_, own)| *own == number).map(|(id, _)| EntryForm::of(*id))
    }
}

impl Default for NamedIndexes {
    /// None, and there never was one.
    fn default() -> Self {
        Self { indexes: Vec::new(), next: FIRST_INDEX }
    }
}

impl Section {
    /// Of a database without segments.
    #[must_use]
    pub fn empty(unit: WriteUnit) -> Self {
        Self { unit, batches: Vec::new(), segments: Vec::new(), indexes: NamedIndexes::default() }
    }

    /// That of `manifest`, which was read from `directory`.
    ///
    /// # Errors
    /// `Corrupt`, naming the byte of the manifest, if it can't be read, contradicts itself or doesn't fit the rest of the manifest;
    /// [`CheckpointError::NewerFormat`]; `invalid` if extents lie closer than the directory can write them.
    pub fn of(directory: &dyn Directory, manifest: &Manifest) -> CheckpointResult<Self> {
        let section = &manifest.engine_section;
        let corrupt = |error: DecodeError| section.corrupt(directory, error);
        let mut reader = Reader::new(&section.bytes);
        let start = reader.clone();
        let format = reader.varint().map_err(corrupt)?;
        if format > FORMAT && format <= u64::from(u32::MAX) {
            let file = directory.path(evergraph_storage::checkpoint::manifest::FILE_NAME);
            return Err(CheckpointError::NewerFormat {
                file,
                found: format as u32,
                supported: FORMAT as u32,
            });
        }
        if format != FORMAT && format != WITHOUT_INDEXES {
            let text = format!("a section of format {WITHOUT_INDEXES} or {FORMAT} expected, found {format}");
            return Err(corrupt(start.error(text)));
        }
        let (decoded, offsets) = Self::take(&mut reader, format).map_err(corrupt)?;
        decoded.check(manifest).map_err(|(at, problem)| {
            let offset = at.map_or(0, |at| offsets[at]);
            corrupt(DecodeError { offset, expected: problem })
        })?;
        let (found, possible) = (decoded.unit.bytes(), directory.write_unit().bytes());
        if found < possible {
            let text = format!(
                "{}: extents lie at multiples of {found} bytes, and here they can be written at multiples of {possible} only: \
                 open the database where it was, or with persistent memory `emulated`, and convert it to take it away",
                directory.location().display()
            );
            return Err(CheckpointError::Refused(Error::invalid(text)));
        }
        Ok(decoded)
    }

    /// What the extents of `manifest` lie at multiples of; `None` if it says nothing of them that can be read.
    #[must_use]
    pub fn unit_of(manifest: &Manifest) -> Option<WriteUnit> {
        let mut reader = Reader::new(&manifest.engine_section.bytes);
        let format = reader.varint().ok()?;
        let unit = reader.varint().ok()?;
        let unit = u32::try_from(unit).ok().and_then(WriteUnit::of_bytes);
        unit.filter(|_| matches!(format, WITHOUT_INDEXES | FORMAT))
    }

    /// Makes this the section of `manifest`.
    ///
    /// # Errors
    /// [`CheckpointError::Unsound`] if it doesn't fit the rest of the manifest, or contradicts itself.
    pub fn put_into(&self, manifest: &mut Manifest) -> CheckpointResult<()> {
        self.check(manifest)
            .map_err(|(_, problem)| CheckpointError::Unsound { what: "the manifest".to_owned(), problem })?;
        manifest.engine_section = self.encode().into();
        manifest.has_runs = true;
        manifest.has_index_entries = self.indexes != NamedIndexes::default();
        Ok(())
    }

    /// All extents, with the headers that they have: batches, then each segment's body and columns.
    pub fn extents(&self) -> impl Iterator<Item = (ExtentPlace, ExtentHeader)> {
        let header = |base| ExtentHeader { kind: ExtentKind::Batch, segment: 0, base };
        let batches = self.batches.iter().map(move |batch| (batch.place, header(batch.base)));
        batches.chain(self.segments.iter().flat_map(NamedSegment::extents))
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let unit = self.unit.bytes();
        let mut out = Vec::with_capacity(16 + self.batches.len() * 16 + self.segments.len() * 24);
        let put =
            |out: &mut Vec<u8>, numbers: &[u64]| numbers.iter().for_each(|number| put_varint(out, *number));
        let place = |place: &ExtentPlace| [place.file, place.offset / unit, place.payload_bytes];
        let format = if self.indexes == NamedIndexes::default() { WITHOUT_INDEXES } else { FORMAT };
        put(&mut out, &[format, unit, self.batches.len() as u64]);
        for batch in &self.batches {
            put(&mut out, &place(&batch.place));
            put(&mut out, &[batch.base.0]);
        }
        put(&mut out, &[self.segments.len() as u64]);
        for segment in &self.segments {
            let of_edges = segment.id.type_and_side().map(|(edge_type, side)| {
                1 + (u64::from(edge_type.0) << 1 | u64::from(side == Direction::In))
            });
            let subject = segment.id.index_number().map_or(of_edges.unwrap_or(0), u64::from);
            let hub = segment.id.hub_row().map_or(0, |row| 1 + u64::from(row));
            put(&mut out, &[segment.id.group().0.into(), subject, hub, segment.base.0, segment.items]);
            put(&mut out, &[u64::from(segment.body.is_some()) + segment.columns.len() as u64]);
            segment.body.iter().for_each(|body| put(&mut out, &place(body)));
            for column in &segment.columns {
                put(&mut out, &[column.key.0.into(), column.base.0]);
                put(&mut out, &place(&column.place));
            }
            put(&mut out, &[segment.runs.len() as u64]);
            for run in &segment.runs {
                let ItemRange { offset, bytes } = run.range;
                put(&mut out, &[run.batch as u64, offset / ITEM_UNIT_BYTES, bytes / ITEM_UNIT_BYTES]);
            }
        }
        if format == FORMAT {
            put(&mut out, &[self.indexes.indexes.len() as u64]);
            for (id, number) in &self.indexes.indexes {
                put_index_id(&mut out, id);
                put(&mut out, &[u64::from(*number)]);
            }
            put(&mut out, &[u64::from(self.indexes.next)]);
        }
        out
    }

    /// Reads what follows the format; and where each segment begins.
    fn take(reader: &mut Reader<'_>, format: u64) -> Decoded<(Self, Vec<usize>)> {
        let start = reader.clone();
        let unit = reader.varint()?;
        let unit = u32::try_from(unit)
            .ok()
            .and_then(WriteUnit::of_bytes)
            .ok_or_else(|| start.error(format!("a power of two from 64 to 4096 expected, found {unit}")))?;
        let mut batches = Vec::with_capacity(reader.count(4)?);
        for _ in 0..batches.capacity() {
            let place = take_place(reader, unit)?;
            batches.push(NamedBatch { place, base: Timestamp(reader.varint()?) });
        }
        let count = reader.count(7)?;
        let (mut segments, mut offsets) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for _ in 0..count {
            offsets.push(reader.offset());
            let id = take_id(reader, format)?;
            let base = Timestamp(reader.varint()?);
            let items = reader.varint()?;
            let extents = reader.count(3)?;
            let body = if extents > 0 { Some(take_place(reader, unit)?) } else { None };
            let mut columns = Vec::with_capacity(extents.saturating_sub(1));
            for _ in 1..extents {
                let key = KeyId(reader.at_most(u64::from(u16::MAX))? as u16);
                let base = Timestamp(reader.varint()?);
                columns.push(NamedColumn { key, base, place: take_place(reader, unit)? });
            }
            let mut runs = Vec::with_capacity(reader.count(3)?);
            for _ in 0..runs.capacity() {
                let batch = reader.at_most((batches.len() as u64).saturating_sub(1))? as usize;
                let (offset, bytes) =
                    (take_multiple(reader, ITEM_UNIT_BYTES)?, take_multiple(reader, ITEM_UNIT_BYTES)?);
                runs.push(NamedRun { batch, range: ItemRange { offset, bytes } });
            }
            segments.push(NamedSegment { id, base, items, body, columns, runs });
        }
        let mut indexes = NamedIndexes::default();
        if format == FORMAT {
            for _ in 0..reader.count(4)? {
                let id = take_index_id(reader)?;
                indexes.indexes.push((id, reader.at_most(INDEX_NUMBERS - 1)? as u32));
            }
            indexes.next = reader.at_most(INDEX_NUMBERS)? as u32;
        }
        if !reader.is_empty() {
            return Err(reader.error(format!("the end expected, found {} more bytes", reader.remaining())));
        }
        Ok((Self { unit, batches, segments, indexes }, offsets))
    }
}

/// Indexes are a group beyond the last one.
fn take_id(reader: &mut Reader<'_>, format: u64) -> Decoded<SegmentId> {
    let last = u64::from(GroupId::END) - u64::from(format == WITHOUT_INDEXES);
    let group = GroupId(reader.at_most(last)? as u32);
    if group == INDEXES {
        let start = reader.clone();
        let number = reader.at_most(INDEX_NUMBERS - 1)? as u32;
        reader.at_most(0)?;
        return SegmentId::index(number).ok_or_else(|| start.error("an index has a number above zero"));
    }
    let subject = reader.at_most(u64::from(u16::MAX) * 2 + 2)?;
    let start = reader.clone();
    let hub = reader.at_most(u64::from(GROUP_SIZE))?;
    let own = match subject.checked_sub(1) {
        None => SegmentId::vertices(group),
        Some(subject) => {
            let side = if subject & 1 == 0 { Direction::Out } else { Direction::In };
            SegmentId::edges(group, TypeId((subject >> 1) as u16), side)
        }
    };
    match hub.checked_sub(1) {
        None => Ok(own),
        Some(row) if subject > 0 => Ok(own.hub(row as u16)),
        Some(_) => Err(start.error("no hub of vertices expected")),
    }
}

fn take_place(reader: &mut Reader<'_>, unit: WriteUnit) -> Decoded<ExtentPlace> {
    let file = reader.varint()?;
    let offset = take_multiple(reader, unit.bytes())?;
    Ok(ExtentPlace { file, offset, payload_bytes: reader.varint()? })
}

fn take_multiple(reader: &mut Reader<'_>, unit: u64) -> Decoded<u64> {
    let start = reader.clone();
    let found = reader.varint()?.checked_mul(unit);
    found.ok_or_else(|| start.error("a number of bytes below 2^64 expected"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::catalogue::Owner;
    use evergraph_graph::id::LabelId;
    use evergraph_graph::index::IndexKind;
    use evergraph_storage::checkpoint::manifest::StoredGroup;
    use evergraph_storage::io::memory::MemoryDirectory;

    fn manifest() -> Manifest {
        let group = |id| StoredGroup { id: GroupId(id), label: LabelId(3), rows: 4096 };
        Manifest {
            covered_through: Timestamp(69),
            need: Timestamp(72),
            next_file: 5,
            groups: vec![group(0), group(1), group(GroupId::END - 1)],
            ..Manifest::empty("mapped", Vec::new())
        }
    }

    fn place(file: u64, unit: u64, payload_bytes: u64) -> ExtentPlace {
        ExtentPlace { file, offset: unit * 4096, payload_bytes }
    }

    fn index(key: u16) -> IndexId {
        IndexId { owner: Owner::Label(LabelId(3)), key: KeyId(key), kind: IndexKind::Hash }
    }

    fn run(batch: usize, offset: u64, bytes: u64) -> NamedRun {
        NamedRun { batch, range: ItemRange { offset, bytes } }
    }

    fn sample() -> Section {
        let edges = |side| SegmentId::edges(GroupId(1), TypeId(u16::MAX), side);
        let segment = |id, base, body: Option<ExtentPlace>, runs| {
            let items = if body.is_some() { 300 } else { 0 };
            NamedSegment { id, base: Timestamp(base), items, body, columns: Vec::new(), runs }
        };
        let column = |key, base, place| NamedColumn { key: KeyId(key), base: Timestamp(base), place };
        Section {
            unit: WriteUnit::PAGE,
            batches: vec![
                NamedBatch { place: place(1, 0, 300), base: Timestamp(60) },
                NamedBatch { place: place(3, 2, 4096), base: Timestamp(69) },
            ],
            segments: vec![
                NamedSegment {
                    columns: vec![column(0, 70, place(1, 2, 0)), column(u16::MAX, 3, place(4, 1 << 20, 9))],
                    ..segment(SegmentId::vertices(GroupId(0)), 70, Some(place(1, 1, 4032)), Vec::new())
                },
                segment(edges(Direction::Out), 0, None, vec![run(0, 0, 48), run(1, 64, 16)]),
                segment(edges(Direction::In), 50, Some(place(3, 0, 5000)), vec![run(1, 96, 4000 - 16)]),
                segment(edges(Direction::In).hub(4095), 72, Some(place(2, 7, 1 << 20)), Vec::new()),
                segment(SegmentId::vertices(GroupId(GroupId::END - 1)), 9, None, Vec::new()),
                segment(SegmentId::index(3).unwrap(), 50, Some(place(3, 9, 700)), Vec::new()),
                segment(SegmentId::index(4).unwrap(), 0, None, Vec::new()),
            ],
            indexes: NamedIndexes { indexes: vec![(index(0), 4), (index(1), 3)], next: 7 },
        }
    }

    #[test]
    fn a_section_reads_back_from_a_manifest() {
        let (directory, mut manifest) = (MemoryDirectory::new("db"), manifest());
        sample().put_into(&mut manifest).unwrap();
        assert!(manifest.has_runs);
        assert_eq!(Section::of(&directory, &manifest).unwrap(), sample());
        let kinds: Vec<_> = sample().extents().map(|(_, header)| header.kind).collect();
        let (batch, body, column) = (ExtentKind::Batch, ExtentKind::Body, ExtentKind::Column);
        assert_eq!(kinds, [batch, batch, body, column, column, body, body, ExtentKind::IndexBody]);
        let bases: Vec<_> = sample().extents().map(|(_, header)| header.base.0).collect();
        assert_eq!(bases, [60, 69, 70, 70, 3, 50, 72, 50]);
        let whole = manifest.engine_section.bytes.clone();
        for cut in 0..whole.len() {
            manifest.engine_section = whole[..cut].to_vec().into();
            let error = Section::of(&directory, &manifest).unwrap_err();
            assert!(matches!(error, CheckpointError::Corrupt { .. }), "cut at {cut}: {error}");
        }
        manifest.engine_section = [&whole[..], &[0]].concat().into();
        let error = Section::of(&directory, &manifest).unwrap_err().to_string();
        assert!(error.contains("the end expected, found 1 more bytes"), "{error}");
        let empty = Section::empty(WriteUnit::PAGE);
        manifest.engine_section = empty.encode().into();
        assert_eq!(Section::of(&directory, &manifest).unwrap(), empty);
    }

    #[test]
    fn a_section_without_indexes_is_of_the_first_format_and_names_its_unit() {
        let mut bare = Section { unit: WriteUnit::LINE, indexes: NamedIndexes::default(), ..sample() };
        bare.segments.retain(|segment| segment.id.index_number().is_none());
        let mut manifest = manifest();
        for (section, format) in [(bare, 1), (Section { unit: WriteUnit::LINE, ..sample() }, 2)] {
            section.put_into(&mut manifest).unwrap();
            assert_eq!(manifest.engine_section.bytes[0], format);
            assert_eq!(Section::unit_of(&manifest), Some(WriteUnit::LINE));
        }
        manifest.engine_section = vec![3, 64].into();
        assert_eq!(Section::unit_of(&manifest), None);
    }

    #[test]
    fn a_newer_section_and_one_with_closer_extents_are_refused_by_name() {
        let mut manifest = manifest();
        manifest.engine_section = vec![3, 7, 7].into();
        let error = Section::of(&MemoryDirectory::new("db"), &manifest).unwrap_err();
        assert!(error.to_string().contains("has format 3, this version reads formats up to 2"), "{error}");
        let lines = Section { unit: WriteUnit::LINE, ..sample() };
        lines.put_into(&mut manifest).unwrap();
        let error = Section::of(&MemoryDirectory::new("db"), &manifest).unwrap_err();
        assert!(error.to_string().contains("extents lie at multiples of 64 bytes"), "{error}");
        let fine = MemoryDirectory::new("db").with_unit(WriteUnit::LINE);
        assert_eq!(Section::of(&fine, &manifest).unwrap(), lines);
        sample().put_into(&mut manifest).unwrap();
        assert_eq!(Section::of(&fine, &manifest).unwrap(), sample(), "pages are whole lines");
    }

    #[test]
    fn a_section_that_does_not_fit_is_neither_written_nor_read() {
        type Change = dyn Fn(&mut Section, &mut Manifest);
        let refused = |change: &Change, text: &str| {
            let (mut section, mut manifest) = (sample(), manifest());
            change(&mut section, &mut manifest);
            let error = section.put_into(&mut manifest).unwrap_err();
            assert!(matches!(error, CheckpointError::Unsound { .. }), "{error}");
            assert!(error.to_string().contains(text), "{error}");
            manifest.engine_section = section.encode().into();
            let error = Section::of(&MemoryDirectory::new("db"), &manifest).unwrap_err();
            assert!(
                matches!(error, CheckpointError::Corrupt { .. }) && error.to_string().contains(text),
                "{error}"
            );
        };
        refused(&|_, manifest| manifest.need = Timestamp(71), "exact at 72, beyond 71");
        refused(&|_, manifest| manifest.covered_through = Timestamp(68), "a batch of 69, beyond 68");
        refused(&|_, manifest| _ = manifest.groups.remove(1), "have no group");
        refused(&|_, manifest| manifest.next_file = 4, "in array file 4");
        refused(&|section, _| section.segments.swap(0, 4), "ascending");
        refused(&|section, _| section.batches.swap(0, 1), "batches in ascending order");
        refused(&|section, _| _ = section.segments.remove(2), "belong to no group's segment");
        refused(
            &|section, _| section.segments[0].columns[1].base = Timestamp(71),
            "a column of theirs at 71",
        );
        refused(&|section, _| section.segments[0].columns.swap(0, 1), "columns in ascending order");
        refused(
            &|section, _| section.segments[2].columns = section.segments[0].columns.clone(),
            "the out side",
        );
        refused(&|section, _| section.segments[2].base = Timestamp(69), "have records up to 69 beside");
        refused(&|section, _| section.segments[1].runs = vec![run(0, 0, 8); 7], "at most 6 runs");
        refused(&|section, _| section.segments[0].items = 4097, "4097 items, and a body of 4032 bytes");
        refused(&|section, _| section.segments[2].items = 5001, "5001 items, and a body of 5000 bytes");
        let expected = "a segment for each of the indexes";
        refused(&|section, _| _ = section.indexes.indexes.remove(0), expected);
        refused(&|section, _| _ = section.segments.pop(), expected);
        refused(&|section, _| section.indexes.indexes.swap(0, 1), "indexes in ascending order");
        refused(&|section, _| section.indexes.next = 4, "index 4, and the next one gets number 4");
        refused(
            &|section, _| section.segments[5].columns = section.segments[0].columns.clone(),
            "the entries of index 3 have columns",
        );
        // Offsets, lengths, overlaps.
        refused(
            &|section, _| section.segments[1].runs[1] = run(1, 4096, 8),
            "byte 4096 of batch 1, which has 4096",
        );
        refused(&|section, _| section.segments[1].runs[1] = run(1, 8, 8 << 60), "at byte 8 of batch 1");
        refused(
            &|section, _| section.segments[1].runs[1] = run(1, 72, 16),
            "two runs with bytes in common at byte 96",
        );
        refused(
            &|section, _| section.segments[1].runs[1] = run(0, 56, 8),
            "two runs with bytes in common at byte 56",
        );
        refused(
            &|section, _| section.segments[0].body = Some(place(1, 1, 4033)),
            "extents with bytes in common at byte 8192",
        );
        refused(
            &|section, _| section.batches[0].place.payload_bytes = 4033,
            "two extents with bytes in common",
        );
        refused(
            &|section, _| section.segments[2].body = Some(place(3, 1, 4033)),
            "two extents with bytes in common",
        );
        refused(
            &|section, _| section.segments[2].body = Some(place(3, 0, u64::MAX)),
            "an extent of 18446744073709551615",
        );
        refused(
            &|section, _| section.segments[2].body = Some(place(3, 1 << 34, 900)),
            "in array file 3 at byte",
        );
    }

    #[test]
    fn no_damage_makes_a_panic() {
        let mut manifest = manifest();
        let whole = sample().encode();
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                manifest.engine_section = damaged.into();
                let _ = Section::of(&MemoryDirectory::new("db"), &manifest);
            }
        }
    }
}
