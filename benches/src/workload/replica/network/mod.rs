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
//! with SQL's. SQL has the indexes of the part `interactive`; its statements are new texts, planned each time, as ours are.
//!
//! Source: GART (USENIX ATC 2023), table 2.

mod arrays;
pub mod post_writer;

use crate::goals::baseline::{RELOAD, SQL, STATIC, WITHOUT};
use crate::plan::{Work, expect, wrong};
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::replica::neo4j::network::Neo4jNetwork;
use crate::workload::replica::neo4j::worker::NEO4J;
use crate::workload::replica::network::arrays::{Friendships, ModeratedForums, StaticRead, TagUses};
use crate::workload::replica::network::post_writer::{CHANGED_POSTS, INTERVAL, PostWriter};
use crate::workload::replica::question::{Question, Rows};
use crate::workload::replica::readers::catch_up;
use crate::workload::replica::relations::{INDEXES, PAGE_COST, mapping, relations, relations_folder};
use crate::workload::replica::reload::median_time;
use crate::workload::replica::source_server::run;
use crate::workload::replica::{Bench, OURS, open};
use evergraph::{Database, Value};
use evergraph_graph::error::Result;
use evergraph_graph::value::datetime::DateTime;
use evergraph_measure::figure::Unit;
use evergraph_replica::follow::replica::Replica;

/// The database at the source; slot and publication are called the same.
const NAME: &str = "network";
/// Rows of a transaction that inserts the second half.
const ROWS_OF_A_TRANSACTION: usize = 50;
/// Rows of a statement that fills the first half.
const ROWS_OF_A_STATEMENT: usize = 500;
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
    let Some(folder) = relations_folder(work.plan) else { return Ok(()) };
    let relations = relations(&folder)?;
    run(&mut bench.connection, &format!("CREATE DATABASE {NAME}"))?;
    let mut connection = bench.server.connect_to(NAME)?;
    for relation in &relations {
        run(&mut connection, &relation.create())?;
        relation.insert(&mut connection, (0, 2), ROWS_OF_A_STATEMENT)?;
    }
    run(&mut connection, INDEXES)?;
    run(&mut connection, "ANALYZE")?;
    let database = open(&bench.folder.join("network.eg"))?;
    let replica = bench.replicate((NAME, NAME), &database, mapping())?;
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
    let writer = PostWriter::new(bench, NAME)?;
    let mut reads =
        NetworkReads { bench, database: &database, replica: &replica, writer, neo4j: neo4j.as_mut() };
    reads.measure::<Friendships>(work, &is_3)?;
    reads.measure::<TagUses>(work, &bi_2)?;
    reads.measure::<ModeratedForums>(work, &bi_3)?;
    reads.writer.note(work, "network");
    drop(reads);
    if let Some(network) = &neo4j {
        network.note_repeated(work);
    }
    work.note("network: reload reads the columns that a read needs by COPY, a connection a table, makes static arrays and reads once by a loop over them; static is the loop alone, on arrays that are there already");
    work.note("network: SQL is indexed on every column that names a vertex and on names, with random_page_cost = 1.1; each of its statements is a new text, planned anew");
    drop(connection);
    bench.unfollow(NAME, replica, database)
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
            parameters: CLASSES
                .iter()
                .flat_map(|name| {
                    COUNTRIES.map(|country| vec![("country", Value::from(country)), class(name)])
                })
                .collect(),
        },
    ]
}

/// What the reads share: the network in its database and its replica, what writes meanwhile, and Neo4j, where there is one.
struct NetworkReads<'n> {
    bench: &'n Bench,
    database: &'n Database,
    replica: &'n Replica,
    writer: PostWriter,
    neo4j: Option<&'n mut Neo4jNetwork>,
}

