//! Properties of properties: asked for by a schema, living and going with their value.

use crate::{answers, gremlin, refused};
use evergraph::graph::catalogue::Owner;
use evergraph::graph::transaction::Transaction as _;
use evergraph::graph::value::ValueType;
use evergraph::{Database, GraphView, Isolation, Options, ReadByName, Transaction, Value, VertexId};

/// Names are single, places a list, tags a set; values of all three have properties.
fn declare(transaction: &mut Transaction) -> evergraph::Result<()> {
    for (key, value_type) in [("place", ValueType::List), ("tag", ValueType::Set)] {
        let writer = transaction.by_id();
        let (label, key) = (writer.label("p")?, writer.key(key)?);
        writer.declare_vertex_property(label, key, value_type)?;
    }
    ["name", "place", "tag"].into_iter().try_for_each(|key| transaction.declare_meta_properties("p", key))
}

fn made(texts: &[&str]) -> Database {
    let db = crate::database();
    db.transact(declare).unwrap();
    texts.iter().for_each(|text| run(&db, text));
    db
}

fn run(db: &Database, text: &str) {
    gremlin(db, text, 3).unwrap_or_else(|error| panic!("{text}: {error}"));
}

const ADA: &str = "g.addV('p').property('name', 'ada', 'since', 1815, 'by', 'mother')";

/// Two stays in one town, one in another.
const STAYS: &str =
    "g.addV('p').property(list, 'place', 'ny', 'from', 1).property(list, 'place', 'va', 'from', 2).
    property(list, 'place', 'ny', 'from', 3, 'to', 4)";

#[test]
fn a_property_is_asked_for_its_own_like_any_element() {
    let db = made(&[ADA, "g.addV('p').property('name', 'eve')"]);
    for (text, wanted) in [
        ("g.V().properties('name').values('since')", &["1815"][..]),
        ("g.V().properties('name').values()", &["1815", "mother"]),
        ("g.V().properties('name').values('by', 'since', 'other')", &["1815", "mother"]),
        ("g.V().properties().properties('since').value()", &["1815"]),
        ("g.V().properties('name').properties().key()", &["by", "since"]),
        ("g.V().properties('name').has('since', gt(1800)).value()", &["ada"]),
        ("g.V().properties('name').hasNot('since').value()", &["eve"]),
        ("g.V().properties('name').has('since', 1).count()", &["0"]),
        ("g.V().properties('name').has('by').valueMap()", &["{by: mother, since: 1815}"]),
        ("g.V().properties('name').has('by').valueMap('since')", &["{since: 1815}"]),
        (
            "g.V().properties('name').has('by').elementMap('by')",
            &["{Token(Key): name, Token(Value): ada, by: mother}"],
        ),
        (
            "g.V().properties('name').has('by').valueMap().with(WithOptions.tokens, WithOptions.keys)",
            &["{Token(Key): name, by: mother, since: 1815}"],
        ),
        (
            "g.V().properties('name').order().by(coalesce(values('since'), constant(0))).value().fold()",
            &["[eve, ada]"],
        ),
        (
            "g.V().properties('name').group().by(coalesce(values('by'), constant('nobody'))).by(value().fold())",
            &["{mother: [ada], nobody: [eve]}"],
        ),
        ("g.V().properties('name').properties('since').element().value()", &["ada"]),
        ("g.V().properties('name').properties('since').element().element().values('name')", &["ada"]),
        ("g.V().properties('name').properties().properties().count()", &["0"]),
        ("g.V().properties('name').properties('since').is(typeOf(GType.VPROPERTY)).count()", &["0"]),
    ] {
        assert_eq!(answers(&db, text), wanted, "{text}");
    }
}

