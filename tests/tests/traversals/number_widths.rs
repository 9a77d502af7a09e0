//! Numbers of equal value are one, whatever their widths, and a stored number has the width of its property.
//!
//! Whole numbers of Python are `long`, those of Gremlin and of many files are `int`: the two 27s used to be two.

use crate::{answers, declare, refused};
use evergraph::graph::value::ValueType;
use evergraph::{Database, Value};

/// Persons whose age is of a type.
fn persons(value_type: ValueType) -> Database {
    let db = crate::database();
    db.transact(|tx| {
        declare(tx, "person", "age", value_type)?;
        for age in [27_i64, 29, 32, 35, 27] {
            tx.add_vertex("person", &[("age", age.into())])?;
        }
        Ok(())
    })
    .unwrap();
    db
}

#[test]
fn numbers_of_equal_value_are_one_in_int_and_in_long_data() {
    for value_type in [ValueType::I16, ValueType::I32, ValueType::I64, ValueType::F64, ValueType::Decimal] {
        let db = persons(value_type);
        let ages = "g.V().values('age').fold()";
        for given in ["27, 99", "27L, 99L", "27.0d, 99.0d", "27b, 99s"] {
            let count = |steps: &str| answers(&db, &format!("{steps}.count(local)")).concat();
            assert_eq!(count(&format!("{ages}.intersect([{given}])")), "1", "{value_type}, {given}");
            assert_eq!(count(&format!("{ages}.difference([{given}])")), "3", "{value_type}, {given}");
            assert_eq!(count(&format!("{ages}.disjunct([{given}])")), "4", "{value_type}, {given}");
            assert_eq!(count(&format!("{ages}.merge([{given}])")), "5", "{value_type}, {given}");
            assert_eq!(
                count(&format!("{ages}.combine([{given}]).dedup(local)")),
                "5",
                "{value_type}, {given}"
            );
            let all = format!("g.inject({given}).union(identity(), V().values('age'))");
            assert_eq!(answers(&db, &format!("{all}.dedup().count()")), ["5"], "{value_type}, {given}");
            assert_eq!(
                answers(&db, &format!("{all}.groupCount().count(local)")),
                ["5"],
                "{value_type}, {given}"
            );
            assert_eq!(answers(&db, &format!("{all}.group().by().by(count()).count(local)")), ["5"]);
            assert_eq!(answers(&db, &format!("{all}.fold().dedup(local).count(local)")), ["5"]);
            assert_eq!(
                answers(&db, &format!("{all}.project('n').by().dedup().count()")),
                ["5"],
                "in maps, too"
            );
            assert_eq!(answers(&db, &format!("{all}.map(fold()).dedup().count()")), ["5"], "in lists, too");
        }
        let set = "g.withSideEffect('x', {27}).V().values('age').aggregate('x').cap('x').count(local)";
        assert_eq!(answers(&db, set), ["4"]);
    }
}

#[test]
fn a_variable_is_stored_in_the_width_of_its_property() {
    for (value_type, stored) in [
        (ValueType::I8, Value::I8(27)),
        (ValueType::I32, Value::I32(27)),
        (ValueType::I64, Value::I64(27)),
        (ValueType::F64, Value::F64(27.0)),
        (ValueType::BigInteger, Value::BigInteger(27.into())),
    ] {
        for text in [
            "g.addV('person').property('age', age).values('age')",
            "g.V().hasLabel('person').limit(1).property('age', age).values('age')",
            "g.mergeV([(T.label): 'person', age: age]).values('age')",
            "g.mergeV([(T.label): 'person', age: age]).option(Merge.onMatch, [age: age]).values('age')",
        ] {
            let db = crate::database();
            db.transact(|tx| {
                declare(tx, "person", "age", value_type)?;
                tx.add_vertex("person", &[("age", 1_i64.into())]).map(drop)
            })
            .unwrap();
            let found = db.gremlin(text).bind("age", 27_i64).values::<Value>().unwrap();
            assert_eq!(found, std::slice::from_ref(&stored), "{text}");
            // The same is found by any width.
            for number in [Value::I32(27), Value::I64(27), Value::F64(27.0)] {
                let found = db.gremlin("g.V().has('person', 'age', age).count()").bind("age", number);
                assert_eq!(found.values::<i64>().unwrap(), [1], "{text}");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_with_key_expected_and_found() {
    let db = persons(ValueType::I32);
    let error = refused(&db, "g.V().limit(1).property('age', 5000000000L)");
    assert!(error.contains("property person.age takes int, found the long \"5000000000\""), "{error}");
    let error = refused(&db, "g.addV('person').property('age', 27.5d)");
    assert!(error.contains("property person.age takes int, found the double \"27.5\""), "{error}");
    assert_eq!(answers(&db, "g.V().count()"), ["5"]);
}

#[test]
fn a_value_of_a_set_is_there_once_whatever_its_width() {
    let db = crate::database();
    for number in ["27", "27L", "28L"] {
        let text = format!("g.mergeV([(T.label): 'p']).property(set, 'n', {number})");
        db.gremlin(&text).run().unwrap();
    }
    assert_eq!(answers(&db, "g.V().values('n').order()"), ["27", "28"]);
}
