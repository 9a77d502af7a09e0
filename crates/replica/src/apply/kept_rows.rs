//! Kept rows: edges that wait for an end, and created vertices, as notes and as a table in memory that says who waits for whom;
//! and how many foreign keys wait, which are properties of their rows' vertices.
//!
//! What an attempt changes is taken back if it fails.

use crate::apply::error::ApplyResult;
use crate::count_note::COUNT_NOTE;
use crate::row_note::{CREATED_PREFIX, CreatedVertex, NOTES_OF_RULE_MAX, WAITING_PREFIX, WaitingEdge};
use crate::translate::pause::{Halt, Recovery};
use crate::translate::row_change::RowKey;
use crate::translate::rules::{RuleNumber, RulePlan, Rules};
use evergraph::transaction::TransactionById;
use evergraph_graph::bytes::DecodeError;
use evergraph_graph::count::Count;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::note::Notes;
use evergraph_graph::value::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

const EDGES_WAIT: &str = "edges wait for an end that is not there";
const VERTICES_ARE_CREATED: &str = "vertices were created by edges and have no rows";

/// A waiting edge: its rule, and what identifies it.
type WaitingKey = (RuleNumber, RowKey);

/// The rows that are kept in notes.
#[derive(Debug)]
pub(super) struct KeptRows {
    rules: Arc<Rules>,
    waiting: HashMap<WaitingKey, WaitingEdge>,
    /// Edges that wait, by each of their ends: the rule of its label, and its key.
    by_end: HashMap<(RuleNumber, Value), BTreeSet<OrderedKey>>,
    waiting_counts: Vec<usize>,
    created: Vec<HashSet<Value>>,
    /// Foreign keys that wait, by rule: those that the graph has, and how many more the attempt makes them.
    waiting_links: Vec<(u64, i64)>,
    /// What to do to take back an attempt, the last first.
    undo: Vec<Undo>,
}

/// A waiting edge in an order.
type OrderedKey = (RuleNumber, Value, Option<Value>);

#[derive(Debug)]
enum Undo {
    Waiting(WaitingKey, Option<WaitingEdge>),
    Created(RuleNumber, Value, bool),
}

impl KeptRows {
    /// Reads all notes of rows; `waiting_links` are the foreign keys that wait, by their rule's place in the mapping.
    pub(super) fn read(
        rules: &Arc<Rules>,
        notes: &Notes,
        waiting_links: &BTreeMap<usize, u64>,
    ) -> ApplyResult<Self> {
        let mut rows = Self {
            rules: Arc::clone(rules),
            waiting: HashMap::new(),
            by_end: HashMap::new(),
            waiting_counts: vec![0; rules.len()],
            created: vec![HashSet::new(); rules.len()],
            waiting_links: vec![(0, 0); rules.len()],
            undo: Vec::new(),
        };
        let by_place: HashMap<usize, RuleNumber> =
            (0..rules.len()).map(|rule| (rules.rule(rule).place(), rule)).collect();
        for (place, count) in waiting_links {
            let rule = by_place.get(place).ok_or_else(|| {
                let text = format!("note {COUNT_NOTE}: there is no rule {place}");
                Error::new(ErrorKind::Corrupt, text)
            })?;
            rows.waiting_links[*rule].0 = *count;
        }
        for (name, bytes) in notes.iter() {
            let damaged = |what: String| Error::new(ErrorKind::Corrupt, format!("note {name}: {what}"));
            let rule_of = |place: usize| {
                by_place.get(&place).copied().ok_or_else(|| damaged(format!("there is no rule {place}")))
            };
            if name.starts_with(WAITING_PREFIX) {
                let edge = WaitingEdge::decode(name, bytes).map_err(|error| damaged(error.to_string()))?;
                let rule = rule_of(edge.rule)?;
                if rules.edge_plan(rule).is_none_or(|plan| plan.properties.len() != edge.properties.len()) {
                    return Err(damaged("its rule is another one now".to_owned()).into());
                }
                rows.replace((rule, row_key(&edge)), Some(edge));
            } else if name.starts_with(CREATED_PREFIX) {
                let vertex =
                    CreatedVertex::decode(name, bytes).map_err(|error| damaged(error.to_string()))?;
                rows.created[rule_of(vertex.rule)?].insert(vertex.key);
            }
        }
        Ok(rows)
    }

    /// How many edges of a rule wait: those of rows, and those of foreign keys.
    pub(super) fn waiting_count(&self, rule: RuleNumber) -> u64 {
        self.waiting_counts[rule] as u64 + self.waiting_links_count(rule)
    }