#[test]
fn nobody_sees_them_who_asks_for_the_properties_of_a_vertex() {
    let db = made(&[ADA, STAYS]);
    assert_eq!(answers(&db, "g.V().has('name').valueMap()"), ["{name: [ada]}"]);
    assert_eq!(answers(&db, "g.V().properties().count()"), ["4"]);
    assert_eq!(answers(&db, "g.V().properties().key().dedup()"), ["name", "place"]);
    assert_eq!(answers(&db, "g.V().has('since').count()"), ["0"]);
    let snapshot = db.snapshot();
    assert_eq!(snapshot.vertex_property_map(VertexId(0)).unwrap().len(), 1);
    let names: Vec<_> = snapshot.properties(VertexId(0)).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["name"]);
    let catalogue = snapshot.catalogue();
    let label = catalogue.label("p").unwrap();
    let keys =
        catalogue.properties_of(Owner::Label(label)).map(|(key, _)| catalogue.key_name(key).to_string());
    assert_eq!(keys.collect::<Vec<_>>(), ["place", "tag", "name"]);
    assert_eq!(catalogue.keys().count(), 7, "those that were named: three, and four of the properties");
}

#[test]
fn each_of_several_values_has_its_own() {
    let db = made(&[STAYS]);
    let stays = |db: &Database| {
        answers(db, "g.V().properties('place').project('place', 'from').by(value()).by(values('from'))")
    };
    let all = ["{from: 1, place: ny}", "{from: 2, place: va}", "{from: 3, place: ny}"];
    assert_eq!(stays(&db), all);
    assert_eq!(
        answers(&db, "g.V().properties('place').dedup().count()"),
        ["3"],
        "equal values are two properties"
    );
    // Another value comes, by whatever cardinality, and each keeps its own.
    run(&db, "g.V().property('place', 'sf', 'from', 5)");
    run(&db, "g.V().property(set, 'place', 'va', 'to', 9)");
    assert_eq!(answers(&db, "g.V().properties('place').has('from', 2).valueMap()"), ["{from: 2, to: 9}"]);
    assert_eq!(stays(&db).len(), 4);
    // Of equal values the one that was met goes, though the first has gone before it.
    run(&db, "g.V().properties('place').has('from', within(1, 3)).drop()");
    assert_eq!(stays(&db), ["{from: 2, place: va}", "{from: 5, place: sf}"]);
    run(&db, "g.V().property('place', ['x', 'y'], 'from', 6)");
    assert_eq!(stays(&db), ["{from: 6, place: x}", "{from: 6, place: y}"]);
}

#[test]
fn those_of_a_set_stay_with_their_values_wherever_these_lie() {
    let tags =
        |db: &Database| answers(db, "g.V().properties('tag').project('t', 'n').by(value()).by(values('n'))");
    let db = made(&["g.addV('p').property(set, 'tag', 'b', 'n', 1).property(set, 'tag', 'a', 'n', 2)"]);
    assert_eq!(tags(&db), ["{n: 1, t: b}", "{n: 2, t: a}"]);
    run(&db, "g.V().property(list, 'tag', 'b', 'm', 3)");
    assert_eq!(answers(&db, "g.V().properties('tag').hasValue('b').valueMap()"), ["{m: 3, n: 1}"]);
    run(&db, "g.V().properties('tag').hasValue('a').drop()");
    assert_eq!(tags(&db), ["{n: 1, t: b}"]);
}

#[test]
fn they_are_set_changed_and_dropped_by_themselves() {
    let db = made(&[ADA, STAYS]);
    let known = |db: &Database| answers(db, "g.V().properties('name').valueMap()");
    run(&db, "g.V().properties('name').property('since', 1816).property('at', 'home')");
    assert_eq!(known(&db), ["{at: home, by: mother, since: 1816}"]);
    run(&db, "g.V().properties('name').property('at', null).properties('by').drop()");
    assert_eq!(known(&db), ["{since: 1816}"]);
    // What a query has set it reads, from wherever it has the property.
    let mut transaction = db.begin();
    let text = "g.V().properties('name').as('p').property('n', 1).select('p').values('n')";
    assert_eq!(transaction.gremlin(text).one::<i32>().unwrap(), 1);
    transaction.rollback();
    // Two changes of one property that has an equal beside it.
    run(&db, "g.V().has('place').property(list, 'place', 'va')");
    run(&db, "g.V().properties('place').hasValue('va').property('a', 1).property('b', 2)");
    let twice = ["{a: 1, b: 2, from: 2}", "{a: 1, b: 2}"];
    assert_eq!(answers(&db, "g.V().properties('place').hasValue('va').valueMap()"), twice);
    // One that is alike in all is another one.
    run(&db, "g.V().has('place').property(list, 'place', 'va', 'a', 1, 'b', 2, 'from', 2)");
    run(&db, "g.V().properties('place').properties().drop()");
    assert_eq!(answers(&db, "g.V().properties('place').properties().count()"), ["0"]);
    assert_eq!(answers(&db, "g.V().properties('place').count()"), ["5"], "the values stay");
}

