//! What a scripted source does wrong, and what a replica makes of it.

use crate::graph::position;
use crate::messages;
use crate::scenario::{Faults, Scenario, follow, open, options, pause};
use crate::shop::{self, ITEM, ITEM_COLUMNS, OWNER, OWNER_COLUMNS};
use evergraph::{Database, Durability, ErrorKind, Options, ReadByName as _};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::copy::options::{CopyProgress, CopyStage};
use evergraph_replica::follow::connect::write_note;
use evergraph_replica::follow::detach::{abandon, check_slot, detach};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::follow::slot_note::{SLOT_NOTE, SlotNote};
use evergraph_replica::lsn::Lsn;
use evergraph_replica::source::catalogue::{Catalogue, Table};
use evergraph_replica::source::contract::{LogicalMessages, Source as _, SourceIdentity, StreamRequest};
use evergraph_replica::source::replica_source::{PartitionOrigin, ReplicaSource as _};
use evergraph_replica::source::scripted::{ScriptStep, ScriptedSource};
use evergraph_replica::status::ReplicaState;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

const WAIT_MAX: Duration = Duration::from_secs(60);

fn database() -> Database {
    open(&MemoryDirectory::new("replica"), Durability::Interval(Duration::from_millis(5)))
}

fn start(database: &Database, scenario: &Scenario) -> Replica {
    follow(database, Box::new(scenario.source.clone())).unwrap()
}

/// A shop with `transactions` random transactions, and a database that has followed it to their end.
fn following(seed: u64, transactions: u64) -> (Scenario, Database, Replica) {
    let scenario = Scenario::new(&mut { seed }, transactions, Faults::None);
    let database = database();
    let replica = start(&database, &scenario);
    wait(&replica, scenario.end());
    (scenario, database, replica)
}

/// The same, which follows no more.
fn followed(seed: u64, transactions: u64) -> (Scenario, Database) {
    let (scenario, database, replica) = following(seed, transactions);
    replica.stop().unwrap();
    (scenario, database)
}

fn wait(replica: &Replica, end: Lsn) {
    assert!(replica.wait(end, WAIT_MAX).unwrap(), "{:?}", replica.status());
}

/// All of the scenario's own transactions are here, and none behind them.
fn assert_whole(scenario: &Scenario, database: &Database) {
    let end = scenario.check(&database.snapshot());
    // A keepalive behind the last one may have been noted.
    assert!(end >= scenario.end() && end < scenario.end_of_script(), "{end}");
}

fn texts(cells: &[&str]) -> Vec<Option<String>> {
    cells.iter().map(|cell| Some((*cell).to_owned())).collect()
}

/// A transaction of these messages.
fn transaction(xid: u32, end: u64, rows: Vec<Vec<u8>>) -> ScriptStep {
    let mut messages = vec![messages::begin(xid, end)];
    messages.extend(rows);
    messages.push(messages::commit(end));
    ScriptStep::Messages(messages)
}

#[test]
fn a_replica_goes_on_after_breaks_and_from_its_note_after_a_stop() {
    let scenario = Scenario::new(&mut 7, 100, Faults::Random);
    let database = database();
    let replica = start(&database, &scenario);
    wait(&replica, scenario.end());
    scenario.check(&database.snapshot());
    let began = Instant::now();
    // A break may come behind the last transaction.
    while replica.status().state != ReplicaState::Following {
        assert!(began.elapsed() < WAIT_MAX, "{:?}", replica.status());
        std::thread::sleep(Duration::from_millis(2));
    }
    let status = replica.status();
    assert_eq!(status.slot.as_str(), "shop");
    assert!(status.restarts > 0 && status.last_error.is_some() && status.transactions > 0, "{status:?}");
    replica.stop().unwrap();
    let confirmed = Some(scenario.confirmed());
    assert_eq!(confirmed, position(&database.snapshot()).map(|position| position.end));
    // Others are refused, and it goes on where it was.
    let refused = database.transact(|transaction| transaction.add_vertex("Item", &[])).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    scenario.source.go_on([transaction(1, 50_000, vec![messages::truncate(None, ITEM)])]);
    let replica = start(&database, &scenario);
    wait(&replica, Lsn::new(50_000));
    assert_eq!(replica.status().transactions, 1, "nothing comes again");
    replica.stop().unwrap();
}

