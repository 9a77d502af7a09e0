//! With a real PostgreSQL: DDL of every kind, what comes and goes between two looks, slots that are invalidated or grow, a source
//! that was restored to an older state.

use crate::follower::{Follower, WAIT_MAX, at_once, catch_up, follow_looked_at, follow_tables};
use crate::graph::{count, position};
use crate::scenario::pause;
use crate::server::{TestServer, connect, run_sql};
use crate::sql_graph::verify_with;
use evergraph::ReadByName as _;
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::follow::slot_note::{SLOT_NOTE, SlotNote};
use evergraph_replica::lsn::Lsn;
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::postgres::connection::Connection;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::slot;
use evergraph_replica::status::ReplicaState;
use evergraph_replica::verify::difference::DifferenceKind;
use evergraph_replica::verify::run::VerifyOptions;
use std::process::Command;
use std::time::{Duration, Instant};

/// The title is one that PostgreSQL keeps in the catalogue until rows are rewritten.
pub const TABLES: &str = "CREATE TYPE mood AS ENUM ('sad'); CREATE TYPE other_mood AS ENUM ('so');
    CREATE TABLE owner (id int PRIMARY KEY, name text, mood mood, unused text, spare int, other_mood other_mood);
    CREATE TABLE item (id int PRIMARY KEY, owner_id int);
    CREATE TABLE other (id int PRIMARY KEY);
    CREATE SCHEMA elsewhere;
    INSERT INTO owner VALUES (1, 'a', 'sad'); INSERT INTO item VALUES (1, 1);
    ALTER TABLE item ADD title varchar(20) DEFAULT 't'; ALTER TABLE item ALTER title DROP DEFAULT";

pub const MAPPING: &str = "[[table]]\ntable = 'owner'\nlabel = 'Owner'\nproperties = ['name', 'mood']\n\
    [[table]]\ntable = 'item'\nlabel = 'Item'\n\
    edge = [{ type = 'OF', column = 'owner_id', space = 'Owner' }]\n";

/// Statements that take nothing away from the graph, and change nothing of it that the stream does not say.
const HARMLESS: [&str; 37] = [
    "CREATE TABLE fresh (id int PRIMARY KEY)",
    "DROP TABLE other",
    "CREATE INDEX ON owner (name)",
    "CREATE UNIQUE INDEX ON item (id, title)",
    "COMMENT ON TABLE owner IS 'owners'",
    "GRANT SELECT ON owner TO PUBLIC",
    "VACUUM FULL owner",
    "CLUSTER item USING item_pkey",
    "REINDEX TABLE owner",
    "ALTER TABLE owner ALTER name SET STORAGE EXTERNAL",
    "ALTER TABLE item ALTER title SET STATISTICS 7; CLUSTER item",
    "ALTER PUBLICATION evergraph ADD TABLE fresh",
    "ALTER PUBLICATION evergraph SET TABLE owner (id, name, mood, unused), item",
    "ALTER PUBLICATION evergraph SET TABLE owner, item",
    "ALTER TABLE owner ADD note text DEFAULT 'not in the mapping'",
    "ALTER TABLE item ADD nothing text",
    "ALTER TABLE item ADD computed int GENERATED ALWAYS AS (7) STORED",
    "CREATE TABLE child () INHERITS (fresh)",
    "ALTER TABLE owner RENAME unused TO unused_2",
    "ALTER TABLE owner ADD unused text",
    "ALTER TABLE owner ALTER spare TYPE bigint",
    "ALTER TABLE owner DROP spare",
    "ALTER TABLE owner ADD spare text",
    "ALTER TABLE owner ALTER name SET DEFAULT 'nobody'",
    "ALTER TABLE owner ADD CHECK (id > -5)",
    "ALTER TABLE owner ADD u uuid DEFAULT gen_random_uuid(), ALTER name SET NOT NULL",
    "ALTER TABLE owner ALTER name SET NOT NULL",
    "ALTER TYPE mood ADD VALUE 'ok'",
    "ALTER TYPE mood RENAME TO feeling",
    "ALTER TYPE feeling SET SCHEMA elsewhere",
    "ALTER TYPE other_mood RENAME VALUE 'so' TO 'other'",
    "ALTER TABLE item ALTER title TYPE varchar(40)",
    "ALTER TABLE item ALTER title TYPE text",
    "ALTER TABLE item ADD FOREIGN KEY (owner_id) REFERENCES owner NOT VALID",
    "ALTER TABLE item ADD CONSTRAINT again UNIQUE (id)",
    "ALTER TABLE item DROP CONSTRAINT item_pkey, ADD PRIMARY KEY (id)",
    "ALTER TABLE item DROP CONSTRAINT item_pkey, ADD PRIMARY KEY (id, title); ALTER TABLE item REPLICA IDENTITY USING INDEX again",
];

