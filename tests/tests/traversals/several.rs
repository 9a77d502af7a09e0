//! Several values of a key: properties of type list and set.

use crate::{answers, gremlin, refused};
use evergraph::graph::value::collection::List;
use evergraph::{Database, Value};

fn made(texts: &[&str]) -> Database {
    let db = crate::database();
    for text in texts {
        gremlin(&db, text, 3).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    db
}

#[test]
fn each_element_of_a_list_is_a_property() {
    let db = made(&["g.addV('p').property(list, 'k', 1).property(list, 'k', 2).property(list, 'k', 2)"]);
    assert_eq!(answers(&db, "g.V().values('k')"), ["1", "2", "2"]);
    assert_eq!(answers(&db, "g.V().properties('k').count()"), ["3"]);
    assert_eq!(answers(&db, "g.V().valueMap()"), ["{k: [1, 2, 2]}"]);
    assert_eq!(answers(&db, "g.V().elementMap('k').select('k')"), ["2"]);
    assert_eq!(answers(&db, "g.V().has('k', 2).count()"), ["1"], "a vertex passes once");
    assert_eq!(answers(&db, "g.V().has('k', 3).count()"), ["0"]);
    assert_eq!(answers(&db, "g.V().properties('k').element().dedup().count()"), ["1"]);
    assert!(refused(&db, "g.V().order().by('k')").contains("Multiple properties exist for the provided key"));
}

#[test]
fn a_set_has_no_value_twice() {
    let db =
        made(&["g.addV('p').property(set, 'k', 2).property(set, 'k', 1)", "g.V().property(set, 'k', 2)"]);
    assert_eq!(answers(&db, "g.V().values('k')"), ["1", "2"]);
    // To a list a set's value joins unless it is there.
    let db =
        made(&["g.addV('p').property(list, 'k', 2)", "g.V().property(set, 'k', 2).property(set, 'k', 3)"]);
    assert_eq!(answers(&db, "g.V().values('k')"), ["2", "3"]);
}

#[test]
fn without_a_cardinality_the_type_decides() {
    let list = "g.addV('p').property(list, 'k', 1)";
    let values = |text: &str| answers(&made(&[list, text]), "g.V().values('k')");
    assert_eq!(values("g.V().property('k', 2)"), ["1", "2"]);
    assert_eq!(values("g.V().property(single, 'k', 2)"), ["2"]);
    assert_eq!(values("g.V().property('k', [3, 4])"), ["3", "4"]);
    assert_eq!(values("g.V().property('k', null)"), Vec::<String>::new());
    assert_eq!(values("g.V().property(['k': Cardinality.list(1)])"), ["1", "1"]);
    assert_eq!(values("g.V().property(set, ['k': 1])"), ["1"]);
}

#[test]
fn one_value_is_dropped_and_the_others_stay() {
    let db = made(&["g.addV('p').property(list, 'k', 1).property(list, 'k', 2).property(list, 'k', 1)"]);
    gremlin(&db, "g.V().properties('k').hasValue(2).drop()", 3).unwrap();
    assert_eq!(answers(&db, "g.V().values('k')"), ["1", "1"]);
    gremlin(&db, "g.V().properties('k').drop()", 3).unwrap();
    assert_eq!(answers(&db, "g.V().has('k').count()"), ["0"]);
}

#[test]
fn a_list_that_was_written_as_one_value_stays_one() {
    let db = made(&["g.addV('p').property('k', [1, 2])", "g.V().property('k', [3])"]);
    assert_eq!(answers(&db, "g.V().values('k')"), ["[3]"]);
    assert!(
        refused(&db, "g.V().property(list, 'k', 1)").contains("p.k holds one value, since its type is any")
    );
    let db = made(&["g.addV('p').property('k', 'x')"]);
    assert!(
        refused(&db, "g.V().property(list, 'k', 'y')")
            .contains("p.k holds one value, since its type is string")
    );
    let db = made(&["g.addV('p').as('a').addE('e').from('a').to('a').property('k', [1, 2])"]);
    assert_eq!(answers(&db, "g.E().values('k')"), ["[1, 2]"], "edges have one value of each key");
    let text = "g.E().property(list, 'k', 1)";
    assert!(refused(&db, text).contains("Property cardinality can only be set for a Vertex"));
}

#[test]
fn lists_of_other_programs_are_several_values() {
    let db = crate::database();
    let tags = List::new(["a", "b"].map(Value::from).to_vec()).unwrap();
    db.transact(|tx| {
        tx.add_vertex("p", &[("tags", tags.clone().into())])?;
        tx.add_vertex("q", &[("tags", "c".into())])
    })
    .unwrap();
    assert_eq!(answers(&db, "g.V().values('tags')"), ["a", "b", "c"]);
    assert_eq!(answers(&db, "g.V().has('tags', 'b').label()"), ["p"]);
    // An index has a list as a whole, and is not asked.
    db.create_index(&evergraph::IndexOptions::on_label("p", "tags")).unwrap();
    assert_eq!(answers(&db, "g.V().has('p', 'tags', 'b').label()"), ["p"]);
}
