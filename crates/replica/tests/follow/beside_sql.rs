//! Random changes of real databases, from several sessions: the graph is what SQL says, every vertex, edge and property.
//!
//! `EVERGRAPH_REPLICA_CHANGES` sets the number of changed rows of each database (10,000),
//! `EVERGRAPH_REPLICA_SEED` the statements.

use crate::data_sets::DataSet;
use crate::follower::{Follower, catch_up};
use crate::random::schema::Schema;
use crate::random::session::{Session, SessionLogs, Tally};
use crate::server::{TestDatabase, TestServer};
use crate::shop::below;
use crate::sql_graph::{assert_equal_lines, lines_of_graph, lines_of_sql, verify_with};
use evergraph_files::import::mapping::document::Mapping;
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::mapping::resolve::resolve;
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::status::ReplicaState;
use evergraph_replica::verify::run::VerifyOptions;
use std::path::Path;

/// Sessions that write at the same time.
const SESSIONS: u64 = 4;
/// How often they rest, so that both sides can be compared.
const ROUNDS: u64 = 2;
/// Changed rows of one database.
const CHANGES: u64 = 10_000;
/// Changed rows between two comparisons in a long run.
const ROUND_CHANGES_MAX: u64 = 10_000;
/// Seven of eight rentals go, with what was paid for them: comparisons read all rows.
const FEWER_RENTALS: &str = "SET session_replication_role = replica;
    DELETE FROM payment WHERE rental_id % 8 > 0; DELETE FROM rental WHERE rental_id % 8 > 0; ANALYZE";
/// Seven of eight tags and organisations go that nobody refers to.
const FEWER_TAGS: &str = "DELETE FROM tag WHERE id % 8 > 0 AND id NOT IN (
        SELECT \"Tag.id\" FROM \"person_hasInterest_tag\" UNION SELECT \"Tag.id\" FROM \"forum_hasTag_tag\"
        UNION SELECT \"Tag.id\" FROM \"post_hasTag_tag\" UNION SELECT \"Tag.id\" FROM \"comment_hasTag_tag\");
    DELETE FROM organisation WHERE id % 8 > 0 AND id NOT IN (
        SELECT \"Organisation.id\" FROM \"person_studyAt_organisation\"
        UNION SELECT \"Organisation.id\" FROM \"person_workAt_organisation\"); ANALYZE";

fn number(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is a number")),
        Err(_) => default,
    }
}

/// Follows `there` while sessions change it, and compares whenever they rest.
fn follow_changes(there: &TestDatabase, mapping: &str) {
    let seed = number("EVERGRAPH_REPLICA_SEED", 1);
    let changes = number("EVERGRAPH_REPLICA_CHANGES", CHANGES);
    let rounds = ROUNDS.max(changes.div_ceil(ROUND_CHANGES_MAX));
    let rules = Mapping::parse("m.toml", mapping, Path::new(".")).unwrap().tables;
    let catalogue = PostgresSource::new(there.settings(), CancelFlag::default()).catalogue().unwrap();
    let plan = resolve(&rules, &catalogue).unwrap_or_else(|problems| panic!("{problems}"));
    let schema = Schema::read(there, &catalogue, &plan);
    let logs = SessionLogs::new(seed);
    let follower = Follower::new(there.settings(), mapping);
    let database = follower.open();
    let mut replica = Some(follower.start(&database));
    let (mut random, mut tally) = (seed, Tally::default());
    for round in 0..rounds {
        // In some rounds nobody follows until all is written.
        if round % 2 == 1 {
            replica.take().map_or(Ok(()), Replica::stop).unwrap();
        }
        let seeds: Vec<u64> = (0..SESSIONS).map(|_| below(&mut random, u64::MAX)).collect();
        std::thread::scope(|scope| {
            let sessions: Vec<_> = seeds
                .into_iter()
                .enumerate()
                .map(|(number, seed)| {
                    let session = Session::new(there, &schema, &logs, number as u64, seed);
                    scope.spawn(move || session.run(changes / rounds / SESSIONS))
                })
                .collect();
            for session in sessions {
                tally.add(session.join().unwrap());
            }
        });
        // Chance takes the rarest kinds a few times at most, and may leave them out.
        if round + 1 == rounds {
            for kind in tally.committed.missing_kinds() {
                let session = Session::new(there, &schema, &logs, SESSIONS, below(&mut random, u64::MAX));
                tally.add(session.run_one(kind));
            }
        }
        let replica = replica.get_or_insert_with(|| follower.start(&database));
        catch_up(replica);
        assert_eq!(replica.status().state, ReplicaState::Following);
        let sql = lines_of_sql(there, &plan, &rules);
        assert_equal_lines(&lines_of_graph(&database.snapshot(), &plan), &sql);
    }
    println!("{tally:?}");
    let committed = &tally.committed;
    assert!(committed.rows >= changes / rounds / SESSIONS * SESSIONS * rounds, "{tally:?}");
    assert!(committed.missing_kinds().is_empty(), "{tally:?}");
    assert!(committed.savepoint_releases > 0 && committed.savepoint_rollbacks > 0, "{tally:?}");
    assert!(tally.commits > 0 && tally.rollbacks > 0, "{tally:?}");
    let report = verify_with(&database.snapshot(), there, &plan, &VerifyOptions::default());
    assert!(report.is_equal(), "{report}");
    replica.take().map_or(Ok(()), Replica::stop).unwrap();
}

