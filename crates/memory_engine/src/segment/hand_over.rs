//! Hand-overs: tail to run, records to body, a row to a hub, and dropping what nobody needs.
//!
//! ```text
//! append          latch            tail (grown) or, when full, run + tail + new records -> run; a long run is set aside
//! merge at B      off the latch    body' = body(v) + records(v) <= B
//!                                  history' = history(v) + records(v) <= B newer than the oldest open writer
//!                 latch, registry  n = present; if its base is not v's: give up
//!                                  rest     = records(n) > B                never from v
//!                                  older'   = those of n and n.older that an open snapshot needs
//! load            latch, registry  a layer from outside, newer than W; floor: whoever is older conflicts
//! trim            latch, registry  older' likewise
//! ```
//!
//! B is R, or the horizon if that is older: no snapshot that begins later is older than B. While a horizon stands still or
//! moves by little, records wait: looking whether any may be merged costs nothing, appending copies no more for it
//! (`runs_aside`), and no merge is made before it can take half of those that an earlier one had to leave.
//!
//! What is displaced is returned, so that it is freed outside the latch.
//!
//! Source: core-protocol section 1; ten planted faults in the model of these steps were caught.

use crate::segment::runs_aside::{RunsAside, is_long};
use crate::segment::tail::Tail;
use crate::segment::version::{Hub, Layer, PastLayer, Segment, Version};
use evergraph_bodies::body::Body;
use evergraph_bodies::history::{ContinuedHistory, History};
use evergraph_bodies::merge_turn::MergeTurn;
use evergraph_bodies::net::{Effect, Net, nets};
use evergraph_bodies::run::Run;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::record::{Record, RecordRef};
use evergraph_storage::sync::atomic::Ordering;
use evergraph_storage::timeline::clock::Timeline;
use evergraph_storage::timeline::registry::Registry;
use std::sync::Arc;

/// What a merge did.
#[derive(Debug)]
pub enum MergeOutcome<B> {
    /// Another merge was under way or came first, or there was nothing to merge.
    Nothing,
    /// A new body; the version that it displaced, to be dropped by the caller outside the latch.
    Done {
        /// What was displaced.
        displaced: Arc<Version<B>>,
        /// Whether layers were kept for open snapshots: trim when one ends.
        retained: bool,
        /// How many records became part of the body.
        merged: usize,
    },
}

/// What an append did.
#[derive(Debug)]
pub struct AppendOutcome<B> {
    /// Versions that were displaced, to be dropped by the caller after the latch.
    pub displaced: Vec<Arc<Version<B>>>,
    /// Records in run and tail now.
    pub waiting: usize,
    /// Items in the body under them.
    pub items: usize,
}

/// Records that a merge leaves on top of its body.
#[derive(Default)]
struct Rest {
    aside: RunsAside,
    run: Run,
}

fn refs(records: &[Record]) -> impl Iterator<Item = RecordRef<'_>> {
    records.iter().map(|record| RecordRef { key: record.key, stamp: record.stamp, payload: &record.payload })
}

impl<B: Body> Segment<B> {
    /// Appends records of one commit, all at `timestamp`, none about a hub's row. Under the latch. Replay
    /// appends those of many commits, the newest at `timestamp`: in the order of time if they fit into a tail,
    /// else in any, since they are sorted into the run.
    pub fn append(&self, timestamp: Timestamp, records: &[Record]) -> AppendOutcome<B> {
        let mut displaced = Vec::new();
        let mut at = 0;
        let (waiting, items) = loop {
            let version = self.current.load();
            let tail = &version.layer.tail;
            let fits = tail.room().min(records.len() - at);
            for record in &records[at..at + fits] {
                tail.push(record.clone());
            }
            at += fits;
            if at == records.len() {
                break (version.layer.record_count(), version.layer.body.items());
            }
            let layer = match tail.grown(records.len() - at) {
                Some(larger) => Layer { tail: Arc::new(larger), ..version.layer.clone() },
                None => {
                    let layer = &version.layer;
                    let all = tail.iter().chain(refs(&records[at..]));
                    at = records.len();
                    let (aside, run) = match is_long(&layer.run, layer.body.items()) {
                        true => (layer.aside.with(&layer.run), Run::default().from_parts(all)),
                        false => (layer.aside.clone(), layer.run.from_parts(all)),
                    };
                    Layer { aside, run: Arc::new(run), tail: Arc::new(tail.successor()), ..layer.clone() }
                }
            };
            let next = Version { layer, older: Arc::clone(&version.older), history: version.history.clone() };
            drop(version);
            displaced.push(self.current.swap(Arc::new(next)));
        };
        self.changed.store(timestamp.0, Ordering::Release);
        AppendOutcome { displaced, waiting, items }
    }

