//! Following: the process that follows the shop and analyses its graph until it is killed, or told to end.
//!
//! ```text
//! standard input     until 0/16B3748          end when the graph has this
//! standard output    following {...}          figures, about twice a second
//!                    ended {...}              the last ones
//! ```

use crate::demo::tally::quantile;
use evergraph::{Database, Durability, Options, ReadByName as _, Snapshot};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::view::GraphView as _;
use evergraph_replica::follow::options::{ReplicaMapping, ReplicaOptions, SYNC_INTERVAL};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::position::{POSITION_NOTE, Position};
use evergraph_replica::postgres_time::PostgresTime;
use evergraph_replica::source::postgres::server::PostgresSource;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often the newest snapshot is looked at: freshness is measured as finely.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// How often the graph is analysed.
const ANALYSE_EVERY: Duration = Duration::from_millis(500);

/// The product that most purchases have.
const BEST_SOLD: &str =
    "g.V().hasLabel('Product').order().by(__.in('PURCHASE_ITEM').count(), desc).limit(1).values('title')";
/// The product with the highest rank.
const HIGHEST_RANK: &str = "g.call('pagerank').order().by('score', desc).select('vertex').hasLabel('Product').limit(1).values('title')";

/// What the process tells.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FollowingFigures {
    /// Until the tables were copied, in seconds; 0 if they were there.
    pub copy_seconds: f64,
    /// The position that the graph has.
    pub position: String,
    /// Vertices.
    pub vertices: u64,
    /// Edges.
    pub edges: u64,
    /// Transactions of the source that were applied by this process.
    pub transactions: u64,
    /// The product that most purchases have, by a query in Gremlin.
    pub best_sold: String,
    /// The product with the highest PageRank.
    pub highest_rank: String,
    /// Time of PageRank on the whole graph, in seconds.
    pub pagerank_seconds: f64,
    /// How long after their commits new snapshots showed transactions, in microseconds: those since the figures before.
    pub freshness_us: Vec<u64>,
}

impl FollowingFigures {
    /// The median of freshness, and what 99 of 100 stay below.
    #[must_use]
    pub fn freshness(freshness_us: &[u64]) -> Option<(Duration, Duration)> {
        let of = |share| quantile(freshness_us.iter().copied(), share).map(Duration::from_micros);
        Some((of(0.5)?, of(0.99)?))
    }
}

/// A line of the process.
#[derive(Clone, PartialEq, Debug)]
pub enum FollowingMessage {
    /// It follows.
    Following(FollowingFigures),
    /// It has what it was told to have, and has closed the database.
    Ended(FollowingFigures),
}

impl FollowingMessage {
    /// Reads a line.
    ///
    /// # Errors
    /// `corrupt` for what is no message.
    pub fn parse(line: &str) -> Result<Self> {
        let wrong = || Error::new(ErrorKind::Corrupt, format!("the replica said {line:?}: not a message"));
        let (word, rest) = line.split_once(' ').ok_or_else(wrong)?;
        let figures = serde_json::from_str(rest).map_err(|error| wrong().because(error))?;
        match word {
            "following" => Ok(Self::Following(figures)),
            "ended" => Ok(Self::Ended(figures)),
            _ => Err(wrong()),
        }
    }
}