/// A data set with all of its rows in a long run, and otherwise without those that `fewer` deletes.
fn follow_data_set(data: Option<DataSet>, fewer: &str) {
    let Some(server) = TestServer::shared() else { return };
    let Some(data) = data else { return };
    let there = server.database();
    data.load(&there);
    if number("EVERGRAPH_REPLICA_CHANGES", CHANGES) <= CHANGES {
        there.run(fewer);
    }
    follow_changes(&there, &data.mapping());
}

#[test]
fn pagila_is_followed_through_random_changes() {
    follow_data_set(DataSet::pagila(), FEWER_RENTALS);
}

#[test]
fn northwind_is_followed_through_random_changes() {
    follow_data_set(DataSet::northwind(), "");
}

#[test]
fn a_social_network_is_followed_through_random_changes() {
    follow_data_set(DataSet::snb(), FEWER_TAGS);
}

/// What the real ones don't have: JSON, UUIDs, generated columns, keys of decimals and of several columns, foreign keys that are
/// deferred, cascade or set null, partitions, whole rows as identity, conditions.
const EVERYTHING: &str = "
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'it''s |fine');
    CREATE DOMAIN percent AS int CHECK (VALUE BETWEEN 0 AND 100);
    CREATE TABLE place (id bigint PRIMARY KEY, name text, parent bigint REFERENCES place ON DELETE SET NULL ON UPDATE CASCADE,
        kind mood, share percent, area numeric(12, 4), doubled int GENERATED ALWAYS AS (share * 2) STORED);
    CREATE TABLE account (bank char(4), number numeric(10, 2), home bigint REFERENCES place ON DELETE CASCADE ON UPDATE CASCADE,
        opened date, doc jsonb, raw bytea, tags text[], sums numeric(8, 2)[], open boolean NOT NULL, PRIMARY KEY (bank, number));
    CREATE TABLE transfer (id uuid PRIMARY KEY, from_bank char(4), from_number numeric(10, 2), to_bank varchar(4),
        to_number numeric(12, 3), amount numeric(10, 2), note text, at timestamptz, local timestamp,
        FOREIGN KEY (from_bank, from_number) REFERENCES account ON DELETE CASCADE ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE visit (id int, day date, place bigint, score float8, note text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
    CREATE TABLE visit_1 PARTITION OF visit FOR VALUES FROM ('2022-01-01') TO ('2022-04-01');
    CREATE TABLE visit_2 PARTITION OF visit FOR VALUES FROM ('2022-04-01') TO ('2023-01-01');
    CREATE TABLE loose (id int PRIMARY KEY DEFERRABLE, place bigint, kind mood, long text);
    ALTER TABLE place REPLICA IDENTITY FULL; ALTER TABLE transfer REPLICA IDENTITY FULL; ALTER TABLE loose REPLICA IDENTITY FULL;
    CREATE TABLE near (a bigint REFERENCES place ON DELETE CASCADE ON UPDATE CASCADE, b bigint, km real, PRIMARY KEY (a, b));
    INSERT INTO place SELECT n, 'place ' || n, NULLIF(n / 3, 0), 'ok', n % 100, n / 7.0 FROM generate_series(1, 300) n;
    INSERT INTO account SELECT 'b' || n % 7, n / 2.0, 1 + n % 300, '2022-01-01', '{\"a\": [1]}', '\\x00ff', '{x,\"y z\"}', '{1.50}', n % 3 = 0
        FROM generate_series(1, 400) n;
    INSERT INTO transfer SELECT md5(n::text)::uuid, 'b' || n % 7, n / 2.0, 'b' || n % 3, n / 4.0, n, repeat('note ', n), '2022-05-01 10:00+00',
        '2022-05-01 10:00' FROM generate_series(1, 400) n;
    INSERT INTO visit SELECT n, '2022-01-01'::date + n, n % 400, n / 3.0 FROM generate_series(1, 300) n;
    INSERT INTO loose SELECT n, n % 400, 'sad', repeat(md5(n::text), 200) FROM generate_series(1, 100) n;
    INSERT INTO near SELECT n, 301 - n, n FROM generate_series(1, 300) n";

const EVERYTHING_MAPPING: &str = r#"
    [[table]]
    table = "place"
    label = "Place"
    where = "share is null or share < 90"
    edge = [{ type = "IN", column = "parent", space = "Place", properties = ["kind"] }]
    [[table]]
    table = "account"
    label = "Account"
    edge = [{ type = "AT", column = "home", space = "Place", reverse = true, properties = ["opened"] }]
    [[table]]
    table = "account"
    label = "OpenAccount"
    where = "open"
    properties = ["opened"]
    edge = [{ type = "IS", column = ["bank", "number"], space = "Account" }]
    [[table]]
    table = "transfer"
    type = "TRANSFER"
    start = { column = ["from_bank", "from_number"], space = "Account" }
    end = { column = ["to_bank", "to_number"], space = "Account" }
    [[table]]
    table = "visit"
    label = "Visit"
    properties = ["score", "note"]
    edge = [{ type = "OF", column = "place", space = "Place", properties = ["score", "note"] }]
    [[table]]
    table = "loose"
    label = "Loose"
    where = "kind <> 'ok'"
    edge = [{ type = "TO", column = "place", space = "Place" }]
    [[table]]
    table = "near"
    type = "NEAR"
    undirected = true
    start = { column = "a", space = "Place" }
    end = { column = "b", space = "Place" }
"#;

#[test]
fn types_keys_and_actions_of_every_kind_are_followed_through_random_changes() {
    let Some(server) = TestServer::shared() else { return };
    let there = server.database();
    there.run(EVERYTHING);
    follow_changes(&there, EVERYTHING_MAPPING);
}
