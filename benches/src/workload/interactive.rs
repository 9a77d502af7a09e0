//! Interactive: LDBC's short reads IS1 to IS7 and complex reads IC1 to IC4 in Gremlin, with indexes and without.
//!
//! ```text
//! texts     the queries, as somebody would write them    parameters   what each is asked for
//! by_hand   the same answers by plain loops              network      the same files as plain maps
//!                                                        ldbc_files   the same files as a property graph
//! ```
//!
//! The indexes are those of the ids at which queries begin: of persons, posts and comments. Without them the same
//! text scans the label.
//!
//! Source: LDBC Social Network Benchmark, interactive workload 1. Differs: of ties that it leaves open the smaller
//! id comes first.

pub mod by_hand;
pub mod ldbc_files;
pub mod network;
pub mod parameters;
pub mod texts;

use crate::goals::baseline;
use crate::plan::{Work, expect};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::interactive::by_hand::{Dates, Row};
use crate::workload::interactive::network::Network;
use crate::workload::interactive::parameters::Sets;
use crate::workload::interactive::texts::Read;
use crate::workload::queries::{ROWS, limits};
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, IndexOptions, Item, OwnerName, ReadByName as _, Snapshot, Value};
use evergraph_graph::error::{Error, Result};
use evergraph_measure::figure::Unit;
use std::path::Path;
use std::time::{Duration, Instant};

/// A run asks all parameters as often as fits into it, and once at least; no longer than runs of clients take.
const RUN_TIME: Duration = Duration::from_millis(20);
/// Where queries begin.
const INDEXED: [&str; 3] = ["Person", "Post", "Comment"];

/// Measures every query with indexes and without, and the indexes.
///
/// # Errors
/// `corrupt` if an answer is not that of the loops; what reading the files and the database meets.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let Some(folder) = work.plan.interactive.clone() else {
        eprintln!("left out: --interactive names no folder of LDBC's interactive workload");
        return Ok(());
    };
    let network = Network::read(&folder.join("graph"))?;
    let sets = Sets::new(&folder.join("substitution_parameters"), &network, work.plan.seed)?;
    let reads = texts::reads(&sets);
    let [with, without] = [import(&folder)?, import(&folder)?];
    for label in INDEXED {
        build(work, &with, label)?;
    }
    let snapshots = [with.snapshot(), without.snapshot()];
    for read in &reads {
        let expected: Vec<Vec<Row>> = read
            .parameters
            .iter()
            .map(|parameters| by_hand::answer(&network, read.name, parameters, Dates::Typed))
            .collect();
        let rows: usize = expected.iter().map(Vec::len).sum();
        let mut race = Race::new(["evergraph", baseline::WITHOUT]).undisturbed();
        for round in 0..work.plan.rounds {
            let time = work.plan.run_time.min(RUN_TIME);
            race.round(round, |place| run(&snapshots[place], read, &expected, time))?;
        }
        let heading = Heading::new(format!("interactive.{}", read.name), read.title, Unit::Seconds)
            .with("parameters", expected.len())
            .with("rows", rows);
        work.add_race(&heading, &race);
    }
    let statistics = without.statistics()?;
    let (vertices, edges) = (statistics.vertices_count(), statistics.edges_count());
    work.note(format!("{vertices} vertices, {edges} edges, in memory; one thread; a query's time is the mean over its parameters"));
    work.note("every answer is that of plain loops over the same files, row by row and in order");
    work.note("text to answer: parsed, planned and run anew each time; values are bound to variables");
    Ok(())
}

/// Asks `read` with all its parameters, again and again: the time of one query.
fn run(snapshot: &Snapshot, read: &Read, expected: &[Vec<Row>], time: Duration) -> Result<Sample> {
    let (mut asked, mut first) = (0, Vec::with_capacity(expected.len()));
    let watch = Stopwatch::start();
    let began = Instant::now();
    while asked == 0 || began.elapsed() < time {
        for parameters in &read.parameters {
            let items = ask(snapshot, read.text, parameters)?;
            if first.len() < expected.len() {
                first.push(items);
            }
        }
        asked += read.parameters.len();
    }
    let spent = watch.stop();
    for ((found, expected), parameters) in first.iter().zip(expected).zip(&read.parameters) {
        let found: Vec<Row> = found.iter().map(row).collect();
        expect("evergraph", &format!("{} of {parameters:?}", read.title), &found, expected)?;
    }
    Ok(Sample::timed(spent.wall / asked as f64, spent))
}

fn ask(snapshot: &Snapshot, text: &str, parameters: &[(&str, Value)]) -> Result<Vec<Item>> {
    let query = snapshot.gremlin(text).limits(limits(ROWS));
    parameters.iter().fold(query, |query, (name, value)| query.bind(name, value.clone())).items()
}

/// A result as a row of texts: maps give their values, lists stand in brackets.
#[must_use]
pub fn row(item: &Item) -> Row {
    fn put(item: &Item, row: &mut Row) {
        match item {
            Item::Map(map) => map.entries().iter().for_each(|(_, value)| put(value, row)),
            Item::Value(value) => row.push(value.to_string()),
            other => match other.elements() {
                Some(items) => {
                    row.push("[".to_owned());
                    items.iter().for_each(|item| put(item, row));
                    row.push("]".to_owned());
                }
                None => row.push(format!("{other:?}")),
            },
        }
    }
    let mut texts = Row::new();
    put(item, &mut texts);
    texts
}

/// The graph of `folder` in memory, without an index.
fn import(folder: &Path) -> Result<Database> {
    let database = Database::in_memory()?;
    database.import(&ImportOptions::new([InputFile::new(folder.join("graph"))]), &|_| ())?;
    for index in database.indexes() {
        database.drop_index(OwnerName::Label(&index.owner), &index.key, Some(index.kind))?;
    }
    Ok(database)
}

/// Builds the index on the ids of `label`, once a round, and leaves it there.
fn build(work: &mut Work<'_>, database: &Database, label: &str) -> Result<()> {
    let (mut seconds, mut bytes) = (Vec::new(), Vec::new());
    for round in 0..work.plan.rounds {
        if round > 0 {
            database.drop_index(OwnerName::Label(label), "id", None)?;
        }
        let began = Instant::now();
        database.create_index(&IndexOptions::on_label(label, "id").unique())?;
        seconds.push(began.elapsed().as_secs_f64());
        let built = database.indexes().into_iter().find(|index| index.owner == label);
        let built = built.ok_or_else(|| Error::invalid("an index is gone as soon as it is built"))?;
        bytes.push(built.bytes as f64);
    }
    let name = |what| format!("interactive.index.{}.{what}", label.to_lowercase());
    let title = |what| format!("{what} the unique hash index on {label}.id");
    work.add(&Heading::new(name("build"), title("build"), Unit::Seconds), &seconds);
    work.add(&Heading::new(name("bytes"), title("memory of"), Unit::Bytes), &bytes);
    Ok(())
}
