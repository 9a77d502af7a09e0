//! What PostgreSQL sends, and what it does not: each observation of the design, by name.

use crate::follower::{END, Follower};
use crate::server::{TestDatabase, TestServer, run_sql};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::postgres::publication::{self, PublicationProblem};
use evergraph_replica::source::postgres::server::PostgresSource;

/// A database with these tables and a reader of all of them.
fn followed(tables: &str) -> Option<(TestDatabase, Follower)> {
    let database = TestServer::shared()?.database();
    database.run(tables);
    let follower = Follower::begin(&database);
    Some((database, follower))
}

/// Runs `statements`, each a transaction, and gives the lines without those of begin, commit and tables.
fn changes(database: &TestDatabase, follower: &mut Follower, statements: &[&str]) -> Vec<String> {
    let mut connection = database.connect();
    for statement in statements {
        run_sql(&mut connection, statement);
    }
    run_sql(&mut connection, END);
    let lines = follower.lines().into_iter();
    lines.filter(|line| !["begin", "commit"].contains(&&**line) && !line.starts_with("table")).collect()
}

#[test]
fn an_unchanged_toast_value_is_no_null_and_a_key_tuple_has_nulls_outside_the_key() {
    let table = "CREATE TABLE t (id int PRIMARY KEY, n int, long text); ALTER TABLE t ALTER long SET STORAGE EXTERNAL";
    let Some((database, mut follower)) = followed(table) else { return };
    let lines = changes(
        &database,
        &mut follower,
        &[
            "INSERT INTO t VALUES (1, 10, repeat('x', 5000)), (2, NULL, NULL)",
            "UPDATE t SET n = 11 WHERE id = 1",
            "UPDATE t SET id = 3 WHERE id = 1",
            "UPDATE t SET n = 5 WHERE id = 2",
            "UPDATE t SET long = NULL WHERE id = 3",
            "DELETE FROM t WHERE id = 3",
        ],
    );
    assert_eq!(
        lines,
        [
            "insert t (1, 10, 5000 bytes)",
            "insert t (2, null, null)",
            "update t (1, 11, unchanged)",
            "update t key (1, null, null) (3, 11, unchanged)",
            "update t (2, 5, null)",
            "update t (3, 11, null)",
            "delete t key (3, null, null)",
        ]
    );
}

#[test]
fn a_full_identity_sends_the_whole_old_row() {
    let table = "CREATE TABLE t (id int, long text); ALTER TABLE t ALTER long SET STORAGE EXTERNAL; \
                 ALTER TABLE t REPLICA IDENTITY FULL";
    let Some((database, mut follower)) = followed(table) else { return };
    let lines = changes(
        &database,
        &mut follower,
        &["INSERT INTO t VALUES (1, repeat('x', 5000))", "UPDATE t SET id = 2", "DELETE FROM t"],
    );
    // The new row does not repeat what the old one has.
    assert_eq!(lines[1], "update t old (1, 5000 bytes) (2, unchanged)");
    assert_eq!(lines[2], "delete t old (2, 5000 bytes)");
}

#[test]
fn updates_of_a_published_table_without_identity_fail_at_the_source_and_the_check_says_so_before() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(
        "CREATE TABLE bare (id int); \
         CREATE TABLE deferred (id int PRIMARY KEY DEFERRABLE); \
         CREATE TABLE keyed (id int NOT NULL UNIQUE); \
         CREATE TABLE sound (id int PRIMARY KEY); \
         INSERT INTO bare VALUES (1); INSERT INTO deferred VALUES (1); INSERT INTO keyed VALUES (1); INSERT INTO sound VALUES (1)",
    );
    let tables: Vec<_> =
        ["bare", "deferred", "keyed", "sound"].map(|table| ("public".to_owned(), table.to_owned())).to_vec();
    let mut source = PostgresSource::new(database.settings(), CancelFlag::default());
    let problems = publication::problems(&source.catalogue().unwrap(), "replica", &tables);
    let identity = |table: usize, index: Option<&str>| PublicationProblem::NoIdentity {
        table: tables[table].clone(),
        index: index.map(str::to_owned),
    };
    let missing = PublicationProblem::Missing { publication: "replica".into(), tables: tables.clone() };
    assert_eq!(problems, [missing, identity(0, None), identity(1, None), identity(2, Some("keyed_id_key"))]);
    // All of this is true: the source refuses, until the remedies were run.
    let mut connection = database.connect();
    publication::create(&mut connection, "replica", &tables).unwrap();
    for table in ["bare", "deferred", "keyed"] {
        for statement in [format!("UPDATE {table} SET id = 2"), format!("DELETE FROM {table}")] {
            let error = connection.query("write to", &statement).unwrap_err();
            assert_eq!(error.sqlstate(), Some("55000"), "{error}");
        }
    }
    run_sql(&mut connection, "UPDATE sound SET id = 2");
    for problem in &problems[1..] {
        run_sql(&mut connection, &problem.remedy().unwrap());
    }
    run_sql(&mut connection, "UPDATE bare SET id = 2; DELETE FROM deferred; UPDATE keyed SET id = 2");
    assert_eq!(publication::problems(&source.catalogue().unwrap(), "replica", &tables), []);
}