#[test]
fn a_slot_that_is_gone_or_was_read_by_somebody_else_is_a_pause() {
    let scenario = Scenario::new(&mut 1, 3, Faults::None);
    scenario.source.go_on([ScriptStep::DropSlot]);
    let database = database();
    let replica = start(&database, &scenario);
    let pause = pause(&replica);
    assert!(pause.cause.contains("slot \"shop\" is gone") && pause.remedy.contains("resync"), "{pause}");
    assert_whole(&scenario, &database);
    let told = replica.wait(Lsn::new(90_000), WAIT_MAX).unwrap_err();
    assert!(told.kind() == ErrorKind::Invalid && told.to_string().contains("is gone"), "{told}");
    drop(replica);

    let (scenario, database) = followed(2, 3);
    let request = StreamRequest {
        slot: "shop".into(),
        publications: vec!["evergraph".into()],
        start: Lsn::ZERO,
        logical_messages: LogicalMessages::Skipped,
    };
    scenario.source.clone().stream(&request).unwrap().confirm(Lsn::new(70_000));
    let replica = start(&database, &scenario);
    let pause = self::pause(&replica);
    assert!(
        pause.cause.contains("another database, perhaps a copy of this one, follows by this slot"),
        "{pause}"
    );
    replica.stop().unwrap();
    // A new copy of the tables would drop the slot of that one.
    let mut source = scenario.source.clone();
    for refused in [
        detach(&database, Some(&mut source)).unwrap_err(),
        check_slot(&database, &mut source).unwrap_err(),
        abandon(&database, &mut source).unwrap_err(),
    ] {
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        let words = ["perhaps a copy of this one", "--forget-source", "pg_drop_replication_slot('shop')"];
        assert!(words.iter().all(|words| refused.to_string().contains(words)), "{refused}");
    }
    assert!(source.slot_state("shop").unwrap().is_some());
    assert_eq!(source.catalogue().unwrap().publications.len(), 1);
    // Where no other database follows, as behind a restored backup, a person drops the slot, and it goes on.
    source.drop_slot("shop").unwrap();
    check_slot(&database, &mut source).unwrap();
    assert_eq!(detach(&database, Some(&mut source)).unwrap().dropped, ["the publication \"evergraph\""]);
}

#[test]
fn a_run_that_ends_before_anybody_looks_at_the_slot_notes_how_far_it_is() {
    let (mut scenario, database) = followed(2, 3);
    let slot = scenario.source.slot_state("shop").unwrap().unwrap();
    let noted = SlotNote::of(&database.snapshot()).unwrap();
    assert_eq!(noted, Some(SlotNote { timeline: 1, restart: slot.restart_lsn.unwrap() }));
}

/// Servers before 15.10 may take `restart_lsn` back, which is no older state.
#[test]
fn a_slot_that_was_confirmed_up_to_more_is_a_pause_and_one_that_only_needs_older_log_is_none() {
    let (mut scenario, database) = followed(2, 3);
    let slot = scenario.source.slot_state("shop").unwrap().unwrap();
    let confirmed = slot.confirmed_lsn.unwrap();
    assert!(slot.restart_lsn < Some(confirmed), "{slot:?}");
    let note = |restart| {
        let mut ownership = database.own(&database.source().unwrap()).unwrap();
        write_note(&mut ownership, SLOT_NOTE, &SlotNote { timeline: 1, restart }.encode()).unwrap();
    };
    note(confirmed);
    scenario.source.go_on([transaction(1, 50_000, vec![messages::truncate(None, ITEM)])]);
    let replica = start(&database, &scenario);
    wait(&replica, Lsn::new(50_000));
    replica.stop().unwrap();
    note(Lsn::new(50_001));
    let replica = start(&database, &scenario);
    let pause = pause(&replica);
    assert!(pause.cause.contains("restored to an older state") && pause.remedy.contains("resync"), "{pause}");
}

