//! Services that `call()` calls, and files that `io()` reads and writes.

use crate::modern::modern;
use crate::{refused, shown};
use evergraph::query::service::{Kind, Request, Service, Services};
use evergraph::{Database, Error, GraphView, Item, ReadByName as _, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Gives a text as often as it is told, with what it was asked for.
struct Echo {
    calls: Arc<AtomicUsize>,
}

impl Service for Echo {
    fn summary(&self) -> &str {
        "Says what it hears."
    }

    fn kinds(&self) -> &[Kind] {
        &[Kind::Start, Kind::Streaming]
    }

    fn parameters(&self) -> &[(&str, &str)] {
        &[("times", "how often")]
    }

    fn call(&self, _graph: &dyn GraphView, requests: &[Request], found: &mut Vec<(u32, Item)>) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        for (row, request) in (0..).zip(requests) {
            let times = request
                .parameters
                .get_text("times")
                .and_then(Item::as_value)
                .and_then(|times| times.as_i64());
            let times = times.ok_or_else(|| Error::invalid("times is a whole number"))?;
            let heard = request.input.as_ref().map_or_else(|| "nothing".to_owned(), shown);
            found.extend((0..times).map(|_| (row, Item::from(heard.as_str()))));
        }
        Ok(())
    }
}

/// Answers nobody in particular.
struct Lost;

impl Service for Lost {
    fn summary(&self) -> &str {
        "Lost."
    }

    fn kinds(&self) -> &[Kind] {
        &[Kind::Streaming]
    }

    fn call(&self, _graph: &dyn GraphView, requests: &[Request], found: &mut Vec<(u32, Item)>) -> Result<()> {
        found.push((requests.len() as u32, Item::Null));
        Ok(())
    }
}

fn echo() -> (Services, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    (Services::default().with("echo", Echo { calls: Arc::clone(&calls) }).with("lost", Lost), calls)
}

fn ask(text: &str) -> Result<Vec<String>> {
    let items = modern().gremlin(text).services(&echo().0).items()?;
    Ok(items.iter().map(shown).collect())
}

#[test]
fn a_service_begins_a_query_or_answers_each_row() {
    assert_eq!(ask("g.call('echo', ['times': 2])").unwrap(), ["nothing", "nothing"]);
    assert_eq!(ask("g.call('echo').with('times', 1)").unwrap(), ["nothing"]);
    let rows = "g.V().hasLabel('software').values('name').order()";
    assert_eq!(
        ask(&format!("{rows}.call('echo').with('times', 2)")).unwrap(),
        ["lop", "lop", "ripple", "ripple"]
    );
    // What the row says counts before what the call says, and with() before both.
    let by_row = "call('echo', ['times': 5], __.project('times').by(__.constant(1)))";
    assert_eq!(ask(&format!("{rows}.{by_row}")).unwrap(), ["lop", "ripple"]);
    assert_eq!(ask(&format!("{rows}.{by_row}.with('times', __.constant(0))")).unwrap(), [""; 0]);
    assert_eq!(
        ask("g.V().has('name', 'lop').as('a').values('lang').call('echo').with('times', 1).select('a').values('name')").unwrap(),
        ["lop"]
    );
    assert_eq!(
        ask("g.V().where(__.values('age').call('echo').with('times', 1).is('29')).values('name')").unwrap(),
        ["marko"]
    );
}

