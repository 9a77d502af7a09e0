//! TinkerPop's "modern" graph: six vertices, six edges, and what TinkerPop's documentation says of them.

use crate::{answers, gremlin};
use evergraph::Database;

/// marko, vadas and josh know each other; lop and ripple were created by marko, josh and peter.
pub fn modern() -> Database {
    let db = crate::database();
    let text = "g.addV('person').property('name', 'marko').property('age', 29).as('marko').
        addV('person').property('name', 'vadas').property('age', 27).as('vadas').
        addV('software').property('name', 'lop').property('lang', 'java').as('lop').
        addV('person').property('name', 'josh').property('age', 32).as('josh').
        addV('software').property('name', 'ripple').property('lang', 'java').as('ripple').
        addV('person').property('name', 'peter').property('age', 35).as('peter').
        addE('knows').from('marko').to('vadas').property('weight', 0.5).
        addE('knows').from('marko').to('josh').property('weight', 1.0).
        addE('created').from('marko').to('lop').property('weight', 0.4).
        addE('created').from('josh').to('ripple').property('weight', 1.0).
        addE('created').from('josh').to('lop').property('weight', 0.4).
        addE('created').from('peter').to('lop').property('weight', 0.2)";
    assert_eq!(gremlin(&db, text, 1024).unwrap().len(), 1);
    db
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(answers(&modern(), text), expected, "{text}");
}

#[test]
fn walks_over_edges() {
    check("g.V().count()", &["6"]);
    check("g.E().count()", &["6"]);
    check("g.V().has('name', 'marko').out('knows').values('name')", &["josh", "vadas"]);
    check("g.V().has('name', 'lop').in().values('name')", &["josh", "marko", "peter"]);
    check("g.V().has('name', 'josh').both().values('name')", &["lop", "marko", "ripple"]);
    check("g.V().has('name', 'josh').bothE().otherV().values('name')", &["lop", "marko", "ripple"]);
    check("g.E().has('weight', gt(0.5)).inV().values('name')", &["josh", "ripple"]);
    check("g.V().hasLabel('software').inE('created').outV().dedup().count()", &["3"]);
    check("g.V().out('nothing')", &[]);
}

#[test]
fn filters() {
    check("g.V().has('age', between(27, 32)).values('name')", &["marko", "vadas"]);
    check("g.V().hasNot('age').values('name')", &["lop", "ripple"]);
    check("g.V().has('name', 'lop').propertyMap()", &["{lang: [p[java]], name: [p[lop]]}"]);
    check("g.V().has('name', 'lop').propertyMap('lang').select('lang').unfold().key()", &["lang"]);
    check("g.E().has('weight', 0.5).propertyMap('weight')", &["{weight: p[0.5]}"]);
    check("g.V().has('person', 'age', inside(27, 35)).values('name')", &["josh", "marko"]);
    check("g.V().has('name', within('lop', 'peter')).values('name')", &["lop", "peter"]);
    check("g.V().values('age').is(gte(32))", &["32", "35"]);
    check("g.V().not(out()).values('name')", &["lop", "ripple", "vadas"]);
    check("g.V().and(out('knows'), out('created')).values('name')", &["marko"]);
    check("g.V().or(has('age', gt(32)), hasLabel('software')).values('name')", &["lop", "peter", "ripple"]);
    check("g.V().where(out('created').count().is(gt(1))).values('name')", &["josh"]);
    check(
        "g.V().as('a').out('created').in('created').where(neq('a')).values('name').dedup()",
        &["josh", "marko", "peter"],
    );
    check("g.V().as('a').out().as('b').where('a', gt('b')).by('age').select('a').by('name')", &["marko"]);
}

#[test]
fn reducers_and_groups() {
    check("g.V().values('age').sum()", &["123"]);
    check("g.V().values('age').mean()", &["30.75"]);
    check("g.V().values('age').min()", &["27"]);
    check("g.V().values('name').max()", &["vadas"]);
    check("g.V().hasLabel('dog').values('age').sum()", &[]);
    check("g.V().hasLabel('dog').count()", &["0"]);
    check("g.V().groupCount().by(label)", &["{person: 4, software: 2}"]);
    check("g.V().group().by(label).by(values('age').sum())", &["{person: 123}"]);
    check("g.V().order().by('name').values('name').limit(2)", &["josh", "lop"]);
    check("g.V().order().by('age', desc).values('name')", &["peter", "josh", "marko", "vadas"]);
    check("g.V().map(out().count()).order()", &["0", "0", "0", "1", "2", "3"]);
    check("g.V().local(outE().limit(1)).count()", &["3"]);
}

