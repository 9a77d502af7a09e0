//! Social: LDBC's interactive network many times over, followed by a replica, with its reads and inserts as fixed plans.
//!
//! ```text
//! graph        steps of plans on a snapshot              updates      eight inserts, ours and SQL's
//! plans, sql   IS1 to IS7, IC1 to IC14, ours and SQL's   parameters   what reads are asked for
//! kernels      PageRank, WCC, SSSP while following       export       what another database needs to answer some reads
//! mod          the network, reads and mixtures
//! ```
//!
//! ```text
//! source    PostgreSQL: half of the copies before the replica's copy, half inserted while it follows; a single one before it
//! replica   a database that follows it: its reads by our plans
//! plain     the same graph in an ordinary database that syncs each commit: reads and inserts
//! ```
//!
//! Ids of persons, forums, posts and comments are shifted in each copy; places, tags and organisations are shared; each person of a copy
//! knows one of an earlier copy. Every answer is compared with SQL's, before and after the inserts.
//!
//! Source: LiveGraph (VLDB 2020), tables 7 and 9; LDBC's interactive workload 1. Never an LDBC result.

mod export;
mod graph;
mod kernels;
mod parameters;
mod plans;
mod sql;
mod updates;

use crate::goals::baseline::SQL;
use crate::plan::{Work, expect};
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::replica::question::Rows;
use crate::workload::replica::readers::catch_up;
use crate::workload::replica::relations::{
    INDEXES, PAGE_COST, Relation, mapping, relations, relations_folder,
};
use crate::workload::replica::social::graph::{Graph, Names};
use crate::workload::replica::social::parameters::Pools;
use crate::workload::replica::social::sql::{COMPLEX, Read, SHORT, VIEWS};
use crate::workload::replica::social::updates::{Update, Updater};
use crate::workload::replica::source_server::run;
use crate::workload::replica::{Bench, OURS, open};
use evergraph::generate::random::Random;
use evergraph::{Database, Durability, GraphView as _, IndexOptions, Options, Value};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::clients;
use evergraph_measure::figure::Unit;
use evergraph_replica::follow::detach::detach;
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::source::postgres::connection::Connection;
use std::thread;
use std::time::{Duration, Instant};

const PURPOSE: u64 = 474;
/// The database at the source; slot and publication are called the same.
const NAME: &str = "social";
const ROWS_OF_A_STATEMENT: usize = 500;
/// What ids of a copy are more than those of the one before it.
const SHIFT: i64 = 1_000_000_000_000_000;
/// Parameters of each read, for answers that are compared and times.
const SETS: usize = 10;
/// Of a thousand operations, as LiveGraph's table 7 has them: complex and short reads; the rest are inserts.
const PER_MILLE: [u64; 2] = [73, 638];
/// How often the ordinary database syncs where the source does not.
const UNSYNCED: Duration = Duration::from_millis(10);
const CLIENTS: [usize; 2] = [1, 8];

/// The network in three places.
struct Network {
    /// How many times it is there.
    copies: u32,
    followed: Database,
    replica: Replica,
    plain: Database,
    pools: Pools,
}

/// Measures reads, mixtures and kernels, with each number of copies.
///
/// # Errors
/// `corrupt` if an answer is not SQL's; those of files, server and replica.
pub fn measure(work: &mut Work<'_>, bench: &mut Bench) -> Result<()> {
    let Some(folder) = relations_folder(work.plan) else { return Ok(()) };
    let relations = relations(&folder)?;
    for copies in bench.plan.copies.clone() {
        measure_copies(work, bench, &relations, copies)?;
    }
    work.note("interactive: fixed plans of IS1 to IS7 and IC1 to IC14 and eight inserts, not LDBC's driver and never an LDBC result; emails, languages, universities and companies of IC1 are left out");
    work.note("interactive: SQL is prepared once a connection and indexed on every column that names a vertex; each answer is compared with SQL's before the inserts and after them");
    work.note(
        "interactive: Virtuoso is not beside: its SQL has no WITH, by which most of the complex reads search; make bench-virtuoso has eight of the reads",
    );
    Ok(())
}