#[test]
fn a_publication_that_leaves_something_out_is_named_with_its_remedy() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(
        "CREATE TABLE a (id int PRIMARY KEY, n int); CREATE TABLE b (id int PRIMARY KEY); \
         CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY RANGE (id); \
         CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (10); \
         CREATE PUBLICATION replica FOR TABLE a WHERE (id > 5), parts WITH (publish = 'insert, update')",
    );
    let tables: Vec<_> = ["a", "b", "parts"].map(|table| ("public".to_owned(), table.to_owned())).to_vec();
    let mut source = PostgresSource::new(database.settings(), CancelFlag::default());
    let problems = publication::problems(&source.catalogue().unwrap(), "replica", &tables);
    let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
    for (text, part) in
        texts.iter().zip(["leaves out", "partitions' names", "(id > 5)", "does not have the table"])
    {
        assert!(text.contains(part), "{texts:#?}");
    }
    let mut connection = database.connect();
    for problem in &problems {
        if let Some(remedy) = problem.remedy() {
            run_sql(&mut connection, &remedy);
        }
    }
    let left = publication::problems(&source.catalogue().unwrap(), "replica", &tables);
    assert!(matches!(&left[..], [PublicationProblem::RowFilter { .. }]), "{left:?}");
}

#[test]
fn updates_fail_at_the_source_where_a_publication_filters_by_a_column_outside_of_the_identity() {
    let Some(server) = TestServer::shared() else { return };
    let database = server.database();
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 6), (2, 7); \
         CREATE PUBLICATION replica FOR TABLE t WHERE (n > 5)",
    );
    let mut connection = database.connect();
    for statement in ["UPDATE t SET n = 8 WHERE id = 1", "DELETE FROM t WHERE id = 1"] {
        let error = connection.query("write to", statement).unwrap_err();
        assert_eq!(error.sqlstate(), Some("42P10"), "{error}");
    }
    run_sql(&mut connection, "INSERT INTO t VALUES (3, 1)");
    // It is named before, since a mapping's own conditions are never the publication's.
    let tables = [("public".to_owned(), "t".to_owned())];
    let mut source = PostgresSource::new(database.settings(), CancelFlag::default());
    let problems = publication::problems(&source.catalogue().unwrap(), "replica", &tables);
    let found = problems.iter().any(|problem| matches!(problem, PublicationProblem::RowFilter { .. }));
    assert!(found, "{problems:?}");
}

#[test]
fn a_new_type_or_column_shows_in_the_next_relation_alone() {
    let Some((database, mut follower)) = followed("CREATE TABLE t (id int PRIMARY KEY, n int)") else {
        return;
    };
    let mut connection = database.connect();
    for statement in [
        "INSERT INTO t VALUES (1, 10), (2, 20)",
        "ALTER TABLE t ALTER n TYPE text USING 'n' || n", // rewrites both rows
        "ALTER TABLE t ADD d int DEFAULT 7",              // both rows have 7 now
        "INSERT INTO t VALUES (3, 'x', 8)",
        "ALTER TABLE t DROP n",
        "DELETE FROM t WHERE id = 3",
        END,
    ] {
        run_sql(&mut connection, statement);
    }
    let lines = follower.lines();
    let lines: Vec<_> = lines.iter().filter(|line| !["begin", "commit"].contains(&&***line)).collect();
    assert_eq!(
        lines,
        [
            "table t id*:23 n:23",
            "insert t (1, 10)",
            "insert t (2, 20)",
            "table t id*:23 n:25 d:23",
            "insert t (3, x, 8)",
            "table t id*:23 d:23",
            "delete t key (3, null)",
        ]
    );
}

#[test]
fn what_happens_to_one_partition_sends_nothing_and_a_row_that_moves_is_deleted_and_inserted() {
    let tables = "CREATE TABLE p (id int PRIMARY KEY, n int) PARTITION BY RANGE (id); \
                  CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10); \
                  CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20); \
                  CREATE TABLE loose (id int PRIMARY KEY, n int)";
    let Some((database, mut follower)) = followed(tables) else { return };
    let lines = changes(
        &database,
        &mut follower,
        &[
            "INSERT INTO p VALUES (1, 1), (11, 2)",
            "UPDATE p SET id = 12 WHERE id = 1",
            // Rows leave the table with TRUNCATE, DETACH and DROP, and come into it with ATTACH.
            "INSERT INTO p VALUES (2, 3), (3, 4)",
            "TRUNCATE p1",
            "INSERT INTO p VALUES (4, 5)",
            "ALTER TABLE p DETACH PARTITION p1",
            "ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (0) TO (10)",
            "DROP TABLE p1",
            "INSERT INTO loose VALUES (21, 6)",
            "ALTER TABLE p ATTACH PARTITION loose FOR VALUES FROM (20) TO (30)",
        ],
    );
    assert_eq!(
        lines,
        [
            "insert p (1, 1)",
            "insert p (11, 2)",
            "delete p key (1, null)",
            "insert p (12, 1)",
            "insert p (2, 3)",
            "insert p (3, 4)",
            "insert p (4, 5)",
            "insert loose (21, 6)",
        ]
    );
    let ids = database.run("SELECT id FROM p ORDER BY id");
    assert_eq!(ids.concat(), ["11", "12", "21"].map(|id| Some(id.to_owned())));
    // From then on rows of `loose` are sent as those of `p`, also one of which no insert was.
    let lines = changes(&database, &mut follower, &["UPDATE p SET n = 7 WHERE id = 21", "TRUNCATE p"]);
    assert_eq!(lines, ["update p (21, 7)", "truncate p"]);
}

