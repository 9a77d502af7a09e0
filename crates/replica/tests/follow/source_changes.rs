//! With a real PostgreSQL: DDL of every kind, slots that are invalidated or grow, a source that was restored to an older state.

use crate::follower::{Follower, WAIT_MAX, catch_up};
use crate::graph::position;
use crate::scenario::pause;
use crate::server::{TestServer, connect, run_sql};
use evergraph::{Database, ReadByName as _};
use evergraph_replica::follow::slot_note::{SLOT_NOTE, SlotNote};
use evergraph_replica::lsn::Lsn;
use evergraph_replica::source::postgres::connection::Connection;
use evergraph_replica::source::postgres::slot;
use evergraph_replica::status::ReplicaState;
use std::process::Command;
use std::time::{Duration, Instant};

const TABLES: &str = "CREATE TYPE mood AS ENUM ('sad');
    CREATE TABLE owner (id int PRIMARY KEY, name text, mood mood, unused text, spare int);
    CREATE TABLE item (id int PRIMARY KEY, owner_id int, title varchar(20));
    CREATE TABLE other (id int PRIMARY KEY);
    CREATE SCHEMA elsewhere;
    INSERT INTO owner VALUES (1, 'a'); INSERT INTO item VALUES (1, 1, 't')";

const MAPPING: &str = "[[table]]\ntable = 'owner'\nlabel = 'Owner'\nproperties = ['name', 'mood']\n\
    [[table]]\ntable = 'item'\nlabel = 'Item'\n\
    edge = [{ type = 'OF', column = 'owner_id', space = 'Owner' }]\n";

/// Statements that take nothing away from the graph, and change nothing of it that the stream does not say.
const HARMLESS: [&str; 22] = [
    "CREATE TABLE fresh (id int PRIMARY KEY)",
    "DROP TABLE other",
    "CREATE INDEX ON owner (name)",
    "CREATE UNIQUE INDEX ON item (id, title)",
    "COMMENT ON TABLE owner IS 'owners'",
    "GRANT SELECT ON owner TO PUBLIC",
    "VACUUM FULL owner",
    "CLUSTER item USING item_pkey",
    "ALTER TABLE owner ADD note text DEFAULT 'not in the mapping'",
    "ALTER TABLE item ADD nothing text",
    "ALTER TABLE item ADD computed int GENERATED ALWAYS AS (7) STORED",
    "CREATE TABLE child () INHERITS (fresh)",
    "ALTER TABLE owner RENAME unused TO unused_2",
    "ALTER TABLE owner ALTER spare TYPE bigint",
    "ALTER TABLE owner DROP spare",
    "ALTER TABLE owner ALTER name SET DEFAULT 'nobody'",
    "ALTER TABLE owner ADD CHECK (id > -5)",
    "ALTER TABLE owner ALTER name SET NOT NULL",
    "ALTER TYPE mood ADD VALUE 'ok'",
    "ALTER TABLE item ALTER title TYPE text",
    "ALTER TABLE item ADD FOREIGN KEY (owner_id) REFERENCES owner NOT VALID",
    "ALTER TABLE item ADD CONSTRAINT again UNIQUE (id)",
];

/// Statements after which following cannot go on, and what the pause says.
const PAUSES: [(&str, &str); 18] = [
    ("DROP TABLE item", "the table item was dropped"),
    (
        "DROP TABLE item; CREATE TABLE item (id int PRIMARY KEY, owner_id int, title varchar(20))",
        "the table item was dropped and made again",
    ),
    ("ALTER TABLE owner RENAME TO holder", "the table owner was renamed to holder"),
    ("ALTER TABLE owner SET SCHEMA elsewhere", "the table owner was renamed to elsewhere.owner"),
    ("ALTER TABLE owner RENAME name TO called", "the column name of owner was dropped or renamed"),
    ("ALTER TABLE item DROP owner_id", "the column owner_id of item was dropped or renamed"),
    ("ALTER TABLE item ALTER owner_id TYPE bigint", "the column owner_id of item was integer"),
    ("ALTER TABLE item ALTER title TYPE int USING 7", "the column title of item was character varying(20)"),
    (
        // The first row that has it tells of it.
        "ALTER TABLE item ADD n int DEFAULT 7; INSERT INTO item VALUES (2, 1, 'x')",
        "the column n of item was added with a default",
    ),
    // The catalogue alone tells of it.
    ("ALTER TABLE item ADD n int DEFAULT 7", "the column n of item was added with a default"),
    (
        "CREATE TABLE child () INHERITS (owner); INSERT INTO child VALUES (7)",
        "public.child inherits from owner now",
    ),
    ("ALTER TABLE owner DROP CONSTRAINT owner_pkey", "owner"),
    ("ALTER TABLE owner REPLICA IDENTITY NOTHING", "owner"),
    ("ALTER PUBLICATION evergraph DROP TABLE owner", "evergraph"),
    ("ALTER PUBLICATION evergraph SET TABLE owner WHERE (id > 5), item", "evergraph"),
    ("ALTER PUBLICATION evergraph SET (publish = 'insert, update, delete')", "evergraph"),
    ("DROP PUBLICATION evergraph", "evergraph"),
    ("DROP PUBLICATION evergraph; CREATE PUBLICATION evergraph FOR TABLE owner", "evergraph"),
];

