//! Partitions beside a whole graph: what one store decides, stores of some of its groups each apply.
//!
//! ```text
//! whole graph   random transactions, an index now and then       commits 1, 2, 3 ... and what each left to be seen
//!                    │ the mutations of its log
//! partitions    each applies what concerns it, at timestamps with gaps; merges, horizons that rise, checkpoints,
//!               openings, power cuts after which the end of the log is applied again
//! ```
//!
//! At every commit, and at the last moment before the next one, each partition must show its part of what the whole graph
//! showed, an edge with its out side where it starts and its in side where it ends, and all of them together find the same by
//! their indexes; older moments than a horizon are refused, partition by partition. In the end it is counted whether what is
//! interesting happened. Lists so long that they are taken apart are in `hubs`.

use crate::parts::{Decided, Open, Part, go_on, open, own};
use crate::shown::Shown;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{EdgeId, GroupId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::engine::Engine;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::error::LogError;
use evergraph_storage::log::recovery::{Replay, recover};
use evergraph_storage::open::BackgroundStep;
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::store::Store;
use evergraph_storage::transaction::payload;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

const LABELS: [&str; 3] = ["person", "post", "tag"];
const TYPES: [&str; 2] = ["knows", "likes"];
/// Values that vertices and edges get, from 0 on.
const VALUES: i64 = 12;

/// What to do (0..12), which of the vertices or edges there are, a value.
type Wish = (u8, usize, usize, i64);

#[derive(Clone, Debug)]
enum Step {
    /// Wishes of one transaction, and how many timestamps are left out before it.
    Commit(Vec<Wish>, u64),
    /// A unique one on vertices, or one with an order on edges.
    CreateIndex(bool),
    /// In a partition, and removals of index entries.
    Merge(usize),
    /// To a commit.
    RaiseHorizon(usize, usize),
    Checkpoint(usize),
    /// Whether it loses its power before.
    Reopen(usize, bool),
    /// A snapshot at a commit is kept open.
    Hold(usize, usize),
    Check,
}

fn step() -> impl Strategy<Value = Step> {
    let wish = (0u8..12, 0usize..64, 0usize..64, 0..VALUES);
    let wishes = proptest::collection::vec(wish, 1..12);
    prop_oneof![
        8 => (wishes, 0u64..9000).prop_map(|(wishes, gap)| Step::Commit(wishes, gap)),
        1 => any::<bool>().prop_map(Step::CreateIndex),
        3 => (0usize..4).prop_map(Step::Merge),
        2 => (0usize..4, 0usize..64).prop_map(|(part, commit)| Step::RaiseHorizon(part, commit)),
        1 => (0usize..4).prop_map(Step::Checkpoint),
        2 => (0usize..4, any::<bool>()).prop_map(|(part, loses_power)| Step::Reopen(part, loses_power)),
        2 => (0usize..4, 0usize..64).prop_map(|(part, commit)| Step::Hold(part, commit)),
        1 => Just(Step::Check),
    ]
}

/// A snapshot that is kept open, and what it showed at first.
struct Held {
    part: usize,
    snapshot: Snapshot<MemoryEngine>,
    shown: Shown,
}

/// How often what is interesting happened.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    /// Snapshots that were compared between the horizon and W, and those that were older than the horizon.
    between: u32,
    refused: u32,
    /// Moments that all partitions of several could show.
    together: u32,
    /// Merges after which records were left that are newer than the horizon.
    held_merges: u32,
    /// Power cuts that lost commits, which were applied again.
    lost: u32,
    /// Snapshots that stayed open, and showed the same later, though they were older than the horizon.
    outlived: u32,
    /// Look-ups by an index while a partition had one.
    look_ups: u32,
    /// Edges between partitions.
    divided_edges: u32,
}

struct World {
    whole: Open,
    whole_directory: MemoryDirectory,
    parts: Vec<Part>,
    decided: Vec<Decided>,
    /// The newest timestamp that was used or published anywhere.
    newest: u64,
    held: Vec<Held>,
    tally: Tally,
}

