//! Long values: pages of kind 6, values that are too long for a page of their column.
//!
//! ```text
//! body     value after value in its stable form, type's code and payload (`value::binary`)
//! items    values that begin in this page       values   bytes in this page
//!
//! reference in a column: page 4, offset in its body 2, length 4
//! ```
//!
//! A value is long if its payload has more than [`PAYLOAD_BYTES_MAX`] bytes: 2 KiB, an eighth of a page,
//! so that a page of a column is left less than an eighth empty, and most texts are read with their
//! column. PostgreSQL's limit is the same.
//!
//! The pages of one run stand one behind the other. A run has the subject of its columns, and the property
//! key of its column; zero if it has values of several. Runs and pages of columns may stand in either order,
//! since references name pages by number.
//!
//! Differs from the design: a reference has an offset. Without it each value began a page, and one of 3
//! KB took 16.

use crate::format::columns::column_size::payload_bytes;
use crate::format::file_name::PageNumber;
use crate::format::page::{PAGE_BODY_BYTES, PAGE_HEAD_BYTES, PageBytes, PageHead, PageKind};
use crate::format::subject::Subject;
use evergraph_graph::bytes::{DecodeError, Decoded, Reader};
use evergraph_graph::id::KeyId;
use evergraph_graph::value::Value;
use std::collections::VecDeque;
use std::ops::Range;

/// The longest payload of a value that stands in its column, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 2048;

/// Room for values that a builder keeps, in bytes.
const KEPT_BYTES: usize = 1 << 20;

/// Whether `value` is too long for a page of its column. Cost: constant, but for large numbers and
/// collections.
#[must_use]
pub fn is_long(value: &Value) -> bool {
    payload_bytes(value) > PAYLOAD_BYTES_MAX
}

/// Where a long value lies in its file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LongReference {
    /// The page in which it begins.
    pub page: PageNumber,
    /// Where it begins in that page's body, in bytes.
    pub offset: u16,
    /// Its length in bytes.
    pub length: u32,
}

impl LongReference {
    /// Bytes of a reference in a column's page.
    pub(crate) const BYTES: usize = 10;

    /// The numbers of the pages that hold the value. They exceed 32 bits only in a damaged file.
    #[must_use]
    pub fn pages(&self) -> Range<u64> {
        let first = u64::from(self.page.0);
        let bytes = u64::from(self.offset) + u64::from(self.length);
        first..first + bytes.div_ceil(PAGE_BODY_BYTES as u64)
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.page.0.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
    }

    pub(crate) fn take(reader: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Self { page: PageNumber(reader.u32()?), offset: reader.u16()?, length: reader.u32()? })
    }
}

/// Builds one run of pages of long values.
#[derive(Clone, Debug)]
pub struct LongValuesBuilder {
    subject: Subject,
    property_key: KeyId,
    first_page: PageNumber,
    /// Bytes of the run so far, those in finished pages included.
    length: u64,
    /// The newest bytes, of which those of finished pages are the first `finished`.
    pending: Vec<u8>,
    finished: usize,
    /// Where values begin that are in no finished page yet, in bytes of the run.
    starts: VecDeque<u64>,
}

impl LongValuesBuilder {
    /// A run of values whose first page will be `first_page`, with the others behind it. `property_key` is that of all
    /// of them, or zero.
    #[must_use]
    pub fn new(subject: Subject, property_key: KeyId, first_page: PageNumber) -> Self {
        let (pending, starts) = (Vec::new(), VecDeque::new());
        Self { subject, property_key, first_page, length: 0, pending, finished: 0, starts }
    }

    /// Adds a value; take the pages that are full afterwards. Cost: a copy of its bytes.
    ///
    /// # Panics
    /// If its stable form has 2^32 bytes or more, or the run 2^32 pages: commits are smaller.
    pub fn push(&mut self, value: &Value) -> LongReference {
        let before = self.pending.len();
        value.encode(&mut self.pending);
        let bytes = self.pending.len() - before;
        let page = u64::from(self.first_page.0) + self.length / PAGE_BODY_BYTES as u64;
        let reference = LongReference {
            page: PageNumber(u32::try_from(page).expect("a file has fewer than 2^32 pages")),
            offset: (self.length % PAGE_BODY_BYTES as u64) as u16,
            length: u32::try_from(bytes).expect("a value has less than 4 GiB"),
        };
        self.starts.push_back(self.length);
        self.length += bytes as u64;
        reference
    }