fn count(database: &Database, label: &str) -> usize {
    database.snapshot().vertices(Some(label)).unwrap().len()
}

#[test]
fn ddl_that_takes_nothing_away_is_followed() {
    let Some(server) = TestServer::shared() else { return };
    let there = server.database();
    there.run(TABLES);
    let follower = Follower::new(there.settings(), MAPPING);
    let database = follower.open();
    let replica = follower.start(&database);
    catch_up(&replica);
    for (statement, id) in HARMLESS.into_iter().zip(10..) {
        there.run(statement);
        there.run(&format!(
            "INSERT INTO owner (id, name) VALUES ({id}, 'x'); INSERT INTO item VALUES ({id}, {id}, 'x'); \
             UPDATE owner SET name = 'y' WHERE id = 1"
        ));
        // Until the catalogue was looked at again.
        std::thread::sleep(Duration::from_millis(if id % 4 == 0 { 700 } else { 0 }));
        catch_up(&replica);
        assert_eq!(replica.status().state, ReplicaState::Following, "{statement}");
    }
    there.run("UPDATE owner SET mood = 'ok' WHERE id = 1");
    catch_up(&replica);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(replica.status().state, ReplicaState::Following);
    assert_eq!([count(&database, "Owner"), count(&database, "Item")], [HARMLESS.len() + 1; 2]);
    let snapshot = database.snapshot();
    let owner = snapshot.find("Owner", "id", 1).unwrap().unwrap();
    assert_eq!(snapshot.get(owner, "mood").unwrap(), Some("ok".into()));
    assert_eq!(snapshot.get(owner, "note").unwrap(), None);
    replica.stop().unwrap();
}

#[test]
fn ddl_that_takes_something_away_is_a_pause_with_its_remedy_and_nothing_after_it_is_here() {
    let Some(server) = TestServer::shared() else { return };
    let check = |(statement, cause): &(&str, &str)| {
        let there = server.database();
        there.run(TABLES);
        let follower = Follower::new(there.settings(), MAPPING);
        let database = follower.open();
        let replica = follower.start(&database);
        catch_up(&replica);
        there.run(statement);
        let pause = pause(&replica);
        assert!(pause.cause.contains(cause), "{statement}: {pause}");
        assert!(!pause.remedy.is_empty(), "{statement}: {pause}");
        assert_eq!([count(&database, "Owner"), count(&database, "Item")], [1, 1], "{statement}");
        replica.stop().unwrap();
        // It is the same for whoever starts again.
        let replica = follower.start(&database);
        assert!(self::pause(&replica).cause.contains(cause), "{statement}");
        replica.stop().unwrap();
    };
    // They wait more than they work. A thread that fails says its statement.
    for part in PAUSES.chunks(4) {
        std::thread::scope(|scope| {
            for case in part {
                let named = std::thread::Builder::new().name(case.0.to_owned());
                named.spawn_scoped(scope, move || check(case)).unwrap();
            }
        });
    }
}

