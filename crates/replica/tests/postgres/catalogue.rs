//! The catalogue: tables, keys, identities, partitions and publications, as PostgreSQL has them.

use crate::server::{TestDatabase, TestServer, connect, run_sql, through};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::pgoutput::relation::RelationIdentity;
use evergraph_replica::source::catalogue::{Catalogue, Key, Table, TableKind, TableRights, TypeKind};
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::error::SourceResult;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::settings::Host;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

fn names(names: &[Box<str>]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}

#[test]
fn a_catalogue_has_tables_keys_identities_partitions_and_publications() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(
        "CREATE SCHEMA shop; CREATE TYPE mood AS ENUM ('sad', 'so \"so\"'); CREATE DOMAIN cents AS numeric(10, 2); \
         CREATE TABLE shop.customer (b int, a int, name varchar(8) NOT NULL, mood mood, price cents[], \
           twice int GENERATED ALWAYS AS (a * 2) STORED, gone int, PRIMARY KEY (b, a), UNIQUE (name)); \
         ALTER TABLE shop.customer DROP gone; \
         CREATE UNIQUE INDEX by_expression ON shop.customer (lower(name)); \
         CREATE UNIQUE INDEX in_part ON shop.customer (a) WHERE a > 0; \
         CREATE TABLE orders (id int PRIMARY KEY DEFERRABLE, x int, y int, \
           CONSTRAINT whose FOREIGN KEY (y, x) REFERENCES shop.customer (b, a) DEFERRABLE); \
         CREATE TABLE parts (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at); \
         CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM ('2024-01-01') TO ('2025-01-01'); \
         CREATE TABLE by_index (id int NOT NULL, code text NOT NULL); CREATE UNIQUE INDEX code ON by_index (code); \
         ALTER TABLE by_index REPLICA IDENTITY USING INDEX code; \
         CREATE TABLE whole (id int, v text); ALTER TABLE whole REPLICA IDENTITY FULL; \
         CREATE TABLE nothing (id int PRIMARY KEY); ALTER TABLE nothing REPLICA IDENTITY NOTHING; \
         ALTER TABLE orders ADD CONSTRAINT later FOREIGN KEY (x) REFERENCES nothing NOT VALID; \
         CREATE UNLOGGED TABLE unlogged (id int); CREATE VIEW seen AS SELECT 1; \
         CREATE PUBLICATION chosen FOR TABLE whole, shop.customer (b, a, name) WHERE (a > 5) WITH (publish = 'insert, truncate'); \
         CREATE PUBLICATION everything FOR ALL TABLES WITH (publish_via_partition_root = true); \
         INSERT INTO whole SELECT n FROM generate_series(1, 10) n; ANALYZE whole",
    );
    let catalogue = PostgresSource::new(database.settings(), CancelFlag::default()).catalogue().unwrap();
    let tables: Vec<_> =
        catalogue.tables.iter().map(|table| format!("{}.{}", table.schema, table.name)).collect();
    let expected =
        ["by_index", "nothing", "orders", "part_1", "parts", "whole"].map(|name| format!("public.{name}"));
    assert_eq!(tables, [&expected[..], &["shop.customer".to_owned()]].concat());

    let customer = catalogue.table("shop", "customer").unwrap();
    let columns: Vec<_> = customer
        .columns
        .iter()
        .map(|column| (&*column.name, &*column.type_name, column.is_nullable, column.is_generated))
        .collect();
    assert_eq!(
        columns,
        [
            ("b", "integer", false, false),
            ("a", "integer", false, false),
            ("name", "character varying(8)", false, false),
            ("mood", "public.mood", true, false),
            ("price", "public.cents[]", true, false),
            ("twice", "integer", true, true),
        ]
    );
    let key = |name: &str, columns: &[&str], is_deferrable| Key {
        name: name.into(),
        columns: columns.iter().map(|column| (*column).into()).collect(),
        is_deferrable,
    };
    assert_eq!(customer.primary_key, Some(key("customer_pkey", &["b", "a"], false)));
    assert_eq!(customer.unique_keys, [key("customer_name_key", &["name"], false)]);
    assert_eq!(
        (customer.identity, names(&customer.identity_columns)),
        (RelationIdentity::PrimaryKey, vec!["b", "a"])
    );

    let mood = catalogue.types.get(customer.columns[3].type_id).unwrap();
    assert_eq!(mood.kind, TypeKind::Enum { labels: vec!["sad".into(), "so \"so\"".into()] });
    assert_eq!(catalogue.types.resolve(customer.columns[4].type_id).unwrap().to_string(), "numeric[]");

    let orders = catalogue.table("public", "orders").unwrap();
    assert_eq!(orders.primary_key, Some(key("orders_pkey", &["id"], true)));
    assert!(!orders.has_identity());
    let [later, whose] = &orders.foreign_keys[..] else { panic!("{:?}", orders.foreign_keys) };
    assert_eq!((names(&whose.columns), names(&whose.target_columns)), (vec!["y", "x"], vec!["b", "a"]));
    assert_eq!((whose.target, whose.is_validated, whose.is_deferrable), (customer.id, true, true));
    let nothing = catalogue.table("public", "nothing").unwrap();
    assert_eq!((later.target, later.is_validated, later.is_deferrable), (nothing.id, false, false));

    let (parts, part) =
        (catalogue.table("public", "parts").unwrap(), catalogue.table("public", "part_1").unwrap());
    assert_eq!(
        (parts.kind, part.kind, part.partition_of),
        (TableKind::Partitioned, TableKind::Plain, Some(parts.id))
    );
    assert_eq!(names(&parts.identity_columns), ["id", "at"]);

    for (table, identity, columns) in [
        ("by_index", RelationIdentity::Index, &["code"][..]),
        ("whole", RelationIdentity::Full, &["id", "v"]),
        ("nothing", RelationIdentity::Nothing, &[]),
    ] {
        let table = catalogue.table("public", table).unwrap();
        assert_eq!((table.identity, names(&table.identity_columns)), (identity, columns.to_vec()));
        assert_eq!(table.rights, TableRights::default());
    }
    assert_eq!(catalogue.table("public", "whole").unwrap().rows_estimate, Some(10));
    assert_eq!(orders.rows_estimate, None);

    let chosen = catalogue.publication("chosen").unwrap();
    let operations = chosen.operations;
    assert_eq!(
        (
            operations.inserts,
            operations.updates,
            operations.deletes,
            operations.truncates,
            chosen.is_by_root,
            chosen.has_all_tables
        ),
        (true, false, false, true, false, false)
    );
    let [whole, filtered] = &chosen.tables[..] else { panic!("{:?}", chosen.tables) };
    assert_eq!((&*whole.table, names(&whole.columns), &whole.row_filter), ("whole", vec!["id", "v"], &None));
    assert_eq!(
        (names(&filtered.columns), filtered.row_filter.as_deref()),
        (vec!["b", "a", "name"], Some("(a > 5)"))
    );
    let everything = catalogue.publication("everything").unwrap();
    assert!(everything.has_all_tables && everything.is_by_root);
    assert!(everything.tables.iter().all(|table| &*table.table != "part_1"));
    // Two readings are equal: a comparison finds changes alone.
    let again = PostgresSource::new(database.settings(), CancelFlag::default()).catalogue().unwrap();
    assert_eq!(again.marks, catalogue.marks);
    assert_eq!(Catalogue { marks: catalogue.marks.clone(), ..again }, catalogue);

    let marks = &catalogue.marks;
    let numbers = |table: &Table| {
        let columns = marks.tables[&table.id].columns.iter();
        columns.map(|(name, column)| (name.to_string(), *column)).collect::<Vec<_>>()
    };
    let numbered = [("a", 2), ("b", 1), ("mood", 4), ("name", 3), ("price", 5), ("twice", 6)];
    assert_eq!(numbers(customer), numbered.map(|(name, number)| (name.to_owned(), number)));
    let (of_root, of_part) = (&marks.tables[&parts.id], &marks.tables[&part.id]);
    assert!(of_root.attached_by.is_none());
    assert!(of_part.attached_by.is_some());
    let labels: Vec<&str> =
        marks.enums[&customer.columns[3].type_id].values().map(|label| &**label).collect();
    assert_eq!(labels, ["sad", "so \"so\""]);
    let entries: Vec<_> = marks.publications["chosen"].entries.keys().collect();
    let names: Vec<_> = entries.iter().map(|entry| (&*entry.schema, entry.table.as_deref())).collect();
    assert_eq!(names, [("public", Some("whole")), ("shop", Some("customer"))]);
    assert_ne!(entries[0].form, entries[1].form, "columns and a filter are a form of their own");
    assert!(marks.publications["everything"].entries.is_empty());
}

