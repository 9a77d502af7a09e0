//! Transactions that take more memory than they may.

use crate::graph::{differences, of_database, of_rows};
use crate::replica::Replica;
use crate::source::{Source, row};
use crate::world::{World, table};
use evergraph::{Database, Options};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::view::GraphView as _;
use evergraph_replica::apply::applier::Applier;
use evergraph_replica::apply::bulk_plan::BulkPlan;
use evergraph_replica::apply::early_rows::EarlyRows;
use evergraph_replica::apply::limits::TransactionLimits;

fn world() -> World {
    World::new(
        vec![
            table("person", "id int, name text, boss int null", 1),
            table("likes", "a int, b int, weight int null", 2),
        ],
        "[[table]]\ntable = 'person'\nlabel = 'Person'\n\
         edge = [{ type = 'REPORTS', column = 'boss', space = 'Person' }]\n\
         [[table]]\ntable = 'likes'\ntype = 'LIKES'\n\
         start = { column = 'a', space = 'Person' }\nend = { column = 'b', space = 'Person' }\n",
    )
}

/// Persons from `first` to before `end`, each the boss of the one before, who likes the next but one.
fn insert(source: &mut Source, first: u32, end: u32) {
    for id in first..end {
        let [text, next, next_but_one] = [id, id + 1, id + 2].map(|id| id.to_string());
        source.insert_new(0, row(&[&text, &format!("person {id}"), &next]));
        source.insert_new(1, row(&[&text, &next_but_one, "1"]));
    }
}

fn replica(bytes_max: u64, world: &World, source: &Source) -> Replica {
    let limits = TransactionLimits::new(bytes_max, 1 << 10, std::env::temp_dir());
    Replica::within(limits, world, source)
}

fn assert_same(world: &World, source: &Source, replica: &Replica) {
    let (expected, waiting) = of_rows(world, source);
    assert_eq!(differences(&expected, &of_database(world, &replica.database)), None);
    assert_eq!(replica.waiting(), waiting);
}

#[test]
fn inserted_rows_beyond_the_limit_are_one_commit_and_edges_wait_for_their_ends() {
    let world = world();
    let mut source = Source::new(&world);
    let mut replica = replica(64 << 10, &world, &source);
    let before = replica.database.snapshot();
    insert(&mut source, 0, 3000);
    let applied = replica.apply(&mut source, 100).unwrap();
    assert_eq!(applied.timestamp.0, before.timestamp().0 + 1);
    // The last one has no boss yet, and the last two like somebody who is not there.
    assert_eq!((applied.figures.vertices_added, applied.figures.edges_added), (3000, 2999 + 2998));
    assert_same(&world, &source, &replica);
    assert_eq!(replica.noted(), Some(replica.position()));
    assert_eq!(before.notes().iter().filter(|(name, _)| name.starts_with("wait")).count(), 0);
    // Edges to vertices that are there already.
    assert!(source.insert(0, row(&["5000", "a person who is waited for", "null"])));
    replica.apply(&mut source, 100).unwrap();
    for id in 0..3000_u32 {
        source.insert_new(1, row(&[&(id / 2).to_string(), &(2000 + id % 2).to_string(), "7"]));
    }
    replica.apply(&mut source, 100).unwrap();
    assert_same(&world, &source, &replica);
    // Ends come that were missing, in a small transaction.
    insert(&mut source, 3000, 3002);
    replica.apply(&mut source, 100).unwrap();
    assert_same(&world, &source, &replica);
}

#[test]
fn a_large_transaction_that_does_more_than_insert_is_refused_with_the_option_and_a_size() {
    let world = world();
    let mut source = Source::new(&world);
    let mut replica = replica(64 << 10, &world, &source);
    insert(&mut source, 0, 3);
    replica.apply(&mut source, 100).unwrap();
    for is_changed_first in [true, false] {
        let before = (source.clone(), of_database(&world, &replica.database), replica.noted());
        let change = |source: &mut Source| assert!(source.update(0, 1, row(&["1", "another", "2"])));
        if is_changed_first {
            change(&mut source);
        }
        insert(&mut source, 10, 3010);
        if !is_changed_first {
            change(&mut source);
        }
        let refusal = replica.apply(&mut source, 100).unwrap_err();
        // All of it is counted, not what came until it was too much.
        assert!(
            refusal.contains("too large: 1.")
                && refusal.contains("MiB of changed rows, and 64.0 KiB is the most"),
            "{refusal}"
        );
        assert!(refusal.contains(" to 256MiB") && refusal.contains("resync"), "{refusal}");
        assert_eq!((of_database(&world, &replica.database), replica.noted()), (before.1, before.2));
        source = before.0;
    }
    // What is smaller than the limit is applied as ever.
    assert!(source.update(0, 1, row(&["1", "another", "2"])));
    replica.apply(&mut source, 100).unwrap();
    assert_same(&world, &source, &replica);
}

