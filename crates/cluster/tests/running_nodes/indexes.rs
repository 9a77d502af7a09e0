//! Indexes: built by the stores of all nodes, while all nodes write.

use crate::cluster::{Cluster, ClusterStore, PATIENCE, coordinators, pause, stores};
use crate::transactions::ClusterTransaction;
use evergraph_cluster::engine::cluster_engine::ClusterEngine;
use evergraph_cluster::log::memory::LogFaults;
use evergraph_cluster::planted::{Bug, with};
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::index::{IndexKind, IndexState};
use evergraph_graph::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::owner::Owner;
use evergraph_graph::transaction::{Freshness, Transaction as _};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{GraphView, VertexCursor};
use evergraph_storage::indexing::{IndexProgress, IndexRequest, OwnerName};
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::sync::atomic::{AtomicBool, Ordering};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const BY_NAME: IndexRequest<'static> =
    IndexRequest { owner: OwnerName::Label("Person"), key: "name", kind: IndexKind::Hash, unique: false };
const UNIQUE: IndexRequest<'static> = IndexRequest { unique: true, ..BY_NAME };

/// What the graph is now, of everything that anybody has committed before. A log with faults may refuse to say where it ends.
fn fresh(store: &ClusterStore) -> Snapshot<ClusterEngine> {
    loop {
        let snapshot = store.snapshot_with(Freshness::Fresh);
        match snapshot.check_begun() {
            Ok(()) => return snapshot,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Busy, "{error}"),
        }
    }
}

/// Three nodes, a store on each, and names that all of them know.
struct World {
    cluster: Cluster,
    stores: Vec<ClusterStore>,
    label: LabelId,
    key: KeyId,
}

impl World {
    fn start(seed: u64, faults: LogFaults) -> Self {
        let cluster = Cluster::start(seed, faults);
        let stores = stores(&cluster, &coordinators(&cluster, PATIENCE));
        let mut transaction = stores[0].begin();
        let (label, key) = (transaction.label("Person").unwrap(), transaction.key("name").unwrap());
        let committed = transaction.add_vertex(label, &[]).and_then(|_| transaction.commit()).unwrap();
        let after = Freshness::After(committed.timestamp);
        stores.iter().for_each(|store| drop(store.snapshot_with(after)));
        Self { cluster, stores, label, key }
    }

    /// Does `work` while the stores of all partitions fill their indexes, as background threads would.
    fn filling<T>(&self, work: impl FnOnce() -> T) -> T {
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    self.cluster.nodes.iter().for_each(|node| node.look_after());
                    pause(Duration::from_millis(1));
                }
            });
            let done = work();
            is_done.store(true, Ordering::Relaxed);
            done
        })
    }

    fn create(&self, node: usize, request: &IndexRequest<'_>) -> Result<bool, Error> {
        self.stores[node].create_index(request, &mut |_| Ok(()))
    }

    fn add(&self, node: usize, name: &str) -> Result<VertexId, Error> {
        let add = |transaction: &mut ClusterTransaction| {
            transaction.add_vertex(self.label, &[(self.key, name.into())])
        };
        // It sees what any node has committed before.
        drop(fresh(&self.stores[node]));
        self.stores[node].transact(add)
    }

    /// The values of all persons at a moment that sees everything before, and who has them: as a scan finds them.
    fn names(&self, view: &impl GraphView) -> BTreeMap<Value, BTreeSet<VertexId>> {
        let (mut cursor, mut vertices) = (VertexCursor::default(), Vec::new());
        while !cursor.done {
            view.scan_vertices(Some(&[self.label]), &mut cursor, 100, &mut vertices).unwrap();
        }
        let mut values = Column::new(ValueType::String);
        view.vertex_properties(&vertices, self.key, &mut values).unwrap();
        let mut names: BTreeMap<Value, BTreeSet<VertexId>> = BTreeMap::new();
        for (at, vertex) in vertices.into_iter().enumerate() {
            if let Some(value) = values.get(at) {
                names.entry(value).or_default().insert(vertex);
            }
        }
        names
    }

    /// What look-ups find of `values`.
    fn found(&self, view: &impl GraphView, values: &[Value]) -> BTreeMap<Value, BTreeSet<VertexId>> {
        let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
        while !cursor.done {
            view.look_up_vertices(self.label, self.key, values, &mut cursor, 50, &mut found).unwrap();
        }
        let mut names: BTreeMap<Value, BTreeSet<VertexId>> = BTreeMap::new();
        for (row, vertex) in found.rows.into_iter().zip(found.items) {
            names.entry(values[row as usize].clone()).or_default().insert(vertex);
        }
        names
    }

    /// Demands that on each node look-ups find what a scan finds.
    fn check_found(&self) {
        for store in &self.stores {
            let snapshot = fresh(store);
            let names = self.names(&snapshot);
            let values: Vec<Value> = names.keys().cloned().collect();
            assert_eq!(self.found(&snapshot, &values), names);
        }
        self.cluster.check();
    }

    /// Whether the index is in the catalogue of each node, and how.
    fn known(&self) -> Vec<(bool, IndexState)> {
        let first = self.stores.iter().flat_map(|store| {
            drop(fresh(store));
            store.indexes()
        });
        first.map(|index| (index.definition.unique, index.state)).collect()
    }
}

