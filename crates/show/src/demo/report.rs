//! The demo's report: a small table of what was reached, and what to try next.

use crate::demo::analysis::Ranked;
use crate::demo::load::LoadFigures;
use crate::demo::rings::RingScore;
use crate::demo::tally::{Tally, latency, quantile};
use crate::demo::ticker::{precise, static_share};
use crate::demo::verify::Verified;
use evergraph_terminal::number::{count, time};
use evergraph_terminal::table::{Side, Table, visible};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// What the demo reached.
#[derive(Debug, Serialize)]
pub struct DemoReport {
    /// Where the database is, if it was kept.
    pub database: Option<String>,
    /// What was loaded.
    pub loaded: LoadFigures,
    /// Writes of 4 KiB with a sync each that one thread makes a second on this disk.
    pub disk_syncs_rate: f64,
    /// Writing and analysing.
    pub stream: StreamFigures,
    /// How well rings were found while they were written.
    pub rings_live: RingScore,
    /// How well rings were found after the restart.
    pub rings: RingScore,
    /// Until the database was open again after the kill.
    pub restart_seconds: f64,
    /// To verify every checksum, list and index.
    pub check_seconds: f64,
    /// What was verified.
    pub verified: Verified,
}

/// How writing and analysing went.
#[derive(Clone, Debug, Serialize)]
pub struct StreamFigures {
    /// Threads that wrote.
    pub writers: u32,
    /// For how long, in seconds.
    pub seconds: f64,
    /// Acknowledged commits.
    pub commits: u64,
    /// Acknowledged commits a second.
    pub commits_rate: f64,
    /// Commits that shared a sync, on average. Unknown if no analysis was done.
    pub commits_per_sync: Option<f64>,
    /// Median time from beginning a transaction to its acknowledgement, in seconds.
    pub latency_p50_seconds: f64,
    /// One in a hundred took longer.
    pub latency_p99_seconds: f64,
    /// Analyses done.
    pub analyses: u64,
    /// Median time of PageRank with freezing its snapshot, in seconds: also the age of its answer.
    pub pagerank_seconds: Option<f64>,
    /// Median time of freezing alone, in seconds.
    pub freeze_seconds: Option<f64>,
    /// Median share of the speed that PageRank has on a static graph under the same load, 1 being equal.
    pub static_share: Option<f64>,
    /// Analyses that were repeated on a static graph.
    pub static_runs: u64,
    /// Median time to find rings, in seconds.
    pub rings_seconds: Option<f64>,
    /// Commits that a snapshot lacked when it was taken: median.
    pub lacks_at_first: Option<u64>,
    /// Commits that it lacked when its PageRank was done: median.
    pub lacks_at_last: Option<u64>,
}

impl StreamFigures {
    /// The figures of `tally`, which `writers` filled in `wrote`. At least one commit is in it.
    #[must_use]
    pub fn of(tally: &Tally, writers: u32, wrote: Duration) -> Self {
        let commits = tally.latencies_us.len() as u64;
        let ranked = || tally.ranked.iter();
        let share = |share| latency(&tally.latencies_us, share).unwrap_or_default().as_secs_f64();
        let middle =
            |part: fn(&Ranked) -> Duration| quantile(ranked().map(part), 0.5).map(|time| time.as_secs_f64());
        Self {
            writers,
            seconds: wrote.as_secs_f64(),
            commits,
            commits_rate: commits as f64 / wrote.as_secs_f64(),
            commits_per_sync: ranked().next_back().map(|last| last.commits as f64 / last.syncs.max(1) as f64),
            latency_p50_seconds: share(0.5),
            latency_p99_seconds: share(0.99),
            analyses: tally.ranked.len() as u64,
            pagerank_seconds: middle(Ranked::live),
            freeze_seconds: middle(|ranked| ranked.freeze),
            static_share: static_share(&tally.ranked),
            static_runs: ranked().filter(|ranked| ranked.static_kernel.is_some()).count() as u64,
            rings_seconds: middle(|ranked| ranked.rings),
            lacks_at_first: quantile(ranked().map(|ranked| ranked.lacks_at_first), 0.5),
            lacks_at_last: quantile(ranked().map(|ranked| ranked.lacks_at_last), 0.5),
        }
    }
}

impl fmt::Display for DemoReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DemoReport { stream, verified, rings, rings_live, .. } = self;
        let mut table = Table::new(&[("what", Side::Left), ("figure", Side::Right), ("beside", Side::Left)]);
        let mut row = |what: &str, figure: String, beside: String| {
            table.row([what.to_owned(), figure, beside]);
        };
        let seconds = Duration::from_secs_f64;
        let unknown = || "-".to_owned();
        let per_sync = stream.commits_per_sync.map_or_else(unknown, |commits| format!("{commits:.1}"));
        row(
            "durable commits a second",
            count(stream.commits_rate as u64),
            format!(
                "the disk alone: {} syncs/s; {per_sync} commits a sync",
                count(self.disk_syncs_rate as u64)
            ),
        );
        row(
            "commit latency",
            precise(seconds(stream.latency_p50_seconds)),
            format!("median; 99 of 100 within {}", precise(seconds(stream.latency_p99_seconds))),
        );
        if let Some(pagerank) = stream.pagerank_seconds {
            let lacks = |commits: Option<u64>| commits.map_or_else(unknown, count);
            row(
                "PageRank on live data",
                time(seconds(pagerank)),
                format!(
                    "freezing included; lacked {} commits, then {}",
                    lacks(stream.lacks_at_first),
                    lacks(stream.lacks_at_last)
                ),
            );
        }
        if let Some(share) = stream.static_share {
            row(
                "of a static graph's speed",
                format!("{:.0} %", share * 100.0),
                format!("same edges, same load, {} runs", count(stream.static_runs)),
            );
        }
        row(
            "rings found, of closed ones",
            format!("{} of {}", count(rings_live.found), count(rings_live.closed)),
            format!(
                "{} false ones; after the restart {}, {} false",
                count(rings_live.not_planted),
                count(rings.found),
                count(rings.not_planted)
            ),
        );
        row(
            "restart after SIGKILL",
            time(seconds(self.restart_seconds)),
            "until the database was open again".to_owned(),
        );
        row(
            "found, of acknowledged",
            format!("{} of {}", count(verified.acknowledged_found), count(verified.acknowledged)),
            format!("none lost, none by half; check: {}", time(seconds(self.check_seconds))),
        );
        write!(f, "\n5  What came of it\n\n{table}\nTry next\n")?;
        match &self.database {
            Some(kept) => {
                let kept = visible(kept);
                writeln!(f, "  evergraph stats {kept}")?;
                writeln!(f, "  evergraph run {kept} pagerank --type TRANSFER --top 10")?;
                writeln!(f, "  evergraph check {kept}")
            }
            None => {
                writeln!(
                    f,
                    "  evergraph demo --keep                   the same, and the database stays for you to look at"
                )?;
                writeln!(
                    f,
                    "  evergraph generate payments bank.eg     a network of your own, for evergraph run and stats"
                )?;
                writeln!(
                    f,
                    "  evergraph bench                         every figure of this machine, with its spread"
                )
            }
        }
    }
}
