//! Copy: holds bodies' files open, and writes them to another directory.

use crate::checkpoint::body_file::BodyFile;
use crate::checkpoint::segment_list::SegmentList;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::durable_engine::PinnedFiles;
use evergraph_storage::io::directory::Directory;

/// Bodies' files and their numbers.
#[derive(Debug)]
pub struct PinnedBodies {
    files: Vec<(u64, BodyFile)>,
}

impl PinnedBodies {
    /// Opens the files that `list` names.
    ///
    /// # Errors
    /// As [`BodyFile::open`].
    pub fn open(directory: &dyn Directory, list: &SegmentList) -> CheckpointResult<Self> {
        let open = |number| Ok((number, BodyFile::open(directory, number)?));
        Ok(Self { files: list.files().into_iter().map(open).collect::<CheckpointResult<_>>()? })
    }
}

impl PinnedFiles for PinnedBodies {
    fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, file)| file.bodies_end()).sum()
    }

    fn copy(
        &self,
        target: &dyn Directory,
        progress: &mut dyn FnMut(u64) -> CheckpointResult<()>,
    ) -> CheckpointResult<u64> {
        let copy = |(number, file): &(u64, BodyFile)| file.copy_to(target, *number, progress);
        self.files.iter().map(copy).sum()
    }
}
