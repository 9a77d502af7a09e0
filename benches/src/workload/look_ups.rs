//! Look-ups: queries that begin at a value, with the index that answers them and without.
//!
//! ```text
//! equal, unique    g.V().has('Person', 'number', n)             one vertex       hash
//! equal            g.V().has('Person', 'name', n)               four vertices    hash
//! range            g.V().has('Person', 'rank', between(a, b))   a hundred        ordered
//! edge             g.E().has('KNOWS', 'since', n)               one edge         hash
//! ```
//!
//! Every vertex knows the next, since its own rank. Values follow from places, so that every answer is known beforehand.
//! Without an index the same text scans the label or the type.

use crate::goals::baseline;
use crate::plan::{Work, expect};
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::queries::{ROWS, limits};
use evergraph::generate::random::Random;
use evergraph::{Database, IndexKind, IndexOptions, OwnerName, ReadByName as _};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::ValueType;
use evergraph_measure::figure::Unit;
use std::time::Instant;

const PURPOSE: u64 = 407;
const LABEL: &str = "Person";
const EDGE_TYPE: &str = "KNOWS";
/// Vertices of each name.
const NAMESAKES: u64 = 4;
/// Vertices in a range.
const RANGE: i64 = 100;
/// Questions in a run: a scan answers few in the time of many look-ups.
const QUESTIONS: [usize; 2] = [2_000, 5];

/// A kind of question.
struct Question {
    name: &'static str,
    title: &'static str,
    /// Its variable is `at`, and `end` in a range.
    text: &'static str,
    key: &'static str,
    kind: IndexKind,
    unique: bool,
    owner: OwnerName<'static>,
}

const ASKED: [Question; 4] = [
    Question {
        name: "unique",
        title: "one vertex by its unique number",
        text: "g.V().has('Person', 'number', at).values('number').sum()",
        key: "number",
        kind: IndexKind::Hash,
        unique: true,
        owner: OwnerName::Label(LABEL),
    },
    Question {
        name: "equal",
        title: "four vertices by their name",
        text: "g.V().has('Person', 'name', at).values('number').sum()",
        key: "name",
        kind: IndexKind::Hash,
        unique: false,
        owner: OwnerName::Label(LABEL),
    },
    Question {
        name: "range",
        title: "a hundred vertices by a range of their ranks",
        text: "g.V().has('Person', 'rank', between(at, end)).values('number').sum()",
        key: "rank",
        kind: IndexKind::Ordered,
        unique: false,
        owner: OwnerName::Label(LABEL),
    },
    Question {
        name: "edge",
        title: "one edge by its date, and where it begins",
        text: "g.E().has('KNOWS', 'since', at).outV().values('number').sum()",
        key: "since",
        kind: IndexKind::Hash,
        unique: false,
        owner: OwnerName::EdgeType(EDGE_TYPE),
    },
];

/// Measures each kind of question with its index and without, and the indexes.
///
/// # Errors
/// `corrupt` if an answer is wrong; what the database says.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let vertices = u64::from(work.plan.vertices());
    let ranks = Random::new(work.plan.seed, PURPOSE, 0).permutation(vertices as u32);
    let mut numbers = vec![0; ranks.len()];
    for (number, rank) in (0..).zip(&ranks) {
        numbers[*rank as usize] = number;
    }
    let [with, without] = [load(&ranks)?, load(&ranks)?];
    for question in &ASKED {
        build(work, &with, question)?;
    }
    for question in &ASKED {
        let mut race = Race::new(["evergraph", baseline::WITHOUT]).undisturbed();
        for round in 0..work.plan.rounds {
            race.round(round, |place| {
                let snapshot = [&with, &without][place].snapshot();
                let mut random = Random::new(work.plan.seed, PURPOSE, 1 + round as u64);
                let asked: Vec<u64> = (0..QUESTIONS[place]).map(|_| random.below(vertices)).collect();
                let mut found = Vec::with_capacity(asked.len());
                let watch = Stopwatch::start();
                for at in &asked {
                    let query = snapshot.gremlin(question.text).limits(limits(ROWS));
                    found.push(match question.key {
                        "name" => query.bind("at", name(*at, vertices)).one::<i64>()?,
                        _ => query.bind("at", *at as i64).bind("end", *at as i64 + RANGE).one()?,
                    });
                }
                let spent = watch.stop();
                for (at, found) in asked.iter().zip(found) {
                    let who = ["evergraph", baseline::WITHOUT][place];
                    expect(who, question.title, found, answer(question, *at, vertices, &numbers))?;
                }
                Ok(Sample::timed(spent.wall / asked.len() as f64, spent))
            })?;
        }
        let heading = Heading::new(format!("look_up.time.{}", question.name), question.title, Unit::Seconds);
        work.add_race(&heading, &race);
    }
    work.note(format!("{vertices} vertices of one label with three properties, an edge of each with one; in memory, one thread"));
    work.note(
        "text to answer: parsed, planned and run anew each time; without an index the label or the type is scanned",
    );
    Ok(())
}

