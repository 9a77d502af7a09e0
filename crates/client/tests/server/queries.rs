//! Queries: results as they come, errors with their kinds and places, limits, cancelling.

use crate::{PATIENCE, add_points, all, connect, eventually, number, serve, url};
use evergraph::IndexOptions;
use evergraph_client::client::Client;
use evergraph_client::options::ClientOptions;
use evergraph_client::query::Query;
use evergraph_client::server_answer::UnknownOutcome;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::value::Value;
use evergraph_protocol::result::result_value::ResultValue;
use evergraph_query::error::TextError;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::read::read;
use evergraph_server::options::ServerOptions;
use evergraph_server::server::Server;
use std::error::Error as _;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Runs until somebody stops it.
const ENDLESS: &str = "g.V().repeat(out()).times(1000000000).count()";

#[test]
fn results_come_in_frames_whatever_their_number() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 10_000);
    let client = connect(&server);
    let mut results = client.query(&Query::text("g.V().values('at')")).unwrap();
    let mut sizes = Vec::new();
    let first = results.next_result().unwrap().unwrap();
    assert_eq!((first.value, first.bulk), (0_i64.into(), 1));
    while let Some(frame) = results.next_frame().unwrap() {
        sizes.push(frame.len());
    }
    assert!(sizes.len() > 5 && sizes.iter().sum::<usize>() == 9_999, "{sizes:?}");
    assert!(results.next_frame().unwrap().is_none() && results.next_result().unwrap().is_none());
    assert_eq!(all(&client, "g.V().limit(0)").unwrap(), []);
    assert_eq!(server.connections_count(), 2, "one was kept while the other one was read");
}

#[test]
fn equal_results_of_bytecode_come_together() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 1_000);
    database.gremlin("g.V().has('at', 0).as('hub').V().addE('NEXT').to('hub')").run().unwrap();
    let text = "g.V().repeat(out()).times(3).label()";
    let calls = read(text, &ParseLimits::default(), &Bindings::new()).unwrap().calls;
    let query = Query::bytecode(Bytecode::new(Vec::new(), calls));
    let mut results = connect(&server).query(&query).unwrap();
    let (mut rows, mut count) = (0, 0);
    while let Some(result) = results.next_result().unwrap() {
        assert_eq!(result.value, "Point".into());
        (rows, count) = (rows + 1, count + result.bulk);
    }
    assert!(count == 1_000 && rows < 1_000, "{rows} rows of {count}");
}

#[test]
fn variables_are_data() {
    let (_, server) = serve(ServerOptions::default());
    let client = connect(&server);
    let text = "'); g.V().drop(); //";
    let query = Query::text("g.inject(a, b)").bind("a", text).bind("b", 7_i64);
    assert_eq!(client.query(&query).unwrap().collect().unwrap(), [text.into(), 7_i64.into()]);
    let error = client.query(&Query::text("g.inject(c)")).unwrap_err();
    assert!(error.to_string().contains("`c`"), "{error}");
}

#[test]
fn a_database_has_its_name_and_another_one_is_not_there() {
    let (_, server) = serve(ServerOptions::default());
    for name in ["", "gremlin", "social", "g_social"] {
        Client::connect(&url(server.address(), name), ClientOptions::default()).unwrap();
    }
    let refused = Client::connect(&url(server.address(), "socail"), ClientOptions::default()).unwrap_err();
    assert!(refused.to_string().contains("did you mean `social`"), "{refused}");
}

#[test]
fn errors_have_the_servers_kind_and_the_place_in_the_text() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 3);
    let client = connect(&server);
    let failed =
        |text: &str| client.query(&Query::text(text)).and_then(|results| results.collect()).unwrap_err();
    let wrong = failed("g.V()\n  .otu()");
    assert_eq!(wrong.kind(), ErrorKind::Invalid);
    let cause: &TextError = wrong.source().unwrap().downcast_ref().unwrap();
    assert_eq!((cause.span.start, cause.span.end), (9, 12));
    let embedded = database.gremlin("g.V()\n  .otu()").run().unwrap_err();
    assert_eq!(wrong.to_string(), embedded.to_string());
    assert!(failed("g.V().fail('no stock')").to_string().contains("no stock"));
    assert!(failed("g.io('a.json').read()").to_string().contains("files of the server"));
    assert_eq!(number(&client, "g.V().count()"), 3, "the connection goes on");
}

#[test]
fn a_name_that_the_graph_does_not_have_is_a_warning_or_if_asked_for_an_error() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 3);
    let client = connect(&server);
    let query = Query::text("g.V().hasLabel('Piont').count()");
    let mut results = client.query(&query).unwrap();
    let warnings = results.take_warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("did you mean `Point`?"), "{warnings:?}");
    let refused = client.query(&query.clone().strict(true)).unwrap_err();
    assert!(refused.kind() == ErrorKind::Invalid && refused.to_string().contains("`Point`"), "{refused}");
}

