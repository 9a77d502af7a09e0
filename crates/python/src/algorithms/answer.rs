//! What an algorithm found, as columns beside one of vertices.

use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Float64Array, PrimitiveArray, UInt64Array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use evergraph::VertexId;
use evergraph::graph::vertex_set::VertexSet;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// The fewest rows that are worth a thread's while.
const PART: usize = 1 << 14;

/// What an algorithm found.
#[derive(Default)]
pub(super) struct Answer {
    /// Columns before that of vertices.
    pub(super) before: Vec<(&'static str, ArrayRef)>,
    pub(super) vertices: Vec<VertexId>,
    /// Columns after it.
    pub(super) after: Vec<(&'static str, ArrayRef)>,
    pub(super) notes: Vec<(&'static str, String)>,
}

impl Answer {
    pub(super) fn of(vertices: Vec<VertexId>, name: &'static str, column: impl Array + 'static) -> Self {
        Self { vertices, after: vec![(name, Arc::new(column))], ..Self::default() }
    }

    /// A score for each of `vertices`, from an array by vertex id.
    pub(super) fn scores(vertices: &VertexSet, name: &'static str, scores: &[f64]) -> Self {
        let members = members(vertices);
        let column = each(&members, |vertex| scores[vertex as usize]);
        Self::of(members, name, Float64Array::from(column))
    }

    /// What `of` says of each of `vertices`: null where it says nothing.
    pub(super) fn where_known<T: ArrowPrimitiveType>(
        vertices: &VertexSet,
        name: &'static str,
        of: impl Fn(VertexId) -> Option<T::Native> + Sync,
    ) -> Self {
        let members = members(vertices);
        let values = each(&members, |vertex| of(VertexId(vertex)).unwrap_or_default());
        let bit = |(vertex, at): (&VertexId, u32)| u64::from(of(*vertex).is_some()) << at;
        let words = members.par_chunks(64).with_min_len(PART / 64);
        let words: Vec<u64> = words.map(|chunk| chunk.iter().zip(0..).map(bit).sum()).collect();
        let known = NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(words), 0, members.len()));
        let known = (known.null_count() > 0).then_some(known);
        Self::of(members, name, PrimitiveArray::<T>::new(values.into(), known))
    }

    /// The number of the group of each of `vertices`, which `group` names by one of its vertices: 0 for the
    /// largest, of equal ones that which is named lowest.
    pub(super) fn groups(
        vertices: &VertexSet,
        name: &'static str,
        group: impl Fn(u32) -> u32 + Sync,
    ) -> Self {
        let members = members(vertices);
        let numbers = zeros(vertices.bound());
        members.par_chunks(PART).for_each(|part| count(part, &group, &numbers));
        // Vertices that are a group of their own are many, and in order as they are.
        let sizes = || {
            (0..vertices.bound())
                .into_par_iter()
                .with_min_len(PART)
                .map(|of| (numbers[of as usize].load(Relaxed), of))
        };
        let mut groups: Vec<_> =
            sizes().filter(|(size, _)| *size > 1).map(|(size, of)| (Reverse(size), of)).collect();
        let alone: Vec<u32> = sizes().filter(|(size, _)| *size == 1).map(|(_, of)| of).collect();
        groups.par_sort_unstable();
        let alone_from = groups.len() as u32;
        let set = |of: u32, number: u32| numbers[of as usize].store(number, Relaxed);
        groups.iter().zip(0..).for_each(|((_, of), at)| set(*of, at));
        let alone_numbers = alone_from..alone_from + alone.len() as u32;
        alone.par_iter().with_min_len(PART).zip(alone_numbers).for_each(|(of, at)| set(*of, at));
        let column = each(&members, |vertex| u64::from(numbers[group(vertex) as usize].load(Relaxed)));
        Self::of(members, name, UInt64Array::from(column))
    }

    pub(super) fn note(mut self, name: &'static str, what: impl ToString) -> Self {
        self.notes.push((name, what.to_string()));
        self
    }
}

fn zeros(count: u32) -> Vec<AtomicU32> {
    (0..count).into_par_iter().with_min_len(PART).map(|_| AtomicU32::new(0)).collect()
}

/// Adds the vertices of `part` to the sizes of their groups.
fn count(part: &[VertexId], group: impl Fn(u32) -> u32, sizes: &[AtomicU32]) {
    let add = |of: u32, more: u32| sizes[of as usize].fetch_add(more, Relaxed);
    // Most vertices of most graphs are in one group: threads that each count it meet at its size once.
    let (mut last, mut run) = (0, 0);
    for vertex in part {
        let of = group(vertex.0);
        if of == last {
            run += 1;
        } else if of == vertex.0 {
            add(of, 1);
        } else {
            add(last, run);
            (last, run) = (of, 1);
        }
    }
    add(last, run);
}

pub(super) fn members(vertices: &VertexSet) -> Vec<VertexId> {
    let count = vertices.len() as u32;
    if vertices.range(count..vertices.bound()).next().is_none() {
        // Numbers without gaps, as a load gives them.
        return (0..count).into_par_iter().with_min_len(PART).map(VertexId).collect();
    }
    vertices.iter().map(VertexId).collect()
}

/// What `of` says of each of `vertices`.
pub(super) fn each<T: Send>(vertices: &[VertexId], of: impl Fn(u32) -> T + Sync) -> Vec<T> {
    vertices.par_iter().with_min_len(PART).map(|vertex| of(vertex.0)).collect()
}
