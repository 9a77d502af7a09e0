//! Network: LDBC's relations, half of them copied, the other half inserted while the replica follows; then reads of the paper in
//! Gremlin, while the source changes, beside the same reads of a quiet replica, beside SQL at the source and beside static arrays.
//!
//! ```text
//! IS-3   friends of a person             BI-2   how often the tags of a class were used in two periods
//!                                        BI-3   messages about a class in the forums of a country's moderators
//!
//! reload   COPY of the columns that the read needs, static arrays of them (`arrays`), the read as a loop over these
//! static   the loop alone, on arrays that are there already
//! neo4j    the read in Cypher, embedded in a JVM, where there is one
//! ```
//!
//! The relations have no foreign keys, and every second row comes later: many edges wait for their ends. Each answer is compared
//! with SQL's. SQL has the indexes of primary keys, and one on the second column of who knows whom, as edges have both sides.
//!
//! Source: GART (USENIX ATC 2023), table 2.

mod arrays;

use crate::goals::baseline::{RELOAD, SQL, STATIC, WITHOUT};
use crate::plan::{Work, expect};
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::replica::neo4j::network::Neo4jNetwork;
use crate::workload::replica::neo4j::worker::NEO4J;
use crate::workload::replica::network::arrays::{Friendships, ModeratedForums, StaticRead, TagUses};
use crate::workload::replica::question::{Question, Rows};
use crate::workload::replica::relations::relations;
use crate::workload::replica::reload::median_time;
use crate::workload::replica::source_server::run;
use crate::workload::replica::{Bench, EPOCHS, OURS, PATIENCE, open};
use evergraph::{Database, Value};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::value::datetime::DateTime;
use evergraph_measure::figure::Unit;
use evergraph_replica::follow::options::{ReplicaMapping, ReplicaOptions};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::source::postgres::server::PostgresSource;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const MAPPING: &str = include_str!("../../../../../crates/replica/mappings/snb.toml");
/// The database at the source; slot and publication are called the same.
const NAME: &str = "network";
/// Rows of a transaction that inserts the second half.
const ROWS_OF_A_TRANSACTION: usize = 50;
/// Rows of a statement that fills the first half.
const ROWS_OF_A_STATEMENT: usize = 500;
/// Posts that a transaction changes while reads are measured.
pub const CHANGED_POSTS: usize = 10;
/// Time between two of these transactions: 1,000 changes a second.
pub const INTERVAL: Duration = Duration::from_millis(10);
/// Persons that IS-3 asks for.
const PERSONS: usize = 50;
/// 2010-01-01, 2010-06-01 and 2010-12-01, in milliseconds.
const PERIODS: [i64; 3] = [1_262_304_000_000, 1_275_350_400_000, 1_291_161_600_000];
const CLASSES: [&str; 4] = ["Country", "Album", "OfficeHolder", "MusicalArtist"];
const COUNTRIES: [&str; 2] = ["China", "India"];

const IS_3: &str = "g.V().has('Person', 'id', person).bothE('KNOWS').as('knows').otherV()
    .order().by(select('knows').values('creationDate'), desc).by('id')
    .project('personId', 'firstName', 'lastName').by('id').by('firstName').by('lastName')";
const IS_3_SQL: &str = r#"SELECT p.id, p."firstName", p."lastName" FROM (
    SELECT "Person.id2" AS friend, "creationDate" AS since FROM person_knows_person WHERE "Person.id" = {person}
    UNION ALL SELECT "Person.id", "creationDate" FROM person_knows_person WHERE "Person.id2" = {person}) known
    JOIN person p ON p.id = friend ORDER BY since DESC, p.id"#;

const BI_2: &str = "g.V().hasLabel('TagClass').has('name', class).in('HAS_TYPE').order().by('id')
    .project('tag', 'first', 'second').by('id')
    .by(__.in('HAS_TAG').hasLabel('Post', 'Comment').has('creationDate', between(start, middle)).count())
    .by(__.in('HAS_TAG').hasLabel('Post', 'Comment').has('creationDate', between(middle, end)).count())";
