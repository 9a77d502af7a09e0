//! Prefix: transactions are numbered in the order of their commits, and note what they change; each snapshot is what the first so
//! many of them come to, whoever reads when.

use crate::follower::{Follower, catch_up};
use crate::graph::{Graph, position};
use crate::server::{TestDatabase, TestServer, run_sql};
use crate::shop::{self, Shop, below};
use evergraph::{ReadByName as _, Snapshot, Value};
use evergraph_replica::lsn::Lsn;
use evergraph_replica::source::postgres::connection::{Connection, ResultRow};
use std::collections::BTreeMap;
use std::sync::Arc;

const TABLES: &str = "CREATE TABLE owner (id int PRIMARY KEY, name text);
    CREATE TABLE item (id int PRIMARY KEY, owner_id int, title text);
    CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL);
    CREATE TABLE entry (n int PRIMARY KEY, changes text NOT NULL);
    INSERT INTO counter VALUES (0, 0)";
const WRITERS: u64 = 4;
const TRANSACTIONS: u64 = 80;
/// Each so many snapshots one stays open to the end.
const KEPT_EVERY: usize = 8;

/// What transactions note: rows as they are afterwards, `owner 7 name`, or keys alone of those that are gone.
fn noted(table: &str, row: &ResultRow) -> String {
    let cells = row.iter().map(|cell| cell.as_deref().unwrap_or("null"));
    format!("{table} {}", cells.collect::<Vec<_>>().join(" "))
}

/// One transaction; whether it was committed. Its number is taken last, with a lock that it keeps until its end.
fn write(connection: &mut Connection, random: &mut u64) -> bool {
    let mut changes = Vec::new();
    let mut done = |sql: &str, note: &mut dyn FnMut(&ResultRow) -> Vec<String>| {
        let rows = connection.query("write a test's rows to", sql);
        rows.map(|rows| changes.extend(rows.iter().flat_map(note)))
    };
    let mut statements = vec![("BEGIN".to_owned(), "", false)];
    for _ in 0..1 + below(random, 4) {
        let (key, other, name) = (below(random, 30), below(random, 30), below(random, 1000));
        statements.push(match below(random, 9) {
            0 => (format!("DELETE FROM owner WHERE id = {key} RETURNING id"), "owner", false),
            1 => (format!("DELETE FROM item WHERE id = {key} RETURNING id"), "item", false),
            2 => (
                format!("UPDATE owner SET id = {} WHERE id = {key} RETURNING {key}, id, name", 100 + below(random, 30)),
                "owner",
                true,
            ),
            3 => ("SAVEPOINT s; DELETE FROM owner; DELETE FROM item; ROLLBACK TO s".to_owned(), "", false),
            4..6 => (
                format!(
                    "INSERT INTO owner VALUES ({key}, 'n{name}') ON CONFLICT (id) DO UPDATE SET name = excluded.name \
                     RETURNING id, name"
                ),
                "owner",
                false,
            ),
            6 if below(random, 4) == 0 => (
                format!(
                    "INSERT INTO item SELECT n, {other}, repeat('t{name}', 60) FROM generate_series(200, 500) n \
                     ON CONFLICT (id) DO UPDATE SET title = excluded.title RETURNING id, owner_id, title"
                ),
                "item",
                false,
            ),
            _ => (
                format!(
                    "INSERT INTO item VALUES ({key}, {other}, 't{name}') ON CONFLICT (id) DO UPDATE \
                     SET owner_id = excluded.owner_id RETURNING id, owner_id, title"
                ),
                "item",
                false,
            ),
        });
    }
    for (sql, table, is_moved) in statements {
        let ran = done(&sql, &mut |row| match is_moved {
            true => vec![noted(table, &row[..1].to_vec()), noted(table, &row[1..].to_vec())],
            false => vec![noted(table, row)],
        });
        if let Err(error) = ran {
            // A key that is there, or a deadlock.
            assert!(matches!(error.sqlstate(), Some("23505" | "40P01")), "{sql}: {error}");
            run_sql(connection, "ROLLBACK");
            return false;
        }
    }
    let changes = changes.join("\n").replace('\'', "''");
    if below(random, 8) == 0 {
        run_sql(connection, "ROLLBACK");
        return false;
    }
    run_sql(
        connection,
        &format!(
            "UPDATE counter SET n = n + 1; INSERT INTO entry SELECT n, '{changes}' FROM counter; COMMIT"
        ),
    );
    true
}