/// The same with one number of copies. The source's database is dropped at the end: the next one has its name.
fn measure_copies(work: &mut Work<'_>, bench: &mut Bench, relations: &[Relation], copies: u32) -> Result<()> {
    let network = Network::make(work, bench, relations, copies)?;
    let mut sql = connect(bench)?;
    let reads: Vec<Asked> =
        SHORT.iter().chain(&COMPLEX).map(|read| Asked::draw(*read, &network.pools, work.plan.seed)).collect();
    compare(&network, &reads, &mut sql)?;
    // On a small graph a snapshot takes more time than a kernel.
    if bench.plan.copies.iter().max() == Some(&copies) {
        kernels::measure(work, bench, &network)?;
    }
    let mut races = Vec::new();
    for asked in &reads {
        races.push(each_read(work, bench, &network, asked, &mut sql)?);
    }
    if let Some(folder) = &bench.plan.export {
        let (folder, source) = (folder.join(format!("copies_{copies}")), &bench.server.settings);
        export::write(&folder, source, copies, reads.iter().zip(&races), &mut sql)?;
    }
    for count in CLIENTS {
        complex_only(work, bench, &network, &reads, count)?;
    }
    for count in CLIENTS {
        mixed(work, bench, &network, &reads, count)?;
    }
    compare(&network, &reads, &mut sql)?;
    let Network { followed, replica, plain, .. } = network;
    plain.close()?;
    drop(sql);
    bench.unfollow(NAME, replica, followed)
}

fn connect(bench: &Bench) -> Result<Connection> {
    let mut connection = bench.server.connect_to(NAME)?;
    run(&mut connection, PAGE_COST)?;
    for read in SHORT.iter().chain(&COMPLEX) {
        run(&mut connection, &format!("PREPARE {}({}) AS {}", read.name, read.types, read.sql))?;
    }
    Ok(connection)
}

impl Network {
    fn make(work: &mut Work<'_>, bench: &mut Bench, relations: &[Relation], copies: u32) -> Result<Self> {
        let before = (copies / 2).max(1);
        run(&mut bench.connection, &format!("CREATE DATABASE {NAME}"))?;
        let mut connection = bench.server.connect_to(NAME)?;
        for relation in relations {
            run(&mut connection, &relation.create())?;
            relation.insert(&mut connection, (0, 1), ROWS_OF_A_STATEMENT)?;
        }
        run(&mut connection, VIEWS)?;
        run(&mut connection, INDEXES)?;
        for copy in 1..before {
            copy_again(&mut connection, relations, copy, work.plan.seed)?;
        }
        run(&mut connection, "ANALYZE")?;
        let followed = open(&bench.folder.join(format!("social-{copies}.eg")))?;
        let replica = bench.replicate((NAME, NAME), &followed, mapping())?;
        let began = Instant::now();
        for copy in before..copies {
            copy_again(&mut connection, relations, copy, work.plan.seed)?;
        }
        catch_up(&replica)?;
        let inserting = began.elapsed().as_secs_f64();
        run(&mut connection, "VACUUM ANALYZE")?;
        let durability = if bench.plan.is_synced { Durability::Sync } else { Durability::Interval(UNSYNCED) };
        let plain = Database::open_with(
            bench.folder.join(format!("social-plain-{copies}.eg")),
            &Options { durability, ..Options::default() },
        )?;
        bench.replicate((NAME, "social_plain"), &plain, mapping())?.stop()?;
        detach(&plain, Some(&mut bench.server.source_of(NAME)))?;
        for database in [&followed, &plain] {
            for label in ["Tag", "TagClass"] {
                database.create_index(&IndexOptions::on_label(label, "name"))?;
            }
        }
        let (ours, again) = (followed.statistics()?, plain.statistics()?);
        let counts = |of: &evergraph::Statistics| (of.vertices_count(), of.edges_count());
        expect(OURS, "vertices and edges of a copy and of what followed", counts(&ours), counts(&again))?;
        let inserted = match copies - before {
            0 => {
                "all of it there before the replica began, which follows nothing but what the mixtures insert"
                    .to_owned()
            }
            inserted => {
                format!("{inserted} of the copies inserted while the replica followed, {inserting:.1} s")
            }
        };
        work.note(format!(
            "interactive: LDBC's network {}, {} vertices and {} edges, {inserted}; {} rows wait for an end",
            if copies == 1 { "once".to_owned() } else { format!("{copies} times over") },
            ours.vertices_count(),
            ours.edges_count(),
            replica.status().waiting_rows
        ));
        let pools = Pools::read(&mut connection, work.plan.seed)?;
        Ok(Self { copies, followed, replica, plain, pools })
    }

