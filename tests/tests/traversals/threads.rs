//! Several threads: a query says the same on one as on many, and ends on all of them.

use evergraph::gremlin::query::Limits;
use evergraph::{Database, ErrorKind, ReadByName as _};
use std::time::Duration;

const VERTICES: u32 = 30_000;

/// Each vertex leads to three others, one of them a hub.
fn ring() -> Database {
    let db = crate::database();
    db.transact(|tx| {
        let all = (0..VERTICES)
            .map(|at| tx.add_vertex("V", &[("at", i64::from(at).into())]))
            .collect::<evergraph::Result<Vec<_>>>()?;
        for (at, vertex) in all.iter().enumerate() {
            for to in [at + 1, at * 7, at % 5] {
                tx.add_edge(*vertex, "E", all[to % all.len()], &[])?;
            }
        }
        Ok(())
    })
    .unwrap();
    db
}

#[test]
fn a_query_says_the_same_on_one_thread_and_on_many() {
    let db = ring();
    let snapshot = db.snapshot();
    for text in [
        "g.V().out().out().out().count()",
        "g.V().has('at', lt(20000)).out('E').has('at', gt(10)).count()",
        "g.V().repeat(both()).times(3).count()",
        "g.V().in().in().values('at').max()",
        "g.V().out().values('at').min()",
        "g.V().out().has('at', lt(0)).values('at').min()",
        "g.V().out().out().values('at').is(gt(29990)).count()",
        "g.V().out().out().values('at').groupCount().select(values).sum(local)",
    ] {
        let on = |threads| {
            let limits = Limits { threads, ..Limits::default() };
            snapshot.gremlin(text).limits(limits).values::<i64>().unwrap()
        };
        let one = on(1);
        for threads in [2, usize::MAX] {
            assert_eq!(on(threads), one, "{text} on {threads}");
        }
    }
}

#[test]
fn an_error_on_one_thread_is_the_error_of_the_query() {
    let db = ring();
    let limits = Limits { timeout: Duration::from_millis(1), ..Limits::default() };
    let late = db.gremlin("g.V().out().out().out().values('at').max()").limits(limits).run().unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Limit);
    let wrong = db.gremlin("g.V().out().values('at').out().count()").run().unwrap_err();
    assert!(wrong.to_string().contains("follows edges of a vertex"), "{wrong}");
    assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), i64::from(VERTICES));
}
