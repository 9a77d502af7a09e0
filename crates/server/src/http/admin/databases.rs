//! Databases: lists, describes, creates, drops, opens and closes them.

use crate::databases::change::DatabaseChange;
use crate::databases::options::CreateOptions;
use crate::databases::served_database::DatabaseInfo;
use crate::databases::target::default_name;
use crate::failure::Failure;
use crate::http::admin::answer::{AdminAnswer, AdminResult, path_of};
use crate::http::admin::call::AdminCall;
use crate::http::error::HttpError;
use crate::security::role::Role;
use evergraph::EngineKind;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_report::statistics::StatisticsReport;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is known of a database.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DatabaseEntry {
    name: Arc<str>,
    state: &'static str,
    /// `null` if it is not open.
    engine: Option<&'static str>,
    /// That of the user.
    role: &'static str,
    /// Whether the alias `g` stands for it.
    is_default: bool,
    /// `null` if it is not open, and for the default of its engine.
    memory_limit_bytes: Option<u64>,
    /// Why it failed, for its administrators: it may name files of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct DatabaseList {
    databases: Vec<DatabaseEntry>,
}

/// What a new database is to be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewDatabase {
    engine: Option<String>,
    memory_limit_bytes: Option<u64>,
}

/// `GET /databases`: those on which the user has a role.
///
/// # Errors
/// 401 if the log-in holds no longer.
pub async fn list(call: AdminCall) -> AdminResult {
    let catalogue = &call.shared.core.databases;
    let default = default_name(catalogue, &call.principal)?;
    let mut databases = Vec::new();
    for info in catalogue.list() {
        if let Some(role) = call.principal.role_on(&info.name)? {
            databases.push(DatabaseEntry::new(info, role, default.as_deref()));
        }
    }
    Ok(AdminAnswer::json(&DatabaseList { databases }))
}

/// `GET /databases/NAME`: what is known of it.
///
/// # Errors
/// 404 for an unknown one.
pub async fn describe(call: AdminCall) -> AdminResult {
    let info = call.served()?.info();
    Ok(AdminAnswer::json(&entry(&call, info)?))
}

/// `GET /databases/NAME/statistics`: what it holds and takes, as `evergraph stats --json` prints it.
///
/// Cost: that of [`StatisticsReport::count`].
///
/// # Errors
/// 404 for an unknown one; 503 if it is not open.
pub async fn statistics(call: AdminCall) -> AdminResult {
    let report = call.with_database(|using, cancel| {
        let name = using.name().to_string();
        let counted = StatisticsReport::count(using.database(), name, None, cancel, &|_, _| {});
        counted.map_err(|error| HttpError::from(&error))
    });
    Ok(AdminAnswer::json(&report.await?))
}

/// `GET /databases/NAME/replica`: how far it follows its source.
///
/// # Errors
/// 404 for an unknown one, and for one that follows nothing.
pub async fn replica(call: AdminCall) -> AdminResult {
    let served = call.served()?;
    let Some(follower) = served.follower().cloned() else {
        let text = format!("the database {:?} follows no source", served.name());
        return Err(HttpError::from(&Error::new(ErrorKind::NotFound, text)));
    };
    let asking = tokio::task::spawn_blocking(move || follower.status()).await;
    Ok(AdminAnswer::json(&asking.map_err(|_| Failure::internal())?))
}

/// `GET /databases/NAME/cluster`: how the node of a cluster is that it is, as `evergraph cluster status --json` prints it.
///
/// # Errors
/// 404 for an unknown one, and for one that is no node of a cluster.
pub async fn cluster(call: AdminCall) -> AdminResult {
    let served = call.served()?;
    let Some(member) = served.member().cloned() else {
        let text = format!("the database {:?} is no node of a cluster", served.name());
        return Err(HttpError::from(&Error::new(ErrorKind::NotFound, text)));
    };
    let asking = tokio::task::spawn_blocking(move || member.status()).await;
    Ok(AdminAnswer::json(&asking.map_err(|_| Failure::internal())?))
}

/// `PUT /databases/NAME`: makes an empty one below the root.
///
/// # Errors
/// 400 without a root, and for a name that none can have; 409 for one that is taken; 413 if its memory does not fit.
pub async fn create(call: AdminCall) -> AdminResult {
    let NewDatabase { engine, memory_limit_bytes } = call.document().await?;
    let engine = engine.map(|name| name.parse::<EngineKind>()).transpose();
    let engine = engine.map_err(|error| HttpError::from(&error))?;
    let options = CreateOptions { engine, memory_limit_bytes };
    let made = call.change_database(DatabaseChange::Create(options)).await?.ok_or_else(Failure::internal)?;
    let location = path_of(&["databases", &made.name]);
    Ok(AdminAnswer::created(&location, &entry(&call, made)?))
}

/// `DELETE /databases/NAME`: closes it, and removes it for good.
///
/// # Errors
/// 404 for an unknown one; 400 for one that is not below the root; 503 while it is opened or closed.
pub async fn drop_database(call: AdminCall) -> AdminResult {
    call.change_database(DatabaseChange::Drop).await?;
    Ok(AdminAnswer::nothing())
}

/// `POST /databases/NAME/open`.
///
/// # Errors
/// 404 for an unknown one; 413 if its memory does not fit; those of opening.
pub async fn open(call: AdminCall) -> AdminResult {
    change(call, DatabaseChange::Open).await
}

/// `POST /databases/NAME/close`.
///
/// # Errors
/// 404 for an unknown one; 400 for one that a program gave to the server; those of the last sync.
pub async fn close(call: AdminCall) -> AdminResult {
    change(call, DatabaseChange::Close).await
}

async fn change(call: AdminCall, change: DatabaseChange) -> AdminResult {
    let NoMembers {} = call.document().await?;
    let info = call.change_database(change).await?.ok_or_else(Failure::internal)?;
    Ok(AdminAnswer::json(&entry(&call, info)?))
}

/// A document without members.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoMembers {}

fn entry(call: &AdminCall, info: DatabaseInfo) -> Result<DatabaseEntry, Failure> {
    let default = default_name(&call.shared.core.databases, &call.principal)?;
    let role = call.principal.on(&info.name).role()?;
    Ok(DatabaseEntry::new(info, role, default.as_deref()))
}

impl DatabaseEntry {
    fn new(info: DatabaseInfo, role: Role, default: Option<&str>) -> Self {
        let DatabaseInfo { name, state, engine, memory_limit_bytes, error, .. } = info;
        Self {
            state: state.name(),
            engine: engine.map(EngineKind::name),
            role: role.name(),
            is_default: default == Some(&*name),
            memory_limit_bytes: memory_limit_bytes.filter(|bytes| *bytes != u64::MAX),
            error: error.filter(|_| role == Role::Admin),
            name,
        }
    }
}
