//! With a real PostgreSQL: columns that come, go, and become others under a replica.

use crate::cut_source::{Cut, CutSource};
use crate::follower::{
    Follower, WAIT_MAX, at_once, catch_up, follow_looked_at, follow_tables, follow_tables_by,
};
use crate::graph::count;
use crate::scenario::pause;
use crate::server::TestServer;
use crate::source_changes::{MAPPING, TABLES};
use crate::sql_graph::verify_with;
use evergraph::Database;
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::follow::connect::write_note;
use evergraph_replica::follow::following_note::{FOLLOWING_NOTE, FollowingNote};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::source::catalogue::Column;
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::replica_source::ReplicaSource;
use evergraph_replica::status::ReplicaState;
use evergraph_replica::verify::run::VerifyOptions;
use std::time::{Duration, Instant};

/// New columns that no row from before has a value in, of the tables `owner`, which has rows, and `empty`, which has none.
const EMPTY_COLUMNS: [&str; 6] = [
    "ALTER TABLE owner ADD n int; ALTER TABLE owner ALTER n SET DEFAULT 7",
    "ALTER TABLE owner ADD n int DEFAULT NULL",
    "ALTER TABLE empty ADD n int NOT NULL DEFAULT 7; ALTER TABLE empty ALTER n DROP DEFAULT",
    "ALTER TABLE empty ADD n int GENERATED ALWAYS AS IDENTITY",
    "ALTER TABLE parts ADD n int; ALTER TABLE parts ALTER n SET DEFAULT 7",
    // The stream says what the update writes.
    "ALTER TABLE owner ADD n int; UPDATE owner SET n = 3; ALTER TABLE owner ALTER n SET NOT NULL; ALTER TABLE owner ALTER n SET DEFAULT 7",
];

/// New columns that rows from before have values in.
const FILLED_COLUMNS: [&str; 7] = [
    "ALTER TABLE owner ADD n int DEFAULT 7; ALTER TABLE owner ALTER n DROP DEFAULT",
    "ALTER TABLE owner ADD n float8 DEFAULT random()",
    "ALTER TABLE owner ADD n seven",
    "ALTER TABLE owner ADD n int GENERATED ALWAYS AS IDENTITY",
    "ALTER TABLE parts ADD n int DEFAULT 7; ALTER TABLE parts ALTER n DROP DEFAULT",
    // Nothing of the default is left but the rows that it was written into.
    "ALTER TABLE owner ADD n float8 DEFAULT random(); ALTER TABLE owner ALTER n DROP DEFAULT",
    "ALTER TABLE parts ADD n float8 DEFAULT random(); ALTER TABLE parts ALTER n DROP DEFAULT",
];

#[test]
fn a_new_column_is_a_pause_only_if_rows_from_before_have_values_in_it() {
    let Some(server) = TestServer::shared() else { return };
    const TABLES: &str = "CREATE DOMAIN seven AS int DEFAULT 7; CREATE TABLE owner (id int PRIMARY KEY);
        CREATE TABLE empty (id int PRIMARY KEY); CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY RANGE (id);
        CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100);
        INSERT INTO owner VALUES (1); INSERT INTO parts VALUES (1)";
    const MAPPING: &str = "[[table]]\ntable = 'owner'\nlabel = 'Owner'\n[[table]]\ntable = 'empty'\nlabel = 'Empty'\n\
        [[table]]\ntable = 'parts'\nlabel = 'Part'\n";
    let check = |statement: &str, is_filled: bool| {
        let (looks, there, _follower, database, replica) = follow_looked_at(server, TABLES, MAPPING);
        there.run(statement);
        if is_filled {
            let pause = pause(&replica);
            assert!(
                pause.cause.contains("was added with a default or without nulls"),
                "{statement}: {pause}"
            );
        } else {
            // By a look first, and then by the first row.
            looks.wait_for_look();
            let table = statement.split(' ').nth(2).unwrap();
            let column =
                if statement.contains("DROP DEFAULT") { "(id, n) VALUES (9, 5)" } else { "(id) VALUES (9)" };
            there.run(&format!("INSERT INTO {table} {column}"));
            catch_up(&replica);
            looks.wait_for_look();
            assert_eq!(replica.status().state, ReplicaState::Following, "{statement}");
            let expected = there.run(&format!("SELECT n FROM {table} WHERE id = 9"))[0][0].clone();
            let found = database.gremlin("g.V().has('id', 9).values('n')").values::<i64>().unwrap();
            assert_eq!(found.first().map(i64::to_string), expected, "{statement}");
        }
        replica.stop().unwrap();
    };
    for (statements, is_filled) in [(&EMPTY_COLUMNS[..], false), (&FILLED_COLUMNS, true)] {
        at_once(statements, |statement| statement, |statement| check(statement, is_filled));
    }
}

