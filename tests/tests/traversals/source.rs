//! What stands before `V()` besides strategies, and what folds by an operator.

use crate::modern::modern;
use crate::{answers, gremlin};

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(answers(&modern(), text), expected, "{text}");
}

#[test]
fn a_side_effect_begins_with_what_it_is_given() {
    for (given, ages) in [
        ("1, sum", "124"),
        ("200, minus", "77"),
        ("2, mult", "1753920"),
        ("876960, div", "1"),
        ("28, min", "27"),
        ("30, max", "35"),
        ("100, max", "100"),
        ("1, sumLong", "124"),
    ] {
        check(&format!("g.withSideEffect('a', {given}).V().aggregate('a').by('age').cap('a')"), &[ages]);
        check(
            &format!("g.withSideEffect('a', {given}).V().local(aggregate('a').by('age')).cap('a')"),
            &[ages],
        );
    }
    check("g.withSideEffect('a', true, and).V().constant(false).aggregate('a').cap('a')", &["false"]);
    check("g.withSideEffect('a', false, or).V().constant(true).aggregate('a').cap('a')", &["true"]);
    check("g.withSideEffect('a', [1], addAll).V().limit(1).constant(2).aggregate('a').cap('a')", &["[1, 2]"]);
    check("g.withSideEffect('a', [1]).inject(2, 3).aggregate('a').cap('a')", &["[1, 2, 3]"]);
    // Each once, and as a set.
    check("g.withSideEffect('a', {1, 2}).inject(2, 3, 3).aggregate('a').cap('a')", &["{1, 2, 3}"]);
    check("g.withSideEffect('a', [1], assign).inject(2, 3).aggregate('a').cap('a')", &["[2, 3]"]);
    check("g.withSideEffect('a', [1], assign).inject(2, 3).local(aggregate('a')).cap('a')", &["[3]"]);
    check("g.withSideEffect('a', 5, sum).V().has('name', 'nobody').aggregate('a').cap('a')", &["5"]);
    // What is said last of a name holds.
    check("g.withSideEffect('a', 1, sum).withSideEffect('a', 2).inject(0).select('a')", &["2"]);
}

#[test]
fn folding_by_an_operator_begins_with_a_seed() {
    check("g.V().values('age').fold(0, sum)", &["123"]);
    check("g.V().values('age').fold(1.5, mult)", &["1315440.0"]);
    check("g.V().has('name', 'nobody').values('age').fold(7, sum)", &["7"]);
    check("g.inject([a: 1], [b: 2], [b: 4]).fold([:], addAll)", &["{a: 1, b: 4}"]);
    check("g.V().group().by(label).by(values('age').fold(0, sum)).select('software')", &["0"]);
    // Those that stand for several count as often.
    check(
        "g.V().both().both().values('age').fold(0, sum)",
        &answers(&modern(), "g.V().both().both().values('age').sum()")
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
    );
    let error = gremlin(&modern(), "g.V().fold(0, sum)", 3).unwrap_err().to_string();
    assert!(error.contains("a number is needed"), "{error}");
}

#[test]
fn nothing_comes_of_what_is_discarded_and_all_of_it_is_done() {
    check("g.V().discard()", &[]);
    check("g.V().discard().fold()", &["[]"]);
    check("g.V().coalesce(values('age').is(gt(29)), discard())", &["32", "35"]);
    let db = modern();
    assert_eq!(gremlin(&db, "g.V().addV('copy').discard()", 3).unwrap().len(), 0);
    assert_eq!(answers(&db, "g.V().hasLabel('copy').count()"), ["6"]);
}

#[test]
fn options_say_how_a_query_is_run() {
    check("g.with('evaluationTimeout', 60000).with('x').V().count()", &["6"]);
    for text in [
        "g.with('evaluationTimeout', 0).V().repeat(both()).times(10).count()",
        "g.withStrategies(new OptionsStrategy(evaluationTimeout: 0)).V().repeat(both()).times(10).count()",
    ] {
        let error = gremlin(&modern(), text, 1024).unwrap_err().to_string();
        assert!(error.contains("longer than its timeout of 0 s"), "{text}: {error}");
    }
    check("g.withPath().withBulk(true).V().out().count()", &["6"]);
}
