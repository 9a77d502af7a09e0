//! Remote snapshot: a moment of a graph whose partitions other nodes keep, and what it was told of it.
//!
//! ```text
//! RemoteView ── read ──> at hand? ── no ──> kept? ── no ──> ask what was announced, one message a partition; the rest stays announced
//!    (one a call)             │               │                       └──> kept? ── no ──> ask
//!               ahead ────────┴───────────────┴──> announced
//! ```
//!
//! What the reader's own node keeps is read where it lies ([`PartitionView`]): nothing of it is announced, asked or kept, except
//! what indexes find. That is kept, and values that are going to be looked up are announced, wherever they are. A node that keeps
//! every partition announces nothing.
//!
//! A reader reads item by item where it must, and says beforehand what it is going to read
//! ([`View::ahead`](evergraph_storage::view::View::ahead)). Nothing is asked then: the first read that is not known asks for
//! what was announced since, and for itself in the same messages, so that a batch takes a message a partition, and not one an item.
//! What has no room in the answers is asked for when it is read, with what follows: so nobody fetches more at once than one answer of
//! each partition.

use crate::remote::announced_questions::AnnouncedQuestions;
use crate::remote::charged_answers::ChargedAnswers;
use crate::remote::group_scan::{GroupScans, LabelledGroups};
use crate::remote::item_reads::{FactsRead, ItemQuestion, ItemRead};
use crate::remote::kept_answers::{KeptAnswers, KeptIndexSizes};
use crate::remote::partition_view::PartitionView;
use crate::remote::value_pages::{AnnouncedValues, merged_pages};
use crate::remote::view_answer::{AnswerPage, GroupFacts, ViewAnswer};
use crate::remote::view_asking::{
    PartitionAsker, ScatteredItems, ask_all, ask_all_beside, ask_once, check_progress, nothing_answered,
};
use crate::remote::view_question::ViewQuestion;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GroupId, KeyId, LabelId, PartitionId};
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::travel::Travels;
use evergraph_graph::value::Value;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::snapshot::index_entries::CheckTime;
use evergraph_storage::sync::Mutex;
use evergraph_storage::view::{GroupBits, IndexSize};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Answers about so few items at once are kept, announced or not.
const KEPT_ITEMS_MAX: usize = 64;
/// Items of a value that each partition is asked for, of many values.
const ITEMS_OF_VALUE: u32 = 16;

/// What every node knows of a graph's division without asking, as of a snapshot or later.
pub trait GraphMap: Send + Sync {
    /// How many partitions the graph has.
    fn partitions(&self) -> PartitionCount;

    /// One more than the highest group that has a label, or zero.
    fn group_count(&self) -> u32;

    /// The label of a group, if it has one.
    fn group_label(&self, group: GroupId) -> Option<LabelId>;

    /// The only partition where items with `value` may be by an index, if there is one: vertices are placed by the value of
    /// a unique property.
    fn partition_of_value(&self, index: IndexId, value: &Value) -> Option<PartitionId>;
}

/// Limits of a remote snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoteLimits {
    /// Bytes of an answer; a single value may take more.
    pub answer_bytes_max: usize,
    /// Bytes of answers that are kept.
    pub kept_bytes_max: usize,
}

impl Default for RemoteLimits {
    fn default() -> Self {
        Self { answer_bytes_max: 4 << 20, kept_bytes_max: 64 << 20 }
    }
}

/// A graph at one timestamp, by whoever keeps its partitions. Read through [`RemoteView`](crate::remote::remote_view::RemoteView).
///
/// # Concurrency
/// Any number of threads read. No lock is held while a partition is asked, so that two threads may ask for the same. Inside that
/// of scans what is kept may be locked, or a partition at hand opened, and nothing else in another.
pub struct RemoteSnapshot {
    timestamp: Timestamp,
    map: Arc<dyn GraphMap>,
    asker: Arc<dyn PartitionAsker>,
    limits: RemoteLimits,
    /// Why nothing can be read, if nothing can.
    refusal: Option<(ErrorKind, Box<str>)>,
    kept: Arc<ChargedAnswers>,
    announced: Mutex<AnnouncedQuestions>,
    announced_values: Mutex<AnnouncedValues>,
    scans: Mutex<GroupScans>,
    /// Whether a partition was not at hand. Relaxed: it is a hint.
    has_missed: AtomicBool,
}

