//! Administration: every subject on a real server, by roles, and what a server sends that is none of it.

use crate::script::serve_script;
use crate::site::{PASSWORD, Site};
use crate::{PATIENCE, all, eventually, number, serve, url};
use evergraph::{IndexKind, OwnerName};
use evergraph_client::admin::call::Admin;
use evergraph_client::admin::databases::NewDatabaseOptions;
use evergraph_client::admin::indexes::CreatedIndex;
use evergraph_client::admin::users::UserChange;
use evergraph_client::client::Client;
use evergraph_client::options::ClientOptions;
use evergraph_client::password::Password;
use evergraph_client::query::Query;
use evergraph_client::server_answer::UnknownOutcome;
use evergraph_client::url::ServerUrl;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_query::error::TextError;
use evergraph_report::index::IndexEntry;
use evergraph_report::schema::SchemaReport;
use evergraph_report::statistics::StatisticsReport;
use evergraph_server::options::ServerOptions;
use evergraph_storage::indexing::IndexRequest;
use serde_json::Value as Json;
use std::error::Error as _;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

const ADA: &str =
    "g.addV('Größe 2/a').property('the key', 'Ada').as('a').addE('KNOWS').to('a').property('since', 1833)";

fn error<T: std::fmt::Debug>(result: Result<T>) -> Error {
    result.unwrap_err()
}

#[test]
fn statistics_schema_and_indexes_are_those_of_the_database() {
    for site in [Site::new(), Site::with_tls()] {
        site.run(ADA);
        let (reader, admin) = (site.admin("reader"), site.admin("admin"));
        let statistics: StatisticsReport = reader.statistics().unwrap();
        assert_eq!((statistics.vertices_count, statistics.edges_count), (1, 1));
        assert_eq!((&*statistics.database, &*statistics.engine.name), ("social", "memory"));
        let schema: SchemaReport = reader.schema().unwrap();
        assert_eq!((&*schema.labels[0].label, schema.counts()), ("Größe 2/a", (1, 1)));
        let owner = OwnerName::Label("Größe 2/a");
        let mut request = IndexRequest { owner, key: "the key", kind: IndexKind::Ordered, unique: true };
        let build = |request: &IndexRequest<'_>| admin.create_index::<IndexEntry>(request, &mut |_| {});
        let CreatedIndex { created, index, .. } = build(&request).unwrap();
        let index = index.unwrap();
        assert!(created && index.unique && index.entries == 1 && index.kind == "ordered", "{index:?}");
        assert!(!build(&request).unwrap().created);
        request.unique = false;
        assert_eq!(error(build(&request)).kind(), ErrorKind::Invalid);
        let listed: Vec<IndexEntry> = reader.indexes().unwrap();
        assert!(listed.len() == 1 && listed[0].is_on(owner, "the key"), "{listed:?}");
        let dropped = |kind| admin.drop_index(owner, "the key", kind);
        assert_eq!(error(dropped(IndexKind::Hash)).kind(), ErrorKind::NotFound);
        dropped(IndexKind::Ordered).unwrap();
        assert!(reader.indexes::<Json>().unwrap().is_empty());
    }
}

#[test]
fn an_index_that_cannot_be_built_says_why_and_leaves_none() {
    let site = Site::new();
    site.run("g.addV('P').property('n', 1).addV('P').property('n', 1)");
    let admin = site.admin("admin");
    let (owner, key) = (OwnerName::Label("P"), "n");
    let request = IndexRequest { owner, key, kind: IndexKind::Hash, unique: true };
    let twice = error(admin.create_index::<Json>(&request, &mut |_| {}));
    assert!(twice.kind() == ErrorKind::Invalid && twice.to_string().contains('1'), "{twice}");
    assert!(admin.indexes::<Json>().unwrap().is_empty());
    let refused = error(site.admin("writer").create_index::<Json>(&request, &mut |_| {}));
    assert!(refused.kind() == ErrorKind::Invalid && refused.to_string().contains("admin"), "{refused}");
}

#[test]
fn a_plan_is_that_of_the_query_with_its_variables() {
    let site = Site::new();
    site.run(ADA);
    let reader = site.admin("reader");
    let query = Query::text("g.V().has('the key', k).out().limit(n)").bind("k", "Ada").bind("n", 7_i64);
    let explained = reader.explain::<Json>(&query).unwrap();
    assert!(explained.text.contains("\"Ada\""), "{}", explained.text);
    assert!(explained.plan["steps"][0]["rows"].is_null(), "{}", explained.plan);
    let profiled = reader.profile::<Json>(&query).unwrap();
    assert!(profiled.plan["steps"][0]["rows"].is_u64(), "{}", profiled.plan);
    let wrong = error(reader.explain::<Json>(&Query::text("g.V()\n.otu()")));
    let found: &TextError = wrong.source().unwrap().downcast_ref().unwrap();
    assert_eq!((wrong.kind(), found.span.start), (ErrorKind::Invalid, 7), "{wrong}");
    let unknown = Query::text("g.V().hasLabel('Persn')").strict(true);
    let unknown = error(reader.explain::<Json>(&unknown));
    assert!(unknown.kind() == ErrorKind::Invalid && unknown.to_string().contains("Persn"), "{unknown}");
    let write = Query::text("g.addV('Point')");
    assert!(error(reader.profile::<Json>(&write)).to_string().contains("role reader"));
    site.admin("writer").profile::<Json>(&write).unwrap();
    assert_eq!(number(&site.client("reader", "social"), "g.V().count()"), 2);
    let endless = Query::text("g.V().repeat(__.identity()).until(__.hasLabel('Nowhere'))");
    assert_eq!(
        error(reader.profile::<Json>(&endless.timeout(Duration::from_millis(50)))).kind(),
        ErrorKind::Limit
    );
}

