//! Strategies: what a query sees of the graph, what it refuses, what falls by chance.

use crate::modern::modern;
use crate::{answers, gremlin};
use evergraph::Database;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(answers(&modern(), text), expected, "{text}");
}

#[track_caller]
fn check_refused(text: &str, message: &str) {
    let error = gremlin(&modern(), text, 1024).map(|items| items.len()).unwrap_err().to_string();
    assert!(error.contains(message), "{text}: {error}");
}

const SOME_VERTICES: &str =
    "g.withStrategies(new SubgraphStrategy(vertices: __.has('name', within('josh', 'lop', 'ripple'))))";

#[test]
fn a_subgraph_of_vertices_is_seen_wherever_a_query_looks() {
    let check = |rest: &str, expected: &[&str]| check(&format!("{SOME_VERTICES}{rest}"), expected);
    check(".V().values('name')", &["josh", "lop", "ripple"]);
    check(".E().count()", &["2"]);
    // A count of the last hop comes from degrees otherwise.
    check(".V().both().count()", &["4"]);
    check(".V().outE().count()", &["2"]);
    check(".V().out().in().values('name')", &["josh", "josh"]);
    check(".V().repeat(both()).times(2).dedup().values('name')", &["josh", "lop", "ripple"]);
    check(".V().where(__.in()).values('name')", &["lop", "ripple"]);
    check(".V().not(__.in()).values('name')", &["josh"]);
    check(
        ".V().project('n', 'd').by('name').by(bothE().count())",
        &["{d: 1, n: lop}", "{d: 1, n: ripple}", "{d: 2, n: josh}"],
    );
    check(".V().group().by('name').by(in().values('name').fold()).select('lop')", &["[josh]"]);
    check(".V().union(out(), __.in()).values('name')", &["josh", "josh", "lop", "ripple"]);
    check(".V().hasLabel('software').local(bothE().otherV().values('name'))", &["josh", "josh"]);
    check(".V().coalesce(out('knows'), out('created')).values('name')", &["lop", "ripple"]);
    check(
        ".V().as('a').out().as('b').select('a', 'b').by('name')",
        &["{a: josh, b: lop}", "{a: josh, b: ripple}"],
    );
    // Who comes from outside walks nowhere.
    check(".inject('x').V().has('name', 'marko').out()", &[]);
}

#[test]
fn an_edge_on_the_way_is_not_on_the_path() {
    check(
        &format!("{SOME_VERTICES}.V().out().path().by('name')"),
        &["path[josh, lop]", "path[josh, ripple]"],
    );
    let heavy = "g.withStrategies(new SubgraphStrategy(edges: __.has('weight', gt(0.4))))";
    check(
        &format!("{heavy}.V().out().path().by('name')"),
        &["path[josh, ripple]", "path[marko, josh]", "path[marko, vadas]"],
    );
    check(
        &format!("{heavy}.V().outE().inV().path().by('name').by('weight').by('name')"),
        &["path[josh, 1.0, ripple]", "path[marko, 0.5, vadas]", "path[marko, 1.0, josh]"],
    );
}

#[test]
fn edges_are_seen_by_their_own_condition_and_by_their_ends() {
    let created = |more: &str| {
        format!(
            "g.withStrategies(new SubgraphStrategy(edges: __.hasLabel('created'), vertices: __.has('age', lt(35)).or().hasLabel('software'){more}))"
        )
    };
    check(&format!("{}.E().count()", created("")), &["3"]);
    check(&format!("{}.E().count()", created(", checkAdjacentVertices: false")), &["4"]);
    check(&format!("{}.V().out().count()", created("")), &["3"]);
    check(
        &format!("{}.V().has('name', 'lop').in().values('name')", created(", checkAdjacentVertices: false")),
        &["josh", "marko"],
    );
    check(
        &format!("{}.V().has('name', 'lop').inE().count()", created(", checkAdjacentVertices: false")),
        &["3"],
    );
}

