//! Exported: what DuckDB finds in the CSV files of an export, told nothing about them.

use crate::python::answer;
use evergraph::export::options::{ExportFormat, ExportOptions};
use evergraph::{Database, Direction, ReadByName, Snapshot, Value, VertexId};
use serde_json::json;
use std::collections::BTreeMap;

const TOWNS: i64 = 7;

/// 1,000 persons in seven towns, with names that need quotes, and some without an age.
fn population() -> Database {
    let db = Database::in_memory().unwrap();
    ["Person", "Town"].iter().for_each(|label| db.create_unique_index(label, "id").unwrap());
    db.transact(|tx| {
        let mut towns = Vec::new();
        for number in 0..TOWNS {
            let name = format!("Town {number}, \"the {number}th\"\nof all");
            towns.push(tx.add_vertex("Town", &[("id", (number << 40).into()), ("name", name.into())])?);
        }
        for number in 0..1000_i32 {
            let mut properties = vec![
                ("id", Value::I32(number * 3 - 500)),
                ("name", format!("é,{number}").into()),
                ("wealth", (i64::from(number) * 1_000_000_007).into()),
                (
                    "born",
                    Value::parse(
                        &format!("19{:02}-02-11", number % 100),
                        evergraph::graph::value::ValueType::Date,
                    )
                    .unwrap(),
                ),
            ];
            if number % 3 > 0 {
                properties.push(("age", Value::I32(number % 90)));
            }
            let person = tx.add_vertex("Person", &properties)?;
            let town = towns[(number as i64 * number as i64 % TOWNS) as usize];
            tx.add_edge(person, "LIVES_IN", town, &[("rent", (f64::from(number) / 2.0).into())])?;
        }
        Ok(())
    })
    .unwrap();
    db
}

fn whole(snapshot: &Snapshot, vertex: VertexId, key: &str) -> Option<i64> {
    snapshot.get(vertex, key).unwrap()?.as_i64()
}

#[test]
fn csv_exports_have_the_counts_and_sums_that_duckdb_finds_in_them() {
    let db = population();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    db.export(&ExportOptions::new(ExportFormat::Csv, &out), &|_| ()).unwrap();
    let Some(found) = answer("csv_read", &[out.as_os_str()]) else { return };

    let snapshot = db.snapshot();
    let persons = snapshot.vertices(Some("Person")).unwrap();
    let ages: Vec<i64> = persons.iter().filter_map(|person| whole(&snapshot, *person, "age")).collect();
    let wealth: i64 = persons.iter().filter_map(|person| whole(&snapshot, *person, "wealth")).sum();
    let text = |vertex, key| snapshot.get(vertex, key).unwrap().unwrap();
    let born = persons.iter().map(|person| text(*person, "born").to_string()).min();
    let letters: usize =
        persons.iter().map(|person| text(*person, "name").as_str().unwrap().chars().count()).sum();
    let expected = json!([[persons.len(), ages.iter().sum::<i64>(), ages.len(), wealth, born, letters]]);
    assert_eq!(found["persons"], expected);
    assert_eq!(found["towns"], json!([[TOWNS, TOWNS]]));

    let mut by_town: BTreeMap<String, (u64, i64, i64)> = BTreeMap::new();
    for town in snapshot.vertices(Some("Town")).unwrap() {
        let group = by_town.entry(text(town, "name").as_str().unwrap().to_owned()).or_default();
        for (edge, person) in snapshot.edges(town, Direction::In, &["LIVES_IN"]).unwrap() {
            let rent = snapshot.get_edge(edge, "rent").unwrap().unwrap().as_f64().unwrap();
            group.0 += 1;
            group.1 += whole(&snapshot, person, "age").unwrap_or(0);
            group.2 += (rent * 2.0) as i64;
        }
    }
    by_town.retain(|_, group| group.0 > 0);
    let by_town: Vec<_> =
        by_town.into_iter().map(|(town, (count, ages, rent))| (town, count, ages, rent)).collect();
    assert_eq!(found["ages by town"], json!(by_town));
}
