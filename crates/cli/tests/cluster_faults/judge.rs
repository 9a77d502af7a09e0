//! Judge: whether the graph is what clients were told, after each cycle.
//!
//! ```text
//! acknowledged        its mark is there                    committed, by settle       its mark is there
//! refused             its mark is not there, ever          not, and never will        its mark is not there, ever
//! lost, no answer     either; from now on it stays that way
//! ```
//!
//! From the marks that are there follows everything else: balances, holders of claims, edges, and which transactions of a history have
//! committed.

use crate::caller::{Attempt, Effect, Outcome};
use crate::list_history::{EndedTransaction, Operation, anomalies};
use crate::observed::{Edge, Observed};
use crate::workloads::{ACCOUNTS, FIRST_BALANCE, PEOPLE, items};
use evergraph_graph::transaction::Isolation;
use evergraph_graph::unknown_commit::UnknownCommit;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Cycles whose marks, lists and claims are kept.
pub const CYCLES_KEPT: u64 = 3;

/// What has to be there, and what must not.
#[derive(Default)]
pub struct Judge {
    /// Of each account, what transfers have added.
    added: BTreeMap<i64, i64>,
    /// Marks that are there, with the cycles of their transactions.
    marks: BTreeMap<i64, u64>,
    /// Lists of cycles that are over, with these.
    lists: BTreeMap<i64, (u64, String)>,
    claims: BTreeMap<i64, (u64, i64)>,
    edges: BTreeSet<Edge>,
    pub counts: Counts,
}

/// What has happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub acknowledged: u64,
    /// Of those, how many are there.
    pub found: u64,
    /// Without an answer, of which `lost_found` are there.
    pub lost: u64,
    pub lost_found: u64,
    /// Settled by name, of which `settled_found` are there.
    pub settled: u64,
    pub settled_found: u64,
    pub refused: u64,
}

/// A cycle that is over.
pub struct Ended<'a> {
    pub cycle: u64,
    pub attempts: &'a [Attempt],
    /// What nodes said of those that were unknown: whether they have committed.
    pub settled: &'a HashMap<UnknownCommit, bool>,
    /// The isolation level of those that append to lists.
    pub lists: Isolation,
}

impl Judge {
    /// What is wrong with the graph after a cycle, in words.
    pub fn judge(&mut self, ended: &Ended<'_>, graph: &Observed) -> Vec<String> {
        let mut wrong = Vec::new();
        let marks: BTreeSet<i64> = graph.marks.iter().copied().collect();
        if marks.len() != graph.marks.len() {
            wrong.push("a transaction is there twice".to_owned());
        }
        for mark in self.marks.keys().filter(|mark| !marks.contains(mark)) {
            wrong.push(format!("transaction {mark} of a cycle before is gone"));
        }
        let own: BTreeMap<i64, &Attempt> =
            ended.attempts.iter().map(|attempt| (attempt.mark, attempt)).collect();
        for mark in marks.iter().filter(|mark| !own.contains_key(mark) && !self.marks.contains_key(mark)) {
            wrong.push(format!("transaction {mark} is there now, which was not there after its cycle"));
        }
        for attempt in ended.attempts {
            self.judge_outcome(attempt, marks.contains(&attempt.mark), ended.settled, &mut wrong);
        }
        let found: Vec<&Attempt> =
            ended.attempts.iter().filter(|attempt| marks.contains(&attempt.mark)).collect();
        self.judge_accounts(&found, graph, &mut wrong);
        self.judge_claims(ended.cycle, &found, graph, &mut wrong);
        self.judge_edges(&found, graph, &mut wrong);
        self.judge_lists(ended, &marks, graph, &mut wrong);
        self.marks.extend(found.iter().map(|attempt| (attempt.mark, ended.cycle)));
        wrong
    }

