//! Announced questions: what a reader is going to read, as questions that nobody has asked yet, each item of a kind once.

use crate::remote::item_reads::ItemQuestion;
use crate::remote::view_question::ViewQuestion;
use evergraph_graph::id::PartitionId;

/// Items that may be announced and not asked about yet; of more, the first ones are asked about together.
const ANNOUNCED_ITEMS_MAX: usize = 1 << 16;
/// Questions that may be announced and not asked yet.
const ANNOUNCED_QUESTIONS_MAX: usize = 1 << 11;

/// What is going to be read.
#[derive(Default)]
pub(super) struct AnnouncedQuestions {
    pub(super) questions: Vec<(PartitionId, ViewQuestion)>,
    pub(super) items: usize,
}

impl AnnouncedQuestions {
    /// Items that may be added.
    pub(super) fn room(&self) -> usize {
        ANNOUNCED_ITEMS_MAX.saturating_sub(self.items)
    }

    /// Adds items of a partition, without those that were announced.
    pub(super) fn add<Q: ItemQuestion>(
        &mut self,
        asked: &Q,
        partition: PartitionId,
        mut items: Vec<Q::Item>,
    ) {
        self.drop_announced(asked, partition, &mut items);
        if !items.is_empty() && self.questions.len() < ANNOUNCED_QUESTIONS_MAX {
            self.items += items.len();
            self.questions.push((partition, asked.question(items)));
        }
    }

    /// Drops those of `items` that were announced.
    pub(super) fn drop_announced<Q: ItemQuestion>(
        &self,
        asked: &Q,
        partition: PartitionId,
        items: &mut Vec<Q::Item>,
    ) {
        let there = self.questions.iter().filter(|(of, _)| *of == partition);
        for known in there.filter_map(|(_, question)| asked.items_of(question)) {
            items.retain(|item| known.binary_search(item).is_err());
        }
    }

    /// Puts back what was not asked, or not answered, before what was announced meanwhile.
    pub(super) fn put_back(&mut self, rest: Vec<(PartitionId, ViewQuestion)>) {
        let since = std::mem::replace(&mut self.questions, rest);
        self.questions.extend(since);
        self.questions.truncate(ANNOUNCED_QUESTIONS_MAX);
        self.count_items();
    }

    /// Drops questions about nothing but what is asked now, by whoever reads it.
    pub(super) fn drop_asked<Q: ItemQuestion>(&mut self, asked: &Q, parts: &[(PartitionId, Vec<Q::Item>)]) {
        self.questions.retain(|(partition, question)| {
            let Some(announced) = asked.items_of(question) else { return true };
            let mut there = parts.iter().filter(|(of, _)| of == partition);
            !there.any(|(_, items)| announced.iter().all(|item| items.binary_search(item).is_ok()))
        });
        self.count_items();
    }

    fn count_items(&mut self) {
        let items = self.questions.iter().map(|(_, question)| question.items_count().unwrap_or(1));
        self.items = items.sum();
    }
}
