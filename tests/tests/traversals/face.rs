//! The face that Rust programs see: variables, typed results, streams, transactions, limits, errors.

use crate::modern::modern;
use evergraph::graph::cancel::CancelFlag;
use evergraph::gremlin::answer::FromItem;
use evergraph::gremlin::argument::IntoArgument;
use evergraph::gremlin::query::Limits;
use evergraph::query::error::TextError;
use evergraph::{Database, EdgeId, ErrorKind, Isolation, Item, Options, ReadByName, Value, VertexId};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error as _;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Walks that no machine gets to the end of: paths are told apart, so that no two of them become one row.
const ENDLESS: &str = "g.V().repeat(both()).times(1000000).path().count()";

/// What `variable` is for a query.
#[track_caller]
fn bound<T: FromItem>(variable: impl IntoArgument) -> T {
    modern().gremlin("g.inject(1).constant(x)").bind("x", variable).one().unwrap()
}

fn refused<T: FromItem + std::fmt::Debug>(text: &str) -> String {
    let error = modern().gremlin(text).one::<T>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    error.to_string()
}

#[test]
fn variables_are_values_of_every_kind() {
    assert!(bound::<bool>(true));
    assert_eq!(bound::<Value>(7_i8).to_string(), "7");
    assert_eq!(bound::<String>("it's \"quoted\"\n"), "it's \"quoted\"\n", "nothing needs to be escaped");
    assert_eq!(bound::<Option<i32>>(None::<i32>), None);
    assert_eq!(bound::<Vec<i64>>(vec![3, 1, 3]), [3, 1, 3]);
    assert_eq!(bound::<Vec<i64>>(BTreeSet::from([3, 1, 3])), [1, 3]);
    let nested = BTreeMap::from([("a".to_owned(), vec![1_i64]), ("b".to_owned(), vec![])]);
    assert_eq!(bound::<BTreeMap<String, Vec<i64>>>(nested.clone()), nested);
    let older = "g.V().has('person', 'age', gt(limit)).values('name').order()";
    let db = modern();
    let names: Vec<String> = db.gremlin(older).bind("limit", 99).bind("limit", 31).values().unwrap();
    assert_eq!(names, ["josh", "peter"], "the last value counts");
    let text = db.gremlin("g.V().has('name', name).count()").bind("name", "x') or ('1'");
    assert_eq!(text.one::<i64>().unwrap(), 0, "a value is never a part of the text");
}

#[test]
fn what_a_query_gave_can_be_asked_further() {
    let snapshot = modern().snapshot();
    let marko: VertexId = snapshot.gremlin("g.V().has('name', 'marko')").one().unwrap();
    let known: Vec<VertexId> = snapshot.gremlin("g.V(who).out('knows')").bind("who", marko).values().unwrap();
    let names: BTreeSet<String> = snapshot
        .gremlin("g.V(all).values('name')")
        .bind("all", known)
        .values()
        .unwrap()
        .into_iter()
        .collect();
    assert_eq!(names, BTreeSet::from(["josh".to_owned(), "vadas".to_owned()]));
    let light: EdgeId = snapshot.gremlin("g.E().has('weight', 0.2)").one().unwrap();
    let from: String = snapshot.gremlin("g.E(e).outV().values('name')").bind("e", light).one().unwrap();
    assert_eq!(from, "peter");
    assert_eq!(snapshot.type_of(light), "created");
    let path = snapshot.gremlin("g.V(who).out().path().limit(1)").bind("who", marko).one::<Item>().unwrap();
    let error = snapshot.gremlin("g.V(p)").bind("p", path).run().unwrap_err();
    assert_eq!(error.to_string(), "variable `p`: a path can't be the value of a variable");
}

#[test]
fn a_vertex_is_named_by_the_unique_key_of_its_label() {
    let db = modern();
    let josh: VertexId = db.gremlin("g.V().has('name', 'josh')").one().unwrap();
    assert_eq!(db.snapshot().key_of(josh).unwrap(), None, "nothing is unique yet");
    db.create_unique_index("person", "name").unwrap();
    let snapshot = db.snapshot();
    assert_eq!(snapshot.key_of(josh).unwrap(), Some(("name".to_owned(), Value::from("josh"))));
    let lop: VertexId = db.gremlin("g.V().has('name', 'lop')").one().unwrap();
    assert_eq!(snapshot.key_of(lop).unwrap(), None, "of another label");
    assert_eq!(snapshot.label_of(lop).unwrap().as_deref(), Some("software"));
    assert_eq!(snapshot.key_of(VertexId(u32::MAX)).unwrap(), None, "isn't there");
}