/// What the shop is after each transaction, by its number.
fn model(there: &TestDatabase) -> Vec<Graph> {
    let mut shop = Shop::default();
    let mut states = vec![Graph::of(&shop)];
    for (row, number) in there.run("SELECT n::text, changes FROM entry ORDER BY entry.n").into_iter().zip(1..)
    {
        assert_eq!(row[0], Some(format!("{number}")));
        for line in row[1].as_ref().unwrap().lines() {
            let cells: Vec<&str> = line.split(' ').collect();
            let text = |cell: &str| (cell != "null").then(|| cell.to_owned());
            let key: i32 = cells[1].parse().unwrap();
            match cells[..] {
                ["owner", _] => drop(shop.owners.remove(&key)),
                ["item", _] => drop(shop.items.remove(&key)),
                ["owner", _, name] => drop(shop.owners.insert(key, text(name))),
                ["item", _, owner, title] => {
                    drop(
                        shop.items
                            .insert(key, (text(owner).map(|owner| owner.parse().unwrap()), text(title))),
                    );
                }
                _ => panic!("{line}"),
            }
        }
        states.push(Graph::of(&shop));
    }
    states
}

/// How many transactions a snapshot shows: by the counter, and by the entries of each.
fn transactions_in(snapshot: &Snapshot) -> usize {
    let counter = snapshot.find("Counter", "id", 0).unwrap().expect("it was there from the beginning");
    let Some(Value::I32(count)) = snapshot.get(counter, "n").unwrap() else { panic!("it has a number") };
    let entries = snapshot.vertices(Some("Entry")).unwrap();
    assert_eq!(entries.len(), count as usize);
    for entry in entries {
        let Some(Value::I32(number)) = snapshot.get(entry, "n").unwrap() else { panic!("it has a number") };
        assert!((1..=count).contains(&number), "{number} of {count}");
    }
    count as usize
}

/// What was seen at each number, and at which position.
#[derive(Default)]
struct Seen {
    states: BTreeMap<usize, (Graph, Lsn)>,
    looks: usize,
}

impl Seen {
    /// Notes what `snapshot` shows: all that show so many transactions show the same. How many, and the position.
    fn look(&mut self, snapshot: &Snapshot) -> (usize, Lsn) {
        let (count, graph) = (transactions_in(snapshot), Graph::read(snapshot));
        let end = position(snapshot).unwrap().end;
        self.looks += 1;
        // Of several positions with the same transactions, the newest.
        let (known, newest) = self.states.entry(count).or_insert_with(|| (graph.clone(), end));
        assert_eq!(*known, graph, "two snapshots of {count} transactions");
        *newest = end.max(*newest);
        (count, end)
    }
}

#[test]
fn every_snapshot_and_every_epoch_is_a_prefix_of_the_sources_transactions() {
    let Some(server) = TestServer::shared() else { return };
    let there = server.database();
    there.run(TABLES);
    let mapping = format!(
        "{}[[table]]\ntable = 'counter'\nlabel = 'Counter'\n[[table]]\ntable = 'entry'\nlabel = 'Entry'\n",
        shop::MAPPING
    );
    let follower = Follower::new(there.settings(), &mapping);
    let database = follower.open();
    let replica = follower.start(&database);
    catch_up(&replica);
    let mut seen = Seen::default();
    let mut kept: Vec<(usize, Arc<Snapshot>)> = Vec::new();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (1..=WRITERS)
            .map(|writer| {
                let mut connection = there.connect();
                scope.spawn(move || {
                    let (mut random, mut commits) = (writer, 0);
                    run_sql(&mut connection, "SET deadlock_timeout = '20ms'");
                    while commits < TRANSACTIONS {
                        commits += u64::from(write(&mut connection, &mut random));
                    }
                })
            })
            .collect();
        let mut newest = (0, Lsn::ZERO);
        while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            let snapshot = Arc::new(database.snapshot());
            let at = seen.look(&snapshot);
            assert!(at.0 >= newest.0 && at.1 >= newest.1, "nothing goes back: {newest:?}, then {at:?}");
            newest = at;
            if seen.looks.is_multiple_of(KEPT_EVERY) {
                kept.push((at.0, snapshot));
            }
            for epoch in replica.epochs() {
                if let Some(snapshot) = replica.open_epoch(epoch.number) {
                    assert_eq!(seen.look(&snapshot).1, epoch.position.end);
                }
            }
        }
    });
    catch_up(&replica);
    assert_eq!(seen.look(&database.snapshot()).0, (WRITERS * TRANSACTIONS) as usize);
    for epoch in replica.epochs() {
        kept.extend(replica.open_epoch(epoch.number).map(|snapshot| (transactions_in(&snapshot), snapshot)));
    }
    let model = model(&there);
    assert_eq!(model.len() as u64, WRITERS * TRANSACTIONS + 1);
    for (count, (graph, _)) in &seen.states {
        assert_eq!(*graph, model[*count], "after {count} transactions");
    }
    let positions: Vec<Lsn> = seen.states.values().map(|(_, end)| *end).collect();
    assert!(positions.is_sorted(), "{positions:?}");
    // Those that stayed open show what they showed, whatever came since.
    for (count, snapshot) in &kept {
        assert_eq!((transactions_in(snapshot), Graph::read(snapshot)), (*count, model[*count].clone()));
    }
    println!("{} snapshots of {} numbers, {} kept open", seen.looks, seen.states.len(), kept.len());
    assert!(seen.states.len() > 10 && kept.len() > 3, "hardly anything was seen");
    replica.stop().unwrap();
}
