//! SNB: LDBC's complex reads IC1 to IC4 and short reads IS1 to IS4 on clusters, without indexes and with, beside a single store with
//! the same graph.
//!
//! ```text
//! LDBC's files ── transactions ──> clusters of 1, 2, 4 nodes        asked at the first node, by stages that travel
//!              └─ transactions ──> a single store in memory
//!
//! latency      one client, all parameters in turn, again and again         throughput    several clients
//! ```
//!
//! Every answer is that of plain loops over the same files, row by row and in order, before anything is timed. Dates are whole numbers.
//!
//! Source: G-Tran (PVLDB 15, 2022), table 6.

use crate::goals::baseline;
use crate::plan::{Work, expect};
use crate::race::Race;
use crate::results::Heading;
use crate::workload::cluster::running::log_servers::LogServers;
use crate::workload::cluster::running::open_nodes::OpenNodes;
use crate::workload::cluster::shape_writer::in_turn;
use crate::workload::cluster::site_plan;
use crate::workload::interactive::by_hand::{self, Dates, Row};
use crate::workload::interactive::network::Network;
use crate::workload::interactive::parameters::{Parameters, Sets};
use crate::workload::interactive::texts::{self, Read};
use crate::workload::interactive::{ldbc_files, row};
use crate::workload::property_graph::{Column, PropertyGraph, Uniqueness};
use crate::workload::queries::{ROWS, limits};
use evergraph::{Database, Freshness, IndexOptions, Item, Value, VertexId};
use evergraph_graph::error::{Error, Result};
use evergraph_measure::clients;
use evergraph_measure::figure::Unit;
use std::time::{Duration, Instant};

const OURS: &str = "evergraph";
/// Short reads from the fifth on are not in the paper's table.
const READS: [&str; 8] = ["ic_1", "ic_2", "ic_3", "ic_4", "is_1", "is_2", "is_3", "is_4"];
/// Clients whose throughput is measured.
const CLIENTS: usize = 8;
/// Vertices of a transaction that writes them.
const VERTICES: usize = 64;
/// Edges of one.
const EDGES: usize = 200;

/// Both with the same graph.
struct Graphs {
    cluster: OpenNodes,
    store: Database,
    nodes: usize,
}

/// Whether ids at which queries begin are indexed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indexes {
    With,
    Without,
}

/// Measures each read on each size of a cluster that the plan has.
///
/// # Errors
/// `corrupt` for an answer that is not that of the loops; as of the part.
pub fn measure(work: &mut Work<'_>, servers: &LogServers) -> Result<()> {
    let Some(folder) = work.plan.interactive.clone() else {
        let text = "left out: snb, since --interactive names no folder of LDBC's interactive workload";
        eprintln!("{text}");
        work.note(text);
        return Ok(());
    };
    let files = folder.join("graph");
    let network = Network::read(&files)?;
    let sets = Sets::new(&folder.join("substitution_parameters"), &network, work.plan.seed)?;
    let reads: Vec<Read> =
        texts::reads(&sets).into_iter().filter(|read| READS.contains(&read.name)).collect();
    let graph = ldbc_files::read(&files)?;
    let plan = work.plan.cluster.clone();
    for nodes in plan.nodes.iter().map(|nodes| usize::from(*nodes)) {
        let folder = work.folder_for("snb")?;
        let cluster = OpenNodes::create(servers, &folder.path().join("cluster"), site_plan(&plan, nodes))?;
        let graphs = Graphs { cluster, store: Database::in_memory()?, nodes };
        for database in graphs.both() {
            write(database, &graph)?;
        }
        for indexes in [Indexes::Without, Indexes::With] {
            if indexes == Indexes::With {
                graphs.both().into_iter().try_for_each(|database| index(database, &graph))?;
            }
            graphs.see_everything();
            for read in &reads {
                compare(&graphs, &network, read)?;
                one(work, &graphs, read, indexes)?;
            }
        }
    }
    let (vertices, edges) = graph.counts();
    work.note(format!(
        "snb: {vertices} vertices, {edges} edges of LDBC's generator, written by transactions, dates as whole numbers; no LDBC benchmark \
         result; asked at the first node; the single store is in memory; a time is the mean over {} parameters of one client, a rate that of \
         {CLIENTS} clients, {:?} a run each; every answer is that of plain loops, row by row and in order",
        reads.first().map_or(0, |read| read.parameters.len()),
        run_time(work)
    ));
    Ok(())
}

fn run_time(work: &Work<'_>) -> Duration {
    work.plan.cluster.run_time / 10
}

impl Graphs {
    /// The first node of the cluster, and the single store.
    fn both(&self) -> [&Database; 2] {
        [&self.cluster.databases[0], &self.store]
    }

    /// Every node has applied what was written.
    fn see_everything(&self) {
        self.cluster.databases.iter().for_each(|database| drop(database.snapshot_with(Freshness::Fresh)));
    }
}

