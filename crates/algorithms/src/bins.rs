//! Bins: vertices that wait for their turn, by the number of a bin; the lowest bin is taken first.
//!
//! ```text
//! near   [ bin 128 | 129 | 66 | ... | 127 ]   the next 64 bins, each at its number modulo 64; the lowest is 66
//! far    { 2: [..], 5: [..] }                 vertices behind those, 64 bins in a pile
//! ```
//!
//! Vertices come only to the bin that was taken last, or behind it.

use std::collections::BTreeMap;

/// Bins that are kept apart, from the lowest on; those behind them are kept by as many at a time.
const WINDOW: u64 = 64;

/// Entries for which an empty bin keeps its memory.
const ENTRIES_KEPT: usize = 4096;

/// Vertices by bin. Bins may be numbered up to 2^64, so only the next of them have a place each.
pub(crate) struct Bins {
    /// No vertex is in a lower bin.
    lowest: u64,
    /// Bins from `lowest` on, each at its number modulo [`WINDOW`].
    near: [Vec<u32>; WINDOW as usize],
    /// Vertices of bins that were behind `near` when they came, by the number of their bin over [`WINDOW`].
    far: BTreeMap<u64, Vec<u32>>,
    /// Vertices in all bins, stale ones too.
    pub(crate) entries: usize,
}

impl Default for Bins {
    /// No vertices.
    fn default() -> Self {
        let near = std::array::from_fn(|_| Vec::new());
        Self { lowest: 0, near, far: BTreeMap::new(), entries: 0 }
    }
}

impl Bins {
    /// Prepares for vertices of `bin` and behind it; there may be others of a search from the same bin.
    pub(crate) fn start_at(&mut self, bin: u64) {
        debug_assert!(
            self.entries == 0 || self.lowest == bin,
            "bins of threads are emptied after each round"
        );
        self.lowest = bin;
    }

    #[inline]
    pub(crate) fn push(&mut self, bin: u64, vertex: u32) {
        self.entries += 1;
        if bin - self.lowest < WINDOW {
            self.near[(bin % WINDOW) as usize].push(vertex);
        } else {
            self.far.entry(bin / WINDOW).or_default().push(vertex);
        }
    }

    /// Takes over what is in `other`, which has the same lowest bin, and leaves it empty.
    pub(crate) fn append(&mut self, other: &mut Self) {
        if other.entries == 0 {
            return;
        }
        assert_eq!(self.lowest, other.lowest, "threads start at the bin that was taken");
        self.entries += std::mem::take(&mut other.entries);
        for (bin, vertices) in self.near.iter_mut().zip(&mut other.near) {
            bin.extend_from_slice(vertices);
            empty(vertices);
        }
        while let Some((window, vertices)) = other.far.pop_first() {
            self.far.entry(window).or_default().extend_from_slice(&vertices);
        }
    }

    /// Moves the vertices of the lowest bin to `vertices` if there are some, and no more than `most`.
    pub(crate) fn take_few(&mut self, most: usize, vertices: &mut Vec<u32>) -> bool {
        let bin = &mut self.near[(self.lowest % WINDOW) as usize];
        if bin.is_empty() || bin.len() > most {
            return false;
        }
        self.entries -= bin.len();
        vertices.clear();
        std::mem::swap(vertices, bin);
        true
    }

    /// Moves the vertices of the lowest bin that has any to `vertices`, and returns that bin; `bin_of` tells where a vertex
    /// belongs now. Stale vertices may be among them.
    pub(crate) fn take_lowest(
        &mut self,
        vertices: &mut Vec<u32>,
        bin_of: impl Fn(u32) -> u64,
    ) -> Option<u64> {
        empty(vertices);
        loop {
            let mut near = self.lowest..=self.lowest.saturating_add(WINDOW - 1);
            let near = near.find(|bin| !self.near[(bin % WINDOW) as usize].is_empty());
            let far = self.far.first_key_value().map(|(window, _)| window * WINDOW);
            if let Some(bin) = near.filter(|bin| far.is_none_or(|far| *bin < far)) {
                self.lowest = bin;
                std::mem::swap(vertices, &mut self.near[(bin % WINDOW) as usize]);
                self.entries -= vertices.len();
                return Some(bin);
            }
            let (window, later) = self.far.pop_first()?;
            self.lowest = self.lowest.max(window * WINDOW);
            self.entries -= later.len();
            for vertex in later {
                let bin = bin_of(vertex);
                // A vertex that belongs before the lowest bin now has been visited from there.
                if bin >= self.lowest {
                    self.push(bin, vertex);
                }
            }
        }
    }
}

/// Removes all of `vertices`; keeps their memory if it is little.
fn empty(vertices: &mut Vec<u32>) {
    if vertices.capacity() > ENTRIES_KEPT {
        *vertices = Vec::new();
    }
    vertices.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bins_give_back_every_vertex_in_order_of_its_bin(
            pushes in prop::collection::vec((0_u64..2000, any::<bool>()), 0..200),
        ) {
            // Each vertex goes to one bin, half of them by way of another thread's bins.
            let numbers: Vec<u64> = pushes.iter().map(|push| push.0).collect();
            let (mut bins, mut other) = (Bins::default(), Bins::default());
            for (vertex, (bin, elsewhere)) in (0..).zip(&pushes) {
                if *elsewhere { &mut other } else { &mut bins }.push(*bin, vertex);
            }
            bins.append(&mut other);
            prop_assert_eq!(other.entries, 0);
            let (mut taken, mut vertices) = (Vec::new(), Vec::new());
            while let Some(bin) = bins.take_lowest(&mut vertices, |vertex| numbers[vertex as usize]) {
                for vertex in &vertices {
                    prop_assert_eq!(numbers[*vertex as usize], bin);
                    taken.push(bin);
                }
            }
            let mut want = numbers;
            want.sort_unstable();
            prop_assert_eq!(taken, want);
            prop_assert_eq!(bins.entries, 0);
        }
    }
}
