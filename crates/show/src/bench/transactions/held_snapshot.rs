//! Held snapshot: updates that go on and on, with a snapshot that stays open and without.
//!
//! ```text
//! database with a snapshot     slice 1               slice 2   slice 3   ...   each a hundredth of the time
//! database without                       slice 1   slice 2               slice 3
//! ```
//!
//! Two databases of the same graph take turns, so that a machine that gets slower slows both. Updates
//! keep the graph as large as it is: a property of a random vertex, or of a random edge. So memory should
//! grow to a second copy of what changed, under the held snapshot, and not beyond.

use crate::bench::section::Section;
use crate::bench::transactions::plan::Work;
use crate::bench::transactions::told::Told;
use evergraph::generate::random::Random;
use evergraph::transaction::TransactionById;
use evergraph::{Database, Durability, Isolation, Options, Snapshot};
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{EdgeCursor, GraphView};
use evergraph_measure::clients::{self, transact};
use evergraph_measure::figure::{Figure, Unit};
use evergraph_measure::machine::resident_bytes;
use evergraph_terminal::number::{count, size, time};
use std::time::Duration;

const PURPOSE: u64 = 303;
/// Turns of each database.
const SLICES: u32 = 100;
/// Rows of the table: moments at which memory is told.
const MOMENTS: u32 = 5;
/// Edges a vertex, to the vertices that follow it.
const EDGES_PER_VERTEX: u32 = 8;
/// Fewer slices than that at the beginning don't count: the snapshot is still cheap.
const WARM_UP: usize = 10;

/// A database that is updated.
struct Side {
    database: Database,
    first: u32,
    vertices: u32,
    edge_type: TypeId,
    weight: KeyId,
    random: Random,
    rates: Vec<f64>,
    /// Bytes of the graph, of what waits to be merged, and of what is kept for snapshots.
    memory: Vec<[u64; 3]>,
}

/// Measures both.
///
/// # Errors
/// `cancelled`; `corrupt` if the held snapshot changes; what writing meets.
pub fn measure(work: &Work<'_>) -> Result<Told> {
    let mut sides = [Side::load(work, "held")?, Side::load(work, "free")?];
    let snapshot = sides[0].database.snapshot();
    let before = sides[0].sum(&snapshot)?;
    let mut resident = Vec::new();
    let slice = work.plan.held_time / SLICES;
    let meter = work.console.meter();
    for turn in 0..SLICES {
        work.tell(&meter, "a held snapshot", f64::from(turn) / f64::from(SLICES))?;
        // Whoever goes second inherits the merges of the first.
        let first = turn as usize % 2;
        for side in [first, 1 - first] {
            sides[side].update(slice)?;
        }
        resident.push(resident_bytes()?.unwrap_or(0));
    }
    if sides[0].sum(&snapshot)? != before {
        let text = "the held snapshot has other values than at first: please report this";
        return Err(Error::new(ErrorKind::Corrupt, text));
    }
    drop(snapshot);
    let told = told(work, &sides, &resident);
    let [held, free] = sides;
    held.database.close()?;
    free.database.close()?;
    Ok(told)
}

fn told(work: &Work<'_>, [held, free]: &[Side; 2], resident: &[u64]) -> Told {
    let warm = |side: &Side| side.rates[WARM_UP..].to_vec();
    let ratios: Vec<f64> = warm(held).iter().zip(warm(free)).map(|(held, free)| held / free).collect();
    let figure = |name: &str, title: &str, unit, samples: &[f64]| {
        Figure::new(format!("held_snapshot.{name}"), title, unit, samples)
    };
    let ratio = figure("ratio", "updates with a held snapshot / without", Unit::Times, &ratios);
    let last = |side: &Side| side.memory.last().copied().unwrap_or_default();
    let bytes = |part: u64| [part as f64];
    let figures = vec![
        figure("held", "updates with a held snapshot", Unit::PerSecond, &warm(held)),
        figure("free", "updates without", Unit::PerSecond, &warm(free)),
        ratio.clone(),
        figure("held.retained", "kept for the snapshot at last", Unit::Bytes, &bytes(last(held)[2])),
        figure("held.records", "records at last, with", Unit::Bytes, &bytes(last(held)[1])),
        figure("free.records", "records at last, without", Unit::Bytes, &bytes(last(free)[1])),
        figure(
            "resident",
            "all memory of the process",
            Unit::Bytes,
            &resident.iter().map(|at| *at as f64).collect::<Vec<_>>(),
        ),
    ];
    let rows = (1..=MOMENTS).map(|moment| {
        let (end, length) = ((SLICES * moment / MOMENTS) as usize, (SLICES / MOMENTS) as usize);
        let slices = end - length..end;
        let median = |samples: &[f64]| Figure::new("", "", Unit::PerSecond, samples);
        let both = held.rates[slices.clone()].iter().zip(&free.rates[slices.clone()]);
        let ratios: Vec<f64> = both.map(|(held, free)| held / free).collect();
        let (with, without) = (held.memory[end - 1], free.memory[end - 1]);
        vec![
            time(work.plan.held_time * moment / MOMENTS),
            median(&held.rates[slices.clone()]).value_text(),
            median(&free.rates[slices]).value_text(),
            format!("{:.2}", median(&ratios).value),
            size(with[2]),
            size(with[1]),
            size(without[1]),
            size(resident[end - 1]),
        ]
    });
    let of_graph = size(last(held)[0]);
    Told {
        rows: rows.collect(),
        columns: vec![
            "after",
            "updates, held",
            "without",
            "ratio",
            "kept for it",
            "records, held",
            "without",
            "process",
        ],
        section: Section {
            title: format!(
                "Updates beside a held snapshot: {} vertices, {} edges, 1 thread",
                count(held.vertices.into()),
                count(u64::from(held.vertices * EDGES_PER_VERTEX))
            ),
            figures,
            notes: vec![
                format!("with a held snapshot / without, slice by slice: {}", ratio.range_text()),
                format!("each database has {of_graph} of graph; times are of updates, of each of the two"),
                "an update sets a property of a random vertex or edge, one a transaction; mode `none`"
                    .to_owned(),
                "memory of the process is that of both databases, and of what was measured before".to_owned(),
            ],
        },
    }
}