    /// How many foreign keys of a rule wait.
    fn waiting_links_count(&self, rule: RuleNumber) -> u64 {
        let (count, change) = self.waiting_links[rule];
        // A database of a program that did not count them begins at zero.
        count.saturating_add_signed(change)
    }

    /// How many foreign keys wait, by their rule's place in the mapping.
    pub(super) fn waiting_links(&self) -> BTreeMap<usize, u64> {
        let counts =
            (0..self.rules.len()).map(|rule| (self.rules.rule(rule).place(), self.waiting_links_count(rule)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Counts `more` foreign keys of a rule that wait.
    #[inline]
    pub(super) fn count_links(&mut self, rule: RuleNumber, more: i64) {
        self.waiting_links[rule].1 += more;
    }

    /// Refuses more foreign keys that wait than may.
    pub(super) fn check_links(&self) -> ApplyResult<()> {
        for (rule, (_, change)) in self.waiting_links.iter().enumerate() {
            if let RulePlan::Vertex(vertex) = self.rules.rule(rule)
                && *change > 0
                && !self.rules.plan().leaves_out_ends(vertex)
            {
                let count = self.waiting_links_count(rule);
                self.check_count(rule, count, "foreign keys wait for rows that are not there")?;
            }
        }
        Ok(())
    }

    /// The edge of a rule that waits, if this one does.
    pub(super) fn waiting(&self, rule: RuleNumber, key: &RowKey) -> Option<&WaitingEdge> {
        if self.waiting_counts[rule] == 0 {
            return None;
        }
        self.waiting.get(&(rule, key.clone()))
    }

    /// The edges that wait for a vertex, or have it as their other end.
    pub(super) fn waiting_for(&self, rule: RuleNumber, key: &Value) -> Vec<WaitingKey> {
        if self.by_end.is_empty() {
            return Vec::new();
        }
        let found = self.by_end.get(&(rule, key.clone())).into_iter().flatten();
        found
            .map(|(rule, first, second)| (*rule, RowKey { first: first.clone(), second: second.clone() }))
            .collect()
    }

    /// Whether an edge waits for a vertex, or has it as its other end.
    #[inline]
    pub(super) fn is_waited_for(&self, rule: RuleNumber, key: &Value) -> bool {
        !self.by_end.is_empty() && self.by_end.contains_key(&(rule, key.clone()))
    }

    /// The ends of edges that wait: the rule of each, and its key.
    pub(super) fn ends_of_waiting(&self) -> impl Iterator<Item = (RuleNumber, &Value)> {
        self.by_end.keys().map(|(rule, key)| (*rule, key))
    }

    /// Refuses more notes of rows than a rule may have, with those of `notes`, which are new.
    pub(super) fn check_room(&self, notes: &BTreeMap<String, Vec<u8>>) -> ApplyResult<()> {
        let created = self.created.iter().map(HashSet::len);
        let (mut waiting, mut created) = (self.waiting_counts.clone(), created.collect::<Vec<_>>());
        let numbers: HashMap<usize, RuleNumber> =
            (0..self.rules.len()).map(|rule| (self.rules.rule(rule).place(), rule)).collect();
        let broken = |error: DecodeError| Error::new(ErrorKind::Corrupt, error.to_string());
        for (name, bytes) in notes {
            if name.starts_with(WAITING_PREFIX) {
                waiting[numbers[&WaitingEdge::decode(name, bytes).map_err(broken)?.rule]] += 1;
            } else if name.starts_with(CREATED_PREFIX) {
                created[numbers[&CreatedVertex::decode(name, bytes).map_err(broken)?.rule]] += 1;
            }
        }
        for rule in 0..self.rules.len() {
            self.check_count(rule, waiting[rule] as u64, EDGES_WAIT)?;
            self.check_count(rule, created[rule] as u64, VERTICES_ARE_CREATED)?;
        }
        Ok(())
    }

    /// All edges of a rule that wait, in an order that is the same each time.
    pub(super) fn waiting_of(&self, rule: RuleNumber) -> Vec<RowKey> {
        if self.waiting_counts[rule] == 0 {
            return Vec::new();
        }
        let mut keys: Vec<RowKey> =
            self.waiting.keys().filter(|(of, _)| *of == rule).map(|(_, key)| key.clone()).collect();
        keys.sort_by(|one, other| (&one.first, &one.second).cmp(&(&other.first, &other.second)));
        keys
    }

    /// Lets an edge wait; one that waits already is replaced.
    pub(super) fn wait(
        &mut self,
        graph: &mut TransactionById,
        rule: RuleNumber,
        edge: WaitingEdge,
    ) -> ApplyResult<()> {
        graph.set_note(&edge.note_name(), &edge.encode())?;
        let key = (rule, row_key(&edge));
        let before = self.replace(key.clone(), Some(edge));
        self.undo.push(Undo::Waiting(key, before));
        self.check_count(rule, self.waiting_counts[rule] as u64, EDGES_WAIT)
    }

    /// Lets an edge wait no longer, if it does.
    pub(super) fn stop_waiting(
        &mut self,
        graph: &mut TransactionById,
        rule: RuleNumber,
        key: &RowKey,
    ) -> ApplyResult<Option<WaitingEdge>> {
        if self.waiting_counts[rule] == 0 {
            return Ok(None);
        }
        let key = (rule, key.clone());
        let Some(edge) = self.replace(key.clone(), None) else { return Ok(None) };
        self.undo.push(Undo::Waiting(key, Some(edge.clone())));
        graph.remove_note(&edge.note_name())?;
        Ok(Some(edge))
    }

    /// Whether edges created vertices of a rule.
    pub(super) fn has_created(&self, rule: RuleNumber) -> bool {
        !self.created[rule].is_empty()
    }

    /// Whether a vertex was created by an edge and has no row.
    pub(super) fn is_created(&self, rule: RuleNumber, key: &Value) -> bool {
        self.has_created(rule) && self.created[rule].contains(key)
    }

    /// Notes whether a vertex stands in for its row.
    pub(super) fn set_created(
        &mut self,
        graph: &mut TransactionById,
        rule: RuleNumber,
        key: &Value,
        is_created: bool,
    ) -> ApplyResult<()> {
        let note = CreatedVertex { rule: self.rules.rule(rule).place(), key: key.clone() };
        let is_changed = match is_created {
            true => {
                graph.set_note(&note.note_name(), &note.encode())?;
                self.created[rule].insert(key.clone())
            }
            false => {
                graph.remove_note(&note.note_name())?;
                self.created[rule].remove(key)
            }
        };
        if is_changed {
            self.undo.push(Undo::Created(rule, key.clone(), !is_created));
        }
        self.check_count(rule, self.created[rule].len() as u64, VERTICES_ARE_CREATED)
    }

    /// What was changed is in the graph.
    pub(super) fn keep(&mut self) {
        self.undo.clear();
        for rule in 0..self.waiting_links.len() {
            self.waiting_links[rule] = (self.waiting_links_count(rule), 0);
        }
    }

    /// What was changed is not in the graph.
    pub(super) fn take_back(&mut self) {
        self.waiting_links.iter_mut().for_each(|(_, change)| *change = 0);
        while let Some(undo) = self.undo.pop() {
            match undo {
                Undo::Waiting(key, before) => drop(self.replace(key, before)),
                Undo::Created(rule, key, true) => drop(self.created[rule].insert(key)),
                Undo::Created(rule, key, false) => drop(self.created[rule].remove(&key)),
            }
        }
    }

    fn check_count(&self, rule: RuleNumber, count: u64, what: &str) -> ApplyResult<()> {
        if count <= NOTES_OF_RULE_MAX as u64 {
            return Ok(());
        }
        let cause = format!("more than {} {what}", Count(NOTES_OF_RULE_MAX as u64));
        let remedy = "look whether the rule's columns refer to what its mapping says, and mend the mapping or the rows";
        Err(Halt::new(self.rules.table(rule), None, cause, remedy, Recovery::Resync).into())
    }

    fn replace(&mut self, key: WaitingKey, edge: Option<WaitingEdge>) -> Option<WaitingEdge> {
        let rule = key.0;
        let ends = self.rules.end_rules(rule);
        let ordered = (rule, key.1.first.clone(), key.1.second.clone());
        let before = match &edge {
            Some(edge) => self.waiting.insert(key, edge.clone()),
            None => self.waiting.remove(&key),
        };
        if let Some(before) = &before {
            self.waiting_counts[rule] -= 1;
            for end in [(ends.0, &before.start), (ends.1, &before.end)] {
                let end = (end.0, end.1.clone());
                if let Some(keys) = self.by_end.get_mut(&end) {
                    keys.remove(&ordered);
                    if keys.is_empty() {
                        self.by_end.remove(&end);
                    }
                }
            }
        }
        if let Some(edge) = edge {
            self.waiting_counts[rule] += 1;
            for end in [(ends.0, edge.start), (ends.1, edge.end)] {
                self.by_end.entry(end).or_default().insert(ordered.clone());
            }
        }
        before
    }
}

/// What identifies a waiting edge.
pub(super) fn row_key(edge: &WaitingEdge) -> RowKey {
    match &edge.key {
        Some(key) => RowKey::one(key.clone()),
        None => RowKey { first: edge.start.clone(), second: Some(edge.end.clone()) },
    }
}