#[test]
fn it_is_asked_for_many_rows_at_once() {
    let (services, calls) = echo();
    let text = "g.inject(1, 2, 3, 4, 5).call('echo').with('times', 1).count()";
    assert_eq!(modern().gremlin(text).services(&services).one::<i64>().unwrap(), 5);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[test]
fn services_are_listed() {
    assert_eq!(ask("g.call()").unwrap(), ["echo", "lost"]);
    assert_eq!(ask("g.call('--list').with('service', 'echo')").unwrap(), ["echo"]);
    assert_eq!(
        ask("g.call('--list', ['service': 'echo']).with('verbose')").unwrap(),
        ["{name: echo, params: {times: how often}, summary: Says what it hears., type: [Start, Streaming]}"]
    );
}

#[test]
fn algorithms_are_called_by_name_on_what_the_query_sees() {
    let said = |text: &str| ask(text).unwrap();
    let names = "project('n', 'c').by(__.select('vertex').values('name')).by(__.select('component'))";
    let found = said(&format!("g.call('wcc', [labels: ['person'], types: 'knows']).{names}.order().by('n')"));
    assert_eq!(found, ["{c: 0, n: josh}", "{c: 0, n: marko}", "{c: 1, n: peter}", "{c: 0, n: vadas}"]);
    assert_eq!(
        said("g.call('bfs').with('source', __.V().has('name', 'marko')).select('level').max()"),
        ["2"]
    );
    let near = "g.call('k_hop').with('sources', __.V().has('name', 'josh')).with('depth', 1).with('direction', 'in')";
    assert_eq!(said(&format!("{near}.select('vertex').values('name')")), ["josh", "marko"]);
    // Of all partitions {marko, vadas}, {josh, ripple}, {lop, peter} has the highest modularity: 5.04 / 49.
    let leiden = "g.call('leiden', [weight: 'weight', iterations: 2])";
    let communities = "group().by(select('community')).by(select('vertex').values('name').order().fold())";
    assert_eq!(
        said(&format!("{leiden}.{communities}.select(values).unfold().order().by(__.unfold())")),
        ["[josh, ripple]", "[lop, peter]", "[marko, vadas]"]
    );
    let best = "order().by('score', desc).limit(1).select('vertex').values('name')";
    assert_eq!(said(&format!("g.call('pagerank').{best}")), ["lop"]);
    // The application's own goes first.
    let services = Services::default().with("wcc", Echo { calls: Arc::default() });
    let own = modern().gremlin("g.call('wcc').with('times', 1)").services(&services).items().unwrap();
    assert_eq!(own.iter().map(shown).collect::<Vec<_>>(), ["nothing"]);
    let listed = said("g.call('--algorithms')");
    assert!(listed.len() == 20 && listed.contains(&"personalized_pagerank".to_owned()), "{listed:?}");
    let known =
        said("g.call('--algorithms', ['service': 'lcc']).with('verbose').select('params').select(keys)");
    assert_eq!(known, ["{directed, labels, types}"]);
}

#[test]
fn an_algorithm_sees_the_writes_of_its_transaction() {
    let db = modern();
    let mut transaction = db.begin();
    let mut said = |text: &str| transaction.gremlin(text).values::<i64>().unwrap();
    let components = "g.call('wcc').select('component').dedup().count()";
    assert_eq!(said(components), [1]);
    said("g.addV('person').property('name', 'new').count()");
    assert_eq!((said("g.call('wcc').count()"), said(components)), (vec![7], vec![2]));
    said(
        "g.V().has('name', 'marko').addE('knows').to(__.V().has('name', 'new')).property('weight', 0.25).count()",
    );
    assert_eq!(said(components), [1]);
    let near = "with('sources', __.V().has('name', 'marko')).with('depth', 1).count()";
    assert_eq!(said(&format!("g.call('k_hop').{near}")), [5]);
    said("g.V().has('name', 'vadas').drop()");
    assert_eq!(said(&format!("g.call('k_hop').{near}")), [4]);
    let far = "g.call('sssp').with('source', __.V().has('name', 'marko')).where(__.select('vertex').has('name', 'new'))";
    let far = transaction.gremlin(&format!("{far}.select('distance')")).values::<f64>().unwrap();
    assert_eq!(far, [0.25]);
}

#[test]
fn an_algorithm_is_told_what_is_wrong_and_stays_within_the_limits_of_the_query() {
    let said = |text: &str, wanted: &str| {
        let said = ask(text).unwrap_err().to_string();
        assert!(said.contains(wanted), "{text}: {said}");
    };
    said("g.call('pagerank', [damping: 2])", "damping is 2, but must be from 0 to 1");
    said("g.call('pagerank', [dumping: 1])", "no parameter is called dumping; did you mean `damping`?");
    said("g.call('wcc', [label: 'person'])", "no parameter is called label; did you mean `labels`?");
    said("g.call('wcc', [far: 1])", "no parameter is called far: labels, types");
    said("g.call('k_hop', [sources: 0, limit: 0])", "limit is 0, but must be at least 1");
    said("g.call('k_hop', [sources: 0, depth: -1])", "depth is -1, but must be at least 0");
    said("g.call('bfs')", "the parameter source is missing");
    said("g.call('wcc', [labels: 'persn'])", "label \"persn\" isn't in the graph; did you mean `person`?");
    said(
        "g.call('louvain', [weight: 'wieght'])",
        "property \"wieght\" isn't in the graph; did you mean `weight`?",
    );
    said("g.V().call('wcc')", "the service wcc only begins a query");
    said("g.call('leidn')", "did you mean `leiden`?");
    let part = "g.withStrategies(new SubgraphStrategy(vertices: __.hasLabel('person')))";
    said(
        &format!("{part}.call('wcc')"),
        "wcc reads the whole graph, and a strategy of this query shows a part",
    );
    said(&format!("{part}.V().limit(1).map(__.call('wcc'))"), "the service wcc only begins a query");
    assert!(refused(&modern(), "g.call('leidn')").contains("`leidn`; did you mean `leiden`?"));
    let small = modern().gremlin("g.call('pagerank')").memory_bytes(1 << 16).items().unwrap_err();
    assert_eq!(small.kind(), evergraph::ErrorKind::Limit, "{small}");
}

#[test]
fn what_cannot_be_called_is_told() {
    let said = |text: &str, wanted: &str| {
        let said = ask(text).unwrap_err().to_string();
        assert!(said.contains(wanted), "{text}: {said}");
    };
    said("g.call('ecko')", "no service is called `ecko`; did you mean `echo`?; g.call() lists them");
    said("g.call('lost')", "the service lost can't begin a query");
    said("g.V().call('lost')", "returned results for no request");
    said("g.V().call('echo')", "service echo: times is a whole number");
    said("g.V().call('echo', __.constant(1))", "the parameters of call() are a map");
    assert!(refused(&modern(), "g.call('echo')").contains("no service is registered"));
}

#[test]
fn files_are_read_and_written_where_that_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let db = modern();
    for (name, with) in [("graph.json", ""), ("graph.xml", ""), ("graph", ".with(IO.writer, IO.graphml)")] {
        let path = folder.path().join(name);
        let file = path.display();
        let write = format!("g.io('{file}'){with}.write()");
        let said = db.gremlin(&write).items().unwrap_err().to_string();
        assert!(said.contains("which the program that runs it does not allow") && !path.exists(), "{said}");
        db.gremlin(&write).files(true).run().unwrap();
        let read = write.replace("writer", "reader").replace("write()", "read().iterate()");
        let other = crate::database();
        assert!(other.gremlin(&read).items().is_err());
        assert_eq!(other.gremlin(&read).files(true).items().unwrap().len(), 0);
        let ages = |db: &Database| db.gremlin("g.V().values('age').order()").values::<i64>().unwrap();
        assert_eq!(ages(&other), ages(&db), "{name}");
        assert_eq!(other.gremlin("g.E().values('weight').sum()").one::<f64>().unwrap(), 3.5);
        // Nothing is replaced.
        assert!(db.gremlin(&write).files(true).run().is_err());
    }
}

#[test]
fn files_are_no_part_of_another_query() {
    let db = modern();
    let said = |text: &str, wanted: &str| {
        let said = db.gremlin(text).files(true).items().unwrap_err().to_string();
        assert!(said.contains(wanted), "{text}: {said}");
    };
    said("g.io('a.json')", "io() is followed by read() or write()");
    said("g.io('a.json').read().V()", "does nothing else");
    said("g.io('a.kryo').with(IO.reader, IO.gryo).read()", "gryo isn't supported");
    said("g.io('a').read()", "doesn't show whether this is GraphSON");
    said("g.io('there is none.json').read()", "there is none.json");
    let snapshot = db.snapshot();
    for text in ["g.io('a.json').read()", "g.io('a.json').write()"] {
        assert!(snapshot.gremlin(text).files(true).items().is_err());
        assert!(db.begin().gremlin(text).files(true).items().is_err());
    }
}