/// Transactions that change rows of a table, add columns to it, and change rows again, as migrations do.
const MIGRATIONS: [&str; 5] = [
    "INSERT INTO owner SELECT n, repeat('before ', 9) FROM generate_series(10, ROWS) n; ALTER TABLE owner ADD n int; \
     UPDATE owner SET n = id; INSERT INTO owner VALUES (7, 'behind', 8), (8, 'null', NULL); DELETE FROM owner WHERE id = 12",
    "UPDATE owner SET name = 'x'; ALTER TABLE owner ADD n int; INSERT INTO owner SELECT n, 'between', n FROM generate_series(10, ROWS) n; \
     ALTER TABLE owner ADD note text; UPDATE owner SET note = name || n WHERE id % 3 = 0; UPDATE owner SET id = -id WHERE id % 5 = 0",
    "INSERT INTO owner SELECT n, 'before' FROM generate_series(10, ROWS) n; SAVEPOINT s; ALTER TABLE owner ADD gone int; \
     UPDATE owner SET gone = 1; ROLLBACK TO s; INSERT INTO owner VALUES (7, 'between'); ALTER TABLE owner ADD n int DEFAULT NULL; \
     UPDATE owner SET n = 2 WHERE id < 100",
    "INSERT INTO owner SELECT n, 'before' FROM generate_series(10, ROWS) n; ALTER TABLE owner ADD n int; UPDATE owner SET n = id; \
     ALTER TABLE owner ALTER n SET NOT NULL; ALTER TABLE owner ALTER n SET DEFAULT 7; INSERT INTO owner VALUES (7, 'behind')",
    "INSERT INTO owner SELECT generate_series(10, ROWS); INSERT INTO link SELECT 1, n, n FROM generate_series(10, ROWS) n; \
     DELETE FROM link WHERE w = 10; ALTER TABLE link ADD since int; UPDATE link SET since = w WHERE w % 2 = 0; \
     UPDATE link SET b = 33 - b WHERE b IN (16, 17); INSERT INTO link VALUES (2, 1, 1, 1); DELETE FROM link WHERE w % 3 = 0",
];

#[test]
fn a_column_that_a_transaction_adds_behind_changes_of_its_table_is_null_in_them() {
    let Some(server) = TestServer::shared() else { return };
    const TABLES: &str = "CREATE TABLE owner (id int PRIMARY KEY, name text);
        CREATE TABLE link (a int, b int, w int, PRIMARY KEY (a, b) DEFERRABLE INITIALLY DEFERRED);
        ALTER TABLE link REPLICA IDENTITY FULL; INSERT INTO owner VALUES (1, 'a'), (2, 'b'); INSERT INTO link VALUES (1, 2, 0)";
    const MAPPING: &str = "[[table]]\ntable = 'owner'\nlabel = 'Owner'\n[[table]]\ntable = 'link'\ntype = 'LINK'\n\
        start = { column = 'a', space = 'Owner' }\nend = { column = 'b', space = 'Owner' }\n";
    let check = |statements: &str, restart: Restart| {
        // The first stream ends where a description with the column comes; the second one has the transaction again.
        let cut = match restart {
            Restart::None => Cut::default(),
            Restart::WithinTransaction => Cut::after_streams(1),
        };
        let by_cut = |source| -> Box<dyn ReplicaSource> { Box::new(CutSource::new(source, &cut)) };
        let (there, follower, mut database, mut replica) = follow_tables_by(server, TABLES, MAPPING, by_cut);
        there.run(&format!("BEGIN; {statements}; COMMIT"));
        if restart == Restart::WithinTransaction {
            let began = Instant::now();
            while replica.status().state != ReplicaState::Stopped {
                assert!(began.elapsed() < WAIT_MAX, "{:?}", replica.status());
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(count(&database, "Owner"), 2, "nothing of the transaction is here");
            drop(replica);
            database.close().unwrap();
            drop(database);
            database = follower.open();
            replica = follower.start(&database);
        }
        for later in ["", "INSERT INTO owner (id) VALUES (-7); UPDATE link SET w = 99 WHERE w = 1"] {
            there.run(later);
            catch_up(&replica);
            let live = PostgresSource::new(there.settings(), CancelFlag::default()).catalogue().unwrap();
            let plan = replica.plan(&live).unwrap();
            let report = verify_with(&database.snapshot(), &there, &plan, &VerifyOptions::default());
            assert!(report.is_equal(), "{statements}: {report}");
        }
        assert_eq!(replica.status().state, ReplicaState::Following, "{statements}");
        replica.stop().unwrap();
    };
    // Short ones come whole, long ones are streamed and worked on before they commit.
    for (rows, restart) in [("30", Restart::WithinTransaction), ("4000", Restart::None)] {
        let statements = MIGRATIONS.map(|statements| statements.replace("ROWS", rows));
        at_once(&statements, |statements| statements, |statements| check(statements, restart));
    }
}

/// When a replica is stopped and started again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Restart {
    None,
    /// When a column is known, and the transaction that adds it is not here.
    WithinTransaction,
}

