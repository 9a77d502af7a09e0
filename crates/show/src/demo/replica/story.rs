//! Story: the demo of the replica from beginning to end, told step by step.

use crate::demo::replica::customers::Customers;
use crate::demo::replica::following::{FollowingFigures, FollowingMessage};
use crate::demo::replica::process::FollowingProcess;
use crate::demo::replica::report::ReplicaDemoReport;
use crate::demo::replica::shop::{DATABASE, ShopRows, ShopSize, connect, make};
use crate::demo::ticker::precise;
use crate::folder::Folder;
use evergraph::import::mapping::document::Mapping;
use evergraph::{Database, Options};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_replica::lsn::Lsn;
use evergraph_replica::mapping::propose::propose;
use evergraph_replica::mapping::resolve::resolve;
use evergraph_replica::private_server::PrivateServer;
use evergraph_replica::source::contract::Source;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::verify::run::{VerifyOptions, verify};
use evergraph_terminal::console::Console;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{count, time};
use serde::Serialize;
use std::env;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The database's name in the demo's folder.
const DATABASE_FOLDER: &str = "shop.eg";
const MAPPING: &str = "shop.toml";
/// How often the process that follows is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How often a line tells how it goes.
const LINE_EVERY: Duration = Duration::from_secs(1);
/// How long the replica may take to begin, to tell how it goes, or to catch up.
const PATIENCE: Duration = Duration::from_secs(120);
/// What separates those who write before the kill from those after it.
const SEEDS: [u64; 2] = [1, 2];

/// What may be chosen.
#[derive(Debug)]
pub struct ReplicaPlayOptions {
    /// How large the shop is.
    pub size: ShopSize,
    /// How long to write, before the kill and after it, together.
    pub time: Duration,
    /// Transactions a second.
    pub rate: u32,
    /// Where to make the demo's folder.
    pub parent: Option<PathBuf>,
    /// Leave the folder there.
    pub keep: bool,
    /// Change a row of the source before the comparison without telling the replica, which must then fail.
    pub sabotage: bool,
}

/// Plays the demo.
///
/// # Errors
/// `not_found` without PostgreSQL, with how to install it; `corrupt` if the graph is not what SQL says; `cancelled`; what the
/// server, the replica and databases may meet. Everything is gone then.
pub fn play(
    options: &ReplicaPlayOptions,
    console: &Console,
    cancel: &CancelFlag,
) -> std::result::Result<ReplicaDemoReport, Failure> {
    let folder = Folder::make("evergraph-demo-", options.parent.as_deref())?;
    let run = ReplicaDemoRun { options, console, cancel, folder: folder.path().to_owned() };
    let mut played = run.run();
    if options.keep {
        let kept = folder.keep().join(DATABASE_FOLDER).display().to_string();
        if let Ok(report) = &mut played {
            report.database = Some(kept);
        }
    }
    played
}

struct ReplicaDemoRun<'a> {
    options: &'a ReplicaPlayOptions,
    console: &'a Console,
    cancel: &'a CancelFlag,
    folder: PathBuf,
}

