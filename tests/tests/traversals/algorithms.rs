//! Algorithms within a query: on what the query sees, and with the answers of the definition.

use crate::modern::modern;
use crate::{answers, gremlin, refused, run_in, shown};
use evergraph::graph::cancel::CancelFlag;
use evergraph::gremlin::query::Limits;
use evergraph::{Database, ErrorKind, ReadByName as _};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(answers(&modern(), text), expected, "{text}");
}

#[test]
fn what_is_computed_is_read_by_its_key() {
    let rank = "gremlin.pageRankVertexProgram.pageRank";
    check(&format!("g.V().pageRank().has('{rank}').count()"), &["6"]);
    check(
        &format!("g.V().pageRank().order().by('{rank}', desc).limit(2).values('name')"),
        &["lop", "ripple"],
    );
    check(
        "g.V().pageRank().with(PageRank.propertyName, 'r').values('r').sum().math('floor(_ * 1000 + 0.5)')",
        &["1000.0"],
    );
    check(
        "g.V().connectedComponent().with(ConnectedComponent.propertyName, 'c').groupCount().by('c')",
        &["{0: 6}"],
    );
    check(
        "g.V().hasLabel('person').connectedComponent().with(ConnectedComponent.edges, __.bothE('knows')).
         with(ConnectedComponent.propertyName, 'c').group().by('c').by(values('name').order().fold())",
        &["{0: [josh, marko, vadas], 3: [peter]}"],
    );
    check(
        "g.V().peerPressure().with(PeerPressure.propertyName, 'c').groupCount().by('c')",
        &["{0: 5, 3: 1}"],
    );
    // A key that another step reads by has both, and the properties of the graph are still there.
    check(
        "g.V().pageRank().with(PageRank.propertyName, 'r').with(PageRank.times, 0).has('name', 'lop').valueMap('lang', 'r')",
        &["{lang: [java], r: [0.16666666666666666]}"],
    );
    check("g.V().pageRank().with(PageRank.propertyName, 'age').has('age', lt(1)).count()", &["6"]);
    check("g.V().has('age').count()", &["4"]);
}

#[test]
fn what_is_computed_is_kept_by_who_writes_it() {
    let db = modern();
    let keep = "g.V().pageRank().with(PageRank.propertyName, 'r').property('rank', __.values('r'))";
    gremlin(&db, keep, 3).unwrap();
    assert_eq!(
        answers(&db, "g.V().order().by('rank', desc).limit(2).values('name').order()"),
        ["lop", "ripple"]
    );
    assert_eq!(answers(&db, "g.V().has('r').count()"), ["0"]);
}

#[test]
fn traversers_go_on_as_they_came_and_say_where_rank_begins() {
    check(
        "g.V().out('created').as('a').pageRank().with(PageRank.times, 0).with(PageRank.propertyName, 'r').
         select('a').values('r')",
        &["1.0", "3.0", "3.0", "3.0"],
    );
    check(
        "g.V().has('name', 'ripple').pageRank(1.0).with(PageRank.edges, __.inE('created')).with(PageRank.times, 1).
         with(PageRank.propertyName, 'r').V().has('r', gt(0)).values('name')",
        &["josh"],
    );
    check("g.V().has('name', 'nobody').pageRank().count()", &["0"]);
}

#[test]
fn ranks_are_those_of_the_kernel() {
    use evergraph::algorithms::control::Control;
    use evergraph::algorithms::pagerank::{PageRankParameters, run};
    use evergraph::algorithms::scope::Scope;
    let db = modern();
    let snapshot = db.snapshot();
    let ranks =
        run(&snapshot, &Scope::default(), &PageRankParameters::default(), &Control::default()).unwrap();
    let text = "g.V().pageRank().with(PageRank.propertyName, 'r').order().by(id).values('r')";
    let found: Vec<f64> = snapshot.gremlin(text).values().unwrap();
    let want: Vec<f64> = ranks.scores.iter().copied().filter(|score| *score > 0.0).collect();
    assert_eq!(found.len(), want.len());
    assert!(
        found.iter().zip(&want).all(|(found, want)| (found - want).abs() < 1e-5),
        "{found:?}, not {want:?}"
    );
}

