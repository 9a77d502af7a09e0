//! Hostile text: what is too deep, too long or too much is an error within the limits, and the database is as before.

use crate::modern::modern;
use evergraph::graph::cancel::CancelFlag;
use evergraph::gremlin::query::Limits;
use evergraph::{Database, ErrorKind, Item, ReadByName as _};
use std::time::{Duration, Instant};

/// A limit that is met takes no longer than this, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(20);
const LIMITS: Limits = Limits {
    timeout: Duration::from_millis(300),
    memory_bytes: 16 << 20,
    batch_rows: 1024,
    first_batch_rows: usize::MAX,
    threads: usize::MAX,
    result_rows: u64::MAX,
    result_bytes: u64::MAX,
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
    let db = crate::database();
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

#[test]
fn a_row_that_stands_for_many_becomes_many_only_within_the_memory() {
    let db = modern();
    // A number that 2^40 traversers are at, which is one row.
    let many = "g.inject(1).repeat(__.union(__.identity(), __.identity())).times(40)";
    for then in [
        "",
        ".aggregate('x').cap('x')",
        ".aggregate('x').by(__.constant('a')).cap('x')",
        ".fold()",
        ".map(__.fold()).fold([], addAll)",
        ".group()",
        ".group().by(__.constant('a')).by()",
        ".group('x').cap('x')",
        ".local(__.fold()).fold()",
        ".sample(1000000000000)",
        ".addV('more')",
        ".addV('more').property('name', 'x')",
        ".mergeE([(T.label): 'more', (Direction.OUT): 0, (Direction.IN): 1])",
        ".tail(1000000000000).fold()",
    ] {
        past_memory(&db, &format!("{many}{then}"));
    }
    // What is counted or written one after the other takes no memory, and its time.
    for then in
        [".addE('more').from(__.V().limit(1)).to(__.V().limit(1))", ".fold(1, mult)", ".fold(1.0, div)"]
    {
        let text = format!("{many}{then}");
        let (kind, said) = collected(&db, &text);
        assert_eq!(kind, ErrorKind::Limit, "{text}: {said}");
    }
    assert_eq!(db.gremlin(&format!("{many}.count()")).one::<i64>().unwrap(), 1 << 40);
    for given in
        ["withSideEffect('x', [], assign)", "withSideEffect('x', [], addAll)", "withSideEffect('x', 1, mult)"]
    {
        let text = format!("g.{given}.{}.aggregate('x').cap('x')", many.trim_start_matches("g."));
        let (kind, said) = collected(&db, &text);
        assert_eq!(kind, ErrorKind::Limit, "{text}: {said}");
    }
    assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 6);
}

/// Whether `text` ends because of its memory, and neither by an accident nor by the end of its time.
fn past_memory(db: &Database, text: &str) {
    let error = db
        .gremlin(text)
        .limits(Limits { timeout: Duration::from_secs(120), memory_bytes: 4 << 20, ..LIMITS })
        .items()
        .map(|all| all.len())
        .unwrap_err();
    let said = error.to_string();
    assert!(error.kind() == ErrorKind::Limit && said.contains("of memory"), "{text}: {said}");
}

/// What `text` ends with when all results of it are wanted, in time.
fn collected(db: &Database, text: &str) -> (ErrorKind, String) {
    let begun = Instant::now();
    let found = db.gremlin(text).limits(LIMITS).items();
    assert!(begun.elapsed() < PATIENCE, "{text}: {:?}", begun.elapsed());
    let Err(error) = found else { panic!("{text} has results") };
    (error.kind(), error.to_string())
}

