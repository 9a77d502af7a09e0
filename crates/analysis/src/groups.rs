//! Groups: numbers for them, 0 for the largest, then 1 and so on.
//!
//! Of equally large groups that which is named by the lowest vertex is first.

use crate::vertex_rows::{PART, each};
use evergraph_graph::id::VertexId;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// The number of the group of each of `members`, which `group` names by a vertex below `bound`.
///
/// Cost: one pass, and a sort of the groups of more than one vertex; memory 4 bytes a vertex, and 8 a group.
pub fn numbers(members: &[VertexId], bound: u32, group: impl Fn(u32) -> u32 + Sync) -> Vec<u64> {
    // Sizes first, then numbers.
    let numbers: Vec<AtomicU32> =
        (0..bound).into_par_iter().with_min_len(PART).map(|_| AtomicU32::new(0)).collect();
    members.par_chunks(PART).for_each(|part| count(part, &group, &numbers));
    // Vertices that are a group of their own are many, and in order as they are.
    let sizes =
        || (0..bound).into_par_iter().with_min_len(PART).map(|of| (numbers[of as usize].load(Relaxed), of));
    let mut groups: Vec<_> =
        sizes().filter(|(size, _)| *size > 1).map(|(size, of)| (Reverse(size), of)).collect();
    let alone: Vec<u32> = sizes().filter(|(size, _)| *size == 1).map(|(_, of)| of).collect();
    groups.par_sort_unstable();
    let alone_from = groups.len() as u32;
    let set = |of: u32, number: u32| numbers[of as usize].store(number, Relaxed);
    groups.iter().zip(0..).for_each(|((_, of), at)| set(*of, at));
    let alone_numbers = alone_from..alone_from + alone.len() as u32;
    alone.par_iter().with_min_len(PART).zip(alone_numbers).for_each(|(of, at)| set(*of, at));
    each(members, |vertex| u64::from(numbers[group(vertex) as usize].load(Relaxed)))
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