    /// Takes records up to what is readable into a new body. Off the latch but for the last step. If another merge is
    /// under way, `turn` says whether to wait for it.
    pub fn merge(&self, turn: MergeTurn, timeline: &Timeline) -> MergeOutcome<B> {
        let are_two = planted(Bug::TwoMerges);
        let one = if are_two { None } else { turn.take(&self.merging) };
        if one.is_none() && !are_two {
            return MergeOutcome::Nothing;
        }
        // Read before the registry: a snapshot that registers later begins at or after it.
        let base = if planted(Bug::MergeAtW) { timeline.published() } else { timeline.merge_limit() };
        let start = self.current.load_full();
        // While the horizon stands still this is asked again and again.
        if base <= start.layer.base || !start.layer.has_any_through(base) {
            return MergeOutcome::Nothing;
        }
        let records = start.layer.all_records(base);
        if records.is_empty() {
            return MergeOutcome::Nothing;
        }
        self.worth_from.store(half_of_newer(&start.layer, base, records.len()).0, Ordering::Relaxed);
        let ContinuedHistory { history, forgotten } = self.history(timeline, &start.history, &records);
        let mut nets: Vec<Net> = nets(records.into_iter()).collect();
        if planted(Bug::LostDelete) {
            nets.retain(|net| net.effect != Effect::Absent);
        }
        let (body, new_hubs) = start.layer.body.merged(&nets).split_hubs();
        let body = Arc::new(body);

        let _latch = timeline.latch();
        let now = self.current.load_full();
        if now.layer.base != start.layer.base && !planted(Bug::TwoMerges) {
            return MergeOutcome::Nothing;
        }
        // Before the registry, as the base.
        let limit = timeline.merge_limit();
        let registry = timeline.registry();
        let mut rest = Rest::newer(&now.layer, base);
        let count = now.layer.record_count() - rest.len();
        if planted(Bug::StaleResidual) {
            rest = Rest::newer(&start.layer, base);
        }
        if planted(Bug::ResidualDropped) {
            rest = Rest::default();
        }
        let older = needed(&registry, limit, Some((&now.layer, base)), &now.older);
        if let Some(forgotten) = forgotten {
            self.floor.fetch_max(forgotten.0, Ordering::AcqRel);
        }
        let retained = !older.is_empty();

        let is_hub = |record: RecordRef<'_>| new_hubs.iter().any(|hub| hub.0 == record.key.row());
        let (Rest { aside, run }, hubs) = if new_hubs.is_empty() {
            (rest, Arc::clone(&now.layer.hubs))
        } else {
            let (mut hubs, plain) = (now.layer.hubs.to_vec(), rest.filtered(|record| !is_hub(record)));
            for (row, body) in new_hubs {
                let Rest { aside, run } = rest.filtered(|record| record.key.row() == row);
                let layer = Layer { aside, run: Arc::new(run), ..Layer::of_body(base, body, Arc::from([])) };
                let version = Version { layer, older: Arc::from([]), history: history.of_row(row) };
                let floor = Timestamp(self.floor.load(Ordering::Acquire));
                let segment = Arc::new(Self::of_version(version, self.changed(), floor));
                hubs.push(Hub { row, segment });
            }
            hubs.sort_unstable_by_key(|hub| hub.row);
            (plain, Arc::from(hubs))
        };
        let layer = Layer { base, body, aside, run: Arc::new(run), tail: Arc::new(Tail::none()), hubs };
        let displaced = self.current.swap(Arc::new(Version { layer, older, history }));
        MergeOutcome::Done { displaced, retained, merged: count }
    }