const BI_2_SQL: &str = r#"WITH used AS (
    SELECT h."Tag.id" AS tag, p."creationDate" AS moment FROM "post_hasTag_tag" h JOIN post p ON p.id = h."Post.id"
    UNION ALL SELECT h."Tag.id", c."creationDate" FROM "comment_hasTag_tag" h JOIN comment c ON c.id = h."Comment.id")
    SELECT t.id, count(*) FILTER (WHERE moment >= {start} AND moment < {middle}),
        count(*) FILTER (WHERE moment >= {middle} AND moment < {end})
    FROM tagclass k JOIN tag t ON t."hasType" = k.id LEFT JOIN used ON used.tag = t.id
    WHERE k.name = {class} GROUP BY t.id ORDER BY t.id"#;

const BI_3: &str = "g.V().hasLabel('Place').has('name', country).in('IS_PART_OF').in('IS_LOCATED_IN').hasLabel('Person')
    .in('HAS_MODERATOR').order().by('id').project('forum', 'messages').by('id')
    .by(out('CONTAINER_OF').emit().repeat(__.in('REPLY_OF')).where(out('HAS_TAG').out('HAS_TYPE').has('name', class)).count())";
const BI_3_SQL: &str = r#"WITH RECURSIVE moderated AS (
        SELECT f.id FROM place country JOIN place city ON city."isPartOf" = country.id
        JOIN person p ON p.place = city.id JOIN forum f ON f.moderator = p.id WHERE country.name = {country}),
    reply AS (
        SELECT c.id, p."Forum.id" AS forum FROM comment c JOIN post p ON p.id = c."replyOfPost"
            WHERE p."Forum.id" IN (SELECT id FROM moderated)
        UNION ALL SELECT c.id, reply.forum FROM comment c JOIN reply ON reply.id = c."replyOfComment"),
    about AS (
        SELECT p."Forum.id" AS forum FROM post p WHERE EXISTS (SELECT FROM "post_hasTag_tag" h JOIN tag t ON t.id = h."Tag.id"
            JOIN tagclass k ON k.id = t."hasType" WHERE h."Post.id" = p.id AND k.name = {class})
        UNION ALL SELECT reply.forum FROM reply WHERE EXISTS (SELECT FROM "comment_hasTag_tag" h JOIN tag t ON t.id = h."Tag.id"
            JOIN tagclass k ON k.id = t."hasType" WHERE h."Comment.id" = reply.id AND k.name = {class}))
    SELECT m.id, count(about.forum) FROM moderated m LEFT JOIN about ON about.forum = m.id GROUP BY m.id ORDER BY m.id"#;