#[test]
fn shortest_paths_go_both_ways_unless_told_otherwise() {
    check("g.V().has('name', 'marko').shortestPath().count()", &["6"]);
    check(
        "g.V().has('name', 'vadas').shortestPath().with(ShortestPath.target, __.has('name', 'peter')).
         unfold().values('name')",
        &["lop", "marko", "peter", "vadas"],
    );
    check(
        "g.V().has('name', 'marko').shortestPath().with(ShortestPath.edges, Direction.OUT).count()",
        &["5"],
    );
    check(
        "g.V().has('name', 'marko').shortestPath().with(ShortestPath.edges, __.outE('knows')).
         with(ShortestPath.includeEdges).unfold().hasLabel('knows').count()",
        &["2"],
    );
    check(
        "g.V().has('name', 'marko').shortestPath().with(ShortestPath.distance, 'weight').
         with(ShortestPath.target, __.has('name', 'josh')).unfold().values('name')",
        &["josh", "lop", "marko"],
    );
    // The path of the traverser has the path that it found in it.
    check(
        "g.V().has('name', 'peter').shortestPath().with(ShortestPath.maxDistance, 0).path()",
        &["path[v[3], path[v[3]]]"],
    );
    // Traversers that stand for several find each path as often.
    check(
        "g.V().has('name', 'lop').in().shortestPath().with(ShortestPath.target, __.has('name', 'lop')).count()",
        &["3"],
    );
}

#[test]
fn they_see_what_the_query_sees() {
    let db = modern();
    let mut transaction = db.begin();
    run_in(&mut transaction, "g.V().has('name', 'marko').addE('knows').to(__.V().has('name', 'peter'))")
        .unwrap();
    run_in(&mut transaction, "g.V().has('name', 'lop').bothE().drop()").unwrap();
    let components =
        "g.V().connectedComponent().with(ConnectedComponent.propertyName, 'c').values('c').dedup().count()";
    assert_eq!(shown(&run_in(&mut transaction, components).unwrap()[0]), "2");
    drop(transaction);
    assert_eq!(answers(&db, components), ["1"]);
    let within = components
        .replace("g.V()", "g.withStrategies(new SubgraphStrategy(edges: __.hasLabel('knows'))).V()");
    assert_eq!(answers(&db, &within), ["4"]);
    let people = components
        .replace("g.V()", "g.withStrategies(new SubgraphStrategy(vertices: __.hasLabel('person'))).V()");
    assert_eq!(answers(&db, &people), ["2"]);
}

#[test]
fn wrong_uses_are_told_with_what_to_do() {
    let db = modern();
    let said = |text: &str, wanted: &str| {
        let said = refused(&db, text);
        assert!(said.contains(wanted), "{text}: {said}");
    };
    said("g.V().local(pageRank())", "pageRank() can't stand in a traversal within another");
    said("g.V().where(__.shortestPath())", "shortestPath() can't stand in a traversal within another");
    said("g.V().pageRank(1.5)", "from 0 to 1");
    said("g.V().pageRank().with('time', 3)", "no option `time`; did you mean `times`?");
    said("g.V().connectedComponent().with('times', 3)", "it has edges, propertyName");
    said("g.V().pageRank().with(PageRank.times, -1)", "times must be from 0");
    said("g.V().pageRank().with(PageRank.edges, 'knows')", "edges is a traversal");
    said("g.V().pageRank().with(PageRank.edges, __.out())", "which edges pageRank() goes over gave a vertex");
    said("g.V().values('name').pageRank()", "pageRank() starts from vertices");
    said("g.E().shortestPath()", "shortestPath() starts from vertices");
    said("g.V().shortestPath().with(ShortestPath.distance, __.label())", "must be a number");
    said("g.V().shortestPath().with(ShortestPath.maxDistance, 'far')", "maxDistance must be a number");
}

/// A ladder: 2^30 shortest paths from one end to the other.
fn ladder() -> Database {
    let db = crate::database();
    db.transact(|tx| {
        let mut last = tx.add_vertex("V", &[("at", 0_i64.into())])?;
        for at in 1..=30_i64 {
            let next = tx.add_vertex("V", &[("at", at.into())])?;
            for _ in 0..2 {
                let side = tx.add_vertex("Side", &[])?;
                tx.add_edge(last, "E", side, &[])?;
                tx.add_edge(side, "E", next, &[])?;
            }
            last = next;
        }
        Ok(())
    })
    .unwrap();
    db
}

