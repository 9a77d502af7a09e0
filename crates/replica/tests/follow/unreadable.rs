//! With a real PostgreSQL: rows and columns that the role may not read, and texts that are none.

use crate::follower::{Follower, WAIT_MAX, catch_up};
use crate::graph::count;
use crate::scenario::pause;
use crate::server::{TestDatabase, TestServer, run_sql, through};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::follow::options::ReplicaMapping;
use evergraph_replica::mapping::check::{Severity, check};
use evergraph_replica::source::contract::{CopyRequest, Source as _};
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::settings::{ConnectionSettings, Host};
use evergraph_replica::source::replica_source::ReplicaSource as _;
use evergraph_replica::source::table_cuts::{CutRules, PageRange};
use evergraph_replica::status::ReplicaState;
use std::time::Instant;

const MAPPING: &str = "[[table]]\ntable = 'person'\nlabel = 'Person'\n";

/// A database with a table of two persons, which `grant` lets a role that follows read, and that role's settings.
fn with_role(server: &'static TestServer, grant: &str) -> (TestDatabase, ConnectionSettings, String) {
    let there = server.database();
    let role = format!("reader_{}", there.name);
    there.run(&format!(
        "CREATE TABLE person (id int PRIMARY KEY, name text, salary int);
         INSERT INTO person VALUES (1, 'Ada', 7), (2, 'Bo', 8); CREATE ROLE {role} LOGIN REPLICATION;
         CREATE PUBLICATION evergraph FOR TABLE person; GRANT {grant} ON person TO {role}"
    ));
    let mut settings = through(there.settings(), Host::Unix(server.folder().to_owned()), server.port());
    settings.user.clone_from(&role);
    (there, settings, role)
}

#[test]
fn row_level_security_that_comes_later_is_told_while_changes_are_followed() {
    let Some(server) = TestServer::shared() else { return };
    let (there, settings, role) = with_role(server, "SELECT");
    let follower = Follower::new(settings, MAPPING);
    let database = follower.open();
    let replica = follower.start(&database);
    catch_up(&replica);
    there.run("ALTER TABLE person ENABLE ROW LEVEL SECURITY");
    let told = format!("row-level security of person may hide rows from {role}: ALTER ROLE {role} BYPASSRLS");
    let began = Instant::now();
    while !replica.status().last_error.is_some_and(|error| error.contains(&told)) {
        assert!(began.elapsed() < WAIT_MAX, "{:?}", replica.status());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    there.run("INSERT INTO person VALUES (3, 'Cem', 9)");
    catch_up(&replica);
    assert_eq!((count(&database, "Person"), replica.status().state), (3, ReplicaState::Following));
    replica.stop().unwrap();
    there.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

#[test]
fn a_role_that_may_read_some_columns_copies_these_and_hears_which_others_the_rules_need() {
    let Some(server) = TestServer::shared() else { return };
    let (there, settings, role) = with_role(server, "SELECT (id, name)");
    let refused = |mapping: &str| {
        let follower = Follower::new(settings.clone(), mapping);
        follower.try_start(&follower.open()).err().map(|error| error.to_string())
    };
    let error = refused(MAPPING).unwrap();
    assert!(error.contains(&format!("{role} may not read salary of person")), "{error}");
    assert!(error.contains(&format!("GRANT SELECT (salary) ON public.person TO {role}")), "{error}");

    // Pages are told apart by a column that nobody grants.
    let request = CopyRequest {
        schema: "public".into(),
        table: "person".into(),
        columns: vec!["id".into(), "name".into()],
        snapshot: None,
        pages: PageRange::ALL,
    };
    there.run("INSERT INTO person SELECT n, repeat('x', 500) FROM generate_series(3, 200) n");
    let ranges_count = |settings: ConnectionSettings| {
        let rules = CutRules { parts_max: 2, part_pages_min: 1 };
        let cuts =
            PostgresSource::new(settings, CancelFlag::default()).cut(std::slice::from_ref(&request), rules);
        cuts.unwrap().ranges[0].len()
    };
    assert_eq!((ranges_count(there.settings()), ranges_count(settings.clone())), (2, 1));

    let follower = Follower::new(settings.clone(), &format!("{MAPPING}ignore = ['salary']\n"));
    let database = follower.open();
    let replica = follower.start(&database);
    there.run("INSERT INTO person VALUES (1000, 'Cem', 9)");
    catch_up(&replica);
    assert_eq!(count(&database, "Person"), 201);
    replica.stop().unwrap();
    there.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

/// The remedy was to start again, and the log kept the value for ever.
#[test]
fn a_text_that_is_not_utf8_is_a_pause_that_a_new_copy_mends() {
    let Some(server) = TestServer::shared() else { return };
    let name = format!("{}_ascii", server.database().name);
    let create = format!("CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
    run_sql(&mut server.connect("postgres"), &create);
    let there = TestDatabase { server, name };
    there.run("CREATE TABLE person (id int PRIMARY KEY, name text)");
    let mut source = PostgresSource::new(there.settings(), CancelFlag::default());
    let rules = ReplicaMapping { name: "m.toml".into(), text: MAPPING.into() }.rules().unwrap();
    let found = check(&rules, &source.catalogue().unwrap(), &source.server_state().unwrap(), "evergraph");
    let warned = found.iter().find(|finding| finding.cause.contains("SQL_ASCII")).unwrap();
    assert_eq!(warned.severity, Severity::Warning);

    let follower = Follower::new(there.settings(), MAPPING);
    let database = follower.open();
    let replica = follower.start(&database);
    there.run("INSERT INTO person VALUES (3, E'\\xff\\xfe')");
    let found = pause(&replica);
    assert!(found.cause.contains("22021") && found.is_mended_by_resync(), "{found}");
    replica.stop().unwrap();
}