#[test]
fn databases_are_created_closed_opened_and_dropped() {
    let site = Site::new();
    let root = site.client("root", "social").admin();
    let mut options = NewDatabaseOptions::default();
    options.engine = Some("disk".to_owned());
    options.memory_limit_bytes = Some(100_000_000);
    let made = root.create_database("bank", &options).unwrap();
    assert_eq!((&*made.name, &*made.state, made.engine.as_deref()), ("bank", "open", Some("disk")));
    assert_eq!(made.memory_limit_bytes, Some(100_000_000));
    assert_eq!(error(root.create_database("bank", &options)).kind(), ErrorKind::Invalid);
    let names = |admin: &Admin| -> Vec<String> {
        admin.databases().unwrap().into_iter().map(|database| database.name).collect()
    };
    assert_eq!(
        (names(&root), names(&site.admin("reader"))),
        (vec!["bank".into(), "social".into()], vec!["social".into()])
    );
    assert_eq!(root.close_database("bank").unwrap().state, "closed");
    let bank = site.client("root", "bank").admin();
    let closed = error(bank.statistics::<Json>());
    assert!(closed.kind() == ErrorKind::Busy && closed.to_string().contains("closed"), "{closed}");
    assert_eq!(root.open_database("bank").unwrap().state, "open");
    bank.statistics::<Json>().unwrap();
    root.drop_database("bank").unwrap();
    assert_eq!(error(bank.statistics::<Json>()).kind(), ErrorKind::NotFound);
    assert_eq!(error(root.drop_database("bank")).kind(), ErrorKind::NotFound);
    let refused = error(site.admin("admin").create_database("other", &NewDatabaseOptions::default()));
    assert!(refused.kind() == ErrorKind::Invalid && refused.to_string().contains('*'), "{refused}");
}

#[test]
fn a_url_means_the_same_database_in_queries_and_in_administration() {
    let site = Site::new();
    let named = |database: &str| site.client("root", database).admin().database_name().map(str::to_owned);
    for database in ["", "gremlin", "g", "social", "g_social"] {
        assert_eq!(named(database).unwrap(), "social", "{database:?}");
    }
    site.admin("root").create_database("bank", &NewDatabaseOptions::default()).unwrap();
    let several = error(named(""));
    assert!(
        several.kind() == ErrorKind::Invalid && several.to_string().contains("bank, social"),
        "{several}"
    );
    let reader = site.client("reader", "").admin();
    assert_eq!(reader.database_name().unwrap(), "social", "it is the only one of the user");
}

#[test]
fn queries_that_run_are_listed_and_cancelled() {
    let (database, server) = serve(ServerOptions::default());
    crate::add_points(&database, 3);
    let client = crate::connect(&server);
    let admin = client.admin();
    let endless = "g.V().repeat(__.identity()).until(__.hasLabel('Nowhere'))";
    let asked = thread::spawn({
        let client = client.clone();
        move || all(&client, endless)
    });
    let mut found = None;
    eventually("the query is listed", || {
        found = admin.queries().unwrap().into_iter().find(|query| query.text.contains("Nowhere"));
        found.is_some()
    });
    let found = found.unwrap();
    assert_eq!((&*found.database, &*found.address, found.user), ("social", "127.0.0.1", None));
    admin.cancel_query(found.id).unwrap();
    let cancelled = asked.join().unwrap().unwrap_err();
    assert!(matches!(cancelled.kind(), ErrorKind::Cancelled | ErrorKind::Limit), "{cancelled}");
    eventually("it is gone", || admin.queries().unwrap().is_empty());
    assert_eq!(error(admin.cancel_query(found.id)).kind(), ErrorKind::NotFound);
}

