//! Parts: slices of the vertices for threads to share, about even in edges.
//!
//! ```text
//! 0 ......... 512 .. 640 ................. bound
//! |  part 0    | hub  |      part 2 ...      |
//! ```
//!
//! The cuts depend on the graph alone, never on the number of threads: a sum over parts, taken in
//! their order, is the same on every machine. A part is less than a millisecond of work unless one
//! vertex is more than that.

use crate::control::Control;
use evergraph_graph::error::Result;
use evergraph_graph::topology::{PieceBuffer, Topology};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;

/// Vertices and edges in a part: large against the cost of handing it out (under a microsecond),
/// small against the few milliseconds in which a kernel must stop.
const PART_WORK: u64 = 32 * 1024;

/// Waves in which long work is shared out, so that its progress can be told.
const WAVES: usize = 64;

/// Items a thread in a wave, at least: the end of a wave, where threads wait for each other, is then rare.
const WAVE_ITEMS_MIN: usize = 16;

/// More parts than this cost more in hand-outs than they even out.
const PARTS_MAX: u64 = 4096;

/// Where the vertices of a topology are cut.
#[derive(Debug)]
pub(crate) struct Parts {
    /// Ascending, first 0, last the bound.
    cuts: Vec<u32>,
}

impl Parts {
    /// Cuts `topology` at any vertex.
    pub(crate) fn of<T: Topology>(topology: &T) -> Self {
        let work = u64::from(topology.bound()) + topology.edge_count();
        let cuts = topology.cuts(work.div_ceil(PART_WORK).clamp(1, PARTS_MAX) as usize);
        assert!(cuts.is_sorted() && cuts.first() == Some(&0) && cuts.last() == Some(&topology.bound()));
        Self::at(cuts)
    }

    /// Cuts `topology` at multiples of 64 vertices, so that each part has its own words of a bitmap.
    pub(crate) fn of_words<T: Topology>(topology: &T) -> Self {
        let mut cuts = Self::of(topology).cuts;
        let last = cuts.len() - 1;
        cuts[..last].iter_mut().for_each(|cut| *cut &= !63);
        Self::at(cuts)
    }

    /// Parts between `cuts` (a hub may take several), at least one, which may be empty.
    fn at(mut cuts: Vec<u32>) -> Self {
        cuts.dedup();
        if cuts.len() == 1 {
            cuts.push(cuts[0]);
        }
        Self { cuts }
    }