#[test]
fn a_refusal_of_the_source_is_a_pause_if_it_stays() {
    for (sqlstate, remedy) in [("42704", "resync"), ("55000", "resync"), ("XX000", "mend")] {
        let scenario = Scenario::new(&mut 3, 2, Faults::None);
        scenario.source.go_on([ScriptStep::Refuse(sqlstate)]);
        let database = database();
        let replica = start(&database, &scenario);
        let pause = pause(&replica);
        assert!(pause.cause.contains(sqlstate) && pause.remedy.contains(remedy), "{pause}");
        assert_whole(&scenario, &database);
        replica.stop().unwrap();
    }
    // It shuts down; a password is changed, or nobody may log in for a while.
    for sqlstate in ["57P01", "28P01", "28000"] {
        let scenario = Scenario::new(&mut 4, 2, Faults::None);
        scenario.source.go_on([
            ScriptStep::Refuse(sqlstate),
            transaction(1, 9000, vec![messages::truncate(None, OWNER)]),
        ]);
        let replica = start(&database(), &scenario);
        wait(&replica, Lsn::new(9000));
        let status = replica.status();
        assert_eq!(status.state, ReplicaState::Following);
        assert!(status.last_error.is_some_and(|error| error.contains(sqlstate)), "{sqlstate}");
        replica.stop().unwrap();
    }
}

#[test]
fn a_new_nullable_column_is_a_property_from_its_first_row_on() {
    let scenario = Scenario::new(&mut 5, 2, Faults::None);
    let columns = [OWNER_COLUMNS, &[("city", 25)]].concat();
    let mut catalogue = published_catalogue();
    catalogue.tables[1] = shop::table(OWNER, "owner", &columns);
    scenario.source.go_on([
        ScriptStep::Catalogue(Box::new(catalogue)),
        transaction(1, 1000, vec![messages::insert(None, OWNER, &texts(&["77", "before"]))]),
        transaction(
            2,
            1100,
            vec![
                messages::relation(None, OWNER, "owner", &columns),
                messages::insert(None, OWNER, &texts(&["78", "after", "Ulm"])),
            ],
        ),
    ]);
    let database = database();
    let replica = start(&database, &scenario);
    wait(&replica, Lsn::new(1100));
    let snapshot = database.snapshot();
    let city = |id: i32| {
        let owner = snapshot.find("Owner", "id", id).unwrap().expect("it was inserted");
        snapshot.get(owner, "city").unwrap().and_then(|city| city.as_str().map(str::to_owned))
    };
    assert_eq!((city(77), city(78)), (None, Some("Ulm".to_owned())));
    assert_eq!(replica.status().restarts, 0, "nothing broke");
    replica.stop().unwrap();
    // And it knows it later.
    scenario.source.go_on([transaction(
        3,
        1200,
        vec![messages::update(None, OWNER, None, &texts(&["77", "before", "Bonn"]))],
    )]);
    let replica = start(&database, &scenario);
    wait(&replica, Lsn::new(1200));
    replica.stop().unwrap();
    let snapshot = database.snapshot();
    let owner = snapshot.find("Owner", "id", 77).unwrap().unwrap();
    assert_eq!(snapshot.get(owner, "city").unwrap(), Some("Bonn".into()));
}

