//! A replica, its source, or both are killed while the replica copies, follows, makes checkpoints and opens: it goes on each time,
//! and is equal to SQL's rows whenever that is asked. Every kill finds its process alive, except a copy whose source was killed
//! first. At least one kill comes before a copy is done, each one of a checkpoint before that is done. Of the replicas that were
//! killed while they followed, enough had applied rows.
//!
//! `EVERGRAPH_REPLICA_KILLS` sets the number of kills (50), `EVERGRAPH_KILL_SEED` the moments.

use crate::moments::{Moments, number, timed};
use crate::running_replica::{LOOK_EVERY, RunningReplica};
use crate::skips::skip;
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::private_server::{HOW_TO_INSTALL, PrivateServer, PrivateServerOptions};
use evergraph_replica::source::postgres::connection::Connection;
use evergraph_replica::source::postgres::settings::ConnectionSettings;
use evergraph_replica::wire::startup::Purpose;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

/// Few rows: each comparison and each copy reads all of them.
const TABLES: &str = "
    CREATE TABLE owner (id int PRIMARY KEY, name text NOT NULL);
    CREATE TABLE item (id int PRIMARY KEY, owner_id int REFERENCES owner ON DELETE CASCADE, title text NOT NULL);
    CREATE INDEX ON item (owner_id);
    INSERT INTO owner SELECT n, 'owner ' || n FROM generate_series(0, 59) n;
    INSERT INTO item SELECT n, n % 60, 'item ' || n FROM generate_series(0, 1499) n; ANALYZE";

const MAPPING: &str = "[[table]]\ntable = 'owner'\nlabel = 'Owner'\n\
    [[table]]\ntable = 'item'\nlabel = 'Item'\n\
    edge = [{ type = 'OF', column = 'owner_id', space = 'Owner' }]\n";

/// The database that is killed again and again.
const DATABASE: &str = "shop.eg";
/// The slot of [`DATABASE`].
const SLOT: &str = "shop";
/// One that is new each time.
const COPY: &str = "copy.eg";

/// Kills of this test.
const KILLS: u64 = 50;
/// Each so many kills the graph is compared with SQL.
const VERIFY_EVERY: u64 = 10;
/// What is killed, and what the replica is doing then: of each so many kills.
const ROUND: [(KillTarget, ReplicaTask); 10] = [
    (KillTarget::Replica, ReplicaTask::Following),
    (KillTarget::Source, ReplicaTask::Following),
    (KillTarget::Replica, ReplicaTask::Checkpoint),
    (KillTarget::Replica, ReplicaTask::Following),
    (KillTarget::Replica, ReplicaTask::Copy),
    (KillTarget::Both, ReplicaTask::Following),
    (KillTarget::Replica, ReplicaTask::Following),
    (KillTarget::Replica, ReplicaTask::Checkpoint),
    (KillTarget::Source, ReplicaTask::Following),
    (KillTarget::Both, ReplicaTask::Copy),
];
/// The longest rest between two transactions: what is written must be followed, too.
const REST_MAX: Duration = Duration::from_millis(50);
/// The longest time from the moment when a replica follows, or comes back to its source, to the kill.
const FOLLOWING_TIME_MAX: Duration = Duration::from_millis(300);
/// The longest time from the moment when a replica begins to copy to the kill: it may have begun to follow.
const COPY_TIME_MAX: Duration = Duration::from_millis(300);
/// Of so many kills, one waits for no such moment: the process starts, opens its database and connects.
const STARTS_OF: u64 = 5;
/// Little: the writer's transactions add about as much to the log until the replica looks again whether a checkpoint is due.
const CHECKPOINT_AFTER_BYTES: &str = "16384";
/// How often it is looked whether a copy or a checkpoint has begun, or is done.
const STEP_LOOK_EVERY: Duration = Duration::from_millis(5);
/// Kills until one comes before the end of a checkpoint. The moments are chosen so that most do.
const CHECKPOINT_TRIES_MAX: u64 = 20;
/// Kills of new replicas until one comes before the end of its copy.
const COPY_TRIES_MAX: u64 = 20;
/// Of replicas that were killed while they followed, so many in a hundred had applied something, at least. Those of checkpoints do
/// not count: a checkpoint begins after rows were applied.
const MOVED_PERCENT_MIN: u64 = 25;
/// Without passwords: a test build computes thousands of hashes for each log-in, slowly.
const HOST_RULES: &str = "local all all trust\nhost all,replication all 127.0.0.1/32 trust\n";

