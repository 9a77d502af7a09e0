//! Open queries: what a node knows of all queries whose stages travel, with its lock held.

use crate::digest::SeenLog;
use crate::planted::{Bug, planted};
use crate::record_id::{Author, NodeId};
use crate::remote::admission::{Admission, ReadableLog};
use crate::remote::question::RefusalReason;
use crate::tables::cluster_tables::ClusterTables;
use crate::travel::asked_travel::AskedTravel;
use crate::travel::journey::{Journey, JourneyLimits, StageWork};
use crate::travel::message::{
    ASKED_STAGE, BeginTravel, Outgoing, TravelFailure, TravelId, TravelMessage, TravelRows,
};
use crate::travel::silence::{SilenceJudgement, TakenFrames};
use crate::travel::travel_options::{TravelCounts, TravelParts};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_graph::travel::{PlaceMeasures, Routes, TravelProgram};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How often open queries are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long messages are kept whose query has not begun.
const EARLY_FOR: Duration = Duration::from_secs(1);
/// How many messages are kept whose query has not begun: some have no bytes.
const EARLY_MAX: usize = 4096;
/// How many queries that have ended are remembered.
const ENDED_MAX: usize = 1024;
/// Why a node goes on with a query no longer.
const ASKER_SILENT: &str = "it has not heard of the one that asked for too long";

/// All queries of a node.
pub(super) struct OpenQueries {
    pub(super) parts: TravelParts,
    /// Queries that have not begun, by the number of their request.
    pub(super) requests: VecDeque<(TravelId, SeenLog, TravelProgram)>,
    pub(super) asked: BTreeMap<TravelId, AskedState>,
    pub(super) journeys: BTreeMap<TravelId, Journey>,
    /// Those that have ended: whoever has the lock drops them behind it, since graphs are closed with them.
    pub(super) gone: Vec<Journey>,
    /// Queries whose snapshot is not applied here yet, with when they end.
    pub(super) later: Vec<(Duration, Arc<BeginTravel>)>,
    pub(super) early: VecDeque<(Duration, NodeId, TravelMessage)>,
    pub(super) early_bytes: usize,
    /// Queries that have ended here, and what they failed by here.
    ended: BTreeMap<TravelId, Option<TravelFailure>>,
    ended_order: VecDeque<TravelId>,
    /// Those that have ended since whoever sends has asked for them.
    pub(super) over: BTreeSet<TravelId>,
    pub(super) messages: VecDeque<(NodeId, TravelMessage, Duration)>,
    pub(super) heard: BTreeMap<NodeId, Duration>,
    silence: SilenceJudgement,
    /// The newest start of each node that a query had chosen and that had ended: the log may not have said so yet.
    ended_starts: BTreeMap<NodeId, u32>,
    pub(super) numbers: u64,
    served: Option<TravelId>,
    pub(super) counts: TravelCounts,
    pub(super) sent_before: BTreeSet<(TravelId, NodeId, u16, u32)>,
    pub(super) next_at: Option<Duration>,
    pub(super) has_ended: bool,
}

/// Where a query runs.
pub(super) struct ChosenPlaces {
    pub(super) places: Vec<Author>,
    pub(super) routes: Routes,
    /// Nodes that were chosen although they are silent or have started again: no other has their partitions.
    pub(super) last_resorts: BTreeSet<NodeId>,
}

pub(super) enum AskedState {
    /// The thread of the node has not seen it yet.
    Requested,
    Refused(TravelFailure),
    Begun(Box<AskedTravel>),
}

/// What has come of a query for whoever asked.
pub enum Arrived {
    /// Results.
    Results(Vec<u8>),
    /// All of them have come before.
    All,
    /// Nothing yet.
    Nothing,
}

