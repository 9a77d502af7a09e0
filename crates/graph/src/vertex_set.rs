//! A set of vertices as one bit each, for scopes of algorithms and scans.

/// Vertices below a bound, one bit each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VertexSet {
    words: Vec<u64>,
    bound: u32,
    count: u64,
}

impl VertexSet {
    /// No vertex below `bound` is in the set yet. Memory: one bit a vertex.
    #[must_use]
    pub fn empty(bound: u32) -> Self {
        Self { words: vec![0; (bound as usize).div_ceil(64)], bound, count: 0 }
    }

    /// Every vertex below `bound`.
    #[must_use]
    pub fn full(bound: u32) -> Self {
        let mut set = Self::empty(bound);
        set.words.fill(u64::MAX);
        if let Some(last) = set.words.last_mut()
            && !bound.is_multiple_of(64)
        {
            *last = (1 << (bound % 64)) - 1;
        }
        set.count = u64::from(bound);
        set
    }

    /// The set with these words of 64 vertices each, lowest bit first.
    ///
    /// # Panics
    /// If a bit at or above `bound` is set, or words are missing: the caller's error.
    #[must_use]
    pub fn from_words(words: Vec<u64>, bound: u32) -> Self {
        assert_eq!(words.len(), (bound as usize).div_ceil(64), "one bit for each vertex below the bound");
        if let Some(last) = words.last()
            && !bound.is_multiple_of(64)
        {
            assert_eq!(last >> (bound % 64), 0, "no vertex at or above the bound");
        }
        let count = words.iter().map(|word| u64::from(word.count_ones())).sum();
        Self { words, bound, count }
    }

    /// One more than the highest vertex that could be in the set.
    #[must_use]
    #[inline]
    pub fn bound(&self) -> u32 {
        self.bound
    }

    /// How many vertices are in the set.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether no vertex is in the set.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether every vertex below the bound is in the set.
    #[must_use]
    #[inline]
    pub fn is_full(&self) -> bool {
        self.count == u64::from(self.bound)
    }

    /// Whether `vertex` is in the set; false above the bound.
    #[must_use]
    #[inline]
    pub fn contains(&self, vertex: u32) -> bool {
        self.words.get(vertex as usize / 64).is_some_and(|word| word >> (vertex % 64) & 1 == 1)
    }

    /// Adds `vertex`; whether it was new.
    ///
    /// # Panics
    /// If `vertex` is at or above the bound: the caller's error.
    pub fn insert(&mut self, vertex: u32) -> bool {
        assert!(vertex < self.bound, "vertex {vertex} is at or above the bound {}", self.bound);
        let word = &mut self.words[vertex as usize / 64];
        let new = *word >> (vertex % 64) & 1 == 0;
        *word |= 1 << (vertex % 64);
        self.count += u64::from(new);
        new
    }

    /// The vertices in the set, ascending.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.range(0..self.bound)
    }

    /// The vertices of the set in `range`, ascending.
    #[inline]
    pub fn range(&self, range: std::ops::Range<u32>) -> impl Iterator<Item = u32> + '_ {
        let end = range.end.min(self.bound);
        let start = range.start.min(end);
        let words = start as usize / 64..(end as usize).div_ceil(64);
        words.flat_map(move |at| {
            let base = at as u32 * 64;
            let mut word = self.words[at];
            if base < start {
                word &= u64::MAX << (start - base);
            }
            if end - base < 64 {
                word &= (1 << (end - base)) - 1;
            }
            std::iter::from_fn(move || {
                if word == 0 {
                    return None;
                }
                let bit = word.trailing_zeros();
                word &= word - 1;
                Some(base + bit)
            })
        })
    }

    /// The bits, 64 vertices a word, lowest first.
    #[must_use]
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_set_holds_what_is_below_its_bound_and_nothing_else() {
        for bound in [0, 1, 63, 64, 65, 200] {
            let set = VertexSet::full(bound);
            assert!(set.is_full());
            assert_eq!(set.iter().collect::<Vec<_>>(), (0..bound).collect::<Vec<_>>());
            assert!(!set.contains(bound));
        }
    }

    proptest! {
        #[test]
        fn a_range_gives_the_members_between_its_ends(
            members in proptest::collection::btree_set(0u32..300, 0..80), start in 0u32..320, length in 0u32..320,
        ) {
            let mut set = VertexSet::empty(300);
            for member in &members {
                prop_assert!(set.insert(*member));
                prop_assert!(!set.insert(*member));
            }
            let range = start..start + length;
            let want: Vec<u32> = members.iter().copied().filter(|member| range.contains(member)).collect();
            prop_assert_eq!(set.range(range).collect::<Vec<_>>(), want);
            prop_assert_eq!(set.len(), members.len() as u64);
            prop_assert_eq!(VertexSet::from_words(set.words().to_vec(), 300), set);
        }
    }
}
