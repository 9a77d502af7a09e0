//! Hubs: vertices with more edges than a segment keeps among others (16,384 on a side), whose lists
//! move into segments of their own while snapshots and transactions are open.

use evergraph::engines::engine::AnyEngine;
use evergraph::graph::id::TypeId;
use evergraph::graph::transaction::Transaction as _;
use evergraph::storage::io::memory::MemoryDirectory;
use evergraph::storage::open::OpenStore;
use evergraph::{Direction, EdgeId, EngineKind, GraphView, ReadByName, Snapshot, Value, VertexId};
use evergraph_tests::contents::Contents;
use evergraph_tests::store::{assert_healthy, checkpoint, open_synced};

/// Edges of the hub on each side, in the end. For the disk engine a hub is a list as any other, of several blocks and pages.
fn degree(engine: EngineKind) -> usize {
    if engine == EngineKind::Disk { 4_000 } else { 18_000 }
}

/// A star both ways: a hub, and for each other vertex an edge from the hub and one back.
struct Star {
    open: OpenStore<AnyEngine>,
    hub: VertexId,
    follows: TypeId,
    leaves: Vec<VertexId>,
}

impl Star {
    fn new(engine: EngineKind, directory: &MemoryDirectory) -> Self {
        let open = open_synced(engine, directory).unwrap();
        let mut setup = open.store().begin();
        let label = setup.label("Person").unwrap();
        let follows = setup.edge_type("FOLLOWS").unwrap();
        setup.key("since").unwrap();
        let hub = setup.add_vertex(label, &[]).unwrap();
        setup.commit().unwrap();
        Self { open, hub, follows, leaves: Vec::new() }
    }

    fn snapshot(&self) -> Snapshot {
        self.open.store().snapshot()
    }

    /// Adds `count` leaves, 1,000 a transaction; the edges back have a property.
    fn grow(&mut self, count: usize) {
        for batch in 0..count / 1000 {
            let mut writer = self.open.store().begin();
            let (label, since) = (writer.label("Person").unwrap(), writer.key("since").unwrap());
            for _ in 0..1000 {
                let leaf = writer.add_vertex(label, &[]).unwrap();
                writer.add_edge(self.hub, self.follows, leaf, &[]).unwrap();
                let year = [(since, Value::I64(2000 + batch as i64))];
                writer.add_edge(leaf, self.follows, self.hub, &year).unwrap();
                self.leaves.push(leaf);
            }
            writer.commit().unwrap();
        }
    }

    fn edges(&self, leaf: VertexId) -> [EdgeId; 2] {
        let edge = |source, target| EdgeId { source, edge_type: self.follows, target, discriminator: 0 };
        [edge(self.hub, leaf), edge(leaf, self.hub)]
    }

    fn degrees<V: GraphView>(&self, view: &V) -> Vec<u64> {
        let mut degrees = Vec::new();
        for direction in [Direction::Out, Direction::In] {
            view.degrees(&[self.hub], None, direction, &mut degrees).unwrap();
        }
        degrees
    }

    fn hubs(&self) -> u64 {
        self.open.store().statistics().engine.hubs
    }
}

/// Everything that a snapshot shows, checked in itself.
fn checked(snapshot: &Snapshot) -> Contents {
    let contents = Contents::of(snapshot, 5000);
    contents.check_frozen(snapshot);
    contents
}

#[test]
fn a_list_that_becomes_a_hub_stays_what_it_was_for_every_snapshot() {
    EngineKind::ALL.into_iter().for_each(grow_and_change);
}

fn grow_and_change(engine: EngineKind) {
    let degree = degree(engine);
    let directory = MemoryDirectory::new("db");
    let mut star = Star::new(engine, &directory);
    star.grow(degree / 2);
    let small = star.snapshot();
    let before = checked(&small);
    assert_eq!(star.degrees(&small), [degree as u64 / 2; 2]);
    // The disk engine keeps a hub's list as any other.
    let hubs = if engine == EngineKind::Disk { 0 } else { 2 };
    assert_eq!(star.hubs(), 0);
    star.grow(degree - degree / 2);
    star.open.store().engine().merge_everything();
    assert_eq!(star.hubs(), hubs, "a list a side");
    let full = star.snapshot();
    let grown = checked(&full);
    assert_eq!(star.degrees(&full), [degree as u64; 2]);
    assert_eq!(grown.edges.len(), 2 * degree);

    // Deleted, changed and added behind the hub's segment, in tail, run and body.
    let mut expected = grown.clone();
    for (at, leaf) in star.leaves.clone().into_iter().enumerate().step_by(10) {
        let mut writer = star.open.store().begin();
        let [out, back] = star.edges(leaf);
        writer.delete_edge(out).unwrap();
        expected.edges.remove(&out);
        let since = writer.key("since").unwrap();
        writer.set_edge_property(back, since, Some(Value::I64(-1))).unwrap();
        expected.edges.get_mut(&back).unwrap().insert(since, Value::I64(-1));
        if at % 50 == 0 {
            let parallel = writer.add_edge(star.hub, star.follows, leaf, &[]).unwrap();
            expected.edges.insert(parallel, Default::default());
        }
        writer.commit().unwrap();
    }
    for merge in [false, true] {
        if merge {
            star.open.store().engine().merge_everything();
        }
        assert!(checked(&small) == before, "the snapshot from before the hub, merged: {merge}");
        assert!(checked(&full) == grown, "the full snapshot, merged: {merge}");
        assert!(checked(&star.snapshot()) == expected, "the newest snapshot, merged: {merge}");
    }
    checkpoint(&star.open).unwrap();
    let last = star.leaves[degree - 1];
    let mut writer = star.open.store().begin();
    writer.delete_vertex(last).unwrap();
    writer.commit().unwrap();
    star.edges(last).iter().for_each(|edge| drop(expected.edges.remove(edge)));
    expected.vertices.remove(&last);

    let found = open_synced(engine, &directory.power_cut()).unwrap();
    assert!(checked(&found.store().snapshot()) == expected, "after a power cut");
    assert_healthy(&found);
}

#[test]
fn a_hub_that_is_deleted_takes_all_its_edges_with_it() {
    EngineKind::ALL.into_iter().for_each(delete_hub);
}

fn delete_hub(engine: EngineKind) {
    let degree = degree(engine);
    let directory = MemoryDirectory::new("db");
    let mut star = Star::new(engine, &directory);
    star.grow(degree);
    star.open.store().engine().merge_everything();
    let before = star.snapshot();
    let mut writer = star.open.store().begin();
    writer.delete_vertex(star.hub).unwrap();
    assert_eq!(writer.edges(star.hub, Direction::Both, &[]).unwrap(), []);

    // Whoever gives it an edge meanwhile, through a leaf, is first; then it goes.
    star.open.store().transact(|tx| tx.add_edge(star.leaves[0], star.follows, star.hub, &[])).unwrap();
    assert!(writer.commit().unwrap_err().is_conflict());
    star.open.store().transact(|tx| tx.delete_vertex(star.hub)).unwrap();

    let after = checked(&star.snapshot());
    assert_eq!((after.vertices.len(), after.edges.len()), (degree, 0));
    checkpoint(&star.open).unwrap();
    assert_eq!(star.degrees(&before), [degree as u64; 2]);
    assert_eq!(checked(&before).edges.len(), 2 * degree);
    let found = open_synced(engine, &directory.power_cut()).unwrap();
    assert!(checked(&found.store().snapshot()) == after, "after a power cut");
    assert_healthy(&found);
}
