//! An order that `order()` promised is kept by the steps behind it that run other traversals, whatever the size of batches.
//!
//! Branches used to run for all rows of a batch at once, and what came of them went on branch by branch: so a `limit()` behind
//! gave other rows than those that came first.

use crate::{gremlin, shown};
use evergraph::{Database, VertexId};

const COUNT: i64 = 10;

/// Vertices with `n` from 0 to 9, added in another order; `next` leads from each to the next one, `half` from the even ones
/// to the one with half of their number.
fn numbers() -> Database {
    let db = crate::database();
    db.transact(|tx| {
        let mut ids = vec![VertexId(0); COUNT as usize];
        for at in 0..COUNT {
            let n = at * 7 % COUNT;
            ids[n as usize] = tx.add_vertex("number", &[("n", n.into()), ("even", (n % 2 == 0).into())])?;
        }
        for n in 0..COUNT as usize {
            tx.add_edge(ids[n], "next", ids[(n + 1) % COUNT as usize], &[])?;
            if n % 2 == 0 {
                tx.add_edge(ids[n], "half", ids[n / 2], &[])?;
            }
        }
        Ok(())
    })
    .unwrap();
    db
}

/// What a text gives, in its order, in batches of 1, 3 and 1,024 rows.
fn in_order(db: &Database, text: &str) -> [Vec<String>; 3] {
    [1, 3, 1024].map(|batch_rows| {
        let found = gremlin(db, text, batch_rows).unwrap_or_else(|error| panic!("{text}: {error}"));
        found.iter().map(shown).collect()
    })
}

#[track_caller]
fn check(db: &Database, text: &str, expected: &[i64]) {
    let expected: Vec<String> = expected.iter().map(i64::to_string).collect();
    for (found, rows) in in_order(db, text).into_iter().zip([1, 3, 1024]) {
        assert_eq!(found, expected, "{text}, in batches of {rows}");
    }
}

