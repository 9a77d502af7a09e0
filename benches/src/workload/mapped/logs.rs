//! Logs: the packed graph with section logs of several sizes, as in figure 9 of the paper.

use crate::plan::Work;
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::Stopwatch;
use crate::workload::mapped::packed;
use crate::workload::mapped::store::{Ending, RawCounts, RawOptions, Sides};
use crate::workload::mapped::{shuffled, split};
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit;

/// Measures time, use and space for each size.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let edges = shuffled(work.plan, work.plan.mapped.degree)?;
    let (warm, measured) = split(&edges);
    for log_bytes in work.plan.mapped.log_bytes.clone() {
        let options = RawOptions { log_bytes, ..RawOptions::new(work.plan, edges.len(), Sides::Out) };
        let mut race = Race::new([packed::COLUMN.name]).undisturbed();
        let (mut used, mut written, mut space) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..work.plan.rounds {
            race.round(round, |_| {
                let folder = work.folder_for("logs")?;
                let store = (packed::COLUMN.create)(folder.path(), &options)?;
                store.insert(warm)?;
                let before = store.counts();
                let watch = Stopwatch::start();
                // In parts, between which the use of the logs is looked up: it is an average over the insertions.
                let mut shares = Vec::new();
                for part in measured.chunks(measured.len().div_ceil(LOOKS).max(1)) {
                    store.insert(part)?;
                    let RawCounts { logged, log_capacity, .. } = store.counts();
                    shares.push(logged as f64 / log_capacity as f64);
                }
                let spent = watch.stop();
                let counts = store.counts();
                used.push(shares.iter().sum::<f64>() / shares.len() as f64);
                written.push(
                    (counts.bytes_written_back - before.bytes_written_back) as f64 / measured.len() as f64,
                );
                space.push(counts.log_bytes as f64);
                store.end(Ending::Dropped)?;
                Ok(Sample::timed(measured.len() as f64 / spent.wall, spent))
            })?;
        }
        let heading = |name: &str, title: &str, unit| {
            let title = format!("{title}, logs of {log_bytes} bytes");
            Heading::new(format!("mapped.logs.{name}.bytes_{log_bytes}"), title, unit)
        };
        work.add_race(&heading("insert", "edges inserted one by one", Unit::PerSecond), &race);
        work.add(&heading("use", "part of the logs that is used, on average", Unit::Share), &used);
        work.add(&heading("bytes", "bytes written back an edge", Unit::BytesPerEdge), &written);
        work.add(&heading("space", "bytes of all logs", Unit::Bytes), &space);
    }
    Ok(())
}

/// How often the use of the logs is looked up.
const LOOKS: usize = 20;