/// Statements after which following cannot go on, and what the pause says.
const PAUSES: [(&str, &str); 32] = [
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
    ("ALTER TABLE owner ALTER id TYPE bigint", "the column id of owner was integer, and is bigint now"),
    (
        "ALTER TABLE item DROP CONSTRAINT item_pkey, ADD PRIMARY KEY (id, title)",
        "the key (id) of item is no primary key or unique key any more",
    ),
    // The rows come first that share it.
    (
        "ALTER TABLE item DROP CONSTRAINT item_pkey, ADD PRIMARY KEY (id, title); INSERT INTO item VALUES (1, 1, 'another')",
        "the key (id) of item is no primary key or unique key any more",
    ),
    (
        "ALTER TABLE item DROP CONSTRAINT item_pkey, ADD PRIMARY KEY (id, title); INSERT INTO item VALUES (2, 1, 'a'), (2, 1, 'b')",
        "the key (id) of item is no primary key or unique key any more",
    ),
    (
        // The first row that has it tells of it.
        "ALTER TABLE item ADD n int DEFAULT 7; INSERT INTO item VALUES (2, 1, 'x')",
        "the column n of item was added with a default",
    ),
    // The catalogue alone tells of it.
    ("ALTER TABLE item ADD n int DEFAULT 7", "the column n of item was added with a default"),
    (
        "UPDATE item SET owner_id = 1; ALTER TABLE item ADD n int DEFAULT 7; INSERT INTO item VALUES (2, 1, 'x')",
        "the column n of item was added with a default",
    ),
    // A column that is missing, there, missing, and there again.
    (
        "UPDATE item SET owner_id = 2; ALTER TABLE item ADD n int; UPDATE item SET n = 1; ALTER TABLE item DROP n; \
         UPDATE item SET owner_id = 3; ALTER TABLE item ADD n int; UPDATE item SET owner_id = 1",
        "table item, column n: was dropped",
    ),
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
    (
        "DROP PUBLICATION evergraph; CREATE PUBLICATION evergraph FOR TABLE owner, item WITH (publish_via_partition_root = true)",
        "was dropped and created again",
    ),
    (
        "ALTER PUBLICATION evergraph DROP TABLE owner; UPDATE owner SET name = 'b'; ALTER PUBLICATION evergraph ADD TABLE owner",
        "owner was taken out of the publication",
    ),
    ("ALTER TABLE owner DROP name; ALTER TABLE owner ADD name text", "another one than before"),
    ("ALTER TABLE item DROP title; ALTER TABLE item ADD title varchar(20)", "another one than before"),
    (
        "ALTER TABLE item RENAME title TO title_old; ALTER TABLE item ADD title text",
        "another one than before",
    ),
    (
        // A row that has the new column tells of it.
        "ALTER TABLE item RENAME title TO title_old; ALTER TABLE item ADD title text; INSERT INTO item VALUES (2, 1, 'x', 'y')",
        "another one than before",
    ),
    (
        "ALTER TABLE owner RENAME name TO n; ALTER TABLE owner RENAME unused TO name; ALTER TABLE owner RENAME n TO unused",
        "another one than before",
    ),
    (
        "ALTER TYPE mood RENAME VALUE 'sad' TO 'unhappy'",
        "the label \"sad\" of the enum of column mood of owner",
    ),
];

