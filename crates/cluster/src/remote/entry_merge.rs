//! Entry merge: what the indexes of several partitions find, in one order.
//!
//! ```text
//! partition 0   3  9  14  |  ...      a page each, and the next one when it is used up
//! partition 1   4  5      |  (last)
//! partition 2   1  21 30  |  ...
//! merged        1  3  4  5  9  14  ── partition 0 is asked again, before 21
//! ```
//!
//! An item lies in the index of one partition, so that nothing comes twice. Nothing is handed out before every partition has said
//! what it has next, or that it has nothing.

use crate::remote::view_answer::{AnswerPage, ViewAnswer};
use crate::remote::view_asking::{check_progress, nothing_answered, went_back};
use crate::remote::view_question::ViewQuestion;
use evergraph_graph::error::Result;
use evergraph_graph::id::PartitionId;
use std::collections::VecDeque;

/// The fewest entries that a partition is asked for: an answer takes its time, however short.
const PAGE_ENTRIES_MIN: usize = 16;
/// The most.
const PAGE_ENTRIES_MAX: usize = 4096;

/// What came from one partition and was not handed out.
struct PartitionRun<T> {
    partition: PartitionId,
    ready: VecDeque<T>,
    last: Option<T>,
    is_over: bool,
}

impl<T> PartitionRun<T> {
    /// Whether nobody knows what comes next.
    fn is_used_up(&self) -> bool {
        self.ready.is_empty() && !self.is_over
    }
}

/// What is asked of each partition, and in which order its entries are.
pub trait EntryQuestion {
    /// An entry.
    type Entry: Clone;

    /// The question for `limit` entries behind `after`, or for the first ones.
    fn question(&self, after: Option<&Self::Entry>, limit: u32) -> ViewQuestion;

    /// The entries of an answer.
    fn page(&self, answer: ViewAnswer) -> AnswerPage<Self::Entry>;

    /// Whether an entry lies behind where all of this begins.
    fn is_behind_start(&self, entry: &Self::Entry) -> bool;

    /// Whether one entry comes before another.
    fn comes_before(&self, one: &Self::Entry, other: &Self::Entry) -> bool;
}

/// The first `limit` entries of all partitions, in order. `ask` asks questions, all at once.
///
/// Entries of many partitions are spread evenly, about: each is asked for twice its share, so that one round is enough mostly.
///
/// # Errors
/// Those of `ask`; `io` if a partition answers with what it has answered before, or out of order.
pub fn merge_entries<Q: EntryQuestion>(
    asked: &Q,
    partitions: impl Iterator<Item = PartitionId>,
    limit: usize,
    ask: impl Fn(Vec<(PartitionId, ViewQuestion)>) -> Result<Vec<ViewAnswer>>,
) -> Result<Vec<Q::Entry>> {
    let run = |partition| PartitionRun { partition, ready: VecDeque::new(), last: None, is_over: false };
    let mut runs: Vec<PartitionRun<Q::Entry>> = partitions.map(run).collect();
    let share = match runs.len() {
        0 | 1 => limit,
        many => limit.div_ceil(many).saturating_mul(2).max(PAGE_ENTRIES_MIN),
    };
    let share = share.clamp(1, PAGE_ENTRIES_MAX) as u32;
    let mut merged = Vec::new();
    while merged.len() < limit {
        let used_up = runs.iter().filter(|run| run.is_used_up());
        let questions: Vec<_> =
            used_up.map(|run| (run.partition, asked.question(run.last.as_ref(), share))).collect();
        if !questions.is_empty() {
            let answers = ask(questions)?;
            for (run, answer) in runs.iter_mut().filter(|run| run.is_used_up()).zip(answers) {
                let page = asked.page(answer);
                if page.entries.is_empty() && !page.is_last {
                    return Err(nothing_answered(run.partition));
                }
                if let Some(first) = page.entries.first()
                    && run.last.is_none()
                    && !asked.is_behind_start(first)
                {
                    return Err(went_back(run.partition));
                }
                let before = |one: &Q::Entry, other: &Q::Entry| asked.comes_before(one, other);
                check_progress(run.partition, run.last.as_ref(), &page.entries, before)?;
                run.last = page.entries.last().cloned().or(run.last.take());
                run.is_over = page.is_last;
                run.ready.extend(page.entries);
            }
        }
        let Some(first) = first_run(asked, &runs) else { break };
        merged.extend(runs[first].ready.pop_front());
    }
    Ok(merged)
}

