//! Load: what the log's servers take of memory and disk while clients of all nodes commit for a long time.
//!
//! ```text
//! clients ── one edge each ──> nodes ──> the log, trimmed behind their checkpoints
//!                                        └── memory, files: looked at all the time; the most of each minute counts
//! ```
//!
//! A minute shows that it works, an hour whether anything grows: `--cluster-load-minutes 60`.

use crate::plan::Work;
use crate::results::Heading;
use crate::workload::cluster::running::log_servers::LogServers;
use crate::workload::cluster::running::streams::StreamKind;
use crate::workload::cluster::start_processes;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::figure::Unit;
use std::thread;
use std::time::{Duration, Instant};

/// A run may use so many pairs of vertices that it takes no longer.
const RUN_MAX: Duration = Duration::from_secs(60);
/// How often servers are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Measures the load on `servers`.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>, servers: &LogServers) -> Result<()> {
    let folder = work.folder_for("load")?;
    let plan = work.plan.cluster.clone();
    let nodes = plan.running_nodes;
    let mut cluster = start_processes(work, servers, folder.path(), work.plan.cluster.running_nodes)?;
    let of_node = |node: usize| plan.load_clients / nodes + usize::from(node < plan.load_clients % nodes);
    let (mut rates, mut memory, mut files) = (Vec::new(), Vec::new(), Vec::new());
    let mut left = plan.load_time;
    while !left.is_zero() {
        let time = left.min(RUN_MAX);
        left -= time;
        let (began, mut most) = (Instant::now(), [0; 2]);
        let reports = cluster.run(&[StreamKind::Edges], of_node, time, || {
            loop {
                let bytes = servers.bytes();
                most = [most[0].max(bytes[0]), most[1].max(bytes[1])];
                if began.elapsed() >= time {
                    return Ok(());
                }
                thread::sleep(LOOK_EVERY.min(time));
            }
        })?;
        let done: usize = reports.iter().map(|report| report.done()).sum();
        if done == 0 {
            let text = format!("{} clients committed nothing in {time:?}", plan.load_clients);
            return Err(Error::new(ErrorKind::Io, text));
        }
        rates.push(done as f64 / time.as_secs_f64());
        memory.push(most[0] as f64);
        files.push(most[1] as f64);
        eprintln!(
            "{} of load left; {done} transactions in the last {time:?}; {} has {} MiB of memory and {} MiB of files",
            minutes(left),
            servers.engine().name(),
            most[0] >> 20,
            most[1] >> 20
        );
    }
    let of = |name: &str, title: &str, unit| {
        Heading::new(servers.figure(&format!("load.{name}")), servers.title(title), unit)
            .with("clients", plan.load_clients)
            .with("a value for each", minutes(plan.load_time.min(RUN_MAX)))
    };
    work.add(&of("rate", "transactions of one edge while the log is under load", Unit::PerSecond), &rates);
    work.add(&of("memory", "the most memory of all servers of the log together", Unit::Bytes), &memory);
    work.add(&of("files", "the most bytes of all their files together", Unit::Bytes), &files);
    work.note(format!(
        "load, on {}: {} clients on {nodes} nodes for {}; memory and files are those of {}",
        servers.engine().name(),
        plan.load_clients,
        minutes(plan.load_time),
        servers.description()
    ));
    cluster.check()
}

fn minutes(time: Duration) -> String {
    format!("{:.1} minutes", time.as_secs_f64() / 60.0)
}
