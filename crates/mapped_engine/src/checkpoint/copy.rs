//! Copy: holds what a manifest names, and writes it to another directory.
//!
//! Array files change while they are copied; the extents that are named don't, since they are held. The copy has them where
//! they are here, and nothing else.

use crate::checkpoint::ledger::Ledger;
use crate::extents::array_file::file_name;
use crate::extents::header::{ExtentHeader, ExtentPlace, extent_bytes};
use crate::extents::reader::ExtentReader;
use crate::files::section::Section;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::PinnedFiles;
use evergraph_storage::io::directory::{Directory, File};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes that are written at once.
const STRETCH_BYTES: usize = 8 << 20;

/// The extents of one manifest.
#[derive(Debug)]
pub struct PinnedExtents<B> {
    reader: ExtentReader,
    /// By file and offset.
    extents: Vec<(ExtentPlace, ExtentHeader)>,
    /// What keeps them.
    _named: Vec<Arc<Ledger<B>>>,
}

impl<B> PinnedExtents<B> {
    /// Those of `manifest`, which is the one on disk, among what `named` holds.
    ///
    /// # Errors
    /// As [`Section::of`].
    pub fn new(
        directory: &Arc<dyn Directory>,
        manifest: &Manifest,
        named: Vec<Arc<Ledger<B>>>,
    ) -> CheckpointResult<Self> {
        let mut extents: Vec<_> = Section::of(&**directory, manifest)?.extents().collect();
        extents.sort_unstable_by_key(|(place, _)| (place.file, place.offset));
        Ok(Self { reader: ExtentReader::new(Arc::clone(directory)), extents, _named: named })
    }
}

impl<B> PinnedFiles for PinnedExtents<B> {
    fn bytes(&self) -> u64 {
        self.extents.iter().filter_map(|(place, _)| extent_bytes(place.payload_bytes)).sum()
    }

    fn copy(
        &self,
        target: &dyn Directory,
        progress: &mut dyn FnMut(u64) -> CheckpointResult<()>,
    ) -> CheckpointResult<u64> {
        let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
        for (place, _) in &self.extents {
            let bytes = extent_bytes(place.payload_bytes).expect("the section was checked");
            // Extents ascend: the last one of a file tells its length.
            ends.insert(place.file, (place.offset + bytes).next_multiple_of(target.write_unit().bytes()));
        }
        let mut files: BTreeMap<u64, Arc<dyn File>> = BTreeMap::new();
        for (number, bytes) in ends {
            let file = target.create(&file_name(number))?;
            target.allocate(&file_name(number), bytes)?;
            files.insert(number, file);
        }
        let mut copied = 0;
        for (place, header) in &self.extents {
            let extent = self.reader.read(*place, *header)?;
            let bytes = extent_bytes(place.payload_bytes).expect("the section was checked") as usize;
            let mut offset = place.offset;
            for stretch in extent.whole()[..bytes].chunks(STRETCH_BYTES) {
                files[&place.file].write_at(stretch, offset)?;
                offset += stretch.len() as u64;
                copied += stretch.len() as u64;
                progress(stretch.len() as u64)?;
            }
        }
        for file in files.values() {
            file.sync_data()?;
        }
        Ok(copied)
    }
}