/// Writes a graph by transactions, without indexes.
fn write(database: &Database, graph: &PropertyGraph) -> Result<()> {
    let mut vertices: Vec<Vec<VertexId>> = Vec::new();
    for table in &graph.vertices {
        let rows: Vec<usize> = (0..table.rows).collect();
        vertices.push(in_turn(&rows, VERTICES, |rows| {
            database.transact(|transaction| {
                let add = |at: &usize| transaction.add_vertex(&table.label, &properties(&table.columns, *at));
                rows.iter().map(add).collect()
            })
        })?);
    }
    for table in &graph.edges {
        let rows: Vec<usize> = (0..table.ends.len()).collect();
        in_turn(&rows, EDGES, |rows| {
            database.transact(|transaction| {
                let add = |at: &usize| {
                    let (source, target) = table.ends[*at];
                    let source = vertices[table.source][source as usize];
                    let target = vertices[table.target][target as usize];
                    transaction.add_edge(source, &table.edge_type, target, &properties(&table.columns, *at))
                };
                rows.iter().map(add).collect()
            })
        })?;
    }
    Ok(())
}

fn properties(columns: &[Column], row: usize) -> Vec<(&str, Value)> {
    columns.iter().filter_map(|column| Some((column.key.as_str(), column.values[row].clone()?))).collect()
}

fn index(database: &Database, graph: &PropertyGraph) -> Result<()> {
    for (label, key, uniqueness) in &graph.indexed.vertices {
        let index = IndexOptions::on_label(label, key);
        database.create_index(&if *uniqueness == Uniqueness::Unique { index.unique() } else { index })?;
    }
    Ok(())
}

/// Compares all answers with those of the loops.
fn compare(graphs: &Graphs, network: &Network, read: &Read) -> Result<()> {
    for parameters in &read.parameters {
        let expected = by_hand::answer(network, read.name, parameters, Dates::Milliseconds);
        for (whose, database) in ["a cluster", "a single store"].into_iter().zip(graphs.both()) {
            let found: Vec<Row> = ask(database, read, parameters)?.iter().map(row).collect();
            expect(OURS, &format!("{} of {parameters:?} on {whose}", read.title), &found, &expected)?;
        }
    }
    Ok(())
}

/// The rows of a read, whose moments are whole numbers as in the graph.
fn ask(database: &Database, read: &Read, parameters: &Parameters) -> Result<Vec<Item>> {
    let query = database.gremlin(read.text).limits(limits(ROWS));
    let whole = |value: &Value| match value {
        Value::DateTime(moment) => moment.epoch_milliseconds().into(),
        value => value.clone(),
    };
    parameters.iter().fold(query, |query, (name, value)| query.bind(name, whole(value))).items()
}

fn one(work: &mut Work<'_>, graphs: &Graphs, read: &Read, indexes: Indexes) -> Result<()> {
    if read.parameters.is_empty() {
        return Err(Error::invalid(format!("{} has no parameters", read.title)));
    }
    let time = run_time(work);
    let [mut times, mut rates] = [(); 2].map(|()| Race::new([OURS, baseline::ONE_STORE]));
    for _ in 0..work.plan.rounds {
        let (mut seconds, mut per_second) = ([0.0; 2], [0.0; 2]);
        for (place, database) in graphs.both().into_iter().enumerate() {
            let (began, mut asked) = (Instant::now(), 0);
            while asked == 0 || began.elapsed() < time {
                read.parameters
                    .iter()
                    .try_for_each(|parameters| ask(database, read, parameters).map(drop))?;
                asked += read.parameters.len();
            }
            seconds[place] = began.elapsed().as_secs_f64() / asked as f64;
            let mut turns: Vec<usize> = (0..CLIENTS).collect();
            let run = clients::run(&mut turns, time, |turn| {
                *turn += 1;
                ask(database, read, &read.parameters[*turn % read.parameters.len()]).map(|_| 1)
            })?;
            per_second[place] = run.rate();
        }
        times.note(&seconds);
        rates.note(&per_second);
    }
    let Graphs { nodes, .. } = graphs;
    let (name, words) = match indexes {
        Indexes::With => ("indexed", "with indexes"),
        Indexes::Without => ("plain", "without indexes"),
    };
    let node_word = if *nodes == 1 { "node" } else { "nodes" };
    let title = format!("{}, {nodes} {node_word}, {words}", read.title);
    let figure = format!("cluster.snb.{}.nodes_{nodes}.{name}", read.name);
    work.add_race(&Heading::new(format!("{figure}.time"), format!("{title}: time"), Unit::Seconds), &times);
    let title = format!("{title}: {CLIENTS} clients");
    work.add_race(&Heading::new(format!("{figure}.rate"), title, Unit::PerSecond), &rates);
    Ok(())
}