impl ReplicaDemoRun<'_> {
    fn run(&self) -> std::result::Result<ReplicaDemoReport, Failure> {
        self.tell(
            "Evergraph demo: a shop in PostgreSQL, followed as a live graph, killed, and compared with SQL.",
        )?;
        let (server, loaded) = self.shop()?;
        let rules_count = self.propose(&server)?;
        self.tell(format_args!(
            "\n3  Follow it, while customers commit {} transactions a second",
            count(self.options.rate.into())
        ))?;
        let half = self.options.time / 2;
        let mut following = self.follow(&server)?;
        let first = self.wait_until_it_follows(&mut following)?;
        self.tell(format_args!(
            "   {} rows were copied in {}: {} vertices, {} edges. Process {} follows.\n",
            count(loaded.total()),
            time(Duration::from_secs_f64(first.copy_seconds)),
            count(first.vertices),
            count(first.edges),
            following.id(),
        ))?;
        self.tell(Line::header())?;
        let customers = Customers::start(&server, self.options.size, self.options.rate, SEEDS[0])?;
        let mut freshness_us = self.watch(&mut following, half)?;
        let process = following.id();
        for figures in following.kill()? {
            freshness_us.extend(figures.freshness_us);
        }
        self.tell(format_args!("\n4  Kill it\n   SIGKILL to process {process}, while the customers go on"))?;
        thread::sleep(LINE_EVERY);
        let restarted = Instant::now();
        let mut following = self.follow(&server)?;
        self.wait_until_it_follows(&mut following)?;
        let restart_seconds = restarted.elapsed().as_secs_f64();
        self.tell(format_args!(
            "   started again: it reads its position in its own graph, and goes on there, {} later\n",
            time(Duration::from_secs_f64(restart_seconds))
        ))?;
        self.tell(Line::header())?;
        freshness_us.extend(self.watch(&mut following, half)?);
        let transactions = customers.stop()?;
        let (last, more) = self.end(&server, &mut following)?;
        freshness_us.extend(more);
        drop(following);
        let (rows, compared) = self.compare(&server)?;
        let (freshness_p50, freshness_p99) = FollowingFigures::freshness(&freshness_us).unzip();
        Ok(ReplicaDemoReport {
            database: None,
            loaded,
            rules_count,
            copy_seconds: first.copy_seconds,
            transactions,
            restart_seconds,
            rows,
            vertices: last.vertices,
            edges: last.edges,
            compared_count: compared,
            freshness_count: freshness_us.len() as u64,
            freshness_p50_seconds: freshness_p50.map(|time| time.as_secs_f64()),
            freshness_p99_seconds: freshness_p99.map(|time| time.as_secs_f64()),
            equal: true,
        })
    }

    /// Tells people; programs get the report alone.
    fn tell(&self, text: impl fmt::Display) -> std::result::Result<(), Failure> {
        if self.console.is_json() {
            return Ok(());
        }
        self.console.summary(&Line(text.to_string()))
    }

    fn shop(&self) -> std::result::Result<(PrivateServer, ShopRows), Failure> {
        self.tell("\n1  Start a PostgreSQL of our own, and fill a shop")?;
        let began = Instant::now();
        let server = PrivateServer::start(&Default::default())?;
        let rows = make(&server, self.options.size, self.cancel)?;
        self.tell(format_args!(
            "   {} customers, {} products, {} purchases with {} items, {} follow each other: {}",
            count(rows.customers),
            count(rows.products),
            count(rows.purchases),
            count(rows.items),
            count(rows.follows),
            time(began.elapsed()),
        ))?;
        Ok((server, rows))
    }

    fn source(&self, server: &PrivateServer) -> PostgresSource {
        PostgresSource::new(server.connection_settings(DATABASE), self.cancel.clone())
    }

    fn propose(&self, server: &PrivateServer) -> std::result::Result<u64, Failure> {
        self.tell("\n2  Propose what its rows become: `evergraph replica propose`")?;
        let text = propose(&self.source(server).catalogue().map_err(Error::from)?)?;
        let path = self.folder.join(MAPPING);
        fs::write(&path, &text).map_err(|error| {
            Error::new(ErrorKind::Io, format!("write {}: {error}", path.display())).because(error)
        })?;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            self.tell(format_args!("   {line}"))?;
        }
        Ok(text.lines().filter(|line| *line == "[[table]]").count() as u64)
    }

    /// This program again, as the process that follows.
    fn follow(&self, server: &PrivateServer) -> Result<FollowingProcess> {
        let program = env::current_exe().map_err(|error| {
            Error::new(ErrorKind::Io, format!("find this program's file: {error}")).because(error)
        })?;
        let mut command = Command::new(program);
        command.args(["demo", "replica-follow"]).arg(self.folder.join(DATABASE_FOLDER));
        command.args(["--source", &server.url(DATABASE)]).arg("--mapping").arg(self.folder.join(MAPPING));
        command.env("PGPASSWORD", server.password());
        FollowingProcess::start(&mut command)
    }

    fn wait_until_it_follows(&self, following: &mut FollowingProcess) -> Result<FollowingFigures> {
        let began = Instant::now();
        loop {
            for message in following.take_messages()? {
                if let FollowingMessage::Following(figures) = message {
                    return Ok(figures);
                }
            }
            self.look_after(began, "begun to follow")?;
        }
    }

    /// Waits a moment, unless that took too long.
    fn look_after(&self, began: Instant, what: &str) -> Result<()> {
        self.cancel.check()?;
        if began.elapsed() > PATIENCE {
            let text = format!("the replica has not {what} after {}", time(PATIENCE));
            return Err(Error::new(ErrorKind::Io, text));
        }
        thread::sleep(LOOK_EVERY);
        Ok(())
    }

    /// Tells how it goes for `time`, and until there was at least one line; freshness in microseconds.
    fn watch(
        &self,
        following: &mut FollowingProcess,
        time: Duration,
    ) -> std::result::Result<Vec<u64>, Failure> {
        let began = Instant::now();
        let (mut told, mut has_line) = (began, false);
        let (mut freshness_us, mut since_line) = (Vec::new(), Vec::new());
        while began.elapsed() < time || !has_line {
            for message in following.take_messages()? {
                let FollowingMessage::Following(figures) = message else { continue };
                since_line.extend_from_slice(&figures.freshness_us);
                if told.elapsed() >= LINE_EVERY {
                    (told, has_line) = (Instant::now(), true);
                    self.tell(Line::of(began.elapsed(), &figures, &since_line))?;
                    freshness_us.append(&mut since_line);
                }
            }
            match has_line {
                true => {
                    self.cancel.check()?;
                    thread::sleep(LOOK_EVERY);
                }
                false => self.look_after(began, "told how it goes")?,
            }
        }
        freshness_us.append(&mut since_line);
        Ok(freshness_us)
    }

    /// Ends following at what the source has now; the last figures, and freshness in microseconds.
    fn end(
        &self,
        server: &PrivateServer,
        following: &mut FollowingProcess,
    ) -> Result<(FollowingFigures, Vec<u64>)> {
        let end: Lsn = self.source(server).identity()?.log_end;
        following.end_at(end)?;
        let (began, mut freshness_us) = (Instant::now(), Vec::new());
        loop {
            for message in following.take_messages()? {
                match message {
                    FollowingMessage::Following(figures) => freshness_us.extend(figures.freshness_us),
                    FollowingMessage::Ended(figures) => {
                        freshness_us.extend_from_slice(&figures.freshness_us);
                        return Ok((figures, freshness_us));
                    }
                }
            }
            self.look_after(began, "caught up")?;
        }
    }

    /// Compares the graph with what SQL's rows make of it; rows of the source, and vertices and edges that were compared.
    fn compare(&self, server: &PrivateServer) -> std::result::Result<(ShopRows, u64), Failure> {
        self.tell("\n5  Compare every vertex, edge and property with SQL: `evergraph replica verify`")?;
        let began = Instant::now();
        let mut connection = connect(server, DATABASE, self.cancel)?;
        if self.options.sabotage {
            let sql = "UPDATE customer SET name = 'nobody' WHERE id = 1";
            connection.query("change a row of", sql).map_err(Error::from)?;
        }
        let rows = ShopRows::count(&mut connection)?;
        let mapping = Mapping::read(&self.folder.join(MAPPING))?;
        let mut source = self.source(server);
        let plan =
            resolve(&mapping.tables, &source.catalogue().map_err(Error::from)?).map_err(Error::from)?;
        let path = self.folder.join(DATABASE_FOLDER);
        let database = Database::open_with(&path, &Options { create: false, ..Options::default() })?;
        let snapshot = database.snapshot();
        let source: (&mut dyn Source, _) = (&mut source, None);
        let found = verify(&snapshot, source, &plan, &VerifyOptions::default(), &|_| (), self.cancel)?;
        drop(snapshot);
        database.close()?;
        if !found.is_equal() {
            let text = format!("the graph is not what SQL says:\n{found}");
            return Err(Error::new(ErrorKind::Corrupt, text).into());
        }
        let compared = found.subjects.iter().map(|subject| subject.in_source).sum();
        for subject in &found.subjects {
            self.tell(format_args!("   {}: {} in both", subject.subject, count(subject.in_source)))?;
        }
        self.tell(format_args!("   equal, in {}", time(began.elapsed())))?;
        Ok((rows, compared))
    }
}

/// A part of the story.
#[derive(Serialize)]
struct Line(String);

impl Line {
    fn header() -> String {
        format!(
            "{:>6}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}  {:<13}  {}",
            "time",
            "vertices",
            "edges",
            "fresh p50",
            "p99",
            "PageRank",
            "highest rank",
            "best sold (Gremlin)"
        )
    }

    fn of(elapsed: Duration, figures: &FollowingFigures, freshness_us: &[u64]) -> String {
        let freshness = FollowingFigures::freshness(freshness_us);
        let precise = |time: Option<Duration>| time.map_or_else(|| "-".to_owned(), precise);
        format!(
            "{:>6}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}  {:<13}  {}",
            format!("{:.0} s", elapsed.as_secs_f64()),
            count(figures.vertices),
            count(figures.edges),
            precise(freshness.map(|(middle, _)| middle)),
            precise(freshness.map(|(_, late)| late)),
            time(Duration::from_secs_f64(figures.pagerank_seconds)),
            figures.highest_rank,
            figures.best_sold,
        )
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.0)
    }
}
