//! `match()`: patterns that names fulfil together, held against walks that say the same.

use crate::modern::modern;
use crate::{answers, gremlin};
use evergraph::Database;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(answers(&modern(), text), expected, "{text}");
}

/// Twelve vertices with parallel edges of two types and loops, made from a fixed rule.
fn tangle() -> Database {
    let db = crate::database();
    let added = db.transact(|transaction| {
        let mut vertices = Vec::new();
        for number in 0..12_i64 {
            vertices.push(transaction.add_vertex("n", &[("number", number.into())])?);
        }
        let mut state = 7_u64;
        for at in 0..60 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let [from, to] = [state >> 33, state >> 45].map(|bits| vertices[bits as usize % 12]);
            transaction.add_edge(from, if at % 3 == 0 { "b" } else { "a" }, to, &[])?;
        }
        Ok(())
    });
    added.unwrap();
    db
}

/// Both must give the same on a graph with parallel edges and loops, and something.
#[track_caller]
fn check_same(pattern: &str, walk: &str) {
    let db = tangle();
    let [found, expected] = [pattern, walk].map(|text| answers(&db, text));
    assert_eq!(found, expected, "{pattern} against {walk}");
    assert!(found.iter().any(|answer| *answer != "0"), "{pattern} finds nothing, and so shows nothing");
}

#[test]
fn both_ends_known_counts_each_edge_between_them() {
    check_same(
        "g.V().match(as('a').out().as('b'), as('b').out().as('c'), as('a').out().as('c')).count()",
        "g.V().as('a').out().as('b').out().as('c').in().where(eq('a')).count()",
    );
    check_same(
        "g.V().match(as('a').out('a').as('b'), as('b').both().as('a')).select('a', 'b').by('number').by('number')",
        "g.V().as('a').out('a').as('b').both().where(eq('a')).select('a', 'b').by('number').by('number')",
    );
    check_same(
        "g.V().match(as('a').in('a', 'b').as('b'), as('b').in('b').as('a')).count()",
        "g.V().as('a').in('a', 'b').as('b').in('b').where(eq('a')).count()",
    );
    check_same("g.V().match(as('a').both().as('a')).count()", "g.V().as('a').both().where(eq('a')).count()");
}

#[test]
fn edges_between_known_ends_stay_apart_where_sacks_are_merged() {
    check_same(
        "g.withBulk(false).withSack(1, sum).V().match(as('a').out().as('b'), as('b').out('a').as('a')).barrier().sack().sum()",
        "g.withSack(1, sum).V().as('a').out().as('b').out('a').where(eq('a')).sack().sum()",
    );
}

#[test]
fn what_a_row_brings_along_is_known() {
    check("g.V().as('b').match(as('a').out().as('b')).count()", &["0"]);
    check("g.V().as('a').out().as('b').match(as('a').out('created').as('b')).count()", &["4"]);
    check(
        "g.V().as('a').out('created').as('b').match(as('b').in('created').as('c'), as('a').out('knows').as('c')).
            select('a', 'c').by('name')",
        &["{a: marko, c: josh}"],
    );
    // Some rows bring `b` along, some don't.
    check(
        "g.V().has('name', 'marko').as('a').union(identity(), out('knows').as('b').in('knows')).
            match(as('a').out('knows').as('b')).select('b').by('name')",
        &["josh", "josh", "vadas", "vadas"],
    );
}

#[test]
fn and_or_where_and_not_ask_what_they_are_about() {
    check(
        "g.V().match(as('a').out('created').as('b'), not(as('a').out('knows'))).select('a', 'b').by('name')",
        &["{a: josh, b: lop}", "{a: josh, b: ripple}", "{a: peter, b: lop}"],
    );
    check(
        "g.V().match(where('a', neq('c')), as('a').out('created').as('b'), as('b').in('created').as('c')).count()",
        &["6"],
    );
    // Of several that are fulfilled each comes.
    check(
        "g.V().match(or(as('a').out('knows').as('b'), as('a').out('created').as('b'), as('a').out('knows').as('b'))).
            select('b').by('name')",
        &["josh", "josh", "lop", "lop", "lop", "ripple", "vadas", "vadas"],
    );
    check(
        "g.V().match(as('a').out('knows').as('b').and().as('b').out('created').as('c')).select('c').by('name')",
        &["lop", "ripple"],
    );
}

#[test]
fn a_pattern_may_reduce_and_may_be_a_match_itself() {
    check(
        "g.V().match(as('a').out().count().as('n'), as('a').in().count().as('n')).select('a').by('name')",
        &[],
    );
    check(
        "g.V().match(as('a').out('created').as('b'), as('b').in('created').count().as('n')).
            select('b', 'n').by('name').by().dedup()",
        &["{b: lop, n: 3}", "{b: ripple, n: 1}"],
    );
    check(
        "g.V().match(as('a').out('knows').as('b'),
            as('b').match(as('b').out('created').as('d'), as('d').in('created').as('c')).select('c').as('c')).
            select('c').by('name')",
        &["josh", "josh", "marko", "peter"],
    );
}

#[test]
fn a_path_has_what_each_pattern_met_under_its_name() {
    check(
        "g.V().has('name', 'marko').match(as('a').out('knows').as('b'), as('b').out('created').as('c')).
            select(all, 'c').unfold().values('name')",
        &["lop", "ripple"],
    );
}

#[test]
fn patterns_that_nothing_leads_to_are_refused() {
    let refused =
        |text: &str| gremlin(&modern(), text, 1024).map(|items| items.len()).unwrap_err().to_string();
    let unsolvable = refused("g.V().match(as('a').out().as('b'), as('c').out().as('d'))");
    assert!(unsolvable.contains("The provided match pattern is unsolvable"), "{unsolvable}");
    let late = refused("g.V().as('c').match(as('c').out().as('d'), as('a').out().as('b'))");
    assert!(late.contains("The provided match pattern is unsolvable"), "{late}");
    let bare = refused("g.V().match(out().as('b'))");
    assert!(bare.contains("begins with as()"), "{bare}");
}
