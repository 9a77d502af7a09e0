//! View visit: calls a visitor with the lists of a view, or of two, batch by batch.
//!
//! ```text
//! a run of vertices     some KiB of the edge array at a time, with what the logs have of it
//! a run in pieces       the same, but that the records of its logs come before its lists, each by itself
//! chosen vertices       a batch of lists at a time, each for itself
//! a long list           part by part; whole, if something of it is deleted
//! ```
//!
//! A list is long from 4,096 elements on, and from 64 on as long as the visitor ends lists early: a search that found its
//! parent needs nothing behind it.
//!
//! What comes next is copied under the lock of each array, and visited without: a visitor may take as long as it likes,
//! and visit other lists. A copy stays in the first cache.

use crate::array::PackedArray;
use crate::degree_cache::DegreeCache;
use crate::list_copy::{CopiedList, ListCopies, RUN_LISTS};
use crate::memory::region::Memory;
use evergraph_graph::error::Result;
use evergraph_graph::topology::{Piece, PieceBuffer, Turn, Visit};
use std::ops::Range;

/// Slots of the edge array that a run has on a side: 16 KiB of them.
const RUN_SLOTS: u64 = 4096;
/// Elements after which a batch of chosen lists gets no more: 8 KiB of them.
const BATCH_ELEMENTS: usize = 2048;
/// Lists of such a batch.
const BATCH_LISTS: usize = 64;
/// Elements of a list above which it is read in parts of so many.
const LONG_LIST_ELEMENTS: u32 = 4096;
/// The same for a visitor that ends lists early.
const EARLY_LIST_ELEMENTS: u32 = 64;
/// How many times as long as a part the next one is, up to the longest.
const PART_GROWTH: u32 = 8;

/// Above which length lists are read in parts, after lists that were ended early or were not.
fn list_max(is_ended_early: bool) -> u32 {
    if is_ended_early { EARLY_LIST_ELEMENTS } else { LONG_LIST_ELEMENTS }
}

#[inline]
fn piece(neighbors: &[u32]) -> Piece<'_> {
    Piece { neighbors, weights: &[], sorted: false }
}

/// Calls `visit` with copies in the buffer, which is as long as it became when this returns.
#[inline]
fn with_copies(buffer: &mut PieceBuffer, visit: impl FnOnce(&mut ListCopies) -> Result<()>) -> Result<()> {
    let mut copies = ListCopies::new(std::mem::take(&mut buffer.neighbors));
    let visited = visit(&mut copies);
    buffer.neighbors = copies.into_buffer();
    visited
}

/// The next lists of a run.
struct ListBatch<'a, const SIDES: usize> {
    /// The vertex with the first of them.
    first: u32,
    /// How many are copied. If none is, the first vertex is to be visited by itself, its lists in parts of `list_max`.
    count: usize,
    lists: &'a [[CopiedList; RUN_LISTS]; SIDES],
    /// Source and target of each record that was copied apart from its list.
    records: [Range<usize>; SIDES],
    list_max: u32,
}

