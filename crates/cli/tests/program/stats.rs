//! The figures of `stats`, on graphs that are small enough to count by hand.

use crate::support::Folder;
use serde_json::{Value, json};

#[test]
fn degrees_are_counted_on_both_sides() {
    let folder = Folder::new();
    // A star: 1 goes to 2 ... 6, and 6 to 1. Vertex 7 has no edge.
    folder.write("a.v", "1\n2\n3\n4\n5\n6\n7\n");
    folder.write("a.e", "1 2\n1 3\n1 4\n1 5\n1 6\n6 1\n");
    folder.run(&["import", "a.eg", "a.v", "a.e"]).succeeded();
    let report = folder.json(&["stats", "a.eg"]);
    let degrees = &report["edge_types"][0]["degrees"];
    let figures = |side: &Value| {
        let side = side.as_object().unwrap();
        ["vertices", "min", "median", "p99", "max"].map(|name| side[name].as_u64().unwrap())
    };
    assert_eq!(figures(&degrees["out"]), [7, 0, 0, 5, 5]);
    assert_eq!(figures(&degrees["in"]), [7, 0, 1, 1, 1]);
    assert!((degrees["out"]["mean"].as_f64().unwrap() - 6.0 / 7.0).abs() < 1e-12);
    let bin = |from, to, vertices| json!({"from": from, "to": to, "vertices": vertices});
    assert_eq!(
        degrees["out"]["powers_of_two"],
        json!([bin(0, 0, 5), bin(1, 1, 1), bin(2, 3, 0), bin(4, 7, 1)])
    );
    assert_eq!(degrees["in"]["powers_of_two"], json!([bin(0, 0, 1), bin(1, 1, 6)]));
    let text = folder.run(&["stats", "a.eg"]).succeeded().out;
    assert!(text.contains("EDGE        out    0   0.9       0    5    5  █▂·▂\n"), "{text}");
    assert!(text.contains("EDGE        in     0   0.9       1    1    1  ▂█\n"), "{text}");
}

#[test]
fn only_labels_that_a_type_joins_count_for_it() {
    let folder = Folder::new();
    folder.write("person.csv", "id:ID(Person),:LABEL\n1,Person\n2,Person\n3,Person\n");
    folder.write("city.csv", "id:ID(City),:LABEL\n1,City\n2,City\n");
    folder.write("lives.csv", ":START_ID(Person),:END_ID(City),:TYPE\n1,1,LIVES_IN\n2,1,LIVES_IN\n");
    folder.run(&["import", "a.eg", "person.csv", "city.csv", "lives.csv"]).succeeded();
    let degrees = &folder.json(&["stats", "a.eg"])["edge_types"][0]["degrees"];
    assert_eq!((&degrees["out"]["vertices"], &degrees["in"]["vertices"]), (&json!(3), &json!(2)));
    assert_eq!((&degrees["out"]["mean"], &degrees["in"]["max"]), (&json!(2.0 / 3.0), &json!(2)));
}

#[test]
fn what_it_takes_adds_up_and_fits_eighty_columns() {
    let folder = Folder::with_bank();
    let report = folder.json(&["stats", "bank.eg"]);
    let memory = report["memory"].as_object().unwrap();
    let bytes = |name: &str| memory[name].as_u64().unwrap();
    let parts =
        ["topology_bytes", "property_bytes", "order_bytes", "record_bytes", "retained_bytes", "index_bytes"];
    assert_eq!(bytes("total_bytes"), parts.iter().map(|part| bytes(part)).sum::<u64>());
    let edges = report["edges_count"].as_u64().unwrap() as f64;
    assert_eq!(memory["total_bytes_per_edge"].as_f64().unwrap(), bytes("total_bytes") as f64 / edges);
    let checkpoint = json!({"covered_through": 1, "commits_since": 0, "torn_end": false});
    for (key, value) in checkpoint.as_object().unwrap() {
        assert_eq!(report["checkpoint"][key], *value, "{key}");
    }
    let degrees = &report["edge_types"][0]["degrees"]["out"];
    let mean = degrees["mean"].as_f64().unwrap() * degrees["vertices"].as_f64().unwrap();
    assert!((mean - edges).abs() < 1e-6, "every edge leaves one vertex");
    let text = folder.run(&["stats", "bank.eg"]).succeeded().out;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn an_empty_database_has_figures_too() {
    let folder = Folder::new();
    evergraph::Database::open(folder.path("a.eg")).unwrap().close().unwrap();
    let report = folder.json(&["stats", "a.eg"]);
    assert_eq!(
        (&report["edges_count"], &report["memory"]["total_bytes_per_edge"]),
        (&json!(0), &Value::Null)
    );
    let text = folder.run(&["stats", "a.eg"]).succeeded().out;
    assert!(text.starts_with("a.eg: 0 vertices, 0 edges, as of commit 0\n\nwhat it takes"), "{text}");
}

#[test]
fn commits_since_the_checkpoint_are_counted() {
    let folder = Folder::with_social();
    let database = evergraph::Database::open(folder.path("social.eg")).unwrap();
    for born in 0..5 {
        database.transact(|tx| tx.add_vertex("Person", &[("born", born.into())])).unwrap();
    }
    database.close().unwrap();
    drop(database);
    assert_eq!(folder.json(&["stats", "social.eg"])["checkpoint"]["commits_since"], 5);
    folder.run(&["checkpoint", "social.eg"]).succeeded();
    assert_eq!(folder.json(&["stats", "social.eg"])["checkpoint"]["commits_since"], 0);
}