impl OpenQueries {
    /// None yet.
    pub(super) fn new(parts: TravelParts) -> Self {
        Self {
            parts,
            requests: VecDeque::new(),
            asked: BTreeMap::new(),
            journeys: BTreeMap::new(),
            gone: Vec::new(),
            later: Vec::new(),
            early: VecDeque::new(),
            early_bytes: 0,
            ended: BTreeMap::new(),
            ended_order: VecDeque::new(),
            over: BTreeSet::new(),
            messages: VecDeque::new(),
            heard: BTreeMap::new(),
            silence: SilenceJudgement::default(),
            ended_starts: BTreeMap::new(),
            numbers: 0,
            served: None,
            counts: TravelCounts::default(),
            sent_before: BTreeSet::new(),
            next_at: None,
            has_ended: false,
        }
    }

    /// A message came from a node.
    pub(super) fn take_in(
        &mut self,
        now: Duration,
        from: NodeId,
        message: TravelMessage,
        log: &ReadableLog<'_>,
    ) {
        let id = message.id();
        match message {
            // Nobody but its asker begins or ends a query.
            TravelMessage::Begin(_) | TravelMessage::End(_) if from != id.asker.node => {}
            TravelMessage::Begin(begin) => self.begin(now, begin, log),
            TravelMessage::End(_) => self.forget(id, None),
            TravelMessage::Failed { incarnation, failure, .. } => {
                self.failed(now, Author { node: from, incarnation }, id, failure);
            }
            TravelMessage::Rows(rows) => self.take_rows(now, from, rows),
            TravelMessage::Want { stage, from: number, .. } => self.wanted(from, (id, stage, number)),
            TravelMessage::More { stage, .. } => self.more(now, id, stage),
        }
    }

    /// A node, perhaps this one, cannot go on with a query that was asked here.
    fn failed(&mut self, now: Duration, from: Author, id: TravelId, failure: TravelFailure) {
        let Some(AskedState::Begun(asked)) = self.asked.get_mut(&id) else { return };
        if let Some(Author { node, incarnation }) = asked.ended_start(from) {
            let incarnation = match planted(Bug::UnjoinedStartAwaited) {
                true => from.incarnation - 1,
                false => incarnation,
            };
            let newest = self.ended_starts.entry(node).or_default();
            *newest = incarnation.max(*newest);
        }
        asked.failed(now, from, failure);
    }

    /// What this node says if it cannot go on.
    fn failure_here(&self, id: TravelId, failure: TravelFailure) -> TravelMessage {
        TravelMessage::Failed { id, incarnation: self.parts.author.incarnation, failure }
    }

    /// The node `from`, perhaps this one, wants rows of a query again, or knows less of it than this one.
    fn wanted(&mut self, from: NodeId, (id, stage, number): (TravelId, u16, u32)) {
        let (own, mut out) = (self.parts.author, Vec::new());
        let bytes_max = self.parts.options.inbound_bytes_max;
        let has_asked = id.asker == own && self.asked.contains_key(&id);
        match (self.asked.get(&id), self.journeys.get(&id)) {
            (Some(AskedState::Begun(asked)), _) if stage == 0 => {
                asked.wanted(from, (stage, number), bytes_max, &mut out);
            }
            (_, Some(journey)) if stage != ASKED_STAGE => journey.wanted(from, stage, number, &mut out),
            _ => {}
        }
        if id.asker.node == own.node && !has_asked {
            out.push((from, TravelMessage::End(id)));
        }
        // It has failed here, and the asker may not have heard of it.
        if from == id.asker.node
            && let Some(Some(failure)) = self.ended.get(&id)
        {
            out.push((from, self.failure_here(id, failure.clone())));
        }
        self.put(out);
    }

    /// A sender keeps more rows of a query for this node than it has sent again.
    fn more(&mut self, now: Duration, id: TravelId, stage: u16) {
        if let Some(AskedState::Begun(asked)) = self.asked.get_mut(&id) {
            asked.more(now, stage);
        }
        if let Some(journey) = self.journeys.get_mut(&id) {
            journey.more(stage);
        }
    }

    /// Rows came, from another node or from this one.
    fn take_rows(&mut self, now: Duration, from: NodeId, rows: Arc<TravelRows>) {
        let id = rows.id;
        if let Some(AskedState::Begun(asked)) = self.asked.get_mut(&id)
            && rows.stage == asked.begun().stages
        {
            asked.take(now, from, rows, &*self.parts.budget);
            return;
        }
        let Some(journey) = self.journeys.get_mut(&id) else {
            return self.keep_early(now, from, TravelMessage::Rows(rows));
        };
        if let Err(error) = journey.take(now, from, rows, &*self.parts.budget) {
            self.fail(id, error);
        }
    }

