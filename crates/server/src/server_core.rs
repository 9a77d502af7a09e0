//! Server core: what all connections of a server share.

use crate::algorithm::threads::AlgorithmThreads;
use crate::databases::catalogue::DatabaseCatalogue;
use crate::jobs::registry::Jobs;
use crate::jobs::resources::JobResources;
use crate::message_meter::MessageRoom;
use crate::metrics::Metrics;
use crate::options::ServerOptions;
use crate::query_registry::QueryRegistry;
use crate::scheduler::Scheduler;
use crate::security::access::{Principal, Rights};
use crate::security::audit::AuditLog;
use crate::security::authenticator::{Authenticator, Login};
use crate::security::quota::Quotas;
use crate::session_owners::SessionOwners;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What all connections share.
pub struct ServerCore {
    /// The databases.
    pub databases: Arc<DatabaseCatalogue>,
    /// Limits.
    pub options: ServerOptions,
    /// Who runs requests.
    pub scheduler: Scheduler,
    /// Who computes algorithms.
    pub algorithm_threads: Arc<AlgorithmThreads>,
    /// Long work.
    pub jobs: Arc<Jobs>,
    /// Folders that long work may use.
    pub job_resources: Arc<JobResources>,
    /// Which connection a session belongs to.
    pub session_owners: SessionOwners,
    /// Requests that run.
    pub queries: Arc<QueryRegistry>,
    /// Numbers connections and requests.
    pub next_number: AtomicU64,
    /// Verifies log-ins; `None` if there are no users.
    pub authenticator: Option<Arc<Authenticator>>,
    /// Where log-ins and refusals are written.
    pub audit: Arc<AuditLog>,
    /// What is counted and measured.
    pub metrics: Arc<Metrics>,
    /// What users have open.
    pub quotas: Arc<Quotas>,
    /// Room for messages of WebSockets.
    pub messages: Arc<MessageRoom>,
}

impl ServerCore {
    /// A client at `address`, who has logged in if there are users.
    #[must_use]
    pub fn principal(&self, address: IpAddr, login: Option<Arc<Login>>) -> Principal {
        let rights = match (&self.authenticator, login) {
            (None, _) => Rights::Everybody,
            (Some(authenticator), Some(login)) => Rights::User(Arc::clone(authenticator), login),
            (Some(_), None) => Rights::Nobody,
        };
        Principal::new(address, Arc::clone(&self.audit), rights)
    }
}