    /// The heading of a figure on so many copies.
    fn heading(&self, name: &str, title: &str, unit: Unit) -> Heading {
        let copies = self.copies;
        let plural = if copies == 1 { "" } else { "s" };
        Heading::new(
            format!("replica.interactive.{name}.copies_{copies}"),
            format!("{title}, {copies} network{plural}"),
            unit,
        )
        .with("copies", copies)
    }
}

/// Inserts the network once more, a transaction a table, and joins it to the copies before it.
fn copy_again(connection: &mut Connection, relations: &[Relation], copy: u32, seed: u64) -> Result<()> {
    let shift = i64::from(copy) * SHIFT;
    for relation in relations.iter().filter(|relation| relation.is_dynamic) {
        let column = |name: &String| {
            let is_shifted = matches!(
                name.as_str(),
                "id" | "creator"
                    | "moderator"
                    | "replyOfPost"
                    | "replyOfComment"
                    | "Person.id"
                    | "Person.id2"
                    | "Post.id"
                    | "Comment.id"
                    | "Forum.id"
            );
            if is_shifted { format!("\"{name}\" + {shift}") } else { format!("\"{name}\"") }
        };
        let columns: Vec<String> = relation.columns.iter().map(column).collect();
        // The first copy is the one of the files: its ids are below the shift, those of whom it was joined to are not.
        let table = &relation.table;
        let ends = relation.columns.iter().enumerate();
        let ends = ends.filter(|(at, name)| *at == 0 || *name == "Person.id2");
        let is_first: Vec<String> = ends.map(|(_, name)| format!("\"{name}\" < {SHIFT}")).collect();
        let statement = format!(
            "INSERT INTO \"{table}\" SELECT {} FROM \"{table}\" WHERE {}",
            columns.join(", "),
            is_first.join(" AND ")
        );
        run(connection, &statement)?;
    }
    let (seed, before) = (seed & 0xffff, i64::from(copy));
    let joined = format!(
        r#"WITH first AS (SELECT array_agg(id ORDER BY id) AS ids, count(*) AS count FROM person WHERE id < {SHIFT}),
            pairs AS (SELECT id + {shift} AS id, hashint8extended(id + {shift}, {seed}) & 2147483647 AS drawn FROM person WHERE id < {SHIFT})
         INSERT INTO person_knows_person SELECT first.ids[1 + drawn % first.count] + (drawn % {before}) * {SHIFT}, pairs.id,
            '2010-06-01' FROM pairs, first"#
    );
    run(connection, &joined)?;
    Ok(())
}

/// A read with what it is asked for.
struct Asked {
    read: Read,
    sets: Vec<Vec<Value>>,
}

impl Asked {
    fn draw(read: Read, pools: &Pools, seed: u64) -> Self {
        let mut random = Random::new(seed, PURPOSE, 0);
        Self { read, sets: (0..SETS).map(|_| pools.draw(read.name, &mut random)).collect() }
    }

    fn by_plan(&self, database: &Database, names: Names, set: usize) -> Result<Rows> {
        let snapshot = database.snapshot();
        (self.read.plan)(&Graph::new(&snapshot, names), &self.sets[set])
    }

    fn by_sql(&self, connection: &mut Connection, set: usize) -> Result<Rows> {
        let literal = |value: &Value| match value {
            Value::I64(number) => number.to_string(),
            other => format!("'{}'", other.to_string().replace('\'', "''")),
        };
        let values: Vec<String> = self.sets[set].iter().map(literal).collect();
        let rows = run(connection, &format!("EXECUTE {}({})", self.read.name, values.join(", ")))?;
        Ok(rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect())
    }
}

fn names(database: &Database) -> Result<Names> {
    Names::new(&database.snapshot().catalogue())
}

/// Compares every answer of both databases with SQL's.
fn compare(network: &Network, reads: &[Asked], sql: &mut Connection) -> Result<()> {
    catch_up(&network.replica)?;
    for asked in reads {
        let mut rows = 0;
        for set in 0..asked.sets.len() {
            let expected = asked.by_sql(sql, set)?;
            rows += expected.len();
            for database in [&network.followed, &network.plain] {
                let found = asked.by_plan(database, names(database)?, set)?;
                expect(OURS, &format!("{} of {:?}", asked.read.title, asked.sets[set]), &found, &expected)?;
            }
        }
        if rows == 0 {
            return Err(Error::new(ErrorKind::Corrupt, format!("{} finds nothing at all", asked.read.title)));
        }
    }
    Ok(())
}

