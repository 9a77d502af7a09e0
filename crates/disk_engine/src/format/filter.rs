//! Filter: pages of kind 5, which keys of a range are surely absent.
//!
//! ```text
//! head     items, values: keys; first vertex of the range, for readers of dumps (the file's index has the range)
//! body     columns u8 | zero | blocks u16 | 4 zeros | the solution of a ribbon system, by blocks (`ribbon`)
//! key      its equation: start by the upper 32 bits of its hash, coefficients mixed from all of it
//! hash     of (subject, vertex, neighbour), whatever the discriminator;
//!          of (subject, value bytes), whatever the item
//! ```
//!
//! A column takes 1.1 bits a key, and halves how many absent keys pass. What a filter saves is a read; what it costs is
//! memory for reads: filters that are larger than the cache are read themselves. So the bottommost level, which has nine tenths
//! of all keys, takes six columns, 6.6 bits a key, and those above it three more each, at most twelve: their files are
//! many, and together small. A blocked Bloom filter of 10 bits a key lets 1 % pass, this one of 6.6 bits 1.6 %, of 8.8
//! bits 0.4 %.
//!
//! Source: Dillinger and Walzer, Ribbon filter (2021); Dayan, Athanassoulis and Idreos, Monkey: optimal navigable
//! key-value store (SIGMOD 2017), for the bits of each level.

use crate::format::file_head::BOTTOMMOST_LEVEL;
use crate::format::file_name::PAGE_BYTES;
use crate::format::page::{PAGE_HEAD_BYTES, PageBytes, PageHead, PageKind, Pushed};
use crate::format::ribbon::{BLOCK_SLOTS, COLUMNS_MAX, Equation, RibbonSystem, WORD_BYTES};
use crate::format::subject::Subject;
use evergraph_graph::bytes::{DecodeError, Decoded};
use evergraph_graph::id::VertexId;
use evergraph_graph::split_mix::mix;

/// Where the solution begins.
const WORDS_OFFSET: usize = PAGE_HEAD_BYTES + WORD_BYTES;
/// Words of a page.
const WORDS: usize = (PAGE_BYTES - WORDS_OFFSET) / WORD_BYTES;
/// Columns of the bottommost level's filters.
const COLUMNS_BOTTOMMOST: u8 = 6;
/// How many more the filters of each level above it have: a level has a tenth of the keys of the next, so that of those
/// absent each level lets about as many pass in all as the others.
const COLUMNS_A_LEVEL: u8 = 3;
/// The most that a level's filters have.
const COLUMNS_TOP: u8 = 12;

/// How much a filter knows of each key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FilterColumns(u8);

impl FilterColumns {
    /// Those of the files of a level, 0 to [`BOTTOMMOST_LEVEL`].
    #[must_use]
    pub const fn of_level(level: u8) -> Self {
        let above = BOTTOMMOST_LEVEL.saturating_sub(level);
        let columns = COLUMNS_BOTTOMMOST + COLUMNS_A_LEVEL * above;
        Self(if columns < COLUMNS_TOP { columns } else { COLUMNS_TOP })
    }

    /// The number of columns.
    #[must_use]
    pub const fn count(self) -> usize {
        self.0 as usize
    }

    /// The most keys of a page: 19,780 for six columns.
    #[must_use]
    pub const fn keys_max(self) -> usize {
        WORDS / self.count() * BLOCK_SLOTS * 10 / 11
    }

    /// Blocks of a filter of so many keys: eleven slots for ten of them.
    const fn blocks(self, keys: usize) -> usize {
        let (wanted, most) = ((keys * 11 / 10).div_ceil(BLOCK_SLOTS) + 1, WORDS / self.count());
        if wanted < 2 {
            2
        } else if wanted < most {
            wanted
        } else {
            most
        }
    }
}

/// Which filters a new file gets. Readers take files with filters and without, beside each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FilterChoice {
    /// Those of its level.
    #[default]
    ByLevel,
    /// None, for measurements: each look-up then reads a page of every file that has keys around it.
    Omitted,
}

