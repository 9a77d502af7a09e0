//! Query registry: the requests that run now, by numbers of the server's own: ids of requests come from clients, and may repeat.
//!
//! ```text
//! enter ──> guard, dropped at the end          cancel(id) ──> flag ──> its task wakes and ends
//! ```

use crate::log::line::timestamp;
use crate::scheduler::{Progress, TaskHandle, WeakTaskHandle};
use crate::security::access::{Access, Principal};
use crate::security::role::Role;
use evergraph_graph::cancel::CancelFlag;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::normalise::{normalised_bytecode, normalised_text};
use evergraph_storage::planted::{Bug, planted};
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};
use uuid::Uuid;

/// Bytes of a query in a list.
const TEXT_BYTES_MAX: usize = 4096;

/// What a request runs, as its client said it.
#[derive(Clone)]
pub enum RunningText {
    /// A query.
    Text(Arc<str>),
    /// A query as bytecode.
    Bytecode(Arc<Bytecode>),
    /// What is neither, in words of ours that hold no values.
    Other(&'static str),
}

/// The requests that run now.
///
/// Concurrency: one lock, held to enter, to remove and to list; nothing runs within it.
#[derive(Default)]
pub struct QueryRegistry {
    next_id: AtomicU64,
    running: Mutex<BTreeMap<u64, Arc<RunningQuery>>>,
}

/// A request that runs.
struct RunningQuery {
    text: RunningText,
    access: Access,
    request: Option<Uuid>,
    began: Instant,
    began_at: SystemTime,
    cancel: CancelFlag,
    /// Whether somebody cancelled it by its number. Relaxed: the flag publishes it.
    is_cancelled: AtomicBool,
    progress: Mutex<QueryProgress>,
}

/// What a request does at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QueryState {
    /// It waits for a thread.
    #[default]
    Ready,
    /// It has one.
    Running,
    /// It waits for its client to read.
    Waiting,
    /// It waits for its commit to be durable.
    Committing,
    /// Somebody cancelled it, and it has not ended yet.
    Cancelling,
}

impl QueryState {
    /// Its name in lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Committing => "committing",
            Self::Cancelling => "cancelling",
        }
    }
}

#[derive(Default)]
struct QueryProgress {
    state: QueryState,
    /// Woken when it is cancelled: it may wait for its client.
    task: Option<WeakTaskHandle>,
}

/// A request in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryEntry {
    /// Its number.
    pub id: u64,
    /// The id that its client gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Its database.
    pub database: String,
    /// Its user; `null` if there are no users.
    pub user: Option<String>,
    /// Where the client is.
    pub address: IpAddr,
    /// When it began.
    pub since: String,
    /// How long ago that was.
    pub elapsed_ms: u64,
    /// What it does at the moment.
    pub state: &'static str,
    /// The query, cut off behind 4 KiB: without its values, unless it is one's own.
    pub text: String,
}

/// What came of cancelling a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CancelledQuery {
    /// Its user.
    pub user: Option<String>,
    /// Its database.
    pub database: String,
}

/// A request that runs, until this is dropped.
pub struct QueryGuard {
    registry: Arc<QueryRegistry>,
    id: u64,
    query: Arc<RunningQuery>,
}

impl QueryRegistry {
    /// Enters a request that runs with `access`, and that `cancel` stops. `request` is the id that its client gave it.
    #[must_use]
    pub fn enter(
        self: &Arc<Self>,
        text: RunningText,
        access: Access,
        request: Option<Uuid>,
        cancel: CancelFlag,
    ) -> QueryGuard {
        let query = Arc::new(RunningQuery {
            text,
            access,
            request,
            began: Instant::now(),
            began_at: SystemTime::now(),
            cancel,
            is_cancelled: AtomicBool::new(false),
            progress: Mutex::default(),
        });
        // From 1 on.
        let id = self.next_id.fetch_add(1, Ordering::Relaxed) + 1;
        self.running().insert(id, Arc::clone(&query));
        QueryGuard { registry: Arc::clone(self), id, query }
    }

