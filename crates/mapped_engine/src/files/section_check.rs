//! Section check: whether a section fits its manifest and itself, before it is written and after it is read.

use crate::extents::header::{ExtentPlace, extent_bytes};
use crate::files::section::{FIRST_INDEX, NamedIndexes, NamedRun, NamedSegment, STORED_RUNS_MAX, Section};
use crate::files::segment_id::SegmentId;
use evergraph_graph::id::{Direction, GROUP_SIZE};
use evergraph_storage::checkpoint::manifest::Manifest;

/// What is wrong, and with which of the segments if it is one of them.
type Misfit = (Option<usize>, String);

impl Section {
    /// Whether it fits `manifest` and itself.
    pub(super) fn check(&self, manifest: &Manifest) -> Result<(), Misfit> {
        let mut ends = Vec::new();
        for batch in &self.batches {
            if batch.base > manifest.covered_through {
                return Err((
                    None,
                    format!("a batch of {}, beyond {}", batch.base, manifest.covered_through),
                ));
            }
            ends.push((batch.place, None));
        }
        let in_batches = self.segments.iter().enumerate().flat_map(|(at, segment)| {
            let range = move |run: &NamedRun| (run.batch, run.range.offset, run.range.end(), at);
            segment.runs.iter().map(range)
        });
        let mut in_batches: Vec<_> = in_batches.collect();
        for (at, segment) in self.segments.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| self.segments[before].id);
            self.check_segment(segment, before, manifest).map_err(|problem| (Some(at), problem))?;
            ends.extend(segment.body.iter().map(|place| (*place, Some(at))));
            ends.extend(segment.columns.iter().map(|column| (column.place, Some(at))));
        }
        self.check_indexes().map_err(|problem| (None, problem))?;
        self.check_extents(ends, manifest)?;
        in_batches.sort_unstable();
        let mut free = (0, 0);
        for (batch, offset, end, at) in in_batches {
            let payload_bytes = self.batches[batch].place.payload_bytes;
            let Some(end) = end.filter(|end| *end <= payload_bytes) else {
                let text = format!("a run at byte {offset} of batch {batch}, which has {payload_bytes}");
                return Err((Some(at), text));
            };
            if free.0 == batch && offset < free.1 {
                return Err((
                    Some(at),
                    format!("two runs with bytes in common at byte {offset} of batch {batch}"),
                ));
            }
            free = (batch, end);
        }
        Ok(())
    }

    /// Whether each index has a segment, and each segment of an index is one's.
    fn check_indexes(&self) -> Result<(), String> {
        let NamedIndexes { indexes, next } = &self.indexes;
        if !indexes.is_sorted_by(|a, b| a.0 < b.0) {
            return Err("indexes in ascending order expected".to_owned());
        }
        let mut numbers: Vec<u32> = indexes.iter().map(|index| index.1).collect();
        numbers.sort_unstable();
        let segments = self.segments.iter().filter_map(|segment| segment.id.index_number());
        if !segments.eq(numbers.iter().copied()) {
            return Err(format!("a segment for each of the indexes with numbers {numbers:?} expected"));
        }
        match numbers.last() {
            Some(last) if last >= next => Err(format!("index {last}, and the next one gets number {next}")),
            _ if *next < FIRST_INDEX => Err(format!("number {next} for the next index")),
            _ => Ok(()),
        }
    }

    fn check_segment(
        &self,
        segment: &NamedSegment,
        before: Option<SegmentId>,
        manifest: &Manifest,
    ) -> Result<(), String> {
        let id = segment.id;
        if before.is_some_and(|before| before >= id) {
            return Err("segments in ascending order expected".to_owned());
        }
        if id.index_number().is_some() && !segment.columns.is_empty() {
            return Err(format!("{id} have columns"));
        }
        let has_group = || manifest.groups.binary_search_by_key(&id.group(), |group| group.id).is_ok();
        if id.index_number().is_none() && !has_group() {
            return Err(format!("{id} have no group"));
        }
        // Hubs follow the segment that they belong to.
        if id.hub_row().is_some() && before.is_none_or(|before| before.of_group() != id.of_group()) {
            return Err(format!("{id} belong to no group's segment"));
        }
        if segment.base > manifest.need {
            return Err(format!("{id} are exact at {}, beyond {}", segment.base, manifest.need));
        }
        if segment.body.is_none() && (!segment.columns.is_empty() || segment.items > 0) {
            return Err(format!("{id} have columns or items, and no body"));
        }
        // An edge or an entry takes more than a byte. What is counted without reading a body is bounded by the files so.
        let bytes = segment.body.map_or(0, |place| place.payload_bytes);
        let is_of_vertices = id.type_and_side().is_none() && id.index_number().is_none();
        let items_max = if is_of_vertices { u64::from(GROUP_SIZE) } else { bytes };
        if segment.items > items_max {
            return Err(format!("{id} have {} items, and a body of {bytes} bytes", segment.items));
        }
        if !segment.columns.is_sorted_by(|a, b| a.key < b.key) {
            return Err(format!("{id}: columns in ascending order expected"));
        }
        if !segment.columns.is_empty() && matches!(id.type_and_side(), Some((_, Direction::In))) {
            return Err(format!("{id} have columns, which belong to the out side"));
        }
        if let Some(column) = segment.columns.iter().find(|column| column.base > segment.base) {
            return Err(format!("{id} are exact at {}, a column of theirs at {}", segment.base, column.base));
        }
        if segment.runs.len() > STORED_RUNS_MAX {
            return Err(format!(
                "{id}: at most {STORED_RUNS_MAX} runs expected, found {}",
                segment.runs.len()
            ));
        }
        if !segment.runs.is_empty() && segment.base >= manifest.covered_through {
            let through = manifest.covered_through;
            return Err(format!(
                "{id} are exact at {}, and have records up to {through} beside",
                segment.base
            ));
        }
        if let Some(run) = segment.runs.iter().find(|run| run.batch >= self.batches.len()) {
            return Err(format!("{id}: batch {} of {}", run.batch, self.batches.len()));
        }
        Ok(())
    }

    /// Whether the extents lie where extents can, none in another.
    fn check_extents(
        &self,
        mut extents: Vec<(ExtentPlace, Option<usize>)>,
        manifest: &Manifest,
    ) -> Result<(), Misfit> {
        if !self.batches.is_sorted_by_key(|batch| (batch.place.file, batch.place.offset)) {
            return Err((None, "batches in ascending order expected".to_owned()));
        }
        extents.sort_unstable_by_key(|(place, _)| (place.file, place.offset));
        let mut free = (0, 0);
        for (place, at) in extents {
            let ExtentPlace { file, offset, payload_bytes } = place;
            let end = extent_bytes(payload_bytes)
                .and_then(|bytes| bytes.checked_next_multiple_of(self.unit.bytes()))
                .and_then(|bytes| bytes.checked_add(offset));
            let Some(end) = end.filter(|_| place.packed().is_some() && file < manifest.next_file) else {
                return Err((
                    at,
                    format!("an extent of {payload_bytes} bytes in array file {file} at byte {offset}"),
                ));
            };
            if free.0 == file && offset < free.1 {
                return Err((
                    at,
                    format!("two extents with bytes in common at byte {offset} of array file {file}"),
                ));
            }
            free = (file, end);
        }
        Ok(())
    }
}
