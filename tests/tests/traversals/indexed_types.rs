//! Each look-up finds the same with an index and without, whatever the type of the property.
//!
//! An index on a property that holds lists used to find nothing.

use crate::{declare, shown};
use evergraph::graph::value::ValueType;
use evergraph::query::gremlin::call::ArgumentKind;
use evergraph::query::gremlin::parser::ParseLimits;
use evergraph::query::gremlin::parser::variable::parse_variable;
use evergraph::{Database, IndexOptions, ReadByName as _, Value};

/// What is asked for, whatever the type of the property.
const ASKED: [&str; 52] = [
    "true",
    "false",
    "0",
    "1b",
    "1s",
    "1",
    "1L",
    "2L",
    "1.0f",
    "1.0d",
    "1.5f",
    "1.5d",
    "0.1f",
    "0.1d",
    "-0.0d",
    "1n",
    "1.0m",
    "1.5m",
    "0.1m",
    "300",
    "2147483647",
    "2147483648L",
    "9007199254740992L",
    "9007199254740993L",
    "9007199254740992.0d",
    "9223372036854775807L",
    "9223372036854775808n",
    "9223372036854775808.0d",
    "9007199254740993m",
    "1e300d",
    "NaN",
    "Infinity",
    "'a'",
    "'b'",
    "''",
    "'ab'",
    "datetime('2026-01-31')",
    "datetime('2026-01-31T12:00:00Z')",
    "UUID('6f1c0f1e-5d44-4c3b-9d0d-1f4b6a3f3c55')",
    "[]",
    "[1, 2]",
    "[2, 1]",
    "[1L, 2.0d]",
    "['a']",
    "{1, 2}",
    "{2, 1}",
    "[a: 1]",
    "[a: 1L]",
    "[b: 1, a: 1]",
    "[[1], [2]]",
    "null",
    "['a', 'b']",
];

/// Types, and texts of values that a property of the type has.
const STORED: [(ValueType, &[&str]); 18] = [
    (ValueType::Bool, &["true", "false"]),
    (ValueType::I8, &["0", "1", "2"]),
    (ValueType::I16, &["0", "1", "300"]),
    (ValueType::I32, &["0", "1", "2147483647"]),
    (
        ValueType::I64,
        &["0", "1", "2", "2147483648", "9007199254740992", "9007199254740993", "9223372036854775807"],
    ),
    (ValueType::F32, &["0", "1", "1.5", "0.1", "NaN", "Infinity"]),
    (
        ValueType::F64,
        &["0", "-0.0", "1", "1.5", "0.1", "9007199254740992", "9223372036854775808", "1e300", "NaN"],
    ),
    (ValueType::BigInteger, &["0", "1", "9007199254740993", "9223372036854775808"]),
    (ValueType::Decimal, &["0", "1.0", "1.50", "0.1", "9007199254740993"]),
    (ValueType::Char, &["a", "b"]),
    (ValueType::String, &["a", "b", "", "ab"]),
    (ValueType::Date, &["2026-01-31"]),
    (ValueType::DateTime, &["2026-01-31T00:00:00Z", "2026-01-31T12:00:00Z"]),
    (ValueType::Uuid, &["6f1c0f1e-5d44-4c3b-9d0d-1f4b6a3f3c55"]),
    (ValueType::List, &[]),
    (ValueType::Set, &[]),
    (ValueType::Map, &[]),
    (ValueType::Any, &[]),
];

/// Collections that are stored where no text is: in Gremlin.
const COLLECTIONS: [&str; 9] =
    ["[]", "[1, 2]", "[2, 1]", "['a']", "{1, 2}", "[a: 1]", "[a: 1, b: 1]", "[[1], [2]]", "1"];

fn stored(value_type: ValueType, texts: &[&str]) -> Vec<ArgumentKind> {
    if !texts.is_empty() {
        let value =
            |text: &&str| Value::parse(text, value_type).unwrap_or_else(|error| panic!("{text}: {error}"));
        return texts.iter().map(|text| value(text).into()).collect();
    }
    let fits = |text: &&&str| match value_type {
        ValueType::List => text.starts_with('[') && !text.contains(':'),
        ValueType::Set => text.starts_with('{'),
        ValueType::Map => text.contains(':'),
        _ => true,
    };
    COLLECTIONS
        .iter()
        .filter(fits)
        .map(|text| parse_variable(text, &ParseLimits::default()).unwrap())
        .collect()
}