/// What is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KillTarget {
    Replica,
    /// PostgreSQL alone: the replica goes on by itself.
    Source,
    Both,
}

/// What the replica is doing then.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplicaTask {
    /// It follows; sometimes it opens its database and connects.
    Following,
    /// It follows, and makes a checkpoint beside that.
    Checkpoint,
    /// The copy of a new replica, or following right behind it.
    Copy,
}

fn connect(settings: &ConnectionSettings) -> Option<Connection> {
    let mut connection = Connection::open(settings, Purpose::Queries, &CancelFlag::default()).ok()?;
    connection.query("prepare a test at", "SET search_path = public").ok()?;
    Some(connection)
}

/// A random transaction: rows come, change, go, in small and in streamed transactions, some of them rolled back in part.
/// 130 rows of 600 bytes are more than `logical_decoding_work_mem`, and cost less to follow than as many bytes of small rows.
fn transaction(moments: &mut Moments) -> String {
    let mut sql = "BEGIN".to_owned();
    for _ in 0..=moments.below(4) {
        let (owner, item) = (moments.below(60), moments.below(2000));
        let statement = match moments.below(8) {
            0 => format!("DELETE FROM item WHERE id = {item}"),
            1 => format!(
                "SAVEPOINT s; UPDATE item SET title = repeat('y', 600) WHERE id BETWEEN {item} AND {item} + 130; \
                 DELETE FROM item WHERE id BETWEEN {item} AND {item} + 130; ROLLBACK TO s"
            ),
            2 => format!("DELETE FROM owner WHERE id = {owner}"),
            3 => format!(
                "UPDATE item SET id = id + 100000 WHERE id = {item} AND NOT EXISTS (SELECT FROM item WHERE id = {item} + 100000)"
            ),
            4 => format!(
                "INSERT INTO item SELECT n, NULL, repeat('x', 600) || {owner} FROM generate_series({item}, {item} + 130) n \
                 ON CONFLICT (id) DO UPDATE SET title = excluded.title"
            ),
            5 => format!("UPDATE owner SET name = name || '+' WHERE id = {owner}"),
            _ => format!(
                "INSERT INTO owner VALUES ({owner}, 'new') ON CONFLICT (id) DO UPDATE SET name = excluded.name; \
                 INSERT INTO item VALUES ({item}, {owner}, 'new') ON CONFLICT (id) DO UPDATE SET owner_id = excluded.owner_id"
            ),
        };
        sql.push_str("; ");
        sql.push_str(&statement);
    }
    sql.push_str(if moments.below(10) == 0 { "; ROLLBACK" } else { "; COMMIT" });
    sql
}

/// Writes until `is_over`, over every crash of the server; counts transactions.
fn write(settings: &ConnectionSettings, is_over: &AtomicBool, written: &AtomicU64, mut moments: Moments) {
    let mut connection = connect(settings);
    while !is_over.load(Ordering::Relaxed) {
        let sql = transaction(&mut moments);
        let done = connection.as_mut().map(|connection| connection.query("write a test's rows to", &sql));
        match done {
            Some(Ok(_)) => {
                written.fetch_add(1, Ordering::Relaxed);
                thread::sleep(moments.within(REST_MAX));
            }
            Some(Err(error)) if !error.is_transient() => panic!("{sql}: {error}"),
            _ => {
                thread::sleep(Duration::from_millis(20));
                connection = connect(settings);
            }
        }
    }
}

struct Replica<'a> {
    folder: &'a Path,
    url: String,
}

