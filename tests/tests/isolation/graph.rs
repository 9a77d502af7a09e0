//! What is special about graphs: no edge without its ends, both sides of a list agree, one vertex a key,
//! and degree, list, scan and index say the same, at both levels.

use crate::deployment::{DeployedGraph, Deployment};
use crate::race::{once, race};
use evergraph::{Direction, ErrorKind, GraphView, IndexOptions, ReadByName, Snapshot, VertexId};
use evergraph_tests::contents::Contents;
use std::collections::BTreeSet;

const THREADS: usize = 4;
const ROUNDS: usize = 300;
/// On a cluster, where each look goes to other nodes.
const CLUSTER_ROUNDS: usize = 80;

fn rounds(deployment: Deployment) -> usize {
    if deployment.is_cluster() { CLUSTER_ROUNDS } else { ROUNDS }
}

fn vertices(deployment: Deployment, count: usize) -> (DeployedGraph, Vec<VertexId>) {
    let graph = deployment.start();
    let vertices = graph
        .of(0)
        .transact(|tx| (0..count).map(|at| tx.add_vertex("V", &[("at", (at as i64).into())])).collect())
        .unwrap();
    graph.wait();
    (graph, vertices)
}

/// Every edge is in both lists, its ends are there, and counts agree with lists.
fn assert_sound(snapshot: &Snapshot) {
    let all = snapshot.vertices(None).unwrap();
    let alive: BTreeSet<_> = all.iter().copied().collect();
    let mut sides = [Direction::Out, Direction::In].map(|direction| {
        let mut edges = BTreeSet::new();
        for vertex in &all {
            let list = snapshot.edges(*vertex, direction, &[]).unwrap();
            let mut degrees = Vec::new();
            snapshot.degrees(&[*vertex], None, direction, &mut degrees).unwrap();
            assert_eq!(degrees[0] as usize, list.len(), "degree and list of {vertex}");
            for (edge, neighbor) in list {
                assert!(alive.contains(&neighbor), "{edge} has an end that isn't there");
                assert!(edges.insert(edge), "{edge} is listed twice");
            }
        }
        edges
    });
    let (into, out) = (std::mem::take(&mut sides[1]), std::mem::take(&mut sides[0]));
    assert_eq!(out, into, "both sides of each list");
    let counts = snapshot.statistics().unwrap();
    assert_eq!(counts.edges.iter().map(|(_, count)| count).sum::<u64>(), out.len() as u64);
}

#[test]
fn no_edge_outlives_its_ends() {
    for (deployment, isolation) in Deployment::cases() {
        let (graph, vertices) = vertices(deployment, 40);
        race(THREADS, rounds(deployment), |thread, round, dice| {
            if thread == 0 {
                assert_sound(&graph.of(thread).snapshot());
                return;
            }
            let [source, target] = dice.pick_two(&vertices);
            let deletes = round % 40 == 39;
            let mut tx = graph.of(thread).begin_with(isolation);
            let done = match deletes {
                true => tx.delete_vertex(source),
                false => tx.add_edge(source, "E", target, &[]).map(drop),
            };
            let committed = done.and_then(|()| tx.commit());
            if let Err(error) = committed {
                assert!(matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound), "{error}");
            }
        });
        let snapshot = graph.snapshot();
        assert_sound(&snapshot);
        assert!(snapshot.vertices(None).unwrap().len() < vertices.len(), "nothing was deleted");
    }
}