/// The time of one read: the plain database beside SQL.
fn each_read(
    work: &mut Work<'_>,
    bench: &Bench,
    network: &Network,
    asked: &Asked,
    sql: &mut Connection,
) -> Result<Race> {
    let mut race = Race::new([OURS, SQL]);
    let (names, time) = (names(&network.plain)?, work.plan.run_time.min(bench.plan.run_time));
    for round in 0..bench.plan.rounds {
        let mut times = [0.0; 2];
        for place in order(round, times.len()) {
            let (mut count, began) = (0, Instant::now());
            while count == 0 || began.elapsed() < time {
                for set in 0..asked.sets.len() {
                    match place {
                        0 => drop(asked.by_plan(&network.plain, names, set)?),
                        _ => drop(asked.by_sql(sql, set)?),
                    }
                }
                count += asked.sets.len();
            }
            times[place] = began.elapsed().as_secs_f64() / count as f64;
        }
        race.note(&times);
    }
    let heading = network.heading(asked.read.name, asked.read.title, Unit::Seconds);
    work.add_race(&heading.with("parameters", asked.sets.len()), &race);
    Ok(race)
}

/// A client that reads.
struct Reader<'n> {
    random: Random,
    place: Place<'n>,
}

/// Where a client reads.
enum Place<'n> {
    Ours(&'n Database, Names),
    Sql(Box<Connection>),
}

impl<'n> Place<'n> {
    fn of(database: &'n Database) -> Result<Self> {
        Ok(Self::Ours(database, names(database)?))
    }

    fn sql(bench: &Bench) -> Result<Self> {
        Ok(Self::Sql(Box::new(connect(bench)?)))
    }

    fn ask(&mut self, asked: &Asked, set: usize) -> Result<Rows> {
        match self {
            Self::Ours(database, names) => asked.by_plan(database, *names, set),
            Self::Sql(connection) => asked.by_sql(connection, set),
        }
    }

    fn update(&mut self, update: &Update) -> Result<()> {
        match self {
            Self::Ours(database, _) => database.transact(|transaction| update.apply(transaction)),
            Self::Sql(connection) => run(connection, &update.sql()).map(drop),
        }
    }
}

/// Complex reads a second.
fn complex_only(
    work: &mut Work<'_>,
    bench: &Bench,
    network: &Network,
    reads: &[Asked],
    count: usize,
) -> Result<()> {
    let complex = &reads[SHORT.len()..];
    let (mut plain, mut followed) = (Race::new([OURS, SQL]), Race::new([OURS, SQL]));
    let time = bench.plan.run_time / 2;
    for round in 0..bench.plan.rounds {
        let mut rates = [0.0; 3];
        for place in order(round, rates.len()) {
            let reader = |client: usize| -> Result<Reader<'_>> {
                let place = match place {
                    0 => Place::of(&network.plain)?,
                    1 => Place::sql(bench)?,
                    _ => Place::of(&network.followed)?,
                };
                Ok(Reader { place, random: Random::new(work.plan.seed, PURPOSE, 1 + client as u64) })
            };
            let mut readers = (0..count).map(reader).collect::<Result<Vec<_>>>()?;
            rates[place] = clients::run(&mut readers, time, |reader| {
                let asked = &complex[reader.random.below(complex.len() as u64) as usize];
                reader.place.ask(asked, reader.random.below(asked.sets.len() as u64) as usize)?;
                Ok(1)
            })?
            .rate();
        }
        plain.note(&[rates[0], rates[1]]);
        followed.note(&[rates[2], rates[1]]);
    }
    add(work, network, "complex", "complex reads a second", count, [&plain, &followed]);
    Ok(())
}

fn add(
    work: &mut Work<'_>,
    network: &Network,
    name: &str,
    title: &str,
    count: usize,
    [plain, followed]: [&Race; 2],
) {
    let plural = if count == 1 { "" } else { "s" };
    for (of, how, race) in [("", "", plain), ("on_replica.", ", reads on the replica", followed)] {
        let name = format!("{of}{name}.clients_{count}");
        let title = format!("{title}, {count} client{plural}{how}");
        work.add_race(&network.heading(&name, &title, Unit::PerSecond).with("clients", count), race);
    }
}

