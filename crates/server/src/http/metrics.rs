//! `/metrics`: what is counted of the server and of databases, in Prometheus' text format.
//!
//! Counts of a database are read when they are asked for, and only those of databases on which the user has a role.

use crate::client::Client;
use crate::databases::open_database::DatabaseUse;
use crate::databases::write_health::{WriteHealth, has_failed_checkpoint};
use crate::http::basic_login::log_in;
use crate::http::error::HttpError;
use crate::metric_samples::Samples;
use crate::security::authenticator::Login;
use crate::shared::Shared;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use evergraph_graph::cancel::CancelFlag;
use prometheus_client::encoding::prometheus_text::{CONTENT_TYPE, encode};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::sync::Arc;
use std::time::Duration;

/// Answers with all metrics that the client may see.
pub async fn answer(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let login = log_in(&shared.core, &client, &headers).await?;
    // Counting what an engine has may take a while.
    let reading = tokio::task::spawn_blocking(move || text(&shared, &client, login)).await;
    let text = reading.ok().flatten().ok_or_else(|| HttpError::from(crate::failure::Failure::internal()))?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}

fn text(shared: &Shared, client: &Client, login: Option<Arc<Login>>) -> Option<String> {
    let core = &shared.core;
    let mut registry = Registry::with_prefix("evergraph");
    core.metrics.register(&mut registry);
    registry.register("jobs_ended", "Jobs that ended", core.jobs.ended().clone());
    registry.register("audit_events", "Log-ins, refusals and other events", core.audit.events().clone());
    let mut samples = Samples::default();
    of_server(&mut samples, shared);
    let principal = core.principal(client.address(), login);
    for served in core.databases.all() {
        let Ok(Some(_)) = principal.role_on(served.name()) else { continue };
        of_state(&mut samples, served.name(), served.is_open());
        // Of a database that is not open nothing else is known.
        if let Ok(open) = served.begin(CancelFlag::default()) {
            of_database(&mut samples, served.name(), &open);
        }
        if let Some(follower) = served.follower() {
            samples.add_all(&follower.samples(), served.name());
        }
        if let Some(member) = served.member() {
            samples.add_all(&member.samples(), served.name());
        }
    }
    registry.register_collector(Box::new(samples));
    let mut text = String::new();
    encode(&mut text, &registry).ok()?;
    Some(text)
}

fn of_server(samples: &mut Samples, shared: &Shared) {
    let core = &shared.core;
    let websockets = shared.connections().values().cloned().collect::<Vec<_>>();
    let websocket_requests = websockets.iter().map(|connection| connection.requests_count()).sum::<usize>();
    let sessions = core.session_owners.count();
    let scheduler = core.scheduler.statistics();
    let mut gauge = |name, help, labels, value: usize| {
        samples.add(MetricType::Gauge, name, help, labels, value as f64);
    };
    gauge(
        "connections",
        "Connections that are open, by HTTP or WebSocket",
        vec![],
        shared.connections_count(),
    );
    gauge("websockets", "WebSockets that are open", vec![], websockets.len());
    gauge("sessions", "Transactions that span requests, and may be open", vec![], sessions);
    for (transport, count) in
        [("websocket", websocket_requests), ("http", shared.exchanges.unfinished_count())]
    {
        let labels = vec![("transport", transport.to_owned())];
        gauge("requests_running", "Requests that are not answered", labels, count);
    }
    gauge("scheduler_tasks_ready", "Requests that wait for a thread", vec![], scheduler.ready_count);
    gauge("scheduler_tasks_running", "Requests that have a thread", vec![], scheduler.running_count);
    gauge("scheduler_threads", "Threads that run requests", vec![], scheduler.threads_count);
    let (queued, running) = core.jobs.counts();
    for (state, count) in [("queued", queued), ("running", running)] {
        let labels = vec![("state", state.to_owned())];
        gauge("jobs", "Jobs that wait, and jobs that run", labels, count);
    }
    gauge(
        "message_bytes",
        "Bytes of messages that are being received or not answered, beyond those that each connection has",
        vec![],
        core.messages.taken_bytes(),
    );
    let upload_bytes = usize::try_from(core.job_resources.upload_bytes()).unwrap_or(usize::MAX);
    gauge("upload_bytes", "Bytes of uploads, and of files to be fetched, on the disk", vec![], upload_bytes);
}

fn of_state(samples: &mut Samples, name: &str, is_open: bool) {
    let labels = vec![("database", name.to_owned())];
    let help = "Whether the database is open";
    samples.add(MetricType::Gauge, "database_open", help, labels, f64::from(u8::from(is_open)));
}

