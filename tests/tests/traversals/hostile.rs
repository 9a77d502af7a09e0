//! Hostile text: what is too deep, too long or too much is an error within the limits, and the database is as before.

use crate::modern::modern;
use evergraph::gremlin::query::Limits;
use evergraph::{Database, ErrorKind, Item, ReadByName as _};
use std::time::{Duration, Instant};

/// A limit that is met takes no longer than this, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(20);
const LIMITS: Limits = Limits {
    timeout: Duration::from_millis(300),
    memory_bytes: 16 << 20,
    batch_rows: 1024,
    threads: usize::MAX,
};

/// What asking `text` ends with, in time.
fn refused(db: &Database, text: &str) -> (ErrorKind, String) {
    let begun = Instant::now();
    let error = db.gremlin(text).limits(LIMITS).run().unwrap_err();
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    (error.kind(), error.to_string())
}

/// Some hundred vertices, each with an edge to each.
fn complete() -> Database {
    let db = Database::in_memory().unwrap();
    db.transact(|tx| {
        let all = (0..120).map(|_| tx.add_vertex("V", &[])).collect::<evergraph::Result<Vec<_>>>()?;
        for source in &all {
            all.iter().try_for_each(|target| tx.add_edge(*source, "E", *target, &[]).map(drop))?;
        }
        Ok(())
    })
    .unwrap();
    db
}

#[test]
fn nesting_of_a_million_levels_is_refused() {
    let db = modern();
    for part in [".where(__", ".has('a',", "[", "((("] {
        let text = format!("g.V().inject(1){}", part.repeat(1_000_000 / part.len()));
        let (kind, said) = refused(&db, &text);
        assert!(matches!(kind, ErrorKind::Limit | ErrorKind::Invalid), "{kind:?}");
        assert!(said.len() < 1000, "an error quotes no whole text: {} bytes", said.len());
    }
    let (kind, _) = refused(&db, &format!("g.V(){}", ".where(__.out()".repeat(100_000)));
    assert_eq!(kind, ErrorKind::Limit);
    assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 6);
}

#[test]
fn literals_as_long_as_the_text_are_values_or_refused() {
    let db = modern();
    let text = format!("g.V().has('name', '{}').count()", "x".repeat(500_000));
    assert_eq!(db.gremlin(&text).one::<i64>().unwrap(), 0);
    let (kind, _) = refused(&db, &format!("g.inject('{}')", "x".repeat(100 << 20)));
    assert_eq!(kind, ErrorKind::Limit);
    let digits = "9".repeat(900_000);
    let (kind, said) = refused(&db, &format!("g.inject({digits}n)"));
    assert!(matches!(kind, ErrorKind::Limit | ErrorKind::Invalid), "{said}");
    assert!(said.len() < 1000, "{} bytes", said.len());
    let (_, said) = refused(&db, &format!("g.inject({digits})"));
    assert!(said.len() < 1000, "{} bytes", said.len());
}

#[test]
fn walks_without_number_end_at_a_limit() {
    let db = complete();
    for text in [
        // 120^30 walks, that differ: each has a path of its own.
        "g.V().repeat(both()).times(30).path()",
        "g.V().repeat(both()).times(30).simplePath().path()",
        "g.V().repeat(both()).emit().path()",
        // As many, that nobody can tell apart: more than 64 bits count.
        "g.V().repeat(both()).times(30)",
        "g.V().repeat(both()).times(30).count()",
        // And those that carry something along.
        "g.V().as('a').repeat(both().as('b')).times(30).select('a', 'b')",
    ] {
        let (kind, said) = refused(&db, text);
        assert_eq!(kind, ErrorKind::Limit, "{text}: {said}");
    }
    assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 120);
}

#[test]
fn products_of_everything_with_everything_end_at_a_limit() {
    let db = complete();
    for text in [
        "g.V().V().V().V().V().V().id().dedup().by(__.V().V().V().count())",
        "g.V().as('a').V().as('b').V().as('c').V().as('d').select('a', 'b', 'c', 'd')",
        "g.V().as('a').V().as('b').V().as('c').order().by(__.select('a')).by(__.select('b'))",
        "g.V().V().V().fold()",
        "g.V().V().V().V().aggregate('x').cap('x')",
        "g.V().match(__.as('a').V().as('b'), __.as('b').V().as('c'), __.as('c').V().as('d'))",
        "g.V().project('a', 'b').by(__.V().V().V().fold()).by(__.V().V().V().fold())",
    ] {
        let (kind, said) = refused(&db, text);
        assert_eq!(kind, ErrorKind::Limit, "{text}: {said}");
    }
}

#[test]
fn a_write_that_meets_a_limit_has_written_nothing() {
    let db = complete();
    let (kind, _) = refused(&db, "g.V().V().V().addV('more').property('name', 'x')");
    assert_eq!(kind, ErrorKind::Limit);
    assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 120);
    assert_eq!(db.snapshot().gremlin("g.V().hasLabel('more')").items().unwrap(), Vec::<Item>::new());
}
