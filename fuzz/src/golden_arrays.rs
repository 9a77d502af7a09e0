//! Golden arrays: what the golden manifests and array files of the mapped engine hold, which seeds are made of.

use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::extents::header::{ExtentPlace, extent_bytes};
use evergraph_mapped_engine::files::section::Section;
use evergraph_storage::checkpoint::manifest::{FILE_NAME, Manifest};
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;

/// Manifest and array file of a database without indexes, and of one with them.
const FILES: [(&[u8], &[u8]); 2] = [
    (
        include_bytes!("../../crates/mapped_engine/tests/golden/manifest-mapped-1.golden"),
        include_bytes!("../../crates/mapped_engine/tests/golden/array-1.golden"),
    ),
    (
        include_bytes!("../../crates/mapped_engine/tests/golden/manifest-mapped-2.golden"),
        include_bytes!("../../crates/mapped_engine/tests/golden/array-2.golden"),
    ),
];

/// A database of one array file.
#[derive(Debug)]
pub struct GoldenDatabase {
    /// Its manifest.
    pub manifest: &'static [u8],
    /// What the manifest says of the array file.
    pub section: Section,
    array: &'static [u8],
}

impl GoldenDatabase {
    /// All that there are.
    ///
    /// # Panics
    /// Never: golden files are sound.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let read = |(manifest, array): (&'static [u8], &'static [u8])| {
            let directory = MemoryDirectory::new("golden");
            directory.write_all_new(FILE_NAME, manifest).expect("a new name");
            let found = Manifest::read(&directory, MappedEngine::opens).expect("a golden manifest is sound");
            let section = Section::of(&directory, &found).expect("so is its section");
            Self { manifest, section, array }
        };
        FILES.into_iter().map(read).collect()
    }

    /// The extent at a place that the section names: header, payload, checksums.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn extent(&self, place: ExtentPlace) -> &'static [u8] {
        let length = extent_bytes(place.payload_bytes).expect("the file is short") as usize;
        &self.array[place.offset as usize..][..length]
    }
}