#[test]
fn ddl_that_takes_nothing_away_is_followed() {
    let Some(server) = TestServer::shared() else { return };
    let (looks, there, _follower, database, replica) = follow_looked_at(server, TABLES, MAPPING);
    let mut writer = there.connect();
    for (statement, id) in HARMLESS.into_iter().zip(10..) {
        run_sql(&mut writer, statement);
        run_sql(
            &mut writer,
            &format!(
                "INSERT INTO owner (id, name) VALUES ({id}, 'x'); INSERT INTO item VALUES ({id}, {id}, 'x'); \
                 UPDATE owner SET name = 'y' WHERE id = 10"
            ),
        );
        // A publication that is set twice between two looks is as one that a table was taken out of.
        if id % 4 == 0 || statement.contains("SET TABLE") {
            looks.wait_for_look();
        }
        catch_up(&replica);
        assert_eq!(replica.status().state, ReplicaState::Following, "{statement}");
    }
    run_sql(&mut writer, "UPDATE owner SET mood = 'ok' WHERE id = 1");
    catch_up(&replica);
    looks.wait_for_look();
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
        let (there, follower, database, replica) = follow_tables(server, TABLES, MAPPING);
        there.run(statement);
        let pause = pause(&replica);
        assert!(pause.cause.contains(cause), "{statement}: {pause}");
        let remedy = pause.remedy.split(';').next().unwrap();
        assert!(!remedy.is_empty() && !pause.cause.contains(remedy), "{statement}: {pause}");
        assert_eq!([count(&database, "Owner"), count(&database, "Item")], [1, 1], "{statement}");
        replica.stop().unwrap();
        // It is the same for whoever starts again.
        let replica = follower.start(&database);
        assert!(self::pause(&replica).cause.contains(cause), "{statement}");
        replica.stop().unwrap();
    };
    for part in PAUSES.chunks(10) {
        at_once(part, |case| case.0, check);
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

/// What partitions go through between two looks, and what the pause says.
const PARTITION_PAUSES: [(&str, &str); 4] = [
    // Filled before anybody sees it, which is the usual order.
    (
        "CREATE TABLE event_2 (LIKE event INCLUDING ALL); INSERT INTO event_2 VALUES (2, '2024-02-02', 'b'); \
         ALTER TABLE event ATTACH PARTITION event_2 FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')",
        "the partition event_2 was attached to event",
    ),
    (
        "CREATE TABLE event_2 (LIKE event INCLUDING ALL) PARTITION BY RANGE (day); \
         CREATE TABLE event_3 PARTITION OF event_2 FOR VALUES FROM ('2024-02-01') TO ('2024-02-10'); \
         INSERT INTO event_2 VALUES (2, '2024-02-02', 'b'); \
         ALTER TABLE event ATTACH PARTITION event_2 FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')",
        "the partition event_2 was attached to event",
    ),
    (
        "CREATE TABLE event_2 AS SELECT 2 AS id, date '2024-02-02' AS day, 'b' AS name; ALTER TABLE event_2 ALTER id SET NOT NULL, \
         ALTER day SET NOT NULL; ALTER TABLE event ATTACH PARTITION event_2 FOR VALUES FROM ('2024-02-01') TO ('2024-03-01'); \
         INSERT INTO event VALUES (3, '2024-02-03', 'after it')",
        "the partition event_2 was attached to event",
    ),
    (
        "ALTER TABLE event DETACH PARTITION event_1; DELETE FROM event_1; \
         ALTER TABLE event ATTACH PARTITION event_1 FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')",
        "the partition event_1 was detached from event and attached again",
    ),
];

/// What partitions go through, and the stream says.
const PARTITION_CHANGES: [&str; 5] = [
    // Rows that come in the same transaction, behind the partition.
    "CREATE TABLE event_2 PARTITION OF event FOR VALUES FROM ('2024-02-01') TO ('2024-03-01'); \
     INSERT INTO event_2 VALUES (2, '2024-02-02', 'b')",
    "CREATE TABLE event_2 (LIKE event INCLUDING ALL); \
     ALTER TABLE event ATTACH PARTITION event_2 FOR VALUES FROM ('2024-02-01') TO ('2024-03-01'); \
     INSERT INTO event VALUES (2, '2024-02-02', 'b')",
    // By a hash, which tells no partition apart for a query.
    "CREATE TABLE event_2 (LIKE event INCLUDING ALL) PARTITION BY HASH (id); \
     CREATE TABLE event_3 (LIKE event INCLUDING ALL); ALTER TABLE event_2 ATTACH PARTITION event_3 FOR VALUES WITH (MODULUS 1, REMAINDER 0); \
     ALTER TABLE event ATTACH PARTITION event_2 FOR VALUES FROM ('2024-02-01') TO ('2024-03-01'); \
     INSERT INTO event VALUES (2, '2024-02-02', 'b')",
    "ALTER TABLE event_1 ALTER name SET STATISTICS 7; CLUSTER event_1 USING event_1_pkey; INSERT INTO event VALUES (2, '2024-01-02', 'b')",
    "TRUNCATE event; INSERT INTO event VALUES (1, '2024-01-02', 'a'), (2, '2024-01-02', 'b')",
];

#[test]
fn what_happens_to_partitions_between_two_looks_is_followed_or_a_pause() {
    let Some(server) = TestServer::shared() else { return };
    const TABLES: &str =
        "CREATE TABLE event (id int, day date, name text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
        CREATE TABLE event_1 PARTITION OF event FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
        INSERT INTO event VALUES (1, '2024-01-02', 'a')";
    const MAPPING: &str = "[[table]]\ntable = 'event'\nlabel = 'Event'\n";
    let check = |statement: &str, cause: Option<&str>| {
        let (looks, there, _follower, database, replica) = follow_looked_at(server, TABLES, MAPPING);
        there.run(statement);
        match cause {
            Some(cause) => {
                let pause = pause(&replica);
                assert!(pause.cause.contains(cause), "{statement}: {pause}");
            }
            None => {
                catch_up(&replica);
                looks.wait_for_look();
                catch_up(&replica);
                assert_eq!(replica.status().state, ReplicaState::Following, "{statement}");
                assert_eq!(count(&database, "Event"), 2, "{statement}");
            }
        }
        replica.stop().unwrap();
    };
    let pauses = PARTITION_PAUSES.map(|(statement, cause)| (statement, Some(cause)));
    let changes = PARTITION_CHANGES.map(|statement| (statement, None));
    for part in [&pauses[..], &changes] {
        at_once(part, |case| case.0, |(statement, cause)| check(statement, *cause));
    }
}

/// Statements of which neither the stream nor the catalogue tells, and how the row differs then that was there before.
const UNNOTICED: [(&str, DifferenceKind); 5] = [
    ("ALTER TABLE owner ALTER name TYPE text USING name || '!'", DifferenceKind::Changed),
    ("ALTER TABLE owner ALTER short TYPE text USING short || '!'", DifferenceKind::Changed),
    // Within a composite type, and as the ends of a range.
    ("ALTER TYPE mood RENAME VALUE 'sad' TO 'unhappy'", DifferenceKind::Changed),
    ("ALTER TYPE size RENAME VALUE 'small' TO 'tiny'", DifferenceKind::Changed),
    ("TRUNCATE event_1", DifferenceKind::Extra),
];

#[test]
fn ddl_that_nothing_tells_of_is_followed_and_verify_finds_the_row_that_differs() {
    let Some(server) = TestServer::shared() else { return };
    const TABLES: &str = "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE state AS (mood mood, since int);
        CREATE TYPE size AS ENUM ('small', 'large'); CREATE TYPE sizes AS RANGE (subtype = size);
        CREATE TABLE owner (id int PRIMARY KEY, name text, short varchar(20), state state, sizes sizes);
        CREATE TABLE event (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
        CREATE TABLE event_1 PARTITION OF event FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
        CREATE TABLE event_2 PARTITION OF event FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
        INSERT INTO owner VALUES (1, 'a', 'b', '(sad,7)', '[small,large]'); INSERT INTO event VALUES (1, '2024-01-02')";
    const MAPPING: &str =
        "[[table]]\ntable = 'owner'\nlabel = 'Owner'\n[[table]]\ntable = 'event'\nlabel = 'Event'\n";
    let check = |(statement, kind): &(&str, DifferenceKind)| {
        let (looks, there, _follower, database, replica) = follow_looked_at(server, TABLES, MAPPING);
        let compare = || {
            let live = PostgresSource::new(there.settings(), CancelFlag::default()).catalogue().unwrap();
            let plan = replica.plan(&live).unwrap();
            verify_with(&database.snapshot(), &there, &plan, &VerifyOptions::default())
        };
        let before = compare();
        assert!(before.is_equal(), "{statement}: {before}");
        there.run(statement);
        there.run("INSERT INTO owner (id, name) VALUES (2, 'c'); INSERT INTO event VALUES (2, '2024-02-03')");
        looks.wait_for_look();
        catch_up(&replica);
        looks.wait_for_look();
        assert_eq!(replica.status().state, ReplicaState::Following, "{statement}");
        assert_eq!([count(&database, "Owner"), count(&database, "Event")], [2, 2], "{statement}");
        let after = compare();
        let kinds: Vec<_> = after.differences.iter().map(|difference| difference.kind).collect();
        assert_eq!(kinds, [*kind], "{statement}: {after}");
        replica.stop().unwrap();
    };
    at_once(&UNNOTICED, |case| case.0, check);
}
