//! Asked travel: one query at the node that asked: first rows out, results in, and what it has failed by.

use crate::planted::{Bug, planted};
use crate::record_id::{Author, NodeId};
use crate::travel::held_rows::HeldRows;
use crate::travel::message::{BeginTravel, Outgoing, TravelFailure, TravelMessage, TravelRows};
use crate::travel::sent_rows::{RowsPlace, SentRows};
use crate::travel::stage_inbound::StageInbound;
use crate::travel::travel_options::TravelOptions;
use evergraph_graph::budget::Budget;
use evergraph_graph::error::Error;
use evergraph_graph::travel::{EncodedRows, LostNode, PlaceMeasures, StageMeasure, is_of_node};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How often at most somebody is asked for what is missing.
const WANT_WAIT_MAX: Duration = Duration::from_secs(2);

/// A query that was asked here.
pub struct AskedTravel {
    begin: Arc<BeginTravel>,
    /// Nodes that it runs on although they were silent or had started again: no other has their partitions.
    last_resorts: BTreeSet<NodeId>,
    began_at: Duration,
    ends_at: Duration,
    sent: SentRows,
    results: StageInbound,
    waiting: VecDeque<Arc<TravelRows>>,
    /// Results that wait, and first rows that are kept.
    held: HeldRows,
    measures: Vec<Vec<StageMeasure>>,
    failure: Option<TravelFailure>,
    /// The node whose loss caused `failure`, if others can be chosen in its place.
    lost: Option<NodeId>,
    /// Whether whoever asked knows that it has begun.
    is_known: bool,
    want_at: Duration,
    want_wait: Duration,
    want_after: Duration,
}

impl AskedTravel {
    /// The query `begin`, which begins at `now`. Only `last_resorts` have their partitions, and were silent or had started again.
    #[must_use]
    pub fn new(
        now: Duration,
        begin: Arc<BeginTravel>,
        last_resorts: BTreeSet<NodeId>,
        want_after: Duration,
    ) -> Self {
        let places = begin.places.len();
        Self {
            last_resorts,
            began_at: now,
            ends_at: now.saturating_add(begin.patience),
            sent: SentRows::default(),
            results: StageInbound::new(places),
            waiting: VecDeque::new(),
            held: HeldRows::new(begin.memory_bytes),
            measures: vec![Vec::new(); places],
            failure: None,
            lost: None,
            is_known: false,
            want_at: now.saturating_add(want_after),
            want_wait: want_after,
            want_after,
            begin,
        }
    }

    /// What began.
    #[must_use]
    pub fn begun(&self) -> &Arc<BeginTravel> {
        &self.begin
    }

    /// What began, told whoever asked.
    pub fn tell_begun(&mut self) -> &Arc<BeginTravel> {
        self.is_known = true;
        &self.begin
    }

