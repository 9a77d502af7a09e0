//! Hub appends: threads that append edges to one vertex, beside as many that have a vertex each.
//!
//! ```text
//! hub        client 0, 1, ... 7 ──> vertex 0
//! distinct   client c           ──> vertex 4096 (c + 1), in a group of its own
//! ```
//!
//! All of these vertices are hubs from the start, with as many edges each, and each new edge has another
//! target, far from the one before: what differs is whether threads meet.

use crate::bench::section::Section;
use crate::bench::transactions::contest::THREADS;
use crate::bench::transactions::plan::Work;
use crate::bench::transactions::told::Told;
use evergraph::transaction::TransactionById;
use evergraph::{Database, Durability, Isolation, Options};
use evergraph_graph::error::Result;
use evergraph_graph::id::{GROUP_SIZE, TypeId, VertexId};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::transaction::Transaction as _;
use evergraph_measure::clients::{self, Run, transact};
use evergraph_measure::figure::{Figure, Unit};
use evergraph_terminal::number::count;
use std::sync::atomic::{AtomicU32, Ordering};

/// Vertices: enough that a hub meets no target twice before it has a million edges.
const VERTICES: u32 = 1 << 20;
/// Targets come in steps of this, so that neighbours in time are in other groups: odd, so that every
/// vertex comes up once.
const STEP: u32 = 0x9e37_79b1;
/// A vertex with so many edges has a segment of its own.
const EDGES: u32 = 1 << 17;

/// A vertex that edges are appended to.
struct Source {
    vertex: VertexId,
    /// Edges so far, of which the next one's target follows. Relaxed: it only keeps targets apart.
    edges: AtomicU32,
}

/// Both ways on so many threads.
struct Ways {
    threads: usize,
    hub: Vec<Run>,
    distinct: Vec<Run>,
}

/// Measures both ways.
///
/// # Errors
/// `cancelled`; what writing meets.
pub fn measure(work: &Work<'_>) -> Result<Told> {
    let clients = THREADS.into_iter().max().unwrap_or(1);
    let edges = EDGES.min(work.plan.hub_edges);
    let options = Options { durability: Durability::None, ..Options::default() };
    let database = Database::open_with(work.folder.join("hub-appends"), &options)?;
    let (sources, edge_type, first) = load(&database, clients as u32 + 1, edges, work)?;
    let (hub, distinct) = sources.split_first().expect("there is one more than clients");
    let mut ways: Vec<Ways> = THREADS
        .iter()
        .map(|threads| Ways { threads: *threads, hub: Vec::new(), distinct: Vec::new() })
        .collect();
    let append = |source: &Source| {
        let number = source.edges.fetch_add(1, Ordering::Relaxed);
        let target = target(first, number);
        let add = |tx: &mut TransactionById| tx.add_edge(source.vertex, edge_type, target, &[]).map(drop);
        transact(&database, Isolation::Snapshot, add).map(|done| done.1)
    };
    let meter = work.console.meter();
    for round in 0..work.plan.rounds {
        work.round(&meter, "appends to a hub", round)?;
        for Ways { threads, hub: on_hub, distinct: on_distinct } in &mut ways {
            let mut numbers: Vec<usize> = (0..*threads).collect();
            for to_hub in if round % 2 == 0 { [true, false] } else { [false, true] } {
                let step = |client: &mut usize| append(if to_hub { hub } else { &distinct[*client] });
                let run = clients::run(&mut numbers, work.plan.run_time, step)?;
                if to_hub { &mut *on_hub } else { &mut *on_distinct }.push(run);
            }
        }
    }
    database.close()?;
    let (figures, rows): (Vec<_>, Vec<_>) = ways.iter().map(Ways::told).unzip();
    Ok(Told {
        section: Section {
            title: "Appending edges to one hub, and to a vertex a thread, an edge a transaction".to_owned(),
            figures: figures.into_iter().flatten().collect(),
            notes: vec![
                format!("each of these vertices has {} edges at first; mode `none`", count(edges.into())),
                format!(
                    "targets are spread over {} vertices; both directions are kept",
                    count(VERTICES.into())
                ),
                "the hub grows faster than the others, and its merges with it".to_owned(),
            ],
        },
        columns: vec!["", "to one hub", "aborted", "to a vertex a thread", "aborted", "hub / distinct"],
        rows,
    })
}

impl Ways {
    fn told(&self) -> (Vec<Figure>, Vec<String>) {
        let threads = self.threads;
        let title = format!("{threads} thread{}", if threads == 1 { "" } else { "s" });
        let figure = |what: &str, unit, samples: &[f64]| {
            let name = format!("hub_appends.threads_{threads}.{what}");
            Figure::new(name, title.clone(), unit, samples).with("threads", threads)
        };
        let of = |runs: &[Run], part: fn(&Run) -> f64| runs.iter().map(part).collect::<Vec<f64>>();
        let both = self.hub.iter().zip(&self.distinct);
        let ratios: Vec<f64> = both.map(|(hub, distinct)| hub.rate() / distinct.rate()).collect();
        let mut figures = vec![
            figure("hub", Unit::PerSecond, &of(&self.hub, Run::rate)),
            figure("hub.aborted", Unit::Share, &of(&self.hub, Run::aborted)),
            figure("distinct", Unit::PerSecond, &of(&self.distinct, Run::rate)),
            figure("distinct.aborted", Unit::Share, &of(&self.distinct, Run::aborted)),
        ];
        let mut row = vec![title.clone()];
        row.extend(figures.iter().map(Figure::value_text));
        let ratio = figure("ratio", Unit::Times, &ratios);
        row.push(ratio.range_text());
        figures.push(ratio);
        (figures, row)
    }
}

/// The target of edge `number` of any source.
fn target(first: u32, number: u32) -> VertexId {
    VertexId(first + number.wrapping_mul(STEP) % VERTICES)
}

/// Loads vertices, and the first edges of so many sources.
fn load(
    database: &Database,
    sources: u32,
    edges: u32,
    work: &Work<'_>,
) -> Result<(Vec<Source>, TypeId, u32)> {
    let pairs: Vec<(u32, u32)> = (0..sources)
        .flat_map(|source| (0..edges).map(move |edge| (source * GROUP_SIZE, target(0, edge).0)))
        .collect();
    let table = VertexTable::new("Vertex", Vec::new(), vec![VertexBlock::bare(VERTICES as usize)]);
    let blocks = pairs.chunks(BLOCK_ROWS).map(|pairs| EdgeBlock::bare(pairs.iter().copied()));
    let edge_table = EdgeTable::new("EDGE", 0, 0, Vec::new(), blocks.collect());
    let load = Load { vertices: vec![table], edges: vec![edge_table] };
    let loaded = database.load(&load, &|_| (), work.cancel)?;
    let first = loaded.first_vertices.first().map_or(0, |vertex| vertex.0);
    let edge_type = database.transact(|tx| tx.by_id().edge_type("EDGE"))?;
    let source =
        |number: u32| Source { vertex: VertexId(first + number * GROUP_SIZE), edges: AtomicU32::new(edges) };
    Ok(((0..sources).map(source).collect(), edge_type, first))
}