#[test]
fn results_become_types_and_say_what_they_are_if_they_do_not_fit() {
    let db = modern();
    let ages: HashMap<String, u8> =
        db.gremlin("g.V().hasLabel('person').group().by('name').by(values('age'))").one().unwrap();
    assert_eq!(ages["peter"], 35);
    let pairs: Vec<(String, i64)> = db.gremlin("g.V().groupCount().by(label).unfold()").values().unwrap();
    assert_eq!(
        BTreeMap::from_iter(pairs),
        BTreeMap::from([("person".to_owned(), 4), ("software".to_owned(), 2)])
    );
    let all: BTreeMap<String, Item> = db.gremlin("g.V().has('name', 'lop').elementMap()").one().unwrap();
    assert_eq!(all.keys().collect::<Vec<_>>(), ["id", "label", "lang", "name"]);
    assert_eq!(db.gremlin("g.V().values('age').mean()").one::<f64>().unwrap(), 30.75);
    assert_eq!(
        db.gremlin("g.V().values('age').fold()").one::<Value>().unwrap().value_type().to_string(),
        "list"
    );
    assert_eq!(refused::<i64>("g.V().limit(1)"), "an integer was requested, but the result is a vertex");
    assert_eq!(
        refused::<VertexId>("g.V().count()"),
        "a vertex was requested, but the result is a value of type long"
    );
    assert_eq!(refused::<u8>("g.inject(256)"), "the result is 256, which no u8 holds");
    assert_eq!(refused::<u64>("g.inject(-1)"), "the result is -1, which no u64 holds");
    assert_eq!(
        refused::<(i64, i64)>("g.inject([1, 2, 3])"),
        "a pair was requested, but the result is a list"
    );
    assert_eq!(refused::<Value>("g.V().fold()"), "a value was requested, but the result is a vertex");
    let error = db.gremlin("g.inject('a', null)").values::<String>().unwrap_err();
    assert_eq!(error.to_string(), "result 2: a text was requested, but the result is null");
}

#[test]
fn one_is_the_only_result_and_first_may_be_missing() {
    let db = modern();
    assert_eq!(db.gremlin("g.V().has('age', 99)").one::<Item>().unwrap_err().kind(), ErrorKind::NotFound);
    assert!(refused::<Item>("g.V()").contains("there are more"));
    assert_eq!(db.gremlin("g.V().has('age', 99)").first::<Item>().unwrap(), None);
    assert_eq!(db.gremlin("g.V().values('age').order()").first::<i64>().unwrap(), Some(27));
    // Whoever wants the first result only, still wants all that is written.
    assert!(db.gremlin("g.V().property('seen', true)").first::<VertexId>().unwrap().is_some());
    assert_eq!(db.gremlin("g.V().has('seen', true).count()").one::<i64>().unwrap(), 6);
}

#[test]
fn a_stream_that_is_left_early_never_makes_the_rest() {
    let db = modern();
    let snapshot = db.snapshot();
    // Each row stands for more than anybody counts, and the next batch for more than 64 bits do.
    let begun = Instant::now();
    let many = snapshot.gremlin("g.V().repeat(both()).times(30)").timeout(Duration::from_secs(60));
    assert_eq!(many.iter().unwrap().take(10_000).filter(Result::is_ok).count(), 10_000);
    // What lies behind the first batch is not met: there it would fail.
    let fails = "g.V().choose(__.has('lang'), __.fail('met'), __.constant(2))";
    let limits = Limits { batch_rows: 1, ..Limits::default() };
    let mut stream = snapshot.gremlin(fails).limits(limits).iter().unwrap();
    assert_eq!(stream.by_ref().take(4).filter(Result::is_ok).count(), 4);
    assert!(stream.next().unwrap().is_err());
    assert!(stream.next().is_none(), "nothing comes after an error");
    assert_eq!(snapshot.gremlin(fails).limits(limits).first::<i64>().unwrap(), Some(2));
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_stream_gives_what_all_results_at_once_are() {
    let db = modern();
    for text in
        ["g.V().repeat(both()).times(3).values('name').order()", "g.V().out().in()", "g.V().has('age', 99)"]
    {
        let snapshot = db.snapshot();
        let stream: Vec<Item> = snapshot.gremlin(text).iter().unwrap().map(Result::unwrap).collect();
        assert_eq!(stream, snapshot.gremlin(text).items().unwrap(), "{text}");
    }
}

#[test]
fn a_snapshot_is_never_written_to() {
    let db = modern();
    let snapshot = db.snapshot();
    for text in
        ["g.addV()", "g.V().drop()", "g.V().has('age', 99).property('a', 1)", "g.V().local(__.out().drop())"]
    {
        let said = "this query writes, and a snapshot can't be written to: run it in a transaction, or on the database";
        for error in [snapshot.gremlin(text).run().unwrap_err(), snapshot.gremlin(text).iter().err().unwrap()]
        {
            assert_eq!((error.kind(), error.to_string()), (ErrorKind::Invalid, said.to_owned()), "{text}");
        }
    }
    assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 6);
}