#[test]
fn they_go_with_their_value() {
    for text in [
        "g.V().property('name', 'eve')",
        "g.V().property('name', 'ada')",
        "g.V().sideEffect(properties('name').drop()).property('name', 'eve')",
        "g.mergeV([name: 'ada']).option(onMatch, [name: 'eve'])",
    ] {
        let db = made(&[ADA, text]);
        assert_eq!(answers(&db, "g.V().properties('name').count()"), ["1"], "{text}");
        assert_eq!(answers(&db, "g.V().properties().properties().count()"), ["0"], "{text}");
    }
    let changes: [fn(&mut Transaction) -> evergraph::Result<()>; 2] = [
        |transaction| transaction.set(VertexId(0), "name", "eve"),
        |transaction| {
            transaction.remove(VertexId(0), "name")?;
            transaction.set(VertexId(0), "name", "ada")
        },
    ];
    for change in changes {
        let db = made(&[ADA]);
        db.transact(change).unwrap();
        assert_eq!(answers(&db, "g.V().properties('name').properties().count()"), ["0"]);
    }
}

#[test]
fn who_does_not_ask_for_them_in_the_schema_is_told_how_to() {
    let db =
        made(&["g.addV('q').property('name', 'x').as('a').addE('e').from('a').to('a').property('w', 1)"]);
    for (text, wanted) in [
        ("g.V().property('name', 'y', 'since', 1)", "`declare_meta_properties(\"q\", \"name\")`"),
        ("g.V().properties('name').property('since', 1)", "`declare_meta_properties(\"q\", \"name\")`"),
        ("g.addV('p').property('age', 3, 'since', 1)", "the schema doesn't declare meta-properties of p.age"),
        ("g.E().property('w', 2, 'since', 1)", "those of edges have none"),
        ("g.E().properties('w').property('since', 1)", "those of edges and those of properties have none"),
        ("g.V().property('name', 'y', 'since')", "a value is missing"),
        ("g.addV('p').property('name', 'y', T.id, 1)", "must be a string"),
    ] {
        assert!(refused(&db, text).contains(wanted), "{text}: {}", refused(&db, text));
    }
    run(&db, ADA);
    let text = "g.V().properties('name').properties().property('deep', 1)";
    assert!(refused(&db, text).contains("those of edges and those of properties have none"));
    let text = "g.V().properties('name').property(list, 'since', 1)";
    assert!(refused(&db, text).contains("Property cardinality can only be set for a Vertex"));
    // Once they are asked for, vertices that were there before have them too.
    db.transact(|transaction| transaction.declare_meta_properties("q", "name")).unwrap();
    run(&db, "g.V().hasLabel('q').property('name', 'y', 'since', 7)");
    assert_eq!(answers(&db, "g.V().hasLabel('q').properties().values('since')"), ["7"]);
}