#[test]
fn a_column_that_a_rule_numbers_is_the_one_that_was_copied_whatever_is_dropped_added_or_renamed() {
    let Some(server) = TestServer::shared() else { return };
    const MAPPING: &str = "[[table]]\ntable = 'node'\nlabel = 'Node'\n[[table]]\ntable = 'link'\ntype = 'LINK'\n\
        start = { column = 3, space = 'Node' }\nend = { column = 4, space = 'Node' }\nproperties = ['w']\n";
    const TABLES: &str = "CREATE TABLE node (id int PRIMARY KEY);
        CREATE TABLE link (x int, other int, src int, dst int, w int, PRIMARY KEY (src, dst));
        INSERT INTO node SELECT generate_series(1, 9); INSERT INTO link VALUES (0, 0, 1, 2, 12), (0, 0, 2, 3, 23)";
    let (there, follower, database, mut replica) = follow_tables(server, TABLES, MAPPING);
    // With columns by number, on both sides.
    let check = |replica: &Replica| {
        catch_up(replica);
        let live = PostgresSource::new(there.settings(), CancelFlag::default()).catalogue().unwrap();
        let plan = replica.plan(&live).unwrap();
        let report = verify_with(&database.snapshot(), &there, &plan, &VerifyOptions::default());
        assert!(report.is_equal(), "{report}");
        let of_graph = |step: &str| {
            let text = format!("g.E().hasLabel('LINK').order().by('w'){step}");
            database.gremlin(&text).values::<i64>().unwrap()
        };
        let of_graph = [".outV().values('id')", ".inV().values('id')", ".values('w')"].map(of_graph);
        let of_sql = ["src", "dst", "w"].map(|column| {
            let rows = there.run(&format!("SELECT {column} FROM link ORDER BY w"));
            rows.iter().map(|row| row[0].as_ref().unwrap().parse().unwrap()).collect::<Vec<i64>>()
        });
        assert_eq!(of_graph, of_sql);
    };
    for statements in [
        "ALTER TABLE link DROP x",
        "ALTER TABLE link ADD y int; INSERT INTO link VALUES (0, 3, 4, 34, 7); UPDATE link SET w = 0 WHERE src = 1",
        "ALTER TABLE link RENAME other TO another; INSERT INTO link VALUES (0, 4, 5, 45, 7); DELETE FROM link WHERE src = 2",
        "ALTER TABLE link ADD other int; INSERT INTO link VALUES (0, 5, 6, 56, 7, 7); UPDATE link SET dst = 7 WHERE src = 1",
    ] {
        there.run(statements);
        check(&replica);
        replica.stop().unwrap();
        replica = follower.start(&database);
        check(&replica);
    }
    replica.stop().unwrap();
}