impl Replica<'_> {
    fn command(&self, database: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph"));
        command.args(["replica", arguments[0], database]).args(&arguments[1..]);
        command.args(["--source", &self.url]);
        if arguments[0] != "detach" {
            command.args(["--mapping", "shop.toml"]);
        }
        command.current_dir(self.folder).stdin(Stdio::null());
        command
    }

    fn start(&self, database: &str, options: &[&str]) -> RunningReplica {
        RunningReplica::start(self.command(database, &["run"]).args(options))
    }

    /// Runs a command to its end, which succeeds; what it said.
    fn succeed(&self, database: &str, arguments: &[&str]) -> String {
        let output = self.command(database, arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(output.status.success(), "{arguments:?}: {}: {said}", output.status);
        said
    }
}

/// Transactions that were streamed before their ends since the server started.
fn streamed(settings: &ConnectionSettings) -> u64 {
    let mut connection = connect(settings).unwrap();
    let sql = "SELECT coalesce(sum(stream_txns), 0) FROM pg_stat_replication_slots";
    let rows = connection.query("count the streamed transactions of", sql).unwrap();
    rows[0][0].as_ref().unwrap().parse().unwrap()
}

/// The names of its replication slots.
fn slots_of(settings: &ConnectionSettings) -> Vec<String> {
    let sql = "SELECT slot_name FROM pg_replication_slots";
    let rows = connect(settings).unwrap().query("list the slots of", sql).unwrap();
    rows.into_iter().map(|row| row[0].clone().unwrap()).collect()
}

/// Waits until `running` reads from its slot again. A server that has just started has no other reader.
fn wait_for_return(settings: &ConnectionSettings, running: &mut RunningReplica) {
    let mut connection = connect(settings).unwrap();
    let sql = "SELECT 1 FROM pg_replication_slots WHERE active";
    running.wait_until("it comes back to its source", LOOK_EVERY, |_| {
        !connection.query("look for readers of", sql).unwrap().is_empty()
    });
}

/// When the manifest of the database in `folder` was written, which is the last step of a checkpoint.
fn manifest_written_at(folder: &Path) -> SystemTime {
    folder.join("manifest").metadata().unwrap().modified().unwrap()
}

/// The newest file of bodies in `folder`, which is the first thing that a checkpoint makes.
fn newest_bodies(folder: &Path) -> Option<String> {
    let entries = folder.read_dir().unwrap();
    let names = entries.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    names.filter(|name| name.starts_with("bodies-")).max()
}

/// Waits until `running`, whose database is in `folder`, has begun a checkpoint. When the manifest from before it was written: for
/// as long as that stays so, the checkpoint is not done.
fn wait_for_checkpoint(running: &mut RunningReplica, folder: &Path) -> SystemTime {
    // The manifest before the files: what is written meanwhile is taken for one that is done.
    let look = || (manifest_written_at(folder), newest_bodies(folder));
    let (mut manifest, mut bodies) = look();
    running.wait_until("it begins a checkpoint", STEP_LOOK_EVERY, |_| {
        let now = look();
        let has_begun = now.1 > bodies;
        if !has_begun {
            (manifest, bodies) = now;
        }
        has_begun
    });
    manifest
}

/// Kills, and what came of them.
struct Kills<'a> {
    replica: &'a Replica<'a>,
    server: &'a mut PrivateServer,
    settings: &'a ConnectionSettings,
    moments: Moments,
    /// How many there were of each [`KillTarget`], in their order.
    by_target: [u64; 3],
    copies: u64,
    /// How many of these replicas were killed before they followed.
    within_copies: u64,
    /// How many of these replicas ended with an error of their source.
    failed_copies: u64,
    checkpoints: u64,
    /// Replicas that were killed at [`ReplicaTask::Following`].
    followers: u64,
    /// How many of them had applied something.
    moved: u64,
    streamed: u64,
    comparisons: u64,
}