    fn keep_early(&mut self, now: Duration, from: NodeId, message: TravelMessage) {
        let (id, bytes) = (message.id(), message.content_bytes());
        let has_room =
            self.early_bytes + bytes <= self.parts.options.early_bytes_max && self.early.len() < EARLY_MAX;
        if has_room && !self.ended.contains_key(&id) {
            self.early_bytes += bytes;
            self.early.push_back((now.saturating_add(EARLY_FOR), from, message));
        }
    }

    /// A query begins here, or later, or never.
    fn begin(&mut self, now: Duration, begin: Arc<BeginTravel>, log: &ReadableLog<'_>) {
        let (id, own, options) = (begin.id, self.parts.author, self.parts.options);
        if self.journeys.contains_key(&id) || self.later.iter().any(|(_, other)| other.id == id) {
            return;
        }
        if let Some(failure) = self.ended.get(&id) {
            // An asker that still waits must hear of it; one that has ended it takes no notice.
            let failure =
                failure.clone().unwrap_or_else(|| TravelFailure::busy("the query has ended on the node"));
            return self.put(vec![(id.asker.node, self.failure_here(id, failure))]);
        }
        let begin = match begin.patience > options.patience_max {
            true => Arc::new(BeginTravel { patience: options.patience_max, ..(*begin).clone() }),
            false => begin,
        };
        let refuse = |kind, text: &str| Err(TravelFailure { kind, text: text.to_owned() });
        let place = begin.places.iter().position(|place| *place == own);
        let admitted = match (place, log.admit(&begin.at)) {
            (None, _) => refuse(ErrorKind::Busy, "the node has started again since the query began"),
            _ if self.journeys.len() + self.later.len() >= options.queries_max => {
                refuse(ErrorKind::Busy, "too many queries run on the node")
            }
            (Some(place), Admission::Now) => Ok(Some(place)),
            (Some(_), Admission::Later) => Ok(None),
            (_, Admission::Refused(RefusalReason::TooOld)) => refuse(
                ErrorKind::Conflict,
                "the snapshot is older than what the node keeps: run the query again",
            ),
            (_, Admission::Refused(reason)) => refuse(ErrorKind::Io, &reason.to_string()),
        };
        let place = match admitted {
            Ok(Some(place)) => place,
            Ok(None) => {
                let ends_at = now.saturating_add(begin.patience);
                return self.later.push((ends_at, begin));
            }
            Err(failure) => return self.forget(id, Some(failure)),
        };
        let Some(reader) = self.parts.readers.begin_answer(begin.at) else {
            let text = "the snapshot is older than what the node keeps: run the query again".to_owned();
            return self.forget(id, Some(TravelFailure { kind: ErrorKind::Conflict, text }));
        };
        let limits =
            JourneyLimits { inbound_bytes_max: options.inbound_bytes_max, want_after: options.want_after };
        self.journeys.insert(id, Journey::new(now, begin, place as u16, reader, limits));
        // What came before it began.
        let early = std::mem::take(&mut self.early);
        for (ends_at, from, message) in early {
            if message.id() != id {
                self.early.push_back((ends_at, from, message));
                continue;
            }
            self.early_bytes -= message.content_bytes();
            if let TravelMessage::Rows(rows) = message {
                self.take_rows(now, from, rows);
            }
        }
    }

    /// A query ends here; what it failed by here is told its asker.
    pub(super) fn forget(&mut self, id: TravelId, failure: Option<TravelFailure>) {
        self.gone.extend(self.journeys.remove(&id));
        self.later.retain(|(_, begin)| begin.id != id);
        self.sent_before.retain(|(of, ..)| *of != id);
        self.drop_rows(id);
        if let Some(failure) = &failure {
            let failed = self.failure_here(id, failure.clone());
            self.put(vec![(id.asker.node, failed)]);
        }
        if let Entry::Vacant(ended) = self.ended.entry(id) {
            ended.insert(failure);
            self.ended_order.push_back(id);
        }
        while self.ended_order.len() > ENDED_MAX
            && let Some(oldest) = self.ended_order.pop_front()
        {
            self.ended.remove(&oldest);
        }
    }

