//! On a cluster: these tests pass on three nodes, and random traversals of random graphs give there what they give in one process.
//!
//! Graphs and traversals are those that `make differential` compares with TinkerGraph: `tests/differential/traversals.py` makes them
//! from a seed. Results whose order is promised are compared in order, others as a bag. Clients are on all nodes in turn. What
//! writes does so in a transaction that is rolled back.
//!
//! Ids differ: here and there vertices with greater ids are the same, so that `order().by(id)` means the same, but what
//! calculates with an id is left out. `make cluster-traversals` asks more.

use crate::ON_CLUSTER;
use crate::spelled::Speller;
use evergraph::gremlin::query::Limits;
use evergraph::query::value::item::Item;
use evergraph::{Database, ErrorKind, Freshness, ReadByName as _, Result, Transaction, Value, VertexId};
use evergraph_tests::cluster::databases::{Databases, travelling};
use evergraph_tests::cluster::nodes::ClusterSetup;
use evergraph_tests::skips::skip;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

/// Graphs of a run, if nobody says how long; each with forty traversals, on each cluster.
const GRAPHS: u64 = 25;
/// Graphs that one cluster has, one after the other: its log keeps all that was written.
const GRAPHS_OF_CLUSTER: u64 = 25;
/// Results that are compared; of more, nothing is.
const RESULTS_MAX: usize = 3000;
/// Labels and keys of all graphs.
const LABELS: [&str; 2] = ["x", "y"];
const TYPES: [&str; 2] = ["a", "b"];