impl Kills<'_> {
    /// Kills `target` at a moment of `task`.
    fn kill(&mut self, target: KillTarget, task: ReplicaTask) {
        match task {
            ReplicaTask::Following => self.kill_following(target),
            ReplicaTask::Checkpoint => self.kill_within_checkpoint(),
            ReplicaTask::Copy => self.kill_copying(target),
        }
        self.by_target[target as usize] += 1;
    }

    fn kill_following(&mut self, target: KillTarget) {
        let mut running = self.replica.start(DATABASE, &[]);
        if self.moments.below(STARTS_OF) > 0 {
            running.wait_until_it_follows();
        }
        thread::sleep(self.moments.within(FOLLOWING_TIME_MAX));
        let is_source_first = match target {
            KillTarget::Replica => false,
            KillTarget::Source => true,
            // The replica looks for its source when it is killed, or is at work.
            KillTarget::Both => self.tosses_for_source(),
        };
        if is_source_first {
            self.kill_source();
        }
        if target == KillTarget::Source {
            self.server.start_again().unwrap();
            wait_for_return(self.settings, &mut running);
            // So that the next one can open the database, and at a moment of catching up.
            thread::sleep(self.moments.within(FOLLOWING_TIME_MAX));
        }
        self.followers += 1;
        self.moved += u64::from(running.rows() > 0);
        running.kill();
        if target == KillTarget::Both {
            if !is_source_first {
                self.kill_source();
            }
            self.server.start_again().unwrap();
        }
    }

    /// Kills a replica that makes checkpoints again and again, until that comes before the end of one.
    fn kill_within_checkpoint(&mut self) {
        let folder = self.replica.folder.join(DATABASE);
        for _ in 0..CHECKPOINT_TRIES_MAX {
            let mut running =
                self.replica.start(DATABASE, &["--checkpoint-after-bytes", CHECKPOINT_AFTER_BYTES]);
            running.wait_until_it_follows();
            let first = wait_for_checkpoint(&mut running, &folder);
            let is_done = |_: &RunningReplica| manifest_written_at(&folder) != first;
            let takes = timed(|| running.wait_until("its checkpoint is done", STEP_LOOK_EVERY, is_done)).1;
            let second = wait_for_checkpoint(&mut running, &folder);
            thread::sleep(self.moments.within(takes));
            running.kill();
            if manifest_written_at(&folder) == second {
                self.checkpoints += 1;
                return;
            }
        }
        panic!("of {CHECKPOINT_TRIES_MAX} kills none came before the end of a checkpoint");
    }

    fn kill_copying(&mut self, target: KillTarget) {
        let mut running = self.replica.start(COPY, &[]);
        if self.moments.below(STARTS_OF) > 0 {
            let status = self.replica.folder.join(COPY).join("replica.json");
            running.wait_until("it begins to copy", STEP_LOOK_EVERY, |_| status.exists());
        }
        thread::sleep(self.moments.within(COPY_TIME_MAX));
        let is_early = !running.is_following();
        let mut was_killed = true;
        if target == KillTarget::Both && self.tosses_for_source() {
            self.kill_source();
            // A copy whose source is gone ends by itself, unless the kill comes before that.
            if let Some(said) = running.kill_or_end() {
                was_killed = false;
                let source = format!("127.0.0.1:{}", self.server.port());
                let is_of_source = said.contains("error: ") && said.contains(&source);
                assert!(is_of_source, "the copy ended by itself, and its source is not named: {said}");
                self.failed_copies += 1;
            }
            self.server.start_again().unwrap();
        } else {
            running.kill();
            if target == KillTarget::Both {
                self.kill_source();
                self.server.start_again().unwrap();
            }
        }
        self.within_copies += u64::from(is_early && was_killed);
        // It begins again, or goes on, and makes way for the next one.
        self.replica.succeed(COPY, &["run", "--until", "now"]);
        self.compare(COPY);
        self.replica.succeed(COPY, &["detach"]);
        assert_eq!(
            slots_of(self.settings),
            [SLOT],
            "a slot of a copy that failed would keep the source's log for ever"
        );
        std::fs::remove_dir_all(self.replica.folder.join(COPY)).unwrap();
        self.copies += 1;
    }

    /// If new replicas were killed, and none before the end of its copy: kills others until one is.
    fn kill_before_the_end_of_a_copy(&mut self) {
        let first = self.copies;
        while first > 0 && self.within_copies == 0 {
            let tries = self.copies - first;
            assert!(tries < COPY_TRIES_MAX, "of {} copies none was killed before its end", self.copies);
            self.kill(KillTarget::Replica, ReplicaTask::Copy);
        }
    }

    /// Whether the source is killed before the replica.
    fn tosses_for_source(&mut self) -> bool {
        self.moments.below(2) == 0
    }

    /// What the server has counted goes with it.
    fn kill_source(&mut self) {
        self.streamed += streamed(self.settings);
        self.server.kill().unwrap();
    }

    /// Demands that the graph is what SQL says.
    fn compare(&mut self, database: &str) {
        let said = self.replica.succeed(database, &["verify"]);
        assert!(said.contains("is equal to its source at "), "{said}");
        self.comparisons += 1;
    }
}