#[test]
fn users_are_changed_by_an_administrator_of_all_and_their_own_password_by_themselves() {
    let site = Site::new();
    let root = site.admin("root");
    let (first, second) = (Password::new("first of ann"), Password::new("second of ann"));
    assert_eq!(root.put_user("ann@home", &first).unwrap(), UserChange::Added);
    assert_eq!(root.put_user("ann@home", &second).unwrap(), UserChange::PasswordChanged);
    root.grant_role("ann@home", "social", "writer").unwrap();
    let ann = |password: &Password| {
        let mut options = site.options();
        options.password = Some(password.clone());
        site.client_with("ann%40home", "social", options)
    };
    assert_eq!(number(&ann(&second), "g.V().count()"), 0);
    assert!(
        error(ann(&first).admin().databases()).to_string().contains("password"),
        "the old one holds no longer"
    );
    ann(&second).admin().change_password(&first).unwrap();
    ann(&first).admin().databases().unwrap();
    let listed = root.users().unwrap();
    let listed = listed.iter().find(|user| user.name == "ann@home").unwrap();
    assert_eq!((&*listed.roles[0].database, &*listed.roles[0].role), ("social", "writer"));
    root.revoke_role("ann@home", "social").unwrap();
    assert_eq!(error(root.revoke_role("ann@home", "social")).kind(), ErrorKind::NotFound);
    root.remove_user("ann@home").unwrap();
    assert_eq!(error(root.remove_user("ann@home")).kind(), ErrorKind::NotFound);
    assert_eq!(error(root.grant_role("reader", "social", "king")).kind(), ErrorKind::Invalid);
    assert_eq!(error(site.admin("admin").users()).kind(), ErrorKind::Invalid);
}

#[test]
fn whoever_may_not_log_in_is_told_what_is_missing() {
    let site = Site::new();
    let with = |change: fn(&mut ClientOptions)| {
        let mut options = site.options();
        change(&mut options);
        error(site.client_with("reader", "social", options).admin().schema::<Json>())
    };
    let wrong = with(|options| options.password = Some(Password::new("battery staple")));
    assert!(wrong.kind() == ErrorKind::Invalid && !wrong.to_string().contains("battery"), "{wrong}");
    assert!(with(|options| options.password = None).to_string().contains("EVERGRAPH_PASSWORD"));
    let stranger: ServerUrl = format!("ws://{}/social", site.server.address()).parse().unwrap();
    let mut options = ClientOptions::default();
    options.password = Some(Password::new(PASSWORD));
    let stranger = Client::new(&stranger, options).unwrap();
    assert!(error(stranger.admin().schema::<Json>()).to_string().contains("name one in the URL"));
}

/// The error of asking a server that answers with `bytes`.
fn answered_with(bytes: &'static [u8]) -> Error {
    let url = serve_script(move |mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read(&mut [0; 4096]);
    });
    error(Client::new(&url, ClientOptions::default()).unwrap().admin().databases())
}

#[test]
fn a_server_of_an_older_version_and_one_that_is_no_evergraph_are_said_to_be_so() {
    let older = answered_with(b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 87\r\n\r\n\
        {\"error\":{\"kind\":\"not_found\",\"message\":\"there is no path \\\"/databases\\\"\"}}               ");
    let told = older.to_string();
    assert!(
        older.kind() == ErrorKind::Invalid && told.contains("GET /databases") && told.contains("older"),
        "{told}"
    );
    let page = answered_with(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>").to_string();
    assert!(page.contains("cannot be read"), "{page}");
    let redirected =
        answered_with(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
    assert!(redirected.to_string().contains("302"), "{redirected}");
    let cut = answered_with(b"HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n{\"databases\":[]}");
    assert_eq!(cut.kind(), ErrorKind::Io, "{cut}");
    answered_with(b"SSH-2.0-OpenSSH_9.9\r\n\r\n");
    answered_with(b"");
}

#[test]
fn a_document_without_end_and_a_silent_server_end_with_the_callers_limits() {
    let endless = serve_script(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n[");
        while stream.write_all(&[b' '; 1 << 16]).is_ok() {}
    });
    let admin = Client::new(&endless, ClientOptions::default()).unwrap().admin();
    let long = error(admin.databases());
    assert!(long.kind() == ErrorKind::Limit && long.to_string().contains("67108864"), "{long}");
    let silent = serve_script(|mut stream| while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {});
    let admin = Client::new(&silent, ClientOptions::default()).unwrap().admin();
    let began = Instant::now();
    assert_eq!(error(admin.clone().timeout(Duration::from_millis(100)).databases()).kind(), ErrorKind::Limit);
    let flag = CancelFlag::default();
    flag.cancel();
    assert_eq!(error(admin.cancel(&flag).databases()).kind(), ErrorKind::Cancelled);
    assert!(began.elapsed() < PATIENCE);
}

#[test]
fn a_change_whose_answer_is_lost_has_an_unknown_outcome_and_one_that_was_not_sent_has_not() {
    let losing = serve_script(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
    });
    let admin = Client::new(&losing, ClientOptions::default()).unwrap().admin();
    let lost = error(admin.drop_database("social"));
    assert!(lost.kind() == ErrorKind::Io && UnknownOutcome::is_of(&lost), "{lost}");
    assert!(!UnknownOutcome::is_of(&error(admin.databases())), "a question changes nothing");
    let nobody = url("127.0.0.1:9".parse().unwrap(), "social");
    let refused =
        error(Client::new(&nobody, ClientOptions::default()).unwrap().admin().drop_database("social"));
    assert!(!UnknownOutcome::is_of(&refused) && refused.to_string().contains("evergraph serve"), "{refused}");
}