/// What is held against a graph in this process.
fn setups() -> [(&'static str, ClusterSetup); 3] {
    let setup = |copies, stages| ClusterSetup { copies, stages, ..ClusterSetup::default() };
    [
        ("one copy of each partition", setup(1, travelling())),
        ("two copies of each partition", setup(2, travelling())),
        ("two copies of each partition, and no stage travels", setup(2, None)),
    ]
}

/// Parts of traversals, by all of which an order matters that nobody promises, or an id.
const LEFT_OUT: [(&[&str], &str); 6] = [
    (&["id()"], "ids differ"),
    (&["asString"], "the text of a map has its entries in any order"),
    (&["concat"], "the same"),
    (&["local(", "aggregate"], "what was gathered so far depends on the order in which vertices come"),
    (&["coalesce(", "aggregate"], "the same"),
    (&["fold()", "path("], "what is in a list on a path was gathered in any order"),
];

#[derive(Default)]
struct Tally(BTreeMap<&'static str, usize>);

impl Tally {
    fn add(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    fn count(&self, what: &str) -> usize {
        self.0.get(what).copied().unwrap_or(0)
    }
}

/// What a traversal gives.
#[derive(PartialEq, Debug)]
enum Answer {
    Results(Vec<String>),
    /// What an error says is not compared.
    Error(String),
    /// Too many, too slow, or too large.
    TooMuch,
}

/// A graph in one database.
struct Built<'d> {
    clients: Vec<&'d Database>,
    ids: Vec<VertexId>,
    speller: Speller,
}

impl<'d> Built<'d> {
    /// Of the graph in `graph`, whose vertices got `ids` from the first client.
    fn new(clients: Vec<&'d Database>, graph: &Json, ids: Vec<VertexId>) -> Self {
        let edges = |tx: &mut Transaction| {
            graph["edges"].as_array().unwrap().iter().try_for_each(|edge| {
                let end = |key: &str| ids[edge[key].as_u64().unwrap() as usize];
                let label = edge["label"].as_str().unwrap();
                tx.add_edge(end("from"), label, end("to"), &properties(edge)).map(drop)
            })
        };
        clients[0].transact(edges).unwrap();
        let speller = Speller::new(&ids, clients[0].snapshot());
        Self { clients, ids, speller }
    }

    /// What the `number`th traversal gives. Clients take turns, and so do sizes of batches.
    fn answer(&self, text: &str, number: usize) -> Answer {
        let text = self.with_ids(text);
        let limits = Limits {
            timeout: Duration::from_secs(10),
            memory_bytes: 64 << 20,
            result_rows: RESULTS_MAX as u64,
            batch_rows: [1024, 3][number % 2],
            ..Limits::default()
        };
        let client = self.clients[number % self.clients.len()];
        let found = match client.gremlin(&text).plan() {
            Ok(plan) if !plan.writes => {
                let snapshot = client.snapshot_with(Freshness::Fresh);
                snapshot.gremlin(&text).limits(limits).items()
            }
            // Rolled back.
            _ => client.begin_with(fresh()).gremlin(&text).limits(limits).items(),
        };
        self.spelled(found)
    }

    fn spelled(&self, found: Result<Vec<Item>>) -> Answer {
        match found {
            Ok(items) => Answer::Results(items.iter().map(|item| self.speller.spell(item)).collect()),
            Err(error) if error.kind() == ErrorKind::Limit => Answer::TooMuch,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
                Answer::Error(error.to_string())
            }
        }
    }

    /// The text with the ids of vertices in place of `@0`, `@1`.
    fn with_ids(&self, text: &str) -> String {
        (0..10).fold(text.to_owned(), |text, number| {
            text.replace(&format!("@{number}"), &self.ids[number % self.ids.len()].0.to_string())
        })
    }
}

fn fresh() -> evergraph::TransactionOptions {
    evergraph::TransactionOptions::default().freshness(Freshness::Fresh)
}

fn properties(element: &Json) -> Vec<(&str, Value)> {
    let properties = element["properties"].as_object().unwrap().iter();
    let value = |value: &Json| match value.as_i64() {
        Some(number) => Value::I64(number),
        None => Value::from(value.as_str().unwrap()),
    };
    properties.map(|(key, found)| (key.as_str(), value(found))).collect()
}

/// Gives all names of all graphs, each label its groups in every partition before the next one has any: then greater ids are
/// those of the later label everywhere. Nothing of it stays.
fn name_everything(db: &Database, partitions: u16) {
    let numbers = ["n", "m"].map(|key| (key, Value::I64(0)));
    let vertex = [numbers[0].clone(), numbers[1].clone(), ("s", Value::from(""))];
    for label in LABELS {
        // The vertices of a transaction are in one partition, and those of the next one in the next.
        (0..partitions).for_each(|_| db.transact(|tx| tx.add_vertex(label, &vertex).map(drop)).unwrap());
    }
    db.transact(|tx| {
        let [one, other] = [(); 2].map(|()| tx.add_vertex(LABELS[0], &[]));
        let edge = ["w", "e"].map(|key| (key, Value::I64(0)));
        let (one, other) = (one?, other?);
        TYPES.iter().try_for_each(|name| tx.add_edge(one, name, other, &edge).map(drop))
    })
    .unwrap();
    db.gremlin("g.V().drop()").run().unwrap();
}

/// Adds the vertices of a graph, each by a transaction of its own: their ids.
fn add_vertices(db: &Database, vertices: &[Json]) -> Vec<VertexId> {
    let add = |vertex: &Json| {
        let label = vertex["label"].as_str().unwrap();
        db.transact(|tx| tx.add_vertex(label, &properties(vertex))).unwrap()
    };
    vertices.iter().map(add).collect()
}

/// Adds them here, in the order of their ids `there`: their ids here.
fn add_in_order(db: &Database, vertices: &[Json], there: &[VertexId]) -> Vec<VertexId> {
    let mut order: Vec<usize> = (0..vertices.len()).collect();
    order.sort_by_key(|number| there[*number]);
    let in_order: Vec<Json> = order.iter().map(|number| vertices[*number].clone()).collect();
    let added = add_vertices(db, &in_order);
    assert!(added.is_sorted(), "ids here are in another order than there");
    let mut ids = added.clone();
    order.iter().zip(added).for_each(|(number, id)| ids[*number] = id);
    ids
}

/// The graphs of so many seeds, each with its traversals; `None` without Python.
fn graphs(seed: u64, count: u64) -> Option<Vec<Json>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/differential/traversals.py");
    let mut command = Command::new("python3");
    command.args([script, &seed.to_string(), &count.to_string()]).env("PYTHONDONTWRITEBYTECODE", "1");
    let Ok(made) = command.output() else {
        skip("there is no Python to make traversals: install python3");
        return None;
    };
    assert!(made.status.success(), "{script}: {}", String::from_utf8_lossy(&made.stderr));
    let lines = String::from_utf8(made.stdout).unwrap();
    Some(lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn is_left_out(text: &str) -> bool {
    LEFT_OUT.iter().any(|(parts, _)| parts.iter().all(|part| text.contains(part)))
}

/// Asks one graph's traversals here and there.
fn compare(graph: &Json, embedded: &Built<'_>, cluster: &Built<'_>, tally: &mut Tally) {
    for (number, traversal) in graph["traversals"].as_array().unwrap().iter().enumerate() {
        let text = traversal["text"].as_str().unwrap();
        if is_left_out(text) {
            tally.add("left out");
            continue;
        }
        let (mut here, mut there) = (embedded.answer(text, number), cluster.answer(text, number));
        if traversal["ordered"] == false {
            for answer in [&mut here, &mut there] {
                if let Answer::Results(results) = answer {
                    results.sort();
                }
            }
        }
        tally.add(match (&here, &there) {
            (Answer::TooMuch, _) | (_, Answer::TooMuch) => "too much",
            (Answer::Error(_), Answer::Error(_)) => "errors of both",
            _ if here == there => "same",
            _ => panic!(
                "seed {}, traversal {number}: {text}\n  graph    {}\n  here     {here:?}\n  there    {there:?}",
                graph["seed"],
                serde_json::json!({ "vertices": graph["vertices"], "edges": graph["edges"] }),
            ),
        });
    }
}

/// The graphs of `seed` and those after it, on one cluster, one after the other.
fn compare_on_one_cluster(setup: &ClusterSetup, graphs: &[Json], tally: &mut Tally) {
    let databases = Databases::start(setup);
    let clients = databases.all::<3>();
    name_everything(clients[0], setup.partitions);
    for graph in graphs {
        let vertices = graph["vertices"].as_array().unwrap();
        let there = add_vertices(clients[0], vertices);
        let here = Database::in_memory().unwrap();
        name_everything(&here, 1);
        let embedded = Built::new(vec![&here], graph, add_in_order(&here, vertices, &there));
        let cluster = Built::new(clients.to_vec(), graph, there);
        compare(graph, &embedded, &cluster, tally);
        drop(cluster);
        clients[0].gremlin("g.V().drop()").run().unwrap();
        databases.check();
    }
}

fn environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

#[test]
fn random_traversals_give_on_three_nodes_what_they_give_in_one_process() {
    let seconds = environment("EVERGRAPH_DIFFERENTIAL_SECONDS");
    let mut seed = environment("EVERGRAPH_DIFFERENTIAL_SEED").unwrap_or(1);
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let mut tally = Tally::default();
    loop {
        let Some(graphs) = graphs(seed, if seconds.is_some() { GRAPHS_OF_CLUSTER } else { GRAPHS }) else {
            return;
        };
        for (name, setup) in setups() {
            let setup = ClusterSetup { seed, ..setup };
            println!("seeds {seed} to {}, {name}", seed + graphs.len() as u64 - 1);
            compare_on_one_cluster(&setup, &graphs, &mut tally);
        }
        seed += graphs.len() as u64;
        if Instant::now() >= until {
            break;
        }
    }
    let text: Vec<String> = tally.0.iter().map(|(what, count)| format!("{count} {what}")).collect();
    println!("{}", text.join(", "));
    let all: usize = tally.0.values().sum();
    assert!(tally.count("same") * 2 > all, "more than half of the traversals are compared: {text:?}");
}

/// Modules of these tests that run on a cluster, too: those on small graphs. The others take long there.
const MODULES: [&str; 17] = [
    "branches",
    "by_value",
    "carried",
    "edge_ids",
    "face",
    "merge",
    "meta_properties",
    "modern",
    "number_widths",
    "patterns",
    "row_order",
    "scalar",
    "several",
    "source",
    "strategies",
    "told",
    "unknown_names",
];

/// Of these the tests that do not.
const EMBEDDED_ONLY: [(&str, &str); 6] = [
    (
        "face::a_database_that_was_closed_is_read_and_not_written",
        "with its database the node ends, by which it reads",
    ),
    ("face::what_a_query_gave_can_be_asked_further", "the same of a snapshot"),
    (
        "merge::of_two_that_merge_the_same_at_once_one_fails_where_serialisable_or_unique",
        "of two that give a property its type one conflicts",
    ),
    ("meta_properties::two_who_ask_for_them_at_once_agree", "the same of declarations"),
    ("meta_properties::who_read_what_is_known_of_a_value_meets_who_changed_it", "it names ids"),
    (
        "unknown_names::names_of_the_query_its_transaction_and_the_schema_are_known",
        "the log gives a name before the transaction commits",
    ),
];

/// By a process of the same tests: each of them makes its graphs on three nodes there.
#[test]
fn what_passes_in_one_process_passes_on_three_nodes() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ON_CLUSTER, "1").args(MODULES.map(|module| format!("{module}::")));
    for (name, _) in EMBEDDED_ONLY {
        command.args(["--skip", name]);
    }
    let ran = command.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    let passed = said.rsplit_once(" passed").and_then(|(before, _)| before.rsplit_once(' '));
    let passed: usize = passed.and_then(|(_, count)| count.parse().ok()).unwrap();
    assert!(passed > 90, "{passed} tests ran: {said}");
}
