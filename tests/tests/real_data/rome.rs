//! Rome's roads: 3,353 crossings, 8,870 one-way roads with lengths; ways between crossings on a live
//! snapshot, against a Dijkstra that knows nothing of ours.

use crate::imported::{Imported, options_for};
use evergraph::algorithms::control::Control;
use evergraph::algorithms::cycles::{self, CyclesParameters};
use evergraph::algorithms::k_hop::{KHopParameters, k_hop};
use evergraph::algorithms::scope::Scope;
use evergraph::algorithms::shortest_path::{ShortestPathParameters, shortest_path};
use evergraph::graph::filter::{Comparison, Condition, Filter};
use evergraph::graph::topology::Weight;
use evergraph::graph::transaction::Transaction as _;
use evergraph::{EngineKind, Freeze, GraphView, Snapshot, Value, VertexId};
use evergraph_tests::data::read_text;
use evergraph_tests::data_folder::data_set;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Roads as (from, to, length), by the numbers in the file.
type Roads = Vec<(i64, i64, u32)>;

/// The roads of the file, and a database of them.
fn rome(engine: EngineKind) -> Option<(Roads, Imported)> {
    let text = read_text(&data_set("road-rome99")?.join("rome99.gr.gz"));
    let road = |line: &str| {
        let words: Vec<&str> = line.strip_prefix("a ")?.split_whitespace().collect();
        Some((words[0].parse().unwrap(), words[1].parse().unwrap(), words[2].parse().unwrap()))
    };
    let roads: Roads = text.lines().filter_map(road).collect();
    assert_eq!(roads.len(), 8870);
    let folder = tempfile::tempdir().unwrap();
    let lines: String = roads.iter().map(|(from, to, length)| format!("{from} {to} {length}\n")).collect();
    fs::write(folder.path().join("roads.e"), lines).unwrap();
    let imported = Imported::new(engine, &options_for([folder.path().join("roads.e")]));
    assert_eq!(imported.ids.len(), 3353);
    Some((roads, imported))
}

/// The length of the shortest way from `source` to everywhere: Dijkstra's algorithm as he wrote it,
/// with a set in place of a queue.
fn by_dijkstra(roads: &BTreeMap<i64, Vec<(i64, u32)>>, source: i64) -> BTreeMap<i64, u32> {
    let (mut lengths, mut open) = (BTreeMap::new(), BTreeSet::from([(0, source)]));
    while let Some((length, crossing)) = open.pop_first() {
        if lengths.contains_key(&crossing) {
            continue;
        }
        lengths.insert(crossing, length);
        for (to, more) in roads.get(&crossing).into_iter().flatten() {
            open.insert((length + more, *to));
        }
    }
    lengths
}

fn from_each(roads: impl Iterator<Item = (i64, i64, u32)>) -> BTreeMap<i64, Vec<(i64, u32)>> {
    let mut all: BTreeMap<i64, Vec<(i64, u32)>> = BTreeMap::new();
    roads.for_each(|(from, to, length)| all.entry(from).or_default().push((to, length)));
    all
}

fn length(
    snapshot: &Snapshot,
    scope: &Scope,
    ends: (VertexId, VertexId),
    weight: Option<Weight>,
) -> Option<f64> {
    let parameters = ShortestPathParameters { weight, ..Default::default() };
    let control = Control::new(snapshot.budget());
    let path = shortest_path(snapshot, scope, ends.0, ends.1, &parameters, &control).unwrap()?;
    assert_eq!((path.vertices[0], *path.vertices.last().unwrap()), ends);
    let mut there = Vec::new();
    snapshot.has_edges(&path.edges, &mut there).unwrap();
    assert!(there.iter().all(|there| *there));
    for (step, edge) in path.vertices.windows(2).zip(&path.edges) {
        assert_eq!((edge.source, edge.target), (step[0], step[1]));
    }
    Some(path.length())
}