/// Steps behind `g.V().order().by('n')`, and what comes of each vertex by its `n`.
type Step = (&'static str, fn(i64) -> Vec<i64>);

fn is_even(n: i64) -> bool {
    n % 2 == 0
}

#[test]
fn what_comes_of_rows_comes_in_their_order() {
    let steps: &[Step] = &[
        ("choose(has('even', true), values('n'), values('n'))", |n| vec![n]),
        (
            "choose(has('even', true), values('n')).choose(is(typeOf(GType.VERTEX)), constant(-9), identity())",
            |n| if is_even(n) { vec![n] } else { vec![-9] },
        ),
        (
            "choose(values('n')).option(between(2, 4), constant(-1)).option(gt(5), values('n')).option(none, constant(-2))",
            |n| {
                vec![if (2..4).contains(&n) {
                    -1
                } else if n > 5 {
                    n
                } else {
                    -2
                }]
            },
        ),
        ("choose(out('half'), out('half').values('n'), values('n'))", |n| {
            vec![if is_even(n) { n / 2 } else { n }]
        }),
        ("choose(has('even', true), repeat(out('next')).times(2), identity()).values('n')", |n| {
            vec![if is_even(n) { (n + 2) % COUNT } else { n }]
        }),
        (
            "choose(has('even', true), union(values('n'), choose(has('n', gt(4)), constant(-1), constant(-2))), values('n'))",
            |n| {
                if is_even(n) { vec![n, if n > 4 { -1 } else { -2 }] } else { vec![n] }
            },
        ),
        ("union(values('n'), constant(-1))", |n| vec![n, -1]),
        (
            "union(out('half').values('n'), values('n'))",
            |n| if is_even(n) { vec![n / 2, n] } else { vec![n] },
        ),
        ("union(repeat(out('next')).times(2), identity()).values('n')", |n| vec![(n + 2) % COUNT, n]),
        ("union(out('half'), union(identity(), out('next'))).values('n')", |n| {
            let half = if is_even(n) { vec![n / 2] } else { vec![] };
            [half, vec![n, (n + 1) % COUNT]].concat()
        }),
        ("coalesce(out('half').values('n'), constant(-1))", |n| vec![if is_even(n) { n / 2 } else { -1 }]),
        ("coalesce(has('even', true).union(out('next'), identity()), identity()).values('n')", |n| {
            if is_even(n) { vec![n + 1, n] } else { vec![n] }
        }),
        ("optional(out('half')).values('n')", |n| vec![if is_even(n) { n / 2 } else { n }]),
        ("optional(has('even', true).union(out('next'), identity())).values('n')", |n| {
            if is_even(n) { vec![n + 1, n] } else { vec![n] }
        }),
        ("local(union(values('n'), constant(-1)))", |n| vec![n, -1]),
        ("local(out('next').order().by('n')).values('n')", |n| vec![(n + 1) % COUNT]),
        ("local(union(out('next'), identity()).limit(1)).values('n')", |n| vec![(n + 1) % COUNT]),
        ("flatMap(union(values('n'), constant(-1)))", |n| vec![n, -1]),
        ("flatMap(coalesce(out('half'), identity())).values('n')", |n| {
            vec![if is_even(n) { n / 2 } else { n }]
        }),
        ("map(union(out('half'), identity())).values('n')", |n| vec![if is_even(n) { n / 2 } else { n }]),
        (
            "branch(values('even')).option(true, values('n')).option(false, constant(-1)).option(any, constant(-2))",
            |n| vec![if is_even(n) { n } else { -1 }, -2],
        ),
        ("repeat(out('next')).times(2).values('n')", |n| vec![(n + 2) % COUNT]),
        ("repeat(union(out('next'), out('half'))).times(1).values('n')", |n| {
            let half = if is_even(n) { vec![n / 2] } else { vec![] };
            [vec![(n + 1) % COUNT], half].concat()
        }),
        ("match(__.as('a').union(out('next'), identity()).as('b')).select('b').values('n')", |n| {
            vec![(n + 1) % COUNT, n]
        }),
        (
            "as('a').match(__.as('a').out('next').as('b'), __.as('b').union(identity(), out('next')).as('c')).select('c').values('n')",
            |n| vec![(n + 1) % COUNT, (n + 2) % COUNT],
        ),
        ("sideEffect(out('next')).values('n')", |n| vec![n]),
        ("where(or(out('half'), has('n', gt(4)))).values('n')", |n| {
            if is_even(n) || n > 4 { vec![n] } else { vec![] }
        }),
        ("project('a', 'b').by(union(out('half'), identity()).values('n')).by('n').select('a')", |n| {
            vec![if is_even(n) { n / 2 } else { n }]
        }),
        ("as('a').union(out('half'), out('next')).select('a').values('n')", |n| {
            if is_even(n) { vec![n, n] } else { vec![n] }
        }),
        (
            "union(out('half'), identity()).path().count(local)",
            |n| if is_even(n) { vec![2, 1] } else { vec![1] },
        ),
        ("barrier().choose(has('even', true), values('n'), values('n'))", |n| vec![n]),
        ("out('next').choose(has('even', true), values('n'), constant(-1))", |n| {
            let next = (n + 1) % COUNT;
            vec![if is_even(next) { next } else { -1 }]
        }),
        ("choose(has('even', true), sideEffect(out('next').aggregate('x')), identity()).values('n')", |n| {
            vec![n]
        }),
    ];
    let db = numbers();
    for (step, of_each) in steps {
        let expected: Vec<i64> = (0..COUNT).flat_map(of_each).collect();
        let text = format!("g.V().order().by('n').{step}");
        check(&db, &text, &expected);
        check(&db, &format!("{text}.limit(3)"), &expected[..3]);
        check(&db, &format!("{text}.fold().unfold().tail(2)"), &expected[expected.len() - 2..]);
    }
}

#[test]
fn branches_with_a_limit_take_rows_in_their_order() {
    let db = numbers();
    let ordered = |step: &str| format!("g.V().order().by('n').{step}");
    check(
        &db,
        &ordered("union(limit(2).values('n'), constant(-1))"),
        &[0, -1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1],
    );
    check(
        &db,
        &ordered("choose(has('even', true), values('n').limit(2), values('n'))"),
        &[0, 1, 2, 3, 5, 7, 9],
    );
    check(
        &db,
        &ordered("branch(values('even')).option(any, limit(1).values('n')).option(true, values('n'))"),
        &[0, 0, 2, 4, 6, 8],
    );
}

/// As in TinkerPop, where such branches have all rows before the first is asked for what it has.
#[test]
fn branches_with_a_barrier_come_one_after_the_other() {
    let db = numbers();
    let ordered = |step: &str| format!("g.V().order().by('n').{step}");
    check(&db, &ordered("union(count(), values('n'))"), &[10, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    check(
        &db,
        &ordered("union(values('n').limit(3), values('n').sum(), constant(-1).limit(1))"),
        &[0, 1, 2, 45, -1],
    );
    check(
        &db,
        &ordered("choose(has('even', true), values('n').order().by(desc), values('n'))"),
        &[8, 6, 4, 2, 0, 1, 3, 5, 7, 9],
    );
    check(
        &db,
        &ordered("union(repeat(out('half')).times(2).limit(2), identity().limit(1)).values('n')"),
        &[0, 1, 0],
    );
}

#[test]
fn loops_come_one_after_the_other_each_in_order() {
    let db = numbers();
    let ordered = |step: &str| format!("g.V().order().by('n').{step}.values('n')");
    let next = |by: i64| (0..COUNT).map(move |n| (n + by) % COUNT);
    let emitted: Vec<i64> = next(1).chain(next(2)).collect();
    check(&db, &ordered("repeat(out('next')).emit().times(2)"), &emitted);
    let emitted: Vec<i64> = next(0).chain(next(1)).collect();
    check(&db, &ordered("emit().repeat(out('next')).times(2).limit(20)"), &emitted);
    // Those that end and those that are emitted are the same loop's.
    check(
        &db,
        &ordered("until(has('even', true)).emit().repeat(out('next'))"),
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 4, 6, 8, 0],
    );
    check(
        &db,
        &ordered("until(has('even', true)).repeat(out('next')).emit(has('n', gt(5)))"),
        &[0, 2, 4, 6, 8, 2, 4, 6, 6, 8, 8, 0],
    );
    // Rows at vertices and rows at values are one wave.
    let text = "g.V().order().by('n').repeat(choose(typeOf_vertex, union(values('n'), out('half')), identity())).times(2)";
    let text = text.replace("typeOf_vertex", "is(typeOf(GType.VERTEX))");
    let text = format!("{text}.choose(is(typeOf(GType.VERTEX)), values('n'), identity())");
    let [one, three, all] = in_order(&db, &text);
    assert_eq!((&one, &three), (&all, &all), "{text}");
}

#[test]
fn what_is_gathered_is_gathered_in_order() {
    let db = numbers();
    // Each vertex is met twice, and so stands twice in the list, where it was met.
    let text = "g.V().order().by('n').out('next').both('next').values('n').fold().unfold()";
    let expected: Vec<i64> = (0..COUNT).flat_map(|n| [(n + 2) % COUNT, n]).collect();
    let sorted = |numbers: &[i64]| {
        numbers.chunks(2).map(|pair| [pair[0].min(pair[1]), pair[0].max(pair[1])]).collect::<Vec<_>>()
    };
    for found in in_order(&db, text) {
        let found: Vec<i64> = found.iter().map(|number| number.parse().unwrap()).collect();
        assert_eq!(sorted(&found), sorted(&expected));
    }
    check(
        &db,
        "g.V().order().by('n').out('next').out('next').group().by('even').by('n').select(values).unfold().unfold()",
        &[2, 4, 6, 8, 0, 3, 5, 7, 9, 1],
    );
    check(
        &db,
        "g.V().order().by('n', desc).union(out('next'), identity()).values('n').fold().limit(local, 3).unfold()",
        &[0, 9, 9],
    );
}

#[test]
fn a_list_is_an_order_too() {
    let db = numbers();
    check(&db, "g.inject(3, 1, 2).choose(is(gt(1)), identity(), constant(0))", &[3, 0, 2]);
    check(&db, "g.inject([3, 1, 2]).unfold().union(identity(), constant(0))", &[3, 0, 1, 0, 2, 0]);
    check(
        &db,
        "g.inject(1).map(__.constant([3, 1, 2]).unfold().choose(is(gt(1)), identity(), constant(0)).fold()).unfold()",
        &[3, 0, 2],
    );
}