#[test]
fn a_transaction_reads_what_it_wrote_and_nobody_else_before_the_commit() {
    let db = modern();
    let mut tx = db.begin();
    let ann: VertexId = tx.gremlin("g.addV('person').property('name', 'ann')").one().unwrap();
    tx.set(ann, "age", 50).unwrap();
    assert_eq!(tx.gremlin("g.V().has('age', 50).values('name')").one::<String>().unwrap(), "ann");
    let streamed: Vec<_> =
        tx.gremlin("g.V().hasLabel('person').property('seen', 1)").iter().unwrap().collect();
    assert_eq!(streamed.len(), 5);
    assert_eq!(db.gremlin("g.V().has('name', 'ann').count()").one::<i64>().unwrap(), 0);
    drop(tx);
    assert_eq!(db.gremlin("g.V().has('seen', 1).count()").one::<i64>().unwrap(), 0, "rolled back");
    let mut tx = db.begin();
    tx.gremlin("g.addV('person').property('name', 'ann')").run().unwrap();
    tx.commit().unwrap();
    assert_eq!(db.gremlin("g.V().has('name', 'ann').count()").one::<i64>().unwrap(), 1);
}

#[test]
fn a_query_on_the_database_runs_again_when_another_was_first() {
    const THREADS: i64 = 4;
    const ROUNDS: i64 = 50;
    let db = crate::database();
    db.gremlin("g.addV('counter').property('n', 0L)").run().unwrap();
    let begin = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                begin.wait();
                for _ in 0..ROUNDS {
                    db.gremlin(
                        "g.V().property('n', values('n').math('_ + 1').asNumber(GType.LONG)).values('n')",
                    )
                    .one::<i64>()
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(db.gremlin("g.V().values('n')").one::<i64>().unwrap(), THREADS * ROUNDS, "no update is lost");
    // The same, the conflict made on purpose: in a transaction of the caller's it is the caller's.
    let mut first = db.begin();
    first.gremlin("g.V().property('n', 1L)").run().unwrap();
    db.gremlin("g.V().property('n', 2L)").transaction(Isolation::Serializable).run().unwrap();
    assert!(first.commit().unwrap_err().is_conflict());
    let attempts = Cell::new(0);
    db.transact(|tx| {
        attempts.set(attempts.get() + 1);
        tx.gremlin("g.V().property('n', 3L)").run()?;
        if attempts.get() == 1 {
            db.gremlin("g.V().property('n', 4L)").run()?;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!((attempts.get(), db.gremlin("g.V().values('n')").one::<i64>().unwrap()), (2, 3));
}

#[test]
fn nothing_of_a_query_that_fails_on_the_database_is_there() {
    let db = modern();
    let error =
        db.gremlin("g.V().as('v').property('seen', 1).values('name').math('_ + 1')").run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert_eq!(db.gremlin("g.V().has('seen', 1).count()").one::<i64>().unwrap(), 0);
}

#[test]
fn time_is_a_limit() {
    let db = modern();
    let begun = Instant::now();
    let short = Duration::from_millis(50);
    let snapshot = db.snapshot();
    let mut tx = db.begin();
    for error in [
        db.gremlin(ENDLESS).timeout(short).run().unwrap_err(),
        snapshot.gremlin(ENDLESS).timeout(short).run().unwrap_err(),
        tx.gremlin(ENDLESS).timeout(short).run().unwrap_err(),
        db.gremlin(&format!("{ENDLESS}.addV('end')")).timeout(short).run().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("timeout of 0.05 s"), "{error}");
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[test]
fn memory_is_a_limit_of_the_query_and_of_the_database() {
    let wide = "g.V().as('a').V().as('b').V().as('c').V().as('d').V().path()";
    let error = modern().gremlin(wide).memory_bytes(10_000).items().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("memory"), "{error}");
    assert_eq!(modern().gremlin(wide).items().unwrap().len(), 7776);
    let db =
        Database::in_memory_with(&Options { memory_limit_bytes: 1 << 17, ..Options::default() }).unwrap();
    db.gremlin("g.addV().addV().addV()").run().unwrap();
    // 3^8 rows, of which each is an item of a list.
    let all = "g.V().V().V().V().V().V().V().V().fold()";
    let snapshot = db.snapshot();
    let mut tx = db.begin();
    for error in [
        db.gremlin(all).run().unwrap_err(),
        snapshot.gremlin(all).run().unwrap_err(),
        tx.gremlin(all).run().unwrap_err(),
        db.gremlin(&format!("{all}.addV()")).run().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("for a query exceeds the memory budget"), "{error}");
    }
}

#[test]
fn a_query_stops_when_it_is_asked_to() {
    let db = modern();
    let cancel = CancelFlag::default();
    let error = thread::scope(|scope| {
        let query = scope.spawn(|| db.gremlin(ENDLESS).cancel(&cancel).run().unwrap_err());
        thread::sleep(Duration::from_millis(30));
        cancel.cancel();
        query.join().unwrap()
    });
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(
        db.snapshot().gremlin("g.V()").cancel(&cancel).run().unwrap_err().kind(),
        ErrorKind::Cancelled
    );
}

#[test]
fn an_error_of_a_text_shows_its_place() {
    let db = modern();
    let error = db.gremlin("g.V()\n  .out('knows')\n  .vlues('name')").run().unwrap_err();
    let said =
        "line 3, column 4: no step is called `vlues`; did you mean `values`?\n    .vlues('name')\n     ^^^^^";
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Invalid, said));
    let source = error.source().and_then(|source| source.downcast_ref::<TextError>()).unwrap();
    assert_eq!(source.place.map(|place| (place.line, place.column)), Some((3, 4)));
    let unbound = db.gremlin("g.V().has('age', gt(limit))").run().unwrap_err().to_string();
    assert!(unbound.starts_with("line 1, column 21: ") && unbound.contains("limit"), "{unbound}");
    assert!(unbound.ends_with("\n                      ^^^^^"), "{unbound}");
    let nested = format!("g{}", ".where(__".repeat(100_000));
    assert_eq!(db.gremlin(&nested).run().unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn a_database_that_was_closed_is_read_and_not_written() {
    let db = modern();
    db.close().unwrap();
    assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 6);
    assert!(db.gremlin("g.addV()").run().is_err());
    assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 6);
}

#[test]
fn an_explanation_names_the_index_and_runs_nothing() {
    let db = crate::database();
    db.create_unique_index("person", "name").unwrap();
    db.gremlin("g.addV('person').property('name', 'ann')").run().unwrap();
    let text = "g.V().has('person', 'name', 'ann').out('knows').count()";
    let index = |explained: &evergraph::query::explain::Explanation| explained.lines[0].index.clone();
    let explained = db.gremlin(text).explain().unwrap();
    assert_eq!(index(&explained).as_deref(), Some("person.name"));
    assert!(explained.lines.iter().all(|line| line.measured.is_none()), "{explained}");
    assert_eq!(index(&db.snapshot().gremlin(text).explain().unwrap()).as_deref(), Some("person.name"));
    db.gremlin("g.addV('person')").explain().unwrap();
    assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 1);
    let mut tx = db.begin();
    let explained = tx.gremlin(text).explain().unwrap();
    assert_eq!(index(&explained).as_deref(), Some("person.name"));
    let wrong = db.gremlin("g.V().otu()").explain().unwrap_err();
    assert!(wrong.to_string().starts_with("line 1, column 7"), "{wrong}");
}