fn of_database(samples: &mut Samples, name: &str, open: &DatabaseUse) {
    let database = open.database();
    let store = database.store().statistics();
    let labels = || vec![("database", name.to_owned())];
    let mut gauge =
        |name, help, value: u64| samples.add(MetricType::Gauge, name, help, labels(), value as f64);
    gauge("snapshots", "Snapshots that are open", store.readers.into());
    gauge("transactions", "Transactions that are open", store.writers.into());
    gauge(
        "read_only",
        "1 if a database takes no commits until it is opened again",
        WriteHealth::of(database).is_read_only().into(),
    );
    gauge(
        "disk_full",
        "1 if the last commit that needed room found none on the disk",
        open.is_disk_full().into(),
    );
    gauge(
        "checkpoint_failed",
        "1 if the last checkpoint in the background failed",
        has_failed_checkpoint(database).into(),
    );
    gauge("index_entries", "Entries of indexes", store.index_entries);
    gauge("log_disk_bytes", "Bytes that log files take on disk", store.log.disk_bytes);
    let limit = database.store().budget().limit_bytes();
    if limit != u64::MAX {
        gauge("memory_limit_bytes", "The memory limit, if there is one", limit);
    }
    for (purpose, bytes) in &store.reservations {
        let labels = vec![("database", name.to_owned()), ("purpose", purpose.to_string())];
        samples.add(MetricType::Gauge, "memory_bytes", "Memory that is reserved", labels, *bytes as f64);
    }
    let oldest = store.oldest_reader.map_or(Duration::ZERO, |(_, age)| age);
    samples.add(
        MetricType::Gauge,
        "oldest_snapshot_seconds",
        "How long the oldest snapshot has been open",
        labels(),
        oldest.as_secs_f64(),
    );
    let mut counter = |name, help, value: f64| samples.add(MetricType::Counter, name, help, labels(), value);
    counter("commits", "Commits since opening", store.commits as f64);
    counter("conflicts", "Commits that were refused since opening", store.conflicts as f64);
    counter("log_bytes", "Bytes written to the log", store.log.batch_bytes as f64);
    counter("log_syncs", "Syncs of the log", store.log.syncs_count as f64);
    counter("checkpoints", "Checkpoints since opening", database.checkpoint_state().checkpoints as f64);
    let engine = store.engine;
    counter("merges", "Merges of segments", engine.merges as f64);
    counter("merge_seconds", "Time that merges took", engine.merging.as_secs_f64());
    if let Some(mapped) = database.store().engine().mapped_statistics() {
        let mut gauge = |name, help, value: u64| {
            samples.add(MetricType::Gauge, name, help, labels(), value as f64);
        };
        gauge("array_files", "Files that hold the graph, of the mapped engine", mapped.files);
        gauge("array_file_bytes", "Bytes of these files", mapped.file_bytes);
        gauge("array_free_bytes", "Bytes of them that the next merges write", mapped.free_bytes);
        gauge("array_index_bytes", "Bytes of them that hold entries of indexes", store.index_file_bytes);
        gauge("live_bytes", "Bytes of changes that no merge has taken in yet", mapped.live_bytes);
        gauge(
            "live_limit_bytes",
            "What these may be before commits wait for merges",
            mapped.live_limit_bytes,
        );
        gauge("live_file_bytes", "Bytes of the file in which these lie", mapped.live_file_bytes);
    }
    let mut counter = |name, help, value: f64| samples.add(MetricType::Counter, name, help, labels(), value);
    let tree = database.store().engine().tree_statistics();
    let (stalls, stalled) = match &tree {
        Some(tree) => (tree.stalls.stalls, tree.stalls.stalled),
        None => (engine.stalls, engine.stalled),
    };
    counter("write_stalls", "Commits that were slowed or waited for merges or compactions", stalls as f64);
    counter("write_stall_seconds", "Time that these lost", stalled.as_secs_f64());
    let Some(tree) = tree else { return };
    counter("flushes", "Files that were flushed", tree.flushes.files as f64);
    counter("flush_bytes", "Bytes of flushes", tree.flushes.bytes as f64);
    counter("compactions", "Compactions of files", tree.compactions.compactions as f64);
    counter("compaction_seconds", "Time that these took", tree.compactions.compacting.as_secs_f64());
    counter("compaction_written_bytes", "Bytes that these wrote", tree.compactions.written_bytes as f64);
    counter("page_cache_hits", "Pages that were in the cache", tree.cache.hits as f64);
    counter("page_cache_misses", "Pages that had to be read", tree.cache.misses as f64);
    let bytes = tree.cache.bytes as f64;
    samples.add(MetricType::Gauge, "page_cache_bytes", "Bytes of pages in the cache", labels(), bytes);
}