    /// Whether a full page is left to take.
    #[must_use]
    #[inline]
    pub fn has_full_page(&self) -> bool {
        self.unfinished() >= PAGE_BODY_BYTES
    }

    /// Bytes that are in no finished page yet.
    #[inline]
    fn unfinished(&self) -> usize {
        self.pending.len() - self.finished
    }

    /// Whether nothing is left to take, neither a full page nor the last one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.unfinished() == 0
    }

    /// Writes the next full page, all but its checksum; `None` if there is none.
    pub fn take_full_page(&mut self, page: &mut PageBytes) -> Option<PageHead> {
        self.has_full_page().then(|| self.take_page(page))
    }

    /// Writes the last page, all but its checksum; `None` if all values are in full pages. Full pages are
    /// taken before.
    ///
    /// # Panics
    /// If a full page is left.
    pub fn finish(mut self, page: &mut PageBytes) -> Option<PageHead> {
        assert!(!self.has_full_page(), "full pages are taken before the last one");
        (!self.is_empty()).then(|| self.take_page(page))
    }

    fn take_page(&mut self, page: &mut PageBytes) -> PageHead {
        let end = self.length - self.unfinished() as u64 + PAGE_BODY_BYTES as u64;
        let begun = self.starts.partition_point(|start| *start < end);
        self.starts.drain(..begun);
        let body = &self.pending[self.finished..][..self.unfinished().min(PAGE_BODY_BYTES)];
        let head = PageHead {
            items: begun as u16,
            values: body.len() as u16,
            property_key: self.property_key,
            ..PageHead::new(PageKind::LongValues, self.subject)
        };
        head.write_with_body(body, page);
        self.finished += body.len();
        if !self.has_full_page() {
            self.pending.drain(..self.finished);
            self.finished = 0;
            self.pending.shrink_to(KEPT_BYTES);
        }
        head
    }
}

/// Puts a long value together from its pages.
#[derive(Clone, Debug)]
pub struct LongValueReader {
    offset: usize,
    left: usize,
    bytes: Vec<u8>,
}

impl LongValueReader {
    /// Reads the value at `reference`.
    #[must_use]
    pub fn new(reference: LongReference) -> Self {
        Self { offset: usize::from(reference.offset), left: reference.length as usize, bytes: Vec::new() }
    }

    /// Adds the next of [`LongReference::pages`], whose checksum was verified. Cost: a copy.
    ///
    /// # Errors
    /// If the page is of another kind, or the value doesn't lie in it.
    pub fn add(&mut self, page: &PageBytes) -> Decoded<()> {
        let (head, mut reader) = PageHead::open(page, PageKind::LongValues, 0)?;
        let body = reader.take(usize::from(head.values))?;
        let part = body.get(self.offset..).map(|rest| &rest[..rest.len().min(self.left)]);
        let is_last = self.offset + self.left <= PAGE_BODY_BYTES;
        match part {
            Some(part) if part.len() == self.left || (!is_last && body.len() == PAGE_BODY_BYTES) => {
                self.bytes.extend_from_slice(part);
                (self.left, self.offset) = (self.left - part.len(), 0);
                Ok(())
            }
            _ => {
                let expected = format!("{} bytes of a long value from byte {} on", self.left, self.offset);
                let expected = format!("{expected} expected, found a page with {}", body.len());
                Err(DecodeError { offset: PAGE_HEAD_BYTES, expected })
            }
        }
    }

