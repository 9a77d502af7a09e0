//! Stream: the process that writes and analyses until it is killed.
//!
//! ```text
//! writer 0 ── transfer, transfer, ...   each a transaction in mode sync, then "booked" on standard output
//! writer 1 ── ...
//! analyst  ── snapshot: PageRank, now and then beside a static graph; rings ── "ranked", "ring"
//! ```
//!
//! It ends by itself when nobody reads its standard output any longer, or on Ctrl-C.

use crate::demo::analysis::{Ranked, find_rings, rank, rank_static};
use crate::demo::booking::book;
use crate::demo::message::Message;
use crate::demo::network::{Network, NetworkSize};
use crate::demo::reference::Reference;
use crate::demo::rings::RingKey;
use evergraph::database::{Database, Snapshot};
use evergraph::generate::ring::DURATION_MS_MAX;
use evergraph::{Durability, Options};

use evergraph_algorithms::control::Control;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::topology::Topology;
use evergraph_graph::view::GraphView;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Instant;

/// One analysis in this many is repeated on a static graph.
const STATIC_EVERY: u64 = 3;

/// What to stream, and into which database.
#[derive(Debug)]
pub struct StreamOptions<'a> {
    /// The database, which the demo loaded.
    pub database: &'a Path,
    /// The size that it was loaded with.
    pub size: NetworkSize,
    /// For each writer, how many transfers of its lane are booked already.
    pub booked: &'a [u64],
    /// Whether to analyse meanwhile.
    pub analyse: bool,
    /// Log after which a checkpoint is made; `None` for the database's own choice.
    pub checkpoint_after_bytes: Option<u64>,
}

/// Streams until `stop` says so, standard output is closed, or something fails.
///
/// # Errors
/// `not_found` if there is no such database; what writing, analysing and the pipe may meet.
pub fn run(options: &StreamOptions<'_>, stop: &CancelFlag) -> Result<()> {
    let mut open = Options { create: false, durability: Durability::Sync, ..Options::default() };
    if let Some(bytes) = options.checkpoint_after_bytes {
        open.checkpoint_after_bytes = bytes;
    }
    let database = Database::open_with(options.database, &open)?;
    let network = Network::generate(options.size)?;
    let accounts = network.account_vertices(&database.snapshot())?;
    let reached_ms = options.booked.iter().map(|_| AtomicI64::new(i64::MIN)).collect();
    let pipe = Pipe::standard_output()?;
    let stream = Stream { database: &database, network: &network, accounts, reached_ms, pipe, stop };
    stream.pipe.say(&Message::Ready)?;
    let stream = &stream;
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for (lane, booked) in (0..).zip(options.booked) {
            threads.push(scope.spawn(move || stream.ending(stream.write(lane, *booked))));
        }
        if options.analyse {
            threads.push(scope.spawn(move || stream.ending(stream.analyse())));
        }
        let ends =
            threads.into_iter().map(|thread| thread.join().expect("a panic was printed by its thread"));
        // All of them are waited for: the first failure is that of the lowest writer.
        ends.fold(Ok(()), Result::and)
    })?;
    database.close()
}

/// What writers and the analyst share.
struct Stream<'a> {
    database: &'a Database,
    network: &'a Network,
    /// The vertex of each account, by row.
    accounts: Vec<VertexId>,
    /// The time of the newest transfer that each lane has booked. Release after the commit was
    /// acknowledged, Acquire before the analyst's snapshot, which then contains it.
    reached_ms: Vec<AtomicI64>,
    pipe: Pipe,
    stop: &'a CancelFlag,
}