/// What `question` finds from `at` on: the sum of the numbers.
fn answer(question: &Question, at: u64, vertices: u64, numbers: &[i64]) -> i64 {
    let names = vertices / NAMESAKES;
    match question.key {
        "number" => at as i64,
        "since" => numbers[at as usize],
        "name" => (0..NAMESAKES).map(|namesake| (at % names + namesake * names) as i64).sum(),
        _ => numbers.iter().skip(at as usize).take(RANGE as usize).sum(),
    }
}

fn name(number: u64, vertices: u64) -> String {
    format!("person {}", number % (vertices / NAMESAKES))
}

/// A ring of vertices with their number, their name, and a rank, which their edges have too.
fn load(ranks: &[u32]) -> Result<Database> {
    let vertices = ranks.len() as u64;
    let block = |(number, ranks): (usize, &[u32])| {
        let mut columns = [(); 3].map(|()| PackedColumnBuilder::default());
        for (number, rank) in ((number * BLOCK_ROWS) as u64..).zip(ranks) {
            columns[0].push_i64(number as i64);
            columns[1].push_text(&name(number, vertices));
            columns[2].push_i64(i64::from(*rank));
        }
        let columns = columns.map(PackedColumnBuilder::finish).to_vec();
        VertexBlock { rows: ranks.len(), columns }
    };
    let typed = [("number", ValueType::I64), ("name", ValueType::String), ("rank", ValueType::I64)];
    let properties = typed.map(|(key, value_type)| (key.to_owned(), value_type)).to_vec();
    let blocks = ranks.chunks(BLOCK_ROWS).enumerate().map(block).collect();
    let ring = |(number, ranks): (usize, &[u32])| {
        let sources = ((number * BLOCK_ROWS) as u32..).take(ranks.len());
        let mut since = PackedColumnBuilder::default();
        ranks.iter().for_each(|rank| since.push_i64(i64::from(*rank)));
        let edges = EdgeBlock::bare(sources.map(|source| (source, (source + 1) % vertices as u32)));
        EdgeBlock { columns: vec![since.finish()], ..edges }
    };
    let edges = ranks.chunks(BLOCK_ROWS).enumerate().map(ring).collect();
    let since = vec![("since".to_owned(), ValueType::I64)];
    let load = Load {
        vertices: vec![VertexTable::new(LABEL, properties, blocks)],
        edges: vec![EdgeTable::new(EDGE_TYPE, 0, 0, since, edges)],
    };
    let database = Database::in_memory()?;
    database.load(&load, &|_| (), &Default::default())?;
    Ok(database)
}

/// Builds the index of `question`, once a round, and leaves it there.
fn build(work: &mut Work<'_>, database: &Database, question: &Question) -> Result<()> {
    let mut options = match question.owner {
        OwnerName::Label(label) => IndexOptions::on_label(label, question.key),
        OwnerName::EdgeType(edge_type) => IndexOptions::on_edges(edge_type, question.key),
    };
    if question.kind == IndexKind::Ordered {
        options = options.ordered();
    }
    if question.unique {
        options = options.unique();
    }
    let (mut seconds, mut bytes) = (Vec::new(), Vec::new());
    for round in 0..work.plan.rounds {
        if round > 0 {
            database.drop_index(question.owner, question.key, None)?;
        }
        let began = Instant::now();
        database.create_index(&options)?;
        seconds.push(began.elapsed().as_secs_f64());
        let built = database.indexes().into_iter().find(|index| index.key == question.key);
        let built = built.ok_or_else(|| Error::invalid("an index is gone as soon as it is built"))?;
        expect("evergraph", "entries of an index", built.entries, u64::from(work.plan.vertices()))?;
        bytes.push(built.bytes as f64);
    }
    let what = format!(
        "{} index on {}{}",
        question.kind,
        question.key,
        ["", " (unique)"][usize::from(question.unique)]
    );
    let name = |what| format!("look_up.{what}.{}", question.name);
    work.add(&Heading::new(name("build"), format!("build the {what}"), Unit::Seconds), &seconds);
    work.add(&Heading::new(name("bytes"), format!("memory of the {what}"), Unit::Bytes), &bytes);
    Ok(())
}
