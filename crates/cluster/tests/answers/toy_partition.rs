//! Toy partition: a store that remembers the values that it was given, and forgets what was merged. Whoever reads at a moment
//! that was merged away gets a wrong value, and no error.

use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::partition_store::{Installed, PartitionStore};
use evergraph_graph::error::Result;
use evergraph_graph::id::KeyId;
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// What a partition holds at a moment: how often it was written, and the newest value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ToyValue {
    pub commits: u64,
    pub newest: i64,
}

impl ToyValue {
    /// After another commit.
    pub fn after(self, newest: i64) -> Self {
        Self { commits: self.commits + 1, newest }
    }

    /// As the bytes of an answer.
    pub fn encode(self) -> Vec<u8> {
        [self.commits.to_le_bytes(), self.newest.to_le_bytes()].concat()
    }
}

/// What a store holds.
#[derive(Debug)]
pub struct ToyState {
    installed: Installed,
    /// What is merged.
    base: ToyValue,
    /// What is not, in order.
    versions: VecDeque<(Timestamp, i64)>,
}

/// A store that its node, the work on questions and merges share.
#[derive(Clone, Debug)]
pub struct ToyPartition {
    state: Rc<RefCell<ToyState>>,
}

/// The value that a commit sets.
pub fn value_of(mutations: &[Mutation]) -> i64 {
    let mut values = mutations.iter().filter_map(|mutation| match mutation {
        Mutation::SetVertexProperties { properties, .. } => properties.get(KeyId(0)).flatten(),
        _ => None,
    });
    match values.next_back() {
        Some(Value::I64(value)) => *value,
        other => panic!("a commit sets a number, not {other:?}"),
    }
}

impl ToyPartition {
    /// Without commits.
    pub fn new() -> Self {
        let installed = Installed::all(&SeenLog::START);
        let state = ToyState { installed, base: ToyValue::default(), versions: VecDeque::new() };
        Self { state: Rc::new(RefCell::new(state)) }
    }

    /// What it holds at the end of a message, unless that was merged away.
    pub fn value_at(&self, at: LogPosition) -> ToyValue {
        let state = self.state.borrow();
        let seen = state.versions.iter().take_while(|(timestamp, _)| timestamp.visible_at(at.end()));
        seen.fold(state.base, |value, (_, newest)| value.after(*newest))
    }

    /// Nobody reads before the end of a message any more: everything up to there is merged.
    pub fn merge_to(&self, oldest: LogPosition) {
        let mut state = self.state.borrow_mut();
        while let Some((timestamp, newest)) = state.versions.front().copied()
            && timestamp.visible_at(oldest.end())
        {
            state.versions.pop_front();
            state.base = state.base.after(newest);
        }
    }
}

impl PartitionStore for ToyPartition {
    type PendingSync = ();

    fn installed(&self) -> Installed {
        self.state.borrow().installed
    }

    fn has_filled(&self, _: IndexId) -> bool {
        true
    }

    fn apply(&mut self, timestamp: Timestamp, mutations: Vec<Mutation>, seen: &SeenLog) -> Result<()> {
        let mut state = self.state.borrow_mut();
        state.versions.push_back((timestamp, value_of(&mutations)));
        state.installed = Installed { through: timestamp, seen: *seen };
        Ok(())
    }

    fn publish_through(&mut self, seen: &SeenLog) -> Result<()> {
        self.state.borrow_mut().installed = Installed::all(seen);
        Ok(())
    }

    fn begin_sync(&self) {}
}
