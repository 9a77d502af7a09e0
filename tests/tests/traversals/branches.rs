//! `branch()`, what is gathered aside, and where edges came from.

use crate::modern::modern;
use crate::{answers, gremlin};
use evergraph::Item;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(answers(&modern(), text), expected, "{text}");
}

#[test]
fn a_branch_takes_all_options_that_fit() {
    check(
        "g.V().has('age').branch(values('age')).option(lt(30), constant('young')).option(gt(28), constant('old')).
            option(none, constant('neither'))",
        &["old", "old", "old", "young", "young"],
    );
    check(
        "g.V().branch(label()).option('person', values('age')).option(any, constant('x')).option(none, values('lang'))",
        &["27", "29", "32", "35", "java", "java", "x", "x", "x", "x", "x", "x"],
    );
    // An option by what a traversal gives; what one makes of many it makes of all.
    check(
        "g.V().branch(identity()).option(hasLabel('software'), in().count()).option(none, count())",
        &["4", "4"],
    );
    check("g.V().branch(values('age')).option(unproductive, values('lang'))", &["java", "java"]);
}

#[test]
fn nothing_comes_of_a_branch_that_nothing_came_to() {
    check("g.V().has('age', 99).union(count(), group().by(label), fold())", &[]);
    check(
        "g.V().has('name', 'marko').map(union(has('age', 99).union(count(), out().count()), constant(7)))",
        &["7"],
    );
    check("g.V().hasLabel('software').union(has('age', 99).count(), count())", &["0", "2"]);
    // Of a group of nothing there would be no count of characters.
    check("g.V().limit(1).choose(constant(0), constant(1), fold().count(local).toUpper())", &["1"]);
}

#[test]
fn what_was_gathered_is_found_whatever_it_is() {
    let known = "g.V().has('name', 'marko').aggregate('x').out().aggregate('x')";
    check(&format!("{known}.in().dedup().where(without('x')).values('name')"), &["peter"]);
    check(&format!("{known}.in().dedup().where(within('x')).values('name')"), &["josh", "marko"]);
    check(
        "g.V().values('age').aggregate('x').inject(29.0d, 5, 'marko').where(within('x')).dedup().count()",
        &["4"],
    );
    check("g.V().aggregate('x').inject(1, 'v').where(within('x')).count()", &["6"]);
    check("g.E().hasLabel('created').aggregate('x').inV().inE().where(without('x')).count()", &["0"]);
}

