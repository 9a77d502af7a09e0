//! Loss: how long clients of the other nodes wait for an answer after a node, or the server that leads the log, is killed.
//!
//! ```text
//! reads      the out-edges of a vertex, anywhere                 gap: from an answer to the next one of the same client,
//! commits    a transaction that reads nothing                         the longest of the run, at nodes that stay
//! edges      a transaction of one edge, which reads its ends
//! counts     a query that runs on all nodes
//!                       ┌ kill -9, a third into the run
//! ──────────────────────┴──────────────────────────────── beside it: as long a run without a loss
//! ```

use crate::goals::baseline;
use crate::plan::Work;
use crate::race::Race;
use crate::results::Heading;
use crate::workload::cluster::running::log_servers::LogServers;
use crate::workload::cluster::running::streams::{StreamKind, StreamReport};
use crate::workload::cluster::start_processes;
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit;
use std::thread;

const OURS: &str = "evergraph";
const KINDS: [(StreamKind, &str, &str); 4] = [
    (StreamKind::Reads, "reads", "the out-edges of a vertex"),
    (StreamKind::Vertices, "commits", "commits of a vertex"),
    (StreamKind::Edges, "edges", "transactions of one edge"),
    (StreamKind::Counts, "counts", "counts of all vertices"),
];
/// The node that is lost.
const LOST: usize = 0;
/// A loss comes after this part of a run, which is long enough for all that waits for it.
const LOSS_AFTER: u32 = 3;

/// Measures both losses.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>, servers: &mut LogServers) -> Result<()> {
    let folder = work.folder_for("loss")?;
    let plan = work.plan.cluster.clone();
    let (nodes, time) = (plan.running_nodes, plan.run_time * servers.loss_run_factor());
    let mut cluster = start_processes(work, servers, folder.path(), work.plan.cluster.running_nodes)?;
    let (log_key, kinds) = (cluster.log_key().to_owned(), KINDS.map(|(kind, ..)| kind));
    // One client of each kind at each node that stays.
    let staying = |node: usize| usize::from(node != LOST);
    cluster.run(&kinds, staying, plan.run_time, || Ok(()))?;
    let mut races = [(); 2 * KINDS.len()].map(|()| Race::new([OURS, baseline::WITHOUT]));
    let mut failures = [[0; 2]; 2];
    for _ in 0..work.plan.rounds {
        let quiet = cluster.run(&kinds, staying, time, || Ok(()))?;
        let mut node = cluster.take(LOST)?;
        let of_node = cluster.run(&kinds, staying, time, || {
            thread::sleep(time / LOSS_AFTER);
            node.kill()
        })?;
        cluster.start_again(LOST, 0)?;
        let mut leader = None;
        let of_leader = cluster.run(&kinds, staying, time, || {
            thread::sleep(time / LOSS_AFTER);
            leader = Some(servers.kill_leader(&log_key)?);
            Ok(())
        })?;
        leader.into_iter().try_for_each(|server| servers.start_again(server))?;
        for (loss, reports) in [&of_node, &of_leader].into_iter().enumerate() {
            for (kind, (report, quiet)) in reports.iter().zip(&quiet).enumerate() {
                let gap = |report: &StreamReport| f64::from(report.gap_us) / 1e6;
                races[KINDS.len() * loss + kind].note(&[gap(report), gap(quiet)]);
                failures[loss][0] += report.failed;
                failures[loss][1] += report.unknown;
            }
        }
    }
    let of_leader = format!("the leader of {} is lost", servers.engine().name());
    let losses = [("node", "a node is lost"), ("leader", of_leader.as_str())];
    for (loss, (name, what)) in losses.into_iter().enumerate() {
        for (kind, (_, of, title)) in KINDS.into_iter().enumerate() {
            let title = format!("the longest time without an answer, {title}, while {what}");
            let figure = servers.figure(&format!("loss.{name}.{of}"));
            let heading = Heading::new(figure, servers.title(&title), Unit::Seconds);
            work.add_race(&heading, &races[KINDS.len() * loss + kind]);
        }
        let [failed, unknown] = failures[loss];
        work.note(format!(
            "loss, on {}: while {what}, over all rounds {failed} attempts failed and ran again, and {unknown} commits stayed unknown",
            servers.engine().name()
        ));
    }
    work.note(format!(
        "loss, on {}: {nodes} nodes, processes of this machine; one client of each kind at each node that stays; a run takes {time:?}, the \
         process is killed (kill -9) a third into it; the longest of all clients",
        servers.engine().name()
    ));
    cluster.check()
}