/// The parts of what is known that an older program did not keep, or kept in another way.
#[test]
fn a_database_of_an_older_program_learns_of_columns_that_were_made_again_and_of_numbers_that_were_moved() {
    let Some(server) = TestServer::shared() else { return };
    let (there, follower, database, replica) = follow_tables(server, TABLES, MAPPING);
    replica.stop().unwrap();
    let mut ownership = database.own(&database.source().unwrap()).unwrap();
    let mut transaction = ownership.begin().unwrap();
    transaction.remove_note("marks").unwrap();
    transaction.commit().unwrap();
    drop(ownership);
    there.run("ALTER TABLE owner DROP name; ALTER TABLE owner ADD name text");
    let pause_of = |follower: &Follower, database: &Database| pause(&follower.start(database)).cause;
    let cause = pause_of(&follower, &database);
    assert!(cause.contains("the column name of owner is another one than before"), "{cause}");

    for (columns, cause) in [
        // As it was written: the dropped column behind all others.
        (["src", "dst", "w", "y", "x"], Some("the dropped column x of link")),
        (["x", "src", "dst", "w", "y"], None),
    ] {
        let (there, follower, database, replica) = follow_tables(server, NUMBERED_TABLES, NUMBERED_MAPPING);
        replica.stop().unwrap();
        there.run("ALTER TABLE link DROP x; ALTER TABLE link ADD y int");
        let note = database.snapshot().note(FOLLOWING_NOTE).unwrap();
        let mut note = FollowingNote::decode(&note).unwrap();
        let link = note.catalogue.tables.iter_mut().find(|table| &*table.name == "link").unwrap();
        let column = |name: &str| link.column(name).or(link.column("w")).unwrap().clone();
        link.columns = columns.map(|name| Column { name: name.into(), ..column(name) }).to_vec();
        let mut ownership = database.own(&database.source().unwrap()).unwrap();
        write_note(&mut ownership, FOLLOWING_NOTE, &note.encode()).unwrap();
        drop(ownership);
        match cause {
            Some(cause) => {
                let found = pause_of(&follower, &database);
                assert!(found.contains(cause), "{found}");
            }
            None => {
                let replica = follower.start(&database);
                catch_up(&replica);
                assert_eq!(replica.status().state, ReplicaState::Following);
                replica.stop().unwrap();
            }
        }
    }
}

const NUMBERED_MAPPING: &str = "[[table]]\ntable = 'node'\nlabel = 'Node'\n[[table]]\ntable = 'link'\ntype = 'LINK'\n\
    start = { column = 2, space = 'Node' }\nend = { column = 3, space = 'Node' }\nproperties = ['w']\n";
const NUMBERED_TABLES: &str = "CREATE TABLE node (id int PRIMARY KEY);
    CREATE TABLE link (x int, src int, dst int, w int, PRIMARY KEY (src, dst));
    INSERT INTO node SELECT generate_series(1, 9); INSERT INTO link VALUES (0, 1, 2, 12), (0, 2, 3, 23)";

#[test]
fn a_computed_column_that_becomes_an_ordinary_one_is_a_pause_if_a_rule_takes_it() {
    let Some(server) = TestServer::shared() else { return };
    const TABLES: &str =
        "CREATE TABLE owner (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED);
        INSERT INTO owner VALUES (1)";
    let mapping = |rest: &str| format!("[[table]]\ntable = 'owner'\nlabel = 'Owner'\n{rest}");
    for statement in [
        "ALTER TABLE owner ALTER twice DROP EXPRESSION",
        "ALTER TABLE owner DROP twice; ALTER TABLE owner ADD twice int",
    ] {
        let (there, _follower, _database, replica) = follow_tables(server, TABLES, &mapping(""));
        there.run(statement);
        let pause = pause(&replica);
        assert!(pause.cause.contains("computed the column twice of owner"), "{pause}");
        replica.stop().unwrap();
        let mapping = mapping("properties = []\n");
        let (looks, there, _follower, _database, replica) = follow_looked_at(server, TABLES, &mapping);
        there.run(statement);
        looks.wait_for_look();
        assert_eq!(replica.status().state, ReplicaState::Following);
        replica.stop().unwrap();
    }
}

#[test]
fn a_column_that_gets_a_collation_with_rules_unknown_here_is_a_pause_if_edges_or_filters_compare_it() {
    let Some(server) = TestServer::shared() else { return };
    const TABLES: &str =
        "CREATE COLLATION ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
        CREATE TABLE person (mail text PRIMARY KEY, name text, city text);
        CREATE TABLE letter (id int PRIMARY KEY, receiver text REFERENCES person);
        INSERT INTO person VALUES ('a@b', 'a', 'Ulm'); INSERT INTO letter VALUES (1, 'a@b')";
    const MAPPING: &str = "[[table]]\ntable = 'person'\nlabel = 'Person'\nwhere = \"city <> 'Bonn'\"\n\
        [[table]]\ntable = 'letter'\nlabel = 'Letter'\n\
        edge = [{ type = 'TO', column = 'receiver', space = 'Person' }]\n";
    for (table, column, cause) in [
        ("person", "name", None),
        ("person", "city", Some("values of type text with a collation that is not deterministic")),
        ("person", "mail", Some("column mail of person is text with a collation that is not deterministic")),
        ("letter", "receiver", Some("column receiver of letter is text with a collation")),
    ] {
        let (looks, there, _follower, database, replica) = follow_looked_at(server, TABLES, MAPPING);
        there.run(&format!("ALTER TABLE {table} ALTER {column} TYPE text COLLATE ignoring_case"));
        match cause {
            Some(cause) => {
                let pause = pause(&replica);
                assert!(pause.cause.contains(cause) && pause.remedy.contains("resync"), "{pause}");
            }
            None => {
                there.run("INSERT INTO person VALUES ('c@d', 'A', 'Köln')");
                catch_up(&replica);
                looks.wait_for_look();
                assert_eq!(replica.status().state, ReplicaState::Following);
                assert_eq!(count(&database, "Person"), 2);
            }
        }
        replica.stop().unwrap();
    }
}

