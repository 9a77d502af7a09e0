//! Edges by value: with an index of their type and without, read and just written.

use evergraph::{Database, EdgeId, IndexOptions, Result};

#[test]
fn an_index_of_edges_finds_what_a_scan_finds_and_what_was_just_written() {
    let [with, without] = [(); 2].map(|()| crate::database());
    for db in [&with, &without] {
        let chain = db.transact(|tx| {
            let points = (0..40).map(|_| tx.add_vertex("point", &[])).collect::<Result<Vec<_>>>()?;
            for (at, ends) in (0_i64..).zip(points.windows(2)) {
                let edge_type = if at % 3 == 0 { "rail" } else { "road" };
                tx.add_edge(ends[0], edge_type, ends[1], &[("at", (at / 2).into())])?;
            }
            Ok(())
        });
        chain.unwrap();
    }
    for edge_type in ["rail", "road"] {
        with.create_index(&IndexOptions::on_edges(edge_type, "at").ordered()).unwrap();
    }
    for text in [
        "g.E().has('at', 7)",
        "g.E().has('rail', 'at', 9)",
        "g.E().hasLabel('rail', 'road').has('at', within(3, 8, 99))",
        "g.E().has('at', between(5, 9))",
        "g.E().has('road', 'at', gt(17))",
        "g.E().has('at', 'no number')",
    ] {
        let [found, expected] = [&with, &without].map(|db| {
            let mut tx = db.begin();
            tx.gremlin("g.E().has('at', 4).property('at', 8)").run().unwrap();
            tx.gremlin("g.E().has('at', 6).drop()").run().unwrap();
            let writing: Vec<EdgeId> = tx.gremlin(text).values().unwrap();
            let reading: Vec<EdgeId> = db.gremlin(text).values().unwrap();
            assert_eq!(writing.is_empty() && reading.is_empty(), text.contains("no number"), "{text}");
            (writing, reading)
        });
        assert_eq!(found, expected, "{text}");
        let index = |db: &Database| db.gremlin(text).explain().unwrap().lines[0].index.clone();
        assert!(
            index(&with).is_some_and(|index| index.contains("rail.at") || index.contains("road.at")),
            "{text}"
        );
        assert_eq!(index(&without), None, "{text}");
    }
}
