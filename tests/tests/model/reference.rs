//! Reference: what may happen to a database next, and what its model is then.
//!
//! A step names what it is about, so that a program from which steps were taken away stays a program:
//! steps about what is no longer there fall out by the preconditions.

use crate::graph::{Edge, Graph, Key, Label, Open, Values, Write, clash};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;
use proptest_state_machine::ReferenceStateMachine;
use std::collections::BTreeMap;

/// Transactions that may be open at once.
const SLOTS: usize = 3;
/// Snapshots that may be open at once.
const SNAPSHOTS_MAX: usize = 4;
/// Values are few, so that transactions meet.
const VALUES: u8 = 5;
/// Edges of one burst: more than a tail holds.
pub const BURST: u32 = 80;

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Step {
    Begin(usize),
    AddVertex {
        slot: usize,
        vertex: u32,
        label: Label,
        name: Option<u8>,
    },
    SetVertex {
        slot: usize,
        vertex: u32,
        key: Key,
        value: Option<u8>,
    },
    DeleteVertex {
        slot: usize,
        vertex: u32,
    },
    AddEdge {
        slot: usize,
        edge: Edge,
        age: Option<u8>,
    },
    /// Many parallel edges between two vertices, numbered from `first` on.
    AddEdges {
        slot: usize,
        source: u32,
        target: u32,
        first: u32,
    },
    PutEdge {
        slot: usize,
        source: u32,
        target: u32,
        age: Option<u8>,
    },
    SetEdge {
        slot: usize,
        edge: Edge,
        key: Key,
        value: Option<u8>,
    },
    DeleteEdge {
        slot: usize,
        edge: Edge,
    },
    Commit(usize),
    RollBack(usize),
    OpenSnapshot(u32),
    CloseSnapshot(u32),
    Merge,
    CollectIndexes,
    Checkpoint,
    /// Closes and opens again.
    Reopen,
    /// The power fails; what was not synced survives by chance.
    CutPower {
        seed: u64,
    },
    /// The power fails when a checkpoint has dealt with so many groups.
    CutPowerInCheckpoint {
        groups: u64,
        seed: u64,
    },
}

/// The model and everything that is open.
#[derive(Clone, Default, Debug)]
pub struct Reference {
    pub head: Graph,
    commits: Vec<Vec<Write>>,
    pub slots: [Option<Open>; SLOTS],
    pub snapshots: BTreeMap<u32, Graph>,
    /// Whether the last step was a commit that had to be accepted.
    pub accepted: bool,
    /// The next number of anything.
    next: u32,
}

impl Reference {
    fn unseen<'a>(&'a self, open: &'a Open) -> impl Iterator<Item = &'a Write> {
        self.commits[open.seen..].iter().flatten()
    }

    /// Whether a commit of `open` must be refused.
    fn conflicts(&self, open: &Open) -> bool {
        let mine = open.writes();
        self.unseen(open).any(|other| mine.iter().any(|mine| clash(*mine, *other)))
    }

    fn open(&self, slot: usize) -> Option<&Open> {
        self.slots[slot].as_ref()
    }

    fn open_mut(&mut self, slot: usize) -> &mut Open {
        self.slots[slot].as_mut().expect("the precondition says that it is open")
    }

    fn has_vertex(&self, slot: usize, vertex: u32) -> bool {
        self.open(slot).is_some_and(|open| open.now.vertices.contains_key(&vertex))
    }

    fn has_edge(&self, slot: usize, edge: &Edge) -> bool {
        self.open(slot).is_some_and(|open| open.now.edges.contains_key(edge))
    }

    fn is_fresh(&self, number: u32) -> bool {
        number >= self.next
    }

    /// Whether `vertex` may be called `name` in `slot`: refusing a name is tested elsewhere.
    fn is_free(&self, slot: usize, label: Label, key: Key, value: Option<u8>) -> bool {
        let Some(open) = self.open(slot) else { return false };
        let unique = label == Label::Person && key == Key::Name;
        value.is_none_or(|name| !unique || !open.now.has_name(name))
    }

    fn restart(&mut self) {
        self.slots = Default::default();
        self.snapshots.clear();
    }
}