    /// Marks, lists and claims of cycles before this one are not there any more.
    pub fn forget_before(&mut self, cycle: u64) {
        self.marks.retain(|_, of| *of >= cycle);
        self.lists.retain(|_, (of, _)| *of >= cycle);
        self.claims.retain(|_, (of, _)| *of >= cycle);
    }

    fn judge_outcome(
        &mut self,
        attempt: &Attempt,
        is_there: bool,
        settled: &HashMap<UnknownCommit, bool>,
        wrong: &mut Vec<String>,
    ) {
        let (counts, mark) = (&mut self.counts, attempt.mark);
        let there = u64::from(is_there);
        match &attempt.outcome {
            Outcome::Acknowledged => {
                counts.acknowledged += 1;
                counts.found += there;
                if !is_there {
                    wrong.push(format!("transaction {mark} was acknowledged and is not there"));
                }
            }
            Outcome::Refused(why) => {
                counts.refused += 1;
                if is_there {
                    wrong.push(format!("transaction {mark} is there, and was refused: {why}"));
                }
            }
            Outcome::Lost => {
                counts.lost += 1;
                counts.lost_found += there;
            }
            Outcome::Unknown(named) => {
                counts.settled += 1;
                counts.settled_found += there;
                match settled.get(named) {
                    None => wrong.push(format!("nobody settles {named}")),
                    Some(said) if *said == is_there => {}
                    Some(said) => wrong.push(format!(
                        "{named} is said to have committed ({said}), and its transaction {mark} is there ({is_there})"
                    )),
                }
            }
        }
    }

    fn judge_accounts(&mut self, found: &[&Attempt], graph: &Observed, wrong: &mut Vec<String>) {
        for attempt in found {
            if let Some(Effect::Transfer { from, to, amount }) = attempt.effect {
                *self.added.entry(from).or_default() -= amount;
                *self.added.entry(to).or_default() += amount;
            }
        }
        let balance = |account| FIRST_BALANCE + self.added.get(&account).copied().unwrap_or_default();
        let expected: Vec<(i64, i64)> = (0..ACCOUNTS).map(|account| (account, balance(account))).collect();
        if graph.accounts != expected {
            wrong.push(format!("accounts are {:?}, not {expected:?}", graph.accounts));
        }
    }

    fn judge_claims(&mut self, cycle: u64, found: &[&Attempt], graph: &Observed, wrong: &mut Vec<String>) {
        for attempt in found {
            if let Some(Effect::Claim { value }) = attempt.effect
                && let Some((_, before)) = self.claims.insert(value, (cycle, attempt.mark))
            {
                wrong.push(format!("transactions {before} and {} both have the value {value}", attempt.mark));
            }
        }
        let expected: Vec<(i64, i64)> =
            self.claims.iter().map(|(value, (_, mark))| (*value, *mark)).collect();
        let there: Vec<(i64, i64)> = graph.claims.iter().copied().filter(|claim| claim.0 >= 0).collect();
        if there != expected {
            wrong.push(format!("claims are {there:?}, not {expected:?}"));
        }
    }

