//! Request: what a client asks a job to do, as an object of JSON.
//!
//! ```json
//! {"kind": "export", "format": "csv", "labels": ["Person"]}
//! {"kind": "import", "upload": "4f...", "onUnknown": "skip"}
//! ```

use crate::jobs::job_kind::JobKind;
use crate::jobs::operations::copying::{BackupRequest, ExportRequest};
use crate::jobs::operations::importing::ImportRequest;
use crate::jobs::operations::upkeep::{IndexRequest, check, checkpoint};
use crate::jobs::registry::Work;
use crate::jobs::resources::JobResources;
use evergraph_graph::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What `members` ask for of `database`. Waits for the disk: paths are looked at.
///
/// # Errors
/// `invalid` for unknown members and wrong values, by name; `not_found` for an upload or a file that is not there.
pub fn read(
    mut members: Map<String, Value>,
    database: &str,
    resources: &Arc<JobResources>,
) -> Result<(JobKind, Work)> {
    let kind = match members.remove("kind") {
        Some(Value::String(name)) => JobKind::ALL.into_iter().find(|kind| kind.name() == name),
        _ => None,
    };
    let kind = kind.ok_or_else(|| {
        let known = JobKind::ALL.map(JobKind::name).join(", ");
        Error::invalid(format!("the member `kind` of a job: expected one of {known}"))
    })?;
    let work = match kind {
        JobKind::Check => members_of::<NoMembers>(kind, members).map(|_| check())?,
        JobKind::Checkpoint => members_of::<NoMembers>(kind, members).map(|_| checkpoint())?,
        JobKind::Backup => members_of::<BackupRequest>(kind, members)?.work(database, resources)?,
        JobKind::Export => members_of::<ExportRequest>(kind, members)?.work(database, resources)?,
        JobKind::Import => ImportRequest::read(members)?.work(database, resources)?,
        JobKind::CreateIndex => members_of::<IndexRequest>(kind, members)?.work()?,
    };
    Ok((kind, work))
}

/// A job that has no options.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoMembers {}

fn members_of<T: DeserializeOwned>(kind: JobKind, members: Map<String, Value>) -> Result<T> {
    serde_json::from_value(Value::Object(members))
        .map_err(|error| Error::invalid(format!("a job of kind {}: {error}", kind.name())))
}