/// The catalogue of `database` as it is read while `statements` are run: the reader is stopped at the first query that reads the
/// system's table `gate`, and goes on behind them.
fn read_beside(database: &TestDatabase, gate: &str, statements: &str) -> SourceResult<Catalogue> {
    let mut writer = connect(&database.settings());
    run_sql(&mut writer, &format!("BEGIN; LOCK TABLE {gate} IN ACCESS EXCLUSIVE MODE"));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| read(database));
        let waiting = format!(
            "SELECT FROM pg_locks WHERE NOT granted AND relation = '{gate}'::regclass \
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        );
        while run_sql(&mut writer, &waiting).is_empty() {
            assert!(!reader.is_finished(), "it reads what is locked");
            std::thread::sleep(Duration::from_millis(5));
        }
        run_sql(&mut writer, &format!("{statements}; COMMIT"));
        reader.join().unwrap()
    })
}

fn read(database: &TestDatabase) -> SourceResult<Catalogue> {
    PostgresSource::new(database.settings(), CancelFlag::default()).catalogue()
}

#[test]
fn a_publication_that_is_created_again_while_the_catalogue_is_read_is_the_old_one_or_the_new_one() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run("CREATE TABLE t (id int PRIMARY KEY); CREATE PUBLICATION p FOR TABLE t");
    let before = read(&database);
    let again = "DROP PUBLICATION p; CREATE PUBLICATION p FOR TABLE t";
    let between = read_beside(&database, "pg_publication_rel", again);
    let [before, between, after] = [before, between, read(&database)]
        .map(|catalogue| catalogue.unwrap().marks.publications["p"].clone());
    assert_ne!(before, after);
    assert!([&before, &after].contains(&&between), "{before:?}, {after:?}: {between:?}");
}

