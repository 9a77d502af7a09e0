//! sx-mathoverflow: who answered whom when; a multigraph of 506,550 edges over 239,978 pairs. Inserted
//! in the order of time, it must show at each of five moments what other tools counted there.

use crate::imported::{Imported, options_for};
use evergraph::algorithms::control::Control;
use evergraph::algorithms::scope::Scope;
use evergraph::algorithms::wcc::{self, WccParameters};
use evergraph::graph::transaction::Transaction as _;
use evergraph::import::options::ImportOptions;
use evergraph::{Direction, Freeze, GraphView, ReadByName, Snapshot, Value, VertexId};
use evergraph_tests::contents::for_each_edge;
use evergraph_tests::data::{data_set, json_atoms, json_section, read_text};
use std::collections::{HashMap, HashSet};

/// Edges a transaction, at most.
const BATCH: usize = 20;

/// What was counted at one moment.
#[derive(Debug, Default, PartialEq)]
struct Facts {
    edges: u64,
    vertices: u64,
    pairs: usize,
    undirected_pairs: usize,
    components: u64,
    top_out_degrees: Vec<(i64, u64)>,
}

/// The five cut times, and the facts at each.
fn published(text: &str) -> Vec<(i64, Facts)> {
    let mut found: Vec<(i64, Facts)> = Vec::new();
    let atoms = json_atoms(json_section(text, "snapshots"));
    let mut atoms = atoms.into_iter().peekable();
    while let Some(key) = atoms.next() {
        if key == "top5_out_multi_degree" {
            let facts = &mut found.last_mut().unwrap().1;
            for _ in 0..5 {
                let (id, degree) = (atoms.next().unwrap(), atoms.next().unwrap());
                facts.top_out_degrees.push((id.parse().unwrap(), degree.parse().unwrap()));
            }
            continue;
        }
        let number: f64 = atoms.next().unwrap().parse().unwrap();
        if key == "cut_time_inclusive" {
            found.push((number as i64, Facts::default()));
            continue;
        }
        let facts = &mut found.last_mut().unwrap().1;
        match key {
            "temporal_edges" => facts.edges = number as u64,
            "vertices" => facts.vertices = number as u64,
            "distinct_directed_pairs" => facts.pairs = number as usize,
            "undirected_simple_edges" => facts.undirected_pairs = number as usize,
            "wcc" => facts.components = number as u64,
            "triangles" => {}
            other => panic!("a fact called {other}"),
        }
    }
    found
}

fn facts(snapshot: &Snapshot) -> Facts {
    let statistics = snapshot.statistics().unwrap();
    let (mut pairs, mut undirected) = (HashSet::new(), HashSet::new());
    let mut seen = 0;
    for_each_edge(snapshot, |edge| {
        let (source, target) = (edge.source.0, edge.target.0);
        seen += 1;
        pairs.insert((source, target));
        if source != target {
            undirected.insert((source.min(target), source.max(target)));
        }
    });
    assert_eq!(seen, statistics.edges.iter().map(|entry| entry.1).sum::<u64>());
    let vertices = snapshot.vertices(None).unwrap();
    let mut degrees = Vec::new();
    snapshot.degrees(&vertices, None, Direction::Out, &mut degrees).unwrap();
    let mut top: Vec<(u64, VertexId)> = degrees.into_iter().zip(vertices).collect();
    top.sort_unstable_by_key(|(degree, _)| std::cmp::Reverse(*degree));
    let id = |vertex| snapshot.get(vertex, "id").unwrap().unwrap().as_i64().unwrap();
    let control = Control::new(snapshot.budget());
    Facts {
        edges: seen,
        vertices: statistics.vertices.iter().map(|entry| entry.1).sum(),
        pairs: pairs.len(),
        undirected_pairs: undirected.len(),
        components: wcc::run(snapshot, &Scope::default(), &WccParameters::default(), &control)
            .unwrap()
            .components(),
        top_out_degrees: top.iter().take(5).map(|(degree, vertex)| (id(*vertex), *degree)).collect(),
    }
}