impl FilterChoice {
    /// The columns of the filters of a file of `level`; `None` if it gets no filters.
    #[must_use]
    pub const fn of_level(self, level: u8) -> Option<FilterColumns> {
        match self {
            Self::ByLevel => Some(FilterColumns::of_level(level)),
            Self::Omitted => None,
        }
    }
}

/// What a filter knows of a key. A part of the format: equal in every version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KeyHash(u64);

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
    const fn equation(self, blocks: usize) -> Equation {
        Equation::new(self.0, mix(self.0), blocks)
    }
}

/// Builds filter pages of one subject, one after the other.
#[derive(Clone, Debug)]
pub struct FilterPageBuilder {
    subject: Subject,
    columns: FilterColumns,
    /// Of the page's keys: how large the system is, is known when all are.
    keys: Vec<KeyHash>,
    system: RibbonSystem,
    /// The first edge of the page: zeros in an index.
    first: (VertexId, VertexId),
    /// The first value of the page, in an index.
    first_value: Vec<u8>,
}

impl FilterPageBuilder {
    /// Builds pages for keys of `subject`. Memory: 16 bytes a key of a page, 0.4 MB at most.
    #[must_use]
    pub fn new(subject: Subject, columns: FilterColumns) -> Self {
        let first = (VertexId(0), VertexId(0));
        let (keys, system) = (Vec::new(), RibbonSystem::default());
        Self { subject, columns, keys, system, first, first_value: Vec::new() }
    }

    /// Whether the page has no key yet.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
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
    /// Cost: some 3 ns; when the page is finished, 30 ns more.
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
    /// Cost: some 3 ns; when the page is finished, 30 ns more.
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
        if self.keys.last() == Some(&key) {
            return Pushed::Taken;
        }
        if self.keys.len() == self.columns.keys_max() {
            return Pushed::PageFull;
        }
        self.keys.push(key);
        Pushed::Taken
    }

    /// Writes the page, all but its checksum, and begins the next one. Cost: some 30 ns a key.
    pub fn finish(&mut self, page: &mut PageBytes) -> PageHead {
        let (columns, blocks) = (self.columns.count(), self.columns.blocks(self.keys.len()));
        self.system.begin(blocks);
        self.keys.iter().for_each(|key| self.system.add(key.equation(blocks)));
        page.fill(0);
        page[PAGE_HEAD_BYTES] = columns as u8;
        page[PAGE_HEAD_BYTES + 2..][..2].copy_from_slice(&(blocks as u16).to_le_bytes());
        self.system.solve(columns, mix, &mut page[WORDS_OFFSET..]);
        let head = PageHead {
            items: self.keys.len() as u16,
            values: self.keys.len() as u16,
            first_vertex: self.first.0,
            ..PageHead::new(PageKind::Filter, self.subject)
        };
        head.write(page);
        self.keys.clear();
        self.first = (VertexId(0), VertexId(0));
        self.first_value.clear();
        head
    }
}

/// A filter page where it lies.
#[derive(Clone, Copy, Debug)]
pub struct FilterPage<'a> {
    columns: usize,
    blocks: usize,
    words: &'a [u8],
}

impl<'a> FilterPage<'a> {
    /// Opens `page`, whose checksum and head were verified. Cost: a few loads of one line of memory: it is opened for each
    /// key that is looked for.
    ///
    /// # Errors
    /// If the page is of another kind, or its solution does not fit into it.
    #[inline]
    pub fn open(page: &'a PageBytes) -> Decoded<Self> {
        let [columns, zero, low, high, zeros @ ..] = &page[PAGE_HEAD_BYTES..WORDS_OFFSET] else {
            unreachable!("eight bytes lie between the head and the solution")
        };
        let (columns, blocks) = (usize::from(*columns), usize::from(u16::from_le_bytes([*low, *high])));
        let is_filter = page[4] == PageKind::Filter.code() && page[5] == 0;
        let fits = (1..=COLUMNS_MAX).contains(&columns) && blocks >= 2 && blocks * columns <= WORDS;
        if !is_filter || !fits || *zero != 0 || zeros != [0; 4] {
            return Err(Self::refused(page));
        }
        Ok(Self { columns, blocks, words: &page[WORDS_OFFSET..] })
    }