    /// Whether there is something that whoever asked waits for: its beginning, results, all of them, or a failure.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.is_known || self.failure.is_some() || !self.waiting.is_empty() || self.is_complete()
    }

    /// Until when anybody waits.
    #[must_use]
    pub fn ends_at(&self) -> Duration {
        self.ends_at
    }

    /// What it has failed by.
    #[must_use]
    pub fn failure(&self) -> Option<&TravelFailure> {
        self.failure.as_ref()
    }

    /// It has failed. The first reason counts, and nobody takes results any more.
    pub fn fail(&mut self, failure: TravelFailure) {
        self.failure.get_or_insert(failure);
        let dropped = std::mem::take(&mut self.waiting);
        self.held.give_back(dropped.iter().map(|rows| rows.rows.len() as u64).sum());
    }

    /// It has failed by the loss of a node. A second run would choose a last resort again.
    fn lose(&mut self, node: NodeId, text: String) {
        let is_last_resort = self.last_resorts.contains(&node) && !planted(Bug::LastResortLost);
        if self.failure.is_none() && !is_last_resort {
            self.lost = Some(node);
        }
        self.fail(TravelFailure::busy(text));
    }

    /// Whether all results have come.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.results.is_complete()
    }

    /// The next results that have come.
    pub fn next_results(&mut self) -> Option<Vec<u8>> {
        let results = self.waiting.pop_front()?;
        self.held.give_back(results.rows.len() as u64);
        Some(Arc::unwrap_or_clone(results).rows)
    }

    /// What each place did.
    #[must_use]
    pub fn measures(&self) -> Vec<PlaceMeasures> {
        let of = self.begin.places.iter().zip(&self.measures);
        let measures = of.map(|(place, stages)| PlaceMeasures { node: place.node.0, stages: stages.clone() });
        measures.collect()
    }

    /// Sends first rows to a place, or says that no more follow. They are kept in memory of `budget`.
    pub fn send(
        &mut self,
        place: u16,
        rows: EncodedRows,
        is_last: bool,
        budget: &dyn Budget,
    ) -> Option<Outgoing> {
        let node = self.begin.places.get(usize::from(place))?.node;
        let at = RowsPlace::At(place);
        let message = Arc::new(TravelRows {
            id: self.begin.id,
            incarnation: self.begin.id.asker.incarnation,
            stage: 0,
            number: self.sent.next_number(0, at),
            is_last,
            count: rows.count,
            measures: Vec::new(),
            rows: rows.bytes,
        });
        if let Err(error) = self.held.take(message.rows.len() as u64, budget) {
            self.fail(error.into());
            return None;
        }
        self.sent.keep(at, Arc::clone(&message));
        Some((node, TravelMessage::Rows(message)))
    }

    /// Results came from a node. They wait in memory of `budget`.
    pub fn take(&mut self, now: Duration, from: NodeId, rows: Arc<TravelRows>, budget: &dyn Budget) {
        let author = Author { node: from, incarnation: rows.incarnation };
        let place = self.begin.places.iter().position(|place| *place == author);
        let Some(place) = place.filter(|_| rows.stage == self.begin.stages) else { return };
        // Nobody takes them any more.
        if self.failure.is_some() {
            return;
        }
        if !self.results.take(place, rows.number, rows.is_last) {
            return;
        }
        self.want_wait = self.want_after;
        self.want_at = now.saturating_add(self.want_wait);
        if rows.is_last {
            self.held.give_back(self.sent.forget(place as u16, u16::MAX));
            self.measures[place].clone_from(&rows.measures);
        }
        if rows.count == 0 {
            return;
        }
        match self.held.take(rows.rows.len() as u64, budget) {
            Ok(()) => self.waiting.push_back(rows),
            Err(error) => self.fail(error.into()),
        }
    }

    /// A node keeps more results than it has sent again: they are wanted at once.
    pub fn more(&mut self, now: Duration, stage: u16) {
        if stage == self.begin.stages {
            self.want_at = now;
        }
    }

    /// The start of a node that was chosen and has ended, since a later one says something.
    #[must_use]
    pub fn ended_start(&self, from: Author) -> Option<Author> {
        let mut places = self.begin.places.iter();
        places.find(|place| place.node == from.node && place.incarnation < from.incarnation).copied()
    }

    /// A node says at `now` that it cannot go on.
    pub fn failed(&mut self, now: Duration, from: Author, failure: TravelFailure) {
        let is_place = self.begin.places.iter().any(|place| place.node == from.node);
        if !is_place || self.is_complete() {
            return;
        }
        // It knows how much of the time was left when it began, and no more.
        if self.ends_at <= now {
            return self.fail(TravelFailure::time_over(self.begin.patience));
        }
        let node = from.node;
        // What it knew of the query is gone with the start that had been chosen.
        if self.ended_start(from).is_some() {
            return self.lose(node, format!("node {} has started again", node.0));
        }
        let TravelFailure { kind, text } = failure;
        // An error of the program is the same wherever it runs.
        let text = if is_of_node(kind) { format!("node {}: {text}", node.0) } else { text };
        self.fail(TravelFailure { kind, text });
    }

    /// The node `from` wants first rows again. It is sent `bytes_max` of them at once.
    pub fn wanted(
        &self,
        from: NodeId,
        (stage, number): (u16, u32),
        bytes_max: usize,
        out: &mut Vec<Outgoing>,
    ) {
        let place = self.begin.places.iter().position(|place| place.node == from);
        if let (Some(place), 0) = (place, stage) {
            let rows = (self.begin.id, 0, RowsPlace::At(place as u16), number);
            self.sent.send_again(from, rows, bytes_max, out);
        }
    }

    /// Begins everywhere, from `now` on.
    pub fn begin_everywhere(&self, now: Duration, out: &mut Vec<Outgoing>) {
        (0..self.begin.places.len()).for_each(|place| self.begin_at(now, place, out));
    }

    fn begin_at(&self, now: Duration, place: usize, out: &mut Vec<Outgoing>) {
        let mut begin = (*self.begin).clone();
        begin.patience = self.ends_at.saturating_sub(now);
        out.push((self.begin.places[place].node, TravelMessage::Begin(Arc::new(begin))));
    }

    /// Ends everywhere.
    pub fn end_everywhere(&self, out: &mut Vec<Outgoing>) {
        let id = self.begin.id;
        out.extend(self.begin.places.iter().map(|place| (place.node, TravelMessage::End(id))));
    }

    /// Asks for what is missing, if that is due at `now`; fails if its time is over, or if a node is silent for longer than
    /// `options` allow, of whom `heard` says when it was heard of.
    pub fn want(
        &mut self,
        now: Duration,
        options: &TravelOptions,
        heard: impl Fn(NodeId) -> Duration,
        out: &mut Vec<Outgoing>,
    ) {
        if self.failure.is_some() || self.is_complete() {
            return;
        }
        if self.ends_at <= now {
            return self.fail(TravelFailure::time_over(self.begin.patience));
        }
        let missing: Vec<_> = self.results.missing().collect();
        let silent = missing.iter().map(|(place, _)| self.begin.places[*place].node).find_map(|node| {
            // A last resort may have been silent already, and has time to come back.
            let is_patient = self.last_resorts.contains(&node) && !planted(Bug::SilentChoiceLeftAtOnce);
            let heard_at = if is_patient { heard(node).max(self.began_at) } else { heard(node) };
            let allowed = options.silence_allowed(self.began_at, heard_at);
            (heard_at.saturating_add(allowed) <= now).then_some((node, allowed))
        });
        if let Some((node, allowed)) = silent {
            return self.lose(node, format!("node {} has said nothing for {allowed:.0?}", node.0));
        }
        if self.want_at > now {
            return;
        }
        self.want_wait = (self.want_wait * 2).min(WANT_WAIT_MAX);
        self.want_at = now.saturating_add(self.want_wait);
        for (place, from) in missing {
            // It may not have begun.
            self.begin_at(now, place, out);
            let (id, stage) = (self.begin.id, self.begin.stages);
            out.push((self.begin.places[place].node, TravelMessage::Want { id, stage, from }));
        }
    }

    /// Why there are no results.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        let error = Error::from(self.failure.as_ref()?);
        let lost = match self.lost {
            None if planted(Bug::FailureTakenForLoss) => Some(self.begin.places[0].node),
            Some(_) if planted(Bug::LossTakenForFailure) => None,
            lost => lost,
        };
        Some(match lost {
            Some(node) => error.because(LostNode { node: node.0 }),
            None => error,
        })
    }
}

