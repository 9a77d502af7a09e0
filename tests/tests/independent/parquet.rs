//! Parquet: files of pyarrow and DuckDB are imported, and both read our exports; value by value, type by type.

use crate::canonical::text;
use crate::python::answer;
use evergraph::export::options::{ExportFormat, ExportOptions};
use evergraph::graph::catalogue::Owner;
use evergraph::graph::value::ValueType;
use evergraph::graph::value::collection::List;
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, GraphView, ReadByName, Value};
use std::collections::BTreeMap;
use std::path::Path;

fn import(path: &Path) -> evergraph::Result<Database> {
    let db = Database::in_memory()?;
    db.import(&ImportOptions::new([InputFile::new(path)]), &|_| ())?;
    Ok(db)
}

#[test]
fn files_of_pyarrow_and_duckdb_are_imported_with_every_value_and_type() {
    let folder = tempfile::tempdir().unwrap();
    let Some(files) = answer("parquet_write", &[folder.path().as_os_str()]) else { return };
    let files: BTreeMap<String, BTreeMap<String, (String, Vec<String>)>> =
        serde_json::from_value(files).unwrap();
    assert!(files.len() > 10);
    for (file, columns) in files {
        let db = import(&folder.path().join(&file)).unwrap();
        let snapshot = db.snapshot();
        let catalogue = snapshot.catalogue();
        let label = file.strip_suffix(".parquet").unwrap();
        let owner = Owner::Label(catalogue.label(label).unwrap());
        let vertices = snapshot.vertices(Some(label)).unwrap();
        assert!(catalogue.is_unique(owner, catalogue.key("id").unwrap()), "{file}");
        let known: Vec<String> =
            catalogue.properties_of(owner).map(|(key, _)| catalogue.key_name(key).to_string()).collect();
        assert!(known.iter().all(|key| columns.contains_key(key)), "{file}: {known:?}");
        for (key, (value_type, expected)) in columns {
            let declared = catalogue.property_type(owner, catalogue.key(&key).unwrap()).unwrap();
            assert_eq!(declared.name(), value_type, "{file} {key}");
            let found: Vec<String> =
                vertices.iter().map(|vertex| text(snapshot.get(*vertex, &key).unwrap().as_ref())).collect();
            assert_eq!(found, expected, "{file} {key}");
        }
    }
    let refused = import(&folder.path().join("brotli.parquet")).err().unwrap().to_string();
    assert!(refused.contains("column id is packed by brotli"), "{refused}");
}

/// Values of each type, by the number of a vertex; every fifth vertex lacks each.
fn values(number: i64) -> Vec<(&'static str, Value)> {
    let parse = |text: String, value_type| Value::parse(&text, value_type).unwrap();
    let day = number % 28 + 1;
    let mut values = vec![
        ("bool", Value::Bool(number % 2 == 0)),
        ("byte", Value::I8((number % 128) as i8)),
        ("short", Value::I16((number * 7 - 300) as i16)),
        ("int", Value::I32((number * 1_000_003) as i32)),
        ("long", Value::I64(i64::MAX / 500 * (number - 250))),
        ("float", Value::F32(number as f32 / 3.0)),
        ("double", Value::F64(number as f64 / 7.0 - 1e9)),
        ("bigint", parse(format!("{number}00000000000000000000"), ValueType::BigInteger)),
        ("decimal", parse(format!("{number}.50"), ValueType::Decimal)),
        ("char", Value::Char(char::from_u32(0x4e00 + number as u32).unwrap())),
        ("string", Value::from(format!("\"{number}\", é\n"))),
        ("bytes", Value::from(number.to_be_bytes().as_slice())),
        ("date", parse(format!("18{:02}-12-{day:02}", number % 100), ValueType::Date)),
        ("moment", parse(format!("2024-02-{day:02}T12:00:00.{number:09}Z"), ValueType::DateTime)),
        ("duration", parse(format!("P{number}MT1S"), ValueType::Duration)),
        ("uuid", parse(format!("a0eebc99-9c0b-4ef8-bb6d-{number:012}"), ValueType::Uuid)),
        ("list", Value::List(List::new((0..number % 4).map(Value::from).collect()).unwrap())),
    ];
    let mut place = number;
    values.retain(|_| {
        place += 1;
        place % 5 != 0
    });
    values
}

/// The text of a value as others read it from our files: what Arrow has no type for is text there.
fn text_in_files(value: Option<&Value>) -> String {
    match value {
        Some(
            Value::BigInteger(_) | Value::Decimal(_) | Value::Char(_) | Value::Duration(_) | Value::Uuid(_),
        ) => {
            let text = value.unwrap().to_string();
            format!("s:{text}")
        }
        _ => text(value),
    }
}

#[test]
fn exports_are_read_by_pyarrow_and_duckdb_with_every_value() {
    let db = Database::in_memory().unwrap();
    db.create_unique_index("Thing", "id").unwrap();
    db.transact(|tx| {
        let mut before = None;
        for number in 0..500_i64 {
            let mut all = values(number);
            all.push(("id", Value::I32(number as i32 * 3)));
            let thing = tx.add_vertex("Thing", &all)?;
            if let Some(before) = before {
                let properties: &[_] =
                    if number % 3 == 0 { &[] } else { &[("weight", Value::F64(number as f64 / 3.0))] };
                tx.add_edge(before, "NEXT", thing, properties)?;
            }
            before = Some(thing);
        }
        Ok(())
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    db.export(&ExportOptions::new(ExportFormat::Parquet, &out), &|_| ()).unwrap();
    let Some(files) = answer("parquet_read", &[out.as_os_str()]) else { return };
    let files: BTreeMap<String, BTreeMap<String, Vec<String>>> = serde_json::from_value(files).unwrap();

    let snapshot = db.snapshot();
    let things = snapshot.vertices(Some("Thing")).unwrap();
    let things_file = &files["Thing.parquet"];
    assert_eq!(things_file.len(), 18);
    for (column, found) in things_file {
        let key = column.split(':').next().unwrap();
        let expected: Vec<String> =
            things.iter().map(|thing| text_in_files(snapshot.get(*thing, key).unwrap().as_ref())).collect();
        assert_eq!(*found, expected, "{column}");
    }
    let edges_file = &files["Thing-NEXT-Thing.parquet"];
    let column = |name: &str| &edges_file[name];
    let mut found: Vec<[&str; 4]> = Vec::new();
    for row in 0..column(":TYPE").len() {
        let names = [":START_ID(Thing){id-type:int}", ":TYPE", ":END_ID(Thing){id-type:int}", "weight"];
        found.push(names.map(|name| column(name)[row].as_str()));
    }
    let mut expected: Vec<[String; 4]> = Vec::new();
    for thing in things {
        for (edge, next) in snapshot.edges(thing, evergraph::Direction::Out, &["NEXT"]).unwrap() {
            let id = |vertex| text(snapshot.get(vertex, "id").unwrap().as_ref());
            let weight = text(snapshot.get_edge(edge, "weight").unwrap().as_ref());
            expected.push([id(thing), "s:NEXT".to_owned(), id(next), weight]);
        }
    }
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}
