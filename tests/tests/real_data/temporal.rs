//! Streams of timestamped edges: who answered, wrote to, or trusted whom, and when. Inserted in the order
//! of time, each must show at five moments what other tools counted there, all five at once (the largest on disk and in mapped
//! files at the first three); imported in the order of its file, what they counted at the end. In mapped files a reader beside the
//! writer holds the same moments.
//!
//! ```text
//! sx-mathoverflow       506,550 edges over 239,978 pairs; the file isn't in the order of time
//! CollegeMsg            59,835 edges over 20,296 pairs
//! soc-sign-bitcoinotc   35,592 edges, no two of a pair; with a rating, times have fractions
//! ```

use crate::imported::{Imported, options_for};
use evergraph::algorithms::control::Control;
use evergraph::algorithms::scope::Scope;
use evergraph::algorithms::triangles;
use evergraph::algorithms::wcc::{self, WccParameters};
use evergraph::graph::column::Column;
use evergraph::graph::transaction::Transaction as _;
use evergraph::graph::value::ValueType;
use evergraph::{Database, Direction, EngineKind, Freeze, GraphView, ReadByName, Snapshot, Value, VertexId};
use evergraph_tests::contents::for_each_edge;
use evergraph_tests::data::{json_atoms, json_section, read_text};
use evergraph_tests::data_folder::data_set;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

/// Edges a transaction, at most.
const BATCH: usize = 20;

/// One of the streams.
struct Stream {
    name: &'static str,
    ending: &'static str,
    separator: char,
    /// What stands behind source and target; the last one is the time.
    columns: &'static [(&'static str, ValueType)],
    edges_count: u64,
}

const MATHOVERFLOW: Stream = Stream {
    name: "sx-mathoverflow",
    ending: "txt.gz",
    separator: ' ',
    columns: &[("time", ValueType::I64)],
    edges_count: 506_550,
};

const MESSAGES: Stream = Stream { name: "CollegeMsg", edges_count: 59_835, ..MATHOVERFLOW };

const TRUST: Stream = Stream {
    name: "soc-sign-bitcoinotc",
    ending: "csv.gz",
    separator: ',',
    columns: &[("rating", ValueType::I64), ("time", ValueType::F64)],
    edges_count: 35_592,
};

/// An edge of a stream.
#[derive(Clone, PartialEq, PartialOrd, Debug)]
struct Edge {
    time: f64,
    source: i64,
    target: i64,
    /// By the stream's columns.
    values: Vec<Value>,
}

impl Stream {
    /// The edges in the order of their file.
    fn edges(&self, text: &str) -> Vec<Edge> {
        let edge = |line: &str| {
            let words: Vec<&str> = line.split(self.separator).collect();
            let [source, target, rest @ ..] = &words[..] else { panic!("{line}") };
            let values =
                self.columns.iter().zip(rest).map(|((_, kind), word)| Value::parse(word, *kind).unwrap());
            Edge {
                time: rest.last().unwrap().parse().unwrap(),
                source: source.parse().unwrap(),
                target: target.parse().unwrap(),
                values: values.collect(),
            }
        };
        let edges: Vec<Edge> = text.lines().map(edge).collect();
        assert_eq!(edges.len() as u64, self.edges_count);
        edges
    }

    fn file(&self) -> String {
        format!("{}.{}", self.name, self.ending)
    }

    /// The five cut times, and the facts at each.
    fn moments(&self, folder: &Path) -> Vec<(f64, Facts)> {
        let moments = published(&read_text(&folder.join(format!("{}-snapshots.json", self.name))));
        assert_eq!(moments.len(), 5);
        moments
    }
}

/// What was counted at one moment.
#[derive(Debug, Default, PartialEq)]
struct Facts {
    edges: u64,
    vertices: u64,
    pairs: usize,
    undirected_pairs: usize,
    components: u64,
    triangles: u64,
    top_out_degrees: Vec<(i64, u64)>,
}

/// The five cut times, and the facts at each.
fn published(text: &str) -> Vec<(f64, Facts)> {
    let mut found: Vec<(f64, Facts)> = Vec::new();
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
            found.push((number, Facts::default()));
            continue;
        }
        let facts = &mut found.last_mut().unwrap().1;
        match key {
            "temporal_edges" => facts.edges = number as u64,
            "vertices" => facts.vertices = number as u64,
            "distinct_directed_pairs" => facts.pairs = number as usize,
            "undirected_simple_edges" => facts.undirected_pairs = number as usize,
            "wcc" => facts.components = number as u64,
            "triangles" => facts.triangles = number as u64,
            other => panic!("a fact called {other}"),
        }
    }
    found
}