/// The run whose next entry comes first.
fn first_run<Q: EntryQuestion>(asked: &Q, runs: &[PartitionRun<Q::Entry>]) -> Option<usize> {
    let mut first: Option<(usize, &Q::Entry)> = None;
    for (at, run) in runs.iter().enumerate() {
        let Some(entry) = run.ready.front() else { continue };
        if first.is_none_or(|(_, before)| asked.comes_before(entry, before)) {
            first = Some((at, entry));
        }
    }
    first.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::{KeyId, LabelId, VertexId};
    use evergraph_graph::index::{IndexId, IndexKind};
    use evergraph_graph::index_entry::ItemId;
    use evergraph_graph::owner::Owner;
    use evergraph_graph::value::Value;
    use proptest::prelude::*;
    use std::cell::Cell;

    struct NumberQuestion;

    impl EntryQuestion for NumberQuestion {
        type Entry = u32;

        fn question(&self, after: Option<&u32>, limit: u32) -> ViewQuestion {
            ViewQuestion::ItemsOfValue {
                index: IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(0), kind: IndexKind::Hash },
                value: Value::Bool(true),
                after: after.map(|number| ItemId::Vertex(VertexId(*number))),
                limit,
            }
        }

        fn page(&self, answer: ViewAnswer) -> AnswerPage<u32> {
            let AnswerPage { entries, is_last } = answer.into_items();
            let number = |item| match item {
                ItemId::Vertex(vertex) => vertex.0,
                ItemId::Edge(_) => unreachable!("numbers are vertices here"),
            };
            AnswerPage { entries: entries.into_iter().map(number).collect(), is_last }
        }

        fn is_behind_start(&self, _: &u32) -> bool {
            true
        }

        fn comes_before(&self, one: &u32, other: &u32) -> bool {
            one < other
        }
    }

    /// The first numbers of all lists, and in how many rounds they came. A page has `page_max` of them at most.
    fn merged(lists: &[Vec<u32>], limit: usize, page_max: usize) -> (Vec<u32>, usize) {
        let rounds = Cell::new(0);
        let answer = |(partition, question): (PartitionId, ViewQuestion)| {
            let ViewQuestion::ItemsOfValue { after, limit, .. } = question else { unreachable!("as above") };
            let items =
                lists[usize::from(partition.0)].iter().map(|number| ItemId::Vertex(VertexId(*number)));
            let behind = items.filter(|item| after.is_none_or(|after| *item > after));
            let behind: Vec<_> = behind.collect();
            let entries: Vec<_> = behind.iter().copied().take(page_max.min(limit as usize)).collect();
            ViewAnswer::Items(AnswerPage { is_last: entries.len() == behind.len(), entries })
        };
        let ask = |questions: Vec<(PartitionId, ViewQuestion)>| -> Result<Vec<ViewAnswer>> {
            rounds.set(rounds.get() + 1);
            Ok(questions.into_iter().map(answer).collect())
        };
        let partitions = (0..lists.len() as u16).map(PartitionId);
        (merge_entries(&NumberQuestion, partitions, limit, ask).unwrap(), rounds.get())
    }

    proptest! {
        #[test]
        fn entries_come_in_one_order_and_none_is_left_out(
            numbers in proptest::collection::btree_map(0u32..200, 0usize..4, 0..60),
            partitions in 1usize..5, limit in 0usize..70, page_max in 1usize..20,
        ) {
            let mut lists = vec![Vec::new(); partitions];
            numbers.iter().for_each(|(number, list)| lists[list % partitions].push(*number));
            let wanted: Vec<_> = numbers.into_keys().take(limit).collect();
            prop_assert_eq!(merged(&lists, limit, page_max).0, wanted);
        }
    }

    #[test]
    fn a_partition_that_answers_the_same_again_is_an_error_and_no_endless_question() {
        let rounds = Cell::new(0);
        let ask = |questions: Vec<(PartitionId, ViewQuestion)>| -> Result<Vec<ViewAnswer>> {
            rounds.set(rounds.get() + 1);
            assert!(rounds.get() < 10, "it is asked again and again");
            let entries = vec![ItemId::Vertex(VertexId(4)), ItemId::Vertex(VertexId(7))];
            let page = AnswerPage { entries, is_last: false };
            Ok(questions.iter().map(|_| ViewAnswer::Items(page.clone())).collect())
        };
        let error = merge_entries(&NumberQuestion, [PartitionId(5)].into_iter(), 9, ask).unwrap_err();
        assert_eq!((error.kind(), rounds.get()), (ErrorKind::Io, 2));
        assert!(error.to_string().contains("partition 5"), "{error}");
    }

    #[test]
    fn entries_that_are_spread_evenly_take_one_round() {
        let lists: Vec<Vec<u32>> = (0..4).map(|list| (0..1000).map(|at| at * 4 + list).collect()).collect();
        assert_eq!(merged(&lists, 200, usize::MAX), ((0..200).collect(), 1));
        assert_eq!(merged(&lists[..1], 1000, usize::MAX).1, 1);
        assert_eq!(merged(&[], 9, 9), (vec![], 0));
    }
}
