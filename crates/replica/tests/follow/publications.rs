//! With a real PostgreSQL: what a publication leaves out for a moment, and what it has no word for.

use crate::follower::{Follower, at_once, catch_up, follow_looked_at, follow_tables};
use crate::scenario::pause;
use crate::server::TestServer;
use evergraph_replica::status::ReplicaState;

const TABLES: &str = "CREATE SCHEMA elsewhere; CREATE TABLE owner (id int PRIMARY KEY, v int);
    CREATE TABLE event (id int PRIMARY KEY, n text) PARTITION BY RANGE (id);
    CREATE TABLE event_1 PARTITION OF event FOR VALUES FROM (0) TO (100);
    INSERT INTO owner VALUES (1, 1), (2, 2); INSERT INTO event VALUES (1, 'a'), (2, 'b')";

const MAPPING: &str =
    "[[table]]\ntable = 'owner'\nlabel = 'Owner'\n[[table]]\ntable = 'event'\nlabel = 'Event'\n";

const BY_NAMES: &str = "FOR TABLE owner, event";
const BY_SCHEMA: &str = "FOR TABLES IN SCHEMA public";
const ALL_OPERATIONS: &str = "ALTER PUBLICATION evergraph SET (publish = 'insert, update, delete, truncate')";

/// The tables with a publication of them.
fn published(how: &str) -> String {
    format!("{TABLES}; CREATE PUBLICATION evergraph {how} WITH (publish_via_partition_root = true)")
}

/// A publication, what happens while nobody follows, and what the pause says.
const MEANWHILE: [(&str, &[&str], &str); 5] = [
    (
        BY_NAMES,
        &["ALTER PUBLICATION evergraph SET (publish = 'insert')", "UPDATE owner SET v = -5", ALL_OPERATIONS],
        "the options of the publication \"evergraph\" were changed",
    ),
    (
        BY_NAMES,
        &[
            "ALTER PUBLICATION evergraph SET (publish_via_partition_root = false)",
            "DELETE FROM event WHERE id = 1",
            "ALTER PUBLICATION evergraph SET (publish_via_partition_root = true)",
        ],
        "the options of the publication \"evergraph\" were changed",
    ),
    (
        BY_SCHEMA,
        &[
            "ALTER TABLE owner SET SCHEMA elsewhere",
            "DELETE FROM elsewhere.owner WHERE id = 1",
            "ALTER TABLE elsewhere.owner SET SCHEMA public",
        ],
        "the table owner was in another schema for a moment",
    ),
    (
        BY_NAMES,
        &[
            "ALTER PUBLICATION evergraph DROP TABLE owner",
            "DELETE FROM owner WHERE id = 1",
            "ALTER PUBLICATION evergraph ADD TABLES IN SCHEMA public",
        ],
        "has the table owner in another way than before",
    ),
    (
        BY_SCHEMA,
        &[
            "ALTER PUBLICATION evergraph DROP TABLES IN SCHEMA public",
            "DELETE FROM owner WHERE id = 1",
            "ALTER PUBLICATION evergraph ADD TABLES IN SCHEMA public",
        ],
        "the table owner was taken out of the publication",
    ),
];

#[test]
fn what_a_publication_left_out_while_nobody_followed_is_a_pause() {
    let Some(server) = TestServer::shared() else { return };
    let check = |(how, statements, cause): &(&str, &[&str], &str)| {
        let (there, follower, database, replica) = follow_tables(server, &published(how), MAPPING);
        replica.stop().unwrap();
        statements.iter().for_each(|statement| drop(there.run(statement)));
        let replica = follower.start(&database);
        let pause = pause(&replica);
        assert!(pause.cause.contains(cause) && pause.remedy.contains("resync"), "{statements:?}: {pause}");
        replica.stop().unwrap();
    };
    at_once(&MEANWHILE, |case| case.2, check);
}

