//! Copy: holds CSR files open, and writes them to another directory.

use crate::durable::files::missing_file;
use crate::durable::section::{FileList, file_parts};
use crate::format::file_head::FileHead;
use crate::format::file_name::{CsrFileName, FILE_HEAD_BYTES, PAGE_BYTES, PageNumber};
use crate::format::footer::{FOOTER_BYTES, Footer};
use crate::format::page;
use crate::stored_file::StoredPart;
use evergraph_graph::bytes::DecodeError;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::durable_engine::PinnedFiles;
use evergraph_storage::io::directory::{Directory, File, OpenMode};
use std::io::ErrorKind;
use std::sync::Arc;

/// Pages that are copied at once: 1 MiB.
const PAGES_AT_ONCE: u32 = 64;
/// What stands behind the pages is read whole, and is longer only if it isn't ours.
const END_BYTES_MAX: u64 = 4 << 30;

/// The files that a manifest names, opened.
#[derive(Debug)]
pub struct PinnedCsrFiles {
    files: Vec<(CsrFileName, StoredPart, Arc<dyn File>)>,
}

impl PinnedCsrFiles {
    /// Opens the files of `list`.
    ///
    /// # Errors
    /// `Corrupt` for a file that is missing, and what the system says.
    pub fn open(directory: &dyn Directory, list: &FileList) -> CheckpointResult<Self> {
        let parts = list.files.iter().flat_map(file_parts);
        let open = |(name, part)| Ok((name, part, open_named(directory, name)?));
        Ok(Self { files: parts.map(open).collect::<CheckpointResult<_>>()? })
    }
}

fn open_named(directory: &dyn Directory, name: CsrFileName) -> CheckpointResult<Arc<dyn File>> {
    directory.open(&name.to_string(), OpenMode::Read).map_err(|error| match error.kind() {
        ErrorKind::NotFound => missing_file(directory, name),
        _ => error.into(),
    })
}

impl PinnedFiles for PinnedCsrFiles {
    fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, part, _)| part.bytes).sum()
    }

    fn copy(
        &self,
        target: &dyn Directory,
        progress: &mut dyn FnMut(u64) -> CheckpointResult<()>,
    ) -> CheckpointResult<u64> {
        self.files.iter().try_for_each(|(name, part, file)| copy(*name, *part, &**file, target, progress))?;
        Ok(self.bytes())
    }
}

/// Copies one file, of which every byte is checked.
fn copy(
    name: CsrFileName,
    part: StoredPart,
    file: &dyn File,
    target: &dyn Directory,
    progress: &mut dyn FnMut(u64) -> CheckpointResult<()>,
) -> CheckpointResult<()> {
    let corrupt = |offset: u64, error: DecodeError| CheckpointError::Corrupt {
        file: file.path().to_owned(),
        offset: offset + error.offset as u64,
        problem: error.expected,
    };
    let wrong = |offset, expected: String| corrupt(offset, DecodeError { offset: 0, expected });
    let found = file.len()?;
    if found != part.bytes || found < (FILE_HEAD_BYTES + FOOTER_BYTES) as u64 {
        return Err(wrong(0, format!("{} bytes expected, found {found}", part.bytes)));
    }
    let footer_at = found - FOOTER_BYTES as u64;
    let mut footer_bytes = [0; FOOTER_BYTES];
    file.read_at(&mut footer_bytes, footer_at)?;
    let footer = Footer::decode(&footer_bytes, name, found).map_err(|error| corrupt(footer_at, error))?;
    if footer.crc != part.footer_crc {
        let (expected, crc) = (part.footer_crc, footer.crc);
        return Err(wrong(
            footer_at,
            format!("a footer with crc {expected:#010x} expected, found {crc:#010x}"),
        ));
    }
    let copied = target.create(&name.to_string())?;

    let mut head = Box::new([0; FILE_HEAD_BYTES]);
    file.read_at(&mut head[..], 0)?;
    FileHead::decode(&head, name).map_err(|error| wrong(0, error.to_string()))?;
    copied.write_at(&head[..], 0)?;
    progress(FILE_HEAD_BYTES as u64)?;

    let seed = name.seed();
    let mut bytes = vec![0; footer.pages.min(PAGES_AT_ONCE) as usize * PAGE_BYTES];
    for first in (0..footer.pages).step_by(PAGES_AT_ONCE as usize) {
        let pages = first..footer.pages.min(first.saturating_add(PAGES_AT_ONCE));
        let bytes = &mut bytes[..pages.len() * PAGE_BYTES];
        file.read_at(bytes, PageNumber(first).offset())?;
        let (each, _) = bytes.as_chunks::<PAGE_BYTES>();
        for (number, bytes) in pages.map(PageNumber).zip(each) {
            page::verify(bytes, seed.page(number)).map_err(|error| corrupt(number.offset(), error))?;
        }
        copied.write_at(bytes, PageNumber(first).offset())?;
        progress(bytes.len() as u64)?;
    }

    // The footer is where its length says, so the end is what follows the pages.
    let end_at = footer.index.offset;
    let length = found - end_at;
    if length > END_BYTES_MAX {
        return Err(wrong(end_at, format!("an index of at most {END_BYTES_MAX} bytes expected")));
    }
    let mut end = vec![0; length as usize];
    file.read_at(&mut end, end_at)?;
    for section in [footer.index, footer.directory] {
        let at = (section.offset - end_at) as usize;
        let bytes = &end[at..at + section.length as usize];
        section.verify(bytes, name).map_err(|error| corrupt(section.offset, error))?;
    }
    // The footer that was checked, not what a second read finds.
    let footer_in_end = end.len() - FOOTER_BYTES;
    end[footer_in_end..].copy_from_slice(&footer_bytes);
    copied.write_at(&end, end_at)?;
    progress(length)?;
    copied.sync_data()?;
    Ok(())
}