fn facts(snapshot: &Snapshot) -> Facts {
    let statistics = snapshot.statistics().unwrap();
    let (mut pairs, mut undirected) = (Vec::new(), Vec::new());
    for_each_edge(snapshot, |edge| {
        let (source, target) = (edge.source.0, edge.target.0);
        pairs.push((source, target));
        if source != target {
            undirected.push((source.min(target), source.max(target)));
        }
    });
    let seen = pairs.len() as u64;
    assert_eq!(seen, statistics.edges.iter().map(|entry| entry.1).sum::<u64>());
    let vertices = snapshot.vertices(None).unwrap();
    let mut degrees = Vec::new();
    snapshot.degrees(&vertices, None, Direction::Out, &mut degrees).unwrap();
    let mut top: Vec<(u64, VertexId)> = degrees.into_iter().zip(vertices).collect();
    top.sort_unstable_by_key(|(degree, _)| Reverse(*degree));
    let id = |vertex| snapshot.get(vertex, "id").unwrap().unwrap().as_i64().unwrap();
    let control = Control::new(snapshot.budget());
    let components = wcc::run(snapshot, &Scope::default(), &WccParameters::default(), &control).unwrap();
    Facts {
        edges: seen,
        vertices: statistics.vertices.iter().map(|entry| entry.1).sum(),
        pairs: distinct(pairs),
        undirected_pairs: distinct(undirected),
        components: components.components,
        triangles: triangles::run(snapshot, &Scope::default(), &control).unwrap().total(),
        top_out_degrees: top.iter().take(5).map(|(degree, vertex)| (id(*vertex), *degree)).collect(),
    }
}

fn distinct(mut pairs: Vec<(u32, u32)>) -> usize {
    pairs.sort_unstable();
    pairs.dedup();
    pairs.len()
}

/// Adds `edges`, and those of their ends that nobody mentioned before, in one transaction.
fn insert(imported: &Imported, stream: &Stream, vertices: &mut HashMap<i64, VertexId>, edges: &[Edge]) {
    let mut tx = imported.db.store().begin();
    let (label, edge_type) = (tx.label("User").unwrap(), tx.edge_type("MET").unwrap());
    let id_key = tx.key("id").unwrap();
    let keys: Vec<_> = stream.columns.iter().map(|(name, _)| tx.key(name).unwrap()).collect();
    for edge in edges {
        let [source, target] = [edge.source, edge.target].map(|id| {
            let add = || tx.add_vertex(label, &[(id_key, Value::I64(id))]).unwrap();
            *vertices.entry(id).or_insert_with(add)
        });
        let properties: Vec<_> = keys.iter().copied().zip(edge.values.iter().cloned()).collect();
        tx.add_edge(source, edge_type, target, &properties).unwrap();
    }
    tx.commit().unwrap();
}

/// Lives through the first `count` of the five moments.
fn check_moments(engine: EngineKind, stream: &Stream, count: usize) {
    let Some(folder) = data_set("temporal") else { return };
    let mut edges = stream.edges(&read_text(&folder.join(stream.file())));
    edges.sort_by(|one, other| one.time.total_cmp(&other.time));
    let moments = &stream.moments(&folder)[..count];

    let imported = Imported::empty(engine);
    imported.db.create_unique_index("User", "id").unwrap();
    let mut vertices = HashMap::new();
    let reader = imported.reader();
    let (mut start, mut snapshots, mut seen) = (0, Vec::new(), Vec::new());
    for (cut, _) in moments {
        let end = edges.partition_point(|edge| edge.time <= *cut);
        edges[start..end].chunks(BATCH).for_each(|batch| insert(&imported, stream, &mut vertices, batch));
        snapshots.push(imported.db.snapshot());
        seen.extend(reader.as_ref().map(Database::snapshot));
        start = end;
    }
    assert!(count < 5 || start == edges.len(), "the last moment is the end");
    for ((cut, wanted), snapshot) in moments.iter().zip(&snapshots) {
        assert_eq!(facts(snapshot), *wanted, "at {cut}");
    }
    assert_eq!(seen.len(), if reader.is_some() { count } else { 0 });
    for ((cut, wanted), snapshot) in moments.iter().zip(&seen) {
        assert_eq!(facts(snapshot), *wanted, "in a reader at {cut}");
    }
    drop((snapshots, seen, reader));
    let reopened = imported.reopened_from_checkpoint();
    assert_eq!(facts(&reopened.db.snapshot()), moments[count - 1].1);
    reopened.assert_healthy();
}

