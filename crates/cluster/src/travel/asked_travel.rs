//! Asked travel: one query at the node that asked: first rows out, results in, and what it has failed by.

use crate::record_id::{Author, NodeId};
use crate::travel::journey::{Outgoing, RowsPlace, SentRows};
use crate::travel::message::{BeginTravel, TravelFailure, TravelMessage, TravelRows};
use crate::travel::stage_inbound::StageInbound;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::travel::{EncodedRows, PlaceMeasures, StageMeasure};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How often at most somebody is asked for what is missing.
const WANT_WAIT_MAX: Duration = Duration::from_secs(2);

/// A query that was asked here.
pub struct AskedTravel {
    begin: Arc<BeginTravel>,
    began_at: Duration,
    ends_at: Duration,
    sent: SentRows,
    results: StageInbound,
    waiting: VecDeque<Vec<u8>>,
    /// Bytes of results that wait, and of first rows that are kept.
    bytes: u64,
    measures: Vec<Vec<StageMeasure>>,
    failure: Option<TravelFailure>,
    want_at: Duration,
    want_wait: Duration,
    want_after: Duration,
}

impl AskedTravel {
    /// The query `begin`, which begins at `now`.
    #[must_use]
    pub fn new(now: Duration, begin: Arc<BeginTravel>, want_after: Duration) -> Self {
        let places = begin.places.len();
        Self {
            began_at: now,
            ends_at: now.saturating_add(begin.patience),
            sent: SentRows::default(),
            results: StageInbound::new(places),
            waiting: VecDeque::new(),
            bytes: 0,
            measures: vec![Vec::new(); places],
            failure: None,
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

    /// It has failed. The first reason counts.
    pub fn fail(&mut self, failure: TravelFailure) {
        self.failure.get_or_insert(failure);
    }

    /// Whether all results have come.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.results.is_complete()
    }

    /// The next results that have come.
    pub fn next_results(&mut self) -> Option<Vec<u8>> {
        let results = self.waiting.pop_front()?;
        self.bytes -= results.len() as u64;
        Some(results)
    }

    /// What each place did.
    #[must_use]
    pub fn measures(&self) -> Vec<PlaceMeasures> {
        let of = self.begin.places.iter().zip(&self.measures);
        let measures = of.map(|(place, stages)| PlaceMeasures { node: place.node.0, stages: stages.clone() });
        measures.collect()
    }

    /// Sends first rows to a place, or says that no more follow.
    pub fn send(&mut self, place: u16, rows: EncodedRows, is_last: bool) -> Option<Outgoing> {
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
        self.sent.keep(at, Arc::clone(&message));
        self.hold(message.rows.len() as u64);
        Some((node, TravelMessage::Rows((*message).clone())))
    }

    fn hold(&mut self, bytes: u64) {
        self.bytes += bytes;
        if self.bytes > self.begin.memory_bytes {
            let text = format!(
                "rows of the query that travel between nodes need more than its {} of memory: narrow it, or raise the limit",
                ByteSize(self.begin.memory_bytes)
            );
            self.fail(TravelFailure { kind: ErrorKind::Limit, text });
        }
    }

    /// Results came from a node.
    pub fn take(&mut self, now: Duration, from: NodeId, rows: TravelRows) {
        let author = Author { node: from, incarnation: rows.incarnation };
        let place = self.begin.places.iter().position(|place| *place == author);
        let Some(place) = place.filter(|_| rows.stage == self.begin.stages) else { return };
        if !self.results.take(place, rows.number, rows.is_last) {
            return;
        }
        self.want_wait = self.want_after;
        self.want_at = now.saturating_add(self.want_wait);
        if rows.is_last {
            self.bytes -= self.sent.forget(place as u16, u16::MAX);
            self.measures[place] = rows.measures;
        }
        if rows.count > 0 {
            self.hold(rows.rows.len() as u64);
            self.waiting.push_back(rows.rows);
        }
    }

    /// A node says that it cannot go on.
    pub fn failed(&mut self, from: NodeId, failure: TravelFailure) {
        if self.begin.places.iter().any(|place| place.node == from) && !self.is_complete() {
            self.fail(failure);
        }
    }

    /// The node `from` wants first rows again.
    pub fn wanted(&self, from: NodeId, stage: u16, number: u32, out: &mut Vec<Outgoing>) {
        let place = self.begin.places.iter().position(|place| place.node == from);
        if let (Some(place), 0) = (place, stage) {
            let again = self.sent.wanted(0, RowsPlace::At(place as u16), number).iter();
            out.extend(again.map(|rows| (from, TravelMessage::Rows((**rows).clone()))));
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

    /// Asks for what is missing, if that is due at `now`; fails if its time is over, or a node is silent for `silence_max`, of whom
    /// `heard` says when it was heard of.
    pub fn want(
        &mut self,
        now: Duration,
        silence_max: Duration,
        heard: impl Fn(NodeId) -> Duration,
        out: &mut Vec<Outgoing>,
    ) {
        if self.failure.is_some() || self.is_complete() {
            return;
        }
        if self.ends_at <= now {
            let text = "the time of the query is over".to_owned();
            return self.fail(TravelFailure { kind: ErrorKind::Busy, text });
        }
        let missing: Vec<_> = self.results.missing().collect();
        let silent = missing.iter().map(|(place, _)| self.begin.places[*place].node).find(|node| {
            let heard_at = heard(*node).max(self.began_at);
            heard_at.saturating_add(silence_max) <= now
        });
        if let Some(node) = silent {
            let text = format!("node {} has said nothing for {silence_max:?}", node.0);
            return self.fail(TravelFailure { kind: ErrorKind::Busy, text });
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
        self.failure.as_ref().map(Error::from)
    }
}

impl fmt::Debug for AskedTravel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("AskedTravel");
        out.field("id", &self.begin.id).field("failure", &self.failure).finish_non_exhaustive()
    }
}
