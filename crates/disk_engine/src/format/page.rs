//! Page: 16 KiB of a CSR file, with a head of 32 bytes and a checksum.
//!
//! ```text
//! OFFSET  SIZE   FIELD           (little-endian)
//!      0     4   crc             CRC32C of the rest, seeded with file name and page number
//!      4     1   kind            1 lists, 2 vertices, 3 column, 4 entries, 5 filter, 6 long values
//!      5     1   flags           bits 0, 5: form of positions   3: stamps   4: begins inside a list
//!                                others by kind
//!      6     2   items           lists in 1; records in 2 and 3; entries in 4; keys in 5; values begun in 6
//!      8     4   subject
//!     12     4   first vertex    that positions count from; zero where ranks do
//!     16     2   values          records; bytes in 6
//!     18     2   property key    of a column; zero in other kinds
//!     20     4   zero
//!     24     8   rank            values of (file, subject) before this page; of a column of ranks: its first
//!     32         body, then zeros
//! ```
//!
//! Items and values have 16 bits: no page has more than 65,535 of either.
//!
//! A page is copied to another place by reading its head, correcting `rank` and `begins inside a list`,
//! writing the head and sealing the page for its new place.

use crate::format::file_name::{PAGE_BYTES, PageSeed};
use crate::format::subject::Subject;
use evergraph_graph::bytes::{DecodeError, Decoded, Reader};
use evergraph_graph::id::{KeyId, VertexId};

/// Bytes of a page before its body.
pub const PAGE_HEAD_BYTES: usize = 32;
/// Bytes of a page's body.
pub const PAGE_BODY_BYTES: usize = PAGE_BYTES - PAGE_HEAD_BYTES;

/// The bytes of one page.
pub type PageBytes = [u8; PAGE_BYTES];

/// What the body of a page consists of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum PageKind {
    /// Neighbours of vertices.
    Lists = 1,
    /// Liveness of vertices.
    Vertices = 2,
    /// One property of vertices or edges.
    Column = 3,
    /// Entries of an index.
    Entries = 4,
    /// A filter of keys.
    Filter = 5,
    /// Values too long for their column's page.
    LongValues = 6,
}

impl PageKind {
    /// The kind with this code.
    #[must_use]
    #[inline]
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Lists,
            2 => Self::Vertices,
            3 => Self::Column,
            4 => Self::Entries,
            5 => Self::Filter,
            6 => Self::LongValues,
            _ => return None,
        })
    }

    /// The code in files.
    #[must_use]
    #[inline]
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// A page's flags; which bits mean what depends on its kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PageFlags(pub u8);

impl PageFlags {
    /// No flags.
    pub const NONE: Self = Self(0);
    /// Kind 1: values have discriminators.
    pub const DISCRIMINATORS: Self = Self(2);
    /// Kinds 1 and 2: some operations are no inserts.
    pub const OPERATIONS: Self = Self(4);
    /// Values have stamps.
    pub const STAMPS: Self = Self(8);
    /// Kinds 1, 2 and 4: the page before ends with a record of this page's first vertex. It may be set where
    /// that is no longer so, and is never missing where it is.
    pub const BEGINS_INSIDE: Self = Self(16);

    /// Whether all bits of `other` are set.
    #[must_use]
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and `other`, if `is_set`.
    #[must_use]
    #[inline]
    pub(crate) const fn with(self, other: Self, is_set: bool) -> Self {
        if is_set { Self(self.0 | other.0) } else { self }
    }

    /// These without `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Whether a page took a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a record that a full page refused belongs to the next"]
pub enum Pushed {
    /// It is in the page.
    Taken,
    /// The page has no room for it and is unchanged: finish it, and push again.
    PageFull,
}

/// The head of a page, without its checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageHead {
    /// What the body consists of.
    pub kind: PageKind,
    /// Flags.
    pub flags: PageFlags,
    /// Lists, records, entries or keys.
    pub items: u16,
    /// What the page is about.
    pub subject: Subject,
    /// The vertex that positions count from.
    pub first_vertex: VertexId,
    /// Records.
    pub values: u16,
    /// The property of a column.
    pub property_key: KeyId,
    /// Values before the page, or the rank that positions count from.
    pub rank: u64,
}

impl PageHead {
    /// A head of `kind` and `subject` with zeros in its other fields.
    #[must_use]
    pub const fn new(kind: PageKind, subject: Subject) -> Self {
        Self {
            kind,
            flags: PageFlags::NONE,
            items: 0,
            subject,
            first_vertex: VertexId(0),
            values: 0,
            property_key: KeyId(0),
            rank: 0,
        }
    }

