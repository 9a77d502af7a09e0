//! Check of array files: compares every checksum that the manifest names, and decodes every body, column and run.

use crate::entries::entry::EntryForm;
use crate::extents::array_file::file_name;
use crate::extents::header::{ExtentHeader, ExtentPlace};
use crate::extents::reader::{ReadExtent, ReadFiles};
use crate::files::batch::item_bytes;
use crate::files::run_form::{check_records, decode_run};
use crate::files::section::{NamedBatch, NamedIndexes, NamedSegment, Section};
use crate::files::segment_id::SegmentId;
use crate::shared_record::first_inexact;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::checkpoint::report::{CheckProgress, Report, tell};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::salvage::loss::ids;

/// What a body has to be.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedBody {
    /// The segment that it is of.
    pub id: SegmentId,
    /// How many items it has.
    pub items: u64,
    /// How its entries are written, if it is an index's.
    pub entry_form: Option<EntryForm>,
}

/// Whether payloads of a body and its columns are sound, and fit together and to what is expected.
pub type CheckBody =
    fn(ExpectedBody, &[u8], &[(KeyId, Timestamp, ExtentPlace, &[u8])]) -> std::result::Result<(), String>;

/// Checks what `manifest` names. Every extent is read, one at a time.
///
/// # Errors
/// `cancelled`, and what the system says. Damage is a finding.
pub fn check_array_files(
    directory: &dyn Directory,
    manifest: &Manifest,
    check_body: CheckBody,
    report: &mut Report,
    progress: &mut CheckProgress<'_>,
) -> Result<()> {
    let section = match Section::of(directory, manifest) {
        Ok(section) => section,
        Err(error) => return report.take_in(error),
    };
    let mut check =
        FileCheck { directory, manifest, indexes: &section.indexes, files: ReadFiles::default(), check_body };
    let mut batches = Vec::with_capacity(section.batches.len());
    let headers: Vec<_> = section.extents().take(section.batches.len()).collect();
    for (at, (place, header)) in headers.into_iter().enumerate() {
        tell(progress, "batches of runs", at as u64, section.batches.len() as u64)?;
        batches.push(check.read(place, header, report)?);
    }
    let count = section.segments.len() as u64;
    for (at, segment) in section.segments.iter().enumerate() {
        tell(progress, "segments", at as u64, count)?;
        let entry_form = segment.id.index_number().and_then(|number| section.indexes.entry_form(number));
        check.body(segment, entry_form, report)?;
        check.runs((segment, entry_form), &section.batches, &batches, report)?;
    }
    Ok(())
}

struct FileCheck<'a> {
    directory: &'a dyn Directory,
    manifest: &'a Manifest,
    indexes: &'a NamedIndexes,
    files: ReadFiles,
    check_body: CheckBody,
}

