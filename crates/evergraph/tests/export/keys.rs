//! Keys: unique keys of every type that ids of files have come back, with their type and their index.

use crate::graphs::Content;
use evergraph::export::options::{ExportFormat, ExportOptions};
use evergraph::graph::value::ValueType;
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, Value};
use std::path::Path;

/// Two people who know each other, and a dog, with `ids`; all ids are unique keys.
fn graph(ids: &[Value]) -> Database {
    let db = Database::in_memory().unwrap();
    ["Person", "Dog"].iter().for_each(|label| db.create_unique_index(label, "id").unwrap());
    db.transact(|tx| {
        let ada = tx.add_vertex("Person", &[("id", ids[0].clone()), ("name", "Ada".into())])?;
        let mary = tx.add_vertex("Person", &[("id", ids[1].clone())])?;
        let rex = tx.add_vertex("Dog", &[("id", ids[2].clone())])?;
        tx.add_edge(ada, "KNOWS", mary, &[])?;
        tx.add_edge(mary, "KNOWS", ada, &[])?;
        tx.add_edge(mary, "HAS", rex, &[("since", 7_i64.into())])?;
        Ok(())
    })
    .unwrap();
    db
}

fn import(path: &Path) -> Database {
    let db = Database::in_memory().unwrap();
    db.import(&ImportOptions::new([InputFile::new(path)]), &|_| ()).unwrap();
    db
}

fn parsed(value_type: ValueType, texts: [&str; 3]) -> Vec<Value> {
    texts.map(|text| Value::parse(text, value_type).unwrap()).to_vec()
}

const OUTPUTS: [(ExportFormat, &str); 4] = [
    (ExportFormat::Csv, "csv"),
    (ExportFormat::Parquet, "parquet"),
    (ExportFormat::GraphSon, "out.json"),
    (ExportFormat::GraphMl, "out.graphml"),
];

#[test]
fn a_unique_key_of_each_type_of_ids_survives_each_format() {
    for (value_type, texts) in [
        (ValueType::I8, ["-128", "0", "127"]),
        (ValueType::I16, ["-32768", "1", "300"]),
        (ValueType::I32, ["-2147483648", "2147483647", "7"]),
        (ValueType::I64, ["-9223372036854775808", "9223372036854775807", "7"]),
        (ValueType::BigInteger, ["18446744073709551616", "-1", "0"]),
        (ValueType::Char, [" ", ",", "é"]),
        (ValueType::String, [" 1", "1,\"", "é;\n"]),
        (ValueType::Bytes, ["0x", "0x00ff", "0x01"]),
        (ValueType::Date, ["1815-12-10", "0001-01-01", "2024-02-29"]),
        (
            ValueType::DateTime,
            ["2024-02-29T12:00:00.5+01:00", "2024-02-29T11:00:00.5Z", "1600-01-01T00:00:00Z"],
        ),
        (
            ValueType::DateTime,
            ["2024-02-29T12:00:00Z", "1970-01-01T00:00:00.000000001Z", "1999-01-01T00:00:00Z"],
        ),
        (ValueType::Duration, ["P1M", "P30D", "PT0.000000001S"]),
        (
            ValueType::Uuid,
            [
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                "00000000-0000-0000-0000-000000000000",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
            ],
        ),
    ] {
        let db = graph(&parsed(value_type, texts));
        let folder = tempfile::tempdir().unwrap();
        for (format, name) in OUTPUTS {
            let out = folder.path().join(name);
            let report = db.export(&ExportOptions::new(format, &out), &|_| ()).unwrap();
            assert_eq!(report.losses, Vec::<String>::new(), "{value_type} {format:?}");
            let back = import(&out);
            assert_eq!(Content::of(&back), Content::of(&db), "{value_type} {format:?}");
            let again = Value::parse(texts[2], value_type).unwrap();
            let refused = back.transact(|tx| tx.add_vertex("Dog", &[("id", again.clone())]));
            assert!(refused.is_err(), "{value_type} {format:?}: the key is unique again");
        }
    }
}

#[test]
fn a_key_of_another_type_is_told_to_be_lost() {
    let db = graph(&parsed(ValueType::Decimal, ["1.50", "0.1", "2"]));
    let folder = tempfile::tempdir().unwrap();
    for (format, name) in OUTPUTS {
        let report = db.export(&ExportOptions::new(format, folder.path().join(name)), &|_| ()).unwrap();
        for label in ["Person", "Dog"] {
            let lost = format!("the unique hash index on `{label}.id`: create it again");
            assert!(report.losses.contains(&lost), "{format:?}: {:?}", report.losses);
        }
    }
}

/// Ids of an edge list are whole numbers: narrow ones are kept, and become longs.
#[test]
fn an_edge_list_keeps_narrow_ids_and_tells_that_they_become_longs() {
    let db = Database::in_memory().unwrap();
    db.create_unique_index("Town", "id").unwrap();
    db.transact(|tx| {
        let [a, b] = [30, 10].map(|id| tx.add_vertex("Town", &[("id", Value::I32(id))]));
        tx.add_edge(a?, "ROAD", b?, &[])
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("lists");
    let report = db.export(&ExportOptions::new(ExportFormat::EdgeList, &out), &|_| ()).unwrap();
    assert_eq!(report.losses, ["that `id` is int: an import makes it long"]);
    assert_eq!(std::fs::read_to_string(out.join("ROAD.e")).unwrap(), "30 10\n");
}