#[test]
fn a_table_that_is_dropped_while_the_catalogue_is_read_is_there_as_a_whole() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run("CREATE TABLE t (id int PRIMARY KEY, name text); CREATE TABLE other (id int)");
    let between = read_beside(&database, "pg_collation", "DROP TABLE t").unwrap();
    let table = between.table("public", "t").unwrap();
    assert_eq!((table.columns.len(), &table.rights.unreadable_columns), (2, &Vec::new()));
    let after = read(&database).unwrap();
    assert!(after.table("public", "t").is_none() && after.table("public", "other").is_some());
}

/// The catalogue of `database`, whose reader sends nothing that contains `query` until `statements` were run.
fn read_behind(database: &TestDatabase, query: &str, statements: &str) -> SourceResult<Catalogue> {
    read_behind_as(database, None, query, statements)
}

/// The same, by a reader who takes the server for one of another `version`, of as many digits.
fn read_behind_as(
    database: &TestDatabase,
    version: Option<&str>,
    query: &str,
    statements: &str,
) -> SourceResult<Catalogue> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (settings, port) = (database.settings(), listener.local_addr().unwrap().port());
    let mut server = TcpStream::connect(("127.0.0.1", settings.port)).unwrap();
    std::thread::scope(|scope| {
        let between = through(settings, Host::Tcp("127.0.0.1".into()), port);
        let reader = scope.spawn(move || PostgresSource::new(between, CancelFlag::default()).catalogue());
        let (mut client, _) = listener.accept().unwrap();
        let (mut answers, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        scope.spawn(move || {
            if let Some(version) = version {
                to_client.write_all(&greeting_of(&mut answers, version)).unwrap();
            }
            io::copy(&mut answers, &mut to_client)
        });
        let (mut bytes, mut has_run) = (vec![0; 1 << 16], false);
        // A query is one write of the reader's, who waits for its answer before the next one.
        while let Ok(count @ 1..) = client.read(&mut bytes) {
            if bytes[..count].windows(query.len()).any(|part| part == query.as_bytes()) {
                database.run(statements);
                has_run = true;
            }
            server.write_all(&bytes[..count]).unwrap();
        }
        assert!(has_run, "nobody sent {query}");
        reader.join().unwrap()
    })
}

