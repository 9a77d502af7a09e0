//! Pages: an input as one page of a CSR file, and a page as a seed.
//!
//! An input is what follows the checksum: the rest of the head, the body, and as many zeros as are missing. So
//! every input is a page, and short inputs are pages that are nearly empty.

use evergraph_disk_engine::format::file_name::{CsrFileName, FileContent, FileNumber, PAGE_BYTES};
use evergraph_disk_engine::format::page::PageBytes;
use evergraph_graph::bytes::{DecodeError, Decoded};
use evergraph_graph::timestamp::Timestamp;

/// The oldest commit of the file that pages are read for.
pub const FIRST_TS: Timestamp = Timestamp(1000);

/// The file that heads and footers are read for.
pub const FILE: CsrFileName = CsrFileName::new(FileNumber(7), FileContent::Topology);

/// Bytes of a page before the input: the checksum, which is verified elsewhere.
const CHECKSUM_BYTES: usize = 4;

/// The page of an input; what is too long is cut.
#[must_use]
pub fn page_of(input: &[u8]) -> Box<PageBytes> {
    let mut page = Box::new([0; PAGE_BYTES]);
    let length = input.len().min(PAGE_BYTES - CHECKSUM_BYTES);
    page[CHECKSUM_BYTES..CHECKSUM_BYTES + length].copy_from_slice(&input[..length]);
    page
}

/// The input of a page.
#[must_use]
pub fn input_of(page: &PageBytes) -> Vec<u8> {
    let end = page.iter().rposition(|byte| *byte != 0).map_or(CHECKSUM_BYTES, |last| last + 1);
    page[CHECKSUM_BYTES..end.max(CHECKSUM_BYTES)].to_vec()
}

/// What was decoded, if it was; an error must name a place in the page and say what was expected there.
///
/// # Panics
/// If it doesn't.
pub fn sound<T>(decoded: Decoded<T>) -> Option<T> {
    decoded.map_err(|error| assert_place(&error, PAGE_BYTES)).ok()
}

/// Asserts that `error` names a place among `length` bytes, or right behind them.
///
/// # Panics
/// If it doesn't.
pub fn assert_place(error: &DecodeError, length: usize) {
    assert!(error.offset <= length && !error.expected.is_empty(), "{error}");
}