#[test]
fn a_slot_that_keeps_more_log_than_the_alarm_allows_is_told_and_one_that_lost_its_log_is_a_pause() {
    let Some(server) = TestServer::own() else { return };
    let settings = server.settings("postgres");
    let mut writer = connect(&settings);
    run_sql(&mut writer, TABLES);
    run_sql(&mut writer, "CREATE TABLE busy (v text)");
    let mut follower = Follower::new(settings, MAPPING);
    follower.slot_alarm_bytes = 10_000_000;
    let database = follower.open();
    let replica = follower.start(&database);
    catch_up(&replica);
    assert!(!replica.status().is_retained_alarm);
    // Whoever writes without end keeps the log that the slot needs.
    let mut open = connect(&server.settings("postgres"));
    run_sql(&mut open, "BEGIN; INSERT INTO owner VALUES (2, 'open')");
    let write = |writer: &mut Connection| {
        run_sql(writer, "INSERT INTO busy SELECT repeat('x', 1000) FROM generate_series(1, 40000)");
        run_sql(writer, "SELECT pg_switch_wal()");
        run_sql(writer, "CHECKPOINT");
    };
    write(&mut writer);
    let began = Instant::now();
    while !replica.status().is_retained_alarm {
        assert!(began.elapsed() < WAIT_MAX, "{:?}", replica.status());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(replica.status().retained_bytes > Some(10_000_000));
    replica.stop().unwrap();
    run_sql(&mut open, "ROLLBACK");
    // Until the source may forget what the slot needs.
    run_sql(&mut writer, "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'");
    run_sql(&mut writer, "SELECT pg_reload_conf()");
    let began = Instant::now();
    while slot::state(&mut writer, &follower.slot).unwrap().unwrap().problem("postgres").is_none() {
        assert!(began.elapsed() < WAIT_MAX, "the slot has all its log");
        write(&mut writer);
    }
    let replica = follower.start(&database);
    let pause = pause(&replica);
    assert!(pause.cause.contains(&follower.slot) && pause.remedy.contains("resync"), "{pause}");
    assert_eq!(count(&database, "Owner"), 1);
    replica.stop().unwrap();
}

#[test]
fn a_source_that_was_restored_to_an_older_state_is_a_pause() {
    let Some(mut server) = TestServer::own() else { return };
    let follower = Follower::new(server.settings("postgres"), MAPPING);
    run_sql(&mut connect(&server.settings("postgres")), TABLES);
    let database = follower.open();
    let replica = follower.start(&database);
    catch_up(&replica);
    replica.stop().unwrap();
    let mut writer = connect(&server.settings("postgres"));
    let before = slot::state(&mut writer, &follower.slot).unwrap().unwrap().restart_lsn.unwrap();
    let (data, older) = (server.folder().join("data"), server.folder().join("older"));
    server.kill();
    let copied = Command::new("cp").arg("-a").args([&data, &older]).status().unwrap();
    assert!(copied.success());
    server.start_again();
    let replica = follower.start(&database);
    let mut writer = connect(&server.settings("postgres"));
    run_sql(&mut writer, "INSERT INTO owner SELECT n, repeat('x', 1000) FROM generate_series(2, 2000) n");
    let began = Instant::now();
    // Until the slot has moved, and the replica has seen that.
    while database
        .snapshot()
        .note(SLOT_NOTE)
        .is_none_or(|note| SlotNote::decode(&note).unwrap().restart <= before)
    {
        assert!(began.elapsed() < WAIT_MAX, "{:?}", slot::state(&mut writer, &follower.slot));
        run_sql(&mut writer, "CHECKPOINT");
        std::thread::sleep(Duration::from_millis(200));
    }
    catch_up(&replica);
    replica.stop().unwrap();
    server.kill();
    std::fs::remove_dir_all(&data).unwrap();
    std::fs::rename(&older, &data).unwrap();
    server.start_again();
    let replica = follower.start(&database);
    let pause = pause(&replica);
    assert!(pause.cause.contains("the source's log ends at"), "{pause}");
    assert_eq!(count(&database, "Owner"), 2000, "it stays as it was");
    replica.stop().unwrap();
    // Its log grows beyond what is here before anybody looks: the slot tells.
    let mut writer = connect(&server.settings("postgres"));
    run_sql(&mut writer, "INSERT INTO owner SELECT n, repeat('y', 1000) FROM generate_series(5001, 8000) n");
    let end = run_sql(&mut writer, "SELECT pg_current_wal_lsn()")[0][0].clone().unwrap();
    assert!(end.parse::<Lsn>().unwrap() > position(&database.snapshot()).unwrap().end, "{end}");
    let replica = follower.start(&database);
    let pause = self::pause(&replica);
    assert!(pause.cause.contains("is confirmed up to") && pause.cause.contains("an older state"), "{pause}");
    assert!(pause.remedy.contains("replica resync"), "{pause}");
    assert_eq!(count(&database, "Owner"), 2000, "it stays as it was");
    replica.stop().unwrap();
}

/// New columns that no row from before has a value in, of the tables `owner`, which has rows, and `empty`, which has none.
const EMPTY_COLUMNS: [&str; 5] = [
    "ALTER TABLE owner ADD n int; ALTER TABLE owner ALTER n SET DEFAULT 7",
    "ALTER TABLE owner ADD n int DEFAULT NULL",
    "ALTER TABLE empty ADD n int NOT NULL DEFAULT 7; ALTER TABLE empty ALTER n DROP DEFAULT",
    "ALTER TABLE empty ADD n int GENERATED ALWAYS AS IDENTITY",
    "ALTER TABLE parts ADD n int; ALTER TABLE parts ALTER n SET DEFAULT 7",
];

/// New columns that rows from before have values in.
const FILLED_COLUMNS: [&str; 5] = [
    "ALTER TABLE owner ADD n int DEFAULT 7; ALTER TABLE owner ALTER n DROP DEFAULT",
    "ALTER TABLE owner ADD n float8 DEFAULT random()",
    "ALTER TABLE owner ADD n seven",
    "ALTER TABLE owner ADD n int GENERATED ALWAYS AS IDENTITY",
    "ALTER TABLE parts ADD n int DEFAULT 7; ALTER TABLE parts ALTER n DROP DEFAULT",
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
        let there = server.database();
        there.run(TABLES);
        let follower = Follower::new(there.settings(), MAPPING);
        let database = follower.open();
        let replica = follower.start(&database);
        catch_up(&replica);
        there.run(statement);
        if is_filled {
            let pause = pause(&replica);
            assert!(
                pause.cause.contains("was added with a default or without nulls"),
                "{statement}: {pause}"
            );
        } else {
            // Until the catalogue was looked at twice, and then by the first row.
            std::thread::sleep(Duration::from_millis(800));
            let table = statement.split(' ').nth(2).unwrap();
            let column =
                if statement.contains("DROP DEFAULT") { "(id, n) VALUES (9, 5)" } else { "(id) VALUES (9)" };
            there.run(&format!("INSERT INTO {table} {column}"));
            catch_up(&replica);
            std::thread::sleep(Duration::from_millis(400));
            assert_eq!(replica.status().state, ReplicaState::Following, "{statement}");
            let expected = there.run(&format!("SELECT n FROM {table} WHERE id = 9"))[0][0].clone();
            let found = database.gremlin("g.V().has('id', 9).values('n')").values::<i64>().unwrap();
            assert_eq!(found.first().map(i64::to_string), expected, "{statement}");
        }
        replica.stop().unwrap();
    };
    for (statements, is_filled) in [(EMPTY_COLUMNS, false), (FILLED_COLUMNS, true)] {
        std::thread::scope(|scope| {
            for statement in statements {
                let named = std::thread::Builder::new().name(statement.to_owned());
                named.spawn_scoped(scope, move || check(statement, is_filled)).unwrap();
            }
        });
    }
}