/// A replica whose database writes `writes_max` bytes of one transaction at most.
fn writing(writes_max: u64, world: &World, source: &Source) -> Replica {
    let options = Options { transaction_bytes_max: writes_max, ..Options::default() };
    let database = Database::in_memory_with(&options).unwrap();
    // Rows alone are within the limit.
    let limits = TransactionLimits::new(2 * writes_max, 1 << 20, std::env::temp_dir());
    Replica::of(database, world, source).with_limits(TransactionLimits { bulk_bytes_min: 0, ..limits })
}

#[test]
fn a_truncate_or_a_delete_beyond_what_one_transaction_may_write_is_refused_with_the_memory_that_it_takes() {
    let world = world();
    let truncate = |source: &mut Source| source.truncate(&[0, 1]);
    let truncate_persons = |source: &mut Source| source.truncate(&[0]);
    let delete = |source: &mut Source| (0..source.rows[0].len()).rev().for_each(|row| source.delete(0, row));
    // Rows of edges whose ends go wait as notes, if they stay; a delete counts them at both ends.
    for (remove, waiting) in [
        (&truncate as &dyn Fn(&mut Source), "and 0 edges"),
        (&truncate_persons, "and 2,998 edges"),
        (&delete, "and 5,996 edges"),
    ] {
        let mut source = Source::new(&world);
        let mut replica = writing(256 << 10, &world, &source);
        insert(&mut source, 0, 3000);
        replica.apply(&mut source, 100).unwrap();
        let before = (of_database(&world, &replica.database), replica.noted());
        remove(&mut source);
        let refusal = replica.apply(&mut source, 100).unwrap_err();
        assert!(refusal.contains("too large: its writes take some "), "{refusal}");
        assert!(refusal.contains(": 3,000 vertices and "), "{refusal}");
        assert!(refusal.contains(&format!("{waiting} wait for an end")), "{refusal}");
        assert!(refusal.contains(" to 256MiB or more") && refusal.contains("resync"), "{refusal}");
        // Nobody writes to a replica.
        assert!(
            !refusal.contains("delete_vertex_in_parts") && !refusal.contains("commit in parts"),
            "{refusal}"
        );
        assert_eq!((of_database(&world, &replica.database), replica.noted()), before);
    }
    // With the memory that it takes.
    let mut source = Source::new(&world);
    let mut replica = writing(256 << 20, &world, &source);
    insert(&mut source, 0, 3000);
    replica.apply(&mut source, 100).unwrap();
    truncate(&mut source);
    replica.apply(&mut source, 100).unwrap();
    assert_same(&world, &source, &replica);
    assert_eq!(replica.database.statistics().unwrap().vertices_count(), 0);
}

#[test]
fn inserted_rows_beyond_the_limit_for_which_something_waits_are_refused() {
    let world = world();
    for waiting in [["0", "1"], ["1", "0"]] {
        let mut source = Source::new(&world);
        let mut replica = replica(64 << 10, &world, &source);
        // A person whose boss is not there, or an edge one of whose ends is not.
        assert!(match waiting {
            ["0", boss] => source.insert(0, row(&["0", "nobody", boss])),
            [from, to] => source.insert(1, row(&[from, to, "1"])),
        });
        replica.apply(&mut source, 100).unwrap();
        insert(&mut source, 1, 3001);
        let refusal = replica.apply(&mut source, 100).unwrap_err();
        assert!(
            refusal.contains("waits for one of them") && refusal.contains("--transaction-memory"),
            "{refusal}"
        );
        assert_eq!(replica.database.statistics().unwrap().vertices_count(), u64::from(waiting[0] == "0"));
    }
}

#[test]
fn an_inserted_row_that_the_graph_has_already_is_refused() {
    let world = world();
    let mut source = Source::new(&world);
    let mut replica = replica(64 << 10, &world, &source);
    assert!(source.insert(0, row(&["7", "a person without a boss", "null"])));
    replica.apply(&mut source, 100).unwrap();
    source.rows.iter_mut().for_each(Vec::clear);
    insert(&mut source, 0, 3000);
    let refusal = replica.apply(&mut source, 100).unwrap_err();
    assert!(refusal.contains("is there already") && refusal.contains("resync"), "{refusal}");
    assert_eq!(replica.database.statistics().unwrap().vertices_count(), 1);
}

#[test]
fn a_bulk_load_that_is_cancelled_leaves_nothing_and_can_be_tried_again() {
    let world = world();
    let mut source = Source::new(&world);
    let mut replica = replica(64 << 10, &world, &source);
    assert!(source.insert(0, row(&["5000", "a person without a boss", "null"])));
    replica.apply(&mut source, 100).unwrap();
    let before = (of_database(&world, &replica.database), replica.noted());
    let cancel = CancelFlag::default();
    replica.applier =
        Applier::open(&mut replica.ownership, world.plan.clone()).unwrap().cancelled_by(cancel.clone());
    insert(&mut source, 0, 3000);
    let messages = source.messages.clone();
    cancel.cancel();
    let refusal = replica.apply(&mut source, 100).unwrap_err();
    assert!(refusal.contains("cancel"), "{refusal}");
    assert_eq!((of_database(&world, &replica.database), replica.noted()), before);
    replica.reopen(&world);
    source.messages = messages;
    replica.apply(&mut source, 100).unwrap();
    assert_same(&world, &source, &replica);
}