#[test]
fn values_are_nested_so_deeply_and_no_deeper() {
    let db = modern();
    let deeper = [
        "project('a').by()",
        "fold()",
        "local(__.fold())",
        "group()",
        "group().by(__.constant(1)).by()",
        "group().unfold()",
        "map(__.union(__.identity(), __.constant(1)).fold())",
        "index()",
        "local(__.path())",
        "as('a').map(__.path())",
        "fold().product(__.constant([1]))",
        "aggregate('x').cap('x')",
        "aggregate('x').by(__.cap('x'))",
        "sack(assign).by(__.sack().fold())",
        "map(__.group('x').by(__.constant(1)).cap('x'))",
    ];
    for body in deeper {
        for end in
            ["", ".count()", ".dedup().groupCount()", ".order()", ".asString()", ".is(eq(1))", ".sack()"]
        {
            let text = format!("g.withSack(1).inject(1).repeat(__.{body}).times(100000){end}");
            let (kind, said) = collected(&db, &text);
            assert_eq!(kind, ErrorKind::Limit, "{text}: {said}");
        }
    }
    // Trees are as deep as paths are long.
    for text in [
        "g.inject(1).repeat(__.constant(1)).times(1000).tree()",
        "g.V().repeat(__.both()).times(1000).limit(1).tree()",
        "g.V(0).repeat(__.both().limit(1)).times(1000).tree()",
        "g.V(0).repeat(__.both().limit(1)).times(1000).tree('x').cap('x')",
    ] {
        let (kind, said) = collected(&db, text);
        assert_eq!(kind, ErrorKind::Limit, "{text}: {said}");
    }
    let deep = |times: usize| format!("g.inject(1).repeat(__.fold()).times({times})");
    for end in ["", ".dedup()", ".groupCount()", ".order()", ".asString()", ".is(eq(1))", ".fold().unfold()"]
    {
        let text = format!("{}{end}", deep(254));
        let found = db.gremlin(&text).limits(LIMITS).items().unwrap();
        let again = format!("{:?}", found.clone());
        assert!(found == found.clone() && !again.is_empty(), "{end}");
    }
    let (_, said) = collected(&db, &deep(257));
    assert!(said.contains("nested more than 256 deep"), "{said}");
}

#[test]
fn texts_and_collections_grow_only_within_the_memory() {
    let db = complete();
    for text in [
        "g.inject('a').repeat(__.replace('a', 'aaaaaaaaaaaaaaaa')).times(20)",
        "g.inject('a').repeat(__.concat(__.identity(), __.identity())).times(40)",
        "g.inject('a').repeat(__.format('%{_}%{_}').by(__.identity())).times(40)",
        "g.inject('aaaaaaaa').repeat(__.split('').conjoin('bbbbbbbbbbbb')).times(20)",
        "g.inject([1, 2]).repeat(__.product(__.identity()).unfold().fold()).times(20)",
        "g.inject([1, 2]).repeat(__.product(__.identity())).times(10)",
        "g.inject([1, 2]).repeat(__.combine(__.identity())).times(40)",
        "g.inject(1..1000).unfold().as('a').V().aggregate('x').select('a').V().aggregate('x').cap('x')",
        "g.inject(1).repeat(__.union(__.constant(1), __.constant(2)).aggregate('x').by(__.select('x'))).times(40)",
        "g.inject(1).repeat(__.project('a', 'b').by().by()).times(60)",
        "g.inject(1).repeat(__.project('a', 'b').by().by()).times(60).asString()",
        "g.inject(1).repeat(__.project('a', 'b').by().by()).times(60).dedup().count()",
        "g.inject(1).repeat(__.union(__.identity(), __.identity()).fold()).times(60)",
        "g.withSack([1]).inject(1).repeat(__.sack(addAll).by(__.sack())).times(60).sack()",
        "g.V().V().fold().repeat(__.unfold().fold().map(__.union(__.identity(), __.identity()).unfold().fold())).times(20)",
        "g.V().V().as('a').V().path()",
        "g.V().V().V().tree()",
        "g.V().V().V().id().fold()",
        "g.V().V().V().group().by(__.id())",
        "g.V().V().order().by(__.V().id().fold())",
        "g.V().V().dedup().by(__.V().V().fold())",
        "g.V().map(__.V().V().V().fold())",
        "g.V().local(__.V().V().V().fold())",
        "g.V().V().V().barrier()",
        "g.V().as('a').repeat(__.V().as('b')).times(3).select('a', 'b').count()",
        "g.V().as('a').V().as('b').V().as('c').dedup('a', 'b', 'c').count()",
        "g.withSack(1).V().V().V().barrier(normSack).count()",
        "g.V().V().V().sample(100000000)",
        "g.V().emit().repeat(__.V()).times(4).fold()",
        "g.V().fold().as('x').V().V().select('x').order(local).fold()",
        "g.inject(1..1000).unfold().map(__.inject(1..5000).unfold().fold()).fold()",
    ] {
        past_memory(&db, text);
    }
    past_memory(&db, &format!("g.V().V().constant('{}').tail(100000000).count()", "x".repeat(2000)));
}