/// Writers of all nodes insert, change and remove names until `is_done`, each from few values if they are to meet.
fn write(world: &World, node: usize, values: u64, is_done: &AtomicBool) -> usize {
    let (store, mut chance) = (&world.stores[node], SeededChance::new(node as u64));
    let (mut own, mut commits) = (Vec::new(), 0);
    while !is_done.load(Ordering::Relaxed) {
        let name = Value::from(format!("n{}", chance.below(values)));
        let at = (!own.is_empty()).then(|| chance.below(own.len() as u64) as usize);
        let written = store.transact(|transaction| match at {
            Some(at) if chance.happens(OneIn(3)) => {
                let value = chance.happens(OneIn(2)).then(|| name.clone());
                transaction.set_vertex_property(own[at], world.key, value).map(|()| None)
            }
            Some(at) if chance.happens(OneIn(8)) => {
                transaction.delete_vertex(own[at])?;
                Ok(Some(own[at]))
            }
            _ => transaction.add_vertex(world.label, &[(world.key, name.clone())]).map(Some),
        });
        match written {
            Ok(None) => {}
            Ok(Some(vertex)) => match own.iter().position(|known| *known == vertex) {
                Some(at) => drop(own.swap_remove(at)),
                None => own.push(vertex),
            },
            // Somebody has the name, or too many want the same.
            Err(error) => assert!(error.is_conflict() || error.kind() == ErrorKind::Invalid, "{error}"),
        }
        commits += 1;
    }
    commits
}

/// Creates an index while all nodes write; what came of it, and whether each writer did something.
fn create_beside_writers(world: &World, request: &IndexRequest<'_>, values: u64) -> Result<bool, Error> {
    let is_done = AtomicBool::new(false);
    world.filling(|| {
        std::thread::scope(|scope| {
            let is_done = &is_done;
            let writers =
                (0..world.stores.len()).map(|node| scope.spawn(move || write(world, node, values, is_done)));
            let writers: Vec<_> = writers.collect();
            pause(Duration::from_millis(50));
            let created = world.create(1, request);
            is_done.store(true, Ordering::Relaxed);
            for writer in writers {
                assert!(writer.join().unwrap() > 0);
            }
            created
        })
    })
}

fn faults() -> LogFaults {
    LogFaults {
        delay_max: Duration::from_millis(2),
        refused: OneIn(40),
        lost: OneIn(60),
        unanswered: OneIn(60),
        late: OneIn(60),
        doubled: OneIn(20),
        ..LogFaults::default()
    }
}

#[test]
fn an_index_that_is_built_while_all_nodes_write_finds_what_is_there() {
    let world = World::start(31, faults());
    assert!(create_beside_writers(&world, &BY_NAME, 40).unwrap());
    assert_eq!(world.known(), [(false, IndexState::Ready); 3]);
    world.check_found();
    assert!(world.create(2, &BY_NAME).is_ok_and(|is_new| !is_new), "it is there");
    // Of the other kind, with an order.
    let ordered = IndexRequest { kind: IndexKind::Ordered, ..BY_NAME };
    assert!(create_beside_writers(&world, &ordered, 40).unwrap());
    let snapshot = fresh(&world.stores[0]);
    let (mut cursor, mut ranked) = (RangeCursor::default(), OrderedMatches::default());
    while !cursor.done {
        let range = ValueRange::ALL;
        snapshot.range_vertices(world.label, world.key, &range, &mut cursor, 30, &mut ranked).unwrap();
    }
    let in_order = world.names(&snapshot).into_iter();
    let in_order =
        in_order.flat_map(|(value, all)| all.into_iter().map(move |vertex| (value.clone(), vertex)));
    assert_eq!(ranked.values.into_iter().zip(ranked.items).collect::<Vec<_>>(), in_order.collect::<Vec<_>>());
    world.stores[2].drop_index(BY_NAME.owner, BY_NAME.key, Some(IndexKind::Hash)).unwrap();
    assert_eq!(world.known(), [(false, IndexState::Ready); 3], "the ordered one");
    world.check_found();
}

/// Whether no two persons have one name, once an index on it is unique.
fn has_no_duplicates(world: &World) -> bool {
    let names = world.names(&fresh(&world.stores[2]));
    names.values().all(|holders| holders.len() == 1)
}