impl World {
    fn new(count: u16, tally: Tally) -> Self {
        let whole_directory = MemoryDirectory::new("whole");
        let whole = open(&whole_directory, None).unwrap();
        let parts = (0..count).map(|partition| Part::new(own(partition, count))).collect();
        Self { whole, whole_directory, parts, decided: Vec::new(), newest: 0, held: Vec::new(), tally }
    }

    fn play(&mut self, step: &Step) {
        let count = self.parts.len();
        match step {
            Step::Commit(wishes, gap) => {
                transact(self.whole.store(), wishes, self.decided.last().map(|commit| &commit.shown));
                self.decide(*gap);
            }
            Step::CreateIndex(unique) => {
                let (owner, key, kind) = match *unique {
                    true => (OwnerName::Label(LABELS[0]), "id", IndexKind::Hash),
                    false => (OwnerName::EdgeType(TYPES[0]), "weight", IndexKind::Ordered),
                };
                let request = IndexRequest { owner, key, kind, unique: *unique };
                // Values that are there twice already refuse the unique one.
                match self.whole.create_index(&request, &mut |_| Ok(())) {
                    Ok(_) => self.decide(0),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Invalid, "{error}"),
                }
            }
            Step::Merge(part) => {
                let Part { open, .. } = &self.parts[part % count];
                let store = open.store();
                store.engine().merge_everything();
                // Removals in indexes, and what new ones lack.
                open.step(BackgroundStep::LookAfter);
                self.tally.held_merges += u32::from(store.statistics().engine.fresh_edge_records > 0);
            }
            Step::RaiseHorizon(part, commit) => {
                if let Some(at) = self.commit(*commit) {
                    self.parts[part % count].store().set_horizon(at).unwrap();
                }
            }
            Step::Checkpoint(part) => {
                let part = &self.parts[part % count];
                let made = part.open.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
                assert!(made.covered_through <= part.store().timeline().horizon());
            }
            Step::Reopen(part, loses_power) => {
                let part = part % count;
                self.held.retain(|held| held.part != part);
                let before = self.parts[part].published();
                self.parts[part].reopen(*loses_power);
                self.tally.lost += u32::from(self.parts[part].published() < before);
                self.parts[part].apply_missing(&self.decided);
            }
            Step::Hold(part, commit) => {
                let (part, at) = (part % count, self.commit(*commit));
                let Some(at) = at else { return };
                self.parts[part].store().publish_through(at).unwrap();
                if let Ok(snapshot) = self.parts[part].store().snapshot_at(at) {
                    let shown = Shown::of(&snapshot);
                    self.held.push(Held { part, snapshot, shown });
                }
            }
            Step::Check => self.check(),
        }
    }

    fn commit(&self, which: usize) -> Option<Timestamp> {
        let which = which.checked_rem(self.decided.len())?;
        Some(self.decided[which].at)
    }

    /// Has the partitions apply what the whole graph committed last, if it did.
    fn decide(&mut self, gap: u64) {
        let store = self.whole.store();
        store.log().wait_durable(store.timeline().published().0).unwrap();
        let mut commits = Vec::new();
        let all = Replay::default();
        recover(&self.whole_directory, all, |at, payload| {
            commits.push(payload::decode(Timestamp(at), payload).unwrap());
            Ok::<_, LogError>(())
        })
        .unwrap();
        let mut news = commits.split_off(self.decided.len());
        let Some(mutations) = news.pop() else { return };
        assert!(news.is_empty(), "one commit at a time");
        self.newest += 1 + gap;
        let (at, shown) = (Timestamp(self.newest), Shown::of(&store.snapshot()));
        let own = self.parts[0].own;
        let divides = |edge: &&EdgeId| own.contains(edge.source.group()) != own.contains(edge.target.group());
        self.tally.divided_edges += shown.out.keys().filter(divides).count() as u32;
        self.decided.push(Decided { at, mutations, shown });
        self.parts.iter().for_each(|part| part.apply_missing(&self.decided));
    }

    fn check(&mut self) {
        self.newest += 3;
        let ends = self.decided.iter().skip(1).map(|next| next.at.0 - 1).chain([self.newest]);
        let moments: Vec<u64> = ends.collect();
        for (commit, end) in self.decided.iter().zip(moments) {
            for at in [commit.at, Timestamp(end)] {
                check_at(&self.parts, at, &commit.shown, &mut self.tally);
            }
        }
        for Held { part, snapshot, shown } in &self.held {
            let timeline = self.parts[*part].store().timeline();
            self.tally.outlived += u32::from(snapshot.timestamp() < timeline.merge_limit());
            assert_eq!(
                Shown::of(snapshot),
                *shown,
                "a snapshot of partition {part} that is kept open changed"
            );
        }
    }
}

