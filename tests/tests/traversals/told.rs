//! What a query tells of itself, and how long it may take: `profile()`, `explain()`, `timeLimit()`.

use crate::modern::modern;
use crate::{answers, refused};
use evergraph::gremlin::query::Limits;
use evergraph::{Database, Item, ReadByName as _};
use std::time::{Duration, Instant};

/// The only result of `text`, which is a map.
fn told(db: &Database, text: &str) -> Item {
    db.gremlin(text).one::<Item>().unwrap()
}

fn part(item: &Item, key: &str) -> Item {
    let Item::Map(map) = item else { panic!("{item:?} is not a map") };
    map.get_text(key).cloned().unwrap_or_else(|| panic!("{item:?} has no {key}"))
}

fn steps(metrics: &Item) -> Vec<Item> {
    let Item::List(steps) = part(metrics, "metrics") else { panic!("{metrics:?}") };
    steps.iter().cloned().collect()
}

#[test]
fn profile_gives_what_each_step_did() {
    let db = modern();
    for end in ["profile()", "profile('x').cap('x')", "profile().next()", "profile().toList()"] {
        let metrics = told(&db, &format!("g.V().hasLabel('person').local(outE('created').count()).{end}"));
        let steps = steps(&metrics);
        assert_eq!(steps.len(), 2, "{metrics:?}");
        assert_eq!(part(&part(&steps[0], "counts"), "elementCount"), Item::from(4_i64));
        assert!(part(&steps[0], "name").as_str().unwrap().starts_with("V()"), "{metrics:?}");
        let within = self::steps(&steps[1]);
        assert_eq!((part(&within[0], "id"), within.len()), (Item::from("1.0"), 2), "{metrics:?}");
        let of = |item: &Item, key: &str| part(item, key).as_value().unwrap().as_f64().unwrap();
        let all: f64 = steps.iter().map(|step| of(step, "dur")).sum();
        assert!((all - of(&metrics, "dur")).abs() < 1e-6, "{metrics:?}");
        let shares: f64 = steps.iter().map(|step| of(&part(step, "annotations"), "percentDur")).sum();
        assert!((shares - 100.0).abs() < 1e-6, "{metrics:?}");
    }
    // What nobody asks for isn't told.
    assert_eq!(answers(&db, "g.V().profile('x')").len(), 6);
}

#[test]
fn a_profile_writes_what_the_query_does_and_an_explanation_nothing() {
    let db = modern();
    told(&db, "g.addV('person').profile()");
    assert_eq!(answers(&db, "g.V().count()"), ["7"]);
    let plan = db.gremlin("g.addV('person').explain()").one::<String>().unwrap();
    assert!(plan.contains("addV("), "{plan}");
    assert_eq!(answers(&db, "g.V().count()"), ["7"]);
    assert!(db.snapshot().gremlin("g.V().drop().explain()").one::<String>().unwrap().contains("drop()"));
}

#[test]
fn a_profile_elsewhere_is_refused() {
    let db = modern();
    let said = "profile() is allowed once, at the end of a query";
    for text in ["g.V().profile().count()", "g.V().where(__.out().profile())", "g.V().profile().profile()"] {
        assert!(refused(&db, text).contains(said), "{text}: {}", refused(&db, text));
    }
}

#[test]
fn a_time_limit_ends_what_would_take_longer_and_is_no_error() {
    let db = modern();
    assert_eq!(answers(&db, "g.V().timeLimit(60000).count()"), ["6"]);
    assert_eq!(answers(&db, "g.V().timeLimit(0).count()"), ["0"]);
    assert_eq!(answers(&db, "g.V().local(out().timeLimit(60000)).count()"), ["6"]);
    for text in [
        "g.V().repeat(both()).emit().timeLimit(LIMIT).path().count()",
        "g.V().repeat(both().timeLimit(LIMIT)).emit().path().count()",
    ] {
        let begun = Instant::now();
        let limits = Limits { batch_rows: 64, memory_bytes: 8 << 30, ..Limits::default() };
        // A busy machine may do nothing of it in a tenth of a second.
        let found = [100, 400, 1600, 6400].into_iter().any(|milliseconds| {
            let text = text.replace("LIMIT", &milliseconds.to_string());
            db.gremlin(&text).limits(limits).one::<i64>().unwrap() > 6
        });
        assert!(found && begun.elapsed() < Duration::from_secs(60), "{text}: {:?}", begun.elapsed());
    }
    assert!(refused(&db, "g.V().timeLimit(-1)").contains("a number of milliseconds, from 0 on"));
}
