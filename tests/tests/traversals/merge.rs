//! `mergeV()` and `mergeE()`: with an index and without, twice in a transaction, and by two transactions at once.

use crate::{answers, gremlin, refused, run_in};
use evergraph::graph::error::ErrorKind;
use evergraph::{Database, IndexOptions, Isolation};

const ADA: &str = "g.mergeV([(T.label): 'person', name: 'Ada'])";

/// What `text` gives, on a database where each size of batches begins anew.
#[track_caller]
fn check(before: &str, text: &str, then: &[(&str, &[&str])]) {
    for batch_rows in [1, 3, 1024] {
        let db = crate::database();
        if !before.is_empty() {
            gremlin(&db, before, batch_rows).unwrap();
        }
        gremlin(&db, text, batch_rows).unwrap_or_else(|error| panic!("{text}: {error}"));
        for (question, expected) in then {
            assert_eq!(answers(&db, question), *expected, "{text}, batches of {batch_rows}: {question}");
        }
    }
}

#[test]
fn a_row_finds_what_the_row_before_added() {
    let names = "g.inject('a', 'b', 'a', 'c', 'b').as('n').map(project('name').by())";
    check(
        "",
        &format!("{names}.mergeV()"),
        &[("g.V().count()", &["3"]), ("g.V().values('name')", &["a", "b", "c"])],
    );
    let twice = format!("{ADA}.mergeV([(T.label): 'person', name: 'Ada']).option(Merge.onMatch, [seen: 2])");
    check("", &twice, &[("g.V().count()", &["1"]), ("g.V().values('seen')", &["2"])]);
}

#[test]
fn a_row_finds_what_later_steps_wrote_for_the_row_before() {
    // The second row no longer finds the vertex of the first, which has another name by then.
    let text = "g.inject(1, 2).mergeV([name: 'a']).property('name', 'b')";
    check("", text, &[("g.V().values('name')", &["b", "b"])]);
    // The first row doesn't find what addV() adds for the second.
    for batch_rows in [1, 3, 1024] {
        let db = crate::database();
        let found = gremlin(&db, "g.inject(1, 2).addV('x').mergeV([(T.label): 'x'])", batch_rows).unwrap();
        assert_eq!(found.len(), 3, "batches of {batch_rows}");
    }
}

#[test]
fn a_null_stands_for_a_property_that_is_not_there() {
    let text = "g.inject(1, 2).mergeV([(T.label): 'person', name: 'Ada', age: null])";
    check("", text, &[("g.V().count()", &["1"]), ("g.V().hasNot('age').count()", &["1"])]);
    check("g.addV('person').property('age', 1)", "g.mergeV([age: null])", &[("g.V().count()", &["2"])]);
}

#[test]
fn an_index_finds_what_a_scan_finds() {
    for indexed in [false, true] {
        let db = crate::database();
        gremlin(&db, "g.addV('person').property('name', 'Ada').addV('person').property('name', 'Bo')", 3)
            .unwrap();
        if indexed {
            db.create_index(&IndexOptions::on_label("person", "name")).unwrap();
        }
        let text = "g.inject('Ada', 'Eve', 'Ada', 'Eve').as('n').
            mergeV(__.project('name').by()).option(Merge.onCreate, [(T.label): 'person', new: true]).
            option(Merge.onMatch, [met: true])";
        assert_eq!(gremlin(&db, text, 1024).unwrap().len(), 4, "indexed: {indexed}");
        assert_eq!(answers(&db, "g.V().values('name')"), ["Ada", "Bo", "Eve"], "indexed: {indexed}");
        assert_eq!(answers(&db, "g.V().has('met').values('name')"), ["Ada", "Eve"], "indexed: {indexed}");
        assert_eq!(answers(&db, "g.V().has('new').values('name')"), ["Eve"], "indexed: {indexed}");
    }
}

#[test]
fn edges_are_merged_between_two_vertices_or_at_one() {
    let before = "g.addV('person').property('name', 'a').as('a').addV('person').property('name', 'b').as('b').
        addE('knows').from('a').to('b').property('since', 1).addE('knows').from('a').to('b').property('since', 2)";
    let ends = "g.V().has('name', 'a').as('a').V().has('name', 'b').as('b')";
    let options = "option(Merge.outV, select('a')).option(Merge.inV, select('b'))";
    let merge =
        |map: &str| format!("{ends}.mergeE([(T.label): 'knows', (OUT): Merge.outV, {map}]).{options}");
    let count = "g.E().count()";
    // Parallel edges are told apart by their properties, and all that fit are found.
    check(before, &merge("(IN): Merge.inV, since: 2"), &[(count, &["2"])]);
    check(
        before,
        &merge("(IN): Merge.inV, since: 3"),
        &[(count, &["3"]), ("g.E().values('since')", &["1", "2", "3"])],
    );
    let met = format!("{}.option(Merge.onMatch, [met: 1])", merge("(IN): Merge.inV"));
    check(before, &met, &[(count, &["2"]), ("g.E().values('met')", &["1", "1"])]);
    // One end alone finds, and can't add.
    check(
        before,
        &format!("{}.option(Merge.onMatch, [met: 1])", merge("since: 1")),
        &[("g.E().values('met')", &["1"])],
    );
    let db = crate::database();
    gremlin(&db, before, 3).unwrap();
    assert!(refused(&db, &merge("since: 7")).contains("In Vertex not specified in onCreate"));
    let nobody = "g.mergeE([(T.label): 'knows', (OUT): 0, (IN): 999])";
    assert!(refused(&db, nobody).contains("Vertex id could not be resolved from mergeE: 999"));
    assert!(
        refused(&db, "g.mergeE([(OUT): Merge.outV, (IN): 0])").contains("option(outV) must be specified")
    );
}