#[test]
fn vertices_come_with_their_unique_keys_if_asked_for() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 2_000);
    database.gremlin("g.V().has('at', 0).as('a').V().has('at', 1).addE('NEXT').from('a')").run().unwrap();
    database.create_index(&IndexOptions::on_label("Point", "at").unique()).unwrap();
    let client = connect(&server);
    let mut results = client.query(&Query::text("g.V()").with_vertex_keys()).unwrap();
    let mut seen = 0;
    while let Some(frame) = results.next_frame().unwrap() {
        for result in frame {
            let ResultValue::Vertex(vertex) = result.value else { panic!("{result:?}") };
            let ResultValue::Value(id) = vertex.id else { panic!("{:?}", vertex.id) };
            let at = vertex.properties[0].value.clone().into_value().unwrap();
            assert_eq!(results.vertex_key(id.as_i64().unwrap()), Some(&at));
            seen += 1;
        }
    }
    assert_eq!(seen, 2_000);
    // The ends of an edge have no properties, but keys.
    let mut results = client.query(&Query::text("g.E()").with_vertex_keys()).unwrap();
    let frame = results.next_frame().unwrap().unwrap();
    let ResultValue::Edge(edge) = &frame[0].value else { panic!("{frame:?}") };
    let ends = [&edge.source, &edge.target].map(|end| match &end.id {
        ResultValue::Value(id) => results.vertex_key(id.as_i64().unwrap()).cloned(),
        other => panic!("{other:?}"),
    });
    assert_eq!(ends, [Some(Value::I64(0)), Some(Value::I64(1))]);
    let mut plain = client.query(&Query::text("g.V()")).unwrap();
    plain.next_frame().unwrap();
    assert_eq!(plain.vertex_key(0), None);
}

#[test]
fn a_time_limit_holds_on_the_server() {
    let (database, server) = serve(ServerOptions::default());
    database.gremlin("g.addV('Point').as('a').addE('NEXT').to('a')").run().unwrap();
    let client = connect(&server);
    let late = client.query(&Query::text(ENDLESS).timeout(Duration::from_millis(100))).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Limit);
    assert_eq!(number(&client, "g.V().count()"), 1);
}

#[test]
fn what_is_cancelled_ends_here_and_on_the_server() {
    let (database, server) = serve(ServerOptions::default());
    database.gremlin("g.addV('Point').as('a').addE('NEXT').to('a')").run().unwrap();
    let client = connect(&server);
    let cancel = CancelFlag::default();
    let began = Instant::now();
    let error = thread::scope(|scope| {
        let waiting = scope.spawn(|| client.query(&Query::text(ENDLESS).cancel(&cancel)).unwrap_err());
        // What was sent might have written.
        eventually("it runs", || database.store().statistics().readers > 0);
        cancel.cancel();
        waiting.join().unwrap()
    });
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    assert!(UnknownOutcome::is_of(&error), "it might have written");
    assert!(began.elapsed() < PATIENCE);
    eventually("its connection ends", || server.connections_count() == 0);
    assert_eq!(number(&client, "g.V().count()"), 1, "another connection");
}

#[test]
fn results_that_are_not_read_to_their_end_stop_the_query() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 100_000);
    let client = connect(&server);
    let mut results = client.query(&Query::text("g.V()")).unwrap();
    results.next_result().unwrap();
    drop(results);
    eventually("its connection ends", || server.connections_count() == 0);
}

#[test]
fn a_connection_that_the_server_ended_is_replaced() {
    let mut options = ServerOptions::default();
    options.idle_max = Duration::from_secs(1);
    let (database, server) = serve(options);
    let client = connect(&server);
    eventually("the server ends an idle connection", || server.connections_count() == 0);
    assert_eq!(number(&client, "g.V().count()"), 0);
    let address = server.address();
    server.stop();
    let unreachable = all(&client, "g.V().count()").unwrap_err();
    assert!(unreachable.to_string().contains("is `evergraph serve` running there?"), "{unreachable}");
    assert!(!UnknownOutcome::is_of(&unreachable));
    let _server = Server::start(Arc::clone(&database), "social", address, options).unwrap();
    assert_eq!(number(&client, "g.V().count()"), 0);
}

#[test]
fn a_client_is_used_by_many_threads_at_once() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 100);
    let client = connect(&server);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..20).for_each(|_| assert_eq!(number(&client, "g.V().count()"), 100)));
        }
    });
    assert!(server.connections_count() <= 8);
    client.close();
    eventually("closed connections end", || server.connections_count() == 0);
}