    /// Reads the head of `page`. The checksum is not looked at: see [`verify`].
    ///
    /// # Errors
    /// If the kind or the subject is unknown, or a byte that should be zero is not.
    pub fn read(page: &PageBytes) -> Decoded<Self> {
        let mut reader = Reader::new(page);
        reader.take(4)?;
        let start = reader.clone();
        let code = reader.u8()?;
        let kind = PageKind::from_code(code)
            .ok_or_else(|| start.error(format!("the kind of a page expected, found {code}")))?;
        let (flags, items) = (PageFlags(reader.u8()?), reader.u16()?);
        let subject = Subject::take(&mut reader)?;
        let (first_vertex, values) = (VertexId(reader.u32()?), reader.u16()?);
        let property_key = KeyId(reader.u16()?);
        let start = reader.clone();
        if reader.u32()? != 0 {
            return Err(start.error("four zero bytes expected"));
        }
        Ok(Self { kind, flags, items, subject, first_vertex, values, property_key, rank: reader.u64()? })
    }

    /// Writes the head into `page`, all but the checksum: see [`seal`].
    pub fn write(&self, page: &mut PageBytes) {
        page[4] = self.kind.code();
        page[5] = self.flags.0;
        page[6..8].copy_from_slice(&self.items.to_le_bytes());
        page[8..12].copy_from_slice(&self.subject.number().to_le_bytes());
        page[12..16].copy_from_slice(&self.first_vertex.0.to_le_bytes());
        page[16..18].copy_from_slice(&self.values.to_le_bytes());
        page[18..20].copy_from_slice(&self.property_key.0.to_le_bytes());
        page[20..24].fill(0);
        page[24..32].copy_from_slice(&self.rank.to_le_bytes());
    }

    /// Writes the head and `body` into `page`, and zeros behind them.
    ///
    /// # Panics
    /// If the body is longer than [`PAGE_BODY_BYTES`]: its builder counted wrong.
    pub(crate) fn write_with_body(&self, body: &[u8], page: &mut PageBytes) {
        assert!(body.len() <= PAGE_BODY_BYTES, "builders refuse what doesn't fit");
        self.write(page);
        let (filled, rest) = page[PAGE_HEAD_BYTES..].split_at_mut(body.len());
        filled.copy_from_slice(body);
        rest.fill(0);
    }

    /// Reads the head of `page` and checks that it is of `kind` with none but `known` flags; with a
    /// reader of the body, whose offsets count from the beginning of the page.
    pub(crate) fn open(page: &PageBytes, kind: PageKind, known: u8) -> Decoded<(Self, Reader<'_>)> {
        let head = Self::read(page)?;
        if head.kind != kind || head.flags.0 & !known != 0 {
            let expected = format!("a page of kind {kind:?} with known flags expected");
            let expected = format!("{expected}, found {:?} with flags {:#04x}", head.kind, head.flags.0);
            return Err(DecodeError { offset: 4, expected });
        }
        let mut reader = Reader::new(page);
        reader.take(PAGE_HEAD_BYTES)?;
        Ok((head, reader))
    }
}

/// Writes the checksum of a finished page for its place. Cost: about 1.5 us.
pub fn seal(page: &mut PageBytes, seed: PageSeed) {
    let crc = seed.checksum(&page[4..]);
    page[..4].copy_from_slice(&crc.to_le_bytes());
}