#[test]
fn very_many_paths_come_as_they_are_asked_for_and_end_with_the_time() {
    let db = ladder();
    let snapshot = db.snapshot();
    let text = "g.V().has('at', 0).shortestPath().with(ShortestPath.target, __.has('at', 30))";
    let some = snapshot.gremlin(&format!("{text}.limit(1000).dedup().count()")).one::<i64>().unwrap();
    assert_eq!(some, 1000);
    let limits = Limits { timeout: Duration::from_millis(200), ..Limits::default() };
    let error = snapshot.gremlin(&format!("{text}.count()")).limits(limits).items().unwrap_err();
    assert!(error.to_string().contains("timeout"), "{error}");
    let cancel = CancelFlag::default();
    cancel.cancel();
    let error = snapshot.gremlin("g.V().pageRank()").cancel(&cancel).items().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let limits = Limits { memory_bytes: 1000, ..Limits::default() };
    let error = snapshot.gremlin("g.V().pageRank()").limits(limits).items().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn a_kernel_takes_its_own_memory_from_that_of_the_query() {
    let db = crate::database();
    db.transact(|tx| (0..5_000).try_for_each(|_| tx.add_vertex("account", &[]).map(drop))).unwrap();
    let snapshot = db.snapshot();
    let bound = snapshot.gremlin("g.V().id().max()").one::<i64>().unwrap() as u64 + 1;
    // The least memory that will do.
    let least = |text: &str| {
        let (mut low, mut high) = (0, 8 << 20);
        while low < high {
            let memory_bytes = u64::midpoint(low, high);
            let limits = Limits { memory_bytes, ..Limits::default() };
            match snapshot.gremlin(text).limits(limits).run() {
                Ok(_) => high = memory_bytes,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
                    low = memory_bytes + 1;
                }
            }
        }
        low
    };
    // 32 bytes a vertex, and 4.
    let (ranks, components) = (least("g.V().pageRank()"), least("g.V().connectedComponent()"));
    assert_eq!(ranks - components, (32 - 4) * bound);
}

const VERTICES: usize = 6;

/// All paths without a vertex twice from `path`'s end over `edges`, with their lengths.
fn walk(
    edges: &[(usize, usize, u8)],
    path: &mut Vec<usize>,
    length: u32,
    found: &mut Vec<(Vec<usize>, u32)>,
) {
    found.push((path.clone(), length));
    let end = *path.last().unwrap();
    for (from, to, weight) in edges {
        for (from, to) in [(from, to), (to, from)] {
            if *from == end && !path.contains(to) {
                path.push(*to);
                walk(edges, path, length + u32::from(*weight), found);
                path.pop();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Loops, parallel edges and edges of no length are among them.
    #[test]
    fn shortest_paths_are_the_shortest_of_all(
        edges in prop::collection::vec((0..VERTICES, 0..VERTICES, 0_u8..3), 0..9),
        weighs: bool,
        max in 0_u32..5,
    ) {
        let db = crate::database();
        let ids = db.transact(|tx| {
            let ids = (0..VERTICES).map(|_| tx.add_vertex("V", &[])).collect::<evergraph::Result<Vec<_>>>()?;
            for (from, to, weight) in &edges {
                tx.add_edge(ids[*from], "E", ids[*to], &[("w", i64::from(*weight).into())])?;
            }
            Ok(ids)
        }).unwrap();
        let weighed: Vec<_> =
            edges.iter().map(|(from, to, weight)| (*from, *to, if weighs { *weight } else { 1 })).collect();
        let mut want = BTreeSet::new();
        for source in 0..VERTICES {
            let mut found = Vec::new();
            walk(&weighed, &mut vec![source], 0, &mut found);
            for target in 0..VERTICES {
                let ends = |(path, _): &&(Vec<usize>, u32)| path.last() == Some(&target);
                let Some(least) = found.iter().filter(ends).map(|(_, length)| *length).min() else { continue };
                if least <= max {
                    let shortest = found.iter().filter(ends).filter(|(_, length)| *length == least);
                    want.extend(shortest.map(|(path, _)| path.iter().map(|at| ids[*at].0).collect::<Vec<_>>()));
                }
            }
        }
        let by = if weighs { ".with(ShortestPath.distance, 'w')" } else { "" };
        let text = format!("g.V().shortestPath(){by}.with(ShortestPath.maxDistance, {max})");
        let found = answers(&db, &text);
        let text_of = |path: &Vec<u32>| {
            let steps: Vec<String> = path.iter().map(|id| format!("v[{id}]")).collect();
            format!("path[{}]", steps.join(", "))
        };
        let mut want: Vec<String> = want.iter().map(text_of).collect();
        want.sort();
        prop_assert_eq!(found, want);
        prop_assert!(gremlin(&db, &text.replace("shortestPath()", "shortestPath().with(ShortestPath.includeEdges)"), 7).is_ok());
    }
}