/// From each of some crossings after the first `skip`, `every` so many.
fn shortest_ways_through_rome_are_as_long_as_dijkstra_says_on(engine: EngineKind, skip: usize, every: usize) {
    let Some((roads, imported)) = rome(engine) else { return };
    let snapshot = imported.db.snapshot();
    let weight = Weight { key: snapshot.catalogue().key("weight").unwrap(), missing: None };
    let long = Condition::Compare(Comparison::LessOrEqual, Value::from(300_i64));
    let short_roads =
        Scope { edge_filters: vec![Filter { key: weight.key, condition: long }], ..Scope::default() };
    let by_length = from_each(roads.iter().copied());
    let by_count = from_each(roads.iter().map(|(from, to, _)| (*from, *to, 1)));
    let of_short = from_each(roads.iter().copied().filter(|road| road.2 <= 300));
    let crossings: Vec<i64> = imported.ids.keys().copied().collect();
    let mut far = 0;
    for source in crossings.iter().copied().step_by(331).skip(skip).step_by(every) {
        let (want, count, short) =
            (by_dijkstra(&by_length, source), by_dijkstra(&by_count, source), by_dijkstra(&of_short, source));
        for target in crossings.iter().copied().step_by(97) {
            let ends = (imported.ids[&source], imported.ids[&target]);
            let number = |lengths: &BTreeMap<i64, u32>| lengths.get(&target).copied().map(f64::from);
            let all = Scope::default();
            assert_eq!(length(&snapshot, &all, ends, Some(weight.clone())), number(&want));
            assert_eq!(length(&snapshot, &all, ends, None), number(&count));
            assert_eq!(length(&snapshot, &short_roads, ends, Some(weight.clone())), number(&short));
            far += usize::from(number(&short) > number(&want));
        }
        let near = KHopParameters { depth: 10, ..Default::default() };
        let control = Control::new(snapshot.budget());
        let found = k_hop(&snapshot, &Scope::default(), &[imported.ids[&source]], &near, &control).unwrap();
        let found: BTreeMap<VertexId, u32> = found.iter().collect();
        let want = count.iter().filter(|(_, count)| **count <= 10);
        let want: BTreeMap<VertexId, u32> = want.map(|(id, count)| (imported.ids[id], *count)).collect();
        assert_eq!(found, want);
    }
    assert!(far > 10 / every, "some ways are longer without long roads");

    // A new road is a way at once, and to older snapshots none.
    let (first, last) = (imported.ids[&1], imported.ids[&3353]);
    let road = snapshot.catalogue().edge_type("EDGE").unwrap();
    let before = length(&snapshot, &Scope::default(), (first, last), Some(weight.clone()));
    let properties = [(weight.key, Value::from(1.0))];
    imported.db.store().transact(|tx| tx.add_edge(first, road, last, &properties)).unwrap();
    let now = imported.db.snapshot();
    assert_eq!(length(&now, &Scope::default(), (first, last), Some(weight.clone())), Some(1.0));
    assert_eq!(length(&snapshot, &Scope::default(), (first, last), Some(weight)), before);
}

#[test]
fn shortest_ways_through_rome_are_as_long_as_dijkstra_says() {
    shortest_ways_through_rome_are_as_long_as_dijkstra_says_on(EngineKind::Memory, 0, 1);
}

#[test]
fn shortest_ways_through_rome_are_as_long_as_dijkstra_says_on_disk() {
    shortest_ways_through_rome_are_as_long_as_dijkstra_says_on(EngineKind::Disk, 1, 3);
}

fn cycles_through_a_crossing_are_those_of_all_of_rome_that_lead_there_on(engine: EngineKind) {
    let Some((_, imported)) = rome(engine) else { return };
    let snapshot = imported.db.snapshot();
    let control = Control::new(snapshot.budget());
    let (scope, parameters) = (Scope::default(), CyclesParameters { length_max: 8, ..Default::default() });
    let all = cycles::run(&snapshot, &scope, &parameters, &control).unwrap();
    assert!(all.is_complete() && all.len() > 1000, "{}", all.len());
    let mut through_some = 0;
    for vertex in imported.ids.values().copied().step_by(271) {
        let found = cycles::through(&snapshot, &scope, vertex, &parameters, &control).unwrap();
        let want: Vec<&[u32]> = all.iter().filter(|cycle| cycle.contains(&vertex.0)).collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), want);
        through_some += want.len();
    }
    assert!(through_some > 10);
}

#[test]
fn cycles_through_a_crossing_are_those_of_all_of_rome_that_lead_there() {
    cycles_through_a_crossing_are_those_of_all_of_rome_that_lead_there_on(EngineKind::Memory);
}

#[test]
fn cycles_through_a_crossing_are_those_of_all_of_rome_that_lead_there_on_disk() {
    cycles_through_a_crossing_are_those_of_all_of_rome_that_lead_there_on(EngineKind::Disk);
}
