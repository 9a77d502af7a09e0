//! The report of the replica's demo: a few figures, what to try next, and a last line that says whether all is equal.

use crate::demo::replica::shop::ShopRows;
use crate::demo::ticker::precise;
use evergraph_terminal::number::{count, time};
use evergraph_terminal::table::{Side, Table, visible};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// What the demo reached.
#[derive(Debug, Serialize)]
pub struct ReplicaDemoReport {
    /// Where the database is, if it was kept.
    pub database: Option<String>,
    /// Rows that the shop began with.
    pub loaded: ShopRows,
    /// Rules of the mapping, which was proposed.
    pub rules_count: u64,
    /// Until the tables were copied, in seconds.
    pub copy_seconds: f64,
    /// Transactions that the customers committed meanwhile.
    pub transactions: u64,
    /// Until the replica followed again after the kill, its first analysis included, in seconds.
    pub restart_seconds: f64,
    /// Rows of the shop in the end.
    pub rows: ShopRows,
    /// Vertices of the graph in the end.
    pub vertices: u64,
    /// Edges of the graph in the end.
    pub edges: u64,
    /// Vertices and edges that were compared with SQL.
    pub compared_count: u64,
    /// Commits whose freshness was measured.
    pub freshness_count: u64,
    /// Median time from a commit at the source until a new snapshot showed it, in seconds, measured each millisecond.
    pub freshness_p50_seconds: Option<f64>,
    /// One in a hundred took longer.
    pub freshness_p99_seconds: Option<f64>,
    /// Whether the graph is what SQL says.
    pub equal: bool,
}

impl fmt::Display for ReplicaDemoReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |seconds: f64| time(Duration::from_secs_f64(seconds));
        let freshness = |seconds: Option<f64>| {
            seconds.map_or_else(|| "-".to_owned(), |seconds| precise(Duration::from_secs_f64(seconds)))
        };
        let mut table = Table::new(&[("what", Side::Left), ("figure", Side::Right), ("beside", Side::Left)]);
        let mut row = |what: &str, figure: String, beside: String| {
            table.row([what.to_owned(), figure, beside]);
        };
        row(
            "rows copied",
            count(self.loaded.total()),
            format!("in {}, by {} proposed rules", seconds(self.copy_seconds), self.rules_count),
        );
        row(
            "transactions followed",
            count(self.transactions),
            "each one commit of the graph, as a whole".to_owned(),
        );
        row(
            "freshness",
            freshness(self.freshness_p50_seconds),
            format!(
                "median of {}; 99 of 100 within {}",
                count(self.freshness_count),
                freshness(self.freshness_p99_seconds)
            ),
        );
        row("restart after SIGKILL", seconds(self.restart_seconds), "until it followed again".to_owned());
        write!(f, "\n6  What came of it\n\n{table}\nTry next\n")?;
        match &self.database {
            Some(kept) => {
                let kept = visible(kept);
                writeln!(f, "  evergraph shell {kept}")?;
            }
            None => writeln!(
                f,
                "  evergraph demo replica --keep           the same, and the graph stays for you to look at"
            )?,
        }
        writeln!(f, "  evergraph replica propose URL           a mapping for a database of your own\n")?;
        writeln!(
            f,
            "{} rows, {} vertices, {} edges after {} transactions and a kill; fresh within {} (p50), {} (p99): {}",
            count(self.rows.total()),
            count(self.vertices),
            count(self.edges),
            count(self.transactions),
            freshness(self.freshness_p50_seconds),
            freshness(self.freshness_p99_seconds),
            if self.equal { "equal" } else { "NOT EQUAL" },
        )
    }
}