impl RemoteSnapshot {
    /// Reads at `timestamp`, by `asker`, which asks as of that moment.
    #[must_use]
    pub fn new(
        timestamp: Timestamp,
        map: Arc<dyn GraphMap>,
        asker: Arc<dyn PartitionAsker>,
        limits: RemoteLimits,
    ) -> Self {
        let kept = ChargedAnswers::new(limits.kept_bytes_max, None);
        let (announced, announced_values, scans) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (refusal, has_missed) = (None, AtomicBool::new(false));
        Self { timestamp, map, asker, limits, refusal, kept, announced, announced_values, scans, has_missed }
    }

    /// The same; what it keeps is counted in `budget`.
    #[must_use]
    pub fn charged_to(self, budget: &MemoryBudget) -> Self {
        let kept = ChargedAnswers::new(self.limits.kept_bytes_max, Some(budget.clone()));
        Self { kept, ..self }
    }

    /// The same, of which nothing can be read, because of `error`.
    pub(super) fn refusing(self, error: &Error) -> Self {
        Self { refusal: Some((error.kind(), error.to_string().into())), ..self }
    }

    /// Whether something can be read.
    ///
    /// # Errors
    /// Why this could not begin.
    pub fn check_begun(&self) -> Result<()> {
        self.refusal.as_ref().map_or(Ok(()), |(kind, text)| Err(Error::new(*kind, &**text)))
    }

    /// What runs programs where the vertices lie, if anything does.
    #[must_use]
    pub fn travels(&self) -> Option<Arc<dyn Travels>> {
        if self.refusal.is_none() { self.asker.travels() } else { None }
    }

    /// The moment that is read.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// How the graph is divided.
    #[must_use]
    pub fn map(&self) -> &dyn GraphMap {
        &*self.map
    }

    /// The partition of a group.
    pub(super) fn partition_of(&self, group: GroupId) -> PartitionId {
        self.map.partitions().of_group(group)
    }

    /// All partitions.
    pub(super) fn partitions(&self) -> impl ExactSizeIterator<Item = PartitionId> + use<> {
        (0..self.map.partitions().get()).map(PartitionId)
    }

    /// The most bytes of an answer of one partition, about.
    pub(super) fn answer_bytes_max(&self) -> usize {
        self.limits.answer_bytes_max
    }

    /// Whether reads may take messages that go together if they are announced.
    pub(super) fn heeds_ahead(&self) -> bool {
        self.has_missed.load(Ordering::Relaxed) || !self.asker.keeps_all()
    }

    /// A partition at hand.
    pub(super) fn own_view(&self, partition: PartitionId) -> Option<Arc<dyn PartitionView>> {
        let view = self.asker.own_view(partition);
        if view.is_none() {
            self.has_missed.store(true, Ordering::Relaxed);
        }
        view
    }

