//! Open questions: those that a node has asked and that were not answered yet, each until its deadline.
//!
//! ```text
//! ask ──> question on its way, deadline ──answer, refusal──> what the asker gets
//!                    └──────────── deadline ───────────────> nothing: it asks another holder
//! ```
//!
//! A network may lose, double and delay what it carries. So a question has a number that is never given again, its first answer
//! counts, from the node that was asked, and whoever gets none goes on at the deadline.

use crate::digest::SeenLog;
use crate::planted::{Bug, planted};
use crate::record_id::{Author, NodeId};
use crate::remote::question::{Answer, Question, QuestionId, QuestionRefusal, RefusalReason};
use evergraph_graph::id::PartitionId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What came of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuestionOutcome {
    /// Which question.
    pub id: QuestionId,
    /// Who was asked.
    pub node: NodeId,
    /// What was answered, or why nothing was; `None`: nobody said anything.
    pub result: Option<Result<Vec<u8>, RefusalReason>>,
}

/// The questions of one node.
#[derive(Debug)]
pub struct OpenQuestions {
    asker: Author,
    /// Questions that may be open at once.
    questions_max: usize,
    asked: u64,
    open: BTreeMap<u64, OpenQuestion>,
    /// When each of them ends.
    deadlines: BTreeSet<(Duration, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct OpenQuestion {
    node: NodeId,
    ends_at: Duration,
}

impl OpenQuestions {
    /// Of `asker`, at most so many at once.
    #[must_use]
    pub fn new(asker: Author, questions_max: usize) -> Self {
        Self { asker, questions_max, asked: 0, open: BTreeMap::new(), deadlines: BTreeSet::new() }
    }

    /// Asks `node` about a partition as of `at`. The question goes to it now; it is open for as long as the asker's patience
    /// lasts. `None` if too many are open: the caller waits for answers.
    pub fn ask(
        &mut self,
        now: Duration,
        node: NodeId,
        (partition, at): (PartitionId, SeenLog),
        patience: Duration,
        asked: Vec<u8>,
    ) -> Option<Question> {
        if self.open.len() >= self.questions_max {
            return None;
        }
        self.asked += 1;
        let id = QuestionId { asker: self.asker, number: self.asked };
        let ends_at = now.saturating_add(patience);
        self.open.insert(id.number, OpenQuestion { node, ends_at });
        self.deadlines.insert((ends_at, id.number));
        Some(Question { id, partition, at, patience, asked })
    }

    /// An answer came from `node`. `None` if nobody waits for it.
    pub fn answered(&mut self, node: NodeId, answer: Answer) -> Option<QuestionOutcome> {
        let Answer { id, answered } = answer;
        self.close(node, id).map(|node| QuestionOutcome { id, node, result: Some(Ok(answered)) })
    }

    /// A refusal came from `node`. `None` if nobody waits for it.
    pub fn refused(&mut self, node: NodeId, refusal: QuestionRefusal) -> Option<QuestionOutcome> {
        let QuestionRefusal { id, reason } = refusal;
        self.close(node, id).map(|node| QuestionOutcome { id, node, result: Some(Err(reason)) })
    }

    /// The questions whose deadline has passed at `now`, by their deadlines.
    ///
    /// Cost: that of these questions.
    pub fn overdue(&mut self, now: Duration) -> Vec<QuestionOutcome> {
        let mut outcomes = Vec::new();
        while let Some((_, number)) = self.deadlines.first().copied().filter(|(ends_at, _)| *ends_at <= now)
            && !planted(Bug::DeadlineIgnored)
        {
            let Some(open) = self.remove(number) else { break };
            let id = QuestionId { asker: self.asker, number };
            outcomes.push(QuestionOutcome { id, node: open.node, result: None });
        }
        outcomes
    }

    /// The asker does not wait for an answer any more.
    pub fn forget(&mut self, id: QuestionId) {
        if id.asker == self.asker {
            self.remove(id.number);
        }
    }

    /// When the next deadline passes.
    #[must_use]
    pub fn next_step_at(&self) -> Option<Duration> {
        self.deadlines.first().map(|(ends_at, _)| *ends_at)
    }

    /// How many are open.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open.len()
    }

    fn close(&mut self, node: NodeId, id: QuestionId) -> Option<NodeId> {
        let open = self.open.get(&id.number).filter(|_| id.asker == self.asker)?;
        if open.node != node && !planted(Bug::AnswerOfStranger) {
            return None;
        }
        self.remove(id.number).map(|open| open.node)
    }

    fn remove(&mut self, number: u64) -> Option<OpenQuestion> {
        let open = self.open.remove(&number)?;
        self.deadlines.remove(&(open.ends_at, number));
        Some(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;

    const ASKER: Author = Author { node: NodeId(3), incarnation: 2 };

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn ask(open: &mut OpenQuestions, now: u64, node: u16) -> Option<Question> {
        open.ask(ms(now), NodeId(node), (PartitionId(5), SeenLog::START), ms(100), vec![7])
    }

    fn answer(question: &Question) -> Answer {
        Answer { id: question.id, answered: vec![8, 9] }
    }

    #[test]
    fn the_first_answer_of_the_node_that_was_asked_counts() {
        let mut open = OpenQuestions::new(ASKER, 9);
        let question = ask(&mut open, 0, 1).unwrap();
        assert_eq!(open.answered(NodeId(2), answer(&question)), None, "another node was asked");
        let answered = open.answered(NodeId(1), answer(&question)).unwrap();
        assert_eq!((answered.node, answered.result), (NodeId(1), Some(Ok(vec![8, 9]))));
        assert_eq!(open.answered(NodeId(1), answer(&question)), None, "a double");
        let other = ask(&mut open, 0, 1).unwrap();
        assert_ne!(other.id, question.id);
        let refusal = QuestionRefusal { id: other.id, reason: RefusalReason::TooOld };
        let refused = open.refused(NodeId(1), refusal).unwrap();
        assert_eq!(refused.result, Some(Err(RefusalReason::TooOld)));
    }

    #[test]
    fn an_answer_to_an_earlier_start_of_the_node_says_nothing() {
        let mut open = OpenQuestions::new(ASKER, 9);
        let question = ask(&mut open, 0, 1).unwrap();
        let earlier = Author { incarnation: 1, ..ASKER };
        let late = Answer { id: QuestionId { asker: earlier, ..question.id }, answered: vec![] };
        assert_eq!(open.answered(NodeId(1), late), None);
        assert_eq!(open.count(), 1);
    }

    #[test]
    fn who_gets_no_answer_goes_on_at_the_deadline() {
        let mut open = OpenQuestions::new(ASKER, 2);
        let first = ask(&mut open, 0, 1).unwrap();
        let second = ask(&mut open, 50, 2).unwrap();
        assert_eq!(ask(&mut open, 60, 1), None, "two are open");
        assert_eq!(open.next_step_at(), Some(ms(100)));
        assert!(open.overdue(ms(99)).is_empty());
        let overdue = QuestionOutcome { id: first.id, node: NodeId(1), result: None };
        assert_eq!(open.overdue(ms(100)), [overdue], "nobody said anything");
        assert_eq!(open.answered(NodeId(1), answer(&first)), None, "too late");
        open.forget(second.id);
        assert_eq!((open.count(), open.next_step_at()), (0, None));
    }

    #[test]
    fn planted_bugs_are_found() {
        let stranger = the_first_answer_of_the_node_that_was_asked_counts;
        let deadline = who_gets_no_answer_goes_on_at_the_deadline;
        assert_found(Bug::AnswerOfStranger, stranger, "another node was asked");
        assert_found(Bug::DeadlineIgnored, deadline, "nobody said anything");
    }
}