#[test]
fn keys_that_take_longer_texts_are_followed() {
    let Some(server) = TestServer::shared() else { return };
    const TABLES: &str = "CREATE TABLE person (mail varchar(4) PRIMARY KEY, name varchar(9));
        CREATE TABLE letter (id int PRIMARY KEY, receiver varchar(4) REFERENCES person);
        INSERT INTO person VALUES ('a@b', 'a'); INSERT INTO letter VALUES (1, 'a@b')";
    const MAPPING: &str = "[[table]]\ntable = 'person'\nlabel = 'Person'\n[[table]]\ntable = 'letter'\nlabel = 'Letter'\n\
        edge = [{ type = 'TO', column = 'receiver', space = 'Person' }]\n";
    let (looks, there, _follower, database, replica) = follow_looked_at(server, TABLES, MAPPING);
    for (kind, id) in [("varchar(20)", 2), ("text", 3)] {
        there.run(&format!(
            "BEGIN; INSERT INTO person VALUES ('b{id}', 'b'); ALTER TABLE person ALTER mail TYPE {kind};
             ALTER TABLE letter ALTER receiver TYPE {kind}; INSERT INTO person VALUES ('longer@{id}', 'c');
             INSERT INTO letter VALUES ({id}, 'longer@{id}'); UPDATE letter SET receiver = 'b{id}' WHERE id = 1; COMMIT"
        ));
        catch_up(&replica);
        looks.wait_for_look();
        assert_eq!(replica.status().state, ReplicaState::Following);
        let receivers = "g.V().hasLabel('Letter').order().by('id').out('TO').values('mail')";
        let found = database.gremlin(receivers).values::<String>().unwrap();
        let expected: Vec<String> = there
            .run("SELECT receiver FROM letter ORDER BY id")
            .into_iter()
            .map(|mut row| row.remove(0).unwrap())
            .collect();
        assert_eq!(found, expected);
    }
    replica.stop().unwrap();
}

#[test]
fn an_ignored_column_under_another_name_is_a_pause_since_it_becomes_a_property() {
    let Some(server) = TestServer::shared() else { return };
    const TABLES: &str =
        "CREATE TABLE owner (id int PRIMARY KEY, secret text); INSERT INTO owner VALUES (1, 's')";
    const MAPPING: &str = "[[table]]\ntable = 'owner'\nlabel = 'Owner'\nignore = ['secret']\n";
    let (there, _follower, _database, replica) = follow_tables(server, TABLES, MAPPING);
    there.run("ALTER TABLE owner RENAME secret TO shown; INSERT INTO owner VALUES (2, 't')");
    let pause = pause(&replica);
    assert!(pause.cause.contains("the column secret of owner was renamed to shown"), "{pause}");
    replica.stop().unwrap();
}

#[test]
fn a_label_that_an_enum_gets_is_compared_from_the_next_look_on() {
    let Some(server) = TestServer::shared() else { return };
    const TABLES: &str =
        "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE owner (id int PRIMARY KEY, mood mood);
        INSERT INTO owner VALUES (1, 'sad'), (2, 'ok')";
    const MAPPING: &str = "[[table]]\ntable = 'owner'\nlabel = 'Owner'\nwhere = \"mood > 'sad'\"\n";
    let looks = Cut::default();
    let by_looks = |source| -> Box<dyn ReplicaSource> { Box::new(CutSource::new(source, &looks)) };
    let (there, follower, database, replica) = follow_tables_by(server, TABLES, MAPPING, by_looks);
    replica.stop().unwrap();
    there.run("ALTER TYPE mood ADD VALUE 'fine'");
    there.run("INSERT INTO owner VALUES (3, 'fine')");
    let replica = follower.try_start_by(&database, by_looks).unwrap();
    catch_up(&replica);
    there.run("ALTER TYPE mood ADD VALUE 'better'");
    looks.wait_for_look();
    there.run("INSERT INTO owner VALUES (4, 'better')");
    catch_up(&replica);
    assert_eq!(count(&database, "Owner"), 3);
    replica.stop().unwrap();
}