#[test]
fn rows_come_in_the_order_of_their_statements_even_where_keys_swap_and_children_come_first() {
    let tables = "CREATE TABLE parent (id int PRIMARY KEY, u int UNIQUE DEFERRABLE INITIALLY DEFERRED); \
                  CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE \
                  DEFERRABLE INITIALLY DEFERRED); \
                  CREATE TABLE lone (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE SET NULL)";
    let Some((database, mut follower)) = followed(tables) else { return };
    let lines = changes(
        &database,
        &mut follower,
        &[
            "BEGIN; INSERT INTO child VALUES (1, 1); INSERT INTO parent VALUES (1, 1), (2, 2); COMMIT",
            "UPDATE parent SET u = 3 - u",
            "INSERT INTO lone VALUES (1, 1)",
            "DELETE FROM parent WHERE id = 1",
        ],
    );
    assert_eq!(
        lines,
        [
            "insert child (1, 1)",
            "insert parent (1, 1)",
            "insert parent (2, 2)",
            "update parent (1, 2)",
            "update parent (2, 1)",
            "insert lone (1, 1)",
            "delete parent key (1, null)",
            "delete child key (1, null)",
            "update lone (1, null)",
        ]
    );
}

/// go-pq-cdc#166: a rollback to a savepoint dropped the whole transaction.
#[test]
fn rollback_to_in_a_streamed_transaction_aborts_a_part_alone() {
    let Some((database, mut follower)) = followed("CREATE TABLE t (id int PRIMARY KEY, v text)") else {
        return;
    };
    let lines = changes(
        &database,
        &mut follower,
        &["BEGIN; INSERT INTO t SELECT n, repeat('a', 90) FROM generate_series(1, 2000) n; SAVEPOINT s; \
             INSERT INTO t SELECT n, repeat('b', 90) FROM generate_series(2001, 4000) n; ROLLBACK TO s; \
             INSERT INTO t SELECT n, repeat('c', 90) FROM generate_series(4001, 6000) n; COMMIT"],
    );
    let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    assert!(lines.contains(&"stream start first".to_owned()) && count("stream start") > 2);
    assert_eq!((count("stream abort of a part"), count("stream abort of all")), (1, 0));
    assert_eq!(lines.last().map(String::as_str), Some("stream commit"));
    assert_eq!((count("streamed insert t"), count("aaa"), count("ccc")), (4000 + count("bbb"), 2000, 2000));
    assert!(count("bbb") > 0, "the part that was rolled back was streamed before");
}

#[test]
fn a_streamed_transaction_that_is_rolled_back_is_aborted_as_a_whole() {
    let Some((database, mut follower)) = followed("CREATE TABLE t (id int PRIMARY KEY, v text)") else {
        return;
    };
    let lines = changes(
        &database,
        &mut follower,
        &[
            "BEGIN; INSERT INTO t SELECT n, repeat('a', 90) FROM generate_series(1, 2000) n; ROLLBACK",
            "INSERT INTO t VALUES (1, 'x')",
        ],
    );
    assert_eq!(lines[lines.len() - 2..], ["stream abort of all", "insert t (1, x)"]);
}

#[test]
fn streamed_transactions_interleave_by_blocks() {
    let Some((database, mut follower)) = followed("CREATE TABLE t (id int PRIMARY KEY, v text)") else {
        return;
    };
    let (mut one, mut other) = (database.connect(), database.connect());
    run_sql(&mut one, "BEGIN");
    run_sql(&mut other, "BEGIN");
    for block in 0..4 {
        for (number, connection) in [&mut one, &mut other].into_iter().enumerate() {
            let first = (block * 2 + number) * 1000;
            let rows =
                format!("INSERT INTO t SELECT {first} + n, repeat('a', 90) FROM generate_series(1, 1000) n");
            run_sql(connection, &rows);
        }
    }
    run_sql(&mut other, "COMMIT");
    run_sql(&mut one, "COMMIT");
    run_sql(&mut one, END);
    let lines = follower.lines();
    let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    assert_eq!((count("streamed insert"), count("stream commit"), count("first")), (8000, 2, 2));
    assert_eq!(count("stream start"), count("stream stop"));
    assert!(count("stream start") > 4);
}