#[test]
fn whoever_upserts_the_same_key_at_once_makes_one_vertex() {
    for (deployment, isolation) in Deployment::cases() {
        let graph = deployment.start();
        graph.of(0).create_unique_index("User", "name").unwrap();
        graph.wait();
        race(THREADS, rounds(deployment), |thread, round, _| {
            let name = format!("user {}", round / 2);
            graph
                .of(thread)
                .transact_with(isolation, |tx| {
                    match tx.find("User", "name", name.as_str())? {
                        Some(user) => {
                            let seen = tx.get(user, "seen")?.and_then(|seen| seen.as_i64()).unwrap_or(0);
                            tx.set(user, "seen", seen + 1)
                        }
                        None => {
                            let properties = [("name", name.as_str().into()), ("seen", 1_i64.into())];
                            // Another may have made it since this one began.
                            let added = tx.add_vertex("User", &properties).map(drop);
                            added.map_err(|error| match error.kind() {
                                ErrorKind::Invalid => evergraph::Error::conflict(error.to_string()),
                                _ => error,
                            })
                        }
                    }
                })
                .unwrap();
        });
        let snapshot = graph.snapshot();
        let users = snapshot.vertices(Some("User")).unwrap();
        assert_eq!(users.len(), rounds(deployment) / 2);
        let seen = |user: &VertexId| snapshot.get(*user, "seen").unwrap().unwrap().as_i64().unwrap();
        assert_eq!(
            users.iter().map(seen).sum::<i64>() as usize,
            THREADS * rounds(deployment),
            "{isolation:?}"
        );
    }
}

#[test]
fn index_scan_and_lists_agree_in_every_snapshot() {
    for (deployment, isolation) in Deployment::cases() {
        let (graph, vertices) = vertices(deployment, 30);
        graph.of(0).create_index(&IndexOptions::on_label("V", "group")).unwrap();
        graph.name_types(&["MEMBER"]);
        race(THREADS, rounds(deployment), |thread, _, dice| {
            if thread > 0 {
                let (vertex, group) = (dice.pick(&vertices), dice.below(4) as i64);
                // A member of a group has an edge to its own first vertex, for the lists to agree.
                once(graph.of(thread), isolation, |tx| {
                    for (edge, _) in tx.edges(vertex, Direction::Out, &["MEMBER"])? {
                        tx.delete_edge(edge)?;
                    }
                    tx.set(vertex, "group", group)?;
                    tx.put_edge(vertex, "MEMBER", vertices[group as usize], &[]).map(drop)
                });
                return;
            }
            let snapshot = graph.of(thread).snapshot();
            let group_of =
                |vertex: VertexId| snapshot.get(vertex, "group").unwrap().and_then(|group| group.as_i64());
            for group in 0..4 {
                let scanned: BTreeSet<_> =
                    vertices.iter().copied().filter(|vertex| group_of(*vertex) == Some(group)).collect();
                let found: BTreeSet<_> =
                    snapshot.find_all("V", "group", group).unwrap().into_iter().collect();
                let members = snapshot.edges(vertices[group as usize], Direction::In, &["MEMBER"]).unwrap();
                let listed: BTreeSet<_> = members.into_iter().map(|(_, member)| member).collect();
                assert_eq!((&scanned, &scanned), (&found, &listed), "group {group}, {isolation:?}");
            }
        });
    }
}

#[test]
fn a_transaction_reads_one_moment_while_others_write_merge_and_make_checkpoints() {
    for (deployment, isolation) in Deployment::cases() {
        let (graph, vertices) = vertices(deployment, 60);
        graph.name_types(&["E"]);
        race(THREADS, 15, |thread, round, dice| match thread {
            0 => {
                let tx = graph.of(thread).begin_with(isolation);
                let first = Contents::of(tx.by_id_ref(), 50);
                for _ in 0..4 {
                    assert!(Contents::of(tx.by_id_ref(), 50) == first, "{isolation:?}: the scan changed");
                }
            }
            // The stores of a cluster merge by themselves.
            1 if !deployment.is_cluster() => {
                let database = graph.of(thread);
                database.store().engine().merge_everything();
                if round % 5 == 0 {
                    database.checkpoint().unwrap();
                }
            }
            _ => {
                for _ in 0..50 {
                    let [source, target] = dice.pick_two(&vertices);
                    let (at, deletes) = (dice.below(100) as i64, dice.below(3) == 0);
                    once(graph.of(thread), isolation, |tx| {
                        tx.set(source, "at", at)?;
                        match tx.edges(source, Direction::Out, &["E"])?.first() {
                            Some((edge, _)) if deletes => tx.delete_edge(*edge),
                            _ => tx.add_edge(source, "E", target, &[("at", at.into())]).map(drop),
                        }
                    });
                }
            }
        });
        assert!(graph.of(0).statistics().unwrap().edges_count() > 100, "the graph went on");
    }
}