#[test]
fn a_dropped_column_is_a_pause_before_its_first_row_and_a_changed_catalogue_one_without_a_row() {
    let scenario = Scenario::new(&mut 6, 2, Faults::None);
    let fewer = &OWNER_COLUMNS[..1];
    scenario.source.go_on([transaction(
        1,
        1000,
        vec![
            messages::insert(None, ITEM, &texts(&["70", "1", "half of it"])),
            messages::relation(None, OWNER, "owner", fewer),
            messages::insert(None, OWNER, &texts(&["77"])),
        ],
    )]);
    let database = database();
    let replica = start(&database, &scenario);
    let pause = pause(&replica);
    assert!(pause.cause.contains("table owner, column name") && pause.cause.contains("0/3E8"), "{pause}");
    assert_whole(&scenario, &database);
    drop(replica);

    let scenario = Scenario::new(&mut 6, 2, Faults::None);
    let mut catalogue = published_catalogue();
    catalogue.tables[0] = shop::table(ITEM, "item", &ITEM_COLUMNS[..2]);
    scenario.source.go_on([ScriptStep::Catalogue(Box::new(catalogue))]);
    let database = self::database();
    let replica = start(&database, &scenario);
    let pause = self::pause(&replica);
    assert!(pause.cause.contains("the column title of item was dropped"), "{pause}");
    drop(replica);
    // So it is when it is started again.
    let replica = start(&database, &scenario);
    assert_eq!(self::pause(&replica), pause);
}