#[test]
fn a_name_of_ones_own_never_reaches_where_they_lie() {
    let db = made(&[ADA]);
    let hidden = {
        let catalogue = db.snapshot().catalogue();
        let meta = catalogue.meta_key(catalogue.label("p").unwrap(), catalogue.key("name").unwrap()).unwrap();
        catalogue.key_name(meta)
    };
    let read = format!("g.V().values('{hidden}').count()");
    assert_eq!(answers(&db, &read), ["0"]);
    run(&db, &format!("g.V().property('{hidden}', 'mine')"));
    assert_eq!(answers(&db, &format!("g.V().values('{hidden}')")), ["mine"]);
    assert_eq!(answers(&db, "g.V().properties('name').values('since')"), ["1815"]);
}

#[test]
fn they_are_there_after_a_crash_a_checkpoint_and_a_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let known = |db: &Database| {
        let mut all = answers(db, "g.V().properties('name').valueMap()");
        all.extend(answers(db, "g.V().properties('place').valueMap()"));
        all
    };
    let wanted = ["{by: mother, since: 1815}", "{from: 1}", "{from: 2}", "{from: 3, to: 4}"];
    let db = Database::open_with(&path, &Options::default()).unwrap();
    db.transact(declare).unwrap();
    run(&db, ADA);
    run(&db, STAYS);
    drop(db);
    let db = Database::open(&path).unwrap();
    assert_eq!(known(&db), wanted, "from the log");
    db.checkpoint().unwrap();
    db.close().unwrap();
    drop(db);
    let db = Database::open(&path).unwrap();
    assert_eq!(known(&db), wanted, "from a checkpoint");
    run(&db, "g.V().has('name').property('name', 'eve', 'since', 2)");
    run(&db, "g.V().has('name').property('new', 1)");
    assert_eq!(answers(&db, "g.V().properties('name').valueMap()"), ["{since: 2}"]);
    assert_eq!(answers(&db, "g.V().values('new')"), ["1"], "new keys don't get the numbers of hidden ones");
}

#[test]
fn of_two_who_change_a_value_or_what_is_known_of_it_one_meets_a_conflict() {
    let value = "g.V().property('name', 'eve')";
    let known = "g.V().properties('name').property('since', 1)";
    let other = "g.V().properties('name').property('by', 'father')";
    let gone = "g.V().properties('name').drop()";
    for (first, second) in [(value, known), (known, value), (known, other), (known, gone), (gone, known)] {
        let db = made(&[ADA]);
        let (mut one, mut two) = (db.begin(), db.begin());
        one.gremlin(first).run().unwrap();
        two.gremlin(second).run().unwrap();
        one.commit().unwrap();
        assert!(two.commit().unwrap_err().is_conflict(), "{first}, then {second}");
    }
    // One who doesn't know yet that values have properties can't leave any with another value.
    let db = crate::database();
    run(&db, "g.addV('p').property('name', 'ada')");
    let mut early = db.begin();
    early.set(VertexId(0), "name", "eve").unwrap();
    db.transact(|transaction| transaction.declare_meta_properties("p", "name")).unwrap();
    run(&db, known);
    assert!(early.commit().unwrap_err().is_conflict());
    assert_eq!(answers(&db, "g.V().properties('name').values('since')"), ["1"]);
}

#[test]
fn who_read_what_is_known_of_a_value_meets_who_changed_it() {
    let db = made(&[ADA, "g.addV('p').property('name', 'eve')"]);
    let mut reader = db.begin_with(Isolation::Serializable);
    reader.gremlin("g.V(0).properties('name').values('since')").values::<i32>().unwrap();
    reader.set(VertexId(1), "name", Value::from("seen")).unwrap();
    run(&db, "g.V(0).properties('name').property('since', 1900)");
    assert!(reader.commit().unwrap_err().is_conflict());
}

#[test]
fn two_who_ask_for_them_at_once_agree() {
    let db = crate::database();
    let (mut one, mut two) = (db.begin(), db.begin());
    for transaction in [&mut one, &mut two] {
        transaction.declare_meta_properties("p", "name").unwrap();
        transaction.gremlin(ADA).run().unwrap();
    }
    one.commit().unwrap();
    two.commit().unwrap();
    assert_eq!(answers(&db, "g.V().properties('name').values('since')"), ["1815", "1815"]);
}
