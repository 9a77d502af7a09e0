//! Every predicate whose operand is a step label, with and without `by()`, on texts, numbers and collections.
//!
//! The predicates of texts used to compare with the name of the label, and `within()` never looked into a list.

use crate::{answers, gremlin, refused};
use evergraph::Database;
use std::cmp::Ordering;

/// What a predicate says of the item and of its operand.
type Says<T> = (&'static str, fn(T, T) -> bool);

const TEXTS: [&str; 6] = ["marko", "mar", "ko", "josh", "a.*", "b"];
const OF_TEXTS: [Says<&str>; 16] = [
    ("eq", |left, right| left == right),
    ("neq", |left, right| left != right),
    ("lt", |left, right| left < right),
    ("lte", |left, right| left <= right),
    ("gt", |left, right| left > right),
    ("gte", |left, right| left >= right),
    ("within", |left, right| left == right),
    ("without", |left, right| left != right),
    ("startingWith", |left, right| left.starts_with(right)),
    ("notStartingWith", |left, right| !left.starts_with(right)),
    ("endingWith", |left, right| left.ends_with(right)),
    ("notEndingWith", |left, right| !left.ends_with(right)),
    ("containing", |left, right| left.contains(right)),
    ("notContaining", |left, right| !left.contains(right)),
    ("regex", matches),
    ("notRegex", |left, right| !matches(left, right)),
];
/// The only one of the texts that is more than itself as a pattern.
fn matches(left: &str, right: &str) -> bool {
    left.contains(if right == "a.*" { "a" } else { right })
}

const NUMBERS: [i64; 3] = [1, 2, 3];
const OF_NUMBERS: [Says<i64>; 8] = [
    ("eq", |left, right| left == right),
    ("neq", |left, right| left != right),
    ("lt", |left, right| left < right),
    ("lte", |left, right| left <= right),
    ("gt", |left, right| left > right),
    ("gte", |left, right| left >= right),
    ("within", |left, right| left == right),
    ("without", |left, right| left != right),
];

/// A vertex for each text, under the keys `t` and `u`, and for each number, under `n` and `m`.
fn things() -> Database {
    let db = crate::database();
    db.transact(|tx| {
        for text in TEXTS {
            tx.add_vertex("text", &[("t", text.into()), ("u", text.into())])?;
        }
        NUMBERS.iter().try_for_each(|number| {
            tx.add_vertex("number", &[("n", (*number).into()), ("m", (*number as i32).into())]).map(drop)
        })
    })
    .unwrap();
    db
}

#[track_caller]
fn check(db: &Database, text: &str, expected: bool) {
    for batch_rows in [1, 1024] {
        check_in_batches(db, text, batch_rows, expected);
    }
}

#[track_caller]
fn check_in_batches(db: &Database, text: &str, batch_rows: usize, expected: bool) {
    let found = gremlin(db, text, batch_rows).unwrap_or_else(|error| panic!("{text}: {error}")).len();
    assert_eq!(found, usize::from(expected), "{text}");
}

/// All ways to ask `predicate` of `left`, with `right` at a label: of what is equal in batches of one row and in large
/// ones, of other pairs in one of the two.
fn check_all(
    db: &Database,
    predicate: &str,
    [left, right]: [&str; 2],
    [key, other]: [&str; 2],
    expected: bool,
) {
    let sizes: &[usize] = match left.cmp(right) {
        Ordering::Less => &[1],
        Ordering::Equal => &[1, 1024],
        Ordering::Greater => &[1024],
    };
    let check = |text: &str, expected: bool| {
        sizes.iter().for_each(|batch_rows| check_in_batches(db, text, *batch_rows, expected));
    };
    let ask = |text: &str| check(text, expected);
    ask(&format!("g.inject({right}).as('a').constant({left}).where({predicate}('a'))"));
    ask(&format!(
        "g.inject({right}).as('a').constant({left}).as('b').constant(0).where('b', {predicate}('a'))"
    ));
    ask(&format!(
        "g.inject({left}).project('l', 'r').by().by(constant({right})).where('l', {predicate}('r'))"
    ));
    let both = format!("g.V().has('{key}', {right}).as('a').V().has('{key}', {left})");
    ask(&format!("{both}.where({predicate}('a')).by('{key}')"));
    ask(&format!("{both}.where({predicate}('a')).by('{key}').by('{other}')"));
    ask(&format!("{both}.as('b').constant(0).where('b', {predicate}('a')).by('{key}')"));
    ask(&format!("{both}.where({predicate}('a')).by(values('{key}').fold().unfold())"));
    ask(&format!("g.withSideEffect('x', {right}).inject({left}).where({predicate}('x'))"));
    ask(&format!(
        "g.withSideEffect('x', {right}).V().has('{key}', {left}).where({predicate}('x')).by('{key}').by()"
    ));
    ask(&format!("{both}.where({predicate}('a').and({predicate}('a'))).by('{key}')"));
    check(&format!("{both}.where(not({predicate}('a'))).by('{key}')"), !expected);
    check(&format!("g.inject({right}).as('a').constant({left}).where(not({predicate}('a')))"), !expected);
}

#[test]
fn every_predicate_compares_with_what_a_label_stands_for() {
    let db = things();
    for (predicate, says) in OF_TEXTS {
        for left in TEXTS {
            for right in TEXTS {
                let texts = [format!("'{left}'"), format!("'{right}'")];
                check_all(
                    &db,
                    predicate,
                    texts.each_ref().map(String::as_str),
                    ["t", "u"],
                    says(left, right),
                );
            }
        }
    }
    for (predicate, says) in OF_NUMBERS {
        for left in NUMBERS {
            for right in NUMBERS {
                let numbers = [left.to_string(), right.to_string()];
                check_all(
                    &db,
                    predicate,
                    numbers.each_ref().map(String::as_str),
                    ["n", "m"],
                    says(left, right),
                );
            }
        }
    }
}

#[test]
fn predicates_of_two_operands_take_their_modulators_by_turns() {
    let db = things();
    type OfThree = (&'static str, fn(i64, i64, i64) -> bool);
    let predicates: [OfThree; 3] = [
        ("between", |left, low, high| low <= left && left < high),
        ("inside", |left, low, high| low < left && left < high),
        ("outside", |left, low, high| left < low || high < left),
    ];
    for (predicate, says) in predicates {
        for [left, low, high] in [1, 2, 3].map(|left| [[left, 1, 3], [left, 2, 3], [left, 1, 2]]).concat() {
            let expected = says(left, low, high);
            let both =
                format!("g.V().has('n', {low}).as('a').V().has('n', {high}).as('b').V().has('n', {left})");
            check(&db, &format!("{both}.where({predicate}('a', 'b')).by('n')"), expected);
            check(&db, &format!("{both}.where({predicate}('a', 'b')).by('n').by('m').by('n')"), expected);
            check(
                &db,
                &format!("g.inject({left}).as('l').constant([{low}, {high}]).as('a').constant({left}).
                    where({predicate}('a', 'a')).by().by(limit(local, 1).unfold()).by(tail(local, 1).unfold())"),
                expected,
            );
        }
    }
}

#[test]
fn within_looks_into_a_collection_at_a_label() {
    let db = things();
    for list in ["[1, 2]", "{1, 2}", "[1L, 2.0d]"] {
        for (item, there) in [("1", true), ("2", true), ("3", false), ("'1'", false)] {
            let at_label = format!("g.inject({list}).as('a').constant({item})");
            check(&db, &format!("{at_label}.where(within('a'))"), there);
            check(&db, &format!("{at_label}.where(without('a'))"), !there);
            check(&db, &format!("{at_label}.where(within('a')).by().by()"), there);
            check(&db, &format!("{at_label}.as('b').where('b', within('a'))"), there);
            check(&db, &format!("g.withSideEffect('x', {list}).inject({item}).where(within('x'))"), there);
            check(
                &db,
                &format!("g.withSideEffect('x', {list}).inject({item}).where(within('x')).by()"),
                there,
            );
        }
        check(&db, &format!("g.inject({list}).as('a').constant({list}).where(eq('a'))"), true);
        check(&db, &format!("g.inject({list}).as('a').constant([1]).where(neq('a'))"), true);
        check(&db, &format!("g.inject({list}).as('a').constant({list}).where(startingWith('a'))"), false);
    }
    assert_eq!(
        answers(&db, "g.V().values('n').fold().as('a').V().values('m').where(within('a')).order()"),
        ["1", "2", "3"]
    );
}

#[test]
fn what_a_row_has_not_got_leaves_it_out() {
    let db = things();
    for predicate in ["eq", "neq", "within", "without", "notStartingWith", "regex"] {
        for text in [
            format!("g.inject('x').where({predicate}('nobody'))"),
            format!("g.inject('x').where(not({predicate}('nobody')))"),
            format!("g.V().has('t', 'b').as('a').V().has('n', 1).where({predicate}('a')).by('t')"),
            format!("g.V().has('n', 1).as('a').V().has('t', 'b').where(not({predicate}('a'))).by('t')"),
        ] {
            check(&db, &text, false);
        }
    }
}

#[test]
fn a_pattern_that_is_none_is_an_error() {
    let db = things();
    for text in [
        "g.inject('(').as('a').constant('x').where(regex('a'))",
        "g.inject('(').as('a').where(notRegex('a')).by()",
    ] {
        let error = refused(&db, text);
        assert!(error.contains("regex() needs a pattern"), "{text}: {error}");
    }
}