fn filled(value_type: ValueType, texts: &[&str]) -> Database {
    let db = crate::database();
    db.transact(|tx| declare(tx, "p", "v", value_type)).unwrap();
    for value in stored(value_type, texts) {
        db.gremlin("g.addV('p').property('v', x)").bind("x", value).run().unwrap();
    }
    db
}

#[test]
fn an_index_finds_what_a_scan_finds_of_every_type() {
    let mut found_any = 0;
    for (value_type, texts) in STORED {
        let dbs = [(); 3].map(|()| filled(value_type, texts));
        dbs[1].create_index(&IndexOptions::on_label("p", "v")).unwrap();
        // Not every type has an order that an index could have.
        let _ = dbs[2].create_index(&IndexOptions::on_label("p", "v").ordered());
        for asked in ASKED {
            let value = parse_variable(asked, &ParseLimits::default())
                .unwrap_or_else(|error| panic!("{asked}: {error}"));
            for text in [
                "g.V().has('v', x).id()",
                "g.V().has('p', 'v', x).values('v').fold()",
                "g.V().has('p', 'v', within(x, 'b')).id()",
                "g.V().has('v', eq(x).and(neq('zz'))).id()",
                "g.V().has('v', lt(x)).id()",
                "g.V().has('v', gte(x)).id()",
                "g.V().has('v', between(0, x)).id()",
            ] {
                let ask = |db: &Database| {
                    let found = db.gremlin(text).bind("x", value.clone()).items();
                    let mut found: Vec<String> = found
                        .unwrap_or_else(|error| panic!("{value_type}, {asked}: {text}: {error}"))
                        .iter()
                        .map(shown)
                        .collect();
                    found.sort();
                    found
                };
                let expected = ask(&dbs[0]);
                found_any += usize::from(!expected.is_empty());
                assert_eq!(ask(&dbs[1]), expected, "a hash index on {value_type}: {text} of {asked}");
                assert_eq!(ask(&dbs[2]), expected, "an ordered index on {value_type}: {text} of {asked}");
            }
        }
    }
    assert!(found_any > 1000, "{found_any}");
}

#[test]
fn a_merge_finds_with_an_index_what_it_finds_without() {
    for (value_type, texts) in STORED {
        let dbs = [(); 2].map(|()| filled(value_type, texts));
        dbs[1].create_index(&IndexOptions::on_label("p", "v")).unwrap();
        for asked in ASKED {
            let value = parse_variable(asked, &ParseLimits::default()).unwrap();
            let counts = dbs.each_ref().map(|db| {
                let before = db.snapshot().vertices(None).unwrap();
                let merged =
                    db.gremlin("g.mergeV([(T.label): 'p', v: x]).count()").bind("x", value.clone()).items();
                let count: Vec<i64> = db.gremlin("g.V().count()").values().unwrap();
                // What was added goes again: the next one finds what was stored.
                let mut added = db.snapshot().vertices(None).unwrap();
                added.retain(|vertex| !before.contains(vertex));
                db.transact(|tx| added.iter().try_for_each(|vertex| tx.delete_vertex(*vertex))).unwrap();
                (merged.map(|found| found.iter().map(shown).collect::<Vec<_>>()).is_ok(), count)
            });
            assert_eq!(counts[0], counts[1], "{value_type}: mergeV of {asked}");
        }
    }
}

#[test]
fn a_property_that_holds_a_list_is_found_by_it() {
    for indexed in [false, true] {
        let db = crate::database();
        db.gremlin("g.addV('p').property('v', ['a', 'b'])").run().unwrap();
        db.gremlin("g.addV('p').property('v', ['b', 'a'])").run().unwrap();
        if indexed {
            db.create_index(&IndexOptions::on_label("p", "v")).unwrap();
        }
        let found: Vec<i64> = db.gremlin("g.V().has('v', ['a', 'b']).count()").values().unwrap();
        assert_eq!(found, [1], "with an index: {indexed}");
    }
}