#[test]
fn a_table_that_others_inherit_from_is_refused_until_they_do_no_more() {
    let Some(server) = TestServer::shared() else { return };
    let there = server.database();
    there.run(TABLES);
    there.run(
        "CREATE TABLE elsewhere.child (more int) INHERITS (owner); CREATE TABLE \"Odd\" () INHERITS (owner);
         INSERT INTO elsewhere.child VALUES (7, 'of the child')",
    );
    let follower = Follower::new(there.settings(), MAPPING);
    let database = follower.open();
    let refused = follower.try_start(&database).err().unwrap().to_string();
    assert!(
        refused.contains("owner has child tables (INHERITS): elsewhere.child, public.\"Odd\""),
        "{refused}"
    );
    let mends = "ALTER TABLE elsewhere.child NO INHERIT public.owner; ALTER TABLE public.\"Odd\" NO INHERIT public.owner";
    assert!(refused.contains(mends), "{refused}");
    there.run(mends);
    let replica = follower.start(&database);
    catch_up(&replica);
    assert_eq!(count(&database, "Owner"), 1);
    // One that comes later is a pause, which the SQL that it prints ends: nothing has to be copied anew.
    there.run("ALTER TABLE \"Odd\" INHERIT owner; INSERT INTO \"Odd\" VALUES (8)");
    let pause = pause(&replica);
    assert!(pause.cause.contains("public.\"Odd\" inherits from owner now"), "{pause}");
    replica.stop().unwrap();
    there.run("INSERT INTO owner VALUES (9, 'later')");
    there.run(pause.remedy.split(';').next().unwrap());
    let replica = follower.start(&database);
    catch_up(&replica);
    assert_eq!(count(&database, "Owner"), 2);
    replica.stop().unwrap();
}