impl NetworkReads<'_> {
    /// Measures a read in Gremlin, in SQL, on the arrays of `R`, and in Cypher.
    fn measure<R: StaticRead>(&mut self, work: &mut Work<'_>, read: &Question) -> Result<()> {
        let Self { bench, database, replica, ref mut writer, ref mut neo4j } = *self;
        let mut connection = bench.server.connect_to(NAME)?;
        run(&mut connection, PAGE_COST)?;
        let expected: Vec<Rows> = read
            .parameters
            .iter()
            .map(|parameters| read.by_sql(&mut connection, parameters))
            .collect::<Result<_>>()?;
        expect_something(read, &expected)?;
        let rows: usize = expected.iter().map(Vec::len).sum();
        let names = [OURS, WITHOUT, SQL, RELOAD, STATIC].into_iter();
        let names: Vec<_> = names.chain(neo4j.is_some().then_some(NEO4J)).collect();
        let mut race = Race::new(names.iter().copied());
        let time = work.plan.run_time.min(bench.plan.run_time);
        if let Some(neo4j) = neo4j {
            // By then its JVM has compiled what is hot.
            neo4j.time(read, time, &expected)?;
        }
        let mut reloads = 0;
        for round in 0..bench.plan.rounds {
            let mut times = vec![0.0; names.len()];
            for place in order(round, times.len()) {
                let ours =
                    || read.time(time, |parameters| read.by_gremlin(database, parameters), Some(&expected));
                times[place] = match place {
                    0 => writer.beside(ours)?,
                    1 => {
                        catch_up(replica)?;
                        ours()?
                    }
                    2 => writer.beside(|| {
                        read.time(
                            time,
                            |parameters| read.by_sql(&mut connection, parameters),
                            Some(&expected),
                        )
                    })?,
                    3 => writer.beside(|| reload::<R>(bench, read, &expected, &mut reloads))?,
                    4 => {
                        let arrays = R::load(&bench.server.settings_of(NAME))?;
                        for (parameters, expected) in read.parameters.iter().zip(&expected) {
                            expect(STATIC, read.title, &arrays.answer(parameters)?, expected)?;
                        }
                        writer.beside(|| {
                            read.time(time, |parameters| arrays.answer(parameters), Some(&expected))
                        })?
                    }
                    _ => {
                        let neo4j = neo4j.as_mut().expect("it is in a race only where it is there");
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
}

/// Fails for a read without rows, and for one that counts what is never there.
fn expect_something(read: &Question, expected: &[Rows]) -> Result<()> {
    let rows: Vec<&Vec<String>> = expected.iter().flatten().collect();
    // The first column is an id.
    let mut columns = 1..rows.first().map_or(0, |row| row.len());
    let is_always_0 = |column: &usize| rows.iter().all(|row| row[*column] == "0");
    if rows.is_empty() {
        return Err(wrong(SQL, read.title, "no rows", "some"));
    }
    match columns.find(is_always_0) {
        Some(column) => {
            Err(wrong(SQL, read.title, format!("0 in each row of column {column}"), "some counts"))
        }
        None => Ok(()),
    }
}

/// Seconds of loading the arrays of a read and of one answer by them. Each run asks for other parameters: `runs` counts those of
/// all rounds.
fn reload<R: StaticRead>(bench: &Bench, read: &Question, expected: &[Rows], runs: &mut usize) -> Result<f64> {
    let settings = bench.server.settings_of(NAME);
    median_time(|| {
        let number = *runs % read.parameters.len();
        *runs += 1;
        let answer = R::load(&settings)?.answer(&read.parameters[number])?;
        expect(RELOAD, read.title, &answer, &expected[number])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_finds_nothing_is_an_error() {
        let [_, bi_2, _] = questions(&[]);
        let rows = |rows: &[[&str; 3]]| -> Vec<Rows> {
            rows.iter().map(|row| vec![row.map(str::to_owned).to_vec()]).collect()
        };
        let is_found = |found: &[[&str; 3]]| expect_something(&bi_2, &rows(found)).is_ok();
        assert!(is_found(&[["0", "2", "0"], ["7", "0", "1"]]));
        assert!(!is_found(&[["4", "2", "0"], ["7", "3", "0"]]), "the second period is empty");
        assert!(!is_found(&[["4", "0", "0"]]) && !is_found(&[]));
    }

    #[test]
    fn the_first_reloads_ask_for_every_country() {
        let [_, _, bi_3] = questions(&[]);
        let countries: Vec<String> = bi_3.parameters.iter().map(|set| set[0].1.to_string()).collect();
        assert_eq!(countries[..3], ["China", "India", "China"]);
        assert_eq!(countries.len(), COUNTRIES.len() * CLASSES.len());
    }
}