#[test]
fn a_unique_index_that_is_built_while_all_nodes_write_is_unique_or_says_which_value_is_there_twice() {
    let (mut made, mut refused) = (0, 0);
    for seed in 0..4 {
        let world = World::start(41 + seed, faults());
        // Names meet hardly ever, or often.
        match create_beside_writers(&world, &UNIQUE, if seed < 2 { 1 << 40 } else { 30 }) {
            Ok(is_new) => {
                assert!(is_new && has_no_duplicates(&world));
                assert_eq!(world.known(), [(true, IndexState::Ready); 3]);
                made += 1;
            }
            Err(error) => {
                assert!(error.to_string().starts_with("Person.name can't be unique: \"n"), "{error}");
                assert_eq!(world.known(), []);
                refused += 1;
            }
        }
        world.cluster.check();
    }
    assert!(made >= 2 && refused >= 1, "{made} made, {refused} refused");
}

#[test]
fn duplicates_in_two_partitions_are_named_and_gone_the_index_is_unique_on_all_nodes() {
    let world = World::start(32, LogFaults::default());
    let [one, other] = [0, 1].map(|node| world.add(node, "ada").unwrap());
    let partition = |vertex: VertexId| vertex.group().0 % u32::from(crate::cluster::PARTITIONS);
    assert_ne!(partition(one), partition(other), "no store has both");
    world.add(2, "bob").unwrap();
    let error = world.filling(|| world.create(2, &UNIQUE)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let (first, second) = (one.min(other), one.max(other));
    assert_eq!(error.to_string(), format!("Person.name can't be unique: \"ada\" of {first} and {second}"));
    assert_eq!(world.known(), [], "nothing is left of it");
    drop(fresh(&world.stores[0]));
    world.stores[0].transact(|transaction| transaction.delete_vertex(other)).unwrap();
    assert!(world.filling(|| world.create(0, &UNIQUE)).unwrap());
    let taken = world.add(1, "ada").unwrap_err();
    assert_eq!(taken.to_string(), format!("Person.name is unique, and {one} already has the value \"ada\""));
    let differs = world.create(2, &BY_NAME).unwrap_err();
    assert!(differs.to_string().contains("is unique, but one that is not unique was requested"), "{differs}");
    world.add(2, "eve").unwrap();
    world.check_found();
}

/// Somebody adds a name that is there just when duplicates are looked for. Whether he was refused.
fn refuses_what_comes_meanwhile(seed: u64) -> bool {
    let world = World::start(seed, LogFaults::default());
    world.add(0, "ada").unwrap();
    let mut late = None;
    let mut progress = |now: IndexProgress| {
        if now.groups_done == now.groups_count && late.is_none() {
            late = Some(world.add(1, "ada"));
        }
        Ok(())
    };
    let created = world.filling(|| world.stores[0].create_index(&UNIQUE, &mut progress));
    assert!(created.unwrap());
    let is_refused = late.expect("it tells how far it is").is_err();
    assert_eq!(has_no_duplicates(&world), is_refused);
    is_refused
}

#[test]
fn nobody_enters_a_name_that_is_there_while_an_index_is_made_unique() {
    assert!(refuses_what_comes_meanwhile(33));
    let is_refused = with(Bug::UniqueUnenforced, || refuses_what_comes_meanwhile(33));
    assert!(!is_refused, "the planted bug is found");
}

/// Two transactions begin before an index is created, and end behind that; whether the one that sets a value conflicts. The other
/// one sets none.
fn conflicts_with_a_creation(seed: u64, request: &IndexRequest<'_>) -> bool {
    let world = World::start(seed, LogFaults::default());
    let ada = world.add(1, "ada").unwrap();
    drop(fresh(&world.stores[1]));
    let (mut sets, mut removes) = (world.stores[1].begin(), world.stores[1].begin());
    sets.add_vertex(world.label, &[(world.key, "bob".into())]).unwrap();
    removes.set_vertex_property(ada, world.key, None).unwrap();
    assert!(world.filling(|| world.create(0, request)).unwrap());
    removes.commit().unwrap();
    let conflicts = match sets.commit() {
        Ok(_) => false,
        Err(error) => {
            assert!(error.is_conflict(), "{error}");
            true
        }
    };
    // Once: the next one knows of the index.
    world.add(1, "eve").unwrap();
    world.check_found();
    conflicts
}

#[test]
fn a_transaction_from_before_an_index_that_sets_a_value_conflicts_once() {
    assert!(conflicts_with_a_creation(34, &BY_NAME));
    let planted = || conflicts_with_a_creation(34, &BY_NAME);
    assert!(!with(Bug::CreationUntouched, planted), "the planted bug is found");
}

/// A transaction begins while duplicates are looked for, and ends when there were none; whether it conflicts. What it checks is
/// checked by whoever drops the index, too: one that found duplicates before must not drop what is unique by now.
fn conflicts_with_a_confirmation(seed: u64) -> bool {
    let world = World::start(seed, LogFaults::default());
    world.add(0, "ada").unwrap();
    let mut begun = None;
    let mut progress = |now: IndexProgress| {
        if now.groups_done == now.groups_count && begun.is_none() {
            drop(fresh(&world.stores[1]));
            let mut transaction = world.stores[1].begin();
            transaction.add_vertex(world.label, &[(world.key, "bob".into())])?;
            begun = Some(transaction);
        }
        Ok(())
    };
    assert!(world.filling(|| world.stores[0].create_index(&UNIQUE, &mut progress)).unwrap());
    let conflicts = match begun.expect("it tells how far it is").commit() {
        Ok(_) => false,
        Err(error) => {
            assert!(error.is_conflict(), "{error}");
            true
        }
    };
    assert_eq!(world.known(), [(true, IndexState::Ready); 3]);
    world.add(2, "eve").unwrap();
    world.check_found();
    conflicts
}

#[test]
fn a_transaction_from_before_an_index_is_confirmed_conflicts_with_it() {
    assert!(conflicts_with_a_confirmation(37));
    let is_conflict = with(Bug::ConfirmationUntouched, || conflicts_with_a_confirmation(37));
    assert!(!is_conflict, "the planted bug is found");
}

#[test]
fn a_build_is_seen_joined_and_stopped_and_leaves_nothing_then() {
    let world = World::start(35, LogFaults::default());
    world.add(0, "ada").unwrap();
    // Nobody fills it.
    let mut seen = Vec::new();
    let mut progress = |now: IndexProgress| {
        assert!(now.groups_done < now.groups_count);
        seen.extend(world.known());
        Err(Error::new(ErrorKind::Cancelled, "enough"))
    };
    let stopped = world.stores[0].create_index(&UNIQUE, &mut progress).unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Cancelled);
    assert_eq!(seen, [(true, IndexState::Building); 3]);
    assert_eq!(world.known(), []);
    std::thread::scope(|scope| {
        let both: Vec<_> = (0..2)
            .map(|node| {
                scope.spawn({
                    let world = &world;
                    move || world.create(node, &UNIQUE)
                })
            })
            .collect();
        let is_building = || world.known() == [(true, IndexState::Building); 3];
        world.cluster.wait_until("nobody begins", is_building);
        let ended = world.filling(|| both.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>());
        ended.into_iter().for_each(|created| assert!(created.unwrap(), "it was not there before"));
    });
    assert_eq!(world.known(), [(true, IndexState::Ready); 3]);
    world.check_found();
}