    /// The value. Cost: as [`Value::decode`].
    ///
    /// # Errors
    /// If pages are missing, or the bytes are not one value.
    pub fn finish(self) -> Decoded<Value> {
        let mut reader = Reader::new(&self.bytes);
        if self.left > 0 {
            return Err(reader.error(format!("{} more bytes of a long value expected", self.left)));
        }
        let value = Value::decode(&mut reader)?;
        if !reader.is_empty() {
            return Err(
                reader.error(format!("the end of a value expected, found {} more bytes", reader.remaining()))
            );
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::page::tests::{any_damage, any_seed, damaged, dirty_page};
    use crate::format::page::verify;
    use proptest::prelude::*;

    fn text(length: usize) -> Value {
        Value::from((0..length).map(|at| char::from(b'a' + (at * 7 + length) as u8 % 26)).collect::<String>())
    }

    fn pages_of(
        values: &[Value],
        first: PageNumber,
    ) -> (Vec<LongReference>, Vec<(PageHead, Box<PageBytes>)>) {
        let mut builder = LongValuesBuilder::new(Subject::VERTICES, KeyId(5), first);
        let (mut references, mut pages) = (Vec::new(), Vec::new());
        for value in values {
            references.push(builder.push(value));
            let mut page = dirty_page();
            while let Some(head) = builder.take_full_page(&mut page) {
                pages.push((head, page.clone()));
            }
        }
        let mut page = dirty_page();
        if let Some(head) = builder.finish(&mut page) {
            pages.push((head, page));
        }
        (references, pages)
    }

    fn read(
        reference: LongReference,
        first: PageNumber,
        pages: &[(PageHead, Box<PageBytes>)],
    ) -> Decoded<Value> {
        let mut reader = LongValueReader::new(reference);
        for page in reference.pages() {
            reader.add(&pages[(page - u64::from(first.0)) as usize].1)?;
        }
        reader.finish()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn values_read_back_from_their_pages(
            lengths in proptest::collection::vec(prop_oneof![0usize..9000, 16_000usize..17_000, 0usize..90_000], 0..9),
            first in 0u32..1 << 30,
        ) {
            let values: Vec<_> = lengths.iter().map(|length| text(*length)).collect();
            let (references, pages) = pages_of(&values, PageNumber(first));
            for (reference, value) in references.iter().zip(&values) {
                prop_assert_eq!(&read(*reference, PageNumber(first), &pages).unwrap(), value);
            }
            prop_assert_eq!(pages.iter().map(|(head, _)| usize::from(head.items)).sum::<usize>(), values.len());
            let full = pages.iter().rev().skip(1).all(|(head, _)| usize::from(head.values) == PAGE_BODY_BYTES);
            prop_assert!(full);
        }

        #[test]
        fn a_damaged_page_with_a_right_checksum_is_refused_or_can_be_read(
            damage in any_damage(), offset in any::<u16>(), length in any::<u32>(),
        ) {
            let (references, mut pages) = pages_of(&[text(3000), text(30_000)], PageNumber(0));
            pages[0].1 = damaged(&pages[0].1, &damage);
            if verify(&pages[0].1, any_seed()).is_ok() {
                references.iter().for_each(|reference| drop(read(*reference, PageNumber(0), &pages)));
                let mut reader = LongValueReader::new(LongReference { page: PageNumber(0), offset, length });
                drop(reader.add(&pages[0].1).and_then(|()| reader.finish()));
            }
        }
    }

    #[test]
    fn a_value_that_ends_with_its_page_needs_no_other() {
        // Code, a length of two or three bytes, and the text.
        let values = [text(PAGE_BODY_BYTES - 3), text(PAGE_BODY_BYTES - 4), text(1)];
        let (references, pages) = pages_of(&values, PageNumber(9));
        assert_eq!(references[0].length as usize, PAGE_BODY_BYTES);
        assert_eq!(references[0].pages(), 9..10);
        assert_eq!((references[1].page, references[1].offset), (PageNumber(10), 0));
        assert_eq!(
            references[2].pages(),
            10..11 + u64::from(references[2].offset as usize + 3 > PAGE_BODY_BYTES)
        );
        for (reference, value) in references.iter().zip(&values) {
            assert_eq!(&read(*reference, PageNumber(9), &pages).unwrap(), value);
        }
    }

    #[test]
    fn a_value_is_long_by_its_payload() {
        assert!(!is_long(&Value::from(7_i64)));
        assert!(!is_long(&text(PAYLOAD_BYTES_MAX - 2)));
        assert!(is_long(&text(PAYLOAD_BYTES_MAX - 1)));
    }
}
