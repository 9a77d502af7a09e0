//! A database here that follows a PostgreSQL database there.

use crate::cut_source::{Cut, CutSource};
use crate::server::{TestDatabase, TestServer};
use evergraph::{Database, Durability, Options};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::follow::options::{FollowIntervals, ReplicaMapping, ReplicaOptions};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::source::postgres::settings::ConnectionSettings;
use evergraph_replica::source::replica_source::ReplicaSource;
use std::path::Path;
use std::time::Duration;

/// What ends a wait that a test does not expect to end.
pub const WAIT_MAX: Duration = Duration::from_secs(60);
/// How often a replica looks at the catalogue.
const LOOKS_EVERY: Duration = Duration::from_millis(300);
/// The same, where a test waits for looks.
const AWAITED_LOOKS_EVERY: Duration = Duration::from_millis(150);

/// A database here that follows one there.
pub struct Follower {
    folder: tempfile::TempDir,
    settings: ConnectionSettings,
    mapping: String,
    pub slot: String,
    pub slot_alarm_bytes: u64,
    pub memory_bytes: u64,
    looks_every: Duration,
}

impl Follower {
    pub fn new(settings: ConnectionSettings, mapping: &str) -> Self {
        Self::within(&std::env::temp_dir(), settings, mapping)
    }

    /// With its database and its temporary files in a folder of its own within `parent`.
    pub fn within(parent: &Path, settings: ConnectionSettings, mapping: &str) -> Self {
        let slot = format!("follow_{}", settings.database);
        let (folder, mapping) = (tempfile::tempdir_in(parent).unwrap(), mapping.to_owned());
        Self {
            folder,
            settings,
            mapping,
            slot,
            slot_alarm_bytes: 1 << 30,
            memory_bytes: 1 << 30,
            looks_every: LOOKS_EVERY,
        }
    }

    pub fn open(&self) -> Database {
        self.open_with(Options::default())
    }

    pub fn open_with(&self, options: Options) -> Database {
        let options = Options { durability: Durability::Interval(Duration::from_millis(10)), ..options };
        Database::open_with(self.folder.path().join("db"), &options).unwrap()
    }

    pub fn try_start(&self, database: &Database) -> evergraph::Result<Replica> {
        self.try_start_by(database, |source| Box::new(source))
    }

    /// By way of what `wrap` makes of the source.
    pub fn try_start_by(
        &self,
        database: &Database,
        wrap: impl FnOnce(PostgresSource) -> Box<dyn ReplicaSource>,
    ) -> evergraph::Result<Replica> {
        let mapping = ReplicaMapping { name: "shop.toml".into(), text: self.mapping.clone() };
        let mut options = ReplicaOptions::new(mapping);
        options.slot = Some(self.slot.clone());
        options.slot_alarm_bytes = self.slot_alarm_bytes;
        options.memory_bytes = self.memory_bytes;
        options.temporary = self.folder.path().to_owned();
        options.intervals = FollowIntervals {
            watch: self.looks_every,
            position: Duration::from_millis(500),
            ..FollowIntervals::default()
        };
        let source = PostgresSource::new(self.settings.clone(), CancelFlag::default());
        Replica::start(database.clone(), wrap(source), options, &|_| (), &CancelFlag::default())
    }

    pub fn start(&self, database: &Database) -> Replica {
        self.try_start(database).unwrap()
    }
}

/// Waits for all that the source has now.
pub fn catch_up(replica: &Replica) {
    // The end of the log may be in the middle of a record that nobody has written yet.
    let end = replica.source_position().unwrap();
    assert!(replica.wait(end, WAIT_MAX).unwrap(), "{end} is not here: {:?}", replica.status());
}

/// A database there with `tables`, and one here that follows it and has what it has.
pub fn follow_tables(
    server: &'static TestServer,
    tables: &str,
    mapping: &str,
) -> (TestDatabase, Follower, Database, Replica) {
    follow_tables_by(server, tables, mapping, |source| Box::new(source))
}

/// The same, by way of what `wrap` makes of the source.
pub fn follow_tables_by(
    server: &'static TestServer,
    tables: &str,
    mapping: &str,
    wrap: impl FnOnce(PostgresSource) -> Box<dyn ReplicaSource>,
) -> (TestDatabase, Follower, Database, Replica) {
    let there = server.database();
    there.run(tables);
    let follower = Follower::new(there.settings(), mapping);
    let (database, replica) = follow_by(&follower, wrap);
    (there, follower, database, replica)
}

/// A database of `follower` that has what its source has.
fn follow_by(
    follower: &Follower,
    wrap: impl FnOnce(PostgresSource) -> Box<dyn ReplicaSource>,
) -> (Database, Replica) {
    let database = follower.open();
    let replica = follower.try_start_by(&database, wrap).unwrap();
    catch_up(&replica);
    (database, replica)
}

/// A database there with `tables`, and one here that follows it, and whose looks at the catalogue can be waited for.
pub fn follow_looked_at(
    server: &'static TestServer,
    tables: &str,
    mapping: &str,
) -> (Cut, TestDatabase, Follower, Database, Replica) {
    let (looks, there) = (Cut::default(), server.database());
    there.run(tables);
    let follower = Follower { looks_every: AWAITED_LOOKS_EVERY, ..Follower::new(there.settings(), mapping) };
    let (database, replica) = follow_by(&follower, |source| Box::new(CutSource::new(source, &looks)));
    (looks, there, follower, database, replica)
}

/// Checks all `cases`, each on a thread that has its name: they wait more than they work.
pub fn at_once<T: Sync>(cases: &[T], name: impl Fn(&T) -> &str, check: impl Fn(&T) + Sync) {
    std::thread::scope(|scope| {
        for case in cases {
            let named = std::thread::Builder::new().name(name(case).to_owned());
            let check = &check;
            named.spawn_scoped(scope, move || check(case)).unwrap();
        }
    });
}
