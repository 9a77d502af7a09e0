//! Looking up: vertices by value on a snapshot, by index; and building an index over what is there.
//!
//! Each vertex has a unique number and a text. Random numbers that exist are looked up one at a time;
//! ranges of texts begin at random and end after 100. The tables are merged first, as they are after a
//! while without writes.

use crate::bench::plan::Work;
use crate::bench::section::Section;
use evergraph::generate::random::Random;
use evergraph::{Database, Durability, IndexOptions, Options, ValueRange};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::look_up::{MatchCursor, Matches, RangeCursor, Ranked};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView;
use evergraph_measure::figure::{Figure, Unit};
use std::ops::Bound;
use std::time::Instant;

const PURPOSE: u64 = 200;
const LABEL: &str = "Person";
/// Vertices a transaction.
const BATCH: u32 = 10_000;
/// Questions a run.
const QUESTIONS: u32 = 50_000;
/// What a range gives.
const RANGE: usize = 100;

/// Seconds a question, of all runs.
#[derive(Default)]
struct Runs {
    unique: Vec<f64>,
    ordered: Vec<f64>,
    range: Vec<f64>,
    build_hash: Vec<f64>,
    build_ordered: Vec<f64>,
}

/// Measures look-ups by a unique number and by a text, ranges of texts, and builds.
///
/// # Errors
/// `cancelled`; `corrupt` if an answer is wrong; what writing meets.
pub fn measure(work: &Work<'_>) -> Result<Section> {
    let options = Options { durability: Durability::None, ..Options::default() };
    let database = Database::open_with(work.folder.join("look-ups"), &options)?;
    let vertices = work.plan.vertices();
    let (number, text) = fill(&database, vertices)?;
    database.store().engine().merge_everything();
    let on_number = IndexOptions::on_label(LABEL, "number").unique();
    let on_text = IndexOptions::on_label(LABEL, "text").ordered();
    let mut random = Random::new(work.plan.seed, PURPOSE, 0);
    let (mut runs, meter) = (Runs::default(), work.console.meter());
    let mut bytes = (0.0, 0.0);
    for round in 0..work.plan.rounds {
        work.round(&meter, "look-ups", round)?;
        for (index, builds) in [(&on_number, &mut runs.build_hash), (&on_text, &mut runs.build_ordered)] {
            let began = Instant::now();
            database.create_index(index)?;
            builds.push(began.elapsed().as_secs_f64() / f64::from(vertices));
        }
        let each = |index: usize| database.indexes().get(index).map(|index| index.bytes as f64);
        bytes = each(0).zip(each(1)).unwrap_or(bytes);
        let view = database.snapshot();
        let catalogue = view.catalogue();
        let label = catalogue.label(LABEL).ok_or_else(|| wrong("the label is gone"))?;
        runs.unique
            .push(time(QUESTIONS, || by_number(&view, (label, number), random.below(vertices.into())))?);
        // Texts are made before: writing one down isn't looking it up.
        let rows = (0..QUESTIONS).map(|_| random.below(vertices.into()));
        let asked: Vec<_> = rows.map(|row| (row, text_of(row))).collect();
        let mut next = asked.iter().cycle();
        let mut ask =
            || next.next().map_or(Ok(()), |(row, asked)| by_text(&view, (label, text), *row, asked));
        runs.ordered.push(time(QUESTIONS, &mut ask)?);
        let last = u64::from(vertices) - RANGE as u64;
        runs.range.push(time(QUESTIONS / 20, || range(&view, (label, text), random.below(last)))?);
        drop(view);
        database.drop_index(evergraph::OwnerName::Label(LABEL), "number", None)?;
        database.drop_index(evergraph::OwnerName::Label(LABEL), "text", None)?;
    }
    database.close()?;
    let figure = |name: &str, title: &str, samples: &[f64]| {
        Figure::new(name, title, Unit::Seconds, samples).with("vertices", vertices).with("threads", 1)
    };
    Ok(Section {
        title: format!("Looking up by value: {vertices} vertices, a snapshot, 1 thread"),
        figures: vec![
            figure("look_up.unique", "a vertex by its unique number, hash index", &runs.unique),
            figure("look_up.ordered", "a vertex by its text, ordered index", &runs.ordered),
            figure("look_up.range_100", "100 vertices in the order of their texts", &runs.range),
            figure("look_up.build_hash", "building the hash index, an entry", &runs.build_hash),
            figure("look_up.build_ordered", "building the ordered index, an entry", &runs.build_ordered),
        ],
        notes: vec![
            "each answer is re-read from the snapshot, which is in the time; all tables were merged before"
                .to_owned(),
            format!(
                "memory: {:.1} B an entry by hash, {:.1} B ordered, of which 20 B are the text and its length",
                bytes.0 / f64::from(vertices),
                bytes.1 / f64::from(vertices)
            ),
            "everything fits in memory, most of it into the cache: a larger graph misses it more often"
                .to_owned(),
        ],
    })
}

/// Adds the vertices; the keys of their number and text.
fn fill(database: &Database, vertices: u32) -> Result<(KeyId, KeyId)> {
    let mut keys = None;
    for first in (0..vertices).step_by(BATCH as usize) {
        keys = Some(database.transact(|tx| {
            let tx = tx.by_id();
            let (label, number, text) = (tx.label(LABEL)?, tx.key("number")?, tx.key("text")?);
            for row in first..vertices.min(first + BATCH) {
                let properties = [(number, Value::I64(number_of(row.into()))), (text, text_of(row.into()))];
                tx.add_vertex(label, &properties)?;
            }
            Ok((number, text))
        })?);
    }
    keys.ok_or_else(|| wrong("there are no vertices"))
}

/// Numbers that lie apart.
fn number_of(row: u64) -> i64 {
    row.wrapping_mul(0x9e37_79b9).cast_signed()
}

/// Texts in the order of rows, 12 bytes long.
fn text_of(row: u64) -> Value {
    Value::from(format!("p-{row:010}"))
}

fn time(questions: u32, mut ask: impl FnMut() -> Result<()>) -> Result<f64> {
    let began = Instant::now();
    for _ in 0..questions {
        ask()?;
    }
    Ok(began.elapsed().as_secs_f64() / f64::from(questions))
}

fn by_number(view: &impl GraphView, (label, key): (LabelId, KeyId), row: u64) -> Result<()> {
    let mut found = Vec::with_capacity(1);
    view.look_up(label, key, &[Value::I64(number_of(row))], &mut found)?;
    right(found == [Some(VertexId(row as u32))])
}

fn by_text(view: &impl GraphView, (label, key): (LabelId, KeyId), row: u64, asked: &Value) -> Result<()> {
    let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
    let asked = std::slice::from_ref(asked);
    view.look_up_vertices(label, key, asked, &mut cursor, 16, &mut found)?;
    right(found.items == [VertexId(row as u32)])
}

fn range(view: &impl GraphView, (label, key): (LabelId, KeyId), row: u64) -> Result<()> {
    let (mut cursor, mut found) = (RangeCursor::default(), Ranked::default());
    let range = ValueRange::new(Bound::Included(text_of(row)), Bound::Unbounded);
    view.range_vertices(label, key, &range, &mut cursor, RANGE, &mut found)?;
    right(found.items.len() == RANGE && found.items[0] == VertexId(row as u32))
}

fn right(is_right: bool) -> Result<()> {
    if is_right { Ok(()) } else { Err(wrong("a look-up gave something else")) }
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("{what}: please report this"))
}
