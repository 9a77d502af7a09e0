//! History: what happened to a disk, and what may be found on it after a power cut at any moment.
//!
//! ```text
//! changes   0 1 2 3 4 5 6 7 8 9 ...          of the disk
//! required    0     3       5    ...          commits that must be there from then on
//! lives     |---- first ------|-- second ...  which state each commit's number stands for
//! ```
//!
//! A life ends when the store is opened again: what was lost then gives its numbers to other commits.

use crate::front::model::Model;
use crate::simulated::directory::{Fault, FaultKind};
use crate::simulated::disk::{Change, Synced};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::note::Notes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a commit left.
#[derive(Clone, Debug)]
pub struct State {
    pub graph: Model,
    pub notes: Notes,
    /// The names, types and indexes; `None` for a moment inside of a step that makes several commits.
    pub catalogue: Option<Arc<Catalogue>>,
}

/// The states of one life by timestamp; more than one where either may be found.
#[derive(Clone, Debug)]
pub struct Life {
    pub from: usize,
    pub states: BTreeMap<u64, Vec<Arc<State>>>,
    /// Bulk loads that were acknowledged, and when: the state before is out of the question from then on.
    pub loads: BTreeMap<u64, usize>,
}

#[derive(Debug)]
pub struct History {
    pub changes: Vec<Change>,
    pub required: Vec<(usize, u64)>,
    pub lives: Vec<Life>,
    pub fault: Option<Fault>,
    pub fired_at: Option<usize>,
    /// Files on the disk that the history began with.
    pub files_before: usize,
    pub trace: u64,
    pub commits: u64,
    /// How often a process that reads was compared.
    pub looks: u64,
    /// Whether what it began with is what chance left of a disk that broke its promises.
    pub is_doubtful: bool,
}

/// What may be found on a disk.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The newest commit that must be there.
    pub floor: u64,
    /// The newest commit that a later write proves to have been synced: no turned bit hides it.
    pub proven: u64,
    /// Whether the disk may say clearly that something is broken, since it broke its promises.
    pub may_refuse: bool,
    /// Whether a disk broke its promises before this history began: what it opened with is what chance left.
    pub is_doubtful: bool,
    pub states: BTreeMap<u64, Vec<Arc<State>>>,
}

impl Expected {
    /// A disk that nobody has written to.
    pub fn nothing() -> Self {
        let empty =
            State { graph: Model::default(), notes: Notes::default(), catalogue: Some(Arc::default()) };
        let states = BTreeMap::from([(0, vec![Arc::new(empty)])]);
        Self { floor: 0, proven: 0, may_refuse: false, is_doubtful: false, states }
    }

    /// The state that was found, if it may be.
    pub fn admit(
        &self,
        found: u64,
        graph: &Model,
        notes: &Notes,
        catalogue: &Catalogue,
    ) -> Result<Arc<State>, String> {
        if found < self.floor {
            return Err(format!("commit {} was acknowledged, and {found} is the newest", self.floor));
        }
        let Some(states) = self.states.get(&found) else {
            return Err(format!("{found} is the newest commit, which nobody made"));
        };
        let fits = |state: &&Arc<State>| {
            state.graph == *graph
                && state.notes == *notes
                && state.catalogue.as_ref().is_none_or(|known| **known == *catalogue)
        };
        let admitted = states.iter().find(fits).cloned();
        admitted.ok_or_else(|| {
            let state = states.last().expect("a commit has a state");
            let graphs = if state.graph == *graph {
                "the same graph".to_owned()
            } else {
                differences(&state.graph, graph)
            };
            format!(
                "the state is not that of commit {found}: {graphs}; notes {notes:?}, expected {:?}; names and indexes \
                 {:?}, expected {:?}",
                state.notes,
                catalogue.changes(),
                state.catalogue.as_ref().map(|known| known.changes())
            )
        })
    }
}

fn differences(expected: &Model, found: &Model) -> String {
    let mut lines = Vec::new();
    for (id, vertex) in &expected.vertices {
        if found.vertices.get(id) != Some(vertex) {
            lines.push(format!("{id} is {:?} instead of {vertex:?}", found.vertices.get(id)));
        }
    }
    for (id, edge) in &expected.edges {
        if found.edges.get(id) != Some(edge) {
            lines.push(format!("{id} is {:?} instead of {edge:?}", found.edges.get(id)));
        }
    }
    let new_vertices = found.vertices.keys().filter(|id| !expected.vertices.contains_key(id));
    lines.extend(new_vertices.map(|id| format!("{id} is there")));
    let new_edges = found.edges.keys().filter(|id| !expected.edges.contains_key(id));
    lines.extend(new_edges.map(|id| format!("{id} is there")));
    let more = lines.len().saturating_sub(5);
    lines.truncate(5);
    format!("{}; and {more} more", lines.join("; "))
}

impl History {
    /// What only some histories meet, and how often.
    pub fn met(&self) -> [(&'static str, u64); 3] {
        let loads = self.lives.iter().map(|life| life.loads.len() as u64).sum();
        let has_owner = |life: &&Life| life.states.values().flatten().any(|state| !state.notes.is_empty());
        let owned = self.lives.iter().filter(has_owner).count() as u64;
        [("loads", loads), ("lives of a store that had an owner", owned), ("looks of a reader", self.looks)]
    }

    /// The newest commit that must be there when the power fails after `position` changes.
    fn floor(&self, position: usize) -> u64 {
        let known = self.required.partition_point(|(at, _)| *at <= position);
        known.checked_sub(1).map_or(0, |at| self.required[at].1)
    }

    /// What may be found when the power fails after `position` changes.
    pub fn expected(&self, position: usize) -> Expected {
        let life = self.lives.iter().rfind(|life| life.from <= position).expect("a first life begins at 0");
        let mut states = life.states.clone();
        for (load, _) in life.loads.iter().filter(|(_, acknowledged)| **acknowledged <= position) {
            let after = states.get_mut(load).expect("a load is a commit");
            after.drain(..after.len() - 1);
        }
        let floor = self.floor(position);
        let lies = self.fault.filter(|fault| fault.kind == FaultKind::LostSync);
        let lied_at = self.fired_at.filter(|at| *at < position);
        let (floor, may_refuse) = match (lies, lied_at) {
            // What one sync did not do the next one does; more than one can lose anything.
            (Some(fault), Some(at)) => (if fault.lasts == 1 { self.floor(at).min(floor) } else { 0 }, true),
            _ => (floor, false),
        };
        Expected {
            floor,
            proven: self.proven(position).min(floor),
            may_refuse,
            is_doubtful: self.is_doubtful,
            states,
        }
    }

    /// What was required when the last batch was written that is synced for certain: that batch says so.
    fn proven(&self, position: usize) -> u64 {
        // Files that were there at the beginning come first: log files among them are written no more.
        let there = self.files_before;
        let is_log = |file: usize, created: &[bool]| file >= there && created[file - there];
        let mut names = Vec::new();
        let (mut written_at, mut proven_at) = (0, 0);
        for (at, change) in self.changes.iter().take(position).enumerate() {
            match change {
                Change::Create { name } => names.push(name.starts_with("log-")),
                Change::Write { file, bytes, .. }
                    if is_log(*file, &names) && bytes.iter().any(|byte| *byte != 0) =>
                {
                    written_at = at;
                }
                Change::Sync { file, outcome: Synced::Whole } if is_log(*file, &names) => {
                    proven_at = written_at;
                }
                _ => {}
            }
        }
        self.floor(proven_at)
    }
}
