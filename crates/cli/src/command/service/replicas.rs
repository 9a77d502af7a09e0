//! Replicas of a server: databases that follow a PostgreSQL database while they are served.
//!
//! ```text
//! [[serve.replica]] ──> opened as the others ──> a thread copies, if it is new ──> follows ──> paused, stopped
//!                            ^      │                    │                                       │  SIGHUP
//!                            │      │                    └──────────── failed ───────────────────┴──> again
//!                            └──> closed by an administrator: another process may open it, as to resync
//! ```

use crate::amount;
use crate::command::replica::run::{FollowingArguments, stop};
use crate::command::replica::samples::{samples, state_samples};
use crate::command::replica::status::{KEEPS_LOG, left_copy};
use crate::command::service::serving::Companion;
use crate::settings::inline_table::InlineTable;
use clap::Args;
use evergraph::Database;
use evergraph::ownership::Ownership;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_replica::copy::options::CopyProgress;
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::resync::recover;
use evergraph_replica::status::ReplicaState;
use evergraph_server::databases::catalogue::DatabaseCatalogue;
use evergraph_server::databases::follower::DatabaseFollower;
use evergraph_server::databases::name::name_of;
use evergraph_server::databases::write_health::WriteHealth;
use evergraph_server::log::target;
use evergraph_server::metric_samples::DatabaseSample;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// What to do when a replica could not begin.
const BEGIN_AGAIN: &str = "mend what it names, then send the server SIGHUP";
/// The same, if its database takes no more commits.
const OPEN_AGAIN: &str = "mend what it names, then close the database and open it again, by POST /databases/NAME/close and \
                          /databases/NAME/open";

/// Databases of a server that follow a source.
#[derive(Args, Debug)]
pub struct ReplicaArguments {
    /// Follow a PostgreSQL database and serve its graph; `database`, `source` and `mapping` are needed, `publication`, `slot`,
    /// `memory`, `transaction-memory` and `slot-alarm` are as of evergraph replica run. In a settings file each is a table [[serve.replica]].
    #[arg(long = "replica", value_name = "KEY = VALUE, ...", help_heading = "Replicas")]
    pub replicas: Vec<InlineTable>,
}

/// A replica, as a table of a settings file says it.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ReplicaTable {
    database: PathBuf,
    source: String,
    mapping: PathBuf,
    publication: Option<String>,
    slot: Option<String>,
    #[serde(default = "gibibyte")]
    memory: String,
    #[serde(default = "gibibyte")]
    transaction_memory: String,
    #[serde(default = "gibibyte")]
    slot_alarm: String,
}

fn gibibyte() -> String {
    "1GiB".to_owned()
}

/// A replica that is to be served.
#[derive(Debug)]
pub struct ReplicaSetting {
    /// The folder of its database.
    pub database: PathBuf,
    following: FollowingArguments,
}

impl ReplicaArguments {
    /// What they say.
    ///
    /// # Errors
    /// `invalid` for what is no such table, by its key.
    pub fn settings(&self) -> Result<Vec<ReplicaSetting>> {
        self.replicas.iter().map(|table| table.read::<ReplicaTable>("--replica")?.setting()).collect()
    }
}

impl ReplicaTable {
    fn setting(self) -> Result<ReplicaSetting> {
        let size = |key: &str, text: &str| {
            amount::memory(text).map_err(|why| Error::invalid(format!("--replica: {key}: {why}")))
        };
        let following = FollowingArguments {
            source: self.source.parse().expect("any text may be a source"),
            mapping: self.mapping,
            publication: self.publication,
            slot: self.slot,
            memory: size("memory", &self.memory)?,
            transaction_memory: size("transaction-memory", &self.transaction_memory)?,
            slot_alarm: size("slot-alarm", &self.slot_alarm)?,
        };
        Ok(ReplicaSetting { database: self.database, following })
    }
}

/// The replicas of a server.
#[derive(Default)]
pub struct ServedReplicas(Vec<Arc<ServedReplica>>);