#[test]
fn edges_have_indexes_too_and_newest_first_is_an_order_of_their_lists() {
    let world = World::start(36, LogFaults::default());
    let (edge_type, key) = world.stores[0]
        .transact(|transaction| {
            let (edge_type, key) = (transaction.edge_type("KNOWS")?, transaction.key("since")?);
            let mut last = transaction.add_vertex(world.label, &[])?;
            for year in 0..20 {
                let next = transaction.add_vertex(world.label, &[])?;
                transaction.add_edge(last, edge_type, next, &[(key, Value::I64(year % 10))])?;
                last = next;
            }
            Ok((edge_type, key))
        })
        .unwrap();
    let on_edges = |kind, unique| {
        let request = IndexRequest { owner: OwnerName::EdgeType("KNOWS"), key: "since", kind, unique };
        drop(fresh(&world.stores[1]));
        world.filling(|| world.create(1, &request))
    };
    let twice = on_edges(IndexKind::Ordered, true).unwrap_err();
    assert!(twice.to_string().starts_with("KNOWS.since can't be unique: "), "{twice}");
    assert!(twice.to_string().ends_with(", and 5 more"), "{twice}");
    for kind in IndexKind::BY_VALUE {
        assert!(on_edges(kind, false).unwrap());
    }
    let snapshot = fresh(&world.stores[2]);
    let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
    snapshot.look_up_edges(edge_type, key, &[Value::I64(3)], &mut cursor, 9, &mut found).unwrap();
    assert_eq!(found.items.len(), 2);
    assert!(on_edges(IndexKind::Newest, false).unwrap());
    let snapshot = fresh(&world.stores[0]);
    let catalogue = snapshot.catalogue();
    assert_eq!(catalogue.newest_first(edge_type), Some(key));
    assert_eq!(catalogue.indexes().filter(|index| index.id.owner == Owner::EdgeType(edge_type)).count(), 2);
}