/// Copies the lists of a run of vertices in each of `caches` by `copy`, batch by batch, and calls `visit` with each batch, until
/// it stops.
#[inline]
fn visit_batches<M: Memory, C, V, const SIDES: usize>(
    caches: [&DegreeCache<M>; SIDES],
    range: Range<u32>,
    buffer: &mut PieceBuffer,
    copy: C,
    mut visit: V,
) -> Result<()>
where
    C: Fn(&PackedArray<M>, u32, &[u32], &mut ListCopies, &mut [CopiedList]) -> Result<Range<usize>>,
    V: FnMut(ListBatch<'_, SIDES>, &mut ListCopies) -> Result<Visit>,
{
    with_copies(buffer, |copies| {
        let mut lists: [[CopiedList; RUN_LISTS]; SIDES] =
            std::array::from_fn(|_| std::array::from_fn(|_| CopiedList::default()));
        let (mut next, mut is_ended_early) = (range.start, false);
        while next < range.end {
            copies.clear();
            let list_max = list_max(is_ended_early);
            let (count, records) = copy_next(caches, next..range.end, list_max, copies, &mut lists, &copy)?;
            match visit(ListBatch { first: next, count, lists: &lists, records, list_max }, copies)? {
                Visit::Continue => is_ended_early = false,
                Visit::NextVertex => is_ended_early = true,
                Visit::Stop => return Ok(()),
            }
            next += count.max(1) as u32;
        }
        Ok(())
    })
}

/// Calls `visitor` with the lists of a run of vertices in each of `caches`, which have the same vertices.
#[inline]
pub(crate) fn visit_run<M: Memory, F, const SIDES: usize>(
    caches: [&DegreeCache<M>; SIDES],
    range: Range<u32>,
    buffer: &mut PieceBuffer,
    mut visitor: F,
) -> Result<()>
where
    F: FnMut(u32, Piece<'_>) -> Visit,
{
    visit_batches(
        caches,
        range,
        buffer,
        |array, first, elements, copies, lists| {
            array.copy_run(first, elements, copies, lists)?;
            Ok(0..0)
        },
        |batch, copies| {
            if batch.count == 0 {
                return visit_one(caches, batch.first, batch.list_max, copies, &mut visitor);
            }
            let mut wanted = Visit::Continue;
            for at in 0..batch.count {
                'sides: for lists in batch.lists {
                    let CopiedList { array, log } = &lists[at];
                    for (part, is_needed) in [(array, true), (log, !log.is_empty())] {
                        if !is_needed {
                            continue;
                        }
                        let list = copies.targets(part.start as usize..part.end as usize);
                        match visitor(batch.first + at as u32, piece(list)) {
                            Visit::Continue => {}
                            Visit::NextVertex => {
                                wanted = Visit::NextVertex;
                                break 'sides;
                            }
                            Visit::Stop => return Ok(Visit::Stop),
                        }
                    }
                }
            }
            Ok(wanted)
        },
    )
}

/// As [`visit_run`], but each record that the logs have of a run comes by itself, before the lists of the run. That saves
/// sorting the records by list and visiting a list in two parts.
#[inline]
pub(crate) fn visit_run_in_pieces<M: Memory, F, const SIDES: usize>(
    caches: [&DegreeCache<M>; SIDES],
    range: Range<u32>,
    buffer: &mut PieceBuffer,
    mut visitor: F,
) -> Result<()>
where
    F: FnMut(u32, Piece<'_>, Turn),
{
    visit_batches(
        caches,
        range,
        buffer,
        |array, first, elements, copies, lists| {
            array.copy_arrays(first, elements, copies, lists);
            array.copy_records(first, elements, copies)
        },
        |batch, copies| {
            if batch.count == 0 {
                let mut in_order = |vertex: u32, list: Piece<'_>| {
                    visitor(vertex, list, Turn::InOrder);
                    Visit::Continue
                };
                return visit_one(caches, batch.first, batch.list_max, copies, &mut in_order);
            }
            for records in &batch.records {
                let (pairs, _) = copies.targets(records.clone()).as_chunks::<2>();
                for [source, target] in pairs {
                    visitor(*source, piece(std::slice::from_ref(target)), Turn::Apart);
                }
            }
            for at in 0..batch.count {
                for lists in batch.lists {
                    let CopiedList { array, .. } = &lists[at];
                    let list = copies.targets(array.start as usize..array.end as usize);
                    visitor(batch.first + at as u32, piece(list), Turn::InOrder);
                }
            }
            Ok(Visit::Continue)
        },
    )
}

/// Copies the lists of the first vertices of `range` by `copy`, side by side; of how many, and the records that it copied apart.
/// Of none, if the first has a long list or a tombstone.
fn copy_next<M: Memory, C, const SIDES: usize>(
    caches: [&DegreeCache<M>; SIDES],
    range: Range<u32>,
    list_max: u32,
    copies: &mut ListCopies,
    lists: &mut [[CopiedList; RUN_LISTS]; SIDES],
    copy: C,
) -> Result<(usize, [Range<usize>; SIDES])>
where
    C: Fn(&PackedArray<M>, u32, &[u32], &mut ListCopies, &mut [CopiedList]) -> Result<Range<usize>>,
{
    let arrays = caches.map(|cache| cache.array.read());
    let first = range.start as usize;
    let starts: [u64; SIDES] = std::array::from_fn(|side| arrays[side].vertices.at(first).start);
    let end = range.end.min(range.start + RUN_LISTS as u32);
    let fits = |vertex: u32| {
        let at = vertex as usize;
        (0..SIDES).all(|side| {
            caches[side].elements[at] <= list_max
                && !arrays[side].tombstones.contains(vertex)
                && (at == first || arrays[side].vertices.at(at).array_end() - starts[side] <= RUN_SLOTS)
        })
    };
    let count = (range.start..end).take_while(|vertex| fits(*vertex)).count();
    let mut records: [Range<usize>; SIDES] = std::array::from_fn(|_| 0..0);
    for (side, lists) in lists.iter_mut().enumerate() {
        let elements = &caches[side].elements[first..first + count];
        records[side] = copy(&arrays[side], range.start, elements, copies, lists)?;
    }
    Ok((count, records))
}

/// Calls `visitor` with the lists of chosen vertices in each of `caches`, which have the same vertices.
#[inline]
pub(crate) fn visit_chosen<M: Memory, F, const SIDES: usize>(
    caches: [&DegreeCache<M>; SIDES],
    mut vertices: impl Iterator<Item = u32>,
    buffer: &mut PieceBuffer,
    mut visitor: F,
) -> Result<()>
where
    F: FnMut(u32, Piece<'_>) -> Visit,
{
    with_copies(buffer, |copies| {
        let mut batch = [0u32; BATCH_LISTS];
        let mut lists = [[(0u32, 0u32); BATCH_LISTS]; SIDES];
        let mut is_ended_early = false;
        loop {
            copies.clear();
            let list_max = list_max(is_ended_early);
            let (mut count, mut elements, mut long) = (0, 0, None);
            while count < BATCH_LISTS && elements < BATCH_ELEMENTS {
                let Some(vertex) = vertices.next() else { break };
                let of_sides = caches.map(|cache| cache.elements[vertex as usize]);
                if of_sides.iter().any(|elements| *elements > list_max) {
                    long = Some(vertex);
                    break;
                }
                batch[count] = vertex;
                count += 1;
                elements += of_sides.iter().sum::<u32>() as usize;
            }
            if count == 0 && long.is_none() {
                return Ok(());
            }
            let batch = &batch[..count];
            for (cache, lists) in caches.iter().zip(&mut lists) {
                let array = cache.array.read();
                for (vertex, list) in batch.iter().zip(lists) {
                    let found = cache.copy_list(&array, *vertex, copies)?;
                    // At most those of a batch and of a list on each side, and what fills up words.
                    *list = (found.start as u32, found.end as u32);
                }
            }
            is_ended_early = false;
            for (at, vertex) in batch.iter().enumerate() {
                for lists in &lists {
                    let (start, end) = lists[at];
                    match visitor(*vertex, piece(copies.targets(start as usize..end as usize))) {
                        Visit::Continue => {}
                        Visit::NextVertex => {
                            is_ended_early = true;
                            break;
                        }
                        Visit::Stop => return Ok(()),
                    }
                }
            }
            if let Some(vertex) = long {
                match visit_one(caches, vertex, list_max, copies, &mut visitor)? {
                    Visit::Continue => {}
                    Visit::NextVertex => is_ended_early = true,
                    Visit::Stop => return Ok(()),
                }
            }
        }
    })
}

/// Calls `visitor` with the lists of one vertex, part by part, each read under a lock of its own; whether to go on.
fn visit_one<M: Memory, F, const SIDES: usize>(
    caches: [&DegreeCache<M>; SIDES],
    vertex: u32,
    part_first: u32,
    copies: &mut ListCopies,
    visitor: &mut F,
) -> Result<Visit>
where
    F: FnMut(u32, Piece<'_>) -> Visit,
{
    for cache in caches {
        let count = cache.elements[vertex as usize];
        // What is deleted of a list is known by all of it. If nothing is now, nothing was when the view was made.
        let is_whole = cache.array.read().tombstones.contains(vertex);
        let mut part_elements = if is_whole { count } else { part_first };
        let mut first = 0;
        while first < count {
            copies.clear();
            let end = count.min(first.saturating_add(part_elements));
            let array = cache.array.read();
            let part = if is_whole {
                cache.copy_list(&array, vertex, copies)?
            } else {
                array.copy_targets(vertex, first..end, copies)?
            };
            drop(array);
            first = end;
            part_elements = part_elements.saturating_mul(PART_GROWTH).min(LONG_LIST_ELEMENTS.max(part_first));
            match visitor(vertex, piece(copies.targets(part))) {
                Visit::Continue => {}
                other => return Ok(other),
            }
        }
    }
    Ok(Visit::Continue)
}