    /// Whether a merge up to `limit` takes records, and not too few of them: at least half of those that the one before had to
    /// leave. Of merges that come by themselves: while a horizon moves by little there would be one for each step of it.
    ///
    /// Cost: a look at each run, and at the stamps of the tail.
    pub fn is_worth_merging(&self, limit: Timestamp) -> bool {
        if self.worth_from.load(Ordering::Relaxed) > limit.0 {
            return false;
        }
        let version = self.current.load();
        version.layer.base < limit && version.layer.has_any_through(limit)
    }

    /// Puts `layer` of a bulk load over the present, whose body it holds and which has no records: its
    /// base is above W and not published yet. Writers older than it get a conflict here, since there
    /// are no records to tell what it changed. Under the latch. Returns what was displaced, for the
    /// caller to drop after the latch; layers are kept, so list the segment to be trimmed.
    pub fn load_over(&self, timeline: &Timeline, layer: Layer<B>) -> Arc<Version<B>> {
        let now = self.current.load_full();
        debug_assert!(now.layer.record_count() == 0 && now.layer.base < layer.base);
        let (base, limit) = (layer.base, timeline.merge_limit());
        let older = needed(&timeline.registry(), limit, Some((&now.layer, base)), &now.older);
        let history = now.history.clone();
        self.changed.store(base.0, Ordering::Release);
        self.floor.fetch_max(base.0, Ordering::AcqRel);
        self.current.swap(Arc::new(Version { layer, older, history }))
    }

    /// Drops layers that no open snapshot needs any more; what was displaced, if anything was, and
    /// whether layers remain.
    pub fn trim(&self, timeline: &Timeline) -> (Option<Arc<Version<B>>>, bool) {
        if self.current.load().older.is_empty() {
            return (None, false);
        }
        let _latch = timeline.latch();
        let now = self.current.load_full();
        let limit = timeline.merge_limit();
        let older = needed(&timeline.registry(), limit, None, &now.older);
        let remain = !older.is_empty();
        if older.len() == now.older.len() {
            return (None, remain);
        }
        let next = Version { layer: now.layer.clone(), older, history: now.history.clone() };
        drop(now);
        (Some(self.current.swap(Arc::new(next))), remain)
    }

    /// The history after a merge that takes `merged`, all that is visible at its base. Off the latch: a writer that
    /// registers later begins at the base or after it and asks about none of these, and nobody but a merge
    /// changes the history.
    fn history(&self, timeline: &Timeline, before: &History, merged: &[RecordRef<'_>]) -> ContinuedHistory {
        let oldest = timeline.registry().oldest_writer();
        let Some(oldest) = oldest.filter(|_| !planted(Bug::NoHistory)) else {
            return ContinuedHistory { history: History::default(), forgotten: None };
        };
        let asked = merged.iter().filter(|record| !record.visible_at(oldest));
        let asked = Run::from_sorted(asked.map(|record| record.to_record()).collect());
        let forgetful = History::default();
        let before = if planted(Bug::LastMergesHistory) { &forgetful } else { before };
        before.followed_by(asked, oldest)
    }
}

impl Rest {
    /// The records of a layer that are newer than `base`.
    fn newer<B>(layer: &Layer<B>, base: Timestamp) -> Self {
        let run = layer.run.filtered(|record| !record.visible_at(base));
        let run = run.from_parts(layer.tail.iter().filter(|record| !record.visible_at(base)));
        Self { aside: layer.aside.newer(base), run }
    }