#[test]
fn conditions_see_the_whole_graph() {
    // marko himself is not in the subgraph of those whom he knows.
    check(
        "g.withStrategies(new SubgraphStrategy(vertices: __.in('knows').has('name', 'marko'))).V().values('name')",
        &["josh", "vadas"],
    );
}

#[test]
fn properties_that_are_not_seen_are_as_if_they_were_not_there() {
    let names = "g.withStrategies(new SubgraphStrategy(vertexProperties: __.hasKey('name')))";
    let check = |rest: &str, expected: &[&str]| check(&format!("{names}{rest}"), expected);
    check(".V().hasLabel('software').values()", &["lop", "ripple"]);
    check(".V().properties('age').count()", &["0"]);
    check(".V().has('age').count()", &["0"]);
    check(".V().hasNot('age').count()", &["6"]);
    check(".V().has('age', 29).count()", &["0"]);
    check(".V().has('name', 'marko').valueMap()", &["{name: [marko]}"]);
    check(".V().order().by('age').count()", &["0"]);
    check(".V().has('name', 'lop').values('name').path().by('name').by()", &["path[lop, lop]"]);
    check(".V().hasLabel('software').project('n', 'l').by('name').by('lang')", &["{n: lop}", "{n: ripple}"]);
    // A map is no element, and edges keep theirs.
    check(".inject([age: 1]).order().by('age').select('age')", &["1"]);
    check(".E().values('weight').count()", &["6"]);
}

#[test]
fn who_adds_to_a_subgraph_sees_what_belongs_to_it() {
    let db = modern();
    let people = "g.withStrategies(new SubgraphStrategy(vertices: __.hasLabel('person')))";
    assert_eq!(gremlin(&db, &format!("{people}.addV('dog')"), 3).unwrap().len(), 0);
    assert_eq!(gremlin(&db, &format!("{people}.addV('person')"), 3).unwrap().len(), 1);
    assert_eq!(answers(&db, "g.V().hasLabel('dog').count()"), ["1"]);
}

fn partitioned() -> Database {
    let db = crate::database();
    for (partition, name) in [("a", "alice"), ("b", "bob"), ("a", "ann")] {
        let text = format!(
            "g.withStrategies(new PartitionStrategy(partitionKey: 'part', writePartition: '{partition}', \
             readPartitions: [])).addV('person').property('name', '{name}').property('part', 'elsewhere')"
        );
        assert_eq!(gremlin(&db, &text, 3).unwrap().len(), 1);
    }
    let text = "g.withStrategies(new PartitionStrategy(partitionKey: 'part', writePartition: 'a', readPartitions: ['a', 'b']))
        .V().has('name', 'alice').as('x').V().has('name', neq('alice')).addE('knows').from('x')";
    assert_eq!(gremlin(&db, text, 3).unwrap().len(), 2);
    db
}

#[test]
fn a_partition_is_written_to_and_others_are_read() {
    let db = partitioned();
    assert_eq!(answers(&db, "g.V().groupCount().by('part')"), ["{a: 2, b: 1}"]);
    assert_eq!(answers(&db, "g.E().groupCount().by('part')"), ["{a: 2}"]);
    let check = |read: &str, rest: &str, expected: &[&str]| {
        let text = format!(
            "g.withStrategies(new PartitionStrategy(partitionKey: 'part', readPartitions: [{read}])){rest}"
        );
        assert_eq!(answers(&db, &text), expected, "{text}");
    };
    check("'a'", ".V().values('name')", &["alice", "ann"]);
    check("'a', 'b'", ".V().values('name')", &["alice", "ann", "bob"]);
    check("", ".V().count()", &["0"]);
    // The edge to bob is in the partition, and bob isn't.
    check("'a'", ".V().outE().count()", &["2"]);
    check("'a'", ".V().out().values('name')", &["ann"]);
    check("'a'", ".V().outE().inV().values('name')", &["ann"]);
    check("'b'", ".V().in().count()", &["0"]);
    let text =
        "g.withStrategies(new PartitionStrategy(partitionKey: 'part', readPartitions: ['a'])).addV('person')";
    assert!(gremlin(&db, text, 3).unwrap_err().to_string().contains("no writePartition"));
}