    /// Asks, and waits until everything is answered. Indexes at hand are read while others answer.
    ///
    /// # Errors
    /// As [`ask_all`].
    pub(super) fn ask(
        &self,
        questions: Vec<(PartitionId, ViewQuestion)>,
    ) -> Result<Vec<(ViewQuestion, ViewAnswer)>> {
        let bytes_max = self.limits.answer_bytes_max;
        let mut answered: Vec<_> = questions.iter().map(|_| None).collect();
        let (mut own, others) = self.part_own(questions);
        if own.is_empty() {
            return ask_all(&*self.asker, bytes_max, others);
        }
        let (mut places, mut failed) = (Vec::new(), Vec::new());
        let mut read_own = |others: CheckTime<'_>| {
            self.answer_own(std::mem::take(&mut own), others, |asked, answer| match answer {
                Some(answer) => answered[asked.place] = Some((asked.question, answer)),
                None => {
                    places.push(asked.place);
                    failed.push((asked.partition, asked.question));
                }
            })
        };
        let of_others = ask_all_beside(&*self.asker, bytes_max, others, &mut read_own)?;
        // Another copy may answer.
        for (place, answer) in places.into_iter().zip(ask_all(&*self.asker, bytes_max, failed)?) {
            answered[place] = Some(answer);
        }
        let mut of_others = of_others.into_iter();
        answered.iter_mut().filter(|answer| answer.is_none()).for_each(|answer| *answer = of_others.next());
        Ok(answered.into_iter().map(|answer| answer.expect("every question was read or asked")).collect())
    }

    /// Asks one question.
    ///
    /// # Errors
    /// As [`ask_all`].
    pub(super) fn ask_one(&self, partition: PartitionId, question: ViewQuestion) -> Result<ViewAnswer> {
        let answer = self.ask(vec![(partition, question)])?.pop();
        answer.map(|(_, answer)| answer).ok_or_else(|| nothing_answered(partition))
    }

    /// Keeps an answer.
    pub(super) fn keep(&self, question: &ViewQuestion, answer: ViewAnswer) {
        self.kept.lock().add(question, answer);
    }

    /// What is kept, or comes if what was announced is asked for now, with `items`, which are read now.
    pub(super) fn known<Q: ItemQuestion, T>(
        &self,
        asked: &Q,
        items: &[Q::Item],
        read: impl Fn(&KeptAnswers) -> Option<T>,
    ) -> Option<T> {
        let found = read(&self.kept.lock());
        if found.is_some() || !self.ask_announced(asked, items.iter().copied()) {
            return found;
        }
        read(&self.kept.lock())
    }

    /// Asks once for what was announced, and for what is read now in the same messages, if that is little; whether something was
    /// asked. What was announced and not answered stays announced. Errors are those of whoever reads it.
    fn ask_announced<Q: ItemQuestion>(&self, asked: &Q, items: impl Iterator<Item = Q::Item>) -> bool {
        let announced = std::mem::take(&mut *self.announced.lock());
        if announced.questions.is_empty() {
            return false;
        }
        let mut questions = Vec::new();
        let items: Vec<_> = items.take(KEPT_ITEMS_MAX + 1).map(|item| (item, 0)).collect();
        if items.len() <= KEPT_ITEMS_MAX {
            for (partition, mut items) in self.scatter(asked, items.into_iter()).parts {
                announced.drop_announced(asked, partition, &mut items);
                if !items.is_empty() {
                    questions.push((partition, asked.question(items)));
                }
            }
        }
        questions.extend(announced.questions);
        if let Ok(round) = ask_once(&*self.asker, self.limits.answer_bytes_max, questions) {
            {
                let mut kept = self.kept.lock();
                round.answered.into_iter().for_each(|(question, answer)| kept.add(&question, answer));
            }
            self.announced.lock().put_back(round.rest);
        }
        true
    }

    /// Some items are going to be read, one after the other.
    pub(super) fn announce<Q: ItemQuestion>(&self, asked: &Q, items: &[Q::Item]) {
        let own = self.groups_at_hand();
        let others = items.iter().filter(|item| !own.has(asked.group(item)));
        let others: Vec<Q::Item> = others.copied().collect();
        if others.is_empty() {
            return;
        }
        let room = self.announced.lock().room();
        let unknown: Vec<_> = {
            let kept = self.kept.lock();
            let unknown = others.iter().filter(|item| !asked.is_kept(&kept, **item));
            unknown.take(room).map(|item| (*item, 0)).collect()
        };
        let scattered = self.scatter(asked, unknown.into_iter());
        let mut announced = self.announced.lock();
        for (partition, items) in scattered.parts {
            announced.add(asked, partition, items);
        }
    }

    /// Values are going to be looked up, one after the other.
    pub(super) fn announce_values(&self, index: IndexId, values: &[Value]) {
        let mut unknown: Vec<(IndexId, Value)> = values.iter().map(|value| (index, value.clone())).collect();
        {
            let kept = self.kept.lock();
            unknown.retain(|key| !kept.items_of_values.has(key));
        }
        let mut announced = self.announced_values.lock();
        unknown.into_iter().for_each(|(index, value)| announced.add(index, value));
    }

    /// Where the items of an index may be that are filed under `value`.
    pub(super) fn partitions_of(&self, index: IndexId, value: &Value) -> Vec<PartitionId> {
        match self.map.partition_of_value(index, value) {
            Some(partition) => vec![partition],
            None => self.partitions().collect(),
        }
    }

    /// The first items of a value by an index, if they are kept or were announced. An error is that of whoever asks for them
    /// alone: others may be elsewhere.
    pub(super) fn items_of_value(&self, index: IndexId, value: &Value) -> Option<Arc<AnswerPage<ItemId>>> {
        let key = (index, value.clone());
        if let Some(page) = self.kept.lock().items_of_values.get(&key) {
            return Some(page);
        }
        let partitions = self.partitions_of(index, value).len();
        let values = self.announced_values.lock().take_from(index, value, partitions);
        if values.is_empty() {
            return None;
        }
        self.ask_values(values).ok()
    }

    /// Asks for the first items of values, and keeps them; those of the first value.
    fn ask_values(&self, values: Vec<(IndexId, Value)>) -> Result<Arc<AnswerPage<ItemId>>> {
        let (mut questions, mut counts) = (Vec::new(), Vec::with_capacity(values.len()));
        for (index, value) in &values {
            let partitions = self.partitions_of(*index, value);
            counts.push(partitions.len());
            questions.extend(partitions.into_iter().map(|partition| {
                let (value, limit) = (value.clone(), ITEMS_OF_VALUE);
                (partition, ViewQuestion::ItemsOfValue { index: *index, value, after: None, limit })
            }));
        }
        let partitions: Vec<_> = questions.iter().map(|(partition, _)| *partition).collect();
        let answered = self.ask(questions)?.into_iter().map(|(_, answer)| answer.into_items());
        let mut pages = partitions.into_iter().zip(answered);
        let mut first = None;
        for ((index, value), count) in values.into_iter().zip(counts) {
            let page = Arc::new(merged_pages(pages.by_ref().take(count).collect())?);
            self.kept.lock().add_page_of_value(index, value, Arc::clone(&page));
            first.get_or_insert(page);
        }
        first.ok_or_else(|| nothing_answered(PartitionId(0)))
    }

    /// Keeps the first items of a value, as long as they are few.
    pub(super) fn keep_items_of_value(&self, index: IndexId, value: &Value, page: AnswerPage<ItemId>) {
        if page.entries.len() <= KEPT_ITEMS_MAX {
            self.kept.lock().add_page_of_value(index, value.clone(), Arc::new(page));
        }
    }

    fn scatter<Q: ItemQuestion>(
        &self,
        asked: &Q,
        items: impl Iterator<Item = (Q::Item, usize)>,
    ) -> ScatteredItems<Q::Item> {
        ScatteredItems::of(items, |item| self.partition_of(asked.group(item)))
    }

    /// Reads items, in their order.
    ///
    /// # Errors
    /// As [`ask_all`].
    pub(super) fn read<R: ItemRead>(&self, asked: &R, items: &[R::Item]) -> Result<Vec<R::Answer>> {
        let mut answers: Vec<Option<R::Answer>> = vec![None; items.len()];
        if self.fill_own(asked, items, &mut answers) {
            return Ok(whole(answers));
        }
        if !self.fill(asked, items, &mut answers) {
            let unknown = items.iter().zip(&answers).filter(|(_, answer)| answer.is_none());
            if self.ask_announced(asked, unknown.map(|(item, _)| *item)) {
                self.fill(asked, items, &mut answers);
            }
        }
        let unknown = (0..items.len()).filter(|at| answers[*at].is_none()).map(|at| (items[at], at));
        let ScatteredItems { parts, places } = self.scatter(asked, unknown);
        if !parts.is_empty() {
            self.announced.lock().drop_asked(asked, &parts);
        }
        let questions = parts.into_iter().map(|(partition, items)| (partition, asked.question(items)));
        let answered = self.ask(questions.collect())?;
        for ((question, answer), places) in answered.into_iter().zip(places) {
            if items.len() <= KEPT_ITEMS_MAX {
                self.keep(&question, answer.clone());
            }
            let said = asked.answers(answer);
            for (at, place) in places {
                answers[place] = Some(said[at].clone());
            }
        }
        Ok(whole(answers))
    }

    /// Fills in what is kept; whether nothing is left.
    fn fill<R: ItemRead>(&self, asked: &R, items: &[R::Item], answers: &mut [Option<R::Answer>]) -> bool {
        let kept = self.kept.lock();
        let mut is_whole = true;
        for (item, answer) in items.iter().zip(answers) {
            if answer.is_none() {
                *answer = asked.kept(&kept, *item);
                is_whole &= answer.is_some();
            }
        }
        is_whole
    }

    /// All properties of one item, page by page: `question` asks for those behind a key.
    ///
    /// # Errors
    /// As [`ask_all`].
    pub(super) fn read_map(
        &self,
        partition: PartitionId,
        question: impl Fn(Option<KeyId>) -> ViewQuestion,
    ) -> Result<Vec<(KeyId, Value)>> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = self.ask_one(partition, question(after))?.into_maps().pop();
            let page = page.ok_or_else(|| nothing_answered(partition))?;
            let is_empty = page.entries.is_empty();
            check_progress(partition, all.last(), &page.entries, |one: &(KeyId, Value), other| {
                one.0 < other.0
            })?;
            all.extend(page.entries);
            if page.is_last {
                return Ok(all);
            }
            if is_empty {
                return Err(nothing_answered(partition));
            }
            after = all.last().map(|(key, _)| *key);
        }
    }

    /// The rows of `group`, a group of `label`. Asks about those of the next groups of a scan, too.
    ///
    /// # Errors
    /// As [`ask_all`].
    pub(super) fn rows(&self, group: GroupId, label: LabelId) -> Result<GroupBits> {
        self.with_groups(|groups| self.scans.lock().reads(groups, group, label));
        if let Some(rows) = self.read_own(group, |own| own.live(group)) {
            return Ok(rows);
        }
        match self.known(&FactsRead, &[], |kept| kept.live.get(&group)) {
            Some(rows) => Ok(*rows),
            None => self.scan_groups(group, label),
        }
    }

    fn scan_groups(&self, group: GroupId, label: LabelId) -> Result<GroupBits> {
        let mut by_partition: BTreeMap<PartitionId, (Vec<GroupId>, Vec<GroupId>)> = BTreeMap::new();
        let own = self.groups_at_hand();
        let next = self.with_groups(|groups| {
            let is_known = |group| own.has(group) || self.kept.lock().live.has(&group);
            self.scans.lock().next_rows(groups, (group, label), is_known)
        });
        for group in next {
            let (all, unknown) = by_partition.entry(self.partition_of(group)).or_default();
            all.push(group);
            if !self.kept.lock().groups.has(&group) {
                unknown.push(group);
            }
        }
        let mut questions = Vec::new();
        for (partition, (groups, unknown)) in by_partition {
            if !unknown.is_empty() {
                questions.push((partition, ViewQuestion::Groups { groups: unknown }));
            }
            questions.push((partition, ViewQuestion::Live { groups }));
        }
        let answered = self.ask(questions)?;
        let mut rows = None;
        let mut kept = self.kept.lock();
        for (question, answer) in answered {
            if let (ViewQuestion::Live { groups }, ViewAnswer::Live(all)) = (&question, &answer) {
                rows = rows.or(groups.binary_search(&group).ok().map(|at| all[at]));
            }
            kept.add(&question, answer);
        }
        rows.ok_or_else(|| nothing_answered(self.partition_of(group)))
    }

    /// The edge types of `group`, which has a label. Asks about those of the next groups of a scan, too.
    ///
    /// # Errors
    /// As [`ask_all`].
    pub(super) fn facts(&self, group: GroupId) -> Result<Arc<GroupFacts>> {
        if let Some(facts) = self.read_own(group, |own| own.facts(&[group])) {
            return facts
                .into_iter()
                .next()
                .map(Arc::new)
                .ok_or_else(|| nothing_answered(self.partition_of(group)));
        }
        if let Some(facts) = self.known(&FactsRead, &[group], |kept| kept.groups.get(&group)) {
            return Ok(facts);
        }
        let own = self.groups_at_hand();
        let next = self.with_groups(|groups| {
            let is_known = |group| own.has(group) || self.kept.lock().groups.has(&group);
            self.scans.lock().next_edge_types(groups, group, is_known)
        });
        let facts = self.read(&FactsRead, &next)?.into_iter().next();
        facts.ok_or_else(|| nothing_answered(self.partition_of(group)))
    }

    /// Does something with the groups that have labels.
    fn with_groups<T>(&self, with: impl FnOnce(&LabelledGroups<'_>) -> T) -> T {
        let label = |group| self.map.group_label(group);
        with(&LabelledGroups { count: self.map.group_count(), label: &label })
    }

    /// The sizes of all indexes, those of all partitions together.
    ///
    /// `None` if a partition did not answer. Then none is asked again, or each index would take as long as a reader waits:
    /// it costs a plan at most.
    pub(super) fn index_sizes(&self) -> Option<Arc<HashMap<IndexId, IndexSize>>> {
        match &self.kept.lock().index_sizes {
            KeptIndexSizes::Unasked => {}
            KeptIndexSizes::Unknown => return None,
            KeptIndexSizes::Known(sizes) => return Some(Arc::clone(sizes)),
        }
        let sizes = match self.ask_index_sizes() {
            Ok(sizes) => KeptIndexSizes::Known(Arc::new(sizes)),
            // It says nothing of the partitions.
            Err(error) if error.kind() == ErrorKind::Cancelled => return None,
            Err(_) => KeptIndexSizes::Unknown,
        };
        let known = sizes.known();
        self.kept.lock().index_sizes = sizes;
        known
    }

    fn ask_index_sizes(&self) -> Result<HashMap<IndexId, IndexSize>> {
        let questions = self.partitions().map(|partition| (partition, ViewQuestion::IndexSizes));
        let mut sizes: HashMap<IndexId, IndexSize> = HashMap::new();
        for (_, answer) in self.ask(questions.collect())? {
            for (index, size) in answer.into_index_sizes() {
                let sum = sizes.entry(index).or_default();
                sum.entries = sum.entries.saturating_add(size.entries);
                sum.bytes = sum.bytes.saturating_add(size.bytes);
                sum.file_bytes = sum.file_bytes.saturating_add(size.file_bytes);
            }
        }
        Ok(sizes)
    }
}

fn whole<A>(answers: Vec<Option<A>>) -> Vec<A> {
    answers.into_iter().map(|answer| answer.expect("whatever was not known was asked for")).collect()
}

impl fmt::Debug for RemoteSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteSnapshot").field("timestamp", &self.timestamp).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
