//! Kuzu's tinysnb: people, whom they know and where they work, imported by a mapping; every answer beside
//! that of DuckDB, with each engine.

use crate::python::answer;
use evergraph::graph::catalogue::Owner;
use evergraph::import::mapping::document::Mapping;
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, Direction, EngineKind, GraphView, Options, ReadByName, Snapshot, Value, VertexId};
use evergraph_tests::data_folder::data_set;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

const MAPPING: &str = r#"
    [defaults]
    escape = "\\"

    [[file]]
    path = "vPerson.csv"
    label = "Person"
    id = { column = "id", type = "long" }
    types = { "Gender" = "int", "ISStudent" = "bool", "age" = "int", "eyeSight" = "double" }

    [[file]]
    path = "vPerson2.csv"
    label = "Person"
    header = false
    columns = ["id:ID(Person){id-type:long}", "fname", "Gender:int", "ISStudent:bool", "isWorker", "age:int",
        "eyeSight:double", ":IGNORE", ":IGNORE", ":IGNORE", ":IGNORE", ":IGNORE", ":IGNORE", ":IGNORE", ":IGNORE",
        ":IGNORE"]

    [[file]]
    path = "vOrganisation.csv"
    label = "Organisation"
    header = false
    columns = ["id:ID(Organisation){id-type:long}", "name", ":IGNORE", "mark:double", ":IGNORE", ":IGNORE",
        ":IGNORE", ":IGNORE", ":IGNORE", ":IGNORE"]

    [[file]]
    path = "eKnows*.csv"
    type = "KNOWS"
    header = false
    columns = [":START_ID(Person)", ":END_ID(Person)", "since:date", ":IGNORE", ":IGNORE", ":IGNORE", ":IGNORE",
        ":IGNORE", ":IGNORE"]

    [[file]]
    path = "eWorkAt.csv"
    type = "WORKS_AT"
    header = false
    columns = [":START_ID(Person)", ":END_ID(Organisation)", "year:long", ":IGNORE", ":IGNORE"]
"#;

fn whole(value: Option<Value>) -> i64 {
    value.unwrap().as_i64().unwrap()
}

fn tenfold(value: Option<Value>) -> i64 {
    (value.unwrap().as_f64().unwrap() * 10.0).round() as i64
}

fn name(snapshot: &Snapshot, vertex: VertexId, key: &str) -> String {
    snapshot.get(vertex, key).unwrap().unwrap().as_str().unwrap().to_owned()
}

#[test]
fn people_whom_they_know_and_where_they_work_are_as_duckdb_counts_them() {
    let Some(folder) = data_set("kuzu-tinysnb") else { return };
    let Some(expected) = answer("tinysnb", &[folder.as_os_str()]) else { return };
    check(Database::in_memory().unwrap(), &folder, &expected);
    let directory = tempfile::tempdir().unwrap();
    let options =
        Options { engine: Some(EngineKind::Disk), memory_limit_bytes: 64 << 20, ..Options::default() };
    check(Database::open_with(directory.path().join("db"), &options).unwrap(), &folder, &expected);
    // From its files alone.
    compare(&Database::open(directory.path().join("db")).unwrap().snapshot(), &expected);
}

/// Imports the files, and compares what is in the database then.
fn check(db: Database, folder: &Path, expected: &serde_json::Value) {
    let mapping = Mapping::parse("mapping", MAPPING, folder).unwrap();
    let options = ImportOptions { mapping: Some(mapping), ..ImportOptions::new([InputFile::new(folder)]) };
    db.import(&options, &|_| ()).unwrap();
    compare(&db.snapshot(), expected);
    db.close().unwrap();
}

fn compare(snapshot: &Snapshot, expected: &serde_json::Value) {
    let catalogue = snapshot.catalogue();
    let person = Owner::Label(catalogue.label("Person").unwrap());
    assert!(catalogue.is_unique(person, catalogue.key("id").unwrap()));
    let people = snapshot.vertices(Some("Person")).unwrap();
    let age = |vertex| whole(snapshot.get(vertex, "age").unwrap());
    let is_student = |vertex| snapshot.get(vertex, "ISStudent").unwrap() == Some(Value::Bool(true));
    let students = people.iter().filter(|vertex| is_student(**vertex)).count();
    let best = people.iter().map(|vertex| tenfold(snapshot.get(*vertex, "eyeSight").unwrap())).max();
    let ages: i64 = people.iter().map(|vertex| age(*vertex)).sum();
    assert_eq!(expected["people"], json!([[people.len(), ages, students, best]]));

    let mut by_gender: BTreeMap<i64, (u64, i64)> = BTreeMap::new();
    for vertex in &people {
        let group = by_gender.entry(whole(snapshot.get(*vertex, "Gender").unwrap())).or_default();
        *group = (group.0 + 1, group.1 + age(*vertex));
    }
    let by_gender: Vec<_> =
        by_gender.into_iter().map(|(gender, (count, ages))| (gender, count, ages)).collect();
    assert_eq!(expected["people by gender"], json!(by_gender));

    let known = |vertex| snapshot.edges(vertex, Direction::Out, &["KNOWS"]).unwrap();
    let (mut since, mut ages_of_known, mut second) = (Vec::new(), BTreeMap::new(), 0);
    for vertex in &people {
        for (edge, other) in known(*vertex) {
            since.push(snapshot.get_edge(edge, "since").unwrap().unwrap().to_string());
            let group: &mut (u64, i64) = ages_of_known.entry(name(snapshot, *vertex, "fname")).or_default();
            *group = (group.0 + 1, group.1 + age(other));
            second += known(other).len();
        }
    }
    assert_eq!(expected["acquaintances"], json!([[since.len(), since.iter().min(), since.iter().max()]]));
    let ages_of_known: Vec<_> =
        ages_of_known.into_iter().map(|(name, (count, ages))| (name, count, ages)).collect();
    assert_eq!(expected["ages of the known"], json!(ages_of_known));
    assert_eq!(expected["known of the known"], json!([[second]]));

    let mut workers = Vec::new();
    for place in snapshot.vertices(Some("Organisation")).unwrap() {
        let mark = tenfold(snapshot.get(place, "mark").unwrap());
        for (edge, worker) in snapshot.edges(place, Direction::In, &["WORKS_AT"]).unwrap() {
            let year = whole(snapshot.get_edge(edge, "year").unwrap());
            workers.push((name(snapshot, place, "name"), name(snapshot, worker, "fname"), year, mark));
        }
    }
    workers.sort_by(|left, right| left.1.cmp(&right.1));
    assert_eq!(expected["workers"], json!(workers));
}
