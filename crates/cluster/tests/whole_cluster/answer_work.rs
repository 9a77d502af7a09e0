//! Answer work: questions are answered after a while, from a snapshot that was taken when they came, as by the threads of a node.

use crate::machine::Partition;
use evergraph_cluster::node::answering::{AnswerQuestions, AskedQuestion};
use evergraph_cluster::remote::question::{CONTENT_BYTES_MAX, QuestionId, RefusalReason};
use evergraph_cluster::remote::view_answering::answer_view;
use evergraph_cluster::seeded::{EventQueue, OneIn, SeededChance};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::partition::OwnGroups;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::snapshot::handle::Snapshot;
use std::time::Duration;

/// Mostly, at most.
const USUAL: Duration = Duration::from_millis(30);
/// Now and then, at most.
const LONG: Duration = Duration::from_millis(1500);

type Answered = (QuestionId, Result<Vec<u8>, RefusalReason>);

/// What is done at its time.
enum Work {
    Read { snapshot: Snapshot<MemoryEngine>, own: OwnGroups, question: AskedQuestion },
    Tell(Answered),
}

pub struct AnswerWork {
    chance: SeededChance,
    pub now: Duration,
    works: EventQueue<Work>,
}

impl AnswerWork {
    pub fn new(seed: u64) -> Self {
        Self { chance: SeededChance::new(seed), now: Duration::ZERO, works: EventQueue::default() }
    }
}

fn reason_of(error: &Error) -> RefusalReason {
    match error.kind() {
        ErrorKind::Conflict => RefusalReason::TooOld,
        _ => RefusalReason::Failed { reason: error.to_string() },
    }
}

impl AnswerQuestions<Partition> for AnswerWork {
    fn begin(&mut self, store: &Partition, question: AskedQuestion) {
        let most = if self.chance.happens(OneIn(40)) { LONG } else { USUAL };
        let ends_at = self.now + self.chance.up_to(most);
        let work = match store.snapshot_at(question.at.position) {
            Ok(snapshot) => Work::Read { snapshot, own: store.own_groups(), question },
            Err(error) => Work::Tell((question.id, Err(reason_of(&error)))),
        };
        self.works.plan(ends_at, work);
    }

    fn forget(&mut self, _id: QuestionId) {
        // Whoever works notices it late, or not at all.
    }

    fn next_answer(&mut self) -> Option<Answered> {
        let (_, work) = self.works.take_due(self.now)?;
        Some(match work {
            Work::Tell(answered) => answered,
            Work::Read { snapshot, own, question } => {
                let answered = answer_view(&snapshot, own, &question.asked, CONTENT_BYTES_MAX, &|| Ok(()));
                (question.id, answered.map_err(|error| reason_of(&error)))
            }
        })
    }
}
