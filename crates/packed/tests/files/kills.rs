//! Kills: a process that changes a graph in files is killed at any time; what it was told is there, and at most the
//! change that it was making.
//!
//! ```text
//! child    change 0, 1, 2, …           each at random, by its number alone; then its number into `done`
//! parent   SIGKILL after some time, opens, compares with the changes up to `done`, and lets a new child go on
//! ```
//!
//! `EVERGRAPH_PACKED_KILLS` is the number of kills.

use crate::adjacency::Adjacency;
use crate::memory;
use evergraph_graph::split_mix::mix;
use evergraph_packed::ablation::Ablation;
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::region::{Domain, Memory};
use evergraph_packed::options::Options;
use evergraph_packed::recovery::{Found, Reopening};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Names the directory in which a child works.
const CHILD: &str = "EVERGRAPH_TEST_PACKED";
/// Small ones: rebalances and larger arrays come often.
const OPTIONS: Options =
    Options { vertices: 40, edges: 0, log_records: 12, undo_bytes: 128, ablation: Ablation::NONE };

enum Change {
    Insert(u32, u32),
    Delete(u32, u32),
    Vertex,
}

/// Change `number` of a graph with so many vertices.
fn change(number: u64, vertices: u32) -> Change {
    let random = |at: u64| mix(number << 4 | at);
    let below = |at: u64, end: u32| (random(at) % u64::from(end)) as u32;
    let source = below(1, [vertices, 3, 11][random(0) as usize % 3].min(vertices));
    match random(2) % 400 {
        0 => Change::Vertex,
        1..60 => Change::Delete(source, below(3, vertices)),
        _ => Change::Insert(source, below(3, vertices)),
    }
}

fn apply<M: Memory>(graph: &PackedGraph<M>, number: u64, vertices: u32) {
    match change(number, vertices) {
        Change::Insert(source, target) => graph.insert_edge(source, target).unwrap(),
        Change::Delete(source, target) => drop(graph.delete_edge(source, target).unwrap()),
        Change::Vertex => graph.insert_vertex(vertices).unwrap(),
    }
}

fn apply_to_lists(lists: &mut Adjacency, number: u64) {
    match change(number, lists.0.len() as u32) {
        Change::Insert(source, target) => lists.insert(source, target),
        Change::Delete(source, target) => drop(lists.delete(source, target)),
        Change::Vertex => lists.0.push(Vec::new()),
    }
}

fn done(place: &Path) -> PathBuf {
    place.join("done")
}

/// The number of changes that a child was told were made.
fn read_done(place: &Path) -> u64 {
    fs::read(done(place)).unwrap().try_into().map_or(0, u64::from_le_bytes)
}

/// A process that the test below starts and kills.
#[test]
fn a_child_that_changes_a_graph_until_it_is_killed() {
    let Some(place) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let (graph, _) = PackedGraph::open(memory(&place.join("graph"), Domain::Adr), Reopening::Saved).unwrap();
    let file = File::options().write(true).open(done(&place)).unwrap();
    let mut vertices = graph.statistics().vertices;
    for number in read_done(&place).. {
        apply(&graph, number, vertices);
        vertices += u32::from(matches!(change(number, vertices), Change::Vertex));
        file.write_all_at(&(number + 1).to_le_bytes(), 0).unwrap();
    }
}

#[test]
fn a_process_that_is_killed_leaves_what_it_was_told_and_at_most_one_change_more() {
    let kills = std::env::var("EVERGRAPH_PACKED_KILLS").map_or(12, |kills| kills.parse().unwrap());
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("graph");
    drop(PackedGraph::create(memory(&folder, Domain::Adr), &OPTIONS).unwrap());
    fs::write(done(place.path()), 0u64.to_le_bytes()).unwrap();
    let (mut lists, mut made, mut one_more) = (Adjacency::with_vertices(OPTIONS.vertices), 0, 0);
    let name = "kills::a_child_that_changes_a_graph_until_it_is_killed";
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, place.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Not before it has made some changes.
        while read_done(place.path()) <= made + 20 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(mix(kill) % 40_000));
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success(), "it was killed, and had not ended by itself");
        let told = read_done(place.path());
        while made < told {
            apply_to_lists(&mut lists, made);
            made += 1;
        }
        let (graph, found) = PackedGraph::open(memory(&folder, Domain::Adr), Reopening::Saved).unwrap();
        assert_eq!(found, Found::Scanned);
        let there = Adjacency::of(&graph);
        if there != lists {
            apply_to_lists(&mut lists, made);
            made += 1;
            one_more += 1;
            assert!(there == lists, "after kill {kill} the graph is none of changes {told} and {made}");
            fs::write(done(place.path()), made.to_le_bytes()).unwrap();
        }
        if kill % 5 == 4 {
            graph.shutdown().unwrap();
        }
    }
    assert!(made > 20 * kills, "{made} changes, {one_more} of them were not told");
}
