//! Degree cache: the number of elements that each list had when a view was made, which is what the view reads of it.
//!
//! ```text
//! degree cache   elements of each list at that moment: 4 bytes a vertex
//! read           the first so many of a list: from the array, then from the log, newest records left out
//! ```
//!
//! Lists keep the order of insertion, so a view stays what it was while lists grow, move and are merged.
//!
//! Source: DGAP (SC 2023), section 3 ("Edge Array") and 3.1.3.

use crate::array::PackedArray;
use crate::cancellation::to_targets;
use crate::list_copy::ListCopies;
use crate::memory::region::Memory;
use evergraph_graph::error::Result;
use evergraph_storage::sync::RwLock;
use evergraph_storage::sync::atomic::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// An array, and the lengths that its lists had. While it is there, what is deleted keeps its slots.
pub(crate) struct DegreeCache<M: Memory> {
    pub(crate) array: Arc<RwLock<PackedArray<M>>>,
    /// Edges and tombstones of each list.
    pub(crate) elements: Vec<u32>,
}

impl<M: Memory> Drop for DegreeCache<M> {
    fn drop(&mut self) {
        self.array.read().open_views.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<M: Memory> DegreeCache<M> {
    /// That of this moment, and how many edges there are.
    pub(crate) fn new(array: &Arc<RwLock<PackedArray<M>>>) -> (Self, u64) {
        // While nobody inserts: it is one moment.
        let state = array.write();
        state.open_views.fetch_add(1, Ordering::Relaxed);
        let elements = state.vertices.iter().map(|vertex| vertex.elements()).collect();
        let (_, edges) = state.totals();
        (Self { array: Arc::clone(array), elements }, edges)
    }

    /// Adds the number of edges of each vertex of `range` to its degree.
    ///
    /// # Errors
    /// `corrupt` if a log is damaged.
    pub(crate) fn add_degrees(&self, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        let mut copies = ListCopies::new(Vec::new());
        let array = self.array.read();
        let end = range.end.min(self.elements.len() as u32);
        for (vertex, degree) in (range.start..end).zip(degrees) {
            *degree += if array.tombstones.contains(vertex) {
                copies.clear();
                self.copy_list(&array, vertex, &mut copies)?.len() as u32
            } else {
                self.elements[vertex as usize]
            };
        }
        Ok(())
    }

    /// Copies the targets of the edges of a vertex of the view.
    #[inline]
    pub(crate) fn copy_list(
        &self,
        array: &PackedArray<M>,
        vertex: u32,
        copies: &mut ListCopies,
    ) -> Result<Range<usize>> {
        let elements = 0..self.elements[vertex as usize];
        if array.tombstones.contains(vertex) {
            let mut slots = Vec::new();
            array.append_slots(vertex, elements.end, &mut slots)?;
            to_targets(&mut slots);
            return Ok(copies.push(&slots));
        }
        array.copy_targets(vertex, elements, copies)
    }
}

/// Where to cut the vertices so that parts have about even numbers of elements.
pub(crate) fn even_cuts<M: Memory>(caches: &[&DegreeCache<M>], parts: usize) -> Vec<u32> {
    let parts = parts.max(1) as u128;
    let bound = caches[0].elements.len() as u32;
    let work = |vertex: u32| {
        let elements = caches.iter().map(|cache| u128::from(cache.elements[vertex as usize]));
        elements.sum::<u128>() + 1
    };
    let total: u128 = (0..bound).map(work).sum();
    let (mut cuts, mut done) = (vec![0], 0);
    for vertex in 0..bound {
        done += work(vertex);
        while (cuts.len() as u128) < parts && done * parts >= total * cuts.len() as u128 {
            cuts.push(vertex + 1);
        }
    }
    cuts.resize(parts as usize, bound);
    cuts.push(bound);
    cuts
}
