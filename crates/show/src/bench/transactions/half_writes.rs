//! Half writes: transactions that read a neighbourhood, and one in two changes what it read.
//!
//! ```text
//! read    a vertex by Zipf: up to 64 neighbours, the balance of each
//! write   the same, then its own balance from theirs, and an edge to one more vertex by Zipf
//! ```
//!
//! A writer depends on up to 65 balances and a list, and changes one of each: what isolation by snapshots
//! lets pass, and serialisable refuses. The graph is R-MAT, so that lists are skewed as well. Low
//! contention draws vertices with weight 1/sqrt(rank) among many, high with 1/rank among few.

use crate::bench::section::Section;
use crate::bench::transactions::contest::{Contest, THREADS};
use crate::bench::transactions::plan::Work;
use crate::bench::transactions::told::Told;
use evergraph::generate::random::Random;
use evergraph::generate::rmat::{self, RmatOptions};
use evergraph::generate::zipf::{Skew, Zipf};
use evergraph::transaction::TransactionById;
use evergraph::{Database, Durability, Isolation, Options};
use evergraph_graph::column::Column;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, KeyId, TypeId, VertexId};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor};
use evergraph_measure::clients::{self, transact};
use evergraph_terminal::number::count;
use std::hint::black_box;

const PURPOSE: u64 = 301;
const NEIGHBORS_MAX: usize = 64;
/// Vertices that get their balance in one transaction.
const BATCH: usize = 10_000;

/// A graph, who works on it, and the contests.
struct Arena {
    database: Database,
    bank: Bank,
    clients: Vec<Random>,
    contests: Vec<Contest>,
    vertices: u32,
    edges: u64,
}

/// What a transaction needs to know.
struct Bank {
    first: u32,
    ranks: Zipf,
    /// The vertex of each rank.
    order: Vec<u32>,
    edge_type: TypeId,
    balance: KeyId,
}

/// Measures both contentions.
///
/// # Errors
/// `cancelled`; what reading and writing meet.
pub fn measure(work: &Work<'_>) -> Result<Told> {
    let scale = |vertices: u32| vertices.next_power_of_two().trailing_zeros();
    let mut arenas = [
        Arena::open(work, "low", scale(work.plan.nodes), Skew::Mild)?,
        Arena::open(work, "high", scale(work.plan.hot_nodes), Skew::Strong)?,
    ];
    let meter = work.console.meter();
    for round in 0..work.plan.rounds {
        for Arena { database, bank, clients, contests, .. } in &mut arenas {
            work.round(&meter, "half writes", round)?;
            for contest in contests {
                let threads = contest.threads();
                contest.round(round, |isolation| {
                    let step = |random: &mut Random| bank.step(database, isolation, random);
                    clients::run(&mut clients[..threads], work.plan.run_time, step)
                })?;
            }
        }
    }
    let told =
        |arena: &Arena| format!("{} vertices, {} edges", count(arena.vertices.into()), count(arena.edges));
    let (low, high) = (told(&arenas[0]), told(&arenas[1]));
    let contests = arenas.iter().flat_map(|arena| &arena.contests);
    let (rows, figures): (Vec<_>, Vec<Vec<_>>) =
        contests.map(|contest| (contest.row(), contest.figures())).unzip();
    for arena in arenas {
        arena.database.close()?;
    }
    Ok(Told {
        section: Section {
            title: "Half writes on a skewed graph: a neighbourhood read, one in two changes it".to_owned(),
            figures: figures.into_iter().flatten().collect(),
            notes: vec![
                format!("low contention: {low}, drawn with weight 1/sqrt(rank)"),
                format!("high contention: {high}, drawn with weight 1/rank; mode `none`"),
                "snapshot isolation commits what serialisable refuses here: the rates buy different things"
                    .to_owned(),
                "with more threads than cores a transaction is often put aside, and overtaken meanwhile"
                    .to_owned(),
            ],
        },
        columns: Contest::COLUMNS.to_vec(),
        rows,
    })
}

impl Arena {
    fn open(work: &Work<'_>, contention: &str, scale: u32, skew: Skew) -> Result<Self> {
        let name = format!("half_writes.{contention}");
        let options = Options { durability: Durability::None, ..Options::default() };
        let database = Database::open_with(work.folder.join(&name), &options)?;
        let load = rmat::generate(&RmatOptions::new(scale, work.plan.seed))?;
        let (vertices, edges) = (1 << scale, load.edges_count());
        let first = database.load(&load, &|_| (), work.cancel)?.first_vertices;
        let first = first.first().map_or(0, |vertex| vertex.0);
        let ids: Vec<u32> = (first..first + vertices).collect();
        for batch in ids.chunks(BATCH) {
            database.transact(|tx| {
                let tx = tx.by_id();
                let balance = tx.key("balance")?;
                let set = |id: &u32| tx.set_vertex_property(VertexId(*id), balance, Some(Value::I64(100)));
                batch.iter().try_for_each(set)
            })?;
        }
        database.store().engine().merge_everything();
        let (edge_type, balance) = database.transact(|tx| {
            let tx = tx.by_id();
            Ok((tx.edge_type("EDGE")?, tx.key("balance")?))
        })?;
        let most = THREADS.into_iter().max().unwrap_or(1) as u64;
        let title = format!("{contention} contention");
        Ok(Self {
            database,
            bank: Bank {
                first,
                ranks: Zipf::new(vertices, skew),
                order: Random::new(work.plan.seed, PURPOSE, 0).permutation(vertices),
                edge_type,
                balance,
            },
            clients: (1..=most).map(|client| Random::new(work.plan.seed, PURPOSE, client)).collect(),
            contests: THREADS.iter().map(|threads| Contest::new(&name, &title, *threads)).collect(),
            vertices,
            edges,
        })
    }
}

impl Bank {
    fn draw(&self, random: &mut Random) -> VertexId {
        VertexId(self.first + self.order[self.ranks.draw(random) as usize])
    }

    /// A transaction until it commits; how many attempts that took.
    fn step(&self, database: &Database, isolation: Isolation, random: &mut Random) -> Result<u64> {
        let (vertex, writes) = (self.draw(random), random.below(2) == 1);
        let other = self.draw(random);
        let (_, attempts) = transact(database, isolation, |tx| {
            let sum = self.sum_around(tx, vertex)?;
            if writes {
                tx.set_vertex_property(vertex, self.balance, Some(Value::I64(sum % 1000)))?;
                tx.add_edge(vertex, self.edge_type, other, &[])?;
            } else {
                black_box(sum);
            }
            Ok(())
        })?;
        Ok(attempts)
    }

    /// The balances of a vertex and of its first neighbours.
    fn sum_around(&self, tx: &TransactionById, vertex: VertexId) -> Result<i64> {
        let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
        let types = [self.edge_type];
        tx.neighbors(&[vertex], Some(&types), Direction::Out, &mut cursor, NEIGHBORS_MAX, &mut batch)?;
        batch.neighbors.push(vertex);
        let mut balances = Column::new(ValueType::I64);
        tx.vertex_properties(&batch.neighbors, self.balance, &mut balances)?;
        Ok((0..balances.len()).filter_map(|row| balances.get(row)?.as_i64()).sum())
    }
}