#[test]
fn what_is_passed_on_counts_no_more_than_once() {
    let db = complete();
    // 14,400 rows that share a list, of which the query holds one; and hundreds of looks at all vertices, one at a time.
    for (text, expected) in [
        ("g.V().fold().as('x').V().V().V().limit(100000).select('x').count(local).sum()", 12_000_000_i64),
        ("g.V().V().map(__.V().count()).sum()", 1_728_000),
        ("g.V().V().local(__.V().order().tail(1)).count()", 14_400),
        ("g.V().V().V().dedup().count()", 120),
        ("g.inject(1..1000).repeat(__.unfold().fold()).times(1000).count(local)", 1000),
    ] {
        let limits = Limits { timeout: PATIENCE, memory_bytes: 4 << 20, ..LIMITS };
        assert_eq!(db.gremlin(text).limits(limits).one::<i64>().unwrap(), expected, "{text}");
    }
}

#[test]
fn the_time_covers_reading_and_planning_and_both_take_as_long_as_the_text() {
    let db = modern();
    let steps = |step: &str, count: usize| format!("g.V(){}.count()", step.repeat(count));
    for step in [
        ".out()",
        ".outE().inV()",
        ".has('a', 1)",
        ".out().has('a')",
        ".as('a')",
        ".repeat(__.out()).times(2)",
        ".where(__.out())",
        ".both().dedup()",
        ".identity()",
    ] {
        let count = (1 << 18) / step.len();
        let text = steps(step, count);
        let begun = Instant::now();
        db.gremlin(&text).timeout(Duration::MAX).plan().unwrap();
        assert!(begun.elapsed() < PATIENCE, "{step}: {:?}", begun.elapsed());
        let begun = Instant::now();
        let error = db.gremlin(&text).timeout(Duration::from_millis(1)).items().unwrap_err();
        assert!(begun.elapsed() < PATIENCE / 4, "{step}: {:?}", begun.elapsed());
        assert_eq!(error.kind(), ErrorKind::Limit, "{step}: {error}");
        assert!(error.to_string().contains("timeout of 0.001 s"), "{step}: {error}");
        let stop = CancelFlag::default();
        stop.cancel();
        let error = db.gremlin(&text).cancel(&stop).plan().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
    // Names of their own, too.
    let names: String = (0..40_000).map(|name| format!(".as('{name}')")).collect();
    let begun = Instant::now();
    db.gremlin(&format!("g.V(){names}.path()")).timeout(Duration::MAX).plan().unwrap();
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

/// Whoever makes steps asks, at each traversal, what those within it do: to walk into them each time took a time that grew with
/// the product of depth and size.
#[test]
fn steps_are_made_in_a_time_that_grows_with_the_text_however_deeply_it_is_nested() {
    let db = crate::database();
    let nested = |begin: &str, end: &str, depth: usize, steps: usize| {
        let level = format!("{begin}{}", ".out()".repeat(steps / depth));
        format!("g.V().order().by('n'){}{}", level.repeat(depth), end.repeat(depth))
    };
    for (begin, end) in [
        (".union(__.identity()", ", __.out())"),
        (".choose(__.out(), __.out()", ")"),
        (".local(__.out()", ")"),
        (".sideEffect(__.out()", ")"),
        (".where(__.out()", ")"),
        (".repeat(__.out()", ").times(2)"),
        (".coalesce(__.out()", ").addV('x')"),
    ] {
        let took = |depth: usize| {
            let text = nested(begin, end, depth, 40_000);
            let begun = Instant::now();
            db.gremlin(&text).timeout(Duration::MAX).run().unwrap();
            begun.elapsed()
        };
        let (flat, mut deep) = (took(2), took(240));
        let enough = 8 * flat + PATIENCE / 20;
        if deep >= enough {
            deep = took(240);
        }
        assert!(deep < enough, "{begin}: {deep:?} nested deeply, {flat:?} else");
    }
}

/// In a program that isn't optimised, a level took up to 20 KiB of the stack.
#[test]
fn a_query_that_is_nested_as_deeply_as_it_may_be_needs_no_large_stack() {
    // What opens a level, and what closes it.
    let forms = [
        (".where(__.identity()", ")"),
        (".not(__.identity()", ")"),
        (".and(__.identity()", ", __.identity())"),
        (".or(__.has('n')", ", __.identity())"),
        (".union(__.identity()", ", __.identity())"),
        (".coalesce(__.identity()", ", __.identity())"),
        (".optional(__.identity()", ")"),
        (".local(__.identity()", ")"),
        (".map(__.identity()", ")"),
        (".flatMap(__.identity()", ")"),
        (".sideEffect(__.identity()", ")"),
        (".choose(__.identity(), __.identity()", ")"),
        (".choose(__.identity()", ", __.identity(), __.identity())"),
        (".repeat(__.identity()", ").times(1)"),
        (".order().by(__.identity()", ".count())"),
        (".group().by(__.identity()", ".count()).count()"),
        (".group().by('n').by(__.identity()", ".count()).count()"),
        (".project('a').by(__.identity()", ".count()).count()"),
        (".dedup().by(__.identity()", ".count())"),
        (".aggregate('x').by(__.identity()", ".count())"),
        (".branch(__.identity()", ").option(any, __.identity())"),
        (".match(__.as('a').identity()", ".as('b'))"),
        (".addV(__.constant('a')", ")"),
        (".property('n', __.identity()", ".count())"),
        (".has('n', __.identity()", ")"),
        (".is(P.not(P.eq(1)", "))"),
        (".inject([[1]", ")"),
    ];
    let run = move || {
        for (open, close) in forms {
            let db = modern();
            let depth = if open.matches(['(', '[']).count() > 2 { 110 } else { 240 };
            let nested = |open: &str, close: &str, within: &str| {
                format!("{}{within}{}", open.repeat(depth), close.repeat(depth))
            };
            let text = match open {
                ".is(P.not(P.eq(1)" => format!("g.V().is({})", nested("P.not(", ")", "P.eq(1)")),
                ".inject([[1]" => format!("g.inject({})", nested("[", "]", "1")),
                _ => format!("g.V().limit(1){}", nested(open, close, "")),
            };
            for text in [text.clone(), format!("{text}.profile()"), format!("g.withPath(){}", &text[1..])] {
                for query in [db.gremlin(&text), db.gremlin(&text).strict(true)] {
                    let ended = query.timeout(PATIENCE).items();
                    let kind = ended.as_ref().err().map(evergraph::Error::kind);
                    assert!(
                        matches!(kind, None | Some(ErrorKind::Invalid | ErrorKind::Limit)),
                        "{text}: {kind:?}"
                    );
                    assert!(
                        kind != Some(ErrorKind::Limit) || open.contains("inject"),
                        "{text}: {:?}",
                        ended.err()
                    );
                }
                let explained = db.gremlin(&text).explain().map(|explained| explained.to_string());
                assert!(explained.is_ok_and(|text| !text.is_empty()), "{text}");
            }
        }
    };
    on_a_small_stack(run);
}

/// A bound that is a hundred times as large lets a tree be built, whose levels are then counted one within the other.
#[test]
fn a_tree_is_refused_before_it_is_too_deep_to_be_looked_at() {
    on_a_small_stack(|| {
        let db = modern();
        for end in ["tree()", "tree('x').cap('x')"] {
            let text = format!("g.inject(1).repeat(__.constant(1)).times(20000).{end}");
            let limits = Limits { timeout: PATIENCE, memory_bytes: 1 << 30, ..LIMITS };
            let said = db.gremlin(&text).limits(limits).items().map(|all| all.len()).unwrap_err().to_string();
            assert!(said.contains("nested more than 256 deep"), "{text}: {said}");
        }
    });
}

/// Runs `test` on half a mebibyte, as some systems give.
fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(512 << 10).spawn(test).unwrap().join().unwrap();
}
