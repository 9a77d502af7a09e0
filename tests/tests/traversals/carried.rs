//! Sacks, and barriers that make one traverser of several.

use crate::modern::modern;
use crate::{answers, gremlin};

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(answers(&modern(), text), expected, "{text}");
}

#[test]
fn a_sack_goes_along_and_is_changed_by_an_operator() {
    check("g.withSack(0.0).V().outE().sack(sum).by('weight').inV().sack().sum()", &["3.5"]);
    check("g.withSack(1).V().has('name', 'marko').out().sack(mult).by(constant(2)).sack()", &["2", "2", "2"]);
    check(
        "g.withSack(0).V().has('name', 'marko').repeat(out().sack(sum).by(constant(1))).times(2).sack()",
        &["2", "2"],
    );
    // What has nothing to be added is left out, and a sack that nobody gave is null.
    check("g.withSack(0).V().sack(sum).by('age').sack()", &["27", "29", "32", "35"]);
    check("g.V().has('name', 'lop').sack()", &["null"]);
    check("g.withSack(7).V().count().sack()", &["7"]);
}

#[test]
fn a_child_sees_the_sack_and_only_local_changes_it() {
    check("g.withSack(5).V().has('name', 'lop').map(sack())", &["5"]);
    check(
        "g.withSack(0).V().has('name', 'marko').local(out('knows').sack(sum).by('age')).sack()",
        &["27", "32"],
    );
    check(
        "g.withSack(0).V().has('age').sack(sum).by('age').where(sack().is(gt(30))).values('name')",
        &["josh", "peter"],
    );
}

#[test]
fn a_barrier_merges_where_an_operator_says_how() {
    check("g.withBulk(false).withSack(1, sum).V().out().barrier().sack()", &["1", "1", "1", "3"]);
    check("g.withSack(1, sum).V().out().barrier().sack()", &["1", "1", "1", "3", "3", "3"]);
    check("g.withSack(1).V().out().barrier().sack()", &["1", "1", "1", "1", "1", "1"]);
    check("g.withBulk(false).V().out().barrier().count()", &["4"]);
    check(
        "g.withSack(1.0, sum).V().has('name', 'marko').local(outE('knows').barrier(normSack).inV()).
            in('knows').barrier().sack()",
        &["1.0", "1.0"],
    );
    check("g.withSack(3).V().out('created').barrier(normSack).sack()", &["0.25", "0.25", "0.25", "0.25"]);
}

#[test]
fn a_loop_merges_no_rows_whose_sacks_a_barrier_would_add_up() {
    // Four ways of two steps lead back from marko to himself and the two that he knows are apart.
    let walk = "g.withSack(1, sum).V().has('name', 'marko').both().both().barrier().sack()";
    let looped = "g.withSack(1, sum).V().has('name', 'marko').repeat(both()).times(2).barrier().sack()";
    assert_eq!(answers(&modern(), walk), answers(&modern(), looped));
    assert!(answers(&modern(), walk).contains(&"3".to_owned()));
}

#[test]
fn a_sack_has_one_by() {
    let text = "g.V().sack(assign).by('age').by('name')";
    let error = gremlin(&modern(), text, 1024).map(|items| items.len()).unwrap_err().to_string();
    assert!(error.contains("Sack step can only have one by modulator"), "{error}");
}