fn any_value() -> impl Strategy<Value = Option<u8>> + Clone {
    prop_oneof![1 => Just(None), 4 => (0..VALUES).prop_map(Some)]
}

fn any_key() -> impl Strategy<Value = Key> {
    select(vec![Key::Name, Key::Age])
}

fn any_label() -> impl Strategy<Value = Label> {
    select(vec![Label::Person, Label::Person, Label::Post])
}

/// The steps of an open transaction, with their weights.
fn steps_in(slot: usize, open: &Open, next: u32) -> Vec<(u32, BoxedStrategy<Step>)> {
    let vertices: Vec<u32> = open.now.vertices.keys().copied().collect();
    let edges: Vec<Edge> = open.now.edges.keys().copied().collect();
    let add = (any_label(), any_value());
    let add = add.prop_map(move |(label, name)| Step::AddVertex { slot, vertex: next, label, name });
    let mut steps = vec![
        (if vertices.len() < 6 { 8 } else { 1 }, add.boxed()),
        (5, Just(Step::Commit(slot)).boxed()),
        (1, Just(Step::RollBack(slot)).boxed()),
    ];
    if !vertices.is_empty() {
        let vertex = || select(vertices.clone());
        let set = (vertex(), any_key(), any_value());
        let set = set.prop_map(move |(vertex, key, value)| Step::SetVertex { slot, vertex, key, value });
        let edge = (vertex(), vertex(), any_value());
        let parallel = move |source, target| Edge::Parallel { source, target, number: next };
        let add = edge.clone().prop_map(move |(source, target, age)| {
            let edge = parallel(source, target);
            Step::AddEdge { slot, edge, age }
        });
        let many = (vertex(), vertex());
        let many =
            many.prop_map(move |(source, target)| Step::AddEdges { slot, source, target, first: next });
        let put = edge.prop_map(move |(source, target, age)| Step::PutEdge { slot, source, target, age });
        let delete = vertex().prop_map(move |vertex| Step::DeleteVertex { slot, vertex });
        steps.extend([(4, set.boxed()), (8, add.boxed()), (4, put.boxed()), (1, delete.boxed())]);
        if edges.len() < 3 * BURST as usize {
            steps.push((1, many.boxed()));
        }
    }
    if !edges.is_empty() {
        let edge = || select(edges.clone());
        let set = (edge(), any_key(), any_value());
        let set = set.prop_map(move |(edge, key, value)| Step::SetEdge { slot, edge, key, value });
        let delete = edge().prop_map(move |edge| Step::DeleteEdge { slot, edge });
        steps.extend([(4, set.boxed()), (4, delete.boxed())]);
    }
    steps
}

fn values(key: Key, value: Option<u8>) -> Values {
    value.map(|value| (key, value)).into_iter().collect()
}