#[test]
fn what_a_bulk_load_refuses_of_rows_in_memory_is_told_by_its_row() {
    let world = world();
    let mut source = Source::new(&world);
    let limits = TransactionLimits { bulk_bytes_min: 0, ..TransactionLimits::default() };
    let mut replica = Replica::within(limits, &world, &source);
    assert!(source.insert(0, row(&["7", "a person without a boss", "null"])));
    replica.apply(&mut source, 100).unwrap();
    source.rows.iter_mut().for_each(Vec::clear);
    insert(&mut source, 0, 300);
    let refusal = replica.apply(&mut source, 100).unwrap_err();
    assert!(
        refusal.contains("a new row doesn't fit what the graph has") && refusal.contains("person"),
        "{refusal}"
    );
    assert_eq!(replica.database.statistics().unwrap().vertices_count(), 1);
}

#[test]
fn rows_beyond_the_limit_are_loaded_though_others_wait_for_other_rows_of_their_label() {
    let world = world();
    let mut source = Source::new(&world);
    // Keys of the rows go to a file, too.
    let limits = TransactionLimits::new(64 << 10, 1 << 10, std::env::temp_dir());
    let mut replica = Replica::within(limits, &world, &source);
    assert!(source.insert(1, row(&["100000", "100001", "1"])));
    assert!(source.insert(0, row(&["100002", "whose boss is not there", "100003"])));
    replica.apply(&mut source, 100).unwrap();
    insert(&mut source, 0, 1500);
    replica.apply(&mut source, 100).unwrap();
    assert_same(&world, &source, &replica);
}

/// Early rows that go into a load, and none of them yet.
fn begin_early<'p>(replica: &Replica, limits: TransactionLimits, plan: &'p BulkPlan) -> EarlyRows<'p> {
    let mut early = EarlyRows::new(&replica.applier, limits);
    early.begin_filling(&replica.applier, plan, &replica.ownership).unwrap();
    while early.is_moving() {
        assert!(early.move_rows(1, &replica.ownership).unwrap());
    }
    early
}

#[test]
fn early_rows_keep_no_more_keys_than_their_part_of_the_memory_holds() {
    const PART_BYTES: usize = 16 << 10;
    let world = world();
    let plan = BulkPlan::new(world.plan.clone());
    let limits = TransactionLimits::new(4 * PART_BYTES as u64, 64 << 20, std::env::temp_dir());
    // Persons may be waited for, and likes may not.
    for (table, may_go_on) in [(0, false), (1, true)] {
        let mut source = Source::new(&world);
        let replica = Replica::new(&world, &source);
        let mut early = begin_early(&replica, limits.clone(), &plan);
        for id in 0..1500 {
            let id = id.to_string();
            let texts = if table == 0 { [&*id, "a person", "null"] } else { [&*id, "7", "1"] };
            source.insert_new(table, row(&texts));
        }
        let all_taken = source.messages.chunks(50).all(|messages| {
            let changes = replica.translate(messages).unwrap();
            early.push(replica.applier.rules(), &replica.ownership, changes).unwrap()
        });
        assert_eq!(all_taken, may_go_on, "{} bytes", early.heap_bytes());
        assert!(early.heap_bytes() < PART_BYTES + (4 << 10), "{} bytes", early.heap_bytes());
    }
}

#[test]
fn ends_that_early_edges_find_in_the_graph_stay_within_the_memory_for_ids() {
    const PERSONS: u32 = 4000;
    // Ids far from each other: those that lie together take a few bytes each.
    let key = |person: u32| (person * 500_003).to_string();
    let world = world();
    let plan = BulkPlan::new(world.plan.clone());
    // Nobody knows what is among ids that are in a file, so that all is done anew. Few ids stay in memory in either case.
    for (memory_bytes, is_loaded) in [(96 << 10, false), (64 << 20, true)] {
        let mut source = Source::new(&world);
        let limits = TransactionLimits::new(64 << 20, memory_bytes, std::env::temp_dir());
        let mut replica = Replica::within(limits.clone(), &world, &source);
        for id in 0..PERSONS {
            let boss = if id + 1 == PERSONS { "null".to_owned() } else { key(id + 1) };
            source.insert_new(0, row(&[&key(id), "a person", &boss]));
        }
        replica.apply(&mut source, 100).unwrap();
        let mut early = begin_early(&replica, limits, &plan);
        for id in 1..PERSONS {
            source.insert_new(1, row(&[&key(id - 1), &key(id), "7"]));
        }
        assert!(source.insert(0, row(&["5000", "a new person", "0"])));
        assert!(source.update(0, 3, row(&[&key(3), "another name", &key(4)])));
        let changes = replica.translate(&source.messages).unwrap();
        assert!(early.push(replica.applier.rules(), &replica.ownership, changes).unwrap());
        let position = replica.next_position();
        let applied = replica.applier.apply_early(&mut replica.ownership, early, &position).unwrap();
        assert_eq!(applied.map(|applied| applied.figures.vertices_changed), is_loaded.then_some(1));
        if !is_loaded {
            replica.apply(&mut source, 100).unwrap();
        }
        assert_same(&world, &source, &replica);
    }
}