#[test]
fn a_subgraph_is_seen_within_a_partition() {
    let db = partitioned();
    let text = "g.withStrategies(new PartitionStrategy(partitionKey: 'part', readPartitions: ['a']),
        new SubgraphStrategy(vertices: __.both().has('name', 'bob').or().has('name', 'ann'))).V().values('name')";
    // alice knows bob, but a condition sees no more of another partition than the query does.
    assert_eq!(answers(&db, text), ["ann"]);
}

#[test]
fn who_gives_nothing_counts_as_null() {
    let productive = "g.withStrategies(ProductiveByStrategy)";
    check(&format!("{productive}.V().order().by('age').limit(2).values('name').order()"), &["lop", "ripple"]);
    check("g.V().groupCount().by('lang')", &["{java: 2}"]);
    check(&format!("{productive}.V().groupCount().by('lang')"), &["{java: 2, null: 4}"]);
    check(
        "g.withStrategies(new ProductiveByStrategy(productiveKeys: ['lang'])).V().groupCount().by('lang')",
        &["{java: 2}"],
    );
    check(&format!("{productive}.V().dedup().by('age').count()"), &["5"]);
    for reducer in ["sum", "mean", "min", "max"] {
        let gathered = format!("{productive}.V().aggregate('a').by('height').cap('a')");
        check(&format!("{gathered}.{reducer}(local)"), &["null"]);
        check(&format!("{gathered}.unfold().{reducer}()"), &["null"]);
        check(&format!("g.V().values('height').{reducer}()"), &[]);
    }
    check(
        &format!("{productive}.V().hasLabel('software').project('a').by(out().values('name'))"),
        &["{a: null}", "{a: null}"],
    );
}

#[test]
fn a_seed_makes_chance_fall_alike() {
    let seeded = |seed: i64, rest: &str| {
        answers(&modern(), &format!("g.withStrategies(new SeedStrategy(seed: {seed})){rest}"))
    };
    let coins = ".V().values('name').order().coin(0.5).fold()";
    // What TinkerPop draws of this seed.
    assert_eq!(seeded(999_999, coins), ["[josh]"]);
    for rest in [
        coins,
        ".V().values('name').order().sample(3).fold()",
        ".V().values('name').order().fold().sample(local, 3)",
        ".V().values('name').order().order().by(shuffle).fold()",
    ] {
        let all: Vec<_> = (0..20).map(|seed| seeded(seed, rest)).collect();
        assert!(all.iter().any(|one| *one != all[0]), "{rest}: the seed makes no difference");
    }
}

#[test]
fn verifications_refuse_what_they_are_for() {
    for text in ["addV('dog')", "V().addE('a').to(V())", "V().property('a', 1)", "V().local(out().drop())"] {
        check_refused(
            &format!("g.withStrategies(ReadOnlyStrategy).{text}"),
            "The provided traversal has a mutating step and thus is not read only",
        );
    }
    check("g.withStrategies(ReadOnlyStrategy).V().count()", &["6"]);
    check(
        "g.withStrategies(ReadOnlyStrategy).withoutStrategies(ReadOnlyStrategy).addV('dog').count()",
        &["1"],
    );
    let labels = "g.withStrategies(EdgeLabelVerificationStrategy(throwException: true))";
    check(&format!("{labels}.V().out('knows').count()"), &["2"]);
    check_refused(&format!("{labels}.V().where(out())"), "vertex step without any specified edge label");
    check("g.withStrategies(EdgeLabelVerificationStrategy).V().out().count()", &["6"]);
    let keys = "g.withStrategies(ReservedKeysVerificationStrategy(throwException: true";
    check_refused(
        &format!("{keys})).addV().property('id', 1)"),
        "setting a property key to a reserved word: id",
    );
    check_refused(
        &format!("{keys}, keys: {{'age'}})).V().property('age', 1)"),
        "setting a property key to a reserved word: age",
    );
    check(&format!("{keys}, keys: {{'age'}})).addV().property('id', 1).values('id')"), &["1"]);
    check_refused(
        "g.withStrategies(VertexProgramRestrictionStrategy, VertexProgramStrategy).V()",
        "does not allow the use of a GraphComputer",
    );
    check_refused("g.withStrategies(ElementIdStrategy).V('a')", "no property can be one");
    check("g.withStrategies(ElementIdStrategy).V().count()", &["6"]);
}

