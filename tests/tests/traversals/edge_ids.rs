//! Ids of edges: texts that name one edge for as long as it is there.

use crate::{answers, gremlin, shown};
use evergraph::{Database, Options};

#[test]
fn an_edge_is_read_by_its_id_after_other_writes_and_a_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let text = "g.addV('p').property('name', 'a').as('a').addV('p').property('name', 'b').as('b').
        addE('e').from('a').to('b').property('n', 1).
        addE('e').from('a').to('b').property('n', 2).
        addE('e').from('a').to('b').property('n', 3)";
    let db = Database::open_with(&path, &Options::default()).unwrap();
    gremlin(&db, text, 3).unwrap();
    let ids: Vec<String> =
        (1..=3).map(|n| answers(&db, &format!("g.E().has('n', {n}).id()")).concat()).collect();
    let read = |db: &Database, of: usize| answers(db, &format!("g.E('{}').values('n')", ids[of]));
    assert_eq!([0, 1, 2].map(|of| read(&db, of).concat()), ["1", "2", "3"], "{ids:?}");
    // Edges beside them come and go, and those around are another number then.
    gremlin(&db, "g.E().has('n', 2).drop()", 3).unwrap();
    let more = "g.V().has('name', 'a').as('a').V().has('name', 'b').addE('e').from('a').property('n', 4)";
    gremlin(&db, more, 3).unwrap();
    gremlin(
        &db,
        "g.addV('p').property('name', 'c').as('c').V().has('name', 'a').addE('e').to('c').property('n', 5)",
        3,
    )
    .unwrap();
    assert_eq!([0, 2].map(|of| read(&db, of).concat()), ["1", "3"]);
    db.checkpoint().unwrap();
    db.close().unwrap();
    drop(db);
    let db = Database::open(&path).unwrap();
    assert_eq!([0, 2].map(|of| read(&db, of).concat()), ["1", "3"], "after a checkpoint and a reopening");
    let found = gremlin(&db, &format!("g.E('{}', '{}').id()", ids[2], ids[0]), 1024).unwrap();
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), [ids[2].as_str(), ids[0].as_str()]);
    assert_eq!(answers(&db, "g.E().values('n')"), ["1", "3", "4", "5"]);
}

#[test]
fn an_id_that_names_no_edge_finds_none() {
    let db = crate::database();
    gremlin(&db, "g.addV('p').as('a').addE('e').from('a').to('a')", 3).unwrap();
    assert_eq!(answers(&db, "g.E('0-0-0-0').count()"), ["1"]);
    for text in ["0-0-0-1", "0-0-1-0", "1-0-0-0", "0-7-0-0", "x", ""] {
        assert_eq!(answers(&db, &format!("g.E('{text}').count()")), ["0"], "{text}");
    }
}