#[test]
fn a_replica_and_its_source_are_killed_and_the_graph_equals_the_rows() {
    if !PrivateServer::is_possible() {
        return skip(HOW_TO_INSTALL);
    }
    let kills = number("EVERGRAPH_REPLICA_KILLS").unwrap_or(KILLS);
    let settings = ["logical_decoding_work_mem=64kB", "max_replication_slots=50", "max_wal_senders=50"];
    // Without fsync, as every private server: what a process wrote survives its kill, and no power is cut here.
    let options =
        PrivateServerOptions { settings: &settings, host_rules: Some(HOST_RULES), ..Default::default() };
    let mut server = PrivateServer::start(&options).unwrap();
    let settings = server.connection_settings("postgres");
    connect(&settings).unwrap().query("prepare a test at", TABLES).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.toml"), MAPPING).unwrap();
    let replica = Replica { folder: folder.path(), url: server.url("postgres") };
    let (is_over, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let of_writer = Moments::new();
    let mut done = Kills {
        replica: &replica,
        server: &mut server,
        settings: &settings,
        moments: Moments::new(),
        by_target: [0; 3],
        copies: 0,
        within_copies: 0,
        failed_copies: 0,
        checkpoints: 0,
        followers: 0,
        moved: 0,
        streamed: 0,
        comparisons: 0,
    };
    thread::scope(|scope| {
        let (settings, is_over, written) = (&settings, &is_over, &written);
        scope.spawn(move || write(settings, is_over, written, of_writer));
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            replica.succeed(DATABASE, &["run", "--until", "now", "--slot", SLOT]);
            for (kill, (target, task)) in (1..=kills).zip(ROUND.into_iter().cycle()) {
                done.kill(target, task);
                println!("{kill} kills, {} transactions", written.load(Ordering::Relaxed));
                if kill % VERIFY_EVERY == 0 || kill == kills {
                    done.compare(DATABASE);
                }
            }
            done.kill_before_the_end_of_a_copy();
            done.streamed += streamed(settings);
        }));
        is_over.store(true, Ordering::Relaxed);
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
    let written = written.into_inner();
    let Kills { by_target: [of_replica, of_source, of_both], copies, within_copies, failed_copies, .. } =
        done;
    let Kills { checkpoints, followers, moved, streamed, comparisons, .. } = done;
    let kills = of_replica + of_source + of_both;
    println!(
        "{kills} kills, {of_replica} of the replica, {of_source} of PostgreSQL, {of_both} of both; {copies} of a new replica, \
         {within_copies} of them before it followed, {failed_copies} ended with their source; {checkpoints} during a checkpoint; \
         {moved} of {followers} that followed had applied rows; {written} transactions, {streamed} sent before their ends; \
         equal {comparisons} times"
    );
    assert!(written > kills, "hardly anything was written: {written}");
    if kills >= ROUND.len() as u64 {
        assert!(streamed > 0, "no transaction was streamed before its end");
        let wanted = followers * MOVED_PERCENT_MIN / 100;
        assert!(moved >= wanted, "{moved} of {followers} replicas had applied rows when they were killed");
    }
}