/// Measures the reads in each state.
///
/// # Errors
/// `corrupt` if an answer is not SQL's; those of files, server and replica.
pub fn measure(work: &mut Work<'_>, bench: &mut Bench) -> Result<()> {
    let folder = work.plan.interactive.as_ref().map(|folder| folder.join("relational"));
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
        eprintln!("left out: --interactive names no folder with LDBC's relations, in `relational`");
        return Ok(());
    };
    let relations = relations(&folder)?;
    run(&mut bench.connection, &format!("CREATE DATABASE {NAME}"))?;
    let mut connection = bench.server.connect_to(NAME)?;
    for relation in &relations {
        run(&mut connection, &relation.create())?;
        relation.insert(&mut connection, (0, 2), ROWS_OF_A_STATEMENT)?;
    }
    run(&mut connection, r#"CREATE INDEX ON person_knows_person ("Person.id2"); ANALYZE"#)?;
    let database = open(&bench.folder.join("network.eg"))?;
    let settings = bench.server.settings_of(NAME);
    let options = ReplicaOptions {
        slot: Some(NAME.to_owned()),
        publication: Some(NAME.to_owned()),
        epochs: EPOCHS,
        temporary: bench.folder.clone(),
        ..ReplicaOptions::new(ReplicaMapping { name: "snb.toml".to_owned(), text: MAPPING.to_owned() })
    };
    let source = Box::new(PostgresSource::new(settings, CancelFlag::default()));
    let replica = Replica::start(database.clone(), source, options, &|_| (), &CancelFlag::default())?;
    let mut inserted = 0;
    for relation in &relations {
        inserted += relation.insert(&mut connection, (1, 2), ROWS_OF_A_TRANSACTION)?;
    }
    run(&mut connection, "ANALYZE")?;
    catch_up(&replica)?;
    let rows: usize = relations.iter().map(|relation| relation.rows.len()).sum();
    work.note(format!(
        "LDBC's relations: {rows} rows, {inserted} of them inserted while the replica followed; {} rows wait for an end",
        replica.status().waiting_rows
    ));
    let persons = relations.iter().find(|relation| relation.table == "person");
    let [is_3, bi_2, bi_3] = questions(persons.map_or(&[][..], |relation| &relation.rows[..]));
    let mut neo4j =
        Neo4jNetwork::start(work, bench, &folder.with_file_name("graph"), CHANGED_POSTS, INTERVAL)?;
    measure_read::<Friendships>(work, bench, &is_3, &database, &replica, neo4j.as_mut())?;
    measure_read::<TagUses>(work, bench, &bi_2, &database, &replica, neo4j.as_mut())?;
    measure_read::<ModeratedForums>(work, bench, &bi_3, &database, &replica, neo4j.as_mut())?;
    work.note("network: reload reads the columns that a read needs by COPY, a connection a table, makes static arrays and reads once by a loop over them; static is the loop alone, on arrays that are there already");
    replica.stop()?;
    database.close()
}

/// Waits until the replica is where its source is.
///
/// # Errors
/// `limit` if it takes too long.
pub fn catch_up(replica: &Replica) -> Result<()> {
    let end = replica.source_position()?;
    match replica.wait(end, PATIENCE)? {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Limit, format!("the replica is not at {end} after {PATIENCE:?}"))),
    }
}