    /// Rows of a query that nobody needs any more hold up no others.
    pub(super) fn drop_rows(&mut self, id: TravelId) {
        self.over.insert(id);
        self.messages
            .retain(|(_, message, _)| !matches!(message, TravelMessage::Rows(rows) if rows.id == id));
    }

    pub(super) fn fail(&mut self, id: TravelId, error: Error) {
        self.forget(id, Some(error.into()));
    }

    /// Messages go out; those for this node are done.
    pub(super) fn put(&mut self, out: Vec<Outgoing>) {
        let (own, now) = (self.parts.author.node, self.parts.clock.now());
        for (to, message) in out {
            if to != own {
                self.count(to, &message);
                // By then it is wanted again, or the query has failed.
                let ends_at = now.saturating_add(self.parts.options.silence_max);
                self.messages.push_back((to, message, ends_at));
                continue;
            }
            match message {
                TravelMessage::Rows(rows) => self.take_rows(now, own, rows),
                TravelMessage::End(id) => self.forget(id, None),
                TravelMessage::Failed { id, incarnation, failure } => {
                    self.failed(now, Author { node: own, incarnation }, id, failure);
                }
                // First rows that had no room.
                TravelMessage::Want { id, stage, from } => self.wanted(own, (id, stage, from)),
                TravelMessage::More { id, stage, .. } => self.more(now, id, stage),
                // The thread of the node has admitted it.
                TravelMessage::Begin(_) => {}
            }
        }
    }

    fn count(&mut self, to: NodeId, message: &TravelMessage) {
        let counts = &mut self.counts;
        match message {
            TravelMessage::Rows(rows) if self.sent_before.insert((rows.id, to, rows.stage, rows.number)) => {
                counts.rows_messages += 1;
                counts.rows += u64::from(rows.count);
                counts.rows_bytes += rows.rows.len() as u64;
            }
            TravelMessage::Rows(_) => counts.again += 1,
            _ => counts.others += 1,
        }
    }

    fn look_at_asked(&mut self, now: Duration, finds_silent: bool) {
        let (mut out, options) = (Vec::new(), self.parts.options);
        let (heard, own) = (&self.heard, self.parts.author.node);
        for asked in self.asked.values_mut() {
            let AskedState::Begun(asked) = asked else { continue };
            let heard_at = |node: NodeId| match node == own || !finds_silent {
                true => now,
                false => heard.get(&node).copied().unwrap_or_default(),
            };
            asked.want(now, &options, heard_at, &mut out);
        }
        self.put(out);
    }

    fn look_at_journeys(&mut self, now: Duration, finds_silent: bool) {
        let (mut out, mut gone) = (Vec::new(), Vec::new());
        let own = self.parts.author.node;
        for (id, journey) in &mut self.journeys {
            let asker = id.asker.node;
            let heard_at = self.heard.get(&asker).copied().unwrap_or_default();
            let silent_at = heard_at.saturating_add(self.parts.options.silence_max);
            let is_silent = finds_silent && asker != own && silent_at <= now;
            let is_over = journey.ends_at() <= now;
            match (is_silent, is_over) {
                (true, _) => gone.push((*id, TravelFailure::busy(ASKER_SILENT))),
                (false, true) => gone.push((*id, TravelFailure::time_over(journey.begun().patience))),
                (false, false) => journey.want(now, &mut out),
            }
        }
        self.put(out);
        // An asker that is cut off in one direction alone, or was held up, still waits.
        for (id, failure) in gone {
            self.forget(id, Some(failure));
        }
    }