    /// The parts, in order.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        self.cuts.windows(2).map(|cut| cut[0]..cut[1])
    }

    /// Each part's slice of `state`, which has an entry for each vertex.
    pub(crate) fn split<'s, S>(&self, state: &'s mut [S]) -> Vec<&'s mut [S]> {
        self.split_by(state, 1)
    }

    /// Each part's words of a bitmap; the parts must come from [`Parts::of_words`].
    pub(crate) fn split_words<'s>(&self, words: &'s mut [u64]) -> Vec<&'s mut [u64]> {
        self.split_by(words, 64)
    }

    fn split_by<'s, S>(&self, mut state: &'s mut [S], vertices: u32) -> Vec<&'s mut [S]> {
        let mut slices = Vec::with_capacity(self.cuts.len() - 1);
        for range in self.ranges() {
            let length = range.end.div_ceil(vertices) - range.start.div_ceil(vertices);
            let (slice, rest) = state.split_at_mut(length as usize);
            slices.push(slice);
            state = rest;
        }
        slices
    }

    /// Runs `work` on each part and its entry of `items`; the answers come in the order of the parts.
    ///
    /// # Errors
    /// As [`share_out`].
    pub(crate) fn map<I, A, F>(&self, control: &Control<'_>, items: Vec<I>, work: F) -> Result<Vec<A>>
    where
        I: Send,
        A: Send,
        F: Fn(Range<u32>, I, &mut PieceBuffer) -> Result<A> + Sync,
    {
        assert_eq!(items.len(), self.cuts.len() - 1, "one item a part");
        share_out(control, self.ranges().zip(items), |(range, item), buffer| work(range, item, buffer))
    }

    /// As [`Parts::map`], where a part needs nothing but its range.
    ///
    /// # Errors
    /// As [`share_out`].
    pub(crate) fn map_ranges<A, F>(&self, control: &Control<'_>, work: F) -> Result<Vec<A>>
    where
        A: Send,
        F: Fn(Range<u32>, &mut PieceBuffer) -> Result<A> + Sync,
    {
        share_out(control, self.ranges(), work)
    }
}

/// Runs `work` on each of `items` on rayon's current pool; the answers come in the order of the
/// items. Each worker takes the next item when it has done one, so that a slow core or a hub holds
/// nobody up, disks are read about in order, and a decoding buffer lives as long as its worker.
/// Rayon's own splitting makes a few leaves a thread and can't even those out; leaves of one item
/// would take a fresh buffer each.
///
/// # Errors
/// `cancelled`, or the error of the first item that failed; the items behind it may not have run.
pub(crate) fn share_out<I, A, F>(
    control: &Control<'_>,
    items: impl Iterator<Item = I> + Send,
    work: F,
) -> Result<Vec<A>>
where
    A: Send,
    F: Fn(I, &mut PieceBuffer) -> Result<A> + Sync,
{
    share_out_with(control, items, PieceBuffer::default, work)
}

/// As [`share_out`], where each worker has what `scratch` makes, once, before its first item: there
/// are as many as rayon's pool has threads, and so the answers must not depend on what a worker
/// did before.
///
/// # Errors
/// As [`share_out`].
pub(crate) fn share_out_with<I, S, A, F>(
    control: &Control<'_>,
    items: impl Iterator<Item = I> + Send,
    scratch: impl Fn() -> S + Sync,
    work: F,
) -> Result<Vec<A>>
where
    A: Send,
    F: Fn(I, &mut S) -> Result<A> + Sync,
{
    // Held while an item is taken, never while it is worked on. `None` after a failure.
    let queue = Mutex::new(Some(items.enumerate()));
    let next = || queue.lock().expect("taking an item doesn't panic").as_mut()?.next();
    let worker = |_| -> Vec<(usize, Result<A>)> {
        let mut done = Vec::new();
        // A worker that comes too late makes no scratch.
        let Some(mut taken) = next() else { return done };
        let mut scratch = scratch();
        loop {
            let (at, item) = taken;
            let answer = control.check().and_then(|()| work(item, &mut scratch));
            let failed = answer.is_err();
            done.push((at, answer));
            if failed {
                *queue.lock().expect("taking an item doesn't panic") = None;
            }
            let Some(following) = next() else { return done };
            taken = following;
        }
    };
    let workers = rayon::current_num_threads();
    let mut answers = (0..workers).into_par_iter().with_max_len(1).flat_map_iter(worker).collect::<Vec<_>>();
    answers.sort_unstable_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// As [`share_out_with`], in at most [`WAVES`] waves of items, one after the other, each with scratch of its own. After each
/// `done` is told, on this thread, how many items are done.
///
/// # Errors
/// As [`share_out`].
pub(crate) fn share_out_in_waves<I, S, A, F>(
    control: &Control<'_>,
    items: Vec<I>,
    scratch: impl Fn() -> S + Sync,
    mut done: impl FnMut(usize),
    work: F,
) -> Result<Vec<A>>
where
    I: Send,
    A: Send,
    F: Fn(I, &mut S) -> Result<A> + Sync,
{
    let wave = items.len().div_ceil(WAVES).max(rayon::current_num_threads() * WAVE_ITEMS_MIN);
    let mut answers = Vec::with_capacity(items.len());
    let mut items = items.into_iter();
    while items.len() > 0 {
        answers.extend(share_out_with(control, items.by_ref().take(wave), &scratch, &work)?);
        done(answers.len());
    }
    Ok(answers)
}

/// Cuts `0..lengths.len()` into ranges of about [`PART_WORK`] entries and lists, whose lengths these
/// are; a list that is longer has a range of its own or ends one.
pub(crate) fn ranges_by_length(lengths: &[u32]) -> Vec<Range<u32>> {
    let mut ranges = Vec::new();
    let (mut start, mut work) = (0, 0);
    for (at, length) in (1..).zip(lengths) {
        work += u64::from(*length) + 1;
        if work >= PART_WORK {
            ranges.push(start..at);
            (start, work) = (at, 0);
        }
    }
    if work > 0 {
        ranges.push(start..lengths.len() as u32);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::StaticCsr;
    use evergraph_graph::cancel::CancelFlag;
    use evergraph_graph::error::{Error, ErrorKind};
    use evergraph_graph::id::Direction;
    use evergraph_graph::vertex_set::VertexSet;

    fn star(bound: u32) -> StaticCsr {
        let edges: Vec<_> = (1..bound).map(|leaf| (70, leaf)).collect();
        StaticCsr::new(VertexSet::full(bound), &edges, None, Direction::Out).unwrap()
    }

    #[test]
    fn parts_cover_every_vertex_once_and_split_state_alike() {
        for bound in [0, 1, 63, 64, 65, 200_000] {
            let star = if bound > 70 { star(bound) } else { graph_without_edges(bound) };
            for parts in [Parts::of(&star), Parts::of_words(&star)] {
                let mut state = vec![0; bound as usize];
                for (range, slice) in parts.ranges().zip(parts.split(&mut state)) {
                    assert_eq!(range.len(), slice.len());
                    slice.iter_mut().for_each(|entry| *entry += 1);
                }
                assert!(state.iter().all(|times| *times == 1));
            }
            let mut words = vec![0; bound.div_ceil(64) as usize];
            let parts = Parts::of_words(&star);
            for (range, slice) in parts.ranges().zip(parts.split_words(&mut words)) {
                assert_eq!(range.start % 64, 0);
                assert_eq!(range.len().div_ceil(64), slice.len());
            }
        }
    }

    fn graph_without_edges(bound: u32) -> StaticCsr {
        StaticCsr::new(VertexSet::full(bound), &[], None, Direction::Out).unwrap()
    }

    #[test]
    fn answers_come_in_the_order_of_the_items() {
        let squares = share_out(&Control::default(), 0..1000_u32, |item, _| Ok(item * item)).unwrap();
        assert!(squares.iter().zip(0..).all(|(square, item)| *square == item * item));
        assert_eq!(squares.len(), 1000);
    }

    #[test]
    fn ranges_by_length_cover_every_list_once_and_end_soon_after_enough_work() {
        assert_eq!(ranges_by_length(&[]), []);
        let lengths: Vec<u32> = (0..100_000).map(|at| if at % 1000 == 7 { 50_000 } else { at % 5 }).collect();
        let ranges = ranges_by_length(&lengths);
        assert_eq!((ranges[0].start, ranges.last().unwrap().end), (0, 100_000));
        assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        for range in ranges {
            let before_last = range.start as usize..range.end as usize - 1;
            let work: u64 = lengths[before_last].iter().map(|length| u64::from(*length) + 1).sum();
            assert!(work < PART_WORK);
        }
    }

    #[test]
    fn the_error_of_the_first_item_that_failed_is_returned_and_the_rest_is_left() {
        let error = share_out(&Control::default(), 0.., |item: u64, _| {
            if item < 100 { Ok(()) } else { Err(Error::invalid(format!("item {item}"))) }
        });
        assert_eq!(error.unwrap_err().to_string(), "item 100");
    }

    #[test]
    fn a_set_flag_stops_before_the_next_item() {
        let flag = CancelFlag::default();
        let control = Control::default().with_cancel(&flag);
        let stopped = share_out(&control, 0..u64::MAX, |item, _| {
            if item == 10 {
                flag.cancel();
            }
            Ok(())
        });
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
