//! Vertex: where the list of one vertex lies, in 16 bytes of ordinary memory.
//!
//! The vertex array changes with every insertion, so it is not kept in persistent memory: pivots in the edge array and
//! the section logs say the same, and a shutdown saves it.
//!
//! Source: DGAP (SC 2023), section 3, "Vertex Array". Differs: the degree is kept in two parts.

use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::ops::Range;

/// Where the list of a vertex lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Vertex {
    /// The slot of its pivot.
    pub(crate) start: u64,
    /// Edges and tombstones behind the pivot.
    pub(crate) in_array: u32,
    /// Those in the section's log, which are newer.
    pub(crate) in_log: u16,
    /// One more than the index of the newest of them; zero if there is none.
    pub(crate) log_head: u16,
}

impl Vertex {
    /// Slots that the list takes in the array.
    #[inline]
    pub(crate) fn array_slots(&self) -> u64 {
        1 + u64::from(self.in_array)
    }

    /// The first slot behind the list.
    #[inline]
    pub(crate) fn array_end(&self) -> u64 {
        self.start + self.array_slots()
    }

    /// Edges and tombstones, wherever they are.
    #[inline]
    pub(crate) fn elements(&self) -> u32 {
        self.in_array + u32::from(self.in_log)
    }

    /// Pivot, edges and tombstones: what the density of its section counts.
    #[inline]
    pub(crate) fn used(&self) -> u64 {
        1 + u64::from(self.elements())
    }
}

/// The vertex array.
///
/// # Concurrency
/// Who holds the array's lock to read and a section's lock changes what that section's vertices have in the array and in the
/// log; starts change only for who holds the array's lock to write. Anybody reads beside them: what a list has is one
/// word, stored by Release when its slots and records are, and loaded by Acquire.
#[derive(Debug, Default)]
pub(crate) struct Vertices(Vec<[AtomicU64; 2]>);

impl Vertices {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The vertex at this place.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Vertex {
        Vertex::load(&self.0[place])
    }

    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<Vertex> {
        self.0.get(place).map(Vertex::load)
    }

    pub(crate) fn last(&self) -> Option<Vertex> {
        self.0.last().map(Vertex::load)
    }

    /// The vertices of a range, which are there.
    #[inline]
    pub(crate) fn range(&self, range: Range<usize>) -> impl Iterator<Item = Vertex> + '_ {
        self.0[range].iter().map(Vertex::load)
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = Vertex> + '_ {
        self.0.iter().map(Vertex::load)
    }

    /// Replaces a vertex; see "Concurrency".
    #[inline]
    pub(crate) fn set(&self, place: usize, vertex: Vertex) {
        let [start, lengths] = &self.0[place];
        let [new_start, new_lengths] = vertex.words();
        start.store(new_start, Ordering::Relaxed);
        lengths.store(new_lengths, Ordering::Release);
    }

    pub(crate) fn push(&mut self, vertex: Vertex) {
        self.0.push(vertex.words().map(AtomicU64::new));
    }
}

impl FromIterator<Vertex> for Vertices {
    fn from_iter<I: IntoIterator<Item = Vertex>>(vertices: I) -> Self {
        Self(vertices.into_iter().map(|vertex| vertex.words().map(AtomicU64::new)).collect())
    }
}

impl Vertex {
    /// As it is kept, and as it is saved.
    #[inline]
    pub(crate) fn words(self) -> [u64; 2] {
        let Self { start, in_array, in_log, log_head } = self;
        [start, u64::from(in_array) | u64::from(in_log) << 32 | u64::from(log_head) << 48]
    }

    #[inline]
    pub(crate) fn of_words([start, lengths]: [u64; 2]) -> Self {
        Self {
            start,
            in_array: lengths as u32,
            in_log: (lengths >> 32) as u16,
            log_head: (lengths >> 48) as u16,
        }
    }

    #[inline]
    fn load([start, lengths]: &[AtomicU64; 2]) -> Self {
        let lengths = lengths.load(Ordering::Acquire);
        Self::of_words([start.load(Ordering::Relaxed), lengths])
    }
}

/// One bit a vertex: whether its list has a tombstone.
///
/// # Concurrency
/// A bit is set by who holds the section's lock. Who made a view before need not see it.
#[derive(Debug, Default)]
pub(crate) struct TombstoneBits(Vec<AtomicU64>);

impl TombstoneBits {
    /// None, of so many vertices.
    pub(crate) fn new(vertices: usize) -> Self {
        Self((0..vertices.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    /// The words of all vertices, as they are saved.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(|word| word.load(Ordering::Relaxed))
    }

    pub(crate) fn of_words(words: impl Iterator<Item = u64>) -> Self {
        Self(words.map(AtomicU64::new).collect())
    }

    /// Has a bit for each of so many vertices.
    pub(crate) fn grow(&mut self, vertices: usize) {
        self.0.resize_with(vertices.div_ceil(64), || AtomicU64::new(0));
    }

    #[inline]
    pub(crate) fn contains(&self, vertex: u32) -> bool {
        self.0[vertex as usize / 64].load(Ordering::Relaxed) >> (vertex % 64) & 1 == 1
    }

    pub(crate) fn insert(&self, vertex: u32) {
        self.0[vertex as usize / 64].fetch_or(1 << (vertex % 64), Ordering::Relaxed);
    }
}