impl fmt::Debug for AskedTravel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("AskedTravel");
        out.field("id", &self.begin.id).field("failure", &self.failure).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::SeenLog;
    use crate::planted::assert_found;
    use crate::travel::message::TravelId;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::partition::PartitionCount;
    use evergraph_graph::travel::{Routes, TravelStart};
    use evergraph_storage::memory_budget::MemoryBudget;

    const MIB: u64 = 1 << 20;
    const NOW: Duration = Duration::from_secs(1);

    fn author(node: u16) -> Author {
        Author { node: NodeId(node), incarnation: 7 }
    }

    /// A query of one stage that two nodes run.
    fn asked(memory_bytes: u64) -> AskedTravel {
        asked_of(memory_bytes, BTreeSet::new())
    }

    /// One for which there was no other node than 2.
    fn asked_of_last_resort() -> AskedTravel {
        asked_of(1 << 20, BTreeSet::from([NodeId(2)]))
    }

    fn asked_of(memory_bytes: u64, last_resorts: BTreeSet<NodeId>) -> AskedTravel {
        let routes = Routes::new(PartitionCount::new(2).unwrap(), 2, vec![0, 1]).unwrap();
        let begin = BeginTravel {
            id: TravelId { asker: author(1), number: 3 },
            at: SeenLog::START,
            patience: Duration::from_secs(60),
            memory_bytes,
            start: TravelStart::Everywhere,
            stages: 1,
            places: vec![author(1), author(2)],
            routes: Arc::new(routes),
            program: Vec::new(),
        };
        AskedTravel::new(NOW, Arc::new(begin), last_resorts, Duration::from_millis(200))
    }

    fn results(asked: &AskedTravel, number: u32, bytes: u64) -> Arc<TravelRows> {
        Arc::new(TravelRows {
            id: asked.begun().id,
            incarnation: 7,
            stage: 1,
            number,
            is_last: false,
            count: 1,
            measures: Vec::new(),
            rows: vec![number as u8; bytes as usize],
        })
    }

    #[test]
    fn results_that_wait_are_reserved_and_refused_where_the_node_has_no_memory() {
        let budget = MemoryBudget::new(8 * MIB);
        let mut query = asked(1 << 40);
        for number in 0..2 {
            let results = results(&query, number, 3 * MIB);
            query.take(NOW, NodeId(2), Arc::clone(&results), &budget);
            query.take(NOW, NodeId(2), results, &budget);
        }
        assert_eq!(budget.used_bytes(), 6 * MIB, "a double is not kept");
        assert_eq!(query.next_results().unwrap(), vec![0; 3 << 20]);
        assert_eq!(budget.used_bytes(), 3 * MIB, "what was fetched waits no longer");
        query.take(NOW, NodeId(1), results(&query, 0, 6 * MIB), &budget);
        let error = query.error().unwrap();
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(
            text.contains("6.0 MiB for rows of queries that travel exceeds the memory budget of 8.0 MiB"),
            "{text}"
        );
        assert!(text.contains("a larger budget"), "{text}");
        assert_eq!((budget.used_bytes(), query.next_results()), (0, None), "nobody fetches the others");
        query.take(NOW, NodeId(2), results(&query, 2, 1), &budget);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn results_that_wait_take_no_more_than_the_querys_memory() {
        let budget = MemoryBudget::new(u64::MAX);
        let mut query = asked(10);
        query.take(NOW, NodeId(2), results(&query, 0, 11), &budget);
        let error = query.error().unwrap();
        assert!(
            error.kind() == ErrorKind::Limit && error.to_string().contains("10 bytes of memory"),
            "{error}"
        );
    }

    #[test]
    fn results_that_are_kept_for_it_are_wanted_at_once() {
        let budget = MemoryBudget::new(u64::MAX);
        let (mut query, mut out) = (asked(1 << 20), Vec::new());
        query.take(NOW, NodeId(2), results(&query, 0, 5), &budget);
        let hears = |_: NodeId| NOW;
        query.want(NOW, &TravelOptions::default(), hears, &mut out);
        assert!(out.is_empty(), "they may be on their way");
        query.more(NOW, 0);
        query.want(NOW, &TravelOptions::default(), hears, &mut out);
        assert!(out.is_empty(), "rows of another stage");
        query.more(NOW, 1);
        query.want(NOW, &TravelOptions::default(), hears, &mut out);
        let wanted: Vec<_> = out
            .iter()
            .filter_map(|(to, message)| match message {
                TravelMessage::Want { stage: 1, from, .. } => Some((to.0, *from)),
                _ => None,
            })
            .collect();
        assert_eq!(wanted, [(1, 0), (2, 1)]);
    }

    /// What a query that began at [`NOW`] has failed by so long after, if node 2 was last heard of at `heard_at`.
    fn error(mut query: AskedTravel, after: Duration, heard_at: Duration) -> Option<Error> {
        let now = NOW + after;
        let heard = |node: NodeId| if node == NodeId(2) { heard_at } else { now };
        query.want(now, &TravelOptions::default(), heard, &mut Vec::new());
        query.error()
    }

    fn failed(after: Duration, heard_at: Duration) -> Option<String> {
        error(asked(1 << 20), after, heard_at).map(|error| error.to_string())
    }

    fn last_resort_failed(after: Duration, heard_at: Duration) -> Option<String> {
        error(asked_of_last_resort(), after, heard_at).map(|error| error.to_string())
    }

    /// Whose loss an error is.
    fn lost(error: &Error) -> Option<u16> {
        error.cause::<LostNode>().map(|lost| lost.node)
    }

    #[test]
    fn a_silent_node_is_waited_for_as_long_as_the_query_has_run() {
        let ms = Duration::from_millis;
        // It has just begun: a few heartbeats.
        assert_eq!(failed(ms(299), NOW - ms(100)), None);
        assert!(failed(ms(300), NOW - ms(100)).unwrap().contains("node 2 has said nothing for 400ms"));
        // As long as it had run.
        assert_eq!(failed(ms(3999), NOW + ms(2000)), None, "it has run for long");
        assert!(failed(ms(4000), NOW + ms(2000)).unwrap().contains("nothing for 2s"));
        // Three seconds at most.
        assert_eq!(failed(ms(22_999), NOW + ms(20_000)), None);
        let longest = failed(ms(23_000), NOW + ms(20_000)).expect("no longer than 3 s");
        assert!(longest.contains("nothing for 3s"), "{longest}");
        // There was no other: it may come back, and be silent again.
        assert_eq!(last_resort_failed(ms(399), NOW - ms(900)), None, "there was no other");
        assert!(last_resort_failed(ms(400), NOW - ms(900)).is_some());
        assert_eq!(last_resort_failed(ms(3999), NOW + ms(2000)), None);
        assert!(last_resort_failed(ms(4000), NOW + ms(2000)).is_some());
    }

    #[test]
    fn planted_bugs_of_silences_are_found() {
        let test = a_silent_node_is_waited_for_as_long_as_the_query_has_run;
        assert_found(Bug::OldQueryImpatient, test, "it has run for long");
        assert_found(Bug::OldQueryEndless, test, "no longer than 3 s");
        assert_found(Bug::SilentChoiceLeftAtOnce, test, "there was no other");
    }

    #[test]
    fn the_loss_of_a_node_is_told_from_whatever_else_it_fails_by() {
        let ms = Duration::from_millis;
        let silent = error(asked(1 << 20), ms(400), NOW).unwrap();
        assert_eq!((silent.kind(), lost(&silent)), (ErrorKind::Busy, Some(2)), "a silent node");
        let silent_last_resort = error(asked_of_last_resort(), ms(400), NOW - ms(900)).unwrap();
        assert_eq!(lost(&silent_last_resort), None, "it would be chosen again");
        let mut query = asked_of_last_resort();
        query.failed(NOW, Author { node: NodeId(2), incarnation: 8 }, TravelFailure::busy("gone"));
        let again = query.error().unwrap();
        assert_eq!((again.to_string().as_str(), lost(&again)), ("node 2 has started again", None));
        let says = |incarnation: u32, kind: ErrorKind| {
            let mut query = asked(1 << 20);
            let failure = TravelFailure { kind, text: "disk".to_owned() };
            query.failed(NOW, Author { node: NodeId(2), incarnation }, failure.clone());
            // The first reason counts.
            query.failed(NOW, author(1), failure);
            query.error().unwrap()
        };
        let again = says(8, ErrorKind::Busy);
        assert_eq!((again.to_string().as_str(), lost(&again)), ("node 2 has started again", Some(2)));
        for kind in [ErrorKind::Busy, ErrorKind::Io, ErrorKind::Conflict, ErrorKind::Corrupt] {
            let failed = says(7, kind);
            assert_eq!((failed.kind(), failed.to_string().as_str()), (kind, "node 2: disk"));
            assert_eq!(lost(&failed), None, "a failure of a node that is there");
        }
        let of_program = says(7, ErrorKind::Invalid);
        assert_eq!((of_program.to_string().as_str(), lost(&of_program)), ("disk", None));
        // One that has failed before is not lost.
        let mut query = asked(1 << 20);
        query.failed(NOW, author(1), TravelFailure::busy("full"));
        query.failed(NOW, Author { node: NodeId(2), incarnation: 8 }, TravelFailure::busy("gone"));
        assert_eq!(lost(&query.error().unwrap()), None);
    }

    #[test]
    fn planted_bugs_of_losses_are_found() {
        let test = the_loss_of_a_node_is_told_from_whatever_else_it_fails_by;
        assert_found(Bug::LossTakenForFailure, test, "a silent node");
        assert_found(Bug::FailureTakenForLoss, test, "it would be chosen again");
        assert_found(Bug::LastResortLost, test, "it would be chosen again");
    }
}
