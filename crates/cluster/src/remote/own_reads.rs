//! Own reads: what a remote snapshot reads of partitions at hand, in the thread of the reader.
//!
//! ```text
//! read ──> at hand? ── no, or the store fails ──> None: it is asked by messages, and another copy may answer
//!           └ yes ──> Some
//! ```

use crate::planted::{Bug, planted};
use crate::remote::item_reads::ItemRead;
use crate::remote::partition_view::PartitionView;
use crate::remote::remote_snapshot::RemoteSnapshot;
use crate::remote::view_answer::ViewAnswer;
use crate::remote::view_question::ViewQuestion;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, PartitionId};
use evergraph_graph::wait_limit::WaitLimit;
use evergraph_storage::snapshot::index_entries::CheckTime;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Questions at the beginning of which the limit is checked: the first, and then one of so many. A look at the clock takes as long
/// as a look-up.
const QUESTIONS_EACH: u64 = 64;

/// Which partitions are at hand, for many groups at once: each partition is looked for once.
pub(super) struct OwnGroupsAtHand<'s> {
    snapshot: &'s RemoteSnapshot,
    known: RefCell<BTreeMap<PartitionId, bool>>,
}

impl OwnGroupsAtHand<'_> {
    /// Whether a group lies in a partition at hand.
    pub(super) fn has(&self, group: GroupId) -> bool {
        let partition = self.snapshot.partition_of(group);
        let mut known = self.known.borrow_mut();
        *known.entry(partition).or_insert_with(|| self.snapshot.own_view(partition).is_some())
    }
}

/// A question about an index at hand, and where whoever asks wants its answer.
pub(super) struct OwnIndexQuestion {
    pub(super) place: usize,
    pub(super) partition: PartitionId,
    pub(super) question: ViewQuestion,
    view: Arc<dyn PartitionView>,
}

impl OwnIndexQuestion {
    /// `None`: as with [`RemoteSnapshot::read_own`].
    ///
    /// # Errors
    /// As [`OwnWorkLooks::check`].
    fn answer(&self, bytes_max: usize, looks: &OwnWorkLooks<'_>) -> Result<Option<ViewAnswer>> {
        looks.begin_question()?;
        let is_first = Cell::new(true);
        let check_time = || match is_first.replace(false) {
            // The question has just begun.
            true => Ok(()),
            false if planted(Bug::OwnScanUnlooked) => Ok(()),
            false => looks.check(),
        };
        let read = AssertUnwindSafe(|| self.view.of_index(&self.question, bytes_max, &check_time));
        match catch_unwind(read) {
            Ok(Ok(answer)) => Ok(answer),
            // It may be the store's: then another copy may answer.
            Ok(Err(_)) | Err(_) => looks.check().map(|()| None),
        }
    }
}

/// Looks at what ends own work, for all questions that one call reads at hand.
struct OwnWorkLooks<'l> {
    limit: WaitLimit,
    /// Whether what is asked meanwhile has failed.
    others: CheckTime<'l>,
    questions: Cell<u64>,
}

impl<'l> OwnWorkLooks<'l> {
    /// The limit is that of the thread now.
    fn new(others: CheckTime<'l>) -> Self {
        Self { limit: WaitLimit::of_thread(), others, questions: Cell::new(0) }
    }

    /// # Errors
    /// `cancelled` if the limit has ended; the error of others.
    fn check(&self) -> Result<()> {
        self.limit.check()?;
        (self.others)()
    }

    /// Checks at some of the questions: most are short, and look no more.
    fn begin_question(&self) -> Result<()> {
        let before = self.questions.replace(self.questions.get() + 1);
        if before.is_multiple_of(QUESTIONS_EACH) { self.check() } else { Ok(()) }
    }
}

impl RemoteSnapshot {
    /// Which groups lie in partitions at hand.
    pub(super) fn groups_at_hand(&self) -> OwnGroupsAtHand<'_> {
        OwnGroupsAtHand { snapshot: self, known: RefCell::default() }
    }

    /// Reads the partition of a group, if it is at hand. `None`: it is asked, and another copy may answer; so it is behind an error,
    /// or what unwinds, which was this read's alone.
    pub(super) fn read_own<T>(
        &self,
        group: GroupId,
        read: impl FnOnce(&dyn PartitionView) -> Result<T>,
    ) -> Option<T> {
        let own = self.own_view(self.partition_of(group))?;
        catch_unwind(AssertUnwindSafe(|| read(&*own))).ok()?.ok()
    }

    /// Parts questions into those about indexes at hand and the others, which are asked by messages.
    pub(super) fn part_own(
        &self,
        questions: Vec<(PartitionId, ViewQuestion)>,
    ) -> (Vec<OwnIndexQuestion>, Vec<(PartitionId, ViewQuestion)>) {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (place, (partition, question)) in questions.into_iter().enumerate() {
            let is_of_index = matches!(
                question,
                ViewQuestion::ItemsOfValue { .. }
                    | ViewQuestion::PairsBetween { .. }
                    | ViewQuestion::IndexSizes
            );
            match if is_of_index { self.own_view(partition) } else { None } {
                Some(view) => own.push(OwnIndexQuestion { place, partition, question, view }),
                None => others.push((partition, question)),
            }
        }
        (own, others)
    }

    /// Answers questions about indexes at hand, one after the other, within the limit that the thread has now and for as long as
    /// `others` does not fail. `take` gets each with its answer; `None`: as with [`RemoteSnapshot::read_own`].
    ///
    /// # Errors
    /// `cancelled` if the limit has ended; what `others` says.
    pub(super) fn answer_own(
        &self,
        questions: Vec<OwnIndexQuestion>,
        others: CheckTime<'_>,
        mut take: impl FnMut(OwnIndexQuestion, Option<ViewAnswer>),
    ) -> Result<()> {
        let looks = OwnWorkLooks::new(others);
        for question in questions {
            let answer = question.answer(self.answer_bytes_max(), &looks)?;
            take(question, answer);
        }
        Ok(())
    }

    /// Fills in what is at hand, by runs of items in one partition; whether nothing is left.
    pub(super) fn fill_own<R: ItemRead>(
        &self,
        asked: &R,
        items: &[R::Item],
        answers: &mut [Option<R::Answer>],
    ) -> bool {
        let partition = |item: &R::Item| self.partition_of(asked.group(item));
        let (mut is_whole, mut at) = (true, 0);
        for run in items.chunk_by(|one, other| partition(one) == partition(other)) {
            let places = &mut answers[at..at + run.len()];
            at += run.len();
            match self.read_own(asked.group(&run[0]), |own| asked.read_own(own, run)) {
                Some(found) if found.len() == run.len() => {
                    places.iter_mut().zip(found).for_each(|(place, said)| *place = Some(said));
                }
                // Too few or too many, and nobody knows of which items.
                Some(_) | None => is_whole = false,
            }
        }
        is_whole
    }
}
