//! Filter: pages of kind 5, which keys of a range are surely absent.
//!
//! ```text
//! head     items: keys; first vertex of the range, for readers of dumps (the file's index has the range)
//! body     32 zero bytes, then 255 lines of 64 bytes
//! key      line   (hash / 2^32) x 255 / 2^32
//!          bits   6 of the line's 512: 9 bits each of (hash x odd constant), from the highest on
//! hash     of (subject, vertex, neighbour), whatever the discriminator;
//!          of (subject, value bytes), whatever the item
//! ```
//!
//! A blocked Bloom filter: a look-up touches one line of the cache. At 13,056 keys, 10 bits each, one key
//! in a hundred that is absent is not recognised as such.
//!
//! Source: Putze, Sanders and Singler, Cache-, hash- and space-efficient Bloom filters (2007). Differs
//! from the design: 255 lines and not 256, since the page has a head.

use crate::format::file_name::PAGE_BYTES;
use crate::format::page::{PAGE_HEAD_BYTES, PageBytes, PageHead, PageKind, Pushed};
use crate::format::subject::Subject;
use evergraph_graph::bytes::{DecodeError, Decoded};
use evergraph_graph::id::VertexId;

/// Lines of a page.
const LINES: usize = 255;
/// Bytes of a line: those that a processor fetches at once.
const LINE_BYTES: usize = 64;
/// Where the first line begins.
const LINES_OFFSET: usize = PAGE_BYTES - LINES * LINE_BYTES;
/// Bits set for a key.
const PROBES: u32 = 6;
/// The most keys of a page: 10 bits each.
pub const FILTER_KEYS_MAX: usize = LINES * LINE_BYTES * 8 / 10;

/// What a filter knows of a key. A part of the format: equal in every version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KeyHash(u64);

/// An odd number with random bits: the golden ratio x 2^64.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl KeyHash {
    /// Of the edges between two vertices, whatever their discriminators. Cost: some 2 ns.
    #[must_use]
    #[inline]
    pub const fn of_edge(subject: Subject, vertex: VertexId, neighbor: VertexId) -> Self {
        let ends = (vertex.0 as u64) << 32 | neighbor.0 as u64;
        Self(mix(mix(subject.number() as u64) ^ ends))
    }

    /// Of the entries of a value in an index, whatever their items. Cost: some 2 ns for each 8 bytes.
    #[must_use]
    pub fn of_value(subject: Subject, value: &[u8]) -> Self {
        let start = mix(u64::from(subject.number()) << 32 | value.len() as u64);
        Self(value.chunks(8).fold(start, |hash, chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            mix(hash ^ u64::from_le_bytes(word))
        }))
    }

    #[inline]
    const fn line(self) -> usize {
        LINES_OFFSET + LINE_BYTES * (((self.0 >> 32) * LINES as u64) >> 32) as usize
    }

    /// The byte and the bit of each probe, in its line.
    #[inline]
    fn probes(self) -> impl Iterator<Item = (usize, u8)> {
        let bits = self.0.wrapping_mul(SPREAD);
        (1..=PROBES).map(move |probe| {
            let bit = bits >> (64 - 9 * probe) & 511;
            (bit as usize / 8, 1 << (bit % 8))
        })
    }
}

/// Mixes all bits with each other: equal numbers alone give equal results.
///
/// Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators (2014).
const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(SPREAD);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Builds filter pages of one subject, one after the other.
#[derive(Clone, Debug)]
pub struct FilterPageBuilder {
    subject: Subject,
    page: Box<PageBytes>,
    keys: usize,
    /// The first edge of the page: zeros in an index.
    first: (VertexId, VertexId),
    /// The first value of the page, in an index.
    first_value: Vec<u8>,
    last: Option<KeyHash>,
}

impl FilterPageBuilder {
    /// Builds pages for keys of `subject`.
    #[must_use]
    pub fn new(subject: Subject) -> Self {
        let first = (VertexId(0), VertexId(0));
        Self { subject, page: Box::new([0; PAGE_BYTES]), keys: 0, first, first_value: Vec::new(), last: None }
    }

