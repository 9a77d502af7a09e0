//! Value pages: the first items of many values by an index, asked for together.
//!
//! ```text
//! announced     a  b  c  d  ...             read b ──> b, c, d ... are asked of every partition, in one message each
//! partition 0   of b:  3 9 | ...            kept of b:  1 3 4 9, and there may be more
//! partition 1   of b:  1 4   (all)
//! ```
//!
//! A page that is not the last one of its partition ends what is known of the value: another partition may have nothing before
//! what follows there.

use crate::remote::view_answer::AnswerPage;
use crate::remote::view_asking::{check_progress, nothing_answered};
use evergraph_graph::error::Result;
use evergraph_graph::id::PartitionId;
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::value::Value;
use std::collections::VecDeque;

/// Values that may be announced and not asked about.
const ANNOUNCED_VALUES_MAX: usize = 1 << 13;
/// Bytes of a value that is announced.
const ANNOUNCED_BYTES_MAX: usize = 1 << 10;
/// Values that are asked about at once, at most.
const VALUES_AT_ONCE: usize = 1 << 10;
/// Questions that ask about them at once: one a value and partition that may have it.
const QUESTIONS_AT_ONCE: usize = 1 << 14;

/// Values that are going to be looked up, in the order of the look-ups.
#[derive(Debug, Default)]
pub struct AnnouncedValues(VecDeque<(IndexId, Value)>);

impl AnnouncedValues {
    /// Adds one; of too many the oldest go. A long one is asked about by itself.
    pub fn add(&mut self, index: IndexId, value: Value) {
        if value.heap_bytes() > ANNOUNCED_BYTES_MAX {
            return;
        }
        if self.0.len() == ANNOUNCED_VALUES_MAX {
            self.0.pop_front();
        }
        self.0.push_back((index, value));
    }

    /// Takes a value that is looked up now, and some that follow, each of which about so many `partitions` are asked about; none
    /// if it wasn't announced.
    pub fn take_from(&mut self, index: IndexId, value: &Value, partitions: usize) -> Vec<(IndexId, Value)> {
        let at = self.0.iter().position(|(of, announced)| *of == index && announced == value);
        let Some(at) = at else { return Vec::new() };
        let most = (QUESTIONS_AT_ONCE / partitions.max(1)).clamp(1, VALUES_AT_ONCE);
        self.0.drain(at..(at + most).min(self.0.len())).collect()
    }
}

/// The beginning of all that partitions have, by their first pages.
///
/// # Errors
/// `io` for a page that is out of order, or empty and not the last one.
pub fn merged_pages(pages: Vec<(PartitionId, AnswerPage<ItemId>)>) -> Result<AnswerPage<ItemId>> {
    let mut merged = AnswerPage { entries: Vec::new(), is_last: true };
    let mut known_to = None;
    for (partition, page) in pages {
        check_progress(partition, None, &page.entries, |one, other| one < other)?;
        if !page.is_last {
            let last = page.entries.last().copied().ok_or_else(|| nothing_answered(partition))?;
            known_to = Some(known_to.map_or(last, |to: ItemId| to.min(last)));
            merged.is_last = false;
        }
        merged.entries.extend(page.entries);
    }
    merged.entries.sort_unstable();
    merged.entries.retain(|item| known_to.is_none_or(|to| *item <= to));
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::{KeyId, LabelId, VertexId};
    use evergraph_graph::index::IndexKind;
    use evergraph_graph::owner::Owner;

    fn page(entries: &[u32], is_last: bool) -> AnswerPage<ItemId> {
        AnswerPage { entries: entries.iter().map(|item| ItemId::Vertex(VertexId(*item))).collect(), is_last }
    }

    fn merged(pages: &[AnswerPage<ItemId>]) -> Result<AnswerPage<ItemId>> {
        merged_pages((0..).map(PartitionId).zip(pages.iter().cloned()).collect())
    }

    #[test]
    fn what_lies_behind_a_page_that_goes_on_is_not_known() {
        let all = merged(&[page(&[3, 9], true), page(&[], true), page(&[1, 4], true)]).unwrap();
        assert_eq!(all, page(&[1, 3, 4, 9], true));
        let some = merged(&[page(&[3, 9], false), page(&[1, 4, 12], true), page(&[2, 7], false)]).unwrap();
        assert_eq!(some, page(&[1, 2, 3, 4, 7], false));
        assert_eq!(merged(&[]).unwrap(), page(&[], true));
        for damaged in [page(&[], false), page(&[4, 4], true), page(&[5, 4], false)] {
            assert_eq!(merged(&[page(&[1], true), damaged]).unwrap_err().kind(), ErrorKind::Io);
        }
    }

    #[test]
    fn a_value_is_taken_with_those_that_follow() {
        let id = |key| IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(key), kind: IndexKind::Hash };
        let mut announced = AnnouncedValues::default();
        (0..5_i64).for_each(|value| announced.add(id(1), Value::I64(value)));
        assert!(announced.take_from(id(2), &Value::I64(2), 4).is_empty(), "of another index");
        let taken = announced.take_from(id(1), &Value::I64(2), 4);
        assert_eq!(taken, [2, 3, 4].map(|value| (id(1), Value::I64(value))));
        assert!(announced.take_from(id(1), &Value::I64(3), 4).is_empty(), "it was taken");
        announced.add(id(1), "x".repeat(ANNOUNCED_BYTES_MAX + 1).into());
        assert_eq!(announced.0.len(), 2, "a long one is not announced");
        (0..2 * ANNOUNCED_VALUES_MAX as i64).for_each(|value| announced.add(id(1), Value::I64(value)));
        assert_eq!(announced.0.len(), ANNOUNCED_VALUES_MAX);
        let first = Value::I64(ANNOUNCED_VALUES_MAX as i64);
        assert_eq!(announced.take_from(id(1), &first, 4).len(), VALUES_AT_ONCE);
        let next = announced.0[0].1.clone();
        assert_eq!(announced.take_from(id(1), &next, 64).len(), QUESTIONS_AT_ONCE / 64);
    }
}