#[test]
fn what_a_merge_may_not_say_is_refused_before_it_writes() {
    let db = crate::database();
    gremlin(&db, ADA, 3).unwrap();
    let says = |text: &str, message: &str| {
        let error = refused(&db, text);
        assert!(error.contains(message), "{text}: {error}");
    };
    says(
        "g.mergeV([name: 'Ada']).option(Merge.onCreate, [name: 'Eve'])",
        "option(onCreate) cannot override values from merge() argument",
    );
    says(
        "g.mergeV([name: 'Ada']).option(Merge.onMatch, [(T.label): 'x'])",
        "option(onMatch) expects keys in Map",
    );
    says("g.mergeV([(T.id): 77])", "does not support user supplied identifiers");
    says("g.mergeV(__.constant(1))", "mergeV() needs a map, and its traversal gives a value of type int");
    says("g.inject(1).mergeV(__.is(2))", "mergeV() needs a map, and its traversal gives nothing");
    says(
        "g.V().as('a').mergeE([(T.id): '9-9-9-9', (OUT): Merge.outV, (IN): Merge.outV])",
        "Only Merge.inV token may be used for Direction.IN",
    );
    says("g.inject(1).mergeV([:]).option(Merge.outV, [:])", "are for mergeE()");
    assert_eq!(answers(&db, "g.V().count()"), ["1"]);
}

/// Two transactions merge the same vertex, and the first commits before the second.
fn both_merge(db: &Database, isolation: Isolation) -> Result<(), ErrorKind> {
    let (mut first, mut second) = (db.begin_with(isolation), db.begin_with(isolation));
    assert_eq!(run_in(&mut first, ADA).unwrap().len(), 1);
    let merged = run_in(&mut second, ADA);
    first.commit().unwrap();
    merged.and_then(|_| second.commit()).map(drop).map_err(|error| error.kind())
}

#[test]
fn of_two_that_merge_the_same_at_once_one_fails_where_serialisable_or_unique() {
    let count = |db: &Database| answers(db, "g.V().count()");
    // With an index the look-up is what was read, without one the label.
    for indexed in [false, true] {
        let db = crate::database();
        gremlin(&db, "g.addV('person').property('name', 'Bo')", 3).unwrap();
        if indexed {
            db.create_index(&IndexOptions::on_label("person", "name")).unwrap();
        }
        assert_eq!(both_merge(&db, Isolation::Serializable), Err(ErrorKind::Conflict), "indexed: {indexed}");
        assert_eq!(count(&db), ["2"], "indexed: {indexed}");
        // Who runs it again finds what the other added.
        db.transact_with(Isolation::Serializable, |tx| run_in(tx, ADA)).unwrap();
        assert_eq!(count(&db), ["2"], "indexed: {indexed}");
    }
    let db = crate::database();
    gremlin(&db, "g.addV('person').property('name', 'Bo')", 3).unwrap();
    assert_eq!(both_merge(&db, Isolation::Snapshot), Ok(()));
    assert_eq!(count(&db), ["3"], "snapshots don't see each other");
    let db = crate::database();
    gremlin(&db, "g.addV('person').property('name', 'Bo')", 3).unwrap();
    db.create_unique_index("person", "name").unwrap();
    assert_eq!(both_merge(&db, Isolation::Snapshot), Err(ErrorKind::Conflict));
    assert_eq!(count(&db), ["2"]);
}

#[test]
fn with_an_index_a_merge_reads_its_value_alone() {
    for indexed in [false, true] {
        let db = crate::database();
        gremlin(&db, "g.addV('person').property('name', 'Bo')", 3).unwrap();
        if indexed {
            db.create_index(&IndexOptions::on_label("person", "name")).unwrap();
        }
        let mut merging = db.begin_with(Isolation::Serializable);
        run_in(&mut merging, ADA).unwrap();
        gremlin(&db, "g.addV('person').property('name', 'Eve')", 3).unwrap();
        // Without an index the whole label was read, and Eve is new in it.
        assert_eq!(merging.commit().is_ok(), indexed, "indexed: {indexed}");
    }
}
