//! Samples: what seeds are made of. A value of every type, and small graphs as our exports write them.

use evergraph::Database;
use evergraph::export::options::{ExportFormat, ExportOptions};
use evergraph_graph::value::collection::{List, Map, Set};
use evergraph_graph::value::{Value, ValueType};
use std::fs;
use std::path::Path;

/// A text of every type that has texts.
pub const TEXTS: [(ValueType, &str); 22] = [
    (ValueType::Bool, "true"),
    (ValueType::I8, "-128"),
    (ValueType::I16, "32767"),
    (ValueType::I32, "-7"),
    (ValueType::I64, "9223372036854775807"),
    (ValueType::F32, "0.1"),
    (ValueType::F32, "inf"),
    (ValueType::F64, "-1.5e300"),
    (ValueType::F64, "nan"),
    (ValueType::BigInteger, "-340282366920938463463374607431768211456"),
    (ValueType::Decimal, "12.50"),
    (ValueType::Decimal, "1e-20"),
    (ValueType::Char, "é"),
    (ValueType::String, "Ada; \"Lovelace\""),
    (ValueType::Bytes, "0x00ff"),
    (ValueType::Date, "2024-02-29"),
    (ValueType::Date, "-0044-03-15"),
    (ValueType::DateTime, "2024-02-29T12:00:00.5+01:00"),
    (ValueType::DateTime, "1709208000500"),
    (ValueType::Duration, "P1M2DT3.5S"),
    (ValueType::Duration, "-PT0.000000001S"),
    (ValueType::Uuid, "550e8400-e29b-41d4-a716-446655440000"),
];

/// A value of every type, collections among them.
///
/// # Panics
/// Never: the texts are of their types.
#[must_use]
pub fn values() -> Vec<Value> {
    let parse = |(value_type, text): (ValueType, &str)| Value::parse(text, value_type).expect(text);
    let scalars: Vec<Value> = TEXTS.into_iter().map(parse).collect();
    let entries = scalars.iter().map(|value| (Value::from(value.to_string()), value.clone()));
    let map = Map::new(entries.collect()).expect("scalars aren't deep");
    let list = List::new(scalars.clone()).expect("scalars aren't deep");
    let set = Set::new(vec![Value::I64(2), Value::I64(1)]).expect("scalars aren't deep");
    let nested = List::new(vec![Value::Set(set.clone()), Value::from("")]).expect("two levels aren't deep");
    [scalars, vec![Value::List(list), Value::Set(set), Value::Map(map), Value::List(nested)]].concat()
}

/// The files, by name, that an export in `format` makes of a graph with a property of every type, or
/// with one of few if the format can't hold all.
///
/// # Panics
/// If a temporary folder can't be written.
#[must_use]
pub fn exported(format: ExportFormat) -> Vec<(String, Vec<u8>)> {
    let database = Database::in_memory().expect("a database in memory opens");
    database
        .transact(|transaction| {
            let values = values();
            let keys: Vec<String> = values.iter().map(|value| format!("k {}", value.value_type())).collect();
            let properties: Vec<(&str, Value)> = keys.iter().map(String::as_str).zip(values).collect();
            let ada = transaction.add_vertex("Person", &properties)?;
            let bob = transaction.add_vertex("Person", &properties[..3])?;
            let town = transaction.add_vertex("Town", &[])?;
            transaction.add_edge(ada, "KNOWS", bob, &[("weight", Value::F64(0.5))])?;
            transaction.add_edge(bob, "LIVES IN", town, &properties[..6])?;
            transaction.add_edge(ada, "LIVES IN", town, &[])?;
            Ok(())
        })
        .expect("the graph can be written");
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    let output = folder.path().join("graph");
    database.export(&ExportOptions::new(format, &output), &|_| ()).expect("the graph can be exported");
    let files = if output.is_dir() { files_in(&output) } else { vec![output] };
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        (name, fs::read(path).expect("an export can be read"))
    };
    files.into_iter().map(read).collect()
}

fn files_in(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("an export's folder can be listed");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry can be read").path()).collect();
    files.sort();
    files
}