/// A database that is served and follows.
struct ServedReplica {
    name: Arc<str>,
    setting: ReplicaSetting,
    phase: Mutex<Phase>,
    /// Held to begin and to end, one after the other.
    lifecycle: Mutex<Lifecycle>,
    /// The state that the log was told last, and the newest error.
    told: Mutex<(&'static str, Option<String>)>,
}

/// What begins and ends with the opening of the database.
#[derive(Default)]
struct Lifecycle {
    /// The database, while it is open.
    database: Option<Database>,
    starting: Option<(JoinHandle<()>, CancelFlag)>,
}

enum Phase {
    /// It checks and copies, or goes on with what was copied before: the name of that state, and how far it is.
    Starting(&'static str, String),
    Running(Arc<Replica>),
    /// It could not begin: why, and what to do. The ownership keeps a database without a graph so until the next attempt, which
    /// needs it like that.
    Failed(String, &'static str, Option<Ownership>),
    Ended,
}

impl ServedReplicas {
    /// Makes databases of `catalogue`, which have been opened, follow as `settings` say; copies go on in the background.
    ///
    /// # Errors
    /// `io` if the system refuses threads.
    pub fn follow(settings: Vec<ReplicaSetting>, catalogue: &DatabaseCatalogue) -> Result<Self> {
        let mut replicas = Self::default();
        for setting in settings {
            let name: Arc<str> = name_of(&setting.database)?.into();
            let served = catalogue.get(&name).expect("it was opened with the catalogue");
            let replica = Arc::new(ServedReplica {
                name,
                setting,
                phase: Mutex::new(Phase::Ended),
                lifecycle: Mutex::default(),
                told: Mutex::default(),
            });
            replicas.0.push(Arc::clone(&replica));
            served.follow(replica)?;
        }
        Ok(replicas)
    }

    /// Stops them all, before their databases are closed.
    pub fn stop(&self) {
        for replica in &self.0 {
            if let Err(error) = replica.end() {
                tracing::error!(target: target::SERVER, database = &*replica.name, "stop its replica: {error}");
            }
        }
    }
}

impl Companion for ServedReplicas {
    /// Starts those again that have paused, were stopped, or could not begin.
    fn begin_again(&self) {
        for replica in &self.0 {
            if let Err(error) = replica.start_again() {
                tracing::error!(target: target::SERVER, database = &*replica.name, "start its replica again: {error}");
            }
        }
    }

    /// Writes to the log what changed.
    fn look_after(&self) {
        self.0.iter().for_each(|replica| replica.log_change());
    }
}

impl ServedReplica {
    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lifecycle(&self) -> MutexGuard<'_, Lifecycle> {
        self.lifecycle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins in `database`, on a thread of its own.
    fn begin_in(self: &Arc<Self>, database: Database, lifecycle: &mut Lifecycle) -> Result<()> {
        if let Some(copy) = left_copy(&self.setting.database)? {
            tracing::warn!(target: target::SERVER, database = &*self.name, "{copy}: {KEEPS_LOG}");
        }
        let cancel = CancelFlag::default();
        // A database that follows already copies nothing. What cannot be read of it is told by the start.
        let state = match Replica::follows(&database) {
            Ok(true) => ReplicaState::Reconnecting,
            _ => ReplicaState::Copying,
        };
        *self.phase() = Phase::Starting(state.name(), "checking".to_owned());
        let (replica, flag) = (Arc::clone(self), cancel.clone());
        let work = move || {
            let started = replica.started(database.clone(), &flag);
            *replica.phase() = match started {
                Ok(started) => Phase::Running(Arc::new(started)),
                // A graph that could not be written, as on a full disk, leaves a database that takes no more commits.
                Err(error) if WriteHealth::of(&database).reason().is_some() => {
                    Phase::Failed(error.to_string(), OPEN_AGAIN, None)
                }
                Err(error) => Phase::Failed(error.to_string(), BEGIN_AGAIN, replica.kept_empty(&database)),
            };
        };
        let thread = thread::Builder::new().name("server-replica".to_owned()).spawn(work);
        let thread = thread.map_err(|error| {
            Error::new(ErrorKind::Io, format!("start a thread for a replica: {error}")).because(error)
        })?;
        lifecycle.starting = Some((thread, cancel));
        Ok(())
    }

    fn started(&self, database: Database, cancel: &CancelFlag) -> Result<Replica> {
        let ReplicaSetting { database: path, following } = &self.setting;
        let options = following.options(path)?;
        let source = following.source.source(cancel)?;
        let progress = |progress: &CopyProgress| {
            let text = match &progress.wait {
                Some(wait) => wait.to_string(),
                None => format!("{} rows of {}", progress.rows, progress.table),
            };
            let mut phase = self.phase();
            if progress.wait.is_some() && !matches!(&*phase, Phase::Starting(_, before) if *before == text) {
                tracing::warn!(target: target::SERVER, database = &*self.name, "its replica waits: {text}");
            }
            *phase = Phase::Starting(ReplicaState::Copying.name(), text);
        };
        Replica::start(database, Box::new(source), options, &progress, cancel)
    }

    /// Its status, without what is beside its database.
    fn own_status(&self) -> Json {
        let replica = match &*self.phase() {
            Phase::Starting(state, progress) => return json!({"state": state, "progress": progress}),
            Phase::Failed(cause, remedy, _) => {
                return json!({"state": "paused", "cause": cause, "remedy": remedy});
            }
            Phase::Ended => return json!({"state": "stopped"}),
            Phase::Running(replica) => Arc::clone(replica),
        };
        serde_json::to_value(replica.status()).expect("a status is a document")
    }

    /// Refuses what clients write to a database that has no graph and follows nothing yet.
    fn kept_empty(&self, database: &Database) -> Option<Ownership> {
        let is_empty = database.statistics().is_ok_and(|statistics| statistics.vertices_count() == 0);
        if !is_empty || database.source().is_some() {
            return None;
        }
        let source = &self.setting.following.source;
        let place = source.source(&CancelFlag::default()).map(|source| source.settings().place());
        // Of a database that cannot be owned nothing is lost but this.
        database.own(&place.unwrap_or_else(|_| source.to_string())).ok()
    }

    fn start_again(self: &Arc<Self>) -> Result<()> {
        let mut lifecycle = self.lifecycle();
        let Some(database) = lifecycle.database.clone() else { return Ok(()) };
        let is_over = match &*self.phase() {
            Phase::Starting(..) | Phase::Ended => false,
            Phase::Failed(..) => true,
            Phase::Running(replica) => {
                matches!(replica.status().state, ReplicaState::Paused { .. } | ReplicaState::Stopped)
            }
        };
        if !is_over {
            return Ok(());
        }
        self.end_in(&mut lifecycle)?;
        self.begin_in(database, &mut lifecycle)
    }

    /// Ends a copy that is under way, and following.
    fn end_in(&self, lifecycle: &mut Lifecycle) -> Result<()> {
        if let Some((thread, cancel)) = lifecycle.starting.take() {
            cancel.cancel();
            thread.join().expect("starting a replica does not panic");
        }
        let phase = std::mem::replace(&mut *self.phase(), Phase::Ended);
        match phase {
            Phase::Running(replica) => stop(replica),
            // What is not given back names the same source.
            Phase::Failed(_, _, Some(ownership)) => {
                let _kept = ownership.release();
                Ok(())
            }
            Phase::Starting(..) | Phase::Failed(..) | Phase::Ended => Ok(()),
        }
    }

    /// Its state, and what to say of it.
    fn state(&self) -> (&'static str, Option<String>) {
        match &*self.phase() {
            Phase::Starting(state, _) => (state, None),
            Phase::Failed(why, ..) => ("failed", Some(why.clone())),
            Phase::Ended => (ReplicaState::Stopped.name(), None),
            Phase::Running(replica) => {
                let status = replica.status();
                let pause = status.state.pause().map(|pause| pause.to_string());
                let error = status.last_error.filter(|_| status.state == ReplicaState::Reconnecting);
                (status.state.name(), pause.or(error))
            }
        }
    }

    fn last_error(&self) -> Option<String> {
        match &*self.phase() {
            Phase::Running(replica) => replica.status().last_error,
            Phase::Starting(..) | Phase::Failed(..) | Phase::Ended => None,
        }
    }

    fn log_change(&self) {
        let (state, why) = self.state();
        let error = self.last_error();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let database = &*self.name;
        if told.0 == state {
            if let Some(error) = error.as_ref().filter(|error| told.1.as_ref() != Some(error)) {
                tracing::warn!(target: target::SERVER, database, "its replica is {state}: {error}");
                told.1 = Some(error.clone());
            }
            return;
        }
        *told = (state, error);
        match (state, why) {
            ("paused" | "failed", why) => {
                let why = why.unwrap_or_default();
                tracing::error!(target: target::SERVER, database, "its replica has paused: {why}");
            }
            (_, Some(why)) => {
                tracing::warn!(target: target::SERVER, database, "its replica is {state}: {why}")
            }
            _ => tracing::info!(target: target::SERVER, database, "its replica is {state}"),
        }
    }
}

impl DatabaseFollower for ServedReplica {
    fn prepare(&self) -> Result<()> {
        recover(&self.setting.database)
    }

    fn begin(self: Arc<Self>, database: &Database) -> Result<()> {
        let mut lifecycle = self.lifecycle();
        lifecycle.database = Some(database.clone());
        self.begin_in(database.clone(), &mut lifecycle)
    }

    fn end(&self) -> Result<()> {
        let mut lifecycle = self.lifecycle();
        lifecycle.database = None;
        self.end_in(&mut lifecycle)
    }

    fn status(&self) -> Json {
        let mut status = self.own_status();
        status["copy"] = json!(left_copy(&self.setting.database).unwrap_or_default());
        status
    }

    fn problem(&self) -> Option<String> {
        let text = match self.state().0 {
            "following" => return None,
            "copying" => "a replica copies its source",
            "reconnecting" => "a replica does not follow at the moment: its status says why",
            "stopped" => "a replica was stopped",
            _ => "a replica has paused: its status says why",
        };
        Some(text.to_owned())
    }

    fn samples(&self) -> Vec<DatabaseSample> {
        let present = match &*self.phase() {
            Phase::Running(replica) => return samples(replica),
            Phase::Starting(state, _) => state,
            // As its status says.
            Phase::Failed(..) => "paused",
            Phase::Ended => "stopped",
        };
        state_samples(present).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<ReplicaSetting>> {
        ReplicaArguments { replicas: vec![text.parse().expect("any text is taken")] }.settings()
    }

    #[test]
    fn a_table_says_what_a_database_follows_and_how() {
        let needed = "database = 'shop.eg', source = 'postgres://ann@h/shop', mapping = 'shop.toml'";
        let settings = read(needed).unwrap();
        assert_eq!((settings[0].database.to_str(), settings[0].following.memory), (Some("shop.eg"), 1 << 30));
        let settings = read(&format!(
            "{needed}, slot = 's', memory = '2GiB', transaction-memory = '4GiB', slot-alarm = '3MiB'"
        ))
        .unwrap();
        let FollowingArguments { slot, memory, transaction_memory, slot_alarm, .. } = &settings[0].following;
        assert_eq!((slot.as_deref(), *memory, *slot_alarm), (Some("s"), 2 << 30, 3 << 20));
        assert_eq!(*transaction_memory, 4 << 30);
        for (text, word) in [
            ("database = 'a.eg', mapping = 'm.toml'", "missing field `source`"),
            (&format!("{needed}, memory = 'much'"), "memory: expected a size"),
            (&format!("{needed}, sourse = 'x'"), "unknown field `sourse`"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