impl FileCheck<'_> {
    /// An extent; `None` if it is damaged, which is reported.
    fn read(
        &mut self,
        place: ExtentPlace,
        header: ExtentHeader,
        report: &mut Report,
    ) -> Result<Option<ReadExtent>> {
        match self.files.read(self.directory, place, header) {
            Ok(extent) => {
                report.bytes_count += extent.whole().len() as u64;
                Ok(Some(extent))
            }
            Err(error) => report.take_in(error).map(|()| None),
        }
    }

    fn body(
        &mut self,
        segment: &NamedSegment,
        entry_form: Option<EntryForm>,
        report: &mut Report,
    ) -> Result<()> {
        let mut extents = Vec::new();
        for (place, header) in segment.extents() {
            match self.read(place, header, report)? {
                Some(extent) => extents.push(extent),
                None => {
                    report.find(self.name(segment.id), "can't be read: an extent of it is damaged");
                    return Ok(());
                }
            }
        }
        let Some((body, columns)) = extents.split_first() else { return Ok(()) };
        let named = segment.columns.iter().zip(columns);
        let columns: Vec<_> =
            named.map(|(named, column)| (named.key, named.base, named.place, column.payload())).collect();
        report.bodies_count += 1;
        let expected = ExpectedBody { id: segment.id, items: segment.items, entry_form };
        if let Err(problem) = (self.check_body)(expected, body.payload(), &columns) {
            let place = segment.body.expect("it has an extent");
            report.take_in(self.corrupt(place, 0, format!("{}: {problem}", self.name(segment.id))))?;
        }
        Ok(())
    }

    fn runs(
        &self,
        (segment, entry_form): (&NamedSegment, Option<EntryForm>),
        named: &[NamedBatch],
        batches: &[Option<ReadExtent>],
        report: &mut Report,
    ) -> Result<()> {
        let (mut after, mut stamps) = (segment.base, Vec::new());
        for run in &segment.runs {
            let Some(extent) = &batches[run.batch] else {
                report.find(self.name(segment.id), "records can't be read: their batch is damaged");
                return Ok(());
            };
            let batch = &named[run.batch];
            let decoded = item_bytes(extent.whole(), batch.base, segment.id, run.range).and_then(|bytes| {
                let wrong =
                    |problem: String| (run.range.offset, format!("{}: {problem}", self.name(segment.id)));
                let records = decode_run(bytes).map_err(|error| wrong(error.expected))?;
                check_records(segment.id, (after, self.manifest.covered_through), &records).map_err(wrong)?;
                if let Some(form) = entry_form {
                    let mut entries = records.iter().map(|record| &record.properties);
                    entries.try_for_each(|entry| form.check(entry).map(drop)).map_err(wrong)?;
                    return Ok(records);
                }
                stamps.extend(records.iter().map(|record| (record.key, record.stamp)));
                stamps.sort_unstable();
                match first_inexact(stamps.iter().copied()) {
                    Some((_, problem)) => Err(wrong(problem)),
                    None => Ok(records),
                }
            });
            match decoded {
                Ok(records) => {
                    let newest = records.iter().map(|record| record.stamp.timestamp()).max();
                    after = newest.unwrap_or(after);
                }
                Err((offset, problem)) => {
                    report.take_in(self.corrupt(batch.place, offset, problem))?;
                    // What it did is unknown, so that the next one is not judged by what was there before it.
                    stamps.clear();
                }
            }
        }
        Ok(())
    }

    /// A segment by the names of labels, types and indexes, and by the ids of its vertices; by numbers if the manifest has no names.
    fn name(&self, id: SegmentId) -> String {
        let Manifest { catalogue, groups, .. } = self.manifest;
        if let Some(number) = id.index_number() {
            let index = self.indexes.indexes.iter().find(|(_, own)| *own == number);
            return index.map_or_else(
                || id.to_string(),
                |(index, _)| {
                    let property = catalogue.property_name(index.owner, index.key);
                    format!("the entries of the {} index on {property}", index.kind)
                },
            );
        }
        let group = groups.iter().find(|group| group.id == id.group() && catalogue.has_label(group.label));
        let Some(group) = group else { return id.to_string() };
        let label = catalogue.label_name(group.label);
        let vertices = match id.hub_row() {
            Some(row) => format!("{label} ({})", VertexId::new(group.id, row)),
            None => {
                let (first, last) = ids(group.id, group.rows);
                format!("{label} ({first} to {last})")
            }
        };
        match id.type_and_side() {
            None => format!("the vertices of {vertices}"),
            Some((edge_type, Direction::In)) => {
                format!("the edges {} to {vertices}", catalogue.edge_type_name(edge_type))
            }
            Some((edge_type, _)) => {
                format!("the edges {} from {vertices}", catalogue.edge_type_name(edge_type))
            }
        }
    }

    fn corrupt(&self, place: ExtentPlace, offset: u64, problem: String) -> CheckpointError {
        let file = self.directory.path(&file_name(place.file));
        CheckpointError::Corrupt { file, offset: place.offset + offset, problem }
    }
}