/// Adds `edges`, and those of their ends that nobody mentioned before, in one transaction.
fn insert(imported: &Imported, vertices: &mut HashMap<i64, VertexId>, edges: &[(i64, i64, i64)]) {
    let mut tx = imported.db.store().begin();
    let (label, answered) = (tx.label("User").unwrap(), tx.edge_type("ANSWERED").unwrap());
    let (id_key, time_key) = (tx.key("id").unwrap(), tx.key("time").unwrap());
    for (source, target, time) in edges {
        let [source, target] = [source, target].map(|id| {
            let add = || tx.add_vertex(label, &[(id_key, Value::I64(*id))]).unwrap();
            *vertices.entry(*id).or_insert_with(add)
        });
        tx.add_edge(source, answered, target, &[(time_key, Value::I64(*time))]).unwrap();
    }
    tx.commit().unwrap();
}

#[test]
fn five_moments_of_a_multigraph_are_held_at_once() {
    let Some(folder) = data_set("temporal") else { return };
    let text = read_text(&folder.join("sx-mathoverflow.txt.gz"));
    let number = |word: &str| word.parse::<i64>().unwrap();
    let mut edges: Vec<(i64, i64, i64)> = text
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            (number(words[0]), number(words[1]), number(words[2]))
        })
        .collect();
    edges.sort_by_key(|edge| edge.2);
    let moments = published(&read_text(&folder.join("sx-mathoverflow-snapshots.json")));
    assert_eq!(moments.len(), 5);

    let imported = Imported::empty();
    imported.db.create_unique_index("User", "id").unwrap();
    let mut vertices = HashMap::new();
    let (mut start, mut snapshots) = (0, Vec::new());
    for (cut, _) in &moments {
        let end = edges.partition_point(|edge| edge.2 <= *cut);
        edges[start..end].chunks(BATCH).for_each(|batch| insert(&imported, &mut vertices, batch));
        snapshots.push(imported.db.snapshot());
        start = end;
    }
    assert_eq!(start, 506_550);
    for ((cut, wanted), snapshot) in moments.iter().zip(&snapshots) {
        assert_eq!(facts(snapshot), *wanted, "at {cut}");
    }
    drop(snapshots);
    let reopened = imported.reopened_from_checkpoint();
    assert_eq!(facts(&reopened.db.snapshot()), moments[4].1);
    reopened.assert_healthy();
}

#[test]
fn every_parallel_edge_is_imported_with_its_time() {
    let Some(folder) = data_set("temporal") else { return };
    let options = ImportOptions {
        edge_columns: Some("time".to_owned()),
        ..options_for([folder.join("sx-mathoverflow.txt.gz")])
    };
    let imported = Imported::new(&options);
    let snapshot = imported.db.snapshot();
    let found = facts(&snapshot);
    assert_eq!((found.vertices, found.edges, found.pairs), (24_818, 506_550, 239_978));
    // The pair with the most edges, a user and himself: their times are those of the file.
    let (source, target) = (imported.ids[&1946], imported.ids[&1946]);
    let mut times: Vec<i64> = snapshot
        .edges(source, Direction::Out, &[])
        .unwrap()
        .into_iter()
        .filter(|(_, neighbor)| *neighbor == target)
        .map(|(edge, _)| snapshot.get_edge(edge, "time").unwrap().unwrap().as_i64().unwrap())
        .collect();
    times.sort_unstable();
    let text = read_text(&folder.join("sx-mathoverflow.txt.gz"));
    let wanted = text.lines().filter_map(|line| line.strip_prefix("1946 1946 "));
    let mut wanted: Vec<i64> = wanted.map(|time| time.parse().unwrap()).collect();
    wanted.sort_unstable();
    assert!(times == wanted);
    assert_eq!(times.len(), 1944);
}