#[test]
fn a_profile_counts_what_was_done_and_a_query_that_writes_has_written() {
    let db = modern();
    let rows = |profile: &evergraph::query::explain::Explanation| -> Vec<u64> {
        profile.lines.iter().map(|line| line.measured.expect("it ran").rows).collect()
    };
    let text = "g.V().hasLabel('person').values('age')";
    assert_eq!(rows(&db.gremlin(text).profile().unwrap()), [4, 4]);
    assert_eq!(rows(&db.snapshot().gremlin(text).profile().unwrap()), [4, 4]);
    let add = "g.inject(1, 2, 3).addV('thing')";
    assert_eq!(rows(&db.gremlin(add).profile().unwrap()).last(), Some(&3));
    let count = "g.V().hasLabel('thing').count()";
    assert_eq!(db.gremlin(count).one::<i64>().unwrap(), 3);
    let mut tx = db.begin();
    tx.gremlin(add).profile().unwrap();
    assert_eq!(tx.gremlin(count).one::<i64>().unwrap(), 6);
    drop(tx);
    assert_eq!(db.gremlin(count).one::<i64>().unwrap(), 3);
    assert_eq!(db.snapshot().gremlin(add).profile().unwrap_err().kind(), ErrorKind::Invalid);
    let limited = db.gremlin(ENDLESS).timeout(Duration::from_millis(50)).profile();
    assert_eq!(limited.unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn a_plan_tells_whether_a_query_writes_and_runs_nothing() {
    let db = modern();
    assert!(db.gremlin("g.V().drop()").plan().unwrap().writes);
    assert!(!db.gremlin("g.V().out()").plan().unwrap().writes);
    assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 6);
}