/// Compares what partitions show at a moment with what the whole graph showed then.
fn check_at(parts: &[Part], at: Timestamp, shown: &Shown, tally: &mut Tally) {
    let mut snapshots = Vec::new();
    for Part { own, open, .. } in parts {
        let store = open.store();
        store.publish_through(at).unwrap();
        let timeline = store.timeline();
        let oldest = timeline.horizon().min(timeline.readable());
        let snapshot = match store.snapshot_at(at) {
            Ok(snapshot) => snapshot,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                assert!(oldest > at, "{at} is refused, though the horizon is {oldest}");
                tally.refused += 1;
                continue;
            }
        };
        assert!(oldest <= at, "{at} is older than the horizon {oldest}");
        assert_eq!(snapshot.timestamp(), at);
        tally.between += u32::from(oldest < at && at < timeline.published());
        let part = Shown::of(&snapshot);
        for half in part.into.iter().filter(|edge| !own.contains(edge.source.group())) {
            let properties = snapshot.edge_property_map(*half).unwrap();
            assert_eq!(properties, [], "properties are at the source alone");
        }
        let wanted = shown.part(*own);
        assert_eq!(part.vertices, wanted.vertices, "vertices of {own} at {at}");
        assert_eq!(part.out, wanted.out, "edges of {own} at their sources at {at}");
        assert_eq!(part.into, wanted.into, "edges of {own} at their targets at {at}");
        snapshots.push(snapshot);
    }
    if snapshots.len() == parts.len() {
        tally.together += u32::from(parts.len() > 1);
        check_look_ups(&snapshots, shown, tally);
    }
}

/// Look-ups by the indexes of all partitions find together what the whole graph showed.
fn check_look_ups(snapshots: &[Snapshot<MemoryEngine>], shown: &Shown, tally: &mut Tally) {
    let names = snapshots[0].catalogue();
    tally.look_ups += u32::from(names.has_indexes());
    let values: Vec<Value> = (0..VALUES).map(Value::I64).collect();
    if let (Some(label), Some(key)) = (names.label(LABELS[0]), names.key("id"))
        && names.indexes_on(Owner::Label(label), key).next().is_some()
    {
        let mut found = BTreeSet::new();
        for snapshot in snapshots {
            let (mut cursor, mut matches) = (MatchCursor::default(), Matches::default());
            while !cursor.done {
                snapshot.look_up_vertices(label, key, &values, &mut cursor, 5, &mut matches).unwrap();
            }
            found.extend(matches.rows.into_iter().map(i64::from).zip(matches.items));
        }
        assert_eq!(found, shown.holders(label, key), "look-ups of vertices");
    }
    if let (Some(edge_type), Some(key)) = (names.edge_type(TYPES[0]), names.key("weight"))
        && names.indexes_on(Owner::EdgeType(edge_type), key).next().is_some()
    {
        let mut found = BTreeSet::new();
        for snapshot in snapshots {
            let (mut cursor, mut matches) = (MatchCursor::default(), Matches::default());
            while !cursor.done {
                snapshot.look_up_edges(edge_type, key, &values, &mut cursor, 5, &mut matches).unwrap();
            }
            found.extend(matches.rows.into_iter().map(i64::from).zip(matches.items));
        }
        assert_eq!(found, shown.edge_holders(edge_type, key), "look-ups of edges");
    }
}