    /// Begins a query that was asked here: chooses who reads what.
    fn begin_asked(
        &mut self,
        now: Duration,
        (id, at, program): (TravelId, SeenLog, TravelProgram),
        log: &ReadableLog<'_>,
        tables: &ClusterTables,
    ) {
        match self.places(self.silence.judged_at(), tables) {
            Ok(places) => self.start(now, (id, at, program), places, log),
            Err(error) => {
                self.asked.insert(id, AskedState::Refused(error.into()));
            }
        }
    }

    /// Starts a query at these places.
    pub(super) fn start(
        &mut self,
        now: Duration,
        (id, at, program): (TravelId, SeenLog, TravelProgram),
        ChosenPlaces { places, routes, last_resorts }: ChosenPlaces,
        log: &ReadableLog<'_>,
    ) {
        let begin = {
            let patience = program.time.min(self.parts.options.patience_max);
            let TravelProgram { bytes: program, stages, start, memory_bytes, .. } = program;
            Arc::new(BeginTravel {
                id,
                at,
                patience,
                memory_bytes,
                start,
                stages,
                places,
                routes: Arc::new(routes),
                program,
            })
        };
        let asked = AskedTravel::new(now, Arc::clone(&begin), last_resorts, self.parts.options.want_after);
        let mut out = Vec::new();
        asked.begin_everywhere(now, &mut out);
        self.asked.insert(id, AskedState::Begun(Box::new(asked)));
        let is_here = begin.places.contains(&self.parts.author);
        self.put(out);
        if is_here {
            self.begin(now, begin, log);
        }
    }

    /// Chooses a node for each partition: one that serves it, is not silent at `judged_at`, when silences were found last, and has not
    /// started again, each as many as the others.
    pub(super) fn places(&self, judged_at: Duration, tables: &ClusterTables) -> Result<ChosenPlaces> {
        let own = self.parts.author;
        let (placement, members) = (tables.placement(), tables.members());
        let partitions = tables.groups().partitions();
        let is_silent = |node: NodeId| {
            let heard_at = self.heard.get(&node).copied().unwrap_or_default();
            node != own.node && heard_at.saturating_add(self.parts.options.suspect_after) <= judged_at
        };
        // Its newest start may not have joined yet, as this node knows it. It need not be the one that has told of itself: another machine
        // may be the node by then, and count its starts from where the log knows them.
        let has_ended = |author: Author| {
            let is_ended = |newest: &u32| author.incarnation <= *newest;
            self.ended_starts.get(&author.node).is_some_and(is_ended) && !planted(Bug::StartedAgainChosen)
        };
        let is_avoided = |author: Author| is_silent(author.node) || has_ended(author);
        let (mut places, mut loads): (Vec<Author>, BTreeMap<NodeId, usize>) = Default::default();
        let mut of_partition = Vec::with_capacity(usize::from(partitions.get()));
        for partition in (0..partitions.get()).map(PartitionId) {
            let serving = placement.serving(partition);
            let serving = serving.filter_map(|node| Some((node, members.incarnation(node)?)));
            let chosen = serving.min_by_key(|(node, incarnation)| {
                let author = Author { node: *node, incarnation: *incarnation };
                (is_avoided(author), loads.get(node).copied().unwrap_or_default(), *node)
            });
            let Some((node, incarnation)) = chosen else {
                let text = format!("no node serves partition {}", partition.0);
                return Err(Error::new(ErrorKind::Busy, text));
            };
            *loads.entry(node).or_default() += 1;
            let author = Author { node, incarnation };
            let place = places.iter().position(|place| *place == author).unwrap_or_else(|| {
                places.push(author);
                places.len() - 1
            });
            of_partition.push(place as u16);
        }
        let routes = Routes::new(partitions, places.len() as u16, of_partition);
        let routes =
            routes.ok_or_else(|| Error::new(ErrorKind::Busy, "the graph has no place to be read at"))?;
        let last_resorts = places.iter().filter(|place| is_avoided(**place)).map(|place| place.node);
        Ok(ChosenPlaces { last_resorts: last_resorts.collect(), places, routes })
    }