    fn judge_edges(&mut self, found: &[&Attempt], graph: &Observed, wrong: &mut Vec<String>) {
        let (edges, keys) = (&graph.outgoing, &graph.outgoing_keys);
        if *edges != graph.incoming {
            wrong.push(format!(
                "edges are {edges:?} where they begin, and {:?} where they end",
                graph.incoming
            ));
        }
        let mut keys_of_edges: Vec<i64> = edges.iter().map(|edge| edge.1).collect();
        keys_of_edges.sort_unstable();
        if keys_of_edges != *keys || keys_of_edges != graph.incoming_keys {
            wrong.push(format!(
                "an edge has no other end: {keys_of_edges:?}, {keys:?}, {:?}",
                graph.incoming_keys
            ));
        }
        if graph.people != (0..PEOPLE).collect::<Vec<_>>() {
            wrong.push(format!("people are {:?}", graph.people));
        }
        let mut renewed = BTreeSet::new();
        for attempt in found {
            match attempt.effect {
                Some(Effect::AddEdge { from, to }) => _ = self.edges.insert((from, attempt.mark, to)),
                Some(Effect::Renew { person }) => _ = renewed.insert(person),
                _ => {}
            }
        }
        let there: BTreeSet<Edge> = edges.iter().copied().collect();
        if there.len() != edges.len() {
            wrong.push("an edge is there twice".to_owned());
        }
        for edge in there.difference(&self.edges) {
            wrong.push(format!("edge {edge:?} is there, and nobody has added it, or it was gone before"));
        }
        let may_be_gone = |edge: &&Edge| renewed.contains(&edge.0) || renewed.contains(&edge.2);
        for edge in self.edges.difference(&there).filter(|edge| !may_be_gone(edge)) {
            wrong.push(format!("edge {edge:?} is gone, and nobody dropped its ends"));
        }
        self.edges = there;
    }

    fn judge_lists(
        &mut self,
        ended: &Ended<'_>,
        marks: &BTreeSet<i64>,
        graph: &Observed,
        wrong: &mut Vec<String>,
    ) {
        if graph.lists.len() != graph.lists_count {
            wrong.push("two lists have the same key".to_owned());
        }
        for (key, (_, text)) in &self.lists {
            if graph.lists.get(key) != Some(text) {
                wrong.push(format!("list {key} was {text:?} and is {:?}", graph.lists.get(key)));
            }
        }
        let new: BTreeMap<i64, String> = graph
            .lists
            .iter()
            .filter(|(key, _)| **key >= 0 && !self.lists.contains_key(key))
            .map(|(key, text)| (*key, text.clone()))
            .collect();
        let mut history = Vec::new();
        for attempt in ended.attempts {
            if let Some(Effect::Lists { process, operations }) = &attempt.effect {
                let is_committed = marks.contains(&attempt.mark);
                history.push(EndedTransaction { process: *process, operations, is_committed });
            }
        }
        if history.is_empty() && new.is_empty() {
            return;
        }
        // What everybody reads in the end.
        let last: Vec<Operation> =
            new.iter().map(|(key, text)| Operation::Read(*key as usize, items(text))).collect();
        history.push(EndedTransaction { process: usize::MAX >> 1, operations: &last, is_committed: true });
        let model = match ended.lists {
            Isolation::Serializable => "serializable",
            _ => "snapshot-isolation",
        };
        for anomaly in anomalies(&history, model) {
            wrong.push(format!("the history of the lists is not {model}: {anomaly}"));
        }
        wrong.extend(missing_items(&history, &new));
        self.lists.extend(new.into_iter().map(|(key, text)| (key, (ended.cycle, text))));
    }
}

/// Items that committed transactions appended and no list has, and the other way round.
fn missing_items(history: &[EndedTransaction<'_>], lists: &BTreeMap<i64, String>) -> Vec<String> {
    let committed = history.iter().filter(|transaction| transaction.is_committed);
    let appended: BTreeSet<(i64, i64)> = committed
        .flat_map(|transaction| transaction.operations)
        .filter_map(|operation| match operation {
            Operation::Append(list, item) => Some((*list as i64, *item)),
            Operation::Read(..) => None,
        })
        .collect();
    let there: Vec<(i64, i64)> =
        lists.iter().flat_map(|(list, text)| items(text).into_iter().map(|item| (*list, item))).collect();
    let distinct: BTreeSet<(i64, i64)> = there.iter().copied().collect();
    let mut wrong = Vec::new();
    if distinct.len() != there.len() {
        wrong.push("an item is in a list twice".to_owned());
    }
    if distinct != appended {
        let differ: Vec<_> = distinct.symmetric_difference(&appended).collect();
        wrong.push(format!("items that are in lists, or were appended, and not both: {differ:?}"));
    }
    wrong
}

#[cfg(test)]
mod tests;