/// What a server says until it has told its version, with `version` in the place of the first digits of that.
fn greeting_of(answers: &mut TcpStream, version: &str) -> Vec<u8> {
    const NAME: &[u8] = b"server_version\0";
    let (mut greeting, mut byte) = (Vec::new(), [0]);
    while !greeting.ends_with(NAME) {
        answers.read_exact(&mut byte).unwrap();
        greeting.push(byte[0]);
    }
    answers.read_exact(&mut vec![0; version.len()]).unwrap();
    greeting.extend_from_slice(version.as_bytes());
    greeting
}

/// Version 14 says no columns, so they were looked up by the table's name, which another table may have by then.
#[test]
fn a_table_that_is_renamed_while_the_catalogue_of_an_older_server_is_read_keeps_its_columns() {
    let Some(server) = TestServer::shared() else { return };
    for statements in [
        "ALTER TABLE t RENAME TO moved",
        "CREATE SCHEMA elsewhere; ALTER TABLE t SET SCHEMA elsewhere",
        "ALTER TABLE t RENAME TO moved; ALTER TABLE other RENAME TO t",
    ] {
        let database = server.database();
        database.run(
            "CREATE TABLE t (id int PRIMARY KEY, name text); CREATE TABLE other (id int PRIMARY KEY, secret text); \
             CREATE PUBLICATION p FOR TABLE t",
        );
        // The snapshot of the transaction is older than this query.
        let catalogue = read_behind_as(&database, Some("14"), "FROM pg_constraint", statements).unwrap();
        let [table] = &catalogue.publication("p").unwrap().tables[..] else { panic!("{statements}") };
        assert_eq!((&*table.table, names(&table.columns)), ("t", vec!["id", "name"]), "{statements}");
    }
}

#[test]
fn what_comes_between_the_publications_and_the_tables_is_published() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY RANGE (id); \
         CREATE PUBLICATION p FOR TABLE t, parts; CREATE PUBLICATION narrow FOR TABLE t (id)",
    );
    let statements =
        "ALTER TABLE t ADD n int; CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (9)";
    let catalogue = read_behind(&database, "BEGIN ISOLATION LEVEL", statements).unwrap();
    assert!(catalogue.table("public", "t").unwrap().column("n").is_some());
    assert!(catalogue.table("public", "part").is_some());
    let published: Vec<_> = ["narrow", "p"]
        .iter()
        .flat_map(|name| &catalogue.publication(name).unwrap().tables)
        .map(|table| (&*table.table, names(&table.columns)))
        .collect();
    assert_eq!(published, [("t", vec!["id"]), ("t", vec!["id", "n"]), ("part", vec!["id"])]);
}
