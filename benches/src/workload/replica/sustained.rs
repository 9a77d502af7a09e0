//! Sustained: a backlog of small transactions, read as fast as can be: by the replica, then by the plain reader, each alone.
//!
//! ```text
//! nobody reads: first ... 5,000 transactions of 100 rows ... last         rate = rows between / (last seen - first seen)
//! ```
//!
//! Both ends are seen in the same way, so that connecting and starting count for nobody.

use crate::goals::baseline::PLAIN_READER;
use crate::plan::Work;
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::replica::changes::ChangeKind;
use crate::workload::replica::readers::Reader;
use crate::workload::replica::source_server::run;
use crate::workload::replica::writer::{Pace, write};
use crate::workload::replica::{Bench, EPOCHS, OURS, PATIENCE};
use evergraph_graph::count::Count;
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit;
use evergraph_replica::metrics::BusyPart;
use std::collections::BTreeMap;

/// Seconds that the thread which applies was busy with each part of its work.
pub type BusyTimes = [(&'static str, f64); BusyPart::ALL.len()];

/// A backlog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backlog {
    /// The clock's number of its first transaction.
    first: u64,
    /// That of its last one.
    last: u64,
    /// Rows of all but the first.
    rows: u64,
}

impl Backlog {
    /// Writes a backlog, while nobody reads. Commits are not waited for: the source's disk is not what is measured.
    ///
    /// # Errors
    /// What the server says.
    pub fn write(bench: &mut Bench, kind: ChangeKind) -> Result<Self> {
        let rows = bench.plan.backlog_transaction.min(bench.plan.accounts);
        let transactions = (bench.plan.backlog_rows / rows).max(2) as usize;
        let mut connection = bench.server.connect()?;
        run(&mut connection, "SET synchronous_commit = off")?;
        let pace = Pace { kind, rows, interval: None };
        let written =
            write(&mut connection, &mut bench.changes, pace, |written| written.commits.len() < transactions)?;
        // A commit that is waited for takes all before it to the disk.
        run(&mut connection, "SET synchronous_commit = on")?;
        run(&mut connection, "SELECT pg_logical_emit_message(true, 'backlog', 'ends')")?;
        let number = |commit: Option<&(u64, _)>| commit.map_or(0, |(number, _)| *number);
        let (first, last) = (number(written.commits.first()), number(written.commits.last()));
        Ok(Self { first, last, rows: (last - first) * u64::from(rows) })
    }

    /// Rows a second at which `reader`, which began after the backlog was written, read it.
    ///
    /// # Errors
    /// `limit` if it did not.
    pub fn rate(self, reader: &Reader) -> Result<f64> {
        let last = reader.marks.wait(self.last, PATIENCE)?;
        let first = reader.marks.wait(self.first, PATIENCE)?;
        let time = last.saturating_duration_since(first).as_secs_f64();
        Ok(self.rows as f64 / time.max(1e-6))
    }
}

/// Measures backlogs of each kind.
///
/// # Errors
/// Those of server and replica; `limit` if one is not read.
pub fn measure(work: &mut Work<'_>, bench: &mut Bench) -> Result<()> {
    for kind in [ChangeKind::Updates, ChangeKind::Edges, ChangeKind::Vertices] {
        let mut race = Race::new([OURS, PLAIN_READER]);
        let mut shares: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        for round in 0..bench.plan.rounds {
            skip(bench)?;
            let backlog = Backlog::write(bench, kind)?;
            let mut rates = [0.0; 2];
            for place in order(round, rates.len()) {
                rates[place] = if place == 0 {
                    let (rate, parts) = drain(bench, backlog, EPOCHS)?;
                    let all: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
                    for (part, seconds) in parts {
                        shares.entry(part).or_default().push(seconds / all.max(1e-9));
                    }
                    rate
                } else {
                    backlog.rate(&Reader::plain(&bench.server)?)?
                };
            }
            race.note(&rates);
        }
        let heading =
            Heading::new(format!("replica.sustained.{}", kind.name()), kind.title(), Unit::PerSecond)
                .with("rows of a transaction", bench.plan.backlog_transaction)
                .with("rows", Count(u64::from(bench.plan.backlog_rows)));
        work.add_race(&heading, &race);
        for (part, shares) in shares {
            let name = format!("replica.time.{}.{part}", kind.name());
            let title = format!("{}: part of the applying thread's time, {part}", kind.title());
            work.add(&Heading::new(name, title, Unit::Share), &shares);
        }
    }
    work.note(
        "parts of the applying thread's time: read (messages become transactions), translate (rows are decoded, values converted; a \
         worker does some of it beside), fold (the net effect of a transaction), look_up (rows are found in the graph), vertices (they \
         are written), edges (their ends are found, and they are written), commit",
    );
    Ok(())
}

/// Lets both readers pass over what was written before: the plain reader need not read what others measured.
fn skip(bench: &mut Bench) -> Result<()> {
    let replica = bench.follow(EPOCHS)?;
    let (ours, theirs) = (Reader::observe(&bench.database)?, Reader::plain(&bench.server)?);
    bench.catch_up(&[&ours, &theirs])?;
    drop((ours, theirs));
    replica.stop()
}

/// The replica reads a backlog: rows a second, and seconds that its thread was busy with each part.
///
/// # Errors
/// As [`Backlog::rate`].
pub fn drain(bench: &Bench, backlog: Backlog, epochs: usize) -> Result<(f64, BusyTimes)> {
    // It looks before anything comes.
    let observer = Reader::observe(&bench.database)?;
    let replica = bench.follow(epochs)?;
    let rate = backlog.rate(&observer)?;
    let parts = replica.metrics().busy_seconds().map(|(part, seconds)| (part.name(), seconds));
    replica.stop()?;
    Ok((rate, parts))
}