    #[cold]
    fn refused(page: &PageBytes) -> DecodeError {
        match PageHead::open(page, PageKind::Filter, 0) {
            Err(error) => error,
            Ok((_, body)) => {
                let found = &page[PAGE_HEAD_BYTES..WORDS_OFFSET];
                body.error(format!(
                    "columns and blocks of a filter that fits into its page expected, found {found:?}"
                ))
            }
        }
    }

    /// False if the key is absent from the page's range; true if it is present, and for one of 2^columns absent keys.
    ///
    /// Cost: some 20 ns, and two lines of memory.
    #[must_use]
    #[inline]
    pub fn may_contain(&self, key: KeyHash) -> bool {
        key.equation(self.blocks).holds(self.words, self.columns)
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
    const BOTTOMMOST: FilterColumns = FilterColumns::of_level(BOTTOMMOST_LEVEL);

    fn key(vertex: u32, neighbor: u32) -> KeyHash {
        KeyHash::of_edge(OUT, VertexId(vertex), VertexId(neighbor))
    }

    fn page_of(edges: impl IntoIterator<Item = (u32, u32)>) -> (PageHead, Box<PageBytes>) {
        let (mut builder, mut page) = (FilterPageBuilder::new(OUT, BOTTOMMOST), dirty_page());
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
            prop_assert_eq!(PageHead::read(&bytes).unwrap(), head);
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
    fn a_full_page_lets_one_absent_key_of_two_to_the_columns_pass() {
        for (level, expected) in [(5, 1.0 / 64.0), (4, 1.0 / 512.0), (0, 1.0 / 4096.0)] {
            let columns = FilterColumns::of_level(level);
            let (mut builder, mut bytes) = (FilterPageBuilder::new(OUT, columns), dirty_page());
            let keys = columns.keys_max() as u32;
            let key_of = |at: u32| (VertexId(at / 16), VertexId(at));
            let full = (0..keys).all(|at| builder.push_edge(key_of(at).0, key_of(at).1) == Pushed::Taken);
            assert!(full && usize::from(builder.finish(&mut bytes).items) == columns.keys_max());
            let page = FilterPage::open(&bytes).unwrap();
            assert!((0..keys).all(|at| page.may_contain(key(at / 16, at))));
            let absent = 200_000;
            let taken = (0..absent).filter(|at| page.may_contain(key(at / 16, 1 << 31 | at))).count();
            let rate = taken as f64 / f64::from(absent);
            assert!((expected * 0.7..expected * 1.4).contains(&rate), "level {level}: {rate}");
        }
    }

    #[test]
    fn levels_above_the_bottom_know_more_of_fewer_keys() {
        let columns = |level| FilterColumns::of_level(level).count();
        assert_eq!([0, 1, 3, 4, 5].map(columns), [12, 12, 12, 9, 6]);
        assert_eq!((BOTTOMMOST.keys_max(), FilterColumns::of_level(0).keys_max()), (19_781, 9_890));
    }

    #[test]
    fn a_solution_that_does_not_fit_is_refused() {
        let (_, bytes) = page_of((0..100).map(|at| (at, at)));
        for (offset, byte) in [(32, 0), (32, 17), (33, 1), (34, 1), (35, 4), (39, 1)] {
            let mut bytes = bytes.clone();
            bytes[offset] = byte;
            let error = FilterPage::open(&bytes).unwrap_err();
            assert_eq!(error.offset, 32, "{error:?}");
        }
    }

    #[test]
    fn a_full_page_refuses_new_keys_only() {
        let mut builder = FilterPageBuilder::new(OUT, BOTTOMMOST);
        let last = BOTTOMMOST.keys_max() as u32 - 1;
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
        let page = FilterPage::open(&page).unwrap();
        let left = (0..1000).filter(|at| page.may_contain(key(at / 7, *at))).count();
        assert!(left < 50, "the page before is forgotten: {left} of its keys pass");
    }

    #[test]
    fn values_of_an_index_are_keys_as_well() {
        let index = Subject::index(4).unwrap();
        let mut builder = FilterPageBuilder::new(index, BOTTOMMOST);
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
