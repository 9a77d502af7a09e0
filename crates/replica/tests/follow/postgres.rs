//! With a real PostgreSQL: changes follow, whatever is killed, dropped or altered, and the graph equals SQL's rows.

use crate::cut_source::{Cut, CutSource};
use crate::follower::{Follower, WAIT_MAX, catch_up, follow_tables};
use crate::graph::Graph;
use crate::scenario::pause;
use crate::server::{TestDatabase, TestServer, connect, run_sql};
use crate::shop::{self, Shop, below};
use evergraph::{Database, ReadByName as _};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::follow::detach::detach;
use evergraph_replica::follow::following_note::{FOLLOWING_NOTE, FollowingNote};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::source::postgres::connection::Connection;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::slot;
use evergraph_replica::status::ReplicaState;
use evergraph_replica::status_file::{self, ReplicaLife};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub const TABLES: &str = "CREATE TABLE owner (id int PRIMARY KEY, name text);
    CREATE TABLE item (id int PRIMARY KEY, owner_id int, title text)";

/// What SQL has.
fn rows(connection: &mut Connection) -> Shop {
    let number = |cell: &Option<String>| cell.as_ref().map(|text| text.parse().unwrap());
    let owners = run_sql(connection, "SELECT id, name FROM owner");
    let items = run_sql(connection, "SELECT id, owner_id, title FROM item");
    Shop {
        owners: owners.iter().map(|row| (number(&row[0]).unwrap(), row[1].clone())).collect(),
        items: items
            .iter()
            .map(|row| (number(&row[0]).unwrap(), (number(&row[1]), row[2].clone())))
            .collect(),
    }
}

pub fn assert_equal(replica: &Replica, connection: &mut Connection) {
    catch_up(replica);
    assert_eq!(Graph::read(&replica.database().snapshot()), Graph::of(&rows(connection)));
}

/// Random statements, several a transaction, some of them rolled back to a savepoint.
fn write(connection: &mut Connection, random: &mut u64, transactions: u64) {
    for _ in 0..transactions {
        let mut sql = "BEGIN".to_owned();
        for statement in 0..1 + below(random, 4) {
            let (key, other, name) = (below(random, 40), below(random, 40), below(random, 1000));
            let statement = match (below(random, 9), statement) {
                (0, _) => format!("DELETE FROM owner WHERE id = {key}"),
                (1, _) => format!("DELETE FROM item WHERE id = {key}"),
                (2, _) => {
                    format!("UPDATE owner SET id = {} WHERE id = {key}", 1000 + below(random, 1_000_000))
                }
                (3, _) => format!("UPDATE item SET owner_id = {other} WHERE id = {key}"),
                (4, _) => format!("SAVEPOINT s; DELETE FROM owner WHERE id < {key}; ROLLBACK TO s"),
                (5..7, _) => format!(
                    "INSERT INTO owner VALUES ({key}, 'n{name}') ON CONFLICT (id) DO UPDATE SET name = excluded.name"
                ),
                _ => format!(
                    "INSERT INTO item VALUES ({key}, {other}, repeat('t{name}', 400)) \
                     ON CONFLICT (id) DO UPDATE SET owner_id = excluded.owner_id"
                ),
            };
            sql.push_str("; ");
            sql.push_str(&statement);
        }
        sql.push_str(if below(random, 8) == 0 { "; ROLLBACK" } else { "; COMMIT" });
        run_sql(connection, &sql);
    }
}