#[test]
fn and_and_or_stand_alone_without_their_strategy() {
    let either = "V().where(has('name', 'marko').or().has('name', 'lop')).count()";
    check(&format!("g.{either}"), &["2"]);
    check(&format!("g.withoutStrategies(ConnectiveStrategy).{either}"), &["0"]);
    check(
        &format!("g.withoutStrategies(ConnectiveStrategy).withStrategies(ConnectiveStrategy).{either}"),
        &["2"],
    );
}

#[test]
fn what_drivers_say_besides_is_ignored() {
    for strategies in [
        "with('myVar', 'myValue')",
        "withStrategies(new OptionsStrategy(batchSize: 64, userAgent: 'x', any: __.out(), paging: [1: 2]))",
        "withStrategies(new SeedStrategy(strategy: 'org.apache.SeedStrategy', seed: 1))",
        "withStrategies(new MatchAlgorithmStrategy(strategy: 'x', matchAlgorithm: 'greedy'))",
        "withStrategies(new VertexProgramStrategy(graphComputer: 'x', workers: 2, result: 'NEW', vertices: null))",
        "withoutStrategies(LazyBarrierStrategy, PathRetractionStrategy)",
    ] {
        check(&format!("g.{strategies}.V().count()"), &["6"]);
    }
}

#[test]
fn what_a_strategy_is_not_or_does_not_take_is_told() {
    for (strategies, message) in [
        (
            "withStrategies(ReadOnyStrategy)",
            "no strategy is called `ReadOnyStrategy`; did you mean `ReadOnlyStrategy`?",
        ),
        ("withoutStrategies(Nothing)", "no strategy is called `Nothing`"),
        ("withStrategies(new ReadOnlyStrategy(a: 1))", "ReadOnlyStrategy has no option `a`; it has none"),
        ("withStrategies(new CountStrategy(a: 1))", "CountStrategy has no option `a`; it has none"),
        ("withStrategies(new SeedStrategy(sed: 1))", "the option `seed` of SeedStrategy has to be given"),
        (
            "withStrategies(new SeedStrategy(seed: 'a'))",
            "the option `seed` of SeedStrategy takes a whole number",
        ),
        (
            "withStrategies(new PartitionStrategy(partitionKey: 'a', read: []))",
            "PartitionStrategy has no option `read`; it has `includeMetaProperties`, `partitionKey`, `writePartition`, `readPartitions`",
        ),
        (
            "withStrategies(new PartitionStrategy(partitionKey: 'a', readPartitions: 'a'))",
            "the option `readPartitions` of PartitionStrategy takes a list or a set of texts",
        ),
        ("withStrategies(new PartitionStrategy(partitionKey: 1))", "takes a text"),
        (
            "withStrategies(new VertexProgramStrategy(vertices: __.out()))",
            "the option `vertices` of VertexProgramStrategy isn't supported: SubgraphStrategy says what a query sees",
        ),
        ("withStrategies(new SubgraphStrategy(vertices: 1))", "takes a traversal"),
        ("withStrategies(new SubgraphStrategy(checkAdjacentVertices: 1))", "takes true or false"),
        (
            "withStrategies(new PartitionStrategy(partitionKey: 'a', includeMetaProperties: true))",
            "isn't supported",
        ),
    ] {
        check_refused(&format!("g.{strategies}.V()"), message);
    }
}