/// One operation of a mixture.
enum Operation {
    /// A read, by its number, and its parameters.
    Read(usize, usize),
    Update(Update),
}

/// Operations a second of complex reads, short reads and inserts.
fn mixed(work: &mut Work<'_>, bench: &Bench, network: &Network, reads: &[Asked], count: usize) -> Result<()> {
    let (mut plain, mut followed) = (Race::new([OURS, SQL]), Race::new([OURS, SQL]));
    // Ids of other numbers of clients are others'.
    let first = CLIENTS.iter().take_while(|known| **known != count).sum::<usize>();
    let random = |client: usize| Random::new(work.plan.seed, PURPOSE, 100 + (first + client) as u64);
    let mut updaters: Vec<(Random, Updater)> = (0..count)
        .map(|client| (random(client), Updater::new(random(client + 50), first + client)))
        .collect();
    let each = (bench.plan.operations as usize / count).max(1);
    for round in 0..bench.plan.rounds {
        let mut lists = || -> Vec<Vec<Operation>> {
            let list = |(random, updater): &mut (Random, Updater)| {
                (0..each).map(|_| draw(random, updater, reads, &network.pools)).collect()
            };
            updaters.iter_mut().map(list).collect()
        };
        let (of_both, of_replica) = (lists(), lists());
        let mut rates = [0.0; 3];
        for place in order(round, 2) {
            let mut places = (0..count)
                .map(|_| if place == 0 { Place::of(&network.plain) } else { Place::sql(bench) })
                .map(|place| Ok((place?, None)))
                .collect::<Result<Vec<_>>>()?;
            rates[place] = run_lists(&mut places, &of_both, reads)?;
        }
        let mut places = (0..count)
            .map(|_| Ok((Place::of(&network.followed)?, Some(Place::sql(bench)?))))
            .collect::<Result<Vec<_>>>()?;
        rates[2] = run_lists(&mut places, &of_replica, reads)?;
        // The plain database has the same inserts, and the same answers afterwards.
        let mut rest = Place::of(&network.plain)?;
        for operation in of_replica.iter().flatten() {
            if let Operation::Update(update) = operation {
                rest.update(update)?;
            }
        }
        plain.note(&[rates[0], rates[1]]);
        followed.note(&[rates[2], rates[1]]);
    }
    let title = "operations a second, 7.3 % complex and 63.8 % short reads, 28.9 % inserts";
    add(work, network, "mixed", title, count, [&plain, &followed]);
    Ok(())
}

fn draw(random: &mut Random, updater: &mut Updater, reads: &[Asked], pools: &Pools) -> Operation {
    let [complex, short] = PER_MILLE;
    let drawn = random.below(1000);
    if drawn >= complex + short {
        return Operation::Update(updater.next(pools));
    }
    let read = if drawn < complex {
        SHORT.len() + random.below(COMPLEX.len() as u64) as usize
    } else {
        random.below(SHORT.len() as u64) as usize
    };
    Operation::Read(read, random.below(reads[read].sets.len() as u64) as usize)
}

/// Each client, on a thread of its own, does the operations of its list: operations a second. Inserts go to the second place, if there
/// is one.
fn run_lists<'n>(
    places: &mut [(Place<'n>, Option<Place<'n>>)],
    lists: &[Vec<Operation>],
    reads: &[Asked],
) -> Result<f64> {
    let began = Instant::now();
    thread::scope(|scope| {
        let clients: Vec<_> = places
            .iter_mut()
            .zip(lists)
            .map(|(place, list)| scope.spawn(move || run_list(place, list, reads)))
            .collect();
        clients.into_iter().try_for_each(|client| client.join().expect("a panic was printed by its thread"))
    })?;
    let count: usize = lists.iter().map(Vec::len).sum();
    Ok(count as f64 / began.elapsed().as_secs_f64().max(1e-9))
}

fn run_list<'n>(
    (place, of_updates): &mut (Place<'n>, Option<Place<'n>>),
    list: &[Operation],
    reads: &[Asked],
) -> Result<()> {
    list.iter().try_for_each(|operation| match operation {
        Operation::Read(read, set) => place.ask(&reads[*read], *set).map(drop),
        Operation::Update(update) => of_updates.as_mut().unwrap_or(place).update(update),
    })
}
