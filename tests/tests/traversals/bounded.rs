//! What a limit makes unnecessary is not kept, and nobody sees the difference.

use evergraph::gremlin::query::Limits;
use evergraph::{Database, ErrorKind, ReadByName as _};
use std::time::Duration;

const POINTS: i64 = 50_000;

fn points() -> Database {
    points_below(POINTS)
}

fn points_below(end: i64) -> Database {
    let db = crate::database();
    db.transact(|tx| {
        (0..end).try_for_each(|at| tx.add_vertex("Point", &[("at", (at * 7919 % end).into())]).map(drop))
    })
    .unwrap();
    db
}

#[test]
fn the_first_of_an_order_are_the_first_of_all() {
    let db = points();
    let snapshot = db.snapshot();
    let all: Vec<i64> = snapshot.gremlin("g.V().order().by('at', desc).values('at')").values().unwrap();
    assert_eq!(all, (0..POINTS).rev().collect::<Vec<_>>());
    for (range, expected) in
        [("limit(3)", 0..3), ("range(20000, 20005)", 20_000..20_005), ("skip(49999)", 49_999..50_000)]
    {
        let text = format!("g.V().order().by('at', desc).{range}.values('at')");
        assert_eq!(snapshot.gremlin(&text).values::<i64>().unwrap(), all[expected], "{text}");
    }
    // Of those that are equal the ones that came first, though the rest was let go of on the way.
    let firsts = "g.V().order().by(__.values('at').math('_ % 2')).limit(4).id()";
    let slow = "g.V().order().by(__.values('at').math('_ % 2')).fold().limit(local, 4).unfold().id()";
    let ids = |text| snapshot.gremlin(text).values::<i64>().unwrap();
    assert_eq!(ids(firsts), ids(slow));
}

#[test]
fn the_first_of_an_order_wait_and_the_others_do_not() {
    let db = points();
    let limits = Limits { memory_bytes: 1 << 20, ..Limits::default() };
    let ask = |text| db.gremlin(text).limits(limits).values::<i64>();
    assert_eq!(ask("g.V().order().by('at').limit(2).values('at')").unwrap(), [0, 1]);
    assert_eq!(ask("g.V().order().by('at').values('at').tail(1)").unwrap_err().kind(), ErrorKind::Limit);
}

/// Maps and sets used to hash by their length alone: with the square of their number that took minutes.
#[test]
fn many_maps_and_sets_are_told_apart_in_time() {
    const MANY: i64 = 30_000;
    let db = points_below(MANY);
    let limits = Limits { timeout: Duration::from_secs(30), ..Limits::default() };
    for step in [
        "project('n').by('at')",
        "map(values('at').fold().dedup(local))",
        "valueMap('at')",
        "map(project('n').by('at').fold())",
    ] {
        for all in ["dedup().count()", "groupCount().count(local)", "fold().dedup(local).count(local)"] {
            let text = format!("g.V().{step}.{all}");
            assert_eq!(db.gremlin(&text).limits(limits).values::<i64>().unwrap(), [MANY], "{text}");
        }
    }
}

/// `coalesce()`, and what keeps the order of rows, used to hand on all that became of a batch as one batch.
#[test]
fn no_step_hands_on_more_rows_at_once_than_a_batch_has() {
    let db = crate::database();
    db.transact(|tx| (0..100).try_for_each(|at| tx.add_vertex("Point", &[("at", at.into())]).map(drop)))
        .unwrap();
    for text in [
        "g.V().coalesce(__.V())",
        "g.V().coalesce(__.out(), __.V())",
        "g.V().coalesce(__.V()).coalesce(__.V().limit(3))",
        "g.V().order().by('at').local(__.V().order())",
        "g.V().order().by('at').flatMap(__.V().order())",
        "g.V().order().by('at').optional(__.V())",
        "g.V().order().by('at').union(__.V(), __.identity())",
        "g.V().order().by('at').choose(__.has('at', 3), __.identity(), __.V())",
        "g.V().order().by('at').branch(__.values('at')).option(any, __.V())",
    ] {
        let limits = Limits { batch_rows: 16, ..Limits::default() };
        let profile = db.gremlin(text).limits(limits).profile().unwrap();
        for line in profile.lines.iter().filter(|line| line.depth == 0) {
            let measured = line.measured.unwrap();
            assert!(measured.rows <= 16 * measured.batches, "{text}: {} gave {measured:?}", line.text);
        }
        let last = profile.lines.iter().rev().find(|line| line.depth == 0).unwrap();
        let all = db.gremlin(text).items().unwrap().len() as u64;
        assert!(last.measured.unwrap().traversers == all && all >= 300, "{text}: {all}");
    }
}