    /// Whether the page has no key yet.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.keys == 0
    }

    /// The neighbour of the page's first edge, for the file's index.
    #[must_use]
    pub fn first_neighbor(&self) -> VertexId {
        self.first.1
    }

    /// The page's first value, for the file's index.
    #[must_use]
    pub fn first_value(&self) -> &[u8] {
        &self.first_value
    }

    /// Adds the edges between two vertices. Parallel edges and records of one edge come one after the
    /// other: they count once, and stand in one page.
    ///
    /// Cost: some 5 ns.
    #[inline]
    pub fn push_edge(&mut self, vertex: VertexId, neighbor: VertexId) -> Pushed {
        let is_first = self.is_empty();
        let pushed = self.push(KeyHash::of_edge(self.subject, vertex, neighbor));
        if is_first {
            self.first = (vertex, neighbor);
        }
        pushed
    }

    /// Adds the entries of a value. Its items come one after the other: they count once, and stand in one
    /// page.
    ///
    /// Cost: some 5 ns.
    pub fn push_value(&mut self, value: &[u8]) -> Pushed {
        let is_first = self.is_empty();
        let pushed = self.push(KeyHash::of_value(self.subject, value));
        if is_first {
            self.first_value.extend_from_slice(value);
        }
        pushed
    }

    #[inline]
    fn push(&mut self, key: KeyHash) -> Pushed {
        if self.last == Some(key) {
            return Pushed::Taken;
        }
        if self.keys == FILTER_KEYS_MAX {
            return Pushed::PageFull;
        }
        let line = &mut self.page[key.line()..][..LINE_BYTES];
        key.probes().for_each(|(byte, bit)| line[byte] |= bit);
        self.last = Some(key);
        self.keys += 1;
        Pushed::Taken
    }

    /// Writes the page, all but its checksum, and begins the next one. Cost: a copy.
    pub fn finish(&mut self, page: &mut PageBytes) -> PageHead {
        let head = PageHead {
            items: self.keys as u16,
            values: self.keys as u16,
            first_vertex: self.first.0,
            ..PageHead::new(PageKind::Filter, self.subject)
        };
        head.write_with_body(&self.page[PAGE_HEAD_BYTES..], page);
        self.page.fill(0);
        (self.keys, self.first, self.last) = (0, (VertexId(0), VertexId(0)), None);
        self.first_value.clear();
        head
    }
}

/// A filter page where it lies.
#[derive(Clone, Copy, Debug)]
pub struct FilterPage<'a> {
    head: PageHead,
    page: &'a PageBytes,
}

impl<'a> FilterPage<'a> {
    /// Reads the head of `page`, whose checksum was verified. Cost: constant.
    ///
    /// # Errors
    /// If the page is of another kind, or has more keys than lines for them.
    pub fn open(page: &'a PageBytes) -> Decoded<Self> {
        let (head, _) = PageHead::open(page, PageKind::Filter, 0)?;
        if usize::from(head.items) > FILTER_KEYS_MAX {
            let expected = format!("at most {FILTER_KEYS_MAX} keys expected, found {}", head.items);
            return Err(DecodeError { offset: 6, expected });
        }
        Ok(Self { head, page })
    }

    /// The page's head.
    #[must_use]
    #[inline]
    pub fn head(&self) -> &PageHead {
        &self.head
    }

