//! Sizes: what the log has of a transaction: keys that it checks, keys that it touches, bytes; of each writing query of the
//! micro-benchmarks, at both levels.
//!
//! ```text
//! client ── Q2 to Q7, Q16 to Q21, one after the other ──> node ──> log ──> read beside the node: checks, touches, bytes
//! ```
//!
//! At snapshot isolation a transaction checks what it writes; at the serialisable level also what it has read. Queries that only read
//! are snapshots: nothing of them is in the log, at either level.
//!
//! Source: G-Tran (PVLDB 15, 2022), figure 10: sizes of read and write sets. Differs: what is counted are hashes in records.

use crate::plan::Work;
use crate::results::Heading;
use crate::workload::cluster::mix::{LEVELS, MixedCluster};
use crate::workload::cluster::running::log_servers::LogServers;
use crate::workload::cluster::running::log_tail::{LogTail, TransactionSize};
use crate::workload::cluster::running::open_nodes::OpenNodes;
use crate::workload::cluster::site_plan;
use crate::workload::lbv::client::{Client, Workload};
use crate::workload::lbv::graph::Shape;
use evergraph::{Database, Isolation, TransactionOptions};
use evergraph_cluster::log_position::LogPosition;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_measure::figure::Unit;
use std::time::{Duration, Instant};

/// Queries that write, those last that drop what others are about.
const QUERIES: [u8; 12] = [2, 3, 4, 5, 6, 7, 16, 17, 20, 21, 19, 18];
/// A figure of a size.
type FigureOf = fn(&TransactionSize) -> usize;
const FIGURES: [(&str, &str, Unit, FigureOf); 3] = [
    ("checks", "keys checked", Unit::Number, |size| size.checks),
    ("touches", "keys touched", Unit::Number, |size| size.touches),
    ("bytes", "bytes in the log", Unit::Bytes, |size| size.bytes),
];

/// Measures both graphs on one node: sizes are the same on more.
///
/// # Errors
/// As of the part; `invalid` if a query wrote nothing at all.
pub fn measure(work: &mut Work<'_>, servers: &LogServers) -> Result<()> {
    let (plan, scale) = (work.plan.cluster.clone(), work.plan.cluster.mix_scale);
    let shapes = [
        ("rmat", Shape::of_rmat_with(work.plan, scale)?),
        ("network", Shape::of_drawn_network(work.plan, scale)?),
    ];
    for (graph, shape) in &shapes {
        let folder = work.folder_for("sizes")?;
        let open = OpenNodes::create(servers, &folder.path().join("cluster"), site_plan(&plan, 1))?;
        let tail = LogTail::start(servers, open.log_key())?;
        let mut cluster = MixedCluster::load(open, shape, work)?;
        for query in QUERIES {
            for isolation in LEVELS {
                let sizes = sizes(&mut cluster, &tail, (query, isolation), plan.run_time / 10)?;
                for (figure, words, unit, of) in FIGURES {
                    let level = isolation.name();
                    let name = format!("cluster.sizes.{graph}.q_{query}.{level}.{figure}");
                    let values: Vec<f64> = sizes.iter().map(|size| of(size) as f64).collect();
                    let mean = values.iter().sum::<f64>() / values.len() as f64;
                    let heading = Heading::new(name, format!("{graph}, Q{query}, {level}: {words}"), unit)
                        .with("transactions", values.len())
                        .with("mean", format!("{mean:.1}"));
                    work.add(&heading, &values);
                }
            }
        }
        cluster.check(0)?;
        work.note(format!("sizes, {graph}: {}", shape.title()));
    }
    work.note(format!(
        "sizes: one client at one node, {:?} for each query at each level; the median of its transactions, from the smallest to the \
         largest; keys are hashes of subjects, ranges and entries of ordered indexes, as the record has them; bytes are those of the record \
         without its head; transactions that found nothing to write are left out: they have no record",
        plan.run_time / 10
    ));
    Ok(())
}

/// Sizes of the transactions of a query, which a client asks again and again.
fn sizes(
    cluster: &mut MixedCluster,
    tail: &LogTail,
    (query, isolation): (u8, Isolation),
    time: Duration,
) -> Result<Vec<TransactionSize>> {
    let (database, client) = (&cluster.nodes.databases[0], &mut cluster.clients[0].client);
    let workload = Workload::new(&cluster.written, 0, isolation);
    let (began, mut committed) = (Instant::now(), Vec::new());
    while committed.is_empty() || began.elapsed() < time {
        committed.push(commit(database, client, &workload, (query, isolation))?);
    }
    let last = committed.iter().max().copied().map_or(LogPosition::START, LogPosition::of);
    tail.wait_for(last)?;
    let sizes: Vec<TransactionSize> =
        committed.iter().filter_map(|timestamp| tail.size(*timestamp)).collect();
    if sizes.is_empty() {
        return Err(Error::invalid(format!("Q{query} wrote nothing in {} transactions", committed.len())));
    }
    Ok(sizes)
}

/// One transaction; its timestamp.
fn commit(
    database: &Database,
    client: &mut Client,
    workload: &Workload<'_>,
    (query, isolation): (u8, Isolation),
) -> Result<Timestamp> {
    let mut timestamp = Timestamp::ZERO;
    client.ask(query, database, workload, |body| {
        let options = TransactionOptions::default().isolation(isolation);
        database.retrying(options, |mut transaction| {
            body(&mut transaction)?;
            timestamp = transaction.commit()?.timestamp;
            Ok(())
        })
    })?;
    Ok(timestamp)
}
