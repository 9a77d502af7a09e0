//! With a real PostgreSQL: a replica beside others, who need its publication, and beside transactions that stay open.

use crate::follower::{Follower, WAIT_MAX, catch_up, follow_tables};
use crate::postgres::{TABLES, assert_equal};
use crate::server::{TestDatabase, TestServer, run_sql, through};
use crate::shop;
use evergraph::{Database, ErrorKind, ReadByName as _};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::follow::connect::write_note;
use evergraph_replica::follow::detach::detach;
use evergraph_replica::follow::following_note::{
    FOLLOWING_NOTE, FollowingNote, FollowingStage, KnownChildren, PublicationOrigin,
};
use evergraph_replica::source::catalogue::Catalogue;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::settings::Host;
use evergraph_replica::source::postgres::slot;
use evergraph_replica::source::replica_source::ReplicaSource as _;
use std::time::{Duration, Instant};

/// A batch that is written for hours, or somebody who went to lunch behind BEGIN.
#[test]
fn a_streamed_transaction_that_stays_open_holds_nothing_up_and_is_there_whole_when_it_commits() {
    let Some(server) = TestServer::shared() else { return };
    let (there, follower, database, replica) =
        follow_tables(server, &format!("{TABLES}; CREATE TABLE beside (n int)"), shop::MAPPING);
    let (mut open, mut writer) = (there.connect(), there.connect());
    // Many times what the server decodes in memory.
    run_sql(
        &mut open,
        "BEGIN; INSERT INTO item SELECT n, 1, repeat('x', 200) FROM generate_series(1, 5000) n",
    );
    for key in 1..=3 {
        run_sql(&mut writer, &format!("INSERT INTO owner VALUES ({key}, 'a')"));
        // Nothing of it is sent: keepalives alone bring the replica here.
        run_sql(&mut writer, "INSERT INTO beside VALUES (1)");
        let now = replica.source_position().unwrap();
        assert!(replica.wait(now, WAIT_MAX).unwrap(), "{now} is not here: {:?}", replica.status());
        let began = Instant::now();
        while slot::state(&mut writer, &follower.slot).unwrap().unwrap().confirmed_lsn < Some(now) {
            assert!(began.elapsed() < WAIT_MAX, "{now} is not confirmed: {:?}", replica.status());
            std::thread::sleep(Duration::from_millis(50));
        }
        run_sql(&mut open, "INSERT INTO item SELECT max(id) + 1, 1, 'again' FROM item");
    }
    let began = Instant::now();
    while replica.status().lag_bytes > 0 {
        assert!(began.elapsed() < WAIT_MAX, "what is not committed is no lag: {:?}", replica.status());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(database.snapshot().vertices(Some("Item")).unwrap().len(), 0);
    // Its first blocks lie before what was confirmed, and come again to another stream.
    replica.stop().unwrap();
    let replica = follower.start(&database);
    catch_up(&replica);
    run_sql(&mut open, "COMMIT");
    assert_equal(&replica, &mut writer);
    assert_eq!(database.snapshot().vertices(Some("Item")).unwrap().len(), 5003);
    replica.stop().unwrap();
}

fn publications(there: &TestDatabase) -> Vec<Option<String>> {
    let rows = there.run("SELECT oid::text FROM pg_publication WHERE pubname = 'evergraph'");
    rows.into_iter().map(|row| row[0].clone()).collect()
}

fn make_slot(there: &TestDatabase, name: &str) {
    there.run(&format!("SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')"));
}

/// The note of a copy that died, which made the publication.
fn leave_note_of_copy(database: &Database, source: &PostgresSource, slot: &str) {
    let note = FollowingNote {
        stage: FollowingStage::Copying,
        slot: slot.to_owned(),
        publication: "evergraph".into(),
        publication_origin: PublicationOrigin::Ours,
        children: KnownChildren::None,
        catalogue: Catalogue::default(),
    };
    let mut ownership = database.own(&source.place()).unwrap();
    write_note(&mut ownership, FOLLOWING_NOTE, &note.encode()).unwrap();
}

#[test]
fn a_copy_that_fails_or_died_keeps_its_publication_while_another_slot_of_the_database_may_need_it() {
    let Some(server) = TestServer::shared() else { return };
    let there = server.database();
    there.run(&format!(
        "{TABLES}; ALTER TABLE owner ADD worth numeric; INSERT INTO owner VALUES (1, 'a', 'NaN')"
    ));
    let mapping = shop::MAPPING.replacen("label = 'Owner'\n", "label = 'Owner'\non-unfit = 'stop'\n", 1);
    let follower = Follower::new(there.settings(), &mapping);
    let database = follower.open();
    // Another replica began meanwhile, by the publication that it found.
    let other = format!("other_{}", there.name);
    make_slot(&there, &other);
    let refused = follower.try_start(&database).err().unwrap();
    assert!(refused.to_string().contains("NaN"), "{refused}");
    assert!(refused.to_string().contains("\"evergraph\", which this copy made, stays"), "{refused}");
    let made = publications(&there);
    assert_eq!((made.len(), database.source()), (1, None), "the other one follows by it");

    // A copy that died: the next start goes on with the same one, as its own.
    there.run("UPDATE owner SET worth = 1");
    let mut source = PostgresSource::new(there.settings(), CancelFlag::default());
    leave_note_of_copy(&database, &source, "evergraph_gone");
    let replica = follower.start(&database);
    catch_up(&replica);
    replica.stop().unwrap();
    assert_eq!(publications(&there), made);
    there.run(&format!("SELECT pg_drop_replication_slot('{other}')"));
    let detached = detach(&database, Some(&mut source)).unwrap();
    assert!(detached.dropped.len() == 2 && publications(&there).is_empty(), "{detached:?}");

    // Alone, it leaves nothing.
    there.run("UPDATE owner SET worth = 'NaN'");
    let alone = Follower::new(there.settings(), &mapping);
    assert!(alone.try_start(&alone.open()).is_err());
    assert!(publications(&there).is_empty());
}

#[test]
fn a_copy_that_died_is_detached_by_its_own_database_alone() {
    let Some(server) = TestServer::shared() else { return };
    let (there, other) = (server.database(), server.database());
    let publish = "CREATE PUBLICATION evergraph FOR ALL TABLES";
    there.run(publish);
    other.run(publish);
    let follower = Follower::new(there.settings(), shop::MAPPING);
    let database = follower.open();
    let slot = format!("begun_{}", there.name);
    make_slot(&there, &slot);
    let mut own = PostgresSource::new(there.settings(), CancelFlag::default());
    let mut another = PostgresSource::new(other.settings(), CancelFlag::default());
    leave_note_of_copy(&database, &own, &slot);
    let refused = detach(&database, Some(&mut another)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert!(refused.to_string().contains(&format!("name {:?}", there.name)), "{refused}");
    assert!(slot::state(&mut there.connect(), &slot).unwrap().is_some());
    let detached = detach(&database, Some(&mut own)).unwrap();
    assert_eq!(detached.dropped.len(), 2, "{detached:?}");
    assert_eq!((publications(&there).len(), publications(&other).len()), (0, 1));
}

/// The slot of a server that was promoted was told as dropped, by the URL of another server that never had it.
#[test]
fn a_slot_that_is_not_there_is_not_told_as_dropped() {
    let Some(server) = TestServer::shared() else { return };
    let there = server.database();
    there.run("CREATE TABLE owner (id int PRIMARY KEY, name text); CREATE TABLE item (id int PRIMARY KEY, owner_id int)");
    let follower = Follower::new(there.settings(), "[[table]]\ntable = 'owner'\nlabel = 'Owner'\n");
    let database = follower.open();
    let replica = follower.start(&database);
    catch_up(&replica);
    replica.stop().unwrap();
    there.run(&format!("SELECT pg_drop_replication_slot('{}')", follower.slot));
    let source = |settings| PostgresSource::new(settings, CancelFlag::default());
    // Whether that is the same server, nobody knows.
    let socket = through(there.settings(), Host::Unix(server.folder().to_owned()), server.port());
    let refused = detach(&database, Some(&mut source(socket))).unwrap_err().to_string();
    assert!(refused.contains("there is no such slot at") && refused.contains("--forget-source"), "{refused}");
    assert!(database.source().is_some());
    let detached = detach(&database, Some(&mut source(there.settings()))).unwrap();
    assert_eq!(
        (&*detached.dropped, &*detached.left),
        (&["the publication \"evergraph\"".to_owned()][..], &[][..])
    );
}

/// Two tables `[[serve.replica]]` of one source.
#[test]
fn replicas_that_begin_at_once_follow_by_one_publication() {
    let Some(server) = TestServer::shared() else { return };
    for _ in 0..2 {
        let there = server.database();
        there.run(&format!("{TABLES}; INSERT INTO owner VALUES (1, 'a')"));
        let begin = |number: u32| {
            let mut follower = Follower::new(there.settings(), shop::MAPPING);
            follower.slot = format!("{}_{number}", follower.slot);
            let database = follower.open();
            let replica = follower.start(&database);
            (follower, replica)
        };
        let replicas: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (1..=3)
                .map(|number| {
                    scope.spawn({
                        let begin = &begin;
                        move || begin(number)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        there.run("INSERT INTO owner VALUES (2, 'b')");
        for (_, replica) in &replicas {
            assert_equal(replica, &mut there.connect());
        }
        assert_eq!(publications(&there).len(), 1);
        replicas.into_iter().for_each(|(_, replica)| replica.stop().unwrap());
    }
}
