//! Page rounds: what many items need of pages, gathered so that pages are read side by side.
//!
//! ```text
//! units    (item, page), in any order; one that follows another often needs the same page
//! round    units of at most 64 pages ──> their pages, each once ──> the units again, in their order
//! ```
//!
//! Where many readers meet, rounds are shorter (`read_buffers`).
//!
//! A single unit is read without any of this, and without memory of its own.

use crate::cache::PageWorth;
use crate::file::page_reader::{PageReader, VerifiedPage};
use crate::file::paged_file::PagedFile;
use crate::format::file_name::PageNumber;
use evergraph_storage::checkpoint::error::CheckpointResult;
use std::sync::Arc;

/// Pages of a round: 1 MiB.
const ROUND_PAGES: usize = 64;
/// Units of a round, so that those of one page take no memory to speak of.
const ROUND_UNITS: usize = 4096;

/// Visits each of `units` with its page of `file`, in order.
///
/// # Errors
/// Those of [`PageReader::pages`] and of `visit`, which ends at its first.
pub(super) fn visit_pages<T: Copy>(
    reader: &PageReader,
    file: &PagedFile,
    worth: PageWorth,
    units: impl IntoIterator<Item = (T, PageNumber)>,
    mut visit: impl FnMut(T, PageNumber, &VerifiedPage) -> CheckpointResult<()>,
) -> CheckpointResult<()> {
    let mut units = units.into_iter();
    let Some(first) = units.next() else { return Ok(()) };
    let Some(second) = units.next() else {
        let page = reader.page(file, first.1, worth)?;
        return visit(first.0, first.1, &page);
    };
    let mut rest = [first, second].into_iter().chain(units).peekable();
    let (mut round, mut numbers): (Vec<(T, PageNumber)>, Vec<PageNumber>) = (Vec::new(), Vec::new());
    let mut pages: Vec<Arc<VerifiedPage>> = Vec::new();
    let allowed = reader.round(ROUND_PAGES);
    while rest.peek().is_some() {
        round.clear();
        numbers.clear();
        pages.clear();
        while numbers.len() < allowed.count()
            && round.len() < ROUND_UNITS
            && let Some(unit) = rest.next()
        {
            if numbers.last() != Some(&unit.1) {
                numbers.push(unit.1);
            }
            round.push(unit);
        }
        numbers.sort_unstable();
        numbers.dedup();
        reader.pages(file, numbers.iter().copied(), worth, &mut pages)?;
        let mut at = 0;
        for (unit, page) in &round {
            if numbers[at] != *page {
                at = numbers.binary_search(page).expect("the pages of all units are gathered");
            }
            visit(*unit, *page, &pages[at])?;
        }
    }
    Ok(())
}