/// Follows `source` into the database at `path` by the mapping file `mapping`.
///
/// # Errors
/// Those of the replica; `cancelled`.
pub fn run(path: &Path, source: PostgresSource, mapping: &Path, cancel: &CancelFlag) -> Result<()> {
    let options =
        Options { create: true, durability: Durability::Interval(SYNC_INTERVAL), ..Options::default() };
    let database = Database::open_with(path, &options)?;
    let name = mapping.display().to_string();
    let text = std::fs::read_to_string(mapping)
        .map_err(|error| Error::new(ErrorKind::Io, format!("read {name}: {error}")).because(error))?;
    let following = ReplicaOptions::new(ReplicaMapping { name, text });
    let is_new = database.source().is_none();
    let began = Instant::now();
    let replica = Replica::start(database.clone(), Box::new(source), following, &|_| (), cancel)?;
    let copy_seconds = if is_new { began.elapsed().as_secs_f64() } else { 0.0 };
    let ends = wanted_end();
    let first = replica.source_position()?;
    let mut follower =
        Watch { replica: &replica, copy_seconds, first, seen: Lsn::ZERO, freshness_us: Vec::new() };
    let mut analysed = Instant::now();
    let mut end = None;
    loop {
        cancel.check()?;
        let snapshot = database.snapshot();
        follower.look(&snapshot)?;
        if let Some(pause) = replica.status().state.pause() {
            return Err(Error::invalid(format!("the replica has paused: {pause}")));
        }
        end = end.or_else(|| ends.try_recv().ok());
        if let Some(end) = end
            && replica.wait(end, LOOK_EVERY)?
        {
            break;
        }
        if analysed.elapsed() >= ANALYSE_EVERY {
            analysed = Instant::now();
            let figures = follower.figures(&snapshot)?;
            say("following", &figures)?;
        }
        thread::sleep(LOOK_EVERY);
    }
    let snapshot = database.snapshot();
    follower.look(&snapshot)?;
    let figures = follower.figures(&snapshot)?;
    drop(snapshot);
    replica.stop()?;
    database.close()?;
    say("ended", &figures)
}

/// The position at which to end, when somebody says so.
fn wanted_end() -> Receiver<Lsn> {
    let (sender, receiver) = channel();
    // It ends with the process.
    let read = move || {
        for line in io::stdin().lock().lines().map_while(io::Result::ok) {
            let position = line.strip_prefix("until ").and_then(|text| text.parse().ok());
            if position.is_none_or(|position| sender.send(position).is_err()) {
                return;
            }
        }
    };
    let _never_joined = thread::Builder::new().name("demo-input".to_owned()).spawn(read);
    receiver
}

/// What was seen of a replica.
struct Watch<'a> {
    replica: &'a Replica,
    copy_seconds: f64,
    /// Transactions up to here committed when nobody followed: they are no measure of freshness.
    first: Lsn,
    /// The newest transaction that a snapshot showed.
    seen: Lsn,
    freshness_us: Vec<u64>,
}

impl Watch<'_> {
    /// Measures how late the newest transaction came, if `snapshot` is the first to show it.
    fn look(&mut self, snapshot: &Snapshot) -> Result<()> {
        let Some(note) = snapshot.note(POSITION_NOTE) else { return Ok(()) };
        let position =
            Position::decode(&note).map_err(|error| Error::new(ErrorKind::Corrupt, error.to_string()))?;
        if position.end <= self.seen {
            return Ok(());
        }
        if position.end > self.first && position.xid != 0 {
            let age = PostgresTime::now().microseconds() - position.committed_at.microseconds();
            self.freshness_us.push(u64::try_from(age).unwrap_or(0));
        }
        self.seen = position.end;
        Ok(())
    }

    fn figures(&mut self, snapshot: &Snapshot) -> Result<FollowingFigures> {
        let counts = snapshot.statistics()?;
        let best_sold: Option<String> = snapshot.gremlin(BEST_SOLD).first()?;
        let began = Instant::now();
        let highest_rank: Option<String> = snapshot.gremlin(HIGHEST_RANK).first()?;
        Ok(FollowingFigures {
            copy_seconds: self.copy_seconds,
            position: self.seen.to_string(),
            vertices: counts.vertices.iter().map(|(_, count)| count).sum(),
            edges: counts.edges.iter().map(|(_, count)| count).sum(),
            transactions: self.replica.status().transactions,
            best_sold: best_sold.unwrap_or_default(),
            highest_rank: highest_rank.unwrap_or_default(),
            pagerank_seconds: began.elapsed().as_secs_f64(),
            freshness_us: std::mem::take(&mut self.freshness_us),
        })
    }
}

fn say(word: &str, figures: &FollowingFigures) -> Result<()> {
    let json = serde_json::to_string(figures).expect("numbers and texts have a JSON form");
    let mut out = io::stdout().lock();
    writeln!(out, "{word} {json}").and_then(|()| out.flush()).map_err(|error| {
        Error::new(ErrorKind::Io, format!("tell what the replica does: {error}")).because(error)
    })
}