/// Runs what is possible of `wishes` as one transaction.
fn transact(store: &Store<MemoryEngine>, wishes: &[Wish], before: Option<&Shown>) {
    let mut transaction = store.begin();
    let labels = LABELS.map(|name| transaction.label(name).unwrap());
    let types = TYPES.map(|name| transaction.edge_type(name).unwrap());
    let [id, number, weight] = ["id", "number", "weight"].map(|name| transaction.key(name).unwrap());
    let mut alive: Vec<VertexId> =
        before.into_iter().flat_map(|shown| shown.vertices.keys()).copied().collect();
    let edges: Vec<EdgeId> = before.into_iter().flat_map(|shown| shown.out.keys()).copied().collect();
    for &(what, a, b, value) in wishes {
        let value = Value::I64(value);
        let one = alive.get(a % alive.len().max(1)).copied();
        let other = alive.get(b % alive.len().max(1)).copied();
        let edge = edges.get(b % edges.len().max(1)).copied();
        let done = match (what, one, other, edge) {
            (0..=2, ..) => {
                // Some have no id, some nothing.
                let properties = [(id, value.clone()), (number, value)];
                let added = transaction.add_vertex(labels[a % LABELS.len()], &properties[b % 3..]);
                added.map(|vertex| alive.push(vertex))
            }
            (3, Some(vertex), ..) => {
                let key = if b % 2 == 0 { number } else { id };
                transaction.set_vertex_property(vertex, key, (b % 5 > 0).then_some(value))
            }
            (4, Some(vertex), ..) => transaction.delete_vertex(vertex),
            (5..=7, Some(source), Some(target), _) => {
                transaction.add_edge(source, types[b % 2], target, &[(weight, value)]).map(drop)
            }
            (8, Some(source), Some(target), _) => {
                transaction.put_edge(source, types[a % 2], target, &[(weight, value)]).map(drop)
            }
            (9, _, _, Some(edge)) => transaction.delete_edge(edge),
            (10.., _, _, Some(edge)) => {
                transaction.set_edge_property(edge, weight, (a % 4 > 0).then_some(value))
            }
            _ => Ok(()),
        };
        if let Err(error) = done {
            // Deleted by an earlier wish, or a value of a unique property that somebody has.
            let is_expected = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Invalid);
            assert!(is_expected, "{error}");
        }
    }
    transaction.commit().unwrap();
}

#[test]
fn partitions_together_show_what_the_whole_graph_showed() {
    let config = Config { cases: 60, source_file: Some(file!()), ..Config::default() };
    let tally = RefCell::new(Tally::default());
    let worlds = (1u16..=4, proptest::collection::vec(step(), 1..40));
    let played = TestRunner::new(config).run(&worlds, |(count, steps)| {
        let mut world = World::new(count, *tally.borrow());
        steps.iter().for_each(|step| world.play(step));
        world.check();
        world.held.clear();
        for part in &mut world.parts {
            part.reopen(false);
            part.apply_missing(&world.decided);
            let report = part.open.check(&mut go_on).unwrap();
            prop_assert!(report.is_healthy(), "{report:?}");
            let groups = (0..part.store().engine().group_count()).map(GroupId);
            let mut there = groups.filter(|group| part.store().engine().has_group(*group));
            prop_assert!(there.all(|group| part.own.contains(group)), "a group of another partition");
        }
        world.check();
        *tally.borrow_mut() = world.tally;
        Ok(())
    });
    played.unwrap();
    let tally = tally.into_inner();
    let Tally { between, refused, together, held_merges, lost, outlived, look_ups, divided_edges } = tally;
    assert!(between > 300 && refused > 300 && together > 30, "{tally:?}");
    let counts = [held_merges, lost, outlived, look_ups, divided_edges];
    assert!(counts.iter().all(|count| *count > 0), "{tally:?}");
}