/// Compares the checksum of `page` for its place, and reads its head. Cost: about 1.5 us.
///
/// # Errors
/// Both checksums, if they differ; those of [`PageHead::read`].
pub fn verify(page: &PageBytes, seed: PageSeed) -> Decoded<PageHead> {
    let expected = u32::from_le_bytes([page[0], page[1], page[2], page[3]]);
    let found = seed.checksum(&page[4..]);
    if expected != found {
        let expected = format!("a page with crc {expected:#010x} expected, found {found:#010x}");
        return Err(DecodeError { offset: 0, expected });
    }
    PageHead::read(page)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::format::file_name::{CsrFileName, FileContent, FileNumber, PageNumber};
    use proptest::prelude::*;

    pub(crate) fn any_seed() -> PageSeed {
        CsrFileName::new(FileNumber(7), FileContent::Topology).seed().page(PageNumber(3))
    }

    /// A page to write into, full of what must not remain.
    pub(crate) fn dirty_page() -> Box<PageBytes> {
        Box::new([0xa5; PAGE_BYTES])
    }

    /// Changes of a page: at a byte, usually of the head or early in the body, a new value.
    pub(crate) fn any_damage() -> impl Strategy<Value = Vec<(usize, u8)>> {
        let at = prop_oneof![2 => 4usize..PAGE_HEAD_BYTES, 3 => 4usize..300, 2 => 0usize..PAGE_BYTES];
        let to = prop_oneof![any::<u8>(), Just(0), Just(1), Just(0x7f), Just(0x80), Just(0xff)];
        proptest::collection::vec((at, to), 1..6)
    }

    /// The page with `damage` and a checksum that is right nevertheless.
    pub(crate) fn damaged(page: &PageBytes, damage: &[(usize, u8)]) -> Box<PageBytes> {
        let mut page = Box::new(*page);
        damage.iter().for_each(|(at, to)| page[*at] = *to);
        seal(&mut page, any_seed());
        page
    }

    fn any_head() -> impl Strategy<Value = PageHead> {
        let subject = prop_oneof![Just(0), 1u32..100, (1u32 << 24)..];
        (1u8..7, any::<u8>(), any::<u16>(), subject, any::<u32>(), any::<u16>(), any::<u16>(), any::<u64>())
            .prop_map(|(kind, flags, items, subject, first, values, key, rank)| PageHead {
                kind: PageKind::from_code(kind).unwrap(),
                flags: PageFlags(flags),
                items,
                subject: Subject::from_number(subject).unwrap(),
                first_vertex: VertexId(first),
                values,
                property_key: KeyId(key),
                rank,
            })
    }

    proptest! {
        #[test]
        fn a_head_reads_back_from_its_own_place_only(head in any_head(), body in proptest::collection::vec(any::<u8>(), 0..99)) {
            let mut page = dirty_page();
            head.write_with_body(&body, &mut page);
            seal(&mut page, any_seed());
            prop_assert_eq!(verify(&page, any_seed()), Ok(head));
            prop_assert_eq!(&page[PAGE_HEAD_BYTES..PAGE_HEAD_BYTES + body.len()], &body[..]);
            prop_assert!(page[PAGE_HEAD_BYTES + body.len()..].iter().all(|byte| *byte == 0));
            let file = CsrFileName::new(FileNumber(7), FileContent::Topology);
            prop_assert!(verify(&page, file.seed().page(PageNumber(4))).is_err());
            let columns = CsrFileName::new(FileNumber(7), FileContent::Columns);
            prop_assert!(verify(&page, columns.seed().page(PageNumber(3))).is_err());
        }

        #[test]
        fn a_head_of_any_bytes_reads_or_is_refused(bytes in any::<[u8; 32]>()) {
            let mut page = dirty_page();
            page[..32].copy_from_slice(&bytes);
            seal(&mut page, any_seed());
            let read = verify(&page, any_seed());
            if let Ok(head) = read {
                let mut again = page.clone();
                head.write(&mut again);
                prop_assert_eq!(again, page);
            }
        }
    }

    #[test]
    fn every_flipped_byte_of_a_page_is_noticed() {
        let mut page = dirty_page();
        PageHead::new(PageKind::Lists, Subject::VERTICES).write_with_body(b"body", &mut page);
        seal(&mut page, any_seed());
        for at in 0..PAGE_BYTES {
            page[at] ^= 0x10;
            let error = verify(&page, any_seed()).unwrap_err();
            assert!(error.expected.contains("crc"), "byte {at}: {error}");
            page[at] ^= 0x10;
        }
        assert!(verify(&page, any_seed()).is_ok());
    }

    #[test]
    fn a_page_that_was_copied_is_sound_at_its_new_place() {
        let (mut page, new) = (dirty_page(), CsrFileName::new(FileNumber(8), FileContent::Topology).seed());
        PageHead::new(PageKind::Lists, Subject::VERTICES).write_with_body(b"body", &mut page);
        seal(&mut page, any_seed());
        let head = verify(&page, any_seed()).unwrap();
        let moved =
            PageHead { rank: 1 << 40, flags: head.flags.with(PageFlags::BEGINS_INSIDE, true), ..head };
        moved.write(&mut page);
        seal(&mut page, new.page(PageNumber(0)));
        assert_eq!(verify(&page, new.page(PageNumber(0))), Ok(moved));
        assert_eq!(&page[PAGE_HEAD_BYTES..][..4], b"body");
    }
}