#[test]
fn names_and_paths() {
    check(
        "g.V().as('a').out('created').as('b').select('a', 'b').by('name').by('lang').order().by(select('a')).limit(1)",
        &["{a: josh, b: java}"],
    );
    check(
        "g.V().has('name', 'marko').out().out().path().by('name')",
        &["path[marko, josh, lop]", "path[marko, josh, ripple]"],
    );
    check(
        "g.V().has('name', 'marko').both().both().simplePath().values('name')",
        &["josh", "lop", "peter", "ripple"],
    );
    check("g.V().project('n', 'a').by('name').by('age').select('a')", &["27", "29", "32", "35"]);
    check("g.V().aggregate('x').by('name').cap('x').unfold().order().limit(2)", &["josh", "lop"]);
}

#[test]
fn branches_and_repeats() {
    check("g.V().has('name', 'marko').repeat(out()).times(2).values('name')", &["lop", "ripple"]);
    check(
        "g.V().has('name', 'marko').repeat(out()).emit().values('name')",
        &["josh", "lop", "lop", "ripple", "vadas"],
    );
    check(
        "g.V().has('name', 'marko').emit().repeat(out()).times(1).values('name')",
        &["josh", "lop", "marko", "vadas"],
    );
    check(
        "g.V().has('name', 'marko').repeat(out()).until(has('lang', 'java')).values('name')",
        &["lop", "lop", "ripple"],
    );
    check("g.V().repeat(both()).times(10).count()", &["34446"]);
    check("g.V().hasLabel('person').union(out('knows'), out('created')).count()", &["6"]);
    check(
        "g.V().coalesce(out('knows'), out('created')).values('name').dedup()",
        &["josh", "lop", "ripple", "vadas"],
    );
    check("g.V().choose(hasLabel('person'), values('age'), values('lang')).fold().count(local)", &["6"]);
    check(
        "g.V().hasLabel('person').optional(out('knows')).values('name')",
        &["josh", "josh", "peter", "vadas", "vadas"],
    );
}

#[test]
fn writes_are_seen_by_the_traversal_that_wrote_them() {
    let db = modern();
    let added = "g.V().has('name', 'marko').property('age', 30).values('age')";
    assert_eq!(gremlin(&db, added, 1024).unwrap()[0].as_value().and_then(evergraph::Value::as_i64), Some(30));
    gremlin(&db, "g.V().has('name', 'peter').drop()", 1024).unwrap();
    assert_eq!(answers(&db, "g.V().count()"), ["5"]);
    assert_eq!(answers(&db, "g.E().count()"), ["5"]);
}

#[test]
fn an_index_answers_what_a_scan_does() {
    let db = modern();
    let asked = [
        "g.V().has('person', 'age', 29).values('name')",
        "g.V().has('age', 32L).values('name')",
        "g.V().has('age', 29.5).values('name')",
        "g.V().has('person', 'age', within(27, 35, 99)).values('name')",
        "g.V().has('name', within('lop', 'josh')).has('lang', 'java').values('name')",
        "g.V().hasLabel('software').has('age', 29)",
    ];
    let before: Vec<_> = asked.iter().map(|text| answers(&db, text)).collect();
    for key in ["age", "name"] {
        let options = evergraph::IndexOptions::on_label("person", key);
        db.create_index(&options).unwrap();
    }
    let options = evergraph::IndexOptions::on_label("software", "name");
    db.create_index(&options).unwrap();
    let after: Vec<_> = asked.iter().map(|text| answers(&db, text)).collect();
    assert_eq!(before, after);
    assert_eq!(before[0], ["marko"]);
    assert_eq!(before[3], ["peter", "vadas"]);
    assert_eq!(before[4], ["lop"]);
}