fn questions(persons: &[Vec<String>]) -> [Question; 3] {
    let moment = |milliseconds| {
        let moment = DateTime::from_epoch_milliseconds(milliseconds).expect("it is in the year 2010");
        Value::from(moment)
    };
    let periods = || {
        ["start", "middle", "end"]
            .into_iter()
            .zip(PERIODS.map(moment))
            .collect::<Vec<(&'static str, Value)>>()
    };
    let ids = persons.iter().filter_map(|row| row.first()?.parse::<i64>().ok());
    let class = |class: &str| ("class", Value::from(class));
    [
        Question {
            name: "is_3",
            title: "IS-3: the friends of a person",
            gremlin: IS_3,
            sql: IS_3_SQL,
            parameters: ids.take(PERSONS).map(|id| vec![("person", Value::from(id))]).collect(),
        },
        Question {
            name: "bi_2",
            title: "BI-2: how often the tags of a class were used in two periods",
            gremlin: BI_2,
            sql: BI_2_SQL,
            parameters: CLASSES.iter().map(|name| [vec![class(name)], periods()].concat()).collect(),
        },
        Question {
            name: "bi_3",
            title: "BI-3: messages about a class in the forums of a country's moderators",
            gremlin: BI_3,
            sql: BI_3_SQL,
            parameters: COUNTRIES
                .iter()
                .flat_map(|country| {
                    CLASSES.iter().map(move |name| vec![("country", Value::from(*country)), class(name)])
                })
                .collect(),
        },
    ]
}

/// Measures a read in Gremlin, in SQL, on the arrays of `R`, and in Cypher.
fn measure_read<R: StaticRead>(
    work: &mut Work<'_>,
    bench: &Bench,
    read: &Question,
    database: &Database,
    replica: &Replica,
    mut neo4j: Option<&mut Neo4jNetwork>,
) -> Result<()> {
    let mut connection = bench.server.connect_to(NAME)?;
    let expected: Vec<Rows> = read
        .parameters
        .iter()
        .map(|parameters| read.by_sql(&mut connection, parameters))
        .collect::<Result<_>>()?;
    let rows: usize = expected.iter().map(Vec::len).sum();
    let names = [OURS, WITHOUT, SQL, RELOAD, STATIC].into_iter();
    let names: Vec<_> = names.chain(neo4j.is_some().then_some(NEO4J)).collect();
    let mut race = Race::new(names.iter().copied());
    let time = work.plan.run_time.min(bench.plan.run_time);
    if let Some(neo4j) = neo4j.as_deref_mut() {
        // By then its JVM has compiled what is hot.
        neo4j.time(read, time, &expected)?;
    }
    for round in 0..bench.plan.rounds {
        let mut times = vec![0.0; names.len()];
        for place in order(round, times.len()) {
            let ours =
                || read.time(time, |parameters| read.by_gremlin(database, parameters), Some(&expected));
            times[place] = match place {
                0 => beside_a_writer(bench, NAME, ours)?,
                1 => {
                    catch_up(replica)?;
                    ours()?
                }
                2 => beside_a_writer(bench, NAME, || {
                    read.time(time, |parameters| read.by_sql(&mut connection, parameters), Some(&expected))
                })?,
                3 => beside_a_writer(bench, NAME, || reload::<R>(bench, read, &expected))?,
                4 => {
                    let arrays = R::load(&bench.server.settings_of(NAME))?;
                    for (parameters, expected) in read.parameters.iter().zip(&expected) {
                        expect(STATIC, read.title, &arrays.answer(parameters)?, expected)?;
                    }
                    beside_a_writer(bench, NAME, || {
                        read.time(time, |parameters| arrays.answer(parameters), Some(&expected))
                    })?
                }
                _ => {
                    let neo4j = neo4j.as_deref_mut().expect("it is in a race only where it is there");
                    neo4j.time(read, time, &expected)?
                }
            };
        }
        race.note(&times);
    }
    let heading = Heading::new(format!("replica.network.{}", read.name), read.title, Unit::Seconds)
        .with("parameters", read.parameters.len())
        .with("rows", rows);
    work.add_race(&heading, &race);
    Ok(())
}

/// Seconds of loading the arrays of a read and of one answer by them; each run asks for other parameters.
fn reload<R: StaticRead>(bench: &Bench, read: &Question, expected: &[Rows]) -> Result<f64> {
    let settings = bench.server.settings_of(NAME);
    let mut asked = read.parameters.iter().zip(expected).cycle();
    median_time(|| {
        let arrays = R::load(&settings)?;
        let Some((parameters, expected)) = asked.next() else { return Ok(()) };
        expect(RELOAD, read.title, &arrays.answer(parameters)?, expected)
    })
}

/// What `measure` gives while lengths of posts change in the source's `database`, which no read asks for: 1,000 a second.
///
/// # Errors
/// Those of the server and of `measure`.
pub fn beside_a_writer<T>(bench: &Bench, database: &str, measure: impl FnOnce() -> Result<T>) -> Result<T> {
    let mut connection = bench.server.connect_to(database)?;
    // Relaxed: it publishes nothing but itself.
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| -> Result<()> {
            let mut number = 0_u64;
            while !is_over.load(Ordering::Relaxed) {
                number += 1;
                let change = format!(
                    "UPDATE post SET length = length + 1 WHERE id IN (SELECT id FROM post WHERE id >= (
                         SELECT min(id) FROM post) + {} ORDER BY id LIMIT {CHANGED_POSTS})",
                    number * CHANGED_POSTS as u64 % 5000
                );
                run(&mut connection, &change)?;
                thread::sleep(INTERVAL);
            }
            Ok(())
        });
        thread::sleep(INTERVAL * 10);
        let measured = measure();
        is_over.store(true, Ordering::Relaxed);
        writer.join().expect("a panic was printed by its thread")?;
        measured
    })
}