#[test]
fn a_database_is_copied_followed_stopped_and_followed_again() {
    let Some(server) = TestServer::shared() else { return };
    let there = server.database();
    there.run(TABLES);
    let mut writer = there.connect();
    let mut random = 1;
    write(&mut writer, &mut random, 50);
    let follower = Follower::new(there.settings(), shop::MAPPING);
    let database = follower.open();
    let folder = database.path().unwrap().to_owned();
    let replica = follower.start(&database);
    write(&mut writer, &mut random, 200);
    assert_equal(&replica, &mut writer);
    let status = replica.status();
    assert!(status.transactions > 50 && status.restarts == 0 && status.last_error.is_none(), "{status:?}");
    assert_eq!((status.slot.as_str(), status.publication.as_str()), (&*follower.slot, "evergraph"));
    assert!(!replica.epochs().is_empty());
    // Another process sees it, and stops it.
    let began = Instant::now();
    loop {
        let found = status_file::read(&folder).unwrap().unwrap();
        assert_eq!(found.life, ReplicaLife::Running);
        if found.status.state == ReplicaState::Following && found.status.transactions > 50 {
            break;
        }
        assert!(began.elapsed() < WAIT_MAX, "{found:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    status_file::stop(&folder, WAIT_MAX).unwrap();
    assert_eq!(replica.status().state, ReplicaState::Stopped);
    assert_eq!(status_file::read(&folder).unwrap().unwrap().life, ReplicaLife::NotRunning);
    drop(replica);
    database.close().unwrap();
    drop(database);
    // What happened meanwhile comes later.
    write(&mut writer, &mut random, 100);
    let database = follower.open();
    let replica = follower.start(&database);
    assert_equal(&replica, &mut writer);
    write(&mut writer, &mut random, 100);
    run_sql(&mut writer, "TRUNCATE item; INSERT INTO item SELECT n, n, 'x' FROM generate_series(1, 20000) n");
    assert_equal(&replica, &mut writer);
    replica.stop().unwrap();
    let mut source = PostgresSource::new(there.settings(), CancelFlag::default());
    let detached = detach(&database, Some(&mut source)).unwrap();
    assert_eq!(detached.dropped.len(), 2, "{detached:?}");
    database.transact(|transaction| transaction.add_vertex("Mine", &[])).unwrap();
    database.close().unwrap();
}

#[test]
fn what_was_lost_and_what_waits_is_known_after_a_restart_before_the_source_answers() {
    let Some(server) = TestServer::shared() else { return };
    let there = server.database();
    there.run(&format!(
        "{TABLES}; INSERT INTO owner VALUES (1, 'a'), (2, 'hidden'); INSERT INTO item VALUES (1, 7, 't'), (2, 8, 't')"
    ));
    let mapping =
        shop::MAPPING.replacen("label = 'Owner'\n", "label = 'Owner'\nwhere = \"name <> 'hidden'\"\n", 1);
    let follower = Follower::new(there.settings(), &mapping);
    let lost = |replica: &Replica| {
        let status = replica.status();
        let losses = status.losses.iter().map(|loss| (loss.rule.clone(), loss.cause.clone(), loss.count));
        (losses.collect::<Vec<_>>(), status.waiting_rows)
    };
    let condition = |count| vec![("Owner".to_owned(), "condition".to_owned(), count)];
    let wait_for = |replica: &Replica, expected: &(Vec<(String, String, u64)>, u64)| {
        let began = Instant::now();
        while lost(replica) != *expected {
            assert!(began.elapsed() < WAIT_MAX, "{:?}, not {expected:?}", lost(replica));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let database = follower.open();
    let replica = follower.start(&database);
    assert_eq!(lost(&replica), (condition(1), 2), "those of the copy");
    // Alone in its transaction, beside others, and as a key that waits no longer.
    there.run("INSERT INTO owner VALUES (3, 'hidden')");
    there.run("INSERT INTO owner VALUES (4, 'hidden'), (7, 'c')");
    there.run("INSERT INTO owner VALUES (5, 'hidden')");
    catch_up(&replica);
    let expected = (condition(4), 1);
    wait_for(&replica, &expected);
    replica.stop().unwrap();
    database.close().unwrap();
    drop(database);
    let database = follower.open();
    let replica = follower.start(&database);
    assert_eq!(lost(&replica), expected, "before the source answered");
    catch_up(&replica);
    wait_for(&replica, &expected);
    there.run("UPDATE owner SET name = 'hidden' WHERE id = 7");
    catch_up(&replica);
    wait_for(&replica, &(condition(5), 2));
    replica.stop().unwrap();
}

#[test]
fn a_postgresql_that_was_killed_or_shut_down_is_followed_again_also_on_another_timeline() {
    let Some(mut server) = TestServer::own() else { return };
    let settings = server.settings("postgres");
    let mut writer = connect(&settings);
    run_sql(&mut writer, TABLES);
    let mut random = 2;
    write(&mut writer, &mut random, 30);
    let follower = Follower::new(settings, shop::MAPPING);
    let database = follower.open();
    let replica = follower.start(&database);
    for end in 0..4 {
        write(&mut writer, &mut random, 60);
        match end {
            0 | 3 => server.kill(),
            // The second time while nobody writes.
            1 => server.0.shut_down().unwrap(),
            _ => {
                assert_equal(&replica, &mut writer);
                server.0.shut_down().unwrap();
            }
        }
        let began = Instant::now();
        while replica.status().state == ReplicaState::Following {
            assert!(began.elapsed() < WAIT_MAX, "{:?}", replica.status());
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(replica.status().state, ReplicaState::Reconnecting);
        if end == 3 {
            // As a standby that is promoted: it goes on from the end of its log on another timeline.
            let data = server.folder().join("data");
            let signal = data.join("recovery.signal");
            fs::write(&signal, "").unwrap();
            fs::set_permissions(&signal, fs::Permissions::from_mode(0o666)).unwrap();
            let settings = data.join("postgresql.auto.conf");
            let text = fs::read_to_string(&settings).unwrap() + "\nrestore_command = '/bin/false'\n";
            fs::write(&settings, text).unwrap();
        }
        server.start_again();
        writer = connect(&server.settings("postgres"));
        let began = Instant::now();
        while run_sql(&mut writer, "SELECT pg_is_in_recovery()::text")[0][0].as_deref() != Some("false") {
            assert!(began.elapsed() < WAIT_MAX, "it recovers without end");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_equal(&replica, &mut writer);
    }
    let timeline = run_sql(&mut writer, "SELECT timeline_id FROM pg_control_checkpoint()");
    assert_eq!(timeline[0][0].as_deref(), Some("2"));
    assert_eq!(replica.status().state, ReplicaState::Following);
    write(&mut writer, &mut random, 20);
    assert_equal(&replica, &mut writer);
    replica.stop().unwrap();
}

#[test]
fn a_dropped_slot_is_a_pause_and_the_graph_stays_readable() {
    let Some(server) = TestServer::shared() else { return };
    let tables = format!("{TABLES}; INSERT INTO owner VALUES (1, 'a')");
    let (there, follower, database, replica) = follow_tables(server, &tables, shop::MAPPING);
    replica.stop().unwrap();
    there.run(&format!("SELECT pg_drop_replication_slot('{}')", follower.slot));
    let replica = follower.start(&database);
    let pause = pause(&replica);
    assert!(pause.cause.contains("is gone") && pause.remedy.contains("replica resync"), "{pause}");
    assert!(database.snapshot().find("Owner", "id", 1).unwrap().is_some());
    replica.stop().unwrap();
}

#[test]
fn a_foreign_key_that_is_dropped_is_a_pause_where_edges_relied_on_it() {
    let Some(server) = TestServer::shared() else { return };
    let tables = format!(
        "{TABLES}; ALTER TABLE item ADD CONSTRAINT owned FOREIGN KEY (owner_id) REFERENCES owner;
         INSERT INTO owner VALUES (1, 'a'); INSERT INTO item VALUES (1, 1, 't')"
    );
    let (there, _follower, _database, replica) = follow_tables(server, &tables, shop::MAPPING);
    there.run("ALTER TABLE item DROP CONSTRAINT owned");
    let pause = pause(&replica);
    assert!(pause.cause.contains("a foreign key to Owner was dropped"), "{pause}");
    replica.stop().unwrap();
}

#[test]
fn a_quiet_database_beside_a_busy_one_keeps_no_log() {
    let Some(server) = TestServer::shared() else { return };
    let busy = server.database();
    busy.run("CREATE TABLE t (id int, v text)");
    let (there, follower, database, replica) = follow_tables(server, TABLES, shop::MAPPING);
    let before = database.store().statistics().commits;
    busy.run("INSERT INTO t SELECT n, repeat('x', 1000) FROM generate_series(1, 40000) n; CHECKPOINT");
    let mut watcher = there.connect();
    let began = Instant::now();
    loop {
        catch_up(&replica);
        // What the server may forget is noted when it next looks at running transactions.
        busy.run("CHECKPOINT");
        let kept = slot::state(&mut watcher, &follower.slot).unwrap().unwrap().kept_bytes.unwrap();
        if kept < 5_000_000 {
            break;
        }
        // Other tests of this server may have transactions that need the log for a while.
        assert!(began.elapsed() < 2 * WAIT_MAX, "{kept} bytes are kept");
        std::thread::sleep(Duration::from_millis(500));
    }
    let (commits, seconds) = (database.store().statistics().commits - before, began.elapsed().as_secs());
    assert!(commits < 100 + 10 * seconds, "{commits} commits in {seconds} s for 40,000 rows of others");
    replica.stop().unwrap();
}

/// Writes into a table of its own, one small transaction after the other, until it is dropped.
struct BusyNeighbour {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyNeighbour {
    fn begin(database: &TestDatabase) -> Self {
        database.run("CREATE TABLE t (id int)");
        let is_over = Arc::new(AtomicBool::new(false));
        let begin = |_| {
            let (is_over, mut connection) = (Arc::clone(&is_over), database.connect());
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    run_sql(&mut connection, "INSERT INTO t VALUES (1)");
                }
            })
        };
        Self { threads: (0..3).map(begin).collect(), is_over }
    }
}

impl Drop for BusyNeighbour {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

#[test]
fn an_idle_replica_reaches_now_and_its_slot_advances_beside_a_database_that_never_rests() {
    let Some(server) = TestServer::shared() else { return };
    let busy = server.database();
    let (there, follower, _database, replica) = follow_tables(server, TABLES, shop::MAPPING);
    let neighbour = BusyNeighbour::begin(&busy);
    let mut watcher = there.connect();
    for _ in 0..3 {
        // What `--until now` waits for.
        let now = replica.source_position().unwrap();
        assert!(replica.wait(now, WAIT_MAX).unwrap(), "{now} is not here: {:?}", replica.status());
        let began = Instant::now();
        while slot::state(&mut watcher, &follower.slot).unwrap().unwrap().confirmed_lsn < Some(now) {
            assert!(began.elapsed() < WAIT_MAX, "{now} is not confirmed: {:?}", replica.status());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    drop(neighbour);
    let status = replica.status();
    assert_eq!((status.restarts, status.transactions, status.last_error), (0, 0, None));
    replica.stop().unwrap();
}

/// How long the applier pauses: `EVERGRAPH_REPLICA_PAUSE_SECONDS`, or 8 seconds.
fn pause_time() -> Duration {
    let seconds = std::env::var("EVERGRAPH_REPLICA_PAUSE_SECONDS")
        .map_or(8, |text| text.parse().expect("EVERGRAPH_REPLICA_PAUSE_SECONDS is a number"));
    Duration::from_secs(seconds)
}

#[test]
fn an_applier_that_pauses_beyond_the_senders_time_limit_keeps_its_connection_and_loses_nothing() {
    let Some(server) = TestServer::shared() else { return };
    let there = server.database();
    there.run(TABLES);
    let pause = pause_time();
    // The server's own default, if the pause exceeds it. Status updates are sent once a second: with 5 s each may be 4 s late.
    let time_max = if pause > Duration::from_secs(60) { 60 } else { 5 };
    let mut settings = there.settings();
    settings.options = Some(format!("-c wal_sender_timeout={time_max}s"));
    let follower = Follower::new(settings, shop::MAPPING);
    let (database, gate) = (follower.open(), Cut::default());
    let replica = follower.try_start_by(&database, |source| Box::new(CutSource::new(source, &gate))).unwrap();
    catch_up(&replica);
    gate.hold(|| {
        // Several times what the queue and the system's buffers hold.
        let rows = "INSERT INTO item SELECT n, n, repeat('x', 10000) FROM generate_series";
        let mut writer = there.connect();
        for part in 0..40 {
            run_sql(&mut writer, &format!("{rows}({}, {}) n", 100 * part + 1, 100 * (part + 1)));
        }
        std::thread::sleep(pause);
        assert_eq!(database.snapshot().vertices(Some("Item")).unwrap().len(), 0, "it pauses");
    });
    assert_equal(&replica, &mut there.connect());
    let status = replica.status();
    assert_eq!((status.restarts, status.last_error, status.rows), (0, None, 4000));
    replica.stop().unwrap();
}

#[test]
fn a_new_column_is_followed_and_one_with_a_default_or_a_dropped_one_is_a_pause() {
    let Some(server) = TestServer::shared() else { return };
    let tables = format!("{TABLES}; INSERT INTO owner VALUES (1, 'a'), (2, 'b')");
    let (there, follower, database, replica) = follow_tables(server, &tables, shop::MAPPING);
    there.run(
        "ALTER TABLE owner ADD COLUMN city text; UPDATE owner SET city = 'Ulm' WHERE id = 1;
         INSERT INTO owner VALUES (3, 'c', 'Bonn')",
    );
    catch_up(&replica);
    let snapshot = database.snapshot();
    let city = |id: i32| {
        let owner = snapshot.find("Owner", "id", id).unwrap().unwrap();
        snapshot.get(owner, "city").unwrap().and_then(|city| city.as_str().map(str::to_owned))
    };
    assert_eq!([city(1), city(2), city(3)], [Some("Ulm".into()), None, Some("Bonn".into())]);
    // Another one that comes while nobody follows.
    replica.stop().unwrap();
    there.run(
        "UPDATE owner SET name = 'before' WHERE id = 2; ALTER TABLE item ADD COLUMN note text;
               INSERT INTO item VALUES (1, 1, 't', 'n')",
    );
    let replica = follower.start(&database);
    catch_up(&replica);
    let snapshot = database.snapshot();
    let item = snapshot.find("Item", "id", 1).unwrap().unwrap();
    assert_eq!(snapshot.get(item, "note").unwrap(), Some("n".into()));
    there.run("ALTER TABLE owner ADD COLUMN rank int DEFAULT 7; INSERT INTO owner (id) VALUES (4)");
    let pause = pause(&replica);
    assert!(pause.cause.contains("rank of owner was added with a default"), "{pause}");
    assert!(database.snapshot().find("Owner", "id", 4).unwrap().is_none());
    replica.stop().unwrap();

    let tables = format!("{TABLES}; INSERT INTO owner VALUES (1, 'a')");
    let (there, _follower, database, replica) = follow_tables(server, &tables, shop::MAPPING);
    there.run("ALTER TABLE owner DROP COLUMN name; INSERT INTO owner VALUES (2)");
    let pause = self::pause(&replica);
    assert!(pause.cause.contains("column name") && pause.cause.contains("owner"), "{pause}");
    assert!(database.snapshot().find("Owner", "id", 2).unwrap().is_none());
    replica.stop().unwrap();
}

/// Whether the note of what the source has names a table.
fn is_known(database: &Database, table: &str) -> bool {
    let note = database.snapshot().note(FOLLOWING_NOTE).expect("it follows");
    FollowingNote::decode(&note).unwrap().catalogue.table("public", table).is_some()
}

#[test]
fn partitions_that_are_made_are_followed_and_those_attached_or_dropped_are_a_pause() {
    let Some(server) = TestServer::shared() else { return };
    const PARTED: &str =
        "CREATE TABLE event (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
        CREATE TABLE event_1 PARTITION OF event FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')";
    const RULE: &str = "[[table]]\ntable = 'event'\nlabel = 'Event'\n";
    let count = |database: &Database| database.snapshot().vertices(Some("Event")).unwrap().len();
    let begin = || {
        let tables = format!("{PARTED}; INSERT INTO event VALUES (1, '2024-01-02')");
        let following = follow_tables(server, &tables, RULE);
        assert_eq!(count(&following.2), 1);
        following
    };
    let (there, _follower, database, replica) = begin();
    there.run(
        "CREATE TABLE event_2 PARTITION OF event FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
         INSERT INTO event VALUES (2, '2024-02-02')",
    );
    // Made empty, then attached in one transaction, as pg_partman does.
    there.run(
        "BEGIN; CREATE TABLE event_3 (LIKE event INCLUDING ALL);
         ALTER TABLE event ATTACH PARTITION event_3 FOR VALUES FROM ('2024-03-01') TO ('2024-04-01'); COMMIT",
    );
    // Nobody misses a partition that nobody knew of.
    let began = Instant::now();
    while !["event_2", "event_3"].iter().all(|partition| is_known(&database, partition)) {
        assert!(began.elapsed() < WAIT_MAX, "partitions are not known: {:?}", replica.status());
        std::thread::sleep(Duration::from_millis(20));
    }
    there.run("INSERT INTO event VALUES (3, '2024-03-02'); UPDATE event SET day = '2024-01-03' WHERE id = 3");
    catch_up(&replica);
    assert_eq!((count(&database), replica.status().state), (3, ReplicaState::Following));
    there.run("DROP TABLE event_2");
    let dropped = pause(&replica);
    assert!(dropped.cause.contains("event_2 was dropped from event"), "{dropped}");
    replica.stop().unwrap();

    // While nobody follows.
    let (there, follower, database, replica) = begin();
    replica.stop().unwrap();
    there.run("CREATE TABLE old (id int, day date, PRIMARY KEY (id, day)); INSERT INTO old VALUES (9, '2023-01-01')");
    there.run("ALTER TABLE event ATTACH PARTITION old FOR VALUES FROM ('2023-01-01') TO ('2024-01-01')");
    let replica = follower.start(&database);
    let attached = pause(&replica);
    assert!(attached.cause.contains("the partition old was attached to event"), "{attached}");
    replica.stop().unwrap();
}

#[test]
fn a_new_replica_is_refused_with_the_sql_that_helps_and_leaves_nothing() {
    let Some(server) = TestServer::shared() else { return };
    let there = server.database();
    there.run("CREATE TABLE owner (id int, name text); CREATE TABLE item (id int PRIMARY KEY, owner_id int, title text)");
    let mapping = shop::MAPPING.replacen("label = 'Owner'\n", "label = 'Owner'\nid = 'id'\n", 1);
    let follower = Follower::new(there.settings(), &mapping);
    let database = follower.open();
    let refused = follower.try_start(&database).err().unwrap();
    assert!(refused.to_string().contains("cannot be followed yet"), "{refused}");
    there.run("ALTER TABLE owner ALTER id SET NOT NULL; ALTER TABLE owner ADD UNIQUE (id)");
    let refused = follower.try_start(&database).err().unwrap();
    assert!(refused.to_string().contains("REPLICA IDENTITY USING INDEX"), "{refused}");
    assert_eq!(database.source(), None);
    assert!(there.run("SELECT 1 FROM pg_publication").is_empty());
    there.run(
        "ALTER TABLE owner REPLICA IDENTITY USING INDEX owner_id_key; INSERT INTO owner VALUES (1, 'a')",
    );
    // A slot of this name that somebody else has is not taken away.
    there.run(&format!("SELECT pg_create_logical_replication_slot('{}', 'pgoutput')", follower.slot));
    let refused = follower.try_start(&database).err().unwrap();
    assert!(refused.to_string().contains("pg_drop_replication_slot"), "{refused}");
    there.run(&format!("SELECT pg_drop_replication_slot('{}')", follower.slot));
    let replica = follower.start(&database);
    catch_up(&replica);
    assert!(database.snapshot().find("Owner", "id", 1).unwrap().is_some());
    replica.stop().unwrap();
}