    /// Those that `principal` may see, from the oldest: its own, and those of databases that it administers.
    #[must_use]
    pub fn list(&self, principal: &Principal) -> Vec<QueryEntry> {
        let running: Vec<(u64, Arc<RunningQuery>)> =
            self.running().iter().map(|(id, query)| (*id, Arc::clone(query))).collect();
        let seen = running.iter().filter(|(_, query)| query.is_seen_by(principal));
        seen.map(|(id, query)| query.entry(*id, principal)).collect()
    }

    /// Cancels the request `id`, if there is one that `principal` may see. It ends soon, but one whose commit waits for the
    /// disk.
    pub fn cancel(&self, id: u64, principal: &Principal) -> Option<CancelledQuery> {
        let query = self.running().get(&id).cloned();
        let query = query.filter(|query| query.is_seen_by(principal))?;
        query.is_cancelled.store(true, Ordering::Relaxed);
        query.cancel.cancel();
        let task = query.progress().task.clone();
        if let Some(task) = task {
            task.wake();
        }
        let (user, database) = (query.access.user().map(str::to_owned), query.access.database().to_owned());
        Some(CancelledQuery { user, database })
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<RunningQuery>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunningQuery {
    fn is_of(&self, principal: &Principal) -> bool {
        self.access.user() == principal.user()
    }

    fn is_seen_by(&self, principal: &Principal) -> bool {
        let role = principal.role_on(self.access.database());
        self.is_of(principal) || matches!(role, Ok(Some(Role::Admin))) || planted(Bug::QueriesOfOthersTold)
    }

    fn entry(&self, id: u64, principal: &Principal) -> QueryEntry {
        let text = match &self.text {
            RunningText::Text(text) if self.is_of(principal) => beginning(text).to_owned(),
            RunningText::Text(text) => normalised_text(text, TEXT_BYTES_MAX),
            RunningText::Bytecode(bytecode) => normalised_bytecode(bytecode, TEXT_BYTES_MAX),
            RunningText::Other(text) => (*text).to_owned(),
        };
        let state = match self.is_cancelled.load(Ordering::Relaxed) {
            true => QueryState::Cancelling,
            false => self.progress().state,
        };
        QueryEntry {
            id,
            request_id: self.request.map(|id| id.to_string()),
            database: self.access.database().to_owned(),
            user: self.access.user().map(str::to_owned),
            address: self.access.address(),
            since: timestamp(self.began_at),
            elapsed_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            state: state.name(),
            text,
        }
    }

    fn progress(&self) -> MutexGuard<'_, QueryProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueryGuard {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether somebody cancelled it by its number.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.query.is_cancelled.load(Ordering::Relaxed)
    }

    /// Notes that it has a thread. `task` is woken when it is cancelled.
    pub fn begin_slice(&self, task: &TaskHandle) {
        let mut progress = self.query.progress();
        progress.state = QueryState::Running;
        progress.task.get_or_insert_with(|| task.downgrade());
    }

    /// Notes that it gives its thread back, to wait for what `waits_for` says if it has nothing to do.
    pub fn end_slice(&self, progress: Progress, waits_for: QueryState) {
        self.query.progress().state = match progress {
            Progress::Waiting => waits_for,
            Progress::Ready | Progress::Done => QueryState::Ready,
        };
    }
}

impl Drop for QueryGuard {
    fn drop(&mut self) {
        let ended = self.registry.running().remove(&self.id);
        drop(ended);
    }
}

/// As much of `text` as a list has.
fn beginning(text: &str) -> &str {
    let end = (0..=TEXT_BYTES_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_off_between_letters() {
        assert_eq!(beginning("g.V()"), "g.V()");
        let long = "ä".repeat(TEXT_BYTES_MAX);
        assert_eq!(beginning(&format!("x{long}")).len(), TEXT_BYTES_MAX - 1);
    }
}