#[test]
fn a_partition_is_told_of_which_the_source_says_nothing_at_present_and_it_is_asked_again() {
    let (scenario, _database, replica) = following(15, 3);
    scenario.source.say_of_partitions(PartitionOrigin::Unknown);
    let mut catalogue = published_catalogue();
    let part = shop::table(300, "item_1", ITEM_COLUMNS);
    catalogue.tables.push(Table { partition_of: Some(ITEM), ..part });
    scenario.source.go_on([ScriptStep::Catalogue(Box::new(catalogue))]);
    let began = Instant::now();
    while !replica.status().last_error.is_some_and(|error| error.contains("whether the partition item_1")) {
        assert!(began.elapsed() < WAIT_MAX, "{:?}", replica.status());
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(replica.status().state, ReplicaState::Following);
    scenario.source.say_of_partitions(PartitionOrigin::Attached);
    let pause = pause(&replica);
    assert!(pause.cause.contains("the partition item_1 was attached to item"), "{pause}");
}

/// The publication was told so between two looks.
#[test]
fn changes_of_a_partition_under_its_own_name_are_a_pause() {
    let part = shop::table(300, "item_1", ITEM_COLUMNS);
    let mut catalogue = shop::catalogue();
    catalogue.tables.push(Table { partition_of: Some(ITEM), ..part });
    let source = ScriptedSource::new(shop::identity(), catalogue, []);
    let source = source.with_rows("public", "owner", Vec::new()).with_rows("public", "item", Vec::new());
    source.go_on([transaction(
        1,
        1000,
        vec![
            messages::relation(None, ITEM, "item", ITEM_COLUMNS),
            messages::relation(None, 300, "item_1", ITEM_COLUMNS),
            messages::insert(None, ITEM, &texts(&["70", "1", "by way of the root"])),
        ],
    )]);
    let database = database();
    let replica = follow(&database, Box::new(source.clone())).unwrap();
    wait(&replica, Lsn::new(1000));
    source.go_on([transaction(2, 1100, vec![messages::insert(None, 300, &texts(&["71", "1", "own"]))])]);
    let pause = pause(&replica);
    assert!(pause.cause.contains("table item: changes of its partition item_1 come under"), "{pause}");
    assert_eq!(database.snapshot().vertices(Some("Item")).unwrap().len(), 1);
}

/// The catalogue as it is once the replica has made its publication.
fn published_catalogue() -> Catalogue {
    let mut source = ScriptedSource::new(shop::identity(), shop::catalogue(), []);
    let tables = [("public".to_owned(), "owner".to_owned()), ("public".to_owned(), "item".to_owned())];
    source.create_publication("evergraph", &tables).unwrap();
    source.catalogue().unwrap()
}

#[test]
fn another_mapping_a_graph_that_is_there_and_a_second_replica_are_refused() {
    let scenario = Scenario::new(&mut 8, 2, Faults::None);
    let full = database();
    full.transact(|transaction| transaction.add_vertex("Other", &[])).unwrap();
    let refused = follow(&full, Box::new(scenario.source.clone())).err().unwrap();
    assert!(refused.kind() == ErrorKind::Invalid && refused.to_string().contains("1 vertices"), "{refused}");
    assert_eq!(full.source(), None);

    let database = database();
    let replica = start(&database, &scenario);
    let second = follow(&database, Box::new(scenario.source.clone())).err().unwrap();
    assert_eq!(second.kind(), ErrorKind::Busy, "{second}");
    wait(&replica, scenario.end());
    replica.stop().unwrap();
    let mut other = options();
    other.mapping.text.push('\n');
    let source = Box::new(scenario.source.clone());
    let refused = Replica::start(database, source, other, &|_| (), &CancelFlag::default()).err().unwrap();
    assert!(refused.to_string().contains("another mapping is another graph"), "{refused}");
}

#[test]
fn a_copy_that_fails_leaves_nothing_behind_and_the_next_one_begins() {
    let scenario = Scenario::new(&mut 9, 5, Faults::None);
    let broken = scenario.source.clone().with_rows("public", "item", Vec::new());
    let database = database();
    // The mapping names a table that the source does not have.
    let mut options = options();
    options.mapping.text.push_str("[[table]]\ntable = 'nowhere'\nlabel = 'Nowhere'\n");
    let start = Replica::start(database.clone(), Box::new(broken), options, &|_| (), &CancelFlag::default());
    let refused = start.err().unwrap();
    assert!(refused.to_string().contains("nowhere"), "{refused}");
    assert_eq!((database.source(), database.snapshot().notes().len()), (None, 0));
    // One whose row cannot be read: the slot and the publication are gone again.
    let source = scenario.source.clone();
    let bad = ScriptedSource::new(shop::identity(), shop::catalogue(), []);
    let bad =
        bad.with_rows("public", "owner", vec![b"x\ty\n".to_vec()]).with_rows("public", "item", Vec::new());
    let refused = follow(&database, Box::new(bad.clone())).err().unwrap();
    assert!(refused.to_string().contains("owner"), "{refused}");
    assert_eq!((database.source(), database.snapshot().notes().len()), (None, 0));
    assert_eq!(bad.clone().slot_state("shop").unwrap(), None);
    let replica = follow(&database, Box::new(source)).unwrap();
    wait(&replica, scenario.end());
    scenario.check(&database.snapshot());
    replica.stop().unwrap();
}

#[test]
fn a_detached_database_is_anybodys_and_its_source_forgets_it() {
    let (mut scenario, database, replica) = following(10, 5);
    assert_eq!(detach(&database, None).unwrap_err().kind(), ErrorKind::Busy);
    replica.stop().unwrap();
    let detached = detach(&database, Some(&mut scenario.source)).unwrap();
    assert_eq!(detached.dropped, ["the replication slot \"shop\"", "the publication \"evergraph\""]);
    assert!(detached.left.is_empty(), "{detached:?}");
    assert_eq!(scenario.source.slot_state("shop").unwrap(), None);
    assert!(scenario.source.catalogue().unwrap().publications.is_empty());
    database.transact(|transaction| transaction.add_vertex("Mine", &[])).unwrap();
    assert_eq!(detach(&database, None).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn another_database_of_the_same_server_detaches_nothing() {
    let (mut scenario, database) = followed(10, 5);
    let identity = SourceIdentity { database: "other".into(), ..shop::identity() };
    let mut other = ScriptedSource::new(identity, published_catalogue(), []);
    other.create_slot("shop", &|_| (), &CancelFlag::default()).unwrap();
    let refused = detach(&database, Some(&mut other)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert!(refused.to_string().contains("name \"shop\" in the source's URL"), "{refused}");
    assert!(other.slot_state("shop").unwrap().is_some());
    assert_eq!(other.catalogue().unwrap().publications.len(), 1, "a person may have made it");
    // Nor does the server from before a failover, whose system and databases are the same.
    let identity = SourceIdentity { timeline: 0, ..shop::identity() };
    let mut before = ScriptedSource::new(identity, published_catalogue(), []);
    before.create_slot("shop", &|_| (), &CancelFlag::default()).unwrap();
    let refused = detach(&database, Some(&mut before)).unwrap_err().to_string();
    assert!(refused.contains("is on timeline 0, and it followed timeline"), "{refused}");
    assert!(before.slot_state("shop").unwrap().is_some());
    // It follows as before, and is detached by its own one.
    let replica = start(&database, &scenario);
    assert!(replica.wait(scenario.end(), WAIT_MAX).unwrap());
    replica.stop().unwrap();
    assert_eq!(detach(&database, Some(&mut scenario.source)).unwrap().dropped.len(), 2);
}

#[test]
fn a_database_that_is_given_up_by_another_database_of_its_server_leaves_a_publication_and_no_slot() {
    let (_scenario, database) = followed(10, 5);
    let identity = SourceIdentity { database: "other".into(), ..shop::identity() };
    let mut other = ScriptedSource::new(identity, published_catalogue(), []);
    // Slots are the whole server's.
    other.create_slot("shop", &|_| (), &CancelFlag::default()).unwrap();
    let given_up = abandon(&database, &mut other).unwrap();
    assert_eq!(given_up.dropped, ["the replication slot \"shop\""]);
    assert_eq!(given_up.left[0].what, "the publication \"evergraph\"");
    assert!(given_up.left[0].cause.contains("\"other\""), "{given_up:?}");
    assert_eq!(other.slot_state("shop").unwrap(), None);
    assert_eq!(other.catalogue().unwrap().publications.len(), 1);
    assert!(database.source().is_some(), "so that it is given up again after a crash");
}

#[test]
fn a_position_without_changes_of_ours_is_noted_before_it_is_confirmed() {
    let (scenario, database, replica) = following(11, 2);
    scenario.source.go_on([ScriptStep::Keepalive(Lsn::new(5000))]);
    wait(&replica, Lsn::new(5000));
    let began = Instant::now();
    while scenario.source.confirmations().last() != Some(&Lsn::new(5000)) {
        assert!(began.elapsed() < WAIT_MAX, "{:?}", scenario.source.confirmations());
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(position(&database.snapshot()).unwrap().end, Lsn::new(5000));
    replica.stop().unwrap();
}

#[test]
fn a_replica_with_an_end_goes_no_further_and_the_next_one_does() {
    let scenario = Scenario::new(&mut 12, 10, Faults::None);
    let database = database();
    let middle = *scenario.states.keys().nth(4).unwrap();
    let mut options = options();
    options.end = Some(middle);
    let source = Box::new(scenario.source.clone());
    let replica = Replica::start(database.clone(), source, options, &|_| (), &CancelFlag::default()).unwrap();
    wait(&replica, middle);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(scenario.check(&database.snapshot()), middle);
    replica.stop().unwrap();
    assert!(scenario.source.confirmations().iter().all(|confirmed| *confirmed <= middle));
    let replica = start(&database, &scenario);
    wait(&replica, scenario.end());
    scenario.check(&database.snapshot());
    replica.stop().unwrap();
}

#[test]
fn a_full_disk_is_waited_out_and_nothing_is_lost() {
    let scenario = Scenario::new(&mut 13, 3, Faults::None);
    let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("replica")));
    let durability = Durability::Interval(Duration::from_millis(5));
    // Small log files, so that another one is needed soon.
    let log_file_bytes = 8192;
    let database = Database::open_in(
        Arc::new(failing.clone()),
        &Options { durability, log_file_bytes, ..Options::default() },
    )
    .unwrap();
    let replica = start(&database, &scenario);
    wait(&replica, scenario.end());
    failing.plan(Fault::new(Operation::Create, "log-", io::ErrorKind::StorageFull).lasting());
    let title = "x".repeat(3000);
    let rows = |number: u64| {
        let key = (1000 + number).to_string();
        transaction(
            number as u32,
            5000 + number * 100,
            vec![messages::insert(None, ITEM, &texts(&[&key, "1", &title]))],
        )
    };
    scenario.source.go_on((1..=40).map(rows));
    let began = Instant::now();
    while replica.status().state != ReplicaState::Reconnecting {
        assert!(began.elapsed() < WAIT_MAX, "{:?}", replica.status());
        std::thread::sleep(Duration::from_millis(2));
    }
    let error = replica.status().last_error.unwrap();
    assert!(error.contains("no space"), "{error}");
    let restarts = replica.status().restarts;
    while replica.status().restarts < restarts + 3 {
        assert_eq!(
            replica.status().state,
            ReplicaState::Reconnecting,
            "the source answers, and nothing is written"
        );
        assert!(began.elapsed() < WAIT_MAX, "{:?}", replica.status());
    }
    failing.heal();
    wait(&replica, Lsn::new(9000));
    let items = database.snapshot().vertices(Some("Item")).unwrap().len();
    replica.stop().unwrap();
    let before = scenario.states.last_key_value().unwrap().1.items_count();
    assert_eq!(items, before + 40);
}

#[test]
fn another_system_an_older_log_and_another_timeline_are_a_pause() {
    let (scenario, database) = followed(14, 3);
    let other = |change: fn(&mut SourceIdentity)| {
        let mut identity = SourceIdentity { log_end: Lsn::new(10_000), ..shop::identity() };
        change(&mut identity);
        let source = ScriptedSource::new(identity, published_catalogue(), []);
        let replica = follow(&database, Box::new(source)).unwrap();
        // What is here already is no answer either: `--until now` of a server whose log is shorter.
        let waited = replica.wait(Lsn::new(1), WAIT_MAX).unwrap_err();
        assert_eq!(waited.kind(), ErrorKind::Invalid, "{waited}");
        let pause = pause(&replica);
        assert_whole(&scenario, &database);
        pause.cause
    };
    let cause = other(|identity| identity.system = "8".into());
    assert!(cause.contains("another system: 8, and not 7123"), "{cause}");
    let cause = other(|identity| identity.database = "other".into());
    assert!(cause.contains("the database \"other\", and not \"shop\""), "{cause}");
    let cause = other(|identity| identity.log_end = Lsn::new(60));
    assert!(cause.contains("the source's log ends at 0/3C, before"), "{cause}");
    let cause = other(|identity| identity.timeline = 2);
    assert!(cause.contains("timeline 2, which timeline 1"), "{cause}");
    // All is as it was, but nobody made a slot there.
    let cause = other(|_| {});
    assert!(cause.contains("slot \"shop\" is gone"), "{cause}");
}

/// Cancelled while its graph was written, a copy dropped its slot; opened again, the database may have had all of it.
#[test]
fn a_cancellation_waits_for_a_graph_that_is_being_written() {
    let scenario = Scenario::new(&mut 9, 5, Faults::None);
    let database = database();
    let (is_written, cancel) = (Cell::new(false), CancelFlag::default());
    let progress = |now: &CopyProgress| {
        if now.stage == CopyStage::Writing {
            is_written.set(true);
            cancel.cancel();
        }
    };
    let source = Box::new(scenario.source.clone());
    let replica = Replica::start(database.clone(), source, options(), &progress, &cancel).unwrap();
    assert!(is_written.get());
    wait(&replica, scenario.end());
    scenario.check(&database.snapshot());
    replica.stop().unwrap();
}