/// Imports a stream as it lies; every edge must be there with its values, parallel ones too.
fn check_import(engine: EngineKind, stream: &Stream) {
    let Some(folder) = data_set("temporal") else { return };
    let path = folder.join(stream.file());
    let names: Vec<&str> = stream.columns.iter().map(|(name, _)| *name).collect();
    let options =
        options_for([path.clone()]).with(|options| options.lists.edge_columns = Some(names.join(",")));
    let imported = Imported::new(engine, &options);
    let snapshot = imported.db.snapshot();
    assert_eq!(facts(&snapshot), stream.moments(&folder)[4].1);

    let ids: HashMap<VertexId, i64> = imported.ids.iter().map(|(id, vertex)| (*vertex, *id)).collect();
    let mut found = Vec::new();
    for_each_edge(&snapshot, |edge| found.push(edge));
    let columns = names.iter().map(|name| {
        let key = snapshot.catalogue().key(name).unwrap();
        let mut column = Column::new(ValueType::Any);
        snapshot.edge_properties(&found, key, &mut column).unwrap();
        column
    });
    let columns: Vec<Column> = columns.collect();
    let found = found.iter().enumerate().map(|(row, edge)| {
        let values: Vec<Value> = columns.iter().map(|column| column.get(row).unwrap()).collect();
        let time = values.last().unwrap().as_f64().unwrap();
        Edge { time, source: ids[&edge.source], target: ids[&edge.target], values }
    });
    let (mut found, mut wanted): (Vec<Edge>, _) = (found.collect(), stream.edges(&read_text(&path)));
    let sort = |edges: &mut Vec<Edge>| edges.sort_by(|one, other| one.partial_cmp(other).unwrap());
    sort(&mut found);
    sort(&mut wanted);
    let differs = found.iter().zip(&wanted).find(|(found, wanted)| found != wanted);
    assert_eq!(differs, None, "an edge found, and what stands in the file");
}

#[test]
fn five_moments_of_answers_are_held_at_once() {
    check_moments(EngineKind::Memory, &MATHOVERFLOW, 5);
}

#[test]
fn three_moments_of_answers_are_held_at_once_on_disk() {
    check_moments(EngineKind::Disk, &MATHOVERFLOW, 3);
}

#[test]
fn three_moments_of_answers_are_held_at_once_in_mapped_files() {
    check_moments(EngineKind::Mapped, &MATHOVERFLOW, 3);
}

#[test]
fn five_moments_of_messages_are_held_at_once_on_disk() {
    check_moments(EngineKind::Disk, &MESSAGES, 5);
}

#[test]
fn five_moments_of_messages_are_held_at_once_in_mapped_files() {
    check_moments(EngineKind::Mapped, &MESSAGES, 5);
}

#[test]
fn five_moments_of_trust_are_held_at_once() {
    check_moments(EngineKind::Memory, &TRUST, 5);
}

#[test]
fn five_moments_of_trust_are_held_at_once_in_mapped_files() {
    check_moments(EngineKind::Mapped, &TRUST, 5);
}

#[test]
fn every_answer_is_imported_with_its_time_on_disk() {
    check_import(EngineKind::Disk, &MATHOVERFLOW);
}

#[test]
fn every_answer_is_imported_with_its_time_in_mapped_files() {
    check_import(EngineKind::Mapped, &MATHOVERFLOW);
}

#[test]
fn every_message_is_imported_with_its_time() {
    check_import(EngineKind::Memory, &MESSAGES);
}

#[test]
fn every_message_is_imported_with_its_time_in_mapped_files() {
    check_import(EngineKind::Mapped, &MESSAGES);
}

#[test]
fn every_rating_is_imported_with_its_time() {
    check_import(EngineKind::Memory, &TRUST);
}

#[test]
fn every_rating_is_imported_with_its_time_on_disk() {
    check_import(EngineKind::Disk, &TRUST);
}