impl ReferenceStateMachine for Reference {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::default()).boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Step> {
        let mut steps: Vec<(u32, BoxedStrategy<Step>)> = vec![
            (3, Just(Step::Merge).boxed()),
            (1, Just(Step::CollectIndexes).boxed()),
            (2, Just(Step::Checkpoint).boxed()),
            (1, Just(Step::Reopen).boxed()),
            (1, any::<u64>().prop_map(|seed| Step::CutPower { seed }).boxed()),
            (
                1,
                (0..4u64, any::<u64>())
                    .prop_map(|(groups, seed)| Step::CutPowerInCheckpoint { groups, seed })
                    .boxed(),
            ),
        ];
        if state.snapshots.len() < SNAPSHOTS_MAX {
            steps.push((3, Just(Step::OpenSnapshot(state.next)).boxed()));
        }
        if !state.snapshots.is_empty() {
            let open: Vec<u32> = state.snapshots.keys().copied().collect();
            steps.push((1, select(open).prop_map(Step::CloseSnapshot).boxed()));
        }
        for (slot, open) in state.slots.iter().enumerate() {
            match open {
                None => steps.push((6, Just(Step::Begin(slot)).boxed())),
                Some(open) => steps.extend(steps_in(slot, open, state.next)),
            }
        }
        Union::new_weighted(steps).boxed()
    }

    fn preconditions(state: &Self, step: &Step) -> bool {
        match *step {
            Step::Begin(slot) => state.open(slot).is_none(),
            Step::AddVertex { slot, vertex, label, name } => {
                state.is_free(slot, label, Key::Name, name) && state.is_fresh(vertex)
            }
            Step::SetVertex { slot, vertex, key, value } => {
                let label = state.open(slot).and_then(|open| open.now.vertices.get(&vertex));
                label.is_some_and(|(label, _)| state.is_free(slot, *label, key, value))
            }
            Step::DeleteVertex { slot, vertex } => state.has_vertex(slot, vertex),
            Step::AddEdge { slot, edge, .. } => {
                let fresh = match edge {
                    Edge::Parallel { number, .. } => state.is_fresh(number),
                    Edge::Simple { .. } => !state.has_edge(slot, &edge),
                };
                fresh && edge.ends().iter().all(|end| state.has_vertex(slot, *end))
            }
            Step::AddEdges { slot, source, target, first: fresh } => {
                let there = state.has_vertex(slot, source) && state.has_vertex(slot, target);
                there && state.is_fresh(fresh)
            }
            Step::PutEdge { slot, source, target, .. } => {
                state.has_vertex(slot, source) && state.has_vertex(slot, target)
            }
            Step::SetEdge { slot, edge, .. } | Step::DeleteEdge { slot, edge } => state.has_edge(slot, &edge),
            Step::Commit(slot) | Step::RollBack(slot) => state.open(slot).is_some(),
            Step::OpenSnapshot(number) => state.is_fresh(number),
            Step::CloseSnapshot(number) => state.snapshots.contains_key(&number),
            _ => true,
        }
    }

    fn apply(mut state: Self, step: &Step) -> Self {
        state.accepted = false;
        match *step {
            Step::Begin(slot) => state.slots[slot] = Some(Open::begin(&state.head, state.commits.len())),
            Step::AddVertex { slot, vertex, label, name } => {
                state.next = vertex + 1;
                state.open_mut(slot).now.vertices.insert(vertex, (label, values(Key::Name, name)));
            }
            Step::SetVertex { slot, vertex, key, value } => {
                state.open_mut(slot).set_vertex(vertex, key, value);
            }
            Step::DeleteVertex { slot, vertex } => state.open_mut(slot).delete_vertex(vertex),
            Step::AddEdge { slot, edge, age } => {
                if let Edge::Parallel { number, .. } = edge {
                    state.next = number + 1;
                }
                state.open_mut(slot).now.edges.insert(edge, values(Key::Age, age));
            }
            Step::AddEdges { slot, source, target, first } => {
                state.next = first + BURST;
                let numbers = first..first + BURST;
                let edges = numbers.map(|number| Edge::Parallel { source, target, number });
                state.open_mut(slot).now.edges.extend(edges.map(|edge| (edge, Values::new())));
            }
            Step::PutEdge { slot, source, target, age } => {
                let edge = Edge::Simple { source, target };
                state.open_mut(slot).put_edge(edge, values(Key::Age, age));
            }
            Step::SetEdge { slot, edge, key, value } => state.open_mut(slot).set_edge(edge, key, value),
            Step::DeleteEdge { slot, edge } => drop(state.open_mut(slot).now.edges.remove(&edge)),
            Step::Commit(slot) => {
                let open = state.slots[slot].take().expect("the precondition says that it is open");
                if !state.conflicts(&open) {
                    let writes = open.writes();
                    state.head = open.onto(&state.head, &writes);
                    state.commits.push(writes);
                    state.accepted = true;
                }
            }
            Step::RollBack(slot) => state.slots[slot] = None,
            Step::OpenSnapshot(number) => {
                state.next = number + 1;
                state.snapshots.insert(number, state.head.clone());
            }
            Step::CloseSnapshot(number) => drop(state.snapshots.remove(&number)),
            Step::Merge | Step::CollectIndexes | Step::Checkpoint => {}
            Step::Reopen | Step::CutPower { .. } | Step::CutPowerInCheckpoint { .. } => state.restart(),
        }
        state
    }
}