    /// False if the key is absent from the page's range; true if it is present, and for 1 % of absent keys.
    ///
    /// Cost: some 5 ns, and a line of memory.
    #[must_use]
    #[inline]
    pub fn may_contain(&self, key: KeyHash) -> bool {
        let line = &self.page[key.line()..][..LINE_BYTES];
        key.probes().all(|(byte, bit)| line[byte] & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::page::tests::{any_damage, any_seed, damaged, dirty_page};
    use crate::format::page::verify;
    use crate::format::subject::EdgeSide;
    use evergraph_graph::id::TypeId;
    use proptest::prelude::*;

    const OUT: Subject = Subject::edges(TypeId(3), EdgeSide::Out);

    fn key(vertex: u32, neighbor: u32) -> KeyHash {
        KeyHash::of_edge(OUT, VertexId(vertex), VertexId(neighbor))
    }

    fn page_of(edges: impl IntoIterator<Item = (u32, u32)>) -> (PageHead, Box<PageBytes>) {
        let (mut builder, mut page) = (FilterPageBuilder::new(OUT), dirty_page());
        for (vertex, neighbor) in edges {
            assert_eq!(builder.push_edge(VertexId(vertex), VertexId(neighbor)), Pushed::Taken);
        }
        (builder.finish(&mut page), page)
    }

    proptest! {
        #[test]
        fn a_key_that_is_there_is_never_missed(
            keys in proptest::collection::vec((any::<u32>(), any::<u32>()), 0..500), damage in any_damage(),
        ) {
            let hashes: Vec<_> = keys.iter().map(|(vertex, neighbor)| key(*vertex, *neighbor)).collect();
            let (head, bytes) = page_of(keys.iter().copied());
            let page = FilterPage::open(&bytes).unwrap();
            prop_assert_eq!(page.head(), &head);
            prop_assert!(hashes.iter().all(|key| page.may_contain(*key)));
            let bytes = damaged(&bytes, &damage);
            if verify(&bytes, any_seed()).is_ok()
                && let Ok(page) = FilterPage::open(&bytes)
            {
                hashes.iter().for_each(|key| { let _ = page.may_contain(*key); });
            }
        }
    }

    #[test]
    fn a_full_page_takes_one_absent_key_in_a_hundred_for_present() {
        let (head, bytes) = page_of((0..FILTER_KEYS_MAX as u32).map(|at| (at / 16, at)));
        assert_eq!(usize::from(head.items), FILTER_KEYS_MAX);
        let page = FilterPage::open(&bytes).unwrap();
        let absent = 200_000;
        let taken = (0..absent).filter(|at| page.may_contain(key(at / 16, 1 << 31 | at))).count();
        let rate = taken as f64 / f64::from(absent);
        assert!((0.008..0.012).contains(&rate), "{rate}");
    }

    #[test]
    fn a_full_page_refuses_new_keys_only() {
        let mut builder = FilterPageBuilder::new(OUT);
        let last = FILTER_KEYS_MAX as u32 - 1;
        let push = |builder: &mut FilterPageBuilder, at| builder.push_edge(VertexId(at / 7), VertexId(at));
        for at in 0..=last {
            assert_eq!(push(&mut builder, at), Pushed::Taken);
        }
        assert_eq!(push(&mut builder, last), Pushed::Taken, "the same key again");
        assert_eq!(push(&mut builder, last + 1), Pushed::PageFull);
        assert_eq!(builder.first_neighbor(), VertexId(0));
        let mut page = dirty_page();
        builder.finish(&mut page);
        assert!(builder.is_empty());
        assert_eq!(push(&mut builder, last + 1), Pushed::Taken);
        assert_eq!(builder.first_neighbor(), VertexId(last + 1));
        let head = builder.finish(&mut page);
        assert_eq!((head.items, head.first_vertex), (1, VertexId((last + 1) / 7)));
        assert!(!FilterPage::open(&page).unwrap().may_contain(key(0, 0)), "the page before is forgotten");
    }

    #[test]
    fn values_of_an_index_are_keys_as_well() {
        let index = Subject::index(4).unwrap();
        let mut builder = FilterPageBuilder::new(index);
        let values: Vec<_> = (0..500u32).map(|at| at.to_be_bytes()).collect();
        for value in values.iter().chain(&values[499..]) {
            assert_eq!(builder.push_value(value), Pushed::Taken);
        }
        assert_eq!(builder.first_value(), values[0]);
        let mut page = dirty_page();
        assert_eq!(builder.finish(&mut page).items, 500);
        assert!(builder.first_value().is_empty());
        let page = FilterPage::open(&page).unwrap();
        assert!(values.iter().all(|value| page.may_contain(KeyHash::of_value(index, value))));
    }

    /// Golden: files keep hashes, so that they may never change.
    #[test]
    fn hashes_are_those_of_format_1() {
        assert_eq!(key(1, 2), KeyHash(GOLDEN_EDGE));
        let index = Subject::index(1).unwrap();
        assert_eq!(KeyHash::of_value(index, b"evergraph"), KeyHash(GOLDEN_VALUE));
        assert_ne!(KeyHash::of_value(index, b"a"), KeyHash::of_value(index, b"a\0"));
    }

    const GOLDEN_EDGE: u64 = 0xcf98_58e9_fcab_e32e;
    const GOLDEN_VALUE: u64 = 0xb6be_6a44_3896_a22b;
}
