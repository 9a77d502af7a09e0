//! Peers of Gnutella: communities by Leiden and ranks by walks from some peers, beside igraph and networkit.

use crate::python::answer;
use evergraph::algorithms::control::Control;
use evergraph::algorithms::leiden::{self, LeidenParameters};
use evergraph::algorithms::personalized_pagerank::{self, PersonalizedPageRankParameters};
use evergraph::algorithms::scope::Scope;
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, Direction, Freeze, ReadByName, Snapshot, VertexId};
use evergraph_tests::data_folder::data_set;
use serde_json::Value;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;

/// They are numbered from 1.
const PEERS: i64 = 62_586;
const SOURCES: [&str; 3] = ["6", "332", "40000"];

#[test]
fn communities_and_walks_among_peers_are_those_that_igraph_and_networkit_find() {
    let Some(folder) = data_set("p2p-31") else { return };
    let files = ["p2p-31.v.gz", "p2p-31.e.gz"].map(|name| folder.join(name));
    let db = Database::in_memory().unwrap();
    db.import(&ImportOptions::new(files.each_ref().map(InputFile::new)), &|_| ()).unwrap();
    let snapshot = db.snapshot();
    let vertex = |id: i64| -> VertexId { snapshot.find("Vertex", "id", id).unwrap().unwrap() };
    let peers: Vec<VertexId> = (1..=PEERS).map(vertex).collect();

    let control = Control::new(snapshot.budget());
    let parameters = LeidenParameters::default();
    let found = leiden::run(&snapshot, &Scope::default(), None, &parameters, &control).unwrap();
    let mut labels = String::new();
    for peer in &peers {
        writeln!(labels, "{}", found.labels.of(*peer).unwrap().0).unwrap();
    }
    let place = tempfile::tempdir().unwrap();
    let labels_file = place.path().join("labels");
    fs::write(&labels_file, labels).unwrap();
    let paths = [files[0].as_os_str(), files[1].as_os_str(), labels_file.as_os_str()];
    let arguments: Vec<&OsStr> = paths.into_iter().chain(SOURCES.map(OsStr::new)).collect();
    let Some(expected) = answer("peers", &arguments) else { return };
    let number = |key: &str| expected[key].as_f64().unwrap();
    let (modularity, judged) = (found.modularity, number("modularity"));
    assert!((modularity - judged).abs() < 1e-12, "{modularity}, judged {judged}");
    assert_eq!(expected["communities"], found.communities);
    assert_eq!(expected["parts"], found.communities, "each is connected");
    assert!(modularity > 0.99 * number("best"), "{modularity}, theirs {}", number("best"));

    let sources = SOURCES.map(|source| vertex(source.parse().unwrap()));
    let ranks = ranks(&snapshot, &peers, &sources, Direction::Out);
    assert_close(&ranks, &expected["ranks"], 1e-9);
    let ranks = self::ranks(&snapshot, &peers, &sources[..1], Direction::Both);
    assert_close(&ranks, &expected["undirected_ranks"], 1e-9);
    assert_close(&ranks, &expected["pushed_ranks"], 1e-5);
}

/// The score of each of `peers` by walks from `sources`, as good as exact.
fn ranks(snapshot: &Snapshot, peers: &[VertexId], sources: &[VertexId], direction: Direction) -> Vec<f64> {
    let parameters = PersonalizedPageRankParameters {
        iterations: 1000,
        tolerance: Some(1e-12),
        direction,
        ..Default::default()
    };
    let (scope, control) = (Scope::default(), Control::new(snapshot.budget()));
    let found = personalized_pagerank::run(snapshot, &scope, sources, &parameters, &control).unwrap();
    assert!(found.converged);
    peers.iter().map(|peer| found.scores[peer.0 as usize]).collect()
}

#[track_caller]
fn assert_close(found: &[f64], expected: &Value, error_max: f64) {
    let expected: Vec<f64> = serde_json::from_value(expected.clone()).unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() <= error_max, "{found}, not {expected}");
    }
}