impl Side {
    fn load(work: &Work<'_>, name: &str) -> Result<Self> {
        let options = Options { durability: Durability::None, ..Options::default() };
        let database = Database::open_with(work.folder.join(name), &options)?;
        let vertices = work.plan.nodes;
        let numbers = |rows: usize| {
            let mut column = PackedColumnBuilder::default();
            (0..rows).for_each(|row| column.push_i64(row as i64));
            column.finish()
        };
        let weight = || vec![("weight".to_owned(), ValueType::I64)];
        let block = VertexBlock { rows: vertices as usize, columns: vec![numbers(vertices as usize)] };
        let pairs: Vec<(u32, u32)> = (0..vertices)
            .flat_map(|vertex| (1..=EDGES_PER_VERTEX).map(move |step| (vertex, (vertex + step) % vertices)))
            .collect();
        let blocks = pairs.chunks(BLOCK_ROWS).map(|pairs| EdgeBlock {
            columns: vec![numbers(pairs.len())],
            ..EdgeBlock::bare(pairs.iter().copied())
        });
        let load = Load {
            vertices: vec![VertexTable::new("Vertex", weight(), vec![block])],
            edges: vec![EdgeTable::new("EDGE", 0, 0, weight(), blocks.collect())],
        };
        let loaded = database.load(&load, &|_| (), work.cancel)?;
        let (edge_type, weight) = database.transact(|tx| {
            let tx = tx.by_id();
            Ok((tx.edge_type("EDGE")?, tx.key("weight")?))
        })?;
        Ok(Self {
            database,
            first: loaded.first_vertices.first().map_or(0, |vertex| vertex.0),
            vertices,
            edge_type,
            weight,
            random: Random::new(work.plan.seed, PURPOSE, 0),
            rates: Vec::new(),
            memory: Vec::new(),
        })
    }

    fn update(&mut self, time: Duration) -> Result<()> {
        let Self { database, first, vertices, edge_type, weight, .. } = self;
        let (first, vertices, edge_type, weight) = (*first, *vertices, *edge_type, *weight);
        let run = clients::run(std::slice::from_mut(&mut self.random), time, |random| {
            let row = random.below(vertices.into()) as u32;
            let source = VertexId(first + row);
            let value = Some(Value::I64(random.below(1000) as i64));
            let step = random.below(u64::from(2 * EDGES_PER_VERTEX)) as u32;
            let set = |tx: &mut TransactionById| match step.checked_sub(EDGES_PER_VERTEX) {
                None => {
                    let target = VertexId(first + (row + 1 + step) % vertices);
                    let edge = EdgeId { source, edge_type, target, discriminator: 0 };
                    tx.set_edge_property(edge, weight, value.clone())
                }
                Some(_) => tx.set_vertex_property(source, weight, value.clone()),
            };
            transact(database, Isolation::Snapshot, set).map(|done| done.1)
        })?;
        self.rates.push(run.rate());
        let engine = self.database.store().statistics().engine;
        let graph = engine.topology_bytes + engine.property_bytes;
        self.memory.push([graph, engine.record_bytes, engine.retained_bytes]);
        Ok(())
    }

    /// The sum of what vertices and edges have in `snapshot`.
    fn sum(&self, snapshot: &Snapshot) -> Result<i64> {
        let ids: Vec<VertexId> = (self.first..self.first + self.vertices).map(VertexId).collect();
        let mut column = Column::new(ValueType::I64);
        snapshot.vertex_properties(&ids, self.weight, &mut column)?;
        let (mut cursor, mut edges) = (EdgeCursor::default(), Vec::new());
        while !cursor.done {
            snapshot.scan_edges(None, &mut cursor, BLOCK_ROWS, &mut edges)?;
        }
        snapshot.edge_properties(&edges, self.weight, &mut column)?;
        Ok((0..column.len()).filter_map(|row| column.get(row)?.as_i64()).sum())
    }
}
