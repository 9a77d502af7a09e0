//! `drop()` of what is read: all of it goes, and no more is read than that.

use crate::{answers, gremlin};
use evergraph::Database;

/// A hub with twenty edges out, of two types, twenty in, and one to itself.
fn hub() -> Database {
    let db = crate::database();
    db.transact(|tx| {
        let hub = tx.add_vertex("hub", &[])?;
        for at in 0..20 {
            let other = tx.add_vertex("leaf", &[])?;
            tx.add_edge(hub, if at % 2 == 0 { "a" } else { "b" }, other, &[])?;
            tx.add_edge(other, "a", hub, &[])?;
        }
        tx.add_edge(hub, "a", hub, &[])
    })
    .unwrap();
    db
}

/// A query read edges in batches and counted how far it was, in a list that shrank as it deleted them: of 5,000 edges
/// 2,048 were left.
#[test]
fn all_that_is_read_is_dropped_whatever_the_size_of_batches() {
    for (text, vertices, edges) in [
        ("g.V().hasLabel('hub').outE().drop()", 21, 20),
        ("g.V().hasLabel('hub').inE().drop()", 21, 20),
        ("g.V().hasLabel('hub').bothE().drop()", 21, 0),
        ("g.V().hasLabel('hub').outE('b').drop()", 21, 31),
        ("g.V().hasLabel('hub').outE('a', 'b').limit(13).drop()", 21, 28),
        ("g.V().hasLabel('hub').sideEffect(__.outE('b').drop()).outE('a').drop()", 21, 20),
        ("g.V().hasLabel('hub').outE().sideEffect(__.drop())", 21, 20),
        ("g.V().hasLabel('hub').out('b').drop()", 11, 21),
        ("g.V().outE().drop()", 21, 0),
        ("g.E().drop()", 21, 0),
        ("g.E().hasLabel('a').drop()", 21, 10),
        ("g.V().drop()", 0, 0),
        // The hub is its own neighbour: it goes with them, and not before the last of them was found.
        ("g.V().hasLabel('hub').both().drop()", 0, 0),
        ("g.V().hasLabel('hub').both().both().drop()", 0, 0),
        ("g.V().hasLabel('hub').both().sideEffect(__.drop())", 0, 0),
        ("g.V().hasLabel('leaf').out('a').sideEffect(__.out('b').drop()).out('a').drop()", 0, 0),
        ("g.V().sideEffect(__.out('b').drop())", 11, 21),
        ("g.V().order().union(__.drop(), __.identity())", 0, 0),
        ("g.V().union(__.out('b').drop(), __.out('a')).drop()", 0, 0),
        ("g.V().choose(__.hasLabel('hub'), __.both().drop())", 0, 0),
        ("g.V().hasLabel('hub').repeat(__.both().drop()).times(2)", 0, 0),
        ("g.V().hasLabel('leaf').local(__.out().drop())", 20, 0),
        // What a limit makes unnecessary is not done.
        ("g.V().union(__.drop(), __.identity()).limit(1)", 20, 0),
        ("g.V().map(__.union(__.drop(), __.constant(1)))", 0, 0),
        ("g.V().hasLabel('leaf').addV('new').limit(2)", 23, 41),
        ("g.V().hasLabel('leaf').sideEffect(__.addV('new')).limit(2).count()", 23, 41),
    ] {
        for batch_rows in [1, 3, 7, 1024] {
            let db = hub();
            gremlin(&db, text, batch_rows).unwrap();
            let left = ["g.V().count()", "g.E().count()"].map(|count| answers(&db, count).concat());
            assert_eq!(left, [vertices.to_string(), edges.to_string()], "{text}, {batch_rows} rows a batch");
        }
    }
}

#[test]
fn a_part_of_a_vertex_edges_is_dropped_without_reading_the_others() {
    let db = crate::database();
    let hub = db
        .transact(|tx| {
            let hub = tx.add_vertex("hub", &[])?;
            for _ in 0..6000 {
                let other = tx.add_vertex("leaf", &[])?;
                tx.add_edge(hub, "a", other, &[])?;
            }
            Ok(hub)
        })
        .unwrap();
    let part = "g.V().hasLabel('hub').bothE().limit(2500).drop()";
    for left in [3500, 1000, 0] {
        let profiled = db.gremlin(part).profile().unwrap();
        let read = profiled.lines.iter().map(|line| line.measured.unwrap().rows).max().unwrap();
        assert!(read <= 3072, "{read} edges were read: two batches and a half would do");
        assert_eq!(answers(&db, "g.E().count()"), [left.to_string()]);
    }
    assert_eq!(db.delete_vertex_in_parts(hub).unwrap(), 0);
}
