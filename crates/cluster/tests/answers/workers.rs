//! Workers: they answer questions after a while, from what the store holds then.

use crate::toy_partition::ToyPartition;
use evergraph_cluster::node::answering::{AnswerQuestions, AskedQuestion};
use evergraph_cluster::remote::question::{QuestionId, RefusalReason};
use evergraph_cluster::seeded::{EventQueue, OneIn, SeededChance};
use std::time::Duration;

/// How long work takes, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct WorkTimes {
    /// Mostly, at most.
    pub usual: u64,
    /// Now and then, at most.
    pub long: u64,
}

pub struct Workers {
    chance: SeededChance,
    times: WorkTimes,
    pub now: Duration,
    work: EventQueue<(ToyPartition, AskedQuestion)>,
}

impl Workers {
    pub fn new(seed: u64, times: WorkTimes) -> Self {
        let work = EventQueue::default();
        Self { chance: SeededChance::new(seed), times, now: Duration::ZERO, work }
    }
}

impl AnswerQuestions<ToyPartition> for Workers {
    fn begin(&mut self, store: &ToyPartition, question: AskedQuestion) {
        let most = if self.chance.happens(OneIn(20)) { self.times.long } else { self.times.usual };
        let ends_at = self.now + self.chance.up_to(Duration::from_millis(most));
        self.work.plan(ends_at, (store.clone(), question));
    }

    fn forget(&mut self, _id: QuestionId) {
        // Whoever works notices it late, or not at all.
    }

    fn next_answer(&mut self) -> Option<(QuestionId, Result<Vec<u8>, RefusalReason>)> {
        let (_, (store, question)) = self.work.take_due(self.now)?;
        Some((question.id, Ok(store.value_at(question.at.position).encode())))
    }
}
