//! p2p-31, a published graph: its base, then 30,000 updates, shut down and opened again between them.

#![allow(clippy::disallowed_methods, reason = "data sets are files")]

use crate::adjacency::Adjacency;
use crate::data_folder::data_set;
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::heap::HeapMemory;
use evergraph_packed::memory::region::Domain;
use evergraph_packed::options::Options;
use evergraph_packed::recovery::{Found, Reopening};
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The words of each line of a packed file.
fn lines(path: &Path) -> Vec<Vec<String>> {
    let mut text = String::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

#[test]
fn a_base_and_its_updates_are_the_published_graph_however_it_is_opened_again() {
    const VERTICES: u32 = 62_587;
    let Some(folder) = data_set("p2p-31") else { return };
    let memory = HeapMemory::new(Domain::Adr);
    let options = Options { vertices: VERTICES, edges: 1000, ..Options::default() };
    let mut graph = PackedGraph::create(memory.clone(), &options).unwrap();
    let mut expected = Adjacency::with_vertices(VERTICES);
    let vertex = |word: &String| word.parse::<u32>().unwrap();
    for edge in lines(&folder.join("p2p-31.e.mutable_base.gz")) {
        graph.insert_edge(vertex(&edge[0]), vertex(&edge[1])).unwrap();
        expected.insert(vertex(&edge[0]), vertex(&edge[1]));
    }
    assert!(graph.statistics().resizes > 0 && graph.statistics().rebalances > 0);
    let delta = lines(&folder.join("p2p-31.e.mutable_delta.gz"));
    assert_eq!(delta.len(), 30_000);
    for (at, update) in delta.iter().enumerate() {
        let (source, target) = (vertex(&update[1]), vertex(&update[2]));
        match update[0].as_str() {
            "a" => {
                graph.insert_edge(source, target).unwrap();
                expected.insert(source, target);
            }
            "d" => {
                assert!(graph.delete_edge(source, target).unwrap());
                assert!(expected.delete(source, target));
            }
            // A weight, which a packed graph has not.
            _ => assert_eq!(update[0], "u"),
        }
        if at % 10_000 == 5_000 {
            let is_saved = at < 20_000;
            if is_saved {
                graph.shutdown().unwrap()
            } else {
                drop(graph)
            }
            let (opened, found) = PackedGraph::open(memory.clone(), Reopening::Saved).unwrap();
            assert_eq!(found, if is_saved { Found::ShutDown } else { Found::Scanned });
            assert!(Adjacency::of(&opened) == expected, "as it was before update {at}");
            graph = opened;
        }
    }
    let mut published: Vec<(u32, u32)> =
        lines(&folder.join("p2p-31.e.gz")).iter().map(|edge| (vertex(&edge[0]), vertex(&edge[1]))).collect();
    published.sort_unstable();
    assert_eq!(published.len(), 147_892);
    let found = Adjacency::of(&graph);
    let mut edges: Vec<(u32, u32)> = (0..)
        .zip(&found.0)
        .flat_map(|(source, list)| list.iter().map(move |target| (source, *target)))
        .collect();
    edges.sort_unstable();
    assert!(edges == published, "the published graph");
}