    /// Does what is due at `now`.
    pub(super) fn step(
        &mut self,
        now: Duration,
        taken: TakenFrames,
        log: &ReadableLog<'_>,
        tables: &ClusterTables,
    ) {
        let finds_silent = self.silence.is_due(now, taken);
        while let Some((id, at, program)) = self.requests.pop_front() {
            self.begin_asked(now, (id, at, program), log, tables);
        }
        let applied = log.applied.last().position;
        let later = std::mem::take(&mut self.later);
        for (ends_at, begin) in later {
            if ends_at <= now {
                self.forget(begin.id, Some(TravelFailure::time_over(begin.patience)));
            } else if begin.at.position > applied {
                self.later.push((ends_at, begin));
            } else {
                let begin = BeginTravel { patience: ends_at.saturating_sub(now), ..(*begin).clone() };
                self.begin(now, Arc::new(begin), log);
            }
        }
        while self.early.front().is_some_and(|(ends_at, ..)| *ends_at <= now) {
            if let Some((_, _, message)) = self.early.pop_front() {
                self.early_bytes -= message.content_bytes();
            }
        }
        self.look_at_asked(now, finds_silent);
        self.look_at_journeys(now, finds_silent);
        let is_open = !self.asked.is_empty()
            || !self.journeys.is_empty()
            || !self.later.is_empty()
            || !self.early.is_empty();
        self.next_at = is_open.then(|| now.saturating_add(LOOK_EVERY));
    }

    /// For how many queries a worker has something to do; 2 for more.
    pub(super) fn count_with_work(&self) -> usize {
        self.journeys.values().filter(|journey| journey.has_work()).take(2).count()
    }

    /// Whether there is something of a query that whoever asked here waits for.
    pub(super) fn has_news(&self) -> bool {
        self.asked.values().any(|asked| match asked {
            AskedState::Requested => false,
            AskedState::Refused(_) => true,
            AskedState::Begun(asked) => asked.has_news(),
        })
    }

    /// Work of each query in turn.
    pub(super) fn next_work(&mut self) -> Option<(TravelId, Arc<BeginTravel>, StageWork)> {
        let after = self.served;
        let ids = self.journeys.iter().filter(|(_, journey)| journey.has_work()).map(|(id, _)| *id);
        let ids: Vec<TravelId> = ids.collect();
        let id = ids.iter().find(|id| after.is_none_or(|after| **id > after)).or(ids.first()).copied()?;
        self.served = Some(id);
        let journey = self.journeys.get_mut(&id)?;
        let begin = Arc::clone(journey.begun());
        journey.next_work().map(|work| (id, begin, work))
    }

    /// Where a query reads, once that is known.
    pub(super) fn routes(&mut self, id: TravelId) -> Option<Result<Arc<Routes>>> {
        if self.has_ended {
            return Some(Err(Error::new(ErrorKind::Io, "the node has stopped")));
        }
        match self.asked.get_mut(&id) {
            Some(AskedState::Requested) => None,
            Some(AskedState::Refused(failure)) => Some(Err((&*failure).into())),
            Some(AskedState::Begun(asked)) => Some(Ok(Arc::clone(&asked.tell_begun().routes))),
            None => Some(Err(ended())),
        }
    }

    /// What has come of a query.
    pub(super) fn arrived(&mut self, id: TravelId) -> Result<Arrived> {
        if self.has_ended {
            return Err(Error::new(ErrorKind::Io, "the node has stopped"));
        }
        let Some(AskedState::Begun(asked)) = self.asked.get_mut(&id) else { return Err(ended()) };
        if let Some(error) = asked.error() {
            return Err(error);
        }
        Ok(match asked.next_results() {
            Some(results) => Arrived::Results(results),
            None if asked.is_complete() => Arrived::All,
            None => Arrived::Nothing,
        })
    }

    /// What each place did.
    pub(super) fn measures(&self, id: TravelId) -> Vec<PlaceMeasures> {
        match self.asked.get(&id) {
            Some(AskedState::Begun(asked)) => asked.measures(),
            _ => Vec::new(),
        }
    }
}

/// The error of a query that has ended.
pub(super) fn ended() -> Error {
    Error::new(ErrorKind::Cancelled, "the query has ended")
}