/// What a person does who was told of it, and runs the SQL that was printed.
#[test]
fn a_pause_for_changes_that_are_missing_stays_when_its_cause_is_mended() {
    let Some(server) = TestServer::shared() else { return };
    let check = |(how, statement, mends, cause): &(&str, &str, &[&str], &str)| {
        let (there, follower, database, replica) = follow_tables(server, &published(how), MAPPING);
        there.run(statement);
        let first = pause(&replica);
        assert!(first.cause.contains(cause) && first.remedy.contains("resync"), "{first}");
        replica.stop().unwrap();
        mends.iter().for_each(|mend| drop(there.run(mend)));
        let again = |follower: &Follower| {
            let replica = follower.start(&database);
            let pause = pause(&replica);
            replica.stop().unwrap();
            pause
        };
        assert_eq!([again(&follower), again(&follower)], [first.clone(), first]);
    };
    const DELETE: &str = "DELETE FROM owner WHERE id = 1";
    let cases: [(&str, &str, &[&str], &str); 4] = [
        (
            BY_NAMES,
            "ALTER PUBLICATION evergraph SET (publish = 'insert')",
            &[DELETE, ALL_OPERATIONS],
            "changes since then are missing",
        ),
        // In another form than before, of which the catalogue keeps nothing.
        (
            BY_NAMES,
            "ALTER PUBLICATION evergraph DROP TABLE owner",
            &[DELETE, "ALTER PUBLICATION evergraph ADD TABLE owner (id, v)"],
            "changes since then are missing",
        ),
        (
            BY_SCHEMA,
            "ALTER TABLE owner SET SCHEMA elsewhere",
            &["DELETE FROM elsewhere.owner WHERE id = 1", "ALTER TABLE elsewhere.owner SET SCHEMA public"],
            "the table owner was renamed to elsewhere.owner",
        ),
        (
            "FOR ALL TABLES",
            "ALTER TABLE owner SET UNLOGGED",
            &[DELETE, "ALTER TABLE owner SET LOGGED"],
            "the table owner was dropped, or is UNLOGGED now",
        ),
    ];
    at_once(&cases, |case| case.1, check);
}

#[test]
fn a_publication_is_changed_without_a_gap_and_by_a_new_owner_without_a_pause() {
    let Some(server) = TestServer::shared() else { return };
    let (looks, there, _follower, _database, replica) =
        follow_looked_at(server, &published(BY_NAMES), MAPPING);
    there.run("DROP ROLE IF EXISTS publisher; CREATE ROLE publisher SUPERUSER");
    for statement in [
        "ALTER PUBLICATION evergraph OWNER TO publisher",
        "ALTER TABLE owner OWNER TO publisher",
        "ALTER TABLE owner SET SCHEMA elsewhere; ALTER TABLE elsewhere.owner SET SCHEMA public",
        "ALTER PUBLICATION evergraph ADD TABLES IN SCHEMA public",
        "ALTER PUBLICATION evergraph DROP TABLE owner",
        "GRANT SELECT ON owner TO PUBLIC",
    ] {
        there.run(statement);
        there.run("UPDATE owner SET v = v + 1");
        looks.wait_for_look();
        catch_up(&replica);
        assert_eq!(replica.status().state, ReplicaState::Following, "{statement}");
    }
    replica.stop().unwrap();
}

/// PostgreSQL shows another text of rows that nobody wrote.
#[test]
fn other_attributes_of_a_composite_type_are_a_pause() {
    let Some(server) = TestServer::shared() else { return };
    const TABLES: &str =
        "CREATE TYPE inner_pair AS (x int, y int); CREATE TYPE pair AS (a int, b inner_pair);
        CREATE DOMAIN some_pair AS pair; CREATE TYPE other AS (a int);
        CREATE TABLE owner (id int PRIMARY KEY, one pair, many pair[], its some_pair, ignored other);
        INSERT INTO owner VALUES (1, '(1,\"(2,3)\")', '{}', '(4,\"(5,6)\")')";
    let check = |(column, statement): &(&str, &str)| {
        let mapping = format!("[[table]]\ntable = 'owner'\nlabel = 'Owner'\nproperties = ['{column}']\n");
        let (looks, there, _follower, _database, replica) = follow_looked_at(server, TABLES, &mapping);
        there.run("ALTER TYPE other ADD ATTRIBUTE b int");
        looks.wait_for_look();
        assert_eq!(replica.status().state, ReplicaState::Following);
        there.run(statement);
        let pause = pause(&replica);
        assert!(pause.cause.contains(&format!("the composite type of column {column} of owner")), "{pause}");
        replica.stop().unwrap();
    };
    let cases = [
        ("one", "ALTER TYPE pair ADD ATTRIBUTE z int"),
        ("many", "ALTER TYPE pair DROP ATTRIBUTE b"),
        ("its", "ALTER TYPE inner_pair ADD ATTRIBUTE z int"),
    ];
    at_once(&cases, |case| case.1, check);
}