#[test]
fn a_key_that_a_map_lacks_is_null() {
    check("g.V().limit(2).groupCount().by(label).aggregate('x').by('robot').cap('x').count(local)", &["1"]);
    check("g.V().groupCount().by(label).path().by('age').count()", &["1"]);
    check("g.V().hasLabel('software').limit(1).groupCount().by(label).map(path().by(coalesce(select('robot'), constant(5))))
        .count()", &["1"]);
    // Of an element it is missing.
    check("g.V().hasLabel('software').path().by('age')", &[]);
}

#[test]
fn what_a_repeat_has_already_begins_the_next_one() {
    let twice = "g.V().has('name', 'marko').repeat(out()).emit().times(1).emit().repeat(out()).times(1).values('name')";
    check(twice, &["josh", "lop", "lop", "ripple", "vadas"]);
    check("g.V().has('name', 'marko').repeat(out()).times(1).times(2).values('name')", &["lop", "ripple"]);
}

#[test]
fn of_several_options_for_the_rest_the_first_counts() {
    check(
        "g.V().has('age').choose(values('age')).option(29, constant('a')).option(none, constant('b')).option(none, fail())",
        &["a", "b", "b", "b"],
    );
}

#[test]
fn a_subgraph_has_its_edges_and_their_ends() {
    for batch_rows in [1, 3, 1024] {
        let text = "g.V().has('name', 'marko').outE('knows').subgraph('x').inV().cap('x')";
        let found = gremlin(&modern(), text, batch_rows).unwrap();
        let [Item::Graph(graph)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((graph.vertices().len(), graph.edges().len()), (3, 2));
        let none = gremlin(&modern(), "g.E().hasLabel('no').subgraph('x').cap('x')", batch_rows).unwrap();
        assert!(matches!(none.as_slice(), [Item::Graph(graph)] if graph.edges().len() == 0), "{none:?}");
    }
    let error = gremlin(&modern(), "g.V().subgraph('x')", 1024).map(|items| items.len()).unwrap_err();
    assert!(error.to_string().contains("subgraph() gathers edges, but found a vertex"), "{error}");
}

#[test]
fn an_edge_knows_where_it_came_from_behind_a_child() {
    check(
        "g.V().coalesce(outE('knows'), outE('created')).otherV().values('name')",
        &["josh", "lop", "lop", "ripple", "vadas"],
    );
    check("g.V().has('name', 'josh').flatMap(bothE()).otherV().values('name')", &["lop", "marko", "ripple"]);
}

/// Equal rows of a wave are merged: one stands for three.
#[test]
fn rows_that_a_child_merged_count_as_often_as_they_came() {
    let twice = ["josh", "lop", "marko", "marko", "marko", "peter", "ripple"];
    for child in ["repeat(both()).times(2)", "both().both().barrier()", "both().barrier().both()"] {
        for step in ["local", "flatMap", "coalesce", "optional", "union"] {
            check(&format!("g.V().has('name', 'marko').{step}(__.{child}).values('name')"), &twice);
        }
        check(&format!("g.V().has('name', 'marko').choose(has('age'), __.{child}).values('name')"), &twice);
        check(&format!("g.V().has('name', 'marko').flatMap(flatMap(__.{child})).count()"), &["7"]);
        check(&format!("g.V().has('name', 'marko').coalesce(flatMap(__.{child})).count()"), &["7"]);
        check(&format!("g.V().has('name', 'marko').map(__.{child}).count()"), &["1"]);
        // Rows that are several before, too: three times those of marko.
        check(
            &format!("g.V().in('created').has('name', 'josh').barrier().flatMap(__.{child}).count()"),
            &["14"],
        );
    }
}

#[test]
fn a_loop_asks_what_it_gathers_only_at_its_end() {
    check(
        "g.V().has('name', 'marko').repeat(bothE('created').where(without('e')).aggregate('e').otherV()).emit().values('name')",
        &["josh", "lop", "peter", "ripple"],
    );
}

#[test]
fn a_name_may_come_of_a_traversal() {
    check(
        "g.V().has('age').as('a').group('m').by().by(bothE().count()).select('m').select(select('a'))",
        &["1", "1", "3", "3"],
    );
    check("g.V().has('name', 'vadas').as('a').in().as('a').select(all, constant('a')).count(local)", &["2"]);
}

#[test]
fn null_is_no_value() {
    let db = modern();
    gremlin(&db, "g.V().has('name', 'marko').property('age', null)", 1024).unwrap();
    assert_eq!(answers(&db, "g.V().has('person', 'age', null).values('name')"), ["marko"]);
    assert_eq!(answers(&db, "g.V().has('name', null)"), Vec::<String>::new());
}

#[test]
fn all_are_asked_before_any_is_gathered() {
    check("g.V().values('lang').where(without('x')).aggregate('x')", &["java", "java"]);
}

#[test]
fn where_looks_into_a_map_before_it_looks_at_names() {
    check(
        "g.V().project('in', 'out').by(inE().count()).by(outE().count()).where('in', gt('out'))",
        &["{in: 1, out: 0}", "{in: 1, out: 0}", "{in: 3, out: 0}"],
    );
    check("g.V().has('name', 'lop').as('a').project('b').by(identity()).where('b', eq('a')).count()", &["1"]);
    check("g.V().project('a', 'b').by('name').by('name').where('a', eq('b')).by(length()).count()", &["6"]);
}

#[test]
fn an_edge_may_end_at_a_vertex_that_is_named_aside_or_by_its_id() {
    let db = modern();
    gremlin(&db, "g.withSideEffect('b', 1).V().has('name', 'lop').addE('likes').to('b')", 1024).unwrap();
    gremlin(&db, "g.V().has('name', 'lop').addE('likes').to(V().has('name', 'josh').id())", 1024).unwrap();
    assert_eq!(answers(&db, "g.V().has('name', 'lop').out('likes').values('name')"), ["josh", "vadas"]);
    let error = gremlin(&db, "g.V().has('name', 'lop').addE('likes').to(constant(99))", 1024)
        .map(|found| found.len());
    assert!(error.unwrap_err().to_string().contains("must resolve to a Vertex or the ID of a Vertex"));
}

#[test]
fn keys_that_are_tokens_stand_among_the_texts() {
    let second = "g.V().has('name', 'marko').elementMap().order(local).by(keys).unfold().limit(2).tail(1)";
    check(&format!("{second}.select(values)"), &["0"]);
    let last =
        "g.V().has('name', 'marko').elementMap().order(local).by(keys, desc).unfold().limit(2).tail(1)";
    check(&format!("{last}.select(values)"), &["person"]);
}

#[test]
fn properties_of_edges_are_ordered_by_the_names_of_their_keys() {
    let db = modern();
    gremlin(&db, "g.E().has('weight', 0.5).property('a', 7)", 1024).unwrap();
    assert_eq!(answers(&db, "g.E().has('weight', 0.5).properties().order().value()"), ["7", "0.5"]);
}

/// Of one row, a branch that waited for its end came behind the others: `map()` took the result of the second.
#[test]
fn results_of_one_row_come_branch_by_branch() {
    for (text, expected) in [
        ("g.V(0).map(union(out().count(), constant('x')))", "3"),
        ("g.V(0).map(union(out().count(), constant('x')).fold())", "[3, x]"),
        ("g.V(0).flatMap(union(out().count(), constant('x'))).fold()", "[3, x]"),
        ("g.V(0).order().flatMap(union(out().count(), constant('x'))).fold()", "[3, x]"),
        ("g.V(0).local(union(out().count(), constant('x')).limit(1))", "3"),
        (
            "g.V(0).local(union(repeat(out('created')).times(1).values('name'), constant('x')).fold())",
            "[lop, x]",
        ),
        ("g.V(0).project('a').by(union(out().count(), constant('x')).fold())", "{a: [3, x]}"),
        ("g.V(0).group().by(label()).by(union(count(), constant('x')).fold())", "{person: [1, x]}"),
        ("g.V(0).map(union(constant('x'), out().count()).fold())", "[x, 3]"),
        ("g.V(0).map(union(out(), in()).count())", "3"),
    ] {
        check(text, &[expected]);
    }
}
