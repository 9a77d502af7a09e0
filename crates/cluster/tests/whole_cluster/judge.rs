//! Judge: reads the log by itself, and knows the graph after each commit, and why something may be refused.
//!
//! What it knows of a refusal is coarse, and said otherwise than by the hashes of the cluster: the things that a transaction rests on
//! and those that a commit changes have one in common.

use crate::first_state::{WEIGHT, partitions};
use crate::script::change;
use crate::shown::{Shown, value_of};
use crate::tally::Tally;
use evergraph_cluster::certification::outcome::{CancelAnswer, Outcome, Refusal};
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::log::reader::ReadMessage;
use evergraph_cluster::log::shared_log::LogMessage;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::replicated_state::{
    AppliedRecord, DecidedCommit, RecordResult, ReplicatedState,
};
use evergraph_cluster::record::body::RecordBody;
use evergraph_cluster::record::message::Message;
use evergraph_cluster::record_id::RecordId;
use evergraph_cluster::tables::cluster_tables::TableAnswer;
use evergraph_graph::id::{GroupId, PartitionId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a transaction rests on, or changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Item {
    /// A vertex with its properties.
    Vertex(VertexId),
    /// The edges of a vertex.
    Edges(VertexId),
    /// Edges of vertices of a group: whether it has any.
    EdgesOfGroup(GroupId),
    /// Who has a weight.
    Weight(i64),
    /// Which vertices there are.
    Members,
    /// The catalogue.
    Names,
}

pub type Items = BTreeSet<Item>;

/// What a transaction that was sent rests on.
#[derive(Clone, Default, Debug)]
pub struct Sent {
    pub items: Items,
    /// To which history of the log.
    pub history: usize,
}

/// One history of the log.
pub struct Judge {
    state: ReplicatedState,
    messages: Vec<LogMessage>,
    graph: Shown,
    graphs: BTreeMap<Timestamp, Arc<Shown>>,
    seen: BTreeMap<LogPosition, SeenLog>,
    changed: BTreeMap<Timestamp, Items>,
    pub commits: BTreeMap<RecordId, Timestamp>,
    /// What was refused or called off: it never commits.
    never: BTreeSet<RecordId>,
    /// Whether the log has lost what was behind: somebody may have read that.
    has_lost: bool,
}

/// What a commit changes.
fn items_of(commit: &DecidedCommit) -> Items {
    let mut items = Items::new();
    if !commit.schema.is_empty() {
        items.insert(Item::Names);
    }
    for mutation in commit.partitions.iter().flat_map(|(_, mutations)| mutations) {
        let weights = |items: &mut Items, properties: &Properties| {
            for (key, value) in properties.as_slice() {
                let value = value.clone().map(|value| (*key, value));
                let is_weight = *key == WEIGHT;
                items.extend(
                    value.filter(|_| is_weight).and_then(|value| value_of(&[value], *key)).map(Item::Weight),
                );
            }
        };
        match mutation {
            Mutation::InsertVertex { vertex, properties, .. } => {
                items.extend([Item::Vertex(*vertex), Item::Members]);
                weights(&mut items, properties);
            }
            Mutation::SetVertexProperties { vertex, properties } => {
                items.insert(Item::Vertex(*vertex));
                weights(&mut items, properties);
            }
            Mutation::DeleteVertex { vertex } => items.extend([Item::Vertex(*vertex), Item::Members]),
            Mutation::InsertEdge { edge, .. }
            | Mutation::DeleteEdge { edge }
            | Mutation::SetEdgeProperties { edge, .. }
            | Mutation::ReplaceEdge { edge, .. } => {
                for end in [edge.source, edge.target] {
                    items.extend([Item::Edges(end), Item::EdgesOfGroup(end.group())]);
                }
            }
            Mutation::Schema(_) => drop(items.insert(Item::Names)),
            _ => {}
        }
    }
    items
}

impl Judge {
    /// Of a cluster that was created with `first`.
    pub fn new(first: ReplicatedState) -> Self {
        let seen = BTreeMap::from([(LogPosition::START, first.seen())]);
        let graphs = BTreeMap::from([(Timestamp::ZERO, Arc::default())]);
        Self {
            state: first,
            messages: Vec::new(),
            graph: Shown::default(),
            graphs,
            seen,
            changed: BTreeMap::new(),
            commits: BTreeMap::new(),
            never: BTreeSet::new(),
            has_lost: false,
        }
    }

    /// Of the messages of this history up to a position, as if there were no others.
    pub fn through(&self, first: ReplicatedState, end: LogPosition) -> Result<Self, String> {
        let mut judge = Self::new(first);
        let mut tally = Tally::default();
        for message in self.messages.iter().filter(|message| message.position <= end) {
            judge.take(message.clone(), &BTreeMap::new(), &mut tally)?;
        }
        judge.has_lost = true;
        Ok(judge)
    }

    pub fn state(&self) -> &ReplicatedState {
        &self.state
    }

    pub fn position(&self) -> LogPosition {
        self.state.seen().position
    }

    /// Reads the next message.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(
        &mut self,
        message: LogMessage,
        sent: &BTreeMap<RecordId, Sent>,
        tally: &mut Tally,
    ) -> Result<(), String> {
        tally.trace.add(&(message.position.0, &message.bytes));
        self.take(message, sent, tally)
    }

    fn take(
        &mut self,
        message: LogMessage,
        sent: &BTreeMap<RecordId, Sent>,
        tally: &mut Tally,
    ) -> Result<(), String> {
        self.messages.push(message.clone());
        let LogMessage { position, bytes } = message;
        let message = Message::decode(&bytes).map_err(|error| error.to_string())?;
        let bodies: Vec<RecordBody> = message.records.iter().map(|record| record.body.clone()).collect();
        let decided = self.state.apply(ReadMessage { position, message, bytes });
        self.seen.insert(position, decided.seen);
        let mut commits = decided.commits.iter().peekable();
        for (record, body) in decided.records.iter().zip(bodies) {
            self.look_at(record, &body, sent.get(&record.id), tally)?;
            while let Some(commit) = commits.next_if(|commit| commit.timestamp <= record.timestamp) {
                self.commit(commit)?;
            }
        }
        commits.try_for_each(|commit| self.commit(commit))
    }

    fn look_at(
        &mut self,
        record: &AppliedRecord,
        body: &RecordBody,
        sent: Option<&Sent>,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let AppliedRecord { id, timestamp, result } = *record;
        match (result, body) {
            (RecordResult::Committed, _) => {
                if self.never.contains(&id) {
                    return Err(format!("{id} commits though it was refused or called off"));
                }
                if self.commits.insert(id, timestamp).is_some() {
                    return Err(format!("{id} commits twice"));
                }
            }
            (RecordResult::Refused(refusal), RecordBody::Transaction { since, .. }) => {
                self.never.insert(id);
                self.check_refusal(id, refusal, *since, timestamp, sent, tally)?;
            }
            (RecordResult::Cancel(CancelAnswer::Cancelled), RecordBody::Cancel { of, .. }) => {
                self.never.insert(*of);
            }
            (RecordResult::Double(outcome), _) => {
                tally.doubles += 1;
                if let Outcome::Committed(at) = outcome
                    && self.commits.get(&id) != Some(&at)
                {
                    return Err(format!("a double of {id} is said to have committed at {at}"));
                }
            }
            (RecordResult::PartKept, _) => tally.parts += 1,
            (RecordResult::Table(TableAnswer::Rows(Ok(_))), _) => {
                self.changed.insert(timestamp, Items::from([Item::Members]));
            }
            (RecordResult::Table(TableAnswer::Name(Ok(_)) | TableAnswer::Index(Ok(_))), _) => {
                // Whoever changes what goes into a new index conflicts once with it.
                self.changed.insert(timestamp, Items::from([Item::Names]));
            }
            _ => {}
        }
        Ok(())
    }

    /// Nothing is refused without a reason.
    fn check_refusal(
        &self,
        id: RecordId,
        refusal: Refusal,
        since: Timestamp,
        at: Timestamp,
        sent: Option<&Sent>,
        tally: &mut Tally,
    ) -> Result<(), String> {
        match refusal {
            Refusal::Conflict { changed, check } => {
                tally.conflicts += 1;
                let items = self.changed.get(&changed).filter(|_| !changed.visible_at(since) && changed < at);
                let Some(items) = items else {
                    return Err(format!("{id} is refused though nothing was changed at {changed}"));
                };
                let Some(sent) = sent else { return Ok(()) };
                if items.is_disjoint(&sent.items) {
                    return Err(format!(
                        "{id} is refused by {check:?}, changed at {changed}: {items:?}, and rests on {:?}",
                        sent.items
                    ));
                }
            }
            Refusal::TooOld { floor } => {
                tally.too_old += 1;
                if since >= floor {
                    return Err(format!("{id} is too old at {since}, and the floor is {floor}"));
                }
            }
            Refusal::Fenced => {
                tally.fenced += 1;
                if self.state.tables().members().is_current(id.author) {
                    return Err(format!("{id} is fenced, and its author has joined"));
                }
            }
            // A part of it was sent by who has been replaced since, or fell out of what is remembered.
            Refusal::Incomplete { .. } => {}
            Refusal::OtherLog if self.has_lost => tally.other_log += 1,
            Refusal::OtherLog | Refusal::Malformed(_) => return Err(format!("{id} is refused: {refusal}")),
        }
        Ok(())
    }

    fn commit(&mut self, commit: &DecidedCommit) -> Result<(), String> {
        let mut sides = BTreeMap::new();
        for (partition, mutations) in &commit.partitions {
            for mutation in mutations {
                if let Mutation::InsertEdge { edge, .. } | Mutation::DeleteEdge { edge } = mutation {
                    *sides.entry(*edge).or_insert(0) += 1;
                }
                if is_said_by(*partition, mutation) {
                    change(&mut self.graph, mutation);
                }
            }
        }
        for (edge, found) in sides {
            let [source, target] = [edge.source, edge.target].map(|end| partitions().of_group(end.group()));
            if found != if source == target { 1 } else { 2 } {
                return Err(format!("half an edge: {edge} goes to {found} partitions in {}", commit.id));
            }
        }
        let vertices = &self.graph.vertices;
        let dangling = self
            .graph
            .out
            .keys()
            .find(|edge| ![edge.source, edge.target].iter().all(|end| vertices.contains_key(end)));
        if let Some(edge) = dangling {
            return Err(format!("{edge} dangles after {}", commit.id));
        }
        self.changed.insert(commit.timestamp, items_of(commit));
        self.graphs.insert(commit.timestamp, Arc::new(self.graph.clone()));
        Ok(())
    }

    /// Whether this is a prefix of the history.
    pub fn has(&self, seen: &SeenLog) -> bool {
        self.seen.get(&seen.position) == Some(seen)
    }

    /// The graph that a snapshot sees.
    pub fn graph_at(&self, at: Timestamp) -> Arc<Shown> {
        let (_, graph) = self.graphs.range(..=at).next_back().unwrap();
        Arc::clone(graph)
    }

    /// The graph just before a commit.
    pub fn graph_before(&self, commit: Timestamp) -> Arc<Shown> {
        let (_, graph) = self.graphs.range(..commit).next_back().unwrap();
        Arc::clone(graph)
    }

    pub fn floor(&self) -> Timestamp {
        self.state.certifier().floor()
    }
}

/// Whether a mutation is counted where this partition has it: that of an edge goes to two.
fn is_said_by(partition: PartitionId, mutation: &Mutation) -> bool {
    match mutation {
        Mutation::InsertEdge { edge, .. } | Mutation::DeleteEdge { edge } => {
            partitions().of_group(edge.source.group()) == partition
        }
        Mutation::Schema(_) => false,
        _ => true,
    }
}