    fn filtered(&self, keep: impl Fn(RecordRef<'_>) -> bool) -> Self {
        Self { aside: self.aside.filtered(&keep), run: self.run.filtered(keep) }
    }

    fn len(&self) -> usize {
        self.aside.len() + self.run.len()
    }
}

/// The moment through which lie half of the records of a layer that are newer than `base`, at least; `older_count` are not.
/// Zero if there are none. Cost: a look at each stamp, if there are some.
fn half_of_newer<B>(layer: &Layer<B>, base: Timestamp, older_count: usize) -> Timestamp {
    if layer.record_count() == older_count {
        return Timestamp::ZERO;
    }
    let aside = layer.aside.runs().flat_map(|run| run.stamps());
    let stamps = aside.chain(layer.run.stamps()).chain(layer.tail.stamps());
    let times = stamps.map(|(_, stamp)| stamp.timestamp()).filter(|time| !time.visible_at(base));
    let mut times: Vec<Timestamp> = times.collect();
    if times.is_empty() {
        return Timestamp::ZERO;
    }
    let half = (times.len() - 1) / 2;
    *times.select_nth_unstable(half).1
}

/// The layers that an open snapshot reads, or one that begins at `limit` or later, newest first; `displaced`
/// was the present until its timestamp. `limit` was read before the registry was locked.
///
/// A merge's base is never newer than the limit, so snapshots to come need nothing older. A bulk load's is,
/// until the load is durable.
fn needed<B>(
    registry: &Registry,
    limit: Timestamp,
    displaced: Option<(&Layer<B>, Timestamp)>,
    older: &Arc<[PastLayer<B>]>,
) -> Arc<[PastLayer<B>]> {
    let forgets = planted(Bug::MergeAtW) || planted(Bug::LoadForgetsR);
    let keep = |past: &PastLayer<B>| {
        let is_newer = !past.until.visible_at(limit) && !forgets;
        (registry.needs(past.layer.base, past.until) || is_newer) && !planted(Bug::AlwaysPrune)
    };
    let displaced = displaced.map(|(layer, until)| PastLayer { layer: layer.clone(), until });
    if displaced.as_ref().is_none_or(|past| !keep(past)) && older.iter().all(keep) {
        return Arc::clone(older);
    }
    displaced.into_iter().chain(older.iter().cloned()).filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_bodies::edge_body::{EdgeBody, HUB_DEGREE};
    use evergraph_graph::properties::Properties;
    use evergraph_storage::engine::ChangedSince;
    use evergraph_storage::record::{Operation, RecordKey, Stamp};
    use evergraph_storage::timeline::clock::Readable;
    use evergraph_storage::timeline::registry::Access;
    use std::time::Duration;

    fn insert(segment: &Segment<EdgeBody>, timeline: &Timeline, row: u16, neighbors: &[u32]) -> Timestamp {
        let mut latch = timeline.latch();
        let timestamp = timeline.published().next();
        let stamp = Stamp::new(timestamp, Operation::Insert);
        let make = |neighbor: &u32| {
            let key = RecordKey::edge(row, *neighbor, 0);
            Record { key, stamp, payload: Properties::EMPTY }
        };
        segment.append(timestamp, &neighbors.iter().map(make).collect::<Vec<_>>());
        timeline.publish(timestamp, &mut latch);
        timestamp
    }

    fn merge(segment: &Segment<EdgeBody>, timeline: &Timeline) -> MergeOutcome<EdgeBody> {
        segment.merge(MergeTurn::OnlyIfFree, timeline)
    }

    fn list(segment: &Segment<EdgeBody>, row: u16, timestamp: Timestamp) -> Vec<u32> {
        let version = segment.load_full();
        let layer = version.layer_at(timestamp);
        if let Some(hub) = layer.hub(row) {
            return list(hub, row, timestamp);
        }
        let nets: Vec<Net> = nets(layer.all_records(timestamp).into_iter()).collect();
        let body = layer.body.merged(&nets);
        body.neighbors()[body.range(row)].to_vec()
    }

    #[test]
    fn an_older_snapshot_keeps_its_layer_and_its_end_frees_it() {
        let timeline = Timeline::new(Timestamp::ZERO, Readable::Published);
        let segment = Segment::new(Timestamp::ZERO, EdgeBody::empty());
        insert(&segment, &timeline, 1, &[5, 3]);
        let (old, ()) = timeline.begin(Access::Read, |_| ());
        insert(&segment, &timeline, 1, &[4]);
        assert!(matches!(merge(&segment, &timeline), MergeOutcome::Done { retained: true, .. }));
        let new = timeline.published();
        assert_eq!(list(&segment, 1, old), [3, 5]);
        assert_eq!(list(&segment, 1, new), [3, 4, 5]);
        assert!(segment.trim(&timeline).0.is_none(), "still needed");
        timeline.end(old, Access::Read);
        assert!(segment.trim(&timeline).0.is_some());
        assert!(segment.load().older.is_empty());
        assert!(matches!(merge(&segment, &timeline), MergeOutcome::Nothing), "nothing left to merge");
    }

    #[test]
    fn a_merge_stays_at_the_horizon_and_a_snapshot_may_begin_at_any_moment_from_there_on() {
        let timeline = Timeline::new(Timestamp::ZERO, Readable::Published);
        timeline.keep_from_now();
        let segment = Segment::new(Timestamp::ZERO, EdgeBody::empty());
        let [first, second, third] = [5, 4, 3].map(|neighbor| insert(&segment, &timeline, 1, &[neighbor]));
        assert!(
            matches!(segment.merge(MergeTurn::OnlyIfFree, &timeline), MergeOutcome::Nothing),
            "the horizon is older"
        );
        assert_eq!(list(&segment, 1, first), [5]);
        timeline.raise_horizon(second);
        assert!(matches!(
            segment.merge(MergeTurn::OnlyIfFree, &timeline),
            MergeOutcome::Done { retained: false, merged: 2, .. }
        ));
        assert_eq!(segment.load().layer.base, second);
        assert!(
            matches!(segment.merge(MergeTurn::OnlyIfFree, &timeline), MergeOutcome::Nothing),
            "what is left is newer"
        );
        timeline.begin_exactly(second, Duration::ZERO, || ()).unwrap();
        timeline.raise_horizon(third);
        assert!(matches!(
            segment.merge(MergeTurn::OnlyIfFree, &timeline),
            MergeOutcome::Done { retained: true, merged: 1, .. }
        ));
        assert_eq!((list(&segment, 1, second), list(&segment, 1, third)), (vec![4, 5], vec![3, 4, 5]));
    }

    /// So many that no row becomes a hub.
    const ROWS: u32 = 32;

    /// Appends so many commits of one record while the horizon stands still: the segment, and how many records were copied.
    fn appended_beside_a_horizon(count: u32) -> (Timeline, Segment<EdgeBody>, usize) {
        let timeline = Timeline::new(Timestamp::ZERO, Readable::Published);
        timeline.keep_from_now();
        let segment = Segment::new(Timestamp::ZERO, EdgeBody::empty());
        let (mut known, mut copied): (Vec<Arc<Run>>, usize) = (Vec::new(), 0);
        for number in 0..count {
            insert(&segment, &timeline, (number % ROWS) as u16, &[number]);
            let version = segment.load_full();
            let runs = version.layer.aside.shared_runs().chain([&version.layer.run]).cloned();
            let runs: Vec<Arc<Run>> = runs.collect();
            let is_new = |run: &&Arc<Run>| !known.iter().any(|known| Arc::ptr_eq(known, run));
            copied += runs.iter().filter(is_new).map(|run| run.len()).sum::<usize>();
            known = runs;
        }
        (timeline, segment, copied)
    }

    #[test]
    fn while_a_horizon_stands_still_the_cost_of_an_append_hardly_grows_and_a_merge_costs_nothing() {
        let [few, many] = [40_000, 160_000].map(|count| {
            let (timeline, segment, copied) = appended_beside_a_horizon(count);
            assert_eq!(segment.load().layer.record_count(), count as usize);
            assert!(segment.load().layer.aside.runs().count() < 10);
            assert!(matches!(merge(&segment, &timeline), MergeOutcome::Nothing));
            copied / count as usize
        });
        // In one run it would be 1,250 for each of the many: half of them, for each 64.
        assert!(many < 100 && many <= few + 4, "{few} and {many} copies of each record");
    }

    #[test]
    fn records_that_were_set_aside_are_read_and_merged_as_all_others() {
        let count = 40_000;
        let (timeline, segment, _) = appended_beside_a_horizon(count);
        let end = u64::from(count);
        // Everything of row 3 up to a number goes again.
        let stamp = Stamp::new(Timestamp(end + 1), Operation::Delete);
        let gone = (0..1000).filter(|number| number % ROWS == 3);
        let delete =
            |number| Record { key: RecordKey::edge(3, number, 0), stamp, payload: Properties::EMPTY };
        segment.append(Timestamp(end + 1), &gone.map(delete).collect::<Vec<_>>());
        timeline.publish(Timestamp(end + 1), &mut timeline.latch());
        let wanted = |row: u32, at: u64| -> Vec<u32> {
            let first = if row == 3 && at > end { 1000 } else { 0 };
            (first..count.min(at as u32)).filter(|number| number % ROWS == row).collect()
        };
        let check = |from: u64| {
            let version = segment.load_full();
            for at in [1, 8191, 8200, 20_001, end, end + 1].into_iter().filter(|at| *at >= from) {
                for row in [0, 3] {
                    let (found, wanted) = (list(&segment, row as u16, Timestamp(at)), wanted(row, at));
                    assert_eq!(found, wanted, "row {row} at {at}");
                    let layer = version.layer_at(Timestamp(at));
                    let numbers: Vec<u32> = (row..count).step_by(20 * ROWS as usize).collect();
                    let key = |number: &u32| RecordKey::edge(row as u16, *number, 0);
                    let stored = |place: usize| layer.body.find(key(&numbers[place])).is_some();
                    let mut there = vec![false; numbers.len()];
                    layer.are_there(&numbers, key, Timestamp(at), stored, |is_there| is_there, &mut there);
                    for (number, is_there) in numbers.iter().zip(there) {
                        assert_eq!(is_there, wanted.binary_search(number).is_ok(), "{number} at {at}");
                    }
                    let keys = RecordKey::whole_row(row as u16);
                    let differences = layer.differences(Timestamp(at));
                    let of_row = differences.iter().filter(|(key, _)| keys.contains(key));
                    let difference: i64 = of_row.map(|(_, by)| by).sum();
                    let stored = layer.body.range(row as u16).len() as i64;
                    assert_eq!(stored + difference, wanted.len() as i64);
                    assert_eq!(layer.difference(&keys, Timestamp(at)), difference, "row {row} at {at}");
                }
            }
        };
        check(0);
        timeline.raise_horizon(Timestamp(20_001));
        assert!(segment.is_worth_merging(timeline.merge_limit()));
        assert!(matches!(merge(&segment, &timeline), MergeOutcome::Done { merged: 20_001, .. }));
        assert!(!segment.load().layer.aside.is_empty());
        check(20_001);
        // What is left: half of it makes a merge worth it.
        for (horizon, is_worth_it) in [(20_002, false), (29_000, false), (31_000, true)] {
            timeline.raise_horizon(Timestamp(horizon));
            assert_eq!(segment.is_worth_merging(timeline.merge_limit()), is_worth_it, "{horizon}");
        }
        timeline.raise_horizon(Timestamp::MAX);
        assert!(matches!(merge(&segment, &timeline), MergeOutcome::Done { .. }));
        assert_eq!(segment.load().layer.record_count(), 0);
        check(end + 1);
    }

    #[test]
    fn conflicts_are_found_in_tail_run_and_history() {
        let timeline = Timeline::new(Timestamp::ZERO, Readable::Published);
        let segment = Segment::new(Timestamp::ZERO, EdgeBody::empty());
        let (writer, ()) = timeline.begin(Access::Write, |_| ());
        insert(&segment, &timeline, 1, &[5]);
        let yes = |segment: &Segment<EdgeBody>, row, since| {
            segment.newer(&RecordKey::whole_row(row), since, |_| true)
        };
        assert_eq!(
            (yes(&segment, 1, writer), yes(&segment, 2, writer)),
            (ChangedSince::Yes, ChangedSince::No)
        );
        insert(&segment, &timeline, 2, &(0..100).collect::<Vec<_>>());
        assert_eq!(yes(&segment, 1, writer), ChangedSince::Yes, "in the run");
        assert!(matches!(merge(&segment, &timeline), MergeOutcome::Done { .. }));
        assert_eq!(yes(&segment, 1, writer), ChangedSince::Yes, "in the history");
        assert_eq!(yes(&segment, 3, writer), ChangedSince::No);
        assert_eq!(yes(&segment, 1, timeline.published()), ChangedSince::No);
        timeline.end(writer, Access::Write);
        insert(&segment, &timeline, 9, &[1]);
        merge(&segment, &timeline);
        assert!(segment.load().history.is_empty(), "no writer could ask");
    }

    #[test]
    fn a_hub_moves_out_and_inherits_what_writers_may_ask() {
        let timeline = Timeline::new(Timestamp::ZERO, Readable::Published);
        let segment = Segment::new(Timestamp::ZERO, EdgeBody::empty());
        let (writer, ()) = timeline.begin(Access::Write, |_| ());
        let (reader, ()) = timeline.begin(Access::Read, |_| ());
        let many: Vec<u32> = (0..=HUB_DEGREE as u32).collect();
        insert(&segment, &timeline, 7, &many);
        insert(&segment, &timeline, 8, &[1]);
        merge(&segment, &timeline);
        let version = segment.load_full();
        let hub = version.layer.hub(7).expect("row 7 is a hub");
        assert_eq!((hub.load().layer.body.items(), version.layer.body.items()), (many.len(), 1));
        assert_eq!(list(&segment, 7, timeline.published()).len(), many.len());
        assert_eq!(list(&segment, 7, reader), []);
        assert_eq!(segment.newer(&RecordKey::edge(7, 3, 0).only(), writer, |_| true), ChangedSince::Yes);
        assert_eq!(segment.newer(&RecordKey::edge(7, 99_999, 0).only(), writer, |_| true), ChangedSince::No);
    }

    #[test]
    fn many_records_at_once_go_to_the_run_and_few_to_the_tail() {
        let timeline = Timeline::new(Timestamp::ZERO, Readable::Published);
        let segment = Segment::new(Timestamp::ZERO, EdgeBody::empty());
        for round in 0..10u32 {
            insert(&segment, &timeline, 1, &(round * 10..round * 10 + 10).collect::<Vec<_>>());
        }
        assert_eq!(segment.load().layer.record_count(), 100);
        insert(&segment, &timeline, 2, &(0..1000).collect::<Vec<_>>());
        assert_eq!(segment.load().layer.run.len(), 1100);
        assert_eq!(list(&segment, 1, timeline.published()), (0..100).collect::<Vec<_>>());
        assert_eq!(list(&segment, 1, Timestamp(3)), (0..30).collect::<Vec<_>>());
    }
}