impl Stream<'_> {
    /// Stops the others as well when one ends; being stopped is no failure.
    fn ending(&self, end: Result<()>) -> Result<()> {
        self.stop.cancel();
        end.or_else(|error| if error.kind() == ErrorKind::Cancelled { Ok(()) } else { Err(error) })
    }

    /// Books the transfers of a lane, one after the other.
    fn write(&self, lane: u32, booked: u64) -> Result<()> {
        let transfers = (0..).zip(self.network.lane(lane)).skip_while(|(sequence, _)| *sequence < booked);
        for (sequence, transfer) in transfers {
            if self.stop.is_cancelled() {
                break;
            }
            let reference = Reference { lane, sequence };
            let began = Instant::now();
            self.database
                .transact(|transaction| book(transaction.by_id(), &self.accounts, &transfer, reference))?;
            let latency_us = began.elapsed().as_micros() as u64;
            self.reached_ms[lane as usize].store(transfer.time_ms, Ordering::Release);
            if self.pipe.say(&Message::Booked { reference, latency_us })? == Said::ToNobody {
                break;
            }
        }
        Ok(())
    }

    /// Analyses one live snapshot after the other.
    fn analyse(&self) -> Result<()> {
        let control = Control::default().with_cancel(self.stop);
        let rows: HashMap<u32, u32> = self.accounts.iter().map(|vertex| vertex.0).zip(0..).collect();
        let mut known = HashSet::new();
        let mut since_ms = None;
        for round in 0u64.. {
            // Before the snapshot. A lane goes on in time, so a ring that closes later began after this,
            // less the longest time that a ring takes.
            let reached_ms = self.reached_ms.iter().map(|time| time.load(Ordering::Acquire)).min();
            let snapshot = self.database.snapshot();
            let lacks_at_first = self.lacks(&snapshot);
            let (topology, _, freeze, kernel) = rank(&snapshot, &control)?;
            let lacks_at_last = self.lacks(&snapshot);
            let static_kernel = match round % STATIC_EVERY {
                1 => Some(rank_static(&topology, &control)?.1),
                _ => None,
            };
            let began = Instant::now();
            let found = find_rings(&snapshot, since_ms, &control)?;
            let log = self.database.store().log().statistics();
            let ranked = Ranked {
                transfers: topology.edge_count(),
                freeze,
                kernel,
                static_kernel,
                lacks_at_first,
                lacks_at_last,
                rings: began.elapsed(),
                commits: log.frames_count,
                syncs: log.syncs_count,
            };
            since_ms = reached_ms.filter(|time| *time != i64::MIN).map(|time| time - DURATION_MS_MAX);
            for ring in &found {
                let ring = RingKey::of_found(ring, |vertex| rows[&vertex]);
                if known.insert(ring.clone()) {
                    self.pipe.say(&Message::Ring(ring))?;
                }
            }
            if self.pipe.say(&Message::Ranked(ranked))? == Said::ToNobody {
                break;
            }
        }
        Ok(())
    }

    /// How many commits are published by now that `snapshot` doesn't contain.
    fn lacks(&self, snapshot: &Snapshot) -> u64 {
        self.database.begin().by_id().timestamp().0 - snapshot.timestamp().0
    }
}

/// Standard output without a buffer: what is said before a SIGKILL arrives.
struct Pipe(File);

#[derive(PartialEq, Eq)]
enum Said {
    ToSomebody,
    /// Whoever started us is gone.
    ToNobody,
}

impl Pipe {
    fn standard_output() -> Result<Self> {
        let own = io::stdout().as_fd().try_clone_to_owned();
        own.map(|output| Self(File::from(output))).map_err(|error| {
            Error::new(ErrorKind::Io, format!("take standard output: {error}")).because(error)
        })
    }

    /// One write for the whole line: writes of several threads don't mix in a pipe.
    fn say(&self, message: &Message) -> Result<Said> {
        match (&self.0).write_all(message.to_line().as_bytes()) {
            Ok(()) => Ok(Said::ToSomebody),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Said::ToNobody),
            Err(error) => {
                Err(Error::new(ErrorKind::Io, format!("write to standard output: {error}")).because(error))
            }
        }
    }
}
